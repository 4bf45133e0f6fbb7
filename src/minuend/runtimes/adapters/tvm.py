"""TVM on the CPU, through its ONNX frontend. Stands alone: a worker loads this file where minuend is not installed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

NAME = "tvm"
PACKAGE = "apache-tvm"
MODULE = "tvm"
DIALECTS = ("onnx",)
ARRAYS = False
CONSTANTS = ("none", "A", "B", "both")
RULES = None

# ---- beyond the measured data ---------------------------------------------------------------------------------

STRICT = {
    "Resize with antialias 1": ("different-numbers", "TVM does not heed antialias of Resize; leave that attribute out"),
    **{
        f"Resize with keep_aspect_ratio_policy not_{one}": ("not-implemented", "TVM reads no such policy of Resize")
        for one in ("larger", "smaller")
    },
    "Resize with coordinate_transformation_mode half_pixel_symmetric": (
        "not-implemented",
        "TVM has no half_pixel_symmetric of Resize; use half_pixel",
    ),
    "sparse initializer": ("not-implemented", "TVM reads no sparse initializers; minuend fix stores the zeros"),
    "sparse_value": ("not-implemented", "TVM reads no sparse_value; minuend fix stores the zeros"),
    "deprecated operator": (
        "unknown",
        "TVM refuses some operators that their opset deprecates, such as Scatter from opset 11 on",
    ),
    "input without shape": ("not-implemented", "TVM needs the shape of every input"),
    "sizes that may differ": (
        "not-implemented",
        "TVM broadcasts open dims only where both have one name, or one is 1; name the dims of the inputs alike",
    ),
    "sizes that are not known": ("unknown", "TVM refuses open dims that it does not find to be equal, or one to be 1"),
    "local function": ("not-implemented", "TVM reads no local functions; minuend fix inlines them"),
    **{
        way: ("not-implemented", f"TVM's frontend reads no {way}; store it as raw_data, as minuend fix does")
        for way in ("value_float", "value_floats", "value_int", "value_ints")
    },
}
"""Ways to store constants that it does not read: the verdict, and why."""

_STORED = {
    "AffineGrid": "size", "CumSum": "axis", "OneHot": "depth values", "Pad": "pads constant_value", "Reduction": "axes",
    "Reshape": "shape", "Resize": "scales sizes", "Split": "split", "TopK": "K",
}  # fmt: skip
"""Operator → inputs that have to be stored in the model: it runs none that are computed."""
LACKED = frozenset({
    "Attention", "Bernoulli", "BitCast", "BlackmanWindow", "CausalConvWithState", "Celu", "CenterCropPad", "Col2Im",
    "ConvInteger", "CumProd", "DFT", "DeformConv", "Det", "GRU", "HammingWindow", "HannWindow", "ImageDecoder", "LSTM",
    "LinearAttention", "Loop", "LpNormalization", "MelWeightMatrix", "NegativeLogLikelihoodLoss", "QLinearConv",
    "QLinearMatMul", "RNN", "ReverseSequence", "RotaryEmbedding", "STFT", "Scan", "SoftmaxCrossEntropyLoss", "SwiGLU",
    "Swish", "TensorScatter", "TfIdfVectorizer", "ai.onnx.ml.ArrayFeatureExtractor", "ai.onnx.ml.Binarizer",
    "ai.onnx.ml.TreeEnsemble", "LRN of an even size", "Resize of axes that do not ascend", "Resize-10 with mode linear",
    "Resize-10 with mode nearest", "Upsample-9 with mode linear", "Upsample-9 with mode nearest", "Pow of two types",
    "Pow of integers",
    *(f"{operator} of computed {name}" for operator, names in _STORED.items() for name in names.split()),
    "LayerNormalization with a scale or bias that is broadcast",
})  # fmt: skip
"""Operators, and forms of them, that it does not run, as ``tools/measure_operators.py`` and the tests found."""
DEVIATING = frozenset({
    "ConvTranspose with output_shape", "OneHot along another axis than the last",
    "Resize to rounded sizes with mode linear", "RoiAlign with mode max", "IsInf with detect_negative 0",
    "IsInf with detect_positive 0",
    "NonMaxSuppression of computed max_output_boxes_per_class",
})  # fmt: skip
"""Forms of operators that it gives other numbers for."""

LOCAL_FUNCTIONS = False

LOADED: dict[str, tuple[int | None, int | None]] = {"0.27.0.post1": (None, None)}
"""Release → the highest opset and IR version that it loads; ``None``: no limit was found."""

IN_PART = True
"""Of patterns, those that occur most in models were measured, and not every type."""

PROVEN: dict[str, tuple[str, ...]] = {}
"""Recipe → element types with which it was run here and is right: none, for it refuses A constant and open shapes."""

# ---- running --------------------------------------------------------------------------------------------------


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Compile an ONNX model for this processor and return what runs it."""
    return _compiled(model)


@functools.lru_cache(maxsize=8)
def _compiled(model: bytes) -> Callable[[list[Any]], list[Any]]:
    """A model compiled; the last ones are there for further inputs, since each takes a second or more."""
    import ml_dtypes
    import numpy as np
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    read = onnx.load_from_string(model)
    module = from_onnx(read, keep_params_in_input=False)
    names = [str(parameter.name) for parameter in module["main"].params]
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())

    def run(inputs: list[Any]) -> list[Any]:
        given = {
            name: np.frombuffer(data, getattr(ml_dtypes, dtype, dtype)).reshape(shape)
            for name, dtype, shape, data in inputs
        }
        found = machine["main"](*(tvm.runtime.tensor(given[name]) for name in names))
        outputs = [found] if hasattr(found, "numpy") else list(found)
        arrays = [np.asarray(one.numpy()) for one in outputs]
        return [(array.dtype.name, array.shape, array.tobytes()) for array in arrays]

    return run
