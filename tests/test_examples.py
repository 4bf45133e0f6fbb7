"""Across modules: the example files are what their script makes."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_the_script_makes_the_files_bit_for_bit(tmp_path: Path) -> None:
    runpy.run_path(str(EXAMPLES / "make_examples.py"))["main"](tmp_path)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in EXAMPLES.glob("*.npy")}
    assert made == kept
    assert sum(map(len, kept.values())) < 1_000_000


@pytest.mark.parametrize(
    ("a", "b", "dtype", "shape"),
    [("nir", "red", np.uint16, (256, 256)), ("frame", "background", np.uint8, (120, 160, 3))],
)
def test_each_pair_has_differences_that_do_not_fit(a: str, b: str, dtype: type, shape: tuple[int, ...]) -> None:
    x, y = np.load(EXAMPLES / f"{a}.npy"), np.load(EXAMPLES / f"{b}.npy")
    assert x.dtype == y.dtype == dtype
    assert x.shape == y.shape == shape
    assert 0.05 < (x < y).mean() < 0.5
