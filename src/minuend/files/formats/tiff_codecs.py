"""The compressions of a TIFF: which of them give every number back, and which may lose digits."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from minuend.errors import FileFormatError
from minuend.files.packages import need
from minuend.files.streaming.reading import Array

if TYPE_CHECKING:
    from tifffile import TiffPage

_DEFLATE = 8
_EXACT = {1, 5, _DEFLATE, 32773, 32946, 34925, 50000}
"""None, LZW, deflate (two codes), PackBits, LZMA and Zstandard: they pack bytes of any meaning."""

_LOSSY = (
    dict.fromkeys((6, 7, 33007, 34892), "JPEG")
    | dict.fromkeys((33003, 33004, 33005, 34712), "JPEG 2000")
    | dict.fromkeys((22610, 34934), "JPEG XR")
    | dict.fromkeys((34927, 50001), "WEBP")
    | dict.fromkeys((50002, 52546), "JPEG XL")
    | {34887: "LERC", 48124: "Jetraw"}
)
"""Those that may lose digits, as their writer chose: the file does not say in every case whether they did."""


_YCBCR, _GREY, _RGB, _COLOURS = 6, 1, 2, 3
_SEPARATE = 2
_LERC = 34887
_JPEG = {code for code, name in _LOSSY.items() if name == "JPEG"}
_OPAQUE = 255
"""What LERC's mask of pixels that are there stands for in a band of transparency."""


def check(page: TiffPage, path: str) -> None:
    """Refuse pixels that two decoders turn into different numbers.

    Raises:
        FileFormatError: they are signed numbers, which JPEG has as colours; or LERC, or integers of 24 bits, in a
            big-endian file, whose bytes GDAL swaps before it packs them and others do not.
    """
    if page.parent.byteorder == ">" and (what := _swapped(page)):
        raise FileFormatError(
            f"{path} is a big-endian file of {what}, whose bytes programs order in different ways; write it again as "
            "GDAL's default is (gdal_translate -co ENDIANNESS=LITTLE)"
        )
    if page.compression in _JPEG and page.photometric == _YCBCR and np.dtype(page.dtype).kind == "i":
        raise FileFormatError(
            f"{path} has signed numbers as YCbCr colours in JPEG, which decoders turn into different numbers; unpack "
            "it first (gdal_translate -co COMPRESS=DEFLATE)"
        )


def _swapped(page: TiffPage) -> str:
    """What of a page two decoders read in different byte orders."""
    if page.compression == _LERC and np.dtype(page.dtype).itemsize > 1:
        return "numbers in LERC"
    return "integers of 24 bits" if page.bitspersample == 24 and np.dtype(page.dtype).kind in "iu" else ""


def adapt(page: TiffPage, path: str) -> None:
    """Have the package decode pixels as GDAL does, where it decodes them otherwise."""
    if page.compression in _JPEG and page.planarconfig == _SEPARATE:
        page.photometric = _GREY  # each plane is a grey picture, whatever they are together
    elif page.compression in _JPEG and page.photometric <= _GREY and page.samplesperpixel == _COLOURS:
        page.photometric, page.extrasamples = _RGB, ()  # greys in threes, which libjpeg takes for YCbCr
    if page.compression == _LERC:
        page.decode = _lerc(page.decode, np.dtype(page.dtype), need("imagecodecs", "tiff", path).lerc_decode)


def _lerc(decode: Callable[..., Any], dtype: np.dtype[Any], unpacked: Callable[..., Any]) -> Callable[..., Any]:
    """LERC beside its mask, which the package leaves out."""

    def decoded(data: Any, index: int, **options: Any) -> Any:
        nothing, place, shape = decode(None, index, **options)
        if data is None:
            return nothing, place, shape
        values, mask = unpacked(data, masks=True)
        if shape[0] > 1 and (mask is None or mask.all()):  # several planes, all of them whole
            return decode(data, index, **options)
        pixels = _pixels(values, mask, shape)
        if any(has < wanted for has, wanted in zip(pixels.shape, decode(None, index)[2][1:3], strict=False)):
            raise ValueError(f"LERC of {pixels.shape[:2]} pixels where there are {shape[1:3]}")
        found = np.zeros(shape, dtype)
        rows, columns = (min(one, other) for one, other in zip(pixels.shape[:2], shape[1:3], strict=True))
        found[0, :rows, :columns] = pixels[:rows, :columns]
        return found, place, shape

    return decoded


def _pixels(values: Array, mask: Array | None, shape: tuple[int, ...]) -> Array:
    """Return pixels of (rows, columns, samples), of what LERC has of a tile.

    Samples that are not there together are planes with a mask each. A mask is what floats lack, which are NaN; of
    other numbers it is the last sample, which says what is transparent.
    """
    samples = shape[-1]
    if values.ndim == 2:
        values = values[..., np.newaxis]
    elif (mask is not None and mask.ndim == 3) or (values.shape[-1] not in (samples, samples - 1)):
        values, mask = np.moveaxis(values, 0, -1), None if mask is None else np.moveaxis(mask, 0, -1)
    if values.shape[-1] == samples - 1:
        opaque = np.full(values.shape[:2], _OPAQUE, values.dtype) if mask is None else mask * values.dtype.type(_OPAQUE)
        return np.dstack((values, opaque))
    if values.shape[-1] != samples:
        raise ValueError(f"LERC of the shape {values.shape} where there are {samples} samples")
    if mask is None or values.dtype.kind != "f":
        return values
    return np.where(mask if mask.ndim == 3 else mask[..., np.newaxis], values, np.nan).astype(values.dtype)


def written(compression: int, package: ModuleType) -> int:
    """Return the compression of a difference, by A's: the same where it is exact and can be written, else deflate."""
    if compression not in _EXACT:
        return _DEFLATE
    try:
        package.TIFF.COMPRESSORS[compression]
    except (KeyError, ImportError):
        return _DEFLATE
    return compression


def on_reading(compression: int, path: str) -> tuple[str, ...]:
    """Return what a report says of a file whose numbers may not be those that were written."""
    name = _LOSSY.get(compression)
    if name is None:
        return ()
    return (f"{path} is compressed by {name}, which may lose digits: the numbers that it decodes to are subtracted",)


def on_writing(compression: int, package: ModuleType, path: str) -> tuple[str, ...]:
    """Return what a report says of a difference that is not compressed as A is."""
    if written(compression, package) == compression:
        return ()
    name = _LOSSY.get(compression)
    why = f"{name}, as A is, may lose digits" if name else f"compression {compression}, as A has it, is not written"
    return (f"{path} is compressed by deflate, which is lossless; {why}",)
