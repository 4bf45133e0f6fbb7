"""The short form of ``tools/fuzz.py``, in a process of its own: an audit hook stays, and so does what harms memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("the scripts stand on Linux", allow_module_level=True)
pytest.importorskip("onnx")
pytest.importorskip("safetensors")

APART = Path(__file__).with_name("fuzzing_apart.py")


def test_the_short_form_finds_nothing_and_sees_failures() -> None:
    command = [sys.executable, "-X", "faulthandler", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(APART)]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        command, cwd=APART.parents[2], env=own, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout[-8000:]}{done.stderr[-8000:]}"
    assert " passed" in done.stdout
