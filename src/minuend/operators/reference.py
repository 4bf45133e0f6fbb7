"""The slow, obvious, exact oracle of every operator; it shares nothing with the kernel.

Everything here is Python integers and exact fractions; infinities and zeros alone are Python's floats. An element
is its *code* (:mod:`minuend.operators.codes`). :func:`table` makes the answers that the kernel looks up for types of
8 bits or fewer.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction

from minuend.core.elements import ElementType, FloatFormat
from minuend.core.policies import POLICIES
from minuend.errors import OverflowFound, listed
from minuend.operators import codes
from minuend.operators.operator import Operator, Value, fits

TABLE_POLICIES = (*POLICIES, "count")


def apply(operator: Operator, element: ElementType, operands: Sequence[int], overflow: str = "wrap") -> int:
    """Return the code of an operator's result for the codes of its operands, exact and rounded at most once.

    Args:
        operator: what is computed. element: the operands' element type. operands: codes of it.
        overflow: ``"wrap"``, ``"saturate"``, ``"widen"`` (the answer is a code of ``element.widened``) or ``"error"``;
            floats ignore it.

    Raises:
        OverflowFound: under ``"error"``, or ``"widen"`` of 64 bits, the result does not fit.
        ValueError: a code with more bits than the type, or no such policy.

    >>> from minuend.core.elements import TYPES
    >>> from minuend.operators import SUBTRACT
    >>> apply(SUBTRACT, TYPES["uint8"], (5, 10)), apply(SUBTRACT, TYPES["uint8"], (5, 10), "saturate")
    (251, 0)
    >>> hex(apply(SUBTRACT, TYPES["float16"], (0x3C00, 0x3800)))  # 1.0 - 0.5
    '0x3800'
    """
    if overflow not in POLICIES:
        raise ValueError(f"overflow is {overflow!r}; expected {listed(map(repr, POLICIES))}")
    limit = 1 << element.bits
    for code in operands:
        if not 0 <= code < limit:
            codes.check_code(element, code)
    if element.format is not None:
        return _of_floats(operator, element, element.format, operands)
    if element.levels is not None:
        levels = element.levels
        return codes.nearest_level(levels, operator.compute(*(Fraction(levels[code]) for code in operands)))
    return _of_integers(operator, element, operands, overflow)


def of_values(operator: Operator, element: ElementType, operands: Sequence[Value], overflow: str = "wrap") -> Value:
    """Return an operator's result for values: :func:`apply` without codes; floats are rounded to the element type.

    Args:
        operator: what is computed. element: the operands' element type. operands: values, as
            :func:`minuend.operators.codes.encode` takes them. overflow: as :func:`apply` takes it.

    Raises:
        OverflowFound, ValueError: as :func:`apply`. ScalarRangeError: an integer operand that the type does not hold.

    >>> from minuend.core.elements import TYPES
    >>> from minuend.operators import ADD, NEGATIVE
    >>> of_values(ADD, TYPES["int8"], (127, 1)), of_values(ADD, TYPES["int8"], (127, 1), "widen")
    (-128, 128)
    >>> of_values(NEGATIVE, TYPES["float32"], (0.0,))
    -0.0
    """
    code = apply(operator, element, [codes.encode(element, value) for value in operands], overflow)
    return codes.decode(element.widened if overflow == "widen" and element.is_integer else element, code)


def overflows(operator: Operator, element: ElementType, operands: Sequence[int]) -> bool:
    """Return whether the exact result for some codes does not fit their own integer type; never for floats.

    >>> from minuend.core.elements import TYPES
    >>> from minuend.operators import SUBTRACT
    >>> overflows(SUBTRACT, TYPES["uint8"], (5, 10)), overflows(SUBTRACT, TYPES["int8"], (5, 10))
    (True, False)
    """
    if not element.is_integer:
        return False
    return not fits(element, operator.exact(*(codes.integer(element, code) for code in operands)))


def _of_integers(operator: Operator, element: ElementType, operands: Sequence[int], overflow: str) -> int:
    values = [codes.integer(element, code) for code in operands]
    target = element.widened if overflow == "widen" else element
    low, high = target.limits
    exact: int = operator.compute(*values)
    if overflow == "saturate":
        exact = min(max(exact, low), high)
    elif overflow != "wrap" and not fits(target, exact):
        message = f"{operator.equation(*values)} does not fit {target} ({low} to {high})"
        raise OverflowFound(message, count=1, index=(), a=values[0], b=values[-1])
    return exact & ((1 << target.bits) - 1)


def _of_floats(operator: Operator, element: ElementType, f: FloatFormat, operands: Sequence[int]) -> int:
    if any(codes.is_nan(f, code) for code in operands):
        return codes.nan(f)
    if any(codes.is_infinite(f, code) for code in operands):
        return codes.encode(element, operator.compute(*(float(codes.decode(element, code)) for code in operands)))
    numbers = [codes.number(f, code) for code in operands]
    # Operators so far are linear, so that a power of two common to all operands can be taken out.
    e = min(e for _, e in numbers)
    exact = operator.compute(*(n << (own - e) for n, own in numbers))
    if exact:
        return codes.rounded(f, exact, e)
    # Equal numbers give +0; what zeros give is what IEEE 754 says of their signs.
    if any(n for n, _ in numbers):
        return codes.zero(f, negative=False)
    zero = operator.compute(*(-0.0 if code else 0.0 for code in operands))
    return codes.zero(f, negative=math.copysign(1, zero) < 0)


# ---- tables ---------------------------------------------------------------------------------------------------


@functools.cache
def table(operator: Operator, element: ElementType, policy: str) -> bytes:
    """Return all answers of an operator of two operands for a type of 8 bits or fewer, as the kernel reads them.

    Args:
        operator: what is computed. element: the element type.
        policy: ``"wrap"``, ``"saturate"``, ``"widen"``, ``"error"`` or ``"count"``; the last two hold the answers of
            ``"wrap"``.

    Returns:
        131,072 bytes. Of the first 65,536, byte ``a << 8 | b`` is the result's code (of the widened type under
        ``"widen"``) with upper bits clear; of the others, byte ``65536 + (a << 8 | b)`` is 1 where the result does not
        fit the integer type, else 0. ``a`` and ``b`` are whole bytes, of which the low ``element.bits`` count.

    Raises:
        ValueError: a wider type, a widened type that is wider, or no such policy.

    >>> from minuend.core.elements import TYPES
    >>> from minuend.operators import SUBTRACT
    >>> answers = table(SUBTRACT, TYPES["uint4"], "wrap")
    >>> len(answers), answers[1 << 8 | 2], answers[0xF1 << 8 | 0x72], answers[65536 + (1 << 8 | 2)]
    (131072, 15, 15, 1)
    """
    if element.bits > 8:
        raise ValueError(f"{element} has {element.bits} bits; a table holds 8 bits or fewer")
    if policy not in TABLE_POLICIES:
        raise ValueError(f"overflow is {policy!r}; expected {listed(map(repr, TABLE_POLICIES))}")
    how = policy if policy in ("saturate", "widen") else "wrap"
    if how == "widen" and element.widened.bits > 8:
        wide = element.widened
        raise ValueError(
            f"differences of {element} widened to {wide} have {wide.bits} bits; a table holds 8 bits or fewer"
        )
    each = range(1 << element.bits)
    repeat = 256 // len(each)
    answers, flags = bytearray(), bytearray()
    for a in each:
        answers += bytes(apply(operator, element, (a, b), how) for b in each) * repeat
        flags += bytes(overflows(operator, element, (a, b)) for b in each) * repeat
    return bytes(answers) * repeat + bytes(flags) * repeat
