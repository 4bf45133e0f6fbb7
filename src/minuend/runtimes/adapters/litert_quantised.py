"""LiteRT with quantised operands, of a scale of 1 and a zero point of 0: the numbers are the integers themselves.

Stands alone: a worker loads this file where minuend is not installed. The code that queries it is in the adjacent file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .litert import ARRAYS, CONSTANTS, DIALECTS, INSTEAD, JOINS, PACKAGE, RULES, subtracting  # noqa: F401

NAME = "litert-quantised"


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Return what subtracts arrays."""
    return subtracting(quantised=True)
