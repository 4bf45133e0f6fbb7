"""Value classes that all operators share: which operations fall into each, and which operands can make it occur.

An operation falls into exactly one class of its operator: the first whose rule holds.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from minuend.core.elements import TYPES, ElementType
from minuend.operators import codes
from minuend.operators.operator import Computed, Extent, OperandExtents, Operator, Value, ValueClass, fits

# ---- integers -------------------------------------------------------------------------------------------------


def _may_wrap(o: OperandExtents) -> bool:
    low, high = o.element.limits
    return o.results[0] < low or o.results[1] > high


def _beyond_int32(o: Computed) -> bool:
    low, high = TYPES["int32"].limits
    return any(not low <= value <= high for value in (*o.operands, o.exact or 0))


def _may_be_beyond_int32(o: OperandExtents) -> bool:
    low, high = TYPES["int32"].limits
    return any(not low <= end <= high for end in (*o.ends, *o.results))


INTEGERS = (
    ValueClass("wraps", "values that wrap", lambda o: not fits(o.element, o.exact), _may_wrap),
    ValueClass(
        "beyond int32",
        "values beyond int32",
        _beyond_int32,
        _may_be_beyond_int32,
        lambda element: element.limits[1] > 2**31,
    ),
    ValueClass("in range", "values in range", lambda o: True),
)
"""Classes of integers, in the order in which they count."""


# ---- floats ---------------------------------------------------------------------------------------------------


@functools.cache
def least_normal(element: ElementType) -> Fraction:
    """Return the smallest number of a float type that has all its digits."""
    assert element.format is not None
    return Fraction(2) ** (1 - element.format.bias)


@functools.cache
def _least_normal(element: ElementType) -> float:
    """The same as a float: comparing floats is ten times as fast as comparing a float with a fraction."""
    return float(least_normal(element))


@functools.cache
def largest(element: ElementType) -> Fraction:
    """Return the largest finite number of a float type."""
    if element.levels is not None:
        return Fraction(max(element.levels))
    assert element.format is not None
    return Fraction(codes.decode(element, codes.largest(element.format)))


# Of a Value, -0.0, NaN and the infinities alone are floats: to ask a fraction would make a float of it first.


def _is_negative_zero(value: Value) -> bool:
    return isinstance(value, float) and value == 0


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_infinite(value: Value) -> bool:
    return isinstance(value, float) and math.isinf(value)


def _special(element: ElementType) -> str:
    """Which codes of a float type are no numbers; a code book has none."""
    return "finite" if element.format is None else element.format.special


def _has_zeros(element: ElementType) -> bool:
    """Whether a float type has two zeros, and with them numbers of both signs and subnormal ones."""
    return element.format is not None and element.format.signed


def _without_value(o: Computed) -> bool:
    return any(map(_is_nan, o.operands)) or (_is_nan(o.result) and not _too_large(o))


def _may_have_no_value(o: OperandExtents) -> bool:
    corners = itertools.product(*((float(one.lo), float(one.hi)) for one in o.extents))
    infinite = any(math.isnan(o.operator.compute(*one)) for one in corners if any(map(math.isinf, one)))
    odd = o.element.format is not None and not o.element.format.signed  # a result below 0 is NaN there
    return any(one.nan for one in o.extents) or infinite or odd


def _is_subnormal(element: ElementType, value: Value) -> bool:
    if isinstance(value, float) or not _has_zeros(element):
        return False
    return 0 < abs(float(value)) < _least_normal(element)  # float64 holds every element type's numbers


def _may_be_subnormal(o: OperandExtents) -> bool:
    f = o.element.format
    if f is None:
        return False
    least = least_normal(o.element)
    for one in o.extents:
        if not (one.integral and least <= 1) and _between(one.lo, one.hi, least):
            return True
    if o.whole and least <= 1:
        return False
    # Numbers of this size are multiples of the least normal one, and so is what lies between two of them.
    coarse = least * 2 ** (f.mantissa + 2)
    return _between(*o.results, least) and all(_smallest(one) < coarse for one in o.extents)


def _smallest(one: Extent) -> float:
    """The smallest magnitude of an operand."""
    return 0 if one.lo <= 0 <= one.hi else min(abs(one.lo), abs(one.hi))


def _between(lo: float | Fraction, hi: float | Fraction, bound: Fraction) -> bool:
    """Whether an interval has numbers other than 0 that are nearer to 0 than a bound."""
    return (hi > 0 and lo < bound) or (lo < 0 and hi > -bound)


def _too_large(o: Computed) -> bool:
    """Whether operands are finite, and the result is none of the type's numbers because it is too large."""
    if o.exact is None:
        return False
    most = largest(o.element)
    return _is_infinite(o.result) or not -most <= o.exact <= most


def _may_be_too_large(o: OperandExtents) -> bool:
    if o.element.bits < 16:
        return True
    if _hands_on(o):
        return False
    most, (low, high) = largest(o.element), o.results
    return low < -most or high > most


def _hands_on(o: OperandExtents) -> bool:
    """Whether an operand is 0 and no other number, so that the result is the other or its negative."""
    return any(one.lo == one.hi == 0 and not one.nan for one in o.extents)


def in_float32(value: Value) -> float:
    """Return a number rounded to float32."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float32(float(value)))


def _beyond_float32(o: Computed) -> bool:
    if any(in_float32(value) != value for value in (*o.operands, o.result)):
        return True
    return in_float32(o.operator.compute(*map(in_float32, o.operands))) != o.result


def _may_be_beyond_float32(o: OperandExtents) -> bool:
    single = TYPES["float32"].format
    assert single is not None
    return o.element.name == "float64" and not _exact_below(o, single.mantissa + 1)


def _may_round(o: OperandExtents) -> bool:
    f = o.element.format
    if f is None or o.element.bits < 16:
        return True
    return not (_hands_on(o) or _exact_below(o, f.mantissa + 1) or _stays_small(o))


def _stays_small(o: OperandExtents) -> bool:
    """Whether a sum is never larger than its operands: then it has no digit that they lack (Sterbenz's lemma)."""
    smallest = min(map(_smallest, o.extents))
    return all(-smallest <= one <= smallest for one in o.results)


def _exact_below(o: OperandExtents, bits: int) -> bool:
    """Whether operands and result are whole numbers of at most ``bits`` bits, which such a float holds."""
    return o.whole and all(abs(end) <= 2**bits for end in (*o.ends, *o.results))


def float_classes(result: str) -> tuple[ValueClass, ...]:
    """Return the classes of floats, in the order in which they count; sentences call what is computed a ``result``."""
    return (
        ValueClass(
            "nan",
            "NaN results",
            _without_value,
            _may_have_no_value,
            lambda element: _special(element) != "finite",
        ),
        ValueClass(
            "infinite",
            "infinite operands",
            lambda o: any(map(_is_infinite, o.operands)),
            lambda o: any(map(math.isinf, o.ends)),
            lambda element: _special(element) == "ieee",
        ),
        ValueClass(
            "negative zero",
            "negative zeros",
            lambda o: any(map(_is_negative_zero, (*o.operands, o.result))),
            lambda o: any(one.negative_zero for one in o.extents),
            _has_zeros,
        ),
        ValueClass(
            "subnormal",
            "subnormal numbers",
            lambda o: any(_is_subnormal(o.element, value) for value in (*o.operands, o.result)),
            _may_be_subnormal,
            _has_zeros,
        ),
        ValueClass(
            "overflows",
            f"{result}s too large for the type",
            _too_large,
            _may_be_too_large,
            lambda element: element.levels is not None or _has_zeros(element),
        ),
        ValueClass(
            "beyond float32",
            "values beyond float32",
            _beyond_float32,
            _may_be_beyond_float32,
            lambda element: element.name == "float64",
        ),
        ValueClass("rounds", f"{result}s that round", lambda o: o.result != o.exact, _may_round),
        ValueClass("ordinary", f"exact {result}s", lambda o: True),
    )


NO_VALUES = ValueClass("no values", "empty tensors", lambda o: False)
"""The only class of empty tensors: there is nothing in them but a shape."""


@functools.cache
def words(operator: Operator) -> Mapping[str, str]:
    """Return how sentences call the members of an operator's classes, by the names of these.

    >>> from minuend.operators import ADD
    >>> words(ADD)["rounds"]
    'sums that round'
    """
    return MappingProxyType({row.name: row.words for row in (*operator.value_classes, NO_VALUES)})


@functools.cache
def classes(operator: Operator, element: ElementType) -> tuple[ValueClass, ...]:
    """Return the classes that an operator's operations on an element type fall into, in the order of their rules."""
    kind = operator.integer_classes if element.is_integer else operator.float_classes
    return tuple(row for row in kind if row.occurs(element))


def reachable(operator: Operator, element: ElementType, *extents: Extent) -> tuple[str, ...]:
    """Return the names of the classes that operations on operands within some extents can fall into, in their order.

    A class that is left out cannot occur, whatever the operands are; one that is named may be out of reach after all.

    >>> from minuend.models.ranges.interval import Range
    >>> from minuend.operators import OPERATORS
    >>> reachable(OPERATORS["subtract"], TYPES["uint8"], Range("uint8", 128, 255), Range("uint8", 0, 127))
    ('in range',)
    """
    operands = OperandExtents(operator, element, extents)
    return tuple(row.name for row in classes(operator, element) if row.may_occur(operands))
