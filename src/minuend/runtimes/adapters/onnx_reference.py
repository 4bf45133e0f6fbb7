"""ONNX's reference evaluator. Stands alone: a worker loads this file where minuend is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NAME = "onnx-reference"
PACKAGE = "onnx"
ALIASES = ("onnx",)
DIALECTS = ("onnx",)
JOINS = False
ARRAYS = False
CONSTANTS = ("none", "A", "B", "both")
RULES = None

# ---- beyond the measured data ---------------------------------------------------------------------------------

STRICT = {
    **{
        f"{operator}-{version} over several axes": (
            "different-numbers",
            f"ONNX's evaluator goes along one axis in {operator}",
            "onnx:13",
        )
        for operator in ("Hardmax", "LogSoftmax", "Softmax")
        for version in (1, 11)
    },
    "sparse initializer": (
        "not-implemented",
        "ONNX's evaluator reads no sparse initializers; minuend fix stores the zeros",
    ),
    "sparse_value": ("not-implemented", "ONNX's evaluator reads no sparse_value; minuend fix stores the zeros"),
    "domain named in a node": (
        "not-implemented",
        "ONNX's evaluator does not know the domain ai.onnx by its name; leave it out of nodes",
    ),
    "domain imported by name alone": (
        "not-implemented",
        "ONNX's evaluator does not take an import of ai.onnx for one of the empty domain; import that one",
    ),
    "deprecated operator": (
        "unknown",
        "ONNX's evaluator lacks some operators that their opset deprecates, such as Scatter from opset 11 on",
    ),
    "dequantised below opset 19": (
        "unknown",
        "ONNX's evaluator lacks DequantizeLinear below opset 19, in some releases",
        "onnx:19",
    ),
    "unimported": ("not-implemented", "ONNX's evaluator wants every domain imported"),
    "unsorted": ("not-implemented", "ONNX's evaluator runs nodes in the order of the file, which cannot be run"),
    "captured": ("not-implemented", "ONNX's evaluator runs nodes in the order of the file, which cannot be run"),
    "shadowed": ("unknown", "ONNX's evaluator takes values of one name for one, around a body and in it"),
}
"""Rules that models break and onnxruntime does not insist on: the verdict, and why."""

LACKED = frozenset({
    "Scatter", "RNN with other activations", "RNN with activations Relu", "GridSample with mode bicubic",
    "Resize-10 with mode linear", "Resize-10 with mode nearest", "Upsample-9 with mode linear",
    "Upsample-9 with mode nearest",
    "Pad of negative pads",
    "GatherElements of indices of another shape", "NonMaxSuppression without iou_threshold",
})  # fmt: skip
"""Operators, and forms of them, that it does not run, as ``tools/measure_operators.py`` and the tests found."""
DEVIATING = frozenset({
    "GRU with clip", "GRU with other activations", "GRU with activations Relu", "GRU with sequence_lens",
    "LSTM with clip", "LSTM with other activations", "LSTM with activations Relu", "LSTM with sequence_lens",
    "RNN with clip", "RNN with sequence_lens", "ConvTranspose with auto_pad SAME_LOWER",
    "ConvTranspose with auto_pad SAME_UPPER", "Resize to rounded sizes with align_corners",
    "RoiAlign-10",
})  # fmt: skip
"""Forms of operators that it gives other numbers for."""

# ---- running --------------------------------------------------------------------------------------------------


def _bfloat16() -> Any:
    """The dtype that this release has for bfloat16: ml_dtypes' from 1.19 on, one of its own before."""
    import importlib

    for module in ("onnx._custom_element_types", "onnx.reference.custom_element_types", "ml_dtypes"):
        try:
            return importlib.import_module(module).bfloat16
        except ModuleNotFoundError:
            continue
    raise TypeError("this release has no bfloat16")


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Build an evaluator from an ONNX model and return what runs it."""
    import numpy as np
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(model)

    def run(inputs: list[Any]) -> list[Any]:
        feeds = {}
        for name, dtype, shape, data in inputs:
            feeds[name] = np.frombuffer(data, _bfloat16() if dtype == "bfloat16" else dtype).reshape(shape)
        with np.errstate(all="ignore"):
            found = [np.asarray(array) for array in evaluator.run(None, feeds)]
        return [
            ("bfloat16" if array.dtype.names else array.dtype.name, array.shape, array.tobytes()) for array in found
        ]

    return run
