"""``Sub`` on arrays, under the rules of the version that an opset means."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minuend.arrays.functions import Array, compute, operands, subtract
from minuend.arrays.subclasses import wrap
from minuend.errors import SpecError
from minuend.onnx.versions import DIALECT
from minuend.standards.array_calls import DECISIONS, Typed, shape_by_numpy
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import validate
from minuend.standards.version import OpVersion


def sub(
    a: Any,
    b: Any,
    /,
    *,
    opset: int | None = None,
    axis: int | None = None,
    broadcast: int = 0,
    consumed_inputs: Sequence[int] | None = None,
    out: Array | None = None,
) -> Array:
    """Compute ONNX ``Sub``: ``a - b`` under the rules of one opset.

    The rules are those of https://onnx.ai/onnx/operators/onnx__Sub.html: opsets 1 to 5 mean Sub-1, 6 Sub-6, 7 to 12
    Sub-7, 13 Sub-13, and 14 and above Sub-14. ONNX says nothing of overflow: integers wrap modulo 2**n, floats are
    rounded once (:func:`minuend.subtract`).

    Args:
        a: the minuend: an array of an element type that the version takes, or a Python number where ``b`` is an array.
        b: the subtrahend, likewise.
        opset: the opset number whose Sub is meant; ``None`` means the newest.
        axis: Sub-1 and Sub-6: where B's first dim sits in A; ``None`` makes B the suffix of A.
        broadcast: Sub-1 and Sub-6: 1 lets B repeat into A's shape; 0 wants equal shapes.
        consumed_inputs: Sub-1: a hint about memory that old models carry; it has no effect, as in ONNX itself.
        out: an array to write to, of the result's shape and element type; it may overlap ``a`` and ``b``.

    Returns:
        ``out``, or a new array of the operands' element type: of A's shape up to Sub-6, of the shape to which both
        broadcast from Sub-7 on.

    Raises:
        SpecError: no such opset, or an attribute that the version does not take.
        DTypeError: two element types, or one that the version does not take.
        ShapeError: shapes that the version's rule does not join, an ``axis`` out of range, or an ``out`` that does
            not fit.
        ScalarRangeError: a Python int that the array's element type cannot hold.

    >>> import numpy as np
    >>> sub(np.float32([1, 2, 3]), np.float32([3, 2, 1]))
    array([-2.,  0.,  2.], dtype=float32)
    >>> sub(np.uint8([3]), np.uint8([4]), opset=14)
    array([255], dtype=uint8)
    >>> a = np.zeros((2, 3, 4, 5), np.float32)
    >>> sub(a, np.ones((3, 4), np.float32), opset=6, axis=1, broadcast=1).shape
    (2, 3, 4, 5)
    >>> sub(np.uint8([3]), np.uint8([4]), opset=7)
    Traceback (most recent call last):
    minuend.errors.DTypeError: Sub-7 takes no element type tensor(uint8) (it came with opset 14); expected \
tensor(float16), tensor(float), tensor(double), tensor(int32), tensor(int64), tensor(uint32) or tensor(uint64)
    """
    if (
        type(a) is type(b) is np.ndarray
        and (out is None or type(out) is np.ndarray)
        and (opset is None or type(opset) is int)  # True and 14.0 would find what was cached of 1 and 14
        and (axis is None or type(axis) is int)
        and type(broadcast) is int
        and consumed_inputs is None
    ):
        shape = _shape_by_numpy(opset, axis, broadcast, (a.dtype.type, a.shape), (b.dtype.type, b.shape))
        if shape is not None:
            return subtract(a, b.reshape(shape) if shape else b, out)
    attributes = _stated(axis, broadcast)
    if consumed_inputs is not None:
        attributes["consumed_inputs"] = consumed_inputs
    return run(DIALECT.resolve(opset), a, b, attributes, out)


def _stated(axis: int | None, broadcast: int) -> dict[str, object]:
    """Return the attributes that are not at their default; a version that lacks one takes its default too."""
    stated: dict[str, object] = {}
    if axis is not None:
        stated["axis"] = axis
    if type(broadcast) is not int or broadcast != 0:
        stated["broadcast"] = broadcast
    return stated


@functools.lru_cache(maxsize=DECISIONS)
def _shape_by_numpy(opset: int | None, axis: int | None, broadcast: int, a: Typed, b: Typed) -> tuple[int, ...] | None:
    return shape_by_numpy(DIALECT.resolve(opset), a, b, _stated(axis, broadcast))


def run(
    op: OpVersion,
    a: Any,
    b: Any,
    attributes: Mapping[str, object],
    out: Array | None = None,
    *,
    name: str = "",
    where: str = "",
) -> Array:
    """Compute one Sub node of a known version; see :func:`sub`.

    Args:
        op: the version. a, b: the operands. attributes: what the node states, by name. out: where to write.
        name: the node's name. where: its place, for errors.
    """
    try:
        x, y, element = operands(a, b)
    except SpecError as error:
        raise error.at(where) from None
    node = Node(
        op=op,
        operands=(TensorType(element, x.shape), TensorType(element, y.shape)),
        attributes=attributes,
        name=name,
        where=where,
    )
    found = compute(op.computes, element, validate(node), x, y, out)
    return found if out is not None else wrap(op.computes, found, a, b)
