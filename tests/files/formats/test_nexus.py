"""NeXus: what stands along the axes of an NXdata group's datasets is compared and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minuend.errors import FileFormatError
from minuend.files import open_tensors
from minuend.files.difference import subtract_files

h5py = pytest.importorskip("h5py")

CENTRES, EDGES = np.arange(4.0), np.arange(5.0)


def save(path: Path, way: str = "new", x: Any = CENTRES, units: str = "mm", alt: Any = None, linked: str = "") -> str:
    """A file of one NXdata group, as one of NeXus's three ways has it."""
    with h5py.File(path, "w") as file:
        group = file.create_group("entry/data")
        group.parent.attrs["NX_class"], group.attrs["NX_class"] = "NXentry", "NXdata"
        store = file.create_group("entry/detector") if linked else group
        data = store.create_dataset("counts", data=np.arange(12).reshape(3, 4))
        group["y"] = np.arange(3.0)
        store["x"] = x
        store["x"].attrs["units"] = units
        if linked:
            for name in ("counts", "x"):
                group[name] = h5py.SoftLink(f"/entry/detector/{name}") if linked == "soft" else store[name]
        if way == "new":
            group.attrs["signal"], group.attrs["axes"] = "counts", ["y", "x"]
            group.attrs["x_indices"] = [1]
        elif way == "oldest":
            data.attrs["signal"] = 1
            for name, number in (("y", 1), ("x", 2)):
                group[name].attrs["axis"] = number
        else:
            data.attrs["signal"], data.attrs["axes"] = 1, way
        if alt is not None:
            group["alt"] = alt
            group.attrs["alt_indices"] = [0, 1] if np.ndim(alt) == 2 else [1]
    return str(path)


WAYS = ("new", "oldest", "y:x", "[y,x]")


@pytest.mark.parametrize("way", WAYS)
def test_what_stands_along_axes_is_no_difference_and_goes_with_a(tmp_path: Path, way: str) -> None:
    """The axes were subtracted themselves, so that the difference stood at 0 everywhere."""
    a, b = save(tmp_path / "a.h5", way), save(tmp_path / "b.h5", way)
    assert [*open_tensors(a)] == ["entry/data/counts"]
    subtract_files(a, b, str(tmp_path / "c.h5"))
    with h5py.File(tmp_path / "c.h5") as file:
        group = file["entry/data"]
        assert not group["counts"][:].any()
        assert group["x"][:].tolist() == CENTRES.tolist()
        assert (group.attrs["NX_class"], group["x"].attrs["units"]) == ("NXdata", "mm")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("selected", ["", "::entry/data/counts"])
@pytest.mark.parametrize(
    ("b", "said"),
    [
        ({"x": CENTRES * 2}, "different coordinates 'x': at 1 A has 1.0 and B 2.0"),
        ({"units": "m"}, "coordinates 'x' of different units: 'mm' and 'm'"),
        ({"x": EDGES}, r"different coordinates 'x': of the shapes \(4,\) and \(5,\)"),
    ],
)
def test_axes_that_differ_are_refused(tmp_path: Path, way: str, selected: str, b: Any, said: str) -> None:
    """They were not compared at all."""
    one, other = save(tmp_path / "a.h5", way), save(tmp_path / "b.h5", way, **b)
    with pytest.raises(FileFormatError, match=said):
        subtract_files(f"{one}{selected}", f"{other}{selected}", str(tmp_path / "c.h5"))


@pytest.mark.parametrize("name", ["x", "alt", "plane"])
def test_edges_and_further_coordinates_are_compared_and_kept(tmp_path: Path, name: str) -> None:
    """Edges of bins, a second one along an axis, and one along two axes."""
    stated: dict[str, Any] = {"x": {"x": EDGES}, "alt": {"alt": CENTRES}, "plane": {"alt": np.ones((3, 4))}}[name]
    a = save(tmp_path / "a.h5", **stated)
    subtract_files(a, save(tmp_path / "b.h5", **stated, units="millimetres"), str(tmp_path / "c.h5"))
    ((key, values),) = stated.items()
    with h5py.File(tmp_path / "c.h5") as file:
        assert np.array_equal(file[f"entry/data/{key}"], values)
    with pytest.raises(FileFormatError, match=f"different coordinates '{key}'"):
        subtract_files(a, save(tmp_path / "b.h5", **{key: values + 1}), str(tmp_path / "c.h5"))


def test_a_further_signal_of_the_group_does_not_hide_the_one_that_a_dataset_states(tmp_path: Path) -> None:
    a, b = save(tmp_path / "a.h5", "y:x"), save(tmp_path / "b.h5", "y:x", x=CENTRES * 2)
    for path in (a, b):
        with h5py.File(path, "r+") as file:
            file["entry/data/more"] = np.ones((3, 4))
            file["entry/data"].attrs["auxiliary_signals"] = ["more"]
    with pytest.raises(FileFormatError, match="different coordinates 'x'"):
        subtract_files(a, b, str(tmp_path / "c.h5"))


@pytest.mark.parametrize("linked", ["soft", "hard"])
def test_a_group_of_links_places_what_they_lead_to(tmp_path: Path, linked: str) -> None:
    a, b = save(tmp_path / "a.h5", linked=linked), save(tmp_path / "b.h5", linked=linked, x=CENTRES * 2)
    with pytest.raises(FileFormatError, match="different coordinates 'x'"):
        subtract_files(f"{a}::entry/data/counts", f"{b}::entry/data/counts", str(tmp_path / "c.h5"))


@pytest.mark.parametrize("axes", [["y", "."], ["y", "none"], ["y"], ["y", "x", "z"], ["x", "y"]])
def test_axes_that_name_nothing_that_fits_place_nothing(tmp_path: Path, axes: list[str]) -> None:
    path = save(tmp_path / "a.h5")
    with h5py.File(path, "r+") as file:
        del file["entry/data"].attrs["x_indices"]
        file["entry/data"].attrs["axes"] = axes
    subtract_files(path, path, str(tmp_path / "c.h5"))
    assert open_tensors(str(tmp_path / "c.h5"))["entry/data/counts"].shape == (3, 4)
