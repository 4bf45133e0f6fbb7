"""Kill, starve and fail everything that writes, and look at what is left.

    python tools/faults.py --kills 500                 as many kills, at steps and moments that a seed picks
    python tools/faults.py --kills 500 --figures FILE  write the counts to a file

Every verb that writes and every ``save`` is a row of ``JOBS``. A job runs in a fork of this process, which has all
modules: it is killed (SIGKILL) before its n-th call of a C function, so between any two system calls, or at a random
moment. Afterwards each goal holds the old file or the whole new one, the inputs are as they were, and whatever else is
there is a temporary file that the next run removes, which is run. Faults are a full disk, limits on files and memory,
and read errors: they end in an error that says what it is about, with all files as they were.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import faulthandler
import functools
import hashlib
import http.server
import io
import itertools
import json
import os
import random
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

ROOT = Path(__file__).parents[1]
_STRAY = re.compile(r"\..+\.[0-9a-f]{8}\.(part|kept)")
_MMAP_THRESHOLD = -3  # <malloc.h>
_COUNT, _LARGE = 20_000, 300_000
"""Elements of the arrays: files of several blocks; and more than memory that was freed has room for."""
_LONGEST = 120.0
"""Seconds after which a run counts as one that does not end; the longest takes 2."""


@dataclass(frozen=True)
class Job:
    """Something that writes.

    Attributes:
        name: what it is. work: does it, in a folder that holds the inputs, and returns the exit status.
        goals: the files that it writes; a folder stands for all that is in it. fresh: the goal must not exist.
        old: the contents of a goal that exists. mark: a folder that says, while it is there, that a goal is unfinished.
    """

    name: str
    work: Callable[[], int]
    goals: tuple[str, ...]
    fresh: bool = False
    old: bytes = b"old " * 5000
    mark: str = ""


# ---- the jobs ---------------------------------------------------------------------------------------------------


def _command(line: str) -> Callable[[], int]:
    def work() -> int:
        from minuend.cli.program import main

        return main(line.split())

    return work


def _saved(make: Callable[[], Any], goal: str) -> Callable[[], int]:
    def work() -> int:
        make().save(goal)
        return 0

    return work


def _converted(to: str) -> Any:
    import minuend

    return minuend.convert("m.onnx", to)


def _fixed(model: str, target: str) -> Any:
    from minuend.rewriting.fixing import fix

    return fix(model, target, run=False)


def _opened(name: str) -> Any:
    from minuend.models.opening import open_model

    return open_model(name)


def _vectors() -> int:
    from minuend.onnx import vectors

    every = vectors.vectors
    with patch.object(vectors, "vectors", lambda opsets: itertools.islice(every(opsets), 4)):
        vectors.write("new", [14])
    return 0


def _proved() -> int:
    from minuend.runtimes import proving
    from minuend.runtimes.report import Report

    empty = Report(title="numpy", findings=())  # what is asked takes minutes, and is written in one go
    with patch.object(proving, "prove", lambda *_, **__: empty):
        return _command("prove numpy --quick --json --junit o.xml")()


def _measured() -> int:
    from minuend.runtimes import measuring, running, targets

    known = targets.find("numpy")  # as above
    with (
        patch.object(measuring, "measure", lambda *_, **__: known),
        patch.object(running, "Runtime", lambda *_: contextlib.nullcontext()),
    ):
        return _command("measure numpy -o o.json")()


def _demo() -> int:
    from minuend.cli import demo

    with patch.object(demo, "MODELS", ()):  # the files, without what they are for
        return _command("demo -o new")()


def _directml_files() -> int:
    _opened("d.json").run({}, output_dir="made")
    return 0


def _stored(line: str) -> Callable[[], int]:
    """A command whose ``memory://`` is an object store that outlives a killed process: the files in ``store``."""

    def work() -> int:
        import fsspec

        for part in Path("store").rglob(".*.part"):  # what did not come whole is no object
            part.unlink()
        before = fsspec.get_filesystem_class("memory")
        fsspec.register_implementation("memory", _objects(), clobber=True)
        try:
            return _command(line)()
        finally:  # the tests run jobs in their own process
            fsspec.register_implementation("memory", before, clobber=True)

    return work


@functools.cache
def _objects() -> Any:
    """The class of that store; an object appears in it with all its bytes, as in one of the network."""
    from fsspec.spec import AbstractFileSystem

    class Objects(AbstractFileSystem):  # type: ignore[misc]
        protocol, cachable = "memory", False

        def _file(self, path: str) -> str:
            return f"store/{self._strip_protocol(path).strip('/')}"

        def info(self, path: str, **_: Any) -> dict[str, Any]:
            file, name = self._file(path), self._strip_protocol(path).strip("/")
            if os.path.isdir(file):
                return {"name": name, "size": 0, "type": "directory"}
            if not os.path.exists(file):
                raise FileNotFoundError(path)
            return {"name": name, "size": os.path.getsize(file), "type": "file"}

        def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
            folder = self._strip_protocol(path).strip("/")
            if not os.path.isdir(self._file(path)):
                return [self.info(path)] if detail else [folder]
            names = [f"{folder}/{name}".strip("/") for name in sorted(os.listdir(self._file(path)))]
            return [self.info(name) for name in names] if detail else names

        def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
            with io.FileIO(self._file(path)) as stream:
                data = bytearray(os.path.getsize(self._file(path)))
                stream.readinto(data)
                return bytes(data[start:end])

        def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
            part = f"{os.path.dirname(self._file(path))}/.{os.path.basename(path)}.{os.urandom(4).hex()}.part"
            os.makedirs(os.path.dirname(part), exist_ok=True)
            try:
                with open(part, "wb") as stream:
                    stream.write(value)
                os.replace(part, self._file(path))
            except BaseException:
                os.unlink(part)
                raise

        def put_file(self, lpath: str, rpath: str, **_: Any) -> None:
            self.pipe_file(rpath, Path(lpath).read_bytes())

        def rm_file(self, path: str) -> None:
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):  # a store has no folders
                os.unlink(self._file(path))
                os.removedirs(os.path.dirname(self._file(path)))

    return Objects


def _served(line: str) -> Callable[[], int]:
    """A command that reads ``URL`` from a web server, which is in this process and not in the job's."""

    def work() -> int:  # the server is started by the first run
        return _command(line.replace("URL", _web()))()

    return work


@functools.cache
def _web() -> str:
    """The address of a web server that answers ranges of the inputs."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            content = _SERVED[self.path]
            first, last = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")).groups()  # type: ignore[union-attr]
            stop = min(int(last) + 1, len(content))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{stop - 1}/{len(content)}")
            self.send_header("Content-Length", str(stop - int(first)))
            self.end_headers()
            if body:
                with contextlib.suppress(OSError):  # of a client that was killed
                    self.wfile.write(content[int(first) : stop])

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


_SERVED: dict[str, bytes] = {}
"""What the web server has, by path."""

_BASELINE = "check m.onnx --target openvino-cpu@2026.4.1 --write-baseline"
_TENSORS = ("o.npy", "o.npz", "o.safetensors", "o.pb")
JOBS = (
    *(Job(f"sub -o {goal}", _command(f"sub a.npy b.npy -o {goal}"), (goal,)) for goal in _TENSORS),
    Job("sub, packed operands", _command("sub t.npz t.npz -o o.npz --overflow saturate"), ("o.npz",)),
    Job("convert -o .onnx", _command("convert m.onnx --to onnx:13 -o o.onnx"), ("o.onnx",)),
    Job("convert -o .onnxtxt", _command("convert s.onnxtxt --to onnx:15 -o o.onnxtxt"), ("o.onnxtxt",)),
    Job("convert -o .xml", _command("convert m.onnx --to openvino -o o.xml"), ("o.xml", "o.bin")),
    Job("convert -o .json", _command("convert m.onnx --to directml -o o.json"), ("o.json",)),
    Job("convert, data beside", _command("convert e.onnx --to onnx:13 -o far/o.onnx"), ("far/w.bin", "far/o.onnx")),
    Job("fix -o .onnx", _command("fix m.onnx --target onnx:13 -o o.onnx"), ("o.onnx",)),
    Job("run -o", _command("run m.onnx --input a=a.npy --evaluator reference -o made"), ("made/c.npy", "made/d.npy")),
    Job("check --sarif", _command("check m.onnx --target openvino-cpu@2026.4.1 --sarif o.sarif"), ("o.sarif",)),
    Job("check --write-baseline", _command(_BASELINE), ("minuend.toml",), old=b"# accepted here\n" * 1000),
    Job("sub -o .h5", _command("sub a.h5 b.h5 -o o.h5"), ("o.h5",)),
    Job("sub -o .zarr", _command("sub a.zarr b.zarr -o o.zarr"), ("o.zarr",), fresh=True),
    Job("sub -o .zarr --resume", _command("sub a.zarr b.zarr -o o.zarr --resume"), ("o.zarr",), fresh=True),
    Job("sub -o .zarr.zip", _command("sub a.zarr.zip b.zarr -o o.zarr.zip"), ("o.zarr.zip",)),
    Job("sub -o memory://", _stored("sub memory://a.npy b.npy -o memory://o.npy"), ("store/o.npy",)),
    Job(
        "sub -o memory://o.zarr --resume",
        _stored("sub memory://a.zarr b.zarr -o memory://o.zarr --resume"),
        ("store/o.zarr",),
        fresh=True,
        mark="store/o.zarr/.minuend-unfinished",
    ),
    Job("sub http://", _served("sub URL/a.npy URL/b.npy -o o.npy"), ("o.npy",)),
    Job("prove --junit", _proved, ("o.xml",)),
    Job("measure -o", _measured, ("o.json",)),
    Job("vectors -o", _vectors, ("new",), fresh=True),
    Job("demo -o", _demo, ("new",), fresh=True),
    Job("Converted.save", _saved(lambda: _converted("openvino"), "o.xml"), ("o.xml", "o.bin")),
    Job("Fixed.save .onnx", _saved(lambda: _fixed("m.onnx", "onnx:13"), "o.onnx"), ("o.onnx",)),
    Job("Fixed.save .xml", _saved(lambda: _fixed("m.xml", "openvino-cpu"), "o.xml"), ("o.xml", "o.bin")),
    Job("onnx.Model.save", _saved(lambda: _opened("e.onnx"), "far/o.onnx"), ("far/w.bin", "far/o.onnx")),
    Job("openvino.Model.save", _saved(lambda: _opened("m.xml"), "o.xml"), ("o.xml", "o.bin")),
    Job("directml.Model.save", _saved(lambda: _opened("d.json"), "o.json"), ("o.json",)),
    Job("directml.Model.run", _directml_files, ("made/c.npy",)),
)  # fmt: skip


_TEXT = '<ir_version: 8, opset_import: ["" : 14]> g (int32[N] a) => (int32[N] c) { c = Sub(a, a) }'


def inputs(folder: Path, count: int = _COUNT) -> None:
    """Write what the jobs read."""
    import onnx
    from onnx import TensorProto, helper

    from minuend.onnx.documents.tensors import number
    from minuend.openvino.ir.builder import Builder

    folder.mkdir(parents=True)
    a, b = np.arange(count, dtype=np.int32), np.full(count, 7, np.int32)
    np.save(folder / "a.npy", a)
    np.save(folder / "b.npy", b)
    _stores(folder, a, b)
    np.savez_compressed(folder / "t.npz", x=a, y=b)
    for name, external in (("m.onnx", False), ("e.onnx", True)):
        weights = helper.make_tensor("w", number("int32"), [count], b.tobytes(), raw=True)
        if external:
            weights.ClearField("raw_data")
            weights.data_location = TensorProto.EXTERNAL
            weights.external_data.add(key="location", value="w.bin")
        sides = [helper.make_tensor_value_info(side, TensorProto.INT32, [count]) for side in "acd"]
        nodes = [helper.make_node("Sub", ["a", "w"], ["c"]), helper.make_node("Sub", ["w", "a"], ["d"])]
        graph = helper.make_graph(nodes, "g", sides[:1], sides[1:], [weights])
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 14)]), folder / name)
    (folder / "w.bin").write_bytes(b.tobytes())
    (folder / "s.onnxtxt").write_text(_TEXT)
    builder = Builder("m")
    builder.result(
        builder.subtract("c", builder.parameter("x", "u8", (count,)), builder.constant("w", b.astype(np.uint8)))
    )
    builder.model.save(folder / "m.xml")
    (folder / "d.json").write_text(json.dumps(_directml(count)))
    (folder / "far").mkdir()
    (folder / "temporary").mkdir()


def _stores(folder: Path, a: Any, b: Any) -> None:
    """Write the inputs of formats that are read through packages."""
    import h5py
    import zarr

    (folder / "store").mkdir()
    for name, array in (("a", a), ("b", b)):
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file.create_dataset("x", data=array, chunks=(len(a) // 4,), compression="gzip")
        for place in (folder / f"{name}.zarr", folder / "store" / f"{name}.zarr"):
            zarr.create_array(place, shape=array.shape, chunks=(len(a) // 4,), dtype=array.dtype)[:] = array
        with zarr.storage.ZipStore(folder / f"{name}.zarr.zip", mode="w") as store:
            zarr.create_array(store, shape=array.shape, chunks=(len(a) // 4,), dtype=array.dtype)[:] = array
        shutil.copy(folder / f"{name}.npy", folder / "store")
        if folder.name == "template":
            _SERVED[f"/{name}.npy"] = (folder / f"{name}.npy").read_bytes()


def _directml(count: int) -> dict[str, Any]:
    desc = {"DataType": "INT32", "Sizes": [count]}
    fills = [{"value": n, "valueCount": count} for n in range(3)]
    values = [{"initialValuesDataType": "INT32", "initialValues": fill} for fill in fills]
    sides = ("ATensor", "BTensor", "OutputTensor")
    return {
        "resources": dict(zip("abc", values, strict=True)),
        "dispatchables": {"s": {"type": "ELEMENT_WISE_SUBTRACT", "desc": dict.fromkeys(sides, desc)}},
        "commands": [
            {"type": "dispatch", "dispatchable": "s", "bindings": dict(zip(sides, "abc", strict=True))},
            {"type": "writeFile", "resource": "c", "targetPath": "c.npy"},
        ],
    }  # fmt: skip


# ---- one run ----------------------------------------------------------------------------------------------------


class Broken(AssertionError):
    """What must not be."""


def contents(folder: Path) -> dict[str, str]:
    """The digest of every file beneath a folder, by its path there; a process that ends may still remove its own."""
    found: dict[str, str] = {}
    for path in sorted(Path(home, name) for home, _, names in os.walk(folder) for name in names):
        with contextlib.suppress(FileNotFoundError):
            found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


class Stage:
    """A folder in which one job runs again and again, from the same start.

    Attributes:
        start: what is there before, without and with files at the goals. whole: what is there afterwards.
    """

    def __init__(self, job: Job, template: Path, home: Path) -> None:
        self.job, self.template, self.folder = job, template, home / "stage"
        self.steps, self.seconds = 0, 0.0
        self.whole: dict[bool, dict[str, str]] = {}
        self.start: dict[bool, dict[str, str]] = {}
        self.reset(old=False)
        self._warm()
        for old in (False,) if job.fresh else (False, True):
            self.reset(old=old)
            self.start[old] = contents(self.folder)
            begin = time.monotonic()
            status = self.run(functools.partial(_counted, home / "steps"))[0]
            self.seconds = time.monotonic() - begin
            if status not in (0, 1):
                raise Broken(f"{job.name}: it ends with {status} where nothing is wrong")
            self.steps = int((home / "steps").read_text())
            self.whole[old] = contents(self.folder)
            self.look(old=old)

    def _warm(self) -> None:
        """Run the job here: its modules are imported, and forks need not do so."""
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                self.job.work()
        finally:
            os.chdir(before)

    def reset(self, *, old: bool, large: bool = False) -> None:
        """Make the folder anew; ``old``: with files at the goals. ``large``: with large inputs."""
        template = self.template.with_name("large") if large else self.template
        if not template.exists():
            inputs(template, _LARGE)
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(template, self.folder)
        for goal in self.job.goals if old else ():
            if goal != "far/w.bin":  # what is there and differs is in the way: that is refused
                (self.folder / goal).parent.mkdir(exist_ok=True)
                (self.folder / goal).write_bytes(self.job.old)

    def run(self, around: Callable[[Callable[[], int]], int], moment: float | None = None) -> tuple[int, str]:
        """Run the job in a fork, killed after ``moment`` seconds; return its status and what it said.

        Raises:
            Broken: it does not end; the message says where its threads wait.
        """
        said = self.folder.parent / "said"
        child = os.fork()
        if not child:
            status = 99
            try:
                os.chdir(self.folder)
                tempfile.tempdir = str(self.folder / "temporary")
                descriptor = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(descriptor, 2)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
                faulthandler.enable(2)
                status = around(self.job.work)
            except MemoryError:
                status = 2
                os.write(2, b"error: there is not enough memory for this\n")
            except Exception as error:
                status = _told(error)
            finally:
                os._exit(status)
        if moment is not None:
            time.sleep(moment)
            os.kill(child, signal.SIGKILL)
        ends = _ends_within(child, _LONGEST)
        if not ends:
            os.kill(child, signal.SIGABRT)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if not ends:
            raise Broken(f"{self.job.name}: it does not end within {_LONGEST:g} s: {said.read_text(errors='replace')}")
        return status, said.read_text(errors="replace")

    @property
    def unfinished(self) -> bool:
        """Whether a goal says that it is not whole."""
        return bool(self.job.mark) and (self.folder / self.job.mark).exists()

    def look(self, *, old: bool, large: bool = False) -> None:
        """Check what a killed run has left: old or new at each goal, inputs as they were, strays that are known.

        ``large``: with large inputs, which are not those that were read at the start.
        """
        now, start, whole = contents(self.folder), self.start[old], self.whole[old]
        if large:
            start = whole = contents(self.template.with_name("large"))
            now = {path: digest for path, digest in now.items() if not path.startswith(f"{self.job.goals[0]}/")}
        for path, digest in now.items():
            if digest == start.get(path) or any(_STRAY.fullmatch(part) for part in Path(path).parts):
                continue
            if self.job.mark and path.startswith(f"{self.job.mark}/"):
                continue
            goal = any(path == goal or path.startswith(f"{goal}/") for goal in self.job.goals)
            if not goal or digest != whole.get(path):
                what = "holds neither the old file nor the new one" if goal else "is no goal, and was changed or left"
                raise Broken(f"{self.job.name}: {path} {what}")
        if lost := set(start) - set(now):
            raise Broken(f"{self.job.name}: {sorted(lost)} are gone")

    def same(self, wanted: Mapping[str, str], what: str) -> None:
        """Check that exactly this is there."""
        now = contents(self.folder)
        if now != wanted:
            changed = sorted(path for path in {*now, *wanted} if now.get(path) != wanted.get(path))
            raise Broken(f"{self.job.name}: {what}, and {changed} differ")


def _ends_within(child: int, seconds: float) -> bool:
    """Whether a child process ends within so many seconds."""
    process = os.pidfd_open(child)
    try:
        return bool(select.select([process], [], [], seconds)[0])
    finally:
        os.close(process)


def _told(error: Exception) -> int:
    """The status that the command line would give an error that a ``save`` raised."""
    from minuend.cli.program import _explain

    return _explain(error, ["save"])


def _counted(file: Path, work: Callable[[], int]) -> int:
    """Run a job, and write how many C functions it called."""
    count = 0

    def step(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event == "c_call"

    threading.setprofile(step)
    sys.setprofile(step)
    status = work()
    sys.setprofile(None)
    file.write_text(str(count))
    return status


def _killed(at: int, work: Callable[[], int]) -> int:
    """Run a job until its n-th call of a C function."""
    count = 0

    def step(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event == "c_call"
        if count >= at:
            os.kill(os.getpid(), signal.SIGKILL)

    threading.setprofile(step)  # HDF5 and zarr are written in threads
    sys.setprofile(step)
    return work()


def kill(stage: Stage, source: random.Random) -> bool:
    """Kill a run once, look at what is left, and run again; return whether the kill came before the end."""
    old = source.choice(list(stage.start))
    stage.reset(old=old)
    if source.random() < 0.2:
        status, _ = stage.run(lambda work: work(), source.uniform(0, stage.seconds))
    else:  # later steps are the ones that write
        at = (
            source.randint(1, stage.steps)
            if source.random() < 0.3
            else source.randint(stage.steps * 2 // 3, stage.steps)
        )
        status, _ = stage.run(functools.partial(_killed, at))
    stage.look(old=old)
    if stage.job.fresh and not stage.unfinished and (stage.folder / stage.job.goals[0]).exists():
        shutil.rmtree(stage.folder / stage.job.goals[0])
    again, said = stage.run(lambda work: work())
    if again not in (0, 1):
        raise Broken(f"{stage.job.name}: the next run ends with {again}: {said[-500:]}")
    stage.same(stage.whole[old], "after a kill and another run")
    return status == -signal.SIGKILL


# ---- faults -----------------------------------------------------------------------------------------------------


def _files_limited(source: random.Random, work: Callable[[], int]) -> int:
    resource.setrlimit(resource.RLIMIT_FSIZE, (source.randint(0, 60_000), resource.RLIM_INFINITY))
    return work()


def _memory_limited(source: random.Random, work: Callable[[], int]) -> int:
    ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 14)  # or memory that was freed would do
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + source.randint(0, 1 << 22), resource.RLIM_INFINITY))
    return work()


def _reads_fail(source: random.Random, work: Callable[[], int]) -> int:
    """The n-th read of a file that this package reads fails, as on a disk that is going."""
    left, read_at = source.randint(0, 3), os.preadv

    def count() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def failing(*given: Any) -> int:
        count()
        return read_at(*given)

    class Failing(io.FileIO):
        def readinto(self, buffer: Any) -> int:
            count()
            return super().readinto(buffer)

    # As modules' attributes they are looked up at each call.
    with patch.object(io, "FileIO", Failing), patch.object(os, "preadv", failing):
        return work()


FAULTS: Mapping[str, Callable[[random.Random, Callable[[], int]], int]] = {
    "RLIMIT_FSIZE": _files_limited,
    "RLIMIT_AS": _memory_limited,
    "read error": _reads_fail,
    "full disk": lambda _, work: work(),
}


@contextlib.contextmanager
def small_disk(folder: Path, size: int) -> Iterator[None]:
    """A file system of so many bytes at a folder; root may mount one."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, capture_output=True)


def can_mount() -> bool:
    """Whether this process may mount a file system."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with small_disk(Path(folder), 1 << 16):
                return True
        except (OSError, subprocess.CalledProcessError):
            return False


def fail(stage: Stage, name: str, source: random.Random) -> bool:
    """Run a job under a fault; return whether it came to bear."""
    old = source.choice(list(stage.start))
    stage.reset(old=old, large=name == "RLIMIT_AS")
    if name == "full disk":
        used = sum(-(-path.stat().st_size // 4096) for path in stage.folder.rglob("*") if path.is_file()) * 4096
        shutil.move(stage.folder, stage.folder.with_name("moved"))
        stage.folder.mkdir()
        with small_disk(stage.folder, used + source.randint(1, 40) * 4096):
            shutil.copytree(stage.folder.with_name("moved"), stage.folder, dirs_exist_ok=True)
            shutil.rmtree(stage.folder.with_name("moved"))
            return _failed(stage, name, source, old)
    return _failed(stage, name, source, old)


def _failed(stage: Stage, name: str, source: random.Random, old: bool) -> bool:
    start = contents(stage.folder)
    status, said = stage.run(functools.partial(FAULTS[name], source))
    if status in (0, 1):  # there was room enough
        if name != "RLIMIT_AS":
            stage.same(stage.whole[old], f"under {name} it went well")
        return False
    lines = said.strip().splitlines()
    if status != 2 or not said.startswith("error: ") or "defect" in said:
        raise Broken(f"{stage.job.name} under {name}: status {status}, {' | '.join(lines[-3:])}")
    if name != "RLIMIT_AS" and not re.search(r"(\S+/|\b)\w+\.\w+|/|new|made", lines[0]):
        raise Broken(f"{stage.job.name} under {name}: no path in {lines[0]!r}")
    if "--resume goes on with it" in said:  # what is unfinished stays
        stage.look(old=old, large=name == "RLIMIT_AS")
    elif "written" not in said or contents(stage.folder) != stage.whole[old]:  # demo works on with what it has written
        stage.same(start, f"under {name}")
    return True


# ---- all of it --------------------------------------------------------------------------------------------------


def run(kills: int, faults: int, seed: int, home: Path, told: Callable[[str], None] = print) -> dict[str, Any]:
    """Kill and fail every job so often that it comes to these numbers; return the counts.

    Raises:
        Broken: something was lost, half written, or not told.
    """
    template = home / "template"
    inputs(template)
    names = [name for name in FAULTS if name != "full disk" or can_mount()]
    counts: dict[str, Any] = {
        "kills": 0,
        "came before the end": 0,
        "jobs": len(JOBS),
        "faults": {name: [0, 0] for name in names},
    }
    for index, job in enumerate(JOBS):
        source = random.Random(f"{seed} {job.name}")
        stage = Stage(job, template, home)
        for _ in range(kills // len(JOBS) + (index < kills % len(JOBS))):
            counts["kills"] += 1
            counts["came before the end"] += kill(stage, source)
        for name in names:
            for _ in range(faults):
                counts["faults"][name][0] += 1
                counts["faults"][name][1] += fail(stage, name, source)
        told(f"{job.name}: {stage.steps} steps, {counts['kills']} kills so far")
    return counts


def table(figures: Mapping[str, Any]) -> str:
    """Figures as docs/security.md shows them."""
    rows = ["| what | runs | came to bear |", "|---|---:|---:|"]
    rows.append(f"| SIGKILL | {figures['kills']} | {figures['came before the end']} |")
    rows += [f"| {name} | {count} | {bore} |" for name, (count, bore) in figures["faults"].items()]
    return "".join(f"{row}\n" for row in rows)


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--faults", type=int, default=5, help="of each kind, for each job")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--figures", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        counts = run(given.kills, given.faults, given.seed, Path(home))
    print(table(counts), end="")
    if given.figures:
        given.figures.write_text(json.dumps({"seed": given.seed, **counts}, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
