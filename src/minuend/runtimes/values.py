"""Operands that cases are made of, with their expected results, by value class; and values as text.

:func:`of` gives all operands of types of 8 bits or fewer, the edges and seeded random bits of wider ones, each with its
expected answer and its class (:mod:`minuend.operators.value_classes`).
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from minuend.core.elements import ElementType
from minuend.operators import codes as of_codes
from minuend.operators import reference
from minuend.operators.operator import Computed, Operator
from minuend.operators.value_classes import classes, in_float32

Codes = np.ndarray[Any, np.dtype[Any]]

# ---- operands -------------------------------------------------------------------------------------------------

_FRIENDLY = ((5, 10), (100, -100))
"""Pairs that explain themselves; where one shows a deviation, it is the witness."""

_RANDOM = 4096


@dataclass(frozen=True)
class Operands:
    """Operands of one element type, and for every combination of them the expected answer and the class.

    Attributes:
        operator, element: what is computed, of which type.
        codes: (n,) the operands' codes, the ones that read best first.
        expected: codes of the results by the reference, with an axis of n for each operand: for ``codes[i]`` and
            ``codes[j]`` of two.
        classes: of the same shape, indices into ``classes(operator, element)``.
        rank: of the same shape, which operands make the better witness: lower is better.
        more: for each operand (m,) codes of random bits. more_expected, more_classes: (m,) of those.
    """

    operator: Operator
    element: ElementType
    codes: Codes
    expected: Codes
    classes: Codes
    rank: Codes
    more: tuple[Codes, ...]
    more_expected: Codes
    more_classes: Codes

    def telling(self, best: int, others: int) -> list[tuple[int, ...]]:
        """Return the indices of some operands of each class: ``(i, j)`` of its best ones, then others from all over it.

        The best ones of the classes come first, so that a prefix of the list holds some of each.
        """
        found: list[tuple[int, ...]] = []
        later: list[tuple[int, ...]] = []
        for index in range(len(classes(self.operator, self.element))):
            places = np.argwhere(self.classes == index)
            order = np.argsort(self.rank[tuple(places.T)], kind="stable")
            spread = np.linspace(best, max(order.size - 1, best), others).astype(int)
            spread = spread[spread < order.size]
            found += [tuple(map(int, places[k])) for k in order[:best]]
            later += [tuple(map(int, places[k])) for k in order[spread]]
        return list(dict.fromkeys(found + later))


def of(operator: Operator, element: ElementType, *, full: bool = True) -> Operands:
    """Return the operands that cases of an operator are made of.

    Args:
        operator: what is computed. element: the element type.
        full: all codes of a type of 8 bits or fewer; otherwise its edges alone, and no random pairs.
    """
    return _of(operator, element, full)  # the cache would take a default and the same value given for two keys


@functools.cache
def _of(operator: Operator, element: ElementType, full: bool) -> Operands:
    narrow = element.bits <= 8
    codes = plainest(element, full=full)
    source = random.Random(f"minuend {element.name}")
    more = [tuple(source.getrandbits(element.bits) for _ in range(operator.arity)) for _ in range(_RANDOM)]
    if narrow or not full:
        more = []
    expected, classes = _answers(operator, element, list(itertools.product(codes, repeat=operator.arity)))
    more_expected, more_classes = _answers(operator, element, more)
    unsigned = np.dtype(f"u{element.itemsize}")
    n = len(codes)
    shape = (n,) * operator.arity
    rank: Codes = np.indices(shape).sum(0)
    decoded = [of_codes.decode(element, code) for code in codes]
    for k, friendly in enumerate(_FRIENDLY):
        if operator.arity == len(friendly) and all(one in decoded for one in friendly):
            rank[tuple(map(decoded.index, friendly))] = k - len(_FRIENDLY)
    return Operands(
        operator,
        element,
        np.array(codes, unsigned),
        np.array(expected, unsigned).reshape(shape),
        np.array(classes, np.int8).reshape(shape),
        rank,
        tuple(np.array([one[k] for one in more], unsigned) for k in range(operator.arity)),
        np.array(more_expected, unsigned),
        np.array(more_classes, np.int8),
    )


@functools.cache
def plainest(element: ElementType, *, full: bool = True) -> tuple[int, ...]:
    """Return the codes that operands are made of, the ones that read best first: all of a narrow type, or its edges."""
    narrow = element.bits <= 8
    chosen = range(1 << element.bits) if narrow and (full or element.bits <= 4) else _edges(element)
    return tuple(sorted(chosen, key=lambda code: _plainness(element, code)))


def _answers(operator: Operator, element: ElementType, every: list[tuple[int, ...]]) -> tuple[list[int], list[int]]:
    """The expected code of operands, and the index of their class; codes are decoded once each."""
    value = functools.cache(functools.partial(of_codes.decode, element))
    expected = [reference.apply(operator, element, operands) for operands in every]
    order = classes(operator, element)
    found = []
    for codes, answer in zip(every, expected, strict=True):
        operands = tuple(map(value, codes))
        computed = Computed(operator, element, operands, value(answer), operator.exact(*operands))
        found.append(next(i for i, row in enumerate(order) if row.holds(computed)))
    return expected, found


def class_of(operator: Operator, element: ElementType, *codes: int) -> str:
    """Return the name of the class that an operator on some codes falls into.

    >>> from minuend.core.elements import TYPES
    >>> from minuend.operators import SUBTRACT
    >>> class_of(SUBTRACT, TYPES["uint8"], 5, 10), class_of(SUBTRACT, TYPES["int8"], 0xFF, 0x80)
    ('wraps', 'lowest subtrahend')
    """
    _, (index,) = _answers(operator, element, [codes])
    return classes(operator, element)[index].name


def differs_in_float32(operator: Operator, element: ElementType, codes: Sequence[int]) -> bool:
    """Whether an operator computed in float32 gives another number than in the element type.

    >>> from minuend.core.elements import TYPES
    >>> from minuend.operators import SUBTRACT
    >>> a, b, zero = np.array([0.1, 0.25, 0.0]).view(np.uint64).tolist()
    >>> [differs_in_float32(SUBTRACT, TYPES["float64"], pair) for pair in ((a, zero), (b, zero), (a, a))]
    [True, False, False]
    """
    operands = [of_codes.decode(element, code) for code in codes]
    expected = of_codes.decode(element, reference.apply(operator, element, tuple(codes)))
    return in_float32(operator.compute(*map(in_float32, operands))) != expected


def _plainness(element: ElementType, code: int) -> tuple[int, float, str]:
    """Sorts short, small, positive numbers first, special values last."""
    text = show(element, code)
    value = of_codes.decode(element, code)
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
    return {of_codes.encode(element, value) for value in values if low <= value <= high}


def _float_edges(element: ElementType) -> set[int]:
    f = element.format
    assert f is not None  # code books have 4 bits and are taken whole
    one, step = Fraction(1), Fraction(2) ** -f.mantissa
    values = [Fraction(n) for n in (0, 1, 2, 3, 5, 10, 100)]
    values += [Fraction(1, 2), Fraction(1, 4), Fraction(1, 3), Fraction(1, 10), Fraction(3, 2)]
    values += [
        one + step,
        one + 2 * step,
        one - step / 2,
        step,
        step / 2,
        step / 4,
        3 * step / 4,
    ]  # ties, and next to them
    values += [1 / step, 1 / step + 1, 2 / step, 2 / step - 1, 2 / step - 2]
    values += [Fraction(2) ** 24, Fraction(2) ** 24 + 1, Fraction(2) ** 53, Fraction(10) ** -60, Fraction(10) ** 300]
    values += [Fraction(1764000000) + Fraction(n, 4) for n in (1, 3)]
    infinity, least = ((1 << f.exponent) - 1) << f.mantissa, 1 << f.mantissa
    codes = {of_codes.encode(element, value) for value in values}
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
        different &= ~(of_codes.is_nan(f, got) & of_codes.is_nan(f, expected))
    return different


# ---- values as text -------------------------------------------------------------------------------------------


def number(element: ElementType, code: int) -> int | float:
    """Return a code's value as a Python number: for floats the shortest decimal that the type reads back as this code
    (whole numbers in full).

    >>> from minuend.core.elements import TYPES
    >>> number(TYPES["float16"], 0x2E66), number(TYPES["int8"], 0x80)
    (0.1, -128)
    """
    value = of_codes.decode(element, code)
    if isinstance(value, int | float):
        return value
    if value.denominator == 1 and abs(value) < 10**15:
        return float(value)
    for digits in range(1, 18):
        text = f"{float(value):.{digits}g}"
        if element.levels is None and of_codes.encode(element, Fraction(text)) == code:
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
