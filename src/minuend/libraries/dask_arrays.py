"""Dask's arrays: the difference is an array of theirs, lazy, whose type and chunks are known before anything runs."""

from __future__ import annotations

import functools
from typing import Any

import dask.array as da
import numpy as np

from minuend.core import arrays, shapes
from minuend.core.libraries import no_out, only_of
from minuend.core.policies import Overflow
from minuend.errors import OverflowFound


def subtract(a: Any, b: Any, out: Any, overflow: Overflow) -> Any:
    """Subtract Dask arrays, or one and a NumPy array or a number; what overflows is told when it is computed."""
    no_out(out, "Dask arrays", "leave it away, da.store() writes a result")
    only_of("dask.array.Array", (da.Array, np.ndarray), {"a": a, "b": b}, "dask.array.from_array(x)")
    dtype = arrays.subtract(_empty(a), _empty(b), overflow=overflow).dtype
    x, y = (da.asarray(one) if isinstance(one, np.ndarray) else one for one in (a, b))
    found = [one for one in (x, y) if isinstance(one, da.Array)]
    if len(found) > 1:
        shapes.numpy(*(tuple(None if np.isnan(dim) else int(dim) for dim in one.shape) for one in found))
    if any(np.isnan(dim) for one in found for dim in one.shape):
        return da.core.elemwise(functools.partial(_difference, overflow=overflow), x, y, dtype=dtype)
    if len(found) > 1:
        x, y = da.broadcast_arrays(x, y)
        axes = tuple(range(x.ndim))
        x, y = da.core.unify_chunks(x, axes, y, axes)[1]
    meta = np.empty((0,) * (x if isinstance(x, da.Array) else y).ndim, dtype)
    return da.map_blocks(_difference, x, y, dtype=dtype, meta=meta, overflow=overflow)


def _empty(operand: Any) -> Any:
    """An operand without elements: what it makes has the result's type."""
    return np.empty(0, operand.dtype) if isinstance(operand, da.Array | np.ndarray) else operand


def _difference(a: Any, b: Any, overflow: Overflow, block_info: Any = None) -> Any:
    """A block's difference; an index in an error is that of the whole array."""
    try:
        return np.asarray(arrays.subtract(a, b, overflow=overflow))
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
