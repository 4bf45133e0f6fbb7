"""What a file says that the output's format has no place for is in the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minuend.files.difference import subtract_files

tifffile = pytest.importorskip("tifffile")
h5py = pytest.importorskip("h5py")


@pytest.fixture
def image(tmp_path: Path) -> str:
    """A GeoTIFF of scaled numbers with a unit and a nodata value."""
    said = '<Item name="SCALE" sample="0" role="scale">0.1</Item>'
    said += '<Item name="UNITTYPE" sample="0" role="unittype">m</Item>'
    tags: Any = [
        (33550, 12, 3, (10.0, 10.0, 0.0), True),
        (33922, 12, 6, (0.0, 0.0, 0.0, 5e5, 4.6e6, 0.0), True),
        (42112, 2, 0, f"<GDALMetadata>{said}</GDALMetadata>", True),
        (42113, 2, 0, "-9999", True),
    ]
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.ones((3, 4), "int16"), extratags=tags, metadata=None, datetime="2024:01:01 00:00:00")
    return str(path)


@pytest.fixture
def grid(tmp_path: Path) -> str:
    """A file of HDF5 with coordinates."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["x"], file["t"] = np.arange(4.0), np.ones((3, 4), "float32")
        file["x"].make_scale("x")
        file["t"].dims[1].attach_scale(file["x"])
        file["t"].attrs.update({"units": "K", "_FillValue": np.float32(-1), "list": [1, 2]})
    return str(path)


def test_of_an_image(tmp_path: Path, image: str) -> None:
    out, tags = f"{tmp_path}/c.npy", f"the tags of {image}"
    assert subtract_files(image, image, out).notes == (
        f"{out} has no place for the nodata value -9999, the georeference, the attributes 'units' and {tags}",
        f"{out} has no place for the scale 0.1: a difference is so many times its number",
    )
    assert subtract_files(image, image, out, nodata=-9999).notes[0].startswith(f"{out} has no place for the georef")
    out = f"{tmp_path}/c.nc"
    assert subtract_files(image, image, out).notes == (
        f"{out} has no place for the georeference and the tags of {image}",
    )
    with h5py.File(out) as file:
        assert (file["1"].attrs["units"], file["1"].attrs["scale_factor"]) == (b"m", 0.1)


def test_of_coordinates_and_attributes(tmp_path: Path, grid: str) -> None:
    out = f"{tmp_path}/c.tif"
    assert subtract_files(grid, grid, out).notes == (
        "the attribute 'list' of 't' is of a type that TIFF lacks, and is left out",
        f"{out} has no place for the coordinates 'x'",
    )
    with tifffile.TiffFile(out) as file:
        said = file.pages.first.tags[42112].value
    assert said == '<GDALMetadata><Item name="UNITTYPE" sample="0" role="unittype">K</Item></GDALMetadata>'
    out = f"{tmp_path}/c.npz"
    assert subtract_files(grid, grid, out).notes == (
        f"{out} has no place for the nodata value -1, the coordinates 'x' and the attributes 'list', 'units'",
    )


def test_of_groups_and_of_coordinates_that_belong_to_nothing(tmp_path: Path, grid: str) -> None:
    with h5py.File(grid, "a") as file:
        file["g/v"], file["z"] = np.ones((3, 4), "float32"), [1.0, 2]
        file["z"].make_scale("z")
        file["g"].attrs["deep"], file.attrs["title"], file.attrs["empty"] = 1, "ours", ""
        file.create_group("without/inner").attrs["k"] = 1
        file["a link"] = h5py.SoftLink("/g/v")
    unused = (
        f"{grid} has soft links, which are left out: 'a link'",
        f"{grid} holds coordinates of no dataset, which are left out: 'z'",
        f"{grid} has attributes of groups without a dataset, which are left out: 'without/inner'",
    )
    out = f"{tmp_path}/c.npz"
    assert subtract_files(grid, grid, out).notes == (
        *unused,
        f"{out} has no place for the attributes 'empty', 'title' of '/'",
        f"{out} has no place for the attributes 'deep' of '/g'",
        f"{out} has no place for the nodata value -1, the coordinates 'x' and the attributes 'list', 'units' (of 't')",
    )
    out = f"{tmp_path}/c.tif"
    assert subtract_files(f"{grid}::g/v", f"{grid}::g/v", out).notes == (
        "the attribute 'empty' of '/' is an empty text, which TIFF lacks, and is left out",
        f"{out} has no place for the attributes 'deep' of '/g'",
    )
    for suffix in (".nc", ".h5", ".zarr"):
        assert subtract_files(grid, grid, f"{tmp_path}/c{suffix}").notes == unused


def test_of_a_single_array_in_no_group(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    path, out = f"{tmp_path}/a.h5", f"{tmp_path}/c.zarr"
    with h5py.File(path, "w") as file:
        file["v"] = np.ones(3)
        file.attrs["title"] = "ours"
    assert subtract_files(path, path, out).notes == (f"{out} has no place for the attributes 'title' of '/'",)


def test_of_coordinates_that_are_not_copied(tmp_path: Path) -> None:
    path, out = f"{tmp_path}/a.h5", f"{tmp_path}/c.h5"
    with h5py.File(path, "w") as file:
        file["v"], file["wave"] = np.ones(3), np.array([1j, 2, 3])
        file["v"].attrs["coordinates"] = "wave"
    lost = "the coordinates 'wave' are of a type or shape that is not copied, and are left out"
    assert subtract_files(path, path, out).notes == (lost,)


def test_of_items_in_a_domain(tmp_path: Path) -> None:
    path, out = f"{tmp_path}/a.tif", f"{tmp_path}/c.npy"
    item = '<Item name="deep" domain="OURS">1</Item>'
    tags: Any = [(42112, 2, 0, f"<GDALMetadata>{item}</GDALMetadata>", True)]
    tifffile.imwrite(path, np.ones((3, 4), "int16"), extratags=tags, metadata=None)
    assert subtract_files(path, path, out).notes == (f"{out} has no place for the items 'deep' of the domain 'OURS'",)


def test_of_a_resolution(tmp_path: Path) -> None:
    path, out = f"{tmp_path}/a.tif", f"{tmp_path}/c.npy"
    pixels = np.ones((3, 4), "int16")
    tifffile.imwrite(path, pixels, metadata=None, software=False, resolution=(300, 200), resolutionunit="INCH")
    assert subtract_files(path, path, out).notes == (f"{out} has no place for the tags of {path}",)
    tifffile.imwrite(path, pixels, metadata=None, software=False)
    assert subtract_files(path, path, out).notes == ()


def test_of_free_text(tmp_path: Path) -> None:
    save = pytest.importorskip("safetensors.numpy").save_file
    path, out = f"{tmp_path}/a.safetensors", f"{tmp_path}/c.npz"
    save({"w": np.ones(3, "float32"), "b": np.ones(3, "float32")}, path, metadata={"format": "pt"})
    assert subtract_files(path, path, out).notes == (f"{out} has no place for the metadata 'format'",)
