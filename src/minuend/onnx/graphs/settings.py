"""Attributes of a model's nodes that some runtimes do not heed: tests run each on all runtimes that are installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from minuend.models.unheeded import FLATTENING, PEEPHOLES, UNHEEDED, by_default, flattened
from minuend.onnx.documents.document import Document
from minuend.onnx.documents.tensors import is_external
from minuend.onnx.graphs.inference import infer_types
from minuend.onnx.graphs.nesting import bodies, holders, within
from minuend.onnx.graphs.scope import MAIN, read_opsets, shape_of
from minuend.onnx.opsets.schemas import version_in

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


# ---- axes ---------------------------------------------------------------------------------------------------------

_ALONG_ONE_AXIS = 13
"""The opset from which on Softmax and its like go along one axis."""


def flattenings(model: Document) -> frozenset[str]:
    """Return the kinds of the nodes that go over several axes, as Softmax does below opset 13; of unknown shapes none.

    >>> from onnx.parser import parse_model
    >>> text = '<ir_version: 7, opset_import: ["" : 12]> g (float[2,3,{}] a) => (c) {{ c = Softmax<axis = 1>(a) }}'
    >>> [sorted(flattenings(Document(parse_model(text.format(n))))) for n in (4, 1)]
    [['Softmax-11 over several axes'], []]
    """
    opset = read_opsets(model.proto.opset_import).get("", 0)
    if opset >= _ALONG_ONE_AXIS or not any(
        node.op_type in FLATTENING for graph in within(model.proto.graph) for node in graph.node
    ):
        return frozenset()
    types = infer_types(model).types
    return frozenset(
        kind
        for graph, where in _places(model.proto.graph, "graph")
        for node in graph.node
        if node.op_type in FLATTENING and node.domain in MAIN and node.input
        for kind in _of_axes(node, opset, shape_of(types[where].get(node.input[0])))
    )


def _places(graph: GraphProto, where: str) -> Iterator[tuple[GraphProto, str]]:
    yield graph, where
    for body, place in bodies(graph.node, where):
        yield from _places(body, place)


def _of_axes(node: NodeProto, opset: int, shape: Sequence[object] | None) -> Iterator[str]:
    axis = next((one.i for one in node.attribute if one.name == "axis"), None)
    first = 1 if axis is None else axis
    version = version_in(node.op_type, opset)
    if version is None or shape is None or all(dim == 1 for dim in shape[first % max(len(shape), 1) + 1 :]):
        return
    yield flattened(node.op_type, version)
    if axis is None:
        yield by_default(node.op_type)
