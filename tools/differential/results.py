"""Whether the results of two programs are the same, or near each other within the rounding of their type."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from differential.onnx_worker import Bits


def words(results: list[Any]) -> str:
    """Results for people."""
    return str([one if isinstance(one, Bits) else np.asarray(one).tolist() if not isinstance(one, list) else one
                for one in results])[:300]  # fmt: skip


def same(x: Any, y: Any) -> bool:
    """Whether two results are the same bit for bit; a NaN equals a NaN."""
    if isinstance(x, list) or isinstance(y, list):
        return isinstance(x, list) and isinstance(y, list) and len(x) == len(y) and all(map(same, x, y))
    if isinstance(x, dict) or isinstance(y, dict):
        return type(x) is type(y) and x.keys() == y.keys() and all(same(x[key], y[key]) for key in x)
    if any(one is None or isinstance(one, Bits) for one in (x, y)):
        return type(x) is type(y) and bool(x == y)
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype.kind in "OUT":
        return bool((x == y).all())
    if x.dtype.kind == "f":
        nan = np.isnan(x) & np.isnan(y)
        code = f"u{x.dtype.itemsize}"
        one, other = (np.ascontiguousarray(array).reshape(-1).view(code) for array in (x, y))
        return bool((nan.reshape(-1) | (one == other)).all())
    return bool(x.tobytes() == y.tobytes())


def bits(value: Any) -> Any:
    """An array of a type that NumPy lacks in the form in which onnxruntime hands it out."""
    if not isinstance(value, np.ndarray):
        return value
    name = TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(value.dtype)).lower()
    return Bits(name, value.shape, bytes(onnx.numpy_helper.from_array(value).raw_data))


def near(x: Any, y: Any) -> bool:
    """Whether two results are equal within the rounding of their type."""
    if same(x, y):
        return True
    if isinstance(x, list) and isinstance(y, list):
        return len(x) == len(y) and all(map(near, x, y))
    if isinstance(x, Bits) and isinstance(y, Bits):
        return _adjacent(x, y)
    if any(one is None or isinstance(one, list | dict | Bits) for one in (x, y)):
        return False
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype or x.shape != y.shape or x.dtype.kind not in "fciu":
        return False
    if x.dtype.kind in "iu":  # the logarithm of integers, which is cut off at the end, or in between
        return bool((_distance(x, y) <= 1).all())
    digits = {2: 4e-3, 4: 3e-5}.get(x.dtype.itemsize, 1e-6)  # normalisation goes through float32 in double as well
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    return bool(np.allclose(x.astype(wide), y.astype(wide), digits, digits * 10, equal_nan=True))


def near_as_float32(x: Any, y: Any) -> bool:
    """Whether two results are near each other; floats within float32's rounding of their largest element."""
    if near(x, y):
        return True
    if isinstance(x, list) and isinstance(y, list):
        return len(x) == len(y) and all(map(near_as_float32, x, y))
    if not all(isinstance(one, np.ndarray) and one.dtype in (np.float32, np.float64) for one in (x, y)):
        return False
    if (x.dtype, x.shape) != (y.dtype, y.shape):
        return False
    largest = np.abs(x[np.isfinite(x)]).max(initial=0)
    return bool(np.allclose(x, y, 3e-5, 3e-5 * largest, equal_nan=True))


def _distance(x: Any, y: Any) -> Any:
    """How far integers of one type are from each other: without sign, since the type itself may be too narrow."""
    high, low = (each(np.atleast_1d(x), y).astype(f"u{x.dtype.itemsize}") for each in (np.maximum, np.minimum))
    return high - low


def _adjacent(x: Bits, y: Bits) -> bool:
    """Whether floats of 8 bits are the same, or next to each other: their codes of one sign are in order."""
    if (x.element, x.shape) != (y.element, y.shape) or not x.element.startswith("float8"):
        return False
    codes = [np.frombuffer(one.data, np.uint8) for one in (x, y)]
    signs, sizes = [one >> 7 for one in codes], [(one & 127).astype(int) for one in codes]
    return bool(((signs[0] == signs[1]) & (abs(sizes[0] - sizes[1]) <= 1)).all())


def lowest(value: Any) -> Any:
    """A result with -inf for its type's lowest number."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    return np.where(value == np.finfo(value.dtype).min, value.dtype.type(-np.inf), value)


def overflowed(x: Any, y: Any) -> bool:
    """Whether two results are near but for integers where the first is what processors make of an infinite float."""
    if near(x, y):
        return True
    if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and x.dtype == y.dtype and x.shape == y.shape):
        return False
    if x.dtype.kind not in "iu":
        return False
    limits = np.iinfo(x.dtype)
    return bool(((_distance(x, y) <= 1) | np.isin(x, (0, limits.min, limits.max))).all())


def clamped(x: Any, y: Any) -> bool:
    """Whether two results are equal but where the first is its type's largest number, or within float64's rounding.

    A root that is cut off may differ by one.
    """
    if isinstance(x, list) and isinstance(y, list):
        return len(x) == len(y) and all(map(clamped, x, y))
    if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and x.dtype.kind in "iu"):
        return near(x, y)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    close = np.isclose(x.astype(np.float64), y.astype(np.float64), 1e-15, 1)
    return bool(((x == np.iinfo(x.dtype).max) | close).all())
