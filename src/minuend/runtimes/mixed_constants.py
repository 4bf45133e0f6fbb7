"""Many subtractions of one shape in one model, each with a scalar of its own: is one computed with another's?

openvino keeps kernels that it has compiled by a hash of what they compute, scalars among it, and does not look whether
what it finds is the same. Which two scalars meet depends on type and shape: of 1,000 float32 subtractions of one shape,
each with a scalar of its own, 15 to 30 are computed with another's. Integers, and shapes that are left open, are right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minuend.arrays import functions
from minuend.core.elements import TYPES, ElementType
from minuend.runtimes.pattern_cases import graph_probing
from minuend.runtimes.probing import GraphProbing
from minuend.runtimes.quirks import quirks
from minuend.runtimes.running import Refused, Runtime

SHAPE = (513,)
"""What each subtraction reads: one element more than fills registers, the least with which it was seen."""

NODES = 390
"""Subtractions in a model, but no more than there are numbers to distinguish them."""

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class MixedUp:
    """How many of how many subtractions of an element type were computed with the constant of another."""

    dtype: str
    wrong: int
    queried: int


def mixed_up(runtime: Runtime, dtype: str, times: int) -> list[MixedUp]:
    """Query a runtime with models of many subtractions of a type; the list is empty where it runs none of them."""
    counts = [_query(runtime, graph_probing(), TYPES[dtype], seed) for seed in range(times)]
    known = [one for one in counts if one is not None]
    return [MixedUp(dtype, sum(wrong for wrong, _ in known), sum(queried for _, queried in known))] if known else []


def _query(runtime: Runtime, form: GraphProbing, element: ElementType, seed: int) -> tuple[int, int] | None:
    scalars = numbers(element, seed)
    x = np.resize(np.arange(100, 120), SHAPE).astype(element.memory)
    model = form.many(element.name, scalars, SHAPE)
    codes = x.view(f"u{x.itemsize}")
    hint = next(iter(quirks(runtime.name).hints), "")
    answer = runtime.query(form.FORM, model.data, b"", [(model.inputs[0], element, codes)], hint, count=len(scalars))
    if isinstance(answer, Refused):
        return None
    own = [functions.subtract(x, scalar).tobytes() for scalar in scalars]
    got = [np.ascontiguousarray(one.codes).tobytes() for one in answer]
    others = set(own)
    return sum(one != mine and one in others for one, mine in zip(got, own, strict=True)), len(own)


def numbers(element: ElementType, seed: int) -> Array:
    """Return whole numbers, each once, in another order for each seed; no difference overflows."""
    signed = element.kind != "unsigned" and element.bits > 8
    every = np.arange(NODES) - NODES // 2 if signed else np.arange(100)
    return np.random.default_rng(seed).permutation(every).astype(element.memory)
