"""Files behind addresses that ``fsspec`` knows: ``s3://bucket/a.npy``, ``https://host/a.tif``, ``memory://a.h5``.

They are read by ranges: what is small, as headers are, through blocks that are kept for a while, what is large as it
is asked for. What is written lies in a temporary folder of this machine until it is whole, and goes to its address
then: an object store shows it in one piece, other systems get it under another name first.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import secrets
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from minuend.errors import FileFormatError, MinuendError, Unsupported
from minuend.storage.base import URL, need
from minuend.storage.reading import Array, room

BLOCK = 1 << 20
"""Bytes of a block that is kept; reads from this size on go past them."""

_KEPT = 32
_LOCAL = ("file", "local")
_WEB = ("http", "https")
_AT_ONCE = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "oss", "memory"}
"""Those that show an object when all of it has come."""


def protocol(path: str) -> str:
    """Return what stands before an address, ``""`` of a path."""
    return path.partition(URL)[0].lower() if URL in path else ""


def as_local(path: str) -> str:
    """Return the path that an address of this machine's files means, anything else as it is.

    >>> as_local("file:///data/a.npy"), as_local("s3://data/a.npy")
    ('/data/a.npy', 's3://data/a.npy')
    """
    return path.partition(URL)[2] if protocol(path) in _LOCAL else path


def name_of(path: str) -> str:
    """Return the last name of a path or an address, whatever a web server is asked for beside it."""
    if protocol(path) in _WEB:
        return posixpath.basename(path.partition("?")[0].partition("#")[0].rstrip("/"))
    return os.path.basename(os.path.normpath(path))


def system_of(path: str) -> tuple[Any, str]:
    """Return what answers for an address, and what it calls that.

    Raises:
        Unsupported: its package is not installed. FileFormatError: no such protocol. OSError: it does not answer.
    """
    fsspec = need("fsspec", "remote", path)
    try:
        system, root = fsspec.core.url_to_fs(path)
    except ImportError as error:
        raise Unsupported(
            f'{path} needs a package that is not installed ({error}); pip install "minuend[remote]" brings what '
            "http:// takes, s3:// takes s3fs, gs:// gcsfs, abfs:// adlfs"
        ) from None
    except ValueError as error:
        raise FileFormatError(f"{path} is no address that fsspec knows ({error}); expected s3://, https:// …") from None
    except Exception as error:
        raise _of(path, error) from None
    return system, root


@contextlib.contextmanager
def told(path: str, *, written: bool = False) -> Iterator[None]:
    """Say of which address it is what a file system raises: anything, of whatever package."""
    try:
        yield
    except (MinuendError, MemoryError):
        raise
    except Exception as error:
        found = _of(path, error)
        if written and isinstance(found, FileNotFoundError):
            raise FileNotFoundError(f"there is no bucket or folder for {path}; make it first") from None
        raise found from None


def _of(path: str, error: Exception) -> OSError:
    # fsspec's web file system says of everything that there is no such file, and why in the cause.
    cause = error.__cause__
    web = isinstance(cause, OSError) or type(cause).__module__.startswith("aiohttp")
    if isinstance(error, FileNotFoundError) and isinstance(cause, Exception) and web:
        error = cause
    came = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, FileNotFoundError) or getattr(error, "status", None) in (404, 410):
        return FileNotFoundError(f"there is no file {path}")
    if isinstance(error, IsADirectoryError):
        return IsADirectoryError(f"{path} is a folder; expected a file")
    if isinstance(error, PermissionError) or getattr(error, "status", None) in (401, 403):
        return PermissionError(f"{path} is not open to you ({came}); its file system in fsspec takes the credentials")
    return ConnectionError(f"{path} cannot be reached ({came}); try again, or copy it here")


class Remote:
    """A file behind an address, see :class:`~minuend.storage.reading.Source`; several threads may ask at once.

    Attributes:
        path: its address. size: its bytes.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._system, self._root = system_of(path)
        with told(path):
            info = self._system.info(self._root)
        size = info.get("size")
        if info.get("type") == "directory":
            raise IsADirectoryError(f"{path} is a folder; expected a file")
        if size is None or info.get("partial") is False:
            raise FileFormatError(
                f"{path} does not say how many bytes it has, or is not sent in parts; expected a server that takes "
                "ranges, copy it here"
            )
        self.size = int(size)
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._turn = threading.Lock()

    def read(self, offset: int, size: int) -> Array:
        """Return bytes as a flat read-only array of its own.

        Raises:
            FileFormatError: fewer came than were asked for. OSError: they cannot be read.
        """
        buffer = room(size)
        self.read_into(offset, buffer)
        buffer.flags.writeable = False
        return buffer

    def read_into(self, offset: int, buffer: Array) -> None:
        """Fill a flat array of bytes; raises as :meth:`read`."""
        view = buffer.data
        if offset + len(view) > self.size:
            raise FileFormatError(f"{self.path} has {self.size} bytes; byte {offset + len(view)} is asked for")
        if len(view) >= BLOCK:
            view[:] = self._fetched(offset, offset + len(view))
            return
        done = 0
        while done < len(view):
            number, within = divmod(offset + done, BLOCK)
            piece = self._block(number)[within : within + len(view) - done]
            view[done : done + len(piece)] = piece
            done += len(piece)

    def _block(self, number: int) -> bytes:
        with self._turn:
            found = self._kept.get(number)
            if found is not None:
                self._kept.move_to_end(number)
                return found
        found = self._fetched(number * BLOCK, min(self.size, (number + 1) * BLOCK))
        with self._turn:
            self._kept[number] = found
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found

    def _fetched(self, start: int, stop: int) -> bytes:
        with told(self.path):
            found: bytes = self._system.cat_file(self._root, start=start, end=stop)
        if len(found) != stop - start:
            raise FileFormatError(
                f"{self.path} gave {len(found)} bytes from byte {start} on; expected {stop - start} of {self.size}: it "
                "has changed while it was read, or its server takes no ranges"
            )
        return found


# ---- writing -------------------------------------------------------------------------------------------------------


def check_goal(path: str) -> None:
    """Refuse an address that nothing can be written to, before anything is computed."""
    if protocol(path) in _WEB:
        raise FileFormatError(f"{path} is on the web, which is only read; write to a file or to an object store")
    system_of(path)


@contextlib.contextmanager
def goal(path: str) -> Iterator[str]:
    """Yield a path of this machine; what lies there when the block ends well goes to an address.

    Raises:
        FileFormatError, Unsupported: see :func:`check_goal`. OSError: it cannot be written; nothing appears there.
    """
    check_goal(path)
    system, root = system_of(path)
    with tempfile.TemporaryDirectory(prefix="minuend-") as folder:
        local = os.path.join(folder, name_of(path))
        yield local
        with told(path, written=True):
            if protocol(path) in _AT_ONCE:
                system.put_file(local, root)
                return
            place, name = posixpath.split(root)
            part = posixpath.join(place, f".{name}.{secrets.token_hex(4)}.part")
            try:
                system.put_file(local, part)
                system.mv(part, root)
            except BaseException:
                with contextlib.suppress(Exception):
                    system.rm_file(part)
                raise
