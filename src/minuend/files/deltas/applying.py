"""Apply a delta: write the files that it was made for."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from minuend.errors import FileFormatError
from minuend.files.deltas.checkpoints import open_checkpoint
from minuend.files.deltas.delta_files import open_delta
from minuend.files.deltas.hashing import Hashing, Meter, Progress
from minuend.files.deltas.restoring import Found, Restoring, misfits
from minuend.files.transaction.writing import atomic, new_file, new_folder


@dataclass(frozen=True, slots=True)
class ApplyReport:
    """What ``apply_delta`` wrote."""

    base: str
    delta: str
    out: str
    files: int
    tensors: int
    nbytes: int
    seconds: float


def apply_delta(base: str, delta: str, out: str, *, progress: Progress | None = None) -> ApplyReport:
    """Write TUNED, byte by byte as it was when the delta was made.

    Args:
        base: the checkpoint that the delta was made from; how it is cut into files does not matter.
        delta: what :func:`make_delta` wrote.
        out: the file to write, or where TUNED was sharded a folder that is not there yet.
        progress: called with how many bytes are done, and of how many.

    Raises:
        FileFormatError: the base is another one, or the delta is damaged or of a newer layout; the message names the
            tensor. OSError: something cannot be read or written. MinuendError: the output is an input. Whatever is
            raised, nothing appears.
    """
    start = time.perf_counter()
    old, found = open_checkpoint(base), open_delta(delta)
    files = found.manifest.files
    for misfit in misfits(old, found):
        refuse(misfit)
    inputs = [*old.paths, delta]
    meter = Meter(progress, sum(file.size for file in files))
    with Hashing(3) as hashing:
        restoring = Restoring(old, found, hashing, meter, refuse)
        if files[0].name:
            with new_folder(out) as folder:
                for i, file in enumerate(files):
                    with new_file(os.path.join(folder, file.name)) as stream:
                        restoring.file(i, stream.write)
        else:
            with atomic(out, inputs) as stream:
                restoring.file(0, stream.write)
    nbytes = sum(file.size for file in files)
    return ApplyReport(base, delta, out, len(files), len(found.tuned.tensors), nbytes, time.perf_counter() - start)


def refuse(found: Found) -> None:
    raise FileFormatError(found.message)
