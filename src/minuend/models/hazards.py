"""What the graph around a node holds, beyond patterns, that some runtimes do not take: adapters say which (``STRICT``).

square of int64             the node subtracts 0, and what comes of it is multiplied by what it is subtracted from
sizes joined when it runs   operands of open shapes may be broadcast along an axis, and an operator that cuts or
                            reshapes the result, or needs its sizes, stands behind, or the model states these
signs of zero mixed up      a constant of the node is another constant, but for the sign of a 0
other parameters            a scale and a bias behind a normalisation are no vectors along its last axis
unknown parameters          the same, where their shapes do not say
mask of attention           the node makes a mask for a Softmax out of 1 less what has two axes more, below opset 13
difference behind two layers  the node subtracts from what two layers with biases make, one after the other
sum behind attention        the node adds or subtracts behind attention, and its result is read twice
gated cell                  the node is part of a GRU cell that is written out
scale of one element        a normalisation is scaled by one number
Relu of float16 as a Max    the model is of opset 18, for which ONNX defines Relu as a function
extremes of float16         the model has a Max or Min of float16 whose operands may have other shapes
output quantised            what comes of the node is an output that Transpose alone reads besides, which is quantised
                            and dequantised behind it
quantised value read besides  the model quantises what a node makes, and something else reads that, too
input in 16 bits            the model quantises an input to 16 bits, and an output is what this is converted back to
normalisation …             the model converts what it normalises, or the quotient, and scales that in another type,
                            ``of two types`` or ``of float16 and another type`` (from opset 17 on), or ``of float16,
                            converted``; or in the same one, ``in float16 and back`` (from opset 17 on) or ``and back``;
                            or it scales float32 in float16, ``scaled in float16`` (below opset 17); or it normalises
                            ``over other axes`` than the last one, and has parameters of one axis
int8 moved                  the model moves what it dequantises from int8, and does not quantise it again at once
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from minuend.core.elements import TYPES
from minuend.models.cells import BEHIND_ATTENTION, CELL, LAYERS, in_cells, is_behind_attention, is_behind_layers
from minuend.models.flow import OF_SHAPES, SHAPES, Array, Flow
from minuend.models.folding import computed
from minuend.models.fusions import has_other_parameters, has_scale_of_one_element, types_of_one
from minuend.models.matching.operator_groups import ARITHMETIC, BITWISE, COMPARISONS, PLAIN
from minuend.models.patterns import OTHERS
from minuend.models.ranges.interval import Range

SQUARE = "square of "
JOINED_LATER = "sizes joined when it runs"
SIGNS_MIXED = "signs of zero mixed up"
EINSUM = "behind Einsum"
MASK = "mask of attention"
EXTREMES = "extremes of float16"
RELU_AS_MAX = "Relu of float16 as a Max"
MOVED_INT8 = "int8 moved"
INPUT_IN_16_BITS = "input in 16 bits"
INPUT_WITHOUT_SHAPE, INPUT_WITHOUT_TYPE = (f"input without {one}" for one in ("shape", "type"))
QUANTISED_OUTPUT = "output quantised"
READ_BESIDES = "quantised value read besides"
SCALE = "scale of one element"
TWO_TYPES, WITH_FLOAT16, OF_FLOAT16 = (
    f"normalisation of {one}" for one in ("two types", "float16 and another type", "float16, converted")
)
AND_BACK, FLOAT16_AND_BACK, IN_FLOAT16, OVER_OTHERS = (
    f"normalisation {one}" for one in ("and back", "in float16 and back", "scaled in float16", "over other axes")
)
OTHER_PARAMETERS: Mapping[bool | None, str] = {True: "other parameters", None: "unknown parameters"}

AXES_ATTRIBUTE, AXES_INPUT = (f" of axes as an {form}" for form in ("attribute", "input"))
KEEPDIMS_LEFT_OUT = " without keepdims"
"""Behind the name of an operator that reduces: how a node of the model states the axes, and that it leaves out
``keepdims``, which is 1 then."""


def of_operator(name: str, domain: str = "") -> str:
    """Return the kind of a model that has a node of an operator.

    >>> of_operator("GRU"), of_operator("Binarizer", "ai.onnx.ml")
    ('operator GRU', 'operator ai.onnx.ml.Binarizer')
    """
    return f"operator {domain}.{name}" if domain else f"operator {name}"


KINDS = frozenset((
    JOINED_LATER, SIGNS_MIXED, EINSUM, EXTREMES, RELU_AS_MAX, MOVED_INT8, INPUT_IN_16_BITS, INPUT_WITHOUT_SHAPE,
    INPUT_WITHOUT_TYPE, QUANTISED_OUTPUT, READ_BESIDES, SCALE,
    BEHIND_ATTENTION, MASK, CELL, LAYERS, TWO_TYPES, WITH_FLOAT16, OF_FLOAT16, AND_BACK, FLOAT16_AND_BACK, IN_FLOAT16,
    OVER_OTHERS,
    *OTHER_PARAMETERS.values(),
))  # fmt: skip
"""All of them, except that a square has the name of its type behind it."""

_NEUTRAL = {"Add": (0, 0), "Sub": (0,), "Mul": (1, 1), "Div": (1,)}
"""Operators of two operands: the number as the last operand, and as the first, with which the other one stays."""

_JOINING = (*ARITHMETIC, *COMPARISONS, *BITWISE, "And", "Or", "Xor", "Where", "Sum", "Mean")
"""Operators that broadcast their operands."""

_SIZED = (
    "AveragePool", "BatchNormalization", "Compress", "Concat", "Conv", "ConvInteger", "ConvTranspose",
    "DepthToSpace", "Einsum", "Flatten", "GRU", "Gather", "GatherElements", "GatherND", "Gemm", "GroupNormalization",
    "Hardmax", "InstanceNormalization", "LSTM", "LayerNormalization", "MaxPool", "PRelu", "QLinearConv", "RNN",
    "Reshape", "ScatterElements", "ScatterND", "Slice", "SpaceToDepth", "Split",
)  # fmt: skip
"""Operators that cut, join or reshape a value, or have parameters of its sizes. tract moves a cut before operators that
broadcast, and refuses others where it cannot prove a size."""

_MOVING = ("MaxPool", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze")
"""Operators behind which onnxruntime quantises and dequantises once more what was dequantised before them."""

_WITHOUT_ZERO = frozenset(
    (*PLAIN, *ARITHMETIC, *COMPARISONS, "Cast", "Ceil", "Constant", "Floor", "Gemm", "MatMul", "Round", "Shape", "Sign",
     "Where")
) - {"Elu", "HardSigmoid", "PRelu", "Relu"}  # fmt: skip
"""Operators that tract computes without a constant 0 of its own; Relu is Max with 0."""


class Hazards:
    """What some runtimes do not take of the nodes of a flow.

    >>> from minuend.models.ranges.interval import full
    >>> steps = [("Sub", ("x", "z"), ("d",)), ("Mul", ("x", "d"), ("y",))]
    >>> flow = Flow(steps, ("z",), dict.fromkeys("xzdy", "int64"), ("y",))
    >>> Hazards(flow).of(0, (full("int64"), Range("int64", 0, 0, constant=True)))
    frozenset({'square of int64'})
    """

    def __init__(self, flow: Flow, opset: int = 0) -> None:
        self.flow, self.opset = flow, opset

    def of(self, index: int, operands: Sequence[Range]) -> frozenset[str]:
        """Return the kinds of a node whose operands can hold some values."""
        with np.errstate(invalid="ignore"):  # which NumPy warns of where narrow floats that are NaN are compared
            return frozenset(self._found(index, operands))

    def _found(self, index: int, operands: Sequence[Range]) -> Iterator[str]:
        operator, inputs, outputs = self.flow.steps[index]
        element = TYPES.get(operands[-1].dtype or "")
        if not outputs or element is None:
            return
        if element.is_integer and operator == "Sub" and operands[1].lo == operands[1].hi == 0:
            yield from (SQUARE + element.name,) * _is_squared(self.flow, index)
        if index in self._joined_later and index in self._sized_later:
            yield JOINED_LATER
        if not element.is_integer and (other := has_other_parameters(self.flow, index)) is not False:
            yield OTHER_PARAMETERS[other]
        plain, places = self.flow.plain
        views = ((self.flow, index), (plain, places[index]))  # a plain one has no factors of 1
        if not element.is_integer and any(itertools.starmap(has_scale_of_one_element, views)):
            yield SCALE
        if not element.is_integer and _is_behind_einsum(self.flow, inputs):
            yield EINSUM
        if index in self._in_cells:
            yield CELL
        if is_behind_layers(self.flow, index):
            yield LAYERS
        if not element.is_integer and any(itertools.starmap(is_behind_attention, views)):
            yield BEHIND_ATTENTION
        if operator == "Sub" and _masks_attention(self.flow, inputs, outputs[0]):
            yield MASK
        if not element.is_integer and any(map(self._has_double, inputs)):
            yield SIGNS_MIXED
        if index in self._quantised_later:
            yield QUANTISED_OUTPUT
        yield from self._normalised.get(places[index], ())

    @cached_property
    def _quantised_later(self) -> frozenset[int]:
        """The nodes of which comes an output that is quantised behind a Transpose, too."""
        if not {"QuantizeLinear", "Transpose"} <= self.flow.operators:
            return frozenset()
        values = {
            name for flow in (self.flow, self.flow.plain[0]) for name in flow.outputs if _is_quantised(flow, name)
        }
        found: set[int] = set()
        for i in reversed(range(len(self.flow.steps))):
            _, inputs, outputs = self.flow.steps[i]
            if not values.isdisjoint(outputs):
                found.add(i)
                values.update(inputs)
        return frozenset(found)

    @cached_property
    def _normalised(self) -> Mapping[int, Collection[str]]:
        """The kinds of normalisations that are computed otherwise, by the numbers of nodes that subtract a mean."""
        return {i: {*kinds} - _NOT_LOADED for i, kinds in _normalisations(self.flow, self.opset)}

    @cached_property
    def _in_cells(self) -> frozenset[int]:
        return in_cells(self.flow)

    @cached_property
    def _joined_later(self) -> frozenset[int]:
        """The nodes that may broadcast an axis whose sizes are not known, and those behind them."""
        found: set[int] = set()
        values: set[str] = set()
        for i, (operator, inputs, outputs) in enumerate(self.flow.steps):
            pairs = itertools.pairwise(filter(None, inputs)) if operator in _JOINING else ()
            if not values.isdisjoint(inputs) or any(itertools.starmap(self._may_join, pairs)):
                found.add(i)
                values.update(outputs if operator not in OF_SHAPES else ())
        return frozenset(found)

    @cached_property
    def _sized_later(self) -> frozenset[int]:
        """The nodes in front of operators that need the sizes of what is given to them, or of stated values."""
        found: set[int] = set()
        values: set[str] = set()
        for i in reversed(range(len(self.flow.steps))):
            operator, inputs, outputs = self.flow.steps[i]
            if not values.isdisjoint(outputs) or any(map(self._is_declared, outputs)):
                found.add(i)
            if operator in _SIZED or (i in found and operator not in OF_SHAPES):
                values.update(inputs)
        return frozenset(found)

    def _is_declared(self, name: str) -> bool:
        """Whether a model states a number for a size of a value in between, which may be an expression to a runtime."""
        dims = self.flow.shapes.get(name)
        if name not in self.flow.declared or not isinstance(dims, tuple):
            return False
        return any(isinstance(dim, int) and dim > 1 for dim in dims)

    def _may_join(self, a: str, b: str) -> bool:
        """Whether two operands may be broadcast to a size that is known only when the model runs.

        Of two values that are made of one input, and whose shapes are not known, this is not believed.
        """
        one, other = self.flow.shapes.get(a), self.flow.shapes.get(b)
        if _is_one(one) or _is_one(other):
            return False
        if not isinstance(one, tuple) or not isinstance(other, tuple):
            return self._sources.get(a, frozenset({a})).isdisjoint(self._sources.get(b, {b}))
        return any(map(_is_open, one[::-1], other[::-1]))

    @cached_property
    def _sources(self) -> Mapping[str, frozenset[str]]:
        """The values without a maker that a value is made of, constants aside."""
        found: dict[str, frozenset[str]] = dict.fromkeys(self.flow.folded, frozenset())
        for _, inputs, outputs in self.flow.steps:
            made = frozenset(itertools.chain.from_iterable(found.get(name, (name,)) for name in inputs if name))
            for name in outputs:
                found.setdefault(name, made)
        return found

    def _has_double(self, name: str) -> bool:
        """Whether a constant is another one but for the sign of a 0; where elements are not known, it may be."""
        flow = self.flow
        own = _elements(flow, name) if name in flow.folded else None
        if name not in flow.folded or (own is not None and not (own == 0).any()):
            return False
        if own is not None and (own == 0).all() and np.signbit(own).any() and self._has_own_zeros:
            return True
        dtype, shape = flow.dtypes.get(name), _squeezed(flow, name)
        others = flow.folded - {name}
        alike = (one for one in others if flow.dtypes.get(one) == dtype and _squeezed(flow, one) == shape)
        return any(_are_doubles(own, _elements(flow, one)) for one in alike)

    @cached_property
    def _has_own_zeros(self) -> bool:
        """Whether a runtime may compute an operator with a constant 0 that the model does not have."""
        return any(operator and operator not in _WITHOUT_ZERO for operator, _, _ in self.flow.steps)


def kinds_of_model(flows: Collection[Flow], opset: int) -> Iterator[str]:
    """Yield the kinds of a whole model, whose nodes of ONNX's own domain are of an opset."""
    if has_extremes_of_float16(flows):
        yield EXTREMES
    if opset == _OPSET_OF_FUNCTIONS and any(map(_has_relu_of_float16, flows)):
        yield RELU_AS_MAX
    if hands_out_16_bits(flows):
        yield INPUT_IN_16_BITS
    if opset > 20 and moves_int8(flows):
        yield MOVED_INT8
    if any(map(_reads_besides, flows)):
        yield READ_BESIDES
    for flow in flows:
        for _, kinds in _normalisations(flow, opset):
            yield from _NOT_LOADED.intersection(kinds)


_OPSET_OF_FUNCTIONS = 18
"""The one opset for which ONNX defines Relu as a function."""


def _has_relu_of_float16(flow: Flow) -> bool:
    return any(operator == "Relu" and flow.dtypes.get(outputs[0]) == "float16" for operator, _, outputs in flow.steps)


def _reads_besides(flow: Flow) -> bool:
    """Whether something else reads a value that a node makes and another one quantises."""
    values = (inputs[0] for operator, inputs, _ in flow.steps if operator == "QuantizeLinear" and inputs)
    return any(flow.maker_of(one) is not None and len(flow.readers_of(one)) > 1 for one in values)


_NOT_LOADED = frozenset((TWO_TYPES, WITH_FLOAT16, OF_FLOAT16))


def _normalisations(flow: Flow, opset: int) -> Iterator[tuple[int, Collection[str]]]:
    """The nodes that subtract the mean in normalisations with conversions, each with the kinds that these are of."""
    if not {"ReduceMean", "Sqrt"} <= flow.operators:
        return
    for i, (_, inputs, _) in enumerate(flow.bare.steps):
        if types_of_one(flow.bare, i, OTHERS) is not None:
            yield i, {OVER_OTHERS}
        value, scale = types_of_one(flow.bare, i) or (None, None)
        if value is None or scale is None or value == scale == flow.dtypes.get(inputs[0]):
            continue
        if value == scale:
            yield i, {AND_BACK} if value != "float16" else {FLOAT16_AND_BACK} if opset > 16 else ()
        elif "float16" not in (value, scale):
            yield i, {TWO_TYPES}
        else:
            later = {WITH_FLOAT16} if opset > 16 else {IN_FLOAT16} if scale == "float16" else ()
            yield i, {*later, OF_FLOAT16} if value == "float16" else later


def has_extremes_of_float16(flows: Collection[Flow]) -> bool:
    """Whether a model has a Max or Min of float16 whose operands may have other shapes, one element aside.

    >>> shapes = {"x": (2, 8), "k": (8,), "one": (1,)}
    >>> [has_extremes_of_float16([Flow([("Max", ("x", name), ("y",))], (), {"x": "float16", "y": "float16"},
    ...                                shapes=shapes)]) for name in ("k", "one", "x", "unknown")]
    [True, False, False, True]
    """
    if not any("float16" in flow.dtypes.values() for flow in flows):
        return False
    return any(
        operator in ("Max", "Min") and flow.dtypes.get(outputs[0], "float16") == "float16" and _may_widen(flow, inputs)
        for flow in flows
        for operator, inputs, outputs in flow.steps
        if outputs
    )


def hands_out_16_bits(flows: Collection[Flow]) -> bool:
    """Whether a model quantises an input to 16 bits, and hands out what this is converted back to.

    >>> steps = [("QuantizeLinear", ("x", "s", "z"), ("q",)), ("DequantizeLinear", ("q", "s", "z"), ("y",))]
    >>> [hands_out_16_bits([Flow(steps, ("s", "z"), {"q": dtype}, ("y",))]) for dtype in ("int16", "int8")]
    [True, False]
    """
    return any(_hands_out_16_bits(flow) for flow in flows if "DequantizeLinear" in flow.operators)


def _hands_out_16_bits(flow: Flow) -> bool:
    made = {name for _, _, outputs in flow.steps for name in outputs}
    whole = [step for step in flow.steps if step[1] and step[2]]  # nodes of a model that is not valid can lack them
    codes = {
        outputs[0]
        for operator, inputs, outputs in whole
        if operator == "QuantizeLinear" and inputs[0] not in made and flow.dtypes.get(outputs[0]) in ("int16", "uint16")
    }
    return any(
        operator == "DequantizeLinear" and inputs[0] in codes and outputs[0] in flow.outputs
        for operator, inputs, outputs in whole
    )


def moves_int8(flows: Collection[Flow]) -> bool:
    """Whether a model dequantises int8 with one zero point, moves the result, and does not quantise it at the end.

    >>> steps = [("DequantizeLinear", ("q", "s", "z"), ("d",)), ("Transpose", ("d",), ("t",))]
    >>> [moves_int8([Flow([*steps, (reader, ("t",), ("y",))], ("s", "z"), {"q": "int8"}, ("y",), sizes={"z": 1})])
    ...  for reader in ("Relu", "QuantizeLinear")]
    [True, False]
    """
    quantised = [flow for flow in flows if "DequantizeLinear" in flow.operators]
    # onnxruntime joins equal nodes before, and keeps some that change nothing: as the model has them, or as joined.
    return any(_moves_int8(one) for flow in quantised for one in (flow, flow.plain[0]))


def _moves_int8(flow: Flow) -> bool:
    dequantised = [
        (inputs[0], inputs[2], outputs[0])
        for operator, inputs, outputs in flow.steps
        if operator == "DequantizeLinear" and len(inputs) > 2 and outputs
    ]
    return any(
        _is_moved(flow, made)
        for value, zero, made in dequantised
        if flow.dtypes.get(value, "int8") == "int8" and value not in flow.folded
        if zero in flow.folded and flow.sizes.get(zero, 1) == 1
    )


def _is_moved(flow: Flow, name: str) -> bool:
    """Whether a reader of a value moves it, and what one node alone reads of that is not quantised at once."""
    for reader in flow.readers_of(name):
        *moved, end = _moved(flow, reader)
        if moved and (end is None or flow.steps[end][0] != "QuantizeLinear"):
            return True
    return False


def _moved(flow: Flow, index: int) -> Iterator[int | None]:
    """Yield a node, and what alone reads its result while it moves that; the last one is ``None`` for an output."""
    while True:
        yield index
        operator, _, outputs = flow.steps[index]
        readers = flow.readers_of(outputs[0]) if outputs and operator in _MOVING else ()
        if not readers and outputs and operator in _MOVING and outputs[0] in flow.outputs:
            yield None
        if len(readers) != 1 or outputs[0] in flow.outputs or readers[0] <= index:
            return
        if flow.steps[readers[0]][1].count(outputs[0]) > 1:  # as if two nodes read it
            return
        index = readers[0]


def _is_quantised(flow: Flow, output: str) -> bool:
    """Whether an output has one reader, Transpose, and what this makes of it is quantised and dequantised alone."""
    readers = flow.readers_of(output)
    if len(readers) != 1 or flow.steps[readers[0]][0] != "Transpose":
        return False
    *_, last = _moved(flow, readers[0])
    ends: tuple[int, ...] = (last,) if last is not None and flow.steps[last][0] == "QuantizeLinear" else ()
    if not ends and last is not None and flow.steps[last][0] in _MOVING:
        (name, *_) = flow.steps[last][2]
        ends = () if name in flow.outputs else tuple(flow.readers_of(name))
    made = [flow.steps[i][2][0] for i in ends if flow.steps[i][0] == "QuantizeLinear" and flow.steps[i][2]]
    return len(made) == len(ends) and any("DequantizeLinear" in flow.readers(name) for name in made)


def _may_widen(flow: Flow, names: Sequence[str]) -> bool:
    """Whether operands may have shapes that differ; those of one element do not count."""
    larger = [name for name in dict.fromkeys(names) if flow.sizes.get(name) != 1 and not _is_one(flow.shapes.get(name))]
    shapes = {flow.shapes.get(name) for name in larger}
    return len(larger) > 1 and (None in shapes or len(shapes) > 1)


def _is_one(shape: object) -> bool:
    return isinstance(shape, tuple) and all(dim == 1 for dim in shape)


def _is_open(one: object, other: object) -> bool:
    """Whether two dims may be joined to a size that is known only when the model runs."""
    return one != other and 1 not in (one, other) and not (isinstance(one, int) and isinstance(other, int))


# ---- squares ------------------------------------------------------------------------------------------------------


def _is_squared(flow: Flow, index: int) -> bool:
    """Whether a product has one value twice once a node that subtracts 0 is left out, and not before."""
    products = (inputs for operator, inputs, _ in flow.steps if operator == "Mul" and len(inputs) == 2)
    return any(
        _end(flow, a) == _end(flow, b) and _end(flow, a, index) != _end(flow, b, index) for a, b in products if a and b
    )


def _end(flow: Flow, name: str, stop: int = -1) -> str:
    """Follow a value back through operators that change nothing, or its shape alone, up to one where that ends."""
    while (made := flow.maker_of(name)) is not None and made != stop:
        operator, inputs, _ = flow.steps[made]
        before = inputs[0] if operator in SHAPES and inputs else _kept(flow, operator, inputs)
        if not before:
            break
        name = before
    return name


def _kept(flow: Flow, operator: str, inputs: Sequence[str]) -> str:
    """The operand that an operator hands on as it is, for the other one is, or may be, neutral; ``""`` for none."""
    if len(inputs) != 2:
        return ""
    for number, (kept, other) in zip(_NEUTRAL.get(operator, ()), (inputs, inputs[::-1]), strict=False):
        found = flow.elements(other)
        if other in flow.folded and (found is None or (found == number).all()):
            return kept
    return ""


# ---- products of matrices -----------------------------------------------------------------------------------------


def _is_behind_einsum(flow: Flow, names: Sequence[str]) -> bool:
    waiting, seen = list(names), set(names)
    while waiting:
        made = flow.maker_of(waiting.pop())
        operator, inputs, _ = flow.steps[made] if made is not None else ("", (), ())
        if operator == "Einsum":
            return True
        more = set(inputs) - seen if operator in (*ARITHMETIC, *SHAPES, "Neg", "Cast") else set()
        waiting += more
        seen |= more
    return False


# ---- masks --------------------------------------------------------------------------------------------------------


def _masks_attention(flow: Flow, operands: Sequence[str], result: str) -> bool:
    """Whether ``(1 - mask) * constant`` is added to what a Softmax reads; the mask has two axes more, from attributes.

    >>> steps = [("Unsqueeze", ("m",), ("u",)), ("Unsqueeze", ("u",), ("v",)), ("Sub", ("one", "v"), ("d",)),
    ...          ("Mul", ("d", "low"), ("l",)), ("Add", ("s", "l"), ("a",)), ("Softmax", ("a",), ("p",))]
    >>> flow = Flow(steps, ("one", "low"), elements={"one": np.ones(())}.get)
    >>> _masks_attention(flow, ("one", "v"), "d"), _masks_attention(flow, ("one", "u"), "d")
    (True, False)
    """
    if len(operands) != 2 or not _is_all(flow, operands[0], 1):
        return False
    name = flow.source(operands[1], ("Cast", "Identity"))
    for _ in range(2):
        if flow.maker(name, ()) != "Unsqueeze" or len(flow.operands(name, ())) != 1:
            return False
        name = flow.source(flow.operands(name, ())[0], ("Cast", "Identity"))
    found = [result]
    for operator in ("Mul", "Add"):
        found = [flow.steps[i][2][0] for one in found for i in _readers(flow, one) if flow.steps[i][0] == operator]
    return any(flow.steps[i][0] == "Softmax" for one in found for i in _readers(flow, one))


def _is_all(flow: Flow, name: str, number: int) -> bool:
    """Whether a constant has one number alone; where elements are not known, it may be."""
    found = flow.elements(name) if name in flow.folded else np.zeros(1)
    return found is None or bool((found == number).all())


def _readers(flow: Flow, name: str) -> Iterator[int]:
    """The nodes that read a value, as it is or handed on."""
    for i in flow.readers_of(name):
        operator, _, outputs = flow.steps[i]
        if operator == "Identity" and outputs:
            yield from _readers(flow, outputs[0])
        elif outputs:
            yield i


# ---- constants ----------------------------------------------------------------------------------------------------


def _elements(flow: Flow, name: str) -> Array | None:
    return flow.elements(name) if name in flow.constants else computed(flow, name)


def _squeezed(flow: Flow, name: str) -> object:
    """A shape without its first axes of size 1, which are added where ranks differ."""
    shape = flow.shapes.get(name)
    return tuple(itertools.dropwhile(lambda dim: dim == 1, shape)) if isinstance(shape, tuple) else shape


def _are_doubles(one: Array | None, other: Array | None) -> bool:
    if one is None or other is None:
        return True
    a, b = (np.asarray(each).reshape(-1).astype(np.float64) for each in (one, other))
    same = bool(((a == b) | (np.isnan(a) & np.isnan(b))).all())
    return same and bool((np.signbit(a) != np.signbit(b))[a == 0].any())
