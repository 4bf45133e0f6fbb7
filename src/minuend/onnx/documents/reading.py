"""ONNX models as they come: a file, bytes, the text form or a ModelProto; parsed, and their structure checked."""

from __future__ import annotations

import os
import stat

from google.protobuf.message import DecodeError  # type: ignore[import-untyped,unused-ignore]
from onnx import ModelProto

from minuend.errors import FileFormatError
from minuend.files.streaming.reading import read_bytes
from minuend.models import opening
from minuend.onnx.graphs import structure
from minuend.onnx.graphs.normalising import Violation, normalise
from minuend.onnx.processes import library_process

_MOST_BYTES = (1 << 31) - 1


def parsed(source: object) -> tuple[ModelProto, tuple[Violation, ...], str | None, str]:
    """Parse a model, of whatever it is, and check its structure.

    Returns:
        The model with its violations normalised, these, the path that it came from, and what messages call it.

    Raises:
        FileNotFoundError: no such file. FileFormatError: no ONNX model, a truncated one, or one that breaks a rule.
    """
    library_process.start()
    path: str | None = None
    raw: bytes | None = None
    if isinstance(source, ModelProto):
        proto, name = source, "the ModelProto"
    elif isinstance(source, bytes | bytearray | memoryview):
        raw, name = bytes(source), "the model's bytes"
        proto = _parse(raw, name)
    elif opening.is_text(source):
        proto, name = _parse_text(source, "the model's text"), "the model's text"
    elif isinstance(source, str | os.PathLike):
        path = os.fsdecode(source)
        (proto, raw), name = _read_file(path), path
    else:
        raise TypeError(f"an ONNX model is a path, bytes, text or a ModelProto; this is a {type(source).__name__}")
    try:
        structure.check_message(proto, raw)
        proto, violations = normalise(proto, copy=proto is source)
        structure.check_model(proto)
    except FileFormatError as error:
        raise FileFormatError(f"{name}: {error}") from None
    return proto, violations, path, name


def _read_file(path: str) -> tuple[ModelProto, bytes | None]:
    """Return the model of a file, and its bytes where these are a message."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        raise FileNotFoundError(f"there is no file {path}") from None
    folder = stat.S_ISDIR(found.st_mode)
    if not stat.S_ISREG(found.st_mode) and not folder:
        raise FileFormatError(f"{path} is no regular file")
    nbytes = 0 if folder else found.st_size
    if nbytes > _MOST_BYTES:
        raise FileFormatError(
            f"{path} has {nbytes} bytes; a protobuf message has {_MOST_BYTES} at most, and larger models keep "
            "their tensors in files beside them"
        )
    raw = read_bytes(path)
    if path.lower().endswith(".onnxtxt"):
        try:
            return _parse_text(raw.decode(), path), None
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{path} is no UTF-8 text: {error.reason} at byte {error.start}") from None
    return _parse(raw, path), raw


def _parse(raw: bytes, name: str) -> ModelProto:
    if not raw:
        raise FileFormatError(f"{name}: it is empty; expected an ONNX model")
    try:
        proto: ModelProto = ModelProto.FromString(raw)
    except DecodeError as error:
        if "MaxDepth" in str(error):
            raise FileFormatError(f"{name}: its messages are nested deeper than the 100 that protobuf reads") from None
        raise FileFormatError(
            f"{name}: it is no protobuf message, or a truncated one; expected an ONNX model"
        ) from None
    return proto


def _parse_text(text: str, name: str) -> ModelProto:
    try:
        return library_process.parse(text)
    except (library_process.OnnxRefuses, library_process.Exceeded, DecodeError, UnicodeError) as error:
        reason = " ".join(str(error).split())
        if reason == "stoll":  # the name of what ONNX reads them with
            reason = "a whole number in it does not fit 64 bits"
        raise FileFormatError(f"{name}: it is no model in ONNX's text form: {reason}") from None
