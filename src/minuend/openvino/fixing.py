"""fix for OpenVINO IR: Subtracts rewritten, pdpd spelt out."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from functools import partial
from typing import cast

from minuend.core.policies import Contract
from minuend.models.occurrences import Occurrence, occurrences
from minuend.models.opening import Model
from minuend.models.ranges.assumed import NONE, Assumptions
from minuend.openvino.execution import layers as table
from minuend.openvino.ir.sections import Layer, Ref
from minuend.openvino.model import Model as OpenVinoModel
from minuend.openvino.model import read
from minuend.openvino.rewrites.rewriting import Rewriter, spelled
from minuend.rewriting.choosing import SPELT, Choice
from minuend.rewriting.verification import Spot, Watched
from minuend.rewriting.work import Fold, Work
from minuend.runtimes.targets import Target
from minuend.standards.node import Node


class OpenVinoWork(Work):
    """An OpenVINO IR that is fixed for a runtime."""

    def __init__(
        self,
        model: OpenVinoModel,
        target: Target | int,
        overflow: Contract,
        accept: Collection[str],
        assumed: Assumptions = NONE,
    ) -> None:
        super().__init__(target, overflow, accept, assumed)
        self._original = model
        self._take()

    def _take(self) -> None:
        """Begin with the model as it was read."""
        xml, weights = self._original.to_bytes()
        self.model = read(xml, weights)
        self.model.files = self._original.files

    def result(self) -> Model:
        self.model.infer()
        return cast(Model, self.model)

    def key(self, occurrence: Occurrence) -> Hashable:
        return id(occurrence.live)

    def run(self) -> None:
        self.settle(self._rewrite, self._take)

    def _rewrite(self) -> None:
        rewriter = Rewriter(self.model)
        for occurrence in list(occurrences(self.model, self.assumed)):
            node, layer = occurrence.node, cast(Layer | None, occurrence.live)
            fold = Fold(occurrence, self.target, partial(rewriter.folded, layer, overflow=self.overflow))
            same = spelled(node) if isinstance(node, Node) else None
            choice = self.choose(occurrence, writable=lambda *_: True, foldable=fold, spelled=same)
            if choice.action == "leave":
                self.leave(occurrence, choice)
                self.left += 1
            elif choice.action == "refuse":
                self.refuse(occurrence, choice)
            elif layer is None:
                why = f"{choice.reason}; it is in a body of another layer, which fix does not rewrite"
                inside = Choice("refuse", why, instead="fix the ONNX model that the IR was made from")
                self.refuse(occurrence, inside)
            else:
                self._replace(occurrence, layer, choice, fold, rewriter)

    def _replace(self, occurrence: Occurrence, layer: Layer, choice: Choice, fold: Fold, rewriter: Rewriter) -> None:
        node = cast(Node, occurrence.node)
        (a, b), kind = layer.sources(), layer.type
        made: list[Layer] = []
        name = ""
        if choice.action == "spell":
            rewriter.spell(layer, node)
            made, name = [layer], SPELT
            self.note(occurrence, "has its broadcasting spelt out", choice.reason)
        elif choice.recipe is None:
            assert fold.array is not None
            rewriter.fold(layer, node.a.element, fold.array)
            self.note(occurrence, "became a Const", choice.reason)
        else:
            made, name = rewriter.write(layer, node, node.a.element, choice.recipe), choice.recipe.name
            self.note(occurrence, f"became {', '.join(one.type for one in made)} ({name})", choice.reason)
        self.written.update({id(one): (occurrence.where, name) for one in made if one.type == kind})
        self.spots.append(Spot(node, occurrence.where, _watched(a), _watched(b), Ref(rewriter.last, 0)))


work = OpenVinoWork


def _watched(ref: Ref) -> Watched:
    """A constant's elements, an input's name, or a reference."""
    if ref.layer.type == "Const":
        return table.elements(ref.layer)
    if ref.layer.type == "Parameter":
        return next(iter((*ref.port.names, ref.layer.name)))
    return ref
