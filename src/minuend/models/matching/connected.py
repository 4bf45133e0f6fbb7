"""Operators that are reached from the judged one, or hang together with it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from minuend.models.flow import Flow
from minuend.models.matching.match import ADJACENT, Match
from minuend.models.matching.operator_groups import PLAIN
from minuend.models.matching.terms import judged_op
from minuend.models.matching.values import next_nodes, reached_nodes
from minuend.models.patterns import Distant, How, X


def of_later(flow: Flow, index: int) -> Iterator[Match]:
    past, reached = _past(flow, index), reached_nodes(flow, index)
    own = judged_op(flow, index, [X] * len(flow.steps[index][1]))
    for operator in sorted({flow.steps[i][0] for i in reached}):
        yield Match(Distant(operator, How.BEHIND, own), ADJACENT, operator, later=True)
    connected = _connected(flow, index)
    joined: set[str] = set()
    for i in connected:
        operator = flow.steps[i][0]
        if operator not in joined and (i in reached or _joins(flow, i, index, reached)):
            joined.add(operator)
    for operator in sorted({flow.steps[i][0] for i in connected}):
        way = None if operator in joined else past
        yield Match(Distant(operator, How.CONNECTED, own), ADJACENT, operator, far=True, past=way)
    products = [i for i in connected - reached if flow.steps[i][0] == "MatMul"]
    if products and not _has_across(flow, index):
        products = [i for i in products if _has_row(flow, index) and _has_open_columns_of_rows(flow, i)]
    if any(_joins(flow, i, index, reached) for i in products):
        yield Match(Distant("MatMul", How.CONNECTED, own), ADJACENT, "MatMul", far=True, across=True)
    for operator in flow.within:
        yield Match(Distant(operator, How.AROUND, own), ADJACENT, operator)


def _past(flow: Flow, index: int) -> frozenset[str] | None:
    """The operators of one way from the result out of the graph, if all of them are :data:`PLAIN`; of a body, none."""
    waiting: list[tuple[int, frozenset[str]]] = [] if flow.within else [(index, frozenset())]
    seen = {index}
    while waiting:
        i, way = waiting.pop()
        if any(name in flow.outputs for name in flow.steps[i][2]):
            return way
        for k in next_nodes(flow, i):
            operator = flow.steps[k][0]
            if k not in seen and operator in PLAIN:
                seen.add(k)
                waiting.append((k, way | {operator}))
    return None


_SEPARATE = ("Softmax", "LogSoftmax", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin")
"""Operators that no runtime carries out together with one that adds up products."""


def _joins(flow: Flow, index: int, judged: int, reached: Collection[int]) -> bool:
    """Whether a node's result reaches the judged one, or a sum with what this reaches, with one reader for each value.

    Runtimes carry out what such values are read by together with the node: a convolution adds to the other operand of
    a sum. Of other operators with an operand of their own on another way they do not, nor where a node has several
    results.
    """
    seen = {index}
    while len(names := [name for name in flow.steps[index][2] if flow.uses(name)]) == 1 and flow.uses(names[0]) == 1:
        if not (readers := flow.readers_of(names[0])):
            return False
        index = readers[0]
        if index == judged:
            return True
        operator = flow.steps[index][0]
        if index in reached:
            return operator in ("Add", "Sum")
        if index in seen or operator in _SEPARATE:
            return False
        seen.add(index)
    return False


def _connected(flow: Flow, index: int) -> set[int]:
    """The numbers of all other nodes that hang together with one by values that nodes make."""
    found, waiting = {index}, [index]
    seen: set[str] = set()  # the names whose maker and readers were found
    while waiting:
        i = waiting.pop()
        _, inputs, outputs = flow.steps[i]
        for name in outputs:
            if name not in seen:
                seen.add(name)
                waiting += _added(found, flow.readers_of(name))
        for name in inputs:
            if name not in seen and name not in flow.folded and (made := flow.maker_of(name)) is not None:
                seen.add(name)
                waiting += _added(found, (made, *flow.readers_of(name)))
    return found - {index}


def _added(found: set[int], more: Iterable[int]) -> list[int]:
    """Add some numbers to those that were found, and return those that were not yet."""
    new = [i for i in dict.fromkeys(more) if i not in found]
    found.update(new)
    return new


def _has_across(flow: Flow, index: int) -> bool:
    """Whether an operator of four axes or more has a constant whose elements lie along the second one."""
    _, operands, (result, *_) = flow.steps[index]
    own = flow.shapes.get(result)
    for shape in (flow.shapes.get(name) for name in operands if name in flow.folded):
        if isinstance(shape, tuple) and sum(dim != 1 for dim in shape) == 1:
            axes = len(shape) - next(i for i, dim in enumerate(shape) if dim != 1)  # those from it to the last
            if axes > 2 and (not isinstance(own, tuple) or len(own) == axes + 1):
                return True
    return False


def _has_row(flow: Flow, index: int) -> bool:
    """Whether an operator has a constant whose elements lie along the last axis."""
    shapes = (flow.shapes.get(name) for name in flow.steps[index][1] if name in flow.folded)
    return any(isinstance(shape, tuple) and shape and shape[-1] != 1 for shape in shapes)


def _has_open_columns_of_rows(flow: Flow, index: int) -> bool:
    """Whether a product of a matrix and a transposed one has a number of columns that is not known."""
    _, inputs, outputs = flow.steps[index]
    shape = flow.shapes.get(outputs[0])
    known = isinstance(shape, tuple) and shape and isinstance(shape[-1], int)
    return not known and flow.maker(inputs[-1], ("Identity",)) == "Transpose"
