"""PNG: one image of (rows, columns) or (rows, columns, channels), 8 or 16 bits, through ``imagecodecs``.

A PNG is packed as one stream, so that it is read and written whole; what its header says is checked before, and images
beyond 256 MiB are refused. Channels are grey, grey and alpha, RGB, or RGBA; alpha is one like the others.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, BinaryIO

import numpy as np

from minuend.core.elements import TYPES
from minuend.core.shapes import format_shape
from minuend.errors import DTypeError, FileFormatError
from minuend.files import sources
from minuend.files.base import NO_TEXT, About, Result, Tensor, TensorFile, alpha_note, quoted
from minuend.files.formats.png_chunks import MAGIC, Layout, checked, chunks, layout_of, with_chunks
from minuend.files.packages import need
from minuend.files.stored_elements import InMemory
from minuend.files.streaming.reading import Array, Source

SUFFIXES = (".png",)
NAMED = False
_HEADER = struct.Struct(">8sI4sIIBB")
_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}
_PALETTE = 3
_LARGEST = 1 << 28
_ELEMENTS = {8: "uint8", 16: "uint16"}


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """Check a header; the image is unpacked when it is read."""
    source = sources.open_source(path)
    shape, bits = _read_header(source, path)
    element = TYPES[_ELEMENTS[bits]]

    def elements() -> InMemory:
        return InMemory(_unpacked(source, path, shape, element.memory))

    channels = (*shape, 1)[2]
    layout = layout_of(source, channels, path)
    notes = () if channels % 2 else (alpha_note(path),)
    about = About(layout=layout, conventions=MappingProxyType(layout.conventions), notes=notes)
    tensor = Tensor("", element, shape, elements, about)
    return TensorFile(path, NAMED, {"": lambda: tensor})


def _read_header(source: Source, path: str) -> tuple[tuple[int, ...], int]:
    """Return the shape and the bits of an element."""
    raw = source.read(0, min(source.size, _HEADER.size)).tobytes()
    magic, _, kind, columns, rows, bits, colours = _HEADER.unpack(raw.ljust(_HEADER.size, b"\0"))
    if magic != MAGIC or kind != b"IHDR":
        raise FileFormatError(f"{path} does not start as a PNG does; expected {MAGIC!r} and a header")
    next(chunks(source, path))  # whole, and of its checksum
    if colours == _PALETTE:
        raise FileFormatError(f"{path} has a palette: its pixels are places in it, no numbers; convert it to RGB first")
    if colours not in _CHANNELS or bits not in _ELEMENTS:
        raise FileFormatError(
            f"{path} has pixels of {bits} bits and colour type {colours}; expected 8 or 16 bits of grey or RGB, with "
            "or without alpha"
        )
    channels = _CHANNELS[colours]
    size, described = rows * columns * channels * bits // 8, f"{rows} x {columns} pixels"
    if not size:
        raise FileFormatError(f"{path} states {described}; expected some")
    if size > _LARGEST:
        raise FileFormatError(f"{path} unpacks to {size} bytes ({described}); expected {_LARGEST} at most: write .tif")
    return ((rows, columns) if channels == 1 else (rows, columns, channels)), bits


def _unpacked(source: Source, path: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    package = need("imagecodecs", "tiff", path)
    content = checked(source, path, shape, dtype.itemsize)
    try:
        found: Array = package.png_decode(content)
    except (RuntimeError, ValueError) as error:
        raise FileFormatError(f"{path} is a damaged PNG ({error}); expected a whole one") from None
    if found.shape != shape or found.dtype != dtype:
        raise FileFormatError(
            f"{path} unpacks to {found.dtype} of shape {found.shape}; its header says {dtype} of shape "
            f"{format_shape(shape)}, a colour for transparency is not taken"
        )
    return found


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse what is no image of 8 or 16 bits."""
    need("imagecodecs", "tiff", path)
    (result,) = results
    if result.element.name not in _ELEMENTS.values():
        raise DTypeError("types", f"PNG holds uint8 and uint16, not {result.element}; write .tif", where=path)
    channels = result.shape[2:] or (1,)
    if len(result.shape) not in (2, 3) or 0 in result.shape or channels[0] > max(_CHANNELS.values()):
        raise FileFormatError(
            f"{path} holds (rows, columns) or (rows, columns, 2 to 4 channels); the difference has shape {result.shape}"
        )
    if result.nbytes > _LARGEST:
        raise FileFormatError(f"{path} would unpack to {result.nbytes} bytes; expected {_LARGEST} at most: write .tif")


def write(stream: BinaryIO, results: Sequence[Result], metadata: Mapping[str, str] = NO_TEXT) -> None:
    (result,) = results
    raw = b"".join(block.tobytes() for block in result.blocks())
    array = np.frombuffer(raw, result.element.memory).reshape(result.shape)
    found = need("imagecodecs", "tiff", "a PNG").png_encode(array)
    if isinstance(layout := result.about.layout, Layout):
        found = with_chunks(found, layout.of_difference(_channels(result)))
    stream.write(found)


def notes(path: str, results: Sequence[Result]) -> tuple[str, ...]:
    """Say which chunks of A are left out."""
    (result,) = results
    layout = result.about.layout
    if not isinstance(layout, Layout) or not (names := layout.not_of_difference(_channels(result))):
        return ()
    return (f"the chunks {quoted(names)} of {layout.of} are left out",)


def _channels(result: Result) -> int:
    return (*result.shape, 1)[2]
