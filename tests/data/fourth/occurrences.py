"""Every MINUS with what its operands can hold: everything."""

from minuend.models.occurrences import Occurrence
from minuend.models.purpose import PLAIN
from minuend.models.ranges.interval import full


def names(model):
    """Nothing can be assumed of its values."""
    return ()


def occurrences(model, assumed, operators=()):
    """Yield every MINUS."""
    for node in model.subtractions():
        a, b = full(node.a.dtype, "input"), full(node.b.dtype, "input")
        yield Occurrence(
            op=node.op,
            name=node.name,
            where=node.where,
            node=node,
            operands=(a, b),
            constants=(),
            purpose=PLAIN,
            live=node.name,
        )
