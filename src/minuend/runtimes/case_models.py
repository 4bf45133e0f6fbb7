"""Cases as models: ONNX and OpenVINO IR, whose nodes are the cases' operations and nothing else.

The cases of one model share version, element type and constants.

Inputs are named ``a0``, ``b0``, ``a1``, …; outputs ``c0``, ``c1``, …; constants stand in the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from minuend.core.elements import ElementType
from minuend.runtimes.cases import Case, Operation
from minuend.runtimes.values import Codes

OLDEST_IR_VERSION = 7
"""The oldest file version of ONNX that has all of Sub's types; every runtime since 2020 reads it."""


def is_constant(case: Case, side: str) -> bool:
    """Whether an operand, ``"A"`` or ``"B"``, is a constant of the model."""
    return case.constants in (side, "both")


def nodes(together: Sequence[Case]) -> Iterator[tuple[int, Case, Operation]]:
    """Yield number, case and operation of every node."""
    every = ((case, operation) for case in together for operation in case.operations)
    return ((i, case, operation) for i, (case, operation) in enumerate(every))


def operands(together: Sequence[Case]) -> Iterator[tuple[str, str, Codes]]:
    """Yield name, side (``"A"`` or ``"B"``) and codes of every operand, in the order of the nodes."""
    for i, _, operation in nodes(together):
        yield f"a{i}", "A", operation.a
        yield f"b{i}", "B", operation.b


def onnx_model(together: Sequence[Case], *, opset: int | None = None) -> Any:
    """Return cases as an ``onnx.ModelProto``; ``opset`` is the one it imports, by default the version's own.

    Raises:
        ModuleNotFoundError: the package onnx is not installed.
    """
    from onnx import helper

    first = together[0]
    kind = onnx_type(first.element)
    made, inputs, outputs, initializers = [], [], [], []
    for name, side, codes in operands(together):
        if is_constant(first, side):
            initializers.append(helper.make_tensor(name, kind, codes.shape, codes.tobytes(), raw=True))
        else:
            inputs.append(helper.make_tensor_value_info(name, kind, codes.shape))
    for i, case, operation in nodes(together):
        made.append(helper.make_node("Sub", [f"a{i}", f"b{i}"], [f"c{i}"], name=f"sub{i}", **case.attributes))
        outputs.append(helper.make_tensor_value_info(f"c{i}", kind, operation.expected.shape))
    graph = helper.make_graph(made, "case", inputs, outputs, initializers)
    version = opset or int(first.op.version)
    return helper.make_model(
        graph, ir_version=OLDEST_IR_VERSION, opset_imports=[helper.make_opsetid("", version)], producer_name="minuend"
    )


def onnx_type(element: ElementType) -> int:
    """Return ONNX's number of an element type."""
    from onnx import TensorProto

    from minuend.standards.dialects import dialect

    number: int = getattr(TensorProto, dialect("onnx").spellings[element.name][1])
    return number


def pack(element: ElementType, codes: Codes) -> bytes:
    """Return codes as OpenVINO lays them out: types of fewer than 8 bits share bytes."""
    if element.bits >= 8:
        return codes.tobytes()
    from minuend.openvino.tensor import Tensor

    return Tensor(element, codes).pack()


def unpack(element: ElementType, shape: tuple[int, ...], data: bytes) -> Codes:
    """Read what :func:`pack` wrote."""
    if element.bits >= 8:
        import numpy as np

        return np.frombuffer(data, f"u{element.itemsize}").reshape(shape)
    from minuend.openvino.tensor import Tensor

    return Tensor.unpack(element, shape, data).codes


def ir_model(together: Sequence[Case]) -> tuple[bytes, bytes]:
    """Return cases as an IR, version 11: the text and the weights."""
    layers: list[str] = []
    edges: list[str] = []
    weights = b""
    kind = _ir_name(together[0].element)
    for i, case, operation in nodes(together):
        first = 4 * i
        for k, (side, name, codes) in enumerate((("A", f"a{i}", operation.a), ("B", f"b{i}", operation.b))):
            constant = is_constant(case, side)
            data = pack(case.element, codes) if constant else b""
            layers.append(_source(first + k, name, kind, codes.shape, (len(weights), len(data)) if constant else None))
            weights += data
        layers.append(_subtract(first + 2, i, kind, operation, case))
        layers.append(
            f'<layer id="{first + 3}" name="r{i}" type="Result" version="opset1"><input>'
            f"{_port(0, kind, operation.expected.shape)}</input></layer>"
        )
        edges += [_edge(first, 0, first + 2, 0), _edge(first + 1, 0, first + 2, 1), _edge(first + 2, 2, first + 3, 0)]
    text = f'<net name="case" version="11"><layers>{"".join(layers)}</layers><edges>{"".join(edges)}</edges></net>'
    # Readers take a file of no bytes for a missing one, though empty constants need none.
    return text.encode(), weights or b"\0"


def _ir_name(element: ElementType) -> str:
    from minuend.standards.dialects import dialect

    return dialect("openvino").spell(element.name)


def _port(number: int, kind: str, shape: tuple[int, ...], names: str = "") -> str:
    dims = "".join(f"<dim>{n}</dim>" for n in shape)
    precision = {"u1": "BIN", "f16": "FP16", "f32": "FP32", "f64": "FP64"}.get(kind, kind.upper())
    named = f' names="{names}"' if names else ""
    return f'<port id="{number}" precision="{precision}"{named}>{dims}</port>'


def _source(layer: int, name: str, kind: str, shape: tuple[int, ...], stored: tuple[int, int] | None) -> str:
    dims = ",".join(map(str, shape))
    if stored is None:
        data, type_ = f'<data shape="{dims}" element_type="{kind}"/>', "Parameter"
    else:
        offset, size = stored
        data = f'<data element_type="{kind}" shape="{dims}" offset="{offset}" size="{size}"/>'
        type_ = "Const"
    port = _port(0, kind, shape, name)
    return f'<layer id="{layer}" name="{name}" type="{type_}" version="opset1">{data}<output>{port}</output></layer>'


def _subtract(layer: int, i: int, kind: str, operation: Operation, case: Case) -> str:
    rule = case.attributes.get("auto_broadcast", "numpy")
    axis = case.attributes.get("axis")
    stated = "" if axis is None else f' auto_broadcast.auto_broadcast_axis="{axis}"'
    ports = _port(0, kind, operation.a.shape) + _port(1, kind, operation.b.shape)
    return (
        f'<layer id="{layer}" name="sub{i}" type="Subtract" version="opset1">'
        f'<data auto_broadcast="{rule}"{stated}/><input>{ports}</input>'
        f"<output>{_port(2, kind, operation.expected.shape, f'c{i}')}</output></layer>"
    )


def _edge(layer: int, port: int, to_layer: int, to_port: int) -> str:
    return f'<edge from-layer="{layer}" from-port="{port}" to-layer="{to_layer}" to-port="{to_port}"/>'
