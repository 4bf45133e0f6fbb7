"""How far a value may be from what the contract gives: not a bit, or as far as operators that round may take it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from minuend.judging.contract import differing
from minuend.models.tracing import Array, Step, Trace, epsilon, exact, is_float, terms
from minuend.runtimes.trials import Answered, Different

TIMES = 4
"""A runtime may be this many times as far from float64 as the operators are that are computed one by one, and may take
this many times the roundings of the operator that takes the most: it may add up in another order."""

WORDS = (
    f"within {TIMES} times what the operators one by one are away from float64, and {TIMES} times the roundings of the "
    "operator that takes the most"
)


@dataclass(frozen=True)
class Verdict:
    """A value compared with the contract's: which elements differ, how far they may, how far the farthest is."""

    unlike: Array
    allowed: float | None = None
    farthest: float = 0.0


class Bounds:
    """The bounds of a trace's values."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.rounded: dict[Hashable, float] = {}
        for step in trace.steps:
            own = 0.0 if exact(step, trace.values) else terms(step, trace.values) * _epsilon(step, trace)
            before = max((self.rounded.get(key, 0.0) for key in step.inputs), default=0.0)
            for key in step.outputs:
                self.rounded[key] = max(own, before)

    def exact(self, key: Hashable) -> bool:
        """Whether every operator on the way to a value has one right answer."""
        return not self.rounded.get(key, 0.0)

    def judge(self, key: Hashable, got: Array) -> Verdict:
        """Compare a value that a runtime gave."""
        own = self.trace.values[key]
        if got.shape != own.shape or got.dtype != own.dtype:
            return Verdict(np.ones(own.shape, np.bool_))
        unlike = differing(got, own)
        wide = self.trace.wide.get(key)
        if self.exact(key):
            return Verdict(unlike)
        if not is_float(own):
            return Verdict(unlike if wide is None else unlike & (wide == own))
        return self._bounded(key, got, own, wide, unlike)

    def _bounded(self, key: Hashable, got: Array, own: Array, wide: Array | None, unlike: Array) -> Verdict:
        with np.errstate(all="ignore"):
            mine, came = own.astype(np.float64), got.astype(np.float64)
            right = mine if wide is None else wide.astype(np.float64)
            finite = np.isfinite(mine) & np.isfinite(right)
            size = np.abs(mine[finite]).max(initial=0.0)
            away = np.abs(mine - right)[finite].max(initial=0.0)
            allowed = float(TIMES * (away + self.rounded[key] * size))
            distance = np.abs(came - right)
            farthest = float(distance[finite & np.isfinite(distance)].max(initial=0.0))
            return Verdict(np.where(finite, ~(distance <= allowed), unlike), allowed, farthest)


def _epsilon(step: Step, trace: Trace) -> float:
    """The coarsest rounding of the types that a node meets."""
    found = [trace.values[key] for key in (*step.inputs, *step.outputs) if is_float(trace.values.get(key))]
    return max((epsilon(one.dtype) for one in found), default=0.0)


def answered(name: str, got: Array, own: Array, verdict: Verdict) -> Answered:
    """An output as a report has it."""
    known = Answered(
        name,
        own.dtype.name,
        own.size,
        int(verdict.unlike.sum()),
        first_of(repr(name), got, own, verdict),
        verdict.allowed,
        verdict.farthest,
    )
    if got.shape != own.shape or got.dtype != own.dtype:
        return replace(known, unequal=own.size, numbers=known.different)
    both_nan = np.not_equal(got, got) & np.not_equal(own, own)
    other = np.asarray(verdict.unlike) & np.not_equal(got, own) & ~both_nan  # no zeros of two signs
    known = replace(known, numbers=int(other.sum()))
    unequal = differing(got, own)
    if not unequal.any():
        return known
    ulps, distance = _distance(got[unequal], own[unequal])
    return replace(known, unequal=int(unequal.sum()), ulps=ulps, distance=distance)


def _distance(got: Array, own: Array) -> tuple[int | None, float]:
    """How far the farthest of some elements is, in ulps and as a number; NaN and infinities do not count."""
    with np.errstate(all="ignore"):
        far = np.abs(got.astype(np.float64) - own.astype(np.float64))
    finite = np.isfinite(far)
    distance = float(far[finite].max(initial=0.0))
    if not is_float(own) or own.dtype.itemsize < 2:
        return None, distance
    steps = [_ordered(one[finite]) for one in (got, own)]
    return max((abs(int(x) - int(y)) for x, y in zip(*steps, strict=True)), default=0), distance


def _ordered(array: Array) -> Array:
    """The floats of a type as whole numbers in their order, both zeros being 0."""
    bits = np.ascontiguousarray(array).view(f"i{array.dtype.itemsize}").astype(np.int64)
    least = -(1 << 8 * array.dtype.itemsize - 1)
    found: Array = np.where(bits < 0, least - bits, bits)
    return found


def first_of(place: str, got: Array, own: Array, verdict: Verdict) -> Different | None:
    """The first element that differs, if one does."""
    if got.shape != own.shape or got.dtype != own.dtype:
        return Different(place, (), f"{got.dtype.name} {list(got.shape)}", f"{own.dtype.name} {list(own.shape)}")
    if not verdict.unlike.any():
        return None
    at = tuple(int(n) for n in np.argwhere(verdict.unlike)[0])
    return Different(place, at, str(got[at]), str(own[at]))
