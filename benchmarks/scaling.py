"""How the time of ``minuend sub a.zarr b.zarr -o c.zarr`` grows with its size, by threads here and on a Dask cluster.

    python -m benchmarks.scaling --write docs      # scaling.json, scaling.svg and scaling.png

Chunks of 128 KiB, 4 of them to 4,096: three decades. The operands hold random numbers and are not packed, so that what
is measured is this program and the page cache, not a codec. The cluster is two processes of one thread on this machine.
Cost is what all processes together take of the CPUs, the scheduler's bookkeeping in this one included: unlike seconds
on the wall it hardly depends on what else a machine does. The line is through all sizes, by relative distance.
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import describe
from minuend.files.difference import subtract_files
from minuend.files.streaming.pipeline import sole

SIDE = 256
CELLS = (4, 12, 40, 128, 400, 1264, 4096)
"""Chunks of each size: half a decade apart."""
ENGINES = ("threads", "cluster")
COLOURS = {"threads": "#222222", "cluster": "#4477aa"}


@dataclass(frozen=True, slots=True)
class Point:
    """One size.

    Attributes:
        cells: chunks. threads, cluster: CPU seconds of each engine; ``_wall``: on the wall. worker: the most memory
            that one worker has ever held, in bytes.
    """

    cells: int
    threads: float
    threads_wall: float
    cluster: float
    cluster_wall: float
    worker: int

    @property
    def nbytes(self) -> int:
        """Bytes of the difference; as many are read of each operand."""
        return self.cells * SIDE * SIDE * np.dtype(np.int16).itemsize


def measure(folder: Path, cells: Sequence[int], rounds: int) -> list[Point]:
    """Measure every size in a folder, which holds three times the largest one at a time."""
    distributed: Any = importlib.import_module("distributed")
    found = []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", memory_limit=0
        ) as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        _timed(_made(folder, 1), workers.scheduler_address, client)  # workers import what they need
        for count in cells:
            made = _made(folder, count)
            threads, cluster = (
                min(_timed(made, address, client) for _ in range(rounds))
                for address in (None, workers.scheduler_address)
            )
            found.append(Point(count, *threads, *cluster, max(client.run(_most_memory).values())))
            shutil.rmtree(made)
    return found


def _most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _made(folder: Path, cells: int) -> Path:
    """Make operands of so many chunks."""
    zarr: Any = importlib.import_module("zarr")
    made = folder / str(cells)
    for name, seed in (("a", 0), ("b", 1)):
        of = zarr.create_array(
            made / f"{name}.zarr", shape=(cells * SIDE, SIDE), chunks=(SIDE, SIDE), dtype="int16", compressors=None
        )
        chunk = np.random.default_rng(seed).integers(-1000, 1000, (SIDE, SIDE)).astype("int16")
        for k in range(cells):
            of[k * SIDE : (k + 1) * SIDE] = chunk
    return made


def _timed(made: Path, scheduler: str | None, client: Any) -> tuple[float, float]:
    """Subtract; return the CPU seconds of this process and the workers, and the seconds on the wall."""
    out = made / "c.zarr"
    start, before = time.perf_counter(), _cpu(client)
    with sole():
        subtract_files(str(made / "a.zarr"), str(made / "b.zarr"), str(out), scheduler=scheduler)
    seconds, cpu = time.perf_counter() - start, _cpu(client) - before
    shutil.rmtree(out)
    return round(cpu, 3), round(seconds, 3)


def _cpu(client: Any) -> float:
    return time.process_time() + float(sum(client.run(time.process_time).values()))


def line(points: Sequence[Point], engine: str) -> tuple[float, float]:
    """Return seconds to start and seconds for a chunk: the line that is relatively nearest to all sizes."""
    cells = np.array([point.cells for point in points], float)
    seconds = np.array([getattr(point, engine) for point in points])
    rows = np.stack([1 / seconds, cells / seconds], axis=1)
    (start, each), *_ = np.linalg.lstsq(rows, np.ones(len(points)), rcond=None)
    return float(start), float(each)


def table(points: Sequence[Point]) -> str:
    """Return the rows as Markdown."""
    rows = [
        "| difference | chunks | threads: CPU | on the wall | cluster of two: CPU | on the wall | memory of a worker |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for at in points:
        rows.append(
            f"| {at.nbytes / (1 << 20):,.1f} MiB | {at.cells:,} | {at.threads:.2f} s | {at.threads_wall:.2f} s "
            f"| {at.cluster:.2f} s | {at.cluster_wall:.2f} s | {at.worker / (1 << 20):.0f} MiB |"
        )
    for_each = {name: line(points, name) for name in ENGINES}
    told = " | | ".join(f"{start:.2f} s + {each * 1000:.2f} ms a chunk" for start, each in for_each.values())
    return "\n".join([*rows, f"| the line | | {told} | | |"])


def draw(points: Sequence[Point], folder: Path) -> None:
    """Write ``scaling.svg`` and ``scaling.png``."""
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    sizes = np.array([point.nbytes for point in points]) / (1 << 20)
    with matplotlib.rc_context({"font.size": 9, "svg.hashsalt": "minuend", "axes.axisbelow": True}):
        figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
        for name in ENGINES:
            start, each = line(points, name)
            cells = np.geomspace(points[0].cells, points[-1].cells, 100)
            axes.plot(cells * sizes[0] / points[0].cells, start + each * cells, color=COLOURS[name], linewidth=1)
            label = f"{name}: {start:.2f} s + {each * 1000:.2f} ms a chunk"
            axes.plot(sizes, [getattr(point, name) for point in points], "o", color=COLOURS[name], label=label)
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="difference, MiB (chunks of 128 KiB)",
            ylabel="CPU seconds of all processes",
        )
        axes.grid(color="#dddddd")
        axes.legend(frameon=False)
        axes.set_title("Cost grows with the number of chunks", loc="left")
        figure.savefig(folder / "scaling.png", dpi=160)
        figure.savefig(folder / "scaling.svg", metadata={"Date": None})
        pyplot.close(figure)


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write scaling.json, scaling.svg and scaling.png")
    parser.add_argument("--most", type=int, default=CELLS[-1], help="the largest size, in chunks")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        points = measure(Path(folder), [cells for cells in CELLS if cells <= options.most], options.rounds)
    print(table(points))
    if options.write is not None:
        data = {"machine": describe(), "points": [asdict(point) for point in points]}
        (options.write / "scaling.json").write_text(json.dumps(data, indent=2) + "\n")
        draw(points, options.write)


if __name__ == "__main__":
    main()
