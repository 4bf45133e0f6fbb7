"""How long ``import minuend`` and ``minuend --help`` take, in fresh interpreters, in turn.

The bare interpreter's own start is taken off, so the ratio of the imports is that of the imports alone.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

COMMANDS: dict[str, list[str]] = {
    "python": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import minuend": ["-c", "import minuend"],
    "minuend --help": ["-m", "minuend", "--help"],
}


def measure(rounds: int) -> dict[str, float]:
    """Return each command's median in seconds, the bare interpreter's start included; the first round is warm-up."""
    readings: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for turn in range(rounds + 1):
        for name, arguments in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
            if turn:
                readings[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in readings.items()}


def import_ratio(seconds: dict[str, float]) -> float:
    """Return ``import minuend`` by ``import numpy``."""
    bare = seconds["python"]
    return (seconds["import minuend"] - bare) / (seconds["import numpy"] - bare)


def help_seconds(seconds: dict[str, float]) -> float:
    """Return what ``minuend --help`` takes beyond Python's own start."""
    return seconds["minuend --help"] - seconds["python"]
