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
            f"OpenCV goes along one axis in {operator}; convert the model to opset 13",
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
    "LSTM with peepholes": ("different-numbers", "OpenCV gives other numbers for an LSTM with peepholes"),
    "GRU with direction reverse": ("different-numbers", "OpenCV gives other numbers for GRU of direction reverse"),
    "RNN with direction reverse": ("not-implemented", "OpenCV does not load RNN of direction reverse"),
    "Resize with coordinate_transformation_mode half_pixel_symmetric": (
        "different-numbers",
        "OpenCV does not heed half_pixel_symmetric of Resize; use half_pixel",
    ),
    "RNN with layout 1": ("not-implemented", "OpenCV does not load RNN of layout 1"),
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
