"""Outputs: where files are to be written, checked before anything is computed or written."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from minuend.errors import MinuendError
from minuend.files.addresses import URL
from minuend.files.streaming.reading import kind
from minuend.files.transaction.remote import identity
from minuend.written import note_stream

_NAME_MAX = 255
_DESCRIPTOR = re.compile(r"/(?:proc/(?:self|\d+)(?:/task/\d+)?|dev)/fd\Z")
_LONGEST_TAIL = len(".01234567.part")


@dataclass(frozen=True, slots=True)
class Place:
    """An output: the path as given, where that leads, and whether it is a pipe or device to be written through."""

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
        most = _NAME_MAX - _LONGEST_TAIL - 1
        if len(raw) <= most:
            return self.name
        digest = hashlib.sha256(raw).hexdigest()[:8]
        return f"{raw[: most - 9].decode(errors='ignore')}~{digest}"

    def beside(self, suffix: str) -> str:
        """A new temporary name in the output's folder."""
        return os.path.join(self.folder, f".{self.label}.{secrets.token_hex(4)}.{suffix}")


def check(outputs: Sequence[str], inputs: Iterable[str] = (), *, folders: bool = False) -> list[Place]:
    """Check outputs before anything is computed or written; see :func:`together`.

    Raises:
        MinuendError: an output is an input, by whatever name; two outputs are one file; one would be a folder of
            another; a block device or a socket; one of several is a pipe or a device.
        IsADirectoryError, NotADirectoryError, FileNotFoundError: an output is a folder, or lies in none.
        PermissionError: nothing can be written to its folder.
    """
    places = [place_of(path) for path in outputs]
    refuse_inputs(outputs, inputs)
    whose: dict[_Identity, str] = {}
    for place in places:
        if place.stream:
            if len(places) > 1:
                raise MinuendError(
                    f"the output {place.path} is {_kind(place.path)}, and {len(places)} files are written together; "
                    "name a regular file"
                )
            note_stream(place.path)
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
            check_folder(place, folders)
    return places


def refuse_inputs(outputs: Iterable[str], inputs: Iterable[str]) -> None:
    """Check that no output is an input, or lies in one that is a folder: not by name, symbolic link, hard link or
    another name of an address, nor one that is not there yet.

    Args:
        inputs: paths and addresses; one that ends in ``/`` is a folder, and everything in it an input.

    Raises:
        MinuendError: one is. FileFormatError: an address whose file is not known.
    """
    known: dict[_Identity, str] = {}
    folders: dict[_Identity, str] = {}
    for source in inputs:
        (folders if source.endswith("/") else known).setdefault(_identity_of(source), source)
    for path in outputs:
        mine = _identity_of(path)
        source = known.get(mine) or folders.get(mine) or ""
        if source:
            shown = source if source == "/" else source.rstrip("/")
            also = "" if path == shown else f" (the same file as {shown})"
            raise MinuendError(f"the output {path} is also an input{also}; nothing is overwritten, name another output")
        around = next((folders[one] for one in _around(mine, path) if one in folders), "") if folders else ""
        if around:
            raise MinuendError(
                f"the output {path} lies in the input {around.rstrip('/')}; nothing in it is overwritten or added, "
                "name another output"
            )


def _identity_of(path: str) -> _Identity:
    return identity(path) if URL in path else _identity(os.path.realpath(path))


def _around(mine: _Identity, path: str) -> Iterator[_Identity]:
    """What tells the folders around an output from others, the nearest first."""
    if URL not in path:
        yield from map(_identity, _ancestors(os.path.realpath(path)))
        return
    *system, key = mine
    while (folder := os.path.dirname(str(key))) != key:
        yield (*system, key := folder)


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


def refuse_address(path: str) -> None:
    """Refuse an address where only files of this machine are written: it would be the name of folders here.

    Raises:
        MinuendError: it is one.
    """
    if URL in path:
        raise MinuendError(f"{path} is an address, and this goes to a file of this machine alone; name a path")


def place_of(path: str) -> Place:
    refuse_address(path)
    if path.endswith(("/", os.sep)) or not path:
        raise IsADirectoryError(f"{path or repr(path)} names no file; expected a file name to write to")
    if descriptor_of(path) is not None:
        return Place(path, path, True)
    real = os.path.realpath(path)
    try:
        with naming(path):
            mode = os.stat(real).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return Place(path, real)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder; expected a file name to write to")
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        return Place(path, real, True)
    if not stat.S_ISREG(mode):
        raise MinuendError(f"{path} is {kind(mode)}; expected a file name to write to")
    return Place(path, real)


def place_of_new_folder(path: str) -> Place:
    """Return where a folder is to be written, at whose path nothing is yet.

    Raises:
        MinuendError: something is there already, or it is an address. OSError: see :func:`check`.
    """
    refuse_address(path)
    if os.path.lexists(os.path.normpath(path)):
        raise MinuendError(f"{path} exists; name a folder that does not")
    place = place_of(os.path.normpath(path))
    check_folder(place, False)
    return place


def _kind(path: str) -> str:
    mode = os.stat(path).st_mode
    return "an open file of this process" if stat.S_ISREG(mode) else kind(mode)


def descriptor_of(path: str) -> int | None:
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


def check_folder(place: Place, made: bool) -> None:
    """Check that an output's folder is there, or can be made, and takes files."""
    nearest = place.folder
    while not os.path.lexists(nearest):
        nearest = os.path.dirname(nearest)
    folder = os.path.dirname(place.path) or place.folder
    if not os.path.isdir(nearest):
        raise NotADirectoryError(f"{nearest} is no folder; expected one to write {place.name} to")
    if nearest != place.folder and not made:
        raise FileNotFoundError(f"there is no folder {folder} to write {place.name} to")
    if not os.access(nearest, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        with naming(place.path):  # the system says why, unless a file can be made there after all
            made_there = os.path.join(nearest, f".{secrets.token_hex(8)}")
            os.close(os.open(made_there, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            os.unlink(made_there)


@contextlib.contextmanager
def naming(path: str, *, alone: bool = False) -> Iterator[None]:
    """Say of which output it is what the system raises: of any file, or ``alone`` of none, as a full disk above all."""
    try:
        yield
    except OSError as error:
        if error.errno is None or (alone and error.filename is not None):
            raise
        raise OSError(error.errno, error.strerror, path) from None
