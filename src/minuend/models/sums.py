"""Sums of constants that some runtimes cannot compute while they load a model."""

from __future__ import annotations

from minuend.models.flow import Flow

SUMS_OF_FLOAT64 = "sums of float64 constants"
"""The kind of a model with a sum of constants of float64 that is added to another one, or from which one is subtracted.

openvino makes ``a + (k + c)`` of ``(a + k) + c`` where k and c are constants. Where a is one, too, and nothing
computes ``k + c`` before, that has the form that it began with: loading never ends, or is refused.
"""

_COMPUTED_LATER = ("Abs", "Add", "Div", "Exp", "Max", "Relu", "Sub", "Sum")
"""Operators whose results of float64 constants are no constants yet when openvino joins sums."""


def has_sums_of_float64(flow: Flow) -> bool:
    """Whether a scope has a sum of float64 constants that is added to another one.

    >>> steps = [("Sub", ("a", "k"), ("d",)), ("Sub", ("d", "c"), ("y",))]
    >>> [has_sums_of_float64(Flow(steps, "akc", dict.fromkeys("akcdy", dtype))) for dtype in ("float64", "float32")]
    [True, False]
    """
    if not any(flow.dtypes.get(name) == "float64" for name in flow.folded):
        return False
    plain, _ = flow.plain
    return any(_is_chain(plain, i) for i, (_, _, outputs) in enumerate(plain.steps) if _is_float64(plain, outputs))


def _is_float64(flow: Flow, outputs: tuple[str, ...]) -> bool:
    return bool(outputs) and flow.dtypes.get(outputs[0]) == "float64"


def _is_chain(flow: Flow, index: int) -> bool:
    """Whether a node adds or subtracts a constant where a sum of constants comes in."""
    operator, inputs, _ = flow.steps[index]
    if operator == "Sum":
        return len(inputs) > 2 and all(_is_constant(flow, name) for name in inputs)
    if operator not in ("Add", "Sub") or len(inputs) != 2:
        return False
    ways = [inputs, inputs[::-1]] if operator == "Add" else [inputs]
    return any(_is_sum(flow, name) and _is_constant(flow, constant) for name, constant in ways)


def _is_sum(flow: Flow, name: str) -> bool:
    """Whether a value is a sum of two constants, times others perhaps, with one reader."""
    made = flow.maker_of(name)
    if made is None or flow.uses(name) != 1:
        return False
    operator, inputs, _ = flow.steps[made]
    if operator in ("Add", "Sub", "Sum"):
        return len(inputs) == 2 and all(_is_constant(flow, one) for one in inputs)
    if operator in ("Neg", "Identity"):
        return _is_sum(flow, inputs[0])
    constants = [_is_constant(flow, one) for one in inputs]
    return operator == "Mul" and any(constants) and any(_is_sum(flow, one) for one in inputs)


def _is_constant(flow: Flow, name: str) -> bool:
    """Whether a value is stored, or made of what is by operators that openvino computes before it joins sums."""
    if name in flow.constants:
        return True
    if name not in flow.folded or (made := flow.maker_of(name)) is None:
        return False
    operator, inputs, _ = flow.steps[made]
    return operator not in _COMPUTED_LATER and all(_is_constant(flow, one) for one in inputs if one)
