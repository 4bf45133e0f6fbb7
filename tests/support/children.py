"""Processes that tests start, and that end with them whatever happens."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Iterator, Sequence

LIMIT = 60
"""Seconds that a child may take before it is killed."""


@contextlib.contextmanager
def child(argv: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process with pipes to it; it is killed when it takes too long, and when the block ends before it does."""
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as work:
        timer = threading.Timer(LIMIT, work.kill)
        timer.start()
        try:
            yield work
        finally:
            timer.cancel()
            work.kill()
