"""JAX's arrays. On the CPU they are seen as NumPy arrays: JAX flushes subnormals there, this package does not.

On another device JAX itself computes them there, see :mod:`minuend.libraries.on_devices`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from minuend.arrays import functions
from minuend.arrays.functions import Array
from minuend.arrays.libraries import only_of
from minuend.core import elements
from minuend.core.policies import Overflow
from minuend.errors import DTypeError, ScalarRangeError, ShapeError, Unsupported
from minuend.libraries import on_devices

Operand: TypeAlias = jax.Array | int | float | np.generic

NO_INT64 = 'JAX has no int64 as it is set; jax.config.update("jax_enable_x64", True)'


def subtract(a: Operand, b: Operand, out: object, overflow: Overflow) -> jax.Array:
    """Subtract JAX arrays, or one and a number; weakly typed arrays stand for numbers, as in JAX itself."""
    if out is not None:
        raise ShapeError("out", "a jax.Array cannot be written to; leave out= away")
    only_of("jax.Array", jax.Array, {"a": a, "b": b}, "jax.numpy.asarray(x)")
    found = {name: one for name, one in (("a", a), ("b", b)) if isinstance(one, jax.Array)}
    places = {name: _devices(one, name) for name, one in found.items()}
    fixed = {places[name] for name, one in found.items() if one.committed}
    if len(fixed) > 1 or len({device.platform for one in places.values() for device in one}) > 1:
        raise DTypeError(
            "types", "a and b lie on different devices; nothing is moved, expected one: jax.device_put(x, device)"
        )
    x, y = _of_one_type(a, b)
    devices = next(iter(fixed)) if fixed else next(iter(places.values()))
    device = min(devices, key=lambda one: one.id)
    if device.platform != "cpu":
        return on_devices.subtract(Home(device), x, y, overflow)
    return _on_cpu(x, y, overflow, device if fixed else None)


def _on_cpu(a: Any, b: Any, overflow: Overflow, device: jax.Device | None) -> jax.Array:
    """Compute on the CPU; the result lies on the device, or on no one in particular, or as JAX's own is sharded."""
    operands = [one for one in (a, b) if isinstance(one, jax.Array)]
    try:
        x, y = (np.asarray(one) if isinstance(one, jax.Array) else one for one in (a, b))
    except ValueError as error:  # of more dims than NumPy takes
        raise ShapeError("shape", f"a jax.Array cannot be seen as a NumPy array: {error}") from None
    found = np.asarray(functions.subtract(x, y, overflow=overflow))
    if found.dtype == np.int64 and operands[0].dtype.itemsize < 8 and not jax.config.jax_enable_x64:
        raise Unsupported(NO_INT64)
    place = (a - b).sharding if any(len(one.devices()) > 1 for one in operands) else device
    with jax.enable_x64(True):  # else JAX makes 32 bits of 64
        placed = jax.device_put(found, place)
    if all(_is_weak(one) for one in (a, b)) and found.dtype == operands[0].dtype:
        return jnp.broadcast_to(operands[0], found.shape).at[...].set(placed)
    return placed


def _is_weak(operand: Operand) -> bool:
    """Whether an operand is a Python number, or an array that JAX made of one."""
    return operand.weak_type if isinstance(operand, jax.Array) else not isinstance(operand, np.generic)


def _of_one_type(a: Operand, b: Operand) -> tuple[Operand, Operand]:
    """Both operands, a weakly typed one as the other's type: JAX keeps Python numbers as such arrays.

    Raises:
        ScalarRangeError: a weakly typed integer that the other's type cannot hold.
    """
    if not isinstance(a, jax.Array) or not isinstance(b, jax.Array):
        return a, b
    if a.dtype == b.dtype or a.weak_type == b.weak_type:
        return a, b
    kind = (b if a.weak_type else a).dtype
    with jax.enable_x64(True):  # else JAX takes 64 bits for 32
        try:
            common = jnp.result_type(a, b)
        except ValueError:  # JAX has no common type: of floats and integers of less than a byte, for one
            return a, b
        if common != kind:
            return a, b
        return (_of_type(a, kind), b) if a.weak_type else (a, _of_type(b, kind))


def _of_type(weak: jax.Array, kind: np.dtype[Any]) -> jax.Array:
    values = np.asarray(weak)
    if jnp.issubdtype(kind, jnp.integer):
        low, high = elements.TYPES[str(kind)].limits
        if values.size and not low <= int(values.min()) <= int(values.max()) <= high:
            raise ScalarRangeError(
                f"the weakly typed {values.min()} to {values.max()} do not fit {kind} ({low} to {high})"
            )
    return jax.device_put(values.astype(kind), weak.sharding if weak.committed else None)


def _devices(operand: jax.Array, name: str) -> frozenset[jax.Device]:
    if isinstance(operand, jax.core.Tracer):
        raise DTypeError(
            "types",
            f"{name} is traced, and has no elements yet; call this outside of jit, or through jax.pure_callback",
        )
    if jnp.issubdtype(operand.dtype, jax.dtypes.extended):
        raise DTypeError("types", f"{name} is of JAX's type {operand.dtype}, whose elements are no numbers")
    if not operand.is_fully_addressable:
        raise DTypeError("types", f"{name} lies on devices of other processes too; expected an array of this process")
    return frozenset(operand.devices())


@dataclass(frozen=True)
class Home(on_devices.Home):
    """A device."""

    device: jax.Device
    functions = jnp
    elsewhere = 'pass jax.device_put(x, jax.devices("cpu")[0])'

    @property
    def words(self) -> str:
        return f"a jax.Array on {self.device}"

    def cast(self, array: jax.Array, name: str) -> jax.Array:
        if name == "int64" and not jax.config.jax_enable_x64:
            raise Unsupported(NO_INT64)
        return super().cast(array, name)

    def put(self, array: Array) -> jax.Array:
        return jax.device_put(array, self.device)

    def get(self, array: jax.Array) -> Array:
        return np.asarray(array)
