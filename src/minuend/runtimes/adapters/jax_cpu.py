"""JAX on the CPU, with 64-bit types switched on. Stands alone: a worker loads it where minuend is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NAME = "jax-cpu"
PACKAGE = "jax"
ALIASES = ("jax",)
DIALECTS = ("openvino",)
JOINS = False
ARRAYS = True
CONSTANTS = ("none",)
RULES = ("numpy",)
INSTEAD = "export the model to ONNX (jax2onnx, or tf2onnx after jax2tf), and check that on what is to run it"


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Return what subtracts arrays."""
    import os

    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import ml_dtypes
    import numpy as np

    jax.config.update("jax_enable_x64", True)  # else 64-bit operands become 32-bit ones before they are subtracted

    def dtype_of(name: str) -> Any:
        found = getattr(ml_dtypes, name, None) or getattr(np, name, None)
        if found is None:
            raise TypeError(f"JAX has no type {name}")
        return np.dtype(found)

    def run(inputs: list[Any]) -> list[Any]:
        arrays = [np.frombuffer(data, dtype_of(dtype)).reshape(shape) for _, dtype, shape, data in inputs]
        found = [np.asarray(jax.numpy.subtract(a, b)) for a, b in zip(arrays[::2], arrays[1::2], strict=True)]
        return [(array.dtype.name, array.shape, array.tobytes()) for array in found]

    return run
