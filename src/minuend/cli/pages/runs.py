"""A model as it is on a runtime: its outputs, and where numbers leave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from minuend.actions.bounds import WORDS
from minuend.cli.pages.layout import Table
from minuend.cli.pages.words import counted
from minuend.errors import listed

if TYPE_CHECKING:
    from minuend.runtimes.trials import Answered, Different, Place, Trial

_MOST = 5
"""Nodes that are named of those that are computed together."""


def outcome(trial: Trial) -> str:
    """Say in a few words what came of a run that is not fine."""
    if trial.refused:
        return "it does not run"
    if trial.unlike:
        return "not compared"
    wrong = sum(bool(one.different) for one in trial.outputs)
    return f"{wrong} of {counted(len(trial.outputs), 'output')} {'differs' if wrong == 1 else 'differ'}"


def run_part(trial: Trial) -> Iterator[str | Table]:
    """Show what a runtime gave for a model as it is."""
    hint = f" with --hint {trial.hint}" if trial.hint else ""
    inputs = f", on inputs of {trial.inputs}" if trial.inputs and not trial.inputs.startswith("the ") else ""
    inputs = inputs or (", on the given inputs" if trial.inputs else "")
    yield f"as it is on {trial.runtime}{hint}{inputs}:"
    yield from trial.notes
    if trial.refused or trial.unlike:
        yield trial.refused or trial.unlike
        return
    yield Table(("", "", ""), tuple(_rows(trial)))
    yield from _causes(trial)


def _rows(trial: Trial) -> Iterator[tuple[str, str, str]]:
    right = [one for one in trial.outputs if not one.different]
    for exact in (True, False):
        some = [one for one in right if (one.allowed is None) == exact]
        if some:
            yield f"{counted(len(some), 'output')}", "as expected", _right(some, exact)
    for one in trial.outputs:
        if one.different:
            yield f"output {one.name!r}", "differs", _wrong(one)
    for place in trial.places:
        kind = "a subtraction" if place.operator == "Sub" else place.operator
        yield place.location, f"first here: {kind}", _left(place)


def _right(some: list[Answered], exact: bool) -> str:
    count = sum(one.elements for one in some)
    if exact:
        return f"all {count} elements, to the bit"
    worst = max(some, key=lambda one: one.farthest / (one.allowed or 1))
    return f"all {count} elements; the farthest is {worst.farthest:.2g} from float64, {worst.allowed:.2g} is allowed"


def _wrong(one: Answered) -> str:
    told = f"{one.different} of {one.elements} elements{_first(one.first)}"
    if one.allowed is None:
        return told
    return f"{told}; the farthest is {one.farthest:.2g} from float64, {one.allowed:.2g} is allowed"


def _first(one: Different | None) -> str:
    return "" if one is None else f", the first at {list(one.index)}: got {one.got}, expected {one.expected}"


def _left(place: Place) -> str:
    told = f"{place.different} of {place.elements} elements{_first(place.first)}"
    if not place.together:
        return told
    more = [f"{len(place.together) - _MOST} more"] if len(place.together) > _MOST else []
    return f"{told}; computed together with {listed([*place.together[:_MOST], *more], 'and')}"


def _causes(trial: Trial) -> Iterator[str]:
    if trial.gone:
        yield f"gone with {listed(trial.gone)}"
    elif trial.switches and any(one.different for one in trial.outputs):
        yield f"still so with {listed(trial.switches, 'and with')}"
    if any(one.allowed is not None for one in trial.outputs):
        yield f"allowed, where operators round: {WORDS}"
