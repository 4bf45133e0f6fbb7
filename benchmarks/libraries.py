"""``python -m benchmarks.libraries``: what a call costs with each library's arrays, beside the library's own ``-``.

    python -m benchmarks.libraries --rounds 15 > docs/benchmarks-libraries.md

Each library that is installed subtracts two float32 arrays of three sizes, by ``minuend.subtract`` and by itself, in
turns drawn anew each round. Shown are medians. What is lazy is computed: that is what its users wait for.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import platform
import random
import statistics
import timeit
from collections.abc import Callable
from typing import Any

import click
import numpy as np

import minuend as mn

SIZES = (16, 4096, 1 << 20)
_SECONDS = 0.01
"""About how long one reading takes."""


def _dask(array: Any) -> Any:
    return importlib.import_module("dask.array").from_array(array, chunks=max(1, array.size // 4))


def _jax(array: Any) -> Any:
    return importlib.import_module("jax.numpy").asarray(array)


LIBRARIES: dict[str, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "NumPy": ("numpy", np.asarray, lambda found: found),
    "PyTorch": ("torch", lambda array: importlib.import_module("torch").from_numpy(array), lambda found: found),
    "JAX": ("jax", _jax, lambda found: found.block_until_ready()),
    "Dask": ("dask", _dask, lambda found: found.compute(scheduler="threads")),
    "xarray": ("xarray", lambda array: importlib.import_module("xarray").DataArray(array, dims="x"),
               lambda found: found),
    "pandas": ("pandas", lambda array: importlib.import_module("pandas").Series(array), lambda found: found),
    "Polars": ("polars", lambda array: importlib.import_module("polars").Series(array), lambda found: found),
    "masked arrays": ("numpy", lambda array: np.ma.masked_less(array, 0.01), lambda found: found),
    "array API": ("array_api_strict", lambda array: importlib.import_module("array_api_strict").asarray(array),
                  lambda found: found),
}  # fmt: skip
"""Name → package, what makes one of its arrays of one of NumPy's, and what waits for a result."""


def measure(name: str, size: int, rounds: int) -> tuple[float, float]:
    """Return the medians of seconds of a call, by minuend and by the library itself."""
    _, make, wait = LIBRARIES[name]
    draw = np.random.default_rng(size)
    a, b = (make(draw.random(size, np.float32)) for _ in "ab")
    calls = {"minuend": lambda: wait(mn.subtract(a, b)), "own": lambda: wait(a - b)}
    counts = {
        who: max(1, int(_SECONDS / max(1e-9, min(timeit.repeat(call, number=1, repeat=5)))))
        for who, call in calls.items()
    }
    readings: dict[str, list[float]] = {who: [] for who in calls}
    for _ in range(rounds):
        for who in random.sample(list(calls), len(calls)):
            readings[who].append(timeit.timeit(calls[who], number=counts[who]) / counts[who])
    return statistics.median(readings["minuend"]), statistics.median(readings["own"])


def shown(seconds: float) -> str:
    """A time in microseconds, to three digits."""
    return f"{seconds * 1e6:.3g}"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--rounds", type=click.IntRange(1), default=15, show_default=True)
def main(rounds: int) -> None:
    """Show what a call costs with each library's arrays."""
    click.echo("# What a call costs, library by library\n\nWritten by `python -m benchmarks.libraries`; "
               f"float32, microseconds, medians of {rounds} rounds in turns, on {platform.machine()}.\n")  # fmt: skip
    click.echo("| library | " + " | ".join(f"{size:,} elements: minuend | its own | times" for size in SIZES) + " |")
    click.echo("|---|" + "---:|---:|---:|" * len(SIZES))
    missing = []
    for name, (package, _, _) in LIBRARIES.items():
        if importlib.util.find_spec(package) is None:
            missing.append(name)
            continue
        cells = []
        for size in SIZES:
            ours, own = measure(name, size, rounds)
            cells += [shown(ours), shown(own), f"{own / ours:.2f}"]
        version = importlib.metadata.version(package.replace("_", "-"))
        click.echo(f"| {name} {version} | " + " | ".join(cells) + " |")
    if missing:
        click.echo(f"\nNot installed: {', '.join(missing)}.")


if __name__ == "__main__":
    main()
