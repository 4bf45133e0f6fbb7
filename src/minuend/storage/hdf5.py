"""HDF5: datasets by path, ``file.h5::group/band``, through the ``h5py`` package.

Datasets are read and written region by region, in turns: HDF5 has one lock for all that a process does. A's chunks,
lossless filters and attributes go to the difference. What lies in other files is not looked at: external links,
external storage and virtual datasets are refused.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from minuend.errors import DTypeError, FileFormatError, MinuendError
from minuend.storage import reading
from minuend.storage.base import (
    NO_TEXT,
    About,
    Elements,
    Result,
    Stretched,
    Tensor,
    TensorFile,
    check_shape,
    clipped,
    element_of,
    is_numpys_own,
    need,
)
from minuend.storage.packed import OFFSET, scale_and_offset
from minuend.storage.pipeline import ahead, each
from minuend.storage.reading import Array, Stream
from minuend.storage.regions import Region, bands, tiles
from minuend.storage.writing import Patient, Places

SUFFIXES = (".h5", ".hdf5")
NAMED = True
_LARGEST_CHUNK = 1 << 28
"""Bytes of a chunk: what a header claims has to be held to be read."""

_FILTERS = ("compression", "compression_opts", "shuffle", "fletcher32")
"""Those that give back what they were given; scale-offset does not."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What goes from A to the difference: filters, as ``create_dataset`` takes them, and attributes."""

    filters: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """List the datasets that a file holds itself."""
    opened = opened_file(path)
    opener = functools.partial(tensor_of, path, source=opened.source, every_type=every_type)
    return TensorFile(path, True, {name: functools.partial(opener, name, one) for name, one in opened.datasets.items()})


class Opened(NamedTuple):
    """A file, as bytes and as the package has it, and the datasets that it holds itself, by path."""

    source: reading.Source
    file: Any
    datasets: dict[str, Any]


def opened_file(path: str) -> Opened:
    """Open a file, and look for its datasets."""
    package = need("h5py", "hdf5", path)
    source = reading.open_source(path)
    found: dict[str, Any] = {}
    with told(path):
        file = package.File(Stream(source), "r")

        def visit(name: str, item: Any) -> None:
            if not isinstance(name, str):
                raise FileFormatError(f"{path} names {clipped(repr(name))}, which is no UTF-8; expected text")
            if isinstance(item, package.Dataset):
                found[name] = item

        file.visititems(visit)  # hard links alone
    return Opened(source, file, found)


def tensor_of(path: str, name: str, dataset: Any, *, source: reading.Source, every_type: bool) -> Tensor:
    """Look at a dataset; its elements stay in the file."""
    where = f"{path} dataset {clipped(name)}"
    with told(where):
        shape, dtype, chunks = dataset.shape, dataset.dtype, dataset.chunks
        kept = _kept(dataset)
    check_inside(dataset, where)
    if shape is None:
        raise FileFormatError(f"{where} is a null dataset, without elements; expected numbers")
    element = element_of(dtype, where, every_type=every_type)
    check_shape(shape, element.itemsize, where)
    if chunks and (held := int(np.prod(chunks)) * dtype.itemsize) > _LARGEST_CHUNK:
        raise FileFormatError(f"{where} has chunks of {held} bytes; expected {_LARGEST_CHUNK} at most")
    scale, offset = scale_and_offset(kept.attributes, where)
    own = {name: value for name, value in kept.attributes.items() if name != OFFSET}
    about = About(attributes=MappingProxyType({"hdf5": Kept(kept.filters, own)}), scale=scale, offset=offset)
    return Tensor(name, element, shape, lambda: elements_of(where, dataset, source), about, chunks=chunks)


def elements_of(where: str, dataset: Any, source: reading.Source) -> Elements:
    """A dataset's elements: as bytes of the file where they lie in one stretch, else by the package."""
    with told(where):
        offset = None if dataset.chunks else dataset.id.get_offset()
        held = Held(where, dataset)
        stretch = Stretched(source, offset or 0, dataset.dtype, dataset.shape)
    if offset is None or dataset.dtype.hasobject or offset + stretch.nbytes > source.size:
        return held
    return stretch


def check_inside(dataset: Any, where: str) -> None:
    """Refuse a dataset whose elements lie in other files."""
    with told(where):
        elsewhere = "virtual" if dataset.is_virtual else "kept in external files" if dataset.external else ""
    if elsewhere:
        raise FileFormatError(f"{where} is {elsewhere}: nothing but the file itself is read; copy it with h5repack")


def _kept(dataset: Any) -> Kept:
    filters = {name: getattr(dataset, name) for name in _FILTERS} if dataset.chunks else {}
    attributes = {name: value for name, value in dataset.attrs.items() if _is_plain(value)}
    return Kept(filters, attributes)


def _is_plain(value: Any) -> bool:
    """Whether an attribute is text or numbers: references and the like mean places in A."""
    return isinstance(value, str) or (isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject)


@dataclass(frozen=True)
class Held:
    """A dataset's elements; see :class:`~minuend.storage.base.Elements`."""

    where: str
    dataset: Any

    @property
    def dtype(self) -> np.dtype[Any]:
        """See :class:`~minuend.storage.base.Elements`."""
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
        with told(self.where):
            found: Array = np.asarray(self.dataset[region])
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


def write_path(path: str, results: Sequence[Result], metadata: Mapping[str, str] = NO_TEXT) -> None:
    """Write datasets one after the other, with A's chunks, filters and attributes."""
    package = need("h5py", "hdf5", path)
    later: list[Later] = []
    with Patient(path) as stream, package.File(stream, "w") as file:
        for result in results:
            kept = result.about.attributes.get("hdf5")
            kept = kept if isinstance(kept, Kept) else Kept()
            options = storage_of(result, kept.filters, package)
            dataset = file.create_dataset(result.name, result.shape, result.element.memory, **options)
            for name, value in kept.attributes.items():
                dataset.attrs[name] = value
            later += written(result, dataset, stream)
    stream.check()
    fill(path, later)


def storage_of(result: Result, filters: Mapping[str, Any], package: Any) -> dict[str, Any]:
    """Return how a result is stored: in A's chunks, none of them larger than the whole, with filters; without chunks in
    one stretch, which has its place at once and is not filled beforehand.
    """
    if 0 in result.shape:
        return {}
    if result.chunks:
        return {"chunks": tuple(map(min, result.chunks, result.shape)), **filters}
    stretch = package.h5p.create(package.h5p.DATASET_CREATE)
    stretch.set_alloc_time(package.h5d.ALLOC_TIME_EARLY)
    stretch.set_fill_time(package.h5d.FILL_TIME_NEVER)
    return {"dcpl": stretch}


class Later(NamedTuple):
    """A tensor that is written when the package is done with the file, and where it begins there."""

    result: Result
    start: int


def written(result: Result, dataset: Any, stream: Patient) -> list[Later]:
    """Write a tensor chunk by chunk; one in one stretch is left for :func:`fill`."""
    start = None if dataset.chunks else dataset.id.get_offset()
    if start is not None:
        return [Later(result, start)]
    for region, block in blocks(result):
        dataset[region] = block
        stream.check()
    return []


def fill(path: str, later: Sequence[Later]) -> None:
    """Write tensors to their places, several blocks at a time."""
    with Places(path) as places:
        for result, start in later:
            put = functools.partial(result.put, stream=places, start=start)
            each(put, result.cut(tiles, fortran=False), result.room)


def blocks(result: Result) -> Iterator[tuple[Region, Array]]:
    """Compute a tensor region by region, each with its place."""
    if 0 in result.shape:
        return iter(())
    work: Callable[[Region], tuple[Region, Array]] = lambda region: (region, result.part(region))  # noqa: E731
    return ahead(work, bands(result.shape, result.element.itemsize, result.chunks), result.room)


@contextlib.contextmanager
def told(where: str) -> Iterator[None]:
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
