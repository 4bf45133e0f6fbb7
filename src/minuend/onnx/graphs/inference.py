"""The types of every value of a model: ONNX's own inference, helped where it knows nothing.

ONNX's inference has no rule for Sub-1 and operators next to it, nor for GroupNormalization-21, ignores B in Sub-6,
does not know ``ai.onnx`` or a model without imports, and says nothing of the inside of functions. So it is given a
lean copy of the model: such an operator is an Identity of A (its result has A's shape and type, always), large data is
left out, domains are written ``""``; and each function is inferred as a graph of its own, with what all of its calls
agree on.
"""

from __future__ import annotations

import contextlib
import functools
from collections import ChainMap
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto
from onnx.helper import make_opsetid

from minuend.errors import MinuendError
from minuend.onnx.documents import tensors
from minuend.onnx.documents.document import Document
from minuend.onnx.documents.external import DataFiles
from minuend.onnx.graphs.call_counts import Calls, Key
from minuend.onnx.graphs.nesting import attribute_graphs, bodies, contained, filled_in, replace_references, within
from minuend.onnx.graphs.scope import INVENTED, MAIN, Types, functions, keep_common, model_opsets, read_opsets
from minuend.onnx.opsets import schemas
from minuend.onnx.opsets.scope import without_data
from minuend.onnx.processes import library_process
from minuend.onnx.versions import DIALECT

Binding = Mapping[str, AttributeProto]
_MOST_DATA = 4096  # bytes of a tensor that inference may want to read: shapes, axes, splits
_MOST_BINDINGS = 256


@dataclass
class Inference:
    """What is known of a model.

    Attributes:
        types: of each scope by its place, the types of its values and of those around it.
        bindings: of each function by its place, the different ways in which its calls fill its attributes in.
        exceeded: why there are types that ONNX's inference was not let find; ``""`` where it was.
        refused: what strict inference says of nodes whose types or shapes cannot be, a text for each graph inferred.
    """

    types: dict[str, Types] = field(default_factory=dict)
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    exceeded: str = ""
    refused: list[str] = field(default_factory=list)


def infer_types(model: Document | ModelProto, inputs: Types | None = None, *, believed: bool = True) -> Inference:
    """Infer the types of all values of a model.

    Args:
        model: the model. inputs: types of the graph's inputs to be taken instead of the declared ones.
        believed: whether the shapes that the model states of other values are taken for right where they say more.
    """
    lean = _lean(model, inputs or {})
    if not believed:
        _forget_types(lean.graph)
    local = Calls(lean)
    places = {(one.domain, one.name, one.overload): where for one, where in functions(lean)}
    found = Inference()
    calls: dict[Key, list[_Call]] = {}
    _infer(lean, local, found)
    _collect(lean.graph, "graph", {}, found, calls, [{}])
    for key in local.callers_first():
        function, where, calls_of_one = local.functions[key], places[key], calls.pop(key, [])
        ways = _distinct([call.bound(function) for call in calls_of_one], where) or [_defaults(function)]
        found.bindings[where] = ways
        body = _as_model(function, calls_of_one, ways, lean.ir_version, local)
        given = {dim.dim_param for value in body.graph.input for dim in value.type.tensor_type.shape.dim}
        _infer(body, local, found)
        _rename_symbols(body.graph, given, function.name)
        _collect(body.graph, where, {}, found, calls, ways)
    return found


# ---- the lean copy --------------------------------------------------------------------------------------------


def _lean(model: Document | ModelProto, inputs: Types) -> ModelProto:
    proto = model if isinstance(model, ModelProto) else model.proto
    files = None if isinstance(model, ModelProto) else model.files
    lean = without_data(proto)
    lean.ir_version = max(proto.ir_version, 4)
    lean.ClearField("training_info")
    for value in lean.graph.input:
        if value.name in inputs:
            value.type.CopyFrom(inputs[value.name])
    lean.graph.initializer.extend(_lean_tensor(tensor, files) for tensor in proto.graph.initializer)
    for holder, graph, opsets in (
        (lean, lean.graph, model_opsets(proto)),
        *((function, function, read_opsets(function.opset_import)) for function in lean.functions),
    ):
        del holder.opset_import[:]
        holder.opset_import.extend(make_opsetid(*item) for item in opsets.items())
        for one in within(graph):
            if isinstance(one, GraphProto):  # ONNX's inference takes sparse ones for tensors without axes
                one.initializer.extend(
                    TensorProto(name=sparse.values.name, data_type=sparse.values.data_type, dims=sparse.dims)
                    for sparse in one.sparse_initializer
                )
                one.ClearField("sparse_initializer")
            for node in one.node:
                _slim(node, opsets.get(""), files)
    return lean


def _forget_types(graph: GraphProto) -> None:
    """Leave nothing of the types of values in between, and no shapes of outputs, in place."""
    for one in within(graph):
        one.ClearField("value_info")
        for value in one.output:
            if value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")


def _slim(node: NodeProto, opset: int | None, files: DataFiles | None) -> None:
    """Make a copied node lean, and the tensors of its bodies."""
    if node.domain in MAIN:
        node.domain = ""
        whole = node.op_type == "Sub" and (len(node.input), len(node.output)) == (2, 1)
        limited = whole and opset is not None and DIALECT.resolve(opset).broadcasting == "onnx_legacy"
        if limited or (node.input and opset is not None and _is_as_its_input(node.op_type, opset)):
            node.op_type = "Identity"
            del node.input[1:], node.output[1:], node.attribute[:]
    for attribute in node.attribute:
        inner = (tensor for _, body in attribute_graphs(attribute) for tensor in body.initializer)
        for tensor in (*contained(attribute, "t", "tensors"), *inner):
            tensor.CopyFrom(_lean_tensor(tensor, files))


_AS_THEIR_INPUT = frozenset(
    ("Abs", "Add", "BatchNormalization", "Ceil", "Clip", "Div", "Dropout", "Elu", "Exp", "Floor", "GroupNormalization",
     "HardSigmoid", "InstanceNormalization", "LeakyRelu", "Log", "Max", "Mean", "Min", "Mul", "Neg", "PRelu",
     "Reciprocal", "Relu", "Selu", "Sigmoid", "Sqrt", "Sum", "Tanh")
)  # fmt: skip
"""Operators whose first result has the type and the shape of their first input, wherever ONNX has no rule for them."""


@functools.cache
def _is_as_its_input(op_type: str, opset: int) -> bool:
    """Whether ONNX has no rule for the types of an operator's results in a version, and they are those of its input.

    >>> [_is_as_its_input("GroupNormalization", opset) for opset in (17, 18, 21)], _is_as_its_input("Mul", 5)
    ([False, False, True], True)
    """
    if op_type not in _AS_THEIR_INPUT or schemas.version_in(op_type, opset) is None:
        return False
    found = schemas.schema(op_type, opset)
    return not (found.has_type_and_shape_inference_function or found.deprecated)


def _lean_tensor(tensor: TensorProto, files: DataFiles | None) -> TensorProto:
    """Return a tensor's type, with its data where that is small."""
    kind = tensors.data_type(tensor.data_type)
    try:
        count = tensors.elements(tensor.dims, tensor.name)
    except MinuendError:
        kind = None
    lean = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    if kind is None or kind.nbytes(count) > _MOST_DATA:
        return lean
    if not tensors.is_external(tensor):
        lean.CopyFrom(tensor)
    elif files is not None:
        with contextlib.suppress(MinuendError, OSError):  # whoever needs the data gets a report of what is wrong
            lean.raw_data = files.bytes(tensor, tensor.name).tobytes()
    return lean


# ---- inference over one graph ---------------------------------------------------------------------------------


def _infer(lean: ModelProto, local: Calls, found: Inference) -> None:
    """Infer the types of a lean model's graph, in place, again where onnxruntime's own operators stand in their way."""
    _infer_once(lean, local, found)
    opset = next((one.version for one in lean.opset_import if not one.domain), 0)
    if any(schemas.is_contributed(node, opset) for node in lean.graph.node) and _contribute(lean, local, opset):
        _infer_once(lean, local, found)


def _contribute(lean: ModelProto, local: Calls, opset: int) -> bool:
    """State the element types behind onnxruntime's own operators, where they are not known; whether there are any."""
    graph = lean.graph
    named = {value.name: value for value in (*graph.input, *graph.value_info, *graph.output)}
    types = {name: value.type for name, value in named.items() if value.type.WhichOneof("value") is not None}
    types |= {one.name: onnx.helper.make_tensor_type_proto(one.data_type, list(one.dims)) for one in graph.initializer}
    own = {(one.domain, one.name) for one in local.visible(graph.node)}
    found: dict[str, TypeProto] = {}
    for node in graph.node:
        if schemas.is_contributed(node, opset):
            found |= schemas.contributed(node, ChainMap(found, types).get)
        elif not node.domain and (node.domain, node.op_type) not in own and not schemas.malformed(node, opset):
            found |= schemas.implied(node, opset, ChainMap(found, types).get)
    for name, kind in found.items():
        (named[name] if name in named else graph.value_info.add(name=name)).type.CopyFrom(kind)
    return bool(found)


def _infer_once(lean: ModelProto, local: Calls, found: Inference) -> None:
    """Run ONNX's inference on a lean model's graph, in place; what it cannot infer stays open."""
    del lean.functions[:]
    lean.functions.extend(local.visible(lean.graph.node))
    for strict, data_prop in ((True, True), (False, True), (False, False)):
        try:
            graph = library_process.infer_shapes(lean, data_prop=data_prop, strict=strict).graph
        except library_process.OnnxRefuses as error:  # a model that breaks a rule, of which less can be said
            if strict:
                found.refused.append(str(error))
            continue
        except library_process.Exceeded as error:
            found.exceeded = str(error)
            continue
        lean.graph.CopyFrom(graph)
        break
    del lean.functions[:]


@dataclass
class _Call:
    """One call of a function: the node, the types around it, and the ways in which its own attributes are bound."""

    node: NodeProto
    types: Types
    bindings: Sequence[Binding]

    def bound(self, function: FunctionProto) -> list[Binding]:
        """The ways in which this call fills the function's attributes in."""
        defaults = _defaults(function)
        return [{**defaults, **{a.name: a for a in filled_in(self.node, outer)}} for outer in self.bindings]


def _defaults(function: FunctionProto) -> Binding:
    return {a.name: a for a in function.attribute_proto}


def _collect(
    graph: GraphProto,
    where: str,
    outer: Types,
    found: Inference,
    calls: dict[Key, list[_Call]],
    bindings: Sequence[Binding],
) -> None:
    """Read the inferred types of a graph and its bodies, and note every node that may call a function."""
    types = dict(outer)
    for tensor in graph.initializer:
        types[tensor.name] = onnx.helper.make_tensor_type_proto(tensor.data_type, list(tensor.dims))
    for value in (*graph.input, *graph.value_info, *graph.output):
        if value.type.WhichOneof("value") is not None and not _less(value.type, types.get(value.name)):
            types[value.name] = value.type
    found.types[where] = types
    for node in graph.node:
        calls.setdefault((node.domain, node.op_type, node.overload), []).append(_Call(node, types, bindings))
    for body, place in bodies(graph.node, where):
        _collect(body, place, types, found, calls, bindings)


def _less(new: TypeProto, old: TypeProto | None) -> bool:
    """Whether a type says less than one that is known: an output or input declared without its shape."""
    return old is not None and old.tensor_type.HasField("shape") and not new.tensor_type.HasField("shape")


# ---- functions ------------------------------------------------------------------------------------------------


def _distinct(ways: Iterable[Iterable[Binding]], where: str) -> list[Binding]:
    seen: dict[tuple[tuple[str, bytes], ...], Binding] = {}
    for binding in (binding for way in ways for binding in way):
        key = tuple(sorted((name, a.SerializeToString(deterministic=True)) for name, a in binding.items()))
        seen.setdefault(key, binding)
        if len(seen) > _MOST_BINDINGS:
            raise MinuendError(f"{where} is called with more than {_MOST_BINDINGS} different sets of attributes")
    return list(seen.values())


def _as_model(
    function: FunctionProto, calls_of_one: Sequence[_Call], bindings: Sequence[Binding], ir_version: int, local: Calls
) -> ModelProto:
    """Return a function as a model, its inputs and attributes being what all calls agree on."""
    model = ModelProto(ir_version=ir_version, opset_import=function.opset_import)
    graph = model.graph
    graph.name = function.name
    for i, name in enumerate(function.input):
        types = [call.types.get(call.node.input[i]) if i < len(call.node.input) else None for call in calls_of_one]
        value = graph.input.add(name=name)
        common = _common(types)
        if common is not None:
            value.type.CopyFrom(common)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in function.output)
    graph.value_info.extend(function.value_info)
    graph.node.extend(function.node)
    agreed = {
        name: a
        for name, a in bindings[0].items()
        if all(name in other and other[name].SerializeToString() == a.SerializeToString() for other in bindings)
    }
    replace_references(graph.node, agreed, local.functions)
    return model


def _common(types: Sequence[TypeProto | None]) -> TypeProto | None:
    """Return what several types agree on."""
    first = next(iter(types), None)
    if first is None or any(other is None for other in types):
        return None
    common = TypeProto()
    common.CopyFrom(first)
    for other in types[1:]:
        assert other is not None
        if not (common.HasField("tensor_type") and other.HasField("tensor_type")):
            if common != other:
                return None
            continue
        if common.tensor_type.elem_type != other.tensor_type.elem_type:
            return None
        keep_common(common.tensor_type, other.tensor_type)
    return common


def _rename_symbols(graph: GraphProto, given: Container[str], prefix: str) -> None:
    """Make the names that inference gave to unknown dims the function's own: another function's are other dims."""
    for value in (*graph.value_info, *graph.output, *graph.input):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param.startswith(INVENTED) and dim.dim_param not in given:
                dim.dim_param = f"{prefix}__{dim.dim_param}"
    for body, _ in bodies(graph.node, ""):
        _rename_symbols(body, given, prefix)
