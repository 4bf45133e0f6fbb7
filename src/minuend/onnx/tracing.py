"""ONNX models value by value: by the contract in their own types, and in float64."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from onnx import AttributeProto, NodeProto, numpy_helper

from minuend.models.tracing import Step, Trace, epsilon, exact, is_float, terms
from minuend.onnx import operator
from minuend.onnx.documents import tensors
from minuend.onnx.documents.tensors import Array
from minuend.onnx.execution import defects, running
from minuend.onnx.execution import exact as evaluator
from minuend.onnx.execution.kernels import Kernel
from minuend.onnx.graphs.flow import operator as operator_of
from minuend.onnx.graphs.nesting import captured, place
from minuend.onnx.graphs.scope import MAIN, model_opsets
from minuend.onnx.model import Model
from minuend.onnx.versions import DIALECT

_SLOW = ("Conv", "ConvTranspose", "MaxPool", "AveragePool", "LSTM", "GRU", "RNN", "Resize", "Upsample", "RoiAlign",
         "GridSample", "Loop", "If", "Scan", "NonMaxSuppression", "QLinearConv", "ConvInteger")  # fmt: skip
"""Operators that ONNX's evaluator computes element by element in Python, or not in float64."""


def trace(model: Model, inputs: Mapping[str, Array], *, wide: bool = True) -> Trace:
    """Run a model by the contract; see :class:`minuend.models.tracing.Tracing`."""
    stored = {one.name: model.array(one) for one in model.proto.graph.initializer}
    found, wider = running.traced(model, inputs, wide=wide)
    values = {**stored, **inputs, **found}
    return Trace(_steps(model), {name: name for name in model.output_names()}, values, wider)


def _steps(model: Model) -> list[Step]:
    return [
        Step(
            place("graph", i, node), operator_of(node), (*node.input, *captured(node)), tuple(filter(None, node.output))
        )
        for i, node in enumerate(model.proto.graph.node)
    ]


# ---- float64 ----------------------------------------------------------------------------------------------------


def widened(model: Model, values: Mapping[str, Any], note: Callable[[str], None] = lambda _: None) -> dict[str, Array]:
    """Return every float value in float64; nothing where every operator is exact.

    What cannot be computed in it is computed in its own type, from what float64 gave before it, and moved at random by
    as much as it may be rounded: how the nodes behind it carry an error on is then seen all the same.

    Args:
        model: the model. values: all that its main graph holds. note: receives the place of each node beforehand.
    """
    steps = _steps(model)
    if all(exact(step, values) for step in steps):
        return {}
    opsets = model_opsets(model.proto)
    wide: dict[str, Array] = {}
    rng = np.random.default_rng(0)
    for step, node in zip(steps, model.proto.graph.node, strict=True):
        if not any(is_float(values.get(str(name))) for name in (*step.inputs, *step.outputs)):
            continue
        note(step.where)
        own = [values.get(name) for name in node.input]
        given = [wide.get(name, _float64(values.get(name))) for name in node.input]
        results = _in_float64(node, opsets, given)
        local = None if results is not None else _in_own_type(node, opsets, own, given, step.where)
        for k, name in enumerate(node.output):
            if not name or not isinstance(values.get(name), np.ndarray):
                continue
            if results is not None and _like(results[k], values[name]):
                wide[name] = np.asarray(results[k])
            elif is_float(values[name]):
                base = local[k] if local is not None and _like(local[k], values[name]) else values[name]
                wide[name] = _moved(_float64(base), terms(step, values) * epsilon(values[name].dtype), rng)
    return wide


def _like(result: object, own: Array) -> bool:
    return isinstance(result, np.ndarray) and result.shape == own.shape


def _float64(value: Any) -> Any:
    return value.astype(np.float64) if is_float(value) else value


def _moved(array: Array, relative: float, rng: np.random.Generator) -> Array:
    moved: Array = array * (1 + relative * rng.choice([-1.0, 1.0], array.shape))
    return moved


def _in_float64(node: NodeProto, opsets: Mapping[str, int], given: list[object]) -> list[object] | None:
    """What a node gives for inputs in float64; ``None`` where ONNX's evaluator does not say, or says it wrongly."""
    if node.domain not in MAIN or node.op_type in _SLOW:
        return None
    stated = tensors.values_of(node.attribute)
    with contextlib.suppress(Exception), np.errstate(all="ignore"):  # it raises whatever there is
        if node.op_type == "Sub":
            a, b = given
            return [operator.run(DIALECT.resolve(opsets[""]), a, b, stated, name="", where="")]
        if defects.refusal("reference", node.op_type, defects.Case(opsets.get("", 1), given, stated, node.output)):
            return None
        return evaluator.compute(_unrounded(node), opsets, given, _unrounded(node).attribute)
    return None


def _unrounded(node: NodeProto) -> NodeProto:
    """A node whose floats are float64: constants and conversions say their types."""
    copy = NodeProto()
    copy.CopyFrom(node)
    for one in copy.attribute:
        if one.name in ("to", "dtype") and one.type == AttributeProto.INT and _float_type(one.i):
            one.i = 11
        elif one.type == AttributeProto.TENSOR and _float_type(one.t.data_type):
            one.t.CopyFrom(numpy_helper.from_array(tensors.to_array(one.t).astype(np.float64)))
    return copy


def _float_type(number: int) -> bool:
    return number in (1, 10, 16)


def _in_own_type(
    node: NodeProto, opsets: Mapping[str, int], own: list[Any], given: list[object], where: str
) -> list[object] | None:
    """What a node gives for inputs in float64 that are rounded to its own types."""
    if any(one.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for one in node.attribute):
        return None
    rounded = [
        value.astype(first.dtype) if is_float(first) and isinstance(value, np.ndarray) else value
        for first, value in zip(own, given, strict=True)
    ]
    with contextlib.suppress(Exception):  # a call of a function, or what onnxruntime lacks
        return Kernel(node, opsets, where).run(rounded, node.attribute)
    return None
