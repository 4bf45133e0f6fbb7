"""Across modules: outputs in an object store. Chunks are written in place, headers last, and a mark until then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minuend as mn
from minuend.errors import MinuendError, OverflowFound
from minuend.files.difference import subtract_files
from minuend.files.formats import zarr as zarr_format
from minuend.files.streaming import cluster
from minuend.files.streaming.chunk_tasks import Job
from minuend.files.tensor_pairs import NUMPYS
from minuend.files.transaction import remote_resume
from minuend.files.transaction.remote_resume import Unfinished

zarr = pytest.importorskip("zarr")
fsspec = pytest.importorskip("fsspec")

SHAPE, CHUNKS, CELLS = (40, 30), (8, 10), 15
A, B = (np.random.default_rng(seed).integers(-128, 128, SHAPE).astype("int8") for seed in (0, 1))
MARK = "/data/c.zarr/.minuend-unfinished"


@pytest.fixture
def store(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An object store in memory, with the group a.zarr and the array b.zarr beside it in files."""
    monkeypatch.chdir(tmp_path)
    system = fsspec.filesystem("memory")
    system.store.clear()
    for name, array in (("memory://data/a.zarr", A), ("b.zarr", B)):
        zarr.create_array(name, name="g/x", shape=SHAPE, chunks=CHUNKS, dtype="int8")[...] = array
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def run(**options: Any) -> Any:
    return subtract_files("memory://data/a.zarr", "b.zarr", "memory://data/c.zarr", overflow="saturate", **options)


def objects(store: Any) -> dict[str, bytes]:
    return {name: store.cat(name) for name in store.find("/data/c.zarr")}


def broken_at(monkeypatch: pytest.MonkeyPatch, when: int, error: BaseException) -> None:
    add, calls = Unfinished.add, []

    def counted(self: Unfinished, entry: Any) -> None:
        calls.append(entry)
        if len(calls) == when:
            raise error
        add(self, entry)

    monkeypatch.setattr(Unfinished, "add", counted)


def test_the_difference_is_that_of_files(store: Any) -> None:
    report = run()
    subtract_files("memory://data/a.zarr", "b.zarr", "c.zarr", overflow="saturate")
    found = zarr.open_group("memory://data/c.zarr", mode="r")["g/x"]
    assert np.array_equal(found[...], mn.subtract(A, B, overflow="saturate"))
    assert report.tensors[0].elements == A.size
    assert store.find(MARK) == []
    assert len(objects(store)) == CELLS + 3
    for name, content in objects(store).items():
        with open(name.removeprefix("/data/"), "rb") as stream:
            assert stream.read() == content, name


def test_headers_come_last_and_an_interrupted_run_is_gone_on_with(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run()
    expected = objects(store)
    store.rm("/data/c.zarr", recursive=True)
    with monkeypatch.context() as patch:
        patch.setattr(remote_resume, "_AT_ONCE", 2)
        broken_at(patch, 7, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt) as caught:
            run()
    assert caught.value.__notes__ == [
        "what is finished of memory://data/c.zarr stays there, marked by .minuend-unfinished; --resume goes on with it"
    ]
    assert not [name for name in store.find("/data/c.zarr") if name.endswith("zarr.json")]
    with pytest.raises(FileNotFoundError):
        zarr.open_group("memory://data/c.zarr", mode="r")
    noted = sum(len(json.loads(store.cat(name))) for name in store.find(MARK) if name[-1].isdigit())
    written: list[Any] = []
    put = zarr_format.ChunkedOutput.put
    monkeypatch.setattr(
        zarr_format.ChunkedOutput, "put", lambda self, *args: (written.append(args), put(self, *args))[1]
    )
    chunk = next(name for name in sorted(store.find("/data/c.zarr")) if "/c/" in name)
    store.pipe(chunk, store.cat(chunk)[:-1])
    again = run(resume=True)
    assert 6 <= noted == CELLS - len(written) + 1
    assert (again.tensors, objects(store)) == (whole.tensors, expected)


@pytest.mark.filterwarnings("ignore::Warning")  # zarr's, of a format that may change
@pytest.mark.parametrize("version", [2, 3])
def test_coordinates_and_nodata_go_to_an_address(store: Any, version: int) -> None:
    xr = pytest.importorskip("xarray")
    cells = ("y", "x"), A.astype("int16"), {"_FillValue": np.int16(5)}
    made = xr.Dataset({"v": cells}, {"y": np.arange(40.0), "name": ("x", np.array(["é"] * 30, object))})
    made.to_zarr("memory://data/x.zarr", zarr_format=version)
    subtract_files("memory://data/x.zarr", "memory://data/x.zarr", "memory://data/y.zarr")
    subtract_files("memory://data/x.zarr", "memory://data/x.zarr", "y.zarr")
    for name in store.find("/data/y.zarr"):
        with open(f"y.zarr/{name.removeprefix('/data/y.zarr/')}", "rb") as stream:
            assert stream.read() == store.cat(name), name
    x, y = xr.open_zarr("memory://data/x.zarr").load(), xr.open_zarr("memory://data/y.zarr").load()
    xr.testing.assert_equal(y.astype("f4"), (x - x).astype("f4"))


def test_killed_before_anything_is_noted_all_is_done_again(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    expected = objects(store)
    store.rm("/data/c.zarr", recursive=True)
    with monkeypatch.context() as patch:
        patch.setattr(Unfinished, "note", lambda self: None)  # as kill -9 does
        broken_at(patch, 7, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            run()
    assert sorted(name.rpartition("/")[2] for name in store.find(MARK)) == ["identity"]
    run(resume=True)
    assert objects(store) == expected


def test_what_is_left_is_removed_or_refused(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        broken_at(patch, 7, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            run()
    with pytest.raises(MinuendError) as caught:
        subtract_files("memory://data/a.zarr", "b.zarr", "memory://data/c.zarr", overflow="wrap", resume=True)
    assert str(caught.value) == (
        "what is left of memory://data/c.zarr is of another difference: --overflow was saturate and is wrap; run "
        "without --resume to start anew"
    )
    store.pipe("/data/c.zarr/g/x/c/9/9", b"of an older run")
    run()
    assert not store.exists("/data/c.zarr/g/x/c/9/9")
    for resume in (False, True):
        with pytest.raises(MinuendError) as caught:
            run(resume=resume)
        assert str(caught.value) == "memory://data/c.zarr exists; name one that does not"
    store.pipe(f"{MARK}/identity", json.dumps("no object").encode())
    with pytest.raises(MinuendError) as caught:
        run(resume=True)
    assert str(caught.value) == (
        "memory://data/c.zarr/.minuend-unfinished is no journal of this program; run without --resume"
    )


def test_a_difference_without_an_answer_leaves_nothing(store: Any) -> None:
    with pytest.raises(OverflowFound):
        subtract_files("memory://data/a.zarr", "b.zarr", "memory://data/c.zarr", overflow="error")
    assert store.find("/data/c.zarr") == []


def test_a_store_that_fails_is_reported(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = type(store).pipe_file

    def full(self: Any, path: str, value: bytes, **options: Any) -> None:
        if "/c/2/" in path:
            raise OSError("no room")
        pipe(self, path, value, **options)

    with monkeypatch.context() as patch:
        patch.setattr(type(store), "pipe_file", full)
        with pytest.raises(OSError, match=r"^memory://data/c.zarr cannot be reached \(OSError: no room\); try again"):
            run()
    run(resume=True)
    assert np.array_equal(
        zarr.open_group("memory://data/c.zarr", mode="r")["g/x"][...], mn.subtract(A, B, overflow="saturate")
    )
    with pytest.raises(mn.errors.FileFormatError) as caught:
        subtract_files("memory://data/a.zarr", "b.zarr", "https://host/c.zarr")
    assert str(caught.value) == (
        "https://host/c.zarr is on the web, which is only read; write to a file or to an object store"
    )


@pytest.mark.usefixtures("store")
def test_workers_of_a_cluster_write_to_the_address_too() -> None:
    job = Job.of("memory://data/a.zarr", "b.zarr", NUMPYS, "wrap", False)
    opened = cluster._Opened(job, cluster.Place("memory://data/c.zarr", "", "memory://data/c.zarr"))
    (output,) = opened.outputs
    assert (output.grid, output.nbytes) == (CHUNKS, 80)
    output.put((slice(8, 16), slice(10, 20)), np.full(CHUNKS, 3, np.int8))
    assert fsspec.filesystem("memory").exists("/data/c.zarr/g/x/c/1/1")
