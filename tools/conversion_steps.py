"""Make src/minuend/onnx/opsets/steps.json: the steps between operator versions that keep an operator's meaning.

A step is in the table when an old node means the same under the new version, its attributes written out where a
default changed, and a new node that says nothing new means the same under the old one. The reason is one of:

- ``schemas``: the two schemas have the same text, attributes, inputs and outputs; only types differ;
- ``converter``: ONNX's own converter leaves a node as it is on the way up (a CompatibleAdapter in convert.h);
- a sentence: read by hand, because the first two do not decide.

``WRONG`` names the steps that the first two would let in, and that change the meaning all the same.

    python tools/conversion_steps.py          # writes the file
    python tools/conversion_steps.py --check  # fails where the file differs, or a step is undecided
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import onnx
from onnx.defs import OpSchema

from minuend.onnx.opsets import schemas
from minuend.onnx.opsets.steps import ADAPTERS

TARGET = Path(__file__).parents[1] / "src/minuend/onnx/opsets/steps.json"

WRONG = {
    ("Hardmax", 11, 13): "the input was flattened to two dims at axis, as Softmax's was",
    ("PRelu", 6, 7): "a slope of rank 1 was one number a channel, and is aligned at the right now",
    ("Resize", 10, 11): "the coordinates had no name and were asymmetric",
    ("Upsample", 9, 10): "version 10 only says that Resize took over",
    ("GroupNormalization", 18, 21): "scale and bias were one number a group, and are one a channel",
    ("BatchNormalization", 6, 7): "is_test=0, the default, meant training",
    ("Dropout", 6, 7): "is_test=0, the default, meant training",
    ("RoiAlign", 10, 16): "the only mode was what is named output_half_pixel now",
}
"""Steps that change the meaning, though the converter or the schemas say nothing of it."""

READ = {
    ("Cast", 6, 9): "strings are new",
    ("Shape", 13, 15): "without start and end it is the whole shape",
    ("LpPool", 11, 18): "ceil_mode=0 and dilations of 1 are what there was",
    ("GRU", 7, 14): "layout=0 is the layout that there was",
    ("LSTM", 7, 14): "layout=0 is the layout that there was",
    ("RNN", 7, 14): "layout=0 is the layout that there was",
}
"""Steps decided by hand."""


def signature(op: OpSchema) -> Any:
    """What a schema says besides its types."""
    attributes = {n: (int(a.type.value), schemas.default(a), a.required) for n, a in op.attributes.items()}
    formal = [[(p.option, p.is_homogeneous) for p in side] for side in (op.inputs, op.outputs)]
    return attributes, formal, " ".join(op.doc.split())


def unchanged_by_converter() -> set[tuple[str, int]]:
    """(operator, newer opset) of each step that ONNX's converter takes without touching the node."""
    header = Path(onnx.__file__).parent / "version_converter/convert.h"
    pattern = r'CompatibleAdapter>\(\s*"(\w+)",\s*OpSetID\((\d+)\),\s*OpSetID\((\d+)\)'
    return {(op, int(b)) for op, a, b in re.findall(pattern, header.read_text()) if int(b) == int(a) + 1}


def table() -> tuple[dict[str, list[list[Any]]], list[str]]:
    """The rows, and the steps that nothing decides."""
    converter = unchanged_by_converter()
    rows: dict[str, list[list[Any]]] = {}
    open_: list[str] = []
    names = sorted({s.name for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""})
    for op_type in names:
        numbers = schemas.versions(op_type)
        for low, high in pairwise(numbers):
            key = (op_type, low, high)
            if key in WRONG or ((op_type, low, high) in ADAPTERS and (op_type, high, low) in ADAPTERS):
                continue
            if key in READ:
                why = READ[key]
            elif signature(schemas.schema(op_type, low)) == signature(schemas.schema(op_type, high)):
                why = "schemas"
            elif (op_type, high) in converter:
                why = "converter"
            else:
                open_.append(f"{op_type} {low} {high}")
                continue
            rows.setdefault(op_type, []).append([low, high, why])
    return rows, open_


def render(rows: dict[str, list[list[Any]]]) -> str:
    """The file's text: one operator a line."""
    lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(steps)}" for name, steps in rows.items())
    return f'{{\n  "onnx": {json.dumps(onnx.__version__)},\n  "same_meaning": {{\n{lines}\n  }}\n}}\n'


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="compare with the file that is there")
    options = parser.parse_args()
    rows, open_ = table()
    print("not decided, so refused:", *open_, sep="\n  ")
    if options.check:
        same = TARGET.read_text("utf-8") == render(rows)
        print("the file is what this makes" if same else f"{TARGET.name} differs; run without --check")
        return 0 if same else 1
    TARGET.write_text(render(rows), "utf-8")
    print(f"{sum(map(len, rows.values()))} steps of {len(rows)} operators")
    return 0


if __name__ == "__main__":
    sys.exit(main())
