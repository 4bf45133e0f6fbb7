"""Checkpoints as the bytes that they are: files of safetensors, each a head and tensors one behind the other.

A checkpoint is a ``.safetensors`` file, or a folder with an index and shards (see
:mod:`minuend.files.formats.shards`). The index is a file that is all head. Heads and tensors together are every byte
of a file, so whoever has them has the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from minuend.core.shapes import size
from minuend.errors import FileFormatError
from minuend.files.formats import safetensors, shards
from minuend.files.formats.safetensors import Span
from minuend.files.streaming import reading
from minuend.files.streaming.reading import Source

WIDTHS = (1, 2, 4, 8)
"""Bytes of an element's bit pattern."""


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a checkpoint.

    Attributes:
        name: its name in the checkpoint's folder; ``""`` where it is the only one, whatever that is called.
        path: what messages call it. source: its bytes. start: where its head ends.
        spans: its tensors in the order in which they lie.
    """

    name: str
    path: str
    source: Source
    start: int
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The files of a checkpoint, and its tensors by name, each with the file that it lies in."""

    path: str
    parts: tuple[Part, ...]
    tensors: Mapping[str, tuple[Part, Span]] = field(init=False)

    def __post_init__(self) -> None:
        found = {span.name: (part, span) for part in self.parts for span in part.spans}
        object.__setattr__(self, "tensors", found)

    @property
    def paths(self) -> list[str]:
        """All files and folders that it consists of, which no output may replace."""
        return [self.path, *(part.path for part in self.parts)]

    @property
    def nbytes(self) -> int:
        """Bytes of all files."""
        return sum(part.source.size for part in self.parts)


def open_checkpoint(path: str) -> Checkpoint:
    """Open a checkpoint and check its headers; elements stay in the files.

    Raises:
        FileNotFoundError: there is none. FileFormatError: it is no safetensors file and no folder of such, or one that
            does not hold what it promises. Unsupported: the safetensors package is not installed.
    """
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path}")
    if os.path.isdir(path) or path.endswith(shards.SUFFIXES):
        _, *files = shards.open_file(path, every_type=True).sources
        return Checkpoint(path, tuple(part_of(os.path.basename(file), file, reading.open_file(file)) for file in files))
    if not path.lower().endswith(safetensors.SUFFIXES):
        raise FileFormatError(f"{path} is no checkpoint; expected a .safetensors file, or the folder of a sharded one")
    return Checkpoint(path, (part_of("", path, reading.open_file(path)),))


def part_of(name: str, path: str, source: Source, *, ask: bool = True) -> Part:
    """Make a file of a checkpoint of its bytes, see :func:`minuend.files.formats.safetensors.layout`."""
    if name.endswith(shards.SUFFIXES):
        return Part(name, path, source, source.size)
    found = safetensors.layout(source, path, every_type=True, ask=ask)
    return Part(
        name, path, source, found.start, tuple(sorted(found.spans, key=lambda span: (span.offset, span.nbytes)))
    )


def width(span: Span) -> int:
    """Return the bytes of a bit pattern: those of an element, of one of a complex number's two, or 1 for packed types.

    >>> width(Span("x", "BF16", (3,), 0, 6)), width(Span("x", "C64", (1,), 0, 8)), width(Span("x", "F4", (4,), 0, 2))
    (2, 4, 1)
    """
    if span.word == "C64":
        return 4
    each, rest = divmod(span.nbytes, max(1, size(span.shape)))
    return each if not rest and each in WIDTHS else 1


def grown(old: Sequence[int], new: Sequence[int]) -> bool:
    """Whether a shape is another one with more rows.

    >>> grown((2, 3), (4, 3)), grown((2, 3), (2, 3)), grown((2, 3), (2, 4))
    (True, False, False)
    """
    return len(old) == len(new) > 0 and old[0] < new[0] and tuple(old[1:]) == tuple(new[1:])


def byte_ranges(span: Span, step: int) -> Iterator[tuple[int, int]]:
    """Cut a tensor's bytes into ranges: where each begins in its file, and how many there are."""
    for at in range(0, span.nbytes, step):
        yield span.offset + at, min(step, span.nbytes - at)
