"""The words of a DxDispatch model: enumerations by name, and tensors as JSON describes them."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Any, TypeVar

from minuend.directml.api.desc import TensorDesc
from minuend.directml.api.enums import DML_TENSOR_DATA_TYPE, DML_TENSOR_FLAGS, DML_TENSOR_TYPE, PREFIXES, c_name
from minuend.errors import ShapeError, SpecError, listed
from minuend.schema import Item

E = TypeVar("E", bound=IntEnum)
F = TypeVar("F", bound=IntFlag)

UINT32 = 2**32 - 1


def uint32(item: Item) -> int:
    return item.integer(0, UINT32)


def uint64(item: Item) -> int:
    return item.integer(0, 2**64 - 1)


def enum_of(item: Item, kind: type[E]) -> E:
    """Read a member of an enumeration: its name in C, or what differs of it; case matters, as in DxDispatch."""
    found: E | None = named(kind).get(item.string(f"a name of {kind.__name__}"))
    if found is None:
        raise item.wrong(f"{listed(kind.__members__)}, with or without {PREFIXES[kind]} before it")
    return found


def named(kind: type[IntEnum] | type[IntFlag]) -> dict[str, Any]:
    """The members of an enumeration by their names, short and in C; a flag for none too, which walking leaves out."""
    return {text: member for member in kind.__members__.values() for text in (str(member.name), c_name(member))}


def flags_of(item: Item, kind: type[F]) -> F:
    """Read flags: a name, or a list of names."""
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
    count = fields.get("DimensionCount")
    # DxDispatch would read only the first so many sizes, and strides past the end of the list.
    if count is not None and uint32(count) != len(sizes):
        message = f"DimensionCount is {count.value}; expected {len(sizes)}, as Sizes has"
        raise placed(ShapeError("ranks", message), count)
    try:
        return TensorDesc(
            enum_of(fields.need("DataType"), DML_TENSOR_DATA_TYPE),
            sizes,
            fields.read("Strides", _numbers, None) or None,
            flags=fields.read("Flags", lambda item: flags_of(item, DML_TENSOR_FLAGS), DML_TENSOR_FLAGS(0)),
            total_tensor_size_in_bytes=fields.read("TotalTensorSizeInBytes", uint64, None) or None,
            guaranteed_base_offset_alignment=fields.read("GuaranteedBaseOffsetAlignment", uint32, 0),
        )
    except SpecError as error:
        raise placed(error, fields) from None


def _numbers(item: Item) -> list[int]:
    return [uint32(entry) for entry in item.list("a list of integers")]


def placed(error: SpecError, item: Item) -> SpecError:
    """Return the same error with a place in the file; a place within it that the error names stays."""
    inner = f"{error.where} of " if error.where else ""
    return type(error)(error.rule, error.message, where=f"{inner}{item.place}")
