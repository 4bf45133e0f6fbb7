"""NumPy's masked arrays: what is masked in either operand is masked in the result, and cannot overflow."""

from __future__ import annotations

from typing import Any

import numpy as np

from minuend.arrays import functions
from minuend.arrays.subclasses import wrap
from minuend.core import shapes
from minuend.core.policies import Overflow
from minuend.core.shapes import static
from minuend.errors import DTypeError
from minuend.operators import SUBTRACT
from minuend.operators.operator import fits


def subtract(a: Any, b: Any, out: Any, overflow: Overflow) -> Any:
    """Subtract masked arrays, or one and a plain array or a number; masked elements cannot overflow."""
    if out is not None and not isinstance(out, np.ma.MaskedArray):
        raise DTypeError("out", "out is no masked array, so the mask would be lost; expected a numpy.ma.MaskedArray")
    for name, one in (("a", a), ("b", b)):
        if one is np.ma.masked:
            raise DTypeError("types", f"{name} is numpy.ma.masked, which has no element type; expected a masked array")
    data = [np.ma.getdata(one) if isinstance(one, np.ma.MaskedArray) else one for one in (a, b)]
    x, y, element = functions.operands(*data)
    shape = static(shapes.numpy(x.shape, y.shape).shape or ())
    mask = _union(a, b, shape)
    if mask is not np.ma.nomask and overflow in ("error", "widen"):  # those that find an overflow of what is masked
        nothing = np.zeros((), element.memory)
        x, y = (np.where(mask, nothing, one) for one in (x, y))
    if out is None:
        return _masked(wrap(SUBTRACT, np.asarray(functions.subtract(x, y, overflow=overflow)), *data), mask, a, b)
    functions.subtract(x, y, out.data, overflow=overflow)
    out.mask = mask
    return out


def _masked(found: Any, mask: Any, a: Any, b: Any) -> Any:
    """The result as NumPy's own operators on masked arrays make it: the class, and what a subclass adds."""
    first: Any
    first, *others = (one for one in (a, b) if isinstance(one, np.ma.MaskedArray))
    kind: Any = type(others[0]) if others and isinstance(others[0], type(first)) else type(first)
    result = kind(found, mask=mask)
    result._update_from(first)
    stated = stated_fill_value(first)
    if stated is None:
        result._fill_value = None
    elif result.dtype != first.dtype:  # widened: NumPy casts between some of these types only by way of Python
        number, element = int(stated), functions.element_of(found, "a")
        result._fill_value = None
        if fits(element, number):
            result.fill_value = np.array(number, result.dtype)
    return result


def stated_fill_value(array: Any) -> Any:
    """The fill value that a masked array was given; ``None`` for the default, which ml_dtypes' types have none of."""
    stated = array._fill_value
    return stated if stated is not None and stated.dtype == array.dtype else None


def _union(a: Any, b: Any, shape: tuple[int, ...]) -> Any:
    """What is masked in either, of the result's shape; ``nomask`` where neither has a mask."""
    masks = [one for one in map(np.ma.getmask, (a, b)) if one is not np.ma.nomask]
    if not masks:
        return np.ma.nomask
    return np.logical_or(*(np.broadcast_to(one, shape) for one in (masks[0], masks[-1])))
