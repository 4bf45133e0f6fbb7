"""Element-wise subtraction as ONNX, OpenVINO and DirectML define it: exact, fast, and the same everywhere."""

from minuend import directml, onnx, openvino
from minuend._native import clear_cache, get_num_threads, set_cache_limit, set_num_threads
from minuend.dialects import diff_versions as diff
from minuend.dialects import spec
from minuend.errors import (
    DTypeError,
    FileFormatError,
    MinuendError,
    OverflowFound,
    ScalarRangeError,
    ShapeError,
    SpecError,
    Unsupported,
)
from minuend.node import TensorType
from minuend.subtract import count_overflows, subtract
from minuend.validate import infer

__all__ = [
    "DTypeError",
    "FileFormatError",
    "MinuendError",
    "OverflowFound",
    "ScalarRangeError",
    "ShapeError",
    "SpecError",
    "TensorType",
    "Unsupported",
    "clear_cache",
    "count_overflows",
    "diff",
    "directml",
    "get_num_threads",
    "infer",
    "onnx",
    "openvino",
    "set_cache_limit",
    "set_num_threads",
    "spec",
    "subtract",
]
