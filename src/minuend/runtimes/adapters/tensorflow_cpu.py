"""TensorFlow on the CPU. Stands alone: a worker loads this file where minuend is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NAME = "tensorflow-cpu"
PACKAGE = "tensorflow-cpu"
MODULE = "tensorflow"
OTHERWISE = ("tensorflow",)
ALIASES = ("tensorflow", "tf")
DIALECTS = ("openvino",)
JOINS = False
ARRAYS = True
CONSTANTS = ("none",)
RULES = ("numpy",)
INSTEAD = "export the model to ONNX (tf2onnx) or read it into OpenVINO, and check that on what is to run it"


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Return what subtracts tensors."""
    import os

    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    import ml_dtypes
    import numpy as np
    import tensorflow as tf

    def dtype_of(name: str) -> Any:
        found = getattr(ml_dtypes, name, None) or getattr(np, name, None)
        if found is None:
            raise TypeError(f"TensorFlow has no type {name}")
        return np.dtype(found)

    def run(inputs: list[Any]) -> list[Any]:
        arrays = [np.frombuffer(data, dtype_of(dtype)).reshape(shape) for _, dtype, shape, data in inputs]
        tensors = [tf.constant(array) for array in arrays]
        found = [tf.subtract(a, b).numpy() for a, b in zip(tensors[::2], tensors[1::2], strict=True)]
        return [(np.asarray(array).dtype.name, np.shape(array), np.asarray(array).tobytes()) for array in found]

    return run
