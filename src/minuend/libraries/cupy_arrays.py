"""CuPy's arrays, computed by CuPy on their own device; see :mod:`minuend.libraries.on_devices`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import cupy
import numpy as np

from minuend.arrays.functions import Array
from minuend.arrays.libraries import only_of
from minuend.core.policies import Overflow
from minuend.errors import DTypeError
from minuend.libraries import on_devices

Operand: TypeAlias = cupy.ndarray | int | float | np.generic

_SUBTRACT = cupy.ElementwiseKernel(
    "float32 a, float32 b", "float32 c", 'asm("sub.rn.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b))', "minuend_subtract"
)
"""CuPy's own kernels are built to flush subnormals of float32; this instruction keeps them."""


def subtract(a: Operand, b: Operand, out: cupy.ndarray | None, overflow: Overflow) -> cupy.ndarray:
    """Subtract CuPy arrays, or one and a number."""
    only_of("cupy.ndarray", cupy.ndarray, {"a": a, "b": b, "out": out}, "cupy.asarray(x)")
    devices = {one.device.id for one in (a, b, out) if isinstance(one, cupy.ndarray)}
    if len(devices) > 1:
        raise DTypeError("types", "the arrays lie on different devices; nothing is moved, expected one device")
    (device,) = devices
    with cupy.cuda.Device(device):
        home = Home(device)
        found = on_devices.subtract(home, a, b, overflow)
        if out is None:
            return found
        on_devices.check_out(home, out, found, out.strides)
        out[...] = found
        return out


@dataclass(frozen=True)
class Home(on_devices.Home):
    """A device."""

    device: int
    functions = cupy
    elsewhere = "pass cupy.asnumpy(x)"

    @property
    def words(self) -> str:
        return f"a cupy.ndarray on cuda:{self.device}"

    def put(self, array: Array) -> cupy.ndarray:
        return cupy.asarray(array)

    def get(self, array: cupy.ndarray) -> Array:
        found: Array = cupy.asnumpy(array)
        return found

    def minus(self, a: cupy.ndarray, b: cupy.ndarray) -> cupy.ndarray:
        return _SUBTRACT(a, b) if a.dtype == np.float32 else a - b
