"""The types of a drawn model's outputs: by inference, by what is computed, or by the schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, helper

from differential import onnx_worker, valid_nodes
from differential.node_drafts import CONTROL, schema_of
from differential.onnx_worker import ABSENT, Bits, Failed

INVALID = (Failed, RuntimeError, ValueError, TypeError, OverflowError, onnx.checker.ValidationError,
           onnx.shape_inference.InferenceError)  # fmt: skip
"""What is raised over a draft that is no valid node."""
EVALUATED = 7
"""The first opset of which onnxruntime or ONNX's evaluator computes nearly all operators."""
RESHAPING = CONTROL | {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "ReduceMax", "ReduceMin", "ReduceSum"}
"""Operators whose output has another rank than their first input, or may have."""
_RANKS = {"RNN": (4, 3), "GRU": (4, 3), "LSTM": (4, 3, 3)}
"""The ranks of outputs, where they are not that of the first input."""


def typed(model: ModelProto, feeds: dict[str, Any]) -> ModelProto:
    """The model with the types of its outputs: those of inference, else those of what onnxruntime computes.

    Raises:
        Failed: there is an output whose type does not follow.
    """
    data = model.SerializeToString()
    inferred: ModelProto = ModelProto.FromString(onnx_worker.infer_shapes(data))
    if any(size < 0 for one in inferred.graph.output for size in _sizes(one.type)):
        raise Failed("inference gives a size below 0")
    if all(map(_is_known, inferred.graph.output)):
        return inferred
    try:
        came = _computed(data, feeds)
    except Failed:
        if model.opset_import[0].version >= EVALUATED:
            raise
        for value in inferred.graph.output:
            if not _is_known(value):
                value.type.CopyFrom(_by_schema(model, value.name))
        return inferred
    for value, array in zip(inferred.graph.output, came, strict=True):
        if not _is_known(value):
            value.type.CopyFrom(_type_of(array, value.type.tensor_type.elem_type))
    return inferred


def _sizes(type_: TypeProto) -> Iterator[int]:
    """The sizes in a type, those of what is in a sequence or an optional too."""
    yield from (dim.dim_value for dim in type_.tensor_type.shape.dim)
    for kind in ("sequence_type", "optional_type"):
        if type_.HasField(kind):
            yield from _sizes(getattr(type_, kind).elem_type)


def _computed(data: bytes, feeds: dict[str, Any]) -> list[Any]:
    """What onnxruntime computes, or ONNX's evaluator where it lacks a kernel.

    Raises:
        Failed: neither does; or a Loop gives what the evaluator joins along the first axis, and ONNX along a new one.
    """
    try:
        return onnx_worker.run(data, feeds)
    except Failed as error:
        if not any(word in str(error) for word in ABSENT):
            raise
        if any(node.op_type == "Loop" for node in ModelProto.FromString(data).graph.node):
            raise
        return onnx_worker.evaluate(data, feeds)


def _by_schema(model: ModelProto, name: str) -> TypeProto:
    """The type of a node's output that its schema gives: the rank is that of the first input.

    Raises:
        Failed: no node of the main graph or of the function makes it, or its type does not follow.
    """
    known = {value.name: value.type for value in model.graph.input}
    known |= {t.name: helper.make_tensor_type_proto(t.data_type, list(t.dims)) for t in model.graph.initializer}
    nodes = [one for holder in (*model.functions, model.graph) for one in holder.node if not one.domain]
    return _made(name, nodes, known, model.opset_import[0].version)


def _made(name: str, nodes: list[NodeProto], known: dict[str, TypeProto], opset: int) -> TypeProto:
    """The type of what one of some nodes makes of values of known types."""
    node = next((one for one in nodes if name in one.output), None)
    at = -1 if node is None else list(node.output).index(name)
    if node is not None and node.op_type == "Loop":
        return _of_loop(node, at, known, opset)
    if node is None or node.domain or not node.input or node.input[0] not in known or node.op_type in RESHAPING:
        raise Failed("the type of an output does not follow")
    schema = schema_of(node.op_type, opset)
    formal = schema.outputs[min(at, len(schema.outputs) - 1)]
    stated = {a.name: a.s.decode() for a in node.attribute if a.name == "to"}
    number = valid_nodes.NUMBERS.get(stated.get("to", "").lower(), TensorProto.UNDEFINED)
    for row, given in zip(schema.inputs, node.input, strict=False):
        if row.type_str == formal.type_str and given in known and not number:
            number = known[given].tensor_type.elem_type
    if not number:
        raise Failed("the type of an output does not follow")
    own = len(known[node.input[0]].tensor_type.shape.dim)
    return helper.make_tensor_type_proto(number, [None] * (_RANKS[node.op_type][at] if node.op_type in _RANKS else own))


def _of_loop(node: NodeProto, at: int, known: dict[str, TypeProto], opset: int) -> TypeProto:
    """The type of a Loop's output: a state's, or that of each turn's output with one more axis."""
    (body,) = (a.g for a in node.attribute if a.name == "body")
    value, is_state = body.output[1 + at], at < len(node.input) - 2
    inner = known | {one.name: one.type for one in body.input}
    own = value.type if _is_known(value) else _made(value.name, list(body.node), inner, opset)
    if is_state:
        return own
    rank = len(own.tensor_type.shape.dim)
    return helper.make_tensor_type_proto(own.tensor_type.elem_type, [None] * (rank + 1))


def _type_of(value: Any, known: int) -> TypeProto:
    """The type of what came out, of an element type that may be known."""
    if isinstance(value, list) and value:
        return helper.make_sequence_type_proto(_type_of(value[0], known))
    if isinstance(value, dict) and value:
        return valid_nodes.map_type(value)
    if isinstance(value, Bits):
        number = valid_nodes.NUMBERS.get(value.element, TensorProto.UNDEFINED)
        return helper.make_tensor_type_proto(known or number, [None] * len(value.shape))
    if not isinstance(value, np.ndarray):
        raise Failed("the type of an output does not follow")
    number = TensorProto.STRING if value.dtype.kind in "OUT" else helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_type_proto(known or number, [None] * value.ndim)


def _is_known(value: ValueInfoProto) -> bool:
    kind = value.type.WhichOneof("value")
    return kind is not None and (kind != "tensor_type" or value.type.tensor_type.HasField("shape"))
