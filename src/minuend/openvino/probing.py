"""OpenVINO IR for runtimes: cases as models, and any model with more results."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from minuend.core.shapes import Shape
from minuend.openvino.execution.running import input_names
from minuend.openvino.ir.builder import Builder
from minuend.openvino.ir.notation import dtype_of
from minuend.openvino.ir.sections import Layer, Ref
from minuend.openvino.model import Model
from minuend.openvino.tensor import NARROW, Tensor
from minuend.openvino.versions import SPELLINGS
from minuend.runtimes.cases import Case
from minuend.runtimes.probing import SIDES, Skip, is_constant, nodes

FORM = "ir"


def declared(model: Model) -> Iterator[tuple[str, str, Shape]]:
    """Yield name, element type and dims of every Parameter.

    Raises:
        Skip: a type without a name here, or one that the runtime replaces.
    """
    if model.replaced:
        raise Skip(model.replaced[0])
    for name, type_ in model.inputs.items():
        dtype = dtype_of(type_.element)
        if dtype is None:
            raise Skip(f"the input {name!r} is of {type_.element}")
        yield name, dtype, type_.shape


def counts(model: Model) -> Container[str]:
    """Names of the inputs that what a Loop counts by is made of, shapes aside."""
    waiting = [loop.inputs[0].source for loop in model.section.of_type("Loop") if loop.inputs]
    found = set[Layer]()
    while waiting:
        ref = waiting.pop()
        if ref is not None and ref.layer not in found:
            found.add(ref.layer)
            waiting += () if ref.layer.type == "ShapeOf" else ref.layer.sources()
    return {name for layer, names in input_names(model.section).items() if layer in found for name in names}


def nbytes(model: Model) -> int:
    return model.weights.size


def model_bytes(model: Model, watched: Sequence[Ref], bfloat16_out: bool) -> tuple[bytes, bytes, frozenset[int]]:
    """Return a model's files with more results; runtimes that read IR give bfloat16 out.

    Inputs without tensor names get those that they go by: runtimes find an input by nothing else.
    """
    before = list(model.layers)
    ports = {
        layer.outputs[0]: names for layer, names in input_names(model.section).items() if not layer.outputs[0].names
    }
    builder = Builder(model=model)
    for i, ref in enumerate(watched):
        builder.result(ref, f"watched/{i}")
    try:
        for port, names in ports.items():
            port.names = tuple(names[:1])
        data, weights = model.to_bytes()
    finally:
        model.layers[:] = before
        for port in ports:
            port.names = ()
    return data, weights, frozenset()


def case_model(together: Sequence[Case]) -> tuple[bytes, bytes]:
    """Return cases as an IR, version 11: the text and the weights."""
    builder, element = Builder("case"), together[0].element
    for i, case, operation in nodes(together):
        operands = []
        for side, codes in zip(SIDES, operation.operands, strict=False):
            name = f"{side.lower()}{i}"
            if is_constant(case, side):
                stored = Tensor(element, codes) if element in NARROW else codes.view(element.memory)
                operands.append(builder.constant(name, stored, names=[name]))
            else:
                operands.append(builder.parameter(name, SPELLINGS[element.name][0], case.dims(side) or codes.shape))
        called = f"{case.op.computes.onnx.lower()}{i}"
        joined = builder.elementwise(case.op.operator, called, operands, names=[f"c{i}"], **case.attributes)
        builder.result(joined, f"r{i}")
    data, weights = builder.model.to_bytes()
    # Readers take a file of no bytes for a missing one, though empty constants need none.
    return data, weights or b"\0"
