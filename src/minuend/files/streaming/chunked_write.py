"""Differences that are written chunk by chunk, in any order: by threads here or by a Dask cluster, and gone on with.

A task is one cell of the output's grid: its regions of both operands are read, subtracted, and written as one file. It
sums its elements up, which the journal keeps; done twice it writes the same bytes. So a process that dies
anywhere costs what it was at and nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple
from typing import TYPE_CHECKING, Any, cast

from minuend.core.shapes import size
from minuend.errors import MinuendError
from minuend.files import check_output, chunked_format
from minuend.files.addresses import URL
from minuend.files.base import Result
from minuend.files.streaming.chunk_tasks import Done, Job, Task, TaskResult, do, outputs_of
from minuend.files.streaming.pipeline import ahead, each
from minuend.files.streaming.regions import Region, boxes, cells, extent
from minuend.files.streaming.summary import Summary
from minuend.files.transaction import remote, remote_resume
from minuend.files.transaction.resume_journal import Unfinished, fingerprint, unfinished

if TYPE_CHECKING:
    from minuend.arrays.functions import First
    from minuend.core.policies import Overflow
    from minuend.files.base import ChunkedFormat, ChunkedOutput
    from minuend.files.streaming.region_work import Work
    from minuend.files.tensor_pairs import Pair


def refuse(*, resume: bool, scheduler: str | None) -> None:
    """Refuse what only outputs know that are written chunk by chunk."""
    for given, option in ((resume, "--resume"), (scheduler is not None, "--scheduler")):
        if given:
            raise MinuendError(
                f"{option} needs an output that is written chunk by chunk; name an OUT that ends in .zarr"
            )


def refuse_watch(*, resume: bool, scheduler: str | None) -> None:
    """Refuse to draw what this process does not compute."""
    if resume or scheduler is not None:
        option = "--resume" if resume else "--scheduler"
        raise MinuendError(
            f"--plot draws blocks as they are computed, and with {option} others compute some of them; leave one of "
            "both out, and draw the difference afterwards"
        )


def write(
    job: Job,
    out: str,
    work: Work,
    pairs: Sequence[Pair],
    progress: Callable[[int], None],
    sources: tuple[Sequence[str], Sequence[str]],
    *,
    resume: bool,
    scheduler: str | None,
) -> None:
    """Write the differences of pairs to an output; see ``subtract_files``.

    Args:
        work: computes the pairs here, and takes the counts. progress: gets the elements that ``work`` did not compute.
        sources: all files of both operands.

    Raises:
        OverflowFound: reports all of one difference.
    """
    home = chunked_format(out)
    assert home is not None
    results = [work.result(pair) for pair in pairs]
    check_output(out, results, [*sources[0], *sources[1]])
    files = {f"{name}'s files": fingerprint(own) for name, own in zip("AB", sources, strict=True)}
    identity = job.identity(files)
    part: Unfinished | remote_resume.Unfinished
    with _unfinished(home, out, results, identity, resume=resume) as part:
        _begin(home, part, results, identity)
        outputs = outputs_of(home, part.path, part.spare, results, out)
        tally = _Tally(pairs, part)
        finished = tally.finished(work, outputs, progress)
        left = (
            task
            for number, (pair, output) in enumerate(zip(pairs, outputs, strict=True))
            for task in _tasks(number, pair.shape, output.grid)
            if task.number not in finished[number]
        )
        if scheduler is None:
            _run_here(work, pairs, outputs, left, tally.done)
        else:
            from minuend.files.streaming import cluster

            count = sum(cells(pair.shape, output.grid) for pair, output in zip(pairs, outputs, strict=True))

            def done(task: Task, known: TaskResult) -> None:
                tally.done(task, known)
                work.add(pairs[task.pair], known.summary)
                progress(_elements(task.region))

            cluster.run(scheduler, job, cluster.Place(part.path, part.spare, out), outputs, left, count, done)
        tally.check(job.overflow)
        remote.check_unchanged()


def _unfinished(
    home: ChunkedFormat, out: str, results: Sequence[Result], identity: dict[str, str], *, resume: bool
) -> AbstractContextManager[Unfinished] | AbstractContextManager[remote_resume.Unfinished]:
    """Open the output: a folder that gets its name when it is whole, or an address that gets its headers then."""
    if URL in out:
        return remote_resume.unfinished(out, identity, home.headers_of(out, results), resume=resume)
    return unfinished(out, identity, resume=resume)


def _begin(
    home: ChunkedFormat,
    part: Unfinished | remote_resume.Unfinished,
    results: Sequence[Result],
    identity: dict[str, str],
) -> None:
    """Write all that stands beside the chunks, where an earlier run did again; to an address it is written last."""
    if URL not in part.path:
        home.create(part.path, results)
    if not part.begun:
        part.begin(identity)


def _tasks(pair: int, shape: Sequence[int], grid: Sequence[int]) -> Iterator[Task]:
    return (Task(pair, number, region) for number, region in enumerate(boxes(shape, grid)))


def _elements(region: Region) -> int:
    return size(extent(region))


def _run_here(
    work: Work, pairs: Sequence[Pair], outputs: Sequence[ChunkedOutput], tasks: Iterator[Task], done: Done
) -> None:
    """Do tasks in threads of this process."""
    lock = threading.Lock()

    def one(task: Task) -> None:
        result = do(work, pairs[task.pair], outputs[task.pair], task.region)
        with lock:
            done(task, result)

    each(one, tasks, 5 * max((output.nbytes for output in outputs), default=0))


class _Tally:
    """What is done: written to the journal, and what overflows without an answer."""

    def __init__(self, pairs: Sequence[Pair], part: Unfinished | remote_resume.Unfinished) -> None:
        self._pairs, self._part = pairs, part
        self._counts = [0] * len(pairs)
        self._firsts: list[First | None] = [None] * len(pairs)

    def finished(self, work: Work, outputs: Sequence[ChunkedOutput], progress: Callable[[int], None]) -> list[set[int]]:
        """Return the numbers of each pair's tasks that an earlier run finished, and report them.

        A task counts whose chunk is as the journal says: after a power failure it may be cut off, or missing.
        """
        stated: list[dict[int, TaskResult]] = [{} for _ in self._pairs]
        for entry in self._part.finished():
            match entry:
                case [int(pair), int(number), None | [int(), int()] as mark, *summary] if 0 <= pair < len(stated):
                    known = Summary(*cast(list[Any], summary))
                    stated[pair][number] = TaskResult(known, mark=None if mark is None else (mark[0], mark[1]))
                case _:  # of a release that wrote no checksums
                    continue
        return [
            _stored(own, known, output, work, progress) if known else set()
            for own, known, output in zip(self._pairs, stated, outputs, strict=True)
        ]

    def done(self, task: Task, result: TaskResult) -> None:
        """See :data:`Done`."""
        if result.first is None:
            self._part.add((task.pair, task.number, result.mark, *astuple(result.summary)))
            return
        known = self._firsts[task.pair]
        self._counts[task.pair] += result.summary.overflowed
        self._firsts[task.pair] = result.first if known is None else min(known, result.first)

    def check(self, overflow: Overflow) -> None:
        """Raise what tells of a difference without an answer."""
        from minuend.files.streaming.operand_blocks import overflow_found

        for pair, count, first in zip(self._pairs, self._counts, self._firsts, strict=True):
            if first is not None:
                raise overflow_found(pair, overflow, count, first)


def _stored(
    pair: Pair, known: Mapping[int, TaskResult], output: ChunkedOutput, work: Work, progress: Callable[[int], None]
) -> set[int]:
    """Return the numbers of tasks whose chunks are stored as their results say, and report them."""
    tasks = [task for task in _tasks(0, pair.shape, output.grid) if task.number in known]
    answers = ahead(lambda task: output.holds(task.region, known[task.number].mark), tasks, 2 * output.nbytes)
    found = [task for task, is_stored in zip(tasks, answers, strict=True) if is_stored]
    for task in found:
        work.add(pair, known[task.number].summary)
    progress(sum(_elements(task.region) for task in found))
    return {task.number for task in found}
