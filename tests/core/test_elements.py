"""The table of element types: every row against NumPy and ml_dtypes, every name that finds one."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from minuend.core import elements
from minuend.core.elements import TYPES, ElementType, of_numpy
from minuend.errors import DTypeError
from minuend.standards.dialects import dialects
from minuend.standards.spelling import find

ROWS = list(TYPES.values())
INTEGERS = [row for row in ROWS if row.is_integer]
FLOATS = [row for row in ROWS if row.format is not None]
SPELLINGS = [
    (dialect.name, name, spelling)
    for dialect in dialects().values()
    for name, spellings in dialect.spellings.items()
    for spelling in spellings
]
EXPECTED = (
    "expected float16, bfloat16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64, uint1, "
    "uint2, int2, uint4, int4, nf4, float4_e2m1fn, float8_e4m3fn, float8_e5m2 or float8_e8m0fnu"
)


def test_the_twelve_types_of_onnx_come_first_and_the_narrow_ones_of_openvino_after():
    assert list(TYPES) == [
        "float16", "bfloat16", "float32", "float64",
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "uint1", "uint2", "int2", "uint4", "int4", "nf4",
        "float4_e2m1fn", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu",
    ]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_has_the_dtype_that_numpy_or_ml_dtypes_has_under_its_name(row):
    theirs = getattr(ml_dtypes, row.name, None) or getattr(np, row.name, None)
    if row.name == "nf4":
        assert (theirs, row.numpy, row.memory) == (None, None, np.dtype(np.uint8))
        return
    assert row.numpy == np.dtype(theirs)
    assert row.memory == row.numpy
    assert row.itemsize == row.numpy.itemsize
    assert row.numpy.name == row.name


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_an_element_takes_whole_bytes_that_hold_its_bits(row):
    assert row.itemsize in (1, 2, 4, 8)
    assert row.bits <= 8 * row.itemsize < row.bits + 8


@pytest.mark.parametrize("row", INTEGERS, ids=str)
def test_integer_limits_are_those_of_the_dtype(row):
    info = ml_dtypes.iinfo(row.memory)
    assert row.limits == (int(info.min), int(info.max))
    assert info.bits in (row.bits, 8)  # ml_dtypes counts a byte for its newest types


@pytest.mark.parametrize("row", [row for row in ROWS if not row.is_integer], ids=str)
def test_a_float_has_no_limits_and_is_its_own_widened_type(row):
    with pytest.raises(TypeError) as caught:
        _ = row.limits
    assert str(caught.value) == f"{row.name} is no integer type and has no limits; see .format"
    assert row.widened is row


@pytest.mark.parametrize("row", INTEGERS, ids=str)
def test_the_widened_type_is_signed_of_twice_the_width_and_holds_every_difference(row):
    low, high = row.limits
    wide_low, wide_high = row.widened.limits
    assert row.widened.kind == "signed"
    if row.bits == 64:
        assert row.widened is TYPES["int64"]
    else:
        assert row.widened.bits == 2 * row.bits
        assert wide_low <= low - high
        assert high - low <= wide_high


@pytest.mark.parametrize("row", FLOATS, ids=str)
def test_a_float_format_is_the_one_that_finfo_describes(row):
    f, info = row.format, ml_dtypes.finfo(row.memory)
    assert f.exponent + f.mantissa + f.signed == row.bits
    assert f.mantissa == info.nmant
    assert f.exponent == info.nexp
    assert float(info.smallest_normal) == 2.0 ** (1 - f.bias if f.signed else -f.bias)
    # The largest code that is a number: what follows it is infinity, the one NaN, or nothing.
    magnitudes = 1 << (f.exponent + f.mantissa)
    code = magnitudes - {"ieee": (1 << f.mantissa) + 1, "nan-only": 2, "finite": 1}[f.special]
    significand = 1 + Fraction(code % (1 << f.mantissa), 1 << f.mantissa)
    assert Fraction(float(info.max)) == significand * Fraction(2) ** ((code >> f.mantissa) - f.bias)


def test_only_the_code_book_has_levels_and_they_are_exact_in_float32():
    assert [row.name for row in ROWS if row.levels is not None] == ["nf4"]
    levels = TYPES["nf4"].levels
    assert len(levels) == 16
    assert sorted(set(levels)) == list(levels)
    assert [float(np.float32(level)) for level in levels] == list(levels)
    assert {levels[0], levels[7], levels[15]} == {-1.0, 0.0, 1.0}


def test_every_type_of_few_bits_but_the_bytes_is_computed_by_its_table():
    assert [row.name for row in ROWS if row.bits <= 8 and row.kernel != "table"] == ["int8", "uint8"]
    assert all(row.bits <= 8 for row in ROWS if row.kernel == "table")
    kernels = [row.kernel for row in ROWS if row.kernel != "table"]
    assert len(set(kernels)) == len(kernels)


def test_a_row_cannot_be_changed_and_shows_its_name():
    row = TYPES["float32"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.bits = 16
    assert str(row) == "float32"


# ---- of_numpy -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [row for row in ROWS if row.numpy is not None], ids=str)
def test_a_dtype_in_any_byte_order_is_its_row(row):
    assert of_numpy(row.numpy) is row
    if row.numpy.isbuiltin == 1:
        assert of_numpy(row.numpy.newbyteorder(">")) is row
        assert of_numpy(row.numpy.newbyteorder("<")) is row


@pytest.mark.parametrize("scalar", [np.intc, np.uintc, np.long, np.ulong, np.longlong, np.ulonglong, np.intp, np.uintp])
def test_every_c_name_of_an_integer_is_the_row_of_its_width(scalar):
    dtype = np.dtype(scalar)
    assert of_numpy(dtype).name == f"{'u' if dtype.kind == 'u' else ''}int{8 * dtype.itemsize}"


@pytest.mark.parametrize(
    "dtype",
    [np.bool_, np.complex64, np.object_, np.str_, np.longdouble, np.datetime64, [("x", "i4")], ml_dtypes.float8_e3m4],
)
def test_other_dtypes_have_no_row(dtype):
    assert of_numpy(np.dtype(dtype)) is None


# ---- find -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_type_is_found_by_its_name_its_dtype_its_scalar_type_and_itself(row):
    assert find(row.name) is row
    assert find(row) is row
    if row.numpy is not None:
        assert find(row.numpy) is row
        assert find(row.numpy.type) is row


@pytest.mark.parametrize(("dialect", "name", "spelling"), SPELLINGS)
def test_every_spelling_of_every_dialect_finds_its_type(dialect, name, spelling):
    assert find(spelling) is TYPES[name]
    assert spelling in dialects()[dialect].spellings[name]


def test_no_spelling_means_two_types():
    meanings: dict[str, set[str]] = {row.name: {row.name} for row in ROWS}
    for _, name, spelling in SPELLINGS:
        meanings.setdefault(spelling, set()).add(name)
    assert {spelling: names for spelling, names in meanings.items() if len(names) > 1} == {}


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("FLOAT16", "float16"), ("tensor(float)", "float32"), ("tensor(float16)", "float16"),
        ("tensor(bfloat16)", "bfloat16"), ("DOUBLE", "float64"),
    ],
)  # fmt: skip
def test_the_names_that_users_know_are_found(spelling, name):
    assert find(spelling) is TYPES[name]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("floaty", f"element type 'floaty' is not one that subtraction is defined for; {EXPECTED}"),
        ("", f"element type '' is not one that subtraction is defined for; {EXPECTED}"),
        ("float", "element type 'float' is float32 in ONNX's text and float64 in NumPy; say which"),
        (np.dtype(np.datetime64), f"element type 'datetime64' is not one that subtraction is defined for; {EXPECTED}"),
        (np.str_, f"element type 'str' is not one that subtraction is defined for; {EXPECTED}"),
        (ml_dtypes.float8_e3m4, f"element type 'float8_e3m4' is not one that subtraction is defined for; {EXPECTED}"),
        (None, f"element type 'None' is not one that subtraction is defined for; {EXPECTED}"),
        (3, f"element type '3' is not one that subtraction is defined for; {EXPECTED}"),
        (int, f"element type \"<class 'int'>\" is not one that subtraction is defined for; {EXPECTED}"),
    ],
)
def test_a_name_that_stands_for_nothing_is_an_error_that_lists_what_does(name, text):
    with pytest.raises(DTypeError) as caught:
        find(name)
    assert str(caught.value) == text
    assert (caught.value.rule, caught.value.where) == ("types", "")
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("dialect", "name"), [(dialect.name, name) for dialect in dialects().values() for name in dialect.refused]
)
def test_a_type_that_a_dialect_knows_but_cannot_subtract_is_refused_with_the_reason(dialect, name):
    with pytest.raises(DTypeError) as caught:
        find(name)
    reasons = [d.refused[name] for d in dialects().values() if name in d.refused]
    assert str(caught.value) == f"element type {name!r}: {reasons[0]}; {EXPECTED}"
    assert name not in TYPES


def test_a_new_type_is_one_row():
    row = ElementType("int3", 3, "signed", "table")
    assert (row.itemsize, row.limits, row.is_integer) == (1, (-4, 3), True)
    assert {f.name for f in dataclasses.fields(ElementType)} == {"name", "bits", "kind", "kernel", "format", "levels"}
    assert elements.TYPES is TYPES
