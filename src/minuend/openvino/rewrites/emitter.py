"""Recipes written as OpenVINO's layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from minuend.core.elements import TYPES
from minuend.openvino.execution.layers import rule
from minuend.openvino.ir.builder import Builder
from minuend.openvino.ir.layer_types import NAMES
from minuend.openvino.ir.sections import Layer, Ref, Type
from minuend.openvino.versions import SPELLINGS
from minuend.operators.recipe import Number

_LAYERS: Mapping[str, str] = MappingProxyType({onnx: own for own, onnx in NAMES.items()})
"""OpenVINO's layer of an operator, where ONNX has another name."""

_OPSETS: Mapping[str, str] = MappingProxyType({"BitwiseAnd": "opset13"})


class LayerEmitter:
    """Adds the layers that take an operator's place; a value is a reference to a layer's output.

    Args:
        layer: the operator's layer. Its name goes to the layer of the result.
        builder: adds to the model. fresh: returns a layer name that is used nowhere.
    """

    def __init__(self, layer: Layer, builder: Builder, fresh: Callable[[str], str]) -> None:
        self._layer = layer
        self._base = layer.name or f"layer{layer.id}"
        self._builder = builder
        self._fresh = fresh

    def constant(self, number: Number, dtype: str, name: str) -> Ref:
        return self._builder.constant(self._fresh(f"{self._base}/{name}"), np.array(number, TYPES[dtype].numpy))

    def cast(self, value: Ref, dtype: str, name: str) -> Ref:
        return self._add("Convert", [value], dtype, name, {"destination_type": SPELLINGS[dtype][0]})

    def clip(self, value: Ref, low: int, high: int, dtype: str, name: str) -> Ref:
        return self._add("Clamp", [value], dtype, name, {"min": repr(low), "max": repr(high)})

    def apply(self, op: str, values: Sequence[Ref], dtype: str, name: str, *, main: bool) -> Ref:
        """Add a layer of any other operator; the replaced one has the old layer's rule, where that is ``none``."""
        broadcast = "none" if main and rule(self._layer) == "none" else "numpy"
        data = {"auto_broadcast": broadcast} if len(values) > 1 else {}
        return self._add(_LAYERS.get(op, op), values, dtype, op.lower() if main and name else name, data)

    def _add(self, kind: str, inputs: Sequence[Ref], dtype: str, name: str, data: dict[str, str]) -> Ref:
        type_ = Type("boolean" if dtype == "bool" else SPELLINGS[dtype][0], self._layer.outputs[0].type.shape)
        full = self._fresh(f"{self._base}/{name}") if name else self._base
        return Ref(
            self._builder.layer(kind, full, inputs, data, opset=_OPSETS.get(kind), names=(), outputs=(type_,)), 0
        )
