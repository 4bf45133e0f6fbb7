"""What a subtraction is there for, derived from the nodes around it."""

from __future__ import annotations

from minuend.models.flow import SHAPES, Flow
from minuend.models.ranges.conditions import CONDITIONS
from minuend.operators import SUBTRACT

PLAIN = "plain"
"""What is said where nothing is recognised."""

_MOVING = (*SHAPES, "Cast")
_TESTING = (*CONDITIONS, "Xor", "IsNaN", "IsInf")
_NARROW = ("int8", "uint8", "int4", "uint4", "int2", "uint2", "int16", "uint16", "int32")
_SUMS = ("ReduceSum", "ReduceMean", "GlobalAveragePool")


def purpose_of(flow: Flow, index: int) -> str:
    """Say what the subtraction at an index of the flow is there for.

    Returns:
        ``"dequantisation zero point"``, ``"attention mask"``, ``"mean subtraction"``, ``"softmax shift"``,
        ``"shape arithmetic"``, or ``"plain"``.

    >>> purpose_of(Flow([("ReduceMean", ("x",), ("m",)), ("Sub", ("x", "m"), ("y",))], ()), 1)
    'mean subtraction'
    """
    operator, operands, (result, *_) = flow.steps[index]
    if operator != SUBTRACT.onnx:
        return PLAIN
    a, b = operands
    for words, test in _TESTS:
        if test(flow, a, b, result):
            return words
    return PLAIN


def _is_dequantisation(flow: Flow, a: str, b: str, result: str) -> bool:
    """A narrow integer less a zero point, then scaled: (Cast(q) - zp) * scale, or Cast(q - zp) * scale."""
    start = flow.source(a, _MOVING)
    narrow = flow.dtypes.get(start) in _NARROW or flow.maker(a, _MOVING) in ("QuantizeLinear", "Round", "Clip")
    scaled = any("Mul" in flow.readers(name) for name in (result, *flow.after(result, _MOVING)))
    return narrow and scaled and (flow.is_constant(b) or flow.dtypes.get(flow.source(b, _MOVING)) in _NARROW)


def _is_mask(flow: Flow, a: str, b: str, result: str) -> bool:
    """1 - mask, then scaled, turned to bool or picked by; or a mask whose own name says so."""
    if not flow.is_constant(a):
        return False
    start = flow.source(b, _MOVING)
    named = "mask" in start.lower() or "mask" in b.lower() or "mask" in result.lower()
    compared = flow.maker(b, _MOVING) in _TESTING or flow.dtypes.get(start) == "bool"
    uses = {kind for name in (result, *flow.after(result, _MOVING)) for kind in flow.readers(name)}
    return ((named or compared) and bool(uses & {"Mul", "Where", "Cast", "Add"})) or (named and not uses)


def _is_mean(flow: Flow, a: str, b: str, result: str) -> bool:
    """x - mean(x), or an image less the mean of its channels, then divided by their deviation."""
    maker = flow.maker(b)
    if maker in ("ReduceMean", "GlobalAveragePool", "AveragePool"):
        return True
    if maker in ("Div", "Mul") and any(flow.maker(name) in _SUMS for name in flow.operands(b)):
        return True
    divisors = flow.result_operands(result, "Div") + flow.result_operands(result, "Mul")
    named = "mean" in flow.source(b).lower()
    return (
        flow.is_constant(b) and (named or any(flow.is_constant(name) for name in divisors)) and not flow.is_constant(a)
    )


def _is_softmax(flow: Flow, a: str, b: str, result: str) -> bool:
    """x - max(x) before an exponential."""
    return flow.maker(b) in ("ReduceMax", "ReduceLogSumExp") and flow.source(a) in map(flow.source, flow.operands(b))


def _is_shape(flow: Flow, a: str, b: str, result: str) -> bool:
    """Sizes and positions: what comes from Shape, Size or Range through arithmetic on indices."""
    moved = (*SHAPES, "Cast", "Gather", "Slice", "Concat", "Add", "Mul", "Div", "Sub")
    return any(flow.maker(name, moved) in ("Shape", "Size", "Range") for name in (a, b))


_TESTS = (
    ("softmax shift", _is_softmax),
    ("attention mask", _is_mask),
    ("dequantisation zero point", _is_dequantisation),
    ("mean subtraction", _is_mean),
    ("shape arithmetic", _is_shape),
)
"""What a subtraction can be there for, in the order in which the rules are tried."""

PURPOSES = tuple(name for name, _ in _TESTS)
"""Every purpose but :data:`PLAIN`."""
