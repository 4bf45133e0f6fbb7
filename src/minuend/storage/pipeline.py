"""Work on one region after another: reading, computing and writing overlap, in a few threads and bounded memory.

Reads and writes of a file release the interpreter, and the kernel works without it, so threads are enough. What is
under way at a time is bounded by its bytes: :data:`BUDGET` holds the operands' parts and the results of all blocks that
are read, computed or waiting to be written.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from minuend import _native
from minuend.storage.regions import Region

BUDGET = 128 << 20
"""Bytes of all blocks that are under way."""

MOST_WORKERS = 8
"""Threads beyond which memory is what all wait for."""

T = TypeVar("T")


def workers() -> int:
    """How many threads work on blocks: as many as the kernel would use; two on one CPU, so that files are waited for
    while something is computed.
    """
    return max(2, min(MOST_WORKERS, _native.get_num_threads()))


def ahead(work: Callable[[Region], T], regions: Iterable[Region], nbytes: int) -> Iterator[T]:
    """Work on regions in threads and yield what comes of each, in their order.

    Args:
        work: what is done with a region. regions: all of them. nbytes: what one takes in memory, at the most.

    Raises:
        Exception: the first one that ``work`` raised, in the order of the regions. Threads end with the block that they
            are at, whether this ends well, with an error, or by a signal.
    """
    most = min(workers(), max(1, BUDGET // max(1, nbytes)))
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
