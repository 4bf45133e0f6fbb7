"""The patterns that a recipe makes around its own subtractions, in a graph of nothing else.

Some runtimes were run with whole recipes (``PROVEN`` in their adapters) and not with single adjacent operators. What is
known of those holds for a subtraction whose adjacent operators all are of such a recipe.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from minuend.core.elements import TYPES
from minuend.models.flow import Array, Flow
from minuend.models.matching import matches
from minuend.models.matching.match import Match
from minuend.models.patterns import Pattern
from minuend.operators import SUBTRACT
from minuend.operators.recipe import Recipe

_OPERANDS: Sequence[Array | None] = (None, np.array([5.0]), np.array([5.0, 7.0]))
"""What an operand is: an input, or a constant of one number or of more."""


def proven(found: Collection[Match], runs: Mapping[str, Collection[str]]) -> bool:
    """Return whether all operators adjacent to a subtraction are of one recipe that a runtime was run with.

    Args:
        found: the patterns around it. runs: the recipes, by their names, and the element types that they were run with.

    >>> from minuend.models.patterns import Const, Op, X, less
    >>> pattern = Op("Mod", (less(X, X), Const.SCALAR))
    >>> found = [Match(pattern, "", "Mod")]
    >>> recipe = "through int32, wrapped with Mod"
    >>> proven(found, {recipe: ["uint8"]}), proven(found, {recipe: []})
    (True, False)
    """
    patterns = {one.pattern for one in found if one.operator}
    return any(patterns <= _patterns(name, dtype) for name, types in runs.items() for dtype in types)


@functools.cache
def _patterns(name: str, dtype: str) -> frozenset[Pattern]:
    """The patterns around the subtractions of a recipe, whatever its operands are."""
    recipe = next(one for one in SUBTRACT.recipes if one.name == name and dtype in one.types)
    found: set[Pattern] = set()
    for operands in itertools.product(_OPERANDS, repeat=SUBTRACT.arity):
        flow = _flow(recipe, dtype, operands)
        for i, (operator, _, _) in enumerate(flow.steps):
            if operator == SUBTRACT.onnx:
                found.update(one.pattern for one in matches(flow, i) if one.operator)
    return frozenset(found)


def _flow(recipe: Recipe, dtype: str, operands: Sequence[Array | None]) -> Flow:
    """A recipe as the nodes of a graph."""
    trace = recipe.traced(SUBTRACT, TYPES[dtype])
    stored = {name: np.array([number]) for name, number in trace.numbers.items()}
    stored |= {name: array for name, array in zip(trace.operands, operands, strict=True) if array is not None}
    return Flow(
        [(step.op, step.inputs, (step.output,)) for step in trace.steps],
        frozenset(stored),
        trace.dtypes,
        outputs=(trace.steps[-1].output,),
        sizes={name: array.size for name, array in stored.items()},
        elements=stored.get,
    )
