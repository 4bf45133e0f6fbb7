"""Where numbers leave the contract: a model is cut at values, and a cut counts only if it changes nothing.

A value that is made an output is not fused any more. A cut is used only where the model's own outputs are, bit for bit,
what they are without it; what lies between two such cuts is computed together. Where that leaves several nodes, cuts
that change bits of the outputs are used as well, as long as the output stays wrong: the first value that is wrong then
names one node, or fewer of them.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minuend.core.elements import of_numpy
from minuend.errors import LimitExceeded
from minuend.judging.contract import differing
from minuend.judging.error_bounds import Bounds, first_of
from minuend.models.opening import Model
from minuend.models.tracing import Array, Step, Trace
from minuend.runtimes.model_runs import RuntimeRefuses, query_model
from minuend.runtimes.probing import Skip
from minuend.runtimes.running import Runtime
from minuend.runtimes.trials import Place

_MOST_RUNS = 32
"""How often a model is run to find one place."""

_MOST_BYTES = 512 << 20
"""Bytes of values that are looked at in one run."""


@dataclass(frozen=True)
class Cuts:
    """A model on a runtime, to be cut.

    Attributes:
        model, inputs: what is run. trace: the same by the contract. runtime, settings: where, and its hint or switch.
        got: the outputs as they are without a cut. outputs: the names of those that are compared.
    """

    model: Model
    inputs: Mapping[str, Array]
    trace: Trace
    runtime: Runtime
    settings: Mapping[str, str]
    got: Mapping[str, Array]
    outputs: Collection[str]

    def seen(self, keys: Collection[Hashable]) -> dict[Hashable, Array] | None:
        """Return values from inside; ``None`` where looking at them changes the outputs, or cannot be done."""
        looked = self.look(keys)
        if looked is None:
            return None
        for name, array in looked[0].items():
            before = self.got[name]
            if before.shape != array.shape or before.dtype != array.dtype or differing(array, before).any():
                return None
        return looked[1]

    def look(self, keys: Collection[Hashable]) -> tuple[Mapping[str, Array], dict[Hashable, Array]] | None:
        """Return the outputs, and values from inside, with these made outputs; ``None`` where that cannot be done."""
        known = {key: self.got[name] for name, key in self.trace.outputs.items()}
        wanted = [key for key in dict.fromkeys(keys) if key not in known and self.can_see(key)]
        if sum(self.trace.values[key].nbytes for key in wanted) > _MOST_BYTES:
            return None
        if not wanted:
            return self.got, {key: known[key] for key in keys if key in known}
        try:
            outputs, seen = query_model(self.model, self.inputs, list(self.got), wanted, self.runtime, self.settings)
        except (LimitExceeded, RuntimeRefuses, Skip):
            return None
        found = {key: outputs[name] for name, key in self.trace.outputs.items() if name in outputs}
        return outputs, {**found, **dict(zip(wanted, seen, strict=True))}

    def can_see(self, key: Hashable) -> bool:
        """Whether a value is computed in the model, and an array of numbers."""
        value = self.trace.values.get(key)
        made = any(key in step.outputs for step in self.trace.steps if step.operator != "Constant")
        return made and isinstance(value, np.ndarray) and (value.dtype == np.bool_ or of_numpy(value.dtype) is not None)


def before(trace: Trace, key: Hashable, stop: Collection[Hashable] = ()) -> list[Step]:
    """Return the nodes that a value depends on, in order; not those behind values of ``stop``."""
    need = {key}
    found = []
    for step in reversed(trace.steps):
        if any(one in need for one in step.outputs):
            found.append(step)
            need.update(one for one in step.inputs if one not in stop)
    return found[::-1]


def locate(cuts: Cuts, bounds: Bounds, output: str) -> Place | None:
    """Return the first place on the way to an output where numbers leave; ``None`` where it is not known."""
    target = cuts.trace.outputs[output]
    keys = [key for step in before(cuts.trace, target) for key in step.outputs if cuts.can_see(key)]
    seen = cuts.seen(keys)
    if seen is not None:
        wrong = next((key for key in keys if key in seen and bounds.judge(key, seen[key]).unlike.any()), None)
        return None if wrong is None else _place(cuts.trace, bounds, output, wrong, seen[wrong])
    right, wrong, array = _narrowed(cuts, bounds, keys, target, output)
    place = _place(cuts.trace, bounds, output, wrong, array, right)
    if place is None or not place.together:
        return place
    nearer = _by_changing_cuts(cuts, bounds, keys, right, output)
    return nearer if nearer is not None and len(nearer.together) < len(place.together) else place


def _by_changing_cuts(
    cuts: Cuts, bounds: Bounds, keys: Sequence[Hashable], known: Sequence[Hashable], output: str
) -> Place | None:
    """Look for the place by cuts that change bits of the outputs, but leave this one wrong; ``None`` for none.

    Args:
        known: values that are right, found by cuts that change nothing.
    """
    target = cuts.trace.outputs[output]
    low = max((keys.index(key) for key in known if key in keys), default=-1)
    high, wrong, array = len(keys) - 1, target, cuts.got[output]
    right, hidden = list(known), set[int]()
    for _ in range(_MOST_RUNS):
        left = [k for k in range(low + 1, high) if k not in hidden]
        if not left:
            break
        # At first all of them at once: where that leaves the output wrong, one look tells the place.
        some = left if array is cuts.got[output] and not hidden else [min(left, key=lambda k: abs(2 * k - low - high))]
        looked = cuts.look([keys[k] for k in some])
        if looked is None or not bounds.judge(target, looked[0][output]).unlike.any():
            hidden.update(some if len(some) == 1 else [some[len(some) // 2]])
            continue
        bad = [k for k in some if keys[k] in looked[1] and bounds.judge(keys[k], looked[1][keys[k]]).unlike.any()]
        good = [k for k in some if k not in bad and (not bad or k < bad[0])]
        right += [keys[k] for k in good]
        if bad:
            high, wrong, array = bad[0], keys[bad[0]], looked[1][keys[bad[0]]]
        low = max([low, *good])
    if len(right) == len(known) and wrong is target:
        return None
    place = _place(cuts.trace, bounds, output, wrong, array, right)
    return None if place is None else replace(place, cut=True)


def _narrowed(
    cuts: Cuts, bounds: Bounds, keys: Sequence[Hashable], target: Hashable, output: str
) -> tuple[list[Hashable], Hashable, Array]:
    """Halve the way to an output, by cuts that change nothing: what is right, and the first that is wrong."""
    right: list[Hashable] = []
    low, high, wrong, array = -1, keys.index(target) if target in keys else len(keys), target, cuts.got[output]
    hidden: set[int] = set()
    for _ in range(_MOST_RUNS):
        left = [k for k in range(low + 1, high) if k not in hidden]
        if not left:
            break
        middle = min(left, key=lambda k: abs(2 * k - low - high))
        seen = cuts.seen([keys[middle]])
        if seen is None:
            hidden.add(middle)
        elif bounds.judge(keys[middle], seen[keys[middle]]).unlike.any():
            high, wrong, array = middle, keys[middle], seen[keys[middle]]
        else:
            low = middle
            right.append(keys[middle])
    return right, wrong, array


def _place(
    trace: Trace, bounds: Bounds, output: str, key: Hashable, got: Array, right: Collection[Any] | None = None
) -> Place | None:
    step = next((one for one in trace.steps if key in one.outputs), None)
    if step is None:  # an output that is an input
        return None
    verdict, own = bounds.judge(key, got), trace.values[key]
    first = first_of(step.where, got, own, verdict)
    assert first is not None
    others = [] if right is None else [one for one in before(trace, key, right) if one.operator != "Constant"]
    together = tuple(f"{one.where} ({one.operator})" for one in others if one is not step)
    subtracts = any(one.operator == "Sub" for one in (step, *others))
    return Place(step.where, step.operator, output, first, own.size, int(verdict.unlike.sum()), together, subtracts)
