"""OpenVINO IR for runtimes: cases as Subtracts, and any model with more results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from minuend.core.packing import pack
from minuend.openvino.builder import Builder
from minuend.openvino.notation import NUMERIC
from minuend.openvino.versions import SPELLINGS
from minuend.runtimes.cases import Case, Operation
from minuend.runtimes.probing import Skip, is_constant, nodes

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
    layers: list[str] = []
    edges: list[str] = []
    weights = b""
    kind = SPELLINGS[together[0].element.name][0]
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
