"""Operators that make an operand of the judged one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from minuend.models.exact import changes_zeros, is_exact, moves, sums_exactly
from minuend.models.flow import SHAPES, Flow
from minuend.models.matching.chains import of_chains
from minuend.models.matching.connected import of_later
from minuend.models.matching.dequantised import last_factor
from minuend.models.matching.match import CONVERTED, EDGE, INSIDE, Match
from minuend.models.matching.one_by_one import single_ways
from minuend.models.matching.operator_groups import ALL_PRODUCTS, ANYWHERE, DATA, IN_PARTS, LAST_PARTS, SCALING
from minuend.models.matching.readers import of_reader_behind_factors
from minuend.models.matching.standing import (
    as_alone,
    is_rescaled,
    is_shortened,
    join_exactly,
    levels_of,
    quantising,
    standing_of,
)
from minuend.models.matching.terms import (
    FOLDED_ALIKE,
    MOVED_ALONG,
    given_terms,
    judged_op,
    moved_values,
    other_operands,
    shown_op,
    with_term,
)
from minuend.models.matching.values import (
    has_constants_alone,
    has_tiny,
    holds_zeros,
    is_narrow,
    lies_along_first_or_second,
    magnitudes,
    values_behind,
    with_constant,
)
from minuend.models.patterns import Op, X


def of_makers(flow: Flow, index: int) -> Iterator[Match]:
    operands = flow.steps[index][1]
    result = flow.steps[index][2][0]
    moved = moves(flow, index) and not flow.readers_of(result)  # it is rounded where it leaves
    plain, places = flow.plain
    itself = len(set(plain.steps[places[index]][1])) == 1 and not quantising(flow)
    for place, name in enumerate(operands):
        scalar = all(flow.sizes.get(one) == 1 and one in flow.folded for one in operands if one != name)
        for form, source in moved_values(flow, name, flow.before, MOVED_ALONG if scalar else ()):
            if (made := flow.maker_of(source)) is None or source in flow.constants:
                continue
            if source in flow.folded:
                yield from _folded_makers(flow, index, place, form, source)
                continue
            if join_exactly(flow, index, made):
                continue
            operator, inputs, outputs = flow.steps[made]
            beyond = (flow.maker_of(one) for one in inputs if one not in flow.folded)
            stands = standing_of(flow, source, operator, form, beyond)
            exact = as_alone(operator, stands) and is_narrow(flow, source) and (moved or is_exact(flow, source))
            zeros = exact and changes_zeros(flow, index) and not (is_exact(flow, source) or sums_exactly(flow, made))
            factors, tiny = magnitudes(flow, operator, inputs), has_tiny(flow, inputs)
            rescaled, quantised = is_rescaled(flow, operator, inputs), levels_of(flow, source, operator)
            shortened = operator == "Cast" and is_shortened(flow, inputs)
            for terms in other_operands(flow, index, operator, place):
                for given in given_terms(flow, operator, inputs):
                    made_by = shown_op(flow, operator, inputs, outputs, given)
                    pattern = judged_op(flow, index, with_term(terms, place, made_by))
                    own = itself and source == name
                    yield Match(pattern, stands, operator, exact=exact, zeros=zeros, itself=own, factors=factors,
                                tiny=tiny, rescaled=rescaled, shortened=shortened, quantised=quantised)  # fmt: skip
                    if operator in IN_PARTS:
                        yield from _of_last_part(flow, index, place, form, source, pattern)
            if operator in SCALING:
                yield from _of_scaled_last_part(flow, index, place, form, source)


def _of_last_part(flow: Flow, index: int, place: int, form: str, source: str, within: Op) -> Iterator[Match]:
    """The patterns of the product or the sum that an operator ends with.

    Of four axes and more a product alone is a part of what comes before. Where a graph quantises, a bias is added
    before the product, and of one axis that ends the operator.
    """
    made = flow.maker_of(source)
    assert made is not None
    own, inputs, outputs = flow.steps[made]
    summed = len(inputs) > 2 and bool(inputs[2]) and not holds_zeros(flow, inputs[2])
    dims = flow.shapes.get(source)
    axes = len(dims) if isinstance(dims, tuple) else None
    parts: list[tuple[str, tuple[str, ...]]] = [("Add", (inputs[0], inputs[2]))] if summed else []
    if len(inputs) > 1 and LAST_PARTS[own] and (axes in (None, 1) and quantising(flow) if summed else (axes or 0) < 4):
        parts.append(("Mul", inputs[:2]))
    for operator, reads in parts:
        stands, factors = standing_of(flow, source, operator, form, ()), magnitudes(flow, operator, reads)
        along = operator == "Mul" and lies_along_first_or_second(flow, inputs[1], source)
        levels = levels_of(flow, source, operator) if along else ""
        for terms in other_operands(flow, index, operator, place):
            for given in given_terms(flow, operator, reads):
                maker = shown_op(flow, operator, reads, outputs, (X, *given[1:]))
                pattern = judged_op(flow, index, with_term(terms, place, maker))
                yield Match(pattern, stands, operator, factors=factors, quantised=levels, within=within)


def _of_scaled_last_part(flow: Flow, index: int, place: int, form: str, source: str) -> Iterator[Match]:
    """The same, where negations and products with constants stand between the operator and the judged one."""
    for name, passed in single_ways(flow, source):
        made = flow.maker_of(name)
        assert made is not None
        operator, inputs, outputs = flow.steps[made]
        if operator not in (*LAST_PARTS, ALL_PRODUCTS) or not passed <= {*SCALING, *SHAPES}:
            continue
        maker = shown_op(flow, operator, inputs, outputs, next(given_terms(flow, operator, inputs)))
        terms = next(other_operands(flow, index, operator, place))
        alone, within = (judged_op(flow, index, with_term(terms, place, one)) for one in (maker, Op("Neg", (maker,))))
        if operator == ALL_PRODUCTS:
            yield Match(alone, form, operator, within=within)
        elif operator in IN_PARTS or with_constant(flow, index):
            yield from _of_last_part(flow, index, place, form, name, within)


def _folded_makers(flow: Flow, index: int, place: int, form: str, source: str) -> Iterator[Match]:
    """What makes a constant of a narrow type, where that rounds it."""
    made = flow.maker_of(source)
    if made is None or not is_narrow(flow, source) or is_exact(flow, source):
        return
    operator, inputs, outputs = flow.steps[made]
    folded = INSIDE if has_constants_alone(flow, index) else EDGE
    if operator == "Cast" and not any(is_narrow(flow, name) for name in values_behind(flow, source)):
        folded = CONVERTED
    beyond = (flow.maker_of(one) for one in inputs if one not in flow.constants)
    count = 2 if operator == "Sum" else 1 if operator in ANYWHERE else DATA.get(operator, 1)
    made_by = shown_op(flow, operator, inputs, outputs, tuple(X if name else None for name in inputs[:count]))
    operands = flow.steps[index][1]
    pattern = judged_op(flow, index, [made_by if i == place else X for i in range(len(operands))])
    name = operands[place]
    distinct = operator == "Cast" or source not in (name, *flow.before(name, FOLDED_ALIKE))
    yield Match(pattern, standing_of(flow, source, operator, form, beyond), operator, later=distinct, folded=folded)


def of_products(flow: Flow, index: int) -> Iterator[Match]:
    """What is dequantised is a product, if it has no zero point, others are next to it, or the graph quantises."""
    alone, every = flow.of_products
    made = every if quantising(flow) else alone
    parts = {of_makers: made, of_reader_behind_factors: alone, of_later: alone, of_chains: every}
    for part, seen in parts.items():
        for one in part(seen, index) if seen is not None else ():
            yield replace(one, within=one.within or one.pattern)


def of_last_factors(flow: Flow, index: int) -> Iterator[Match]:
    """What makes an operand where a graph quantises, and a product before a sum with a constant is one behind it.

    Of open shapes no runtime joins that product with the judged operator.
    """
    _, operands, (result, *_) = flow.steps[index]
    if not quantising(flow) or flow.has_open_dims(result):
        return
    products: dict[int, tuple[str, tuple[str, ...]]] = {}
    scales = set[str]()
    for name in operands:
        made = flow.maker_of(flow.source(name))
        product = None if made is None or name in flow.folded else last_factor(flow, made)
        if made is None or product is None:
            continue
        operator, inputs, _ = flow.steps[product]
        if operator == ALL_PRODUCTS:  # its scale lies along the second axis, and its shape does not say so
            products[made] = "Mul", inputs[:2]
            scales.add(inputs[1])
        elif product != made:  # else of_makers sees it
            products[made] = operator, inputs[:2]
    if products:
        steps = [(*products.get(i, step[:2]), step[2]) for i, step in enumerate(flow.steps)]
        shapes = {name: dims for name, dims in flow.shapes.items() if name not in scales}
        seen = replace(flow, steps=steps, shapes=shapes)
        yield from (replace(one, within=one.within or one.pattern) for one in of_makers(seen, index))
