"""What subtraction is, said once: the exact difference, whether a type holds it, what a range gives, and its words.

The kernel's twin is ``Difference`` in ``native/kernel/element.h``. What follows from the operation elsewhere (value
classes, ranges, the reference, reports) asks here, so that ``-`` between operands stands in one place.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

from minuend.core.elements import ElementType

Value: TypeAlias = int | Fraction | float
"""An element's value: an ``int``, an exact ``Fraction``, or the ``float`` -0.0, inf, -inf or nan."""

NAME = "subtract"
"""The operator's name in Python, the same for every standard."""

SIGN = "-"
"""The operator, between two operands in a sentence."""


def exact(a: Value, b: Value) -> int | Fraction | None:
    """Return the exact difference; ``None`` where an operand is no number.

    >>> exact(5, 10), exact(Fraction(1, 2), -0.0), exact(math.inf, 1.0)
    (-5, Fraction(1, 2), None)
    """
    if not isinstance(a, float) and not isinstance(b, float):
        return a - b
    return Fraction(a) - Fraction(b) if math.isfinite(a) and math.isfinite(b) else None


def fits(element: ElementType, difference: int | Fraction | None) -> bool:
    """Whether an integer type holds an exact difference.

    >>> from minuend.core.elements import TYPES
    >>> fits(TYPES["uint8"], -5), fits(TYPES["int16"], -5)
    (False, True)
    """
    low, high = element.limits
    return difference is None or low <= difference <= high


def reach(a: tuple[Value, Value], b: tuple[Value, Value]) -> tuple[int | Fraction | float, int | Fraction | float]:
    """Return the lowest and the highest exact difference over two ranges of operands; an infinity where there is none.

    >>> reach((0, 255), (10, 20)), reach((0.0, math.inf), (1.0, 2.0))
    ((-20, 245), (Fraction(-2, 1), inf))
    """
    low, high = exact(a[0], b[1]), exact(a[1], b[0])
    return -math.inf if low is None else low, math.inf if high is None else high


def said(a: object, b: object) -> str:
    """Write the operation.

    >>> said(5, 10)
    '5 - 10'
    """
    return f"{a} {SIGN} {b}"


def equation(a: int, b: int) -> str:
    """Write the operation with its exact answer.

    >>> equation(5, 10)
    '5 - 10 = -5'
    """
    return f"{said(a, b)} = {exact(a, b)}"
