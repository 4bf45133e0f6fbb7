"""How far a pattern can be from its operators one by one, where the ranges of its operands bound cancellation.

A runtime that computes a product and a difference together leaves a rounding out, or multiplies before it subtracts:
``(a - b) * s`` becomes ``a * s - b * s``. Each term is off by a few units in its own last place. In units of the
result that is as many times more as the terms are larger than it, which the ranges of the operands bound. Products that
are too large or too small for their type are not looked at: those are severities of their own, which were measured.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from minuend.core.elements import ElementType
from minuend.judging.constant_operands import in_float64
from minuend.models.matching.match import WITHIN, Match
from minuend.models.matching.operator_groups import FACTORS, NARROW
from minuend.models.occurrences import Array, Occurrence
from minuend.models.patterns import Op, Pattern, Term, X, can_enlarge_errors, judged
from minuend.models.ranges.interval import Range
from minuend.operators import SUBTRACT
from minuend.operators.value_classes import largest, least_normal
from minuend.runtimes.answers import EVERY
from minuend.runtimes.severity import ROUNDING, Deviation
from minuend.runtimes.table import Answers

_MADE, _REDUCED = 2, 1
"""Roundings of a term that differ: of a product that is subtracted, with one for a constant that is joined to it; and
of a term of a difference that is multiplied."""

_OWN = {"": 2, "Mul": 3, "Div": 4}
"""Roundings of the result that differ: by the operator that reads the difference. A division can become a product."""

_ELSEWHERE = (EVERY, "nan", "subnormal", "overflows")
"""Value classes of which the number of roundings does not tell the distance."""

_MOST_NUMBERS = 4096
"""Different numbers of a constant up to which each is looked at."""

_TYPES = ("float32", *NARROW)


@dataclass(frozen=True, slots=True)
class _Form:
    """A pattern that is a polynomial of its operands.

    Attributes:
        made: whether a product or a quotient makes each operand. reader: what reads the difference, or ``""``.
    """

    made: tuple[bool, bool]
    reader: str

    @property
    def weights(self) -> tuple[int, int]:
        """How many roundings of each operand differ."""
        first, second = (_MADE * one + _REDUCED * bool(self.reader) for one in self.made)
        return first, second


def within_ranges(
    found: tuple[Deviation, ...], name: str, match: Match, occurrence: Occurrence | None, element: ElementType
) -> tuple[Deviation, ...]:
    """Return the deviations of a value class of a pattern that enlarges errors, as they hold for some operands.

    Args:
        found: as they were measured. name: of the class. match: the pattern.
        occurrence: has the operands; ``None`` where their ranges bound nothing. element: the element type.
    """
    bound = None if occurrence is None or name in _ELSEWHERE else _bound(match, occurrence, element)
    return tuple(_within(one, bound) for one in found)


def enlarged(pattern: Pattern, wrong: Answers, dtype: str) -> bool:
    """Return whether the distance that was measured of a pattern is no bound, since it depends on the numbers.

    A runtime that multiplies before it subtracts enlarges errors, too. It does so where both operators have a constant;
    of other patterns distances above a few roundings show it.
    """
    if can_enlarge_errors(pattern):
        return True
    if _reads(pattern) not in FACTORS:
        return False
    folded = dtype not in NARROW and _holes(pattern) == 1
    return folded or any(one.ulps > ROUNDING for one in wrong.values())


def _holes(pattern: Pattern | Term) -> int:
    return sum(map(_holes, pattern.operands)) if isinstance(pattern, Op) else pattern == X


def _reads(pattern: Pattern) -> str:
    return pattern.operator if isinstance(pattern, Op) and not pattern.judged else ""


def _within(one: Deviation, bound: int | None) -> Deviation:
    """A deviation of roundings with what bounds it."""
    if one.severity not in ("rounding", "numbers"):
        return one
    if bound is None:
        return Deviation("numbers")
    if not bound:
        return Deviation("sign-of-zero")
    return Deviation("rounding" if bound <= ROUNDING else "numbers", bound)


def _bound(match: Match, occurrence: Occurrence, element: ElementType) -> int | None:
    """The largest distance in ulps; 0 where every term is exact, ``None`` where nothing bounds it."""
    form = _form(match, element)
    if form is None or element.format is None:
        return None
    bits = element.format.mantissa + 1
    if match.factors is None or not match.factors[1] <= largest(element):
        return None  # infinity times 0 is no number
    if _is_exact(form, match.pattern, occurrence, bits):
        return 0
    if not _are_terms_normal(match.factors, occurrence, element, bits):
        return None
    weighed = _weighed(form, occurrence)
    if weighed is None:
        return None
    # A rounding of half an ulp is up to one step between numbers where these lie closest. A sixteenth is more than what
    # roundings of rounding errors add.
    ulps = math.floor((weighed + _OWN[form.reader]) * 17 / 16)
    return 1 << (ulps - 1).bit_length() if ulps <= 2 ** (bits - 5) else None  # a power of two, as in the data


def _form(match: Match, element: ElementType) -> _Form | None:
    """The pattern as a polynomial; ``None`` where it is none, or where a narrow type has more around it."""
    pattern = match.pattern
    if element.name not in _TYPES or not isinstance(pattern, Op) or judged(pattern) != SUBTRACT.onnx:
        return None
    if element.name in NARROW and match.form == WITHIN:  # what is made of unrounded numbers is off by more
        return None
    reader = _reads(pattern)
    own = pattern
    if reader:
        first, *others = pattern.operands
        if isinstance(first, Op) and reader in FACTORS and not any(isinstance(one, Op) for one in others):
            own = first
        elif reader == "Mul" and len(others) == 1 and isinstance(others[0], Op) and not isinstance(first, Op):
            own = others[0]
        if not own.judged:
            return None
    made = [isinstance(one, Op) for one in own.operands]
    if not all(map(_is_product, (one for one in own.operands if isinstance(one, Op)))):
        return None
    return _Form((made[0], made[1]), reader)


def _is_product(op: Op) -> bool:
    return op.operator in FACTORS and not op.judged and not any(isinstance(one, Op) for one in op.operands)


def _is_exact(form: _Form, pattern: Pattern, occurrence: Occurrence, bits: int) -> bool:
    """Whether every product is a number of the type, so that no order of operations rounds it."""
    if form.reader == "Div" or (isinstance(pattern, Op) and _divides(pattern)):
        return False
    whole = all(one.integral and not one.nan and _largest(one) <= 2**bits for one in occurrence.operands)
    # A factor is any number; times 0, 1 or -1 it stays as it is.
    return whole and (not form.reader or all(_largest(one) <= 1 for one in occurrence.operands))


def _are_terms_normal(factors: tuple[float, float], occurrence: Occurrence, element: ElementType, bits: int) -> bool:
    """Whether constants, and operands times and over them, are far from the ends of the type, where terms are lost.

    What numbers without an end make there was measured.
    """
    smallest, greatest = least_normal(element) * 2**bits, largest(element)
    sizes = [size for end in factors for size in (end, 1 / end)]
    ends = [abs(end) for one in occurrence.operands for end in (one.lo, one.hi) if math.isfinite(end)]
    operands = max([1.0, *ends])
    return min(sizes) >= smallest and max(sizes) * operands <= greatest


def _divides(pattern: Op) -> bool:
    return pattern.operator == "Div" or any(_divides(one) for one in pattern.operands if isinstance(one, Op))


def _largest(one: Range) -> float:
    return max(abs(one.lo), abs(one.hi))


# ---- how much larger operands are than their difference ----------------------------------------------------------


def _weighed(form: _Form, occurrence: Occurrence) -> float | None:
    """The most that the operands' magnitudes, times their weights, can be of their difference's."""
    found = 0.0
    for a, b in _pairs(occurrence):
        ratio = _of_pair(a, b, form.weights)
        if ratio is None:
            return None
        found = max(found, ratio)
    return found


def _pairs(occurrence: Occurrence) -> Iterator[tuple[Range, Range]]:
    """What the operands can be together: each number of a constant, with what the other one holds."""
    known = [list(_numbers(one, stored)) for one, stored in zip(occurrence.operands, occurrence.fixed(), strict=True)]
    yield from itertools.product(*known)


def _numbers(operand: Range, stored: Array | None) -> Iterable[Range]:
    if stored is None:
        return [operand]
    numbers = np.unique(in_float64(stored))
    if numbers.size > _MOST_NUMBERS or not np.isfinite(numbers).all():
        return [operand]
    return [Range(operand.dtype, one, one, integral=one.is_integer(), constant=True) for one in numbers.tolist()]


def _of_pair(a: Range, b: Range, weights: tuple[int, int]) -> float | None:
    """The same of two operands; ``None`` where they can be equal, but for zero, or as near as may be.

    >>> _of_pair(Range("float32", 4.0, 9.0), Range("float32", 1.0, 2.0), (1, 1))
    3.0
    >>> _of_pair(Range("float32", 0.0, 9.0), Range("float32", -2.0, 0.0), (2, 0))
    2.0
    """
    found = [0.0]
    for x, y in itertools.product(_signs(a), _signs(b)):
        if x.below != y.below:
            found.append(max(weights))  # the magnitudes add up
            continue
        nearest = list(_nearest(x, y))
        if not nearest:
            return None
        found += [(weights[0] * one + weights[1] * other) / abs(one - other) for one, other in nearest]
    return max(found)


@dataclass(frozen=True, slots=True)
class _Magnitudes:
    """Those of the numbers of one sign. below: whether they are below 0. whole: whether all are whole numbers."""

    below: bool
    low: float
    high: float
    whole: bool


def _signs(operand: Range) -> Iterator[_Magnitudes]:
    """The magnitudes of an operand, for each sign that it can have; 0 is above."""
    if operand.hi >= 0:
        yield _Magnitudes(False, max(0.0, operand.lo), operand.hi, operand.integral)
    if operand.lo < 0:
        yield _Magnitudes(True, max(0.0, -operand.hi), -operand.lo, operand.integral)


def _nearest(x: _Magnitudes, y: _Magnitudes) -> Iterator[tuple[float, float]]:
    """The pairs of two operands of one sign that cancel the most; none where they can be equal."""
    if x.low > y.high or y.low > x.high:
        yield (x.low, y.high) if x.low > y.high else (x.high, y.low)
    elif y.high == 0 or x.high == 0:  # 0 takes nothing away
        yield (0.0, 1.0) if x.high == 0 else (1.0, 0.0)
    elif y.whole and x.low == x.high:
        yield from ((x.low, one) for one in _beside(x.low, y))
    elif x.whole and y.low == y.high:
        yield from ((one, y.low) for one in _beside(y.low, x))


def _beside(number: float, among: _Magnitudes) -> Iterator[float]:
    """The whole numbers next to another number; none where it is one itself."""
    if math.isfinite(number) and not number.is_integer():
        yield from (one for one in (math.floor(number), math.ceil(number)) if among.low <= one <= among.high)
