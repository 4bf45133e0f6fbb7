"""Outputs in an object store, where nothing is renamed: chunks lie in their places at once, and headers come last.

    OUTPUT/.minuend-unfinished/identity   of what it is, as for a folder; while it is there, the output is unfinished
    OUTPUT/.minuend-unfinished/00000000   what is finished, some chunks an object
    OUTPUT/...                            the chunks; then the headers, the outermost last; then the first two go

Nobody takes it for an array before it has its headers. The store has no locks: two runs on one output are not noticed.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from minuend.errors import MinuendError
from minuend.files.transaction import remote
from minuend.files.transaction.resume_journal import Entry, check_same, parsed

_MARK = ".minuend-unfinished"
_AT_ONCE, _OFTEN = 256, 5.0
"""Chunks, and seconds, after which what is finished is noted: what a killed run did since then is done again."""


@dataclass
class Unfinished:
    """An output in an object store that is not finished, as :class:`.resume_journal.Unfinished` is in a folder."""

    path: str
    begun: bool = False
    spare: str = ""
    _left: list[Entry] = field(default_factory=list)
    _number: int = 0
    _noted: float = 0.0

    def __post_init__(self) -> None:
        self._system, root = remote.system_of(self.path)
        self._root = root.rstrip("/")
        self._system.invalidate_cache()

    def exists(self) -> bool:
        with remote.errors_naming(self.path):
            return bool(self._system.exists(self._root) or self._system.find(self._root))

    def identity(self) -> dict[str, str] | None:
        """Return of what it is, ``None`` where nobody has begun to write it."""
        try:
            with remote.errors_naming(self.path):
                raw = self._system.cat_file(f"{self._root}/{_MARK}/identity")
        except FileNotFoundError:
            return None
        return parsed(raw, dict, f"{self.path}/{_MARK}")

    def begin(self, identity: Mapping[str, str]) -> None:
        """Start the journal: what follows is only chunks."""
        self._put(f"{_MARK}/identity", identity)
        self.begun, self._noted = True, time.monotonic()

    def add(self, entry: Entry) -> None:
        """Note that a chunk lies in its place."""
        self._left.append(entry)
        if len(self._left) >= _AT_ONCE or time.monotonic() - self._noted > _OFTEN:
            self.note()

    def note(self) -> None:
        """Write what is not noted yet."""
        if self._left:
            self._put(f"{_MARK}/{self._number:08}", self._left)
            self._left, self._number = [], self._number + 1
        self._noted = time.monotonic()

    def finished(self) -> Iterator[Entry]:
        """Yield what an earlier run finished; to be gone through before anything is added."""
        for number in range(self._number):
            with remote.errors_naming(self.path):
                raw = self._system.cat_file(f"{self._root}/{_MARK}/{number:08}")
            yield from parsed(raw, list, f"{self.path}/{_MARK}")

    def go_on(self) -> None:
        """Take up what is there."""
        with remote.errors_naming(self.path):
            names = [one.rpartition("/")[2] for one in self._system.find(f"{self._root}/{_MARK}")]
        self._number = sum(name.isdigit() for name in names)
        self.begun, self._noted = True, time.monotonic()

    def complete(self, headers: Mapping[str, bytes]) -> None:
        """Write the headers, and take away the mark."""
        with remote.errors_naming(self.path):
            for key, content in headers.items():
                self._system.pipe_file(f"{self._root}/{key}", content)
            self._system.rm(f"{self._root}/{_MARK}", recursive=True)

    def remove(self) -> None:
        with remote.errors_naming(self.path), contextlib.suppress(FileNotFoundError):
            self._system.rm(self._root, recursive=True)

    def _put(self, key: str, data: object) -> None:
        with remote.errors_naming(self.path, written=True):
            self._system.pipe_file(f"{self._root}/{key}", json.dumps(data).encode())


@contextlib.contextmanager
def unfinished(
    path: str, identity: Mapping[str, str], headers: Mapping[str, bytes], *, resume: bool
) -> Iterator[Unfinished]:
    """Yield an output in an object store, which is finished when the block ends well.

    On an error that tells of the operands it goes. Interrupted by a signal or by the system, it stays for a run that
    goes on with it; any other run on the output removes it.

    Args:
        path: its address. identity: of what is written. headers: what makes it an array. resume: go on with it.

    Raises:
        MinuendError: something is there already; what is left is of other operands or parameters. OSError: the store
            does not answer.
    """
    part = Unfinished(path)
    left = part.identity()
    if left is None and part.exists():
        raise MinuendError(f"{path} exists; name one that does not")
    if left is not None and resume:
        check_same(path, left, identity)
        part.go_on()
    elif left is not None:
        part.remove()
    try:
        yield part
        part.complete(headers)
    except MinuendError:
        part.remove()
        raise
    except BaseException as error:
        if part.begun:
            with contextlib.suppress(OSError):
                part.note()
            error.add_note(f"what is finished of {path} stays there, marked by {_MARK}; --resume goes on with it")
        raise
