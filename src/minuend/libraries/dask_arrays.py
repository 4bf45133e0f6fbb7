"""Dask's arrays: the difference is an array of theirs, lazy, whose type and chunks are known before anything runs."""

from __future__ import annotations

import functools
from typing import Any

import dask.array as da
import numpy as np
from dask.array.utils import meta_from_array

from minuend.arrays import functions
from minuend.arrays.libraries import no_out, only_of
from minuend.core import shapes
from minuend.core.policies import Overflow
from minuend.errors import DTypeError, MinuendError, OverflowFound, ShapeError
from minuend.libraries.masked_arrays import stated_fill_value


def subtract(a: object, b: object, out: object, overflow: Overflow) -> da.Array:
    """Subtract Dask arrays, or one and a NumPy array or a number; what overflows is reported when it is computed.

    Blocks are arrays of the kinds that :func:`minuend.subtract` takes: masked ones stay masked.
    """
    no_out(out, "Dask arrays", "leave it away, da.store() writes a result")
    only_of("dask.array.Array", (da.Array, np.ndarray), {"a": a, "b": b}, "dask.array.from_array(x)")
    parts = [_empty(a, "a"), _empty(b, "b")]
    empty = functions.subtract(*parts, overflow=overflow)
    stored = next((one.dtype for one in (a, b) if isinstance(one, da.Array)), None)
    work = functools.partial(_difference, overflow=overflow, stored=stored)
    x, y = (da.asanyarray(one) if isinstance(one, np.ndarray) else one for one in (a, b))
    found = [one for one in (x, y) if isinstance(one, da.Array)]
    if len(found) > 1:
        shapes.numpy(*(tuple(None if np.isnan(dim) else int(dim) for dim in one.shape) for one in found))
    if any(np.isnan(dim) for one in found for dim in one.shape):
        checked = functools.partial(work, axes=_unknown_axes(found)) if len(found) > 1 else work
        return da.core.elemwise(checked, x, y, dtype=empty.dtype)
    rank = max(one.ndim for one in found)
    chunks, unified = da.core.unify_chunks(*(part for one in found for part in (one, range(one.ndim)[::-1])))
    x, y = unified if len(found) > 1 else (x, y)
    meta = meta_from_array(empty, ndim=rank, dtype=empty.dtype)
    # By itself map_blocks takes the chunks of the first operand of the highest rank, of size 1 too where it repeats.
    whole = tuple(chunks[axis] for axis in range(rank)[::-1])
    return da.map_blocks(work, x, y, dtype=empty.dtype, meta=meta, chunks=whole)


def _unknown_axes(found: list[da.Array]) -> tuple[int, ...]:
    """The axes, from the last one back, along which blocks have to be of equal lengths, which are not known yet.

    Blocks that differ would broadcast one by one: four elements in blocks of 1 and 3 minus four in blocks of 3 and 1
    would be six.

    Raises:
        ShapeError: along such an axis one length is known, or the numbers of blocks differ.
    """
    axes = []
    for axis in range(-1, -min(one.ndim for one in found) - 1, -1):
        dims = [one.shape[axis] for one in found]
        if 1 in dims or not any(map(np.isnan, dims)):
            continue
        counts = [one.numblocks[axis] for one in found]
        if len(set(counts)) > 1 or not all(map(np.isnan, dims)):
            whole = ", ".join(f"{n} blocks of {_length(dim)}" for n, dim in zip(counts, dims, strict=True))
            raise ShapeError(
                "chunks",
                f"the lengths along axis {axis} are not known ({whole} in all); expected the same blocks in both, or "
                "known lengths: x.compute_chunk_sizes()",
            )
        axes.append(axis)
    return tuple(axes)


def _length(dim: float) -> str:
    return "unknown length" if np.isnan(dim) else str(int(dim))


def _empty(operand: object, name: str) -> Any:
    """An operand without elements, of its blocks' kind: what it makes has the result's kind and type.

    Raises:
        DTypeError: blocks that are not subtracted.
    """
    if operand is np.ma.masked or not isinstance(operand, da.Array | np.ndarray):
        return operand
    blocks = operand._meta if isinstance(operand, da.Array) else operand
    if isinstance(blocks, np.ma.MaskedArray):
        fill = stated_fill_value(blocks)
        return np.ma.MaskedArray(np.empty(0, operand.dtype), mask=np.empty(0, bool), fill_value=fill)
    if type(blocks) is np.ndarray or isinstance(blocks, np.generic):
        return np.empty(0, operand.dtype)
    if isinstance(blocks, np.ndarray):  # a class of NumPy's arrays
        return np.empty((0,) * max(1, blocks.ndim), operand.dtype).view(type(blocks))
    try:
        empty = blocks.reshape(-1)[:0]
        functions.subtract(empty, empty)
    except (MinuendError, AttributeError, TypeError, ValueError):
        kind = type(blocks)
        raise DTypeError(
            "types",
            f"{name} is a dask.array.Array of {kind.__module__}.{kind.__qualname__} blocks, which are no arrays "
            "that are subtracted; make NumPy arrays of them with map_blocks",
        ) from None
    return empty


def _difference(
    a: Any, b: Any, overflow: Overflow, stored: Any, axes: tuple[int, ...] = (), block_info: Any = None
) -> Any:
    """A block's difference; an index in an error is that of the whole array, lengths are equal along some axes.

    A block of no axes can be ``numpy.ma.masked``, which has no element type: it is of the operands', ``stored``.
    """
    a, b = (np.ma.MaskedArray(np.zeros((), stored), mask=True) if one is np.ma.masked else one for one in (a, b))
    for axis in axes:
        lengths = [np.shape(one)[axis] for one in (a, b)]
        if lengths[0] != lengths[1]:
            raise ShapeError(
                "chunks",
                f"blocks of a and b have {lengths[0]} and {lengths[1]} elements along axis {axis}; expected equal ones",
            )
    try:
        found = functions.subtract(a, b, overflow=overflow)
        return found[()] if type(found) is np.ndarray else found  # without axes Dask's blocks are NumPy's scalars
    except OverflowFound as error:
        if not block_info:
            raise
        starts = [start for start, _ in block_info[None]["array-location"]]
        index = tuple(start + place for start, place in zip(starts, error.index, strict=True))
        raise OverflowFound(
            str(error).replace(f"index {error.index}", f"index {index}", 1).replace(" of ", " of this block's ", 1),
            count=error.count,
            index=index,
            a=error.a,
            b=error.b,
        ) from None
