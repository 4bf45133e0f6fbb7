"""A subtraction among operators that runtimes know as one, as expressions: normalisation, and softmax."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from minuend.models.flow import Flow

SOFTMAX = "Exp(x - ReduceMax(x)) / its sum"

ENDS = ("", " * array", " * array + array")
"""What a normalisation is followed by: nothing, a scale, a scale and a bias."""


@dataclass(frozen=True, slots=True)
class Normalisation:
    """One way to write a normalisation.

    Attributes:
        square: ``"Pow"`` or ``"Mul"``. root: ``"Sqrt"`` or ``"Pow"``. division: ``"Div"``, or ``"Reciprocal"`` that is
            multiplied. last: whether the mean is over the last axis alone. end: one of :data:`ENDS`.
    """

    square: str
    root: str
    division: str
    last: bool
    end: str

    @property
    def expression(self) -> str:
        """The operators as an expression.

        >>> Normalisation("Pow", "Sqrt", "Div", True, " * array").expression
        '(x - ReduceMean(x)) / Sqrt(ReduceMean(Pow)) * array'
        """
        deviation = f"{self.root}(ReduceMean({self.square}))"
        divided = f"/ {deviation}" if self.division == "Div" else f"* Reciprocal({deviation})"
        return f"(x - ReduceMean(x)) {divided}{self.end}{'' if self.last else ' over other axes than the last'}"


ONE_AXIS = "(x - ReduceMean(x)) / Sqrt(ReduceMean(Pow)) of one axis"
"""A normalisation of a tensor of one axis, which nobody is asked for: onnxruntime does not even load some of them."""

NORMALISATIONS = tuple(
    itertools.starmap(
        Normalisation, itertools.product(("Pow", "Mul"), ("Sqrt", "Pow"), ("Div", "Reciprocal"), (True, False), ENDS)
    )
)
"""Every way that is asked for; one that is written otherwise counts as all of them."""


def idioms(flow: Flow, index: int, reached: Callable[[], Collection[int]]) -> Iterator[str]:
    """Yield the expressions of a subtraction among operators that runtimes know as one.

    Args:
        flow: the scope. index: the subtraction's. reached: finds the numbers of the nodes that its result reaches.
    """
    _, (a, b), (result, *_) = flow.steps[index]
    if a not in flow.operands(b, ()):
        return
    if flow.maker(b, ()) == "ReduceMean" and {flow.steps[i][0] for i in reached()} & {"Sqrt", "Pow"}:
        shape = flow.shapes.get(a)
        known = isinstance(shape, tuple) and len(shape) == 1
        yield from (ONE_AXIS,) if known else (one.expression for one in _written(flow, a, b, result))
    if flow.maker(b, ()) == "ReduceMax" and "Exp" in flow.readers(result):
        yield SOFTMAX


def _written(flow: Flow, x: str, mean: str, d: str) -> Iterable[Normalisation]:
    """The ways to write a normalisation that a subtraction of a mean can be part of."""
    lasts = _over_the_last(flow, x, mean)
    divided = {
        way: _divided(flow, d, *way) for way in dict.fromkeys((n.square, n.root, n.division) for n in NORMALISATIONS)
    }
    ends = {way: _end(flow, names) for way, names in divided.items() if names}
    found = [Normalisation(*way, last, end) for way, end in ends.items() for last in lasts]
    return found or [one for one in NORMALISATIONS if one.last in lasts]


def _over_the_last(flow: Flow, x: str, mean: str) -> Collection[bool]:
    """Whether a mean is over the last axis alone; either where shapes do not say."""
    before, after = flow.shapes.get(x), flow.shapes.get(mean)
    if not isinstance(before, tuple) or not isinstance(after, tuple) or None in (*before, *after):
        return (True, False)
    return (after == (*before[:-1], 1),)


def _divided(flow: Flow, d: str, square: str, root: str, division: str) -> set[str]:
    """The difference once it is divided in a way, by name."""
    squares = {
        out
        for operator, inputs, out in _read(flow, {d})
        if operator == square and (inputs[0] == d if operator == "Pow" else set(inputs) == {d})
    }
    roots = _after(flow, _after(flow, _after(flow, squares, "ReduceMean"), "Add"), root)
    if division == "Div":
        return {out for operator, inputs, out in _read(flow, {d}) if operator == "Div" and set(inputs[1:]) & roots}
    by = _after(flow, roots, "Reciprocal")
    return {out for operator, inputs, out in _read(flow, {d}) if operator == "Mul" and set(inputs) & by}


def _end(flow: Flow, divided: set[str]) -> str:
    """What is done to what is divided: one of :data:`ENDS`, or the same with arrays that have several axes."""
    end = ""
    for operator, words in (("Mul", " * "), ("Add", " + ")):
        arrays = [
            (next((name for name in inputs if flow.is_array(name)), ""), out)
            for kind, inputs, out in _read(flow, divided)
            if kind == operator
        ]
        divided = {out for name, out in arrays if name}
        if not divided:
            break
        shapes = [flow.shapes.get(name) for name, _ in arrays if name]
        vectors = all(not isinstance(shape, tuple) or len(shape) == 1 for shape in shapes)
        end += f"{words}{'array' if vectors else 'array of several axes'}"
    return end


def _after(flow: Flow, names: set[str], operator: str) -> set[str]:
    return {out for kind, _, out in _read(flow, names) if kind == operator}


def _read(flow: Flow, names: set[str]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """The operators that read some values, with their inputs and first outputs."""
    for i in dict.fromkeys(i for name in names for i in flow.readers_of(name)):
        operator, inputs, outputs = flow.steps[i]
        if outputs:
            yield operator, inputs, outputs[0]
