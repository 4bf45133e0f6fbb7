"""One model on its way through fix: what was changed, what was refused, what stays."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from minuend.arrays.functions import compute
from minuend.core.policies import Contract
from minuend.core.shapes import size
from minuend.judging.pattern_verdicts import sharing_constants
from minuend.models.occurrences import Occurrence, occurrences
from minuend.models.opening import Model
from minuend.models.ranges.assumed import NONE, Assumptions
from minuend.operators.recipes import MOST_FOLDED
from minuend.rewriting.choosing import Choice, doubt
from minuend.rewriting.verification import Spot
from minuend.runtimes.quirks import quirks
from minuend.runtimes.targets import Target
from minuend.standards.node import Node
from minuend.standards.validation import validate


@dataclass(frozen=True, slots=True)
class Refusal:
    """Subtractions that cannot be made right on the target, for one reason.

    Attributes:
        location: the place of the first one. node: its name, or ``""``. dtype: its element type, ``""`` if unknown.
        reason: why. instead: the nearest thing that can be done. others: the places of more, for the same reason.
    """

    location: str
    node: str
    dtype: str
    reason: str
    instead: str
    others: tuple[str, ...] = ()

    def __str__(self) -> str:
        more = f" and {len(self.others)} more like it" if self.others else ""
        told = f"{self.location}{more}: {self.reason}"
        return f"{told}; {self.instead}" if self.instead else told


_PROGRESS = ("changes", "refused", "left", "unknown", "touched", "spots", "changed", "written")
"""What rewriting takes note of."""


class Work:
    """One model on its way; a dialect has its own.

    Attributes:
        goal: the target, or an opset. overflow, accept: what is asked for. assumed: what is known of values.
        changes, refused: so far. left: how many subtractions stay as they are; unknown: those of
            them of which nobody knows what they give, a sentence each. touched: the element types of those
            that were rewritten. spots: where those can be watched. changed: whether the model is another one now.
    """

    def __init__(
        self, goal: Target | int, overflow: Contract, accept: Collection[str], assumed: Assumptions = NONE
    ) -> None:
        self.goal = goal
        self.overflow = overflow
        self.accept = accept
        self.assumed = assumed
        self.changes: list[str] = []
        self.refused: list[Refusal] = []
        self.left = 0
        self.unknown: list[str] = []
        self.touched: dict[str, None] = {}
        self.spots: list[Spot] = []
        self.changed = False
        self.written: dict[Hashable, tuple[str, str]] = {}
        self.rejected: dict[str, dict[str, str]] = {}

    def run(self) -> None:
        """Rewrite the model."""
        raise NotImplementedError

    def result(self) -> Model:
        """Return the model as it is now."""
        raise NotImplementedError

    def key(self, occurrence: Occurrence) -> Hashable:
        """Return what finds a subtraction in the model, however the nodes around it are numbered."""
        raise NotImplementedError

    def settle(self, rewrite: Callable[[], None], undo: Callable[[], None]) -> None:
        """Rewrite until the target is known to be right with all that is written: what it is not is tried no more.

        Args:
            rewrite: rewrites the subtractions of the model as it was read. undo: takes that back.
        """
        before = {name: copy.copy(getattr(self, name)) for name in _PROGRESS}
        mixed = self._twins()
        while True:
            rewrite()
            doubts = self._doubts(mixed)
            if not doubts:
                return
            for where, name, why in doubts:
                self.rejected.setdefault(where, {}).setdefault(name, why)
            undo()
            for name, value in before.items():
                setattr(self, name, copy.copy(value))

    def _twins(self) -> Collection[str]:
        """The places of subtractions that the target may mix up with others; few targets do."""
        if not isinstance(self.goal, Target) or not quirks(self.goal.runtime).shares:
            return ()
        return sharing_constants(list(occurrences(self.result(), self.assumed)), self.goal)

    def _doubts(self, before: Collection[str]) -> list[tuple[str, str, str]]:
        """What was written and is not known to be right on the target: place, recipe, and why.

        Args:
            before: places that the target may have mixed up already: no recipe is at fault there, and a note says it.
        """
        if not self.written or not isinstance(self.goal, Target):
            return []
        found = list(occurrences(self.result(), self.assumed))
        shared = sharing_constants(found, self.goal)
        doubts = []
        for occurrence in found:
            where, name = self.written.get(self.key(occurrence), ("", ""))
            if where and (why := doubt(occurrence, self.goal, self.accept, () if where in before else shared)):
                doubts.append((where, name, why))
            elif where in before and (why := doubt(occurrence, self.goal, self.accept, shared)):
                self.unknown.append(f"{where} is rewritten, and still not known to be right: {why}")
        return doubts

    def leave(self, occurrence: Occurrence, choice: Choice) -> None:
        """Take note of a subtraction that stays as it is."""
        if choice.reason:
            self.unknown.append(f"{occurrence.where} is left as it is, and not known to be right: {choice.reason}")

    def note(self, occurrence: Occurrence, what: str, why: str) -> None:
        """Take note of a change."""
        assert isinstance(occurrence.node, Node)
        self.changed = True
        self.touched[occurrence.node.a.dtype] = None
        self.changes.append(f"{occurrence.where}: {occurrence.op} of {occurrence.node.a.dtype} {what}, because {why}")

    def refuse(self, occurrence: Occurrence, choice: Choice) -> None:
        """Take note of a refusal."""
        dtype = occurrence.node.a.dtype if isinstance(occurrence.node, Node) else ""
        self.refused.append(Refusal(occurrence.where, occurrence.name, dtype, choice.reason, choice.instead))


def difference(node: Node, operands: Sequence[Any], overflow: Contract) -> Any:
    """The difference of two constants; ``None`` where its shape is open or it would be too large."""
    joined = validate(node)
    dims = [dim for dim in joined.shape or () if isinstance(dim, int)]
    if joined.shape is None or len(dims) < len(joined.shape):
        return None
    if size(dims) * node.a.element.itemsize > max(MOST_FOLDED, *(x.nbytes for x in operands)):
        return None
    return compute(node.a.element, joined, operands[0], operands[1], None, overflow)


@dataclass(frozen=True)
class Fold:
    """The difference of two constants, computed when somebody asks.

    Calling it says why the result cannot stand in the model as a constant, or ``""``.
    """

    goal: Target
    node: Any
    compute: Callable[[], Any]

    @cached_property
    def array(self) -> Any:
        """The result; ``None`` where it cannot be computed beforehand."""
        return self.compute()

    def __call__(self) -> str:
        if self.array is None:
            return "its operands are computed from constants, or the result is too large to be stored"
        return quirks(self.goal.runtime).kept(self.node.a.element, self.array)
