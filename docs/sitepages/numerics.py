"""What each standard says of numbers, what it leaves open, and what this project's contract says.

What the contract says of an operator is computed by the reference: what wraps, and what zeros and infinities give.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

from minuend.cli.pages.standards import value_in_words
from minuend.core.elements import TYPES, ElementType
from minuend.language import Language
from minuend.operators import reference
from minuend.operators.operator import Operator, Value
from minuend.standards.version import OpVersion
from sitepages import markup, words

_NOTHING = "nothing"

_HALF_PRECISION = "DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION lets a graph compute in float16; else nothing"

Line = tuple[str, str, str]
"""A subject, what the standard says of it, and the contract's rule."""


def section(op: OpVersion, language: Language) -> Iterator[str]:
    """The section of a version's page: a line for each subject that its types know."""
    tr = language.tr
    rows = [tuple(map(markup.text, line)) for line in _lines(op, language)]
    yield tr("What the standard says nothing of is open: runtimes differ there, and both are right by it.")
    yield markup.table([tr("subject"), tr("what the standard says"), tr("what this project's contract says")], rows)


def _lines(op: OpVersion, language: Language) -> Iterator[Line]:
    tr = language.tr
    result = tr(words.of(op).result)
    exact = tr("the exact {result}, made to fit the element type by the lines below", result=result)
    yield tr("the {result} itself", result=result), _formula(op, language), exact
    tensors = words.listed(words.tensors(op), language)
    alike = tr("one for all of them; nothing is promoted, and another type is an error")
    yield tr("element types of {tensors}", tensors=tensors), _constraint(op, language), alike
    elements = [TYPES[name] for name in op.types]
    integers = [element for element in elements if element.is_integer]
    if integers:
        yield tr("integers that do not fit"), tr(_NOTHING), _wrapping(op.computes, integers, language)
    yield from _of_floats(op, [element for element in elements if not element.is_integer], language)
    alone = tr("each node by itself; fused and reordered arithmetic is a deviation")
    yield tr("fusion with adjacent operators"), tr(_NOTHING), alone


def _formula(op: OpVersion, language: Language) -> str:
    """What a standard's page says of the result: its formula."""
    stated = op.facts.get("formula") or op.facts.get("function") or words.of(op).formulas.get(op.dialect)
    return value_in_words(stated, language) if stated else language.tr("element by element; no formula")


def _constraint(op: OpVersion, language: Language) -> str:
    """What a standard's page says of the operands' types."""
    if "type constraint" not in op.facts:
        return language.tr("one DataType in all tensors")
    constrained = language.tr(op.facts["constrained to"])
    return language.tr(
        "one type {name}, constrained to {constrained}", name=op.facts["type constraint"], constrained=constrained
    )


def _wrapping(operator: Operator, integers: list[ElementType], language: Language) -> str:
    """The rule, and the result nearest to the range of the narrowest type that has bytes of its own."""
    element = min((one for one in integers if one.bits >= 8), key=lambda one: one.bits)
    low, high = element.limits

    def beyond(operands: tuple[int, ...]) -> int:
        exact = operator.compute(*operands)
        return int(max(low - exact, exact - high))

    every = itertools.product((low, high, 1), repeat=operator.arity)
    operands = min((one for one in every if beyond(one) > 0), key=beyond)
    return language.tr(
        "wrap modulo 2ⁿ, unless an overflow policy says otherwise: in {type}, {example}",
        type=element.name,
        example=_equation(operator, element, operands),
    )


# ---- floats ---------------------------------------------------------------------------------------------------


def _of_floats(op: OpVersion, floats: list[ElementType], language: Language) -> Iterator[Line]:
    tr = language.tr
    said = tr(_HALF_PRECISION if op.dialect == "directml" else _NOTHING)
    yield tr("rounding of floats"), said, tr("once, to nearest even")
    yield tr("subnormals"), tr(_NOTHING), tr("kept, operands and results")
    for name, values in (("zeros", (0.0, -0.0)), ("infinities", (math.inf, -math.inf))):
        operands = [*itertools.product(values, repeat=op.computes.arity)]
        if name == "zeros":
            operands += _cancelling(op.computes)
        results = tr(", ").join(_equation(op.computes, TYPES["float32"], one) for one in operands)
        yield tr(name), tr(_NOTHING), tr("as IEEE 754 has them: {results}", results=results)
    yield "NaN", tr(_NOTHING), tr("a NaN operand makes a NaN; it is quiet, its payload is not specified")
    small = _of_8_bits(op.computes, [element.name for element in floats], language)
    if small:
        yield tr("float types of 8 bits or fewer"), tr(_NOTHING), tr("; ").join(small)


def _cancelling(operator: Operator) -> list[tuple[float, ...]]:
    """Operands other than 0 whose exact result is 0."""
    ones = itertools.product((1.0, -1.0), repeat=operator.arity)
    return [one for one in ones if one[0] > 0 and operator.compute(*one) == 0]


def _overflows(operator: Operator) -> bool:
    return any(row.name == "overflows" for row in operator.float_classes)


_OF_8_BITS: tuple[tuple[str, Callable[[Operator], bool], str], ...] = (
    ("float8_e4m3fn", _overflows, "{type} overflows to NaN"),
    ("float4_e2m1fn", _overflows, "{type} clamps to ±6"),
    ("float8_e8m0fnu", lambda operator: -1 in operator.directions, "{type} has NaN for results of 0 and less"),
    ("nf4", lambda operator: True, "{type} takes the nearest level, the one nearer to 0 where two are"),
)
"""A type, the operators that it has a rule for, and the rule."""


def _of_8_bits(operator: Operator, names: list[str], language: Language) -> list[str]:
    return [language.tr(rule, type=name) for name, concerns, rule in _OF_8_BITS if name in names and concerns(operator)]


# ---- results of the reference ---------------------------------------------------------------------------------


def _equation(operator: Operator, element: ElementType, operands: tuple[Value, ...]) -> str:
    """An operation with its result, both as the contract has them: ``127 + 1 = −128``."""
    result = reference.of_values(operator, element, operands)
    return f"{words.written(operator, *map(_shown, operands))} = {_shown(result).replace('-', '−')}"


def _shown(value: Value) -> str:
    """A number; zeros and infinities with their signs."""
    if isinstance(value, int):
        return str(value)
    number = float(value)
    if math.isnan(number):
        return "NaN"
    sign = "-" if math.copysign(1, number) < 0 else "+"
    if number == 0 or math.isinf(number):
        return f"{sign}{'∞' if number else 0}"
    return f"{Fraction(number)}"
