"""What is printed."""

from __future__ import annotations

import os
import subprocess

from command_line import minuend


def test_what_is_piped_has_no_colour_codes() -> None:
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "200"}
    out = subprocess.run(
        minuend("spec"), capture_output=True, text=True, check=True, env=environment, timeout=60
    ).stdout
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80
