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

BFLOAT16_OUT = False

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
}
"""Release → the highest opset and the highest IR version that it loads (``tools/measure_limits.py``)."""

_ANY = ("none", "A", "B", "both")
LIMITS = (
    (("with a - (+0) as a",), ("float32", "float16"), _ANY, ("negative zero",), "Where adds what it chose to a zero"),
)
"""Recipes that are not right here: their names, element types, constants, value classes (none: all), and why."""

# ---- running --------------------------------------------------------------------------------------------------


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Build a session from an ONNX model and return what runs it."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    for name, value in SWITCHES.get(head.get("switch", ""), {}).items():
        setattr(options, name, getattr(ort.GraphOptimizationLevel, value))
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])

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
        found = [value.numpy() for value in session.run_with_ort_values(names, feeds)]
        return [(array.dtype.name, array.shape, array.tobytes()) for array in found]

    return run
