"""Times cells: everybody in turn, round by round, in one process and on the same memory.

A turn is a millisecond of calls that are not timed, three at least, which wake threads and the CPU up and bring the
operands back into the caches, from which others' stores past the caches drive them, and then the timed calls, as many
as make a reading that the clock resolves. The order within a round is drawn anew. Libraries whose threads spin on after
a call (torch 3 ms, onnxruntime 20 ms) would take the CPUs from whoever comes next: where threads may work, a turn
starts only when the process has come to rest.

One procedure holds for every cell and every contender, and is fixed before the run: ``rounds`` rounds, and where the
best peer's median is then within a factor of :data:`NEAR` of minuend's, on either side, :data:`MORE` times as many on
top. A figure is the median of all of a contender's readings; no reading is left out and no cell is measured twice.
"""

from __future__ import annotations

import random
import statistics
import time
import timeit
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from benchmarks import limit
from benchmarks.grid import Cell
from benchmarks.operands import Operands, make, sampled, wrong_at
from benchmarks.peers import Form, Minuend, Peer

READING = 200e-6  # seconds that one reading lasts at least
WARMING = 1e-3  # seconds of calls before each reading: a CPU that has rested is slow at first
GUESSING = 5e-3  # seconds of calls that tell about how long one takes
WARM_CALLS = 3  # at least: after one, what stores past the caches drove out is still coming back (1.8 for 1.2 ms)
ROUNDS = 11  # for each cell; odd, so that the median is a reading
NEAR = 1.25  # near parity: the best peer's time by minuend's, or minuend's by the best peer's, is at most this
MORE = 2  # times the rounds: what a cell near parity gets on top
MINUEND = "minuend"


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per call. ``q1`` and ``q3`` are the quartiles, ``readings`` how many there were."""

    median: float
    least: float
    q1: float
    q3: float
    readings: int

    @property
    def spread(self) -> float:
        """The distance between the quartiles, by the median."""
        return (self.q3 - self.q1) / self.median

    @classmethod
    def of(cls, readings: list[float]) -> Timing:
        q1, _, q3 = statistics.quantiles(readings, n=4, method="inclusive") if len(readings) > 1 else readings * 3
        return cls(statistics.median(readings), min(readings), q1, q3, len(readings))


@dataclass(slots=True)
class Row:
    """What was measured of a cell.

    Attributes:
        times: by library, minuend first. limit: seconds that moving the cell's bytes takes; ``None`` below 1 MiB.
        refused: why a library took no part. wrong: what was wrong with its answer; it was timed all the same.
    """

    cell: Cell
    times: dict[str, Timing] = field(default_factory=dict)
    limit: float | None = None
    refused: dict[str, str] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)

    @property
    def seconds(self) -> float | None:
        """Minuend's median."""
        return self.times[MINUEND].median if MINUEND in self.times else None

    @property
    def best(self) -> str | None:
        """The fastest peer that gives the right answer."""
        right = {name: timing.median for name, timing in self.times.items() if name not in {MINUEND, *self.wrong}}
        return min(right, key=lambda name: right[name]) if right else None

    def against(self, peer: str | None) -> float | None:
        """Return how many times as long as minuend a peer takes."""
        if peer not in self.times or self.seconds is None:
            return None
        return self.times[peer].median / self.seconds

    @property
    def of_limit(self) -> float | None:
        """The share of the limit that minuend reaches; 1 is as fast as the machine moves the bytes."""
        return None if self.limit is None or self.seconds is None else self.limit / self.seconds

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Row:
        times = {name: Timing(**timing) for name, timing in data["times"].items()}
        return cls(Cell(**data["cell"]), times, data["limit"], dict(data["refused"]), dict(data["wrong"]))


class Contender(Protocol):
    """Who takes turns."""

    def time(self, calls: int) -> float:
        """Return seconds per call, over so many calls."""


class Statement:
    """A library's form."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self._timer = timeit.Timer(form.statement, globals=dict(form.names))

    def time(self, calls: int) -> float:
        return self._timer.timeit(calls) / calls


@dataclass(frozen=True, slots=True)
class Stores:
    """The stream program with one kind of stores; it reads the clock itself."""

    stream: limit.Stream
    past_cache: bool

    def time(self, calls: int) -> float:
        return sum(self.stream.time(self.past_cache) for _ in range(calls)) / calls


def measure(cell: Cell, peers: Iterable[Peer], threads: int, rounds: int = ROUNDS, seed: int = 0) -> Row:
    """Measure one cell.

    Args:
        peers: the other libraries. threads: how many the cell's "all" stands for. rounds: see the module's procedure.

    Returns:
        The cell's row. minuend is wrong nowhere, or this raises.

    Raises:
        AssertionError: minuend's own answer is wrong.
    """
    used = threads if cell.threads == "all" else int(cell.threads)
    return measure_operands(make(cell, seed), peers, used, rounds, seed)


def measure_operands(
    operands: Operands, peers: Iterable[Peer], threads: int, rounds: int = ROUNDS, seed: int = 0
) -> Row:
    """Measure what is done with these operands, on so many threads; see :func:`measure`."""
    row = Row(operands.cell)
    forms = enter(operands, [Minuend(), *peers], threads, row)
    if MINUEND in row.wrong:
        raise AssertionError(f"minuend is wrong in cell {row.cell}: {row.wrong[MINUEND]}")
    operands.rest()
    contenders: dict[str, Contender] = {
        name: _fastest([Statement(form) for form in own]) for name, own in forms.items()
    }
    contenders |= {f"limit {past}": Stores(found, past) for found, past in _stores(operands, threads)}
    turns = Turns(contenders, threads > 1, random.Random(seed))
    turns.take(rounds)
    _note(row, turns.readings)
    if near_parity(row):
        turns.take(MORE * rounds)
        _note(row, turns.readings)
    return row


def near_parity(row: Row) -> bool:
    """Whether the best peer is within a factor of :data:`NEAR` of minuend, ahead or behind."""
    found = row.against(row.best)
    return found is not None and 1 / NEAR <= found <= NEAR


def _note(row: Row, readings: Mapping[str, list[float]]) -> None:
    timings = {name: Timing.of(found) for name, found in readings.items()}
    row.times = {name: timing for name, timing in timings.items() if not name.startswith("limit")}
    row.limit = min((t.median for name, t in timings.items() if name.startswith("limit")), default=None)


def enter(operands: Operands, peers: Iterable[Peer], threads: int, row: Row) -> dict[str, list[Form]]:
    """Return each peer's forms, all tried once; note in the row who refused and who was wrong."""
    found: dict[str, list[Form]] = {}
    index, want = sampled(operands)
    saved = operands.a.copy() if operands.cell.memory == "in-place" else None
    for peer in peers:
        forms = peer.forms(operands, threads)
        if isinstance(forms, str):
            row.refused[peer.name] = forms
            continue
        found[peer.name] = forms
        for form in forms:
            if saved is None:
                operands.out.view(f"u{operands.out.itemsize}")[...] = 0
            wrong = wrong_at(want, form.once(operands)[index].reshape(want.shape))
            if saved is not None:
                operands.a[...] = saved
            if wrong:
                row.wrong[peer.name] = wrong
    return found


class Turns:
    """Contenders that take turns on the same operands.

    Attributes:
        readings: by contender, seconds per call, in the order in which they were taken.
    """

    def __init__(self, contenders: Mapping[str, Contender], spinning: bool, rng: random.Random) -> None:
        self.readings: dict[str, list[float]] = {name: [] for name in contenders}
        self._contenders = contenders
        self._spinning = spinning
        self._rng = rng
        self._guesses = {name: _guess(contender) for name, contender in contenders.items()}

    def take(self, rounds: int) -> None:
        """Take one reading of every contender in each of so many rounds."""
        for _ in range(rounds):
            for name in self._rng.sample(list(self._contenders), len(self._contenders)):
                self.readings[name].append(self._reading(self._contenders[name], self._guesses[name]))

    def _reading(self, contender: Contender, guess: float) -> float:
        if self._spinning:
            come_to_rest()
        if guess < 0.02:  # beyond that, waking up is no part of the time any more
            least = WARM_CALLS if guess < 0.005 else 1
            contender.time(max(least, round(WARMING / guess)))
        return contender.time(max(1, round(READING / guess)))


def come_to_rest(patience: float = 0.04) -> None:
    """Wait until this process's threads sleep, at most ``patience`` seconds."""
    end = time.perf_counter() + patience
    while time.perf_counter() < end:
        used, start = time.process_time(), time.perf_counter()
        time.sleep(0.0005)
        if time.process_time() - used < 0.2 * (time.perf_counter() - start):
            return


def _stores(operands: Operands, threads: int) -> list[tuple[limit.Stream, bool]]:
    if limit.available():
        return []
    found = limit.stream(operands, threads)
    if found is None:
        return []
    return [(found, past) for past in ((False, True) if limit.past_cache() else (False,))]


def _fastest(statements: list[Statement]) -> Statement:
    """Choose a library's best form by a short trial."""
    if len(statements) == 1:
        return statements[0]
    return min(statements, key=_guess)


def _guess(contender: Contender) -> float:
    """Return about how long a call takes, warm: threads that wake up take turns on one CPU for a while."""
    end = time.perf_counter() + GUESSING
    seconds = max(contender.time(1), 1e-9)
    while time.perf_counter() < end:
        calls = min(1000, max(1, round(READING / seconds)))
        seconds = max(min(seconds, contender.time(calls)), 1e-9)
    return seconds


def geometric_mean(values: Iterable[float]) -> float | None:
    """Return the geometric mean; ``None`` of nothing."""
    found = list(values)
    return statistics.geometric_mean(found) if found else None


Progress = Callable[[int, int, Cell], None]


def run(cells: list[Cell], peers: list[Peer], threads: int, rounds: int, progress: Progress) -> list[Row]:
    """Measure cells one after the other, by the same procedure."""
    rows = []
    for i, cell in enumerate(cells):
        progress(i, len(cells), cell)
        rows.append(measure(cell, peers, threads, rounds))
    return rows
