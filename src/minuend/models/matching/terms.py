"""Operators and operands as a pattern shows them."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np

from minuend.models.flow import KEEPING, NEUTRAL, SHAPES, Flow
from minuend.models.matching.match import ADJACENT, THROUGH
from minuend.models.matching.operator_groups import ANYWHERE, ARITHMETIC, DATA, FACTORS, LINEAR, NARROW, WITH_ZERO
from minuend.models.matching.values import is_linear
from minuend.models.patterns import POWERS, RESULT, Const, Op, Term, X


def judged_op(flow: Flow, index: int, terms: Sequence[Term]) -> Op:
    return Op(flow.steps[index][0], tuple(terms), judged=True)


def other_operands(flow: Flow, index: int, operator: str, place: int = -1) -> Iterator[tuple[Term, ...]]:
    """The operands of the judged operator next to an adjacent one; of the one that this makes, a hole."""
    names = enumerate(flow.steps[index][1])
    return itertools.product(*((X,) if i == place else own_kinds(flow, operator, name, i) for i, name in names))


def with_term(terms: Sequence[Term], place: int, term: Term) -> tuple[Term, ...]:
    """Terms with another one at a place."""
    return (*terms[:place], term, *terms[place + 1 :])


def moved_values(
    flow: Flow, name: str, follow: Callable[[str, Collection[str]], Iterable[str]], more: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """A value, and what it was before, or is after, operators that only move it or keep it in as many bits.

    ``more`` names further operators that move it.
    """
    yield ADJACENT, name
    gone = list(follow(name, _GONE))
    for other in follow(name, (*(KEEPING if flow.dtypes.get(name) in NARROW else SHAPES), NEUTRAL, *more)):
        # Operators that end in the shape they began with may be removed.
        same = other in gone or flow.shapes.get(name) == flow.shapes.get(other)
        yield ADJACENT if same else THROUGH, other


FOLDED_ALIKE = ("Identity", "Transpose", "Neg", "Abs", "Relu", "Max", "Min")
"""Operators through which folded constants were seen to keep more bits than their type has; others may round them."""


MOVED_ALONG = ("DepthToSpace", "Gather", "ReverseSequence")
"""Operators before which runtimes compute what reads their result alone and has a number as its other operand."""


_GONE = ("Identity", "Dropout", "Expand", NEUTRAL)
"""Operators that runtimes remove, or carry out behind what follows."""


def kinds(flow: Flow, name: str) -> Collection[Term]:
    """What a value is in a pattern; an array of equal numbers can be taken for either kind of constant.

    So can a constant that is spread over a shape which is known when the model runs: runtimes leave out the spreading.
    """
    if name not in flow.folded:
        made = flow.maker_of(name)
        operator, inputs, _ = flow.steps[made] if made is not None else ("", (), ())
        if operator == "ConstantOfShape":
            return (X, Const.SCALAR)
        spread = operator == "Expand" and not {*inputs[:1]}.isdisjoint(flow.folded)
        return (X, *kinds(flow, inputs[0])) if spread else (X,)
    if flow.sizes.get(flow.source(name)) == 1:
        return (Const.SCALAR,)
    return (Const.ARRAY,) if not flow.uniform(name) else (Const.SCALAR, Const.ARRAY)


def _factors(flow: Flow, operator: str, name: str) -> Collection[Term]:
    """What an operator is given; a power of two, which multiplies without rounding, and 0 are distinguished."""
    found = kinds(flow, name)
    if operator not in FACTORS or found != (Const.SCALAR,) or flow.dtypes.get(name) in NARROW:
        return found
    number = flow.number(name)
    if number == 0 and operator == "Mul" and flow.dtypes.get(name) in WITH_ZERO:
        return (Const.ZERO,) if math.copysign(1, number) > 0 else found
    exact = number is not None and POWERS[0] <= number <= POWERS[-1] and math.frexp(number)[0] == 0.5
    return (Const.POWER,) if exact else found


def _is_scaled(flow: Flow, name: str) -> bool:
    """Whether a value is a product or a quotient with a constant that is no power of two.

    Runtimes join that constant with a further factor, so that the one product which is left rounds.
    """
    waiting = [name]
    for last in waiting:
        known = (one for form, one in moved_values(flow, last, flow.before, ("Neg",)) if form == ADJACENT)
        for made in dict.fromkeys(flow.maker_of(one) for one in known):
            if made is None or flow.steps[made][0] not in FACTORS or not is_linear(flow, made):
                continue
            operator, inputs, _ = flow.steps[made]
            if not any(Const.POWER in _factors(flow, operator, one) for one in inputs):
                return True
            waiting += [one for one in inputs if one not in (*flow.folded, *waiting)]
    return False


def _first(flow: Flow, name: str, found: Collection[Term]) -> Collection[Term]:
    """What a minuend is next to a linear operator: a constant 0 is distinguished.

    Runtimes take ``0 - x`` for ``-x``, and fuse that otherwise than what another constant makes.
    """
    numbers = flow.elements(flow.source(name)) if name in flow.folded else None
    with np.errstate(invalid="ignore"):  # NaNs that signal
        return found if numbers is None or np.any(numbers) else (Const.ZERO,)


def own_kinds(flow: Flow, operator: str, name: str, place: int = 1) -> Collection[Term]:
    """What an operand of the judged operator is next to another operator."""
    found = kinds(flow, name) if operator in ARITHMETIC else (Const.ANY,) if name in flow.folded else (X,)
    return _first(flow, name, found) if place == 0 and operator in LINEAR else found


def shown_op(
    flow: Flow, operator: str, inputs: Sequence[str], outputs: Sequence[str], given: tuple[Term, ...], read: str = ""
) -> Op:
    """An operator as a pattern shows it: a conversion with its types, a parameter that is read with its place.

    A Sum of three and more is shown as what runtimes make of it: sums of two.
    """
    place = 0
    if operator == "Sum":
        return Op("Add", given)
    if read and operator not in ANYWHERE and read not in inputs[: DATA.get(operator, 1)]:
        place = inputs.index(read)
    if operator != "Cast":
        return Op(operator, given, place=place)
    types = [flow.dtypes.get(name[0], "unknown") if name else "unknown" for name in (inputs, outputs)]
    return Op(operator, given, types=(types[0], types[1]), place=place)


def given_terms(flow: Flow, operator: str, inputs: Sequence[str], read: str = "") -> Iterator[tuple[Term, ...]]:
    """What an operator is given, as a pattern shows it; ``read`` is the judged operator's result."""
    count = DATA.get(operator, 1)
    if operator == "Sum":
        known = Counter((RESULT,) if read and name == read else tuple(kinds(flow, name)) for name in inputs)
        twice = [(one, one) for one, count in known.items() if count > 1]
        for pair in (*itertools.combinations(known, 2), *twice):
            yield from (one for one in itertools.product(*pair) if not read or RESULT in one)
        return
    if operator in ANYWHERE or (operator == "DequantizeLinear" and not read):  # stored integers are as others
        yield (RESULT if read else X,)
        return
    if read and read not in inputs[:count]:
        yield (RESULT,)
        return
    found: list[tuple[Term, ...]] = [()]
    for place, name in enumerate(inputs[:count]):
        more = (RESULT,) if read and name == read else _factors(flow, operator, name) if name else (None,)
        if operator == "Sub" and place == 0 and name != read:
            more = _first(flow, name, more)
        if more == (Const.POWER,) and any(_is_scaled(flow, one) for one in inputs if one not in flow.folded):
            more = (Const.SCALAR,)
        found = [(*known, one) for known in found for one in more]
    yield from found
