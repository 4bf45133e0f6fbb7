"""Three linear operators in a row, each with a constant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from minuend.models.flow import Flow
from minuend.models.matching.match import ADJACENT, Match
from minuend.models.matching.terms import judged_op, with_term
from minuend.models.matching.values import are_one, is_linear, magnitudes, next_nodes, with_constant
from minuend.models.patterns import RESULT, Const, Op, Term, X


def of_chains(flow: Flow, index: int) -> Iterator[Match]:
    """Three linear operators in a row, each with a constant: runtimes make fewer of them."""
    if not with_constant(flow, index):
        return
    _, operands, (result, *_) = flow.steps[index]
    place = next(i for i, name in enumerate(operands) if name not in flow.folded)
    before = flow.maker_of(operands[place])
    own = judged_op(flow, index, [X if i == place else Const.ANY for i in range(2)])

    def match(pattern: Op, *chained: int | None) -> Match:
        return Match(pattern, ADJACENT, "linear", factors=_chained(flow, [i for i in chained if i is not None]))

    inner = [] if before is None else [*_linear(flow, before)]
    for one in inner:
        for outer, at in _linear_before(flow, before):
            made = one.with_result(outer.with_result(X))
            yield match(_with(own, place, made), before, at)
    for i in flow.readers_of(result):
        for first in _linear(flow, i):
            for second, k in _linear_behind(flow, i):
                yield match(second.with_result(first.with_result(own)), i, k)
            for one in inner:
                yield match(first.with_result(_with(own, place, one.with_result(X))), before, i)


def _chained(flow: Flow, places: Sequence[int]) -> tuple[float, float] | None:
    """The smallest and the largest magnitude of the constants of several nodes, and of their products."""
    known = [magnitudes(flow, flow.steps[i][0], flow.steps[i][1]) for i in places]
    ends = [one for one in known if one is not None]
    if len(ends) < len(known):
        return None
    return math.prod(min(1.0, one[0]) for one in ends), math.prod(max(1.0, one[1]) for one in ends)


def _with(own: Op, place: int, term: Term) -> Op:
    """The judged operator with another term as one of its operands."""
    return replace(own, operands=with_term(own.operands, place, term))


def _linear(flow: Flow, index: int) -> Iterator[Op]:
    """A linear operator with one constant; its other operand is left open. A negation is a product with -1."""
    operator, inputs, _ = flow.steps[index]
    if operator == "Neg":
        yield Op("Mul", (RESULT, Const.ANY))
    elif is_linear(flow, index):
        first = inputs[0] in flow.folded
        yield Op(operator, (Const.ANY, RESULT) if first else (RESULT, Const.ANY))


def _linear_before(flow: Flow, index: int | None) -> Iterator[tuple[Op, int]]:
    """The linear operator with a constant that makes what another is given, and its number; and those before it, where
    they are one to a runtime."""
    waiting, seen = [] if index is None else [index], {index}
    while waiting:
        last = waiting.pop()
        for name in flow.steps[last][1]:
            if name in flow.folded or (made := flow.maker_of(name)) is None:
                continue
            yield from ((one, made) for one in _linear(flow, made))
            if made not in seen and are_one(flow, made, last):
                seen.add(made)
                waiting.append(made)


def _linear_behind(flow: Flow, index: int) -> Iterator[tuple[Op, int]]:
    """The same of the linear operators that read what another makes."""
    waiting, seen = [index], {index}
    while waiting:
        last = waiting.pop()
        for i in next_nodes(flow, last):
            yield from ((one, i) for one in _linear(flow, i))
            if i not in seen and are_one(flow, last, i):
                seen.add(i)
                waiting.append(i)
