"""What ``test_fuzzing.py`` runs apart: the corpora, some hundred harmed inputs more, and what a failure is."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import fuzz
import numpy as np
import pytest
from fuzzing import watch
from fuzzing.mutation import explore
from fuzzing.running import Board, note, run_apart
from fuzzing.targets import CORPUS, TARGETS, Target
from fuzzing.watch import Failure, Folder, execute, watching

from minuend.errors import MinuendError

SECONDS = 0.5
"""Of the processor, for each target, beyond the corpus."""
MOST = 300


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_no_input_of_the_corpus_or_made_of_it_fails(target: Target, tmp_path: Path) -> None:
    """Each target in a fork: what crashes over an input is a failure with the input and a trace, and ends no test."""
    inputs = [*target.seeds(), *target.corpus()]
    assert inputs
    done = run_apart(lambda board: tried(target, inputs, board, tmp_path), target, tmp_path)
    assert not done.failures, failed(tmp_path)
    assert done.executions >= len(inputs)


def tried(target: Target, inputs: list[bytes], board: Board, failures: Path) -> int:
    """Run the inputs, and some that are made of them; return how many fail, which are noted."""
    folder, found, end = Folder(dict(target.beside)), set(), 0.0

    def one(data: bytes) -> str:
        board.start(data)
        try:
            return execute(target.run, data, folder)
        except Failure as failure:
            note(target, str(failure), failure.key, data, failures)
            found.add(failure.key)
            return f"failed {failure.key}"

    try:
        with watching(folder):
            steps = explore(one, inputs, random.Random(7), target.harm, target.words)
            for count, _ in enumerate(itertools.islice(steps, len(inputs) + MOST), 1):
                end = end or time.process_time() + SECONDS
                if count >= len(inputs) and time.process_time() > end:
                    break
    finally:
        folder.remove()
    return len(found)


def failed(failures: Path) -> str:
    """What was noted: each input, and what came of it."""
    return "\n\n".join(
        f"{path.read_bytes()[:2000]!r}\n{path.with_suffix('.txt').read_text('utf-8')}"
        for path in sorted(failures.iterdir())
        if not path.suffix
    )


def test_the_corpora_are_small_and_of_targets_that_there_are() -> None:
    assert {path.name for path in CORPUS.iterdir()} == {f"{target.name}.txt" for target in TARGETS}
    assert all(path.stat().st_size <= 16_000 for path in CORPUS.iterdir())


def test_the_page_shows_the_figures() -> None:
    docs = CORPUS.parents[2] / "docs"
    figures = json.loads((docs / "fuzzing.json").read_text("utf-8"))
    assert set(figures["targets"]) == {target.name for target in TARGETS}
    assert fuzz.table(figures) in (docs / "security.md").read_text("utf-8")


# ---- what a failure is ------------------------------------------------------------------------------------------


@pytest.fixture
def folder() -> Iterator[Folder]:
    made = Folder({"x": b"x"})
    with watching(made):
        yield made
    made.remove()


def failure(run: Callable[[bytes, Folder], object], folder: Folder) -> str:
    with pytest.raises(Failure) as caught:
        execute(run, b"", folder)
    return str(caught.value)


def raising(error: BaseException) -> Callable[[bytes, Folder], object]:
    def run(*_: object) -> object:
        raise error

    return run


def test_an_exception_of_another_kind_is_a_failure(folder: Folder) -> None:
    assert failure(raising(KeyError("x")), folder) == "exception: KeyError: 'x'"
    assert failure(raising(RecursionError("deep")), folder) == "exception: RecursionError: deep"
    assert failure(raising(MemoryError()), folder) == "exception: MemoryError: "
    assert failure(raising(OSError(5, "Input/output error")), folder).startswith(
        "exception: without a path: OSError(5,"
    )
    assert failure(raising(MinuendError("")), folder) == "message: ''"
    assert execute(raising(MinuendError("no")), b"", folder).startswith("MinuendError ")
    assert execute(raising(FileNotFoundError(2, "none", folder.path)), b"", folder).startswith("FileNotFoundError ")


@pytest.mark.parametrize(
    "act",
    [
        lambda: Path("/etc/hostname").read_text(),
        lambda: os.listdir("/"),
        lambda: os.mkdir("/dev/shm/made-by-a-test"),
        lambda: os.rename("/dev/shm/none", "/dev/shm/other"),
        lambda: __import__("socket").socket(),
    ],
)
def test_what_lies_outside_is_a_failure_before_it_happens(folder: Folder, act: Callable[[], object]) -> None:
    assert failure(lambda *_: act(), folder).startswith(("outside: ", "network: "))
    assert not os.path.exists("/dev/shm/made-by-a-test")


def test_what_lies_within_is_none_but_what_stays_is(folder: Folder) -> None:
    def stays(_: bytes, there: Folder) -> None:
        Path(there.path, "new").touch()

    def goes(_: bytes, there: Folder) -> None:
        stays(_, there)
        Path(there.path, "new").unlink()

    assert execute(goes, b"", folder) == "done None"
    assert failure(stays, folder) == "left: ['new']"
    assert execute(goes, b"", folder) == "done None"


def test_time_is_bounded(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "SECONDS", 0.2)

    def endless(*_: object) -> None:
        while True:
            pass

    assert failure(endless, folder) == "time: more than 0.2 s"


def test_memory_is_bounded(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "BYTES", 64 << 20)
    assert failure(lambda *_: np.ones(60_000_000), folder).startswith("memory: ")
    assert execute(lambda *_: np.ones(1_000_000).size, b"", folder) == "done 1000000"


def test_a_process_that_crashes_is_a_failure_with_its_input(tmp_path: Path) -> None:
    def work(board: Board) -> int:
        board.start(b"harmless")
        board.start(b"deadly")
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    target = Target("some", "", lambda *_: None, tuple)
    done = run_apart(work, target, tmp_path)
    assert (done.executions, done.failures) == (2, 1)
    (found,) = (path for path in tmp_path.iterdir() if not path.suffix)
    assert found.read_bytes() == b"deadly"
    assert "crash: the process ended with status -9" in found.with_suffix(".txt").read_text()


def test_a_crash_is_noted_with_the_place_in_the_program(tmp_path: Path) -> None:
    def work(board: Board) -> int:
        board.start(b"deadly")
        deadly()
        return 0

    def deadly() -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    assert run_apart(work, Target("some", "", lambda *_: None, tuple), tmp_path).failures == 1
    told = failed(tmp_path)
    assert told.startswith("b'deadly'\ncrash: the process ended with status -11")
    assert "Fatal Python error: Segmentation fault" in told
    assert "in deadly" in told
