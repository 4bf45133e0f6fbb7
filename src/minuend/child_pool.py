"""Child processes that wait for the next request: started at the first one, ended with this process."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from minuend.child import Child
from minuend.errors import MinuendError

P = TypeVar("P", bound=Child)


class Pool(Generic[P]):
    """Processes that answer requests, one after the other; one that is idle waits for the next request.

    Args:
        start: starts a process. single: whether all threads share one, and wait for each other; else each that has a
            request meanwhile gets a process.

    Attributes:
        idle: the process that waits, if any.
    """

    def __init__(self, start: Callable[[], P], *, single: bool = False) -> None:
        self._start, self._single = start, single
        self.idle: list[P] = []
        self._unlock()
        atexit.register(self.stop)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def _unlock(self) -> None:
        self._lock = threading.Lock()
        self._turn = threading.Lock() if self._single else contextlib.nullcontext()

    @contextlib.contextmanager
    def process(self) -> Iterator[P]:
        """A process for requests. It is ended after an error that is not of this package, Ctrl-C too, and where a
        request did not come to its end: the answer would be taken for that of the next one.
        """
        with self._turn:
            one = self._taken()
            try:
                yield one
            except MinuendError:
                raise
            except BaseException:
                one.idle = False
                raise
            finally:
                self._give_back(one)

    def _taken(self) -> P:
        with self._lock:
            one = self.idle.pop() if self.idle else None
        if one is not None and one.popen.poll() is not None:
            one.end()
            one = None
        return self._start() if one is None else one

    def _give_back(self, one: P) -> None:
        with self._lock:
            waits = one.idle and not self.idle
            if waits:
                self.idle.append(one)
        if not waits:
            one.end()

    def stop(self) -> None:
        """End the process that waits."""
        while self.idle:
            self.idle.pop().end()

    def _after_fork(self) -> None:
        """A forked process starts one of its own: two that write to one pipe would read each other's answers."""
        self._unlock()
        while self.idle:
            self.idle.pop().abandon()
