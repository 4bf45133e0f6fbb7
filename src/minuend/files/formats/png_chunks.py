"""The chunks of a PNG: whole, in order, and holding all the pixels that the header claims.

The decoder is written in C, and a damaged file has crashed it; so it gets a file of the header and the pixels alone,
which was checked to its last byte.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from minuend.errors import FileFormatError
from minuend.files.streaming.reading import Source

MAGIC = b"\x89PNG\r\n\x1a\n"
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""Adam7: the first column and row of a pass, and its steps."""

_FILTERS = 5

_PIXELS = {b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS"}
_TEXTS = {b"tEXt", b"zTXt", b"iTXt", b"pHYs"}
_COLOURS = {b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"cICP"}
_ORIENTATION = 274
_ANIMATION = {b"acTL", b"fcTL", b"fdAT"}


@dataclass(frozen=True, slots=True)
class Layout:
    """What a PNG says beside its pixels.

    Attributes:
        channels: how many it has. chunks: that go to the difference as they are: texts, the size of pixels, and
            what its numbers mean as colours. left_out: the names of the others. of: the file.
        orientation: which corner of the picture the first pixel is, as in TIFF.
    """

    channels: int
    chunks: tuple[tuple[bytes, bytes], ...]
    left_out: tuple[str, ...]
    of: str
    orientation: int = 1

    @property
    def conventions(self) -> dict[str, str]:
        """How its numbers are read, which another image's have to be as well."""
        found = {"0": "black", "Orientation": str(self.orientation)}
        gamma = dict(self.chunks).get(b"gAMA")
        return found if gamma is None else {**found, "gAMA": str(int.from_bytes(gamma, "big"))}

    @property
    def names(self) -> tuple[str, ...]:
        """What other formats lack."""
        return (f"the chunks of {self.of}",) if self.chunks or self.left_out else ()

    def of_difference(self, channels: int) -> tuple[tuple[bytes, bytes], ...]:
        """Return the chunks of a difference of so many channels: its colours are A's where those are as many."""
        return tuple(one for one in self.chunks if one[0] not in _COLOURS or channels == self.channels)

    def not_of_difference(self, channels: int) -> tuple[str, ...]:
        """Return the names of the others."""
        written = self.of_difference(channels)
        return (*self.left_out, *(_called(one[0]) for one in self.chunks if one not in written))


def layout_of(source: Source, channels: int, path: str) -> Layout:
    """Return what a PNG says beside its pixels; they are checked when they are read."""
    chunks: list[tuple[bytes, bytes]] = []
    left_out: list[str] = []
    at, kind, orientation = len(MAGIC), b"", 1
    while kind != b"IEND" and at + 12 <= source.size:
        head = bytes(source.read(at, 8))
        length, kind = int.from_bytes(head[:4], "big"), head[4:]
        if kind in _TEXTS | _COLOURS and at + 12 + length <= source.size:
            chunks.append((kind, bytes(source.read(at + 8, length))))
        elif kind not in _PIXELS:
            if kind == b"eXIf":
                orientation = _orientation(bytes(source.read(at + 8, max(0, min(length, source.size - at - 8)))))
            left_out.append("acTL" if kind in _ANIMATION else _called(kind))
        at += 12 + length
    return Layout(channels, tuple(chunks), tuple(dict.fromkeys(left_out)), path, orientation)


def _orientation(body: bytes) -> int:
    """Return what Exif states; 1 where it states none, or is damaged."""
    order: Literal["little", "big"] = "little" if body[:2] == b"II" else "big"
    at = int.from_bytes(body[4:8], order)
    for place in range(at + 2, at + 2 + 12 * int.from_bytes(body[at : at + 2], order), 12):
        if int.from_bytes(body[place : place + 2], order) == _ORIENTATION:
            found = int.from_bytes(body[place + 8 : place + 10], order)
            return found if 1 <= found <= 8 else 1
    return 1


def _called(kind: bytes) -> str:
    return kind.decode("ascii", errors="replace")


def with_chunks(content: bytes, found: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Return a PNG with chunks behind its header."""
    end = len(MAGIC) + 25
    return content[:end] + b"".join(_chunk(kind, body) for kind, body in found) + content[end:]


def checked(source: Source, path: str, shape: tuple[int, ...], itemsize: int) -> bytes:
    """Return a file's header and pixels as a PNG without anything else.

    Raises:
        FileFormatError: damaged, cut off, or with a colour that stands for transparency.
    """
    header, pixels, ended = b"", [], False
    for kind, body in chunks(source, path):
        if kind == b"tRNS":
            raise FileFormatError(f"{path} has a colour that stands for transparency, which is not taken")
        header = header or body
        if kind == b"IDAT":
            pixels.append(body)
        ended = kind == b"IEND"
    if len(header) != 13 or header[10:12] != b"\0\0" or header[12] > 1:
        raise FileFormatError(f"{path} is a damaged PNG (its header is {header!r}); expected a whole one")
    if not ended:
        raise FileFormatError(f"{path} is a damaged PNG (it does not end); expected a whole one")
    packed = b"".join(pixels)
    _check_pixels(packed, path, list(_passes(header, shape, itemsize)))
    return MAGIC + b"".join(_chunk(kind, body) for kind, body in ((b"IHDR", header), (b"IDAT", packed), (b"IEND", b"")))


def chunks(source: Source, path: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield every chunk up to the end, its checksum checked."""
    at = len(MAGIC)
    while at + 12 <= source.size:
        length = int.from_bytes(bytes(source.read(at, 4)), "big")
        if at + 12 + length > source.size:
            break
        raw = bytes(source.read(at + 4, length + 8))
        if zlib.crc32(raw[:-4]) != int.from_bytes(raw[-4:], "big"):
            raise FileFormatError(f"{path} is a damaged PNG ({raw[:4]!r} has a wrong checksum); expected a whole one")
        yield raw[:4], raw[4:-4]
        if raw[:4] == b"IEND":
            return
        at += 12 + length
    raise FileFormatError(f"{path} is cut off: it has {source.size} bytes, and its chunks go on; read a whole one")


def _passes(header: bytes, shape: tuple[int, ...], itemsize: int) -> Iterator[tuple[int, int]]:
    """Rows, and bytes of a row with its filter, of each pass over the image."""
    rows, columns, channels = (*shape, 1)[:3]
    for x, y, across, down in _PASSES if header[12] else ((0, 0, 1, 1),):
        high, wide = -(-(rows - y) // down), -(-(columns - x) // across)
        if high > 0 and wide > 0:
            yield high, 1 + wide * channels * itemsize


def _check_pixels(packed: bytes, path: str, passes: list[tuple[int, int]]) -> None:
    """Unpack the pixels once: they are all there, and every row has a known filter."""
    wanted = sum(rows * line for rows, line in passes)
    unpacking, at = zlib.decompressobj(), 0
    try:
        unpacked = unpacking.decompress(packed, wanted + 1)
    except zlib.error as error:
        raise FileFormatError(f"{path} is a damaged PNG ({error}); expected a whole one") from None
    for rows, line in passes:
        if max(unpacked[at : at + rows * line : line], default=0) >= _FILTERS:
            raise FileFormatError(f"{path} is a damaged PNG (an unknown filter); expected a whole one")
        at += rows * line
    if len(unpacked) != wanted or not unpacking.eof or unpacking.unused_data:
        raise FileFormatError(
            f"{path} is a damaged PNG (its pixels are {len(unpacked)} bytes, and its header states {wanted}); expected "
            "a whole one"
        )


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
