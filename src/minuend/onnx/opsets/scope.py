"""What is known about the values that a list of nodes sees: types, shapes, constants, and names still free."""

from __future__ import annotations

import copy
from collections import ChainMap
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from minuend.core.shapes import Shape
from minuend.names import Names
from minuend.onnx.graphs import scope as scopes
from minuend.onnx.graphs.call_counts import Calls
from minuend.onnx.graphs.nesting import all_inputs, graphs, holders, within
from minuend.onnx.graphs.scope import MAIN, domain_of, shape_of
from minuend.onnx.opsets import schemas
from minuend.onnx.opsets.fold import SMALL, Array, fold
from minuend.onnx.opsets.schemas import malformed, refers
from minuend.onnx.processes import library_process


@dataclass(eq=False)
class Scope(scopes.Scope):
    """A scope whose nodes are converted one after the other, and what is known of its values so far.

    Attributes:
        types: types of its own values by name. constants: its own constants: a tensor, or a Constant node.
        makers: the nodes that made its own values so far, each with its opset. folded: values computed from them.
        names: shared by the whole model.
        functions: the model's local functions, as (domain, name). unread: values of the model that no node reads.
        enlarging: the scales that are never below 1.
        attributes: those of a function, with the values that its callers give; ``None`` stands for a call without.
    """

    names: Names = field(kw_only=True)
    functions: frozenset[tuple[str, str]] = frozenset()
    unread: frozenset[str] = frozenset()
    types: dict[str, TypeProto] = field(default_factory=dict, init=False)
    constants: dict[str, TensorProto | NodeProto] = field(default_factory=dict, init=False)
    makers: dict[str, tuple[NodeProto, int]] = field(default_factory=dict, init=False)
    folded: dict[str, Array | None] = field(default_factory=dict, init=False)
    enlarging: set[str] = field(default_factory=set, init=False)
    attributes: dict[str, list[AttributeProto | None]] = field(default_factory=dict, init=False)

    def type(self, name: str) -> TypeProto | None:
        """The type of a value, if it is known."""
        for scope in self.around():  # a plain loop: this is queried most often
            if name in scope.types:
                return scope.types[name]
        return None

    def element(self, name: str) -> int:
        """The element type of a tensor, as ``TensorProto.DataType``; 0 where it is unknown."""
        found = self.type(name)
        return found.tensor_type.elem_type if found is not None and found.HasField("tensor_type") else 0

    def shape(self, name: str) -> Shape:
        """The shape of a tensor: dims are an int, a name or ``None``; ``None`` for an unknown rank."""
        return shape_of(self.type(name))

    def rank(self, name: str) -> int | None:
        """The rank of a tensor, if it is known."""
        shape = self.shape(name)
        return None if shape is None else len(shape)

    def constant(self, name: str, depth: int = 50) -> Array | None:
        """The elements of a constant; ``None`` for what is computed, given from outside or stored in another file.

        What is computed from constants and known shapes alone, such as the axes of a function body, is constant,
        if no more than ``depth`` nodes in a row compute it.
        """
        source = self.source(name)
        if source is not None:
            try:
                return _constant_node(source) if isinstance(source, NodeProto) else _elements(source)
            except (ValueError, TypeError, KeyError):  # a malformed tensor: the checker says what is wrong with it
                return None
        scope = next((scope for scope in self.around() if name in scope.makers), None)
        if scope is None:
            return None
        if name not in scope.folded:
            scope.folded[name] = None  # a circle ends here
            scope.folded[name] = fold(*scope.makers[name], scope, depth - 1) if depth else None
        return scope.folded[name]

    def maker(self, name: str) -> NodeProto | None:
        """The node that makes a value, if it came by already."""
        return next((scope.makers[name][0] for scope in self.around() if name in scope.makers), None)

    def source(self, name: str) -> TensorProto | NodeProto | None:
        """The tensor or Constant node that a name stands for."""
        return next((scope.constants[name] for scope in self.around() if name in scope.constants), None)

    def values(self, attribute: AttributeProto) -> list[AttributeProto | None]:
        """What a node's attribute can be: what is stated, or what callers of the function around give, if it is called.

        ``None`` stands for a call that leaves it out.
        """
        name = attribute.ref_attr_name
        if not name:
            return [attribute]
        return next((scope.attributes[name] for scope in self.around() if name in scope.attributes), [])

    def filled_in(self, node: NodeProto) -> NodeProto | None:
        """A copy of a node with the attributes on which all callers of its function agree; ``None`` if none is."""
        filled = copy.deepcopy(node)
        del filled.attribute[:]
        for a in node.attribute:
            values = self.values(a)
            if len(values) != 1:
                filled.attribute.append(a)
            elif (value := values[0]) is not None:
                one = filled.attribute.add()
                one.CopyFrom(value)
                one.name = a.name
        return None if filled == node else filled

    def define(self, node: NodeProto, opset: int) -> None:
        """Take note of a node, which comes before those that read its values."""
        ours = node.domain in MAIN and (node.domain, node.op_type) not in self.functions
        if ours and not malformed(node, opset):
            if node.op_type == "Constant" and node.output:
                self.constants[node.output[0]] = node
            elif len(node.output) == 1:
                self.makers[node.output[0]] = (node, opset)
            self.types.update(schemas.implied(node, opset, self.type))
        elif node.domain == "com.microsoft" and (node.domain, node.op_type) not in self.functions:
            self.types.update(schemas.contributed(node, self.type))


def _elements(tensor: TensorProto) -> Array | None:
    if tensor.data_location == TensorProto.EXTERNAL or any(dim < 0 for dim in tensor.dims):
        return None
    return onnx.numpy_helper.to_array(tensor)


def _constant_node(node: NodeProto) -> Array | None:
    for a in node.attribute:
        if a.ref_attr_name:
            return None
        if a.name == "value":
            return _elements(a.t)
        if a.name in ("value_int", "value_ints"):
            return np.array(onnx.helper.get_attribute_value(a), np.int64)
        if a.name in ("value_float", "value_floats"):
            return np.array(onnx.helper.get_attribute_value(a), np.float32)
    return None


class Builder:
    """Collects the nodes that take one node's place.

    Attributes:
        scope: what the node sees. nodes: what was added so far. base: what names of new values start with.
        losses: what the nodes no longer say, a sentence each.
    """

    def __init__(self, scope: Scope, node: NodeProto) -> None:
        self.scope = scope
        self.nodes: list[NodeProto] = []
        self.losses: list[str] = []
        self.base = node.name or next((name for name in node.output if name), node.op_type)

    def fresh(self, hint: str) -> str:
        """A new name for a value."""
        return self.scope.names.fresh(f"{self.base}_{hint}")

    def constant(self, hint: str, value: Any, dtype: Any = np.int64) -> str:
        """Add a constant and return its name."""
        array = np.asarray(value, dtype)
        name = self.fresh(hint)
        node = onnx.helper.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(array, name))
        self.nodes.append(node)
        self.scope.constants[name] = node
        self.scope.types[name] = onnx.helper.make_tensor_type_proto(
            onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        return name

    def add(self, op_type: str, inputs: list[str], hint: str = "", output: str = "", **attributes: Any) -> str:
        """Add a node and return its output's name: ``output``, or a new one."""
        output = output or self.fresh(hint or op_type.lower())
        self.nodes.append(onnx.helper.make_node(op_type, inputs, [output], **attributes))
        return output

    def keep(self, node: NodeProto, hint: str) -> tuple[str, str]:
        """Put the node itself here, its output under a new name.

        Returns:
            That name, and the one that it had, which a node behind it has to make.
        """
        had, node.output[0] = node.output[0], self.fresh(hint)
        self.nodes.append(node)
        return node.output[0], had


# ---- inference ------------------------------------------------------------------------------------------------


def skeleton(model: ModelProto) -> ModelProto:
    """Copy a model without the data of large, external and sparse initializers; they become inputs of the same type.

    The main domain is spelled ``""`` in it. The copy is for inference and for the checker alone.
    """
    bare = without_data(model)
    inputs = {i.name for i in model.graph.input}
    for tensor in model.graph.initializer:
        if tensor.data_location != TensorProto.EXTERNAL and np.prod(tensor.dims, dtype=object) <= SMALL:
            bare.graph.initializer.append(tensor)
        elif tensor.name not in inputs:
            bare.graph.input.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
            )
    _take_sparse(bare, inputs)
    for holder in (bare, *bare.functions):
        for row in holder.opset_import:
            row.domain = domain_of(row.domain)
    for node in (node for holder in holders(bare) for node in holder.node):
        node.domain = domain_of(node.domain)  # as every version of onnx knows it
    return bare


def _take_sparse(bare: ModelProto, inputs: set[str]) -> None:
    """Make sparse initializers inputs, in place: ONNX's inference takes them for tensors without axes.

    Those in bodies are inputs of the main graph; one stays where it is if another value of its name has another type.
    """
    taken: dict[str, TypeProto] = {}
    for graph in within(bare.graph):
        remaining = []
        for sparse in graph.sparse_initializer:
            name, main = sparse.values.name, graph is bare.graph
            kind = onnx.helper.make_tensor_type_proto(sparse.values.data_type, list(sparse.dims))
            if name not in inputs and taken.setdefault(name, kind) == kind:
                continue
            if not (main and name in inputs):
                remaining.append(sparse)
        del graph.sparse_initializer[:]
        graph.sparse_initializer.extend(remaining)
    bare.graph.input.extend(onnx.helper.make_value_info(name, kind) for name, kind in taken.items())


def without_data(model: ModelProto) -> ModelProto:
    """Copy a model without its initializers."""
    bare = ModelProto()
    for f, value in model.ListFields():
        if f.name != "graph":
            _copy_field(bare, f, value)
    for f, value in model.graph.ListFields():
        if f.name != "initializer":
            _copy_field(bare.graph, f, value)
    return bare


def _copy_field(target: Any, f: Any, value: Any) -> None:
    if isinstance(value, int | float | str | bytes):
        setattr(target, f.name, value)
    elif hasattr(value, "CopyFrom"):
        getattr(target, f.name).CopyFrom(value)
    else:
        getattr(target, f.name).extend(value)


def own_types(graph: GraphProto) -> dict[str, TypeProto]:
    """The types that a graph states for its own values."""
    types = {t.name: onnx.helper.make_tensor_type_proto(t.data_type, list(t.dims)) for t in graph.initializer}
    for info in (*graph.value_info, *graph.output, *graph.input):
        if info.HasField("type"):
            types[info.name] = info.type
    return types


LEGACY = frozenset({"Add", "Sub", "Mul", "Div"})
"""Operators whose result has A's shape up to opset 6."""


def for_inference(model: ModelProto, opset: int) -> ModelProto:
    """Copy a model so that ONNX's inference understands its old nodes.

    Sub-1 and its like have no inference, and what ONNX infers for Sub-6 ignores the operator's own text only by
    luck: the result has A's shape and type, which is what Identity says of A.
    """
    bare = skeleton(model)
    seen = list(Calls(bare).visible(bare.graph.node))
    del bare.functions[:]
    bare.functions.extend(seen)
    for node in (node for graph in (within(bare.graph) if opset < 7 else ()) for node in graph.node):
        consumed = any(a.name == "consumed_inputs" for a in node.attribute) and len(node.input) == 1
        if node.domain in MAIN and node.input and (node.op_type in LEGACY or consumed):
            node.op_type = "Identity"
            del node.input[1:]
            del node.attribute[:]
    return bare


def infer(model: ModelProto, *, strict: bool = False) -> ModelProto:
    """Run ONNX's shape inference, data propagation included; what it cannot tell stays open.

    Raises:
        OnnxRefuses, Exceeded: with ``strict``, what is declared or done cannot be, or it takes too much.
    """
    typed = _infer(model, strict=strict)
    if any(row.domain in MAIN and row.version == 10 for row in model.opset_import):
        return _infer(model) if _open_slices(model.graph, typed.graph, model) else typed
    return typed


def _infer(model: ModelProto, *, strict: bool = False) -> ModelProto:
    try:
        return library_process.infer_shapes(model, data_prop=True, strict=strict)
    except (library_process.OnnxRefuses, library_process.Exceeded):
        if strict:
            raise
        return model  # the checker says what is wrong


def _open_slices(graph: GraphProto, typed: GraphProto, model: ModelProto) -> bool:
    """Hide where the Slice nodes of opset 10 end, if their input has a named dim; say whether there are any.

    ONNX's inference for Slice-10 gives a named dim to the result whatever is cut off.
    """
    types, found = own_types(typed), False
    for node, twin in zip(graph.node, typed.node, strict=False):
        dims = types[node.input[0]].tensor_type.shape.dim if node.input and node.input[0] in types else ()
        if node.op_type == "Slice" and node.domain in MAIN and any(dim.dim_param for dim in dims):
            hidden = "minuend: the ends of a Slice"
            if hidden not in {value.name for value in model.graph.input}:
                model.graph.input.append(onnx.helper.make_tensor_value_info(hidden, TensorProto.INT64, [None]))
            node.input[2] = hidden
            found = True
        for (_, body), (_, twin_body) in zip(graphs(node), graphs(twin), strict=False):
            found = _open_slices(body, twin_body, model) or found
    return found


def learn(nodes: list[NodeProto], opset: int, scope: Scope) -> None:
    """Take note of what a run of new nodes makes: constants, types, and numbers that follow from known shapes.

    A number that is found this way may tell inference more shapes, so the two take turns.
    """
    made = {name for node in nodes for name in node.output if name}
    known = {name for name in made if scope.type(name) is not None}
    for node in nodes:
        scope.define(node, opset)
    numbers: dict[str, Array] = {}
    for _ in range(4):
        for name, found in _infer_chunk(nodes, opset, scope, made, numbers).items():
            if name not in known and found.WhichOneof("value"):
                scope.types[name] = found
        for node in nodes:  # inference passes some by, whose types follow from those that it found
            scope.define(node, opset)
        for name in made:
            if scope.folded.get(name, 0) is None:
                del scope.folded[name]
        before = len(numbers)
        for name in made - set(numbers):
            value = scope.constant(name) if scope.source(name) is None else None
            if value is not None:
                numbers[name] = value
        if len(numbers) == before:
            break


def _infer_chunk(
    nodes: list[NodeProto], opset: int, scope: Scope, made: set[str], numbers: dict[str, Array]
) -> dict[str, TypeProto]:
    """Infer the types of the values that a run of nodes makes, and of those in its bodies."""
    read = {name for node in nodes for name in all_inputs(node)} - made - {""}
    graph = GraphProto(name="chunk")
    for name in sorted(read):
        value = scope.constant(name)
        found = scope.type(name)
        if value is not None and value.size <= SMALL and value.dtype != object:
            graph.initializer.append(onnx.numpy_helper.from_array(value, name))
        elif found is not None:
            graph.input.append(ValueInfoProto(name=name, type=found))
    for node in nodes:
        if len(node.output) == 1 and node.output[0] in numbers:
            tensor = onnx.numpy_helper.from_array(numbers[node.output[0]])
            graph.node.append(onnx.helper.make_node("Constant", [], list(node.output), value=tensor))
        elif not refers(node):  # inference would take such an attribute for 0
            graph.node.append(node)
    model = ModelProto(ir_version=10, graph=graph)
    model.opset_import.add(domain="", version=opset)
    return all_types(infer(model).graph, made)


def all_types(graph: GraphProto, made: set[str] | None = None) -> dict[str, TypeProto]:
    """The types of a graph's values and of those in its bodies."""
    own = own_types(graph)
    inner = [all_types(body) for node in graph.node for _, body in graphs(node)]
    return dict(ChainMap(own if made is None else {name: own[name] for name in own if name in made}, *inner[::-1]))
