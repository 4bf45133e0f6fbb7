"""A runtime in several child processes, which share the cases that it is queried with.

A case takes a runtime milliseconds and this process as long, one after the other. With two processes one works while
the other waits. What is queried and what comes of it does not depend on how many there are.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from types import TracebackType
from typing import TypeVar

from minuend import _native
from minuend.files.streaming.pipeline import result
from minuend.runtimes.running import Runtime

MOST = 4
"""Processes beyond which this process is what all wait for."""

R = TypeVar("R")
T = TypeVar("T")


class Workers:
    """Child processes of one runtime.

    Args:
        first: the runtime; whoever made it closes it. most: how many processes at most, by default one for each CPU.
    """

    def __init__(self, first: Runtime, most: int | None = None) -> None:
        self._most = min(MOST, _native.get_num_threads()) if most is None else most
        self._runtimes = [first]
        self._free: SimpleQueue[Runtime] = SimpleQueue()
        self._free.put(first)

    @property
    def cpu(self) -> str:
        """What the runtime runs on."""
        return self._runtimes[0].cpu

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for runtime in self._runtimes[1:]:
            runtime.__exit__(kind, error, trace)

    def restart(self) -> None:
        """Stop the child processes; what is queried next starts new ones."""
        for runtime in self._runtimes:
            runtime.restart()

    def map(self, work: Callable[[Runtime, T], R], items: Sequence[T]) -> list[R]:
        """Return what ``work`` makes of a runtime and each item, in the order of the items."""
        while len(self._runtimes) < min(self._most, len(items)):
            self._runtimes.append(self._runtimes[0].another())
            self._free.put(self._runtimes[-1])

        def one(item: T) -> R:
            runtime = self._free.get()
            try:
                return work(runtime, item)
            finally:
                self._free.put(runtime)

        if len(self._runtimes) == 1:
            return [one(item) for item in items]
        with ThreadPoolExecutor(len(self._runtimes), "minuend") as pool:
            # Each in the caller's context, which has the limits of a run.
            futures = [pool.submit(contextvars.copy_context().run, one, item) for item in items]
            try:
                return [result(future) for future in futures]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for runtime in self._runtimes:
                    runtime.end()
                raise


class Steps:
    """Counts what is done in several threads.

    Args:
        progress: called with the number of steps done and of all. total: all of them.
    """

    def __init__(self, progress: Callable[[int, int], None] | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self._total)
