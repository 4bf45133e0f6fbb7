"""Regions of a tensor: one slice an axis. What is read, computed and written at a time is one of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from minuend.core.shapes import size

Region: TypeAlias = tuple[slice, ...]
"""One ``slice(start, stop)`` for each axis, step 1, within the shape."""

BLOCK_BYTES = 1 << 21
"""About how many bytes of a result are computed at a time: what was read is still in the caches when it is used."""


def whole(shape: Sequence[int]) -> Region:
    """Return the region that is all of a tensor.

    >>> whole((2, 3))
    (slice(0, 2, None), slice(0, 3, None))
    """
    return tuple(slice(0, dim) for dim in shape)


def extent(region: Region) -> tuple[int, ...]:
    """Return a region's shape.

    >>> extent((slice(1, 3), slice(0, 5)))
    (2, 5)
    """
    return tuple(axis.stop - axis.start for axis in region)


def index(region: Region, at: Sequence[int]) -> tuple[int, ...]:
    """Return the index within the whole tensor of an element of a region.

    >>> index((slice(1, 3), slice(4, 5)), (1, 0))
    (2, 4)
    """
    return tuple(axis.start + i for axis, i in zip(region, at, strict=True))


def contiguous(shape: Sequence[int], itemsize: int, most: int | None = None) -> Iterator[Region]:
    """Cut a tensor into regions that follow each other in C order, of about :data:`BLOCK_BYTES` each at the most.

    >>> [extent(region) for region in contiguous((3, 4), 1, 8)]
    [(2, 4), (1, 4)]
    """
    most = BLOCK_BYTES if most is None else most
    if 0 in shape:
        return
    if not shape:
        yield ()
        return
    axis = next(k for k in range(len(shape)) if k == len(shape) - 1 or size(shape[k + 1 :]) * itemsize <= most)
    step = max(1, most // (size(shape[axis + 1 :]) * itemsize))
    rest = whole(shape[axis + 1 :])
    for prefix in itertools.product(*map(range, shape[:axis])):
        before = tuple(slice(i, i + 1) for i in prefix)
        for start in range(0, shape[axis], step):
            yield (*before, slice(start, min(start + step, shape[axis])), *rest)


BAND_BYTES = 1 << 23
"""About how many bytes at a time where chunks are read: the more, the fewer are unpacked twice."""


def bands(shape: Sequence[int], itemsize: int, chunks: Sequence[int] | None) -> Iterator[Region]:
    """Cut a tensor into contiguous regions, which end where chunks end if such regions are small enough.

    >>> [extent(region) for region in bands((5, 1 << 21), 1, (2, 1 << 20))]
    [(4, 2097152), (1, 2097152)]
    """
    rows = 0 if chunks is None else _rows(shape, itemsize, chunks)
    return boxes(shape, (rows, *shape[1:])) if rows else contiguous(shape, itemsize)


def tiles(shape: Sequence[int], itemsize: int, chunks: Sequence[int] | None) -> Iterator[Region]:
    """Cut a tensor into regions of whole chunks, contiguous ones where that goes: for what is written at any place.

    >>> [extent(region) for region in tiles((5, 1 << 22), 1, (3, 1 << 21))]
    [(3, 2097152), (3, 2097152), (2, 2097152), (2, 2097152)]
    """
    if chunks is None or _rows(shape, itemsize, chunks):
        return bands(shape, itemsize, chunks)
    return boxes(shape, chunks)


def _rows(shape: Sequence[int], itemsize: int, chunks: Sequence[int]) -> int:
    """Return how many rows of whole chunks a band holds; 0 where not even one chunk's."""
    if 0 in shape or not shape:
        return 0
    row = size(shape[1:]) * itemsize
    return BAND_BYTES // (row * chunks[0]) * chunks[0]


def runs(region: Region, shape: Sequence[int]) -> tuple[int, Iterator[int]]:
    """Return in which runs a region lies within a tensor in C order: their length, and where each starts, in elements.

    >>> length, starts = runs((slice(0, 2), slice(1, 3)), (2, 4))
    >>> length, list(starts)
    (2, [1, 5])
    """
    sizes = extent(region)
    axis = len(shape)
    while axis > 0 and (axis == len(shape) or sizes[axis] == shape[axis]):
        axis -= 1
    steps = [size(shape[k + 1 :]) for k in range(len(shape))]
    first = sum(step * one.start for step, one in zip(steps, region, strict=True))
    inner = (range(0, step * n, step) for step, n in zip(steps[:axis], sizes[:axis], strict=True))
    return size(sizes[axis:]), (first + sum(offsets) for offsets in itertools.product(*inner))


def boxes(shape: Sequence[int], chunks: Sequence[int]) -> Iterator[Region]:
    """Cut a tensor along a grid of chunks, in C order of the chunks.

    >>> [extent(region) for region in boxes((3, 4), (2, 3))]
    [(2, 3), (2, 1), (1, 3), (1, 1)]
    """
    steps = [max(1, step) for step in chunks]
    starts = (range(0, dim, step) for dim, step in zip(shape, steps, strict=True))
    for corner in itertools.product(*starts):
        yield tuple(slice(at, min(at + step, dim)) for at, step, dim in zip(corner, steps, shape, strict=True))


def cells(shape: Sequence[int], chunks: Sequence[int]) -> int:
    """Return how many regions :func:`boxes` yields.

    >>> cells((3, 4), (2, 3))
    4
    """
    return math.prod(-(-dim // max(1, step)) for dim, step in zip(shape, chunks, strict=True))
