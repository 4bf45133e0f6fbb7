"""``Convert``: elements of one type made elements of another.

The standard says little of it. Here, and as the runtime's own evaluation has it wherever C++ defines the outcome:

- integer to integer: the value modulo 2ⁿ;
- float to integer: the fraction is cut off. NaN, infinity and what the integer type cannot hold is refused, since
  processors and runtimes answer it each in their own way;
- to a float type: the exact value, rounded once to nearest even (nf4: to the nearest level, ties nearer to zero); too
  large becomes infinity, or NaN in types without one, or the largest number in types without either. float8_e8m0
  has neither sign nor zero: what is not above 0 becomes NaN. NaN for a type without one is refused;
- to boolean: whether it is not 0, so NaN is true; from boolean: 0 or 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minuend.core.elements import ElementType
from minuend.errors import SpecError
from minuend.files.streaming.reading import Array
from minuend.openvino.ir.notation import NUMERIC
from minuend.openvino.tensor import Tensor


def convert(values: Array, source: str, target: str) -> Array:
    """Convert elements.

    Args:
        values: the elements in memory (codes for nf4, bools for boolean). source, target: OpenVINO's type names.

    Raises:
        SpecError: a float that the integer type cannot hold, or NaN for a type that has none.

    >>> convert(np.array([300, -1]), "i64", "u8")
    array([ 44, 255], dtype=uint8)
    """
    return np.asarray(values if source == target else _converted(values, source, target))


def _converted(values: Array, source: str, target: str) -> Array:
    if source == "boolean":
        values, source = values.astype(np.uint8), "u8"
    element = NUMERIC[source]
    with np.errstate(all="ignore"):
        if target == "boolean":
            return np.asarray(_plain(values, element) != 0)
        row = NUMERIC[target]
        if row.is_integer:
            whole = _plain(values, element) if element.is_integer else _truncated(_plain(values, element), target)
            return _wrapped(whole, row)
        return _rounded(_plain(values, element), row)


def _plain(values: Array, element: ElementType) -> Array:
    """The same values in a type of NumPy's own: float32 for narrow floats and bfloat16, 8 bits for narrow integers."""
    if element.kernel == "table":
        if not element.is_integer:
            return Tensor(element, np.asarray(values).view(np.uint8)).to_float()
        codes = np.asarray(values).view(np.uint8) & np.uint8((1 << element.bits) - 1)
        if element.kind == "unsigned":
            return codes
        return np.asarray(codes.astype(np.int8) - ((codes >> (element.bits - 1)).astype(np.int8) << element.bits))
    return values.astype(np.float32) if element.name == "bfloat16" else values


def _wrapped(values: Array, row: ElementType) -> Array:
    if row.kernel == "table":
        codes = values.astype(np.uint8) & np.uint8((1 << row.bits) - 1)
        return codes.view(row.memory)
    return values.astype(row.memory)


def _truncated(values: Array, target: str) -> Array:
    low, high = NUMERIC[target].limits
    cut = np.trunc(values.astype(np.float64))
    # Below high + 1, a power of two, which float64 holds; high itself it may not hold.
    fits = (cut >= low) & (cut < float(high + 1))
    if not fits.all():
        flat = int(np.argmin(fits))
        index = tuple(int(i) for i in np.unravel_index(flat, fits.shape))
        count = fits.size - int(np.count_nonzero(fits))
        raise SpecError(
            "convert",
            f"Convert to {target} meets {count} of {fits.size} floats that {target} cannot hold ({low} to {high}), and "
            f"runtimes differ in what they make of them; the first is {values[index]} at index {index}; "
            "clamp the values before it",
        )
    return cut.astype(np.uint64 if low == 0 else np.int64)


def _rounded(values: Array, row: ElementType) -> Array:
    if row.kernel != "table" and row.name != "bfloat16":
        return values.astype(row.memory)
    if values.dtype.kind != "f":
        values = _odd_float64(values)
    if row.kernel == "table":
        return Tensor.from_float(row, values).codes.view(row.memory)
    return _odd_float32(values).astype(row.memory) if values.dtype == np.float64 else values.astype(row.memory)


def _odd_float64(values: Array) -> Array:
    """Integers as float64, rounded to odd where they do not fit: what rounds again, to far fewer bits, is right."""
    if values.dtype.itemsize < 8:
        return values.astype(np.float64)
    unit = values.dtype.type(4096)  # 64 bits less 12 fit 53
    large = (values >> np.array(53, values.dtype)) > 0
    if values.dtype.kind == "i":
        large |= values < -(2**53)
    below = (values % unit != 0).astype(values.dtype)
    sticky = np.where(large, (values // unit | below) * unit, values)
    return np.asarray(sticky.astype(np.float64))


def _odd_float32(values: Array) -> Array:
    """float64 as float32, rounded to odd: what rounds it again, to fewer bits, is right."""
    near: Any = values.astype(np.float32)
    back = near.astype(np.float64)
    codes = near.view(np.uint32)
    inexact = np.isfinite(values) & (back != values) & (codes % 2 == 0)
    # One step towards the value, or away from infinity: to the odd one of the two adjacent ones.
    step = np.where(np.abs(back) < np.abs(values), 1, -1).astype(np.int32)
    return np.asarray(np.where(inexact, (codes.view(np.int32) + step).view(np.uint32), codes).view(np.float32))
