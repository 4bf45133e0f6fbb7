"""Recipes written into OpenVINO's layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from minuend.core.elements import TYPES, ElementType
from minuend.openvino.execution.layers import rule
from minuend.openvino.ir.builder import Builder
from minuend.openvino.ir.sections import Layer, Ref, Type
from minuend.openvino.occurrences import NAMES
from minuend.openvino.versions import SPELLINGS
from minuend.operators.recipes import OWN, Recipe, main_step, number

LAYERS: Mapping[str, str] = MappingProxyType({onnx: own for own, onnx in NAMES.items()})
"""The layer that does what a step's operator does, where the two names differ."""

_OPSETS = {"BitwiseAnd": "opset13"}
_BOOLEAN = ("Equal", "Greater", "Less", "LogicalAnd", "LogicalXor")


def build(
    recipe: Recipe, element: ElementType, subtract: Layer, a: Ref, b: Ref, builder: Builder, fresh: Callable[[str], str]
) -> Layer:
    """Add the layers that take a Subtract's place, and return the last.

    Args:
        recipe: what to write. element: the operands' type. subtract: the layer; the last of the new ones gets its
            name, the names of its tensors and what else it states. a, b: the operands, to be joined by numpy's rule.
        builder: adds to the model. fresh: gives a layer name that is used nowhere.
    """
    base = subtract.name or f"layer{subtract.id}"
    values: dict[str, Ref] = {"a": a, "b": b}
    constants: dict[tuple[str, int | float], Ref] = {}
    shape = subtract.outputs[0].type.shape
    for step in recipe.steps:
        dtype = element.name if step.dtype == OWN else step.dtype
        kind = LAYERS.get(step.op, step.op)
        last = step is recipe.steps[-1]
        inputs: list[Ref] = []
        for given in step.inputs[:1] if kind == "Clamp" else step.inputs:
            found = number(given, element)
            if found is None:
                inputs.append(values[str(given)])
                continue
            if (dtype, found) not in constants:
                hint = given if isinstance(given, str) else "number"
                array = np.array(found, TYPES[dtype].numpy)
                constants[dtype, found] = builder.constant(fresh(f"{base}/{hint}"), array)
            inputs.append(constants[dtype, found])
        data = {} if kind in ("Convert", "Clamp", "Floor") else {"auto_broadcast": "numpy"}
        if step is main_step(recipe) and rule(subtract) == "none":
            data["auto_broadcast"] = "none"
        if kind == "Convert":
            data["destination_type"] = SPELLINGS[dtype][0]
        elif kind == "Clamp":
            data.update(zip(("min", "max"), (repr(number(x, element)) for x in step.inputs[1:]), strict=True))
        type_ = Type("boolean" if kind in _BOOLEAN else SPELLINGS[dtype][0], shape)
        made = builder.layer(
            kind,
            base if last else fresh(f"{base}/{'sub' if step is main_step(recipe) else step.output}"),
            inputs,
            data,
            opset=_OPSETS.get(kind),
            names=(),
            outputs=(type_,),
        )
        values[step.output] = Ref(made, 0)
    return made
