"""sha256 of files and tensors, several at a time, and how far the work on a delta has come."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from minuend.files.deltas.checkpoints import Checkpoint, Part, byte_ranges
from minuend.files.deltas.delta_files import BLOCK_BYTES
from minuend.files.streaming.pipeline import ahead, result
from minuend.files.streaming.reading import Array

Progress = Callable[[int, int], None]
"""Is called with how many bytes are done, and of how many."""


class Meter:
    """Adds up what is done, and reports it."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def __call__(self, nbytes: int) -> None:
        self._done += nbytes
        if self._progress is not None:
            self._progress(min(self._done, self._total), self._total)


@dataclass(frozen=True, slots=True)
class Hashes:
    """The sha256 of each file and of each tensor by name."""

    files: dict[str, str]
    tensors: dict[str, str]


class Hashing:
    """Hashes several streams of bytes at a time, each in a thread."""

    def __init__(self, most: int) -> None:
        self._pool = ThreadPoolExecutor(most, "minuend")

    def __enter__(self) -> Hashing:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def feed(self, *streams: tuple[hashlib._Hash, Array]) -> None:
        """Add bytes to each stream's hash."""
        for done in [self._pool.submit(one.update, data.data) for one, data in streams]:
            result(done)


def hashes(checkpoint: Checkpoint, done: Meter) -> Hashes:
    """Hash all files and tensors of a checkpoint, each of whose bytes is read once."""
    found = Hashes({}, {})
    with Hashing(2) as hashing:
        for part in checkpoint.parts:
            found.files[part.name] = _file(part, found.tensors, hashing, done)
    return found


def _file(part: Part, tensors: dict[str, str], hashing: Hashing, done: Meter) -> str:
    whole = hashlib.sha256(part.source.read(0, part.start).data)
    done(part.start)
    places = [place for span in part.spans for place in byte_ranges(span, BLOCK_BYTES)]
    with contextlib.closing(ahead(lambda place: part.source.read(*place), places, BLOCK_BYTES)) as blocks:
        for span in part.spans:
            own = hashlib.sha256()
            for _ in byte_ranges(span, BLOCK_BYTES):
                block = next(blocks)
                hashing.feed((whole, block), (own, block))
                done(block.size)
            tensors[span.name] = own.hexdigest()
    return whole.hexdigest()
