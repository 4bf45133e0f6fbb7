"""A DxDispatch model becomes a graph: each dispatch is a subtraction of what its resources hold at that moment."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minuend.core.elements import ElementType
from minuend.core.shapes import numpy, size
from minuend.directml.api.desc import TensorDesc
from minuend.directml.api.enums import DML_EXECUTION_FLAGS
from minuend.directml.dxdispatch.dispatch import INPUTS, OUTPUT, TENSORS, Binding, Dispatch, Dispatchable
from minuend.directml.dxdispatch.execution import Execution
from minuend.directml.dxdispatch.resources import Resource
from minuend.directml.dxdispatch.views import View
from minuend.directml.model import Model
from minuend.directml.versions import DIALECT
from minuend.errors import ConversionRefused
from minuend.models.graph import Attempts, Graph, Kind, Refused, Step, Value
from minuend.schema import format_path
from minuend.standards.node import TensorType

_ADVICE = "A graph has subtractions of whole tensors in row-major order; repeated operands become broadcasting."


@dataclass(frozen=True, slots=True)
class _Contents:
    """What a resource holds: a value of the graph, in row-major order."""

    value: str
    shape: tuple[int, ...]
    element: ElementType


@dataclass
class _Lifting(Attempts):
    model: Model
    graph: Graph
    first: dict[str, _Contents] = field(default_factory=dict)  # what resources hold before any command
    contents: dict[str, _Contents] = field(default_factory=dict)  # what was last written to them
    read: set[str] = field(default_factory=set)  # values that something uses
    broken: set[str] = field(default_factory=set)  # resources that a refused dispatch writes

    def run(self) -> None:
        for i, command in enumerate(self.model.commands):
            place = f"commands[{i}]"
            if not isinstance(command, Dispatch):
                verb = command.item["type"].string()
                self.graph.losses.append(f"{place}: {verb} of {command.resource!r}")
                continue
            one = self.model.dispatchables[command.dispatchable]
            bound = {name: one.init[name] if one.owned(name) else command.bindings[name] for name in TENSORS}
            place = f"{place} {one.name!r}"
            whole = not any(bound[name].resource in self.broken for name in INPUTS)
            if whole and self.attempt(place, self.dispatch, one, bound, place):
                self.broken.discard(bound[OUTPUT].resource)
            else:
                self.broken.add(bound[OUTPUT].resource)

    # ---- one dispatch -----------------------------------------------------------------------------------------

    def dispatch(self, one: Dispatchable, bound: dict[str, Binding], place: str) -> None:
        a, b, output = (one.descs[name] for name in TENSORS)
        element = self.element(bound[OUTPUT], output)
        copies = element is not output.element
        if copies and not self.is_copy(one, bound, element):
            raise Refused(f"{bound[OUTPUT].resource!r} holds {element} and is written as {output.element}")
        self.check_output(bound[OUTPUT], output)
        x = self.operand(one, INPUTS[0], a, bound[INPUTS[0]], element)
        sizes = output.sizes
        if copies:
            operands: tuple[_Contents, ...] = (self.spread(x, sizes, place),)
            joined = None
        else:
            y = self.operand(one, INPUTS[1], b, bound[INPUTS[1]], element)
            joined = numpy(x.shape, y.shape)
            if joined.shape != sizes:  # both repeat along some dim
                x = self.spread(x, sizes, place)
                joined = numpy(x.shape, y.shape)
            operands = (x, y)
        kind: Kind = "identity" if copies else "subtract"
        name = bound[OUTPUT].resource
        self.contents[name] = self.made(kind, operands, name, sizes, place, name=one.name, joined=joined)

    def element(self, binding: Binding, desc: TensorDesc) -> ElementType:
        resource = self.model.resources[binding.resource]
        if resource.form == "mixed":
            raise Refused(f"{resource.name!r} holds values of several types")
        return resource.element or desc.element

    def is_copy(self, one: Dispatchable, bound: dict[str, Binding], element: ElementType) -> bool:
        """Whether it subtracts a constant 0 as integers of the same width, which moves bits as they are."""
        zero = self.model.resources[bound[INPUTS[1]].resource]
        desc = one.descs[OUTPUT].element
        return (
            desc.is_integer
            and desc.bits == element.bits
            and self.model.resources[bound[INPUTS[0]].resource].element is element
            and zero.form != "deferred"
            and zero.count == 1
            and (one.owned(INPUTS[1]) or zero.name not in self.contents)
            and not zero.values().any()
        )

    def check_output(self, binding: Binding, desc: TensorDesc) -> None:
        resource, count = self.model.resources[binding.resource], size(desc.sizes)
        if binding.offset:
            raise Refused(f"{OUTPUT} begins {binding.offset} bytes into {resource.name!r}, not with it")
        if not View(desc.sizes, desc.element_strides).is_packed:
            raise Refused(f"the strides of {OUTPUT}, {desc.strides}, leave gaps or another order than row-major")
        if count < resource.count:
            raise Refused(f"it writes {count} of the {resource.count} elements of {resource.name!r}")

    def operand(
        self, one: Dispatchable, tensor: str, desc: TensorDesc, binding: Binding, element: ElementType
    ) -> _Contents:
        """Return what a tensor reads, in a shape from which it broadcasts to the tensor's sizes."""
        if binding.offset:
            raise Refused(f"{tensor} begins {binding.offset} bytes into {binding.resource!r}, not with it")
        strides = desc.element_strides
        repeats = [n > 1 and stride == 0 for n, stride in zip(desc.sizes, strides, strict=True)]
        shape = tuple(1 if repeat else n for n, repeat in zip(desc.sizes, repeats, strict=True))
        if not View(shape, strides).is_packed:
            raise Refused(f"the strides of {tensor}, {desc.strides}, leave gaps or another order than row-major")
        leading = next((i for i, repeat in enumerate(repeats) if not repeat), len(repeats))
        shape = shape[leading:]
        contents = self.first.get(binding.resource) if one.owned(tensor) else self.contents.get(binding.resource)
        if contents is None:
            contents = self.initial(self.model.resources[binding.resource], desc, shape)
        if contents.element is not element:
            raise Refused(f"{binding.resource!r} holds {contents.element} and is read as {desc.element}")
        if size(contents.shape) != size(shape):
            raise Refused(
                f"{tensor} reads {size(shape)} of the {size(contents.shape)} elements of {binding.resource!r}"
            )
        if contents.shape != shape:
            contents = self.made("reshape", (contents,), f"{contents.value}_reshape", shape, tensor, shape=shape)
        self.read.add(contents.value)
        return contents

    def initial(self, resource: Resource, desc: TensorDesc, shape: tuple[int, ...]) -> _Contents:
        """What a resource holds before anything is written to it: an input where it is generated, else a constant."""
        if resource.name in self.first:
            return self.first[resource.name]
        if resource.form == "mixed":
            raise Refused(f"{resource.name!r} holds values of several types")
        if resource.offset:
            raise Refused(f"the values of {resource.name!r} begin {resource.offset} bytes into it")
        element = resource.element or desc.element
        if resource.count and size(shape) != resource.count:
            raise Refused(f"it reads {size(shape)} of the {resource.count} elements of {resource.name!r}")
        constant = None
        if resource.form in ("list", "file"):
            values = resource.values()
            constant = np.ascontiguousarray(values, values.dtype.newbyteorder("=")).reshape(shape)
        value = self.graph.add(Value(self.graph.fresh(resource.name), TensorType(element, shape), constant))
        if constant is None:
            self.graph.inputs.append(value.name)
            if resource.form != "deferred":
                self.graph.losses.append(f"resource {resource.name!r}: its generated values; it became an input")
        self.first[resource.name] = _Contents(value.name, shape, element)
        return self.first[resource.name]

    # ---- steps ------------------------------------------------------------------------------------------------

    def spread(self, contents: _Contents, sizes: tuple[int, ...], place: str) -> _Contents:
        if contents.shape == sizes:
            return contents
        return self.made("expand", (contents,), f"{contents.value}_expand", sizes, place, shape=sizes)

    def made(
        self, kind: Kind, operands: tuple[_Contents, ...], base: str, sizes: tuple[int, ...], place: str, **stated: Any
    ) -> _Contents:
        """Add a step; its result is of the operands' element type and has a name like ``base``."""
        inputs, element = tuple(one.value for one in operands), operands[0].element
        self.read.update(inputs)
        value = self.graph.add(Value(self.graph.fresh(base), TensorType(element, sizes)))
        self.graph.steps.append(Step(kind=kind, inputs=inputs, output=value.name, where=place, **stated))
        return _Contents(value.name, sizes, element)

    def finish(self) -> None:
        """Choose the outputs: what is printed or written to a file, and what nothing reads."""
        shown = {command.resource for command in self.model.commands if not isinstance(command, Dispatch)}
        for name, contents in self.contents.items():
            if name in shown or contents.value not in self.read:
                self.graph.outputs.append(contents.value)
                if contents.value != name:
                    self.graph.losses.append(
                        f"resource {name!r}: the name of its last contents, now {contents.value!r}"
                    )


def to_graph(model: Model) -> Graph:
    """Read a DxDispatch model as a graph.

    Every dispatch becomes a subtraction of the values that its resources hold at that moment. Strides of 0 become
    broadcasting (an expand, where A and B repeat along different dims), another shape over the same resource a
    reshape; a dispatch that subtracts 0 from floats as integers is a copy. A resource that is read before it is written
    is a constant where its values are listed or come from a file, and an input where they are generated or deferred.
    Outputs are the written resources that are printed, written to a file, or read by nothing.

    ``losses`` tells what the graph cannot hold.

    Raises:
        ConversionRefused: operators other than subtraction, gaps and other orders in strides, parts of a resource,
            types that differ from the resource's; each dispatch with its reason. SpecError: a broken rule of DirectML.
    """
    format_ = "a graph"
    foreign = {
        format_path(one.item.path): f"{one.type}; only {DIALECT.versions()[-1].operator} is converted"
        for one in model.dispatchables.values()
        if not one.subtracts
    }
    if foreign:
        raise ConversionRefused(format_, foreign, _ADVICE)
    Execution(model.resources, model.dispatchables, model.commands, {}, DIALECT.versions()[-1], None, ()).check_rules()
    name = os.path.splitext(os.path.basename(model.path))[0] or "directml"
    lifting = _Lifting(model, Graph(name))
    lifting.run()
    if lifting.nodes:
        raise ConversionRefused(format_, lifting.nodes, _ADVICE)
    lifting.finish()
    lifting.graph.losses += _unsaid(model)
    return lifting.graph


def _unsaid(model: Model) -> list[str]:
    """What a model says that has no place in a graph."""
    losses = [f"{key}: a key that DxDispatch does not know" for key in model.document if key not in _ROOT]
    dispatched = {c.dispatchable for c in model.commands if isinstance(c, Dispatch)}
    for one in model.dispatchables.values():
        place = format_path(one.item.path)
        if one.name not in dispatched:
            losses.append(f"{place}: it is never dispatched")
            continue
        said = [f"{tensor} is OWNED_BY_DML" for tensor in TENSORS if one.owned(tensor)]
        said += [] if one.flags == DML_EXECUTION_FLAGS.NONE else ["executionFlags"]
        said += ["dmlCompileType"] if one.item.get("dmlCompileType") else []
        for tensor, desc in one.descs.items():
            least = TensorDesc(desc.data_type, desc.sizes, desc.strides).total_tensor_size_in_bytes
            said += [f"TotalTensorSizeInBytes of {tensor}"] if desc.total_tensor_size_in_bytes != least else []
            said += [f"GuaranteedBaseOffsetAlignment of {tensor}"] if desc.guaranteed_base_offset_alignment else []
        losses += [f"{place}: {what}" for what in said]
    return losses


_ROOT = ("resources", "dispatchables", "commands")
