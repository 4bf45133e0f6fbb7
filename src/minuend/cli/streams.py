"""Standard streams: closed ones are replaced, and what one cannot write is let go of."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from typing import IO


def complete() -> None:
    """Make standard streams that can be written to.

    One that was closed (``>&-``) is replaced by one that keeps nothing: else the next file to be opened would get its
    number, and with it what libraries print. Characters that a stream cannot hold are escaped.
    """
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            number = os.open(os.devnull, os.O_RDWR)  # the lowest that is free: the closed stream's own
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", closefd=False, encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper) and name != "stdin":
            stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def own() -> Iterator[None]:
    """Keep what libraries log, and warn of, off standard error, where this program's own messages are.

    What matters of it is an error or a note of this program. Warnings are shown where the interpreter is set to
    (``PYTHONWARNINGS``). The handler stays: some libraries log when the interpreter ends.
    """
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.NullHandler())
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.showwarning = _dropped
        yield


def _dropped(*_: object, **__: object) -> None:
    """Show nothing."""


def drop(stream: IO[str]) -> None:
    """Let go of what a stream could not write, or the interpreter would try it again at its end and complain."""
    with contextlib.suppress(OSError, ValueError):
        number = stream.fileno()
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, number)
        os.close(nothing)
        stream.flush()
