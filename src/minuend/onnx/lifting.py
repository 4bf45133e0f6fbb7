"""An ONNX model becomes a graph, by each operator's own form at the model's opset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from onnx import NodeProto, TensorProto, TypeProto, ValueInfoProto

from minuend.core.shapes import Broadcast, Shape, format_shape, numpy, size, static
from minuend.errors import ConversionRefused, listed
from minuend.models.graph import Attempts, Graph, Kind, Refused, Step, Value
from minuend.onnx.documents import tensors
from minuend.onnx.graphs import walk
from minuend.onnx.graphs.scope import MAIN
from minuend.onnx.model import Model
from minuend.onnx.opsets import schemas
from minuend.onnx.versions import DIALECT
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import validate

_ADVICE = (
    "Convert the rest with the format's own tool, then repair the subtractions with minuend fix. Local functions can "
    "be inlined with onnx.inliner.inline_local_functions."
)


def to_graph(model: Model) -> Graph:
    """Turn a model into a graph of subtractions and what goes with them.

    Args:
        model: of Sub, Cast, Identity, Constant, Reshape, Unsqueeze, Squeeze and Expand nodes, whose shapes and axes are
            constant. Its initializers become constants.

    Returns:
        The graph; ``losses`` lists what it cannot hold of the model.

    Raises:
        ConversionRefused: other nodes, or ones that a graph cannot say; all of them are listed.
        FileFormatError, FileNotFoundError: bad external data.
    """
    proto = model.proto.graph
    scope = next(walk.walk(model))
    lifting = _Lifting(model, scope, Graph(proto.name))
    lifting.run()
    if lifting.nodes:
        raise ConversionRefused("a graph of subtractions", lifting.nodes, _ADVICE)
    lifting.prune()
    lifting.graph.losses += _losses(model, lifting.defaults)
    return lifting.graph


@dataclass
class _Lifting(Attempts):
    model: Model
    scope: walk.Scope
    graph: Graph
    broken: set[str] = field(default_factory=set)  # values that refused nodes would have made
    defaults: list[str] = field(default_factory=list)  # inputs with a default value
    opset: int = 0

    def run(self) -> None:
        proto = self.model.proto.graph
        self.opset = self.scope.opset or 0
        stored = {tensor.name for tensor in proto.initializer}
        for tensor in proto.initializer:
            self.piece(f"graph, initializer {tensor.name!r}", [tensor.name], self.constant, tensor.name, tensor)
        for sparse in proto.sparse_initializer:
            self.refuse(f"graph, initializer {sparse.values.name!r}", "it is sparse", [sparse.values.name])
        for value in proto.input:
            if value.name not in stored:
                self.piece(f"graph, input {value.name!r}", [value.name], self.input, value)
            elif self.model.proto.ir_version >= 4:
                self.defaults.append(value.name)
        for i, node in enumerate(proto.node):
            place = self.scope.place(i)
            kind = _KINDS.get(node.op_type) if node.domain in MAIN else None
            if kind is None:
                title = node.op_type if node.domain in MAIN else f"{node.domain}.{node.op_type}"
                self.refuse(place, f"{title} is not one of {listed(_KINDS)}", node.output)
            elif schemas.refers(node):
                self.refuse(place, "an attribute is a function's, and it stands in none", node.output)
            # A Sub is judged by the rules of its own version.
            elif wrong := schemas.invalid(node, self.opset, ({} if node.op_type == "Sub" else self.scope.protos).get):
                self.refuse(place, f"{schemas.INVALID}{wrong}", node.output)
            elif not any(name in self.broken for name in node.input):
                self.piece(place, node.output, kind, self, node, place)
            else:
                self.broken.update(node.output)
        self.graph.outputs = [value.name for value in proto.output]

    def piece(self, place: str, outputs: Sequence[str], work: Callable[..., None], *given: object) -> None:
        if not self.attempt(place, work, *given):
            self.broken.update(outputs)

    def refuse(self, place: str, reason: str, outputs: Sequence[str]) -> None:
        self.nodes[place] = reason
        self.broken.update(outputs)

    def prune(self) -> None:
        """Leave out the constants that only said shapes and axes."""
        used = {name for step in self.graph.steps for name in (*step.inputs, step.output)}
        used.update(self.graph.inputs, self.graph.outputs)
        self.graph.values = {name: value for name, value in self.graph.values.items() if name in used}

    # ---- values -----------------------------------------------------------------------------------------------

    def constant(self, name: str, tensor: TensorProto) -> None:
        kind = tensors.data_type(tensor.data_type)
        if kind is None or kind.element is None:
            word = kind.word if kind else tensor.data_type
            raise Refused(f"it is of {word}, which subtraction does not know")
        array = self.model.array(tensor, f"{self.model.name}: tensor {name!r}")
        self.graph.add(Value(name, TensorType(kind.element, tuple(tensor.dims)), array))

    def input(self, value: ValueInfoProto) -> None:
        self.graph.add(Value(value.name, self.declared(value.name, value.type)))
        self.graph.inputs.append(value.name)

    def declared(self, name: str, proto: TypeProto | None) -> TensorType:
        found = None if proto is None else walk.tensor_type(proto)
        if found is None:
            raise Refused(f"{name!r} is no tensor of an element type that subtraction knows, or its type is not known")
        return found

    def type_of(self, name: str) -> TensorType:
        return self.graph.values[name].type

    def make(self, kind: Kind, node: NodeProto, place: str, result: Shape, **what: Any) -> None:
        """Add a step with one input; its result has the input's element type and a shape of its own."""
        self.emit(kind, node, place, (node.input[0],), TensorType(self.type_of(node.input[0]).dtype, result), **what)

    def emit(
        self, kind: Kind, node: NodeProto, place: str, inputs: tuple[str, ...], type_: TensorType, **what: Any
    ) -> None:
        self.graph.add(Value(node.output[0], type_))
        self.graph.steps.append(
            Step(kind=kind, inputs=inputs, output=node.output[0], name=node.name, where=place, **what)
        )

    # ---- constants that say shapes and axes ----------------------------------------------------------------------

    def numbers(self, node: NodeProto, name: str, index: int, since: int) -> tuple[int, ...] | None:
        """Return what an attribute, or from opset ``since`` on an input, says; ``None`` where neither is there."""
        if self.opset < since:
            stated = _attributes(node, (name, "consumed_inputs"))
            return tuple(stated[name]) if name in stated else None
        if len(node.input) <= index or not node.input[index]:
            return None
        value = self.graph.values.get(node.input[index])
        if value is None or value.constant is None or value.name in self.defaults:
            raise Refused(f"its {name} {node.input[index]!r} is not constant")
        if value.type.dtype != "int64" or value.constant.ndim > 1:
            raise Refused(f"its {name} {node.input[index]!r} is {value.type}; expected a list of int64")
        return tuple(int(number) for number in value.constant.reshape(-1))

    # ---- operators ----------------------------------------------------------------------------------------------

    def subtract(self, node: NodeProto, place: str) -> None:
        op = DIALECT.resolve(self.opset)
        a, b = (self.type_of(name) for name in node.input)
        joined = validate(Node(op=op, operands=(a, b), attributes=_attributes(node, op.attributes.names)))
        self.emit("subtract", node, place, tuple(node.input), TensorType(a.dtype, joined.shape), joined=joined)

    def cast(self, node: NodeProto, place: str) -> None:
        stated = _attributes(node, ("to", "saturate", "round_mode"))
        to = stated.get("to", 0)
        if isinstance(to, bytes):  # until opset 5 the type's name
            names = TensorProto.DataType.items()
            to = dict(names).get(to.decode("utf-8", "replace").upper(), 0)
        kind = tensors.data_type(to)
        if kind is None or kind.element is None:
            raise Refused(f"it casts to {kind.word if kind else to}, which subtraction does not know")
        if not stated.get("saturate", 1):
            raise Refused("saturate=0 is not what other formats do")
        if stated.get("round_mode", b"up") != b"up":
            raise Refused(
                f"round_mode {stated['round_mode'].decode('utf-8', 'replace')!r} is not what other formats do"
            )
        shape = self.type_of(node.input[0]).shape
        self.emit("cast", node, place, (node.input[0],), TensorType(kind.element, shape))

    def identity(self, node: NodeProto, place: str) -> None:
        self.make("identity", node, place, self.type_of(node.input[0]).shape)

    def constant_node(self, node: NodeProto, place: str) -> None:
        if len(node.attribute) != 1:
            raise Refused(f"Constant has one attribute; the node has {len(node.attribute)}")
        tensor = tensors.constant(node)
        if tensor is None:
            raise Refused(f"Constant with {node.attribute[0].name} is not a dense tensor of numbers")
        self.constant(node.output[0], tensor)

    def reshape(self, node: NodeProto, place: str) -> None:
        wanted = self.numbers(node, "shape", 1, 5)
        if wanted is None:
            raise Refused("Reshape has no shape")
        zeros = bool(_attributes(node, ("allowzero",)).get("allowzero", 0)) if self.opset >= 14 else False
        come = self.type_of(node.input[0]).shape
        shape = _reshaped(wanted, come, zeros)
        result = tuple(None if dim == -1 else dim for dim in shape)
        self.make("reshape", node, place, result, shape=shape)

    def unsqueeze(self, node: NodeProto, place: str) -> None:
        stated = self.numbers(node, "axes", 1, 13)
        if stated is None:
            raise Refused("Unsqueeze has no axes")
        come = list(self.graph.dims(node.input[0]))
        axes = _axes(stated, len(come) + len(stated))
        for axis in axes:
            come.insert(axis, 1)
        self.make("unsqueeze", node, place, tuple(come), axes=axes)

    def squeeze(self, node: NodeProto, place: str) -> None:
        stated = self.numbers(node, "axes", 1, 13)
        come = self.graph.dims(node.input[0])
        if stated is None:
            if not all(isinstance(dim, int) for dim in come):
                raise Refused(f"it squeezes every 1 of {format_shape(come)}, and which dims are 1 is not known")
            stated = tuple(axis for axis, dim in enumerate(come) if dim == 1)
        axes = _axes(stated, len(come))
        if wrong := [axis for axis in axes if isinstance(come[axis], int) and come[axis] != 1]:
            raise Refused(f"it squeezes axis {wrong[0]} of {format_shape(come)}, which is no 1")
        rest = tuple(dim for axis, dim in enumerate(come) if axis not in axes)
        self.make("squeeze", node, place, rest, axes=axes)

    def expand(self, node: NodeProto, place: str) -> None:
        shape = self.numbers(node, "shape", 1, 8)
        if shape is None:
            raise Refused("Expand has no shape")
        if min(shape, default=0) < 0:
            raise Refused(f"it expands to {shape}; expected sizes of 0 and above")
        joined: Broadcast = numpy(self.type_of(node.input[0]).shape, shape)
        self.make("expand", node, place, joined.shape, shape=shape)


_KINDS: dict[str, Callable[[_Lifting, NodeProto, str], None]] = {
    "Sub": _Lifting.subtract,
    "Cast": _Lifting.cast,
    "Identity": _Lifting.identity,
    "Constant": _Lifting.constant_node,
    "Reshape": _Lifting.reshape,
    "Unsqueeze": _Lifting.unsqueeze,
    "Squeeze": _Lifting.squeeze,
    "Expand": _Lifting.expand,
}


def _attributes(node: NodeProto, known: Sequence[str]) -> tensors.Attributes:
    """Return those of a node's attributes that say something; others begin with ``__``."""
    return tensors.values_of(a for a in node.attribute if a.name in known)


def _axes(stated: Sequence[int], rank: int) -> tuple[int, ...]:
    axes = sorted(axis + rank if axis < 0 else axis for axis in stated)
    if len(set(axes)) != len(axes) or any(not 0 <= axis < rank for axis in axes):
        raise Refused(f"its axes {tuple(stated)} are not different axes of {rank} dims")
    return tuple(axes)


def _reshaped(wanted: tuple[int, ...], come: Shape, zeros: bool) -> tuple[int, ...]:
    """Return the dims that a Reshape requests, its 0s (copies) filled in, and its -1 where that can be known."""
    if wanted.count(-1) > 1 or min(wanted, default=0) < -1 or (zeros and 0 in wanted and -1 in wanted):
        raise Refused(f"it reshapes to {wanted}; expected sizes, at most one of them -1")
    dims = list(wanted)
    for axis, dim in enumerate(wanted):
        if dim == 0 and not zeros:
            copied = come[axis] if come is not None and axis < len(come) else None
            if not isinstance(copied, int):
                raise Refused(f"its shape {wanted} copies axis {axis} of {format_shape(come)}, whose size is not known")
            dims[axis] = copied
    if come is None or not all(isinstance(dim, int) for dim in come):
        if -1 in dims and 0 in dims:
            raise Refused(f"it reshapes to {wanted}, and a -1 beside an empty dim can be anything")
        return tuple(dims)
    have, rest = size(static(come)), size([dim for dim in dims if dim != -1])
    if -1 in dims and rest and have % rest == 0:
        dims[dims.index(-1)] = have // rest
    if -1 in dims or size(dims) != have:
        raise Refused(f"it reshapes {format_shape(come)} to {wanted}, which has another number of elements")
    return tuple(dims)


def _losses(model: Model, defaults: Sequence[str]) -> list[str]:
    """Say what a model holds beyond its graph."""
    proto = model.proto
    graph = proto.graph
    found = [f"input {name!r} has a default value that could be replaced; it is constant now" for name in defaults]
    values = (*graph.input, *graph.output, *graph.value_info)
    documented = (proto, graph, *graph.node, *graph.initializer, *values)
    count = sum(bool(item.doc_string) for item in documented)
    if count:
        found.append(f"documentation: {count} doc_string{'s' if count > 1 else ''}")
    keys = [entry.key for item in (proto, graph, *graph.node, *values) for entry in item.metadata_props]
    if keys:
        found.append(f"metadata: {', '.join(dict.fromkeys(keys))}")
    for name in ("domain", "model_version", "producer_name", "producer_version"):
        if getattr(proto, name):
            found.append(f"{name}: {getattr(proto, name)}")
    for name in ("training_info", "functions"):
        if getattr(proto, name):
            found.append(f"{name.replace('_', ' ')}: {len(getattr(proto, name))}, used by no node")
    if graph.quantization_annotation:
        found.append(f"quantization annotations: {len(graph.quantization_annotation)}")
    return found
