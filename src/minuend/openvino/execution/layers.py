"""The layers that this package runs: a row each, with how its result is inferred and how it is computed.

Reading, running, ``fix`` and conversion read this table; a layer that is not in it stays as its file has it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

import numpy as np

from minuend.arrays.functions import compute as subtract_arrays
from minuend.core.elements import ElementType, of_numpy
from minuend.core.shapes import MAX_RANK, Broadcast, Dim, Shape, bounds, format_shape, from_bounds, may_be, static
from minuend.errors import DTypeError, ShapeError, SpecError, Unsupported, cut, listed, shown
from minuend.files.stored_elements import Contiguous, InMemory
from minuend.files.streaming.reading import Array, ByteRange
from minuend.files.streaming.reading import blocks as read_blocks
from minuend.openvino.execution.casts import convert
from minuend.openvino.ir import notation
from minuend.openvino.ir.layer_types import NAMES, OTHERS, SAME
from minuend.openvino.ir.notation import NUMERIC
from minuend.openvino.ir.sections import Layer, Type
from minuend.openvino.tensor import NARROW, Tensor
from minuend.openvino.versions import DIALECT, OPSETS, REFUSED, SPELLINGS, SUBTRACT_1
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import check_attributes, validate

T = TypeVar("T")

Known: TypeAlias = Callable[[int], Array | None]
"""Gives the elements of an input where they are constant."""

_MOST, _WIDEST = (1 << 63) - 1, 8
"""What 64 bits count, and the bytes of a type's largest element."""

Infer: TypeAlias = "Callable[[Layer, Sequence[Type], Known], Type]"
Compute: TypeAlias = "Callable[[Layer, Sequence[Array], Sequence[Type], tuple[int, ...]], Array]"


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of layer.

    Attributes:
        name: as files spell it. inputs: how many it takes, least and most. outputs: how many it has.
        opsets: those that hold it, in the meaning that this package gives it.
        infer: gives the type of its result from the types of its inputs, and from those that are constant.
        compute: gives its result from its inputs' elements (in memory, codes for nf4), their types and its own shape.
        foreign: what a layer states that makes it another operator than the one this package has, or ``""``.
    """

    name: str
    inputs: tuple[int, int]
    infer: Infer
    compute: Compute
    opsets: range = OPSETS
    outputs: int = 1
    foreign: Callable[[Layer], str] = lambda layer: ""


# ---- attributes -----------------------------------------------------------------------------------------------

AXIS = "auto_broadcast.auto_broadcast_axis"
"""The XML name of pdpd's axis."""

AXIS_AS_READ = 0
"""What a file without an axis means, as the runtime reads it; the standard's text says -1."""

_IGNORED_AXES = ("auto_broadcast_axis", "axis")


def rule(layer: Layer) -> str:
    """Return the broadcasting rule that a layer states: ``none``, ``numpy`` or ``pdpd``."""
    stated = layer.data.get("auto_broadcast", "numpy").lower()
    return "none" if stated == "explicit" else stated


def broadcasting(layer: Layer) -> dict[str, object]:
    """Return ``auto_broadcast`` and ``axis`` as a layer states them, by the names of this package.

    Raises:
        SpecError: a rule that does not exist, or an axis that is no whole number.
    """
    stated: dict[str, object] = {}
    if "auto_broadcast" in layer.data:
        stated["auto_broadcast"] = rule(layer)
        known = SUBTRACT_1.attributes["auto_broadcast"].values
        if stated["auto_broadcast"] not in known:
            came = shown(layer.data["auto_broadcast"])
            raise SpecError("attributes", f"attribute 'auto_broadcast' is {came}; expected {listed(known)}")
    if AXIS in layer.data:
        stated["axis"] = _read(layer, AXIS, notation.attribute)
    elif rule(layer) == "pdpd":
        stated["axis"] = AXIS_AS_READ
    check_attributes(SUBTRACT_1, stated)
    return stated


def notes(layer: Layer) -> list[str]:
    """Return what a reader should know of a layer that broadcasts, a sentence each."""
    found = []
    if rule(layer) == "pdpd" and AXIS not in layer.data:
        found.append(
            f"{layer.where} ({layer.type}) broadcasts by pdpd and states no {AXIS}; the runtime reads that as "
            f"{AXIS_AS_READ}, the standard's text says -1; this package reads {AXIS_AS_READ} and writes it"
        )
    found += [
        f"{layer.where} ({layer.type}) states {name!r}, which the runtime does not read; the axis is written {AXIS}"
        for name in _IGNORED_AXES
        if name in layer.data
    ]
    return found


def _flag(layer: Layer, name: str) -> bool:
    text = layer.data.get(name, "false").lower()
    if text not in ("true", "false", "1", "0"):
        raise SpecError("attributes", f"attribute {name!r} is {shown(text)}; expected true or false")
    return text in ("true", "1")


_FLOAT = re.compile(r"\s*(?:[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|-?inf)\s*", re.ASCII)
"""A number as the runtime reads one; Python's ``float`` takes ``1_0`` and other scripts' digits too."""


def _number(text: str) -> float:
    if _FLOAT.fullmatch(text) is None:
        raise ValueError(f"is {shown(text)}; expected a number")
    if math.isinf(number := float(text)) and "inf" not in text:
        raise ValueError(f"is {shown(text)}; expected a number that a float64 holds, inf or -inf")
    return number


def _read(layer: Layer, name: str, reader: Callable[[str], T], default: str | None = None) -> T:
    text = layer.data.get(name, default)
    if text is None:
        raise SpecError("attributes", f"attribute {name!r} is missing in <data>")
    try:
        return reader(text)
    except ValueError as error:
        raise SpecError("attributes", f"attribute {name!r} {error}") from None


def element_type(layer: Layer, name: str = "element_type", default: str | None = None) -> str:
    return _read(layer, name, notation.element_type, default)


def axis(layer: Layer) -> int:
    """Return the axis of a TopK, which is 0 where the layer states none, as the runtime reads it.

    Raises:
        SpecError: it is no whole number.
    """
    return _read(layer, "axis", notation.attribute, "0")


def levels(layer: Layer) -> int:
    """Return the levels of a FakeQuantize; 0 where the layer states none, which the runtime refuses.

    Raises:
        SpecError: they are no whole number.
    """
    return _read(layer, "levels", notation.attribute, "0")


def parameter_shape(layer: Layer) -> Shape:
    """Return the shape that a Parameter states; without one it is a scalar."""
    return _read(layer, "shape", notation.shape, "")


def constant_shape(layer: Layer) -> tuple[int, ...]:
    return _read(layer, "shape", notation.static_shape)


# ---- subtraction ----------------------------------------------------------------------------------------------


def tensor_type(type_: Type) -> TensorType:
    """Return a type as the waist has it.

    Raises:
        DTypeError: an element type that Subtract, or this package, does not take.
    """
    if type_.element not in NUMERIC:
        reason = REFUSED[type_.element]
        raise DTypeError("types", f"element type {type_.element!r}: {reason}")
    return TensorType(NUMERIC[type_.element], type_.shape)


def node(layer: Layer, types: Sequence[Type]) -> Node:
    """Return a layer of an operator as the waist has it: types as inferred, attributes as stated.

    Where one type is not known yet it is another's, as the runtime infers.
    """
    known = next((one.element for one in types if one.element != "dynamic"), "dynamic")
    operands = tuple(tensor_type(Type(known, own.shape) if own.element == "dynamic" else own) for own in types)
    stated = broadcasting(layer) if len(operands) > 1 else {}
    op = DIALECT.resolve(None, layer.type)
    return Node(op=op, operands=operands, attributes=stated, name=layer.name, where=layer.where)


def _infer_subtract(layer: Layer, types: Sequence[Type], known: Known) -> Type:
    if all(type_.element == "dynamic" for type_ in types):
        return Type("dynamic", _joined(layer, types).shape)
    found = node(layer, types)
    try:
        return Type(SPELLINGS[found.a.dtype][0], validate(found).shape)
    except ShapeError as error:
        if rule(layer) != "pdpd" or AXIS in layer.data:
            raise
        hint = f"the layer states no {AXIS}, which the runtime reads as {AXIS_AS_READ}"
        raise ShapeError(error.rule, f"{error.message}; {hint}", where=error.where) from None


def _subtract(layer: Layer, arrays: Sequence[Array], types: Sequence[Type], shape: tuple[int, ...]) -> Array:
    found = node(layer, types)
    return subtract_arrays(found.op.computes, found.a.element, validate(found), arrays[0], arrays[1], None)


# ---- other binary layers --------------------------------------------------------------------------------------


def _joined(layer: Layer, types: Sequence[Type]) -> Broadcast:
    return DIALECT.broadcast(SUBTRACT_1, types[0].shape, types[1].shape, broadcasting(layer))


def _binary(allowed: Collection[str], wanted: str) -> Infer:
    """The inference of a layer that takes two operands of one of some types, and gives that type."""

    def infer(layer: Layer, types: Sequence[Type], known: Known) -> Type:
        elements = [type_.element for type_ in types if type_.element != "dynamic"]
        if len(set(elements)) > 1:
            came = f"they are {listed(elements, 'and')}; convert one of them first"
            raise DTypeError("types", f"{layer.type} takes two operands of one element type; {came}")
        if elements and elements[0] not in allowed:
            raise DTypeError("types", f"{layer.type} takes no element type {elements[0]!r}; expected {wanted}")
        return Type(elements[0] if elements else "dynamic", _joined(layer, types).shape)

    return infer


def _elementwise(function: Callable[[Array, Array], object]) -> Compute:
    def compute(layer: Layer, arrays: Sequence[Array], types: Sequence[Type], shape: tuple[int, ...]) -> Array:
        joined, rank = _joined(layer, types), len(shape)
        a, b = (
            array.reshape((1,) * start + array.shape + (1,) * (rank - start - array.ndim))
            for array, start in zip(arrays, (joined.a_start, joined.b_start), strict=True)
        )
        if not (_native_number(types[0].element) or types[0].element == "boolean"):
            what = f"{layer.type} of {types[0].element}"
            raise Unsupported(f"this package has no {what}; convert to a wider type around it")
        if layer.type != "BitwiseAnd" and b.dtype.kind in "iu" and 0 not in shape and (b == 0).any():
            raise SpecError("values", f"{layer.type} divides by 0, which integers cannot")
        with np.errstate(all="ignore"):
            return np.asarray(function(a, b))

    return compute


_ODD = ("u3", "u6")
_INTEGERS = tuple(name for name, row in NUMERIC.items() if row.is_integer)
_INDICES = tuple(name for name in _INTEGERS if NUMERIC[name].bits >= 4)
"""What axes and sizes may be of: OpenVINO reads no numbers of 1 and 2 bits."""
_NUMBERS = (*NUMERIC, *_ODD)


def _native_number(name: str) -> bool:
    return name in NUMERIC and NUMERIC[name].kernel != "table" and name != "bf16"


# ---- one operand ----------------------------------------------------------------------------------------------


def _convert(layer: Layer, arrays: Sequence[Array], types: Sequence[Type], shape: tuple[int, ...]) -> Array:
    source, target = types[0].element, element_type(layer, "destination_type")
    for name in (source, target):
        if name not in (*NUMERIC, "boolean"):
            raise Unsupported(f"this package does not convert from {source} to {target}")
    return convert(arrays[0], source, target)


def _infer_clamp(layer: Layer, types: Sequence[Type], known: Known) -> Type:
    low, high = (_read(layer, name, _number) for name in ("min", "max"))
    if low > high:
        raise SpecError("attributes", f"attribute 'min' is {low} and 'max' is {high}; expected min <= max")
    if types[0].element not in ("dynamic", *_NUMBERS):
        raise DTypeError("types", f"Clamp takes no element type {types[0].element!r}; expected a number")
    return types[0]


def _clamp(layer: Layer, arrays: Sequence[Array], types: Sequence[Type], shape: tuple[int, ...]) -> Array:
    (array,), name = arrays, types[0].element
    low, high = (_read(layer, bound, _number) for bound in ("min", "max"))
    if not _native_number(name) and name != "bf16":
        raise Unsupported(f"this package has no Clamp of {name}; convert to a wider type around it")
    lo, hi = low, high
    if NUMERIC[name].is_integer:
        # The standard rounds the bounds inwards; beyond the type's own limits they do not bind.
        least, most = NUMERIC[name].limits
        lo = min(max(least, math.ceil(low) if math.isfinite(low) else least if low < 0 else most), most)
        hi = max(min(most, math.floor(high) if math.isfinite(high) else most if high > 0 else least), least)
    bottom, top = (np.asarray(bound).astype(array.dtype) for bound in (lo, hi))
    result = np.where(array < bottom, bottom, np.where(array > top, top, array))
    return result.astype(array.dtype)


# ---- shapes ---------------------------------------------------------------------------------------------------


def _shaped(
    what: str,
    shape_of: Callable[[Layer, list[int], Shape], Shape],
    unknown: Callable[[Layer, Shape, int | None], Shape],
    least: int = 0,
) -> Infer:
    """The inference of a layer whose second input says what becomes of the first one's shape.

    Args:
        what: what that input holds. shape_of: gives the shape where its numbers are known.
        unknown: gives it where no more than their count is known, or not even that.
        least: the rank that the second input has, if not 1.
    """

    def infer(layer: Layer, types: Sequence[Type], known: Known) -> Type:
        element, shape = types[0].element, types[0].shape
        if len(types) == 1:
            return Type(element, shape_of(layer, [], shape))
        _check_indices(layer, types[1], what, least)
        found = known(1)
        if found is None:
            return Type(element, unknown(layer, shape, _length(types[1])))
        return Type(element, shape_of(layer, [int(n) for n in found.ravel()], shape))

    return infer


def _reshape(layer: Layer, arrays: Sequence[Array], types: Sequence[Type], shape: tuple[int, ...]) -> Array:
    return arrays[0].reshape(shape)


def _of_rank(layer: Layer, shape: Shape, rank: int | None) -> Shape:
    return None if rank is None else (None,) * rank


def _check_indices(layer: Layer, type_: Type, what: str, least: int) -> None:
    given = f"{what} of {layer.type} (input 1)"
    if type_.element not in ("dynamic", *_INDICES):
        raise DTypeError("types", f"{given} is of {type_.element}; expected integers of 4 bits or more")
    if type_.shape is not None and not least <= len(type_.shape) <= 1:
        raise ShapeError("shape", f"{given} has shape {format_shape(type_.shape)}; expected rank 1")
    if (_length(type_) or 0) > MAX_RANK:
        raise ShapeError("shape", f"{given} holds {_length(type_)} numbers; expected {MAX_RANK} at most")


def _length(type_: Type) -> int | None:
    """How many numbers an input of rank 1 (or 0) holds, where it is known."""
    if type_.shape is None:
        return None
    return 1 if not type_.shape else type_.shape[0] if isinstance(type_.shape[0], int) else None


def _reshaped(layer: Layer, pattern: list[int], shape: Shape) -> Shape:
    special_zero = _flag(layer, "special_zero")
    what = f"Reshape to {pattern}"
    if pattern.count(-1) > 1 or any(n < -1 for n in pattern):
        raise ShapeError("shape", f"{what}: expected sizes, and -1 at most once for what is left")
    dims: list[Dim] = list(pattern)
    # Dims that are copied stand on both sides; the others have to hold the same elements.
    copied = [axis for axis, n in enumerate(pattern) if n == 0 and special_zero]
    for axis in copied:
        if shape is not None and axis >= len(shape):
            raise ShapeError("shape", f"{what}: the 0 at {axis} copies a dim that {format_shape(shape)} has not")
        dims[axis] = None if shape is None else shape[axis]
    if shape is None:
        return tuple(None if dim == -1 else dim for dim in dims)
    own = [dim for axis, dim in enumerate(shape) if axis not in copied]
    rest = math.prod(n for axis, n in enumerate(pattern) if axis not in copied and n != -1)
    if -1 in pattern:
        dims[pattern.index(-1)] = _quotient(own, rest)
    if all(isinstance(dim, int) for dim in own):
        left = static([dim for dim, n in zip(dims, pattern, strict=True) if n == -1])
        if (total := math.prod(static(own))) != rest * math.prod(left):
            raise ShapeError("shape", f"{what}: {format_shape(shape)} has {total} elements, which do not fill it")
    return tuple(dims)


def _quotient(own: list[Dim], rest: int) -> Dim:
    """What -1 stands for: the elements of some dims by the product of the stated ones."""
    factor = math.prod(dim for dim in own if isinstance(dim, int))
    unknown = [dim for dim in own if not isinstance(dim, int)]
    if rest == 0:
        return 1
    if not unknown or factor == 0:
        return factor // rest
    if len(unknown) > 1:
        return None
    low, high = bounds(unknown[0])
    return from_bounds(-(-low * factor // rest), None if high is None else max(0, high * factor // rest))


def _axes(layer: Layer, axes: list[int], rank: int) -> list[int]:
    found = [axis + rank if axis < 0 else axis for axis in axes]
    for axis, stated in zip(found, axes, strict=True):
        if not 0 <= axis < rank:
            raise ShapeError("axes", f"axis {stated} of {layer.type} is out of range: expected {-rank} to {rank - 1}")
    return sorted(set(found))


def _unsqueezed(layer: Layer, axes: list[int], shape: Shape) -> Shape:
    if shape is None:
        return None
    new = _axes(layer, axes, len(shape) + len(axes)) if len(set(axes)) == len(axes) else []
    if len(new) != len(axes):
        raise ShapeError("axes", f"axes {axes} of {layer.type} repeat")
    rest = list(shape)
    for axis in new:
        rest.insert(axis, 1)
    return tuple(rest)


def _squeezed(layer: Layer, axes: list[int], shape: Shape) -> Shape:
    """The shape without the 1s at the axes; without axes, without every 1."""
    if shape is None:
        return None
    if not axes:
        if not all(isinstance(dim, int) for dim in shape):
            return None
        return tuple(dim for dim in shape if dim != 1)
    # The runtime keeps a dim that cannot be 1, with and without allow_axis_skip.
    gone = [axis for axis in _axes(layer, axes, len(shape)) if may_be(shape[axis], 1)]
    return tuple(dim for axis, dim in enumerate(shape) if axis not in gone)


_MODES = ("numpy", "explicit", "none", "pdpd", "bidirectional")
"""Of Broadcast; the last one came with opset3."""


def _mode(layer: Layer) -> str:
    mode = layer.data.get("mode", "numpy").lower()
    known = _MODES[:-1] if layer.opset in ("opset1", "opset2") else _MODES
    if mode not in known:
        raise SpecError("attributes", f"attribute 'mode' is {shown(layer.data['mode'])}; expected {listed(known)}")
    return mode


def _of_target(layer: Layer, shape: Shape, rank: int | None) -> Shape:
    target = _of_rank(layer, shape, rank)
    return DIALECT.broadcast(SUBTRACT_1, shape, target, {}).shape if _mode(layer) == "bidirectional" else target


def _other_mode(layer: Layer) -> str:
    return "" if _mode(layer) in ("numpy", "bidirectional") else f"of mode {shown(_mode(layer))}"


def _spread(layer: Layer, target: list[int], shape: Shape) -> Shape:
    if any(n < 0 for n in target):
        raise ShapeError("shape", f"Broadcast to {target}: a size cannot be negative")
    if _mode(layer) == "bidirectional":
        return DIALECT.broadcast(SUBTRACT_1, shape, tuple(target), {}).shape
    ends = zip(shape[::-1], target[::-1], strict=False) if shape is not None else ()
    clash = any(isinstance(dim, int) and dim not in (1, n) for dim, n in ends)  # others the runtime does not check
    if clash or (shape is not None and len(shape) > len(target)):
        what = f"Broadcast of {format_shape(shape)} to {target}"
        raise ShapeError("shape", f"{what}: aligned at the right, each dim must be 1 or the target's")
    return tuple(target)


# ---- constants ------------------------------------------------------------------------------------------------


def elements(layer: Layer) -> Array:
    """Return a Const's elements, read-only.

    Raises:
        FileFormatError: the ``.bin`` is not the one that the ``.xml`` was written with, or it became shorter.
        Unsupported: an element type that this package does not compute.
    """
    name, shape = element_type(layer), constant_shape(layer)
    check_array(shape)
    if name == "boolean":
        content = layer.stored()
        return np.asarray(content[: math.prod(shape)].reshape(shape) != 0)
    if name not in NUMERIC:
        raise Unsupported(f"this package does not compute with constants of {name}")
    row, content = NUMERIC[name], layer.stored()[: notation.nbytes(name, math.prod(shape))]
    if row in NARROW:
        return Tensor.unpack(row, shape, content.data).codes.view(row.memory)
    return content.view(in_files(row)).reshape(shape).astype(row.memory, copy=False)


def in_files(row: ElementType) -> np.dtype[Any]:
    """The type of elements in a file, which are little-endian; NumPy has no such bfloat16."""
    return row.memory if row.name == "bfloat16" else row.memory.newbyteorder("<")


def stored_elements(layer: Layer) -> Contiguous | InMemory:
    """Return a Const's elements, read where they lie if they lie as memory has them; see :func:`elements`."""
    name, content = element_type(layer), layer.content
    if name not in NUMERIC or NUMERIC[name] in NARROW or not isinstance(content, ByteRange) or layer.is_missing:
        return InMemory(elements(layer))
    shape = constant_shape(layer)
    check_array(shape)
    return Contiguous(content.source, content.offset, in_files(NUMERIC[name]), shape)


def blocks(layer: Layer) -> tuple[np.dtype[Any], Iterable[Array]]:
    """Return the type of a Const's elements in memory, and the elements, a few megabytes at a time."""
    stored = stored_elements(layer)
    if isinstance(stored, InMemory):
        return stored.dtype, [stored.array]
    found = read_blocks(stored.source, stored.offset, stored.nbytes)
    return NUMERIC[element_type(layer)].memory, (block.view(stored.dtype) for block in found)


def check_array(shape: Sequence[Dim]) -> None:
    """Check that NumPy can hold an array of a shape; its limits hold for empty ones too."""
    if len(shape) > MAX_RANK:
        raise Unsupported(f"a tensor of rank {len(shape)} is beyond NumPy's limit of {MAX_RANK}")
    sizes = [dim or 1 for dim in shape if isinstance(dim, int)]
    if 0 in shape and math.prod(sizes) * _WIDEST > _MOST:
        text = format_shape(tuple(shape))
        raise Unsupported(f"a tensor of shape {text} is empty, and beyond NumPy's limit all the same")


# ---- the table ------------------------------------------------------------------------------------------------

_LATER = range(OPSETS.start, OPSETS.stop + 1)

_KINDS = (
    Kind("Parameter", (0, 0), lambda layer, *_: Type(element_type(layer, default="dynamic"), parameter_shape(layer)),
         lambda layer, arrays, *_: arrays[0], opsets=_LATER),
    Kind("Const", (0, 0), lambda layer, *_: Type(element_type(layer), constant_shape(layer)),
         lambda layer, *_: elements(layer)),
    Kind("Result", (1, 1), lambda layer, types, known: types[0], lambda layer, arrays, *_: arrays[0], outputs=0),
    Kind("Subtract", (2, 2), _infer_subtract, _subtract),
    Kind("Convert", (1, 1), lambda layer, types, _: Type(element_type(layer, "destination_type"), types[0].shape),
         _convert),
    Kind("Reshape", (2, 2), _shaped("the new shape", _reshaped, _of_rank), _reshape),
    Kind("Unsqueeze", (2, 2), _shaped("the axes", _unsqueezed,
         lambda _, shape, count: None if shape is None or count is None else (None,) * (len(shape) + count)), _reshape),
    Kind("Squeeze", (1, 2), _shaped("the axes", _squeezed, lambda *_: None), _reshape,
         foreign=lambda layer: "with allow_axis_skip" if _flag(layer, "allow_axis_skip") else ""),
    Kind("Broadcast", (2, 2), _shaped("the new shape", _spread, _of_target, least=1),
         lambda layer, arrays, types, shape: np.broadcast_to(arrays[0], shape), foreign=_other_mode),
    Kind("Clamp", (1, 1), _infer_clamp, _clamp),
    Kind("Mod", (2, 2), _binary(_NUMBERS, "a number"), _elementwise(np.fmod)),
    Kind("FloorMod", (2, 2), _binary(_NUMBERS, "a number"), _elementwise(np.mod)),
    Kind("BitwiseAnd", (2, 2), _binary(("boolean", *_ODD, *_INTEGERS), "an integer or boolean"),
         _elementwise(np.bitwise_and), opsets=range(13, OPSETS.stop)),
)  # fmt: skip

KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""Every type of layer that runs, by name."""

BROADCASTING: tuple[str, ...] = ("Subtract", "Mod", "FloorMod", "BitwiseAnd")
"""Types of layers that read ``auto_broadcast``."""

_BY_LOWER = {name.lower(): name for name in (*OTHERS, *SAME, *NAMES, *KINDS)}


def kind_of(layer: Layer) -> Kind | None:
    """Return the row of a layer; ``None`` for a layer that this package keeps as it is."""
    kind = KINDS.get(layer.type)
    return None if kind is None or kind.foreign(layer) else kind


def lacking(layer: Layer) -> str:
    """Say what a layer without a row is."""
    kind = KINDS.get(layer.type)
    return cut(layer.type) if kind is None else f"{layer.type} {kind.foreign(layer)}"


def canonical(name: str) -> str:
    """Return a type of layer as this package names it: the runtime does not mind the case."""
    return _BY_LOWER.get(name.lower(), name)


MISNAMED: Mapping[str, str] = MappingProxyType(
    {"sub": "Subtract", "constant": "Const", "cast": "Convert", "expand": "Broadcast"}
)
"""Names that people write and no opset has (in lower case) → the right one."""


def name_of(dtype: np.dtype[Any]) -> str | None:
    """Return OpenVINO's name of a NumPy dtype; ``None`` where it has none."""
    if dtype == np.bool_:
        return "boolean"
    row = of_numpy(dtype)
    return None if row is None or row.name not in SPELLINGS else SPELLINGS[row.name][0]
