"""Report what is in a delta."""

from __future__ import annotations

from dataclasses import dataclass

from minuend.files.deltas.checkpoints import width
from minuend.files.deltas.delta_files import Delta, common, open_delta
from minuend.files.deltas.manifest import Norm, Stored
from minuend.files.formats.safetensors import Span


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A tensor that a delta gives.

    Attributes:
        stored: how; ``base_shape`` is that of the base's tensor of that name, if there is one.
        changed: the share of the elements that both have whose bits differ; ``None`` where they are not compared.
        norm: of the difference as numbers, over those that are finite: L2, and the largest.
        nbytes: of its elements. packed: that it takes in the delta.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    stored: Stored
    base_shape: tuple[int, ...] | None
    changed: float | None
    norm: Norm | None
    nbytes: int
    packed: int


@dataclass(frozen=True, slots=True)
class InfoReport:
    """What ``delta_info`` found; ``nbytes`` of all files that the delta gives, ``packed`` of itself."""

    delta: str
    files: tuple[str, ...]
    tensors: tuple[TensorInfo, ...]
    removed: tuple[str, ...]
    nbytes: int
    packed: int


def delta_info(delta: str) -> InfoReport:
    """Report of each tensor what changed, how far, and what it takes; neither BASE nor TUNED is needed.

    Raises:
        FileFormatError, OSError: it cannot be read, or is no delta.
    """
    found = open_delta(delta)
    tensors = tuple(_tensor(found, span) for _, span in found.tuned.tensors.values())
    files = tuple(file.name for file in found.manifest.files)
    nbytes = sum(file.size for file in found.manifest.files)
    return InfoReport(delta, files, tensors, tuple(found.manifest.removed), nbytes, found.source.size)


def _tensor(delta: Delta, span: Span) -> TensorInfo:
    record = delta.manifest.tensors[span.name]
    compared = common(span, record.base) // width(span)
    share = None if record.changed is None else record.changed / max(1, compared)
    base_shape = record.base.shape if record.base else None
    stored, norm = record.stored, record.norm
    packed = delta.packed(span)
    return TensorInfo(span.name, span.word, span.shape, stored, base_shape, share, norm, span.nbytes, packed)
