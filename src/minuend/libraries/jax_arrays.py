"""JAX's arrays. On the CPU they are seen as NumPy arrays: JAX flushes subnormals there, which are kept here.

On another device JAX itself computes them there, see :mod:`minuend.libraries.on_devices`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from minuend.core import arrays
from minuend.core.libraries import only_of
from minuend.core.policies import Overflow
from minuend.errors import DTypeError, ShapeError, Unsupported
from minuend.libraries import on_devices


def subtract(a: Any, b: Any, out: Any, overflow: Overflow) -> Any:
    """Subtract JAX arrays, or one and a number."""
    if out is not None:
        raise ShapeError("out", "a jax.Array cannot be written to; leave out= away")
    only_of("jax.Array", jax.Array, {"a": a, "b": b}, "jax.numpy.asarray(x)")
    places = {name: _devices(one, name) for name, one in (("a", a), ("b", b)) if isinstance(one, jax.Array)}
    devices = frozenset().union(*places.values())
    if all(one.platform == "cpu" for one in devices):
        x, y = (np.asarray(one) if isinstance(one, jax.Array) else one for one in (a, b))
        return jax.device_put(np.asarray(arrays.subtract(x, y, overflow=overflow)), next(iter(devices)))
    if len({one.platform for one in devices}) > 1:
        raise DTypeError(
            "types", "a and b lie on different devices; nothing is moved, expected one: jax.device_put(x, device)"
        )
    return on_devices.subtract(Home(next(iter(devices))), a, b, overflow)


def _devices(operand: Any, name: str) -> frozenset[Any]:
    if isinstance(operand, jax.core.Tracer):
        raise DTypeError(
            "types",
            f"{name} is traced, and has no elements yet; call this outside of jit, or through jax.pure_callback",
        )
    return frozenset(operand.devices())


@dataclass(frozen=True)
class Home:
    """A device; see :class:`minuend.libraries.on_devices.Home`."""

    device: Any

    @property
    def words(self) -> str:
        return f"a jax.Array on {self.device}"

    elsewhere = 'pass jax.device_put(x, jax.devices("cpu")[0])'

    def name(self, array: Any) -> str:
        return str(array.dtype)

    def view(self, array: Any, name: str) -> Any:
        return array.view(jnp.dtype(name))

    def cast(self, array: Any, name: str) -> Any:
        if name == "int64" and not jax.config.jax_enable_x64:
            raise Unsupported('JAX has no int64 as it is set; jax.config.update("jax_enable_x64", True)')
        return array.astype(jnp.dtype(name))

    def put(self, array: Any) -> Any:
        return jax.device_put(array, self.device)

    def get(self, array: Any) -> Any:
        return np.asarray(array)

    def minus(self, a: Any, b: Any) -> Any:
        return a - b

    def where(self, mask: Any, one: Any, other: Any) -> Any:
        return jnp.where(mask, one, other)

    def first(self, mask: Any) -> int:
        return int(mask.ravel().argmax())

    def count(self, mask: Any) -> int:
        return int(jnp.count_nonzero(mask))
