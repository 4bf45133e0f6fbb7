"""The benchmark of files: it measures what it says, and cleans up."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import files, formats
from minuend.files import open_tensors


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


def test_each_format_has_peers_that_give_what_minuend_gives(tmp_path: Path) -> None:
    for one in formats.FORMATS:
        if formats.lacking(one.needs):
            continue
        paths = [tmp_path / f"{name}{one.suffix}" for name in ("a", "b", "out")]
        for k, path in enumerate(paths[:2]):
            one.make(path, np.arange(8 * formats.SIDE, dtype=np.float32).reshape(8, formats.SIDE) * (k + 1))
        runs = [run for name, run in formats.contenders(one) if name in ("minuend", "numpy maps", "numpy", "h5py")]
        seen = []
        for run in runs:
            formats.remove(paths[2])
            run(*paths)
            found = open_tensors(str(paths[2]))
            seen.append(b"".join(tensor.elements().read().tobytes() for tensor in found.values()))
        assert len(set(seen)) == 1


def test_a_run_of_formats_is_a_table(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        formats.main, ["--mib", "1", "--rounds", "1", "--folder", str(tmp_path), "--format", ".npy"]
    )
    assert done.exit_code == 0
    assert [row.split("|")[2].strip() for row in done.stdout.splitlines()[2:4]] == ["minuend", "numpy maps"]
    assert list(tmp_path.iterdir()) == []
