"""netCDF: variables by path, ``file.nc::group/band``; netCDF-4 through ``h5py``, classic files read by themselves.

Variables are what a file holds beside its coordinates, their bounds and the descriptions of coordinate systems; those
belong to a variable, have to be the same on both sides, and go with A's to the difference, as dimensions, chunks,
lossless filters and attributes do. ``_FillValue`` and ``missing_value`` are nodata. Packed values mean ``scale_factor``
times what is stored, plus ``add_offset``: see :mod:`minuend.actions.packing`. What is written is netCDF-4.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from minuend.errors import DTypeError, FileFormatError
from minuend.storage import hdf5, netcdf_classic, netcdf_hdf5, reading
from minuend.storage.base import (
    NO_TEXT,
    About,
    Result,
    Tensor,
    TensorFile,
    clipped,
    element_of,
)
from minuend.storage.coordinates import NONE, Axis, Companion, Coordinates
from minuend.storage.packed import OFFSET, SCALE, scale_and_offset

SUFFIXES = (".nc", ".nc4")
NAMED = True

_NODATA = ("_FillValue", "missing_value")
_NOT_OF_A_DIFFERENCE = {*_NODATA, OFFSET, "valid_min", "valid_max", "valid_range", "actual_range"}
"""Attributes that would be wrong of a difference: its values lie in another range, and offsets cancel."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What goes from A to the difference: its filters, its attributes, and those of the groups around it."""

    filters: Mapping[str, Any]
    attributes: Mapping[str, Any]
    groups: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of either kind of file, not read yet.

    Attributes:
        tensor: looks at it. companion: it as one that belongs to another, if it is of a type that is copied.
    """

    axes: tuple[Axis, ...]
    attributes: Mapping[str, Any]
    tensor: Callable[[], Tensor]
    companion: Callable[[], Companion | None]


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """Look at all variables of a file."""
    source = reading.open_source(path)
    if source.read(0, min(3, source.size)).tobytes() == netcdf_classic.MAGIC:
        variables, groups = _classic(source, path, every_type)
    else:
        variables, groups = _hdf5(path, every_type)
    belonging = _belonging(variables)
    openers = {
        name: functools.partial(_tensor, path, name, one, variables, groups)
        for name, one in variables.items()
        if name not in belonging
    }
    return TensorFile(path, True, openers)


_Variables = Mapping[str, Variable]
_Groups = Mapping[str, Mapping[str, Any]]


def _classic(source: reading.Opened, path: str, every_type: bool) -> tuple[_Variables, _Groups]:
    found, attributes = netcdf_classic.variables(source, path)

    def variable(name: str, one: netcdf_classic.Variable) -> Variable:
        def tensor() -> Tensor:
            element = element_of(one.dtype, f"{path} variable {clipped(name)}", every_type=every_type)
            return Tensor(name, element, one.elements.shape, lambda: one.elements)

        def companion() -> Companion:
            return Companion(name, one.axes, one.attributes, lambda: one.elements)

        return Variable(one.axes, one.attributes, tensor, companion)

    return {name: variable(name, one) for name, one in found.items()}, {"": attributes}


def _hdf5(path: str, every_type: bool) -> tuple[_Variables, _Groups]:
    found = netcdf_hdf5.read(path)
    variables = {
        name: Variable(
            one.axes,
            one.attributes,
            functools.partial(netcdf_hdf5.tensor, path, name, one, every_type=every_type),
            functools.partial(netcdf_hdf5.companion, path, name, one),
        )
        for name, one in found.variables.items()
    }
    return variables, found.attributes


# ---- what belongs to a variable ------------------------------------------------------------------------------------


def _named(attributes: Mapping[str, Any], *keys: str) -> list[str]:
    """Name the variables that attributes refer to; ``crs: x y`` names all three."""
    return [name for key in keys for name in re.split(r"[\s:]+", str(attributes.get(key, ""))) if name]


def _resolve(name: str, near: str, variables: _Variables) -> str | None:
    """Find a variable by its name in a group, or in those around it."""
    group = near.rpartition("/")[0]
    while True:
        path = f"{group}/{name}".lstrip("/")
        if path in variables:
            return path
        if not group:
            return None
        group = group.rpartition("/")[0]


def _belonging(variables: _Variables) -> set[str]:
    """Return the paths of the variables that belong to others, or to dimensions."""
    found = {name for name in variables if _is_of_axis(name, variables)}
    for name, one in variables.items():
        for other in _named(one.attributes, "coordinates", "bounds", "climatology", "grid_mapping"):
            path = _resolve(other, name, variables)
            if path is not None and path != name:
                found.add(path)
    return found


def _is_of_axis(name: str, variables: _Variables) -> bool:
    """Whether a variable holds the coordinates of the axis of its name."""
    return [axis.path for axis in variables[name].axes] == [name]


def _coordinates(name: str, one: Variable, variables: _Variables) -> Coordinates:
    """Gather what says where a variable's elements lie."""
    paths = [axis.path for axis in one.axes if axis.path in variables and _is_of_axis(axis.path, variables)]
    paths += [path for other in _named(one.attributes, "coordinates") if (path := _resolve(other, name, variables))]
    labels = {path: label for path in paths if path != name and (label := variables[path].companion())}
    bounds = [
        bound
        for path, label in labels.items()
        for other in _named(label.attributes, "bounds", "climatology")
        if (found := _resolve(other, path, variables)) and (bound := variables[found].companion())
    ]
    system = next(
        (
            mapping
            for other in _named(one.attributes, "grid_mapping")
            if (found := _resolve(other, name, variables)) and (mapping := variables[found].companion())
        ),
        None,
    )
    return Coordinates(one.axes, {label.name: label for label in labels.values()}, system, tuple(bounds))


def _tensor(path: str, name: str, one: Variable, variables: _Variables, groups: _Groups) -> Tensor:
    """Look at a variable and at what belongs to it."""
    found = one.tensor()
    where = f"{path} variable {clipped(name)}"
    if str(one.attributes.get("_Unsigned", "false")).lower() == "true":
        raise FileFormatError(
            f"{where} states _Unsigned: its {found.element} elements mean other numbers than they are; store it as an "
            "unsigned type first"
        )
    kept = found.about.attributes.get("hdf5")
    filters = kept.filters if isinstance(kept, hdf5.Kept) else NONE
    own = {k: v for k, v in one.attributes.items() if k not in _NOT_OF_A_DIFFERENCE}
    around = {group: value for group, value in groups.items() if not group or name.startswith(f"{group}/")}
    scale, offset = scale_and_offset(one.attributes, where)
    about = About(
        _nodata(one.attributes, where),
        _coordinates(name, one, variables) if any(axis.path for axis in one.axes) else None,
        MappingProxyType({"netcdf": Kept(filters, own, around)}),
        placeable=True,
        scale=scale,
        offset=offset,
    )
    return replace(found, about=about)


def _nodata(attributes: Mapping[str, Any], where: str) -> int | float | None:
    values: dict[float, int | float] = {}
    for key in _NODATA:
        for one in np.ravel(attributes[key]) if key in attributes else ():
            if np.asarray(one).dtype.kind not in "iuf":
                raise FileFormatError(f"{where} states the {key} {attributes[key]!r}; expected a number")
            value = one.item()
            value = int(value) if isinstance(value, float) and value.is_integer() else value
            values.setdefault("nan" if value != value else value, value)  # type: ignore[arg-type]  # noqa: PLR0124
    if len(values) > 1:
        told = " and ".join(map(str, values.values()))
        raise FileFormatError(f"{where} states the nodata values {told}; expected one, make them one first")
    return next(iter(values.values()), None)


# ---- writing -------------------------------------------------------------------------------------------------------


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse names that are no paths of variables, and types that netCDF lacks."""
    hdf5.check(path, results)
    for result in results:
        if result.element.name == "float16":
            raise DTypeError("types", f"netCDF has no word for {result.element}; write .h5", where=path)
    grids = [_placed(result) for result in results]
    sizes: dict[str, int] = {}
    for axis in (axis for grid in grids for axis in grid.axes if axis.path):
        if sizes.setdefault(axis.path, axis.size) != axis.size:
            raise FileFormatError(
                f"{path}: the dimension {clipped(axis.path)} would have the sizes {sizes[axis.path]} and {axis.size}; "
                "write the variables to files of their own"
            )
    taken = {one.path for grid in grids for one in (*grid.labels.values(), *grid.bounds)}
    if both := taken & {result.name for result in results}:
        raise FileFormatError(
            f"{path}: {clipped(both.pop())} would be a difference and coordinates; select variables by file::name"
        )


def write_path(path: str, results: Sequence[Result], metadata: Mapping[str, str] = NO_TEXT) -> None:
    """Write variables one after the other, with what belongs to A's."""
    with netcdf_hdf5.Writer(path) as file:
        given: set[str] = set()
        file.add_coordinates([_placed(result) for result in results])
        for result in results:
            kept = result.about.attributes.get("netcdf")
            kept = kept if isinstance(kept, Kept) else Kept(NONE, NONE, NONE)
            for group, attributes in kept.groups.items():
                if group not in given and (not group or result.name.startswith(f"{group}/")):
                    given.add(group)
                    file.add_attributes(group, attributes)
            where = _placed(result)
            attributes = _with_scale(_with_names(kept.attributes, where), result.about.scale)
            file.add(result, where, attributes, kept.filters)


def _with_names(attributes: Mapping[str, Any], where: Coordinates) -> Mapping[str, Any]:
    """Return attributes that name the coordinates which are there, and no other variables."""
    axes = {axis.name for axis in where.axes}
    names = " ".join(name for name in where.labels if name not in axes)
    found = {name: value for name, value in attributes.items() if name not in ("coordinates", "grid_mapping")}
    found |= {"coordinates": names} if names else {}
    return found | ({"grid_mapping": where.system.name} if where.system else {})


def _with_scale(attributes: Mapping[str, Any], scale: float) -> Mapping[str, Any]:
    """Return attributes that state the scale, which other formats than netCDF state elsewhere."""
    return attributes if scale == 1 or SCALE in attributes else {**attributes, SCALE: scale}


def _placed(result: Result) -> Coordinates:
    """Where a result's elements lie: what A says, or axes that are called by number."""
    grid = result.about.grid
    if isinstance(grid, Coordinates) and tuple(axis.size for axis in grid.axes) == result.shape:
        return grid
    return Coordinates(tuple(Axis("", size) for size in result.shape))
