"""Cases of somebody's own operands: a subtraction, once or several times, in a model of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minuend.runtimes.cases import Case, Operation
from minuend.runtimes.values import Codes


@dataclass(frozen=True, kw_only=True)
class Chosen(Case):
    """A case whose operands are given.

    Attributes:
        triples: codes of the operands and of the answer, in their shapes, for each time.
        stated: the node's attributes. shapes: those of the operands as a model states them, where dims are open.
    """

    triples: Sequence[tuple[Codes, ...]]
    stated: Mapping[str, Any]
    shapes: tuple[tuple[Any, ...], ...] | None = None

    @property
    def attributes(self) -> Mapping[str, Any]:
        """What the node states."""
        return self.stated

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The subtractions, whose elements are not sorted into classes."""
        unsorted = np.zeros(0, np.int8)
        return tuple(
            Operation(codes, expected, unsorted, unsorted, codes)
            for *operands, expected in self.triples
            if (codes := tuple(operands))
        )

    def dims(self, side: str) -> tuple[Any, ...] | None:
        """The shape of an operand as the model states it."""
        return None if self.shapes is None else self.shapes["AB".index(side)]
