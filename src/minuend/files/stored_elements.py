"""The elements of a tensor, wherever they lie: in a source, in memory, or where a format finds them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from minuend.core.shapes import size
from minuend.files.streaming.reading import Array, Source, new_buffer
from minuend.files.streaming.regions import Region, extent, runs


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
        """Return a region of them, read-only; good as long as it is held. Several threads may read at once."""


@dataclass(frozen=True, slots=True)
class Contiguous:
    """Elements that lie in one range of a source, one after the other, in C or Fortran order."""

    source: Source
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of all of them."""
        return math.prod(self.shape) * self.dtype.itemsize

    def read(self) -> Array:
        """Return them, read-only, in memory of their own (or that of a file that is in memory)."""
        return self.laid_out(self.source.read(self.offset, self.nbytes))

    def laid_out(self, raw: Array) -> Array:
        """Return all their bytes as an array of their type and shape."""
        return array_at(raw, 0, self.dtype, self.shape, fortran=self.fortran)

    def part(self, region: Region) -> Array:
        """Return a region; see :class:`Elements`."""
        if self.fortran:
            transposed = Contiguous(self.source, self.offset, self.dtype, self.shape[::-1])
            return transposed.part(region[::-1]).T
        sizes, itemsize = extent(region), self.dtype.itemsize
        if 0 in sizes:
            return np.empty(sizes, self.dtype)
        length, starts = runs(region, self.shape)
        if length == size(sizes):
            (start,) = starts
            return array_at(self.source.read(self.offset + start * itemsize, length * itemsize), 0, self.dtype, sizes)
        found = new_buffer(size(sizes) * itemsize)
        for row, start in zip(found.reshape(-1, length * itemsize), starts, strict=True):
            self.source.read_into(self.offset + start * itemsize, row)
        found.flags.writeable = False
        return array_at(found, 0, self.dtype, sizes)


@dataclass(frozen=True, slots=True)
class InMemory:
    """Elements that are in memory already."""

    array: Array

    @property
    def dtype(self) -> np.dtype[Any]:
        """As they are in memory."""
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's."""
        return tuple(self.array.shape)

    def read(self) -> Array:
        """Return them, read-only."""
        return self.part(())

    def part(self, region: Region) -> Array:
        """Return a region; see :class:`Elements`."""
        found: Array = self.array[(*region, ...)]  # type: ignore[arg-type]
        found.flags.writeable = False
        return found


def array_at(raw: Array, offset: int, dtype: np.dtype[Any], shape: Sequence[int], *, fortran: bool = False) -> Array:
    """Return the array that lies at an offset of a file's bytes; the caller has checked that it fits."""
    if math.prod(shape) == 0:
        return np.empty(shape, dtype)
    flat = raw[offset : offset + math.prod(shape) * dtype.itemsize].view(dtype)
    return flat.reshape(shape, order="F" if fortran else "C")
