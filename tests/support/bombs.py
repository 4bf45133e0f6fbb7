"""Tiny models that ask for much: shapes of 10^8 dims, sizes of 10^11, calls that multiply, operators that loop.

As a script it takes each through every verb and prints a line of JSON for it: ``bombs.py SECONDS BYTES``.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper

LARGE = (10**11,)


def _model(
    *nodes: tuple[Any, ...], inputs: dict[str, list[Any]] | None = None, opset: int = 18, **stored: Any
) -> ModelProto:
    """A model that subtracts what its last node makes from itself; ``stored`` are its initializers."""
    made = []
    for kind, given, *rest in nodes:
        made.append(helper.make_node(kind, given.split() if isinstance(given, str) else given, ["r"], **dict(*rest)))
    for i, node in enumerate(made[:-1]):
        node.output[0] = f"v{i}"
    made.append(helper.make_node("Cast", ["r"], ["s"], to=TensorProto.INT32))
    made.append(helper.make_node("Sub", ["s", "s"], ["out"], name="subtract"))
    graph = helper.make_graph(
        made,
        "bomb",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT if name == "x" else TensorProto.INT64, dims)
            for name, dims in (inputs or {}).items()
        ],
        [helper.make_tensor_value_info("out", TensorProto.INT32, None)],
        [onnx.numpy_helper.from_array(np.array(value), name) for name, value in stored.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def _calls(depth: int, body: str) -> ModelProto:
    """Functions that each call the next one; ``body`` says how, with ``f`` for it."""
    functions = "".join(
        f'<domain: "d", opset_import: ["" : 14, "d" : 1]> f{i} (x) => (y) {{ {body.replace("f(", f"d.f{i + 1}(")} }}\n'
        for i in range(depth)
    )
    last = f'<domain: "d", opset_import: ["" : 14]> f{depth} (x) => (y) {{ y = Sub(x, x) }}'
    head = '<ir_version: 10, opset_import: ["" : 14, "d" : 1]> g (uint8[2] a) => (uint8[2] c) { c = d.f0(a) }\n'
    return onnx.parser.parse_model(head + functions + last)


def bombs() -> Iterator[tuple[str, ModelProto]]:
    """Yield the models with their names."""
    one = {"value": helper.make_tensor("v", TensorProto.INT64, [1], [1])}
    for n in LARGE:
        ends = {"a": np.int64(0), "b": np.int64(n), "d": np.int64(1)}
        x, p = {"x": ["N"]}, np.array([n], np.int64)
        yield f"ConstantOfShape {n}", _model(("ConstantOfShape", "p"), p=p)
        yield f"ConstantOfShape of ones {n}", _model(("ConstantOfShape", "p", one), ("ConstantOfShape", "v0"), p=p)
        yield f"ConstantOfShape, rank {n}", _model(("ConstantOfShape", "q"), inputs={"q": [n]})
        yield f"Range {n}", _model(("Range", "a b d"), **ends)
        yield f"Range to ConstantOfShape {n}", _model(("Range", "a b d"), ("ConstantOfShape", "v0"), **ends)
        yield f"Range to Pad {n}", _model(("Range", "a b d"), ("Pad", "x v0"), inputs=x, **ends)
        yield (
            f"Range to Gather {n}",
            _model(("Range", "a b d"), ("Gather", "v0 v0"), ("Reshape", "x v1"), inputs=x, **ends),
        )
        yield f"Range to Slice {n}", _model(("Range", "a b d"), ("Slice", "v0 p q"), p=p * 0, q=p, **ends)
        yield f"Range, Expand to Pad {n}", _model(("Range", "a b d"), ("Pad", "v0 q"), q=np.array([0, n]), **ends)
        yield f"Expand {n}", _model(("Expand", "x p"), inputs={"x": [1]}, p=p)
        yield f"Expand of input {n}", _model(("Expand", "x q"), inputs={"x": [1], "q": [n]})
        yield f"Tile {n}", _model(("Tile", "x p"), inputs={"x": [2]}, p=p)
        yield f"Pad {n}", _model(("Pad", "x q"), inputs={"x": [2]}, q=np.array([0, n]))
        yield f"Pad-2 {n}", _model(("Pad", "x", {"pads": [0, n]}), inputs={"x": [2]}, opset=10)
        yield f"OneHot {n}", _model(("OneHot", "a b q"), a=np.arange(3), b=np.int64(n), q=np.arange(2))
        yield f"Resize {n}", _model(("Resize", ["x", "", "", "p"]), inputs={"x": [2]}, p=p)
        yield f"Resize scales {n}", _model(("Resize", ["x", "", "q"]), inputs={"x": [2]}, q=np.float32([n]))
        yield f"RandomUniform {n}", _model(("RandomUniform", [], {"shape": [n]}))
        yield f"EyeLike {n}", _model(("ConstantOfShape", "q"), ("EyeLike", "v0"), q=np.array([n, n]))
        yield f"HannWindow {n}", _model(("HannWindow", "b"), b=np.int64(n))
        yield f"Split {n}", _model(("Split", "x", {"num_outputs": n}), inputs={"x": [4]})
        yield f"Gather {n}", _model(("ConstantOfShape", "p"), ("Gather", "a v0"), p=p, a=np.arange(2))
        yield (
            f"Add {n}",
            _model(
                ("ConstantOfShape", "p"),
                ("ConstantOfShape", "q"),
                ("Add", "v0 v1"),
                p=p // 10,
                q=np.array([n // 10, 1]),
            ),
        )
        yield f"zero {n}", _model(("ConstantOfShape", "q"), q=np.array([0, n, n]))
        yield f"input {n}", _model(("Identity", "x"), inputs={"x": [n, n]})
        yield f"Unsqueeze {n}", _model(("Unsqueeze", "x p"), inputs={"x": [1]}, p=p)
        yield f"Concat axis {n}", _model(("Concat", "x x", {"axis": n}), inputs={"x": [1]})
        yield f"opset {n}", _model(("Identity", "x"), inputs={"x": [1]}, opset=n)
    yield "ConstantOfShape 10^8", _model(("ConstantOfShape", "p"), p=np.array([10**8], np.int64))
    doubled = [("Concat", "x x", {"axis": 0}), *(("Concat", f"v{i} v{i}", {"axis": 0}) for i in range(60))]
    yield "Concat 60 times", _model(*doubled, inputs={"x": [1]})
    for equation in ("....->", "...i...", "...,...->"):
        yield (
            f"Einsum {equation}",
            _model(("Einsum", ["x"] * (equation.count(",") + 1), {"equation": equation}), inputs={"x": [2, 3]}),
        )
    yield "Range without end", _model(("Range", "a b d"), a=np.float32(0), b=np.float32(1e30), d=np.float32(1e-30))
    yield "Range by 0", _model(("Range", "a b d"), a=np.int64(0), b=np.int64(5), d=np.int64(0))
    yield "functions in a row", _calls(600, "y = f(x)")
    for depth in (18, 60, 98):
        yield f"functions twice, {depth}", _calls(depth, "t = f(x)\n y = f(t)")
        yield f"functions beside each other, {depth}", _calls(depth, "t = f(x)\n u = f(x)\n y = Add(t, u)")


def _verbs(model: ModelProto, folder: Path) -> Iterator[tuple[str, Any]]:
    import minuend as mn

    feeds = {
        value.name: np.zeros(
            [min(dim.dim_value, 4) or 2 for dim in value.type.tensor_type.shape.dim],
            helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type),
        )
        for value in model.graph.input
    }
    raw = model.SerializeToString()
    yield "check", lambda: mn.check(raw, ["openvino-cpu", "onnxruntime-cpu"])
    yield "fix", lambda: mn.fix(raw, "onnx:13").save(folder / "fixed.onnx")
    for goal in ("onnx:21", "onnx:9", "openvino", "directml:6.4"):
        yield f"convert {goal}", lambda goal=goal: mn.convert(raw, goal)
    yield "run", lambda: mn.run(raw, feeds, max_bytes=1 << 26)


def main(seconds: int, nbytes: int) -> None:
    """Take every bomb through every verb; what takes too long ends the process."""
    import resource

    import minuend as mn

    resource.setrlimit(resource.RLIMIT_AS, (nbytes, nbytes))
    with tempfile.TemporaryDirectory() as folder:
        for name, model in bombs():
            for verb, work in _verbs(model, Path(folder)):
                print(json.dumps({"bomb": name, "verb": verb}), flush=True)
                signal.alarm(seconds)
                start, said = time.monotonic(), "done"
                try:
                    work()
                except mn.MinuendError as error:
                    said = f"{type(error).__name__}: {error}"
                except Exception:
                    said = f"a traceback: {traceback.format_exc()}"
                signal.alarm(0)
                print(json.dumps({"said": said, "seconds": round(time.monotonic() - start, 3)}), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
