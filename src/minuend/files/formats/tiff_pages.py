"""The pages of a TIFF: that their chain ends, and which of them hold pixels as they are."""

from __future__ import annotations

import operator
from typing import Any, Literal, NamedTuple

from minuend.errors import FileFormatError
from minuend.files.formats.tiles import Tiles
from minuend.files.streaming.reading import Source

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


def segments(page: Any, shape: tuple[int, int]) -> Segments:
    """Return what a page of so many rows and columns is cut into."""
    tile = (page.tilelength, page.tilewidth) if page.is_tiled else (min(page.rowsperstrip, shape[0]), shape[1])
    if 0 in tile:
        return Segments(tile, 0)
    return Segments(tile, -(-shape[0] // tile[0]) * -(-shape[1] // tile[1]))


def check_pages(image: Any, source: Source, shape: tuple[int, int], path: str) -> None:
    """Check that a file holds all the pixels that its pages claim.

    Raises:
        FileFormatError: it ends before them, or lists fewer tiles or strips than the image has.
    """
    page = image.keyframe
    wanted = segments(page, shape).number * (1 if page.planarconfig == _TOGETHER else page.samplesperpixel)
    for one in filter(None, image.pages):
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


def _short(image: Any, shape: tuple[int, int]) -> tuple[int, int] | None:
    """The length of a tile or strip that is not compressed and too short, and what it has to hold; one of no bytes is
    left out on purpose, and stands for zeros.
    """
    page, (tile, number) = image.keyframe, segments(image.keyframe, shape)
    together = page.samplesperpixel if page.planarconfig == _TOGETHER else 1
    line = -(-tile[1] * together * page.bitspersample // 8)
    last = tile[0] if page.is_tiled else shape[0] - tile[0] * (number - 1)
    for one in filter(None, image.pages):
        for at, length in enumerate(one.databytecounts):
            wanted = line * (last if at % number == number - 1 else tile[0])
            if 0 < length < wanted:
                return length, wanted
    return None


def plain(image: Any, source: Source, shape: tuple[int, int], band: int) -> Tiles | None:
    """A band whose tiles or strips are bytes as they are; ``None`` where the package has to look at them."""
    page, pages = image.keyframe, image.pages
    dtype = page.dtype.newbyteorder(page.parent.byteorder)
    tile, count = segments(page, shape)
    together = page.samplesperpixel if page.planarconfig == _TOGETHER else 1
    if page.samplesperpixel > 1:  # all bands in one page
        here = pages[0]
        first = 0 if together > 1 else band * count
    else:
        here, first = pages[band] if band < len(pages) else None, 0
    as_it_is = (page.compression, page.predictor, page.fillorder, page.bitspersample) == (1, 1, 1, 8 * dtype.itemsize)
    if here is None or not as_it_is or together < 1:
        return None
    offsets, lengths = (each[first : first + count] for each in (here.dataoffsets, here.databytecounts))
    if not len(offsets) == count > 0 or not all(lengths):  # those of no bytes stand for zeros; no other one is short
        return None
    return Tiles(source, dtype, shape, tile, tuple(map(operator.index, offsets)), together, band if together > 1 else 0)
