"""Files of HDF5 with dimensions that are written, through ``h5py``; see :mod:`.netcdf_hdf5`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minuend.errors import FileFormatError
from minuend.files.base import Result, clipped
from minuend.files.formats import conventions, hdf5, hdf5_layout
from minuend.files.formats.coordinates import Axis, Companion, Coordinates
from minuend.files.formats.hdf5_attributes import (
    Own,
    Reference,
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

WITHOUT_VARIABLE = "This is a netCDF dimension but not a netCDF variable."
OTHER = "_nc4_non_coord_"


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
            every = (where.axes, *(one.axes for one in where.companions))
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
        called = name if own or path not in self._axes else f"{OTHER}{name}"
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
        dataset.make_scale(f"{WITHOUT_VARIABLE}{axis.size:10}")
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
