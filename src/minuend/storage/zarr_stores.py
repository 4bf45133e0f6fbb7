"""Where zarr arrays lie: a folder that is read without leaving it, an object store, a folder that is written.

``zarr`` is imported here, so this module is imported where a zarr array is met and nowhere else.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from zarr.core.buffer.core import default_buffer_prototype
from zarr.core.sync import sync
from zarr.storage import FsspecStore, LocalStore

from minuend.errors import FileFormatError
from minuend.storage import reading
from minuend.storage.base import URL, need
from minuend.storage.goals import of


class Inside(LocalStore):  # type: ignore[misc]
    """A folder that is read; links that leave it, pipes and devices are refused.

    Args:
        root: the folder.
    """

    def __init__(self, root: Any, *, read_only: bool = True) -> None:
        super().__init__(root, read_only=True)
        self._real = os.path.realpath(root)

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        """Return what a key holds, ``None`` where there is none."""
        self._check(key)
        return await super().get(key, prototype or default_buffer_prototype(), byte_range)

    def get_sync(self, key: str, *, prototype: Any = None, byte_range: Any = None) -> Any:
        """As :meth:`get`, at once; of releases that have it."""
        self._check(key)
        return super().get_sync(key, prototype=prototype, byte_range=byte_range)

    async def get_partial_values(self, prototype: Any, key_ranges: Iterable[tuple[str, Any]]) -> list[Any]:
        """Return parts of what keys hold."""
        return [await self.get(key, prototype, part) for key, part in key_ranges]

    async def exists(self, key: str) -> bool:
        """Whether a key holds something."""
        self._check(key)
        return bool(await super().exists(key))

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Name what lies in a folder."""
        path = os.path.join(str(self.root), prefix)
        if prefix and os.path.realpath(path) != os.path.join(self._real, *prefix.split("/")):
            raise FileFormatError(f"{path} is a group behind a link; expected groups in folders of their own")
        for name in sorted(os.listdir(path)):
            yield name

    def _check(self, key: str) -> None:
        """Check that a key leads to a regular file within the folder, if to anything."""
        path = os.path.join(str(self.root), key)
        real = os.path.realpath(path)
        if not real.startswith(os.path.join(self._real, "")):
            raise FileFormatError(
                f"{path} leads to {real}, out of {self.root}; an array is read inside of its own folder alone, "
                "copy what is meant there"
            )
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            reading.check_regular(path, os.stat(real))


class Written(LocalStore):  # type: ignore[misc]
    """A folder that is written: each chunk is written to another folder and takes its name when it is whole.

    Args:
        root: the folder. spare: where chunks are written first; it goes when all is done, with what a killed process
            left there. goal: what errors call the folder.
    """

    def __init__(self, root: Any, *, spare: str = "", goal: str = "", read_only: bool = False) -> None:
        super().__init__(root, read_only=read_only)
        self._spare, self._goal = LocalStore(spare), goal

    def with_read_only(self, read_only: bool = False) -> Written:
        """Return the same folder, to be read alone or to be written too."""
        return Written(self.root, spare=str(self._spare.root), goal=self._goal, read_only=read_only)

    async def set(self, key: str, value: Any) -> None:
        """Let a key hold something."""
        with self._placed(key) as part:
            await self._spare.set(part, value)

    def set_sync(self, key: str, value: Any) -> None:
        """As :meth:`set`, at once; of releases that have it."""
        with self._placed(key) as part:
            self._spare.set_sync(part, value)

    @contextlib.contextmanager
    def _placed(self, key: str) -> Iterator[str]:
        """Yield a name in the other folder; what has it then takes the place of a key."""
        part, path = secrets.token_hex(16), os.path.join(str(self.root), key)
        try:
            yield part
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.replace(os.path.join(str(self._spare.root), part), path)
        except OSError as error:
            raise of(self._goal, error) from None


def opened(path: str) -> Any:
    """Return the store at a path or an address, which is only read."""
    if URL not in path:
        return Inside(path)
    need("fsspec", "zarr", path)
    return FsspecStore.from_url(path, read_only=True)


def content(store: Any, key: str) -> bytes | None:
    """Return what a key of a store holds, ``None`` where there is none."""
    found = sync(store.get(key, prototype=default_buffer_prototype()))
    return None if found is None else bytes(found.to_bytes())


def listing(store: Any, folder: str) -> list[str]:
    """Name what lies in a folder of a store."""

    async def names() -> list[str]:
        return [name.rstrip("/") async for name in store.list_dir(folder)]

    return sorted(sync(names()))
