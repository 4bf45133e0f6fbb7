"""zarr arrays in a zip archive: ``x.zarr.zip``, a store, or one folder that is a store.

An archive is written once and in order, so that a run that is interrupted starts anew; its members are only stored.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence

from minuend.files import sources
from minuend.files.base import NO_TEXT, Result, TensorFile
from minuend.files.formats import zarr
from minuend.files.packages import need
from minuend.files.streaming.pipeline import ahead
from minuend.files.streaming.regions import boxes

SUFFIXES = (".zarr.zip", ".zip")
NAMED = True
HOLDS = zarr.HOLDS

check = zarr.check
groups_written = zarr.groups_written


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """Look at the headers of an array, or of all arrays of a group."""
    need("zarr", "zarr", path)
    from minuend.files.formats import zarr_stores

    return zarr.tensors_of(zarr_stores.Zipped(sources.open_source(path), path), path, every_type=every_type)


def write_path(path: str, results: Sequence[Result], metadata: Mapping[str, str] = NO_TEXT) -> None:
    """Write headers, then the chunks of one array after the other."""
    from minuend.files.formats import zarr_stores

    with contextlib.closing(zarr_stores.ZipWritten(path)) as store:
        for key, content in zarr.headers_of(path, results).items():
            store.put(key, content)
        for name, result in zip(zarr.names_of(results), results, strict=True):
            output = zarr.ChunkedOutput(path, name, store=store)
            regions, cells = itertools.tee(boxes(result.shape, output.grid))
            for region, block in zip(regions, ahead(result.part, cells, 5 * output.nbytes), strict=True):
                output.put(region, block)


def notes(path: str, results: Sequence[Result]) -> tuple[str, ...]:
    """Say which attributes are left out."""
    return zarr.notes(path, results)
