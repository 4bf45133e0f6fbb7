"""Zero points that are subtracted from stored weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from minuend.models.flow import SHAPES, Flow
from minuend.models.folding import computed
from minuend.models.matching.match import ADJACENT, DYNAMIC, UNPACKED, UNPACKED_LATE, Match
from minuend.models.matching.operator_groups import (
    BOTH_WAYS,
    BYTES,
    CHAINED,
    FACTORS,
    FEW_BITS,
    MOVED_BEFORE,
    OF_MATRICES,
    OF_WEIGHTS,
)
from minuend.models.matching.standing import is_of_dequantised, quantising
from minuend.models.matching.terms import judged_op
from minuend.models.matching.values import closure, is_one_number
from minuend.models.patterns import Distant, How, X


def of_unpacked(flow: Flow, index: int) -> Iterator[Match]:
    """A zero point that is subtracted from stored weights, which some runtimes do where they compute a product."""
    operator, operands, (result, *_) = flow.steps[index]
    made = flow.maker_of(operands[0])
    kind, inputs, _ = flow.steps[made] if made is not None else ("", (), ())
    if operator != "Sub" or kind != "Cast" or not inputs or flow.dtypes.get(inputs[0]) not in FEW_BITS:
        return
    bytes_ = flow.dtypes.get(inputs[0]) in BYTES
    own = judged_op(flow, index, (X, X))
    unscaled = (result, *flow.after(result, (*SHAPES, "Div", "Cast")))
    for name in (result, *flow.after(result, (*SHAPES, *FACTORS, "Cast"))):
        for i in flow.readers_of(name):
            reader, given, _ = flow.steps[i]
            if reader not in OF_WEIGHTS or name not in given[:2]:
                continue
            pattern = Distant(reader, How.BEHIND, own)
            if bytes_ and name not in unscaled and _is_of_integers_alone(flow, operands[1], i):
                yield Match(pattern, ADJACENT, reader, kernel=UNPACKED)
            if reader in OF_MATRICES and name != result and _has_many_rows(flow, name, given):
                yield Match(pattern, ADJACENT, reader, kernel=UNPACKED_LATE)
            unsigned = _is_unsigned(flow, operands[0]) and _is_unsigned(flow, operands[1])
            if unsigned and name not in unscaled and _is_packed(flow, name, reader, given):
                yield Match(pattern, ADJACENT, reader, kernel=DYNAMIC)


_UNSIGNED = ("uint8", "uint4")


def _is_unsigned(flow: Flow, name: str) -> bool:
    """Whether a value is converted from few bits without a sign."""
    inputs = flow.operands(name) if flow.maker(name) == "Cast" else ()
    return bool(inputs) and flow.dtypes.get(inputs[0]) in _UNSIGNED


def _is_packed(flow: Flow, weights: str, reader: str, given: Sequence[str]) -> bool:
    """Whether weights are the one matrix that a product multiplies with; one with a vector counts for none."""
    first, dims = (flow.shapes.get(name) for name in (given[0], weights))
    if reader not in OF_MATRICES or weights != given[1] or (isinstance(first, tuple) and len(first) < 2):
        return False
    return not isinstance(dims, tuple) or all(one == 1 for one in dims[:-2])


def _is_of_integers_alone(flow: Flow, zeros: str, index: int) -> bool:
    """Whether a graph quantises, and a zero point is made an integer in it, or is a part of sums of integers.

    Sums of the products of matrices are the same ones then, if the zero point is an integer.
    """
    if not quantising(flow):
        return False
    found = flow.elements(zeros) if zeros in flow.constants else computed(flow, zeros)
    if found is None or (found != np.round(found)).any():
        return True
    reader, given, (result, *_) = flow.steps[index]
    if reader == _SPREADING and _has_groups(flow, given[1], result):
        return False
    exact = reader in OF_MATRICES and bool(found.any())
    directly = exact and flow.maker(given[0]) == "DequantizeLinear"
    known = not directly and is_of_dequantised(flow, given[0], FEW_BITS)
    return known or (not exact and _is_multiplied(flow, given[0], reader))


_SPREADING = "ConvTranspose"
"""The product with weights behind which runtimes multiply by whatever was multiplied by before."""


def _has_groups(flow: Flow, weights: str, result: str) -> bool:
    """Whether a transposed convolution is known to be of several groups, by channels that the weights do not have."""
    dims, made = (flow.shapes.get(name) for name in (weights, result))
    if not isinstance(dims, tuple) or not isinstance(made, tuple) or min(len(dims), len(made)) < 2:
        return False
    return isinstance(dims[1], int) and isinstance(made[1], int) and dims[1] != made[1]


def _is_multiplied(flow: Flow, name: str, reader: str) -> bool:
    """Whether a value is of integers, times factors that runtimes apply behind a product with weights.

    Factors next to a convolution are numbers, next to a product of matrices constants; next to a transposed convolution
    a product of two values is enough.
    """
    moved = (name, *flow.before(name, MOVED_BEFORE)) if reader == _SPREADING else ()
    if any(flow.maker(one, ()) in FACTORS and flow.folded.isdisjoint(flow.operands(one, ())) for one in moved):
        return True
    found = closure([name], lambda one: _before_factors(flow, one, reader))
    for operator, inputs, outputs in (flow.steps[made] for made in map(flow.maker_of, found) if made is not None):
        kind = flow.dtypes.get(inputs[0], "") if inputs else ""
        few = kind in (*FEW_BITS, "bool")
        multiplied = any(flow.steps[i][0] in CHAINED for one in outputs for i in flow.readers_of(one))
        if operator == "Cast":
            fits = multiplied and (few or (reader == _SPREADING and bool(kind) and "float" not in kind))
        else:
            known = operator == BOTH_WAYS or (operator == "DequantizeLinear" and few)
            fits = known and (multiplied or reader == _SPREADING)
        if fits:
            return True
    return False


def _before_factors(flow: Flow, name: str, reader: str) -> Iterator[str]:
    """What a value was before operators that move or keep it, or before one factor, see :func:`_is_multiplied`."""
    yield from flow.before(name, MOVED_BEFORE)
    made = flow.maker_of(name)
    operator, inputs, _ = flow.steps[made] if made is not None else ("", (), ())
    constants = [one for one in inputs if one in flow.folded]
    if operator in CHAINED and reader != _SPREADING:
        fits = operator in FACTORS or flow.maker(inputs[0]) == "Cast"
        if constants and fits and (reader != "Conv" or all(is_one_number(flow, one) for one in constants)):
            yield from (one for one in inputs if one not in constants)
    elif reader == _SPREADING and operator in (*FACTORS, *OF_WEIGHTS):
        yield from (inputs if operator in FACTORS else inputs[:1])


_ROWS = 32
"""Rows of a matrix that runtimes with instructions for bfloat16 unpack while they compute a product; multiples, too."""


def _has_many_rows(flow: Flow, matrix: str, given: Sequence[str]) -> bool:
    """Whether a matrix may have as many rows as a kernel for unpacking takes."""
    other = flow.shapes.get(given[1] if given[0] == matrix else given[0])
    rows = (other[-2:-1] if given[0] == matrix else other[-1:]) if isinstance(other, tuple) else ()
    known = [one for one in rows if isinstance(one, int)]
    return not known or known[0] % _ROWS == 0 or known[0] >= _ROWS * 8
