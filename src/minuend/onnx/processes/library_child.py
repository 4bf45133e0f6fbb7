"""ONNX's C++ library on a model, in the process of :mod:`minuend.onnx.processes.library_process`.

:mod:`minuend.worker` runs it, and it needs neither this package nor ``onnx`` but its compiled module alone:
``worker.py library_child.py MODULE``. A request's head names the work (``"work"``) and its bounds (``"seconds"`` of
processor time, ``"bytes"`` of memory and of the answer).
"""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import sys

TYPE_CHECKING = False  # as in worker.py
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_OWN_BYTES = 256 << 20
"""Address space of the process itself."""


def serve_requests(server: Any) -> None:
    """Answer requests; ``server`` is a :class:`minuend.worker.Server`."""
    server.detach()
    _onnx()
    server.write({"ready": True})
    server.serve(_answer, _OWN_BYTES)


def _answer(head: Mapping[str, Any], parts: list[bytes]) -> tuple[dict[str, object], list[bytes]]:
    found = _WORK[head["work"]](head, *parts)
    if len(found) > head["bytes"]:
        raise MemoryError(f"an answer of {len(found)} bytes")
    return {}, [found]


@functools.cache
def _onnx() -> Any:
    loader = importlib.machinery.ExtensionFileLoader("onnx_cpp2py_export", sys.argv[2])
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


_OF_VALUES = ("during data propagation", "Invalid rank for ", "already exists")
"""What ONNX says of valid models where it follows values: constants whose sum or product does not fit their type, which
runtimes compute all the same; rows of two sizes that are broadcast, as it forgets the axis that one of them has
more; and integers around an If that both of its branches read, of which it learns twice."""


def _infer(head: Mapping[str, Any], model: bytes, _: bytes = b"") -> bytes:
    infer, strict, data_prop = _onnx().shape_inference.infer_shapes, head["strict"], head["data_prop"]
    try:
        return bytes(infer(model, strict, strict, data_prop))
    except Exception as error:  # of the extension module's own types
        if not (strict and data_prop and any(text in str(error) for text in _OF_VALUES)):
            raise
    infer(model, True, True, False)
    return bytes(infer(model, False, False, True))


def _judge(_: Mapping[str, object], model: bytes, form: bytes) -> bytes:
    _onnx().checker.check_model(form or model, False, False, False)
    _onnx().shape_inference.infer_shapes(model, True, True, False)
    _infer({"strict": True, "data_prop": True}, model)
    return b""


def _parse(_: Mapping[str, object], text: bytes, __: bytes) -> bytes:
    good, message, model = _onnx().parser.parse_model(text.decode())
    if not good:
        raise ValueError(message.decode("utf-8", "replace") if isinstance(message, bytes) else message)
    return bytes(model)


_WORK: dict[str, Callable[[Mapping[str, object], bytes, bytes], bytes]] = {
    "infer": _infer,
    "judge": _judge,
    "inline": lambda _, model, __: _onnx().inliner.inline_local_functions(model, False),
    "parse": _parse,
}
