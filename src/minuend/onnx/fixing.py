"""fix for ONNX models: functions inlined, old opsets converted, Subs rewritten."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import replace

from onnx import ModelProto

from minuend.errors import ConversionRefused, Unsupported, listed
from minuend.models.occurrences import Occurrence
from minuend.onnx.documents.constant_storage import store_raw
from minuend.onnx.graphs.inlining import inlined
from minuend.onnx.graphs.scope import model_opsets
from minuend.onnx.graphs.stated_sizes import IN_VALUE_INFO, kinds_of_sizes, leave_out
from minuend.onnx.graphs.walk import sub_nodes
from minuend.onnx.model import Model as OnnxModel
from minuend.onnx.rewrites.opset_choice import choose_for_opset, lowest_opset, needs_modern, saturating_opset
from minuend.onnx.rewrites.rewriting import OnnxRewriter, key_of, parts
from minuend.rewriting.choosing import Choice, Request
from minuend.rewriting.options import Rewriting
from minuend.rewriting.work import Refusal, Work
from minuend.runtimes.quirks import quirks
from minuend.runtimes.targets import Target
from minuend.standards.node import Node


class OnnxWork(Work):
    """An ONNX model that is fixed for a runtime or an opset."""

    model: OnnxModel

    def __init__(self, model: OnnxModel, options: Rewriting) -> None:
        super().__init__(options)
        self.original = model
        self._left: list[Hashable] = []
        self._moved: set[Hashable] = set()
        self._looked_at: tuple[OnnxModel | None, bytes] = (None, b"")
        self._occurrences: list[Occurrence] = []
        self._start()

    def _start(self) -> None:
        """Begin with a copy of the model as it was read."""
        proto = ModelProto()
        proto.CopyFrom(self.original.proto)
        # It was normalised when it was read: what is written is not what was read.
        self.changes[:] = self.original.notes
        self.changed = bool(self.original.notes)
        self._take(proto)

    def occurrences(self) -> list[Occurrence]:
        state = self.model, hashlib.sha256(self.model.proto.SerializeToString(deterministic=True)).digest()
        if state[0] is not self._looked_at[0] or state[1] != self._looked_at[1]:
            self._looked_at, self._occurrences = state, super().occurrences()
        return list(self._occurrences)

    def _take(self, proto: ModelProto) -> None:
        """Continue with another proto, whose files are the original's."""
        original = self.original
        self.model = OnnxModel(proto, folder=original.folder, path=original.path, name=original.name)

    def run(self) -> None:
        needless, target = False, self.options.runtime
        if target is not None:
            needless = self._inline(target)
            self._store(target)
            self._modernise(target)
        elif self.options.version is not None and self._saturates_below(self.options.version):
            self._reach(self.options.version)
        if not self.refused:
            self._before = ModelProto(functions=self.model.proto.functions)
            self._before.graph.node.extend(self.model.proto.graph.node)
            super().run()
        if needless and not (self.touched or self.refused or self.unknown):
            self._start()  # the functions were inlined to learn the types of their calls, and nothing was wrong
        if self.options.version is not None:
            self._reach(self.options.version)
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
            for occurrence in self.occurrences()
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
        unread = quirks(target.runtime).strict
        done = store_raw(self.model, unread)
        if done:
            self.changed = True
            self.changes.append(f"{done}, which {target.name} reads")
        insists = IN_VALUE_INFO & unread.keys()
        if insists and insists & kinds_of_sizes(self.model):
            count = leave_out(self.model.proto)
            self.changed = True
            self.changes.append(
                f"value_info of {count} value{'s' * (count > 1)} is left out: {target.name} insists on it"
            )

    def _saturates_below(self, opset: int) -> bool:
        """Whether it is of an earlier opset, which may lack the operators that saturate."""
        return self.options.overflow == "saturate" and model_opsets(self.model.proto).get("", opset) < opset

    def _reach(self, opset: int) -> None:
        """Convert to the opset; what cannot be converted is refused, and the model stays as it was."""
        try:
            self._convert(opset)
        except ConversionRefused as refusal:
            known = {one.location for one in self.refused}
            others = [Refusal(place, "", "", why, "") for place, why in refusal.nodes.items() if place not in known]
            self.refused += [one for one in others if one.reason not in known]
            self.changes.clear()
            self.rewritten.clear()
            self.touched.clear()
            self._moved.clear()
            self.changed = False
            self._take(self.original.proto)

    def _convert(self, opset: int) -> None:
        from minuend.onnx.opsets.model import convert_proto  # slow

        proto, changes, losses = convert_proto(self.model.proto, opset)
        if proto != self.model.proto:
            self.changed = True
            self.changes += [*changes, *(f"lost: {loss}" for loss in losses)]
            before, after = _subtractions(self.model.proto), _subtractions(proto)
            self._moved.update(key for key, nodes in before.items() if after.get(key) != nodes)
        self._take(proto)

    def _modernise(self, target: Target) -> None:
        """Bring a model whose Subs broadcast by the old rule to the lowest opset that the target runs."""
        found = self.occurrences()
        old = [occurrence for occurrence in found if needs_modern(occurrence, target, self.options)]
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

    # ---- rewriting --------------------------------------------------------------------------------------------

    def rewriter(self) -> OnnxRewriter:
        return OnnxRewriter(self.model, watching=self.options.runtime is not None)

    def key(self, occurrence: Occurrence) -> Hashable:
        one, _ = parts(occurrence)
        return key_of(one.scope, one.proto)

    def choose(self, request: Request) -> Choice:
        version = self.options.version
        if version is not None:
            return choose_for_opset(request, version)
        choice = super().choose(request)
        later = saturating_opset(request) if choice.action == "refuse" and request.saturates else None
        return (
            choice if later is None else replace(choice, instead=f"convert it first: minuend convert --to onnx:{later}")
        )

    def leave(self, occurrence: Occurrence, choice: Choice) -> None:
        super().leave(occurrence, choice)
        self._left.append(self.key(occurrence))

    def rewrite(self) -> None:
        super().rewrite()
        self._take(self.model.proto)

    def undo(self) -> None:
        proto = self.model.proto
        for field, saved in ((proto.graph.node, self._before.graph.node), (proto.functions, self._before.functions)):
            del field[:]
            field.extend(saved)
        self._left.clear()
        self._take(proto)


work = OnnxWork


def _subtractions(model: ModelProto) -> dict[tuple[str, str], list[bytes]]:
    found: dict[tuple[str, str], list[bytes]] = {}
    for scope, i, _ in sub_nodes(model):
        node = scope.nodes[i]
        found.setdefault(key_of(scope, node), []).append(node.SerializeToString(deterministic=True))
    return found
