"""One model that is fixed: what was changed, what was refused, what stays."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

from minuend.arrays.functions import compute
from minuend.core.policies import Contract
from minuend.core.shapes import size
from minuend.judging.pattern_verdicts import sharing_constants
from minuend.models.occurrences import Array, Occurrence, occurrences
from minuend.models.opening import Model
from minuend.models.ranges.assumed import NONE, Assumptions
from minuend.rewriting.choosing import Choice, Request, Writable, choose
from minuend.rewriting.deviations import doubt
from minuend.rewriting.verification import Spot
from minuend.runtimes.quirks import quirks
from minuend.runtimes.targets import Target
from minuend.standards.node import Node
from minuend.standards.validation import validate

_MOST_FOLDED = 64 << 20
"""Bytes of a constant that may replace an operator of constants (or as many as the largest operand has)."""


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
        text = f"{self.location}{more}: {self.reason}"
        return f"{text}; {self.instead}" if self.instead else text


_PROGRESS = ("changes", "refused", "left", "unknown", "touched", "spots", "changed", "written")
"""What is recorded while a model is rewritten."""


class Work:
    """One model that is fixed; each dialect has its own subclass.

    Attributes:
        target: the runtime, or an opset. overflow, accept: the options of fix. assumed: what is known of values.
        changes, refused: so far. left: how many subtractions stay as they are. unknown: a sentence for each of them
            whose result on the target is not known. touched: the element types of those that were rewritten.
            spots: where those can be watched. changed: whether the model is another one now.
        written: what finds an operator that was written → its place and its recipe's name.
        rejected: place → recipes that are not right there, each with the reason.
    """

    def __init__(
        self, target: Target | int, overflow: Contract, accept: Collection[str], assumed: Assumptions = NONE
    ) -> None:
        self.target = target
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
        """Return what finds a subtraction in the model, even where nodes are renumbered."""
        raise NotImplementedError

    def choose(
        self,
        occurrence: Occurrence,
        *,
        writable: Writable,
        foldable: Callable[[], str],
        spelled: Node | None = None,
        unread: str = "",
    ) -> Choice:
        """Choose for one occurrence and the target runtime; see :class:`minuend.rewriting.choosing.Request`."""
        assert isinstance(self.target, Target)
        request = Request(
            occurrence=occurrence,
            target=self.target,
            overflow=self.overflow,
            accept=self.accept,
            writable=writable,
            foldable=foldable,
            spelled=spelled,
            rejected=self.rejected.get(occurrence.where, {}),
            unread=unread,
        )
        return choose(request)

    def settle(self, rewrite: Callable[[], None], undo: Callable[[], None]) -> None:
        """Rewrite until all that is written is known to be right on the target; what is not is not tried again.

        Args:
            rewrite: rewrites the subtractions of the model as it was read. undo: reverts that.
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
        """The places of subtractions that the target may take for others; few targets do."""
        if not isinstance(self.target, Target) or not quirks(self.target.runtime).shares:
            return ()
        return sharing_constants(list(occurrences(self.result(), self.assumed)), self.target)

    def _doubts(self, before: Collection[str]) -> list[tuple[str, str, str]]:
        """What was written and is not known to be right on the target: place, recipe, and why.

        Args:
            before: places that the target may have taken for others already: a note reports it, and no recipe is
                rejected.
        """
        if not self.written or not isinstance(self.target, Target):
            return []
        found = list(occurrences(self.result(), self.assumed))
        shared = sharing_constants(found, self.target)
        doubts = []
        for occurrence in found:
            where, name = self.written.get(self.key(occurrence), ("", ""))
            if where and (why := doubt(occurrence, self.target, self.accept, () if where in before else shared)):
                doubts.append((where, name, why))
            elif where in before and (why := doubt(occurrence, self.target, self.accept, shared)):
                self.unknown.append(f"{where} is rewritten, and still not known to be right: {why}")
        return doubts

    def leave(self, occurrence: Occurrence, choice: Choice) -> None:
        """Record a subtraction that stays as it is."""
        if choice.reason:
            self.unknown.append(f"{occurrence.where} is left as it is, and not known to be right: {choice.reason}")

    def note(self, occurrence: Occurrence, what: str, why: str) -> None:
        """Record a change."""
        assert isinstance(occurrence.node, Node)
        self.changed = True
        self.touched[occurrence.node.a.dtype] = None
        self.changes.append(f"{occurrence.where}: {occurrence.op} of {occurrence.node.a.dtype} {what}, because {why}")

    def refuse(self, occurrence: Occurrence, choice: Choice) -> None:
        """Record a refusal."""
        dtype = occurrence.node.a.dtype if isinstance(occurrence.node, Node) else ""
        self.refused.append(Refusal(occurrence.where, occurrence.name, dtype, choice.reason, choice.instead))


def difference(node: Node, operands: Sequence[Array], overflow: Contract) -> Array | None:
    """Return the difference of two constants; ``None`` where its shape is open or it would be too large."""
    joined = validate(node)
    dims = [dim for dim in joined.shape or () if isinstance(dim, int)]
    if joined.shape is None or len(dims) < len(joined.shape):
        return None
    if size(dims) * node.a.element.itemsize > max(_MOST_FOLDED, *(x.nbytes for x in operands)):
        return None
    return compute(node.op.computes, node.a.element, joined, operands[0], operands[1], None, overflow)


@dataclass(frozen=True)
class Fold:
    """The difference of two constants, computed at the first use.

    Calling it returns why the result cannot be a constant of the model, or ``""``.
    """

    occurrence: Occurrence
    target: Target | int
    compute: Callable[[Node], Array | None]

    @cached_property
    def array(self) -> Array | None:
        """The result; ``None`` where it cannot be computed beforehand."""
        assert isinstance(self.occurrence.node, Node)
        return self.compute(self.occurrence.node)

    def __call__(self) -> str:
        if self.array is None:
            return "its operands are computed from constants, or the result is too large to be stored"
        assert isinstance(self.occurrence.node, Node)
        assert isinstance(self.target, Target)
        return quirks(self.target.runtime).kept(self.occurrence.node.a.element, self.array)
