"""One tensor's description: what a ``DML_BUFFER_TENSOR_DESC`` says, checked when it is made."""

from __future__ import annotations

import ctypes
import functools
import operator
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from minuend.core import elements
from minuend.core.elements import ElementType
from minuend.directml.api.enums import (
    DML_TENSOR_DATA_TYPE,
    DML_TENSOR_DIMENSION_COUNT_MAX1,
    DML_TENSOR_FLAGS,
    DML_TENSOR_TYPE,
)
from minuend.directml.api.structs import DML_BUFFER_TENSOR_DESC, DML_TENSOR_DESC
from minuend.directml.dxdispatch.views import packed
from minuend.directml.versions import MAX_ELEMENTS, SPELLINGS, check_count, check_size
from minuend.errors import DTypeError, ShapeError, SpecError, listed, shown
from minuend.standards import spelling


@dataclass(frozen=True, init=False)
class TensorDesc:
    """A tensor in a buffer, as DirectML describes one.

    Args:
        data_type: an element type in any spelling (``"FLOAT32"``, ``"float32"``, a NumPy dtype) or the C enumeration's
            value. sizes: 1 to 8 sizes, outermost first, none of them 0.
        strides: one per size, in elements; 0 repeats along a dim. ``None`` is packed row-major order.
        flags: ``DML_TENSOR_FLAGS``; ``OWNED_BY_DML`` is for inputs.
        total_tensor_size_in_bytes: bytes that the tensor takes in its buffer, at least and by default what
            :func:`calc_buffer_tensor_size` gives.
        guaranteed_base_offset_alignment: 0, or a power of two not below the element's size.

    Attributes:
        data_type, sizes, strides, flags, total_tensor_size_in_bytes, guaranteed_base_offset_alignment: the same, as
            DirectML's enumerations, tuples of ints and ints.

    Raises:
        DTypeError: not an element type of DirectML. ShapeError: sizes or strides that no tensor has. SpecError: any
            other field. The message names the field.

    >>> TensorDesc("FLOAT16", (2, 3), (0, 1)).total_tensor_size_in_bytes
    8
    """

    data_type: DML_TENSOR_DATA_TYPE
    sizes: tuple[int, ...]
    strides: tuple[int, ...] | None
    flags: DML_TENSOR_FLAGS
    total_tensor_size_in_bytes: int
    guaranteed_base_offset_alignment: int

    def __init__(
        self,
        data_type: object,
        sizes: Iterable[int],
        strides: Iterable[int] | None = None,
        *,
        flags: int = 0,
        total_tensor_size_in_bytes: int | None = None,
        guaranteed_base_offset_alignment: int = 0,
    ) -> None:
        kind, dims = _data_type(data_type), _sizes(sizes)
        steps = _strides(strides, dims)
        total = _total(total_tensor_size_in_bytes, kind, dims, steps)
        values = (kind, dims, steps, _flags(flags), total, _alignment(guaranteed_base_offset_alignment, kind))
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    @property
    def element(self) -> ElementType:
        return _element(self.data_type)

    @property
    def element_strides(self) -> tuple[int, ...]:
        """Strides in elements, packed ones written out; 0 along dims of size 1, where a stride has no say."""
        strides = packed(self.sizes) if self.strides is None else self.strides
        return tuple(0 if n == 1 else stride for n, stride in zip(self.sizes, strides, strict=True))

    @property
    def extent(self) -> int:
        """Elements from the first one's address to the last one's, both counted."""
        return _extent(self.sizes, self.element_strides)

    @functools.cached_property
    def key(self) -> tuple[object, ...]:
        """The fields as built-in values, which are hashed and compared faster than enumerations."""
        total, alignment = self.total_tensor_size_in_bytes, self.guaranteed_base_offset_alignment
        return int(self.data_type), self.sizes, self.strides, int(self.flags), total, alignment

    def to_ctypes(self) -> DML_TENSOR_DESC:
        """Return the C structure; its ``keepalive`` holds what it points to.

        >>> TensorDesc("INT8", (2, 3)).to_ctypes().Type
        1
        """
        numbers = ctypes.c_uint32 * len(self.sizes)
        sizes, strides = numbers(*self.sizes), None if self.strides is None else numbers(*self.strides)
        buffer = DML_BUFFER_TENSOR_DESC(
            self.data_type,
            self.flags,
            len(self.sizes),
            sizes,
            strides,
            self.total_tensor_size_in_bytes,
            self.guaranteed_base_offset_alignment,
        )
        desc = DML_TENSOR_DESC(DML_TENSOR_TYPE.BUFFER, ctypes.addressof(buffer))
        desc.keepalive = (buffer, sizes, strides)
        return desc

    @classmethod
    def from_ctypes(cls, desc: DML_TENSOR_DESC) -> TensorDesc:
        """Read a C structure; what it points to has to be alive.

        Raises:
            SpecError: the type is not BUFFER, a pointer that is needed is null, or whatever making one raises.
        """
        if desc.Type != DML_TENSOR_TYPE.BUFFER:
            raise SpecError("tensor type", f"Type is {desc.Type}; expected {DML_TENSOR_TYPE.BUFFER.value} (BUFFER)")
        if not desc.Desc:
            raise SpecError("tensor type", "Desc is null; expected a DML_BUFFER_TENSOR_DESC")
        buffer = DML_BUFFER_TENSOR_DESC.from_address(desc.Desc)
        rank = _rank(buffer.DimensionCount)
        if not buffer.Sizes:
            raise ShapeError("sizes", f"Sizes is null; expected {rank} sizes")
        return cls(
            int(buffer.DataType),
            buffer.Sizes[:rank],
            buffer.Strides[:rank] if buffer.Strides else None,
            flags=buffer.Flags,
            total_tensor_size_in_bytes=buffer.TotalTensorSizeInBytes,
            guaranteed_base_offset_alignment=buffer.GuaranteedBaseOffsetAlignment,
        )


def calc_buffer_tensor_size(data_type: object, sizes: Iterable[int], strides: Iterable[int] | None = None) -> int:
    """Return the least bytes that a tensor takes in a buffer: up to its last element, rounded up to a multiple of 4.

    Args:
        data_type: an element type in any spelling. sizes: 1 to 8 sizes. strides: one per size, in elements; ``None``
            is packed.

    Returns:
        Bytes, in exact integers (the C helper's index wraps at 32 bits). Types of 4 bits are packed two to a byte.

    Raises:
        DTypeError, ShapeError: as :class:`TensorDesc`.

    >>> calc_buffer_tensor_size("FLOAT32", (2, 3)), calc_buffer_tensor_size("UINT8", (2, 3), (4, 1))
    (24, 8)
    """
    dims = _sizes(sizes)
    return _least(_data_type(data_type), dims, _strides(strides, dims))


def _least(kind: DML_TENSOR_DATA_TYPE, sizes: tuple[int, ...], strides: tuple[int, ...] | None) -> int:
    extent = _extent(sizes, packed(sizes) if strides is None else strides)
    return (extent * _element(kind).bits + 31) // 32 * 4


def _extent(sizes: tuple[int, ...], strides: tuple[int, ...]) -> int:
    return 1 + sum((n - 1) * stride for n, stride in zip(sizes, strides, strict=True))


def _element(kind: DML_TENSOR_DATA_TYPE) -> ElementType:
    return elements.TYPES[kind.name.lower()]


# ---- the rules of one description -----------------------------------------------------------------------------


def _data_type(value: object) -> DML_TENSOR_DATA_TYPE:
    # 1. DataType is one of the enumeration's, and not UNKNOWN.
    wanted = f"expected {listed(spelling for spelling, _ in SPELLINGS.values())}"
    if isinstance(value, int) and not isinstance(value, bool):
        if value not in list(DML_TENSOR_DATA_TYPE):
            raise DTypeError("types", f"DataType is {shown(int(value))}, which stands for no element type; {wanted}")
        kind = DML_TENSOR_DATA_TYPE(value)
        if kind is DML_TENSOR_DATA_TYPE.UNKNOWN:
            raise DTypeError("types", f"DataType: {spelling.refusal(kind.name)}; {wanted}")
        return kind
    try:
        row = spelling.find(value)
    except DTypeError:
        name = value if isinstance(value, str) else str(getattr(value, "name", repr(value)))
        raise DTypeError("types", f"DataType: {spelling.refusal(name)}; {wanted}") from None
    if row.name not in SPELLINGS:
        raise DTypeError("types", f"DataType: DirectML has no element type {row}; {wanted}")
    return DML_TENSOR_DATA_TYPE[SPELLINGS[row.name][0]]


def _integer(value: Any, name: str) -> int:
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number.bit_length() > 64:
        wanted = "an integer" if number is None else "an integer of at most 64 bits"
        raise SpecError("integers", f"{name} is {shown(value)}; expected {wanted}")
    return number


def _integers(values: object, name: str) -> tuple[int, ...]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ShapeError("integers", f"{name} is {shown(values)}; expected a sequence of integers")
    return tuple(_integer(value, f"{name}[{i}]") for i, value in enumerate(values))


def _rank(rank: int) -> int:
    # 2. DimensionCount is 1 to 8; an operator at some level may take less.
    if not 1 <= rank <= DML_TENSOR_DIMENSION_COUNT_MAX1:
        raise ShapeError(
            "ranks", f"DimensionCount is {rank}; expected 1 to {DML_TENSOR_DIMENSION_COUNT_MAX1} (a scalar is (1,))"
        )
    return rank


def _sizes(sizes: Iterable[int]) -> tuple[int, ...]:
    dims = _integers(sizes, "Sizes")
    _rank(len(dims))
    # 3. Every size is at least 1 and fits 32 bits.
    for i, size in enumerate(dims):
        check_size(size, f"Sizes[{i}]")
    # 4. There are at most 2**32 - 1 elements.
    check_count(dims, f"a tensor of Sizes {dims}")
    return dims


def _strides(strides: Iterable[int] | None, sizes: tuple[int, ...]) -> tuple[int, ...] | None:
    if strides is None:
        return None
    steps = _integers(strides, "Strides")
    # 5. There is one stride per size.
    if len(steps) != len(sizes):
        raise ShapeError("strides", f"Strides has {len(steps)} entries and Sizes {len(sizes)}; expected one each")
    # 6. A stride is in elements and fits 32 unsigned bits: there are no negative ones.
    for i, step in enumerate(steps):
        if not 0 <= step <= MAX_ELEMENTS:
            raise ShapeError("strides", f"Strides[{i}] is {step}; expected 0 to {MAX_ELEMENTS} elements")
    return steps


def _flags(flags: int) -> DML_TENSOR_FLAGS:
    # 7. Flags holds no bit but OWNED_BY_DML.
    bits = _integer(flags, "Flags")
    if bits not in (0, *DML_TENSOR_FLAGS):
        owned = DML_TENSOR_FLAGS.OWNED_BY_DML
        raise SpecError("flags", f"Flags is {bits}; expected 0 or {owned.value} ({owned.name})")
    return DML_TENSOR_FLAGS(bits)


def _total(
    total: int | None, kind: DML_TENSOR_DATA_TYPE, sizes: tuple[int, ...], strides: tuple[int, ...] | None
) -> int:
    least = _least(kind, sizes, strides)
    size = least if total is None else _integer(total, "TotalTensorSizeInBytes")
    # 8. TotalTensorSizeInBytes reaches to the last element, rounded up to a multiple of 4; it may be larger.
    came = f"TotalTensorSizeInBytes is {size}"
    if size < least:
        raise SpecError("total size", f"{came}; expected at least {least}, what these Sizes and Strides reach to")
    # 9. It holds at most 2**32 - 1 elements. What only the rounding up adds does not count.
    bits = _element(kind).bits
    reached = _extent(sizes, packed(sizes) if strides is None else strides) if size == least else size * 8 // bits
    if reached > MAX_ELEMENTS:
        wanted = f"expected at most {MAX_ELEMENTS} elements"
        raise SpecError("total size", f"{came}, which is {reached} elements of {kind.name}; {wanted}")
    return size


def _alignment(alignment: int, kind: DML_TENSOR_DATA_TYPE) -> int:
    value = _integer(alignment, "GuaranteedBaseOffsetAlignment")
    least = _element(kind).itemsize
    # 10. GuaranteedBaseOffsetAlignment is 0 (nothing is promised) or a power of two, not below the element's size.
    if value and not (least <= value <= MAX_ELEMENTS and value & (value - 1) == 0):
        wanted = f"expected 0 or a power of two from {least} (the size of {kind.name}) to 2147483648"
        raise SpecError("alignment", f"GuaranteedBaseOffsetAlignment is {value}; {wanted}")
    return value
