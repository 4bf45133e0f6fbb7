"""onnxruntime's OpenVINO provider on the CPU. Stands alone: a worker loads this file where minuend is not installed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .onnxruntime_cpu import BATCHWISE, CONTRIB, OF_EVERY_PROVIDER, running  # noqa: F401 - CONTRIB is a row of this adapter as well

NAME = "onnxruntime-openvino"
PACKAGE = "onnxruntime-openvino"
MODULE = "onnxruntime"
DIALECTS = ("onnx",)
ARRAYS = False
CONSTANTS = ("none", "A", "B", "both")
RULES = None

# ---- beyond the measured data ---------------------------------------------------------------------------------

LACKED = frozenset({
    "ImageDecoder", "SwiGLU", "GRU with other activations", "RNN with other activations", "Attention with a window",
    "Attention", "DeformConv", "TensorScatter",
})  # fmt: skip
"""Operators, and forms of them, that it does not run, as ``tools/measure_operators.py`` and the tests found."""
DEVIATING = frozenset({
    "AveragePool whose last window begins in the padding", "MaxPool whose last window begins in the padding",
    "AveragePool that counts what lies behind the padding", "LRN of an even size",
})  # fmt: skip
"""Forms of operators that it gives other numbers for."""

STRICT = {
    "gated cell": (
        "different-numbers",
        "openvino makes one GRU cell of it that rounds otherwise and subtracts from 1 whatever stands there, or fails",
    ),
    "ReduceL1 of axes as an attribute": (
        "different-numbers",
        "the provider reduces over all axes where ReduceL1 states them as an attribute",
        "onnx:18",
    ),
    **OF_EVERY_PROVIDER,
    **BATCHWISE,
    **{
        f"ScatterND with reduction {reduction}": ("not-implemented", "the provider has no ScatterND with a reduction")
        for reduction in ("add", "mul")
    },
    "Softmax-11 over several axes": (
        "different-numbers",
        "the provider goes along one axis in Softmax-11",
        "onnx:13",
    ),
    **{
        f"{operator} with layout 1": (
            "different-numbers",
            f"the provider hands out other axes of {operator} of layout 1; use layout 0 and a Transpose",
        )
        for operator in ("GRU", "RNN")
    },
    **{
        f"Resize with keep_aspect_ratio_policy {policy}": (
            "different-numbers",
            "the provider does not heed keep_aspect_ratio_policy of Resize; leave that attribute out",
        )
        for policy in ("not_larger", "not_smaller")
    },
    "operand of uint32 in uint64_data": (
        "unknown",
        "the provider takes some uint32 in uint64_data for 0; store it as raw_data, as minuend fix does",
    ),
    "output of constants": (
        "unknown",
        "the provider refuses most models that have an output of constants or known shapes beside others",
    ),
    "unread input before another": (
        "different-numbers",
        "the provider counts inputs wrong where nothing reads one of them, and gives nodes others; remove that input",
    ),
}
"""What it does not read: the verdict, and why. onnxruntime folds an output of constants, and openvino's reader does not
find what is no node any more. Of ``x - 1`` with an input ``z`` before x that nothing reads, it gives ``z - 1``, and
where z is of another shape or type, what lies in memory. Both happen where the provider takes the whole model."""

BFLOAT16_OUT = False
SHARES = ("float16", "bfloat16", "float32", "float64")
SPLITS = RESCALES = CROSSES = ONE_FLOAT = True
"""As OpenVINO's own plugin does, which it holds."""

LOADED: dict[str, tuple[int | None, int | None]] = {"1.24.1": (25, 13)}
"""Release → the highest opset and IR version that it loads."""

PROVEN: dict[str, tuple[str, ...]] = {
    "through int32, wrapped with BitwiseAnd": ("int16", "int8", "uint16", "uint8"),
    "through int32, wrapped with Mod": ("int16", "int8", "uint16", "uint8"),
    "through float32, wrapped with Floor": ("int16", "int8", "uint16", "uint8"),
    "through int32, saturated with Clip": ("int16", "int8", "uint16", "uint8"),
    "through float32, saturated with Clip": ("int16", "int8", "uint16", "uint8"),
    "saturated with Max": ("uint64",),
    "saturated with Max and Min": ("int32",),
    "narrowed to int32, within proven ranges": ("int32", "int64", "uint32", "uint64"),
}
"""Recipe → element types with which it was run here and is right, whichever operands are constants."""

# ---- running --------------------------------------------------------------------------------------------------


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Build a session from an ONNX model and return what runs it; onnxruntime's own provider takes what is refused."""
    return running(_session(model), _read)


def _read(value: Any) -> tuple[str, Any, bytes]:
    array = value.numpy()
    return array.dtype.name, array.shape, array.tobytes()


@functools.lru_cache(maxsize=4)
def _session(model: bytes) -> Any:
    """Compile a model: graphs of narrow types are run with other inputs directly afterwards."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    providers = [("OpenVINOExecutionProvider", {"device_type": "CPU", "num_of_threads": "1"}), "CPUExecutionProvider"]
    session = ort.InferenceSession(model, options, providers=providers)
    if "OpenVINOExecutionProvider" not in session.get_providers():
        raise RuntimeError("onnxruntime goes on without the OpenVINO provider")
    return session
