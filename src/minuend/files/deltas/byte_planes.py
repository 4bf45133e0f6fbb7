"""Blocks of a delta: bit patterns as byte planes, compressed one by one.

    block    kind (u8: 0 a difference, 1 whole), a length for each plane (u32, little-endian), the planes
    plane k  byte k of each pattern, from the lowest on, as a zstd frame that states its content's size; as it is where
             the length is the number of patterns; all zeros where the length is 0

A difference is BASE − TUNED of the bit patterns as unsigned integers, which wraps, so that TUNED = BASE − difference.
As a signed number d it is stored as 2d from 0 on, and as −2d − 1 below: what is near 0 has zeros in the upper planes.
A block whose patterns take fewer bytes than their differences is stored whole.
"""

from __future__ import annotations

import struct
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from minuend.arrays.functions import subtract
from minuend.errors import FileFormatError
from minuend.files.streaming.reading import Array

DIFFERENCE, WHOLE = 0, 1
LEVEL = 3
"""zstd's level: 4 and above take three times as long for a few per cent."""

LEVELS = (1, 22)
_SAMPLE = 1 << 13
_of_thread = threading.local()


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before a block's planes."""

    kind: int
    lengths: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of all planes."""
        return sum(self.lengths)


def head_size(width: int) -> int:
    """Bytes before the planes of patterns of so many bytes."""
    return 1 + 4 * width


def bits(raw: Array, width: int) -> Array:
    """View bytes as the patterns that they are."""
    return raw.view(f"<u{width}")


def pack(tuned: Array, base: Array | None, level: int) -> tuple[bytes, int]:
    """Pack a block of patterns, against those of the base where there are such.

    Returns:
        the block, and how many patterns differ from the base's; all of them where there is none.
    """
    if base is None:
        return _packed(WHOLE, _split(tuned), level), tuned.size
    difference = subtract(base, tuned)
    changed = int(np.count_nonzero(difference))
    return pack_smaller(zigzag(difference) if changed else difference, tuned, level), changed


def pack_smaller(folded: Array, tuned: Array, level: int) -> bytes:
    """Pack what stands for a difference, or the patterns themselves where those seem to take less."""
    if folded.any() and _cost(tuned) < _cost(folded):
        return _packed(WHOLE, _split(tuned), level)
    return _packed(DIFFERENCE, _split(folded), level)


def read_head(raw: bytes, width: int, count: int, where: str) -> Head:
    """Read what stands before the planes of so many patterns.

    Raises:
        FileFormatError: a kind or a length that no block has.
    """
    kind, *lengths = struct.unpack(f"<B{width}I", raw)
    if kind not in (DIFFERENCE, WHOLE):
        raise FileFormatError(f"{where} has a block of kind {kind}; expected {DIFFERENCE} or {WHOLE}")
    if max(lengths) > count:
        raise FileFormatError(
            f"{where} has a plane of {max(lengths)} bytes for {count} elements; expected {count} at most"
        )
    return Head(kind, tuple(lengths))


def unpack(head: Head, planes: Array, width: int, count: int, where: str) -> Array:
    """Return the patterns, or the differences, of a block.

    Raises:
        FileFormatError: planes that are not what they promise; nothing beyond ``count`` bytes each is unpacked.
    """
    found = np.zeros((count, width), np.uint8)
    at = 0
    for k, length in enumerate(head.lengths):
        if length:
            found[:, k] = _plane(planes[at : at + length], count, where)
        at += length
    patterns = bits(found.reshape(-1), width)
    return unzigzag(patterns) if head.kind == DIFFERENCE else patterns


def restore(head: Head, patterns: Array, base: Array | None, where: str) -> Array:
    """Return a block's patterns, of what :func:`unpack` gave and the base's patterns."""
    if head.kind == WHOLE:
        return patterns
    if base is None:
        raise FileFormatError(f"{where} has a difference where there is no base; the delta is damaged")
    return subtract(base, patterns)


def zigzag(difference: Array) -> Array:
    """Fold the sign of differences into the lowest bit.

    >>> zigzag(np.array([0, 255, 1, 128], np.uint8)).tolist()
    [0, 1, 2, 255]
    """
    sign = difference >> (8 * difference.itemsize - 1)
    folded: Array = difference << 1
    folded ^= np.negative(sign, out=sign)
    return folded


def unzigzag(folded: Array) -> Array:
    """Undo :func:`zigzag`.

    >>> unzigzag(np.array([0, 1, 2, 255], np.uint8)).tolist()
    [0, 255, 1, 128]
    """
    sign = folded & 1
    difference: Array = folded >> 1
    difference ^= np.negative(sign, out=sign)
    return difference


def _split(patterns: Array) -> Array:
    """Return the byte planes, one a row."""
    planes = np.empty((patterns.itemsize, patterns.size), np.uint8)
    for k, plane in enumerate(planes):  # in half the time of a transposed copy
        np.right_shift(patterns, 8 * k, out=plane, dtype=patterns.dtype, casting="unsafe")
    return planes


def _cost(patterns: Array) -> float:
    """Estimate the bits that planes take, by how often each byte stands in a sample of them."""
    cost = 0.0
    for plane in _split(patterns[:: max(1, patterns.size // _SAMPLE)]):
        counts = np.bincount(plane, minlength=256)
        counts = counts[counts > 0]
        cost -= float((counts * np.log2(counts / plane.size)).sum())
    return cost


def _packed(kind: int, planes: Array, level: int) -> bytes:
    packed = [_compressed(plane, level) for plane in planes]
    return b"".join((struct.pack(f"<B{len(packed)}I", kind, *map(len, packed)), *packed))


def _compressed(plane: Array, level: int) -> bytes:
    if not plane.any():
        return b""
    found: bytes = _compressor(level).compress(plane.data)
    return found if len(found) < plane.size else plane.tobytes()


def _plane(raw: Array, count: int, where: str) -> Array:
    if raw.size == count:
        return raw
    import zstandard

    try:
        stated = zstandard.frame_content_size(raw.data)
        if stated == count:
            found = np.frombuffer(_decompressor().decompress(raw.data, allow_extra_data=False), np.uint8)
            if found.size == count:
                return found
    except zstandard.ZstdError:
        raise FileFormatError(f"{where} has a plane that is no whole zstd frame; the delta is damaged") from None
    came = f"states {stated} bytes" if stated >= 0 else "does not state its size"
    raise FileFormatError(f"{where} has a plane that {came}; expected {count}")


def _compressor(level: int) -> Any:
    """This thread's own, which no other may use at the same time."""
    import zstandard

    cached: dict[int, Any] = _of_thread.__dict__.setdefault("compressors", {})
    if level not in cached:
        cached[level] = zstandard.ZstdCompressor(level=level)
    return cached[level]


def _decompressor() -> Any:
    import zstandard

    if not hasattr(_of_thread, "decompressor"):
        _of_thread.decompressor = zstandard.ZstdDecompressor()
    return _of_thread.decompressor
