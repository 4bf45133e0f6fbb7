"""The elements of a tensor, wherever they lie: in a source, in memory, or where a format finds them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from minuend.core.shapes import size
from minuend.files.streaming.reading import Array, Source, new_buffer
from minuend.files.streaming.regions import Region, extent, runs, whole


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
        """Return a region of them, read-only; good as long as it is in use. Several threads may read at once."""


class InParts:
    """What :class:`Elements` share that are read part by part."""

    __slots__ = ()

    def read(self: Elements) -> Array:
        """Return all of them, read-only."""
        return self.part(whole(self.shape))


@dataclass(frozen=True, slots=True)
class Contiguous(InParts):
    """Elements that lie in one range of a source, one after the other, in C or Fortran order."""

    source: Source
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool = False

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def part(self, region: Region) -> Array:
        if self.fortran:
            transposed = Contiguous(self.source, self.offset, self.dtype, self.shape[::-1])
            return transposed.part(region[::-1]).T
        sizes, itemsize = extent(region), self.dtype.itemsize
        if 0 in sizes:
            return np.empty(sizes, self.dtype)
        length, starts = runs(region, self.shape)
        if length == size(sizes):
            (start,) = starts
            raw = self.source.read(self.offset + start * itemsize, length * itemsize)
            return raw.view(self.dtype).reshape(sizes)
        found = new_buffer(size(sizes) * itemsize)
        for row, start in zip(found.reshape(-1, length * itemsize), starts, strict=True):
            self.source.read_into(self.offset + start * itemsize, row)
        found.flags.writeable = False
        return found.view(self.dtype).reshape(sizes)


@dataclass(frozen=True, slots=True)
class InMemory(InParts):
    """Elements that are in memory already."""

    array: Array

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    def part(self, region: Region) -> Array:
        found: Array = self.array[(*region, ...)]  # type: ignore[arg-type]
        found.flags.writeable = False
        return found


@dataclass(frozen=True, slots=True)
class Converted(InParts):
    """Elements that are made of stored ones, one of one; ``convert`` makes them of a region."""

    stored: Elements
    dtype: np.dtype[Any]
    convert: Callable[[Array], Array]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.stored.shape

    def part(self, region: Region) -> Array:
        return self.convert(self.stored.part(region))
