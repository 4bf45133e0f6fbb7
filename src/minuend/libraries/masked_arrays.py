"""NumPy's masked arrays: what is masked in either operand is masked in the result, and cannot overflow."""

from __future__ import annotations

from typing import Any

import numpy as np

from minuend.core import arrays
from minuend.core.policies import Overflow
from minuend.errors import DTypeError


def subtract(a: Any, b: Any, out: Any, overflow: Overflow) -> Any:
    """Subtract masked arrays, or one and a plain array or a number; masked elements cannot overflow."""
    if out is not None and not isinstance(out, np.ma.MaskedArray):
        raise DTypeError("out", "out is no masked array, so the mask would be lost; expected a numpy.ma.MaskedArray")
    for name, one in (("a", a), ("b", b)):
        if one is np.ma.masked:
            raise DTypeError("types", f"{name} is numpy.ma.masked, which has no element type; expected a masked array")
    mask = _union(a, b)
    x, y, element = arrays.operands(*(one.data if isinstance(one, np.ma.MaskedArray) else one for one in (a, b)))
    if mask is not np.ma.nomask and overflow in ("error", "widen"):  # those that find an overflow of what is masked
        nothing = np.zeros((), element.memory)
        x, y = (np.where(mask, nothing, one) for one in (x, y))
    if out is None:
        found = np.ma.MaskedArray(arrays.subtract(x, y, overflow=overflow), mask=mask)
        found.fill_value = next(one.fill_value for one in (a, b) if isinstance(one, np.ma.MaskedArray))
        return found
    arrays.subtract(x, y, out.data, overflow=overflow)
    out.mask = mask
    return out


def _union(a: Any, b: Any) -> Any:
    """What is masked in either, of the result's shape; ``nomask`` where neither has a mask."""
    masks = [one for one in map(np.ma.getmask, (a, b)) if one is not np.ma.nomask]
    if not masks:
        return np.ma.nomask
    shape = np.broadcast_shapes(*map(np.shape, (a, b)))
    return np.logical_or(*(np.broadcast_to(one, shape) for one in (masks[0], masks[-1])))
