"""A recipe in a graph of nothing else: what then stands beside each of its subtractions.

Some runtimes were run with whole recipes (``PROVEN`` in their adapters) and not with single adjacent operators. What is
known of those is known of a subtraction that has nothing else beside it than such a recipe gives it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Mapping

import numpy as np

from minuend.core.elements import TYPES
from minuend.models.flow import Array, Flow
from minuend.models.matching import Match, matches
from minuend.models.patterns import Pattern
from minuend.operators.recipes import OWN, RECIPES, Recipe, number

_OPERANDS: Mapping[str, Array | None] = {"x": None, "scalar": np.array([5.0]), "array": np.array([5.0, 7.0])}
"""What an operand is: an input, or a constant of one number or of more."""


def proven(found: Collection[Match], runs: Mapping[str, Collection[str]]) -> bool:
    """Return whether everything beside a subtraction is of one recipe that a runtime was run with.

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
    recipe = next(one for one in RECIPES if one.name == name and dtype in one.types)
    found: set[Pattern] = set()
    for a, b in itertools.product(_OPERANDS, _OPERANDS):
        flow = _flow(recipe, dtype, {"a": _OPERANDS[a], "b": _OPERANDS[b]})
        for i, (operator, _, _) in enumerate(flow.steps):
            if operator == "Sub":
                found.update(one.pattern for one in matches(flow, i) if one.operator)
    return frozenset(found)


def _flow(recipe: Recipe, dtype: str, operands: Mapping[str, Array | None]) -> Flow:
    """A recipe's steps as the nodes of a graph; its numbers are constants that are named by themselves."""
    element = TYPES[dtype]
    stored = {name: array for name, array in operands.items() if array is not None}
    kinds = dict.fromkeys(operands, dtype)
    steps = []
    for step in recipe.steps:
        kinds[step.output] = own = dtype if step.dtype == OWN else step.dtype
        for given in step.inputs:
            value = number(given, element)
            if value is not None:
                stored[f"{own} {given}"] = np.array([value])
                kinds[f"{own} {given}"] = own
        names = tuple(str(one) if str(one) in kinds else f"{own} {one}" for one in step.inputs)
        steps.append((step.op, names, (step.output,)))
    return Flow(
        steps,
        frozenset(stored),
        kinds,
        outputs=("c",),
        sizes={name: array.size for name, array in stored.items()},
        elements=stored.get,
    )
