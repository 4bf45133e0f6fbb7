"""What some runtimes do not take of a model, or lack in it: their adapters say which (``STRICT``).

ONNX allows all of it. The tests try each kind on every runtime that is installed.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, defs

from minuend.errors import SpecError, Unsupported
from minuend.models.hazards import AXES_ATTRIBUTE, AXES_INPUT, INPUT_WITHOUT_SHAPE, KEEPDIMS_LEFT_OUT, of_operator
from minuend.onnx.documents.tensors import is_external
from minuend.onnx.graphs.nesting import captured, holders, within
from minuend.onnx.graphs.scope import MAIN, domain_of, read_opsets
from minuend.onnx.opsets import schemas
from minuend.standards.node import Node
from minuend.standards.validation import validate

Check = Callable[[ModelProto], bool]


def _has_shape(value: ValueInfoProto) -> bool:
    return value.type.tensor_type.HasField("shape") or not value.type.HasField("tensor_type")


def _inputs(model: ModelProto) -> list[ValueInfoProto]:
    """The inputs that have to be given."""
    stored = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in stored]


def _has_nameless_dim(value: ValueInfoProto) -> bool:
    return any(not (dim.HasField("dim_value") or dim.dim_param) for dim in value.type.tensor_type.shape.dim)


def _has_open_dim(value: ValueInfoProto) -> bool:
    return any(not dim.HasField("dim_value") for dim in value.type.tensor_type.shape.dim)


def _states_sizes(model: ModelProto) -> bool:
    """Whether inputs have open dims, and a Reshape of the graph states every size."""
    if not any(map(_has_open_dim, _inputs(model))):
        return False
    wanted = {node.input[1] for node in model.graph.node if node.op_type == "Reshape" and node.input[1:]}
    shapes = [_numbers(one) for one in model.graph.initializer if one.name in wanted and not is_external(one)]
    for node in model.graph.node:
        for one in node.attribute if node.op_type == "Constant" and wanted.intersection(node.output) else ():
            shapes.append(list(one.ints) if one.name == "value_ints" else _numbers(one.t))
    return any(sizes and min(sizes) > 0 for sizes in shapes)


def _numbers(tensor: TensorProto) -> list[int]:
    """The elements of an int64; of another type, or of a tensor that is none, anything."""
    raw = tensor.raw_data if tensor.data_type == TensorProto.INT64 else b""
    return [number for (number,) in struct.iter_unpack("<q", raw[: len(raw) // 8 * 8])] or list(tensor.int64_data)


def _has_constant_output(model: ModelProto) -> bool:
    """Whether one output depends on what is given, and another one on constants and known shapes alone."""
    return 0 < len(constant_outputs(model)) < len({one.name for one in model.graph.output})


def constant_outputs(model: ModelProto) -> frozenset[str]:
    """Return the outputs of a model that depend on constants and known shapes alone, as far as inputs tell.

    >>> import onnx
    >>> text = "g (float[2] a) => (float[2] b, int64[1] c) { b = Neg(a) c = Shape(a) }"
    >>> sorted(constant_outputs(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 14]> {text}')))
    ['c']
    """
    moving = {one.name for one in _inputs(model)}
    open_ = {one.name for one in _inputs(model) if not _has_shape(one) or _has_open_dim(one)}
    for node in model.graph.node:
        read = {*node.input, *captured(node)}
        open_.update(node.output if read and open_ >= read else ())  # beside a known shape an open one becomes known
        of_read = open_ if node.op_type in _OF_SHAPES else moving
        if not of_read.isdisjoint(read) or node.op_type.startswith("Random"):
            moving.update(node.output)
    return frozenset(one.name for one in model.graph.output if one.name not in moving)


_OF_SHAPES = ("Shape", "Size")
"""Operators whose results are constants where shapes are known."""


def _has_unread_input(model: ModelProto) -> bool:
    """Whether an input is not read, or for its known shape alone, and one after it is."""
    inputs = _inputs(model)
    found = [_is_read(model, one.name, _has_shape(one) and not _has_open_dim(one)) for one in inputs]
    return any(after and not before for before, after in itertools.pairwise(found))


def _is_read(model: ModelProto, name: str, known: bool) -> bool:
    """Whether an output or a node needs a value, which Identity hands on; Shape does not need one of known shape."""
    if name in {one.name for one in model.graph.output}:
        return True
    readers = [node for node in model.graph.node if name in (*node.input, *captured(node))]
    return any(
        _is_read(model, node.output[0], known)
        if node.op_type == "Identity"
        else not known or node.op_type not in _OF_SHAPES
        for node in readers
    )


def _has_operator(model: ModelProto, name: str) -> bool:
    """Whether a node of an operator is in the graph, or in the bodies of its nodes."""
    return any(node.op_type == name for graph in within(model.graph) for node in graph.node)


def _names_the_domain(model: ModelProto) -> bool:
    """Whether a node states ONNX's own domain by its name, ``ai.onnx``, which is the empty one."""
    return any(node.domain == "ai.onnx" for graph in holders(model) for node in graph.node)


def _has_deprecated(model: ModelProto) -> bool:
    """Whether a node is of an operator that its opset deprecates, and that no function stands for."""
    opsets = read_opsets(model.opset_import)
    return any(_is_deprecated(node, opsets) for graph in within(model.graph) for node in graph.node)


def _is_deprecated(node: NodeProto, opsets: Mapping[str, int]) -> bool:
    domain = domain_of(node.domain)
    opset = opsets.get(domain, 0)
    if not schemas.knows(opset, domain) or schemas.version_in(node.op_type, opset, domain) is None:
        return False
    op: Any = schemas.schema(node.op_type, opset, domain)  # onnx's type hints lack what it says of functions
    return op.deprecated and not (op.has_function or op.has_context_dependent_function)


def _has_dequantised_value(model: ModelProto) -> bool:
    """Whether a DequantizeLinear converts an input, or what an operator made.

    Not where it reads a QuantizeLinear and no output is its result, or made of it by operators of one operand alone.
    """
    given = {one.name for one in _inputs(model)}
    return any(_dequantises(graph, given) for graph in within(model.graph))


def _dequantises(graph: GraphProto, given: Collection[str]) -> bool:
    makers = {name: node.op_type for node in graph.node for name in node.output}
    ends = {one.name for one in graph.output}
    for node in reversed(graph.node):
        if len(node.input) == 1 and ends.intersection(node.output):
            ends.update(node.input)
    return any(
        node.input[0] in given
        or (maker := makers.get(node.input[0], "Constant")) not in ("Constant", "QuantizeLinear")
        or (maker == "QuantizeLinear" and not ends.isdisjoint(node.output))
        for node in graph.node
        if node.op_type == "DequantizeLinear" and node.input
    )


def _repeats_a_name(graph: GraphProto) -> bool:
    names = [node.name for node in graph.node if node.name]
    return len({*names}) < len(names)


DECLARED: Mapping[str, Check] = MappingProxyType({
    INPUT_WITHOUT_SHAPE: lambda model: not all(map(_has_shape, _inputs(model))),
    "input dim without name": lambda model: any(map(_has_nameless_dim, _inputs(model))),
    "output without type": lambda model: not all(one.type.WhichOneof("value") for one in model.graph.output),
    "output without shape": lambda model: not all(one.type.WhichOneof("value") and _has_shape(one)
                                                  for one in model.graph.output),
    "output that is an input": lambda model: not {one.name for one in model.graph.output}.isdisjoint(
        one.name for one in _inputs(model)),
    "output of constants": _has_constant_output,
    "unread input before another": _has_unread_input,
    "local function": lambda model: bool(model.functions),
    "Reshape to known sizes, of open ones": _states_sizes,
    "control flow": lambda model: len([*within(model.graph)]) > 1,
    "deprecated operator": _has_deprecated,
    "dequantised value": _has_dequantised_value,
    "dequantised below opset 19": lambda model: _has_operator(model, "DequantizeLinear")
                                                and read_opsets(model.opset_import).get("", 0) < 19,
    "domain named in a node": _names_the_domain,
    "domain imported by name alone": lambda model: {"ai.onnx"} == {one.domain for one in model.opset_import} & {*MAIN},
    "nodes of one name": lambda model: any(map(_repeats_a_name, within(model.graph))),
    "no output": lambda model: not model.graph.output,
    "Loop": lambda model: _has_operator(model, "Loop"),
    "Scan": lambda model: _has_operator(model, "Scan"),
})  # fmt: skip
"""Kinds, and whether a model is of one."""


def reductions(model: ModelProto) -> frozenset[str]:
    """Return the kinds of the nodes that reduce, in bodies and functions too.

    >>> import onnx
    >>> text = 'g (float[2,3] a) => (float[2] c) { c = ReduceL1 <axes = [1], keepdims = 0> (a) }'
    >>> reductions(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 14]> {text}'))
    frozenset({'ReduceL1 of axes as an attribute'})
    """
    nodes = (node for graph in holders(model) for node in graph.node if node.op_type.startswith("Reduce"))
    return frozenset(node.op_type + form for node in nodes if node.domain in MAIN for form in _forms(node))


def _forms(node: NodeProto) -> Iterator[str]:
    stated = {one.name for one in node.attribute if one.name != "axes" or one.ints or one.ref_attr_name}
    if "axes" in stated:
        yield AXES_ATTRIBUTE
    elif node.input[1:] and node.input[1]:
        yield AXES_INPUT
    if "keepdims" not in stated:
        yield KEEPDIMS_LEFT_OUT


MAY_DIFFER, NOT_KNOWN = "sizes that may differ", "sizes that are not known"
"""Kinds of a node whose operands have dims that the model does not say to be equal; see :func:`kinds_of_node`."""


def kinds(model: ModelProto) -> frozenset[str]:
    """Return the kinds that a model is of.

    >>> import onnx
    >>> model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 14]> g (float a) => (c) { c = Neg(a) }')
    >>> sorted(kinds(model))
    ['output without shape', 'output without type']
    """
    return frozenset(kind for kind, holds in DECLARED.items() if holds(model)) | reductions(model)


def foreign(model: ModelProto) -> frozenset[str]:
    """Return the operators of a model that neither ONNX nor a function of the model defines.

    >>> import onnx
    >>> text = "g (float[2] a) => (c) { b = com.microsoft.Gelu(a) c = Relu(b) }"
    >>> foreign(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 14, "com.microsoft" : 1]> {text}'))
    frozenset({'com.microsoft.Gelu'})
    """
    return frozenset(
        f"{domain}.{name}".removeprefix(".") for domain, name in _used(model) if not defs.has(name, domain)
    )


def operators(model: ModelProto) -> frozenset[str]:
    """Return a kind for each operator of a model that no function of its stands for.

    >>> import onnx
    >>> text = "g (float[2] a) => (float[2] c) { c = Relu(a) }"
    >>> operators(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 14]> {text}'))
    frozenset({'operator Relu'})
    """
    return frozenset(of_operator(name, domain) for domain, name in _used(model))


def _used(model: ModelProto) -> set[tuple[str, str]]:
    """The domains and names of the operators of a model's nodes, without calls of its functions."""
    own = {(domain_of(one.domain), one.name) for one in model.functions}
    return {(domain_of(node.domain), node.op_type) for graph in holders(model) for node in graph.node} - own


def names_of_dims(model: ModelProto) -> frozenset[str]:
    """Return the names that the dims of a model's inputs have."""
    dims = (dim for value in _inputs(model) for dim in value.type.tensor_type.shape.dim)
    return frozenset(dim.dim_param for dim in dims if dim.dim_param)


def kinds_of_node(node: Node | SpecError | Unsupported, names: Collection[str]) -> frozenset[str]:
    """Return the kinds that a node is of: whether its operands have sizes that may differ.

    Args:
        node: the node. names: those of the dims of the model's inputs. A size of another name, or of none, came of an
            inference, and that of a runtime may know more.
    """
    if not isinstance(node, Node):
        return frozenset()
    try:
        joined = validate(node)
    except SpecError:
        return frozenset()
    if not joined.assumptions:
        return frozenset()
    shapes = [one.shape for one in node.operands]
    known = all(shape is not None and all(isinstance(d, int) or d in names for d in shape) for shape in shapes)
    return frozenset({MAY_DIFFER if known else NOT_KNOWN})
