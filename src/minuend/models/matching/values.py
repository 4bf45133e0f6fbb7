"""What is known of the values of a graph: constants, their shapes and sizes, and what is reached from a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from minuend.models.flow import Flow
from minuend.models.matching.match import NO_FACTORS
from minuend.models.matching.operator_groups import CHAINED, FACTORS, NARROW


def has_constants_alone(flow: Flow, index: int) -> bool:
    """Whether no input reaches the operands of a subtraction."""
    return all(name in flow.folded for name in flow.steps[index][1])


def holds_zeros(flow: Flow, name: str) -> bool:
    """Whether a stored value holds zeros alone."""
    found = flow.elements(name) if name in flow.constants else None
    return found is not None and not found.any()


def may_be_of_one_shape(flow: Flow, first: str, second: str) -> bool:
    one, two = flow.shapes.get(first), flow.shapes.get(second)
    if not isinstance(one, tuple) or not isinstance(two, tuple):
        return True
    pairs = zip(one, two, strict=False)
    return len(one) == len(two) and all(a == b or not (isinstance(a, int) and isinstance(b, int)) for a, b in pairs)


def lies_along_one(flow: Flow, constant: str) -> bool:
    """Whether a constant has one number, or one for each place along one axis, as far as is known."""
    stored = flow.shapes.get(constant)
    return constant in flow.folded and (not isinstance(stored, tuple) or sum(dim != 1 for dim in stored) <= 1)


def values_behind(flow: Flow, name: str) -> set[str]:
    """The values that a value is made of, by any nodes."""

    def before(one: str) -> Iterable[str]:
        made = flow.maker_of(one)
        return () if made is None else filter(None, flow.steps[made][1])

    return closure(before(name), before)


T = TypeVar("T")


def closure(first: Iterable[T], beyond: Callable[[T], Iterable[T]]) -> set[T]:
    """What is reached from some values, step by step, and these."""
    found = set(first)
    waiting = list(found)
    while waiting:
        more = set(beyond(waiting.pop())) - found
        found |= more
        waiting.extend(more)
    return found


def is_narrow(flow: Flow, name: str) -> bool:
    return flow.dtypes.get(name) in NARROW


def is_linear(flow: Flow, index: int) -> bool:
    return flow.steps[index][0] == "Neg" or (flow.steps[index][0] in CHAINED and with_constant(flow, index))


def is_square(flow: Flow, name: str) -> bool:
    """Whether a value is a square, by a product of a value and itself or by a power."""
    made = flow.maker_of(name)
    operator, inputs, _ = flow.steps[made] if made is not None else ("", (), ())
    return operator == "Pow" or (operator == "Mul" and len(set(inputs)) == 1)


def reached_nodes(flow: Flow, index: int) -> set[int]:
    return closure(next_nodes(flow, index), lambda i: next_nodes(flow, i))


def next_nodes(flow: Flow, index: int) -> list[int]:
    return [i for name in flow.steps[index][2] for i in flow.readers_of(name)]


def lies_along_channels(flow: Flow, constant: str, result: str) -> bool:
    """Whether a constant may have several numbers, along the second axis of a result, or its only one."""
    stored, whole = flow.shapes.get(constant), flow.shapes.get(result)
    if flow.sizes.get(flow.source(constant)) == 1:
        return False
    if not isinstance(stored, tuple) or not isinstance(whole, tuple):
        return True
    axis = len(whole) - len(stored) + next((i for i, dim in enumerate(stored) if dim != 1), 0)
    return axis == min(1, len(whole) - 1)


def is_one_number(flow: Flow, name: str) -> bool:
    """Whether all elements of a constant are one number."""
    found = flow.elements(flow.source(name))
    with np.errstate(invalid="ignore"):  # NaNs that signal
        alike = found is not None and len(np.unique(found)) == 1
    return alike or flow.sizes.get(flow.source(name)) == 1


def is_zero(flow: Flow, name: str) -> bool:
    """Whether a constant is known to hold zeros alone."""
    found = flow.elements(flow.source(name))
    with np.errstate(invalid="ignore"):  # NaNs that signal
        return found is not None and not np.any(found)


def lies_along_first_or_second(flow: Flow, constant: str, result: str) -> bool:
    """Whether a constant may have one element, or elements along the first or the second axis of a result alone."""
    shape, whole = flow.shapes.get(constant), flow.shapes.get(result)
    if not isinstance(shape, tuple) or (axis := next((i for i, dim in enumerate(shape) if dim != 1), None)) is None:
        return True
    if sum(dim != 1 for dim in shape) > 1:
        return False
    return not isinstance(whole, tuple) or len(whole) - len(shape) + axis < 2


def with_constant(flow: Flow, index: int) -> bool:
    inputs = flow.steps[index][1]
    return len(inputs) == 2 and sum(name in flow.folded for name in inputs) == 1


def are_one(flow: Flow, first: int, second: int) -> bool:
    """Whether two linear operators with constants, one behind the other, are one product or one sum to a runtime."""
    both = {flow.steps[first][0], flow.steps[second][0]}
    joined = both <= {*FACTORS, "Neg"} or both <= {"Add", "Sub"}
    return joined and is_linear(flow, first) and is_linear(flow, second)


def magnitudes(flow: Flow, operator: str, inputs: Sequence[str]) -> tuple[float, float] | None:
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


def has_tiny(flow: Flow, inputs: Sequence[str]) -> bool:
    """Whether an operator has a stored constant of float32 with a subnormal number."""
    for name in inputs:
        found = flow.elements(name) if flow.dtypes.get(name) == "float32" and name in flow.constants else None
        if found is not None and ((found != 0) & (np.abs(found) < _LEAST_NORMAL)).any():
            return True
    return False


_LEAST_NORMAL = 2.0**-126
"""The least normal number of float32."""
