"""Deltas: what gives TUNED from BASE, in a safetensors file.

Each changed tensor is a tensor of bytes (U8) under ``tensor/NAME``, and the head of each file one under ``file/NAME``:
blocks of :data:`BLOCK_BYTES`, see :mod:`minuend.files.deltas.byte_planes`. What the tensors are, the heads say, as
they do in the files that they come from. Hashes and the rest stand in the manifest, see
:mod:`minuend.files.deltas.manifest`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from minuend.core.shapes import format_shape
from minuend.errors import FileFormatError, MinuendError
from minuend.files.base import clipped, quoted
from minuend.files.deltas import byte_planes
from minuend.files.deltas.checkpoints import Checkpoint, Part, grown, part_of, width
from minuend.files.deltas.manifest import KEY, VERSION, Base, File, Manifest, from_metadata
from minuend.files.formats import safetensors, shards
from minuend.files.formats.safetensors import Span
from minuend.files.packages import need
from minuend.files.streaming import reading
from minuend.files.streaming.reading import Array, Source

BLOCK_BYTES = 1 << 20
"""Bytes of a tensor that are packed together: larger ones save nothing. Part of the layout."""

_LONGEST_HEADS = 8 + safetensors.LONGEST_HEADER
_LONGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Cut:
    """A block's place in a tensor, in bit patterns; ``old``: whether the base has them too."""

    start: int
    count: int
    old: bool


def cuts(nbytes: int, width: int, common: int) -> Iterator[Cut]:
    """Cut a tensor into blocks; one ends where the elements end that the base has too.

    Args:
        nbytes: of the tensor. width: of a pattern. common: how many of its bytes the base has.
    """
    step = BLOCK_BYTES // width
    for old, begin, end in ((True, 0, common // width), (False, common // width, nbytes // width)):
        for start in range(begin, end, step):
            yield Cut(start, min(step, end - start), old)


def common(span: Span, base: Base | None) -> int:
    """Return how many of a tensor's bytes are differenced: all, those of the rows that the base has too, or none."""
    if base is None or base.dtype != span.word:
        return 0
    if base.shape == span.shape:
        return span.nbytes
    if not grown(base.shape, span.shape) or span.nbytes % span.shape[0]:
        return 0
    return span.nbytes // span.shape[0] * base.shape[0]


# ---- writing --------------------------------------------------------------------------------------------------


class Writer:
    """Writes a delta block by block; the header, whose space is reserved, comes last.

    Args:
        stream: a new file. path: what messages call it. keys: those of all entries that may come.
        longest: a manifest that is at least as long as the real one.

    Attributes:
        nbytes: of all entries so far.
    """

    def __init__(self, stream: BinaryIO, path: str, keys: Sequence[str], longest: Manifest) -> None:
        if not stream.seekable():
            raise MinuendError(f"{path} gets its header last, which a pipe or an open file does not take; name a file")
        self._reserved = len(_header(longest, dict.fromkeys(keys, (_LONGEST // 2, _LONGEST))))
        if self._reserved > safetensors.LONGEST_HEADER:
            raise FileFormatError(
                f"{path} would have a header of {self._reserved} bytes, and safetensors takes "
                f"{safetensors.LONGEST_HEADER}; make deltas of parts of the checkpoint"
            )
        self._stream = stream
        self._stream.write(bytes(8 + self._reserved))
        self.nbytes = 0
        self._places: dict[str, tuple[int, int]] = {}
        self._held: list[bytes] = []

    def begin(self) -> None:
        self._held.clear()

    def put(self, key: str, block: bytes, *, blank: bool = False) -> None:
        """Write a block of an entry; ``blank`` ones, in which nothing differs, wait until one comes that is not."""
        self._held.append(block)
        if blank and key not in self._places:
            return
        start, _ = self._places.get(key, (self.nbytes, 0))
        for one in self._held:
            self._stream.write(one)
            self.nbytes += len(one)
        self._places[key] = (start, self.nbytes)
        self._held.clear()

    def finish(self, manifest: Manifest) -> int:
        """Write the header; return the size of the file."""
        text = _header(manifest, self._places)
        assert len(text) <= self._reserved, "the longest manifest was not"
        self._stream.seek(0)
        self._stream.write(self._reserved.to_bytes(8, "little") + text.ljust(self._reserved))
        self._stream.seek(0, os.SEEK_END)
        return 8 + self._reserved + self.nbytes


def file_key(name: str) -> str:
    return f"file/{name}"


def tensor_key(name: str) -> str:
    return f"tensor/{name}"


def _header(manifest: Manifest, places: Mapping[str, tuple[int, int]]) -> bytes:
    header: dict[str, object] = {"__metadata__": {f"{KEY}.version": VERSION, KEY: manifest.to_text()}}
    for key, (start, end) in places.items():
        header[key] = {"dtype": "U8", "shape": [end - start], "data_offsets": [start, end]}
    return safetensors.encoded(header)


# ---- reading --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Packed:
    """A block as it lies in a delta: what it is cut from, what stands before its planes, and where these begin."""

    cut: Cut
    width: int
    head: byte_planes.Head
    at: int
    where: str

    def patterns(self, source: Source) -> Array:
        """Unpack it; several threads may at once."""
        raw = source.read(self.at, self.head.nbytes)
        return byte_planes.unpack(self.head, raw, self.width, self.cut.count, self.where)


@dataclass(frozen=True, slots=True)
class Delta:
    """A delta that is open.

    Attributes:
        manifest: what it says. tuned: the checkpoint that it gives, of which there are heads and no elements.
    """

    path: str
    source: Source
    manifest: Manifest
    tuned: Checkpoint
    places: Mapping[str, Span]

    def packed(self, span: Span) -> int:
        """Return the bytes that a tensor takes."""
        found = self.places.get(tensor_key(span.name))
        return found.nbytes if found else 0

    def blocks(self, span: Span) -> Iterator[Packed]:
        """Find a tensor's blocks; see :func:`_blocks`."""
        old = common(span, self.manifest.tensors[span.name].base)
        return _blocks(self.source, self.path, self.places[tensor_key(span.name)], (span.nbytes, width(span), old))


def open_delta(path: str) -> Delta:
    """Open a delta and check all that it says, its packed elements and hashes aside.

    Raises:
        FileNotFoundError: there is none. FileFormatError: it is no delta, or says what cannot be.
        Unsupported: zstandard or safetensors are not installed.
    """
    need("zstandard", "delta", path)
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path}")
    source = reading.open_file(path)
    found = safetensors.layout(source, path)
    manifest = from_metadata(found.metadata, path)
    places = {span.name: span for span in found.spans}
    _check_files(path, manifest.files)
    parts = tuple(_part(source, path, file, places) for file in manifest.files)
    tuned = Checkpoint(path, parts)
    _check_tensors(path, manifest, tuned, places)
    return Delta(path, source, manifest, tuned, places)


def _check_files(path: str, files: Sequence[File]) -> None:
    """Check that the files are one, or an index and shards, with names that stay in their folder and differ."""
    names = [file.name for file in files]
    if names != [""]:
        for i, name in enumerate(names):
            where = f"{path} gives a file {clipped(name)}"
            index = i == 0 and name.endswith(shards.SUFFIXES)
            shards.check_name(name.removesuffix(".index.json") if index else name, where)
        if not names or not names[0].endswith(shards.SUFFIXES):
            raise FileFormatError(
                f"{path} gives the files {quoted(names) or 'none'}; expected one, or an index and its shards"
            )
        if len(set(names)) != len(names):
            raise FileFormatError(
                f"{path} gives two files of one name, among {quoted(names)}; expected names that differ"
            )
    for file in files:
        if file.head > file.size:
            raise FileFormatError(
                f"{path} promises a head of {file.head} bytes in a file of {file.size}; expected {file.size} at most"
            )
    check_heads(path, [file.head for file in files])


def check_heads(path: str, sizes: Iterable[int]) -> None:
    """Check that the heads of all files, which are in memory, are no more than the longest one may be."""
    if (total := sum(sizes)) > _LONGEST_HEADS:
        raise FileFormatError(f"{path} has heads of {total} bytes together; a delta takes {_LONGEST_HEADS} at most")


def _part(source: Source, path: str, file: File, places: Mapping[str, Span]) -> Part:
    """Unpack the head of a file, and read what it says."""
    where = f"{path} file {clipped(file.name)}"
    key = file_key(file.name)
    if key not in places:
        raise FileFormatError(f"{where} has no head; expected a tensor {key!r}")
    head = np.empty(file.head, np.uint8)
    for block in _blocks(source, path, places[key], (file.head, 1, 0)):
        head[block.cut.start : block.cut.start + block.cut.count] = block.patterns(source)
    content = reading.Memory(head)
    content.size = file.size
    part = part_of(file.name, where, content, ask=False)  # there may be no disk for a file of the size that it states
    if part.start != file.head:
        raise FileFormatError(f"{where} has a head of {part.start} bytes; expected {file.head}")
    return part


def _check_tensors(path: str, manifest: Manifest, tuned: Checkpoint, places: Mapping[str, Span]) -> None:
    """Check that manifest, heads and packed tensors state the same."""
    count = sum(len(part.spans) for part in tuned.parts)
    if set(manifest.tensors) != set(tuned.tensors) or count != len(tuned.tensors):
        odd = sorted(set(manifest.tensors) ^ set(tuned.tensors)) or ["one twice"]
        raise FileFormatError(f"{path} has a manifest and heads that do not name the same tensors: {quoted(odd)}")
    wanted = {file_key(part.name) for part in tuned.parts}
    for name, (_, span) in tuned.tensors.items():
        record = manifest.tensors[name]
        where = f"{path} tensor {clipped(name)}"
        old = common(span, record.base)
        if record.stored == "unchanged" and (
            old != span.nbytes or record.base is None or record.base.shape != span.shape
        ):
            raise FileFormatError(f"{where} is unchanged from a base of another type or shape; the delta is damaged")
        if record.stored == "difference" and not old:
            raise FileFormatError(f"{where} is a difference from a base that it does not fit; the delta is damaged")
        if record.stored == "unchanged" or not span.nbytes:
            continue
        wanted.add(tensor_key(name))
    if set(places) != wanted:
        odd = sorted(set(places) ^ wanted)
        raise FileFormatError(f"{path} holds other tensors than its manifest tells of: {quoted(odd)}")
    for span in places.values():
        if span.word != "U8" or len(span.shape) != 1:
            raise FileFormatError(
                f"{path} tensor {clipped(span.name)} is {span.word} of shape {format_shape(span.shape)}; "
                "expected U8 of one dim"
            )


def _blocks(source: Source, path: str, place: Span, cut: tuple[int, int, int]) -> Iterator[Packed]:
    """Find the blocks of an entry: ``cut`` has the bytes unpacked, of a pattern, and those that the base has.

    Raises:
        FileFormatError: the blocks are not as long as the entry.
    """
    where = f"{path} tensor {clipped(place.name)}"
    at, end = place.offset, place.offset + place.nbytes
    size = byte_planes.head_size(cut[1])
    for one in cuts(*cut):
        head = None
        if at + size <= end:
            head = byte_planes.read_head(source.read(at, size).tobytes(), cut[1], one.count, where)
        if head is None or at + size + head.nbytes > end:
            raise FileFormatError(f"{where} ends in the midst of a block; the delta is damaged")
        yield Packed(one, cut[1], head, at + size, where)
        at += size + head.nbytes
    if at != end:
        raise FileFormatError(f"{where} has {end - at} bytes beyond its last block; the delta is damaged")
