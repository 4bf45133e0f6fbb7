"""HDF5 with dimensions, through ``h5py``: netCDF-4, and HDF5 files whose datasets have dimension scales.

A dimension is an HDF5 dimension scale: the variable of its name, which holds its coordinates, or a dataset without data
that says so in its ``NAME``. A variable's axes refer to them; ``_Netcdf4Dimid`` numbers them. A variable that is called
as a dimension and is not its coordinates has ``_nc4_non_coord_`` before its name.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from minuend.errors import FileFormatError
from minuend.files.base import quoted
from minuend.files.formats import hdf5, nexus
from minuend.files.formats.conventions import Groups, Variable
from minuend.files.formats.coordinates import Axis, Companion, Texts, text_of_letters
from minuend.files.formats.hdf5_attributes import (
    Own,
    Text,
    Unread,
)
from minuend.files.formats.netcdf_hdf5_writing import OTHER, WITHOUT_VARIABLE
from minuend.files.packages import need

_HIDDEN = {
    "CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict",
    "_NCProperties", "DIMENSION_LABELS",
}  # fmt: skip


class Found(NamedTuple):
    """The variables of a file by path, the attributes of its groups, and what soft links call variables.

    ``notes``: for reports. ``left_out``: what goes to no difference of all of it.
    """

    variables: dict[str, Variable]
    groups: Groups
    links: Mapping[str, str]
    notes: tuple[str, ...]
    left_out: tuple[str, ...]


def variables(path: str, *, every_type: bool, netcdf: bool) -> Found:
    """Look at all variables of a file and at their dimensions.

    Args:
        path: the file. every_type: as for ``open_tensors``.
        netcdf: whether ``CLASS`` and ``NAME`` are netCDF's own attributes.
    """
    source, file, datasets = hdf5.opened_file(path)
    found: dict[str, Variable] = {}
    names: dict[str, str] = {}
    further: Mapping[str, tuple[str, ...]] = {}
    with hdf5.errors_naming(path):
        numbered = {
            int(one.attrs["_Netcdf4Dimid"]): one for one in datasets.values() if _is_scale(one) and _number(one)
        }
        axes_by_path = {
            place: tuple(_axis(one, k, numbered) for k in range(len(one.shape or ())))
            for place, one in datasets.items()
            if not _text(one.attrs.get("NAME", "")).startswith(WITHOUT_VARIABLE)
        }
        if not netcdf:
            axes_by_path |= _further_coordinates(axes_by_path)
            of_groups = {name: plain(attributes, netcdf=False) for name, attributes in file.groups.items()}
            own = {place: plain(datasets[place].attrs, netcdf=False) for place in axes_by_path}
            axes_by_path, further = nexus.placed(axes_by_path, of_groups, own, file.links)
        for place, axes in (_as_long_as_others(axes_by_path) if netcdf else axes_by_path).items():
            dataset = datasets[place]
            group, _, name = place.rpartition("/")
            name = f"{group}/{name.removeprefix(OTHER)}".lstrip("/")
            if not all(name.split("/")):
                raise FileFormatError(f"{path} holds a variable {name!r}, which is no name; expected names of letters")
            if name in found:
                raise FileFormatError(f"{path} holds two variables {name!r}; expected names that differ")
            names[place] = name
            attributes = plain(dataset.attrs, netcdf=netcdf)
            letters = netcdf and bool(axes) and dataset.dtype == "S1"
            found[name] = Variable(
                axes[:-1] if letters else axes,
                attributes,
                functools.partial(
                    hdf5.tensor_of,
                    path,
                    name,
                    dataset,
                    source=source,
                    every_type=every_type,
                    shape=_shape(axes, dataset),
                    labels=_labels(dataset),
                ),
                functools.partial(_companion, path, name, dataset, axes, attributes, letters=letters),
                dataset.dtype.kind == "S" or _is_text(dataset, path),
                labels=further.get(place, ()),
            )
        groups = {name: plain(attributes, netcdf=netcdf) for name, attributes in file.groups.items()}
        links = {link: names[place] for link, place in file.links.items() if place in names}
        lost = quoted(file.outside)
        notes = (f"{path} has links that lead to nothing in it, and are not followed: {lost}",) if lost else ()
    inner = quoted(file.inner)
    left_out = (f"{path} has soft links, which are left out: {inner}",) if inner else ()
    return Found(found, groups, links, notes, left_out)


def _further_coordinates(axes_by_path: Mapping[str, tuple[Axis, ...]]) -> dict[str, tuple[Axis, ...]]:
    """Return the axes of scales that are attached behind another one, each to the same in all datasets: they lie along
    the axis of that one.
    """
    first = {axis.path for path, axes in axes_by_path.items() for axis in axes if axis.path != path}
    behind: dict[str, dict[str, Axis]] = {}
    for axis in (axis for axes in axes_by_path.values() for axis in axes):
        for path in axis.scales:
            behind.setdefault(path, {})[axis.path] = axis
    return {
        path: tuple(Axis(axis.path, axes_by_path[path][0].size, axis.grows) for axis in along.values())
        for path, along in behind.items()
        if len(along) == 1 and path not in first and len(axes_by_path.get(path, ())) == 1
    }


def _labels(dataset: Any) -> tuple[str, ...]:
    """Return the labels of a dataset's axes."""
    stated = dataset.attrs.get("DIMENSION_LABELS")
    labels = tuple(map(_text, np.ravel(stated))) if stated is not None else ()
    return labels if any(labels) and len(labels) == len(dataset.shape or ()) else ()


def _as_long_as_others(axes_by_path: Mapping[str, tuple[Axis, ...]]) -> dict[str, tuple[Axis, ...]]:
    """Return axes of variables as netCDF has them: one that grows is as long as in the longest of all variables."""
    longest: dict[str, int] = {}
    for axis in (axis for axes in axes_by_path.values() for axis in axes if axis.path and axis.grows):
        longest[axis.path] = max(axis.size, longest.get(axis.path, 0))
    return {
        place: tuple(replace(axis, size=longest[axis.path]) if axis.path in longest else axis for axis in axes)
        for place, axes in axes_by_path.items()
    }


def _shape(axes: Sequence[Axis], dataset: Any) -> tuple[int, ...] | None:
    return None if dataset.shape is None else tuple(axis.size for axis in axes)


def _companion(
    path: str, name: str, dataset: Any, axes: tuple[Axis, ...], attributes: Mapping[str, Any], *, letters: bool
) -> Companion | None:
    """Return a variable that belongs to another; ``None`` where its type is none that is copied.

    ``letters``: whether its last axis is the length of texts.
    """
    where = f"{path} dataset {name!r}"
    hdf5.check_inside(dataset, where)
    dtype, elements = dataset.dtype, hdf5.DatasetElements(where, dataset)
    is_text = _is_text(dataset, path)
    if dataset.shape is None or not (dtype.kind in "iufSb" or is_text):
        return None
    whole = hdf5.as_long_as(elements, _shape(axes, dataset) or (), dataset)
    found = Companion(name, axes, attributes, lambda: Texts(whole) if is_text else whole)
    return text_of_letters(found) if letters else found


def _is_text(dataset: Any, path: str) -> bool:
    """Whether a dataset holds texts of any length."""
    dtype = dataset.dtype
    return dtype.kind == "O" and need("h5py", "hdf5", path).check_string_dtype(dtype) is not None


def _is_scale(dataset: Any) -> bool:
    return _is_scale_by(dataset.attrs)


def _is_scale_by(attributes: Any) -> bool:
    return _text(attributes.get("CLASS", "")) == "DIMENSION_SCALE"


def _number(dataset: Any) -> bool:
    return np.ndim(dataset.attrs.get("_Netcdf4Dimid", "")) == 0 and "_Netcdf4Dimid" in dataset.attrs


def _axis(dataset: Any, k: int, numbered: Mapping[int, Any]) -> Axis:
    """Which dimension an axis is, as far as the file says."""
    numbers = dataset.attrs.get("_Netcdf4Coordinates")
    scale, others = None, []
    lists = dataset.attrs.get("DIMENSION_LIST")
    if lists is not None and np.size(lists) == len(dataset.shape) and np.size(lists[k]):
        first, *rest = np.ravel(lists[k])
        scale, others = dataset.file[first], [dataset.file[one] for one in rest if getattr(one, "described", None)]
    elif numbers is not None and np.size(numbers) == len(dataset.shape):
        scale = numbered.get(int(np.ravel(numbers)[k]))
    elif _is_scale(dataset) and len(dataset.shape) == 1:
        scale = dataset
    if scale is None or not _is_path(scale.name):
        return Axis("", dataset.shape[k])
    further = tuple(one.name.lstrip("/") for one in others if _is_path(one.name) and one.name != scale.name)
    return Axis(scale.name.lstrip("/"), dataset.shape[k], scale.maxshape[0] is None, tuple(dict.fromkeys(further)))


def _is_path(name: object) -> bool:
    return isinstance(name, str) and all(name[1:].split("/"))


def plain(attributes: Any, *, netcdf: bool) -> dict[str, Any]:
    """Return a file's attributes but for those that say what refers to what, which are written anew.

    netCDF's own are hidden, and those of dimension scales.
    """
    found: dict[str, Any] = {}
    hidden = _HIDDEN if netcdf or _is_scale_by(attributes) else _HIDDEN - {"CLASS", "NAME"}
    for name, value in attributes.items():
        if name in hidden:
            continue
        if name != _text(name):
            found[_text(name)] = Unread()
        elif netcdf and isinstance(value, Text) and not value.isascii():
            found[name] = str(value)  # netCDF calls it ASCII, and other readers of HDF5 believe that
        elif isinstance(value, Text | Own | Unread):
            found[name] = value
        elif isinstance(value, np.ndarray) and value.dtype.metadata and value.dtype.kind in "iu":
            found[name] = value  # of an enumeration, whose names are its type's
        elif isinstance(value, np.ndarray) and value.dtype.kind in "iufS" and value.size:
            found[name] = value.ravel()[0] if value.size == 1 and value.dtype.kind != "S" else value
        elif isinstance(value, np.ndarray) and value.size and all(isinstance(one, str | bytes) for one in value.flat):
            texts = [_text(one) for one in value.flat]
            found[name] = texts[0] if len(texts) == 1 else np.array(texts, object).reshape(value.shape)
        elif isinstance(value, str | bytes):
            found[name] = _text(value)
        elif isinstance(value, np.generic | np.ndarray) and not value.dtype.hasobject:
            found[name] = value
        else:
            found[name] = Unread()
    return found


def _text(value: Any) -> str:
    """Return a text; what is no UTF-8, which comes as bytes or as surrogates, is shown as such."""
    raw = value.encode(errors="surrogateescape") if isinstance(value, str) else value
    return raw.decode(errors="replace") if isinstance(raw, bytes) else ""
