"""Every subtraction of a DxDispatch model; what is bound to its tensors is known only when it runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from minuend.directml.model import Model, level
from minuend.models.occurrences import Occurrence
from minuend.models.purpose import PLAIN
from minuend.models.ranges.assumed import NONE, Assumptions
from minuend.models.ranges.interval import full
from minuend.operators import SUBTRACT
from minuend.operators.operator import Operator


def names(_: Model) -> tuple[str, ...]:
    """None: what is bound to a tensor has no name that is the tensor's own."""
    return ()


def occurrences(
    model: Model, _: Assumptions = NONE, operators: Collection[Operator] = (SUBTRACT,)
) -> Iterator[Occurrence]:
    """Yield every dispatchable that subtracts; of other operators none is read here."""
    for node in model.subtractions() if SUBTRACT in operators else ():
        op, refused = level(model.dispatchables[node.name])
        yield Occurrence(
            op=op,
            name=node.name,
            where=node.where,
            node=refused or node,
            operands=(full(node.a.dtype, "buffer"), full(node.b.dtype, "buffer")),
            constants=(),
            purpose=PLAIN,
        )
