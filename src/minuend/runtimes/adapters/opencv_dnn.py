"""OpenCV's dnn module on the CPU. Stands alone: a worker loads this file where minuend is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NAME = "opencv-dnn"
PACKAGE = "opencv-python-headless"
MODULE = "cv2"
OTHERWISE = ("opencv-python", "opencv-contrib-python-headless", "opencv-contrib-python")
ALIASES = ("opencv",)
DIALECTS = ("onnx",)
ARRAYS = False
CONSTANTS = ("none", "A", "B", "both")
RULES = None

ISA = {
    "avx2": {"OPENCV_CPU_DISABLE": "AVX512-SKX", "OPENCV_IPP": "avx2"},
    "avx512f": {},
}
"""The newest instruction set that it may use → what says so. It has no code for newer ones than AVX-512."""

# ---- beyond the measured data ---------------------------------------------------------------------------------

_RAW = "store it as raw_data, as minuend fix does"
STRICT = {
    **{
        f"{operator}-{version} over several axes": (
            "different-numbers",
            f"OpenCV goes along one axis in {operator}",
            "onnx:13",
        )
        for operator in ("Hardmax", "LogSoftmax", "Softmax")
        for version in (1, 11)
    },
    "Resize with antialias 1": (
        "different-numbers",
        "OpenCV does not heed antialias of Resize; leave that attribute out",
    ),
    **{
        f"Resize with keep_aspect_ratio_policy not_{one}": ("not-implemented", "OpenCV reads no such policy of Resize")
        for one in ("larger", "smaller")
    },
    "GRU with layout 1": ("different-numbers", "OpenCV hands out other axes of GRU of layout 1; use layout 0"),
    "LSTM with layout 1": ("different-numbers", "OpenCV gives other numbers for LSTM of layout 1; use layout 0"),
    "Resize with coordinate_transformation_mode half_pixel_symmetric": (
        "different-numbers",
        "OpenCV does not heed half_pixel_symmetric of Resize; use half_pixel",
    ),
    "sparse initializer": ("not-implemented", "OpenCV reads no sparse initializers; minuend fix stores the zeros"),
    "sparse_value": ("not-implemented", "OpenCV reads no sparse_value; minuend fix stores the zeros"),
    "input without shape": ("not-implemented", "OpenCV needs the shape of every input"),
    "output without shape": (
        "not-implemented",
        "OpenCV needs the shape of every output; onnx.shape_inference writes it",
    ),
    "local function": ("not-implemented", "OpenCV reads no local functions; minuend fix inlines them"),
    "uint32 in uint64_data": ("not-implemented", f"OpenCV reads no uint64_data; {_RAW}"),
    "uint64 in uint64_data": ("not-implemented", f"OpenCV reads no uint64_data; {_RAW}"),
    "bool in int32_data": ("not-implemented", f"OpenCV dies of bool in int32_data; {_RAW}"),
    "operand of float64 in double_data": ("not-implemented", f"OpenCV makes float32 of double_data; {_RAW}"),
    "operand of value_int": ("not-implemented", f"OpenCV makes int32 of value_int; {_RAW}"),
    "operand of value_ints": ("not-implemented", f"OpenCV makes int32 of value_ints; {_RAW}"),
    "other parameters": (
        "not-implemented",
        "OpenCV takes it for a LayerNormalization, whose scale and bias have to be vectors along the last axis",
    ),
    "unknown parameters": (
        "unknown",
        "OpenCV takes it for a LayerNormalization, whose scale and bias have to be vectors along the last axis",
    ),
    "control flow": (
        "unknown",
        "OpenCV has two engines, of which one has no If, Loop or Scan; which one takes a model was not measured",
    ),
}
"""Ways to store constants that it does not read: the verdict, and why."""

BFLOAT16_OUT = False

LACKED = frozenset({
    "Bernoulli", "BitCast", "CausalConvWithState", "Col2Im", "Compress", "ConvInteger", "CumProd", "DeformConv",
    "DynamicQuantizeLinear", "ImageDecoder", "LinearAttention", "LpPool", "MatMulInteger", "MeanVarianceNormalization",
    "MelWeightMatrix", "OptionalGetElement", "OptionalHasElement", "RNN", "ReverseSequence", "STFT", "Scan", "SwiGLU",
    "TensorScatter", "TfIdfVectorizer", "ai.onnx.ml.ArrayFeatureExtractor", "ai.onnx.ml.Binarizer",
    "ai.onnx.ml.TreeEnsemble", "GRU with activations Relu", "GRU with other activations", "LSTM with activations Relu",
    "LSTM with other activations", "LSTM with sequence_lens", "LRN of an even size",
    "Resize of axes that do not ascend", "Upsample-9 with mode linear", "Split of computed split",
    "QuantizeLinear to 16 bits",
    "GatherElements of indices of another shape", "LayerNormalization with a scale or bias that is broadcast",
})  # fmt: skip
"""Operators, and forms of them, that it does not run, as ``tools/measure_operators.py`` and the tests found."""
DEVIATING = frozenset({
    "AveragePool whose last window begins in the padding", "MaxPool whose last window begins in the padding",
    "AveragePool that counts what lies behind the padding", "GRU whose every step is read", "GRU with clip",
    "GRU with direction reverse", "GRU with sequence_lens", "LSTM with clip", "LSTM with peepholes",
    "AveragePool with auto_pad SAME_LOWER", "Conv with auto_pad SAME_LOWER", "ConvTranspose with auto_pad SAME_LOWER",
    "ConvTranspose with auto_pad SAME_UPPER", "MaxPool with auto_pad SAME_LOWER", "GridSample with mode cubic",
    "Resize to rounded sizes with mode linear", "Resize-10 with mode linear", "Attention with a window",
    "QuantizeLinear with an odd zero point", "Softplus",
    "Gelu with approximate tanh", "GatherND of negative indices", "DFT along the default axis",
    "Cast of integers to a type that does not hold all of them",
})  # fmt: skip
"""Forms of operators that it gives other numbers for."""

LOCAL_FUNCTIONS = False

LOADED: dict[str, tuple[int | None, int | None]] = {"5.0.0.93": (None, None)}
"""Release → the highest opset and IR version that it loads; ``None``: no limit was found."""

IN_PART = True
"""Of patterns, those that occur most in models were measured, and not every type."""

KEEPS_ZEROS = True
"""It leaves out no constant 0. The nodes of the case of one between nodes make subnormal numbers and integers beyond
int32 others themselves, so that it shows none of these; behind a node that keeps them the subtraction loses them."""

PROVEN: dict[str, tuple[str, ...]] = {
    "through int32, wrapped with BitwiseAnd": ("int16", "int8", "uint16", "uint8"),
    "through int32, wrapped with Mod": ("int16", "int8", "uint16", "uint8"),
    "through int64, wrapped with BitwiseAnd": ("int32",),
    "through float32, wrapped with Floor": ("int16", "int8", "uint16", "uint8"),
    "through int32, saturated with Clip": ("int16", "int8", "uint16", "uint8"),
    "through float32, saturated with Clip": ("int16", "int8", "uint16", "uint8"),
    "saturated with Max": ("uint32",),
    "saturated with Max and Min": ("int32",),
    "narrowed to int32, within proven ranges": ("int32", "int64"),
}
"""Recipe → element types with which it was run here and is right, whichever operands are constants."""

# ---- running --------------------------------------------------------------------------------------------------


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Read an ONNX model and return what runs it."""
    import cv2
    import numpy as np

    cv2.setNumThreads(1)
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    net = cv2.dnn.readNetFromONNX(np.frombuffer(model, np.uint8))
    names = net.getUnconnectedOutLayersNames()

    def run(inputs: list[Any]) -> list[Any]:
        for name, dtype, shape, data in inputs:
            net.setInput(np.frombuffer(data, dtype).reshape(shape).copy(), name)
        given = net.forward(names)
        if any(array is None for array in given):
            raise RuntimeError("it gives no array for an output")
        found = [np.asarray(array) for array in given]
        return [(array.dtype.name, array.shape, array.tobytes()) for array in found]

    return run
