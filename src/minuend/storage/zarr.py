"""zarr arrays, versions 2 and 3: folders ``x.zarr``, groups ``x.zarr::name``, and object stores by address (read only).

A is read chunk by chunk and the difference has its grid; where B's grid is another one, the chunks of B that a chunk
of A touches are read for each of them: that is slower where the grids cross each other, and never wrong. A chunk that
is missing holds the fill value, as zarr has it; one that is cut off or damaged is an error that names it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minuend.errors import DTypeError, FileFormatError, MinuendError
from minuend.storage import remote
from minuend.storage.base import (
    NO_TEXT,
    URL,
    About,
    Result,
    Stored,
    Tensor,
    TensorFile,
    check_shape,
    clipped,
    element_of,
    is_numpys_own,
    need,
)
from minuend.storage.packed import OFFSET, scale_and_offset
from minuend.storage.pipeline import each
from minuend.storage.reading import Array
from minuend.storage.regions import Region, boxes, whole
from minuend.storage.writing import new_file

SUFFIXES = (".zarr",)
NAMED = True
FOLDER = True


@dataclass(frozen=True, slots=True)
class Chunked:
    """The elements of a zarr array; ``where`` names it in messages."""

    array: Any
    where: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """As they are stored."""
        found: np.dtype[Any] = self.array.dtype
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's."""
        return tuple(self.array.shape)

    def read(self) -> Array:
        """Return all of them, read-only."""
        return self.part(whole(self.shape))

    def part(self, region: Region) -> Array:
        """Return a region; see :class:`~minuend.storage.base.Elements`.

        Raises:
            FileFormatError: a chunk that cannot be unpacked.
        """
        try:
            found = np.asarray(self.array[region])
        except Exception as error:
            if _is_plain(error):
                raise
            raise self._damaged(region) from error
        found.flags.writeable = False
        return found

    def _damaged(self, region: Region) -> FileFormatError:
        """Find out which chunk of a region cannot be unpacked, and say so."""
        grid = self.array.shards or self.array.chunks
        for box in boxes(self.shape, grid):
            if all(x.start < y.stop and y.start < x.stop for x, y in zip(box, region, strict=True)):
                try:
                    self.array[box]
                except Exception as error:
                    if _is_plain(error):
                        raise
                    at = tuple(axis.start // max(1, step) for axis, step in zip(box, grid, strict=True))
                    return FileFormatError(
                        f"{self.where}: the chunk {self.array.metadata.encode_chunk_key(at)} cannot be unpacked "
                        f"({error}); it is cut off or damaged, copy the array anew"
                    )
        return FileFormatError(f"{self.where} changed while it was read; read it again when nothing writes it")


def _is_plain(error: Exception) -> bool:
    """Whether an error tells of the system, or is told well already; what codecs raise may be anything else."""
    return isinstance(error, MinuendError | MemoryError) or (isinstance(error, OSError) and error.errno is not None)


# ---- reading -------------------------------------------------------------------------------------------------------


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """Look at the headers of an array, or of all arrays of a group."""
    need("zarr", "zarr", path)
    from minuend.storage import zarr_stores

    if URL not in path and not os.path.isdir(path):
        raise FileFormatError(f"{path} is no folder; expected the folder of a zarr array or group")
    return tensors_of(zarr_stores.opened(path), path, every_type=every_type)


def tensors_of(store: Any, path: str, *, every_type: bool) -> TensorFile:
    """Look at the headers of what a store holds; ``path`` is what messages call it."""
    from minuend.storage import zarr_headers

    with remote.told(path) if URL in path else contextlib.nullcontext():
        found = zarr_headers.nodes(store, path)
    groups = {name: (node.version, node.attributes) for name, node in found.items() if not node.is_array}
    openers = {
        name: functools.partial(_tensor, store, path, node, groups, every_type)
        for name, node in found.items()
        if node.is_array
    }
    return TensorFile(path, "" not in openers, openers)


def _tensor(store: Any, path: str, node: Any, groups: Mapping[str, Any], every_type: bool) -> Tensor:
    from minuend.storage import zarr_headers

    where = f"{path} array {clipped(node.name)}" if node.name else path
    zarr_headers.check(node, where)
    array = _opened(store, node.name, node.version, where)
    element = element_of(array.dtype, where, every_type=every_type)
    check_shape(array.shape, element.itemsize, where)
    grid = array.shards or array.chunks
    zarr_headers.check_grid(array.shape, grid, element.itemsize, where)
    stored = Stored(node.version, node.header, {name: one for name, one in groups.items() if _holds(name, node.name)})
    scale, offset = scale_and_offset(node.attributes, where)
    own = {name: value for name, value in node.attributes.items() if name != OFFSET}
    about = About(attributes=own, stored=stored, scale=scale, offset=offset)
    return Tensor(
        node.name, element, tuple(array.shape), lambda: Chunked(array, where), about=about, chunks=tuple(grid)
    )


def _holds(group: str, name: str) -> bool:
    return not group or name.startswith(f"{group}/")


def _opened(store: Any, name: str, version: int, where: str) -> Any:
    """Have ``zarr`` open an array; what it says of formats that may change is no business of who reads one."""
    import zarr

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return zarr.open_array(store=store, path=name, mode="r", zarr_format=version)
    except Exception as error:
        if _is_plain(error):
            raise
        raise FileFormatError(f"{where} is no array that zarr {zarr.__version__} reads: {error}") from None


# ---- writing -------------------------------------------------------------------------------------------------------


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse types that zarr lacks, and names that are no folders of their own."""
    need("zarr", "zarr", path)
    from minuend.storage import zarr_headers

    names = names_of(results)
    for name, result in zip(names, results, strict=True):
        where = f"{path} array {clipped(name)}" if name else path
        if not is_numpys_own(result.element):
            raise DTypeError("types", f"zarr has no {result.element}; write to .safetensors or .pb", where=where)
        zarr_headers.attributes_of(result, where)
        _check_name(name, path, names)


def _check_name(name: str, path: str, names: Iterable[str]) -> None:
    parts = name.split("/")
    bad = any(part in ("", ".", "..") or part.startswith(("__", ".z")) or part == "zarr.json" for part in parts)
    if name and (bad or "\0" in name or "\\" in name):
        raise FileFormatError(f"{path}: the name {clipped(name)} is none that zarr has; rename the tensor")
    for k in range(1, len(parts)):
        if "/".join(parts[:k]) in names:
            raise FileFormatError(
                f"{path}: {clipped(name)} would lie within the array {clipped('/'.join(parts[:k]))}; rename one of them"
            )


def names_of(results: Sequence[Result]) -> list[str]:
    """Return the arrays' names in the goal; ``""``: the goal is this array, as A was or where A was no zarr group."""
    in_group = any(result.about.stored is not None and result.about.stored.groups for result in results)
    return [""] if len(results) == 1 and not in_group else [result.name for result in results]


def write_path(path: str, results: Sequence[Result], metadata: Mapping[str, str] = NO_TEXT) -> None:
    """Write arrays to a new folder."""
    spare = os.path.join(path, ".spare")
    os.mkdir(spare)
    create(path, results)
    for name, result in zip(names_of(results), results, strict=True):
        goal = Goal(path, name, spare)
        each(functools.partial(_write, goal, result), boxes(result.shape, goal.grid), 5 * goal.nbytes)
    os.rmdir(spare)


def _write(goal: Goal, result: Result, region: Region) -> None:
    goal.put(region, result.part(region))


def create(path: str, results: Sequence[Result]) -> None:
    """Write the headers of arrays without chunks to a folder, and those of the groups that they lie in."""
    for key, content in headers_of(path, results).items():
        file = os.path.join(path, *key.split("/"))
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with new_file(file) as stream:
            stream.write(content)


def headers_of(path: str, results: Sequence[Result]) -> dict[str, bytes]:
    """Return all that stands beside the chunks, by its key; the outermost group comes last."""
    from minuend.storage import zarr_headers

    found: dict[str, bytes] = {}
    groups: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for name, result in zip(names_of(results), results, strict=True):
        version, header = zarr_headers.header_of(result)
        found |= _header(name, version, header, zarr_headers.attributes_of(result, path))
        stored = result.about.stored
        for k in range(len(name.split("/")) if name else 0):
            group = "/".join(name.split("/")[:k])
            groups[group] = (version, stored.groups.get(group, (version, {}))[1] if stored else {})
    for group, (version, attributes) in sorted(groups.items(), reverse=True):
        header = {"zarr_format": version, **({"node_type": "group"} if version == 3 else {})}
        found |= _header(group, version, header, attributes)
    return found


def _header(name: str, version: int, header: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, bytes]:
    files: dict[str, Mapping[str, Any]] = {"zarr.json": {**header, "attributes": attributes}}
    if version == 2:
        files = {".zarray" if "shape" in header else ".zgroup": header}
        files |= {".zattrs": attributes} if attributes else {}
    prefix = f"{name}/" if name else ""
    return {prefix + file: (json.dumps(data, indent=2) + "\n").encode() for file, data in files.items()}


class Goal:
    """An array whose chunks are written, in any order, by several threads or processes.

    Args:
        path: its folder, or that of its group; or its address. name: in the group.
        spare: a folder for chunks that are half written; an object store takes them in one piece.
        called: what errors call the folder. headers: of an address, see :func:`headers_of`: they are written last.

    Attributes:
        grid: of what is written at a time. nbytes: of one of these.
    """

    def __init__(
        self, path: str, name: str, spare: str, called: str = "", headers: Mapping[str, bytes] | None = None
    ) -> None:
        from minuend.storage import zarr_stores

        self._address = path if headers is not None else ""
        if headers is not None:
            self._open(zarr_stores.to_address(path, headers), name)
            return
        if not os.path.isdir(spare):  # zarr would make it
            raise FileNotFoundError(f"there is no folder {spare}")
        self._open(zarr_stores.Written(path, spare=spare, goal=called or path), name)

    @classmethod
    def within(cls, store: Any, name: str) -> Goal:
        """Open an array of a store."""
        found = cls.__new__(cls)
        found._address = ""
        found._open(store, name)
        return found

    def _open(self, store: Any, name: str) -> None:
        import zarr

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._array = zarr.open_array(store=store, path=name, mode="r+")
        self.grid: tuple[int, ...] = tuple(self._array.shards or self._array.chunks)
        self.nbytes = int(np.prod(self.grid, dtype=object)) * self._array.dtype.itemsize

    def put(self, region: Region, elements: Array) -> None:
        """Write a region that is a cell of the grid; where it was written before, it is written again."""
        with remote.told(self._address) if self._address else contextlib.nullcontext():
            self._array[region] = elements
