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


@pytest.fixture(autouse=True, scope="session")
def nobodys_targets(tmp_path_factory):
    """Whoever runs the tests may have measured files of their own, which stand before the shipped ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINUEND_TARGETS", str(tmp_path_factory.getbasetemp() / "no targets"))
        yield
