"""Polars' Series and DataFrames of one element type, without nulls."""

from __future__ import annotations

import numpy as np
import polars as pl

from minuend.arrays import functions
from minuend.arrays.libraries import no_out, only_of
from minuend.core.elements import TYPES
from minuend.core.policies import Overflow
from minuend.errors import DTypeError, ShapeError


def subtract(a: object, b: object, out: object, overflow: Overflow) -> object:
    """Subtract two Series, two DataFrames with the same columns, or one and a number."""
    no_out(out, "Polars objects")
    lazy = isinstance(a, pl.LazyFrame) or isinstance(b, pl.LazyFrame)
    advice = "x.collect() makes one of a LazyFrame" if lazy else "polars.Series(x)"
    only_of("Polars Series or DataFrame", (pl.Series, pl.DataFrame), {"a": a, "b": b}, advice)
    frames = [one for one in (a, b) if isinstance(one, pl.Series | pl.DataFrame)]
    first = frames[0]
    if len({isinstance(one, pl.Series) for one in frames}) > 1:
        raise ShapeError(
            "columns", "a Series and a DataFrame do not go together; make both of one kind, with .to_frame()"
        )
    if isinstance(first, pl.Series):
        lengths = [len(one) for one in frames]
        if len(set(lengths) - {1}) > 1:
            raise ShapeError("shape", f"a has {lengths[0]} elements and b {lengths[1]}; expected equal lengths, or 1")
        return _as_class(first, _series(first.name, a, b, overflow))
    for other in frames[1:]:
        if (first.columns, first.height) != (other.columns, other.height):
            raise ShapeError("columns", "a and b have other columns or lengths; expected the same names in one order")
    parts = [[one[name] if isinstance(one, pl.DataFrame) else one for one in (a, b)] for name in first.columns]
    found = [_series(name, x, y, overflow) for name, (x, y) in zip(first.columns, parts, strict=True)]
    # Beside a number Polars keeps the height of a frame without columns.
    return _as_class(first, pl.DataFrame(found) if frames[1:] else first.with_columns(found))


def _as_class(first: pl.Series | pl.DataFrame, found: pl.Series | pl.DataFrame) -> pl.Series | pl.DataFrame:
    """A result as an object of the first one's class, whose own ``__init__`` Polars' operators do not call either."""
    if type(first) is type(found):
        return found
    made: pl.Series | pl.DataFrame = object.__new__(type(first))
    made.__dict__.update(vars(found))
    return made


def _series(name: str, a: object, b: object, overflow: Overflow) -> pl.Series:
    found = functions.subtract(_elements(a, "a"), _elements(b, "b"), overflow=overflow)
    return pl.Series(name, found)


def _elements(operand: object, name: str) -> object:
    if not isinstance(operand, pl.Series):
        return operand
    if str(operand.dtype).lower() not in TYPES:
        raise DTypeError(
            "types",
            f"{name} is of Polars' type {operand.dtype}; expected one of its integers and floats of up to 64 bits",
        )
    if operand.null_count():
        raise DTypeError("types", f"{name} has {operand.null_count()} nulls; expected none, as .fill_null(…) leaves")
    return np.asarray(operand.to_numpy())
