"""fix for OpenVINO IR: Subtracts rewritten, pdpd spelt out."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from functools import partial
from typing import Any, cast

from minuend.core.policies import Contract
from minuend.models.occurrences import Occurrence, occurrences
from minuend.models.opening import Model
from minuend.models.ranges.assumed import NONE, Assumptions
from minuend.openvino.execution import layers as table
from minuend.openvino.ir.sections import Layer, Ref
from minuend.openvino.model import read
from minuend.openvino.rewrites import rewriting as rewrite_openvino
from minuend.rewriting.choosing import SPELT, Choice, choose
from minuend.rewriting.verification import Spot
from minuend.rewriting.work import Fold, Work
from minuend.runtimes.targets import Target
from minuend.standards.node import Node


class OpenVinoWork(Work):
    """An OpenVINO IR on its way to a runtime."""

    def __init__(
        self, model: Any, goal: Target | int, overflow: Contract, accept: Collection[str], assumed: Assumptions = NONE
    ) -> None:
        super().__init__(goal, overflow, accept, assumed)
        self._original = model
        self._take()

    def _take(self) -> None:
        """Begin with the model as it came."""
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
        assert isinstance(self.goal, Target)
        target = self.goal
        rewriter = rewrite_openvino.Rewriter(self.model)
        for occurrence in list(occurrences(self.model, self.assumed)):
            node, layer = occurrence.node, cast(Layer | None, occurrence.live)
            spelled = rewrite_openvino.spelled(node) if isinstance(node, Node) else None
            fold = Fold(target, node, partial(rewriter.folded, layer, node, self.overflow))
            asked = (occurrence, target, self.overflow, self.accept)
            rejected = self.rejected.get(occurrence.where, {})
            choice = choose(*asked, writable=lambda *_: True, foldable=fold, spelled=spelled, rejected=rejected)
            if choice.action == "leave":
                self.leave(occurrence, choice)
                self.left += 1
            elif choice.action == "refuse" or not isinstance(node, Node):
                self.refuse(occurrence, choice)
            elif layer is None:
                why = f"{choice.reason}; it stands in a body of another layer, which is kept as its file has it"
                inside = Choice("refuse", why, instead="fix the ONNX model that the IR was made from")
                self.refuse(occurrence, inside)
            else:
                self._write(occurrence, node, layer, choice, fold, rewriter)

    def _write(
        self,
        occurrence: Occurrence,
        node: Node,
        layer: Layer,
        choice: Choice,
        fold: Fold,
        rewriter: rewrite_openvino.Rewriter,
    ) -> None:
        a, b = layer.sources()
        if choice.action == "spell":
            rewriter.spell(layer, node)
            self._written(occurrence, [layer], SPELT)
            self.note(occurrence, "has its broadcasting spelt out", choice.reason)
        elif choice.action == "fold":
            rewriter.fold(layer, node.a.element, fold.array)
            self.note(occurrence, "became a Const", choice.reason)
        elif choice.recipe is not None:
            made = rewriter.write(layer, node, node.a.element, choice.recipe)
            self._written(occurrence, made, choice.recipe.name)
            kinds = ", ".join(one.type for one in made)
            self.note(occurrence, f"became {kinds} ({choice.recipe.name})", choice.reason)
        self.spots.append(Spot(node, occurrence.where, _watched(a), _watched(b), Ref(rewriter.last, 0)))

    def _written(self, occurrence: Occurrence, made: Iterable[Layer], name: str) -> None:
        self.written.update({id(one): (occurrence.where, name) for one in made if one.type == "Subtract"})


work = OpenVinoWork


def _watched(ref: Ref) -> Any:
    """An operand as it can be watched: a constant's elements, an input's name, or a reference."""
    if ref.layer.type == "Const":
        return table.elements(ref.layer)
    if ref.layer.type == "Parameter":
        return next(iter((*ref.port.names, ref.layer.name)))
    return ref
