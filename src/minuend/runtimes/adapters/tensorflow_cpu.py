"""TensorFlow on the CPU. Stands alone: a worker loads this file where minuend is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .numpy_arrays import subtracting

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
    import tensorflow as tf

    return subtracting("TensorFlow has", lambda a, b: tf.subtract(tf.constant(a), tf.constant(b)).numpy())
