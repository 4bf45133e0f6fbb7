"""The contract in a library's own operators: NumPy's and, where they are installed, PyTorch's and JAX's on the CPU.

A GPU that is there is asked as well, by tensors, CuPy's and JAX's arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import minuend as mn
from minuend.core.elements import TYPES
from minuend.errors import DTypeError, OverflowFound, ScalarRangeError, ShapeError, SpecError, Unsupported
from minuend.libraries import on_devices
from minuend.operators import codes as of_codes

pytestmark = pytest.mark.filterwarnings(
    "ignore:(overflow|invalid value) encountered in subtract:RuntimeWarning"
)  # NumPy's own

NAMES = [name for name, row in TYPES.items() if row.bits >= 8]
INTEGERS = [name for name in NAMES if TYPES[name].is_integer]


@dataclass(frozen=True)
class OfNumpy:
    """NumPy's arrays, as if they lay on a device. ``flushes``: a device that has no subnormals."""

    flushes: bool = False
    words = "an array over there"
    elsewhere = "bring it here"

    def name(self, array):
        return array.dtype.name

    def view(self, array, name):
        if self.flushes and name == "int32" and array.dtype == np.float32:
            array = np.where(np.abs(array) < np.finfo(np.float32).tiny, np.float32(0), array)
        return array.view(TYPES[name].memory)

    def cast(self, array, name):
        return array.astype(name)

    def put(self, array):
        return array.copy()

    def get(self, array):
        return array

    def minus(self, a, b):
        return a - b

    def where(self, mask, one, other):
        return np.where(mask, one, other)

    def first(self, mask):
        return int(mask.ravel().argmax())

    def count(self, mask):
        return int(np.count_nonzero(mask))


def torch_homes():
    torch = pytest.importorskip("torch")
    from minuend.libraries.torch_tensors import Home

    places = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    return [Home(torch.device(place)) for place in places]


def jax_homes():
    jax = pytest.importorskip("jax")
    from minuend.libraries.jax_arrays import Home

    jax.config.update("jax_enable_x64", True)
    return [Home(jax.devices()[0])]


def cupy_homes():
    pytest.importorskip("cupy")
    from minuend.libraries.cupy_arrays import Home

    return [Home(0)]


LIBRARIES = {"numpy": lambda: [OfNumpy()], "torch": torch_homes, "jax": jax_homes, "cupy": cupy_homes}


@pytest.fixture(params=LIBRARIES)
def homes(request):
    return LIBRARIES[request.param]()


def has(home, name):
    """Whether a library has a type at all."""
    if home.words.startswith("a torch"):
        import torch

        return hasattr(torch, name)
    return not home.words.startswith("a cupy") or TYPES[name].memory.isbuiltin == 1


def brought(home, element, array):
    """An array of one library, of a NumPy array's bits."""
    return home.view(home.put(array.view(f"i{element.itemsize}")), element.name)


def bits(home, found):
    element = TYPES[home.name(found)]
    return home.get(home.view(found, f"int{element.bits}")).view(f"u{element.itemsize}")


def skip_what_differs(home, call):
    """Call; JAX flushes subnormals on the CPU, and says so."""
    try:
        return call()
    except Unsupported as error:
        if "a jax.Array on cpu" not in str(error):
            raise
        pytest.skip(f"the error that it should be: {error}")


def pairs_of(element):
    """All pairs of 8 bits; else all of some edges and random codes."""
    if element.bits == 8:
        codes = np.arange(256, dtype=np.uint64)
    else:
        random = np.random.default_rng(element.bits).integers(0, 1 << 64, 40, np.uint64) >> np.uint64(64 - element.bits)
        near = [1, 2, 3, 5, (1 << element.bits - 2) - 1, 1 << element.bits - 2, (1 << element.bits - 1) - 1]
        edges = [0, *near, 1 << element.bits - 1, *((1 << element.bits) - one for one in near)]
        codes = np.concatenate([np.array(edges, np.uint64), random])
    both = np.repeat(codes, len(codes)), np.tile(codes, len(codes))
    return [one.astype(f"u{element.itemsize}").view(element.memory) for one in both]


def same_bits(element, came, want):
    codes = want.view(f"u{element.itemsize}")
    if element.format is None:
        return np.array_equal(came, codes)
    nan = of_codes.is_nan(element.format, codes.astype(object)).astype(bool)
    return bool(((came == codes) | (nan & of_codes.is_nan(element.format, came.astype(object)).astype(bool))).all())


@pytest.mark.parametrize("policy", ["wrap", "saturate", "widen", "error"])
@pytest.mark.parametrize("name", NAMES)
def test_every_type_gives_what_arrays_give(homes, name, policy):
    element = TYPES[name]
    a, b = pairs_of(element)
    for home in homes:
        if has(home, name):
            compare(home, element, a, b, policy)


def compare(home, element, a, b, policy):
    x, y = brought(home, element, a), brought(home, element, b)
    want, wanted = answer(lambda: mn.subtract(a, b, overflow=policy))
    if wanted is not None:
        _, told = answer(lambda: on_devices.subtract(home, x, y, policy))
        assert str(told) == str(wanted)
        assert (told.count, told.index, told.a, told.b) == (wanted.count, wanted.index, wanted.a, wanted.b)
        return
    found = skip_what_differs(home, lambda: on_devices.subtract(home, x, y, policy))
    goal = element.widened if policy == "widen" else element
    assert home.name(found) == goal.name
    assert same_bits(goal, bits(home, found), want)


def answer(call):
    """What a call returns, or the overflow that it finds."""
    try:
        return call(), None
    except OverflowFound as error:
        return None, error


@pytest.mark.parametrize("policy", ["wrap", "saturate", "error"])
def test_shapes_are_joined_and_an_index_is_that_of_the_result(homes, policy):
    a = np.arange(6, dtype=np.uint8).reshape(2, 1, 3)
    b = np.array([[[0], [4]]], np.uint8)
    for home in homes:
        compare(home, TYPES["uint8"], a, b, policy)


def test_numbers_take_the_type_of_the_array(homes):
    for home in homes:
        x = brought(home, TYPES["int16"], np.array([5, -7], np.int16))
        for a, b in ((x, 3), (3, x), (x, np.int16(-2)), (np.int16(-2), x)):
            found = on_devices.subtract(home, a, b, "wrap")
            plain = [np.array([5, -7], np.int16) if one is x else one for one in (a, b)]
            assert np.array_equal(bits(home, found).view(np.int16), mn.subtract(*plain))
        with pytest.raises(ScalarRangeError, match=r"the Python int 40000 does not fit int16 \(-32768 to 32767\)"):
            on_devices.subtract(home, x, 40000, "wrap")


def test_what_does_not_go_together_is_told():
    home, a = OfNumpy(), np.zeros(3, np.int8)
    with pytest.raises(DTypeError, match="a is of int8 and b of uint8; nothing is promoted, convert one of them"):
        on_devices.subtract(home, a, np.zeros(3, np.uint8), "wrap")
    with pytest.raises(ShapeError):
        on_devices.subtract(home, a, np.zeros(2, np.int8), "wrap")
    with pytest.raises(
        DTypeError, match="a: element type 'bool': subtraction is not defined for bool; use Xor or cast"
    ):
        on_devices.subtract(home, np.zeros(3, bool), a, "wrap")
    with pytest.raises(SpecError, match="overflow is 'clip'; expected 'wrap', 'saturate', 'widen' or 'error'"):
        on_devices.subtract(home, a, a, "clip")
    small = np.zeros(3, TYPES["int4"].memory)
    with pytest.raises(DTypeError) as caught:
        on_devices.subtract(home, small, small, "wrap")
    assert str(caught.value) == "a is an array over there of int4, a type of less than a byte; bring it here"


def test_an_out_that_does_not_fit_is_told():
    home, found = OfNumpy(), np.zeros((2, 3), np.int8)
    told = {
        "out is of int16; the result is int8, and nothing is converted": np.zeros((2, 3), np.int16),
        "out has shape (3,); the result has shape (2, 3)": np.zeros(3, np.int8),
        "two elements of out share an address (strides (0, 1)); pass a plain array": np.broadcast_to(found[0], (2, 3)),
    }
    for text, out in told.items():
        with pytest.raises((DTypeError, ShapeError)) as caught:
            on_devices.check_out(home, out, found, out.strides)
        assert str(caught.value) == text


def test_a_device_with_rules_of_its_own_is_refused():
    home, a = OfNumpy(flushes=True), np.ones(3, np.float32)
    with pytest.raises(Unsupported) as caught:
        on_devices.subtract(home, a, a, "wrap")
    assert str(caught.value) == (
        "an array over there of float32: there 0.0 - 1.401298464324817e-45 gives 0.0, and exactly "
        "-1.401298464324817e-45; nothing is computed by other rules, bring it here"
    )
    assert np.array_equal(on_devices.subtract(home, a.astype(np.float64), a.astype(np.float64), "wrap"), np.zeros(3))


# ---- the public function, on a GPU ----------------------------------------------------------------------------


def gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    return torch


def test_tensors_on_a_gpu_stay_there():
    torch = gpu()
    a, b = torch.arange(6, device="cuda", dtype=torch.float32).reshape(2, 3), torch.ones(3, device="cuda")
    found = mn.subtract(a, b)
    assert found.device.type == "cuda"
    assert torch.equal(found.cpu(), mn.subtract(a.cpu(), b.cpu()))
    out = torch.empty(2, 3, device="cuda")
    assert mn.subtract(a, b, out=out) is out
    assert torch.equal(out, found)
    assert mn.subtract(a, b, out=a) is a  # as if a had been copied first
    assert torch.equal(a, found)
    line = torch.arange(6, device="cuda")
    mn.subtract(line[:-1], line[1:], out=line[1:])
    assert line.tolist() == [0, -1, -1, -1, -1, -1]
    assert mn.subtract(a.t(), 1.0).shape == (3, 2)
    with pytest.raises(DTypeError) as caught:
        mn.subtract(a, b.cpu())
    assert str(caught.value) == (
        "a on cuda:0 and b on cpu: nothing is moved between devices; expected one device, pass x.to(device)"
    )


def test_gradients_on_a_gpu():
    torch = gpu()
    a = torch.randn(2, 3, dtype=torch.float64, device="cuda", requires_grad=True)
    b = torch.randn(3, dtype=torch.float64, device="cuda", requires_grad=True)
    assert torch.autograd.gradcheck(mn.subtract, (a, b))


def test_arrays_of_cupy_stay_there():
    cupy = pytest.importorskip("cupy")
    a, b = cupy.arange(6, dtype=np.uint8).reshape(2, 3), cupy.full(3, 2, np.uint8)
    found = mn.subtract(a, b, overflow="saturate")
    assert isinstance(found, cupy.ndarray)
    assert np.array_equal(cupy.asnumpy(found), [[0, 0, 0], [1, 2, 3]])
    assert mn.subtract(a, b, out=a) is a
    assert np.array_equal(cupy.asnumpy(a[0]), [254, 255, 0])


def test_arrays_of_jax_stay_on_their_gpu():
    jax = pytest.importorskip("jax")
    if jax.devices()[0].platform == "cpu":
        pytest.skip("there is no GPU")
    a = jax.numpy.arange(6, dtype=np.float32)
    found = mn.subtract(a, np.float32(2))
    assert found.devices() == a.devices()
    assert np.array_equal(np.asarray(found), np.arange(-2, 4, dtype=np.float32))
