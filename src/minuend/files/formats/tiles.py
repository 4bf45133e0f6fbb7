"""Elements that lie in plain tiles or strips of a source: read as bytes, with no package between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minuend.core.shapes import size
from minuend.files.streaming.reading import Array, Source, new_buffer
from minuend.files.streaming.regions import Region, extent, whole


@dataclass(frozen=True)
class Tiles:
    """Rows and columns in a grid of tiles; see :class:`~minuend.files.stored_elements.Elements`.

    Attributes:
        source: where they lie. dtype: as stored. shape: rows and columns.
        tile: rows and columns of a tile; those at the right and at the bottom may reach beyond the shape.
        offsets: where each tile begins, row of tiles by row of tiles.
        samples: elements that stand together at each place, of which ``sample`` is this one.
    """

    source: Source
    dtype: np.dtype[Any]
    shape: tuple[int, int]
    tile: tuple[int, int]
    offsets: Sequence[int]
    samples: int = 1
    sample: int = 0

    def read(self) -> Array:
        """Return all of them."""
        return self.part(whole(self.shape))

    def part(self, region: Region) -> Array:
        """Return a region: of one tile without a copy, of several put together."""
        sizes = extent(region)
        if 0 in sizes:
            return np.empty(sizes, self.dtype)
        pieces = list(self._pieces(region))
        if len(pieces) == 1:
            return pieces[0][1]
        found = new_buffer(size(sizes) * self.dtype.itemsize).view(self.dtype).reshape(sizes)
        for place, piece in pieces:
            found[place] = piece
        found.flags.writeable = False
        return found

    def _pieces(self, region: Region) -> Iterator[tuple[Region, Array]]:
        """What each tile has of a region: its place in the region, and the elements."""
        rows, columns = region
        high, wide = self.tile
        across = -(-self.shape[1] // wide)
        for row in range(rows.start // high, -(-rows.stop // high)):
            for column in range(columns.start // wide, -(-columns.stop // wide)):
                y, y_place = _cut(rows, row * high, high)
                x, x_place = _cut(columns, column * wide, wide)
                yield (y_place, x_place), self._rows(self.offsets[row * across + column], y)[:, x]

    def _rows(self, offset: int, rows: slice) -> Array:
        """Whole rows of a tile."""
        line = self.tile[1] * self.samples * self.dtype.itemsize
        raw = self.source.read(offset + rows.start * line, (rows.stop - rows.start) * line)
        pixels: Array = raw.view(self.dtype).reshape(-1, self.tile[1], self.samples)
        return pixels[..., self.sample]


def _cut(wanted: slice, start: int, length: int) -> tuple[slice, slice]:
    """What a range has of a wanted one: counted in the range, and in the wanted one."""
    low, high = max(wanted.start, start), min(wanted.stop, start + length)
    return slice(low - start, high - start), slice(low - wanted.start, high - wanted.start)
