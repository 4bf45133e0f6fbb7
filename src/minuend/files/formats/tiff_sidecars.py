"""Files beside a TIFF that say what its tags do not: GDAL's ``.aux.xml``, a world file, and those of cameras.

GDAL believes the ``.aux.xml`` before the tags, and the tags before a world file; so it is here. They are read for files
of this machine alone.
"""

from __future__ import annotations

import math
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from minuend.errors import FileFormatError
from minuend.files.addresses import URL
from minuend.files.formats import gdal_metadata, tiff_cameras
from minuend.files.formats.gdal_metadata import Items
from minuend.files.formats.georeference import GEOGRAPHIC, PROJECTED, TEXT, Grid, Matrix, Stated
from minuend.files.streaming.reading import read_bytes

_LONGEST = 1 << 24
_EPSG = re.compile(r'\A(PROJCS|GEOGCS)\[.*AUTHORITY\["EPSG","(\d+)"\]\]\Z', re.S)
_KINDS = {"PROJCS": PROJECTED, "GEOGCS": GEOGRAPHIC}
_OF_BAND = {"NoDataValue": "nodata", "Scale": "scale_factor", "Offset": "add_offset"}
MASK = ".msk"


@dataclass(frozen=True, slots=True)
class Sidecars:
    """What files beside a TIFF say.

    Attributes:
        paths: those files, which are inputs too. grid: where pixels lie; what it leaves open the tags say.
        world: the transform of a world file. bands: nodata (as text), scale and offset of bands by their number.
        mask: whether a file masks pixels out. camera: of a file that GDAL believes before the tags.
        said: GDAL's metadata by band. unread: the names of what is not read.
    """

    paths: tuple[str, ...] = ()
    grid: Grid = Grid()
    world: Matrix | None = None
    bands: Mapping[int, Mapping[str, float | str]] = field(default_factory=lambda: MappingProxyType({}))
    mask: bool = False
    camera: tiff_cameras.Camera = ()
    said: Mapping[int, Items] = field(default_factory=lambda: MappingProxyType({}))
    unread: tuple[str, ...] = ()

    def placed(self, own: Grid | None) -> Grid | None:
        """Return where pixels lie, by the tags' own answer; ``None`` where nothing says it, as a raster type alone."""
        found = own or Grid()
        if self.grid.points:
            found = replace(found, transform=None, points=self.grid.points)
        if self.grid.transform is not None:
            found = replace(found, transform=self.grid.transform, points=())
        if self.grid.system:
            found = replace(found, system=self.grid.system)
        if self.world is not None and found.transform is None and not found.points:
            found = replace(found, transform=self.world)
        if camera := self.camera or found.rational or self.grid.rational:
            found = replace(found, rational=camera)
        return None if found == Grid() else found


def sidecars_of(path: str) -> Sidecars:
    """Read what lies beside a TIFF.

    Raises:
        FileFormatError: a file that is damaged.
    """
    if URL in path:
        return Sidecars()
    found, mask = Sidecars(), os.path.exists(path + MASK)
    if os.path.isfile(aux := f"{path}.aux.xml"):
        root = _parsed(aux)
        said, unread = gdal_metadata.of_sidecar(root), gdal_metadata.unread(root)
        found = Sidecars((aux,), _grid(root, aux), bands=_bands(root), said=said, unread=unread)
    world = next((name for name in _worlds(path) if os.path.isfile(name)), None)
    if world is not None:
        found = replace(found, paths=(*found.paths, world), world=_world(world))
    if (camera := tiff_cameras.camera_beside(path)) is not None:
        found = replace(found, paths=(*found.paths, camera[0]), camera=camera[1])
    return replace(found, mask=mask)


def left_beside(path: str, *, placed: bool) -> str | None:
    """Return a file that readers would take for one of a TIFF that is written to a path; ``None`` where there is none.

    Args:
        path: of this machine, or an address. placed: whether the TIFF's tags say where its pixels lie.
    """
    names = [f"{path}{end}" for end in (".aux.xml", MASK, ".ovr")] + tiff_cameras.cameras(path)
    names += () if placed else _worlds(path)
    return next((name for name in names if URL not in path and os.path.isfile(name)), None)


def _worlds(path: str) -> Iterator[str]:
    stem, suffix = os.path.splitext(path)
    for name in (f"{suffix[:2]}{suffix[-1:]}w", f"{suffix}w", ".wld"):
        yield from (stem + name, stem + name.lower(), stem + name.upper())


def _world(path: str) -> Matrix:
    """The transform of a world file, whose last two numbers are the middle of the first pixel."""
    try:
        a, d, b, e, x, y = (float(line) for line in read_bytes(path).decode().split())
    except ValueError:
        raise FileFormatError(f"{path} is no world file, which has six numbers; repair it or take it away") from None
    return a, b, x - (a + b) / 2, d, e, y - (d + e) / 2


def _parsed(path: str) -> ET.Element:
    if (size := os.path.getsize(path)) > _LONGEST:
        raise FileFormatError(f"{path} has {size} bytes; expected {_LONGEST} at most")
    raw = read_bytes(path)
    try:
        if b"<!" in raw.replace(b"<!--", b"").replace(b"<![CDATA[", b""):
            raise ValueError("a document type")
        return ET.fromstring(raw)
    except (ET.ParseError, ValueError, LookupError) as error:
        raise FileFormatError(f"{path} is no XML as GDAL writes it ({error}); repair it or take it away") from None


def _grid(root: ET.Element, path: str) -> Grid:
    text = (root.findtext("GeoTransform") or "").strip()
    points = root.find("GCPList")
    wkt = root.findtext("SRS") or (None if points is None else points.get("Projection")) or ""
    try:
        numbers = [float(number) for number in text.split(",")] if text else []
        if numbers and (len(numbers) != 6 or not all(map(math.isfinite, numbers))):
            raise ValueError(f"a GeoTransform of {len(numbers)} numbers")
        ties = tuple(sorted(_tie(point.attrib) for point in points or ()))
    except ValueError as error:
        raise FileFormatError(f"{path} states where pixels lie, and cannot be read ({error}); repair it") from None
    x, a, b, y, d, e = numbers or (0.0,) * 6
    return Grid(
        _system(wkt),
        (a, b, x, d, e, y) if numbers else None,
        points=ties,
        rational=tiff_cameras.of_metadata(root, path),
    )


def _tie(stated: Mapping[str, str]) -> tuple[float, ...]:
    return tuple(float(stated.get(name, "0")) for name in ("Pixel", "Line", "X", "Y", "Z"))


def _system(wkt: str) -> Mapping[int, Stated]:
    """A coordinate system by its code, or where it has none by its text."""
    wkt = wkt.strip()
    coded = _EPSG.match(wkt)
    return MappingProxyType({_KINDS[coded[1]]: int(coded[2])} if coded else {TEXT: wkt} if wkt else {})


def as_number(text: str) -> float | str:
    """Return the number that a text is, or the text, which its reader refuses by name."""
    try:
        return float(text)
    except ValueError:
        return text


def _bands(root: ET.Element) -> Mapping[int, Mapping[str, float | str]]:
    found: dict[int, dict[str, float | str]] = {}
    for band in root.iter("PAMRasterBand"):
        texts = {own: band.findtext(name) for name, own in _OF_BAND.items()}
        said = {own: text if own == "nodata" else as_number(text) for own, text in texts.items() if text is not None}
        if said and (number := band.get("band", "")).isdigit():
            found[int(number) - 1] = said
    return MappingProxyType(found)
