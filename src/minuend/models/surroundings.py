"""What stands around a subtraction, as expressions: runtimes run graphs, and what they join, they compute otherwise.

An expression names the subtraction with one neighbour: ``Mul(x, scalar) - x`` where its A is made, ``x - Exp(x)`` where
its B is, ``Mul(x - scalar, array)`` where its result is read, and ``MatMul(… x - x)`` where something reads it later.
``x`` is any value, ``scalar`` a constant of one number, ``array`` another constant; beside operators that are no
arithmetic ``k`` is any constant. Operators have ONNX's names.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from minuend.models.exact import is_exact, moves
from minuend.models.flow import KEEPING, SHAPES, Flow
from minuend.models.idioms import idioms

ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mod", "PRelu")
"""Operators of two operands, both of which an expression shows."""

LINEAR = ("Add", "Sub", "Mul", "Div", "Neg")
"""Operators that runtimes join with a subtraction even where others that only move values stand between."""

CHAINED = ("Add", "Sub", "Mul", "Div")
"""Those of two operands; three in a row with constants are an expression of their own, ``k`` being any constant."""

COMPARISONS = ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual")
BITWISE = ("BitwiseAnd", "BitwiseOr", "BitwiseXor")

DATA: Mapping[str, int] = MappingProxyType(
    {**dict.fromkeys((*ARITHMETIC, *COMPARISONS, *BITWISE, "MatMul"), 2), "Gemm": 3, "Where": 3}
)
"""How many inputs an expression shows, where that is not one. Graph cases show as many; tests insist on it."""

ANYWHERE = ("Concat", "Sum", "Mean", "Einsum")
"""Operators all of whose inputs are alike: an expression shows one."""

FACTORS = ("Mul", "Div")
POWER, POWERS = "2^k", (2.0**-8, 1.0, 2.0**8)
"""Beside these operators an expression shows a positive power of two as such, between the ends of those that are
asked for; not of types that runtimes hold in more bits, which it hands on."""

ZEROS: Mapping[str, Sequence[str]] = MappingProxyType({"one": ("0", "-0"), "array": ("[0]", "[-0]")})
"""Constants all of whose numbers are +0, and those that are -0: of one element, and of more. A subtraction by itself is
asked for them apart, since runtimes leave it out."""

MINUEND_ZERO = "0"
"""A constant 0 that something is subtracted from, beside linear operators: runtimes take ``0 - x`` for ``-x``, and join
that otherwise than what another constant makes."""

_OPEN = (("x", "x"), ("x", "scalar"), ("x", "array"), ("scalar", "x"), ("array", "x"))
"""Operands of which one at least is no constant: two constants have no neighbours that a runtime could join."""

NARROW = ("float16", "bfloat16")
"""Types that runtimes compute in float32."""

ADJACENT, APART, SHARED, WITHIN = "", "through Reshape", "read twice", "between nodes"
ENDS = "between input and output"
"""How a neighbour stands to the subtraction: at it, with operators between that only move values, or with others that
read what lies between the two. A subtraction by itself stands between nodes where one makes its operands and others
alone read its result: so it can be left out. A neighbour does where nodes are on its other side, too. A subtraction by
itself between an input and an output of the graph cannot be left out; it counts as :data:`ADJACENT` where that was not
measured."""


INSIDE, EDGE, CONVERTED = "both folded", "one folded", "folded conversion"
"""How a neighbour of constants of a narrow type is folded: with the subtraction; it or the subtraction alone; or it is
a conversion from another type, none of whose operands were narrow. Its expression has every constant as ``x``."""


@dataclass(frozen=True, slots=True)
class Surrounding:
    """One neighbour of a subtraction.

    Attributes:
        expression: the two of them. form: :data:`ADJACENT`, :data:`APART`, :data:`SHARED` or :data:`WITHIN`.
        operator: the neighbour's own; ``""`` where there is none. later: whether others stand between.
        exact: whether no rounding lies between the two, however many bits what lies there is computed in.
        far: whether it is no neighbour, but anywhere in the part of the graph that hangs together.
        folded: :data:`INSIDE`, :data:`EDGE` or :data:`CONVERTED` where constants of a narrow type are computed, and
            what lies between the two is rounded there; else ``""``.
        itself: whether the neighbour makes both operands, which are one value.
    """

    expression: str
    form: str
    operator: str
    later: bool = False
    exact: bool = False
    far: bool = False
    folded: str = ""
    itself: bool = False


def maker(operator: str, given: Sequence[str], side: str, other: str) -> str:
    """Write the expression of an operator that makes an operand.

    >>> maker("Mul", ("x", "scalar"), "A", "array"), maker("Relu", ("x",), "B", "x")
    ('Mul(x, scalar) - array', 'x - Relu(x)')
    """
    call = f"{operator}({', '.join(given)})"
    return f"{call} - {other}" if side == "A" else f"{other} - {call}"


def reader(operator: str, given: Sequence[str], a: str, b: str) -> str:
    """Write the expression of an operator that reads the difference, which ``given`` has as a dot.

    >>> reader("Mul", (".", "scalar"), "x", "array")
    'Mul(x - array, scalar)'
    """
    return f"{operator}({', '.join(one.replace('.', f'{a} - {b}') for one in given)})"


def bare(a: str, b: str) -> str:
    """Write the expression of a subtraction by itself."""
    return f"{a} - {b}"


def later(operator: str) -> str:
    """Write the expression of an operator that a difference reaches through others."""
    return f"{operator}(… x - x)"


def far(operator: str) -> str:
    """Write the expression of an operator that a graph has beside a subtraction, wherever."""
    return f"x - x in a graph with {operator}"


def inside(operator: str) -> str:
    """Write the expression of an operator in whose body a subtraction stands."""
    return f"x - x inside {operator}"


def surroundings(flow: Flow, index: int) -> tuple[Surrounding, ...]:
    """Return the neighbours of the subtraction at an index of a flow, each once.

    >>> flow = Flow([("Mul", ("x", "y"), ("m",)), ("Sub", ("m", "z"), ("d",)), ("Relu", ("d",), ("r",))], ())
    >>> [one.expression for one in surroundings(flow, 1) if not one.far]
    ['x - x', 'Mul(x, x) - x', 'Relu(x - x)', 'Relu(… x - x)']
    """
    plain, places = flow.plain
    views = ((flow, index), (plain, places[index])) if plain.steps != flow.steps else ((flow, index),)
    both = _constants(flow, index)
    parts = (_makers, _readers, _results) if both else (_bare, _makers, _readers, _later, _chains)
    found = (one for seen, place in views for part in parts for one in part(seen, place))
    if both:
        return tuple(dict.fromkeys(found))
    return tuple(dict.fromkeys((*found, *_idioms(flow, index))))


def _bare(flow: Flow, index: int) -> Iterator[Surrounding]:
    _, (a, b), (result, *_) = flow.steps[index]
    # What comes into a body was made around it.
    made = bool(flow.within) or all(name in flow.folded or flow.maker_of(name) is not None for name in (a, b))
    given = any(name not in flow.folded and flow.maker_of(name) is None for name in (a, b))
    ends = given and not flow.within and result in flow.outputs
    form = WITHIN if made and result not in flow.outputs else ENDS if ends else ADJACENT
    for own in kinds(flow, a):
        for other in kinds(flow, b):
            if (own, other) in _OPEN:
                yield Surrounding(bare(own, other), form, "")


def _constants(flow: Flow, index: int) -> bool:
    """Whether no input reaches the operands of a subtraction."""
    return all(name in flow.folded for name in flow.steps[index][1])


def _makers(flow: Flow, index: int) -> Iterator[Surrounding]:
    operands = flow.steps[index][1]
    result = flow.steps[index][2][0]
    moved = moves(flow, index) and not flow.readers_of(result)  # it is rounded where it leaves
    plain, places = flow.plain
    itself = len(set(plain.steps[places[index]][1])) == 1
    for side, name, other in (("A", operands[0], operands[1]), ("B", operands[1], operands[0])):
        for form, source in _sources(flow, name):
            if (made := flow.maker_of(source)) is None or source in flow.constants:
                continue
            if source in flow.folded:
                yield from _folded_makers(flow, index, side, form, source)
                continue
            operator, inputs, outputs = flow.steps[made]
            beyond = (flow.maker_of(one) for one in inputs if one not in flow.folded)
            stands = _stands(flow, source, operator, form, beyond)
            exact = _as_alone(operator, stands) and _narrow(flow, source) and (moved or is_exact(flow, source))
            for own in own_kinds(flow, operator, other, "B" if side == "A" else "A"):
                for given in _given(flow, operator, inputs):
                    text = maker(named(flow, operator, inputs, outputs), given, side, own)
                    yield Surrounding(text, stands, operator, exact=exact, itself=itself and source == name)


def _folded_makers(flow: Flow, index: int, side: str, form: str, source: str) -> Iterator[Surrounding]:
    """What makes a constant of a narrow type, where that rounds it."""
    made = flow.maker_of(source)
    if made is None or not _narrow(flow, source) or is_exact(flow, source):
        return
    operator, inputs, outputs = flow.steps[made]
    folded = INSIDE if _constants(flow, index) else EDGE
    if operator == "Cast" and not any(_narrow(flow, name) for name in _behind(flow, source)):
        folded = CONVERTED
    beyond = (flow.maker_of(one) for one in inputs if one not in flow.constants)
    count = 1 if operator in ANYWHERE else DATA.get(operator, 1)
    given = tuple("x" if name else "" for name in inputs[:count])
    text = maker(named(flow, operator, inputs, outputs), given, side, "x")
    name = flow.steps[index][1][side == "B"]
    apart = operator == "Cast" or source not in (name, *flow.before(name, _FOLDED_ALIKE))
    yield Surrounding(text, _stands(flow, source, operator, form, beyond), operator, later=apart, folded=folded)


def _behind(flow: Flow, name: str) -> Iterator[str]:
    """The values that a value is made of, by any nodes."""
    seen, waiting = {name}, [name]
    while waiting:
        made = flow.maker_of(waiting.pop())
        more = [] if made is None else [one for one in flow.steps[made][1] if one and one not in seen]
        seen.update(more)
        waiting.extend(more)
        yield from more


def _results(flow: Flow, index: int) -> Iterator[Surrounding]:
    """A difference of narrow constants that leaves a body, which runtimes may write into the graph around it."""
    result = flow.steps[index][2][0]
    if flow.within and _narrow(flow, result) and not is_exact(flow, result):
        for operator in flow.within:
            yield Surrounding(inside(operator), ADJACENT, operator, later=True, folded=INSIDE)


def _readers(flow: Flow, index: int) -> Iterator[Surrounding]:
    _, operands, (result, *_) = flow.steps[index]
    unrounded = _narrow(flow, result) and is_exact(flow, result)
    if (both := _constants(flow, index)) and (unrounded or not _narrow(flow, result)):
        return
    for form, name in _targets(flow, result):
        for i in flow.readers_of(name):
            operator, inputs, outputs = flow.steps[i]
            beyond = (node for one in outputs for node in flow.readers_of(one))
            stands = _stands(flow, name, operator, form, beyond)
            exact = unrounded and _as_alone(operator, stands)
            folded = "" if not both else INSIDE if all(one in flow.folded for one in outputs if one) else EDGE
            apart = both and (operator == "Cast" or name not in (result, *flow.after(result, _FOLDED_ALIKE)))
            for a in ("x",) if both else own_kinds(flow, operator, operands[0], "A"):
                for b in ("x",) if both else own_kinds(flow, operator, operands[1]):
                    for given in _given(flow, operator, inputs, name):
                        text = reader(named(flow, operator, inputs, outputs), given, a, b)
                        yield Surrounding(text, stands, operator, exact=exact, folded=folded, later=apart)


def _as_alone(operator: str, stands: str) -> bool:
    """Whether a neighbour is the operator that it is alone: between nodes it may be that of another type, which only
    arithmetic does not show."""
    return stands != WITHIN or operator in LINEAR


def _narrow(flow: Flow, name: str) -> bool:
    return flow.dtypes.get(name) in NARROW


def _stands(flow: Flow, name: str, operator: str, form: str, beyond: Iterable[int | None]) -> str:
    """How a neighbour stands, from the value between the two, their form otherwise, and nodes on its other side.

    Runtimes that compute a type in float32 have a neighbour in float32 too where all around it is.
    """
    if _narrow(flow, name) and any(node is not None for node in beyond):
        return WITHIN
    return SHARED if form == ADJACENT and operator in LINEAR and flow.uses(name) > 1 else form


def _later(flow: Flow, index: int) -> Iterator[Surrounding]:
    """What a difference reaches, each operator once."""
    for operator in sorted({flow.steps[i][0] for i in _reached(flow, index)}):
        yield Surrounding(later(operator), ADJACENT, operator, later=True)
    for operator in sorted({flow.steps[i][0] for i in _connected(flow, index)}):
        yield Surrounding(far(operator), ADJACENT, operator, far=True)
    for operator in flow.within:
        yield Surrounding(inside(operator), ADJACENT, operator)


def _reached(flow: Flow, index: int) -> set[int]:
    """The numbers of all nodes that a difference reaches."""
    seen = {i for name in flow.steps[index][2] for i in flow.readers_of(name)}
    waiting = list(seen)
    while waiting:
        for name in flow.steps[waiting.pop()][2]:
            more = [i for i in flow.readers_of(name) if i not in seen]
            seen.update(more)
            waiting.extend(more)
    return seen


def _connected(flow: Flow, index: int) -> set[int]:
    """The numbers of all other nodes that hang together with one by values that nodes make."""
    seen, waiting = {index}, [index]
    while waiting:
        _, inputs, outputs = flow.steps[waiting.pop()]
        made = [name for name in inputs if name not in flow.folded and flow.maker_of(name) is not None]
        beside = {i for name in made for i in (flow.maker_of(name), *flow.readers_of(name)) if i is not None}
        more = (beside | {i for name in outputs for i in flow.readers_of(name)}) - seen
        seen |= more
        waiting.extend(more)
    return seen - {index}


def _idioms(flow: Flow, index: int) -> Iterator[Surrounding]:
    plain, places = flow.plain
    found = idioms(plain, places[index], lambda: _reached(plain, places[index]))
    return (Surrounding(text, ADJACENT, "several") for text in found)


def _chains(flow: Flow, index: int) -> Iterator[Surrounding]:
    """Three linear operators in a row, each with a constant: runtimes make fewer of them."""
    _, (a, b), (result, *_) = flow.steps[index]
    for side, name in (("A", a), ("B", b)):
        if _with_constant(flow, index) and (first := flow.maker_of(name)) is not None:
            for inner in _linear(flow, first):
                for outer in _linear_before(flow, first):
                    made = inner.replace(".", outer.replace(".", "x"))
                    yield Surrounding(f"{made} - k" if side == "A" else f"k - {made}", ADJACENT, "linear")
    own = "x - k" if b in flow.folded else "k - x" if a in flow.folded else ""
    for i in flow.readers_of(result) if own else ():
        for first_text in _linear(flow, i):
            for k in flow.readers_of(flow.steps[i][2][0]):
                for text in _linear(flow, k):
                    written = text.replace(".", first_text.replace(".", own))
                    yield Surrounding(written, ADJACENT, "linear")
            for side, name in (("A", a), ("B", b)):
                made_by = flow.maker_of(name)
                for text in _linear(flow, made_by) if made_by is not None else ():
                    inside_ = text.replace(".", "x")
                    between = f"{inside_} - k" if side == "A" else f"k - {inside_}"
                    yield Surrounding(first_text.replace(".", between), ADJACENT, "linear")


def _with_constant(flow: Flow, index: int) -> bool:
    inputs = flow.steps[index][1]
    return len(inputs) == 2 and sum(name in flow.folded for name in inputs) == 1


def _linear(flow: Flow, index: int) -> Iterator[str]:
    """A linear operator with one constant, its other operand a dot."""
    operator, inputs, _ = flow.steps[index]
    if operator in CHAINED and _with_constant(flow, index):
        yield f"{operator}(k, .)" if inputs[0] in flow.folded else f"{operator}(., k)"


def _linear_before(flow: Flow, index: int) -> Iterator[str]:
    """The linear operator with a constant that makes what another is given."""
    for name in flow.steps[index][1]:
        if name not in flow.folded and (made := flow.maker_of(name)) is not None:
            yield from _linear(flow, made)


def _sources(flow: Flow, name: str) -> Iterator[tuple[str, str]]:
    """A value, and what it was before operators that only move it, or keep it in as many bits as it had."""
    yield ADJACENT, name
    through = KEEPING if flow.dtypes.get(name) in NARROW else SHAPES
    gone = flow.before(name, _GONE)
    yield from ((_form(flow, name, source, gone), source) for source in flow.before(name, through))


def _targets(flow: Flow, name: str) -> Iterator[tuple[str, str]]:
    """A value, and what it becomes through such operators."""
    yield ADJACENT, name
    through = KEEPING if flow.dtypes.get(name) in NARROW else SHAPES
    gone = flow.after(name, _GONE)
    yield from ((_form(flow, name, moved, gone), moved) for moved in flow.after(name, through))


_FOLDED_ALIKE = ("Identity", "Transpose", "Neg", "Abs", "Relu", "Max", "Min")
"""Operators through which folded constants were seen to keep more bits than their type has; others may round them."""

_GONE = ("Identity", "Dropout", "Expand")
"""Operators that runtimes remove, or carry out behind what follows."""


def _form(flow: Flow, one: str, other: str, gone: Collection[str]) -> str:
    """How two values stand that operators lie between: those that end in the shape they began with may be removed."""
    return ADJACENT if other in gone or flow.shapes.get(one) == flow.shapes.get(other) else APART


def kinds(flow: Flow, name: str) -> Collection[str]:
    """What a value is in an expression; an array of equal numbers can be taken for either kind of constant."""
    if name not in flow.folded:
        return ("x",)
    count = flow.sizes.get(flow.source(name))
    return ("scalar",) if count == 1 else ("array",) if not flow.uniform(name) else ("scalar", "array")


def _factors(flow: Flow, operator: str, name: str) -> Collection[str]:
    """What an operator is given; a power of two, which multiplies without rounding, is told from other numbers."""
    found = kinds(flow, name)
    if operator not in FACTORS or found != ("scalar",) or flow.dtypes.get(name) in NARROW:
        return found
    number = flow.number(name)
    exact = number is not None and POWERS[0] <= number <= POWERS[-1] and math.frexp(number)[0] == 0.5
    return (POWER,) if exact else found


def _from(flow: Flow, name: str, found: Collection[str]) -> Collection[str]:
    """What a minuend is beside a linear operator: a 0 is told from other constants."""
    numbers = flow.elements(flow.source(name)) if name in flow.folded else None
    with np.errstate(invalid="ignore"):  # NaNs that signal
        return found if numbers is None or np.any(numbers) else (MINUEND_ZERO,)


def own_kinds(flow: Flow, operator: str, name: str, side: str = "B") -> Collection[str]:
    """What an operand of the subtraction is beside an operator."""
    found = kinds(flow, name) if operator in ARITHMETIC else ("k",) if name in flow.folded else ("x",)
    return _from(flow, name, found) if side == "A" and operator in LINEAR else found


def named(flow: Flow, operator: str, inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """An operator as an expression names it: a conversion with its types."""
    if operator != "Cast":
        return operator
    return conversion(*(flow.dtypes.get(name[0], "unknown") if name else "unknown" for name in (inputs, outputs)))


def conversion(source: str, goal: str) -> str:
    """Return how an expression names a conversion."""
    return f"Cast from {source} to {goal}"


def _given(flow: Flow, operator: str, inputs: Sequence[str], chained: str = "") -> Iterator[tuple[str, ...]]:
    """What an operator is given, as an expression shows it; ``chained`` is the difference, a dot."""
    count = DATA.get(operator, 1)
    if operator in ANYWHERE:
        yield ("." if chained else "x",)
        return
    if chained and chained not in inputs[:count]:
        yield (f"input {inputs.index(chained)}: .",)
        return
    found: list[tuple[str, ...]] = [()]
    for place, name in enumerate(inputs[:count]):
        more = (".",) if chained and name == chained else _factors(flow, operator, name) if name else ("",)
        if operator == "Sub" and place == 0 and name != chained:
            more = _from(flow, name, more)
        found = [(*known, one) for known in found for one in more]
    yield from found
