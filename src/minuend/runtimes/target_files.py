"""The file of a measured target: JSON, a row a line.

``{"format": 2, "runtime": …, "release": …, "date": …, "cpu": …, "isa": […], "python": …, "rows": […],
"graph_cases": …, "graphs_cpu": …, "patterns": […], "graphs": […]}``.
A row lists versions, element types, relations and constants, and the answers that hold for each combination of them;
``isa`` names the instruction sets that the runtime could use, and may be left out. ``graphs`` are rows of
:mod:`minuend.runtimes.pattern_answers`, which name ``patterns`` by their numbers; ``graph_cases`` says against which
list of cases they were written: of a file with another one they do not count, and patterns are unmeasured. ``minuend
measure`` writes such files; those of format 1 are read too (:mod:`minuend.runtimes.format_1`).
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from minuend.core.elements import TYPES
from minuend.errors import FileFormatError, SpecError, shown
from minuend.models.patterns import pattern_of
from minuend.operators import SUBTRACT
from minuend.runtimes import cases, format_1, pattern_answers, schema
from minuend.runtimes.answers import answer_of, plain_answer
from minuend.runtimes.processor import INSTRUCTION_SETS
from minuend.runtimes.quirks import quirks
from minuend.runtimes.target import Row, Target, keys, version_of
from minuend.standards.dialects import dialects

FORMAT = 2
"""The version of the files' format."""

LARGEST = 4 << 20
"""Bytes of a file: the longest that there is has a tenth of them."""

_NAMES = ("opversions", "dtypes", "relations", "constants")
"""What a row lists the names of."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
"""What a runtime and a release are called: files are named by them, and so are targets, with ``@`` between."""


def load(text: str, name: str = "") -> Target:
    """Read a target file's text.

    Raises:
        SpecError: a format that this release does not know. FileFormatError: no such file's text.
    """
    place = name or "the target"
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{place} is no JSON: {error}; expected a file of minuend measure") from None
    if isinstance(data, dict) and data.get("format") == format_1.FORMAT:
        data = format_1.upgraded(data, place)
    if isinstance(data, dict) and data.get("format") != FORMAT:
        raise SpecError("targets", f"the file has format {shown(data.get('format'))}; expected {FORMAT}", where=name)
    schema.check(data, _form, place)
    _check_patterns(data, place)
    for key in ("runtime", "release"):
        if not _PLAIN_NAME.fullmatch(data[key]):
            wanted = "a name of letters, digits, '.', '_', '+' and '-'"
            raise FileFormatError(f"{place}.{key} is {shown(data[key])}; expected {wanted}")
    found = target_of(data)
    seen = set()
    for case in (case for row in found.rows for case in keys(row)):
        if case in seen:  # at the first one: rows of all names could go on for hours
            raise FileFormatError(f"{place} answers for {', '.join(case)} twice; expected one row for each")
        seen.add(case)
    return found


def _check_patterns(data: Mapping[str, Any], place: str) -> None:
    for i, one in enumerate(data.get("patterns", ())):
        try:
            pattern_of(one)
        except (KeyError, TypeError, ValueError, RecursionError):
            wanted = "a pattern as minuend measure writes it"
            raise FileFormatError(f"{place}.patterns[{i}] is {shown(one)}; expected {wanted}") from None


def target_of(data: Mapping[str, Any]) -> Target:
    """Return the target of a file's data that has the form of one: :func:`load` checks it, and nothing here does."""
    plain = {key: data[key] for key in _TOLD}
    hints = bool(quirks(data["runtime"]).hints)
    # A case that a file does not name is fine: of another list that would be said of cases that nobody measured.
    known = "graphs" in data and data.get("graph_cases") == pattern_answers.digest()
    graphs = pattern_answers.load(data, hints) if known else None
    rows = tuple(map(_row, data["rows"]))
    return Target(rows=rows, graphs=graphs, isa=tuple(data.get("isa", ())), **plain)


_TOLD = ("runtime", "release", "date", "cpu", "python")


def _form(data: Any) -> Any:
    """The form of a file."""
    if not isinstance(data, dict):
        return {"format": int}
    return {
        **dict.fromkeys(_TOLD, str),
        "rows": [_row_form()],
        **pattern_answers.form(data),
        "isa?": schema.Names(frozenset(INSTRUCTION_SETS)),
    }


@functools.cache
def _row_form() -> Mapping[str, Any]:
    versions = {row.key for home in dialects().values() for row in home.rows}
    known = dict(zip(_NAMES, (versions, TYPES, cases.RELATIONS, cases.CONSTANTS), strict=True))
    names = {name: schema.Names(frozenset(each)) for name, each in known.items()}
    return {**names, "answers": pattern_answers.answers_form()}


def _row(data: Mapping[str, Any]) -> Row:
    opversions, dtypes, relations, constants = (tuple(data[key]) for key in _NAMES)
    operator = version_of(opversions[0]).computes if opversions else SUBTRACT
    answers = {name: answer_of(answer, operator) for name, answer in data["answers"].items()}
    return Row(opversions, dtypes, relations, constants, answers)


def is_file(name: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether a target is named by a measured file's path rather than by its own name.

    >>> is_file("openvino-cpu@2026.4"), is_file("openvino-cpu@2026.5.0.json"), is_file("./mine")
    (False, True, True)
    """
    if isinstance(name, str):
        return name.endswith(".json") or "/" in name or os.sep in name
    return isinstance(name, os.PathLike)


def read(path: str | os.PathLike[str]) -> Target:
    """Read a measured file from anywhere, with all checks.

    Raises:
        FileNotFoundError, SpecError, FileFormatError: it is missing, of another format, or none.
    """
    place = os.fspath(path)
    with open(place, "rb") as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise FileFormatError(f"{place} has more than {LARGEST} bytes; expected a file of minuend measure")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{place} is no UTF-8: {error.reason}; expected a file of minuend measure") from None
    return load(text, place)


def dump(target: Target) -> str:
    """Write a measured target as a file's text, a row a line."""
    head: dict[str, Any] = {"format": FORMAT, **{key: getattr(target, key) for key in _TOLD}}
    if target.isa:
        head["isa"] = list(target.isa)
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}," for key, value in head.items()]
    rows = [json.dumps(_plain_row(row), ensure_ascii=False, allow_nan=False) for row in target.rows]
    parts = [f'"rows": [\n{_indented(rows)}\n]']
    if target.graphs is not None:
        parts.append(f'"graph_cases": {json.dumps(pattern_answers.digest())}')
        parts.append(f'"graphs_cpu": {json.dumps(pattern_answers.BETWEEN_CPUS.join(target.graphs.cpus))}')
        for key, lines_of in zip(("patterns", "graphs"), pattern_answers.dump(target.graphs), strict=True):
            parts.append(f'"{key}": [\n{_indented(lines_of)}\n]')
    return "\n".join(("{", *lines, ",\n".join(parts), "}", ""))


def _indented(lines: Iterable[str]) -> str:
    return ",\n".join(f"  {line}" for line in lines)


def _plain_row(row: Row) -> dict[str, Any]:
    names = {key: list(getattr(row, key)) for key in _NAMES}
    return {**names, "answers": {name: plain_answer(answer) for name, answer in row.answers.items()}}
