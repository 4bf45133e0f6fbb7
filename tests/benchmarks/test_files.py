"""The benchmark of files: it measures what it says, and cleans up."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import files


@pytest.mark.parametrize("peer", files.PEERS)
def test_everybody_writes_the_same_difference(tmp_path: Path, peer: str) -> None:
    made = files.make(tmp_path, "int16", 1 << 12)
    files.PEERS[peer](made)
    assert np.array_equal(np.load(made.out), np.load(made.a) - np.load(made.b))


def test_the_speeds_are_of_medians_and_the_ratio_of_rounds() -> None:
    line, times = files.shown("int8", 10**9, {"minuend": [1.0, 2.0, 3.0], "numpy": [3.0, 2.0, 9.0]})
    assert line.split() == ["int8", "1.50", "GB/s", "1.00", "GB/s", "3.00", "2.00"]
    assert times == 3.0


def test_it_runs_and_leaves_nothing(tmp_path: Path) -> None:
    done = CliRunner().invoke(files.main, ["--mib", "1", "--rounds", "1", "--folder", str(tmp_path)])
    assert (done.exit_code, len(done.output.splitlines())) == (0, 1 + len(files.DTYPES))
    assert os.listdir(tmp_path) == []
