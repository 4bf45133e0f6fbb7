"""pandas' Series and DataFrames of one element type, whose labels have to be equal: nothing is aligned, nothing is NaN
because a label was missing."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pandas as pd

from minuend.arrays import functions
from minuend.arrays.functions import Array
from minuend.arrays.libraries import no_out, only_of
from minuend.core import elements
from minuend.core.policies import Overflow
from minuend.errors import DTypeError, ShapeError

Labelled: TypeAlias = pd.Series | pd.DataFrame


def subtract(a: object, b: object, out: object, overflow: Overflow) -> object:
    """Subtract two Series, two DataFrames, or one and a number."""
    no_out(out, "pandas objects")
    only_of("pandas Series or DataFrame", (pd.Series, pd.DataFrame), {"a": a, "b": b}, "pandas.Series(x)")
    labelled = [one for one in (a, b) if isinstance(one, pd.Series | pd.DataFrame)]
    if len({one.ndim for one in labelled}) > 1:
        raise ShapeError(
            "labels", "a Series and a DataFrame do not go together; make both of one kind, with .to_frame()"
        )
    first = labelled[0]
    for other in labelled[1:]:
        _check_labels(first, other)
    x, y = _elements(a, "a"), _elements(b, "b")
    return _labelled(functions.subtract(x, y, overflow=overflow), labelled)


def _labelled(found: Array, labelled: list[Labelled]) -> Labelled:
    """The result as pandas' own operators make it: the first object's class and labels, what both objects carry.

    ``_constructor`` and ``__finalize__`` are the methods that pandas documents for subclasses; attributes, flags and a
    subclass's metadata are handed on by the second.
    """
    first = labelled[0]
    if first.ndim == 2:
        result = first._constructor(found, index=first.index, columns=first.columns, copy=False)
    else:
        result = first._constructor(found, index=first.index, copy=False)
    for one in labelled:
        result = result.__finalize__(one)
    if first.ndim == 1:
        result.name = _name(*(one.name for one in labelled))
    return result


def _name(name: object, other: object = ...) -> object:
    """The name that two Series have in common, by pandas' own rule, in which NaN equals NaN."""
    if other is ... or name is other:
        return name
    one, two = (pd.Series([], dtype="float64", name=each) for each in (name, other))
    return (one - two).name


def _check_labels(a: Labelled, b: Labelled) -> None:
    for axis, words in enumerate(("index", "columns")[: a.ndim]):
        x, y = a.axes[axis], b.axes[axis]
        if not x.equals(y):
            types = f" ({x.dtype} and {y.dtype})" if x.dtype != y.dtype else ""
            raise ShapeError(
                "labels",
                f"the {words} of a and b differ{types}; expected equal labels in one order, as "
                "a.align(b, join='inner') makes",
            )


def _elements(operand: object, name: str) -> object:
    """The elements of an object of one NumPy type; numbers as they are."""
    if not isinstance(operand, pd.Series | pd.DataFrame):
        return operand
    dtypes = list(dict.fromkeys([operand.dtype] if isinstance(operand, pd.Series) else operand.dtypes))
    if len(dtypes) != 1:
        raise DTypeError(
            "types", f"{name} has columns of {', '.join(map(str, dtypes)) or 'no type'}; expected one type"
        )
    if not isinstance(dtypes[0], np.dtype):
        plain = _numpy_name(dtypes[0])
        advice = f", as {name}.astype({plain!r}) gives" if plain else ""
        raise DTypeError("types", f"{name} is of pandas' type {dtypes[0]}; expected one of NumPy's{advice}")
    return operand.to_numpy(copy=False)


def _numpy_name(dtype: object) -> str:
    """The name of the type of NumPy's that holds the same numbers as a type of pandas'; nothing where none does."""
    found = getattr(dtype, "numpy_dtype", None) or getattr(dtype, "subtype", None)
    return str(found) if str(found) in elements.TYPES else ""
