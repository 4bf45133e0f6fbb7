"""How far the elements of two tensors are from each other as numbers, in float64."""

from __future__ import annotations

import math
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from minuend.core.elements import ElementType
from minuend.files.deltas.manifest import Norm
from minuend.files.streaming.reading import Array

_PIECE = 1 << 15
"""Elements that are looked at together: their float64 stay in the caches."""


@dataclass(slots=True)
class Distance:
    """The sum of squares, and the largest difference; what is no finite number (NaN, infinities) is left out."""

    squares: float = 0.0
    largest: float = 0.0

    def add(self, other: Distance) -> None:
        """Join another range's."""
        self.squares += other.squares
        self.largest = max(self.largest, other.largest)

    @property
    def norm(self) -> Norm:
        """To six digits, which no order of adding changes."""
        return Norm(float(f"{math.sqrt(self.squares):.6g}"), float(f"{self.largest:.6g}"))


def measurable(element: ElementType | None) -> bool:
    """Whether elements are numbers that float64 holds, or rounds to."""
    return element is not None and element.numpy is not None


def distance(element: ElementType, a: Array, b: Array) -> Distance:
    """Measure how far two ranges of bytes are from each other."""
    found = Distance()
    dtype = element.memory
    if dtype.kind == "c":
        dtype = np.dtype(f"f{dtype.itemsize // 2}")
    patterns = [raw.view(f"u{dtype.itemsize}") for raw in (a, b)]
    for start in range(0, patterns[0].size, _PIECE):
        x, y = (one[start : start + _PIECE] for one in patterns)
        changed = x != y
        count = np.count_nonzero(changed)
        if not count:
            continue
        if 2 * count < x.size:  # what is equal adds nothing
            x, y = x[changed], y[changed]
        with np.errstate(all="ignore"):
            difference = _wide(x.view(dtype)) - _wide(y.view(dtype))
            largest = max(float(difference.max()), -float(difference.min()))
            if not math.isfinite(largest):
                difference = difference[np.isfinite(difference)]
                largest = float(np.abs(difference).max(initial=0))
            # Not by np.dot: a BLAS has threads of its own, which get in the way of those that work on blocks.
            found.add(Distance(float(np.square(difference, out=difference).sum()), largest))
    return found


def _wide(values: Array) -> Array:
    """Convert to float64; bfloat16 by its bits, which is much quicker than element by element."""
    if values.dtype == ml_dtypes.bfloat16:
        return (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if values.dtype.itemsize == 1:
        return _table(values.dtype)[values.view(np.uint8)]
    return values.astype(np.float64)


def _table(dtype: np.dtype[np.generic]) -> Array:
    """All values of a type of 8 bits."""
    every = np.arange(256, dtype=np.uint8)
    return (every if dtype.kind == "b" else every.view(dtype)).astype(np.float64)
