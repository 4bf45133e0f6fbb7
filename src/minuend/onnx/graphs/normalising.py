"""Models that break a rule of ONNX and load all the same: read as onnxruntime reads them, and a note says so.

Exporters write such models, and runtimes run them; what onnxruntime refuses is refused by :mod:`structure`. Each kind
was tried on onnxruntime 1.15.0 and 1.31.1. Other runtimes do not take every kind: their adapters say which
(``STRICT``).

    twice        a domain is imported twice, at one opset
    unimported   a domain is used that onnxruntime knows without an import
    unsorted     nodes of the main graph read what a later one makes; in bodies and functions onnxruntime wants order
    captured     the same, and it is a body that reads it
    unknown      a dim of -1, where nothing was to be stated
    shadowed     the input of a body bears the name of a value around it
    repeated     a constant of a body bears the name of one around it, and has the same elements
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, MutableSequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from onnx import GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto, TypeProto
from onnx.numpy_helper import to_array

from minuend.errors import listed
from minuend.names import Names
from minuend.onnx.graphs.nesting import Holder, all_names, bodies, captured, graphs, holders, name_of, within
from minuend.onnx.graphs.scope import domain_of, functions

IMPLIED: Mapping[str, int] = {"com.microsoft": 1, "ai.onnx.ml": 3}
"""Domains that need no import, and the opset they are read at: the newest that every release of onnxruntime has."""

_SHOWN = 3
"""So many names are listed in a note."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule that a model breaks: its kind (see above), and what was done about it."""

    kind: str
    note: str


def normalise(model: ModelProto, *, copy: bool) -> tuple[ModelProto, tuple[Violation, ...]]:
    """Return a model that keeps the rules, and which it broke; one that breaks none of these comes back as it is.

    Args:
        model: its text is text, and it has a graph. copy: whether the model that came is to stay as it is.

    >>> import onnx
    >>> model = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["" : 14, "ai.onnx" : 14]>
    ...     g (float a) => (float c) { c = Sub(b, a) b = Neg(a) }''')
    >>> normalised, broken = normalise(model, copy=True)
    >>> [node.op_type for node in normalised.graph.node], [one.kind for one in broken]
    (['Neg', 'Sub'], ['twice', 'unsorted'])
    """
    if next(_violations(model), None) is None:  # nothing is changed before the first violation is reported
        return model, ()
    normalised = ModelProto()
    if copy:
        normalised.CopyFrom(model)
    else:
        normalised = model
    return normalised, tuple(_violations(normalised))


def _violations(model: ModelProto) -> Iterator[Violation]:
    """Report each violation, then normalise the model."""
    yield from _twice(model.opset_import, "the model")
    for function, where in functions(model):
        yield from _twice(function.opset_import, where)
    nested = any(True for holder in (model.graph, *model.functions) for _ in bodies(holder.node, ""))
    yield from _unimported(model, nested)
    yield from _unsorted(model.graph, nested)
    yield from _unknown(model, nested)
    yield from _shadowed(model) if nested else ()
    yield from _repeated(model) if nested else ()


def _twice(imports: MutableSequence[OperatorSetIdProto], where: str) -> Iterator[Violation]:
    rows = [(domain_of(row.domain), row.version) for row in imports]
    again = [i for i, row in enumerate(rows) if row in rows[:i]]
    if again:
        domains = listed(dict.fromkeys(repr(rows[i][0]) for i in again), "and")
        yield Violation("twice", f"{where} imports the domain {domains} twice, at one opset")
        for i in reversed(again):
            del imports[i]


def _unimported(model: ModelProto, nested: bool) -> Iterator[Violation]:
    imported = {row.domain for row in model.opset_import}
    if not imported:  # before IR version 3 a model states none
        return
    used = {node.domain for graph in (within(model.graph) if nested else (model.graph,)) for node in graph.node}
    for domain, version in IMPLIED.items():
        if domain in used and domain not in imported:
            yield Violation(
                "unimported",
                f"the model uses the domain {domain!r} and does not import it; read at version {version} of it",
            )
            model.opset_import.add(domain=domain, version=version)


# ---- order ----------------------------------------------------------------------------------------------------


def _unsorted(graph: GraphProto, nested: bool) -> Iterator[Violation]:
    made = {name: i for i, node in enumerate(graph.node) for name in node.output if name}
    read = [(*node.input, *captured(node)) if nested else node.input for node in graph.node]
    early = (i for i, names in enumerate(read) if any(made.get(name, -1) > i for name in names))
    first = next(early, None)
    nodes = [] if first is None else list(graph.node)
    needs = [{made[name] for name in names if name in made} for names in read[: len(nodes)]]
    order = _order(needs)
    if first is None or order is None:
        return
    outright = [{made[name] for name in node.input if name in made} for node in nodes]
    by_bodies = any(j > i for i, needed in enumerate(needs) for j in needed - outright[i])
    yield Violation(
        "captured" if by_bodies else "unsorted",
        f"nodes stand before those that make what they read, graph.node[{first}] is the first; they are sorted, and "
        "numbered in that order here",
    )
    ordered = GraphProto(node=[nodes[i] for i in order])
    del graph.node[:]
    graph.node.extend(ordered.node)


def _order(needs: list[set[int]]) -> list[int] | None:
    """The order nearest to the one that is there in which all can run; ``None`` where they need each other."""
    sorter = TopologicalSorter(dict(enumerate(needs)))
    try:
        sorter.prepare()
    except CycleError:
        return None
    ready: list[int] = []
    order: list[int] = []
    while sorter.is_active():
        for i in sorter.get_ready():
            heapq.heappush(ready, i)
        order.append(heapq.heappop(ready))
        sorter.done(order[-1])
    return order


# ---- dims -----------------------------------------------------------------------------------------------------


def _unknown(model: ModelProto, nested: bool) -> Iterator[Violation]:
    found = [
        (value.name, dim)
        for holder in (holders(model) if nested else (model.graph, *model.functions))
        for value in (*holder.value_info, *holder.input, *holder.output)
        if not isinstance(value, str)
        for dim in _dims(value.type)
        if dim.dim_value == -1
    ]
    if found:
        names = list(dict.fromkeys(repr(name) for name, _ in found))
        more = len(names) - _SHOWN
        shown = f"{', '.join(names[:_SHOWN])} and {more} more" if more > 0 else listed(names, "and")
        yield Violation("unknown", f"a dim of -1 is one that is not known, in the shape of {shown}")
        for _, dim in found:
            dim.ClearField("dim_value")


def _dims(type_: TypeProto) -> Iterator[TensorShapeProto.Dimension]:
    kind = type_.WhichOneof("value")
    while kind in ("sequence_type", "optional_type"):
        type_ = getattr(type_, kind).elem_type
        kind = type_.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        yield from getattr(type_, kind).shape.dim


# ---- names ----------------------------------------------------------------------------------------------------


def _shadowed(model: ModelProto) -> Iterator[Violation]:
    names = None
    graphs: list[tuple[Holder, str]] = [(model.graph, "graph"), *functions(model)]
    for holder, where in graphs:
        stored = getattr(holder, "initializer", ())
        known = {name_of(value) for value in holder.input}.union(tensor.name for tensor in stored)
        for body, place, name in _hiding(holder.node, where, known):
            yield Violation(
                "shadowed", f"{place}: its input {name!r} bears the name of a value around it, and is another value"
            )
            names = names or Names(all_names(model))
            _rename(body, name, names.fresh(name))


def _hiding(nodes: Iterable[NodeProto], where: str, known: set[str]) -> Iterator[tuple[GraphProto, str, str]]:
    """Every input of a body, with the body and its place, that bears a name which is known where the body stands."""
    known = set(known)
    for i, node in enumerate(nodes):
        for attribute, body in graphs(node):
            place = f"{where}.node[{i}].{attribute}"
            for name in [value.name for value in body.input]:
                if name in known:
                    yield body, place, name
            own = {value.name for value in body.input} | {tensor.name for tensor in body.initializer}
            yield from _hiding(body.node, place, known | own)
        known.update(node.output)


def _rename(body: GraphProto, old: str, new: str) -> None:
    """Rename an input of a body wherever it is read in it."""
    for value in (*body.input, *body.initializer, *body.output, *body.value_info):
        value.name = new if value.name == old else value.name
    for node in body.node:
        for i, name in enumerate(node.input):
            if name == old:
                node.input[i] = new
        for _, inner in graphs(node):
            if old not in {value.name for value in inner.input}:  # there it is a third value
                _rename(inner, old, new)


def _repeated(model: ModelProto) -> Iterator[Violation]:
    given = {value.name for value in model.graph.input}
    known = {one.name: one for one in model.graph.initializer if one.name not in given}
    for body, place, stored in _again(model.graph.node, "graph", known):
        yield Violation(
            "repeated", f"{place}: its constant {stored.name!r} bears the name of one around it, and is the same"
        )
        body.initializer.remove(stored)


def _again(
    nodes: Iterable[NodeProto], where: str, known: Mapping[str, TensorProto]
) -> Iterator[tuple[GraphProto, str, TensorProto]]:
    """Every constant of a body, with the body and its place, that is the constant of its name around the body."""
    for i, node in enumerate(nodes):
        for attribute, body in graphs(node):
            place = f"{where}.node[{i}].{attribute}"
            given = {value.name for value in body.input}
            own = {one.name: one for one in body.initializer if one.name not in given}
            for name in sorted(known.keys() & own.keys()):
                if _has_elements_of(own[name], known[name]):
                    yield body, place, own[name]
            yield from _again(body.node, place, {**known, **own})


def _has_elements_of(one: TensorProto, other: TensorProto) -> bool:
    """Whether two constants have the same elements, however they are stored."""
    if (one.data_type, *one.dims) != (other.data_type, *other.dims) or one.external_data or other.external_data:
        return False
    try:
        return bool(to_array(one).tobytes() == to_array(other).tobytes())
    except (ValueError, TypeError, KeyError):  # a malformed tensor: structure says what is wrong with it
        return False
