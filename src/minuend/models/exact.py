"""Which values are numbers of their type even where a runtime computes in more bits than the type has.

A runtime that keeps float16 in float32 between nodes leaves out a rounding. Where there is nothing to round, nothing
is lost: an input, what only moves numbers or picks some, a small whole number, a number less 0. Constants are computed
to see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from minuend.core.elements import TYPES, of_numpy
from minuend.models.flow import KEEPING, Array, Flow

_PICKING = (*KEEPING, "Sign")
"""Operators that give a number of the type for numbers of the type."""

_BY_ATTRIBUTE = ("Clip", "Pad")
"""Those of them that had a number as an attribute once, which need be none of the type."""

_SMALL = ("bool", "int8", "uint8")
"""Types all of whose numbers every float of 16 bits has."""

_NEUTRAL: Mapping[str, tuple[int, ...]] = MappingProxyType({"Add": (0, 0), "Sub": (0, 0), "Mul": (1, 1), "Div": (1,)})
"""Operators of two operands: the number with which the other keeps its magnitude, as the last one and the first."""


_FOLLOWED = 16
"""Constant nodes in a row that are computed."""

_RESHAPING = ("Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Dropout")

_COMPUTED: Mapping[str, np.ufunc] = MappingProxyType(
    {"Neg": np.negative, "Abs": np.absolute, "Add": np.add, "Sub": np.subtract, "Mul": np.multiply}
)

_SMALLEST = 2.0**-126
"""Numbers below are subnormal in float32, which some runtimes take for 0."""


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
            if name in flow.folded and _computed(flow, name) is not None:
                continue
            return False
        waiting.extend(more)
    return True


def _needs(flow: Flow, index: int) -> list[str] | None:
    """The values that have to be exact so that a node's result is; ``None`` where it is not."""
    operator, inputs, outputs = flow.steps[index]
    dtype = flow.dtypes.get(outputs[0]) if outputs else None
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


def _computed(flow: Flow, name: str, left: int = _FOLLOWED) -> Array | None:
    """The elements of a constant that no step on its way rounds to its type; ``None`` where one does, or may."""
    shape, dtype = flow.shapes.get(name), flow.dtypes.get(name)
    if not isinstance(shape, tuple) or dtype not in TYPES or not left:
        return None
    if name in flow.constants:
        found = flow.elements(name)
        return None if found is None or of_numpy(found.dtype) is None else found.reshape(shape)
    made = flow.maker_of(name)
    operator, inputs, _ = flow.steps[made] if made is not None else ("", (), ())
    given = [_computed(flow, one, left - 1) for one in (inputs[:1] if operator in _RESHAPING else inputs)]
    if not given or any(one is None for one in given):
        return None
    arrays = [one for one in given if one is not None]
    if operator in _RESHAPING:
        return arrays[0].reshape(shape)
    return _unrounded(operator, arrays, np.dtype(TYPES[dtype].memory))


def _joined_by_any_rule(a: Array, b: Array) -> bool:
    """Whether two arrays have one alignment, NumPy's: B's axes may begin at another of A's by the rules of old."""
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    if a.ndim == b.ndim or 1 in (a.size, b.size):
        return True
    few, more = sorted((a.shape, b.shape), key=len)
    behind = len(more) - len(few)
    return not any(all(x in (1, y) for x, y in zip(few, more[at:], strict=False)) for at in range(behind))


def _unrounded(operator: str, given: list[Array], dtype: np.dtype[Any]) -> Array | None:
    """What an operator gives in float32, where that has the type's own numbers alone."""
    if operator != "Cast" and any(one.dtype != dtype for one in given):
        return None
    with np.errstate(all="ignore"):
        if operator == "Cast":
            found = given[0].astype(np.float64)
        elif operator in _COMPUTED:
            if len(given) > 1 and not _joined_by_any_rule(*given):
                return None
            found = _COMPUTED[operator](*(one.astype(np.float32) for one in given))
        else:
            return None
        rounded = found.astype(dtype)
        magnitudes = np.abs(found[found != 0])
        normal = np.isfinite(found).all() and (magnitudes >= _SMALLEST).all()
        exact = normal and (rounded.astype(found.dtype) == found).all()
    return rounded if exact else None


def _all(flow: Flow, name: str, number: int) -> bool:
    """Whether a stored value has one magnitude alone."""
    found = flow.elements(name) if name in flow.constants else None
    if found is None or not found.size or of_numpy(found.dtype) is None:
        return False
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return bool((np.abs(found.astype(np.float64)) == number).all())


def moves(flow: Flow, index: int) -> bool:
    """Whether a subtraction has a constant 0, so that it rounds what it is given and no more."""
    return any(_all(flow, name, 0) for name in flow.steps[index][1])
