"""The difference of two files, written."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from minuend.core.elements import ElementType
from minuend.core.policies import Overflow
from minuend.errors import OverflowFound
from minuend.files import chunked_format, notes_of, open_tensors, write_tensors
from minuend.files.addresses import as_local
from minuend.files.streaming import chunk_tasks, chunked_write
from minuend.files.streaming.region_work import Meter, Observer, Progress, Work
from minuend.files.streaming.summary import Number, Summary
from minuend.files.tensor_pairs import NUMPYS, Pair, Rules, notes_on, pair_up
from minuend.files.transaction.remote import watched

INEXACT = (
    "a difference of floats is rounded and does not give TUNED back from BASE bit by bit; "
    "minuend delta make BASE TUNED -o D does"
)

Watch = Callable[[Sequence[Pair], Sequence[str]], Observer]
"""Is called with what will be computed, and of which files, and may refuse it; gives what is shown the blocks."""


@dataclass(frozen=True, slots=True)
class Written:
    """One difference that was written, and what its elements are.

    ``overflowed`` is ``None`` of floats, ``nans`` of integers, ``nodata`` where the file states no such value; ``low``
    and ``high`` are where there is no number.
    """

    name: str
    element: ElementType
    a_shape: tuple[int, ...]
    b_shape: tuple[int, ...]
    result: ElementType
    shape: tuple[int, ...]
    elements: int
    overflowed: int | None
    low: Number | None
    high: Number | None
    nans: int | None
    nodata: int | None

    @classmethod
    def of(cls, pair: Pair, result: ElementType, found: Summary) -> Written:
        """Report on a pair's difference."""
        integer = pair.element.is_integer
        return cls(
            pair.name,
            pair.element,
            pair.a.shape,
            pair.b.shape,
            result,
            pair.shape,
            found.elements,
            overflowed=found.overflowed if integer else None,
            low=found.low,
            high=found.high,
            nans=None if integer else found.nans,
            nodata=None if pair.about.nodata is None else found.nodata,
        )


@dataclass(frozen=True, slots=True)
class SubReport:
    """What ``subtract_files`` did.

    Attributes:
        nbytes: what was read and written. skipped: the names of unpaired tensors.
        notes: what users of the output should know. nodata: as it was given.
    """

    a: str
    b: str
    out: str
    rules: str
    overflow: str
    tensors: tuple[Written, ...]
    skipped: tuple[str, ...]
    seconds: float
    nbytes: int
    notes: tuple[str, ...] = ()
    nodata: Number | None = None


@watched()
def subtract_files(
    a: str,
    b: str,
    out: str,
    *,
    rules: Rules = NUMPYS,
    overflow: Overflow = "wrap",
    common: bool = False,
    nodata: Number | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
    resume: bool = False,
    scheduler: str | None = None,
) -> SubReport:
    """Subtract the tensors of one file from another's and write the differences.

    Args:
        a, b: the operands: ``path`` or ``path::name``; a path may be an address that ``fsspec`` knows.
        out: the file to write; its suffix tells the format.
        rules: whose rules check and join them. overflow: the policy for integers, as in ``minuend.subtract``.
        common: subtract the tensors that both files name, and skip the others.
        nodata: the value of elements that hold no data, NaN too, where a file does not state one; the difference has it
            there. An operand of one element that goes with more is a number, which has data.
        progress: called after every block. watch: called with the pairs beforehand, and with each block.
        resume: go on where an interrupted run on the same output has stopped; for outputs that are written in chunks.
        scheduler: address of the Dask cluster that computes such an output, or a file that states it.

    Raises:
        FileFormatError, DTypeError, ShapeError, SpecError, OSError: the operands cannot be read or do not go together,
            or the output cannot hold the differences. OverflowFound: as in ``minuend.subtract``. Whatever is raised,
            no output file appears or changes.
    """
    start = time.perf_counter()
    out = as_local(out)
    minuend, subtrahend = open_tensors(a), open_tensors(b)
    pairs, skipped = pair_up(minuend, subtrahend, rules, common, nodata)
    if watch is not None:
        chunked_write.refuse_watch(resume=resume, scheduler=scheduler)
    sources = (minuend.sources, subtrahend.sources)
    shown = [watch(pairs, [*sources[0], *sources[1]])] if watch is not None else []
    meter = Meter(progress, pairs, overflow)
    with Work(overflow, shown=[meter.block, *shown]) as work:
        results = [work.result(pair) for pair in pairs]
        if chunked_format(out):
            job = chunk_tasks.Job.of(a, b, rules, overflow, common, nodata)
            chunked_write.write(job, out, work, pairs, meter.add, sources, resume=resume, scheduler=scheduler)
        else:
            chunked_write.refuse(resume=resume, scheduler=scheduler)
            try:
                write_tensors(out, results, [*sources[0], *sources[1]], metadata=minuend.metadata)
            except OverflowFound:
                raise work.whole_overflow() from None
    written = tuple(
        Written.of(pair, result.element, work.summaries[pair.name]) for pair, result in zip(pairs, results, strict=True)
    )
    seconds = time.perf_counter() - start
    notes = (
        *dict.fromkeys((*minuend.notes, *subtrahend.notes, *notes_on(pairs), *minuend.left_out)),
        *notes_of(out, results, nodata, minuend.metadata),
        *_notes(out, pairs, work.summaries, overflow),
    )
    return SubReport(a, b, out, str(rules), overflow, written, skipped, seconds, meter.nbytes, notes, nodata)


def _notes(out: str, pairs: Sequence[Pair], summaries: Mapping[str, Summary], overflow: Overflow) -> tuple[str, ...]:
    """What to say of a difference of weights, of one that has the nodata value where there is data, and of scaled
    numbers that wrap around.
    """
    hits = tuple(
        f"{summaries[pair.name].hit} differences are the nodata value {pair.about.nodata} themselves and cannot be "
        f"distinguished from it{pair.where}"
        for pair in pairs
        if summaries[pair.name].hit
    )
    hits += tuple(
        f"{count} differences of scaled numbers wrap around and mean other values than A - B: --overflow widen has the "
        f"exact ones{pair.where}"
        for pair in pairs
        if overflow == "wrap" and pair.about.scale != 1 and (count := summaries[pair.name].overflowed)
    )
    weights = out.lower().endswith(".safetensors") or any(pair.a.about.shard for pair in pairs)
    return (*hits, INEXACT) if weights and any(not pair.element.is_integer for pair in pairs) else hits
