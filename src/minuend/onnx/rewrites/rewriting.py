"""Rewrites the Subs of an ONNX model: recipes and folded constants in the place of nodes, nothing else touched."""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence, Sequence
from typing import cast

from onnx import NodeProto

from minuend.models.occurrences import Occurrence
from minuend.names import Names
from minuend.onnx.documents.tensors import Array
from minuend.onnx.graphs import walk
from minuend.onnx.graphs.nesting import all_names
from minuend.onnx.model import Model
from minuend.onnx.rewrites.emitter import NodeEmitter, constant, legal, take_over
from minuend.operators.recipe import Recipe
from minuend.rewriting.rewriter import Rewriter, Spot, Written
from minuend.standards.node import Node


class OnnxRewriter(Rewriter):
    """A model whose Subs are replaced.

    Attributes:
        model: the model, changed in place by :meth:`apply`. watching: whether places are noted where runtimes show
            operands and results.
    """

    def __init__(self, model: Model, *, watching: bool) -> None:
        self.model = model
        self.watching = watching
        self._names = Names(all_names(model.proto))
        self._planned: list[tuple[walk.Subtraction, list[NodeProto]]] = []

    def writable(self, occurrence: Occurrence, recipe: Recipe) -> bool:
        """Return whether the opset in force has the operators of a recipe."""
        one, node = parts(occurrence)
        return one.op.broadcasting == "numpy" and legal(recipe, one.op.computes, node.a.element, one.scope.opset or 0)

    def write(self, occurrence: Occurrence, recipe: Recipe) -> Written:
        """Plan a recipe for a Sub."""
        one, node = parts(occurrence)
        emitter = NodeEmitter(one.proto, self._names.fresh, one.scope.opset or 0)
        recipe.write(one.op.computes, node.a.element, one.proto.input, emitter)
        self._planned.append((one, emitter.nodes))
        made = [new for new in emitter.nodes if new.op_type != "Constant"]
        words = f"became {', '.join(new.op_type for new in made)} ({recipe.name})"
        operators = [key_of(one.scope, new) for new in made if new.op_type == one.proto.op_type]
        return Written(words, operators, self._spot(occurrence))

    def _spot(self, occurrence: Occurrence) -> Spot | None:
        """The operands and the result of a Sub of the main graph; those of bodies are not watched."""
        one, node = parts(occurrence)
        if one.scope.where != "graph" or not self.watching:
            return None
        stored = [self._constant(one.scope, name) for name in one.proto.input]
        a, b = (name if array is None else array for name, array in zip(one.proto.input, stored, strict=True))
        return Spot(node, occurrence.where, a, b, one.proto.output[0])

    # ---- constants --------------------------------------------------------------------------------------------

    def _constant(self, scope: walk.Scope, name: str) -> Array | None:
        """Return the elements of a value that is a constant of the model, else ``None``."""
        tensor = scope.visible_tensors().get(name)
        return None if tensor is None else self.model.array(tensor)

    def constants(self, occurrence: Occurrence) -> list[Array] | None:
        """Return the operands' elements; ``None`` where one is no constant of the model."""
        one, _ = parts(occurrence)
        found = (self._constant(one.scope, name) for name in one.proto.input)
        operands = [array for array in found if array is not None]
        return operands if len(operands) == len(one.proto.input) else None

    def fold(self, occurrence: Occurrence, result: Array) -> Written:
        """Plan a constant in the place of a Sub."""
        one, _ = parts(occurrence)
        made = constant(one.proto.output[0], result)
        take_over(made, one.proto)
        self._planned.append((one, [made]))
        return Written("became a constant", spot=self._spot(occurrence))

    def names(self, occurrence: Occurrence) -> Sequence[str]:
        return tuple(parts(occurrence)[0].proto.input)

    def apply(self) -> None:
        """Insert the planned nodes, in inner bodies first, because a list of nodes is replaced as a whole."""
        by_scope: dict[str, dict[int, list[NodeProto]]] = {}
        scopes = {one.scope.where: one.scope for one, _ in self._planned}
        for one, nodes in self._planned:
            by_scope.setdefault(one.scope.where, {})[one.index] = nodes
        for where in sorted(by_scope, key=lambda where: -len(list(scopes[where].around()))):
            _replace(scopes[where].nodes, by_scope[where])
        self._planned.clear()


def parts(occurrence: Occurrence) -> tuple[walk.Subtraction, Node]:
    """Return a Sub in its graph, and the node that it is."""
    return cast(walk.Subtraction, occurrence.live), cast(Node, occurrence.node)


def key_of(scope: walk.Scope, node: NodeProto) -> tuple[str, str]:
    """Return what finds a Sub after a conversion, which may change places: its graph or function, and its output."""
    *_, outermost = scope.around()
    return outermost.where, node.output[0]


def _replace(nodes: MutableSequence[NodeProto], planned: Mapping[int, list[NodeProto]]) -> None:
    first = min(planned)
    later: list[NodeProto] = []
    for i in range(first, len(nodes)):
        if i in planned:
            later += planned[i]
        else:
            copy = NodeProto()
            copy.CopyFrom(nodes[i])
            later.append(copy)
    del nodes[first:]
    nodes.extend(later)
