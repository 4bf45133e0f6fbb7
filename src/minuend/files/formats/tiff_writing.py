"""A TIFF that is written: tile by tile, with the tiles, tags and place of A, and its compression if that is exact."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

import numpy as np

from minuend.core.elements import ElementType
from minuend.errors import DTypeError, FileFormatError, MinuendError
from minuend.files.base import NO_TEXT, Result, clipped, is_numpys_own, quoted
from minuend.files.formats import conventions, gdal_metadata, geotiff, tiff_codecs
from minuend.files.formats.georeference import Grid
from minuend.files.formats.missing import nearest
from minuend.files.formats.tiff_layout import TILE, Layout
from minuend.files.formats.tiff_sidecars import left_beside
from minuend.files.formats.tiff_tags import METADATA, NODATA, tag_name
from minuend.files.packages import need
from minuend.files.streaming.pipeline import ahead
from minuend.files.streaming.reading import Array
from minuend.files.streaming.regions import Region, boxes

_WHOLE = 1e16
"""Below it whole numbers are shown as such."""

_LARGE = 1 << 20
"""Bytes that are not left in memory, but written at once."""

_CLASSIC = (1 << 32) - (1 << 25)
"""Bytes that a file can have whose places are 32 bits wide."""


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse what an image cannot hold, bands that differ among it, and a path beside which files tell of another."""
    need("tifffile", "tiff", path)
    first = results[0]
    grid = _grid(first)
    if left := left_beside(path, placed=grid is not None and (grid.transform is not None or bool(grid.points))):
        raise FileFormatError(
            f"{left} lies beside the output {path} and would be read as its own; remove it, or name another output"
        )
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
    if not stream.seekable() or isinstance(getattr(stream, "name", ""), int):  # tifffile wants the name of a file
        raise MinuendError(
            "a TIFF is written with its places last, which a pipe or an open file does not take; name a file"
        )
    compression = tiff_codecs.written(layout.compression, package)
    big = count * _most_bytes(first, layout.tile, compression) > _CLASSIC
    with _whole_errors(stream), package.TiffWriter(stream, bigtiff=big) as writer:
        writer.write(
            _tiles(results, layout.tile),
            shape=first.shape if count == 1 else (count, *first.shape),
            dtype=first.element.memory,
            tile=layout.tile,
            compression=compression,
            photometric="miniswhite" if first.about.conventions.get("0") == "white" else "minisblack",
            planarconfig=None if count == 1 else "separate",
            extratags=tags,
            resolution=resolution if layout.said.resolution else None,
            resolutionunit=unit,
            metadata=None,
            software="minuend",
        )


def _most_bytes(result: Result, tile: tuple[int, int], compression: int) -> int:
    """Return how many bytes a band takes at most: in whole tiles, which LZW makes half as long again at worst."""
    tiles = math.prod(-(-dim // step) for dim, step in zip(result.shape, tile, strict=True))
    nbytes = tiles * math.prod(tile) * result.element.itemsize
    return nbytes if compression == 1 else nbytes * 3 // 2


@contextlib.contextmanager
def _whole_errors(stream: BinaryIO) -> Iterator[None]:
    """Raise what the system says of a disk that is full: of a short write, NumPy says how many elements it wrote."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            stream.write(bytes(_LARGE))
            stream.flush()
        raise


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
    return layout if isinstance(layout, Layout) else Layout(TILE, 1)


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


def _shown(number: int | float, element: ElementType) -> str:
    """Return a nodata value as text: of floats no more digits than they have, but of float16, which GDAL widens."""
    if element.name == "float16" and (own := nearest(number, element)) != number:
        number = own
    return repr(number if element.is_integer or abs(number) < _WHOLE else float(number))
