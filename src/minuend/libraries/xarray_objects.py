"""xarray's Variables, DataArrays and Datasets: dims meet by name, labels have to be equal, attributes are kept by
xarray's own rule for arithmetic."""

from __future__ import annotations

from typing import Any

import xarray as xr

from minuend.core import arrays
from minuend.core.libraries import no_out, only_of
from minuend.core.policies import Overflow
from minuend.errors import ShapeError

_KINDS = (xr.Variable, xr.DataArray, xr.Dataset)


def subtract(a: Any, b: Any, out: Any, overflow: Overflow) -> Any:
    """Subtract labelled arrays, or one and a number; Dask arrays inside stay lazy."""
    no_out(out, "xarray objects")
    only_of("xarray Variable, DataArray or Dataset", _KINDS, {"a": a, "b": b}, "xarray.DataArray(x, dims=…)")
    try:
        return xr.apply_ufunc(
            arrays.subtract,
            a,
            b,
            kwargs={"overflow": overflow},
            join="exact",
            dataset_join="exact",
            dask="allowed",
            keep_attrs=_kept_attributes(),
        )
    except ValueError as error:
        if isinstance(error, ShapeError) or not _of_labels(error):
            raise
        raise ShapeError(
            "labels", f"the labels of a and b differ ({error}); xarray.align(a, b, join='inner') makes them equal"
        ) from None


def _of_labels(error: ValueError) -> bool:
    return isinstance(error, xr.AlignmentError) or "indexes" in str(error) or "data variables" in str(error)


def _kept_attributes() -> str:
    """What xarray's own arithmetic does with attributes under its present options, as ``apply_ufunc`` names it."""
    one, other = (xr.Variable((), 0, {name: 1}) for name in "ab")
    kept = len((one - other).attrs)
    return ("drop", "override", "drop_conflicts")[kept]
