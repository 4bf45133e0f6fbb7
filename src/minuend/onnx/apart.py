"""Models on onnxruntime in a process of its own: a kernel that crashes on a malformed node takes nobody with it.

A process (:mod:`apart_child`) is started when a model is first run, answers one request after the other, and ends with
this one. Where threads run models at once, each has a process while it runs.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

from minuend import worker
from minuend.errors import MinuendError, Unsupported
from minuend.onnx.carrying import pack, unpack
from minuend.onnx.kernels import RunError

if TYPE_CHECKING:
    from minuend.onnx.model import Model

PLACE = 1000
"""Bytes of the note that the process leaves of the node that it runs."""

_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from minuend.onnx import apart_child as c; c.serve()"


class Process:
    """A process that runs models."""

    def __init__(self) -> None:
        self._note: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        command = [sys.executable, "-I", "-c", _START, json.dumps([os.path.abspath(path) for path in sys.path])]
        try:
            self.popen = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._note, cwd=os.path.abspath(os.sep)
            )
        except OSError as error:
            raise Unsupported(
                f"onnxruntime runs in a process of its own, and {sys.executable!r} does not start: {error}; "
                "evaluator='reference' runs the model in this one"
            ) from None

    def run(self, model: Model, feeds: Mapping[str, Any], limit: int | None, *, keep: bool) -> dict[str, Any]:
        """Run a model; see :meth:`minuend.onnx.interpreter.Interpreter.run`."""
        folder = None if model.folder is None else os.path.abspath(model.folder)  # the process is in another one
        tree, parts = pack(dict(feeds))
        asked = {"feeds": tree, "limit": limit, "keep": keep, "folder": folder, "name": model.name}
        answer = None
        with contextlib.suppress(BrokenPipeError):
            worker.write(self.popen.stdin, asked, [*parts, model.proto.SerializeToString()])
            answer = worker.read(self.popen.stdout)
        if answer is None:
            raise RunError(self._end())
        done = unpack(answer[0]["done"], [bytearray(part) for part in answer[1]])
        if isinstance(done, BaseException):
            raise done
        found: dict[str, Any] = done
        return found

    def _end(self) -> str:
        """Say how a process ended that nobody ended."""
        status = self.popen.wait()
        self._note.seek(0)
        note = self._note.read(PLACE).rstrip(b" \n").decode(errors="replace")
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        if not note.startswith(MARK):
            return f"the process that runs models on onnxruntime does not start: it ended {how} ({note[-PLACE:]})"
        return f"onnxruntime crashed: its process ended {how}, at {note.removeprefix(MARK)}"

    def close(self) -> None:
        """End the process, and wait until it is gone."""
        self.popen.kill()
        self.forget()
        self.popen.wait()

    def forget(self) -> None:
        """Close the pipes: the process ends when all who hold them have."""
        for pipe in (self.popen.stdin, self.popen.stdout, self._note):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()


MARK = "node: "
"""How the note of a node begins."""


# ---- idle processes ---------------------------------------------------------------------------------------------

_lock = threading.Lock()
_idle: list[Process] = []


@contextlib.contextmanager
def process() -> Iterator[Process]:
    """A process for as long as a model runs; after an error that is not the model's, Ctrl-C too, it is ended."""
    with _lock:
        one = _idle.pop() if _idle else None
    if one is None or one.popen.poll() is not None:
        one = Process()
    good = False
    try:
        yield one
        good = True
    except MinuendError:  # the model's, or the process is gone
        good = one.popen.poll() is None
        raise
    finally:
        with _lock:
            kept = good and not _idle
            if kept:
                _idle.append(one)
        if not kept:
            one.close()


def _stop() -> None:
    while _idle:
        _idle.pop().close()


def _after_fork() -> None:
    """A forked process starts one of its own: two that write to one pipe would read each other's answers."""
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()
    for one in _idle:
        one.forget()
        one.popen.returncode = 0  # it is the parent's to wait for
    _idle.clear()


atexit.register(_stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
