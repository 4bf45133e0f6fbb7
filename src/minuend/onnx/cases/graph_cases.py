"""Patterns as ONNX models: the judged operator with an adjacent one, and the adjacent one alone."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from minuend.core.elements import TYPES
from minuend.core.shapes import static
from minuend.models.fusions import ENDS, NORMALISATIONS
from minuend.models.matching.match import ADJACENT, SHARED, THROUGH, WITHIN, ZEROS
from minuend.models.matching.operator_groups import ARITHMETIC, CHAINED, FACTORS, LINEAR, NARROW, WITH_ZERO
from minuend.models.patterns import LAST, POWERS, RESULT, Const, Distant, How, Op, Softmax, Term, X, less, of_side
from minuend.onnx.cases.adjacent_operators import (
    CONVERTED,
    IMAGE,
    NARROW_CONVERTED,
    NARROW_OPSET,
    OPERATORS,
    Given,
    Operator,
    int64,
)
from minuend.onnx.documents import tensors
from minuend.onnx.documents.tensors import Array
from minuend.onnx.graphs.flow import FUNCTION
from minuend.onnx.graphs.nesting import captured
from minuend.onnx.graphs.scope import shape_of
from minuend.onnx.versions import DIALECT
from minuend.runtimes.pattern_cases import DIFFERENCE, Built, Feed, GraphCase, Part

SCALAR, ARRAY, ANY = Const.SCALAR, Const.ARRAY, Const.ANY
_OWN = ((X, X), (X, SCALAR), (X, ARRAY), (SCALAR, X), (ARRAY, X))
_PLAIN = ((X, X), (X, ANY), (ANY, X))
_IR_VERSION = 8
_OPSET = 13
"""The opset of a case where no operator needs a later one; every release that is measured reads it."""

_SQUARE = {"Pow": "p = Pow(d, two)", "Mul": "p = Mul(d, d)"}
_ROOT = {"Sqrt": "s = Sqrt(w)", "Pow": "s = Pow(w, half)"}
_DIVISION = {"Div": "q = Div(d, s)", "Reciprocal": "r = Reciprocal(s); q = Mul(d, r)"}
_END = dict(zip(ENDS, ("y = Identity(q)", "y = Mul(q, g)", "m = Mul(q, g); y = Add(m, h)"), strict=True))
_SOFTMAX = "e = Exp(d); s = ReduceSum(e, axes); y = Div(e, s)"
"""What reads the difference in operators that runtimes know as one."""


def graph_cases(dtype: str) -> Iterator[GraphCase]:
    """Yield the patterns of an element type, but for what shapes are known to be."""
    yield from _by_itself(dtype)
    if dtype == "float32":
        yield from _chained(dtype)
    if dtype in ("float32", "float16"):
        yield from _together(dtype)
    for row in _rows(dtype):
        if "maker" in row.places:
            yield from _as_maker(row, dtype)
        if "reader" in row.places:
            yield from _as_reader(row, dtype)
    for kind in (*CONVERTED, *NARROW_CONVERTED.get(dtype, ())):
        yield from _converted(kind, dtype)


def _by_itself(dtype: str) -> Iterator[GraphCase]:
    """Nothing adjacent to the subtraction, a constant 0, or a body around it."""
    for a, b in _OWN:
        yield GraphCase(less(a, b), dtype, ("bare", a, b))
    yield GraphCase(less(X, X), dtype, ("twice",))
    signs = 1 if TYPES[dtype].is_integer else 2
    for size, shape in (("one", ()), ("one", (1, 1, 1, 1)), ("array", IMAGE)):
        for zero, value in list(zip(ZEROS[size], (0.0, -0.0), strict=True))[:signs]:
            for made, read in itertools.product((False, True), repeat=2):
                form = WITHIN if made and read else ADJACENT
                for side in ("B", "A"):
                    how = ("zero", side, value, shape, made, read)
                    yield GraphCase(of_side(side, zero, X), dtype, how, form)
    for kind in _BODIES:
        yield GraphCase(Distant(kind, How.AROUND, less(X, X)), dtype, ("inside", kind))


def _together(dtype: str) -> Iterator[GraphCase]:
    """Operators that runtimes know as one."""
    for shape in (IMAGE, (64,)):
        how: tuple[object, ...] = ("fused", "ReduceMax", _SOFTMAX, shape, (-1,), shape[-1:])
        yield GraphCase(Softmax(), dtype, how, mixes=True)
    last = ((IMAGE, (-1,), IMAGE[-1:]), ((64,), (-1,), (64,)))
    others = ((IMAGE, (1,), (IMAGE[1], 1, 1)), (IMAGE, (2, 3), (IMAGE[1], 1, 1)))
    for one in NORMALISATIONS:
        behind = "; ".join((
            _SQUARE[one.square], "v = ReduceMean(p); w = Add(v, eps)", _ROOT[one.root], _DIVISION[one.division],
            _END[one.parameters],
        ))  # fmt: skip
        for shape, axes, parameters in last if one.axes == LAST else others:
            how = ("fused", "ReduceMean", behind, shape, axes, parameters)
            yield GraphCase(one, dtype, how, mixes=True)


def _chained(dtype: str) -> Iterator[GraphCase]:
    """Three linear operators in a row, one of them the subtraction, each with a constant."""
    ways = [Op(name, given) for name in CHAINED for given in ((RESULT, ANY), (ANY, RESULT))]
    for side in ("A", "B"):
        own = of_side(side, X, ANY)
        for first, second in itertools.product(ways, ways):
            made = second.with_result(first.with_result(X))
            yield GraphCase(of_side(side, made, ANY), dtype, ("chain", side, (first, second), ()))
            read = second.with_result(first.with_result(own))
            yield GraphCase(read, dtype, ("chain", side, (), (first, second)))
            between = second.with_result(of_side(side, first.with_result(X), ANY))
            yield GraphCase(between, dtype, ("chain", side, (first,), (second,)))


def _converted(kind: str, dtype: str) -> Iterator[GraphCase]:
    """A conversion from or to another type."""
    opset = NARROW_OPSET if kind in NARROW_CONVERTED.get(dtype, ()) else _OPSET
    row = Operator("Cast", attributes={"to": _number(dtype)}, opset=opset, source=kind)
    for side in ("A", "B"):
        for own in (X, ANY):
            made = Op("Cast", (X,), types=(kind, dtype))
            yield GraphCase(of_side(side, made, own), dtype, ("cast", side, own, (X,), row))
    row = Operator("Cast", attributes={"to": _number(kind)}, opset=opset)
    for a, b in _PLAIN:
        read = Op("Cast", (less(a, b),), types=(dtype, kind))
        yield GraphCase(read, dtype, ("cast_to", a, b, (RESULT,), row))


def _rows(dtype: str) -> Iterator[Operator]:
    for row in OPERATORS:
        if (dtype == "float32" and row.floats and row.index is None) or dtype in row.types:
            yield row


def _given(row: Operator, dtype: str) -> Iterator[tuple[tuple[Term, ...], float | None]]:
    """The operands of an operator, with the number of a power of two among them."""
    for given in row.given:
        yield given, None
        if row.name == "Mul" and SCALAR in given and dtype in WITH_ZERO:
            yield tuple(Const.ZERO if one == SCALAR else one for one in given), None
        other = tuple(Const.POWER if one == SCALAR else one for one in given)
        exact = row.name == "Mul" or given[-1] == SCALAR  # a power over a number rounds
        if row.name in FACTORS and other != given and exact and not TYPES[dtype].is_integer and dtype not in NARROW:
            yield from ((other, power) for power in POWERS)


def _as_maker(row: Operator, dtype: str) -> Iterator[GraphCase]:
    for given, power in _given(row, dtype):
        for side in ("A", "B"):
            for own in (X, SCALAR, ARRAY) if row.name in ARITHMETIC else (X, ANY):
                pattern = of_side(side, Op(row.name, given), own)
                how = ("maker", side, own, given, row)
                for form in _forms(row, dtype):
                    yield GraphCase(pattern, dtype, how, form, row.mixes, power=power)
                if own == ANY and row.mixes and row.shape == IMAGE:
                    yield GraphCase(pattern, dtype, how, ADJACENT, row.mixes, channels=True)


def _as_reader(row: Operator, dtype: str) -> Iterator[GraphCase]:
    own = _OWN if row.name in ARITHMETIC else _PLAIN
    if row.index is not None:
        for a, b in own:
            pattern = Op(row.name, (less(a, b),), place=row.index[0])
            yield GraphCase(pattern, dtype, ("index", a, b, row), mixes=True)
        return
    for terms, power in _given(row, dtype):
        for given in _read(row, terms):
            for a, b in own:
                pattern = Op(row.name, given).with_result(less(a, b))
                for form in _forms(row, dtype):
                    yield GraphCase(pattern, dtype, ("reader", a, b, given, row), form, row.mixes, power=power)
            if given.count(RESULT) == 1 and power is None and Const.ZERO not in given:
                behind = Distant(row.name, How.BEHIND, less(X, X))
                yield GraphCase(behind, dtype, ("later", given, row), mixes=True)
                if dtype == "float32" and (row.mixes or terms == row.given[0]):
                    for how in (How.FED, How.PASSED):
                        fed = Distant(row.name, how, less(X, X))
                        yield GraphCase(fed, dtype, ("fed", given, row, how), mixes=True, by_default=True)


def _forms(row: Operator, dtype: str) -> tuple[str, ...]:
    if dtype == "float16" and not row.mixes and "maker" in row.places:
        return (ADJACENT, WITHIN)  # where all around it is in float32, a runtime can have it in float32 too
    return (ADJACENT, THROUGH, SHARED) if row.name in LINEAR and dtype == "float32" else (ADJACENT,)


def _read(row: Operator, terms: tuple[Term, ...]) -> Iterator[tuple[Term, ...]]:
    """The operands of a reader: each hole in turn is the judged operator's result."""
    for i, one in enumerate(terms):
        if one == X and not (row.name == "Where" and i == 0):
            yield (*terms[:i], RESULT, *terms[i + 1 :])
    if terms == (X, X):
        yield (RESULT, RESULT)


# ---- models -----------------------------------------------------------------------------------------------------


def build(case: GraphCase) -> Built:
    """Return a case's models: the adjacent operator and the subtraction together, and it alone."""
    draft = _Draft(case)
    kind, *how = case.how
    outputs = getattr(draft, kind)(*how)
    return draft.built(outputs)


def many(dtype: str, scalars: Array, shape: tuple[int, ...]) -> Part:
    """Return a model whose outputs are its input less each of some scalars, constants of the model."""
    opset = _OPSET if dtype in DIALECT.resolve(_OPSET).types else _OPSET + 1
    value = functools.partial(helper.make_tensor_value_info, elem_type=_number(dtype), shape=shape)
    names = [str(i) for i in range(len(scalars))]
    nodes = [helper.make_node("Sub", ["x", f"c{i}"], [f"y{i}"]) for i in names]
    constants = [_tensor(scalar, f"c{i}") for i, scalar in zip(names, scalars, strict=True)]
    graph = helper.make_graph(nodes, "many", [value("x")], [value(f"y{i}") for i in names], constants)
    imports = [helper.make_opsetid("", opset)]
    return _part(helper.make_model(graph, opset_imports=imports, ir_version=_IR_VERSION))


class _Draft:
    """Nodes, constants and inputs of a case's model while it is written.

    The operands of the subtraction are ``a`` and ``b``, its result is ``d``, the adjacent operator's ``y``.
    """

    def __init__(self, case: GraphCase) -> None:
        self.case, self.dtype = case, case.dtype
        self.before: list[NodeProto] = []
        self.behind: list[NodeProto] = []
        self.constants: dict[str, Array] = {}
        self.feeds: dict[str, Feed] = {}
        self.names = {"A": "a", "B": "b"}
        self.terms: set[str] = set()
        self.axes: tuple[int, ...] = ()
        self.opset = _OPSET if self.dtype in DIALECT.resolve(_OPSET).types else _OPSET + 1
        self.functions: list[onnx.FunctionProto] = []

    # ---- the ways of a case ----

    def maker(self, side: str, own: Term, given: tuple[Term, ...], row: Operator) -> list[str]:
        """The operator makes an operand."""
        made = self._operator(self.before, row, given, "", "t")
        self.names[side] = self._moved(self.before, made)
        other = "B" if side == "A" else "A"
        self._value(own, self.names[other], self.dtype, self._shape(self.names[side]))
        if self.case.form != SHARED:
            return ["d"]
        self.behind.append(helper.make_node("Abs", [made], ["other"]))
        return ["d", "other"]

    def reader(self, a: Term, b: Term, given: tuple[Term, ...], row: Operator) -> list[str]:
        """The operator reads the difference."""
        self._operands(a, b, row.shape, row.values)
        self._operator(self.behind, row, given, self._moved(self.behind, "d"), "y")
        if self.case.form == WITHIN:
            self.behind.append(helper.make_node("Neg", ["y"], ["other"]))
            return ["other"]
        if self.case.form != SHARED:
            return ["y"]
        self.behind.append(helper.make_node("Abs", ["d"], ["other"]))
        return ["y", "other"]

    cast, cast_to = maker, reader

    def later(self, given: tuple[Term, ...], row: Operator) -> list[str]:
        """The operator is reached behind another."""
        if not self.before:
            self._operands(X, X, row.shape, row.values)
        self.behind.append(helper.make_node("Abs", ["d"], ["between"]))
        self._operator(self.behind, row, given, "between", "y")
        return ["y"]

    def fed(self, given: tuple[Term, ...], row: Operator, how: How) -> list[str]:
        """The operator is reached behind another, and operands are made; the difference is an output, too, or not."""
        for name in ("a", "b"):
            self._value(X, f"{name}_given", self.dtype, row.shape[::-1], row.values)
            self.before.append(helper.make_node("Transpose", [f"{name}_given"], [name]))
        outputs = self.later(given, row)
        if how is How.PASSED:
            self.behind.append(helper.make_node("Neg", ["between"], ["other"]))
            outputs = ["other", *outputs]
        return outputs

    def bare(self, a: Term, b: Term) -> list[str]:
        """Nothing is adjacent to the subtraction."""
        self._operands(a, b, IMAGE, "any")
        return ["d"]

    def twice(self) -> list[str]:
        """A value less itself."""
        self._value(X, "a", self.dtype, IMAGE)
        self.names["B"] = "a"
        return ["d"]

    def zero(self, side: str, value: float, shape: tuple[int, ...], made: bool, read: bool) -> list[str]:
        """One operand is a constant 0; a node makes the other, and another reads the result, or not."""
        zero, other = ("a", "b") if side == "A" else ("b", "a")
        self.terms.add(zero)
        self.constants[zero] = np.full(shape, value).astype(TYPES[self.dtype].memory)
        self._value(X, "given" if made else other, self.dtype, IMAGE)
        if made:
            self.before.append(helper.make_node("Max", ["given", "given"], [other]))
        if not read:
            return ["d"]
        self.behind.append(helper.make_node("Max", ["d", "d"], ["y"]))
        return ["y"]

    def chain(self, side: str, before: tuple[Op, ...], behind: tuple[Op, ...]) -> list[str]:
        """Linear operators in a row, each with a constant of its own."""
        numbers = iter((1.7, 0.3, -0.9))
        self.constants["k"] = self._one(next(numbers))
        self.terms |= {"k", "x"}
        self.feeds["x"] = Feed(self.dtype, IMAGE)
        name = self._row(self.before, before, "x", numbers)
        self.names = {"A": name, "B": "k"} if side == "A" else {"A": "k", "B": name}
        return [self._row(self.behind, behind, "d", numbers)]

    def _row(self, nodes: list[NodeProto], ways: tuple[Op, ...], name: str, numbers: Iterator[float]) -> str:
        for way in ways:
            stored, made = f"{name}_k", f"{name}_{way.operator.lower()}"
            self.constants[stored] = self._one(next(numbers))
            self.terms.add(stored)
            given = [name if one == RESULT else stored for one in way.operands]
            nodes.append(helper.make_node(way.operator, given, [made]))
            name = made
        return name

    def fused(
        self, reduction: str, behind: str, shape: tuple[int, ...], axes: tuple[int, ...], parameters: tuple[int, ...]
    ) -> list[str]:
        """Several nodes that runtimes know as one, in ONNX's text form."""
        self._value(X, "x", self.dtype, shape, "finite")
        self.axes = tuple(axis % len(shape) for axis in axes)
        self.constants |= {"two": self._one(2), "half": self._one(0.5), "eps": self._one(2.0**-10)}
        self.constants |= {"axes": int64(axes)} | {name: constant(self.dtype, parameters, name) for name in ("g", "h")}
        self.names = {"A": "x", "B": "b"}
        for nodes, text in ((self.before, f"b = {reduction}(x)"), (self.behind, behind)):
            for line in text.split("; "):
                node = onnx.parser.parse_node(line)
                if node.op_type in ("ReduceMean", "ReduceMax"):
                    node.attribute.append(helper.make_attribute("axes", axes))
                nodes.append(node)
        return ["y"]

    def inside(self, kind: str) -> list[str]:
        """The subtraction stands in a body, and what makes its A outside of it."""
        self._value(X, "x", self.dtype, IMAGE)
        self._value(SCALAR, "b", self.dtype, ())
        self.before.append(helper.make_node("Add", ["x", "b"], ["a"]))
        return ["d"]

    def _one(self, value: float) -> Array:
        return np.array(value).astype(TYPES[self.dtype].memory)

    def _around(self, subtract: NodeProto) -> list[NodeProto]:
        """The subtraction as the model has it: by itself, or in the body that the case requests."""
        return _BODIES[self.case.how[1]](self, subtract) if self.case.how[0] == "inside" else [subtract]

    def _in_if(self, subtract: NodeProto) -> list[NodeProto]:
        self.feeds["cond"] = Feed("bool", (), "fixed", np.array(True))
        other = helper.make_node("Identity", ["a"], ["other_d"])
        bodies = self._body([subtract], [], ["d"]), self._body([other], [], ["other_d"])
        return [helper.make_node("If", ["cond"], ["d"], then_branch=bodies[0], else_branch=bodies[1])]

    def _in_loop(self, subtract: NodeProto) -> list[NodeProto]:
        self.constants |= {"trips": np.array(1, np.int64), "on": np.array(True)}
        subtract.input[0] = "carried"
        go_on = helper.make_node("Identity", ["going"], ["goes"])
        inputs = [("round", "int64", ()), ("going", "bool", ()), ("carried", self.dtype, IMAGE)]
        body = self._body([go_on, subtract], inputs, ["goes", "d"])
        return [helper.make_node("Loop", ["trips", "on", "a"], ["d_last"], body=body),
                helper.make_node("Identity", ["d_last"], ["d"])]  # fmt: skip

    def _in_scan(self, subtract: NodeProto) -> list[NodeProto]:
        subtract.input[0] = "slice"
        body = self._body([subtract], [("slice", self.dtype, IMAGE[1:])], ["d"])
        return [helper.make_node("Scan", ["a"], ["d_all"], body=body, num_scan_inputs=1),
                helper.make_node("Identity", ["d_all"], ["d"])]  # fmt: skip

    def _in_function(self, subtract: NodeProto) -> list[NodeProto]:
        subtract.input[0], subtract.input[1] = "left", "right"
        opsets = [helper.make_opsetid("", self.opset)]
        self.functions.append(helper.make_function("local", "difference", ["left", "right"], ["d"], [subtract], opsets))
        return [helper.make_node("difference", ["a", "b"], ["d"], domain="local")]

    def _body(
        self, nodes: list[NodeProto], inputs: list[tuple[str, str, tuple[int, ...]]], outputs: list[str]
    ) -> onnx.GraphProto:
        given = [helper.make_tensor_value_info(name, _number(dtype), shape) for name, dtype, shape in inputs]
        kinds = {"goes": "bool"}
        made = [helper.make_tensor_value_info(one, _number(kinds.get(one, self.dtype)), None) for one in outputs]
        return helper.make_graph(nodes, "body", given, made)

    def index(self, a: Term, b: Term, row: Operator) -> list[str]:
        """The difference says where or how much."""
        assert row.index is not None
        _, wanted, before = row.index
        known = constant(self.dtype, row.shape, "")
        whole = np.array(wanted) + known if a == X else known - np.array(wanted)
        for name, kind in (("a", a), ("b", b)):
            self.terms.add(name)
            if kind == X:
                fixed = whole if (name == "a") == (a == X) else known
                self.feeds[name] = Feed(self.dtype, row.shape, "fixed", np.broadcast_to(fixed, row.shape))
            else:
                self.constants[name] = known
        first = {f"y_before{i}": array for i, array in enumerate(before)}
        last = {f"y_after{i}": array for i, array in enumerate(row.constants)}
        self.constants |= first | last
        self._node(self.behind, row, [*first, "d", *last], "y")
        return ["y"]

    # ---- parts ----

    def _operands(self, a: Term, b: Term, shape: tuple[int, ...], values: str) -> None:
        for name, kind in (("a", a), ("b", b)):
            self._value(kind, name, self.dtype, shape, values)

    def _value(self, kind: Term, name: str, dtype: str, shape: tuple[int, ...], values: str = "any") -> None:
        self.terms.add(name)
        if kind == X:
            self.feeds[name] = Feed(dtype, shape, values)
        elif kind == Const.POWER:
            assert self.case.power is not None
            self.constants[name] = self._one(self.case.power)
        elif kind == Const.ZERO:
            self.constants[name] = self._one(0)
        elif kind == ANY:  # a number for each channel, or for each of the last axis
            channels = (shape[1], 1, 1) if len(shape) == 4 and self.case.channels else shape[-1:]
            self.constants[name] = constant(dtype, channels, name)
        else:
            self.constants[name] = constant(dtype, () if kind == SCALAR else shape, name)

    def _moved(self, nodes: list[NodeProto], name: str) -> str:
        """A value, behind a Reshape where operators that only move values are to stand between."""
        if self.case.form != THROUGH:
            return name
        self.constants[f"{name}_dims"] = int64([-1])
        nodes.append(helper.make_node("Reshape", [name, f"{name}_dims"], [f"{name}_moved"]))
        return f"{name}_moved"

    def _operator(self, nodes: list[NodeProto], row: Operator, given: tuple[Term, ...], dot: str, output: str) -> str:
        names = []
        for i, kind in enumerate(given):
            name = dot if kind == RESULT else f"{output}_in{i}"
            names.append(name)
            if kind != RESULT:
                shape = row.others.get(i, row.shape)
                flat = (math.prod(shape),) if self.case.form == THROUGH and dot else shape
                condition = row.name == "Where" and i == 0
                made = self.case.form == WITHIN and not dot and kind == X and not condition
                dtype = "bool" if condition else row.source or self.dtype
                self._value(kind, f"{name}_made" if made else name, dtype, flat, row.values)
                if row.index is not None:
                    self.feeds[name] = Feed(dtype, row.shape, "fixed", np.array(row.index[1]))
                if made:
                    nodes.append(helper.make_node("Neg", [f"{name}_made"], [name]))
        for i, known in enumerate(row.constants):
            name = "" if isinstance(known, str) else f"{output}_constant{i}"
            names.append(name)
            if isinstance(known, Given):
                dtype = known.elements.dtype.name
                self.feeds[name] = Feed(dtype, known.elements.shape, "fixed", known.elements)
            elif isinstance(known, tuple):
                self._value(ARRAY, name, self.dtype, known[0])
                self.terms.discard(name)  # the pattern does not show it
            elif name:
                floats = self.dtype == "float16" and known.dtype == np.float32 and row.name != "Resize"
                self.constants[name] = known.astype(np.float16) if floats else known
        return self._node(nodes, row, names, output)

    def _node(self, nodes: list[NodeProto], row: Operator, names: list[str], output: str) -> str:
        attributes = dict(row.attributes)
        outputs = [output, *(f"{output}_{i}" for i in range(1, attributes.pop("outputs", 1)))]
        domain, _, kind = row.name.rpartition(".")
        nodes.append(helper.make_node(kind, names, outputs, domain=domain, **attributes))
        self.opset = max(self.opset, row.opset)
        return output

    def _shape(self, name: str) -> tuple[int, ...]:
        """The shape of what the nodes before the subtraction make; operators that ONNX lacks keep it."""
        if any(not onnx.defs.has(node.op_type, node.domain) for node in self.before):
            return next(iter(self.feeds.values())).shape
        model = onnx.shape_inference.infer_shapes(self._model(self.before, [name], static=True), data_prop=True)
        return static(shape_of(model.graph.output[0].type) or ())

    def built(self, outputs: list[str]) -> Built:
        a, b = self.names["A"], self.names["B"]
        subtract = helper.make_node("Sub", [a, b], [DIFFERENCE], name="sub")
        made = [name for name in dict.fromkeys((a, b)) if name not in self.feeds and name not in self.constants]
        return Built(
            whole=_part(self._model([*self.before, *self._around(subtract), *self.behind], outputs)),
            before=_part(self._model(self.before, made)) if self.before else None,
            behind=_part(self._model(self.behind, outputs)) if outputs[0] != DIFFERENCE else None,
            feeds=self.feeds,
            operands=tuple(self.constants.get(name, name) for name in (a, b)),
            terms=tuple(self.constants.get(name, name) for name in self._in_order([*self.before, subtract], outputs)),
            axes=self.axes,
        )

    def _in_order(self, nodes: list[NodeProto], outputs: list[str]) -> Iterator[str]:
        """The pattern's holes and constants, in the order in which it is written."""
        makers = {output: node for node in [*nodes, *self.behind] for output in node.output}
        seen: set[str] = set()
        left = outputs[:1]
        while left:
            name = left.pop()
            if name in makers:
                left.extend(reversed(makers[name].input))
            elif name in self.terms and name not in seen:
                seen.add(name)
                yield name

    def _model(self, nodes: list[NodeProto], outputs: list[str], static: bool = False) -> ModelProto:
        made = {name for node in nodes for name in node.output}
        read = (name for node in nodes for name in (*node.input, *captured(node)) if name and name not in made)
        used = list(dict.fromkeys(read))
        sizes = {name: feed.elements for name, feed in self.feeds.items() if static and feed.values == "fixed"}
        known = self.constants | sizes
        inputs = [self._input(name, static) for name in used if name not in known]
        stored = [_tensor(known[name], name) for name in used if name in known]
        graph = helper.make_graph(
            nodes, "graph", inputs, [helper.make_empty_tensor_value_info(name) for name in outputs], stored
        )
        imports = [helper.make_opsetid("", self.opset)]
        used_functions = [one for one in self.functions if any(node.op_type == one.name for node in nodes)]
        imports += [helper.make_opsetid(domain, 1) for domain in sorted({node.domain for node in nodes} - {""})]
        ir_version = _IR_VERSION if self.opset < NARROW_OPSET else _IR_VERSION + 2
        about = {"ir_version": ir_version, "opset_imports": imports, "producer_name": "minuend"}
        model = helper.make_model(graph, functions=used_functions, **about)
        return onnx.shape_inference.infer_shapes(model, data_prop=True) if self.case.declared else model

    def _input(self, name: str, static: bool) -> ValueInfoProto:
        """An input; the difference itself, where what reads it is queried alone."""
        feed = self.feeds.get(name)
        if feed is None:
            feed = Feed(self.dtype, np.broadcast_shapes(*map(self._known_shape, self.names.values())), "any")
        dims: Sequence[int | str] = feed.shape
        if self.case.dynamic and not static and feed.values != "fixed":  # sizes have a known rank
            dims = [f"n{i}_{size}" for i, size in enumerate(feed.shape)]
        return helper.make_tensor_value_info(name, _number(feed.dtype), dims)

    def _known_shape(self, name: str) -> tuple[int, ...]:
        if name in self.feeds:
            return self.feeds[name].shape
        return np.shape(self.constants[name]) if name in self.constants else self._shape(name)


def _part(model: ModelProto) -> Part:
    names = (tuple(value.name for value in values) for values in (model.graph.input, model.graph.output))
    return Part(model.SerializeToString(), *names)


_BODIES = {"If": _Draft._in_if, "Loop": _Draft._in_loop, "Scan": _Draft._in_scan, FUNCTION: _Draft._in_function}


def _number(dtype: str) -> int:
    return TensorProto.BOOL if dtype == "bool" else tensors.number(dtype)


def _tensor(array: npt.ArrayLike, name: str) -> TensorProto:
    array = np.asarray(array)
    return helper.make_tensor(name, _number(array.dtype.name), array.shape, array.tobytes(), raw=True)


def constant(dtype: str, shape: tuple[int, ...], name: str) -> Array:
    """Return a constant of ordinary numbers, none of them zero."""
    if dtype == "bool":
        return np.equal(np.arange(int(np.prod(shape))).reshape(shape) % 3, 0)
    element = TYPES[dtype]
    # The same numbers for every constant of a size: so what is added is taken away again, as rounding tricks do.
    if shape == ():
        value = 3 if element.is_integer else 1.7
        return np.array(value).astype(element.memory)
    source = np.random.default_rng(5)
    if element.is_integer:
        return source.integers(1, 7, shape).astype(element.memory)
    found = source.standard_normal(shape).astype(np.float32) * np.float32(2)
    return np.asarray(np.where(found == 0, np.float32(1), found)).astype(element.memory)
