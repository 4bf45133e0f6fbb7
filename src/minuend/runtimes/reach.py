"""Which value classes two operands can reach: a row for each class of :mod:`minuend.runtimes.values`.

A class that is left out cannot occur, whatever the operands are; one that is named may be out of reach after all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from minuend.core.elements import TYPES, ElementType
from minuend.core.operation import reach
from minuend.models.ranges.interval import Range
from minuend.runtimes.values import largest, least_normal, rules


@dataclass(frozen=True, slots=True)
class _Operands:
    element: ElementType
    a: Range
    b: Range

    @property
    def ends(self) -> tuple[float, ...]:
        """The lowest and highest value of either operand."""
        return self.a.lo, self.a.hi, self.b.lo, self.b.hi

    @property
    def difference(self) -> tuple[float | Fraction, float | Fraction]:
        """The lowest and highest exact difference; an infinity where there is none."""
        return reach((self.a.lo, self.a.hi), (self.b.lo, self.b.hi))

    @property
    def whole(self) -> bool:
        """Whether both operands are whole numbers, and so the difference."""
        return self.a.integral and self.b.integral

    @property
    def beside_zero(self) -> bool:
        """Whether an operand is 0 and no other number, so that the difference is the other or its negative."""
        return any(one.lo == one.hi == 0 and not one.nan for one in (self.a, self.b))

    def exact_below(self, bits: int) -> bool:
        """Whether operands and difference are whole numbers of at most ``bits`` bits, which such a float holds."""
        return self.whole and all(abs(end) <= 2**bits for end in (*self.ends, *self.difference))


def _wraps(o: _Operands) -> bool:
    low, high = o.element.limits
    return o.difference[0] < low or o.difference[1] > high


def _beyond_int32(o: _Operands) -> bool:
    low, high = TYPES["int32"].limits
    return any(not low <= end <= high for end in (*o.ends, *o.difference))


def _nan(o: _Operands) -> bool:
    alike = any(getattr(o.a, end) == getattr(o.b, end) == value for end, value in (("lo", -math.inf), ("hi", math.inf)))
    odd = o.element.format is not None and not o.element.format.signed  # a difference below 0 is NaN there
    return o.a.nan or o.b.nan or alike or odd


def _subnormal(o: _Operands) -> bool:
    f = o.element.format
    if f is None:
        return False
    least = least_normal(o.element)
    for r in (o.a, o.b):
        if not (r.integral and least <= 1) and _between(r.lo, r.hi, least):
            return True
    if o.whole and least <= 1:
        return False
    # Numbers of this size are multiples of the least normal one, and so is what lies between two of them.
    coarse = least * 2 ** (f.mantissa + 2)
    return _between(*o.difference, least) and all(_smallest(r) < coarse for r in (o.a, o.b))


def _smallest(r: Range) -> float:
    """The smallest magnitude in a range."""
    return 0 if r.lo <= 0 <= r.hi else min(abs(r.lo), abs(r.hi))


def _between(lo: float | Fraction, hi: float | Fraction, bound: Fraction) -> bool:
    """Whether an interval has numbers other than 0 that are nearer to 0 than a bound."""
    return (hi > 0 and lo < bound) or (lo < 0 and hi > -bound)


def _overflows(o: _Operands) -> bool:
    if o.element.bits < 16:
        return True
    if o.beside_zero:
        return False
    most, (low, high) = largest(o.element), o.difference
    return low < -most or high > most


def _beyond_float32(o: _Operands) -> bool:
    single = TYPES["float32"].format
    assert single is not None
    return o.element.name == "float64" and not o.exact_below(single.mantissa + 1)


def _rounds(o: _Operands) -> bool:
    f = o.element.format
    if f is None or o.element.bits < 16:
        return True
    return not (o.beside_zero or o.exact_below(f.mantissa + 1))


MAY_OCCUR: Mapping[str, Callable[[_Operands], bool]] = MappingProxyType(
    {
        "lowest subtrahend": lambda o: o.element.kind == "signed" and o.b.lo == o.element.limits[0] and o.a.lo < 0,
        "wraps": _wraps,
        "beyond int32": _beyond_int32,
        "in range": lambda o: True,
        "nan": _nan,
        "infinite": lambda o: any(map(math.isinf, o.ends)),
        "negative zero": lambda o: o.a.negative_zero or o.b.negative_zero,
        "subnormal": _subnormal,
        "overflows": _overflows,
        "beyond float32": _beyond_float32,
        "rounds": _rounds,
        "ordinary": lambda o: True,
    }
)
"""For each value class, whether two operands within their ranges can make it occur."""


def reachable(element: ElementType, a: Range, b: Range) -> tuple[str, ...]:
    """Return the names of the value classes that differences of two ranges can fall into, in their order.

    >>> from minuend.core.elements import TYPES
    >>> reachable(TYPES["uint8"], Range("uint8", 128, 255), Range("uint8", 0, 127))
    ('in range',)
    """
    operands = _Operands(element, a, b)
    return tuple(row.name for row in rules(element) if MAY_OCCUR[row.name](operands))
