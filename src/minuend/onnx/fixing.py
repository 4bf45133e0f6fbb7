"""fix for ONNX models: functions put in place, old opsets left behind, Subs rewritten."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from functools import partial
from typing import Any, cast

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
from minuend.rewriting.choosing import Choice, choose
from minuend.rewriting.verification import Spot
from minuend.rewriting.work import Fold, Refusal, Work
from minuend.runtimes.quirks import quirks
from minuend.runtimes.targets import Target
from minuend.standards.node import Node


class OnnxWork(Work):
    """An ONNX model on its way to a runtime or an opset."""

    def __init__(
        self, model: Any, goal: Target | int, overflow: Contract, accept: Collection[str], assumed: Assumptions = NONE
    ) -> None:
        super().__init__(goal, overflow, accept, assumed)
        self.original = model
        self._left: list[tuple[str, str]] = []
        self._moved: set[tuple[str, str]] = set()
        self._start()

    def _start(self) -> None:
        """Begin with a copy of the model as it came."""
        proto = ModelProto()
        proto.CopyFrom(self.original.proto)
        self.changes[:] = self.original.notes  # it was mended when it was read: what is written is not what came
        self.changed = bool(self.original.notes)
        self._take(proto)

    def _take(self, proto: ModelProto) -> None:
        """Go on with another proto, whose files are the original's."""
        came = self.original
        self.model = OnnxModel(proto, folder=came.folder, path=came.path, name=came.name)

    def result(self) -> Model:
        return cast(Model, self.model)

    def run(self) -> None:
        if isinstance(self.goal, Target):
            spare = self._inline(self.goal)
            self._store(self.goal)
            self._modernise(self.goal)
        if not self.refused:
            self._rewritten()
        if isinstance(self.goal, Target) and spare and not (self.touched or self.refused or self.unknown):
            self._start()  # the functions were put in place to see what their calls are of, and nothing was wrong
        if isinstance(self.goal, int):
            self._reach(self.goal)
        self.left = sum(one not in self._moved for one in self._left)

    def _inline(self, target: Target) -> bool:
        """Put the bodies of functions in the places of their calls, where the target or the types want it.

        Returns:
            Whether the target does without it, so that it is for nothing where nothing is rewritten.
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
        """Convert to the opset that is asked for; what stands in the way is refused, and the model stays as it was."""
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
            told = listed([f"{place}: {reason}" for place, reason in refusal.nodes.items()], "and")
            for occurrence in old:
                self.refuse(
                    occurrence,
                    Choice(
                        "refuse",
                        f"{target.name} does not run {occurrence.op} as it is defined, and the model cannot be "
                        f"brought to a later opset: {told}",
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
        """Rewrite; what is written goes again where it is not known to be right."""
        proto = self.model.proto
        before = ModelProto(functions=proto.functions)
        before.graph.node.extend(proto.graph.node)

        def undo() -> None:
            for field, kept in ((proto.graph.node, before.graph.node), (proto.functions, before.functions)):
                del field[:]
                field.extend(kept)
            self._left.clear()
            self._take(proto)

        self.settle(self._rewrite, undo)

    def _rewrite(self) -> None:
        rewriter = Rewriter(self.model)
        unread = reads_none(cast(Model, self.model), self.goal) if isinstance(self.goal, Target) else ""
        for occurrence in list(occurrences(self.model, self.assumed)):
            node, one = occurrence.node, cast(Subtraction, occurrence.live)
            fold: Fold | None = None
            if isinstance(self.goal, int):
                choice = choose_for_opset(occurrence, self.goal, self.overflow, partial(rewriter.writable, one))
            else:
                fold = Fold(self.goal, node, partial(rewriter.folded, one, cast(Node, node), self.overflow))
                choice = choose(
                    occurrence,
                    self.goal,
                    self.overflow,
                    self.accept,
                    writable=partial(rewriter.writable, one),
                    foldable=fold,
                    rejected=self.rejected.get(occurrence.where, {}),
                    unread=unread,
                )
            if choice.action == "refuse" or not isinstance(node, Node):
                self.refuse(occurrence, choice)
            elif choice.action == "leave":
                self.leave(occurrence, choice)
                self._left.append(_key(one.scope, one.proto))
            elif choice.action == "fold" and fold is not None:
                self._watch(occurrence.where, node, one, rewriter)
                rewriter.fold(one, fold.array)
                self.note(occurrence, "became a constant", choice.reason)
            elif choice.recipe is not None:
                self._watch(occurrence.where, node, one, rewriter)
                made = rewriter.write(one, node.a.element, choice.recipe)
                name = choice.recipe.name
                self.written |= {_key(one.scope, n): (occurrence.where, name) for n in made if n.op_type == "Sub"}
                kinds = ", ".join(n.op_type for n in made)
                self.note(occurrence, f"became {kinds} ({choice.recipe.name})", choice.reason)
        rewriter.apply()
        self._take(self.model.proto)

    def _watch(self, where: str, node: Node, one: Subtraction, rewriter: Rewriter) -> None:
        if one.scope.where == "graph" and isinstance(self.goal, Target):
            stored = [rewriter.constant(one.scope, name) for name in one.proto.input]
            a, b = (name if array is None else array for name, array in zip(one.proto.input, stored, strict=True))
            self.spots.append(Spot(node, where, a, b, one.proto.output[0]))


work = OnnxWork


def _key(scope: Scope, node: NodeProto) -> tuple[str, str]:
    """What a Sub is found by after a conversion: its graph or function, and its output; places may be others then."""
    *_, outermost = scope.around()
    return outermost.where, node.output[0]


def _subtractions(model: ModelProto) -> dict[tuple[str, str], list[bytes]]:
    found: dict[tuple[str, str], list[bytes]] = {}
    for scope, i, _ in sub_nodes(model):
        node = scope.nodes[i]
        found.setdefault(_key(scope, node), []).append(node.SerializeToString(deterministic=True))
    return found
