"""Element-wise subtraction as ONNX, OpenVINO and DirectML define it: exact, fast, and the same everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from minuend.lazy import members

if TYPE_CHECKING:
    from minuend import directml, onnx, openvino
    from minuend._native import clear_cache, get_num_threads, set_cache_limit, set_num_threads
    from minuend.arrays.functions import count_overflows, subtract
    from minuend.errors import ConversionRefused
    from minuend.judging.checking import check
    from minuend.models.converting import convert
    from minuend.models.opening import run
    from minuend.rewriting.fixing import fix
    from minuend.runtimes.proving import prove
    from minuend.standards.dialects import diff_versions as diff
    from minuend.standards.dialects import spec
    from minuend.standards.node import TensorType
    from minuend.standards.validation import infer

__version__ = "0.1.0"

# Imported when they are first asked for: who asks for --help waits for no NumPy, who subtracts for no model reader.
_find = members(
    __name__,
    {
        "ConversionRefused": "minuend.errors:ConversionRefused",
        "TensorType": "minuend.standards.node:TensorType",
        "check": "minuend.judging.checking:check",
        "clear_cache": "minuend._native:clear_cache",
        "convert": "minuend.models.converting:convert",
        "count_overflows": "minuend.arrays.functions:count_overflows",
        "diff": "minuend.standards.dialects:diff_versions",
        "directml": "minuend.directml",
        "fix": "minuend.rewriting.fixing:fix",
        "get_num_threads": "minuend._native:get_num_threads",
        "infer": "minuend.standards.validation:infer",
        "onnx": "minuend.onnx",
        "openvino": "minuend.openvino",
        "prove": "minuend.runtimes.proving:prove",
        "run": "minuend.models.opening:run",
        "set_cache_limit": "minuend._native:set_cache_limit",
        "set_num_threads": "minuend._native:set_num_threads",
        "spec": "minuend.standards.dialects:spec",
        "subtract": "minuend.arrays.functions:subtract",
    },
)

__all__ = [
    "ConversionRefused",
    "DTypeError",
    "FileFormatError",
    "MinuendError",
    "OverflowFound",
    "ScalarRangeError",
    "ShapeError",
    "SpecError",
    "TensorType",
    "Unsupported",
    "check",
    "clear_cache",
    "convert",
    "count_overflows",
    "diff",
    "directml",
    "fix",
    "get_num_threads",
    "infer",
    "onnx",
    "openvino",
    "prove",
    "run",
    "set_cache_limit",
    "set_num_threads",
    "spec",
    "subtract",
]


_NOT_YET = ("add", "multiply", "divide", "negative")
"""Operators of the same standards, by NumPy's names, which this release has no function for."""


def __getattr__(name: str) -> Any:
    if name in _NOT_YET:
        raise AttributeError(f"minuend {__version__} has no {name!r}: it computes subtraction alone (minuend.subtract)")
    return _find(name)


def __dir__() -> list[str]:
    return sorted(__all__)
