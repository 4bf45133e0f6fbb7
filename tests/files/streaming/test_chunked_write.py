"""What is written chunk by chunk can be gone on with: what is finished is known, and what differs is refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from children import child

from minuend import errors
from minuend.cli.program import main
from minuend.core.elements import TYPES
from minuend.files import Result, write_tensors
from minuend.files.difference import SubReport, subtract_files
from minuend.files.tensor_pairs import Rules
from minuend.standards.dialects import dialect

zarr = pytest.importorskip("zarr")

SHAPE, CHUNKS = (40, 30), (8, 10)
CELLS = 15
KILLED_AT = 6

KILLER = """
import os, signal
from minuend.cli.program import main
from minuend.files.formats import zarr_stores
from minuend.files.transaction import resume_journal
calls = 0
def counted(function):
    def wrapper(*args):
        global calls
        calls += 1
        if calls == WHEN:
            END
        return function(*args)
    return wrapper
HOOK
raise SystemExit(main())
"""
HOOKS = {
    "a chunk lies in its place and is not in the journal": "F = resume_journal.Unfinished; F.add = counted(F.add)",
    "a chunk is half written": "zarr_stores.os.replace = counted(os.replace)",
}
"""Where the process is killed → how it is brought to it."""


def killer(hook: str, when: int = KILLED_AT, end: str = "os.kill(os.getpid(), signal.SIGKILL)") -> str:
    return KILLER.replace("HOOK", hook).replace("WHEN", str(when)).replace("END", end)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a.zarr and b.zarr, and their whole difference in whole.zarr."""
    monkeypatch.chdir(tmp_path)
    for name, seed in (("a", 0), ("b", 1)):
        values = np.random.default_rng(seed).integers(-128, 128, SHAPE).astype("int8")
        zarr.create_array(f"{name}.zarr", shape=SHAPE, chunks=CHUNKS, dtype="int8")[...] = values
    subtract_files("a.zarr", "b.zarr", "whole.zarr", overflow="saturate")
    return tmp_path


def killed(hook: str, *options: str) -> None:
    """Run ``sub``, which is killed in mid-run."""
    arguments = ["sub", "a.zarr", "b.zarr", "-o", "c.zarr", "--overflow", "saturate", *options]
    with child([sys.executable, "-c", killer(hook), *arguments]) as work:
        _, err = work.communicate()
    assert work.returncode == -signal.SIGKILL, err


def files_of(folder: str) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def parts() -> list[str]:
    return [name for name in os.listdir() if name.endswith(".part")]


def went_on(monkeypatch: pytest.MonkeyPatch, **options: object) -> tuple[SubReport, int]:
    """Go on, and count the chunks that are written."""
    from minuend.files.formats.zarr import ChunkedOutput

    put, written = ChunkedOutput.put, []

    def counted(self, region, elements):
        written.append(region)
        return put(self, region, elements)

    monkeypatch.setattr(ChunkedOutput, "put", counted)
    report = subtract_files("a.zarr", "b.zarr", "c.zarr", overflow="saturate", resume=True, **options)
    return report, len(written)


@pytest.mark.parametrize("hook", HOOKS)
def test_a_killed_run_is_gone_on_with(here: Path, monkeypatch: pytest.MonkeyPatch, hook: str) -> None:
    killed(HOOKS[hook])
    assert not os.path.exists("c.zarr")
    (part,) = parts()
    finished = (here / part / "journal").read_text().splitlines()[1:]
    calls: list[tuple[int, int]] = []
    report, written = went_on(monkeypatch, progress=lambda *at: calls.append(at))
    assert 0 < len(finished) == CELLS - written
    assert files_of("c.zarr") == files_of("whole.zarr")
    whole = subtract_files("a.zarr", "b.zarr", "again.zarr", overflow="saturate")
    assert report.tensors == whole.tensors
    assert calls[-1] == (whole.nbytes, whole.nbytes)
    assert not parts()


def test_killed_twice_and_at_a_torn_line_of_the_journal(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for options in ([], ["--resume"]):
        killed(HOOKS["a chunk is half written"], *options)
    (part,) = parts()
    with open(here / part / "journal", "ab") as journal:
        journal.write(b"[0, 14")
    finished = (here / part / "journal").read_bytes().count(b"\n") - 1
    assert went_on(monkeypatch)[1] == CELLS - finished
    assert files_of("c.zarr") == files_of("whole.zarr")


DAMAGES = {
    "cut off": lambda file: os.truncate(file, os.path.getsize(file) // 2),
    "empty": lambda file: os.truncate(file, 0),
    "zeros": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "missing": os.unlink,
}
"""What a power failure leaves of a chunk whose line in the journal is on the disk already."""


@pytest.mark.parametrize("damage", DAMAGES)
def test_chunks_that_are_not_as_the_journal_says_are_written_anew(
    here: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    killed(HOOKS["a chunk is half written"])
    (part,) = parts()
    finished = [json.loads(line) for line in (here / part / "journal").read_text().splitlines()[1:]]
    columns = -(-SHAPE[1] // CHUNKS[1])
    for _, number, *_ in finished[:2]:
        DAMAGES[damage](here / part / "c.zarr" / "c" / str(number // columns) / str(number % columns))
    (header,) = (here / part / "c.zarr").rglob("zarr.json")
    os.truncate(header, 10)
    report, written = went_on(monkeypatch)
    assert finished
    assert written == CELLS - len(finished) + len(finished[:2])
    assert files_of("c.zarr") == files_of("whole.zarr")
    assert report.tensors == subtract_files("a.zarr", "b.zarr", "again.zarr", overflow="saturate").tensors


def test_a_journal_without_checksums_is_not_trusted(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(HOOKS["a chunk is half written"])
    (part,) = parts()
    journal = here / part / "journal"
    identity, *lines = journal.read_text().splitlines()
    old = [[pair, number, *summary] for pair, number, _, *summary in map(json.loads, lines)]
    journal.write_text("\n".join([identity, *map(json.dumps, old), ""]))
    assert went_on(monkeypatch)[1] == CELLS
    assert files_of("c.zarr") == files_of("whole.zarr")


def test_chunks_of_the_fill_value_alone_are_finished_without_a_file(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree("b.zarr")
    shutil.copytree("a.zarr", "b.zarr")
    killed("F = resume_journal.Unfinished; F.add = counted(F.add)")
    (part,) = parts()
    finished = (here / part / "journal").read_text().splitlines()[1:]
    assert {json.loads(line)[2] for line in finished} == {None}
    assert went_on(monkeypatch)[1] == CELLS - len(finished)


def test_nothing_left_is_a_run_from_the_start(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert went_on(monkeypatch)[1] == CELLS
    assert files_of("c.zarr") == files_of("whole.zarr")


def test_without_resume_what_is_left_goes(here: Path) -> None:
    killed(HOOKS["a chunk is half written"])
    subtract_files("a.zarr", "b.zarr", "c.zarr", overflow="saturate")
    assert files_of("c.zarr") == files_of("whole.zarr")
    assert not parts()


def test_what_is_left_goes_at_any_verb_on_that_output(here: Path) -> None:
    killed(HOOKS["a chunk is half written"])
    write_tensors("c.zarr", [Result.of("x", TYPES["int8"], np.zeros(3, "int8"))])
    assert not parts()


def refused(**options: object) -> str:
    before = files_of(parts()[0])
    with pytest.raises(errors.MinuendError) as caught:
        subtract_files("a.zarr", "b.zarr", "c.zarr", **{"overflow": "saturate", "resume": True, **options})  # type: ignore[arg-type]
    assert files_of(parts()[0]) == before
    return str(caught.value)


def test_other_operands_and_parameters_are_refused_with_what_differs(here: Path) -> None:
    killed(HOOKS["a chunk is half written"])
    text = "what is left of c.zarr is of another difference: {}; run without --resume to start anew"
    assert refused(overflow="wrap") == text.format("--overflow was saturate and is wrap")
    message = refused(rules=Rules(dialect("onnx").resolve(14)))
    assert message == text.format("--as was none and is onnx Sub-14")
    zarr.open_array("b.zarr", mode="r+")[0, 0] = 3
    message = refused()
    assert message.startswith("what is left of c.zarr is of another difference: B's files was 16 files of ")
    assert "--overflow" not in message
    shutil.copytree("a.zarr", "A.zarr")
    with pytest.raises(errors.MinuendError, match=r"A was \S+/a.zarr and is \S+/A.zarr; "):
        subtract_files("A.zarr", "b.zarr", "c.zarr", overflow="saturate", resume=True)


def test_a_run_that_is_going_on_is_left_alone(here: Path) -> None:
    wait = 'print("here", flush=True); input()'
    arguments = ["sub", "a.zarr", "b.zarr", "-o", "c.zarr", "--overflow", "saturate"]
    program = killer(HOOKS["a chunk is half written"], 3, wait)
    with child([sys.executable, "-c", program, *arguments]) as work:
        assert work.stdout is not None
        assert work.stdout.readline() == b"here\n"
        with pytest.raises(errors.MinuendError) as caught:
            subtract_files("a.zarr", "b.zarr", "c.zarr", overflow="saturate", resume=True)
        assert str(caught.value) == "c.zarr is being written by another run; wait for its end"
        _, err = work.communicate(b"\n")
    assert work.returncode == 0, err
    assert files_of("c.zarr") == files_of("whole.zarr")


def test_ctrl_c_leaves_what_can_be_gone_on_with_and_says_so(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = killer(HOOKS["a chunk is half written"], 6, 'print("here", flush=True); input()')
    start = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    arguments = ["sub", "a.zarr", "b.zarr", "-o", "c.zarr", "--overflow", "saturate"]
    with child([sys.executable, "-c", start + program, *arguments]) as work:
        assert work.stdout is not None
        assert work.stdout.readline() == b"here\n"
        work.send_signal(signal.SIGINT)
        _, err = work.communicate(b"\n")
    (part,) = parts()
    assert work.returncode == 130
    assert err.decode() == (
        f"error: interrupted; nothing was written; what is finished of c.zarr stays in {here / part}; --resume goes on "
        "with it\n"
    )
    assert went_on(monkeypatch)[1] < CELLS
    assert files_of("c.zarr") == files_of("whole.zarr")


def test_an_overflow_is_reported_of_the_whole_and_nothing_appears(here: Path) -> None:
    for name in "ab":
        np.save(f"{name}.npy", zarr.open_array(f"{name}.zarr", mode="r")[...])
    messages = []
    for suffix in ("npy", "zarr"):
        with pytest.raises(errors.OverflowFound) as caught:
            subtract_files(f"a.{suffix}", f"b.{suffix}", f"c.{suffix}", overflow="error")
        messages.append((str(caught.value), caught.value.index, caught.value.count))
    assert messages[0] == messages[1]
    assert sorted(os.listdir()) == ["a.npy", "a.zarr", "b.npy", "b.zarr", "whole.zarr"]


@pytest.mark.parametrize("options", [{"resume": True}, {"scheduler": "tcp://127.0.0.1:1"}])
def test_what_others_compute_is_not_drawn(here: Path, options: dict[str, object]) -> None:
    with pytest.raises(errors.MinuendError) as caught:
        subtract_files("a.zarr", "b.zarr", "c.zarr", watch=lambda *_: lambda *_: None, **options)  # type: ignore[arg-type]
    (option,) = options
    assert str(caught.value) == (
        f"--plot draws blocks as they are computed, and with --{option} others compute some of them; leave one of both "
        "out, and draw the difference afterwards"
    )


@pytest.mark.parametrize("options", [["--resume"], ["--scheduler", "tcp://127.0.0.1:1"]])
@pytest.mark.parametrize("output", [[], ["-o", "c.npy"]])
def test_only_zarr_is_written_chunk_by_chunk(
    here: Path, capsys: pytest.CaptureFixture[str], output: list[str], options: list[str]
) -> None:
    assert main(["sub", "a.zarr", "b.zarr", *output, *options]) == 2
    assert capsys.readouterr().err == (
        f"error: {options[0]} needs an output that is written chunk by chunk; name an OUT that ends in .zarr\n"
    )


def test_an_output_that_exists_or_is_an_input_is_refused(here: Path) -> None:
    for resume in (False, True):
        with pytest.raises(errors.MinuendError) as caught:
            subtract_files("a.zarr", "b.zarr", "whole.zarr", resume=resume)
        assert str(caught.value) == "whole.zarr exists; name a folder that does not"
    with pytest.raises(errors.MinuendError, match=r"the output a\.zarr is also an input; "):
        subtract_files("a.zarr", "b.zarr", "a.zarr")


def test_a_journal_that_is_none_is_reported(here: Path) -> None:
    killed(HOOKS["a chunk is half written"])
    (part,) = parts()
    journal = here / part / "journal"
    journal.write_text(f"{json.dumps([])}\n")
    with pytest.raises(errors.FileFormatError) as caught:
        subtract_files("a.zarr", "b.zarr", "c.zarr", overflow="saturate", resume=True)
    assert str(caught.value) == f"{journal} is no journal of this program; run without --resume"
