"""Chunks of an HDF5 dataset, read by their addresses: plain, deflated, shuffled, or with Fletcher's sum.

Each is unpacked to the bytes that its shape takes and no further, in any number of threads.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from minuend.files.streaming.reading import Array, Source
from minuend.files.streaming.regions import Region, extent

DEFLATE, SHUFFLE, FLETCHER32 = 1, 2, 3
"""The numbers that HDF5 has for filters."""
_SUM = 4


class Damaged(Exception):
    """A chunk that does not hold what the file says."""


class Chunks:
    """The elements of a dataset in chunks; see :class:`~minuend.files.stored_elements.Elements`.

    Args:
        filters: numbers of the filters in the order in which they packed, each with its first parameter.
        fill: of chunks that are not there.
        table: of each chunk the first element's index, its address, its bytes, and a mask of filters that it lacks.
    """

    def __init__(
        self,
        source: Source,
        shape: tuple[int, ...],
        chunks: tuple[int, ...],
        dtype: np.dtype[Any],
        filters: Sequence[Sequence[int]],
        fill: Any,
        table: Array,
    ) -> None:
        self._source, self._chunks, self._dtype, self._filters, self._fill = source, chunks, dtype, filters, fill
        self._nbytes = math.prod(chunks) * dtype.itemsize
        self._grid = [-(-dim // step) for dim, step in zip(shape, chunks, strict=True)]
        rank = len(chunks)
        rows = table.reshape(-1, rank + 3)
        at = rows[:, :rank] // np.array(chunks, np.int64)
        if (at < 0).any() or (at >= np.array(self._grid, np.int64)).any():
            raise Damaged("a chunk lies outside of its dataset")
        numbers = np.zeros(len(rows), np.int64)
        for k, dim in enumerate(self._grid):
            numbers = numbers * dim + at[:, k]
        order = np.argsort(numbers, kind="stable")
        self._numbers, self._rows = numbers[order], rows[order, rank:]

    def part(self, region: Region) -> Array:
        """Return a region."""
        found = np.empty(extent(region), self._dtype)
        if not found.size:
            return found
        ranges = [
            range(axis.start // step, -(-axis.stop // step)) for axis, step in zip(region, self._chunks, strict=True)
        ]
        for at in itertools.product(*ranges):
            inner, outer = [], []
            for k, axis, step in zip(at, region, self._chunks, strict=True):
                start, stop = max(axis.start, k * step), min(axis.stop, (k + 1) * step)
                inner.append(slice(start - k * step, stop - k * step))
                outer.append(slice(start - axis.start, stop - axis.start))
            chunk = self._chunk(at)
            found[tuple(outer)] = self._fill if chunk is None else chunk[tuple(inner)]
        return found

    def _chunk(self, at: Sequence[int]) -> Array | None:
        """Return a chunk, ``None`` where there is none."""
        number = 0
        for k, dim in zip(at, self._grid, strict=True):
            number = number * dim + k
        row = int(np.searchsorted(self._numbers, number))
        if row == len(self._numbers) or self._numbers[row] != number:
            return None
        address, size, mask = (int(one) for one in self._rows[row])
        if address < 0 or size < 0 or address + size > self._source.size:
            raise Damaged(f"the chunk at {tuple(at)} lies beyond the end of the file")
        try:
            raw = self._unpacked(self._source, address, size, mask)
        except (Damaged, zlib.error) as error:
            raise Damaged(f"the chunk at {tuple(at)} cannot be unpacked: {error}") from None
        return np.frombuffer(raw, self._dtype).reshape(self._chunks)

    def _unpacked(self, source: Source, address: int, size: int, mask: int) -> Any:
        """Undo the filters, the last one first, each to the bytes that went into it."""
        applied = [one for k, one in enumerate(self._filters) if not mask >> k & 1]
        sizes = list(itertools.accumulate((_SUM * (one[0] == FLETCHER32) for one in applied), initial=self._nbytes))
        packed = any(one[0] == DEFLATE for one in applied)
        # What deflate makes of so many bytes is hardly longer than they are: whatever is longer is no chunk.
        if size > sizes[-1] + (sizes[-1] // 4 + 1000 if packed else 0):
            raise Damaged(f"it has {size} bytes; expected {sizes[-1]}")
        raw: Any = source.read(address, size).data
        for (number, parameter), nbytes in zip(reversed(applied), reversed(sizes[:-1]), strict=True):
            if number == DEFLATE:
                raw = inflated(raw, nbytes)
            elif number == FLETCHER32:
                raw = _checked(raw)
            else:
                raw = _unshuffled(raw, parameter or self._dtype.itemsize)
        if len(raw) != self._nbytes:
            raise Damaged(f"it holds {len(raw)} bytes; expected {self._nbytes}")
        return raw


def inflated(raw: Any, nbytes: int) -> bytes:
    """Inflate a zlib stream to so many bytes exactly.

    >>> inflated(zlib.compress(bytes(3)), 3)
    b'\\x00\\x00\\x00'
    """
    stream = zlib.decompressobj()
    found = stream.decompress(raw, nbytes + 1)
    if len(found) != nbytes:
        raise Damaged(f"it inflates to {'more' if len(found) > nbytes else len(found)} bytes; expected {nbytes}")
    if not stream.eof:  # its checksum comes last
        stream.decompress(stream.unconsumed_tail, 1)
        if not stream.eof:
            raise Damaged("its deflate stream is cut off")
    return found


def _unshuffled(raw: Any, size: int) -> Any:
    """Put the bytes of elements together, which were sorted by their places in an element."""
    data = np.frombuffer(raw, np.uint8)
    count = len(data) // size
    if size < 2 or count < 2:
        return raw
    found = np.empty(len(data), np.uint8)
    for k in range(size):  # a byte of all elements at a time: 1.7 times as fast as to transpose
        found[k : count * size : size] = data[k * count : (k + 1) * count]
    found[count * size :] = data[count * size :]
    return found.data


def _checked(raw: Any) -> Any:
    """Check and take off Fletcher's sum."""
    if len(raw) < _SUM:
        raise Damaged("it is too short for its checksum")
    data, stated = raw[:-_SUM], int.from_bytes(raw[-_SUM:], "little")
    came = fletcher32(data)
    swapped = came >> 8 & 0xFF00FF | (came & 0xFF00FF) << 8  # as files of HDF5 1.6.2 have it
    if not any(_same(one, stated) for one in (came, swapped)):
        raise Damaged("its checksum differs")
    return data


def _same(one: int, other: int) -> bool:
    """Whether two sums are the same modulo 65535, in which 0 has two forms."""
    return (one >> 16) % 65535 == (other >> 16) % 65535 and (one & 0xFFFF) % 65535 == (other & 0xFFFF) % 65535


def fletcher32(raw: Any) -> int:
    """Return Fletcher's sum of bytes, as HDF5 computes it: of big-endian words of 16 bits.

    >>> hex(fletcher32(b"abcde"))
    '0x4ff029c7'
    """
    data = np.frombuffer(raw, np.uint8)
    if len(data) % 2:
        data = np.append(data, np.uint8(0))
    words = data.view(">u2")
    first = second = 0
    for start in range(0, len(words), 1 << 16):
        block = words[start : start + (1 << 16)].astype(np.int64)
        second += first * len(block) + int((block * np.arange(len(block), 0, -1)).sum())
        first += int(block.sum())
        first, second = first % 65535, second % 65535
    return second << 16 | first
