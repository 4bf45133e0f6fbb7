"""Forms of a model's nodes that some runtimes compute otherwise, or do not read: tests run each on all runtimes.

Where a shape is not known, a node has every form that it may have.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, numpy_helper

from minuend.core.shapes import Dim
from minuend.models import operator_forms as forms
from minuend.models.operator_forms import ALWAYS, ATTRIBUTES, FLATTENING, POOLS, RECURRENT, STORED
from minuend.onnx.documents.tensors import is_external
from minuend.onnx.graphs.nesting import all_inputs
from minuend.onnx.graphs.scope import MAIN, shape_of
from minuend.onnx.graphs.walk import Scope
from minuend.onnx.opsets.schemas import version_in
from minuend.onnx.opsets.windows import Windows

_LENGTHS, _PEEPHOLES = 4, 7  # which of a recurrent layer's inputs these are
_ACTIVATIONS = {"GRU": ("sigmoid", "tanh"), "LSTM": ("sigmoid", "tanh", "tanh"), "RNN": ("tanh",)}
"""Those of each direction where a recurrent layer states none."""

_ALONG_ONE_AXIS = 13
"""The opset from which on Softmax and its like go along one axis."""

_AXIS_AS_INPUT, _DFT_AXIS = 20, 2
"""The version from which on DFT takes the axis as an input, by default the last but one; and which input that is."""

_SCALE, _ZERO_POINT = 1, 2  # which of QuantizeLinear's inputs these are
_IOU_THRESHOLD = 3  # which of NonMaxSuppression's inputs this is
_OF_SHAPES = ("Shape", "Size")
_16_BITS = (TensorProto.INT16, TensorProto.UINT16)
_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16)
_INTEGERS = {
    getattr(TensorProto, f"{sign}INT{bits}"): np.iinfo(f"{sign}int{bits}".lower())
    for sign in ("", "U")
    for bits in (8, 16, 32, 64)
}
_NARROWED_WELL = ((TensorProto.INT64, TensorProto.INT32), (TensorProto.INT64, TensorProto.UINT32))
"""Conversions between integers that wrap on every runtime."""


def forms_of(scopes: Iterable[Scope]) -> frozenset[str]:
    """Return the forms of a model's nodes, in bodies and functions too.

    >>> from onnx.parser import parse_model
    >>> from minuend.onnx.graphs.walk import walk
    >>> text = "g (float[3,2,4] x, float[1,20,4] w, float[1,20,5] r) => (y) { y = LSTM<layout=1>(x, w, r) }"
    >>> forms_of(walk(parse_model(f'<ir_version: 8, opset_import: ["" : 14]> {text}')))
    frozenset({'LSTM with layout 1'})
    >>> text = '<ir_version: 7, opset_import: ["" : 12]> g (float[2,3,{}] a) => (c) {{ c = Softmax<axis = 1>(a) }}'
    >>> [sorted(forms_of(walk(parse_model(text.format(n))))) for n in (4, 1)]
    [['Softmax-11 over several axes'], []]
    """
    computed = _Computed()
    return frozenset(
        form
        for scope in scopes
        for node in scope.nodes
        if node.op_type in _RULES and node.domain in MAIN
        for form in _forms(_Stated(node, scope, computed))
    )


class _Computed:
    """Which values of scopes depend on the elements that a graph is given; sizes of shapes do not."""

    def __init__(self) -> None:
        self._found: dict[int, dict[str, bool]] = {}
        self._protos: list[object] = []  # kept, so that no other one has its number

    def is_computed(self, name: str, scope: Scope) -> bool:
        """Whether a value that is seen from a scope depends on what is given; one that nothing makes does not."""
        return next((found[name] for found in map(self._of, scope.around()) if name in found), False)

    def _of(self, scope: Scope) -> dict[str, bool]:
        """The values of one scope, each after those that it is made of. Of a function's inputs nothing is said."""
        found = self._found.get(id(scope.proto))
        if found is None:
            self._protos.append(scope.proto)
            found = self._found[id(scope.proto)] = dict.fromkeys(scope.inputs, isinstance(scope.proto, GraphProto))
            found |= dict.fromkeys(scope.initializers(), False)
            for node in scope.nodes:
                of_sizes = node.op_type in _OF_SHAPES
                depends = not of_sizes and any(self.is_computed(one, scope) for one in all_inputs(node) if one)
                found |= dict.fromkeys(node.output, depends)
        return found


@dataclass(frozen=True, eq=False)
class _Stated:
    """A node where it stands."""

    node: NodeProto
    scope: Scope
    computed: _Computed

    @functools.cached_property
    def version(self) -> int | None:
        return version_in(self.node.op_type, self.scope.opset or 0)

    def has(self, index: int) -> bool:
        """Whether the node has an input there."""
        return len(self.node.input) > index and bool(self.node.input[index])

    def attribute(self, name: str) -> AttributeProto | None:
        return next((one for one in self.node.attribute if one.name == name), None)

    def number(self, name: str, default: int) -> int:
        one = self.attribute(name)
        return one.i if one is not None and one.type == AttributeProto.INT else default

    def real(self, name: str, default: float) -> float:
        one = self.attribute(name)
        return one.f if one is not None and one.type == AttributeProto.FLOAT else default

    def text(self, name: str, default: str) -> str:
        one = self.attribute(name)
        return one.s.decode("utf-8", "replace") if one is not None and one.type == AttributeProto.STRING else default

    def numbers(self, name: str, count: int, default: int) -> list[int]:
        """The integers of an attribute; the default, as often as there have to be, where there are not so many."""
        one = self.attribute(name)
        return list(one.ints) if one is not None and len(one.ints) == count else [default] * count

    def shape(self, index: int) -> Sequence[Dim] | None:
        """The shape of an input, as far as it is known."""
        return shape_of(self.scope.protos.get(self.node.input[index])) if self.has(index) else None

    def is_computed(self, index: int) -> bool:
        """Whether the elements of an input depend on those that a graph is given."""
        return self.has(index) and self.computed.is_computed(self.node.input[index], self.scope)

    def dtype(self, index: int) -> int:
        """The element type of an input, as ONNX numbers them; 0 where it is not known."""
        proto = self.scope.protos.get(self.node.input[index]) if self.has(index) else None
        return proto.tensor_type.elem_type if proto is not None else TensorProto.UNDEFINED

    def constant(self, index: int) -> np.ndarray | None:
        """The elements of an input that is stored in the graph, or in one around it; ``None`` where there is none."""
        name = self.node.input[index] if self.has(index) else ""
        for scope in self.scope.around() if name else ():
            if name in scope.inputs:  # a caller may give another one
                return None
            stored = scope.proto.initializer if isinstance(scope.proto, GraphProto) else ()
            made = (one for node in scope.nodes if name in node.output for one in node.attribute if one.name == "value")
            tensors = itertools.chain((one for one in stored if one.name == name), (one.t for one in made))
            if (found := next(tensors, None)) is not None:
                return _array(found)
        return None


_READ = (
    TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.INT16, TensorProto.UINT16, TensorProto.INT8,
    TensorProto.UINT8,
)  # fmt: skip
"""Element types of what is stored to say how an operator works: indices, sizes, scales, zero points."""


def _array(tensor: TensorProto) -> np.ndarray | None:
    if is_external(tensor) or tensor.data_type not in _READ:
        return None
    try:
        return numpy_helper.to_array(tensor)
    except ValueError:  # less data than the shape says, which the checker refuses
        return None


def _forms(stated: _Stated) -> Iterator[str]:
    operator = stated.node.op_type
    if operator in ALWAYS:
        yield operator
    yield from _RULES[operator](stated)
    for index, name in STORED.get(operator, {}).items():
        if stated.is_computed(index):
            yield forms.computed(operator, name)
    values = {(one.name, _value(one)) for one in stated.node.attribute}
    for name, value in ATTRIBUTES.get(operator, frozenset()) & values:
        if _matters(stated, name):
            yield f"{operator} with {name} {value}"


def _value(attribute: AttributeProto) -> int | str:
    return attribute.i if attribute.type == AttributeProto.INT else attribute.s.decode("utf-8", "replace")


def _matters(stated: _Stated, name: str) -> bool:
    """Whether an attribute changes anything, as far as is known."""
    if name == "antialias":  # only what becomes smaller is smoothed
        scales = stated.constant(2)
        return scales is None or not bool((scales >= 1).all())
    if name == "auto_pad" and stated.node.op_type != "ConvTranspose":
        return any(one.may_pad_unevenly for one in _windows(stated))
    return True


# ---- windows --------------------------------------------------------------------------------------------------------


def _windows(stated: _Stated) -> Iterator[Windows]:
    """The windows of a pooling or a convolution along each axis that they move along."""
    shape = stated.shape(0)
    kernel = stated.attribute("kernel_shape")
    filters = stated.shape(1) if stated.node.op_type not in POOLS else None
    sizes: Sequence[Dim] = list(kernel.ints) if kernel is not None else () if filters is None else filters[2:]
    count = len(sizes)
    strides, dilations = stated.numbers("strides", count, 1), stated.numbers("dilations", count, 1)
    pads = stated.numbers("pads", 2 * count, 0)
    for i, size in enumerate(sizes):
        n = shape[i + 2] if shape is not None and len(shape) == count + 2 else None
        if isinstance(size, int) and min(size, strides[i], dilations[i]) > 0:
            reach = (size - 1) * dilations[i] + 1
            yield Windows(i + 2, strides[i], reach, pads[i], pads[count + i], n if isinstance(n, int) else None)


def _pool(stated: _Stated) -> Iterator[str]:
    operator = stated.node.op_type
    if any(dilation != 1 for dilation in getattr(stated.attribute("dilations"), "ints", ())):
        yield forms.with_dilations(operator)
    if stated.number("ceil_mode", 0) != 1 or stated.text("auto_pad", "NOTSET") not in ("NOTSET", ""):
        return
    windows = list(_windows(stated))
    if any(one.may_start_in_padding for one in windows):
        yield forms.in_padding(operator)
    if stated.number("count_include_pad", 0) == 1 and any(one.may_end_behind_padding for one in windows):
        yield forms.COUNTED


def _transposed_convolution(stated: _Stated) -> Iterator[str]:
    if stated.attribute("output_shape") is not None:
        yield forms.OUTPUT_SHAPE


# ---- sizes ----------------------------------------------------------------------------------------------------------


def _resize(stated: _Stated) -> Iterator[str]:
    operator, mode = f"{stated.node.op_type}-{stated.version}", stated.text("mode", "nearest")
    scales = stated.constant(1 if operator in forms.SCALED else 2)
    whole = scales is not None and bool((scales == np.floor(scales)).all())
    if operator in forms.SCALED:
        if mode == "linear" or (mode == "nearest" and not whole):
            yield forms.scaled(operator, mode)
        return
    axes = list(getattr(stated.attribute("axes"), "ints", ()))
    if any(one < 0 for one in axes) and any(one >= 0 for one in axes):
        rank = stated.shape(0)
        axes = [one % len(rank) for one in axes] if rank else []
    if axes != sorted(axes):
        yield forms.DESCENDING
    if not whole and stated.has(2) and _is_rounded(scales, stated.shape(0), axes):
        if stated.text("coordinate_transformation_mode", "half_pixel") == "align_corners":
            yield forms.ROUNDED_CORNERS
        elif mode == "linear":
            yield forms.ROUNDED_LINEAR


def _is_rounded(scales: np.ndarray | None, shape: Sequence[Dim] | None, axes: Sequence[int]) -> bool:
    """Whether scales make sizes that are no whole numbers, or may."""
    if scales is None or shape is None:
        return True
    dims = [shape[axis] for axis in axes if -len(shape) <= axis < len(shape)] if axes else shape
    return any(
        scale != 1 and (not isinstance(dim, int) or float(dim * scale) != int(dim * scale))
        for scale, dim in zip(scales.ravel(), dims, strict=False)
    )


# ---- other operators ------------------------------------------------------------------------------------------------


def _attention(stated: _Stated) -> Iterator[str]:
    if max(stated.number("left_window_size", -1), stated.number("right_window_size", -1)) >= 0:
        yield forms.WINDOW


def _recurrent(stated: _Stated) -> Iterator[str]:
    operator = stated.node.op_type
    if stated.attribute("clip") is not None:
        yield forms.recurrent(operator, "clip")
    activations = getattr(stated.attribute("activations"), "strings", ())
    names = [one.decode("utf-8", "replace").lower() for one in activations]
    own = _ACTIVATIONS[operator]
    if any(one != own[i % len(own)] for i, one in enumerate(names)):
        usual = {*names} <= {"relu", "sigmoid", "tanh"}
        yield forms.recurrent(operator, "activations Relu" if usual else "other activations")
    if stated.has(_LENGTHS):
        yield forms.recurrent(operator, "sequence_lens")
    if operator == "GRU" and _is_read(stated, 0):
        yield forms.EVERY_STEP
    if operator == "LSTM" and stated.has(_PEEPHOLES):
        yield forms.PEEPHOLES


def _is_read(stated: _Stated, index: int) -> bool:
    """Whether a node or an output of the graph reads a result."""
    name = stated.node.output[index] if len(stated.node.output) > index else ""
    read = (one for node in stated.scope.nodes for one in all_inputs(node))
    return bool(name) and (name in stated.scope.outputs or name in read)


def _local_normalisation(stated: _Stated) -> Iterator[str]:
    if stated.number("size", 1) % 2 == 0:
        yield forms.EVEN


def _gather_elements(stated: _Stated) -> Iterator[str]:
    if _has_negative(stated, 1):
        yield forms.NEGATIVE
    shape, own = stated.shape(0), stated.shape(1)
    if shape is None or own is None or len(shape) != len(own):
        return
    axis = stated.number("axis", 0) % max(len(shape), 1)
    if any(one != other for i, (one, other) in enumerate(zip(shape, own, strict=True)) if i != axis):
        yield forms.OTHER_SHAPE


def _gather_nd(stated: _Stated) -> Iterator[str]:
    if _has_negative(stated, 1):
        yield forms.NEGATIVE_ND


def _pad(stated: _Stated) -> Iterator[str]:
    if _has_negative(stated, 1) or min(getattr(stated.attribute("pads"), "ints", ()), default=0) < 0:
        yield forms.NEGATIVE_PADS


def _has_negative(stated: _Stated, index: int) -> bool:
    """Whether a stored input has a number below 0; of one that is not stored nothing is said."""
    numbers = stated.constant(index)
    return numbers is not None and bool((numbers < 0).any())


def _quantise(stated: _Stated) -> Iterator[str]:
    """By the standard ``x / y_scale`` is rounded, then the zero point added. Added first, an odd one moves each tie."""
    zero = stated.constant(_ZERO_POINT)
    if zero is not None and bool((zero % 2 != 0).any()) and not stated.is_computed(_SCALE):
        yield forms.ODD
    if stated.dtype(_ZERO_POINT) in _16_BITS or stated.number("output_dtype", TensorProto.UNDEFINED) in _16_BITS:
        yield forms.TO_16_BITS


def _top_k(stated: _Stated) -> Iterator[str]:
    if _is_read(stated, 1):
        yield forms.TIED


def _fourier(stated: _Stated) -> Iterator[str]:
    shape = stated.shape(0)
    if (stated.version or 0) >= _AXIS_AS_INPUT and not stated.has(_DFT_AXIS) and (shape is None or len(shape) != 3):
        yield forms.DEFAULT_AXIS


def _layer_normalisation(stated: _Stated) -> Iterator[str]:
    shape = stated.shape(0)
    parameters = [one for one in map(stated.shape, (1, 2)) if one is not None]
    if shape is not None and any(tuple(one) != tuple(shape[stated.number("axis", -1) :]) for one in parameters):
        yield forms.BROADCAST


def _suppression(stated: _Stated) -> Iterator[str]:
    if not stated.has(_IOU_THRESHOLD):
        yield forms.NO_THRESHOLD


def _roi_align(stated: _Stated) -> Iterator[str]:
    if stated.number("sampling_ratio", 0) == 0:
        yield forms.SAMPLED
    if stated.version == 10:  # half a pixel was not subtracted then
        yield forms.OLD_ALIGNED


def _tile(stated: _Stated) -> Iterator[str]:
    shape = stated.shape(0)
    if stated.constant(1) is None and (shape is None or len(shape) >= 4):
        yield forms.TILED


def _celu(stated: _Stated) -> Iterator[str]:
    if stated.real("alpha", 1) != 1:
        yield forms.ALPHA


def _power(stated: _Stated) -> Iterator[str]:
    powers, (base, power) = stated.constant(1), (stated.dtype(0), stated.dtype(1))
    if powers is None or powers.size != 1:
        yield forms.POWERS
    if base and power and base != power:
        yield forms.OTHER_POWERS
    elif base in _INTEGERS:
        yield forms.WHOLE_POWERS


def _cast(stated: _Stated) -> Iterator[str]:
    to, of = stated.number("to", TensorProto.UNDEFINED), stated.dtype(0)
    if of in _FLOATS and to == TensorProto.UINT8:
        yield forms.TO_BYTES
    if of in _INTEGERS and to in _INTEGERS and of != to:
        whole, part = _INTEGERS[of], _INTEGERS[to]
        if (whole.min < part.min or whole.max > part.max) and (of, to) not in _NARROWED_WELL:
            yield forms.TO_NARROW


def _one_hot(stated: _Stated) -> Iterator[str]:
    shape, axis = stated.shape(0), stated.number("axis", -1)
    if axis != -1 and (shape is None or axis != len(shape)):
        yield forms.OTHER_AXIS


def _along_axes(stated: _Stated) -> Iterator[str]:
    """Softmax and its like, below opset 13; of unknown shapes nothing is said."""
    operator, shape = stated.node.op_type, stated.shape(0)
    if (stated.scope.opset or 0) >= _ALONG_ONE_AXIS or shape is None or stated.version is None:
        return
    first = stated.number("axis", 1)
    if all(dim == 1 for dim in shape[first % max(len(shape), 1) + 1 :]):
        return
    yield forms.flattened(operator, stated.version)
    if stated.attribute("axis") is None:
        yield forms.by_default(operator)


def _attributes_alone(_: _Stated) -> Iterator[str]:
    yield from ()


_Rule = Callable[[_Stated], Iterator[str]]
_RULES: Mapping[str, _Rule] = MappingProxyType({
    **dict.fromkeys((*ALWAYS, *ATTRIBUTES, *STORED), _attributes_alone),
    **dict.fromkeys(FLATTENING, _along_axes),
    **dict.fromkeys(POOLS, _pool),
    **dict.fromkeys(RECURRENT, _recurrent),
    **dict.fromkeys(("Resize", "Upsample"), _resize),
    "Attention": _attention,
    "Cast": _cast,
    "Celu": _celu,
    "ConvTranspose": _transposed_convolution,
    "DFT": _fourier,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "LRN": _local_normalisation,
    "LayerNormalization": _layer_normalisation,
    "NonMaxSuppression": _suppression,
    "OneHot": _one_hot,
    "Pad": _pad,
    "Pow": _power,
    "QuantizeLinear": _quantise,
    "RoiAlign": _roi_align,
    "Tile": _tile,
    "TopK": _top_k,
})  # fmt: skip
"""Operator → the forms of its nodes, but for those of attributes alone."""
