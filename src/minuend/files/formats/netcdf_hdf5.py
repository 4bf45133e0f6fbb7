"""HDF5 with dimensions, through ``h5py``: netCDF-4, and HDF5 files whose datasets have dimension scales.

A dimension is an HDF5 dimension scale: the variable of its name, which holds its coordinates, or a dataset without data
that says so in its ``NAME``. A variable's axes refer to them; ``_Netcdf4Dimid`` numbers them. A variable that is called
as a dimension and is not its coordinates has ``_nc4_non_coord_`` before its name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from minuend.errors import FileFormatError
from minuend.files.base import Result, clipped, quoted
from minuend.files.formats import conventions, hdf5, hdf5_layout
from minuend.files.formats.conventions import Groups, Variable
from minuend.files.formats.coordinates import Axis, Companion, Coordinates, Texts, text_of_letters
from minuend.files.formats.hdf5_attributes import (
    Own,
    Reference,
    Text,
    Unread,
    as_attribute,
    called,
    is_lost,
    is_name,
    is_typed,
    left_out,
    references,
    with_references,
)
from minuend.files.formats.hdf5_layout import labels_of
from minuend.files.packages import need
from minuend.files.streaming.pipeline import outside_signals
from minuend.files.streaming.regions import bands
from minuend.files.transaction.streams import Patient

_WITHOUT_VARIABLE = "This is a netCDF dimension but not a netCDF variable."
_OTHER = "_nc4_non_coord_"
_HIDDEN = {
    "CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict",
    "_NCProperties", "DIMENSION_LABELS",
}  # fmt: skip


class Found(NamedTuple):
    """The variables of a file by path, the attributes of its groups, and what soft links call variables.

    ``notes``: for reports.
    """

    variables: dict[str, Variable]
    groups: Groups
    links: Mapping[str, str]
    notes: tuple[str, ...]


def variables(path: str, *, every_type: bool, netcdf: bool) -> Found:
    """Look at all variables of a file and at their dimensions.

    Args:
        path: the file. every_type: as for ``open_tensors``.
        netcdf: whether ``CLASS`` and ``NAME`` are netCDF's own attributes.
    """
    source, file, datasets = hdf5.opened_file(path)
    found: dict[str, Variable] = {}
    names: dict[str, str] = {}
    with hdf5.errors_naming(path):
        numbered = {
            int(one.attrs["_Netcdf4Dimid"]): one for one in datasets.values() if _is_scale(one) and _number(one)
        }
        axes_by_path = {
            place: tuple(_axis(one, k, numbered) for k in range(len(one.shape or ())))
            for place, one in datasets.items()
            if not _text(one.attrs.get("NAME", "")).startswith(_WITHOUT_VARIABLE)
        }
        if not netcdf:
            axes_by_path |= _further_coordinates(axes_by_path)
        for place, axes in (_as_long_as_others(axes_by_path) if netcdf else axes_by_path).items():
            dataset = datasets[place]
            group, _, name = place.rpartition("/")
            name = f"{group}/{name.removeprefix(_OTHER)}".lstrip("/")
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
            )
        groups: dict[str, Mapping[str, Any]] = {"": plain(file.attrs, netcdf=netcdf)}
        for name in found:
            for k in range(1, len(name.split("/"))):
                group = "/".join(name.split("/")[:k])
                groups.setdefault(group, plain(file[group].attrs, netcdf=netcdf))
        links = {link: names[place] for link, place in file.links.items() if place in names}
        lost = quoted(file.outside)
        notes = (f"{path} has links that lead to nothing in it, and are not followed: {lost}",) if lost else ()
    return Found(found, groups, links, notes)


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
    package = need("h5py", "hdf5", path)
    where = f"{path} dataset {name!r}"
    hdf5.check_inside(dataset, where)
    dtype, elements = dataset.dtype, hdf5.DatasetElements(where, dataset)
    is_text = dtype.kind == "O" and package.check_string_dtype(dtype) is not None
    if dataset.shape is None or not (dtype.kind in "iufSb" or is_text):
        return None
    whole = hdf5.as_long_as(elements, _shape(axes, dataset) or (), dataset)
    found = Companion(name, axes, attributes, lambda: Texts(whole) if is_text else whole)
    return text_of_letters(found) if letters else found


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
        scale, *others = (dataset.file[one] for one in np.ravel(lists[k]))
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


# ---- writing -------------------------------------------------------------------------------------------------------


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse a dimension of two sizes, and what would be a difference and coordinates."""
    sizes: dict[str, int] = {}
    for axis in (axis for where in map(conventions.placed, results) for axis in where.axes if axis.path):
        if sizes.setdefault(axis.path, axis.size) != axis.size:
            raise FileFormatError(
                f"{path}: the dimension {clipped(axis.path)} would have the sizes {sizes[axis.path]} and {axis.size}; "
                "write the variables to files of their own"
            )
    conventions.check(path, results)


def write(path: str, results: Sequence[Result], *, netcdf: bool) -> None:
    """Write variables one after the other, with what belongs to A's.

    Args:
        path, results: as for ``write_tensors``.
        netcdf: whether all axes get a dimension, and attributes are such as netCDF has.
    """
    hdf5.fill(path, outside_signals(functools.partial(_write_chunks, path, results, netcdf)))


def _write_chunks(path: str, results: Sequence[Result], netcdf: bool, check: Callable[[], None]) -> list[hdf5.Later]:
    with Writer(path, check, netcdf=netcdf) as file:
        file.add_coordinates([conventions.placed(result) for result in results])
        for group, attributes in conventions.groups_of(results).items():
            file.add_attributes(group, attributes)
        for result in results:
            file.add(result)
        file.add_own_attributes()
    return file.later


class Writer:
    """A file that is written; :func:`~minuend.files.formats.hdf5.fill` writes what :attr:`later` lists.

    Args:
        path: the file. check: is called between blocks, and raises where the caller was interrupted.
        netcdf: see :func:`write`.
    """

    def __init__(self, path: str, check: Callable[[], None], *, netcdf: bool) -> None:
        self._package = need("h5py", "hdf5", path)
        self._stream = Patient(path)
        self._file = self._package.File(self._stream, "w", track_order=True)
        self._netcdf = netcdf
        self._scales: dict[str, Any] = {}
        self._written: dict[str, Any] = {}
        self._axes: set[str] = set()
        self._further: set[str] = set()
        self._own: list[tuple[Any, str, Any]] = []
        self._types: dict[str, Any] = {}
        self.later: list[hdf5.Later] = []
        self._check = check

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._file.close()
        self._stream.close()
        if kind is None:
            self._stream.check()

    def add_coordinates(self, grids: Sequence[Coordinates]) -> None:
        """Write the coordinates of all axes first, so that no axis is taken for one without; of all results."""
        for where in grids:
            belonging = (*where.labels.values(), *where.bounds)
            every = (where.axes, *(one.axes for one in belonging))
            self._axes |= {axis.path for axes in every for axis in axes}
            if not self._netcdf:
                self._further |= {path for axis in where.axes for path in axis.scales}
        for where in grids:
            for one in where.labels.values():
                if [axis.path for axis in one.axes] == [one.path]:
                    self._add_companion(one)

    def add_attributes(self, group: str, attributes: Mapping[str, Any]) -> None:
        """Give attributes to a group, or to the whole file."""
        self._give(self._group(group), attributes)

    def add(self, result: Result) -> None:
        """Write a variable, after what belongs to it."""
        for one in conventions.companions([result]).values():
            self._add_companion(one)
        axes = conventions.placed(result).axes
        options = hdf5.storage_of(result, axes, result.about.filters, self._package)
        fill = result.about.nodata
        if fill is not None:
            fill = options["fillvalue"] = result.element.memory.type(fill)
        dataset = self._create(result.name, axes, result.element.memory, options)
        if not self._netcdf:
            self._attach(dataset, axes, labels_of(result))
        own = {name: one for name, one in result.about.attributes.items() if isinstance(one, Own)}
        self._give(dataset, conventions.attributes_of(result, attached=not self._netcdf) | own, fill)
        self.later += hdf5.written(result, dataset, self._stream, self._check)

    def _attach(self, dataset: Any, axes: Sequence[Axis], labels: Sequence[str]) -> None:
        """Attach further scales to the axes of a dataset, and label them."""
        for k, axis in enumerate(axes):
            for path in axis.scales:
                if path in self._written:
                    dataset.dims[k].attach_scale(self._written[path])
        for k, label in enumerate(labels):
            if label:
                dataset.dims[k].label = label

    def _add_companion(self, one: Companion) -> None:
        if one.path in self._written:
            return
        values = one.elements()
        dtype = values.dtype if values.dtype.kind not in "OU" else self._package.string_dtype()
        dataset = self._create(one.path, one.axes, dtype, {})
        self._give(dataset, one.attributes, conventions.fill_of(one.attributes, values.dtype))
        if not values.shape:
            dataset[()] = values.read()
        elif 0 not in values.shape:
            for region in bands(values.shape, values.dtype.itemsize, None):
                self._check()
                dataset[region] = values.part(region)

    def _create(self, path: str, axes: tuple[Axis, ...], dtype: Any, options: dict[str, Any]) -> Any:
        """Make a dataset, which is a dimension scale where it holds the coordinates of its own axis."""
        group, _, name = path.rpartition("/")
        if self._netcdf:
            axes = conventions.with_names(axes)
        shape = tuple(axis.size for axis in axes)
        own = [axis.path for axis in axes] == [path]
        further = path in self._further and not own
        if any(axis.grows for axis in axes):
            options = {"chunks": True} | {k: v for k, v in options.items() if k != "dcpl"}
            options |= {"maxshape": [None if axis.grows else axis.size for axis in axes]}
        for axis in axes:
            if not own and not further and axis.path:
                self._scale(axis)
        known = self._group(group)
        called = name if own or path not in self._axes else f"{_OTHER}{name}"
        dataset = known.create_dataset(called, shape, dtype, track_order=True, **options)
        self._written[path] = dataset
        if own:
            dataset.make_scale(name)
            self._scales[path] = dataset
            dataset.attrs["_Netcdf4Dimid"] = np.int32(len(self._scales) - 1)
        elif further:  # a scale has none itself
            dataset.make_scale(name)
        else:
            for k, axis in enumerate(axes):
                if axis.path:
                    dataset.dims[k].attach_scale(self._scales[axis.path])
        return dataset

    def _scale(self, axis: Axis) -> None:
        """Make a dimension without coordinates, unless it is there."""
        if axis.path in self._scales:
            return
        group, _, name = axis.path.rpartition("/")
        options: dict[str, Any] = {"chunks": (1024,), "maxshape": (None,)} if axis.grows else {}
        dataset = self._group(group).create_dataset(name, (axis.size,), ">f4", track_order=True, **options)
        dataset.make_scale(f"{_WITHOUT_VARIABLE}{axis.size:10}")
        self._scales[axis.path] = dataset
        dataset.attrs["_Netcdf4Dimid"] = np.int32(len(self._scales) - 1)

    def _group(self, path: str) -> Any:
        found = self._file
        for name in path.split("/") if path else ():
            found = found[name] if name in found else found.create_group(name, track_order=True)
        return found

    def _give(self, item: Any, attributes: Mapping[str, Any], fill: Any = None) -> None:
        for name, one in attributes.items():
            value = None if name == conventions.FILL else as_attribute(one, netcdf=self._netcdf)
            if value is None or not is_name(name, netcdf=self._netcdf):
                continue
            if isinstance(value, Own) or (self._netcdf and is_typed(value)):
                self._own.append((item, name, value))
            elif isinstance(value, np.ndarray) and value.dtype.hasobject:
                item.attrs.create(name, value, dtype=self._package.string_dtype())
            elif not isinstance(value, str) or not self._netcdf:
                item.attrs[name] = value
            elif raw := value.encode():
                item.attrs.create(name, raw, dtype=self._package.string_dtype("utf-8", len(raw)))
            else:
                item.attrs[name] = self._package.Empty(np.dtype("S1"))
        if fill is not None:
            item.attrs[conventions.FILL] = np.array([fill])

    def add_own_attributes(self) -> None:
        """Give attributes of types that have no other format; one that refers to what is not in the file is left out.

        It is done at the end, when all that they refer to is there.
        """
        for item, name, one in self._own:
            if not isinstance(one, Own):
                value = np.asarray(one)
                item.attrs.create(name, value, value.shape, self._type(value.dtype))
            elif one.value is None:
                item.attrs[name] = self._package.Empty(one.dtype)
            elif not any(is_lost(to, self._file) for to in references(one)):
                value = with_references(one.value, self._reference)
                item.attrs.create(name, value, value.shape, self._type(one.dtype))

    def _type(self, dtype: Any) -> Any:
        """Return a type as attributes have it: netCDF knows types by their names in the file alone."""
        if not self._netcdf:
            return dtype
        stated = f"{dtype.descr} {self._package.check_enum_dtype(dtype)}"
        if stated not in self._types:
            number = len(self._types)
            while f"type_{number}" in self._file:
                number += 1
            self._file[f"type_{number}"] = dtype
            self._types[stated] = self._file[f"type_{number}"]
        return self._types[stated]

    def _reference(self, to: Reference) -> Any:
        if to.nothing:
            return self._package.h5r.RegionReference() if to.part else self._package.h5r.Reference()
        return self._file[f"/{to.path}"].ref


# ---- references ----------------------------------------------------------------------------------------------------


def notes(path: str, results: Sequence[Result], *, netcdf: bool) -> tuple[str, ...]:
    """Say which attributes are not in a file that is written: it lacks their type, or what they refer to."""
    companions, groups = conventions.companions(results), conventions.groups_of(results)
    axes = (axis.path for where in map(conventions.placed, results) for axis in where.axes)
    names = {*companions, *axes, *(result.name for result in results)}
    there = {"/"} | {f"/{'/'.join(name.split('/')[: k + 1])}" for name in names for k in range(name.count("/") + 1)}
    found = []
    for owner, attributes in conventions.owners(results, companions, groups):
        found += left_out(owner, attributes, netcdf=netcdf)
        found += [
            f"the attribute {clipped(name)} of {clipped(owner)} refers to {called(lost[0], path)}, and is left out"
            for name, one in attributes.items()
            if isinstance(one, Own)
            and as_attribute(one, netcdf=netcdf) is not None
            and (lost := [to for to in references(one) if is_lost(to, there)])
        ]
    written = {*companions, *(result.name for result in results)}
    return (*found, *hdf5_layout.notes(results, written, netcdf=netcdf))
