"""HDF5: datasets by path, ``file.h5::group/band``.

Dimension scales are dimensions, as in netCDF-4, and the CF conventions hold: see :mod:`.conventions`. A's chunks,
lossless filters, attributes and dimensions go to the difference.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from minuend.files.base import NO_TEXT, Result, TensorFile
from minuend.files.formats import conventions, hdf5, hdf5_layout, netcdf_hdf5, netcdf_hdf5_writing

SUFFIXES = (".h5", ".hdf5")
NAMED = True
HOLDS = frozenset({"nodata", "scale", "coordinates", "attributes"})
Layout = hdf5_layout.Layout


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """List the datasets that a file holds itself and that belong to no other."""
    found = netcdf_hdf5.variables(path, every_type=every_type, netcdf=False)
    return conventions.tensors_of(
        path, found.variables, found.groups, "dataset", links=found.links, notes=found.notes, left_out=found.left_out
    )


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse names that are no paths of datasets, types that HDF5 lacks, and dimensions of two sizes."""
    hdf5.check(path, results)
    netcdf_hdf5_writing.check(path, results)


def write_path(path: str, results: Sequence[Result], metadata: Mapping[str, str] = NO_TEXT) -> None:
    """Write datasets one after the other, with what belongs to A's."""
    netcdf_hdf5_writing.write(path, results, netcdf=False)


def groups_written(results: Sequence[Result]) -> Collection[str]:
    """All of them are."""
    return conventions.groups_of(results)


def notes(path: str, results: Sequence[Result]) -> tuple[str, ...]:
    """Say which attributes, filters and dimension scales are left out."""
    return netcdf_hdf5_writing.notes(path, results, netcdf=False)
