"""The graphs that stand in nodes: the bodies of If, Loop and Scan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import GraphProto, NodeProto


def bodies(nodes: Iterable[NodeProto], where: str) -> Iterator[tuple[GraphProto, str]]:
    """The graphs that nodes hold as attributes, with their places."""
    for i, node in enumerate(nodes):
        for attribute in node.attribute:
            place = f"{where}.node[{i}].{attribute.name}"
            if attribute.HasField("g"):
                yield attribute.g, place
            yield from ((graph, f"{place}[{j}]") for j, graph in enumerate(attribute.graphs))
