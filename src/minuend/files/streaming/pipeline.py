"""Work on one region after another: reading, computing and writing overlap, in a few threads and bounded memory.

Reads and writes of a file release the interpreter, and the kernel works without it, so threads are enough. What is
under way at a time is bounded by its bytes: :data:`BUDGET` holds the operands' parts and the results of all blocks that
are read, computed or waiting to be written.
"""

from __future__ import annotations

import contextlib
import functools
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from minuend import _native

BUDGET = 128 << 20
"""Bytes of all blocks that are under way."""

MOST_WORKERS = 8
"""Threads beyond which memory is what all wait for."""

_SIGNALS_EVERY = 0.1
"""Seconds after which a thread that waits wakes up."""

R = TypeVar("R")
T = TypeVar("T")


_given: list[int] = []
"""The threads that the kernel has given up for those that work on blocks."""


def workers() -> int:
    """How many threads work on blocks: as many as the kernel would use; two on one CPU, so that files are waited for
    while something is computed.
    """
    return max(2, min(MOST_WORKERS, _given[-1] if _given else _native.get_num_threads()))


@contextlib.contextmanager
def sole() -> Iterator[None]:
    """Work on files as all that this process does, as the command line does: blocks are the only work that is divided
    between threads (twice divided it takes 1.5 times as long), and little memory stays for later results.
    """
    threads, limit = _native.get_num_threads(), _native.cache_limit()
    _given.append(workers())
    try:
        _native.set_num_threads(1)
        _native.set_cache_limit(min(limit, BUDGET))
        yield
    finally:
        _native.set_num_threads(threads)
        _native.set_cache_limit(limit)
        _given.pop()


def as_they_end(futures: Iterable[Future[T]]) -> Iterator[Future[T]]:
    """Yield futures as their work ends, and handle signals meanwhile.

    Only the main thread handles signals. One that another thread receives, or that comes just before the main thread
    begins to wait, does not wake it: a wait without a limit would go on until the work ends.

    >>> with ThreadPoolExecutor(2) as pool:
    ...     sorted(done.result() for done in as_they_end([pool.submit(abs, -1), pool.submit(abs, 2)]))
    [1, 2]
    """
    left = set(futures)
    while left:
        done, left = wait(left, _SIGNALS_EVERY, FIRST_COMPLETED)
        yield from done


def result(future: Future[T]) -> T:
    """Wait for the end of some work, handle signals meanwhile, and return what it returned or raise what it raised."""
    return next(as_they_end([future])).result()


def each(work: Callable[[R], object], regions: Iterable[R], nbytes: int) -> None:
    """Work on regions in threads, in any order.

    Args:
        work: what is done with a region. regions: all of them. nbytes: what one takes in memory, at the most.

    Raises:
        Exception: one that ``work`` raised. Threads end with the block that they are at, whether this ends well, with
            an error, or by a signal.
    """
    left, lock, ended = iter(regions), threading.Lock(), threading.Event()

    def go_on() -> None:
        while not ended.is_set():
            with lock:
                region = next(left, None)
            if region is None:
                return
            work(region)

    most = _at_once(nbytes)
    with ThreadPoolExecutor(most, "minuend") as pool:
        try:
            for done in as_they_end([_submitted(pool, go_on) for _ in range(most)]):
                done.result()
        finally:
            ended.set()


def _at_once(nbytes: int) -> int:
    return min(workers(), max(1, BUDGET // max(1, nbytes)))


def ahead(work: Callable[[R], T], regions: Iterable[R], nbytes: int) -> Generator[T, None, None]:
    """Work on regions in threads and yield what comes of each, in their order.

    Args:
        work: what is done with a region. regions: all of them. nbytes: what one takes in memory, at the most.

    Raises:
        Exception: the first one that ``work`` raised, in the order of the regions. Threads end with the block that they
            are at, whether this ends well, with an error, or by a signal.
    """
    most = _at_once(nbytes)
    pool = ThreadPoolExecutor(most, "minuend")
    waiting: deque[Future[T]] = deque()
    try:
        for region in regions:
            waiting.append(_submitted(pool, functools.partial(work, region)))
            # One block beyond those that threads work on: whoever is done finds the next one there.
            if len(waiting) > most:
                yield result(waiting.popleft())
        while waiting:
            yield result(waiting.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


class Stopped(Exception):
    """Ends work in :func:`outside_signals`, because the caller was interrupted."""


_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")


@contextlib.contextmanager
def _deferred(stop: threading.Event) -> Iterator[list[int]]:
    """Let signals that end a program set an event; yield those that came, which the caller raises after the block.

    An exception at any bytecode could leave a thread that was started and is not known yet, and wait for it for ever.
    """
    came: list[int] = []
    before: dict[int, Any] = {}

    def note(number: int, _: object) -> None:
        came.append(number)
        stop.set()

    try:
        if threading.current_thread() is threading.main_thread():  # the only one that handles signals
            for number in (getattr(signal, name) for name in _ENDING if hasattr(signal, name)):
                handler = signal.getsignal(number)
                if handler not in (None, signal.SIG_IGN):
                    before[number] = handler
                    signal.signal(number, note)
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _submitted(pool: ThreadPoolExecutor, work: Callable[[], T]) -> Future[T]:
    """Submit work; signals that come meanwhile are raised when the pool knows the thread that it has started for it."""
    with _deferred(threading.Event()) as came:
        future = pool.submit(work)
    _raise(came)
    return future


def _raise(came: Iterable[int]) -> None:
    for number in dict.fromkeys(came):
        signal.raise_signal(number)


def outside_signals(work: Callable[[Callable[[], None]], T]) -> T:
    """Run work in a thread, where no signal becomes an exception, and wait for its end.

    Python raises Ctrl-C in the main thread alone, at any bytecode: also in a callback of a library in C, which then
    continues with an exception that it does not know of, and crashes. Work runs in a thread for that reason. An
    interrupt stops it at its next check; the thread always ends before this function does.

    Args:
        work: takes a check, to be called between blocks outside of callbacks: it raises :class:`Stopped` after an
            interrupt.

    >>> outside_signals(lambda check: 7)
    7
    """
    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise Stopped

    with _deferred(stop) as came, ThreadPoolExecutor(1, "minuend") as pool:
        done = pool.submit(work, check)
        next(as_they_end([done]))
    _raise(came)
    return done.result()
