"""Joining combinations of four parts that have one content, so that tables of many cases stay short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

First = TypeVar("First")
Names = tuple[tuple[First, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def merge(cells: Mapping[tuple[First, str, str, str], Any]) -> list[tuple[Names[First], Any]]:
    """Join combinations that have one content into rows, last name first: constants, relations, versions, types."""
    rows: list[tuple[Names[First], Any]] = [
        (((a,), (b,), (c,), (d,)), content) for (a, b, c, d), content in cells.items()
    ]
    for position in (3, 2, 0, 1):
        grouped: list[tuple[Names[First], Any]] = []
        places: dict[str, int] = {}
        for parts, content in rows:
            rest = repr((parts[:position], parts[position + 1 :], content))
            if rest in places:
                before = grouped[places[rest]][0]
                joined = (*before[:position], before[position] + parts[position], *before[position + 1 :])
                grouped[places[rest]] = (joined, content)  # type: ignore[assignment]
            else:
                places[rest] = len(grouped)
                grouped.append((parts, content))
        rows = grouped
    return rows
