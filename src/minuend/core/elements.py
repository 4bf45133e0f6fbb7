"""The one table of element types. Versions, validation, kernel, files, tests and docs read it.

A row says what a type *is*: name, width, kind, how floats are laid out, which kernel trait computes it.
What a standard *calls* it stands in that standard's folder (``SPELLINGS`` in its ``versions.py``); what a
version *allows* stands in that version's row.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Kind = Literal["float", "signed", "unsigned"]


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """How the bits of a float type are read.

    Attributes:
        exponent: exponent bits. mantissa: stored mantissa bits. bias: exponent bias.
        special: which codes are no numbers. ``"ieee"``: the highest exponent holds infinities and NaNs;
            ``"nan-only"``: all ones is NaN and there is no infinity; ``"finite"``: every code is a number.
        signed: whether there is a sign bit (and with it a negative half and a second zero).
    """

    exponent: int
    mantissa: int
    bias: int
    special: Literal["ieee", "nan-only", "finite"] = "ieee"
    signed: bool = True


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type.

    Attributes:
        name: NumPy's or ml_dtypes' name, the one used throughout this package.
        bits: width of one element. In memory it takes whole bytes (``itemsize``), in files it may be packed.
        kind: ``"float"``, ``"signed"`` or ``"unsigned"``.
        kernel: the native trait that computes it; ``"table"`` for types of few bits, whose
            65,536 answers :mod:`minuend.operators.reference` tabulates.
        format: the layout of a float; ``None`` for integers and for code books (nf4).
        levels: the values of a code book, by code, as exact multiples of 2⁻²⁴·… (Python floats, exact).
    """

    name: str
    bits: int
    kind: Kind
    kernel: str
    format: FloatFormat | None = None
    levels: tuple[float, ...] | None = None

    @property
    def itemsize(self) -> int:
        """Bytes of one element in memory: 1, 2, 4 or 8."""
        return max(1, self.bits // 8)

    @property
    def is_integer(self) -> bool:
        """Whether overflow policies apply."""
        return self.kind != "float"

    @property
    def limits(self) -> tuple[int, int]:
        """The lowest and the highest value of an integer type."""
        if not self.is_integer:
            raise TypeError(f"{self.name} is no integer type and has no limits; see .format")
        if self.kind == "signed":
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, (1 << self.bits) - 1

    @property
    def numpy(self) -> np.dtype[Any] | None:
        """The NumPy dtype of its arrays, in native byte order; ``None`` where no dtype exists (nf4)."""
        return _numpy_dtype(self.name)

    @property
    def memory(self) -> np.dtype[Any]:
        """The NumPy dtype of its elements in memory: ``numpy``, or bytes that hold one code each."""
        return self.numpy or np.dtype(np.uint8)

    @property
    def widened(self) -> ElementType:
        """The signed type of twice the width that ``overflow="widen"`` answers in; int64 for 64 bits."""
        if not self.is_integer:
            return self
        return TYPES[f"int{min(64, 2 * self.bits)}"]

    def __str__(self) -> str:
        return self.name


# QLoRA's 4-bit "normal float": the value of each code, exact in float32.
_NF4_LEVELS = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
    -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
    0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip

_ROWS = (
    ElementType("float16", 16, "float", "f16", FloatFormat(5, 10, 15)),
    ElementType("bfloat16", 16, "float", "bf16", FloatFormat(8, 7, 127)),
    ElementType("float32", 32, "float", "f32", FloatFormat(8, 23, 127)),
    ElementType("float64", 64, "float", "f64", FloatFormat(11, 52, 1023)),
    ElementType("int8", 8, "signed", "i8"),
    ElementType("int16", 16, "signed", "i16"),
    ElementType("int32", 32, "signed", "i32"),
    ElementType("int64", 64, "signed", "i64"),
    ElementType("uint8", 8, "unsigned", "u8"),
    ElementType("uint16", 16, "unsigned", "u16"),
    ElementType("uint32", 32, "unsigned", "u32"),
    ElementType("uint64", 64, "unsigned", "u64"),
    ElementType("uint1", 1, "unsigned", "table"),
    ElementType("uint2", 2, "unsigned", "table"),
    ElementType("int2", 2, "signed", "table"),
    ElementType("uint4", 4, "unsigned", "table"),
    ElementType("int4", 4, "signed", "table"),
    ElementType("nf4", 4, "float", "table", None, _NF4_LEVELS),
    ElementType("float4_e2m1fn", 4, "float", "table", FloatFormat(2, 1, 1, "finite")),
    ElementType("float8_e4m3fn", 8, "float", "table", FloatFormat(4, 3, 7, "nan-only")),
    ElementType("float8_e5m2", 8, "float", "table", FloatFormat(5, 2, 15)),
    ElementType("float8_e8m0fnu", 8, "float", "table", FloatFormat(8, 0, 127, "nan-only", signed=False)),
)

TYPES: dict[str, ElementType] = {row.name: row for row in _ROWS}
"""Every element type by name, in the order in which reports show them."""


@functools.cache
def _numpy_dtype(name: str) -> np.dtype[Any] | None:
    if TYPES[name].kernel != "table" and name != "bfloat16":
        return np.dtype(name)
    import ml_dtypes

    scalar = getattr(ml_dtypes, name, None)
    return None if scalar is None else np.dtype(scalar)


@functools.cache
def by_scalar_type() -> dict[type, ElementType]:
    """Every NumPy scalar type that this package takes, with its row."""
    found = ((row, row.numpy) for row in _ROWS)
    table = {dtype.type: row for row, dtype in found if dtype is not None}
    # C has two names for one width (int and long, long and long long): NumPy keeps a scalar type for each.
    for scalar in (np.intc, np.uintc, np.long, np.ulong, np.longlong, np.ulonglong):
        table.setdefault(scalar, TYPES[np.dtype(scalar).name])
    return table


def of_numpy(dtype: np.dtype[Any]) -> ElementType | None:
    """Return the row of a NumPy dtype (any byte order), or ``None`` where this package has none."""
    return by_scalar_type().get(dtype.type)


REFUSED = {
    "bool": "subtraction is not defined for bool; use Xor or cast",
    "complex64": "no version of Sub takes complex numbers; subtract real and imaginary parts",
    "complex128": "no version of Sub takes complex numbers; subtract real and imaginary parts",
    "string": "subtraction is not defined for strings",
}
"""Types that arrays and models have and no standard subtracts, each with the reason."""


def refusal(name: str, reason: str = "") -> str:
    """Say why a type outside the table is not taken.

    >>> refusal("bool")
    "element type 'bool': subtraction is not defined for bool; use Xor or cast"
    """
    reason = reason or REFUSED.get(name, "")
    told = f": {reason}" if reason else " is not one that subtraction is defined for"
    return f"element type {name!r}{told}"
