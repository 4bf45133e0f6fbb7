"""GeoTIFFs beside rasterio, which is GDAL: written by it, subtracted here, read back by it.

GDAL says of each file what its pixels, its nodata value and its place are. Two files are of one place where GDAL reads
one place of both. What has to be refused is decided by what rasterio was told to write, and by what it reads.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from differential.refusals import Reason, Why, unique
from differential.separate import Crashed, separately
from differential.subtracting import (
    BLOCKS,
    POLICIES,
    STYLES,
    Array,
    Expected,
    Operand,
    difference,
    drawn,
    elements,
    fits,
    number,
    ours,
    same,
    same_elements,
    same_report,
    settled,
    weighted,
)
from differential.surface import Difference, Surface

SEPARATE = ("rasterio", "rasterio.shutil", "rasterio.control", "rasterio.rpc", "rasterio.crs")
"""What :func:`separately` imports beforehand."""

DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64")
LACKED = ("complex64", "complex128", "complex_int16")
EXACT = ("", "lzw", "deflate", "zstd", "lzma", "packbits", "lerc", "lerc_deflate", "lerc_zstd")
BITS_OF = {"uint8": (1, 2, 3, 4, 5, 6, 7), "uint16": (9, 12, 15), "uint32": (17, 24, 31), "float32": (16, 24)}
"""Types whose pixels GDAL stores in fewer bits."""
FAX = ("ccittrle", "ccittfax3", "ccittfax4")
"""Of images of one bit, which are refused."""
LOSSY = ("jpeg", "webp", "webp lossless", "lerc 0.5")
"""Without JPEG of colours whose samples are fewer: decoders interpolate them in their own ways."""

NODATA = ("", "0", "255", "-9999", "nan", "65535", "3.4028234663852886e+38", "-3.4028234663852886e+38", "0.1", "1e300",
          "-9223372036854775808", "9223372036854775807", "18446744073709551615", "9007199254740993", "inf", "-inf",
          "128", "7")  # fmt: skip
SMALL = ("", "0", "255", "-9999", "7", "1000000000000000")
"""For 64 bits: rasterio states a nodata value as a float, and GDAL reads 1.8e+19 as 1."""

CRS = ("", "EPSG:32633", "EPSG:4326", "EPSG:3857", "EPSG:2263", "EPSG:32633+5773", "EPSG:4326+5773", "EPSG:4979",
       "EPSG:2193", "EPSG:3035", "ESRI:102008", "+proj=laea +lat_0=10 +lon_0=20 +ellps=bessel",
       "+proj=laea +lat_0=10 +lon_0=20 +ellps=WGS84", "EPSG:31466", "EPSG:7789", "EPSG:4258", "EPSG:27700+5701",
       "EPSG:6349", "+proj=utm +zone=33 +datum=WGS84 +units=us-ft", "LOCAL")  # fmt: skip
TRANSFORMS = ("none", "north", "rotated", "sheared", "south", "degrees", "fine", "flipped")
MOVES = ("none", "pixel", "half", "rounding", "a hundredth", "other crs", "no crs", "no transform", "none of all",
         "raster type", "same place by type")  # fmt: skip
PLACES = ("transform", "gcps", "rpcs", "gcps and rpcs", "rpcs and transform")
SCALES = ((1.0, 0.0), (0.1, 0.0), (0.1, 100.0), (2.0, -5.0), (1e-300, 0.0), (1.0, 3.0))


@dataclass(frozen=True)
class Case:
    """Two GeoTIFFs; fields that end in ``_b`` are of the second."""

    seed: int = 0
    dtype: str = "uint8"
    dtype_b: str = ""
    rows: int = 5
    columns: int = 7
    bands: int = 1
    joined: str = "same"
    band: int = 0
    band_b: int = 0
    style: str = "small"
    style_b: str = "small"
    overflow: str = "wrap"
    block: int = 0
    given: str = ""
    tile: tuple[int, int] = (0, 0)
    tile_b: tuple[int, int] = (0, 0)
    compress: str = ""
    compress_b: str = ""
    predictor: int = 1
    predictor_b: int = 1
    interleave: str = "pixel"
    interleave_b: str = "pixel"
    big: bool = False
    big_b: bool = False
    swapped: bool = False
    swapped_b: bool = False
    sparse: bool = False
    sparse_b: bool = False
    nbits: int = 0
    photometric: str = ""
    white_too: bool = True
    alpha: bool = False
    palette: bool = False
    mask: str = ""
    mask_b: str = ""
    overviews: str = ""
    cog: bool = False
    nodata: str = ""
    nodata_b: str = ""
    profile: str = "GDALGeoTIFF"
    profile_b: str = "GDALGeoTIFF"
    version: str = "AUTO"
    flavor: str = "STANDARD"
    world: bool = False
    crs: str = ""
    place: str = "transform"
    transform: str = "none"
    point: bool = False
    move: str = "none"
    scale: tuple[float, float] = (1.0, 0.0)
    scale_b: tuple[float, float] = (1.0, 0.0)
    uneven: bool = False
    aside: tuple[str, ...] = ()
    aside_b: tuple[str, ...] = ()
    tags: bool = False
    unit: str = ""
    unit_b: str = ""


def draw(source: random.Random) -> Case:
    """Draw a case."""
    dtype = source.choice(DTYPES) if source.random() < 0.97 else source.choice(LACKED)
    known = (
        SMALL if dtype == "int64" else tuple(one for one in SMALL if one != "-9999") if dtype == "uint64" else NODATA
    )
    if dtype == "float32":
        known = tuple(one for one in NODATA if one != "1e300")
    nodata = source.choice(known) if source.random() < 0.4 else ""
    scale = source.choice(SCALES) if source.random() < 0.15 else (1.0, 0.0)
    crs = source.choice(CRS)
    lossy = 0.25 if dtype == "uint8" else 0.05
    compress, compress_b = (
        (source.choice(LOSSY) if source.random() < lossy else source.choice(EXACT)) for _ in range(2)
    )
    interleave = source.choice(("pixel", "band"))
    nbits = source.choice(BITS_OF[dtype]) if dtype in BITS_OF and source.random() < 0.08 else 0
    if nbits == 1 and source.random() < 0.5:
        compress, compress_b = source.choice(FAX), source.choice(FAX)
    cog = source.random() < 0.06  # a copy, which has other GeoKeys for WKT; GDAL reads no heights of GeoTIFF 1.0
    upright = _has_heights(crs)
    profile = weighted(source, {"GDALGeoTIFF": 10, "GeoTIFF": 1, "BASELINE": 1})
    unit = source.choice(("", "m", "K"))
    aside = tuple(source.choice(known) for _ in range(source.choice((1, 2, 3)))) if source.random() < 0.06 else ()
    if source.random() < 0.5:
        aside = aside[:1] * 5
    return Case(
        seed=source.randrange(1 << 16),
        dtype=dtype,
        dtype_b=source.choice(DTYPES) if source.random() < 0.02 else "",
        rows=source.choice((1, 2, 5, 16, 33, 70)),
        columns=source.choice((1, 2, 7, 16, 40, 129)),
        bands=weighted(source, {1: 5, 2: 2, 3: 3, 4: 3, 5: 1}),
        joined=weighted(source, {"same": 20, "one pixel": 1, "row": 1, "other size": 1}),
        tile=tile(source),
        tile_b=tile(source),
        compress=compress,
        compress_b=compress_b,
        interleave=interleave,
        interleave_b=source.choice(("pixel", "band")),
        nbits=nbits,
        photometric=weighted(source, {"": 12, "rgb": 2, "miniswhite": 1}),
        white_too=source.random() < 0.8,
        alpha=source.random() < 0.1,
        palette=source.random() < 0.04,
        mask=weighted(source, {"": 12, "internal": 1, "beside": 1}),
        mask_b=weighted(source, {"": 12, "internal": 1, "beside": 1}),
        overviews=weighted(source, {"": 8, "internal": 1, "beside": 1}),
        cog=cog,
        nodata=nodata,
        nodata_b=nodata if source.random() < 0.6 else source.choice(known),
        given=source.choice(known) if source.random() < 0.06 else "",
        crs=crs,
        place=weighted(source, {"transform": 12, "gcps": 2, "rpcs": 1, "gcps and rpcs": 1, "rpcs and transform": 1}),
        transform=source.choice(TRANSFORMS),
        move=weighted(source, {"none": 50} | dict.fromkeys(MOVES[1:], 1)),
        scale=scale,
        scale_b=scale if source.random() < 0.95 else source.choice(SCALES),
        aside=aside,
        aside_b=aside if source.random() < 0.7 else (),
        unit=unit,
        unit_b=unit if source.random() < 0.9 else source.choice(("", "ft")),
        world=source.random() < 0.05,
        profile=profile,
        profile_b=profile if source.random() < 0.95 else source.choice(("GDALGeoTIFF", "GeoTIFF", "BASELINE")),
        version=source.choice(("AUTO", "1.0", "1.1") if not cog and not upright else ("AUTO", "1.1")),
        flavor="STANDARD" if cog else source.choice(("STANDARD", "STANDARD", "ESRI_PE")),
        swapped=source.random() < (0.05 if "lerc" in compress else 0.33),
        swapped_b=source.random() < (0.05 if "lerc" in compress_b else 0.33),
        **drawn(
            source,
            style=STYLES,
            style_b=STYLES,
            overflow=POLICIES,
            block=BLOCKS,
            band=(0, 0, 1, 2),
            band_b=(0, 0, 1, 3),
            predictor=(1, 1, 2, 3),
            predictor_b=(1, 1, 2, 3),
            big=(False, False, True),
            big_b=(False, False, True),
            sparse=(False, False, True),
            sparse_b=(False, False, True),
            point=(False, False, True),
            tags=(False, True),
            uneven=(False, False, False, True),
        ),
    )


def tile(source: random.Random) -> tuple[int, int]:
    """Rows and columns of a tile; a 0 for columns: strips of so many rows, or of as many as GDAL chooses."""
    return source.choice(((0, 0), (1, 0), (3, 0), (16, 16), (16, 48), (64, 32), (256, 256)))


def compare(case: Case, folder: Path) -> str:
    """Write both files by rasterio, subtract them, and read the difference by rasterio."""
    import rasterio

    with warnings.catch_warnings(), rasterio.Env(GDAL_PAM_ENABLED=True, CPL_LOG="/dev/null"):
        warnings.simplefilter("ignore")
        return _compare(case, folder)


def _compare(case: Case, folder: Path) -> str:
    one, other, out = (folder / f"{stem}.tif" for stem in "abc")
    try:
        separately(_written, case, one, other)
    except (Unwritable, Crashed) as error:
        return f"not written: {error}"
    beside(one, case.aside)
    beside(other, case.aside_b)
    a, b = read(one), read(other)
    names = [str(one), str(other)]
    if case.band:
        bands = [min(band, file.count) for band, file in ((case.band, a), (case.band_b or case.band, b))]
        names = [f"{name}::{band}" for name, band in zip(names, bands, strict=True)]
        a, b = a.only(bands[0]), b.only(bands[1])
    given = number(case.given)
    refused = unique(refusal(case, a, b, given))
    found: list[Expected] = []
    if not any(one.reason in NOT_COMPUTED for one in refused):
        found = [of_band(a, b, k, case.overflow, given) for k in range(a.count)]
        refused = unique([*refused, *(one for band in found for one in band.refused), *of_one_nodata(found)])
    came = ours(names, str(out), overflow=case.overflow, nodata=given, block=case.block)
    if a.described != b.described:  # a system in WKT is not compared with GeoKeys
        refused = tuple(one for one in refused if one.reason not in (Reason.SYSTEM, Reason.NO_PLACE))
        if isinstance(came, Exception):
            refused += (Reason.SYSTEM(), Reason.NO_PLACE())
    if (what := settled(came, refused, out)) is not None:
        return what
    c = read(out)
    same("bands", c.count, len(found))
    for k, (told, expected) in enumerate(zip(came.tensors, found, strict=True)):
        same_elements(f"band {k + 1}", c.pixels[k], expected.array)
        same_report(told, expected)
        same(f"nodata of band {k + 1}", c.nodata[k], gdal_number(expected.nodata, c.pixels[k].dtype))
        same(f"scale of band {k + 1}", c.scales[k], a.scales[k])
        same(f"offset of band {k + 1}", c.offsets[k], 0.0)
    own = a if a.placed or not b.placed else b
    if own.pixels.shape[1:] == c.pixels.shape[1:]:
        lost = any("has no coordinate system" in note for note in came.notes)
        same("a system that no tag holds", lost and not own.described, False)
        same_place(c, replace(own, crs=None, gcps_crs=None) if lost else own)
        if own is a and not lost:  # which may state the unit of heights
            same("units and descriptions", c.said, a.said)
            same("owner", c.owner, a.owner)
    if a.pixels.shape[1:] == c.pixels.shape[1:] or not b.placed:
        same("tiles", c.tile, a.tile or (256, 256))
        kept = a.compression if a.compression in KEPT else "adobe_deflate"
        same("compression", c.compression, kept)
    masked = [str(path) for path, file in ((one, a), (other, b)) if file.masked]
    said = [note.partition(" has a mask of pixels ")[0] for note in came.notes if " has a mask of pixels " in note]
    same("masks that are reported", sorted(said), sorted(masked))
    return "equal"


def _written(case: Case, one: Path, other: Path) -> None:
    """Write both files, in a separate process: GDAL ends it where LERC makes a block longer than it expects."""
    import rasterio

    with warnings.catch_warnings(), rasterio.Env(GDAL_PAM_ENABLED=True, CPL_LOG="/dev/null"):
        warnings.simplefilter("ignore")
        write(one, case, first(case))
        write(other, case, second(case))


KEPT = ("none", "lzw", "adobe_deflate", "zstd", "lzma", "packbits")


# ---- writing ------------------------------------------------------------------------------------------------------


class Unwritable(Exception):
    """GDAL does not write such a file."""


@dataclass(frozen=True)
class Side:
    """What one of the two files is written with."""

    k: int
    dtype: str
    shape: tuple[int, int, int]
    style: str
    tile: tuple[int, int]
    compress: str
    predictor: int
    interleave: str
    big: bool
    swapped: bool
    sparse: bool
    mask: str
    nodata: str
    profile: str
    scale: tuple[float, float]


def first(case: Case) -> Side:
    """A."""
    return Side(1, case.dtype, (case.bands, case.rows, case.columns), case.style, case.tile, case.compress,
                case.predictor, case.interleave, case.big, case.swapped, case.sparse, case.mask, case.nodata,
                case.profile, case.scale)  # fmt: skip


def second(case: Case) -> Side:
    """B."""
    shape = {
        "same": (case.rows, case.columns),
        "one pixel": (1, 1),
        "row": (1, case.columns),
        "other size": (case.rows, case.columns + 1),
    }[case.joined]
    return Side(2, case.dtype_b or case.dtype, (case.bands, *shape), case.style_b, case.tile_b, case.compress_b,
                case.predictor_b, case.interleave_b, case.big_b, case.swapped_b, case.sparse_b, case.mask_b,
                case.nodata_b, case.profile_b, case.scale_b)  # fmt: skip


def write(path: Path, case: Case, side: Side) -> None:
    """Write a file by rasterio.

    Raises:
        Unwritable: GDAL refuses the options together.
    """
    import rasterio
    from rasterio.errors import RasterioError, RasterioIOError
    from rasterio.shutil import copy

    options = creation(case, side)
    nodata = number(side.nodata)
    pixels = drawn_pixels(case, side, nodata)
    made = path.with_name(f"{path.stem}-made.tif") if case.cog and side.k == 1 else path
    try:
        with (
            rasterio.Env(GDAL_TIFF_INTERNAL_MASK=side.mask == "internal"),
            rasterio.open(made, "w", driver="GTiff", **options) as file,
        ):
            if nodata is not None:
                file.nodata = nodata
            place(file, case, side)
            described(file, case, side)
            if side.sparse:
                half = max(1, side.shape[1] // 2)
                file.write(pixels[:, :half], window=((0, half), (0, side.shape[2])))
            else:
                file.write(pixels)
            if side.mask:
                file.write_mask(np.random.default_rng(case.seed).integers(0, 2, side.shape[1:]).astype(bool))
        if case.overviews:
            beside = "YES" if case.overviews == "beside" else "NO"
            with rasterio.Env(TIFF_USE_OVR=beside), rasterio.open(made, "r+") as file:
                file.build_overviews([2], rasterio.enums.Resampling.nearest)
        if made != path:
            copy(made, path, driver="COG", compress=side.compress.upper() if side.compress in EXACT[1:5] else "NONE")
            for old in path.parent.glob(f"{made.name}*"):
                old.unlink()
    except (
        RasterioError,
        RasterioIOError,
        ValueError,
        TypeError,
        OverflowError,
        rasterio._err.CPLE_BaseError,
    ) as error:
        raise Unwritable(type(error).__name__) from None


def beside(path: Path, nodata: tuple[str, ...]) -> None:
    """State nodata values of bands beside a file, which GDAL believes before the tag."""
    aux = path.with_name(f"{path.name}.aux.xml")
    if any(nodata) and not aux.exists():
        bands = "".join(
            f'<PAMRasterBand band="{k + 1}"><NoDataValue>{text}</NoDataValue></PAMRasterBand>'
            for k, text in enumerate(nodata)
            if text
        )
        aux.write_text(f"<PAMDataset>{bands}</PAMDataset>", encoding="utf-8")


def creation(case: Case, side: Side) -> dict[str, Any]:
    """The creation options of a file."""
    count, rows, columns = side.shape
    name, _, extra = (side.compress if is_packed(side) else "").partition(" ")
    found: dict[str, Any] = {"width": columns, "height": rows, "count": count, "dtype": side.dtype}
    found |= {"interleave": side.interleave, "bigtiff": "YES" if side.big else "NO", "profile": side.profile}
    found |= {"endianness": "BIG" if side.swapped else "LITTLE", "geotiff_version": case.version}
    found |= {"geotiff_keys_flavor": case.flavor, "sparse_ok": side.sparse, "tfw": case.world and side.k == 1}
    if side.tile[1]:
        found |= {"tiled": True, "blockysize": side.tile[0], "blockxsize": side.tile[1]}
    elif side.tile[0]:
        found |= {"blockysize": side.tile[0]}
    if name:
        found["compress"] = name.upper()
    if name in ("lzw", "deflate", "zstd") and not case.nbits:
        found["predictor"] = min(side.predictor, 3 if side.dtype[0] == "f" else 2)
    if extra == "lossless":
        found["webp_lossless"] = "YES"
    if extra == "0.5":
        found["max_z_error"] = 0.5
    white = case.photometric == "miniswhite" and (side.k == 1 or case.white_too)
    if white or (case.photometric == "rgb" and side.k == 1 and count >= 3):
        found["photometric"] = case.photometric.upper()
    if case.alpha and side.k == 1:
        found["alpha"] = "YES"
    if case.nbits and not name.startswith("lerc"):  # GDAL 3.10 writes beyond its memory for NBITS=16 of float32 in LERC
        found["nbits"] = case.nbits
    return found


def is_packed(side: Side) -> bool:
    """Whether GDAL has the compression for such pixels."""
    together = side.interleave == "pixel" and side.shape[0] in (3, 4)
    fit = {"webp": together, "jpeg": side.shape[0] < 5}
    if side.compress in FAX:
        return side.dtype == "uint8"
    if side.compress.startswith("lerc") and side.dtype not in DTYPES[:6] + DTYPES[8:]:
        return False
    name = side.compress.removesuffix(" lossless")
    return side.compress not in LOSSY or name == "lerc 0.5" or (side.dtype == "uint8" and fit[name])


def drawn_pixels(case: Case, side: Side, nodata: int | float | None) -> Array:
    """Random pixels; some hold no data. Those of fewer bits fit them."""
    if side.dtype == "complex_int16":
        return elements(case.seed * 3 + side.k, "complex64", side.shape, "small")
    own = np.dtype(side.dtype)
    spice = nodata if nodata is not None and own.kind in "iuf" and fits(own, nodata) else None
    if spice is not None:
        spice = own.type(spice)
    found = elements(case.seed * 3 + side.k, own, side.shape, side.style, spice)
    if case.nbits and own.kind == "u":
        found = found & own.type(min((1 << case.nbits) - 1, np.iinfo(own).max))  # B may be of fewer bits
    return found


TURN = math.radians(30)
MATRICES: dict[str, tuple[float, ...]] = {
    "north": (10, 0, 500000, 0, -10, 4600000),
    "rotated": (10 * math.cos(TURN), -10 * math.sin(TURN), 5e5, 10 * math.sin(TURN), 10 * math.cos(TURN), 4.6e6),
    "sheared": (10, 1.5, 5e5, 0, -10, 4.6e6),
    "south": (10, 0, 500000, 0, 10, 4600000),
    "degrees": (1 / 120, 0, -180, 0, -1 / 120, 90),
    "fine": (1e-7, 0, 12.3456789012345, 0, -1e-7, 45.6789012345678),
    "flipped": (-10, 0, 500000, 0, -10, 4600000),
}
LOCAL = 'LOCAL_CS["ours",UNIT["metre",1]]'


def place(file: Any, case: Case, side: Side) -> None:
    """Say where the pixels lie."""
    from rasterio import crs
    from rasterio.control import GroundControlPoint
    from rasterio.rpc import RPC
    from rasterio.transform import Affine

    moved = case.move if side.k == 2 else "none"
    if moved == "none of all":
        return
    name = {"other crs": "EPSG:32634", "no crs": ""}.get(moved, case.crs)
    system = crs.CRS.from_user_input(LOCAL if name == "LOCAL" else name) if name else None
    if case.cog and system is None:  # the copy would have "LOCAL_CS[unnamed]", which says nothing
        return
    if case.point != (moved in ("raster type", "same place by type")):
        file.update_tags(AREA_OR_POINT="Point")
    matrix = MATRICES.get(case.transform)
    if moved == "no transform":
        matrix = None
    shift = {"pixel": 1.0, "half": 0.5, "rounding": 1e-9, "a hundredth": 0.01}.get(moved, 0.0)
    if "transform" in case.place and matrix is not None:
        file.transform = Affine(*matrix) * Affine.translation(shift, 0)
    if system is not None and "gcps" not in case.place:
        file.crs = system
    if "gcps" in case.place:
        rows, columns = side.shape[1:]
        points = [(0.0, 0.0), (0.5, columns - 0.25), (float(rows), 0.0), (rows / 3, columns / 3)]
        control = [
            GroundControlPoint(row, column, 10 + column / 8 + shift, 50 - row / 9, 100.5 * k, id=str(k), info="x")
            for k, (row, column) in enumerate(points)
        ]
        file.gcps = (control, system or crs.CRS())
    if "rpcs" in case.place:
        file.rpcs = RPC(
            height_off=10.0 + shift,
            height_scale=100.25,
            lat_off=45.1,
            lat_scale=0.5,
            line_off=3000.5,
            line_scale=3001.0,
            line_num_coeff=[k / 7 for k in range(20)],
            line_den_coeff=[1.0, *[k / 9e5 for k in range(19)]],
            long_off=-120.3,
            long_scale=0.25,
            samp_off=1000.0,
            samp_scale=1001.5,
            samp_num_coeff=[k / 3 for k in range(20)],
            samp_den_coeff=[1.0, *[k / 1e7 for k in range(19)]],
            err_bias=1.5,
            err_rand=0.25,
        )


def described(file: Any, case: Case, side: Side) -> None:
    """Scales, colours, and what else a file says of its bands."""
    if side.scale != (1.0, 0.0):
        own = [case.uneven and k % 2 for k in range(file.count)]
        file.scales = [1.0 if plain else side.scale[0] for plain in own]
        file.offsets = [0.0 if plain else side.scale[1] for plain in own]
    if case.tags:
        file.update_tags(OWNER="ours & <theirs>", TIFFTAG_SOFTWARE="theirs")
        file.update_tags(1, DAY="3")
        file.descriptions = [f"band {k + 1}" for k in range(file.count)]
        file.units = [case.unit if side.k == 1 else case.unit_b] * file.count
    if case.palette and file.count == 1 and side.dtype in ("uint8", "uint16"):
        file.write_colormap(1, {k: (k, 255 - k, 0, 255) for k in range(4)})


# ---- reading ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Read:
    """What rasterio reads of a file."""

    pixels: Array
    nodata: tuple[int | float | None, ...]
    scales: tuple[float, ...]
    offsets: tuple[float, ...]
    crs: Any
    transform: tuple[float, ...]
    gcps: tuple[Any, ...]
    gcps_crs: Any
    rpcs: Any
    point: bool
    tile: tuple[int, int] | None
    compression: str
    swapped: bool
    described: bool
    masked: bool
    dtype: str
    palette: bool
    white: bool
    said: tuple[tuple[Any, ...], ...]
    owner: str

    @property
    def count(self) -> int:
        """How many bands there are."""
        return len(self.pixels)

    def only(self, band: int) -> Read:
        """One band of it."""
        k = band - 1
        return replace(
            self,
            pixels=self.pixels[k : k + 1],
            nodata=self.nodata[k : k + 1],
            scales=self.scales[k : k + 1],
            offsets=self.offsets[k : k + 1],
            said=self.said[k : k + 1],
        )

    @property
    def placed(self) -> bool:
        """Whether anything says where pixels lie."""
        identity = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
        return bool(self.crs or self.gcps or self.rpcs or self.transform != identity or self.gcps_crs)


def read(path: Path) -> Read:
    """Read a file by rasterio."""
    import rasterio
    from rasterio.enums import MaskFlags

    with rasterio.open(path) as file:
        points, system = file.gcps
        camera = None if file.rpcs is None else shown(file.rpcs)
        masks = file.mask_flag_enums
        tiles, packed, white = laid(path)
        aux = path.with_name(f"{path.name}.aux.xml")
        beside = aux.read_text("utf-8") if aux.exists() else ""
        pixels = file.read()
        if file.tags(1, ns="IMAGE_STRUCTURE").get("NBITS") == "16" and pixels.dtype == np.float32:
            pixels = pixels.astype(np.float16)  # what the file holds
        return Read(
            pixels=pixels,
            nodata=tuple(file.nodatavals),
            scales=tuple(file.scales),
            offsets=tuple(file.offsets),
            crs=named(file.crs),
            transform=tuple(file.transform)[:6],
            gcps=tuple(sorted((p.row, p.col, p.x, p.y, p.z) for p in points)),
            gcps_crs=named(system),
            rpcs=camera,
            point=file.tags().get("AREA_OR_POINT") == "Point",
            tile=tiles,
            compression=packed,
            swapped=path.read_bytes()[:2] == b"MM",
            described="<SRS" in beside or "Projection=" in beside,
            masked=any(MaskFlags.per_dataset in flags and MaskFlags.alpha not in flags for flags in masks),
            dtype=file.dtypes[0],
            palette="palette" in {str(one.name) for one in file.colorinterp},
            white=white,
            said=tuple(
                (unit, text, file.tags(k + 1).get("DAY"))
                for k, (unit, text) in enumerate(zip(file.units, file.descriptions, strict=True))
            ),
            owner=file.tags().get("OWNER", ""),
        )


def named(system: Any) -> Any:
    """A coordinate system, ``None`` where GDAL made one up, which any local system equals: no tag states it."""
    return None if str(system).startswith('LOCAL_CS["unnamed"') else system


def shown(camera: Any) -> dict[str, tuple[float, ...]]:
    """A camera's numbers to 15 digits, as GDAL shows those of a tag; how good they are does not matter."""
    texts = {name: text.split() for name, text in camera.to_gdal().items() if not name.startswith("ERR")}
    return {name: tuple(float(f"{float(number):.15g}") for number in numbers) for name, numbers in texts.items()}


def laid(path: Path) -> tuple[tuple[int, int] | None, str, bool]:
    """The tiles of a file, ``None`` where it has strips, its compression, and whether 0 is white.

    rasterio takes wide strips for tiles, and does not tell which grey 0 is.
    """
    import tifffile

    with tifffile.TiffFile(path) as file:
        page: Any = file.pages.first
        tile = (page.tilelength, page.tilewidth) if page.is_tiled else None
        return tile, page.compression.name.lower(), page.photometric.name == "MINISWHITE"


def gdal_number(stated: int | float | None, dtype: np.dtype[Any]) -> float | int | None:
    """A nodata value as rasterio shows it."""
    return stated if stated is None or dtype.kind != "f" else float(_as(dtype, stated))


# ---- what is expected ---------------------------------------------------------------------------------------------


def of_band(a: Read, b: Read, k: int, overflow: str, given: int | float | None) -> Expected:
    """The exact difference of a band."""
    x, y = (Operand(file.pixels[k], nodata_of(file, k)) for file in (a, b))
    whole = math.prod(np.broadcast_shapes(x.array.shape, y.array.shape))
    if given is not None:
        x, y = (o if o.nodata is not None or o.array.size == 1 != whole else Operand(o.array, given) for o in (x, y))
    return difference(x, y, overflow)


def nodata_of(file: Read, k: int) -> int | float | None:
    """The nodata value of a band, where its type can have it."""
    stated = file.nodata[k]
    if stated is None or not fits(file.pixels.dtype, stated):
        return None
    return stated


NOT_COMPUTED = {Reason.TYPE, Reason.TYPES, Reason.NAMES, Reason.SHAPES, Reason.NODATA_GIVEN,
                Reason.TWO_NODATA}  # fmt: skip
"""Rules of pairs that have no difference, whatever else is wrong with them."""


def _has_heights(crs: str) -> bool:
    """Whether a reference system has heights."""
    return "+57" in crs or crs == "EPSG:6349"


def refusal(case: Case, a: Read, b: Read, given: int | float | None) -> Iterator[Why]:
    """Why two files are not subtracted."""
    yield from of_file(case, a, b)
    if a.count != b.count:
        most = max(a.count, b.count)
        yield (
            Reason.ONE_AND_SEVERAL(f"holds {most} tensors") if min(a.count, b.count) == 1 else Reason.NAMES(f"'{most}'")
        )
    x, y = a.pixels, b.pixels
    if x.dtype != y.dtype:
        yield Reason.TYPES(f"A is of {x.dtype} and B of {y.dtype};")
    try:
        whole = np.broadcast_shapes(x.shape[1:], y.shape[1:])
    except ValueError:
        yield Reason.SHAPES()
        return
    single = [o[0].size == 1 or o.shape[1:] != whole for o in (x, y)]
    if a.placed == b.placed:
        yield from other_place(a, b, whole)
    elif not (single[1] if a.placed else single[0]):
        yield Reason.NO_PLACE()
        if a.point or b.point:  # a raster type is a GeoKey: one file has keys of no system
            yield Reason.SYSTEM()
    if (a.scales, a.offsets) != (b.scales, b.offsets):
        yield Reason.SCALE()
        if _has_heights(case.crs):  # GDAL writes them into the transform, where there is one
            yield Reason.HEIGHTS()
    if case.tags and case.unit and case.unit_b and case.unit != case.unit_b:
        yield Reason.UNITS(repr(case.unit), repr(case.unit_b))
    if a.white != b.white:
        yield Reason.CONVENTION("0 is ", "white", "black")
    if given is not None:
        yield from contradiction([o for o in (a, b) if not o.pixels[0].size == 1 != math.prod(whole)], given)


def of_file(case: Case, a: Read, b: Read) -> Iterator[Why]:
    """Why a file is not read, whatever the other one is."""
    for file in (a, b):
        if file.pixels.dtype.kind == "c":
            yield Reason.TYPE("complex numbers")
        if file.compression == "lerc" and file.swapped and file.pixels.itemsize > 1:
            yield Reason.BIG_ENDIAN("LERC")
        if case.nbits == 24 and file.swapped and file.pixels.dtype.kind == "u":
            yield Reason.BIG_ENDIAN("24 bits")
    if case.nbits == 1 and any(file.compression != "lerc" for file in (a, b)):  # which has no pixels of one bit
        yield Reason.TYPE("'bool'")


def contradiction(files: Sequence[Read], given: int | float) -> Iterator[Why]:
    """Why a nodata value that is given is refused."""
    for file in files:
        dtype = file.pixels.dtype
        if not fits(dtype, given):
            yield Reason.NODATA_GIVEN(given, dtype)
            continue
        for k in range(file.count):
            stated = nodata_of(file, k)
            if stated is not None and not np.array_equal(
                _as(dtype, stated), _as(dtype, given), equal_nan=dtype.kind == "f"
            ):
                yield Reason.TWO_NODATA(f"--nodata says {given}")


def of_one_nodata(bands: Sequence[Expected]) -> Iterator[Why]:
    """Why bands are not written to one file, which has one nodata value."""
    if len({"none" if one.nodata is None else str(float(one.nodata)) for one in bands if one.array.size}) > 1:
        yield Reason.BANDS_NODATA()


def _as(dtype: np.dtype[Any], number: int | float) -> Any:
    with np.errstate(over="ignore"):
        return dtype.type(number)


def other_place(a: Read, b: Read, shape: tuple[int, ...]) -> Iterator[Why]:
    """Say in what two places differ that GDAL reads."""
    if a.crs != b.crs or a.gcps_crs != b.gcps_crs:
        yield Reason.SYSTEM()
    if a.gcps != b.gcps:
        yield Reason.POINTS()
    if a.rpcs != b.rpcs:
        yield Reason.CAMERA()
    x, y = a.transform, b.transform
    pixel = min(math.hypot(x[0], x[3]), math.hypot(x[1], x[4]))
    corners = [(c, r) for c in (0, shape[1]) for r in (0, shape[0])]
    away = max(
        math.hypot(*((x[k] - y[k]) * c + (x[k + 1] - y[k + 1]) * r + x[k + 2] - y[k + 2] for k in (0, 3)))
        for c, r in corners
    )
    if away > 1e-6 * pixel:
        yield Reason.TRANSFORM()


def same_place(c: Read, own: Read) -> None:
    """Check that a difference lies where its operand does."""
    same("coordinate system", c.crs, own.crs)
    same("ground control points", c.gcps, own.gcps)
    same("their system", c.gcps_crs, own.gcps_crs)
    same("camera", c.rpcs, own.rpcs)
    pixel = min(math.hypot(own.transform[0], own.transform[3]), math.hypot(own.transform[1], own.transform[4]))
    if max(abs(x - y) for x, y in zip(c.transform, own.transform, strict=True)) > 1e-9 * pixel:
        raise Difference(f"transform: ours {c.transform}, theirs {own.transform}")
    same("pixels are points", c.point, own.point)


SURFACES = (
    Surface("geotiff", "GeoTIFFs beside rasterio (GDAL)", ("rasterio", "tifffile", "imagecodecs"), draw, compare, Case),
)
