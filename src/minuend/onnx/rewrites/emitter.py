"""Recipes written as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import onnx
from onnx import NodeProto, helper, numpy_helper

from minuend.core.elements import TYPES, ElementType
from minuend.onnx.documents import tensors
from minuend.onnx.documents.tensors import Array
from minuend.onnx.versions import SPELLINGS
from minuend.operators.operator import Operator
from minuend.operators.recipe import Number, Recipe, Step

_CLIP_TAKES_INPUTS = 11
_NONE: Mapping[str, object] = MappingProxyType({})


class NodeEmitter:
    """Makes the nodes that take an operator's place; a value is its name.

    Args:
        node: the operator's node, of the version that broadcasts by NumPy's rule. Its output becomes the result's; its
            name, its documentation and its metadata go to the node of the same operator among the new ones.
        fresh: returns a name that is used nowhere. opset: the opset in force.

    Attributes:
        nodes: the nodes, in an order that can run.
    """

    def __init__(self, node: NodeProto, fresh: Callable[[str], str], opset: int) -> None:
        self.nodes: list[NodeProto] = []
        self._node = node
        self._base = node.name or node.output[0]
        self._fresh = fresh
        self._opset = opset

    def constant(self, number: Number, dtype: str, name: str) -> str:
        """Make a Constant."""
        name = self._fresh(f"{self._base}_{name}")
        self.nodes.append(constant(name, np.array(number, TYPES[dtype].numpy)))
        return name

    def cast(self, value: str, dtype: str, name: str) -> str:
        """Make a Cast."""
        return self._add("Cast", [value], name, {"to": tensors.number(dtype)})

    def clip(self, value: str, low: int, high: int, dtype: str, name: str) -> str:
        """Make a Clip, whose bounds are attributes or inputs."""
        if self._opset < _CLIP_TAKES_INPUTS:
            return self._add("Clip", [value], name, {"min": float(low), "max": float(high)})
        bounds = [self.constant(low, dtype, "low"), self.constant(high, dtype, "high")]
        return self._add("Clip", [value, *bounds], name)

    def apply(self, op: str, values: Sequence[str], dtype: str, name: str, *, main: bool) -> str:
        """Make a node of any other operator."""
        return self._add(op, values, name, main=main)

    def _add(
        self, op: str, inputs: Sequence[str], name: str, attributes: Mapping[str, object] = _NONE, main: bool = False
    ) -> str:
        output = self._fresh(f"{self._base}_{name}") if name else self._node.output[0]
        made = helper.make_node(op, inputs, [output])
        made.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        if main:
            take_over(made, self._node)
        elif self._node.name:
            made.name = self._fresh(f"{self._node.name}_{op}")
        self.nodes.append(made)
        return output


def take_over(made: NodeProto, node: NodeProto) -> None:
    """Give a new node an old one's name, documentation and metadata, where it has them."""
    if node.name:
        made.name = node.name
    if node.doc_string:
        made.doc_string = node.doc_string
    made.metadata_props.extend(node.metadata_props)


def constant(name: str, array: Array) -> NodeProto:
    """Return a Constant node."""
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array, name))


def legal(recipe: Recipe, operator: Operator, element: ElementType, opset: int) -> bool:
    """Return whether an opset has every operator of a recipe for the types that it is used with."""
    return all(_step_legal(step, opset) for step in recipe.traced(operator, element).steps)


def _step_legal(step: Step, opset: int) -> bool:
    try:
        schema = onnx.defs.get_schema(step.op, opset, "")
    except onnx.defs.SchemaError:
        return False
    if step.op == "Clip" and opset < _CLIP_TAKES_INPUTS:
        return step.dtype in ("float32", "float16", "float64")
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    wanted = "bool" if step.dtype == "bool" else SPELLINGS[step.dtype][0]
    side = schema.outputs[0] if step.op == "Cast" else schema.inputs[-1]
    types = allowed.get(side.type_str, [side.type_str])
    return any(text in (wanted, f"tensor({wanted})") for text in types)
