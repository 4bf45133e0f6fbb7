"""Give the files of TUNED back from BASE and a delta, and check all that goes in and all that comes out."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from minuend.core.shapes import format_shape
from minuend.files.base import clipped
from minuend.files.deltas import byte_planes
from minuend.files.deltas.checkpoints import Checkpoint, byte_ranges
from minuend.files.deltas.delta_files import BLOCK_BYTES, Delta, Packed
from minuend.files.deltas.hashing import Hashing, Meter
from minuend.files.deltas.manifest import Base
from minuend.files.formats.safetensors import Span
from minuend.files.streaming.pipeline import ahead
from minuend.files.streaming.reading import Array, Source

_IN_MEMORY = 8
"""Times a block that unpacking it takes at most: what is packed, the planes, the difference, the base's, the result."""


@dataclass(frozen=True, slots=True)
class Found:
    """Something that is not as the delta says; ``tensor`` where the base's is wrong, so that nothing comes of it."""

    message: str
    tensor: str | None = None


Wrong = Callable[[Found], None]
"""Is called with what is wrong; it may raise, or remember it."""


def misfits(base: Checkpoint, delta: Delta) -> Iterator[Found]:
    """Find what the delta takes from its base and is not there, or is of another type or shape."""
    for name, record in delta.manifest.tensors.items():
        if record.stored == "whole" or record.base is None:
            continue
        if name not in base.tensors:
            want = _said(record.base)
            yield Found(
                f"{base.path} has no tensor {clipped(name)}; expected {want}, as in the base of {delta.path}", name
            )
        else:
            yield from other_type(base, name, record.base, delta.path)


def other_type(base: Checkpoint, name: str, wanted: Base, delta: str) -> Iterator[Found]:
    """Find a tensor of the base that is of another type or shape than the delta was made from."""
    came, want = _said(base.tensors[name][1]), _said(wanted)
    if came != want:
        yield Found(f"{base.path} tensor {clipped(name)} is {came}; expected {want}, as in the base of {delta}", name)


def _said(tensor: Base | Span) -> str:
    word = tensor.dtype if isinstance(tensor, Base) else tensor.word
    return f"{word} of shape {format_shape(tensor.shape)}"


def other_elements(base: str, name: str, delta: str) -> Found:
    """Say that a tensor of the base holds other elements than the delta was made from."""
    return Found(
        f"{base} tensor {clipped(name)} holds other elements than the base that {delta} was made from "
        "(their sha256 differs); name that base",
        name,
    )


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of a tensor that was restored, and the base's bytes that were read for it."""

    raw: Array
    base: Array | None


@dataclass(frozen=True, slots=True)
class Restoring:
    """Restores one file after another.

    Attributes:
        skip: tensors whose base is wrong; they and the hashes of their files are left out.
        wrong: called with what is not as the delta says.
    """

    base: Checkpoint
    delta: Delta
    hashing: Hashing
    done: Meter
    wrong: Wrong
    skip: Collection[str] = ()

    def file(self, i: int, write: Callable[[memoryview], object]) -> None:
        """Restore a file, and hand on its bytes in their order."""
        part = self.delta.tuned.parts[i]
        head = part.source.read(0, part.start)
        whole = hashlib.sha256(head.data)
        write(head.data)
        self.done(part.start)
        spans = [span for span in part.spans if span.name not in self.skip]
        tasks = (task for span in spans for task in self._tasks(span))
        with contextlib.closing(ahead(lambda task: task(), tasks, _IN_MEMORY * BLOCK_BYTES)) as blocks:
            good = [self._tensor(span, blocks, whole, write) for span in spans]
        if len(spans) < len(part.spans) or not all(good):
            return
        if whole.hexdigest() != self.delta.manifest.files[i].sha256:
            self.wrong(Found(f"{part.path} comes out with another sha256 than promised; the delta is damaged"))

    def _tasks(self, span: Span) -> Iterator[Callable[[], _Block]]:
        record = self.delta.manifest.tensors[span.name]
        if record.stored == "unchanged":
            part, old = self.base.tensors[span.name]
            for place in byte_ranges(old, BLOCK_BYTES):
                yield functools.partial(_copied, part.source, *place)
        elif span.nbytes:
            for block in self.delta.blocks(span):
                yield functools.partial(self._restored, span, block)

    def _restored(self, span: Span, block: Packed) -> _Block:
        patterns = block.patterns(self.delta.source)
        base = raw = None
        if block.cut.old:
            part, old = self.base.tensors[span.name]
            raw = part.source.read(old.offset + block.cut.start * block.width, block.cut.count * block.width)
            base = byte_planes.bits(raw, block.width)
        found = byte_planes.restore(block.head, patterns, base, block.where)
        return _Block(found.view("u1"), raw)

    def _tensor(
        self, span: Span, blocks: Iterator[_Block], whole: hashlib._Hash, write: Callable[[memoryview], object]
    ) -> bool:
        """Write a tensor; return whether it and its base are as the delta says."""
        record = self.delta.manifest.tensors[span.name]
        own, from_base = hashlib.sha256(), hashlib.sha256()
        left = span.nbytes
        while left:
            block = next(blocks)
            streams = [(whole, block.raw), (own, block.raw)]
            if block.base is not None:
                streams.append((from_base, block.base))
            self.hashing.feed(*streams)
            write(block.raw.data)
            self.done(block.raw.size)
            left -= block.raw.size
        if record.base is not None and record.stored != "whole" and from_base.hexdigest() != record.base.sha256:
            self.wrong(other_elements(self.base.path, span.name, self.delta.path))
            return False
        if own.hexdigest() != record.sha256:
            where = f"{self.delta.path} tensor {clipped(span.name)}"
            self.wrong(Found(f"{where} comes out with another sha256 than promised; the delta is damaged"))
            return False
        return True


def _copied(source: Source, offset: int, nbytes: int) -> _Block:
    raw = source.read(offset, nbytes)
    return _Block(raw, raw)
