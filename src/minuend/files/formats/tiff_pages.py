"""The pages of a TIFF: that their chain ends, and where their pixels lie."""

from __future__ import annotations

import contextlib
import functools
import math
import operator
import re
from collections.abc import Iterable, Iterator
from logging import ERROR, LogRecord
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from minuend.errors import FileFormatError, MinuendError
from minuend.files.formats.library_messages import logged
from minuend.files.formats.tiles import Tiles
from minuend.files.streaming.reading import Array, Source

if TYPE_CHECKING:
    from tifffile import TiffFrame, TiffPage, TiffPageSeries

MOST = 1 << 16
"""Pages of a file, and its bands: ``tifffile`` looks at each of them, and at a chain that never ends for ever."""

_FORMS = {42: (4, 4, 2, 12), 43: (8, 8, 8, 20)}
"""A file's version → where the first page is named, and the bytes of a place, of a count of tags, and of a tag."""

_TOGETHER = 1
"""The planar configuration in which the samples of a pixel stand together."""


def check_chain(source: Source, path: str) -> None:
    """Follow the chain of pages, which a damaged file may lead back into itself.

    Raises:
        FileFormatError: it does not end.
    """
    if source.size < 16:
        return  # the package says what it is
    head = bytes(source.read(0, 16))
    if head[:2] not in (b"II", b"MM"):
        return
    order: Literal["little", "big"] = "little" if head[:2] == b"II" else "big"
    form = _FORMS.get(int.from_bytes(head[2:4], order))
    if form is None:
        return
    first, wide, counted, tag = form
    seen: set[int] = set()
    total = 0
    at = int.from_bytes(head[first : first + wide], order)
    while at:
        if at in seen or len(seen) == MOST:
            came = "back to one of them" if at in seen else f"beyond {MOST} of them"
            raise FileFormatError(f"{path} is damaged: its chain of pages leads {came}; expected one that ends")
        seen.add(at)
        end = at + counted
        if end <= source.size:
            end += tag * int.from_bytes(bytes(source.read(at, counted)), order)
        if end + wide > source.size:
            raise FileFormatError(
                f"{path} is cut off: it has {source.size} bytes, and a page is described up to {end + wide}; read a "
                "whole one"
            )
        total += end - at
        if total > source.size:
            raise FileFormatError(f"{path} is damaged: its pages lie over one another; expected each in its own place")
        at = int.from_bytes(bytes(source.read(end, wide)), order)


class Segments(NamedTuple):
    """The tiles or strips of a plane: rows and columns of each, and how many there are."""

    tile: tuple[int, int]
    number: int


def segments(page: TiffPage, shape: tuple[int, int]) -> Segments:
    """Return what a page of so many rows and columns is cut into."""
    tile = (page.tilelength, page.tilewidth) if page.is_tiled else (min(page.rowsperstrip, shape[0]), shape[1])
    if 0 in tile:
        return Segments(tile, 0)
    return Segments(tile, -(-shape[0] // tile[0]) * -(-shape[1] // tile[1]))


def check_pages(image: TiffPageSeries, source: Source, shape: tuple[int, int], path: str) -> None:
    """Check that a file holds all the pixels that its pages claim.

    Raises:
        FileFormatError: it ends before them, or lists fewer tiles or strips than the image has.
    """
    page = image.keyframe
    wanted = segments(page, shape).number * (1 if page.planarconfig == _TOGETHER else page.samplesperpixel)
    if shape != (page.imagelength, page.imagewidth):
        raise ValueError(f"an image of {shape} in pages of {(page.imagelength, page.imagewidth)}")
    for one in image.pages:
        if one is None:
            continue
        end = max((at + length for at, length in zip(one.dataoffsets, one.databytecounts, strict=True)), default=0)
        if end > source.size:
            raise FileFormatError(
                f"{path} is cut off: it has {source.size} bytes, and its pixels end at {end}; read a whole one"
            )
        if len(one.dataoffsets) < wanted:
            raise FileFormatError(
                f"{path} is damaged: it lists {len(one.dataoffsets)} tiles or strips, and its image has {wanted}; "
                "expected all of them"
            )
    if page.compression == 1 and (short := _short(image, shape)):
        raise FileFormatError(
            f"{path} is damaged: a tile or strip of {short[0]} bytes cannot hold its {short[1]} bytes of pixels; "
            "expected all of them"
        )


def _short(image: TiffPageSeries, shape: tuple[int, int]) -> tuple[int, int] | None:
    """The length of a tile or strip that is not compressed and too short, and what it has to hold; one of no bytes is
    left out on purpose, and stands for zeros.
    """
    page, (tile, number) = image.keyframe, segments(image.keyframe, shape)
    together = page.samplesperpixel if page.planarconfig == _TOGETHER else 1
    line = -(-tile[1] * together * page.bitspersample // 8)
    last = tile[0] if page.is_tiled else shape[0] - tile[0] * (number - 1)
    for one in image.pages:
        for at, length in enumerate(() if one is None else one.databytecounts):
            wanted = line * (last if at % number == number - 1 else tile[0])
            if 0 < length < wanted:
                return length, wanted
    return None


def tiles_of(
    image: TiffPageSeries, dtype: np.dtype[Any], source: Source, band: int, fill: int | float, path: str
) -> Tiles:
    """Return a band, of which the package unpacks tiles or strips that are not bytes as they are.

    Args:
        image: whose band. dtype: of its numbers. source: the file. band: its number from 0. fill: what tiles hold that
            are left out. path: what messages call the file.

    Raises:
        ValueError: the file ends before the band does.
    """
    page = image.keyframe
    shape = page.imagelength, page.imagewidth
    tile, count = segments(page, shape)
    here, first, layer, sample, behind = _place(image, band, count)
    stored = [] if here is None else list(zip(here.dataoffsets, here.databytecounts, strict=True))[first:][:count]
    places = [(operator.index(at) + behind, int(length) if at else 0) for at, length in stored]
    if here is None:
        places = [(0, 0)] * count
    if len(places) < count or any(at + length > source.size for at, length in places):
        raise ValueError(f"its band {band + 1} lies beyond its {source.size} bytes")
    as_it_is = (page.compression, page.predictor, page.fillorder, page.bitspersample) == (1, 1, 1, 8 * dtype.itemsize)
    if as_it_is and not (page.is_tiled and page.tiledepth > 1):
        samples = page.samplesperpixel if page.planarconfig == _TOGETHER else 1
        return Tiles(source, dtype.newbyteorder(page.parent.byteorder), shape, tile, places, samples, sample, fill)
    tables = {"jpegtables": here and here.jpegtables, "jpegheader": page.jpegheader}
    decode = functools.partial(page.decode, _fullsize=True, **{k: v for k, v in tables.items() if v is not None})

    def unpack(raw: bytes, number: int) -> Array:
        with errors_naming(path):
            found, *_ = decode(raw, first + number)
            if found is None or found.size != math.prod(page.chunks):
                raise ValueError(f"a tile or strip of other than {math.prod(page.chunks)} numbers")
            unpacked: Array = found[layer, :, :, sample].astype(dtype, copy=False)
            return unpacked

    return Tiles(source, dtype, shape, tile, places, fill=fill, unpack=unpack)


def _place(image: TiffPageSeries, band: int, count: int) -> tuple[TiffPage | TiffFrame | None, int, int, int, int]:
    """Where a band lies: its page, the first of its ``count`` tiles, their layer, the sample, and bytes behind.

    Planes that follow the first one without a page of their own lie behind its pixels.
    """
    page, pages = image.keyframe, image.pages
    if page.size != math.prod(image.shape):
        if band < len(pages):
            return pages[band], 0, 0, 0, 0
        if image.dataoffset is None:
            raise ValueError(f"{len(pages)} pages, and a band {band + 1}")
        return pages[0], 0, 0, 0, band * page.nbytes
    if page.samplesperpixel > 1 and page.planarconfig == _TOGETHER:
        return pages[0], 0, 0, band, 0
    deep = page.is_tiled and page.samplesperpixel == 1
    plane, layer = divmod(band, page.tiledepth if deep else 1)
    return pages[0], plane * count, layer, 0, 0


# ---- errors --------------------------------------------------------------------------------------------------------


def message_of(record: LogRecord) -> str:
    """Return a line of the package's log, without the object that it begins with."""
    return re.sub(r"\A<tifffile\.TiffPage[^>]*> ", "", record.getMessage())


def check_logged(records: Iterable[LogRecord], path: str) -> None:
    """Check that the package logged no error.

    Raises:
        FileFormatError: it did, and went on without what it could not read.
    """
    wrong = next((record for record in records if record.levelno >= ERROR), None)
    if wrong is not None:
        raise FileFormatError(f"{path} is damaged ({message_of(wrong)}); expected a whole TIFF") from None


@contextlib.contextmanager
def errors_naming(path: str) -> Iterator[list[LogRecord]]:
    """Say of which file it is what the package finds damaged, or cannot decode; yield what it logs.

    What it logs as an error it leaves out and goes on: a predictor that it cannot read, for one, and numbers are wrong.
    """
    records: list[LogRecord] = []
    try:
        with logged("tifffile") as records:
            yield records
        check_logged(records, path)
    except (MinuendError, MemoryError) as error:
        if not isinstance(error, FileFormatError):  # which says more of the damage
            check_logged(records, path)
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
        message = str(error) or type(error).__name__
        raise FileFormatError(f"{path} is no TIFF, or a damaged one ({message}); expected a whole TIFF") from None
