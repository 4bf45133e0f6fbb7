"""Models that are written: a model that is what it was comes back byte for byte."""

from __future__ import annotations

import os
import shutil

from minuend.files.transaction.writing import together
from minuend.models.opening import Model


def save(model: Model, original: Model, path: str | os.PathLike[str], *, changed: bool = False) -> None:
    """Write a model that was made of another one: whole, or not at all, and over none of the original's files.

    Where both are equal, the original's files are copied.

    Args:
        model: what is written. original: the model as it was read. path: the file.
        changed: whether both are known to differ; they are compared otherwise, which reads the weights of an IR.
    """
    copies = {} if changed else model.copies(original, os.fspath(path))
    if not copies:
        model.save(path, inputs=original.sources())
        return
    with together([*copies.values()], original.sources()) as streams:
        for source, stream in zip(copies, streams, strict=True):
            with open(source, "rb") as data:
                shutil.copyfileobj(data, stream)
