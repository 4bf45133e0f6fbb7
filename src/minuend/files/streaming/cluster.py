"""The tasks of a difference on a Dask cluster.

Workers open the files themselves and write their chunks themselves; what goes over the network is where chunks lie and
a few numbers of each. At any time a bounded number of tasks is with the scheduler, so that neither it nor this
process grows with the array. A worker holds one chunk of the difference for each of its threads, and what of the
operands lies under it.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import minuend
from minuend.errors import MinuendError
from minuend.files import chunked_format, open_tensors
from minuend.files.packages import need
from minuend.files.streaming import chunk_tasks
from minuend.files.streaming.chunk_tasks import Done, Job, Task, TaskResult

if TYPE_CHECKING:
    import distributed

    from minuend.files.base import ChunkedOutput
    from minuend.files.streaming.region_work import Work
    from minuend.files.tensor_pairs import Pair

BATCH_BYTES = 1 << 26
"""About how many bytes of the difference a message to a worker is of: small chunks go together."""

MOST_IN_BATCH = 256
"""Tasks in one message at the most: what a worker that dies was at is done again."""

AHEAD = 3
"""Batches that wait for each thread of the cluster."""

OFTEN = 5.0
"""Seconds between looks at how many workers there are."""

PATIENCE = "10s"
"""How long a scheduler is waited for, and the first worker."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the difference is written until it is whole: its folder, that of half written chunks, and the output.

    ``version`` is that of this package which all processes have.
    """

    path: str
    spare: str
    out: str
    version: str = minuend.__version__


def run(
    address: str,
    job: Job,
    place: Place,
    outputs: Sequence[ChunkedOutput],
    tasks: Iterator[Task],
    count: int,
    done: Done,
) -> None:
    """Do tasks on a cluster.

    Args:
        address: of the scheduler, or a file that states it. job: what is computed. place: where it is written.
        outputs: the arrays that are written. tasks: all of them. count: how many there are. done: called with each.

    Raises:
        MinuendError: no scheduler answers, or a worker cannot see the files; or as ``subtract_files``.
        ConnectionError: the cluster went away, or workers keep dying.
    """
    need("distributed", "dask", place.out)
    import distributed

    with _client(address) as client:
        _check_workers(client, job, place)
        largest = max(1, *(output.nbytes for output in outputs))
        most = max(1, min(MOST_IN_BATCH, BATCH_BYTES // largest, count // _Capacity(client).batches))
        batches = iter(lambda: list(itertools.islice(tasks, most)), [])
        try:
            _work_off(client, batches, job, place, done)
        except (distributed.CancelledError, distributed.comm.CommClosedError) as error:
            raise ConnectionError(f"the scheduler went away ({type(error).__name__}: {error})") from None


class _Capacity:
    """How many batches may be with the cluster at a time, which is queried now and then: workers come and go."""

    def __init__(self, client: distributed.Client) -> None:
        self._client = client
        self._queried = -math.inf
        self._batches = 0

    @property
    def batches(self) -> int:
        """For each thread some that wait."""
        if time.monotonic() - self._queried > OFTEN:
            self._batches = AHEAD * max(1, sum(self._client.nthreads().values()))
            self._queried = time.monotonic()
        return self._batches


@contextlib.contextmanager
def _client(address: str) -> Iterator[distributed.Client]:
    """Connect to a scheduler."""
    import distributed

    known = {"scheduler_file": address} if os.path.isfile(address) else {"address": address}
    try:
        client = distributed.Client(**known, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise MinuendError(
            f"no Dask scheduler answers at {address} ({error}); start one with dask scheduler and name its address, "
            "such as tcp://host:8786"
        ) from None
    try:
        yield client
    finally:
        client.close()


def _check_workers(client: distributed.Client, job: Job, place: Place) -> None:
    """Check that the workers that are there have this package and see the files, before anything is computed."""
    import distributed

    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except (distributed.TimeoutError, TimeoutError):
        raise MinuendError(
            f"the scheduler {client.scheduler.address} has no workers; start some with dask worker"
        ) from None
    for worker, message in client.run(_seen, job, place, on_error="return").items():
        if isinstance(message, BaseException):
            raise MinuendError(
                f"the worker {worker} cannot run minuend {minuend.__version__} ({type(message).__name__}: {message}); "
                "install it there"
            )
        if message:
            raise MinuendError(f"the worker {worker} {message}")


def _work_off(client: distributed.Client, batches: Iterator[list[Task]], job: Job, place: Place, done: Done) -> None:
    """Keep the cluster busy until all is done."""
    import distributed

    waiting: dict[distributed.Future, list[Task]] = {}
    running = distributed.as_completed(loop=client.loop)
    capacity = _Capacity(client)

    def submit() -> None:
        while len(waiting) < capacity.batches and (batch := next(batches, None)):
            future = client.submit(_do, job, place, batch, pure=False)
            waiting[future] = batch
            running.add(future)

    try:
        submit()
        while waiting:
            future = next(running)
            for task, result in zip(waiting.pop(future), _result(future), strict=True):
                done(task, result)
            future.release()
            submit()
    finally:
        with contextlib.suppress(distributed.comm.CommClosedError):  # then none works on them
            client.cancel(list(waiting), force=True)


def _result(future: distributed.Future) -> list[TaskResult]:
    """Return the results of tasks.

    Raises:
        MinuendError: the operands cannot be subtracted. ConnectionError: the cluster does not work; what is finished is
            worth going on with.
    """
    import distributed

    try:
        found: list[TaskResult] | Failure = future.result()
    except distributed.KilledWorker as error:
        raise ConnectionError(
            f"workers died again and again at the same chunks, {error.last_worker.address} was the last one; most "
            f"often of too little memory: {_NEEDED}"
        ) from None
    if isinstance(found, Failure):
        raise (MinuendError if found.lasting else ConnectionError)(found.text)
    return found


# ---- on a worker ---------------------------------------------------------------------------------------------------


class _Opened:
    """A job as a worker has it open."""

    def __init__(self, job: Job, place: Place) -> None:
        from minuend.files.streaming.region_work import Work
        from minuend.files.tensor_pairs import pair_up

        pairs, _ = pair_up(open_tensors(job.a), open_tensors(job.b), job.rules, job.common, job.nodata)
        self.pairs: list[Pair] = pairs
        self.work: Work = Work(job.overflow)
        home = chunked_format(place.out)
        assert home is not None
        results = [self.work.result(pair) for pair in pairs]
        self.outputs = chunk_tasks.outputs_of(home, place.path, place.spare, results, place.out)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a worker could not do its tasks; ``lasting``: no other worker could."""

    text: str
    lasting: bool


_opened: dict[Place, _Opened] = {}
_opening = threading.Lock()


def _open(job: Job, place: Place) -> _Opened:
    """Open a job, once for all threads of a worker; the last one stays open."""
    with _opening:
        if place not in _opened:
            found = _Opened(job, place)
            _opened.clear()
            _opened[place] = found
        return _opened[place]


def _do(job: Job, place: Place, batch: Sequence[Task]) -> list[TaskResult] | Failure:
    """Do tasks; errors go back as what they say, for exceptions of other processes do not always come through."""
    try:
        found = _open(job, place)
        return [chunk_tasks.do(found.work, found.pairs[t.pair], found.outputs[t.pair], t.region) for t in batch]
    except FileNotFoundError as error:
        return Failure(f"{_me()} does not see the files: {error}; {_SHARED}", False)
    except MinuendError as error:
        return Failure(str(error), True)
    except MemoryError:
        return Failure(f"{_me()} has too little memory; {_NEEDED}", False)
    except OSError as error:
        return Failure(f"{_me()} cannot read or write: {error}", False)


_NEEDED = "expected memory for a chunk of each operand and of the difference, for each thread"
_SHARED = "workers read and write themselves, name paths on a file system that all of them share"


def _me() -> str:
    from distributed import get_worker

    return f"the worker {get_worker().address}"


def _seen(job: Job, place: Place, dask_worker: distributed.Worker) -> str:
    """Say why a worker cannot do tasks; ``""`` where it can. Dask gives the worker."""
    if place.version != minuend.__version__:
        return f"has minuend {minuend.__version__} and not {place.version}; install one version everywhere"
    try:
        _open(job, place)
    except OSError as error:
        return f"does not see the files: {error}; {_SHARED}"
    return ""
