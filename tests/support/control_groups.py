"""Control groups as Linux has them: trees of files that look like one, and real ones where they can be made."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

V1 = {"cpu": "31 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct"}
V1["memory"] = "32 23 0:29 / /sys/fs/cgroup/memory rw,relatime master:9 - cgroup cgroup rw,memory"
V2 = "30 23 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate"
OTHERS = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:20 / /sys rw - sysfs sysfs rw"


def tree(root: Path, groups: str, mounts: str, files: Mapping[str, str]) -> str:
    """Write what a process sees of its groups below a folder; return that folder."""
    written = {"proc/self/cgroup": groups, "proc/self/mountinfo": f"{OTHERS}\n{mounts}\n", **files}
    for name, text in written.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return str(root)


def pod(root: Path, limit: int, used: int, *, dropped: int = 0, cpus: float = 4) -> str:
    """Write a pod of version 2 with a namespace of its own: its group is the root that it sees."""
    group = "sys/fs/cgroup"
    return tree(
        root,
        "0::/",
        V2,
        {
            f"{group}/cpu.max": f"{int(cpus * 100_000)} 100000",
            f"{group}/memory.max": str(limit),
            f"{group}/memory.high": "max",
            f"{group}/memory.current": str(used),
            f"{group}/memory.stat": f"anon {used - dropped}\nfile {dropped}\ninactive_file {dropped}\nactive_file 0",
        },
    )


LIMITS = {"cpu": ("cpu.cfs_quota_us", "cpu.max"), "memory": ("memory.limit_in_bytes", "memory.max")}


@contextlib.contextmanager
def real_group(controller: str) -> Iterator[Path]:
    """Make a group below this process's own, for a controller; it is removed again, and has to be empty by then.

    Raises:
        OSError: that cannot be done here; the text says why.
    """
    group = _make(controller)
    try:
        yield group
    finally:
        group.rmdir()


def set_limit(group: Path, value: int) -> None:
    """Limit a group's memory, or the CPUs that it has."""
    for name, text in {
        "memory.limit_in_bytes": str(value),
        "memory.max": str(value),
        "cpu.cfs_quota_us": str(value * 100_000),
        "cpu.max": f"{value * 100_000} 100000",
    }.items():
        if (group / name).exists():
            (group / name).write_text(text)


def _make(controller: str) -> Path:
    for own in _own_groups(controller):
        group = own / f"minuend-{os.getpid()}"
        group.mkdir()
        if any((group / name).exists() for name in LIMITS[controller]):
            return group
        group.rmdir()
    raise OSError(f"groups below this process's own have no limits of {controller}")


def _own_groups(controller: str) -> Iterator[Path]:
    """The folders of this process's groups that may have limits, where the whole of a hierarchy is mounted."""
    mounts = [line.split() for line in _lines("/proc/self/mountinfo")]
    for line in _lines("/proc/self/cgroup"):
        _, names, path = line.split(":", 2)
        if names and controller not in names.split(","):
            continue
        for words in mounts:
            kind, options = words[words.index("-") + 1], words[-1].split(",")
            if words[3] == "/" and (kind == "cgroup2" if not names else kind == "cgroup" and controller in options):
                yield Path(words[4] + path)


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()
