"""Attributes of a model's nodes that some runtimes do not heed: tests run each on all runtimes that are installed."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from minuend.models.unheeded import PEEPHOLES, UNHEEDED
from minuend.onnx.documents.tensors import is_external
from minuend.onnx.graphs.nesting import holders
from minuend.onnx.graphs.scope import MAIN

_PEEPHOLES = 7  # which of an LSTM's inputs these are


def settings(model: ModelProto) -> frozenset[str]:
    """Return the kinds of the nodes whose settings some runtimes do not heed, in bodies and functions too.

    >>> import onnx
    >>> text = "g (float[3,2,4] x, float[1,15,4] w, float[1,15,5] r) => (y) { y = GRU<layout=1>(x, w, r) }"
    >>> settings(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 14]> {text}'))
    frozenset({'GRU with layout 1'})
    """
    return frozenset(
        kind
        for graph in holders(model)
        for node in graph.node
        if node.op_type in UNHEEDED and node.domain in MAIN
        for kind in _kinds(node, graph)
    )


def _kinds(node: NodeProto, graph: GraphProto | FunctionProto) -> Iterator[str]:
    stated = {(one.name, _value(one)) for one in node.attribute}
    for name, value in UNHEEDED[node.op_type] & stated:
        if name != "antialias" or not _enlarges(node, graph):  # only what becomes smaller is smoothed
            yield f"{node.op_type} with {name} {value}"
    if node.op_type == "LSTM" and len(node.input) > _PEEPHOLES and node.input[_PEEPHOLES]:
        yield PEEPHOLES


def _value(attribute: AttributeProto) -> int | str:
    return attribute.i if attribute.type == AttributeProto.INT else attribute.s.decode("utf-8", "replace")


def _enlarges(node: NodeProto, graph: GraphProto | FunctionProto) -> bool:
    """Whether a Resize states scales, none of which is below 1."""
    name = node.input[2] if len(node.input) > 2 else ""
    stored = graph.initializer if isinstance(graph, GraphProto) else ()
    scales = next((one for one in stored if one.name == name), None)
    if not name or scales is None or scales.data_type != TensorProto.FLOAT or is_external(scales):
        return False
    return bool((numpy_helper.to_array(scales) >= 1).all())
