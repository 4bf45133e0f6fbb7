"""What is known of a value beyond the model: its elements' range, as somebody who knows the inputs says."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from minuend.core.elements import of_numpy
from minuend.errors import SpecError, listed, near, shown
from minuend.files.streaming.reading import Array
from minuend.models.ranges.interval import Number, Range, full, outward, same_values

_NUMBER = r"[+-]?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,4})?"
_TEXT = re.compile(rf"(?P<lo>{_NUMBER})?(?P<dots>\.\.)?(?P<hi>{_NUMBER})?")
_EXPECTED = "expected lo..hi, an open end as 0.. or ..9, or one number"


@dataclass(frozen=True, slots=True)
class Assumed:
    """What is said of a value: every element lies from ``lo`` to ``hi``, and none is NaN; ``None`` is no bound."""

    name: str
    lo: Fraction | None
    hi: Fraction | None

    def __str__(self) -> str:
        return _shown(self.lo) if self.lo == self.hi else f"{_shown(self.lo)}..{_shown(self.hi)}"

    @property
    def sentence(self) -> str:
        """What is taken for granted, for the end of a sentence that begins with "where"."""
        return f"{self.name} is {self} (assumed)"

    def meet(self, found: Range) -> Range:
        """Return a derived range as far as this one reaches; a derived one that says more stays as it is.

        Raises:
            SpecError: no number lies in both.

        >>> str(assumptions({"n": "0..9"})["n"].meet(Range("int64", -3, 2**40, why="input")))
        '0..9 (input)'
        """
        if found.dtype is None:
            return found
        lo, hi = self._bounds(found)
        lo, hi = max(found.lo, lo), min(found.hi, hi)
        if lo > hi:
            raise SpecError("assume", f"{shown(self.name)} is {found}, and {self} is assumed; no number is in both")
        met = replace(found, lo=lo, hi=hi, nan=False)
        return found if same_values(met, found) else replace(met, assumptions=found.assumptions | {self.sentence})

    def _bounds(self, like: Range) -> tuple[Number, Number]:
        """The bounds as numbers of a type: whole ones inwards, floats outwards, so that a rounded end is in."""
        assert like.dtype is not None
        if not like.is_float:
            lo = like.lo if self.lo is None else math.ceil(self.lo)
            return lo, like.hi if self.hi is None else math.floor(self.hi)
        return outward(like.dtype, -math.inf if self.lo is None else self.lo, math.inf if self.hi is None else self.hi)

    def fit(self, array: Array) -> Array:
        """Return an array of made numbers, those that lie outside of the range moved to its ends."""
        row = of_numpy(array.dtype)
        if row is None or row.numpy != row.memory:  # bool, and codes of a code book
            return array
        lo, hi = self._bounds(everything := full(row.name))
        with np.errstate(invalid="ignore"):  # signaling NaNs
            wide = array.astype(np.float64 if everything.is_float else np.int16 if row.bits < 8 else array.dtype)
        wide = np.where(np.isnan(wide), lo if math.isfinite(lo) else hi, wide) if everything.is_float else wide
        lo, hi = max(lo, everything.lo), min(hi, everything.hi)
        return array if lo > hi else np.asarray(np.clip(wide, lo, hi).astype(array.dtype))  # 0-d arrays stay arrays


Assumptions: TypeAlias = Mapping[str, Assumed]

NONE: Assumptions = MappingProxyType({})

LARGEST = 10**400
"""A whole number beyond every number that an element type holds, and that can be shown."""


def _shown(bound: Fraction | None) -> str:
    if bound is None:
        return ""
    return str(bound.numerator) if bound.denominator == 1 else f"{float(bound):.9g}"


def assumptions(given: Mapping[str, object] | None) -> dict[str, Assumed]:
    """Read what is assumed of values, by their names.

    Args:
        given: a text such as ``"0..9"``, ``"0.."`` or ``"5"``, a number, a pair of numbers of which one may be
            ``None``, or an :class:`Assumed`, by the value's name.

    Raises:
        SpecError: a range that is none. TypeError: something else than those.

    >>> [str(one) for one in assumptions({"a": (0, 131071), "b": "0..", "c": 5, "d": "-1.5..1e3"}).values()]
    ['0..131071', '0..', '5', '-1.5..1000']
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        wanted = "expected a dict such as {'positions': (0, 131071)}"
        raise TypeError(f"a {type(given).__name__} assumes nothing; {wanted}")
    return {name: _assumption(name, value) for name, value in given.items()}


def _assumption(name: str, value: Any) -> Assumed:
    if isinstance(value, Assumed):
        return value
    if isinstance(value, str):
        return _checked(name, value, *_ends(name, value))
    pair = value if isinstance(value, tuple | list) and len(value) == 2 else (value, value)
    if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in pair if end is not None):
        raise TypeError(f"{shown(name)} cannot be assumed to be {shown(value)}; {_EXPECTED} or a pair of numbers")
    if any(isinstance(end, float) and math.isnan(end) for end in pair):
        raise SpecError("assume", f"{shown(name)} cannot be assumed to be {shown(value)}; NaN bounds nothing")
    if any(isinstance(end, int) and abs(end) > LARGEST for end in pair):
        raise _refused(name, value, _TOO_LARGE)
    lo, hi = (None if end is None or math.isinf(end) else Fraction(end) for end in pair)
    return _checked(name, value, lo, hi)


def _ends(name: str, text: str) -> tuple[Fraction | None, Fraction | None]:
    match = _TEXT.fullmatch(text.strip())
    if match is None or not (match["dots"] or match["lo"]):
        raise SpecError("assume", f"{shown(name)} cannot be assumed to be {shown(text)}; {_EXPECTED}")
    ends = [match[end] for end in ("lo", "hi")]
    # A fraction of 1e999999999 has a billion digits; floats end at 1e308, and their smallest is 5e-324.
    if any(len(end) > 400 or abs(int(end.lower().partition("e")[2] or 0)) > 400 for end in ends if end is not None):
        raise _refused(name, text, _TOO_LARGE)
    lo, hi = (None if end is None else Fraction(end) for end in ends)
    return (lo, lo) if not match["dots"] else (lo, hi)


_TOO_LARGE = "beyond what floats hold; leave that end open, as 0.."


def _refused(name: str, value: object, message: str) -> SpecError:
    return SpecError("assume", f"{shown(name)} is assumed to be {shown(value)}, {message}")


def _checked(name: str, value: object, lo: Fraction | None, hi: Fraction | None) -> Assumed:
    if lo is None and hi is None:
        raise _refused(name, value, f"which says nothing; {_EXPECTED}")
    if lo is not None and hi is not None and lo > hi:
        raise _refused(name, value, f"which is empty; {_EXPECTED}")
    return Assumed(name, lo, hi)


def parse(texts: Iterable[str]) -> dict[str, Assumed]:
    """Read ``NAME=RANGE`` texts of a command line.

    Raises:
        SpecError: one without a name or a range, or a name twice.

    >>> str(parse(["positions=0..131071"])["positions"])
    '0..131071'
    """
    found: dict[str, Assumed] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not name:
            raise SpecError("assume", f"--assume {shown(text)} says nothing of a value; expected NAME=RANGE, as x=0..9")
        if name in found:
            raise SpecError("assume", f"--assume tells of {shown(name)} twice; tell it once")
        found[name] = _assumption(name, value)
    return found


def missing(names: Iterable[str], known: Iterable[str]) -> SpecError:
    """Return the error of names that no model has."""
    names, known = list(names), list(known)
    called = listed([f"{shown(name)}{near(name, known)}" for name in names])
    return SpecError("assume", f"something is assumed of {called}, and no model has an input or a value of that name")
