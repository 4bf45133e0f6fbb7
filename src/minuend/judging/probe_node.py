"""One subtraction by itself on an installed runtime: in a model of its own, on operands from its ranges."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from minuend.core.elements import ElementType
from minuend.errors import SpecError
from minuend.judging.contract import contracted
from minuend.judging.operand_pools import codes_of, pool
from minuend.models.constants import word_of
from minuend.models.occurrences import Occurrence
from minuend.operators import SUBTRACT, reference
from minuend.runtimes import values
from minuend.runtimes.cases import relation_of
from minuend.runtimes.given_cases import Chosen
from minuend.runtimes.probing import PROBING, is_constant, operands
from minuend.runtimes.reasons import ProbeAgrees, ProbeDiffers, ProbeRefused, ProbeResultDiffers, Reason
from minuend.runtimes.running import Output, Refused, Runtime
from minuend.runtimes.values import Codes
from minuend.runtimes.witness import Witness
from minuend.standards.dialects import dialect
from minuend.standards.node import Node

_OPEN = 5
"""What open dims are taken for."""

_MOST_ELEMENTS = 1 << 20
"""Elements of an operand up to which a subtraction is probed by itself."""

_ROUNDS, _ENOUGH = 4, 4096
"""How often a runtime is queried, each time in a new model, and after how many pairs that is enough."""

_NODES = 64
"""How often a subtraction stands in one model, where its shapes are small; with other constants each has its own."""


@dataclass(frozen=True, slots=True)
class Probed:
    """What a runtime gave for a subtraction by itself.

    Attributes:
        pairs, different: how many pairs of operands were probed, and how many gave other numbers than the contract.
        witness: the first of those. odd: what is wrong with the result's type or shape.
        refused: the runtime's message, where it did not run it.
        whole: whether the shapes are those of the model; else some that they can turn out to be.
    """

    pairs: int = 0
    different: int = 0
    witness: Witness | None = None
    odd: str = ""
    refused: str = ""
    whole: bool = True

    @property
    def reason(self) -> Reason:
        """What it says of the occurrence."""
        if self.refused:
            return ProbeRefused(self.refused)
        if self.odd:
            return ProbeResultDiffers(self.odd)
        return ProbeDiffers(self.different, self.pairs, self.witness) if self.different else ProbeAgrees(self.pairs)


def probe(occurrence: Occurrence, runtime: Runtime, hint: str = "", known: Sequence[Witness] = ()) -> Probed | None:
    """Probe a subtraction by itself on a runtime; ``None`` where that cannot be done.

    Args:
        occurrence: the subtraction. runtime: what is queried. hint: the precision that it is set to.
        known: pairs that deviate elsewhere, which are taken first.
    """
    node = occurrence.node
    shapes = _shapes(node) if isinstance(node, Node) else None
    if shapes is None or not isinstance(node, Node):
        return None
    source = _Source(occurrence, node.a.element, shapes, known)
    if source.is_empty:
        return None
    found = Probed(whole=relation_of(node) is not None)
    for _ in range(source.rounds):
        try:
            triples = [source.triple(node) for _ in range(source.nodes)]
        except SpecError:  # dims that have to be alike, and are of two names
            return None
        if triples[0][2].size == 0:
            return None
        answer = _answer(occurrence, node, runtime, hint, triples)
        if isinstance(answer, Refused) and answer.limit is not None:
            return None
        found = _added(found, answer, node.a.element, triples)
        if found.refused or found.pairs >= _ENOUGH:
            break
    return found


# ---- operands ---------------------------------------------------------------------------------------------------


Shapes: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]


def _shapes(node: Node) -> Shapes | None:
    """The operands' shapes, open dims being a few; ``None`` where a rank is not known, or one is too large."""
    known = [node.a.shape, node.b.shape]
    if any(shape is None for shape in known):
        return None
    a, b = (tuple(_dim(dim) for dim in shape or ()) for shape in known)
    return None if max(math.prod(a), math.prod(b)) > _MOST_ELEMENTS else (a, b)


def _dim(dim: object) -> int:
    if isinstance(dim, int):
        return dim
    low, high = dim if isinstance(dim, tuple) else (0, None)
    return int(max(low, _OPEN if high is None else min(_OPEN, high)))


class _Source:
    """Operands for a subtraction, others each time: pairs that deviate elsewhere, then all others, mixed."""

    def __init__(self, occurrence: Occurrence, element: ElementType, shapes: Shapes, known: Sequence[Witness]) -> None:
        self.element, self.shapes, self.stored = element, shapes, occurrence.fixed()
        self.pools = [
            pool(element, one, stored) for one, stored in zip((occurrence.a, occurrence.b), self.stored, strict=True)
        ]
        self.counts = [math.prod(shape) for shape in shapes]
        self.rng = np.random.default_rng(zlib.crc32(occurrence.where.encode()))
        self.free = all(stored is None for stored in self.stored)
        self.pairs = self._mixed([self._codes_of(one) for one in known]) if self.free else []
        self.taken = 0
        settled = [stored is not None for stored in self.stored]
        own = any(not settled[i] for i in occurrence.constants)
        alone = own or all(settled)
        self.nodes = 1 if alone else max(1, min(_NODES, _ENOUGH // max(1, *self.counts)))
        self.rounds = 1 if all(settled) else _ROUNDS * (4 if own else 1)

    @property
    def is_empty(self) -> bool:
        """Whether no number of the type lies in a range."""
        return any(pool.size == 0 for pool in self.pools)

    def _mixed(self, first: Sequence[tuple[int, int]]) -> list[Codes]:
        """Some pairs, then all those of the two pools in a random order."""
        a, b = self.pools
        places = self.rng.permutation(a.size * b.size)
        sides = (a[places // max(b.size, 1)], b[places % max(b.size, 1)])
        return [np.concatenate([np.array([pair[k] for pair in first], a.dtype), one]) for k, one in enumerate(sides)]

    def _codes_of(self, pair: Witness) -> tuple[int, int]:
        a, b = (np.array(one, self.element.memory) for one in (pair.a, pair.b))
        return int(codes_of(self.element, a).item()), int(codes_of(self.element, b).item())

    def triple(self, node: Node) -> tuple[Codes, Codes, Codes]:
        """The operands and what the contract gives for them.

        Raises:
            SpecError: their shapes cannot be joined.
        """
        a, b = self._operand(0), self._operand(1)
        self.taken += max(self.counts)
        x, y = (np.ascontiguousarray(one).view(self.element.memory).reshape(one.shape) for one in (a, b))
        return a, b, codes_of(self.element, contracted(node, x, y))

    def _operand(self, k: int) -> Codes:
        stored, shape, count = self.stored[k], self.shapes[k], self.counts[k]
        if stored is not None:
            return codes_of(self.element, stored)
        if self.free and self.shapes[0] == self.shapes[1]:
            return self.pairs[k].take(np.arange(count) + self.taken, mode="wrap").reshape(shape)
        if count == 1 or not self.free:  # what it meets is one of many, or as it is
            return self.pools[k].take(np.arange(count) + self.taken, mode="wrap").reshape(shape)
        return self.rng.choice(self.pools[k], count).reshape(shape)


# ---- the runtime ------------------------------------------------------------------------------------------------


Triple: TypeAlias = tuple[Codes, Codes, Codes]


def _answer(
    occurrence: Occurrence, node: Node, runtime: Runtime, hint: str, triples: Sequence[Triple]
) -> list[Output] | Refused:
    shapes = (tuple(node.a.shape or ()), tuple(node.b.shape or ())) if occurrence.dynamic else None
    case = Chosen(
        node.op,
        node.a.element,
        "same",
        word_of(occurrence.constants),
        triples=triples,
        stated=node.attributes,
        shapes=shapes,
    )
    probing = PROBING.required(dialect(node.op.dialect))
    fed = [(name, case.element, one) for name, side, one in operands([case]) if not is_constant(case, side)]
    return runtime.query(probing.FORM, *probing.case_model([case]), fed, hint, count=len(triples))


def _added(found: Probed, answer: list[Output] | Refused, element: ElementType, triples: Sequence[Triple]) -> Probed:
    if isinstance(answer, Refused):
        return replace(found, refused=answer.message)
    for output, (a, b, expected) in zip(answer, triples, strict=True):
        if output.element is not element or output.codes.shape != expected.shape:
            message = f"the result is {output.element} {output.codes.shape}, not {element} {expected.shape}"
            return replace(found, different=found.pairs + expected.size, pairs=found.pairs + expected.size, odd=message)
        unlike = values.differ(element, output.codes, expected)
        witness = found.witness
        if witness is None and unlike.any():
            witness = pair_at(element, tuple(np.argwhere(unlike)[0]), (a, b, output.codes, expected))
        count = int(unlike.sum())
        found = replace(found, pairs=found.pairs + expected.size, different=found.different + count, witness=witness)
    return found


def pair_at(element: ElementType, at: tuple[int, ...], codes: Sequence[Codes]) -> Witness | None:
    """Return the numbers at an index of a result, from the codes of A, B, what came and what was expected.

    ``None`` where operands are joined by another rule than NumPy's, so that others stand there.
    """
    try:
        a, b, got, expected = (int(np.broadcast_to(one, codes[-1].shape)[at]) for one in codes)
    except ValueError:
        return None
    own = np.array([reference.apply(SUBTRACT, element, (a, b)), expected], codes[-1].dtype)
    if values.differ(element, own[:1], own[1:]).any():
        return None
    numbers = [values.number(element, code) for code in (a, b, got, expected)]
    return Witness(SUBTRACT, (numbers[0], numbers[1]), numbers[2], numbers[3])
