"""MINUS as a function of arrays."""

from minuend.fourth.versions import DIALECT

from minuend.arrays.functions import compute, operands
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import validate


def minus(x, y):
    """Subtract by the newest edition's rules."""
    a, b, element = operands(x, y)
    types = (TensorType(element, a.shape), TensorType(element, b.shape))
    op = DIALECT.versions()[-1]
    return compute(op.computes, element, validate(Node(op=op, operands=(types[0], types[1]))), a, b, None)
