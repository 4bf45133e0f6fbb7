"""An unmodified model on a runtime: its outputs, and the first node whose results differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from minuend.cli.words import counted
from minuend.errors import listed

if TYPE_CHECKING:
    from minuend.runtimes.trials import Answered, Different, Place, Trial

_MOST = 3
"""Nodes that are named of those that are computed together."""


def outcome(trial: Trial) -> str:
    """Say in a few words what came of a run that is not fine."""
    if trial.refused:
        return "it does not run"
    if trial.unlike:
        return "not compared"
    wrong = sum(bool(one.different) for one in trial.outputs)
    return f"{wrong} of {counted(len(trial.outputs), 'output')} {'differs' if wrong == 1 else 'differ'}"


def run_lines(trial: Trial, model: str = "unmodified") -> Iterator[str]:
    """Show what a runtime gave for a model; ``model`` says which one it ran."""
    hint = f" with --hint {trial.hint}" if trial.hint else ""
    yield f"{model} on {trial.runtime}{hint}" + (f", on {trial.inputs}:" if trial.inputs else ":")
    yield from (f"~ {note}" for note in trial.notes)
    if trial.refused or trial.unlike:
        yield f"~ {trial.refused or trial.unlike}"
        return
    yield from (f"~ {line}" for part in (_right, _wrong, _left, _causes) for line in part(trial))


def _right(trial: Trial) -> Iterator[str]:
    """Outputs that are as expected, those of one right answer and those that are bounded."""
    from minuend.runtimes.trials import closeness  # slow, and most pages show no run

    for same in (True, False):
        some = [one for one in trial.outputs if not one.different and (not one.unequal) == same]
        if not some:
            continue
        outputs = f"{counted(len(some), 'output')} as expected: {counted(sum(one.elements for one in some), 'element')}"
        worst = max(some, key=lambda one: one.farthest / (one.allowed or 1))
        yield f"{outputs}, bit-identical" if same else f"{outputs}, {closeness(some)}{_far(worst)}"


def _wrong(trial: Trial) -> Iterator[str]:
    for one in trial.outputs:
        if one.different:
            output = f"output {one.name!r} differs: {one.different} of {one.elements} elements"
            yield f"{output}{_first(one.first)}{_far(one)}"


def _far(one: Answered) -> str:
    if one.allowed is None:
        return ""
    return f"; at most {one.farthest:.2g} from float64, {one.allowed:.2g} is allowed"


def _first(one: Different | None) -> str:
    return "" if one is None else f", the first at {list(one.index)}: got {one.got}, expected {one.expected}"


def _left(trial: Trial) -> Iterator[str]:
    """The first nodes whose results differ: a subtraction, which is judged above, or another operator."""
    for place in trial.places:
        kind = "subtraction" if place.operator == "Sub" else place.operator
        first = f"first difference: {kind} {place.location}, {place.different} of {place.elements} elements"
        yield f"{first}{_first(place.first)}{_together(place)}"


def _together(place: Place) -> str:
    how = "; found with intermediate values as outputs, which changes bits of the outputs" if place.cut else ""
    if not place.together:
        return how
    if len(place.together) > _MOST:
        count, first = len(place.together), place.together[0]
        named = f"the {count} nodes before it from {first} on"
    else:
        named = listed(place.together, "and")
    return f"; or {named}: making the values in between outputs changes the results{how}"


def _causes(trial: Trial) -> Iterator[str]:
    if trial.gone:
        yield f"correct with {listed(trial.gone)}"
    elif trial.switches and any(one.different for one in trial.outputs):
        yield f"the same with {listed(trial.switches, 'and with')}"
    if any(one.allowed is not None and one.unequal for one in trial.outputs):
        from minuend.judging.error_bounds import WORDS  # slow, and most checks run nothing

        yield f"allowed where operators round: {WORDS}"
