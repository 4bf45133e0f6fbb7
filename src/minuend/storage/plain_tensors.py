"""Tensors of types that subtraction lacks (bool, complex, text), in files: a model's inputs and outputs can be such."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from minuend.core.elements import ElementType
from minuend.errors import DTypeError, FileFormatError
from minuend.storage import split

Array = np.ndarray[Any, np.dtype[Any]]


class _Plain(ElementType):
    """A row that is in no table of subtraction's."""

    @property
    def numpy(self) -> np.dtype[Any]:
        return np.dtype(self.name)


def read(path: str, refused: DTypeError) -> Array:
    """Read the one tensor of a file, which is of a type that :func:`minuend.storage.open_tensors` refuses.

    Args:
        path: the path, with ``::name`` for one tensor of several. refused: why it was refused; raised where the format
            is not one of NumPy's and no ``.pb`` either.

    Raises:
        FileFormatError: it holds objects, several tensors, or is damaged.
    """
    real, name = split(path)
    suffix = os.path.splitext(real)[1].lower()
    if suffix == ".pb":
        return _of_message(real)
    if suffix not in (".npy", ".npz"):
        raise refused
    try:
        found = np.load(real, allow_pickle=False)
        if suffix == ".npy":
            return np.asarray(found)
        with found:
            return np.asarray(found[name if name is not None else found.files[0]])
    except (ValueError, OSError, EOFError, KeyError) as error:
        raise FileFormatError(f"{path} cannot be read: {error}") from None


def _of_message(path: str) -> Array:
    from onnx import TensorProto

    from minuend.onnx import tensors

    with open(path, "rb") as stream:
        tensor = TensorProto.FromString(stream.read())
    tensors.check(tensor, path)
    return tensors.to_array(tensor)


def element_of(dtype: np.dtype[Any]) -> ElementType | None:
    """Return a row for a type that NumPy's files hold although subtraction lacks it; ``None`` for others.

    >>> str(element_of(np.dtype(bool)))
    'bool'
    """
    return _Plain(dtype.name, dtype.itemsize * 8, "unsigned", "none") if dtype.kind in "bc" else None
