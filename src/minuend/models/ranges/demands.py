"""What the operators that read a value demand of it: an index lies within what it picks from, a dim is none below 0.

A model whose values break a demand is none that its standard lets run. So what a value is used for bounds it, as far as
all of it is used and the use cannot be left out; and so does what it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from minuend.core.shapes import Dim, Shape, bounds
from minuend.models.ranges.interval import DIMS, MOST_DIM, Number, Range, within
from minuend.models.ranges.rules import Step

VALID = "the indices and shapes that it computes are valid"
"""What is taken for granted of models that run; whoever relies on it says so."""

COUNTS = ("int32", "int64")
"""Types of indices and dims."""

Demand: TypeAlias = Callable[[Step], Iterable[tuple[int, Range]]]
"""A row: the numbers of some operands, and what each has to lie in."""

Node: TypeAlias = tuple[Step, Sequence[Hashable], Sequence[Hashable]]
"""An operator, what names its inputs, and what names its results."""


def demands(nodes: Sequence[Node]) -> dict[Hashable, Range]:
    """Return what values have to lie in, from the nodes of a scope, in order, none of which can be left out."""
    found: dict[Hashable, Range] = {}
    for step, inputs, outputs in reversed(nodes):
        demand = DEMANDS.get(step.kind)
        demanded = [] if demand is None else list(demand(step))
        back = BACK.get(step.kind)
        if back is not None and outputs and outputs[0] in found:
            demanded += back(step, found[outputs[0]])
        for index, one in demanded:
            if index < len(inputs) and one.dtype is not None and one.dtype == step.operand(index).dtype:
                before = found.get(inputs[index])
                found[inputs[index]] = one if before is None else narrowed(before, one)
    return found


def narrowed(x: Range, demand: Range) -> Range:
    """Return what of a range lies in what is demanded; all of it where nothing does.

    >>> str(narrowed(Range("int64", -5, 100, why="input"), Range("int64", 0, 9, why="an index of Gather")))
    '0..9 (an index of Gather)'
    """
    lo, hi = max(x.lo, demand.lo), min(x.hi, demand.hi)
    if lo > hi or (lo, hi) == (x.lo, x.hi) or x.dtype != demand.dtype:
        return x
    return replace(x, lo=lo, hi=hi, why=demand.why, assumptions=x.assumptions | demand.assumptions)


def _between(step: Step, index: int, lo: int, hi: int, what: str, assumed: frozenset[str]) -> tuple[int, Range]:
    dtype = step.operand(index).dtype
    if dtype not in COUNTS:
        return index, Range(None)
    assumed |= {VALID}
    return index, within(dtype, lo, hi, why=f"{what} of {step.kind}", assumptions=assumed)


def _index(axis: int | None) -> Demand:
    """Indices, from the end where they are below 0, into the axis that is stated; ``None``: into any of them."""

    def demand(step: Step) -> Iterator[tuple[int, Range]]:
        shape = step.shape(0)
        dims = (None,) if shape is None else shape if axis is None else _dim(shape, step.attributes.get("axis", axis))
        if dims:
            ends = [bounds(dim)[1] for dim in dims]
            assumed = frozenset({DIMS}) if None in ends else frozenset()
            most = max(MOST_DIM if end is None else end for end in ends)
            yield _between(step, 1, -most, most - 1, "an index", assumed)

    return demand


def _dim(shape: Sequence[Dim], axis: object) -> Sequence[Dim]:
    return (shape[axis],) if isinstance(axis, int) and -len(shape) <= axis < len(shape) else (None,)


def _dims(index: int, least: int = 0) -> Demand:
    return lambda step: [_between(step, index, least, MOST_DIM, "a dim", frozenset({DIMS}))]


DEMANDS: Mapping[str, Demand] = MappingProxyType(
    {
        "ConstantOfShape": _dims(0),
        "Expand": _dims(1, -1),
        "Gather": _index(0),
        "GatherElements": _index(0),
        "GatherND": _index(None),
        "Reshape": _dims(1, -1),
        "Scatter": _index(0),
        "ScatterElements": _index(0),
        "ScatterND": _index(None),
        "Split": _dims(1),
    }
)
"""What operators demand of their operands."""


# ---- of what a value is made ------------------------------------------------------------------------------------


def _as_it_is(step: Step, result: Range) -> list[tuple[int, Range]]:
    return [(i, result) for i in range(1 if step.kind != "Concat" else len(step.inputs))]


def _cast(step: Step, result: Range) -> list[tuple[int, Range]]:
    """A wider type holds every number of a narrower one as it is."""
    return [(0, replace(result, dtype="int32"))] if (step.operand(0).dtype, result.dtype) == ("int32", "int64") else []


def _solved(*ways: Callable[[Range, Range], tuple[Number, Number]]) -> Callable[[Step, Range], list[tuple[int, Range]]]:
    """An operand of two, from the result and the other, unless the other can make the result empty.

    Whole numbers wrap, so that only one operand makes a result, if it fits at all.
    """

    def back(step: Step, result: Range) -> list[tuple[int, Range]]:
        found = []
        for index, way in enumerate(ways):
            other = step.operand(1 - index)
            if other.dtype != result.dtype or not _fills(step.shape(1 - index), step.shape(index)):
                continue
            solved = within(result.dtype, *way(result, other), (result, other), why=result.why)
            if not solved.is_full:
                found.append((index, solved))
        return found

    return back


def _fills(other: Shape, own: Shape) -> bool:
    """Whether broadcasting against a shape leaves none of another's elements out."""
    if other is None:
        return False
    least = [bounds(dim)[0] for dim in other]
    return all(least) or (other == own and all(isinstance(dim, int) for dim in other))


BACK: Mapping[str, Callable[[Step, Range], list[tuple[int, Range]]]] = MappingProxyType(
    {
        **dict.fromkeys(("Concat", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"), _as_it_is),
        "Add": _solved(*[lambda y, k: (y.lo - k.hi, y.hi - k.lo)] * 2),
        "Cast": _cast,
        "Neg": lambda step, y: [(0, within(y.dtype, -y.hi, -y.lo, (y,), why=y.why))],
        "Sub": _solved(lambda y, k: (y.lo + k.lo, y.hi + k.hi), lambda y, k: (k.lo - y.hi, k.hi - y.lo)),
    }
)
"""What the result of an operator says of its operands, as far as all of their elements are in it."""
