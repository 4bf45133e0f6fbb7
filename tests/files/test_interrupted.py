"""Across modules: after an interrupted ``sub`` the output is whole or as before; the next run removes the rest."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from children import child

from minuend.files.difference import subtract_files
from minuend.files.streaming import regions
from minuend.files.transaction import streams

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are killed as POSIX has it")

SHAPE = (64, 1000)
OLD = b"old"

# Waits where a block is put in place for the n-th time, or where the file takes its name.
CODE = """
import sys
from minuend.cli import program
from minuend.files.streaming import regions
from minuend.files.transaction import streams, writing
regions.BLOCK_BYTES = 8000
when, calls = int(sys.argv.pop(1)), 0
def stop():
    print("here", flush=True)
    sys.stdin.readline()
def write_at(*args, before=streams.write_at):
    global calls
    calls += 1
    stop() if calls == when else before(*args)
streams.write_at = write_at
if not when:
    writing.announce = lambda *_: stop()
raise SystemExit(program.main())
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, Path]:
    """Two operands of 32 blocks, and an output where something stands."""
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.full(SHAPE, ord(name), np.int32))
    (tmp_path / "o.npy").write_bytes(OLD)
    return str(tmp_path / "a.npy"), str(tmp_path / "b.npy"), tmp_path / "o.npy"


@pytest.mark.parametrize("when", [1, 2, 17, 32, 0])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_killed_leaves_the_old_file(
    files: tuple[str, str, Path], when: int, number: signal.Signals
) -> None:
    a, b, out = files
    code = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{CODE}"
    with child([sys.executable, "-c", code, str(when), "sub", a, b, "-o", str(out)]) as work:
        assert work.stdout is not None
        assert work.stdout.readline() == b"here\n"
        assert out.read_bytes() == OLD
        work.send_signal(number)
        _, err = work.communicate(timeout=20)  # whoever waits goes on, if he is there
    assert out.read_bytes() == OLD
    left = [name for name in os.listdir(out.parent) if name not in ("a.npy", "b.npy", "o.npy")]
    assert len(left) == (number == signal.SIGKILL)
    by = {signal.SIGTERM: " by SIGTERM", signal.SIGINT: ""}.get(number)
    assert err.decode() == ("" if by is None else f"error: interrupted{by}; nothing was written\n")
    assert all(name.startswith(".o.npy.") and name.endswith(".part") for name in left)
    subtract_files(a, b, str(out))
    assert (np.load(out) == -1).all()
    assert sorted(os.listdir(out.parent)) == ["a.npy", "b.npy", "o.npy"]


@contextmanager
def blocks_of(nbytes: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regions, "BLOCK_BYTES", nbytes)
        yield


@pytest.mark.parametrize("when", [1, 2, 32])
def test_a_full_disk_is_reported_and_threads_end(
    files: tuple[str, str, Path], monkeypatch: pytest.MonkeyPatch, when: int
) -> None:
    a, b, out = files
    calls = 0
    write_at = streams.write_at

    def full(*args: object) -> None:
        nonlocal calls
        calls += 1
        if calls >= when:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_at(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(streams, "write_at", full)
    with blocks_of(8000), pytest.raises(OSError, match="No space left on device") as caught:
        subtract_files(a, b, str(out))
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(out))
    assert out.read_bytes() == OLD
    assert sorted(os.listdir(out.parent)) == ["a.npy", "b.npy", "o.npy"]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("minuend")]


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("suffix", [".h5", ".nc"])
def test_a_full_disk_is_reported_of_the_output_of_a_package_too(
    files: tuple[str, str, Path], monkeypatch: pytest.MonkeyPatch, suffix: str, chunked: bool
) -> None:
    h5py = pytest.importorskip("h5py")
    a, b, out = files
    if chunked:
        a = a.replace(".npy", ".h5")
        with h5py.File(a, "w") as file:
            file.create_dataset("x", data=np.ones(SHAPE, np.int32), chunks=(8, 1000))
    output = out.with_suffix(suffix)
    output.write_bytes(OLD)

    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(streams, "write_at", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        subtract_files(a, b, str(output))
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(output))
    assert output.read_bytes() == OLD
    assert {"a.npy", "b.npy", "o.npy", output.name} == set(os.listdir(out.parent)) - {"a.h5"}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="not every system has a disk that is always full")
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".pb"])
def test_threads_end_where_blocks_are_written_in_order(files: tuple[str, str, Path], suffix: str) -> None:
    a, b, out = files
    output = out.parent / f"full{suffix}"
    output.symlink_to("/dev/full")
    with blocks_of(8000), pytest.raises(OSError, match="No space left on device"):
        subtract_files(a, b, str(output))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("minuend")]


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".pb", ".tif", ".h5", ".nc"])
def test_a_file_that_may_not_become_so_large_is_reported(files: tuple[str, str, Path], suffix: str) -> None:
    """As a full disk, by the system itself: the part may have 100 kB of 256."""
    a, b, out = files
    output = out.with_suffix(suffix)
    output.write_bytes(OLD)
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "from minuend.cli import program; raise SystemExit(program.main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "sub", a, b, "-o", str(output)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (2, f"error: {output}: File too large\n")
    assert output.read_bytes() == OLD
    assert not [name for name in os.listdir(out.parent) if name.endswith(".part")]


def test_a_folder_of_shards_that_is_killed_is_removed_by_the_next_run(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    from safetensors.numpy import save_file

    folder = tmp_path / "ckpt"
    folder.mkdir()
    save_file({"x": np.zeros(SHAPE, np.int32)}, folder / "one.safetensors")
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"x": "one.safetensors"}}')
    with child([sys.executable, "-c", CODE, "3", "sub", str(folder), str(folder), "-o", str(tmp_path / "out")]) as work:
        assert work.stdout is not None
        assert work.stdout.readline() == b"here\n"
        work.kill()
        work.communicate(timeout=20)
    (left,) = (name for name in os.listdir(tmp_path) if name != "ckpt")
    assert left.startswith(".out.")
    assert left.endswith(".part")
    subtract_files(str(folder), str(folder), str(tmp_path / "out"))
    assert sorted(os.listdir(tmp_path)) == ["ckpt", "out"]
    assert sorted(os.listdir(tmp_path / "out")) == ["model.safetensors.index.json", "one.safetensors"]


def test_an_observer_s_error_ends_the_run(files: tuple[str, str, Path]) -> None:
    a, b, out = files

    def observer(*_: object) -> None:
        raise ValueError("seen enough")

    with blocks_of(8000), pytest.raises(ValueError, match="seen enough"):
        subtract_files(a, b, str(out), watch=lambda *_: observer)
    assert out.read_bytes() == OLD
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("minuend")]


# Gets a signal within a callback of HDF5's library, at the n-th write of it.
WITHIN = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from minuend.cli import program
from minuend.files.transaction import streams
when, calls = int(sys.argv.pop(1)), 0
def write(self, data, before=streams.Patient.write):
    global calls
    calls += 1
    if calls == when:
        os.kill(os.getpid(), signal.SIGINT)
    return before(self, data)
streams.Patient.write = write
raise SystemExit(program.main())
"""


@pytest.mark.parametrize("suffix", ["h5", "nc"])
@pytest.mark.parametrize("when", [1, 2, 3, 5, 8])
def test_an_interrupt_within_a_callback_of_the_library_does_not_crash_it(
    tmp_path: Path, suffix: str, when: int
) -> None:
    h5py = pytest.importorskip("h5py")
    for name in "ab":
        with h5py.File(tmp_path / f"{name}.{suffix}", "w") as file:
            file.create_dataset("x", data=np.ones((40, 40)), chunks=(4, 4), compression=1)
    line = ["sub", f"a.{suffix}", f"b.{suffix}", "-o", f"c.{suffix}"]
    done = subprocess.run(
        [sys.executable, "-c", WITHIN, str(when), *line], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "error: interrupted; nothing was written\n")
    assert sorted(os.listdir(tmp_path)) == [f"a.{suffix}", f"b.{suffix}"]
