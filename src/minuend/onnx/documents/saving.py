"""ONNX models as they are saved: one message with its data in the same folder, or text; whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import BinaryIO

import onnx
from google.protobuf.message import EncodeError  # type: ignore[import-untyped,unused-ignore]
from onnx import ModelProto, TensorProto

from minuend.errors import FileFormatError, Unsupported, listed
from minuend.files.transaction.output_paths import check
from minuend.files.transaction.writing import together
from minuend.onnx.documents import external, tensors
from minuend.onnx.documents.document import Document
from minuend.onnx.formats import SUFFIXES
from minuend.onnx.graphs import walk

_MOST_BYTES = (1 << 31) - 1
_LARGE_TENSOR = 1024


def save(model: Document, output_path: str, inputs: Iterable[str]) -> None:
    """Write a model; see :meth:`minuend.onnx.model.Model.save`."""
    suffix = os.path.splitext(output_path)[1].lower()
    if suffix not in SUFFIXES:
        raise FileFormatError(f"{output_path} has the suffix {suffix!r}; an ONNX model is saved as {listed(SUFFIXES)}")
    inputs = (*model.sources(), *inputs)
    check([output_path], inputs)
    if suffix == ".onnxtxt":
        with together([output_path], inputs) as (stream,):
            stream.write(_text(model, output_path).encode())
        return
    copies, raw = _copies(model, output_path), _serialize(model.proto)
    extra = [] if raw is not None else [f"{output_path}.data"]
    # The model comes last: until it is there, nothing refers to the others.
    output_paths = [*copies.values(), *extra, output_path]
    with together(output_paths, inputs, folders=bool(copies)) as streams:
        for source, stream in zip(copies, streams, strict=False):
            external.copy(source, stream)
        if raw is None:
            raw = _serialize_split(model.proto, os.path.basename(extra[0]), streams[-2], output_path)
        streams[-1].write(raw)


def _text(model: Document, output_path: str) -> str:
    text = onnx.printer.to_text(model.proto)
    try:
        back: ModelProto | None = onnx.parser.parse_model(text)
    except onnx.parser.ParseError:
        back = None
    if back != model.proto:
        raise Unsupported(
            f"{output_path}: ONNX's text form does not hold all of this model (documentation, metadata, external data, "
            "unknown fields or some types); save it as .onnx"
        )
    return text if text.endswith("\n") else f"{text}\n"


def _copies(model: Document, output_path: str) -> dict[str, str]:
    """Return the data files to be copied, and where to; all are checked first."""
    folder = os.path.realpath(os.path.dirname(os.path.abspath(output_path)))
    found: dict[str, str] = {}
    for tensor, where in walk.all_tensors(model.proto):
        if not tensors.is_external(tensor):
            continue
        place = f"{model.name}: {where}"
        model.files.check(tensor, place)
        location = external.reference(tensor, place).location
        source, target = model.files.path(location, place), os.path.join(folder, location)
        if os.path.realpath(target) == source or source in found:
            continue
        if os.path.lexists(target):
            if os.path.isfile(target) and external.same_content(source, target):
                continue
            raise FileFormatError(
                f"{output_path}: the model's data goes to {target}, and that file is there and holds something else; "
                "save into another folder"
            )
        found[source] = target
    return found


def _serialize(proto: ModelProto) -> bytes | None:
    """Return a model's bytes, or ``None`` where it is too large for one message.

    Raises:
        MemoryError: there is not enough for them.
    """
    inline = sum(len(tensor.raw_data) for tensor in proto.graph.initializer)
    if inline > _MOST_BYTES:
        return None
    try:
        raw: bytes = proto.SerializeToString()
    except (EncodeError, ValueError):
        if inline < _MOST_BYTES // 2:  # not too large: protobuf says no other where memory ends
            raise MemoryError(f"protobuf has no memory for a model of some {inline} bytes") from None
        return None
    return raw if len(raw) <= _MOST_BYTES else None


def _serialize_split(proto: ModelProto, data: str, stream: BinaryIO, output_path: str) -> bytes:
    """Write the large initializers to a stream, and return the bytes of the model that refers to them.

    The live proto is changed while this runs and is afterwards as it was: a copy would need its memory twice.
    """
    taken: list[tuple[TensorProto, bytes]] = []
    at = 0
    try:
        for tensor in proto.graph.initializer:
            raw = tensor.raw_data
            if len(raw) < _LARGE_TENSOR:
                continue
            taken.append((tensor, raw))
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", data), ("offset", at), ("length", len(raw))):
                tensor.external_data.add(key=key, value=str(value))
            stream.write(raw)
            at += len(raw)
        whole = _serialize(proto)
    finally:
        for tensor, raw in taken:
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
            tensor.raw_data = raw
    if whole is None:
        raise FileFormatError(
            f"{output_path}: the model is more than {_MOST_BYTES} bytes without its large initializers, and a protobuf "
            "message holds no more; move the data of its other tensors into external files"
        )
    return whole
