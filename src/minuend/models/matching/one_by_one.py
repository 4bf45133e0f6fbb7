"""Values that operators make of others one by one, as runtimes fuse them."""

from __future__ import annotations

from collections.abc import Iterator

from minuend.models.flow import Flow
from minuend.models.matching.operator_groups import CHAINED, ONE_BY_ONE


def single_ways(flow: Flow, name: str) -> Iterator[tuple[str, frozenset[str]]]:
    """A value, and those before it that operators make it of one by one, as long as each is read once.

    Yields each with the operators that stand behind it.
    """
    seen = set[str]()  # a model that is not valid can go round in circles
    passed = frozenset[str]()
    while flow.uses(name) == 1 and (made := flow.maker_of(name)) is not None and name not in seen:
        seen.add(name)
        yield name, passed
        operator, inputs, _ = flow.steps[made]
        left = [one for one in inputs if one and one not in flow.folded]
        if operator not in ONE_BY_ONE or len(left) != 1:
            return
        passed |= {operator}
        (name,) = left


_GATES = frozenset(("Clip", "Erf", "HardSigmoid", "Relu", "Sigmoid", "Softplus", "Tanh"))
"""Operators whose results a value is multiplied by where an activation is written out: SiLU, Gelu, Mish, HardSwish."""


def _activated(flow: Flow, name: str) -> str:
    """What an activation that several operators write out makes of a value; ``""`` where there is none."""
    made, passed = {name}, set[int]()
    while waiting := {i for one in made for i in flow.readers_of(one)} - passed:
        operator, inputs, outputs = flow.steps[i := min(waiting)]
        fits = operator in (*_GATES, *CHAINED, "Min", "Max", "Pow")
        if not fits or len(outputs) != 1 or not made.issuperset(one for one in inputs if one not in flow.folded):
            return ""
        passed.add(i)
        ends = [one for one in made | {*outputs} if not passed.issuperset(flow.readers_of(one)) or one in outputs]
        if len(ends) == 1 and made.isdisjoint(flow.outputs):
            return ends[0] if len(passed) > 1 and _GATES & {flow.steps[one][0] for one in passed} else ""
        made |= {*outputs}
    return ""


def single_results(flow: Flow, name: str) -> Iterator[str]:
    """A value, and those that operators make of it one by one, as long as each is read once, or by an activation."""
    seen = set[str]()
    while name not in seen:
        seen.add(name)
        yield name
        readers = flow.readers_of(name)
        if len(readers) > 1 and (gated := _activated(flow, name)):
            name = gated
            continue
        if len(readers) != 1 or flow.uses(name) != 1:
            return
        operator, inputs, outputs = flow.steps[readers[0]]
        left = [one for one in inputs if one and one not in flow.folded]
        if operator not in ONE_BY_ONE or left != [name] or not outputs:
            return
        name = outputs[0]
