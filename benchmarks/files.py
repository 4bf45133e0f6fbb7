"""``python -m benchmarks.files``: files against files, minuend beside NumPy over memory maps, as GB/s.

    python -m benchmarks.files --mib 512 --rounds 7 --folder /tmp

Two ``.npy`` files are made in the folder and read once, so that they lie in the page cache. Everybody subtracts them in
turn, into a new file each time, in an order that is drawn anew each round. Shown are the medians of the speeds and of
the rounds' ratios, and the ratio of the quickest readings. What counts is the time until the result is in the page
cache: nobody waits for the disk.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from minuend.files.difference import subtract_files
from minuend.files.streaming.pipeline import sole

PROMISE = 1.5
"""Times NumPy's speed, at least."""

DTYPES = ("float32", "uint8", "int16", "float64")
_PIECE = 1 << 24


@dataclass(frozen=True, slots=True)
class Files:
    """The operands, and where the result goes."""

    a: Path
    b: Path
    out: Path


def numpy_maps(files: Files) -> None:
    """NumPy over memory maps, as its users do it."""
    a, b = np.load(files.a, mmap_mode="r"), np.load(files.b, mmap_mode="r")
    out = np.lib.format.open_memmap(files.out, "w+", a.dtype, a.shape)
    np.subtract(a, b, out=out)


def minuend_files(files: Files) -> None:
    """What ``minuend sub`` does."""
    with sole():
        subtract_files(str(files.a), str(files.b), str(files.out))


PEERS: dict[str, Callable[[Files], None]] = {"minuend": minuend_files, "numpy": numpy_maps}


def make(folder: Path, dtype: str, nbytes: int) -> Files:
    """Write two operands of random bits of so many bytes each."""
    bits = np.random.default_rng(19)
    element = np.dtype(dtype)
    for name in ("a.npy", "b.npy"):
        shape = (nbytes // element.itemsize,)
        array = np.lib.format.open_memmap(folder / name, "w+", element, shape)
        raw = array.view(np.uint8)
        for start in range(0, raw.size, _PIECE):
            piece = raw[start : start + _PIECE]
            piece[...] = bits.integers(0, 100, piece.size, np.uint8)
        array.flush()
    return Files(folder / "a.npy", folder / "b.npy", folder / "out.npy")


def measure(files: Files, rounds: int) -> dict[str, list[float]]:
    """Return each peer's seconds, round by round; a first round is not counted."""
    readings: dict[str, list[float]] = {name: [] for name in PEERS}
    for turn in range(rounds + 1):
        for name in random.sample(list(PEERS), len(PEERS)):
            files.out.unlink(missing_ok=True)
            start = time.perf_counter()
            PEERS[name](files)
            if turn:
                readings[name].append(time.perf_counter() - start)
    return readings


def shown(dtype: str, nbytes: int, seconds: dict[str, list[float]]) -> tuple[str, float]:
    """Return a line of the report, and how many times as fast as NumPy."""
    ours, theirs = seconds["minuend"], seconds["numpy"]
    speeds = [3 * nbytes / statistics.median(each) / 1e9 for each in (ours, theirs)]
    times = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
    return f"{dtype:10} {speeds[0]:7.2f} GB/s {speeds[1]:7.2f} GB/s {times:7.2f} {min(theirs) / min(ours):7.2f}", times


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--mib", type=click.IntRange(1), default=512, show_default=True, help="The size of each operand.")
@click.option("--rounds", type=click.IntRange(1), default=7, show_default=True)
@click.option(
    "--folder", type=click.Path(file_okay=False, exists=True), help="Where the files go; it needs 4 times MIB."
)
@click.option("--check", is_flag=True, help="End with status 1 where minuend is less than 1.5 times as fast as NumPy.")
def main(mib: int, rounds: int, folder: str | None, check: bool) -> None:
    """Subtract files of every kind of element, and show who moves how many bytes a second."""
    click.echo(f"{'dtype':10} {'minuend':>12} {'numpy maps':>12} {'times':>7} {'at best':>7}")
    missed = False
    for dtype in DTYPES:
        with tempfile.TemporaryDirectory(dir=folder) as home:
            seconds = measure(make(Path(home), dtype, mib << 20), rounds)
        line, times = shown(dtype, mib << 20, seconds)
        missed |= times < PROMISE
        click.echo(line)
    raise SystemExit(int(check and missed))


if __name__ == "__main__":
    main()
