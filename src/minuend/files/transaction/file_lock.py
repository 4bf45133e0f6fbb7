"""The right to change a file that is read, changed and written again: one process has it at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from minuend.files.transaction.leftovers import HAS_LOCKS, locked
from minuend.files.transaction.output_paths import naming, place_of


@contextlib.contextmanager
def exclusive(path: str) -> Iterator[None]:
    """Wait until no other process changes a file this way, and keep others out until the block ends.

    A file ``.NAME.lock`` beside it is locked and removed at the end. A process that is killed loses its lock with its
    life. The file itself cannot be locked: it is replaced, and may not exist yet. On Windows nothing is locked.

    Raises:
        OSError: the lock cannot be made; its ``filename`` is the file.
    """
    if not HAS_LOCKS:
        yield
        return
    place = place_of(os.path.normpath(path))
    lock = os.path.join(place.folder, f".{place.label}.lock")
    with naming(path):
        descriptor = _locked(lock)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(lock)  # before it is unlocked: who waits then sees that its lock is of no file, and tries again
        os.close(descriptor)


def _locked(lock: str) -> int:
    """Lock the file of this name, made if it is missing, and return its descriptor."""
    while True:
        descriptor = locked(os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), wait=True)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # its last owner removed it while this process waited
