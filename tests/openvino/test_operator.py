"""``minuend.openvino.subtract``: the page's examples, the standard's own numbers, and every narrow type in full."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from minuend.core.elements import TYPES
from minuend.errors import DTypeError, ScalarRangeError, ShapeError
from minuend.openvino import Tensor, subtract
from minuend.openvino.tensor import NARROW
from minuend.openvino.versions import SPELLINGS, SUBTRACT_1
from minuend.operators import SUBTRACT, reference


def bytes_of(values: Any) -> Any:
    return np.array(values, np.uint8)


def bits_of(array: Any) -> list[int]:
    return np.ascontiguousarray(array).view(f"u{array.itemsize}").ravel().tolist()


WIDE = [name for name in SUBTRACT_1.types if TYPES[name].kernel != "table"]


# ---- the page's two examples ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WIDE)
def test_example_1_equal_shapes_without_broadcasting(name: str) -> None:
    element = TYPES[name]
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 100, (256, 56)).astype(element.memory) for _ in "ab")
    result = subtract(a, b, auto_broadcast="none")
    assert (result.shape, result.dtype) == ((256, 56), element.memory)
    # Whole numbers below 100: every type holds their differences exactly, or modulo its range.
    exact = a.astype(np.int64) - b.astype(np.int64)
    assert np.array_equal(result, exact.astype(element.memory))


def test_example_2_both_sides_repeat() -> None:
    a = np.arange(8 * 6, dtype=np.int32).reshape(8, 1, 6, 1)
    b = 1000 * np.arange(7 * 5, dtype=np.int32).reshape(7, 1, 5)
    result = subtract(a, b, auto_broadcast="numpy")
    assert result.shape == (8, 7, 6, 5)
    for i, j, k, m in np.ndindex(8, 7, 6, 5):
        assert result[i, j, k, m] == (6 * i + k) - 1000 * (5 * j + m)


# ---- the standard's own numbers -------------------------------------------------------------------------------

OFFICIAL_TYPES = ["float32", "float16", "bfloat16", "int64", "int32", "uint64", "uint32"]


@pytest.mark.parametrize("name", OFFICIAL_TYPES)
def test_official_numbers_hold(name: str) -> None:
    dtype = TYPES[name].memory

    def run(a: Any, b: Any) -> Any:
        return subtract(np.array(a).astype(dtype), np.array(b).astype(dtype)).astype(np.int64).tolist()

    assert run([[2, 4], [8, 16]], [[1, 2], [4, 8]]) == [[1, 2], [4, 8]]
    assert run([8], [2]) == [6]
    assert run([[[12], [24]], [[36], [48]], [[60], [72]]], [[1, 2, 3, 4, 6, 1]]) == [
        [[11, 10, 9, 8, 6, 11], [23, 22, 21, 20, 18, 23]],
        [[35, 34, 33, 32, 30, 35], [47, 46, 45, 44, 42, 47]],
        [[59, 58, 57, 56, 54, 59], [71, 70, 69, 68, 66, 71]],
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_official_numbers_hold_for_fractions(dtype: Any) -> None:
    assert subtract(np.array([3.1], dtype), np.array([8], dtype))[0] == dtype(-4.9)


def test_official_numbers_hold_for_packed_u2() -> None:
    def run(a: tuple[Any, bytes], b: tuple[Any, bytes]) -> tuple[Any, bytes]:
        result = subtract(Tensor.unpack("u2", *a), Tensor.unpack("u2", *b))
        return result.shape, result.pack()

    assert run(((2, 2), bytes([0b00011110])), ((2, 2), bytes([0b11100100]))) == ((2, 2), bytes([0b01111010]))
    assert run(((1,), b"\x03"), ((1,), b"\x02")) == ((1,), b"\x01")
    answer = run(((3, 2, 1), bytes([0b11100100, 0b00000100])), ((1, 6), bytes([0b11100100, 0b00000110])))
    assert answer == ((3, 2, 6), bytes.fromhex("6c1e3bc6b4916c1e3b"))


# ---- narrow types, every pair ---------------------------------------------------------------------------------


def every_pair(bits: int) -> tuple[Any, Any]:
    codes = np.arange(1 << bits, dtype=np.uint8)
    return codes[:, None], codes[None, :]


@pytest.mark.parametrize("element", NARROW, ids=str)
def test_every_pair_of_a_narrow_type_is_the_references(element: Any) -> None:
    a, b = every_pair(element.bits)
    result = subtract(Tensor(element, a), Tensor(element, b))
    assert result.element_type == SPELLINGS[element.name][0]
    codes = range(1 << element.bits)
    expected = Tensor(element, bytes_of([[reference.apply(SUBTRACT, element, (x, y)) for y in codes] for x in codes]))
    nan = np.isnan(expected.to_float())
    assert np.array_equal(np.isnan(result.to_float()), nan)
    assert np.array_equal(result.codes[~nan], expected.codes[~nan])


@pytest.mark.parametrize("element", [e for e in NARROW if e.numpy is not None], ids=str)
def test_ml_dtypes_arrays_and_tensors_answer_alike(element: Any) -> None:
    a, b = every_pair(element.bits)
    by_array = subtract(a.view(element.numpy), b.view(element.numpy))
    assert by_array.dtype == element.numpy
    assert bits_of(by_array) == subtract(Tensor(element, a), Tensor(element, b)).codes.ravel().tolist()


@pytest.mark.parametrize("element", [e for e in NARROW if e.is_integer], ids=str)
def test_every_pair_of_a_narrow_integer_wraps(element: Any) -> None:
    a, b = every_pair(element.bits)
    result = subtract(Tensor(element, a), Tensor(element, b))
    assert np.array_equal(result.codes, (a.astype(int) - b) % (1 << element.bits))


@pytest.mark.parametrize("element", [e for e in NARROW if e.format is not None and e.format.signed], ids=str)
def test_every_pair_of_a_narrow_float_is_what_ml_dtypes_computes(element: Any) -> None:
    a, b = every_pair(element.bits)
    with np.errstate(all="ignore"):
        peer = np.subtract(a.view(element.numpy), b.view(element.numpy))
    result = subtract(Tensor(element, a), Tensor(element, b)).to_float()
    wide = peer.astype(np.float32)
    assert np.array_equal(result, wide, equal_nan=True)
    numbers = ~np.isnan(wide)
    assert np.array_equal(np.signbit(result[numbers]), np.signbit(wide[numbers]))


def test_a_difference_of_f8e8m0_that_is_not_positive_is_nan() -> None:
    a, b = every_pair(8)
    result = subtract(Tensor("f8e8m0", a), Tensor("f8e8m0", b)).to_float()
    # Powers of two: above 255 is NaN; else the difference of exponents decides. d = 1: 2**e - 2**(e-1) is exact;
    # d >= 2 is at least three quarters of a, of which exactly three quarters is a tie that goes up.
    for x in range(255):
        for y in range(255):
            if x <= y:
                assert np.isnan(result[x, y])
            else:
                assert result[x, y] == np.float32(2.0 ** ((x - 1 if x - y == 1 else x) - 127))
    assert np.isnan(result[255]).all()
    assert np.isnan(result[:, 255]).all()


def test_every_pair_of_nf4_is_the_level_nearest_to_the_exact_difference() -> None:
    levels = [Fraction(level) for level in TYPES["nf4"].levels or ()]
    a, b = every_pair(4)
    result = subtract(Tensor("nf4", a), Tensor("nf4", b)).codes.tolist()
    for x, y in np.ndindex(16, 16):
        exact = levels[x] - levels[y]
        distances = [abs(level - exact) for level in levels]
        nearest = [code for code, distance in enumerate(distances) if distance == min(distances)]
        assert result[x][y] == min(nearest, key=lambda code: abs(levels[code]))


# ---- the array function ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in WIDE if TYPES[name].is_integer])
def test_integers_wrap(name: str) -> None:
    low, high = TYPES[name].limits
    a, b = np.array([low, high, 0], name), np.array([1, low, low], name)
    span = 1 << TYPES[name].bits
    expected = [(x - y - low) % span + low for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert subtract(a, b).tolist() == expected


def test_python_numbers_take_the_arrays_type() -> None:
    a = np.array([1, 2], np.uint8)
    assert subtract(a, 2).tolist() == [255, 0]
    assert subtract(2, a).dtype == np.uint8
    assert subtract(np.array([1.5], np.float16), 0.5).tolist() == [1.0]
    assert subtract(a, 2, auto_broadcast="pdpd").tolist() == [255, 0]
    with pytest.raises(ScalarRangeError) as error:
        subtract(a, 300)
    assert str(error.value) == "the Python int 300 does not fit uint8 (0 to 255)"
    with pytest.raises(ShapeError) as shape_error:
        subtract(a, 2, auto_broadcast="none")
    assert str(shape_error.value) == ("shapes (2,) and () must be equal (no broadcasting): the ranks are 1 and 0")


def test_out_is_written_and_may_be_an_operand() -> None:
    a, b = np.arange(6, dtype=np.int16).reshape(2, 3), np.array([10, 20], np.int16)
    expected = [[-10, -9, -8], [-17, -16, -15]]
    out = np.empty((2, 3), np.int16)
    assert subtract(a, b, auto_broadcast="pdpd", axis=0, out=out) is out
    assert out.tolist() == expected
    assert subtract(a, b, auto_broadcast="pdpd", axis=0, out=a) is a
    assert a.tolist() == expected


def test_types_are_not_promoted() -> None:
    with pytest.raises(DTypeError) as error:
        subtract(np.ones(2, np.float32), np.ones(2, np.int32))
    assert str(error.value) == "a is of float32 and b of int32; nothing is promoted, convert one of them"


# ---- tensors --------------------------------------------------------------------------------------------------


def test_tensors_broadcast_by_every_rule() -> None:
    a = Tensor("i4", (np.arange(6, dtype=np.uint8)).reshape(2, 3))
    b = Tensor("i4", bytes_of([1, 2]))
    assert subtract(a, b, auto_broadcast="pdpd", axis=0).codes.tolist() == [[15, 0, 1], [1, 2, 3]]
    assert subtract(a, a, auto_broadcast="none").codes.tolist() == [[0, 0, 0], [0, 0, 0]]
    with pytest.raises(ShapeError):
        subtract(a, b)


def test_a_tensor_goes_with_a_python_number() -> None:
    a = Tensor("nf4", bytes_of([0, 7, 15]))
    assert subtract(a, -1).to_float().tolist() == [0.0, 1.0, 1.0]
    assert subtract(1.0, a).codes.tolist() == [15, 15, 7]
    assert subtract(Tensor("u2", bytes_of([0, 3])), 3).codes.tolist() == [1, 0]


def test_out_of_tensors_is_a_tensor() -> None:
    a, b = Tensor("u4", bytes_of([[1, 2], [3, 4]])), Tensor("u4", bytes_of([2, 2]))
    out = Tensor("u4", np.zeros((2, 2), np.uint8))
    assert subtract(a, b, out=out) is out
    assert out.codes.tolist() == [[15, 0], [1, 2]]
    assert subtract(a, b, out=a) is a
    assert a.codes.tolist() == [[15, 0], [1, 2]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda t: subtract(t, Tensor("u2", t.codes)),
            "Subtract-1 takes two operands of one element type; A is nf4 and B is u2; convert one of them first",
        ),
        (
            lambda t: subtract(t, t.codes),
            (
                "b is a ndarray, the other operand a Tensor; expected a Tensor or a Python number "
                "(Tensor('nf4', codes) makes one of codes)"
            ),
        ),
        (
            lambda t: subtract(True, t),
            (
                "a is a bool, the other operand a Tensor; expected a Tensor or a Python number "
                "(Tensor('nf4', codes) makes one of codes)"
            ),
        ),
        (
            lambda t: subtract(t, t, out=t.codes),
            "out is a ndarray; the result of Tensors is a Tensor",
        ),
        (
            lambda t: subtract(t, t, out=Tensor("u2", t.codes)),
            "out is of uint2; the result is nf4, and nothing is converted",
        ),
    ],
)
def test_messages_of_tensors_say_what_came_and_what_was_expected(call: Any, message: str) -> None:
    with pytest.raises(DTypeError) as error:
        call(Tensor("nf4", bytes_of([0, 1])))
    assert str(error.value) == message


# ---- a peer: the installed openvino ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["float16", "float32", "int8", "int32", "int64", "uint8", "uint32", "uint64"])
@pytest.mark.parametrize(
    "case",
    [
        ("none", -1, (50, 40), (50, 40)),
        ("numpy", -1, (8, 1, 6, 1), (7, 1, 5)),
        ("pdpd", -1, (4, 5, 6), (5, 1)),
        ("pdpd", 0, (4, 4), (4,)),
        ("pdpd", 1, (2, 3, 4, 5), (3, 1)),
        ("pdpd", -1, (2, 1), (2, 0)),
    ],
)
def test_the_installed_openvino_evaluates_the_same(peer_model: Any, name: str, case: tuple[Any, ...]) -> None:
    rule, axis, a_shape, b_shape = case
    ov = pytest.importorskip("openvino")
    element = TYPES[name]
    rng = np.random.default_rng(2)
    a, b = (np.frombuffer(rng.bytes(int(np.prod(s)) * element.itemsize), name).reshape(s) for s in (a_shape, b_shape))
    node = peer_model(rule, *(",".join(map(str, shape)) for shape in (a_shape, b_shape)), axis, SPELLINGS[name][0])
    with np.errstate(all="ignore"):
        ours = subtract(a, b, auto_broadcast=rule, axis=axis)
    theirs = ov.Tensor(np.zeros(ours.shape, name))
    assert node.get_result().input_value(0).get_node().evaluate([theirs], [ov.Tensor(a.copy()), ov.Tensor(b.copy())])
    assert np.array_equal(ours, theirs.data, equal_nan=True)
