"""Rewrites the Subtracts of an OpenVINO IR: recipes, constants and plain broadcasting in the place of layers."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from minuend.errors import SpecError
from minuend.files.streaming.reading import Array
from minuend.models.occurrences import Occurrence
from minuend.names import Names
from minuend.openvino.execution import layers as table
from minuend.openvino.execution import running
from minuend.openvino.ir.builder import Builder
from minuend.openvino.ir.sections import Layer, Ref
from minuend.openvino.model import Model
from minuend.openvino.rewrites.emitter import LayerEmitter
from minuend.openvino.tensor import NARROW, Tensor
from minuend.operators.recipe import Recipe
from minuend.rewriting.rewriter import Rewriter, Spot, Watched, Written
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import validate


class OpenVinoRewriter(Rewriter):
    """A model whose Subtracts are replaced, at once."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._names = Names(layer.name for layer in model.layers)

    def write(self, occurrence: Occurrence, recipe: Recipe) -> Written:
        layer, node = _parts(occurrence)
        a, b = layer.sources()
        start = len(self.model.layers)
        adding = Builder(model=self.model)
        operands = (a, self._aligned(layer, node, b, adding))
        emitter = LayerEmitter(layer, adding, self._names.fresh)
        last = recipe.write(node.op.computes, node.a.element, operands, emitter)
        made = [new for new in self._put(layer, last.layer, start) if new.type != "Const"]
        words = f"became {', '.join(new.type for new in made)} ({recipe.name})"
        operators = [id(new) for new in made if new.type == layer.type]
        return Written(words, operators, self._spot(occurrence, (a, b), last.layer))

    def spelled(self, occurrence: Occurrence) -> Node | None:
        """Return a Subtract's node by numpy's rule; ``None`` where it is not by pdpd, invalid, or of unknown rank."""
        node = occurrence.node
        if not isinstance(node, Node) or node.attribute("auto_broadcast") != "pdpd":
            return None
        if node.a.rank is None or node.b.shape is None:
            return None
        try:
            b = TensorType(node.b.dtype, (*node.b.shape, *(1,) * _dims_behind(node)))
        except SpecError:
            return None
        return replace(node, operands=(node.a, b), attributes={"auto_broadcast": "numpy"})

    def spell(self, occurrence: Occurrence) -> Written:
        """Reshape B to where pdpd puts it, and broadcast by numpy's rule."""
        layer, node = _parts(occurrence)
        a, b = layer.sources()
        start = len(self.model.layers)
        layer.inputs[1].source = self._aligned(layer, node, b, Builder(model=self.model))
        layer.data["auto_broadcast"] = "numpy"
        layer.data.pop(table.AXIS, None)
        self._move(layer, start)
        return Written("has its broadcasting spelt out", [id(layer)], self._spot(occurrence, (a, b), layer))

    def _aligned(self, layer: Layer, node: Node, b: Ref, adding: Builder) -> Ref:
        behind = _dims_behind(node)
        if not behind:
            return b
        rank = node.b.rank
        assert rank is not None
        name = self._names.fresh(f"{layer.name}/b")
        return adding.unsqueeze(name, b, list(range(rank, rank + behind)), names=())

    def constants(self, occurrence: Occurrence) -> list[Array] | None:
        """Return the operands' elements; ``None`` where one is computed, or the Subtract is in another layer's body."""
        layer = cast(Layer | None, occurrence.live)
        if layer is None or any(ref.layer.type != "Const" for ref in layer.sources()):
            return None
        return [table.elements(ref.layer) for ref in layer.sources()]

    def fold(self, occurrence: Occurrence, result: Array) -> Written:
        layer, node = _parts(occurrence)
        a, b = layer.sources()
        start = len(self.model.layers)
        value = Tensor(node.a.element, result.view(np.uint8)) if node.a.element in NARROW else result
        made = Builder(model=self.model).constant(layer.name, value, names=())
        self._put(layer, made.layer, start)
        return Written("became a Const", spot=self._spot(occurrence, (a, b), made.layer))

    def _put(self, old: Layer, new: Layer, start: int) -> list[Layer]:
        """Replace an old layer with a new one, which gets its readers and its names; return what was added."""
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
        added = self._move(old, start)
        self.model.layers.remove(old)
        return added

    def _move(self, old: Layer, start: int) -> list[Layer]:
        """Move the layers that were added at the end to the place of an old one."""
        layers = self.model.layers
        added = layers[start:]
        del layers[start:]
        at = layers.index(old)
        layers[at:at] = added
        return added

    def _spot(self, occurrence: Occurrence, operands: tuple[Ref, Ref], result: Layer) -> Spot:
        """Where a Subtract's operands and its result can be watched."""
        a, b = map(self._watched, operands)
        return Spot(cast(Node, occurrence.node), occurrence.where, a, b, Ref(result, 0))

    def _watched(self, ref: Ref) -> Watched:
        """A constant's elements, an input's name, or a reference."""
        if ref.layer.type == "Const":
            return table.elements(ref.layer)
        if ref.layer.type == "Parameter":
            return running.input_names(self.model.section)[ref.layer][0]
        return ref


def _parts(occurrence: Occurrence) -> tuple[Layer, Node]:
    return cast(Layer, occurrence.live), cast(Node, occurrence.node)


def _dims_behind(node: Node) -> int:
    """How many dims of A come after B's last one; 0 where B sits at A's end, or by another rule than pdpd."""
    if node.attribute("auto_broadcast") != "pdpd" or node.a.rank is None or node.b.rank is None:
        return 0
    return node.a.rank - node.b.rank - validate(node).b_start
