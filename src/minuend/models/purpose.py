"""What a subtraction is there for, told from the nodes around it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

PLAIN = "plain"
"""What is said where nothing is recognised."""

_SHAPES = ("Identity", "Reshape", "Unsqueeze", "Squeeze", "Expand", "Transpose", "Flatten", "Tile")
_MOVING = (*_SHAPES, "Cast")
_COMPARISONS = (
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Not",
    "And",
    "Or",
    "Xor",
    "IsNaN",
    "IsInf",
)
_NARROW = ("int8", "uint8", "int4", "uint4", "int2", "uint2", "int16", "uint16", "int32")
_SUMS = ("ReduceSum", "ReduceMean", "GlobalAveragePool")


@dataclass
class Flow:
    """The nodes of one scope, under ONNX's names of operators.

    Attributes:
        steps: each node's operator, inputs and outputs, in the scope's order. constants: names of stored values.
        dtypes: element types of values by name (``"bool"`` among them), as far as they are known.
    """

    steps: Sequence[tuple[str, tuple[str, ...], tuple[str, ...]]]
    constants: Collection[str]
    dtypes: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _made(self) -> dict[str, int]:
        return {name: i for i, step in enumerate(self.steps) for name in step[2] if name}

    @cached_property
    def _readers(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for i, (_, inputs, _) in enumerate(self.steps):
            for name in dict.fromkeys(inputs):
                found.setdefault(name, []).append(i)
        return found

    def source(self, name: str, through: Collection[str] = _SHAPES) -> str:
        """Follow a value back through operators that only move or rename it; return the name that it had before."""
        seen = set()
        while name in self._made and name not in seen:
            seen.add(name)
            kind, inputs, _ = self.steps[self._made[name]]
            if kind not in through or not inputs:
                break
            name = inputs[0]
        return name

    def maker(self, name: str, through: Collection[str] = _SHAPES) -> str:
        """The operator that made a value, shapes aside; ``""`` for inputs and constants."""
        made = self._made.get(self.source(name, through))
        return "" if made is None else self.steps[made][0]

    def operands(self, name: str, through: Collection[str] = _SHAPES) -> tuple[str, ...]:
        """The inputs of the operator that made a value."""
        made = self._made.get(self.source(name, through))
        return () if made is None else self.steps[made][1]

    def readers(self, name: str) -> list[str]:
        """The operators that read a value."""
        return [self.steps[i][0] for i in self._readers.get(name, ())]

    def result_operands(self, name: str, kind: str) -> list[str]:
        """What the operators of a kind that read a value read besides it."""
        steps = [self.steps[i] for i in self._readers.get(name, ()) if self.steps[i][0] == kind]
        return [other for step in steps for other in step[1] if other != name]

    def is_constant(self, name: str) -> bool:
        """Whether a value is stored in the model, moves and casts aside."""
        return self.source(name, (*_SHAPES, "Cast", "DequantizeLinear")) in self.constants


def purpose_of(flow: Flow, index: int) -> str:
    """Say what the subtraction at an index of the flow is there for.

    Returns:
        ``"dequantisation zero point"``, ``"attention mask"``, ``"mean subtraction"``, ``"softmax shift"``,
        ``"shape arithmetic"``, or ``"plain"``.

    >>> purpose_of(Flow([("ReduceMean", ("x",), ("m",)), ("Sub", ("x", "m"), ("y",))], ()), 1)
    'mean subtraction'
    """
    _, (a, b), (result, *_) = flow.steps[index]
    for words, test in _TESTS:
        if test(flow, a, b, result):
            return words
    return PLAIN


def _is_dequantisation(flow: Flow, a: str, b: str, result: str) -> bool:
    """A narrow integer less a zero point, then scaled: (Cast(q) - zp) * scale, or Cast(q - zp) * scale."""
    start = flow.source(a, _MOVING)
    narrow = flow.dtypes.get(start) in _NARROW or flow.maker(a, _MOVING) in ("QuantizeLinear", "Round", "Clip")
    scaled = any("Mul" in flow.readers(name) for name in (result, *_after(flow, result, _MOVING)))
    return narrow and scaled and (flow.is_constant(b) or flow.dtypes.get(flow.source(b, _MOVING)) in _NARROW)


def _after(flow: Flow, name: str, kinds: Collection[str]) -> list[str]:
    """The values that a value becomes through operators of some kinds."""
    found: list[str] = []
    waiting = [name]
    while waiting and len(found) < 64:
        one = waiting.pop()
        for i in flow._readers.get(one, ()):
            kind, _, outputs = flow.steps[i]
            if kind in kinds and outputs and outputs[0] not in found:
                found.append(outputs[0])
                waiting.append(outputs[0])
    return found


def _is_mask(flow: Flow, a: str, b: str, result: str) -> bool:
    """1 - mask, then scaled, turned to bool or picked by; or a mask whose own name says so."""
    if not flow.is_constant(a):
        return False
    start = flow.source(b, _MOVING)
    named = "mask" in start.lower() or "mask" in b.lower() or "mask" in result.lower()
    compared = flow.maker(b, _MOVING) in _COMPARISONS or flow.dtypes.get(start) == "bool"
    uses = {kind for name in (result, *_after(flow, result, _MOVING)) for kind in flow.readers(name)}
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
    moved = (*_SHAPES, "Cast", "Gather", "Slice", "Concat", "Add", "Mul", "Div", "Sub")
    return any(flow.maker(name, moved) in ("Shape", "Size", "Range") for name in (a, b))


_TESTS = (
    ("softmax shift", _is_softmax),
    ("attention mask", _is_mask),
    ("dequantisation zero point", _is_dequantisation),
    ("mean subtraction", _is_mean),
    ("shape arithmetic", _is_shape),
)
"""What a subtraction can be there for, in the order in which it is asked."""
