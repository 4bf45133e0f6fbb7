"""If, Loop, Scan and SequenceMap: which body runs on what, and what becomes of its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from onnx import GraphProto, TypeProto

from minuend.errors import SpecError
from minuend.onnx.documents import tensors
from minuend.onnx.documents.tensors import Array, Attributes, Inputs
from minuend.onnx.graphs.scope import shape_of


@dataclass(frozen=True)
class Frame:
    """A node with bodies, where it runs.

    Attributes:
        op: its operator's name. opset: in force. inputs: its values. stated: its attributes, bodies as graphs.
        run: runs the body of a name on values for its inputs and returns its outputs.
        hold: receives the bytes of what is put together, and refuses too many.
    """

    op: str
    opset: int
    inputs: Inputs
    stated: Attributes
    run: Callable[[str, Sequence[object]], list[Any]]
    hold: Callable[[int], None]

    def flag(self, value: object) -> bool:
        """A condition: one element of any shape."""
        return bool(self.number(value))

    def number(self, value: object) -> int:
        """A value of one element."""
        array = np.asarray(value)
        if array.size != 1:
            raise SpecError("inputs", f"{self.op} takes one element there; it has the shape {array.shape}")
        return int(array.reshape(-1)[0])

    def gather(self, parts: list[Array], value: Array | None) -> None:
        """Add what one iteration gives; the operator in the body may leave an optional output out."""
        if value is None:
            raise SpecError("outputs", f"an iteration of {self.op} gives no value for an output of its body")
        parts.append(value)
        self.hold(len(parts) * value.nbytes)

    def stacked(self, parts: Sequence[Array], axis: int, declared: TypeProto) -> Array:
        """What iterations gave, along a new axis; without any iteration nothing of the declared type."""
        if parts:
            if len({part.shape for part in parts}) > 1:
                shapes = " and ".join(str(shape) for shape in dict.fromkeys(part.shape for part in parts))
                raise SpecError("outputs", f"the iterations of {self.op} give the shapes {shapes}; expected one shape")
            self.hold(sum(part.nbytes for part in parts))
            return np.stack(parts, axis)
        kind = tensors.element_kind(declared)
        if kind is None:
            raise SpecError("outputs", f"{self.op} has no iteration, and its body states no type of what it gives")
        dims = [dim if isinstance(dim, int) else 0 for dim in shape_of(declared) or ()]
        dims.insert(axis if axis >= 0 else len(dims) + 1 + axis, 0)
        return np.zeros(dims, kind.dtype)


Rule: TypeAlias = Callable[[Frame], Sequence[object]]


def _branch(frame: Frame) -> Sequence[object]:
    return frame.run("then_branch" if frame.flag(frame.inputs[0]) else "else_branch", ())


def _loop(frame: Frame) -> Sequence[object]:
    body: GraphProto = frame.stated["body"]
    most, go, *state = frame.inputs
    trips = None if most is None else frame.number(most)
    on = True if go is None else frame.flag(go)
    carried = len(body.input) - 2
    gathered: list[list[Array]] = [[] for _ in body.output[1 + carried :]]
    i = 0
    while on and (trips is None or i < trips):
        again, *given = frame.run("body", [np.array(i, np.int64), np.array(on), *state])
        on, state = frame.flag(again), given[:carried]
        for parts, value in zip(gathered, given[carried:], strict=True):
            frame.gather(parts, value)
        i += 1
    types = [value.type for value in body.output[1 + carried :]]
    return [*state, *(frame.stacked(parts, 0, type_) for parts, type_ in zip(gathered, types, strict=True))]


def _scan(frame: Frame) -> Sequence[object]:
    count = frame.stated["num_scan_inputs"]
    if frame.opset < 9:
        return _batched(frame, count)
    states = len(frame.inputs) - count
    return _scanned(frame, frame.inputs[:states], frame.inputs[states:])


def _per(frame: Frame, name: str, count: int) -> list[int]:
    """An attribute with a number for each of several values, 0 where it states none."""
    given = list(frame.stated.get(name) or ())
    return given + [0] * (count - len(given))


def _scanned(frame: Frame, states: Sequence[object], sequences: Sequence[Array]) -> list[Any]:
    body: GraphProto = frame.stated["body"]
    axes = _per(frame, "scan_input_axes", len(sequences))
    directions = _per(frame, "directions" if frame.opset < 9 else "scan_input_directions", len(sequences))
    out_axes = _per(frame, "scan_output_axes", len(body.output) - len(states))
    out_directions = _per(frame, "scan_output_directions", len(body.output) - len(states))
    lengths = {sequence.shape[axis] for sequence, axis in zip(sequences, axes, strict=True)}
    if len(lengths) != 1:
        raise SpecError("inputs", f"Scan takes sequences of one length; they have {sorted(lengths)}")
    (length,) = lengths
    state = list(states)
    gathered: list[list[Array]] = [[] for _ in body.output[len(state) :]]
    for i in range(length):
        at = [length - 1 - i if backwards else i for backwards in directions]
        parts = [np.asarray(sequence.take(k, axis)) for sequence, k, axis in zip(sequences, at, axes, strict=True)]
        given = frame.run("body", [*state, *parts])
        state = given[: len(state)]
        for values, value in zip(gathered, given[len(state) :], strict=True):
            frame.gather(values, value)
    types = [value.type for value in body.output[len(state) :]]
    made = zip(gathered, types, out_axes, out_directions, strict=True)
    return [*state, *(frame.stacked(v[::-1] if back else v, axis, type_) for v, type_, axis, back in made)]


def _batched(frame: Frame, count: int) -> list[object]:
    """Scan-8: every state and sequence has a first axis of batches, and each batch a length of its own."""
    lengths, *values = frame.inputs
    states, sequences = values[: len(values) - count], values[len(values) - count :]
    longest = sequences[0].shape[1]
    found = []
    for k in range(sequences[0].shape[0]):
        own = longest if lengths is None else int(lengths[k])
        of_batch = _scanned(frame, [state[k, ...] for state in states], [sequence[k, :own] for sequence in sequences])
        for i in range(len(states), len(of_batch)):
            short = of_batch[i]
            of_batch[i] = np.zeros((longest, *short.shape[1:]), short.dtype)
            of_batch[i][:own] = short
        found.append(of_batch)
    return [np.stack(batches) for batches in zip(*found, strict=True)]


def _mapped(frame: Frame) -> Sequence[object]:
    body: GraphProto = frame.stated["body"]
    first, *others = frame.inputs
    found: list[list[object]] = [[] for _ in body.output]
    for i, value in enumerate(first):
        given = frame.run("body", [value, *(other[i] if isinstance(other, list) else other for other in others)])
        for values, one in zip(found, given, strict=True):
            values.append(one)
    return found


RULES: Mapping[str, Rule] = MappingProxyType({"If": _branch, "Loop": _loop, "Scan": _scan, "SequenceMap": _mapped})
"""The operators that have bodies."""
