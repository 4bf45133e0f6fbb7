"""xarray's objects as their users have them: coordinates, attributes, Dask inside, indexes, dims in another order."""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from differential import array_values as values
from differential.surface import Difference, Surface

NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
OTHERS = ("bool", "complex64", "datetime64[ns]", "timedelta64[ns]", "object", "U2")
LABELS = ("", "ints", "floats", "strings", "dates", "multi", "nan", "duplicates", "descending", "categories")
EXTRAS = ("", "scalar", "second", "2d", "conflict", "only a", "lazy", "named like a dim")
INSIDE = ("numpy", "dask", "masked", "dask other", "pint", "readonly", "sparse")


@dataclass(frozen=True)
class Case:
    """Two objects: ``array``, ``dataset``, ``variable``, ``subclass``, ``number``, ``scalar``, ``numpy``, ``group``.

    Attributes:
        dims: of a; b has those of ``second``, in that order. labels: of each dim's index. relation: how b's differ.
        tree: whether datasets are nodes of DataTrees, too.
        extras: further coordinates. names, attrs: of either; keep: the option keep_attrs; join: arithmetic_join.
    """

    a: str = "array"
    b: str = "array"
    dtype: str = "float64"
    other: str = ""
    dims: str = "xy"
    second: str = "xy"
    sizes: tuple[int, ...] = (2, 3, 4)
    labels: tuple[str, ...] = ()
    relation: str = "same"
    extras: tuple[str, ...] = ()
    names: tuple[str, str] = ("", "")
    attrs: tuple[str, str] = ("", "")
    keep: str = "default"
    join: str = "inner"
    inside: tuple[str, str] = ("numpy", "numpy")
    variables: tuple[str, str] = ("v", "v")
    encoding: bool = False
    policy: str = "wrap"
    out: bool = False
    tree: bool = False
    number: int = 1
    seed: int = 0


def draw(source: random.Random) -> Case:
    """Draw two objects, mostly such as can be subtracted."""
    kinds = ("array", "dataset", "variable", "subclass", "number", "scalar", "numpy", "group")
    a = source.choices(kinds, (10, 5, 2, 1, 1, 1, 0.3, 0.1))[0]
    b = a if source.random() < 0.5 else source.choices(kinds, (8, 4, 2, 1, 2, 1, 0.3, 0.1))[0]
    b = b if {a, b} & set(kinds[:4]) else "array"
    dims = "".join(source.sample("xyz", source.choice([0, 1, 2, 2, 3])))
    second = (
        "".join(source.sample(dims, len(dims)))
        if source.random() < 0.6
        else "".join(source.sample("xyz", source.choice([0, 1, 2, 3])))
    )
    inside = source.choice(INSIDE[:1] * 4 + INSIDE)
    return Case(
        a,
        b,
        source.choice(NUMBERS) if source.random() < 0.9 else source.choice(OTHERS),
        source.choice([*NUMBERS, *OTHERS]) if source.random() < 0.05 else "",
        dims,
        second,
        tuple(source.choice([1, 2, 3, 4, 0 if source.random() < 0.2 else 5]) for _ in range(3)),
        tuple(source.choice(LABELS) for _ in range(3)) if source.random() < 0.6 else (),
        source.choice(["same", "same", "same", "copy", "shifted", "reversed", "only a", "only b", "shorter", "one"]),
        tuple(source.choice(EXTRAS) for _ in range(source.choice([0, 0, 1, 2]))),
        (source.choice(["", "n", "n", "m"]), source.choice(["", "n", "n", "m"])),
        (source.choice(["", "u", "v", "array"]), source.choice(["", "u", "u", "v", "more", "array"])),
        source.choice(["default", "default", "true", "false"]),
        source.choice(["inner", "inner", "inner", "outer", "left", "exact", "right"]),
        (inside, inside if source.random() < 0.6 else source.choice(INSIDE[:4])),
        (source.choice(["v", "v", "vw"]), source.choice(["v", "v", "v", "vw", "w", ""])),
        source.random() < 0.2,
        source.choice(values.POLICIES),
        source.random() < 0.02,
        source.random() < 0.3,
        source.choice([0, 1, 5, 127, 300]),
        source.randrange(2**32),
    )


# ---- objects ----------------------------------------------------------------------------------------------------


def sized(case: Case, which: int) -> dict[str, int]:
    """Sizes of all dims."""
    sizes = {dim: (*case.sizes, 2, 2, 2)[i] for i, dim in enumerate("xyz")}
    if which and case.relation == "shorter" and case.second:
        sizes[case.second[0]] = max(0, sizes[case.second[0]] - 1)
    if which and case.relation == "one" and case.second:
        sizes[case.second[-1]] = 1
    return sizes


def labels(kind: str, count: int, relation: str) -> Any:
    """Labels of a dim."""
    import pandas as pd

    numbers = np.arange(count) + (1 if relation == "shifted" else 0)
    made: dict[str, Any] = {
        "ints": lambda: numbers * 10,
        "floats": lambda: numbers / 4,
        "strings": lambda: np.array([f"r{i}" for i in numbers], dtype="U4"),
        "dates": lambda: np.datetime64("2020-01-01", "ns") + numbers.astype("m8[D]"),
        "descending": lambda: -numbers,
        "nan": lambda: np.where(numbers == 1, np.nan, numbers),
        "duplicates": lambda: numbers // 2,
        "categories": lambda: pd.CategoricalIndex([f"c{i}" for i in numbers]),
        "multi": lambda: pd.MultiIndex.from_arrays([numbers // 2, numbers], names=["p", "q"]),
    }
    found = made[kind]()
    return found[::-1] if relation == "reversed" else found


def coordinates(case: Case, which: int, dims: str, sizes: dict[str, int]) -> dict[str, Any]:
    """All coordinates of an object."""
    import xarray as xr

    made: dict[str, Any] = {}
    for i, kind in enumerate(case.labels):
        dim = "xyz"[i]
        if (
            not kind
            or dim not in dims
            or (case.relation in ("only a", "only b") and i == 0 and case.relation[-1] != "ab"[which])
        ):
            continue
        found = labels(kind, sizes[dim], case.relation if which else "same")
        if kind == "multi":
            if not any(isinstance(one, xr.Coordinates) for one in made.values()) and i == 0:
                made[f"index {dim}"] = xr.Coordinates.from_pandas_multiindex(found, dim)
        else:
            made[dim] = (dim, found, {"units": "m"} if case.attrs[which] else {})
    for i, kind in enumerate(case.extras):
        name = f"e{i}"
        if kind == "scalar":
            made[name] = ((), 7.5)
        elif kind == "conflict":
            made[name] = ((), which)
        elif kind == "only a" and which == 0:
            made[name] = ((), "t")
        elif kind in ("second", "lazy") and dims:
            found = np.arange(sizes[dims[0]])
            made[name] = (dims[0], found if kind == "second" else _dask(found), {"long": "x"})
        elif kind == "2d" and len(dims) > 1:
            made[name] = (dims[:2], np.ones((sizes[dims[0]], sizes[dims[1]])))
    return made


def _dask(found: Any, chunk: int = 2) -> Any:
    import dask.array as da

    return da.from_array(found, chunks=chunk)


def elements(case: Case, which: int, dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    """Data of the kind that the case puts inside."""
    count = int(np.prod(shape, dtype=int))
    if dtype in OTHERS:
        return np.zeros(shape, dtype)
    found = values.numbers(dtype, max(1, count), np.random.default_rng(seed), "edges")[:count].reshape(shape)
    kind = case.inside[which]
    if kind.startswith("dask"):
        return _dask(found, 2 if kind == "dask" else 3)
    if kind == "masked":
        return np.ma.array(found, mask=np.random.default_rng(seed).random(shape) < 0.3)
    if kind == "pint":
        import pint

        return _registry(pint).Quantity(found, "m")
    if kind == "sparse":
        import sparse

        return sparse.COO.from_numpy(found)
    if kind == "readonly":
        found.flags.writeable = False
    return found


_UNITS: list[Any] = []


def _registry(pint: Any) -> Any:
    if not _UNITS:
        _UNITS.append(pint.UnitRegistry())
    return _UNITS[0]


def operand(case: Case, which: int) -> Any:
    """The first or the second object."""
    import xarray as xr

    kind, dims = (case.a, case.b)[which], (case.dims, case.second)[which]
    dtype = case.other or case.dtype if which else case.dtype
    if kind == "number":
        return case.number
    if kind == "scalar":
        return np.dtype(dtype if dtype in NUMBERS else "float64").type(case.number % 100)
    sizes = sized(case, which)
    shape = tuple(sizes[dim] for dim in dims)
    if kind == "numpy":
        return np.ones(shape, dtype if dtype in NUMBERS else "float64")
    attrs: Any = {
        "": {},
        "u": {"units": "K"},
        "v": {"units": "degC"},
        "more": {"units": "K", "x": 1},
        "array": {"range": np.arange(3)},
    }[case.attrs[which]]
    made = elements(case, which, dtype, shape, case.seed + which)
    if kind == "variable":
        return xr.Variable(tuple(dims), made, attrs)
    given = coordinates(case, which, dims, sizes)
    indexes = [one for one in given.values() if isinstance(one, xr.Coordinates)]
    plain = {name: one for name, one in given.items() if not isinstance(one, xr.Coordinates)}
    if kind in ("dataset", "group"):
        found = {
            name: (tuple(dims), made if i == 0 else elements(case, which, dtype, shape, case.seed + 9), attrs)
            for i, name in enumerate(case.variables[which])
        }
        result = xr.Dataset(found, plain, attrs)
        return result.groupby(dims[0]) if kind == "group" and dims and dims[0] in result.coords else result
    cls = _readings() if kind == "subclass" else xr.DataArray
    result = cls(made, plain, tuple(dims), case.names[which] or None, attrs)
    for one in indexes:
        result = result.assign_coords(one)
    if case.encoding:
        result.encoding["dtype"] = "int16"
    return result


def _readings() -> Any:
    import xarray as xr

    class Readings(xr.DataArray):  # type: ignore[misc]
        """A subclass, as xarray lets users make them."""

        __slots__ = ()

    return Readings


# ---- comparing --------------------------------------------------------------------------------------------------


def compare(case: Case, folder: Path) -> str:
    """Subtract, and compare with xarray's own difference of equal labels, or with the rule that refuses it."""
    import xarray as xr

    import minuend as mn

    keep: Any = {"default": "default", "true": True, "false": False}[case.keep]
    join: Any = case.join
    with warnings.catch_warnings(), np.errstate(all="ignore"), xr.set_options(keep_attrs=keep, arithmetic_join=join):
        warnings.simplefilter("ignore")
        try:
            a, b = operand(case, 0), operand(case, 1)
        except (ValueError, TypeError, xr.CoordinateValidationError) as error:
            return f"not made: {type(error).__name__}"
        if not any(isinstance(one, xr.Dataset | xr.DataArray | xr.Variable) for one in (a, b)):
            return "not made: no object of xarray's"
        a, b = (one[()] if isinstance(one, np.ndarray) and not one.ndim else one for one in (a, b))
        reason = refusal(case, a, b)
        theirs: Any = None
        if not reason:
            try:
                with xr.set_options(arithmetic_join="exact", keep_attrs=keep):
                    theirs = b.__rsub__(a) if isinstance(a, np.generic) else a - b  # NumPy's own operator drops classes
            except Exception as error:  # whatever xarray does not have
                reason = f"{type(error).__name__} of xarray"
        try:
            found = values.ours(a, b, out=a if case.out else None, overflow=case.policy)
            _compute(found)
        except mn.OverflowFound:
            return _overflow(case, a, b, reason)
        except mn.MinuendError as error:
            if reason:
                return f"refused: {reason}"
            raise Difference(f"ours refuses: {error}") from None
        if reason:
            raise Difference(f"ours {found!r:.300}; expected a refusal: {reason}")
        _same(case, a, b, found, theirs)
        if case.tree and isinstance(found, xr.Dataset):
            _as_trees(case, a, b, found)
    return "equal"


def _as_trees(case: Case, a: Any, b: Any, found: Any) -> None:
    """As nodes of trees, datasets give what they give alone, and what xarray's own trees give."""
    import xarray as xr

    x, y = (xr.DataTree.from_dict({"/": one, "/c": one}) if isinstance(one, xr.Dataset) else one for one in (a, b))
    try:
        with xr.set_options(arithmetic_join="exact"):
            own = y.__rsub__(x) if isinstance(x, np.generic) else x - y
    except Exception:  # what xarray's trees do not have
        return
    trees = values.ours(x, y, overflow=case.policy)
    for node, theirs in zip(trees.subtree, own.subtree, strict=True):
        one, other = node.to_dataset(), theirs.to_dataset()
        if not one.equals(found) or one.attrs != other.attrs or list(one.coords) != list(other.coords):
            raise Difference(f"our node {node.path} is {one!r:.200}, theirs {other!r:.200}, alone {found!r:.200}")


def _compute(found: Any) -> None:
    if hasattr(found, "compute"):
        found.compute(scheduler="synchronous")


def parts(one: Any, name: str) -> Any:
    """The array of a variable of an object; a number as it is."""
    import xarray as xr

    if isinstance(one, xr.Dataset):
        one = one[name]
    return one


def names(a: Any, b: Any) -> list[str]:
    """The variables of a result."""
    import xarray as xr

    first = next((one for one in (a, b) if isinstance(one, xr.Dataset)), None)
    return [""] if first is None else [str(name) for name in first.data_vars]


def refusal(case: Case, a: Any, b: Any) -> str:
    """Why a call has to be refused; nothing where it has not."""
    import xarray as xr

    kinds = (xr.Dataset, xr.DataArray, xr.Variable)
    if case.out:
        return "out"
    if any(not isinstance(one, (*kinds, int, np.generic)) for one in (a, b)):
        return "another kind of object beside xarray's"
    both = [one for one in (a, b) if isinstance(one, xr.Dataset)]
    if len(both) == 2 and set(a.data_vars) != set(b.data_vars):
        return "data variables that differ"
    for one in (a, b):
        if why := _of_inside(one):
            return why
    for name in names(a, b):
        if why := _of_types(case, *(parts(one, name) for one in (a, b))):
            return why
    return ""


def _of_inside(one: Any) -> str:
    import xarray as xr

    inside = [one] if isinstance(one, xr.DataArray | xr.Variable) else list(getattr(one, "data_vars", {}).values())
    modules = {type(each.data).__module__.partition(".")[0] for each in inside}
    return "units or sparse arrays inside" if modules & {"pint", "sparse"} else ""


def _of_types(case: Case, x: Any, y: Any) -> str:
    found = {one.dtype for one in (x, y) if hasattr(one, "dtype")}
    if any(str(dtype) not in NUMBERS for dtype in found):
        return "a type without a difference"
    if len(found) > 1:
        return "two types"
    (dtype,) = found
    for one in (x, y):
        if type(one) is int and dtype.kind in "iu" and one > np.iinfo(dtype).max:
            return "a number outside the type"
    return ""


def _variables(a: Any, b: Any, name: str) -> tuple[Any, Any]:
    """Both operands' elements, broadcast by xarray by the names of their dims."""
    import xarray as xr

    x, y = (parts(one, name) for one in (a, b))
    dims: dict[Any, int] = {}
    for one in (x, y):
        dims |= {dim: n for dim, n in getattr(one, "sizes", {}).items() if dim not in dims}
    result = []
    for one in (x, y):
        if not hasattr(one, "dims"):
            result.append(np.asarray(one))
            continue
        variable = one.variable if isinstance(one, xr.DataArray) else one
        variable = variable.compute(scheduler="synchronous").set_dims(dims)
        result.append(
            np.ma.asarray(variable.data) if isinstance(variable.data, np.ma.MaskedArray) else np.asarray(variable.data)
        )
    return result[0], result[1]


def _overflow(case: Case, a: Any, b: Any, reason: str) -> str:
    if reason:
        return "refused: overflow before another reason"
    for name in names(a, b):
        x, y, dtype = *_variables(a, b, name), _dtype(a, b, name)
        if dtype in values.INTEGERS:
            lost = values.overflowing(
                dtype, (np.asarray(np.ma.getdata(one)).astype(dtype) for one in (x, y)), case.policy
            )
            if np.ma.filled(np.ma.array(lost, mask=np.ma.getmaskarray(x) | np.ma.getmaskarray(y)), False).any():
                return "overflow"
    raise Difference("ours overflows; nothing does")


def _dtype(a: Any, b: Any, name: str) -> str:
    return next(str(parts(one, name).dtype) for one in (a, b) if hasattr(parts(one, name), "dims"))


def _same(case: Case, a: Any, b: Any, found: Any, theirs: Any) -> None:
    """Compare class, dims, coordinates, attributes, names, indexes and elements."""

    if type(found).__name__ != type(theirs).__name__:
        raise Difference(f"ours is a {type(found).__name__}, theirs a {type(theirs).__name__}")
    mine, own = (_without_elements(one) for one in (found, theirs))
    if mine != own:
        at = next(i for i, (x, y) in enumerate(zip(mine, own, strict=False)) if x != y) if len(mine) == len(own) else 0
        raise Difference(f"ours has {mine[at]}, theirs {own[at]}")
    for name in names(a, b):
        _elements(case, name, a, b, parts(found, name), parts(theirs, name))


def _without_elements(one: Any) -> list[str]:
    """What an object says besides its elements, in order."""
    said = [
        f"dims {one.dims}",
        f"sizes {dict(one.sizes)}",
        f"attrs {one.attrs}",
        f"encoding {one.encoding}",
        f"name {getattr(one, 'name', '')}",
    ]
    if hasattr(one, "coords"):
        said += [
            f"coordinate {name} {var.variable!r} {var.attrs} {type(var.variable.data).__name__}"
            for name, var in one.coords.items()
        ]
        said += [f"index {name} {index!r} {type(index).__name__}" for name, index in one.indexes.items()]
    for name, var in getattr(one, "data_vars", {}).items():
        said.append(f"variable {name} {var.dims} {var.attrs} {var.encoding}")
    return said


def _elements(case: Case, name: str, a: Any, b: Any, mine: Any, own: Any) -> None:
    dtype = _dtype(a, b, name)
    x, y = (
        np.ma.asarray(one) if isinstance(one, np.ma.MaskedArray) else one.astype(dtype)
        for one in _variables(a, b, name)
    )
    mask = np.ma.getmaskarray(x) | np.ma.getmaskarray(y)
    x, y = np.ma.getdata(x), np.ma.getdata(y)
    if dtype in values.INTEGERS and case.policy in ("error", "widen"):
        if np.any(values.overflowing(dtype, (x, y), case.policy) & ~mask):
            raise Difference("ours gives an answer; differences overflow")
        x, y = (np.where(mask, np.zeros((), dtype), one) for one in (x, y))
    want = values.difference(dtype, (x, y), case.policy)
    if type(mine.data) is not type(own.data):
        raise Difference(f"ours holds a {type(mine.data).__name__}, theirs a {type(own.data).__name__}")
    if getattr(mine.data, "chunks", None) != getattr(own.data, "chunks", None):
        raise Difference(f"ours has chunks {mine.data.chunks}, theirs {own.data.chunks}")
    got = mine.compute(scheduler="synchronous").data
    if mine.dtype != want.dtype or got.dtype != want.dtype or got.shape != want.shape:
        raise Difference(f"ours is of {mine.dtype}, {got.dtype}, {got.shape}, theirs of {want.dtype}, {want.shape}")
    if not np.array_equal(np.ma.getmaskarray(got), mask):
        raise Difference(f"ours masks {np.ma.getmaskarray(got)}, theirs {mask}")
    to = str(want.dtype)
    one, other = (np.where(mask, 0, values.compared(to, np.ma.getdata(each))) for each in (got, want))
    if not np.array_equal(one, other):
        raise Difference(f"ours {got!r:.200}, theirs {want!r:.200}")


SURFACES = (
    Surface("xarray", "Variables, DataArrays and Datasets", ("xarray", "dask", "pint", "sparse"), draw, compare, Case),
)
