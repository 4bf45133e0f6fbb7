"""TIFFs beside tifffile: its own, ImageJ's and OME's, with every compression that it writes."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from differential.refusals import Reason, Why, unique
from differential.subtracting import (
    BLOCKS,
    FLOATS,
    INTEGERS,
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
from differential.surface import Surface

NUMBERS = (*INTEGERS, *FLOATS)
LACKED = ("bool", "complex64", "complex128")
EXACT = ("", "zlib", "lzw", "zstd", "lzma", "packbits", "deflate")
IMAGES = ("lerc", "jpeg", "jpeg2000", "png", "webp", "jpegxl", "jpegxr")
FLAVORS = ("plain", "shaped", "imagej", "ome", "pages", "series", "pyramid")
FORMS = ("grey", "rgb", "rgba", "bands", "interleaved", "palette", "stack of rgb", "volume", "two axes")
NODATA = (
    "",
    "",
    "",
    "0",
    "7",
    "-9999",
    "255",
    "nan",
    "0.5",
    "-3.4028234663852886e+38",
    "18446744073709551615",
    "1e300",
)
KEPT = {1: 1, 5: 5, 8: 8, 50000: 50000, 34925: 34925, 32773: 32773, 32946: 32946}


@dataclass(frozen=True)
class Case:
    """Two TIFFs; fields that end in ``_b`` are of the second.

    Attributes:
        by_tile: whether the tiles of separate bands lie in turn (GDAL's INTERLEAVE=TILE of 3.11 and newer).
        one_page: whether the planes of a stack have one page, as those of long ones do.
        images: behind the first one, of the flavour ``series``.
    """

    seed: int = 0
    dtype: str = "uint8"
    rows: int = 5
    columns: int = 7
    bands: int = 3
    form: str = "grey"
    flavor: str = "plain"
    flavor_b: str = "plain"
    compression: str = ""
    compression_b: str = ""
    predictor: bool = False
    predictor_b: bool = False
    tile: tuple[int, ...] = ()
    tile_b: tuple[int, ...] = ()
    strip: int = 0
    strip_b: int = 0
    swapped: bool = False
    swapped_b: bool = False
    big: bool = False
    separate: bool = False
    white: bool = False
    nodata: str = ""
    nodata_b: str = ""
    left_out: bool = False
    by_tile: bool = False
    one_page: bool = False
    style: str = "small"
    style_b: str = "small"
    band: int = 0
    overflow: str = "wrap"
    block: int = 0
    broken: bool = False
    described: bool = False
    images: int = 1


def draw(source: random.Random) -> Case:
    """Draw a case."""
    flavor = weighted(source, {"plain": 8} | dict.fromkeys(FLAVORS[1:], 1))
    nodata = source.choice(NODATA)
    packed = [source.choice(IMAGES) if source.random() < 0.15 else source.choice(EXACT) for _ in "ab"]
    tiles: list[tuple[int, ...]] = [(), (), (16, 16), (16, 48), (64, 32), (16, 16, 16)]
    return Case(
        seed=source.randrange(1 << 16),
        dtype=source.choice(NUMBERS) if source.random() < 0.96 else source.choice(LACKED),
        form=weighted(
            source, {"grey": 8, "rgb": 3, "rgba": 2, "bands": 4, "interleaved": 3} | dict.fromkeys(FORMS[5:], 1)
        ),
        flavor=flavor,
        flavor_b=flavor if source.random() < 0.7 else "plain",
        compression=packed[0],
        compression_b=packed[1],
        nodata=nodata,
        nodata_b=nodata if source.random() < 0.7 else source.choice(NODATA),
        broken=source.random() < 0.02,
        tile=source.choice(tiles),
        tile_b=source.choice(tiles),
        **drawn(
            source,
            rows=(1, 2, 5, 16, 33, 70),
            columns=(1, 2, 7, 16, 40, 129),
            bands=(1, 2, 3, 4, 5),
            predictor=(False, True),
            predictor_b=(False, True),
            strip=(0, 0, 1, 3),
            strip_b=(0, 0, 1, 3),
            swapped=(False, False, True),
            swapped_b=(False, False, True),
            big=(False, False, True),
            separate=(False, True),
            white=(False, False, False, True),
            left_out=(False, False, False, True),
            described=(False, False, True),
            by_tile=(False, False, True),
            one_page=(False, False, False, True),
            images=(1, 1, 2, 3),
            style=STYLES,
            style_b=STYLES,
            band=(0, 0, 0, 1, 2),
            overflow=POLICIES,
            block=BLOCKS,
        ),
    )


def compare(case: Case, folder: Path) -> str:
    """Write both files by tifffile, subtract them, and read the difference by tifffile."""
    import logging

    log = logging.getLogger("tifffile")
    log.propagate = False
    if not log.handlers:
        log.addHandler(logging.NullHandler())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _compare(case, folder)


def _compare(case: Case, folder: Path) -> str:
    one, other, out = (folder / f"{stem}.tif" for stem in "abc")
    try:
        write(one, case, 1)
        write(other, case, 2)
    except Exception as error:  # whatever tifffile or a codec says of options that do not go together
        return f"not written: {type(error).__name__}"
    if case.left_out and not case.nodata:  # of nodata values tifffile and GDAL make other pixels; ours are GDAL's
        leave_out(one)
    if case.by_tile:
        in_turn(one, case.bands if case.form in ("interleaved", "bands") else 3 + (case.form == "rgba"))
    a, b = read(one), read(other)
    refused = unique([*unread(a, case), *unread(b, case)])
    names = [str(one), str(other)]
    x, y = a.bands, b.bands
    if case.band and not refused:
        names = [f"{name}::{min(case.band, len(z))}" for name, z in zip(names, (x, y), strict=True)]
        x, y = ([z[min(case.band, len(z)) - 1]] for z in (x, y))
    if not refused and len(x) != len(y):
        refused += (Reason.NAMES(),)
    if not refused and x[0].dtype != y[0].dtype:
        refused += (Reason.TYPES(f"A is of {x[0].dtype} and B of {y[0].dtype};"),)
    found: list[Expected] = []
    for p, q in zip(x, y, strict=True) if not refused else ():
        try:
            np.broadcast_shapes(p.shape, q.shape)
        except ValueError:
            refused += (Reason.SHAPES(),)
            break
        found.append(difference(Operand(p, held(case.nodata, p)), Operand(q, held(case.nodata_b, q)), case.overflow))
    refused = unique([*refused, *(why for one in found for why in one.refused)])
    if case.broken:
        raw = one.read_bytes()
        one.write_bytes(raw[: case.seed % (len(raw) // (2 if case.flavor in ("pyramid", "series") else 1))])
        others = (Reason.AXES(),) if any(why.reason is Reason.AXES for why in refused) else ()  # OME's text is cut off
        refused += (Reason.DAMAGED(one), *others)
    came = ours(names, str(out), overflow=case.overflow, block=case.block)
    if (what := settled(came, refused, out)) is not None:
        return what
    for told, expected in zip(came.tensors, found, strict=True):
        same_report(told, expected)
    check_output(out, case, a, found)
    check_images(case, (one, other), came.notes)
    if case.described:
        check_described(out, case, came.notes)
    return "equal"


def check_images(case: Case, files: tuple[Path, Path], notes: tuple[str, ...]) -> None:
    """Check that a report says of each file how many images it holds that are not read."""
    for path, flavor in zip(files, (flavor_of(case, 1), flavor_of(case, 2)), strict=True):
        count = case.images if flavor == "series" else 0
        words = {0: [], 1: ["another image"]}.get(count, [f"{count} other images"])
        same(
            f"images of {path.stem}",
            [
                one.split(" holds ")[1].split(",")[0]
                for one in notes
                if one.startswith(f"{path} holds ") and "image" in one
            ],
            words,
        )


def check_described(out: Path, case: Case, notes: tuple[str, ...]) -> None:
    """Check that a text of A is in a difference, and that a report names what is not."""
    import tifffile

    plain = flavor_of(case, 1) not in ("shaped", "imagej", "ome")
    with tifffile.TiffFile(out) as file:
        same("artist", file.pages.first.tags.valueof(315), "ours" if plain else None)
    named = [note for note in notes if note.startswith("the tags ") and note.endswith("a.tif are left out")]
    same("tags that are named", [("'65000'" in note, "'Artist'" in note) for note in named], [(True, not plain)])


def check_output(out: Path, case: Case, a: Read, found: list[Expected]) -> None:
    """Check what tifffile reads of a difference: pixels, tiles, compression, nodata."""
    import tifffile

    with tifffile.TiffFile(out) as file:
        same("images", len(file.series), 1)
        page: Any = file.pages.first
        wanted = np.stack([one.array for one in found]) if len(found) > 1 else found[0].array
        same_elements("pixels", file.asarray().reshape(wanted.shape), wanted)
        same("byte order", file.byteorder, "<")
        same("tiles", (page.tilelength, page.tilewidth), a.tile or (256, 256))
        same("compression", int(page.compression), KEPT.get(a.compression, 8))
        text = page.tags.valueof(42113)
        stated = found[0].nodata
        same(
            "nodata",
            None if text is None else wanted.dtype.type(number(text)),
            None if stated is None else wanted.dtype.type(stated),
        )


# ---- writing and reading ------------------------------------------------------------------------------------------


def write(path: Path, case: Case, k: int) -> None:
    """Write a file by tifffile."""
    import tifffile

    flavor = flavor_of(case, k)
    array, options = pixels(case, k)
    options |= storage(case, k)
    nodata = case.nodata if k == 1 else case.nodata_b
    tags: Any = [(42113, 2, 0, nodata, False)] if nodata else []
    if case.described:
        tags += [(315, 2, 0, "ours", False), (65000, 3, 1, k, False)]
    whole: dict[str, Any] = {"byteorder": ">" if (case.swapped if k == 1 else case.swapped_b) else "<"}
    whole |= {flavor: True} if flavor in ("imagej", "ome") else {"bigtiff": case.big}
    if flavor in ("plain", "pages", "series", "pyramid"):
        options["metadata"] = None
    if case.one_page and flavor in ("shaped", "imagej") and not {"compression", "tile"} & options.keys():
        options["truncate"] = array.dtype != bool  # tifffile does not read its own truncated bits
    smaller = flavor == "pyramid" and min(array.shape) > 1  # of one size they are one image to tifffile
    with tifffile.TiffWriter(path, **whole) as writer:
        for plane in array if flavor == "pages" and array.ndim > 2 else [array]:
            writer.write(plane, **options, extratags=tags, subifds=1 if smaller and case.seed % 2 else None)
        if smaller:
            half = array[..., ::2, :] if options.get("planarconfig") == "contig" else array[..., ::2]
            writer.write(half, subfiletype=1, **options)
        for more in range(case.images if flavor == "series" else 0):
            # of sizes that no drawn image has: tifffile joins those of one size, and so does the package
            writer.write(np.zeros((101 + more, 2), np.uint8), photometric="minisblack", metadata=None)


def flavor_of(case: Case, k: int) -> str:
    """Whose TIFF a file is; ImageJ has three types and no palettes of others."""
    flavor = case.flavor if k == 1 else case.flavor_b
    known = case.dtype in ("uint8", "uint16", "float32") and not case.white and case.form != "palette"
    return flavor if flavor != "imagej" or known else "shaped"


def storage(case: Case, k: int) -> dict[str, Any]:
    """How pixels are stored: compression, tiles or strips."""
    found: dict[str, Any] = {}
    packed, tile, strip = (
        (case.compression, case.tile, case.strip) if k == 1 else (case.compression_b, case.tile_b, case.strip_b)
    )
    if packed and is_packed(case, packed):
        found["compression"] = packed
        known = packed in EXACT and packed != "packbits" and case.dtype not in ("bool", "int64", "uint64", *LACKED)
        if known and (case.predictor if k == 1 else case.predictor_b):
            found["predictor"] = True
        if packed in ("jpegxl", "jpegxr", "webp"):
            found["compressionargs"] = {"level": 100}
    if tile and (len(tile) == 2 or case.form == "volume"):
        found["tile"] = tile
    elif strip:
        found["rowsperstrip"] = strip
    return found


def is_packed(case: Case, packed: str) -> bool:
    """Whether a codec has such pixels."""
    size, kind = np.dtype(case.dtype).itemsize, case.dtype[0]
    colours = case.form in ("grey", "rgb") and not case.separate
    return {
        "lerc": size < 8 and kind in "iu",  # tifffile leaves out the mask of floats; the surface geotiff has them
        "jpeg": case.dtype == "uint8" and (colours or case.form in ("grey", "bands")),
        "webp": case.dtype == "uint8" and case.form == "rgb" and not case.separate,
        "png": case.dtype in ("uint8", "uint16") and colours,
        "jpeg2000": case.dtype in ("uint8", "uint16") and colours,
        "jpegxl": case.dtype in ("uint8", "uint16") and colours,
        "jpegxr": case.dtype in ("uint8", "uint16") and colours,
    }.get(packed, kind != "c" or packed != "lerc")


def pixels(case: Case, k: int) -> tuple[Array, dict[str, Any]]:
    """The pixels of a file, and what says of them what they are."""
    shape, options = shape_of(case)
    style, nodata = (case.style, case.nodata) if k == 1 else (case.style_b, case.nodata_b)
    dtype = np.dtype(case.dtype)
    stated = number(nodata)
    spice = dtype.type(stated) if stated is not None and dtype.kind in "iuf" and fits(dtype, stated) else None
    return elements(case.seed * 3 + k, dtype, shape, style, spice), options


def shape_of(case: Case) -> tuple[tuple[int, ...], dict[str, Any]]:
    """The shape of a file's array, and its photometric interpretation."""
    rows, columns = case.rows, case.columns
    grey = "miniswhite" if case.white else "minisblack"
    samples = {"rgb": 3, "rgba": 4, "stack of rgb": 3}.get(case.form, case.bands)
    planar = "separate" if case.separate else "contig"
    one = (samples, rows, columns) if case.separate else (rows, columns, samples)
    if case.form in ("rgb", "rgba"):
        return one, {"photometric": "rgb", "planarconfig": planar} | (
            {"extrasamples": ["unassalpha"]} if samples == 4 else {}
        )
    if case.form == "interleaved":
        return one, {"photometric": grey, "planarconfig": planar}
    if case.form == "palette":
        size = 1 << (8 * np.dtype(case.dtype).itemsize)
        if case.dtype not in ("uint8", "uint16"):
            return (rows, columns), {"photometric": grey}
        return (rows, columns), {"photometric": "palette", "colormap": np.zeros((3, size), np.uint16)}
    if case.form == "stack of rgb":
        return (case.bands, *one), {"photometric": "rgb", "planarconfig": planar}
    if case.form == "volume":
        return (case.bands, rows, columns), {"photometric": grey, "volumetric": True}
    shape = {"bands": (case.bands, rows, columns), "two axes": (2, case.bands, rows, columns)}
    return shape.get(case.form, (rows, columns)), {"photometric": grey}


def in_turn(path: Path, bands: int) -> None:
    """Have the tiles of a file's separate bands lie in turn: that of the first band, of the second one, and so on."""
    import tifffile

    with tifffile.TiffFile(path, mode="r+") as file:
        page: Any = file.pages.first
        count = len(page.dataoffsets)
        if not page.is_tiled or page.is_contiguous or page.planarconfig != 2 or bands < 2 or count % bands:
            return
        offsets, sizes = page.tags[324].value, page.tags[325].value
        stream, moved = file.filehandle, [0] * count
        for k in range(count):
            at = k % bands * (count // bands) + k // bands
            stream.seek(offsets[at])
            data = stream.read(sizes[at])
            stream.seek(0, 2)
            moved[at] = stream.tell()
            stream.write(data)
        page.tags[324].overwrite(tuple(moved))


def leave_out(path: Path) -> None:
    """Have a file leave out its first tile, as GDAL's sparse files do."""
    import tifffile

    with tifffile.TiffFile(path, mode="r+") as file:
        page: Any = file.pages.first
        if not page.is_tiled or page.is_contiguous or len(page.dataoffsets) < 2:
            return
        for code in (324, 325):
            values = page.tags[code].value
            page.tags[code].overwrite((0, *values[1:]))


@dataclass(frozen=True)
class Read:
    """What tifffile reads of a file."""

    bands: list[Array]
    axes: str
    tile: tuple[int, int] | None
    compression: int
    swapped: bool
    deep: bool


def read(path: Path) -> Read:
    """Read the first image of a file by tifffile."""
    import tifffile

    with tifffile.TiffFile(path) as file:
        image = file.series[0]
        page: Any = file.pages.first
        axes = image.axes
        try:
            array = image.asarray()
        except Exception:  # a damaged file, or options that tifffile writes and does not read
            array = np.zeros((1,) * len(axes), image.dtype)
        tile = (page.tilelength, page.tilewidth) if page.is_tiled else None
        other = [k for k, name in enumerate(axes) if name not in "YX"]
        bands = [array]
        if len(other) == 1:
            bands = list(np.moveaxis(array, other[0], 0))
        elif other:
            bands = [array]
        return Read(
            bands, axes, tile, int(page.compression), file.byteorder == ">", tile is not None and page.tiledepth > 1
        )


def unread(file: Read, case: Case) -> Iterator[Why]:
    """Why a file is not read."""
    if case.dtype in LACKED:
        yield Reason.TYPE()
    if not {*"XY"} <= {*file.axes} or len(file.axes) > 3 or file.axes.count("X") > 1:
        yield Reason.AXES(repr(file.axes))
    elif file.deep and len(file.axes) == 2:
        yield Reason.TILES_OF_PLANES()
    if file.compression == 34887 and file.swapped and file.bands[0].itemsize > 1:
        yield Reason.BIG_ENDIAN("LERC")


def held(text: str, array: Array) -> int | float | None:
    """The nodata value of a file, where its type can have it."""
    stated = number(text)
    return stated if stated is not None and fits(array.dtype, stated) else None


SURFACES = (
    Surface(
        "tiff", "TIFFs beside tifffile: its own, ImageJ's, OME's", ("tifffile", "imagecodecs"), draw, compare, Case
    ),
)
