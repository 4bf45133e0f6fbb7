"""JAX's arrays on the CPU, seen as NumPy arrays. Its own subtraction flushes subnormals there; this one keeps them."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from minuend.core import arrays
from minuend.core.libraries import only_of
from minuend.core.policies import Overflow
from minuend.errors import DTypeError, ShapeError


def subtract(a: Any, b: Any, out: Any, overflow: Overflow) -> Any:
    """Subtract JAX arrays, or one and a number."""
    if out is not None:
        raise ShapeError("out", "a jax.Array cannot be written to; leave out= away")
    only_of("jax.Array", jax.Array, {"a": a, "b": b}, "jax.numpy.asarray(x)")
    x, y = _seen(a, "a"), _seen(b, "b")
    return jax.device_put(np.asarray(arrays.subtract(x, y, overflow=overflow)), _device(a, b))


def _seen(operand: Any, name: str) -> Any:
    if not isinstance(operand, jax.Array):
        return operand
    if isinstance(operand, jax.core.Tracer):
        raise DTypeError(
            "types",
            f"{name} is traced, and has no elements yet; call this outside of jit, or through jax.pure_callback",
        )
    if (platform := next(iter(operand.devices())).platform) != "cpu":
        raise DTypeError("types", f"{name} lies on {platform}; expected one on the CPU: jax.device_put(x, cpu)")
    return np.asarray(operand)


def _device(*operands: Any) -> Any:
    return next(next(iter(one.devices())) for one in operands if isinstance(one, jax.Array))
