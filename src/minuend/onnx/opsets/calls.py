"""The types inside local functions, which only their callers know."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import MappingProxyType

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TypeProto, ValueInfoProto
from onnx.helper import make_opsetid

from minuend.errors import ConversionRefused
from minuend.onnx.graphs import call_counts as local_calls
from minuend.onnx.graphs.nesting import fill_in, graphs, within
from minuend.onnx.graphs.scope import keep_common
from minuend.onnx.opsets import schemas
from minuend.onnx.opsets.scope import infer, own_types

NONE: Mapping[str, TypeProto] = MappingProxyType({})
_MOST_CALLS = 2000
"""Calls that are looked at, those with operands of the same types and attributes counted once."""


class Calls:
    """The types of values in local functions, as their callers make them.

    Attributes:
        types: for each function that is called, a graph of its nodes with the types that hold in every call.
        attributes: for each of them and each of its attributes, the values in calls; ``None`` for a call without.
    """

    def __init__(self, model: ModelProto) -> None:
        self.functions = {(f.domain, f.name): f for f in model.functions}
        self.ir_version = max(model.ir_version, 8)
        self.local = local_calls.Calls(model)
        self.imports = model.opset_import
        self.types: dict[tuple[str, str], GraphProto] = {}
        self.attributes: dict[tuple[str, str], dict[str, list[AttributeProto | None]]] = {}
        self.done: set[tuple[str, bytes]] = set()

    def follow(self, graph: GraphProto, depth: int = 0, outer: Mapping[str, TypeProto] = NONE) -> None:
        """Look at every call in a graph whose types are inferred; in a body the types around it are known as well."""
        types = {**outer, **own_types(graph)}
        for node in graph.node:
            for _, body in graphs(node):
                self.follow(body, depth, types)
            function = self.functions.get((node.domain, node.op_type))
            if function is not None and depth < 100:
                self.enter(function, node, types, depth)

    def enter(self, function: FunctionProto, call: NodeProto, types: dict[str, TypeProto], depth: int) -> None:
        """Infer the types inside one call."""
        graph = GraphProto(name=function.name, node=function.node)
        for name, value in zip(function.input, call.input, strict=False):
            if value in types:
                graph.input.append(ValueInfoProto(name=name, type=types[value]))
        attributes = {a.name: a for a in (*function.attribute_proto, *call.attribute)}
        for holder in within(graph):
            for node in holder.node:
                fill_in(node, attributes)
        self.note(function, attributes)
        key = function.domain, graph.SerializeToString(deterministic=True)
        if key in self.done:
            return
        self.done.add(key)
        if len(self.done) > _MOST_CALLS:
            raise ConversionRefused(
                "another opset",
                {f"function {function.name!r}": f"local functions are called in more than {_MOST_CALLS} ways"},
            )
        imports = {row.domain: row.version for row in (*self.imports, *function.opset_import)}
        rows = [make_opsetid(*row) for row in imports.items()]
        seen = self.local.visible(function.node)
        typed = infer(ModelProto(ir_version=self.ir_version, opset_import=rows, functions=seen, graph=graph)).graph
        slot = (function.domain, function.name)
        if slot in self.types:
            _merge(self.types[slot], typed)
        else:
            self.types[slot] = copy.deepcopy(typed)
        self.follow(typed, depth + 1)

    def note(self, function: FunctionProto, attributes: Mapping[str, AttributeProto]) -> None:
        """Take note of the values of a function's attributes in one call."""
        known = self.attributes.setdefault((function.domain, function.name), {})
        for name in (*function.attribute, *(a.name for a in function.attribute_proto)):
            values = known.setdefault(name, [])
            if (value := attributes.get(name)) not in values:
                values.append(value)


def _merge(graph: GraphProto, other: GraphProto) -> None:
    """Keep of a graph's types what holds in another call too."""
    theirs = own_types(other)
    for rows in (graph.input, graph.value_info):
        for i in reversed(range(len(rows))):
            mine, theirs_ = rows[i].type, theirs.get(rows[i].name)
            text = schemas.type_text(mine)
            if theirs_ is None or text is None or text != schemas.type_text(theirs_):
                del rows[i]
            elif mine.HasField("tensor_type"):
                keep_common(mine.tensor_type, theirs_.tensor_type)
            elif mine != theirs_:
                del rows[i]
    for node, twin in zip(graph.node, other.node, strict=True):
        for (_, body), (_, twin_body) in zip(graphs(node), graphs(twin), strict=True):
            _merge(body, twin_body)
