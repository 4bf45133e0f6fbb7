"""Declarations that a model lacks or has twice, on which some runtimes insist: their adapters say which (``STRICT``).

ONNX allows all of it. The tests try each kind on every runtime that is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from onnx import ModelProto, ValueInfoProto

Check = Callable[[ModelProto], bool]


def _has_shape(value: ValueInfoProto) -> bool:
    return value.type.tensor_type.HasField("shape") or not value.type.HasField("tensor_type")


def _inputs(model: ModelProto) -> list[ValueInfoProto]:
    """The inputs that have to be given."""
    stored = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in stored]


def _has_nameless_dim(value: ValueInfoProto) -> bool:
    return any(not (dim.HasField("dim_value") or dim.dim_param) for dim in value.type.tensor_type.shape.dim)


DECLARED: Mapping[str, Check] = MappingProxyType({
    "input without shape": lambda model: not all(map(_has_shape, _inputs(model))),
    "input dim without name": lambda model: any(map(_has_nameless_dim, _inputs(model))),
    "output without type": lambda model: not all(one.type.WhichOneof("value") for one in model.graph.output),
    "output without shape": lambda model: not all(one.type.WhichOneof("value") and _has_shape(one)
                                                  for one in model.graph.output),
    "output that is an input": lambda model: not {one.name for one in model.graph.output}.isdisjoint(
        one.name for one in _inputs(model)),
    "local function": lambda model: bool(model.functions),
})  # fmt: skip
"""Kinds, and whether a model is of one."""


def kinds(model: ModelProto) -> frozenset[str]:
    """Return the kinds that a model is of.

    >>> import onnx
    >>> model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 14]> g (float a) => (c) { c = Neg(a) }')
    >>> sorted(kinds(model))
    ['output without shape', 'output without type']
    """
    return frozenset(kind for kind, holds in DECLARED.items() if holds(model))
