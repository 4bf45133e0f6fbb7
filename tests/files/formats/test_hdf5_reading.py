"""HDF5's library works in a process of its own: what it does to damaged files happens there."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minuend.errors import FileFormatError
from minuend.files import open_tensors
from minuend.files.formats import hdf5_reading
from minuend.files.formats.coordinates import Coordinates
from minuend.files.formats.hdf5_chunks import Damaged, fletcher32, inflated

h5py = pytest.importorskip("h5py")

NUMBERS = np.arange(37 * 53).reshape(37, 53)
FILTERS: dict[str, dict[str, Any]] = {
    "plain": {}, "deflate": {"compression": 4}, "two": {"compression": 9, "shuffle": True}, "sum": {"fletcher32": True},
    "all": {"compression": 1, "shuffle": True, "fletcher32": True}, "shuffle": {"shuffle": True},
    "lzf": {"compression": "lzf"}, "lzf and all": {"compression": "lzf", "shuffle": True, "fletcher32": True},
    "scale and offset": {"scaleoffset": 0},
}  # fmt: skip


@pytest.mark.parametrize("version", ["earliest", "v110", "latest"])
def test_every_storage_is_read_as_h5py_reads_it(version: str, tmp_path: Path) -> None:
    path = str(tmp_path / "x.h5")
    with h5py.File(path, "w", libver=version) as file:
        for name, options in FILTERS.items():
            for dtype in ("u1", "<i2", ">i4", "f4", ">f8") if "scaleoffset" not in options else ("i4",):
                file.create_dataset(f"{name}/{dtype}", data=NUMBERS.astype(dtype), chunks=(10, 7), **options)
        part = file.create_dataset("some chunks", (40, 40), "i4", chunks=(8, 8), fillvalue=-7, maxshape=(None, None))
        part[3:9, 3:20] = 5
        file.create_dataset("no chunks", (10, 10), "f4", chunks=(5, 5))
        file.create_dataset("a chunk beyond the end", (100,), "f4", chunks=(1000,), maxshape=(None,))[:] = 3
        grown = file.create_dataset("grown", (5, 5), "i2", chunks=(3, 3), maxshape=(None, None), compression=1)
        grown[:] = 1
        grown.resize((4, 20))
        grown.resize((7, 20))
        grown[:, 10:] = 4
        file.create_dataset("many", (90, 90), "u1", chunks=(3, 3), maxshape=(None, None))[:] = 1
        file.create_dataset("none", (0, 5), "f4", chunks=(1, 5), maxshape=(None, 5))
        file.create_dataset("late", (5, 6), "f4", fillvalue=2.5)
        file["scalar"], file["contiguous"], file["truth"] = np.float32(4), NUMBERS, NUMBERS > 5
    found = open_tensors(path, every_type=True)
    source = np.random.default_rng(0)
    with h5py.File(path) as file:
        for name in found:
            expected, elements = file[name][()], found[name].elements()
            assert elements.dtype == file[name].dtype, name
            assert np.array_equal(elements.read(), expected), name
            region = tuple(slice(*sorted(int(x) for x in source.integers(0, n + 1, 2))) for n in expected.shape)
            assert np.array_equal(elements.part(region), expected[region]), name


def with_chunk(path: Path, chunk: bytes, mask: int = 0, **options: Any) -> str:
    """A dataset of ten numbers in a chunk that holds other bytes."""
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (10,), "<u4", chunks=(10,), **options).id.write_direct_chunk((0,), chunk, mask)
    return str(path)


TEN = np.arange(10, dtype="<u4").tobytes()


def checked(data: bytes) -> bytes:
    return data + fletcher32(data).to_bytes(4, "little")


@pytest.mark.parametrize(
    ("chunk", "options", "message"),
    [
        (zlib.compress(bytes(1 << 20)), {"compression": 1}, "it inflates to more bytes; expected 40"),
        (bytes(4086), {"compression": 1}, "it has 4086 bytes; expected 40"),
        (zlib.compress(bytes(39)), {"compression": 1}, "it inflates to 39 bytes; expected 40"),
        (zlib.compress(TEN)[:-4], {"compression": 1}, "its deflate stream is cut off"),
        (b"no deflate", {"compression": 1}, "Error -3 while decompressing data: incorrect header check"),
        (bytes(41), {}, "it has 41 bytes; expected 40"),
        (TEN + bytes(4), {"fletcher32": True}, "its checksum differs"),
        (bytes(3), {"fletcher32": True}, "it is too short for its checksum"),
    ],
)
def test_a_chunk_that_does_not_hold_what_its_shape_takes_is_refused(
    tmp_path: Path, chunk: bytes, options: dict[str, Any], message: str
) -> None:
    path = with_chunk(tmp_path / "x.h5", chunk, **options)
    with pytest.raises(FileFormatError) as caught:
        open_tensors(path)["x"].read()
    assert str(caught.value).startswith(
        f"{path} dataset 'x' is damaged, or no HDF5 that is read here (the chunk at (0,) cannot be unpacked: {message}"
    )


def test_filters_that_a_chunk_lacks_and_sums_of_either_order(tmp_path: Path) -> None:
    swapped = bytes(checked(TEN)[40:][k] for k in (1, 0, 3, 2))
    for number, (chunk, mask) in enumerate(((checked(TEN), 0), (TEN + swapped, 0), (TEN, 1))):
        path = with_chunk(tmp_path / f"{number}.h5", chunk, mask, fletcher32=True)
        assert open_tensors(path)["x"].read().tolist() == list(range(10))


def test_the_checksum_is_that_of_the_library(tmp_path: Path) -> None:
    source = np.random.default_rng(1)
    for size in (1, 2, 7, 1000, 200_001):
        data = source.integers(0, 256, size, np.uint8)
        with h5py.File(tmp_path / "x.h5", "w") as file:
            one = file.create_dataset("x", data=data, chunks=(size,), fletcher32=True)
            stored = one.id.read_direct_chunk((0,))[1]
        assert stored[-4:] == fletcher32(data).to_bytes(4, "little")


def test_a_chunk_is_inflated_no_further_than_it_may_be() -> None:
    with pytest.raises(Damaged, match="more"):
        inflated(zlib.compress(bytes(1 << 20)), 10)


# ---- the process ----------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as made:
        made.create_dataset("x", data=NUMBERS, chunks=(10, 10), compression="lzf")
        made["x"].attrs["units"] = "m"
    return str(path)


def test_this_process_opens_no_file_with_the_library(file: str) -> None:
    code = (
        "import sys; from minuend.files import open_tensors; found = open_tensors(sys.argv[1])['x'].read(); "
        "import h5py; print(found.sum(), h5py.h5f.get_obj_count(types=h5py.h5f.OBJ_FILE))"
    )
    done = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(NUMBERS.sum()), "0"]


@pytest.mark.skipif(sys.platform == "win32", reason="processes are stopped by signals")
def test_a_process_that_ends_is_an_error_and_the_next_one_reads_on(file: str) -> None:
    elements = open_tensors(file)["x"].elements()
    (process,) = hdf5_reading._processes.idle
    request = process.request

    def crashed(*given: Any, **named: Any) -> Any:
        os.kill(process.popen.pid, signal.SIGSEGV)
        process.popen.wait()
        return request(*given, **named)

    process.request = crashed  # type: ignore[method-assign]
    process.popen.poll = lambda: None  # type: ignore[method-assign]
    with pytest.raises(FileFormatError) as caught:
        elements.read()
    assert str(caught.value) == (
        f"{file} dataset 'x' is damaged: HDF5's library takes more than 3 s or 256 MiB, or crashes over it; expected a "
        "whole file"
    )
    assert np.array_equal(elements.read(), NUMBERS)


@pytest.mark.skipif(sys.platform != "linux", reason="bounds are those of Linux")
@pytest.mark.parametrize(
    ("harm", "seconds"), [("while True: pass", 3), ("bytes(1 << 33)", 0), ("import ctypes; ctypes.string_at(0)", 0)]
)
def test_loops_memory_and_crashes_stay_in_the_process(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str, seconds: int
) -> None:
    script = (Path(hdf5_reading.__file__).parent / "hdf5_child.py").read_text("utf-8")
    (tmp_path / "storage").mkdir()
    (tmp_path / "worker.py").write_bytes(Path(hdf5_reading.worker.__file__).read_bytes())
    (tmp_path / "storage" / "hdf5_child.py").write_text(
        script.replace("        found = np.asarray(found, dataset.dtype)", f"        {harm}")
    )
    hdf5_reading._processes.stop()
    monkeypatch.setattr(hdf5_reading, "_HERE", str(tmp_path / "storage"))
    started = time.process_time()
    with pytest.raises(FileFormatError, match="HDF5's library takes more than 3 s or 256 MiB, or crashes over it"):
        open_tensors(file)["x"].read()
    assert time.process_time() - started < 3
    monkeypatch.undo()
    assert np.array_equal(open_tensors(file)["x"].read(), NUMBERS)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_starts_one_of_its_own(file: str) -> None:
    code = """
import os, sys
from minuend.files import open_tensors
held = open_tensors(sys.argv[1])["x"]
held.read()
child = os.fork()
total = int(held.read().sum()) + int(open_tensors(sys.argv[1])["x"].read().sum())
print(total, flush=True)
if child:
    os.waitpid(child, 0)
"""
    done = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == [str(2 * int(NUMBERS.sum()))] * 2


def test_a_source_that_fails_while_the_process_reads_is_reported(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from minuend.files.streaming.reading import File

    tensor = open_tensors(file)["x"]
    real = File.read_into

    def failing(self: File, offset: int, buffer: Any) -> None:
        raise OSError(5, "Input/output error", self.path)

    monkeypatch.setattr(File, "read_into", failing)
    hdf5_reading._processes.stop()
    with pytest.raises(OSError, match="Input/output error") as caught:
        tensor.read()
    assert caught.value.filename == file
    monkeypatch.setattr(File, "read_into", real)
    assert np.array_equal(tensor.read(), NUMBERS)


@pytest.mark.skipif(sys.platform != "linux", reason="the fuzzer stands on Linux")
def test_damaged_files_are_refused_or_read(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with h5py.File(stream, "w", libver="latest") as made:
        made.create_dataset("g/x", data=NUMBERS[:4, :6], chunks=(2, 3), compression="lzf").attrs["a"] = "text"
    whole, source = stream.getvalue(), np.random.default_rng(3)
    outcomes = set()
    for _ in range(60):
        raw = bytearray(whole)
        for at in source.integers(0, len(raw), 3):
            raw[at] ^= 1 << int(source.integers(8))
        (tmp_path / "x.h5").write_bytes(raw)
        try:
            [tensor.read() for tensor in open_tensors(str(tmp_path / "x.h5")).values()]
            outcomes.add("read")
        except FileFormatError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def test_filters_of_packages_that_are_installed_are_found(tmp_path: Path) -> None:
    netcdf4 = pytest.importorskip("netCDF4")
    with netcdf4.Dataset(tmp_path / "a.nc", "w") as file:
        if not file.has_zstd_filter():
            pytest.skip("netCDF's library has no zstd here")
        file.createDimension("x", 100)
        file.createVariable("v", "i4", ("x",), compression="zstd")[:] = np.arange(100)

    def run(out: str, **more: str) -> subprocess.CompletedProcess[str]:
        env = {name: value for name, value in os.environ.items() if name != "HDF5_PLUGIN_PATH"} | more
        command = [sys.executable, "-m", "minuend", "sub", "a.nc", "a.nc", "-o", out]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    found = run("c.npy")
    assert (found.returncode, found.stderr) == (0, "")
    assert np.array_equal(np.load(tmp_path / "c.npy"), np.zeros(100, "i4"))
    missing = run("d.npy", HDF5_PLUGIN_PATH=str(tmp_path))
    assert missing.returncode == 2
    assert "its filter 32015, 'zstd', is not there: pip install hdf5plugin, or h5repack the file" in missing.stderr


def test_many_variables_of_the_same_dimensions_are_described_in_time(tmp_path: Path) -> None:
    """HDF5's library searches the whole file for the name of what a reference leads to: once for each dimension."""
    netcdf = pytest.importorskip("netCDF4")
    path = str(tmp_path / "a.nc")
    with netcdf.Dataset(path, "w") as file:
        for dim in "tyx":
            file.createDimension(dim, 2)
            file.createVariable(dim, "f8", (dim,))[:] = [1, 2]
        for k in range(1200):
            file.createVariable(f"v{k}", "f4", ("t", "y", "x"))
    found = open_tensors(path)
    assert len(found) == 1200
    where = found["v1199"].about.grid
    assert isinstance(where, Coordinates)
    assert [axis.path for axis in where.axes] == ["t", "y", "x"]
