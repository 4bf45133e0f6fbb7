"""What runs in the confined process: ONNX's C++ on a model, within bounds that every request states.

An adapter of :mod:`minuend.worker`, which needs neither this package nor ``onnx`` but its compiled module
alone: ``worker.py confined_child.py MODULE``. A request's head names the work (``"work"``) and its bounds
(``"seconds"`` of processor time, ``"bytes"`` of memory and of the answer).
"""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

try:
    import resource
except ImportError:  # Windows has none: there the time alone is bounded, by whoever asks
    resource = None  # type: ignore[assignment]

_OWN_BYTES = 256 << 20
"""Address space of the process itself."""


def release() -> str:
    """Get ready: leave Ctrl-C to the process that asks, and nothing behind after a crash."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    os.chdir(os.path.abspath(os.sep))  # nobody's folder is kept from being removed
    _onnx()
    return "ready"


def prepare(head: Mapping[str, Any], model: bytes, extra: bytes) -> Callable[[object], list[tuple[str, Any, bytes]]]:
    """Return what does the work that a request names."""
    _confine(head["seconds"], head["bytes"])

    def run(_: object) -> list[tuple[str, Any, bytes]]:
        found = _WORK[head["work"]](head, model, extra)
        if len(found) > head["bytes"]:
            raise MemoryError(f"an answer of {len(found)} bytes")
        return [("bytes", [], found)]

    return run


def _confine(seconds: int, nbytes: int) -> None:
    if resource is None:
        return
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of processor time; what nobody handles ends the process
    hard, wanted = resource.getrlimit(resource.RLIMIT_AS)[1], _OWN_BYTES + nbytes
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


@functools.cache
def _onnx() -> Any:
    loader = importlib.machinery.ExtensionFileLoader("onnx_cpp2py_export", sys.argv[2])
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _judge(_: Mapping[str, Any], model: bytes, form: bytes) -> bytes:
    _onnx().checker.check_model(form or model, False, False, False)
    _onnx().shape_inference.infer_shapes(model, True, True, False)
    _onnx().shape_inference.infer_shapes(model, True, True, True)
    return b""


def _parse(_: Mapping[str, Any], text: bytes, __: bytes) -> bytes:
    good, message, model = _onnx().parser.parse_model(text.decode())
    if not good:
        raise ValueError(message.decode("utf-8", "replace") if isinstance(message, bytes) else message)
    return bytes(model)


_WORK: dict[str, Callable[[Mapping[str, Any], bytes, bytes], bytes]] = {
    "infer": lambda head, model, _: _onnx().shape_inference.infer_shapes(model, False, False, head["data_prop"]),
    "judge": _judge,
    "inline": lambda _, model, __: _onnx().inliner.inline_local_functions(model, False),
    "parse": _parse,
}
