"""The patterns that a graph has around a judged operator: runtimes fuse operators, and compute them otherwise then.

A match has one adjacent operator: one that makes an operand, reads the result, or is reached from it later. Beside
operators that are no arithmetic a constant is :attr:`Const.ANY`.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from minuend.models.exact import changes_zeros, is_exact, moves, sums_exactly
from minuend.models.flow import DOUBLED, KEEPING, NEUTRAL, OF_SHAPES, SHAPES, Flow
from minuend.models.folding import computed
from minuend.models.fusions import AS_ONE, as_written, fusions, types_of_one
from minuend.models.patterns import (
    ENLARGE,
    POWERS,
    RESULT,
    SMALL,
    Const,
    Distant,
    How,
    Normalisation,
    Op,
    Pattern,
    Softmax,
    Term,
    X,
)  # fmt: skip

ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mod", "PRelu")
"""Operators of two operands, both of which a pattern shows."""

LINEAR = ("Add", "Sub", "Mul", "Div", "Neg")
"""Operators that runtimes fuse with a subtraction even where others that only move values stand between."""

CHAINED = ("Add", "Sub", "Mul", "Div")
"""Those of two operands; three in a row with constants are a pattern of their own."""

COMPARISONS = ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual")
BITWISE = ("BitwiseAnd", "BitwiseOr", "BitwiseXor")

DATA: Mapping[str, int] = MappingProxyType(
    {**dict.fromkeys((*ARITHMETIC, *COMPARISONS, *BITWISE, "MatMul"), 2), "Gemm": 3, "Where": 3}
)
"""How many inputs a pattern shows, where that is not one. Graph cases show as many; tests insist on it."""

ANYWHERE = ("Concat", "Sum", "Mean", "Einsum")
"""Operators all of whose inputs are alike: a pattern shows one."""

FACTORS = ("Mul", "Div")
"""Operators next to which a pattern shows a power of two as such, between the ends of those that are measured; not of
types that runtimes hold in more bits, which it hands on."""

WITH_ZERO = ("float32", "int8", "uint8", "int32", "int64")
"""Types next to whose subtraction a factor 0 is shown as such."""

ZEROS: Mapping[str, Sequence[Const]] = MappingProxyType(
    {"one": (Const.ZERO, Const.MINUS_ZERO), "array": (Const.ZEROS, Const.MINUS_ZEROS)}
)
"""Constants all of whose numbers are +0, and those that are -0: of one element, and of more. A subtraction by itself is
measured with each of them, since runtimes leave it out."""

NARROW = ("float16", "bfloat16")
"""Types that runtimes compute in float32."""

ADJACENT, THROUGH, SHARED, WITHIN = "", "through Reshape", "read twice", "between nodes"
ENDS = "between input and output"
"""How an adjacent operator stands to the judged one: at it, with operators between that only move values, or with
others that read what lies between the two. A subtraction by itself stands between nodes where one makes its operands
and others alone read its result: so it can be left out. An adjacent operator does where nodes are on its other side,
too. A subtraction by itself between an input and an output of the graph cannot be left out; it counts as
:data:`ADJACENT` where that was not measured."""


PLAIN = frozenset((
    *LINEAR, *SHAPES, "Abs", "Clip", "Concat", "DepthToSpace", "Dropout", "Elu", "Erf", "Exp", "Gather", "HardSigmoid",
    "HardSwish", "LeakyRelu", "Log", "LogSoftmax", "Max", "Min", "Pad", "Pow", "Reciprocal", "ReduceL1", "ReduceL2",
    "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Relu", "Sigmoid", "Slice",
    "Softmax", "Softplus", "SpaceToDepth", "Split", "Sqrt", "Sum", "Tanh",
))  # fmt: skip
"""Operators on a way out of a graph on which a runtime that computes some operators in less precision was measured to
keep the precision of what it computes."""

INSIDE, EDGE, CONVERTED = "both folded", "one folded", "folded conversion"
"""How an adjacent operator of constants of a narrow type is folded: with the subtraction; it or the subtraction alone;
or it is a conversion from another type, none of whose operands were narrow. Its pattern has constants as holes."""


LEVELS, NAN_ALONE = "levels", "NaN alone"
"""What a quantisation changes of a constant that is added before, see :class:`Match`."""

MISPLACED, REORDERED, NEGATED, CUT_OFF = "misplaced", "reordered", "negated", "cut off"
UNPACKED, UNPACKED_LATE, DYNAMIC, SUMMED = "unpacked", "unpacked late", "dynamic", "summed"
ROUNDED_TWICE, BIAS_LAST = "rounded twice", "bias last"
REVERSED, FATAL = "reversed", "fatal"
"""What a runtime's kernel does with a subtraction, see :class:`Match`:

- MISPLACED: of three axes, behind what reduces the first or the last, it applies a constant along the second one along
  the first.
- REORDERED: it takes the subtraction into the sums of a depthwise convolution of three axes, a constant number into
  those of a product with a stored matrix whose rows do not fill its registers; or, in a graph that quantises, out of an
  average.
- SUMMED: of four axes or more it begins the sums of a depthwise convolution with the other operand.
- BIAS_LAST: it adds the bias of a convolution in groups of few channels after the other operand.
- ROUNDED_TWICE: between a convolution and a batch normalisation, it computes all three at once; elsewhere that product
  and sum are rounded once, in one step.
- NEGATED: a value less what was reduced, multiplied or normalised is a negated difference, with the other zero.
- REVERSED: the same of a constant less a value, and of a value less an integer, in a graph that quantises.
- CUT_OFF: in bfloat16, of what was reduced and a constant of one number or along one axis, it cuts the result off.
- UNPACKED: what is subtracted from stored integers it rounds to one, and computes their product with quantised numbers
  of integers.
- UNPACKED_LATE: of a matrix it subtracts while it computes a product, in its default precision.
- DYNAMIC: in float32 it quantises what a matrix of unsigned integers is multiplied with.
- FATAL: it ends the process.
"""

NO_FACTORS = (1.0, 1.0)
"""The magnitudes of factors where no constant is one."""


@dataclass(frozen=True, slots=True)
class Match:
    """A pattern that a graph has around a judged operator.

    Attributes:
        pattern: the judged operator with an adjacent one, or by itself.
        form: :data:`ADJACENT`, :data:`THROUGH`, :data:`SHARED`, :data:`WITHIN` or :data:`ENDS`.
        operator: the adjacent one's name; ``""`` where there is none. later: whether others stand between.
        exact: whether no rounding lies between the two, however many bits what lies there is computed in.
        zeros: whether the sign of a zero is other all the same, where what lies between the two is not rounded to it.
        far: whether it is not adjacent, but anywhere in the part of the graph that hangs together.
        folded: :data:`INSIDE`, :data:`EDGE` or :data:`CONVERTED` where constants of a narrow type are computed, and
            what lies between the two is rounded there; else ``""``.
        itself: whether the adjacent operator makes both operands, which are one value.
        factors: the smallest and the largest magnitude, zeros aside, of constants that are factors or divisors next to
            the judged operator; ``None`` where they are not known.
        past: of an operator that is far and not reached: the operators of one way from the result out of the graph, all
            of them :data:`PLAIN`; ``None`` where there is no such way.
        across: whether a product of a matrix is handed on to the judged operator, which has four axes or more and a
            constant along the second one, or a constant along the last one, whose size the product does not know.
        rescaled: whether the adjacent operator makes an operand of what was quantised directly before, or of truth
            values in a graph that has quantised ones, too; or is linear and reads such a value, behind others at most.
        shortened: whether the adjacent operator makes a float of an integer of 64 bits in a graph that quantises: some
            runtimes convert that to int32 first.
        tiny: whether the adjacent operator has a constant of float32 that is subnormal: some runtimes take it for 0.
        quantised: :data:`LEVELS` where the adjacent operator quantises, and some runtimes compute a constant with it
            that the judged operator adds or subtracts; or where it is linear, and what lies between the two is
            quantised, which some runtimes do from what that is made of. :data:`NAN_ALONE` where it can change
            what NaN becomes, and nothing else. Else ``""``.
        kernel: :data:`MISPLACED`, :data:`REORDERED`, :data:`NEGATED`, :data:`CUT_OFF`, :data:`UNPACKED`,
            :data:`UNPACKED_LATE`, :data:`DYNAMIC`, :data:`SUMMED`, :data:`BIAS_LAST`, :data:`ROUNDED_TWICE`,
            :data:`REVERSED` or :data:`FATAL` where some runtimes compute the adjacent operator and the judged one so;
            else ``""``.
        enlarges: which differences of the result the adjacent operator makes large ones of, see :data:`ENLARGE`.
        within: the pattern that the graph has, where this one is of the product or the sum that the adjacent operator
            ends with: some runtimes compute it in such parts.
        supposed: whether the graph was not seen to have the pattern, but has a part of it, written otherwise.
    """

    pattern: Pattern
    form: str
    operator: str
    later: bool = False
    exact: bool = False
    zeros: bool = False
    far: bool = False
    folded: str = ""
    itself: bool = False
    factors: tuple[float, float] | None = NO_FACTORS
    past: frozenset[str] | None = None
    across: bool = False
    rescaled: bool = False
    shortened: bool = False
    tiny: bool = False
    quantised: str = ""
    kernel: str = ""
    enlarges: frozenset[str] = frozenset()
    within: Pattern | None = None
    supposed: bool = False

    def __hash__(self) -> int:  # of three parts: equal ones have the same, and few others do
        return hash((self.pattern, self.form, self.operator))


def matches(flow: Flow, index: int) -> tuple[Match, ...]:
    """Return the patterns around the judged operator at an index of a flow, each once.

    >>> flow = Flow([("Mul", ("x", "y"), ("m",)), ("Sub", ("m", "z"), ("d",)), ("Relu", ("d",), ("r",))], ())
    >>> [str(one.pattern) for one in matches(flow, 1) if not one.far]
    ['x - x', 'Mul(x, x) - x', 'Relu(x - x)', 'Relu(… x - x)']
    """
    of_sizes = flow.of_known_sizes
    if of_sizes is not None:
        return tuple(dict.fromkeys((*_matches(flow, index), *_matches(of_sizes, index))))
    return _matches(flow, index)


def _matches(flow: Flow, index: int) -> tuple[Match, ...]:
    plain, places = flow.plain
    if not plain.steps[places[index]][0]:  # no output needs it
        plain, places = flow, range(len(flow.steps))
    same = plain.steps == flow.steps and not any(step[0] in OF_SHAPES for step in flow.steps)
    views = ((flow, index),) if same else ((flow, index), (plain, places[index]))
    both = _constants(flow, index)
    every = (
        _bare,
        _makers,
        _readers,
        _dequantised,
        _behind_factors,
        _later,
        _chains,
        _quantised,
        _averaged,
        _reversed,
        _grouped,
        _in_one_kernel,
        _before_batch_normalisation,
    )
    parts = (_makers, _readers, _results, _unpacked) if both else every
    found = (one for seen, place in views for part in parts for one in part(seen, place))
    if both:
        return tuple(dict.fromkeys(found))
    fused = fusions(plain, places[index], lambda: _reached(plain, places[index]))
    written = (*fused, *((one, False) for one in as_written(flow, index)))
    known = tuple(_as_one(flow, places[index], written))
    several = (Match(one, ADJACENT, "several", supposed=supposed) for one, supposed in known)
    last = _of_last_factors(plain, places[index])
    return tuple(dict.fromkeys((*found, *_of_products(plain, places[index]), *last, *several)))


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
            yield Match(_judged(flow, index, terms), form, "")


def _judged(flow: Flow, index: int, terms: Sequence[Term]) -> Op:
    return Op(flow.steps[index][0], tuple(terms), judged=True)


def _constants(flow: Flow, index: int) -> bool:
    """Whether no input reaches the operands of a subtraction."""
    return all(name in flow.folded for name in flow.steps[index][1])


def _makers(flow: Flow, index: int) -> Iterator[Match]:
    operands = flow.steps[index][1]
    result = flow.steps[index][2][0]
    moved = moves(flow, index) and not flow.readers_of(result)  # it is rounded where it leaves
    plain, places = flow.plain
    itself = len(set(plain.steps[places[index]][1])) == 1 and not _quantises(flow)
    for place, name in enumerate(operands):
        scalar = all(flow.sizes.get(one) == 1 and one in flow.folded for one in operands if one != name)
        for form, source in _moved(flow, name, flow.before, _MOVED_ALONG if scalar else ()):
            if (made := flow.maker_of(source)) is None or source in flow.constants:
                continue
            if source in flow.folded:
                yield from _folded_makers(flow, index, place, form, source)
                continue
            if _join_exactly(flow, index, made):
                continue
            operator, inputs, outputs = flow.steps[made]
            beyond = (flow.maker_of(one) for one in inputs if one not in flow.folded)
            stands = _stands(flow, source, operator, form, beyond)
            exact = _as_alone(operator, stands) and _narrow(flow, source) and (moved or is_exact(flow, source))
            zeros = exact and changes_zeros(flow, index) and not (is_exact(flow, source) or sums_exactly(flow, made))
            factors, tiny = _magnitudes(flow, operator, inputs), _has_tiny(flow, inputs)
            rescaled, quantised = _is_rescaled(flow, operator, inputs), _levels_of(flow, source, operator)
            shortened = operator == "Cast" and _is_shortened(flow, inputs)
            for terms in _others(flow, index, operator, place):
                for given in _given(flow, operator, inputs):
                    made_by = _adjacent(flow, operator, inputs, outputs, given)
                    pattern = _judged(flow, index, _put(terms, place, made_by))
                    own = itself and source == name
                    yield Match(pattern, stands, operator, exact=exact, zeros=zeros, itself=own, factors=factors,
                                tiny=tiny, rescaled=rescaled, shortened=shortened, quantised=quantised)  # fmt: skip
                    if operator in _IN_PARTS:
                        yield from _of_last_part(flow, index, place, form, source, pattern)
            if operator in _SCALING:
                yield from _of_scaled_last_part(flow, index, place, form, source)


_LAST_PARTS = {
    "LayerNormalization": True,
    **dict.fromkeys(("Conv", "ConvTranspose", "Gemm", "InstanceNormalization"), False),
}
"""Operators whose third input is a bias that is added last, and whether the second one is a factor before that."""

_IN_PARTS = ("LayerNormalization", "ConvTranspose")
"""Those of them that some runtimes compute in parts wherever they stand; others are measured as a whole."""


def _of_last_part(flow: Flow, index: int, place: int, form: str, source: str, within: Op) -> Iterator[Match]:
    """The patterns of the product or the sum that an operator ends with.

    Of four axes and more a product alone is a part of what comes before. Where a graph quantises, a bias is added
    before the product, and of one axis that ends the operator.
    """
    made = flow.maker_of(source)
    assert made is not None
    own, inputs, outputs = flow.steps[made]
    summed = len(inputs) > 2 and bool(inputs[2]) and not _holds_zeros(flow, inputs[2])
    dims = flow.shapes.get(source)
    axes = len(dims) if isinstance(dims, tuple) else None
    parts: list[tuple[str, tuple[str, ...]]] = [("Add", (inputs[0], inputs[2]))] if summed else []
    if len(inputs) > 1 and _LAST_PARTS[own] and (axes in (None, 1) and _quantises(flow) if summed else (axes or 0) < 4):
        parts.append(("Mul", inputs[:2]))
    for operator, reads in parts:
        stands, factors = _stands(flow, source, operator, form, ()), _magnitudes(flow, operator, reads)
        along = operator == "Mul" and _along_channels(flow, inputs[1], source)
        levels = _levels_of(flow, source, operator) if along else ""
        for terms in _others(flow, index, operator, place):
            for given in _given(flow, operator, reads):
                maker = _adjacent(flow, operator, reads, outputs, (X, *given[1:]))
                pattern = _judged(flow, index, _put(terms, place, maker))
                yield Match(pattern, stands, operator, factors=factors, quantised=levels, within=within)


_ALL_PRODUCTS = "BatchNormalization"
"""An operator that is a product and a sum, so that it is measured as a whole."""

_SCALING = ("Neg", *FACTORS)
"""Operators that runtimes join with a product or a sum before them."""


def _of_scaled_last_part(flow: Flow, index: int, place: int, form: str, source: str) -> Iterator[Match]:
    """The same, where negations and products with constants stand between the operator and the judged one."""
    for name, passed in _single_ways(flow, source):
        made = flow.maker_of(name)
        assert made is not None
        operator, inputs, outputs = flow.steps[made]
        if operator not in (*_LAST_PARTS, _ALL_PRODUCTS) or not passed <= {*_SCALING, *SHAPES}:
            continue
        maker = _adjacent(flow, operator, inputs, outputs, next(_given(flow, operator, inputs)))
        terms = next(_others(flow, index, operator, place))
        alone, within = (_judged(flow, index, _put(terms, place, one)) for one in (maker, Op("Neg", (maker,))))
        if operator == _ALL_PRODUCTS:
            yield Match(alone, form, operator, within=within)
        elif operator in _IN_PARTS or _with_constant(flow, index):
            yield from _of_last_part(flow, index, place, form, name, within)


def _holds_zeros(flow: Flow, name: str) -> bool:
    """Whether a stored value holds zeros alone."""
    found = flow.elements(name) if name in flow.constants else None
    return found is not None and not found.any()


def _in_one_kernel(flow: Flow, index: int) -> Iterator[Match]:
    """What makes an operand in a kernel that does more with the judged operator than compute the two."""
    operands = flow.steps[index][1]
    for place, name in enumerate(operands):
        for way, passed in _single_ways(flow, name):
            made = flow.maker_of(way)
            assert made is not None
            operator, inputs, _ = flow.steps[made]
            for kernel in _kernels(flow, operands, place, made, passed):
                maker = _adjacent(flow, operator, inputs, (way,), next(_given(flow, operator, inputs)))
                terms = next(_others(flow, index, operator, place))
                pattern = _judged(flow, index, _put(terms, place, maker))
                yield Match(pattern, ADJACENT, operator, kernel=kernel)


def _kernels(flow: Flow, operands: Sequence[str], place: int, made: int, passed: Collection[str]) -> Iterator[str]:
    """What runtimes do with an operand's maker, or one before it, in one kernel with the judged operator.

    ``passed`` are the operators that stand between the two.
    """
    operator, inputs, (way, *_) = flow.steps[made]
    others = [one for i, one in enumerate(operands) if i != place]
    linear = {*LINEAR, *SHAPES}.issuperset(passed)
    if operator in _NEGATING and _is_negated(flow, operands, place):
        yield NEGATED
    if operator == "Conv" and len(inputs) > 1:
        values = any(one != way and one not in flow.folded and _may_be_of_one_shape(flow, one, way) for one in others)
        if linear and _is_depthwise(flow, inputs[1]):
            yield REORDERED
        if linear and values and _is_depthwise(flow, inputs[1], 4, 5):
            yield SUMMED
        if values and {*LINEAR, *SHAPES, _ALL_PRODUCTS}.issuperset(passed) and _adds_bias_last(flow, inputs, passed):
            yield BIAS_LAST
    elif operator == "InstanceNormalization" and place == 1 and linear and len(set(inputs[1:])) == 1:
        yield REORDERED  # its scale is its bias
    elif operator.startswith(_WITH_SHIFT) and place == 1 and _shifts_by_scale(flow, operands[1]):
        yield REORDERED
    elif operator in ("MatMul", "Gemm"):
        numbers = all(one in flow.folded and flow.sizes.get(flow.source(one)) == 1 for one in others)
        if linear and numbers and len(inputs) > 1 and _leaves_a_rest(flow, inputs[0], inputs[1]):
            yield REORDERED
    elif inputs and operator.startswith(("Reduce", "Global")):
        yield from _kernels_of_reduction(flow, operands, place, made)


_WITH_SHIFT = (
    "GlobalAveragePool", "MeanVarianceNormalization", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "Resize",
)  # fmt: skip
"""Operators whose kernels multiply their result by a constant, and add one to it."""


def _shifts_by_scale(flow: Flow, name: str) -> bool:
    """Whether a value is another one times a constant, plus the same constant."""
    added = flow.operands(name, ()) if flow.maker(name, ()) == "Add" else ()
    scaled = [one for value in added if flow.maker(value, ()) == "Mul" for one in flow.operands(value, ())]
    shifts, scales = ({flow.source(one) for one in names if one in flow.folded} for names in (added, scaled))
    return not shifts.isdisjoint(scales)


def _kernels_of_reduction(flow: Flow, operands: Sequence[str], place: int, made: int) -> Iterator[str]:
    """The same of what is reduced."""
    operator, inputs, (way, *_) = flow.steps[made]
    others = [one for i, one in enumerate(operands) if i != place]
    if any(_lies_along_second(flow, one, inputs[0], way) for one in others):
        yield MISPLACED
    if flow.dtypes.get(way) == "bfloat16" and all(_lies_along_one(flow, one) for one in others):
        yield CUT_OFF
    sums = not operator.startswith("ReduceLog")  # of those a logarithm comes last
    if sums and _is_negated(flow, operands, place):
        yield NEGATED


def _before_batch_normalisation(flow: Flow, index: int) -> Iterator[Match]:
    """A convolution and a value of its shape, between which and a batch normalisation all is computed one by one.

    So it is with a constant, whatever is computed one by one before.
    """
    _, operands, (result, *_) = flow.steps[index]
    if len(operands) != 2 or not any(_is_normalised_in_kernel(flow, one) for one in _single_results(flow, result)):
        return
    for name, other in (operands, reversed(operands)):
        for way, passed in _single_ways(flow, name):
            fits = passed <= {*_SCALING, *SHAPES, "Add", "Sub", _ALL_PRODUCTS} and _may_be_of_one_shape(
                flow, other, way
            )
            if flow.maker(way) == "Conv" and other != name and (fits or other in flow.folded):
                own = _judged(flow, index, [Const.ANY if one in flow.folded else X for one in operands])
                yield Match(Op(_ALL_PRODUCTS, (own,)), ADJACENT, _ALL_PRODUCTS, kernel=ROUNDED_TWICE)
                return


def _is_normalised_in_kernel(flow: Flow, name: str) -> bool:
    """Whether a batch normalisation alone reads a value."""
    readers = flow.readers_of(name)
    if len(readers) != 1 or flow.uses(name) != 1:
        return False
    operator, inputs, _ = flow.steps[readers[0]]
    return operator == _ALL_PRODUCTS and inputs[:1] == (name,)


_NEGATING = (
    "AveragePool", "Conv", "ConvTranspose", "Gemm", "InstanceNormalization", "LayerNormalization", "MatMul",
    "MeanVarianceNormalization",
)  # fmt: skip
"""Operators that runtimes compute together with what their result is subtracted from."""


def _is_negated(flow: Flow, operands: Sequence[str], place: int) -> bool:
    """Whether what a kernel makes may be subtracted as a negated value that is added: -0 less 0 is 0 then."""
    # A negation has one operand.
    return place == 1 and operands[0] != operands[1] and operands[0] not in flow.folded


def _may_be_of_one_shape(flow: Flow, first: str, second: str) -> bool:
    one, two = flow.shapes.get(first), flow.shapes.get(second)
    if not isinstance(one, tuple) or not isinstance(two, tuple):
        return True
    pairs = zip(one, two, strict=False)
    return len(one) == len(two) and all(a == b or not (isinstance(a, int) and isinstance(b, int)) for a, b in pairs)


_ONE_BY_ONE = frozenset((
    *SHAPES, *LINEAR, "Abs", "BatchNormalization", "Cast", "Clip", "Elu", "Exp", "Gelu", "HardSwish", "LeakyRelu",
    "Mish", "PRelu", "Relu", "Round", "Sigmoid", "Sqrt", "Sum", "Tanh",
))  # fmt: skip
"""Operators that runtimes fuse into what makes their operand, and with what reads their result."""


def _single_ways(flow: Flow, name: str) -> Iterator[tuple[str, frozenset[str]]]:
    """A value, and those before it that operators make it of one by one, as long as each is read once.

    Yields each with the operators that stand behind it.
    """
    seen = set[str]()  # a model that is not valid can go round in circles
    passed = frozenset[str]()
    while flow.uses(name) == 1 and (made := flow.maker_of(name)) is not None and name not in seen:
        seen.add(name)
        yield name, passed
        operator, inputs, _ = flow.steps[made]
        left = [one for one in inputs if one and one not in flow.folded]
        if operator not in _ONE_BY_ONE or len(left) != 1:
            return
        passed |= {operator}
        (name,) = left


_GATES = frozenset(("Clip", "Erf", "HardSigmoid", "Relu", "Sigmoid", "Softplus", "Tanh"))
"""Operators whose results a value is multiplied by where an activation is written out: SiLU, Gelu, Mish, HardSwish."""


def _activated(flow: Flow, name: str) -> str:
    """What an activation that several operators write out makes of a value; ``""`` where there is none."""
    made, passed = {name}, set[int]()
    while waiting := {i for one in made for i in flow.readers_of(one)} - passed:
        operator, inputs, outputs = flow.steps[i := min(waiting)]
        fits = operator in (*_GATES, *CHAINED, "Min", "Max", "Pow")
        if not fits or len(outputs) != 1 or not made.issuperset(one for one in inputs if one not in flow.folded):
            return ""
        passed.add(i)
        ends = [one for one in made | {*outputs} if not passed.issuperset(flow.readers_of(one)) or one in outputs]
        if len(ends) == 1 and made.isdisjoint(flow.outputs):
            return ends[0] if len(passed) > 1 and _GATES & {flow.steps[one][0] for one in passed} else ""
        made |= {*outputs}
    return ""


def _single_results(flow: Flow, name: str) -> Iterator[str]:
    """A value, and those that operators make of it one by one, as long as each is read once, or by an activation."""
    seen = set[str]()
    while name not in seen:
        seen.add(name)
        yield name
        readers = flow.readers_of(name)
        if len(readers) > 1 and (gated := _activated(flow, name)):
            name = gated
            continue
        if len(readers) != 1 or flow.uses(name) != 1:
            return
        operator, inputs, outputs = flow.steps[readers[0]]
        left = [one for one in inputs if one and one not in flow.folded]
        if operator not in _ONE_BY_ONE or left != [name] or not outputs:
            return
        name = outputs[0]


def _shape(flow: Flow, name: str, count: int) -> Sequence[object] | None:
    """The dims of a value of so many axes; ``None`` of another one. Where they are not known, each is."""
    dims = flow.shapes.get(name)
    if not isinstance(dims, tuple):
        return (None,) * count
    return dims if len(dims) == count else None


def _lies_along_second(flow: Flow, constant: str, reduced: str, result: str) -> bool:
    """Whether a constant lies along the second of three axes, the first or the last one of which is reduced."""
    stored, dims, made = flow.shapes.get(constant), _shape(flow, reduced, 3), flow.shapes.get(result)
    if constant not in flow.folded or not isinstance(stored, tuple) or dims is None:
        return False
    if sum(dim != 1 for dim in stored) != 1:
        return False
    behind = next(i for i, dim in enumerate(reversed(stored)) if dim != 1)  # axes after the one that it lies along
    if not isinstance(made, tuple):
        return behind < 2
    if len(made) == 3:
        last = made[0] == dims[0] != 1 and made[2] == 1
        first = made[0] == 1 and made[2] == dims[2]
        return behind == 1 and made[1] == dims[1] and (first or last)
    if len(made) == 2:
        return (behind == 0 and made == dims[:2] and dims[0] != 1) or (behind == 1 and made == dims[1:])
    return False


_REGISTERS = (8, 16)
"""How many numbers of float32 a register holds, on processors with AVX2 and AVX-512."""


def _leaves_a_rest(flow: Flow, first: str, matrix: str) -> bool:
    """Whether rows of a product with a stored matrix fill more than a register, and not all of the last one."""
    shapes = [flow.shapes.get(name) for name in (first, matrix)]
    if matrix not in flow.folded:
        return False
    last = [one[-1] for one in shapes[:1] if isinstance(one, tuple) and one and isinstance(one[-1], int)]
    rows = last or [one[-2] for one in shapes[1:] if isinstance(one, tuple) and len(one) > 1]
    return not rows or (rows[0] > _REGISTERS[0] and rows[0] % _REGISTERS[1] != 0)


def _lies_along_one(flow: Flow, constant: str) -> bool:
    """Whether a constant has one number, or one for each place along one axis, as far as is known."""
    stored = flow.shapes.get(constant)
    return constant in flow.folded and (not isinstance(stored, tuple) or sum(dim != 1 for dim in stored) <= 1)


def _is_depthwise(flow: Flow, weights: str, *axes: int) -> bool:
    """Whether weights are of a convolution of so many axes, or three, whose channels are computed each by itself."""
    dims = flow.shapes.get(weights)
    return isinstance(dims, tuple) and len(dims) in (axes or (3,)) and dims[1] == 1 and dims[0] != 1


def _adds_bias_last(flow: Flow, inputs: Sequence[str], passed: Collection[str]) -> bool:
    """Whether a convolution in groups of few channels has a bias, or one by what stands behind it."""
    dims, given = (flow.shapes.get(name) for name in (inputs[1], inputs[0]))
    biased = len(inputs) > 2 and bool(inputs[2]) and not _holds_zeros(flow, inputs[2])
    if not (biased or {"Add", "Sub", _ALL_PRODUCTS} & {*passed}) or not isinstance(dims, tuple) or len(dims) < 2:
        return False
    channels = given[1] if isinstance(given, tuple) and len(given) > 1 and isinstance(given[1], int) else None
    if not isinstance(dims[1], int) or dims[1] > _REGISTERS[-1] or dims[1] == channels:
        return False
    return dims[1] != 1 or dims[0] != channels


def _is_rescaled(flow: Flow, operator: str, inputs: Sequence[str], left: int = 4, but: str = "") -> bool:
    """Whether a runtime may know an operator as a part of quantisation, or fuse it with one."""
    if not inputs or operator == _BOTH_WAYS:  # without inputs: of a model that is not valid
        return operator == _BOTH_WAYS
    if operator == "DequantizeLinear":
        made = flow.maker(inputs[0])
        return made == "QuantizeLinear" or "QLinear" in made
    if operator in LINEAR and left:
        makers = (flow.maker_of(name) for name in inputs if name != but)
        return any(made is not None and _is_rescaled(flow, *flow.steps[made][:2], left - 1) for made in makers)
    return operator == "Cast" and _is_cast_of_quantised(flow, inputs[0])


_BOTH_WAYS = "FakeQuantize"
"""OpenVINO's operator that quantises and converts back; its conversion back can be written as Cast, Sub and Mul."""


def _is_cast_of_quantised(flow: Flow, name: str) -> bool:
    """Whether a conversion is of truth values in a graph that quantises, or of what was quantised."""
    if flow.dtypes.get(name) == "bool":
        return _quantises(flow)
    while (made := flow.maker_of(name)) is not None and flow.steps[made][0] == "Cast" and flow.steps[made][1]:
        name = flow.steps[made][1][0]
    return flow.maker(name) == _BOTH_WAYS


def _is_shortened(flow: Flow, inputs: Sequence[str]) -> bool:
    """Whether an integer of 64 bits that an input holds is converted in a graph that quantises."""
    given = bool(inputs) and flow.dtypes.get(inputs[0]) == "int64" and flow.maker_of(inputs[0]) is None
    return given and _quantises(flow)


def _quantises(flow: Flow) -> bool:
    return any(operator in _QUANTISING or "QLinear" in operator for operator in flow.operators)


def _others(flow: Flow, index: int, operator: str, place: int = -1) -> Iterator[tuple[Term, ...]]:
    """The operands of the judged operator next to an adjacent one; of the one that this makes, a hole."""
    names = enumerate(flow.steps[index][1])
    return itertools.product(*((X,) if i == place else own_kinds(flow, operator, name, i) for i, name in names))


def _folded_makers(flow: Flow, index: int, place: int, form: str, source: str) -> Iterator[Match]:
    """What makes a constant of a narrow type, where that rounds it."""
    made = flow.maker_of(source)
    if made is None or not _narrow(flow, source) or is_exact(flow, source):
        return
    operator, inputs, outputs = flow.steps[made]
    folded = INSIDE if _constants(flow, index) else EDGE
    if operator == "Cast" and not any(_narrow(flow, name) for name in _behind(flow, source)):
        folded = CONVERTED
    beyond = (flow.maker_of(one) for one in inputs if one not in flow.constants)
    count = 2 if operator == "Sum" else 1 if operator in ANYWHERE else DATA.get(operator, 1)
    made_by = _adjacent(flow, operator, inputs, outputs, tuple(X if name else None for name in inputs[:count]))
    operands = flow.steps[index][1]
    pattern = _judged(flow, index, [made_by if i == place else X for i in range(len(operands))])
    name = operands[place]
    distinct = operator == "Cast" or source not in (name, *flow.before(name, _FOLDED_ALIKE))
    yield Match(pattern, _stands(flow, source, operator, form, beyond), operator, later=distinct, folded=folded)


def _behind(flow: Flow, name: str) -> set[str]:
    """The values that a value is made of, by any nodes."""

    def before(one: str) -> Iterable[str]:
        made = flow.maker_of(one)
        return () if made is None else filter(None, flow.steps[made][1])

    return _closure(before(name), before)


T = TypeVar("T")


def _closure(first: Iterable[T], beyond: Callable[[T], Iterable[T]]) -> set[T]:
    """What is reached from some values, step by step, and these."""
    found = set(first)
    waiting = list(found)
    while waiting:
        more = set(beyond(waiting.pop())) - found
        found |= more
        waiting.extend(more)
    return found


def _results(flow: Flow, index: int) -> Iterator[Match]:
    """A difference of narrow constants that leaves a body, which runtimes may write into the graph around it."""
    result = flow.steps[index][2][0]
    if flow.within and _narrow(flow, result) and not is_exact(flow, result):
        own = _judged(flow, index, [X] * len(flow.steps[index][1]))
        for operator in flow.within:
            yield Match(Distant(operator, How.AROUND, own), ADJACENT, operator, later=True, folded=INSIDE)


def _readers(flow: Flow, index: int) -> Iterator[Match]:
    _, operands, (result, *_) = flow.steps[index]
    unrounded = _narrow(flow, result) and is_exact(flow, result)
    if (both := _constants(flow, index)) and (unrounded or not _narrow(flow, result)):
        return
    for form, name in _moved(flow, result, flow.after):
        for i in flow.readers_of(name):
            if _join_exactly(flow, index, i):
                continue
            operator, inputs, outputs = flow.steps[i]
            beyond = (node for one in outputs for node in flow.readers_of(one))
            stands = _stands(flow, name, operator, form, beyond)
            exact = unrounded and _as_alone(operator, stands)
            folded = "" if not both else INSIDE if all(one in flow.folded for one in outputs if one) else EDGE
            distinct = both and (operator == "Cast" or name not in (result, *flow.after(result, _FOLDED_ALIKE)))
            factors, tiny = _magnitudes(flow, operator, inputs), _has_tiny(flow, inputs)
            rescaled = operator in LINEAR and _is_rescaled(flow, operator, inputs, but=name)
            quantised, enlarges = _levels_of(flow, name, operator), _enlarged(flow, i, name)
            known = [tuple(X for _ in operands)] if both else _others(flow, index, operator)
            for terms in known:
                for given in _given(flow, operator, inputs, name):
                    reader = _adjacent(flow, operator, inputs, outputs, given, name)
                    pattern = reader.with_result(_judged(flow, index, terms))
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
    if operator == "Pow" and other is not None:
        return frozenset() if (other >= 1).all() else found & {SMALL} if (other > 0).all() else found
    near = operator not in COMPARISONS or other is None or bool((np.abs(other) < _NEAR_ZERO).any())
    return found if near else frozenset()


_NEAR_ZERO = 2.0**-100
"""Magnitudes up to which a number can be another side of a comparison than one next to 0 is."""


_RESCALED_BEHIND = (
    *SHAPES, NEUTRAL, DOUBLED, "Neg", "Slice", "Split", "Concat", "Gather", "Pad", "Clip", "DepthToSpace", "Resize",
    "Upsample", "MaxPool", "GlobalMaxPool", "AveragePool", "GlobalAveragePool", "ReduceMax", "ReduceMin", "ReduceMean",
    "ReduceSum", "ReduceLogSumExp",
)  # fmt: skip
"""Operators behind which runtimes that compute with quantised numbers multiply by a scale."""

_RESCALED_BEHIND_ALONE = ("Relu", "LeakyRelu", "PRelu")
"""The same, where there is no zero point."""

_MOVING_SCALES = (*_RESCALED_BEHIND, *_RESCALED_BEHIND_ALONE)

_BY_SIGN = (*_RESCALED_BEHIND_ALONE, "MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin")
"""Those of them behind which a factor stands only if it is above 0."""

_BY_NUMBER = ("Clip", "DepthToSpace", "Slice")
"""Those of them behind which a factor stands only if it is one number."""

_OF_MATRICES = ("MatMul", "Gemm")
_OF_WEIGHTS = ("Conv", "ConvTranspose", *_OF_MATRICES)
"""Operators that runtimes compute of integers, and multiply the result."""


def _dequantised(flow: Flow, index: int) -> Iterator[Match]:
    """What was dequantised before operators behind which some runtimes convert, next to the node.

    They do in a graph that quantises; a product of what was quantised with weights that were is converted so as well.
    """
    operands = flow.steps[index][1] if flow.within or _quantises(flow) else ()
    for place, name in enumerate(operands):
        always, moved = (flow.before(name, (*_RESCALED_BEHIND, *more)) for more in ((), _RESCALED_BEHIND_ALONE))
        for source in dict.fromkeys((*moved, *flow.before(name, (*_RESCALED_BEHIND, *FACTORS)))):
            made = flow.maker_of(source)
            operator, inputs, _ = flow.steps[made] if made is not None else ("", (), ())
            if operator in ("DequantizeLinear", _BOTH_WAYS) and inputs:
                zeros = operator == "DequantizeLinear" and flow.has_zero_point(inputs)
                converts = source in always or (source in moved and not zeros)
            else:
                fits = source in moved or operator in _OF_MATRICES
                converts = made is not None and fits and _is_converted(flow, made)
                if made is not None and source in moved and source != name:
                    converts = converts or _passes(flow, made, source, name) or _sum_passes(flow, made, source, name)
            if not converts:
                continue
            rescaled = operator != "DequantizeLinear" or _is_rescaled(flow, operator, inputs)
            for terms in _others(flow, index, "DequantizeLinear", place):
                pattern, shown = (
                    _judged(flow, index, _put(terms, place, Op(one, (X,)))) for one in ("DequantizeLinear", operator)
                )
                yield Match(pattern, ADJACENT, operator, rescaled=rescaled, within=shown)


def _passes(flow: Flow, index: int, source: str, name: str) -> bool:
    """Whether the last factor of a node's result rounds, and stands behind all operators from there to a value."""
    last = _last_factor(flow, index)
    if last is None:
        return False
    operator, inputs, _ = flow.steps[last]
    factor = inputs[1] if operator == _ALL_PRODUCTS else next(one for one in inputs if one in flow.folded)
    if operator != _ALL_PRODUCTS and flow.has_powers(factor):
        return False
    found = flow.elements(factor) if factor in flow.constants else None
    left: list[str] = []
    if found is not None and not (found > 0).all():
        left += _BY_SIGN
    if flow.sizes.get(factor) != 1:
        left += _BY_NUMBER
    made = flow.maker_of(next(one for one in inputs if one not in flow.folded))
    added = made is not None and flow.steps[made][0] in ("Add", "Sub") and _with_constant(flow, made)
    if added or last != index or operator == _ALL_PRODUCTS:
        left += _RESCALED_BEHIND_ALONE
    return _is_moved(flow, source, name, left)


def _sum_passes(flow: Flow, index: int, source: str, name: str) -> bool:
    """The same of a sum or a difference with what was dequantised: one of integers, that is multiplied."""
    operator, inputs, _ = flow.steps[index]
    if operator not in ("Add", "Sub") or not any(_is_of_dequantised(flow, one) for one in inputs):
        return False
    return _is_moved(flow, source, name, _RESCALED_BEHIND_ALONE if _with_constant(flow, index) else ())


def _is_moved(flow: Flow, source: str, name: str, left: Collection[str]) -> bool:
    """Whether operators that a factor goes behind make a value of another one; not those that are left, nor Concat."""
    return source in flow.before(name, [one for one in _MOVING_SCALES if one != "Concat" and one not in left])


def _is_converted(flow: Flow, index: int) -> bool:
    """Whether a node converts integers by a product, or is one of quantised numbers, which ends so."""
    operator, inputs, _ = flow.steps[index]
    if operator in _OF_WEIGHTS:
        return len(inputs) == 2 and _is_of_dequantised(flow, inputs[0]) and _is_of_integers(flow, inputs[1])
    return operator in FACTORS and _is_linear(flow, index) and any(_is_of_integers(flow, name) for name in inputs)


def _is_of_integers(flow: Flow, name: str, left: int = 4) -> bool:
    """Whether a value was dequantised, or converted from integers and multiplied, behind what moves it at most."""
    made = flow.maker_of(flow.source(name))
    operator, inputs, _ = flow.steps[made] if made is not None else ("", (), ())
    if operator == "Cast" and inputs:
        return flow.dtypes.get(inputs[0]) in _INTEGERS
    linear = operator in CHAINED and left > 0 and any(_is_of_integers(flow, one, left - 1) for one in inputs)
    return operator in ("DequantizeLinear", _BOTH_WAYS) or linear


_BYTES = ("int8", "uint8")
_FEW_BITS = (*_BYTES, "int4", "uint4")
_INTEGERS = (*_FEW_BITS, "int16", "uint16", "int32")


def _unpacked(flow: Flow, index: int) -> Iterator[Match]:
    """A zero point that is subtracted from stored weights, which some runtimes do where they compute a product."""
    operator, operands, (result, *_) = flow.steps[index]
    made = flow.maker_of(operands[0])
    kind, inputs, _ = flow.steps[made] if made is not None else ("", (), ())
    if operator != "Sub" or kind != "Cast" or not inputs or flow.dtypes.get(inputs[0]) not in _FEW_BITS:
        return
    bytes_ = flow.dtypes.get(inputs[0]) in _BYTES
    own = _judged(flow, index, (X, X))
    unscaled = (result, *flow.after(result, (*SHAPES, "Div", "Cast")))
    for name in (result, *flow.after(result, (*SHAPES, *FACTORS, "Cast"))):
        for i in flow.readers_of(name):
            reader, given, _ = flow.steps[i]
            if reader not in _OF_WEIGHTS or name not in given[:2]:
                continue
            pattern = Distant(reader, How.BEHIND, own)
            if bytes_ and name not in unscaled and _is_of_integers_alone(flow, operands[1], i):
                yield Match(pattern, ADJACENT, reader, kernel=UNPACKED)
            if reader in _OF_MATRICES and name != result and _has_many_rows(flow, name, given):
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
    if reader not in _OF_MATRICES or weights != given[1] or (isinstance(first, tuple) and len(first) < 2):
        return False
    return not isinstance(dims, tuple) or all(one == 1 for one in dims[:-2])


def _is_of_integers_alone(flow: Flow, zeros: str, index: int) -> bool:
    """Whether a graph quantises, and a zero point is made an integer in it, or is a part of sums of integers.

    Sums of the products of matrices are the same ones then, if the zero point is an integer.
    """
    if not _quantises(flow):
        return False
    found = flow.elements(zeros) if zeros in flow.constants else computed(flow, zeros)
    if found is None or (found != np.round(found)).any():
        return True
    reader, given, (result, *_) = flow.steps[index]
    if reader == _SPREADING and _has_groups(flow, given[1], result):
        return False
    exact = reader in _OF_MATRICES and bool(found.any())
    directly = exact and flow.maker(given[0]) == "DequantizeLinear"
    known = not directly and _is_of_dequantised(flow, given[0], _FEW_BITS)
    return known or (not exact and _is_multiplied(flow, given[0], reader))


_MOVED_BEFORE = (*KEEPING, *_MOVING_SCALES)
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
    moved = (name, *flow.before(name, _MOVED_BEFORE)) if reader == _SPREADING else ()
    if any(flow.maker(one, ()) in FACTORS and flow.folded.isdisjoint(flow.operands(one, ())) for one in moved):
        return True
    found = _closure([name], lambda one: _before_factors(flow, one, reader))
    for operator, inputs, outputs in (flow.steps[made] for made in map(flow.maker_of, found) if made is not None):
        kind = flow.dtypes.get(inputs[0], "") if inputs else ""
        few = kind in (*_FEW_BITS, "bool")
        multiplied = any(flow.steps[i][0] in CHAINED for one in outputs for i in flow.readers_of(one))
        if operator == "Cast":
            fits = multiplied and (few or (reader == _SPREADING and bool(kind) and "float" not in kind))
        else:
            known = operator == _BOTH_WAYS or (operator == "DequantizeLinear" and few)
            fits = known and (multiplied or reader == _SPREADING)
        if fits:
            return True
    return False


def _before_factors(flow: Flow, name: str, reader: str) -> Iterator[str]:
    """What a value was before operators that move or keep it, or before one factor, see :func:`_is_multiplied`."""
    yield from flow.before(name, _MOVED_BEFORE)
    made = flow.maker_of(name)
    operator, inputs, _ = flow.steps[made] if made is not None else ("", (), ())
    constants = [one for one in inputs if one in flow.folded]
    if operator in CHAINED and reader != _SPREADING:
        fits = operator in FACTORS or flow.maker(inputs[0]) == "Cast"
        if constants and fits and (reader != "Conv" or all(_is_one_number(flow, one) for one in constants)):
            yield from (one for one in inputs if one not in constants)
    elif reader == _SPREADING and operator in (*FACTORS, *_OF_WEIGHTS):
        yield from (inputs if operator in FACTORS else inputs[:1])


_ROWS = 32
"""Rows of a matrix that runtimes with instructions for bfloat16 unpack while they compute a product; multiples, too."""


def _has_many_rows(flow: Flow, matrix: str, given: Sequence[str]) -> bool:
    """Whether a matrix may have as many rows as a kernel for unpacking takes."""
    other = flow.shapes.get(given[1] if given[0] == matrix else given[0])
    rows = (other[-2:-1] if given[0] == matrix else other[-1:]) if isinstance(other, tuple) else ()
    known = [one for one in rows if isinstance(one, int)]
    return not known or known[0] % _ROWS == 0 or known[0] >= _ROWS * 8


def _of_products(flow: Flow, index: int) -> Iterator[Match]:
    """What is dequantised is a product, if it has no zero point, others are next to it, or the graph quantises."""
    alone, every = flow.of_products
    made = every if _quantises(flow) else alone
    parts = {_makers: made, _behind_factors: alone, _later: alone, _chains: every}
    for part, seen in parts.items():
        for one in part(seen, index) if seen is not None else ():
            yield replace(one, within=one.within or one.pattern)


def _of_last_factors(flow: Flow, index: int) -> Iterator[Match]:
    """What makes an operand where a graph quantises, and a product before a sum with a constant is one behind it.

    Of open shapes no runtime joins that product with the judged operator.
    """
    _, operands, (result, *_) = flow.steps[index]
    if not _quantises(flow) or flow.has_open_dims(result):
        return
    products: dict[int, tuple[str, tuple[str, ...]]] = {}
    scales = set[str]()
    for name in operands:
        made = flow.maker_of(flow.source(name))
        product = None if made is None or name in flow.folded else _last_factor(flow, made)
        if made is None or product is None:
            continue
        operator, inputs, _ = flow.steps[product]
        if operator == _ALL_PRODUCTS:  # its scale lies along the second axis, and its shape does not say so
            products[made] = "Mul", inputs[:2]
            scales.add(inputs[1])
        elif product != made:  # else _makers sees it
            products[made] = operator, inputs[:2]
    if products:
        steps = [(*products.get(i, step[:2]), step[2]) for i, step in enumerate(flow.steps)]
        shapes = {name: dims for name, dims in flow.shapes.items() if name not in scales}
        seen = replace(flow, steps=steps, shapes=shapes)
        yield from (replace(one, within=one.within or one.pattern) for one in _makers(seen, index))


def _last_factor(flow: Flow, index: int) -> int | None:
    """The node whose factor is the last one of a node that adds constants, if they are before the factor then."""
    (result, *_) = flow.steps[index][2]
    while flow.steps[index][0] in ("Add", "Sub") and _with_constant(flow, index):
        (value,) = (name for name in flow.steps[index][1] if name not in flow.folded)
        if (made := flow.maker_of(value)) is None or made >= index:  # a model that is not valid can go round in circles
            return None
        index = made
    operator, inputs, _ = flow.steps[index]
    if operator == _ALL_PRODUCTS:
        return index
    if operator not in FACTORS or not _with_constant(flow, index):
        return None
    (factor,) = (name for name in inputs if name in flow.folded)
    return index if _along_channels(flow, factor, result) else None


def _behind_factors(flow: Flow, index: int) -> Iterator[Match]:
    """An operator that is a product and a sum, which products of the result with constants are joined with."""
    _, _, (name, *_) = flow.steps[index]
    passed, seen = set[str](), set[str]()
    while _with_constant(flow, index) and flow.uses(name) == 1 and flow.readers_of(name) and name not in seen:
        seen.add(name)
        (i,) = flow.readers_of(name)
        operator, inputs, outputs = flow.steps[i]
        if operator == _ALL_PRODUCTS and passed & {*FACTORS}:
            reader = _adjacent(flow, operator, inputs, outputs, next(_given(flow, operator, inputs, name)), name)
            alone = reader.with_result(_judged(flow, index, next(_others(flow, index, operator))))
            yield Match(alone, ADJACENT, operator, within=alone)
        if not outputs or (operator not in SHAPES and not (operator in FACTORS and _with_constant(flow, i))):
            return
        passed.add(operator)
        name = outputs[0]


def _join_exactly(flow: Flow, index: int, other: int) -> bool:
    """Whether the judged node and a linear one round alike together, since the constant of one of them is 0."""
    if flow.steps[other][0] not in LINEAR or _narrow(flow, flow.steps[index][2][0]):
        return False
    return flow.adds_nothing(index) or (flow.adds_nothing(other) and _with_constant(flow, index))


def _as_alone(operator: str, stands: str) -> bool:
    """Whether an adjacent operator is as it is alone: between nodes it may be that of another type, which only
    arithmetic does not show."""
    return stands != WITHIN or operator in LINEAR


def _narrow(flow: Flow, name: str) -> bool:
    return flow.dtypes.get(name) in NARROW


def _stands(flow: Flow, name: str, operator: str, form: str, beyond: Iterable[int | None]) -> str:
    """How an adjacent operator stands, from the value between the two, their form otherwise, and nodes behind it.

    Runtimes that compute a type in float32 have an adjacent operator in float32 too where all around it is.
    """
    if _narrow(flow, name) and any(node is not None for node in beyond):
        return WITHIN
    if form != ADJACENT or operator not in LINEAR or flow.uses(name) == 1:
        return form
    if _is_copied(flow, name, operator):
        return form
    # A root, or a mean of squares, that is part of a normalisation is no reader once that is one operator.
    gone = ["Sqrt"]
    gone += ["ReduceMean"] if _is_square(flow, name) else []
    others = [i for i in flow.readers_of(name) if flow.steps[i][0] not in gone and not _goes_along(flow, name, i)]
    return SHARED if len(others) > 1 or name in flow.outputs else form


def _is_copied(flow: Flow, name: str, operator: str) -> bool:
    """Whether a graph that quantises has a copy of what makes a value for each of its readers.

    It has so of a constant factor, divisor or dividend; next to sums of a constant less a value, which is a product
    and a sum to a runtime; of any sum of a constant and what was dequantised; and of the last parts of operators.
    """
    if not _quantises(flow) or (made := flow.maker_of(name)) is None:
        return False
    maker, inputs, _ = flow.steps[made]
    if maker in _IN_PARTS or not _with_constant(flow, made):
        return maker in _IN_PARTS
    place = int(inputs[1] in flow.folded)
    constant, value = inputs[place], inputs[1 - place]
    fits = maker in FACTORS or (maker == "Sub" and place == 0 and operator in ("Add", "Sub"))
    fits = fits or (maker in ("Add", "Sub") and operator in CHAINED and _is_of_dequantised(flow, value))
    return fits and _along_channels(flow, constant, name)


def _is_of_dequantised(flow: Flow, name: str, kinds: Collection[str] = ()) -> bool:
    """Whether a value was dequantised, and went through nothing since but operators that keep numbers as they are.

    ``kinds`` names the types that it may have been of; all, where there are none.
    """
    for one in (name, *flow.before(name, _MOVED_BEFORE)):
        operator, inputs = flow.maker(one), flow.operands(one)
        of_kind = not kinds or (bool(inputs) and flow.dtypes.get(inputs[0]) in kinds)
        if operator == _BOTH_WAYS or (operator == "DequantizeLinear" and of_kind):
            return True
    return False


_QUANTISING = ("QuantizeLinear", _BOTH_WAYS)


def _goes_along(flow: Flow, name: str, reader: int) -> bool:
    """Whether what quantises a value takes along what reads another one, and what makes that.

    So it does of operators with constants, in a row, which are one product and one sum to a runtime.
    """
    made = flow.maker_of(name)
    if made is None or not (_is_linear(flow, made) and _is_linear(flow, reader)):
        return False
    waiting, seen = [reader], {reader}
    while waiting:
        for i in _next(flow, waiting.pop()):
            if flow.steps[i][0] in _QUANTISING:
                return True
            if i not in seen and _is_linear(flow, i):
                seen.add(i)
                waiting.append(i)
    return False


def _is_linear(flow: Flow, index: int) -> bool:
    return flow.steps[index][0] == "Neg" or (flow.steps[index][0] in CHAINED and _with_constant(flow, index))


def _levels_of(flow: Flow, name: str, operator: str) -> str:
    """What a quantisation changes of a value between two linear operators, if what makes the value goes along.

    A product with a constant does in the whole graph, whatever reads it.
    """
    if operator not in LINEAR:
        return ""
    along = any(_goes_along(flow, name, i) for i in flow.readers_of(name))
    return LEVELS if along or _is_copied(flow, name, operator) else ""


def _is_square(flow: Flow, name: str) -> bool:
    """Whether a value is a square, by a product of a value and itself or by a power."""
    made = flow.maker_of(name)
    operator, inputs, _ = flow.steps[made] if made is not None else ("", (), ())
    return operator == "Pow" or (operator == "Mul" and len(set(inputs)) == 1)


def _later(flow: Flow, index: int) -> Iterator[Match]:
    past, reached = _past(flow, index), _reached(flow, index)
    own = _judged(flow, index, [X] * len(flow.steps[index][1]))
    for operator in sorted({flow.steps[i][0] for i in reached}):
        yield Match(Distant(operator, How.BEHIND, own), ADJACENT, operator, later=True)
    connected = _connected(flow, index)
    joined: set[str] = set()
    for i in connected:
        operator = flow.steps[i][0]
        if operator not in joined and (i in reached or _joins(flow, i, index, reached)):
            joined.add(operator)
    for operator in sorted({flow.steps[i][0] for i in connected}):
        way = None if operator in joined else past
        yield Match(Distant(operator, How.CONNECTED, own), ADJACENT, operator, far=True, past=way)
    products = [i for i in connected - reached if flow.steps[i][0] == "MatMul"]
    if products and not _has_across(flow, index):
        products = [i for i in products if _has_row(flow, index) and _has_open_columns_of_rows(flow, i)]
    if any(_joins(flow, i, index, reached) for i in products):
        yield Match(Distant("MatMul", How.CONNECTED, own), ADJACENT, "MatMul", far=True, across=True)
    for operator in flow.within:
        yield Match(Distant(operator, How.AROUND, own), ADJACENT, operator)


def _past(flow: Flow, index: int) -> frozenset[str] | None:
    """The operators of one way from the result out of the graph, if all of them are :data:`PLAIN`; of a body, none."""
    waiting: list[tuple[int, frozenset[str]]] = [] if flow.within else [(index, frozenset())]
    seen = {index}
    while waiting:
        i, way = waiting.pop()
        if any(name in flow.outputs for name in flow.steps[i][2]):
            return way
        for k in _next(flow, i):
            operator = flow.steps[k][0]
            if k not in seen and operator in PLAIN:
                seen.add(k)
                waiting.append((k, way | {operator}))
    return None


_SEPARATE = ("Softmax", "LogSoftmax", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin")
"""Operators that no runtime carries out together with one that adds up products."""


def _joins(flow: Flow, index: int, judged: int, reached: Collection[int]) -> bool:
    """Whether a node's result reaches the judged one, or a sum with what this reaches, with one reader for each value.

    Runtimes carry out what such values are read by together with the node: a convolution adds to the other operand of
    a sum. Of other operators with an operand of their own on another way they do not, nor where a node has several
    results.
    """
    seen = {index}
    while len(names := [name for name in flow.steps[index][2] if flow.uses(name)]) == 1 and flow.uses(names[0]) == 1:
        if not (readers := flow.readers_of(names[0])):
            return False
        index = readers[0]
        if index == judged:
            return True
        operator = flow.steps[index][0]
        if index in reached:
            return operator in ("Add", "Sum")
        if index in seen or operator in _SEPARATE:
            return False
        seen.add(index)
    return False


def _reached(flow: Flow, index: int) -> set[int]:
    return _closure(_next(flow, index), lambda i: _next(flow, i))


def _next(flow: Flow, index: int) -> list[int]:
    return [i for name in flow.steps[index][2] for i in flow.readers_of(name)]


def _connected(flow: Flow, index: int) -> set[int]:
    """The numbers of all other nodes that hang together with one by values that nodes make."""
    found, waiting = {index}, [index]
    seen: set[str] = set()  # the names whose maker and readers were found
    while waiting:
        i = waiting.pop()
        _, inputs, outputs = flow.steps[i]
        for name in outputs:
            if name not in seen:
                seen.add(name)
                waiting += _added(found, flow.readers_of(name))
        for name in inputs:
            if name not in seen and name not in flow.folded and (made := flow.maker_of(name)) is not None:
                seen.add(name)
                waiting += _added(found, (made, *flow.readers_of(name)))
    return found - {index}


def _added(found: set[int], more: Iterable[int]) -> list[int]:
    """Add some numbers to those that were found, and return those that were not yet."""
    new = [i for i in dict.fromkeys(more) if i not in found]
    found.update(new)
    return new


def _chains(flow: Flow, index: int) -> Iterator[Match]:
    """Three linear operators in a row, each with a constant: runtimes make fewer of them."""
    if not _with_constant(flow, index):
        return
    _, operands, (result, *_) = flow.steps[index]
    place = next(i for i, name in enumerate(operands) if name not in flow.folded)
    before = flow.maker_of(operands[place])
    own = _judged(flow, index, [X if i == place else Const.ANY for i in range(2)])

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


_TO_QUANTISATION = ("Identity", "Neg", "Concat")
"""Operators between a sum and its quantisation that keep the two adjacent to a runtime."""


def _quantised(flow: Flow, index: int) -> Iterator[Match]:
    """A constant that is added or subtracted, where what quantises the result, or clips it before, computes it too."""
    operator, operands, (result, *_) = flow.steps[index]
    if operator not in ("Add", "Sub") or not _with_constant(flow, index):
        return
    constant = next(name for name in operands if name in flow.folded)
    if not _along_channels(flow, constant, result):
        return
    own = _judged(flow, index, [Const.ANY if name == constant else X for name in operands])
    reverses = operator == "Sub" and operands[0] == constant
    one, zero = _is_one_number(flow, constant), _is_zero(flow, constant)
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


def _averaged(flow: Flow, index: int) -> Iterator[Match]:
    """A constant less a value, or a difference times a constant, that is averaged; the former normalised, too.

    Runtimes that compute with quantised numbers take it for a conversion back, and average before that. One that they
    pick elements of before it ends their process.
    """
    operator, operands, (result, *_) = flow.steps[index]
    if operator not in ("Add", "Sub") or not _with_constant(flow, index) or not _quantises(flow):
        return
    place = int(operands[1] in flow.folded)
    own = _judged(flow, index, [Const.ANY if i == place else X for i in range(2)])
    reverses = operator == "Sub" and place == 0
    scaled = reverses and _along_channels(flow, operands[0], result)
    if reverses:
        clipped = ("Clip",) if _is_one_number(flow, operands[0]) else ()
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
        if scaled and reader == "Gather" and _lies_along_channels(flow, operands[0], result):
            yield Match(Op(reader, (own,)), ADJACENT, reader, kernel=FATAL)


def _reversed(flow: Flow, index: int) -> Iterator[Match]:
    """In a graph that quantises, a constant less a value, of open shapes one of several axes; or less an integer."""
    operator, (first, *others), (result, *_) = flow.steps[index]
    if operator != "Sub" or others[0] in flow.folded or not _quantises(flow):
        return
    term: Term = Const.ANY if first in flow.folded else X
    if first in flow.folded:
        reverses = not flow.has_open_dims(result) or not _lies_along_one(flow, first)
    else:
        made = flow.operands(others[0]) if flow.maker(others[0]) == "Cast" else ()
        reverses = any(flow.dtypes.get(name) in _BYTES for name in made)
    if reverses:
        yield Match(_judged(flow, index, (term, X)), ADJACENT, operator, kernel=REVERSED)


def _grouped(flow: Flow, index: int) -> Iterator[Match]:
    """What is subtracted from a normalisation by groups: of known shapes it ends the process of runtimes that compute
    both at once; where the graph quantises, the parts of the normalisation are joined with either operand.
    """
    operator, operands, _ = flow.steps[index]
    quantises = _quantises(flow)
    for place, name in enumerate(operands if operator == "Sub" else ()):
        maker, inputs = flow.maker(name), flow.operands(name)
        known = bool(inputs) and not flow.has_open_dims(inputs[0])
        if maker != "GroupNormalization" or not known or any(one in flow.folded for one in operands):
            continue
        if quantises or place == 0:
            terms = (Op(maker, (X,)), X) if place == 0 else (X, Op(maker, (X,)))
            yield Match(_judged(flow, index, terms), ADJACENT, maker, kernel=REORDERED if quantises else FATAL)


def _is_normalised_late(flow: Flow, inputs: Sequence[str]) -> bool:
    """Whether a value is normalised before it is converted: not one of three axes, nor along one of two."""
    value, scale = (flow.shapes.get(name) for name in (inputs[0], (*inputs[1:], "")[0]))
    if not isinstance(value, tuple) or len(value) > 3:
        return True
    return len(value) == 2 and (not isinstance(scale, tuple) or len(scale) == 2)


def _lies_along_channels(flow: Flow, constant: str, result: str) -> bool:
    """Whether a constant may have several numbers, along the second axis of a result, or its only one."""
    stored, whole = flow.shapes.get(constant), flow.shapes.get(result)
    if flow.sizes.get(flow.source(constant)) == 1:
        return False
    if not isinstance(stored, tuple) or not isinstance(whole, tuple):
        return True
    axis = len(whole) - len(stored) + next((i for i, dim in enumerate(stored) if dim != 1), 0)
    return axis == min(1, len(whole) - 1)


def _is_kept(flow: Flow, constant: str, before: str, after: str) -> bool:
    """Whether a constant may have one number, or lie along one axis that is not averaged."""
    stored, dims, made = (flow.shapes.get(name) for name in (constant, before, after))
    if not isinstance(stored, tuple) or not isinstance(dims, tuple) or not isinstance(made, tuple):
        return _lies_along_one(flow, constant)
    along = [i - len(stored) for i, dim in enumerate(stored) if dim != 1]
    known = len(dims) == len(made) >= len(stored)
    return len(along) < 2 and not (known and any(dims[i] != made[i] for i in along))


def _is_quantised(flow: Flow, name: str) -> bool:
    """Whether a value is quantised, moved or made another number by number at most before."""
    moved = (name, *flow.after(name, (*KEEPING, *_ONE_BY_ONE)))
    return any(flow.steps[i][0] == "QuantizeLinear" for one in moved for i in flow.readers_of(one))


def _is_one_number(flow: Flow, name: str) -> bool:
    """Whether all elements of a constant are one number."""
    found = flow.elements(flow.source(name))
    with np.errstate(invalid="ignore"):  # NaNs that signal
        alike = found is not None and len(np.unique(found)) == 1
    return alike or flow.sizes.get(flow.source(name)) == 1


def _is_zero(flow: Flow, name: str) -> bool:
    """Whether a constant is known to hold zeros alone."""
    found = flow.elements(flow.source(name))
    with np.errstate(invalid="ignore"):  # NaNs that signal
        return found is not None and not np.any(found)


def _along_channels(flow: Flow, constant: str, result: str) -> bool:
    """Whether a constant may have one element, or elements along the first or the second axis of a result alone."""
    shape, whole = flow.shapes.get(constant), flow.shapes.get(result)
    if not isinstance(shape, tuple) or (axis := next((i for i, dim in enumerate(shape) if dim != 1), None)) is None:
        return True
    if sum(dim != 1 for dim in shape) > 1:
        return False
    return not isinstance(whole, tuple) or len(whole) - len(shape) + axis < 2


def _chained(flow: Flow, places: Sequence[int]) -> tuple[float, float] | None:
    """The smallest and the largest magnitude of the constants of several nodes, and of their products."""
    known = [_magnitudes(flow, flow.steps[i][0], flow.steps[i][1]) for i in places]
    ends = [one for one in known if one is not None]
    if len(ends) < len(known):
        return None
    return math.prod(min(1.0, one[0]) for one in ends), math.prod(max(1.0, one[1]) for one in ends)


def _with(own: Op, place: int, term: Term) -> Op:
    """The judged operator with another term as one of its operands."""
    return replace(own, operands=_put(own.operands, place, term))


def _put(terms: Sequence[Term], place: int, term: Term) -> tuple[Term, ...]:
    """Terms with another one at a place."""
    return (*terms[:place], term, *terms[place + 1 :])


def _with_constant(flow: Flow, index: int) -> bool:
    inputs = flow.steps[index][1]
    return len(inputs) == 2 and sum(name in flow.folded for name in inputs) == 1


def _linear(flow: Flow, index: int) -> Iterator[Op]:
    """A linear operator with one constant; its other operand is left open. A negation is a product with -1."""
    operator, inputs, _ = flow.steps[index]
    if operator == "Neg":
        yield Op("Mul", (RESULT, Const.ANY))
    elif _is_linear(flow, index):
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
            if made not in seen and _are_one(flow, made, last):
                seen.add(made)
                waiting.append(made)


def _linear_behind(flow: Flow, index: int) -> Iterator[tuple[Op, int]]:
    """The same of the linear operators that read what another makes."""
    waiting, seen = [index], {index}
    while waiting:
        last = waiting.pop()
        for i in _next(flow, last):
            yield from ((one, i) for one in _linear(flow, i))
            if i not in seen and _are_one(flow, last, i):
                seen.add(i)
                waiting.append(i)


def _are_one(flow: Flow, first: int, second: int) -> bool:
    """Whether two linear operators with constants, one behind the other, are one product or one sum to a runtime."""
    both = {flow.steps[first][0], flow.steps[second][0]}
    joined = both <= {*FACTORS, "Neg"} or both <= {"Add", "Sub"}
    return joined and _is_linear(flow, first) and _is_linear(flow, second)


def _moved(
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


_FOLDED_ALIKE = ("Identity", "Transpose", "Neg", "Abs", "Relu", "Max", "Min")
"""Operators through which folded constants were seen to keep more bits than their type has; others may round them."""

_MOVED_ALONG = ("DepthToSpace", "Gather", "ReverseSequence")
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
        known = (one for form, one in _moved(flow, last, flow.before, ("Neg",)) if form == ADJACENT)
        for made in dict.fromkeys(flow.maker_of(one) for one in known):
            if made is None or flow.steps[made][0] not in FACTORS or not _is_linear(flow, made):
                continue
            operator, inputs, _ = flow.steps[made]
            if not any(Const.POWER in _factors(flow, operator, one) for one in inputs):
                return True
            waiting += [one for one in inputs if one not in (*flow.folded, *waiting)]
    return False


def _magnitudes(flow: Flow, operator: str, inputs: Sequence[str]) -> tuple[float, float] | None:
    """The smallest and the largest magnitude of an operator's constants where it multiplies or divides by them."""
    if operator not in FACTORS:
        return NO_FACTORS
    found = [flow.elements(flow.source(name)) for name in inputs if name in flow.folded]
    if any(one is None for one in found):
        return None
    with np.errstate(invalid="ignore"):  # NaNs that signal
        sizes = [np.abs(one.astype(np.float64)) for one in found if one is not None]
    numbers = np.concatenate([one[one != 0] for one in sizes]) if sizes else np.empty(0)
    return (float(numbers.min()), float(numbers.max())) if numbers.size else NO_FACTORS


def _has_tiny(flow: Flow, inputs: Sequence[str]) -> bool:
    """Whether an operator has a stored constant of float32 with a subnormal number."""
    for name in inputs:
        found = flow.elements(name) if flow.dtypes.get(name) == "float32" and name in flow.constants else None
        if found is not None and ((found != 0) & (np.abs(found) < _LEAST_NORMAL)).any():
            return True
    return False


def _has_across(flow: Flow, index: int) -> bool:
    """Whether an operator of four axes or more has a constant whose elements lie along the second one."""
    _, operands, (result, *_) = flow.steps[index]
    own = flow.shapes.get(result)
    for shape in (flow.shapes.get(name) for name in operands if name in flow.folded):
        if isinstance(shape, tuple) and sum(dim != 1 for dim in shape) == 1:
            axes = len(shape) - next(i for i, dim in enumerate(shape) if dim != 1)  # those from it to the last
            if axes > 2 and (not isinstance(own, tuple) or len(own) == axes + 1):
                return True
    return False


def _has_row(flow: Flow, index: int) -> bool:
    """Whether an operator has a constant whose elements lie along the last axis."""
    shapes = (flow.shapes.get(name) for name in flow.steps[index][1] if name in flow.folded)
    return any(isinstance(shape, tuple) and shape and shape[-1] != 1 for shape in shapes)


def _has_open_columns_of_rows(flow: Flow, index: int) -> bool:
    """Whether a product of a matrix and a transposed one has a number of columns that is not known."""
    _, inputs, outputs = flow.steps[index]
    shape = flow.shapes.get(outputs[0])
    known = isinstance(shape, tuple) and shape and isinstance(shape[-1], int)
    return not known and flow.maker(inputs[-1], ("Identity",)) == "Transpose"


_LEAST_NORMAL = 2.0**-126
"""The least normal number of float32."""


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


def _adjacent(
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


def _given(flow: Flow, operator: str, inputs: Sequence[str], read: str = "") -> Iterator[tuple[Term, ...]]:
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
