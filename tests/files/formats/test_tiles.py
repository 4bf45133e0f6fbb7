"""Tiles and strips, plain and packed: against NumPy's own slices, and against tifffile."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minuend.files.formats.tiles import Tiles
from minuend.files.streaming.reading import Memory


def stored(image: np.ndarray, tile: tuple[int, int], band: int) -> Tiles:
    """An image of rows, columns and samples as tiles in memory, padded at the edges, with a gap between them."""
    rows, columns, samples = image.shape
    high, wide = tile
    parts, offsets, end = [], [], 0
    for y in range(0, rows, high):
        for x in range(0, columns, wide):
            whole = np.full((high, wide, samples), 99, image.dtype)
            piece = image[y : y + high, x : x + wide]
            whole[: piece.shape[0], : piece.shape[1]] = piece
            offsets.append(end + 3)
            parts += [b"gap", whole.tobytes()]
            end += 3 + whole.nbytes
    source = Memory(np.frombuffer(b"".join(parts), np.uint8))
    places = [(at, high * wide * samples * image.itemsize) for at in offsets]
    return Tiles(source, image.dtype, (rows, columns), tile, places, samples, band)


@given(st.data())
def test_any_region_of_any_grid(data: st.DataObject) -> None:
    rows, columns, samples = (data.draw(st.integers(1, most)) for most in (9, 9, 3))
    tile = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    dtype = data.draw(st.sampled_from([">u2", "<u2", "<f4", "u1"]))
    image = np.arange(rows * columns * samples).reshape(rows, columns, samples).astype(dtype)
    band = data.draw(st.integers(0, samples - 1))
    stops = [sorted((data.draw(st.integers(0, dim)), data.draw(st.integers(0, dim)))) for dim in (rows, columns)]
    region = tuple(slice(*stop) for stop in stops)
    tiles = stored(image, tile, band)
    found = tiles.part(region)
    np.testing.assert_array_equal(found, image[(*region, band)])
    assert found.dtype == image.dtype
    np.testing.assert_array_equal(tiles.read(), image[..., band])
    assert not tiles.read().flags.writeable


@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.parametrize("planar", ["contig", "separate"])
@pytest.mark.parametrize("tile", [None, (16, 32)])
@pytest.mark.parametrize("byteorder", ["<", ">"])
def test_plain_images_are_read_without_the_package_and_packed_ones_through_it(
    compression: str | None, planar: str, tile: tuple[int, int] | None, byteorder: str, tmp_path: Path
) -> None:
    tifffile = pytest.importorskip("tifffile")
    if compression:
        pytest.importorskip("imagecodecs")
    from minuend.files.formats import tiff

    image = np.random.default_rng(7).integers(0, 60000, (37, 61, 3), np.uint16)
    path = str(tmp_path / "image.tif")
    laid = image if planar == "contig" else np.moveaxis(image, -1, 0)
    tifffile.imwrite(
        path, laid, photometric="rgb", planarconfig=planar, tile=tile, rowsperstrip=None if tile else 8,
        byteorder=byteorder, compression=compression,
    )  # fmt: skip
    file = tiff.open_file(path)
    for band in range(3):
        elements = file[str(band + 1)].elements()
        assert isinstance(elements, Tiles)
        assert (elements.unpack is None) == (compression is None)
        np.testing.assert_array_equal(elements.read(), image[..., band])
        np.testing.assert_array_equal(elements.part((slice(5, 36), slice(30, 61))), image[5:36, 30:61, band])
