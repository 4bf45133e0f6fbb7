"""What a dialect's rewriter does: recipes, constants and plain broadcasting in the place of occurrences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from minuend.models.occurrences import Array, Occurrence
from minuend.operators.recipe import Recipe
from minuend.standards.node import Node

Watched: TypeAlias = Hashable | Array
"""What finds a value in a model: a name or a reference; an array where the value is a constant."""


@dataclass(frozen=True)
class Spot:
    """A subtraction that was rewritten, where its operands and its result can be watched.

    Attributes:
        node: the subtraction. where: its place. a, b, c: its operands and its result.
    """

    node: Node
    where: str
    a: Watched
    b: Watched
    c: Watched


@dataclass(frozen=True, slots=True)
class Written:
    """What took an occurrence's place.

    Attributes:
        words: what became of it. operators: what finds its operator among what was written.
        spot: where its operands and its result can be watched on a runtime; ``None`` where they cannot.
    """

    words: str
    operators: Collection[Hashable] = ()
    spot: Spot | None = None


class Rewriter(ABC):
    """A model whose occurrences are replaced; each dialect has its own subclass."""

    def names(self, occurrence: Occurrence) -> Sequence[str]:
        """Return the names of the values that an occurrence's operands are; none where they have no names."""
        return ()

    def writable(self, occurrence: Occurrence, recipe: Recipe) -> bool:
        """Return whether the model's format can express a recipe there."""
        return True

    def spelled(self, occurrence: Occurrence) -> Node | None:
        """Return an occurrence's node with its broadcasting spelt out, where it is by a rule of few runtimes."""
        return None

    def spell(self, occurrence: Occurrence) -> Written:
        """Spell an occurrence's broadcasting out, and no more."""
        raise NotImplementedError

    @abstractmethod
    def constants(self, occurrence: Occurrence) -> Sequence[Array] | None:
        """Return the operands' elements; ``None`` where one is not stored in the model."""

    @abstractmethod
    def write(self, occurrence: Occurrence, recipe: Recipe) -> Written:
        """Write a recipe in an occurrence's place."""

    @abstractmethod
    def fold(self, occurrence: Occurrence, result: Array) -> Written:
        """Write a constant in an occurrence's place."""

    def apply(self) -> None:  # noqa: B027 - most write at once
        """Put what was written into the model, where that has to wait for the last of it."""
