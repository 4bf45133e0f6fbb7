"""zarr's arrays: read whole, as NumPy arrays. What is larger than memory goes through Dask, or ``minuend sub``."""

from __future__ import annotations

import numpy as np
import zarr

from minuend.arrays import functions
from minuend.arrays.libraries import only_of
from minuend.core.policies import Overflow
from minuend.errors import ShapeError


def subtract(a: object, b: object, out: object, overflow: Overflow) -> object:
    """Subtract zarr arrays, or one and a NumPy array or a number; the result is a NumPy array."""
    if isinstance(out, zarr.Array):
        raise ShapeError("out", "out is a zarr array; dask.array.from_zarr(x) and da.to_zarr() write block by block")
    operands = {"a": a, "b": b, "out": out}
    advice = "x[...] reads a zarr.Array, group[name] is one of a group"
    only_of("zarr.Array or NumPy array", (zarr.Array, np.ndarray), operands, advice)
    x, y = (one[...] if isinstance(one, zarr.Array) else one for one in (a, b))
    return functions.subtract(x, y, out, overflow=overflow)
