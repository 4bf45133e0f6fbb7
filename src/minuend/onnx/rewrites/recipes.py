"""Recipes written into ONNX graphs and functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import NodeProto, helper, numpy_helper

from minuend.core.elements import TYPES, ElementType
from minuend.onnx.documents import tensors
from minuend.onnx.documents.tensors import Array
from minuend.onnx.versions import SPELLINGS
from minuend.operators.recipes import OWN, Recipe, Step, main_step, number


def build(
    recipe: Recipe, element: ElementType, node: NodeProto, fresh: Callable[[str], str], opset: int
) -> list[NodeProto]:
    """Return the nodes that take a Sub's place, in an order that can run; the last makes the Sub's output.

    Args:
        recipe: what to write. element: the operands' type. node: the Sub (of version 7 or above); its name, its
            documentation and its metadata go to the subtraction among the new nodes.
        fresh: gives a name that is used nowhere. opset: the opset in force.
    """
    base = node.name or node.output[0]
    names = {"a": node.input[0], "b": node.input[1], "c": node.output[0]}
    constants: dict[tuple[str, int | float], str] = {}
    nodes: list[NodeProto] = []
    for step in recipe.steps:
        dtype = element.name if step.dtype == OWN else step.dtype
        clip = step.op == "Clip" and opset < _CLIP_TAKES_INPUTS
        inputs = []
        for given in step.inputs[:1] if clip else step.inputs:
            found = number(given, element)
            if found is None:
                inputs.append(names[str(given)])
                continue
            if (dtype, found) not in constants:
                hint = given if isinstance(given, str) else "number"
                constants[dtype, found] = fresh(f"{base}_{hint}")
                nodes.append(constant(constants[dtype, found], np.array(found, TYPES[dtype].numpy)))
            inputs.append(constants[dtype, found])
        if step.output not in names:
            names[step.output] = fresh(f"{base}_{step.output}")
        made = helper.make_node(step.op, inputs, [names[step.output]])
        if step.op == "Cast":
            made.attribute.append(helper.make_attribute("to", tensors.number(dtype)))
        if clip:
            bounds = (number(given, element) for given in step.inputs[1:])
            made.attribute.extend(
                helper.make_attribute(*pair) for pair in zip(("min", "max"), map(_float, bounds), strict=True)
            )
        if step is main_step(recipe):
            take_over(made, node)
        elif node.name:
            made.name = fresh(f"{node.name}_{step.op}")
        nodes.append(made)
    return nodes


def take_over(made: NodeProto, node: NodeProto) -> None:
    """Give a new node an old one's name, documentation and metadata, where it has them."""
    if node.name:
        made.name = node.name
    if node.doc_string:
        made.doc_string = node.doc_string
    made.metadata_props.extend(node.metadata_props)


_CLIP_TAKES_INPUTS = 11


def _float(value: int | float | None) -> float:
    assert value is not None
    return float(value)


def constant(name: str, array: Array) -> NodeProto:
    """Return a Constant node."""
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array, name))


def legal(recipe: Recipe, element: ElementType, opset: int) -> bool:
    """Whether an opset has every operator of a recipe for the types that it is used with."""
    return all(
        _step_legal(step, element.name if step.dtype == OWN else step.dtype, element, opset) for step in recipe.steps
    )


def _step_legal(step: Step, dtype: str, element: ElementType, opset: int) -> bool:
    try:
        schema = onnx.defs.get_schema(step.op, opset, "")
    except onnx.defs.SchemaError:
        return False
    if step.op == "Clip" and opset < _CLIP_TAKES_INPUTS:
        return dtype in ("float32", "float16", "float64")
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    wanted = "bool" if dtype == "bool" else SPELLINGS[dtype][0]
    side = schema.outputs[0] if step.op == "Cast" else schema.inputs[-1]
    types = allowed.get(side.type_str, [side.type_str])
    return any(text in (wanted, f"tensor({wanted})") for text in types)
