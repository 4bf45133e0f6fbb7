"""Files as they are read: regular ones alone, by position, never computed from a map.

A map of a file that somebody shortens is a bus error at its first missing page; a read that comes up short is an error
with the file's name. A file that is changed in place while it is read, at the same length, is not noticed.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import stat
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Protocol, TypeAlias

import numpy as np

from minuend import _native
from minuend.errors import FileFormatError

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

STEP = 1 << 24
"""Bytes that are read at a time where a whole file is gone through."""

_LARGE = 1 << 24
"""Bytes from which on memory is not used again."""
_BYTE = np.dtype(np.uint8)
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISSOCK, "a socket"),
)


_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
"""What a file begins with that a clone without Git LFS has in place of a large one."""

_LONGEST_POINTER = 1024


class Source(Protocol):
    """Bytes that can be read from any place.

    Attributes:
        size: how many there are.
    """

    size: int

    def read(self, offset: int, size: int) -> Array:
        """Return bytes as a flat read-only array; the caller has checked that they lie within."""

    def read_into(self, offset: int, buffer: Array) -> None:
        """Fill a flat array of bytes."""


def new_buffer(nbytes: int) -> Array:
    """Return a flat array of bytes, of memory that was used before where there is such: fresh pages cost more than a
    read from the page cache does.
    """
    return np.empty(nbytes, np.uint8) if nbytes > _LARGE else _native.result(_BYTE, (nbytes,), (1,), (1,))


class Memory:
    """Bytes in memory; what is read is a view."""

    def __init__(self, content: Array) -> None:
        self._bytes = content.view()
        self._bytes.flags.writeable = False
        self.size = content.size

    def read(self, offset: int, size: int) -> Array:
        return self._bytes[offset : offset + size]

    def read_into(self, offset: int, buffer: Array) -> None:
        buffer[...] = self._bytes[offset : offset + buffer.size]


class File:
    """An open regular file, which is closed when nothing refers to it any more.

    Args:
        path: what messages call it. descriptor: of the file, which is taken over.

    Attributes:
        size: its bytes. changed: when it was last changed before it was opened, in nanoseconds.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._close = weakref.finalize(self, os.close, descriptor)
        self._descriptor = descriptor
        found = os.fstat(descriptor)
        check_regular(path, found)
        self.size = found.st_size
        self.changed = found.st_mtime_ns

    def again(self) -> File:
        """Return the same open file, which stays open when this one is closed."""
        return File(self.path, os.dup(self._descriptor))

    def close(self) -> None:
        self._close()

    def read(self, offset: int, size: int) -> Array:
        """Return bytes as a flat read-only array of its own.

        Raises:
            FileFormatError: the file has become shorter than it was when it was opened. OSError: it cannot be read.
        """
        buffer = new_buffer(size)
        self.read_into(offset, buffer)
        buffer.flags.writeable = False
        return buffer

    def read_into(self, offset: int, buffer: Array) -> None:
        """Fill a flat array of bytes; raises as :meth:`read`."""
        view, done = buffer.data, 0
        while done < len(view):
            try:
                came = _read_at(self._descriptor, view[done:], offset + done)
            except OSError as error:  # a disk that fails: the system does not say of which file
                raise OSError(error.errno, error.strerror, self.path) from None
            if not came:
                now = os.fstat(self._descriptor).st_size
                raise FileFormatError(
                    f"{self.path} became shorter while it was read: it had {self.size} bytes when it was opened, "
                    f"and now {now}; read it again when nothing writes it"
                )
            done += came


if hasattr(os, "preadv"):

    def _read_at(descriptor: int, buffer: memoryview, offset: int) -> int:
        """Read bytes from a place; several threads may at once."""
        return os.preadv(descriptor, [buffer], offset)

else:  # Windows: the descriptor has one place, which threads take turns to set
    _turn = threading.Lock()

    def _read_at(descriptor: int, buffer: memoryview, offset: int) -> int:
        """Read bytes from a place."""
        with _turn:
            os.lseek(descriptor, offset, os.SEEK_SET)
            data = os.read(descriptor, len(buffer))
        buffer[: len(data)] = data
        return len(data)


def blocks(source: Source, offset: int = 0, size: int | None = None) -> Iterator[Array]:
    """Go through a source, or a range of it; a block is good until the next one is requested."""
    end = source.size if size is None else offset + size
    buffer = np.empty(max(0, min(STEP, end - offset)), np.uint8)
    for at in range(offset, end, STEP):
        block = buffer[: min(STEP, end - at)]
        source.read_into(at, block)
        yield block


@dataclass(frozen=True, eq=False)
class ByteRange:
    """A range of a source, read when it is requested."""

    source: Source
    offset: int
    size: int

    def read(self) -> Array:
        """Return its bytes as a flat read-only array; the same one as long as it is in use."""
        found = self._read.get(0)
        if found is None:
            found = self._read[0] = self.source.read(self.offset, self.size)
        return found

    @functools.cached_property
    def _read(self) -> weakref.WeakValueDictionary[int, Array]:
        return weakref.WeakValueDictionary()


class Stream(io.RawIOBase):
    """A source as a stream, for readers that want one."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._source.size}[whence]
        if start + offset < 0:
            if whence == os.SEEK_END:  # as files do: readers of archives look for what may lie before the end of one
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            raise ValueError(f"there is no byte {start + offset} of a file")
        self._at = start + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as far as there are bytes."""
        view = np.frombuffer(buffer, np.uint8)[: max(0, self._source.size - self._at)]
        self._source.read_into(self._at, view)
        self._at += view.size
        return view.size


def open_file(path: str) -> File:
    """Open a regular file for reading.

    Raises:
        FileNotFoundError, PermissionError: there is none, or it may not be read. IsADirectoryError: a folder.
        FileFormatError: a pipe, a device or a socket, which is not even opened: that may never end, or do something;
            or what Git LFS left in the file's place.
    """
    check_regular(path, os.stat(path))
    # Not to wait where a pipe has taken the file's place meanwhile; what is open is looked at once more.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
    return fetched(File(path, os.open(path, flags)))


def is_pointer(head: bytes) -> bool:
    """Whether a file that begins so is what Git LFS left in the place of another."""
    return head.startswith(_POINTER)


def fetched(file: File) -> File:
    """Return a file; one that Git LFS left in the place of another is closed.

    Raises:
        FileFormatError: its content was not fetched.
    """
    if len(_POINTER) < file.size <= _LONGEST_POINTER and is_pointer(file.read(0, len(_POINTER)).tobytes()):
        file.close()
        raise FileFormatError(
            f"{file.path} is a pointer of Git LFS; expected the file itself, which git lfs pull fetches"
        )
    return file


def read_bytes(path: str) -> bytes:
    """Return a regular file's content; raises as :func:`open_file` and :meth:`File.read`."""
    with contextlib.closing(open_file(path)) as source:
        return source.read(0, source.size).tobytes()


def check_regular(path: str, found: os.stat_result) -> None:
    """Check by a file's status that reading it ends, and that its size is known before."""
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(f"{path} is a folder; expected a file")
    if not stat.S_ISREG(found.st_mode):
        raise FileFormatError(f"{path} is {kind(found.st_mode)}; expected a regular file, copy its content to one")


def kind(mode: int) -> str:
    """What a file is that is neither a regular one nor a folder."""
    return next((name for test, name in _KINDS if test(mode)), "no regular file")


@contextlib.contextmanager
def unnamed() -> Iterator[IO[bytes]]:
    """Open a temporary file without a name: it goes with this process, however that ends.

    Raises:
        OSError: it cannot be written, a full disk for one; it names the folder of temporary files.
    """
    import tempfile  # slow

    try:
        with tempfile.TemporaryFile() as stream:
            yield stream
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, tempfile.gettempdir()) from None
