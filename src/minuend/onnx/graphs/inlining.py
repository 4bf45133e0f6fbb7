"""The bodies of local functions in the places of their calls, by ONNX's own inliner."""

from __future__ import annotations

from onnx import ModelProto, TensorProto

from minuend.errors import Unsupported
from minuend.onnx.graphs.call_counts import Calls
from minuend.onnx.opsets.scope import without_data
from minuend.onnx.processes import library_process

_MOST_NODES = 10_000
"""Nodes that a model may have afterwards, beyond ten for each node that it has."""


def inlined(model: ModelProto) -> ModelProto:
    """Return a model without local functions.

    Raises:
        Unsupported: functions that call each other so often that it would be too large, or that ONNX does not inline.

    >>> from minuend.onnx.model import read
    >>> text = '''<ir_version: 10, opset_import: ["" : 14, "d" : 1]> g (uint8[2] a) => (uint8[2] c) { c = d.f(a) }
    ...     <domain: "d", opset_import: ["" : 14]> f (x) => (y) { y = Sub(x, x) }'''
    >>> [node.op_type for node in inlined(read(text).proto).graph.node]
    ['Sub']
    """
    local = Calls(model)
    own = len(model.graph.node) + sum(len(function.node) for function in model.functions)
    most = _MOST_NODES + 10 * own
    if local.total() > most:
        raise Unsupported(
            f"the calls of local functions cannot become the nodes of the functions: the model of {own} nodes would "
            f"have {local.total()}, more than {most}"
        )
    lean = without_data(model)  # initializers stay as they are, and can be large
    lean.graph.initializer.extend(
        TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        for tensor in model.graph.initializer
    )
    try:
        found = library_process.inline_functions(lean)
    except (library_process.OnnxRefuses, library_process.Exceeded) as error:
        raise Unsupported(f"the calls of local functions cannot become the nodes of the functions: {error}") from None
    del found.graph.initializer[:]
    found.graph.initializer.extend(model.graph.initializer)
    return found
