"""What the process of :mod:`minuend.onnx.processes.computing_process` does: it runs the models of requests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from onnx import ModelProto

from minuend import worker
from minuend.errors import MinuendError
from minuend.onnx import tracing
from minuend.onnx.execution import running
from minuend.onnx.execution.interpreter import Interpreter
from minuend.onnx.execution.kernels import RunError
from minuend.onnx.model import Model
from minuend.onnx.processes.computing_process import MARK, PLACE
from minuend.onnx.processes.values import Part, pack, unpack


def serve() -> None:
    """Answer requests."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process, which ends this one
    with worker.Server() as server:
        server.serve(_answer)


def _answer(request: dict[str, Any], parts: list[bytes]) -> tuple[dict[str, object], list[Part]]:
    tree, found = _done(request, parts)
    return {"done": tree}, found


def _done(request: dict[str, Any], parts: list[bytes]) -> tuple[object, list[Part]]:
    """Run a model; the answer is the values by name, or an error."""
    try:
        feeds = unpack(request["feeds"], parts)
        model = Model(ModelProto.FromString(parts[-1]), folder=request["folder"], name=request["name"])
        return pack(WORK[request["work"]](model, feeds, request["limit"], **request["more"]))
    except (MinuendError, OSError) as error:
        return pack(error)
    except (Exception, SystemExit) as error:
        reason = " ".join(str(error).split())
        return pack(RunError(f"running the model failed: {type(error).__name__}: {reason}"))


def _run(
    model: Model, feeds: dict[str, object], limit: int | None, *, evaluator: str, keep: bool = False
) -> dict[str, object]:
    if evaluator == "reference":
        _note("a node that ONNX's reference evaluator computes")
    proto, stored = running.runnable(model)
    return Interpreter(proto, limit, _note, evaluator=evaluator).run({**stored, **feeds}, keep=keep)


def _trace(
    model: Model, feeds: dict[str, object], limit: int | None, *, wide: bool, evaluator: str
) -> dict[str, object]:
    found = _run(model, feeds, limit, keep=True, evaluator=evaluator)
    return {
        "values": {name: found[name] for name in running.computed(model)},
        "wide": tracing.widened(model, found, _note) if wide else {},
    }


WORK: dict[str, Callable[..., dict[str, object]]] = {"run": _run, "trace": _trace}
"""What can be done with a model."""


def _note(where: str) -> None:
    """Leave a note of the node that runs, for whoever finds this process dead."""
    os.lseek(2, 0, os.SEEK_SET)
    os.write(2, f"{MARK}{where}".encode(errors="replace")[:PLACE].ljust(PLACE))
