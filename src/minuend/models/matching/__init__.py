"""The patterns that a graph has around a judged operator: runtimes fuse operators, and compute them otherwise then.

A match has one adjacent operator: one that makes an operand, reads the result, or is reached from it later. Beside
operators that are no arithmetic a constant is :attr:`Const.ANY`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace

from minuend.models.flow import OF_SHAPES, Flow
from minuend.models.fusions import AS_ONE, as_written, fusions, types_of_one
from minuend.models.matching.chains import of_chains
from minuend.models.matching.connected import of_later
from minuend.models.matching.dequantised import of_dequantised
from minuend.models.matching.kernels import before_batch_normalisation, behind_softmax, of_one_kernel
from minuend.models.matching.makers import of_last_factors, of_makers, of_products
from minuend.models.matching.match import ADJACENT, ENDS, WITHIN, Match
from minuend.models.matching.quantised import of_averaged, of_grouped, of_quantised, of_reversed
from minuend.models.matching.readers import of_narrow_results, of_reader_behind_factors, of_readers
from minuend.models.matching.terms import judged_op, kinds
from minuend.models.matching.unpacked import of_unpacked
from minuend.models.matching.values import has_constants_alone, reached_nodes
from minuend.models.patterns import Normalisation, Softmax, X


def matches(flow: Flow, index: int) -> tuple[Match, ...]:
    """Return the patterns around the judged operator at an index of a flow, each once.

    >>> flow = Flow([("Mul", ("x", "y"), ("m",)), ("Sub", ("m", "z"), ("d",)), ("Relu", ("d",), ("r",))], ())
    >>> [str(one.pattern) for one in matches(flow, 1) if not one.far]
    ['x - x', 'Mul(x, x) - x', 'Relu(x - x)', 'Relu(… x - x)']
    """
    found = dict.fromkeys(_matches(flow, index))
    if flow.of_known_sizes is not None:
        found |= dict.fromkeys(_matches(flow.of_known_sizes, index))
    in_float32 = flow.of_one_float if flow.dtypes.get(flow.steps[index][2][0]) in ("float16", "float32") else None
    if in_float32 is not None:
        more = (one for one in _matches(in_float32, index) if one not in found)
        found |= dict.fromkeys(replace(one, converted=True) for one in more)
    return tuple(found)


def _matches(flow: Flow, index: int) -> tuple[Match, ...]:
    plain, places = flow.plain
    if not plain.steps[places[index]][0]:  # no output needs it
        plain, places = flow, range(len(flow.steps))
    same = plain.steps == flow.steps and not any(step[0] in OF_SHAPES for step in flow.steps)
    views = ((flow, index),) if same else ((flow, index), (plain, places[index]))
    both = has_constants_alone(flow, index)
    every = (
        _bare,
        of_makers,
        of_readers,
        of_dequantised,
        of_reader_behind_factors,
        of_later,
        of_chains,
        of_quantised,
        of_averaged,
        of_reversed,
        of_grouped,
        of_one_kernel,
        before_batch_normalisation,
        behind_softmax,
    )
    parts = (of_makers, of_readers, of_narrow_results, of_unpacked) if both else every
    found = (one for seen, place in views for part in parts for one in part(seen, place))
    if both:
        return tuple(dict.fromkeys(found))
    fused = fusions(plain, places[index], lambda: reached_nodes(plain, places[index]))
    written = (*fused, *((one, False) for one in as_written(flow, index)))
    known = tuple(_as_one(flow, places[index], written))
    several = (Match(one, ADJACENT, "several", supposed=supposed) for one, supposed in known)
    last = of_last_factors(plain, places[index])
    return tuple(dict.fromkeys((*found, *of_products(plain, places[index]), *last, *several)))


def _as_one(
    flow: Flow, place: int, written: Iterable[tuple[Normalisation | Softmax, bool]]
) -> Iterator[tuple[Normalisation | Softmax, bool]]:
    """Patterns, and the normalisation of one type that is left once what changes nothing is gone.

    One of two types is only supposed: it is none, or the model does not load, see :mod:`minuend.models.hazards`.
    """
    found = types_of_one(flow.bare, place) if "ReduceMean" in flow.operators else None
    dtype = None if found is None else flow.dtypes.get(flow.bare.steps[place][1][0])
    mixed = found is not None and None not in found and found != (dtype, dtype)
    yield from ((one, supposed or (mixed and one == AS_ONE)) for one, supposed in written)
    if found == (dtype, dtype) and found is not None:
        yield AS_ONE, False


def _bare(flow: Flow, index: int) -> Iterator[Match]:
    _, operands, (result, *_) = flow.steps[index]
    # What comes into a body was made around it.
    made = bool(flow.within) or all(name in flow.folded or flow.maker_of(name) is not None for name in operands)
    given = any(name not in flow.folded and flow.maker_of(name) is None for name in operands)
    ends = given and not flow.within and result in flow.outputs
    form = WITHIN if made and result not in flow.outputs else ENDS if ends else ADJACENT
    for terms in itertools.product(*(kinds(flow, name) for name in operands)):
        if X in terms:  # of constants alone nothing is adjacent that a runtime could fuse
            yield Match(judged_op(flow, index, terms), form, "")
