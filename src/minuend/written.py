"""What the command line has put in place so far, so that "nothing was written" is said only where it is true.

A file or folder is announced before it takes its name. Whether it did is asked of the file system afterwards, which no
signal between two steps can make wrong.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_announced: list[list[tuple[str, int, int]]] = []
"""What was announced under each :func:`remembered` that is open."""


@contextlib.contextmanager
def remembered() -> Iterator[None]:
    """Remember what is announced from here on; outside nothing is, so that a long-lived program keeps no list."""
    _announced.append([])
    try:
        yield
    finally:
        _announced.pop()


def announce(part: str, goal: str) -> None:
    """Note that ``part``, a whole file or folder under a name of its own, is about to become ``goal``."""
    if _announced:
        found = os.stat(part)
        _announced[-1].append((goal, found.st_dev, found.st_ino))


def written() -> list[str]:
    """Return the announced goals that are in place."""
    found: list[str] = []
    for goal, device, inode in _announced[-1] if _announced else ():
        with contextlib.suppress(OSError):
            there = os.stat(goal)
            if (there.st_dev, there.st_ino) == (device, inode) and goal not in found:
                found.append(goal)
    return found
