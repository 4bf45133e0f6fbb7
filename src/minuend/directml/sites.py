"""Every subtraction of a DxDispatch model; what is bound to its tensors is known only when it runs."""

from __future__ import annotations

from collections.abc import Iterator

from minuend.directml.fields import placed
from minuend.directml.json_reader import format_path
from minuend.directml.model import Model
from minuend.directml.operator import check_descs
from minuend.directml.versions import DIALECT
from minuend.errors import SpecError
from minuend.models.purpose import PLAIN
from minuend.models.ranges.interval import full
from minuend.models.sites import Site
from minuend.standards.node import Node


def sites(model: Model) -> Iterator[Site]:
    """Yield every dispatchable that subtracts."""
    nodes = {node.name: node for node in model.subtractions()}
    for name, one in model.dispatchables.items():
        if not one.subtracts:
            continue
        node: Node | SpecError = nodes[name]
        try:
            check_descs(nodes[name].op, one.descs)
        except SpecError as error:
            node = placed(error, one.item)
        yield Site(
            op=nodes[name].op if isinstance(node, Node) else DIALECT.versions[-1],
            name=name,
            where=format_path(one.item.path),
            node=node,
            a=full(nodes[name].a.dtype, "buffer"),
            b=full(nodes[name].b.dtype, "buffer"),
            constants="none",
            purpose=PLAIN,
        )
