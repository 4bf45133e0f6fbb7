"""onnxruntime and onnx's version converter in a process of their own: what crashes there ends no comparison."""

from __future__ import annotations

import atexit
import ctypes
import os
import pickle
import select
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

SECONDS = 20.0
"""A request that takes longer is given up, and its process ended."""


ABSENT = ("NOT_IMPLEMENTED", "is under development", "ORT only *guarantees* support", "InsertedPrecisionFreeCast",
           "is not currently registered or supported", "type inference failed, inferred types",
           "is not a registered function/op")  # fmt: skip
"""What onnxruntime says of operators, types and opsets that it lacks; below opset 6 it makes Casts that are none."""


class Failed(Exception):
    """The library refuses, crashes or takes too long; the message says which."""


@dataclass(frozen=True)
class Bits:
    """A tensor of a type that NumPy lacks: its name, shape and bytes."""

    element: str
    shape: tuple[int, ...]
    data: bytes


class _Worker:
    def __init__(self) -> None:
        self.popen: subprocess.Popen[bytes] | None = None

    def ask(self, work: str, *given: Any) -> Any:
        """Return the answer to a request."""
        if self.popen is None or self.popen.poll() is not None:
            start = "import sys; sys.path[:0] = sys.argv[1:]; from differential.onnx_worker import serve; serve()"
            folder = os.path.dirname(os.path.dirname(__file__))
            self.popen = subprocess.Popen(
                [sys.executable, "-c", start, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        try:
            pickle.dump((work, given), self.popen.stdin)
            self.popen.stdin.flush()
            if not select.select([self.popen.stdout], [], [], SECONDS)[0]:
                raise Failed(f"no answer in {SECONDS:g} s")
            good, answer = pickle.load(self.popen.stdout)
        except Failed:
            self.end()
            raise
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            status = self.popen.wait()
            self.end()
            raise Failed(f"crashed: its process ended with {status}") from None
        if not good:
            raise Failed(answer)
        return answer

    def end(self) -> None:
        """End the process."""
        if self.popen is not None:
            self.popen.kill()
            self.popen.wait()
            for pipe in (self.popen.stdin, self.popen.stdout):
                if pipe is not None:
                    pipe.close()
            self.popen = None


_WORKER = _Worker()
atexit.register(_WORKER.end)


def run(model: bytes | str, feeds: dict[str, Any]) -> list[Any]:
    """Run a model, its bytes or its path, on onnxruntime without optimisations on one thread.

    Raises:
        Failed: it refuses the model or the inputs, or crashes.
    """
    found: list[Any] = _WORKER.ask("run", model, feeds)
    return found


def evaluate(model: bytes, feeds: dict[str, Any]) -> list[Any]:
    """Run a model on ONNX's reference evaluator, which takes every operator for its newest version.

    Raises:
        Failed: it cannot.
    """
    found: list[Any] = _WORKER.ask("evaluate", model, feeds)
    return found


def openvino(xml: bytes, weights: bytes, feeds: dict[str, Any] | None) -> list[Any]:
    """Read an IR with openvino, and run it on its CPU in float32 where feeds are given.

    Returns:
        The outputs' arrays; their names, element types and shapes as text where nothing is run.

    Raises:
        Failed: it refuses, or crashes.
    """
    found: list[Any] = _WORKER.ask("openvino", xml, weights, feeds)
    return found


def openvino_evaluated(xml: bytes, weights: bytes, arrays: list[Any]) -> list[Any]:
    """Evaluate an IR, layer after layer, as openvino itself does where it folds constants; inputs in the file's order.

    Raises:
        Failed: it refuses, crashes, or has no such evaluation of a layer and its type.
    """
    found: list[Any] = _WORKER.ask("openvino_evaluated", xml, weights, arrays)
    return found


def infer_shapes(model: bytes) -> bytes:
    """Return a model with the types and shapes that ONNX infers, by the values of shapes too.

    Raises:
        Failed: it refuses, or crashes.
    """
    found: bytes = _WORKER.ask("infer_shapes", model)
    return found


def fault(model: bytes) -> str:
    """Return what ONNX's full check finds wrong with a model; ``""`` where it finds nothing.

    Raises:
        Failed: it crashes.
    """
    return str(_WORKER.ask("fault", model))


def version_convert(model: bytes, opset: int) -> bytes:
    """Convert a model with onnx's own version converter, with shape inference before.

    Raises:
        Failed: it refuses, or crashes.
    """
    found: bytes = _WORKER.ask("version_convert", model, opset)
    return found


# ---- in the process -------------------------------------------------------------------------------------------


def serve() -> None:
    """Answer requests from the standard input until it ends."""
    inside, outside = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print goes elsewhere
    while True:
        try:
            work, given = pickle.load(inside)
        except EOFError:
            return
        try:
            answer = (True, _WORK[work](*given))
        except Exception as error:  # whatever a library raises is its answer
            answer = (False, f"{type(error).__name__}: {' '.join(str(error).split())[:1500]}")
        pickle.dump(answer, outside)
        outside.flush()


def _run(model: bytes | str, feeds: dict[str, Any]) -> list[Any]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    wanted = {one.name for one in session.get_inputs()}
    given = {name: value for name, value in feeds.items() if name in wanted}
    names = [one.name for one in session.get_outputs()]
    own = [one.type for one in session.get_outputs()]
    if not any(_is_exotic(text) for text in (*own, *(one.type for one in session.get_inputs()))):
        return list(session.run(names, given))
    came = session.run_with_ort_values(names, {name: _fed(value) for name, value in given.items()})
    return [_taken(one) for one in came]


def _is_exotic(text: str) -> bool:
    """Whether NumPy lacks the element type of a value."""
    return any(word in text for word in ("bfloat16", "float8", "float4", "int4", "int2)"))


def _fed(value: Any) -> Any:
    import onnxruntime
    from onnx import helper

    if isinstance(value, np.ndarray) and value.dtype.kind not in "biufcOUT":
        bits = np.ascontiguousarray(value).view(f"u{value.dtype.itemsize}").reshape(value.shape)
        number = helper.np_dtype_to_tensor_dtype(value.dtype)
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, number)
    return onnxruntime.OrtValue.ortvalue_from_numpy(np.asarray(value))


def _taken(one: Any) -> Any:
    if not one.has_value():
        return None
    if not _is_exotic(one.data_type()):
        return one.numpy()
    if one.is_tensor():  # of a type that NumPy lacks
        shape = tuple(one.shape())
        element = one.data_type()[7:-1]
        size = {"bfloat16": 2}.get(element, 1)
        width = {"int4": 4, "uint4": 4, "float4e2m1": 4, "int2": 2, "uint2": 2}.get(element, 8 * size)
        used = int(np.prod(shape)) * width
        data = bytearray(ctypes.string_at(one.data_ptr(), -(-used // 8)) if used else b"")
        if used % 8:  # what is left of the last byte is nothing
            data[-1] &= (1 << used % 8) - 1
        return Bits(element, shape, bytes(data))
    raise TypeError(f"a {one.data_type()} is not handed out")


def _infer_shapes(model: bytes) -> bytes:
    import onnx

    return bytes(onnx.shape_inference.infer_shapes(model, data_prop=True).SerializeToString())


def _fault(model: bytes) -> str:
    import onnx

    try:
        onnx.checker.check_model(onnx.ModelProto.FromString(model), full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, RuntimeError, ValueError) as error:
        return " ".join(str(error).split())[:300]
    return ""


def _version_convert(model: bytes, opset: int) -> bytes:
    import onnx
    from onnx import version_converter

    proto = onnx.shape_inference.infer_shapes(onnx.ModelProto.FromString(model))
    return bytes(version_converter.convert_version(proto, opset).SerializeToString())


def _evaluate(model: bytes, feeds: dict[str, Any]) -> list[Any]:
    import onnx
    from onnx.reference import ReferenceEvaluator

    with np.errstate(all="ignore"):
        return list(ReferenceEvaluator(onnx.ModelProto.FromString(model)).run(None, feeds))


_CORE: list[Any] = []


def _core() -> Any:
    import openvino as ov

    if not _CORE:
        _CORE.append(ov.Core())
        _CORE[0].set_property("CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1})
    return _CORE[0]


def _openvino(xml: bytes, weights: bytes, feeds: dict[str, Any] | None) -> list[Any]:
    import openvino as ov

    model = _core().read_model(xml, weights)
    if feeds is None:
        return [(sorted(one.names), one.element_type.get_type_name(), str(one.partial_shape)) for one in model.outputs]
    ran = _core().compile_model(model, "CPU")
    request = ran.create_infer_request()
    for one in ran.inputs:
        array = feeds[next(name for name in one.names if name in feeds)]
        request.set_tensor(one, ov.Tensor(np.ascontiguousarray(array).reshape(array.shape)))
    request.infer()
    return [np.array(request.get_tensor(one).data) for one in ran.outputs]


def _openvino_evaluated(xml: bytes, weights: bytes, arrays: list[Any]) -> list[Any]:
    import openvino as ov

    model = _core().read_model(xml, weights)
    outputs = [ov.Tensor(one.element_type, ov.Shape([0])) for one in model.outputs]
    model.evaluate(outputs, [ov.Tensor(np.ascontiguousarray(one).reshape(one.shape)) for one in arrays])
    return [np.array(one.data) for one in outputs]


_WORK: dict[str, Any] = {
    "evaluate": _evaluate,
    "fault": _fault,
    "infer_shapes": _infer_shapes,
    "openvino": _openvino,
    "openvino_evaluated": _openvino_evaluated,
    "run": _run,
    "version_convert": _version_convert,
}
