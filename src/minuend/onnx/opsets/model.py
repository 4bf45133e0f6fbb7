"""Whole models from one opset to another: graphs, bodies and local functions, or a refusal that lists why."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import onnx
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto

from minuend.errors import ConversionRefused, SpecError
from minuend.names import Names
from minuend.onnx.graphs.nesting import Holder, all_inputs, all_names, graphs, holders, name_of, within
from minuend.onnx.graphs.scope import MAIN, domain_of
from minuend.onnx.opsets import expand, schemas
from minuend.onnx.opsets import nodes as convert_nodes
from minuend.onnx.opsets.calls import Calls
from minuend.onnx.opsets.judging import infer_refuted, judge
from minuend.onnx.opsets.schemas import Refusal
from minuend.onnx.opsets.scope import Scope, for_inference, own_types

_ADVICE = (
    "What its own version does not allow has no meaning that could be converted: correct the node, or import the opset "
    "that it was written for."
)


def convert_proto(proto: ModelProto, opset: int) -> tuple[ModelProto, list[str], list[str]]:
    """Convert a model to an opset of ONNX's main domain, up or down.

    Nodes whose operator means the same in both opsets stay as they are; others are rewritten, or expanded into the
    nodes of ONNX's function body. Local functions, metadata, names, documentation and fields that onnx does not know
    stay. Other domains keep their opsets.

    Args:
        proto: the model; it is not changed. External data stays where it is.
        opset: the target version, from 1 to the newest that the installed onnx knows.

    Returns:
        The new model, what changed and what was lost, a sentence each.

    Raises:
        ConversionRefused: nodes stand in the way; ``.nodes`` says which and why. Nothing is converted halfway.
        SpecError: no such opset, or a model that imports the main domain twice.

    >>> model = onnx.parser.parse_model('''
    ...     <ir_version: 10, opset_import: ["" : 14]>
    ...     agraph (float[3] a, float[3] b) => (float[3] c) { c = Sub(a, b) }''')
    >>> convert_proto(model, 13)[1]
    ['opset 14 became 13']
    """
    if isinstance(opset, bool) or not isinstance(opset, int) or not 1 <= opset <= schemas.newest():
        raise SpecError("opset", f"opset {opset!r} is not known; expected 1 to {schemas.newest()}")
    stated = main_opset(proto.opset_import, "model", 1 if proto.ir_version < 3 else None)
    if stated is None and any(node.domain in MAIN for graph in within(proto.graph) for node in graph.node):
        raise SpecError(
            "opset_import", "the model has nodes of ONNX's main domain and does not import it", where="model"
        )
    before = opset if stated is None else stated
    if before > schemas.newest():
        raise SpecError("opset_import", f"opset {before} is newer than onnx {onnx.__version__} knows", where="model")
    if proto.training_info:
        raise ConversionRefused(f"onnx:{opset}", {"training_info": "graphs for training are not converted"})
    model = ModelProto()
    model.CopyFrom(proto)
    work = _Work(model, before, opset)
    work.convert()
    if work.refused:
        raise ConversionRefused(f"onnx:{opset}", work.refused, _ADVICE if work.invalid else "")
    if before != opset:
        work.changes.insert(0, f"opset {before} became {opset}")
    elif not work.changes:
        why = f"is at opset {opset} already" if stated is not None else "imports no opset of ONNX's main domain"
        work.changes.append(f"nothing: the model {why}")
    _set_imports(model, opset, work.changes, implied=stated is not None)
    return model, [*work.changes, *judge(model, proto, opset)], work.losses


def main_opset(imports: Iterable[OperatorSetIdProto], where: str, fallback: int | None = None) -> int | None:
    """The opset of the main domain that a model or function imports, under either of its names.

    Raises:
        SpecError: a domain is imported twice.
    """
    seen: dict[str, int] = {}
    for row in imports:
        domain = domain_of(row.domain)
        if domain in seen:
            name = domain or "ai.onnx (the main domain)"
            raise SpecError(
                "opset_import",
                f"the domain {name} is imported twice, at {seen[domain]} and {row.version}; expected one import",
                where=where,
            )
        seen[domain] = row.version
    return seen.get("", fallback)


def declare_casts(graph: GraphProto) -> None:
    """Declare the types that the Casts of an old opset state by their names; without them ONNX's check finds faults."""
    declared = {value.name for value in (*graph.value_info, *graph.output)}
    for node in graph.node:
        if node.op_type == "Cast" and node.domain in MAIN and node.output[0] not in declared:
            for name, type_ in schemas.stated_by_name(node).items():
                graph.value_info.add(name=name).type.CopyFrom(type_)


@dataclass
class _Work:
    """One conversion under way."""

    model: ModelProto
    before: int
    after: int
    changes: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    invalid: bool = False

    def __post_init__(self) -> None:
        self.names = Names(all_names(self.model))
        self.functions = frozenset((f.domain, f.name) for f in self.model.functions)
        self.detached: set[str] = set()
        every_holder = list(holders(self.model))
        self.unread = frozenset(
            {name for holder in every_holder for node in holder.node for name in node.output} - _read_in(every_holder)
        )

    def convert(self) -> None:
        """Convert every list of nodes, in place."""
        typed = infer_refuted(for_inference(self.model, self.before))
        calls = Calls(self.model)
        calls.follow(typed.graph)
        self.graph(typed.graph, self.scope(self.model.graph, "graph", self.before), self.before)
        for function in self.model.functions:
            where = f"function {function.name!r}"
            opset = main_opset(function.opset_import, where)
            if opset is None:
                continue
            if main_opset(self.model.opset_import, "model") is None and opset != self.after:
                self.changes.append(f"{where}: opset {opset} became {self.after}")
            graph = calls.types.get((function.domain, function.name)) or GraphProto(node=function.node)
            scope = self.scope(function, where, opset)
            scope.types.update(own_types(graph))
            scope.attributes.update(calls.attributes.get((function.domain, function.name), {}))
            self.nodes(graph, scope, opset)
        if not self.refused:
            self.tidy()
            for holder in holders(self.model):
                self.hoist(holder)
                if self.after < schemas.CAST_BY_NUMBER and not isinstance(holder, FunctionProto):
                    declare_casts(holder)

    def hoist(self, holder: Holder) -> None:
        """Make initializers of Constant nodes whose type the opset's Constant does not take."""
        for i in reversed(range(len(holder.node))):
            node = holder.node[i]
            if node.op_type != "Constant" or node.domain not in MAIN or self.before == self.after:
                continue
            tensor = next((a.t for a in node.attribute if a.name == "value" and not a.ref_attr_name), None)
            types = {} if tensor is None else {node.output[0]: onnx.helper.make_tensor_type_proto(tensor.data_type, [])}
            why = schemas.illegal(node, self.after, types.get, {node.output[0]: frozenset()})
            if not why:
                continue
            if tensor is None or isinstance(holder, FunctionProto):
                of = f"function {holder.name!r}" if isinstance(holder, FunctionProto) else "graph"
                self.refused[f"{of}: {node.output[0]!r}"] = f"Constant: {why}"
                continue
            initializer = holder.initializer.add()
            initializer.CopyFrom(tensor)
            initializer.name = node.output[0]
            self.changes.append(f"the constant {initializer.name!r} became an initializer, for {why}")
            if self.model.ir_version < 4:
                self.changes.append(f"IR version {self.model.ir_version} became 4, for initializers that are no inputs")
                self.model.ir_version = 4
            del holder.node[i]

    def scope(self, proto: GraphProto | FunctionProto, where: str, opset: int) -> Scope:
        return Scope(proto, where, {"": opset}, names=self.names, functions=self.functions, unread=self.unread)

    def graph(self, typed: GraphProto, scope: Scope, opset: int) -> None:
        """Convert a graph or body; ``typed`` is the same one after inference."""
        scope.types.update(own_types(typed))
        overridable = set(scope.inputs) if self.model.ir_version >= 4 else set()
        scope.constants.update({name: t for name, t in scope.initializers().items() if name not in overridable})
        self.nodes(typed, scope, opset)

    def nodes(self, typed: GraphProto, scope: Scope, opset: int) -> None:
        """Convert a scope's nodes in place."""
        result: list[NodeProto] = []
        nodes = scope.nodes
        for i, node in enumerate(nodes):
            where = scope.place(i)
            scope.define(node, opset)
            inner = dict(graphs(typed.node[i])) if i < len(typed.node) else {}
            for name, body in graphs(node):
                self.graph(inner.get(name, body), scope.inner(body, i, name), opset)
            try:
                outcome = self.outcome(node, scope, opset)
            except Refusal as why:
                self.invalid = self.invalid or str(why).startswith(schemas.INVALID)
                self.refused[where] = f"{node.op_type}: {convert_nodes.type_hint(node, self.after, str(why))}"
                continue
            if len(outcome.nodes) > 1:
                outcome.nodes = _read(outcome.nodes, node)
            self.note(node, outcome, where, opset)
            result += outcome.nodes
        if not self.refused and result != list(nodes):
            copies = [copy.deepcopy(node) for node in result]
            del nodes[:]
            nodes.extend(copies)

    def outcome(self, node: NodeProto, scope: Scope, opset: int) -> convert_nodes.Outcome:
        """Convert a node; if it is refused, with the attributes of the function around on which all callers agree.

        Raises:
            Refusal: there is no way.
        """
        way = convert_nodes.Way(opset, self.after, scope)
        try:
            return way.convert(node)
        except Refusal:
            if (filled := scope.filled_in(node)) is None:
                raise
            return way.convert(filled)

    def note(self, node: NodeProto, outcome: convert_nodes.Outcome, where: str, opset: int) -> None:
        """Say what became of a node, and hand its name and documentation on."""
        self.losses += [f"{where}: {loss}" for loss in dict.fromkeys(outcome.losses)]
        if outcome.nodes == [node]:
            return
        heir = next((n for n in outcome.nodes if set(n.output) & set(filter(None, node.output))), outcome.nodes[-1])
        if node.name:
            heir.name = node.name
        heir.doc_string = node.doc_string
        del heir.metadata_props[:]
        heir.metadata_props.extend(node.metadata_props)
        for n in outcome.nodes:  # runtimes want unique names
            if n is not heir and node.name and (not n.name or n.name == node.name):
                n.name = self.names.fresh(f"{node.name}_{n.op_type}")
        for name in set(node.input) - {name for n in outcome.nodes for name in all_inputs(n)}:
            self.detached.add(name)
        was = f"{node.op_type}-{schemas.version_in(node.op_type, opset)}"
        if outcome.expanded:
            whose = outcome.expanded[0][3]
            count = len(outcome.nodes)
            own = outcome.expanded[0][0] == node.op_type
            how = "expanded" if own else f"rewritten with {outcome.expanded[0][0]} expanded"
            self.changes.append(f"{where}: {was} {how} into {count} nodes by {whose}")
            if not {row[0] for row in outcome.expanded} <= expand.EXACT:
                self.losses.append(f"{where}: {was} is {count} nodes now, which may round differently")
            return
        now = [f"{n.op_type}-{schemas.version_in(n.op_type, self.after)}" for n in outcome.nodes]
        self.changes.append(f"{where}: {was} became {', '.join(now)}{_difference(node, outcome.nodes)}")

    def tidy(self) -> None:
        """Remove constants that only a rewritten node read."""
        every_holder = list(holders(self.model))
        given = {name_of(value) for graph in every_holder for value in graph.input}
        gone = self.detached - _read_in(every_holder) - given
        for holder in every_holder:
            for i in reversed(range(len(holder.node))):
                node = holder.node[i]
                if node.op_type == "Constant" and node.domain in MAIN and node.output[0] in gone:
                    del holder.node[i]
            for rows in (getattr(holder, "initializer", []), holder.value_info):
                for i in reversed(range(len(rows))):
                    if rows[i].name in gone:
                        del rows[i]


def _read(nodes: list[NodeProto], node: NodeProto) -> list[NodeProto]:
    """Leave out what no node reads: constants that became attributes again, outputs that the node does not request."""
    wanted, needed = set(filter(None, node.output)), []
    for n in reversed(nodes):
        if wanted.intersection(n.output) or not n.output:
            wanted.update(all_inputs(n))
            needed.append(n)
    return needed[::-1]


def _difference(node: NodeProto, now: list[NodeProto]) -> str:
    """What a reader of the node would miss, or see for the first time."""
    heir = next((n for n in now if n.op_type == node.op_type), None)
    if heir is None:
        return ""
    was, is_ = ({a.name for a in n.attribute} for n in (node, heir))
    parts = [f"without {name}" for name in sorted(was - is_)] + [f"with {name}" for name in sorted(is_ - was)]
    if len(heir.input) != len(node.input):
        parts.append(f"{len(heir.input)} inputs for {len(node.input)}")
    return f" ({', '.join(parts)})" if parts else ""


def _read_in(holding: Sequence[Holder]) -> set[str]:
    """The values that a node reads, or that go out of a graph or function."""
    read = {name for holder in holding for node in holder.node for name in node.input}
    return read | {name_of(value) for holder in holding for value in holder.output}


def _set_imports(model: ModelProto, opset: int, changes: list[str], *, implied: bool) -> None:
    """State the new opset everywhere, and the IR version that it needs.

    Args:
        implied: whether the model has an opset although it may import none, as up to IR version 2.
    """
    found = False
    for holder in (model, *model.functions):
        for row in holder.opset_import:
            if row.domain in MAIN:
                row.version = opset
                found = found or holder is model
    if implied and not found:
        model.opset_import.add(domain="", version=opset)
    least = onnx.helper.find_min_ir_version_for(model.opset_import, ignore_unknown=True)
    least = max(least, 3)
    if model.ir_version < least:
        changes.append(f"IR version {model.ir_version} became {least}, the first that has opset {opset}")
        model.ir_version = least
