"""How an adjacent operator stands to the judged one, and what a graph that quantises makes of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from minuend.models.flow import Flow
from minuend.models.matching.match import ADJACENT, LEVELS, SHARED, WITHIN
from minuend.models.matching.operator_groups import (
    BOTH_WAYS,
    CHAINED,
    FACTORS,
    IN_PARTS,
    LINEAR,
    MOVED_BEFORE,
    QUANTISING,
)
from minuend.models.matching.values import (
    is_linear,
    is_narrow,
    is_square,
    lies_along_first_or_second,
    next_nodes,
    with_constant,
)


def is_rescaled(flow: Flow, operator: str, inputs: Sequence[str], left: int = 4, but: str = "") -> bool:
    """Whether a runtime may know an operator as a part of quantisation, or fuse it with one."""
    if not inputs or operator == BOTH_WAYS:  # without inputs: of a model that is not valid
        return operator == BOTH_WAYS
    if operator == "DequantizeLinear":
        made = flow.maker(inputs[0])
        return made == "QuantizeLinear" or "QLinear" in made
    if operator in LINEAR and left:
        makers = (flow.maker_of(name) for name in inputs if name != but)
        return any(made is not None and is_rescaled(flow, *flow.steps[made][:2], left - 1) for made in makers)
    return operator == "Cast" and _is_cast_of_quantised(flow, inputs[0])


def _is_cast_of_quantised(flow: Flow, name: str) -> bool:
    """Whether a conversion is of truth values in a graph that quantises, or of what was quantised."""
    if flow.dtypes.get(name) == "bool":
        return quantising(flow)
    while (made := flow.maker_of(name)) is not None and flow.steps[made][0] == "Cast" and flow.steps[made][1]:
        name = flow.steps[made][1][0]
    return flow.maker(name) == BOTH_WAYS


def is_shortened(flow: Flow, inputs: Sequence[str]) -> bool:
    """Whether an integer of 64 bits that an input holds is converted in a graph that quantises."""
    given = bool(inputs) and flow.dtypes.get(inputs[0]) == "int64" and flow.maker_of(inputs[0]) is None
    return given and quantising(flow)


def quantising(flow: Flow) -> bool:
    return any(operator in QUANTISING or "QLinear" in operator for operator in flow.operators)


def join_exactly(flow: Flow, index: int, other: int) -> bool:
    """Whether the judged node and a linear one round alike together, since the constant of one of them is 0."""
    if flow.steps[other][0] not in LINEAR or is_narrow(flow, flow.steps[index][2][0]):
        return False
    return flow.adds_nothing(index) or (flow.adds_nothing(other) and with_constant(flow, index))


def as_alone(operator: str, stands: str) -> bool:
    """Whether an adjacent operator is as it is alone: between nodes it may be that of another type, which only
    arithmetic does not show."""
    return stands != WITHIN or operator in LINEAR


def standing_of(flow: Flow, name: str, operator: str, form: str, beyond: Iterable[int | None]) -> str:
    """How an adjacent operator stands, from the value between the two, their form otherwise, and nodes behind it.

    Runtimes that compute a type in float32 have an adjacent operator in float32 too where all around it is.
    """
    if is_narrow(flow, name) and any(node is not None for node in beyond):
        return WITHIN
    if form != ADJACENT or operator not in LINEAR or flow.uses(name) == 1:
        return form
    if _is_copied(flow, name, operator):
        return form
    # A root, or a mean of squares, that is part of a normalisation is no reader once that is one operator.
    gone = ["Sqrt"]
    gone += ["ReduceMean"] if is_square(flow, name) else []
    others = [i for i in flow.readers_of(name) if flow.steps[i][0] not in gone and not _goes_along(flow, name, i)]
    return SHARED if len(others) > 1 or name in flow.outputs else form


def _is_copied(flow: Flow, name: str, operator: str) -> bool:
    """Whether a graph that quantises has a copy of what makes a value for each of its readers.

    It has so of a constant factor, divisor or dividend; next to sums of a constant less a value, which is a product
    and a sum to a runtime; of any sum of a constant and what was dequantised; and of the last parts of operators.
    """
    if not quantising(flow) or (made := flow.maker_of(name)) is None:
        return False
    maker, inputs, _ = flow.steps[made]
    if maker in IN_PARTS or not with_constant(flow, made):
        return maker in IN_PARTS
    place = int(inputs[1] in flow.folded)
    constant, value = inputs[place], inputs[1 - place]
    fits = maker in FACTORS or (maker == "Sub" and place == 0 and operator in ("Add", "Sub"))
    fits = fits or (maker in ("Add", "Sub") and operator in CHAINED and is_of_dequantised(flow, value))
    return fits and lies_along_first_or_second(flow, constant, name)


def is_of_dequantised(flow: Flow, name: str, kinds: Collection[str] = ()) -> bool:
    """Whether a value was dequantised, and went through nothing since but operators that keep numbers as they are.

    ``kinds`` names the types that it may have been of; all, where there are none.
    """
    for one in (name, *flow.before(name, MOVED_BEFORE)):
        operator, inputs = flow.maker(one), flow.operands(one)
        of_kind = not kinds or (bool(inputs) and flow.dtypes.get(inputs[0]) in kinds)
        if operator == BOTH_WAYS or (operator == "DequantizeLinear" and of_kind):
            return True
    return False


def _goes_along(flow: Flow, name: str, reader: int) -> bool:
    """Whether what quantises a value takes along what reads another one, and what makes that.

    So it does of operators with constants, in a row, which are one product and one sum to a runtime.
    """
    made = flow.maker_of(name)
    if made is None or not (is_linear(flow, made) and is_linear(flow, reader)):
        return False
    waiting, seen = [reader], {reader}
    while waiting:
        for i in next_nodes(flow, waiting.pop()):
            if flow.steps[i][0] in QUANTISING:
                return True
            if i not in seen and is_linear(flow, i):
                seen.add(i)
                waiting.append(i)
    return False


def levels_of(flow: Flow, name: str, operator: str) -> str:
    """What a quantisation changes of a value between two linear operators, if what makes the value goes along.

    A product with a constant does in the whole graph, whatever reads it.
    """
    if operator not in LINEAR:
        return ""
    along = any(_goes_along(flow, name, i) for i in flow.readers_of(name))
    return LEVELS if along or _is_copied(flow, name, operator) else ""
