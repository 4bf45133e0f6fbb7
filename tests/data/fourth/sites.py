"""Every MINUS with what its operands can hold: everything."""

from minuend.models.purpose import PLAIN
from minuend.models.ranges.interval import full
from minuend.models.sites import Site


def names(model):
    """Nothing can be assumed of its values."""
    return ()


def sites(model, assumed):
    """Yield every MINUS."""
    for node in model.subtractions():
        a, b = full(node.a.dtype, "input"), full(node.b.dtype, "input")
        yield Site(
            op=node.op,
            name=node.name,
            where=node.where,
            node=node,
            operands=(a, b),
            constants="none",
            purpose=PLAIN,
            live=node.name,
        )
