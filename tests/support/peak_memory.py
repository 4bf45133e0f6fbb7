"""The most memory that a process had.

``ru_maxrss`` is what a process inherits from the one that started it, so a child of a large test run grows by nothing.
"""

from __future__ import annotations

from pathlib import Path

PEAK = "int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
"""An expression for programs in other processes: KiB since the process began."""


def forget_peak() -> None:
    """Let the peak of this process begin now."""
    Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """Return the most KiB that this process had since :func:`forget_peak`."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
