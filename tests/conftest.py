"""What several test modules stand on."""

import pytest

from minuend import _native


@pytest.fixture(params=_native.targets())
def target(request):
    """Each CPU target in turn."""
    before = _native.get_target()
    _native.set_target(request.param)
    yield request.param
    _native.set_target(before)
