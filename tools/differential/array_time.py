"""The time of random layouts beside NumPy's and torch's: what is behind in three separate processes is a finding.

    python tools/differential/array_time.py --minutes 5 --seed 7
    python tools/differential/array_time.py --seed 7 --number 123      # one layout again

Each operand lies in memory in a way of its own: plain, its dims in another order, with gaps, with strides of 2 to 16
elements, backwards, broadcast, or with stride 0. Arrays have up to 4 Mi elements, and many have few. The procedure
(contenders in turn, medians) is that of ``benchmarks.layouts``. It is no surface of the driver, and tests measure no
time: absolute times mean little on a shared machine.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import layouts
from benchmarks.layouts import Dim
from benchmarks.operands import Operands
from minuend.core.elements import TYPES

LARGEST = (1 << 6, 1 << 12, 1 << 16, 1 << 22)
"""Elements of the result, at most; one of them is drawn first, so that small arrays are as many as large ones."""
MOST_BYTES = 1 << 28
"""Of an operand with its gaps and what lies between its steps."""
KINDS = ("plain", "plain", "turned", "gaps", "steps", "backwards", "repeats", "zeros")
BEHIND = 0.9
"""The best peer's time by this package's, below which a layout is behind."""
RUNS, ROUNDS = 3, 5


@dataclass(frozen=True)
class Layout(layouts.Layout):
    """A layout of which an operand's repeated dims may be as long as the result's, with stride 0."""

    zeros: tuple[bool, bool] = (False, False)

    def operands(self) -> Operands:
        """Return arrays of this layout, of ones, and a plain one for the result."""
        made = layouts.Layout.operands(self)
        a, b = (
            np.broadcast_to(one, self.shape) if zero else one
            for one, zero in zip((made.a, made.b), self.zeros, strict=True)
        )
        return Operands(made.cell, a, b, np.zeros(np.broadcast_shapes(a.shape, b.shape), a.dtype))


def draw(source: random.Random) -> Layout:
    """Return a random layout."""
    while True:
        plain, kinds = layouts.draw(source, source.choice(LARGEST)), source.choices(KINDS, k=2)
        a, b = (_dims(source, len(plain.shape), kind) for kind in kinds)
        room = max(_elements(plain.shape, dims) for dims in (a, b)) * TYPES[plain.dtype].itemsize
        if room <= MOST_BYTES and math.prod(plain.shape) <= LARGEST[-1]:
            return Layout(plain.dtype, plain.shape, a, b, (kinds[0] == "zeros", kinds[1] == "zeros"))


def _dims(source: random.Random, rank: int, kind: str) -> tuple[Dim, ...]:
    places = list(range(rank))
    if kind == "turned" or source.random() < 0.2:
        source.shuffle(places)
    sign = -1 if kind == "backwards" else 1
    return tuple(
        Dim(
            place,
            step=sign * (source.choice((1, source.randint(2, 16))) if kind in ("steps", "backwards") else 1),
            gap=source.choice((0, 1, 5, 16)) if kind == "gaps" else 0,
            repeats=kind in ("repeats", "zeros") and source.random() < 0.5,
        )
        for place in places
    )


def _elements(shape: tuple[int, ...], dims: tuple[Dim, ...]) -> int:
    return math.prod(n * abs(dim.step) + dim.gap for n, dim in zip(shape, dims, strict=True) if not dim.repeats)


def measured(layout: Layout) -> tuple[float, str]:
    """Return the best peer's time by this package's, and the line that shows it."""
    (row,) = layouts.measured([layout], threads=1, rounds=ROUNDS)
    return layouts.by_best(row), layouts.line(layout, row)


def measured_apart(layout: Layout) -> tuple[float, str]:
    """Measure a layout in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measured, (layout,))


def behind(layout: Layout) -> list[tuple[float, str]]:
    """Measure a layout in processes of their own, as long as it is behind; all figures if it stays so."""
    found: list[tuple[float, str]] = []
    for _ in range(RUNS):
        found.append(measured_apart(layout))
        if found[-1][0] >= BEHIND:
            return []
    return found


def main(arguments: list[str] | None = None) -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--number", type=int, help="of the one layout to measure")
    given = parser.parse_args(arguments)
    end, tried, once, findings = time.monotonic() + given.minutes * 60, 0, 0, 0
    while time.monotonic() < end and (given.number is None or not tried):
        number = tried if given.number is None else given.number
        layout = draw(random.Random(f"{given.seed} {number}"))
        tried += 1
        if measured(layout)[0] >= BEHIND:
            continue
        once += 1
        if figures := behind(layout):
            findings += 1
            ratios = ", ".join(f"{ratio:.2f}" for ratio, _ in figures)
            print(f"layout {number}: {ratios} of the best peer, the last:\n  {figures[-1][1]}")
    print(f"seed {given.seed}: {tried} layouts, {once} behind once, {findings} behind in {RUNS} more processes")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
