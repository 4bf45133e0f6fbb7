"""zarr in zip archives: read as what is zipped, written in order, and archives that are not what they say."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minuend as mn
from minuend.errors import MinuendError
from minuend.files import open_tensors
from minuend.files.difference import subtract_files

zarr = pytest.importorskip("zarr")

A, B = (np.random.default_rng(seed).integers(-90, 90, (40, 30)).astype("int16") for seed in (1, 2))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with groups a.zarr and b.zarr, which hold ``g/x``, and both in archives."""
    monkeypatch.chdir(tmp_path)
    for name, array in (("a", A), ("b", B)):
        made = zarr.create_array(f"{name}.zarr", name="g/x", shape=A.shape, chunks=(8, 10), dtype="int16")
        made[...] = array
        made.attrs["units"] = "K"
        shutil.make_archive(f"{name}.zarr", "zip", f"{name}.zarr")
        shutil.make_archive(name, "zip", ".", f"{name}.zarr")
    return tmp_path


@pytest.mark.parametrize("names", [("a.zarr.zip", "b.zarr.zip"), ("a.zip", "b.zip"), ("a.zarr", "b.zip")])
@pytest.mark.usefixtures("here")
def test_an_archive_is_read_as_what_is_zipped(names: tuple[str, str]) -> None:
    subtract_files(*names, "c.zarr")
    found = zarr.open_array("c.zarr/g/x", mode="r")
    assert np.array_equal(found[...], mn.subtract(A, B))
    assert (found.chunks, dict(found.attrs)) == ((8, 10), {"units": "K"})


@pytest.mark.usefixtures("here")
def test_an_archive_is_written_as_zarr_reads_it_and_the_same_each_time() -> None:
    for output in ("c.zarr.zip", "d.zip"):
        subtract_files("a.zip", "b.zarr", output)
    assert Path("c.zarr.zip").read_bytes() == Path("d.zip").read_bytes()
    with zarr.storage.ZipStore("c.zarr.zip", mode="r") as store:
        found = zarr.open_group(store, mode="r")["g/x"]
        assert np.array_equal(found[...], mn.subtract(A, B))
        assert (found.chunks, dict(found.attrs)) == ((8, 10), {"units": "K"})
    assert np.array_equal(open_tensors("d.zip")["g/x"].read(), mn.subtract(A, B))


@pytest.mark.usefixtures("here")
def test_an_archive_is_not_gone_on_with() -> None:
    with pytest.raises(MinuendError, match="--resume needs an output that is written chunk by chunk"):
        subtract_files("a.zip", "b.zip", "c.zarr.zip", resume=True)


@pytest.mark.usefixtures("here")
def test_an_archive_behind_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.pipe("/in/a.zip", Path("a.zip").read_bytes())
    try:
        subtract_files("memory://in/a.zip", "b.zip", "memory://in/c.zarr.zip")
        subtract_files("a.zip", "b.zip", "c.zarr.zip")
        assert system.cat("/in/c.zarr.zip") == Path("c.zarr.zip").read_bytes()
    finally:
        system.rm("/in", recursive=True)


def zipped(path: str, members: list[tuple[str, bytes]], **changed: Any) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
        for info in archive.filelist:
            for key, value in changed.items():
                setattr(info, key, value)


@pytest.mark.usefixtures("here")
def test_archives_that_are_not_what_they_say_are_refused() -> None:
    def message() -> str:
        with pytest.raises(MinuendError) as caught:
            subtract_files("x.zip", "x.zip", "c.zarr")
        assert not Path("c.zarr").exists()
        return str(caught.value)

    Path("x.zip").write_bytes(Path("a.zip").read_bytes()[:-30])
    assert message() == (
        "x.zip is no zip archive, or a damaged one (File is not a zip file); expected one of a zarr store"
    )
    zipped("x.zip", [("words.txt", b"no array")])
    assert message() == "x.zip holds no zarr.json, .zarray or .zgroup; expected a zarr array or group"
    zipped("x.zip", [("zarr.json", b"{}" * 50)], file_size=1 << 40)
    assert message().startswith("x.zip member 'zarr.json' claims 1099511627776 bytes out of ")
    zipped("x.zip", [("zarr.json", b"{}")], flag_bits=1)
    assert message() == (
        "x.zip member 'zarr.json' is encrypted, or packed by another way than deflate; expected a plain one"
    )


@pytest.mark.usefixtures("here")
def test_a_damaged_header_is_named() -> None:
    content = bytearray(Path("a.zip").read_bytes())
    with zipfile.ZipFile("a.zip") as archive:
        info = archive.getinfo("a.zarr/g/x/zarr.json")
    for offset, message in ((0, "Bad magic number for file header"), (45, "")):
        harmed = bytearray(content)
        harmed[info.header_offset + offset + (len(info.filename) if offset else 0)] ^= 0xFF
        Path("x.zip").write_bytes(harmed)
        with pytest.raises(MinuendError) as caught:
            open_tensors("x.zip")
        assert str(caught.value).startswith(f"x.zip member g/x/zarr.json cannot be unpacked ({message}")


@pytest.mark.usefixtures("here")
def test_a_damaged_chunk_is_named() -> None:
    content = bytearray(Path("a.zip").read_bytes())
    with zipfile.ZipFile("a.zip") as archive:
        info = archive.getinfo("a.zarr/g/x/c/1/1")
    at = info.header_offset + 30 + len(info.filename) + 5
    content[at : at + 4] = b"\xff\xff\xff\xff"
    Path("x.zip").write_bytes(content)
    with pytest.raises(MinuendError) as caught:
        subtract_files("x.zip", "b.zip", "c.zarr")
    assert str(caught.value).startswith("x.zip array 'g/x': the chunk c/1/1 cannot be unpacked (")


@pytest.mark.usefixtures("here")
def test_the_last_of_two_members_of_one_name_counts_as_for_zarr() -> None:
    """xarray writes the headers of an archive once more, with the list of all of them."""
    with zipfile.ZipFile("a.zip", "a") as archive:
        header = archive.read("a.zarr/g/x/zarr.json")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.zarr/g/x/zarr.json", header.replace(b'"K"', b'"kelvin"'))
    subtract_files("a.zip", "b.zip", "c.zarr")
    found = zarr.open_array("c.zarr/g/x", mode="r")
    assert np.array_equal(found[...], mn.subtract(A, B))
    assert dict(found.attrs) == {"units": "kelvin"}
