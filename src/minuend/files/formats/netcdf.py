"""netCDF: variables by path, ``file.nc::group/band``; netCDF-4 through ``h5py``, classic files read by themselves.

The CF conventions hold: see :mod:`.conventions`. A's dimensions, chunks, lossless filters and attributes go to the
difference. What is written is netCDF-4.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from minuend.errors import DTypeError
from minuend.files import sources
from minuend.files.base import NO_TEXT, Result, Tensor, TensorFile, clipped, element_of
from minuend.files.formats import conventions, hdf5, netcdf_classic, netcdf_hdf5, netcdf_hdf5_writing
from minuend.files.formats.conventions import Groups, Variable, Variables
from minuend.files.formats.coordinates import Companion, text_of_letters

SUFFIXES = (".nc", ".nc4")
NAMED = True
HOLDS = frozenset({"nodata", "scale", "coordinates", "attributes"})


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """Look at all variables of a file."""
    source = sources.open_source(path)
    if source.read(0, min(3, source.size)).tobytes() == netcdf_classic.MAGIC:
        return conventions.tensors_of(path, *_classic(source, path, every_type), "variable", placeable=True)
    found = netcdf_hdf5.variables(path, every_type=every_type, netcdf=True)
    return conventions.tensors_of(
        path,
        found.variables,
        found.groups,
        "variable",
        placeable=True,
        links=found.links,
        notes=found.notes,
        left_out=found.left_out,
    )


def _classic(source: sources.Opened, path: str, every_type: bool) -> tuple[Variables, Groups]:
    found, attributes = netcdf_classic.variables(source, path)

    def variable(name: str, one: Companion) -> Variable:
        stored = one.elements()

        def tensor() -> Tensor:
            element = element_of(stored.dtype, f"{path} variable {clipped(name)}", every_type=every_type)
            return Tensor(name, element, stored.shape, one.elements)

        is_text = stored.dtype.kind == "S"
        own = text_of_letters(one) if is_text and one.axes else one
        return Variable(own.axes, own.attributes, tensor, lambda: own, is_text)

    return {name: variable(name, one) for name, one in found.items()}, {"": attributes}


# ---- writing -------------------------------------------------------------------------------------------------------


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse names that are no paths of variables, types that netCDF lacks, and dimensions of two sizes."""
    hdf5.check(path, results)
    for result in results:
        if result.element.name == "float16":
            raise DTypeError("types", f"netCDF has no word for {result.element}; write .h5", where=path)
    netcdf_hdf5_writing.check(path, results)


def write_path(path: str, results: Sequence[Result], metadata: Mapping[str, str] = NO_TEXT) -> None:
    """Write variables one after the other, with what belongs to A's."""
    netcdf_hdf5_writing.write(path, results, netcdf=True)


def groups_written(results: Sequence[Result]) -> Collection[str]:
    """All of them are."""
    return conventions.groups_of(results)


def notes(path: str, results: Sequence[Result]) -> tuple[str, ...]:
    """Say which attributes and filters are left out."""
    return netcdf_hdf5_writing.notes(path, results, netcdf=True)
