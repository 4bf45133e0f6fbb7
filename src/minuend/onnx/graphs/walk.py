"""Every place of a model that holds nodes: the graph, the bodies of If, Loop and Scan, and the local functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto

from minuend.errors import DTypeError, SpecError, Unsupported, listed
from minuend.onnx.documents import tensors
from minuend.onnx.documents.document import Document
from minuend.onnx.graphs import scope as scopes
from minuend.onnx.graphs.inference import Inference, infer_types
from minuend.onnx.graphs.nesting import contained, filled_in
from minuend.onnx.graphs.scope import MAIN, Types, shape_of
from minuend.onnx.versions import DIALECT
from minuend.operators import SUBTRACT
from minuend.operators.operator import Operator
from minuend.standards.node import Node, TensorType
from minuend.standards.version import OpVersion


@dataclass(eq=False)
class Scope(scopes.Scope):
    """A scope with the types of its values.

    Attributes:
        inferred: gives what inference says of the model.
    """

    inferred: Callable[[], Inference] = field(kw_only=True)

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


def walk(model: Document | ModelProto) -> Iterator[Scope]:
    """Yield every scope of a model: the graph, then each body where its node stands, then the functions.

    The protos are live: what is changed in them is changed in the model. Types are inferred from the model as it is
    when the first of them is requested.

    >>> import onnx
    >>> model = onnx.parser.parse_model('''
    ...     <ir_version: 10, opset_import: ["" : 14]>
    ...     agraph (float[N] a, float[1] b) => (float[N] c) { c = Sub(a, b) }''')
    >>> [(scope.where, scope.opset, scope.types["c"]) for scope in walk(model)]
    [('graph', 14, TensorType(float32 (N,)))]
    """
    proto = model if isinstance(model, ModelProto) else model.proto
    inferred = functools.cache(functools.partial(infer_types, model))
    for one in Scope.of(proto, inferred=inferred):
        yield from one.within()


def tensor_type(proto: TypeProto) -> TensorType | None:
    """Return a type that subtraction knows, or ``None``: no tensor, or bool, string, complex and the like."""
    kind = tensors.element_kind(proto)
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
                dense = [*contained(attribute, "t", "tensors")]
                sparse_ones = [*contained(attribute, "sparse_tensor", "sparse_tensors")]
                if not (dense or sparse_ones):
                    continue
                where = f"{scope.place(i)}, attribute {attribute.name!r}"
                yield from ((tensor, where) for tensor in dense)
                for sparse in sparse_ones:
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
    attributes: tensors.Attributes
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
            DTypeError: an operand of a type that the operator takes in no version, or a result that is declared to be
                of another type. Unsupported: element types that cannot be inferred.
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
        self._check_result(types[0])
        return Node(op=self.op, operands=types, attributes=self.attributes, name=self.proto.name, where=self.where)

    def _check_result(self, operand: TensorType) -> None:
        """Check that the result is declared as of the operands' element type, where it is declared."""
        (name,) = self.proto.output
        proto = self.scope.protos.get(name)
        declared = None if proto is None else tensors.element_kind(proto)
        if declared is not None and declared.name != operand.dtype:
            given, stated = DIALECT.spell(operand.dtype), f"tensor({declared.word.lower()})"
            raise DTypeError(
                "types", f"{self.op} of {given} gives {given}; {name!r} is declared {stated}", where=self.where
            )

    def _like(self, operand: int, other: TensorType | None) -> TensorType | None:
        """An operand without a known type has another one's element type, since an operator has one for all."""
        proto = self.scope.protos.get(self.proto.input[operand])
        if proto is not None and proto.WhichOneof("value"):
            kind = tensors.element_kind(proto)
            shown = f"tensor({kind.word.lower()})" if kind else (proto.WhichOneof("value") or "").removesuffix("_type")
            if kind or not proto.HasField("tensor_type"):
                raise DTypeError(
                    "types", f"{self.op} takes no {shown} ({self.proto.input[operand]!r})", where=self.where
                )
        result = self.scope.types.get(self.proto.output[0])
        known = other or result
        return None if known is None else TensorType(known.dtype)


def subtractions(
    model: Document | ModelProto, operators: Collection[Operator] = (SUBTRACT,), scopes: Iterable[Scope] | None = None
) -> Iterator[Subtraction]:
    """Yield every node of some operators of a model, in the graph, in bodies and in functions.

    Args:
        model, operators: where, and which. scopes: those of the model, where the caller has walked it.

    Raises:
        SpecError: a node without as many inputs as the operator has operands, and one output, each with a name.
    """
    for scope, i, op in sub_nodes(model, operators, scopes):
        node = scope.nodes[i]
        types = tuple(scope.types.get(name) for name in node.input)
        for attributes in _bound_attributes(scope, node):
            yield Subtraction(scope, i, op, attributes, types)


def sub_nodes(
    model: Document | ModelProto, operators: Collection[Operator] = (SUBTRACT,), scopes: Iterable[Scope] | None = None
) -> Iterator[tuple[Scope, int, OpVersion]]:
    """Yield the scope, number and version of every node of some operators, without a look at types.

    Args:
        model, operators, scopes: as of :func:`subtractions`.

    Raises:
        SpecError: a node without as many inputs as the operator has operands, and one output, each with a name.
    """
    names = {one.onnx for one in operators}
    for scope in walk(model) if scopes is None else scopes:
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


def _bound_attributes(scope: Scope, node: NodeProto) -> list[tensors.Attributes]:
    """Return a node's attributes by name, once for each different way in which callers fill them in."""
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        return [tensors.values_of(node.attribute)]
    *_, outermost = scope.around()
    found: list[tensors.Attributes] = []
    for binding in scope.inferred().bindings.get(outermost.where, [{}]):
        values = tensors.values_of(filled_in(node, binding))
        if values not in found:
            found.append(values)
    return found
