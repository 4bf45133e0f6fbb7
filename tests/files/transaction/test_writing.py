"""Outputs that appear together: what is refused before anything is written, what is undone, what is left by nobody."""

from __future__ import annotations

import contextlib
import functools
import os
import resource
import shutil
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minuend.core.elements import TYPES
from minuend.errors import MinuendError
from minuend.files import Result, write_tensors
from minuend.files.streaming import regions
from minuend.files.transaction import parts, writing
from minuend.files.transaction.output_paths import check, place_of
from minuend.files.transaction.writing import atomic, new_folder, together, within_folder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, pipes and locks as POSIX has them")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(outputs: list[Path | str], inputs: list[Path | str] = [], *, folders: bool = False) -> None:  # noqa: B006
    with together([str(output) for output in outputs], [str(one) for one in inputs], folders=folders) as streams:
        for output, stream in zip(outputs, streams, strict=True):
            stream.write(Path(output).name.encode())


def refused(outputs: list[Path | str], inputs: list[Path | str] = [], kind: type[Exception] = MinuendError) -> str:  # noqa: B006
    with pytest.raises(kind) as caught:
        write(outputs, inputs, folders=True)
    return str(caught.value)


# ---- before anything is written -------------------------------------------------------------------------------


def test_an_input_that_is_not_there_yet_is_no_output(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    for source in (tmp_path / "w.bin", tmp_path / "link" / "w.bin", tmp_path / "none" / ".." / "w.bin"):
        also = "" if source == tmp_path / "w.bin" else f" (the same file as {source})"
        assert refused([tmp_path / "w.bin"], [source]) == (
            f"the output {tmp_path / 'w.bin'} is also an input{also}; nothing is overwritten, name another output"
        )
    assert names(tmp_path) == ["link"]


def test_a_relative_path_and_an_absolute_one_are_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.bin").write_bytes(b"precious")
    assert refused(["w.bin"], [tmp_path / "w.bin"]).startswith("the output w.bin is also an input (the same file as /")
    assert (tmp_path / "w.bin").read_bytes() == b"precious"


@pytest.mark.parametrize("how", ["same", "detour", "symbolic link", "linked folder", "hard link", "missing"])
def test_two_outputs_that_are_one_file_are_refused(tmp_path: Path, how: str) -> None:
    one, other = tmp_path / "x", tmp_path / "y"
    if how != "missing":
        one.write_bytes(b"old")
    if how == "symbolic link":
        other.symlink_to(one)
    elif how == "hard link":
        os.link(one, other)
    elif how == "linked folder":
        (tmp_path / "f").symlink_to(tmp_path)
        other = tmp_path / "f" / "x"
    else:
        other = one if how == "same" else tmp_path / "." / ".." / tmp_path.name / "x"
    before = names(tmp_path)
    assert refused([one, other]) == (
        f"the outputs {one} and {other} are one file; nothing is written, name outputs that differ"
    )
    assert names(tmp_path) == before
    assert how == "missing" or one.read_bytes() == b"old"


def test_names_that_the_file_system_takes_for_one_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write([tmp_path / "a.npy", tmp_path / "A.npy", tmp_path / "e\u0301", tmp_path / "\u00e9"])  # four files here
    assert len(names(tmp_path)) == 4
    found = os.path.lexists
    monkeypatch.setattr(
        os.path, "lexists", lambda p: found(p) or os.path.basename(p).lower() in map(str.lower, os.listdir(tmp_path))
    )
    for path in tmp_path.iterdir():
        path.unlink()
    assert refused([tmp_path / "b", tmp_path / "a.npy", tmp_path / "A.npy"]) == (
        f"the outputs {tmp_path / 'a.npy'} and {tmp_path / 'A.npy'} are one file; nothing is written, "
        "name outputs that differ"
    )
    assert names(tmp_path) == []


def test_an_output_that_would_be_a_folder_of_another_is_refused(tmp_path: Path) -> None:
    q, r = tmp_path / "q", tmp_path / "q" / "s" / "r"
    for outputs in ([q, r], [r, q]):
        assert refused(list(outputs)) == (
            f"the output {q} would have to be a folder for the output {r}; nothing is written, name another output"
        )
    assert names(tmp_path) == []


def test_what_is_no_file_is_no_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    folder, sock = tmp_path / "folder", tmp_path / "sock"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("sock")
    (tmp_path / "file").touch()
    assert refused([folder], kind=IsADirectoryError) == f"{folder} is a folder; expected a file name to write to"
    assert refused([f"{tmp_path}/new/"], kind=IsADirectoryError) == (
        f"{tmp_path}/new/ names no file; expected a file name to write to"
    )
    assert refused([""], kind=IsADirectoryError) == "'' names no file; expected a file name to write to"
    assert refused([sock]) == f"{sock} is a socket; expected a file name to write to"
    assert refused([tmp_path / "file" / "x"], kind=NotADirectoryError) == (
        f"{tmp_path / 'file'} is no folder; expected one to write x to"
    )
    with pytest.raises(FileNotFoundError) as caught:
        write([tmp_path / "none" / "x"])
    assert str(caught.value) == f"there is no folder {tmp_path / 'none'} to write x to"
    assert names(tmp_path) == ["file", "folder", "sock"]


def test_a_block_device_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "disk"
    path.touch()
    found = path.stat()
    block = os.stat_result((stat.S_IFBLK | 0o600, *found[1:]))
    real = os.stat
    monkeypatch.setattr(os, "stat", lambda p, **o: block if str(p) == str(path) else real(p, **o))
    assert refused([path]) == f"{path} is a block device; expected a file name to write to"


# ---- whole or not at all --------------------------------------------------------------------------------------


def test_folders_that_were_made_go_again_where_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), together([f"{tmp_path}/a/b/x", f"{tmp_path}/a/c/x"], folders=True):
        raise KeyboardInterrupt
    assert names(tmp_path) == []
    write([tmp_path / "a" / "b" / "x", tmp_path / "a" / "c" / "x"], folders=True)
    assert (tmp_path / "a" / "c" / "x").read_bytes() == b"x"


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("fails_at", range(3))
@pytest.mark.parametrize("linked", [True, False], ids=["hard links", "no hard links"])
def test_what_stood_at_each_output_stands_there_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int, error: type[BaseException], linked: bool
) -> None:
    """One of three renamings fails: before it is done, or, by a signal, after."""

    def no_links(*_: object) -> None:
        raise OSError("no links here")

    def replace(source: str, target: str) -> None:
        if not source.endswith(".kept"):
            done.append(target)
            if len(done) - 1 == fails_at:
                if error is KeyboardInterrupt:
                    rename(source, target)
                raise error
        rename(source, target)

    outputs = [tmp_path / name for name in "xyz"]
    for output in outputs[1:]:
        output.write_text(f"old {output.name}")
    done: list[str] = []
    rename = os.replace
    monkeypatch.setattr(os, "replace", replace)
    if not linked:
        monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(error):
        write(list(outputs))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"y": "old y", "z": "old z"}


def test_a_full_disk_is_reported_with_the_outputs_name_and_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, resource; from minuend.files.transaction.writing import together\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n"
        "    with together(sys.argv[1:]) as (x, y):\n"
        "        x.write(b'x'); y.write(bytes(1 << 20))\n"
        "except OSError as error: print(type(error).__name__, error.strerror, error.filename, sep='|')"
    )
    (tmp_path / "x").write_bytes(b"old")
    outputs = [str(tmp_path / name) for name in "xy"]
    done = subprocess.run(
        [sys.executable, "-c", code, *outputs], capture_output=True, text=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == (f"OSError|File too large|{outputs[1]}\n", "")
    assert (names(tmp_path), (tmp_path / "x").read_bytes()) == (["x"], b"old")
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 100_000


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_reported_with_the_outputs_name(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError) as caught:
        write([tmp_path / "x"])
    assert caught.value.filename == str(tmp_path / "x")


def test_a_folder_that_may_not_be_written_is_reported_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    monkeypatch.setattr(os, "supports_effective_ids", {os.access})
    check([str(tmp_path / "x")])  # the system says so, and takes files all the same
    assert names(tmp_path) == []

    def refuse(path: str, *_: object) -> int:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError) as caught:
        check([str(tmp_path / "x")])
    assert caught.value.filename == str(tmp_path / "x")


@pytest.mark.parametrize("length", [255, 250, 241, 240])
@pytest.mark.parametrize("letter", ["n", "ü"])
def test_names_as_long_as_a_name_may_be_are_written(tmp_path: Path, length: int, letter: str) -> None:
    name = letter * (length // len(letter.encode()) - 4) + ".npy"
    stray = place_of(str(tmp_path / name)).beside("part")
    Path(stray).touch()
    write_tensors(str(tmp_path / name), [Result.of("", TYPES["int8"], np.int8([1, 2]))])
    assert names(tmp_path) == [name]


# ---- pipes and devices ----------------------------------------------------------------------------------------


def drained(path: Path) -> tuple[threading.Thread, list[bytes]]:
    """Read a pipe to its end beside the test."""
    came: list[bytes] = []
    reader = threading.Thread(target=lambda: came.append(path.read_bytes()))
    reader.start()
    return reader, came


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".pb", ".safetensors"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_written_through_and_stays_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, linked: bool
) -> None:
    array = np.arange(100_000, dtype=np.int32)
    pipe = output = tmp_path / f"pipe{suffix}"
    os.mkfifo(pipe)
    if linked:
        output = tmp_path / f"link{suffix}"
        output.symlink_to(pipe)
    reader, came = drained(pipe)
    monkeypatch.setattr(regions, "BLOCK_BYTES", 200_000)
    write_tensors(str(output), [Result.of("x", TYPES["int32"], array)])
    reader.join(30)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert output.is_symlink() == linked
    read = tmp_path / f"read{suffix}"
    read.write_bytes(came[0])
    from minuend.files import open_tensors

    (tensor,) = open_tensors(str(read)).values()
    assert np.array_equal(tensor.read(), array)


def test_the_null_device_takes_everything_and_stays_a_device(tmp_path: Path) -> None:
    output = tmp_path / "null.npy"
    output.symlink_to(os.devnull)
    write_tensors(str(output), [Result.of("x", TYPES["int8"], np.int8([1]))])
    write([os.devnull])
    assert output.is_symlink()
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_several_files_do_not_go_into_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "m.bin"
    os.mkfifo(pipe)
    assert refused([tmp_path / "m.xml", pipe]) == (
        f"the output {pipe} is a pipe, and 2 files are written together; name a regular file"
    )
    assert refused([os.devnull, tmp_path / "m.xml"]) == (
        f"the output {os.devnull} is a character device, and 2 files are written together; name a regular file"
    )
    assert names(tmp_path) == ["m.bin"]


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
def test_standard_output_that_is_a_file_is_written_where_it_stands(tmp_path: Path, path: str) -> None:
    (tmp_path / "link").symlink_to("/dev/stdout")
    code = (
        "import sys, os; from minuend.files.transaction.writing import atomic\n"
        "os.write(1, b'first '); stream = atomic(sys.argv[1])\n"
        "with stream as s: s.write(b'second ')\n"
        "os.write(1, b'third')"
    )
    with open(tmp_path / "out", "wb") as out:
        subprocess.run([sys.executable, "-c", code, path], stdout=out, check=True, timeout=60, cwd=tmp_path)
    assert (tmp_path / "out").read_bytes() == b"first second third"
    assert names(tmp_path) == ["link", "out"]


def test_an_input_that_is_a_pipe_is_no_output(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert refused([pipe], [pipe]).startswith(f"the output {pipe} is also an input;")


# ---- other runs -----------------------------------------------------------------------------------------------

KILLED = """
import os, sys
from minuend.files.transaction import parts, writing
with writing.together(sys.argv[1:]) as streams:
    for stream in streams:
        stream.write(b"half"); stream.flush()
    os._exit(9)
"""


def test_what_a_killed_run_left_is_removed_by_the_next_one_on_the_same_output(tmp_path: Path) -> None:
    outputs = [str(tmp_path / name) for name in ("x", "y")]
    assert subprocess.run([sys.executable, "-c", KILLED, *outputs], check=False, timeout=60).returncode == 9
    assert [name.split(".")[1] for name in names(tmp_path)] == ["x", "y"]
    others = [".x.part", ".x.0123456.part", ".xx.01234567.part", "x.01234567.part", ".x.01234567.parts"]
    for name in others:
        (tmp_path / name).touch()
    write([tmp_path / "x"])
    assert next(name for name in names(tmp_path) if name not in (*others, "x")).startswith(".y.")
    assert len(names(tmp_path)) == len(others) + 2
    write([tmp_path / "y"])
    assert names(tmp_path) == sorted([*others, "x", "y"])


def test_what_a_killed_run_kept_is_removed_too(tmp_path: Path) -> None:
    (tmp_path / ".x.01234567.kept").write_bytes(b"old")
    write([tmp_path / "x", tmp_path / "y"])
    assert names(tmp_path) == ["x", "y"]


def test_a_part_that_is_a_link_or_a_pipe_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / ".x.01234567.part").symlink_to(tmp_path / "precious")
    os.mkfifo(tmp_path / ".x.0123456a.part")
    write([tmp_path / "x"])
    assert names(tmp_path) == [".x.01234567.part", ".x.0123456a.part", "precious", "x"]


def test_a_part_that_a_living_process_writes_stays_and_the_last_one_to_end_wins_whole(tmp_path: Path) -> None:
    output = str(tmp_path / "x")
    code = (
        "import sys; from minuend.files.transaction.writing import atomic\n"
        "with atomic(sys.argv[1]) as stream:\n"
        "    stream.write(b'theirs'); stream.flush(); print('ready', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen([sys.executable, "-c", code, output], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        write([output])
        assert Path(output).read_bytes() == b"x"
        assert len(names(tmp_path)) == 2
    finally:
        other.communicate(timeout=60)
    assert other.returncode == 0
    assert (names(tmp_path), Path(output).read_bytes()) == (["x"], b"theirs")


def test_pairs_that_are_written_at_once_do_not_mix(tmp_path: Path) -> None:
    def writer(word: bytes) -> Callable[[], None]:
        def run() -> None:
            for _ in range(60):
                with together([f"{tmp_path}/m.xml", f"{tmp_path}/m.bin"]) as streams:
                    for stream in streams:
                        stream.write(word)

        return run

    threads = [threading.Thread(target=writer(word)) for word in (b"one", b"two", b"three")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert names(tmp_path) == ["m.bin", "m.xml"]
    assert (tmp_path / "m.xml").read_bytes() == (tmp_path / "m.bin").read_bytes()


def test_the_folder_is_locked_while_several_files_take_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    def replace(source: str, target: str) -> None:
        with pytest.raises(BlockingIOError):
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        rename(source, target)
        done.append(target)

    rename, done = os.replace, []
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        monkeypatch.setattr(os, "replace", replace)
        write([tmp_path / "x", tmp_path / "y"])
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(folder)
    assert len(done) == 2


def test_a_new_folder_appears_whole_and_strays_of_it_go(tmp_path: Path) -> None:
    stray = tmp_path / ".v.01234567.part"
    (stray / "sub").mkdir(parents=True)
    with writing.new_folder(str(tmp_path / "v")) as folder:
        assert names(tmp_path) == [os.path.basename(folder)]
        Path(folder, "x").touch()
    assert (names(tmp_path), names(tmp_path / "v")) == (["v"], ["x"])
    with pytest.raises(ValueError, match="broken"), writing.new_folder(str(tmp_path / "w")):
        raise ValueError("broken")
    assert names(tmp_path) == ["v"]


@pytest.mark.parametrize("there", ["a folder", "a file", "a broken link"])
def test_a_new_folder_takes_nobodys_place(tmp_path: Path, there: str) -> None:
    output = tmp_path / "output"
    {"a folder": output.mkdir, "a file": output.touch, "a broken link": lambda: output.symlink_to("nowhere")}[there]()
    with pytest.raises(MinuendError) as caught, writing.new_folder(str(output)):
        pass
    assert str(caught.value) == f"{output} exists; name a folder that does not"
    assert names(tmp_path) == ["output"]


def test_nothing_else_opens_a_file_for_writing() -> None:
    import ast

    import minuend

    root = Path(minuend.__file__).parent

    def writes() -> Iterator[str]:
        for path in root.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "open":
                    given = [*node.args[1:2], *(word.value for word in node.keywords if word.arg == "mode")]
                    modes = {one.value for one in given if isinstance(one, ast.Constant)}
                    if any(set(str(mode)) & set("wax+") for mode in modes):
                        yield path.relative_to(root).as_posix()

    workers = {f"runtimes/adapters/{name}.py" for name in ("mnn", "openvino_cpu", "tract")}  # in temporary folders
    appends = {"cli/annotations.py"}  # to the summary of GitHub's job, which other steps write too
    assert set(writes()) == {*workers, *appends}


def test_links_stay_links_and_the_mode_is_a_new_file_s(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "dangling").symlink_to(tmp_path / "real" / "y")
    old = os.umask(0o027)
    try:
        write([tmp_path / "link" / "x", tmp_path / "dangling"])
    finally:
        os.umask(old)
    assert names(tmp_path / "real") == ["x", "y"]
    assert stat.S_IMODE((tmp_path / "real" / "x").stat().st_mode) == 0o640
    assert (tmp_path / "dangling").is_symlink()


def test_one_output_is_a_set_of_one(tmp_path: Path) -> None:
    with atomic(str(tmp_path / "x")) as stream:
        stream.write(b"x")
    shutil.rmtree(tmp_path / "none", ignore_errors=True)
    assert names(tmp_path) == ["x"]


# ---- permissions ----------------------------------------------------------------------------------------------


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o026)
    yield
    os.umask(before)


def mode(path: str | Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("linked", [True, False], ids=["hard links", "no hard links"])
def test_nobody_else_reads_a_file_until_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: bool
) -> None:
    """New files have what a new file gets, others what the old one had; all on the way are the owner's alone."""
    olds = {"new": None, "secret": 0o600, "shared": 0o664, "fixed": 0o444}
    for name, old in olds.items():
        if old is not None:
            (tmp_path / name).touch()
            (tmp_path / name).chmod(old)
    seen: list[int] = []
    copied: list[int] = []
    copy = shutil.copy2

    def no_links(*_: object) -> None:
        raise OSError("no links here")

    def copy2(source: str, output: str) -> None:
        copied.append(mode(output))
        copy(source, output)

    if not linked:
        monkeypatch.setattr(os, "link", no_links)
        monkeypatch.setattr(shutil, "copy2", copy2)
    with together([str(tmp_path / name) for name in olds]) as streams:
        for stream in streams:
            stream.write(b"x")
            stream.flush()
        seen += [mode(path) for path in tmp_path.iterdir() if path.suffix == ".part"]
    assert seen == [0o600] * 4
    assert copied == ([] if linked else [0o600] * 3)
    assert {name: mode(tmp_path / name) for name in olds} == {**olds, "new": 0o640}
    assert names(tmp_path) == sorted(olds)


@pytest.mark.usefixtures("umask")
def test_nobody_else_looks_into_a_folder_until_it_has_its_name(tmp_path: Path) -> None:
    with writing.new_folder(str(tmp_path / "v")) as folder:
        assert mode(folder) == 0o700
        with writing.new_file(os.path.join(folder, "x")):
            pass
    assert (mode(tmp_path / "v"), mode(tmp_path / "v" / "x")) == (0o751, 0o640)
    assert names(tmp_path) == ["v"]


# ---- libraries that want a path -------------------------------------------------------------------------------


def test_what_a_library_writes_beside_stays_out_and_the_file_appears_whole(tmp_path: Path) -> None:
    output = tmp_path / "x.tif"
    output.write_bytes(b"old")
    output.chmod(0o640)
    with within_folder(str(output)) as path:
        assert os.path.basename(path) == "x.tif"
        assert not os.path.exists(path)
        assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
        Path(path).write_bytes(b"new")
        Path(f"{path}.aux.xml").write_bytes(b"beside")
        assert output.read_bytes() == b"old"
    assert output.read_bytes() == b"new"
    assert stat.S_IMODE(output.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["x.tif"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, ValueError])
def test_a_library_that_fails_leaves_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    output = tmp_path / "x.tif"
    output.write_bytes(b"old")

    def write_half() -> None:
        with within_folder(str(output)) as path:
            Path(path).write_bytes(b"half")
            raise error

    with pytest.raises(error):
        write_half()
    assert output.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x.tif"]


def test_a_folder_that_a_killed_library_left_is_removed_and_one_in_use_is_not(tmp_path: Path) -> None:
    output = str(tmp_path / "x.tif")
    left = tmp_path / ".x.tif.01234567.part"
    left.mkdir()
    (left / "x.tif").write_bytes(b"half")
    with within_folder(output) as first:
        assert not left.exists()
        Path(first).write_bytes(b"first")
        with within_folder(output) as second:
            Path(second).write_bytes(b"second")
        assert Path(output).read_bytes() == b"second"
        assert os.path.exists(first)
    assert Path(output).read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["x.tif"]


def test_a_pipe_takes_nothing_from_a_library_that_wants_a_path(tmp_path: Path) -> None:
    pipe = tmp_path / "x.tif"
    os.mkfifo(pipe)
    with pytest.raises(MinuendError) as caught, within_folder(str(pipe)):
        pass
    assert str(caught.value) == (
        f"{pipe} is written at many places, which a pipe or a device does not take; name a file"
    )
    with pytest.raises(MinuendError) as caught, within_folder(str(tmp_path / "a"), [str(tmp_path / "a")]):
        pass
    assert "is also an input" in str(caught.value)


def test_a_part_that_is_made_as_ctrl_c_comes_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(parts.Raw):
        def __init__(self, *given: object, **named: object) -> None:
            super().__init__(*given, **named)  # type: ignore[arg-type]
            self.close()
            raise KeyboardInterrupt

    monkeypatch.setattr(parts, "Raw", Interrupted)
    with pytest.raises(KeyboardInterrupt), atomic(str(tmp_path / "o.npy")):
        raise AssertionError("it was opened")
    assert names(tmp_path) == []


def _two_in_new_folders(path: str) -> AbstractContextManager[Any]:
    return together([f"{path}/a/x", f"{path}/b/x"], folders=True)


@pytest.mark.parametrize("way", [atomic, within_folder, new_folder, _two_in_new_folders])
def test_a_signal_leaves_nothing_that_was_being_made(
    way: Callable[[str], AbstractContextManager[Any]], tmp_path: Path
) -> None:
    """It comes between the making of a file or folder and the next step: the file that asks for permissions stayed."""
    real = {"open": os.open, "mkdir": os.mkdir}
    left = 0

    def make(name: str, *given: Any, **options: Any) -> Any:
        nonlocal left
        result = real[name](*given, **options)
        if name == "mkdir" or given[1] & os.O_CREAT:
            left -= 1
        if left == 0:
            left = -1
            if result is not None:
                os.close(result)
            raise KeyboardInterrupt
        return result

    tries = 0
    with pytest.MonkeyPatch.context() as patch:
        for name in real:
            patch.setattr(os, name, functools.partial(make, name))
        while not names(tmp_path):
            tries += 1
            left = tries
            with contextlib.suppress(KeyboardInterrupt), way(f"{tmp_path}/one") as made:
                if way is within_folder:
                    Path(made).write_bytes(b"x")
    assert tries > 1
    assert not any(name.endswith(".part") for name in names(tmp_path))
