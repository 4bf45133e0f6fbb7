"""Datasets in HDF5, through the ``h5py`` package: of HDF5 files (:mod:`.hdf5_files`) and of netCDF-4.

Datasets are read region by region, by :mod:`~minuend.files.formats.hdf5_reading`, and written in turns, since HDF5 has
one lock for all that a process does. A's chunks and lossless filters go to the difference. What lies in other files is
not
looked at: external links, external storage and virtual datasets are refused.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from minuend.core import elements
from minuend.errors import DTypeError, FileFormatError, MinuendError
from minuend.files import sources
from minuend.files.base import About, Result, Tensor, check_shape, clipped, element_of, is_numpys_own
from minuend.files.formats.coordinates import Axis
from minuend.files.formats.hdf5_child import offset_of
from minuend.files.formats.hdf5_layout import Layout
from minuend.files.formats.hdf5_reading import Dataset, File
from minuend.files.packages import need
from minuend.files.stored_elements import Contiguous, Elements
from minuend.files.streaming import reading
from minuend.files.streaming.pipeline import ahead, each
from minuend.files.streaming.reading import Array
from minuend.files.streaming.regions import Region, bands, extent, tiles, whole
from minuend.files.transaction.streams import Patient, Places

_LARGEST_CHUNK = 1 << 28
"""Bytes of a chunk: what a header claims has to be in memory to be read."""

_FILTERS = ("compression", "compression_opts", "shuffle", "fletcher32")
"""Those that give back what they were given; scale-offset does not."""


class Opened(NamedTuple):
    """A file, as bytes and as the package has it, and the datasets that it holds itself, by path."""

    source: reading.Source
    file: File
    datasets: dict[str, Dataset]


def opened_file(path: str) -> Opened:
    """Open a file, and look for its datasets."""
    need("h5py", "hdf5", path)
    source = sources.open_source(path)
    with errors_naming(path):
        file = File(path, source)
    return Opened(source, file, file.datasets)


def tensor_of(
    path: str,
    name: str,
    dataset: Any,
    *,
    source: reading.Source,
    every_type: bool,
    shape: tuple[int, ...] | None,
    labels: tuple[str, ...],
) -> Tensor:
    """Look at a dataset; its elements stay in the file.

    Args:
        path, name, dataset, source: the file and the dataset. every_type: as for ``open_tensors``.
        shape: the dataset's own, or a longer one along axes that grow; ``None`` of a null dataset.
        labels: of its axes.
    """
    where = f"{path} dataset {clipped(name)}"
    with errors_naming(where):
        dtype, chunks = dataset.dtype, dataset.chunks
        filters = {name: getattr(dataset, name) for name in _FILTERS} if chunks else {}
    check_inside(dataset, where)
    if shape is None:
        raise FileFormatError(f"{where} is a null dataset, without elements; expected numbers")
    if dataset.is_enum:
        reason = "its numbers stand for names; convert it to numbers first"
        raise DTypeError("types", elements.refusal("enum", reason), where=where)
    if dataset.other:
        raise DTypeError("types", f"{elements.refusal(dataset.other)}; expected numbers", where=where)
    element = element_of(dtype, where, every_type=every_type)
    check_shape(shape, element.itemsize, where)
    if chunks and (nbytes := int(np.prod(chunks)) * dtype.itemsize) > _LARGEST_CHUNK:
        raise FileFormatError(f"{where} has chunks of {nbytes} bytes; expected {_LARGEST_CHUNK} at most")
    layout = Layout(labels, dataset.filter_names)
    about = About(filters=MappingProxyType(filters), layout=layout if layout != Layout() else None)
    return Tensor(
        name,
        element,
        shape,
        lambda: as_long_as(elements_of(where, dataset, source), shape, dataset),
        about,
        chunks=chunks,
    )


@dataclass(frozen=True)
class Longer:
    """Elements behind which the fill value follows; see :class:`~minuend.files.stored_elements.Elements`."""

    stored: Elements
    shape: tuple[int, ...]
    fill: Any

    @property
    def dtype(self) -> np.dtype[Any]:
        """As they are stored."""
        return self.stored.dtype

    def read(self) -> Array:
        """Return all of them."""
        return self.part(whole(self.shape))

    def part(self, region: Region) -> Array:
        """Return a region."""
        there = tuple(
            slice(axis.start, min(axis.stop, dim)) for axis, dim in zip(region, self.stored.shape, strict=True)
        )
        if there == tuple(region):
            return self.stored.part(region)
        found: Array = np.full(extent(region), self.fill, self.dtype)
        if all(axis.start < axis.stop for axis in there):
            found[tuple(slice(0, dim) for dim in extent(there))] = self.stored.part(there)
        found.flags.writeable = False
        return found


def as_long_as(elements: Elements, shape: tuple[int, ...], dataset: Any) -> Elements:
    """Return elements of a longer shape; where nothing was written, netCDF has the fill value."""
    if elements.shape == shape:
        return elements
    nothing = b"" if elements.dtype.kind in "OS" else 0
    return Longer(elements, shape, nothing if dataset.fill is None else dataset.fill)


def elements_of(where: str, dataset: Any, source: reading.Source) -> Elements:
    """A dataset's elements: as bytes of the file where they lie there as in memory, else by the package."""
    with errors_naming(where):
        offset = dataset.offset
        stored = DatasetElements(where, dataset)
        contiguous = Contiguous(source, offset or 0, dataset.dtype, dataset.shape)
    if offset is None or dataset.dtype.hasobject or offset + contiguous.nbytes > source.size:
        return stored
    return contiguous


def check_inside(dataset: Any, where: str) -> None:
    """Refuse a dataset whose elements lie in other files."""
    with errors_naming(where):
        elsewhere = "virtual" if dataset.is_virtual else "stored in external files" if dataset.external else ""
    if elsewhere:
        raise FileFormatError(f"{where} is {elsewhere}: nothing but the file itself is read; copy it with h5repack")


@dataclass(frozen=True)
class DatasetElements:
    """A dataset's elements; see :class:`~minuend.files.stored_elements.Elements`."""

    where: str
    dataset: Any

    @property
    def dtype(self) -> np.dtype[Any]:
        """See :class:`~minuend.files.stored_elements.Elements`."""
        found: np.dtype[Any] = self.dataset.dtype
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the whole dataset."""
        found: tuple[int, ...] = self.dataset.shape
        return found

    def read(self) -> Array:
        """Return all of it."""
        return self.part(tuple(slice(0, dim) for dim in self.shape))

    def part(self, region: Region) -> Array:
        """Return a region."""
        with errors_naming(self.where):
            found: Array = self.dataset.part(self.where, region)
        found.flags.writeable = False
        return found


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse names that are no paths of datasets, two of which one would be a group of the other, and narrow types."""
    need("h5py", "hdf5", path)
    names = {result.name for result in results}
    for result in results:
        parts = result.name.split("/")
        if not all(parts) or "." in parts or ".." in parts or "\0" in result.name:
            raise FileFormatError(f"{path}: {clipped(result.name)} is no path of a dataset; rename the tensor")
        groups = {"/".join(parts[:k]) for k in range(1, len(parts))}
        if both := groups & names:
            raise FileFormatError(f"{path}: {clipped(both.pop())} would be a dataset and a group; rename the tensor")
        if not is_numpys_own(result.element):
            raise DTypeError("types", f"HDF5 has no word for {result.element}; write .safetensors", where=path)


def storage_of(result: Result, axes: Sequence[Axis], filters: Mapping[str, Any], package: Any) -> dict[str, Any]:
    """Return how a result is stored: in A's chunks with filters, none of them larger than an axis that does not grow;
    without chunks in one range of bytes, which has its place at once and is not filled beforehand.
    """
    if result.chunks:
        chunks = [step if axis.grows else min(step, axis.size) for step, axis in zip(result.chunks, axes, strict=True)]
        return {"chunks": tuple(chunks), **filters} if all(chunks) else {}
    if 0 in result.shape:
        return {}
    properties = package.h5p.create(package.h5p.DATASET_CREATE)
    properties.set_alloc_time(package.h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(package.h5d.FILL_TIME_NEVER)
    return {"dcpl": properties}


class Later(NamedTuple):
    """A tensor that is written when the package is done with the file, and where it begins there."""

    result: Result
    start: int


def written(result: Result, dataset: Any, stream: Patient, check: Callable[[], None]) -> list[Later]:
    """Write a tensor chunk by chunk, with a check between blocks; one in one range is left for :func:`fill`."""
    start = offset_of(dataset, need("h5py", "hdf5", "a dataset"))
    if start is not None:
        return [Later(result, start)]
    for region, block in blocks(result):
        dataset[region] = block
        stream.check()
        check()
    return []


def fill(path: str, later: Sequence[Later]) -> None:
    """Write tensors to their places, several blocks at a time."""
    with Places(path) as places:
        for result, start in later:
            put = functools.partial(result.put, stream=places, start=start)
            each(put, result.cut(tiles, fortran=False), result.block_nbytes)


def blocks(result: Result) -> Iterator[tuple[Region, Array]]:
    """Compute a tensor region by region, each with its place."""
    if 0 in result.shape:
        return iter(())
    work: Callable[[Region], tuple[Region, Array]] = lambda region: (region, result.part(region))  # noqa: E731
    return ahead(work, bands(result.shape, result.element.itemsize, result.chunks), result.block_nbytes)


@contextlib.contextmanager
def errors_naming(where: str) -> Iterator[None]:
    """Say of which dataset it is what the package finds damaged, or cannot decode."""
    try:
        yield
    except (MinuendError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        came = str(error) or type(error).__name__
        raise FileFormatError(
            f"{where} is damaged, or no HDF5 that is read here ({came}); expected a whole one"
        ) from None
