"""What a TIFF says of a band: its place, nodata, scale, how its numbers are read, and its tags."""

from __future__ import annotations

import contextlib
import functools
import html
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from minuend.core.elements import ElementType
from minuend.errors import FileFormatError
from minuend.files.base import About, alpha_note, quoted
from minuend.files.formats import gdal_metadata, geotiff, tiff_codecs, tiff_imagej, units
from minuend.files.formats.cf_scaling import scale_and_offset
from minuend.files.formats.missing import as_element, exact
from minuend.files.formats.tiff_layout import TILE, Layout
from minuend.files.formats.tiff_sidecars import Sidecars, as_number
from minuend.files.formats.tiff_tags import (
    METADATA,
    NODATA,
    ORIENTATION,
    PHOTOMETRIC,
    WHITE,
    Description,
    description_of,
)

if TYPE_CHECKING:
    from tifffile import TiffFrame, TiffPage, TiffPageSeries

_PALETTE = 3
_TOP_LEFT = 1
_ALPHA = {1, 2}
_MASK = 4
AUXILIARY = 1 | _MASK
"""Of a page: it is an overview, or a mask, of another one."""

_LOOKED_AT = 40
"""Pages at the head of a file among which a mask is looked for: behind the image and its overviews."""


_MOST_NAMED = 256
"""Bands whose names are looked at."""


def kind_of(page: TiffPage | TiffFrame | None) -> int:
    """What a page is to others, as bits: a frame, whose tags are not read, is what its first page is."""
    return int(getattr(page, "subfiletype", 0))


def page_of(image: TiffPageSeries, band: int) -> TiffPage:
    """A band's own page."""
    own = image.pages[band] if len(image.pages) > 1 else None  # a page for each band
    return image.keyframe if own is None else own.aspage()


def stated_nodata(image: TiffPageSeries, band: int, around: Sidecars) -> object:
    """The nodata value that a band states, as text; ``None`` where it states none."""
    own = around.bands.get(band, {})
    return own["nodata"] if "nodata" in own else value_of(page_of(image, band), NODATA)


def about_band(
    image: TiffPageSeries, band: int, element: ElementType, around: Sidecars, path: str, nodata: object
) -> About:
    """What the tags of a band's own page say of it, and files beside the image."""
    page = page_of(image, band)
    own = geotiff.grid_of(functools.partial(value_of, page), path)
    grid = around.placed(own)
    stated = {name: value for name, value in around.bands.get(band, {}).items() if name != "nodata"}
    said = gdal_metadata.of_tag(str(value_of(page, METADATA) or ""))
    of_band = said.get(0 if len(image.pages) > 1 else band, {})
    packing = {name: as_number(text) for name, text in gdal_metadata.packing(of_band).items()}
    calibrated = tiff_imagej.calibration_of(image.keyframe)
    scale, offset = scale_and_offset({**calibrated.line, **packing, **stated}, f"{path} band {band + 1}")
    of_file, of_band = (
        gdal_metadata.of_difference({**one, **around.said.get(number, {})})
        for number, one in ((gdal_metadata.WHOLE, said.get(gdal_metadata.WHOLE, {})), (band, of_band))
    )
    of_band = calibrated.unit | of_band
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
        conventions=MappingProxyType(
            _conventions(page)
            | _sizes(image.keyframe)
            | tiff_imagej.sizes_of(image.keyframe)
            | calibrated.curve
            | _order(_names(image, said, around), band)
        ),
        notes=(
            *tiff_codecs.on_reading(int(page.compression), path),
            *_coloured(page, path),
            *_transparent(page, path),
            *_masked(image, around, path),
            *tiff_imagej.curved(calibrated, path),
        ),
    )


def _conventions(page: TiffPage) -> dict[str, str]:
    """Which grey 0 is, and which corner of the picture the first pixel is (TIFF 6.0, Orientation)."""
    number, grey = value_of(page, ORIENTATION), value_of(page, PHOTOMETRIC)
    corner = number if isinstance(number, int) else _TOP_LEFT
    return {"0": "white" if grey == WHITE else "black", "Orientation": str(int(corner))}


def _sizes(first: TiffPage) -> dict[str, str]:
    """The sizes of a pixel that a microscope's OME-XML states, to the 9 digits that NGFF images are compared by."""
    text = first.parent.ome_metadata if first.parent.is_ome else None
    pixels = re.search(r"<(?:\w+:)?Pixels\b([^<>]*)>", text or "")
    stated = dict(re.findall(r"""\b(PhysicalSize[XYZ](?:Unit)?)\s*=\s*["']([^"']*)["']""", pixels[1] if pixels else ""))
    found = {}
    for axis in "XYZ":
        with contextlib.suppress(KeyError, ValueError):
            size = float(stated[f"PhysicalSize{axis}"])
            unit = html.unescape(stated.get(f"PhysicalSize{axis}Unit", "µm"))
            found[f"the size of a pixel along {axis}"] = f"{size:.9g} {units.canonical(unit)}"
    return found


def _names(image: TiffPageSeries, said: Mapping[int, gdal_metadata.Items], around: Sidecars) -> list[str]:
    """Return what all bands are called: by GDAL, or as the channels of OME-XML."""
    first = image.keyframe
    if math.prod(image.shape) > _MOST_NAMED * first.imagelength * first.imagewidth:
        return []
    if first.parent.is_ome and "C" in image.axes and len(image.axes) == 3:
        stated = re.findall(r"<(?:\w+:)?Channel\b([^<>]*)>", str(first.parent.ome_metadata))
        found = [re.search(r"""\bName\s*=\s*["']([^"']*)["']""", one) for one in stated]
        names = [html.unescape(one[1]) if one else "" for one in found]
        return names if len(names) == image.shape[image.axes.index("C")] else []
    count = len(image.pages) if len(image.pages) > 1 else int(first.samplesperpixel)
    bands = [{**said.get(k, {}), **around.said.get(k, {})} for k in range(count)]
    return [next((text for item, text in one.items() if item.role == "description"), "") for one in bands]


def _order(names: list[str], band: int) -> dict[str, str]:
    """Return which of some bands a band is, where each has a name of its own: others have them in another order."""
    if len(names) < 2 or not all(names) or len({*names}) < len(names):
        return {}
    return {f"band {band + 1} of {quoted(sorted(names))}": repr(names[band])}


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
    if not around.mask and not any(kind_of(page) & _MASK for page in image.keyframe.parent.pages[1:_LOOKED_AT]):
        return ()
    return (f"{path} has a mask of pixels without data, which is not read: the difference has numbers there too",)


def _layout(page: TiffPage, said: Description) -> Layout:
    tile = (page.tilelength, page.tilewidth) if page.is_tiled else TILE
    found = (page.tags.get(code) for code in geotiff.TAGS)
    tags = tuple((tag.code, int(tag.dtype), tag.count, tag.value, True) for tag in found if tag is not None)
    return Layout(tile, int(page.compression), tags, said)


def value_of(page: TiffPage, code: int) -> object:
    tag = page.tags.get(code)
    return None if tag is None else tag.value


def _number(text: object, element: ElementType, path: str) -> int | float | None:
    """Return a nodata value as GDAL reads it: one that no element can have marks none."""
    number = exact_number(text, path)
    return number if as_element(number, element) is not None else None


def exact_number(text: object, path: str) -> int | float:
    try:
        return exact(str(text).strip("\0 "))
    except ValueError:
        raise FileFormatError(f"{path} states the nodata value {text!r}; expected a number") from None
