"""A model as all parts of this dialect take it: what was read, and the files of its external data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto

from minuend.onnx.documents import external
from minuend.onnx.documents.external import DataFiles
from minuend.onnx.documents.tensors import Array
from minuend.onnx.graphs.normalising import Violation


@dataclass(eq=False, repr=False)
class Document:
    """An ONNX model and the folder of its external data.

    Attributes:
        proto: the ``ModelProto``, live: changes in it are run and saved.
        folder: where its external data is; ``None`` where it came without. path: the file that it was read from.
        name: what messages call it. files: its external data. violations: the rules that it broke when it came.
    """

    proto: ModelProto
    _: KW_ONLY
    folder: str | None = None
    path: str | None = None
    name: str = "the ModelProto"
    violations: tuple[Violation, ...] = ()

    def __post_init__(self) -> None:
        self.files = DataFiles(self.folder, self.name)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: the rules that the model broke, and how it is read."""
        return tuple(one.note for one in self.violations)

    def output_names(self) -> list[str]:
        """Return the names of the graph's outputs, in order."""
        return [value.name for value in self.proto.graph.output]

    def array(self, tensor: TensorProto, where: str = "") -> Array:
        """Return the elements of one of its tensors, read-only; those of external data are read now.

        Raises:
            FileFormatError, FileNotFoundError: see :class:`minuend.onnx.documents.external.DataFiles`.
        """
        return self.files.array(tensor, where or f"{self.name}: tensor {tensor.name!r}")

    def blocks(self, tensor: TensorProto, where: str = "") -> tuple[np.dtype[Any], Iterator[Array]]:
        """Return the type of one of its tensors' elements, and an iterator over them; raises as :meth:`array`."""
        return self.files.blocks(tensor, where or f"{self.name}: tensor {tensor.name!r}")

    def sources(self) -> tuple[str, ...]:
        """Return the files that the model names, whether they are there or not: its own, and all external data."""
        own = () if self.path is None else (self.path,)
        if self.folder is None:
            return own
        data = dict.fromkeys(external.locations(self.proto))
        return (*own, *(os.path.join(self.folder, location) for location in data))
