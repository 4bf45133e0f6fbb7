"""Element types that subtraction lacks (bool, complex, text): a model's inputs and outputs can be of such."""

from __future__ import annotations

from typing import Any

import numpy as np

from minuend.core.elements import ElementType


class PlainType(ElementType):
    """A row that is in no table of subtraction's."""

    @property
    def numpy(self) -> np.dtype[Any]:
        return np.dtype(self.name)


def plain_type(dtype: np.dtype[Any], *, text: bool = False) -> ElementType | None:
    """Return a row for a type that NumPy's files hold although subtraction lacks it; ``None`` for others.

    Args:
        dtype: the type. text: whether NumPy's text counts.

    >>> str(plain_type(np.dtype(bool)))
    'bool'
    """
    if dtype.kind in "bc":
        return PlainType(dtype.name, dtype.itemsize * 8, "unsigned", "none")
    if text and dtype.kind in "US":
        return PlainType(dtype.str, dtype.itemsize * 8, "unsigned", "none")
    return None
