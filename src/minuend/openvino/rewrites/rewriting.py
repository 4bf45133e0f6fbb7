"""Rewrites the Subtracts of an OpenVINO IR: recipes, constants and plain broadcasting in the place of layers."""

from __future__ import annotations

from dataclasses import replace

from minuend.core.elements import ElementType
from minuend.core.policies import Contract
from minuend.errors import SpecError
from minuend.names import Names
from minuend.openvino.execution import layers as table
from minuend.openvino.ir.builder import Builder
from minuend.openvino.ir.sections import Array, Layer, Ref
from minuend.openvino.model import Model
from minuend.openvino.rewrites.emitter import LayerEmitter
from minuend.openvino.tensor import NARROW, Tensor
from minuend.operators.recipe import Recipe
from minuend.rewriting.work import difference
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import validate


class Rewriter:
    """A model whose Subtracts are replaced, at once.

    Attributes:
        model: the model. last: the layer that gives what the Subtract that was replaced last gave.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._names = Names(layer.name for layer in model.layers)
        self.last: Layer

    # ---- broadcasting -----------------------------------------------------------------------------------------

    def write(self, layer: Layer, node: Node, element: ElementType, recipe: Recipe) -> list[Layer]:
        """Put a recipe in a Subtract's place; return the new layers but for constants."""
        start = len(self.model.layers)
        adding = Builder(model=self.model)
        a, b = layer.sources()
        b = self._aligned(layer, node, b, adding)
        last = recipe.write(node.op.computes, element, (a, b), LayerEmitter(layer, adding, self._names.fresh))
        self._put(layer, last.layer, start)
        return [made for made in self._made if made.type != "Const"]

    def spell(self, layer: Layer, node: Node) -> None:
        """Reshape B to where pdpd puts it, and broadcast by numpy's rule."""
        start = len(self.model.layers)
        b = layer.sources()[1]
        port = layer.inputs[1]
        port.source = self._aligned(layer, node, b, Builder(model=self.model))
        layer.data["auto_broadcast"] = "numpy"
        layer.data.pop(table.AXIS, None)
        self._move(layer, start)
        self.last = layer

    def _aligned(self, layer: Layer, node: Node, b: Ref, adding: Builder) -> Ref:
        behind = dims_behind(node)
        if not behind:
            return b
        rank = node.b.rank
        assert rank is not None
        name = self._names.fresh(f"{layer.name}/b")
        return adding.unsqueeze(name, b, list(range(rank, rank + behind)), names=())

    # ---- constants --------------------------------------------------------------------------------------------

    def folded(self, layer: Layer | None, node: Node, overflow: Contract) -> Array | None:
        """Return the difference of two constants; ``None`` where an operand is computed, or the result is too large.

        A Subtract in a body of another layer has no ``layer`` that can be rewritten.
        """
        if layer is None or any(ref.layer.type != "Const" for ref in layer.sources()):
            return None
        return difference(node, [table.elements(ref.layer) for ref in layer.sources()], overflow)

    def fold(self, layer: Layer, element: ElementType, array: Array) -> None:
        """Put a constant in a Subtract's place."""
        start = len(self.model.layers)
        value = Tensor(element, array) if element in NARROW else array
        made = Builder(model=self.model).constant(layer.name, value, names=())
        self._put(layer, made.layer, start)

    # ---- places -----------------------------------------------------------------------------------------------

    def _put(self, old: Layer, new: Layer, start: int) -> None:
        """Replace an old layer with a new one, which gets its readers and its names."""
        new.name = old.name
        new.attributes.update(old.attributes)
        new.extra = [child for child in old.extra if child.tag != "data"]
        (gone,), (port,) = old.outputs, new.outputs
        port.names, port.extra = gone.names, gone.extra
        port.attributes.update(gone.attributes)
        for layer in self.model.layers:
            for way in layer.inputs:
                if way.source is not None and way.source.layer is old:
                    way.source = Ref(new, way.source.output)
        self._move(old, start)
        self.model.layers.remove(old)
        self.last = new

    def _move(self, old: Layer, start: int) -> None:
        """Move the layers that were added at the end to the place of an old one."""
        layers = self.model.layers
        self._made = layers[start:]
        del layers[start:]
        at = layers.index(old)
        layers[at:at] = self._made


def dims_behind(node: Node) -> int:
    """How many dims of A come after B's last one; 0 where B sits at A's end, or by another rule than pdpd."""
    if node.attribute("auto_broadcast") != "pdpd" or node.a.rank is None or node.b.rank is None:
        return 0
    return node.a.rank - node.b.rank - validate(node).b_start


def spelled(node: Node) -> Node | None:
    """The same subtraction by numpy's rule; ``None`` where it is not by pdpd, invalid, or a rank is not known."""
    if node.attribute("auto_broadcast") != "pdpd" or node.a.rank is None or node.b.shape is None:
        return None
    try:
        b = TensorType(node.b.dtype, (*node.b.shape, *(1,) * dims_behind(node)))
    except SpecError:
        return None
    return replace(node, operands=(node.a, b), attributes={"auto_broadcast": "numpy"})
