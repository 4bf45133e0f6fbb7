"""Arrays of up to millions of elements, in layouts such as :mod:`differential.array_time` measures.

How an array is gone through depends on its size beside the caches: the surface ``arrays``, whose elements are Python's
numbers, has few that are large. Here NumPy computes what has to come.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.layouts import Dim
from differential import array_time, arrays
from differential.surface import Difference, Surface

Array = np.ndarray[Any, np.dtype[Any]]
Row = tuple[int, int, int, bool]
POLICIES = ("wrap", "wrap", "wrap", "saturate", "widen")


@dataclass(frozen=True)
class Case:
    """One call.

    Attributes:
        shape: of the result. a, b: how the dims of an operand lie in memory: place, step, gap and whether it repeats;
            plain, where there are fewer rows than dims. zeros: whether what repeats has stride 0, of a and b.
        offset: elements before ``out`` in its memory. outs: whether there is an ``out``.
    """

    dtype: str = "int32"
    shape: tuple[int, ...] = (3,)
    a: tuple[Row, ...] = ()
    b: tuple[Row, ...] = ()
    zeros: tuple[bool, ...] = (False, False)
    offset: int = 0
    outs: bool = True
    policy: str = "wrap"
    isa: str = ""
    threads: int = 1
    seed: int = 0


def draw(source: random.Random) -> Case:
    """Draw a call."""
    layout = array_time.draw(source)
    a, b = (tuple((one.place, one.step, one.gap, one.repeats) for one in dims) for dims in (layout.a, layout.b))
    return Case(
        layout.dtype,
        layout.shape,
        a,
        b,
        layout.zeros,
        source.choice([0, 0, 1, 3, 8]),
        source.random() < 0.8,
        source.choice(POLICIES),
        source.choice(["", "", "baseline", "avx2", "avx512"]),
        source.choice([1, 1, 2, 3]),
        source.randrange(2**32),
    )


def compare(case: Case, folder: Path) -> str:
    """Compare a call with NumPy's."""
    with arrays.settings(case.isa, case.threads):
        return _compared(case)


def _compared(case: Case) -> str:
    a, b = _operands(case)
    policy = case.policy if a.dtype.kind in "iu" and a.itemsize < 8 else "wrap"
    expected = _expected(a, b, policy)
    if not case.outs:
        return _same(_ours(a, b, None, policy), expected)
    room = np.full(expected.size + case.offset + 16, 77, expected.dtype)
    inside = slice(case.offset, case.offset + expected.size)
    outcome = _same(_ours(a, b, room[inside].reshape(expected.shape), policy), expected)
    if (np.delete(room, inside) != 77).any():
        raise Difference("memory beside out was written")
    return outcome


def _ours(a: Array, b: Array, out: Array | None, policy: Any) -> Array:
    import minuend as mn

    try:
        found: Array = mn.subtract(a, b, out=out, overflow=policy)
    except mn.MinuendError as error:
        raise Difference(f"refused: {error}") from None
    return found


def _operands(case: Case) -> tuple[Array, Array]:
    """The operands, of random bits; what lies between their elements is random as well."""
    plain = tuple((i, 1, 0, False) for i in range(len(case.shape)))
    a, b = (tuple(Dim(*row) for row in (rows if len(rows) == len(case.shape) else plain)) for rows in (case.a, case.b))
    zeros = (*case.zeros, False, False)
    made = array_time.Layout(case.dtype, case.shape, a, b, (zeros[0], zeros[1])).operands()
    rng = np.random.default_rng(case.seed)
    for one in (made.a, made.b):
        whole = one
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        np.frombuffer(whole, np.uint8)[:] = rng.integers(0, 256, whole.nbytes, np.uint8)
    return made.a, made.b


def _expected(a: Array, b: Array, policy: str) -> Array:
    with np.errstate(all="ignore"):
        if policy == "wrap":
            return np.subtract(a, b)
        wide = np.subtract(a, b, dtype=np.int64)
    if policy == "saturate":
        limits = np.iinfo(a.dtype)
        return wide.clip(limits.min, limits.max).astype(a.dtype)
    return wide.astype(f"i{2 * a.itemsize}")


def _same(found: Array, expected: Array) -> str:
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        raise Difference(f"ours is {found.dtype} {found.shape}, NumPy's {expected.dtype} {expected.shape}")
    bits = f"u{expected.itemsize}"
    same = np.ascontiguousarray(found).view(bits) == np.ascontiguousarray(expected).view(bits)
    if expected.dtype.kind not in "iu":
        same |= np.isnan(found) & np.isnan(expected)
    if not same.all():
        at = np.unravel_index(int(np.argmin(same)), same.shape)
        wrong, most = int(same.size - np.count_nonzero(same)), math.prod(expected.shape)
        raise Difference(f"{wrong} of {most} elements differ; at {[*map(int, at)]}: {found[at]} and {expected[at]}")
    return "equal"


SURFACES = (Surface("large-arrays", "arrays beyond the caches, in any layout", ("numpy",), draw, compare, Case),)
