"""The list of patterns that every release is measured with; the releases' files say which deviate or do not run."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from minuend.models.patterns import Pattern
from minuend.runtimes.rows import Rows, lines_of, rows_of
from minuend.runtimes.table import DEFAULTS, Key

CASES = "graph cases.json"
"""The file's name."""


@functools.cache
def measured() -> frozenset[Key]:
    """Return every case that releases are measured with."""
    return frozenset(rows().keys())


@functools.cache
def rows() -> Rows:
    """Return the rows of this package's list."""
    return Rows(_data())


@functools.cache
def _data() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(Path(__file__).with_name("measured").joinpath(CASES).read_text("utf-8"))
    return found


def without_defaults(cases: Iterable[Key]) -> Iterator[Key]:
    """Yield the cases for a runtime that has no precision of its own by default."""
    return (key for key in cases if key.setting not in DEFAULTS.values())


def listed_in(text: str) -> Rows:
    """Read the cases that the text of :data:`CASES` lists."""
    return Rows(json.loads(text))


def forget() -> None:
    """Read the list again where it is requested next: its file was written."""
    for one in (measured, rows, _data, by_text):
        one.cache_clear()


@functools.cache
def by_text() -> Mapping[str, Pattern]:
    """The patterns of all cases by what is printed of them: files of format 1 have that."""
    return {str(pattern): pattern for pattern in dict.fromkeys(key.pattern for key in measured())}


def digest() -> str:
    """Return what tells this package's list of cases from others: a file leaves out what is fine, list by list."""
    found: str = _data()["digest"]
    return found


def digest_of(cases: Iterable[Key]) -> str:
    """Return the digest of a list of cases; :data:`CASES` states it, since all keys are needed to compute it."""
    text = "\n".join("\t".join(names) for names in sorted(map(printed, set(cases))))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def printed(key: Key) -> tuple[str, ...]:
    """Return what is printed of a case; lists are sorted by it."""
    return _text(key.pattern), key.dtype, key.setting, key.form


@functools.cache
def _text(pattern: Pattern) -> str:
    return str(pattern)


def dump(cases: Sequence[Key]) -> str:
    """Write the cases that releases are measured with as the text of :data:`CASES`."""
    patterns, found = rows_of(dict.fromkeys(cases, ""))
    lines = lines_of({"patterns": patterns, "rows": [json.dumps(row) for row, _ in found]})
    return f'{{\n"digest": "{digest_of(cases)}",\n{lines}\n}}\n'
