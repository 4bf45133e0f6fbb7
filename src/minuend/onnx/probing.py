"""ONNX models for runtimes: cases as models, and any model in one piece."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence

from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from minuend.core.shapes import Dim
from minuend.models.flow import OF_SHAPES
from minuend.names import Names
from minuend.onnx.cases.graph_cases import build, graph_cases, many
from minuend.onnx.documents import external, tensors
from minuend.onnx.documents.tensors import is_external
from minuend.onnx.graphs.call_counts import Calls
from minuend.onnx.graphs.inference import infer_types
from minuend.onnx.graphs.nesting import all_names, holders
from minuend.onnx.graphs.scope import shape_of
from minuend.onnx.graphs.walk import all_tensors
from minuend.onnx.model import Model
from minuend.runtimes.cases import Case
from minuend.runtimes.probing import SIDES, Skip, is_constant, nodes, operands

FORM = "onnx"

__all__ = [
    "FORM",
    "GRAPH_TYPES",
    "build",
    "case_model",
    "counts",
    "declared",
    "graph_cases",
    "many",
    "model_bytes",
    "nbytes",
]

GRAPH_TYPES = ("float32", "float16", "bfloat16", "float64", "int8", "uint8", "int32", "int64", "int16", "uint16",
               "uint32", "uint64")  # fmt: skip
"""Element types of graph cases."""

_MOST_NODES = 20_000
"""Nodes, the calls of local functions followed, up to which a model is run where functions multiply them."""

OLDEST_IR_VERSION = 7
"""The oldest file version of ONNX that has all of Sub's types; every runtime since 2020 reads it."""


def case_model(together: Sequence[Case]) -> tuple[bytes, bytes]:
    """Return cases as an ONNX model."""
    first = together[0]
    kind = tensors.number(first.element.name)
    made, inputs, outputs, initializers = [], [], [], []
    for name, side, codes in operands(together):
        if is_constant(first, side):
            initializers.append(helper.make_tensor(name, kind, codes.shape, codes.tobytes(), raw=True))
        else:
            inputs.append(helper.make_tensor_value_info(name, kind, first.dims(side) or codes.shape))
    for i, case, operation in nodes(together):
        given = [f"{side.lower()}{i}" for side, _ in zip(SIDES, operation.operands, strict=False)]
        called = f"{case.op.operator.lower()}{i}"
        made.append(helper.make_node(case.op.operator, given, [f"c{i}"], name=called, **case.attributes))
        opened = first.dims("A") is not None  # then the result's is what it turns out to be
        outputs.append(helper.make_tensor_value_info(f"c{i}", kind, None if opened else operation.expected.shape))
    graph = helper.make_graph(made, "case", inputs, outputs, initializers)
    imports = [helper.make_opsetid("", int(first.op.version))]
    model = helper.make_model(graph, ir_version=OLDEST_IR_VERSION, opset_imports=imports, producer_name="minuend")
    return model.SerializeToString(), b""


def declared(model: Model) -> Iterator[tuple[str, str, tuple[Dim, ...] | None]]:
    """Yield name, element type and dims of every input that has to be given."""
    stored = {tensor.name for tensor in model.proto.graph.initializer}
    for value in model.proto.graph.input:
        if value.name in stored:
            continue
        kind = tensors.element_kind(value.type)
        if kind is None or kind.name is None:
            raise Skip(f"the input {value.name!r} is no tensor of numbers")
        yield value.name, kind.name, shape_of(value.type)


def counts(model: Model) -> Container[str]:
    """Names of all values that what a Loop counts by is made of, shapes aside."""
    nodes_ = [node for holder in holders(model.proto) for node in holder.node]
    makers = {name: node for node in nodes_ for name in node.output}
    waiting = [node.input[0] for node in nodes_ if node.op_type == "Loop" and node.input]
    found = set[str]()
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            made = makers.get(name)
            waiting += () if made is None or made.op_type in OF_SHAPES else made.input
    return found


def nbytes(model: Model) -> int:
    """Bytes of a model's tensors.

    Raises:
        Skip: its functions multiply its nodes beyond what a runtime is queried with in passing.
    """
    nodes = Calls(model.proto).total()
    if model.proto.functions and nodes > _MOST_NODES:
        raise Skip(f"with the calls of its functions followed it has {nodes} nodes, more than {_MOST_NODES}")
    kinds = ((tensors.data_type(tensor.data_type), tensor) for tensor, _ in all_tensors(model.proto))
    return sum(kind.nbytes(math.prod(tensor.dims)) for kind, tensor in kinds if kind is not None)


def model_bytes(model: Model, watched: Sequence[str], bfloat16_out: bool) -> tuple[bytes, bytes, frozenset[int]]:
    """Return a model in one piece with more outputs, and the numbers of those that leave as float32 for bfloat16."""
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    for tensor, where in all_tensors(proto):
        if is_external(tensor):
            tensor.CopyFrom(external.inline(tensor, model.files.bytes(tensor, f"{model.name}: {where}")))
    if watched:
        types = infer_types(model).types["graph"]
        proto.graph.output.extend(ValueInfoProto(name=name, type=types.get(name)) for name in watched)
    wide = frozenset[int]() if bfloat16_out else _widened(proto)
    return proto.SerializeToString(), b"", wide


def _widened(proto: ModelProto) -> frozenset[int]:
    """Let outputs of bfloat16 leave as float32; return their numbers."""
    names = Names(all_names(proto))
    wide = []
    for i, value in enumerate(proto.graph.output):
        if value.type.tensor_type.elem_type == TensorProto.BFLOAT16:
            name = names.fresh(f"{value.name}_as_float32")
            proto.graph.node.append(helper.make_node("Cast", [value.name], [name], to=TensorProto.FLOAT))
            value.name, value.type.tensor_type.elem_type = name, TensorProto.FLOAT
            wide.append(i)
    return frozenset(wide)
