"""What HDF5 says of a dataset that other formats lack: labels of its axes, and the filters of its chunks by name."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minuend.errors import listed
from minuend.files.base import Result, clipped, quoted
from minuend.files.formats import conventions


@dataclass(frozen=True, slots=True)
class Layout:
    """What only HDF5 has.

    Attributes:
        labels: of the axes (``DIMENSION_LABELS``), ``""`` where one has none; empty where none has.
        filters: of the chunks, by the names that ``h5py`` has for them, or their own.
    """

    labels: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What other formats lack."""
        labels = [label for label in self.labels if label]
        return (f"the labels {quoted(labels)} of axes",) if labels else ()


def layout_of(result: Result) -> Layout:
    """Return what HDF5 says of A, where it is a dataset."""
    return result.about.layout if isinstance(result.about.layout, Layout) else Layout()


def labels_of(result: Result) -> tuple[str, ...]:
    """Return the labels of a result's axes; none where it has more axes than A."""
    labels = layout_of(result).labels
    return labels if len(labels) == len(result.shape) else ()


def notes(results: Sequence[Result], written: Container[str], *, netcdf: bool) -> list[str]:
    """Say which filters, dimension scales and labels of A are not in a file.

    Args:
        results: what is written. written: the paths of what the file holds.
        netcdf: whether it is netCDF, which has no labels.
    """
    found = []
    for result in results:
        layout, where = layout_of(result), clipped(result.name)
        if left := _filters_left_out(result):
            used = result.about.filters.get("compression")
            instead = f" and replaced by {used}" if used is not None and used not in layout.filters else ""
            found.append(f"the filters {quoted(left)} of {where} are left out{instead}")
        scales = [path for axis in conventions.placed(result).axes for path in axis.scales]
        if lost := [path for path in scales if path not in written]:
            found.append(f"the dimension scales {quoted(lost)} of {where} are left out")
        if layout.labels and not netcdf and not labels_of(result):
            found.append(f"{listed(layout.names)} of {where} are left out")
    return found


def _filters_left_out(result: Result) -> list[str]:
    if result.chunks is None:
        return []
    filters: Mapping[str, Any] = result.about.filters
    written = {filters.get("compression"), *(name for name in ("shuffle", "fletcher32") if filters.get(name))}
    return [name for name in layout_of(result).filters if name not in written]
