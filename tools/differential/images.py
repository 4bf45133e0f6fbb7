"""PNGs and TIFFs beside Pillow: every mode that it writes, and what other programs write of PNG, through it read back.

Pillow writes no PNG of 16 bits and several channels and none that is interlaced: those are put together here, byte by
byte, and Pillow, or imagecodecs where Pillow rounds to 8 bits, says what they hold.
"""

from __future__ import annotations

import random
import struct
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from differential.refusals import Reason, Why
from differential.subtracting import (
    BLOCKS,
    POLICIES,
    STYLES,
    Array,
    Operand,
    difference,
    drawn,
    elements,
    number,
    ours,
    same,
    same_elements,
    same_report,
    settled,
    weighted,
)
from differential.surface import Surface

PNG_MODES = (
    "1",
    "L",
    "LA",
    "I;16",
    "RGB",
    "RGBA",
    "P",
    "P4",
    "raw 16 RGB",
    "raw 16 RGBA",
    "raw 16 LA",
    "I;16B",
    "P1",
    "P2",
    "raw 1 L",
    "raw 2 L",
    "raw 4 L",
    "raw 8 L",
    "raw 8 LA",
    "raw 8 RGB",
    "raw 8 RGBA",
    "raw 16 L",
    "raw 2 P",
    "raw 8 P",
)
NUMBERS = {
    "L": 1,
    "LA": 2,
    "RGB": 3,
    "RGBA": 4,
    "I;16": 1,
    "I;16B": 1,
    "raw 16 RGB": 3,
    "raw 16 RGBA": 4,
    "raw 16 LA": 2,
    "raw 16 L": 1,
    "raw 8 L": 1,
    "raw 8 LA": 2,
    "raw 8 RGB": 3,
    "raw 8 RGBA": 4,
}
"""Modes of numbers, and their channels."""

TIFF_MODES = (
    "1", "L", "LA", "P", "PA", "RGB", "RGBX", "RGBA", "CMYK", "YCbCr", "LAB", "I", "F", "I;16", "I;16B", "I;16L",
)  # fmt: skip
PACKED = (None, "tiff_lzw", "tiff_adobe_deflate", "packbits", "tiff_deflate", "zstd", "lzma")


@dataclass(frozen=True)
class Case:
    """Two images; fields that end in ``_b`` are of the second."""

    seed: int = 0
    suffix: str = "png"
    mode: str = "L"
    mode_b: str = ""
    rows: int = 3
    columns: int = 4
    joined: str = "same"
    style: str = "small"
    style_b: str = "small"
    level: int = 6
    filter: int = 0
    interlaced: bool = False
    pieces: int = 1
    clear: bool = False
    chunks: bool = False
    frames: int = 1
    compression: int = 0
    compression_b: int = 0
    swapped: bool = False
    out: str = ""
    nodata: str = ""
    overflow: str = "wrap"
    block: int = 0
    broken: str = ""


def draw(source: random.Random) -> Case:
    """Draw a case."""
    suffix = source.choice(("png", "png", "tif"))
    modes = PNG_MODES if suffix == "png" else TIFF_MODES
    return Case(
        seed=source.randrange(1 << 16),
        suffix=suffix,
        mode=source.choice(
            modes if source.random() < 0.2 else [one for one in modes if one in NUMBERS or suffix == "tif"]
        ),
        mode_b=source.choice(modes) if source.random() < 0.1 else "",
        rows=source.choice((1, 2, 3, 8, 33)),
        columns=source.choice((1, 2, 4, 9, 40)),
        joined=weighted(source, {"same": 20, "one": 1, "row": 1, "other": 1}),
        clear=source.random() < 0.04,
        frames=2 if source.random() < 0.05 else 1,
        out=source.choice(("", "", "", "npy", "tif")),
        nodata=weighted(source, {"": 8, "0": 1, "255": 1, "300": 0.3}),
        broken=weighted(source, {"": 30, "cut": 1, "bit": 1}),
        **drawn(
            source,
            style=STYLES,
            style_b=STYLES,
            level=(0, 1, 6, 9),
            filter=(0, 1, 2, 3, 4),
            interlaced=(False, False, True),
            pieces=(1, 2, 5),
            chunks=(False, True),
            compression=range(len(PACKED)),
            compression_b=range(len(PACKED)),
            swapped=(False, True),
            overflow=POLICIES,
            block=BLOCKS,
        ),
    )


def compare(case: Case, folder: Path) -> str:
    """Write both images, subtract them, and read the difference by Pillow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _compare(case, folder)


def _compare(case: Case, folder: Path) -> str:
    one, other = folder / f"a.{case.suffix}", folder / f"b.{case.suffix}"
    out = folder / f"c.{case.out or case.suffix}"
    mode_b = case.mode_b or case.mode
    a = write(one, case, case.mode, (case.rows, case.columns), 1)
    b = write(other, case, mode_b, shape_b(case), 2)
    refused = (*damage(one, case), *unread(case, case.mode), *unread(case, mode_b))
    nodata = number(case.nodata)
    x, y = ([Operand(band, None) for band in image] for image in (a, b))
    if not any(one.reason in NO_NUMBERS for one in refused):
        refused += refusal(case, a, b, nodata)
    found = []
    for p, q in zip(x, y, strict=True) if {one.reason for one in refused} <= LATE else ():
        whole = np.broadcast_shapes(p.array.shape, q.array.shape)
        first, second = (Operand(o.array, None if o.array.size == 1 != np.prod(whole) else nodata) for o in (p, q))
        found.append(difference(first, second, case.overflow))
    refused += tuple(why for one in found for why in one.refused)
    if found and case.suffix == "png":
        refused += unwritten(case, found[0].array)
    if case.suffix == "tif" and case.out == "npy" and len(found) > 1:
        refused += (Reason.SEVERAL_FOR_ONE(),)
    came = ours((str(one), str(other)), str(out), overflow=case.overflow, nodata=nodata, block=case.block)
    if (what := settled(came, refused, out)) is not None:
        return what
    for report, expected in zip(came.tensors, found, strict=True):
        same_report(report, expected)
    wanted = [one.array for one in found]
    same_elements("pixels", read(out), wanted[0] if len(wanted) == 1 else np.stack(wanted))
    if out.suffix == ".png":
        check_mode(out, wanted[0])
        if case.chunks:
            check_chunks(out, came.notes)
    return "equal"


def check_chunks(path: Path, notes: tuple[str, ...]) -> None:
    """Check that A's text is in a difference, and that a report names what is not."""
    from PIL import Image

    with Image.open(path) as image:
        image.load()
        same("title", image.info.get("Title"), "ours")
    named = [note for note in notes if note.startswith("the chunks ") and note.endswith("a.png are left out")]
    same("chunks that are named", ["'eXIf'" in note or "'zzZz'" in note for note in named], [True])


def shape_b(case: Case) -> tuple[int, int]:
    """B's rows and columns."""
    sizes = {"same": (case.rows, case.columns), "one": (1, 1), "row": (1, case.columns)}
    return sizes.get(case.joined, (case.rows + 1, case.columns))


# ---- writing ------------------------------------------------------------------------------------------------------


def write(path: Path, case: Case, mode: str, shape: tuple[int, int], k: int) -> list[Array]:
    """Write an image; return its pixels, a TIFF's band by band."""
    from PIL import Image

    style = case.style if k == 1 else case.style_b
    if case.suffix == "tif":
        return write_tiff(path, case, mode, shape, k, style)
    if mode.startswith("raw"):
        return [write_raw(path, case, mode, shape, k, style)]
    array = pixels(case, mode, shape, k, style)
    image = image_of(array, mode)
    options: dict[str, Any] = {"compress_level": case.level}
    if case.clear and k == 1 and mode in ("L", "RGB", "I;16"):
        options["transparency"] = (1, 2, 3) if mode == "RGB" else 1
    if case.chunks:
        from PIL.PngImagePlugin import PngInfo

        info = PngInfo()
        info.add_text("Title", "ours")
        info.add_itxt("Größe", "ä" * 300, zip=True)
        options |= {
            "pnginfo": info,
            "dpi": (72, 72),
            "exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0",
            "icc_profile": b"x" * 200,
        }
    if case.frames > 1 and k == 1 and mode in ("L", "RGB", "RGBA"):
        other = Image.fromarray(255 - array)
        options |= {"save_all": True, "append_images": [other], "default_image": bool(case.seed % 2)}
    if mode in ("P1", "P2", "P4"):
        options["bits"] = int(mode[1])
    image.save(path, **options)
    return [array]


def pixels(case: Case, mode: str, shape: tuple[int, int], k: int, style: str) -> Array:
    """Random pixels of a mode."""
    dtype = {"I;16": "uint16", "I;16B": "uint16", "I;16L": "uint16", "I": "int32", "F": "float32"}.get(mode, "uint8")
    count = {"LA": 2, "PA": 2, "RGB": 3, "RGBA": 4, "RGBX": 4, "CMYK": 4, "YCbCr": 3, "LAB": 3}.get(mode, 1)
    stated = number(case.nodata)
    spice = stated if stated is not None and 0 <= stated < 256 else None
    found = elements(case.seed * 3 + k, dtype, (*shape, count) if count > 1 else shape, style, spice)
    return (
        found & (1 if mode in ("1", "P1") else 3 if mode == "P2" else 15 if mode == "P4" else 255)
        if dtype == "uint8"
        else found
    )


def image_of(array: Array, mode: str) -> Any:
    """Pillow's image of pixels."""
    from PIL import Image

    if mode == "1":
        return Image.fromarray((array * 255).astype(np.uint8)).convert("1")
    if mode in ("P", "P1", "P2", "P4"):
        plane = Image.fromarray(array)
        plane.putpalette([k for k in range({"P1": 2, "P2": 4, "P4": 16}.get(mode, 256)) for _ in "rgb"])
        return plane
    raw = array.astype(array.dtype.newbyteorder(">" if mode.endswith("B") else "<"))
    return Image.frombytes(mode, (array.shape[1], array.shape[0]), raw.tobytes())


def write_raw(path: Path, case: Case, mode: str, shape: tuple[int, int], k: int, style: str) -> Array:
    """Put a PNG together: 16 bits and several channels, or 2 and 4 bits; perhaps interlaced."""
    _, bits, channels = mode.split()
    count = {"L": 1, "P": 1, "LA": 2, "RGB": 3, "RGBA": 4}[channels]
    dtype = "uint16" if bits == "16" else "uint8"
    array = elements(case.seed * 3 + k, dtype, (*shape, count), style)
    if bits in ("1", "2", "4"):
        array = array & ((1 << int(bits)) - 1)
    data = b"".join(lines(each, int(bits), case.filter) for each in passes(array, case.interlaced))
    colours = {"L": 0, "P": 3, "LA": 4, "RGB": 2, "RGBA": 6}[channels]
    header = struct.pack(">IIBBBBB", shape[1], shape[0], int(bits), colours, 0, 0, int(case.interlaced))
    packed = zlib.compress(data, case.level)
    step = -(-len(packed) // case.pieces)
    rows = [
        (b"IHDR", header),
        *((b"IDAT", packed[at : at + step]) for at in range(0, len(packed), step)),
        (b"IEND", b""),
    ]
    if channels == "P":
        rows[1:1] = [(b"PLTE", bytes(range(3 << min(int(bits), 6))))]
    if case.chunks:
        rows[1:1] = [(b"gAMA", struct.pack(">I", 45455)), (b"tEXt", b"Title\0ours"), (b"zzZz", b"own")]
        rows[-1:-1] = [(b"tIME", b"\x07\xe9\1\1\0\0\0")]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, body) for kind, body in rows))
    return array[..., 0] if count == 1 else array


def passes(array: Array, interlaced: bool) -> list[Array]:
    """An image as it is, or the seven of Adam7."""
    if not interlaced:
        return [array]
    steps = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
    found = [array[row::down, column::across] for row, column, down, across in steps]
    return [each for each in found if each.size]


def lines(array: Array, bits: int, kind: int) -> bytes:
    """Rows of an image, each with its filter before it; the filter is one of PNG's five."""
    step = max(1, array.shape[2] * bits // 8)
    above, found = b"", []
    for row in array:
        raw = row.astype(">u2").tobytes() if bits == 16 else together(row.reshape(-1), bits)
        found.append(bytes([kind]) + filtered(raw, above or bytes(len(raw)), step, kind))
        above = raw
    return b"".join(found)


def together(values: Array, bits: int) -> bytes:
    """Values of less than a byte."""
    each = ((values[:, None] >> np.arange(bits - 1, -1, -1)) & 1).astype(np.uint8)
    return np.packbits(each.reshape(-1)).tobytes()


def filtered(raw: bytes, above: bytes, step: int, kind: int) -> bytes:
    """A row less what its filter predicts."""
    found = bytearray()
    for i, value in enumerate(raw):
        a, b, c = (raw[i - step] if i >= step else 0), above[i], (above[i - step] if i >= step else 0)
        found.append((value - (0, a, b, (a + b) // 2, nearest(a, b, c))[kind]) % 256)
    return bytes(found)


def nearest(a: int, b: int, c: int) -> int:
    """Paeth's predictor."""
    return min((a, b, c), key=lambda one: abs(a + b - c - one))


def chunk(kind: bytes, body: bytes) -> bytes:
    """A chunk with its length and checksum."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def write_tiff(path: Path, case: Case, mode: str, shape: tuple[int, int], k: int, style: str) -> list[Array]:
    """Write a TIFF by Pillow."""
    array = pixels(case, mode, shape, k, style)
    packed = PACKED[case.compression if k == 1 else case.compression_b]
    image_of(array, mode).save(path, compression=packed, big_tiff=case.swapped and mode != "I;16B")
    return [array] if array.ndim == 2 else list(np.moveaxis(array, -1, 0))


def damage(path: Path, case: Case) -> tuple[Why, ...]:
    """Break a file."""
    if case.broken and case.suffix == "png" and case.frames == 1:
        raw = bytearray(path.read_bytes())
        at = case.seed % len(raw)
        if case.broken == "cut":
            del raw[at:]
        else:
            raw[at] ^= 1 << case.seed % 8
        path.write_bytes(raw)
        return (Reason.DAMAGED(path),)
    return ()


# ---- what is expected ---------------------------------------------------------------------------------------------


LATE = {Reason.DAMAGED, Reason.TRANSPARENT}
"""What is seen when the pixels are read, behind all that headers say."""
NO_NUMBERS = (Reason.TYPE, Reason.PALETTE, Reason.BITS)


def unread(case: Case, mode: str) -> tuple[Why, ...]:
    """Why a mode is not read."""
    if case.suffix == "tif":
        return (Reason.TYPE("'bool'"),) if mode == "1" else ()
    if mode not in NUMBERS:
        palette = mode[0] == "P" or mode.endswith("P")
        return (Reason.PALETTE() if palette else Reason.BITS(f"{mode.split()[1] if ' ' in mode else mode} bits"),)
    if case.clear and mode == case.mode and mode in ("L", "RGB", "I;16"):
        return (Reason.TRANSPARENT(),)
    return ()


def refusal(case: Case, a: list[Array], b: list[Array], nodata: Any) -> tuple[Why, ...]:
    """Why two images are not subtracted."""
    if len(a) != len(b):
        return (Reason.NAMES(f"'{max(len(a), len(b))}'"),)
    if a[0].dtype != b[0].dtype:
        return (Reason.TYPES(f"A is of {a[0].dtype} and B of {b[0].dtype};"),)
    try:
        whole = np.broadcast_shapes(a[0].shape, b[0].shape)
    except ValueError:
        return (Reason.SHAPES(),)
    for image in (a, b):
        if nodata is not None and not (image[0].size == 1 != np.prod(whole)):
            low, high = (
                (np.iinfo(image[0].dtype).min, np.iinfo(image[0].dtype).max)
                if image[0].dtype.kind != "f"
                else (-1e38, 1e38)
            )
            if not low <= nodata <= high:
                return (Reason.NODATA_GIVEN(nodata, image[0].dtype),)
    return ()


def unwritten(case: Case, array: Array) -> tuple[Why, ...]:
    """Why a difference is not written."""
    if case.out == "npy":
        return ()
    if case.out == "tif":
        return () if array.ndim == 2 else (Reason.NO_IMAGE("bands of rows and columns"),)
    return () if array.dtype.name in ("uint8", "uint16") else (Reason.NO_WORD(array.dtype),)


def read(path: Path) -> Array:
    """Read a difference by Pillow; PNGs of 16 bits and channels by imagecodecs, TIFFs of bands by tifffile."""
    if path.suffix == ".npy":
        return np.asarray(np.load(path))
    if path.suffix == ".tif":
        import tifffile

        return np.asarray(tifffile.imread(path))
    from PIL import Image

    header = path.read_bytes()[24:26]
    if header[0] == 16 and header[1] != 0:
        import imagecodecs

        return np.asarray(imagecodecs.png_decode(path.read_bytes()))
    with Image.open(path) as image:
        return np.asarray(image)


def check_mode(path: Path, wanted: Array) -> None:
    """Check what Pillow calls an image."""
    from PIL import Image

    with Image.open(path) as image:
        image.verify()
        eight = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}[wanted.shape[2] if wanted.ndim == 3 else 1]
        known = {eight} if wanted.dtype == np.uint8 else {"I;16", "RGB", "RGBA", "LA", "I;16B"}
        same("mode", image.mode in known, True)


SURFACES = (Surface("png", "PNGs, and TIFFs of Pillow, beside Pillow", ("Pillow", "imagecodecs"), draw, compare, Case),)
