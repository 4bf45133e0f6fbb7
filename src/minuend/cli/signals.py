"""Signals that end a program, as an exception: what cleans up after an error then cleans up after them too."""

from __future__ import annotations

import atexit
import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TypeAlias

_SAME = 1.0
"""Seconds within which further signals mean the same: they must not end what the first one began to clean up."""


Handler: TypeAlias = Callable[[int, FrameType | None], object] | int | signal.Handlers | None
"""What handles a signal, as :func:`signal.getsignal` gives it."""


class Ended(BaseException):
    """A signal that asks the program to end; ``number`` is the signal's."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)

    @property
    def status(self) -> int:
        """The exit status by which shells tell that a signal ended a program."""
        return 128 + self.number


class _Late:
    """A handler that lets signals pass for a moment, and then puts the one back that was there before."""

    def __init__(self, kept: Handler, since: float) -> None:
        self.kept, self._since = kept, since

    def __call__(self, number: int, _: FrameType | None) -> None:
        if time.monotonic() - self._since >= _SAME:
            signal.signal(number, self.kept)
            signal.raise_signal(number)


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Raise :class:`Ended` for Ctrl-C, SIGTERM and SIGHUP while the block runs.

    A signal that is ignored stays so (``nohup``, jobs in the background), as does one that somebody else handles.
    Nothing is done outside of the main thread, which alone gets signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept: dict[int, Handler] = {}
    last = -math.inf

    def handle(number: int, _: FrameType | None) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        if last - before >= _SAME:
            raise Ended(number)

    try:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows lacks SIGHUP
            found = None if number is None else signal.getsignal(number)
            found = found.kept if isinstance(found, _Late) else found
            if number is not None and found in (signal.SIG_DFL, signal.default_int_handler):
                kept[number] = found
                signal.signal(number, handle)
        yield
    finally:
        # After a signal, further ones may come while the program ends: for a moment they still mean the same.
        for number, handler in kept.items():
            signal.signal(number, _Late(handler, last) if last > -math.inf else handler)
            if last > -math.inf:
                atexit.register(signal.signal, number, signal.SIG_IGN)  # Python gives others back to the system
