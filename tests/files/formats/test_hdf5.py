"""HDF5: datasets by path, what is taken from A, what lies elsewhere or is damaged."""

from __future__ import annotations

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
from minuend.files.formats.hdf5 import check

h5py = pytest.importorskip("h5py")


def save(path: Path, **datasets: Any) -> str:
    with h5py.File(path, "w") as file:
        for name, (array, options) in datasets.items():
            file.create_dataset(name.replace("__", "/"), data=array, **options)
    return str(path)


def pixels(seed: int, shape: tuple[int, ...] = (30, 40), dtype: str = "uint16") -> Any:
    return np.random.default_rng(seed).integers(0, 200, shape).astype(dtype)


KINDS = {
    "contiguous": {},
    "chunked": {"chunks": (7, 9)},
    "gzip": {"chunks": (8, 8), "compression": "gzip", "compression_opts": 7, "shuffle": True, "fletcher32": True},
    "lzf": {"chunks": (8, 8), "compression": "lzf"},
}


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_chunks_lossless_filters_and_attributes_are_those_of_a(tmp_path: Path, options: Any) -> None:
    a, b = pixels(1), pixels(2)
    one = save(tmp_path / "a.h5", scene__band=(a, options), other=(a, {}))
    two = save(tmp_path / "b.hdf5", scene__band=(b, {}), other=(b, {}))
    with h5py.File(one, "a") as file:
        file["scene/band"].attrs.update({"units": "K", "scale": np.float32(0.1), "place": file["scene"].ref})
    out = tmp_path / "c.h5"
    subtract_files(one, two, str(out), overflow="widen")
    with h5py.File(out) as file:
        found = file["scene/band"]
        assert np.array_equal(found[...], a.astype(np.int32) - b)
        stated = dict(found.attrs)
        assert file[stated.pop("place")].name == "/scene"
        assert stated == {"units": "K", "scale": np.float32(0.1)}
        for name, value in options.items():
            assert getattr(found, name) == value
        assert np.array_equal(file["other"][...], a.astype(np.int32) - b)


@pytest.mark.parametrize("dtype", ["<f2", ">f4", "<f8", ">i2", "<i8", "<u8", "|u1"])
def test_types_and_byte_orders(tmp_path: Path, dtype: str) -> None:
    a, b = pixels(3, (5, 6), dtype), pixels(4, (5, 6), dtype)
    out = tmp_path / "c.npy"
    subtract_files(f"{save(tmp_path / 'a.h5', x=(a, {}))}::x", f"{save(tmp_path / 'b.h5', y=(b, {}))}::y", str(out))
    assert np.array_equal(np.load(out), mn.subtract(a, b))


def _float(sign: int, exponent: int, mantissa: int, bias: int, size: int) -> Any:
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_fields(sign, mantissa, exponent, 0, mantissa)
    kind.set_precision(sign + 1)
    kind.set_size(size)
    kind.set_ebias(bias)
    return kind


def _integer(kind: Any, precision: int, offset: int) -> Any:
    kind = kind.copy()
    kind.set_precision(precision)
    kind.set_offset(offset)
    kind.set_pad(h5py.h5t.PAD_ONE, h5py.h5t.PAD_ONE)
    return kind


def _leading_bit_stored() -> Any:
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_norm(h5py.h5t.NORM_NONE)
    return kind


STORED = {
    "bfloat16": lambda: _float(15, 8, 7, 127, 2),
    "24 bits": lambda: _float(23, 8, 15, 127, 3),
    "another exponent bias": lambda: _float(31, 8, 23, 120, 4),
    "the leading bit is stored": _leading_bit_stored,
    "a bit offset": lambda: _integer(h5py.h5t.STD_I32LE, 12, 4),
    "padding": lambda: _integer(h5py.h5t.STD_U16BE, 10, 0),
}


@pytest.mark.parametrize("suffix", ["h5", "nc"])
@pytest.mark.parametrize("chunks", [None, (100,)])
@pytest.mark.parametrize("stored", STORED)
def test_types_that_are_stored_otherwise_than_in_memory_are_converted(
    tmp_path: Path, stored: str, chunks: Any, suffix: str
) -> None:
    one, two, out = (tmp_path / f"{name}.{suffix}" for name in "abc")
    for path, values in ((one, np.arange(600) % 100), (two, np.arange(600) % 7)):
        with h5py.File(path, "w") as file:
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            if chunks:
                plist.set_chunk(chunks)
            h5py.h5d.create(file.id, b"x", STORED[stored](), h5py.h5s.create_simple((600,)), plist)
            file["x"][...] = values
            file["behind"] = np.zeros(1000)  # what would be read of too wide elements is within the file
    subtract_files(str(one), str(two), str(out))
    with h5py.File(one) as x, h5py.File(two) as y, h5py.File(out) as z:
        assert np.array_equal(x["x"][...], np.arange(600) % 100)
        assert np.array_equal(z["x"][...], mn.subtract(x["x"][...], y["x"][...]))


@pytest.mark.parametrize("shape", [(), (0, 3), (1,)])
def test_shapes_without_much(tmp_path: Path, shape: tuple[int, ...]) -> None:
    path = save(tmp_path / "a.h5", x=(np.ones(shape, np.float32), {}))
    subtract_files(path, path, str(tmp_path / "c.h5"))
    with h5py.File(tmp_path / "c.h5") as file:
        assert np.array_equal(file["x"][()], np.zeros(shape, np.float32))


def refused(path: str, out: Path) -> str:
    with pytest.raises(MinuendError) as caught:
        subtract_files(path, path, str(out))
    assert not out.exists()
    return str(caught.value)


def test_nothing_but_the_file_itself_is_read(tmp_path: Path) -> None:
    other = save(tmp_path / "other.h5", x=(np.ones(4, np.uint8), {}))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["link"] = h5py.ExternalLink("other.h5", "/x")
        layout = h5py.VirtualLayout((4,), "u1")
        layout[:] = h5py.VirtualSource(other, "x", (4,))
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("raw", (4,), "u1", external=[(str(tmp_path / "raw.bin"), 0, 4)])
    path = str(tmp_path / "a.h5")
    assert sorted(open_tensors(path)) == ["raw", "virtual"]
    for name, what in (("virtual", "virtual"), ("raw", "stored in external files")):
        assert refused(f"{path}::{name}", tmp_path / "c.h5") == (
            f"{path} dataset '{name}' is {what}: nothing but the file itself is read; copy it with h5repack"
        )


def test_objects_text_and_nothing_are_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("text", data=["a", "b"], dtype=h5py.string_dtype())
        file.create_dataset("ragged", (2,), h5py.vlen_dtype(np.int32))
        file["null"] = h5py.Empty("f4")
    path = f"{tmp_path / 'a.h5'}"
    for name, reason in (
        ("text", "'string': subtraction is not defined for strings"),
        ("ragged", "'variable-length' is not one that subtraction is defined for"),
    ):
        assert refused(f"{path}::{name}", tmp_path / "c.h5") == (
            f"element type {reason}; expected numbers, at {path} dataset '{name}'"
        )
    assert refused(f"{path}::null", tmp_path / "c.h5") == (
        f"{path} dataset 'null' is a null dataset, without elements; expected numbers"
    )


def test_what_is_damaged_is_an_error_or_read(tmp_path: Path) -> None:
    path, out = tmp_path / "a.h5", tmp_path / "c.h5"
    save(path, x=(pixels(1), {"chunks": (8, 8), "compression": "gzip", "fletcher32": True}))
    whole = path.read_bytes()
    path.write_bytes(b"no HDF5")
    assert refused(str(path), out).startswith(f"{path} is damaged, or no HDF5 that is read here (")
    path.write_bytes(whole[: len(whole) // 2])
    assert refused(str(path), out).startswith(f"{path} is damaged, or no HDF5 that is read here (")
    for at in range(0, len(whole), len(whole) // 80):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            subtract_files(str(path), str(path), str(out))
        except (MinuendError, MemoryError):
            assert not out.exists()
        out.unlink(missing_ok=True)


def test_names_that_no_dataset_can_have_are_refused() -> None:
    def results(*names: str) -> list[Result]:
        return [Result.of(name, TYPES["uint8"], np.zeros(1, np.uint8)) for name in names]

    for name in ("", "a//b", "./a", "a/../b", "a\0b"):
        with pytest.raises(MinuendError, match="is no path of a dataset; rename the tensor"):
            check("c.h5", results(name))
    with pytest.raises(MinuendError) as caught:
        check("c.h5", results("a/b", "a"))
    assert str(caught.value) == "c.h5: 'a' would be a dataset and a group; rename the tensor"


def test_numbers_that_are_packed_in_different_ways_are_refused(tmp_path: Path) -> None:
    packed = {"scale_factor": 0.5, "add_offset": 2.0}
    one, two = save(tmp_path / "a.h5", x=(pixels(1), {})), save(tmp_path / "b.h5", x=(pixels(2), {}))
    with h5py.File(one, "a") as file:
        file["x"].attrs.update(packed)
    assert refused_pair(one, two, tmp_path / "c.h5") == (
        "A and B are scaled in different ways: A means 0.5 × what is stored + 2.0 and B what is stored; unpack them "
        "first, such as by xarray's open_dataset(…).to_netcdf(…) with encoding={}"
    )
    with h5py.File(two, "a") as file:
        file["x"].attrs.update(packed)
    subtract_files(one, two, str(tmp_path / "c.h5"))
    with h5py.File(tmp_path / "c.h5") as file:
        assert dict(file["x"].attrs) == {"scale_factor": 0.5}


def refused_pair(one: str, two: str, out: Path) -> str:
    with pytest.raises(MinuendError) as caught:
        subtract_files(one, two, str(out))
    assert not out.exists()
    return str(caught.value)


def compact(file: Any, name: str, value: Any, dtype: str) -> None:
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_layout(h5py.h5d.COMPACT)
    space, kind = h5py.h5s.create(h5py.h5s.SCALAR), h5py.h5t.py_create(np.dtype(dtype))
    h5py.Dataset(h5py.h5d.create(file.id, name.encode(), kind, space, made))[()] = value


@pytest.mark.parametrize("dtype", ["<f8", ">f8", ">i2", ">u8"])
def test_an_element_without_axes_that_the_library_reads_is_in_its_byte_order(tmp_path: Path, dtype: str) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        compact(file, "x", 5, dtype)
    found = open_tensors(str(tmp_path / "a.h5"))["x"].read()
    assert (found.dtype, found[()]) == (np.dtype(dtype), 5)


@pytest.mark.parametrize("size", [0, 512, 4096])
def test_elements_that_were_never_written_are_the_fill_value_behind_a_user_block_too(tmp_path: Path, size: int) -> None:
    with h5py.File(tmp_path / "a.h5", "w", userblock_size=size) as file:
        file.create_dataset("x", (3,), ">f8", fillvalue=7)
        file["y"] = np.arange(3.0)
    found = open_tensors(str(tmp_path / "a.h5"))
    assert (found["x"].read().tolist(), found["y"].read().tolist()) == ([7, 7, 7], [0, 1, 2])


def test_compression_that_h5py_has_no_name_for_becomes_deflate(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        made.set_chunk((2,))
        made.set_filter(h5py.h5z.FILTER_NBIT)
        file.create_dataset("x", data=np.arange(5, dtype="int16"), dcpl=made)
    one = str(tmp_path / "a.h5")
    subtract_files(one, one, str(tmp_path / "c.h5"))
    with h5py.File(tmp_path / "c.h5") as file:
        assert (file["x"].compression, file["x"].chunks, file["x"][...].tolist()) == ("gzip", (2,), [0] * 5)


def test_enumerations_are_no_numbers(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=np.ones(3, "int16"), dtype=h5py.enum_dtype({"low": 0, "high": 1}, "int16"))
    one = str(tmp_path / "a.h5")
    with pytest.raises(mn.errors.DTypeError) as caught:
        subtract_files(one, one, str(tmp_path / "c.h5"))
    assert str(caught.value) == (
        f"element type 'enum': its numbers stand for names; convert it to numbers first, at {one} dataset 'x'"
    )


def test_a_dataset_has_all_names_that_lead_to_it(tmp_path: Path) -> None:
    """NeXus files call one dataset by several names; ``visititems`` of h5py gives one of them."""
    for name in "ab":
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["entry/detector/counts"] = pixels(ord(name))
            file["entry/data"] = file["entry/detector/counts"]
            file["entry/soft"] = h5py.SoftLink("detector/./counts")
            file["soft"] = h5py.SoftLink("/entry/soft")
            file["round"] = h5py.SoftLink("round")
            file["other"] = h5py.ExternalLink("b.h5", "/entry/data")
            file["through"] = h5py.SoftLink("/other")
    a, b, out = (str(tmp_path / f"{name}.h5") for name in "abc")
    assert list(open_tensors(a)) == ["entry/data", "entry/detector/counts"]
    for name in ("entry/data", "entry/detector/counts", "entry/soft", "soft"):
        subtract_files(f"{a}::{name}", f"{b}::{name}", out)
        with h5py.File(out) as file:
            assert np.array_equal(file[name][...], pixels(97) - pixels(98))
    for name in ("round", "other", "through", "nowhere"):
        with pytest.raises(MinuendError, match=f"holds no tensor '{name}'"):
            open_tensors(f"{a}::{name}")


def test_chunks_along_an_axis_that_grows_are_those_of_a(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=np.ones((2, 3), "int16"), chunks=(512, 2), maxshape=(None, 3))
        file.create_dataset("none", (0, 3), "int16", chunks=(512, 2), maxshape=(None, 3))
        for name in ("x", "none"):
            file[f"{name}_t"] = file.create_dataset(f"{name}_along", (len(file[name]),), "f8", maxshape=(None,))
            file[f"{name}_along"].make_scale()
            file[name].dims[0].attach_scale(file[f"{name}_along"])
            del file[f"{name}_t"]
    one = str(tmp_path / "a.h5")
    subtract_files(one, one, str(tmp_path / "c.h5"))
    with h5py.File(tmp_path / "c.h5") as file:
        for name in ("x", "none"):
            assert (file[name].chunks, file[name].maxshape[0]) == ((512, 2), None)


def test_links_that_lead_to_nothing_in_a_file_are_named(tmp_path: Path) -> None:
    path, out = str(tmp_path / "a.h5"), str(tmp_path / "c.h5")
    with h5py.File(path, "w") as file:
        file["g/x"] = np.arange(4.0)
        file["same"], file["group"] = h5py.SoftLink("/g/x"), h5py.SoftLink("/g")
        file["lost"], file["away"] = h5py.SoftLink("/nothing"), h5py.ExternalLink("other.h5", "/x")
    notes = (
        f"{path} has links that lead to nothing in it, and are not followed: 'away', 'lost'",
        f"{path} has soft links, which are left out: 'group', 'same'",
    )
    assert subtract_files(path, path, out).notes == notes
    assert subtract_files(f"{path}::g/x", f"{path}::g/x", out).notes == ()
