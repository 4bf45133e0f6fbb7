"""Several layers of an IR that OpenVINO writes for one operator of ONNX, read as that operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from minuend.core.elements import TYPES
from minuend.models.flow import Flow

Step = tuple[str, tuple[str, ...], tuple[str, ...]]

_GONE: Step = ("", (), ())


def as_operators(flow: Flow) -> Flow:
    """Return a flow in which quantisations, normalisations, clips and products with 1 are the operators that they are.

    What is gone is an empty step, so that all others have the numbers that they had.

    >>> steps = [("Cast", ("q",), ("f",)), ("Cast", ("zero",), ("z",)), ("Sub", ("f", "z"), ("d",)),
    ...          ("Mul", ("d", "s"), ("y",))]
    >>> dtypes = {"q": "uint8", "zero": "uint8", "f": "float32", "z": "float32"}
    >>> [step[:2] for step in as_operators(Flow(steps, ("zero", "s"), dtypes, ("y",))).steps]
    [('', ()), ('Cast', ('zero',)), ('', ()), ('DequantizeLinear', ('q', 's', 'zero'))]
    """
    found: dict[int, Step] = {}
    for i, (operator, inputs, _) in enumerate(flow.steps):
        if operator == "Cast" and len(inputs) == 1:
            found.update(_quantised(flow, i))
        elif operator == "Mul" and len(inputs) == 2:
            found.update(_handed_on(flow, i) or _scaled(flow, i) or _dequantised(flow, i))
        elif operator == "Div" and len(inputs) == 2 and _is_one(flow, inputs[0]):
            found[i] = ("Reciprocal", inputs[1:], flow.steps[i][2])
        elif operator == "Add" and len(inputs) == 2:
            found.update(_unbiased(flow, i) or _biased(flow, i))
        elif operator in ("Max", "Min") and len(inputs) == 2:
            clip = _clipped(flow, i)
            found.update(clip if found.keys().isdisjoint(clip) else {})  # of three in a row two are one
    return replace(flow, steps=[found.get(i, step) for i, step in enumerate(flow.steps)]) if found else flow


def _quantised(flow: Flow, index: int) -> Mapping[int, Step]:
    """A conversion to integers of what FakeQuantize alone hands it."""
    _, inputs, outputs = flow.steps[index]
    made = _alone(flow, inputs[0], "FakeQuantize")
    if made is None or not _is_integer(flow, outputs[0]):
        return {}
    return {made: _GONE, index: ("QuantizeLinear", flow.steps[made][1], outputs)}


def _dequantised(flow: Flow, index: int) -> Mapping[int, Step]:
    """A product of a scale and converted integers, less a converted zero point where there is one."""
    _, inputs, outputs = flow.steps[index]
    for value, scale in (inputs, inputs[::-1]):
        less = _alone(flow, value, "Sub")
        converted, *zero = flow.steps[less][1] if less is not None else (value,)
        cast, stored = _alone(flow, converted, "Cast"), [flow.maker_of(name) for name in zero]
        if cast is None or scale not in flow.folded or not _is_code(flow, flow.steps[cast][1][0], bool(zero)):
            continue
        if all(i is not None and flow.steps[i][0] == "Cast" and flow.folded.issuperset(zero) for i in stored):
            given = (*flow.steps[cast][1], scale, *(name for i in stored if i is not None for name in flow.steps[i][1]))
            gone = {one: _GONE for one in (cast, less) if one is not None}
            return {**gone, index: ("DequantizeLinear", given, outputs)}
    return {}


def _handed_on(flow: Flow, index: int) -> Mapping[int, Step]:
    """A product with one number that is 1, as Gemm has two."""
    _, inputs, outputs = flow.steps[index]
    for value, one in (inputs, inputs[::-1]):
        if _is_one(flow, one):
            return {index: ("Identity", (value,), outputs)}
    return {}


def _unbiased(flow: Flow, index: int) -> Mapping[int, Step]:
    """A sum with a product of 1 and 0, as Gemm has where it has no bias."""
    _, (value, bias), outputs = flow.steps[index]
    made = _alone(flow, bias, "Mul")
    factors = flow.steps[made][1] if made is not None else ()
    stored = all(one in flow.constants and flow.shapes.get(one) == () for one in factors)
    found = {flow.number(one) for one in factors} if stored else set()
    return {index: ("Identity", (value,), outputs)} if found == {0, 1} else {}


def _scaled(flow: Flow, index: int) -> Mapping[int, Step]:
    """A product of what is normalised along the last axis and a number for each of its elements."""
    _, inputs, outputs = flow.steps[index]
    for value, scale in (inputs, inputs[::-1]):
        made = _alone(flow, value, "MeanVarianceNormalization")
        if made is not None and _is_row(flow, scale, value) and _is_of_last_axis(flow, *flow.steps[made][1]):
            return {made: _GONE, index: ("LayerNormalization", (flow.steps[made][1][0], scale), outputs)}
    return {}


def _biased(flow: Flow, index: int) -> Mapping[int, Step]:
    """The same with a sum behind it."""
    _, inputs, outputs = flow.steps[index]
    for value, bias in (inputs, inputs[::-1]):
        product = _alone(flow, value, "Mul")
        found = _scaled(flow, product) if product is not None and len(flow.steps[product][1]) == 2 else {}
        if product is not None and found and _is_row(flow, bias, value):
            given = (*found[product][1], bias)
            return {**dict.fromkeys(found, _GONE), index: ("LayerNormalization", given, outputs)}
    return {}


def _is_row(flow: Flow, name: str, value: str) -> bool:
    """Whether a constant has one axis, which is the last one of a value."""
    dims, own = flow.shapes.get(value), flow.shapes.get(name)
    return name in flow.folded and isinstance(dims, tuple) and dims[-1:] == own


def _is_of_last_axis(flow: Flow, value: str, axes: str = "") -> bool:
    """Whether axes are the last one of a value; those that are not stored may be."""
    dims, found = flow.shapes.get(value), flow.elements(axes) if axes in flow.constants else None
    return found is None or (isinstance(dims, tuple) and found.tolist() in ([-1], [len(dims) - 1]))


def _clipped(flow: Flow, index: int) -> Mapping[int, Step]:
    """The lesser of a number and the greater of another one and a value, or the other way round."""
    operator, inputs, outputs = flow.steps[index]
    for value, bound in (inputs, inputs[::-1]):
        made = _alone(flow, value, "Max" if operator == "Min" else "Min")
        if made is None or not _is_number(flow, bound):
            continue
        for clipped, limit in (flow.steps[made][1], flow.steps[made][1][::-1]):
            if _is_number(flow, limit) and clipped not in flow.folded:
                bounds = (limit, bound) if operator == "Min" else (bound, limit)
                return {made: _GONE, index: ("Clip", (clipped, *bounds), outputs)}
    return {}


def _alone(flow: Flow, name: str, operator: str) -> int | None:
    """The number of the step of an operator that makes a value that is read once; ``None`` for others."""
    made = flow.maker_of(name)
    return made if made is not None and flow.steps[made][0] == operator and flow.uses(name) == 1 else None


def _is_code(flow: Flow, name: str, less: bool) -> bool:
    """Whether integers are what a number is quantised to; where no zero point is subtracted, stored or quantised ones.

    Others that are converted and multiplied are a mask or a picture.
    """
    made = flow.maker_of(name)
    known = less or name in flow.folded or (made is not None and flow.steps[made][0] == "Cast")
    return known and _is_integer(flow, name) and flow.dtypes[name] not in ("int64", "uint64")


def _is_integer(flow: Flow, name: str) -> bool:
    dtype = flow.dtypes.get(name, "bool")
    return dtype != "bool" and TYPES[dtype].kind != "float"


def _is_one(flow: Flow, name: str) -> bool:
    return name in flow.constants and flow.shapes.get(name) == () and flow.number(name) == 1


def _is_number(flow: Flow, name: str) -> bool:
    return name in flow.constants and flow.sizes.get(name) == 1
