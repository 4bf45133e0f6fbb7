"""Measured files of format 1, which name patterns by what is printed of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minuend.models.patterns import plain
from minuend.runtimes import pattern_answers, schema

FORMAT = 1

_LEFT_OUT = {"unasked": [(str, str)]}


def upgraded(data: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return a file's data as format 2 has it.

    Raises:
        FileFormatError: rows of patterns that this package's list does not have, or of another form.
    """
    found = {**data, "format": 2}
    if isinstance(data.get("rows"), list):
        found["rows"] = [_answered(row) for row in data["rows"]]
    if data.get("graph_cases") != pattern_answers.digest():  # another list: its rows are not read
        found.pop("graphs", None)
    if "graphs" not in found:
        return found
    known = pattern_answers.by_text()
    row = {"expressions": schema.Names(frozenset(known)), **pattern_answers.names_form()}
    row_form = {**row, "answers?": pattern_answers.answers_form()}
    wanted = [lambda one: _LEFT_OUT if isinstance(one, dict) and "unasked" in one else row_form]
    if isinstance(found["graphs"], list):
        found["graphs"] = [_answered(row) for row in found["graphs"]]
    schema.check(found["graphs"], wanted, f"{place}.graphs")
    texts = dict.fromkeys(text for one in found["graphs"] if "unasked" not in one for text in one["expressions"])
    numbers = {text: i for i, text in enumerate(texts)}
    found["patterns"] = [plain(known[text]) for text in texts]
    found["graphs"] = [_row(one, numbers) for one in found["graphs"]]
    return found


def _row(data: Mapping[str, Any], numbers: Mapping[str, int]) -> dict[str, Any]:
    if "unasked" in data:
        return {"unmeasured": data["unasked"]}
    named = {key: value for key, value in data.items() if key != "expressions"}
    return {"patterns": [numbers[text] for text in data["expressions"]], **named}


def _answered(row: Any) -> Any:
    """A row whose answers have witnesses and spans by operand."""
    if not isinstance(row, dict) or not isinstance(row.get("answers"), dict):
        return row
    return {**row, "answers": {name: _answer(one) for name, one in row["answers"].items()}}


def _answer(data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    found = {key: value for key, value in data.items() if key not in _SPANS}
    if any(key in data for key in _SPANS):
        found["spans"] = [data.get(key) for key in _SPANS]
    if isinstance(witness := data.get("witness"), dict) and "a" in witness and "b" in witness:
        others = {key: value for key, value in witness.items() if key not in "ab"}
        found["witness"] = {"operands": [witness["a"], witness["b"]], **others}
    return found


_SPANS = ("a_spans", "b_spans")
