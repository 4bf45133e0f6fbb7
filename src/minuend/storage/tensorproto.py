"""ONNX's ``TensorProto`` in a ``.pb`` file: one tensor, as the backend test folders hold them.

    data_type, dims, name, and the elements: raw_data (little-endian bytes), or the typed field of the element type

``float_data`` holds float32, ``double_data`` float64, ``int64_data`` int64, ``uint64_data`` uint32 and uint64;
``int32_data`` the narrower integers as values, float16, bfloat16 and the 8-bit floats as bit patterns. The ``onnx``
package parses the message but lets much pass, so every rule is checked here. A message ends at 2 GiB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minuend.core.elements import TYPES, ElementType
from minuend.core.shapes import size
from minuend.errors import DTypeError, FileFormatError, Unsupported, listed
from minuend.onnx.versions import SPELLINGS
from minuend.storage import reading
from minuend.storage.base import Elements, Result, Tensor, TensorFile, array_at, check_shape, need
from minuend.storage.reading import Array, Memory

NAMED = False
_TYPED_FIELDS = ("float_data", "double_data", "int32_data", "int64_data", "uint64_data", "string_data")
_OWN_FIELD = {
    "float32": "float_data",
    "float64": "double_data",
    "int64": "int64_data",
    "uint32": "uint64_data",
    "uint64": "uint64_data",
}  # every other type: int32_data
_RAW_DATA_TAG = b"\x4a"  # field 9, wire type 2 (bytes)
_MOST_BYTES = (1 << 31) - 1
WORDS = {name: words[-1] for name, words in SPELLINGS.items() if TYPES[name].bits >= 8}
"""The ``TensorProto.DataType`` of each element type that takes whole bytes."""
_ELEMENTS = {word: TYPES[name] for name, word in WORDS.items()}


def open_file(path: str) -> TensorFile:
    """Parse and check the message; the tensor's name is the message's."""
    onnx = need("onnx", "onnx", path)
    protobuf = need("google.protobuf.message", "onnx", path)
    source = reading.open_file(path)
    if source.size > _MOST_BYTES:
        raise FileFormatError(f"{path} has {source.size} bytes; a protobuf message has {_MOST_BYTES} at most")
    try:
        proto = onnx.TensorProto.FromString(source.read(0, source.size).tobytes())
    except protobuf.DecodeError:
        raise FileFormatError(f"{path} is no protobuf message, or a truncated one; expected a TensorProto") from None
    element = _element(onnx, proto, path)
    shape = _shape(proto, path)
    check_shape(shape, element.itemsize, path)
    array = np.ascontiguousarray(_elements(proto, element, shape, path))
    elements = Elements(Memory(array.reshape(-1).view(np.uint8)), 0, element.memory, shape)
    tensor = Tensor(proto.name, element, shape, lambda: elements)
    return TensorFile(path, NAMED, {proto.name: lambda: tensor})


def _element(onnx: Any, proto: Any, path: str) -> ElementType:
    """Return the element type that the message states."""
    words = {number: word for word, number in onnx.TensorProto.DataType.items()}
    word = words.get(proto.data_type)
    if word in _ELEMENTS:
        return _ELEMENTS[word]
    if word is None or proto.data_type == 0:
        came = "no data_type" if word else f"the data_type {proto.data_type}"
        raise FileFormatError(f"{path} states {came}; expected a TensorProto of {listed(_ELEMENTS)}")
    raise DTypeError("types", path, f"element type {word!r}; expected {listed(_ELEMENTS)}")


def _shape(proto: Any, path: str) -> tuple[int, ...]:
    shape = tuple(proto.dims)
    if any(dim < 0 for dim in shape):
        raise FileFormatError(f"{path} states the dims {shape}; expected sizes of 0 and above")
    return shape


def _elements(proto: Any, element: ElementType, shape: tuple[int, ...], path: str) -> Array:
    """Return the elements of whichever field holds them."""
    if proto.external_data or proto.data_location:
        raise Unsupported(f"{path} keeps its elements in another file (external data); expected them inside the .pb")
    if proto.HasField("segment"):
        raise Unsupported(f"{path} is one segment of a tensor; expected a whole one")
    stated = [name for name in _TYPED_FIELDS if len(getattr(proto, name))]
    if proto.HasField("raw_data"):
        if stated:
            raise FileFormatError(f"{path} has both raw_data and {stated[0]}; expected one of them")
        return _raw(np.frombuffer(proto.raw_data, np.uint8), element, shape, path)
    own = _OWN_FIELD.get(element.name, "int32_data")
    if wrong := [name for name in stated if name != own]:
        raise FileFormatError(f"{path} has {wrong[0]} for {WORDS[element.name]}; expected {own} or raw_data")
    return _typed(list(getattr(proto, own)), own, element, shape, path)


def _raw(raw: Array, element: ElementType, shape: tuple[int, ...], path: str) -> Array:
    wanted = size(shape) * element.itemsize
    if raw.size != wanted:
        raise FileFormatError(
            f"{path} has {raw.size} bytes of raw_data; expected {wanted} ({WORDS[element.name]} of dims {shape})"
        )
    return array_at(raw, 0, element.memory, shape)


def _typed(values: list[Any], field: str, element: ElementType, shape: tuple[int, ...], path: str) -> Array:
    if len(values) != size(shape):
        raise FileFormatError(
            f"{path} has {len(values)} elements in {field}; "
            f"expected {size(shape)} ({WORDS[element.name]} of dims {shape})"
        )
    if field in ("float_data", "double_data"):
        return np.array(values, element.memory).reshape(shape)
    low, high = element.limits if element.is_integer else (0, (1 << element.bits) - 1)
    for at, value in enumerate(values):
        if not low <= value <= high:
            what = "" if element.is_integer else ", as a bit pattern"
            raise FileFormatError(
                f"{path} has {value} at {field}[{at}]; expected {low} to {high} ({WORDS[element.name]}{what})"
            )
    codes = element.memory if element.is_integer else np.dtype(f"u{element.itemsize}")
    return np.array(values, codes).view(element.memory).reshape(shape)


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse types that take no whole byte, tensors beyond what a message holds, and a missing package."""
    need("onnx", "onnx", path)
    for result in results:
        if result.element.name not in WORDS:
            raise DTypeError(
                "types", path, f"a .pb takes no {result.element} from this package; expected {listed(WORDS)}"
            )
        if result.nbytes + 1024 + len(result.name.encode()) > _MOST_BYTES:
            raise FileFormatError(
                f"{path}: {result.nbytes} bytes of elements are more than a protobuf message holds ({_MOST_BYTES}); "
                "write .safetensors or .npy"
            )


def write(stream: Any, results: Sequence[Result]) -> None:
    """Write the message with ``raw_data`` at its end, so that the elements can follow block by block."""
    (result,) = results
    import onnx

    number = onnx.TensorProto.DataType.Value(WORDS[result.element.name])
    head = onnx.TensorProto(dims=result.shape, data_type=number, name=result.name)
    stream.write(head.SerializeToString() + _RAW_DATA_TAG + _varint(result.nbytes))
    result.write(stream)


def _varint(number: int) -> bytes:
    """Write a number as protobuf does: 7 bits a byte, lowest first, the top bit where more follow."""
    pieces = bytearray()
    while number > 0x7F:
        pieces.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*pieces, number])
