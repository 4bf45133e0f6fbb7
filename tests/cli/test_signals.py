"""Ctrl-C, SIGTERM and SIGHUP end the command line in order: nothing half is left, what is said is true."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from children import child

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")

SIGNALS = {"SIGINT": (130, ""), "SIGTERM": (143, " by SIGTERM"), "SIGHUP": (129, " by SIGHUP")}
"""Signal → the exit status, and how the message names it."""

START = """
import os, signal, subprocess, sys
for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)
from minuend.cli import program as cli, progress
from minuend.onnx import vectors
from minuend import written
from minuend.files.streaming import regions
from minuend.files.transaction import writing
from minuend.files import difference
regions.BLOCK_BYTES = 1000
calls, helpers, started = 0, [], subprocess.Popen
class Popen(started):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        helpers.append(self.pid)
subprocess.Popen = Popen
def here(*_, **__):
    global calls
    calls += 1
    if calls == WHEN:
        print("here", *helpers, flush=True)
        sys.stdin.readline()
def after(function):
    return lambda *args: (function(*args), here())
"""

MOMENTS = {
    "before anything is opened": ("difference.subtract_files = here", "nothing was written"),
    "while computing": ("progress.Bar.__call__ = here", "nothing was written"),
    "before the rename": ("writing.announce = after(writing.announce)", "nothing was written"),
    "after the rename": ("writing.os.replace = after(os.replace)", "o.npy was written"),
}
"""When the signal comes → how the child comes to wait there, and what the message says."""


def code(moment: str, when: int = 1, more: str = "") -> str:
    return f"{START.replace('WHEN', str(when))}{moment}\n{more}\nraise SystemExit(cli.main())"


def ended(argv: list[str], program: str, *signals: str) -> tuple[int, str, str]:
    """Run a command, send signals when it waits; return its status, messages and what it said where it waited."""
    with child([sys.executable, "-c", program, *argv]) as work:
        assert work.stdout is not None
        told = work.stdout.readline().decode()
        for name in signals:
            work.send_signal(getattr(signal, name))
        _, err = work.communicate()
    return work.returncode, err.decode(), told


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A folder with a.npy, of some blocks, in which commands run."""
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.zeros((100, 100), np.int32))
    return ["a.npy"]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_cleans_up_and_tells_what_was_written(files: list[str], name: str, moment: str) -> None:
    status, by = SIGNALS[name]
    hook, message = MOMENTS[moment]
    argv = ["sub", "a.npy", "a.npy", "-o", "o.npy"]
    assert ended(argv, code(hook), name) == (status, f"error: interrupted{by}; {message}\n", "here\n")
    assert sorted(os.listdir()) == [*files, *(["o.npy"] if "o.npy" in message else [])]
    if "o.npy" in message:
        assert not np.load("o.npy").any()


@pytest.mark.parametrize("when", [2, 7, 31])
def test_signals_in_a_row_mean_the_same(files: list[str], when: int) -> None:
    argv = ["sub", "a.npy", "a.npy", "-o", "o.npy"]
    program = code("progress.Bar.__call__ = here", when)
    status, err, _ = ended(argv, program, "SIGTERM", "SIGHUP", "SIGINT", "SIGTERM")
    assert status in (129, 130, 143)  # the system delivers signals that wait in an order of its own
    assert err.startswith("error: interrupted")
    assert err.endswith("; nothing was written\n")
    assert os.listdir() == files


def test_a_folder_of_tests_appears_whole_or_not_at_all(files: list[str]) -> None:
    argv = ["vectors", "--opset", "7", "-o", "v"]
    assert ended(argv, code("progress.Bar.__call__ = here", 5), "SIGTERM")[:2] == (
        143,
        "error: interrupted by SIGTERM; nothing was written\n",
    )
    assert os.listdir() == files


@pytest.mark.parametrize("when", [1, 2])
def test_an_ir_of_two_files_is_told_whole(files: list[str], when: int) -> None:
    model = Path(__file__).parents[2] / "examples/directml/row_means.json"
    status, err, _ = ended(
        ["convert", str(model), "--to", "openvino", "-o", "o.xml"],
        code("writing.announce = after(writing.announce)", when),
        "SIGHUP",
    )
    assert (status, err) == (129, "error: interrupted by SIGHUP; nothing was written\n")
    assert os.listdir() == files


@pytest.mark.usefixtures("files")
def test_a_helper_process_ends_too() -> None:
    argv = ["prove", "numpy", "--quick"]
    status, err, told = ended(argv, code("progress.Bar.__call__ = here"), "SIGTERM")
    assert (status, err) == (143, "error: interrupted by SIGTERM; nothing was written\n")
    _, *helpers = told.split()
    assert helpers
    for helper in helpers:  # as many as there are CPUs
        with pytest.raises(ProcessLookupError):
            os.kill(int(helper), 0)


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_that_comes_ignored_stays_ignored(files: list[str], name: str) -> None:
    """As under nohup, and as Ctrl-C in a shell's background jobs."""
    ignored = f"signal.signal(signal.{name}, signal.SIG_IGN)"
    program = code("progress.Bar.__call__ = here", more=ignored)
    with child([sys.executable, "-c", program, "sub", "a.npy", "a.npy", "-o", "o.npy"]) as work:
        assert work.stdout is not None
        work.stdout.readline()
        work.send_signal(getattr(signal, name))
        _, err = work.communicate(b"\n")
    assert (work.returncode, err, sorted(os.listdir())) == (0, b"", [*files, "o.npy"])


def test_importing_the_package_and_running_in_a_thread_touch_no_signal(files: list[str]) -> None:
    program = (
        "import signal, threading; handlers = lambda: [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT)]; "
        "before = handlers(); import minuend; from minuend.cli import program as cli; seen = []; "
        "run = lambda: seen.append(cli.main(['sub', 'a.npy', 'a.npy', '-o', 'o.npy'])); "
        "thread = threading.Thread(target=run); thread.start(); thread.join(); run(); "
        "raise SystemExit(0 if seen == [0, 0] and handlers() == before else 1)"
    )
    with child([sys.executable, "-c", program]) as work:
        _, err = work.communicate()
    assert (work.returncode, err) == (0, b"")
    assert sorted(os.listdir()) == [*files, "o.npy"]
