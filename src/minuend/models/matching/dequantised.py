"""What was dequantised before operators behind which some runtimes convert."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from minuend.models.flow import Flow
from minuend.models.matching.match import ADJACENT, Match
from minuend.models.matching.operator_groups import (
    ALL_PRODUCTS,
    BOTH_WAYS,
    CHAINED,
    FACTORS,
    INTEGERS,
    MOVING_SCALES,
    OF_MATRICES,
    OF_WEIGHTS,
    RESCALED_BEHIND,
    RESCALED_BEHIND_ALONE,
)
from minuend.models.matching.standing import is_of_dequantised, is_rescaled, quantising
from minuend.models.matching.terms import judged_op, other_operands, with_term
from minuend.models.matching.values import is_linear, lies_along_first_or_second, with_constant
from minuend.models.patterns import Op, X

_BY_SIGN = (*RESCALED_BEHIND_ALONE, "MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin")
"""Those of them behind which a factor stands only if it is above 0."""


_BY_NUMBER = ("Clip", "DepthToSpace", "Slice")
"""Those of them behind which a factor stands only if it is one number."""


def of_dequantised(flow: Flow, index: int) -> Iterator[Match]:
    """What was dequantised before operators behind which some runtimes convert, next to the node.

    They do in a graph that quantises; a product of what was quantised with weights that were is converted so as well.
    """
    operands = flow.steps[index][1] if flow.within or quantising(flow) else ()
    for place, name in enumerate(operands):
        always, moved = (flow.before(name, (*RESCALED_BEHIND, *more)) for more in ((), RESCALED_BEHIND_ALONE))
        for source in dict.fromkeys((*moved, *flow.before(name, (*RESCALED_BEHIND, *FACTORS)))):
            made = flow.maker_of(source)
            operator, inputs, _ = flow.steps[made] if made is not None else ("", (), ())
            if operator in ("DequantizeLinear", BOTH_WAYS) and inputs:
                zeros = operator == "DequantizeLinear" and flow.has_zero_point(inputs)
                converts = source in always or (source in moved and not zeros)
            else:
                fits = source in moved or operator in OF_MATRICES
                converts = made is not None and fits and _is_converted(flow, made)
                if made is not None and source in moved and source != name:
                    converts = converts or _passes(flow, made, source, name) or _sum_passes(flow, made, source, name)
            if not converts:
                continue
            rescaled = operator != "DequantizeLinear" or is_rescaled(flow, operator, inputs)
            for terms in other_operands(flow, index, "DequantizeLinear", place):
                pattern, shown = (
                    judged_op(flow, index, with_term(terms, place, Op(one, (X,))))
                    for one in ("DequantizeLinear", operator)
                )
                yield Match(pattern, ADJACENT, operator, rescaled=rescaled, within=shown)


def _passes(flow: Flow, index: int, source: str, name: str) -> bool:
    """Whether the last factor of a node's result rounds, and stands behind all operators from there to a value."""
    last = last_factor(flow, index)
    if last is None:
        return False
    operator, inputs, _ = flow.steps[last]
    factor = inputs[1] if operator == ALL_PRODUCTS else next(one for one in inputs if one in flow.folded)
    if operator != ALL_PRODUCTS and flow.has_powers(factor):
        return False
    found = flow.elements(factor) if factor in flow.constants else None
    left: list[str] = []
    if found is not None and not (found > 0).all():
        left += _BY_SIGN
    if flow.sizes.get(factor) != 1:
        left += _BY_NUMBER
    made = flow.maker_of(next(one for one in inputs if one not in flow.folded))
    added = made is not None and flow.steps[made][0] in ("Add", "Sub") and with_constant(flow, made)
    if added or last != index or operator == ALL_PRODUCTS:
        left += RESCALED_BEHIND_ALONE
    return _is_moved(flow, source, name, left)


def _sum_passes(flow: Flow, index: int, source: str, name: str) -> bool:
    """The same of a sum or a difference with what was dequantised: one of integers, that is multiplied."""
    operator, inputs, _ = flow.steps[index]
    if operator not in ("Add", "Sub") or not any(is_of_dequantised(flow, one) for one in inputs):
        return False
    return _is_moved(flow, source, name, RESCALED_BEHIND_ALONE if with_constant(flow, index) else ())


def _is_moved(flow: Flow, source: str, name: str, left: Collection[str]) -> bool:
    """Whether operators that a factor goes behind make a value of another one; not those that are left, nor Concat."""
    return source in flow.before(name, [one for one in MOVING_SCALES if one != "Concat" and one not in left])


def _is_converted(flow: Flow, index: int) -> bool:
    """Whether a node converts integers by a product, or is one of quantised numbers, which ends so."""
    operator, inputs, _ = flow.steps[index]
    if operator in OF_WEIGHTS:
        return len(inputs) == 2 and is_of_dequantised(flow, inputs[0]) and _is_of_integers(flow, inputs[1])
    return operator in FACTORS and is_linear(flow, index) and any(_is_of_integers(flow, name) for name in inputs)


def _is_of_integers(flow: Flow, name: str, left: int = 4) -> bool:
    """Whether a value was dequantised, or converted from integers and multiplied, behind what moves it at most."""
    made = flow.maker_of(flow.source(name))
    operator, inputs, _ = flow.steps[made] if made is not None else ("", (), ())
    if operator == "Cast" and inputs:
        return flow.dtypes.get(inputs[0]) in INTEGERS
    linear = operator in CHAINED and left > 0 and any(_is_of_integers(flow, one, left - 1) for one in inputs)
    return operator in ("DequantizeLinear", BOTH_WAYS) or linear


def last_factor(flow: Flow, index: int) -> int | None:
    """The node whose factor is the last one of a node that adds constants, if they are before the factor then."""
    (result, *_) = flow.steps[index][2]
    while flow.steps[index][0] in ("Add", "Sub") and with_constant(flow, index):
        (value,) = (name for name in flow.steps[index][1] if name not in flow.folded)
        if (made := flow.maker_of(value)) is None or made >= index:  # a model that is not valid can go round in circles
            return None
        index = made
    operator, inputs, _ = flow.steps[index]
    if operator == ALL_PRODUCTS:
        return index
    if operator not in FACTORS or not with_constant(flow, index):
        return None
    (factor,) = (name for name in inputs if name in flow.folded)
    return index if lies_along_first_or_second(flow, factor, result) else None
