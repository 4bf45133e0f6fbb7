"""ONNX's C++ on models that somebody else made, in a process of its own with bounds on memory and time.

Its inference makes a shape of 10^8 dims from 101 bytes, loops for ever on some malformed nodes, and its text parser's
stack ends with the process. So whatever of it reads a whole model runs in one child process (:mod:`confined_child`),
which starts in some 40 ms when the first model is read and then answers all requests of this process. It is stopped
where it exceeds its bounds, and replaced; it ends with this process.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import onnx
from onnx import ModelProto

from minuend import worker
from minuend.errors import MinuendError, Unsupported

_SECONDS = 1
"""Processor time of a request, a thousand times what a small model takes; larger ones get a second for each MiB."""

_BYTES = 128 << 20
"""Memory of a request; larger models get more: so many times their size."""
_TIMES = 24

_PATIENCE = 10
"""How many times as long a request may take where other processes hold the processor."""


class OnnxRefuses(Exception):
    """ONNX's own code says that a model is no good; the message says why."""


class Exceeded(MinuendError):
    """A request took more than its bounds allow, or the process crashed over it."""


def infer_shapes(model: ModelProto, *, data_prop: bool) -> ModelProto:
    """Infer the types of a model's values, as ``onnx.shape_inference`` does.

    Raises:
        OnnxRefuses: the model breaks a rule. Exceeded: it takes too much memory or time.

    >>> model = parse('<ir_version: 10, opset_import: ["" : 14]> g (uint8[2] a) => (uint8[2] c) { b = Sub(a, a)\\
    ... c = Sub(a, b) }')
    >>> infer_shapes(model, data_prop=True).graph.value_info[0].name
    'b'
    """
    return _read(_ask({"work": "infer", "data_prop": data_prop}, model.SerializeToString()))


def fault(model: ModelProto, form: ModelProto | None = None) -> str:
    """Return what ``onnx.checker`` and strict inference find wrong with a model; ``""`` where they find nothing.

    Args:
        model: the model. form: what the checker gets in its place, inference being given the model.

    Raises:
        Exceeded: it takes too much memory or time.
    """
    try:
        checked = b"" if form is None else form.SerializeToString()
        _ask({"work": "judge"}, model.SerializeToString(), checked)
    except OnnxRefuses as error:
        return " ".join(str(error).split())
    return ""


def inline_functions(model: ModelProto) -> ModelProto:
    """Put the bodies of local functions in the places of their calls.

    Raises:
        OnnxRefuses: it cannot be done. Exceeded: it takes too much memory or time.
    """
    return _read(_ask({"work": "inline"}, model.SerializeToString()))


def parse(text: str) -> ModelProto:
    """Read a model's text form.

    Raises:
        OnnxRefuses: it is none. Exceeded: it takes too much memory or time.
    """
    return _read(_ask({"work": "parse"}, text.encode()))


def _read(data: bytes) -> ModelProto:
    model: ModelProto = ModelProto.FromString(data)
    return model


# ---- the process ----------------------------------------------------------------------------------------------


class _Process:
    """The child process and what it was told last."""

    def __init__(self) -> None:
        command = [
            sys.executable, "-I", "-S", worker.__file__, os.path.join(os.path.dirname(__file__), "confined_child.py"),
            onnx.onnx_cpp2py_export.__file__,
        ]  # fmt: skip
        try:
            self.popen = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            raise Unsupported(
                f"ONNX's inference runs in a process of its own, and {sys.executable!r} does not start: {error}"
            ) from None
        self.greeted = False

    def ask(
        self, head: Mapping[str, Any], parts: list[bytes], seconds: float
    ) -> tuple[dict[str, Any], list[bytes]] | None:
        """Return the answer to a request, or ``None`` where the process took too long or is no more."""
        with _watched(self.popen, seconds) as waited:
            if not self.greeted:
                self.greeted = waited() and worker.read(self.popen.stdout) is not None
                if not self.greeted:
                    self.popen.kill()
                    raise Unsupported(
                        "ONNX's inference runs in a process of its own, which does not start: "
                        f"{sys.executable} -I {worker.__file__} ended with status {self.popen.wait()}"
                    )
            with contextlib.suppress(BrokenPipeError):
                worker.write(self.popen.stdin, head, parts)
            return worker.read(self.popen.stdout) if waited() else None

    def end(self) -> None:
        """Stop the process and wait until it is gone."""
        self.popen.kill()
        self.forget()
        self.popen.wait()

    def forget(self) -> None:
        """Close the pipes: the process ends when all who hold them have."""
        for pipe in (self.popen.stdin, self.popen.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()


@contextlib.contextmanager
def _watched(popen: subprocess.Popen[bytes], seconds: float) -> Iterator[Callable[[], bool]]:
    """Give a function that waits for the process to say something, so long at most, and tells whether it did."""
    if hasattr(select, "poll"):
        poll = select.poll()
        assert popen.stdout is not None
        poll.register(popen.stdout, select.POLLIN)
        yield lambda: bool(poll.poll(seconds * 1000))
        return
    timer = threading.Timer(seconds, popen.kill)  # Windows waits for no pipe; a thread costs ten times a request
    timer.start()
    try:
        yield lambda: True
    finally:
        timer.cancel()


_lock = threading.Lock()
_process: _Process | None = None
_exceeding: dict[bytes, None] = {}
"""Requests that exceeded their bounds once, which would again; 32 bytes each."""


def start() -> None:
    """Start the process ahead of the first request, which then need not wait for it."""
    with _lock:
        _running()


def _running() -> _Process:
    global _process  # noqa: PLW0603 - one process for all of this one
    if _process is not None and _process.popen.poll() is not None:
        _stop()
    if _process is None:
        _process = _Process()
    return _process


def _stop() -> None:
    global _process  # noqa: PLW0603 - one process for all of this one
    if _process is not None:
        _process.end()
        _process = None


def _after_fork() -> None:
    """A forked process starts one of its own: two that write to one pipe would read each other's answers."""
    global _process, _lock  # noqa: PLW0603
    _lock = threading.Lock()
    if _process is not None:
        _process.forget()
        _process.popen.returncode = 0  # it is the parent's to wait for
        _process = None


atexit.register(_stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _ask(head: Mapping[str, Any], data: bytes, extra: bytes = b"") -> bytes:
    """Return the answer to a request.

    Raises:
        OnnxRefuses: it refuses. Exceeded: it did not come within the bounds.
    """
    size = len(data) + len(extra)
    seconds, nbytes = _SECONDS + (size >> 20), _BYTES + _TIMES * size
    key = hashlib.sha256(json.dumps([head, len(data)]).encode() + data + extra).digest()
    with _lock:
        done = key in _exceeding
        answer, refused = None, ""
        try:
            if not done:
                bounds = {"inputs": [], "seconds": seconds, "bytes": nbytes}
                answer = _running().ask({**head, **bounds}, [data, extra], seconds * _PATIENCE)
                refused = "" if answer is None else str(answer[0].get("refused", ""))
                done = answer is not None and not (refused.startswith("MemoryError") or "bad_alloc" in refused)
                if not done:
                    answer = None
                    _exceeding[key] = None
        finally:
            if not done:  # Ctrl-C, too: the answer would be taken for that of the next request
                _stop()
    if answer is None:
        raise Exceeded(
            f"ONNX's own code takes more than {seconds} s or {nbytes >> 20} MiB for this model of {len(data)} bytes, "
            "or crashes over it"
        )
    if refused:
        raise OnnxRefuses(refused.partition(": ")[2])
    return answer[1][0]
