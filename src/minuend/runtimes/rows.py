"""Rows of measured files: the names of many cases that have one answer.

A row names patterns by their numbers in the file's list, and lists names of each other part of a key; it holds for each
combination. A row of nodes by themselves has :data:`OF_NODES`, another one :data:`OF_PATTERNS`.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from minuend.models.constants import positions_of, word_of
from minuend.models.matching import ADJACENT
from minuend.models.patterns import Pattern, plain
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

Content = TypeVar("Content")


def keys(row: Mapping[str, Any], patterns: Iterable[Pattern]) -> Iterator[Key]:
    """Yield every combination for which a row holds, with these patterns of it."""
    opversions, dtypes, relations, constants, settings, forms = (row.get(name) or ELSE[name] for name in FIELDS[1:])
    positions = map(positions_of, constants)
    return map(Key._make, itertools.product(patterns, opversions, dtypes, relations, positions, settings, forms))


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
