"""Random products and differences whose operands have known ranges, judged and run: what the ranges promise must hold.

A graph multiplies or divides before or behind a subtraction. Its inputs are assumed to lie in drawn intervals: of other
signs, apart, close to each other or overlapping, of whole numbers or not. `check_severities.py --ranges` runs many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from truth import Array, array_of, ask

import minuend as mn
from minuend.core.elements import TYPES, ElementType
from minuend.operators import codes
from minuend.runtimes.finding import Finding
from minuend.runtimes.running import Refused, Runtime
from minuend.runtimes.severity import Deviation, Severity, distance, rank, severity

ROWS, COLUMNS = 48, 16
_MOST_ELEMENTS = 60


@dataclass
class Drawn:
    """A model with one subtraction.

    Attributes:
        model: all of it. assume: the ranges of its inputs. fed: numbers within them. known: its constants and these.
    """

    model: ModelProto
    assume: Mapping[str, tuple[float, float]]
    fed: Mapping[str, Array]
    known: Mapping[str, Array]


@dataclass
class _Growing:
    """A graph that grows, with the numbers of its inputs and constants."""

    dtype: str
    source: Generator
    nodes: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    stored: list[Any] = field(default_factory=list)
    known: dict[str, Array] = field(default_factory=dict)
    fed: dict[str, Array] = field(default_factory=dict)
    assume: dict[str, tuple[float, float]] = field(default_factory=dict)

    def operator(self, name: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator; return what its result is called."""
        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(name, list(inputs), [output], **attributes))
        return output

    def value(self, low: float, high: float, whole: bool) -> str:
        """Add an input or a constant whose numbers lie in an interval."""
        kind = self.source.choice(["input", "input", "scalar", "array"])
        shape = {"input": (ROWS, COLUMNS), "scalar": (), "array": (COLUMNS,)}[kind]
        numbers = _numbers(self.source, low, high, shape, whole, self.dtype)
        name = f"{kind}{len(self.known)}"
        if kind != "input":
            self.known[name] = numbers
            self.stored.append(numpy_helper.from_array(np.asarray(numbers), name))
            return name
        dims: list[Any] = ["N", COLUMNS] if self.source.integers(0, 2) else [ROWS, COLUMNS]
        integers = whole and low >= 0 and high <= 255
        self.fed[name] = self.known[name] = numbers.astype(np.uint8) if integers else numbers
        kind_of = TensorProto.UINT8 if integers else _NUMBERS[self.dtype]
        self.inputs.append(helper.make_tensor_value_info(name, kind_of, dims))
        self.assume[name] = low, high
        return self.operator("Cast", name, to=_NUMBERS[self.dtype]) if integers else name


_NUMBERS = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16}
_EXACT: Mapping[str, Callable[..., Array]] = {
    "Mul": np.multiply,
    "Sub": np.subtract,
    "Cast": lambda array: array.astype(np.float32),
}


def _numbers(source: Generator, low: float, high: float, shape: Sequence[int], whole: bool, dtype: str) -> Array:
    """Numbers of an interval, its ends among them."""
    found = source.uniform(low, high, shape)
    chosen = source.integers(0, 8, shape)
    found = np.where(chosen == 0, low, np.where(chosen == 1, high, found))
    found = np.where(chosen == 2, low + (high - low) * np.exp2(-source.uniform(0, 20, shape)), found)
    found = np.clip(np.round(found) if whole else found, low, high)
    return np.asarray(found.astype(dtype))


def draw(seed: int, number: int) -> Drawn:
    """Return a graph; that of a seed and a number is always the same."""
    source = np.random.default_rng([seed, number])
    growing = _Growing("float32" if source.integers(0, 4) else "float16", source)
    a, b = (_operand(growing, *interval) for interval in _intervals(source))
    result = growing.operator("Sub", a, b)
    result = _read(growing, result) if source.integers(0, 2) else result
    dims = ["N" if growing.inputs else None, COLUMNS]
    output = helper.make_tensor_value_info(result, _NUMBERS[growing.dtype], dims if growing.inputs else None)
    graph = helper.make_graph(growing.nodes, "g", growing.inputs, [output], growing.stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return Drawn(model, growing.assume, growing.fed, growing.known)


Interval = tuple[float, float, bool]
_WHOLE = (0.0, 255.0)


def _intervals(source: Generator) -> tuple[Interval, Interval]:
    """The intervals of both operands, and whether their numbers are whole."""
    kind = source.choice(["other signs", "apart", "close", "overlapping", "whole", "bits"])
    size = float(np.exp2(source.integers(-3, 4)))
    if kind == "bits":
        return (1.0, 1.0, True), (0.0, 1.0, True)
    if kind == "whole":
        zero = float(source.uniform(*_WHOLE))
        return (*_WHOLE, True), (*_WHOLE, True) if source.integers(0, 2) else (zero, zero, False)
    low = {"other signs": -size, "apart": 0.1 * size, "close": 0.6 * size, "overlapping": 0.0}[str(kind)]
    one, other = (
        (size, 2 * size, False),
        (low, {"other signs": -0.0, "apart": 0.3, "close": 0.9}.get(kind, 1.5) * size, False),
    )
    swapped = bool(source.integers(0, 2))
    return (other, one) if swapped else (one, other)


def _operand(growing: _Growing, low: float, high: float, whole: bool) -> str:
    """An operand in an interval: a value, or a product or quotient of two."""
    source = growing.source
    if whole and (low, high) == _WHOLE and source.integers(0, 2):
        return growing.operator("Mul", *(growing.value(0.0, 15.0, True) for _ in "ab"))
    if whole or source.integers(0, 2):
        return growing.value(low, high, whole)
    factor = float(source.uniform(0.3, 3))
    if source.integers(0, 2):
        pair = growing.value(low / factor, high / factor, False), growing.value(factor * 0.9, factor, False)
        return growing.operator("Mul", *(pair if source.integers(0, 2) else pair[::-1]))
    return growing.operator(
        "Div", growing.value(low * factor, high * factor, False), growing.value(factor, factor * 1.1, False)
    )


def _read(growing: _Growing, result: str) -> str:
    source = growing.source
    factor = float(source.choice([-1e4, 0.017, 1.7, 255.0, 1 / 3])) if source.integers(0, 2) else 0.3
    other = growing.value(min(factor, factor * 1.1), max(factor, factor * 1.1), False)
    operator = str(source.choice(["Mul", "Mul", "Div"]))
    swapped = operator == "Mul" and source.integers(0, 2)
    return growing.operator(operator, *((other, result) if swapped else (result, other)))


# ---- judged and run ---------------------------------------------------------------------------------------------


def judged(drawn: Drawn, runtime: Runtime, hint: str) -> tuple[Finding, list[str]] | None:
    """Return the finding of a graph, and what came of a run that is worse; ``None`` where it is not run."""
    if not drawn.fed:  # constants are folded, by another program than that of nodes
        return None
    (finding,) = mn.check(
        drawn.model, f"{runtime.name}@{runtime.release}", hint=hint, assume=drawn.assume, tolerate=()
    ).findings
    answer = ask(runtime, drawn.model, drawn.fed, hint)
    if isinstance(answer, Refused):
        return None
    values = one_by_one(drawn, runtime, hint)
    return None if values is None else (finding, list(_worse(finding, values, array_of(answer[0]))))


def one_by_one(drawn: Drawn, runtime: Runtime, hint: str) -> list[Array] | None:
    """Return every value of a graph, the result last; ``None`` where a runtime does not divide.

    A quotient is what the runtime gives by itself: some multiply by the reciprocal everywhere.
    """
    values = dict(drawn.known)
    dtype = {kind: name for name, kind in _NUMBERS.items()}[drawn.model.graph.output[0].type.tensor_type.elem_type]
    for node in drawn.model.graph.node:
        given = [values[name] for name in node.input]
        if node.op_type == "Div":
            alone = _alone(drawn.model, node, values)
            answer = ask(runtime, alone, {one.name: values[one.name] for one in alone.graph.input}, hint)
            if isinstance(answer, Refused):
                return None
            values[node.output[0]] = array_of(answer[0])
        else:
            with np.errstate(all="ignore"):
                values[node.output[0]] = np.asarray(_EXACT[node.op_type](*given)).astype(dtype)
    return list(values.values())


def _alone(model: ModelProto, node: NodeProto, values: Mapping[str, Array]) -> ModelProto:
    """A model of one node, whose constants are constants."""
    kind = model.graph.output[0].type.tensor_type.elem_type
    stored = [one for one in model.graph.initializer if one.name in node.input]
    made = set(node.input) - {one.name for one in stored}
    inputs = [helper.make_tensor_value_info(name, kind, values[name].shape) for name in sorted(made)]
    output = helper.make_tensor_value_info(node.output[0], kind, None)
    graph = helper.make_graph([node], "g", inputs, [output], stored)
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=8)


def _worse(finding: Finding, values: Sequence[Array], got: Array) -> Iterator[str]:
    """What of a result is worse than a finding says; nothing where that says that it does not know."""
    promised = finding.deviations if finding.verdict == "different-numbers" else ()
    if finding.verdict not in ("ok", "different-numbers") or any(one.severity is None for one in promised):
        return
    for seen in seen_of(values, got):
        if not any(map(seen.within, promised)):
            yield f"{finding.verdict} {[(one.severity, one.ulps) for one in promised]}: {seen}"


@dataclass(frozen=True)
class Seen:
    """One element that differs."""

    severity: Severity
    ulps: int
    got: float
    expected: float

    def within(self, promised: Deviation) -> bool:
        """Whether a deviation is at least as bad."""
        if self.severity == "edge" and 0 < self.ulps <= promised.ulps:  # a rounding at the end of the type
            return True
        if self.severity in ("rounding", "numbers") and promised.severity in ("rounding", "numbers"):
            return promised.ulps >= self.ulps or (promised.severity == "numbers" and not promised.ulps)
        return rank(self.severity) <= rank(promised.severity)

    def __str__(self) -> str:
        return f"{self.severity}, {self.ulps} ulps, {self.got} for {self.expected}"


def seen_of(values: Sequence[Array], got: Array) -> Iterator[Seen]:
    """The elements that differ, the farthest ones first."""
    element = TYPES[got.dtype.name]
    expected = np.broadcast_to(values[-1], got.shape)
    code_of = f"u{element.itemsize}"
    both_nan = np.not_equal(got, got) & np.not_equal(expected, expected)
    unlike = (np.ascontiguousarray(got).view(code_of) != np.ascontiguousarray(expected).view(code_of)) & ~both_nan
    with np.errstate(all="ignore"):
        apart = np.abs(got.astype(np.float64) - expected) / np.abs(expected.astype(np.float64))
    places = np.flatnonzero(unlike)
    order = places[np.argsort(-np.nan_to_num(apart.reshape(-1)[places], nan=np.inf), kind="stable")]
    terms = [np.broadcast_to(one.astype(got.dtype), got.shape) for one in values]
    for i in order[:_MOST_ELEMENTS].tolist():
        x, y = (_number(element, one, i) for one in (got, expected))
        name = severity(element, [_number(element, one, i) for one in terms], x, y)
        near = name in ("rounding", "numbers") or (name == "edge" and not any(map(math.isnan, (x, y))))
        yield Seen(name, distance(element, x, y) if near else 0, float(x), float(y))


def _number(element: ElementType, array: Array, place: int) -> Any:
    code = np.ascontiguousarray(array).view(f"u{element.itemsize}").reshape(-1)[place]
    return codes.decode(element, int(code))
