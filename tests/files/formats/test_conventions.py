"""The CF conventions in netCDF, HDF5 and zarr: files that xarray wrote, against xarray's own a - b."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minuend.errors import DTypeError, FileFormatError
from minuend.files import open_tensors
from minuend.files.difference import subtract_files
from minuend.files.policy_comparison import compare_files

xr = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")
h5py = pytest.importorskip("h5py")
pytest.importorskip("h5netcdf")

pytestmark = pytest.mark.filterwarnings("ignore::Warning")  # xarray's and zarr's, of formats that may change

FORMATS = {"zarr2": "zarr", "zarr3": "zarr", "h5": "h5", "nc": "nc"}


def save(dataset: Any, folder: Path, name: str, kind: str, **options: Any) -> str:
    path = str(folder / f"{name}.{FORMATS[kind]}")
    if kind.startswith("zarr"):
        dataset.to_zarr(path, mode="w", zarr_format=int(kind[-1]), **options)
    else:
        dataset.to_netcdf(path, engine="h5netcdf", invalid_netcdf=kind == "h5", **options)
    return path


def load(path: str, **options: Any) -> Any:
    if path.endswith(".zip"):
        store = zarr.storage.ZipStore(path, mode="r")
        return xr.open_dataset(store, engine="zarr", decode_coords="all", **options).load()
    engine = "zarr" if path.endswith(".zarr") else "h5netcdf"
    with xr.open_dataset(path, engine=engine, decode_coords="all", **options) as found:
        return found.load()


def weather(seed: int, *, height: float = 2.0, move: float = 0.0) -> Any:
    """Variables of each kind: with nodata, packed, of floats with NaN, of no axes, beside all that belongs to them."""
    numbers, fill = np.random.default_rng(seed), np.int16(-32768)
    kelvin = numbers.integers(0, 200, (2, 3, 4)).astype(np.int16)
    kelvin[numbers.random(kelvin.shape) < 0.3] = fill
    packed = numbers.integers(0, 200, (3, 4)).astype(np.int16)
    packed[0, seed % 4] = 255
    metres = numbers.random((3, 4)).astype(np.float32)
    metres[1, seed % 4] = np.nan
    tied = {"grid_mapping": "crs"}
    found = xr.Dataset(
        {
            "kelvin": (("time", "lat", "lon"), kelvin, {"_FillValue": fill, "units": "K", "valid_max": fill, **tied}),
            "packed": (
                ("lat", "lon"),
                packed,
                {"_FillValue": np.int16(255), "missing_value": np.int16(255), "scale_factor": 0.5, "add_offset": 10.0},
            ),
            "metres": (("lat", "lon"), metres, {"units": "m"}),
            "count": ((), np.int64(seed)),
        },
        coords={
            "time": np.array(["2000-01-01", "2000-01-03"], "M8[ns]"),
            "lat": ("lat", [50.0, 51.0, 52.0 + move], {"units": "degrees_north", "bounds": "lat_bnds"}),
            "lon": ("lon", np.arange(4, dtype=np.int32)),
            "lat_bnds": (("lat", "edge"), np.array([[49.5, 50.5], [50.5, 51.5], [51.5, 52.5]])),
            "area": (("lat", "lon"), np.arange(12, dtype=np.float32).reshape(3, 4), {"units": "km2"}),
            "station": ("lon", np.array(["a", "bé", "", "dd"], object)),
            "height": ((), height, {"units": "m"}),
            "crs": ((), np.int32(0), {"grid_mapping_name": "latitude_longitude", "semi_major_axis": 6378137.0}),
        },
        attrs={"title": "weather", "levels": [1, 2]},
    )
    found["time"].encoding = {"units": "hours since 1990-01-01", "dtype": "int64"}
    return found


def agrees(got: Any, a: Any, b: Any) -> None:
    """Check a difference against xarray's, with its coordinates; their attributes are those of A."""
    want = a - b
    assert set(got.data_vars) == set(want.data_vars)
    for name in want.data_vars:
        assert got[name].dims == want[name].dims
        assert np.allclose(got[name].values, want[name].values, equal_nan=True), name
        assert set(got[name].coords) == set(want[name].coords)
        assert got[name].attrs == {key: value for key, value in a[name].attrs.items() if key != "valid_max"}
    for name in got.coords:
        values, expected = got[name].values, a[name].values
        if expected.dtype.kind in "OUT":
            values, expected = values.astype(object), expected.astype(object)
        assert np.array_equal(values, expected), name
        assert got[name].attrs == a[name].attrs
    assert got.attrs.keys() == a.attrs.keys()


@pytest.mark.parametrize(
    ("kind", "suffix"), [*FORMATS.items(), ("zarr2", "zarr.zip"), ("zarr3", "nc"), ("h5", "zarr.zip")]
)
def test_what_xarray_wrote_is_subtracted_as_xarray_does(tmp_path: Path, kind: str, suffix: str) -> None:
    a, b = save(weather(1), tmp_path, "a", kind), save(weather(2), tmp_path, "b", kind)
    assert sorted(open_tensors(a)) == ["count", "kelvin", "metres", "packed"]
    out = str(tmp_path / f"c.{suffix}")
    subtract_files(a, b, out)
    agrees(load(out), load(a), load(b))


@pytest.mark.parametrize("kind", FORMATS)
def test_formats_go_together(tmp_path: Path, kind: str) -> None:
    a, b = save(weather(1), tmp_path, "a", "nc"), save(weather(2), tmp_path, "b", kind)
    subtract_files(a, b, str(tmp_path / "c.zarr"))
    agrees(load(str(tmp_path / "c.zarr")), load(a), load(b))
    subtract_files(b, a, str(tmp_path / "d.h5"))
    agrees(load(str(tmp_path / "d.h5")), load(b), load(a))


@pytest.mark.parametrize("kind", FORMATS)
def test_coordinates_are_compared_and_single_ones_that_differ_are_left_out(tmp_path: Path, kind: str) -> None:
    a, out = save(weather(1), tmp_path, "a", kind), str(tmp_path / f"c.{FORMATS[kind]}")
    with pytest.raises(FileFormatError) as caught:
        subtract_files(a, save(weather(2, move=0.5), tmp_path, "b", kind), out)
    assert "A and B have different coordinates 'lat': at 2 A has 52.0 and B 52.5; nothing is" in str(caught.value)
    b = save(weather(2, height=3.0), tmp_path, "b", kind)
    subtract_files(a, b, out)
    assert "height" not in load(out).coords
    agrees(load(out), load(a), load(b))


@pytest.mark.parametrize("kind", FORMATS)
def test_nodata_is_counted_and_given_where_none_is_stated(tmp_path: Path, kind: str) -> None:
    dataset = xr.Dataset({"x": ("t", np.array([5, -1, 7], np.int16))}, {"t": [1.0, 2.0, 3.0]})
    stated = dataset.assign(x=("t", dataset.x.values, {"_FillValue": np.int16(-1)}))
    for k, (one, given) in enumerate(((dataset, -1), (stated, None), (stated, -1))):
        path, out = save(one, tmp_path, "a", kind), str(tmp_path / f"c{k}.{FORMATS[kind]}")
        (tensor,) = subtract_files(path, path, out, nodata=given).tensors
        assert (tensor.nodata, tensor.low, tensor.high) == (1, 0, 0)
        assert np.array_equal(load(out).x, [0, np.nan, 0], equal_nan=True)
        assert load(out, mask_and_scale=False).x.values.tolist() == [0, -1, 0]
    path = save(stated, tmp_path, "a", kind)
    with pytest.raises(FileFormatError, match="states the nodata value -1, and --nodata says 0"):
        subtract_files(path, path, out, nodata=0)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [*((kind, dtype) for kind in FORMATS for dtype in ("float32", "float64")), ("zarr2", "float16"),
     ("zarr3", "float16"), ("h5", "float16")],
)  # fmt: skip
def test_a_fraction_that_is_given_is_nodata_as_the_type_has_it(tmp_path: Path, kind: str, dtype: str) -> None:
    """In JSON, xarray compares 0.1 with the 0.1 of float32, which is another number."""
    dataset = xr.Dataset({"x": ("t", np.array([0.1, 2, 3], dtype), None, {"_FillValue": None})})
    path, out = save(dataset, tmp_path, "a", kind), str(tmp_path / f"c.{FORMATS[kind]}")
    (report,) = subtract_files(path, path, out, nodata=0.1).tensors
    assert report.nodata == 1
    assert np.array_equal(load(out).x, [np.nan, 0, 0], equal_nan=True)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("dtype", "value"), [("int64", 2**53 + 1), ("uint64", 2**64 - 1), ("int64", -(2**63))])
def test_a_whole_number_is_nodata_to_its_last_digit(tmp_path: Path, kind: str, dtype: str, value: int) -> None:
    near = value + 1 if value < 0 else value - 1
    values = np.array([value, near, 5], dtype)
    dataset = xr.Dataset({"x": ("t", values, {"_FillValue": np.dtype(dtype).type(value)})})
    path, out = save(dataset, tmp_path, "a", kind), str(tmp_path / f"c.{FORMATS[kind]}")
    np.save(tmp_path / "b.npy", np.array([0, 0, 0], dtype))
    subtract_files(f"{path}::x", str(tmp_path / "b.npy"), out)
    assert load(out, mask_and_scale=False).x.values.tolist() == [value, near, 5]
    assert open_tensors(out)["x"].about.nodata == value


@pytest.mark.parametrize("kind", FORMATS)
def test_a_value_that_no_element_can_have_marks_none(tmp_path: Path, kind: str) -> None:
    numbers = np.array([1, 2, 255], np.uint8)
    dataset = xr.Dataset(
        {
            "x": ("t", numbers, {"missing_value": -9999.0}),
            "y": ("t", numbers, {"missing_value": np.nan}),
            "z": ("t", numbers.astype(np.float32), {"missing_value": [np.nan, 1.0]}),
        }
    )
    path, out = save(dataset, tmp_path, "a", kind), str(tmp_path / f"c.{FORMATS[kind]}")
    subtract_files(path, path, out)
    found = open_tensors(out)
    assert [found[name].about.nodata for name in "xyz"] == [None, None, 1]
    assert [found[name].read().tolist() for name in "xyz"] == [[0, 0, 0], [0, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_difference_of_moments_is_a_duration(tmp_path: Path, kind: str) -> None:
    def moments(*days: str) -> Any:
        return xr.Dataset({"seen": ("t", np.array(days, "M8[ns]"))})

    coded = {"seen": {"units": "days since 2000-01-01", "dtype": "int64", "_FillValue": -1}}
    a, b = moments("2001-01-01", "NaT", "2003-01-01"), moments("2001-01-05", "2002-01-01", "2002-01-01")
    one, two = (save(x, tmp_path, name, kind, encoding=coded) for x, name in ((a, "a"), (b, "b")))
    out = str(tmp_path / f"c.{FORMATS[kind]}")
    subtract_files(one, two, out)
    assert np.array_equal(load(out, decode_timedelta=True).seen, a.seen - b.seen, equal_nan=True)
    coded["seen"]["units"] = "hours since 2000-01-01"
    two = save(b, tmp_path, "b", kind, encoding=coded)
    with pytest.raises(FileFormatError) as caught:
        subtract_files(one, two, out)
    assert str(caught.value) == (
        "A and B are counted from different times: A in days since 2000-01-01 (proleptic_gregorian) and B in hours "
        "since 2000-01-01 (proleptic_gregorian); bring them to one first (cdo setreftime)"
    )


@pytest.mark.parametrize("kind", FORMATS)
def test_what_means_no_numbers_is_refused(tmp_path: Path, kind: str) -> None:
    what = {"h5": "dataset", "nc": "variable"}.get(kind, "array")
    path = save(xr.Dataset({"x": ("t", np.array([True, False]))}), tmp_path, "a", kind)
    with pytest.raises(DTypeError, match=f"subtraction is not defined for bool; use Xor or cast.*{what} 'x'"):
        open_tensors(path)["x"]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    ("dtype", "stated"), [("int8", "true"), ("int16", "true"), ("uint8", "false"), ("int8", "false")]
)
def test_numbers_are_of_the_sign_that_is_stated(tmp_path: Path, kind: str, dtype: str, stated: str) -> None:
    """Classic netCDF has no unsigned types; satellites' files keep the attribute in netCDF-4."""
    attributes = {"_Unsigned": stated, "_FillValue": np.dtype(dtype).type(100), "scale_factor": 0.5, "add_offset": 7.0}
    a, b = (np.array(values, "int8").view(f"u{dtype.strip('u')}" if "u" in dtype else "int8").astype(dtype)
            for values in ([-1, 100, 5, -3], [-2, 0, 5, 100]))  # fmt: skip
    one, two = (
        save(xr.Dataset({"x": ("t", values, attributes)}), tmp_path, name, kind)
        for name, values in (("a", a), ("b", b))
    )
    out = str(tmp_path / f"c.{FORMATS[kind]}")
    subtract_files(one, two, out, overflow="widen")
    found, want = load(out)["x"], load(one)["x"] - load(two)["x"]
    np.testing.assert_array_equal(found.values, want.values)
    assert "_Unsigned" not in load(out, mask_and_scale=False)["x"].attrs


@pytest.mark.parametrize("shape", [(), (1,)])
def test_bits_of_another_sign_are_in_the_byte_order_that_they_come_in(tmp_path: Path, shape: tuple[int, ...]) -> None:
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=2)
    group.create_array("x", shape=shape, dtype=">i2", attributes={"_Unsigned": "true"})[...] = -2
    assert open_tensors(str(tmp_path / "a.zarr"))["x"].read().tolist() == np.full(shape, 65534).tolist()


@pytest.mark.parametrize("version", [2, 3])
def test_the_fill_value_of_the_chunks_of_a_wider_type_is_one_that_it_has(tmp_path: Path, version: int) -> None:
    for name in "ab":
        of = {"dtype": "uint64", "fill_value": 2**64 - 1, "zarr_format": version}
        made = zarr.create_array(tmp_path / f"{name}.zarr", shape=(4,), chunks=(2,), **of)
        made[...] = np.arange(4) * (ord(name) - 96)
    a, b, c = (str(tmp_path / f"{name}.zarr") for name in "abc")
    subtract_files(a, b, c, overflow="widen")
    found = zarr.open_array(c, mode="r")
    assert (found.dtype, found[...].tolist(), found.fill_value) == (np.int64, [0, -1, -2, -3], 0)


@pytest.mark.parametrize("out", ["zarr", "nc", "h5"])
@pytest.mark.parametrize("kind", ["zarr2", "zarr3", "nc"])
def test_groups_see_the_coordinates_of_those_around_them(tmp_path: Path, kind: str, out: str) -> None:
    tree = xr.DataTree.from_dict(
        {
            "/": xr.Dataset(coords={"x": [1.0, 2.0, 3.0]}, attrs={"r": "root"}),
            "/g": xr.Dataset({"a": ("x", [1.0, 2.0, 3.0]), "b": (("y", "x"), np.ones((2, 3)))}, {"y": [5, 6]}),
            "/g/h": xr.Dataset({"a": ("x", np.array([4, 9, 6]), {"_FillValue": 9})}, attrs={"q": "inner"}),
        }
    )
    path, made = str(tmp_path / f"a.{FORMATS[kind]}"), str(tmp_path / f"c.{out}")
    if kind == "nc":
        tree.to_netcdf(path, engine="h5netcdf")
    else:
        tree.to_zarr(path, zarr_format=int(kind[-1]))
    assert sorted(open_tensors(path)) == ["g/a", "g/b", "g/h/a"]
    subtract_files(path, path, made)
    found = xr.open_datatree(made, engine="zarr" if out == "zarr" else "h5netcdf").load()
    assert set(found["g"].coords) == {"x", "y"}
    assert np.array_equal(found["g/h/a"], [0, np.nan, 0], equal_nan=True)
    assert (found.attrs["r"], found["g/h"].attrs["q"]) == ("root", "inner")


@pytest.mark.parametrize("kind", FORMATS)
def test_a_variable_is_found_by_its_path_from_the_outermost_group(tmp_path: Path, kind: str) -> None:
    path = save(xr.Dataset({"v": ("x", np.arange(3.0))}), tmp_path, "a", kind, group="g/h")
    assert list(open_tensors(f"{path}::/g/h/v")) == ["g/h/v"]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_single_number_is_read_too(tmp_path: Path, kind: str) -> None:
    path, out = save(xr.Dataset({"n": ((), 5, {"units": "m"})}), tmp_path, "a", kind), str(tmp_path / "c.zarr")
    if kind == "h5":  # nothing in it names an axis
        subtract_files(path, path, out)
        assert zarr.open_array(out, mode="r")[()] == 0
        return
    subtract_files(path, path, out)
    assert (int(load(out).n), load(out).n.attrs) == (0, {"units": "m"})


# ---- zarr ----------------------------------------------------------------------------------------------------------


def keys(path: str) -> set[str]:
    return {str(one.relative_to(path)) for one in Path(path).rglob("*") if one.is_file()}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("consolidated", [True, False])
def test_what_is_consolidated_stays_so(tmp_path: Path, version: int, consolidated: bool) -> None:
    a, out = str(tmp_path / "a.zarr"), str(tmp_path / "c.zarr")
    weather(1).to_zarr(a, zarr_format=version, consolidated=consolidated)
    subtract_files(a, a, out)
    assert (zarr.open_group(out, mode="r").metadata.consolidated_metadata is not None) == consolidated
    found = xr.open_zarr(out, consolidated=consolidated)
    assert set(found.variables) == set(weather(1).variables)
    if version == 2:
        assert (".zmetadata" in keys(out)) == consolidated


def test_the_fill_value_of_version_2_is_nodata_where_axes_have_names(tmp_path: Path) -> None:
    for named in (True, False):
        attributes = {"_ARRAY_DIMENSIONS": ["x"]} if named else {}
        for name in ("a", "b"):
            group = zarr.open_group(tmp_path / f"{name}{named}.zarr", mode="w", zarr_format=2)
            made = group.create_array("x1", shape=(4,), chunks=(2,), dtype="int16", fill_value=7, attributes=attributes)
            made[:3] = [1, 7, 3]
        a, b, c = (str(tmp_path / f"{name}{named}.zarr") for name in "abc")
        subtract_files(a, b, c)
        expected = [0, 7, 0, 7] if named else [0, 0, 0, 0]
        assert open_tensors(c)["x1"].read().tolist() == expected
        assert json.loads((Path(c) / "x1" / ".zarray").read_text())["fill_value"] == 7
        if named:
            assert np.array_equal(xr.open_zarr(c, consolidated=False).x1, [0, np.nan, 0, np.nan], equal_nan=True)


@pytest.mark.parametrize("version", [2, 3])
def test_arrays_without_names_of_axes_state_nodata_in_attributes(tmp_path: Path, version: int) -> None:
    for dtype in ("int16", "float32"):
        a, c, d = (str(tmp_path / f"{name}{dtype}.zarr") for name in "acd")
        made = zarr.create_array(a, shape=(3,), chunks=(2,), dtype=dtype, zarr_format=version, attributes={"u": 1})
        made[:] = np.array([1, -9, 4], dtype)
        subtract_files(a, a, c, nodata=-9)
        (found,) = open_tensors(c).values()
        assert (found.about.nodata, found.read().tolist(), found.about.attributes["u"]) == (-9, [0, -9, 0], 1)
        subtract_files(c, c, d)
        (found,) = open_tensors(d).values()
        assert (found.about.nodata, found.read().tolist()) == (-9, [0, -9, 0])


ODD: dict[str, tuple[dict[str, Any], str]] = {
    "a text": ({"_FillValue": "x"}, "array 'v' states the _FillValue 'x'; expected a number"),
    "lists": ({"missing_value": [[1], [2, 3]]}, "states the missing_value [[1], [2, 3]]; expected a number"),
    "scale": ({"scale_factor": [[1], [2, 3]]}, "states the scale_factor [[1], [2, 3]]; expected a number"),
    "null": ({"_FillValue": None}, ""),
    "very long": ({"_FillValue": 10**30}, ""),
    "names that are no texts": ({"_ARRAY_DIMENSIONS": [1, 2]}, ""),
    "names of other axes": ({"_ARRAY_DIMENSIONS": ["y"]}, ""),
    "names that lead out": ({"_ARRAY_DIMENSIONS": ["..", "a/b"]}, ""),
    "names that are no UTF-8": ({"_ARRAY_DIMENSIONS": ["\ud800", ""]}, ""),
    "coordinates that are not there": ({"coordinates": "lat lon v", "grid_mapping": "nothing"}, ""),
    "a number for text": ({"coordinates": 5, "units": 5, "bounds": {}}, ""),
}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("odd", ODD)
def test_attributes_that_are_odd_are_refused_or_mean_nothing(tmp_path: Path, odd: str, version: int) -> None:
    attributes, message = ODD[odd]
    path, out = str(tmp_path / "a.zarr"), str(tmp_path / "c.h5")
    group = zarr.open_group(path, mode="w", zarr_format=version)
    group.create_array("v", shape=(2, 2), dtype="int16", fill_value=3, attributes=attributes)[...] = [[1, 2], [3, 4]]
    if message:
        with pytest.raises(FileFormatError) as caught:
            subtract_files(path, path, out)
        assert str(caught.value).endswith(message)
    else:
        (found,) = subtract_files(path, path, out).tensors
        assert (found.nodata, found.low, found.high) == (None, 0, 0)


def test_one_name_may_be_of_axes_of_several_lengths(tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "a.zarr", mode="w")
    for level, size in enumerate((8, 4)):
        group.create_array(str(level), shape=(size,), dtype="uint8", dimension_names=["x"])[...] = 3
    group.create_array("x", shape=(8,), dtype="float32", dimension_names=["x"])[...] = np.arange(8)
    path = str(tmp_path / "a.zarr")
    subtract_files(path, path, str(tmp_path / "c.zarr"))
    found = open_tensors(str(tmp_path / "c.zarr"))
    assert {name: one.shape for name, one in found.items()} == {"0": (8,), "1": (4,)}
    with pytest.raises(FileFormatError, match="the dimension 'x' would have the sizes 8 and 4"):
        subtract_files(path, path, str(tmp_path / "c.h5"))


@pytest.mark.parametrize("version", [2, 3])
def test_coordinates_of_several_chunks_are_whole(tmp_path: Path, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minuend.files.formats.zarr_headers.BAND_BYTES", 64)
    area = np.arange(60.0).reshape(6, 10)
    names = np.array([f"é{k}" for k in range(60)], object).reshape(6, 10)
    dataset = xr.Dataset({"v": (("y", "x"), area)}, {"area": (("y", "x"), area), "name": (("y", "x"), names)})
    path, out = str(tmp_path / "a.zarr"), str(tmp_path / "c.zarr")
    dataset.to_zarr(path, zarr_format=version)
    subtract_files(path, path, out)
    found = xr.open_zarr(out)
    assert len([key for key in keys(out) if key.startswith("area/")]) > 6
    assert np.array_equal(found["area"], area)
    assert np.array_equal(found["name"].values.astype(object), names)


def test_coordinates_of_pickled_objects_are_refused(tmp_path: Path) -> None:
    path = save(weather(1), tmp_path, "a", "zarr2")
    header = Path(path) / "station" / ".zarray"
    header.write_text(header.read_text().replace("vlen-utf8", "pickle"))
    with pytest.raises(FileFormatError, match="'station' holds Python objects, which are pickles and can run code"):
        subtract_files(path, path, str(tmp_path / "c.zarr"))


# ---- HDF5 ----------------------------------------------------------------------------------------------------------


def test_a_plain_file_with_scales_and_attributes_follows_the_conventions(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["axis"] = np.arange(4.0)
        file["axis"].make_scale("seconds")
        file["d"] = np.array([1, 2, -1, 4], np.int16)
        file["d"].dims[0].attach_scale(file["axis"])
        file["d"].attrs.update({"_FillValue": np.int16(-1), "units": "m", "flag": True, "z": 1j})
        file["plain"] = np.arange(3)
        file["plain"].attrs["NAME"] = "mine"
    path, out = str(tmp_path / "a.h5"), tmp_path / "c.h5"
    assert sorted(open_tensors(path)) == ["d", "plain"]
    subtract_files(path, path, str(out))
    with h5py.File(out) as file:
        assert (file["d"][...].tolist(), file["d"].fillvalue) == ([0, 0, -1, 0], -1)
        assert file["d"].dims[0][0].name == "/axis"
        assert file["axis"][...].tolist() == [0, 1, 2, 3]
        own = {name: value for name, value in file["d"].attrs.items() if name != "DIMENSION_LIST"}
        assert own == {"_FillValue": [-1], "units": "m", "flag": True, "z": 1j}
        assert dict(file["plain"].attrs) == {"NAME": "mine"}
        assert len(file) == 3
    subtract_files(path, path, str(tmp_path / "c.nc"))
    assert np.array_equal(load(str(tmp_path / "c.nc")).d, [0, 0, np.nan, 0], equal_nan=True)
    assert load(str(tmp_path / "c.nc")).d.attrs == {"units": "m", "flag": True, "z": 1j}


@pytest.mark.parametrize("kind", FORMATS)
def test_a_text_without_axes_is_a_coordinate(tmp_path: Path, kind: str) -> None:
    data = xr.Dataset({"v": ("x", np.arange(3, dtype="int16"))}, {"station": "Wien, 1. Bezirk"})
    one, out = save(data, tmp_path, "a", kind), str(tmp_path / f"c.{FORMATS[kind]}")
    subtract_files(one, one, out)
    assert load(out)["station"].item() == "Wien, 1. Bezirk"


def with_texts(factor: int, *names: str) -> xr.Dataset:
    variables = {
        "t": (("station", "time"), np.arange(6, dtype="float32").reshape(2, 3) * factor),
        "q": ("time", np.arange(3.0) * factor),
        "station_name": ("station", np.array(names)),
        "title": ((), "hello"),
    }
    return xr.Dataset(variables)


@pytest.mark.parametrize("kind", FORMATS)
def test_texts_along_axes_go_with_a_variable_and_others_are_left_out(tmp_path: Path, kind: str) -> None:
    """A file with a text beside its numbers was refused as a whole; NCO's ncdiff copies texts of A."""
    one, two = (save(with_texts(k, "Oslo", "Bergen"), tmp_path, f"a{k}", kind) for k in (1, 3))
    out = str(tmp_path / f"c.{FORMATS[kind]}")
    noted = subtract_files(one, two, out).notes
    (note,) = (note for note in noted if "texts" in note)
    assert re.fullmatch(f"{re.escape(one)} holds texts along the axes of no [a-z]+, which are left out: 'title'", note)
    found = load(out)
    assert set(found.variables) == {"t", "q", "station_name"}
    assert found["station_name"].values.tolist() == ["Oslo", "Bergen"]
    np.testing.assert_array_equal(found["t"], -2 * np.arange(6.0).reshape(2, 3))
    other = save(with_texts(3, "Oslo", "Rome"), tmp_path, "b", kind)
    noted = subtract_files(one, other, str(tmp_path / f"d.{FORMATS[kind]}")).notes
    lacks = "A and B have different values of what belongs to others, which the difference lacks: texts 'station_name'"
    assert lacks in noted
    assert set(load(str(tmp_path / f"d.{FORMATS[kind]}")).variables) == {"t", "q"}
    for selected in ("station_name", "title"):
        with pytest.raises(DTypeError, match="subtraction is"):
            subtract_files(f"{one}::{selected}", f"{two}::{selected}", str(tmp_path / f"e.{FORMATS[kind]}"))


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_of_texts_alone_is_refused(tmp_path: Path, kind: str) -> None:
    path = save(with_texts(1, "Oslo", "Bergen")[["station_name", "title"]], tmp_path, "a", kind)
    with pytest.raises(DTypeError, match="subtraction is"):
        subtract_files(path, path, str(tmp_path / f"c.{FORMATS[kind]}"))


@pytest.mark.parametrize("kind", FORMATS)
def test_several_values_of_nodata_become_one(tmp_path: Path, kind: str) -> None:
    stated = {"_FillValue": np.int16(-9), "missing_value": np.array([-8, -7], "int16")}
    a = xr.Dataset({"v": ("x", np.array([1, -9, -8, -7, 5], "int16"), stated)})
    b = xr.Dataset({"v": ("x", np.array([1, 1, 1, 1, -8], "int16"), stated)})
    one, two = save(a, tmp_path, "a", kind), save(b, tmp_path, "b", kind)
    out = str(tmp_path / f"c.{FORMATS[kind]}")
    noted = subtract_files(one, two, out).notes
    assert len(noted) == 2
    assert noted[0].endswith("'v' states the nodata values -9 and -8 and -7: its difference has -9 for each of them")
    np.testing.assert_array_equal(load(out)["v"], [0, np.nan, np.nan, np.nan, np.nan])


def of_unit(tmp_path: Path, name: str, kind: str, units: str, along: str = "degrees_north") -> str:
    coordinates = {"lat": ("lat", np.arange(3.0), {"units": along})}
    made = xr.Dataset({"v": ("lat", np.arange(3, dtype="int32"), {"units": units})}, coordinates)
    return save(made, tmp_path, name, kind)


@pytest.mark.parametrize("kind", FORMATS)
def test_numbers_of_different_units_are_refused(tmp_path: Path, kind: str) -> None:
    """xarray's difference has no units then; A's would be wrong."""
    one, two, out = of_unit(tmp_path, "a", kind, "K"), of_unit(tmp_path, "b", kind, "degC"), tmp_path / "c.h5"
    with pytest.raises(FileFormatError) as caught:
        subtract_files(one, two, str(out))
    assert not out.exists()
    assert str(caught.value) == (
        "A and B have different units: 'K' and 'degC'; nothing is converted, convert one of them first, or, if both "
        "texts mean one unit, write it alike (ncatted -a units,…)"
    )
    two = of_unit(tmp_path, "d", kind, "kelvin", along="degree_north")
    subtract_files(one, two, str(out))
    assert load(str(out))["v"].attrs["units"] == "K"


@pytest.mark.parametrize(
    ("units", "others", "found"),
    [
        ("days since 2000-01-01", "days", "days since 2000-01-01"),
        ("days since 2000-01-01", "hours", ""),
        ("days", "days since 2000-01-01", ""),
    ],
)
def test_a_moment_less_a_duration_is_a_moment(tmp_path: Path, units: str, others: str, found: str) -> None:
    one, two, out = of_unit(tmp_path, "a", "nc", units), of_unit(tmp_path, "b", "nc", others), tmp_path / "c.nc"
    if found:
        subtract_files(one, two, str(out))
        assert load(str(out), decode_times=False)["v"].attrs["units"] == found
    else:
        with pytest.raises(FileFormatError, match="A and B have different units"):
            subtract_files(one, two, str(out))
    assert out.exists() is bool(found)


def test_axes_are_not_transposed_where_one_of_them_has_one_element(tmp_path: Path) -> None:
    """Along each other by their places, 3 × 1 and 1 × 3 would give 3 × 3."""
    a = xr.Dataset({"v": (("lat", "lon"), np.ones((3, 1), "int32"))})
    one, two, out = (
        save(a, tmp_path, "a", "nc"),
        save(a.transpose("lon", "lat"), tmp_path, "b", "nc"),
        tmp_path / "c.nc",
    )
    with pytest.raises(FileFormatError) as caught:
        subtract_files(one, two, str(out))
    assert not out.exists()
    assert str(caught.value).startswith(f"axis 0 is 'lat' in {one} and 'lon' in {two}; nothing is transposed, ")


@pytest.mark.parametrize("version", [2, 3])
def test_an_overflow_is_reported_where_a_chunked_operand_is_repeated(tmp_path: Path, version: int) -> None:
    """The grid of A's chunks is no grid of a difference of another shape."""
    for name, shape in (("a", ()), ("b", (3,))):
        made = zarr.create_array(tmp_path / f"{name}.zarr", shape=shape, dtype="uint8", zarr_format=version)
        made[...] = 1 if name == "a" else [0, 1, 2]
    a, b = str(tmp_path / "a.zarr"), str(tmp_path / "b.zarr")
    with pytest.raises(OverflowError, match=r"1 of 3 differences do not fit uint8 .* at index \(2,\): 1 - 2 = -1"):
        subtract_files(a, b, str(tmp_path / "c.npy"), overflow="error")
    (found,) = compare_files(a, b).tensors
    assert found.name == "difference"


@pytest.mark.parametrize("suffix", ["nc", "zarr"])
def test_a_moment_that_is_none_has_no_data(tmp_path: Path, suffix: str) -> None:
    xarray = pytest.importorskip("xarray")
    one, other, out = (str(tmp_path / f"{stem}.{suffix}") for stem in "abc")
    for path, days in ((one, ["2000-01-03", "NaT"]), (other, ["2000-01-01", "2000-01-02"])):
        made = xarray.Dataset({"t": ("x", np.array(days, "M8[ns]"))})
        made.t.encoding = {"units": "hours since 1999-01-01", "dtype": "int64"}
        made.to_zarr(path) if suffix == "zarr" else made.to_netcdf(path)
    (tensor,) = subtract_files(one, other, out).tensors
    assert (tensor.overflowed, tensor.low, tensor.high, tensor.nodata) == (0, 48, 48, 1)


def test_a_difference_of_flags_means_none_of_them(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path, out = str(tmp_path / "a.h5"), str(tmp_path / "c.h5")
    with h5py.File(path, "w") as file:
        file["q"] = np.arange(3, dtype="int8")
        file["q"].attrs.update({"flag_values": np.int8([0, 1, 2]), "flag_meanings": "a b c", "long_name": "quality"})
    subtract_files(path, path, out)
    with h5py.File(out) as file:
        assert dict(file["q"].attrs) == {"long_name": "quality"}


@pytest.mark.parametrize("kind", FORMATS)
def test_cells_of_other_extents_are_refused(tmp_path: Path, kind: str) -> None:
    """Sums over six hours and over a day may have one time each; their difference has the bounds of neither."""
    a, b, out = weather(1), weather(2).rename(lat_bnds="lat_bounds"), str(tmp_path / f"c.{FORMATS[kind]}")
    b["lat"].attrs["bounds"] = "lat_bounds"
    one = save(a, tmp_path, "a", kind)
    subtract_files(one, save(b, tmp_path, "b", kind), out)
    agrees(load(out), load(one), load(str(tmp_path / f"b.{FORMATS[kind]}")).rename(lat_bounds="lat_bnds"))
    b["lat_bounds"] = b["lat_bounds"] + [[0.0, 0.0], [0.0, 0.25], [0.25, 0.0]]
    other = save(b, tmp_path, "d", kind)
    with pytest.raises(FileFormatError) as caught:
        subtract_files(one, other, str(tmp_path / "e.nc"))
    assert str(caught.value).startswith(
        "A and B have different bounds of the coordinates 'lat': at 1, 1 A has 51.5 and B 51.75; nothing is aligned"
    )
    assert not (tmp_path / "e.nc").exists()


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("height", "edge"), [(2.0, 4.0), (2.0, 5.0), (3.0, 4.0)])
def test_a_single_coordinate_goes_with_its_bounds(tmp_path: Path, kind: str, height: float, edge: float) -> None:
    def level(height: float, edge: float) -> Any:
        found = xr.Dataset({"v": ("x", np.arange(3.0)), "edges": ("nv", [0.0, edge])}, {"height": height})
        found["height"].attrs = {"units": "m", "bounds": "edges"}
        found["v"].encoding["coordinates"] = "height"
        return found

    out = str(tmp_path / f"c.{FORMATS[kind]}")
    subtract_files(
        save(level(2.0, 4.0), tmp_path, "a", kind), save(level(height, edge), tmp_path, "b", kind), out, common=True
    )
    assert set(load(out).coords) == ({"height", "edges"} if (height, edge) == (2.0, 4.0) else set())
    assert set(load(out).data_vars) == {"v"}


@pytest.mark.parametrize("kind", FORMATS)
def test_coordinates_along_other_axes_are_refused(tmp_path: Path, kind: str) -> None:
    v, out = (("y", "x"), np.zeros((3, 3))), tmp_path / "c.nc"
    places = [(("y", "x"), np.ones((3, 3))), ("y", np.full(3, 2.0)), ("x", np.full(3, 2.0))]
    one, two, three = (save(xr.Dataset({"v": v}, {"lat": at}), tmp_path, f"{k}", kind) for k, at in enumerate(places))
    for a, b, shown in ((one, two, "'y', 'x' and 'y'"), (two, three, "'y' and 'x'")):
        with pytest.raises(FileFormatError) as caught:
            subtract_files(a, b, str(out))
        assert str(caught.value).startswith(f"A and B have coordinates 'lat' along different axes: {shown}; nothing is")
    assert not out.exists()


@pytest.mark.parametrize("kind", FORMATS)
def test_every_system_that_a_variable_names_is_compared_and_goes_with_it(tmp_path: Path, kind: str) -> None:
    def place(height: float) -> Any:
        stated = {"grid_mapping": "crs: x y upright: z"}
        systems = {"crs": ((), 0, {"grid_mapping_name": "x"}), "upright": ((), 0, {"reference": height})}
        along = {name: np.arange(2.0) for name in "zyx"}
        return xr.Dataset({"v": (tuple("zyx"), np.zeros((2, 2, 2)), stated), **systems}, along)

    one, out = save(place(1.0), tmp_path, "a", kind), str(tmp_path / f"c.{FORMATS[kind]}")
    subtract_files(one, one, out)
    assert set(load(out).variables) == {"v", "x", "y", "z", "crs", "upright"}
    assert load(out)["v"].encoding["grid_mapping"] == "crs: x y upright: z"
    assert load(out)["upright"].attrs == {"reference": 1.0}
    with pytest.raises(FileFormatError, match=r"different coordinate systems: .* states the reference .*1.0"):
        subtract_files(one, save(place(2.0), tmp_path, "b", kind), str(tmp_path / "d.nc"))


@pytest.mark.parametrize(
    ("of_a", "of_b", "alike"),
    [
        ({"crs_wkt": "x"}, {}, True),
        ({}, {"spatial_ref": "x", "GeoTransform": "0 1 0 0 0 1"}, True),
        ({"GeoTransform": "0.0 1.0 0.0 0.0 0.0 1.0"}, {"GeoTransform": "0 1 0 0 0 1 "}, True),
        ({"GeoTransform": "0 2 0 0 0 1"}, {"GeoTransform": "0 1 0 0 0 1 "}, False),
        ({"crs_wkt": "x"}, {"crs_wkt": "y"}, False),
        ({"crs_wkt": "x", "grid_mapping_name": None}, {}, False),
        ({"GeoTransform": "0 1 0 0 0 1", "place": None}, {"place": None}, False),
    ],
)
def test_a_text_of_a_system_that_one_side_leaves_out_makes_no_other(
    tmp_path: Path, of_a: dict[str, Any], of_b: dict[str, Any], alike: bool
) -> None:
    """GDAL and rioxarray write the system as WKT too, and CDO does not."""
    paths = [str(tmp_path / f"{name}.nc") for name in "abc"]
    for path, own in zip(paths[:2], (of_a, of_b), strict=True):
        stated = {"grid_mapping_name": "mercator", "false_easting": 5.0} | own
        along = {"x": [1.0, 2.0]} if "place" not in own else {}
        stated = {name: value for name, value in stated.items() if value is not None}
        variables = {"v": ("x", np.ones(2), {"grid_mapping": "crs"}), "crs": ((), 0, stated)}
        xr.Dataset(variables, along).to_netcdf(path, engine="h5netcdf")
    if alike:
        subtract_files(paths[0], paths[1], paths[2])
        return
    with pytest.raises(FileFormatError, match="A and B have different coordinate systems"):
        subtract_files(paths[0], paths[1], paths[2])


@pytest.mark.parametrize(
    ("calendars", "since", "alike"),
    [
        (("standard", "gregorian"), ("2000-01-01", "2000-1-1 00:00:00"), True),
        ((None, "Gregorian"), ("2000-01-01 06:00", "2000-01-01T06:00:00Z"), True),
        (("noleap", "365_day"), ("1-1-1", "0001-01-01 0:0:0.0"), True),
        (("standard", "proleptic_gregorian"), ("1582-10-15", "1582-10-15"), True),
        (("standard", "proleptic_gregorian"), ("1582-10-14", "1582-10-14"), False),
        (("standard", "noleap"), ("2000-01-01", "2000-01-01"), False),
        ((None, None), ("2000-01-01", "2000-01-01 +01:00"), False),
        ((None, None), ("2000-01-01", "2000-01-02"), False),
        ((None, None), ("the start", "the end"), False),
    ],
)
def test_a_time_in_two_spellings_is_one(
    tmp_path: Path, calendars: tuple[str | None, ...], since: tuple[str, ...], alike: bool
) -> None:
    paths = {}
    for name, calendar, origin in zip("ab", calendars, since, strict=True):
        stated = {"units": f"{'days' if name == 'a' else 'day'} since {origin}"}
        stated |= {"calendar": calendar} if calendar else {}
        made = xr.Dataset(
            {"v": ("time", np.arange(3.0)), "t": ("x", np.arange(3.0), stated)},
            {"time": ("time", np.arange(3.0), stated)},
        )
        paths[name] = save(made, tmp_path, name, "nc")
    for variable in "vt":
        names, out = [f"{path}::{variable}" for path in paths.values()], tmp_path / f"{variable}.nc"
        if alike and not (variable == "t" and "proleptic_gregorian" in calendars):  # nobody looks whether t is before
            subtract_files(*names, str(out))
            assert out.exists()
            continue
        with pytest.raises(FileFormatError, match=r"A and B (have coordinates 'time' of diff|are counted from diff)"):
            subtract_files(*names, str(out))
        assert not out.exists()


def test_moments_before_the_reform_are_others_in_two_calendars(tmp_path: Path) -> None:
    for name, calendar in (("a", "standard"), ("b", "proleptic_gregorian")):
        stated = {"units": "days since 1900-01-01", "calendar": calendar}
        made = xr.Dataset({"v": ("time", np.zeros(2))}, {"time": ("time", [-1.0, 1.0], stated)})
        save(made, tmp_path, name, "nc")
    with pytest.raises(FileFormatError, match="coordinates 'time' of different calendar"):
        subtract_files(str(tmp_path / "a.nc"), str(tmp_path / "b.nc"), str(tmp_path / "c.nc"))


@pytest.mark.parametrize(("one", "other", "alike"), [("up", "down", False), ("up", "Up", True), ("up", None, True)])
def test_heights_are_no_depths(tmp_path: Path, one: str, other: str | None, alike: bool) -> None:
    for name, positive in (("a", one), ("b", other)):
        stated = {"units": "m"} | ({"positive": positive} if positive else {})
        save(xr.Dataset({"v": ("z", np.zeros(2))}, {"z": ("z", [1.0, 2.0], stated)}), tmp_path, name, "nc")
    paths = [str(tmp_path / f"{name}.nc") for name in "abc"]
    if alike:
        subtract_files(*paths)
        return
    with pytest.raises(FileFormatError, match="coordinates 'z' of different positive: 'up' and 'down'"):
        subtract_files(*paths)


@pytest.mark.parametrize("version", [2, 3])
def test_a_system_as_gdal_states_it_in_zarr_is_compared(tmp_path: Path, version: int) -> None:
    def array(name: str, **system: object) -> str:
        made = zarr.create_array(tmp_path / name, shape=(3,), dtype="int16", zarr_format=version)
        made.attrs["_CRS"] = system
        return str(tmp_path / name)

    url = "http://www.opengis.net/def/crs/EPSG/0/"
    a, b = array("a.zarr", url=f"{url}32633", wkt="x"), array("b.zarr", url=f"{url}32634", wkt="x")
    with pytest.raises(
        FileFormatError, match=r"are not read alike: _CRS \(url\) is http\S*/32633 in A and http\S*/32634 in B"
    ):
        subtract_files(a, b, str(tmp_path / "c.zarr"))
    assert not (tmp_path / "c.zarr").exists()
    for name, other in (("d", array("e.zarr", url=f"{url}32633", wkt="y")), ("f", array("g.zarr", wkt="y"))):
        subtract_files(a, other, str(tmp_path / f"{name}.zarr"))
        assert zarr.open_array(tmp_path / f"{name}.zarr").attrs["_CRS"]["url"] == f"{url}32633"


@pytest.mark.parametrize("kind", FORMATS)
def test_scales_of_coordinates_are_shown_as_numbers(tmp_path: Path, kind: str) -> None:
    for name, scale in (("a", 0.5), ("b", 0.25)):
        save(xr.Dataset({"v": ("z", np.zeros(2))}, {"z": ("z", [1, 2], {"scale_factor": scale})}), tmp_path, name, kind)
    a, b = (str(tmp_path / f"{name}.{FORMATS[kind]}") for name in "ab")
    with pytest.raises(FileFormatError, match=r"coordinates 'z' of different scale_factor: 0\.5 and 0\.25; bring"):
        subtract_files(a, b, str(tmp_path / "c.nc"))


def model(seed: int, **changed: Any) -> Any:
    """A climate model's temperature on levels of hybrid pressure, with all that CF has it name."""
    numbers = np.random.default_rng(seed)
    along = ("time", "lev", "lat", "lon")
    named = {"cell_measures": "area: cells", "ancillary_variables": "ta_flag ta_error"}
    of_levels = "p0: p0 a: a b: b ps: ps"
    cells = np.arange(6.0).reshape(3, 2)
    found = xr.Dataset(
        {
            "ta": (along, numbers.random((2, 3, 2, 3)), {"units": "K", **named}),
            "ps": (("time", "lat", "lon"), np.arange(12.0).reshape(2, 2, 3), {"units": "Pa"}),
            "a": ("lev", [0.1, 0.2, 0.3]),
            "b": ("lev", [0.9, 0.5, 0.1]),
            "p0": ((), 1e5, {"units": "Pa"}),
            "a_bnds": (("lev", "edge"), cells),
            "b_bnds": (("lev", "edge"), cells),
            "lev_bnds": (("lev", "edge"), cells, {"formula_terms": "p0: p0 a: a_bnds b: b_bnds ps: ps"}),
            "cells": (("lat", "lon"), np.arange(6.0).reshape(2, 3), {"units": "m2"}),
            "ta_flag": (
                along,
                np.ones((2, 3, 2, 3), np.int8),
                {"flag_values": np.array([0, 1], np.int8), "flag_meanings": "y n"},
            ),
            "ta_error": (along, np.full((2, 3, 2, 3), 0.5)),
        },
        {
            "lev": ("lev", [1.0, 2.0, 3.0], {"formula_terms": of_levels, "bounds": "lev_bnds", "positive": "down"}),
            "lat": ("lat", [1.0, 2.0]),
        },
    )
    for name, value in changed.items():
        found[name] = found[name] + value
    return found


def test_what_a_variable_names_belongs_to_it_as_xarray_has_it(tmp_path: Path) -> None:
    """xarray lists all of it but for ancillary variables as coordinates."""
    path = save(model(1), tmp_path, "a", "nc")
    whole = load(path)
    assert set(whole.data_vars) == {"ta", "ta_flag", "ta_error"}
    assert list(open_tensors(path)) == ["ta"]


@pytest.mark.parametrize("kind", FORMATS)
def test_what_a_variable_names_goes_with_it_and_is_not_subtracted(tmp_path: Path, kind: str) -> None:
    """The difference of two levels' terms would be 0, and define levels of no pressure."""
    one, two = save(model(1), tmp_path, "a", kind), save(model(2), tmp_path, "b", kind)
    out = str(tmp_path / f"c.{FORMATS[kind]}")
    noted = subtract_files(one, two, out).notes
    assert noted[0].startswith(f"{one} holds what belongs to other ")
    assert noted[0].endswith("'a', 'a_bnds', 'b', 'b_bnds', 'cells', 'p0', 'ps', 'ta_error', 'ta_flag'")
    found, a, b = load(out), load(one), load(two)
    np.testing.assert_array_equal(found["ta"], a["ta"] - b["ta"])
    assert set(found.variables) == set(a.variables)
    for name in a.variables.keys() - {"ta"}:
        np.testing.assert_array_equal(found[name], a[name])
        assert str(found[name].attrs) == str(a[name].attrs), name
    assert found["lev"].encoding["formula_terms"] == a["lev"].encoding["formula_terms"]
    assert found["ta"].encoding["cell_measures"] == "area: cells"


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("name", "of"), [("a", ""), ("p0", ""), ("b_bnds", "bounds of the ")])
def test_levels_of_other_terms_are_refused(tmp_path: Path, kind: str, name: str, of: str) -> None:
    one, two = save(model(1), tmp_path, "a", kind), save(model(2, **{name: 1.0}), tmp_path, "b", kind)
    out = tmp_path / f"c.{FORMATS[kind]}"
    with pytest.raises(FileFormatError) as caught:
        subtract_files(one, two, str(out))
    assert str(caught.value).startswith(
        f"A and B have different formula_terms {name[:2].strip('_')!r} of the {of}coordinates 'lev': at "
    )
    assert not out.exists()


@pytest.mark.parametrize("kind", FORMATS)
def test_what_belongs_to_a_variable_and_differs_is_left_out(tmp_path: Path, kind: str) -> None:
    """As in xarray; the surface pressures of two runs do, and are subtracted where they are selected."""
    changed = {"ps": 5.0, "cells": 1.0, "ta_flag": np.int8(1)}
    one, two = save(model(1), tmp_path, "a", kind), save(model(2, **changed), tmp_path, "b", kind)
    out = str(tmp_path / f"c.{FORMATS[kind]}")
    noted = subtract_files(one, two, out).notes
    assert (
        "A and B have different values of what belongs to others, which the difference lacks: ancillary_variables "
        "'ta_flag', cell_measures 'area', formula_terms 'ps' of the coordinates 'lev'"
    ) in noted
    found = load(out)
    assert set(found.variables) == {"ta", "ta_error", "lev", "lat", "lev_bnds"}
    assert found["ta"].attrs == {"units": "K", "ancillary_variables": "ta_error"}
    assert not any("formula_terms" in {**found[name].attrs, **found[name].encoding} for name in found.variables)
    selected = str(tmp_path / f"d.{FORMATS[kind]}")
    subtract_files(f"{one}::ps", f"{two}::ps", selected)
    assert (load(selected)["ps"] == -5).all()


@pytest.mark.parametrize("kind", FORMATS)
def test_a_term_that_is_subtracted_defines_no_levels(tmp_path: Path, kind: str) -> None:
    one, two = save(model(1), tmp_path, "a", kind), save(model(2, a=1.0), tmp_path, "b", kind)
    out = str(tmp_path / f"c.{FORMATS[kind]}")
    subtract_files(f"{one}::a", f"{two}::a", out)
    found = load(out)
    np.testing.assert_allclose(found["a"], -1)
    assert set(found.variables) == {"a", "lev", "lev_bnds"}
    assert not any("formula_terms" in {**found[name].attrs, **found[name].encoding} for name in ("lev", "lev_bnds"))


@pytest.mark.parametrize("kind", FORMATS)
def test_variables_that_name_each_other_are_all_subtracted(tmp_path: Path, kind: str) -> None:
    of = {"v": "w", "w": "v"}
    path = save(xr.Dataset({n: ("x", np.ones(2), {"ancillary_variables": of[n]}) for n in of}), tmp_path, "a", kind)
    assert sorted(open_tensors(path)) == ["v", "w"]
    subtract_files(path, path, str(tmp_path / f"c.{FORMATS[kind]}"))
    alone = model(1).drop_vars("ta")
    for name in ("ta_flag", "ta_error"):
        del alone[name]
    assert "ps" in open_tensors(save(alone, tmp_path, "b", kind))


@pytest.mark.parametrize("kind", FORMATS)
def test_a_cell_measure_in_another_file_stays_named(tmp_path: Path, kind: str) -> None:
    made = xr.Dataset({"v": ("x", np.ones(2), {"cell_measures": "area: areacella"})})
    path, out = save(made, tmp_path, "a", kind), str(tmp_path / f"c.{FORMATS[kind]}")
    subtract_files(path, path, out)
    assert load(out, decode_cf=False)["v"].attrs["cell_measures"] == "area: areacella"


def basins(move: float = 0.0, *, mesh: bool = False) -> Any:
    """Rain in polygons, or on the faces of a mesh."""
    container = {"geometry_type": "polygon", "node_count": "count", "node_coordinates": "x y"}
    if mesh:
        container = {"cf_role": "mesh_topology", "node_coordinates": "x y", "face_node_connectivity": "count"}
    counts = ("face", np.array([3, 3], np.int32))
    named = {"mesh" if mesh else "geometry": "places"}
    return xr.Dataset(
        {
            "rain": ("face", np.array([1.0, 2.0 + move]), named),
            "places": ((), np.int32(0), container),
            "count": counts,
            "x": ("node", np.arange(6.0), {"axis": "X", "units": "degrees_east"}),
            "y": ("node", np.arange(6.0) + move, {"axis": "Y", "units": "degrees_north"}),
        }
    )


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("mesh", [False, True])
def test_geometries_and_meshes_are_compared_and_go_with_a_variable(tmp_path: Path, kind: str, mesh: bool) -> None:
    one, out = save(basins(mesh=mesh), tmp_path, "a", kind), str(tmp_path / f"c.{FORMATS[kind]}")
    assert list(open_tensors(one)) == ["rain"]
    subtract_files(one, one, out)
    found, a = load(out, decode_cf=False), load(one, decode_cf=False)
    assert set(found.variables) == set(a.variables)
    for name in a.variables.keys() - {"rain"}:
        np.testing.assert_array_equal(found[name], a[name])
        assert {key: value for key, value in found[name].attrs.items() if key != "_FillValue"} == {
            key: value for key, value in a[name].attrs.items() if key != "_FillValue"
        }
    called = "mesh" if mesh else "geometry"
    with pytest.raises(FileFormatError, match=f"different node_coordinates 2 of the {called}: at 0 A has 0.0 and B 1"):
        subtract_files(one, save(basins(1.0, mesh=mesh), tmp_path, "b", kind), str(tmp_path / "d.nc"))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("index", [False, True])
def test_counts_of_ragged_arrays_are_compared_and_go_with_a_variable(tmp_path: Path, kind: str, index: bool) -> None:
    """Drifters of 2 and 3 moments, one behind the other."""

    def drifters(*counts: int) -> Any:
        which = np.repeat(np.arange(2), counts)
        said = ("moment", which, {"instance_dimension": "drifter"}) if index else None
        return xr.Dataset(
            {
                "depth": ("moment", np.arange(5.0)),
                "rows": said or ("drifter", np.array(counts), {"sample_dimension": "moment"}),
                "drogue": ("drifter", np.array([1.0, 2.0])),
            }
        )

    one, out = save(drifters(2, 3), tmp_path, "a", kind), str(tmp_path / f"c.{FORMATS[kind]}")
    subtract_files(one, one, out)
    assert sorted(open_tensors(one)) == ["depth", "drogue"]
    np.testing.assert_array_equal(load(out)["rows"], load(one)["rows"])
    with pytest.raises(FileFormatError, match="A and B have different counts 'rows': at "):
        subtract_files(one, save(drifters(3, 2), tmp_path, "b", kind), str(tmp_path / "d.nc"))


@pytest.mark.parametrize("kind", FORMATS)
def test_scaled_numbers_that_wrap_around_are_reported_as_others(tmp_path: Path, kind: str) -> None:
    """ERA5's fill all of int16, so that many differences do not fit it."""
    stated = {"scale_factor": 0.5, "add_offset": 9.0}
    one, two = (
        save(xr.Dataset({"v": ("x", np.array(of, np.int16), stated)}), tmp_path, name, kind)
        for name, of in (("a", [32000, 0]), ("b", [-32000, 0]))
    )
    out = str(tmp_path / f"c.{FORMATS[kind]}")
    (note,) = subtract_files(one, two, out).notes
    assert note.startswith("1 differences of scaled numbers wrap around and mean other values than A - B: --overflow ")
    wide = str(tmp_path / f"d.{FORMATS[kind]}")
    assert subtract_files(one, two, wide, overflow="widen").notes == ()
    np.testing.assert_array_equal(load(wide)["v"], [32000.0, 0.0])


@pytest.mark.parametrize("kind", FORMATS)
def test_levels_of_another_formula_are_refused(tmp_path: Path, kind: str) -> None:
    """Level 1 of two models is another height, though both count from 1."""
    other = model(2)
    other["lev"].attrs["formula_terms"] = "p0: p0 sigma: b ps: ps"
    one, two = save(model(1), tmp_path, "a", kind), save(other, tmp_path, "b", kind)
    with pytest.raises(FileFormatError) as caught:
        subtract_files(one, two, str(tmp_path / "c.nc"), common=True)
    assert str(caught.value).startswith(
        "A and B have coordinates 'lev' of different formula_terms: 'a', 'b', 'p0', 'ps' and 'p0', 'ps', 'sigma'; "
    )


@pytest.mark.parametrize("kind", FORMATS)
def test_a_difference_is_not_quantised(tmp_path: Path, kind: str) -> None:
    """As CF 1.12 states it, in a variable without numbers."""
    made = xr.Dataset(
        {
            "v": ("x", np.ones(2), {"quantization": "bits", "quantization_nsb": 9, "units": "K"}),
            "bits": ((), np.bytes_(b""), {"algorithm": "bitround"}),
        }
    )
    path, out = save(made, tmp_path, "a", kind), str(tmp_path / f"c.{FORMATS[kind]}")
    assert subtract_files(path, path, out).notes == ()
    found = load(out, decode_cf=False)
    assert set(found.variables) == {"v"}
    assert {name for name in found["v"].attrs if name != "_FillValue"} == {"units"}
