"""Elements that lie in tiles or strips of a source, as plain bytes or packed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minuend.core.shapes import size
from minuend.files.stored_elements import InParts
from minuend.files.streaming.reading import Array, Source, new_buffer
from minuend.files.streaming.regions import Region, extent


@dataclass(frozen=True)
class Tiles(InParts):
    """Rows and columns in a grid of tiles; see :class:`~minuend.files.stored_elements.Elements`.

    Attributes:
        source: where they lie. dtype: as they are read. shape: rows and columns.
        tile: rows and columns of a tile; those at the right and at the bottom may reach beyond the shape.
        places: where each tile begins, and its bytes; row of tiles by row of tiles. One of no bytes is left out, and
            stands for ``fill``.
        samples: elements that stand together at each place of a plain tile, of which ``sample`` is this one.
        unpack: makes rows and columns of a packed tile's bytes, by its number; ``None`` of plain ones.
    """

    source: Source
    dtype: np.dtype[Any]
    shape: tuple[int, int]
    tile: tuple[int, int]
    places: Sequence[tuple[int, int]]
    samples: int = 1
    sample: int = 0
    fill: int | float = 0
    unpack: Callable[[bytes, int], Array] | None = None

    def part(self, region: Region) -> Array:
        """Return a region: of one tile without a copy, of several put together."""
        sizes = extent(region)
        if 0 in sizes:
            return np.empty(sizes, self.dtype)
        pieces = list(self._pieces(region))
        if len(pieces) == 1:
            found = pieces[0][1]
        else:
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
                yield (y_place, x_place), self._rows(row * across + column, y)[:, x]

    def _rows(self, number: int, rows: slice) -> Array:
        """Whole rows of a tile."""
        offset, length = self.places[number]
        if not length:
            return np.full((rows.stop - rows.start, self.tile[1]), self.fill, self.dtype)
        if self.unpack is not None:
            return self.unpack(self.source.read(offset, length).tobytes(), number)[rows]
        line = self.tile[1] * self.samples * self.dtype.itemsize
        raw = self.source.read(offset + rows.start * line, (rows.stop - rows.start) * line)
        pixels: Array = raw.view(self.dtype).reshape(-1, self.tile[1], self.samples)
        return pixels[..., self.sample]


def _cut(wanted: slice, start: int, length: int) -> tuple[slice, slice]:
    """What a range has of a wanted one: counted in the range, and in the wanted one."""
    low, high = max(wanted.start, start), min(wanted.stop, start + length)
    return slice(low - start, high - start), slice(low - wanted.start, high - wanted.start)
