"""Across modules: any object as an argument gives the result of plain arrays, or an error that names the type."""

from __future__ import annotations

import enum
import itertools
import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import oracle
import pytest

import minuend as mn
from minuend.core.elements import TYPES, by_scalar_type
from minuend.errors import DTypeError, MinuendError, OverflowFound, ShapeError, SpecError
from minuend.operators import OPERATORS

PLACES = ("a", "b")


class Subclass(np.ndarray):
    """An array of another class, with nothing of its own."""


class Float(np.float32):
    """A NumPy scalar of another class."""


class Whole(int):
    """A Python int of another class."""


class Real(float):
    """A Python float of another class."""


class Number(enum.IntEnum):
    THREE = 3


class OnlyArray:
    """What np.asarray would take."""

    def __array__(self, dtype=None, copy=None):
        return np.array(3, np.int32)


class OnlyInterface:
    __array_interface__ = np.array(3, np.int32).__array_interface__


def call(place, operand, array, **how):
    return mn.subtract(operand, array, **how) if place == "a" else mn.subtract(array, operand, **how)


def forms(values, tmp_path):
    """An array in the forms that count as arrays."""
    mapped = np.memmap(tmp_path / f"{len(list(tmp_path.iterdir()))}", values.dtype, "w+", shape=max(values.size, 1))
    mapped = mapped[: values.size].reshape(values.shape)  # an empty file cannot be mapped
    mapped[...] = values
    frozen = values.copy()
    frozen.flags.writeable = False
    big = values.astype(values.dtype.newbyteorder(">"))
    odd = np.ndarray(values.shape, values.dtype, bytearray(values.nbytes + 1), 1)
    odd[...] = values
    found = {
        "subclass": values.view(Subclass),
        "record array": values.view(np.recarray),
        "memory map": mapped,
        "read-only": frozen,
        "big-endian": big,
        "big-endian subclass": big.view(Subclass),
        "unaligned": odd,
        "backwards": np.flip(np.flip(values).copy()),
    }
    if values.ndim == 2:
        found["matrix"] = np.asmatrix(values)
    return found


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("shape", [(), (1,), (5,), (0,), (3, 4), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("dtype", ["int8", "int32", "float32", "uint64"])
def test_every_form_of_an_array_counts_as_its_elements(dtype, shape, place, tmp_path):
    values = np.arange(7, 7 + int(np.prod(shape)), dtype=dtype).reshape(shape)
    other = np.full((2, *shape) if len(shape) < 2 else shape, 100, dtype)
    want = call(place, values, other)
    assert np.array_equal(want, values - other if place == "a" else other - values)
    for form in forms(values, tmp_path).values():
        got = call(place, form, other)
        assert type(got) is type(np.atleast_1d(np.subtract(*((form, other) if place == "a" else (other, form)))))
        assert np.array_equal(got, want)
        for second in forms(other, tmp_path).values():
            assert np.array_equal(call(place, form, second), want)
        out = np.zeros_like(want).view(Subclass)
        assert call(place, form, other, out=out) is out
        assert np.array_equal(out, want)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("scalar", sorted(by_scalar_type(), key=str), ids=str)
def test_a_numpy_scalar_of_every_type_is_an_array_without_dims(scalar, place):
    row = by_scalar_type()[scalar]
    array = oracle.array(row, [0, 1, 1, 0])
    number = array[1]
    assert isinstance(number, np.generic)
    same = oracle.array(row, [1] * 4)
    want = call(place, same, array)
    oracle.assert_same(row, call(place, number, array), want)
    oracle.assert_same(row, call(place, same[:1].reshape(()), array), want)
    oracle.assert_same(row, call(place, same[:1].reshape(()).view(Subclass), array), want)
    for name in ("int16", "float64"):
        if TYPES[name] is not row:
            with pytest.raises(DTypeError, match="nothing is promoted"):
                call(place, number, np.zeros(2, name))


@pytest.mark.parametrize("place", PLACES)
def test_a_scalar_of_a_class_of_its_own_is_a_scalar(place):
    array = np.arange(5, dtype=np.float32)
    assert np.array_equal(call(place, Float(3), array), call(place, np.float32(3), array))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("number", [Whole(3), Number.THREE], ids=repr)
def test_a_python_int_of_a_class_of_its_own_is_an_int(number, place):
    for dtype in ("int8", "float32", ml_dtypes.bfloat16):
        array = np.arange(5, dtype=dtype)
        assert np.array_equal(call(place, number, array), call(place, 3, array))
    array = np.arange(5, dtype=np.float64)
    assert np.array_equal(call(place, Real(0.1), array), call(place, 0.1, array))


NO_NUMBERS = {
    "bool": (True, "bool"),
    "None": (None, "NoneType"),
    "str": ("3", "str"),
    "bytes": (b"3", "bytes"),
    "complex": (3j, "complex"),
    "list": ([3], "list"),
    "an object with __array__": (OnlyArray(), "OnlyArray"),
    "an object with __array_interface__": (OnlyInterface(), "OnlyInterface"),
    "a buffer": (memoryview(b"333"), "memoryview"),
    "a dtype": (np.dtype("i4"), "Int32DType"),
    "a type": (np.int32, "type"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("operand", "name"), NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_what_is_no_array_and_no_number_is_refused(operand, name, place):
    with pytest.raises(DTypeError) as caught:
        call(place, operand, np.arange(3, dtype=np.int32))
    hint = f"; np.asarray({place}, dtype) makes an array of it" if name == "list" else ""
    assert str(caught.value) == (
        f"{place} is a {name}; expected a NumPy array, a NumPy scalar or a Python int or float{hint}"
    )


WITHOUT_DIFFERENCE = {
    "bool": np.array([True]),
    "complex": np.zeros(2, np.complex64),
    "long double": np.zeros(2, np.longdouble),
    "text": np.array(["3"]),
    "bytes": np.array([b"3"]),
    "void": np.zeros(2, "V4"),
    "record": np.zeros(2, [("x", "i4")]),
    "datetime": np.zeros(2, "M8[s]"),
    "timedelta": np.zeros(2, "m8[s]"),
    "object": np.array([3, 4], object),
    "variable text": np.array(["3"], np.dtypes.StringDType()),
    "a dtype of a new kind": np.zeros(2, np._core._multiarray_umath._get_sfloat_dtype()(1.0)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("array", WITHOUT_DIFFERENCE.values(), ids=WITHOUT_DIFFERENCE)
def test_arrays_of_types_without_a_difference_are_refused_with_any_dims(array, place):
    element = array.reshape(-1)[0]
    operands = [array, array.reshape(-1)[:1].reshape(()), array.view(Subclass)]
    for operand in [*operands, element] if isinstance(element, np.generic) else operands:
        for other in (np.arange(2, dtype=np.int32), operand, 3, np.float32(3)):
            with pytest.raises(DTypeError):
                call(place, operand, other)
    with pytest.raises(DTypeError):
        mn.subtract(np.arange(2, dtype=np.int32), 1, out=array.copy())


def masked_arrays():
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    return {"masked": np.ma.masked, "masked array": masked, "0-d": masked[:1].reshape(()), "element": masked[1]}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", masked_arrays())
def test_the_operators_of_standards_know_no_masks(name, place):
    operand = masked_arrays()[name]
    for other in (np.arange(3.0), np.float64(3), operand):
        given = (operand, other) if place == "a" else (other, operand)
        with pytest.raises(DTypeError) as caught:
            mn.onnx.sub(*given)
        first = "a" if other is operand else place
        assert str(caught.value) == f"{first} is a masked array, whose mask would be lost; pass .data or .filled()"


def test_numpy_scalars_give_a_scalar_and_arrays_without_dims_an_array():
    one, two = np.float32(1), np.float32(2)
    assert [type(mn.subtract(*given)) for given in ((one, two), (one, 2), (2.5, two))] == [np.float32] * 3
    assert type(mn.subtract(np.array(1.0), 2.0)) is np.ndarray
    assert type(mn.subtract(np.int8(100), np.int8(-100), overflow="widen")) is np.int16


@pytest.mark.parametrize("keyword", [{"dtype": "f8"}, {"casting": "unsafe"}], ids=str)
def test_a_type_for_the_result_is_refused_with_what_is_there_instead(keyword):
    with pytest.raises(SpecError) as caught:
        mn.subtract(np.zeros(1, np.float32), 1.0, **keyword)
    assert str(caught.value) == (
        "nothing is promoted or converted: the result has the operands' element type; overflow='widen' gives exact "
        "differences in the signed type of twice the width, and .astype() makes operands of another type"
    )


# ---- where ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", [np.array([1, 0, 1], bool), True, False, np.bool_(False), [[True, False, False]] * 2])
def test_where_a_mask_is_false_out_keeps_its_elements(mask):
    a, b = np.arange(6, dtype=np.int32).reshape(2, 3), np.array([5, 7, 9], np.int32)
    out = np.full((2, 3), 77, np.int32)
    want = np.subtract(a, b, out=out.copy(), where=mask)
    assert mn.subtract(a, b, out=out, where=mask) is out
    assert np.array_equal(out, want)
    assert np.array_equal(mn.subtract(a, b, out=a, where=mask), np.where(mask, np.arange(6).reshape(2, 3) - b, a))


def test_nothing_overflows_where_a_mask_is_false():
    a, b = np.array([0, 0, 9], np.uint8), np.array([1, 2, 3], np.uint8)
    out = np.full(3, 50, np.uint8)
    assert mn.subtract(a, b, out=out, where=[False, False, True], overflow="error").tolist() == [50, 50, 6]
    with pytest.raises(OverflowFound) as caught:
        mn.subtract(a, b, out=out, where=[False, True, True], overflow="error")
    assert (caught.value.index, caught.value.count) == ((1,), 1)
    assert out.tolist() == [50, 50, 6]


def test_a_mask_that_says_nothing_is_refused():
    a = np.zeros(3)
    with pytest.raises(SpecError, match="where= leaves elements of out as they are; expected out= beside it"):
        mn.subtract(a, a, where=[True, False, True])
    with pytest.raises(DTypeError, match="where is of int64; expected bool"):
        mn.subtract(a, a, out=a, where=[1, 0, 1])
    with pytest.raises(ShapeError, match=r"where has shape \(2,\); expected one that broadcasts to \(3,\)"):
        mn.subtract(a, a, out=a, where=[True, False])


@pytest.mark.parametrize(
    "out", [3, np.float32(3), [0.0], "x", np.float32, memoryview(bytearray(4))], ids=lambda one: type(one).__name__
)
def test_an_out_that_is_no_array_is_refused(out):
    with pytest.raises(DTypeError) as caught:
        mn.subtract(np.zeros(1, np.float32), np.zeros(1, np.float32), out=out)
    assert str(caught.value) == f"out is a {type(out).__name__}; expected a NumPy array of float32"


def test_an_out_that_is_read_only_is_refused():
    out = np.zeros(3, np.float32)
    out.flags.writeable = False
    for array in (out, out.view(Subclass)):
        with pytest.raises(ShapeError) as caught:
            mn.subtract(np.ones(3, np.float32), 1, out=array)
        assert str(caught.value) == "out is read-only; pass an array that can be written to"


# ---- operands keep their values, whatever form they have -------------------------------------------------------


def last_overflows(dtype, policy):
    """Operands of which the last difference alone does not fit."""
    low = np.iinfo(dtype).min if policy == "error" else -(2**63)
    a, b = np.arange(10, 40).astype(dtype), np.arange(30).astype(dtype)
    if low == np.iinfo(dtype).min:
        a[-1], b[-1] = low, 1
    else:
        a[-1], b[-1] = 2**64 - 1, 1  # uint64 under "widen"
    return a, b


CASES = [*itertools.product(("int16", "int32", "int64", "uint16", "uint32", "uint64"), ["error"])]
CASES += [("int64", "widen"), ("uint64", "widen")]


@pytest.mark.parametrize("which", PLACES)
@pytest.mark.parametrize(("dtype", "policy"), CASES)
def test_an_overflow_leaves_operands_of_any_byte_order_as_they_were(dtype, policy, which):
    result = np.dtype("int64" if policy == "widen" else dtype)
    for orders in itertools.product("<>", repeat=3):
        a, b = (x.astype(x.dtype.newbyteorder(o)) for x, o in zip(last_overflows(dtype, policy), orders, strict=False))
        over = a if which == "a" else b
        for out in (over.view(result.newbyteorder(orders[2])), over[::-1].view(result.newbyteorder(orders[2]))):
            for x, y in ((a, b), (a.view(Subclass), b), (a, b.view(Subclass)), (a, b[:])):
                kept = a.tobytes(), b.tobytes()
                with pytest.raises(OverflowFound):
                    mn.subtract(x, y, out=out, overflow=policy)
                assert (a.tobytes(), b.tobytes()) == kept


# ---- what could end the process ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operand",
    ["np.ma.masked", "np.memmap('m', 'f8', 'w+', shape=(1,)).reshape(())", "np.ma.array([1.0])[:1].squeeze()"],
)
def test_an_array_without_dims_is_no_scalar_in_a_process_of_its_own(operand, tmp_path):
    script = f"""
import numpy as np, minuend as mn
for args in ((np.arange(3.), {operand}), ({operand}, np.arange(3.))):
    try: print(mn.subtract(*args))
    except mn.MinuendError as error: print(type(error).__name__)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_overflows_are_not_counted_of_shapes_that_do_not_join(dtype):
    with pytest.raises(ShapeError, match=r"shapes \(3,\) and \(4,\) do not broadcast"):
        mn.count_overflows(np.zeros(3, dtype), np.zeros(4, dtype))


def test_errors_and_operators_go_to_another_process_with_all_that_they_say() -> None:
    with pytest.raises(ShapeError) as shapes:
        mn.subtract(np.zeros(3), np.zeros(4))
    with pytest.raises(OverflowFound) as overflow:
        mn.subtract(np.uint8([1]), np.uint8([2]), overflow="error")
    for error in (shapes.value, overflow.value, SpecError("rule", "text", where="place"), MinuendError("text")):
        there = pickle.loads(pickle.dumps(error))
        assert type(there) is type(error)
        assert (str(there), vars(there)) == (str(error), vars(error))
    for operator in OPERATORS.values():
        assert pickle.loads(pickle.dumps(operator)) is operator
