"""The cells of a measured file, made of its rows pattern by pattern when they are wanted.

A file has 20,000 to 30,000 cells of which the verdicts on a model need some dozens.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from minuend.models.patterns import Pattern, judged
from minuend.operators import BY_ONNX
from minuend.runtimes.answers import answer_of
from minuend.runtimes.rows import ELSE, Rows, keys
from minuend.runtimes.table import DEFAULTS, Answers, Key


class Cells(Mapping[Key, Answers]):
    """The cells of a file's data.

    Args:
        data: the file's. listed: the cases that are fine where the file does not name them; ``None`` where patterns are
            unmeasured. defaults: whether the runtime has a precision of its own by default.
    """

    def __init__(self, data: Mapping[str, Any], listed: Rows | None, *, defaults: bool) -> None:
        self._left_out = frozenset(map(tuple, data.get("unmeasured", ())))
        self._rows, self._listed, self._defaults = Rows(data), listed, defaults
        self._made: dict[Pattern, Mapping[Key, Answers]] = {}
        self._read: dict[tuple[int, str], Answers] = {}

    def __getitem__(self, key: Key) -> Answers:
        return self.nodes[key] if key.opversion else self._of(key.pattern)[key]

    def __iter__(self) -> Iterator[Key]:
        yield from self.nodes
        for pattern in self._patterns():
            yield from self._of(pattern)

    def __len__(self) -> int:
        return len(self.nodes) + sum(len(self._of(pattern)) for pattern in self._patterns())

    @functools.cached_property
    def nodes(self) -> Mapping[Key, Answers]:
        """The cells of nodes by themselves, in the order of the file's rows."""
        found: dict[Key, Answers] = {}
        for row in self._rows.rows:
            if row.get("opversions"):
                for pattern in self._rows.patterns([row]):
                    found |= dict.fromkeys(keys(row, [pattern]), self._answers(row, judged(pattern)))
        return found

    def with_settings(self, settings: Collection[str], name: str = "", /) -> Iterator[Key]:
        """Yield the keys of patterns that were measured in one of some settings, and with an answer of a name there."""
        for pattern in self._patterns(settings, name):
            yield from (key for key in self._of(pattern) if key.setting in settings)

    def _patterns(self, settings: Collection[str] = (), name: str = "") -> Iterator[Pattern]:
        """Yield the patterns that rows name, each once.

        Args:
            settings: of rows with one of these alone. name: of rows with an answer of this name alone.
        """
        if self._listed is None:
            return
        seen: set[Pattern] = set()
        for one in (self._listed, self._rows):
            rows = [row for row in one.rows if not row.get("opversions")]
            if settings:
                rows = [row for row in rows if any(each in settings for each in self._settings(one, row))]
            if name:
                rows = [row for row in rows if name in row.get("answers", ())]
            for pattern in one.patterns(rows):
                if pattern not in seen:
                    seen.add(pattern)
                    yield pattern

    def _settings(self, rows: Rows, row: Mapping[str, Any]) -> Iterator[str]:
        names: Sequence[str] = row.get("settings") or ELSE["settings"]
        return (name for name in names if self._defaults or rows is self._rows or name not in DEFAULTS.values())

    def _of(self, pattern: Pattern) -> Mapping[Key, Answers]:
        found = self._made.get(pattern)
        if found is None:
            found = self._made[pattern] = {} if self._listed is None else self._cells(pattern, self._listed)
        return found

    def _cells(self, pattern: Pattern, listed: Rows) -> Mapping[Key, Answers]:
        cells: dict[Key, Answers] = {
            key: {} for row in listed.of(pattern) for key in keys(row, [pattern]) if self._is_listed(key)
        }
        for row in self._rows.of(pattern):
            if row.get("opversions"):
                continue
            if "answers" in row:
                cells |= dict.fromkeys(keys(row, [pattern]), self._answers(row, judged(pattern)))
                continue
            for key in keys(row, [pattern]):
                cells.pop(key, None)
        return cells

    def _is_listed(self, key: Key) -> bool:
        return (key.dtype, key.setting) not in self._left_out and (
            self._defaults or key.setting not in DEFAULTS.values()
        )

    def _answers(self, row: Mapping[str, Any], operator: str) -> Answers:
        """The answers of a row, each read once."""
        key = id(row), operator
        if key not in self._read:
            self._read[key] = {name: answer_of(one, BY_ONNX[operator]) for name, one in row["answers"].items()}
        return self._read[key]
