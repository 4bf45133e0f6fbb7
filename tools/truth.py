"""What a runtime really does with one judged node of a model, found by running it, and how that is counted.

A subtraction stands for any operator that is judged.

The model runs as it is. Then it runs cut at the subtraction: what makes the operands, behind barriers that runtimes
neither remove nor join through; the contract's difference of what came; and what reads it, with the difference as an
input. A difference of constants alone is a constant there, because runtimes compute its readers beforehand as well.
Where both give the same bits, the subtraction does no harm. Where they do not, the cut may have changed another
operator; so a difference counts only where two more ways agree:

- the model with the difference as an input, and all the rest as it is, differs too;
- for float16, it gives what the cut gave: barriers keep nothing where runtimes compute it in float32;
- else the subtraction by itself is wrong on those operands, or with barriers around it the answer changes (neighbours
  did it), or the same model is right under the runtime's hint; not where what differs lies behind another node that is
  reported, and this one is not.

Where +0 is subtracted, which changes no value, nothing counts that the model without the subtraction does as well.
"""

from __future__ import annotations

import functools
import platform
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

import minuend as mn
from minuend.core.elements import TYPES, ElementType, of_numpy
from minuend.errors import MinuendError, SpecError
from minuend.onnx.documents.tensors import element_kind
from minuend.onnx.graphs.declared import constant_outputs, kinds
from minuend.onnx.graphs.inference import infer_types
from minuend.onnx.graphs.nesting import captured
from minuend.onnx.graphs.walk import Scope, walk
from minuend.operators import SUBTRACT
from minuend.runtimes import values
from minuend.runtimes.finding import Finding
from minuend.runtimes.quirks import quirks
from minuend.runtimes.running import Output, Refused, Runtime

FINE, DIFFERENT, MASKED, UNCLEAR, REFUSED, NOT_RUN = (
    "fine",
    "different",
    "different inside, not in any output",
    "unclear",
    "refused for it",
    "model not run",
)
"""What really happened. ``NOT_RUN``: the runtime refuses the model for another reason than this subtraction."""

TRUTHS = (FINE, DIFFERENT, MASKED, UNCLEAR, REFUSED, NOT_RUN)

Array = np.ndarray[Any, np.dtype[Any]]
Feeds = Mapping[str, Array]

SETTINGS = (("openvino-cpu", ""), ("openvino-cpu", "f32"), ("onnxruntime-cpu", ""))
"""Runtimes and their precision hints."""


# ---- running ----------------------------------------------------------------------------------------------------


def ask(runtime: Runtime, model: ModelProto, fed: Feeds, hint: str) -> list[Output] | Refused:
    """Run a model on those of some arrays that it takes."""
    stored = {tensor.name for tensor in model.graph.initializer}
    given: list[tuple[str, ElementType | None, Any]] = []
    for value in model.graph.input:
        if value.name in stored and value.name not in fed:
            continue
        array = np.ascontiguousarray(fed[value.name]).reshape(fed[value.name].shape)
        element = of_numpy(array.dtype)
        given.append((value.name, element, array.view(np.uint8 if element is None else f"u{array.dtype.itemsize}")))
    answer = runtime.query("onnx", model.SerializeToString(), b"", given, hint)
    if isinstance(answer, Refused) and answer.message.startswith("the process dies"):  # which some do now and then
        answer = runtime.query("onnx", model.SerializeToString(), b"", given, hint)
    return answer


def ranked(model: ModelProto, fed: Feeds) -> ModelProto:
    """Declare the shapes of inputs that lack a rank: openvino takes none without."""
    open_ = [value.name for value in model.graph.input if not value.type.tensor_type.HasField("shape")]
    if not open_:
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    for value in copy.graph.input:
        if value.name in open_:
            value.type.tensor_type.shape.SetInParent()
            for size in fed[value.name].shape:
                value.type.tensor_type.shape.dim.add().dim_value = size
    return copy


def array_of(output: Output) -> Array:
    """An output's elements."""
    if output.element is None:
        return output.codes.view(np.bool_)
    found: Array = np.ascontiguousarray(output.codes).view(output.element.memory)
    return found.reshape(output.codes.shape)


def _type_of(output: Output) -> onnx.TypeProto:
    """The type of an output, of any sizes."""
    kind = TensorProto.BOOL if output.element is None else data_number(output.element.name)
    return helper.make_tensor_type_proto(kind, [None] * output.codes.ndim)


def same(one: Output, other: Output) -> bool:
    """Whether two outputs have the same bits, NaN equal to NaN."""
    if one.element is not other.element or one.codes.shape != other.codes.shape:
        return False
    unlike = one.codes != other.codes if one.element is None else values.differ(one.element, one.codes, other.codes)
    return not unlike.any()


# ---- one subtraction, and its model cut there -------------------------------------------------------------------


@dataclass
class Place:
    """A subtraction in a model: the live scope and the number of its node."""

    model: ModelProto
    scope: Scope
    index: int

    @property
    def node(self) -> NodeProto:
        """The node itself."""
        found: NodeProto = self.scope.nodes[self.index]
        return found

    @property
    def inside(self) -> bool:
        """Whether it stands in a body or a function."""
        return self.scope.parent is not None or not isinstance(self.scope.proto, onnx.GraphProto)


_WHERE = re.compile(r"(?P<scope>.*?)\.node\[(?P<index>\d+)\](?: '.*')?", re.DOTALL)


def place_of(model: ModelProto, where: str) -> Place:
    """Find a subtraction by the location of its finding, in a copy of the model."""
    found = _WHERE.fullmatch(where)
    assert found is not None, where
    copy = ModelProto()
    copy.CopyFrom(model)
    scope = next(scope for scope in walk(copy) if scope.where == found["scope"])
    return Place(copy, scope, int(found["index"]))


def _reads(node: NodeProto) -> list[str]:
    return [name for name in (*node.input, *captured(node)) if name]


def _ancestors(graph: onnx.GraphProto, goals: Iterable[str]) -> list[NodeProto]:
    """The nodes that make some values, in the graph's order."""
    made = {name: i for i, node in enumerate(graph.node) for name in node.output if name}
    waiting, kept = [name for name in goals if name in made], set()
    while waiting:
        i = made[waiting.pop()]
        if i not in kept:
            kept.add(i)
            waiting.extend(name for name in _reads(graph.node[i]) if name in made)
    return [graph.node[i] for i in sorted(kept)]


def _descendants(graph: onnx.GraphProto, name: str) -> set[str]:
    found = {name}
    grown = True
    while grown:
        grown = False
        for node in graph.node:
            if found.intersection(_reads(node)) and not found.issuperset(node.output):
                found.update(node.output)
                grown = True
    return found


def _part(
    model: ModelProto,
    nodes: Sequence[NodeProto],
    outputs: Sequence[ValueInfoProto],
    more_inputs: Sequence[ValueInfoProto] = (),
) -> ModelProto:
    """A model of some of a model's nodes."""
    read = {name for node in nodes for name in _reads(node)} | {value.name for value in outputs}
    made = ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    for repeated, kept in (
        (graph.node, list(nodes)),
        (graph.output, list(outputs)),
        (graph.input, [*(value for value in graph.input if value.name in read), *more_inputs]),
        (graph.initializer, [tensor for tensor in graph.initializer if tensor.name in read]),
        (graph.value_info, [value for value in graph.value_info if value.name in read]),
    ):
        copied = [type(one).FromString(one.SerializeToString()) for one in kept]
        del repeated[:]
        repeated.extend(copied)
    return made


def until(model: ModelProto, names: Sequence[str]) -> ModelProto:
    """What of a model makes some values, which become its outputs."""
    types = infer_types(model).types["graph"]
    outputs = [ValueInfoProto(name=name, type=types.get(name)) for name in names]  # the runtime infers what is missing
    return _part(model, _ancestors(model.graph, names), outputs)


def next_values(model: ModelProto, name: str) -> list[str]:
    """The first outputs of the nodes that read a value of the main graph."""
    return [node.output[0] for node in model.graph.node if name in _reads(node)]


NO_BARRIERS = ("float16", "bfloat16")
"""Types that runtimes compute in float32 throughout, so that nothing in a model makes them round."""


def barrier(dtype: str, name: str, through: str) -> list[NodeProto]:
    """Nodes that keep a float's value, and that runtimes neither remove nor join through; integers pass."""
    operator, inputs = ("Identity", [name]) if TYPES[dtype].is_integer else ("Max", [name, name])
    return [helper.make_node(operator, inputs, [through])]


@dataclass
class Cut:
    """A model around one subtraction of its main graph, in the parts that ask about it.

    Attributes:
        operands: makes the operands, as outputs; ``None`` where all are inputs or stored. rest: reads the result, its
            input; ``None`` where nothing does. whole: everything but the subtraction, the operands as outputs besides.
        others: everything but the subtraction, what no output needs as well.
        alone: the subtraction, its constants still constants. barred: all of it with barriers around it.
        stored: constants by name. reached: the numbers of the model's outputs that it reaches.
        folded: whether all operands depend on no input of the model, so that runtimes compute the difference once.
    """

    operands: ModelProto | None
    rest: ModelProto | None
    whole: ModelProto
    others: ModelProto
    alone: ModelProto
    barred: ModelProto
    stored: Mapping[str, Array]
    reached: list[int]
    folded: bool


def _watched(node: NodeProto) -> list[str]:
    """Names for the operands of a node, as they come out of barriers."""
    return [f"truth_of_{i}" for i in range(len(node.input))]


def _bars(dtype: str, node: NodeProto) -> list[NodeProto]:
    """Barriers behind the operands of a node."""
    pairs = zip(node.input, _watched(node), strict=True)
    return [bar for name, through in pairs for bar in barrier(dtype, name, through)]


def _stored(graph: onnx.GraphProto) -> Iterator[tuple[str, Array]]:
    for tensor in graph.initializer:
        if tensor.data_location != TensorProto.EXTERNAL:
            yield tensor.name, onnx.numpy_helper.to_array(tensor)
    for node in graph.node:
        for attribute in node.attribute if node.op_type == "Constant" else ():
            if attribute.name == "value":
                yield node.output[0], onnx.numpy_helper.to_array(attribute.t)


def cut(place: Place, dtype: str, types: Mapping[str, onnx.TypeProto]) -> Cut:
    """Cut a model at a subtraction of its main graph."""
    model, graph, node = place.model, place.model.graph, place.node
    operands, d = list(node.input), node.output[0]
    kind = data_number(dtype)
    others = [one for one in graph.node if one is not node]
    open_type = helper.make_tensor_type_proto(kind, None)
    given = ValueInfoProto(name=d, type=types.get(d, open_type))
    pairs = zip(_watched(node), operands, strict=True)
    watched = [ValueInfoProto(name=new, type=types.get(old, open_type)) for new, old in pairs]
    bars = _bars(dtype, node)
    stored = dict(_stored(graph))
    open_inputs = {value.name for value in graph.input} - set(stored)
    fed_names = {value.name for value in graph.input} | set(stored)
    makers = _ancestors(graph, [name for name in operands if name not in fed_names])
    reached = _descendants(graph, d)
    outputs = [value for value in graph.output if value.name in reached and value.name != d]
    behind = [one for one in _ancestors(graph, [value.name for value in outputs]) if one is not node]
    constants = [one for one in graph.node if one.op_type == "Constant" and one.output[0] in operands]
    fed = [helper.make_tensor_value_info(name, kind, None) for name in dict.fromkeys(operands) if name not in stored]
    rest = [value for value in graph.output if value.name != d]
    plain = _part(model, [*constants, node], [given])
    del plain.graph.input[:]
    plain.graph.input.extend(ValueInfoProto(name=one.name, type=types.get(one.name, one.type)) for one in fed)
    return Cut(
        operands=_part(model, [*(one for one in constants if one not in makers), *makers, *bars], watched)
        if makers
        else None,
        rest=_part(model, behind, outputs, [given]) if outputs else None,
        others=_part(model, [*others, *([] if rest else bars)], rest or watched, [given]),
        whole=_part(model, [*others, *bars], [*rest, *watched], [given]),
        alone=plain,
        barred=barred(place, dtype),
        stored=stored,
        reached=[i for i, value in enumerate(graph.output) if value.name in reached],
        folded=open_inputs.isdisjoint([*operands, *(name for one in makers for name in _reads(one))]),
    )


def with_constants(model: ModelProto, arrays: Feeds) -> ModelProto:
    """Return a model some of whose inputs are constants."""
    copy = ModelProto()
    copy.CopyFrom(model)
    kept = [value for value in copy.graph.input if value.name not in arrays]
    read = {value.name for value in copy.graph.input} & set(arrays)
    del copy.graph.input[:]
    copy.graph.input.extend(kept)
    copy.graph.initializer.extend(onnx.numpy_helper.from_array(arrays[name], name) for name in sorted(read))
    return copy


def barred(place: Place, dtype: str) -> ModelProto:
    """The whole model with barriers around a subtraction, in whatever scope it stands."""
    inner = place_of(place.model, f"{place.scope.where}.node[{place.index}]")
    node, nodes = inner.node, inner.scope.nodes
    d = node.output[0]
    between = ModelProto().graph.node
    for i, one in enumerate(nodes):
        if i == inner.index:
            between.extend(_bars(dtype, node))
            own = between.add()
            own.CopyFrom(one)
            own.input[:], own.output[0] = _watched(node), "truth_of_d"
            between.extend(barrier(dtype, "truth_of_d", d))
        else:
            between.add().CopyFrom(one)
    del nodes[:]
    nodes.extend(between)
    return inner.model


def data_number(dtype: str) -> int:
    """ONNX's number of an element type."""
    return int(getattr(TensorProto, {"float32": "FLOAT", "float64": "DOUBLE"}.get(dtype, dtype.upper())))


def reported(model: ModelProto, findings: Iterable[Finding]) -> set[str]:
    """The values of a model's main graph whose nodes a finding says to give different numbers."""
    found = (one for one in findings if one.verdict == "different-numbers" and one.location.startswith("graph.node["))
    return {place_of(model, one.location).node.output[0] for one in found}


# ---- the truth of one subtraction ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Truth:
    """What happened to one subtraction: one of :data:`TRUTHS`, and in a few words what was seen."""

    kind: str
    seen: str = ""


_GRAVEST = (DIFFERENT, REFUSED, UNCLEAR, MASKED, FINE, NOT_RUN)


class Trial:
    """A model on one runtime under one hint, run as it is on several sets of inputs.

    Args:
        runtime: what runs it. model: as it is. sets: arrays for its inputs. hint: its precision hint.
        exact: the trial under the hint that keeps float32, where this one is under the default precision.
        reported: the values of its main graph whose nodes a finding says to give different numbers.
    """

    def __init__(
        self,
        runtime: Runtime,
        model: ModelProto,
        sets: Sequence[Feeds],
        hint: str = "",
        exact: Trial | None = None,
        reported: Collection[str] = (),
    ) -> None:
        self.runtime, self.model, self.sets, self.hint, self.exact = runtime, model, sets, hint, exact
        self.reported = set(reported)
        self.answers = [ask(runtime, model, fed, hint) for fed in sets]
        self._found: dict[str, Truth] = {}

    @functools.cached_property
    def types(self) -> Mapping[str, onnx.TypeProto]:
        """The types of the values of its main graph; behind operators that ONNX lacks, of what the runtime gives."""
        found: Mapping[str, onnx.TypeProto] = infer_types(self.model).types["graph"]
        others = [name for node in self.model.graph.node for name in node.output if name and name not in found]
        answer = self.ask(until(self.model, others), self.sets[0]) if others else []
        given = {} if isinstance(answer, Refused) else dict(zip(others, map(_type_of, answer), strict=True))
        return {**found, **given}

    def truth(self, finding: Finding) -> Truth:
        """Say what happened to the subtraction of a finding."""
        if finding.location not in self._found:
            self._found[finding.location] = self._truth(finding)
        return self._found[finding.location]

    def _truth(self, finding: Finding) -> Truth:
        if self.exact is not None and all(map(alike, self.answers, self.exact.answers)):
            return self.exact.truth(finding)
        if finding.verdict == "invalid":
            refused = next((one.message for one in self.answers if isinstance(one, Refused)), "")
            return Truth(NOT_RUN, refused) if refused else Truth(UNCLEAR, "the model is invalid, and it runs")
        place = place_of(self.model, finding.location)
        if not finding.dtype:
            finding = replace(finding, dtype=self._dtype(place))
        if not finding.dtype:
            return Truth(UNCLEAR, "its type is not known")
        if place.inside:
            barriers = barred(place, finding.dtype)
            found = [self._inside(barriers, finding, k) for k in range(len(self.sets))]
        else:
            parts = cut(place, finding.dtype, self.types)
            found = [_Set(self, k, place, finding, parts).judged() for k in range(len(self.sets))]
        worst = min(found, key=lambda one: _GRAVEST.index(one.kind))
        if worst.kind == DIFFERENT and not all(
            alike(answer, self.ask(self.model, fed)) for answer, fed in zip(self.answers, self.sets, strict=True)
        ):
            return Truth(UNCLEAR, "it does not answer twice alike")
        return worst

    def _dtype(self, place: Place) -> str:
        """The element type of a node's result; empty where it is not known."""
        kind = None if place.inside else element_kind(self.types.get(place.node.output[0]))
        return (kind.name if kind is not None else None) or ""

    def deviating(self, finding: Finding) -> Iterator[tuple[Array, list[Array]]]:
        """Yield a first output for each set of inputs with which a node of the main graph makes it another, and values
        that it is made of, the last of which is what it should be.
        """
        place = place_of(self.model, finding.location)
        parts = cut(place, finding.dtype, self.types)
        for k, answer in enumerate(self.answers):
            one = _Set(self, k, place, finding, parts)
            if one.judged().kind != DIFFERENT or isinstance(answer, Refused):
                continue
            operands = one._operands()
            expected = operands if isinstance(operands, Refused) else one._rest(operands)
            if not isinstance(expected, Refused) and not isinstance(operands, Refused):
                made = [*self.sets[k].values(), *parts.stored.values(), *operands, one._result(operands)]
                yield array_of(answer[0]), [*made, array_of(expected[0])]

    def ask(self, model: ModelProto, fed: Feeds) -> list[Output] | Refused:
        """Run another model as this one is run."""
        given = ranked(model, fed)
        if "output without shape" in quirks(self.runtime.name).strict:
            given = onnx.shape_inference.infer_shapes(given, data_prop=True)
        if "output of constants" in quirks(self.runtime.name).strict and "output of constants" in kinds(given):
            return self._by_parts(given, fed)
        return ask(self.runtime, given, fed, self.hint)

    def _by_parts(self, model: ModelProto, fed: Feeds) -> list[Output] | Refused:
        """Run what makes constants apart from the rest: the runtime refuses both together."""
        names, constants = [one.name for one in model.graph.output], constant_outputs(model)
        found: dict[str, Output] = {}
        for part in ([one for one in names if one not in constants], sorted(constants)):
            kept = [value for value in model.graph.output if value.name in part]
            answer = ask(self.runtime, _part(model, _ancestors(model.graph, part), kept), fed, self.hint)
            if isinstance(answer, Refused):
                return answer
            found |= {value.name: output for value, output in zip(kept, answer, strict=True)}
        return [found[name] for name in names]

    def _inside(self, barriers: ModelProto, finding: Finding, k: int) -> Truth:
        """In a body or a function there is no cut: barriers tell of neighbours, and no more."""
        answer = self.answers[k]
        if isinstance(answer, Refused):
            return Truth(NOT_RUN, answer.message)
        other = self.ask(barriers, self.sets[k])
        if isinstance(other, Refused):
            return Truth(UNCLEAR, f"with barriers it is refused: {other.message}")
        if not alike(answer, other):
            return Truth(DIFFERENT, "barriers in the body change it")
        alone = finding.verdict == "different-numbers" and not finding.graph
        return Truth(UNCLEAR, "in a body it is not asked by itself") if alone else Truth(FINE, "in a body")


@dataclass
class _Set:
    """One subtraction on one set of inputs."""

    trial: Trial
    k: int
    place: Place
    finding: Finding
    parts: Cut

    def __post_init__(self) -> None:
        self.fed = self.trial.sets[self.k]
        self.names, self.d = list(self.place.node.input), self.place.node.output[0]

    def judged(self) -> Truth:
        """What happened; unclear where the runtime makes operands, cut, that cannot be subtracted."""
        try:
            return self.truth()
        except SpecError as error:
            return Truth(UNCLEAR, f"cut, its operands do not fit: {error}")

    def truth(self) -> Truth:
        answer = self.trial.answers[self.k]
        if isinstance(answer, Refused):
            return Truth(REFUSED if self._runs_without() else NOT_RUN, answer.message)
        operands = self._operands()
        cut_outputs = operands if isinstance(operands, Refused) else self._rest(operands)
        if isinstance(cut_outputs, Refused) or isinstance(operands, Refused):
            assert isinstance(cut_outputs, Refused)
            return Truth(UNCLEAR, f"cut it is refused: {cut_outputs.message}")
        got = [answer[i] for i in self.parts.reached]
        if all(map(same, got, cut_outputs)):
            words = self._shown(operands) if self.finding.verdict == "different-numbers" else ""
            return Truth(MASKED, f"by itself {words}") if words else Truth(FINE)
        seen = _seen(got, cut_outputs)
        if self._is_contracts(got) or self._is_same_without(got):
            return Truth(FINE, "cut, the runtime makes other operands or results")
        whole = self._whole()
        if isinstance(whole, Refused):
            return Truth(UNCLEAR, f"{seen}; without the subtraction it is refused: {whole.message}")
        if all(map(same, got, whole)):
            return Truth(UNCLEAR, f"{seen}; not with the rest of the model whole")
        if alone := self._alone(operands):
            return Truth(DIFFERENT, f"{seen}; by itself {alone}")
        if self._is_lost_by_an_extreme(got, cut_outputs):
            return Truth(UNCLEAR, f"{seen}; Max and Min keep NaN or not, by the order in which they are given it")
        if self.finding.dtype in NO_BARRIERS and all(map(same, cut_outputs, whole)):
            return Truth(DIFFERENT, f"{seen}; cut in two ways alike")
        if self._is_behind_reported(got, cut_outputs):
            return Truth(UNCLEAR, f"{seen}; behind a node that is reported itself")
        around = self.trial.ask(self.parts.barred, self.fed)
        if isinstance(around, Refused) or not all(map(same, answer, around)):
            return Truth(DIFFERENT, f"{seen}; not with barriers")
        exact = self.trial.exact
        if exact is not None and exact.truth(self.finding).kind in (FINE, MASKED):
            return Truth(DIFFERENT, f"{seen}; not with the hint")
        return Truth(UNCLEAR, f"{seen}; with barriers as well")

    def _is_contracts(self, got: Sequence[Output]) -> bool:
        """Whether the outputs that the subtraction reaches are those of every node by itself, each rounded once."""
        names = [self.trial.model.graph.output[i].name for i in self.parts.reached]
        try:
            computed = mn.run(until(self.trial.model, names), self.fed)
        except (MinuendError, OSError):
            return False
        return all(computed[name].tobytes() == array_of(one).tobytes() for name, one in zip(names, got, strict=True))

    def _is_same_without(self, got: Sequence[Output]) -> bool:
        """Whether +0 is subtracted, which changes no value, and readers of the operand itself give the same bits."""
        graph = self.trial.model.graph
        zeros = self.parts.stored.get(self.names[-1])
        adds = self.place.node.op_type != SUBTRACT.onnx or zeros is None or any(zeros.tobytes())
        types = [self.trial.types.get(name) for name in (self.d, self.names[0])]
        if adds or None in types or types[0] != types[1] or self.d in {value.name for value in graph.output}:
            return False
        model = ModelProto()
        model.CopyFrom(self.trial.model)
        model.graph.node.remove(next(one for one in model.graph.node if self.d in one.output))
        for node in model.graph.node:
            node.input[:] = [self.names[0] if name == self.d else name for name in node.input]
        answer = self.trial.ask(model, self.fed)
        return not isinstance(answer, Refused) and all(map(same, got, [answer[i] for i in self.parts.reached]))

    def _ask(self, model: ModelProto, given: Feeds) -> list[Output] | Refused:
        """Run a part of the model with values that are given to it, as constants where they are folded."""
        if self.parts.folded:
            return self.trial.ask(with_constants(model, given), self.fed)
        return self.trial.ask(model, {**self.fed, **given})

    def _operands(self) -> list[Array] | Refused:
        """The operands: as they are fed or stored, else as the runtime makes them."""
        known = {**self.parts.stored, **self.fed}
        if self.parts.operands is not None:
            made = self.trial.ask(self.parts.operands, self.fed)
            if isinstance(made, Refused):
                return made
            known = {**dict(zip(self.names, map(array_of, made), strict=True)), **known}
        return [known[name] for name in self.names]

    def _result(self, operands: Sequence[Array]) -> Array:
        """The contract's result of the node by itself."""
        node = self.place.node
        if node.op_type == SUBTRACT.onnx:
            attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
            found: Array = mn.onnx.sub(*operands, opset=self.place.scope.opset, **attributes)
            return found
        pairs = zip(self.names, operands, strict=True)
        computed = mn.run(self.parts.alone, {name: one for name, one in pairs if name not in self.parts.stored})
        return np.asarray(computed[self.d])

    def _rest(self, operands: Sequence[Array]) -> list[Output] | Refused:
        """The outputs that the subtraction reaches, from the contract's difference."""
        difference = self._result(operands)
        rest: list[Output] | Refused = []
        if self.parts.rest is not None:
            rest = self._ask(self.parts.rest, {self.d: difference})
        return rest if isinstance(rest, Refused) else self._joined(rest, difference)

    def _joined(self, others: Sequence[Output], difference: Array) -> list[Output]:
        """Outputs in the model's order; the difference itself is one where the model has it as one."""
        waiting = iter(others)
        own = Output(TYPES[self.finding.dtype], difference.view(f"u{difference.itemsize}"))
        names = [self.trial.model.graph.output[i].name for i in self.parts.reached]
        return [own if name == self.d else next(waiting) for name in names]

    def _is_behind_reported(self, got: Sequence[Output], cut_outputs: Sequence[Output]) -> bool:
        """Whether this finding reports nothing, and outputs differ behind such alone that do: a runtime computes those
        in one way or another, by what it can join them with.
        """
        if self.finding.verdict == "different-numbers":
            return False
        return self._unlike(got, cut_outputs) <= self._behind(self.trial.reported - {self.d})

    def _is_lost_by_an_extreme(self, got: Sequence[Output], cut_outputs: Sequence[Output]) -> bool:
        """Whether NaN alone is lost, or comes, and all of it behind Max and Min."""
        if self.finding.verdict == "different-numbers":
            return False
        graph = self.trial.model.graph
        extremes = {node.output[0] for node in graph.node if node.op_type in ("Max", "Min")}
        pairs = [
            (array_of(one), array_of(two)) for one, two in zip(got, cut_outputs, strict=True) if not same(one, two)
        ]
        return self._unlike(got, cut_outputs) <= self._behind(extremes) and all(
            one.shape == two.shape and bool(((one == two) | np.isnan(one) | np.isnan(two)).all()) for one, two in pairs
        )

    def _unlike(self, got: Sequence[Output], cut_outputs: Sequence[Output]) -> set[str]:
        graph = self.trial.model.graph
        names = (graph.output[i].name for i in self.parts.reached)
        return {name for name, one, other in zip(names, got, cut_outputs, strict=True) if not same(one, other)}

    def _behind(self, names: Iterable[str]) -> set[str]:
        return set[str]().union(*(_descendants(self.trial.model.graph, name) for name in names))

    def _runs_without(self) -> bool:
        """Whether the model runs where the difference is given to it."""
        operands = self._operands()
        if isinstance(operands, Refused) or isinstance(self._rest(operands), Refused):
            return False
        given = {self.d: self._result(operands)}
        return not isinstance(self._ask(self.parts.others, given), Refused)

    def _whole(self) -> list[Output] | Refused:
        """The outputs that the subtraction reaches, with all of the model but the subtraction."""
        first = self._operands()
        if isinstance(first, Refused):
            return first
        made = self._ask(self.parts.whole, {self.d: self._result(first)})
        if isinstance(made, Refused):
            return made
        watched = map(array_of, made[-len(self.names) :])
        known = {**dict(zip(self.names, watched, strict=True)), **self.parts.stored, **self.fed}
        difference = self._result([known[name] for name in self.names])
        made = self._ask(self.parts.whole, {self.d: difference})
        if isinstance(made, Refused):
            return made
        graph = self.trial.model.graph
        others = [value.name for value in graph.output if value.name != self.d]
        reached = {graph.output[i].name for i in self.parts.reached}
        return self._joined([made[i] for i, name in enumerate(others) if name in reached], difference)

    def _shown(self, operands: Sequence[Array]) -> str:
        """How the subtraction by itself is wrong: on its operands, as they are or should be; or on the finding's own
        pair, or zeros.
        """
        words = self._alone(operands)
        if words or "(" in self.finding.graph:  # an adjacent operator decided
            return words
        witness = self.finding.witness
        zeros = [(-0.0, 0.0)[-len(operands) :], (0.0, 0.0)[-len(operands) :], (-0.0,) * len(operands)]
        own = witness is not None and len(witness.operands) == len(operands)
        for numbers_ in [witness.operands] if witness is not None and own else zeros:
            given = zip(self.names, operands, numbers_, strict=True)
            filled = [one if name in self.parts.stored else np.full_like(one, value) for name, one, value in given]
            if words := self._alone(filled):
                return words
        contracts = self._contracts_operands()
        return "" if contracts is None else self._alone(contracts)

    def _contracts_operands(self) -> list[Array] | None:
        """The operands as the contract has them, where the runtime makes others: nodes before can be wrong, too."""
        known = {**self.parts.stored, **self.fed}
        made = [name for name in self.names if name not in known]
        try:
            known |= mn.run(until(self.trial.model, made), self.fed) if made else {}
        except (MinuendError, OSError):
            return None
        return [known[name] for name in self.names] if made else None

    def _alone(self, operands: Sequence[Array]) -> str:
        """What the subtraction by itself gives otherwise on these operands; empty where nothing."""
        answer = self._ask(self.parts.alone, dict(zip(self.names, operands, strict=True)))
        if isinstance(answer, Refused):
            return ""
        wanted = self._result(operands)
        return _first_unlike(answer[0], Output(TYPES[self.finding.dtype], wanted.view(f"u{wanted.itemsize}")))


def alike(one: list[Output] | Refused, other: list[Output] | Refused) -> bool:
    """Whether two answers have the same bits, or both are refusals."""
    if isinstance(one, Refused) or isinstance(other, Refused):
        return isinstance(one, Refused) and isinstance(other, Refused)
    return len(one) == len(other) and all(map(same, one, other))


def _seen(got: Sequence[Output], wanted: Sequence[Output]) -> str:
    return next((words for words in map(_first_unlike, got, wanted) if words), "")


def _first_unlike(got: Output, wanted: Output) -> str:
    """Say how many elements differ, and the first of them."""
    if same(got, wanted):
        return ""
    if got.element is not wanted.element or got.codes.shape != wanted.codes.shape:
        return f"{got.element} {got.codes.shape} for {wanted.element} {wanted.codes.shape}"
    element = got.element
    unlike = got.codes != wanted.codes if element is None else values.differ(element, got.codes, wanted.codes)
    i = int(np.flatnonzero(unlike)[0])
    x, y = array_of(got).reshape(-1)[i], array_of(wanted).reshape(-1)[i]
    return f"{int(unlike.sum())} of {unlike.size} differ, {x!s} for {y!s}"


# ---- inputs -----------------------------------------------------------------------------------------------------

ORDINARY, POSITIVE, EDGES, FEW, ANY = "ordinary", "positive", "edges", "few", "any"
"""Sets of inputs: numbers of many sizes; above 0 alone; edges of the type among them (no number, infinite, subnormal,
zeros); small numbers that meet each other and the constants of a model, zeros of both signs among them; and numbers of
all sizes that the type has."""


def numbers(
    dtype: str, shape: Sequence[int], kind: str, source: np.random.Generator, known: Sequence[float] = ()
) -> Array:
    """Return made elements of an input; ``known`` are numbers that its model has as constants."""
    count = int(np.prod(shape, dtype=np.int64))
    if dtype == "bool":
        return source.integers(0, 2, tuple(shape)).astype(np.bool_)
    element = TYPES[dtype]
    if element.is_integer:
        found = source.integers(0, 20, count).astype(element.memory)
    else:
        wide = source.standard_normal(count) * np.exp2(source.integers(-6, 7, count))
        found = (np.abs(wide) if kind == POSITIVE else wide).astype(np.float32).astype(element.memory)
    if kind == FEW:
        more = _near_ends(element, known) if element.is_integer else [-0.0, -1.0, 0.5, 0.3, -0.3, *known]
        few = np.array([0, 1, 2, 3, *more], element.memory if element.is_integer else np.float64)
        chosen = few[source.integers(0, len(few), count)].astype(element.memory)
        found = np.where(source.integers(0, 3, count) == 0, found, chosen)
    if kind == ANY:
        bits = source.integers(0, 1 << 63, count, dtype=np.uint64) << np.uint64(1)
        found = (bits >> np.uint64(64 - element.bits)).astype(f"u{found.itemsize}").view(element.memory)
    if kind == EDGES:
        edges = values.of(SUBTRACT, element, full=False).codes
        codes = found.view(f"u{found.itemsize}").copy()
        place = source.integers(0, 3, count) == 0
        codes[place] = edges[source.integers(0, len(edges), int(place.sum()))]
        found = codes.view(element.memory)
    return found.reshape(tuple(shape))


def _near_ends(element: ElementType, known: Sequence[float]) -> list[int]:
    """Whole numbers that constants take over the ends of their type, or of int32; none where no number is known."""
    ends = {element.limits[0], element.limits[1], *((-(2**31), 2**31 - 1) if element.bits > 32 else ())}
    near = (end + sign * int(one) for end in ends for one in {0, *known} if known and one % 1 == 0 for sign in (-1, 1))
    return sorted({one for one in near if element.limits[0] <= one <= element.limits[1]})


# ---- counting ---------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """Verdicts beside what happened, for each runtime and hint."""

    counts: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)

    def add(self, target: str, hint: str, verdict: str, truth: str) -> None:
        """Count one."""
        self.counts[target, hint, verdict, truth] += 1

    def total(self, verdict: str, *truths: str) -> int:
        """How many have a verdict and one of some truths."""
        return sum(n for (_, _, v, t), n in self.counts.items() if v == verdict and t in truths)

    @property
    def false_ok(self) -> int:
        """Verdicts ``ok`` that are not true."""
        return self.total("ok", DIFFERENT, REFUSED)

    @property
    def false_alarms(self) -> int:
        """Verdicts ``different-numbers`` of which nothing was seen."""
        return self.total("different-numbers", FINE)

    def table(self) -> str:
        """Return the counts as a Markdown table."""
        lines = [
            "| runtime | verdict | " + " | ".join(TRUTHS) + " |",
            "|---|---|" + "---:|" * len(TRUTHS),
        ]
        for target, hint, verdict in sorted({key[:3] for key in self.counts}):
            cells = [str(self.counts[target, hint, verdict, truth] or "") for truth in TRUTHS]
            named = f"{target}, hint {hint}" if hint else target
            lines.append(f"| {named} | {verdict} | " + " | ".join(cells) + " |")
        return "\n".join(lines)

    def summary(self) -> str:
        """Return the two counts that matter, in a sentence."""
        return f"False `ok`: {self.false_ok}. False `different-numbers`: {self.false_alarms}."


def is_false(finding: Finding, truth: Truth) -> bool:
    """Whether a verdict is wrong."""
    if finding.verdict == "ok":
        return truth.kind in (DIFFERENT, REFUSED)
    return finding.verdict == "different-numbers" and truth.kind == FINE


def versions() -> str:
    """Say what was measured with."""
    named = ("onnx", "onnxruntime", "openvino", "numpy")
    return ", ".join(f"{name} {metadata.version(name)}" for name in named) + f" on {platform.machine()}"
