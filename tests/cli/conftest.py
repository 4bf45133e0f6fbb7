"""The folder in which commands run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a.npy, b.npy, and f.npy of floats, in which commands run."""
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.array([5, 200, 7], np.uint8))
    np.save("b.npy", np.array([10, 100, 7], np.uint8))
    np.save("f.npy", np.ones((2, 3), np.float32))
    return tmp_path
