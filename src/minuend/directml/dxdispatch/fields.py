"""The words of a DxDispatch model: enumerations by name, and tensors as JSON describes them."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Any, TypeVar

from minuend.directml.api.desc import TensorDesc
from minuend.directml.api.enums import DML_TENSOR_DATA_TYPE, DML_TENSOR_FLAGS, DML_TENSOR_TYPE, PREFIXES, c_name
from minuend.directml.dxdispatch.json_reader import Item
from minuend.errors import ShapeError, SpecError, listed

E = TypeVar("E", bound=IntEnum)
F = TypeVar("F", bound=IntFlag)

UINT32, UINT64 = 2**32 - 1, 2**64 - 1


def enum_of(item: Item, kind: type[E]) -> E:
    """Read a member of an enumeration: its name in C, or what differs of it; case matters, as in DxDispatch."""
    found: E | None = named(kind).get(item.string(f"a name of {kind.__name__}"))
    if found is None:
        raise item.wrong(f"{listed(kind.__members__)}, with or without {PREFIXES[kind]} before it")
    return found


def integer_of(item: Item, key: str, highest: int = UINT64) -> int:
    """Read an integer from 0 on; 0 where the field is missing."""
    found = item.get(key)
    return 0 if found is None else found.integer(0, highest)


def named(kind: type[IntEnum] | type[IntFlag]) -> dict[str, Any]:
    """The members of an enumeration by their names, short and in C; a flag for none too, which walking leaves out."""
    return {text: member for member in kind.__members__.values() for text in (str(member.name), c_name(member))}


def flags_of(item: Item | None, kind: type[F]) -> F:
    """Read flags: a name, or a list of names; none where the field is missing."""
    if item is None:
        return kind(0)
    known, bits = named(kind), 0
    for one in item.list() if isinstance(item.value, list) else [item]:
        text = one.string(f"a name of {kind.__name__}, or a list of them")
        if text not in known:
            raise one.wrong(f"{listed(kind.__members__)}, with or without {PREFIXES[kind]} before it")
        bits |= known[text]
    return kind(bits)


def tensor_desc(item: Item) -> TensorDesc:
    """Read a tensor: its fields, or its ``Type`` and the fields under ``Desc``; errors have their place."""
    item.object("a tensor: an object with DataType and Sizes")
    kind = item.get("Type")
    if kind is not None and enum_of(kind, DML_TENSOR_TYPE) is not DML_TENSOR_TYPE.BUFFER:
        raise kind.wrong(f"{DML_TENSOR_TYPE.BUFFER.name}, the one type of tensor there is")
    fields = item.get("Desc") or item
    sizes = _numbers(fields.need("Sizes"))
    strides = fields.get("Strides")
    count = fields.get("DimensionCount")
    # DxDispatch would read only the first so many sizes, and strides past the end of the list.
    if count is not None and count.integer(0, UINT32) != len(sizes):
        message = f"DimensionCount is {count.value}; expected {len(sizes)}, as Sizes has"
        raise placed(ShapeError("ranks", message), count)
    try:
        return TensorDesc(
            enum_of(fields.need("DataType"), DML_TENSOR_DATA_TYPE),
            sizes,
            (None if strides is None else _numbers(strides)) or None,
            flags=flags_of(fields.get("Flags"), DML_TENSOR_FLAGS),
            total_tensor_size_in_bytes=integer_of(fields, "TotalTensorSizeInBytes") or None,
            guaranteed_base_offset_alignment=integer_of(fields, "GuaranteedBaseOffsetAlignment", UINT32),
        )
    except SpecError as error:
        raise placed(error, fields) from None


def _numbers(item: Item) -> list[int]:
    return [entry.integer(0, UINT32) for entry in item.list("a list of integers")]


def placed(error: SpecError, item: Item) -> SpecError:
    """Return the same error with a place in the file; a place within it that the error names stays."""
    inner = f"{error.where} of " if error.where else ""
    return type(error)(error.rule, error.message, where=f"{inner}{item.place}")
