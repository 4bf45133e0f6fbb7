"""Work on many items in copies of this process, one for each CPU: Python runs one thread at a time.

A copy has what this process has read and cached. It gets the position of an item and sends back, pickled, what came of
it. It ends with this process, however that ends: nobody else holds the other end of its pipe.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import struct
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Generic, NoReturn, TypeVar

from minuend.errors import MinuendError

T = TypeVar("T")
R = TypeVar("R")

_POSITION = struct.Struct("=q")
"""How the position of an item is written."""

_SIGNALS_EVERY = 100
"""Milliseconds after which a wait looks for signals: one that comes just before it begins does not wake it."""

CAN_FORK = sys.platform == "linux"
"""Whether processes are copied: Windows cannot, and Apple's libraries do not stand it."""


def results(
    work: Callable[[T], R], items: Sequence[T], processes: int, ended: Callable[[T], R] | None = None
) -> Iterator[R]:
    """Yield what ``work`` makes of each item, in their order.

    Args:
        work: is called in the copies; what it returns, and what it raises, is pickled. items: of which work is made.
        processes: how many copies; of one or none, ``work`` is called here.
        ended: makes, here, what comes of an item whose copy ended early.

    Raises:
        MinuendError: a copy ended early, and ``ended`` is not given. Others: what ``work`` raises.

    >>> list(results(abs, [-1, 2, -3], processes=2))
    [1, 2, 3]
    """
    if processes < 2 or not CAN_FORK:
        yield from map(work, items)
        return
    copies: list[_Copy[T, R]] = []
    try:
        with contextlib.suppress(OSError):  # the system has no more processes or pipes: those that are there do it all
            for _ in range(min(processes, len(items))):
                copies.append(_Copy(work, items, copies))
        yield from _in_order(copies, work, items, ended) if copies else map(work, items)
    finally:
        for copy in copies:
            copy.end()


def _in_order(
    copies: list[_Copy[T, R]], work: Callable[[T], R], items: Sequence[T], ended: Callable[[T], R] | None
) -> Iterator[R]:
    """Send each copy that is free the next item, and yield the answers in the order of the items."""
    waiting = iter(range(len(items)))
    poll = select.poll()
    at: dict[int, _Copy[T, R]] = {}
    for copy in copies:
        copy.begin(next(waiting))
        at[copy.answers.fileno()] = copy
        poll.register(copy.answers, select.POLLIN)
    done: dict[int, R] = {}
    for wanted in range(len(items)):
        while wanted not in done:
            for descriptor, _ in poll.poll(_SIGNALS_EVERY):
                copy = at[descriptor]
                try:
                    done[copy.item] = copy.answer()
                except _EndedEarly:
                    if ended is None:
                        raise
                    poll.unregister(descriptor)
                    copies.remove(copy)
                    copy.end()
                    done[copy.item] = ended(items[copy.item])
                    copy = _Copy(work, items, copies)
                    copies.append(copy)
                    at[copy.answers.fileno()] = copy
                    poll.register(copy.answers, select.POLLIN)
                following = next(waiting, None)
                if following is None:
                    poll.unregister(copy.answers)
                else:
                    copy.begin(following)
        yield done.pop(wanted)


class _EndedEarly(MinuendError):
    """A copy that ended before it answered."""


class _Copy(Generic[T, R]):
    """A copy of this process.

    Args:
        work, items: as of :func:`results`. others: the copies that were made before, whose pipes this one closes.

    Attributes:
        positions: the pipe that takes positions of items to it. answers: the one that takes its answers here.
        item: the position of what it works on.
    """

    def __init__(self, work: Callable[[T], R], items: Sequence[T], others: Sequence[_Copy[T, R]]) -> None:
        self.item = -1
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            positions, self.positions = _pipe(theirs, ours)
            self.answers, answers = _pipe(ours, theirs)
            before = signal.pthread_sigmask(signal.SIG_BLOCK, _OF_A_TERMINAL)
            try:
                self._pid = _fork()
                if not self._pid:
                    _serve(work, items, positions, answers, [ours, *others])
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            ours.pop_all()

    def begin(self, item: int) -> None:
        """Have it work on the item at a position."""
        self.item = item
        with contextlib.suppress(BrokenPipeError):  # it has ended, and its answer says so
            self.positions.write(_POSITION.pack(item))
            self.positions.flush()

    def answer(self) -> R:
        """Return what came of the item."""
        try:
            found, error = pickle.load(self.answers)
        except (EOFError, pickle.UnpicklingError):
            raise _EndedEarly(
                f"a process ended early that was started for many models, at number {self.item}; the system may have "
                "ended it for its memory; set MINUEND_NUM_THREADS=1 for one process, or name fewer models"
            ) from None
        if error is not None:
            raise error
        return found  # type: ignore[no-any-return]

    def close(self) -> None:
        """Close the pipes."""
        for pipe in (self.positions, self.answers):
            with contextlib.suppress(BrokenPipeError):  # a position that was not sent to one that has ended
                pipe.close()

    def end(self) -> None:
        """End it, whatever it works on."""
        self.close()
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def _fork() -> int:
    """Copy this process. Newer Pythons warn of threads: those of NumPy and the kernel are idle, and know of forks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    """Open a pipe, of which two blocks close an end each."""
    reading, writing = os.pipe()
    return reader.enter_context(os.fdopen(reading, "rb")), writer.enter_context(os.fdopen(writing, "wb"))


_OF_A_TERMINAL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if CAN_FORK else ()
"""Signals that a copy does not get: the caller gets them, too, and ends it."""


def _serve(
    work: Callable[[T], R],
    items: Sequence[T],
    positions: IO[bytes],
    answers: IO[bytes],
    others: Sequence[contextlib.ExitStack | _Copy[T, R]],
) -> NoReturn:
    """Answer until the pipe ends; the caller alone cleans up what was there before, so nothing else runs at the end."""
    status = 1
    try:
        for one in others:
            one.close()
        while position := positions.read(_POSITION.size):
            answers.write(_answer(work, items[_POSITION.unpack(position)[0]]))
            answers.flush()
        status = 0
    finally:
        os._exit(status)


def _answer(work: Callable[[T], R], item: T) -> bytes:
    try:
        return pickle.dumps((work(item), None))
    except Exception as error:
        error.add_note(traceback.format_exc())
        return pickle.dumps((None, error))
