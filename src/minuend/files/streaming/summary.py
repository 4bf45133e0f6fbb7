"""What elements are in a few numbers: lowest and highest, how many are NaN and nodata; block by block, as they pass.

A block is gone through while it is in the caches, at what NumPy's reductions of its machine's registers do, which is
tens of GB/s. Where NumPy has none (float16, bfloat16, ml_dtypes' types), the elements' codes are compared instead.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from minuend.core.elements import ElementType
from minuend.files.streaming.reading import Array
from minuend.operators.codes import decode, is_nan

Number = int | float


@dataclass(slots=True)
class Summary:
    """What some elements of one tensor are.

    Attributes:
        elements: how many there are. overflowed: how many differences do not fit the operands' type.
        low, high: the lowest and highest number; ``None`` where there is none. nans, nodata: how many are no number. An
            element that holds the file's nodata value counts as nodata alone. hit: how many real differences are it.
    """

    elements: int = 0
    overflowed: int = 0
    low: Number | None = None
    high: Number | None = None
    nans: int = 0
    nodata: int = 0
    hit: int = 0

    def add(self, other: Summary) -> None:
        """Take in what other elements are."""
        self.elements += other.elements
        self.overflowed += other.overflowed
        self.nans += other.nans
        self.nodata += other.nodata
        self.hit += other.hit
        if other.low is not None and other.high is not None:
            self.low = other.low if self.low is None else min(self.low, other.low)
            self.high = other.high if self.high is None else max(self.high, other.high)


def summed(element: ElementType, array: Array, nodata: Number | None = None) -> Summary:
    """Sum up an array.

    Args:
        element: its element type. array: in native byte order; of any strides. nodata: the value that is no number.

    >>> from minuend.core.elements import TYPES
    >>> summed(TYPES["float16"], np.array([1.5, np.nan, -2, 9], np.float16), nodata=9)
    Summary(elements=4, overflowed=0, low=-2.0, high=1.5, nans=1, nodata=1, hit=0)
    """
    found = Summary(array.size)
    if nodata is not None and math.isnan(nodata):
        part = summed(element, array)
        return Summary(array.size, 0, part.low, part.high, nodata=part.nans)
    if nodata is not None and (missing := array == nodata).any():
        found.nodata = int(np.count_nonzero(missing))
        array = array[~missing]
    if array.size:
        is_short = element.format is not None and element.bits == 16
        way = _by_count if element.kernel == "table" else _by_code if is_short else _by_number
        found.low, found.high, found.nans = way(element, array)
    return found


_Extremes = tuple[Number | None, Number | None, int]


def _by_number(element: ElementType, array: Array) -> _Extremes:
    """Numbers whose minimum and maximum NumPy finds in registers; any NaN is seen by what comes of it."""
    with np.errstate(invalid="ignore"):  # a signaling NaN is no news
        low, high, nans = array.min(), array.max(), 0
        if np.isnan(low):
            low, high = np.fmin.reduce(array, axis=None), np.fmax.reduce(array, axis=None)
            nans = int(np.count_nonzero(np.isnan(array)))
    return (None, None, nans) if np.isnan(low) else (_plain(low), _plain(high), nans)


def _by_code(element: ElementType, array: Array) -> _Extremes:
    """Floats of 16 bits by their codes, sign and magnitude: of negative ones the highest code is the lowest number."""
    assert element.format is not None
    sign, infinity = 1 << 15, ((1 << element.format.exponent) - 1) << element.format.mantissa
    codes, signed = array.view(np.uint16), array.view(np.int16)
    nans = 0
    if signed.max() > infinity or codes.max() > sign | infinity:
        missing = is_nan(element.format, codes)
        nans = int(np.count_nonzero(missing))
        codes = codes[~missing]
        signed = codes.view(np.int16)
    if not codes.size:
        return None, None, nans
    top, most = int(codes.max()), int(signed.max())
    least = int(codes.min()) if top < sign or most < 0 else 0
    low, high = np.array([top if top >= sign else least, most if most >= 0 else least], np.uint16).view(array.dtype)
    return _plain(low), _plain(high), nans


def _by_count(element: ElementType, array: Array) -> _Extremes:
    """Types of few bits by which of their codes there are."""
    counts = np.bincount(array.reshape(-1).view(np.uint8), minlength=256)
    found = [(value, int(count)) for value, count in zip(_values(element), counts, strict=True) if count]
    numbers = [value for value, _ in found if not math.isnan(value)]
    nans = sum(count for value, count in found if math.isnan(value))
    return min(numbers, default=None), max(numbers, default=None), nans


@functools.cache
def _values(element: ElementType) -> list[Number]:
    """What each byte means."""
    codes = (decode(element, code % (1 << element.bits)) for code in range(256))
    return [int(value) if element.is_integer else float(value) + 0.0 for value in codes]


def _plain(value: Any) -> Number:
    """As a Python number; zero has no sign."""
    number: Number = value.item()
    return number if isinstance(number, int) else number + 0.0
