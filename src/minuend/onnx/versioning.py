"""ONNX models from one opset to another."""

from __future__ import annotations

from minuend.onnx.model import Model
from minuend.onnx.opsets.model import convert_proto
from minuend.onnx.opsets.schemas import newest
from minuend.onnx.versions import number


def convert(model: Model, version: object = None) -> tuple[Model, list[str], list[str]]:
    """Convert a model to an opset; see :func:`minuend.onnx.opsets.model.convert_proto`. ``None`` is the newest."""
    opset = newest() if version is None else number(version)
    proto, changes, losses = convert_proto(model.proto, opset)
    if model.notes:
        changes = [*model.notes, *(change for change in changes if not change.startswith("nothing: "))]
    return Model(proto, folder=model.folder, name=model.name), changes, losses
