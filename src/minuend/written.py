"""What the command line has put in place so far, so that "nothing was written" is said only where it is true.

A file or folder is announced before it takes its name. Whether it did is queried from the file system afterwards, which
no signal between two steps can make wrong.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterable, Iterator

_announced: list[list[tuple[str, int, int]]] = []
"""What was announced under each :func:`remembered` that is open."""

_replaced: list[str] = []
"""Outputs at which something stood, until a report says so."""

_streamed: list[str] = []
"""Outputs that go to standard output itself."""


@contextlib.contextmanager
def remembered() -> Iterator[None]:
    """Remember what is announced from here on; outside nothing is, so that a long-lived program keeps no list."""
    _announced.append([])
    try:
        yield
    finally:
        _announced.pop()
        _replaced.clear()
        _streamed.clear()


def announce(part: str, output: str) -> None:
    """Note that ``part``, a whole file or folder under a name of its own, is about to become ``output``."""
    if _announced:
        found = os.stat(part)
        _announced[-1].append((output, found.st_dev, found.st_ino))
        if os.path.lexists(output):
            note_replaced(output)


def note_extended(paths: Iterable[str]) -> None:
    """Note that files were written with all that they had: nothing of them is replaced."""
    gone = set(paths)
    _replaced[:] = [path for path in _replaced if path not in gone]


def note_replaced(output: str) -> None:
    """Note that something stands at an output, which is about to be replaced."""
    if _announced and output not in _replaced:
        _replaced.append(output)


def note_stream(output: str) -> None:
    """Note that an output will be written through an open file, which may be what standard output leads to."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # it may lead nowhere
        mine, common = os.stat(output), os.fstat(sys.stdout.fileno())
        if _announced and os.path.samestat(mine, common) and not stat.S_ISCHR(mine.st_mode):
            _streamed.append(output)


def is_output_on_standard_output() -> bool:
    """Whether an output went to standard output, where a report would spoil it."""
    return bool(_streamed)


def take_replaced() -> list[str]:
    """Return the outputs at which something stood and that no report has named yet."""
    found = _replaced[:]
    _replaced.clear()
    return found


def written() -> list[str]:
    """Return the announced outputs that are in place."""
    found: list[str] = []
    for output, device, inode in _announced[-1] if _announced else ():
        with contextlib.suppress(OSError):
            there = os.stat(output)
            if (there.st_dev, there.st_ino) == (device, inode) and output not in found:
                found.append(output)
    return found
