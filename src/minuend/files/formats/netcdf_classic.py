"""Classic netCDF (CDF-1, CDF-2 and CDF-5), read where it lies.

    b"CDF" version, records, dimensions, attributes, variables, then the elements

All numbers are big-endian; counts take 4 bytes, 8 in CDF-5; where elements begin takes 4 bytes in CDF-1, else 8. Names
and values are filled up to 4 bytes. A list is a tag, a count and its items, or zeros where there is none. A variable
whose first dimension grows lies record by record, between those of the other ones that do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from minuend.errors import FileFormatError
from minuend.files.base import check_shape, clipped
from minuend.files.formats.coordinates import Attributes, Axis, Companion
from minuend.files.stored_elements import Contiguous, Elements, InParts
from minuend.files.streaming.reading import Array, Source, new_buffer
from minuend.files.streaming.regions import Region, extent

MAGIC = b"CDF"
_VERSIONS = (1, 2, 5)
_TYPES = ("i1", "S1", ">i2", ">i4", ">f4", ">f8", "u1", ">u2", ">u4", ">i8", ">u8")
_OF_CLASSIC = 6
"""Types of CDF-1 and CDF-2; the others came with CDF-5."""
_DIMENSIONS, _VARIABLES, _ATTRIBUTES = 10, 11, 12
_LONGEST_HEADER = 100_000_000
_MOST_DIMS = 64
_SMALL = 1 << 16
"""Bytes of a record with all its variables up to which several are read at once."""

T = TypeVar("T")


class _Stated(NamedTuple):
    """A variable as a header states it: its dimensions by number, and where it begins."""

    ids: list[int]
    attributes: Attributes
    dtype: np.dtype[Any]
    begin: int


@dataclass(frozen=True, slots=True)
class Records(InParts):
    """Elements that lie record by record; see :class:`~minuend.files.stored_elements.Elements`.

    Attributes:
        step: bytes from one record to the next.
    """

    source: Source
    offset: int
    step: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def part(self, region: Region) -> Array:
        sizes = extent(region)
        found = new_buffer(math.prod(sizes) * self.dtype.itemsize).view(self.dtype).reshape(sizes)
        first, last = region[0].start, region[0].stop
        # Small records are read with what lies between them: a read for each costs more than that.
        at_once = _SMALL // self.step if self.step <= _SMALL else 1
        for start in range(first, last, at_once):
            count = min(at_once, last - start)
            if count == 1:
                one = Contiguous(self.source, self.offset + start * self.step, self.dtype, self.shape[1:])
                found[start - first] = one.part(region[1:])
            else:
                found[start - first : start - first + count] = self._several(start, count)[(slice(None), *region[1:])]
        found.flags.writeable = False
        return found

    def _several(self, start: int, count: int) -> Array:
        """Return records that follow each other, whole."""
        inner = np.empty(self.shape[1:], self.dtype)  # of which only the strides count
        raw = self.source.read(self.offset + start * self.step, (count - 1) * self.step + inner.nbytes)
        return np.ndarray((count, *inner.shape), self.dtype, raw.data, 0, (self.step, *inner.strides))


def variables(source: Source, path: str) -> tuple[dict[str, Companion], Attributes]:
    """Read a header; return the variables by name, and the attributes of the whole file.

    Raises:
        FileFormatError: it is cut off, promises what is not there, or is of another version.
    """
    return _Header(source, path).read()


class _Header:
    def __init__(self, source: Source, path: str) -> None:
        self._source, self._path, self._at = source, path, 0
        self._window, self._start = b"", 0
        self._wide, self._far = 4, 4
        self._types: tuple[str, ...] = ()

    def read(self) -> tuple[dict[str, Companion], Attributes]:
        magic = self._bytes(4)
        if magic[3] not in _VERSIONS:
            raise self._wrong(f"states version {magic[3]} of classic netCDF; expected 1, 2 or 5")
        self._wide, self._far = (8 if magic[3] == 5 else 4), (4 if magic[3] == 1 else 8)
        self._types = _TYPES if magic[3] == 5 else _TYPES[:_OF_CLASSIC]
        records = self._count()
        dims = self._named(_DIMENSIONS, "dimensions", lambda name: (name, self._count()))
        attributes = self._named(_ATTRIBUTES, "attributes", self._attribute)
        found = self._named(_VARIABLES, "variables", self._variable)
        return self._placed(found, list(dims.values()), records), attributes

    def _placed(self, found: dict[str, _Stated], dims: list[tuple[str, int]], records: int) -> dict[str, Companion]:
        """Say where the variables lie, and check that they lie within the file."""
        own: dict[str, tuple[tuple[Axis, ...], int]] = {}
        for name, (ids, _, dtype, _) in found.items():
            if any(one >= len(dims) for one in ids):
                raise self._wrong(f"has the variable {clipped(name)} of dimension {max(ids)}; there are {len(dims)}")
            if any(not dims[one][1] for one in ids[1:]):
                raise self._wrong(f"has the variable {clipped(name)}, which grows along another axis than the first")
            axes = tuple(Axis(called, size, not size) for called, size in (dims[one] for one in ids))
            check_shape([axis.size for axis in axes], dtype.itemsize, f"{self._path} variable {clipped(name)}")
            own[name] = axes, math.prod(axis.size for axis in axes if not axis.grows) * dtype.itemsize
        growing = {name: nbytes for name, (axes, nbytes) in own.items() if axes and axes[0].grows}
        # By the format's own exception, a single variable of records has no bytes between them.
        step = sum(growing.values()) if len(growing) == 1 else sum(map(_filled, growing.values()))
        if records == (1 << 8 * self._wide) - 1:  # being written, or by a program that cannot go back
            begin = min((found[name].begin for name in growing), default=0)
            records = max(0, self._source.size - begin) // step if step else 0
        return {
            name: self._variable_at(name, axes, found[name], records, step if name in growing else 0)
            for name, (axes, _) in own.items()
        }

    def _variable_at(self, name: str, axes: tuple[Axis, ...], stated: _Stated, records: int, step: int) -> Companion:
        """Return a variable that lies within the file; ``step``: from one of its records to the next."""
        _, attributes, dtype, begin = stated
        axes = tuple(Axis(axis.path, records, True) if axis.grows else axis for axis in axes)
        shape = tuple(axis.size for axis in axes)
        whole_size = math.prod(shape) * dtype.itemsize
        end = begin + (step * (records - 1) + whole_size // records if step and records else whole_size)
        if end > self._source.size:
            raise self._wrong(
                f"has {self._source.size} bytes, and its variable {clipped(name)} ends at {end}; expected a whole file"
            )
        found: Elements = Contiguous(self._source, begin, dtype, shape)
        if step:
            found = Records(self._source, begin, step, dtype, shape)
        return Companion(name, axes, attributes, lambda: found)

    def _attribute(self, name: str) -> object:
        dtype = self._type(f"the attribute {clipped(name)}")
        count = self._count()
        raw = self._bytes(count * dtype.itemsize)
        self._bytes(-len(raw) % 4)
        if dtype.kind == "S":
            return raw.rstrip(b"\0").decode(errors="replace")
        values = np.frombuffer(raw, dtype).astype(dtype.newbyteorder("="))
        return values[0] if count == 1 else values

    def _variable(self, name: str) -> _Stated:
        count = self._count()
        if count > _MOST_DIMS:
            raise self._wrong(f"has the variable {clipped(name)} of {count} dimensions; expected {_MOST_DIMS} at most")
        ids = [self._count() for _ in range(count)]
        attributes = self._named(_ATTRIBUTES, "attributes", self._attribute)
        dtype = self._type(f"the variable {clipped(name)}")
        self._count()  # its size, which does not hold what is larger than 4 GB
        return _Stated(ids, attributes, dtype, self._integer(self._far))

    def _named(self, tag: int, what: str, item: Callable[[str], T]) -> dict[str, T]:
        """Read a list of items by name."""
        came, count = self._integer(4), self._count()
        if came != tag and (came or count):
            raise self._wrong(f"has the tag {came} where its {what} are; expected {tag}")
        found: dict[str, T] = {}
        for _ in range(count):
            length = self._count()
            raw = self._bytes(length)
            self._bytes(-length % 4)
            try:
                name = raw.decode()
            except UnicodeDecodeError:
                raise self._wrong(f"names {raw[:200]!r} among its {what}, which is no UTF-8; expected text") from None
            if name in found or not name or "/" in name or "\0" in name:
                raise self._wrong(f"names {clipped(name)} among its {what}; expected names that differ, without '/'")
            found[name] = item(name)
        return found

    def _type(self, what: str) -> np.dtype[Any]:
        number = self._integer(4)
        if not 1 <= number <= len(self._types):
            raise self._wrong(f"states type {number} for {what}; expected 1 to {len(self._types)}")
        return np.dtype(self._types[number - 1])

    def _count(self) -> int:
        return self._integer(self._wide)

    def _integer(self, size: int) -> int:
        return int.from_bytes(self._bytes(size), "big")

    def _bytes(self, size: int) -> bytes:
        """Read on, through a window: the file may lie far away."""
        end = self._at + size
        if end > min(self._source.size, _LONGEST_HEADER):
            raise self._wrong(
                f"has a header that goes on to byte {end}; the file has {self._source.size}, and a header "
                f"{_LONGEST_HEADER} at most"
            )
        if end > self._start + len(self._window):
            self._start = self._at
            self._window = self._source.read(self._at, min(max(size, 1 << 16), self._source.size - self._at)).tobytes()
        found = self._window[self._at - self._start : end - self._start]
        self._at = end
        return found

    def _wrong(self, message: str) -> FileFormatError:
        return FileFormatError(f"{self._path} {message}")


def _filled(nbytes: int) -> int:
    return nbytes + -nbytes % 4
