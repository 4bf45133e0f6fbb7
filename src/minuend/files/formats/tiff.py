"""TIFF and GeoTIFF: bands of pixels, through the ``tifffile`` package; ``imagecodecs`` brings most compressions.

A file's bands are its tensors, ``1``, ``2`` and so on, each of (rows, columns). They are read and written tile by tile,
or strip by strip, and ``tifffile`` unpacks what is packed. What a GeoTIFF says of where its pixels lie goes, tag by
tag, from A to the difference, and two files that say different things are not subtracted; GDAL's tag of the value that
is no data goes with it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from logging import LogRecord
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from minuend.core.elements import ElementType
from minuend.errors import DTypeError, FileFormatError, MinuendError
from minuend.files import sources
from minuend.files.base import (
    NO_TEXT,
    About,
    Result,
    Tensor,
    TensorFile,
    alpha_note,
    check_shape,
    clipped,
    element_of,
    is_numpys_own,
    quoted,
)
from minuend.files.formats import conventions, gdal_metadata, geotiff, tiff_codecs
from minuend.files.formats.cf_scaling import scale_and_offset
from minuend.files.formats.georeference import Grid
from minuend.files.formats.missing import as_element, exact, nearest
from minuend.files.formats.tiff_pages import (
    MOST,
    check_chain,
    check_pages,
    errors_naming,
    message_of,
    segments,
    tiles_of,
)
from minuend.files.formats.tiff_sidecars import Sidecars, as_number, sidecars_of
from minuend.files.formats.tiff_tags import (
    METADATA,
    NODATA,
    NOTHING,
    ORIENTATION,
    PHOTOMETRIC,
    WHITE,
    Description,
    description_of,
    tag_name,
)
from minuend.files.packages import need
from minuend.files.streaming.pipeline import ahead
from minuend.files.streaming.reading import Array, Source, Stream
from minuend.files.streaming.regions import Region, boxes

if TYPE_CHECKING:
    from tifffile import TiffFrame, TiffPage, TiffPageSeries

SUFFIXES = (".tif", ".tiff")
NAMED = True
HOLDS = frozenset({"nodata", "scale", "georeference", "attributes"})

_PALETTE = 3
_TOP_LEFT = 1
_ALPHA = {1, 2}
_MASK = 4
_AUXILIARY = 1 | _MASK
"""Of a page: it is an overview, or a mask, of another one."""

_LOOKED_AT = 40
"""Pages at the head of a file among which a mask is looked for: behind the image and its overviews."""
_TILE = (256, 256)
_LARGEST_SEGMENT = 1 << 28
"""Bytes of a tile or strip: what a header claims has to be in memory to be read."""

_WHOLE = 1e16
"""Below it whole numbers are shown as such."""

_CLASSIC = (1 << 32) - (1 << 25)
"""Bytes that a file can have whose places are 32 bits wide."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file stores its bands, taken from A: tile, compression by its number, tags as ``tifffile`` writes them.

    Attributes:
        tags: those that say where pixels lie. said: what describes the file beside them.
    """

    tile: tuple[int, int]
    compression: int
    tags: tuple[geotiff.Tag, ...] = ()
    said: Description = NOTHING

    @property
    def names(self) -> tuple[str, ...]:
        """What other formats lack."""
        return self.said.names


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """Look at the first image of a file."""
    package = need("tifffile", "tiff", path)
    source = sources.open_source(path)
    check_chain(source, path)
    with errors_naming(path) as records:
        first, *others = package.TiffFile(Stream(source)).series
        notes = _unread(sum(not _kind(one.keyframe) & _AUXILIARY for one in others), path)
        return _bands(path, source, _alone(first, package), (notes, records), every_type=every_type)


def _unread(count: int, path: str) -> tuple[str, ...]:
    """What a report says of further images, which are no overviews of the first one and no masks."""
    images = "another image" if count == 1 else f"{count} other images"
    return (f"{path} holds {images}, which the difference has not: the first one is read",) if count else ()


def _kind(page: TiffPage | TiffFrame | None) -> int:
    """What a page is to others, as bits: a frame, whose tags are not read, is what its first page is."""
    return int(getattr(page, "subfiletype", 0))


def _alone(image: TiffPageSeries, package: ModuleType) -> TiffPageSeries:
    """An image without its overviews and masks, which the package takes for bands where they are of the same size.

    One plane has the axes of its page: of an axis of one more, the package does not always find the tiles.
    """
    first, *others = map(_kind, image.pages)
    page = image.keyframe
    is_plane = page.axes == "YX" and len(image.axes) == len(set(image.axes)) == 3
    is_plane &= math.prod(image.shape) == math.prod(page.shape) and (not page.is_tiled or page.tiledepth == 1)
    if not is_plane and (first & _AUXILIARY or not any(kind & _AUXILIARY for kind in others)):
        return image
    pages = [one for one in image.pages if is_plane or not _kind(one) & _AUXILIARY]
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
    if dtype is None or sorted(axes)[-2:] != ["X", "Y"] or len(axes) > 3 or axes.count("X") > 1:
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
            stated = _stated_nodata(image, band, around)
            about = _about(image, band, element, around, path, stated)
            about = replace(about, notes=(*about.notes, *notes, *_warned(records, path)))
            fill = 0 if stated is None else nearest(_exact(stated, path), element)
            found = tiles_of(image, dtype, source, band, fill, path)
        return Tensor(str(band + 1), element, (rows, columns), lambda: found, about, chunks=grid)

    if (count := 1 if axis is None else shape[axis]) > MOST:
        raise FileFormatError(f"{path} claims {count} bands; expected {MOST} at most")
    openers = {str(k + 1): functools.partial(opener, k) for k in range(count)}
    return TensorFile(path, True, openers, sources=around.paths)


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
        for what, one, other in (
            ("nodata value", repr(first.about.nodata), repr(result.about.nodata)),
            ("place on the ground", _grid(first), _grid(result)),
        ):
            if one != other:
                raise FileFormatError(
                    f"{path} has one {what} for all bands; those of {first.name!r} and {result.name!r} differ: write "
                    "each band to a file of its own (A.tif::1)"
                )


def groups_written(results: Sequence[Result]) -> Collection[str]:
    """The outermost one, whose attributes are items of the whole file."""
    return ("",)


def notes(path: str, results: Sequence[Result]) -> tuple[str, ...]:
    """Say how the image is compressed, where that is not as A is, and what of A's place it has no tags for."""
    package, first = need("tifffile", "tiff", path), results[0]
    found = tiff_codecs.on_writing(_layout_of(first).compression, package, path)
    if (grid := _grid(first)) is not None and not geotiff.is_written(grid):
        found += (f"{path} has no coordinate system: A's stands in an .aux.xml, as WKT without an EPSG code",)
    return found + _left_out(results)


def _left_out(results: Sequence[Result]) -> tuple[str, ...]:
    """Say which tags of A are not in a difference: those of the first band are, and all that is written of them."""
    said = [layout.said for result in results if isinstance(layout := result.about.layout, Layout)]
    names: dict[str, list[str]] = {}
    for one in said:
        own = [tag_name(tag[0]) for tag in one.tags if tag not in said[0].tags]
        names.setdefault(one.of, []).extend((*one.left_out, *own))
    found = [f"the tags {quoted(dict.fromkeys(own))} of {of} are left out" for of, own in names.items() if own]
    stated = [(one.name, one.about.attributes) for one in results if not isinstance(one.about.layout, Layout)]
    stated += [("/", attributes) for group, attributes in conventions.groups_of(results).items() if not group]
    found += [
        f"the attribute {clipped(name)} of {clipped(owner)} is {lack}, and is left out"
        for owner, attributes in stated
        for name, value in attributes.items()
        if (lack := gdal_metadata.lack_of(value))
    ]
    return tuple(found)


def write(stream: BinaryIO, results: Sequence[Result], metadata: Mapping[str, str] = NO_TEXT) -> None:
    """Write an image tile by tile, with the tiles and georeference of A, and its compression if that is exact."""
    package = need("tifffile", "tiff", "a TIFF")
    first, count = results[0], len(results)
    layout = _layout_of(first)
    tags = [*geotiff.of_difference(layout.tags), *layout.said.tags]
    if first.about.nodata is not None:
        tags.append((NODATA, 2, 0, _shown(first.about.nodata, first.element), True))
    if said := _metadata(results):
        tags.append((METADATA, 2, 0, gdal_metadata.as_tag(said), True))
    *resolution, unit = layout.said.resolution or (None, None)
    if not stream.seekable():
        raise MinuendError("a TIFF is written with its places last, which a pipe does not take; name a file")
    with package.TiffWriter(stream, bigtiff=count * first.nbytes > _CLASSIC) as writer:
        writer.write(
            _tiles(results, layout.tile),
            shape=first.shape if count == 1 else (count, *first.shape),
            dtype=first.element.memory,
            tile=layout.tile,
            compression=tiff_codecs.written(layout.compression, package),
            photometric="miniswhite" if first.about.conventions.get("0") == "white" else "minisblack",
            planarconfig=None if count == 1 else "separate",
            extratags=tags,
            resolution=resolution if layout.said.resolution else None,
            resolutionunit=unit,
            metadata=None,
            software="minuend",
        )


def _metadata(results: Sequence[Result]) -> list[tuple[int, gdal_metadata.Item, str]]:
    """What is said of the file, and of each band: what a TIFF said, or the attributes of another format."""
    found = []
    for k, result in enumerate(results):
        layout, about = result.about.layout, result.about
        said = layout.said if isinstance(layout, Layout) else None
        groups = about.groups.get("", {})
        file = said.file if said else gdal_metadata.of_attributes(groups)
        band = dict(said.band if said else gdal_metadata.of_attributes(about.attributes))
        if about.scale != 1:
            band[gdal_metadata.Item("", "SCALE", "scale")] = repr(about.scale)
        found += [(gdal_metadata.WHOLE, item, text) for item, text in file.items() if not k]
        found += [(k, item, text) for item, text in band.items()]
    return found


def _layout_of(result: Result) -> Layout:
    layout = result.about.layout
    return layout if isinstance(layout, Layout) else Layout(_TILE, 1)


def _grid(result: Result) -> Grid | None:
    return result.about.grid if isinstance(result.about.grid, Grid) else None


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


def _page_of(image: TiffPageSeries, band: int) -> TiffPage:
    """A band's own page."""
    own = image.pages[band] if len(image.pages) > 1 else None  # a page for each band
    return image.keyframe if own is None else own.aspage()


def _stated_nodata(image: TiffPageSeries, band: int, around: Sidecars) -> object:
    """The nodata value that a band states, as text; ``None`` where it states none."""
    own = around.bands.get(band, {})
    return own["nodata"] if "nodata" in own else _value(_page_of(image, band), NODATA)


def _about(
    image: TiffPageSeries, band: int, element: ElementType, around: Sidecars, path: str, nodata: object
) -> About:
    """What the tags of a band's own page say of it, and files beside the image."""
    page = _page_of(image, band)
    own = geotiff.grid_of(functools.partial(_value, page), path)
    grid = around.placed(own)
    stated = {name: value for name, value in around.bands.get(band, {}).items() if name != "nodata"}
    said = gdal_metadata.of_tag(str(_value(page, METADATA) or ""))
    of_band = said.get(0 if len(image.pages) > 1 else band, {})
    packing = {name: as_number(text) for name, text in gdal_metadata.packing(of_band).items()}
    scale, offset = scale_and_offset(packing | stated, f"{path} band {band + 1}")
    of_file, of_band = (
        gdal_metadata.of_difference({**one, **around.said.get(number, {})})
        for number, one in ((gdal_metadata.WHOLE, said.get(gdal_metadata.WHOLE, {})), (band, of_band))
    )
    layout = _layout(page, description_of(page, image.keyframe, of_file, of_band, around.unread, path))
    if grid is not None and grid != own:
        layout = replace(layout, tags=geotiff.tags_of(grid, own, layout.tags))
    if grid is not None and (scale, offset) == grid.height:  # GDAL may state those of heights twice
        scale, offset = 1.0, 0.0
    return About(
        None if nodata is None else _number(nodata, element, path),
        grid,
        MappingProxyType(gdal_metadata.as_attributes(of_file | of_band)),
        layout=layout,
        placeable=True,
        scale=scale,
        offset=offset,
        conventions=MappingProxyType(_conventions(page)),
        notes=(
            *tiff_codecs.on_reading(int(page.compression), path),
            *_coloured(page, path),
            *_transparent(page, path),
            *_masked(image, around, path),
        ),
    )


def _conventions(page: TiffPage) -> dict[str, str]:
    """Which grey 0 is, and which corner of the picture the first pixel is (TIFF 6.0, Orientation)."""
    number, grey = _value(page, ORIENTATION), _value(page, PHOTOMETRIC)
    corner = number if isinstance(number, int) else _TOP_LEFT
    return {"0": "white" if grey == WHITE else "black", "Orientation": str(int(corner))}


def _coloured(page: TiffPage, path: str) -> tuple[str, ...]:
    """What a report says of a file whose numbers are places in a palette."""
    if page.photometric != _PALETTE:
        return ()
    return (f"{path} has a palette, which the difference has not: its numbers are subtracted, not its colours",)


def _transparent(page: TiffPage, path: str) -> tuple[str, ...]:
    """What a report says of a file one of whose bands is alpha."""
    return (alpha_note(path),) if {int(one) for one in page.extrasamples} & _ALPHA else ()


def _masked(image: TiffPageSeries, around: Sidecars, path: str) -> tuple[str, ...]:
    """What a report says of a file that masks pixels out, which nodata values alone do here."""
    if not around.mask and not any(_kind(page) & _MASK for page in image.keyframe.parent.pages[1:_LOOKED_AT]):
        return ()
    return (f"{path} has a mask of pixels without data, which is not read: the difference has numbers there too",)


def _layout(page: TiffPage, said: Description) -> Layout:
    tile = (page.tilelength, page.tilewidth) if page.is_tiled else _TILE
    found = (page.tags.get(code) for code in geotiff.TAGS)
    tags = tuple((tag.code, int(tag.dtype), tag.count, tag.value, True) for tag in found if tag is not None)
    return Layout(tile, int(page.compression), tags, said)


def _value(page: TiffPage, code: int) -> object:
    tag = page.tags.get(code)
    return None if tag is None else tag.value


def _number(text: object, element: ElementType, path: str) -> int | float | None:
    """Return a nodata value as GDAL reads it: one that no element can have marks none."""
    number = _exact(text, path)
    return number if as_element(number, element) is not None else None


def _exact(text: object, path: str) -> int | float:
    try:
        return exact(str(text).strip("\0 "))
    except ValueError:
        raise FileFormatError(f"{path} states the nodata value {text!r}; expected a number") from None


def _shown(number: int | float, element: ElementType) -> str:
    """Return a nodata value as text: of floats no more digits than they have, but of float16, which GDAL widens."""
    if element.name == "float16" and (own := nearest(number, element)) != number:
        number = own
    return repr(number if element.is_integer or abs(number) < _WHOLE else float(number))


def _warned(records: Iterable[LogRecord], path: str) -> tuple[str, ...]:
    """The package's warnings as notes, but for those of nodata values, which it has no say in."""
    messages = map(message_of, records)
    return tuple(f"{path}: {text}" for text in messages if "GDAL_NODATA" not in text)
