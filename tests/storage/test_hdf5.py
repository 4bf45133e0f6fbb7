"""HDF5: datasets by path, what is kept of A, what lies elsewhere or is damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minuend as mn
from minuend.actions.difference import subtract_files
from minuend.core.elements import TYPES
from minuend.errors import MinuendError
from minuend.storage import open_tensors
from minuend.storage.base import Result
from minuend.storage.hdf5 import check

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
        assert dict(found.attrs) == {"units": "K", "scale": np.float32(0.1)}
        for name, value in options.items():
            assert getattr(found, name) == value
        assert np.array_equal(file["other"][...], a.astype(np.int32) - b)


@pytest.mark.parametrize("dtype", ["<f2", ">f4", "<f8", ">i2", "<i8", "<u8", "|u1"])
def test_types_and_byte_orders(tmp_path: Path, dtype: str) -> None:
    a, b = pixels(3, (5, 6), dtype), pixels(4, (5, 6), dtype)
    out = tmp_path / "c.npy"
    subtract_files(f"{save(tmp_path / 'a.h5', x=(a, {}))}::x", f"{save(tmp_path / 'b.h5', y=(b, {}))}::y", str(out))
    assert np.array_equal(np.load(out), mn.subtract(a, b))


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
    for name, what in (("virtual", "virtual"), ("raw", "kept in external files")):
        assert refused(f"{path}::{name}", tmp_path / "c.h5") == (
            f"{path} dataset '{name}' is {what}: nothing but the file itself is read; copy it with h5repack"
        )


def test_objects_text_and_nothing_are_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("text", data=["a", "b"], dtype=h5py.string_dtype())
        file.create_dataset("ragged", (2,), h5py.vlen_dtype(np.int32))
        file["null"] = h5py.Empty("f4")
    path = f"{tmp_path / 'a.h5'}"
    for name in ("text", "ragged"):
        assert "holds Python objects, which are pickles and can run code" in refused(
            f"{path}::{name}", tmp_path / "c.h5"
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
        "A and B are packed in different ways: A means 0.5 × what is stored + 2.0 and B what is stored; unpack them "
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
