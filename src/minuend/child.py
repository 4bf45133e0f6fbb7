"""Child processes that run models: a temporary folder of their own, and bounds on memory and time.

A runtime may leave files where it is told to put temporary ones, take all memory, and never return. So its process
gets a folder that is removed with it, and is ended when a request exceeds its limits. Nobody sends statistics of use.
On Linux the kernel ends it with this process, however this one ends (:func:`minuend.worker.ending_with_caller`).
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import IO

from minuend import worker
from minuend.errors import LimitExceeded

MEMORY = 4 << 30
"""Bytes that running a model may take, besides those in :data:`TIMES`."""

TIMES = 6
"""How many times the bytes of the model and its inputs are allowed besides: they are read, parsed and copied."""

SECONDS = 600.0
"""Seconds that a model may take."""

CASE_SECONDS = 120.0
"""Seconds that one case of a runtime may take that is proven or measured."""

FOLDER = "MINUEND_TEMPORARY"
"""The environment variable that names the folder that a child removes at its end."""

_EVERY = 0.02
"""Seconds between two looks at a process."""


# ---- limits -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Limits:
    """What running one model may take.

    Attributes:
        memory: bytes besides what the process has at the start, and :data:`TIMES` the model and its inputs.
        seconds: of the clock. Both: ``None`` for no limit.
    """

    memory: int | None = MEMORY
    seconds: float | None = SECONDS


_current: ContextVar[Limits] = ContextVar("limits", default=Limits())  # noqa: B039 - frozen


def current() -> Limits:
    """Return the limits in force.

    >>> with limited(max_memory=1 << 20, max_seconds=None):
    ...     current()
    Limits(memory=1048576, seconds=None)
    """
    return _current.get()


@contextlib.contextmanager
def limited(max_memory: int | None = MEMORY, max_seconds: float | None = SECONDS) -> Iterator[None]:
    """Set the limits for models that run within the block."""
    token = _current.set(Limits(max_memory, max_seconds))
    try:
        yield
    finally:
        _current.reset(token)


def exceeded(what: str, which: str, limits: Limits) -> LimitExceeded:
    """Return the error of a process that was ended.

    Args:
        what: what ran, and where. which: ``"memory"`` or ``"seconds"``.
    """
    took = f"{shown_bytes(limits.memory or 0)} of memory" if which == "memory" else f"{limits.seconds:g} s"
    value = limits.memory if which == "memory" else limits.seconds
    return LimitExceeded(
        f"{what} was stopped: it took more than {took}, the limit of max_{which}; if it needs more, "
        f"set --max-{which} (in Python max_{which}=), none for no limit",
        limit=f"max_{which}",
        value=0 if value is None else value,
    )


def shown_bytes(count: int) -> str:
    """Write a number of bytes: ``shown_bytes(1 << 30)`` is ``"1 GiB"``."""
    for size, word in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= size:
            return f"{count / size:.4g} {word}"
    return f"{count} bytes"


class Watch:
    """Ends a process that exceeds limits while it works on one request.

    Args:
        popen: the process. limits: what it may take. given: the bytes that it is given.

    Attributes:
        broken: the limit that it exceeded, ``"memory"`` or ``"seconds"``; ``""`` where none.
    """

    def __init__(self, popen: subprocess.Popen[bytes], limits: Limits, given: int = 0) -> None:
        self._popen, self.limits, self.broken = popen, limits, ""
        self._most = None if limits.memory is None else memory_of(popen.pid) + limits.memory + TIMES * given
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="minuend-watch", daemon=True)

    def __enter__(self) -> Watch:
        try:
            self._thread.start()
        except RuntimeError as error:  # Python's way of saying it of threads
            raise MemoryError(str(error)) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        end = math.inf if self.limits.seconds is None else time.monotonic() + self.limits.seconds
        while not self._over.wait(max(0.0, min(_EVERY, end - time.monotonic()))):
            if self._most is not None and memory_of(self._popen.pid) > self._most:
                self.broken = "memory"
            elif time.monotonic() >= end:
                self.broken = "seconds"
            if self.broken:
                self._popen.kill()
                return


class Budget:
    """The limits of what this process computes itself, looked at between steps.

    Args:
        what: what is computed. given: bytes of the model and its inputs.
    """

    def __init__(self, what: str, given: int) -> None:
        self._what, self._limits, self._start = what, current(), time.monotonic()
        self._most = math.inf if self._limits.memory is None else self._limits.memory + TIMES * given

    def check(self, memory: int) -> None:
        """Check the bytes that are in use, and the time.

        Raises:
            LimitExceeded: more than may be taken.
        """
        if memory > self._most:
            raise exceeded(self._what, "memory", self._limits)
        if self._limits.seconds is not None and time.monotonic() - self._start > self._limits.seconds:
            raise exceeded(self._what, "seconds", self._limits)


def memory_of(process: int) -> int:
    """Bytes of memory that a process and those that it started have now; 0 where the system does not say."""
    total, found = 0, [process]
    for one in found:
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{one}/statm", "rb") as stream:
                total += int(stream.read().split()[1]) * _PAGE
            with open(f"/proc/{one}/task/{one}/children", "rb") as stream:
                found += map(int, stream.read().split())
    return total


_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


# ---- processes --------------------------------------------------------------------------------------------------


def python(path: str | None = None) -> list[str]:
    """Return the command that starts this Python, or another one, isolated from its folder and environment.

    Where this Python has not looked for site packages, neither does the other.
    """
    alone = ["-S"] if path is None and sys.flags.no_site else []
    return [path or sys.executable or "python", "-I", *alone]


def import_path() -> str:
    """Return the folders where this process finds modules, for a child that is to find the same ones.

    They are those of ``sys.path``, absolute: the current directory is among them only where it is there.
    """
    return json.dumps([os.path.abspath(one) for one in sys.path if isinstance(one, str)])


class Child:
    """A process that answers on its standard output what comes on its standard input.

    Args:
        command: what is started. errors: where its standard error goes.
        environment: variables besides those of this process.

    Attributes:
        popen: the process. folder: its temporary files. pipe: the write end of a pipe that carries nothing, which is
            closed when this process ends; ``None`` on other systems than Linux.
    """

    def __init__(
        self, command: Sequence[str], errors: IO[bytes] | int, environment: Mapping[str, str] | None = None
    ) -> None:
        self.folder = ""
        passed, self.pipe = _pipe()
        try:  # from here on: Ctrl-C may come at any time
            self.folder = tempfile.mkdtemp(prefix="minuend-")
            FOLDERS.add(self.folder)
            own = dict.fromkeys(("TMPDIR", "TEMP", "TMP", FOLDER), self.folder)
            own.update((worker.CALLER, str(one)) for one in passed)
            self.popen = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=self.folder,
                env={**os.environ, **QUIET, **own, **(environment or {})},
                pass_fds=passed,
            )
            _close(passed)
        except BaseException:
            self._remove()
            _close(passed)
            raise

    def hang_up(self) -> None:
        """Close the pipes: the process ends when all who hold them have."""
        for pipe in (self.popen.stdin, self.popen.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):  # what was not sent to a process that has died
                pipe.close()

    def end(self, patience: float = 0.0) -> int:
        """Close the pipes, wait for the end, forced after ``patience`` seconds, and return the status."""
        if not patience:
            self.popen.kill()
        self.hang_up()
        try:
            return self.popen.wait(patience or None)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            return self.popen.wait()
        finally:
            if self.popen.returncode is None:  # Ctrl-C while it was waited for
                self.popen.kill()
                self.popen.wait()
            self._remove()

    def _remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        FOLDERS.discard(self.folder)
        if self.pipe is not None:
            _PIPES.discard(self.pipe)
            self.pipe.close()


def _pipe() -> tuple[list[int], IO[bytes] | None]:
    """Open a pipe for a child: what the child is passed, and the end that stays here."""
    if sys.platform != "linux":
        return [], None
    reading, writing = os.pipe()
    here = os.fdopen(writing, "wb", buffering=0)
    _PIPES.add(here)
    return [reading], here


def _close(descriptors: list[int]) -> None:
    """Close descriptors, each once."""
    while descriptors:
        os.close(descriptors.pop())


_PIPES: set[IO[bytes]] = set()
"""The pipes of processes that are there still."""


def _close_pipes() -> None:
    """Close them in a forked process: the children are its parent's, and end with that one."""
    while _PIPES:
        _PIPES.pop().close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_pipes)


FOLDERS: set[str] = set()
"""The folders for temporary files of processes that are there still."""

QUIET = {"ORT_DISABLE_TELEMETRY": "1"}
"""What keeps runtimes from sending statistics of use, and from files that are for those."""
