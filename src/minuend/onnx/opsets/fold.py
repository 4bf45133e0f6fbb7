"""What is known of the numbers in a model: the results of its arithmetic on shapes."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto
from onnx.helper import make_opsetid

from minuend.core.shapes import Dim, Shape
from minuend.onnx.opsets.schemas import refers


class Known(Protocol):
    """What arithmetic on shapes needs to know of values; an opset's scope knows it."""

    def constant(self, name: str, depth: int = 50) -> Array | None:
        """The elements of a constant; ``None`` where it is none."""

    def shape(self, name: str) -> Shape:
        """The shape of a tensor; ``None`` for an unknown rank."""

    def rank(self, name: str) -> int | None:
        """The rank of a tensor, if it is known."""

    def maker(self, name: str) -> NodeProto | None:
        """The node that makes a value."""


Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

SMALL = 1024
"""Tensors of more elements are neither computed nor looked into: no rule reads their values."""

FOLDED = frozenset(
    {
        "Add",
        "And",
        "Cast",
        "CastLike",
        "Concat",
        "ConstantOfShape",
        "Div",
        "Equal",
        "Expand",
        "Gather",
        "Greater",
        "GreaterOrEqual",
        "Identity",
        "Less",
        "LessOrEqual",
        "Max",
        "Min",
        "Mod",
        "Mul",
        "Neg",
        "Not",
        "Or",
        "Range",
        "ReduceProd",
        "ReduceSum",
        "Reshape",
        "Shape",
        "Size",
        "Slice",
        "Squeeze",
        "Sub",
        "Transpose",
        "Unsqueeze",
        "Where",
    }
)
"""Operators of the arithmetic on shapes."""


def fold(node: NodeProto, opset: int, scope: Known, depth: int) -> Array | None:
    """Compute a node whose inputs are constant and small; of Shape and Size only the input's type matters."""
    if node.op_type not in FOLDED or refers(node):
        return None
    if node.op_type in ("Shape", "Size"):
        dims = scope.shape(node.input[0])
        if dims is None or not all(isinstance(dim, int) for dim in dims):
            return None
        whole = np.array(dims, np.int64)
        return whole[_part(node)] if node.op_type == "Shape" else np.array(whole.prod(dtype=object), np.int64)
    feeds: dict[str, Array] = {}
    for name in filter(None, node.input):
        value = scope.constant(name, depth)
        if value is None or value.size > SMALL or value.dtype.kind not in "iubf":
            return None
        feeds[name] = value
    if opset < 7 or _large(node, feeds):
        return None
    return _evaluate(node, opset, feeds)


def _part(node: NodeProto) -> slice:
    """What a Shape node keeps of the shape."""
    stated = {a.name: a.i for a in node.attribute}
    return slice(stated.get("start", 0), stated.get("end"))


def _large(node: NodeProto, feeds: dict[str, Array]) -> bool:
    if node.op_type == "Range":
        if not all(feeds[name].size for name in node.input):
            return True
        start, limit, delta = (float(feeds[name].reshape(-1)[0]) for name in node.input)
        return delta == 0 or not (limit - start) / delta <= SMALL
    if node.op_type in ("ConstantOfShape", "Expand"):
        return bool(np.prod(feeds[node.input[-1]], dtype=object) > SMALL)
    return False


def _evaluate(node: NodeProto, opset: int, feeds: dict[str, Array]) -> Array | None:
    from onnx.reference import ReferenceEvaluator  # slow, and few models need it

    inputs, outputs = ([ValueInfoProto(name=name) for name in names] for names in (feeds, node.output[:1]))
    graph = GraphProto(name="fold", node=[node], input=inputs, output=outputs)
    model = ModelProto(ir_version=10, graph=graph, opset_import=[make_opsetid("", opset)])
    try:
        with np.errstate(all="ignore"):
            value: Any = next(iter(ReferenceEvaluator(model).run(None, feeds)))
    except Exception:  # whatever goes wrong in another's evaluator, the value is not known then
        return None
    return value if isinstance(value, np.ndarray) and value.size <= SMALL else None


def elements(name: str, scope: Known, depth: int = 64) -> list[Dim] | None:
    """The elements of an integer tensor that is made of shapes: each a number, the name of a dim, or ``None``.

    ``None`` where not even their number is known.
    """
    value = scope.constant(name)
    if value is not None:
        return [int(x) for x in value.reshape(-1)] if value.dtype.kind in "iu" else None
    node = scope.maker(name)
    if node is None or depth == 0 or refers(node):
        return _unknown(name, scope)
    first = node.input[0] if node.input else ""
    if node.op_type == "Shape":
        dims = scope.shape(first)
        return None if dims is None else list(dims[_part(node)])
    if node.op_type in ("Identity", "Unsqueeze", "Squeeze", "Reshape") or _between_integers(node):
        return elements(first, scope, depth - 1)
    if node.op_type == "Concat" and scope.rank(name) == 1:
        parts = [elements(part, scope, depth - 1) for part in node.input]
        return None if None in parts else [dim for part in parts for dim in part or ()]
    if node.op_type in ("Gather", "Slice") and scope.rank(first) == 1:
        whole = elements(first, scope, depth - 1)
        if whole is not None:
            return _chosen(node, whole, scope) or _unknown(name, scope)
    return _unknown(name, scope)


def _between_integers(node: NodeProto) -> bool:
    """Whether a node is a Cast to a type that holds every size."""
    return node.op_type == "Cast" and any(
        a.name == "to" and a.i in (TensorProto.INT64, TensorProto.INT32) for a in node.attribute
    )


def _chosen(node: NodeProto, whole: list[Dim], scope: Known) -> list[Dim] | None:
    """What a Gather or Slice with constant inputs takes from a list."""
    numbers: list[list[int]] = []
    for other in node.input[1:]:
        value = scope.constant(other)
        if value is None:
            return None
        numbers.append([int(x) for x in value.reshape(-1)])
    if node.op_type == "Gather":
        return [whole[i] if -len(whole) <= i < len(whole) else None for i in numbers[0]]
    if len(numbers) < 2 or len(numbers[0]) != 1 or (len(numbers) > 3 and numbers[3] != [1]):
        return None
    return whole[numbers[0][0] : numbers[1][0]]


def _unknown(name: str, scope: Known) -> list[Dim] | None:
    """As many unknown elements as a small tensor has."""
    dims = scope.shape(name)
    if dims == ():
        return [None]
    if dims is None or len(dims) != 1 or not isinstance(dims[0], int) or dims[0] > SMALL:
        return None
    return [None] * dims[0]
