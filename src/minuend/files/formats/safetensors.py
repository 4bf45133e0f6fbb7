"""safetensors: named tensors.

    header length (u64, little-endian), header (JSON), elements

The header maps each name to ``dtype``, ``shape`` and ``data_offsets`` (begin and end within the elements), and
``__metadata__`` to free text. Tensors lie one behind the other without gaps. The header is checked here, so that an
error can say what is wrong and where, and by the ``safetensors`` package, which has the last word on files that are
read and on files that are written; it reads and writes whole tensors, so the elements are read and written here. The
package maps what it is given: it gets a copy of the header, in a temporary file that nobody else can shorten.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import IO

from minuend.core.elements import TYPES, ElementType
from minuend.core.shapes import size
from minuend.errors import DTypeError, FileFormatError, listed, shown
from minuend.files import sources
from minuend.files.base import NO_TEXT, Result, Tensor, TensorFile, check_shape, clipped, write_all
from minuend.files.formats.plain_types import PlainType
from minuend.files.packages import need
from minuend.files.stored_elements import Contiguous
from minuend.files.streaming import reading
from minuend.files.streaming.reading import Source
from minuend.files.transaction import writing
from minuend.schema import Item, Stated, parse_json

SUFFIXES = (".safetensors",)
NAMED = True
HOLDS = frozenset({"metadata"})
LONGEST_HEADER = 100_000_000
_METADATA = "__metadata__"
_OPEN_FILES = "/dev/fd"
"""Where a system shows the files that a process holds open; Windows does not."""
_NARROW = {"float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0"}
_LACKED = (("BOOL", "bool", 8), ("C64", "complex64", 64))
WORDS: dict[str, str] = {name: row.kernel.upper() for name, row in TYPES.items() if row.kernel != "table"} | _NARROW
"""What the format calls each element type that takes whole bytes: letter and width, as the kernel's traits do."""
_ELEMENTS = {word: TYPES[name] for name, word in WORDS.items()}
_EVERY = _ELEMENTS | {word: PlainType(name, bits, "unsigned", "none") for word, name, bits in _LACKED}


def open_file(path: str, *, every_type: bool = False) -> TensorFile:
    """Check a file's header; its elements stay in the file."""
    source = sources.open_source(path)
    known = _EVERY if every_type else _ELEMENTS
    found = layout(source, path, every_type=every_type)
    openers = {span.name: functools.partial(_tensor, source, path, known, span) for span in found.spans}
    return TensorFile(path, NAMED, openers, found.metadata)


@dataclass(frozen=True, slots=True)
class Span:
    """Where a tensor lies in a file, from its first byte on; ``word`` is what the format calls its type."""

    name: str
    word: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int

    @property
    def element(self) -> ElementType | None:
        """Its type, where this package knows it."""
        return _EVERY.get(self.word)


@dataclass(frozen=True, slots=True)
class Layout:
    """What a header says: where the elements start, the tensors in the header's order, and free text."""

    start: int
    spans: tuple[Span, ...]
    metadata: dict[str, str]


def layout(source: Source, path: str, *, every_type: bool = False, ask: bool = True) -> Layout:
    """Check a file's header, against the file's size too.

    Args:
        source: the file's bytes. path: what messages call it.
        every_type: whether the sizes of types that subtraction lacks are known. ask: have the package check it too.

    Raises:
        FileFormatError: it is none, or promises what is not there. Unsupported: the package is not installed.
    """
    need("safetensors", "safetensors", path)
    known = _EVERY if every_type else _ELEMENTS
    start, header, metadata = _header(source, path)
    spans = [_span(name, entry, known, start, f"{path} tensor {clipped(name)}") for name, entry in header.items()]
    _check_spans(sorted((one.offset, one.offset + one.nbytes, one.name) for one in spans), start, source.size, path)
    if ask:
        _ask_package(source.read(0, start).data, source.size, path)
    return Layout(start, tuple(spans), metadata)


def _ask_package(head: bytes | memoryview, size: int, path: str) -> None:
    """Have the package check a header, before a file of zeros that is as long as the elements and takes no place."""
    package = need("safetensors", "safetensors", path)
    with _copied(head, size) as copy:
        try:
            with package.safe_open(copy, framework="numpy"):
                pass
        except package.SafetensorError as error:
            raise FileFormatError(f"{path} is no valid safetensors file: {error}") from None


@contextlib.contextmanager
def _copied(head: bytes | memoryview, size: int) -> Iterator[str]:
    """Yield the path of a file that begins with a header; it has no name that a killed process would leave behind."""
    if os.path.isdir(_OPEN_FILES):
        with reading.unnamed() as stream:
            stream.write(head)
            stream.truncate(size)
            yield f"{_OPEN_FILES}/{stream.fileno()}"
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.safetensors")
        with writing.new_file(path) as stream:
            stream.write(head)
            stream.truncate(size)
        yield path


def _header(source: Source, path: str) -> tuple[int, dict[str, object], dict[str, str]]:
    """Return where the elements start, the header without its metadata, and that."""
    total = source.size
    length = int.from_bytes(source.read(0, min(8, total)).tobytes(), "little")
    most = min(total - 8, LONGEST_HEADER)
    if total < 8 or length > most:
        stated = f"states a header of {length} bytes" if total >= 8 else f"has {total} bytes"
        limit = f"{most} at the most" if total >= 8 else "8 bytes of header length, and a header"
        raise FileFormatError(f"{path} {stated}; expected {limit}")
    header = parse_json(source.read(8, length).tobytes(), path, "an object of tensors", "header")
    if not isinstance(header, dict):
        raise FileFormatError(
            f"{path} has a header that is a JSON {type(header).__name__}; expected an object of tensors"
        )
    metadata = header.pop(_METADATA, None)
    metadata = {} if metadata is None else metadata
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise FileFormatError(f"{path} has a {_METADATA} that is not all text; expected names and strings")
    return 8 + length, header, metadata


_FIELDS = ("data_offsets", "dtype", "shape")


def _span(name: str, entry: object, known: Mapping[str, ElementType], start: int, where: str) -> Span:
    """Check one tensor's entry: its keys, that its numbers are numbers, and that its bytes fit its shape."""
    if not isinstance(entry, dict) or sorted(entry) != sorted(_FIELDS):
        came = listed(sorted(entry), "and") or "nothing" if isinstance(entry, dict) else shown(entry)
        raise FileFormatError(f"{where} states {came}; expected {listed(_FIELDS, 'and')}")
    item = Item(Stated(where), (), entry)
    word = item["dtype"].string("one such as 'F32'")
    shape = item["shape"].sizes("a list of sizes of 0 and above")
    offsets = item["data_offsets"].sizes("[begin, end]")
    if len(offsets) != 2 or not offsets[0] <= offsets[1] < 1 << 63:
        raise item["data_offsets"].wrong("[begin, end]")
    nbytes = offsets[1] - offsets[0]
    check_shape(shape, 1, where)
    if (element := known.get(word)) and nbytes != size(shape) * element.itemsize:
        raise FileFormatError(
            f"{where} has {nbytes} bytes of elements; "
            f"expected {size(shape) * element.itemsize} ({word} of shape {shape})"
        )
    return Span(name, word, shape, start + offsets[0], nbytes)


def _check_spans(spans: list[tuple[int, int, str]], start: int, stop: int, path: str) -> None:
    """Check that the tensors lie one behind the other, from the first byte of the elements to the last."""
    end = max((last for _, last, _ in spans), default=start)
    if end != stop:
        raise FileFormatError(
            f"{path} has {stop - start} bytes of elements; expected {end - start}, as its header says"
        )
    for (_, end, name), (begin, _, other) in pairwise([(start, start, ""), *spans]):
        if begin != end:
            where = f"inside {clipped(name)}" if begin < end else "after a gap"
            raise FileFormatError(
                f"{path} tensor {clipped(other)} starts at byte {begin - start}, {where}; expected {end - start}"
            )


def _tensor(source: Source, path: str, known: Mapping[str, ElementType], span: Span) -> Tensor:
    where = f"{path} tensor {clipped(span.name)}"
    if span.word not in known:
        raise DTypeError("types", f"element type {shown(span.word)}; expected {listed(_ELEMENTS)}", where=where)
    element = known[span.word]
    check_shape(span.shape, element.itemsize, where)
    return Tensor(span.name, element, span.shape, lambda: Contiguous(source, span.offset, element.memory, span.shape))


def check(path: str, results: Sequence[Result]) -> None:
    """Refuse types that take no whole byte, the reserved name, and a missing package."""
    need("safetensors", "safetensors", path)
    for result in results:
        if result.element.name not in WORDS:
            raise DTypeError(
                "types",
                f"safetensors takes no {result.element} from this package; expected {listed(WORDS)}",
                where=path,
            )
        if result.name == _METADATA:
            raise FileFormatError(f"{path}: {_METADATA!r} is no tensor name in safetensors; rename the tensor")
    _, head, size = _laid_out(results, NO_TEXT)
    _ask_package(head, size, path)


def write(stream: IO[bytes], results: Sequence[Result], metadata: Mapping[str, str] = NO_TEXT) -> None:
    """Write header and elements; wide types first, so that each tensor is aligned, as the package does."""
    order, head, _ = _laid_out(results, metadata)
    stream.write(head)
    write_all(order, stream)


def _laid_out(results: Sequence[Result], metadata: Mapping[str, str]) -> tuple[list[Result], bytes, int]:
    """Return the tensors in the order of the file, everything before the elements, and the size of the file."""
    order = sorted(results, key=lambda result: (-result.element.itemsize, result.name))
    header: dict[str, object] = {_METADATA: dict(metadata)} if metadata else {}
    end = 0
    for result in order:
        begin, end = end, end + result.nbytes
        header[result.name] = {"dtype": WORDS[result.element.name], "shape": result.shape, "data_offsets": [begin, end]}
    text = encoded(header)
    head = len(text).to_bytes(8, "little") + text
    return order, head, len(head) + end


def encoded(header: Mapping[str, object]) -> bytes:
    """Return a header as it is written, so long that what follows is aligned."""
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % 8)
