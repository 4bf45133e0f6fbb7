"""The list of patterns that every release is measured with; the releases' files say which deviate or do not run.

The list grows at its end, and says of each earlier list how many of its rows that had. So a file that was written
against an earlier list stays valid: the rows behind are of cases that its release was not measured with.
"""

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
def rows_of_list(digest_: str) -> Rows | None:
    """Return the rows of this package's list or of an earlier one, by its digest; ``None`` of another list."""
    if digest_ == digest():
        return rows()
    count = _data()["earlier"].get(digest_)
    return None if count is None else Rows({**_data(), "rows": _data()["rows"][:count]})


@functools.cache
def _keys_of_list(digest_: str) -> frozenset[Key]:
    listed = rows_of_list(digest_)
    return frozenset() if listed is None else frozenset(listed.keys())


def earliest(cases: Iterable[Key]) -> tuple[str, frozenset[Key]]:
    """Return the digest and the cases of the earliest list that has some cases: what came later was not measured."""
    wanted = set(cases)
    found = next((one for one in _data()["earlier"] if wanted <= _keys_of_list(one)), digest())
    return found, _keys_of_list(found)


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
    for one in (measured, rows, rows_of_list, _keys_of_list, _data, by_text):
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
    """Write the cases that releases are measured with as the text of :data:`CASES`: new ones behind those of the list.

    Where the list has cases that are not measured any more, it is written anew, and no file of an earlier one is valid.
    """
    data: Mapping[str, Any] = _data() if measured() <= set(cases) else {"patterns": [], "rows": []}
    known = set(Rows(data).keys())
    new = [key for key in dict.fromkeys(cases) if key not in known]
    earlier = dict(data["earlier"]) if known else {}
    if known and new:
        earlier[data["digest"]] = len(data["rows"])
    patterns, found = rows_of(dict.fromkeys(new, ""))
    numbers = {text: i for i, text in enumerate(map(json.dumps, data["patterns"]))}
    for text in patterns:
        numbers.setdefault(text, len(numbers))
    places = [numbers[text] for text in patterns]
    more = [{**row, "patterns": [places[i] for i in row["patterns"]]} for row, _ in found]
    lines = lines_of({"patterns": numbers, "rows": map(json.dumps, (*data["rows"], *more))})
    return f'{{\n"digest": "{digest_of(cases)}",\n"earlier": {json.dumps(earlier)},\n{lines}\n}}\n'
