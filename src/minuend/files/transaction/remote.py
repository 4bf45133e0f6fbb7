"""Files behind addresses that ``fsspec`` knows: ``s3://bucket/a.npy``, ``https://host/a.tif``, ``memory://a.h5``.

They are read by ranges: what is small, as headers are, through cached blocks, what is large as it
is requested. What is written lies in a temporary folder of this machine until it is whole, and goes to its address
then: an object store shows it in one piece, other systems get it under another name first.
"""

from __future__ import annotations

import contextlib
import posixpath
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from minuend.errors import FileFormatError, MinuendError, Unsupported
from minuend.files.addresses import CHAIN, URL, is_web
from minuend.files.packages import need
from minuend.files.streaming.reading import Array, new_buffer

BLOCK = 1 << 20
"""Bytes of a block that stays in memory; reads from this size on go past them."""

_CACHED_BLOCKS = 32


_VERSION = (
    *("ETag", "etag", "e_tag", "VersionId", "version_id", "version", "generation", "metageneration", "sha", "checksum"),
    *("md5", "md5Hash", "content_md5", "Content-MD5", "crc32c"),
    *("mtime", "modified", "modify", "modification_time", "modificationTime", "last_modified", "LastModified"),
    *("last_write_time", "updated", "created"),
)
"""What file systems of fsspec call that which changes when a file does."""


def identity(path: str) -> tuple[str, ...]:
    """Return what tells the file behind an address from others: its file system's class, its host and its name there.

    ``s3://`` and ``s3a://`` are one file system, and so are all that name an object in another way.

    Raises:
        FileFormatError: an address in another one, or one that leads to a file of this machine. Others: see
            :func:`system_of`.
    """
    if is_web(path):
        return ("web", path)
    if CHAIN in path:
        raise FileFormatError(
            f"{path} is an address in another one, and what it leads to is not known; name the file itself"
        )
    system, root = system_of(path)
    inner = system
    while inner is not None:
        if "local" in _protocols(inner) or "file" in _protocols(inner):
            raise FileFormatError(f"{path} leads to a file of this machine by a detour; name its path")
        inner = getattr(inner, "fs", None) or getattr(inner, "sync_fs", None)
    options = system.storage_options
    host = (str(options.get(name, "")) for name in ("host", "port", "endpoint_url", "account_name"))
    kind = f"{type(system).__module__}.{type(system).__qualname__}"
    return (kind, *host, posixpath.normpath(f"/{root.lstrip('/')}"))


def _protocols(system: Any) -> tuple[str, ...]:
    # The latter of pyarrow's own.
    found: Any = getattr(system, "protocol", None) or getattr(system, "type_name", "")
    return (found,) if isinstance(found, str) else tuple(found)


def system_of(path: str, *, asynchronous: bool = False) -> tuple[Any, str]:
    """Return what answers for an address, and what it calls that.

    Args:
        path: the address. asynchronous: whether an event loop of the caller's own runs a web server's.

    Raises:
        Unsupported: its package is not installed. FileFormatError: no such protocol. OSError: it does not answer.
    """
    fsspec = need("fsspec", "remote", path)
    try:
        if is_web(path):
            from minuend.files.transaction.web import Web

            return Web(asynchronous=asynchronous), path
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
def errors_naming(path: str, *, written: bool = False) -> Iterator[None]:
    """Say of which address it is what a file system raises: anything, of whatever package; paths are left alone."""
    if URL not in path:
        yield
        return
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
    """A file behind an address, see :class:`~minuend.files.streaming.reading.Source`; several threads may ask at once.

    Attributes:
        path: its address. size: its bytes.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._system, self._root = system_of(path)
        with errors_naming(path):
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
        self._version = {name: str(info[name]) for name in _VERSION if info.get(name) is not None}
        if (noted := _watched.get()) is not None:
            noted.append(self)
        self._cached: OrderedDict[int, bytes] = OrderedDict()
        self._turn = threading.Lock()

    def read(self, offset: int, size: int) -> Array:
        """Return bytes as a flat read-only array of its own.

        Raises:
            FileFormatError: fewer came than were requested. OSError: they cannot be read.
        """
        buffer = new_buffer(size)
        self.read_into(offset, buffer)
        buffer.flags.writeable = False
        return buffer

    def read_into(self, offset: int, buffer: Array) -> None:
        """Fill a flat array of bytes; raises as :meth:`read`."""
        view = buffer.data
        if offset + len(view) > self.size:
            raise FileFormatError(f"{self.path} has {self.size} bytes; byte {offset + len(view)} is requested")
        if len(view) >= BLOCK:
            view[:] = self._fetched(offset, offset + len(view))
            return
        done = 0
        while done < len(view):
            number, within = divmod(offset + done, BLOCK)
            piece = self._block(number)[within : within + len(view) - done]
            view[done : done + len(piece)] = piece
            done += len(piece)

    def check_unchanged(self) -> None:
        """Check that the file is the one that was opened; a web server's answers tell that one by one.

        Raises:
            FileFormatError: it is another one. OSError: it cannot be looked at.
        """
        if is_web(self.path):
            return
        with errors_naming(self.path):
            self._system.invalidate_cache()
            now = self._system.info(self._root)
        for name, was in (*self._version.items(), ("size", str(self.size))):
            if (found := str(now.get(name))) != was:
                raise FileFormatError(
                    f"{self.path} changed while it was read: its {name} was {was} and is now {found}; read it again "
                    "when nothing writes it"
                )

    def _block(self, number: int) -> bytes:
        with self._turn:
            found = self._cached.get(number)
            if found is not None:
                self._cached.move_to_end(number)
                return found
        found = self._fetched(number * BLOCK, min(self.size, (number + 1) * BLOCK))
        with self._turn:
            self._cached[number] = found
            while len(self._cached) > _CACHED_BLOCKS:
                self._cached.popitem(last=False)
        return found

    def _fetched(self, start: int, stop: int) -> bytes:
        with errors_naming(self.path):
            found: bytes = self._system.cat_file(self._root, start=start, end=stop)
        if len(found) != stop - start:
            raise FileFormatError(
                f"{self.path} gave {len(found)} bytes from byte {start} on; expected {stop - start} of {self.size}: it "
                "has changed while it was read, or its server takes no ranges"
            )
        return found


_watched: ContextVar[list[Remote] | None] = ContextVar("watched", default=None)


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Note the files behind addresses that are opened until the block ends, for :func:`check_unchanged`."""
    token = _watched.set([])
    try:
        yield
    finally:
        _watched.reset(token)


def check_unchanged() -> None:
    """Check that no file that is :func:`watched` has changed; see :meth:`Remote.check_unchanged`.

    Object stores give no way to read all ranges of one version, so they are queried before and after.
    """
    for one in _watched.get() or ():
        one.check_unchanged()
