"""Where zarr arrays lie: a folder that is read without leaving it, an object store, a folder that is written.

``zarr`` is imported here, so this module is imported where a zarr array is met and nowhere else.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import zipfile
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias, cast

from zarr.abc.store import RangeByteRequest
from zarr.core.buffer.core import default_buffer_prototype
from zarr.core.sync import sync
from zarr.storage import FsspecStore, LocalStore, ZipStore

from minuend.errors import FileFormatError
from minuend.files import addresses
from minuend.files.addresses import URL
from minuend.files.base import clipped
from minuend.files.streaming import reading
from minuend.files.streaming.reading import Source, Stream
from minuend.files.transaction import remote
from minuend.files.transaction.output_paths import naming
from minuend.files.transaction.writing import appear


class Buffer(Protocol):
    """Bytes as zarr hands them on."""

    def to_bytes(self) -> bytes: ...


class Limits(dict[str, int]):
    """The most bytes of a chunk, by the array's name: what is stored of it may be larger than all that it holds."""

    def check(self, key: str, nbytes: int, path: str) -> None:
        """Refuse a key that holds more.

        Raises:
            FileFormatError: it does.
        """
        name = next((one for one in self if not one or key.startswith(f"{one}/")), None)
        if name is not None and nbytes > self[name]:
            raise FileFormatError(f"{path} has {nbytes} bytes; a chunk of its array has {self[name]} at most")


class Inside(LocalStore):  # type: ignore[misc]
    """A folder that is read; links that leave it, pipes and devices are refused.

    Args:
        root: the folder.
    """

    def __init__(self, root: str | os.PathLike[str], *, read_only: bool = True) -> None:
        super().__init__(root, read_only=True)
        self._real = os.path.realpath(root)
        self.limits = Limits()

    async def get(self, key: str, prototype: object = None, byte_range: object = None) -> object:
        self._check(key, whole=byte_range is None)
        return await super().get(key, prototype or default_buffer_prototype(), byte_range)

    def get_sync(self, key: str, *, prototype: object = None, byte_range: object = None) -> object:
        """As :meth:`get`, at once; of releases that have it."""
        self._check(key, whole=byte_range is None)
        return super().get_sync(key, prototype=prototype, byte_range=byte_range)

    async def get_partial_values(self, prototype: object, key_ranges: Iterable[tuple[str, object]]) -> list[object]:
        return [await self.get(key, prototype, part) for key, part in key_ranges]

    async def exists(self, key: str) -> bool:
        self._check(key)
        return bool(await super().exists(key))

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        path = os.path.join(str(self.root), prefix)
        if prefix and os.path.realpath(path) != os.path.join(self._real, *prefix.split("/")):
            raise FileFormatError(f"{path} is a group behind a link; expected groups in folders of their own")
        for name in sorted(os.listdir(path)):
            yield name

    def _check(self, key: str, *, whole: bool = False) -> None:
        """Check that a key leads to a regular file within the folder, if to anything, and how much is read whole."""
        path = os.path.join(str(self.root), key)
        real = os.path.realpath(path)
        if not real.startswith(os.path.join(self._real, "")):
            raise FileFormatError(
                f"{path} leads to {real}, out of {self.root}; an array is read inside of its own folder alone, "
                "copy what is meant there"
            )
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            found = os.stat(real)
            reading.check_regular(path, found)
            if whole:
                self.limits.check(key, found.st_size, path)


Mark: TypeAlias = tuple[int, int]
"""The length and the CRC-32 of what a key holds."""


def mark_of(content: bytes) -> Mark:
    """Return both.

    >>> mark_of(b"123456789")
    (9, 3421780262)
    """
    return len(content), zlib.crc32(content)


class Written(LocalStore):  # type: ignore[misc]
    """A folder that is written: each chunk is written to another folder and takes its name when it is whole.

    Args:
        root: the folder. spare: where chunks are written first; it goes when all is done, with what a killed process
            left there. output: what errors call the folder.
    """

    def __init__(
        self, root: str | os.PathLike[str], *, spare: str = "", output: str = "", read_only: bool = False
    ) -> None:
        super().__init__(root, read_only=read_only)
        self._spare, self._output = LocalStore(spare), output
        self.marks: dict[str, Mark] = {}

    def with_read_only(self, read_only: bool = False) -> Written:
        found = Written(self.root, spare=str(self._spare.root), output=self._output, read_only=read_only)
        found.marks = self.marks
        return found

    async def set(self, key: str, value: Buffer) -> None:
        with self._placed(key) as part:
            await self._spare.set(part, value)
            self.marks[key] = mark_of(value.to_bytes())

    def set_sync(self, key: str, value: Buffer) -> None:
        """As :meth:`set`, at once; of releases that have it."""
        with self._placed(key) as part:
            self._spare.set_sync(part, value)
            self.marks[key] = mark_of(value.to_bytes())

    @contextlib.contextmanager
    def _placed(self, key: str) -> Iterator[str]:
        """Yield a name in the other folder; what has it then takes the place of a key."""
        part, path = secrets.token_hex(16), os.path.join(str(self.root), key)
        with naming(self._output):
            yield part
            os.makedirs(os.path.dirname(path), exist_ok=True)
        appear(os.path.join(str(self._spare.root), part), path, self._output)


def opened(path: str) -> object:
    """Return the store at a path or an address, which is only read."""
    if URL not in path:
        return Inside(path)
    system, root = remote.system_of(path, asynchronous=addresses.is_web(path))  # or say what is missing
    if addresses.is_web(path):
        return FsspecStore(fs=system, path=root, read_only=True)
    return FsspecStore.from_url(path, read_only=True)


class Addressed(FsspecStore):  # type: ignore[misc]
    """An object store that gets the chunks of arrays whose headers it does not have yet: those stay in memory."""

    headers: Mapping[str, bytes]
    marks: dict[str, Mark]

    def with_read_only(self, read_only: bool = False) -> Addressed:
        found = cast(Addressed, super().with_read_only(read_only))
        found.headers, found.marks = self.headers, self.marks
        return found

    async def set(self, key: str, value: Buffer, byte_range: tuple[int, int] | None = None) -> None:
        await super().set(key, value)
        self.marks[key] = mark_of(value.to_bytes())

    async def get(self, key: str, prototype: Any, byte_range: object = None) -> object:
        if key in self.headers:
            return prototype.buffer.from_bytes(self.headers[key])
        return await super().get(key, prototype, byte_range)

    async def exists(self, key: str) -> bool:
        return key in self.headers or bool(await super().exists(key))


def to_address(path: str, headers: Mapping[str, bytes]) -> Addressed:
    """Return what writes chunks to an address."""
    found = cast(Addressed, Addressed.from_url(path))
    found.headers, found.marks = headers, {}
    return found


# ---- in a zip archive ----------------------------------------------------------------------------------------------

_DEFLATE_LIMIT = 1032  # deflate packs at most 258 bytes into 2 bits
_ENCRYPTED = 0x1
_MOST = (1 << 31) - 1
_HEADERS = ("zarr.json", ".zarray", ".zgroup")
_EPOCH = (1980, 1, 1, 0, 0, 0)


class Zipped(ZipStore):  # type: ignore[misc]
    """An archive that is read: of a store, or of one folder that is a store.

    Args:
        source: its bytes. path: what messages call it.

    Raises:
        FileFormatError: it is no archive, or has members that are not what they say.
    """

    def __init__(self, source: Source, path: str) -> None:
        super().__init__(path, mode="r")
        self._source, self._called, self._inner = source, path, ""
        self.limits = Limits()
        self._sync_open()

    def _sync_open(self) -> None:
        self._lock = threading.RLock()
        try:
            self._zf = zipfile.ZipFile(Stream(self._source))
        except FileFormatError:
            raise
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise FileFormatError(
                f"{self._called} is no zip archive, or a damaged one ({error}); expected one of a zarr store"
            ) from None
        names = self._zf.namelist()  # a header that was written again has two members: the last one counts, as for zarr
        for one in self._zf.infolist():
            self._check(one)
        tops = {name.partition("/")[0] for name in names} - {"__MACOSX"}
        if len(tops) == 1 and not any(name in names for name in _HEADERS):
            self._inner = f"{tops.pop()}/"
        self._is_open = True

    def _check(self, one: zipfile.ZipInfo) -> None:
        where = f"{self._called} member {clipped(one.filename)}"
        if one.flag_bits & _ENCRYPTED or one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FileFormatError(f"{where} is encrypted, or packed by another way than deflate; expected a plain one")
        most = min(_MOST, one.compress_size * (_DEFLATE_LIMIT if one.compress_type else 1))
        if one.file_size > most:
            raise FileFormatError(
                f"{where} claims {one.file_size} bytes out of {one.compress_size} packed ones; expected {most} at the "
                "most"
            )

    def _get(self, key: str, prototype: object, byte_range: object = None) -> object:
        if byte_range is None:
            with contextlib.suppress(KeyError):
                self.limits.check(key, self._zf.getinfo(self._inner + key).file_size, f"{self._called} member {key}")
        return super()._get(self._inner + key, prototype, byte_range)

    async def exists(self, key: str) -> bool:
        return bool(await super().exists(self._inner + key))

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        async for name in super().list_dir((self._inner + prefix).rstrip("/")):
            yield name


class ZipWritten(ZipStore):  # type: ignore[misc]
    """An archive that is written, of members that are only stored, with a fixed date: equal arrays, equal bytes."""

    def __init__(self, path: str) -> None:
        super().__init__(path, mode="w")
        self._sync_open()

    def put(self, key: str, content: bytes) -> None:
        info = zipfile.ZipInfo(key, _EPOCH)
        info.external_attr = 0o644 << 16
        with self._lock:
            self._zf.writestr(info, content)

    def _set(self, key: str, value: Buffer) -> None:
        self.put(key, value.to_bytes())


# ---- any of them ---------------------------------------------------------------------------------------------------


def content(store: Any, key: str, most: int | None = None) -> bytes | None:
    """Return what a key of a store holds, so many bytes at most; ``None`` where there is none."""
    part = None if most is None else RangeByteRequest(0, most)
    found = sync(store.get(key, default_buffer_prototype(), part))
    return None if found is None else bytes(found.to_bytes())


def listing(store: Any, folder: str) -> list[str]:
    """Name what lies in a folder of a store."""

    async def names() -> list[str]:
        return [name.rstrip("/") async for name in store.list_dir(folder)]

    return sorted(sync(names()))
