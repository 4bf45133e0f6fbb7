"""Verify a delta: every checksum, against BASE and TUNED."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from minuend.files.base import clipped
from minuend.files.deltas.checkpoints import Checkpoint, open_checkpoint
from minuend.files.deltas.delta_files import Delta, open_delta
from minuend.files.deltas.hashing import Hashes, Hashing, Meter, Progress, hashes
from minuend.files.deltas.restoring import Found, Restoring, misfits, other_elements, other_type


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What ``verify_delta`` found: sentences, none where all is as the delta says."""

    base: str
    delta: str
    tuned: str | None
    files: int
    tensors: int
    findings: tuple[str, ...]
    seconds: float


def verify_delta(base: str, delta: str, tuned: str | None = None, *, progress: Progress | None = None) -> VerifyReport:
    """Check every hash of a delta's base, of what comes of both, and of TUNED if it is there; nothing is written.

    Args:
        base: a checkpoint. delta: a delta. tuned: the checkpoint that should come of both.
        progress: called with how many bytes are done, and of how many.

    Raises:
        FileFormatError, OSError: a checkpoint cannot be read, or the delta is so damaged that it cannot be unpacked.
    """
    start = time.perf_counter()
    old, found = open_checkpoint(base), open_delta(delta)
    new = None if tuned is None else open_checkpoint(tuned)
    size = sum(file.size for file in found.manifest.files)
    meter = Meter(progress, old.nbytes + size + (new.nbytes if new else 0))
    findings = [*misfits(old, found)]
    misfit = {one.tensor for one in findings}
    findings += _of_base(old, found, hashes(old, meter), misfit)
    records = found.manifest.tensors
    wrong = {one.tensor for one in findings}
    skip = {name for name, record in records.items() if name in wrong and record.stored != "whole"}
    with Hashing(3) as hashing:
        restoring = Restoring(old, found, hashing, meter, findings.append, skip)
        for i in range(len(found.manifest.files)):
            restoring.file(i, lambda _: None)
    messages = [one.message for one in findings]
    if new is not None:
        messages += _of_tuned(new, found, hashes(new, meter))
    tensors = len(found.tuned.tensors)
    seconds = time.perf_counter() - start
    return VerifyReport(base, delta, tuned, len(found.manifest.files), tensors, tuple(messages), seconds)


def _of_base(old: Checkpoint, delta: Delta, came: Hashes, misfit: set[str | None]) -> Iterator[Found]:
    """Compare the base's tensors with those that the delta was made from; how they lie in files does not matter."""
    known = {name: one.base for name, one in delta.manifest.tensors.items() if one.base} | dict(delta.manifest.removed)
    for name, base in known.items():
        if name in misfit:
            continue
        if name not in came.tensors:
            yield Found(f"{old.path} has no tensor {clipped(name)}, which the base of {delta.path} had")
        elif other := [*other_type(old, name, base, delta.path)]:
            yield from other
        elif came.tensors[name] != base.sha256:
            yield other_elements(old.path, name, delta.path)
    for name in came.tensors:
        if name not in known:
            yield Found(f"{old.path} has a tensor {clipped(name)}, which the base of {delta.path} had not")


def _of_tuned(new: Checkpoint, delta: Delta, came: Hashes) -> Iterator[str]:
    """Compare the files and tensors of TUNED with those that the delta gives."""
    manifest = delta.manifest
    for name in manifest.tensors:
        if name not in came.tensors:
            yield f"{new.path} has no tensor {clipped(name)}, which {delta.path} gives"
        elif came.tensors[name] != manifest.tensors[name].sha256:
            yield f"{new.path} tensor {clipped(name)} holds other elements than {delta.path} gives"
    for name in came.tensors:
        if name not in manifest.tensors:
            yield f"{new.path} has a tensor {clipped(name)}, which {delta.path} does not give"
    files = {file.name: file.sha256 for file in manifest.files}
    for name in {**files, **came.files}:
        if files.get(name) != came.files.get(name):
            which = f"{new.path} file {clipped(name)}" if name else new.path
            yield f"{which} is not, byte by byte, what {delta.path} gives"
