"""Files that are open for writing: in order, at any place, or by a library that cannot bear a failing write."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import threading
from typing import Any

from minuend.files.transaction.output_paths import naming


class Raw(io.FileIO):
    """A file whose errors name the output, not the part; ``standing``: written where it stands, as a pipe is."""

    output = ""
    standing = False

    def seekable(self) -> bool:
        return not self.standing and super().seekable()

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self._check_standing()
        return super().seek(offset, whence)

    def tell(self) -> int:
        self._check_standing()
        return super().tell()

    def _check_standing(self) -> None:
        if self.standing:
            raise io.UnsupportedOperation(f"{self.output} is written where it stands")

    def write(self, data: Any) -> int:
        with naming(self.output):
            return super().write(data)


def write_at(descriptor: int, data: memoryview, at: int) -> None:
    """Write bytes at a place of an open file; several threads may at once."""
    while len(data):
        done = _some_at(descriptor, data, at)
        at, data = at + done, data[done:]


if hasattr(os, "pwrite"):
    _some_at = os.pwrite
else:  # Windows: the descriptor has one place, which threads take turns to set, and which its stream knows
    _turn = threading.Lock()

    def _some_at(descriptor: int, data: Any, at: int) -> int:
        with _turn:
            before = os.lseek(descriptor, 0, os.SEEK_CUR)
            os.lseek(descriptor, at, os.SEEK_SET)
            try:
                return os.write(descriptor, data)
            finally:
                os.lseek(descriptor, before, os.SEEK_SET)


class Patient(io.RawIOBase):
    """A new file for a library in C that ends the process where a write fails: the first error stays and every write
    behind it dropped, so that the library can close; :meth:`check` raises it.
    """

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        self._at, self._end = 0, 0
        self._error: OSError | None = None

    def check(self) -> None:
        """Raise the error of the write that failed, if one has."""
        if self._error is not None:
            raise self._error

    def readinto(self, buffer: Any) -> int:
        os.lseek(self._descriptor, self._at, os.SEEK_SET)
        raw = os.read(self._descriptor, len(buffer))
        buffer[: len(raw)] = raw
        self._at += len(raw)
        return len(raw)

    def write(self, data: Any) -> int:
        """Write bytes, or drop them."""
        with memoryview(data) as view:
            if self._error is None:
                try:
                    write_at(self._descriptor, view, self._at)
                except OSError as error:
                    self._error = error
            self._at += len(view)
            self._end = max(self._end, self._at)
            return len(view)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._end}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def truncate(self, size: int | None = None) -> int:
        self._end = self._at if size is None else size
        if self._error is None:
            try:
                os.ftruncate(self._descriptor, self._end)
            except OSError as error:
                self._error = error
        return self._end

    def flush(self) -> None:
        """Nothing is buffered."""

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


class Places:
    """The places of a file that a package has laid out, and has closed."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))

    def __enter__(self) -> Places:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def put(self, at: int, data: memoryview) -> None:
        """Write bytes at a place; several threads may at once."""
        write_at(self._descriptor, data, at)


def _take(descriptor: int, start: int, nbytes: int) -> None:
    """Take space on the disk for a range of a file, if the file system has a call for that."""
    with contextlib.suppress(AttributeError):  # nor has every system
        try:
            os.posix_fallocate(descriptor, start, nbytes)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                raise


class Placed(io.BufferedWriter):
    """A file that also takes bytes at any place, from several threads."""

    raw: Raw

    def reserve(self, nbytes: int) -> int:
        """Leave out as many bytes, to be put in place later; return where they begin.

        On a disk of this machine the space is taken at once: ext4 then writes pages in two thirds of the time, and a
        full disk is reported before anything is computed. tmpfs would write all of it twice, others have no such call.
        """
        start = self.tell()
        self.seek(start + nbytes)
        with naming(self.raw.output):
            self.truncate()
            if nbytes and os.name == "posix" and os.major(os.fstat(self.raw.fileno()).st_dev):
                _take(self.raw.fileno(), start, nbytes)
        return start

    def put(self, at: int, data: memoryview) -> None:
        """Write bytes that were left out."""
        with naming(self.raw.output):
            write_at(self.raw.fileno(), data, at)
