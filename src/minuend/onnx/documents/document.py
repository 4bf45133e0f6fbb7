"""What the parts of this dialect use of a model that was read, so that they need not import the model itself."""

from __future__ import annotations

from typing import Protocol

from onnx import ModelProto, TensorProto

from minuend.onnx.documents.external import DataFiles
from minuend.onnx.documents.tensors import Array


class Document(Protocol):
    """A model and its external data: :class:`minuend.onnx.model.Model`, whose attributes these are."""

    proto: ModelProto
    folder: str | None
    path: str | None
    name: str
    files: DataFiles

    def output_names(self) -> list[str]:
        """Return the names of the graph's outputs, in order."""

    def sources(self) -> tuple[str, ...]:
        """Return the files that the model names, whether they are there or not."""

    def array(self, tensor: TensorProto, where: str = "") -> Array:
        """Return the elements of one of its tensors."""
