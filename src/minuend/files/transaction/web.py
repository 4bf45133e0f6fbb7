"""Files of web servers, by ranges: every answer is compared with what was requested, and with the first answer.

``fsspec`` takes whatever bytes a server sends for those of the range. A server that ignores ranges, sends another one,
packs what it sends, or has another version of the file by then would give mixed numbers.

This module imports ``aiohttp``, so it is imported where an address of a web server is met and nowhere else.
"""

from __future__ import annotations

import asyncio
import re
import weakref
from typing import Any, NamedTuple

from fsspec.implementations.http import HTTPFileSystem

from minuend.errors import FileFormatError

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_EMPTY = re.compile(r"bytes \*/0")
_PARTIAL, _WHOLE, _BEYOND = 206, 200, 416


class Version(NamedTuple):
    """What tells one version of a file from another, by the server's answer; ``""`` for what it does not state."""

    size: int
    tag: str
    changed: str
    place: str

    def difference(self, now: Version) -> str:
        """Say what another answer states differently, ``""`` where it is of the same version."""
        for name, one, other in (("ETag", self.tag, now.tag), ("Last-Modified", self.changed, now.changed)):
            if one != other:
                return f"its {name} was {one or 'none'} and is now {other or 'none'}"
        if self.size != now.size:
            return f"it had {self.size} bytes and has {now.size} now"
        # Mirrors and signed addresses differ from answer to answer; a strong tag says that the bytes are the same.
        if self.place != now.place and not self.is_certain:
            return f"its server redirected to {self.place} and redirects to {now.place} now"
        return ""

    @property
    def is_certain(self) -> bool:
        """Whether equal tags mean equal bytes."""
        return bool(self.tag) and not self.tag.startswith("W/")


class Web(HTTPFileSystem):  # type: ignore[misc]
    """What ``fsspec`` calls a file system, of one file or store; raises a FileFormatError for what came wrong."""

    cachable = False

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._known: dict[str, Version] = {}

    async def set_session(self) -> Any:
        """Return what sends requests, which is closed with this file system in a caller's own event loop too."""
        is_new = self._session is None
        session = await super().set_session()
        if is_new and self.asynchronous:
            weakref.finalize(self, self.close_session, asyncio.get_running_loop(), session)
        return session

    async def _info(self, url: str, **_: Any) -> dict[str, Any]:
        """Look at one byte of a file: what is sent for a range is what counts, whatever HEAD says."""
        version = (await self._ranged(url, 0, 1))[1]
        return {"name": url, "type": "file", "size": version.size}

    async def _cat_file(self, url: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        """Return a file, or a range of it: of a negative start the last bytes."""
        if start is None and end is None:
            content: bytes = await super()._cat_file(url, **options)
        elif end is not None and (start or 0) >= end >= 0:
            content = b""
        else:
            content, _ = await self._ranged(url, start or 0, end)
        return content

    async def _ranged(self, url: str, start: int, end: int | None) -> tuple[bytes, Version]:
        options = dict(self.kwargs)
        known = self._known.get(url)
        wanted = f"bytes={start}" if start < 0 else f"bytes={start}-{'' if end is None else end - 1}"
        headers = {**options.pop("headers", {}), "Range": wanted, "Accept-Encoding": "identity"}
        if known is not None and known.is_certain:
            headers["If-Range"] = known.tag
        session = await self.set_session()
        async with session.get(self.encode_url(url), headers=headers, **options) as answer:
            if answer.status == _BEYOND and _EMPTY.fullmatch(answer.headers.get("Content-Range", "")):
                return b"", self._checked(url, _version(answer, 0))
            self._raise_not_found_for_status(answer, url)
            came = _came(answer, url, wanted, known)
            first, last, size = came
            self._checked(url, version := _version(answer, size))
            meant = range(max(0, size + start) if start < 0 else start, size if end is None else min(end, size))
            if range(first, last + 1) != meant:
                raise FileFormatError(
                    f"{url} came as bytes {first} to {last} of {size}, where {wanted!r} was requested; its server does "
                    "not keep to ranges, copy the file here"
                )
            content: bytes = await answer.read()
        if len(content) != len(meant):
            raise FileFormatError(
                f"{url} gave {len(content)} bytes from byte {first} on, and promised {len(meant)}; its server does not "
                "keep to ranges, copy the file here"
            )
        return content, version

    def _checked(self, url: str, now: Version) -> Version:
        """Compare an answer with the first one."""
        change = self._known.setdefault(url, now).difference(now)
        if change:
            raise _changed(url, change)
        return now


def _came(answer: Any, url: str, wanted: str, known: Version | None) -> tuple[int, int, int]:
    """The first and the last byte of an answer, and the file's size.

    Raises:
        FileFormatError: it is no range, or one of a packed file.
    """
    if packed := answer.headers.get("Content-Encoding", "").replace("identity", ""):
        raise FileFormatError(
            f"{url} is sent packed (Content-Encoding: {packed}), and a range of that is no range of the file; copy the "
            "file here"
        )
    stated = answer.headers.get("Content-Range", "")
    if answer.status == _PARTIAL and (found := _RANGE.fullmatch(stated)):
        return int(found[1]), int(found[2]), int(found[3])
    if answer.status == _WHOLE:
        change = known.difference(_version(answer, known.size)) if known is not None else ""
        if change:
            raise _changed(url, change)
        raise FileFormatError(
            f"{url} came whole where {wanted!r} was requested; its server takes no ranges, copy the file here"
        )
    raise FileFormatError(
        f"{url} came with status {answer.status} and the Content-Range {stated!r}, where {wanted!r} was requested; "
        "expected 206 and the range with the file's size, copy the file here"
    )


def _version(answer: Any, size: int) -> Version:
    headers, place = answer.headers, answer.url
    return Version(size, headers.get("ETag", ""), headers.get("Last-Modified", ""), f"{place.origin()}{place.path}")


def _changed(url: str, change: str) -> FileFormatError:
    return FileFormatError(f"{url} changed while it was read: {change}; read it again when nothing writes it")
