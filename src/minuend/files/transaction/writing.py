"""Files as they are written: whole or not at all, together or none of them, and never over an input.

Nothing else in this package opens a file for writing; :mod:`~minuend.files.transaction.resume_journal` has zarr write
its chunks, and keeps the journal of them. All outputs that appear together are known before anything is written, and
so are the inputs. Each file is written beside its output as ``.NAME.<hex>.part``, and all take their names when all are
whole. Until then nobody else may read them (mode 0600); then they have what the old file had, or what a new one gets.
What a killed run has left is removed by the next one on the same output path
(:mod:`~minuend.files.transaction.leftovers`).

A pipe or a character device (``/dev/null``, ``/dev/stdout``) is written through: it is neither replaced nor renamed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from minuend.errors import MinuendError
from minuend.files.transaction.leftovers import lock_of, remove_backups, remove_strays
from minuend.files.transaction.output_paths import (
    Place,
    check,
    naming,
    place_of_new_folder,
)
from minuend.files.transaction.parts import Part, through
from minuend.files.transaction.permissions import make, make_file, mode_of, mode_of_new, private
from minuend.files.transaction.streams import Placed, Raw
from minuend.written import announce


@contextlib.contextmanager
def atomic(path: str, inputs: Iterable[str] = ()) -> Iterator[BinaryIO]:
    """Open one output; see :func:`together`."""
    with together([path], inputs) as (stream,):
        yield stream


@contextlib.contextmanager
def together(outputs: Sequence[str], inputs: Iterable[str] = (), *, folders: bool = False) -> Iterator[list[BinaryIO]]:
    """Open a stream for each output; all files appear when the block ends well, in this order, or none does.

    On any error, Ctrl-C included, what stood at the outputs stands there still. A symbolic link stays one; its target
    is replaced. What has gone into a pipe cannot be taken back.

    Args:
        outputs: the paths. inputs: files that no output may replace, whether they exist or not.
        folders: make the folders that the outputs lie in; those that were made go again where nothing is written.

    Raises:
        MinuendError, OSError: see :func:`check`. OSError: a file cannot be written; its ``filename`` is the output.
    """
    places = check(outputs, inputs, folders=folders)
    if len(places) == 1 and places[0].stream:
        with through(places[0]) as stream:
            yield [stream]
        return
    made: list[str] = []
    parts: list[Part] = []
    try:
        for place in places:
            if folders:
                _make_folders(place.folder, made)
        _check_names(places)
        for place in places:
            remove_strays(place)
            parts.append(Part(place))
            parts[-1].open()
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


def appear(part: str, real: str, output: str, mode: int | None = None) -> None:
    """Let what is whole take its place.

    Args:
        part: a file or a folder. real: its place. output: what errors call it. mode: the permissions that an output
            gets, which is announced; ``None`` for a piece of an output.
    """
    with naming(output):
        if mode is not None:
            announce(part, output)
            os.chmod(part, mode)
        os.replace(part, real)


@dataclass
class PartFolder:
    """A temporary folder; one that stays is left to a run that goes on with it."""

    path: str
    stays: bool = False


@contextlib.contextmanager
def part_folder(place: Place, left: str = "") -> Iterator[PartFolder]:
    """Yield a temporary folder beside a path, locked; where it still has that name at the end, it goes with all in it.

    Args:
        place: the path. left: one that an earlier run has left; ``""``: a new one, and those left before go.

    Raises:
        MinuendError: what is left is another run's. OSError: it cannot be made.
    """
    if not left:
        remove_strays(place)
    part = left or place.beside("part")
    with naming(place.path):
        if not left:
            make(part, lambda path: os.mkdir(path, 0o700), os.rmdir)
    found, lock = PartFolder(part, stays=bool(left)), None
    try:
        lock = lock_of(part, os.O_RDONLY)
        if left and lock is None:
            raise MinuendError(f"{place.path} is being written by another run; wait for its end")
        yield found
    finally:
        if not found.stays:
            shutil.rmtree(part, ignore_errors=True)
        if lock is not None:
            os.close(lock)


@contextlib.contextmanager
def new_folder(path: str) -> Iterator[str]:
    """Yield a temporary folder beside a path, which takes that name when the block ends well, and goes otherwise.

    Raises:
        MinuendError: something is there already. OSError: see :func:`check`.
    """
    place = place_of_new_folder(path)
    with part_folder(place) as part, naming(path, alone=True):
        mode = mode_of_new(place, os.mkdir, os.rmdir)
        yield part.path
        appear(part.path, place.real, path, mode)


@contextlib.contextmanager
def within_folder(path: str, inputs: Iterable[str] = ()) -> Iterator[str]:
    """Yield a path of the output's name in a temporary folder beside it, for libraries that want a path to write to.

    What is there when the block ends well takes the output's place; otherwise the folder goes with all that is in it.

    Raises:
        MinuendError, OSError: see :func:`check`. MinuendError: the output is a pipe or a device.
    """
    (place,) = check([path], inputs)
    if place.stream:
        raise MinuendError(f"{path} is written at many places, which a pipe or a device does not take; name a file")
    with part_folder(place) as part, naming(path, alone=True):
        mode = mode_of(place)
        inner = os.path.join(part.path, place.name)
        yield inner
        appear(inner, place.real, path, mode)


@contextlib.contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """Open a file in a folder that is this process's own, a temporary one: nobody sees it half written."""
    raw = Raw(path, "xb")
    raw.output = path
    with Placed(raw, 1 << 16) as stream:
        yield stream


@contextlib.contextmanager
def temporary_folder(name: str) -> Iterator[str]:
    """Yield a folder among temporary files, which goes when the block ends, or with the next one of its name.

    Raises:
        OSError: it cannot be made.
    """
    path = os.path.join(tempfile.gettempdir(), name)
    with part_folder(Place(path, path)) as part:
        yield part.path


# ---- before anything is written --------------------------------------------------------------------------------


def _make_folders(folder: str, made: list[str]) -> None:
    """Make a folder and those around it; the new ones are added to a list, outermost first."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for path in reversed(missing):
        try:
            make(path, os.mkdir, os.rmdir)
        except FileExistsError:  # somebody else was quicker; or it is a file, which the next step says
            continue
        made.append(path)


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
    make(probe, make_file, os.unlink)
    try:
        return os.path.lexists(twin)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(probe)


# ---- appearing together ---------------------------------------------------------------------------------------


def _appear(parts: Sequence[Part]) -> None:
    """Give all files their names, the first one first; where one cannot have it, the others give theirs back."""
    if len(parts) < 2:
        for part in parts:
            appear(part.path, part.place.real, part.place.path, part.mode)
        return
    with _folders_locked(parts):
        try:
            for part in parts:
                _keep(part)
            for part in parts:
                appear(part.path, part.place.real, part.place.path, part.mode)
        except BaseException:
            for part in reversed(parts):
                _give_back(part)
            raise
        finally:
            for part in parts:
                if part.backup:
                    with contextlib.suppress(OSError):
                        os.unlink(part.backup)


def _keep(part: Part) -> None:
    """Give what stands at an output a second name."""
    if not os.path.lexists(part.place.real):
        return
    backup = part.place.beside("kept")
    try:
        part.backup = backup
        os.link(part.place.real, backup)
    except OSError:  # a file system without hard links, or somebody else's file
        os.close(private(backup, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        shutil.copy2(part.place.real, backup)


def _give_back(part: Part) -> None:
    """Put back what stood at an output, if the new file stands there."""
    if not part.has_appeared():
        return
    if part.backup:
        appear(part.backup, part.place.real, part.place.path)
        part.backup = ""
    else:
        os.unlink(part.place.real)


@contextlib.contextmanager
def _folders_locked(parts: Sequence[Part]) -> Iterator[None]:
    """Hold the outputs' folders while several files take their names, so that those of two runs do not mix."""
    with contextlib.ExitStack() as stack:
        for folder in sorted({part.place.folder for part in parts}):
            lock = lock_of(folder, os.O_RDONLY, wait=True)
            if lock is not None:
                stack.callback(os.close, lock)
            remove_backups([part.place for part in parts if part.place.folder == folder])
        yield
