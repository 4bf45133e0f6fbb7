"""Subtractions of two constants: judged on those very numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minuend.core.elements import ElementType
from minuend.models.occurrences import Array, Occurrence
from minuend.operators.operator import Operator
from minuend.runtimes import values
from minuend.runtimes.answers import OK, WORST, Answer, Span
from minuend.runtimes.reasons import PairsLikeItDiffer

BY_DIGITS = "beyond float32"
"""The class whose members deviate by their operands' digits, of whatever size these are: spans say nothing of it."""

_MOST_PAIRS = 4096
"""Different pairs up to which each is looked at."""

SYSTEMATIC = ("lowest subtrahend", "wraps", "beyond int32")
"""Classes all of whose members a runtime gets wrong, if any: one pair speaks for the others."""


def on_their_numbers(
    occurrence: Occurrence, element: ElementType, everything: Mapping[str, Answer]
) -> dict[str, Answer] | None:
    """Return the answers for the classes that two constants' own pairs fall into.

    Args:
        occurrence: the subtraction. element: its type. everything: the answers of all classes.

    Returns:
        Class name → answer; ``None`` where the elements are not known or too many pairs differ.
    """
    x, y = occurrence.fixed() if occurrence.two_constants else (None, None)
    if x is None or y is None:
        return None
    try:
        a, b = np.broadcast_arrays(x, y)
    except ValueError:  # joined by another rule than NumPy's
        return None
    pairs = np.unique(np.stack([_codes(a, element), _codes(b, element)]), axis=1)
    if pairs.shape[1] > _MOST_PAIRS:
        return None
    found: dict[str, Answer] = {}
    in_float32 = BY_DIGITS in everything and everything[BY_DIGITS].verdict == "different-numbers"
    for code_a, code_b in pairs.T.tolist():
        name = values.class_of(occurrence.op.computes, element, code_a, code_b)
        answer = _of_pair(occurrence.op.computes, element, (code_a, code_b), name, everything[name])
        if in_float32 and values.differs_in_float32(occurrence.op.computes, element, (code_a, code_b)):
            answer = Answer("different-numbers", message=everything[BY_DIGITS].message)
        if name not in found or WORST.index(answer.verdict) < WORST.index(found[name].verdict):
            found[name] = answer
    return found


def _codes(array: Any, element: ElementType) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(f"u{element.itemsize}")


def _of_pair(operator: Operator, element: ElementType, codes: tuple[int, int], name: str, answer: Answer) -> Answer:
    """An answer for a class as it holds for one pair of it."""
    if answer.verdict != "different-numbers":
        return answer
    a, b = (values.number(element, code) for code in codes)
    witness = answer.witness
    if witness is not None and [*map(str, witness.operands)] == [str(a), str(b)]:
        return answer
    if name != BY_DIGITS and not all(_lies(one, spans) for one, spans in zip((a, b), answer.spans, strict=False)):
        return OK
    if name in SYSTEMATIC:
        return Answer("different-numbers", message=answer.message)
    return Answer("unknown", reason=PairsLikeItDiffer(operator.written(a, b)))


def can_make(occurrence: Occurrence, numbers: Sequence[float]) -> bool:
    """Whether operands can be some numbers: within their ranges, and among a constant's elements."""
    if not all(one.holds(number) for one, number in zip(occurrence.operands, numbers, strict=True)):
        return False
    sides = zip(occurrence.fixed(), numbers, strict=True)
    return all(stored is None or _among(stored, value) for stored, value in sides)


def concerns(occurrence: Occurrence, answer: Answer) -> bool:
    """Whether an answer is about operands that an occurrence can have: not where all that differed were others."""
    return not answer.only or can_make(occurrence, answer.only)


def equal_number(occurrence: Occurrence) -> float | None:
    """Return a finite number that both operands can be; ``None`` where there is none."""
    low, high = max(one.lo for one in occurrence.operands), min(one.hi for one in occurrence.operands)
    for stored in occurrence.fixed():
        if stored is not None:
            numbers = in_float64(stored)
            inside = stored[(numbers >= low) & (numbers <= high) & np.isfinite(numbers)]
            return float(str(inside[0])) if inside.size else None  # in as few digits as its type has
    return float(min(max(1.0, low), high)) if low <= high else None


def _among(stored: Array, value: float) -> bool:
    if isinstance(value, int):  # those of 64 bits have more digits than float64
        return bool((stored == value).any())
    numbers = in_float64(stored)
    if math.isnan(value):
        return bool(np.isnan(numbers).any())
    found = numbers[numbers == _number(value, stored)]
    return bool(found.size) and (value != 0 or bool((np.signbit(found) == np.signbit(value)).any()))


def in_float64(stored: Array) -> Array:
    """A constant's elements in float64; signalling NaNs are like others."""
    with np.errstate(invalid="ignore"):
        return stored.astype(np.float64)


def _number(value: float, like: Array) -> float:
    """The number of a type that a witness shows, as a shorter decimal."""
    return float(np.array(value).astype(like.dtype).astype(np.float64))


def _lies(value: float, spans: tuple[Span, ...] | None) -> bool:
    return spans is None or math.isnan(value) or any(low <= abs(value) <= high for low, high in spans)
