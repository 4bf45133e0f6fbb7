"""Which values are numbers of their type even where a runtime computes in more bits than the type has.

A runtime that keeps float16 in float32 between nodes leaves out a rounding. Where there is nothing to round, nothing
is lost: an input, what only moves numbers or picks some, a small whole number, a number less 0. Constants are computed
to see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from minuend.core.elements import of_numpy
from minuend.models.flow import KEEPING, Flow
from minuend.models.folding import computed

_PICKING = (*KEEPING, "Sign")
"""Operators that give a number of the type for numbers of the type."""

_BY_ATTRIBUTE = ("Clip", "Pad")
"""Those of them that had a number as an attribute once, which need be none of the type."""

_SMALL = ("bool", "int8", "uint8")
"""Types all of whose numbers every float of 16 bits has."""

_NEUTRAL: Mapping[str, tuple[int, ...]] = MappingProxyType({"Add": (0, 0), "Sub": (0, 0), "Mul": (1, 1), "Div": (1,)})
"""Operators of two operands: the number with which the other keeps its magnitude, as the last one and the first."""


def is_exact(flow: Flow, name: str) -> bool:
    """Whether a value is a number of its type however many bits it is computed in.

    >>> flow = Flow([("Neg", ("x",), ("n",)), ("Mul", ("n", "x"), ("m",))], ())
    >>> is_exact(flow, "n"), is_exact(flow, "m")
    (True, False)
    """
    return _follow(flow, name, {})


def _follow(flow: Flow, first: str, known: dict[str, bool]) -> bool:
    waiting = [first]
    while waiting:
        name = waiting.pop()
        if not name or name in known:
            continue
        known[name] = True
        made = flow.maker_of(name)
        if made is None:
            if flow.within and name not in flow.constants:  # what comes into a body may be stored in more bits
                return False
            continue
        more = _needs(flow, made)
        if more is None:
            if name in flow.folded and computed(flow, name) is not None:
                continue
            return False
        waiting.extend(more)
    return True


def _needs(flow: Flow, index: int) -> list[str] | None:
    """The values that have to be exact so that a node's result is; ``None`` where it is not."""
    operator, inputs, outputs = flow.steps[index]
    dtype = flow.dtypes.get(outputs[0]) if outputs else None
    if not inputs:  # of a model that is not valid
        return None
    if operator == "Cast":
        source = flow.dtypes.get(inputs[0])
        if source in _SMALL:
            return []
        return [inputs[0]] if source == dtype and source is not None else None
    if operator in _BY_ATTRIBUTE and len(inputs) == 1:
        return None
    if operator == "ConstantOfShape":
        return []
    if operator in _PICKING:
        return [name for name in inputs if flow.dtypes.get(name, dtype) == dtype]
    if operator == "Sub" and len(inputs) == 2 and inputs[0] == inputs[1]:  # 0, or no number
        return [inputs[0]]
    neutral = _NEUTRAL.get(operator, ())
    for place, number in zip((1, 0), neutral, strict=False):
        if len(inputs) == 2 and _all(flow, inputs[place], number):
            return [inputs[1 - place]]
    return None


def _all(flow: Flow, name: str, number: int) -> bool:
    """Whether a stored value has one magnitude alone."""
    found = flow.elements(name) if name in flow.constants else None
    if found is None or not found.size or of_numpy(found.dtype) is None:
        return False
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return bool((np.abs(found.astype(np.float64)) == number).all())


def moves(flow: Flow, index: int) -> bool:
    """Whether a sum or a subtraction has a constant 0, so that it rounds what it is given and no more."""
    return any(_all(flow, name, 0) for name in flow.steps[index][1])


_KEEPING_ZEROS: Mapping[str, tuple[float, float]] = MappingProxyType({"Add": (-0.0, -0.0), "Sub": (-0.0, 0.0)})
"""The first and the last operand with which zeros keep their sign, or all get the other one."""


def changes_zeros(flow: Flow, index: int) -> bool:
    """Whether a sum or a subtraction that moves gives 0 for what is rounded to -0 before, or -0 for what is not.

    ``-0 - (-0)`` is 0. The least negative number less -0 is itself, and -0 where it is rounded behind.

    >>> zero, minus = np.zeros(1), -np.zeros(1)
    >>> flow = Flow([("Sub", ("x", "k"), ("d",))], "k", elements=lambda name: minus)
    >>> changes_zeros(flow, 0), changes_zeros(Flow(flow.steps, "k", elements=lambda name: zero), 0)
    (True, False)
    """
    operator, inputs, _ = flow.steps[index]
    for name, keeping in zip(inputs, _KEEPING_ZEROS.get(operator, ()), strict=False):
        if _all(flow, name, 0):
            found = flow.elements(name)
            return found is None or bool((np.signbit(found) != np.signbit(keeping)).any())
    return False


def sums_exactly(flow: Flow, index: int) -> bool:
    """Whether a node adds or subtracts numbers of the type, and so rounds none to 0: small sums need no rounding."""
    operator, inputs, _ = flow.steps[index]
    return operator in ("Add", "Sub") and all(is_exact(flow, name) for name in inputs)
