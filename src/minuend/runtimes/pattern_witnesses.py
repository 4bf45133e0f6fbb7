"""Witnesses of patterns: a file beside a measured one, read when a deviation is shown.

A witness belongs to one pattern, and no two patterns share one. So a measured file with all of them takes several times
as long to load, and most reports show none. A file that a user measures has them in place.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from minuend.models.patterns import Pattern, is_alone, judged, plain
from minuend.operators import BY_ONNX
from minuend.runtimes.answers import Answer, number_of, plain_number
from minuend.runtimes.merging import merge
from minuend.runtimes.table import Answers, Key, Shown, Table
from minuend.runtimes.witness import Witness

WITNESSES = "witnesses"
"""The folder beside measured files that has a file of the same name for each."""

_ORDER = (2, 1, 0, 3)
"""The order in which forms, settings, types and value classes are joined."""


class PatternWitnesses:
    """What shows the deviations of a release's patterns.

    Args:
        read: gives the text of the file.
    """

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read

    @functools.cached_property
    def _rows(self) -> Mapping[str, list[Any]]:
        found: Mapping[str, list[Any]] = json.loads(self._read())
        return found

    def find(self, keys: Iterable[Key], names: Iterable[str]) -> Witness | None:
        """Return the first witness of some cases and value classes; ``None`` where there is none."""
        known = list(keys)
        for name in names:
            for key in known:
                for dtypes, settings, forms, classes, *witness in self._rows.get(_text(key.pattern), ()):
                    if key.dtype in dtypes and key.setting in settings and key.form in forms and name in classes:
                        return _witness(key.pattern, *witness)
        return None


def _text(pattern: Pattern) -> str:
    return json.dumps(plain(pattern), ensure_ascii=False)


def _witness(pattern: Pattern, operands: Iterable[Any], got: Any, expected: Any) -> Witness:
    operator = BY_ONNX[judged(pattern)]
    return Witness(operator, tuple(map(number_of, operands)), number_of(got), number_of(expected))


def without_witnesses(table: Table) -> tuple[Table, str]:
    """Return a table without the witnesses of patterns that are more than an operator, and the text of their file."""
    cells: dict[Key, Answers] = {}
    taken: dict[str, dict[tuple[str, str, str, str], tuple[Any, ...]]] = {}
    for key, answers in table.cells.items():
        if key.opversion or is_alone(key.pattern):
            cells[key] = answers
            continue
        cells[key] = {name: replace(one, witness=None) for name, one in answers.items()}
        for name, one in answers.items():
            if one.witness is not None:
                own = taken.setdefault(_text(key.pattern), {})
                own[key.dtype, key.setting, key.form, name] = _plain(one.witness)
    lines = ",\n".join(f"{json.dumps(text, ensure_ascii=False)}: [\n{_lines(own)}\n]" for text, own in taken.items())
    return replace(table, cells=cells, shown=None), f"{{\n{lines}\n}}\n"


def _plain(witness: Witness) -> tuple[Any, ...]:
    return [plain_number(one) for one in witness.operands], plain_number(witness.got), plain_number(witness.expected)


def _lines(own: Mapping[tuple[str, str, str, str], tuple[Any, ...]]) -> str:
    rows = ([*map(list, names), *content] for names, content in merge(own, _ORDER))
    return ",\n".join(f" {json.dumps(row, ensure_ascii=False)}" for row in rows)


def with_witnesses(table: Table) -> Table:
    """Return a table with the witnesses in place that a file beside it holds."""
    if table.shown is None:
        return table
    return replace(table, cells=dict(_shown(table, table.shown)), shown=None)


def _shown(table: Table, shown: Shown) -> Iterator[tuple[Key, Answers]]:
    def whole(key: Key, name: str, one: Answer) -> Answer:
        return one if one.witness is not None or not one.severities else replace(one, witness=shown.find([key], [name]))

    for key, answers in table.cells.items():
        yield key, {name: whole(key, name, one) for name, one in answers.items()}
