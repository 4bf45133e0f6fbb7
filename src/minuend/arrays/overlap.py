"""Find two elements of a strided block that share an address: exact, and quick for every tensor there can be.

The question is whether some steps ``d``, not all 0, with ``|d[i]| < sizes[i]`` have ``sum(d[i] * strides[i]) == 0``.
Going through all steps would take as long as the tensor has elements, squared. Instead the steps of some dims are met
with those of the others in the middle: for 2**32 - 1 elements in 8 dims that is a few million sums at most.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Sums: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class _Dim:
    """A dim of more than one element: its place, size and stride."""

    axis: int
    size: int
    stride: int


def null_step(sizes: Sequence[int], strides: Sequence[int]) -> tuple[int, ...] | None:
    """Return a step, one number per dim, between two elements that share an address; ``None`` where no two do.

    Args:
        sizes: elements per dim, from 1 up. strides: per dim, not negative, in any unit; the sums have to fit 63 bits.

    Returns:
        The step with the fewest dims where one or two dims are enough, else any.

    >>> null_step((2, 3), (3, 1)), null_step((2, 4), (3, 1)), null_step((2, 2, 2), (3, 2, 1))
    (None, (1, -3), (1, -1, -1))
    """
    dims = [_Dim(i, n, s) for i, (n, s) in enumerate(zip(sizes, strides, strict=True)) if n > 1]
    if _nested(dims):
        return None
    found = next(({dim.axis: 1} for dim in dims if dim.stride == 0), None) or _two(dims) or _meet(dims)
    if found is None:
        return None
    sign = next(1 if step > 0 else -1 for _, step in sorted(found.items()) if step)
    return tuple(sign * found.get(axis, 0) for axis in range(len(sizes)))


def _nested(dims: list[_Dim]) -> bool:
    """Whether each stride is longer than all that the shorter ones can reach: so of every usual layout."""
    reach = 0
    for dim in sorted(dims, key=lambda dim: dim.stride):
        if dim.stride <= reach:
            return False
        reach += dim.stride * (dim.size - 1)
    return True


def _two(dims: list[_Dim]) -> dict[int, int] | None:
    """Two dims whose strides have a common multiple within the reach of both."""
    for x, y in itertools.combinations(dims, 2):
        common = math.lcm(x.stride, y.stride)
        if common // x.stride < x.size and common // y.stride < y.size:
            return {x.axis: common // x.stride, y.axis: -common // y.stride}
    return None


def _meet(dims: list[_Dim]) -> dict[int, int] | None:
    """Three dims or more together: list the sums of some, and look for their opposites among the others'."""
    if len(dims) < 3:
        return None
    listed, others = _split(dims)
    sums = _sums(listed, half=True)
    zero = sums.size // listed[0].size // 2  # where all steps are 0: the first row's middle
    if len(others) == 1:
        only = others[0]
        hit = (sums % only.stride == 0) & (abs(sums) <= only.stride * (only.size - 1))
        hit[zero] = False
        if not hit.any():
            return None
        at = int(hit.argmax())
        return {**_steps(listed, at, half=True), only.axis: -int(sums[at]) // only.stride}
    opposites = _sums(others)
    alone = np.flatnonzero(opposites == 0)
    if alone.size > 1:
        return _steps(others, int(alone[0]))
    ordered = np.sort(opposites)  # with every sum its opposite is in it
    hit = ordered[np.searchsorted(ordered, sums).clip(max=ordered.size - 1)] == sums
    hit[zero] = False
    if not hit.any():
        return None
    at = int(hit.argmax())
    return {**_steps(listed, at, half=True), **_steps(others, int((opposites == -sums[at]).argmax()))}


def _split(dims: list[_Dim]) -> tuple[list[_Dim], list[_Dim]]:
    """Divide the dims so that as few sums as can be are listed; a dim alone needs no list."""
    best, least = (dims, dims[:0]), math.inf
    for count in range(1, len(dims)):
        for others in itertools.combinations(dims, count):
            listed = [dim for dim in dims if dim not in others]
            cost = _count(listed) + (0 if count == 1 else 2 * _count(others))
            if cost < least:
                best, least = (listed, list(others)), cost
    return best


def _count(dims: Iterable[_Dim]) -> int:
    return math.prod(2 * dim.size - 1 for dim in dims)


def _sums(dims: list[_Dim], *, half: bool = False) -> Sums:
    """Every sum that steps along these dims reach, in C order; with ``half`` the first dim steps forward only."""
    sums = np.zeros(1, np.int64)
    for i, dim in enumerate(dims):
        low = 0 if half and i == 0 else 1 - dim.size
        sums = np.add.outer(sums, np.arange(low, dim.size, dtype=np.int64) * dim.stride).ravel()
    return sums


def _steps(dims: list[_Dim], at: int, *, half: bool = False) -> dict[int, int]:
    """The steps behind one of :func:`_sums`."""
    shape = [dim.size if half and i == 0 else 2 * dim.size - 1 for i, dim in enumerate(dims)]
    places = np.unravel_index(at, shape)
    return {
        dim.axis: int(place) - (0 if half and i == 0 else dim.size - 1)
        for i, (dim, place) in enumerate(zip(dims, places, strict=True))
    }
