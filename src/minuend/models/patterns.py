"""Patterns: an operator with what stands next to it in a graph, as small trees of operators, holes and constants.

A pattern is a value: it is built, compared and hashed, and printed for people alone. One operator of it is judged; the
others are adjacent to it. Operators have ONNX's names.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import TypeAlias

from minuend.operators import BY_ONNX, SUBTRACT


@dataclass(frozen=True, slots=True)
class Hole:
    """Any value that an input of the model reaches.

    Attributes:
        result: whether it is the judged operator's result, where a row of operators says which input that is.
    """

    result: bool = False

    def __str__(self) -> str:
        return "." if self.result else "x"


class Const(Enum):
    """What is known of a constant."""

    SCALAR = "scalar"
    """One number."""

    ARRAY = "array"
    """Several numbers."""

    ARRAYS = "array of several axes"
    """Several numbers, along more than one axis."""

    ANY = "k"
    """Any constant: next to operators that are no arithmetic the kind does not matter."""

    POWER = "2^k"
    """A positive power of two, between the ends of :data:`POWERS`."""

    ZERO = "0"
    """The number +0; as first operand of a linear operator zeros of either sign and any count."""

    MINUS_ZERO = "-0"
    ZEROS = "[0]"
    MINUS_ZEROS = "[-0]"

    def __str__(self) -> str:
        return self.value


class How(Enum):
    """How an operator stands to the judged one, where it is not directly adjacent."""

    BEHIND = "{operator}(… {judged})"
    """It is reached from the result through others."""

    CONNECTED = "{judged} in a graph with {operator}"
    """It is anywhere in the part of the graph that hangs together."""

    AROUND = "{judged} inside {operator}"
    """The judged operator stands in its body."""

    FED = "{operator}(… {judged} of transposed values)"
    """It is reached from the result on every way, and the operands are made by an operator of their own."""

    PASSED = "{operator}(… {judged} of transposed values), which is an output, too"
    """The same, but the result leaves the graph on another way, too."""


@dataclass(frozen=True, slots=True)
class Op:
    """An operator with its operands.

    Attributes:
        operator: its name. operands: those that the pattern shows; ``None`` for an optional input that is left out.
        judged: whether it is the operator that is judged.
        types: of a conversion, the element types from and to which.
        place: the input that the first operand stands for, where that is not the first.
    """

    operator: str
    operands: tuple[Term, ...]
    judged: bool = False
    types: tuple[str, str] | None = None
    place: int = 0
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = (self.operator, self.operands, self.judged, self.types, self.place)
        object.__setattr__(self, "_hash", hash(parts))

    def __hash__(self) -> int:  # computed once: tables have tens of thousands of keys
        return self._hash

    def __str__(self) -> str:
        return self.written(["" if one is None else str(one) for one in self.operands])

    def written(self, shown: Sequence[str]) -> str:
        """Return the operator with texts for its operands."""
        if self.judged:
            return BY_ONNX[self.operator].written(*shown)
        name = self.operator if self.types is None else "{} from {} to {}".format(self.operator, *self.types)
        place = f"input {self.place}: " if self.place else ""
        return f"{name}({place}{', '.join(shown)})"

    def with_result(self, term: Term) -> Op:
        """Return the operator with another term in the place of the judged operator's result."""
        return replace(self, operands=tuple(term if one == RESULT else one for one in self.operands))


@dataclass(frozen=True, slots=True)
class Distant:
    """A judged operator and one that is not adjacent to it.

    Attributes:
        operator: the other's name. how: how it stands to the judged one. judged: that one.
    """

    operator: str
    how: How
    judged: Op

    def __str__(self) -> str:
        return self.how.value.format(operator=self.operator, judged=self.judged)


@dataclass(frozen=True, slots=True)
class Normalisation:
    """One way to write a normalisation; the subtraction of the mean is judged.

    Attributes:
        square: ``"Pow"`` or ``"Mul"``. root: ``"Sqrt"`` or ``"Pow"``. division: ``"Div"``, or ``"Reciprocal"`` that is
            multiplied. axes: over which the mean is: :data:`LAST`, :data:`OTHERS`, or :data:`ONE_AXIS` of a tensor that
            has no other.
        parameters: what it is multiplied by, and what is added to that.
    """

    square: str
    root: str
    division: str
    axes: str
    parameters: tuple[Const, ...] = ()

    def __str__(self) -> str:
        deviation = f"{self.root}(ReduceMean({self.square}))"
        divided = f"/ {deviation}" if self.division == "Div" else f"* Reciprocal({deviation})"
        end = "".join(f" {symbol} {one}" for symbol, one in zip("*+", self.parameters, strict=False))
        return f"({less(X, Op('ReduceMean', (X,)))}) {divided}{end}{self.axes}"


LAST, OTHERS, ONE_AXIS = "", " over other axes than the last", " of one axis"


@dataclass(frozen=True, slots=True)
class Softmax:
    """The exponential of a value less its maximum, by its sum; the subtraction is judged."""

    def __str__(self) -> str:
        return "Exp(x - ReduceMax(x)) / its sum"


Term: TypeAlias = Hole | Const | Op | None
Pattern: TypeAlias = Op | Distant | Normalisation | Softmax

X, RESULT = Hole(), Hole(result=True)

_KEEP_ERRORS = frozenset((
    "Abs", "Cast", "Clip", "Concat", "DepthToSpace", "Div", "Expand", "Flatten", "Gather", "GatherElements", "GatherND",
    "Identity", "LeakyRelu", "Max", "MaxPool", "Min", "Mul", "Neg", "PRelu", "Pad", "Reciprocal", "ReduceMax",
    "ReduceMin", "Relu", "Reshape", "Slice", "SpaceToDepth", "Split", "Sqrt", "Squeeze", "Tile", "Transpose",
    "Unsqueeze", "Where",
))  # fmt: skip
"""Operators whose result has the relative error of what they read, and their own rounding: none adds, none jumps."""

SMALL, ZERO_SIGN = "small", "sign of zero"
"""Differences that an operator can make large ones of: those near 0, and that of the two zeros."""

ENLARGE: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "ArgMax", "ArgMin", "Ceil", "Equal", "Floor", "Greater", "GreaterOrEqual", "Hardmax", "Less",
                "LessOrEqual", "Log", "LpNormalization", "Mod", "NonZero", "ReduceLogSum", "ReduceProd", "Sign",
                "Sqrt", "TopK", "Unique",
            ),
            frozenset({SMALL}),
        ),
        **dict.fromkeys(("Div", "Pow", "Reciprocal"), frozenset({SMALL, ZERO_SIGN})),
    }
)  # fmt: skip
"""Operators that enlarge differences of what they read, and which: Div those of the divisor, Pow those of the base."""

POWERS = (2.0**-8, 1.0, 2.0**8)
"""Powers of two that are measured."""


def less(a: Term, b: Term) -> Op:
    """Return the subtraction that is judged.

    >>> str(less(Op("Mul", (X, Const.SCALAR)), Const.ARRAY))
    'Mul(x, scalar) - array'
    """
    return Op(SUBTRACT.onnx, (a, b), judged=True)


def of_side(side: str, term: Term, other: Term) -> Op:
    """Return the judged subtraction with a term as its operand ``"A"`` or ``"B"``.

    >>> str(of_side("B", Op("Relu", (X,)), X))
    'x - Relu(x)'
    """
    return less(term, other) if side == "A" else less(other, term)


def is_alone(pattern: Pattern) -> bool:
    """Return whether the judged operator's operands and result are those of the pattern.

    >>> is_alone(less(X, Const.ZERO)), is_alone(less(X, Op("Relu", (X,))))
    (True, False)
    """
    own = pattern.judged if isinstance(pattern, Distant) and pattern.how is How.AROUND else pattern
    return isinstance(own, Op) and own.judged and not any(isinstance(one, Op) for one in own.operands)


def can_enlarge_errors(pattern: Pattern) -> bool:
    """Return whether a rounding error inside a pattern can become any share of its result.

    An operator that adds what the pattern computes can cancel all but the error; one that jumps makes a step of it.

    >>> can_enlarge_errors(less(Op("Mul", (X, X)), X)), can_enlarge_errors(Op("Mul", (less(X, X), X)))
    (True, False)
    """
    match pattern:
        case Op():
            computed = [one for one in pattern.operands if isinstance(one, Op)]
            enlarges = pattern.judged or pattern.operator not in _KEEP_ERRORS
            return (bool(computed) and enlarges) or any(map(can_enlarge_errors, computed))
        case Distant():
            return pattern.how is not How.AROUND
        case _:
            return True


def with_numbers(pattern: Pattern, numbers: Sequence[object]) -> str:
    """Return a pattern with a number in the place of each hole and constant; others are listed behind it.

    >>> with_numbers(less(Op("Mul", (X, Const.SCALAR)), X), [2.0, 1.5, 3.0])
    'Mul(2.0, 1.5) - 3.0'
    >>> with_numbers(Softmax(), [2.0])
    'Exp(x - ReduceMax(x)) / its sum, of 2.0'
    """
    if isinstance(pattern, Op) and _count(pattern) == len(numbers):
        return _with_numbers(pattern, iter(numbers))
    return f"{pattern}, of {', '.join(map(str, numbers))}" if numbers else str(pattern)


def _count(op: Op) -> int:
    return sum(_count(one) if isinstance(one, Op) else one is not None for one in op.operands)


def _with_numbers(op: Op, numbers: Iterator[object]) -> str:
    shown = []
    for one in op.operands:
        shown.append("" if one is None else _with_numbers(one, numbers) if isinstance(one, Op) else str(next(numbers)))
    return op.written(shown)


def replaced(pattern: Pattern, others: Mapping[Const, Const]) -> Pattern:
    """Return a pattern with other constants in the place of some.

    >>> str(replaced(less(Const.ZERO, Op("Mul", (X, Const.POWER))), {Const.POWER: Const.SCALAR}))
    '0 - Mul(x, scalar)'
    """
    return _replaced(pattern, others) if isinstance(pattern, Op) else pattern


def _replaced(op: Op, others: Mapping[Const, Const]) -> Op:
    def term(one: Term) -> Term:
        return (
            _replaced(one, others) if isinstance(one, Op) else others.get(one, one) if isinstance(one, Const) else one
        )

    return replace(op, operands=tuple(map(term, op.operands)))


def judged(pattern: Pattern) -> str:
    """Return the name of the operator of a pattern that is judged.

    >>> judged(Op("Relu", (less(X, X),)))
    'Sub'
    """
    match pattern:
        case Op():
            inner = (judged(one) for one in pattern.operands if isinstance(one, Op))
            return pattern.operator if pattern.judged else next(filter(None, inner), "")
        case Distant():
            return pattern.judged.operator
        case _:
            return SUBTRACT.onnx


def operators(pattern: Pattern) -> tuple[str, ...]:
    """Return the names of the operators that a pattern has in addition to the judged one.

    >>> operators(Op("Relu", (less(Op("Mul", (X, X)), X),)))
    ('Relu', 'Mul')
    """
    match pattern:
        case Op():
            inner = (operators(one) for one in pattern.operands if isinstance(one, Op))
            return (*(() if pattern.judged else (pattern.operator,)), *itertools.chain.from_iterable(inner))
        case Distant():
            return (pattern.operator,)
        case Normalisation():
            return "ReduceMean", pattern.square, pattern.root, pattern.division
        case Softmax():
            return "Exp", "ReduceMax"


# ---- as JSON ----------------------------------------------------------------------------------------------------


def plain(pattern: Pattern) -> object:
    """Return a pattern as JSON has it.

    >>> plain(less(Op("Mul", (X, Const.SCALAR)), X))
    {'judged': ['Sub', ['Mul', 'x', 'scalar'], 'x']}
    """
    match pattern:
        case Op():
            return _plain_op(pattern)
        case Distant():
            return {"how": pattern.how.name.lower(), "operator": pattern.operator, "of": _plain_op(pattern.judged)}
        case Normalisation():
            parts = {name: getattr(pattern, name) for name in _PARTS}
            return {"normalisation": {**parts, "parameters": [one.value for one in pattern.parameters]}}
        case Softmax():
            return {"softmax": {}}


_PARTS = ("square", "root", "division", "axes")


def _plain_op(op: Op) -> object:
    terms = (_plain_op(one) if isinstance(one, Op) else "" if one is None else str(one) for one in op.operands)
    call = [op.operator, *terms]
    if not (op.judged or op.types or op.place):
        return call
    data: dict[str, object] = {"judged" if op.judged else "call": call}
    data |= {"types": list(op.types)} if op.types else {}
    return data | ({"place": op.place} if op.place else {})


def pattern_of(data: object) -> Pattern:
    """Return the pattern that JSON describes.

    Raises:
        KeyError, TypeError, ValueError: it describes none.

    >>> str(pattern_of({"how": "around", "operator": "If", "of": {"judged": ["Sub", "x", "k"]}}))
    'x - k inside If'
    """
    if isinstance(data, dict) and "how" in data:
        return Distant(data["operator"], How[data["how"].upper()], _op_of(data["of"]))
    if isinstance(data, dict) and "normalisation" in data:
        parts = data["normalisation"]
        square, root, division, axes = (str(parts[name]) for name in _PARTS)
        return Normalisation(square, root, division, axes, tuple(map(Const, parts["parameters"])))
    return Softmax() if isinstance(data, dict) and "softmax" in data else _op_of(data)


def _op_of(data: object) -> Op:
    if isinstance(data, list):
        data = {"call": data}
    if not isinstance(data, dict):
        raise TypeError(data)
    judged = "judged" in data
    operator, *operands = data["judged" if judged else "call"]
    place = data.get("place", 0)
    if not isinstance(operator, str) or not operands or type(place) is not int:
        raise TypeError(data)
    types = None if "types" not in data else (str(data["types"][0]), str(data["types"][1]))
    return Op(operator, tuple(map(_term_of, operands)), judged, types, place)


def _term_of(data: object) -> Term:
    if isinstance(data, list | dict):
        return _op_of(data)
    return None if data == "" else X if data == "x" else Const(data)
