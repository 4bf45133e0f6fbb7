"""What onnxruntime has no kernel for and ONNX's reference evaluator computes exactly, on any machine.

Integers wrap modulo 2ⁿ in NumPy as they do here, moved elements stay what they are, and bfloat16 has so few digits that
float32 rounds a sum, a product or a quotient to the same number as if it had been exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, ValueInfoProto

from minuend.onnx.execution.evaluator import Evaluator

INTEGERS = frozenset(
    {
        "Abs", "Add", "And", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Equal", "Greater",
        "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min", "Mul", "Neg", "Not", "Or", "Sign", "Sum", "Where", "Xor",
    }
)  # fmt: skip
"""Operators that are exact where all operands are integers or bool."""

MOVES = frozenset(
    {
        "Compress",
        "Concat",
        "Expand",
        "Flatten",
        "Gather",
        "Reshape",
        "Slice",
        "Squeeze",
        "Tile",
        "Transpose",
        "Unsqueeze",
        "Where",
    }
)
"""Operators that move elements, of whatever type."""

BFLOAT16 = frozenset({"Abs", "Add", "Div", "Equal", "Greater", "Less", "Mul", "Neg"})
"""Operators that are exact for bfloat16."""


def able(op: str, inputs: Sequence[Any]) -> bool:
    """Whether an operator of the main domain is computed exactly for such inputs.

    >>> able("Mul", [np.uint8([2]), np.uint8([3])]), able("Mul", [np.float32([2]), np.float32([3])])
    (True, False)
    """
    arrays = [value for value in inputs if value is not None]
    if not all(isinstance(value, np.ndarray) for value in arrays):
        return False
    if op in MOVES or (op in INTEGERS and all(array.dtype.kind in "iub" for array in arrays)):
        return True
    return op in BFLOAT16 and all(array.dtype.name == "bfloat16" for array in arrays)


def compute(
    node: NodeProto, opsets: Mapping[str, int], inputs: Sequence[Any], attributes: Iterable[AttributeProto]
) -> list[Any]:
    """Compute a node on ONNX's reference evaluator: a value for each output."""
    copy = NodeProto(op_type=node.op_type, name=node.name)
    copy.input.extend("" if value is None else f"i{k}" for k, value in enumerate(inputs))
    copy.output.extend(f"o{k}" for k in range(len(node.output)))
    copy.attribute.extend(attributes)
    given, made = ([ValueInfoProto(name=name) for name in names if name] for names in (copy.input, copy.output))
    graph = GraphProto(name="node", node=[copy], input=given, output=made)
    feeds = {f"i{k}": value for k, value in enumerate(inputs) if value is not None}
    with np.errstate(all="ignore"):
        return list(Evaluator(graph, opsets={"": opsets.get("", 1)}).run(None, feeds))
