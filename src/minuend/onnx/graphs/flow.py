"""A scope of an ONNX model as a :class:`~minuend.models.flow.Flow`."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import replace

from onnx import GraphProto, NodeProto

from minuend.core.shapes import size, static
from minuend.models.flow import DECIDED, Array, Flow
from minuend.onnx.documents import tensors
from minuend.onnx.graphs.nesting import captured
from minuend.onnx.graphs.scope import MAIN, is_constant, shape_of
from minuend.onnx.graphs.walk import Scope
from minuend.onnx.model import Model

_MOST_ELEMENTS = 1 << 16
"""Elements of a stored value up to which it is read to see whether they are all equal; weights seldom are."""

FUNCTION = "a function"
"""What stands for the operator in whose body nodes of a function lie."""

_RESIZING = ("Resize", "Upsample")
"""Operators that move numbers by default, and compute others in another mode."""

_STEP = re.compile(r"\.node\[(\d+)\]")


def flow_of(model: Model, scope: Scope) -> Flow:
    """Return a scope's nodes; a node with bodies reads what they take from outside."""
    stored = scope.visible_tensors()
    named = {node.output[0] for node in scope.nodes if is_constant(node) and node.output}
    for around in scope.around():
        named |= {one.values.name for one in getattr(around.proto, "sparse_initializer", ())}
    kinds = {name: tensors.element_kind(proto) for name, proto in scope.protos.items()}
    dtypes = {name: kind.name for name, kind in kinds.items() if kind is not None and kind.name is not None}
    known = ((name, shape_of(proto)) for name, proto in scope.protos.items())
    shapes = {name: shape for name, shape in known if shape is not None}
    sizes = {name: size(static(dims)) for name, dims in shapes.items() if all(isinstance(dim, int) for dim in dims)}

    def elements(name: str) -> Array | None:
        tensor = stored.get(name)
        if tensor is None or math.prod(tensor.dims) > _MOST_ELEMENTS:
            return None
        return model.array(tensor, f"{model.name}: {name!r}").reshape(-1)

    def attributes(index: int) -> frozenset[bytes]:
        return frozenset(one.SerializeToString(deterministic=True) for one in scope.nodes[index].attribute)

    return Flow(
        [(operator(node), (*node.input, *captured(node)), tuple(node.output)) for node in scope.nodes],
        named | set(stored),
        dtypes,
        outputs=set(scope.outputs),
        shapes={name: shape for name, shape in shapes.items() if None not in shape},
        sizes={**sizes, **{name: math.prod(tensor.dims) for name, tensor in stored.items()}},
        elements=elements,
        within=tuple(_within(model, scope)),
        attributes=attributes,
        declared={one.name for one in scope.proto.value_info},
    )


def operator(node: NodeProto) -> str:
    """A node's operator; one of another domain with it, a Resize that rounds with its mode, and a Sum of few as what it
    is.
    """
    if node.domain not in MAIN:
        return f"{node.domain}.{node.op_type}"
    if node.op_type == "Sum":
        return {1: "Identity", 2: "Add"}.get(len(node.input), node.op_type)
    mode = next((a.s.decode(errors="replace") for a in node.attribute if a.name == "mode"), "nearest")
    return node.op_type if node.op_type not in _RESIZING or mode == "nearest" else f"{node.op_type} ({mode})"


def _within(model: Model, scope: Scope) -> Iterator[str]:
    """The operators in whose bodies a scope lies, the outermost first.

    An If whose condition no input reaches is distinguished from others: runtimes write the branch that it takes
    into the graph around it, so that nodes in and around it are adjacent.
    """
    chain = list(scope.around())[::-1]
    if not isinstance(chain[0].proto, GraphProto):
        yield FUNCTION
    for around, inner in itertools.pairwise(chain):
        number = _STEP.findall(inner.where[len(around.where) :])
        node = around.nodes[int(number[0])] if number else None
        name = "unknown" if node is None else operator(node)
        yield DECIDED if name == "If" and node is not None and _decided(model, around, node) else name


def _decided(model: Model, scope: Scope, node: NodeProto) -> bool:
    """Whether the condition of an If is a constant, or made of constants and sizes."""
    flow = flow_of(model, scope)
    sizes = {name for operator_, _, outputs in flow.steps if operator_ in ("Shape", "Size") for name in outputs}
    return any(name in replace(flow, constants={*flow.constants, *sizes}).folded for name in node.input[:1])
