"""What the tests of exactness share: codes in and out of arrays, operands worth trying, answers of the reference."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from minuend.core import reference
from minuend.core.elements import TYPES, ElementType
from minuend.errors import OverflowFound

Array = np.ndarray[Any, Any]

ARRAY_TYPES = [row for row in TYPES.values() if row.numpy is not None]
NARROW = [row for row in ARRAY_TYPES if row.bits <= 8]
WIDE_FLOATS = [row for row in ARRAY_TYPES if row.bits > 8 and not row.is_integer]
WIDE_INTEGERS = [row for row in ARRAY_TYPES if row.bits > 8 and row.is_integer]


def policies(element: ElementType) -> tuple[str, ...]:
    """Every policy that gives an answer for any operands; floats have one."""
    if not element.is_integer:
        return ("wrap",)
    return ("wrap", "saturate") if element.bits == 64 else ("wrap", "saturate", "widen")


def result_type(element: ElementType, policy: str) -> ElementType:
    return element.widened if policy == "widen" else element


def array(element: ElementType, codes: Iterable[int]) -> Array:
    """An array of these codes, one element each."""
    return np.array(list(codes), f"u{element.itemsize}").view(element.memory)


def codes(element: ElementType, values: Array) -> Array:
    """The codes of an array, with every NaN replaced by the canonical one: a NaN's payload is nobody's business."""
    found = np.array(values).view(f"u{element.itemsize}")
    f = element.format
    if f is None or f.special == "finite":
        return found
    magnitude = found & ((1 << (f.exponent + f.mantissa)) - 1)
    infinity = ((1 << f.exponent) - 1) << f.mantissa
    is_nan = magnitude > infinity if f.special == "ieee" else magnitude == (1 << (f.exponent + f.mantissa)) - 1
    nan = reference.encode(element, float("nan"))
    return np.where(is_nan, np.array(nan, found.dtype), found)


def assert_same(element: ElementType, got: Array, want: Array, a: Array | None = None, b: Array | None = None) -> None:
    """Assert that two arrays are equal bit for bit, all NaNs alike; show the first difference with its operands."""
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    x, y = codes(element, got), codes(element, want)
    if not np.array_equal(x, y):
        at = tuple(int(i) for i in np.argwhere(x != y)[0])
        operands = "" if a is None or b is None else f" for {a[at]!r} - {b[at]!r}"
        raise AssertionError(f"{element} at {at}: got {x[at]:#x}, expected {y[at]:#x}{operands}")


def assert_quiet(element: ElementType, got: Array) -> None:
    """Assert that every NaN of an IEEE type is a quiet one."""
    f = element.format
    if f is None or f.special != "ieee":
        return
    found = got.view(f"u{element.itemsize}")
    infinity = ((1 << f.exponent) - 1) << f.mantissa
    nans = found[(found & ((1 << (element.bits - 1)) - 1)) > infinity]
    assert np.all(nans & (1 << (f.mantissa - 1)))


def answers(element: ElementType, a: Array, b: Array, policy: str = "wrap") -> Array:
    """The reference's differences of two equally long runs of operands."""
    x, y = (operand.view(f"u{element.itemsize}").tolist() for operand in (a, b))
    subtract = reference.subtract
    return array(result_type(element, policy), (subtract(element, i, j, policy) for i, j in zip(x, y, strict=True)))


def has_answer(element: ElementType, a: int, b: int, policy: str) -> bool:
    """Whether a pair of codes has a difference under a policy, rather than an error."""
    try:
        reference.subtract(element, a, b, policy)
    except OverflowFound:
        return False
    return True


def answerable(element: ElementType, a: Array, b: Array, policy: str) -> Array:
    """Which pairs have an answer under a policy, as an array of bools."""
    x, y = (operand.view(f"u{element.itemsize}").tolist() for operand in (a, b))
    return np.array([has_answer(element, i, j, policy) for i, j in zip(x, y, strict=True)])


def all_pairs(element: ElementType) -> tuple[Array, Array]:
    """Every pair of codes of a type of few bits."""
    return cross(element, range(1 << element.bits))


def cross(element: ElementType, values: Iterable[int]) -> tuple[Array, Array]:
    a, b = zip(*itertools.product(list(values), repeat=2), strict=True)
    return array(element, a), array(element, b)


@functools.cache
def lattice(element: ElementType) -> tuple[int, ...]:
    """Codes at which something changes; small enough for all pairs of them."""
    found = _integer_edges(element) if element.is_integer else _float_edges(element)
    return tuple(sorted(set(found)))


def _integer_edges(element: ElementType) -> Iterator[int]:
    low, high = element.limits
    mask = (1 << element.bits) - 1
    for power in range(element.bits):
        for value in (1 << power, -(1 << power)):
            yield from (near & mask for near in (value - 1, value, value + 1))
    yield from (value & mask for edge in (low, 0, high) for value in range(edge - 2, edge + 3))


def _float_edges(element: ElementType) -> Iterator[int]:
    f = element.format
    assert f is not None
    one = f.bias << f.mantissa
    infinity = ((1 << f.exponent) - 1) << f.mantissa
    hidden = 1 << f.mantissa
    magnitudes = {0, 1, 2, 3, hidden // 2, hidden - 1, hidden, hidden + 1, infinity - 2, infinity - 1, infinity}
    magnitudes |= {infinity + hidden // 2, infinity + hidden - 1, infinity + hidden // 2 + 1}  # quiet NaNs
    # Powers of two and their neighbours: around 1 as far as a rounding reaches, then at both ends of the range.
    near = {one + (k << f.mantissa) for k in range(-f.mantissa - 3, f.mantissa + 4)}
    ends = {edge << f.mantissa for edge in (1, 2, 3, f.mantissa + 1, (1 << f.exponent) - 2, (1 << f.exponent) - 3)}
    steps = (-1, 0, 1) if element.bits <= 32 else (-1, 1)
    magnitudes |= {code + step for code in near | ends for step in steps if code + step >= 0}
    magnitudes |= {one + hidden // 2, one + hidden // 2 + 1, one + hidden - 2, one + 3}
    sign = 1 << (element.bits - 1)
    yield from (code | s for code in magnitudes for s in (0, sign) if code < sign)


def random_pairs(element: ElementType, count: int, seed: int) -> tuple[Array, Array]:
    """Operands of which many cancel, tie, overflow or are subnormal; uniform bits alone would hardly ever."""
    rng = np.random.default_rng(seed)
    word = np.dtype(f"u{element.itemsize}")

    def bits(n: int) -> Array:
        return rng.integers(0, (1 << n) - 1, count, word, endpoint=True)

    a, b = bits(element.bits), bits(element.bits)
    f = element.format
    if f is None or element.bits <= 8:
        return a.view(element.memory), b.view(element.memory)
    top = (1 << f.exponent) - 1
    turn = np.arange(count)
    # A quarter keeps its uniform bits. One has few mantissa bits set: many exact ties.
    sparse = turn % 4 == 3
    low = word.type((1 << f.mantissa) - 1)
    a = np.where(sparse, a & (~low | (bits(f.mantissa) & bits(f.mantissa))), a)
    b = np.where(sparse, b & (~low | (word.type(1) << rng.integers(0, f.mantissa, count, word))), b)
    # Of the others some lie at the highest exponents, some at the lowest.
    exponent = ((a >> f.mantissa) & top).astype(np.int64)
    exponent = np.where(turn % 8 == 5, top - 1 - exponent % 2, exponent)
    exponent = np.where(turn % 8 == 6, exponent % 4, exponent)
    # B's exponent is near enough to A's for the bits of one to meet those of the other.
    reach = f.mantissa + 3
    other = np.clip(exponent + rng.integers(-reach, reach + 1, count), 0, top)
    near = turn % 4 > 0
    a = np.where(near, _with_exponent(a, exponent, f.mantissa, top), a)
    b = np.where(near, _with_exponent(b, other, f.mantissa, top), b)
    return a.view(element.memory), b.view(element.memory)


def _with_exponent(values: Array, exponent: Array, mantissa: int, top: int) -> Array:
    field = values.dtype.type(top << mantissa)
    return (values & ~field) | (exponent.astype(values.dtype) << mantissa)
