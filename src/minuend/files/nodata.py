"""Elements that hold no data: nodata on either side is nodata in the difference, and overflows nothing.

The difference has A's value for nodata, or B's where A states none; it has to fit the difference's type. Where a file
states none, whoever subtracts it may. A real difference of that very value cannot be distinguished from it any
more, and is counted.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from minuend.core.elements import ElementType
from minuend.errors import DTypeError, FileFormatError
from minuend.files.base import About, Tensor
from minuend.files.formats.missing import as_element
from minuend.files.streaming.reading import Array


def stated(a: About, b: About) -> int | float | None:
    """The value that a difference has for nodata; ``None`` where neither operand states one."""
    return a.nodata if a.nodata is not None else b.nodata


def check(nodata: int | float | None, element: ElementType, where: str) -> None:
    """Check that a difference's type holds the value.

    Raises:
        DTypeError: it does not.
    """
    if nodata is not None and as_element(nodata, element) is None:
        hint = "choose another policy" if element.is_integer else "state one that does first"
        raise DTypeError("types", f"the nodata value {nodata} does not fit {_range(element)}{where}; {hint}")


def given(tensor: Tensor, nodata: int | float | None, path: str, where: str) -> Tensor:
    """Return an operand whose elements of a value hold no data, where its file ``path`` does not say which do.

    Raises:
        DTypeError: its type does not hold the value. FileFormatError: the file states another one.
    """
    stated = tensor.about.nodata
    if nodata is None:
        return tensor
    value = as_element(nodata, tensor.element)
    if value is None:
        raise DTypeError(
            "types", f"--nodata {nodata} does not fit {_range(tensor.element)}{where}; name a value of that type"
        )
    known = None if stated is None else as_element(stated, tensor.element)
    if known is not None and known != value and not (math.isnan(known) and math.isnan(value)):
        raise FileFormatError(
            f"{path} states the nodata value {stated}, and --nodata says {nodata}{where}; leave --nodata out, it is "
            "for files that state none"
        )
    return replace(tensor, about=replace(tensor.about, nodata=nodata if known is None else stated))


def _range(element: ElementType) -> str:
    return "{} ({} to {})".format(element, *element.limits) if element.is_integer else str(element)


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
