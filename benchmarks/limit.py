"""The limit: how long the machine takes to move a cell's bytes, measured by a small stream program.

The program (``stream.cc``) reads as many cache lines of A and B as the subtraction has to touch, and writes as many
as its result has, in the same memory, as far apart and with as many threads; it is compiled at first use with the
system's C++ compiler. The better of plain and non-temporal stores counts. Below 1 MiB there is no limit: there the call
decides.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.operands import LINE, Array, Operands

SOURCE = Path(__file__).with_name("stream.cc")
FLAGS = ("-std=c++17", "-O3", "-march=native", "-funroll-loops", "-shared", "-fPIC", "-pthread")
LEAST = 1 << 20  # bytes moved


class NoLimit(Exception):
    """The stream program cannot be had; the message says why."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One cell's traffic, as the stream program repeats it.

    Attributes:
        places: addresses of A, B and the result. lines: of A and B that are read, of the result that are written.
        apart: how many lines apart those of each lie, on average; 1 where they follow one another.
        pattern: index of the pattern (lines of A, lines of B, lines written) by which they are taken.
        scale: lines of the cell by lines that there are whole: what a time is multiplied by.
    """

    places: list[int]
    lines: list[int]
    apart: list[float]
    pattern: int
    threads: int
    scale: float

    def time(self, past_cache: bool) -> float:
        """Return the seconds that one run took."""
        run = _library().stream
        places = (ctypes.c_void_p * 3)(*self.places)
        lines = (ctypes.c_size_t * 3)(*self.lines)
        apart = (ctypes.c_double * 3)(*self.apart)
        return float(run(places, lines, apart, self.pattern, int(past_cache), self.threads)) * self.scale


def stream(operands: Operands, threads: int) -> Stream | None:
    """Return a cell's traffic; ``None`` for a cell below 1 MiB.

    Raises:
        NoLimit: there is no compiler.
    """
    if operands.cell.moved < LEAST:
        return None
    arrays = (operands.a, operands.b, operands.out)
    wanted = [touched(array) for array in arrays]
    patterns = _patterns()
    pattern = min(range(len(patterns)), key=lambda i: _distance(patterns[i], wanted))
    places = [_place(array) for array in arrays]
    lines = [min(n, room) for n, (_, room) in zip(wanted, places, strict=True)]
    apart = [room / n if n else 1.0 for n, (_, room) in zip(lines, places, strict=True)]
    return Stream([at for at, _ in places], lines, apart, pattern, threads, sum(wanted) / sum(lines))


def touched(array: Array) -> int:
    """Return how many cache lines an array's elements lie in."""
    dims = sorted((abs(stride), n) for stride, n in zip(array.strides, array.shape, strict=True) if n > 1)
    reach = array.itemsize  # bytes of a run that leaves out no line
    while dims and dims[0][0] <= max(reach, LINE):
        stride, n = dims.pop(0)
        reach += stride * (n - 1)
    starts = np.zeros(1, np.int64)
    for stride, n in dims:
        starts = np.add.outer(starts, np.arange(n) * stride).ravel()
    starts = np.sort(starts) + np.lib.array_utils.byte_bounds(array)[0]
    first, last = starts // LINE, (starts + reach - 1) // LINE
    counted = np.maximum.accumulate(np.concatenate(([-1], last)))[:-1]  # up to which line, before each run
    return int(np.sum(np.maximum(last - np.maximum(first, counted + 1) + 1, 0)))


def past_cache() -> bool:
    """Whether the machine has stores that pass the cache by."""
    return bool(_library().stream_has_past_cache())


def _distance(pattern: tuple[int, int, int], lines: list[int]) -> float:
    """How far the shares of the three streams in a pattern are from those in a cell."""
    whole, all_lines = sum(pattern), sum(lines)
    return sum((n / whole - m / all_lines) ** 2 for n, m in zip(pattern, lines, strict=True))


def _place(array: Array) -> tuple[int, int]:
    """The first whole cache line of an array's memory, and how many there are."""
    low, high = np.lib.array_utils.byte_bounds(array)
    start = -(-low // LINE) * LINE
    return start, max(0, high - start) // LINE


@functools.cache
def _patterns() -> list[tuple[int, int, int]]:
    first = ctypes.POINTER(ctypes.c_int)()
    count = _library().stream_patterns(ctypes.byref(first))
    return [(first[3 * i], first[3 * i + 1], first[3 * i + 2]) for i in range(count)]


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(_compiled()))
    library.stream.restype = ctypes.c_double
    library.stream.argtypes = [*[ctypes.c_void_p] * 3, *[ctypes.c_int] * 3]
    return library


def available() -> str:
    """Return an empty string where the limit can be measured, else the reason why not."""
    try:
        _library()
    except NoLimit as reason:
        return str(reason)
    return ""


def _compiled() -> Path:
    """Compile the stream program, once per source, compiler and processor; return the library's path."""
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if compiler is None or os.name != "posix":
        raise NoLimit("no C++ compiler: install one, or name it in CXX")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    cpu = Path("/proc/cpuinfo")
    flags = (
        next((line for line in cpu.read_text().splitlines() if line.startswith("flags")), "") if cpu.exists() else ""
    )
    key = "\0".join([SOURCE.read_text(), *FLAGS, version, platform.machine(), flags])
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minuend-benchmarks"
    goal = folder / f"stream-{hashlib.sha256(key.encode()).hexdigest()[:16]}.so"
    if goal.exists():
        return goal
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as own:
        made = Path(own) / goal.name
        done = subprocess.run(
            [compiler, *FLAGS, str(SOURCE), "-o", str(made)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise NoLimit(f"{compiler} did not compile {SOURCE.name}: {done.stderr.strip()[-500:]}")
        made.replace(goal)
    return goal
