"""Every place of a model that holds nodes: the graph, the bodies of If, Loop and Scan, and the local functions."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    TypeProto,
)
from onnx.helper import get_attribute_value

from minuend.errors import DTypeError, SpecError, Unsupported, listed
from minuend.onnx.documents import tensors
from minuend.onnx.execution.evaluator import MAIN
from minuend.onnx.graphs.dims import shape_of
from minuend.onnx.graphs.nesting import bodies, fill_in, filled_in, graphs, held, place
from minuend.onnx.versions import DIALECT
from minuend.operators import SUBTRACT
from minuend.operators.operator import Operator
from minuend.standards.node import Node, TensorType
from minuend.standards.version import OpVersion

if TYPE_CHECKING:
    from minuend.onnx.graphs.inference import Inference
    from minuend.onnx.model import Model

Types = Mapping[str, TypeProto]


@dataclass(frozen=True, eq=False)
class Scope:
    """One graph, body or function.

    Attributes:
        proto: the live ``GraphProto`` or ``FunctionProto``. where: ``"graph"``, ``"graph.node[2].then_branch"``,
            ``"function 'f'"``. parent: the scope around a body. opsets: the opset of each domain that the graph's
            or function's imports state; the main domain is ``""``. inferred: gives what inference says of the model.
    """

    proto: Any
    where: str
    opsets: Mapping[str, int]
    parent: Scope | None
    inferred: Callable[[], Inference]

    @property
    def nodes(self) -> Any:
        """The live repeated field of nodes."""
        return self.proto.node

    @property
    def opset(self) -> int | None:
        """The main domain's opset; ``None`` where it is not imported (then no node is of that domain)."""
        return self.opsets.get("")

    @property
    def protos(self) -> Types:
        """The inferred ``TypeProto`` of each value by name, those of the scopes around it included.

        A function's are what all of its calls agree on; what they do not agree on is unknown.
        """
        return self.inferred().types.get(self.where, {})

    @functools.cached_property
    def types(self) -> dict[str, TensorType]:
        """Those of ``protos`` that are tensors of element types that subtraction knows."""
        found = {name: tensor_type(proto) for name, proto in self.protos.items()}
        return {name: type_ for name, type_ in found.items() if type_ is not None}

    def place(self, i: int) -> str:
        """Say where a node stands: ``"graph.node[3] 'sub_mean'"``."""
        return place(self.where, i, self.nodes[i])

    def around(self) -> Iterator[Scope]:
        """The scope itself, then those around it, the outermost last."""
        yield self
        if self.parent is not None:
            yield from self.parent.around()


def walk(model: Model | ModelProto) -> Iterator[Scope]:
    """Yield every scope of a model: the graph, then each body where its node stands, then the functions.

    The protos are live: what is changed in them is changed in the model. Types are inferred from the model as it is
    when the first of them is asked for.

    >>> import onnx
    >>> model = onnx.parser.parse_model('''
    ...     <ir_version: 10, opset_import: ["" : 14]>
    ...     agraph (float[N] a, float[1] b) => (float[N] c) { c = Sub(a, b) }''')
    >>> [(scope.where, scope.opset, scope.types["c"]) for scope in walk(model)]
    [('graph', 14, TensorType(float32 (N,)))]
    """
    proto = model if isinstance(model, ModelProto) else model.proto

    @functools.cache
    def inferred() -> Inference:
        from minuend.onnx.graphs.inference import infer_types

        return infer_types(model)

    yield from _scopes(proto.graph, "graph", model_opsets(proto), None, inferred)
    for function, where in functions(proto):
        yield from _scopes(function, where, read_opsets(function.opset_import), None, inferred)


def _scopes(
    proto: Any, where: str, opsets: Mapping[str, int], parent: Scope | None, inferred: Callable[[], Inference]
) -> Iterator[Scope]:
    scope = Scope(proto, where, opsets, parent, inferred)
    yield scope
    for body, inside in bodies(scope.nodes, where):
        yield from _scopes(body, inside, opsets, scope, inferred)


def functions(model: ModelProto) -> Iterator[tuple[FunctionProto, str]]:
    """A model's local functions with their places: ``"function 'f'"``, or the longer name where two share that one."""
    names = Counter(function.name for function in model.functions)
    for function in model.functions:
        name = function.name
        if names[name] > 1:
            name = f"{function.domain}.{name}" + (f":{function.overload}" if function.overload else "")
        yield function, f"function {name!r}"


def read_opsets(imports: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """Return opset imports as a table, in which the main domain is ``""``."""
    return {"" if item.domain in MAIN else item.domain: item.version for item in imports}


def model_opsets(model: ModelProto) -> dict[str, int]:
    """Return a model's opsets; before IR version 3 a model without imports is at opset 1."""
    opsets = read_opsets(model.opset_import)
    return {"": 1} if not opsets and model.ir_version < 3 else opsets


def tensor_type(proto: TypeProto) -> TensorType | None:
    """Return a type that subtraction knows, or ``None``: no tensor, or bool, string, complex and the like."""
    kind = tensors.data_type(proto.tensor_type.elem_type) if proto.HasField("tensor_type") else None
    if kind is None or kind.element is None:
        return None
    return TensorType(kind.element, shape_of(proto))


def all_tensors(model: ModelProto) -> Iterator[tuple[TensorProto, str]]:
    """Yield every tensor of a model, live, with its place: initializers and attributes, in bodies and functions."""
    for scope in walk(model):
        if isinstance(scope.proto, GraphProto):
            for tensor in scope.proto.initializer:
                yield tensor, f"{scope.where}, initializer {tensor.name!r}"
            for sparse in scope.proto.sparse_initializer:
                yield sparse.values, f"{scope.where}, sparse initializer {sparse.values.name!r}, values"
                yield sparse.indices, f"{scope.where}, sparse initializer {sparse.values.name!r}, indices"
        for i, node in enumerate(scope.nodes):
            for attribute in node.attribute:
                where = f"{scope.place(i)}, attribute {attribute.name!r}"
                yield from ((tensor, where) for tensor in held(attribute, "t", "tensors"))
                for sparse in held(attribute, "sparse_tensor", "sparse_tensors"):
                    yield sparse.values, f"{where}, values"
                    yield sparse.indices, f"{where}, indices"


# ---- operators ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Subtraction:
    """One node of an operator where it stands.

    Attributes:
        scope, index: its scope and its number there. op: the version in force. attributes: as stated; a node of a
            function whose callers fill attributes in comes once for each different way in which they do.
        types: the operands'; ``None`` where the element type is not known or not one that operators take.
    """

    scope: Scope
    index: int
    op: OpVersion
    attributes: Mapping[str, Any]
    types: tuple[TensorType | None, ...]

    @property
    def proto(self) -> NodeProto:
        """The live node."""
        node: NodeProto = self.scope.nodes[self.index]
        return node

    @property
    def where(self) -> str:
        """Its place, such as ``"graph.node[3] 'sub_mean'"``."""
        return self.scope.place(self.index)

    def node(self) -> Node:
        """Return it as a :class:`~minuend.standards.node.Node`.

        Raises:
            DTypeError: an operand of a type that the operator takes in no version. Unsupported: element types that
                cannot be inferred.
        """
        known = next(filter(None, self.types), None)
        operands = [own or self._like(i, known) for i, own in enumerate(self.types)]
        types = tuple(one for one in operands if one is not None)
        if len(types) < len(operands):
            exceeded = self.scope.inferred().exceeded
            why = f" ({exceeded})" if exceeded else ""
            raise Unsupported(
                f"the element type of {listed(map(repr, self.proto.input), 'and')} cannot be inferred{why}; "
                f"state one of them in value_info, at {self.where}"
            )
        return Node(op=self.op, operands=types, attributes=self.attributes, name=self.proto.name, where=self.where)

    def _like(self, operand: int, other: TensorType | None) -> TensorType | None:
        """An operand without a known type has another one's element type, since an operator has one for all."""
        proto = self.scope.protos.get(self.proto.input[operand])
        if proto is not None and proto.WhichOneof("value"):
            kind = tensors.data_type(proto.tensor_type.elem_type) if proto.HasField("tensor_type") else None
            shown = f"tensor({kind.word.lower()})" if kind else (proto.WhichOneof("value") or "").removesuffix("_type")
            if kind or not proto.HasField("tensor_type"):
                raise DTypeError(
                    "types", f"{self.op} takes no {shown} ({self.proto.input[operand]!r})", where=self.where
                )
        result = self.scope.types.get(self.proto.output[0])
        known = other or result
        return None if known is None else TensorType(known.dtype)


def subtractions(model: Model | ModelProto, operators: Collection[Operator] = (SUBTRACT,)) -> Iterator[Subtraction]:
    """Yield every node of some operators of a model, in the graph, in bodies and in functions.

    Raises:
        SpecError: a node without as many inputs as the operator has operands, and one output, each with a name.
    """
    for scope, i, op in sub_nodes(model, operators):
        node = scope.nodes[i]
        types = tuple(scope.types.get(name) for name in node.input)
        for attributes in _bound_attributes(scope, node):
            yield Subtraction(scope, i, op, attributes, types)


def sub_nodes(
    model: Model | ModelProto, operators: Collection[Operator] = (SUBTRACT,)
) -> Iterator[tuple[Scope, int, OpVersion]]:
    """Yield the scope, number and version of every node of some operators, without a look at types.

    Raises:
        SpecError: a node without as many inputs as the operator has operands, and one output, each with a name.
    """
    names = {one.onnx for one in operators}
    for scope in walk(model):
        for i, node in enumerate(scope.nodes):
            if node.op_type in names and node.domain in MAIN:
                op = DIALECT.resolve(scope.opset, node.op_type)
                check_form(op, node, scope.place(i))
                yield scope, i, op


def check_form(op: OpVersion, node: NodeProto, where: str) -> None:
    """Check that a node has as many inputs as its operator has operands, and one output, each with a name.

    Raises:
        SpecError: it has not.
    """
    count = len(op.inputs)
    if (len(node.input), len(node.output)) != (count, 1):
        inputs = f"{count} input{'' if count == 1 else 's'}"
        raise SpecError(
            "inputs",
            f"{op} takes {inputs} and has 1 output; the node has {len(node.input)} and {len(node.output)}",
            where=where,
        )
    if not all((*node.input, *node.output)):
        raise SpecError("inputs", f"{op} needs a name for each of its inputs and outputs; one is empty", where=where)


def _bound_attributes(scope: Scope, node: NodeProto) -> list[dict[str, Any]]:
    """Return a node's attributes by name, once for each different way in which callers fill them in."""
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        return [{a.name: get_attribute_value(a) for a in node.attribute}]
    *_, outermost = scope.around()
    found: list[dict[str, Any]] = []
    for binding in scope.inferred().bindings.get(outermost.where, [{}]):
        values = {a.name: get_attribute_value(a) for a in filled_in(node, binding)}
        if values not in found:
            found.append(values)
    return found


def replace_references(
    nodes: Iterable[NodeProto], values: Mapping[str, AttributeProto], keep: Container[tuple[str, str, str]] = ()
) -> None:
    """Put a caller's attributes in the place of a function's references to them.

    Without a value a reference goes, but for those of ``keep``: calls, whose callees ask for it later.
    """
    for node in nodes:
        for _, body in graphs(node):
            replace_references(body.node, values, keep)
        asked = node.attribute if (node.domain, node.op_type, node.overload) in keep else ()
        fill_in(node, {**{a.ref_attr_name: a for a in asked if a.ref_attr_name}, **values})
