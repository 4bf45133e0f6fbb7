"""A scope of an ONNX model: a list of nodes, its place, the scope around it, and what names mean in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, MutableSequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TypeProto

from minuend.core.shapes import Dim, Shape
from minuend.onnx.graphs.nesting import Holder, all_inputs, graphs, name_of, place

MAIN = ("", "ai.onnx")
"""The two spellings of ONNX's main domain."""


def domain_of(stated: str) -> str:
    """Return a domain as ONNX's registry spells it: the main one's is ``""``."""
    return "" if stated in MAIN else stated


Types: TypeAlias = Mapping[str, TypeProto]
INVENTED = "unk__"
"""With this begin the names that ONNX's inference gives to dims that it does not know."""


def shape_of(type_: TypeProto | None) -> Shape:
    """Return a tensor's shape: dims that are an int, a name or ``None``; ``None`` for an unknown rank or no tensor.

    >>> from onnx import helper
    >>> shape_of(helper.make_tensor_type_proto(1, (2, "N", None))), shape_of(helper.make_tensor_type_proto(1, None))
    ((2, 'N', None), None)
    """
    if type_ is None or not type_.HasField("tensor_type") or not type_.tensor_type.HasField("shape"):
        return None
    dims: list[Dim] = []
    for dim in type_.tensor_type.shape.dim:
        known = dim.HasField("dim_value") and dim.dim_value >= 0
        dims.append(dim.dim_value if known else dim.dim_param or None)
    return tuple(dims)


def keep_common(mine: TypeProto.Tensor, theirs: TypeProto.Tensor) -> None:
    """Leave of a tensor type's dims those that another has too: an unknown rank where ranks differ."""
    if not mine.HasField("shape"):
        return
    if not theirs.HasField("shape") or len(theirs.shape.dim) != len(mine.shape.dim):
        mine.ClearField("shape")
        return
    for own, other in zip(mine.shape.dim, theirs.shape.dim, strict=True):
        if own != other:
            own.Clear()


@dataclass(eq=False)
class Scope:
    """A graph, body or function. The protos are live: a change in them is a change of the model.

    Attributes:
        proto: what holds the nodes. where: ``"graph"``, ``"graph.node[2].then_branch"``, ``"function 'f'"``.
        opsets: the opset of each imported domain; the main domain is ``""``. parent: the scope around a body.
    """

    proto: Holder
    where: str
    opsets: Mapping[str, int]
    parent: Self | None = None

    @property
    def nodes(self) -> MutableSequence[NodeProto]:
        """The live repeated field of nodes."""
        nodes: MutableSequence[NodeProto] = self.proto.node
        return nodes

    @property
    def opset(self) -> int | None:
        """The main domain's opset; ``None`` where it is not imported (then no node is of that domain)."""
        return self.opsets.get("")

    @property
    def inputs(self) -> list[str]:
        """The names of its inputs, in order."""
        return [name_of(value) for value in self.proto.input]

    @property
    def outputs(self) -> list[str]:
        """The names of its outputs, in order."""
        return [name_of(value) for value in self.proto.output]

    def place(self, i: int) -> str:
        """Say where a node stands: ``"graph.node[3] 'sub_mean'"``."""
        return place(self.where, i, self.nodes[i])

    # ---- scopes of a model, around and within ------------------------------------------------------------------

    @classmethod
    def of(cls, model: ModelProto, **own: Any) -> Iterator[Self]:
        """The scopes of a model's graph and of its local functions; ``own`` is what a subclass adds."""
        yield cls(model.graph, "graph", model_opsets(model), **own)
        for function, where in functions(model):
            yield cls(function, where, read_opsets(function.opset_import), **own)

    def around(self) -> Iterator[Self]:
        """The scope itself, then those around it, the outermost last."""
        scope: Self | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def inner(self, body: GraphProto, i: int, name: str) -> Self:
        """The scope of a body that node ``i`` has under a name."""
        return replace(self, proto=body, where=f"{self.where}.node[{i}].{name}", parent=self)

    def bodies(self, i: int, node: NodeProto) -> Iterator[Self]:
        """The scopes of the bodies of node ``i``."""
        for name, body in graphs(node):
            yield self.inner(body, i, name)

    def within(self) -> Iterator[Self]:
        """The scope itself, then every body in it, where its node stands."""
        yield self
        for i, node in enumerate(self.nodes):
            if node.attribute:
                for body in self.bodies(i, node):
                    yield from body.within()

    # ---- what names mean ----------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, TensorProto]:
        """Its own tensors: initializers, and the values of Constant nodes where those state a tensor."""
        found: dict[str, TensorProto] = {}
        for node in self.nodes:
            if is_constant(node) and node.output:
                for attribute in node.attribute:
                    if attribute.name == "value" and not attribute.ref_attr_name:
                        found.setdefault(node.output[0], attribute.t)
        return found | self.initializers()

    def initializers(self) -> dict[str, TensorProto]:
        """Its own initializers; a function has none."""
        if isinstance(self.proto, FunctionProto):
            return {}
        return {tensor.name: tensor for tensor in reversed(self.proto.initializer)}

    def visible_tensors(self) -> dict[str, TensorProto]:
        """The tensors that it sees, its own and those around it; an inner name hides an outer one."""
        found: dict[str, TensorProto] = {}
        for scope in self.around():
            found = scope.tensors() | found
        return found

    def last_reads(self) -> list[list[str]]:
        """For each node the values that nothing reads after it, those that it computes in vain included."""
        later = set(self.outputs)
        found: list[list[str]] = []
        for node in reversed(self.nodes):
            found.append([name for name in {*node.output, *all_inputs(node)} if name not in later])
            later.update(found[-1])
        return found[::-1]


def is_constant(node: NodeProto) -> bool:
    """Whether a node is ONNX's Constant."""
    return node.op_type == "Constant" and node.domain in MAIN


# ---- models and functions -------------------------------------------------------------------------------------


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
    return {domain_of(item.domain): item.version for item in imports}


def model_opsets(model: ModelProto) -> dict[str, int]:
    """Return a model's opsets; before IR version 3 a model without imports is at opset 1."""
    opsets = read_opsets(model.opset_import)
    return {"": 1} if not opsets and model.ir_version < 3 else opsets
