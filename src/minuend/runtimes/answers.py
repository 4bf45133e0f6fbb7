"""Answers: what a runtime does with the values of one class, and the pair that shows it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from minuend.operators import SUBTRACT
from minuend.runtimes.forms import NUMBER

Verdict = Literal["ok", "different-numbers", "not-implemented", "invalid", "unknown"]
VERDICTS: tuple[str, ...] = ("ok", "different-numbers", "not-implemented", "invalid", "unknown")

WORST = ("not-implemented", "different-numbers", "unknown", "ok")
"""Verdicts of one node, the one that counts first."""

EVERY = "every value"
"""Stands for all classes at once in a row: the runtime refuses the model whatever its values are."""


@dataclass(frozen=True, slots=True)
class Witness:
    """One pair of operands that shows a deviation: what the runtime got, and what the contract expects."""

    a: float
    b: float
    got: float
    expected: float

    def __str__(self) -> str:
        return f"{SUBTRACT.written(self.a, self.b)}: got {self.got}, expected {self.expected}"

    @property
    def gives(self) -> str:
        """What the runtime gave, for a sentence: ``"5 - 10 gives 0"``."""
        return f"{SUBTRACT.written(self.a, self.b)} gives {self.got}"


Span = tuple[float, float]
"""Magnitudes from one to another, both included; infinity counts, NaN has none."""

MOST_SPANS = 4
"""How many spans an answer keeps; of more, the closest ones are joined."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a runtime does with the values of one class.

    Attributes:
        verdict: one of :data:`VERDICTS`. witness: of different numbers. message: of a refusal.
        a_spans, b_spans: which magnitudes of A and of B were in pairs that gave different numbers, ascending. A span
            reaches to the next magnitude that was asked and was fine with every partner, which is not in it; what lies
            between was not asked. ``None`` where only NaN deviates, or where nothing is known.
    """

    verdict: str
    witness: Witness | None = None
    message: str = ""
    a_spans: tuple[Span, ...] | None = None
    b_spans: tuple[Span, ...] | None = None
    unlike: str = field(default="", kw_only=True)


def joined_spans(*known: tuple[Span, ...] | None) -> tuple[Span, ...] | None:
    """Return the spans that hold what any of several hold, :data:`MOST_SPANS` at most.

    >>> joined_spans(((0, 0), (5, 8)), ((7, 9),), None)
    ((0, 0), (5, 9))
    """
    found: list[Span] = []
    for low, high in sorted(span for spans in known if spans is not None for span in spans):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    while len(found) > MOST_SPANS:
        gaps = [_apart(below[1], above[0]) for below, above in itertools.pairwise(found)]
        k = gaps.index(min(gaps))
        found[k : k + 2] = [(found[k][0], found[k + 1][1])]
    return tuple(found) or None


def _apart(low: float, high: float) -> float:
    return math.inf if low == 0 or math.isinf(high) else high / low


OK = Answer("ok")


# ---- as JSON ----------------------------------------------------------------------------------------------------

_SPANS = ("a_spans", "b_spans")
ANSWER = {
    "verdict": frozenset(VERDICTS),
    "witness?": dict.fromkeys(("a", "b", "got", "expected"), NUMBER),
    "message?": str,
    **{f"{key}?": [(NUMBER, NUMBER)] for key in _SPANS},
}
"""The form of an answer (:mod:`minuend.runtimes.forms`)."""


def answer_of(data: Mapping[str, Any]) -> Answer:
    """Read an answer."""
    witness = data.get("witness")
    if witness is not None:
        witness = Witness(*(_number(witness[key]) for key in ("a", "b", "got", "expected")))
    return Answer(data["verdict"], witness, data.get("message", ""), *(_spans(data, key) for key in _SPANS))


def _spans(data: Mapping[str, Any], key: str) -> tuple[Span, ...] | None:
    """Spans of an answer; a file that was written before there were any has none."""
    return tuple((_number(low), _number(high)) for low, high in data[key]) if key in data else None


def _number(value: Any) -> float:
    return float(value) if isinstance(value, str) else value


def plain_answer(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain data."""
    data: dict[str, Any] = {"verdict": answer.verdict}
    if answer.witness is not None:
        data["witness"] = {key: _plain_number(getattr(answer.witness, key)) for key in ("a", "b", "got", "expected")}
    for key in _SPANS:
        if (spans := getattr(answer, key)) is not None:
            data[key] = [[_plain_number(end) for end in span] for span in spans]
    if answer.message:
        data["message"] = answer.message
    return data


def _plain_number(value: float) -> float | str:
    return value if isinstance(value, int) or value - value == 0 else str(value)
