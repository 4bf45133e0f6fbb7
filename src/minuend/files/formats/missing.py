"""Values that elements without data hold, as files and people state them."""

from __future__ import annotations

import decimal
import math
from typing import Any

import numpy as np

from minuend.core.elements import ElementType
from minuend.files.stored_elements import Converted, Elements
from minuend.files.streaming.reading import Array


def exact(text: str) -> int | float:
    """Return the number that a text states; a whole one as an int, to its last digit.

    Raises:
        ValueError: it is no number.

    >>> exact("9007199254740993"), exact("9007199254740993.0"), exact("1e3"), exact("nan"), exact("0.5")
    (9007199254740993, 9007199254740993, 1000, nan, 0.5)
    >>> exact("-9.2233720368547758e+18")
    -9223372036854775808
    """
    text = text.strip()
    try:
        return int(text)
    except ValueError:
        pass
    found = float(text)
    if not found.is_integer():
        return found
    stated = decimal.Decimal(text)
    of_float = stated in (decimal.Decimal(repr(found)), decimal.Decimal(f"{found:.17g}"))
    return int(found) if of_float else int(stated)  # as programs print floats, or digits that a float does not have


def flat(value: object) -> list[Any]:
    """Return the values that an attribute states, as NumPy has them; lists that differ in length are one value.

    >>> list(map(int, flat([[1, 2], [3, 4]]))), flat([[1], [2, 3]])
    ([1, 2, 3, 4], [[[1], [2, 3]]])
    """
    try:
        return list(np.asarray(value).ravel())
    except ValueError:
        return [value]


def with_one_value(stored: Elements, value: int | float, others: tuple[int | float, ...]) -> Elements:
    """Return elements in which several values mean that there is no data, with one of them for all."""

    def replaced(found: Array) -> Array:
        alike = np.isin(found, np.array(others, found.dtype))
        if not alike.any():
            return found
        found = np.where(alike, np.array(value, found.dtype), found)
        found.flags.writeable = False
        return found

    return Converted(stored, stored.dtype, replaced)


def as_element(value: int | float | np.generic, element: ElementType) -> int | float | None:
    """Return a value as elements of a type hold it; ``None`` where none of them can: it marks nothing.

    Args:
        value: a number, of Python or NumPy. element: the type.

    >>> from minuend.core.elements import TYPES
    >>> as_element(2.0, TYPES["uint8"]), as_element(-9999, TYPES["uint8"]), as_element(0.1, TYPES["float32"])
    (2, None, 0.10000000149011612)
    """
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if element.is_integer:
        low, high = element.limits
        return number if isinstance(number, int) and low <= number <= high else None
    try:
        with np.errstate(all="ignore"):
            found = float(np.float64(number).astype(element.memory))
    except OverflowError:
        return None
    if math.isnan(number):
        return found if math.isnan(found) else None
    if not math.isclose(found, number, rel_tol=0.5):
        return None
    return int(found) if found.is_integer() else found


def nearest(number: int | float, element: ElementType) -> int | float:
    """Return the element that is nearest to a number, as GDAL converts one: halves away from zero, NaN to 0.

    Args:
        number: of any size. element: the type.

    >>> from minuend.core.elements import TYPES
    >>> nearest(65535, TYPES["uint8"]), nearest(-1.5, TYPES["int8"]), nearest(math.nan, TYPES["int8"])
    (255, -2, 0)
    """
    if not element.is_integer:
        with np.errstate(over="ignore"):
            return float(np.float64(number).astype(element.memory))
    low, high = element.limits
    if math.isnan(number):
        return 0
    bounded = min(max(number, low), high)
    return bounded if isinstance(bounded, int) else int(math.copysign(math.floor(abs(bounded) + 0.5), bounded))
