"""LiteRT with quantised operands, of a scale of 1 and a zero point of 0: the numbers are the integers themselves.

Stands alone: a worker loads this file where minuend is not installed. The code that queries it is in the adjacent file.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

NAME = "litert-quantised"
PACKAGE = "ai-edge-litert"
DIALECTS = ("openvino",)
JOINS = False
ARRAYS = True
CONSTANTS = ("none",)
RULES = ("numpy",)
INSTEAD = "convert the model to ONNX (tf2onnx --tflite), and check that on what is to run it"


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Return what subtracts arrays."""
    spec = importlib.util.spec_from_file_location("litert", Path(__file__).with_name("litert.py"))
    assert spec is not None
    assert spec.loader is not None
    adjacent = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(adjacent)
    run: Callable[[list[Any]], list[Any]] = adjacent.subtracting(quantised=True)
    return run
