"""The progress bar."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from command_line import run

from minuend.cli import progress
from minuend.files.streaming import regions


def test_no_progress_is_shown_where_standard_error_is_no_terminal(
    files: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regions, "BLOCK_BYTES", 1)
    monkeypatch.setattr(time, "perf_counter", iter(range(10_000)).__next__)
    assert run(capfd, "sub", "a.npy", "b.npy", "-o", "o.npy")[2] == ""
    assert (files / "o.npy").exists()


@pytest.mark.parametrize("nbytes", [False, True])
def test_progress_is_shown_on_a_terminal_once_the_work_is_long(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, nbytes: bool
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar = progress.Bar(nbytes=nbytes)
    bar(1, 10)
    assert bar._bar is None
    bar._start -= 2
    with bar:
        bar(5, 10)
        assert bar._bar.tasks[0].completed == 5
        columns = [type(column).__name__ for column in bar._bar.columns]
        assert ("TransferSpeedColumn" in columns, "TimeRemainingColumn" in columns) == (nbytes, True)
    assert capfd.readouterr().out == ""
