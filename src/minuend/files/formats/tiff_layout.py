"""How a TIFF stores its bands, which goes from A to the difference."""

from __future__ import annotations

from dataclasses import dataclass

from minuend.files.formats import geotiff
from minuend.files.formats.tiff_tags import NOTHING, Description

TILE = (256, 256)
"""Rows and columns of a tile, where A has none."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file stores its bands, taken from A: tile, compression by its number, tags as ``tifffile`` writes them.

    Attributes:
        tags: those that say where pixels lie. said: what describes the file beside them.
    """

    tile: tuple[int, int]
    compression: int
    tags: tuple[geotiff.Tag, ...] = ()
    said: Description = NOTHING

    @property
    def names(self) -> tuple[str, ...]:
        """What other formats lack."""
        return self.said.names
