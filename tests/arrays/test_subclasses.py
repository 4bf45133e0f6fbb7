"""Subclasses of arrays: the result is of the class that np.subtract gives, and no units are lost without an error."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import minuend as mn
from minuend.errors import DTypeError, ShapeError

pytestmark = pytest.mark.filterwarnings(
    "ignore:the matrix subclass:PendingDeprecationWarning", "ignore:__array_wrap__ must accept:DeprecationWarning"
)


class Plain(np.ndarray):
    pass


class Derived(Plain):
    pass


class Low(np.ndarray):
    __array_priority__ = -5.0


class High(np.ndarray):
    __array_priority__ = 15.0


class Tagged(np.ndarray):
    tag = None

    def __array_finalize__(self, source):
        self.tag = getattr(source, "tag", None)


class Wrapping(np.ndarray):
    def __array_wrap__(self, array, context=None, return_scalar=False):
        function, operands, at = context
        return "wrapped", type(array), array.tolist(), function.__name__, len(operands), at, return_scalar


class WrappingOfOld(np.ndarray):
    def __array_wrap__(self, array, context=None):
        return "wrapped", type(array)


class Metres(np.ndarray):
    """An array with a unit, as units' libraries write them."""

    def __array_ufunc__(self, function, method, *operands, **options):
        return NotImplemented


class Opaque(np.ndarray):
    __array_ufunc__ = None


class Duck:
    """Another library's array with a unit: no subclass, and it hands its memory on."""

    __array_ufunc__ = Metres.__array_ufunc__

    def __dlpack__(self, **options):
        return np.ones(3).__dlpack__(**options)

    def __dlpack_device__(self):
        return np.ones(3).__dlpack_device__()


def operands(tmp_path):
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    tagged = values.view(Tagged)
    tagged.tag = "t"
    mapped = np.memmap(tmp_path / "mapped", "float32", "w+", shape=(2, 3))
    kinds = (Plain, Derived, Low, High, Wrapping, WrappingOfOld, np.matrix, np.recarray)
    return [values, *(values.view(kind) for kind in kinds), tagged, mapped, np.float32(3), 2.0]


def test_the_result_is_of_the_class_that_numpy_gives(tmp_path):
    tried = 0
    for a, b in itertools.product(operands(tmp_path), repeat=2):
        if np.ndim(a) == np.ndim(b) == 0:
            continue
        want = np.subtract(a, b)
        calls = [mn.subtract, mn.openvino.subtract, mn.onnx.sub]
        for got in (call(a, b) for call in calls):
            assert type(got) is type(want), (type(a), type(b))
            assert repr(got) == repr(want)
            assert getattr(got, "tag", None) == getattr(want, "tag", None)
        tried += 1
    assert tried > 160


def test_other_policies_and_outs_keep_the_class():
    a, b = np.uint8([5, 200]).view(Plain), np.uint8([10, 100])
    assert type(mn.subtract(a, b, overflow="widen")) is Plain
    assert type(mn.subtract(b, a, overflow="saturate")) is Plain
    out = np.zeros(2, np.uint8)
    assert mn.subtract(a, b, out) is out
    own = np.zeros(2, np.uint8).view(Tagged)
    assert mn.subtract(a, b, out=own) is own


@pytest.mark.parametrize("kind", [Metres, Opaque])
@pytest.mark.parametrize("call", [mn.subtract, mn.onnx.sub, mn.openvino.subtract])
def test_a_class_with_an_array_ufunc_of_its_own_is_refused(call, kind):
    plain = np.ones(3)
    own = plain.view(kind)
    for a, b, name in ((own, plain, "a"), (plain, own, "b"), (own, own, "a"), (1.0, own, "b")):
        with pytest.raises(DTypeError) as caught:
            call(a, b)
        assert str(caught.value).startswith(f"{name} is a {__name__}.{kind.__qualname__}, whose own __array_ufunc__")
    with pytest.raises(DTypeError, match=r"^out is a .*, whose own __array_ufunc__"):
        call(plain, plain, out=own)
    masked = np.ma.array(own)
    with pytest.raises(DTypeError, match=r"__array_ufunc__|masked array"):
        call(masked, plain)
    assert np.array_equal(plain, np.ones(3))


@pytest.mark.parametrize("call", [mn.subtract, mn.onnx.sub, mn.openvino.subtract])
def test_a_shape_that_the_class_does_not_have_is_refused(call):
    matrix, cube = np.matrix(np.ones((5, 4))), np.ones((3, 5, 4))
    with pytest.raises(ShapeError) as caught:
        call(cube, matrix)
    assert str(caught.value) == (
        "the result of shape (3, 5, 4) is no numpy.matrix (shape too large to be a matrix.); "
        "expected plain arrays: numpy.asarray"
    )
    with pytest.raises(ShapeError, match=r"the result of shape \(4, 2, 0\) is no numpy\.matrix"):
        call(np.ones((4, 2, 0)), np.matrix(np.ones((2, 0))))
    assert call(cube, matrix, out=np.empty(cube.shape)).tolist() == np.zeros(cube.shape).tolist()
    masked = np.ma.array(cube)
    with pytest.raises(ShapeError, match=r"is no numpy\.matrix"):
        mn.subtract(masked, matrix)
    assert mn.subtract(masked[:1], matrix[:, :1]).shape == (masked[:1] - matrix[:, :1]).shape == (5, 4)


def test_what_hands_its_memory_on_keeps_its_units():
    with pytest.raises(DTypeError) as caught:
        mn.subtract(Duck(), np.ones(3))
    assert str(caught.value) == (
        f"a is a {__name__}.Duck, whose own __array_ufunc__ carries more than its numbers, such as units or labels, "
        "which would be lost; expected a plain array: convert both operands to one unit and pass their numbers, "
        "or .todense() of a sparse array"
    )


def test_a_masked_subclass_gives_itself_and_what_it_adds():
    class Named(np.ma.MaskedArray):
        pass

    a = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]).view(Named)
    a._optinfo["name"] = "depth"
    for found, want in (
        (mn.subtract(a, np.ones(3)), a - np.ones(3)),
        (mn.subtract(np.ma.ones(3), a), np.ma.ones(3) - a),
    ):
        assert type(found) is type(want) is Named
        assert found.mask.tolist() == want.mask.tolist()
        assert found._optinfo == want._optinfo
    matrix = np.ma.array(np.matrix([[1.0, 2.0]]), mask=[[0, 1]])
    assert type(mn.subtract(matrix, matrix).data) is type((matrix - matrix).data)


@pytest.mark.parametrize("package", ["astropy", "pint"])
def test_quantities_keep_their_units(package):
    module = pytest.importorskip("astropy.units" if package == "astropy" else "pint")
    values = np.arange(3.0)
    if package == "astropy":
        metres, kilometres = values * module.m, values * module.km
    else:
        registry = module.UnitRegistry()
        metres, kilometres = registry.Quantity(values, "m"), registry.Quantity(values, "km")
    xarray = pytest.importorskip("xarray")
    for a, b in ((metres, kilometres), (values, metres), (xarray.DataArray(metres), xarray.DataArray(kilometres))):
        with pytest.raises(DTypeError, match="whose own __array_ufunc__ carries more than its numbers"):
            mn.subtract(a, b)
