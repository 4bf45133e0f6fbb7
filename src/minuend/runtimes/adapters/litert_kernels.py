"""LiteRT by its own kernels, without its default delegate (XNNPACK).

Stands alone: a worker loads this file where minuend is not installed. The code that queries it is in the adjacent file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .litert import ARRAYS, CONSTANTS, DIALECTS, INSTEAD, JOINS, PACKAGE, RULES, subtracting  # noqa: F401

NAME = "litert-kernels"


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Return what subtracts arrays."""
    return subtracting(delegate=False)
