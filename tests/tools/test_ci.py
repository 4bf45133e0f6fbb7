"""`.ci/run` ends with 0 if each of its steps did, else with that step's status. The steps are stand-ins here."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STEPS = ("pip", "pytest", "python", "ruff", "mypy", "lint-imports")

pytestmark = pytest.mark.skipif(os.name != "posix" or shutil.which("bash") is None, reason="it is a script of bash")


def run_with(folder: Path, failing: str | None, **lines: str) -> subprocess.CompletedProcess[str]:
    """The script's result where the step `failing` ends with 3, and others run `lines`, in the temporary `folder`."""
    stand_ins, temporary = folder / "bin", folder / "tmp"
    stand_ins.mkdir()
    temporary.mkdir()
    for name in STEPS:
        write_script(stand_ins / name, lines.get(name, f"exit {3 if name == failing else 0}"))
    write_script(stand_ins / "python3", 'mkdir -p "$3/bin"; touch "$3/bin/activate"')  # python3 -m venv FOLDER
    environment = {"PATH": f"{stand_ins}:/usr/bin:/bin", "TMPDIR": str(temporary)}
    return subprocess.run([ROOT / ".ci/run"], check=False, env=environment, capture_output=True, text=True, timeout=30)


def write_script(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("failing", [None, *STEPS])
def test_the_status_is_that_of_the_steps(tmp_path: Path, failing: str | None) -> None:
    result = run_with(tmp_path, failing)
    assert result.returncode == (0 if failing is None else 3), result.stderr
    assert not list((tmp_path / "tmp").iterdir())  # the virtual environment is gone


def test_what_runs_beside_the_tests_ends_with_them(tmp_path: Path) -> None:
    started = tmp_path / "started"
    building = f"sleep 100 & touch {started}; wait"  # a compiler that the build has started holds the streams open
    waiting = f"while ! test -e {started}; do sleep 0.01; done; exit 3"
    assert run_with(tmp_path, "pytest", python=building, pytest=waiting).returncode == 3
