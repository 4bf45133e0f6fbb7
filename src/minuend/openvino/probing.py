"""OpenVINO IR for runtimes: cases as Subtracts, and any model with more results."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minuend.core.packing import pack
from minuend.openvino import ir_writer, ir_xml
from minuend.openvino.builder import Builder
from minuend.openvino.ir import Input, Layer, Output, Ref, Section, Type
from minuend.openvino.layers import AXIS
from minuend.openvino.notation import NUMERIC
from minuend.openvino.versions import SPELLINGS
from minuend.runtimes.cases import Case
from minuend.runtimes.probing import Skip, is_constant, nodes
from minuend.storage.reading import Memory

FORM = "ir"


def declared(model: Any) -> Iterator[tuple[str, str, tuple[Any, ...] | None]]:
    """Yield name, element type and dims of every Parameter."""
    for name, type_ in model.inputs.items():
        if type_.element != "boolean" and type_.element not in NUMERIC:
            raise Skip(f"the input {name!r} is of {type_.element}")
        yield name, "bool" if type_.element == "boolean" else NUMERIC[type_.element].name, type_.shape


def nbytes(model: Any) -> int:
    """Bytes of a model's weights."""
    size: int = model.weights.size
    return size


def model_bytes(model: Any, watched: Sequence[Any], bfloat16_out: bool) -> tuple[bytes, bytes, frozenset[int]]:
    """Return a model's files with more results; runtimes that read IR give bfloat16 out."""
    before = list(model.layers)
    builder = Builder(model=model)
    for i, ref in enumerate(watched):
        builder.result(ref, f"watched/{i}")
    try:
        data, weights = model.to_bytes()
    finally:
        model.layers[:] = before
    return data, weights, frozenset()


def case_model(together: Sequence[Case]) -> tuple[bytes, bytes]:
    """Return cases as an IR, version 11: the text and the weights."""
    section = Section()
    element = together[0].element
    kind = SPELLINGS[element.name][0]

    def add(type_: str, name: str, shape: tuple[int, ...], inputs: Sequence[Layer] = (), **fields: Any) -> Layer:
        ports = [Input(id=i, source=Ref(layer, 0)) for i, layer in enumerate(inputs)]
        outputs = [Output(id=len(ports), type=Type(kind, shape), names=(name,))] if type_ != "Result" else []
        made = Layer(
            id=len(section.layers), name=name, type=type_, opset="opset1", inputs=ports, outputs=outputs, **fields
        )
        section.layers.append(made)
        return made

    for i, case, operation in nodes(together):
        operands = []
        for side, name, codes in (("A", f"a{i}", operation.a), ("B", f"b{i}", operation.b)):
            data = {"element_type": kind, "shape": ",".join(map(str, codes.shape))}
            if is_constant(case, side):
                content = np.frombuffer(pack(element, codes), np.uint8)
                operands.append(add("Const", name, codes.shape, data=data, content=content, fresh=True))
            else:
                operands.append(add("Parameter", name, codes.shape, data=data))
        shape = operation.expected.shape
        subtract = add("Subtract", f"c{i}", shape, operands, data=_stated(case))
        subtract.name = f"sub{i}"
        add("Result", f"r{i}", shape, [subtract])
    xml, weights = ir_writer.net("case", 11, {}, section, (), Memory(np.empty(0, np.uint8)))
    stream = io.BytesIO()
    weights.write(stream)
    # Readers take a file of no bytes for a missing one, though empty constants need none.
    return ir_xml.to_bytes(xml), stream.getvalue() or b"\0"


def _stated(case: Case) -> dict[str, str]:
    axis = case.attributes.get("axis")
    stated = {"auto_broadcast": case.attributes.get("auto_broadcast", "numpy")}
    return stated if axis is None else {**stated, AXIS: str(axis)}
