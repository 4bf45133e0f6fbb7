"""OpenVINO's ``Subtract`` on arrays."""

from __future__ import annotations

import functools
from typing import Any, TypeAlias, overload

import numpy as np

from minuend.arrays.functions import Array, compute, operands, scalar
from minuend.arrays.functions import subtract as subtract_arrays
from minuend.arrays.subclasses import wrap
from minuend.core.elements import ElementType
from minuend.core.shapes import Broadcast
from minuend.errors import DTypeError
from minuend.openvino.tensor import Tensor
from minuend.openvino.versions import SPELLINGS, SUBTRACT_1
from minuend.standards import array_calls
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import validate


@overload
def subtract(
    a: Tensor, b: Tensor | float, /, *, auto_broadcast: str = ..., axis: int = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def subtract(
    a: float, b: Tensor, /, *, auto_broadcast: str = ..., axis: int = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def subtract(a: Any, b: Any, /, *, auto_broadcast: str = ..., axis: int = ..., out: Array | None = ...) -> Array: ...
def subtract(a: Any, b: Any, /, *, auto_broadcast: str = "numpy", axis: int = -1, out: Any = None) -> Array | Tensor:
    """Subtract as OpenVINO's Subtract-1 does: ``a - b``, in the operands' own element type; integers wrap.

    Args:
        a: the minuend: an array of any numeric type that OpenVINO has (narrow ones as ml_dtypes arrays, or as a
            :class:`~minuend.openvino.Tensor`), or a Python number where ``b`` is an array.
        b: the subtrahend, likewise; a Tensor goes with a Tensor or a Python number.
        auto_broadcast: ``"none"``: the shapes are equal. ``"numpy"``: right-aligned, equal or 1. ``"pdpd"``: ``b`` into
            ``a``, whose shape the result has, except that a 1 of ``a`` against a 0 of ``b`` gives 0. In any case.
        axis: where ``b``'s first dim sits in ``a`` under ``"pdpd"``, -1 for ``a``'s last dims, counted with ``b``'s
            rank as it stands. The other rules do not read it, as in the standard; it is an int all the same.
        out: what to write to, of the result's shape and type: an array, or for Tensors a Tensor. It may overlap the
            operands.

    Returns:
        ``out``, or a new array (for Tensors: a Tensor).

    Raises:
        SpecError: ``auto_broadcast`` or ``axis`` of another type or value. DTypeError: types that differ or that
            OpenVINO has not. ShapeError: shapes that the rule does not join. ScalarRangeError: a Python int that does
            not fit.

    Source of the rules: the pages on Subtract-1 and on broadcasting of OpenVINO, and what the runtime was measured to
    infer where they leave it open.

    >>> import numpy as np
    >>> a = np.arange(6, dtype=np.int8).reshape(2, 3)
    >>> subtract(a, np.array([1, 2], np.int8), auto_broadcast="pdpd", axis=0)
    array([[-1,  0,  1],
           [ 1,  2,  3]], dtype=int8)
    """
    if (
        type(a) is type(b) is np.ndarray
        and (out is None or type(out) is np.ndarray)
        and type(auto_broadcast) is str
        and type(axis) is int  # True and 1.0 would find what was cached of 1
    ):
        shape = _shape_by_numpy(auto_broadcast, axis, (a.dtype.type, a.shape), (b.dtype.type, b.shape))
        if shape is not None:
            return subtract_arrays(a, b.reshape(shape) if shape else b, out)
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return _subtract_tensors(a, b, auto_broadcast, axis, out)
    x, y, element = operands(a, b)
    found = compute(SUBTRACT_1.computes, element, _joined((x, element), (y, element), auto_broadcast, axis), x, y, out)
    return found if out is not None else wrap(SUBTRACT_1.computes, found, a, b)


@functools.lru_cache(maxsize=array_calls.DECISIONS)
def _shape_by_numpy(
    auto_broadcast: str, axis: int, a: array_calls.Typed, b: array_calls.Typed
) -> tuple[int, ...] | None:
    return array_calls.shape_by_numpy(SUBTRACT_1, a, b, {"auto_broadcast": auto_broadcast, "axis": axis})


Typed: TypeAlias = tuple[Array, ElementType]
"""An array of codes or values in memory, and what they are elements of."""


def _joined(a: Typed, b: Typed, auto_broadcast: str, axis: int) -> Broadcast:
    """Check the call as the node that it stands for, and return how the shapes join."""
    x, y = (TensorType(element, array.shape) for array, element in (a, b))
    return validate(Node(op=SUBTRACT_1, operands=(x, y), attributes={"auto_broadcast": auto_broadcast, "axis": axis}))


def _subtract_tensors(a: Any, b: Any, auto_broadcast: str, axis: int, out: object) -> Tensor:
    element = (a if isinstance(a, Tensor) else b).element
    x, y = _typed(a, "a", element), _typed(b, "b", element)
    joined = _joined(x, y, auto_broadcast, axis)
    if out is None:
        return Tensor(element, compute(SUBTRACT_1.computes, element, joined, x[0], y[0], None).view(np.uint8))
    if not isinstance(out, Tensor):
        raise DTypeError("out", f"out is a {type(out).__name__}; the result of Tensors is a Tensor")
    compute(SUBTRACT_1.computes, element, joined, x[0], y[0], _memory(out))
    return out


def _memory(tensor: Tensor) -> Array:
    return tensor.codes.view(tensor.element.memory)


def _typed(operand: object, name: str, element: ElementType) -> Typed:
    """Return a Tensor's codes as its elements in memory, or a Python number as a 0-d array of an element type."""
    if isinstance(operand, Tensor):
        return _memory(operand), operand.element
    if isinstance(operand, int | float) and not isinstance(operand, bool | np.generic):
        return scalar(operand, element), element
    raise DTypeError(
        "types",
        f"{name} is a {type(operand).__name__}, the other operand a Tensor; expected a Tensor or a Python number "
        f"(Tensor({SPELLINGS[element.name][0]!r}, codes) makes one of codes)",
    )
