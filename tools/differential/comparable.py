"""What of a drawn model can be compared: it is valid, draws no numbers, and all of its results are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto

from differential import onnx_worker, valid_nodes
from differential.node_drafts import schema_of
from differential.onnx_worker import Failed
from differential.valid_nodes import Built


def fault(model: ModelProto) -> str:
    """What ONNX's full check finds wrong, or that it crashes."""
    try:
        return onnx_worker.fault(model.SerializeToString())
    except Failed as error:
        return str(error)


def fits(case: Any) -> bool:
    """Whether each window of a pool lies within its input; neither the checker nor onnxruntime looks at that."""
    for op, inputs, attributes, _ in ((case.op, case.inputs, case.attributes, 1), *case.more):
        stated = dict(attributes)
        if op.endswith("Pool") and "kernel_shape" in stated and inputs and not case.test:
            sizes = inputs[0][1][1:-1] if "Nhwc" in op else inputs[0][1][2:]
            dilations = stated.get("dilations", (1,) * len(sizes))
            if any((k - 1) * d >= n for k, d, n in zip(stated["kernel_shape"], dilations, sizes, strict=True)):
                return False
    return not (case.test and case.op.endswith("Pool") and set(case.without) & {"pads", "ceil_mode"})


def excluded(built: Built) -> str:
    """What a version's text excludes and ONNX's check lets pass: a negative axis, matrices that do not fit."""
    given = built.stored | built.feeds
    for node in built.nodes:
        rows = {} if node.domain else schema_of(node.op_type, built.opset).attributes
        for a in node.attribute:
            if a.name in rows and "of non-negative" in rows[a.name].description and min(a.ints, default=0) < 0:
                return f"{node.op_type} takes no negative axis"
        if node.op_type == "Celu" and any(a.name == "alpha" and a.f == 0 for a in node.attribute):
            return "Celu divides by its alpha"
        arrays = [given[name] for name in node.input if isinstance(given.get(name), np.ndarray)]
        axes = min((array.ndim for array in arrays), default=99)
        if node.op_type == "Concat" and not -axes <= next((a.i for a in node.attribute), 1) < axes:
            return "Concat joins along an axis that its inputs do not have"  # before opset 4 the second one by default
        if node.op_type == "Gemm" and not node.domain and all(name in given for name in node.input[:2]):
            stated = {a.name: a.i for a in node.attribute}
            a, b = (given[name].shape for name in node.input[:2])
            if a[0 if stated.get("transA", 0) else 1] != b[1 if stated.get("transB", 0) else 0]:
                return f"Gemm multiplies {a} and {b}"
    return ""


def every_node(model: ModelProto) -> Iterator[NodeProto]:
    """Return all nodes of a model, those of functions and bodies too."""
    yield from _nested([*model.graph.node, *(node for function in model.functions for node in function.node)])


def _nested(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """Return nodes, and those in their bodies."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [inner for a in node.attribute if a.type == AttributeProto.GRAPH for inner in a.g.node]


def is_random(model: ModelProto) -> bool:
    """Whether a node draws numbers: one that does always, or a Dropout that may train and states no seed."""
    return any(
        node.op_type in valid_nodes.RANDOM
        or (node.op_type == "Dropout" and len(node.input) > 2 and all(a.name != "seed" for a in node.attribute))
        or _writes_nothing(node)
        for node in every_node(model)
    )


def _writes_nothing(node: NodeProto) -> bool:
    """Whether onnxruntime leaves the result of a Cast as it lies in memory, or of a call that states what a Cast reads.

    That is so where saturate is neither 0 nor 1 and the type no 8-bit float.
    """
    stated = {a.name.partition("_")[0]: a.i for a in node.attribute if not a.ref_attr_name}
    narrow = TensorProto.DataType.Name(stated.get("to", TensorProto.FLOAT)).startswith("FLOAT8")
    return node.op_type in ("Cast", "CastLike", "f") and stated.get("saturate", 1) not in (0, 1) and not narrow


MOVING = frozenset({"Constant", "Expand", "Flatten", "Gather", "Identity", "Loop", "Reshape", "SequenceAt",
                    "SequenceEmpty", "SequenceInsert", "SequenceLength", "SequenceMap", "Shape", "Squeeze", "Transpose",
                    "Unsqueeze"})  # fmt: skip
"""Operators that round nothing: they pass elements on, count them, or repeat what is in their bodies."""


def rounding(model: ModelProto) -> list[str]:
    """The operators of a model that may round, in any order: where all stay, runtimes may have other kernels."""
    names = (node.op_type for node in every_node(model) if node.op_type not in MOVING)
    return sorted("Cast" if name == "CastLike" else name for name in names)  # one by another spelling


def stashed(model: ModelProto) -> set[str]:
    """The values that come from an operator with a stash_type: its type is that of the computation."""
    own = {one.name for one in onnx.defs.get_all_schemas_with_history() if "stash_type" in one.attributes}
    called = {function.name for function in model.functions if _has(function.node, own)}
    found: set[str] = set()
    for node in model.graph.node:
        if _has([node], own | called) or found & {name for inner in _nested([node]) for name in inner.input}:
            found.update(node.output)
    return found


def _has(nodes: Iterable[NodeProto], op_types: set[str]) -> bool:
    return any(node.op_type in op_types for node in _nested(nodes))
