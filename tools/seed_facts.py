"""Extract from the operator's five source pages the facts that they state, as JSON.

    python tools/seed_facts.py PAGES_FOLDER > tests/data/seed_facts.json

Facts are names, numbers, type lists, attributes with types and defaults, inputs and outputs, levels, ranks and the
operands of examples. Prose stays where it is. ``tests/standards/test_seeds.py`` finds each in its dialect's rows.
"""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Facts = dict[str, Any]

# ---- ONNX: a page in reStructuredText (plain, and with HTML diffs) and its translation ------------------------

HEADINGS = {
    "**Attributes**": "Attributes",
    "**Inputs**": "Inputs",
    "**Outputs**": "Outputs",
    "**Type Constraints**": "Type Constraints",
    "**Differences**": "Differences",
    "屬性": "Attributes",
    "輸入": "Inputs",
    "輸出": "Outputs",
    "類型限制": "Type Constraints",
    "類型約束": "Type Constraints",
}
LABELS = {
    "名稱": "name",
    "網域": "domain",
    "函式": "function",
    "支援層級": "support_level",
    "形狀推斷": "shape inference",
    "(預設值為 '0')": "Default value is 0",
    "輸入和輸出類型限制為": "types to ",
    "所有數值張量": "all numeric tensors",
    "高精度的數值張量": "high-precision numeric tensors",
    "浮點數張量": "float tensors",
}


def onnx(page: str) -> Facts:
    """Read every version's section of a page, and the diffs between them where the page has any."""
    lines = (line.strip() for line in page.replace("•", "*").splitlines())
    text = " ".join(f"§{HEADINGS[line]}" if line in HEADINGS else line for line in lines)
    for old, new in [*((key, f"§{value}") for key, value in HEADINGS.items() if "*" in key), *LABELS.items()]:
        text = text.replace(old, new)
    text = re.sub(r"\*\*|`", "", text)
    text = re.sub(r"\s+", " ", text)
    parts = re.split(r"(?:=== |\s)Sub - (\d+) ", text)[1:]
    versions = {number: _onnx_version(body) for number, body in zip(parts[::2], parts[1::2], strict=True)}
    facts: Facts = {"dialect": "onnx", "versions": versions}
    if changes := _onnx_changes(page, list(versions)):
        facts["changes"] = changes
    return facts


def _onnx_version(body: str) -> Facts:
    page, _, _ = body.partition("§Differences")
    head = {
        key: re.search(rf"\* {key}: (?:SupportType\.)?(\w+)", page)[1]  # type: ignore[index]
        for key in ("name", "domain", "since_version", "function", "support_level", "shape inference")
    }
    constraint = re.search(r"\* (\w+) in \( (.*?) \)", page)
    kind = re.search(r"types to ([\w -]+) tensors", page)
    assert constraint
    assert kind
    yes = {"True": True, "False": False}
    return {
        **{key: int(value) if value.isdigit() else yes.get(value, value) for key, value in head.items()},
        "attributes": [_onnx_attribute(item) for item in _items(page, "Attributes", "Inputs")],
        "inputs": [_onnx_param(item) for item in _items(page, "Inputs", "Outputs")],
        "outputs": [_onnx_param(item) for item in _items(page, "Outputs", "Type Constraints")],
        "type constraint": constraint[1],
        "types": re.findall(r"tensor\(\w+\)", constraint[2]),
        "constrained to": kind[1],
        "shapes joined": [_shapes_joined(chunk) for chunk in page.split("shape(A) = ")[1:]],
        "examples": [
            {"name": name, "x": _operand(x), "y": _operand(y), "z": _numbers(z)}
            for x, y, z, name in re.findall(
                r"x = (np\S.*?) y = (np\S.*?) z = x - y(?: # expected output \[(.*?)\])? expect\(.*?name=\"(\w+)\"",
                page,
            )
        ],
    }


def _items(page: str, start: str, end: str) -> list[str]:
    _, found, rest = page.partition(f"§{start} ")
    return rest.partition(f"§{end}")[0].split("* ")[1:] if found else []


def _onnx_attribute(item: str) -> Facts:
    name, type_ = re.match(r"(\w+)(?: - (INTS?))?", item).groups()  # type: ignore[union-attr]
    default = re.search(r"Default value is (\d+)", item)
    facts: Facts = {"name": name}
    if type_:
        facts["type"] = type_
    if default:
        facts["default"] = int(default[1])
    return facts


def _onnx_param(item: str) -> Facts:
    name, type_ = re.match(r"(\w+) \(\S+\) - (\w+)", item).groups()  # type: ignore[union-attr]
    return {"name": name, "type": type_}


def _shapes_joined(chunk: str) -> Facts:
    a, b = re.match(r"\(([\d, ]*)\), shape\(B\) = \(([\d, ]*)\)", chunk).groups()  # type: ignore[union-attr]
    axis = re.search(r"axis=(\d)", chunk)
    return {"a": _integers(a), "b": _integers(b), "axis": int(axis[1]) if axis else None}


def _operand(source: str) -> Facts:
    dtype = re.search(r"np\.(float\d+|u?int\d+)", source)
    assert dtype
    facts: Facts = {"dtype": dtype[1]}
    if values := re.search(r"np\.array\(\[(.*?)\]\)", source):
        return {**facts, "values": _numbers(values[1])}
    if normal := re.search(r"randn\((.*?)\)", source):
        return {**facts, "shape": _integers(normal[1])}
    limits, size = re.search(r"randint\(([\d, ]+), size=\((.*?)\)", source).groups()  # type: ignore[union-attr]
    return {**facts, "shape": _integers(size), "limits": _integers(limits)}


def _integers(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text)]


def _numbers(text: str) -> list[float]:
    return [float(part) for part in re.findall(r"-?[\d.]+", text)]


def _onnx_changes(page: str, versions: list[str]) -> list[Facts]:
    """What the HTML tables mark as added and removed: types and attributes."""
    tables = re.findall(r'<table class="diff".*?</table>', page, re.DOTALL)
    return [
        {
            "old": old,
            "new": new,
            "types added": _marked(table, "diff_add", r"tensor\(\w+\)"),
            "types removed": _marked(table, "diff_sub", r"tensor\(\w+\)"),
            "attributes added": _marked(table, "diff_add", r"^\* \*\*(\w+)\*\*:$"),
            "attributes removed": _marked(table, "diff_sub", r"^\* \*\*(\w+)\*\*:$"),
        }
        for table, new, old in zip(tables, versions, versions[1:], strict=False)
    ]


def _marked(table: str, css: str, pattern: str) -> list[str]:
    spans = (
        html.unescape(span).replace("\xa0", " ") for span in re.findall(rf'<span class="{css}">(.*?)</span>', table)
    )
    return [name for span in spans for name in re.findall(pattern, span)]


# ---- OpenVINO -------------------------------------------------------------------------------------------------


def openvino(page: str) -> Facts:
    """Read the operator's page."""
    text = re.sub(r"[•“”]", "", page)

    def one(pattern: str) -> str:
        found = re.search(pattern, text)
        assert found, pattern
        return found[1].strip()

    ports = {part: re.findall(r"^ *(\d): .*?tensor of type (\w+)", body, re.MULTILINE) for part, body in _parts(text)}
    return {
        "dialect": "openvino",
        "name": one(r"(\w+)#"),
        "versioned name": one(r"Versioned name: (.*)"),
        "category": one(r"Category: (.*)"),
        "formula": re.sub(r"[\\\[\]{}]", "", one(r"\\\[(.*?)\\\]")),
        "attributes": [
            {
                "name": one(r"Attributes:\s+(\w+)"),
                "type": one(r"Type: (\w+)"),
                "default": one(r"Default value: (\w+)"),
                "required": {"yes": True, "no": False}[one(r"Required: (\w+)")],
            }
        ],
        "inputs": [{"name": name, "type": type_} for name, type_ in ports["Inputs"]],
        "outputs": [{"name": name, "type": type_} for name, type_ in ports["Outputs"]],
        "type constraint": one(r"Types\s+(\w+): "),
        "constrained to": one(r"Types\s+\w+: (.*?)\."),
        "examples": [_layer(layer) for layer in re.findall(r"<layer.*?</layer>", text, re.DOTALL)],
    }


def _parts(text: str) -> list[tuple[str, str]]:
    split = re.split(r"^(Inputs|Outputs|Types)$", text, flags=re.MULTILINE)
    return list(zip(split[1::2], split[2::2], strict=True))


def _layer(layer: str) -> Facts:
    rule = re.search(r'auto_broadcast="(\w+)"', layer)
    ports = [
        _integers(re.sub(r"</?\w+>", " ", port)) for port in re.findall(r'<port id="\d">(.*?)</port>', layer, re.DOTALL)
    ]
    assert rule
    return {"type": re.search(r'type="(\w+)"', layer)[1], "auto_broadcast": rule[1], "shapes": ports}  # type: ignore[index]


# ---- DirectML -------------------------------------------------------------------------------------------------


def directml(page: str) -> Facts:
    """Read the structure's page."""

    def one(pattern: str) -> str:
        found = re.search(pattern, page)
        assert found, pattern
        return found[1].strip()

    levels = re.split(r"^DML_FEATURE_LEVEL_(\w+) and above$", page, flags=re.MULTILINE)[1:]
    return {
        "dialect": "directml",
        "name": one(r"^(\w+) structure"),
        "formula": one(r"\n(f\(a, b\) = .*)"),
        "members": [
            {"name": name, "type": f"const {type_}*"}
            for type_, name in re.findall(r"^  const (\w+) \*(\w+);", page, re.MULTILINE)
        ],
        "may alias": bool(re.search(r"OutputTensor is permitted to alias one of the input tensors", page)),
        "introduced in": one(r"introduced in (\w+)"),
        "same in all tensors": re.findall(r"\w+", one(r"must have the same (.*?)\.").replace("and ", "")),
        "levels": {
            level.replace("_", "."): {
                name: {
                    "kind": kind,
                    "ranks": [int(low), int(high or low)],
                    "types": types.split(", "),
                }
                for name, kind, low, high, types in re.findall(
                    r"^(\w+) (Input|Output) (\d+)(?: to (\d+))? (.*)$", body, re.MULTILINE
                )
            }
            for level, body in zip(levels[::2], levels[1::2], strict=True)
        },
        "header": one(r"Header (\S+)"),
    }


READERS: dict[str, Callable[[str], Facts]] = {
    "000": onnx,
    "001": onnx,
    "002": onnx,
    "003": openvino,
    "004": directml,
}
"""The page's number, with which its file name begins, and what reads it."""


def extract(folder: Path) -> dict[str, Facts]:
    """Read every page in a folder."""
    pages = {path.name[:3]: path for path in sorted(folder.glob("[0-9][0-9][0-9]_*.txt"))}
    if missing := READERS.keys() - pages.keys():
        raise SystemExit(f"seed_facts: {folder} has no page {min(missing)}; expected {', '.join(READERS)}")
    return {number: reader(pages[number].read_text(encoding="utf-8")) for number, reader in READERS.items()}


def main(arguments: list[str]) -> None:
    if len(arguments) != 1 and arguments[1:] != ["--check"]:
        raise SystemExit("usage: python tools/seed_facts.py PAGES_FOLDER [--check] > tests/data/seed_facts.json")
    found = extract(Path(arguments[0]))
    if arguments[1:]:
        stored = json.loads((Path(__file__).parents[1] / "tests/data/seed_facts.json").read_text(encoding="utf-8"))
        raise SystemExit(0 if found == stored else "the pages say something else than tests/data/seed_facts.json")
    json.dump(found, sys.stdout, indent=1, ensure_ascii=False)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main(sys.argv[1:])
