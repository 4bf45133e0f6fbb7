"""The tags of a TIFF that describe it: those that go from A to the difference, and the names of the others.

Texts, XMP, the resolution and the orientation go as they are, and a profile of grey tones. What other programs read the
structure of a file from (ImageJ, OME, microscopes) would be wrong of the difference, which has another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from minuend.files.formats import geotiff
from minuend.files.formats.gdal_metadata import Items, in_domains

if TYPE_CHECKING:
    from tifffile import TiffPage

NODATA, METADATA, PHOTOMETRIC, ORIENTATION = 42113, 42112, 262, 274
WHITE, BLACK = 0, 1
_TOP_LEFT, _LEFT_BOTTOM = 1, 8
_ASCII, _BYTES, _SHORT, _UNDEFINED = 2, 1, 3, 7
_XMP, _PROFILE, _UNIT = 700, 34675, 296
_RESOLUTION = (282, 283)
_NO_RESOLUTION = (1, 1), (1, 1), 1
_TEXTS = (269, 270, 271, 272, 285, 315, 316, 33432)
"""DocumentName, ImageDescription, Make, Model, PageName, Artist, HostComputer, Copyright."""

_OF_STRUCTURE = {
    254, 255, 256, 257, 258, 259, 262, 263, 264, 265, 266, 273, 274, 277, 278, 279, 280, 281, 284, 288, 289, 292, 293,
    297, 305, 317, 320, 322, 323, 324, 325, 330, 338, 339, 340, 341, 347, 512, 513, 514, 515, 517, 518, 519, 520, 521,
    529, 530, 531, 532, 32997, 32998, 50674,
}  # fmt: skip
"""How pixels are stored, by which program, and which values they have: written anew, or reported where it matters."""

_GENERAL = {"frame", "gdal", "geotiff", "multipage", "subifd", "virtual", "volumetric"}
"""What ``tifffile`` says of a page that no program reads in a way of its own."""


@dataclass(frozen=True, slots=True)
class Description:
    """What a page says beside its pixels and their place.

    Attributes:
        file, band: GDAL's metadata. tags: that go to the difference as they are. resolution: with its unit.
        left_out: the names of the other tags. of: the file.
    """

    file: Items
    band: Items
    tags: tuple[geotiff.Tag, ...] = ()
    resolution: tuple[tuple[int, int], tuple[int, int], int] | None = None
    left_out: tuple[str, ...] = ()
    of: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """What of it other formats lack, in words; pixels of one and no unit are what programs write that know none."""
        has_tags = self.tags or self.left_out or (self.resolution or _NO_RESOLUTION) != _NO_RESOLUTION
        tags = (f"the tags of {self.of}",) if has_tags else ()
        return (*tags, *in_domains([*self.file, *self.band]))


NOTHING = Description(MappingProxyType({}), MappingProxyType({}))


def tag_name(code: int) -> str:
    """What the package calls a tag."""
    import tifffile

    return str(tifffile.TIFF.TAGS.get(code, str(code)))


def description_of(
    page: TiffPage, first: TiffPage, file: Items, band: Items, beside: tuple[str, ...], path: str
) -> Description:
    """Return what a page says.

    Args:
        page: the page. first: the one that says whose image it is. file, band: GDAL's metadata.
        beside: the names of what a file beside says and is not read. path: the file.
    """
    is_plain = page.flags | first.flags <= _GENERAL
    tags: list[geotiff.Tag] = []
    left_out: list[str] = []
    for tag in page.tags:
        if tag.code in (*_OF_STRUCTURE, *geotiff.TAGS, NODATA, METADATA, *_RESOLUTION, _UNIT):
            continue
        value = tag.value
        if tag.code in _TEXTS and isinstance(value, str) and is_plain:
            tags.append((tag.code, _ASCII, 0, value.encode(errors="replace"), True))
        elif tag.code == _XMP and isinstance(value, bytes) and is_plain:
            tags.append((tag.code, _BYTES, len(value), value, True))
        elif tag.code == _PROFILE and isinstance(value, bytes) and _is_grey(page, value):
            tags.append((tag.code, _UNDEFINED, len(value), value, True))
        else:
            left_out.append(tag.name)
    orientation = page.tags.valueof(ORIENTATION)
    if isinstance(orientation, int) and _TOP_LEFT < orientation <= _LEFT_BOTTOM:
        tags.append((ORIENTATION, _SHORT, 1, int(orientation), True))
    once = {tag[0]: tag for tag in reversed(tags)}
    return Description(file, band, tuple(once.values()), _resolution(page), (*dict.fromkeys(left_out), *beside), path)


def _is_grey(page: TiffPage, profile: bytes) -> bool:
    """Whether a page and its profile are of grey tones, as all that is written here."""
    return page.photometric in (WHITE, BLACK) and profile[16:20] == b"GRAY"


def _resolution(page: TiffPage) -> tuple[tuple[int, int], tuple[int, int], int] | None:
    """Pixels per unit in both directions, and the unit; ``None`` where a page does not say both."""
    found = [page.tags.valueof(code) for code in _RESOLUTION]
    unit = page.tags.valueof(_UNIT, 2)
    both = [one for one in found if isinstance(one, tuple) and len(one) == 2 and all(one)]
    if len(both) < 2 or unit not in (1, 2, 3, 4, 5):
        return None
    return both[0], both[1], int(unit)
