"""Attributes that HDF5 alone has go to the difference as h5py has them: records, references, texts without letters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minuend.errors import DTypeError
from minuend.files.difference import subtract_files

h5py = pytest.importorskip("h5py")

ODD = {"names": ["x", "y", "s"], "formats": ["<i4", (">f8", (2,)), "S3"], "offsets": [0, 8, 32], "itemsize": 40}
STATE = h5py.enum_dtype({"off": 0, "on": 1}, "i1")
NESTED = np.dtype([("a", [("b", "i1"), ("c", "<c8")]), ("t", h5py.string_dtype()), ("e", STATE), ("k", "?")])


def ragged(*rows: list[int]) -> np.ndarray:
    found = np.empty(len(rows), object)
    for k, row in enumerate(rows):
        found[k] = np.array(row, "i4")
    return found


def alone(value: Any) -> np.ndarray:
    found = np.empty((), object)
    found[()] = value
    return found


VALUES: dict[str, tuple[Any, Any]] = {
    "record": (np.array((1, 2.5), [("x", "<i4"), ("y", ">f8")]), None),
    "records with gaps": (np.array([(1, [2.5, 1], b"ab"), (2, [0, 3], b"c")], np.dtype(ODD)), None),
    "nested": (np.array(((1, 2j), "Größe", 1, True), NESTED), NESTED),
    "no number": (h5py.Empty("<f4"), None),
    "no record": (h5py.Empty(np.dtype([("x", "<i4")])), None),
    "no text": (h5py.Empty(h5py.string_dtype()), None),
    "no letters": (h5py.Empty("S1"), None),
    "lengths": (ragged([1, 2], [], [3]), h5py.vlen_dtype("<i4")),
    "one length": (alone(np.array([1, 2], "i4")), h5py.vlen_dtype("<i4")),
    "state": (1, STATE),
    "states": ([1, 0], STATE),
    "letters": (np.bytes_(b"abc"), None),
    "Latin-1": (np.bytes_(b"\xe9"), None),
    "fixed text": (np.array("Größe".encode(), h5py.string_dtype("utf-8", 9)), h5py.string_dtype("utf-8", 9)),
    "opaque": (np.void(b"abcd"), None),
}


def one(path: Path, values: dict[str, tuple[Any, Any]] = VALUES) -> str:
    with h5py.File(path, "w") as file:
        file["v"] = np.arange(3.0)
        for item in (file, file["v"]):
            for name, (value, dtype) in values.items():
                item.attrs.create(name, value, dtype=dtype)
    return str(path)


@pytest.mark.parametrize("name", VALUES)
def test_an_attribute_has_the_value_and_the_type_that_it_had(tmp_path: Path, name: str) -> None:
    path = one(tmp_path / "a.h5", {name: VALUES[name]})
    assert subtract_files(path, path, str(tmp_path / "c.h5")).notes == ()
    with h5py.File(path) as a, h5py.File(tmp_path / "c.h5") as c:
        for x, z in ((a.attrs, c.attrs), (a["v"].attrs, c["v"].attrs)):
            assert [*z] == [name]
            assert z.get_id(name).get_type().equal(x.get_id(name).get_type())
            assert z.get_id(name).shape == x.get_id(name).shape
            assert repr(z[name]) == repr(x[name])


def test_references_lead_to_the_same_paths(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        v, w = file.create_dataset("v", data=[1.0, 2]), file.create_dataset("g/w", data=[1, 2])
        v.attrs["of"] = w.ref
        v.attrs["home"] = file["g"].ref
        v.attrs["all"] = np.array([v.ref, w.ref], h5py.ref_dtype)
        v.attrs.create("nothing", h5py.h5r.Reference(), dtype=h5py.ref_dtype)
        v.attrs.create("no part", h5py.h5r.RegionReference(), dtype=h5py.regionref_dtype)
        v.attrs["named"] = np.array([(w.ref, 7)], [("to", h5py.ref_dtype), ("n", "i4")])
        file.attrs["first"] = v.ref
    assert subtract_files(str(path), str(path), str(tmp_path / "c.h5")).notes == ()
    with h5py.File(tmp_path / "c.h5") as c:
        found = c["v"].attrs
        assert c[found["of"]].name == "/g/w"
        assert c[found["home"]].name == "/g"
        assert [c[to].name for to in found["all"]] == ["/v", "/g/w"]
        assert not found["nothing"]
        assert not found["no part"]
        assert c[found["named"][0]["to"]].name == "/g/w"
        assert found["named"][0]["n"] == 7
        assert c[c.attrs["first"]].name == "/v"


def test_a_reference_to_what_is_not_in_the_difference_is_reported(tmp_path: Path) -> None:
    path, out = tmp_path / "a.h5", tmp_path / "c.h5"
    with h5py.File(path, "w") as file:
        v = file.create_dataset("v", data=[1.0, 2])
        file["w"] = np.arange(2)
        v.attrs["all"] = np.array([v.ref, file["w"].ref], h5py.ref_dtype)
        v.attrs["part"] = v.regionref[1:]
        v.attrs["gone"] = file.create_dataset("gone", data=1).ref
        file.attrs["first"] = file["w"].ref
        del file["gone"]
    assert subtract_files(f"{path}::v", f"{path}::v", str(out)).notes == (
        f"the attribute 'all' of 'v' refers to '/w', which is not in {out}, and is left out",
        f"the attribute 'gone' of 'v' refers to an object without a name, which is not in {out}, and is left out",
        "the attribute 'part' of 'v' refers to a part of '/v', which is not rewritten, and is left out",
        f"the attribute 'first' of '/' refers to '/w', which is not in {out}, and is left out",
    )
    with h5py.File(out) as c:
        assert not c["v"].attrs
        assert not c.attrs


def test_coordinates_have_their_own_types_of_attributes_too(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(2)
        file["x"].make_scale("x")
        file["v"] = np.zeros(2)
        file["v"].dims[0].attach_scale(file["x"])
        file["x"].attrs["pair"] = VALUES["record"][0]
        file["x"].attrs["of"] = file["v"].ref
    assert subtract_files(str(path), str(path), str(tmp_path / "c.h5")).notes == ()
    with h5py.File(tmp_path / "c.h5") as c:
        assert c["x"].attrs["pair"] == VALUES["record"][0]
        assert c[c["x"].attrs["of"]].name == "/v"


LACKING = "is of a type that {} lacks, and is left out"


def left_out(report: Any, lacking: str) -> set[str]:
    """The attributes of the variable that a report says are not written, each with a reason."""
    assert all(note.endswith(lacking) for note in report.notes if " of 'v' " in note)
    return {note.split("'")[1] for note in report.notes if " of 'v' " in note}


def test_netcdf_has_records_of_numbers_and_enumerations(tmp_path: Path) -> None:
    netcdf = pytest.importorskip("netCDF4")
    values = VALUES | {"flag": (True, None), "z": (np.array([1 + 2j]), None), "half": (np.float16([1, 2]), None)}
    path = one(tmp_path / "a.h5", values)
    report = subtract_files(path, path, str(tmp_path / "c.nc"))
    lost = {"records with gaps", "nested", "no record", "lengths", "one length", "opaque"}
    assert left_out(report, LACKING.format("netCDF")) == lost
    with netcdf.Dataset(tmp_path / "c.nc") as c:
        assert {*c["v"].ncattrs()} == values.keys() - lost
        assert c["v"].record.tolist() == (1, 2.5)
        assert c["v"].z.tolist() == (1, 2)
        assert c["v"].half.tolist() == [1, 2]
        assert (c["v"].state, c["v"].states.tolist(), c["v"].flag) == (1, [1, 0], 1)
        assert c["v"].getncattr("no number").size == 0
        names = {"off": 0, "on": 1}
        assert names in [one.enum_dict for one in c.enumtypes.values()]
    again = subtract_files(f"{tmp_path}/c.nc", f"{tmp_path}/c.nc", str(tmp_path / "d.h5"))
    assert again.notes == ()
    with h5py.File(tmp_path / "d.h5") as d:
        assert {"record", "z", "states", "flag"} <= d["v"].attrs.keys()
        assert h5py.check_enum_dtype(d["v"].attrs.get_id("states").dtype) == names


def test_zarr_has_what_json_holds(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    path = one(tmp_path / "a.h5", {"texts": (np.array([b"ab", b"c"]), None), **VALUES})
    report = subtract_files(path, path, str(tmp_path / "c.zarr"))
    names = {*VALUES, "texts"}
    whole = {"texts", "letters", "Latin-1", "fixed text", "no text", "no letters"}
    own = [note for note in report.notes if note.endswith("its numbers are written, without their names")]
    assert [note.split("'")[1] for note in own if " of 'v' " in note] == ["state", "states"]
    assert all(" of 'v' " in note for note in own)  # an array alone has no group
    (group,) = (note for note in report.notes if note.endswith(" of '/'"))
    assert "c.zarr has no place for the attributes 'Latin-1', " in group
    others = [note for note in report.notes if note not in (*own, group)]
    assert {note.split("'")[1] for note in others} == names - whole - {"state", "states"}
    assert all(note.endswith(LACKING.format("JSON")) for note in others)
    found = dict(zarr.open(str(tmp_path / "c.zarr")).attrs)
    assert found.keys() == whole | {"state", "states"}
    assert (found["texts"], found["states"]) == (["ab", "c"], [1, 0])


JSON: dict[str, Any] = {
    "nothing": None, "object": {"a": 1}, "uneven": [[1], [2, 3]], "large": 1 << 64, "end": ["a\0b", "c"], "": 5,
    "lone \ud800": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("suffix", "more"), [(".h5", {"a": "a\0b"}), (".nc", {"square": [[1, 2], [3, 4]], "n" * 256: 1})]
)
def test_what_is_left_out_of_an_attribute_in_json_is_reported(
    tmp_path: Path, suffix: str, more: dict[str, Any]
) -> None:
    zarr = pytest.importorskip("zarr")
    path = tmp_path / "a.zarr"
    zarr.create_group(path).create_array("v", data=np.arange(3.0), dimension_names=["x"])
    header = path / "v" / "zarr.json"
    stated = json.loads(header.read_text()) | {"attributes": {**JSON, **more, "flags": [True, False], "units": "m"}}
    header.write_text(json.dumps(stated))
    report = subtract_files(str(path), str(path), f"{tmp_path}/c{suffix}")
    assert len(report.notes) == len(JSON) + len(more)
    assert all("the attribute '" in note and note.endswith(", and is left out") for note in report.notes)
    with h5py.File(f"{tmp_path}/c{suffix}") as c:
        own = {k: v for k, v in c["v"].attrs.items() if not k.startswith(("_", "DIMENSION"))}
        assert own.pop("flags").tolist() == [True, False]
        assert own in ({"units": "m"}, {"units": b"m"})
    if suffix == ".nc":
        netcdf = pytest.importorskip("netCDF4")
        with netcdf.Dataset(f"{tmp_path}/c.nc") as c:  # which does not open an attribute of two axes
            assert [*c["v"].ncattrs()] == ["units", "flags"]


def test_an_attribute_that_h5py_does_not_read_leaves_its_dataset_readable(tmp_path: Path) -> None:
    path = one(tmp_path / "a.h5", {})
    with h5py.File(path, "r+") as file:
        space = h5py.h5s.create(h5py.h5s.SCALAR)
        h5py.h5a.create(file["v"].id, b"when", h5py.h5t.UNIX_D32LE, space)
        records = h5py.vlen_dtype(np.dtype([("x", "i4")]))
        file["v"].attrs.create("records", alone(np.zeros(1, [("x", "i4")])), dtype=records)
        latin = h5py.h5t.create(h5py.h5t.COMPOUND, 4)
        latin.insert(b"\xe9", 0, h5py.h5t.NATIVE_INT32)
        h5py.h5a.create(file["v"].id, b"latin", latin, space)
        file["v"].attrs["level"] = 4
    for suffix in (".h5", ".nc"):
        report = subtract_files(path, path, f"{tmp_path}/c{suffix}")
        assert sorted(report.notes) == [
            f"the attribute {name!r} of 'v' is of a type that is not read, and is left out"
            for name in ("latin", "records", "when")
        ]
    with h5py.File(tmp_path / "c.h5") as c:
        assert {**c["v"].attrs} == {"level": 4}


# ---- datasets of other types ---------------------------------------------------------------------------------------

TYPES: dict[str, Any] = {
    "opaque": h5py.opaque_dtype(np.dtype("V4")),
    "array": np.dtype(("f4", (2,))),
    "compound": np.dtype([("x", "f4")]),
    "reference": h5py.ref_dtype,
    "variable-length": h5py.vlen_dtype("i4"),
    "string": h5py.string_dtype(),
}


@pytest.mark.parametrize("word", TYPES)
def test_a_dataset_of_another_type_is_refused_by_its_name_and_those_beside_it_are_read(
    tmp_path: Path, word: str
) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["v"] = np.arange(3.0)
        file.create_dataset("other", (2,), TYPES[word])
    assert subtract_files(f"{path}::v", f"{path}::v", str(tmp_path / "c.h5")).tensors[0].elements == 3
    with pytest.raises(DTypeError, match=f"^element type '{word}'.*; expected numbers, at .*a.h5 dataset 'other'$"):
        subtract_files(f"{path}::other", f"{path}::other", str(tmp_path / "d.h5"))
