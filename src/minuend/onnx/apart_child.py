"""What runs in the process of :mod:`minuend.onnx.apart`: one model after the other, while there are requests."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from onnx import ModelProto

from minuend import worker
from minuend.errors import MinuendError
from minuend.onnx.apart import MARK, PLACE
from minuend.onnx.carrying import Part, pack, unpack
from minuend.onnx.interpreter import Interpreter
from minuend.onnx.kernels import RunError
from minuend.onnx.model import Model
from minuend.onnx.running import runnable


def serve() -> None:
    """Answer requests."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks, which ends this one
    private = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a runtime prints must not run into the answers
    while (request := worker.read(sys.stdin.buffer)) is not None:
        tree, parts = _answer(*request)
        worker.write(private, {"done": tree}, parts)


def _answer(asked: dict[str, Any], parts: list[bytes]) -> tuple[Any, list[Part]]:
    """Run a model; the answer is the values by name, or an error."""
    try:
        feeds = unpack(asked["feeds"], parts)
        model = Model(ModelProto.FromString(parts[-1]), folder=asked["folder"], name=asked["name"])
        proto, stored = runnable(model)
        interpreter = Interpreter(proto, asked["limit"], _note)
        return pack(interpreter.run({**stored, **feeds}, keep=asked["keep"]))
    except (MinuendError, OSError) as error:
        return pack(error)
    except (Exception, RecursionError) as error:
        reason = " ".join(str(error).split())
        return pack(RunError(f"running the model failed: {type(error).__name__}: {reason}"))


def _note(where: str) -> None:
    """Leave a note of the node that runs, for whoever finds this process dead."""
    os.lseek(2, 0, os.SEEK_SET)
    os.write(2, f"{MARK}{where}".encode(errors="replace")[:PLACE].ljust(PLACE))
