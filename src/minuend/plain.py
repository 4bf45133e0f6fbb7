"""What this package reports: gathered, as plain data, and that as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

K = TypeVar("K")
T = TypeVar("T")


def grouped(rows: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """Gather what comes under one key, in the order in which keys come first.

    >>> grouped([("odd", 1), ("even", 2), ("odd", 3)])
    {'odd': [1, 3], 'even': [2]}
    """
    found: dict[K, list[T]] = {}
    for key, row in rows:
        found.setdefault(key, []).append(row)
    return found


def as_json(data: object) -> str:
    """Write anything as JSON, one newline at the end.

    >>> print(as_json({"low": float("-inf"), "shape": (2, 3)}), end="")
    {
      "low": "-inf",
      "shape": [
        2,
        3
      ]
    }
    """
    return json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


LEFT_OUT: Mapping[str, bool] = {"left out": True}
"""The metadata of a dataclass's field that is no data."""


def plain(data: object) -> Any:
    """Return dataclasses as dicts and tuples as lists; numbers that JSON lacks (NaN, infinities) become strings."""
    if is_dataclass(data) and not isinstance(data, type):
        return {f.name: plain(getattr(data, f.name)) for f in fields(data) if f.metadata != LEFT_OUT}
    if isinstance(data, Mapping):
        return {key: plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(item) for item in data]
    if isinstance(data, float) and not math.isfinite(data):
        return str(data)
    return data
