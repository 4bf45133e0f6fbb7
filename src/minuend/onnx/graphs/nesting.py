"""The graphs that stand in nodes, the bodies of If, Loop and Scan, and what all graphs of a model hold."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, overload

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto

Holder: TypeAlias = GraphProto | FunctionProto
"""What holds a list of nodes."""


def place(where: str, index: int, node: NodeProto) -> str:
    """Say where a node stands: ``"graph.node[3] 'sub_mean'"``."""
    return f"{where}.node[{index}]" + (f" {node.name!r}" if node.name else "")


def name_of(value: str | ValueInfoProto) -> str:
    """The name of an input or output, which a graph states with its type and a function alone."""
    return value if isinstance(value, str) else str(value.name)


def graphs(node: NodeProto) -> Iterator[tuple[str, GraphProto]]:
    """The bodies that a node holds, each with its attribute's name."""
    for attribute in node.attribute:
        if attribute.HasField("g") or attribute.graphs:  # few have any, and this is done for every node
            yield from attribute_graphs(attribute)


def attribute_graphs(attribute: AttributeProto) -> Iterator[tuple[str, GraphProto]]:
    """The bodies that an attribute holds, each with its name."""
    if attribute.HasField("g"):
        yield attribute.name, attribute.g
    for i, body in enumerate(attribute.graphs):
        yield f"{attribute.name}[{i}]", body


def bodies(nodes: Iterable[NodeProto], where: str) -> Iterator[tuple[GraphProto, str]]:
    """The graphs that nodes hold as attributes, with their places."""
    for i, node in enumerate(nodes):
        for name, body in graphs(node) if node.attribute else ():
            yield body, f"{where}.node[{i}].{name}"


def all_inputs(node: NodeProto) -> Iterator[str]:
    """Every name that a node reads, its bodies included; those that the bodies make themselves are among them."""
    yield from node.input
    for _, body in graphs(node):
        for inner in body.node:
            yield from all_inputs(inner)
        yield from (output.name for output in body.output)


def captured(node: NodeProto) -> list[str]:
    """What the bodies of a node read that they do not make themselves."""
    return sorted(name for _, graph in graphs(node) for name in _free(graph)) if node.attribute else []


def _free(graph: GraphProto) -> set[str]:
    made = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    made |= {name for node in graph.node for name in node.output}
    read = {name for node in graph.node for name in (*node.input, *captured(node)) if name}
    return (read | {value.name for value in graph.output}) - made


def contained(attribute: AttributeProto, one: str, many: str) -> Iterator[Any]:
    """What an attribute holds of some kind, in either of the two fields for it."""
    if attribute.HasField(one):
        yield getattr(attribute, one)
    yield from getattr(attribute, many)


def filled_in(node: NodeProto, bound: Mapping[str, AttributeProto]) -> list[AttributeProto]:
    """A node's attributes with those of the function's caller; what the caller leaves out is left out here too."""
    found = []
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            found.append(attribute)
        elif attribute.ref_attr_name in bound:
            copy = AttributeProto()
            copy.CopyFrom(bound[attribute.ref_attr_name])
            copy.name = attribute.name
            found.append(copy)
    return found


def fill_in(node: NodeProto, bound: Mapping[str, AttributeProto]) -> None:
    """Give a node the attributes of the function's caller, in place of its references to them."""
    if any(attribute.ref_attr_name for attribute in node.attribute):
        stated = NodeProto(attribute=filled_in(node, bound))
        del node.attribute[:]
        node.attribute.extend(stated.attribute)


def holders(model: ModelProto) -> Iterator[Holder]:
    """Every graph and function of a model, bodies included, each before those within it."""
    for holder in (model.graph, *model.functions):
        yield from within(holder)


@overload
def within(holder: GraphProto) -> Iterator[GraphProto]: ...
@overload
def within(holder: Holder) -> Iterator[Holder]: ...
def within(holder: Holder) -> Iterator[Holder]:
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
            yield name_of(value)
        yield from (value.name for value in (*getattr(holder, "initializer", ()), *holder.value_info))
        yield from (sparse.values.name for sparse in getattr(holder, "sparse_initializer", ()))


def replace_references(
    nodes: Iterable[NodeProto], values: Mapping[str, AttributeProto], keep: Container[tuple[str, str, str]] = ()
) -> None:
    """Put a caller's attributes in the place of a function's references to them.

    Without a value a reference goes, but for those of ``keep``: calls, whose callees read it later.
    """
    for node in nodes:
        for _, body in graphs(node):
            replace_references(body.node, values, keep)
        references = node.attribute if (node.domain, node.op_type, node.overload) in keep else ()
        fill_in(node, {**{a.ref_attr_name: a for a in references if a.ref_attr_name}, **values})
