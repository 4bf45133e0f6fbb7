"""Operators that read the result of the judged one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from minuend.models.exact import is_exact
from minuend.models.flow import SHAPES, Flow
from minuend.models.matching.match import ADJACENT, EDGE, INSIDE, Match
from minuend.models.matching.operator_groups import ALL_PRODUCTS, COMPARISONS, FACTORS, LINEAR
from minuend.models.matching.standing import as_alone, is_rescaled, join_exactly, levels_of, standing_of
from minuend.models.matching.terms import FOLDED_ALIKE, given_terms, judged_op, moved_values, other_operands, shown_op
from minuend.models.matching.values import has_constants_alone, has_tiny, is_narrow, magnitudes, with_constant
from minuend.models.patterns import ENLARGE, SMALL, Distant, How, X


def of_narrow_results(flow: Flow, index: int) -> Iterator[Match]:
    """A difference of narrow constants that leaves a body, which runtimes may write into the graph around it."""
    result = flow.steps[index][2][0]
    if flow.within and is_narrow(flow, result) and not is_exact(flow, result):
        own = judged_op(flow, index, [X] * len(flow.steps[index][1]))
        for operator in flow.within:
            yield Match(Distant(operator, How.AROUND, own), ADJACENT, operator, later=True, folded=INSIDE)


def of_readers(flow: Flow, index: int) -> Iterator[Match]:
    _, operands, (result, *_) = flow.steps[index]
    unrounded = is_narrow(flow, result) and is_exact(flow, result)
    if (both := has_constants_alone(flow, index)) and (unrounded or not is_narrow(flow, result)):
        return
    for form, name in moved_values(flow, result, flow.after):
        for i in flow.readers_of(name):
            if join_exactly(flow, index, i):
                continue
            operator, inputs, outputs = flow.steps[i]
            beyond = (node for one in outputs for node in flow.readers_of(one))
            stands = standing_of(flow, name, operator, form, beyond)
            exact = unrounded and as_alone(operator, stands)
            folded = "" if not both else INSIDE if all(one in flow.folded for one in outputs if one) else EDGE
            distinct = both and (operator == "Cast" or name not in (result, *flow.after(result, FOLDED_ALIKE)))
            factors, tiny = magnitudes(flow, operator, inputs), has_tiny(flow, inputs)
            rescaled = operator in LINEAR and is_rescaled(flow, operator, inputs, but=name)
            quantised, enlarges = levels_of(flow, name, operator), _enlarged(flow, i, name)
            known = [tuple(X for _ in operands)] if both else other_operands(flow, index, operator)
            for terms in known:
                for given in given_terms(flow, operator, inputs, name):
                    reader = shown_op(flow, operator, inputs, outputs, given, name)
                    pattern = reader.with_result(judged_op(flow, index, terms))
                    yield Match(pattern, stands, operator, exact=exact, folded=folded, later=distinct, factors=factors,
                                tiny=tiny, rescaled=rescaled, quantised=quantised, enlarges=enlarges)  # fmt: skip


def _enlarged(flow: Flow, index: int, name: str) -> frozenset[str]:
    """Which differences of a value the operator that reads it makes large ones of."""
    operator, inputs, outputs = flow.steps[index]
    if operator == "Cast":
        return frozenset({SMALL} if any(flow.dtypes.get(one) == "bool" for one in outputs) else ())
    found = ENLARGE.get(operator, frozenset())
    read = inputs.index(name) if found else 0
    if read != {"Div": 1, "Mod": 1}.get(operator, 0) and operator not in COMPARISONS:
        return frozenset()
    other = next((flow.elements(flow.source(one)) for one in inputs if one in flow.folded), None) if found else None
    with np.errstate(invalid="ignore"):  # NaNs that signal
        if operator == "Pow" and other is not None:
            return frozenset() if (other >= 1).all() else found & {SMALL} if (other > 0).all() else found
        near = operator not in COMPARISONS or other is None or bool((np.abs(other) < _NEAR_ZERO).any())
    return found if near else frozenset()


_NEAR_ZERO = 2.0**-100
"""Magnitudes up to which a number can be another side of a comparison than one next to 0 is."""


def of_reader_behind_factors(flow: Flow, index: int) -> Iterator[Match]:
    """An operator that is a product and a sum, which products of the result with constants are joined with."""
    _, _, (name, *_) = flow.steps[index]
    passed, seen = set[str](), set[str]()
    while with_constant(flow, index) and flow.uses(name) == 1 and flow.readers_of(name) and name not in seen:
        seen.add(name)
        (i,) = flow.readers_of(name)
        operator, inputs, outputs = flow.steps[i]
        if operator == ALL_PRODUCTS and passed & {*FACTORS}:
            reader = shown_op(flow, operator, inputs, outputs, next(given_terms(flow, operator, inputs, name)), name)
            alone = reader.with_result(judged_op(flow, index, next(other_operands(flow, index, operator))))
            yield Match(alone, ADJACENT, operator, within=alone)
        if not outputs or (operator not in SHAPES and not (operator in FACTORS and with_constant(flow, i))):
            return
        passed.add(operator)
        name = outputs[0]
