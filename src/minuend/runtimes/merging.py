"""Joining combinations of names that have one content, so that tables of many cases stay short."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

Content = TypeVar("Content")
Key = TypeVar("Key", bound=tuple[Any, ...])
Names = tuple[tuple[Any, ...], ...]


def merge(cells: Mapping[Key, Content], order: Sequence[int]) -> list[tuple[Names, Content]]:
    """Join combinations that have one content into rows, one position after the other.

    >>> merge({("a", 1): "x", ("a", 2): "x", ("b", 1): "y"}, (1, 0))
    [((('a',), (1, 2)), 'x'), ((('b',), (1,)), 'y')]
    """
    contents = list(cells.values())
    texts: dict[str, int] = {}  # contents are compared by them: no NaN is equal to another
    numbers = [texts.setdefault(text, i) for i, text in enumerate(_texts(contents))]
    rows: list[tuple[Names, int]] = list(zip((tuple((name,) for name in key) for key in cells), numbers, strict=True))
    for position in order:
        joined: dict[tuple[Names, Names, int], list[Any]] = {}
        for parts, number in rows:
            joined.setdefault((parts[:position], parts[position + 1 :], number), []).extend(parts[position])
        rows = [((*before, tuple(names), *behind), number) for (before, behind, number), names in joined.items()]
    return [(parts, contents[number]) for parts, number in rows]


def _texts(contents: Iterable[Content]) -> Iterator[str]:
    """Yield how contents are written; many are one object."""
    texts: dict[int, str] = {}
    for content in contents:
        text = texts.get(id(content))
        if text is None:
            text = texts[id(content)] = repr(content)
        yield text
