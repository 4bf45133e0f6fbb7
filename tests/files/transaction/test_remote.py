"""Files behind addresses: read by ranges, written whole or not at all, and what file systems raise."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ranges import served

import minuend as mn
from minuend import cli
from minuend.core.elements import TYPES
from minuend.errors import FileFormatError, MinuendError
from minuend.files import Result, split, write_tensors
from minuend.files.addresses import as_local, name_of
from minuend.files.difference import subtract_files
from minuend.files.policy_comparison import compare_files
from minuend.files.transaction import remote, remote_output
from minuend.files.transaction.remote import Remote
from minuend.files.transaction.writing import temporary_folder

fsspec = pytest.importorskip("fsspec")

A, B = (np.random.default_rng(seed).integers(0, 200, (40, 50)).astype(np.uint16) for seed in (1, 2))


@pytest.fixture
def memory() -> Iterator[Any]:
    """The file system that ``memory://`` names, empty."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    yield system
    system.store.clear()


def as_npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def refused(error: type[Exception], *args: str) -> str:
    with pytest.raises(error) as caught:
        subtract_files(*args)
    return str(caught.value)


SUFFIXES = {
    "npy": "numpy",
    "npz": "numpy",
    "safetensors": "safetensors",
    "tif": "tifffile",
    "h5": "h5py",
    "nc": "h5py",
    "png": "imagecodecs",
}
"""Of each the package that it takes."""


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_is_read_and_written_behind_an_address(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip(SUFFIXES[suffix])
    for name, array in (("a", A), ("b", B)):
        np.save(tmp_path / f"{name}.npy", array)
        one, zero = str(tmp_path / f"{name}.npy"), str(tmp_path / "zero.npy")
        np.save(zero, np.zeros_like(A))
        subtract_files(one, zero, f"memory://data/{name}.{suffix}")
    subtract_files(f"memory://data/a.{suffix}", f"memory://data/b.{suffix}", f"memory://data/c.{suffix}")
    subtract_files(f"memory://data/c.{suffix}", zero, str(tmp_path / "c.npy"))
    assert np.array_equal(np.load(tmp_path / "c.npy"), mn.subtract(A, B))
    assert sorted(fsspec.filesystem("memory").ls("/data", detail=False)) == [f"/data/{one}.{suffix}" for one in "abc"]


@pytest.mark.usefixtures("memory")
def test_the_temporary_folder_of_a_killed_run_goes_with_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fcntl")  # without locks it is not known whether a run is killed
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    np.save(tmp_path / "a.npy", A)
    with temporary_folder("minuend-c.npy") as other, temporary_folder("minuend-d.npy"):  # of a run that goes on
        left = tmp_path / f"{Path(other).name[: -len('.00000000.part')]}.0123abcd.part"
        (left / "x").mkdir(parents=True)
        subtract_files(str(tmp_path / "a.npy"), str(tmp_path / "a.npy"), "memory://c.npy")
        assert not left.exists()
        assert len(list(tmp_path.glob(".minuend-*"))) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


def test_an_address_of_this_machine_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "system_of", None)
    np.save(tmp_path / "a.npy", A)
    subtract_files(f"file://{tmp_path}/a.npy", f"local://{tmp_path}/a.npy", f"file://{tmp_path}/c.npy")
    assert not np.load(tmp_path / "c.npy").any()
    assert refused(MinuendError, f"file://{tmp_path}/a.npy", str(tmp_path / "a.npy"), str(tmp_path / "a.npy")) == (
        f"the output {tmp_path}/a.npy is also an input; nothing is overwritten, name another output"
    )


def test_addresses_name_tensors_and_suffixes() -> None:
    assert split("s3://b/a.npz::x") == ("s3://b/a.npz", "x")
    assert split("memory://a.h5::g/x") == ("memory://a.h5", "g/x")
    assert split("http://[::1]:80/a.npz::x") == ("http://[::1]:80/a.npz", "x")
    assert split("http://[::1]:80/a.npy") == ("http://[::1]:80/a.npy", None)
    assert [name_of(path) for path in ("https://h/a.tif?sig=x/y.npy", "s3://b/a?b.npy", "a/b.npy/")] == [
        "a.tif",
        "a?b.npy",
        "b.npy",
    ]
    assert as_local("C:/a.npy") == "C:/a.npy"


# ---- by ranges -----------------------------------------------------------------------------------------------------


def test_a_web_server_is_asked_for_what_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("aiohttp")
    monkeypatch.setattr(remote, "BLOCK", 1 << 10)
    large = np.arange(1 << 16, dtype=np.int32).reshape(256, 256)
    np.savez(tmp_path / "a.npz", wanted=A, other=large)
    with served(a__npz=(tmp_path / "a.npz").read_bytes(), b__npy=as_npy(B)) as site:
        subtract_files(f"{site.url}/a.npz::wanted", f"{site.url}/b.npy?x=y", str(tmp_path / "c.npy"))
        assert np.array_equal(np.load(tmp_path / "c.npy"), mn.subtract(A, B))
        assert site.sent < 40_000 < len(site.files["/a.npz"])  # the member twice, for its checksum
        assert all(one for _, one in site.asked)


def test_a_region_is_read_through_blocks_once(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "BLOCK", 64)
    memory.pipe("/x.bin", bytes(range(250)))
    requested: list[tuple[int, int]] = []
    whole = type(memory).cat_file
    monkeypatch.setattr(
        type(memory),
        "cat_file",
        lambda self, path, start=None, end=None: requested.append((start, end)) or whole(self, path, start, end),
    )
    source = Remote("memory://x.bin")
    for offset, size in ((0, 3), (60, 8), (240, 10), (5, 0), (62, 70), (250, 0)):
        assert source.read(offset, size).tolist() == list(range(offset, offset + size))
    assert requested == [(0, 64), (64, 128), (192, 250), (62, 132)]
    with pytest.raises(MinuendError, match=r"^memory://x.bin has 250 bytes; byte 251 is requested$"):
        source.read(250, 1)


# ---- what goes wrong -----------------------------------------------------------------------------------------------


def test_what_a_web_server_does_wrong_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    out = str(tmp_path / "c.npy")
    with served(a__npy=as_npy(A)) as site:
        url = f"{site.url}/a.npy"
        assert refused(FileNotFoundError, f"{site.url}/b.npy", url, out) == f"there is no file {site.url}/b.npy"
        assert refused(MinuendError, url, url, f"{site.url}/c.npy") == (
            f"{site.url}/c.npy is on the web, which is only read; write to a file or to an object store"
        )
        site.way = "forbidden"
        assert refused(PermissionError, url, url, out).startswith(f"{url} is not open to you (ClientResponseError: 403")
    text = refused(OSError, url, url, out)
    assert text.startswith(f"{url} cannot be reached (Client")
    assert text.endswith("; try again, or copy it here")
    assert os.listdir(tmp_path) == []


WAYS = {
    "no ranges": "came whole where 'bytes=0-0' was requested; its server takes no ranges, copy the file here",
    "whole later": "came whole where 'bytes=0-4127' was requested; its server takes no ranges, copy the file here",
    "kept to If-Range": (
        'changed while it was read: its ETag was "1" and is now "2"; read it again when nothing writes it'
    ),
    "new tags": 'changed while it was read: its ETag was "1" and is now "2"; read it again when nothing writes it',
    "new dates": (
        "changed while it was read: its Last-Modified was Mon, 23 Nov 2026 15:00:00 GMT and is now Mon, 23 Nov 2026 "
        "15:00:01 GMT; read it again when nothing writes it"
    ),
    "another size": (
        "changed while it was read: it had 4128 bytes and has 41280 now; read it again when nothing writes it"
    ),
    "redirects": (
        "changed while it was read: its server redirected to {site}/a.npy and redirects to {site}/other/a.npy now; "
        "read it again when nothing writes it"
    ),
    "another range": (
        "came as bytes 127 to 4127 of 4128, where 'bytes=128-4127' was requested; its server does not keep to ranges, "
        "copy the file here"
    ),
    "short": (
        "gave 4127 bytes from byte 0 on, and promised 4128; its server does not keep to ranges, copy the file here"
    ),
    "packed": (
        "is sent packed (Content-Encoding: gzip), and a range of that is no range of the file; copy the file here"
    ),
    "no size": (
        "came with status 206 and the Content-Range 'bytes 0-0/*', where 'bytes=0-0' was requested; expected 206 and "
        "the range with the file's size, copy the file here"
    ),
    "no Content-Range": (
        "came with status 206 and the Content-Range '', where 'bytes=0-0' was requested; expected 206 and the range "
        "with the file's size, copy the file here"
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_sends_something_else_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, way: str
) -> None:
    pytest.importorskip("aiohttp")
    monkeypatch.setattr(remote, "BLOCK", 1 << 10)
    np.save(tmp_path / "b.npy", B)
    with served(a__npy=as_npy(A)) as site:
        site.way = way
        text = refused(FileFormatError, f"{site.url}/a.npy", str(tmp_path / "b.npy"), str(tmp_path / "c.npy"))
        assert text == f"{site.url}/a.npy {WAYS[way].format(site=site.url)}"
    assert os.listdir(tmp_path) == ["b.npy"]


@pytest.mark.parametrize("way", ["ranges", "mirrors"])
def test_what_a_server_sends_of_one_version_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, way: str) -> None:
    pytest.importorskip("aiohttp")
    monkeypatch.setattr(remote, "BLOCK", 1 << 10)
    with served(a__npy=as_npy(A), b__npy=as_npy(B)) as site:
        site.way = way
        subtract_files(f"{site.url}/a.npy", f"{site.url}/b.npy", str(tmp_path / "c.npy"))
    assert np.array_equal(np.load(tmp_path / "c.npy"), mn.subtract(A, B))


def test_a_sharded_array_on_the_web_is_read_by_ranges_that_are_checked(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    zarr = pytest.importorskip("zarr")
    from minuend.files.formats.zarr_stores import opened

    made = zarr.create_array(tmp_path / "a.zarr", shape=A.shape, dtype=A.dtype, chunks=(10, 10), shards=A.shape)
    made[...] = A
    with served() as site:
        for path in tmp_path.rglob("*"):
            if path.is_file():
                site.files[f"/{path.relative_to(tmp_path)}"] = path.read_bytes()
        found = zarr.open_array(opened(f"{site.url}/a.zarr"), mode="r")
        assert np.array_equal(found[:10, :10], A[:10, :10])
        assert any(asked for _, asked in site.asked)
        site.way = "no ranges"
        with pytest.raises(FileFormatError, match=r"requested; its server takes no ranges, copy the file here$"):
            found[:10, :10]


@pytest.mark.parametrize("out", ["c.npy", "c.h5", "c.zarr", "memory://c.npy", "memory://c.zarr", ""])
def test_an_object_that_is_overwritten_while_it_is_read_is_refused(
    memory: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, out: str
) -> None:
    for package in {"c.h5": ["h5py"], "c.zarr": ["zarr"], "memory://c.zarr": ["zarr"]}.get(out, []):
        pytest.importorskip(package)
    memory.pipe("/a.npy", as_npy(A))
    np.save(tmp_path / "b.npy", B)
    whole = type(memory).cat_file

    def overwritten(self: Any, path: str, start: Any = None, end: Any = None) -> Any:
        found = whole(self, path, start, end)
        if path == "/a.npy" and start:
            memory.pipe("/a.npy", as_npy(A + 1))
        return found

    monkeypatch.setattr(type(memory), "cat_file", overwritten)
    monkeypatch.setattr(remote, "BLOCK", 1 << 10)
    output = out if "://" in out else str(tmp_path / out)
    text = (
        refused(FileFormatError, "memory://a.npy", str(tmp_path / "b.npy"), output)
        if out
        else refused_comparing("memory://a.npy", str(tmp_path / "b.npy"))
    )
    assert text.startswith("memory://a.npy changed while it was read: its created was ")
    assert text.endswith("; read it again when nothing writes it")
    assert os.listdir(tmp_path) == ["b.npy"]
    assert sorted(memory.store) == ["/a.npy"]


def refused_comparing(a: str, b: str) -> str:
    with pytest.raises(FileFormatError) as caught:
        compare_files(a, b)
    return str(caught.value)


def test_packages_and_protocols_that_are_not_there_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(path: str) -> Any:
        raise ImportError("Install s3fs to access S3")

    with monkeypatch.context() as patch:
        patch.setattr(fsspec.core, "url_to_fs", none)
        assert refused(mn.errors.Unsupported, "s3://b/a.npy", "s3://b/b.npy", "c.npy") == (
            "s3://b/a.npy needs a package that is not installed (Install s3fs to access S3); pip install "
            '"minuend[remote]" brings what http:// takes, s3:// takes s3fs, gs:// gcsfs, abfs:// adlfs'
        )
    assert refused(MinuendError, "nope://b/a.npy", "b.npy", "c.npy") == (
        "nope://b/a.npy is no address that fsspec knows (Protocol not known: nope); expected s3://, https:// …"
    )
    assert refused(MinuendError, "simplecache::s3://b/a.npy", "b.npy", "c.npy") == (
        "simplecache::s3://b/a.npy is an address in another one, which is not taken; name the file itself"
    )
    assert refused(MinuendError, "s3://b/m.onnx", "b.npy", "c.npy") == (
        "s3://b/m.onnx is a model (.onnx), which is read from a file of this machine; copy it here"
    )


@pytest.mark.usefixtures("memory")
def test_what_is_not_whole_does_not_appear(
    memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    memory.pipe("/a.npy", as_npy(A))
    memory.pipe("/short.npy", as_npy(A)[:-1])
    assert cli.main(["sub", "memory://a.npy", "memory://short.npy", "-o", "memory://c.npy"]) == 2
    assert capfd.readouterr().err == (
        "error: memory://short.npy has 3999 bytes of elements; expected 4000 (uint16 of shape (40, 50))\n"
    )

    closed = "memory://c.npy is not open to you (PermissionError: no); its file system in fsspec takes the credentials"
    for error, text in (
        (OSError("full"), "memory://c.npy cannot be reached (OSError: full); try again, or copy it here"),
        (FileNotFoundError("c"), "there is no bucket or folder for memory://c.npy; make it first"),
        (PermissionError("no"), closed),
    ):

        def broken(*_: Any, error: OSError = error, **__: Any) -> None:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(type(memory), "put_file", broken)
            assert refused(OSError, "memory://a.npy", "memory://a.npy", "memory://c.npy") == text
    assert refused(MinuendError, "memory://a.npy", "memory://a.npy", "memory://a.npy") == (
        "the output memory://a.npy is also an input; nothing is overwritten, name another output"
    )
    assert sorted(memory.store) == ["/a.npy", "/short.npy"]
    assert os.listdir(tmp_path) == []


def test_where_objects_do_not_appear_at_once_they_get_another_name_first(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_output, "_AT_ONCE", set())
    seen: list[list[str]] = []
    move = type(memory).mv
    monkeypatch.setattr(
        type(memory), "mv", lambda self, one, other: (seen.append(sorted(self.store)), move(self, one, other))
    )
    write_tensors("memory://data/c.npy", [Result.of("x", TYPES["uint16"], A)])
    ((part,),) = seen
    assert part.startswith("/data/.c.npy.")
    assert part.endswith(".part")
    assert sorted(memory.store) == ["/data/c.npy"]

    def broken(*_: Any) -> None:
        raise OSError("no moving")

    monkeypatch.setattr(type(memory), "mv", broken)
    with pytest.raises(OSError, match="no moving"):
        write_tensors("memory://data/d.npy", [Result.of("x", TYPES["uint16"], A)])
    assert sorted(memory.store) == ["/data/c.npy"]
