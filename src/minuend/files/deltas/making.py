"""Make a delta: what gives TUNED from BASE."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from minuend.core.elements import ElementType
from minuend.errors import MinuendError
from minuend.files.deltas import byte_planes
from minuend.files.deltas.checkpoints import Checkpoint, Part, open_checkpoint, width
from minuend.files.deltas.delta_files import BLOCK_BYTES, Cut, Writer, check_heads, common, cuts, file_key, tensor_key
from minuend.files.deltas.hashing import Hashes, Hashing, Meter, Progress, hashes
from minuend.files.deltas.manifest import Base, File, Manifest, Norm, Record, Stored
from minuend.files.deltas.norms import Distance, distance, measurable
from minuend.files.formats.safetensors import Span
from minuend.files.packages import need
from minuend.files.streaming.pipeline import ahead
from minuend.files.streaming.reading import Array, Source
from minuend.files.transaction.writing import atomic

_LONGEST = Norm(1.23457e-300, 1.23457e-300)
_IN_MEMORY = 10
"""Times a block that packing it takes at most: both operands, difference, planes, samples, what comes out."""


@dataclass(frozen=True, slots=True)
class MakeReport:
    """What ``make_delta`` did; ``nbytes`` of TUNED, ``packed`` of the delta; tensors by how they are stored."""

    base: str
    tuned: str
    out: str
    files: int
    unchanged: int
    difference: int
    whole: int
    removed: int
    nbytes: int
    packed: int
    seconds: float


def make_delta(
    base: str, tuned: str, out: str, *, level: int = byte_planes.LEVEL, progress: Progress | None = None
) -> MakeReport:
    """Write what gives the files of one checkpoint from another's tensors, byte by byte.

    Args:
        base, tuned: a ``.safetensors`` file each, or the folder or index of a sharded checkpoint.
        out: the delta to write. level: of zstd's compression, from 1 to 22.
        progress: called with how many bytes are done, and of how many.

    Returns:
        what was written; the same checkpoints, level and release of zstd give the same bytes.

    Raises:
        FileFormatError, OSError: a checkpoint cannot be read. Unsupported: a package that deltas need is missing.
            MinuendError: the output is an input, or no such level. Whatever is raised, no delta appears.
    """
    start = time.perf_counter()
    need("zstandard", "delta", out)
    if not byte_planes.LEVELS[0] <= level <= byte_planes.LEVELS[1]:
        raise MinuendError("level {} is none of zstd's; expected {} to {}".format(level, *byte_planes.LEVELS))
    old, new = open_checkpoint(base), open_checkpoint(tuned)
    check_heads(tuned, [part.start for part in new.parts])
    meter = Meter(progress, old.nbytes + new.nbytes)
    with atomic(out, [*old.paths, *new.paths]) as stream:
        known = hashes(old, meter)
        keys = [*(file_key(part.name) for part in new.parts), *map(tensor_key, new.tensors)]
        writer = Writer(stream, out, keys, _longest(old, new, known))
        manifest = _Making(old, new, known, writer, level, meter).manifest()
        packed = writer.finish(manifest)
    stored = [record.stored for record in manifest.tensors.values()]
    counts = (stored.count("unchanged"), stored.count("difference"), stored.count("whole"), len(manifest.removed))
    seconds = time.perf_counter() - start
    return MakeReport(base, tuned, out, len(new.parts), *counts, new.nbytes, packed, seconds)


def _longest(old: Checkpoint, new: Checkpoint, known: Hashes) -> Manifest:
    """Return a manifest of the checkpoints' that is at least as long as what comes of them."""
    sha256 = "0" * 64
    files = tuple(File(part.name, part.source.size, part.start, sha256) for part in new.parts)
    widest = Record("difference", sha256, None, (1 << 63) - 1, _LONGEST)
    tensors = {name: replace(widest, base=_base(old, name, known)) for name in new.tensors}
    return Manifest(files, _files(old, known), tensors, _removed(old, new, known))


def _files(checkpoint: Checkpoint, known: Hashes) -> tuple[File, ...]:
    return tuple(File(p.name, p.source.size, p.start, known.files[p.name]) for p in checkpoint.parts)


def _base(old: Checkpoint, name: str, known: Hashes) -> Base | None:
    if name not in old.tensors:
        return None
    _, span = old.tensors[name]
    return Base(span.word, span.shape, known.tensors[name])


def _removed(old: Checkpoint, new: Checkpoint, known: Hashes) -> dict[str, Base]:
    found = {name: _base(old, name, known) for name in old.tensors if name not in new.tensors}
    return {name: base for name, base in found.items() if base is not None}


@dataclass(frozen=True, slots=True)
class _Task:
    """A block to be packed: where its bytes lie in TUNED, and in BASE if it has them."""

    width: int
    element: ElementType | None
    nbytes: int
    new: tuple[Source, int]
    old: tuple[Source, int] | None


@dataclass(frozen=True, slots=True)
class _Block:
    """A block that is packed, and the bytes that it was."""

    raw: Array
    packed: bytes
    changed: int
    distance: Distance


@dataclass(frozen=True, slots=True)
class _Making:
    old: Checkpoint
    new: Checkpoint
    known: Hashes
    writer: Writer
    level: int
    meter: Meter

    def manifest(self) -> Manifest:
        """Pack all files, and return what is to be said of them."""
        tensors: dict[str, Record] = {}
        files: list[File] = []
        with Hashing(2) as hashing:
            for part in self.new.parts:
                whole = self._file(part, tensors, hashing)
                files.append(File(part.name, part.source.size, part.start, whole))
        named = {name: tensors[name] for name in self.new.tensors}
        return Manifest(tuple(files), _files(self.old, self.known), named, _removed(self.old, self.new, self.known))

    def _file(self, part: Part, tensors: dict[str, Record], hashing: Hashing) -> str:
        head = part.source.read(0, part.start)
        whole = hashlib.sha256(head.data)
        self.writer.begin()
        for cut in cuts(head.size, 1, 0):
            packed, _ = byte_planes.pack(head[cut.start : cut.start + cut.count], None, self.level)
            self.writer.put(file_key(part.name), packed)
        self.meter(part.start)
        tasks = (self._task(part, span, cut) for span in part.spans for cut in self._cuts(span))
        with contextlib.closing(ahead(self._pack, tasks, _IN_MEMORY * BLOCK_BYTES)) as blocks:
            for span in part.spans:
                tensors[span.name] = self._tensor(span, blocks, whole, hashing)
        return whole.hexdigest()

    def _cuts(self, span: Span) -> Iterator[Cut]:
        return cuts(span.nbytes, width(span), common(span, _base(self.old, span.name, self.known)))

    def _task(self, part: Part, span: Span, cut: Cut) -> _Task:
        each = width(span)
        at, nbytes = cut.start * each, cut.count * each
        old = None
        if cut.old:
            home, place = self.old.tensors[span.name]
            old = (home.source, place.offset + at)
        return _Task(each, span.element, nbytes, (part.source, span.offset + at), old)

    def _pack(self, task: _Task) -> _Block:
        source, offset = task.new
        raw = source.read(offset, task.nbytes)
        if task.old is None:
            packed, changed = byte_planes.pack(byte_planes.bits(raw, task.width), None, self.level)
            return _Block(raw, packed, changed, Distance())
        source, offset = task.old
        base = source.read(offset, task.nbytes)
        packed, changed = byte_planes.pack(
            byte_planes.bits(raw, task.width), byte_planes.bits(base, task.width), self.level
        )
        element = task.element if changed and measurable(task.element) else None
        return _Block(raw, packed, changed, Distance() if element is None else distance(element, raw, base))

    def _tensor(self, span: Span, blocks: Iterator[_Block], whole: hashlib._Hash, hashing: Hashing) -> Record:
        own, found = hashlib.sha256(), Distance()
        changed = new_rows = 0
        self.writer.begin()
        for cut in self._cuts(span):
            block = next(blocks)
            hashing.feed((whole, block.raw), (own, block.raw))
            self.writer.put(tensor_key(span.name), block.packed, blank=cut.old and not block.changed)
            changed += block.changed if cut.old else 0
            new_rows += not cut.old
            found.add(block.distance)
            self.meter(block.raw.size)
        base = _base(self.old, span.name, self.known)
        if base is None or not (common(span, base) or (base.dtype, base.shape) == (span.word, span.shape)):
            return Record("whole", own.hexdigest(), base)
        stored: Stored = "difference" if changed or new_rows else "unchanged"
        norm = found.norm if measurable(span.element) else None
        return Record(stored, own.hexdigest(), base, changed, norm)
