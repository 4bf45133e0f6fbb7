"""onnxruntime as WebAssembly, in Node. Stands alone: a worker loads this file where minuend is not installed.

The script that Node runs, and the code that queries it, are in the adjacent file.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

NAME = "onnxruntime-web"
PACKAGE = "onnxruntime-web"
ALIASES = ("onnxruntime-wasm",)
INSTALL = "npm install onnxruntime-web"
DIALECTS = ("onnx",)
ARRAYS = False
CONSTANTS = ("none", "A", "B", "both")
RULES = None

# ---- beyond the measured data ---------------------------------------------------------------------------------

_OF_TWO_TYPES = (
    "not-implemented",
    "onnxruntime makes one operator of a normalisation in two types, which is not valid; disable optimizations",
)
_CONVERTED = (
    "different-numbers",
    "onnxruntime makes one operator of a normalisation without a conversion in it; disable optimizations",
)

STRICT = {
    "normalisation of two types": _OF_TWO_TYPES,
    "normalisation of float16 and another type": _OF_TWO_TYPES,
    "normalisation and back": _CONVERTED,
    "normalisation in float16 and back": _CONVERTED,
    "normalisation scaled in float16": _CONVERTED,
    "deprecated operator": ("not-implemented", "onnxruntime takes no operator that its opset deprecates"),
    "nodes of one name": ("not-implemented", "onnxruntime takes no two nodes of one name; rename one"),
    "no output": ("not-implemented", "onnxruntime runs no model without outputs; declare one"),
    "output quantised": (
        "different-numbers",
        "onnxruntime quantises an output that is transposed and quantised besides; disable optimizations",
    ),
    "int8 moved": (
        "not-implemented",
        "from 1.27 and opset 21 on, onnxruntime refuses int8 dequantised, then moved; disable optimizations",
    ),
    "mask of attention": (
        "unknown",
        "below opset 13, onnxruntime makes one Attention of it, to which masks are 0 or 1 alone; convert to opset 13",
    ),
}
"""What it does not take of a model: the verdict, and why."""

STRICT_SINCE = {"int8 moved": (1, 27)}
"""The release from which on it does not take that."""

AS_WRITTEN = True
BFLOAT16_OUT = False
NARROW_CONSTANTS = "as values"
"""As onnxruntime-cpu, whose optimizers it has. Max and Min of float16 give the same zero everywhere, unlike there."""

LOADED: dict[str, tuple[int | None, int | None]] = {"1.24.3": (25, 13), "1.30.0": (26, 13)}
"""Release → the highest opset and IR version that it loads; ``None``: no limit was found."""

PROVEN: dict[str, tuple[str, ...]] = {
    "through float32": ("float16",),
    "through int32, wrapped with BitwiseAnd": ("int16", "int8", "uint16", "uint8"),
    "through int32, wrapped with Mod": ("int16", "int8", "uint16", "uint8"),
    "through int64, wrapped with BitwiseAnd": ("int32", "uint32"),
    "through int64, wrapped with Mod": ("int32", "uint32"),
    "through float32, wrapped with Floor": ("int16", "int8", "uint16", "uint8"),
    "through int32, saturated with Clip": ("int16", "int8", "uint16", "uint8"),
    "through float32, saturated with Clip": ("int16", "int8", "uint16", "uint8"),
    "saturated with Max": ("uint32", "uint64"),
    "saturated with Max and Min": ("int32",),
    "saturated with Where": ("int64",),
    "narrowed to int32, within proven ranges": ("int32", "int64", "uint32", "uint64"),
    "kept apart with Max": ("float16", "float32"),
}
"""Recipe → element types with which it was run here and is right, whichever operands are constants."""

# ---- running --------------------------------------------------------------------------------------------------


@functools.cache
def _node() -> Any:
    """The adjacent file, loaded by its path: a worker knows no package."""
    spec = importlib.util.spec_from_file_location("onnxruntime_node", Path(__file__).with_name("onnxruntime_node.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def release() -> str | None:
    """The release of the npm package."""
    found: str | None = _node().release_of(PACKAGE)
    return found


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Build a session of WebAssembly from an ONNX model and return what runs it."""
    run: Callable[[list[Any]], list[Any]] = _node().session(PACKAGE, "wasm", model)
    return run
