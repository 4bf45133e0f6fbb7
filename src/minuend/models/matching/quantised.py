"""What a graph that quantises makes of a constant that is added or subtracted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minuend.models.flow import KEEPING, NEUTRAL, SHAPES, Flow
from minuend.models.matching.match import ADJACENT, FATAL, LEVELS, NAN_ALONE, REORDERED, REVERSED, Match
from minuend.models.matching.operator_groups import BYTES, FACTORS, ONE_BY_ONE
from minuend.models.matching.standing import quantising
from minuend.models.matching.terms import judged_op
from minuend.models.matching.values import (
    is_one_number,
    is_zero,
    lies_along_channels,
    lies_along_first_or_second,
    lies_along_one,
    with_constant,
)
from minuend.models.patterns import Const, Op, Term, X

_TO_QUANTISATION = ("Identity", "Neg", "Concat")
"""Operators between a sum and its quantisation that keep the two adjacent to a runtime."""


def of_quantised(flow: Flow, index: int) -> Iterator[Match]:
    """A constant that is added or subtracted, where what quantises the result, or clips it before, computes it too."""
    operator, operands, (result, *_) = flow.steps[index]
    if operator not in ("Add", "Sub") or not with_constant(flow, index):
        return
    constant = next(name for name in operands if name in flow.folded)
    if not lies_along_first_or_second(flow, constant, result):
        return
    own = judged_op(flow, index, [Const.ANY if name == constant else X for name in operands])
    reverses = operator == "Sub" and operands[0] == constant
    one, zero = is_one_number(flow, constant), is_zero(flow, constant)
    for name in (result, *flow.after(result, _TO_QUANTISATION)):
        shared = reverses and flow.uses(name) > 1
        for i in flow.readers_of(name):
            reader, inputs, outputs = flow.steps[i]
            if inputs[0] != name:
                continue
            whole = Op("QuantizeLinear", (own,))
            if reader == "QuantizeLinear" and not zero and not shared:
                yield Match(whole, ADJACENT, reader, quantised=LEVELS)
            if reader == "QuantizeLinear" and reverses and (shared or name != result):
                yield Match(whole, ADJACENT, reader, quantised=NAN_ALONE)
            if reader == "Clip" and one and reverses and _is_quantised(flow, outputs[0]):
                yield Match(Op("QuantizeLinear", (Op("Clip", (own,)),)), ADJACENT, reader, quantised=NAN_ALONE)


_NORMALISING = ("LayerNormalization", "MeanVarianceNormalization")


_AVERAGING = ("AveragePool", "GlobalAveragePool", "ReduceMean", "ReduceSum")


_MOVING = (*SHAPES, NEUTRAL, "Slice", "Split", "Concat", "Gather", "Pad", "DepthToSpace")


def of_averaged(flow: Flow, index: int) -> Iterator[Match]:
    """A constant less a value, or a difference times a constant, that is averaged; the former normalised, too.

    Runtimes that compute with quantised numbers take it for a conversion back, and average before that. One that they
    pick elements of before it ends their process.
    """
    operator, operands, (result, *_) = flow.steps[index]
    if operator not in ("Add", "Sub") or not with_constant(flow, index) or not quantising(flow):
        return
    place = int(operands[1] in flow.folded)
    own = judged_op(flow, index, [Const.ANY if i == place else X for i in range(2)])
    reverses = operator == "Sub" and place == 0
    scaled = reverses and lies_along_first_or_second(flow, operands[0], result)
    if reverses:
        clipped = ("Clip",) if is_one_number(flow, operands[0]) else ()
        names = [result, *flow.after(result, (*_MOVING, *clipped, "Neg", *FACTORS))]
    else:
        moved = flow.after(result, (*_MOVING, "MaxPool"))
        names = [name for name in flow.after(result, (*_MOVING, "MaxPool", "Neg", *FACTORS)) if name not in moved]
    for i in dict.fromkeys(i for name in names for i in flow.readers_of(name)):
        reader, inputs, outputs = flow.steps[i]
        if not inputs or inputs[0] not in names:
            continue
        averages = reader in _AVERAGING and _is_kept(flow, operands[place], inputs[0], outputs[0])
        if averages or (scaled and reader in _NORMALISING and _is_normalised_late(flow, inputs)):
            yield Match(Op(reader, (own,)), ADJACENT, reader, kernel=REORDERED)
        if scaled and reader == "Gather" and lies_along_channels(flow, operands[0], result):
            yield Match(Op(reader, (own,)), ADJACENT, reader, kernel=FATAL)


def of_reversed(flow: Flow, index: int) -> Iterator[Match]:
    """In a graph that quantises, a constant less a value, of open shapes one of several axes; or less an integer."""
    operator, (first, *others), (result, *_) = flow.steps[index]
    if operator != "Sub" or others[0] in flow.folded or not quantising(flow):
        return
    term: Term = Const.ANY if first in flow.folded else X
    if first in flow.folded:
        reverses = not flow.has_open_dims(result) or not lies_along_one(flow, first)
    else:
        made = flow.operands(others[0]) if flow.maker(others[0]) == "Cast" else ()
        reverses = any(flow.dtypes.get(name) in BYTES for name in made)
    if reverses:
        yield Match(judged_op(flow, index, (term, X)), ADJACENT, operator, kernel=REVERSED)


def of_grouped(flow: Flow, index: int) -> Iterator[Match]:
    """What is subtracted from a normalisation by groups: of known shapes it ends the process of runtimes that compute
    both at once; where the graph quantises, the parts of the normalisation are joined with either operand.
    """
    operator, operands, _ = flow.steps[index]
    quantises = quantising(flow)
    for place, name in enumerate(operands if operator == "Sub" else ()):
        maker, inputs = flow.maker(name), flow.operands(name)
        known = bool(inputs) and not flow.has_open_dims(inputs[0])
        if maker != "GroupNormalization" or not known or any(one in flow.folded for one in operands):
            continue
        if quantises or place == 0:
            terms = (Op(maker, (X,)), X) if place == 0 else (X, Op(maker, (X,)))
            yield Match(judged_op(flow, index, terms), ADJACENT, maker, kernel=REORDERED if quantises else FATAL)


def _is_normalised_late(flow: Flow, inputs: Sequence[str]) -> bool:
    """Whether a value is normalised before it is converted: not one of three axes, nor along one of two."""
    value, scale = (flow.shapes.get(name) for name in (inputs[0], (*inputs[1:], "")[0]))
    if not isinstance(value, tuple) or len(value) > 3:
        return True
    return len(value) == 2 and (not isinstance(scale, tuple) or len(scale) == 2)


def _is_kept(flow: Flow, constant: str, before: str, after: str) -> bool:
    """Whether a constant may have one number, or lie along one axis that is not averaged."""
    stored, dims, made = (flow.shapes.get(name) for name in (constant, before, after))
    if not isinstance(stored, tuple) or not isinstance(dims, tuple) or not isinstance(made, tuple):
        return lies_along_one(flow, constant)
    along = [i - len(stored) for i, dim in enumerate(stored) if dim != 1]
    known = len(dims) == len(made) >= len(stored)
    return len(along) < 2 and not (known and any(dims[i] != made[i] for i in along))


def _is_quantised(flow: Flow, name: str) -> bool:
    """Whether a value is quantised, moved or made another number by number at most before."""
    moved = (name, *flow.after(name, (*KEEPING, *ONE_BY_ONE)))
    return any(flow.steps[i][0] == "QuantizeLinear" for one in moved for i in flow.readers_of(one))
