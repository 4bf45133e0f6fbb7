"""What a measurement is worth nothing without: the machine, the system, the releases, the day, and who else worked."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from minuend import _native

TUNED = {
    "AuthenticAMD": {("25", "17"): "Zen 4 (EPYC)"},
    "GenuineIntel": {("6", model): "Sapphire and Emerald Rapids (Xeon)" for model in ("143", "167", "207")},
}
"""Processors on which the kernel's thresholds were measured: maker, then family and model, as Linux says them."""


def untuned(maker: str, family: str, model: str) -> str:
    """Return a warning where no threshold of the kernel was measured on such a processor, else an empty string."""
    if (family, model) in TUNED.get(maker, {}):
        return ""
    known = sorted({name for models in TUNED.values() for name in models.values()})
    here = f"{maker or 'an unknown maker'}, family {family or '?'}, model {model or '?'}"
    return f"the kernel's thresholds were measured on {' and '.join(known)}, and not on this processor ({here})"


def describe(name: str = "") -> dict[str, str]:
    """Return the machine's description, by heading. ``name`` is what its owner calls it."""
    found = {
        "machine": name,
        "processor": _processor(),
        "CPUs in use": f"{cpus()} of {os.cpu_count()}",
        "caches": _caches(),
        "memory": _memory(),
        "huge pages": _chosen(Path("/sys/kernel/mm/transparent_hugepage/enabled")),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "Python": _python(),
        "revision": _revision(),
        "date": datetime.date.today().isoformat(),
        "instruction set": _native.get_instruction_set(),
        "warning": untuned(_field("vendor_id"), _field("cpu family"), _field("model")),
    }
    return {heading: value for heading, value in found.items() if value}


def cpus() -> int:
    """Return how many CPUs this process may use, by its affinity and its container's quota."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(own, _native.container()[0] or own)


def free_memory() -> int:
    """Return the bytes that can be had without swapping; where the system does not say, 8 GiB are assumed."""
    free = 8 << 30
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) << 10
    left = _native.container()[2]
    return free if left is None else max(0, min(free, left))


BUSY = 0.03
"""Share of the CPUs' time that others may use before a run counts as one on a busy machine."""


class Others:
    """How much of the CPUs' time others use: all processes but this one and its children, and a virtual machine's host.

    >>> Others().share() is None or 0 <= Others().share() <= 1
    True
    """

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._before = _used_by_others()

    def share(self) -> float | None:
        """Return the share since this object was made, or ``None`` where the system does not say."""
        now = _used_by_others()
        if now is None or self._before is None:
            return None
        whole = (time.monotonic() - self._start) * (os.cpu_count() or 1)
        return min(1.0, max(0.0, now - self._before) / whole) if whole else 0.0


def _used_by_others() -> float | None:
    """Return the CPUs' seconds since the system's start that neither were idle nor this process's."""
    line = next(iter(_lines(Path("/proc/stat"))), "").split()
    if len(line) < 9:
        return None
    user, nice, system, _idle, _waiting, irq, softirq, steal = map(int, line[1:9])
    own = os.times()
    ticks = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq + steal) / ticks - sum(own[:4])


def changed_tree() -> bool:
    """Whether the clone that is measured has changes that no commit holds."""
    return _revision().endswith("-dirty")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _field(name: str) -> str:
    return next((line.partition(":")[2].strip() for line in _lines(Path("/proc/cpuinfo")) if line.startswith(name)), "")


def _processor() -> str:
    name = _field("model name") or platform.processor() or platform.machine()
    flags = set(_field("flags").split())
    best = next((kind for kind in ("avx512f", "avx2", "sse4_2") if kind in flags), "")
    return f"{name} (family {_field('cpu family')}, model {_field('model')}; {best})" if best else name


def _caches() -> str:
    found = []
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (_lines(folder / name)[:1] for name in ("level", "type", "size"))
        if level and kind != ["Instruction"] and size:
            found.append(f"L{level[0]} {size[0]}")
    return ", ".join(found)


def _memory() -> str:
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemTotal:"):
            return f"{int(line.split()[1]) / (1 << 20):.0f} GiB"
    return ""


def _chosen(path: Path) -> str:
    text = " ".join(_lines(path))
    return text[text.find("[") + 1 : text.find("]")] if "[" in text else ""


def _python() -> str:
    threads = "" if getattr(sys, "_is_gil_enabled", lambda: True)() else ", free-threaded"
    return f"{platform.python_implementation()} {platform.python_version()}{threads}"


def _revision() -> str:
    folder = Path(__file__).parents[1]
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""
