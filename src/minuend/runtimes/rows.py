"""Rows of measured files: the names of many cases that have one answer.

A row names patterns by their numbers in the file's list, and lists names of each other part of a key; it holds for each
combination. A row of nodes by themselves has :data:`OF_NODES`, another one :data:`OF_PATTERNS`.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from minuend.models.constants import positions_of, word_of
from minuend.models.matching.match import ADJACENT
from minuend.models.patterns import Pattern, pattern_of, plain
from minuend.runtimes.merging import merge
from minuend.runtimes.table import STATIC, Key

FIELDS = ("patterns", "opversions", "dtypes", "relations", "constants", "settings", "forms")
"""The parts of a :class:`~minuend.runtimes.table.Key`, in its order."""

OF_NODES = ("patterns", "opversions", "dtypes", "relations", "constants")
OF_PATTERNS = ("patterns", "dtypes", "settings", "forms")

ELSE: Mapping[str, Sequence[str]] = {
    "opversions": [""], "relations": [""], "constants": ["none"], "settings": [STATIC], "forms": [ADJACENT],
}  # fmt: skip
"""What holds where a row does not have a field."""

_ORDER = (6, 5, 4, 3, 1, 0, 2)
"""The order in which fields are joined: types at last."""

_MOST_SEARCHES = 8
"""Patterns that are searched for one by one; a table of all of them takes as long to make."""

Content = TypeVar("Content")


def keys(row: Mapping[str, Any], patterns: Iterable[Pattern]) -> Iterator[Key]:
    """Yield every combination for which a row holds, with these patterns of it."""
    opversions, dtypes, relations, constants, settings, forms = (row.get(name) or ELSE[name] for name in FIELDS[1:])
    positions = map(positions_of, constants)
    return map(Key._make, itertools.product(patterns, opversions, dtypes, relations, positions, settings, forms))


class Rows:
    """Rows of a file, found by a pattern that they hold for.

    Args:
        data: the file's ``"patterns"``, as :func:`~minuend.models.patterns.plain` writes them, and its ``"rows"``.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._patterns: Sequence[object] = data["patterns"]
        self.rows: Sequence[Mapping[str, Any]] = data["rows"]
        self._read: dict[int, Pattern] = {}
        self._searches = 0

    def of(self, pattern: Pattern) -> Sequence[Mapping[str, Any]]:
        """Return the rows that hold for a pattern, in the file's order."""
        found = plain(pattern)
        if self._searches < _MOST_SEARCHES:
            self._searches += 1
            numbers = {i for i, one in enumerate(self._patterns) if one == found}
            return [row for row in self.rows if not numbers.isdisjoint(row["patterns"])] if numbers else ()
        return self._by_text.get(str(found), ())

    def patterns(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[Pattern]:
        """Yield the patterns for which any of some rows of this file holds, each once."""
        numbers = dict.fromkeys(itertools.chain.from_iterable(row["patterns"] for row in rows))
        return map(self._pattern, numbers)

    def keys(self) -> Iterator[Key]:
        """Yield every key for which a row holds."""
        return (key for row in self.rows for key in keys(row, map(self._pattern, row["patterns"])))

    def _pattern(self, number: int) -> Pattern:
        """A pattern of the file's list, which is read when it is first wanted: few verdicts want thousands."""
        found = self._read.get(number)
        if found is None:
            found = self._read[number] = pattern_of(self._patterns[number])
        return found

    @functools.cached_property
    def _by_text(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        texts = tuple(map(str, self._patterns))
        found: dict[str, list[Mapping[str, Any]]] = {text: [] for text in texts}  # a list may name a pattern twice
        for row in self.rows:
            for i in row["patterns"]:
                found[texts[i]].append(row)
        return found


def rows_of(cells: Mapping[Key, Content]) -> tuple[list[str], list[tuple[dict[str, Any], Content]]]:
    """Return the patterns of cells as JSON, and rows that name them by their numbers, each with its content."""
    numbers = {pattern: i for i, pattern in enumerate(dict.fromkeys(key.pattern for key in cells))}
    numbered = {(numbers[key.pattern], *key[1:4], word_of(key.constants), *key[5:]): one for key, one in cells.items()}
    rows = []
    for names, content in merge(numbered, _ORDER):
        row = dict(zip(FIELDS, map(list, names), strict=True))
        fields = OF_PATTERNS if row["opversions"] == ELSE["opversions"] else OF_NODES
        rows.append(({field: row[field] for field in fields}, content))
    return [json.dumps(plain(one), ensure_ascii=False) for one in numbers], rows


def lines_of(parts: Mapping[str, Iterable[str]]) -> str:
    """Return lists of JSON texts as parts of an object, a text a line."""
    indented = {name: ",\n".join(f"  {line}" for line in lines) for name, lines in parts.items()}
    return ",\n".join(f'"{name}": [\n{text}\n]' for name, text in indented.items())
