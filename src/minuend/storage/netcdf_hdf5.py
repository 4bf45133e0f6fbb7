"""netCDF-4: HDF5 with dimensions, through ``h5py``.

A dimension is an HDF5 dimension scale: the variable of its name, which holds its coordinates, or a dataset without data
that says so in its ``NAME``. A variable's axes refer to them; ``_Netcdf4Dimid`` numbers them. A variable that is called
as a dimension and is not its coordinates has ``_nc4_non_coord_`` before its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from minuend.errors import FileFormatError
from minuend.storage import hdf5
from minuend.storage.base import Result, Tensor, need
from minuend.storage.coordinates import Axis, Companion, Coordinates
from minuend.storage.reading import Source
from minuend.storage.regions import bands
from minuend.storage.writing import Patient

_WITHOUT_VARIABLE = "This is a netCDF dimension but not a netCDF variable."
_OTHER = "_nc4_non_coord_"
_HIDDEN = {
    "CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict",
    "_NCProperties", "DIMENSION_LABELS",
}  # fmt: skip


class Variable(NamedTuple):
    """A variable as it stands in the file."""

    axes: tuple[Axis, ...]
    attributes: Mapping[str, Any]
    dataset: Any
    source: Source


class Found(NamedTuple):
    """What a file holds: variables by path, the attributes of the groups, the root's under ``""``."""

    variables: dict[str, Variable]
    attributes: dict[str, Mapping[str, Any]]


def read(path: str) -> Found:
    """Look at all variables of a file and at their dimensions."""
    source, file, datasets = hdf5.opened_file(path)
    with hdf5.told(path):
        numbered = {
            int(one.attrs["_Netcdf4Dimid"]): one for one in datasets.values() if _is_scale(one) and _number(one)
        }
        found: dict[str, Variable] = {}
        for place, dataset in datasets.items():
            if _text(dataset.attrs.get("NAME", "")).startswith(_WITHOUT_VARIABLE):
                continue
            if dataset.shape is None:
                axes: tuple[Axis, ...] = ()
            else:
                axes = tuple(_axis(dataset, k, numbered) for k in range(len(dataset.shape)))
            group, _, name = place.rpartition("/")
            name = f"{group}/{name.removeprefix(_OTHER)}".lstrip("/")
            if not all(name.split("/")):
                raise FileFormatError(f"{path} holds a variable {name!r}, which is no name; expected names of letters")
            if name in found:
                raise FileFormatError(f"{path} holds two variables {name!r}; expected names that differ")
            found[name] = Variable(axes, plain(dataset.attrs), dataset, source)
        groups: dict[str, Mapping[str, Any]] = {"": plain(file.attrs)}
        for name in found:
            for k in range(1, len(name.split("/"))):
                group = "/".join(name.split("/")[:k])
                groups.setdefault(group, plain(file[group].attrs))
    return Found(found, groups)


def tensor(path: str, name: str, variable: Variable, *, every_type: bool) -> Tensor:
    """Look at a variable; its elements stay in the file."""
    return hdf5.tensor_of(path, name, variable.dataset, source=variable.source, every_type=every_type)


def companion(path: str, name: str, variable: Variable) -> Companion | None:
    """Return a variable that belongs to another; ``None`` where its type is none that is copied."""
    package = need("h5py", "hdf5", path)
    dataset = variable.dataset
    where = f"{path} dataset {name!r}"
    hdf5.check_inside(dataset, where)
    dtype = dataset.dtype
    plain_type = dtype.kind in "iufSb" or package.check_string_dtype(dtype) is not None
    if dataset.shape is None or not plain_type:
        return None
    return Companion(name, variable.axes, variable.attributes, lambda: hdf5.Held(where, dataset))


def _is_scale(dataset: Any) -> bool:
    return _text(dataset.attrs.get("CLASS", "")) == "DIMENSION_SCALE"


def _number(dataset: Any) -> bool:
    return np.ndim(dataset.attrs.get("_Netcdf4Dimid", "")) == 0 and "_Netcdf4Dimid" in dataset.attrs


def _axis(dataset: Any, k: int, numbered: Mapping[int, Any]) -> Axis:
    """Which dimension an axis is, as far as the file says."""
    numbers = dataset.attrs.get("_Netcdf4Coordinates")
    scale = None
    lists = dataset.attrs.get("DIMENSION_LIST")
    if lists is not None and np.size(lists) == len(dataset.shape) and np.size(lists[k]):
        scale = dataset.file[np.ravel(lists[k])[0]]
    elif numbers is not None and np.size(numbers) == len(dataset.shape):
        scale = numbered.get(int(np.ravel(numbers)[k]))
    elif _is_scale(dataset) and len(dataset.shape) == 1:
        scale = dataset
    if scale is None or not isinstance(scale.name, str) or not all(scale.name[1:].split("/")):
        return Axis("", dataset.shape[k])
    return Axis(scale.name.lstrip("/"), dataset.shape[k], scale.maxshape[0] is None)


def plain(attributes: Any) -> dict[str, Any]:
    """Return attributes that are text or numbers: references and the like mean places in the file."""
    found: dict[str, Any] = {}
    for name, value in attributes.items():
        if name in _HIDDEN or name != _text(name):
            continue
        if isinstance(value, np.ndarray) and value.dtype.kind in "iufS" and value.size:
            found[name] = value[0] if value.size == 1 and value.dtype.kind != "S" else value
        elif isinstance(value, np.ndarray) and value.size and all(isinstance(one, str | bytes) for one in value.flat):
            texts = [_text(one) for one in value.flat]
            found[name] = texts[0] if len(texts) == 1 else np.array(texts, object)
        elif isinstance(value, np.generic) and value.dtype.kind in "iuf":
            found[name] = value
        elif isinstance(value, str | bytes):
            found[name] = _text(value)
        elif type(value).__name__ == "Empty":  # a text of no letters
            found[name] = ""
    return found


def _text(value: Any) -> str:
    """Return a text; what is no UTF-8, which comes as bytes or as surrogates, is shown as such."""
    raw = value.encode(errors="surrogateescape") if isinstance(value, str) else value
    return raw.decode(errors="replace") if isinstance(raw, bytes) else ""


# ---- writing -------------------------------------------------------------------------------------------------------


class Writer:
    """A netCDF-4 file that is written."""

    def __init__(self, path: str) -> None:
        self._package = need("h5py", "hdf5", path)
        self._stream = Patient(path)
        self._file = self._package.File(self._stream, "w", track_order=True)
        self._scales: dict[str, Any] = {}
        self._written: dict[str, Any] = {}
        self._axes: set[str] = set()
        self._later: list[hdf5.Later] = []
        self._path = path

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._file.close()
        self._stream.close()
        if kind is None:
            self._stream.check()
            hdf5.fill(self._path, self._later)

    def add_coordinates(self, grids: Sequence[Coordinates]) -> None:
        """Write the coordinates of all axes first, so that no axis is taken for one without; of all results."""
        for where in grids:
            belonging = (*where.labels.values(), *where.bounds)
            every = (where.axes, *(one.axes for one in belonging))
            self._axes |= {axis.path for axes in every for axis in axes}
        for where in grids:
            for one in where.labels.values():
                if [axis.path for axis in one.axes] == [one.path]:
                    self._add_companion(one)

    def add_attributes(self, group: str, attributes: Mapping[str, Any]) -> None:
        """Give attributes to a group, or to the whole file."""
        self._give(self._group(group), attributes)

    def add(
        self, result: Result, where: Coordinates, attributes: Mapping[str, Any], filters: Mapping[str, Any]
    ) -> None:
        """Write a variable, after what belongs to it."""
        for one in (*where.labels.values(), *where.bounds, *([where.system] if where.system else ())):
            self._add_companion(one)
        options = hdf5.storage_of(result, filters, self._package)
        fill = result.about.nodata
        if fill is not None:
            fill = options["fillvalue"] = result.element.memory.type(fill)
        dataset = self._create(result.name, where.axes, result.element.memory, options)
        self._give(dataset, {**attributes} | ({} if fill is None else {"_FillValue": np.array([fill])}))
        self._later += hdf5.written(result, dataset, self._stream)

    def _add_companion(self, one: Companion) -> None:
        if one.path in self._written:
            return
        elements = one.elements()
        dataset = self._create(one.path, one.axes, elements.dtype, {})
        self._give(dataset, {k: np.array([v]) if k == "_FillValue" else v for k, v in one.attributes.items()})
        if not elements.shape:
            dataset[()] = elements.read()
        elif 0 not in elements.shape:
            for region in bands(elements.shape, elements.dtype.itemsize, None):
                dataset[region] = elements.part(region)

    def _create(self, path: str, axes: tuple[Axis, ...], dtype: Any, options: dict[str, Any]) -> Any:
        """Make a dataset, which is a dimension scale where it holds the coordinates of its own axis."""
        group, _, name = path.rpartition("/")
        axes = tuple(axis if axis.path else Axis(f"dim_{k}_of_{axis.size}", axis.size) for k, axis in enumerate(axes))
        shape = tuple(axis.size for axis in axes)
        own = [axis.path for axis in axes] == [path]
        if any(axis.grows for axis in axes):
            options = {"chunks": True} | {k: v for k, v in options.items() if k != "dcpl"}
            options |= {"maxshape": [None if axis.grows else axis.size for axis in axes]}
        for axis in axes:
            if not own:
                self._scale(axis)
        known = self._group(group)
        called = name if own or path not in self._axes else f"{_OTHER}{name}"
        dataset = known.create_dataset(called, shape, dtype, track_order=True, **options)
        self._written[path] = dataset
        if own:
            dataset.make_scale(name)
            self._scales[path] = dataset
            dataset.attrs["_Netcdf4Dimid"] = np.int32(len(self._scales) - 1)
        else:
            for k, axis in enumerate(axes):
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

    def _give(self, item: Any, attributes: Mapping[str, Any]) -> None:
        for name, value in attributes.items():
            if isinstance(value, np.ndarray) and value.dtype.hasobject:
                item.attrs.create(name, value, dtype=self._package.string_dtype())
            elif not isinstance(value, str):
                item.attrs[name] = value
            elif raw := value.encode():
                item.attrs.create(name, raw, dtype=self._package.string_dtype("utf-8", len(raw)))
            else:
                item.attrs[name] = self._package.Empty(np.dtype("S1"))
