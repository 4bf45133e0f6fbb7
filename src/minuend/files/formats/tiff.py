"""TIFF and GeoTIFF: bands of pixels, through the ``tifffile`` package; ``imagecodecs`` brings most compressions.

A file's bands are its tensors, ``1``, ``2`` and so on, each of (rows, columns). They are read and written tile by tile,
or strip by strip, and ``tifffile`` unpacks what is packed. What a GeoTIFF says of where its pixels lie goes, tag by
tag, from A to the difference, and two files that say different things are not subtracted; GDAL's tag of the value that
is no data goes with it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from logging import LogRecord
from types import ModuleType
from typing import TYPE_CHECKING

from minuend.errors import FileFormatError
from minuend.files import sources
from minuend.files.base import Result, Tensor, TensorFile, check_shape, element_of
from minuend.files.formats import tiff_codecs, tiff_layout, tiff_writing
from minuend.files.formats.missing import nearest
from minuend.files.formats.tiff_bands import AUXILIARY, about_band, exact_number, kind_of, stated_nodata
from minuend.files.formats.tiff_pages import (
    MOST,
    check_chain,
    check_logged,
    check_pages,
    errors_naming,
    message_of,
    segments,
    tiles_of,
)
from minuend.files.formats.tiff_sidecars import sidecars_of
from minuend.files.packages import need
from minuend.files.streaming.reading import Source, Stream

if TYPE_CHECKING:
    from tifffile import TiffPageSeries

SUFFIXES = (".tif", ".tiff")
NAMED = True
HOLDS = frozenset({"nodata", "scale", "georeference", "attributes"})
Layout = tiff_layout.Layout

_LARGEST_SEGMENT = 1 << 28
"""Bytes of a tile or strip: what a header claims has to be in memory to be read."""

check, notes, write = tiff_writing.check, tiff_writing.notes, tiff_writing.write


def groups_written(results: Sequence[Result]) -> Collection[str]:
    """The outermost one, whose attributes are items of the whole file."""
    return ("",)


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """Look at the first image of a file."""
    package = need("tifffile", "tiff", path)
    source = sources.open_source(path)
    check_chain(source, path)
    with errors_naming(path) as records:
        first, *others = package.TiffFile(Stream(source)).series
        notes = _unread(sum(not kind_of(one.keyframe) & AUXILIARY for one in others), path)
        return _bands(path, source, _alone(first, package), (notes, records), every_type=every_type)


def _unread(count: int, path: str) -> tuple[str, ...]:
    """What a report says of further images, which are no overviews of the first one and no masks."""
    images = "another image" if count == 1 else f"{count} other images"
    return (f"{path} holds {images}, which the difference has not: the first one is read",) if count else ()


def _alone(image: TiffPageSeries, package: ModuleType) -> TiffPageSeries:
    """An image without its overviews and masks, which the package takes for bands where they are of the same size.

    One plane has the axes of its page: of an axis of one more, the package does not always find the tiles.
    """
    first, *others = map(kind_of, image.pages)
    page = image.keyframe
    is_plane = page.axes == "YX" and len(image.axes) == len(set(image.axes)) == 3
    is_plane &= math.prod(image.shape) == math.prod(page.shape) and (not page.is_tiled or page.tiledepth == 1)
    if not is_plane and (first & AUXILIARY or not any(kind & AUXILIARY for kind in others)):
        return image
    pages = [one for one in image.pages if is_plane or not kind_of(one) & AUXILIARY]
    many = len(pages) > 1
    shape = (len(pages), *page.shape) if many else page.shape
    found: TiffPageSeries = package.TiffPageSeries(pages, shape, page.dtype, "I" * many + page.axes)
    return found


def _bands(
    path: str,
    source: Source,
    image: TiffPageSeries,
    noted: tuple[tuple[str, ...], list[LogRecord]],
    *,
    every_type: bool,
) -> TensorFile:
    """The bands of an image; what its tags say is checked.

    Args:
        noted: sentences for reports, and what the package logs.
    """
    notes, records = noted
    page, axes, shape, dtype = image.keyframe, image.axes, tuple(image.shape), image.keyframe.dtype
    if dtype is None or not {*"XY"} <= {*axes} or len(axes) > 3 or axes.count("X") > 1:
        check_logged(records, path)  # axes that come of damage say nothing
        raise FileFormatError(f"{path} holds an image of the axes {axes!r}; expected rows, columns and at most bands")
    if len(axes) == 2 and page.is_tiled and page.tiledepth > 1:
        raise FileFormatError(f"{path} has tiles of {page.tiledepth} planes, and one plane; write tiles of one")
    tiff_codecs.check(page, path)
    tiff_codecs.adapt(page, path)
    if (nbytes := dtype.itemsize * math.prod(page.chunks)) > _LARGEST_SEGMENT:
        raise FileFormatError(f"{path} has tiles or strips of {nbytes} bytes; expected {_LARGEST_SEGMENT} at most")
    axis = next((k for k, name in enumerate(axes) if name not in "YX"), None)
    element = element_of(dtype, path, every_type=every_type)
    rows, columns = (shape[axes.index(name)] for name in "YX")
    check_shape((rows, columns), element.itemsize, path)
    check_pages(image, source, (rows, columns), path)
    around = sidecars_of(path)
    grid = segments(page, (rows, columns)).tile

    def opener(band: int) -> Tensor:
        with errors_naming(path):
            stated = stated_nodata(image, band, around)
            about = about_band(image, band, element, around, path, stated)
            about = replace(about, notes=(*about.notes, *notes, *_warned(records, path)))
            fill = 0 if stated is None else nearest(exact_number(stated, path), element)
            found = tiles_of(image, dtype, source, band, fill, path)
        return Tensor(str(band + 1), element, (rows, columns), lambda: found, about, chunks=grid)

    if (count := 1 if axis is None else shape[axis]) > MOST:
        raise FileFormatError(f"{path} claims {count} bands; expected {MOST} at most")
    openers = {str(k + 1): functools.partial(opener, k) for k in range(count)}
    return TensorFile(path, True, openers, sources=around.paths)


def _warned(records: Iterable[LogRecord], path: str) -> tuple[str, ...]:
    """The package's warnings as notes, but for those of nodata values, which it has no say in."""
    messages = map(message_of, records)
    return tuple(f"{path}: {text}" for text in messages if "GDAL_NODATA" not in text)
