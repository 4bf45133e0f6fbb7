"""Joining combinations of names that have one content, so that tables of many cases stay short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

Content = TypeVar("Content")
Key = TypeVar("Key", bound=tuple[Any, ...])
Names = tuple[tuple[Any, ...], ...]


def merge(cells: Mapping[Key, Content], order: Sequence[int]) -> list[tuple[Names, Content]]:
    """Join combinations that have one content into rows, one position after the other.

    >>> merge({("a", 1): "x", ("a", 2): "x", ("b", 1): "y"}, (1, 0))
    [((('a',), (1, 2)), 'x'), ((('b',), (1,)), 'y')]
    """
    rows: list[tuple[Names, Content]] = [(tuple((name,) for name in key), content) for key, content in cells.items()]
    for position in order:
        grouped: list[tuple[Names, Content]] = []
        places: dict[str, int] = {}
        for parts, content in rows:
            rest = repr((parts[:position], parts[position + 1 :], content))
            if rest in places:
                before = grouped[places[rest]][0]
                joined = before[position] + parts[position]
                grouped[places[rest]] = ((*before[:position], joined, *before[position + 1 :]), content)
            else:
                places[rest] = len(grouped)
                grouped.append((parts, content))
        rows = grouped
    return rows
