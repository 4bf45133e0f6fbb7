"""What the formats share: tensors that are not read yet, results that are not computed yet, and what NumPy can hold."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, BinaryIO, Protocol

import numpy as np

from minuend.core import elements
from minuend.core.elements import ElementType
from minuend.core.shapes import size
from minuend.errors import DTypeError, FileFormatError, listed
from minuend.files.formats.coordinates import Attributes, Coordinates
from minuend.files.formats.georeference import Grid
from minuend.files.formats.plain_types import plain_type
from minuend.files.stored_elements import Elements, InMemory
from minuend.files.streaming import regions
from minuend.files.streaming.pipeline import ahead, each
from minuend.files.streaming.reading import Array
from minuend.files.streaming.regions import BAND_BYTES, Region, bands, runs, tiles
from minuend.files.transaction.streams import Placed, Places


@dataclass(frozen=True, slots=True)
class Shard:
    """The file of several in which a tensor lies, by its name there, and that file's free text."""

    file: str
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stored:
    """How a zarr array is stored, in the format's own words.

    Attributes:
        version: of the format, 2 or 3. header: of the array, as JSON. named: whether it says how its axes are called.
        consolidated: whether its outermost group lists the headers of all.
    """

    version: int
    header: Mapping[str, Any]
    named: bool = False
    consolidated: bool = False


class Layout(Protocol):
    """How a format stores a tensor, and what it says of it for itself."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return what of it other formats lack, in words."""


@dataclass(frozen=True, slots=True)
class About:
    """What a file says of a tensor beside its elements.

    Attributes:
        nodata: the value of elements that hold none. grid: where pixels lie; two that differ are not subtracted.
        placeable: whether the format has a word for that. scale, offset: of scaled values, which mean
            scale * value + offset.
        origin: what moments are counted from (``days since 2000-01-01``); ``""`` of other numbers.
        conventions: how numbers and places are read, by what they settle; two that differ are not subtracted.
        attributes: names and values that go from A to the difference by the format's own rules: units.
        groups: the attributes of the groups that it lies in, by path; the whole file's under ``""``.
        filters: lossless ones of its chunks, as ``h5py`` takes them.
        shard: the file of several that it lies in; ``None`` where there is one for all.
        stored: how it is stored, where it is a zarr array.
        layout: what its format says of it beside all this, which another format lacks.
        notes: sentences for the report of whoever subtracts it.
    """

    nodata: int | float | None = None
    grid: Grid | Coordinates | None = None
    attributes: Attributes = field(default_factory=lambda: MappingProxyType({}))
    shard: Shard | None = None
    stored: Stored | None = None
    layout: Layout | None = None
    placeable: bool = False
    scale: float = 1.0
    offset: float = 0.0
    origin: str = ""
    conventions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    groups: Mapping[str, Attributes] = field(default_factory=lambda: MappingProxyType({}))
    filters: Attributes = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()


NOTHING = About()


NO_TEXT: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor in a file.

    Attributes:
        name: its name there; ``""`` where the format has none.
        element: its element type. shape: its shape.
        elements: finds its elements; what is packed is unpacked for that.
        about: what the file says of it beside them.
        chunks: the grid in which they are stored and best read; ``None``: one contiguous range.
        fortran: whether they lie in Fortran order.
    """

    name: str
    element: ElementType
    shape: tuple[int, ...]
    elements: Callable[[], Elements]
    about: About = NOTHING
    chunks: tuple[int, ...] | None = None
    fortran: bool = False

    def read(self) -> Array:
        return self.elements().read()


class TensorFile(Mapping[str, Tensor]):
    """The tensors of a file by name, each looked at only when it is requested.

    Attributes:
        path: the file. named: whether the format holds several tensors by name; otherwise there is exactly one.
        metadata: free text of the whole file.
        sources: all files that are read for it, which no output may replace; one that ends in ``/`` is a folder, and
            all that lies in it belongs to it.
        links: other names by which tensors are found, which are not listed.
        unlisted: the names of tensors that are found, and not listed: they belong to others.
        notes: sentences for the report of whoever subtracts all of it.
        left_out: sentences on what of it goes to no difference from all of it.
    """

    def __init__(
        self,
        path: str,
        named: bool,
        openers: Mapping[str, Callable[[], Tensor]],
        metadata: Mapping[str, str] = NO_TEXT,
        sources: Sequence[str] = (),
        links: Mapping[str, str] = NO_TEXT,
        unlisted: Collection[str] = (),
        notes: Sequence[str] = (),
        left_out: Sequence[str] = (),
    ) -> None:
        self.path = path
        self.named = named
        self.metadata = metadata
        self.sources = (path, *sources)
        self.links = links
        self.unlisted = unlisted
        self.notes = tuple(notes)
        self.left_out = tuple(left_out)
        self._openers = openers

    def of_folder(self) -> TensorFile:
        """Return it as one whose path is a folder of its own: all that lies there belongs to it."""
        folder, *others = self.sources
        self.sources = (f"{folder.rstrip('/')}/", *others)
        return self

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._openers and name in self.links:
            return replace(self._openers[self.links[name]](), name=name)
        return self._openers[name]()

    def __contains__(self, name: object) -> bool:
        """Whether it is found by a name; the tensor is not looked at."""
        return name in self._openers or name in self.links

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._openers if name not in self.unlisted)

    def __len__(self) -> int:
        return len(self._openers) - len(self.unlisted)


@dataclass(frozen=True, slots=True)
class Result:
    """A tensor to be written, any region of which can be computed.

    Attributes:
        name, element, shape: what it is.
        part: computes a region; in any order, several threads at once, each region once unless all is done anew.
        chunks: the grid of A's elements, which a chunked format keeps; ``None`` where there is none.
        about: what the file says of it beside its elements.
        fortran: whether its operands lie in Fortran order, so that it is quicker to have in that order.
    """

    name: str
    element: ElementType
    shape: tuple[int, ...]
    part: Callable[[Region], Array]
    chunks: tuple[int, ...] | None = None
    about: About = NOTHING
    fortran: bool = False

    @classmethod
    def of(cls, name: str, element: ElementType, array: Array, about: About = NOTHING) -> Result:
        """A result that is in memory already."""
        return cls(name, element, array.shape, InMemory(array).part, about=about)

    @property
    def nbytes(self) -> int:
        return size(self.shape) * self.element.itemsize

    def blocks(self, *, fortran: bool = False) -> Iterator[Array]:
        """Compute it block by block, as bytes in C order, or in Fortran order; the next ones are computed meanwhile."""
        return ahead(
            functools.partial(self._bytes, fortran=fortran), self.cut(bands, fortran=fortran), self.block_nbytes
        )

    def write(self, stream: Any, *, fortran: bool = False) -> None:
        """Write the elements' bytes to a stream, in C order or in Fortran order; see :func:`write_all`."""
        write_all([self], stream, fortran=fortran)

    def cut(self, how: Callable[..., Iterator[Region]], *, fortran: bool) -> Iterator[Region]:
        """Cut it into ``bands`` or ``tiles`` as it lies in a file: its axes are reversed for Fortran order."""
        if fortran:
            return how(self.shape[::-1], self.element.itemsize, None)
        return how(self.shape, self.element.itemsize, self.chunks)

    def put(self, region: Region, stream: Placed | Places, start: int, *, fortran: bool = False) -> None:
        """Compute a region, one of :meth:`cut`, and put it in its place where the elements start at ``start``."""
        length, starts = runs(region, self.shape[::-1] if fortran else self.shape)
        itemsize = self.element.itemsize
        for row, at in zip(self._bytes(region, fortran=fortran).reshape(-1, length * itemsize), starts, strict=True):
            stream.put(start + at * itemsize, row.data)

    @property
    def block_nbytes(self) -> int:
        """Bytes that a block takes at most: both operands, in the file's byte order and the machine's, and itself."""
        chunk = size(self.chunks) * self.element.itemsize if self.chunks else 0
        return 5 * max(BAND_BYTES if self.chunks else regions.BLOCK_BYTES, chunk)

    def _bytes(self, region: Region, *, fortran: bool) -> Array:
        """Compute a region; bytes, since the buffer protocol has no word for ml_dtypes' element types."""
        block = self.part(region[::-1]).T if fortran else self.part(region)
        return np.ascontiguousarray(block).reshape(-1).view(np.uint8)


def write_all(results: Sequence[Result], stream: Any, *, fortran: bool = False) -> None:
    """Write the elements of tensors one behind the other.

    A stream that takes bytes at any place gets several blocks at a time, and no block waits for another tensor's.
    """
    if not isinstance(stream, Placed):
        for result in results:
            for block in result.blocks(fortran=fortran):
                stream.write(block.data)
        return
    start = stream.reserve(sum(result.nbytes for result in results))
    starts = itertools.accumulate((result.nbytes for result in results), initial=start)
    pieces = (
        (result, start, region)
        for result, start in zip(results, starts, strict=False)  # the last one is the end
        for region in result.cut(tiles, fortran=fortran)
    )

    def put(piece: tuple[Result, int, Region]) -> None:
        result, start, region = piece
        result.put(region, stream, start, fortran=fortran)

    each(put, pieces, max((result.block_nbytes for result in results), default=0))


class Format(Protocol):
    """A module of this folder, or a dialect's ``tensor_files.py``: one file format.

    It has one of ``write`` and ``write_path``, or neither where files are only read.

    Attributes:
        SUFFIXES: what the names of its files end in. NAMED: whether a file holds several tensors by name.
        FOLDER: ``True`` where what bears the name is a folder; left out elsewhere.
        HOLDS: what its files say beside elements: ``nodata``, ``scale``, ``georeference``, ``coordinates``,
            ``attributes``; left out where there is nothing. Layout: what it alone says, see :class:`Layout`.
        notes: returns sentences for the report of what is written, by the path and the results; left out by most.
        groups_written: returns the groups of results whose attributes a file has, see :class:`About`; without it none.
    """

    SUFFIXES: tuple[str, ...]
    NAMED: bool

    def open_file(self, path: str, *, every_type: bool = False) -> TensorFile:
        """Look at a file's header; its elements stay where they are.

        Tensors of types that subtraction lacks are refused, unless ``every_type`` takes them.
        """

    def check(self, path: str, results: Sequence[Result]) -> None:
        """Refuse results that the format cannot hold, before anything is computed."""

    def write(self, stream: BinaryIO, results: Sequence[Result], metadata: Mapping[str, str] = NO_TEXT) -> None:
        """Write a whole file to a stream, and the file's free text where the format has a place for it."""

    def write_path(self, path: str, results: Sequence[Result], metadata: Mapping[str, str] = NO_TEXT) -> None:
        """Write a whole file (or folder) to a path where nothing is yet, which has the output's name."""


class ChunkedOutput(Protocol):
    """A tensor whose chunks are written, in any order, by several threads or processes.

    Attributes:
        grid: of what is written at a time. nbytes: of one cell of it.
    """

    grid: tuple[int, ...]
    nbytes: int

    def put(self, region: Region, elements: Array) -> tuple[int, int] | None:
        """Write a cell of the grid; where it was written before, it is written again.

        Returns:
            the length and checksum of what is stored; ``None`` where nothing is, since all is the fill value.
        """

    def holds(self, region: Region, mark: tuple[int, int] | None) -> bool:
        """Whether a cell is stored as :meth:`put` said."""


class ChunkedFormat(Format, Protocol):
    """A format whose chunks are files of their own, that can be written in any order."""

    def create(self, path: str, results: Sequence[Result]) -> None:
        """Write all that stands beside the chunks to a folder that is empty."""

    def names_of(self, results: Sequence[Result]) -> list[str]:
        """Return what results are called in the folder."""

    def headers_of(self, path: str, results: Sequence[Result]) -> dict[str, bytes]:
        """Return all that stands beside the chunks, by its key; the outermost comes last."""

    def ChunkedOutput(  # noqa: N802
        self, path: str, name: str, spare: str, called: str, headers: Mapping[str, bytes] | None
    ) -> ChunkedOutput:
        """Open a tensor of a folder or an address; see :class:`minuend.files.formats.zarr.ChunkedOutput`."""


def is_numpys_own(element: ElementType) -> bool:
    """Whether NumPy itself knows the type, so that its files name it; ml_dtypes' types it saves as bare bytes."""
    return element.memory.isbuiltin == 1 and element.numpy is not None


def element_of(dtype: np.dtype[Any], where: str, *, every_type: bool = False) -> ElementType:
    """Return the row of the element type that a NumPy file states; with ``every_type`` one that subtraction lacks too.

    Raises:
        FileFormatError: pickled objects, or raw bytes that do not say what they are. DTypeError: no numeric type.
    """
    if dtype.hasobject:
        raise FileFormatError(f"{where} holds Python objects, which are pickles and can run code; expected numbers")
    row = elements.of_numpy(dtype)
    nameless = dtype.kind == "V" and dtype.names is None
    if nameless or (row is not None and not is_numpys_own(row)):
        raise FileFormatError(
            f"{where} holds raw elements of {dtype.itemsize} bytes without a type (NumPy saves bfloat16 and the narrow "
            "types so); expected a numeric type, write such tensors as .safetensors or .pb"
        )
    if row is None and every_type:
        row = plain_type(dtype, text=True)
    if row is None:
        raise DTypeError("types", f"{elements.refusal(dtype.name)}; expected {listed(elements.TYPES)}", where=where)
    return row


def alpha_note(path: str) -> str:
    """Return what a report says of an image with alpha."""
    return f"{path} has alpha, which is subtracted like a colour: transparent pixels count as data"


def clipped(text: str, most: int = 200) -> str:
    """Quote a name that may be very long for a message."""
    return repr(text) if len(text) <= most else f"{text[:most]!r} … ({len(text)} characters)"


def quoted(names: Iterable[str], *, most: int = 20) -> str:
    """List names for a message, the first ones of very many."""
    all_names = list(names)
    shown = ", ".join(map(clipped, all_names[:most]))
    return shown if len(all_names) <= most else f"{shown} and {len(all_names) - most} more"


# ---- what NumPy can hold --------------------------------------------------------------------------------------

_MOST_DIMS = 64
_MOST = (1 << 63) - 1


def check_shape(shape: Sequence[int], itemsize: int, where: str) -> None:
    """Check that NumPy has arrays of a shape; its limits hold for empty ones too.

    A shape that is too large without being empty fails later, by the length of the file.

    Raises:
        FileFormatError: more than 64 dims, a size beyond 64 bits, or sizes beside a 0 whose bytes are.
    """
    if len(shape) > _MOST_DIMS:
        raise FileFormatError(f"{where} has {len(shape)} dims; NumPy's arrays have {_MOST_DIMS} at most")
    for axis, dim in enumerate(shape):
        if dim > _MOST:
            raise FileFormatError(f"{where} has a size of {dim.bit_length()} bits on axis {axis}; expected 63 at most")
    if 0 in shape and math.prod(dim or 1 for dim in shape) * itemsize > _MOST:
        raise FileFormatError(
            f"{where} has the shape {tuple(shape)}: it is empty, but its sizes other than 0 are of more than {_MOST} "
            "bytes, and NumPy has no such array"
        )
