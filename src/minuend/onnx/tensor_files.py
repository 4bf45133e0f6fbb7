"""ONNX's ``TensorProto`` in a ``.pb`` file: one tensor, as the backend test folders hold them.

    data_type, dims, name, and the elements: raw_data (little-endian bytes), or the typed field of the element type

What the elements must be is :mod:`minuend.onnx.documents.tensors`' to say; what a file of its own may not hold (a
segment, a reference to another file) stands here. A message ends at 2 GiB. The ``onnx`` package is imported when a
file is opened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from minuend.core.elements import TYPES, ElementType
from minuend.core.shapes import size
from minuend.errors import DTypeError, FileFormatError, Unsupported, listed
from minuend.files import sources
from minuend.files.base import NO_TEXT, Result, Tensor, TensorFile, check_shape
from minuend.files.formats.plain_types import PlainType, plain_type
from minuend.files.packages import need
from minuend.files.stored_elements import InMemory
from minuend.onnx.versions import SPELLINGS

if TYPE_CHECKING:
    from onnx import TensorProto

    from minuend.onnx.documents.tensors import DataType

SUFFIXES = (".pb",)
NAMED = False
_RAW_DATA_TAG = b"\x4a"  # field 9, wire type 2 (bytes)
_MOST_BYTES = (1 << 31) - 1
WORDS = {name: words[-1] for name, words in SPELLINGS.items() if TYPES[name].bits >= 8}
"""The ``TensorProto.DataType`` of each element type that takes whole bytes."""
_ELEMENTS = {word: TYPES[name] for name, word in WORDS.items()}


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """Parse and check the message; the tensor's name is the message's."""
    onnx = need("onnx", "onnx", path)
    protobuf = need("google.protobuf.message", "onnx", path)
    source = sources.open_source(path)
    if source.size > _MOST_BYTES:
        raise FileFormatError(f"{path} has {source.size} bytes; a protobuf message has {_MOST_BYTES} at most")
    try:
        proto = onnx.TensorProto.FromString(source.read(0, source.size).tobytes())
    except protobuf.DecodeError:
        raise FileFormatError(f"{path} is no protobuf message, or a truncated one; expected a TensorProto") from None
    tensor = _tensor(proto, path, every_type)
    return TensorFile(path, NAMED, {proto.name: lambda: tensor})


def _tensor(proto: TensorProto, path: str, every_type: bool) -> Tensor:
    """Check a message as a file of its own, and return its tensor."""
    from minuend.onnx.documents import tensors

    kind, element = _types(proto, path, every_type)
    shape = tuple(proto.dims)
    if any(dim < 0 for dim in shape):
        raise FileFormatError(f"{path} states the dims {shape}; expected sizes of 0 and above")
    check_shape(shape, element.itemsize, path)
    if proto.external_data or proto.data_location:
        raise Unsupported(f"{path} keeps its elements in another file (external data); expected them inside the .pb")
    if proto.HasField("segment"):
        raise Unsupported(f"{path} is one segment of a tensor; expected a whole one")
    tensors.check_data(proto, kind, size(shape), path, unit="elements")
    try:
        array = np.ascontiguousarray(tensors.to_array(proto)).reshape(shape)
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} has string_data that is no UTF-8; expected text") from None
    return Tensor(proto.name, element, shape, lambda: InMemory(array))


def _types(proto: TensorProto, path: str, every_type: bool) -> tuple[DataType, ElementType]:
    """Return the element type that the message states, in ONNX's table and in this package's."""
    from minuend.onnx.documents import tensors

    kind = tensors.data_type(proto.data_type)
    if kind is None:
        came = f"the data_type {proto.data_type}" if proto.data_type else "no data_type"
        raise FileFormatError(f"{path} states {came}; expected a TensorProto of {listed(_ELEMENTS)}")
    element = _ELEMENTS.get(kind.word)
    if element is None and every_type:
        text = PlainType("object", 64, "unsigned", "none")
        element = kind.element or (text if kind.dtype.hasobject else plain_type(kind.dtype))
    if element is None:
        raise DTypeError("types", f"element type {kind.word!r}; expected {listed(_ELEMENTS)}", where=path)
    return kind, element


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse types that take no whole byte, tensors beyond what a message holds, and a missing package."""
    need("onnx", "onnx", path)
    for result in results:
        if result.element.name not in WORDS:
            raise DTypeError(
                "types", f"a .pb takes no {result.element} from this package; expected {listed(WORDS)}", where=path
            )
        if result.nbytes + 1024 + len(result.name.encode()) > _MOST_BYTES:
            raise FileFormatError(
                f"{path}: {result.nbytes} bytes of elements are more than a protobuf message holds ({_MOST_BYTES}); "
                "write .safetensors or .npy"
            )


def write(stream: BinaryIO, results: Sequence[Result], metadata: Mapping[str, str] = NO_TEXT) -> None:
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
