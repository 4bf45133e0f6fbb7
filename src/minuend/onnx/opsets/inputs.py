"""What adapters query of a node and do to its inputs."""

from __future__ import annotations

from typing import Any

import onnx
from onnx import NodeProto

from minuend.onnx.opsets.fold import Array
from minuend.onnx.opsets.schemas import Refusal
from minuend.onnx.opsets.scope import Builder


def given(node: NodeProto, index: int) -> str:
    """The name of an input, or ``""`` where it is left out."""
    return node.input[index] if index < len(node.input) else ""


def constant(node: NodeProto, index: int, what: str, new: Builder) -> Array | None:
    """The value of a constant input, ``None`` where the input is left out.

    Raises:
        Refusal: the input is not constant.
    """
    name = given(node, index)
    if not name:
        return None
    value = new.scope.constant(name)
    if value is None:
        raise Refusal(f"{what} ({name!r}) must be constant for this step, and it is computed or given from outside")
    return value


def integers(node: NodeProto, index: int, what: str, new: Builder) -> list[int] | None:
    """A constant input as a list of ints, ``None`` where it is left out."""
    value = constant(node, index, what, new)
    if value is not None and value.dtype.kind not in "iu":
        raise Refusal(f"the model is invalid: {what} ({node.input[index]!r}) of {node.op_type} is of {value.dtype}")
    return None if value is None else [int(x) for x in value.reshape(-1)]


def set_inputs(node: NodeProto, names: list[str]) -> None:
    """Replace a node's inputs; those left out at the end go."""
    while names and not names[-1]:
        names.pop()
    del node.input[:]
    node.input.extend(names)


def rank_of(node: NodeProto, what: str, new: Builder) -> int:
    """The rank of the first input.

    Raises:
        Refusal: it is unknown.
    """
    rank = new.scope.rank(node.input[0])
    if rank is None:
        raise Refusal(f"{what} needs the rank of {node.input[0]!r}, which is unknown")
    return rank


def outputs(node: NodeProto, most: int, new: Builder) -> None:
    """Leave out the outputs beyond a count, which are others in the other version, where no node reads them.

    Raises:
        Refusal: somebody reads one.
    """
    for i, name in enumerate(node.output[most:], most):
        if name and name not in new.scope.unread:
            raise Refusal(f"output {i} of {node.op_type} ({name!r}) is another one in the other version")
    del node.output[most:]


def numpy_type(number: int, node: NodeProto) -> Any:
    """NumPy's dtype for a number of ``TensorProto.DataType``.

    Raises:
        Refusal: there is no such number.
    """
    try:
        return onnx.helper.tensor_dtype_to_np_dtype(number)
    except KeyError:
        raise Refusal(f"the model is invalid: {node.op_type} names the element type {number}, which is none") from None


def axes_in(node: NodeProto, axes: list[int], rank: int) -> list[int]:
    """Axes counted from 0.

    Raises:
        Refusal: one that is none of so many dims.
    """
    if not all(-rank <= axis < rank for axis in axes):
        raise Refusal(f"the model is invalid: {node.op_type} has the axes {axes}, and there are {rank} dims")
    return [axis % rank for axis in axes]


def first(value: Array, what: str) -> Any:
    """The only element of a constant.

    Raises:
        Refusal: it has none.
    """
    if value.size == 0:
        raise Refusal(f"the model is invalid: {what} is empty")
    return value.reshape(-1)[0]


def put(name: str, at: list[int], into: str, hint: str, new: Builder) -> str:
    """Put the elements of a tensor of rank 1 at some places of another."""
    value, base = new.scope.constant(name), new.scope.constant(into)
    if value is not None and base is not None:
        whole = base.copy()
        if value.size != len(at):
            raise Refusal(f"the model is invalid: {name!r} has {value.size} elements for {len(at)} axes")
        whole[at] = value.reshape(-1)
        return new.constant(hint, whole, whole.dtype)
    return new.add("ScatterElements", [into, new.constant("at", at), name], hint)
