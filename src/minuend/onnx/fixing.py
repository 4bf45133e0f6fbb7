"""fix for ONNX models: functions inlined, old opsets converted, Subs rewritten."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from functools import partial
from typing import cast

from onnx import ModelProto, NodeProto

from minuend.core.policies import Contract
from minuend.errors import ConversionRefused, Unsupported, listed
from minuend.judging.checking import reads_none
from minuend.models.occurrences import Occurrence, occurrences
from minuend.models.opening import Model
from minuend.models.ranges.assumed import NONE, Assumptions
from minuend.onnx.documents.constant_storage import store_raw
from minuend.onnx.graphs.inlining import inlined
from minuend.onnx.graphs.walk import Scope, Subtraction, sub_nodes
from minuend.onnx.model import Model as OnnxModel
from minuend.onnx.opsets import convert_proto
from minuend.onnx.rewrites.opset_choice import choose_for_opset, lowest_opset, needs_modern
from minuend.onnx.rewrites.rewriting import Rewriter
from minuend.rewriting.choosing import Choice
from minuend.rewriting.verification import Spot
from minuend.rewriting.work import Fold, Refusal, Work
from minuend.runtimes.quirks import quirks
from minuend.runtimes.targets import Target
from minuend.standards.node import Node


class OnnxWork(Work):
    """An ONNX model that is fixed for a runtime or an opset."""

    def __init__(
        self,
        model: OnnxModel,
        target: Target | int,
        overflow: Contract,
        accept: Collection[str],
        assumed: Assumptions = NONE,
    ) -> None:
        super().__init__(target, overflow, accept, assumed)
        self.original = model
        self._left: list[tuple[str, str]] = []
        self._moved: set[tuple[str, str]] = set()
        self._start()

    def _start(self) -> None:
        """Begin with a copy of the model as it was read."""
        proto = ModelProto()
        proto.CopyFrom(self.original.proto)
        self.changes[:] = (
            self.original.notes
        )  # it was normalised when it was read: what is written is not what was read
        self.changed = bool(self.original.notes)
        self._take(proto)

    def _take(self, proto: ModelProto) -> None:
        """Continue with another proto, whose files are the original's."""
        original = self.original
        self.model = OnnxModel(proto, folder=original.folder, path=original.path, name=original.name)

    def result(self) -> Model:
        return cast(Model, self.model)

    def run(self) -> None:
        if isinstance(self.target, Target):
            needless = self._inline(self.target)
            self._store(self.target)
            self._modernise(self.target)
        if not self.refused:
            self._rewritten()
        if isinstance(self.target, Target) and needless and not (self.touched or self.refused or self.unknown):
            self._start()  # the functions were inlined to learn the types of their calls, and nothing was wrong
        if isinstance(self.target, int):
            self._reach(self.target)
        self.left = sum(one not in self._moved for one in self._left)

    def _inline(self, target: Target) -> bool:
        """Inline functions, where the target or the types of their calls need it.

        Returns:
            Whether the target does not need it, so that it is undone where nothing is rewritten.
        """
        if not self.model.proto.functions:
            return False
        why = ""
        if not quirks(target.runtime).local_functions:
            why = f"{target.name} has no local functions"
        elif any(
            isinstance(occurrence.node, Unsupported)
            for occurrence in occurrences(self.model, self.assumed)
            if occurrence.where.startswith("function")
        ):
            why = "their calls are of several types"
        if why:
            names = listed(dict.fromkeys(function.name for function in self.model.proto.functions), "and")
            self._take(inlined(self.model.proto))
            self.changed = True
            self.changes.append(f"the calls of {names} became the nodes of the functions, because {why}")
        return bool(why) and quirks(target.runtime).local_functions

    def _store(self, target: Target) -> None:
        """Store constants so that the target reads them."""
        done = store_raw(self.model, quirks(target.runtime).strict)
        if done:
            self.changed = True
            self.changes.append(f"{done}, which {target.name} reads")

    def _reach(self, opset: int) -> None:
        """Convert to the opset; what cannot be converted is refused, and the model stays as it was."""
        try:
            self._convert(opset)
        except ConversionRefused as refusal:
            known = {one.location for one in self.refused}
            others = [Refusal(place, "", "", why, "") for place, why in refusal.nodes.items() if place not in known]
            self.refused += [one for one in others if one.reason not in known]
            self.changes.clear()
            self.touched.clear()
            self._moved.clear()
            self.changed = False
            self._take(self.original.proto)

    def _convert(self, opset: int) -> None:
        proto, changes, losses = convert_proto(self.model.proto, opset)
        if proto != self.model.proto:
            self.changed = True
            self.changes += [*changes, *(f"lost: {loss}" for loss in losses)]
            before, after = _subtractions(self.model.proto), _subtractions(proto)
            self._moved.update(key for key, nodes in before.items() if after.get(key) != nodes)
        self._take(proto)

    def _modernise(self, target: Target) -> None:
        """Bring a model whose Subs broadcast by the old rule to the lowest opset that the target runs."""
        found = list(occurrences(self.model, self.assumed))
        old = [occurrence for occurrence in found if needs_modern(occurrence, target, self.overflow, self.accept)]
        if not old:
            return
        try:
            self._convert(lowest_opset(found, target))
        except ConversionRefused as refusal:
            reasons = listed([f"{place}: {reason}" for place, reason in refusal.nodes.items()], "and")
            for occurrence in old:
                self.refuse(
                    occurrence,
                    Choice(
                        "refuse",
                        f"{target.name} does not run {occurrence.op} as it is defined, and the model cannot be "
                        f"brought to a later opset: {reasons}",
                        instead="rewrite those nodes first",
                    ),
                )
            return
        self.touched.update(
            dict.fromkeys(occurrence.node.a.dtype for occurrence in old if isinstance(occurrence.node, Node))
        )

    def key(self, occurrence: Occurrence) -> Hashable:
        one = cast(Subtraction, occurrence.live)
        return _key(one.scope, one.proto)

    def _rewritten(self) -> None:
        """Rewrite; what is not known to be right is reverted."""
        proto = self.model.proto
        before = ModelProto(functions=proto.functions)
        before.graph.node.extend(proto.graph.node)

        def undo() -> None:
            for field, saved in ((proto.graph.node, before.graph.node), (proto.functions, before.functions)):
                del field[:]
                field.extend(saved)
            self._left.clear()
            self._take(proto)

        self.settle(self._rewrite, undo)

    def _rewrite(self) -> None:
        rewriter = Rewriter(self.model)
        unread = reads_none(cast(Model, self.model), self.target) if isinstance(self.target, Target) else ""
        for occurrence in list(occurrences(self.model, self.assumed)):
            one = cast(Subtraction, occurrence.live)
            fold = Fold(occurrence, self.target, partial(rewriter.folded, one, overflow=self.overflow))
            writable = partial(rewriter.writable, one)
            if isinstance(self.target, int):
                choice = choose_for_opset(occurrence, self.target, self.overflow, writable)
            else:
                choice = self.choose(occurrence, writable=writable, foldable=fold, unread=unread)
            if choice.action == "refuse":
                self.refuse(occurrence, choice)
            elif choice.action == "leave":
                self.leave(occurrence, choice)
                self._left.append(_key(one.scope, one.proto))
            else:
                self._replace(occurrence, choice, fold, rewriter)
        rewriter.apply()
        self._take(self.model.proto)

    def _replace(self, occurrence: Occurrence, choice: Choice, fold: Fold, rewriter: Rewriter) -> None:
        node, one = cast(Node, occurrence.node), cast(Subtraction, occurrence.live)
        self._watch(occurrence.where, node, one, rewriter)
        if choice.recipe is None:
            assert fold.array is not None
            rewriter.fold(one, fold.array)
            self.note(occurrence, "became a constant", choice.reason)
            return
        made, name = rewriter.write(one, node.a.element, choice.recipe), choice.recipe.name
        self.written |= {
            _key(one.scope, new): (occurrence.where, name) for new in made if new.op_type == one.proto.op_type
        }
        self.note(occurrence, f"became {', '.join(new.op_type for new in made)} ({name})", choice.reason)

    def _watch(self, where: str, node: Node, one: Subtraction, rewriter: Rewriter) -> None:
        if one.scope.where == "graph" and isinstance(self.target, Target):
            stored = [rewriter.constant(one.scope, name) for name in one.proto.input]
            a, b = (name if array is None else array for name, array in zip(one.proto.input, stored, strict=True))
            self.spots.append(Spot(node, where, a, b, one.proto.output[0]))


work = OnnxWork


def _key(scope: Scope, node: NodeProto) -> tuple[str, str]:
    """What finds a Sub after a conversion, which may change places: its graph or function, and its output."""
    *_, outermost = scope.around()
    return outermost.where, node.output[0]


def _subtractions(model: ModelProto) -> dict[tuple[str, str], list[bytes]]:
    found: dict[tuple[str, str], list[bytes]] = {}
    for scope, i, _ in sub_nodes(model):
        node = scope.nodes[i]
        found.setdefault(_key(scope, node), []).append(node.SerializeToString(deterministic=True))
    return found
