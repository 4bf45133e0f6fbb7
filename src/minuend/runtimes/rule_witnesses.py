"""Witnesses of patterns that deviate by a rule, of which the numbers that cases are measured with show nothing."""

from __future__ import annotations

from collections.abc import Sequence

from minuend.models.patterns import Op, Pattern, X, judged
from minuend.operators import BY_ONNX, SUBTRACT
from minuend.runtimes.witness import Witness

_NUMBER = 1.7
"""Of which no float type has all digits, so that no runtime leaves the operator out."""

_OF_ONE_NUMBER = ("ReduceMax", "ReduceMin", "ReduceMean", "GlobalMaxPool", "GlobalAveragePool")
"""Operators that make a number of copies of itself."""


def of_sum_that_is_zero(pattern: Op) -> Witness | None:
    """Return what shows that ``x - (y + c)`` is computed as ``x + (-y - c)``: -0 - 0 is -0, and -0 + 0 is 0.

    >>> from minuend.models.patterns import Const, less
    >>> str(of_sum_that_is_zero(less(X, Op("Add", (X, Const.SCALAR)))))
    '-0.0 - Add(-1.7, 1.7): got 0.0, expected -0.0'
    """
    made = pattern.operands[1]
    if pattern.operator != SUBTRACT.onnx or not isinstance(made, Op):
        return None
    other = -_NUMBER if made.operator == "Add" else _NUMBER
    return _witness(pattern, [-0.0, *(other if one == X else _NUMBER for one in made.operands)], 0.0, -0.0)


def of_factor(pattern: Pattern) -> Witness | None:
    """Return what shows that ``(a - b) * c`` is computed as ``a * c - b * c``: where a is b and c is below 0.

    >>> from minuend.models.patterns import Const, less
    >>> str(of_factor(Op("Mul", (less(Const.SCALAR, X), Const.SCALAR))))
    'Mul(1.0 - 1.0, -1.7): got 0.0, expected -0.0'
    """
    if not isinstance(pattern, Op) or pattern.operator != "Mul":
        return None
    own = [one for one in pattern.operands if isinstance(one, Op)]
    if len(own) != 1 or not own[0].judged or any(isinstance(one, Op) for one in own[0].operands):
        return None
    if own[0].operator != SUBTRACT.onnx:
        return None
    numbers = [number for one in pattern.operands for number in ((1.0, 1.0) if isinstance(one, Op) else (-_NUMBER,))]
    return _witness(pattern, numbers, 0.0, -0.0)


def of_cut_off(pattern: Pattern) -> Witness | None:
    """Return what shows that a difference of bfloat16 is cut off and not rounded.

    >>> from minuend.models.patterns import Const, less
    >>> str(of_cut_off(less(Op("ReduceMax", (X,)), Const.ANY)))
    'ReduceMax(1.0) - 0.0015: got 0.996, expected 1.0'
    """
    if not isinstance(pattern, Op) or pattern.operator != SUBTRACT.onnx or not pattern.judged:
        return None
    made = [one.operator if isinstance(one, Op) else "" for one in pattern.operands]
    if sum(one in _OF_ONE_NUMBER for one in made) != 1:
        return None
    sign = 1 if made[0] else -1
    return _witness(pattern, [1.0 if one else 0.0015 for one in made], sign * 0.996, sign * 1.0)


def _witness(pattern: Op, operands: Sequence[float], got: float, expected: float) -> Witness:
    return Witness(BY_ONNX[judged(pattern)], tuple(operands), got, expected, pattern)
