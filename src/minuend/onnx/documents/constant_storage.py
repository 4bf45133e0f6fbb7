"""How a model stores its constants: not every runtime reads every way, and then it can be stored otherwise.

A way is named so, and an adapter's ``STRICT`` says what comes of it:

    uint64 in uint64_data    elements are in the field of their type, and not in ``raw_data``
    no uint64                a tensor without elements, and without ``raw_data``
    value_ints               an attribute of Constant that is numbers, not a tensor
    sparse initializer       an initializer without its zeros
    sparse_value             the same, of a Constant
    operand of …             a subtraction reads what is stored so
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator

from onnx import GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto
from onnx.helper import make_attribute
from onnx.numpy_helper import from_array

from minuend.errors import Unsupported, listed
from minuend.onnx.documents import tensors
from minuend.onnx.graphs.nesting import holders
from minuend.onnx.graphs.scope import is_constant
from minuend.onnx.graphs.walk import Subtraction, all_tensors, walk
from minuend.onnx.model import Model

OPERAND = "operand of "
SPARSE, SPARSE_VALUE = "sparse initializer", "sparse_value"
_MOST_BYTES = 1 << 30
"""Of a sparse constant with its zeros."""


def ways(model: ModelProto) -> frozenset[str]:
    """Return every way in which a model stores constants, other than ``raw_data`` and external files.

    >>> import onnx
    >>> text = '<ir_version: 8, opset_import: ["" : 14]> g (uint32[2] a) => (uint32[2] c) <uint32[2] k = {1, 2}> {'
    >>> sorted(ways(onnx.parser.parse_model(text + " c = Sub(a, k) }")))
    ['uint32 in uint64_data']
    """
    found = {_of_tensor(tensor) for tensor, _ in all_tensors(model)}
    sparse = (SPARSE for graph in _graphs(model) if graph.sparse_initializer)
    return frozenset(found.union(map(_of_numbers, _constants(model)), sparse) - {""})


def ways_of_operands(one: Subtraction) -> frozenset[str]:
    """Return the ways in which the constants that a subtraction reads are stored, each as ``"operand of …"``."""
    found = {name: _of_tensor(tensor) for name, tensor in one.scope.visible_tensors().items()}
    for scope in one.scope.around():
        for node in filter(is_constant, scope.nodes):
            found |= {name: _of_numbers(node) for name in node.output if name not in found}
    return frozenset(OPERAND + found[name] for name in one.proto.input if found.get(name))


def store_raw(model: Model, unread: Collection[str]) -> str:
    """Store what is stored in some ways as ``raw_data``, in place, and return what was done; ``""`` for nothing.

    Raises:
        FileFormatError, SpecError: a tensor that does not hold what it has to. Unsupported: a sparse one is too large.
    """
    wanted = {way.removeprefix(OPERAND) for way in unread}
    if not wanted:
        return ""
    done: Counter[str] = Counter()
    for tensor, where in all_tensors(model.proto):
        if (way := _of_tensor(tensor)) in wanted:
            done[way] += 1
            raw = from_array(model.array(tensor, f"{model.name}: {where}")).raw_data
            for field in tensors.TYPED_FIELDS:
                tensor.ClearField(field)
            tensor.raw_data = raw
    for graph in _graphs(model.proto) if SPARSE in wanted else ():
        for sparse in graph.sparse_initializer:
            done[SPARSE] += 1
            graph.initializer.append(dense(model, sparse, sparse.values.name))
        graph.ClearField("sparse_initializer")
    for node in _constants(model.proto):
        stated = _stated(model, node) if (way := _of_numbers(node)) in wanted else None
        if stated is not None:
            done[way] += 1
            node.attribute[0].CopyFrom(make_attribute("value", stated))
    counted = [
        f"{count} {way}{s}" if way == SPARSE else f"{count} constant{s} of {way}"
        for way, count in done.items()
        for s in ("" if count == 1 else "s",)
    ]
    return f"{listed(counted, 'and')} became raw_data" if counted else ""


# ---- one constant -------------------------------------------------------------------------------------------------


def _constants(model: ModelProto) -> Iterator[NodeProto]:
    return (node for scope in walk(model) for node in scope.nodes if is_constant(node))


def _of_tensor(tensor: TensorProto) -> str:
    kind = tensors.data_type(tensor.data_type)
    if kind is None or kind.name is None or tensor.HasField("raw_data") or tensors.is_external(tensor):
        return ""
    return f"{kind.name} in {kind.field}" if math.prod(tensor.dims) else f"no {kind.name}"


def _of_numbers(node: NodeProto) -> str:
    ways_of_one = (*tensors.CONSTANTS, SPARSE_VALUE)
    return next((one.name for one in node.attribute if one.name in ways_of_one and not one.ref_attr_name), "")


def _stated(model: Model, node: NodeProto) -> TensorProto | None:
    (stated, *_) = node.attribute
    return dense(model, stated.sparse_tensor, "") if stated.name == SPARSE_VALUE else tensors.constant(node)


def dense(model: Model, sparse: SparseTensorProto, name: str) -> TensorProto:
    """Return a sparse tensor with its zeros."""
    where = f"{model.name}: sparse constant {name!r}"
    if tensors.check(sparse.values, where).nbytes(tensors.elements(sparse.dims, where)) > _MOST_BYTES:
        raise Unsupported(f"{where} of {list(sparse.dims)} has more than {_MOST_BYTES >> 30} GiB with its zeros")
    return from_array(tensors.dense(sparse, where, lambda one: model.array(one, where)), name)


def _graphs(model: ModelProto) -> Iterator[GraphProto]:
    return (one for one in holders(model) if isinstance(one, GraphProto))
