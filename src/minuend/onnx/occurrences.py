"""Every node of the judged operators of an ONNX model with what its operands can hold.

Values are followed through bodies and calls of functions. Only what such a node depends on is looked at, and a
constant's elements are read when a rule needs them: the weights of a large model stay in their files.
"""

from __future__ import annotations

import functools
import hashlib
import math
import threading
from collections import ChainMap, OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, SparseTensorProto, TensorProto
from onnx.helper import get_attribute_value

from minuend.errors import SpecError, Unsupported
from minuend.models.cells import is_in_attention
from minuend.models.flow import Flow
from minuend.models.folding import FOLLOWED, computed
from minuend.models.hazards import Hazards, kinds_of_model
from minuend.models.matching import matches
from minuend.models.occurrences import Array, Occurrence, as_computed, constants_of, typed, with_unfolded
from minuend.models.purpose import purpose_of
from minuend.models.ranges.assumed import NONE, Assumptions
from minuend.models.ranges.conditions import CONDITIONS, Values, branches
from minuend.models.ranges.demands import BACK, COUNTS, DEMANDS, demands, narrowed
from minuend.models.ranges.interval import Range, full, join, of_array, of_blocks
from minuend.models.ranges.rules import RULES, Step, result
from minuend.models.sums import SUMS_OF_FLOAT64, has_sums_of_float64
from minuend.models.zero_signs import loses_zero_sign
from minuend.onnx.documents import external, tensors
from minuend.onnx.documents.constant_storage import ways, ways_of_operands
from minuend.onnx.graphs import declared, faults
from minuend.onnx.graphs.flow import flow_of
from minuend.onnx.graphs.inference import Inference
from minuend.onnx.graphs.nesting import filled_in, graphs
from minuend.onnx.graphs.operator_forms import forms_of
from minuend.onnx.graphs.scope import MAIN, functions, model_opsets, shape_of
from minuend.onnx.graphs.stated_sizes import kinds_of_sizes
from minuend.onnx.graphs.walk import Scope, Subtraction, subtractions, walk
from minuend.onnx.model import Model
from minuend.onnx.opsets import schemas
from minuend.operators import SUBTRACT
from minuend.operators.operator import Operator
from minuend.standards.node import Node

_MOST_ELEMENTS = 1 << 20
"""Elements of a constant up to which a subtraction of two constants is judged by its own numbers."""

_MOST_CALLS = 2000
"""Calls of functions that are followed one by one; beyond, their operands can be anything."""

_FOLLOWED = frozenset((*RULES, *CONDITIONS))
"""Operators whose inputs bound their results."""

Key: TypeAlias = tuple[str, str, str]


def names(model: Model) -> set[str]:
    """Return the names of the values of the graph and of bodies in it; those of functions are each call's own."""
    found: set[str] = set()
    for scope in walk(model):
        if isinstance(scope.proto, GraphProto):
            found.update(value.name for value in scope.proto.input)
            found.update(name for node in scope.nodes for name in node.output if name)
    return found - _constants(model)


def _constants(model: Model) -> set[str]:
    """The initializers that no caller can replace."""
    stored = {tensor.name for tensor in model.proto.graph.initializer}
    return stored if model.proto.ir_version <= 3 else stored - {value.name for value in model.proto.graph.input}


def occurrences(
    model: Model, assumed: Assumptions = NONE, operators: Collection[Operator] = (SUBTRACT,)
) -> Iterator[Occurrence]:
    """Yield every node of some operators of a model, in the graph, in bodies and in functions.

    Raises:
        SpecError: a node with more or fewer inputs than its operator has. FileFormatError: constants that cannot be
            read.
    """
    scopes = list(walk(model))  # once, as types are inferred anew for each walk
    judged = {one.onnx for one in operators}
    if not any(node.op_type in judged and node.domain in MAIN for scope in scopes for node in scope.nodes):
        return
    own = state(model, assumed, operators)
    known = None if own is None else _RECENT.find(own)
    if known is not None:
        places = {scope.where: scope for scope in scopes}
        yield from (_moved(one, model, replace(live, scope=places[where])) for one, where, live in known)
        return
    found = list(subtractions(model, operators, scopes))
    made = []
    for one in _analysed(model, assumed, operators, scopes, found):
        made.append(one)
        yield one
    if own is not None:
        _RECENT.add(own, made)


def _analysed(
    model: Model,
    assumed: Assumptions,
    operators: Collection[Operator],
    scopes: Sequence[Scope],
    found: Sequence[Subtraction],
) -> Iterator[Occurrence]:
    """What is found out of the nodes of a model."""
    analysis = _Analysis(model, assumed, operators, scopes)
    analysis.run()
    wrong = faults.fault(analysis.scopes.values(), analysis.judged)
    flows = {scope.where: flow_of(model, scope) for scope in scopes}
    opset = model_opsets(model.proto).get("", 0)
    hazards = {where: Hazards(flow, opset) for where, flow in flows.items()}
    stored = ways(model.proto)
    sizes = kinds_of_sizes(model, contradicted=bool(analysis.scopes["graph"].inferred().refused))
    stated = declared.kinds(model.proto) | declared.operators(model.proto) | forms_of(scopes)
    violations = stored.union(stated, sizes, (broken.kind for broken in model.violations))
    if any(map(has_sums_of_float64, flows.values())):
        violations |= {SUMS_OF_FLOAT64}
    violations |= set(kinds_of_model(flows.values(), opset))
    names, foreign = declared.names_of_dims(model.proto), declared.foreign(model.proto)

    def known_flow(scope: Scope) -> Flow:
        return flows[scope.where]

    for one in found:
        flow = flows[one.scope.where]
        node = _node(one)
        if wrong and isinstance(node, Node):
            node = SpecError("model", f"the model has an invalid node: {wrong}")
        dtype = node.a.dtype if isinstance(node, Node) else None
        operands = tuple(
            as_computed(flow, name, typed(operand, dtype))
            for name, operand in zip(one.proto.input, analysis.operands(one), strict=True)
        )
        constants = constants_of(*operands)
        own = hazards[one.scope.where].of(one.index, operands).union(ways_of_operands(one) if stored else ())
        occurrence = Occurrence(
            op=one.op,
            name=one.proto.name,
            where=one.where,
            node=node,
            operands=operands,
            constants=constants,
            purpose=purpose_of(flow, one.index),
            matches=matches(flow, one.index),
            made_of_open=flow.is_made_of_open(one.index),
            in_attention=is_in_attention(flow, one.index),
            in_body=flow.in_body,
            zero_sign_lost=loses_zero_sign(flow, one.index),
            added=flow.added,
            fixed=functools.cache(functools.partial(_fixed, model, one, operands, known_flow)),
            notes=model.notes,
            violations=violations.union(
                own, {f"two constants of {dtype}"} if len(constants) > 1 else (), declared.kinds_of_node(node, names)
            ),
            foreign=foreign,
            live=one,
        )
        yield with_unfolded(occurrence, flow, one.index)


# ---- the last models ------------------------------------------------------------------------------------------


_LARGEST_CACHED = 1 << 20
"""Bytes of a model whose occurrences are cached: of larger ones it is not worth the memory."""


def state(model: Model, assumed: Assumptions, operators: Collection[Operator]) -> Hashable | None:
    """Return all that occurrences depend on; ``None`` for large models, and where files hold data, which may change."""
    if model.proto.ByteSize() > _LARGEST_CACHED or any(True for _ in external.locations(model.proto)):
        return None
    digest = hashlib.sha256(model.proto.SerializeToString(deterministic=True)).digest()
    return digest, model.violations, tuple(assumed.items()), tuple(one.name for one in operators)


Recent: TypeAlias = Sequence[tuple[Occurrence, str, Subtraction]]
"""The occurrences of a model without it, each with the place of its scope."""


class _Recent:
    """The occurrences of the last models: fix, and the advice of check, look at one model several times.

    They hold nothing of the model that was looked at, which others change in place: see :func:`_moved`.
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._found: OrderedDict[Hashable, Recent] = OrderedDict()

    def find(self, state: Hashable) -> Recent | None:
        """Return what was found of a model; ``None`` of one that is not among the last."""
        with self._lock:
            return self._found.get(state)

    def add(self, state: Hashable, found: Sequence[Occurrence]) -> None:
        """Add what was found of a model, without the model."""
        with self._lock:
            self._found[state] = [_without_model(one) for one in found]
            while len(self._found) > self._most:
                self._found.popitem(last=False)


def _without_model(occurrence: Occurrence) -> tuple[Occurrence, str, Subtraction]:
    live = occurrence.live
    assert isinstance(live, Subtraction)
    return occurrence.copy(fixed=_nothing, live=None), live.scope.where, replace(live, scope=_NO_SCOPE)


def _nothing() -> tuple[Array | None, ...]:
    return (None, None)


_NO_SCOPE = Scope(GraphProto(), "", {}, inferred=Inference)

_RECENT = _Recent(4)


def _moved(occurrence: Occurrence, model: Model, live: Subtraction) -> Occurrence:
    """Return an occurrence as that of an equal model, whose nodes and constants it has."""
    fixed = functools.partial(_fixed, model, live, occurrence.operands, functools.partial(flow_of, model))
    return occurrence.copy(fixed=functools.cache(fixed), live=live)


def _fixed(
    model: Model, one: Subtraction, operands: Sequence[Range], flow: Callable[[Scope], Flow]
) -> tuple[Array | None, ...]:
    """The elements of the operands that are stored in the model or made of what is, and not too many."""
    stored = one.scope.visible_tensors()

    def elements(name: str, operand: Range) -> Array | None:
        tensor = stored.get(name)
        if tensor is None:
            return computed(flow(one.scope), name) if operand.constant and operand.dtype in FOLLOWED else None
        few = math.prod(tensor.dims) <= _MOST_ELEMENTS
        return model.array(tensor, f"{model.name}: {name!r}") if few else None

    return tuple(map(elements, one.proto.input, operands))


def value_ranges(model: Model, names: Sequence[str]) -> dict[str, Range]:
    """Return what values of the main graph can hold, by name.

    Raises:
        FileFormatError: constants that cannot be read.

    >>> from minuend.onnx.model import read
    >>> text = '<ir_version: 10, opset_import: ["" : 14]> g (uint8[2] a) => (int32[2] c) { c = Cast <to = 6> (a) }'
    >>> str(value_ranges(read(text), ["c"])["c"])
    '0..255 (uint8 input)'
    """
    analysis = _Analysis(model)
    frame = analysis.run(names)
    return {name: analysis.value(frame, name) for name in names}


def _node(one: Subtraction) -> Node | SpecError | Unsupported:
    try:
        return one.node()
    except (SpecError, Unsupported) as error:
        return error


# ---- constants ------------------------------------------------------------------------------------------------


Value: TypeAlias = Range | Callable[[], Range]
"""What a value can hold; of a stored constant it is found out when it is requested."""


def _stored(model: Model, tensor: TensorProto, where: str) -> Range:
    """What a constant holds: its elements are read."""
    kind = tensors.data_type(tensor.data_type)
    if kind is None or kind.name is None:
        return Range(None, constant=True, why="constant")
    memory, blocks = model.blocks(tensor, where)
    return of_blocks(blocks, memory, kind.name)


def _numbers(attribute: AttributeProto) -> Range:
    """What an attribute of Constant holds that is no tensor."""
    dtype = tensors.CONSTANTS.get(attribute.name)
    if dtype is None:
        return Range(None, constant=True)
    return of_array(np.atleast_1d(np.array(get_attribute_value(attribute), dtype)), dtype)


def _sparse(sparse: SparseTensorProto) -> Range:
    """What a sparse constant can hold: its elements are not read."""
    kind = tensors.data_type(sparse.values.data_type)
    return replace(full(kind.name if kind else None, "sparse constant"), constant=True)


def _makers(scope: Scope) -> Mapping[str, NodeProto]:
    return {name: node for node in scope.nodes for name in node.output if name}


# ---- following values -----------------------------------------------------------------------------------------


@dataclass
class _Frame:
    """The values of one scope while it is followed, by name, those of the scopes around it behind them."""

    scope: Scope
    values: ChainMap[str, Value]
    bindings: Mapping[str, AttributeProto] = field(default_factory=dict)


class _Analysis:
    def __init__(
        self,
        model: Model,
        assumed: Assumptions = NONE,
        operators: Collection[Operator] = (SUBTRACT,),
        scopes: Iterable[Scope] | None = None,
    ) -> None:
        self.model = model
        self.judged = {one.onnx for one in operators}
        self.assumed = assumed
        self.scopes = {scope.where: scope for scope in (walk(model) if scopes is None else scopes)}
        self.nested = any(scope.parent is not None for scope in self.scopes.values())
        self.functions: dict[Key, tuple[FunctionProto, str]] = {
            (f.domain, f.name, f.overload): (f, where) for f, where in functions(model.proto)
        }
        self.found: dict[tuple[str, int], tuple[Range, ...]] = {}
        self.calls = 0
        self.called: set[str] = set()
        self.opened: set[str] = set()
        self.needed: dict[str, set[str]] = {}
        self.demands: Mapping[Hashable, Range] = {}
        self.makers = functools.cache(_makers)

    def run(self, wanted: Sequence[str] = ()) -> _Frame:
        """Follow the whole model, as far as its judged nodes and the wanted values of the graph depend on it.

        It is followed once more where what the values of the graph are used for says more of them than what makes them.
        """
        frame = self._main(wanted)
        demanded = self._demands(frame)
        before = {name: self.value(frame, str(name)) for name in demanded}
        self.demands = {name: one for name, one in demanded.items() if narrowed(before[name], one) != before[name]}
        if self.demands:
            for cached in (self.found, self.called, self.opened):
                cached.clear()
            self.calls = 0
            frame = self._main(wanted)
        for function, where in self.functions.values():
            if where not in self.called:
                self._open_call(function, where)
        return frame

    def _main(self, wanted: Sequence[str]) -> _Frame:
        """Follow the graph and whatever it calls."""
        graph = self.scopes["graph"]
        frame = _Frame(graph, ChainMap(self._initializers(graph)))
        for value in graph.proto.input:
            if value.name in frame.values:
                self._meet(frame, value.name)
            else:
                self._set(frame, value.name, full(self._dtype(graph, value.name), "input"))
        self._follow(frame, wanted)
        return frame

    def _demands(self, frame: _Frame) -> Mapping[Hashable, Range]:
        """What the values of the graph have to lie in for what its outputs are computed from."""
        live = {value.name for value in frame.scope.proto.output}
        steps = []
        for node in reversed(frame.scope.nodes):
            if not live.isdisjoint(node.output):
                live.update(node.input)  # what bodies take from outside they may not need
                looked_at = node.domain in MAIN and (node.op_type in DEMANDS or node.op_type in BACK)
                whole = looked_at and not schemas.malformed(node, frame.scope.opset or 0)
                if whole and self._function(node) is None:
                    steps.append((self._as_demanded(frame, node), list(node.input), list(node.output)))
        return demands(steps[::-1])

    def _as_demanded(self, frame: _Frame, node: NodeProto) -> Step:
        """A node as far as demands look at it: of tables and weights the types alone, so that they are not read."""
        if self._solves(frame.scope, node):
            return self._with_ranges(frame, node)
        types = {name: full(self._dtype(frame.scope, name)) for name in node.input if name}
        return self._with_ranges(frame, node, types)

    def operands(self, one: Subtraction) -> tuple[Range, ...]:
        """What a node's operands can hold, in all of its calls together."""
        found = self.found.get((one.scope.where, one.index))
        return found if found is not None else tuple(Range(None) for _ in one.types)

    # ---- a scope ----------------------------------------------------------------------------------------------

    def _initializers(self, scope: Scope) -> dict[str, Value]:
        found: dict[str, Value] = {}
        stored = scope.initializers()
        fixed = _constants(self.model) if scope.where == "graph" else stored.keys()
        for name, tensor in stored.items():
            place = f"{self.model.name}: {scope.where}, initializer {name!r}"
            kind = tensors.data_type(tensor.data_type)
            read = functools.cache(functools.partial(_stored, self.model, tensor, place))
            found[name] = read if name in fixed else full(kind.name if kind else None, "input")
        for sparse in getattr(scope.proto, "sparse_initializer", ()):
            found[sparse.values.name] = _sparse(sparse)
        return found

    def _needs(self, scope: Scope, wanted: Sequence[str]) -> set[str]:
        """The names that a judged node within the scope, or a wanted one, depends on."""
        need = set(wanted)
        for i in reversed(range(len(scope.nodes))):
            node = scope.nodes[i]
            main = node.domain in MAIN
            inner = self._bodies(scope, i)
            entered = inner or self._function(node) is not None or (main and node.op_type in self.judged)
            followed = main and node.op_type in _FOLLOWED
            if entered or (followed and (need.intersection(node.output) or self._solves(scope, node))):
                need.update(node.input)
            for body in inner:
                need |= self._needs(body, body.outputs)
        self.needed[scope.where] = need
        return need

    def _solves(self, scope: Scope, node: NodeProto) -> bool:
        """Whether the use of a node's result can bound an operand, if the other is known."""
        return node.op_type in ("Add", "Sub") and any(self._dtype(scope, name) in COUNTS for name in node.output)

    def _bodies(self, scope: Scope, i: int) -> list[Scope]:
        if not self.nested:
            return []
        return [self.scopes[f"{scope.where}.node[{i}].{name}"] for name, _ in graphs(scope.nodes[i])]

    def _function(self, node: NodeProto) -> tuple[FunctionProto, str] | None:
        return self.functions.get((node.domain, node.op_type, node.overload))

    def _follow(self, frame: _Frame, wanted: Sequence[str]) -> None:
        """Compute the ranges of a scope's values, node after node."""
        scope = frame.scope
        need = self.needed.get(scope.where)
        if need is None:
            need = self._needs(scope, wanted)
        for i, node in enumerate(scope.nodes):
            main = node.domain in MAIN
            if main and node.op_type in self.judged:
                self._record(frame, i, node)
            called = self._function(node)
            inner = self._bodies(scope, i)
            if called is not None:
                results = self._call(frame, node, *called)
            elif inner:
                results = self._branch(frame, node, inner)
            elif need.intersection(node.output):
                results = self._step(frame, node) if main else []
            else:
                continue
            for j, name in enumerate(node.output):
                if name:
                    dtype = self._dtype(scope, name)
                    self._set(frame, name, typed(results[j] if j < len(results) else Range(None), dtype, node.op_type))

    def _set(self, frame: _Frame, name: str, found: Range) -> None:
        """Set what a value can hold, as far as what is demanded of it and what is assumed of it reach."""
        if frame.scope.where == "graph" and name in self.demands:
            found = narrowed(found, self.demands[name])
        frame.values[name] = found
        self._meet(frame, name)

    def _meet(self, frame: _Frame, name: str) -> None:
        """Take in what is assumed of a value of the graph or of a body; names in functions are each call's own."""
        if name in self.assumed and isinstance(frame.scope.proto, GraphProto):
            frame.values[name] = self.assumed[name].meet(self.value(frame, name))

    def _record(self, frame: _Frame, i: int, node: NodeProto) -> None:
        operands = tuple(self.value(frame, name) for name in node.input)
        key = (frame.scope.where, i)
        if key in self.found:
            operands = tuple(join(pair) for pair in zip(self.found[key], operands, strict=True))
        self.found[key] = operands

    def value(self, frame: _Frame, name: str) -> Range:
        """What a value can hold in a frame."""
        found = frame.values.get(name) or full(self._dtype(frame.scope, name))
        return found() if callable(found) else found

    def _dtype(self, scope: Scope, name: str) -> str | None:
        kind = tensors.element_kind(scope.protos.get(name))
        return None if kind is None else kind.name

    # ---- a node -----------------------------------------------------------------------------------------------

    def _step(self, frame: _Frame, node: NodeProto) -> list[Range]:
        scope = frame.scope
        if node.op_type not in RULES or schemas.malformed(node, scope.opset or 0):
            return []
        step = self._with_ranges(frame, node)
        if node.op_type == "Where":
            values = self._values(frame)
            step = replace(step, inputs=[step.inputs[0], *branches(values, *node.input)])
        return result(step)

    def _with_ranges(
        self, frame: _Frame, node: NodeProto, known: Mapping[Hashable, Range] = MappingProxyType({})
    ) -> Step:
        """A node with what its inputs can hold; what is known better comes first."""
        scope = frame.scope
        return Step(
            kind=node.op_type,
            inputs=[known.get(name) or self.value(frame, name) if name else None for name in node.input],
            outputs=[self._dtype(scope, name) for name in node.output],
            shapes=[shape_of(scope.protos.get(name)) for name in node.input],
            attributes=self._attributes(frame, node),
            opset=scope.opset or 0,
            alike=len(set(node.input)) == 1,
        )

    def _values(self, frame: _Frame) -> Values:
        """The values of a frame as conditions read them."""
        makers = self.makers(frame.scope)

        def maker(name: Hashable) -> tuple[str, tuple[Hashable, ...]] | None:
            node = makers.get(str(name))
            return None if node is None or node.domain not in MAIN else (node.op_type, tuple(node.input))

        def again(name: Hashable, known: Mapping[Hashable, Range]) -> Range:
            node = makers[str(name)]
            found = result(self._with_ranges(frame, node, known))[list(node.output).index(str(name))]
            return typed(found, self._dtype(frame.scope, str(name)), node.op_type)

        return Values(maker, lambda name: self.value(frame, str(name)), again)

    def _attributes(self, frame: _Frame, node: NodeProto) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for a in filled_in(node, frame.bindings):
            if a.HasField("t"):
                found[a.name] = _stored(
                    self.model, a.t, f"{self.model.name}: {frame.scope.where}, attribute {a.name!r}"
                )
            elif a.HasField("sparse_tensor"):
                found["value"] = _sparse(a.sparse_tensor)
            elif node.op_type == "Constant" and a.name.startswith("value_"):
                found[a.name] = _numbers(a)
            else:
                value = get_attribute_value(a)
                found[a.name] = value.decode(errors="replace") if isinstance(value, bytes) else value
        return found

    # ---- bodies and calls -------------------------------------------------------------------------------------

    def _branch(self, frame: _Frame, node: NodeProto, inner: list[Scope]) -> list[Range]:
        """If, Loop and Scan; of any other operator with bodies nothing is known but what happens inside."""
        fine = node.domain in MAIN and not schemas.malformed(node, frame.scope.opset or 0)
        kind = node.op_type if fine else ""
        given = [self.value(frame, name) if name else None for name in node.input]
        if kind == "Scan" and frame.scope.opset == 8:
            given = given[1:]
        ends = [self._body(frame, node, kind, body, given) for body in inner]
        if kind == "If":
            fixed = given[0] is not None and given[0].constant
            return [replace(one, constant=fixed and one.constant) for one in map(join, zip(*ends, strict=False))]
        if kind == "Loop":
            outs, before = ends[0][1:], [r or Range(None) for r in given[2:]]
        elif kind == "Scan":
            outs, before = ends[0], [r or Range(None) for r in given[: self._states(node, given)]]
        else:
            return []
        carried = [join(pair) for pair in zip(before, outs, strict=False)]
        return [replace(r, constant=False) for r in (*carried, *outs[len(carried) :])]

    def _states(self, node: NodeProto, given: Sequence[object]) -> int:
        scanned = next((a.i for a in node.attribute if a.name == "num_scan_inputs"), 0)
        return max(len(given) - scanned, 0)

    def _body(
        self, frame: _Frame, node: NodeProto, kind: str, body: Scope, given: Sequence[Range | None]
    ) -> list[Range]:
        inside = _Frame(body, frame.values.new_child(self._initializers(body)), frame.bindings)
        states = self._states(node, given) if kind == "Scan" else 0
        for i, value in enumerate(body.proto.input):
            dtype = self._dtype(body, value.name)
            known = full(dtype, "carried by a loop")
            if kind == "Loop" and i == 0:
                trips = given[0] or Range(None)
                last = max(int(trips.hi) - 1, 0) if trips.dtype == "int64" else 2**63 - 1
                known = Range("int64", 0, last, why="number of the loop's round", assumptions=trips.assumptions)
            elif kind == "Loop" and i > 1 and dtype is None and i < len(given):
                known = full((given[i] or Range(None)).dtype, "carried by a loop")
            elif kind == "Scan" and i >= states and i < len(given):
                known = replace(given[i] or Range(None), constant=False)
            self._set(inside, value.name, known)
        self._follow(inside, body.outputs)
        return [self.value(inside, name) for name in body.outputs]

    def _call(self, frame: _Frame, node: NodeProto, function: FunctionProto, where: str) -> list[Range]:
        self.calls += 1
        if self.calls > _MOST_CALLS:
            self._open_call(function, where)
            return []
        given = [*node.input, *[""] * len(function.input)]
        values: dict[str, Value] = {
            name: frame.values.get(one) or full(self._dtype(frame.scope, one), "input")
            for name, one in zip(function.input, given, strict=False)
        }
        bound = {a.name: a for a in function.attribute_proto}
        bound |= {a.name: a for a in filled_in(node, frame.bindings)}
        return self._enter(function, where, values, bound)

    def _open_call(self, function: FunctionProto, where: str) -> None:
        """Follow a function once for operands that can be anything."""
        if where in self.opened:
            return
        self.opened.add(where)
        scope = self.scopes[where]
        values: dict[str, Value] = {name: full(self._dtype(scope, name), "input") for name in function.input}
        self._enter(function, where, values, {a.name: a for a in function.attribute_proto})

    def _enter(
        self, function: FunctionProto, where: str, values: dict[str, Value], bound: Mapping[str, AttributeProto]
    ) -> list[Range]:
        self.called.add(where)
        inside = _Frame(self.scopes[where], ChainMap(values), bound)
        self._follow(inside, list(function.output))
        return [self.value(inside, name) for name in function.output]
