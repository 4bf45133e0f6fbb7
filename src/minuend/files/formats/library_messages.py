"""What a library writes to its log while it works for this package: it becomes an error or a note here, and no line on
standard error, where a logger without a handler writes.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
from collections.abc import Iterator


class _Listener(logging.Handler):
    """Gives each thread the records of what it calls."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.of_thread = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        found: list[logging.LogRecord] | None = getattr(self.of_thread, "records", None)
        if found is not None:
            found.append(record)


@functools.cache
def _listener(name: str) -> _Listener:
    found = _Listener()
    logging.getLogger(name).addHandler(found)
    return found


@contextlib.contextmanager
def logged(name: str) -> Iterator[list[logging.LogRecord]]:
    """Yield a list that takes what this thread's calls write to a logger, from warnings on."""
    own = _listener(name).of_thread
    before, own.records = getattr(own, "records", None), []
    try:
        yield own.records
    finally:
        own.records = before
