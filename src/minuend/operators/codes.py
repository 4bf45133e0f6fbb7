"""Codes: an element's bits, and the exact value that they stand for.

A *code* is the bits of one element, read as an unsigned number. A finite float is ``n * 2**(e - bias - mantissa)`` with
an integer ``n``; :func:`rounded` is the only rounding. Of the rest of the package only the rows of
:mod:`minuend.core.elements` are read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from minuend.core.elements import ElementType, FloatFormat
from minuend.errors import DTypeError, ScalarRangeError
from minuend.operators.operator import Value

# ---- one code -------------------------------------------------------------------------------------------------


def decode(element: ElementType, code: int) -> Value:
    """Return the exact value of a code.

    Args:
        element: the element type. code: the element's bits, from 0 to ``2**element.bits - 1``.

    Returns:
        An ``int`` for integer types; for floats a ``Fraction``, or one of the floats ``-0.0``, ``inf``, ``-inf``
        and ``nan``.

    Raises:
        ValueError: the code has more bits than the type.

    >>> from minuend.core.elements import TYPES
    >>> decode(TYPES["int8"], 0xFF), decode(TYPES["bfloat16"], 0x3FC0), decode(TYPES["float16"], 0x8000)
    (-1, Fraction(3, 2), -0.0)
    """
    if element.is_integer:
        return integer(element, code)
    check_code(element, code)
    if element.levels is not None:
        return Fraction(element.levels[code])
    f = _format(element)
    if is_nan(f, code):
        return math.nan
    negative = bool(code & sign_bit(f))
    if is_infinite(f, code):
        return -math.inf if negative else math.inf
    n, e = number(f, code)
    if n == 0:
        return -0.0 if negative else Fraction(0)
    return n * Fraction(2) ** (e - f.bias - f.mantissa)


def encode(element: ElementType, value: Value) -> int:
    """Return the code of a value, rounded once, straight to the element type.

    Floats round to nearest, ties to even, and overflow as the type says: to infinity; to NaN where the type has no
    infinity; to the largest value where it has neither. ``float8_e8m0fnu`` has no value at or below 0, which is NaN.
    A code book (nf4) takes its nearest level, of two equally near ones that nearer to 0.

    Args:
        element: the element type. value: an ``int``, ``Fraction`` or ``float``; for integer types a whole number.

    Raises:
        ScalarRangeError: an integer type that cannot hold the value.
        ValueError: a fraction for an integer type. DTypeError (a ValueError): NaN for a type that has none.

    >>> from minuend.core.elements import TYPES
    >>> hex(encode(TYPES["bfloat16"], 1 + 2**-8 + 2**-40)), hex(encode(TYPES["float16"], 10**400))
    ('0x3f81', '0x7c00')
    >>> encode(TYPES["int8"], -1)
    255
    """
    if element.is_integer:
        return _encode_integer(element, value)
    if isinstance(value, float) and not math.isfinite(value):
        return _encode_special(element, value)
    if element.levels is not None:
        return nearest_level(element.levels, Fraction(value))
    f = _format(element)
    if value == 0:
        negative = isinstance(value, float) and math.copysign(1.0, value) < 0
        return zero(f, negative)
    return rounded(f, *_scaled(f, Fraction(value)))


def check_code(element: ElementType, code: int) -> None:
    """Raise ValueError where a code has more bits than its type."""
    if not 0 <= code < 1 << element.bits:
        raise ValueError(f"{code} is no code of {element}; expected 0 to {(1 << element.bits) - 1}")


def _encode_integer(element: ElementType, value: Value) -> int:
    if not isinstance(value, int) and (isinstance(value, float) or value.denominator != 1):
        raise ValueError(f"{value!r} is no value of the integer type {element}; pass an int")
    low, high = element.limits
    if not low <= value <= high:
        raise ScalarRangeError(f"{value} does not fit {element} ({low} to {high})")
    return int(value) & ((1 << element.bits) - 1)


def _encode_special(element: ElementType, value: float) -> int:
    """The code of NaN or an infinity."""
    if element.levels is not None:
        if not math.isnan(value):
            return nearest_level(element.levels, max(map(Fraction, element.levels)) * (1 if value > 0 else -1))
    elif not math.isnan(value):
        return _overflow(_format(element), negative=value < 0)
    elif _format(element).special != "finite":
        return nan(_format(element))
    raise DTypeError("types", f"{element} has no NaN, so it cannot hold {value!r}")


def nearest_level(levels: Sequence[float], value: Fraction) -> int:
    """The level nearest to the exact value; of two equally near ones, that nearer to 0."""
    exact = [Fraction(level) for level in levels]
    return min(range(len(exact)), key=lambda code: (abs(exact[code] - value), abs(exact[code])))


def integer(element: ElementType, code: int) -> int:
    """Return the value of an integer's code."""
    check_code(element, code)
    return code - ((code >> (element.bits - 1)) << element.bits) if element.kind == "signed" else code


# ---- float layouts --------------------------------------------------------------------------------------------


def _format(element: ElementType) -> FloatFormat:
    if element.format is None:
        raise TypeError(f"{element} has no float layout")
    return element.format


def sign_bit(f: FloatFormat) -> int:
    """Return the code of -0; 0 of a type without a sign."""
    return 1 << (f.exponent + f.mantissa) if f.signed else 0


def _magnitude(f: FloatFormat, code: Any) -> Any:
    return code & ((1 << (f.exponent + f.mantissa)) - 1)


def _infinity(f: FloatFormat) -> int:
    """All exponent bits set: infinity of an IEEE type, and where its NaNs start."""
    return ((1 << f.exponent) - 1) << f.mantissa


def is_nan(f: FloatFormat, code: Any) -> Any:
    """Whether a code, or each one of an array, is a NaN."""
    if f.special == "ieee":
        return _magnitude(f, code) > _infinity(f)
    return f.special == "nan-only" and _magnitude(f, code) == (1 << (f.exponent + f.mantissa)) - 1


def is_infinite(f: FloatFormat, code: int) -> bool:
    """Return whether a code is an infinity."""
    return f.special == "ieee" and _magnitude(f, code) == _infinity(f)


def nan(f: FloatFormat) -> int:
    """The canonical quiet NaN: sign clear; of an IEEE type, the highest mantissa bit alone is set."""
    if f.special == "ieee":
        return _infinity(f) | (1 << (f.mantissa - 1))
    return (1 << (f.exponent + f.mantissa)) - 1


def _overflow(f: FloatFormat, *, negative: bool) -> int:
    """What a value beyond the largest becomes: infinity, NaN, or the largest."""
    sign = sign_bit(f) if negative else 0
    if f.special == "ieee":
        return sign | _infinity(f)
    if f.special == "nan-only":
        return nan(f)
    return sign | largest(f)


def largest(f: FloatFormat) -> int:
    """The code of the largest number."""
    if f.special == "ieee":
        return _infinity(f) - 1
    return (1 << (f.exponent + f.mantissa)) - (2 if f.special == "nan-only" else 1)


def zero(f: FloatFormat, negative: bool) -> int:
    """A signed zero; a type without a sign has no zero either (float8_e8m0fnu), and NaN in its place."""
    if not f.signed:
        return nan(f)
    return sign_bit(f) if negative else 0


def number(f: FloatFormat, code: int) -> tuple[int, int]:
    """Return ``n, e`` of a finite code: its value is ``n * 2**(e - bias - mantissa)``."""
    e = (code >> f.mantissa) & ((1 << f.exponent) - 1)
    n = code & ((1 << f.mantissa) - 1)
    if e or not f.signed:  # exponent 0 holds the subnormals; the type without a sign has none
        n |= 1 << f.mantissa
    else:
        e = 1
    return (-n if f.signed and code >> (f.exponent + f.mantissa) else n), e


def _scaled(f: FloatFormat, value: Fraction) -> tuple[int, int]:
    """Return ``n, e`` of a fraction, with enough bits of ``n`` that rounding it rounds the fraction.

    Where the fraction has no end in base 2, the lowest bit of ``n`` says that more follows.
    """
    n, d = value.numerator, value.denominator
    if d & (d - 1) == 0:
        return n, f.bias + f.mantissa - (d.bit_length() - 1)
    shift = max(0, f.mantissa + 4 - abs(n).bit_length() + d.bit_length())
    whole, rest = divmod(abs(n) << shift, d)
    n = (whole << 1) | (rest != 0)
    return (-n if value < 0 else n), f.bias + f.mantissa - shift - 1


def rounded(f: FloatFormat, n: int, e: int) -> int:
    """Return the code nearest to ``n * 2**(e - bias - mantissa)``, ties to even; ``n`` is not 0.

    A type without a sign (float8_e8m0fnu) has the significand 1 alone, which is odd: its ties go up. Positive
    values below its smallest become that.
    """
    negative = n < 0
    if negative:
        if not f.signed:
            return nan(f)
        n = -n
    exponent = max(e + n.bit_length() - 1 - f.mantissa, 1 if f.signed else 0)
    drop = exponent - e
    if drop <= 0:
        kept = n << -drop
    else:
        kept, rest, half = n >> drop, n & ((1 << drop) - 1), 1 << (drop - 1)
        if rest > half or (rest == half and kept & 1):
            kept += 1
    # The hidden bit of `kept` adds 1 to the exponent field; so does a carry out of the rounding.
    code = max(((exponent - 1) << f.mantissa) + kept, 0)
    if code > largest(f):
        return _overflow(f, negative=negative)
    return code | sign_bit(f) if negative else code
