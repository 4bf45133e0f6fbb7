"""Child processes that run models: a temporary folder of their own, and bounds on memory and time.

A runtime may leave files where it is set to put temporary ones, take all memory, and never return. So its process
gets a folder that is removed with it, and is ended when a request exceeds its limits. Nobody sends statistics of use.
On Linux the kernel ends it with this process, however this one ends (:func:`minuend.worker.ending_with_caller`).
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import IO, Any

from minuend import worker
from minuend.errors import LimitExceeded, Unsupported

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

    def applied(self) -> contextlib.AbstractContextManager[None]:
        """Set these limits for models that run within the block."""
        return limited(self.memory, self.seconds)


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

    def wait(self) -> None:
        """Wait for the process to write something, where that needs no thread."""

    def _look(self) -> None:
        end = math.inf if self.limits.seconds is None else time.monotonic() + self.limits.seconds
        while not self._over.wait(max(0.0, min(_EVERY, end - time.monotonic()))):
            if self._most is not None and memory_of(self._popen.pid) > self._most:
                self._break("memory")
                return
            if time.monotonic() >= end:
                self._break("seconds")
                return

    def _break(self, which: str) -> None:
        self.broken = which
        self._popen.kill()


class Wait(Watch):
    """The same for limits without memory, without a thread: that costs ten times what a small request does."""

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def wait(self) -> None:
        """Wait for the process to write something, so long at most."""
        if self.limits.seconds is None:
            return
        assert self._popen.stdout is not None
        poll = select.poll()
        poll.register(self._popen.stdout, select.POLLIN)
        if not poll.poll(self.limits.seconds * 1000):
            self._break("seconds")


def _watch(popen: subprocess.Popen[bytes], limits: Limits, given: int) -> Watch:
    """Watch a process in the way that its limits and the system need; Windows waits for no pipe."""
    thread = limits.memory is not None or (limits.seconds is not None and not hasattr(select, "poll"))
    return (Watch if thread else Wait)(popen, limits, given)


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


Message = tuple[dict[str, Any], list[bytes]]
"""What a process is sent and sends: a head and byte strings; see :mod:`minuend.worker`."""

NONE = Limits(None, None)
"""No limits."""


class Child:
    """A process that answers requests, one after the other: what comes on its standard input, on its standard output.

    Args:
        what: what it is for, as in "HDF5 is read in a process of its own". command: what is started.
        errors: where its standard error goes.
        environment: variables besides those of this process.
        folder: whether it gets a temporary folder, which is its current one, and a pipe that ends it with this process.
        greets: whether it writes a message when it is ready for requests.

    Attributes:
        popen: the process. folder: its temporary files; ``""`` for none. pipe: the write end of a pipe that carries
            nothing, which is closed when this process ends; ``None`` without a folder and on other systems than Linux.
        broken: the limit that it exceeded, ``"memory"`` or ``"seconds"``; ``""`` where none.
        idle: whether it can take a request: it is not at one, and none has failed.

    Raises:
        Unsupported: it does not start.
    """

    def __init__(
        self,
        what: str,
        command: Sequence[str],
        errors: IO[bytes] | int = subprocess.DEVNULL,
        environment: Mapping[str, str] | None = None,
        *,
        folder: bool = True,
        greets: bool = False,
    ) -> None:
        self._what, self._command, self._greets = what, command, greets
        self.folder, self.broken, self.idle = "", "", True
        self.pipe: IO[bytes] | None = None
        try:
            self._start(errors, environment or {}, folder=folder)
        except OSError as error:
            raise Unsupported(f"{what}, and {command[0]!r} does not start: {error}") from None

    def _start(self, errors: IO[bytes] | int, environment: Mapping[str, str], *, folder: bool) -> None:
        own: dict[str, str] = {}
        passed, self.pipe = _pipe() if folder else ([], None)
        try:  # from here on: Ctrl-C may come at any time
            if folder:
                import tempfile  # slow, and the process that most need has no folder

                self.folder = tempfile.mkdtemp(prefix="minuend-")
                FOLDERS.add(self.folder)
                own = {**QUIET, **dict.fromkeys(("TMPDIR", "TEMP", "TMP", FOLDER), self.folder)}
                own.update((worker.CALLER, str(one)) for one in passed)
            self.popen = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=self.folder or None,
                env={**os.environ, **own, **environment},
                pass_fds=passed,
            )
            _close(passed)
        except BaseException:
            self._remove()
            _close(passed)
            raise

    def greeting(self, limits: Limits = NONE) -> dict[str, Any] | None:
        """Return what the process writes when it is ready; ``None`` where it does not get there."""
        self.idle, found = False, None
        with _watch(self.popen, limits, 0) as watch, contextlib.suppress(ValueError, KeyError):  # of another program
            watch.wait()
            found = worker.read(self.popen.stdout)
        self.idle, self._greets = found is not None, False
        return None if found is None else found[0]

    def request(
        self,
        head: Mapping[str, Any],
        parts: Sequence[bytes] = (),
        limits: Limits = NONE,
        given: int = 0,
        source: Callable[[int, int], bytes | memoryview] | None = None,
    ) -> Message | None:
        """Return the answer to a request; ``None`` where the process ended, over a limit (see ``broken``) or by itself.

        Args:
            head, parts: the request. limits: what the process may take for it, besides :data:`TIMES` the bytes
                ``given``. source: bytes by offset and size, which the process may want before it answers.

        Raises:
            Unsupported: it ended before it was ready.
        """
        if self._greets and self.greeting(limits) is None:
            self.popen.kill()
            command = " ".join(self._command[:-1])  # without what the script is given
            raise Unsupported(f"{self._what}, which does not start: {command} ended with status {self.popen.wait()}")
        self.idle, answer = False, None
        with _watch(self.popen, limits, given) as watch:
            with contextlib.suppress(BrokenPipeError):  # it has ended, and what it wrote before can be read
                worker.write(self.popen.stdin, head, parts)
            answer = self._answer(watch)
            while answer is not None and source is not None and "read" in answer[0]:
                with contextlib.suppress(BrokenPipeError):
                    worker.write(self.popen.stdin, {}, [source(*answer[0]["read"])])
                answer = self._answer(watch)
        self.broken, self.idle = watch.broken, answer is not None and not watch.broken
        return answer

    def _answer(self, watch: Watch) -> Message | None:
        watch.wait()
        return worker.read(self.popen.stdout)

    def abandon(self) -> None:
        """Close the pipes in a forked process: the child is the parent's, which alone waits for it."""
        self.hang_up()
        self.popen.returncode = 0

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
        if self.folder:
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
