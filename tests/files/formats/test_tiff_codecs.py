"""Compressions of a TIFF that GDAL and tifffile read in different ways: LERC with its masks, JPEG in planes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minuend.errors import FileFormatError
from minuend.files import open_tensors
from minuend.files.difference import subtract_files

tifffile = pytest.importorskip("tifffile")
imagecodecs = pytest.importorskip("imagecodecs")


def tiled(path: Path, array: Any, tiles: list[bytes], **options: Any) -> str:
    """Write an image of rows, columns and samples from tiles that are packed already."""
    own: dict[str, Any] = {"planarconfig": "contig"} if array.ndim == 3 else {}
    own |= {"tile": (16, 16), "compression": "lerc", "photometric": "minisblack", "metadata": None, **options}
    tifffile.imwrite(path, iter(tiles), shape=array.shape, dtype=array.dtype, **own)
    return str(path)


def bands_of(path: str) -> Any:
    return np.stack([tensor.read() for tensor in open_tensors(path).values()])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_lerc_masks_is_no_number(tmp_path: Path, dtype: str) -> None:
    """GDAL writes NaN so; the package reads what stands behind the mask, 0."""
    array = np.random.default_rng(1).normal(0, 9, (16, 16)).astype(dtype)
    array[3, 4] = np.nan
    array[5] = np.nan
    packed = imagecodecs.lerc_encode(np.nan_to_num(array), masks=~np.isnan(array))
    path = tiled(tmp_path / "a.tif", array, [packed])
    assert np.array_equal(bands_of(path)[0], array, equal_nan=True)
    (tensor,) = subtract_files(path, path, str(tmp_path / "c.tif")).tensors
    assert tensor.nans == 17


def test_samples_that_lerc_masks_one_by_one_are_planes(tmp_path: Path) -> None:
    """The package takes the planes for pixels of so many samples."""
    array = np.random.default_rng(1).normal(0, 9, (16, 16, 2)).astype(np.float32)
    array[3, 4, 0] = array[7, 7, 1] = np.nan
    planes = np.ascontiguousarray(np.moveaxis(array, -1, 0))
    packed = imagecodecs.lerc_encode(np.nan_to_num(planes), masks=~np.isnan(planes), planar=True)
    path = tiled(tmp_path / "a.tif", array, [packed])
    assert np.array_equal(bands_of(path), planes, equal_nan=True)


@pytest.mark.parametrize("masked", [True, False])
def test_transparency_that_is_a_mask_in_lerc_is_a_band(tmp_path: Path, masked: bool) -> None:
    array = np.random.default_rng(1).integers(0, 200, (16, 16, 4)).astype(np.uint8)
    array[..., 3] = 255
    array[2:5, 3, 3] = 0 if masked else 255
    packed = imagecodecs.lerc_encode(array[..., :3], masks=array[..., 3] == 255 if masked else None)
    path = tiled(tmp_path / "a.tif", array, [packed], photometric="rgb", extrasamples=["unassalpha"])
    wanted = np.moveaxis(array, -1, 0)
    wanted = np.where(wanted[3] == 0, 0, wanted) if masked else wanted
    assert np.array_equal(bands_of(path), wanted)


def test_lerc_of_another_size_is_damaged(tmp_path: Path) -> None:
    array = np.zeros((16, 16), np.float32)
    path = tiled(tmp_path / "a.tif", array, [imagecodecs.lerc_encode(array[:8])])
    with pytest.raises(FileFormatError) as caught:
        bands_of(path)
    assert str(caught.value) == (
        f"{path} is no TIFF, or a damaged one (LERC of (8, 16) pixels where there are (16, 16)); expected a whole TIFF"
    )
    path = tiled(tmp_path / "b.tif", array, [imagecodecs.lerc_encode(np.zeros((16, 16, 5), np.float32))])
    with pytest.raises(FileFormatError, match=r"\(LERC of the shape \(16, 5, 16\) where there are 1 samples\)"):
        bands_of(path)


def test_a_big_endian_file_of_lerc_is_refused(tmp_path: Path) -> None:
    array = np.ones((16, 16), np.int16)
    path = tiled(tmp_path / "a.tif", array, [imagecodecs.lerc_encode(array)], byteorder=">")
    with pytest.raises(FileFormatError) as caught:
        open_tensors(path)
    assert str(caught.value) == (
        f"{path} is a big-endian file of numbers in LERC, whose bytes programs order in different ways; write it again "
        "as GDAL's default is (gdal_translate -co ENDIANNESS=LITTLE)"
    )
    array = array.astype(np.uint8)
    tiled(tmp_path / "a.tif", array, [imagecodecs.lerc_encode(array)], byteorder=">")
    assert np.array_equal(bands_of(path)[0], array)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bits", [17, 24, 31])
def test_big_endian_integers_of_odd_bits_are_what_gdal_reads_or_refused(tmp_path: Path, bits: int) -> None:
    rasterio = pytest.importorskip("rasterio")
    path, array = str(tmp_path / "a.tif"), np.arange(35, dtype=np.uint32).reshape(5, 7) * 3000
    for order in ("LITTLE", "BIG"):
        options = {"nbits": bits, "endianness": order}
        with rasterio.open(path, "w", "GTiff", width=7, height=5, count=1, dtype="uint32", **options) as file:
            file.write(array, 1)
        if (bits, order) == (24, "BIG"):
            with pytest.raises(FileFormatError, match="is a big-endian file of integers of 24 bits, whose bytes "):
                bands_of(path)
        else:
            assert np.array_equal(bands_of(path)[0], array)


def test_planes_in_jpeg_are_grey_pictures(tmp_path: Path) -> None:
    array = np.random.default_rng(1).integers(90, 110, (3, 16, 16)).astype(np.uint8)
    tiles = [imagecodecs.jpeg_encode(plane, level=100) for plane in array]
    path = tiled(tmp_path / "a.tif", array, tiles, compression="jpeg", photometric="rgb", planarconfig="separate")
    assert np.array_equal(bands_of(path), [imagecodecs.jpeg_decode(tile) for tile in tiles])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("interleave", ["pixel", "band"])
@pytest.mark.parametrize("codec", ["lerc", "lerc_deflate", "lerc_zstd"])
def test_lerc_is_what_gdal_reads(tmp_path: Path, codec: str, interleave: str) -> None:
    rasterio = pytest.importorskip("rasterio")
    array = np.random.default_rng(2).normal(0, 9, (2, 21, 37)).astype(np.float32)
    array[0, 3, 4] = array[1, 20, 30] = np.nan
    options = {"compress": codec, "interleave": interleave, "tiled": True, "blockxsize": 32, "blockysize": 16}
    path = str(tmp_path / "a.tif")
    with rasterio.open(path, "w", "GTiff", width=37, height=21, count=2, dtype="float32", **options) as file:
        file.write(array)
    assert np.array_equal(bands_of(path), array, equal_nan=True)
