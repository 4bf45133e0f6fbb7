"""The oracle against oracles of others: NumPy, ml_dtypes, exact fractions."""

from __future__ import annotations

import doctest
import math
import random
import struct
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import oracle
import pytest

from minuend.core.elements import TYPES, ElementType
from minuend.errors import DTypeError, OverflowFound, ScalarRangeError, ShapeError
from minuend.operators import SUBTRACT, reference
from minuend.operators import codes as of_codes

NAN, INF = math.nan, math.inf


def subtract(element: ElementType, a: int, b: int, overflow: str = "wrap") -> int:
    return reference.apply(SUBTRACT, element, (a, b), overflow)


def overflows(element: ElementType, a: int, b: int) -> bool:
    return reference.overflows(SUBTRACT, element, (a, b))


def table(element: ElementType, policy: str) -> bytes:
    return reference.table(SUBTRACT, element, policy)


FLOATS = [row for row in TYPES.values() if row.format is not None]
SMALL_FLOATS = [row for row in FLOATS if row.bits <= 16]
INTEGERS = [row for row in TYPES.values() if row.is_integer]


def by_name(row: Any) -> str:
    return str(row)


def every_code(element: ElementType) -> np.ndarray[Any, Any]:
    return oracle.array(element, range(1 << element.bits))


# ---- decode ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("element", SMALL_FLOATS, ids=by_name)
def test_decode_gives_the_value_that_numpy_and_ml_dtypes_read(element):
    with np.errstate(invalid="ignore"):  # signalling NaNs
        theirs = every_code(element).astype(np.float64).tolist()
    for code, value in enumerate(theirs):
        ours = of_codes.decode(element, code)
        assert struct.pack("d", abs(float(ours))) == struct.pack("d", abs(value)) or math.isnan(value)
        assert math.isnan(ours) == math.isnan(value)
        assert math.isnan(value) or math.copysign(1, float(ours)) == math.copysign(1, value)


@pytest.mark.parametrize(("name", "layout"), [("float32", "<f"), ("float64", "<d")])
def test_decode_gives_the_value_that_struct_reads(name, layout):
    element = TYPES[name]
    a, b = oracle.random_pairs(element, 5_000, seed=1)
    for code in [*oracle.lattice(element), *oracle.codes(element, a).tolist(), *oracle.codes(element, b).tolist()]:
        (value,) = struct.unpack(layout, code.to_bytes(element.itemsize, "little"))
        ours = of_codes.decode(element, code)
        assert (math.isnan(ours) and math.isnan(value)) or (
            ours == value and math.copysign(1, value) == math.copysign(1, ours)
        )


def test_decode_keeps_apart_what_no_fraction_can_say():
    bf16 = TYPES["bfloat16"]
    found = [of_codes.decode(bf16, code) for code in (0x0000, 0x8000, 0x7F80, 0xFF80, 0x7FC0, 0x7F81, 0x3FC0)]
    assert [type(value) for value in found] == [Fraction, float, float, float, float, float, Fraction]
    assert [str(value) for value in found] == ["0", "-0.0", "inf", "-inf", "nan", "nan", "3/2"]


@pytest.mark.parametrize("element", INTEGERS, ids=by_name)
def test_decode_reads_integers_as_two_complement(element):
    low, high = element.limits
    for value in {low, low + 1, 0, 1, high - 1, high} & set(range(low, high + 1) if element.bits < 9 else [low, high]):
        code = value % (1 << element.bits)
        assert of_codes.decode(element, code) == value
        assert of_codes.encode(element, value) == code


def test_decode_gives_the_levels_of_a_code_book():
    nf4 = TYPES["nf4"]
    assert [float(of_codes.decode(nf4, code)) for code in range(16)] == list(nf4.levels)


@pytest.mark.parametrize("element", [row for row in TYPES.values() if row.bits <= 8], ids=by_name)
def test_encode_undoes_decode(element):
    for code in range(1 << element.bits):
        value = of_codes.decode(element, code)
        again = of_codes.encode(element, value)
        if isinstance(value, float) and math.isnan(value):
            assert math.isnan(of_codes.decode(element, again))
        else:
            assert again == code


# ---- encode ---------------------------------------------------------------------------------------------------


def nearest(element: ElementType, value: Fraction) -> int:
    """The nearest finite code by trying: halve the range of codes, then compare two exact distances."""
    goal = abs(value)
    low, high = 0, largest(element)
    while low < high:  # ends at the highest code whose value is not above the goal
        middle = (low + high + 1) // 2
        low, high = (middle, high) if of_codes.decode(element, middle) <= goal else (low, middle - 1)
    below, above = goal - of_codes.decode(element, low), of_codes.decode(element, low + 1) - goal
    code = low if below < above or (below == above and low % 2 == 0) else low + 1
    return code | (1 << (element.bits - 1) if value < 0 else 0)


def largest(element: ElementType) -> int:
    """The code of the largest finite value."""
    f = element.format
    magnitudes = 1 << (f.exponent + f.mantissa)
    return magnitudes - {"ieee": (1 << f.mantissa) + 1, "nan-only": 2, "finite": 1}[f.special]


@pytest.mark.parametrize("element", [row for row in FLOATS if row.format.signed], ids=by_name)
def test_encode_takes_the_nearest_code_of_any_fraction(element):
    rng = random.Random(2)
    for _ in range(400):
        code = rng.randrange(largest(element))
        low, high = of_codes.decode(element, code), of_codes.decode(element, code + 1)
        for part in (Fraction(rng.randrange(1, 999), 1000), Fraction(1, 2), Fraction(1, 2) + Fraction(1, 3**90)):
            value = (low + (high - low) * part) * rng.choice((1, -1))
            assert of_codes.encode(element, value) == nearest(element, value)


def test_encode_rounds_once_and_not_through_a_wider_type():
    assert of_codes.encode(TYPES["bfloat16"], 1 + 2**-8) == 0x3F80  # a tie goes to the even code
    assert of_codes.encode(TYPES["bfloat16"], 1 + 3 * 2**-8) == 0x3F82
    assert of_codes.encode(TYPES["bfloat16"], 1 + 2**-8 + 2**-40) == 0x3F81  # through float32 it would tie
    assert of_codes.encode(TYPES["float16"], Fraction(1) + Fraction(1, 2**11) + Fraction(1, 3**200)) == 0x3C01
    assert of_codes.encode(TYPES["float32"], 2**24 + 1) == 0x4B800000
    assert of_codes.encode(TYPES["float32"], 2**24 + 3) == 0x4B800002
    assert of_codes.encode(TYPES["float64"], 2**53 + 1) == struct.unpack("<Q", struct.pack("<d", 2.0**53))[0]


def test_encode_rounds_fractions_that_python_divides_as_python_does():
    rng = random.Random(3)
    for _ in range(3_000):
        n, d = rng.getrandbits(rng.randrange(1, 200)) + 1, rng.getrandbits(rng.randrange(1, 200)) + 1
        code = struct.unpack("<Q", struct.pack("<d", n / d))[0]
        assert of_codes.encode(TYPES["float64"], Fraction(n, d)) == code


SPECIAL_CODES = [
    ("float16", NAN, 0x7E00), ("float16", INF, 0x7C00), ("float16", -INF, 0xFC00), ("float16", -0.0, 0x8000),
    ("float16", 0, 0x0000), ("float16", 65519, 0x7BFF), ("float16", 65520, 0x7C00), ("float16", -(10**400), 0xFC00),
    ("float16", 2.0**-25, 0x0000), ("float16", -(2.0**-25), 0x8000), ("float16", 2.0**-25 + 2.0**-60, 0x0001),
    ("bfloat16", NAN, 0x7FC0), ("bfloat16", 3.4e38, 0x7F80), ("bfloat16", -0.0, 0x8000),
    ("float32", NAN, 0x7FC00000), ("float32", 5e-324, 0), ("float32", -5e-324, 0x80000000),
    ("float64", NAN, 0x7FF8000000000000), ("float64", 10**400, 0x7FF0000000000000), ("float64", 5e-324, 1),
    ("float8_e5m2", NAN, 0x7E), ("float8_e5m2", 61440, 0x7C), ("float8_e5m2", 61439, 0x7B), ("float8_e5m2", -INF, 0xFC),
    ("float8_e4m3fn", 464, 0x7E), ("float8_e4m3fn", 465, 0x7F), ("float8_e4m3fn", -464, 0xFE),
    ("float8_e4m3fn", INF, 0x7F), ("float8_e4m3fn", NAN, 0x7F), ("float8_e4m3fn", -0.0, 0x80),
    ("float4_e2m1fn", 7, 0x7), ("float4_e2m1fn", -1e9, 0xF), ("float4_e2m1fn", INF, 0x7), ("float4_e2m1fn", 0.25, 0),
    ("float4_e2m1fn", 0.75, 2), ("float4_e2m1fn", 2.5, 4), ("float4_e2m1fn", -0.0, 0x8),
    ("float8_e8m0fnu", 3, 129), ("float8_e8m0fnu", 6, 130), ("float8_e8m0fnu", 0.75, 127), ("float8_e8m0fnu", 1.5, 128),
    ("float8_e8m0fnu", 2.9, 128), ("float8_e8m0fnu", 0, 255), ("float8_e8m0fnu", -0.0, 255),
    ("float8_e8m0fnu", -1, 255),
    ("float8_e8m0fnu", NAN, 255), ("float8_e8m0fnu", INF, 255), ("float8_e8m0fnu", -INF, 255),
    ("float8_e8m0fnu", 2**128, 255), ("float8_e8m0fnu", 1.4 * 2.0**127, 254), ("float8_e8m0fnu", 1.5 * 2.0**127, 255),
    ("float8_e8m0fnu", 2.0**-127, 0), ("float8_e8m0fnu", 2.0**-140, 0),
    ("nf4", 0, 7), ("nf4", 0.5, 12), ("nf4", 2, 15), ("nf4", -INF, 0), ("nf4", INF, 15),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "code"), SPECIAL_CODES)
def test_encode_ends_where_the_type_ends(name, value, code):
    assert of_codes.encode(TYPES[name], value) == code


@pytest.mark.parametrize("element", SMALL_FLOATS, ids=by_name)
def test_encode_rounds_python_floats_as_ml_dtypes_and_numpy_do(element):
    rng = random.Random(4)
    scale = 40 if element.bits > 8 else 12
    values = [rng.uniform(-1, 1) * 2.0 ** rng.randrange(-scale, scale) for _ in range(2_000)]
    values += [float(n) / 8 for n in range(-600, 600)]
    if element.name == "float4_e2m1fn":
        values = [value for value in values if abs(value) < 1e4]
    with np.errstate(over="ignore"):
        if element.name == "bfloat16":  # ml_dtypes goes through float32; only values that float32 holds agree
            values = [float(np.float32(value)) for value in values]
        theirs = np.array(values).astype(element.memory)
    ours = oracle.array(element, (of_codes.encode(element, value) for value in values))
    oracle.assert_same(element, ours, theirs)


def test_a_tie_between_two_levels_goes_to_the_one_nearer_zero():
    nf4 = TYPES["nf4"]
    levels = [Fraction(level) for level in nf4.levels]
    for code in range(15):
        middle = (levels[code] + levels[code + 1]) / 2
        nearer = code if abs(levels[code]) < abs(levels[code + 1]) else code + 1
        assert of_codes.encode(nf4, middle) == nearer
        assert of_codes.encode(nf4, middle + Fraction(1, 10**30)) == code + 1
        assert of_codes.encode(nf4, middle - Fraction(1, 10**30)) == code


# ---- subtract -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("element", [row for row in SMALL_FLOATS if row.bits <= 8], ids=by_name)
def test_every_pair_of_a_small_float_type_subtracts_as_ml_dtypes_does(element):
    # ml_dtypes subtracts in float32, which is exact or more than twice as precise as these types: rounded once.
    a, b = oracle.all_pairs(element)
    with np.errstate(all="ignore"):
        theirs = a - b
    ours = oracle.answers(element, a, b)
    oracle.assert_same(element, ours, theirs, a, b)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_wide_floats_subtract_as_ieee_754_hardware_does(name):
    element = TYPES[name]
    for a, b in (oracle.cross(element, oracle.lattice(element)), oracle.random_pairs(element, 60_000, seed=5)):
        with np.errstate(all="ignore"):
            theirs = a - b
        oracle.assert_same(element, oracle.answers(element, a, b), theirs, a, b)


@pytest.mark.parametrize("element", FLOATS, ids=by_name)
def test_a_float_difference_is_the_exact_fraction_rounded_once(element):
    a, b = oracle.random_pairs(element, 3_000, seed=6) if element.bits > 8 else oracle.all_pairs(element)
    pairs = zip(*(operand.view(f"u{element.itemsize}").tolist()[:3_000] for operand in (a, b)), strict=True)
    for x, y in pairs:
        m, n = of_codes.decode(element, x), of_codes.decode(element, y)
        if all(isinstance(value, Fraction) for value in (m, n)):
            assert subtract(element, x, y) == of_codes.encode(element, m - n)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (0.0, 0.0, "0.0"), (-0.0, 0.0, "-0.0"), (0.0, -0.0, "0.0"), (-0.0, -0.0, "0.0"), (1.0, 1.0, "0.0"),
        (INF, INF, "nan"), (-INF, -INF, "nan"), (INF, -INF, "inf"), (-INF, INF, "-inf"), (1.0, INF, "-inf"),
        (1.0, -INF, "inf"), (INF, 1.0, "inf"), (-INF, 1.0, "-inf"), (NAN, 1.0, "nan"), (1.0, NAN, "nan"),
        (NAN, INF, "nan"), (INF, NAN, "nan"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["float8_e5m2", "float16", "bfloat16", "float32", "float64"])
def test_zeros_infinities_and_nan_follow_ieee_754(name, a, b, expected):
    element = TYPES[name]
    code = subtract(element, of_codes.encode(element, a), of_codes.encode(element, b))
    assert str(float(of_codes.decode(element, code))) == expected


def test_a_nan_of_any_payload_and_sign_gives_the_canonical_quiet_nan():
    for name, signalling in (("float16", 0xFC01), ("float32", 0x7F800001), ("float64", 0xFFF0000000000001)):
        element = TYPES[name]
        nan = of_codes.encode(element, NAN)
        assert subtract(element, signalling, 0) == subtract(element, 0, signalling) == nan


def test_e4m3fn_overflows_to_nan_and_e2m1fn_clamps():
    e4m3, e2m1 = TYPES["float8_e4m3fn"], TYPES["float4_e2m1fn"]
    assert of_codes.decode(e4m3, subtract(e4m3, 0x7E, of_codes.encode(e4m3, -16))) == 448
    assert subtract(e4m3, 0x7E, of_codes.encode(e4m3, -18)) == 0x7F
    assert of_codes.decode(e2m1, subtract(e2m1, 0x7, 0xF)) == 6
    assert of_codes.decode(e2m1, subtract(e2m1, 0xF, 0x7)) == -6


def test_e8m0fnu_has_no_zero_and_no_sign_so_a_difference_at_or_below_zero_is_nan():
    e8m0 = TYPES["float8_e8m0fnu"]
    assert subtract(e8m0, 128, 127) == 127  # 2 - 1
    assert subtract(e8m0, 129, 127) == 129  # 4 - 1 = 3, a tie, goes up
    assert [subtract(e8m0, *pair) for pair in ((127, 127), (127, 128), (255, 1), (1, 255))] == [255] * 4


def test_nf4_gives_the_level_nearest_to_the_exact_difference():
    nf4 = TYPES["nf4"]
    for a in range(16):
        for b in range(16):
            exact = Fraction(nf4.levels[a]) - Fraction(nf4.levels[b])
            distances = [abs(Fraction(level) - exact) for level in nf4.levels]
            assert distances[subtract(nf4, a, b)] == min(distances)
    assert subtract(nf4, 15, 0) == 15  # 1 - (-1) = 2
    assert subtract(nf4, 3, 3) == 7  # 0


@pytest.mark.parametrize("element", INTEGERS, ids=by_name)
def test_integers_wrap_as_numpy_and_ml_dtypes_do(element):
    a, b = oracle.all_pairs(element) if element.bits <= 8 else oracle.cross(element, oracle.lattice(element))
    with np.errstate(over="ignore"):
        theirs = a - b
    oracle.assert_same(element, oracle.answers(element, a, b), theirs, a, b)


@pytest.mark.parametrize("element", [row for row in INTEGERS if row.bits <= 32], ids=by_name)
def test_integers_saturate_and_widen_as_64_bit_arithmetic_says(element):
    a, b = oracle.all_pairs(element) if element.bits <= 8 else oracle.cross(element, oracle.lattice(element))
    exact = a.astype(np.int64) - b.astype(np.int64)
    low, high = element.limits
    oracle.assert_same(
        element, oracle.answers(element, a, b, "saturate"), np.clip(exact, low, high).astype(element.memory)
    )
    wide = element.widened
    oracle.assert_same(wide, oracle.answers(element, a, b, "widen"), exact.astype(wide.memory))
    outside = ((exact < low) | (exact > high)).tolist()
    x, y = (operand.view(f"u{element.itemsize}").tolist() for operand in (a, b))
    assert [overflows(element, i, j) for i, j in zip(x, y, strict=True)] == outside


@pytest.mark.parametrize("name", ["int64", "uint64"])
def test_64_bit_integers_saturate_widen_and_overflow_as_python_integers_say(name):
    element = TYPES[name]
    low, high = element.limits
    for i in oracle.lattice(element):
        for j in oracle.lattice(element)[::3]:
            exact = of_codes.decode(element, i) - of_codes.decode(element, j)
            assert of_codes.decode(element, subtract(element, i, j, "saturate")) == min(max(exact, low), high)
            assert overflows(element, i, j) == (not low <= exact <= high)
            if -(2**63) <= exact < 2**63:
                assert of_codes.decode(TYPES["int64"], subtract(element, i, j, "widen")) == exact
            else:
                with pytest.raises(OverflowFound):
                    subtract(element, i, j, "widen")


def test_floats_ignore_every_policy_and_never_overflow():
    for policy in reference.POLICIES:
        assert subtract(TYPES["float16"], 0x7BFF, 0xFBFF, policy) == 0x7C00
    assert not overflows(TYPES["float16"], 0x7BFF, 0xFBFF)


# ---- table ----------------------------------------------------------------------------------------------------

TABLED = [row for row in TYPES.values() if row.bits <= 8]


@pytest.mark.parametrize(
    ("element", "policy"),
    [
        (row, policy)
        for row in TABLED
        for policy in reference.TABLE_POLICIES
        if policy != "widen" or row.widened.bits <= 8
    ],
    ids=by_name,
)
def test_a_table_holds_the_answer_of_every_pair_of_bytes(element, policy):
    answers = table(element, policy)
    assert len(answers) == 131_072
    low = (1 << element.bits) - 1
    how = policy if policy in ("saturate", "widen") else "wrap"
    rng = random.Random(7)
    for _ in range(1_000):
        a, b = rng.randrange(256), rng.randrange(256)
        assert answers[a << 8 | b] == subtract(element, a & low, b & low, how)
        assert answers[65_536 + (a << 8 | b)] == overflows(element, a & low, b & low)


@pytest.mark.parametrize("element", TABLED, ids=by_name)
def test_only_integers_have_overflow_flags(element):
    flags = table(element, "wrap")[65_536:]
    assert set(flags) == ({0, 1} if element.is_integer else {0})


def test_a_table_is_made_once():
    assert table(TYPES["int4"], "wrap") is table(TYPES["int4"], "wrap")


# ---- arrays ---------------------------------------------------------------------------------------------------


def test_arrays_join_as_numpy_broadcasts():
    rng = np.random.default_rng(8)
    for a_shape, b_shape in [
        ((), ()), ((3,), ()), ((), (3,)), ((2, 3), (3,)), ((2, 1), (3,)), ((4, 1, 3), (2, 1)), ((1,), (0,)),
        ((0, 3), (1, 3)), ((2, 0), (1,)), ((1, 1, 1), (2, 3)), ((2, 3, 4), (2, 3, 4)),
    ]:  # fmt: skip
        a, b = (rng.integers(0, 256, shape, np.uint8) for shape in (a_shape, b_shape))
        ours = oracle.subtract_arrays(TYPES["uint8"], a, b)
        assert ours.dtype == np.uint8
        np.testing.assert_array_equal(ours, a - b, strict=True)


def test_arrays_join_from_an_axis_of_a():
    a = np.arange(2 * 3 * 4, dtype=np.int32).reshape(2, 3, 4)
    b = np.arange(6, dtype=np.int32).reshape(2, 3)
    np.testing.assert_array_equal(oracle.subtract_arrays(TYPES["int32"], a, b, b_start=0), a - b[:, :, None])
    b = np.array([[10], [20], [30]], np.int32)
    np.testing.assert_array_equal(oracle.subtract_arrays(TYPES["int32"], a, b, b_start=1), a - b)
    b = np.array([[1, 2, 3]], np.int32)
    np.testing.assert_array_equal(oracle.subtract_arrays(TYPES["int32"], a, b, b_start=0), a - b[:, :, None])
    one, none = np.zeros((2, 1), np.int32), np.zeros(0, np.int32)
    assert oracle.subtract_arrays(TYPES["int32"], one, none, b_start=1).shape == (2, 0)


def test_arrays_of_any_layout_and_byte_order_are_read():
    big = np.array([[1, 2], [3, 4]], ">i4").T
    odd = np.frombuffer(b"\0" + np.array([5, 6], "<i4").tobytes(), np.uint8)[1:].view("<i4")[::-1]
    ours = oracle.subtract_arrays(TYPES["int32"], big, odd)
    assert (ours.dtype, ours.tolist()) == (np.dtype(np.int32), [[-5, -2], [-4, -1]])


def test_upper_bits_of_a_narrow_element_do_not_count():
    a = np.array([0xF1, 0x72], np.uint8).view(ml_dtypes.int4)
    b = np.array([0x02, 0x91], np.uint8).view(ml_dtypes.int4)
    assert oracle.subtract_arrays(TYPES["int4"], a, b).view(np.uint8).tolist() == [0x0F, 0x01]


def test_code_books_are_arrays_of_bytes():
    ours = oracle.subtract_arrays(TYPES["nf4"], np.array([15, 7], np.uint8), np.array([0, 7], np.uint8))
    assert (ours.dtype, ours.tolist()) == (np.dtype(np.uint8), [15, 7])


# ---- errors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: of_codes.decode(TYPES["int4"], 16), ValueError, "16 is no code of int4; expected 0 to 15"),
        (lambda: of_codes.decode(TYPES["uint8"], -1), ValueError, "-1 is no code of uint8; expected 0 to 255"),
        (lambda: subtract(TYPES["float16"], 1, 1 << 16), ValueError,
         "65536 is no code of float16; expected 0 to 65535"),
        (lambda: overflows(TYPES["int2"], 0, 4), ValueError, "4 is no code of int2; expected 0 to 3"),
        (lambda: subtract(TYPES["int8"], 0, 0, "clip"), ValueError,
         "overflow is 'clip'; expected 'wrap', 'saturate', 'widen' or 'error'"),
        (lambda: table(TYPES["int8"], "clip"), ValueError,
         "overflow is 'clip'; expected 'wrap', 'saturate', 'widen', 'error' or 'count'"),
        (lambda: table(TYPES["int16"], "wrap"), ValueError,
         "int16 has 16 bits; a table holds 8 bits or fewer"),
        (lambda: table(TYPES["int8"], "widen"), ValueError,
         "differences of int8 widened to int16 have 16 bits; a table holds 8 bits or fewer"),
        (lambda: of_codes.encode(TYPES["uint8"], 256), ScalarRangeError, "256 does not fit uint8 (0 to 255)"),
        (lambda: of_codes.encode(TYPES["int4"], -9), ScalarRangeError, "-9 does not fit int4 (-8 to 7)"),
        (lambda: of_codes.encode(TYPES["int8"], 1.0), ValueError,
         "1.0 is no value of the integer type int8; pass an int"),
        (lambda: of_codes.encode(TYPES["int8"], Fraction(1, 2)), ValueError,
         "Fraction(1, 2) is no value of the integer type int8; pass an int"),
        (lambda: of_codes.encode(TYPES["float4_e2m1fn"], NAN), DTypeError,
         "float4_e2m1fn has no NaN, so it cannot hold nan"),
        (lambda: of_codes.encode(TYPES["nf4"], NAN), DTypeError, "nf4 has no NaN, so it cannot hold nan"),
        (lambda: subtract(TYPES["uint8"], 3, 5, "error"), OverflowFound,
         "3 - 5 = -2 does not fit uint8 (0 to 255)"),
        (lambda: subtract(TYPES["uint64"], 2**64 - 1, 0, "widen"), OverflowFound,
         f"{2**64 - 1} - 0 = {2**64 - 1} does not fit int64 ({-(2**63)} to {2**63 - 1})"),
        (lambda: oracle.subtract_arrays(TYPES["int8"], np.zeros(3, np.int8), np.zeros(2, np.int8)), ShapeError,
         "A's shape (3,) and B's (2,) do not join at axis 0: 3 and 2"),
        (lambda: oracle.subtract_arrays(TYPES["int8"], np.zeros(1, np.int8), np.zeros(2, np.int8), b_start=0),
         ShapeError, "A's shape (1,) and B's (2,) do not join at axis 0: 1 and 2"),
        (lambda: oracle.subtract_arrays(TYPES["int8"], np.zeros(3, np.int8), np.zeros(3, np.int8), b_start=1),
         ShapeError, "B's shape (3,) does not fit into A's (3,) from axis 1"),
    ],
)  # fmt: skip
def test_an_error_says_what_came_and_what_was_expected(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text


def test_an_overflow_in_an_array_names_the_first_and_counts_all():
    a, b = np.array([[9, 1], [2, 3]], np.uint8), np.array([5, 3], np.uint8)
    with pytest.raises(OverflowFound) as caught:
        oracle.subtract_arrays(TYPES["uint8"], a, b, "error")
    error = caught.value
    assert (error.count, error.index, error.a, error.b) == (2, (0, 1), 1, 3)
    assert str(error) == "2 of 4 differences overflow, the first at (0, 1): 1 - 3 = -2 does not fit uint8 (0 to 255)"


def test_the_examples_in_the_documentation_hold():
    failed, tried = doctest.testmod(reference)
    assert (failed, tried > 0) == (0, True)
