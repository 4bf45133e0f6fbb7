"""Tensors that lie in a file in another order than they are needed in: transposed once, on disk, in bounded memory."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence

from minuend.files.stored_elements import Contiguous
from minuend.files.streaming.pipeline import each
from minuend.files.streaming.reading import File, unnamed
from minuend.files.streaming.regions import Region, boxes, runs
from minuend.files.transaction.streams import write_at

TILE_BYTES = 1 << 23
"""About how many bytes are transposed at a time."""


def in_c_order(elements: Contiguous) -> Contiguous:
    """Copy what lies in Fortran order to an unnamed temporary file in C order, which goes with what is read of it.

    Raises:
        OSError: the copy cannot be written, a full disk for one; it names the folder of temporary files.
    """
    shape, itemsize = elements.shape, elements.dtype.itemsize
    with unnamed() as stream:
        stream.truncate(elements.nbytes)

        def transpose(region: Region) -> None:
            length, starts = runs(region, shape)
            tile = elements.part(region).copy("C").reshape(-1).view("u1").reshape(-1, length * itemsize)
            for row, at in zip(tile, starts, strict=True):
                write_at(stream.fileno(), row.data, at * itemsize)

        each(transpose, boxes(shape, _tile(shape, max(1, TILE_BYTES // itemsize))), 2 * TILE_BYTES)
        return Contiguous(File(tempfile.gettempdir(), os.dup(stream.fileno())), 0, elements.dtype, shape)


def _tile(shape: Sequence[int], most: int) -> list[int]:
    """Return a tile's sizes: long along the last axis and along the first, in whose runs it is written and read.

    >>> _tile((1 << 20, 1 << 20), 1 << 20), _tile((3, 1 << 20, 5), 150)
    ([1024, 1024], [3, 10, 5])
    """
    sizes = [1] * len(shape)
    sizes[0] = min(shape[0], math.isqrt(most))
    axes = sorted(range(len(shape)), key=lambda axis: min(axis, len(shape) - 1 - axis))
    for axis in (len(shape) - 1, *axes):
        others = math.prod(sizes[:axis]) * math.prod(sizes[axis + 1 :])
        sizes[axis] = max(1, min(shape[axis], most // others))
    return sizes
