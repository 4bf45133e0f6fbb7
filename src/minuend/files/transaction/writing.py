"""Files as they are written: whole or not at all, together or none of them, and never over an input.

Nothing else in this package opens a file for writing; :mod:`~minuend.files.transaction.resume_journal` has zarr write
its chunks, and keeps the journal of them. All outputs that appear together are known before anything is written, and
so are the inputs. Each file is written beside its goal as ``.NAME.<hex>.part``, and all take their names when all are
whole. Until then nobody else may read them (mode 0600); then they have what the old file had, or what a new one gets.
What a killed run
has left is removed by the next one on the same goal: whoever writes a part holds a lock on it, so one whose lock can be
taken is nobody's.

A pipe or a character device (``/dev/null``, ``/dev/stdout``) is written through: it is neither replaced nor renamed.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import shutil
import stat
import tempfile
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

from minuend.errors import MinuendError
from minuend.files.transaction.output_paths import (
    Place,
    check,
    check_folder,
    descriptor_of,
    of,
    place_of,
    refuse_address,
)
from minuend.written import announce

try:
    import fcntl
except ImportError:  # no such locks on Windows: parts that a killed run left stay there
    fcntl = None  # type: ignore[assignment]

_LEFT = r"\.[0-9a-f]{8}\.(part|kept)\Z"


@contextlib.contextmanager
def atomic(path: str, inputs: Iterable[str] = ()) -> Iterator[BinaryIO]:
    """Open one goal; see :func:`together`."""
    with together([path], inputs) as (stream,):
        yield stream


@contextlib.contextmanager
def together(goals: Sequence[str], inputs: Iterable[str] = (), *, folders: bool = False) -> Iterator[list[BinaryIO]]:
    """Open a stream for each goal; all files appear when the block ends well, in this order, or none does.

    On any error, Ctrl-C included, what stood at the goals stands there still. A symbolic link stays one; its target is
    replaced. What has gone into a pipe cannot be taken back.

    Args:
        goals: the paths. inputs: files that no goal may replace, whether they exist or not.
        folders: make the folders that the goals lie in; those that were made go again where nothing is written.

    Raises:
        MinuendError, OSError: see :func:`check`. OSError: a file cannot be written; its ``filename`` is the goal.
    """
    places = check(goals, inputs, folders=folders)
    if len(places) == 1 and places[0].stream:
        with _through(places[0]) as stream:
            yield [stream]
        return
    made: list[str] = []
    parts: list[_Part] = []
    try:
        for place in places:
            made += _make_folders(place.folder) if folders else ()
        _check_names(places)
        for place in places:
            remove_strays(place)
            parts.append(_Part(place))
        yield [part.stream for part in parts]
        for part in parts:
            part.finish()
        _appear(parts)
    except BaseException:
        for part in parts:
            part.remove()
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        raise
    finally:
        for part in parts:
            part.release()


@contextlib.contextmanager
def _told_of(path: str) -> Iterator[None]:
    """Say of which goal it is what the system, or a library, raises of no file: a full disk above all."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise of(path, error) from None


@contextlib.contextmanager
def new_folder(path: str) -> Iterator[str]:
    """Yield a temporary folder beside a path, which takes that name when the block ends well, and goes otherwise.

    Raises:
        MinuendError: something is there already. OSError: see :func:`check`.
    """
    refuse_address(path)
    if os.path.lexists(os.path.normpath(path)):
        raise MinuendError(f"{path} exists; name a folder that does not")
    place = place_of(os.path.normpath(path))
    check_folder(place, False)
    remove_strays(place)
    part = place.beside("part")
    try:
        mode = mode_of_new(place, os.mkdir, os.rmdir)
        os.mkdir(part, 0o700)
    except OSError as error:
        raise of(path, error) from None
    lock = lock_of(part, os.O_RDONLY)
    try:
        with _told_of(path):
            yield part
        os.chmod(part, mode)
        announce(part, path)
        os.rename(part, place.real)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)


@contextlib.contextmanager
def within_folder(path: str, inputs: Iterable[str] = ()) -> Iterator[str]:
    """Yield a path of the goal's name in a temporary folder beside it, for libraries that want a path to write to.

    What is there when the block ends well takes the goal's place; otherwise the folder goes with all that is in it.

    Raises:
        MinuendError, OSError: see :func:`check`. MinuendError: the goal is a pipe or a device.
    """
    (place,) = check([path], inputs)
    if place.stream:
        raise MinuendError(f"{path} is written at many places, which a pipe or a device does not take; name a file")
    remove_strays(place)
    part = place.beside("part")
    try:
        mode = _mode_of(place)
        os.mkdir(part, 0o700)
    except OSError as error:
        raise of(path, error) from None
    lock = lock_of(part, os.O_RDONLY)
    try:
        inner = os.path.join(part, place.name)
        with _told_of(path):
            yield inner
        os.chmod(inner, mode)
        announce(inner, path)
        os.replace(inner, place.real)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        if lock is not None:
            os.close(lock)


@contextlib.contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """Open a file in a folder that is this process's own, a temporary one: nobody sees it half written."""
    raw = _Raw(path, "xb")
    raw.goal = path
    with Placed(raw, 1 << 16) as stream:
        yield stream


@contextlib.contextmanager
def temporary_folder(name: str) -> Iterator[str]:
    """Yield a folder among temporary files, which goes when the block ends, or with the next one of its name.

    Raises:
        OSError: it cannot be made.
    """
    place = Place(name, os.path.join(tempfile.gettempdir(), name))
    remove_strays(place)
    part = place.beside("part")
    os.mkdir(part, 0o700)
    lock = lock_of(part, os.O_RDONLY)
    try:
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)
        if lock is not None:
            os.close(lock)


# ---- permissions ----------------------------------------------------------------------------------------------


def _private(path: str, flags: int) -> int:
    """Open a new file that nobody else may read."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _make_file(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))


def mode_of_new(place: Place, make: Callable[[str], None], remove: Callable[[str], None]) -> int:
    """The permissions that a new file or folder gets beside a goal: by the umask, or what the folder has instead."""
    while True:
        probe = place.beside("part")
        make(probe)
        try:
            return stat.S_IMODE(os.stat(probe).st_mode)
        except FileNotFoundError:  # another run took it for a stray
            continue
        finally:
            with contextlib.suppress(FileNotFoundError):
                remove(probe)


def _mode_of(place: Place) -> int:
    """The permissions for a goal: those of the file that stands there, or a new one's."""
    try:
        return stat.S_IMODE(os.stat(place.real).st_mode) & 0o777
    except FileNotFoundError:
        return mode_of_new(place, _make_file, os.unlink)


# ---- one file -------------------------------------------------------------------------------------------------


def _make_folders(folder: str) -> list[str]:
    """Make a folder and those around it; return the new ones, outermost first."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    made: list[str] = []
    for path in reversed(missing):
        try:
            os.mkdir(path)
        except FileExistsError:  # somebody else was quicker; or it is a file, which the next step says
            continue
        made.append(path)
    return made


def _check_names(places: Sequence[Place]) -> None:
    """Check that names that differ in case, or in how letters are put together, are two files where they go."""
    seen: dict[tuple[str, str], Place] = {}
    for place in places:
        key = (place.folder, unicodedata.normalize("NFC", place.name).casefold())
        other = seen.setdefault(key, place)
        if other is not place and _one_name(place, other):
            raise MinuendError(
                f"the outputs {other.path} and {place.path} are one file; nothing is written, name outputs that differ"
            )


def _one_name(one: Place, other: Place) -> bool:
    """Ask the file system whether two names in a folder are one, by a file that is made and removed again."""
    probe = one.beside("part")
    twin = os.path.join(one.folder, os.path.basename(probe).replace(one.label, other.label))
    with open(probe, "xb", opener=_private):
        try:
            return os.path.lexists(twin)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(probe)


class _Raw(io.FileIO):
    """A file whose errors name the goal, not the part."""

    goal = ""

    def write(self, data: Any) -> int:
        """Write bytes."""
        try:
            return super().write(data)
        except OSError as error:
            raise of(self.goal, error) from None


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
    """A new file for a library in C that ends the process where a write fails: the first error is kept and every write
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
        """Fill a buffer from where the file stands."""
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
        """Stand elsewhere."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._end}[whence]
        return self._at

    def tell(self) -> int:
        """Where the file stands."""
        return self._at

    def truncate(self, size: int | None = None) -> int:
        """Cut the file off, or make it longer."""
        self._end = self._at if size is None else size
        if self._error is None:
            try:
                os.ftruncate(self._descriptor, self._end)
            except OSError as error:
                self._error = error
        return self._end

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            os.close(self._descriptor)
        super().close()

    def readable(self) -> bool:
        """It is."""
        return True

    def writable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
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
    """Take room on the disk for a stretch of a file, if the file system has a call for that."""
    with contextlib.suppress(AttributeError):  # nor has every system
        try:
            os.posix_fallocate(descriptor, start, nbytes)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                raise


class Placed(io.BufferedWriter):
    """A file that also takes bytes at any place, from several threads."""

    raw: _Raw

    def reserve(self, nbytes: int) -> int:
        """Leave out as many bytes, to be put in place later; return where they begin.

        On a disk of this machine the room is taken at once: ext4 then writes pages in two thirds of the time, and a
        full disk is told before anything is computed. tmpfs would write all of it twice, others have no such call.
        """
        start = self.tell()
        self.seek(start + nbytes)
        try:
            self.truncate()
            if nbytes and os.name == "posix" and os.major(os.fstat(self.raw.fileno()).st_dev):
                _take(self.raw.fileno(), start, nbytes)
        except OSError as error:
            raise of(self.raw.goal, error) from None
        return start

    def put(self, at: int, data: memoryview) -> None:
        """Write bytes that were left out."""
        try:
            write_at(self.raw.fileno(), data, at)
        except OSError as error:
            raise of(self.raw.goal, error) from None


@dataclass(eq=False)
class _Part:
    """A file on its way to its goal."""

    place: Place
    path: str = ""
    kept: str = ""
    inode: tuple[int, int] = (0, 0)
    mode: int = 0o600
    stream: BinaryIO = field(init=False)
    _lock: int | None = None

    def __post_init__(self) -> None:
        while True:
            self.path = self.place.beside("part")
            try:
                self.mode = _mode_of(self.place)
                raw = _Raw(self.path, "xb", opener=_private)
            except OSError as error:
                raise of(self.place.path, error) from None
            raw.goal = self.place.path
            # Between its making and its lock somebody may have taken it for a stray: then it is made anew.
            self._lock = _locked(os.dup(raw.fileno()), wait=True)
            if self._lock is not None and os.fstat(self._lock).st_nlink == 0:
                raw.close()
                self.release()
                continue
            found = os.fstat(raw.fileno())
            self.inode = (found.st_dev, found.st_ino)
            self.stream = Placed(raw, 1 << 16)
            return

    def finish(self) -> None:
        """Write what is still in memory, and close; the lock stays until the file has its name."""
        try:
            self.stream.close()
        except OSError as error:
            raise of(self.place.path, error) from None

    def has_appeared(self) -> bool:
        """Whether the file stands at its goal."""
        with contextlib.suppress(OSError):
            found = os.lstat(self.place.real)
            return (found.st_dev, found.st_ino) == self.inode
        return False

    def remove(self) -> None:
        """Take it away, where it has not its goal's name."""
        with contextlib.suppress(OSError, ValueError):
            cast(io.BufferedWriter, self.stream).raw.close()
        with contextlib.suppress(OSError):
            os.unlink(self.path)

    def release(self) -> None:
        """Let go of the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


@contextlib.contextmanager
def _through(place: Place) -> Iterator[BinaryIO]:
    """Open a pipe, a device or an open file of this process, to be written where it stands."""
    number = descriptor_of(place.path)
    try:
        descriptor = os.open(place.real, os.O_WRONLY | getattr(os, "O_NOCTTY", 0)) if number is None else os.dup(number)
        raw = _Raw(descriptor, "wb")
    except OSError as error:
        raise of(place.path, error) from None
    raw.goal = place.path
    stream = io.BufferedWriter(raw, 1 << 16)
    try:
        yield stream
        stream.close()
    finally:
        raw.close()


# ---- appearing together ---------------------------------------------------------------------------------------


def _appear(parts: Sequence[_Part]) -> None:
    """Give all files their names, the first one first; where one cannot have it, the others give theirs back."""
    if len(parts) < 2:
        for part in parts:
            _rename(part)
        return
    with _folders_locked(parts):
        try:
            for part in parts:
                _keep(part)
            for part in parts:
                _rename(part)
        except BaseException:
            for part in reversed(parts):
                _give_back(part)
            raise
        finally:
            for part in parts:
                if part.kept:
                    with contextlib.suppress(OSError):
                        os.unlink(part.kept)


def _rename(part: _Part) -> None:
    announce(part.path, part.place.path)
    try:
        os.chmod(part.path, part.mode)
        os.replace(part.path, part.place.real)
    except OSError as error:
        raise (error if error.errno is None else of(part.place.path, error)) from None


def _keep(part: _Part) -> None:
    """Give what stands at a goal a second name."""
    if not os.path.lexists(part.place.real):
        return
    kept = part.place.beside("kept")
    try:
        part.kept = kept
        os.link(part.place.real, kept)
    except OSError:  # a file system without hard links, or somebody else's file
        os.close(_private(kept, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        shutil.copy2(part.place.real, kept)


def _give_back(part: _Part) -> None:
    """Put back what stood at a goal, if the new file stands there."""
    if not part.has_appeared():
        return
    if part.kept:
        os.replace(part.kept, part.place.real)
        part.kept = ""
    else:
        os.unlink(part.place.real)


@contextlib.contextmanager
def _folders_locked(parts: Sequence[_Part]) -> Iterator[None]:
    """Hold the goals' folders while several files take their names, so that those of two runs do not mix."""
    with contextlib.ExitStack() as stack:
        for folder in sorted({part.place.folder for part in parts}):
            lock = lock_of(folder, os.O_RDONLY, wait=True)
            if lock is not None:
                stack.callback(os.close, lock)
            _remove_kept([part.place for part in parts if part.place.folder == folder])
        yield


# ---- what a killed run has left -------------------------------------------------------------------------------


def lock_of(path: str, flags: int, *, wait: bool = False) -> int | None:
    """Open and lock a file; ``None`` where another holds it, or where there are no locks."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    return _locked(descriptor, wait=wait)


def _locked(descriptor: int, *, wait: bool = False) -> int | None:
    """Lock an open file, which is closed where that cannot be."""
    try:
        if fcntl is None:
            raise OSError(errno.ENOLCK, "no locks")
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def left_parts(place: Place) -> Iterator[tuple[str, str]]:
    """Temporary files of a goal in its folder, with their last suffix."""
    pattern = re.compile(rf"\.{re.escape(place.label)}{_LEFT}")
    with contextlib.suppress(OSError):
        for name in os.listdir(place.folder):
            if found := pattern.match(name):
                yield os.path.join(place.folder, name), found[1]


def remove_strays(place: Place) -> None:
    """Remove a goal's parts that nobody writes."""
    for path, suffix in left_parts(place):
        if suffix != "part":
            continue
        folder = os.path.isdir(path) and not os.path.islink(path)
        lock = lock_of(path, os.O_RDONLY if folder else os.O_RDWR)
        if lock is None:
            continue
        try:
            if folder:
                shutil.rmtree(path, ignore_errors=True)
            elif stat.S_ISREG(os.fstat(lock).st_mode):
                with contextlib.suppress(OSError):
                    os.unlink(path)
        finally:
            os.close(lock)


def _remove_kept(places: Sequence[Place]) -> None:
    """Remove second names of old files; whoever needs his holds the folder's lock, as the caller does now."""
    for place in places:
        for path, suffix in left_parts(place):
            if suffix == "kept":
                with contextlib.suppress(OSError):
                    os.unlink(path)
