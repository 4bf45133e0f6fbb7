"""Measured files of formats 1 and 2, in which nodes and patterns were rows of two kinds.

Format 1 named patterns by what is printed of them, and operands ``a`` and ``b``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minuend import schema
from minuend.models.patterns import Op, X, plain
from minuend.plain import grouped
from minuend.runtimes import case_list, file_form
from minuend.runtimes.rows import OF_NODES
from minuend.standards.dialects import parse_version

FORMATS = (1, 2)

_HEAD = ("runtime", "release", "date", "cpu", "python", "isa")


def upgraded(data: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return a file's data as format 3 has it.

    Raises:
        FileFormatError: the file has another form than its format.
    """
    if data["format"] == 1:
        data = _of_format_1(data, place)
    schema.check(data, _form, place)
    file_form.check_patterns(data, place)
    found: dict[str, Any] = {key: data[key] for key in _HEAD if key in data}
    patterns = list(data.get("patterns", ()))
    alone: dict[str, int] = {}
    rows = []
    for row in data["rows"]:
        for operator, versions in grouped((parse_version(one).computes, one) for one in row["opversions"]).items():
            if operator.onnx not in alone:
                alone[operator.onnx] = len(patterns)
                patterns.append(plain(Op(operator.onnx, (X,) * operator.arity, judged=True)))
            rows.append({"patterns": [alone[operator.onnx]], **row, "opversions": versions})
    if "graphs" in data:
        found["cases"] = data.get("graph_cases", "")
        found["patterns_cpu"] = data.get("graphs_cpu", "")
        found["unmeasured"] = [pair for row in data["graphs"] for pair in row.get("unmeasured", ())]
        rows += [row for row in data["graphs"] if "unmeasured" not in row]
    return {**found, "patterns": patterns, "rows": rows}


def _form(data: Any) -> Mapping[str, Any]:
    """The form of format 2."""
    nodes = {name: file_form.names(name) for name in OF_NODES[1:]}
    measured = {name: schema.Names(_measured(part)) for name, part in _OF_PATTERNS.items()}
    row = {"patterns": [file_form.number_in(data.get("patterns"))], **measured, "answers?": file_form.ANSWERS}
    return {
        **file_form.HEAD,
        "rows": [{**nodes, "answers": file_form.ANSWERS}],
        "patterns?": [file_form.any_pattern],
        "graphs?": [lambda one: _UNMEASURED if isinstance(one, dict) and "unmeasured" in one else row],
        "graph_cases?": str,
        "graphs_cpu?": str,
    }


_OF_PATTERNS = {"dtypes": "dtype", "settings": "setting", "forms": "form"}
"""What rows of patterns list, and the part of a key that it is."""

_UNMEASURED = {"unmeasured": [(str, str)]}


def _measured(part: str) -> frozenset[str]:
    return frozenset(getattr(key, part) for key in case_list.measured())


# ---- format 1 ---------------------------------------------------------------------------------------------------


def _of_format_1(data: Mapping[str, Any], place: str) -> dict[str, Any]:
    """A file's data as format 2 has it."""
    found = {**data, "format": 2}
    if isinstance(data.get("rows"), list):
        found["rows"] = [_answered(row) for row in data["rows"]]
    if data.get("graph_cases") != case_list.digest():  # another list: its rows are not read
        found.pop("graphs", None)
    if "graphs" not in found:
        return found
    known = case_list.by_text()
    row = {"expressions": schema.Names(frozenset(known))}
    row |= {name: schema.Names(_measured(part)) for name, part in _OF_PATTERNS.items()}
    row_form = {**row, "answers?": file_form.ANSWERS}
    wanted = [lambda one: _LEFT_OUT if isinstance(one, dict) and "unasked" in one else row_form]
    if isinstance(found["graphs"], list):
        found["graphs"] = [_answered(row) for row in found["graphs"]]
    schema.check(found["graphs"], wanted, f"{place}.graphs")
    texts = dict.fromkeys(text for one in found["graphs"] if "unasked" not in one for text in one["expressions"])
    numbers = {text: i for i, text in enumerate(texts)}
    found["patterns"] = [plain(known[text]) for text in texts]
    found["graphs"] = [_row(one, numbers) for one in found["graphs"]]
    return found


_LEFT_OUT = {"unasked": [(str, str)]}


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
