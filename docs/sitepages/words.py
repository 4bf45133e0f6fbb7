"""What the site calls each operator, and how it writes one: shared sentences are templates over these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from minuend.language import Language
from minuend.operators.operator import Operator
from minuend.standards.version import OpVersion


@dataclass(frozen=True, slots=True)
class Words:
    """An operator in the site's words.

    Attributes:
        title: a heading. result: what it computes.
        formulas: what a standard's page states and its version's row does not, by dialect.
        crosses: whether ``minuend convert`` moves it to another standard.
    """

    title: str
    result: str
    formulas: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    crosses: bool = False


WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "subtract": Words("Subtraction", "difference", crosses=True),
        "add": Words("Addition", "sum"),
        "negative": Words("Negation", "negative", MappingProxyType({"onnx": "y = -x"})),
    }
)
"""By the operator's name in the array API standard."""


def of(op: OpVersion) -> Words:
    """Return what the site calls a version's operator."""
    return WORDS[op.computes.name]


def tensors(op: OpVersion) -> tuple[str, ...]:
    """Return the letters of a version's operands and, last, of its result."""
    return ("X", "Y") if op.computes.arity == 1 else ("A", "B", "C")


def listed(names: Sequence[str], language: Language) -> str:
    """Return names in a sentence: ``A, B and C``."""
    *before, last = names
    return language.tr("{names} and {last}", names=language.tr(", ").join(before), last=last)


def written(operator: Operator, *operands: str) -> str:
    """Write an operator with its operands; a sign of an operand never stands next to the operator's.

    >>> from minuend.operators import NEGATIVE, SUBTRACT
    >>> written(SUBTRACT, "-1", "-0"), written(NEGATIVE, "-0")
    ('−1 − (−0)', '−(−0)')
    """
    alone = operator.arity > 1
    shown = [one if (alone and at == 0) or one[0] not in "+-" else f"({one})" for at, one in enumerate(operands)]
    return operator.written(*shown).replace("-", "−")


def formula(op: OpVersion) -> str:
    """Return a version's operator with the letters of its operands: ``A − B``."""
    return written(op.computes, *tensors(op)[:-1])
