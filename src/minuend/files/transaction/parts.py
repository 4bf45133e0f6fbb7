"""An output as it is written: a part beside its path, or a pipe or a device that is written through."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, cast

from minuend.files.transaction.leftovers import locked
from minuend.files.transaction.output_paths import Place, descriptor_of, naming
from minuend.files.transaction.permissions import mode_of, private
from minuend.files.transaction.streams import Placed, Raw


@dataclass(eq=False)
class Part:
    """A file on its way to its output."""

    place: Place
    path: str = ""
    backup: str = ""
    inode: tuple[int, int] = (0, 0)
    mode: int = 0o600
    stream: BinaryIO = field(init=False)
    _lock: int | None = None

    def open(self) -> None:
        """Make the file; where that is interrupted, :meth:`remove` knows its name."""
        while True:
            self.mode = mode_of(self.place)
            self.path = self.place.beside("part")
            try:
                with naming(self.place.path):
                    raw = Raw(self.path, "xb", opener=private)
            except OSError:
                self.path = ""
                raise
            raw.output = self.place.path
            # Between its making and its lock somebody may have taken it for a stray: then it is made anew.
            with contextlib.suppress(OSError):
                self._lock = locked(os.dup(raw.fileno()), wait=True)
            if self._lock is not None and os.fstat(self._lock).st_nlink == 0:
                raw.close()
                self.release()
                continue
            found = os.fstat(raw.fileno())
            self.inode = (found.st_dev, found.st_ino)
            self.stream = Placed(raw, 1 << 16)
            return

    def finish(self) -> None:
        """Write what is still in memory, and close; the lock stays until the file has its name."""
        with naming(self.place.path):
            self.stream.close()

    def has_appeared(self) -> bool:
        """Whether the file stands at its output."""
        with contextlib.suppress(OSError):
            found = os.lstat(self.place.real)
            return (found.st_dev, found.st_ino) == self.inode
        return False

    def remove(self) -> None:
        """Take it away, where it has not its output's name."""
        with contextlib.suppress(OSError, ValueError, AttributeError):  # it may never have been opened
            cast(io.BufferedWriter, self.stream).raw.close()
        if self.path:
            with contextlib.suppress(OSError):
                os.unlink(self.path)

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


@contextlib.contextmanager
def through(place: Place) -> Iterator[BinaryIO]:
    """Open a pipe, a device or an open file of this process, to be written where it stands."""
    number = descriptor_of(place.path)
    with naming(place.path):
        descriptor = os.open(place.real, os.O_WRONLY | getattr(os, "O_NOCTTY", 0)) if number is None else os.dup(number)
        raw = Raw(descriptor, "wb")
    raw.output, raw.standing = place.path, number is not None
    stream = io.BufferedWriter(raw, 1 << 16)
    try:
        yield stream
        stream.close()
    finally:
        raw.close()
