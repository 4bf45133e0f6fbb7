"""The file of a measured target: JSON, a row a line.

``{"format": 1, "runtime": …, "release": …, "date": …, "cpu": …, "isa": […], "python": …, "rows": […],
"graph_cases": …, "graphs_cpu": …, "graphs": […]}``.
A row lists versions, element types, relations and constants, and the answers that hold for each combination of them;
``isa`` names the instruction sets that the runtime could use, and may be left out. ``graphs`` are in
:mod:`minuend.runtimes.graph_answers`; ``graph_cases`` says against which list of cases they were written: of a file
with another one they do not count, and what stands beside a subtraction is unmeasured. ``minuend measure`` writes such
files.
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
from minuend.runtimes import cases, forms, graph_answers, values
from minuend.runtimes.answers import ANSWER, EVERY, answer_of, plain_answer
from minuend.runtimes.machine import INSTRUCTION_SETS
from minuend.runtimes.quirks import quirks
from minuend.runtimes.target import Row, Target, keys
from minuend.standards.dialects import dialects

FORMAT = 1
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
    if isinstance(data, dict) and data.get("format") != FORMAT:
        raise SpecError("targets", f"the file has format {shown(data.get('format'))}; expected {FORMAT}", where=name)
    forms.check(data, _form(), place)
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


def target_of(data: Mapping[str, Any]) -> Target:
    """Return the target of a file's data that has the form of one: :func:`load` checks it, and nothing here does."""
    plain = {key: data[key] for key in _TOLD}
    hints = bool(quirks(data["runtime"]).hints)
    # A case that a file does not name is fine: of another list that would be said of cases that nobody measured.
    known = "graphs" in data and data.get("graph_cases") == graph_answers.digest()
    graphs = graph_answers.load(data["graphs"], hints, data.get("graphs_cpu", "")) if known else None
    rows = tuple(map(_row, data["rows"]))
    return Target(rows=rows, graphs=graphs, isa=tuple(data.get("isa", ())), **plain)


_TOLD = ("runtime", "release", "date", "cpu", "python")


@functools.cache
def _form() -> Any:
    versions = {f"{home.name}:{row.version}" for home in dialects().values() for row in home.versions}
    known = dict(zip(_NAMES, (versions, TYPES, cases.RELATIONS, cases.CONSTANTS), strict=True))
    answers = forms.Under(frozenset((*values.CLASSES, EVERY)), ANSWER)
    row = {name: forms.Names(frozenset(names)) for name, names in known.items()} | {"answers": answers}
    return {
        **dict.fromkeys(_TOLD, str),
        "rows": [row],
        "graphs?": [graph_answers.form],
        "graph_cases?": str,
        "graphs_cpu?": str,
        "isa?": forms.Names(frozenset(INSTRUCTION_SETS)),
    }


def _row(data: Mapping[str, Any]) -> Row:
    opversions, dtypes, relations, constants = (tuple(data[key]) for key in _NAMES)
    answers = {name: answer_of(answer) for name, answer in data["answers"].items()}
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
        parts.append(f'"graph_cases": {json.dumps(graph_answers.digest())}')
        parts.append(f'"graphs_cpu": {json.dumps(graph_answers.BETWEEN_CPUS.join(target.graphs.cpus))}')
        parts.append(f'"graphs": [\n{_indented(graph_answers.dump(target.graphs))}\n]')
    return "\n".join(("{", *lines, ",\n".join(parts), "}", ""))


def _indented(lines: Iterable[str]) -> str:
    return ",\n".join(f"  {line}" for line in lines)


def _plain_row(row: Row) -> dict[str, Any]:
    names = {key: list(getattr(row, key)) for key in _NAMES}
    return {**names, "answers": {name: plain_answer(answer) for name, answer in row.answers.items()}}
