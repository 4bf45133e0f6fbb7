"""What a value can be where a comparison of it holds: the branches of ``Where(x < c, x, y)``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from minuend.models.ranges.interval import Range

COMPARISONS: Mapping[str, str] = MappingProxyType(
    {"Less": "<", "LessOrEqual": "<=", "Greater": ">", "GreaterOrEqual": ">=", "Equal": "=="}
)
"""Operators that compare two values, by the sign of what they test."""

CONDITIONS = (*COMPARISONS, "Not", "And", "Or")
"""Operators that conditions are made of."""

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_NOT = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}

ELEMENTWISE = ("Abs", "Add", "Cast", "Max", "Min", "Mul", "Neg", "Sub")
"""Operators each of whose results is of the elements of its own place, so that a condition on these tells of it."""

_MOST_NODES = 16
"""Nodes of a condition that are looked at."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a scope, by what names them.

    Attributes:
        maker: a value → the operator that makes it and the operator's inputs; ``None`` for what is given.
        range: what a value can hold.
        again: the range of a value that one operator makes, where its inputs can hold what a mapping says.
    """

    maker: Callable[[Hashable], tuple[str, tuple[Hashable, ...]] | None]
    range: Callable[[Hashable], Range]
    again: Callable[[Hashable, Mapping[Hashable, Range]], Range]


def branches(values: Values, condition: Hashable, taken: Hashable, other: Hashable) -> tuple[Range, Range]:
    """Return what the two branches of a choice can hold where each of them is chosen."""
    return _where(values, condition, True, taken), _where(values, condition, False, other)


def _where(values: Values, condition: Hashable, holds: bool, branch: Hashable) -> Range:
    known: dict[Hashable, Range] = {}
    for x, sign, y in _facts(values, condition, holds):
        for one, sign_of, bound in ((x, sign, y), (y, _TURNED[sign], x)):
            before = known.get(one) or values.range(one)
            known[one] = narrowed(before, sign_of, values.range(bound))
    if branch in known:
        return known[branch]
    made = values.maker(branch)
    if made is not None and made[0] in ELEMENTWISE and any(name in known for name in made[1]):
        return values.again(branch, known)
    return values.range(branch)


def _facts(values: Values, condition: Hashable, holds: bool) -> Iterator[tuple[Hashable, str, Hashable]]:
    """The comparisons that are true where a condition holds, or where it does not."""
    waiting = [(condition, holds)]
    for _ in range(_MOST_NODES):
        if not waiting:
            return
        one, true = waiting.pop()
        kind, inputs = values.maker(one) or ("", ())
        if kind == "Not":
            waiting += [(name, not true) for name in inputs]
        elif kind == ("And" if true else "Or"):
            waiting += [(name, true) for name in inputs]
        elif kind in COMPARISONS and len(inputs) == 2:  # other counts: of a model that is not valid
            sign = COMPARISONS[kind]
            # What is not below a NaN is any number.
            if true or not any(values.range(name).nan for name in inputs):
                yield inputs[0], sign if true else _NOT[sign], inputs[1]


def narrowed(x: Range, sign: str, bound: Range) -> Range:
    """Return what of a range is below, above or at some number of another; NaN is not.

    Args:
        x: the range. sign: ``"<"``, ``"<="``, ``">"``, ``">="``, ``"=="`` or ``"!="``. bound: the other.

    >>> str(narrowed(Range("int64", -5, 9), "<", Range("int64", 0, 3)))
    '-5..2'
    """
    if x.dtype is None or x.dtype != bound.dtype or sign == "!=":
        return x
    unit = 0 if x.is_float else 1
    lo, hi = x.lo, x.hi
    if sign in ("<", "<=", "=="):
        hi = min(hi, bound.hi - unit if sign == "<" else bound.hi)
    if sign in (">", ">=", "=="):
        lo = max(lo, bound.lo + unit if sign == ">" else bound.lo)
    if lo > hi:  # it is never so
        return x
    return replace(x, lo=lo, hi=hi, nan=False, assumptions=x.assumptions | bound.assumptions)
