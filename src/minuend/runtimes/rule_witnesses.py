"""Witnesses of patterns that deviate by a rule, of which the numbers that cases are measured with show nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from minuend.core.elements import TYPES
from minuend.models.patterns import Op, Pattern, X, judged
from minuend.operators import BY_ONNX, SUBTRACT, codes
from minuend.runtimes import values
from minuend.runtimes.witness import Witness

_NUMBER = 1.7
"""Of which no float type has all digits, so that no runtime leaves the operator out."""

_OF_ONE_NUMBER = ("ReduceMax", "ReduceMin", "ReduceMean", "GlobalMaxPool", "GlobalAveragePool")
"""Operators that make a number of copies of itself."""

_POSITIVE = ("ReduceL1", "ReduceL2", "ReduceSumSquare")
_OF_ONE_AND_NEUTRAL = ("ReduceSum", "ReduceProd", *_POSITIVE)
"""Operators that make a number of itself, or of its square, and of others that change nothing."""

_FLOAT32 = TYPES["float32"]
_BFLOAT16 = TYPES["bfloat16"]
_BITS = 8
"""The digits of a number of bfloat16."""


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


def of_subnormal_product(pattern: Pattern, factor: float) -> Witness | None:
    """Return what shows that a product with a power of two, which is subnormal, is not rounded before it is subtracted.

    Args:
        pattern: of a product, or a quotient, and a value. factor: the power; of a quotient, what is divided by.

    >>> from minuend.models.patterns import Const, less
    >>> str(of_subnormal_product(less(X, Op("Mul", (X, Const.POWER))), 0.5))
    '4e-45 - Mul(4e-45, 0.5): got 3e-45, expected 1e-45'
    >>> str(of_subnormal_product(less(Op("Div", (X, Const.POWER)), X), 4.0))
    'Div(8e-45, 4.0) - 4e-45: got -3e-45, expected -1e-45'
    """
    if not isinstance(pattern, Op) or pattern.operator != SUBTRACT.onnx or X not in pattern.operands:
        return None
    made = next(one for one in pattern.operands if isinstance(one, Op))
    multiplied = 3 * 2.0**-150 / (factor if made.operator == "Mul" else 1 / factor)
    inner = [multiplied if one == X else factor for one in made.operands]
    operands = [number for one in pattern.operands for number in ([3 * 2.0**-149] if one == X else inner)]
    sign = 1 if pattern.operands[0] == X else -1
    shown = [values.number(_FLOAT32, codes.encode(_FLOAT32, Fraction(one))) for one in operands]
    got, expected = (values.number(_FLOAT32, codes.encode(_FLOAT32, Fraction(sign * n * 2.0**-149))) for n in (2, 1))
    return _witness(pattern, shown, got, expected)


def of_cut_off(pattern: Pattern, constants: Iterable[float]) -> Witness | None:
    """Return what shows that a difference of bfloat16 is cut off and not rounded.

    The operand that is reduced is so much larger than a constant that the difference rounds to it. A number of copies
    of one number is reduced to it by some operators; others make it of other numbers, and the pattern is not shown.

    >>> from minuend.models.patterns import Const, less
    >>> str(of_cut_off(less(Op("ReduceMax", (X,)), Const.ANY), [0.0015]))
    'ReduceMax(1.0) - 0.0015: got 0.996, expected 1.0'
    >>> str(of_cut_off(less(Const.ANY, Op("ReduceSum", (X,))), [-3.0]))
    '-3.0 - -2048.0: got 2040.0, expected 2048.0'
    """
    made = _reduced(pattern)
    if made is None or made.operator not in (*_OF_ONE_NUMBER, *_OF_ONE_AND_NEUTRAL):
        return None
    positive = made.operator in _POSITIVE
    for constant in constants:
        if not 2.0**-60 < abs(constant) < 2.0**60 or (positive and constant < 0):
            continue
        exponent = math.frexp(constant)[1] + _BITS + 1
        exponent += exponent % 2 if made.operator == "ReduceSumSquare" else 0
        large = math.copysign(2.0**exponent, constant)
        got = values.number(_BFLOAT16, codes.encode(_BFLOAT16, Fraction(large * (1 - 2.0**-_BITS))))
        return _of_reduced(pattern, made, large, constant, got, large)
    return None


def of_misplaced(pattern: Pattern, number: float, constants: Sequence[float]) -> Witness | None:
    """Return what shows that a constant is applied along another axis: its first number stands for each other one.

    Args:
        pattern: of the operator that reduces. number: what that makes of copies of it. constants: all of them.

    >>> from minuend.models.patterns import Const, less
    >>> str(of_misplaced(less(Op("ReduceMax", (X,)), Const.ANY), 0.0, [1.0, 3.0]))
    'ReduceMax(0.0) - 3.0: got -1.0, expected -3.0'
    """
    made = _reduced(pattern)
    other = next((one for one in constants if one != constants[0] and math.isfinite(one)), None)
    if made is None or other is None or not math.isfinite(constants[0]):
        return None
    if made.operator not in _OF_ONE_NUMBER and (number or made.operator not in _OF_ONE_AND_NEUTRAL):
        return None
    return _of_reduced(pattern, made, number, other, number - constants[0], number - other, shows=True)


def _reduced(pattern: Pattern) -> Op | None:
    """What reduces one operand of a difference, the other one being a constant."""
    if not isinstance(pattern, Op) or pattern.operator != SUBTRACT.onnx or not pattern.judged:
        return None
    made = [one for one in pattern.operands if isinstance(one, Op)]
    return made[0] if len(made) == 1 else None


def _of_reduced(
    pattern: Pattern, made: Op, number: float, constant: float, got: float, expected: float, *, shows: bool = False
) -> Witness:
    """A witness of what is reduced to a number less a constant, or of the reverse."""
    assert isinstance(pattern, Op)
    first = pattern.operands[0] == made
    sign = 1 if first else -1
    found = _witness(pattern, (number, constant) if first else (constant, number), sign * got, sign * expected)
    return found if shows or made.operator in _OF_ONE_NUMBER else replace(found, pattern=None)


def _witness(pattern: Op, operands: Sequence[float], got: float, expected: float) -> Witness:
    return Witness(BY_ONNX[judged(pattern)], tuple(operands), got, expected, pattern)
