"""Severity: how bad one wrong result is. It is decided from values alone, whatever the operator is."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from minuend.core.elements import ElementType
from minuend.operators import codes as of_codes
from minuend.operators.operator import Value
from minuend.operators.value_classes import largest, least_normal

if TYPE_CHECKING:
    from minuend.runtimes.witness import Witness

Severity = Literal["sign-of-zero", "rounding", "subnormal", "edge", "numbers"]

SEVERITIES: Mapping[Severity, str] = MappingProxyType(
    {
        "sign-of-zero": "only the sign of a zero or the payload of a NaN differs",
        "rounding": "finite results differ by at most 4 ulps",
        "subnormal": "subnormal operands or results are flushed to zero",
        "edge": "NaN, infinities or results at the ends of the type's range differ",
        "numbers": "ordinary values differ by more than rounding",
    }
)
"""Every severity and what differs, mildest first."""

ROUNDING = 4
"""The largest distance in ulps that is ``rounding``."""


def severity(element: ElementType, operands: Iterable[Value], got: Value, expected: Value) -> Severity:
    """Return the severity of one wrong result.

    The rules, the first that holds decides:

    1. An integer result is ``numbers``.
    2. Two zeros or two NaNs: ``sign-of-zero``.
    3. Either result is NaN, infinite or the largest finite number, of either sign: ``edge``.
    4. Flushing subnormal operands or the result to zero can explain the distance: ``subnormal``.
    5. The results are at most :data:`ROUNDING` ulps from each other: ``rounding``.
    6. Otherwise: ``numbers``.

    Args:
        element: the type of operands and results. operands: all inputs of the operator or pattern.
        got, expected: the results. A float that the type does not hold stands for the value that it rounds to.

    Raises:
        ValueError: ``got`` is the expected result. ValueError, ScalarRangeError: a value is none of the type's.

    >>> from minuend.core.elements import TYPES
    >>> severity(TYPES["uint8"], (5, 10), 0, 251), severity(TYPES["float32"], (-0.0, 0.0), 0.0, -0.0)
    ('numbers', 'sign-of-zero')
    >>> severity(TYPES["float32"], (1e-40, 0.0), 0.0, 1e-40), severity(TYPES["float16"], (0.0, 1.0), -0.999, -1.0)
    ('subnormal', 'rounding')
    """
    codes = [of_codes.encode(element, value) for value in (got, expected)]
    got, expected = (of_codes.decode(element, code) for code in codes)
    if codes[0] == codes[1] and not math.isnan(got):
        raise ValueError(f"{got} is the expected result of {element}")
    if element.is_integer:
        return "numbers"
    if got == expected or (math.isnan(got) and math.isnan(expected)):
        return "sign-of-zero"
    if not (math.isfinite(got) and math.isfinite(expected)) or largest(element) in (abs(got), abs(expected)):
        return "edge"
    if _flushed(element, operands, Fraction(got), Fraction(expected)):
        return "subnormal"
    return "rounding" if _steps(element, *codes) <= ROUNDING else "numbers"


def distance(element: ElementType, got: Value, expected: Value) -> int:
    """Return how many numbers of a float type one finite result is from another: the distance in ulps.

    >>> from minuend.core.elements import TYPES
    >>> distance(TYPES["float16"], 1.0, 1.001953125), distance(TYPES["float16"], 0.0, -0.0)
    (2, 0)
    """
    return _steps(element, *(of_codes.encode(element, value) for value in (got, expected)))


def worst(severities: Iterable[Severity | None]) -> Severity | None:
    """Return the worst of several; ``None``, a severity that is not known, counts only where there is no other.

    >>> worst(["rounding", "edge", None]), worst([None])
    ('edge', None)
    """
    return max(severities, key=rank, default=None)


@dataclass(frozen=True, slots=True)
class Deviation:
    """How bad different numbers are that operands can show.

    Attributes:
        severity: ``None`` where it is not known.
        ulps: the largest distance of finite results in ulps, where that is what severity depends on and a bound of it
            is known; else 0.
    """

    severity: Severity | None = None
    ulps: int = 0


def most_ulps(deviations: Iterable[Deviation]) -> int:
    """Return how far results are off at most where they differ by roundings and signs of zero alone; else 0.

    >>> most_ulps([Deviation("sign-of-zero"), Deviation("numbers", 8)]), most_ulps([Deviation("numbers")])
    (8, 0)
    """
    found = [one for one in deviations if one.severity != "sign-of-zero"]
    bounded = all(one.severity in ("rounding", "numbers") and one.ulps for one in found)
    return max((one.ulps for one in found), default=0) if bounded else 0


UNKNOWN = Deviation()
"""A deviation of which nothing shows how bad it is."""


def deviation(element: ElementType, witness: Witness | None) -> Deviation:
    """Return the deviation that a witness of an element type shows; every one of integers is ``numbers``.

    One pair bounds no other one that is off by more than roundings.

    >>> from minuend.core.elements import TYPES
    >>> deviation(TYPES["int8"], None), deviation(TYPES["float32"], None)
    (Deviation(severity='numbers', ulps=0), Deviation(severity=None, ulps=0))
    """
    if element.is_integer:
        return Deviation("numbers")
    if witness is None:
        return UNKNOWN
    return _shown(element, _Same(witness.operands, witness.got, witness.expected))


class _Same:
    """Values that are the same where their texts are: -0.0 is not 0.0, and NaN is NaN."""

    def __init__(self, operands: Sequence[Value], got: Value, expected: Value) -> None:
        self.operands, self.got, self.expected = operands, got, expected
        self._text = repr((operands, got, expected))

    def __hash__(self) -> int:
        return hash(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._text == other._text


@functools.lru_cache(maxsize=1024)
def _shown(element: ElementType, values: _Same) -> Deviation:
    """Return the deviation of values that a table shows, of which verdicts look at few, and at each often."""
    got, expected = (of_codes.encode(element, value) for value in (values.got, values.expected))
    if got == expected and not math.isnan(values.got):
        return UNKNOWN  # a result of a wider type, which rounds to the expected one
    found = severity(element, values.operands, values.got, values.expected)
    ulps = distance(element, values.got, values.expected) if found == "rounding" else 0
    return Deviation(found, ulps)


def rank(one: Severity | None) -> int:
    """Return a severity's place in the order, 0 for the mildest and -1 for one that is not known."""
    return -1 if one is None else list(SEVERITIES).index(one)


def _flushed(element: ElementType, operands: Iterable[Value], got: Fraction, expected: Fraction) -> bool:
    """Whether flushing to zero can explain the distance of two finite results.

    Without its subnormal operands a sum changes by no more than they add up to, and as much again by rounding. A
    product with one becomes zero: it was no more than that operand times the largest other one.
    """
    if element.format is None or not element.format.signed:
        return False  # no subnormal numbers
    least = least_normal(element)
    if got == 0 and abs(expected) < least:
        return True
    known = [value for value in operands if math.isfinite(value)]
    few = float(least)
    small = [value for value in known if -few < value < few]
    lost = sum((size for size in _sizes(element, small) if size < least), Fraction(0))
    if not lost:
        return False
    enlarged = max([Fraction(1), *_sizes(element, known)]) if got == 0 else 1
    return abs(got - expected) <= 2 * lost * enlarged


def _sizes(element: ElementType, values: Iterable[Value]) -> Iterator[Fraction]:
    """The magnitudes of values, as the type holds them, where they are finite."""
    for value in values:
        held = of_codes.decode(element, of_codes.encode(element, value))
        if math.isfinite(held):
            yield abs(Fraction(held))


def _steps(element: ElementType, one: int, other: int) -> int:
    """Return how many steps two finite numbers are from each other."""
    return abs(_step(element, one) - _step(element, other))


def _step(element: ElementType, code: int) -> int:
    """Return the place of a finite number among the type's numbers, in ascending order; both zeros are 0."""
    f = element.format
    if f is None or not f.signed:
        return code  # a code book's levels ascend, and so do the powers of two
    sign = 1 << (element.bits - 1)
    return -(code ^ sign) if code & sign else code
