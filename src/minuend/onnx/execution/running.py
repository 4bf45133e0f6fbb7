"""ONNX models as they run: every Sub by this package, all else by onnxruntime or ONNX's evaluator, within bounds."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, TensorProto, TypeProto

from minuend.core.limits import MAX_BYTES
from minuend.core.shapes import format_shape, size, static
from minuend.errors import SpecError, Unsupported, listed, near, shown
from minuend.onnx.documents import external, tensors
from minuend.onnx.documents.document import Document
from minuend.onnx.documents.tensors import Array
from minuend.onnx.execution import EVALUATORS, kernels, sizes
from minuend.onnx.graphs import inference, walk
from minuend.onnx.graphs.call_counts import Calls
from minuend.onnx.graphs.nesting import name_of, within
from minuend.onnx.graphs.scope import MAIN, shape_of
from minuend.onnx.opsets.scope import without_data
from minuend.onnx.processes import computing_process
from minuend.onnx.versions import DIALECT

_MOST_NODES = 1 << 18
"""Nodes, the calls of functions followed, up to which a model with functions is run; some seconds."""


def computed(model: Document) -> list[str]:
    """Return the names of what each node of the main graph gives, and of the outputs."""
    given = (name for node in model.proto.graph.node for name in node.output if name)
    return list(dict.fromkeys((*given, *model.output_names())))


def choose(evaluator: str | None) -> str:
    """Return which evaluator runs a model.

    Raises:
        SpecError: no such evaluator. Unsupported: it is not installed.
    """
    if evaluator is None:
        return EVALUATORS[0] if kernels.release() else EVALUATORS[1]
    if not isinstance(evaluator, str) or evaluator not in EVALUATORS:
        meant = near(evaluator, EVALUATORS) if isinstance(evaluator, str) else ""
        raise SpecError(
            "evaluator", f"no evaluator {shown(evaluator)}{meant}; expected {listed(map(repr, EVALUATORS))}"
        )
    if evaluator == EVALUATORS[0] and kernels.release() is None:
        raise Unsupported(
            "evaluator='onnxruntime' needs the package onnxruntime, which is not installed: pip install onnxruntime"
        )
    return evaluator


def run(
    model: Document, inputs: Mapping[str, object], max_bytes: int | None, evaluator: str | None = None
) -> dict[str, Any]:
    """Run a model; see :meth:`minuend.onnx.model.Model.run`."""
    chosen = _check_runs(model, evaluator)
    with computing_process.PROCESSES.process() as process:  # it starts while the inputs are checked
        return process.run("run", model, _checked(model, inputs, max_bytes), max_bytes, evaluator=chosen)


def traced(
    model: Document, inputs: Mapping[str, object], *, wide: bool, evaluator: str | None = None
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Run a model and return all that its main graph computes, and with ``wide`` its floats in float64.

    Args and errors are those of :meth:`minuend.onnx.model.Model.run`; see :func:`minuend.onnx.tracing.trace`.

    >>> from minuend.onnx.model import read
    >>> model = read('''<ir_version: 10, opset_import: ["" : 14]> g (uint8[2] a) => (uint8[2] c) {
    ...     b = Sub(a, a)
    ...     c = Sub(b, a)
    ... }''')
    >>> {name: array.tolist() for name, array in traced(model, {"a": np.uint8([1, 2])}, wide=False)[0].items()}
    {'b': [0, 0], 'c': [255, 254]}
    """
    chosen = _check_runs(model, evaluator)
    with computing_process.PROCESSES.process() as process:
        feeds = _checked(model, inputs, MAX_BYTES)
        found = process.run("trace", model, feeds, MAX_BYTES, wide=wide, evaluator=chosen)
        return found["values"], found["wide"]


def _check_runs(model: Document, evaluator: str | None) -> str:
    """Check what needs no process, and return which evaluator runs the model."""
    chosen = choose(evaluator)
    _check_calls(model)
    for _ in walk.sub_nodes(model.proto):  # those in branches that are not taken, too
        pass
    if chosen == "reference":
        check_axes(model.proto)
    return chosen


def _checked(model: Document, inputs: Mapping[str, object], max_bytes: int | None) -> dict[str, object]:
    """Check what is given, and what inference says of the sizes that come of it."""
    feeds = check_inputs(model.proto.graph, inputs)
    if max_bytes is not None:
        _check_sizes(model, feeds, max_bytes)
    return feeds


def _check_calls(model: Document) -> None:
    """Refuse functions that call each other so often that no end would be seen."""
    total = Calls(model.proto).total()
    if model.proto.functions and total > _MOST_NODES:
        raise Unsupported(
            f"{model.name}: with the calls of its functions followed it has {total} nodes, more than the "
            f"{_MOST_NODES} that are run"
        )


def check_axes(model: ModelProto) -> None:
    """Refuse what ONNX's evaluator does not look at: the ``axis`` of old opsets."""
    for scope in walk.walk(model):
        if scope.opset is None or DIALECT.resolve(scope.opset).broadcasting == "numpy":
            continue
        for i, node in enumerate(scope.nodes):
            stated = {attribute.name: attribute.i for attribute in node.attribute}
            if node.op_type != "Sub" and "axis" in stated and stated.get("broadcast"):
                raise Unsupported(
                    f"ONNX's evaluator ignores the axis of {node.op_type} in opset {scope.opset}, and would align "
                    f"B at the right; convert the model to opset 7 or above first, at {scope.place(i)}"
                )


def _check_sizes(model: Document, feeds: Mapping[str, object], limit: int) -> None:
    """Refuse what inference already shows to be too large."""
    given = {
        name: onnx.helper.make_tensor_type_proto(onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in feeds.items()
        if isinstance(array, np.ndarray)
    }
    inferred = inference.infer_types(model, given)
    for scope in walk.walk(model.proto):
        types = inferred.types.get(scope.where, {})
        for i, node in enumerate(scope.nodes):
            for name in node.output:
                if name in types:
                    _check_size(name, types[name], limit, scope.place(i))


def runnable(model: Document) -> tuple[ModelProto, dict[str, Array]]:
    """Return the model without references to files, and the tensors that the main graph has there.

    What only Shape and Size look at is not read: zeros of the same shape, which take no memory, stand for it.
    """
    if not any(tensors.is_external(tensor) for tensor, _ in walk.all_tensors(model.proto)):
        return model.proto, {}
    read, sized = _names_read(model.proto.graph), _names_read(model.proto.graph, except_in=("Shape", "Size"))
    stored = {
        tensor.name: _stored(model, tensor, read=tensor.name in sized)
        for tensor in model.proto.graph.initializer
        if tensors.is_external(tensor) and tensor.name in read
    }
    proto = without_data(model.proto)
    proto.graph.initializer.extend(one for one in model.proto.graph.initializer if not tensors.is_external(one))
    for tensor, where in walk.all_tensors(proto):
        if tensors.is_external(tensor):
            place = f"{model.name}: {where}"
            tensor.CopyFrom(external.inline(tensor, model.files.bytes(tensor, place)))
    return proto, stored


def _stored(model: Document, tensor: TensorProto, *, read: bool) -> Array:
    """An initializer of the main graph that lies in a file, or what stands for it."""
    place = f"{model.name}: graph, initializer {tensor.name!r}"
    if read:
        return model.array(tensor, place)
    model.files.check(tensor, place)
    return np.broadcast_to(np.zeros((), tensors.check(tensor, place).dtype), tuple(tensor.dims))


def _names_read(graph: GraphProto, except_in: Container[str] = ()) -> set[str]:
    """The names that a graph's nodes, but for those of some operators, its bodies and its outputs read."""
    names: set[str] = set()
    for one in within(graph):
        names.update(name_of(value) for value in one.output)
        for node in one.node:
            if node.domain not in MAIN or node.op_type not in except_in:
                names.update(node.input)
    return names


_TEXTS = "OSTU"
"""The kinds of NumPy's types that hold texts."""


# ---- inputs ---------------------------------------------------------------------------------------------------


def check_inputs(graph: GraphProto, inputs: Mapping[str, object]) -> dict[str, object]:
    """Check what is given against what the graph declares, and return it in native byte order.

    Raises:
        SpecError: an input that there is not, one that is missing, another element type or shape.
    """
    preset = {tensor.name for tensor in graph.initializer} | {one.values.name for one in graph.sparse_initializer}
    declared = {value.name: value.type for value in graph.input}
    wanted = [name for name in declared if name not in preset]
    for name in inputs:
        if name not in declared:
            raise SpecError("inputs", f"there is no input {name!r}; expected {_names(declared)}", where="graph")
    missing = [name for name in wanted if name not in inputs]
    if missing:
        raise SpecError("inputs", f"the input {missing[0]!r} is missing; expected {_names(wanted)}", where="graph")
    sizes: dict[str, tuple[int, str]] = {}
    return {name: _check_input(name, value, declared[name], sizes) for name, value in inputs.items()}


def _names(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names) or "no inputs"


def _check_input(name: str, value: object, type_: TypeProto, sizes: dict[str, tuple[int, str]]) -> object:
    if not type_.HasField("tensor_type"):
        return value  # a sequence, an optional, a map, or of no declared type: the evaluator's business
    array = np.asarray(value)
    if array.dtype.byteorder not in "=|" and not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    where = f"input {name!r}"
    kind = tensors.element_kind(type_)
    if kind is not None and (array.dtype != kind.dtype if kind.bits else array.dtype.kind not in _TEXTS):
        raise SpecError("inputs", f"an array of {array.dtype} came; expected {kind.dtype} ({kind.word})", where=where)
    shape = shape_of(type_)
    if shape is None:
        return array
    wrong = len(shape) != array.ndim
    for axis, (dim, came) in enumerate(zip(shape, array.shape, strict=not wrong)):
        if isinstance(dim, str):
            known, first = sizes.setdefault(dim, (came, f"axis {axis} of {name!r}"))
            if known != came and not wrong:
                raise SpecError(
                    "inputs", f"axis {axis} has {came}, and {dim} is {known} by {first}; expected one size", where=where
                )
        elif dim is not None and dim != came:
            wrong = True
    if wrong:
        raise SpecError("inputs", f"an array of shape {array.shape} came; expected {format_shape(shape)}", where=where)
    return array


def _check_size(name: str, type_: TypeProto, limit: int, where: str) -> None:
    kind, shape = tensors.element_kind(type_), shape_of(type_)
    if kind is None or shape is None or not all(isinstance(dim, int) for dim in shape):
        return
    nbytes = size(static(shape)) * kind.dtype.itemsize
    if nbytes > limit:
        raise sizes.too_large(name, f"{kind.word.lower()} {list(shape)}", nbytes, limit, where)
