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
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from minuend.errors import FileFormatError
from minuend.files.streaming.reading import Array, Opened, open_file, room
from minuend.files.transaction.addresses import URL, identity, is_web, name_of, protocol, system_of, told
from minuend.files.transaction.writing import temporary_folder
from minuend.written import note_replaced

BLOCK = 1 << 20
"""Bytes of a block that is kept; reads from this size on go past them."""

_KEPT = 32
_AT_ONCE = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "oss", "memory"}
"""Those that show an object when all of it has come."""

_VERSION = (
    *("ETag", "etag", "e_tag", "VersionId", "version_id", "version", "generation", "metageneration", "sha", "checksum"),
    *("md5", "md5Hash", "content_md5", "Content-MD5", "crc32c"),
    *("mtime", "modified", "modify", "modification_time", "modificationTime", "last_modified", "LastModified"),
    *("last_write_time", "updated", "created"),
)
"""What file systems of fsspec call that which changes when a file does."""


class Remote:
    """A file behind an address, see :class:`~minuend.files.streaming.reading.Source`; several threads may ask at once.

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
        self._version = _version(info)
        if (noted := _watched.get()) is not None:
            noted.append(self)
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

    def check_unchanged(self) -> None:
        """Check that the file is the one that was opened; a web server's answers tell that one by one.

        Raises:
            FileFormatError: it is another one. OSError: it cannot be looked at.
        """
        if is_web(self.path):
            return
        with told(self.path):
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


def _version(info: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(info[name]) for name in _VERSION if info.get(name) is not None}


# ---- writing -------------------------------------------------------------------------------------------------------


def check_goal(path: str) -> None:
    """Refuse an address that nothing can be written to, before anything is computed."""
    if is_web(path):
        raise FileFormatError(f"{path} is on the web, which is only read; write to a file or to an object store")
    identity(path)


@contextlib.contextmanager
def goal(path: str) -> Iterator[str]:
    """Yield a path of this machine; what lies there when the block ends well goes to an address.

    Raises:
        FileFormatError, Unsupported: see :func:`check_goal`. OSError: it cannot be written; nothing appears there.
    """
    check_goal(path)
    system, root = system_of(path)
    name = name_of(path)
    with temporary_folder(f"minuend-{name}") as folder:
        local = os.path.join(folder, name)
        yield local
        with told(path, written=True):
            if system.exists(root):
                note_replaced(path)
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


def open_source(path: str) -> Opened:
    """Open a regular file, or what lies behind an address.

    Raises:
        As :func:`~minuend.files.streaming.reading.open_file` and :class:`Remote`.
    """
    return Remote(path) if URL in path else open_file(path)
