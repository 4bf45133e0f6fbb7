"""ONNX's own C++ library on models of unknown origin: in a separate process, with bounds on memory and time.

Its inference makes a shape of 10^8 dims from 101 bytes, loops for ever on some malformed nodes, and its text parser's
stack ends with the process. So whatever of it reads a whole model runs in one child process (:mod:`library_child`),
which starts in some 40 ms when the first model is read and then answers all requests of this process. It is stopped
where it exceeds its bounds, and replaced; it ends with this process.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections import OrderedDict
from collections.abc import Mapping

import onnx
from onnx import ModelProto

from minuend import worker
from minuend.child import Child, Limits
from minuend.child_pool import Pool
from minuend.errors import MinuendError

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


def infer_shapes(model: ModelProto, *, data_prop: bool, strict: bool = False) -> ModelProto:
    """Infer the types of a model's values, as ``onnx.shape_inference`` does.

    Args:
        model: the model. data_prop: whether values of shapes are followed. strict: whether nodes whose types or
            shapes cannot be are refused; they are passed over otherwise.

    Raises:
        OnnxRefuses: the model breaks a rule. Exceeded: it takes too much memory or time.

    >>> model = parse('<ir_version: 10, opset_import: ["" : 14]> g (uint8[2] a) => (uint8[2] c) { b = Sub(a, a)\\
    ... c = Sub(a, b) }')
    >>> infer_shapes(model, data_prop=True).graph.value_info[0].name
    'b'
    """
    data = model.SerializeToString(deterministic=True)
    key = hashlib.sha256(data).digest(), data_prop, strict
    answer = _inferred.get(key)
    if answer is None:
        answer = _request({"work": "infer", "data_prop": data_prop, "strict": strict}, data)
        if len(answer) <= _MOST_CACHED:
            _inferred[key] = answer
            while len(_inferred) > _MODELS_CACHED:
                _inferred.popitem(last=False)
    return _read(answer)


_inferred: OrderedDict[tuple[bytes, bool, bool], bytes] = OrderedDict()
"""The last answers: a model that is judged on several targets, and fixed for each, is inferred as often."""

_MODELS_CACHED, _MOST_CACHED = 8, 1 << 20
"""How many of them, and of how many bytes each at most."""


def fault(model: ModelProto, form: ModelProto | None = None) -> str:
    """Return what ``onnx.checker`` and strict inference find wrong with a model; ``""`` where they find nothing.

    Args:
        model: the model. form: what the checker gets in its place, inference being given the model.

    Raises:
        Exceeded: it takes too much memory or time.
    """
    try:
        checked = b"" if form is None else form.SerializeToString()
        _request({"work": "judge"}, model.SerializeToString(), checked)
    except OnnxRefuses as error:
        return " ".join(str(error).split())
    return ""


def inline_functions(model: ModelProto) -> ModelProto:
    """Put the bodies of local functions in the places of their calls.

    Raises:
        OnnxRefuses: it cannot be done. Exceeded: it takes too much memory or time.
    """
    return _read(_request({"work": "inline"}, model.SerializeToString()))


def parse(text: str) -> ModelProto:
    """Read a model's text form.

    Raises:
        OnnxRefuses: it is none. Exceeded: it takes too much memory or time.
    """
    return _read(_request({"work": "parse"}, text.encode()))


def _read(data: bytes) -> ModelProto:
    model: ModelProto = ModelProto.FromString(data)
    return model


# ---- the process ----------------------------------------------------------------------------------------------


def _started() -> Child:
    script = os.path.join(os.path.dirname(__file__), "library_child.py")
    command = [sys.executable, "-I", "-S", worker.__file__, script, onnx.onnx_cpp2py_export.__file__]
    return Child("ONNX's inference runs in a process of its own", command, folder=False, greets=True)


_processes = Pool(_started, single=True)
_exceeding: dict[bytes, None] = {}
"""Requests that exceeded their bounds once, which would again; 32 bytes each."""


def start() -> None:
    """Start the process ahead of the first request, which then need not wait for it."""
    with _processes.process():
        pass


def _request(head: Mapping[str, object], data: bytes, extra: bytes = b"") -> bytes:
    """Return the answer to a request.

    Raises:
        OnnxRefuses: it refuses. Exceeded: it did not come within the bounds.
    """
    size = len(data) + len(extra)
    seconds, nbytes = _SECONDS + (size >> 20), _BYTES + _TIMES * size
    key = hashlib.sha256(json.dumps([head, len(data)]).encode() + data + extra).digest()
    answer = None
    if key not in _exceeding:
        with _processes.process() as process:
            if key not in _exceeding:  # by a thread that had the process meanwhile
                bounds = {"seconds": seconds, "bytes": nbytes}
                answer = process.request({**head, **bounds}, [data, extra], Limits(None, seconds * _PATIENCE))
            if answer is None or "exceeded" in answer[0]:
                answer, process.idle = None, False
                _exceeding[key] = None
    if answer is None:
        raise Exceeded(
            f"ONNX's own code takes more than {seconds} s or {nbytes >> 20} MiB for this model of {len(data)} bytes, "
            "or crashes over it"
        )
    if "refused" in answer[0]:
        raise OnnxRefuses(answer[0]["refused"])
    return answer[1][0]
