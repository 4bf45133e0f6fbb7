"""Numbers that the operands of an occurrence can be: those of a constant, or edges of a type within a range."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from minuend.core.elements import ElementType
from minuend.models.occurrences import Array
from minuend.models.ranges.interval import Range
from minuend.operators import codes as of_codes
from minuend.runtimes import values
from minuend.runtimes.values import Codes

_INSIDE = 32
"""Numbers from inside a range that are taken in addition to the edges."""


def pool(element: ElementType, range_: Range, stored: Array | None) -> Codes:
    """Return the codes (n,) of numbers that an operand can be, each once.

    Those of a constant ascend; else come the edges of the type within the range, its ends, and some from inside.

    >>> from minuend.core.elements import TYPES
    >>> pool(TYPES["uint8"], Range("uint8", 4, 7), None), pool(TYPES["int8"], Range("int8", -1, 3), np.int8([3, -1, 3]))
    (array([4, 5, 6, 7], dtype=uint8), array([  3, 255], dtype=uint8))
    """
    if stored is not None:
        return np.unique(codes_of(element, stored))
    codes = [code for code in values.plainest(element) if range_.holds(_number(element, code))]
    codes += [of_codes.encode(element, _exact(one)) for one in (*_ends(range_), *_inside(range_))]
    known = [code for code in dict.fromkeys(codes) if range_.holds(_number(element, code))]
    return np.array(known, f"u{element.itemsize}")


def codes_of(element: ElementType, array: Array) -> Codes:
    """Return an array's codes, those of narrow types without what lies above their bits."""
    codes = np.ascontiguousarray(array).view(f"u{element.itemsize}").reshape(array.shape)
    return codes if element.bits >= 8 else codes & np.uint8((1 << element.bits) - 1)


def _number(element: ElementType, code: int) -> int | float:
    value = of_codes.decode(element, code)
    return value if isinstance(value, int) else float(value)


def _exact(number: int | float) -> int | Fraction | float:
    return Fraction(number) if isinstance(number, float) and math.isfinite(number) and number else number


def _ends(range_: Range) -> list[int | float]:
    return [end for end in (range_.lo, range_.hi) if range_.is_float or isinstance(end, int)]


def _inside(range_: Range) -> list[int | float]:
    rng = np.random.default_rng(7)
    if not range_.is_float:
        return [int(range_.lo) + int(part * (int(range_.hi) - int(range_.lo))) for part in rng.random(_INSIDE)]
    lo, hi = max(float(range_.lo), -1e4), min(float(range_.hi), 1e4)
    numbers = [float(one) for one in rng.uniform(lo, hi, _INSIDE)] if lo < hi else []
    return [float(math.floor(one)) for one in numbers] if range_.integral else list(numbers)
