"""Measured files of formats 1 and 2, in which nodes and patterns were rows of two kinds.

Format 1 named patterns by what is printed of them, and operands ``a`` and ``b``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minuend.models.patterns import Op, X, plain
from minuend.plain import grouped
from minuend.runtimes import case_list, file_form
from minuend.runtimes.rows import OF_NODES
from minuend.schema import Form, Item, check, fields, many, some_of
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
    check(data, _form, place)
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


def _form(item: Item) -> object:
    """The form of format 2."""
    nodes = {name: file_form.names(name) for name in OF_NODES[1:]}
    measured = {name: some_of(_measured(part), least=1) for name, part in _OF_PATTERNS.items()}
    row = fields({"patterns": many(file_form.number_in(item)), **measured, "answers?": file_form.ANSWERS})
    form: dict[str, Form[object]] = {
        **file_form.HEAD,
        "rows": many(fields({**nodes, "answers": file_form.ANSWERS})),
        "patterns?": many(file_form.any_pattern),
        "graphs?": many(file_form.either("unmeasured", fields({"unmeasured": file_form.PAIRS}), row)),
        "graph_cases?": Item.string,
        "graphs_cpu?": Item.string,
    }
    return fields(form)(item)


_OF_PATTERNS = {"dtypes": "dtype", "settings": "setting", "forms": "form"}
"""What rows of patterns list, and the part of a key that it is."""


def _measured(part: str) -> frozenset[str]:
    return frozenset(getattr(key, part) for key in case_list.measured())


# ---- format 1 ---------------------------------------------------------------------------------------------------


def _of_format_1(data: Mapping[str, Any], place: str) -> dict[str, Any]:
    """A file's data as format 2 has it."""
    found = {**data, "format": 2}
    if isinstance(data.get("rows"), list):
        found["rows"] = [_answered(row) for row in data["rows"]]
    if case_list.rows_of_list(str(data.get("graph_cases"))) is None:  # another list: its rows are not read
        found.pop("graphs", None)
    if "graphs" not in found:
        return found
    known = case_list.by_text()
    measured = {name: some_of(_measured(part), least=1) for name, part in _OF_PATTERNS.items()}
    row = fields({"expressions": some_of(known, least=1), **measured, "answers?": file_form.ANSWERS})
    if isinstance(found["graphs"], list):
        found["graphs"] = [_answered(row) for row in found["graphs"]]
    wanted = many(file_form.either("unasked", fields({"unasked": file_form.PAIRS}), row))
    check(found["graphs"], wanted, f"{place}.graphs")
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
