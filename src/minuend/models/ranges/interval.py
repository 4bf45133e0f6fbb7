"""A set of numbers that a tensor's elements lie in: a lowest, a highest, and what else a float can be.

Bounds are exact: Python ints for integers and bool, Python floats (which hold every float of up to 64 bits) for floats.
Arithmetic follows the contract: an integer result that may not fit is any value of its type, a float result is
rounded to its type, outwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np

from minuend.core.elements import TYPES, ElementType
from minuend.files.streaming.reading import Array
from minuend.operators import SUBTRACT

Number = int | float

INFINITY = math.inf
MOST_DIM = 2**30 - 1
"""What unknown dims are taken to be at most; the sum of two, and positions less positions, then fit in 32 bits."""
DIMS = f"no dim is above {MOST_DIM}"
"""The one thing that is taken for granted of unknown dims; whoever relies on it says so."""

_SCANNED = 1 << 24  # elements at a time


@dataclass(frozen=True, slots=True)
class Range:
    """What a tensor's elements can be.

    Attributes:
        dtype: the element type's name, ``"bool"``, or ``None``: unknown, or no tensor of numbers.
        lo, hi: the lowest and highest value; floats: of those that are numbers, infinities included.
        nan, negative_zero: whether those can occur. integral: whether all finite values are whole numbers (of floats).
        constant: whether the elements are fixed in the model, so that a runtime may compute with them beforehand.
        why: where the bounds come from, for sentences: ``"Clip"``, ``"constant"``.
        assumptions: what was taken for granted, a sentence each.
    """

    dtype: str | None
    lo: Number = 0
    hi: Number = 0
    nan: bool = False
    negative_zero: bool = False
    integral: bool = True
    constant: bool = False
    why: str = ""
    assumptions: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.negative_zero and not self.lo <= 0 <= self.hi:  # what can be -0 has 0 between its bounds
            object.__setattr__(self, "negative_zero", False)

    @property
    def element(self) -> ElementType | None:
        return None if self.dtype is None else TYPES.get(self.dtype)

    @property
    def is_float(self) -> bool:
        return self.element is not None and not self.element.is_integer

    @property
    def is_full(self) -> bool:
        """Whether it says no more than the element type does."""
        return same_values(self, full(self.dtype))

    def holds(self, value: Number) -> bool:
        if isinstance(value, float) and math.isnan(value):
            return self.nan
        if value == 0 and math.copysign(1, value) < 0:
            return self.negative_zero
        whole = not self.is_float or not self.integral or math.isinf(value) or value == math.floor(value)
        return self.lo <= value <= self.hi and whole

    def __str__(self) -> str:
        if self.dtype is None:
            return "of an unknown type"
        shown = f"{_shown(self.lo)}..{_shown(self.hi)}" if self.lo != self.hi else _shown(self.lo)
        return f"{shown} ({self.why})" if self.why else shown


def _shown(value: Number) -> str:
    return str(value) if isinstance(value, int) else f"{value:.9g}"


def same_values(x: Range, y: Range) -> bool:
    fields = ("dtype", "lo", "hi", "nan", "negative_zero", "integral")
    return all(getattr(x, name) == getattr(y, name) for name in fields)


def full(dtype: str | None, why: str = "") -> Range:
    """Return every value of an element type.

    >>> str(full("int8", "input"))
    '-128..127 (input)'
    """
    if dtype == "bool":
        return Range(dtype, 0, 1, why=why)
    element = None if dtype is None else TYPES.get(dtype)
    if element is None:
        return Range(None, why=why)
    if element.is_integer:
        return Range(dtype, *element.limits, why=why)
    return Range(dtype, -INFINITY, INFINITY, True, True, False, why=why)


def within(
    dtype: str | None,
    lo: Number,
    hi: Number,
    like: Iterable[Range] = (),
    *,
    nan: bool = False,
    negative_zero: bool = False,
    integral: bool = False,
    why: str = "",
    assumptions: frozenset[str] = frozenset(),
) -> Range:
    """Return an interval of a type, or every value of it where the interval leaves an integer type.

    Args:
        like: what it was made from: their assumptions hold for it too.
        nan, negative_zero, integral: of floats alone, as :class:`Range` has them. why, assumptions: likewise.
    """
    assumed = assumptions.union(*(r.assumptions for r in like))
    everything = full(dtype)
    if everything.is_float:
        return Range(dtype, float(lo), float(hi), nan, negative_zero, integral, why=why, assumptions=assumed)
    if everything.dtype is None or int(lo) < everything.lo or int(hi) > everything.hi:
        return everything
    return Range(dtype, int(lo), int(hi), why=why, assumptions=assumed)


def join(ranges: Iterable[Range], why: str = "") -> Range:
    """Return what holds the values of all ranges; types must agree, else nothing is known.

    >>> str(join([Range("int8", 1, 2), Range("int8", 5, 7)]))
    '1..7'
    """
    all_ranges = list(ranges)
    first = all_ranges[0] if all_ranges else Range(None)
    if first.dtype is None or any(r.dtype != first.dtype for r in all_ranges):
        return Range(None)
    reasons = [why] if why else list(dict.fromkeys(r.why for r in all_ranges if r.why))
    return Range(
        first.dtype,
        min(r.lo for r in all_ranges),
        max(r.hi for r in all_ranges),
        any(r.nan for r in all_ranges),
        any(r.negative_zero for r in all_ranges),
        all(r.integral for r in all_ranges),
        all(r.constant for r in all_ranges),
        " or ".join(reasons),
        frozenset().union(*(r.assumptions for r in all_ranges)),
    )


# ---- constants ------------------------------------------------------------------------------------------------


def of_array(array: Array, dtype: str, why: str = "constant") -> Range:
    """Return the range of a constant's elements, read block by block; a mapped file's pages are let go behind it.

    >>> str(of_array(np.uint8([[3, 7], [5, 4]]), "uint8"))
    '3..7 (constant)'
    """
    return of_blocks(_blocks(array), array.dtype, dtype, why)


def of_blocks(blocks: Iterable[Array], memory: np.dtype[Any], dtype: str, why: str = "constant") -> Range:
    """Return the range of elements that come block by block, in any order; ``memory`` is the type that they have there.

    >>> str(of_blocks([np.uint8([3, 7]), np.uint8([5, 4])], np.dtype("uint8"), "uint8"))
    '3..7 (constant)'
    """
    if dtype == "bool" or (dtype in TYPES and TYPES[dtype].is_integer):
        ends = [(int(block.min()), int(block.max())) for block in blocks if block.size]
        if not ends:
            return Range(dtype, constant=True, why=why)
        return Range(dtype, min(lo for lo, _ in ends), max(hi for _, hi in ends), constant=True, why=why)
    if dtype not in TYPES:
        return Range(None, constant=True, why=why)
    return _of_floats(blocks, memory, dtype, why)


def _of_floats(blocks: Iterable[Array], memory: np.dtype[Any], dtype: str, why: str) -> Range:
    if TYPES[dtype].numpy != memory:  # codes of a code book
        return replace(full(dtype, why), constant=True)
    lo, hi, nan, negative_zero, integral = INFINITY, -INFINITY, False, False, True
    for stored in blocks:
        block = stored if stored.dtype.kind == "f" and stored.itemsize >= 4 else stored.astype(np.float32)
        bad = np.isnan(block)
        if bad.any():
            nan, block = True, block[~bad]
        if block.size == 0:
            continue
        lo, hi = min(lo, float(block.min())), max(hi, float(block.max()))
        if lo <= 0 <= hi and not negative_zero:
            negative_zero = bool(np.signbit(block[block == 0]).any())
        finite = block if math.isfinite(lo) and math.isfinite(hi) else block[np.isfinite(block)]
        integral = integral and bool((np.floor(finite) == finite).all())
    if lo > hi:
        lo = hi = 0.0
    return Range(dtype, lo, hi, nan, negative_zero, integral, True, why)


def _blocks(array: Array) -> Iterable[Array]:
    flat = array.reshape(-1)
    for start in range(0, flat.size, _SCANNED):
        yield flat[start : start + _SCANNED]
        _forget(array)


def _forget(array: Array) -> None:
    """Let go of the pages of a mapped file, which otherwise count as this process's memory."""
    import mmap

    base: object = array
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "base", None) if not isinstance(base, memoryview) else base.obj
    if base is not None and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


# ---- rounding -------------------------------------------------------------------------------------------------


def outward(dtype: str, lo: Fraction | float, hi: Fraction | float) -> tuple[float, float]:
    """Return the numbers of a float type at or beyond two bounds; whatever lies between them rounds to between these.

    >>> outward("float16", Fraction(1, 3), Fraction(1, 3))
    (0.333251953125, 0.33349609375)
    """
    return _beyond(dtype, lo, False), _beyond(dtype, hi, True)


def _beyond(dtype: str, bound: Fraction | float, up: bool) -> float:
    if isinstance(bound, float) and not math.isfinite(bound):
        return bound
    exact = Fraction(bound)
    memory = TYPES[dtype].numpy
    end = INFINITY if up else -INFINITY
    if memory is None or TYPES[dtype].bits < 16:
        return end
    try:
        close = float(exact)
    except OverflowError:
        close = INFINITY if exact > 0 else -INFINITY
    with np.errstate(all="ignore"):
        value = memory.type(close)
        while not _reaches(float(value), exact, up):
            value = np.nextafter(value, memory.type(end))
    return float(value)


def _reaches(value: float, exact: Fraction, up: bool) -> bool:
    if math.isinf(value):
        return (value > 0) == up
    return Fraction(value) >= exact if up else Fraction(value) <= exact


# ---- arithmetic -----------------------------------------------------------------------------------------------


def _rounded(
    a: Range, b: Range, ends: Iterable[Fraction | float], nan: bool, negative_zero: bool, integral: bool
) -> Range:
    """The hull of some exact values, rounded to A's type; a NaN among them says that they meet no number."""
    assert a.dtype is not None
    numbers = [0.0 if isinstance(v, float) and math.isnan(v) else v for v in ends]
    lo, hi = outward(a.dtype, min(numbers), max(numbers))
    return within(a.dtype, lo, hi, (a, b), nan=nan, negative_zero=negative_zero, integral=integral)


def add(a: Range, b: Range) -> Range:
    if not a.is_float:
        return within(a.dtype, a.lo + b.lo, a.hi + b.hi, (a, b))
    # Infinities of both signs have no sum.
    nan = a.nan or b.nan or (a.hi == INFINITY and b.lo == -INFINITY) or (a.lo == -INFINITY and b.hi == INFINITY)
    ends = (_sum(a.lo, b.lo), _sum(a.hi, b.hi))
    return _rounded(a, b, ends, nan, a.negative_zero and b.negative_zero, a.integral and b.integral)


def _sum(x: Number, y: Number) -> Fraction | float:
    if math.isfinite(x) and math.isfinite(y):
        return Fraction(x) + Fraction(y)
    return float(x) + float(y)


def subtract(a: Range, b: Range) -> Range:
    """Return the range of A - B, as the contract has it.

    >>> str(subtract(Range("uint8", 128, 255), Range("uint8", 0, 127))), str(subtract(full("uint8"), full("uint8")))
    ('1..255', '0..255')
    """
    if not a.is_float:
        low, high = SUBTRACT.result_range([(a.lo, a.hi), (b.lo, b.hi)])
        return within(a.dtype, cast(int, low), cast(int, high), (a, b))
    difference = add(a, negate(replace(b, negative_zero=False)))
    zero = a.negative_zero and b.lo <= 0 <= b.hi
    return replace(difference, negative_zero=zero)


def negate(a: Range) -> Range:
    if not a.is_float:
        return within(a.dtype, -a.hi, -a.lo, (a,))
    return replace(a, lo=-a.hi, hi=-a.lo, negative_zero=a.lo <= 0 <= a.hi, why="", constant=False)


def multiply(a: Range, b: Range) -> Range:
    if not a.is_float:
        ends = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
        return within(a.dtype, min(ends), max(ends), (a, b))
    products = [_product(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    nan = a.nan or b.nan or (_infinite(a) and b.lo <= 0 <= b.hi) or (_infinite(b) and a.lo <= 0 <= a.hi)
    return _rounded(a, b, products, nan, _opposite(a, b), a.integral and b.integral)


def _product(x: Number, y: Number) -> Fraction | float:
    if math.isfinite(x) and math.isfinite(y):
        return Fraction(x) * Fraction(y)
    return 0.0 if 0 in (x, y) else float(x) * float(y)


def _infinite(a: Range) -> bool:
    return math.isinf(a.lo) or math.isinf(a.hi)


def _opposite(a: Range, b: Range) -> bool:
    """Whether A and B can be of opposite signs, those of zeros counted: then a product that is too small is -0."""
    below = [r.lo < 0 or r.negative_zero for r in (a, b)]
    above = [r.hi > 0 or r.lo <= 0 <= r.hi for r in (a, b)]
    return (below[0] and above[1]) or (above[0] and below[1])


def divide(a: Range, b: Range) -> Range:
    """Return the range of A / B; integers lose their fraction, downwards or towards zero."""
    zero = b.lo <= 0 <= b.hi
    if not a.is_float:
        if zero:
            return full(a.dtype)
        quotients = [Fraction(x) / Fraction(y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
        return within(a.dtype, math.floor(min(quotients)), math.ceil(max(quotients)), (a, b))
    nan = a.nan or b.nan or (zero and a.lo <= 0 <= a.hi) or (_infinite(a) and _infinite(b))
    negative = _opposite(a, b)
    if zero or _infinite(b):
        positive = a.lo >= 0 and b.lo >= 0 and not a.negative_zero and not b.negative_zero
        return within(a.dtype, 0 if positive else -INFINITY, INFINITY, (a, b), nan=nan, negative_zero=negative)
    ends = [_product(x, y) / Fraction(z) if math.isfinite(x) else _product(x, math.copysign(1, z))
            for x, y in ((a.lo, 1), (a.hi, 1)) for z in (b.lo, b.hi)]  # fmt: skip
    return _rounded(a, b, ends, nan, negative, False)
