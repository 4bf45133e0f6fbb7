"""What several test modules stand on."""

import pytest

from minuend import _native


@pytest.fixture(params=_native.instruction_sets())
def isa(request):
    """Each instruction set in turn."""
    before = _native.get_instruction_set()
    _native.set_instruction_set(request.param)
    yield request.param
    _native.set_instruction_set(before)
