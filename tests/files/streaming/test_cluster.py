"""Differences on a Dask cluster: several processes of this machine, on loopback, over zarr."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from children import child
from page_runner import blocks, commands

import minuend
from minuend import errors
from minuend.cli.program import main
from minuend.files.difference import subtract_files
from minuend.files.streaming import cluster
from minuend.files.tensor_pairs import Rules
from minuend.standards.dialects import dialect

zarr = pytest.importorskip("zarr")
distributed = pytest.importorskip("distributed")

SHAPE, CHUNKS = (64, 60), (8, 10)
HEADROOM = 24 << 20
"""Bytes that a worker may take for itself beside what it has at the start."""


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    """A cluster of two processes with two threads each."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, host="127.0.0.1", dashboard_address="127.0.0.1:0", memory_limit=0
    ) as found:
        yield found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a.zarr and b.zarr, and their whole difference in whole.zarr."""
    monkeypatch.chdir(tmp_path)
    for name, seed in (("a", 0), ("b", 1)):
        values = np.random.default_rng(seed).integers(-128, 128, SHAPE).astype("int8")
        zarr.create_array(f"{name}.zarr", shape=SHAPE, chunks=CHUNKS, dtype="int8")[...] = values
    subtract_files("a.zarr", "b.zarr", "whole.zarr", overflow="saturate")
    return tmp_path


def files_of(folder: str) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


@pytest.mark.parametrize("rules", [Rules(), Rules(dialect("onnx").resolve(14))], ids=str)
def test_a_cluster_writes_what_threads_write_and_counts_it(here: Path, workers: Any, rules: Rules) -> None:
    calls: list[tuple[int, int]] = []
    found = subtract_files(
        "a.zarr",
        "b.zarr",
        "c.zarr",
        rules=rules,
        overflow="saturate",
        scheduler=workers.scheduler_address,
        progress=lambda *at: calls.append(at),
    )
    whole = subtract_files("a.zarr", "b.zarr", "d.zarr", rules=rules, overflow="saturate")
    assert files_of("c.zarr") == files_of("whole.zarr")
    assert found.tensors == whole.tensors
    assert found.tensors[0].overflowed
    assert [one for one, _ in calls] == sorted(one for one, _ in calls)
    assert calls[-1] == (whole.nbytes, whole.nbytes)


def test_operands_of_other_formats_are_read_by_workers(here: Path, workers: Any) -> None:
    np.save("b.npy", zarr.open_array("b.zarr", mode="r")[...])
    subtract_files("a.zarr", "b.npy", "c.zarr", overflow="saturate", scheduler=workers.scheduler_address)
    assert files_of("c.zarr") == files_of("whole.zarr")


@pytest.mark.filterwarnings("ignore::Warning")  # zarr's, of a format that may change
def test_nodata_and_coordinates_are_those_of_threads(here: Path, workers: Any) -> None:
    xr = pytest.importorskip("xarray")
    for name, seed in (("x", 0), ("y", 1)):
        values = np.random.default_rng(seed).integers(-100, 100, SHAPE).astype("int16")
        values[values < -80] = -32768
        cells = ("lat", "lon"), values, {"_FillValue": np.int16(-32768)}
        made = xr.Dataset({"v": cells}, {"lat": np.arange(64.0), "lon": np.arange(60.0)})
        made.chunk(lat=8, lon=10).to_zarr(f"{name}.zarr", zarr_format=2)
    subtract_files("x.zarr", "y.zarr", "c.zarr", overflow="error", scheduler=workers.scheduler_address)
    subtract_files("x.zarr", "y.zarr", "d.zarr", overflow="error")
    assert files_of("c.zarr") == files_of("d.zarr")
    x, y, c = (xr.open_zarr(f"{name}.zarr").load() for name in "xyc")
    xr.testing.assert_equal(c, x - y)


def test_an_overflow_is_reported_of_the_whole_and_nothing_appears(here: Path, workers: Any) -> None:
    messages = []
    for scheduler in (None, workers.scheduler_address):
        with pytest.raises(errors.OverflowFound) as caught:
            subtract_files("a.zarr", "b.zarr", "c.zarr", overflow="error", scheduler=scheduler)
        messages.append((str(caught.value), caught.value.index, caught.value.count))
    assert messages[0] == messages[1]
    assert sorted(os.listdir()) == ["a.zarr", "b.zarr", "whole.zarr"]


def test_a_worker_that_is_killed_in_mid_run_changes_nothing(
    here: Path, workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "MOST_IN_BATCH", 1)
    with distributed.Client(workers, set_as_default=False) as client:
        victims = list(client.run(os.getpid).values())
        killed: list[int] = []

        def kill(done: int, _: int) -> None:
            if done and victims and not killed:
                killed.append(victims.pop())
                os.kill(killed[0], signal.SIGKILL)

        found = subtract_files(
            "a.zarr", "b.zarr", "c.zarr", overflow="saturate", scheduler=workers.scheduler_address, progress=kill
        )
        assert files_of("c.zarr") == files_of("whole.zarr")
        assert found.tensors == subtract_files("a.zarr", "b.zarr", "d.zarr", overflow="saturate").tensors
        client.wait_for_workers(2, timeout=30)
        assert killed[0] not in client.run(os.getpid).values()


def test_a_run_that_was_interrupted_here_goes_on_there(here: Path, workers: Any) -> None:
    class StopError(BaseException):
        pass

    def stop(done: int, total: int) -> None:
        if done > total // 2:
            raise StopError

    with pytest.raises(StopError):
        subtract_files("a.zarr", "b.zarr", "c.zarr", overflow="saturate", progress=stop)
    calls: list[int] = []
    subtract_files(
        "a.zarr",
        "b.zarr",
        "c.zarr",
        overflow="saturate",
        resume=True,
        scheduler=workers.scheduler_address,
        progress=lambda done, _: calls.append(done),
    )
    assert calls[0] > calls[-1] // 3
    assert files_of("c.zarr") == files_of("whole.zarr")


def test_an_interrupted_run_leaves_no_tasks_on_the_cluster(here: Path, workers: Any) -> None:
    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        subtract_files("a.zarr", "b.zarr", "c.zarr", progress=stop, scheduler=workers.scheduler_address)
    (note,) = caught.value.__notes__
    assert note.startswith(f"what is finished of c.zarr stays in {here}/.c.zarr.")
    assert not workers.scheduler.tasks


def test_a_damaged_chunk_is_reported_by_its_name(here: Path, workers: Any) -> None:
    path = here / "b.zarr" / "c" / "3" / "2"
    path.write_bytes(path.read_bytes()[:9])
    with pytest.raises(errors.MinuendError) as caught:
        subtract_files("a.zarr", "b.zarr", "c.zarr", scheduler=workers.scheduler_address)
    assert str(caught.value) == (
        f"{here}/b.zarr: the chunk c/3/2 cannot be unpacked (Zstd decompression error: invalid input data); it is cut "
        "off or damaged, copy the array anew"
    )
    assert not (here / "c.zarr").exists()


def test_a_worker_that_cannot_see_a_path_is_reported(here: Path, workers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = cluster.Place

    def elsewhere(path: str, spare: str, out: str) -> cluster.Place:
        return seen(path, f"{spare}.elsewhere", out)

    monkeypatch.setattr(cluster, "Place", elsewhere)
    with pytest.raises(errors.MinuendError) as caught:
        subtract_files("a.zarr", "b.zarr", "c.zarr", scheduler=workers.scheduler_address)
    message = str(caught.value)
    assert message.startswith("the worker tcp://127.0.0.1:")
    assert "does not see the files: there is no folder" in message
    assert message.endswith("workers read and write themselves, name paths on a file system that all of them share")


def test_a_worker_of_another_version_is_reported(here: Path, workers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = cluster.Place
    monkeypatch.setattr(cluster, "Place", lambda *where: seen(*where, version="0"))
    with pytest.raises(errors.MinuendError) as caught:
        subtract_files("a.zarr", "b.zarr", "c.zarr", scheduler=workers.scheduler_address)
    message = f"has minuend {minuend.__version__} and not 0; install one version everywhere"
    assert str(caught.value).startswith("the worker tcp://127.0.0.1:")
    assert str(caught.value).endswith(message)


def test_a_scheduler_that_does_not_answer_is_reported(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", "200ms")
    assert main(["sub", "a.zarr", "b.zarr", "-o", "c.zarr", "--scheduler", "tcp://127.0.0.1:1"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: no Dask scheduler answers at tcp://127.0.0.1:1 (")
    assert message.endswith("); start one with dask scheduler and name its address, such as tcp://host:8786\n")
    assert sorted(os.listdir()) == ["a.zarr", "b.zarr", "whole.zarr"]


# ---- larger than the memory of a worker ------------------------------------------------------------------------


def limit() -> None:
    """Let this process take :data:`HEADROOM` more than it has now."""
    import resource

    with open("/proc/self/status") as stream:
        (now,) = (int(line.split()[1]) << 10 for line in stream if line.startswith("VmData:"))
    resource.setrlimit(resource.RLIMIT_DATA, (now + HEADROOM, resource.RLIM_INFINITY))


def unlimited() -> None:
    """Take the limit back."""
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def hold(nbytes: int) -> bool:
    """Whether this process can hold as many bytes."""
    try:
        np.ones(nbytes, np.uint8)
    except MemoryError:
        return False
    return True


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="limits are as Linux has them")
def test_files_a_hundred_times_as_large_as_a_worker_may_hold(here: Path, workers: Any) -> None:
    side = 1 << 10
    shape = (820 * side, side)  # of bytes, three times: 100 times the headroom
    for name, value in (("x", 5), ("y", 3)):
        of = zarr.create_array(f"{name}.zarr", shape=shape, chunks=(side, side), dtype="uint8", fill_value=value)
        of[7 * side : 8 * side] = 9 if name == "x" else 250
    assert 3 * shape[0] * shape[1] >= 100 * HEADROOM
    address = workers.scheduler_address
    subtract_files("a.zarr", "b.zarr", "warm.zarr", overflow="saturate", scheduler=address)
    with distributed.Client(workers, set_as_default=False) as client:
        client.run(limit)
        try:
            assert not any(client.run(hold, 2 * HEADROOM).values())
            before = client.run(os.getpid)
            found = subtract_files("x.zarr", "y.zarr", "z.zarr", overflow="saturate", scheduler=address)
            assert client.run(os.getpid) == before
        finally:
            client.run(unlimited)
    assert found.tensors[0].overflowed == side * side
    z = zarr.open_array("z.zarr", mode="r")
    for at, value in ((0, 2), (7, 0), (819, 2)):
        assert (z[at * side : (at + 1) * side] == value).all()


# ---- what docs/cluster.md shows --------------------------------------------------------------------------------


def test_the_commands_of_the_page_work_and_write_the_same(here: Path, workers: Any) -> None:
    os.rename("a.zarr", "nir.zarr")
    os.rename("b.zarr", "red.zarr")
    outputs = []
    page = "".join(blocks("cluster.md", "console"))
    for program, *argv in commands(page.replace("tcp://head:8786", workers.scheduler_address)):
        assert program == "minuend"
        assert main(argv) == 0
        outputs.append(argv[argv.index("-o") + 1])
    assert outputs == ["difference.zarr", "again.zarr", "resumed.zarr"]
    assert files_of("difference.zarr") == files_of("again.zarr") == files_of("resumed.zarr")


@contextlib.contextmanager
def by_hand() -> Iterator[subprocess.Popen[bytes]]:
    """Start a scheduler and a worker as the page does; the scheduler writes s.json."""
    dask = [sys.executable, "-m", "dask"]
    own = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", "s.json"]
    with child([*dask, "scheduler", "--port", "0", *own]) as scheduler:
        while not os.path.exists("s.json"):
            assert scheduler.poll() is None
            time.sleep(0.05)
        with child([*dask, "worker", "--no-nanny", "--nthreads", "1", *own]):
            yield scheduler


def test_a_scheduler_is_named_by_its_file_and_what_is_done_stays_when_it_dies(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "MOST_IN_BATCH", 1)
    with by_hand() as scheduler:
        subtract_files("a.zarr", "b.zarr", "c.zarr", overflow="saturate", scheduler="s.json")

        def kill(*_: int) -> None:
            scheduler.kill()

        with pytest.raises(ConnectionError) as caught:
            subtract_files("a.zarr", "b.zarr", "d.zarr", overflow="saturate", scheduler="s.json", progress=kill)
    assert str(caught.value).startswith("the scheduler went away (")
    assert caught.value.__notes__[0].startswith(f"what is finished of d.zarr stays in {here}/.d.zarr.")
    subtract_files("a.zarr", "b.zarr", "d.zarr", overflow="saturate", resume=True)
    assert files_of("c.zarr") == files_of("d.zarr") == files_of("whole.zarr")


def die(*_: object) -> None:
    """Take a worker's tasks away: it ends at the first one."""
    from minuend.files.streaming import chunk_tasks

    chunk_tasks.do = lambda *_: os._exit(1)


def test_workers_that_die_again_and_again_end_the_run(
    here: Path, workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers.scheduler, "allowed_failures", 0)
    with distributed.Client(workers, set_as_default=False) as client:
        client.run(die)
        with pytest.raises(ConnectionError) as caught:
            subtract_files("a.zarr", "b.zarr", "c.zarr", overflow="saturate", scheduler=workers.scheduler_address)
        client.restart()
    message = str(caught.value)
    assert message.startswith("workers died again and again at the same chunks, tcp://127.0.0.1:")
    assert message.endswith(
        " was the last one; most often of too little memory: expected memory for a chunk of each operand and of the "
        "difference, for each thread"
    )
    subtract_files("a.zarr", "b.zarr", "c.zarr", overflow="saturate", resume=True, scheduler=workers.scheduler_address)
    assert files_of("c.zarr") == files_of("whole.zarr")
