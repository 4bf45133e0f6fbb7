"""Answers: what a runtime does with the values of one class, and the pair that shows it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from minuend.core.elements import ElementType
from minuend.operators.operator import Operator
from minuend.runtimes.severity import SEVERITIES, Deviation, Severity, deviation, rank
from minuend.runtimes.witness import Witness
from minuend.schema import Item, element, exactly, fields, many, one_of, optional

if TYPE_CHECKING:
    from minuend.runtimes.reasons import Reason, ReleasesDiffer

Verdict = Literal["ok", "different-numbers", "not-implemented", "invalid", "unknown"]
VERDICTS: tuple[str, ...] = ("ok", "different-numbers", "not-implemented", "invalid", "unknown")

DIFFERENT = "different-numbers"

WORST = ("not-implemented", "different-numbers", "unknown", "ok")
"""Verdicts of one node, the one that counts first."""

EVERY = "every value"
"""Stands for all classes at once in a row: the runtime refuses the model whatever its values are."""


Span = tuple[float, float]
"""Magnitudes from one to another, both included; infinity counts, NaN has none."""

Spans = tuple[tuple[Span, ...] | None, ...]
"""The spans of each operand."""

MOST_SPANS = 4
"""How many spans an answer keeps; of more, the closest ones are joined."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a runtime does with the values of one class.

    Attributes:
        verdict: one of :data:`VERDICTS`. witness: of different numbers. message: of a refusal.
        spans: for each operand, which magnitudes of it were in operations that gave different numbers, ascending. A
            span reaches to the next magnitude that was tried and was fine with every partner, which is not in it; what
            lies between was not tried. ``None`` for an operand of which only NaN deviates; empty where
            nothing is known.
        severities: of different numbers that several elements showed, how bad they were, mildest first; empty where
            the witness alone says it. ulps: the largest distance of finite results in ulps among them.
        only: the operator's own operands, where all elements that differed had the same ones.
        reason: why nothing is known, where the runtime does not say it.
        unlike: of a release that was not measured: how those around it differ.
    """

    verdict: str
    witness: Witness | None = None
    message: str = ""
    spans: Spans = ()
    severities: tuple[Severity, ...] = ()
    ulps: int = 0
    only: tuple[float, ...] = ()
    reason: Reason | None = field(default=None, kw_only=True)
    unlike: ReleasesDiffer | None = field(default=None, kw_only=True)

    @property
    def a_spans(self) -> tuple[Span, ...] | None:
        """The first operand's spans."""
        return self.spans[0] if self.spans else None

    @property
    def b_spans(self) -> tuple[Span, ...] | None:
        """The second operand's spans."""
        return self.spans[1] if self.spans else None

    def deviations(self, element: ElementType) -> tuple[Deviation, ...]:
        """How bad different numbers of an element type are; one that is not known where nothing says it.

        What is off by more than roundings is bounded where a type of 16 bits is computed in more of them alone.
        """
        if self.severities:
            bounded = ("rounding", "numbers") if element.bits == 16 else ("rounding",)
            return tuple(Deviation(one, self.ulps if one in bounded else 0) for one in self.severities)
        return (deviation(element, self.witness),)


def by_operand(spans: Iterable[tuple[Span, ...] | None]) -> Spans:
    """Return the spans of each operand; none at all where nothing is known of any."""
    found = tuple(spans)
    return found if any(one is not None for one in found) else ()


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
        gaps = [_gap(below[1], above[0]) for below, above in itertools.pairwise(found)]
        k = gaps.index(min(gaps))
        found[k : k + 2] = [(found[k][0], found[k + 1][1])]
    return tuple(found) or None


def _gap(low: float, high: float) -> float:
    return math.inf if low == 0 or math.isinf(high) else high / low


OK = Answer("ok")


def worse(one: Answer, other: Answer) -> Answer:
    """Return the answer of two sets of values of one class: the worse verdict, with all severities of both."""
    if one.verdict != other.verdict:
        return min(one, other, key=lambda each: WORST.index(each.verdict))
    if not (one.severities and other.severities):
        return one if one.severities == other.severities else replace(one, severities=(), ulps=0)
    first, second = sorted((one, other), key=lambda each: (rank(each.severities[-1]), each.ulps), reverse=True)
    seen = tuple(each for each in SEVERITIES if each in (*one.severities, *other.severities))
    only = one.only if str(one.only) == str(other.only) else ()  # -0 is not 0
    witness, ulps = first.witness or second.witness, max(one.ulps, other.ulps)
    return replace(first, witness=witness, severities=seen, ulps=ulps, only=only)


# ---- as JSON ----------------------------------------------------------------------------------------------------

ANSWER = fields(
    {
        "verdict?": one_of(VERDICTS),
        "witness?": fields({"operands": many(element), "got": element, "expected": element}),
        "message?": Item.string,
        "severities?": many(one_of(SEVERITIES)),
        "ulps?": Item.integer,
        "only?": many(element),
        "spans?": many(optional(many(exactly(element, element)))),
    }
)
"""The form of an answer (:mod:`minuend.schema`). One without a verdict is of :data:`DIFFERENT` numbers."""


def answer_of(data: Mapping[str, Any], operator: Operator) -> Answer:
    """Read an answer for an operator."""
    found = data.get("witness")
    witness = None
    if found is not None:
        operands = tuple(map(number_of, found["operands"]))
        witness = Witness(operator, operands, number_of(found["got"]), number_of(found["expected"]))
    seen = tuple(one for one in SEVERITIES if one in data.get("severities", ()))
    spans = tuple(map(_spans, data.get("spans", ())))
    only = tuple(map(number_of, data.get("only", ())))
    return Answer(
        data.get("verdict", DIFFERENT), witness, data.get("message", ""), spans, seen, data.get("ulps", 0), only
    )


def _spans(data: Any) -> tuple[Span, ...] | None:
    return None if data is None else tuple((number_of(low), number_of(high)) for low, high in data)


def number_of(value: Any) -> float:
    """Return a number that JSON holds; NaN and infinities are texts there."""
    return float(value) if isinstance(value, str) else value


def plain_answer(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain data."""
    data: dict[str, Any] = {} if answer.verdict == DIFFERENT else {"verdict": answer.verdict}
    if (one := answer.witness) is not None:
        numbers = {"got": plain_number(one.got), "expected": plain_number(one.expected)}
        data["witness"] = {"operands": list(map(plain_number, one.operands)), **numbers}
    if answer.severities:
        data |= {"severities": list(answer.severities)} | ({"ulps": answer.ulps} if answer.ulps else {})
    if answer.only:
        data["only"] = list(map(plain_number, answer.only))
    if answer.spans:
        data["spans"] = list(map(_plain_spans, answer.spans))
    if answer.message:
        data["message"] = answer.message
    return data


def _plain_spans(spans: tuple[Span, ...] | None) -> Any:
    return None if spans is None else [[plain_number(end) for end in span] for span in spans]


def plain_number(value: float) -> float | str:
    """Return a number as JSON holds it."""
    return value if isinstance(value, int) or value - value == 0 else str(value)
