"""Whether a graph reads the sign of a zero that a judged operator makes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minuend.core.elements import TYPES
from minuend.models.flow import SHAPES, Flow
from minuend.models.matching.operator_groups import COMPARISONS

_ALIKE = frozenset(
    (
        "Abs", "Cos", "Cosh", "Exp", "QuantizeLinear", "ReduceL1", "ReduceL2", "ReduceSumSquare", "Sigmoid", "Softmax",
        *COMPARISONS,
    )
)  # fmt: skip
"""Operators that make the same of both zeros."""

_MOVED = frozenset((*SHAPES, "Concat", "Gather", "Slice", "Split", "Neg"))
"""Operators that hand zeros on, and read their sign no more than what reads theirs."""


def loses_zero_sign(flow: Flow, index: int) -> bool:
    """Return whether all that reads the result of a node makes the same of both zeros, and none leaves the scope.

    >>> steps = [("Sub", ("x", "y"), ("d",)), ("Exp", ("d",), ("e",)), ("Mul", ("d", "d"), ("s",))]
    >>> loses_zero_sign(Flow(steps, (), outputs=("e", "s")), 0)
    True
    >>> loses_zero_sign(Flow(steps, (), outputs=("d", "e", "s")), 0)
    False
    """
    waiting, seen = list(flow.steps[index][2]), set[str]()
    while waiting:
        name = waiting.pop()
        readers = flow.readers_of(name)
        if name in flow.outputs or not readers:
            return False
        seen.add(name)
        for i in readers:
            operator, inputs, outputs = flow.steps[i]
            if operator in _MOVED:
                waiting += [one for one in outputs if one and one not in seen]
            elif not _makes_one_of_zeros(flow, operator, inputs, outputs, name):
                return False
    return True


def _makes_one_of_zeros(flow: Flow, operator: str, inputs: Sequence[str], outputs: Sequence[str], name: str) -> bool:
    """Whether an operator makes the same of both zeros of an operand."""
    if operator == "Cast":
        made = {flow.dtypes.get(one, "") for one in outputs}
        return all(one == "bool" or (one in TYPES and TYPES[one].is_integer) for one in made)
    if operator == "Mul":
        return set(inputs) == {name}
    others = [one for one in inputs if one != name]
    if operator not in ("Add", "Sub", "Pow") or len(others) != 1 or others[0] not in flow.folded:
        return operator in _ALIKE
    if operator != "Pow" and _adds_again(flow, outputs[0]):
        return False
    stored = flow.elements(flow.source(others[0]))
    if stored is None or stored.dtype.kind not in "iuf":
        return False
    with np.errstate(invalid="ignore"):  # NaNs that signal
        numbers = stored.astype(np.float64)
        if operator == "Pow":
            return inputs[0] == name and bool(((numbers > 0) & (numbers % 2 == 0)).all())
        return bool((np.abs(numbers) >= _LEAST).all())


_LEAST = 2.0**-14
"""The least magnitude of a constant to which a zero is added: some runtimes take subnormal numbers for 0."""


def _adds_again(flow: Flow, name: str) -> bool:
    """Whether a sum is read by another one with a constant: runtimes join both constants, which can leave none."""
    readers = (flow.steps[i] for i in flow.readers_of(name))
    return any(operator in ("Add", "Sub") and not flow.folded.isdisjoint(inputs) for operator, inputs, _ in readers)
