"""onnxruntime's CPU provider. Stands alone: a worker loads this file where minuend is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NAME = "onnxruntime-cpu"
PACKAGE = "onnxruntime"
ALIASES = ("ort", "onnxruntime")
DIALECTS = ("onnx",)
ARRAYS = False
CONSTANTS = ("none", "A", "B", "both")
RULES = None

SWITCHES = {
    "graph_optimization_level=ORT_ENABLE_BASIC": {"graph_optimization_level": "ORT_ENABLE_BASIC"},
    "graph_optimization_level=ORT_DISABLE_ALL": {"graph_optimization_level": "ORT_DISABLE_ALL"},
}
"""What a caller can tell it, each by the words for it; where numbers differ, they are tried."""

# ---- beyond the measured data ---------------------------------------------------------------------------------

Rows = dict[str, tuple[str, str] | tuple[str, str, str]]

OF_EVERY_PROVIDER = {
    "deprecated operator": ("not-implemented", "onnxruntime takes no operator that its opset deprecates"),
    "nodes of one name": ("not-implemented", "onnxruntime takes no two nodes of one name; rename one"),
    "no output": ("not-implemented", "onnxruntime runs no model without outputs; declare one"),
}
"""What onnxruntime does not take of a model, whatever computes it: the verdict, and why."""
BATCHWISE = {
    f"{operator} with layout 1": ("not-implemented", f"onnxruntime has no {operator} of layout 1; transpose its input")
    for operator in ("GRU", "LSTM", "RNN")
}
_MASK = (
    "unknown",
    "below opset 13, onnxruntime makes one Attention of it, to which masks are 0 or 1 alone",
    "onnx:13",
)


def optimised(remedy: str) -> Rows:
    """Rows of what optimizers do whatever the provider is; the remedy says how they are disabled."""
    return {
        "output quantised": (
            "different-numbers",
            f"onnxruntime quantises an output that is transposed and quantised besides; {remedy}",
        ),
        "int8 moved": (
            "not-implemented",
            f"from 1.27 and opset 21 on, onnxruntime refuses int8 dequantised, then moved; {remedy}",
        ),
        "mask of attention": _MASK,
    }


def strict(remedy: str) -> Rows:
    """Rows of the provider for the CPU, for every release; the remedy says how optimizers are disabled."""
    of_two_types = (
        "not-implemented",
        f"onnxruntime makes one operator of a normalisation in two types, which is not valid; {remedy}",
    )
    converted = (
        "different-numbers",
        f"onnxruntime makes one operator of a normalisation without a conversion in it; {remedy}",
    )
    return {
        "normalisation of two types": of_two_types,
        "normalisation of float16 and another type": of_two_types,
        "normalisation of float16, converted": of_two_types,
        "normalisation and back": converted,
        "normalisation in float16 and back": converted,
        "normalisation scaled in float16": converted,
        **OF_EVERY_PROVIDER,
        **BATCHWISE,
        **optimised(remedy),
    }


STRICT = {
    **strict("set ORT_DISABLE_ALL"),
    "normalisation over other axes": (
        "different-numbers",
        "before 1.16, onnxruntime normalises over the last axis, whatever the axes are; update it",
    ),
    "extremes of float16": (
        "unknown",
        "before 1.20.1, onnxruntime writes beyond the result of Max and Min of float16 of unequal shapes; update it",
    ),
}
"""What it does not take of a model: the verdict, and why. Behind DequantizeLinear-21 and Transpose or the like it puts
QuantizeLinear of the same zero point, and says that this is of another type; 1.26.0 and opset 20 are fine. It moves
QuantizeLinear before a Transpose, and hands out what is quantised: from 1.20.1 to 1.32.0, with any optimizer off."""

LACKED = frozenset({
    "ImageDecoder", "SwiGLU", "LRN of an even size", "GridSample with mode cubic", "AveragePool with dilations",
    "DeformConv", "TensorScatter",
})  # fmt: skip
"""Operators, and forms of them, that it does not run, as ``tools/measure_operators.py`` and the tests found."""
DEVIATING = frozenset({
    "AveragePool whose last window begins in the padding", "MaxPool whose last window begins in the padding",
    "AveragePool that counts what lies behind the padding",
})  # fmt: skip
"""Forms of operators that it gives other numbers for."""

CONTRIB = ("com.microsoft.",)
"""Beginnings of the names of operators of others than ONNX that it has."""
STRICT_SINCE = {
    "int8 moved": (1, 27),
    "normalisation of float16 and another type": (1, 20),
    "normalisation in float16 and back": (1, 20),
    "normalisation scaled in float16": (1, 23),
}
STRICT_BEFORE = {
    "AveragePool that counts what lies behind the padding": (1, 26),
    "AveragePool whose last window begins in the padding": (1, 21),
    "AveragePool with dilations": (1, 16),
    "DeformConv": (1, 26),
    "GridSample with mode cubic": (1, 17),
    "MaxPool whose last window begins in the padding": (1, 21),
    "TensorScatter": (1, 26),
    "extremes of float16": (1, 20, 1),
    "normalisation of float16, converted": (1, 18),
    "normalisation over other axes": (1, 16),
}
"""The releases between which it does not take that. With opset 12 or newer, 1.15.0 to 1.19.2 end with "corrupted top
size" where each result has memory of its own, and change results of other nodes where not: a subtraction's, for one."""

AS_WRITTEN = True
BFLOAT16_OUT = False
NARROW_CONSTANTS = "as values"
"""It has no kernels for float16 of most operators and puts conversions around them, which it removes again between two:
of 576 elements 28 to 420 differ in ``Sub(Mul(w, k), p)`` and ``Sub(x, Mul(w, k))`` alike. So in 1.20.1, 1.26.0 and
1.31.1."""

SWAPS_ZEROS = {"Max": (), "Min": (), "Relu": (1, 19)}
"""It has kernels of its own for Max and Min of float16. Where conversions around one are removed, that of float32 is
run, which gives the other one of two zeros: ``Relu(Min(a - b, y))`` is -0 for 0, where a is b and y is -0. Of float16,
Relu is a Max at opset 18 alone, for which ONNX defines it as one: ``x - Relu(x)`` is -0 for 0, where x is -0."""

LOADED = {
    "1.15.0": (19, 9),
    "1.16.0": (19, 9),
    "1.16.3": (19, 9),
    "1.17.0": (20, 9),
    "1.17.3": (20, 9),
    "1.18.1": (21, 10),
    "1.19.2": (21, 10),
    "1.20.1": (21, 10),
    "1.21.1": (22, 10),
    "1.22.1": (22, 10),
    "1.23.2": (23, 11),
    "1.24.4": (25, 13),
    "1.26.0": (26, 13),
    "1.28.0": (26, 13),
    "1.30.0": (26, 13),
    "1.31.1": (26, 13),
    "1.32.0": (28, 14),
}
"""Release → the highest opset and the highest IR version that it loads (``tools/measure_limits.py``)."""

KERNELS = {"1.32.0": 27}
"""Release → the highest opset that it has the kernels of. Of ONNX's node tests at opset 28, 29 of QuantizeLinear and
DequantizeLinear, OneHot and the Optional operators do not run: 1.32.0 loads that opset and lacks those kernels."""

# ---- running --------------------------------------------------------------------------------------------------


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Build a session from an ONNX model and return what runs it."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    for name, value in SWITCHES.get(head.get("switch", ""), {}).items():
        setattr(options, name, getattr(ort.GraphOptimizationLevel, value))
    return running(ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]), _read)


def running(session: Any, read: Callable[[Any], tuple[str, Any, bytes]]) -> Callable[[list[Any]], list[Any]]:
    """Return what runs a session, and reads its outputs."""
    import onnxruntime as ort

    def run(inputs: list[Any]) -> list[Any]:
        import numpy as np

        feeds = {}
        for name, dtype, shape, data in inputs:
            if dtype == "bfloat16":  # NumPy has no such type; onnxruntime takes its bits where it takes it at all
                bits = np.frombuffer(data, np.uint16).reshape(shape)
                feeds[name] = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, 16)
            else:
                feeds[name] = ort.OrtValue.ortvalue_from_numpy(np.frombuffer(data, dtype).reshape(shape).copy())
        names = [output.name for output in session.get_outputs()]
        return [read(value) for value in session.run_with_ort_values(names, feeds)]

    return run


def _read(value: Any) -> tuple[str, tuple[int, ...], bytes]:
    """A tensor's type, shape and bytes; those of bfloat16, which NumPy does not have, from its memory."""
    if value.data_type() == "tensor(bfloat16)":
        import ctypes
        import math

        shape = tuple(value.shape())
        return "bfloat16", shape, ctypes.string_at(value.data_ptr(), 2 * math.prod(shape))
    array = value.numpy()
    return array.dtype.name, array.shape, array.tobytes()
