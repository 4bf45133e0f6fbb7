"""xarray's Variables, DataArrays, Datasets and DataTrees: dims meet by name, labels have to be equal.

Everything else (classes, names, coordinates, attributes) is what xarray's own arithmetic makes of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import xarray as xr

from minuend.arrays import functions
from minuend.arrays.libraries import library_of, no_out, only_of
from minuend.core.policies import Overflow
from minuend.errors import MinuendError, ShapeError

Work: TypeAlias = Callable[[Any, Any], object]

_KINDS = (xr.Variable, xr.DataArray, xr.Dataset, xr.DataTree)
"""From the plainest on: beside each other, the last one's method computes, as with xarray's operators."""


def subtract(a: object, b: object, out: object, overflow: Overflow) -> Any:
    """Subtract labelled arrays, or one and a number; Dask arrays inside stay lazy."""
    no_out(out, "xarray objects")
    only_of("xarray Variable, DataArray, Dataset or DataTree", _KINDS, {"a": a, "b": b}, "xarray.DataArray(x, dims=…)")
    work = functools.partial(functions.subtract, overflow=overflow)
    try:
        _check_inside(a, b)
        with xr.set_options(arithmetic_join="exact"):
            return _joined(a, b, functools.partial(_variables, work=work))
    except MinuendError:
        raise
    except ValueError as error:
        # xarray states sizes where there are no labels, and nothing makes those equal.
        of_labels = isinstance(error, xr.AlignmentError) and "conflicting dimension sizes" not in str(error)
        if of_labels or "indexes" in str(error):
            raise ShapeError(
                "labels", f"the labels of a and b differ ({error}); xarray.align(a, b, join='inner') makes them equal"
            ) from None
        raise ShapeError("shape", f"xarray does not join a and b: {error}") from None


def _joined(a: Any, b: Any, work: Work) -> Any:
    """Let xarray join two objects by its own method, which is that behind its operators; trees node by node."""
    ranks = [next((i for i, kind in enumerate(_KINDS) if isinstance(one, kind)), -1) for one in (a, b)]
    if ranks[0] < ranks[1]:
        return b._binary_op(a, work, reflexive=True)
    return a._binary_op(b, work)


def _variables(x: object, y: object, work: Work) -> Any:
    """The difference of two Variables, or of one and a number; of their arrays, where xarray has joined those."""
    if isinstance(x, xr.Variable):
        return x._binary_op(y, work)
    return y._binary_op(x, work, reflexive=True) if isinstance(y, xr.Variable) else work(x, y)


def _check_inside(a: Any, b: Any) -> None:
    """Check that both have the same variables, and that those hold arrays whose numbers are all there is to them.

    Raises:
        ShapeError: the variables of two Datasets differ. DTypeError: units or sparse arrays inside, for instance.
    """
    trees = [one for one in (a, b) if isinstance(one, xr.DataTree)]
    if len(trees) == 2:
        for _, (x, y) in xr.group_subtrees(*trees):
            _check_inside(x.dataset, y.dataset)
        return
    for node in trees[0].subtree if trees else ():
        x, y = (node.dataset if one is trees[0] else one for one in (a, b))
        _check_inside(x, y)
    if trees:
        return
    sets = [set(one.data_vars) for one in (a, b) if isinstance(one, xr.Dataset)]
    if len(sets) == 2 and sets[0] != sets[1]:
        differing = ", ".join(sorted(map(repr, sets[0] ^ sets[1])))
        raise ShapeError(
            "labels", f"one of a and b alone has the data variables {differing}; expected the same in both"
        )
    for one in (a, b):
        inside = one.data_vars.values() if isinstance(one, xr.Dataset) else [one] * isinstance(one, _KINDS[:2])
        for variable in inside:
            library_of(variable.data, None)
