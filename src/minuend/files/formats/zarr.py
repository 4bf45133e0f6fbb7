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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from minuend.core import elements
from minuend.errors import DTypeError, FileFormatError, MinuendError
from minuend.files.addresses import URL
from minuend.files.base import (
    NO_TEXT,
    About,
    Result,
    Stored,
    Tensor,
    TensorFile,
    check_shape,
    clipped,
    element_of,
    is_numpys_own,
    quoted,
)
from minuend.files.formats import conventions, zarr_conventions, zarr_headers, zarr_images
from minuend.files.formats.conventions import Variable
from minuend.files.formats.coordinates import Axis, Companion, Coordinates, Texts
from minuend.files.formats.zarr_headers import Node
from minuend.files.packages import need
from minuend.files.streaming.pipeline import each
from minuend.files.streaming.reading import Array
from minuend.files.streaming.regions import Region, boxes, whole
from minuend.files.transaction import remote
from minuend.files.transaction.writing import new_file

if TYPE_CHECKING:
    from minuend.files.formats.zarr_stores import Mark

SUFFIXES = (".zarr",)
NAMED = True
HOLDS = frozenset({"nodata", "scale", "coordinates", "attributes"})
FOLDER = True
_Json: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Chunked:
    """The elements of a zarr array; ``where`` names it in messages."""

    array: Any
    where: str

    @property
    def dtype(self) -> np.dtype[Any]:
        found: np.dtype[Any] = self.array.dtype
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    def read(self) -> Array:
        """Return all of them, read-only."""
        return self.part(whole(self.shape))

    def part(self, region: Region) -> Array:
        """Return a region; see :class:`~minuend.files.stored_elements.Elements`.

        Raises:
            FileFormatError: a chunk that cannot be unpacked.
        """
        try:
            with _memory():
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
                    with _memory():
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
    """Whether an error is one of the system, or has a good message already; what codecs raise may be anything else."""
    return isinstance(error, MinuendError | MemoryError) or (isinstance(error, OSError) and error.errno is not None)


@contextlib.contextmanager
def _memory() -> Iterator[None]:
    """Raise a MemoryError where a codec has no memory: Zstandard's raises a RuntimeError that says so."""
    try:
        yield
    except RuntimeError as error:
        if "not enough memory" in str(error):
            raise MemoryError(str(error)) from None
        raise


# ---- reading -------------------------------------------------------------------------------------------------------


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """Look at the headers of an array, or of all arrays of a group."""
    need("zarr", "zarr", path)
    from minuend.files.formats import zarr_stores

    if URL not in path and not os.path.isdir(path):
        raise FileFormatError(f"{path} is no folder; expected the folder of a zarr array or group")
    return tensors_of(zarr_stores.opened(path), path, every_type=every_type).of_folder()


def tensors_of(store: object, path: str, *, every_type: bool) -> TensorFile:
    """Look at the headers of what a store holds; ``path`` is what messages call it."""
    with remote.errors_naming(path):
        found = zarr_headers.nodes(store, path)
    root = found[""]
    stored = Stored(root.version, root.header, consolidated=zarr_headers.is_consolidated(store, root))
    known = zarr_conventions.coordinates_among(found)
    groups = {name: node.attributes for name, node in found.items() if not node.is_array}
    variables = {
        name: _variable(store, path, node, known, stored, groups, every_type)
        for name, node in found.items()
        if node.is_array
    }
    return conventions.tensors_of(path, variables, groups, "array")


def _variable(
    store: object,
    path: str,
    node: Node,
    known: Collection[str],
    root: Stored,
    groups: Mapping[str, _Json],
    every_type: bool,
) -> Variable:
    where = f"{path} array {clipped(node.name)}" if node.name else path
    opened = functools.cache(lambda: _bounded(store, node, where))
    stored = replace(root, version=node.version, header=node.header, named=zarr_conventions.is_named(node))
    axes, attributes = zarr_conventions.axes_of(node, known), zarr_conventions.attributes_of(node)
    return Variable(
        axes,
        attributes,
        functools.partial(_tensor, node, where, opened, stored, groups, every_type),
        functools.partial(_companion, node, where, opened, axes, attributes),
        zarr_conventions.holds_texts(node),
    )


def _tensor(
    node: Node,
    where: str,
    opened: Callable[[], Any],
    stored: Stored,
    groups: Mapping[str, _Json],
    every_type: bool,
) -> Tensor:
    if zarr_conventions.is_text(node):
        raise DTypeError("types", f"{elements.refusal('string')}; expected numbers", where=where)
    zarr_headers.check(node, where)
    array = opened()
    element = element_of(array.dtype, where, every_type=every_type)
    shape = tuple(array.shape)
    about = About(
        stored=stored, conventions=MappingProxyType(zarr_images.places(node.name, shape, node.attributes, groups))
    )
    return Tensor(node.name, element, shape, lambda: Chunked(array, where), about=about, chunks=_grid(array, where))


def _grid(array: Any, where: str) -> tuple[int, ...]:
    """Return the grid of what is stored in one piece, of an array that is not too large."""
    itemsize, grid = max(1, array.dtype.itemsize), tuple(array.shards or array.chunks)
    check_shape(array.shape, itemsize, where)
    zarr_headers.check_grid(array.shape, grid, itemsize, where)
    return grid


def _companion(
    node: Node,
    where: str,
    opened: Callable[[], Any],
    axes: tuple[Axis, ...],
    attributes: Mapping[str, object],
) -> Companion | None:
    """Return an array that belongs to another; ``None`` where its type is none that is copied."""
    is_text = zarr_conventions.is_text(node)
    array = opened()
    if not is_text and array.dtype.kind not in "iufSbU":
        return None
    _grid(array, where)
    values = Chunked(array, where)
    return Companion(
        node.name, axes, attributes, lambda: Texts(values) if is_text or values.dtype.kind == "U" else values
    )


def _bounded(store: object, node: Node, where: str) -> Any:
    """Open an array whose chunks are read and unpacked no further than its header says."""
    from minuend.files.formats import zarr_bounds

    if zarr_conventions.is_text(node):  # no header gives its length
        return _opened(store, node.name, node.version, where)
    zarr_headers.check(node, where)
    zarr_headers.check_form(node, where)
    array = _opened(store, node.name, node.version, where)
    zarr_bounds.bound(array)
    limits = getattr(store, "limits", None)
    if limits is not None:
        limits[node.name] = zarr_bounds.longest(tuple(array.shards or array.chunks), max(1, array.dtype.itemsize))
    return array


def _opened(store: object, name: str, version: int, where: str) -> Any:
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
    conventions.check(path, results)
    names = names_of(results)
    for name, result in zip(names, results, strict=True):
        where = f"{path} array {clipped(name)}" if name else path
        if not is_numpys_own(result.element):
            raise DTypeError("types", f"zarr has no {result.element}; write to .safetensors or .pb", where=where)
        zarr_conventions.in_attributes(result, 3, where)
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
    """Return the arrays' names in the output; ``""``: it is this array, as A was or where A was no zarr group."""
    in_group = any(map(_in_group, results))
    return [""] if len(results) == 1 and not in_group else [result.name for result in results]


def _in_group(result: Result) -> bool:
    """Whether a result lies in a group, as A did, or as xarray reads variables of other formats."""
    about = result.about
    follows = about.stored is not None or about.placeable or isinstance(about.grid, Coordinates)
    return bool(about.groups) and follows


def write_path(path: str, results: Sequence[Result], metadata: Mapping[str, str] = NO_TEXT) -> None:
    """Write arrays to a new folder."""
    spare = os.path.join(path, ".spare")
    os.mkdir(spare)
    create(path, results)
    for name, result in zip(names_of(results), results, strict=True):
        output = ChunkedOutput(path, name, spare)

        def write(region: Region, result: Result = result, output: ChunkedOutput = output) -> None:
            output.put(region, result.part(region))

        each(write, boxes(result.shape, output.grid), 5 * output.nbytes)
    os.rmdir(spare)


def groups_written(results: Sequence[Result]) -> Collection[str]:
    """Return the groups around arrays; an array that lies in none has its own attributes alone."""
    return {group for name in names_of(results) for group in _groups_around(name)}


def notes(path: str, results: Sequence[Result]) -> tuple[str, ...]:
    """Say which attributes and codecs are left out."""
    version = zarr_headers.version_of(results)
    codecs = [
        f"the codecs {quoted(names)} of {clipped(result.name)} are left out"
        for result in results
        if (names := zarr_headers.codecs_left_out(result, version))
    ]
    return (*zarr_conventions.left_out(results, groups_written(results)), *codecs)


def create(path: str, results: Sequence[Result]) -> None:
    """Write the headers of arrays without chunks to a folder, and those of the groups that they lie in.

    What a run before has left there is written anew: a power failure may have cut it off.
    """
    for key, content in headers_of(path, results).items():
        file = os.path.join(path, *key.split("/"))
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file)
        with new_file(file) as stream:
            stream.write(content)


def _is_consolidated(result: Result) -> bool:
    """Whether the outermost group lists all headers, as A's did, and as xarray has it write those of its datasets."""
    stored = result.about.stored
    return stored.consolidated if stored is not None else _in_group(result)


class Headers(Mapping[str, bytes]):
    """What stands beside the chunks of results, by its key, each made when it is requested."""

    def __init__(self, makers: Mapping[str, Callable[[], bytes]]) -> None:
        self._makers = makers

    def __getitem__(self, key: str) -> bytes:
        return self._makers[key]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def headers_of(path: str, results: Sequence[Result]) -> Mapping[str, bytes]:
    """Return all that stands beside the chunks, by its key; the outermost group comes last."""
    chunks: dict[str, Callable[[], bytes]] = {}
    found: dict[str, _Json] = {}
    groups: dict[str, _Json] = {}
    version = zarr_headers.version_of(results)
    shapes = {name: result.shape for name, result in zip(names_of(results), results, strict=True)}
    stated = {
        group: zarr_images.of_written(group, attributes, shapes)
        for group, attributes in conventions.groups_of(results).items()
    }
    for name, result in zip(names_of(results), results, strict=True):
        header = zarr_headers.header_of(result, version)
        attributes = zarr_conventions.in_attributes(result, version, path)
        found |= _header(name, version, zarr_conventions.in_header(result, version, header), attributes)
        for group in _groups_around(name):
            groups.setdefault(group, zarr_conventions.in_json(stated.get(group, {})))
    for name, one in conventions.companions(results).items() if groups else ():
        written = zarr_conventions.companion(one, version)
        found |= _header(name, version, written.header, written.attributes)
        chunks |= {f"{name}/{key}": make for key, make in written.chunks.items()}
    kind = {"node_type": "group"} if version == 3 else {}
    for group, stating in sorted(groups.items(), reverse=True):
        found |= _header(group, version, {"zarr_format": version, **kind}, stating)
    if groups and any(map(_is_consolidated, results)):
        found = zarr_headers.consolidated(found, version)
    makers = {key: functools.partial(_as_json, data) for key, data in found.items()}
    return Headers(chunks | makers)


def _groups_around(name: str) -> list[str]:
    return ["/".join(name.split("/")[:k]) for k in range(len(name.split("/")) if name else 0)]


def _as_json(data: _Json) -> bytes:
    return (json.dumps(data, indent=2) + "\n").encode()


def _header(
    name: str, version: int, header: Mapping[str, object], attributes: Mapping[str, object]
) -> dict[str, Mapping[str, object]]:
    files: dict[str, _Json] = {"zarr.json": {**header, "attributes": attributes}}
    if version == 2:
        files = {".zarray" if "shape" in header else ".zgroup": header}
        files |= {".zattrs": attributes} if attributes else {}
    prefix = f"{name}/" if name else ""
    return {prefix + file: data for file, data in files.items()}


class ChunkedOutput:
    """An array whose chunks are written, in any order, by several threads or processes.

    Args:
        path: its folder, or that of its group; or its address. name: in the group.
        spare: a folder for chunks that are half written; an object store takes them in one piece.
        called: what errors call the folder. headers: of an address, see :func:`headers_of`: they are written last.
        store: another one that it lies in.

    Attributes:
        grid: of what is written at a time. nbytes: of one of these.
    """

    def __init__(
        self,
        path: str,
        name: str,
        spare: str = "",
        called: str = "",
        headers: Mapping[str, bytes] | None = None,
        store: object = None,
    ) -> None:
        import zarr

        from minuend.files.formats import zarr_stores

        self._address = path if headers is not None else ""
        if headers is not None:
            store = zarr_stores.to_address(path, headers)
        elif store is None:
            if not os.path.isdir(spare):  # zarr would make it
                raise FileNotFoundError(f"there is no folder {spare}")
            store = zarr_stores.Written(path, spare=spare, output=called or path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._array = zarr.open_array(store=store, path=name, mode="r+")
        self._store, self._name = store, name
        self.grid: tuple[int, ...] = tuple(self._array.shards or self._array.chunks)
        self.nbytes = int(np.prod(self.grid, dtype=object)) * self._array.dtype.itemsize

    def put(self, region: Region, elements: Array) -> Mark | None:
        """Write a region that is a cell of the grid; where it was written before, it is written again.

        Returns:
            the length and checksum of what is stored; ``None`` where nothing is, since all is the fill value.
        """
        with remote.errors_naming(self._address), _memory():
            self._array[region] = elements
        marks: dict[str, Mark] = getattr(self._store, "marks", {})
        return marks.pop(self._key(region), None)

    def holds(self, region: Region, mark: Mark | None) -> bool:
        """Whether what is stored of a region has a length and checksum, or is not there where nothing was stored."""
        from minuend.files.formats import zarr_stores

        with remote.errors_naming(self._address):
            found = zarr_stores.content(self._store, self._key(region))
        return (None if found is None else zarr_stores.mark_of(found)) == mark

    def _key(self, region: Region) -> str:
        at = tuple(axis.start // step for axis, step in zip(region, self.grid, strict=True))
        key: str = self._array.metadata.encode_chunk_key(at)
        return f"{self._name}/{key}" if self._name else key
