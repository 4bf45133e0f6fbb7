"""The graphs that stand in nodes, the bodies of If, Loop and Scan, and what all graphs of a model hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto


def bodies(nodes: Iterable[NodeProto], where: str) -> Iterator[tuple[GraphProto, str]]:
    """The graphs that nodes hold as attributes, with their places."""
    for i, node in enumerate(nodes):
        for attribute in node.attribute:
            place = f"{where}.node[{i}].{attribute.name}"
            if attribute.HasField("g"):
                yield attribute.g, place
            yield from ((graph, f"{place}[{j}]") for j, graph in enumerate(attribute.graphs))


def holders(model: ModelProto) -> Iterator[Any]:
    """Every graph and function of a model, bodies included, each before those within it."""
    for holder in (model.graph, *model.functions):
        yield from within(holder)


def within(holder: GraphProto | FunctionProto) -> Iterator[Any]:
    """A graph or function, and every body in it."""
    yield holder
    for body, _ in bodies(holder.node, ""):
        yield from within(body)


def all_names(model: ModelProto) -> Iterator[str]:
    """The names of a model's values and nodes, those that many bear more than once."""
    for holder in holders(model):
        for node in holder.node:
            yield from (node.name, *node.input, *node.output)
        for value in (*holder.input, *holder.output):
            yield value if isinstance(value, str) else value.name
        yield from (value.name for value in (*getattr(holder, "initializer", ()), *holder.value_info))
