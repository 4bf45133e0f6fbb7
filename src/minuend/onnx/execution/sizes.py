"""How large a node's result is, derived from its inputs before it is computed: for operators whose inputs say sizes.

Shapes that follow from shapes are known from inference; here are those that follow from values, and what is made of
them. An operator without a row says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from onnx import NodeProto, TensorProto

from minuend.errors import ResultTooLarge
from minuend.onnx.documents.tensors import Attributes, Inputs, data_type
from minuend.onnx.graphs.scope import MAIN

Rule: TypeAlias = Callable[[Inputs, Attributes], int]


def result_bytes(node: NodeProto, inputs: Inputs, attributes: Attributes) -> int:
    """Return the bytes of a node's first result, or 0 where they are not known beforehand.

    >>> from onnx import helper
    >>> result_bytes(helper.make_node("Tile", ["x", "n"], ["y"]), [np.zeros(3, np.int8), np.array([10**9])], {})
    3000000000
    """
    rule = _ROWS.get(node.op_type) if node.domain in MAIN else None
    if rule is None:
        return 0
    try:
        count = rule(inputs, attributes)
    except (IndexError, KeyError, TypeError, ValueError, ArithmeticError):  # the operator itself says what is wrong
        return 0
    return max(count, 0) * _itemsize(node.op_type, inputs, attributes)


def check(node: NodeProto, inputs: Inputs, attributes: Attributes, limit: int | None, where: str) -> None:
    """Refuse a node whose result takes more than a limit, where that is known beforehand.

    Raises:
        ResultTooLarge: it does.
    """
    nbytes = 0 if limit is None else result_bytes(node, inputs, attributes)
    if limit is not None and nbytes > limit:
        raise too_large(node.output[0], _shown(node, inputs), nbytes, limit, where)


def _shown(node: NodeProto, inputs: Inputs) -> str:
    """Say what a result is: its type and shape where inputs join, else what makes it."""
    if node.op_type in _BROADCAST:
        return f"{inputs[0].dtype} {list(np.broadcast_shapes(*(np.shape(x) for x in inputs)))}"
    return f"the result of {node.op_type}"


def too_large(name: str, type_: str, nbytes: int, limit: int, where: str) -> ResultTooLarge:
    """The error of a result that takes more than a limit."""
    return ResultTooLarge(
        f"{name!r}, {type_}, takes {nbytes} bytes, more than the limit of {limit}; "
        f"allow it with max_bytes={nbytes} or, without a limit, max_bytes=None",
        nbytes=nbytes,
        limit=limit,
        where=where,
    )


def _itemsize(kind: str, inputs: Inputs, attributes: Attributes) -> int:
    if kind == "ConstantOfShape":
        value = attributes.get("value")
        known = data_type(value.data_type) if isinstance(value, TensorProto) else None
        return known.dtype.itemsize if known else np.asarray(4.0 if value is None else value).astype("f4").itemsize
    of = inputs[2] if kind == "OneHot" else inputs[1] if kind == "Where" else inputs[0]
    return int(np.asarray(of).dtype.itemsize) or 1


def _numbers(value: object) -> list[int]:
    return [int(x) for x in np.asarray(value).reshape(-1)]


def _padded(inputs: Inputs, attributes: Attributes) -> int:
    shape = list(inputs[0].shape)
    pads = _numbers(inputs[1] if len(inputs) > 1 else attributes["pads"])
    axes = _numbers(inputs[3]) if len(inputs) > 3 and inputs[3] is not None else list(range(len(shape)))
    for i, axis in enumerate(axes):
        shape[axis] += pads[i] + pads[i + len(axes)]
    return math.prod(max(dim, 0) for dim in shape)


def _resized(inputs: Inputs, attributes: Attributes) -> int:
    shape = [int(dim) for dim in inputs[0].shape]
    axes = attributes.get("axes") or list(range(len(shape)))
    sizes = inputs[3] if len(inputs) > 3 else None
    scales: Any = inputs[2] if len(inputs) > 2 else inputs[1] if len(inputs) > 1 else attributes.get("scales")
    for i, axis in enumerate(axes):
        shape[axis] = int(sizes[i]) if sizes is not None and len(sizes) else int(shape[axis] * float(scales[i]))
    return math.prod(shape)


def _ranged(inputs: Inputs, _: Attributes) -> int:
    start, limit, delta = (np.asarray(x).reshape(-1)[0].item() for x in inputs[:3])
    count: float = (limit - start) / delta
    return math.ceil(count)


def _joined(inputs: Inputs, attributes: Attributes) -> int:
    if attributes.get("broadcast"):  # of opset 6 and below: the result has the first one's shape
        return 0
    return math.prod(np.broadcast_shapes(*(np.shape(x) for x in inputs)))


def _multiplied(inputs: Inputs, _: Attributes) -> int:
    a, b = (tuple(map(int, np.shape(x))) for x in inputs[:2])
    return int(math.prod(np.broadcast_shapes(a[:-2], b[:-2]))) * math.prod(a[-2:-1]) * math.prod(b[1:][-1:])


def _gathered(inputs: Inputs, attributes: Attributes) -> int:
    shape = tuple(map(int, np.shape(inputs[0])))
    axis = int(attributes.get("axis", 0))
    return math.prod(shape[:axis]) * math.prod(shape[axis:][1:]) * int(np.size(inputs[1]))


_BROADCAST = (
    "Add", "Sub", "Mul", "Div", "Pow", "Mod", "And", "Or", "Xor", "Equal", "Greater", "GreaterOrEqual", "Less",
    "LessOrEqual", "Max", "Min", "Sum", "Mean", "Where", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "PRelu",
)  # fmt: skip

_ROWS: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(_BROADCAST, _joined),
        **dict.fromkeys(("BlackmanWindow", "HammingWindow", "HannWindow"), lambda x, _: int(np.asarray(x[0]).item())),
        "Concat": lambda x, _: sum(int(np.size(one)) for one in x),
        "ConstantOfShape": lambda x, _: math.prod(_numbers(x[0])),
        "Expand": lambda x, _: math.prod(np.broadcast_shapes(x[0].shape, tuple(_numbers(x[1])))),
        "Gather": _gathered,
        "MatMul": _multiplied,
        "OneHot": lambda x, _: int(np.size(x[0])) * int(np.asarray(x[1]).reshape(-1)[0]),
        "Pad": _padded,
        "Range": _ranged,
        "Resize": _resized,
        "Split": lambda _, stated: int(stated.get("num_outputs", 0)),
        "Tile": lambda x, _: int(np.size(x[0])) * math.prod(_numbers(x[1])),
        "Upsample": _resized,
    }
)
