"""Operators that compute nothing: constants, shapes, sequences and optionals, whatever their elements are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from onnx import SparseTensorProto, TensorProto

from minuend.errors import SpecError
from minuend.onnx.documents import tensors
from minuend.onnx.documents.tensors import Array, Attributes, Inputs

Rule: TypeAlias = Callable[[Inputs, Attributes], object]


def _constant(_: Inputs, stated: Attributes) -> Array:
    name, value = next(iter(stated.items()))
    if isinstance(value, TensorProto):
        tensors.check(value, "Constant")
        return tensors.to_array(value)
    if isinstance(value, SparseTensorProto):
        return tensors.dense(value, "Constant")
    kinds = {"value_float": np.float32, "value_int": np.int64, "value_string": object}
    kind = kinds[name.removesuffix("s")]
    texts = [one.decode() for one in value] if kind is object and isinstance(value, list) else value
    return np.array(texts.decode() if isinstance(texts, bytes) else texts, kind)


def _filled(inputs: Inputs, stated: Attributes) -> Array:
    value = stated.get("value")
    fill = np.zeros(1, np.float32) if value is None else tensors.to_array(value)
    return np.full(tuple(int(dim) for dim in inputs[0].reshape(-1)), fill.reshape(-1)[0], fill.dtype)


def _shape(inputs: Inputs, stated: Attributes) -> Array:
    return np.array(inputs[0].shape[slice(stated.get("start", 0), stated.get("end"))], np.int64)


def _position(at: object, length: int, *, end: int = -1) -> int:
    """A place in a sequence, counted from its end where it is negative; up to ``end`` where that can be named, too."""
    place = int(np.asarray(at).reshape(-1)[0])
    if not -length <= place <= max(end, length - 1):
        raise SpecError("inputs", f"the position {place} is not in a sequence of {length}")
    return place


def _inserted(inputs: Inputs, _: Attributes) -> list[object]:
    found = list(inputs[0])
    last = len(inputs) < 3 or inputs[2] is None
    found.insert(len(found) if last else _position(inputs[2], len(found), end=len(found)), inputs[1])
    return found


def _erased(inputs: Inputs, _: Attributes) -> list[object]:
    found = list(inputs[0])
    del found[-1 if len(inputs) < 2 or inputs[1] is None else _position(inputs[1], len(found))]
    return found


def _joined(inputs: Inputs, stated: Attributes) -> Array:
    if not inputs[0]:
        raise SpecError("inputs", "ConcatFromSequence has an empty sequence")
    join = np.stack if stated.get("new_axis") else np.concatenate
    found: Array = join(inputs[0], axis=stated["axis"])
    return found


def _split(inputs: Inputs, stated: Attributes) -> list[Array]:
    whole, axis = inputs[0], stated.get("axis", 0)
    axis += whole.ndim if axis < 0 else 0
    length = whole.shape[axis]
    if len(inputs) < 2 or inputs[1] is None:
        parts = [whole[(slice(None),) * axis + (slice(i, i + 1),)] for i in range(length)]
        return parts if stated.get("keepdims", 1) else [part.squeeze(axis) for part in parts]
    if inputs[1].ndim:
        ends = np.cumsum(inputs[1])
        if (inputs[1] < 0).any() or int(inputs[1].sum()) != length:
            raise SpecError("inputs", f"SplitToSequence into {inputs[1].tolist()} does not split {length} elements")
    else:
        step = int(inputs[1])
        if step < 1:
            raise SpecError("inputs", f"SplitToSequence into pieces of {step} elements")
        ends = np.append(np.arange(step, length, step), length)
    return np.split(whole, [int(end) for end in ends[:-1]], axis)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "Constant": _constant,
        "ConstantOfShape": _filled,
        "Identity": lambda x, _: x[0],
        "Shape": _shape,
        "Size": lambda x, _: np.array(x[0].size, np.int64),
        "SequenceConstruct": lambda x, _: list(x),
        "SequenceEmpty": lambda x, _: [],
        "SequenceLength": lambda x, _: np.array(len(x[0]), np.int64),
        "SequenceAt": lambda x, _: x[0][_position(x[1], len(x[0]))],
        "SequenceInsert": _inserted,
        "SequenceErase": _erased,
        "ConcatFromSequence": _joined,
        "SplitToSequence": _split,
        "Optional": lambda x, _: x[0] if x else None,
        "OptionalHasElement": lambda x, _: np.array(bool(x) and x[0] is not None),
        "OptionalGetElement": lambda x, _: x[0],
    }
)
"""The operators by name: what each makes of its inputs and its attributes."""
