"""Measured files of format 1, which name patterns by what is printed of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minuend.models.patterns import plain
from minuend.runtimes import forms, graph_answers

FORMAT = 1

_LEFT_OUT = {"unasked": [(str, str)]}


def upgraded(data: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return a file's data as format 2 has it.

    Raises:
        FileFormatError: rows of patterns that this package's list does not have, or of another form.
    """
    found = {**data, "format": 2}
    if data.get("graph_cases") != graph_answers.digest():  # another list: its rows are not read
        found.pop("graphs", None)
    if "graphs" not in found:
        return found
    known = graph_answers.by_text()
    row = {"expressions": forms.Names(frozenset(known)), **graph_answers.names_form()}
    row_form = {**row, "answers?": graph_answers.answers_form()}
    wanted = [lambda one: _LEFT_OUT if isinstance(one, dict) and "unasked" in one else row_form]
    forms.check(found["graphs"], wanted, f"{place}.graphs")
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
