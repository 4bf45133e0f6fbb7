"""Every subtraction of a DxDispatch model; what is bound to its tensors is known only when it runs."""

from __future__ import annotations

from collections.abc import Iterator

from minuend.directml.model import Model, level
from minuend.models.purpose import PLAIN
from minuend.models.ranges.interval import full
from minuend.models.sites import Site


def sites(model: Model) -> Iterator[Site]:
    """Yield every dispatchable that subtracts."""
    for node in model.subtractions():
        op, refused = level(model.dispatchables[node.name])
        yield Site(
            op=op,
            name=node.name,
            where=node.where,
            node=refused or node,
            a=full(node.a.dtype, "buffer"),
            b=full(node.b.dtype, "buffer"),
            constants="none",
            purpose=PLAIN,
        )
