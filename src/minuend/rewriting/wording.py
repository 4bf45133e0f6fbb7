"""What fix reports of its choices."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from minuend.core.elements import ElementType
from minuend.errors import listed
from minuend.models.occurrences import Occurrence
from minuend.operators import SUBTRACT, VALUE_CLASSES
from minuend.operators.recipe import Recipe
from minuend.plain import grouped
from minuend.rewriting.deviations import acceptable
from minuend.runtimes.answers import Answer
from minuend.runtimes.targets import Target

SATURATE = "it may overflow, and saturation is asked for"

FLOATS = tuple(row.name for row in SUBTRACT.float_classes)
"""The value classes that a user can accept."""

_NAMED = re.compile(r" node with name '[^']*'")
"""What a message says of the model that was measured."""


def deviation(wrong: Mapping[str, Answer], target: Target) -> str:
    """Say what goes wrong on a target: the plainest class with its witness, and the others by name."""
    refused = next((one for one in wrong.values() if one.verdict == "not-implemented"), None)
    if refused is not None:
        message = _NAMED.sub("", refused.message)
        return f"{target.name} does not run it" + (f": {message}" if message else "")
    names = [name for name in VALUE_CLASSES if name in wrong]
    differ = [name for name in names if wrong[name].verdict == "different-numbers"]
    if not differ:
        words = listed([VALUE_CLASSES[name].words for name in names], "and")
        return f"{target.name} is not measured for {words}"
    plainest = ("wraps", *differ[::-1])
    name = next((one for one in plainest if one in differ and wrong[one].witness is not None), differ[0])
    w = wrong[name].witness
    text = f"{target.name} has other numbers for {VALUE_CLASSES[name].words}"
    if w is not None:
        text += f": {w.gives}, expected {w.expected}"
    others = [VALUE_CLASSES[one].words for one in names if one != name]
    return f"{text}; and for {listed(others, 'and')}" if others else text


def rejections(rejected: Mapping[str, str]) -> str:
    """Say of recipes why they are not written; those of one reason together."""
    alike = grouped((why, name) for name, why in rejected.items())
    listings = ((listed([f"'{name}'" for name in names], "and"), why) for why, names in alike.items())
    return "".join(f"; {names} would not be known to be right: {why}" for names, why in listings)


def ranges(occurrence: Occurrence) -> str:
    """Say what the operands can hold."""
    return f"A is {occurrence.a} and B is {occurrence.b}"


def proof(recipe: Recipe, occurrence: Occurrence) -> str:
    """Say what a recipe relies on, and what that assumes; ``""`` where it needs no proof."""
    if not recipe.proof:
        return ""
    assumed = listed(sorted(occurrence.a.assumptions | occurrence.b.assumptions), "and")
    return ranges(occurrence) + (f", where {assumed}" if assumed else "")


def elsewhere(target: Target) -> str:
    """Say what is left to do where no rewrite helps."""
    return f"run the model on another runtime than {target.name}"


def instead(
    element: ElementType, target: Target, wrong: Mapping[str, Answer], nearest: Collection[str] | None, constant: bool
) -> str:
    """Say the nearest thing that can be done about a refusal.

    Args:
        element, target: what is refused. wrong: the deviations. nearest: what the best recipe leaves of them.
        constant: whether all operands are constants.
    """
    if element.is_integer and element.bits == 64 and not constant:
        return (
            "bound both operands before it (Clip, or Cast from a narrower type), so that they are proven to stay in "
            f"int32, or run the model where {element} is computed in full"
        )
    if element.bits == 64:
        return f"run the model where {element} is computed in full"
    classes = set(wrong) if acceptable(wrong) else None
    if nearest is not None and (classes is None or len(nearest) < len(classes)):
        classes = set(nearest)
    if classes and classes <= set(FLOATS):
        names = ",".join(name.replace(" ", "-") for name in FLOATS if name in classes)
        return f"take these numbers as they come (--accept {names}), or run the model where the contract is kept"
    return elsewhere(target)
