"""One operator at a time on ONNX's reference evaluator, and which of them it computes exactly, on any machine.

Integers wrap modulo 2ⁿ in NumPy as they do here, moved elements stay what they are, and bfloat16 has so few digits that
float32 rounds a sum, a product or a quotient to the same number as if it had been exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, ValueInfoProto
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from minuend.onnx import operator
from minuend.onnx.documents.tensors import Array, Inputs
from minuend.onnx.execution.kernels import renamed, type_of
from minuend.onnx.versions import DIALECT

INTEGERS = frozenset(
    {
        "Abs", "Add", "And", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Equal", "Greater",
        "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min", "Mul", "Neg", "Not", "Or", "Sign", "Sum", "Where", "Xor",
    }
)  # fmt: skip
"""Operators that are exact where all operands are integers or bool."""

MOVES = frozenset(
    {
        "Compress", "Concat", "Expand", "Flatten", "Gather", "Reshape", "Slice", "Squeeze", "Tile", "Transpose",
        "Unsqueeze", "Where",
    }
)  # fmt: skip
"""Operators that move elements, of whatever type."""

BFLOAT16 = frozenset({"Abs", "Add", "Div", "Equal", "Greater", "Less", "Mul", "Neg"})
"""Operators that are exact for bfloat16."""


def able(op: str, inputs: Inputs) -> bool:
    """Whether an operator of the main domain is computed exactly for such inputs.

    >>> able("Mul", [np.uint8([2]), np.uint8([3])]), able("Mul", [np.float32([2]), np.float32([3])])
    (True, False)
    """
    given = [value for value in inputs if value is not None]
    arrays = [value for value in given if isinstance(value, np.ndarray)]
    if len(arrays) < len(given):
        return False
    if op in MOVES or (op in INTEGERS and all(array.dtype.kind in "iub" for array in arrays)):
        return True
    return op in BFLOAT16 and all(array.dtype.name == "bfloat16" for array in arrays)


class Sub(OpRun):  # type: ignore[misc, unused-ignore]
    """A Sub in the body that an operator has, as ONNX's evaluator takes it."""

    op_domain = ""

    def _run(self, a: Array, b: Array) -> tuple[Array]:
        return (operator.run(DIALECT.resolve(self.run_params["opsets"][""]), a, b, {}),)


def compute(
    node: NodeProto, opsets: Mapping[str, int], inputs: Inputs, attributes: Iterable[AttributeProto]
) -> list[object]:
    """Compute a node on ONNX's reference evaluator: a value for each output, ``None`` where it is not requested."""
    copy = renamed(node, inputs, attributes)
    feeds = {name: value for name, value in zip(copy.input, inputs, strict=True) if name}
    graph = GraphProto(name="node", node=[copy], output=[ValueInfoProto(name=name) for name in copy.output if name])
    for name, value in feeds.items():  # the bodies of some operators depend on types
        graph.input.add(name=name, type=type_of(value) if isinstance(value, np.ndarray) else None)
    with np.errstate(all="ignore"):
        found = iter(ReferenceEvaluator(graph, opsets={"": 1, **opsets}, new_ops=[Sub]).run(None, feeds))
    return [next(found) if name else None for name in copy.output]
