"""One execution, and all that counts as a failure of it.

- an exception that is neither a MinuendError nor an OSError that names its file, or an endless message
- more than 5 s of processor time, or 512 MiB of memory
- a file opened, made, renamed or removed outside of the folder that the input lies in; any use of the network
- a file that is there afterwards and was not before
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from minuend import child
from minuend.errors import MinuendError

SECONDS, BYTES = 5, 512 << 20
_LONG = 0.02
"""Seconds in which nobody touches so much memory: a shorter execution need not be asked, which takes 25 µs."""
_LONGEST_MESSAGE = 20_000

_MODULES = tuple(
    os.path.realpath(path) for path in {sys.prefix, sys.base_prefix, os.path.dirname(os.__file__), *sys.path} if path
)
"""Where modules are imported from, whenever that is."""
_MEMORY = re.compile(r"/proc/\d+/(statm|task/\d+/children)")
"""What says how much memory a process takes that runs a model."""

_PATHS: dict[str, tuple[tuple[int, int | None], ...]] = {
    "open": ((0, None),), "os.chmod": ((0, 2),), "os.link": ((0, 2), (1, 3)), "os.listdir": ((0, None),),
    "os.mkdir": ((0, 2),), "os.remove": ((0, 1),), "os.rename": ((0, 2), (1, 3)), "os.rmdir": ((0, 1),),
    "os.scandir": ((0, None),), "os.symlink": ((1, 2),), "os.truncate": ((0, None),), "os.utime": ((0, 3),),
}  # fmt: skip
"""Audit events of the file system: which of their arguments are paths, and of which folder's descriptor."""


class Failure(Exception):
    """An execution that failed: ``kind`` is one word, ``key`` tells failures of one cause from those of others."""

    def __init__(self, kind: str, told: str, key: str = "") -> None:
        self.kind, self.key = kind, f"{kind} {key or told}"
        super().__init__(f"{kind}: {told}")


class _Stop(BaseException):
    """Raised into the code under test, which catches no such thing."""


class Folder:
    """The folder of one target: its input lies here, and nothing else may be touched.

    Args:
        beside: further files, by name.
    """

    def __init__(self, beside: dict[str, bytes]) -> None:
        home = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="fuzz-", dir=home))
        self.temporary = os.path.join(self.path, "temporary")
        os.mkdir(self.temporary)
        self.own = {"temporary"}
        for name, content in beside.items():
            self.put(name, content)

    def put(self, name: str, content: bytes) -> str:
        """Write a file, and return its path."""
        self.own.add(name)
        path = os.path.join(self.path, name)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, content)
        finally:
            os.close(descriptor)
        return path

    def holds(self, path: str) -> bool:
        """Whether a path lies in it; no link in it leads out."""
        path = os.path.abspath(path)
        return path == self.path or path.startswith(f"{self.path}/")

    def left(self) -> list[str]:
        """What somebody else has put there; it is removed."""
        found = []
        for home in (self.path, self.temporary):
            for name in os.listdir(home):
                path = os.path.join(home, name)
                if path in child.FOLDERS:  # of a process that is there still
                    continue
                if home == self.temporary or name not in self.own:
                    found.append(name)
                    shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        return sorted(found)

    def remove(self) -> None:
        """Remove it."""
        shutil.rmtree(self.path, ignore_errors=True)


_watched: Folder | None = None


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if _watched is None:
        return
    for at, beneath in _PATHS.get(event, ()):
        if isinstance(args[at], str | bytes | os.PathLike):
            path = os.fsdecode(args[at])
            if beneath is not None and args[beneath] >= 0:
                path = os.path.join(os.readlink(f"/proc/self/fd/{args[beneath]}"), path)
            if not _allowed(event, path, args):
                raise _Stop(f"outside: {event} of {path!r}")
    pair = event == "socket.__new__" and args[1] == getattr(socket, "AF_UNIX", None)  # an event loop wakes itself so
    if event.startswith("socket.") and not pair:
        raise _Stop(f"network: {event} {args!r}"[:300])


def _allowed(event: str, path: str, args: tuple[Any, ...]) -> bool:
    if _watched is None or _watched.holds(path) or path == os.devnull:
        return True
    reads = event in ("os.listdir", "os.scandir") or (event == "open" and not args[2] & (os.O_WRONLY | os.O_RDWR))
    return reads and (os.path.realpath(path).startswith(_MODULES) or _MEMORY.fullmatch(path) is not None)


sys.addaudithook(_audit)


def _too_long(_: int, frame: FrameType | None) -> None:
    raise _Stop(f"time: more than {SECONDS} s")


_high = 0


@contextmanager
def watching(folder: Folder) -> Iterator[None]:
    """Take the process for executions in one folder."""
    _forget_peak()
    before, tempfile.tempdir = tempfile.tempdir, folder.temporary
    targets = {"MINUEND_TARGETS": os.path.join(folder.temporary, "targets")}  # whose user it is is nobody's business
    handler = signal.signal(signal.SIGPROF, _too_long)
    try:
        with (
            patch.dict(os.environ, targets),
            warnings.catch_warnings(action="error"),
        ):  # nobody who reads a file wants Python's
            yield
    finally:
        if "minuend.onnx.processes.computing_process" in sys.modules:  # its processes' folders lie in this one
            sys.modules["minuend.onnx.processes.computing_process"].PROCESSES.stop()
        tempfile.tempdir = before
        signal.signal(signal.SIGPROF, handler)


def execute(run: Callable[[bytes, Folder], object], data: bytes, folder: Folder) -> str:
    """Run one input within :func:`watching`; return where an error was raised, or what ``run`` returned.

    Raises:
        Failure: see above.
    """
    global _watched  # noqa: PLW0603 - an audit hook stays for good, so it has to be told when it is meant
    start = time.perf_counter()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    _watched = folder
    try:
        outcome = f"done {run(data, folder)}"
    except (MinuendError, OSError) as error:
        outcome = _told(error, folder)
    except _Stop as stop:
        kind, _, told = str(stop).partition(": ")
        raise Failure(kind, told, _place(stop)) from None
    except Exception as error:
        raise Failure("exception", f"{type(error).__name__}: {error}"[:500], _place(error)) from error
    finally:
        _watched = None
        signal.setitimer(signal.ITIMER_PROF, 0)
    if time.perf_counter() - start > _LONG and (grown := _memory() - _high) > BYTES:
        _forget_peak()
        raise Failure("memory", f"{grown >> 20} MiB", str(run))
    if left := folder.left():
        raise Failure("left", f"{left}", str(run))
    return outcome


def _told(error: MinuendError | OSError, folder: Folder) -> str:
    """Check that an error's words are fit for a terminal, and that one of the system names its file."""
    text = str(error)
    if not isinstance(error, MinuendError) and not error.filename and folder.path not in text:
        raise Failure("exception", f"without a path: {error!r}", _place(error)) from error
    if isinstance(error, MinuendError) and not (
        0 < len(text) < _LONGEST_MESSAGE and text.replace("\n", "").isprintable()
    ):
        raise Failure("message", repr(text[:300]), _place(error)) from error
    return _place(error)


def _place(error: BaseException) -> str:
    """The kind of an error, and the last lines of this package that it passed."""
    lines, step = [], error.__traceback__
    while step is not None:
        _, package, path = step.tb_frame.f_code.co_filename.rpartition("/minuend/")
        if package:
            lines.append(f"{path}:{step.tb_lineno}")
        step = step.tb_next
    return f"{type(error).__name__} {' '.join(lines[-3:])}"


def _forget_peak() -> None:
    """Start anew with the most memory that this process has had."""
    global _high  # noqa: PLW0603 - of this process
    with suppress(OSError), open("/proc/self/clear_refs", "w") as asked:
        asked.write("5")
    _high = _memory()


def _memory() -> int:
    """The most memory that this process has had, in bytes; what rusage tells may be that of its parent."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) << 10
