"""``TensorProto`` inside a model: every data type of ONNX, every rule checked before an element is read.

    data_type, dims, and the elements in one of: raw_data (little-endian), the typed field of the data type, or a file

``onnx`` parses the message but lets much pass: data that is too long, ``int32_data`` out of range, dims below 0. A
type of fewer than 8 bits is packed, the first element lowest: several to a byte, or four of 6 bits to three bytes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from google.protobuf.unknown_fields import UnknownFieldSet  # type: ignore[import-untyped,unused-ignore]
from onnx import AttributeProto, NodeProto, SparseTensorProto, TensorProto, TypeProto, helper, numpy_helper

from minuend.core.elements import TYPES, ElementType
from minuend.errors import FileFormatError, SpecError
from minuend.onnx.versions import SPELLINGS

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

Inputs: TypeAlias = Sequence[Any]
"""The values of a node's inputs: arrays, lists (sequences) and dicts (maps); ``None`` for one that is left out."""

Attributes: TypeAlias = Mapping[str, Any]
"""What a node states, by name, as Python values."""

TYPED_FIELDS = ("float_data", "double_data", "int32_data", "int64_data", "uint64_data", "string_data")
_ELEMENTS = {spellings[-1]: TYPES[name] for name, spellings in SPELLINGS.items()}
_DATA_LOCATION = TensorProto.DESCRIPTOR.fields_by_name["data_location"].number
_MOST, _WIDEST = (1 << 63) - 1, 16
"""What 64 bits count, and the bytes of a type's largest element."""
MOST_DIMS = 64
"""What NumPy takes."""


@dataclass(frozen=True, slots=True)
class DataType:
    """One ``TensorProto.DataType``.

    Attributes:
        number, word: its number and name. field: the typed field that may hold it. bits: of one element in a file; 0
            for strings.
        dtype: the NumPy dtype of its elements in memory. element: its row, where subtraction knows the type.
    """

    number: int
    word: str
    field: str
    bits: int
    dtype: np.dtype[Any]
    element: ElementType | None

    @property
    def packed(self) -> bool:
        """Whether several elements share a byte."""
        return 0 < self.bits < 8

    @property
    def name(self) -> str | None:
        """What ranges and flows call it: this package's name, or ``"bool"``; ``None`` for text and complex numbers."""
        return "bool" if self.word == "BOOL" else self.element.name if self.element else None

    def nbytes(self, elements: int) -> int:
        """Bytes of so many elements in a file."""
        return -(-elements * self.bits // 8)

    def entries(self, elements: int) -> int:
        """Entries of the typed field for so many elements; those of 6 bits have one each, others share bytes."""
        if self.packed and self.bits != 6:
            return self.nbytes(elements)
        return elements * (2 if self.dtype.kind == "c" else 1)


@functools.cache
def data_type(number: int) -> DataType | None:
    """Return a data type by its number, or ``None`` where ONNX (as installed) has none."""
    words = {value: word for word, value in TensorProto.DataType.items()}
    if number == TensorProto.UNDEFINED or number not in words:
        return None
    word = words[number]
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(number))
    element = _ELEMENTS.get(word)
    bits = 0 if word == "STRING" else 6 if word.startswith("FLOAT6") else dtype.itemsize * 8
    field = helper.tensor_dtype_to_field(number)
    return DataType(number, word, field, element.bits if element else bits, dtype, element)


def element_kind(type_: TypeProto | None) -> DataType | None:
    """Return the data type of a tensor's elements; ``None`` where it is not known, or the value is no tensor."""
    return None if type_ is None else data_type(type_.tensor_type.elem_type)


def number(name: str) -> int:
    """Return ONNX's number of an element type.

    >>> number("uint8")
    2
    """
    found: int = TensorProto.DataType.Value(SPELLINGS[name][-1])
    return found


def values_of(attributes: Iterable[AttributeProto]) -> dict[str, Any]:
    """Return attributes as Python values, by name."""
    return {one.name: helper.get_attribute_value(one) for one in attributes}


CONSTANTS = {"value_float": "float32", "value_floats": "float32", "value_int": "int64", "value_ints": "int64"}
"""The attributes of Constant that are numbers, not a tensor, and of which type."""


def constant(node: NodeProto) -> TensorProto | None:
    """Return the tensor that a Constant node states; ``None`` where it states no dense one of numbers."""
    if len(node.attribute) != 1:
        return None
    (stated,) = node.attribute
    found: TensorProto | None = stated.t if stated.name == "value" else None
    if stated.name in CONSTANTS:
        found = numpy_helper.from_array(np.array(helper.get_attribute_value(stated), CONSTANTS[stated.name]))
    return found


def is_external(tensor: TensorProto) -> bool:
    """Whether the elements are in another file."""
    return bool(tensor.data_location == TensorProto.EXTERNAL)


def elements(dims: Sequence[int], where: str) -> int:
    """Return the number of elements of some dims, in exact integers.

    Raises:
        FileFormatError: a dim below 0, more dims than NumPy's arrays have, or more elements than any tensor can have.
    """
    shape = tuple(dims)
    if len(shape) > MOST_DIMS:
        raise FileFormatError(f"{where} has {len(shape)} dims; arrays have {MOST_DIMS} at most")
    if any(dim < 0 for dim in shape):
        raise FileFormatError(f"{where} has the dims {shape}; expected sizes of 0 and above")
    most = math.prod(max(dim, 1) for dim in shape)  # NumPy's limits hold for empty arrays too
    if most * _WIDEST > _MOST:
        what = "product overflows" if most > _MOST else "bytes overflow"
        raise FileFormatError(f"{where} has the dims {shape}, whose {what} 64 bits")
    return math.prod(shape)


def check(tensor: TensorProto, where: str) -> DataType:
    """Check a tensor by every rule that needs no other file, and return its data type.

    Raises:
        FileFormatError: an unknown data type, bad dims, no data or more than one kind of it, a wrong length, or an
            entry that its data type cannot hold.
    """
    kind = data_type(tensor.data_type)
    if kind is None:
        came = "no data_type" if tensor.data_type == TensorProto.UNDEFINED else f"the data_type {tensor.data_type}"
        raise FileFormatError(f"{where} has {came}; expected a TensorProto.DataType that the package onnx knows")
    count = elements(tensor.dims, where)
    if tensor.HasField("segment"):
        raise FileFormatError(f"{where} is one segment of a tensor; expected a whole one")
    if not is_external(tensor):
        check_data(tensor, kind, count, where)
    elif stated := _stated(tensor, where):
        raise FileFormatError(f"{where} has external data and {stated[0]}; expected one of them")
    elif kind.bits == 0:
        raise FileFormatError(f"{where} has external data for STRING; expected string_data")
    return kind


def _stated(tensor: TensorProto, where: str) -> list[str]:
    """The fields that hold elements."""
    if any(field.field_number == _DATA_LOCATION for field in UnknownFieldSet(tensor)):
        raise FileFormatError(f"{where} has an unknown data_location; expected DEFAULT or EXTERNAL")
    raw = ["raw_data"] if tensor.HasField("raw_data") else []
    return raw + [name for name in TYPED_FIELDS if len(getattr(tensor, name))]


def check_data(tensor: TensorProto, kind: DataType, count: int, where: str, unit: str = "entries") -> None:
    """Check the elements that a tensor holds itself: in one field, the right one, as many as its dims say.

    Args:
        tensor: the tensor. kind: its data type. count: how many elements its dims make. where: its place.
        unit: what the message calls what a typed field holds.

    Raises:
        FileFormatError: there is none or more than one kind of data, a wrong length, or an entry that its data type
            cannot hold.
    """
    stated = _stated(tensor, where)
    if len(stated) > 1:
        raise FileFormatError(f"{where} has both {stated[0]} and {stated[1]}; expected one of them")
    _check_length(tensor, kind, stated[0] if stated else kind.field, count, where, unit)


def _check_length(tensor: TensorProto, kind: DataType, field: str, count: int, where: str, unit: str) -> None:
    shape = tuple(tensor.dims)
    if field == "raw_data":
        if kind.bits == 0:
            raise FileFormatError(f"{where} has raw_data for STRING; expected string_data")
        came, wanted, what = len(tensor.raw_data), kind.nbytes(count), "bytes of raw_data"
    elif field != kind.field:
        raise FileFormatError(f"{where} has {field} for {kind.word}; expected {kind.field} or raw_data")
    else:
        came, wanted, what = len(getattr(tensor, field)), kind.entries(count), f"{unit} in {field}"
    if came != wanted:
        raise FileFormatError(f"{where} has {came} {what}; expected {wanted} ({kind.word} of dims {shape})")
    if field in ("int32_data", "uint64_data") and came:
        _check_range(getattr(tensor, field), kind, field, where)


def _check_range(entries: Sequence[int], kind: DataType, field: str, where: str) -> None:
    """Check that no entry is cut off: ONNX's own reader takes uint8 300 for 44."""
    shared = kind.packed and kind.bits != 6
    low, high = 0, (1 << (8 if shared else kind.bits)) - 1
    what = " of packed elements" if shared else ", as a bit pattern"
    if kind.dtype.kind in "iub" and not kind.packed:
        low, high = kind.element.limits if kind.element else (0, 1)
        what = ""
    values: Array = np.array(entries, np.uint64 if field == "uint64_data" else np.int32)
    bad = np.flatnonzero((values < low) | (values > high))
    if bad.size:
        at = int(bad[0])
        raise FileFormatError(
            f"{where} has {values[at]} at {field}[{at}]; expected {low} to {high} ({kind.word}{what})"
        )


def to_array(tensor: TensorProto) -> Array:
    """Return the elements of a checked tensor that holds them itself, in native byte order; read-only."""
    array = np.asarray(numpy_helper.to_array(tensor))
    array.flags.writeable = False
    return array


def dense(sparse: SparseTensorProto, where: str, read: Callable[[TensorProto], Array] = to_array) -> Array:
    """Return a sparse tensor with its zeros.

    Args:
        sparse: the tensor. where: its place. read: returns the elements of its checked values and indices.

    Raises:
        FileFormatError: a tensor that breaks a rule. SpecError: indices that do not fit the shape.
    """
    for tensor in (sparse.values, sparse.indices):
        check(tensor, where)
    values, at = read(sparse.values), read(sparse.indices)
    shape = tuple(sparse.dims)
    count = elements(shape, where)
    wrong = f"the sparse tensor's indices do not fit its shape {shape}"
    if values.ndim != 1 or at.shape not in ((len(values),), (len(values), len(shape))):
        raise SpecError("values", f"{wrong}: indices of {at.shape} for values of {values.shape}", where=where)
    try:
        places = at if at.ndim == 1 else np.ravel_multi_index(tuple(at.T), shape)
    except ValueError as error:
        raise SpecError("values", f"{wrong}: {error}", where=where) from None
    if places.size and not 0 <= places.min() <= places.max() < count:
        raise SpecError("values", f"{wrong}: {places.min()} to {places.max()} of {count} elements", where=where)
    if np.unique(places).size < places.size:
        raise SpecError("values", "the sparse tensor states an element twice", where=where)
    found = np.zeros(shape, values.dtype)
    found.reshape(-1)[places] = values
    return found
