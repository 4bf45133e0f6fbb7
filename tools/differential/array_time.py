"""The time of random layouts beside NumPy's and torch's: what is behind in three separate processes is a finding.

python tools/differential/array_time.py --minutes 5 --seed 7

The layouts and the procedure (contenders in turn, medians) are those of ``benchmarks.layouts``; arrays have 1 Ki to
4 Mi elements. It is no surface of the driver and of no test: absolute times mean little on a shared machine.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import layouts

FEWEST, MOST = 1 << 10, 1 << 22
BEHIND = 0.9
"""The best peer's time by this package's, below which a layout is behind."""
RUNS, ROUNDS = 3, 5


def draw(source: random.Random) -> layouts.Layout:
    """Return a random layout of 1 Ki to 4 Mi elements."""
    while True:
        layout = layouts.draw(source, MOST)
        if FEWEST <= math.prod(layout.shape) <= MOST:
            return layout


def measured(layout: layouts.Layout) -> tuple[float, str]:
    """Return the best peer's time by this package's, and the line that shows it."""
    (row,) = layouts.measured([layout], threads=1, rounds=ROUNDS)
    return layouts.by_best(row), layouts.line(layout, row)


def behind(layout: layouts.Layout) -> list[tuple[float, str]]:
    """Measure a layout in processes of their own, as long as it is behind; all figures if it stays so."""
    found: list[tuple[float, str]] = []
    for _ in range(RUNS):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found.append(pool.apply(measured, (layout,)))
        if found[-1][0] >= BEHIND:
            return []
    return found


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    given = parser.parse_args()
    end, tried, once, findings = time.monotonic() + given.minutes * 60, 0, 0, 0
    while time.monotonic() < end:
        layout = draw(random.Random(f"{given.seed} {tried}"))
        tried += 1
        if measured(layout)[0] >= BEHIND:
            continue
        once += 1
        if figures := behind(layout):
            findings += 1
            print(
                f"{', '.join(f'{ratio:.2f}' for ratio, _ in figures)} of the best peer, the last:\n  {figures[-1][1]}"
            )
    print(f"seed {given.seed}: {tried} layouts, {once} behind once, {findings} behind in {RUNS} more processes")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
