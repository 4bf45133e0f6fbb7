"""How much the calls of local functions multiply: a chain of functions that call the next one twice is 2^N nodes.

ONNX's inference, its evaluator and its inliner follow every call. What they would have to do is counted beforehand,
once for each function, so that a model is refused, or followed no further, before it takes for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias

from onnx import FunctionProto, ModelProto, NodeProto

from minuend.onnx.graphs.nesting import bodies

Key: TypeAlias = tuple[str, str, str]
"""What names a function: domain, name, overload."""

_CAP = 1 << 60
_LOOKED_INTO = (_CAP, 2000, 200, 0)
"""Nodes of a function, its calls followed, up to which inference looks into it; as far as the budget reaches."""
_BUDGET = (200_000, 20)
"""Nodes that inference may look at for all graphs and functions of a model: so many, and so many for each node."""


class Calls:
    """The local functions of a model, and what following their calls comes to.

    Attributes:
        functions: by key. nodes: of each function by key, its nodes and those of all calls in it, at all depths.
        depth: of each function by key, how many functions and bodies stand in one another where calls are followed.
        looked_into: how many nodes a function may have so that inference follows its calls.
    """

    def __init__(self, model: ModelProto) -> None:
        self.functions: dict[Key, FunctionProto] = {(f.domain, f.name, f.overload): f for f in model.functions}
        named = {key: list(_nested(f.node)) for key, f in self.functions.items()}
        self._calls = {key: [call for call, _ in calls if call in self.functions] for key, calls in named.items()}
        self.nodes: dict[Key, int] = {}
        self.depth: dict[Key, int] = {}
        for key in self._callees_first():
            self.nodes[key] = min(_CAP, max(1, len(named[key])) + sum(self.nodes[call] for call in self._calls[key]))
            self.depth[key] = max((1 + inside + self.depth.get(call, 0) for call, inside in named[key]), default=1)
        self._in_graph = list(called(model.graph.node))
        self.looked_into = self._affordable(sum(map(len, named.values())) + len(self._in_graph))

    def _callees_first(self) -> list[Key]:
        try:
            return list(self._sorted().static_order())
        except CycleError:  # reading refuses it; a model made by hand gets no types in its functions
            return []

    def _sorted(self) -> TopologicalSorter[Key]:
        return TopologicalSorter({key: set(calls) for key, calls in self._calls.items()})

    def circle(self) -> list[str]:
        """The names of functions that call each other in a circle; empty where none do."""
        try:
            self._sorted().prepare()
        except CycleError as error:
            return [name for _, name, _ in error.args[1]]
        return []

    def callers_first(self) -> list[Key]:
        """The functions' keys, each before those that it calls; none where they call each other in a circle."""
        return self._callees_first()[::-1]

    def total(self) -> int:
        """The nodes of the model when every call is followed."""
        return len(self._in_graph) + sum(self.nodes.get(call, 0) for call in self._in_graph)

    def _affordable(self, own: int) -> int:
        budget = _BUDGET[0] + _BUDGET[1] * own
        all_calls = [*(call for calls in self._calls.values() for call in calls), *self._in_graph]
        sizes = [self.nodes.get(call, 0) for call in all_calls]
        return next((most for most in _LOOKED_INTO if sum(n for n in sizes if n <= most) <= budget), 0)

    def visible(self, nodes: Iterable[NodeProto]) -> Iterator[FunctionProto]:
        """The functions that inference needs to follow the calls in some nodes, as far as it is to follow them."""
        waiting, seen = list(called(nodes)), set[Key]()
        while waiting:
            key = waiting.pop()
            if key not in seen and self.nodes.get(key, _CAP + 1) <= self.looked_into:
                seen.add(key)
                waiting += self._calls[key]
        return (function for key, function in self.functions.items() if key in seen)


def called(nodes: Iterable[NodeProto]) -> Iterator[Key]:
    """The operators that nodes name, those in their bodies included: domain, name, overload."""
    return (key for key, _ in _nested(nodes))


def _nested(nodes: Iterable[NodeProto], depth: int = 0) -> Iterator[tuple[Key, int]]:
    for node in nodes:
        yield (node.domain, node.op_type, node.overload), depth
    for body, _ in bodies(nodes, ""):
        yield from _nested(body.node, depth + 1)
