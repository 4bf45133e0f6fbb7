"""Graphs of the few operators that every dialect has as OpenVINO models."""

from __future__ import annotations

from minuend.core.shapes import numpy
from minuend.errors import ConversionRefused, MinuendError, SpecError
from minuend.models.graph import Graph, Step, Value
from minuend.names import Names
from minuend.openvino.ir.builder import Builder
from minuend.openvino.ir.sections import Ref
from minuend.openvino.model import Model
from minuend.openvino.tensor import Tensor
from minuend.openvino.versions import DIALECT, SPELLINGS


def from_graph(graph: Graph, version: object = None) -> tuple[Model, list[str], list[str]]:
    """Return a graph as a model of IR version 11, with what was changed and what was lost, a sentence each.

    Every subtraction broadcasts by numpy's rule: where B sits inside A it first gets 1s behind its dims, since the CPU
    runtime drops pdpd for signed types.

    Args:
        graph: the graph. version: OpenVINO's version of Subtract, 1.

    Raises:
        ConversionRefused: element types that OpenVINO has not; each place with its reason. SpecError: no such version.
    """
    DIALECT.resolve(version)
    return _FromGraph(graph).done()


_NARROWED = frozenset({"float64", "int64", "uint64"})
"""Element types that OpenVINO's CPU computes in narrower ones, but hands on from an input to an output as they are."""


class _FromGraph:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.builder = Builder(graph.name)
        self.refs: dict[str, Ref] = {}
        self.copies: dict[str, Ref] = {}  # outputs that are equal to another value whose name has to stay
        self.names = Names()
        self.changes: list[str] = []
        self.losses: list[str] = []

    def done(self) -> tuple[Model, list[str], list[str]]:
        self.refuse()
        for name in self.graph.inputs:
            self.parameter(self.graph.values[name])
        for value in self.graph.constants():
            if value.name not in self.refs:
                self.constant(value)
        for step in self.graph.steps:
            self.step(step)
        for name in self.graph.outputs:
            ref = self.copies.get(name, self.refs[name])
            stated = () if ref.port.names[:1] == (name,) else (name,)
            self.builder.result(ref, self.names.fresh(f"{name}/result"), output_names=stated)
        self.builder.model.infer()
        return self.builder.model, self.changes, self.losses

    def refuse(self) -> None:
        refused = {
            f"value {value.name!r}": f"OpenVINO has no element type {value.type.dtype}"
            for value in self.graph.values.values()
            if value.type.dtype not in SPELLINGS
        }
        if refused:
            raise ConversionRefused("openvino", refused, "convert it to a wider type first")

    def parameter(self, value: Value) -> None:
        shape = value.type.shape
        if lost := [dim for dim in shape or () if isinstance(dim, str)]:
            self.losses.append(f"input {value.name!r}: the names of its dims ({', '.join(dict.fromkeys(lost))})")
        element = SPELLINGS[value.type.dtype][0]
        self.refs[value.name] = self.builder.parameter(self.names.fresh(value.name), element, shape, names=[value.name])

    def constant(self, value: Value) -> None:
        row, elements = value.type.element, value.constant
        stored = Tensor(row, elements) if row.numpy is None and elements is not None else elements
        self.refs[value.name] = self.builder.constant(self.names.fresh(value.name), stored, names=[value.name])

    def step(self, step: Step) -> None:
        # Without axes nothing changes; OpenVINO's Squeeze would take every 1.
        if step.kind == "identity" or (step.kind in ("squeeze", "unsqueeze") and not step.axes):
            self.identity(step)
            return
        name = self.names.fresh(step.name or step.output)
        try:
            self.refs[step.output] = self.layer(step, name, [self.refs[operand] for operand in step.inputs])
        except MinuendError as error:
            place = step.where or f"{step.kind} {step.name or step.output!r}"
            message = error.message if isinstance(error, SpecError) else str(error)
            raise ConversionRefused("openvino", {place: message}) from None

    def layer(self, step: Step, name: str, operands: list[Ref]) -> Ref:
        x, names = operands[0], [step.output]
        match step.kind:
            case "cast":
                element = SPELLINGS[self.graph.values[step.output].type.dtype][0]
                return self.builder.convert(name, x, element, names=names)
            case "reshape":
                return self.builder.reshape(name, x, step.shape, names=names)
            case "unsqueeze":
                return self.builder.unsqueeze(name, x, step.axes, names=names)
            case "squeeze":
                return self.builder.squeeze(name, x, step.axes, names=names)
            case "expand":
                return self.builder.broadcast(name, x, step.shape, mode="bidirectional", names=names)
        return self.subtract(step, name, operands)

    def subtract(self, step: Step, name: str, operands: list[Ref]) -> Ref:
        """A subtraction by numpy's rule, its operands led there by 1s."""
        joined = step.joined
        assert joined is not None
        if joined.shape is not None:
            starts = (joined.a_start, joined.b_start)
            operands = [
                self.lengthened(ref, len(joined.shape), start, side, name)
                for ref, start, side in zip(operands, starts, "AB", strict=True)
            ]
        self.losses += [f"{step.where or name}: that {sentence} is not checked" for sentence in self.unchecked(step)]
        return self.builder.subtract(name, operands[0], operands[1], names=[step.output])

    def unchecked(self, step: Step) -> list[str]:
        """What the step's own rule takes for granted and checks when it runs, and numpy's does not."""
        joined = step.joined
        a, b = (self.graph.values[name].type.shape for name in step.inputs)
        if joined is None or joined.shape is None or a is None or b is None:
            return []
        behind = len(joined.shape) - joined.b_start - len(b)
        same = numpy(a, (*b, *(1,) * behind)).assumptions
        return [sentence for sentence in joined.assumptions if sentence not in same]

    def lengthened(self, ref: Ref, rank: int, start: int, side: str, name: str) -> Ref:
        """An operand with 1s behind its dims, as many as lie behind it in the result."""
        own = ref.port.type.shape
        behind = 0 if own is None else rank - start - len(own)
        if not own or behind <= 0:
            return ref
        axes = tuple(range(len(own), len(own) + behind))
        self.changes.append(f"{name}: {side} gets dims of 1 at axes {list(axes)} by Unsqueeze, then numpy's rule holds")
        return self.builder.unsqueeze(self.names.fresh(f"{name}/{side.lower()}"), ref, axes, names=())

    def identity(self, step: Step) -> None:
        """A further name of a value; a copy where an output's name would take the place of an input's or output's.

        A compiled model calls a tensor by the name of the last Result that reads it, and by no other.
        """
        source, output = step.inputs[0], step.output
        ref = self.refs[output] = self.refs[source]
        label, value = step.name or output, self.graph.values[source]
        takes = output in self.graph.outputs and not {*self.graph.inputs, *self.graph.outputs}.isdisjoint(
            ref.port.names
        )
        if not takes or (ref.layer.type == "Parameter" and value.type.dtype in _NARROWED):
            ref.port.names = (*ref.port.names, output)
            self.changes.append(f"{label}: the {step.kind} changes nothing; it is a further name of {source!r}")
            if takes:
                self.losses.append(
                    f"{label}: once OpenVINO has compiled the model, {source!r} may have no name but {output!r}"
                )
            return
        element = SPELLINGS[value.type.dtype][0]
        self.copies[output] = self.builder.convert(self.names.fresh(label), ref, element, names=[output])
        self.changes.append(
            f"{label}: the {step.kind} changes nothing; it is a Convert to {element}, so that {source!r} keeps its name"
        )
