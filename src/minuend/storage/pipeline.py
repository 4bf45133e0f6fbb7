"""Work on one region after another: reading, computing and writing overlap, in a few threads and bounded memory.

Reads and writes of a file release the interpreter, and the kernel works without it, so threads are enough. What is
under way at a time is bounded by its bytes: :data:`BUDGET` holds the operands' parts and the results of all blocks that
are read, computed or waiting to be written.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import TypeVar

from minuend import _native

BUDGET = 128 << 20
"""Bytes of all blocks that are under way."""

MOST_WORKERS = 8
"""Threads beyond which memory is what all wait for."""

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
    between threads (twice divided it takes 1.5 times as long), and little memory is kept for later results.
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


def each(work: Callable[[R], object], regions: Iterable[R], nbytes: int) -> None:
    """Work on regions in threads, in any order.

    Args:
        work: what is done with a region. regions: all of them. nbytes: what one takes in memory, at the most.

    Raises:
        Exception: one that ``work`` raised. Threads end with the block that they are at, whether this ends well, with
            an error, or by a signal.
    """
    left, turn, ended = iter(regions), threading.Lock(), threading.Event()

    def go_on() -> None:
        while not ended.is_set():
            with turn:
                region = next(left, None)
            if region is None:
                return
            work(region)

    most = _at_once(nbytes)
    with ThreadPoolExecutor(most, "minuend") as pool:
        try:
            for done in as_completed([pool.submit(go_on) for _ in range(most)]):
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
            waiting.append(pool.submit(work, region))
            # One block beyond those that threads work on: whoever is done finds the next one there.
            if len(waiting) > most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
