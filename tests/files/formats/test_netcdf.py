"""netCDF: variables with what belongs to them, classic files and netCDF-4, coordinates, packing, and bad input."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minuend as mn
from minuend.core.elements import TYPES
from minuend.errors import MinuendError
from minuend.files import open_tensors
from minuend.files.base import Result
from minuend.files.difference import subtract_files
from minuend.files.formats.netcdf import check

h5py = pytest.importorskip("h5py")

CLASSIC = Path(__file__).parents[2] / "data" / "netcdf"
LAT, LON, TIME = np.linspace(50, 60, 6), np.linspace(0, 10, 8), np.arange(2.0)
SYSTEM = {"grid_mapping_name": "latitude_longitude", "semi_major_axis": 6378137.0}


def pixels(seed: int, shape: tuple[int, ...] = (2, 6, 8), dtype: str = "int16") -> Any:
    return np.random.default_rng(seed).integers(0, 200, shape).astype(dtype)


class File:
    """A netCDF-4 file made by hand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = h5py.File(path, "w", track_order=True)
        self.file.attrs["title"] = "by hand"

    def scale(self, name: str, values: Any, **attributes: Any) -> None:
        self.file[name] = values
        self.file[name].make_scale(name.rpartition("/")[2])
        self.file[name].attrs.update(attributes)

    def bare(self, name: str, size: int) -> None:
        self.file[name] = np.zeros(size, ">f4")
        self.file[name].make_scale(f"This is a netCDF dimension but not a netCDF variable.{size:10}")

    def variable(self, name: str, values: Any, *dims: str, options: Any = None, **attributes: Any) -> None:
        dataset = self.file.create_dataset(name, data=values, **(options or {}))
        for k, dim in enumerate(dims):
            dataset.dims[k].attach_scale(self.file[dim])
        dataset.attrs.update(attributes)

    def done(self) -> str:
        self.file.close()
        return str(self.path)


def scene(path: Path, array: Any, *, options: Any = None, lat: Any = LAT, lat_units: str = "degrees_north",
          system: Any = SYSTEM, date: float = 3.0, **attributes: Any) -> str:  # fmt: skip
    made = File(path)
    made.scale("time", TIME, units="days since 2000-01-01", calendar="standard")
    if lat is None:
        made.bare("lat", 6)
    else:
        made.scale("lat", lat, units=lat_units)
    made.scale("lon", LON, bounds="lon_bnds")
    made.bare("nv", 2)
    made.variable("lon_bnds", np.zeros((8, 2)), "lon", "nv")
    made.variable("crs", np.int32(0), **(system or {}))
    made.variable("date", date, units="days")
    made.variable("slope", np.ones((6, 8), np.float32), "lat", "lon")
    mapping = {} if system is None else {"grid_mapping": "crs"}
    attributes = {"units": "K", "coordinates": "date slope", "valid_max": np.int16(9), **mapping, **attributes}
    made.variable("band", array, "time", "lat", "lon", options=options, **attributes)
    return made.done()


def refused(a: str, b: str, out: Path) -> str:
    with pytest.raises(MinuendError) as caught:
        subtract_files(a, b, str(out))
    assert not out.exists()
    return str(caught.value)


# ---- what is taken over ---------------------------------------------------------------------------------------------


def test_what_belongs_to_a_variable_goes_with_it(tmp_path: Path) -> None:
    a, b = pixels(1), pixels(2)
    packed = {"chunks": (1, 3, 4), "compression": "gzip", "shuffle": True}
    one, two = scene(tmp_path / "a.nc", a, options=packed), scene(tmp_path / "b.nc", b, date=4.0)
    assert list(open_tensors(one)) == ["band"]
    subtract_files(one, f"{two}::band", str(tmp_path / "c.nc"), overflow="widen")
    with h5py.File(tmp_path / "c.nc") as file:
        found = file["band"]
        assert np.array_equal(found[...], a.astype(np.int32) - b)
        assert (found.chunks, found.compression, found.shuffle) == ((1, 3, 4), "gzip", True)
        assert [found.dims[k][0].name for k in range(3)] == ["/time", "/lat", "/lon"]
        text = {name: value.decode() for name, value in found.attrs.items() if isinstance(value, bytes)}
        # The dates differ, so that there is none of the difference; nor do A's limits hold for it.
        assert text == {"units": "K", "coordinates": "slope", "grid_mapping": "crs"}
        assert "valid_max" not in found.attrs
        assert "date" not in file
        assert (file["lat"][...].tolist(), file["lat"].attrs["units"]) == (LAT.tolist(), b"degrees_north")
        assert (
            file["lon_bnds"].dims[1][0].attrs["NAME"]
            == b"This is a netCDF dimension but not a netCDF variable.         2"
        )
        assert (file["crs"].attrs["semi_major_axis"], file.attrs["title"]) == (6378137.0, b"by hand")
        assert sorted(file[name].attrs["_Netcdf4Dimid"] for name in ("time", "lat", "lon", "nv")) == [0, 1, 2, 3]


def test_xarray_reads_what_is_written(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    a, b = pixels(1), pixels(2)
    one = scene(tmp_path / "a.nc", a, _FillValue=np.int16(7), scale_factor=0.5, add_offset=10.0)
    two = scene(tmp_path / "b.nc", b, _FillValue=np.int16(7), scale_factor=0.5, add_offset=10.0)
    subtract_files(one, two, str(tmp_path / "c.nc"))
    names = [tmp_path / name for name in ("a.nc", "b.nc", "c.nc")]
    x, y, z = (xarray.open_dataset(name, engine="h5netcdf", decode_coords="all").load() for name in names)
    expected = x.band - y.band
    real = z.band.notnull() | expected.isnull() | (expected == 3.5)  # a real difference may be the nodata value
    assert bool(real.all())
    assert bool(((z.band == expected) | z.band.isnull()).all())
    assert set(z.coords) == {"time", "lat", "lon", "lon_bnds", "slope", "crs", "date"}
    assert (z.band.dims, z.band.encoding["scale_factor"], "add_offset" in z.band.encoding) == (x.band.dims, 0.5, False)
    assert all(z[name].identical(x[name]) for name in ("time", "lon"))
    assert z.attrs == {"title": "by hand"}


def test_a_dimension_that_grows_still_does(tmp_path: Path) -> None:
    path = str(CLASSIC / "cdf1.nc")
    subtract_files(f"{path}::b", f"{path}::b", str(tmp_path / "c.nc"))
    with h5py.File(tmp_path / "c.nc", "a") as file:
        assert (file["b"].maxshape, file["t"].maxshape, file["y"].maxshape) == ((None, 3, 5), (None,), (3,))
        file["b"].resize(9, axis=0)


def test_groups_hold_variables_and_dimensions(tmp_path: Path) -> None:
    for name, seed in (("a.nc", 1), ("b.nc", 2)):
        made = File(tmp_path / name)
        made.scale("x", np.arange(4.0))
        made.file.create_group("g").attrs["level"] = 2
        made.bare("g/y", 3)
        made.variable("g/band", pixels(seed, (3, 4)), "g/y", "x")
        made.variable("g/_nc4_non_coord_y", pixels(seed + 2, (4,)), "x")
        made.done()
    one, two = (str(tmp_path / name) for name in ("a.nc", "b.nc"))
    assert sorted(open_tensors(one)) == ["g/band", "g/y"]
    subtract_files(one, two, str(tmp_path / "c.nc"))
    with h5py.File(tmp_path / "c.nc") as file:
        assert np.array_equal(file["g/band"], mn.subtract(pixels(1, (3, 4)), pixels(2, (3, 4))))
        assert np.array_equal(file["g/_nc4_non_coord_y"], mn.subtract(pixels(3, (4,)), pixels(4, (4,))))
        assert [dim[0].name for dim in file["g/band"].dims] == ["/g/y", "/x"]
        assert (file["g"].attrs["level"], len(file["g"])) == (2, 3)
    assert refused(f"{one}::g", two, tmp_path / "d.nc") == (
        f"{one} holds no tensor 'g'; expected one of 'g/y', 'g/band'"
    )


def test_coordinates_may_be_texts_or_of_more_axes(tmp_path: Path) -> None:
    made = File(tmp_path / "a.nc")
    made.bare("lat", 2)
    made.scale("station", np.array(["a", "bé", "c"], object))
    made.variable("_nc4_non_coord_lat", np.arange(6.0).reshape(2, 3), "lat", "station")
    made.variable("band", pixels(1, (3,)), "station", coordinates="lat")
    one, out = made.done(), str(tmp_path / "c.nc")
    subtract_files(one, one, out)
    with h5py.File(out) as file:
        assert [name.decode() for name in file["station"]] == ["a", "bé", "c"]
        assert file["_nc4_non_coord_lat"][...].tolist() == [[0, 1, 2], [3, 4, 5]]
    labels = open_tensors(out)["band"].about.grid.labels  # type: ignore[union-attr]
    assert list(labels) == ["station", "lat"]
    with h5py.File(out, "a") as file:
        file["station"][1] = "be"
    assert "different coordinates 'station': at 1 A has" in refused(one, out, tmp_path / "d.nc")


def test_arrays_from_elsewhere_get_dimensions_by_number(tmp_path: Path) -> None:
    for shape in ((), (3,), (2, 2)):
        np.save(tmp_path / "a.npy", np.ones(shape, np.float32))
        subtract_files(str(tmp_path / "a.npy"), str(tmp_path / "a.npy"), str(tmp_path / "c.nc"), nodata=5)
        (name,) = found = open_tensors(str(tmp_path / "c.nc"))
        assert (name, found[name].shape, found[name].about.nodata) == ("difference", shape, 5)
        assert not found[name].read().any()


OTHERS = {
    "zarr": "zarr",
    "zarr.zip": "zarr",
    "h5": "h5py",
    "npy": "numpy",
    "npz": "numpy",
    "safetensors": "safetensors",
    "tif": "tifffile",
}
"""Other formats, and the package that each takes."""


@pytest.mark.parametrize("suffix", OTHERS)
def test_any_format_goes_to_any_other(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("zarr")
    pytest.importorskip(OTHERS[suffix])
    made = File(tmp_path / "a.nc")
    made.scale("x", np.arange(4.0))
    made.bare("y", 3)
    made.variable("band", pixels(1, (3, 4)), "y", "x", units="K", nothing=np.array([1, 2]))
    one, there = f"{made.done()}::band", str(tmp_path / f"b.{suffix}")
    np.save(tmp_path / "zero.npy", np.int16([0]))
    zero = str(tmp_path / "zero.npy")
    subtract_files(one, zero, there)
    if suffix.startswith("zarr"):
        (found,) = open_tensors(there).values()
        assert found.about.attributes == {"units": "K", "nothing": [1, 2]}
    for back in ("nc", "zarr", "h5"):
        subtract_files(there, zero, str(tmp_path / f"c.{back}"))
        (found,) = open_tensors(str(tmp_path / f"c.{back}")).values()
        assert np.array_equal(found.read(), pixels(1, (3, 4)))


# ---- classic files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["cdf1", "cdf2", "cdf5", "single"])
def test_classic_files_hold_what_their_authors_library_wrote(kind: str) -> None:
    found = open_tensors(str(CLASSIC / f"{kind}.nc"))
    shapes = {"a": (4, 5)} if kind == "single" else {"a": (4, 5), "b": (4, 3, 5), "n": (5,), "scalar": ()}
    shapes |= dict.fromkeys(("u1", "u2", "u4", "u8", "i8"), (3, 5)) if kind == "cdf5" else {}
    assert {name for name in found if name != "text"} == set(shapes)
    for name, shape in shapes.items():
        tensor = found[name]
        counted = np.arange(math.prod(shape)).reshape(shape)
        assert (tensor.shape, tensor.about.nodata) == (shape, -9 if name == "a" else None)
        assert np.array_equal(tensor.read(), counted)
        if len(shape) > 1:
            assert np.array_equal(tensor.elements().part((slice(1, 3), *(slice(1, 2) for _ in shape[1:]))),
                                  counted[(slice(1, 3), *(slice(1, 2) for _ in shape[1:]))])  # fmt: skip
    if kind != "single":
        label = found["b"].about.grid.labels["y"]  # type: ignore[union-attr]
        assert (label.elements().read().tolist(), label.attributes["units"]) == ([0, 1, 2], "units of y")
        with pytest.raises(mn.errors.DTypeError, match="variable 'text'"):
            found["text"]


def mutated(path: Path, old: bytes, new: bytes) -> str:
    content = (CLASSIC / "cdf1.nc").read_bytes()
    assert content.count(old) >= 1
    path.write_bytes(content.replace(old, new, 1))
    return str(path)


DIMENSION_X = b"\0\0\0\x01x\0\0\0\0\0\0\x05"
NOT_NEW = "among its dimensions; expected names that differ, without '/'"
LIES = {
    "version": (b"CDF\x01", b"CDF\x04", "states version 4 of classic netCDF; expected 1, 2 or 5"),
    "a tag": (b"\0\0\0\x0a\0\0\0\x03", b"\0\0\0\x0b\0\0\0\x03", "has the tag 11 where its dimensions are; expected 10"),
    "a count": (b"\0\0\0\x0a\0\0\0\x03", b"\0\0\0\x0a\xff\xff\xff\xff",
         f"names '\\x00\\x00\\x00\\x01\\x00\\x00\\x00\\x05titl' {NOT_NEW}"),
    "a length": (DIMENSION_X, b"\x7f" + DIMENSION_X[1:],
         "has a header that goes on to byte 2130706477; the file has 884, and a header 100000000 at most"),
    "a dimension": (DIMENSION_X, DIMENSION_X[:-4] + b"\0\0\xff\xff",
         "has 884 bytes, and its variable 'a' ends at 2884142; expected a whole file"),
    "records": (b"CDF\x01\0\0\0\x04", b"CDF\x01\x7f\0\0\0",
         "has 884 bytes, and its variable 'a' ends at 153410863638; expected a whole file"),
    "a name": (DIMENSION_X, b"\0\0\0\x01y" + DIMENSION_X[5:], f"names 'y' {NOT_NEW}"),
    "no text": (DIMENSION_X, b"\0\0\0\x01\xff" + DIMENSION_X[5:],
         r"names b'\xff' among its dimensions, which is no UTF-8; expected text"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_header_that_lies_is_refused(tmp_path: Path, lie: str) -> None:
    old, new, message = LIES[lie]
    path = mutated(tmp_path / "a.nc", old, new)
    assert refused(path, path, tmp_path / "c.nc") == f"{path} {message}"


@pytest.mark.parametrize("kind", ["cdf1", "cdf5", "single"])
def test_no_file_that_is_cut_off_gives_numbers(tmp_path: Path, kind: str) -> None:
    content = (CLASSIC / f"{kind}.nc").read_bytes()
    path = tmp_path / "a.nc"
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(MinuendError):
            open_tensors(str(path))


def test_what_is_no_netcdf_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    for content in (b"", b"no netCDF at all", b"\x89HDF\r\n\x1a\n" + bytes(50)):
        path.write_bytes(content)
        assert refused(str(path), str(path), tmp_path / "c.nc").startswith(f"{path} is damaged, or no ")


# ---- coordinates ---------------------------------------------------------------------------------------------------


def test_coordinates_that_differ_are_refused(tmp_path: Path) -> None:
    one, out = scene(tmp_path / "a.nc", pixels(1)), tmp_path / "c.nc"
    moved = LAT + np.where(np.arange(6) == 4, 0.25, 0)
    cases: dict[str, dict[str, Any]] = {
        "A and B have different coordinates 'lat': at 4 A has 58.0 and B 58.25; nothing is aligned or interpolated, "
        "bring them to one grid first (cdo, xarray's reindex), or take 'lat' away (ncwa -a, for an axis of one)": {
            "lat": moved
        },
        "A and B have coordinates 'lat' of different units: 'degrees_north' and 'm'; bring them to one first": {
            "lat_units": "m"
        },
        f"{tmp_path / 'b.nc'} has no coordinates for 'lat' and {one} has some: nothing says that they are the same; "
        "copy them (ncks -A -v lat), or save it as .npy, which has none": {"lat": None},
        f"A and B have different coordinate systems: {one} states 'latitude_longitude' and {tmp_path / 'b.nc'} states "
        "none; nothing is warped, bring them to one first": {"system": None},
        f"A and B have different coordinate systems: {one} states the semi_major_axis [6378137.0] and "
        f"{tmp_path / 'b.nc'} states the semi_major_axis [6371000.0]; nothing is warped, bring them to one first": {
            "system": SYSTEM | {"semi_major_axis": 6371000.0}
        },
    }
    for message, options in cases.items():
        two = scene(tmp_path / "b.nc", pixels(2), **options)
        assert refused(f"{one}::band", f"{two}::band", out) == message
    subtract_files(one, scene(tmp_path / "b.nc", pixels(2), system=SYSTEM | {"long_name": "WGS 84"}), str(out))


def test_axes_of_other_names_are_refused_and_arrays_without_names_are_not(tmp_path: Path) -> None:
    one, out = scene(tmp_path / "a.nc", pixels(1)), tmp_path / "c.nc"
    made = File(tmp_path / "b.nc")
    for name, size in (("time", 2), ("y", 6), ("lon", 8)):
        made.bare(name, size)
    made.variable("band", pixels(2), "time", "y", "lon")
    two = made.done()
    assert refused(two, one, out) == (
        f"{one} has no coordinates for 'time' and {two} has some: nothing says that they are the same; copy them (ncks "
        "-A -v time), or save it as .npy, which has none"
    ).replace(f"{one} has no", f"{two} has no").replace(f"and {two} has some", f"and {one} has some")
    made = File(tmp_path / "d.nc")
    made.scale("time", TIME, units="days since 2000-01-01", calendar="standard")
    made.bare("y", 6)
    made.scale("lon", LON)
    made.variable("band", pixels(2), "time", "y", "lon")
    three = made.done()
    assert refused(one, three, out) == (
        f"axis 1 is 'lat' in {one} and 'y' in {three}; nothing is transposed, bring them to one order (ncpdq), or "
        "rename one of them (ncrename -d y,lat)"
    )
    with h5py.File(tmp_path / "plain.nc", "w") as file:
        file["band"] = pixels(2)
    plain = str(tmp_path / "plain.nc")
    assert "has no georeference and" in refused(one, plain, out)
    np.save(tmp_path / "b.npy", pixels(2))
    for a, b in ((f"{one}::band", str(tmp_path / "b.npy")), (str(tmp_path / "b.npy"), f"{one}::band")):
        subtract_files(a, b, str(out))
        with h5py.File(out) as file:
            assert file["band"].dims[1][0].name == "/lat"


def test_what_is_repeated_has_the_coordinates_that_it_has(tmp_path: Path) -> None:
    one, out = scene(tmp_path / "a.nc", pixels(1)), tmp_path / "c.nc"
    for lat, fits in ((LAT, True), (LAT + 1, False)):
        made = File(tmp_path / "mean.nc")
        made.scale("lat", lat, units="degrees_north")
        made.scale("lon", LON)
        made.variable("crs", np.int32(0), **SYSTEM)
        made.variable("mean", pixels(3, (6, 8)), "lat", "lon", grid_mapping="crs")
        mean = f"{made.done()}::mean"
        if not fits:
            assert "different coordinates 'lat': at 0 A has 50.0 and B 51.0" in refused(
                f"{one}::band", mean, out.with_name("d.nc")
            )
            continue
        for a, b in ((f"{one}::band", mean), (mean, f"{one}::band")):
            subtract_files(a, b, str(out))
            with h5py.File(out) as file:
                (name,) = {"band", "mean"} & set(file)
                assert [dim[0].name for dim in file[name].dims] == ["/time", "/lat", "/lon"]
                assert file["time"][...].tolist() == TIME.tolist()


# ---- packing and nodata --------------------------------------------------------------------------------------------


def test_packed_numbers_are_subtracted_where_both_sides_are_packed_alike(tmp_path: Path) -> None:
    out = tmp_path / "c.nc"
    packed = {"scale_factor": 0.01, "add_offset": 273.15}
    one, two = scene(tmp_path / "a.nc", pixels(1), **packed), scene(tmp_path / "b.nc", pixels(2), **packed)
    subtract_files(one, two, str(out))
    with h5py.File(out) as file:
        assert np.array_equal(file["band"][...], mn.subtract(pixels(1), pixels(2)))
        assert (file["band"].attrs["scale_factor"], "add_offset" in file["band"].attrs) == (0.01, False)
    hint = "unpack them first, such as by xarray's open_dataset(…).to_netcdf(…) with encoding={}"
    for other, message in (
        ({}, "what is stored"),
        ({"scale_factor": 0.02, "add_offset": -1.0}, "0.02 × what is stored - 1.0"),
    ):
        two = scene(tmp_path / "b.nc", pixels(2), **other)
        assert refused(one, two, out.with_name("d.nc")) == (
            f"A and B are scaled in different ways: A means 0.01 × what is stored + 273.15 and B {message}; {hint}"
        )  # fmt: skip
    np.save(tmp_path / "b.npy", pixels(2))
    assert "scaled in different ways" in refused(f"{one}::band", str(tmp_path / "b.npy"), out.with_name("d.nc"))
    one = scene(tmp_path / "a.nc", pixels(1), scale_factor="tenth")
    assert refused(one, one, out.with_name("d.nc")) == (
        f"{one} variable 'band' states the scale_factor 'tenth'; expected a number"
    )


def test_the_scale_of_another_format_goes_along(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["band"] = pixels(1)
        file["band"].attrs["scale_factor"] = 0.5
    one = str(tmp_path / "a.h5")
    subtract_files(one, one, str(tmp_path / "c.nc"))
    found = open_tensors(str(tmp_path / "c.nc"))["band"].about
    assert (found.scale, found.offset) == (0.5, 0.0)


def test_what_a_file_states_is_nodata(tmp_path: Path) -> None:
    a = pixels(1)
    for stated in (
        {"_FillValue": np.int16(7)},
        {"missing_value": np.float64(7)},
        {"_FillValue": np.int16(7), "missing_value": [7]},
    ):
        one = scene(tmp_path / "a.nc", a, **stated)
        (tensor,) = subtract_files(one, one, str(tmp_path / "c.nc")).tensors
        assert tensor.nodata == np.count_nonzero(a == 7) > 0
        with h5py.File(tmp_path / "c.nc") as file:
            assert (file["band"].attrs["_FillValue"].tolist(), file["band"].fillvalue) == ([7], 7)
            assert np.array_equal(file["band"][...] == 7, a == 7)  # fmt: skip
    one = scene(tmp_path / "a.nc", a, _FillValue=np.int16(7), missing_value=np.int16(8))
    report = subtract_files(one, one, str(tmp_path / "c.nc"))
    assert report.notes == (
        f"{one} variable 'band' states the nodata values 7 and 8: its difference has 7 for each of them",
    )
    with h5py.File(tmp_path / "c.nc") as file:
        assert (file["band"].attrs["_FillValue"].tolist(), file["band"].attrs.get("missing_value")) == ([7], None)
        assert np.array_equal(file["band"][...], np.where((a == 7) | (a == 8), 7, 0))


# ---- bad input -----------------------------------------------------------------------------------------------------


def test_what_are_no_numbers_is_refused(tmp_path: Path) -> None:
    made = File(tmp_path / "a.nc")
    made.file["text"] = "words"
    made.file["record"] = np.zeros(3, [("x", "f4"), ("y", "i2")])
    made.file.create_dataset("ragged", (3,), h5py.vlen_dtype(np.int32))
    made.file["null"] = h5py.Empty("f4")
    path = made.done()
    for name, message in (
        ("text", "element type 'string': subtraction is not defined for strings"),
        ("ragged", "element type 'variable-length' is not one that subtraction is defined for"),
        ("record", "element type 'compound' is not one that subtraction is defined for"),
        ("null", "dataset 'null' is a null dataset, without elements; expected numbers"),
    ):
        text = refused(f"{path}::{name}", f"{path}::{name}", tmp_path / "c.nc")
        assert message in text


def test_coordinates_that_lie_elsewhere_are_refused(tmp_path: Path) -> None:
    made = File(tmp_path / "a.nc")
    made.file.create_dataset("x", (4,), "u1", external=[(str(tmp_path / "raw.bin"), 0, 4)])
    made.file["x"].make_scale("x")
    made.variable("band", np.zeros(4), "x")
    path = made.done()
    assert refused(path, path, tmp_path / "c.nc") == (
        f"{path} dataset 'x' is stored in external files: nothing but the file itself is read; copy it with h5repack"
    )


def test_what_netcdf_has_no_word_for_is_refused() -> None:
    def message(*results: Result) -> str:
        with pytest.raises(MinuendError) as caught:
            check("c.nc", results)
        return str(caught.value)

    half = Result.of("x", TYPES["float16"], np.zeros(3, np.float16))
    assert "netCDF has no word for float16; write .h5" in message(half)
    assert "'..' is no path of a dataset" in message(Result.of("..", TYPES["int8"], np.zeros(3, np.int8)))


@pytest.mark.parametrize("engine", ["scipy", "h5netcdf"])
def test_texts_are_coordinates_whatever_they_are_stored_as(tmp_path: Path, engine: Any) -> None:
    """Classic netCDF has letters along a dimension of their own; netCDF-4 has texts, one without axes too."""
    xarray = pytest.importorskip("xarray")
    pytest.importorskip(engine)
    names = ["Wien", "Zürich"]
    for name in "ab":
        made = xarray.Dataset({"v": ("station", pixels(ord(name), (2,), "int32"))}, {"station": names, "by": "é"})
        made.to_netcdf(tmp_path / f"{name}.nc", engine=engine)
    made.assign_coords(station=["Wien", "Graz"]).to_netcdf(tmp_path / "d.nc", engine=engine)
    a, b, c, d = (str(tmp_path / f"{name}.nc") for name in "abcd")
    subtract_files(a, b, c)
    with xarray.open_dataset(c, engine="h5netcdf") as found:
        assert np.array_equal(found["v"], pixels(97, (2,), "int32") - pixels(98, (2,), "int32"))
        assert (found["station"].values.tolist(), found["by"].item()) == (names, "é")
    assert refused(a, d, tmp_path / "e.nc").startswith(
        "A and B have different coordinates 'station': at 1 A has Zürich and B Graz; "
    )


def test_letters_in_netcdf_4_are_texts(tmp_path: Path) -> None:
    made = File(tmp_path / "a.nc")
    made.bare("x", 2)
    made.bare("length", 3)
    made.variable("name", np.array([[b"a", b"b", b""], [b"c", b"", b""]], "S1"), "x", "length")
    made.variable("v", pixels(1, (2,)), "x", coordinates="name")
    one = made.done()
    assert list(open_tensors(one)) == ["v"]
    subtract_files(one, one, str(tmp_path / "c.nc"))
    label = open_tensors(str(tmp_path / "c.nc"))["v"].about.grid.labels["name"]  # type: ignore[union-attr]
    assert (label.elements().read().tolist(), [axis.name for axis in label.axes]) == (["ab", "c"], ["x"])


def test_a_variable_that_is_written_in_part_is_as_long_as_its_dimension(tmp_path: Path) -> None:
    """Along a dimension that grows, netCDF reads the fill value where another variable is longer."""

    def made(name: str, first: float) -> str:
        file = File(tmp_path / name)
        file.file.create_dataset("time", data=np.arange(first, first + 3), maxshape=(None,))
        file.file["time"].make_scale("time")
        options = {"chunks": (2,), "maxshape": (None,), "fillvalue": np.int16(-9)}
        file.variable("v", np.array([4, 7], "int16"), "time", options=options, _FillValue=np.int16(-9))
        return file.done()

    a, b = made("a.nc", 0), made("b.nc", 1)
    found = open_tensors(a)["v"]
    assert (found.shape, found.read().tolist()) == ((3,), [4, 7, -9])
    assert found.elements().part((slice(2, 3),)).tolist() == [-9]
    subtract_files(a, a, str(tmp_path / "c.nc"))
    assert open_tensors(str(tmp_path / "c.nc"))["v"].read().tolist() == [0, 0, -9]
    assert refused(a, b, tmp_path / "d.nc").startswith(
        "A and B have different coordinates 'time': at 0 A has 0 and B 1; "
    )


def test_a_text_that_is_no_ascii_is_utf_8_in_hdf5(tmp_path: Path) -> None:
    netcdf4, h5py = pytest.importorskip("netCDF4"), pytest.importorskip("h5py")
    path, out = str(tmp_path / "a.nc"), str(tmp_path / "c.h5")
    with netcdf4.Dataset(path, "w", format="NETCDF4_CLASSIC") as file:
        file.createDimension("x", 2)
        file.createVariable("v", "f4", ("x",)).long_name = "Größe"
    subtract_files(path, path, out)
    with h5py.File(out) as file:
        assert file["v"].attrs["long_name"] == "Größe"
