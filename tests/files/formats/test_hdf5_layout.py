"""What only HDF5 says of a dataset: further dimension scales, labels of axes, filters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minuend.errors import FileFormatError
from minuend.files.difference import subtract_files

h5py = pytest.importorskip("h5py")
V = np.arange(6.0).reshape(2, 3)


def save(path: Path, *names: str, scales: Sequence[Sequence[str]] = (), labels: Sequence[str] = ()) -> str:
    """Write datasets to whose axes scales are attached, as many as are named for each."""
    with h5py.File(path, "w") as file:
        for name in names:
            file[name] = V
            for k, label in enumerate(labels):
                file[name].dims[k].label = label
            for k, attached in enumerate(scales):
                for scale in attached:
                    if scale not in file:
                        file[scale] = np.arange(V.shape[k]) * (2.0 if scale.startswith("two") else 1)
                        file[scale].make_scale(scale)
                        file[scale].attrs["units"] = "m"
                    file[name].dims[k].attach_scale(file[scale])
    return str(path)


def attached(path: Path, name: str) -> list[list[tuple[str, list[float]]]]:
    with h5py.File(path) as file:
        return [[(one.name, one[...].tolist()) for one in axis.values()] for axis in file[name].dims]


def test_further_scales_are_attached_to_the_same_axes(tmp_path: Path) -> None:
    a = save(tmp_path / "a.h5", "v", scales=[["y"], ["x", "two x"]])
    out = tmp_path / "c.h5"
    assert subtract_files(a, a, str(out)).notes == ()
    assert attached(out, "v") == [[("/y", [0, 1])], [("/x", [0, 1, 2]), ("/two x", [0, 2, 4])]]
    with h5py.File(out) as file:
        assert dict(file["two x"].attrs)["units"] == "m"
        assert "coordinates" not in file["v"].attrs
    again = tmp_path / "d.h5"
    assert subtract_files(str(out), a, str(again)).notes == ()
    assert attached(again, "v") == attached(out, "v")


def test_further_scales_are_coordinates(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("netCDF4")
    a, b, out = save(tmp_path / "a.h5", "v", scales=[["y"], ["x", "two"]]), tmp_path / "b.h5", tmp_path / "c.nc"
    assert subtract_files(a, a, str(out)).notes == ()
    with xarray.open_dataset(out) as found:
        assert (found.v.dims, found.v.two.dims, found.v.two.values.tolist()) == (("y", "x"), ("x",), [0, 2, 4])
    save(b, "v", scales=[["y"], ["x", "two"]])
    with h5py.File(b, "a") as file:
        file["two"][1] = 5
    with pytest.raises(FileFormatError, match=r"different coordinates 'two': at 1 A has 2\.0 and B 5\.0;"):
        subtract_files(a, str(b), str(out))


def test_a_scale_that_is_the_first_one_elsewhere_is_named(tmp_path: Path) -> None:
    a, out = tmp_path / "a.h5", tmp_path / "c.h5"
    save(a, "v", scales=[["y"], ["x", "z"]])
    with h5py.File(a, "a") as file:
        file["w"] = V
        file["w"].dims[1].attach_scale(file["z"])
    assert subtract_files(f"{a}::v", f"{a}::v", str(out)).notes == ("the dimension scales 'z' of 'v' are left out",)
    assert attached(out, "v") == [[("/y", [0, 1])], [("/x", [0, 1, 2])]]
    assert subtract_files(str(a), str(a), str(out)).notes == ()
    assert [attached(out, name)[1][-1] for name in "vw"] == [("/z", [0, 1, 2])] * 2


@pytest.mark.parametrize("other", ["x", "g/x"])
def test_scales_of_one_name_in_two_groups_are_compared_and_written(tmp_path: Path, other: str) -> None:
    a = save(tmp_path / "a.h5", "v", scales=[["x"], ["g/x"]])
    b, out = save(tmp_path / "b.h5", "v", scales=[["x"], ["g/x"]]), tmp_path / "c.h5"
    assert subtract_files(a, b, str(out)).notes == ()
    assert attached(out, "v") == [[("/x", [0, 1])], [("/g/x", [0, 1, 2])]]
    with h5py.File(out) as file:
        assert "coordinates" not in file["v"].attrs
    with h5py.File(b, "a") as file:
        file[other][1] = 5
    with pytest.raises(FileFormatError, match=r"different coordinates 'x': at 1 A has 1 and B 5;"):
        subtract_files(a, b, str(out))


def test_scales_of_one_name_are_compared_along_the_axis_that_an_operand_has(tmp_path: Path) -> None:
    a, b, out = save(tmp_path / "a.h5", "v", scales=[["x"], ["g/x"]]), tmp_path / "b.h5", tmp_path / "c.h5"
    with h5py.File(b, "w") as file:
        file["v"], file["g/x"] = [1.0, 2.0, 3.0], [0, 1, 2]
        file["g/x"].make_scale("x")
        file["g/x"].attrs["units"] = "m"
        file["v"].dims[0].attach_scale(file["g/x"])
    subtract_files(a, str(b), str(out))
    with h5py.File(b, "a") as file:
        file["g/x"][1] = 5
    with pytest.raises(FileFormatError, match=r"different coordinates 'x': at 1 A has 1 and B 5;"):
        subtract_files(a, str(b), str(out))


def test_a_further_scale_that_is_gone_is_passed_over(tmp_path: Path) -> None:
    a, out = save(tmp_path / "a.h5", "v", scales=[["y"], ["x", "two"]]), tmp_path / "c.h5"
    with h5py.File(a, "a") as file:
        del file["two"]
    assert subtract_files(a, a, str(out)).notes == ()
    assert attached(out, "v") == [[("/y", [0, 1])], [("/x", [0, 1, 2])]]


def test_a_further_scale_in_netcdf_is_named(tmp_path: Path) -> None:
    a = save(tmp_path / "a.nc", "v", scales=[["y"], ["x", "two"]])  # whose library knows the first one alone
    unused = f"{a} holds coordinates of no variable, which are left out: 'two'"
    assert unused in subtract_files(a, a, f"{tmp_path}/c.npz").notes
    assert subtract_files(a, a, f"{tmp_path}/c.nc").notes == (
        unused,
        "the dimension scales 'two' of 'v' are left out",
    )


def test_labels_of_axes_are_those_of_a(tmp_path: Path) -> None:
    a, b = save(tmp_path / "a.h5", "v", labels=["y", ""]), save(tmp_path / "b.h5", "v", labels=["y [m]", "x"])
    out = tmp_path / "c.h5"
    assert subtract_files(a, b, str(out)).notes == ()
    with h5py.File(out) as file:
        assert [axis.label for axis in file["v"].dims] == ["y", ""]
    out = tmp_path / "c.nc"
    assert subtract_files(a, b, str(out)).notes == (f"{out} has no place for the labels 'y' of axes",)
    with h5py.File(b, "a") as file:
        file["w"] = np.zeros((4, 2, 3))
    out = tmp_path / "c.h5"
    assert subtract_files(f"{a}::v", f"{b}::w", str(out)).notes == ("the labels 'y' of axes of 'v' are left out",)


def test_axes_that_are_labelled_in_another_order_are_refused(tmp_path: Path) -> None:
    a, b, c = (save(tmp_path / f"{name}.h5", "v", labels=name) for name in ("xy", "yx", "xz"))
    with pytest.raises(FileFormatError) as caught:
        subtract_files(a, b, str(tmp_path / "c.h5"))
    assert str(caught.value) == (
        f"axis 0 is 'x' in {a} and 'y' in {b}; nothing is transposed, bring them to one order, or label them alike"
    )
    subtract_files(a, c, str(tmp_path / "c.h5"))


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        ([5], "the filters 'nbit' of 'v' are left out and replaced by gzip"),
        ([6], "the filters 'scaleoffset' of 'v' are left out"),
        ([1, 32000], "the filters 'lzf' of 'v' are left out"),
        ([2, 1, 3], ""),
    ],
)
def test_filters_that_are_not_written_are_named(tmp_path: Path, codes: list[int], said: str) -> None:
    a = str(tmp_path / "a.h5")
    with h5py.File(a, "w") as file:
        made: Any = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        made.set_chunk((2, 2))
        for code in codes:
            if code == 6:
                made.set_scaleoffset(h5py.h5z.SO_INT, 0)
            else:
                made.set_filter(code, h5py.h5z.FLAG_OPTIONAL, (3,) if code == 1 else ())
        space = h5py.h5s.create_simple((4, 4))
        h5py.Dataset(h5py.h5d.create(file.id, b"v", h5py.h5t.STD_I32LE, space, made))[...] = np.ones((4, 4))
    for out in ("c.h5", "c.nc"):
        assert subtract_files(a, a, str(tmp_path / out)).notes == ((said,) if said else ())
