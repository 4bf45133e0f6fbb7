"""A graph becomes an ONNX model, each step in its operator's own form at the requested opset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from minuend.core.shapes import Dim, Shape, format_shape, same
from minuend.errors import ConversionRefused, FileFormatError, SpecError
from minuend.models.graph import Attempts, Graph, Refused, Step, Value
from minuend.names import Names
from minuend.onnx.documents import tensors
from minuend.onnx.documents.tensors import Array
from minuend.onnx.model import Model
from minuend.onnx.opsets import schemas
from minuend.onnx.opsets.scope import skeleton
from minuend.onnx.processes import library_process
from minuend.onnx.versions import DIALECT, SPELLINGS
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import validate


def from_graph(graph: Graph, opset: object = None) -> tuple[Model, list[str], list[str]]:
    """Turn a graph into a model at an opset.

    Args:
        graph: the graph. opset: ONNX's opset number; ``None`` is the newest that the package ``onnx`` knows.

    Returns:
        The model, which passes ``onnx.checker`` and strict shape inference; what was changed on the way; and what was
        lost, the graph's own losses first; a sentence each.

    Raises:
        SpecError: no such opset. ConversionRefused: steps or values that the opset cannot say; all are listed.
    """
    newest = onnx.defs.onnx_opset_version()
    try:
        number = newest if opset is None else int(DIALECT.number(opset))
    except ValueError:
        number = 0
    if not 1 <= number <= newest:
        raise SpecError("version", f"ONNX has no opset {opset!r}; expected 1 to {newest} (as onnx {onnx.__version__})")
    lowering = _Lowering(graph, number)
    lowering.run()
    if lowering.nodes:
        raise ConversionRefused(f"ONNX opset {number}", lowering.nodes)
    model = Model(lowering.model(), name="the converted model")
    _check(model.proto, number)
    return model, lowering.changes, [*graph.losses, *lowering.losses]


@dataclass
class _Lowering(Attempts):
    graph: Graph
    opset: int
    changes: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    made: list[onnx.NodeProto] = field(default_factory=list)
    added: dict[str, Array] = field(default_factory=dict)  # constants that say shapes and axes

    def run(self) -> None:
        self.names = Names(self.graph.values)
        for name in (*self.graph.inputs, *self.graph.outputs):
            kind = "input" if name in self.graph.inputs else "output"
            if self.graph.values[name].type.shape is None:
                self.nodes[f"{kind} {name!r}"] = "its rank is not known; ONNX's inputs and outputs have one"
        for value in self.graph.values.values():
            self.attempt(f"value {value.name!r}", self.value, value)
        for i, step in enumerate(self.graph.steps):
            place = step.where or f"step {i} {step.name or step.output!r}"
            self.attempt(place, self.step, step, place)

    def value(self, value: Value) -> None:
        if value.type.dtype not in SPELLINGS:
            raise Refused(f"ONNX has no element type {value.type.dtype}")
        for axis, dim in enumerate(value.type.shape or ()):
            if isinstance(dim, tuple):
                lo, hi = dim
                known = f"{lo} or more" if hi is None else f"{lo} to {hi}"
                self.losses.append(f"{value.name!r}: axis {axis} is {known}; ONNX has no limits on unknown dims")

    # ---- the model ----------------------------------------------------------------------------------------------

    def model(self) -> ModelProto:
        imports = [helper.make_opsetid("", self.opset)]
        proto = ModelProto(
            ir_version=max(4, helper.find_min_ir_version_for(imports, ignore_unknown=True)), opset_import=imports
        )
        proto.producer_name = "minuend"
        graph = proto.graph
        graph.name = self.graph.name or "graph"
        values = self.graph.values
        graph.input.extend(_info(values[name]) for name in self.graph.inputs)
        graph.output.extend(_info(values[name]) for name in self.graph.outputs)
        constants = [(v.name, v.type.dtype, v.constant) for v in self.graph.constants() if v.constant is not None]
        constants += [(name, "int64", array) for name, array in self.added.items()]
        graph.initializer.extend(_tensor(*constant) for constant in constants)
        graph.node.extend(self.made)
        ends = {*self.graph.inputs, *self.graph.outputs}
        steps = [values[step.output] for step in self.graph.steps if step.output not in ends]
        graph.value_info.extend(_info(value) for value in steps)
        return proto

    def emit(self, op: str, inputs: Sequence[str], output: str, name: str = "", **attributes: Any) -> None:
        """Add a node, if its operator takes the element types at this opset."""
        self.check_type(op, inputs[0])
        self.made.append(helper.make_node(op, list(inputs), [output], name=name or None, **attributes))

    def check_type(self, op: str, value: str, parameter: int = 0) -> None:
        dtype = self.graph.values[value].type.dtype
        try:
            schema = onnx.defs.get_schema(op, self.opset, "")
        except onnx.defs.SchemaError:
            since = min(s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == op)
            raise Refused(f"ONNX has {op} from opset {since} on") from None
        if SPELLINGS[dtype][0] not in schema.type_constraints[parameter].allowed_type_strs:
            raise Refused(f"{op}-{schema.since_version} takes no {SPELLINGS[dtype][0]}")

    def listed(self, op: str, name: str, numbers: Sequence[int], source: str, output: str, label: str = "") -> None:
        """Add a node whose axes or shape are an input from some opset on, and an attribute before."""
        since = {"axes": 13, "shape": 5}[name]
        if self.opset < since:
            self.emit(op, [source], output, label)
            schemas.set_attribute(self.made[-1], name, list(numbers))
            return
        constant = self.names.fresh(f"{output}_{name}")
        self.added[constant] = np.array(numbers, np.int64)
        extra = {"allowzero": 1} if op == "Reshape" and 0 in numbers and self.opset >= 14 else {}
        self.emit(op, [source, constant], output, label, **extra)

    # ---- steps --------------------------------------------------------------------------------------------------

    def step(self, step: Step, place: str) -> None:
        for name in (*step.inputs, step.output):
            if self.graph.values[name].type.dtype not in SPELLINGS:
                return  # the value's own entry says it
        _STEPS[step.kind](self, step, place)

    def identity(self, step: Step, place: str) -> None:
        self.emit("Identity", step.inputs, step.output, step.name)

    def cast(self, step: Step, place: str) -> None:
        dtype = self.graph.values[step.output].type.dtype
        self.check_type("Cast", step.output, 1)
        to = SPELLINGS[dtype][-1] if self.opset < schemas.CAST_BY_NUMBER else tensors.number(dtype)
        self.emit("Cast", step.inputs, step.output, step.name, to=to)

    def dims(self, step: Step, place: str) -> None:
        if step.axes:
            self.listed(step.kind.capitalize(), "axes", step.axes, step.inputs[0], step.output, step.name)
        else:
            self.identity(step, place)

    def reshape(self, step: Step, place: str) -> None:
        come = self.graph.values[step.inputs[0]].type.shape
        if self.opset < 14:  # a 0 copies the input's dim there
            for axis, dim in enumerate(step.shape):
                if dim == 0 and not (come is not None and axis < len(come) and come[axis] == 0):
                    raise Refused(f"Reshape to {step.shape}: before opset 14 it makes no empty dim at axis {axis}")
        self.listed("Reshape", "shape", step.shape, step.inputs[0], step.output, step.name)

    def expand(self, step: Step, place: str) -> None:
        self.listed("Expand", "shape", step.shape, step.inputs[0], step.output, step.name)

    def subtract(self, step: Step, place: str) -> None:
        op = DIALECT.resolve(self.opset)
        a, b = (self.graph.values[name].type for name in step.inputs)
        dtype_only = Node(op=op, operands=(TensorType(a.dtype, ()), TensorType(b.dtype, ())))
        validate(dtype_only)  # the element type is one that the version takes
        if op.broadcasting == "numpy":
            self.aligned(step, place)
        else:
            self.limited(step, place)

    def aligned(self, step: Step, place: str) -> None:
        """Sub-7 and above: NumPy's rule aligns at the right, so an operand that ends earlier gets trailing 1s."""
        assert step.joined is not None
        names = list(step.inputs)
        result, starts = step.joined.shape, (step.joined.a_start, step.joined.b_start)
        if result is None and any(starts):
            raise Refused("the rank of the result is not known")
        for i, (name, start) in enumerate(zip(step.inputs, starts, strict=True)):
            ones = 0 if result is None else len(result) - start - len(self.graph.dims(name))
            if ones:
                rank = len(self.graph.dims(name))
                names[i] = self.names.fresh(f"{name}_aligned")
                self.listed("Unsqueeze", "axes", range(rank, rank + ones), name, names[i])
                which = "AB"[i]
                self.changes.append(
                    f"{place}: {which} gets {ones} trailing dim{'s' if ones > 1 else ''} of size 1 by Unsqueeze, "
                    f"since it sits at axis {start} of the result"
                )
        self.emit("Sub", names, step.output, step.name)

    def limited(self, step: Step, place: str) -> None:
        """Sub-1 and Sub-6: B is equal to A, has one element, or is a run of A's dims; A never grows."""
        assert step.joined is not None
        a, b = (self.graph.dims(name) for name in step.inputs)
        result, start = step.joined.shape, step.joined.b_start
        rule = f"Sub-{DIALECT.resolve(self.opset).version} gives A's shape"
        if result is None or not _equal(a, result):
            raise Refused(f"{rule}, and here A is {format_shape(a)} and the result {format_shape(result)}")
        names, attributes = list(step.inputs), {}
        if not _equal(a, b) and all(dim == 1 for dim in b):
            attributes = {"broadcast": 1}
        elif not _equal(a, b):
            first, last = _core(a, b, start)
            run = a[start + first : start + last]
            if not _equal(run, b[first:last]):
                raise Refused(
                    f"{rule} and wants B to be a run of its dims; B {format_shape(b)} is not one of A {format_shape(a)}"
                )
            if last - first < len(b):
                names[1] = self.names.fresh(f"{names[1]}_trimmed")
                gone = [axis for axis in range(len(b)) if not first <= axis < last]
                self.listed("Squeeze", "axes", gone, step.inputs[1], names[1])
                self.changes.append(f"{place}: the outer 1s of B {format_shape(b)} are taken off by Squeeze")
            attributes = {"axis": start + first, "broadcast": 1}
        if attributes:
            stated = " and ".join(f"{name}={value}" for name, value in attributes.items())
            self.changes.append(f"{place}: {stated} where B repeats")
        self.emit("Sub", names, step.output, step.name, **attributes)


_STEPS = {
    "subtract": _Lowering.subtract,
    "cast": _Lowering.cast,
    "identity": _Lowering.identity,
    "reshape": _Lowering.reshape,
    "unsqueeze": _Lowering.dims,
    "squeeze": _Lowering.dims,
    "expand": _Lowering.expand,
}


def _equal(x: Shape, y: Shape) -> bool:
    """Whether two shapes are certainly equal."""
    return x is not None and y is not None and len(x) == len(y) and all(map(same, x, y))


def _core(a: tuple[Dim, ...], b: tuple[Dim, ...], start: int) -> tuple[int, int]:
    """Where B begins and ends once its outer 1s that do not stand for a 1 of A are off."""
    first, last = 0, len(b)
    while first < last and b[first] == 1 and a[start + first] != 1:
        first += 1
    while last > first and b[last - 1] == 1 and a[start + last - 1] != 1:
        last -= 1
    return first, last


def _info(value: Value) -> ValueInfoProto:
    shape = value.type.shape
    dims = None if shape is None else [None if isinstance(dim, tuple) else dim for dim in shape]
    return helper.make_tensor_value_info(value.name, tensors.number(value.type.dtype), dims)


def _tensor(name: str, dtype: str, array: Array) -> TensorProto:
    if array.dtype.itemsize * array.size > (1 << 31) - 1024:
        raise FileFormatError(f"the constant {name!r} has more bytes than a protobuf message holds")
    tensor = onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
    assert tensor.data_type == tensors.number(dtype), (tensor.data_type, dtype)
    return tensor


def _check(proto: ModelProto, opset: int) -> None:
    """Run ONNX's checker and strict inference on the model; large constants are inputs for them."""
    reason = library_process.fault(skeleton(proto))
    if reason:
        raise ConversionRefused(f"ONNX opset {opset}", {"graph": f"onnx.checker says: {reason}"})
