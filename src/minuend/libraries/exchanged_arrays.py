"""Arrays of any other library that hands its memory on: by DLPack, on the CPU."""

from __future__ import annotations

import numpy as np

from minuend.arrays import functions
from minuend.arrays.libraries import exchanges, no_out, only_of
from minuend.core import elements
from minuend.core.policies import Overflow
from minuend.errors import DTypeError, listed


def subtract(a: object, b: object, out: object, overflow: Overflow) -> object:
    """Subtract them; the result is of the library's own kind where it has a namespace of the array API."""
    no_out(out, "arrays that are exchanged")
    first = next(one for one in (a, b) if exchanges(one))
    kind = type(first)
    only_of(f"{kind.__module__}.{kind.__qualname__}", kind, {"a": a, "b": b}, "from_dlpack(x) of its library")
    devices = {str(device) for one in (a, b) if exchanges(one) and (device := getattr(one, "device", None)) is not None}
    if len(devices) > 1:
        raise DTypeError(
            "types",
            f"a and b lie on {' and '.join(sorted(devices))}; nothing is moved between devices, expected one device",
        )
    x, y = _seen(a, "a"), _seen(b, "b")
    found = np.asarray(functions.subtract(x, y, overflow=overflow))
    namespace = getattr(first, "__array_namespace__", None)
    if namespace is None:
        return found
    own = namespace().from_dlpack(found)
    device = getattr(first, "device", None)
    return own if device is None or own.device == device else own.to_device(device)


def _seen(operand: object, name: str) -> object:
    if not exchanges(operand):
        return operand
    stated = getattr(getattr(operand, "dtype", None), "name", None)
    if isinstance(stated, str) and stated not in elements.TYPES:  # TensorFlow ends the process over a text's memory
        raise DTypeError("types", f"{name}: {elements.refusal(stated)}; expected {listed(elements.TYPES)}")
    try:
        return np.from_dlpack(operand)
    except Exception as error:  # of its library's own kinds, too
        raise DTypeError("types", f"{name} does not hand its memory to NumPy: {error}") from None
