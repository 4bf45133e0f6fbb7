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
from typing import Any

import numpy as np

from minuend.errors import DTypeError, FileFormatError, MinuendError
from minuend.storage import reading
from minuend.storage.base import (
    NO_TEXT,
    About,
    Result,
    Tensor,
    TensorFile,
    check_shape,
    clipped,
    element_of,
    is_numpys_own,
    need,
)
from minuend.storage.packed import OFFSET, scale_and_offset
from minuend.storage.pipeline import ahead
from minuend.storage.reading import Array, Stream
from minuend.storage.regions import Region, bands

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
    _, found = datasets(path)
    opener = functools.partial(tensor_of, path, every_type=every_type)
    return TensorFile(path, True, {name: functools.partial(opener, name, item) for name, item in found.items()})


def datasets(path: str) -> tuple[Any, dict[str, Any]]:
    """Open a file, and return it and the datasets that it holds itself, by path."""
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
    return file, found


def tensor_of(path: str, name: str, dataset: Any, *, every_type: bool) -> Tensor:
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
    return Tensor(name, element, shape, lambda: Held(where, dataset), about, chunks=chunks)


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
    with package.File(path, "w") as file:
        for result in results:
            kept = result.about.attributes.get("hdf5")
            kept = kept if isinstance(kept, Kept) else Kept()
            options = storage_of(result, kept.filters)
            dataset = file.create_dataset(result.name, result.shape, result.element.memory, **options)
            for name, value in kept.attributes.items():
                dataset.attrs[name] = value
            for region, block in blocks(result):
                dataset[region] = block


def storage_of(result: Result, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a result is stored: in A's chunks, none of them larger than the whole, with filters."""
    if not result.chunks or 0 in result.shape:
        return {}
    return {"chunks": tuple(map(min, result.chunks, result.shape)), **filters}


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
