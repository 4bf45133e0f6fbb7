"""What the tests of exactness share: codes in and out of arrays, operands worth trying, answers of the reference."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from minuend.core.elements import TYPES, ElementType
from minuend.errors import OverflowFound, ShapeError
from minuend.operators import SUBTRACT, reference
from minuend.operators import codes as of_codes

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
    nan = of_codes.encode(element, float("nan"))
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
    return array(
        result_type(element, policy),
        (reference.apply(SUBTRACT, element, pair, policy) for pair in zip(x, y, strict=True)),
    )


def has_answer(element: ElementType, a: int, b: int, policy: str) -> bool:
    """Whether a pair of codes has a difference under a policy, rather than an error."""
    try:
        reference.apply(SUBTRACT, element, (a, b), policy)
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


# ---- whole arrays ---------------------------------------------------------------------------------------------


def subtract_arrays(
    element: ElementType,
    a: Array,
    b: Array,
    overflow: str = "wrap",
    *,
    b_start: int | None = None,
) -> Array:
    """Subtract two arrays element by element by the reference, in a Python loop.

    Args:
        element: the element type of both. a, b: arrays of ``element.memory``, in any layout and byte order.
        overflow: as :func:`minuend.operators.reference.apply` takes it.
        b_start: ``None`` aligns the shapes at the right and lets either repeat (NumPy's rule); a number is the axis
            of A at which B's first dim sits, and B alone repeats (A grows from 1 to 0 only).

    Returns:
        A new C-contiguous array of ``element.memory``, or of the widened type's.

    Raises:
        ShapeError: the shapes do not join.
        OverflowFound: as :func:`minuend.operators.reference.apply`, with the count and the first index of
            the whole array.
    """
    shape = _joined(a.shape, b.shape, b_start)
    a_start, start = (len(shape) - a.ndim, len(shape) - b.ndim) if b_start is None else (0, b_start)
    x, y = _codes_of(element, a), _codes_of(element, b)
    answers: list[int] = []
    found: list[tuple[tuple[int, ...], OverflowFound]] = []
    for index in itertools.product(*(range(n) for n in shape)):
        i, j = _offset(index, a.shape, a_start), _offset(index, b.shape, start)
        try:
            answers.append(reference.apply(SUBTRACT, element, (x[i], y[j]), overflow))
        except OverflowFound as error:
            found.append((index, error))
    if found:
        index, first = found[0]
        raise OverflowFound(
            f"{len(found)} of {math.prod(shape)} differences overflow, the first at {index}: {first}",
            count=len(found),
            index=index,
            a=first.a,
            b=first.b,
        )
    goal = element.widened if overflow == "widen" else element
    return np.array(answers, f"u{goal.itemsize}").view(goal.memory).reshape(shape)


def _codes_of(element: ElementType, array: Array) -> list[int]:
    """The codes of an array in C order; bits of a byte above a narrow type's do not count."""
    low = (1 << element.bits) - 1
    native = array.astype(element.memory)
    return [code & low for code in np.frombuffer(native.tobytes(), f"u{element.itemsize}").tolist()]


def _joined(a: tuple[int, ...], b: tuple[int, ...], b_start: int | None) -> tuple[int, ...]:
    rank = max(len(a), len(b)) if b_start is None else len(a)
    start = rank - len(b) if b_start is None else b_start
    if start < 0 or start + len(b) > rank:
        raise ShapeError("broadcasting", f"B's shape {b} does not fit into A's {a} from axis {start}")
    x = (1,) * (rank - len(a)) + a
    y = (1,) * start + b + (1,) * (rank - start - len(b))
    for axis, (m, n) in enumerate(zip(x, y, strict=True)):
        grows = b_start is None or n == 0
        if n not in (m, 1) and not (m == 1 and grows):
            raise ShapeError("broadcasting", f"A's shape {a} and B's {b} do not join at axis {axis}: {m} and {n}")
    return tuple(n if m == 1 else m for m, n in zip(x, y, strict=True))


def _offset(index: tuple[int, ...], shape: tuple[int, ...], start: int) -> int:
    """Where an operand's element for a result's index stands in C order; its 1s repeat."""
    offset = 0
    for axis, n in enumerate(shape):
        offset = offset * n + (index[start + axis] if n != 1 else 0)
    return offset


def same_floats(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays hold the same floats, the signs of zeros included; any NaN is like any other."""
    numbers = ~np.isnan(one)
    signs = np.array_equal(np.signbit(one[numbers]), np.signbit(other[numbers]))
    return bool(np.array_equal(one, other, equal_nan=True) and signs)
