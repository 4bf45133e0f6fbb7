"""Who may read an output: nobody else until it is whole, then those who could read the old file, or a new one."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable

from minuend.files.transaction.output_paths import Place, naming


def private(path: str, flags: int) -> int:
    """Open a new file that nobody else may read."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def make(path: str, maker: Callable[[str], None], remove: Callable[[str], None]) -> None:
    """Make a file or a folder, which goes again where a signal comes before anybody else knows of it.

    Raises:
        OSError: it cannot be made, since there is one for example, which stays.
    """
    try:
        maker(path)
    except OSError:
        raise
    except BaseException:
        with contextlib.suppress(OSError):
            remove(path)
        raise


def make_file(path: str) -> None:
    """Make an empty file with the permissions that a new one gets."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))


def mode_of_new(place: Place, maker: Callable[[str], None], remove: Callable[[str], None]) -> int:
    """The permissions that a new file or folder gets beside an output: by the umask, or what the folder has instead."""
    while True:
        probe = place.beside("part")
        with naming(place.path):
            make(probe, maker, remove)
        try:
            return stat.S_IMODE(os.stat(probe).st_mode)
        except FileNotFoundError:  # another run took it for a stray
            continue
        finally:
            with contextlib.suppress(FileNotFoundError):
                remove(probe)


def mode_of(place: Place) -> int:
    """The permissions for an output: those of the file that stands there, or a new one's."""
    try:
        with naming(place.path):
            return stat.S_IMODE(os.stat(place.real).st_mode) & 0o777
    except FileNotFoundError:
        return mode_of_new(place, make_file, os.unlink)
