"""One model that is fixed: what was changed, what was refused, what stays."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Protocol

from minuend.judging.checking import reads_none
from minuend.judging.pattern_verdicts import sharing_constants
from minuend.models.occurrences import Occurrence, occurrences
from minuend.models.opening import M_contra, Model
from minuend.rewriting.choosing import SPELT, Choice, Request, choose
from minuend.rewriting.deviations import doubt
from minuend.rewriting.options import Rewriting
from minuend.rewriting.rewriter import Rewriter, Spot
from minuend.runtimes.quirks import quirks
from minuend.runtimes.severity import Severity
from minuend.standards.abilities import Ability
from minuend.standards.node import Node


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


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A subtraction that was rewritten.

    Attributes:
        location: its place. what: what became what. reason: why.
    """

    location: str
    what: str
    reason: str

    def __str__(self) -> str:
        return f"{self.location}: {self.what}, because {self.reason}"


_PROGRESS = (
    "changes",
    "rewritten",
    "refused",
    "left",
    "tolerated",
    "unknown",
    "touched",
    "spots",
    "changed",
    "written",
)
"""What is recorded while a model is rewritten."""


class Work(ABC):
    """One model that is fixed; each dialect has its own subclass.

    Attributes:
        options: what it is fixed for. model: the model as it is now.
        changes, rewritten, refused: so far; each rewritten subtraction is a change. total: how many subtractions there
            are. left: how many subtractions stay as they are. tolerated: the places of those of them
            that differ and are tolerated, with the severity. unknown: a sentence for each of them whose result on the
            target is not known. touched: the element types of those that were rewritten.
            spots: where those can be watched. changed: whether the model is another one now.
        written: what finds an operator that was written → its place and its recipe's name.
        rejected: place → recipes that are not right there, each with the reason.
    """

    model: Model

    def __init__(self, options: Rewriting) -> None:
        self.options = options
        self.changes: list[str] = []
        self.rewritten: list[Rewritten] = []
        self.refused: list[Refusal] = []
        self.total = 0
        self.left = 0
        self.tolerated: list[tuple[str, Severity]] = []
        self.unknown: list[str] = []
        self.touched: dict[str, None] = {}
        self.spots: list[Spot] = []
        self.changed = False
        self.written: dict[Hashable, tuple[str, str]] = {}
        self.rejected: dict[str, dict[str, str]] = {}

    @abstractmethod
    def rewriter(self) -> Rewriter:
        """Return what replaces occurrences in the model as it is now."""

    @abstractmethod
    def undo(self) -> None:
        """Revert the model to what it was before :meth:`rewrite`."""

    @abstractmethod
    def key(self, occurrence: Occurrence) -> Hashable:
        """Return what finds a subtraction in the model, even where nodes are renumbered."""

    def run(self) -> None:
        """Rewrite the model until all that is written is known to be right; what is not is not tried again."""
        before = {name: copy.copy(getattr(self, name)) for name in _PROGRESS}
        mixed = self._twins()
        while True:
            self.rewrite()
            doubts = self._doubts(mixed)
            if not doubts:
                return
            for where, name, why in doubts:
                self.rejected.setdefault(where, {}).setdefault(name, why)
            self.undo()
            for name, value in before.items():
                setattr(self, name, copy.copy(value))

    def result(self) -> Model:
        """Return the model as it is now, with the types of what was written."""
        return self.model

    @property
    def places_refused(self) -> Collection[str]:
        """The places of the subtractions that are refused."""
        return {place for one in self.refused for place in (one.location, *one.others)}

    # ---- occurrences ------------------------------------------------------------------------------------------

    def occurrences(self) -> list[Occurrence]:
        """Return the subtractions of the model as it is now."""
        return list(occurrences(self.result(), self.options.assumed))

    def rewrite(self) -> None:
        """Replace every occurrence that the target gets wrong."""
        rewriter = self.rewriter()
        found = self.occurrences()
        self.total = len(found)
        unread = "" if self.options.runtime is None else reads_none(self.model, self.options.runtime)
        for occurrence in found:
            rejected = self.rejected.get(occurrence.where, {})
            request = Request(occurrence, self.options, rewriter, rejected, unread)
            choice = self.choose(request)
            if choice.action == "leave":
                self.leave(occurrence, choice)
            elif choice.action == "refuse":
                self.refuse(occurrence, choice)
            else:
                self._replace(request, choice)
        rewriter.apply()

    def choose(self, request: Request) -> Choice:
        """Choose for one occurrence."""
        return choose(request)

    def leave(self, occurrence: Occurrence, choice: Choice) -> None:
        """Record a subtraction that stays as it is."""
        self.left += 1
        if choice.tolerated is not None:
            self.tolerated.append((occurrence.where, choice.tolerated))
        if choice.reason:
            self.unknown.append(f"{occurrence.where} is left as it is, and not known to be right: {choice.reason}")

    def refuse(self, occurrence: Occurrence, choice: Choice) -> None:
        """Record a refusal."""
        dtype = occurrence.node.a.dtype if isinstance(occurrence.node, Node) else ""
        self.refused.append(Refusal(occurrence.where, occurrence.name, dtype, choice.reason, choice.instead))

    def _replace(self, request: Request, choice: Choice) -> None:
        """Write what was chosen, and record the change."""
        occurrence, rewriter = request.occurrence, request.rewriter
        name = SPELT if choice.recipe is None else choice.recipe.name
        if choice.recipe is not None:
            written = rewriter.write(occurrence, choice.recipe)
        elif choice.action == "fold":
            assert request.folded is not None
            written = rewriter.fold(occurrence, request.folded)
        else:
            written = rewriter.spell(occurrence)
        self.changed = True
        self.touched[request.node.a.dtype] = None
        dtype = request.node.a.dtype
        what = f"{occurrence.op} of {dtype} {written.words}"
        self.rewritten.append(Rewritten(occurrence.where, what, choice.reason))
        self.changes.append(str(self.rewritten[-1]))
        self.written |= dict.fromkeys(written.operators, (occurrence.where, name))
        self.spots += [] if written.spot is None else [written.spot]

    # ---- what was written -------------------------------------------------------------------------------------

    def _twins(self) -> Collection[str]:
        """The places of subtractions that the target may take for others; few targets do."""
        target = self.options.runtime
        if target is None or not quirks(target.runtime).shares:
            return ()
        return sharing_constants(self.occurrences(), target)

    def _doubts(self, before: Collection[str]) -> list[tuple[str, str, str]]:
        """What was written and is not known to be right on the target: place, recipe, and why.

        Args:
            before: places that the target may have taken for others already: a note reports it, and no recipe is
                rejected.
        """
        target = self.options.runtime
        if not self.written or target is None:
            return []
        found = self.occurrences()
        shared = sharing_constants(found, target)
        doubts = []
        for occurrence in found:
            where, name = self.written.get(self.key(occurrence), ("", ""))
            if where and (why := doubt(occurrence, self.options, () if where in before else shared)):
                doubts.append((where, name, why))
            elif where in before and (why := doubt(occurrence, self.options, shared)):
                self.unknown.append(f"{where} is rewritten, and still not known to be right: {why}")
        return doubts


class Fixing(Protocol[M_contra]):
    """A dialect's ``fixing.py``."""

    def work(self, model: M_contra, options: Rewriting, /) -> Work:
        """Return the work on a model, which is not changed itself."""


FIXING = Ability[Fixing[Model]]("fixing")
