"""ONNX models from one opset to another."""

from __future__ import annotations

import math

from onnx import ModelProto, TensorProto

from minuend.errors import MinuendError
from minuend.onnx.documents import external, tensors
from minuend.onnx.graphs import walk
from minuend.onnx.model import Model
from minuend.onnx.opsets.fold import SMALL
from minuend.onnx.opsets.model import convert_proto
from minuend.onnx.opsets.schemas import newest
from minuend.onnx.versions import number


def convert(model: Model, version: object = None) -> tuple[Model, list[str], list[str]]:
    """Convert a model to an opset; see :func:`minuend.onnx.opsets.model.convert_proto`. ``None`` is the newest.

    Axes, shapes and bounds are read where they lie in a file of external data, and stay there where the result has
    them still.
    """
    opset = newest() if version is None else number(version)
    source, stored = _with_small_tensors(model)
    proto, changes, losses = convert_proto(source, opset)
    for tensor, _ in walk.all_tensors(proto) if stored else ():
        if (was := stored.get(tensor.SerializeToString(deterministic=True))) is not None:
            tensor.CopyFrom(was)
    if model.notes:
        changes = [*model.notes, *(change for change in changes if not change.startswith("nothing: "))]
    return Model(proto, folder=model.folder, name=model.name), changes, losses


def _with_small_tensors(model: Model) -> tuple[ModelProto, dict[bytes, TensorProto]]:
    """Return a model that holds its small external tensors, and what each of them was before.

    Those that cannot be read stay as they are: the model is converted without their data, if that can be done.
    """
    found: dict[bytes, TensorProto] = {}
    if model.folder is None or not any(_is_small(tensor) for tensor, _ in walk.all_tensors(model.proto)):
        return model.proto, found
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    for tensor, where in walk.all_tensors(proto):
        if not _is_small(tensor):
            continue
        try:
            inlined = external.inline(tensor, model.files.bytes(tensor, f"{model.name}: {where}"))
        except (MinuendError, OSError):
            continue
        was = TensorProto()
        was.CopyFrom(tensor)
        found[inlined.SerializeToString(deterministic=True)] = was
        tensor.CopyFrom(inlined)
    return proto, found


def _is_small(tensor: TensorProto) -> bool:
    return tensors.is_external(tensor) and math.prod(tensor.dims) <= SMALL
