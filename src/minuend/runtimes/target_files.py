"""The file of a measured target: JSON, a row a line.

``{"format": 3, "runtime": …, "release": …, "date": …, "cpu": …, "isa": […], "python": …, "cases": …,
"patterns_cpu": …, "unmeasured": […], "patterns": […], "rows": […]}``.

A row (:mod:`minuend.runtimes.rows`) lists what it holds for, and the answers; one without answers says what does
not run or was not measured. ``isa`` names the instruction sets that the runtime could use, and may be left out. Rows of
nodes by themselves name every case. Rows of other patterns name those that deviate, do not run or were not measured:
every other one in this package's list of cases is fine, except pairs of element type and setting in ``unmeasured``.
``cases`` says against which list a file was written, this package's or an earlier one; of a file with another list,
patterns are unmeasured. ``minuend measure`` writes such files; those of formats 1 and 2 are read too
(:mod:`minuend.runtimes.older_formats`).
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from minuend.errors import FileFormatError, SpecError, shown
from minuend.models.constants import word_of
from minuend.models.patterns import Pattern, pattern_of, plain
from minuend.runtimes import case_list, file_form, older_formats
from minuend.runtimes.answers import plain_answer
from minuend.runtimes.cells import Cells
from minuend.runtimes.quirks import quirks
from minuend.runtimes.rows import Rows, keys, lines_of, rows_of
from minuend.runtimes.table import Answers, Key, Table
from minuend.runtimes.target import Target

FORMAT = 3
"""The version of the files' format."""

LARGEST = 4 << 20
"""Bytes of a file: the longest that there is has a tenth of them."""

BETWEEN_CPUS = "; "
"""What stands between the processors of a file."""

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
    if isinstance(data, dict) and data.get("format") in older_formats.FORMATS:
        data = older_formats.upgraded(data, place)
    elif isinstance(data, dict) and data.get("format") != FORMAT:
        raise SpecError("targets", f"the file has format {shown(data.get('format'))}; expected {FORMAT}", where=name)
    file_form.check_data(data, place)
    for key in ("runtime", "release"):
        if not _PLAIN_NAME.fullmatch(data[key]):
            wanted = "a name of letters, digits, '.', '_', '+' and '-'"
            raise FileFormatError(f"{place}.{key} is {shown(data[key])}; expected {wanted}")
    patterns = tuple(map(pattern_of, data["patterns"]))
    _check_once(data, patterns, place)
    return target_of({**data, "patterns": list(map(plain, patterns))})


def _check_once(data: Mapping[str, Any], patterns: Sequence[Pattern], place: str) -> None:
    seen = set()
    for key in (key for row in data["rows"] for key in keys(row, [patterns[i] for i in row["patterns"]])):
        if key in seen:  # at the first one: rows of all names could go on for hours
            node = (key.opversion, key.dtype, key.relation, word_of(key.constants))
            row_text = ", ".join(node if key.opversion else filter(None, case_list.printed(key)))
            raise FileFormatError(f"{place} answers for {row_text} twice; expected one row for each")
        seen.add(key)


def target_of(data: Mapping[str, Any], listed: Rows | None = None) -> Target:
    """Return the target of a file's data that has the form of one: :func:`load` checks it, and nothing here does.

    Args:
        data: the file's. listed: the list of cases that it was written against; by default that of this package.
    """
    plain = {key: data[key] for key in file_form.WHAT}
    # A case that a file does not name is fine: of another list that would be said of cases that were not measured.
    if listed is None and "cases" in data:
        listed = case_list.rows_of_list(data["cases"])
    cpus = data.get("patterns_cpu", "") if listed is not None else ""
    cells = Cells(data, listed, defaults=bool(quirks(data["runtime"]).hints))
    table = Table(cells, tuple(filter(None, cpus.split(BETWEEN_CPUS))))
    return Target(table=table, isa=tuple(data.get("isa", ())), **plain)


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


# ---- writing ----------------------------------------------------------------------------------------------------


def dump(target: Target) -> str:
    """Write a measured target as a file's text, a row a line."""
    table = target.table
    head: dict[str, Any] = {"format": FORMAT, **{key: getattr(target, key) for key in file_form.WHAT}}
    if target.isa:
        head["isa"] = list(target.isa)
    cells: dict[Key, Answers | None] = dict(table.nodes)
    if table.has_patterns:
        measured = {(key.dtype, key.setting) for key in table.patterns}
        digest, cases = case_list.earliest(table.patterns)
        every = sorted(cases if table.has_default else case_list.without_defaults(cases), key=case_list.printed)
        found = {key: table.cells.get(key) for key in every if (key.dtype, key.setting) in measured}
        cells |= {key: answers for key, answers in found.items() if answers != {}}
        head |= {"cases": digest, "patterns_cpu": BETWEEN_CPUS.join(table.cpus)}
        if left_out := sorted({(key.dtype, key.setting) for key in every} - measured):
            head["unmeasured"] = left_out
    patterns, rows = rows_of(cells)
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}," for key, value in head.items()]
    texts = itertools.starmap(_row, rows)
    return "\n".join(("{", *lines, lines_of({"patterns": patterns, "rows": texts}), "}", ""))


def _row(row: Mapping[str, Any], answers: Answers | None) -> str:
    plain = {} if answers is None else {"answers": {name: plain_answer(one) for name, one in answers.items()}}
    return json.dumps({**row, **plain}, ensure_ascii=False, allow_nan=False)
