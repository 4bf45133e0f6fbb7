"""Several Python threads that subtract at once, each its own arrays: calls per second, by those of one thread."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import minuend
from benchmarks.operands import Array

Subtract = Callable[[Array, Array, Array], object]

LIBRARIES: dict[str, Subtract] = {
    "minuend": lambda a, b, out: minuend.subtract(a, b, out=out),
    "numpy": lambda a, b, out: np.subtract(a, b, out=out),
}
SIZES = (1 << 4, 1 << 12, 1 << 16, 1 << 20, 1 << 22)


@dataclass(frozen=True, slots=True)
class Throughput:
    """Calls per second: of one Python thread, and of ``callers`` together. float32, ``out=``."""

    library: str
    size: int
    callers: int
    alone: float
    together: float

    @property
    def gain(self) -> float:
        return self.together / self.alone


def measure(callers: int, seconds: float, rounds: int = 5, sizes: tuple[int, ...] = SIZES) -> list[Throughput]:
    """Measure every library at every size, in turn; medians over rounds.

    Args:
        callers: Python threads that call at once. seconds: what one reading lasts.
    """
    found = []
    for size in sizes:
        readings: dict[tuple[str, int], list[float]] = {}
        for _ in range(rounds):
            for name, subtract in LIBRARIES.items():
                for n in (1, callers):
                    readings.setdefault((name, n), []).append(_calls_per_second(subtract, size, n, seconds))
        for name in LIBRARIES:
            alone, together = (statistics.median(readings[name, n]) for n in (1, callers))
            found.append(Throughput(name, size, callers, alone, together))
    return found


def _calls_per_second(subtract: Subtract, size: int, callers: int, seconds: float) -> float:
    ready = threading.Barrier(callers + 1)
    stop = threading.Event()
    counts = [0] * callers

    def call(me: int) -> None:
        a, b, out = (np.full(size, value, np.float32) for value in (3, 2, 0))
        subtract(a, b, out)
        ready.wait()
        done = 0
        while not stop.is_set():
            for _ in range(8):
                subtract(a, b, out)
            done += 8
        counts[me] = done

    threads = [threading.Thread(target=call, args=(i,)) for i in range(callers)]
    for thread in threads:
        thread.start()
    ready.wait()
    start = time.perf_counter()
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - start)
