"""Elements that hold no data: nodata on either side is nodata in the difference, and overflows nothing.

The difference has A's value for nodata, or B's where A states none; it has to fit the difference's type. A real
difference that happens to be that value cannot be told from it any more, and is counted.
"""

from __future__ import annotations

import math

import numpy as np

from minuend.core.elements import ElementType
from minuend.errors import DTypeError, FileFormatError
from minuend.storage.base import About, Tensor
from minuend.storage.reading import Array


def stated(a: About, b: About) -> int | float | None:
    """The value that a difference has for nodata; ``None`` where neither operand states one."""
    return a.nodata if a.nodata is not None else b.nodata


def check(nodata: int | float | None, element: ElementType, where: str) -> None:
    """Check that a difference's type holds the value.

    Raises:
        DTypeError: it does not.
    """
    if nodata is None or not element.is_integer:
        return
    low, high = element.limits
    if not isinstance(nodata, int) or not low <= nodata <= high:
        raise DTypeError(
            "types", f"the nodata value {nodata} does not fit {element} ({low} to {high}){where}; choose another policy"
        )


def check_grids(a: Tensor, b: Tensor) -> None:
    """Check that pixels of two tensors lie in the same places, as far as both say where.

    Raises:
        FileFormatError: they do not.
    """
    x, y = a.about.grid, b.about.grid
    if x is None or y is None or x == y:
        return
    what = "coordinate systems" if x.crs != y.crs else "transforms"
    came, other = (x.crs or "none", y.crs or "none") if x.crs != y.crs else (x.transform, y.transform)
    raise FileFormatError(
        f"A and B have different {what}: {came} and {other}; nothing is warped, bring them to one grid (gdalwarp) first"
    )


def missing(array: Array, nodata: int | float | None) -> Array | None:
    """Which elements of an operand hold no data; ``None`` where all hold some."""
    if nodata is None:
        return None
    found: Array = np.isnan(array) if isinstance(nodata, float) and math.isnan(nodata) else array == nodata
    return found if found.any() else None


def over(array: Array, begin: int, shape: tuple[int, ...]) -> Array:
    """An operand, or its mask, repeated over a difference, in which its dims sit from ``begin`` on."""
    after = (1,) * (len(shape) - begin - array.ndim)
    return np.broadcast_to(array.reshape((1,) * begin + array.shape + after), shape)
