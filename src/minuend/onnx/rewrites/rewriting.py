"""Rewrites the Subs of an ONNX model: recipes and folded constants in the place of nodes, nothing else touched."""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence

from onnx import GraphProto, NodeProto

from minuend.core.elements import ElementType
from minuend.core.policies import Contract
from minuend.names import Names
from minuend.onnx.documents.tensors import Array
from minuend.onnx.graphs import walk
from minuend.onnx.graphs.nesting import all_names
from minuend.onnx.graphs.scope import MAIN
from minuend.onnx.model import Model
from minuend.onnx.rewrites.emitter import NodeEmitter, constant, legal, take_over
from minuend.operators.recipe import Recipe
from minuend.rewriting.work import difference
from minuend.standards.node import Node


class Rewriter:
    """A model whose Subs are replaced.

    Attributes:
        model: the model, changed in place by :meth:`apply`.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._names = Names(all_names(model.proto))
        self._planned: list[tuple[walk.Subtraction, list[NodeProto]]] = []

    def writable(self, one: walk.Subtraction, element: ElementType, recipe: Recipe) -> bool:
        """Whether the opset in force has the operators of a recipe."""
        return one.op.broadcasting == "numpy" and legal(recipe, one.op.computes, element, one.scope.opset or 0)

    def write(self, one: walk.Subtraction, element: ElementType, recipe: Recipe) -> list[NodeProto]:
        """Plan a recipe for a Sub; return the new nodes but for constants."""
        emitter = NodeEmitter(one.proto, self._names.fresh, one.scope.opset or 0)
        recipe.write(one.op.computes, element, one.proto.input, emitter)
        self._planned.append((one, emitter.nodes))
        return [node for node in emitter.nodes if node.op_type != "Constant"]

    # ---- constants --------------------------------------------------------------------------------------------

    def constant(self, scope: walk.Scope, name: str) -> Array | None:
        """Return the elements of a value that is a constant of the model, else ``None``."""
        for outer in scope.around():
            if isinstance(outer.proto, GraphProto):
                for tensor in outer.proto.initializer:
                    if tensor.name == name:
                        return self.model.array(tensor)
            for node in outer.nodes:
                if name in node.output:
                    return self._stored(node)
        return None

    def _stored(self, node: NodeProto) -> Array | None:
        if node.op_type != "Constant" or node.domain not in MAIN:
            return None
        tensor = next((a.t for a in node.attribute if a.name == "value" and not a.ref_attr_name), None)
        return None if tensor is None else self.model.array(tensor, "a Constant")

    def folded(self, one: walk.Subtraction, node: Node, overflow: Contract) -> Array | None:
        """Return the difference of two constants; ``None`` where it cannot be computed here or would be too large."""
        found = (self.constant(one.scope, name) for name in one.proto.input)
        operands = [array for array in found if array is not None]
        return difference(node, operands, overflow) if len(operands) == len(one.proto.input) else None

    def fold(self, one: walk.Subtraction, array: Array) -> None:
        """Plan a constant in the place of a Sub."""
        made = constant(one.proto.output[0], array)
        take_over(made, one.proto)
        self._planned.append((one, [made]))

    def apply(self) -> None:
        """Insert the planned nodes, in inner bodies first, because a list of nodes is replaced as a whole."""
        by_scope: dict[str, dict[int, list[NodeProto]]] = {}
        scopes = {one.scope.where: one.scope for one, _ in self._planned}
        for one, nodes in self._planned:
            by_scope.setdefault(one.scope.where, {})[one.index] = nodes
        for where in sorted(by_scope, key=lambda where: -len(list(scopes[where].around()))):
            _replace(scopes[where].nodes, by_scope[where])
        self._planned.clear()


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
