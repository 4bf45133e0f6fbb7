"""TIFF and GeoTIFF: bands of pixels, through the ``tifffile`` package; ``imagecodecs`` brings most compressions.

A file's bands are its tensors, ``1``, ``2`` and so on, each of (rows, columns). They are read and written tile by tile,
or strip by strip, as ``tifffile`` shows them through zarr. What a GeoTIFF says of where its pixels lie goes, tag by
tag, from A to the difference, and two files that say different things are not subtracted; GDAL's tag of the value that
is no data goes with it.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from minuend.errors import DTypeError, FileFormatError, MinuendError
from minuend.storage import reading
from minuend.storage.base import (
    NO_TEXT,
    About,
    Grid,
    Result,
    Tensor,
    TensorFile,
    check_shape,
    element_of,
    is_numpys_own,
    need,
)
from minuend.storage.packed import scale_and_offset
from minuend.storage.pipeline import ahead
from minuend.storage.reading import Array, Source, Stream
from minuend.storage.regions import Region, boxes, whole
from minuend.storage.tiff_pages import MOST, check_chain, check_pages, plain, segments

SUFFIXES = (".tif", ".tiff")
NAMED = True

_PIXEL_SCALE, _TIE_POINTS, _TRANSFORM, _KEYS = 33550, 33922, 34264, 34735
_GEOREFERENCE = (_PIXEL_SCALE, _TIE_POINTS, _TRANSFORM, _KEYS, 34736, 34737)
_SYSTEMS = {3072: "projected", 2048: "geographic"}
_NODATA, _METADATA = 42113, 42112
_ITEM = re.compile(r"<Item\b([^<>]*)>([^<>]*)</Item>")
_TILE = (256, 256)
_LARGEST_SEGMENT = 1 << 28
"""Bytes of a tile or strip: what a header claims has to be held to be read."""

_CLASSIC = (1 << 32) - (1 << 25)
"""Bytes that a file has room for whose places are 32 bits wide."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file stores its bands, kept from A: tile, compression by its number, tags as ``tifffile`` writes them."""

    tile: tuple[int, int]
    compression: int
    tags: tuple[tuple[int, int, int, Any, bool], ...]


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """Look at the first image of a file."""
    package, zarr = need("tifffile", "tiff", path), need("zarr", "tiff", path)
    source = reading.open_source(path)
    check_chain(source, path)
    with _told(path):
        image = package.TiffFile(Stream(source)).series[0]
        return _bands(path, source, image, zarr, every_type=every_type)


def _bands(path: str, source: Source, image: Any, zarr: Any, *, every_type: bool) -> TensorFile:
    """The bands of an image; what its tags say is checked."""
    page, axes, shape, dtype = image.keyframe, image.axes, tuple(image.shape), image.keyframe.dtype
    if dtype is None or sorted(axes)[-2:] != ["X", "Y"] or len(axes) > 3:
        raise FileFormatError(f"{path} holds an image of the axes {axes!r}; expected rows, columns and at most bands")
    if (held := dtype.itemsize * math.prod(page.chunks)) > _LARGEST_SEGMENT:
        raise FileFormatError(f"{path} has tiles or strips of {held} bytes; expected {_LARGEST_SEGMENT} at most")
    axis = next((k for k, name in enumerate(axes) if name not in "YX"), None)
    element = element_of(dtype, path, every_type=every_type)
    rows, columns = (shape[axes.index(name)] for name in "YX")
    check_shape((rows, columns), element.itemsize, path)
    check_pages(image, source, (rows, columns), path)
    about = About(_nodata(page, path), _grid(page), MappingProxyType({"tiff": _layout(page)}), placeable=True)
    packaged = Packaged(path, functools.cache(lambda: zarr.open(image.aszarr(level=0), mode="r")), threading.Lock())
    grid = segments(page, (rows, columns)).tile

    def opener(band: int) -> Tensor:
        with _told(path):
            found = plain(image, source, (rows, columns), band) or Band(packaged, dtype, (rows, columns), axis, band)
        scale, offset = scale_and_offset(_packing(page, band), f"{path} band {band + 1}")
        own = replace(about, scale=scale, offset=offset)
        return Tensor(str(band + 1), element, (rows, columns), lambda: found, own, chunks=grid)

    if (count := 1 if axis is None else shape[axis]) > MOST:
        raise FileFormatError(f"{path} claims {count} bands; expected {MOST} at most")
    return TensorFile(path, True, {str(k + 1): functools.partial(opener, k) for k in range(count)})


class Packaged(NamedTuple):
    """A file's pixels as the package unpacks them, which is asked for them in turns."""

    path: str
    pixels: Callable[[], Any]
    turn: threading.Lock


@dataclass(frozen=True)
class Band:
    """One band of an image; see :class:`~minuend.storage.base.Elements`."""

    of: Packaged
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    axis: int | None
    number: int

    def read(self) -> Array:
        """Return all of it."""
        return self.part(whole(self.shape))

    def part(self, region: Region) -> Array:
        """Return a region."""
        place: list[Any] = list(region)
        if self.axis is not None:
            place.insert(self.axis, self.number)
        with self.of.turn, _told(self.of.path):
            found: Array = np.asarray(self.of.pixels()[tuple(place)])
        found.flags.writeable = False
        return found


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse what an image cannot hold: other shapes than rows and columns, bands that differ."""
    need("tifffile", "tiff", path)
    first = results[0]
    for result in results:
        if len(result.shape) != 2 or 0 in result.shape:
            raise FileFormatError(
                f"{path} holds bands of rows and columns; the tensor {result.name!r} has shape {result.shape}"
            )
        if not is_numpys_own(result.element):
            raise DTypeError("types", f"TIFF has no word for {result.element}; write .safetensors", where=path)
        if (result.shape, result.element) != (first.shape, first.element):
            raise FileFormatError(
                f"{path} holds bands of one size and type; {first.name!r} is {first.element} of shape {first.shape} "
                f"and {result.name!r} is {result.element} of shape {result.shape}"
            )


def write(stream: BinaryIO, results: Sequence[Result], metadata: Mapping[str, str] = NO_TEXT) -> None:
    """Write an image tile by tile, with the tiles, compression and georeference of A."""
    package = need("tifffile", "tiff", "a TIFF")
    first, count = results[0], len(results)
    layout = first.about.attributes.get("tiff")
    layout = layout if isinstance(layout, Layout) else Layout(_TILE, 1, ())
    tags = [tag for tag in layout.tags if tag[0] != _NODATA]
    if first.about.nodata is not None:
        tags.append((_NODATA, 2, 0, _shown(first.about.nodata), True))
    scales = [(k, result.about.scale) for k, result in enumerate(results) if result.about.scale != 1]
    if scales:
        items = "".join(f'<Item name="SCALE" sample="{k}" role="scale">{scale!r}</Item>' for k, scale in scales)
        tags.append((_METADATA, 2, 0, f"<GDALMetadata>{items}</GDALMetadata>", True))
    if not stream.seekable():
        raise MinuendError("a TIFF is written with its places last, which a pipe does not take; name a file")
    with package.TiffWriter(stream, bigtiff=count * first.nbytes > _CLASSIC) as writer:
        writer.write(
            _tiles(results, layout.tile),
            shape=first.shape if count == 1 else (count, *first.shape),
            dtype=first.element.memory,
            tile=layout.tile,
            compression=layout.compression,
            photometric="minisblack",
            planarconfig=None if count == 1 else "separate",
            extratags=tags,
            metadata=None,
            software="minuend",
        )


def _tiles(results: Sequence[Result], tile: tuple[int, int]) -> Iterator[Array]:
    """Compute the tiles of one band after the other; those at the edges are filled up with zeros."""

    def whole(piece: tuple[Result, Region]) -> Array:
        result, region = piece
        found = result.part(region)
        if found.shape == tile:
            return np.ascontiguousarray(found)
        padded = np.zeros(tile, result.element.memory)
        padded[: found.shape[0], : found.shape[1]] = found
        return padded

    pieces = ((result, region) for result in results for region in boxes(result.shape, tile))
    return ahead(whole, pieces, 5 * tile[0] * tile[1] * results[0].element.itemsize)


# ---- what a page says -----------------------------------------------------------------------------------------


def _layout(page: Any) -> Layout:
    tile = (page.tilelength, page.tilewidth) if page.is_tiled else _TILE
    kept = (page.tags.get(code) for code in _GEOREFERENCE)
    tags = tuple((tag.code, int(tag.dtype), tag.count, tag.value, True) for tag in kept if tag is not None)
    return Layout(tile, int(page.compression), tags)


def _value(page: Any, code: int) -> Any:
    tag = page.tags.get(code)
    return None if tag is None else tag.value


def _grid(page: Any) -> Grid | None:
    """Where pixels lie, from the tags; the keys stand for the coordinate system, an EPSG code among them by that."""
    transform, keys = _value(page, _TRANSFORM), _value(page, _KEYS)
    scale, ties = _value(page, _PIXEL_SCALE), _value(page, _TIE_POINTS)
    if transform is not None:
        t = transform
        found = (t[0], t[1], t[3], t[4], t[5], t[7])
    elif scale is not None and ties is not None:
        column, row, _, x, y, _ = ties[:6]
        found = (scale[0], 0.0, x - column * scale[0], 0.0, -scale[1], y + row * scale[1])
    elif keys is None:
        return None
    else:
        found = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    return Grid(_system(keys, page), found)


def _system(keys: Sequence[int] | None, page: Any) -> str:
    if keys is None:
        return ""
    rows = {keys[i]: keys[i + 3] for i in range(4, len(keys) - 3, 4) if keys[i + 1] == 0}
    for key, kind in _SYSTEMS.items():
        if rows.get(key, 32767) != 32767:  # user-defined
            return f"EPSG:{rows[key]} ({kind})"
    return str((tuple(keys), _value(page, 34736), _value(page, 34737)))


def _nodata(page: Any, path: str) -> int | float | None:
    text = _value(page, _NODATA)
    if text is None:
        return None
    try:
        number = float(str(text).strip("\0 "))
    except ValueError:
        raise FileFormatError(f"{path} states the nodata value {text!r}; expected a number") from None
    return int(number) if number.is_integer() else number


def _packing(page: Any, band: int) -> dict[str, Any]:
    """What GDAL's metadata say of a band's packed numbers, by the names of the CF conventions."""
    found: dict[str, Any] = {}
    for stated, text in _ITEM.findall(str(_value(page, _METADATA) or "")):
        about = dict(re.findall(r'(\w+)="([^"]*)"', stated))
        key = {"scale": "scale_factor", "offset": "add_offset"}.get(about.get("role", ""))
        if key and about.get("sample", "0") == str(band):
            try:
                found[key] = float(text)
            except ValueError:
                found[key] = text
    return found


def _shown(number: int | float) -> str:
    return repr(number)


@contextlib.contextmanager
def _told(path: str) -> Iterator[None]:
    """Say of which file it is what the package finds damaged, or cannot decode."""
    try:
        yield
    except (MinuendError, MemoryError):
        raise
    except OSError as error:
        if error.errno is not None:
            raise
        raise FileFormatError(f"{path} is damaged ({error}); expected a whole TIFF") from None
    except ImportError as error:
        raise FileFormatError(
            f'{path} is compressed in a way that needs a package ({error}): pip install "minuend[tiff]"'
        ) from None
    except Exception as error:
        told = str(error) or type(error).__name__
        raise FileFormatError(f"{path} is no TIFF, or a damaged one ({told}); expected a whole TIFF") from None
