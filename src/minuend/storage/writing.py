"""Files as they are written: whole or not at all, together or none of them, and never over an input.

Nothing else in this package opens a file for writing. All goals that appear together are known before anything is
written, and so are the inputs. Each file is written beside its goal as ``.NAME.<hex>.part``, and all take their names
when all are whole. What a killed run has left is removed by the next one on the same goal: whoever writes a part holds
a lock on it, so one whose lock can be taken is nobody's.

A pipe or a character device (``/dev/null``, ``/dev/stdout``) is written through: it is neither replaced nor renamed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import re
import secrets
import shutil
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

from minuend.errors import MinuendError
from minuend.storage.reading import kind

try:
    import fcntl
except ImportError:  # no such locks on Windows: parts that a killed run left stay there
    fcntl = None  # type: ignore[assignment]

_NAME_MAX = 255
_DESCRIPTOR = re.compile(r"/(?:proc/(?:self|\d+)(?:/task/\d+)?|dev)/fd\Z")
_LEFT = r"\.[0-9a-f]{8}\.(part|kept)\Z"
_LONGEST_TAIL = len(".01234567.part")


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
            _remove_strays(place)
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
def new_folder(path: str) -> Iterator[str]:
    """Yield a temporary folder beside a path, which takes that name when the block ends well, and goes otherwise.

    Raises:
        MinuendError: something is there already. OSError: see :func:`check`.
    """
    place = _place(os.path.normpath(path))
    if os.path.lexists(place.path):
        raise MinuendError(f"{path} exists; name a folder that does not")
    _check_folder(place, False)
    _remove_strays(place)
    part = place.beside("part")
    try:
        os.mkdir(part)
    except OSError as error:
        raise _of(path, error) from None
    lock = _lock(part, os.O_RDONLY)
    try:
        yield part
        os.rename(part, place.real)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)


@contextlib.contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """Open a file in a folder that is this process's own, a temporary one: nobody sees it half written."""
    with open(path, "xb") as stream:
        yield stream


# ---- before anything is written -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """A goal: the path as it was given, where that leads, and whether it is a pipe or device to be written through."""

    path: str
    real: str
    stream: bool = False

    @property
    def folder(self) -> str:
        return os.path.dirname(self.real)

    @property
    def name(self) -> str:
        return os.path.basename(self.real)

    @property
    def label(self) -> str:
        """The name, or what fits of it with its hash, that the names of temporary files are made of."""
        raw = os.fsencode(self.name)
        room = _NAME_MAX - _LONGEST_TAIL - 1
        if len(raw) <= room:
            return self.name
        digest = hashlib.sha256(raw).hexdigest()[:8]
        return f"{raw[: room - 9].decode(errors='ignore')}~{digest}"

    def beside(self, suffix: str) -> str:
        """A new temporary name in the goal's folder."""
        return os.path.join(self.folder, f".{self.label}.{secrets.token_hex(4)}.{suffix}")


def check(goals: Sequence[str], inputs: Iterable[str] = (), *, folders: bool = False) -> list[_Place]:
    """Check goals before anything is computed or written; see :func:`together`.

    Raises:
        MinuendError: a goal is an input, by whatever name; two goals are one file; one would be a folder of another;
            a block device or a socket; one of several is a pipe or a device.
        IsADirectoryError, NotADirectoryError, FileNotFoundError: a goal is a folder, or lies in none.
    """
    places = [_place(path) for path in goals]
    refuse_inputs(goals, inputs)
    whose: dict[_Identity, str] = {}
    for place in places:
        if place.stream:
            if len(places) > 1:
                raise MinuendError(
                    f"the output {place.path} is {_kind(place.path)}, and {len(places)} files are written together; "
                    "name a regular file"
                )
            continue
        mine = _identity(place.real)
        if mine in whose:
            raise MinuendError(
                f"the outputs {whose[mine]} and {place.path} are one file; nothing is written, name outputs that differ"
            )
        whose[mine] = place.path
    for place in places:
        for ancestor in _ancestors(place.real):
            if (mine := _identity(ancestor)) in whose:
                raise MinuendError(
                    f"the output {whose[mine]} would have to be a folder for the output {place.path}; nothing is "
                    "written, name another output"
                )
        if not place.stream:
            _check_folder(place, folders)
    return places


def refuse_inputs(goals: Iterable[str], inputs: Iterable[str]) -> None:
    """Check that no goal is an input: not by name, symbolic link or hard link, nor one that is not there yet.

    Raises:
        MinuendError: one is.
    """
    known: dict[_Identity, str] = {}
    for source in inputs:
        known.setdefault(_identity(os.path.realpath(source)), source)
    for path in goals:
        source = known.get(_identity(os.path.realpath(path)), "")
        if source:
            also = "" if path == source else f" (the same file as {source})"
            raise MinuendError(f"the output {path} is also an input{also}; nothing is overwritten, name another output")


_Identity = tuple[int | str, ...]


def _identity(real: str) -> _Identity:
    """What tells one file from others: its inode, or that of the nearest folder that is there and the names from it."""
    names: tuple[str, ...] = ()
    while True:
        try:
            found = os.stat(real)
        except OSError:  # none there, or none that may be looked at
            real, name = os.path.split(real)
            names = (name, *names)
        else:
            return (found.st_dev, found.st_ino, *names)


def _ancestors(real: str) -> Iterator[str]:
    folder = os.path.dirname(real)
    while folder != os.path.dirname(folder):
        yield folder
        folder = os.path.dirname(folder)


def _place(path: str) -> _Place:
    if path.endswith(("/", os.sep)) or not path:
        raise IsADirectoryError(f"{path or repr(path)} names no file; expected a file name to write to")
    if _descriptor(path) is not None:
        return _Place(path, path, True)
    real = os.path.realpath(path)
    try:
        mode = os.stat(real).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return _Place(path, real)
    except OSError as error:
        raise _of(path, error) from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder; expected a file name to write to")
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        return _Place(path, real, True)
    if not stat.S_ISREG(mode):
        raise MinuendError(f"{path} is {kind(mode)}; expected a file name to write to")
    return _Place(path, real)


def _kind(path: str) -> str:
    mode = os.stat(path).st_mode
    return "an open file of this process" if stat.S_ISREG(mode) else kind(mode)


def _descriptor(path: str) -> int | None:
    """The number of this process's own open file that a path such as ``/dev/stdout`` or ``/dev/fd/3`` leads to.

    Such a file is written where it stands, as everything else that the process writes to it.
    """
    for _ in range(40):  # as many links as a system follows
        folder, name = os.path.split(os.path.abspath(path))
        home = os.path.realpath(folder)
        if _DESCRIPTOR.match(home) and name.isdigit():
            return int(name) if home in ("/dev/fd", os.path.realpath("/proc/self/fd")) else None
        if not os.path.islink(path):
            return None
        path = os.path.join(folder, os.readlink(path))
    return None


def _check_folder(place: _Place, made: bool) -> None:
    """Check that a goal's folder is there, or can be made."""
    nearest = place.folder
    while not os.path.lexists(nearest):
        nearest = os.path.dirname(nearest)
    folder = os.path.dirname(place.path) or place.folder
    if not os.path.isdir(nearest):
        raise NotADirectoryError(f"{nearest} is no folder; expected one to write {place.name} to")
    if nearest != place.folder and not made:
        raise FileNotFoundError(f"there is no folder {folder} to write {place.name} to")


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


def _check_names(places: Sequence[_Place]) -> None:
    """Check that names that differ in case, or in how letters are put together, are two files where they go."""
    seen: dict[tuple[str, str], _Place] = {}
    for place in places:
        key = (place.folder, unicodedata.normalize("NFC", place.name).casefold())
        other = seen.setdefault(key, place)
        if other is not place and _one_name(place, other):
            raise MinuendError(
                f"the outputs {other.path} and {place.path} are one file; nothing is written, name outputs that differ"
            )


def _one_name(one: _Place, other: _Place) -> bool:
    """Ask the file system whether two names in a folder are one, by a file that is made and removed again."""
    probe = one.beside("part")
    twin = os.path.join(one.folder, os.path.basename(probe).replace(one.label, other.label))
    with open(probe, "xb"):
        try:
            return os.path.lexists(twin)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(probe)


# ---- one file -------------------------------------------------------------------------------------------------


class _Raw(io.FileIO):
    """A file whose errors name the goal, not the part."""

    goal = ""

    def write(self, data: Any) -> int:
        """Write bytes."""
        try:
            return super().write(data)
        except OSError as error:
            raise _of(self.goal, error) from None


@dataclass(eq=False)
class _Part:
    """A file on its way to its goal."""

    place: _Place
    path: str = ""
    kept: str = ""
    inode: tuple[int, int] = (0, 0)
    stream: BinaryIO = field(init=False)
    _lock: int | None = None

    def __post_init__(self) -> None:
        while True:
            self.path = self.place.beside("part")
            try:
                raw = _Raw(self.path, "xb")
            except OSError as error:
                raise _of(self.place.path, error) from None
            raw.goal = self.place.path
            # Between its making and its lock somebody may have taken it for a stray: then it is made anew.
            self._lock = _locked(os.dup(raw.fileno()), wait=True)
            if self._lock is not None and os.fstat(self._lock).st_nlink == 0:
                raw.close()
                self.release()
                continue
            found = os.fstat(raw.fileno())
            self.inode = (found.st_dev, found.st_ino)
            self.stream = io.BufferedWriter(raw, 1 << 16)
            return

    def finish(self) -> None:
        """Write what is still in memory, and close; the lock stays until the file has its name."""
        try:
            self.stream.close()
        except OSError as error:
            raise _of(self.place.path, error) from None

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
def _through(place: _Place) -> Iterator[BinaryIO]:
    """Open a pipe, a device or an open file of this process, to be written where it stands."""
    number = _descriptor(place.path)
    try:
        descriptor = os.open(place.real, os.O_WRONLY | getattr(os, "O_NOCTTY", 0)) if number is None else os.dup(number)
        raw = _Raw(descriptor, "wb")
    except OSError as error:
        raise _of(place.path, error) from None
    raw.goal = place.path
    stream = io.BufferedWriter(raw, 1 << 16)
    try:
        yield stream
        stream.close()
    finally:
        raw.close()


def _of(path: str, error: OSError) -> OSError:
    """The same error, told of a path."""
    return OSError(error.errno, error.strerror, path)


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
    try:
        os.replace(part.path, part.place.real)
    except OSError as error:
        raise (error if error.errno is None else _of(part.place.path, error)) from None


def _keep(part: _Part) -> None:
    """Give what stands at a goal a second name."""
    if not os.path.lexists(part.place.real):
        return
    kept = part.place.beside("kept")
    try:
        part.kept = kept
        os.link(part.place.real, kept)
    except OSError:  # a file system without hard links, or somebody else's file
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
            lock = _lock(folder, os.O_RDONLY, wait=True)
            if lock is not None:
                stack.callback(os.close, lock)
            _remove_kept([part.place for part in parts if part.place.folder == folder])
        yield


# ---- what a killed run has left -------------------------------------------------------------------------------


def _lock(path: str, flags: int, *, wait: bool = False) -> int | None:
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


def _left(place: _Place) -> Iterator[tuple[str, str]]:
    """Temporary files of a goal in its folder, with their last suffix."""
    pattern = re.compile(rf"\.{re.escape(place.label)}{_LEFT}")
    with contextlib.suppress(OSError):
        for name in os.listdir(place.folder):
            if found := pattern.match(name):
                yield os.path.join(place.folder, name), found[1]


def _remove_strays(place: _Place) -> None:
    """Remove a goal's parts that nobody writes."""
    for path, suffix in _left(place):
        if suffix != "part":
            continue
        folder = os.path.isdir(path) and not os.path.islink(path)
        lock = _lock(path, os.O_RDONLY if folder else os.O_RDWR)
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


def _remove_kept(places: Sequence[_Place]) -> None:
    """Remove second names of old files; whoever needs his holds the folder's lock, as the caller does now."""
    for place in places:
        for path, suffix in _left(place):
            if suffix == "kept":
                with contextlib.suppress(OSError):
                    os.unlink(path)
