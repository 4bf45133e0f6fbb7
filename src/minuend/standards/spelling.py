"""Element types by name: this package's, NumPy's, and every dialect's own."""

from __future__ import annotations

import functools

import numpy as np

from minuend.core import elements
from minuend.core.elements import TYPES, ElementType
from minuend.errors import DTypeError, listed, shown
from minuend.standards.dialects import dialects


def find(name: object) -> ElementType:
    """Look an element type up by name, in this package's spelling or any dialect's.

    Args:
        name: ``"float32"``, ``"FLOAT16"`` (ONNX, DirectML), ``"f16"`` (OpenVINO), ``"tensor(float)"``,
            ``"DML_TENSOR_DATA_TYPE_INT8"``, a NumPy or ml_dtypes dtype or scalar type, or a row itself.
            ``"i8"`` and ``"u1"`` are OpenVINO's 8-bit and 1-bit integers, not NumPy's byte counts.

    Raises:
        DTypeError: the name is unknown, or stands for a type that this operator does not have.

    >>> find("tensor(bfloat16)").name
    'bfloat16'
    >>> find("f8e4m3").bits
    8
    """
    if isinstance(name, ElementType):
        return name
    if isinstance(name, str):
        row = TYPES.get(name) or _spellings().get(name)
        if row is not None:
            return row
        if name == "float":
            raise DTypeError("types", "element type 'float' is float32 in ONNX's text and float64 in NumPy; say which")
        raise DTypeError("types", f"{refusal(name)}; expected {listed(TYPES)}")
    dtype = name if isinstance(name, np.dtype) else None
    if isinstance(name, type) and issubclass(name, np.generic):
        dtype = np.dtype(name)
    row = None if dtype is None else elements.of_numpy(dtype)
    if row is None:
        spelled = shown(name) if dtype is None else dtype.name
        raise DTypeError("types", f"{refusal(spelled)}; expected {listed(TYPES)}")
    return row


def refusal(name: str) -> str:
    """Say why a type outside the table is not taken; dialects know of types that they name but cannot compute."""
    reasons = (home.refused[name] for home in dialects().values() if name in home.refused)
    return elements.refusal(name, next(reasons, ""))


@functools.cache
def _spellings() -> dict[str, ElementType]:
    return {
        spelling: TYPES[name]
        for home in dialects().values()
        for name, spellings in home.spellings.items()
        for spelling in spellings
    }
