"""Value classes: every pair of operands of an element type falls into exactly one, by rules on exact values.

A runtime is seldom wrong everywhere. It saturates where a difference wraps, or loses what float32 cannot hold; the
class says where. :func:`of` gives the operands that cases are made of: all of them for types of 8 bits or fewer, the
edges and seeded random bits for wider ones, each with its expected answer and its class.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from minuend.core import reference
from minuend.core.elements import TYPES, ElementType
from minuend.core.operation import Value, exact, fits

Codes = np.ndarray[Any, np.dtype[Any]]

# ---- the classes ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pair:
    """Two operands and the answer of the contract; ``exact`` is the difference before rounding or wrapping."""

    element: ElementType
    a: Value
    b: Value
    result: Value
    exact: int | Fraction | None


@dataclass(frozen=True, slots=True)
class ValueClass:
    """One class: its name, how a sentence calls its members, its rule, and the element types that have members.

    A rule is asked only where none of the rules before it holds.
    """

    name: str
    words: str
    holds: Callable[[Pair], bool]
    occurs: Callable[[ElementType], bool] = lambda element: True


def _out_of_type(pair: Pair) -> bool:
    return not fits(pair.element, pair.exact)


def _beyond_int32(pair: Pair) -> bool:
    low, high = TYPES["int32"].limits
    return any(not low <= value <= high for value in (pair.a, pair.b, pair.exact or 0))


def _too_large(pair: Pair) -> bool:
    """Finite operands whose difference is none of the type's numbers, because it is too large."""
    if pair.exact is None:
        return False
    most = largest(pair.element)
    return _is_infinite(pair.result) or not -most <= pair.exact <= most


def _is_subnormal(element: ElementType, value: Value) -> bool:
    if isinstance(value, float) or not _has_zeros(element):
        return False
    return 0 < abs(float(value)) < _least_normal(element)  # float64 holds every element type's numbers


@functools.cache
def least_normal(element: ElementType) -> Fraction:
    """The smallest number of a float type that has all its digits."""
    assert element.format is not None
    return Fraction(2) ** (1 - element.format.bias)


@functools.cache
def _least_normal(element: ElementType) -> float:
    """The same as a float: comparing floats is ten times as fast as comparing a float with a fraction."""
    return float(least_normal(element))


# Of a Value, -0.0, NaN and the infinities alone are floats: to ask a fraction would make a float of it first.


def _is_negative_zero(value: Value) -> bool:
    return isinstance(value, float) and value == 0


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_infinite(value: Value) -> bool:
    return isinstance(value, float) and math.isinf(value)


def _float32(value: Value) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float32(float(value)))


def _special(element: ElementType) -> str:
    """Which codes of a float type are no numbers; a code book has none."""
    return "finite" if element.format is None else element.format.special


def _has_zeros(element: ElementType) -> bool:
    """Whether a float type has two zeros, and with them numbers of both signs and subnormal ones."""
    return element.format is not None and element.format.signed


def _beyond_float32(pair: Pair) -> bool:
    if any(_float32(value) != value for value in (pair.a, pair.b, pair.result)):
        return True
    return _float32(_float32(pair.a) - _float32(pair.b)) != pair.result


INTEGER_CLASSES = (
    ValueClass(
        "lowest subtrahend",
        "the type's lowest value subtracted",
        lambda p: p.b == p.element.limits[0] and not _out_of_type(p),
        lambda element: element.kind == "signed",
    ),
    ValueClass("wraps", "values that wrap", _out_of_type),
    ValueClass("beyond int32", "values beyond int32", _beyond_int32, lambda element: element.limits[1] > 2**31),
    ValueClass("in range", "values in range", lambda p: True),
)
FLOAT_CLASSES = (
    ValueClass(
        "nan",
        "NaN, or a difference without a value",
        lambda p: _is_nan(p.a) or _is_nan(p.b) or (_is_nan(p.result) and not _too_large(p)),
        lambda element: _special(element) != "finite",
    ),
    ValueClass(
        "infinite",
        "infinite operands",
        lambda p: _is_infinite(p.a) or _is_infinite(p.b),
        lambda element: _special(element) == "ieee",
    ),
    ValueClass(
        "negative zero",
        "negative zero",
        lambda p: any(map(_is_negative_zero, (p.a, p.b, p.result))),
        _has_zeros,
    ),
    ValueClass(
        "subnormal",
        "subnormal numbers",
        lambda p: any(_is_subnormal(p.element, value) for value in (p.a, p.b, p.result)),
        _has_zeros,
    ),
    ValueClass(
        "overflows",
        "differences too large for the type",
        _too_large,
        lambda element: element.levels is not None or _has_zeros(element),
    ),
    ValueClass("beyond float32", "values beyond float32", _beyond_float32, lambda element: element.name == "float64"),
    ValueClass("rounds", "differences that round", lambda p: p.result != p.exact),
    ValueClass("ordinary", "exact differences", lambda p: True),
)
NO_VALUES = ValueClass("no values", "empty tensors", lambda p: False)
"""The only class of empty tensors: there is nothing in them but a shape."""

CLASSES: Mapping[str, ValueClass] = MappingProxyType(
    {row.name: row for row in (*INTEGER_CLASSES, *FLOAT_CLASSES, NO_VALUES)}
)
"""Every value class by name."""


@functools.cache
def rules(element: ElementType) -> tuple[ValueClass, ...]:
    """Return the classes that an element type's pairs fall into, in the order in which they are asked."""
    return tuple(row for row in (INTEGER_CLASSES if element.is_integer else FLOAT_CLASSES) if row.occurs(element))


@functools.cache
def largest(element: ElementType) -> Fraction:
    """The largest finite number of a float type."""
    if element.levels is not None:
        return Fraction(max(element.levels))
    assert element.format is not None
    return Fraction(reference.decode(element, reference.largest(element.format)))


# ---- operands -------------------------------------------------------------------------------------------------

_FRIENDLY = ((5, 10), (100, -100))
"""Pairs that explain themselves; where one shows a deviation, it is the witness."""

_RANDOM_PAIRS = 4096


@dataclass(frozen=True)
class Operands:
    """Operands of one element type, and for every pair of them the expected answer and the class.

    Attributes:
        element: the element type.
        codes: (n,) the operands' codes, the ones that read best first.
        expected: (n, n) codes of ``codes[i] - codes[j]`` by the reference.
        classes: (n, n) indices into ``rules(element)``.
        rank: (n, n) which pair makes the better witness: lower is better.
        more_a, more_b, more_expected, more_classes: (m,) pairs of random bits beside them.
    """

    element: ElementType
    codes: Codes
    expected: Codes
    classes: Codes
    rank: Codes
    more_a: Codes
    more_b: Codes
    more_expected: Codes
    more_classes: Codes

    def telling(self, best: int, others: int) -> list[tuple[int, int]]:
        """Return the indices ``(i, j)`` of some pairs of each class: its best ones, then others from all over it.

        The best pairs of the classes come first, so that a prefix of the list holds some of each.
        """
        found: list[tuple[int, int]] = []
        later: list[tuple[int, int]] = []
        for index in range(len(rules(self.element))):
            rows, columns = np.nonzero(self.classes == index)
            order = np.argsort(self.rank[rows, columns], kind="stable")
            spread = np.linspace(best, max(order.size - 1, best), others).astype(int)
            spread = spread[spread < order.size]
            found += [(int(rows[k]), int(columns[k])) for k in order[:best]]
            later += [(int(rows[k]), int(columns[k])) for k in order[spread]]
        return list(dict.fromkeys(found + later))


def of(element: ElementType, *, full: bool = True) -> Operands:
    """Return the operands that cases of an element type are made of.

    Args:
        element: the element type. full: all codes of a type of 8 bits or fewer; otherwise its edges alone, and no
            random pairs.
    """
    return _of(element, full)  # the cache would take a default and the same value given for two keys


@functools.cache
def _of(element: ElementType, full: bool) -> Operands:
    narrow = element.bits <= 8
    chosen = range(1 << element.bits) if narrow and (full or element.bits <= 4) else _edges(element)
    codes = sorted(chosen, key=lambda code: _plainness(element, code))
    source = random.Random(f"minuend {element.name}")
    more = [(source.getrandbits(element.bits), source.getrandbits(element.bits)) for _ in range(_RANDOM_PAIRS)]
    if narrow or not full:
        more = []
    expected, classes = _answers(element, [(a, b) for a in codes for b in codes])
    more_expected, more_classes = _answers(element, more)
    unsigned = np.dtype(f"u{element.itemsize}")
    n = len(codes)
    rank = np.add.outer(np.arange(n), np.arange(n))
    decoded = [reference.decode(element, code) for code in codes]
    for k, (x, y) in enumerate(_FRIENDLY):
        if x in decoded and y in decoded:
            rank[decoded.index(x), decoded.index(y)] = k - len(_FRIENDLY)
    return Operands(
        element,
        np.array(codes, unsigned),
        np.array(expected, unsigned).reshape(n, n),
        np.array(classes, np.int8).reshape(n, n),
        rank,
        np.array([a for a, _ in more], unsigned),
        np.array([b for _, b in more], unsigned),
        np.array(more_expected, unsigned),
        np.array(more_classes, np.int8),
    )


def _answers(element: ElementType, pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """The expected code and the class's index of every pair; codes are decoded once each."""
    value = functools.cache(functools.partial(reference.decode, element))
    expected = [reference.subtract(element, a, b) for a, b in pairs]
    order = rules(element)
    classes = []
    for (a, b), answer in zip(pairs, expected, strict=True):
        x, y = value(a), value(b)
        pair = Pair(element, x, y, value(answer), exact(x, y))
        classes.append(next(i for i, row in enumerate(order) if row.holds(pair)))
    return expected, classes


def classify(element: ElementType, a: int, b: int) -> ValueClass:
    """Return the class of a pair of codes.

    >>> classify(TYPES["uint8"], 5, 10).name, classify(TYPES["int8"], 0xFF, 0x80).name
    ('wraps', 'lowest subtrahend')
    """
    return rules(element)[_answers(element, [(a, b)])[1][0]]


def _plainness(element: ElementType, code: int) -> tuple[int, float, str]:
    """Sorts short, small, positive numbers first, special values last."""
    text = show(element, code)
    value = reference.decode(element, code)
    size = abs(float(value)) if math.isfinite(value) else math.inf
    return (len(text.lstrip("-")) + 20 * (not math.isfinite(value)), size, text[:1].replace("-", "~"))


def _edges(element: ElementType) -> set[int]:
    """The codes at which answers go wrong, and a few random ones."""
    source = random.Random(f"minuend edges {element.name}")
    edges = {source.getrandbits(element.bits) for _ in range(16)}
    return edges | (_integer_edges(element) if element.is_integer else _float_edges(element))


def _integer_edges(element: ElementType) -> set[int]:
    low, high = element.limits
    magnitudes = {0, 1, 2, 3, 5, 10, 100, 200, 2**33 + 5, high - 1, high - 2}
    for power in (7, 8, 15, 16, 24, 31, 32, 40, 53, 62, 63, 64):
        magnitudes |= {2**power - 1, 2**power, 2**power + 1}
    values = magnitudes | {-value for value in magnitudes} | {low, low + 1, low + 2, high}
    return {reference.encode(element, value) for value in values if low <= value <= high}


def _float_edges(element: ElementType) -> set[int]:
    f = element.format
    assert f is not None  # code books have 4 bits and are taken whole
    one, step = Fraction(1), Fraction(2) ** -f.mantissa
    values = [Fraction(n) for n in (0, 1, 2, 3, 5, 10, 100)]
    values += [Fraction(1, 2), Fraction(1, 4), Fraction(1, 3), Fraction(1, 10), Fraction(3, 2)]
    values += [one + step, one + 2 * step, one - step / 2, step, step / 2, step / 4, 3 * step / 4]  # ties, and beside
    values += [1 / step, 1 / step + 1, 2 / step, 2 / step - 1, 2 / step - 2]
    values += [Fraction(2) ** 24, Fraction(2) ** 24 + 1, Fraction(2) ** 53, Fraction(10) ** -60, Fraction(10) ** 300]
    values += [Fraction(1764000000) + Fraction(n, 4) for n in (1, 3)]
    infinity, least = ((1 << f.exponent) - 1) << f.mantissa, 1 << f.mantissa
    codes = {reference.encode(element, value) for value in values}
    codes |= {0, 1, 2, least - 1, least, least + 1, 2 * least, infinity - 2, infinity - 1, infinity, infinity + 1}
    codes |= {infinity + (least >> 1), (1 << (f.exponent + f.mantissa)) - 1}
    sign = 1 << (element.bits - 1)
    if not f.signed:
        return {code & ((1 << element.bits) - 1) for code in codes}
    low = {code & (sign - 1) for code in codes}
    return low | {code | sign for code in low}


# ---- comparing ------------------------------------------------------------------------------------------------


def differ(element: ElementType, got: Codes, expected: Codes) -> Codes:
    """Return where codes differ; any two NaNs are one value.

    >>> from minuend.core.elements import TYPES
    >>> differ(TYPES["float16"], np.uint16([0x7E00, 0x8000]), np.uint16([0xFE01, 0]))
    array([False,  True])
    """
    different: Codes = got != expected
    f = element.format
    if f is not None and f.special != "finite" and different.any():
        different &= ~(reference.is_nan(f, got) & reference.is_nan(f, expected))
    return different


# ---- values as text -------------------------------------------------------------------------------------------


def number(element: ElementType, code: int) -> int | float:
    """Return a code's value as a Python number: for floats the shortest decimal that the type reads back as this code
    (whole numbers in full).

    >>> from minuend.core.elements import TYPES
    >>> number(TYPES["float16"], 0x2E66), number(TYPES["int8"], 0x80)
    (0.1, -128)
    """
    value = reference.decode(element, code)
    if isinstance(value, int | float):
        return value
    if value.denominator == 1 and abs(value) < 10**15:
        return float(value)
    for digits in range(1, 18):
        text = f"{float(value):.{digits}g}"
        if element.levels is None and reference.encode(element, Fraction(text)) == code:
            return float(text)
    return float(value)


def show(element: ElementType, code: int) -> str:
    """Return a code's value as reports write it.

    >>> from minuend.core.elements import TYPES
    >>> show(TYPES["bfloat16"], 0x8000), show(TYPES["uint8"], 251)
    ('-0.0', '251')
    """
    value = number(element, code)
    return str(value) if isinstance(value, int) else repr(value)
