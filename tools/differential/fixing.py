"""Whether ``check`` calls ok what ``fix`` wrote, on the same target, and whether it is right there.

    python tools/differential.py --surface cures [--minutes 5] [--seed 1]

Models are drawn from a grid: dialect and opset, element type, which operands are constants, how their shapes relate,
what stands around the subtraction, overflow policy, target. Each is fixed, checked and fixed again; where the target's
runtime is installed the fixed model is run and compared with exact integers and fractions. What was written and is not
ok, or is wrong, is a difference; another node that was touched is one too.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
from onnx import helper

import minuend as mn
from differential.surface import Difference, Surface, running
from minuend.core.elements import TYPES, ElementType
from minuend.core.policies import CONTRACTS, Contract
from minuend.errors import MinuendError
from minuend.models.opening import open_model
from minuend.onnx.documents import tensors
from minuend.openvino.ir.builder import Builder
from minuend.openvino.versions import SPELLINGS
from minuend.operators import SUBTRACT, reference
from minuend.rewriting.fixing import Fixed
from minuend.runtimes import values
from minuend.runtimes.model_runs import query_model
from minuend.runtimes.running import Runtime

Array = np.ndarray[Any, np.dtype[Any]]

IR = "openvino"
DIALECTS: tuple[int | str, ...] = (7, 13, 14, 18, 21, 23, IR)
"""Opsets at which a recipe gets other operators or the subtraction other types, and OpenVINO IR."""

DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "bfloat16", "float32",
          "float64", "uint4", "int4")  # fmt: skip
CONSTANTS = ("none", "A", "B", "both")
SHAPES: Mapping[str, tuple[tuple[int, ...], tuple[int, ...], bool]] = {
    "same": ((6, 16), (6, 16), False),
    "scalar": ((6, 16), (), False),
    "one operand broadcast": ((6, 16), (16,), False),
    "dynamic": ((6, 16), (6, 16), True),
}
"""The shapes of A and B, and whether the model leaves them open."""

AROUND = ("alone", "read twice", "two in a row", "with casts", "with Conv", "in If", "in Loop", "in a function")
TARGETS = ("onnxruntime-cpu", "openvino-cpu", "onnx-reference", "openvino-cpu@2025.4.1", "onnxruntime-cpu@1.23.2",
           "onnxruntime-cpu@1.17.3", "tract", "onnx:13", "onnx:14", "onnx:18")  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One model and what it is fixed for; the fields are members of the tables above."""

    dialect: int | str = 18
    dtype: str = "float32"
    constants: str = "none"
    shapes: str = "same"
    around: str = "alone"
    overflow: str = "wrap"
    target: str = "onnxruntime-cpu"

    def __str__(self) -> str:
        return f"{self.target} {self.dialect} {self.dtype} {self.constants} {self.shapes} {self.around} {self.overflow}"


@dataclass(frozen=True)
class Outcome:
    """What came of a case: ``"nothing"`` to fix, ``"ok"``, ``"refused"``, or ``"failed"``, and why."""

    kind: str
    why: str = ""


# ---- models -----------------------------------------------------------------------------------------------------


def operands(case: Case) -> dict[str, Array]:
    """Return A and B: the edges of the type against each other, and random bits."""
    element = TYPES[case.dtype]
    source = np.random.default_rng(7)
    edges = values.of(SUBTRACT, element, full=False).codes
    first, second, _ = SHAPES[case.shapes]
    found = {}
    for name, shape in (("a", first), ("b", second)):
        bits = source.integers(0, 1 << element.bits, shape, dtype=np.uint64).astype(edges.dtype)
        codes = np.where(source.integers(0, 2, shape).astype(bool), bits, source.choice(edges, shape))
        found[name] = np.ascontiguousarray(codes).astype(edges.dtype).view(element.memory).reshape(shape)
    return found


def model(case: Case) -> Any:
    """Return the model of a case; ``None`` where the grid has none there."""
    if case.dialect == IR:
        return _layers(case) if case.around == "alone" else None
    return _graph(case)


def _layers(case: Case) -> Any:
    builder = Builder("m")
    dtype = SPELLINGS[case.dtype][0]
    refs = []
    for side, (name, array) in zip("AB", operands(case).items(), strict=True):
        if case.constants in (side, "both"):
            refs.append(builder.constant(name, array))
        else:
            refs.append(builder.parameter(name, dtype, (None,) * array.ndim if SHAPES[case.shapes][2] else array.shape))
    builder.result(builder.subtract("c", *refs), "r")
    return builder.model


def _graph(case: Case) -> onnx.ModelProto | None:
    assert isinstance(case.dialect, int)
    element, kind = TYPES[case.dtype], tensors.number(case.dtype)
    if element.bits < 8 or (case.around == "in a function" and case.dialect < 15):
        return None
    given, inputs, stored = operands(case), [], []
    for side, (name, array) in zip("AB", given.items(), strict=True):
        if case.constants in (side, "both"):
            stored.append(helper.make_tensor(name, kind, array.shape, array.tobytes(), raw=True))
        else:
            dims: Any = [f"n{i}" for i in range(array.ndim)] if SHAPES[case.shapes][2] else array.shape
            inputs.append(helper.make_tensor_value_info(name, kind, dims))
    nodes, outputs, functions = _nodes(case, kind)
    if case.around == "with Conv":
        inputs.append(helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, (1, 1, 8, 18)))
        weights = np.full((1, 1, 3, 3), 0.25, np.float32)
        stored.append(helper.make_tensor("w", onnx.TensorProto.FLOAT, weights.shape, weights.tobytes(), raw=True))
    if case.around == "in If":
        inputs.append(helper.make_tensor_value_info("yes", onnx.TensorProto.BOOL, ()))
    if case.around == "in Loop":
        stored += [helper.make_tensor("trips", onnx.TensorProto.INT64, (), [1]),
                   helper.make_tensor("yes", onnx.TensorProto.BOOL, (), [True])]  # fmt: skip
    kinds = {"relu": onnx.TensorProto.FLOAT}
    infos = [helper.make_tensor_value_info(name, kinds.get(name, kind), None) for name in outputs]
    graph = helper.make_graph(nodes, "g", inputs, infos, stored)
    imports = [helper.make_opsetid("", case.dialect)] + [helper.make_opsetid("l", 1)] * bool(functions)
    ir_version = 10 if case.dialect > 20 else 8
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version, functions=functions)


def _nodes(case: Case, kind: int) -> tuple[list[onnx.NodeProto], list[str], list[onnx.FunctionProto]]:
    """The nodes, the outputs and the local functions of a case."""
    make = helper.make_node
    subtract = make("Sub", ["a", "b"], ["c"], name="sub")
    if case.around == "read twice":
        return [subtract, make("Identity", ["c"], ["other"]), make("Shape", ["c"], ["size"])], ["c", "other"], []
    if case.around == "two in a row":
        return [subtract, make("Sub", ["c", "b"], ["e"])], ["c", "e"], []
    if case.around in ("with casts", "with Conv"):
        behind = [make("Cast", ["c"], ["wide"], to=onnx.TensorProto.FLOAT), make("Relu", ["wide"], ["relu"])]
        before = []
        if case.around == "with Conv":
            before = [make("Conv", ["image", "w"], ["conv"])]
            behind += [make("Add", ["conv", "relu"], ["sum"])]
        return [*before, subtract, *behind], ["c", "relu"], []
    if case.around in ("in If", "in Loop"):
        body = make("Sub", ["a", "b"], ["d"], name="sub")
        info = helper.make_tensor_value_info
        same, going = make("Identity", ["going"], ["goes"]), info("goes", onnx.TensorProto.BOOL, ())
        if case.around == "in If":
            one = helper.make_graph([body], "one", [], [info("d", kind, None)])
            two = helper.make_graph([make("Sub", ["b", "a"], ["f"])], "two", [], [info("f", kind, None)])
            return [make("If", ["yes"], ["c"], then_branch=one, else_branch=two)], ["c"], []
        taken = [info("round", onnx.TensorProto.INT64, ()), info("going", onnx.TensorProto.BOOL, ())]
        nodes, given, results = [same, body], ["trips", "yes"], ["all"]
        carried = [info("last", onnx.TensorProto.BOOL, ())] if int(case.dialect) < 11 else []  # Loop-1 carries a value
        if carried:
            nodes.append(make("Identity", ["last"], ["next"]))
            given, results = [*given, "yes"], ["end", *results]
        made = [going, *[info("next", onnx.TensorProto.BOOL, ())] * bool(carried), info("d", kind, None)]
        loop = helper.make_graph(nodes, "body", [*taken, *carried], made)
        return [make("Loop", given, results, body=loop), make("Identity", ["all"], ["c"])], ["c"], []
    if case.around == "in a function":
        opsets = [helper.make_opsetid("", int(case.dialect))]
        inside = make("Sub", ["x", "y"], ["z"])
        return [make("f", ["a", "b"], ["c"], domain="l")], ["c"], [
            helper.make_function("l", "f", ["x", "y"], ["z"], [inside], opsets)
        ]  # fmt: skip
    return [subtract], ["c"], []


# ---- one case -----------------------------------------------------------------------------------------------------


def outcome(case: Case, runtimes: Mapping[str, Runtime | None]) -> Outcome:
    """Fix the model of a case, check it, fix it again, and run it where its runtime is at hand."""
    made = model(case)
    if made is None:
        return Outcome("nothing")
    try:
        fixed = mn.fix(made, case.target, overflow=cast(Contract, case.overflow), run=False)
    except MinuendError as error:  # a model that the target or the opset cannot have
        return Outcome("refused", str(error))
    if fixed.refused:
        return Outcome("refused", fixed.refused[0].reason)
    if isinstance(made, onnx.ModelProto) and (why := touched(made, fixed)):
        return Outcome("failed", why)
    again = mn.fix(fixed.model, case.target, overflow="wrap", run=False)
    if fixed.touched and again.touched:
        return Outcome("failed", f"a second fix changes it again: {again.changes[-1]}")
    if not fixed.touched:  # what is left as it is can be unknown, and the notes say so
        return Outcome("nothing")
    if ":" in case.target:
        return Outcome("ok")
    wrong = [one for one in mn.check(fixed.model, case.target).findings if one.verdict != "ok"]
    if wrong:
        return Outcome("failed", f"check: {wrong[0].verdict}, {wrong[0].reason}")
    runtime = runtimes.get(case.target)
    return Outcome("ok") if runtime is None else ran(case, fixed, runtime)


def touched(before: onnx.ModelProto, fixed: Fixed) -> str:
    """Return which node was changed that is no subtraction; the reasons of the changes name functions put in place."""
    if not fixed.changes:
        return "" if fixed.model == before else "nothing is reported and the model is another one"
    if any("became the nodes of the functions" in change for change in fixed.changes) or any(
        "opset" in change for change in fixed.changes
    ):
        return ""
    now = Counter(_others(fixed.model))
    lost = Counter(_others(before)) - now
    return f"another node was touched: {next(iter(lost))!r}" if lost else ""


def _others(proto: onnx.ModelProto) -> Iterator[bytes]:
    """Every node that is no Sub and holds no body, serialised."""
    waiting = [proto.graph.node, *(function.node for function in proto.functions)]
    while waiting:
        for node in waiting.pop():
            bodies = [attribute.g for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]
            waiting += [body.node for body in bodies]
            if not bodies and node.op_type != "Sub":
                yield node.SerializeToString(deterministic=True)


def ran(case: Case, fixed: Fixed, runtime: Runtime) -> Outcome:
    """Run a fixed model and compare with exact numbers."""
    given = operands(case)
    inputs = {
        name: one for side, (name, one) in zip("AB", given.items(), strict=True) if case.constants not in (side, "both")
    }
    if case.around == "with Conv":
        inputs["image"] = np.ones((1, 1, 8, 18), np.float32)
    if case.around == "in If":
        inputs["yes"] = np.array(True)
    opened = open_model(fixed.model)
    try:
        got, _ = query_model(opened, inputs, list(opened.output_names()), (), runtime)
    except MinuendError as error:
        return Outcome("failed", f"it does not run: {error}")
    element = TYPES[case.dtype]
    want = exact(element, given["a"], given["b"], case.overflow)
    found = next(iter(got.values())).reshape(want.shape)
    if found.dtype != element.memory:  # onnxruntime hands bfloat16 out as float32
        found = found.astype(element.memory)
    bits = f"u{element.itemsize}"
    unlike = values.differ(element, np.ascontiguousarray(found).view(bits), want.view(bits))
    if not unlike.any():
        return Outcome("ok")
    at = tuple(int(i) for i in np.argwhere(unlike)[0])
    return Outcome("failed", f"it computes {found[at]} at {at}, expected {want[at]}")


def exact(element: ElementType, a: Array, b: Array, overflow: str) -> Array:
    """Return A less B by Python's integers, or by the reference's fractions."""
    x, y = np.broadcast_arrays(a, b)
    bits = f"u{element.itemsize}"
    if element.is_integer:
        low, high = element.limits
        span = 1 << element.bits
        each = (int(left) - int(right) for left, right in zip(x.flat, y.flat, strict=True))
        done = [min(max(n, low), high) if overflow == "saturate" else (n - low) % span + low for n in each]
        return np.array(done, object).reshape(x.shape).astype(element.memory)
    pairs = zip(np.ascontiguousarray(x).view(bits).flat, np.ascontiguousarray(y).view(bits).flat, strict=True)
    codes = [reference.apply(SUBTRACT, element, (int(left), int(right))) for left, right in pairs]
    return np.array(codes, bits).reshape(x.shape).view(element.memory)


# ---- all of them --------------------------------------------------------------------------------------------------


def cases(targets: tuple[str, ...] = TARGETS) -> list[Case]:
    """Return the whole grid, but for what a target cannot be given."""
    grid = itertools.product(DIALECTS, DTYPES, CONSTANTS, SHAPES, AROUND, CONTRACTS, targets)
    return [case for case in (Case(*row) for row in grid) if _fits(case)]


def _fits(case: Case) -> bool:
    if case.dialect == IR:
        return case.target.startswith("openvino") and case.around == "alone"
    return TYPES[case.dtype].bits >= 8


@functools.cache
def grid() -> list[Case]:
    """Return the grid for all targets."""
    return cases()


def _compare(case: Case, _: Path) -> str:
    runtimes = {name: running(name) if case.target == name else None for name in INSTALLED}
    found = outcome(case, runtimes)
    if found.kind == "failed":
        raise Difference(found.why)
    return f"{found.kind}: {found.why}" if found.why else found.kind


INSTALLED = ("onnxruntime-cpu", "openvino-cpu")
"""Targets whose runtime runs what was fixed for them."""

SURFACES = (
    Surface(
        "cures", "fix, check, fix again and run, for every recipe", ("onnxruntime", "openvino"),
        lambda source: source.choice(grid()), _compare, Case,
    ),
)  # fmt: skip
