"""The models of ``cures``: a grid of what is around a subtraction, and what each recipe needs of it."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
from onnx import helper

from minuend.core.elements import TYPES
from minuend.core.policies import CONTRACTS
from minuend.onnx.documents import tensors
from minuend.openvino.ir.builder import Builder
from minuend.openvino.versions import SPELLINGS
from minuend.operators import SUBTRACT
from minuend.runtimes import values

Array = np.ndarray[Any, np.dtype[Any]]

IR = "openvino"
DIALECTS: tuple[int | str, ...] = (6, 7, 13, 14, 18, 21, 23, IR)
"""Opsets at which a recipe gets other operators or the subtraction other types, and OpenVINO IR."""

DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "bfloat16", "float32",
          "float64", "uint4", "int4")  # fmt: skip
CONSTANTS = ("none", "A", "B", "both")
SHAPES: Mapping[str, tuple[tuple[int, ...], tuple[int, ...], bool]] = {
    "same": ((6, 16), (6, 16), False),
    "scalar": ((6, 16), (), False),
    "one operand broadcast": ((6, 16), (16,), False),
    "dynamic": ((6, 16), (6, 16), True),
    "pdpd": ((6, 16), (6,), False),
}
"""The shapes of A and B, and whether the model leaves them open; ``"pdpd"`` is a rule of OpenVINO's layers alone."""

AROUND = ("alone", "read twice", "two in a row", "with casts", "with Conv", "in If", "in Loop", "in a function",
          "behind Add", "from uint8")  # fmt: skip
TARGETS = ("onnxruntime-cpu", "openvino-cpu", "onnx-reference", "openvino-cpu@2025.4.1", "onnxruntime-cpu@1.23.2",
           "onnxruntime-cpu@1.17.3", "tract", "onnx:9", "onnx:13", "onnx:14", "onnx:18")  # fmt: skip


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


# ---- models -----------------------------------------------------------------------------------------------------


def operands(case: Case) -> dict[str, Array]:
    """Return A and B: the edges of the type against each other, and random bits."""
    element = TYPES[case.dtype]
    source = np.random.default_rng(7)
    edges = values.of(SUBTRACT, element, full=False).codes
    first, second, _ = SHAPES[case.shapes]
    found = {}
    for name, shape in (("a", first), ("b", second)):
        if limits := bounded(case):
            found[name] = source.integers(limits[0], limits[1] + 1, shape).astype(element.memory)
            continue
        bits = source.integers(0, 1 << element.bits, shape, dtype=np.uint64).astype(edges.dtype)
        codes = np.where(source.integers(0, 2, shape).astype(bool), bits, source.choice(edges, shape))
        found[name] = np.ascontiguousarray(codes).astype(edges.dtype).view(element.memory).reshape(shape)
    return found


def bounded(case: Case) -> tuple[int, int] | None:
    """Return the lowest and the highest element that A and B can have, where these are not the type's own."""
    return (0, 255) if case.around == "from uint8" else None


def broadcast(case: Case) -> tuple[Array, Array]:
    """Return A and B as arrays of one shape."""
    a, b = operands(case).values()
    a, b = np.broadcast_arrays(a, b[:, None] if case.shapes == "pdpd" else b)
    return a, b


def may_overflow(case: Case) -> bool:
    """Return whether an integer A less B can leave its type: a constant has its elements, an input all of them."""
    element = TYPES[case.dtype]
    if not element.is_integer:
        return False
    a, b = (one.astype(object) for one in broadcast(case))
    whole = np.array(bounded(case) or element.limits, object)
    if case.constants == "both":
        differences = a - b
    else:
        pairs = np.meshgrid(a if case.constants == "A" else whole, b if case.constants == "B" else whole)
        differences = pairs[0] - pairs[1]
    return bool(differences.min() < element.limits[0] or differences.max() > element.limits[1])


def model(case: Case) -> Any:
    """Return the model of a case; ``None`` where the grid has none there."""
    if not fits(case):
        return None
    return _layers(case) if case.dialect == IR else _graph(case)


def _layers(case: Case) -> Any:
    builder = Builder("m")
    dtype = SPELLINGS[case.dtype][0]
    refs = []
    for side, (name, array) in zip("AB", operands(case).items(), strict=True):
        if case.constants in (side, "both"):
            refs.append(builder.constant(name, array))
        else:
            refs.append(builder.parameter(name, dtype, (None,) * array.ndim if SHAPES[case.shapes][2] else array.shape))
    rule = "pdpd" if case.shapes == "pdpd" else "numpy"
    builder.result(builder.subtract("c", *refs, auto_broadcast=rule, axis=0 if rule == "pdpd" else None), "r")
    return builder.model


def _graph(case: Case) -> onnx.ModelProto:
    assert isinstance(case.dialect, int)
    kind = tensors.number(case.dtype)
    given, inputs, stored, casts = operands(case), [], [], []
    for side, (name, array) in zip("AB", given.items(), strict=True):
        if case.constants in (side, "both"):
            stored.append(helper.make_tensor(name, kind, array.shape, array.tobytes(), raw=True))
            continue
        dims: Any = [f"n{i}" for i in range(array.ndim)] if SHAPES[case.shapes][2] else array.shape
        if case.around == "from uint8":
            casts.append(helper.make_node("Cast", [f"{name} as uint8"], [name], to=kind))
            inputs.append(helper.make_tensor_value_info(f"{name} as uint8", onnx.TensorProto.UINT8, dims))
        else:
            inputs.append(helper.make_tensor_value_info(name, kind, dims))
    nodes, outputs, functions = _nodes(case, kind)
    nodes = [*casts, *nodes]
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
    made = helper.make_model(graph, opset_imports=imports, ir_version=ir_version, functions=functions)
    # OpenCV reads no output without a shape.
    return onnx.shape_inference.infer_shapes(made) if case.target.startswith("opencv-dnn") else made


def _nodes(case: Case, kind: int) -> tuple[list[onnx.NodeProto], list[str], list[onnx.FunctionProto]]:
    """The nodes, the outputs and the local functions of a case."""
    make = helper.make_node
    old: dict[str, Any] = (
        {"broadcast": 1} if case.dialect == 6 and case.shapes in ("scalar", "one operand broadcast") else {}
    )
    subtract = make("Sub", ["a", "b"], ["c"], name="sub", **old)
    if case.around == "read twice":
        return [subtract, make("Identity", ["c"], ["other"]), make("Shape", ["c"], ["size"])], ["c", "other"], []
    if case.around == "two in a row":
        return [subtract, make("Sub", ["c", "b"], ["e"], **old)], ["c", "e"], []
    if case.around == "behind Add":
        return [make("Add", ["a", "b"], ["t"], **old), make("Sub", ["t", "b"], ["c"], **old)], ["c"], []
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


# ---- all of them --------------------------------------------------------------------------------------------------


def cases(targets: tuple[str, ...] = TARGETS) -> list[Case]:
    """Return the whole grid, but for what a target cannot be given."""
    grid = itertools.product(DIALECTS, DTYPES, CONSTANTS, SHAPES, AROUND, CONTRACTS, targets)
    return [case for case in (Case(*row) for row in grid) if fits(case)]


def fits(case: Case) -> bool:
    """Return whether the grid has a model there."""
    if case.dialect == IR or case.shapes == "pdpd":
        return case.dialect == IR and case.target.startswith("openvino") and case.around == "alone"
    assert isinstance(case.dialect, int)
    if TYPES[case.dtype].bits < 8 or (case.around == "in a function" and case.dialect < 15):
        return False
    if case.dialect == 6 and case.around in ("with Conv", "in If", "in Loop"):
        return False
    if case.dtype == "bfloat16" and case.around in ("in If", "in Loop") and case.dialect < 16:
        return False  # If-13 and Loop-13 give none out
    if case.around == "behind Add":  # fix leaves an Add that saturates, or is not implemented
        return case.dtype in ("int32", "float16", "float32", "float64")
    return case.around != "from uint8" or (TYPES[case.dtype].is_integer and TYPES[case.dtype].bits >= 32)


@functools.cache
def grid() -> list[Case]:
    """Return the grid for all targets."""
    return cases()


_BYTES, _SMALL = ("uint8", "int8"), ("uint8", "int8", "uint16", "int16")
_ORT, _OLD = ("onnxruntime-cpu", "onnxruntime-cpu@1.23.2", "onnx-reference"), ("onnxruntime-cpu@1.17.3",)
_LATER = (14, 18, 21, 23)
NEEDING: tuple[Mapping[str, tuple[Any, ...]], ...] = (
    {"dtype": ("bfloat16",), "target": _ORT[:2], "dialect": (13, *_LATER)},
    {"dtype": _BYTES, "target": ("openvino-cpu",), "overflow": ("wrap",), "dialect": (*_LATER, IR)},
    {"dtype": _BYTES, "target": ("onnx:13",), "overflow": ("wrap",), "dialect": _LATER},
    {"dtype": ("uint32",), "target": _OLD, "overflow": ("wrap",), "dialect": (13, 14, 18), "around": ("alone",)},
    {"dtype": _SMALL, "target": ("onnx:9",), "around": ("alone",), "dialect": _LATER},
    {"dtype": _SMALL, "target": (*_ORT, "openvino-cpu"), "overflow": ("saturate",), "dialect": _LATER},
    {"dtype": ("int32",), "target": (*_ORT, "openvino-cpu"), "overflow": ("saturate",), "dialect": _LATER},
    {"dtype": ("int64", "uint32", "uint64"), "target": _ORT, "overflow": ("saturate",), "dialect": _LATER},
    {"dtype": ("int4", "uint4"), "target": ("openvino-cpu",), "dialect": (IR,), "around": ("alone",)},
    {"dtype": ("int64",), "target": ("openvino-cpu",), "around": ("from uint8",)},
    {"dtype": ("float32",), "target": ("openvino-cpu",), "around": ("behind Add",), "constants": ("B",),
     "shapes": ("scalar",), "dialect": _LATER},
    {"target": ("openvino-cpu",), "dialect": (IR,), "around": ("alone",), "shapes": ("pdpd",)},
    {"target": ("openvino-cpu",), "dialect": (14, 18, IR), "dtype": ("int32",), "overflow": ("saturate",),
     "constants": ("A",), "shapes": ("same", "scalar", "dynamic")},
    {"dialect": (6,), "dtype": ("int32", "int64", "float32", "float64"), "shapes": ("one operand broadcast",)},
)  # fmt: skip
"""For each recipe, what fields the cases have that need it; the others are drawn from the grid."""


def draw(source: random.Random) -> Case:
    """Return a case: of the whole grid, or of what a recipe is for."""
    case: Case = source.choice(grid())
    needed = source.choice(NEEDING)
    while source.random() < 0.5 or not fits(case):
        case = source.choice(grid())
        case = replace(case, **{name: source.choice(options) for name, options in needed.items()})
    return case
