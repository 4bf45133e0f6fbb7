"""Fusions: a subtraction among operators that runtimes know as one, normalisation and softmax."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator

from minuend.models.flow import Flow
from minuend.models.patterns import LAST, ONE_AXIS, OTHERS, Const, Normalisation, Softmax

ENDS: tuple[tuple[Const, ...], ...] = ((), (Const.ARRAY,), (Const.ARRAY, Const.ARRAY))
"""What a normalisation is followed by: nothing, a scale, a scale and a bias."""

NORMALISATIONS = tuple(
    itertools.starmap(
        Normalisation, itertools.product(("Pow", "Mul"), ("Sqrt", "Pow"), ("Div", "Reciprocal"), (LAST, OTHERS), ENDS)
    )
)
"""Every way that is measured; one that is written otherwise counts as all of them."""

_OF_ONE_AXIS = Normalisation("Pow", "Sqrt", "Div", ONE_AXIS)
"""A normalisation of a tensor of one axis, which is not measured: onnxruntime does not even load some of them."""


_SAME = ("Identity", "Dropout")
_CONVERTED = (*_SAME, "Cast")
_BY_ONE = "1 / x"
"""A division that is a product with a constant's quotient."""


def fusions(
    flow: Flow, index: int, reached: Callable[[], Collection[int]]
) -> Iterator[tuple[Normalisation | Softmax, bool]]:
    """Yield the patterns of a subtraction among operators that runtimes know as one; ``reached``: what it reaches.

    Beside each is whether it is only supposed: the subtraction is written otherwise.
    """
    operator, operands, (result, *_) = flow.steps[index]
    if operator != "Sub" or operands[0] not in flow.operands(operands[1], ()):
        return
    a, b = operands
    behind = {flow.steps[i][0] for i in reached()}
    # Its squares have a mean, and that has a root.
    if flow.maker(b, ()) == "ReduceMean" and "ReduceMean" in behind and behind & {"Sqrt", "Pow"}:
        shape = flow.shapes.get(a)
        known = isinstance(shape, tuple) and len(shape) == 1
        yield from ((_OF_ONE_AXIS, False),) if known else _written(flow, a, b, result)
    # Its exponentials are divided by their sum: where its logarithm is subtracted, none was seen to be fused.
    divides = behind & {"Div", "Reciprocal", "Pow"}
    if flow.maker(b, ()) == "ReduceMax" and "Exp" in flow.readers(result) and "ReduceSum" in behind and divides:
        yield Softmax(), False


def as_written(flow: Flow, index: int) -> Iterable[Normalisation]:
    """Return the normalisations that a subtraction is part of as its model has them: a scale of 1 is one, too.

    >>> steps = [("ReduceMean", ("x",), ("m",)), ("Sub", ("x", "m"), ("d",)), ("Pow", ("d", "two"), ("p",)),
    ...          ("ReduceMean", ("p",), ("v",)), ("Add", ("v", "e"), ("a",)), ("Sqrt", ("a",), ("s",)),
    ...          ("Div", ("d", "s"), ("q",)), ("Mul", ("q", "ones"), ("y",))]
    >>> flow = Flow(steps, ("two", "e", "ones"), shapes={"x": (2, 8), "m": (2, 1), "ones": (8,)})
    >>> [str(one) for one in as_written(flow, 1)]
    ['(x - ReduceMean(x)) / Sqrt(ReduceMean(Pow)) * array']
    """
    operator, operands, (result, *_) = flow.steps[index]
    if operator != "Sub" or flow.maker(operands[1], ()) != "ReduceMean":
        return ()
    return _found(flow, _axes(flow, *operands), result) if operands[0] in flow.operands(operands[1], ()) else ()


def _written(flow: Flow, x: str, mean: str, d: str) -> Iterable[tuple[Normalisation, bool]]:
    """The ways to write a normalisation that a subtraction of a mean is part of; all are supposed if none is seen."""
    known = _axes(flow, x, mean)
    found = _found(flow, known, d)
    return [(one, not found) for one in found or NORMALISATIONS if one.axes in known]


def _divided_at_last(flow: Flow, d: str) -> set[str]:
    """The difference once it is divided as onnxruntime knows it, or comes to know it."""
    return {name for way in ("Div", _BY_ONE) for name in _divided(flow, d, "Pow", "Sqrt", way, _CONVERTED)}


def _found(flow: Flow, known: Collection[str], d: str) -> Collection[Normalisation]:
    """The normalisations over some axes that a difference is seen to be part of.

    Parameters are constants, or whatever may be a vector: both count.
    """
    divided = {
        way: _divided(flow, d, *way) for way in dict.fromkeys((n.square, n.root, n.division) for n in NORMALISATIONS)
    }
    ends = [
        (way, _end(flow, names, counts))
        for way, names in divided.items()
        if names
        for counts in (_is_constant, _may_be)
    ]
    return dict.fromkeys(Normalisation(*way, axes, end) for way, end in ends for axes in known)


def _is_constant(flow: Flow, name: str) -> bool:
    return flow.is_array(name)


def _may_be(flow: Flow, name: str) -> bool:
    """Whether a value can be a vector, or is an array."""
    shape = flow.shapes.get(name)
    return flow.is_array(name) or not isinstance(shape, tuple) or len(shape) == 1


def _axes(flow: Flow, x: str, mean: str) -> Collection[str]:
    """Over which axes a mean is: the last alone or others; either where shapes do not say."""
    before, after = flow.shapes.get(x), flow.shapes.get(mean)
    if not isinstance(before, tuple) or not isinstance(after, tuple) or None in (*before, *after):
        return (LAST, OTHERS)
    return (LAST if after == (*before[:-1], 1) else OTHERS,)


def _divided(flow: Flow, d: str, square: str, root: str, division: str, passed: Collection[str] = _SAME) -> set[str]:
    """The difference once it is divided in a way, by name; ``passed`` names what may stand between its operators."""
    own = _handed_on(flow, {d}, passed)
    squares = {
        out
        for operator, inputs, out in _read(flow, own)
        if operator == square and (inputs[0] in own if operator == "Pow" else own.issuperset(inputs))
    }
    means = _after(flow, _handed_on(flow, squares, passed), "ReduceMean", passed)
    roots = _after(flow, _after(flow, means, "Add", passed), root, passed)
    if division == "Div":
        return {out for operator, inputs, out in _read(flow, own) if operator == "Div" and set(inputs[1:]) & roots}
    if division == _BY_ONE:
        by = {out for operator, inputs, out in _read(flow, roots) if operator == "Div" and inputs[0] in flow.folded}
    else:
        by = _after(flow, roots, "Reciprocal", passed)
    return {out for operator, inputs, out in _read(flow, own) if operator == "Mul" and set(inputs) & by}


def _end(flow: Flow, divided: set[str], counts: Callable[[Flow, str], bool]) -> tuple[Const, ...]:
    """The parameters of what is divided, which count as such: a scale and a bias, or the first, or none."""
    found: list[Const] = []
    for operator in ("Mul", "Add"):
        own = _handed_on(flow, divided)
        arrays = [
            (next((name for name in inputs if name not in own and counts(flow, name)), ""), out)
            for kind, inputs, out in _read(flow, own)
            if kind == operator
        ]
        divided = {out for name, out in arrays if name}
        if not divided:
            break
        shapes = [flow.shapes.get(name) for name, _ in arrays if name]
        vectors = all(not isinstance(shape, tuple) or len(shape) == 1 for shape in shapes)
        found.append(Const.ARRAY if vectors else Const.ARRAYS)
    return tuple(found)


def has_other_parameters(flow: Flow, index: int) -> bool | None:
    """Whether the second operands of a scale and a bias behind a normalisation are no vectors along its last axis.

    ``None`` where their shapes do not say.
    """
    operator, operands, outputs = flow.steps[index]
    if operator != "Sub" or not outputs or flow.maker(operands[1], ()) != "ReduceMean":
        return False
    before, after = (flow.shapes.get(name) for name in operands)
    last, over_more = None, False
    if isinstance(before, tuple) and isinstance(after, tuple) and before:
        if after[-1:] != (1,):
            return False
        last, over_more = before[-1], after != (*before[:-1], 1)
    found: set[bool | None] = set()
    divided = _divided(flow, outputs[0], "Pow", "Sqrt", "Div")
    for scale, scaled in (
        (inputs[1], out) for kind, inputs, out in _read(flow, divided) if kind == "Mul" and inputs[1:]
    ):
        for bias in (inputs[1] for kind, inputs, _ in _read(flow, {scaled}) if kind == "Add" and inputs[1:]):
            found |= {True if over_more else _is_no_vector(flow, name, last) for name in (scale, bias)}
    return True if True in found else None if None in found else False


AS_ONE = Normalisation("Pow", "Sqrt", "Div", LAST, (Const.ARRAY, Const.ARRAY))
"""The normalisation that onnxruntime makes one operator of."""


def types_of_one(flow: Flow, index: int, axes: str = LAST) -> tuple[str | None, str | None] | None:
    """The types of value and scale of the one operator that onnxruntime makes of a normalisation; ``None`` for none.

    It leaves out the conversion of a value that the mean and the difference alone read, and those between operators.
    ``axes`` are those of the mean.

    >>> steps = [("Cast", ("h",), ("x",)), ("ReduceMean", ("x",), ("m",)), ("Sub", ("x", "m"), ("d",)),
    ...          ("Pow", ("d", "two"), ("p",)), ("ReduceMean", ("p",), ("v",)), ("Add", ("v", "e"), ("a",)),
    ...          ("Sqrt", ("a",), ("s",)), ("Div", ("d", "s"), ("q",)), ("Mul", ("q", "g"), ("w",)),
    ...          ("Add", ("w", "b"), ("y",))]
    >>> types_of_one(Flow(steps, ("two", "e", "g", "b"), {"h": "float16", "x": "float32", "g": "float32"}), 2)
    ('float16', 'float32')
    """
    operator, operands, outputs = flow.steps[index]
    if operator != "Sub" or not outputs or flow.maker(operands[1], ()) != "ReduceMean":
        return None
    x, mean = operands
    if x not in flow.operands(mean, ()) or axes not in _axes(flow, x, mean):
        return None
    if mean in flow.outputs or flow.uses(outputs[0]) > 2 or outputs[0] in flow.outputs:
        return None
    own = {name for name in _handed_on(flow, _divided_at_last(flow, outputs[0]), _CONVERTED) if flow.uses(name) == 1}
    for inputs, out in ((inputs, out) for kind, inputs, out in _read(flow, own) if kind == "Mul"):
        scale = next((name for name in inputs if name not in own and _is_parameter(flow, name)), None)
        ends = [more for kind, more, _ in _read(flow, {out}) if kind == "Add" and flow.uses(out) == 1]
        if scale and any(_is_parameter(flow, name) for more in ends for name in more if name != out):
            return flow.dtypes.get(_unconverted(flow, x, mean)), flow.dtypes.get(scale)
    return None


def _is_parameter(flow: Flow, name: str) -> bool:
    """Whether a value is a constant or comes into the graph, and may have one axis alone."""
    shape = flow.shapes.get(name)
    given = name in flow.folded or flow.maker_of(name) is None
    return given and (not isinstance(shape, tuple) or len(shape) == 1)


def _unconverted(flow: Flow, x: str, mean: str) -> str:
    """What a value is converted from, if its mean and the difference from that alone read it; else itself."""
    made = flow.maker_of(x)
    reads = (flow.steps[i] for i in flow.readers_of(x))
    alone = x not in flow.outputs and all(kind == "ReduceMean" or inputs[1:] == (mean,) for kind, inputs, _ in reads)
    return flow.steps[made][1][0] if made is not None and alone and flow.steps[made][0] == "Cast" else x


def has_scale_of_one_element(flow: Flow, index: int) -> bool:
    """Whether what a normalisation gives is multiplied or divided by one number, where its last axis has more."""
    operator, operands, outputs = flow.steps[index]
    if operator != "Sub" or not outputs or flow.maker(operands[1], ()) != "ReduceMean":
        return False
    shape = flow.shapes.get(operands[0])
    if isinstance(shape, tuple) and shape[-1:] == (1,):
        return False
    divided = {name for way in ("Div", "Reciprocal") for name in _divided(flow, outputs[0], "Pow", "Sqrt", way)}
    own = _handed_on(flow, divided)
    factors = [inputs[kind == "Div" :] for kind, inputs, _ in _read(flow, own) if kind in ("Mul", "Div")]
    return any(name in flow.folded and not flow.is_array(name) for inputs in factors for name in inputs)


def _is_no_vector(flow: Flow, name: str, size: object) -> bool | None:
    """Whether a value has not one axis of a size; ``None`` where that is not known."""
    dims = flow.shapes.get(name)
    if not isinstance(dims, tuple):
        return None
    if len(dims) != 1 or (isinstance(dims[0], int) and isinstance(size, int) and dims[0] != size):
        return True
    return False if dims[0] == size else None


def _after(flow: Flow, names: set[str], operator: str, passed: Collection[str] = _SAME) -> set[str]:
    return _handed_on(flow, {out for kind, _, out in _read(flow, names) if kind == operator}, passed)


def _handed_on(flow: Flow, names: set[str], passed: Collection[str] = _SAME) -> set[str]:
    """Some values, by all the names that they have."""
    found: set[str] = set()
    while names:
        found |= names
        names = {out for kind, _, out in _read(flow, names) if kind in passed} - found
    return found


def _read(flow: Flow, names: set[str]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """The operators that read some values, with their inputs and first outputs."""
    for i in dict.fromkeys(i for name in names for i in flow.readers_of(name)):
        operator, inputs, outputs = flow.steps[i]
        if outputs:
            yield operator, inputs, outputs[0]
