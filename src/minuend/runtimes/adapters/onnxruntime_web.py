"""onnxruntime as WebAssembly, in Node. Stands alone: a worker loads this file where minuend is not installed.

The script that Node runs, and the code that queries it, are in the adjacent file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Rows of this adapter as well, but for SWAPS_ZEROS: Max and Min of float16 give the same zero everywhere here.
from .onnxruntime_cpu import (  # noqa: F401
    AS_WRITTEN,
    BFLOAT16_OUT,
    CONTRIB,
    DEVIATING,
    LACKED,
    NARROW_CONSTANTS,
    STRICT_BEFORE,
    STRICT_SINCE,
)
from .onnxruntime_node import PROVEN, STRICT, release_of, session  # noqa: F401

NAME = "onnxruntime-web"
PACKAGE = "onnxruntime-web"
ALIASES = ("onnxruntime-wasm",)
INSTALL = "npm install onnxruntime-web"
DIALECTS = ("onnx",)
ARRAYS = False
CONSTANTS = ("none", "A", "B", "both")
RULES = None

# ---- beyond the measured data ---------------------------------------------------------------------------------

LOADED: dict[str, tuple[int | None, int | None]] = {"1.24.3": (25, 13), "1.30.0": (26, 13)}
"""Release → the highest opset and IR version that it loads; ``None``: no limit was found."""

# ---- running --------------------------------------------------------------------------------------------------


def release() -> str | None:
    """The release of the npm package."""
    return release_of(PACKAGE)


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Build a session of WebAssembly from an ONNX model and return what runs it."""
    return session(PACKAGE, "wasm", model)
