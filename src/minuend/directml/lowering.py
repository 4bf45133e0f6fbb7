"""A graph becomes a DxDispatch model: broadcasting becomes strides, reshapes become views, results are resources."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from minuend.core import elements
from minuend.core.elements import ElementType
from minuend.core.shapes import format_shape, size
from minuend.directml.api.desc import TensorDesc
from minuend.directml.dxdispatch.dispatch import INPUTS, TENSORS
from minuend.directml.dxdispatch.resources import VALUE_TYPES
from minuend.directml.dxdispatch.views import View, crossings, fitted
from minuend.directml.model import Model
from minuend.directml.operator import check_descs
from minuend.directml.versions import DIALECT
from minuend.errors import ConversionRefused, SpecError, listed
from minuend.files.streaming.reading import Array
from minuend.models.graph import Attempts, Graph, Refused, Step, Value
from minuend.names import Names
from minuend.standards.dialects import dialect
from minuend.standards.version import OpVersion

_ADVICE = "Leave these nodes out, or convert the model with a tool that knows all of DirectML's operators."


@dataclass(eq=False, slots=True)
class _Buffer:
    name: str
    element: ElementType
    count: int
    role: Literal["input", "constant", "result"]
    values: Array | None = None
    output: bool = False


@dataclass(slots=True)
class _Dispatch:
    name: str
    descs: list[TensorDesc]
    buffers: list[_Buffer]


@dataclass
class _Lowering(Attempts):
    graph: Graph
    op: OpVersion
    tensors: dict[str, tuple[_Buffer, View] | None] = field(default_factory=dict)  # None: what made it is refused
    buffers: list[_Buffer] = field(default_factory=list)
    dispatches: list[_Dispatch] = field(default_factory=list)
    zeros: dict[str, _Buffer] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    dispatch_names: Names = field(default_factory=Names)
    changes: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)

    def run(self) -> None:
        self.names = Names(self.graph.values)
        for name in self.graph.inputs:
            self.piece(f"input {name!r}", name, self.input, name)
        for i, step in enumerate(self.graph.steps):
            place = step.where or f"step {i} {step.name or step.output!r}"
            if all(self.ready(name, place) for name in step.inputs):
                self.piece(place, step.output, self.step, step, place)
            else:
                self.tensors[step.output] = None
        # Those that a dispatch makes under their own name come first: no copy then needs that name.
        for name in sorted(dict.fromkeys(self.graph.outputs), key=lambda n: n not in {b.name for b in self.buffers}):
            place = f"output {name!r}"
            if self.ready(name, place):
                self.attempt(place, self.output, name, place)

    def piece(self, place: str, output: str, work: Callable[..., None], *given: object) -> None:
        if not self.attempt(place, work, *given):
            self.tensors[output] = None

    def ready(self, name: str, place: str) -> bool:
        """Whether a value can be used; constants are taken in when they first are."""
        if name not in self.tensors:
            self.piece(f"constant {name!r}", name, self.constant, name, place)
        return self.tensors[name] is not None

    def use(self, name: str) -> tuple[_Buffer, View]:
        found = self.tensors[name]
        assert found is not None
        return found

    # ---- values -----------------------------------------------------------------------------------------------

    def input(self, name: str) -> None:
        value = self.graph.values[name]
        buffer = self.hold(name, value, "input", value.constant)
        if value.constant is None:
            self.changes.append(f"input {name!r}: its resource holds zeros until values are passed")
        self.tensors[name] = buffer, View.packed(self.sizes(value))

    def constant(self, name: str, place: str) -> None:
        value = self.graph.values.get(name)
        if value is None or value.constant is None:
            raise Refused(f"it is used by {place} and nothing makes it before")
        self.tensors[name] = self.hold(name, value, "constant", value.constant), View.packed(self.sizes(value))

    def sizes(self, value: Value) -> tuple[int, ...]:
        """The sizes of a value: all of them known, none 0."""
        shape = value.type.shape
        came = f"{value.name!r} has the shape {format_shape(shape)}"
        if shape is None or not all(isinstance(dim, int) for dim in shape):
            raise Refused(f"{came}; DirectML fixes sizes beforehand, give the model's dims numbers")
        if 0 in shape:
            raise Refused(f"{came}; DirectML has no empty tensors")
        return tuple(dim for dim in shape if isinstance(dim, int))

    def hold(
        self, name: str, value: Value, role: Literal["input", "constant", "result"], values: Array | None = None
    ) -> _Buffer:
        element, sizes = value.type.element, self.sizes(value)
        if element not in VALUE_TYPES.values():
            wanted = listed(member.name for member in VALUE_TYPES)
            raise Refused(f"{name!r} is {element}; DxDispatch models hold {wanted}")
        TensorDesc(element, (size(sizes),))  # no more elements than DirectML counts
        if values is not None:
            self._lose_payloads(name, values)
        buffer = _Buffer(name, element, size(sizes), role, values)
        self.buffers.append(buffer)
        return buffer

    def _lose_payloads(self, name: str, values: Array) -> None:
        if values.dtype.kind != "f":
            return
        bits = f"u{values.dtype.itemsize}"
        plain = np.array(math.nan, values.dtype).view(bits)
        odd = int(np.count_nonzero(np.isnan(values) & (np.ascontiguousarray(values).view(bits) != plain)))
        if odd:
            self.losses.append(f"{name!r}: sign and payload of {odd} NaNs; JSON has one word for all of them")

    # ---- steps ------------------------------------------------------------------------------------------------

    def step(self, step: Step, place: str) -> None:
        if step.kind == "subtract":
            self.subtract(step, place)
            return
        source, target = (self.graph.values[name] for name in (step.inputs[0], step.output))
        if source.type.dtype != target.type.dtype:
            raise Refused(
                f"it casts {source.type.dtype} to {target.type.dtype}; that is another operator of DirectML, and the "
                f"models written here hold {self.op.operator} alone"
            )
        buffer, view = self.use(step.inputs[0])
        sizes = self.sizes(target)
        if step.kind == "expand":
            self.tensors[step.output] = buffer, view.repeated(sizes, len(sizes) - len(view.sizes))
        else:
            self.tensors[step.output] = self.reshaped(step, buffer, view, sizes, place)
        self.changes.append(f"{place}: {step.kind} became a view of the resource {self.use(step.output)[0].name!r}")

    def reshaped(
        self, step: Step, buffer: _Buffer, view: View, sizes: tuple[int, ...], place: str
    ) -> tuple[_Buffer, View]:
        if size(view.sizes) != size(sizes):
            raise Refused(f"it makes {format_shape(sizes)} of {format_shape(view.sizes)}, which is another count")
        found = view.reshaped(sizes)
        if found is None:
            copy = self.copied(self.names.fresh(f"{step.inputs[0]}_copy"), buffer, view, place)
            return copy, View.packed(sizes)
        return buffer, found

    def subtract(self, step: Step, place: str) -> None:
        assert step.joined is not None
        target = self.graph.values[step.output]
        sizes = self.sizes(target)
        starts = (step.joined.a_start, step.joined.b_start)
        operands = [self.use(name) for name in step.inputs]
        views = [view.repeated(sizes, start) for (_, view), start in zip(operands, starts, strict=True)]
        for name, (_, own), view in zip(INPUTS, operands, views, strict=True):
            if own.sizes != sizes:
                self.changes.append(f"{place}: {name} {own.sizes} is repeated by strides {view.strides}")
        descs = self.descs(target.type.element, [*views, View.packed(sizes)], place)
        result = self.hold(step.output, target, "result")
        name = self.dispatch_names.fresh(step.name or "subtract")
        self.dispatches.append(_Dispatch(name, descs, [operands[0][0], operands[1][0], result]))
        self.tensors[step.output] = result, View.packed(sizes)

    def descs(self, element: ElementType, views: list[View], place: str) -> list[TensorDesc]:
        """Describe A, B and the output at a rank that the level takes."""
        lowest, highest = self.op.ranks
        rank = len(views[0].sizes)
        found = fitted(views, max(1, lowest), highest)
        if found is None:
            raise Refused(
                f"it has rank {rank}, and {self.op} takes up to {highest}: the strides keep apart the dims "
                f"{crossings(views)}"
            )
        sizes = found[0].sizes
        if sizes != views[0].sizes:
            self.changes.append(f"{place}: the sizes {format_shape(views[0].sizes)} became {format_shape(sizes)}")
        descs = [TensorDesc(element, v.sizes, None if v.is_packed else v.strides) for v in found]
        try:
            check_descs(self.op, dict(zip(TENSORS, descs, strict=True)))
        except SpecError as error:  # with the field that it names
            raise Refused(str(error)) from None
        return descs

    # ---- copies -----------------------------------------------------------------------------------------------

    def copied(self, name: str, buffer: _Buffer, view: View, place: str) -> _Buffer:
        """Copy a view into a buffer of its own, bit for bit: as integers of the same width, minus 0."""
        element = buffer.element if buffer.element.is_integer else elements.TYPES[f"uint{buffer.element.bits}"]
        spelled = dialect(self.op.dialect).spell(element.name)
        if element.name not in self.op.types:
            later = [row for row in DIALECT.versions() if element.name in row.types]
            came = f" from feature level {later[0].version} on" if later else " at no feature level"
            raise Refused(
                f"it needs a copy of {buffer.name!r}, which is a subtraction of 0 as {spelled}; that is there{came}"
            )
        zero = self.zeros.get(element.name)
        views = [view, View(view.sizes, (0,) * len(view.sizes)), View.packed(view.sizes)]
        descs = self.descs(element, views, place)
        if zero is None:
            zero = _Buffer(self.names.fresh("zero"), element, 1, "constant", np.zeros(1, element.memory))
            self.buffers.append(zero)
            self.zeros[element.name] = zero
        copy = _Buffer(name, buffer.element, size(view.sizes), "result")
        self.buffers.append(copy)
        self.dispatches.append(_Dispatch(self.dispatch_names.fresh("copy"), descs, [buffer, zero, copy]))
        self.changes.append(
            f"{place}: {buffer.name!r} is copied into {name!r} by subtracting 0 as {spelled}, bit for bit"
        )
        return copy

    def output(self, name: str, place: str) -> None:
        """Give an output a resource of its own, which bears its name and holds its elements in order."""
        buffer, view = self.use(name)
        # A view with as many elements as its buffer has each of them once, and in order: no step transposes.
        if buffer.role == "result" and not buffer.output and buffer.count == size(view.sizes):
            if buffer.name != name:
                self.changes.append(f"{place}: the resource {buffer.name!r} is named {name!r}")
            buffer.name = name
        else:
            own = name if all(other.name != name for other in self.buffers) else self.names.fresh(f"{name}_out")
            if own != name:
                self.changes.append(f"{place}: its resource is {own!r}, since {name!r} is another")
            buffer = self.copied(own, buffer, view, place)
        buffer.output = True
        shape = self.sizes(self.graph.values[name])
        found = next(one.descs[-1].sizes for one in self.dispatches if one.buffers[-1] is buffer)
        if found != shape:
            self.changes.append(f"{place}: its sizes are {format_shape(found)}, {format_shape(shape)} in the graph")


def from_graph(graph: Graph, version: object = None) -> tuple[Model, list[str], list[str]]:
    """Write a graph as a DxDispatch model.

    Every subtraction becomes a dispatch. Repeated operands get strides of 0, by whichever broadcasting rule joined
    them; reshape, unsqueeze, squeeze, identity and expand become views of the same resource. Where a view cannot say it
    (the reshape of something expanded, an output that is a part of nothing computed) the elements are copied by
    subtracting 0 from them as integers of the same width, which keeps every bit, NaN payloads included. Ranks that the
    level does not take are padded with leading 1s, or collapsed where the strides of all three tensors allow it.

    Args:
        graph: what to write. version: a feature level such as ``"5.1"``; ``None`` is the newest.

    Returns:
        The model, what was changed (the lowest feature level that will do among it), and what was lost, the graph's own
        losses first. Inputs are resources of zeros, constants have values, outputs are printed.

    Raises:
        ConversionRefused: casts, element types that the level lacks, symbolic or zero sizes, ranks that do not
            collapse; each node with its reason, and the lowest level that takes them all, where one does. SpecError: no
            such feature level.
    """
    op = DIALECT.resolve(version)
    lowering = _Lowering(graph, op)
    lowering.run()
    if lowering.nodes:
        format_ = f"directml:{op.version if version is None else version}"
        raise ConversionRefused(format_, lowering.nodes, _advice(graph, op))
    model = Model(_document(lowering))
    if lowering.dispatches:
        lowering.changes.append(f"the lowest feature level that will do is {model.lowest_level()}")
    name = [f"the graph's name, {graph.name!r}"] if graph.name else []
    return model, lowering.changes, [*graph.losses, *name, *lowering.losses]


def _advice(graph: Graph, refused: OpVersion) -> str:
    """What to do about a level that does not take a graph: name the lowest that does, where one does."""
    for op in DIALECT.versions()[DIALECT.versions().index(refused) + 1 :]:
        lowering = _Lowering(graph, op)
        lowering.run()
        if not lowering.nodes:
            return f"The lowest feature level that will do is {op.version}: --to directml:{op.version}"
    return _ADVICE


def _document(lowering: _Lowering) -> dict[str, object]:
    return {
        "resources": {buffer.name: _resource(buffer) for buffer in lowering.buffers},
        "dispatchables": {
            one.name: {
                "type": f"{lowering.op.facts['operator type']}",
                "desc": {tensor: _tensor(desc) for tensor, desc in zip(TENSORS, one.descs, strict=True)},
            }
            for one in lowering.dispatches
        },
        "commands": [
            *(
                {
                    "type": "dispatch",
                    "dispatchable": one.name,
                    "bindings": {tensor: buffer.name for tensor, buffer in zip(TENSORS, one.buffers, strict=True)},
                }
                for one in lowering.dispatches
            ),
            *({"type": "print", "resource": buffer.name} for buffer in lowering.buffers if buffer.output),
        ],
    }


def _resource(buffer: _Buffer) -> dict[str, object]:
    values = {"value": 0, "valueCount": buffer.count} if buffer.values is None else _listed(buffer.values)
    return {"initialValuesDataType": buffer.element.name.upper(), "initialValues": values}


def _listed(values: Array) -> list[object]:
    flat = values.reshape(-1)
    numbers = flat.tolist()
    if flat.dtype.kind == "f" and not np.isfinite(flat).all():
        return [v if math.isfinite(v) else str(v) for v in numbers]  # "nan", "inf", "-inf"
    return list(numbers)


def _tensor(desc: TensorDesc) -> dict[str, object]:
    strides = {} if desc.strides is None else {"Strides": list(desc.strides)}
    return {"DataType": desc.data_type.name, "Sizes": list(desc.sizes), **strides}
