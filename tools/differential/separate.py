"""Work in a separate process, a new one each time: memory that a library corrupts there belongs to no other case.

One server forks for each request. It starts with the first request, and ends with this process. It imports the
function's module, and the packages that the module names in ``SEPARATE``, once for all requests.
"""

from __future__ import annotations

import atexit
import importlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

SECONDS = 20
"""A process that takes longer is ended."""


class Crashed(Exception):
    """The process ended before its answer; the message has the signal."""


class _Server:
    def __init__(self) -> None:
        self.popen: subprocess.Popen[bytes] | None = None

    def ask(self, request: Any) -> tuple[str, Any]:
        """Return what came of a request: its kind, and the result, the error or the status."""
        if self.popen is None:
            start = "import sys; sys.path[:0] = sys.argv[1:]; from differential.separate import serve; serve()"
            folder = os.path.dirname(os.path.dirname(__file__))
            self.popen = subprocess.Popen(
                [sys.executable, "-c", start, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        pickle.dump(request, self.popen.stdin)
        self.popen.stdin.flush()
        kind, answer = pickle.load(self.popen.stdout)
        return str(kind), answer

    def end(self) -> None:
        """End the server."""
        if self.popen is not None:
            for pipe in (self.popen.stdin, self.popen.stdout):
                if pipe is not None:
                    pipe.close()
            self.popen.kill()
            self.popen.wait()
            self.popen = None


_SERVER = _Server()
atexit.register(_SERVER.end)


def separately(work: Callable[..., T], *given: Any) -> T:
    """Return what a function of a module gives in a process of its own; its errors are raised here.

    Where the system has no ``fork``, the function runs in this process.

    Raises:
        Crashed: a signal ends the process.
    """
    if not hasattr(os, "fork"):
        return work(*given)
    kind, answer = _SERVER.ask((work, given))
    if kind == "raised":
        raise answer
    if kind == "crashed":
        raise Crashed(f"ended by {signal.Signals(answer).name}" if answer > 0 else f"ended with {-answer}")
    result: T = answer
    return result


# ---- in the server --------------------------------------------------------------------------------------------


def serve() -> None:
    """Answer requests from the standard input until it ends."""
    inside, outside = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print goes elsewhere
    while True:
        try:
            work, given = pickle.load(inside)
        except EOFError:
            return
        for package in getattr(sys.modules[work.__module__], "SEPARATE", ()):
            importlib.import_module(package)
        outside.write(_forked(work, given))
        outside.flush()


def _forked(work: Callable[..., Any], given: tuple[Any, ...]) -> bytes:
    """Return the pickled answer of a process that is forked from this one."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        os.close(reading)
        signal.alarm(SECONDS)
        with os.fdopen(writing, "wb") as stream:
            stream.write(_answer(work, given))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        answer = stream.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return pickle.dumps(("crashed", -status)) if status else answer


def _answer(work: Callable[..., Any], given: tuple[Any, ...]) -> bytes:
    try:
        return pickle.dumps(("result", work(*given)))
    except Exception as error:  # it is raised where the request came from
        return pickle.dumps(("raised", error))
