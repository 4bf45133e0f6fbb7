"""OME-NGFF and GeoZarr images in zarr: where their pixels lie is compared, and a difference is such an image too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minuend.errors import FileFormatError
from minuend.files import open_tensors
from minuend.files.difference import subtract_files

zarr = pytest.importorskip("zarr")

VERSIONS = ("0.4", "0.5")
SHAPE = {"t": 1, "c": 2, "z": 3, "y": 8, "x": 10}


def image(
    folder: Path,
    name: str,
    version: str,
    *,
    axes: str = "tczyx",
    step: float = 0.65,
    start: float = 0.0,
    whole: float = 1.0,
    unit: str = "micrometer",
    labels: tuple[str, ...] = ("DAPI", "GFP"),
    **shape: int,
) -> str:
    """Write an image of two levels as a microscope's software does."""
    path = folder / f"{name}.zarr"
    group = zarr.open_group(path, mode="w", zarr_format=3 if version == "0.5" else 2)
    sizes = {**SHAPE, **shape}
    kinds = {"t": "time", "c": "channel"}
    datasets = []
    for level in range(2):
        sizes_here = tuple(max(1, sizes[axis] >> level) if axis in "yx" else sizes[axis] for axis in axes)
        options: dict[str, Any] = {"chunk_key_encoding": {"name": "v2", "separator": "/"}}
        if version == "0.5":
            options = {"dimension_names": list(axes)}
        array = group.create_array(str(level), shape=sizes_here, dtype="uint16", **options)
        array[...] = np.random.default_rng(len(name) + level).integers(0, 1000, sizes_here)
        changes = [
            {"type": "scale", "scale": [step * 2**level / whole if axis in "yx" else 1.0 for axis in axes]},
            {"type": "translation", "translation": [start / whole if axis in "yx" else 0.0 for axis in axes]},
        ]
        datasets.append({"path": str(level), "coordinateTransformations": changes})
    stated: dict[str, Any] = {
        "axes": [
            {"name": axis, "type": kinds.get(axis, "space")} | ({} if axis in kinds else {"unit": unit})
            for axis in axes
        ],
        "datasets": datasets,
    }
    if whole != 1:
        stated["coordinateTransformations"] = [
            {"type": "scale", "scale": [whole if axis in "yx" else 1.0 for axis in axes]}
        ]
    described = {
        "multiscales": [stated],
        "omero": {"channels": [{"label": label, "color": "0000FF"} for label in labels]},
    }
    if version == "0.5":
        group.attrs["ome"] = {"version": "0.5", **described}
    else:
        stated["version"] = version
        group.attrs.update(described)
    return str(path)


def described(path: str) -> dict[str, Any]:
    attributes = zarr.open_group(path, mode="r").attrs.asdict()
    found: dict[str, Any] = attributes.get("ome", attributes)
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_a_difference_of_images_is_one(tmp_path: Path, version: str) -> None:
    one, two, out = (image(tmp_path, name, version) for name in ("a", "bb", "c"))
    out = str(tmp_path / "d.zarr")
    subtract_files(one, two, out, overflow="widen")
    assert described(out) == described(one)
    a, b, c = (zarr.open_group(path, mode="r") for path in (one, two, out))
    for level in "01":
        np.testing.assert_array_equal(c[level][...], a[level][...].astype("int32") - b[level][...])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"step": 0.5}, "the step of the OME-NGFF axis 'y' is 0.65 in A and 0.5 in B"),
        ({"start": 10.0}, "the start of the OME-NGFF axis 'y' is 0 in A and 10 in B"),
        ({"unit": "nanometer"}, "the unit of the OME-NGFF axis 'z' is micrometer in A and nanometer in B"),
        ({"labels": ("GFP", "DAPI")}, "the number of the channel 'DAPI' is 0 in A and 1 in B"),
    ],
)
def test_images_of_other_places_are_refused(tmp_path: Path, version: str, changed: dict[str, Any], said: str) -> None:
    one, two = image(tmp_path, "a", version), image(tmp_path, "b", version, **changed)
    with pytest.raises(FileFormatError) as caught:
        subtract_files(one, two, str(tmp_path / "c.zarr"))
    assert str(caught.value).startswith(f"A and B are not read alike: {said}")
    assert not (tmp_path / "c.zarr").exists()


def test_axes_in_another_order_are_refused(tmp_path: Path) -> None:
    one, two = image(tmp_path, "a", "0.4", axes="czyx", c=3), image(tmp_path, "b", "0.4", axes="zcyx", c=3)
    with pytest.raises(FileFormatError, match="the OME-NGFF axis -4 is 'c' in A and 'z' in B"):
        subtract_files(one, two, str(tmp_path / "c.zarr"))


@pytest.mark.parametrize("version", VERSIONS)
def test_one_place_in_two_spellings_is_one(tmp_path: Path, version: str) -> None:
    one = image(tmp_path, "a", version, step=0.3, start=1.0)
    other = image(tmp_path, "b", version, step=0.1 + 0.2, start=1.0, whole=7.0, labels=("1", "2"))
    subtract_files(one, other, str(tmp_path / "c.zarr"))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_plane_is_taken_from_all_of_a_stack(tmp_path: Path, version: str) -> None:
    """A dark frame lies at one depth, of which nothing is compared."""
    one, out = image(tmp_path, "a", version), str(tmp_path / "c.zarr")
    subtract_files(one, image(tmp_path, "b", version, z=1, axes="zyx"), out)
    assert described(out) == described(one)
    with pytest.raises(FileFormatError, match="the step of the OME-NGFF axis 'y'"):
        subtract_files(one, image(tmp_path, "d", version, axes="yx", step=2.0), str(tmp_path / "e.zarr"))


@pytest.mark.parametrize("version", VERSIONS)
def test_an_image_describes_the_levels_that_are_written(tmp_path: Path, version: str) -> None:
    one, out = image(tmp_path, "a", version), str(tmp_path / "c.zarr")
    subtract_files(f"{one}::1", f"{one}::1", out)
    (found,) = described(out)["multiscales"]
    assert found["datasets"] == described(one)["multiscales"][0]["datasets"][1:]


def test_a_difference_of_more_axes_is_not_described_by_those_of_a(tmp_path: Path) -> None:
    plane, stack, out = image(tmp_path, "a", "0.4", axes="yx"), image(tmp_path, "b", "0.4"), str(tmp_path / "c.zarr")
    subtract_files(plane, stack, out)
    assert described(out) == {}


def test_levels_that_are_groups_stay_described(tmp_path: Path) -> None:
    """As ndpyramid writes maps."""
    levels = [{"path": level, "pixels_per_tile": 128} for level in "01"]
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", attributes={"multiscales": [{"datasets": levels}]})
    for level in "01":
        group.create_array(f"{level}/rain", shape=(2, 3), dtype="float32")
    path, out = str(tmp_path / "a.zarr"), str(tmp_path / "c.zarr")
    subtract_files(path, path, out)
    assert described(out) == {"multiscales": [{"datasets": levels}]}


@pytest.mark.parametrize(
    "stated",
    [
        {"multiscales": 1},
        {"multiscales": [1, {"datasets": [None, {"path": 0}, {"path": "0"}]}]},
        {"multiscales": [{"axes": "yx", "datasets": [{"path": "0", "coordinateTransformations": 3}]}]},
        {"multiscales": [{"axes": ["y", "x"], "datasets": [{"path": "0", "coordinateTransformations": [1]}]}]},
        {"ome": [], "multiscales": [{"axes": ["y"], "datasets": [{"path": "0"}]}], "omero": {"channels": [0]}},
    ],
)
def test_what_describes_no_image_says_nothing(tmp_path: Path, stated: dict[str, Any]) -> None:
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=2, attributes=stated)
    group.create_array("0", shape=(2, 3), dtype="int16")[...] = 1
    path = str(tmp_path / "a.zarr")
    subtract_files(path, path, str(tmp_path / "c.zarr"))
    assert list(open_tensors(str(tmp_path / "c.zarr"))) == ["0"]


def test_another_transformation_is_compared_as_it_is_written(tmp_path: Path) -> None:
    for name, by in (("a", "x"), ("b", "y")):
        turned = {"type": "rotation", "path": by}
        levels = [{"path": "0", "coordinateTransformations": [{"type": "identity"}, turned]}]
        attributes = {"multiscales": [{"axes": [{"name": "y"}, {"name": "x"}], "datasets": levels}]}
        group = zarr.open_group(tmp_path / f"{name}.zarr", mode="w", zarr_format=2, attributes=attributes)
        group.create_array("0", shape=(2, 3), dtype="int16")
    a, b = (str(tmp_path / f"{name}.zarr") for name in "ab")
    subtract_files(a, a, str(tmp_path / "c.zarr"))
    with pytest.raises(FileFormatError, match="the OME-NGFF transformation 'rotation' is"):
        subtract_files(a, b, str(tmp_path / "d.zarr"))


@pytest.mark.parametrize("of_group", [False, True])
@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"proj:code": "EPSG:32634"}, "proj:code is EPSG:32633 in A and EPSG:32634 in B"),
        (
            {"spatial:transform": [10.0, 0, 1.5, 0, -10, 0]},
            "spatial:transform is 10 0 0 0 -10 0 in A and 10 0 1.5 0 -10",
        ),
        ({"proj:wkt2": "spelled in another way", "spatial:transform": [10, 0.0, 0, 0, -10.0, 0]}, ""),
    ],
)
def test_maps_of_other_places_are_refused(tmp_path: Path, of_group: bool, other: dict[str, Any], said: str) -> None:
    stated = {"proj:code": "EPSG:32633", "proj:wkt2": "PROJCRS", "spatial:transform": [10, 0, 0, 0, -10, 0]}
    for name, attributes in (("a", stated), ("b", stated | other)):
        group = zarr.open_group(tmp_path / f"{name}.zarr", mode="w", attributes=attributes if of_group else {})
        of_array = {} if of_group else attributes
        group.create_array("b04", shape=(2, 3), dtype="int16", dimension_names=["y", "x"], attributes=of_array)
    a, b, out = (str(tmp_path / f"{name}.zarr") for name in "abc")
    if not said:
        subtract_files(a, b, out)
        return
    with pytest.raises(FileFormatError, match=f"A and B are not read alike: {said}"):
        subtract_files(a, b, out)
