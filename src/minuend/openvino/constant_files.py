"""An OpenVINO model as a file of tensors: its Const layers by name, read where they lie in the ``.bin``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from minuend.errors import DTypeError, FileFormatError, listed
from minuend.files.base import Tensor, TensorFile, clipped
from minuend.files.formats.plain_types import plain_type
from minuend.openvino.formats import SUFFIXES

if TYPE_CHECKING:
    from minuend.openvino.ir.sections import Layer

__all__ = ["NAMED", "SUFFIXES", "open_file"]

NAMED = True


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """Read a model; its constants are read when they are used.

    Raises:
        FileFormatError: two constants of one name. Others: see :func:`minuend.openvino.model.read`.
    """
    from minuend.openvino.model import read

    model = read(path)
    openers: dict[str, Callable[[], Tensor]] = {}
    for layer in model.section.of_type("Const"):
        if layer.name in openers:
            raise FileFormatError(f"{path} holds two constants {clipped(layer.name)}; expected names that differ")
        openers[layer.name] = functools.partial(_tensor, layer, path, every_type)
    return TensorFile(path, NAMED, openers, sources=model.files)


def _tensor(layer: Layer, path: str, every_type: bool) -> Tensor:
    import numpy as np

    from minuend.openvino.execution import layers
    from minuend.openvino.ir.notation import NUMERIC

    word = layers.element_type(layer)
    known = {name: row for name, row in NUMERIC.items() if row.numpy is not None}  # nf4 is codes of a book
    element = known.get(word) or (plain_type(np.dtype(bool)) if every_type and word == "boolean" else None)
    if element is None:
        where = f"{path} constant {clipped(layer.name)}"
        raise DTypeError("types", f"element type {word!r}; expected {listed(known)}", where=where)
    return Tensor(layer.name, element, layers.constant_shape(layer), functools.partial(layers.stored_elements, layer))
