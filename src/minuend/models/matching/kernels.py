"""What runtimes compute in one kernel with the judged operator, beside the two."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from minuend.models.cells import is_in_attention
from minuend.models.flow import SHAPES, Flow
from minuend.models.matching.match import (
    ADJACENT,
    BIAS_LAST,
    CUT_OFF,
    MISPLACED,
    NEGATED,
    REORDERED,
    ROUNDED_TWICE,
    SUMMED,
    Match,
)
from minuend.models.matching.one_by_one import single_results, single_ways
from minuend.models.matching.operator_groups import ALL_PRODUCTS, LINEAR, SCALING
from minuend.models.matching.terms import given_terms, judged_op, other_operands, shown_op, with_term
from minuend.models.matching.values import holds_zeros, lies_along_one, may_be_of_one_shape
from minuend.models.patterns import Const, Op, X


def of_one_kernel(flow: Flow, index: int) -> Iterator[Match]:
    """What makes an operand in a kernel that does more with the judged operator than compute the two."""
    operands = flow.steps[index][1]
    for place, name in enumerate(operands):
        for way, passed in single_ways(flow, name):
            made = flow.maker_of(way)
            assert made is not None
            operator, inputs, _ = flow.steps[made]
            for kernel in _kernels(flow, operands, place, made, passed):
                maker = shown_op(flow, operator, inputs, (way,), next(given_terms(flow, operator, inputs)))
                terms = next(other_operands(flow, index, operator, place))
                pattern = judged_op(flow, index, with_term(terms, place, maker))
                yield Match(pattern, ADJACENT, operator, kernel=kernel)


def _kernels(flow: Flow, operands: Sequence[str], place: int, made: int, passed: Collection[str]) -> Iterator[str]:
    """What runtimes do with an operand's maker, or one before it, in one kernel with the judged operator.

    ``passed`` are the operators that stand between the two.
    """
    operator, inputs, (way, *_) = flow.steps[made]
    others = [one for i, one in enumerate(operands) if i != place]
    linear = {*LINEAR, *SHAPES}.issuperset(passed)
    zeros = operator == "DequantizeLinear" and flow.folded.isdisjoint(inputs[:1]) and flow.has_zero_point(inputs)
    if (operator.startswith(_NEGATING) or (zeros and not passed)) and _is_negated(flow, operands, place):
        yield NEGATED
    if operator == "Conv" and len(inputs) > 1:
        values = any(one != way and one not in flow.folded and may_be_of_one_shape(flow, one, way) for one in others)
        if linear and _is_depthwise(flow, inputs[1]):
            yield REORDERED
        if linear and values and _is_depthwise(flow, inputs[1], 4, 5):
            yield SUMMED
        if values and {*LINEAR, *SHAPES, ALL_PRODUCTS}.issuperset(passed) and _adds_bias_last(flow, inputs, passed):
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
    if flow.dtypes.get(way) == "bfloat16" and all(lies_along_one(flow, one) for one in others):
        yield CUT_OFF
    sums = not operator.startswith("ReduceLog")  # of those a logarithm comes last
    if sums and _is_negated(flow, operands, place):
        yield NEGATED


def before_batch_normalisation(flow: Flow, index: int) -> Iterator[Match]:
    """A convolution and a value of its shape, between which and a batch normalisation all is computed one by one.

    So it is with a constant, whatever is computed one by one before.
    """
    _, operands, (result, *_) = flow.steps[index]
    if len(operands) != 2 or not any(_is_normalised_in_kernel(flow, one) for one in single_results(flow, result)):
        return
    for name, other in (operands, reversed(operands)):
        for way, passed in single_ways(flow, name):
            fits = passed <= {*SCALING, *SHAPES, "Add", "Sub", ALL_PRODUCTS} and may_be_of_one_shape(flow, other, way)
            if flow.maker(way) == "Conv" and other != name and (fits or other in flow.folded):
                own = judged_op(flow, index, [Const.ANY if one in flow.folded else X for one in operands])
                yield Match(Op(ALL_PRODUCTS, (own,)), ADJACENT, ALL_PRODUCTS, kernel=ROUNDED_TWICE)
                return


def behind_softmax(flow: Flow, index: int) -> Iterator[Match]:
    """What is subtracted from a Softmax in attention, or added to it: the Softmax ends with a product."""
    operator, operands, _ = flow.steps[index]
    for place, name in enumerate(operands if operator == "Add" else operands[:1]):
        if flow.uses(name) == 1 and _is_softmax(flow, name) and is_in_attention(flow, index):
            terms = next(other_operands(flow, index, "Softmax", place))
            pattern = judged_op(flow, index, with_term(terms, place, Op("Softmax", (X,))))
            yield Match(pattern, ADJACENT, "Softmax", kernel=ROUNDED_TWICE)


def _is_softmax(flow: Flow, name: str) -> bool:
    """Whether a value is made by a Softmax, as one operator or written out."""
    if flow.maker(name) != "Div":
        return flow.maker(name) == "Softmax"
    above, below = flow.operands(name)[:2]
    return flow.maker(below) == "ReduceSum" and flow.maker(above) == "Exp" and above in flow.operands(below)


def _is_normalised_in_kernel(flow: Flow, name: str) -> bool:
    """Whether a batch normalisation alone reads a value."""
    readers = flow.readers_of(name)
    if len(readers) != 1 or flow.uses(name) != 1:
        return False
    operator, inputs, _ = flow.steps[readers[0]]
    return operator == ALL_PRODUCTS and inputs[:1] == (name,)


_NEGATING = (
    "AveragePool", "Conv", "ConvTranspose", "Einsum", "Gemm", "InstanceNormalization", "LayerNormalization", "MatMul",
    "MeanVarianceNormalization", "Resize", "Upsample",
)  # fmt: skip
"""Operators that runtimes compute together with what their result is subtracted from."""


def _is_negated(flow: Flow, operands: Sequence[str], place: int) -> bool:
    """Whether what a kernel makes may be subtracted as a negated value that is added: -0 less 0 is 0 then."""
    return place == 1 and operands[0] != operands[1]


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


_BLOCK = 512
"""The least of the numbers that openvino sums at a time up to AVX2: of few rows, and with others, it is 768."""


def _leaves_a_rest(flow: Flow, first: str, matrix: str) -> bool:
    """Whether rows of a product with a stored matrix are summed in more than one part.

    They fill more than a register, and not all of the last one, or are longer than a block.
    """
    shapes = [flow.shapes.get(name) for name in (first, matrix)]
    if matrix not in flow.folded:
        return False
    last = [one[-1] for one in shapes[:1] if isinstance(one, tuple) and one and isinstance(one[-1], int)]
    rows = last or [one[-2] for one in shapes[1:] if isinstance(one, tuple) and len(one) > 1]
    return not rows or rows[0] > _BLOCK or (rows[0] > _REGISTERS[0] and rows[0] % _REGISTERS[1] != 0)


def _is_depthwise(flow: Flow, weights: str, *axes: int) -> bool:
    """Whether weights are of a convolution of so many axes, or three, whose channels are computed each by itself."""
    dims = flow.shapes.get(weights)
    return isinstance(dims, tuple) and len(dims) in (axes or (3,)) and dims[1] == 1 and dims[0] != 1


def _adds_bias_last(flow: Flow, inputs: Sequence[str], passed: Collection[str]) -> bool:
    """Whether a convolution in groups of few channels has a bias, or one by what stands behind it."""
    dims, given = (flow.shapes.get(name) for name in (inputs[1], inputs[0]))
    biased = len(inputs) > 2 and bool(inputs[2]) and not holds_zeros(flow, inputs[2])
    if not (biased or {"Add", "Sub", ALL_PRODUCTS} & {*passed}) or not isinstance(dims, tuple) or len(dims) < 2:
        return False
    channels = given[1] if isinstance(given, tuple) and len(given) > 1 and isinstance(given[1], int) else None
    if not isinstance(dims[1], int) or dims[1] > _REGISTERS[-1] or dims[1] == channels:
        return False
    return dims[1] != 1 or dims[0] != channels
