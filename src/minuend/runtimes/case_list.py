"""The list of patterns that every release is measured with; the releases' files say which deviate or do not run."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources

from minuend.models.patterns import Pattern, pattern_of
from minuend.runtimes.rows import keys, lines_of, rows_of
from minuend.runtimes.table import DEFAULTS, Key

CASES = "graph cases.json"
"""The file's name."""


@functools.cache
def measured() -> frozenset[Key]:
    """Return every case that releases are measured with."""
    return listed_in(resources.files("minuend.runtimes").joinpath("measured", CASES).read_text("utf-8"))


def without_defaults(cases: Iterable[Key]) -> Iterator[Key]:
    """Yield the cases for a runtime that has no precision of its own by default."""
    return (key for key in cases if key.setting not in DEFAULTS.values())


def listed_in(text: str) -> frozenset[Key]:
    """Read the cases that the text of :data:`CASES` lists."""
    data = json.loads(text)
    patterns = tuple(map(pattern_of, data["patterns"]))
    return frozenset(key for row in data["rows"] for key in keys(row, [patterns[i] for i in row["patterns"]]))


def forget() -> None:
    """Read the list again where it is requested next: its file was written."""
    for one in (measured, by_text, digest):
        one.cache_clear()


@functools.cache
def by_text() -> Mapping[str, Pattern]:
    """The patterns of all cases by what is printed of them: files of format 1 have that."""
    return {str(pattern): pattern for pattern in dict.fromkeys(key.pattern for key in measured())}


@functools.cache
def digest() -> str:
    """Return what tells this package's list of cases from others: a file leaves out what is fine, list by list."""
    text = "\n".join("\t".join(names) for names in sorted(map(printed, measured())))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def printed(key: Key) -> tuple[str, ...]:
    """Return what is printed of a case; lists are sorted by it."""
    return _text(key.pattern), key.dtype, key.setting, key.form


@functools.cache
def _text(pattern: Pattern) -> str:
    return str(pattern)


def dump(cases: Sequence[Key]) -> str:
    """Write the cases that releases are measured with as the text of :data:`CASES`."""
    patterns, rows = rows_of(dict.fromkeys(cases, ""))
    return "{\n" + lines_of({"patterns": patterns, "rows": [json.dumps(row) for row, _ in rows]}) + "\n}\n"
