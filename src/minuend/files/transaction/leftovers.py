"""What a killed run has left: parts are locked by whoever writes them, so one whose lock can be taken is nobody's."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
from collections.abc import Iterator, Sequence

from minuend.files.transaction.output_paths import Place

try:
    import fcntl
except ImportError:  # no such locks on Windows: parts that a killed run left stay there
    fcntl = None  # type: ignore[assignment]


HAS_LOCKS = fcntl is not None
_LEFT = r"\.[0-9a-f]{8}\.(part|kept)\Z"


def lock_of(path: str, flags: int, *, wait: bool = False) -> int | None:
    """Open and lock a file; ``None`` where another holds it, or where there are no locks."""
    if fcntl is None:
        return None
    with contextlib.suppress(OSError):
        return locked(os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), wait=wait)
    return None


def locked(descriptor: int, *, wait: bool = False) -> int:
    """Lock an open file, which is closed where that cannot be.

    Raises:
        OSError: another holds it, or there are no locks.
    """
    try:
        if fcntl is None:
            raise OSError(errno.ENOLCK, "no locks")
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def left_parts(place: Place) -> Iterator[tuple[str, str]]:
    """Temporary files of an output in its folder, with their last suffix."""
    pattern = re.compile(rf"\.{re.escape(place.label)}{_LEFT}")
    with contextlib.suppress(OSError):
        for name in os.listdir(place.folder):
            if found := pattern.match(name):
                yield os.path.join(place.folder, name), found[1]


def remove_strays(place: Place) -> None:
    """Remove an output's parts that nobody writes."""
    for path, suffix in left_parts(place):
        if suffix != "part":
            continue
        folder = os.path.isdir(path) and not os.path.islink(path)
        lock = lock_of(path, os.O_RDONLY if folder else os.O_RDWR)
        if lock is None:
            continue
        try:
            if folder:
                shutil.rmtree(path, ignore_errors=True)
            elif stat.S_ISREG(os.fstat(lock).st_mode):
                with contextlib.suppress(OSError):
                    os.unlink(path)
        finally:
            os.close(lock)


def remove_backups(places: Sequence[Place]) -> None:
    """Remove second names of old files; whoever needs his holds the folder's lock, as the caller does now."""
    for place in places:
        for path, suffix in left_parts(place):
            if suffix == "kept":
                with contextlib.suppress(OSError):
                    os.unlink(path)
