"""OpenVINO models as graphs of the few operators that every dialect has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minuend.core.shapes import format_shape, may_be
from minuend.errors import ConversionRefused
from minuend.models.graph import Attempts, Graph, Kind, Refused, Step, Value
from minuend.names import unused
from minuend.openvino.execution import layers as table
from minuend.openvino.execution import running
from minuend.openvino.execution.layers import kind_of, lacking
from minuend.openvino.ir.sections import Layer, Ref
from minuend.openvino.model import Model
from minuend.standards.validation import validate

ADVICE = "no tool makes other formats of an IR; take the model that it was made from, and then run fix"


def to_graph(model: Model) -> Graph:
    """Return a model as a graph.

    Parameter, Const, Convert, Subtract, Result, and, with constant shapes and axes, Reshape, Unsqueeze, Squeeze and
    Broadcast. ``losses`` tells what the graph does not hold.

    Raises:
        ConversionRefused: other layers, shapes that are not constant, element types that other formats lack; each layer
            with its reason.
    """
    return _ToGraph(model).graph


class _ToGraph(Attempts):
    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model
        self.graph = Graph(model.name or "model")
        self.names: dict[Ref, str] = {}
        self.inputs = running.input_names(model.section)
        results = model._results()
        # A result's name belongs to the tensor that feeds it, where that is computed and has no other result's.
        self.results = {name: layer.sources()[0] for name, layer in results.items()}
        for name, ref in self.results.items():
            if ref.layer.type not in ("Parameter", "Const"):
                self.names.setdefault(ref, name)
        for layer in model.section.order():
            self.attempt(layer.where, self.convert, layer)
        if self.nodes:
            raise ConversionRefused("a graph of other formats", self.nodes, ADVICE)
        for name in self.results:
            self.result(name)
        self.graph.losses += _losses(model)

    def convert(self, layer: Layer) -> None:
        if kind_of(layer) is None:
            raise Refused(f"other formats are not given a {lacking(layer)} by this package")
        if layer.type == "Parameter":
            self.graph.inputs.append(self.value(Ref(layer, 0)))
        elif layer.type not in ("Const", "Result"):
            if layer.type not in _STEPS:
                raise Refused(f"{layer.type} is not one of the operators that every format has")
            self.graph.steps.append(_STEPS[layer.type](self, layer))

    def value(self, ref: Ref) -> str:
        """Return the name of the value that an output is, added at its first use."""
        name = self.names.get(ref, "")
        if name and name in self.graph.values:
            return name
        type_ = table.tensor_type(ref.port.type)
        if not name:
            names = self.inputs.get(ref.layer, ref.port.names)
            base = _chosen(ref.layer, names) or f"layer_{ref.layer.id}"
            own = ref.layer.type == "Parameter" and self.results.get(base) == ref and base not in self.names.values()
            name = self.names[ref] = base if own else self.fresh(base)
        constant = table.elements(ref.layer) if ref.layer.type == "Const" else None
        return self.graph.add(Value(name, type_, constant)).name

    def fresh(self, base: str) -> str:
        return unused(base, {*self.graph.values, *self.names.values(), *self.results})

    def result(self, name: str) -> None:
        """Make a tensor an output of the graph: itself, or by an identity where it has another name."""
        ref = self.results[name]
        value = self.value(ref)
        if value != name:
            free = name if name not in self.graph.values else self.graph.fresh(name)
            self.graph.add(Value(free, self.graph.values[value].type))
            self.graph.steps.append(Step(kind="identity", inputs=(value,), output=free))
            value = free
        self.graph.outputs.append(value)

    def step_subtract(self, layer: Layer) -> Step:
        """A subtraction: how its shapes join is worked out here."""
        joined = validate(table.node(layer, [ref.port.type for ref in layer.sources()]))
        return self.step("subtract", layer, operands=2, joined=joined)

    def step_reshape(self, layer: Layer) -> Step:
        """A reshape to the dims that were inferred, of which one may be unknown."""
        self.indices(layer)
        shape = layer.outputs[0].type.shape or ()
        dims = tuple(dim if isinstance(dim, int) else -1 for dim in shape)
        if dims.count(-1) > 1 or (-1 in dims and 0 in dims):
            raise Refused(f"its result {format_shape(shape)} has dims that are not known before it runs")
        return self.step("reshape", layer, shape=dims)

    def step_axes(self, layer: Layer) -> Step:
        kind: Kind = "unsqueeze" if layer.type == "Unsqueeze" else "squeeze"
        own, result = layer.sources()[0].port.type.shape, layer.outputs[0].type.shape
        axes = self.indices(layer) if len(layer.inputs) > 1 else ()
        if own is None or result is None:
            raise Refused("the rank of its input or result is not known before it runs")
        if kind == "squeeze" and not axes:
            axes = tuple(axis for axis, dim in enumerate(own) if dim == 1)
        rank = len(result if kind == "unsqueeze" else own)
        if kind == "squeeze":  # what cannot be 1 stays
            axes = tuple(axis for axis in axes if may_be(own[axis], 1))
        return self.step(kind, layer, axes=tuple(sorted({axis % rank for axis in axes})) if rank else ())

    def indices(self, layer: Layer) -> tuple[int, ...]:
        source = layer.sources()[1].layer
        if source.type != "Const":
            raise Refused(f"its second input comes from {source.where} ({source.type}); expected a constant")
        return tuple(int(n) for n in table.elements(source).ravel())

    def step(self, kind: Kind, layer: Layer, *, operands: int = 1, **stated: Any) -> Step:
        """A step in a layer's place, of its first input or inputs."""
        inputs = tuple(self.value(ref) for ref in layer.sources()[:operands])
        output = self.value(Ref(layer, 0))
        return Step(kind=kind, inputs=inputs, output=output, name=layer.name, where=layer.where, **stated)


_STEPS: dict[str, Callable[[_ToGraph, Layer], Step]] = {
    "Subtract": _ToGraph.step_subtract,
    "Convert": lambda lifting, layer: lifting.step("cast", layer),
    "Reshape": _ToGraph.step_reshape,
    "Unsqueeze": _ToGraph.step_axes,
    "Squeeze": _ToGraph.step_axes,
    "Broadcast": lambda lifting, layer: lifting.step("expand", layer, shape=lifting.indices(layer)),
}


def _chosen(layer: Layer, names: Sequence[str]) -> str:
    """The one of a tensor's names that it has elsewhere: the first, or of an input the layer's, for files sort them."""
    if layer.type == "Parameter" and layer.name in names and layer.name in layer.outputs[0].names:
        return layer.name
    return next(iter(names), layer.name)


def _losses(model: Model) -> list[str]:
    """What a graph does not hold, a sentence each."""
    order = model.section.order()
    reachable = set(order)
    losses = [f"<{child.tag}> of the net is not carried over" for child in model.extra if len(child) or child.attrib]
    losses += [
        f"{one.where} ({one.type}) leads to no result and is left out" for one in model.layers if one not in reachable
    ]
    for layer in order:
        also = [name for port in layer.outputs for name in port.names if name != _chosen(layer, port.names)]
        if also:
            losses.append(f"{layer.where} has further tensor names that are not carried over: {', '.join(also)}")
        known = ("output_names",) if layer.type == "Result" else ()
        if extra := [*(name for name in layer.attributes if name not in known), *(f"<{e.tag}>" for e in layer.extra)]:
            losses.append(f"{layer.where} states what is not carried over: {', '.join(dict.fromkeys(extra))}")
    return losses
