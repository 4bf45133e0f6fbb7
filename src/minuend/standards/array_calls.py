"""Which calls on plain arrays NumPy's rule answers; that depends on version, attributes, types and shapes alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from minuend.core import elements, shapes
from minuend.errors import SpecError
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import validate
from minuend.standards.version import OpVersion

Typed: TypeAlias = tuple[type[np.generic], tuple[int, ...]]
"""An array's scalar type, which can be hashed where not every dtype can, and its shape."""

DECISIONS = 1024
"""Answers that each function of a standard caches."""


def shape_by_numpy(op: OpVersion, a: Typed, b: Typed, attributes: Mapping[str, object]) -> tuple[int, ...] | None:
    """Return the shape in which B joins A by NumPy's rule as it joins by the version's; ``()`` where it has that shape.

    Returns:
        B's dims and 1s after them; ``None`` where the call violates a rule, or NumPy's rule gives another answer.

    >>> from minuend.standards.dialects import spec
    >>> (wide, row), attributes = [(np.float32, shape) for shape in ((2, 3, 4), (3,))], {"axis": 1, "broadcast": 1}
    >>> shape_by_numpy(spec("onnx", 6), wide, row, attributes), shape_by_numpy(spec("onnx", 6), row, wide, attributes)
    ((3, 1), None)
    """
    (a_type, a_shape), (b_type, b_shape) = a, b
    rows = elements.by_scalar_type()
    element = rows.get(a_type)
    if element is None or rows.get(b_type) is not element:
        return None
    operands = TensorType(element, a_shape), TensorType(element, b_shape)
    try:
        joined = validate(Node(op=op, operands=operands, attributes=attributes))
        ones = (1,) * (len(joined.shape or ()) - joined.b_start - len(b_shape))
        by_numpy = shapes.numpy(a_shape, (*b_shape, *ones))
    except SpecError:
        return None
    if by_numpy != joined:
        return None
    return (*b_shape, *ones) if ones else ()
