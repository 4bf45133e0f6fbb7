"""Folders that are written chunk by chunk, and gone on with where a run was interrupted.

    .NAME.<hex>.part/NAME     the folder itself, which takes the output's name when it is whole
    .NAME.<hex>.part/spare    chunks that are half written
    .NAME.<hex>.part/journal  what is finished

The journal's first line says of what: the operands' files by size and time, and every parameter. Each further line is
one chunk with its length and checksum, added when the chunk lies in its place. A last line without its end is none.
After a power failure the journal may be on the disk and a chunk not, or a part of it: a chunk that is not as its line
says is written anew.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from minuend.errors import FileFormatError, MinuendError
from minuend.files.addresses import URL
from minuend.files.transaction.leftovers import left_parts
from minuend.files.transaction.output_paths import Place, naming, place_of_new_folder
from minuend.files.transaction.permissions import mode_of_new
from minuend.files.transaction.writing import PartFolder, appear, part_folder

T = TypeVar("T")
_JOURNAL, _SPARE = "journal", "spare"

Entry = Sequence[object]
"""A line of the journal: which chunk, its length and checksum, and the counts of its elements."""


@dataclass
class Unfinished:
    """A folder on its way to its output.

    Attributes:
        folder: the temporary folder. path: the folder itself in it. called: what errors call it.
    """

    folder: PartFolder
    path: str
    called: str
    _journal: int = field(default=-1, repr=False)

    def __post_init__(self) -> None:
        self.spare = os.path.join(self.folder.path, _SPARE)
        self.journal = os.path.join(self.folder.path, _JOURNAL)

    @property
    def begun(self) -> bool:
        """Whether there is a journal: all that stands beside the chunks is written."""
        return self._journal >= 0

    def begin(self, identity: Mapping[str, str]) -> None:
        """Start the journal: what follows is only chunks."""
        self._journal = _open(self.journal, os.O_CREAT | os.O_EXCL)
        self._add(json.dumps(identity))

    def add(self, entry: Entry) -> None:
        """Note that a chunk lies in its place."""
        self._add(json.dumps(entry))

    def finished(self) -> Iterator[Entry]:
        """Yield what an earlier run finished; to be gone through before anything is added."""
        if not self.begun:
            return
        with open(self.journal, "rb") as stream:
            next(stream)
            for line in stream:
                yield parsed(line, list, self.journal)

    def begun_with(self) -> dict[str, str] | None:
        """Return what the journal is of, ``None`` where it was not begun; and make ready to write on after its last
        whole line.
        """
        end = 0
        with open(self.journal, "rb") as stream:
            first = stream.readline()
            stream.seek(0)
            for line in stream:
                end += len(line) if line.endswith(b"\n") else 0
        if not first.endswith(b"\n"):
            return None
        identity = parsed(first, dict, self.journal)
        self._journal = _open(self.journal, 0)
        os.ftruncate(self._journal, end)
        return identity

    def close(self) -> None:
        """Close the journal."""
        if self.begun:
            os.close(self._journal)
            self._journal = -1

    def _add(self, line: str) -> None:
        data = f"{line}\n".encode()
        with naming(self.called):
            if os.write(self._journal, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def parsed(raw: bytes, kind: type[T], where: str) -> T:
    """Read a piece of a journal, which is an object or a list."""
    try:
        found = json.loads(raw)
    except ValueError:
        found = None
    if not isinstance(found, kind):
        raise FileFormatError(f"{where} is no journal of this program; run without --resume")
    return found


def _open(path: str, flags: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | flags, 0o600)


@contextlib.contextmanager
def unfinished(path: str, identity: Mapping[str, str], *, resume: bool) -> Iterator[Unfinished]:
    """Yield a folder beside an output, which takes its name when the block ends well.

    On an error that tells of the operands it goes. Interrupted by a signal or by the system (a full disk), it stays for
    a run that goes on with it; any other run on the output removes it.

    Args:
        path: the output. identity: of what is written, as names and texts. resume: go on with what is left, if any.

    Raises:
        MinuendError: something is there already; what is left is of other operands or parameters, or being written.
        OSError: see :func:`~minuend.files.transaction.output_paths.check`.
    """
    place = place_of_new_folder(path)
    with contextlib.ExitStack() as stack:
        part = _taken_up(place, path, identity, stack) if resume else None
        if part is None:
            folder = stack.enter_context(part_folder(place))
            part = Unfinished(folder, os.path.join(folder.path, place.name), path)
            with naming(path):
                os.mkdir(part.path)
        stack.callback(part.close)
        try:
            shutil.rmtree(part.spare, ignore_errors=True)
            os.mkdir(part.spare)
            yield part
            appear(part.path, place.real, path, mode_of_new(place, os.mkdir, os.rmdir))
        except BaseException as error:
            part.folder.stays = part.begun and not isinstance(error, MinuendError)
            if part.folder.stays:
                error.add_note(f"what is finished of {path} stays in {part.folder.path}; --resume goes on with it")
            raise
        part.folder.stays = False


def _taken_up(place: Place, path: str, identity: Mapping[str, str], stack: contextlib.ExitStack) -> Unfinished | None:
    """Return what an interrupted run has left, the newest where there are several."""
    journals = (os.path.join(outer, _JOURNAL) for outer, _ in left_parts(place))
    left = {os.path.dirname(one): os.stat(one).st_mtime_ns for one in journals if os.path.isfile(one)}
    for outer in sorted(left, key=left.__getitem__, reverse=True):
        folder = stack.enter_context(part_folder(place, outer))
        part = Unfinished(folder, os.path.join(outer, place.name), path)
        begun = part.begun_with()
        if begun is not None:
            stack.callback(part.close)
            check_same(path, begun, identity)
            return part
    return None


def check_same(path: str, begun: Mapping[str, str], identity: Mapping[str, str]) -> None:
    """Check that what is left of an output is of the same difference."""
    names = dict.fromkeys([*identity, *begun])
    changes = [
        f"{name} was {begun.get(name, 'not stated')} and is {identity.get(name, 'not stated')}"
        for name in names
        if begun.get(name) != identity.get(name)
    ]
    if changes:
        raise MinuendError(
            f"what is left of {path} is of another difference: {'; '.join(changes)}; run without --resume to start anew"
        )


# ---- what files are ------------------------------------------------------------------------------------------------


def fingerprint(sources: Iterable[str]) -> str:
    """Say which files these are, so that it is noticed where one has changed."""
    digest = hashlib.sha256()
    count = nbytes = 0
    for name, size, mark in (one for source in sources for one in _files(source)):
        digest.update(f"{name}\0{size}\0{mark}\n".encode(errors="surrogateescape"))
        count, nbytes = count + 1, nbytes + size
    return f"{count} files of {nbytes} bytes (names, sizes and times: {digest.hexdigest()[:16]})"


def _files(source: str) -> Iterator[tuple[str, int, object]]:
    """Yield name, size and time of all files of a source."""
    if URL in source:
        yield from _remote_files(source)
    elif not os.path.isdir(source):
        found = os.stat(source)
        yield "", found.st_size, found.st_mtime_ns
    for folder, inner, names in os.walk(source):
        inner.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            found = os.stat(path)
            yield os.path.relpath(path, source), found.st_size, found.st_mtime_ns


def _remote_files(source: str) -> Iterator[tuple[str, int, object]]:
    """Yield the same of an object store, with its own mark of a file's content where it has one."""
    import fsspec

    system, root = fsspec.core.url_to_fs(source)
    alone = system.info(root)
    files = {"": alone} if alone.get("type") == "file" else system.find(root, detail=True)
    for name, found in sorted(files.items()):
        marks = (found.get(key) for key in ("ETag", "etag", "md5Hash", "LastModified", "created"))
        yield name, found.get("size") or 0, next((mark for mark in marks if mark), "")
