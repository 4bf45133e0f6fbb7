"""Models in a process of their own: a kernel that crashes on a malformed node takes nobody with it.

A process (:mod:`apart_child`) is started when a model is first run, answers one request after the other, and ends with
this one. Where threads run models at once, each has a process while it runs.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

from minuend import child, worker
from minuend.child import Child, Watch
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
        try:
            self._child = Child([*child.python(), "-c", _START, child.import_path()], self._note)
        except OSError as error:
            self._note.close()
            raise Unsupported(
                f"models run in a process of their own, and {sys.executable!r} does not start: {error}"
            ) from None
        self.popen = self._child.popen

    def run(self, work: str, model: Model, feeds: Mapping[str, Any], limit: int | None, **more: Any) -> dict[str, Any]:
        """Do one of :data:`minuend.onnx.apart_child.WORK` with a model.

        Args:
            work: its name. model, feeds: what is run. limit: bytes of a result. more: what the work takes besides.
        """
        folder = None if model.folder is None else os.path.abspath(model.folder)  # the process is in another one
        tree, parts = pack(dict(feeds))
        asked = {"work": work, "feeds": tree, "limit": limit, "folder": folder, "name": model.name, "more": more}
        answer = None
        given = [*parts, model.proto.SerializeToString()]
        size = sum(len(part) for part in given) + _stored_bytes(model)
        with Watch(self.popen, child.current(), size) as watch, contextlib.suppress(BrokenPipeError):
            worker.write(self.popen.stdin, asked, given)
            answer = worker.read(self.popen.stdout)
        if answer is None:
            raise self._end(model, watch)
        done = unpack(answer[0]["done"], [bytearray(part) for part in answer[1]])
        if isinstance(done, BaseException):
            raise done
        found: dict[str, Any] = done
        return found

    def _end(self, model: Model, watch: Watch) -> MinuendError:
        """Say how a process ended that should have answered."""
        status = self.popen.wait()
        self._note.seek(0)
        note = self._note.read(PLACE).rstrip(b" \n").decode(errors="replace")
        where = f", at {note.removeprefix(MARK)}" if note.startswith(MARK) else ""
        if watch.broken:
            return child.exceeded(f"running {model.name}{where}", watch.broken, watch.limits)
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        if not where:
            return RunError(f"the process that runs models does not start: it ended {how} ({note[-PLACE:]})")
        return RunError(f"onnxruntime crashed: its process ended {how}{where}")

    def close(self) -> None:
        """End the process, and wait until it is gone."""
        self._child.end()
        self._note.close()

    def forget(self) -> None:
        """Close the pipes: the process ends when all who hold them have."""
        self._child.hang_up()
        self._note.close()


def _stored_bytes(model: Model) -> int:
    """Bytes of files that a model names, which its process reads."""
    return sum(os.path.getsize(path) for path in model.sources() if os.path.isfile(path))


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


def stop() -> None:
    """End the processes that are idle."""
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


atexit.register(stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
