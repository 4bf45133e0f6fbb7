"""The right to change a file: one process has it at a time, and none keeps it after its death."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from minuend.files.transaction.file_lock import exclusive

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks as POSIX has them")

COUNT = """
import sys
from pathlib import Path
from minuend.files.transaction.file_lock import exclusive
path = Path(sys.argv[1])
for _ in range(100):
    with exclusive(str(path)):
        path.write_text(str(int(path.read_text()) + 1))
"""


def test_no_change_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_text("0")
    running = [subprocess.Popen([sys.executable, "-c", COUNT, str(path)]) for _ in range(4)]
    assert [one.wait() for one in running] == [0] * 4
    assert path.read_text() == "400"
    assert os.listdir(tmp_path) == ["count"]


def test_a_killed_process_keeps_nobody_out(tmp_path: Path) -> None:
    path = tmp_path / "f"
    code = (
        "import sys, time\n"
        "from minuend.files.transaction.file_lock import exclusive\n"
        "with exclusive(sys.argv[1]):\n    print(flush=True)\n    time.sleep(60)"
    )
    held = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    with held:
        assert held.stdout is not None
        held.stdout.readline()
        assert os.listdir(tmp_path) == [".f.lock"]
        held.send_signal(signal.SIGKILL)
    with exclusive(str(path)):
        pass
    assert os.listdir(tmp_path) == []


def test_a_lock_that_cannot_be_made_names_the_file(tmp_path: Path) -> None:
    path = str(tmp_path / "none" / "f")
    with pytest.raises(FileNotFoundError) as caught, exclusive(path):
        pass
    assert caught.value.filename == path
