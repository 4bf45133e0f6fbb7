"""NumPy, with ml_dtypes for the types that it lacks. Stands alone: a worker loads it where minuend is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NAME = "numpy"
PACKAGE = "numpy"
DIALECTS = ("openvino",)
JOINS = False
ARRAYS = True
CONSTANTS = ("none",)
RULES = ("numpy",)


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Return what subtracts arrays."""
    return subtracting("NumPy and ml_dtypes have", lambda a, b: a - b)


def subtracting(lacking: str, subtract: Callable[[Any, Any], Any]) -> Callable[[list[Any]], list[Any]]:
    """Return what subtracts arrays by a function; the words name what lacks a type, and end in a verb."""
    import numpy as np

    def dtype_of(name: str) -> Any:
        try:
            return np.dtype(name)
        except TypeError:
            import ml_dtypes

            if not hasattr(ml_dtypes, name):
                raise TypeError(f"{lacking} no type {name}") from None
            return np.dtype(getattr(ml_dtypes, name))

    def run(inputs: list[Any]) -> list[Any]:
        arrays = [np.frombuffer(data, dtype_of(dtype)).reshape(shape) for _, dtype, shape, data in inputs]
        with np.errstate(all="ignore"):
            found = [np.asarray(subtract(a, b)) for a, b in zip(arrays[::2], arrays[1::2], strict=True)]
        return [(array.dtype.name, array.shape, array.tobytes()) for array in found]

    return run
