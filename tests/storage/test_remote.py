"""Files behind addresses: read by ranges, written whole or not at all, and what file systems raise."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ranges import served

import minuend as mn
from minuend import cli
from minuend.actions.difference import subtract_files
from minuend.core.elements import TYPES
from minuend.errors import MinuendError
from minuend.storage import Result, remote, split, write_tensors
from minuend.storage.remote import Remote, as_local, name_of

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
    asked: list[tuple[int, int]] = []
    whole = type(memory).cat_file
    monkeypatch.setattr(
        type(memory),
        "cat_file",
        lambda self, path, start=None, end=None: asked.append((start, end)) or whole(self, path, start, end),
    )
    source = Remote("memory://x.bin")
    for offset, size in ((0, 3), (60, 8), (240, 10), (5, 0), (62, 70), (250, 0)):
        assert source.read(offset, size).tolist() == list(range(offset, offset + size))
    assert asked == [(0, 64), (64, 128), (192, 250), (62, 132)]
    with pytest.raises(MinuendError, match=r"^memory://x.bin has 250 bytes; byte 251 is asked for$"):
        source.read(250, 1)


# ---- what goes wrong -----------------------------------------------------------------------------------------------


def test_what_a_web_server_does_wrong_is_told(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    out = str(tmp_path / "c.npy")
    with served(a__npy=as_npy(A)) as site:
        url = f"{site.url}/a.npy"
        assert refused(FileNotFoundError, f"{site.url}/b.npy", url, out) == f"there is no file {site.url}/b.npy"
        assert refused(MinuendError, url, url, f"{site.url}/c.npy") == (
            f"{site.url}/c.npy is on the web, which is only read; write to a file or to an object store"
        )
        site.way = "short"
        assert refused(MinuendError, url, url, out) == (
            f"{url} gave 4127 bytes from byte 0 on; expected 4128 of 4128: it has changed while it was read, or its "
            "server takes no ranges"
        )
        site.way = "forbidden"
        assert refused(PermissionError, url, url, out).startswith(f"{url} is not open to you (ClientResponseError: 403")
    text = refused(OSError, url, url, out)
    assert text.startswith(f"{url} cannot be reached (Client")
    assert text.endswith("; try again, or copy it here")
    assert os.listdir(tmp_path) == []


def test_a_server_without_ranges_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    monkeypatch.setattr(remote, "BLOCK", 1 << 10)
    with served(a__npy=as_npy(A)) as site:
        site.way = "no ranges"
        url = f"{site.url}/a.npy"
        assert refused(MinuendError, url, url, str(tmp_path / "c.npy")) == (
            f"{url} gave 4128 bytes from byte 128 on; expected 4000 of 4128: it has changed while it was read, or its "
            "server takes no ranges"
        )


def test_packages_and_protocols_that_are_not_there_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setattr(remote.tempfile, "tempdir", str(tmp_path))
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
    monkeypatch.setattr(remote, "_AT_ONCE", set())
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
