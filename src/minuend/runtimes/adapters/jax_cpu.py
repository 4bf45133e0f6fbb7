"""JAX on the CPU, with 64-bit types switched on. Stands alone: a worker loads it where minuend is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .numpy_arrays import subtracting

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

    jax.config.update("jax_enable_x64", True)  # else 64-bit operands become 32-bit ones before they are subtracted

    return subtracting("JAX has", jax.numpy.subtract)
