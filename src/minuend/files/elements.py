"""The elements of a tensor, wherever they lie."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from minuend.files.streaming.reading import Array
from minuend.files.streaming.regions import Region


class Elements(Protocol):
    """The elements of a tensor, wherever they lie.

    Attributes:
        dtype: as they are stored, byte order and all. shape: of the whole tensor.
    """

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    def read(self) -> Array:
        """Return all of them, read-only."""

    def part(self, region: Region) -> Array:
        """Return a region of them, read-only; good as long as it is held. Several threads may ask at once."""
