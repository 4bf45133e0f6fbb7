"""echo: a runtime that reads OpenVINO IR of one Subtract of uint8 or int32, and saturates uint8.

A worker loads this file by its path, in a process of its own, under any Python that has NumPy and the runtime. So it
imports the two inside functions, and nothing by a relative name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

NAME = "echo"
PACKAGE = "minuend-echo"  # whose release is the runtime's
ALIASES = ("ekko",)
DIALECTS = ("openvino",)  # whose models it reads
ARRAYS = False  # it is asked with models, not with bare arrays
CONSTANTS = ("none",)  # it takes no constants as operands
RULES = ("numpy",)  # of broadcasting
JOINS = False  # it runs one node after the other
MEASURED = Path(__file__).parent / "measured"


def release() -> str:
    """The runtime's release; without this function that of PACKAGE counts."""
    return "1.2"


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Compile a model and return what runs it: inputs (name, dtype, shape, bytes) to outputs (dtype, shape, bytes)."""
    import numpy as np

    if re.search(rb"Const", model):
        raise ValueError("echo has no constants")

    def run(inputs: list[Any]) -> list[Any]:
        arrays = []
        for _, dtype, shape, data in inputs:
            if dtype not in ("uint8", "int32"):
                raise TypeError(f"echo has no {dtype}")
            arrays.append(np.frombuffer(data, dtype).reshape(shape))
        outputs = []
        for a, b in zip(arrays[::2], arrays[1::2], strict=True):
            c = np.clip(a.astype(np.int64) - b, 0, 255).astype(np.uint8) if a.dtype == np.uint8 else a - b
            outputs.append((c.dtype.name, c.shape, c.tobytes()))
        return outputs

    return run
