"""Random labelled data sets, which xarray writes, reads back and computes the expected difference of.

The netCDF and the zarr surface share what is here: data sets as values of plain fields, what xarray reads of a file,
the rules by which two files must be refused, and the comparison of what was written. Nothing of it uses this package's
own reading of files.
"""

from __future__ import annotations

import dataclasses
import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from differential import subtracting
from differential.refusals import Reason, Why
from differential.surface import Difference

Array = np.ndarray[Any, np.dtype[Any]]

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64", "float16")
CLASSIC = ("int8", "int16", "int32", "float32", "float64")

NODATA = (
    "", "default", "fill", "missing", "both", "list", "fill and nan", "nan", "outside", "other type", "two values",
)  # fmt: skip
"""What a variable states of elements without data; ``default`` is what xarray states of floats by itself."""

PACKING = ("", "scale", "scale and offset", "offset", "other scale", "other offset", "float32 scale")
INDEX = ("", "float64", "float32", "int32", "int16", "time", "time noleap", "time hours", "text")
"""What stands along an axis; nothing where it is ``""``."""

EXTRAS = (
    "bounds", "unsigned", "scalar", "scalar text", "two-dimensional", "text along", "grid mapping", "attributes",
    "file attributes", "unlimited", "grown", "times", "bool", "text variable", "valid range", "one selected",
    "nan along", "flags",
)  # fmt: skip

B_IS = (
    "shifted", "reversed", "without index", "other index type", "other index unit", "other calendar", "other origin",
    "other dimension", "other two-dimensional", "other scalar", "without scalar", "other grid mapping", "other bounds",
    "other spelling", "other spelling of speed", "other length", "without first axis", "a without first axis",
    "without axes", "other type", "transposed",
    "more variables", "other text", "other unit", "other attributes", "other units of times", "same time",
)  # fmt: skip
"""The one thing in which B is not like A; ``""`` where there is none."""


@dataclass(frozen=True)
class Case:
    """Two data sets, how they are stored, and how they are subtracted; fields are members of the tables."""

    seed: int = 0
    a: str = "netcdf4"
    b: str = "netcdf4"
    out: str = ".nc"
    dtype: str = "float64"
    sizes: tuple[int, ...] = (2,)
    names: tuple[str, ...] = ("v",)
    index: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    b_is: str = ""
    nodata_a: str = ""
    nodata_b: str = ""
    packing_a: str = ""
    packing_b: str = ""
    storage_a: tuple[str, ...] = ()
    storage_b: tuple[str, ...] = ()
    overflow: Literal["wrap", "saturate", "widen", "error"] = "wrap"
    group: str = ""
    common: bool = False
    block: int = 0


# ---- making data sets ----------------------------------------------------------------------------------------------


def numbers(dtype: str, shape: Sequence[int], source: np.random.Generator) -> Array:
    """Return random bits, small numbers and the edges of a type."""
    kind, count = np.dtype(dtype), int(np.prod(shape))
    bits = source.integers(0, 256, count * kind.itemsize, dtype=np.uint8).view(kind)
    small = source.integers(0, 20, count).astype(kind)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        edges = np.array([info.min, info.max, 0, 1, info.max // 2], kind)
    else:
        real = np.finfo(kind)
        edges = np.array([np.nan, np.inf, -np.inf, -0.0, real.max, real.tiny, real.smallest_subnormal, 0.5], kind)
    choice = source.integers(0, 3, count)
    return np.choose(choice, [bits, small, source.choice(edges, count)]).astype(kind).reshape(shape)


def _filled(values: Array, fills: Sequence[Any], source: np.random.Generator) -> Array:
    """Put values that mean no data at a fifth of the places."""
    for fill in fills:
        values = np.where(source.random(values.shape) < 0.2, np.asarray(fill).astype(values.dtype), values)
    return values


def _fill_of(dtype: str) -> Any:
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return kind.type(-999.0)
    return kind.type(np.iinfo(kind).max - 1 if kind.kind == "u" else np.iinfo(kind).min + 1)


def stated(kind: str, dtype: str) -> tuple[dict[str, Any], list[Any]]:
    """Return the attributes that state what is no data, and the values of that kind to put among the elements."""
    value, real = _fill_of(dtype), np.dtype(dtype).kind == "f"
    other = np.dtype(dtype).type(7)
    match kind:
        case "fill":
            return {"_FillValue": value}, [value]
        case "missing":
            return {"missing_value": value}, [value]
        case "both":
            return {"_FillValue": value, "missing_value": value}, [value]
        case "list":
            return {"missing_value": np.array([value, value])}, [value]
        case "fill and nan" if real:
            return {"_FillValue": np.dtype(dtype).type(np.nan), "missing_value": value}, [value]
        case "nan" if real:
            return {"_FillValue": np.dtype(dtype).type(np.nan)}, []
        case "outside":
            return {"missing_value": np.float64(1e300) if real else np.float64(-9999.5)}, []
        case "other type":
            return {"missing_value": np.float64(value) if abs(float(value)) < 2**53 else value}, [value]
        case "two values":
            return {"_FillValue": value, "missing_value": other}, [value, other]
    return {}, []


def packed(kind: str) -> dict[str, Any]:
    """Return the attributes of a packing."""
    match kind:
        case "scale":
            return {"scale_factor": 0.01}
        case "scale and offset":
            return {"scale_factor": 0.01, "add_offset": 273.15}
        case "offset":
            return {"add_offset": 5.0}
        case "other scale":
            return {"scale_factor": 0.02}
        case "other offset":
            return {"scale_factor": 0.01, "add_offset": 0.0}
        case "float32 scale":
            return {"scale_factor": np.float32(0.01)}
    return {}


_ORIGINS = {
    "time": ("days since 2000-01-01", "standard"),
    "time noleap": ("days since 2000-01-01", "noleap"),
    "time hours": ("hours since 2000-01-01 06:00", "proleptic_gregorian"),
}


_IN_OTHER_WORDS = {
    "time": ("day since 2000-1-1 00:00:00", "gregorian"),
    "time noleap": ("days since 2000-01-01T00:00Z", "365_day"),
    "time hours": ("h since 2000-01-01 06:00:00.0", "standard"),
}
"""The same moments, as others state them."""


def _along(kind: str, name: str, size: int, *, b_is: str) -> Any:
    """Return what stands along an axis as xarray's variable."""
    attributes: dict[str, Any] = {"units": "m", "long_name": f"the {name} axis"}
    values: Any = np.arange(size) * 3 + 1
    if b_is == "shifted":
        values = values + 1
    if b_is == "reversed":
        values = values[::-1].copy()
    if kind == "text":
        return (name,), np.array([f"é{one}" for one in values.tolist()], object), {}
    if kind in _ORIGINS:
        units, calendar = _ORIGINS[kind]
        units = "days since 1999-01-01" if b_is == "other origin" else units
        calendar = "360_day" if b_is == "other calendar" else calendar
        if b_is == "same time":
            units, calendar = _IN_OTHER_WORDS[kind]
        return (name,), values.astype("float64"), {"units": units, "calendar": calendar}
    dtype = kind if b_is != "other index type" else "float64" if kind != "float64" else "int32"
    if b_is == "other index unit":
        attributes["units"] = "km"
    return (name,), values.astype(dtype), attributes


def dataset(case: Case, side: str) -> tuple[Any, dict[str, dict[str, Any]]]:
    """Return a data set of stored numbers, and what xarray takes as ``encoding``."""
    import xarray

    b_is = case.b_is if side == "b" else ""
    source = np.random.default_rng([case.seed, side == "b"])
    dims, sizes = tuple(f"d{k}" for k in range(len(case.sizes))), list(case.sizes)
    if b_is == "other dimension" and dims:
        dims = (*dims[:-1], "other")
    if b_is == "other length" and sizes:
        sizes[-1] += 1
    kinds = (*case.index, *("",) * len(dims))[: len(dims)]
    of_size = dict(zip(dims, sizes, strict=True))
    found = xarray.Dataset()
    for name, kind in zip(dims, kinds, strict=True):
        if kind and b_is != "without index":
            found.coords[name] = _along(kind, name, of_size[name], b_is=b_is)
    _add_extras(case, found, of_size, b_is)
    own = dims
    first = (case.b_is == "without first axis" and side == "b") or (case.b_is == "a without first axis" and side == "a")
    if b_is == "without axes":
        own = ()
    elif first:
        own = dims[1:]
    elif b_is == "transposed":
        own = dims[::-1]
    dtype = case.dtype
    if b_is == "other type":
        dtype = "float32" if dtype != "float32" else "int16"
    encoding: dict[str, dict[str, Any]] = {}
    names = case.names + (("more",) if b_is == "more variables" else ())
    for name in names:
        found[name] = own, *_variable(case, side, dtype, [of_size[dim] for dim in own], source)
        if "grid mapping" in case.extras:
            found[name].attrs["grid_mapping"] = "crs"
        plain = (case.nodata_a if side == "a" else case.nodata_b) != "default"
        encoding[name] = {"_FillValue": None} if plain and "_FillValue" not in found[name].attrs else {}
    if "text variable" in case.extras:
        word = "two" if b_is == "other text" else "one"
        found["words"] = dims[:1], np.array([word] * sizes[0] if dims else word, object)
    return found, encoding


def _variable(
    case: Case, side: str, dtype: str, shape: Sequence[int], source: np.random.Generator
) -> tuple[Array, dict[str, Any]]:
    nodata, fills = stated(case.nodata_a if side == "a" else case.nodata_b, dtype)
    b_is = case.b_is if side == "b" else ""
    attributes: dict[str, Any] = {"units": "degC" if b_is == "other unit" else "K"}
    if case.b_is == "other spelling of speed":
        attributes["units"] = "metres s**-1" if b_is else "m/s"
    if b_is == "other spelling":
        attributes["units"] = "kelvin"
    attributes |= nodata | packed(case.packing_a if side == "a" else case.packing_b)
    if "times" in case.extras:
        attributes |= {"units": "hours since 2000-01-01", "calendar": "noleap"}
        if b_is == "other units of times":
            attributes["units"] = "hours since 2000-01-02"
        if dtype == "int64" and not fills:
            fills = [np.iinfo(dtype).min]  # NaT, as xarray writes it
    if "attributes" in case.extras:
        attributes |= {"long_name": "Größe", "empty": "", "level": np.int32(3), "rates": np.array([0.5, np.nan])}
    if "flags" in case.extras:
        attributes |= {"flag_values": np.array([1, 2], dtype), "flag_meanings": "low high"}
    if b_is == "other attributes":
        attributes |= {"long_name": "another", "only in b": 1.5}
    if "valid range" in case.extras:
        attributes |= {"valid_range": np.array([0, 9], dtype), "actual_range": np.array([0, 9], dtype)}
    if "unsigned" in case.extras and np.dtype(dtype).kind in "iu":
        attributes |= {"_Unsigned": "true" if np.dtype(dtype).kind == "i" else "false"}
    if "bool" in case.extras and np.dtype(dtype).kind in "iu":
        attributes |= {"dtype": "bool"}
    return _filled(numbers(dtype, shape, source), fills, source), attributes


def _add_extras(case: Case, found: Any, sizes: Mapping[str, int], b_is: str) -> None:
    """Add coordinates that are no index, bounds, and what describes a coordinate system."""
    extras, dims = case.extras, tuple(sizes)
    for dim in list(found.coords):
        if "bounds" in extras and found[dim].dtype.kind in "iuf":
            found.coords[f"{dim}_bounds"] = (dim, "nv"), np.zeros((sizes[dim], 2)) + (b_is == "other bounds")
            found[dim].attrs["bounds"] = f"{dim}_bounds"
        if "nan along" in extras and found[dim].dtype.kind == "f" and sizes[dim]:
            values = found[dim].values.copy()
            values[-1] = np.nan
            found.coords[dim] = (dim,), values, found[dim].attrs
    if "scalar" in extras and b_is != "without scalar":
        found.coords["level"] = (), np.float64(2 if b_is == "other scalar" else 1), {"units": "hPa"}
    if "scalar text" in extras:
        found.coords["station"] = (), np.array("other" if b_is == "other text" else "some", object)
    if "two-dimensional" in extras and len(dims) >= 2:
        values = np.arange(sizes[dims[-2]] * sizes[dims[-1]], dtype="float32").reshape(sizes[dims[-2]], sizes[dims[-1]])
        found.coords["place"] = dims[-2:], values + (b_is == "other two-dimensional"), {"units": "degrees_north"}
    if "text along" in extras and dims:
        texts = [f"{'z' if b_is == 'other text' else 'y'}{k}" for k in range(sizes[dims[-1]])]
        found.coords["label"] = dims[-1:], np.array([*texts, None], object)[:-1]
    if "grid mapping" in extras:
        radius = 6378137.0 + (b_is == "other grid mapping")
        found.coords["crs"] = (), np.int32(0), {"grid_mapping_name": "latitude_longitude", "semi_major_axis": radius}
    if "file attributes" in extras:
        found.attrs |= {"title": "a title", "Conventions": "CF-1.8", "version": 3}


# ---- what xarray reads ---------------------------------------------------------------------------------------------


def stored(path: str, group: str, engine: str | None) -> Any:
    """Return what xarray reads of a file, as it is stored: not scaled, not masked, moments as numbers."""
    import xarray

    options: dict[str, Any] = {"engine": engine} | ({"group": group} if group else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with xarray.open_dataset(
            path, mask_and_scale=False, decode_times=False, decode_coords="all", cache=False, **options
        ) as found:
            return of_their_sign(found.load())


def of_their_sign(found: Any) -> Any:
    """Return stored numbers as ``_Unsigned`` has them: bits of the other sign, those of nodata too."""
    for name, one in found.data_vars.items():
        own = {"true": "u", "false": "i"}.get(str(one.attrs.get("_Unsigned")))
        if own is None or one.dtype.kind not in "iu":
            continue
        attributes = {key: value for key, value in one.attrs.items() if key != "_Unsigned"}
        kind = f"{own}{one.dtype.itemsize}"
        for key in attributes.keys() & {"_FillValue", "missing_value"}:
            stated = np.asarray(attributes[key])
            if np.array_equal(stated.astype(one.dtype), stated):
                attributes[key] = stated.astype(one.dtype).view(kind)[()]
        seen = one.dtype.newbyteorder("=")
        made = one.copy(data=one.values.astype(seen).view(kind))
        made.attrs = attributes
        found[name] = made
    return found


def raw_attributes(variable: Any) -> dict[str, Any]:
    """Return all attributes of a variable, those too that xarray moves to its ``encoding``."""
    moved = {
        key: variable.encoding[key]
        for key in ("_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned", "dtype")
        if key in variable.encoding and key not in variable.attrs and key != "dtype"
    }
    return {**variable.attrs, **moved}


def _values_of_nodata(variable: Any) -> list[Any]:
    """Return the distinct values that a variable states for elements without data, and that its type has."""
    found: list[Any] = []
    for key in ("_FillValue", "missing_value"):
        for one in np.ravel(raw_attributes(variable).get(key, [])):
            value = one.item() if isinstance(one, np.generic) else one
            if variable.dtype.kind in "iu":
                exact = isinstance(value, int) or (np.isfinite(value) and value == int(value))
                info = np.iinfo(variable.dtype)
                if exact and info.min <= int(value) <= info.max:
                    found.append(int(value))
                continue
            with np.errstate(all="ignore"):
                near = float(np.asarray(value).astype(variable.dtype))
            if np.isnan(value) or np.isclose(near, value, rtol=1e-3):
                found.append(near)
    distinct = {"nan" if one != one else one: one for one in found}  # noqa: PLR0124
    if len(distinct) > 1:
        distinct.pop("nan", None)
    if not distinct and variable.dtype == np.int64 and " since " in str(raw_attributes(variable).get("units", "")):
        return [np.iinfo(np.int64).min]
    return list(distinct.values())


def marked(variable: Any) -> Array:
    """Return which elements hold no data because they are a stated value: as xarray masks, exactly for 64 bits.

    xarray compares 64-bit integers as float64, and a float32 element with a value of float64 as the latter.
    """
    import xarray

    values = variable.values
    own = np.zeros(values.shape, bool)
    for one in _values_of_nodata(variable):
        own |= np.isnan(values) if one != one else values == np.asarray(one).astype(values.dtype)  # noqa: PLR0124
    if values.dtype.kind in "iu" and values.dtype.itemsize < 8 and values.size:
        plain = {k: v for k, v in raw_attributes(variable).items() if k in ("_FillValue", "missing_value")}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            masked = xarray.conventions.decode_cf_variable("v", xarray.Variable(variable.dims, values, plain))
            theirs = np.asarray(masked.isnull())
        if not np.array_equal(own, theirs):
            raise Difference(f"the rule of masks here gives {own.tolist()}, xarray {theirs.tolist()}")
    return own


# ---- what must be refused ------------------------------------------------------------------------------------------

_MEANING = ("units", "calendar", "scale_factor", "add_offset")


def _same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str) and one == other
    x, y = np.asarray(one), np.asarray(other)
    if x.dtype.kind in "OUS" or y.dtype.kind in "OUS":
        return x.shape == y.shape and [_text(v) for v in x.flat] == [_text(v) for v in y.flat]
    return x.shape == y.shape and bool(np.array_equal(x, y, equal_nan=x.dtype.kind == "f" and y.dtype.kind == "f"))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def why_refused(case: Case, a: Any, b: Any) -> tuple[Why, ...]:
    """Return the rules by which the two must be refused; none where they have to be computed."""
    names = [of_numbers(one) for one in (a, b)]
    if "one selected" in case.extras:
        names = [{case.names[0]}, {case.names[0]}]
    elif names[0] != names[1] and not case.common:
        others = sorted(names[0] ^ names[1])
        texts = [name for name in others if name in a.data_vars and name in b.data_vars]  # without elements, numbers
        return (Reason.NAMES(*(f"{name}'" for name in others)), *(Reason.TYPE("'string'", name) for name in texts))
    return tuple(reason for name in sorted(names[0] & names[1]) for reason in _why_pair(case, a, b, name))


def of_numbers(data: Any) -> set[str]:
    """Return the names of the variables that are no texts."""
    return {str(name) for name, one in data.data_vars.items() if one.dtype.kind not in "OSUT"}


def _why_pair(case: Case, a: Any, b: Any, name: str) -> Iterator[Why]:
    x, y = a[name], b[name]
    for one in (x, y):
        if one.dtype.kind not in "iuf":
            yield Reason.TYPE(name)
        elif one.dtype.kind in "iu" and raw_attributes(one).get("dtype") == "bool":
            yield Reason.TYPE("'bool'", name)
    if x.dtype.kind not in "iuf" or y.dtype.kind not in "iuf":
        return
    if x.dtype.newbyteorder("=") != y.dtype.newbyteorder("="):
        yield Reason.TYPES(f"A is of {x.dtype.name} and B of {y.dtype.name};")
        return
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        yield Reason.SHAPES()
        return
    if case.out == ".nc" and x.dtype == "float16":
        yield Reason.NO_WORD("float16")
    yield from _why_meaning(x, y)
    yield from _why_place(a, b, name)
    yield from _why_computed(case, x, y)


def _why_computed(case: Case, x: Any, y: Any) -> Iterator[Why]:
    if x.dtype.kind == "f" or case.overflow not in ("error", "widen"):
        return
    out = subtracting.result_type(x.dtype, case.overflow)
    if case.overflow == "widen":
        stating = [*_values_of_nodata(x), *_values_of_nodata(y)][:1]
        if stating and not np.iinfo(out).min <= stating[0] <= np.iinfo(out).max:
            yield Reason.NODATA_STATED(stating[0])
            return
    exact, info = exact_difference(x.values, y.values), np.iinfo(out)
    lost = np.asarray((exact < info.min) | (exact > info.max), bool)
    # A difference of one element and more has nodata only where a file states some.
    lost &= ~np.broadcast_to(marked(x) | marked(y), lost.shape)
    if lost.any():
        yield subtracting.overflowing(lost, out)


def _why_meaning(x: Any, y: Any) -> Iterator[Why]:
    p, q = raw_attributes(x), raw_attributes(y)
    if float(p.get("scale_factor", 1)) != float(q.get("scale_factor", 1)):
        yield Reason.SCALE()
    if float(p.get("add_offset", 0)) != float(q.get("add_offset", 0)):
        yield Reason.SCALE()
    units = [str(one.get("units", "")) for one in (p, q)]
    if all("since" in one for one in units):
        if units[0] != units[1] or p.get("calendar") != q.get("calendar"):
            yield Reason.ORIGIN(*units)
    elif all(units) and _UNITS.get(units[0], units[0]) != _UNITS.get(units[1], units[1]):
        yield Reason.UNITS(f"{units[0]!r} and {units[1]!r}")


_UNITS = {"kelvin": "K", "metres s**-1": "m/s"}
"""Two spellings of a unit."""


def _why_place(a: Any, b: Any, name: str) -> Iterator[Why]:
    """Say in what the places of two variables differ."""
    x, y = a[name], b[name]
    for dim, other in zip(reversed(x.dims), reversed(y.dims), strict=False):
        swapped = dim != other and (dim in y.dims or other in x.dims)
        if a.sizes[dim] != b.sizes[other] and not swapped:
            continue
        if dim != other:
            yield Reason.AXIS_NAMES(repr(dim), repr(other))
        elif (dim in x.coords) != (dim in y.coords) and a.sizes[dim] > 1:
            yield Reason.NO_COORDINATES(repr(dim))
    for label in set(x.coords) & set(y.coords):
        one, other = x.coords[label], y.coords[label]
        if not one.dims or not other.dims:
            continue
        stated = [{key: c.attrs.get(key) for key in _MEANING} for c in (one, other)]
        if not all(map(_same, *(each.values() for each in stated))) and _in_other_words(*stated):
            yield Reason.COORDINATE_MEANING(repr(label))
        if one.shape == other.shape and not _same(one.values, other.values):
            yield Reason.COORDINATES(repr(label))
        yield from _why_cells(a, b, name, label)
    systems = [_system(one, name) for one in (a, b)]
    if systems[0] != systems[1]:
        yield Reason.SYSTEM()


def _in_other_words(p: Mapping[str, Any], q: Mapping[str, Any]) -> bool:
    """Whether attributes that differ do not state one time in two ways."""
    times = [(one["units"], one["calendar"]) for one in (p, q)]
    return times not in [[own, _IN_OTHER_WORDS[kind]] for kind, own in _ORIGINS.items()]


def _why_cells(a: Any, b: Any, name: str, label: Any) -> Iterator[Why]:
    """Say that coordinates, which lie along each other, have other bounds."""
    one, other = (of[name].coords[label] for of in (a, b))
    bounds = [
        of.variables.get(str(c.encoding.get("bounds") or c.attrs.get("bounds"))) for of, c in ((a, one), (b, other))
    ]
    if one.shape == other.shape and not any(found is None for found in bounds) and not _same(*bounds):
        yield Reason.BOUNDS(repr(label))


def _system(of: Any, name: str) -> Any:
    mapping = of[name].encoding.get("grid_mapping") or of[name].attrs.get("grid_mapping")
    if mapping not in of.variables:
        return None
    return {key: np.asarray(value).tolist() for key, value in of[mapping].attrs.items()}


# ---- comparing -----------------------------------------------------------------------------------------------------


def exact_difference(p: Array, q: Array) -> Any:
    """Return the difference of integers as Python has them; an array of objects, of no axes too."""
    shape = np.broadcast_shapes(p.shape, q.shape)
    found = np.empty(shape, object)
    for at in np.ndindex(shape):
        found[at] = int(np.broadcast_to(p, shape)[at]) - int(np.broadcast_to(q, shape)[at])
    return found


def subtracted(x: Any, y: Any, overflow: str) -> Array:
    """Return the stored numbers' difference, computed by NumPy."""
    p, q = (one.values.astype(one.dtype.newbyteorder("=")) for one in (x, y))
    with np.errstate(all="ignore"):
        if p.dtype.kind == "f" or overflow in ("wrap", "error"):
            return np.asarray(p - q)
        exact = exact_difference(p, q)
        if overflow == "saturate":
            info = np.iinfo(p.dtype)
            return np.asarray(np.clip(exact, info.min, info.max), object).astype(p.dtype)
        wide = np.dtype(f"int{min(64, 16 * p.dtype.itemsize)}")
        return np.asarray(exact & ((1 << 8 * wide.itemsize) - 1), object).astype(f"u{wide.itemsize}").view(wide)


def _bits(values: Array) -> Array:
    """Return the bits of numbers in one byte order, those of all NaN alike."""
    plain = np.array(values.astype(values.dtype.newbyteorder("=")))
    if plain.dtype.kind == "f":
        plain[np.isnan(plain)] = np.nan
    return plain.reshape(-1).view(f"u{plain.dtype.itemsize}") if plain.dtype.kind in "iuf" else plain.reshape(-1)


def check_values(name: str, a: Any, b: Any, c: Any, overflow: str) -> None:
    """Compare the elements of a difference, bit for bit."""
    x, y, z = a[name], b[name], c[name]
    expected = subtracted(x, y, overflow)
    stating = [*_values_of_nodata(x), *_values_of_nodata(y)][:1]  # the first one stands for all
    if _values_of_nodata(z) != stating and not (
        stating and stating[0] != stating[0] and np.isnan(_values_of_nodata(z)[0])
    ):
        raise Difference(f"{name}: ours states the nodata {_values_of_nodata(z)}, expected {stating}")
    if stating:
        own = [np.broadcast_to(marked(one), expected.shape) for one in (x, y)]
        with np.errstate(all="ignore"):
            expected = np.where(own[0] | own[1], np.asarray(stating[0]).astype(expected.dtype), expected)
    check_elements(name, z.values, expected)


def check_report(reported: Any, x: Any, y: Any, z: Any) -> None:
    """Compare what our report says of a difference with its elements and with the exact one."""
    missing = np.broadcast_to(marked(x), z.shape) | np.broadcast_to(marked(y), z.shape)
    nodata = next(iter([*_values_of_nodata(x), *_values_of_nodata(y)]), None)
    beyond = subtracting.beyond(x.values, y.values, missing)
    subtracting.same_report(reported, subtracting.Expected(z.values, nodata, beyond))


def check_elements(name: str, came: Array, expected: Array) -> None:
    """Compare types, shapes and elements, bit for bit."""
    if came.dtype.newbyteorder("=") != expected.dtype or came.shape != expected.shape:
        raise Difference(f"{name}: ours {came.dtype} {came.shape}, theirs {expected.dtype} {expected.shape}")
    p, q = _bits(came), _bits(expected)
    if not np.array_equal(p, q):
        at = int(np.argmax(p != q))
        raise Difference(
            f"{name}: {int((p != q).sum())} of {p.size} elements differ, the first at {at}: ours "
            f"{came.reshape(-1)[at]}, theirs {expected.reshape(-1)[at]}"
        )


LEFT_OUT = {
    "_FillValue", "missing_value", "add_offset", "valid_min", "valid_max", "valid_range", "actual_range",
    "coordinates", "grid_mapping", "flag_values", "flag_masks", "flag_meanings",
}  # fmt: skip
"""Attributes of A that would be wrong of a difference, and what xarray keeps elsewhere."""


def check_attributes(where: str, came: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Compare attributes by name and value."""
    if set(came) != set(expected):
        raise Difference(f"{where}: ours has the attributes {sorted(came)}, theirs {sorted(expected)}")
    for name, value in expected.items():
        if not _same(came[name], value):
            raise Difference(f"{where}: the attribute {name} is {came[name]!r}, theirs {value!r}")


def expected_attributes(x: Any, *, moments: bool) -> dict[str, Any]:
    """Return the attributes that a difference has of those of A."""
    found = {
        key: value
        for key, value in raw_attributes(x).items()
        if key not in LEFT_OUT and not key.startswith("_Quantize")
    }
    if moments:
        found["units"] = str(found["units"]).partition(" since ")[0]
        found.pop("calendar", None)
    return found


def check_place(name: str, owner: Any, other: Any, c: Any) -> None:
    """Compare the coordinates of a difference with those of the operand whose place it has."""
    x, y, z = owner[name], other[name], c[name]
    if z.dims != x.dims:
        raise Difference(f"{name}: ours has the dimensions {z.dims}, theirs {x.dims}")
    labels = {
        label
        for label, one in x.coords.items()
        if one.dims
        or label not in y.coords
        or (
            not y.coords[label].dims
            and _same(one.values, y.coords[label].values)
            and all(_same(one.attrs.get(key), y.coords[label].attrs.get(key)) for key in _MEANING)
        )
    }
    mapping = x.encoding.get("grid_mapping")
    labels |= {mapping} & set(x.coords)
    if set(z.coords) != labels:
        raise Difference(
            f"{name}: ours has the coordinates {sorted(map(str, z.coords))}, theirs {sorted(map(str, labels))}"
        )
    for label in labels:
        check_companion(str(label), owner, c)
        bounds = x.coords[label].encoding.get("bounds") or x.coords[label].attrs.get("bounds")
        if bounds:
            check_companion(bounds, owner, c)


def check_texts(name: str, owner: Any, other: Any, c: Any) -> None:
    """Compare texts along the axes of a variable: they go with it where the other operand has no other ones."""
    along = [{key for key in _texts(one) if set(one[key].dims) <= set(one[name].dims)} for one in (owner, other)]
    for key in along[0]:
        if key not in along[1] or owner.variables[key].identical(other.variables[key]):
            check_companion(key, owner, c)
        elif key in c.variables:
            raise Difference(f"ours has the texts {key}, which differ")


def _texts(data: Any) -> set[str]:
    return {str(name) for name, one in data.data_vars.items() if one.dtype.kind in "OSUT" and one.dims}


def check_companion(label: str, owner: Any, c: Any) -> None:
    """Compare coordinates, bounds or a grid mapping with A's."""
    if label not in c.variables:
        raise Difference(f"ours has no {label}, theirs has")
    one, came = owner.variables[label], c.variables[label]
    if one.dims != came.dims:
        raise Difference(f"coordinates {label}: ours has the dimensions {came.dims}, theirs {one.dims}")
    text = one.dtype.kind in "OSUT"
    if text != (came.dtype.kind in "OSUT") or (
        not text and one.dtype.newbyteorder("=") != came.dtype.newbyteorder("=")
    ):
        raise Difference(f"coordinates {label}: ours is {came.dtype}, theirs {one.dtype}")
    equal = _same(came.values, one.values) if text else np.array_equal(_bits(came.values), _bits(one.values))
    if not equal:
        raise Difference(f"coordinates {label}: ours {came.values!r}, theirs {one.values!r}")
    check_attributes(f"coordinates {label}", raw_attributes(came), raw_attributes(one))


def compare(case: Case, folder: Path, files: Mapping[str, File]) -> str:
    """Write a case by xarray, subtract it, and compare all of what came with what xarray and NumPy say."""
    case = case if case.names else with_fields(case, names=("v",))
    a, b = (_written(case, side, folder, files) for side in "ab")
    out = f"{folder}/c{case.out}"
    reader = {file.suffix: file for file in reversed(list(files.values()))}[case.out]
    pair = [one.read(path, case.group) for path, one in (a, b)]
    reason = why_refused(case, *pair)
    selected = f"::{case.group + '/' if case.group else ''}{case.names[0]}" if "one selected" in case.extras else ""
    common = case.common and not selected
    came = subtracting.ours([a[0] + selected, b[0] + selected], out, case.block, overflow=case.overflow, common=common)
    if outcome := subtracting.settled(came, reason, out):
        return outcome
    reported = {one.name.rpartition("/")[2]: one for one in came.tensors}
    c = reader.read(out, case.group)
    names = {case.names[0]} if selected else of_numbers(pair[0]) & of_numbers(pair[1])
    if of_numbers(c) != names:
        raise Difference(f"ours has the variables {sorted(c.data_vars)}, theirs {sorted(names)}")
    # Where both are repeated, the difference has axes without names; xarray joins those of both.
    of_b = {name for name in names if pair[0][name].shape != c[name].shape and pair[1][name].shape == c[name].shape}
    for name in sorted(names):
        check_values(name, pair[0], pair[1], c, case.overflow)
        check_report(reported[name], pair[0][name], pair[1][name], c[name])
        owner, other = reversed(pair) if name in of_b else pair
        units = [str(raw_attributes(one[name]).get("units", "")) for one in pair]
        moments = all(" since " in one for one in units)
        came = {
            k: v for k, v in raw_attributes(c[name]).items() if k not in ("_FillValue", "coordinates", "grid_mapping")
        }
        check_attributes(name, came, expected_attributes(owner[name], moments=moments))
        if c[name].shape in (pair[0][name].shape, pair[1][name].shape):
            check_place(name, owner, other, c)
            check_texts(name, owner, other, c)
        same = case.out == a[1].suffix and not of_b
        if same and (differs := reader.stored_alike(pair[0][name], c[name], a[0], out, case, name)):
            raise Difference(f"{name}: {differs}")
    if not of_b:
        check_attributes("the file", c.attrs, pair[0].attrs)
    return "equal"


@dataclass(frozen=True)
class File:
    """A way to store a data set.

    Attributes:
        suffix: of the path. types: element types that it holds. write: writes a data set with an encoding to a path.
        read: returns what xarray reads. stored_alike: says in what two variables are stored in other ways.
    """

    suffix: str
    types: tuple[str, ...]
    write: Callable[[Any, str, dict[str, Any], Case, tuple[str, ...]], None]
    read: Callable[[str, str], Any]
    stored_alike: Callable[[Any, Any, str, str, Case, str], str]


def _written(case: Case, side: str, folder: Path, files: Mapping[str, File]) -> tuple[str, File]:
    file = files[case.a if side == "a" else case.b]
    path = f"{folder}/{side}{file.suffix}"
    found, encoding = dataset(case, side)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file.write(found, path, encoding, case, case.storage_a if side == "a" else case.storage_b)
    return path, file


# ---- drawing -------------------------------------------------------------------------------------------------------


def draw(source: random.Random, files: Mapping[str, File], own: Sequence[str], storage: Sequence[str]) -> Case:
    """Draw a case whose A is one of some files."""
    a = source.choice(list(own))
    b = a if source.random() < 0.5 else source.choice(list(own))
    if source.random() < 0.15:
        b = source.choice(list(files))
    types = [one for one in files[a].types if one in files[b].types]
    sizes = tuple(source.choices((1, 2, 3, 5, 0), (2, 4, 4, 2, 1))[0] for _ in range(source.choice((0, 1, 1, 2, 2, 3))))
    nodata, packing = source.choice(NODATA), source.choice(PACKING) if source.random() < 0.3 else ""

    def few(options: Sequence[str], most: int) -> tuple[str, ...]:
        return tuple(dict.fromkeys(source.choices(options, k=source.randint(0, most))))

    chosen = few(storage, 3)
    return Case(
        seed=source.randrange(1 << 30),
        a=a,
        b=b,
        out=files[a].suffix if source.random() < 0.8 else source.choice(sorted({one.suffix for one in files.values()})),
        dtype=source.choice(types),
        sizes=sizes,
        names=source.choice((("v",), ("v",), ("v", "w"), ("größe", "v w"))),
        index=tuple(source.choice(INDEX) for _ in sizes),
        extras=few([one for one in EXTRAS if one != "bool"], 4) + few(("bool", *(("",) * 30)), 1),
        b_is=source.choice(B_IS) if source.random() < 0.5 else "",
        nodata_a=nodata,
        nodata_b=nodata if source.random() < 0.6 else source.choice(NODATA),
        packing_a=packing,
        packing_b=packing if source.random() < 0.8 else source.choice(PACKING),
        storage_a=chosen,
        storage_b=chosen if source.random() < 0.5 else few(storage, 3),
        overflow=source.choice(("wrap", "wrap", "saturate", "widen", "error")),
        group=source.choice(("", "", "", "g", "outer/inner")),
        common=source.random() < 0.2,
        block=source.choice(subtracting.BLOCKS),
    )


def with_fields(case: Case, **fields: Any) -> Case:
    """Return a case with other fields."""
    return dataclasses.replace(case, **fields)
