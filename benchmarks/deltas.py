"""``python -m benchmarks.deltas``: deltas of checkpoints, their sizes beside XOR and plain zstd, and their speed.

    python -m benchmarks.deltas --mib 256 --rounds 3 --folder /tmp

Weights are made by a seeded generator: normal numbers, of another scale in each tensor, and from them what a
fine-tuning could make of them. The same blocks, planes and level of zstd pack the bits of BASE XOR TUNED instead of the
zigzagged difference; *zstd* packs TUNED alone, in one thread and without planes. Speeds are GB of TUNED, first a second
and then a second of one CPU, of the quickest of all rounds: what else a machine does only adds. Files are in the page
cache, results are written to it; *disk* writes TUNED until it is on the disk.

*come back* is the share of elements that BASE + (TUNED − BASE), in their own type, gives back.

    python -m benchmarks.deltas --tools --mib 16 --folder /tmp

shows general tools for differences of files beside it, those that are installed (Debian: zstd, xdelta3, bsdiff): the
size of what each writes, and GB of TUNED a second of CPU.
"""

from __future__ import annotations

import functools
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import ml_dtypes
import numpy as np

from minuend.files.deltas import apply_delta, byte_planes, make_delta
from minuend.files.deltas.delta_files import BLOCK_BYTES
from minuend.files.streaming.pipeline import sole

Array = np.ndarray[Any, np.dtype[Any]]

SIDE = 2048
"""Rows and columns of a tensor."""

RANK = 16


Change = Callable[[np.random.Generator, Array], Array]


def step(size: float) -> Change:
    """Every weight moves by a normal share of itself."""

    def moved(bits: np.random.Generator, base: Array) -> Array:
        share: Array = base * (1 + np.float32(size) * bits.standard_normal(base.shape, np.float32))
        return share

    return moved


def plus(size: float) -> Change:
    """Every weight moves by a normal number, however small it is itself."""

    def moved(bits: np.random.Generator, base: Array) -> Array:
        added: Array = base + np.float32(size) * bits.standard_normal(base.shape, np.float32)
        return added

    return moved


def sparse(bits: np.random.Generator, base: Array) -> Array:
    """One weight in a hundred moves, by a hundredth of itself."""
    return np.where(bits.random(base.shape, np.float32) < 0.01, step(1e-2)(bits, base), base)


def low_rank(bits: np.random.Generator, base: Array) -> Array:
    """A product of two thin matrices is added, a hundredth of the weights' size."""
    down, up = (bits.standard_normal(shape, np.float32) for shape in ((SIDE, RANK), (RANK, SIDE)))
    merged: Array = base + (down @ up) * np.float32(base.std() * 1e-2 / np.sqrt(RANK))
    return merged


def unrelated(bits: np.random.Generator, base: Array) -> Array:
    """Other weights of the same scale."""
    other: Array = bits.standard_normal(base.shape, np.float32) * base.std()
    return other


CASES: Mapping[str, tuple[str, Change]] = {
    "bfloat16, step 1e-4": ("bfloat16", step(1e-4)),
    "bfloat16, step 1e-3": ("bfloat16", step(1e-3)),
    "bfloat16, step 1e-2": ("bfloat16", step(1e-2)),
    "bfloat16, plus 1e-4": ("bfloat16", plus(1e-4)),
    "bfloat16, 1 % by 1e-2": ("bfloat16", sparse),
    "bfloat16, LoRA merged": ("bfloat16", low_rank),
    "bfloat16, unrelated": ("bfloat16", unrelated),
    "float16, step 1e-4": ("float16", step(1e-4)),
    "float16, step 1e-3": ("float16", step(1e-3)),
    "float32, step 1e-4": ("float32", step(1e-4)),
    "float32, step 1e-3": ("float32", step(1e-3)),
    "float32, 1 % by 1e-2": ("float32", sparse),
}
"""What became of the base."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes that packing gives, as shares of TUNED, and the share of elements that a float difference gives back."""

    delta: float
    xor: float
    zstd: float
    come_back: float


@dataclass(frozen=True, slots=True)
class Speed:
    """GB of TUNED a second, and a second of one CPU."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.2f}, {self.cpu:.2f}"


def tensors(case: str, nbytes: int) -> Iterator[tuple[str, Array, Array]]:
    """Make the tensors of both checkpoints, one after another."""
    name, change = CASES[case]
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    bits = np.random.default_rng(19)
    for i in range(max(1, nbytes // (SIDE * SIDE * dtype.itemsize))):
        base = (bits.standard_normal((SIDE, SIDE), np.float32) * np.float32(0.02 * 2 ** -(i % 4))).astype(dtype)
        yield f"layer.{i}", base, change(bits, base.astype(np.float32)).astype(dtype)


def save(case: str, nbytes: int, folder: Path) -> tuple[str, str]:
    """Write both checkpoints."""
    from safetensors.numpy import save_file

    base, tuned = str(folder / "base.safetensors"), str(folder / "tuned.safetensors")
    made = list(tensors(case, nbytes))
    save_file({name: old for name, old, _ in made}, base)
    save_file({name: new for name, _, new in made}, tuned)
    return base, tuned


def measure_sizes(case: str, nbytes: int, packed: int) -> Sizes:
    """Pack the same tensors otherwise; ``packed``: the size of the delta."""
    import zstandard

    zstd = zstandard.ZstdCompressor(level=byte_planes.LEVEL)
    total = xor = plain = back = count = 0
    for _, old, new in tensors(case, nbytes):
        a, b = (byte_planes.bits(array.reshape(-1).view(np.uint8), array.itemsize) for array in (old, new))
        each = BLOCK_BYTES // a.itemsize
        for start in range(0, a.size, each):
            x, y = a[start : start + each], b[start : start + each]
            xor += len(byte_planes.pack_smaller(x ^ y, y, byte_planes.LEVEL))
        plain += len(zstd.compress(b.tobytes()))
        with np.errstate(all="ignore"):
            again: Array = old + (new - old)
        back += int(np.count_nonzero(again.reshape(-1).view(a.dtype) == b))
        count += b.size
        total += b.nbytes
    return Sizes(packed / total, xor / total, plain / total, back / count)


def measure_speeds(base: str, tuned: str, folder: Path, rounds: int) -> tuple[dict[str, Speed], int]:
    """Time everybody in turn; return the delta's size too."""
    import zstandard

    delta, out = str(folder / "d.safetensors"), str(folder / "out.safetensors")
    raw = Path(tuned).read_bytes()

    def to_disk() -> None:
        with open(out, "wb") as stream:
            stream.write(raw)
            os.fsync(stream.fileno())

    peers: dict[str, Callable[[], object]] = {
        "make": lambda: make_delta(base, tuned, delta),
        "apply": lambda: apply_delta(base, delta, out),
        "zstd": lambda: zstandard.ZstdCompressor(level=byte_planes.LEVEL).compress(raw),
        "disk": to_disk,
    }
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in peers}
    for _ in range(rounds):
        for name, work in peers.items():
            Path(out).unlink(missing_ok=True)
            start, spent = time.perf_counter(), time.process_time()
            with sole():
                work()
            seconds[name].append((time.perf_counter() - start, time.process_time() - spent))
    found = {
        name: Speed(*(len(raw) / min(each) / 1e9 for each in zip(*rows, strict=True))) for name, rows in seconds.items()
    }
    return found, os.path.getsize(delta)


TOOLS: Mapping[str, Callable[[str, str, str], list[str]]] = {
    "zstd --patch-from": lambda base, tuned, out: [
        "zstd",
        "-qf",
        "--long=31",
        f"--patch-from={base}",
        tuned,
        "-o",
        out,
    ],
    "xdelta3": lambda base, tuned, out: ["xdelta3", "-ef", "-B", str(os.path.getsize(base)), "-s", base, tuned, out],
    "bsdiff": lambda base, tuned, out: ["bsdiff", base, tuned, out],
}
"""The command of each tool: BASE, TUNED and what it writes."""

PATIENCE = 60
"""Seconds of CPU after which the system ends a tool."""


def _be_bounded() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE + 1))


def spent() -> float:
    """Seconds of CPU of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def measure_tools(base: str, tuned: str, folder: Path) -> Mapping[str, str]:
    """Return what each tool makes of both checkpoints, in words; one run each, since some take minutes."""
    out = str(folder / "d.safetensors")
    found = {"minuend delta": _measured(lambda: make_delta(base, tuned, out), tuned, out)}
    for name, command in TOOLS.items():
        words = command(base, tuned, out)
        if shutil.which(words[0]) is None:
            continue
        try:
            run = functools.partial(subprocess.run, words, check=True, preexec_fn=_be_bounded)
            found[name] = _measured(run, tuned, out)
        except subprocess.CalledProcessError as error:
            if error.returncode != -signal.SIGXCPU:
                raise
            found[name] = f"more than {PATIENCE} s"
    return found


def _measured(work: Callable[[], object], tuned: str, out: str) -> str:
    start, nbytes = spent(), os.path.getsize(tuned)
    work()
    return f"{100 * os.path.getsize(out) / nbytes:.1f} %, {nbytes / (spent() - start) / 1e9:.3f}"


def show_tools(cases: Iterable[str], nbytes: int, folder: str | None) -> None:
    """Show a table in Markdown of what general tools make of checkpoints."""
    for i, case in enumerate(cases):
        with tempfile.TemporaryDirectory(dir=folder) as home:
            found = measure_tools(*save(case, nbytes, Path(home)), Path(home))
        if not i:
            click.echo("| weights | " + " | ".join(found) + " |\n|---|" + "--:|" * len(found))
        click.echo(f"| {case} | " + " | ".join(found.values()) + " |")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--mib", type=click.IntRange(8), default=256, show_default=True, help="The size of each checkpoint.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option("--case", "chosen", multiple=True, type=click.Choice(list(CASES)), help="Only these cases.")
@click.option(
    "--folder", type=click.Path(file_okay=False, exists=True), help="Where the files go; it needs 4 times MIB."
)
@click.option("--tools", is_flag=True, help="Show general tools for differences of files beside it.")
def main(mib: int, rounds: int, chosen: tuple[str, ...], folder: str | None, tools: bool) -> None:
    """Make and apply deltas of checkpoints of every kind, and show a table in Markdown."""
    if tools:
        show_tools(chosen or CASES, mib << 20, folder)
        return
    click.echo(f"Checkpoints of {mib} MiB, {len(os.sched_getaffinity(0))} CPUs, zstd level {byte_planes.LEVEL}.\n")
    click.echo("| weights | delta | XOR | zstd | come back | make | apply | zstd alone | disk |")
    click.echo("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for case in chosen or CASES:
        with tempfile.TemporaryDirectory(dir=folder) as home:
            base, tuned = save(case, mib << 20, Path(home))
            speeds, packed = measure_speeds(base, tuned, Path(home), rounds)
        sizes = measure_sizes(case, mib << 20, packed)
        shares = " | ".join(f"{100 * share:.1f} %" for share in (sizes.delta, sizes.xor, sizes.zstd))
        rates = " | ".join(f"{one.wall:.2f}" if name == "disk" else str(one) for name, one in speeds.items())
        click.echo(f"| {case} | {shares} | {100 * sizes.come_back:.2f} % | {rates} |")


if __name__ == "__main__":
    main()
