"""What minuend promises about its speed, held against what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from benchmarks import concurrency, startup
from benchmarks.grid import Cell, short
from benchmarks.measure import Row, geometric_mean

NOISE = 0.05
TINY = 16  # elements
CACHE = 64 << 20  # bytes moved: more than a core's own caches hold
FEW = 1 << 20  # elements


@dataclass(frozen=True, slots=True)
class Check:
    """One promise.

    Attributes:
        promise: a sentence. target, measured: as shown. passed: ``None`` where no cell tells.
        where: the cell that decided it.
    """

    promise: str
    target: str
    measured: str
    passed: bool | None
    where: str = ""


Value = Callable[[Row], float | None]


def cell_checks(rows: list[Row]) -> list[Check]:
    """Hold every promise about cells against the rows."""
    standards = [row for row in rows if row.cell.function != "subtract" and row.cell.size <= TINY]
    rows = [row for row in rows if row.cell.function == "subtract"]
    by_cell = {row.cell: row for row in rows}

    def by_numpy(row: Row) -> float | None:
        ratio = row.against("numpy")
        return None if ratio is None else 1 / ratio

    def by_out(row: Row) -> float | None:
        other = by_cell.get(_into_out(row.cell))
        return None if other is None or not other.seconds or row.seconds is None else row.seconds / other.seconds

    def by_wrap(row: Row) -> float | None:
        """Speed per byte moved by wrap's, or by that of the machine, of which wrap's share counts for 1 at most.

        The caches may hold what wrap moves, and not the wider results: the machine itself is then slower per byte.
        """
        other = by_cell.get(_wrapping(row.cell))
        if other is None or other.seconds is None or not row.seconds:
            return None
        per_byte = (row.cell.moved / row.seconds) / (other.cell.moved / other.seconds)
        if row.of_limit is None or other.of_limit is None:
            return per_byte
        return max(per_byte, row.of_limit / min(1.0, other.of_limit))

    def microseconds(row: Row) -> float | None:
        return None if row.seconds is None else row.seconds * 1e6

    def directml(wanted: bool) -> list[Row]:
        return [row for row in standards if row.cell.function.startswith("directml") is wanted]

    def keep(test: Callable[[Cell], bool]) -> list[Row]:
        return [row for row in rows if test(row.cell)]

    plain = keep(lambda c: c.policy == "wrap" and c.layout == "contiguous")
    same = [row for row in plain if row.cell.shape == "same"]
    tiny = [row for row in plain if row.cell.size <= TINY]
    views = keep(lambda c: c.layout in {"strided", "sliced"} and c.moved >= 1 << 20 and c.policy == "wrap")
    transposed = keep(lambda c: c.layout == "transposed" and c.shape == "same" and c.size >= FEW and c.policy == "wrap")
    return [
        most("16 elements or fewer, by NumPy's time", 0.45, [r for r in tiny if r.cell.shape == "same"], by_numpy),
        most("the same, broadcast", 0.6, [r for r in tiny if r.cell.shape != "same"], by_numpy),
        least(
            "contiguous, 64 MiB or more: share of the limit", 0.95,
            [r for r in same if r.cell.moved >= CACHE and r.cell.memory != "fresh"], lambda r: r.of_limit,
        ),
        most(
            "fresh results of 4 Mi elements or more, by out=", 1.15,
            [r for r in plain if r.cell.memory == "fresh" and r.cell.size >= 1 << 22], by_out,
        ),
        least(
            "broadcast cells, best peer's time by minuend's", 1 - NOISE,
            keep(lambda c: c.shape != "same" and c.policy == "wrap"), lambda r: r.against(r.best),
        ),
        least("transposed, 1 Mi elements or more, NumPy's time", 8, transposed, lambda r: r.against("numpy")),
        least("transposed, 1 Mi elements or more, torch's time", 4, transposed, lambda r: r.against("torch")),
        least("strided and sliced: share of the limit", 0.8, views, lambda r: r.of_limit),
        least(
            "saturate and widen, speed per byte by wrap's", 0.8,
            keep(lambda c: c.policy in {"saturate", "widen"} and c.moved >= 1 << 20), by_wrap,
        ),
        least(
            "error, speed by that of one pass of wrap", 0.8,
            keep(lambda c: c.policy == "error" and c.moved >= 1 << 20), by_wrap,
        ),
        least("every cell, best peer's time by minuend's", 1 - NOISE, rows, lambda r: r.against(r.best)),
        mean("geometric mean against the best peer", 1.5, rows, lambda r: r.against(r.best)),
        mean("geometric mean against NumPy", 5, rows, lambda r: r.against("numpy")),
        most("ONNX's and OpenVINO's functions, 16 elements, µs", 1, directml(False), microseconds),
        most("DirectML's function, 16 elements, µs", 5, directml(True), microseconds),
    ]  # fmt: skip


def _into_out(cell: Cell) -> Cell:
    return replace(cell, memory="out")


def _wrapping(cell: Cell) -> Cell:
    return replace(cell, policy="wrap")


def startup_checks(seconds: dict[str, float]) -> list[Check]:
    """Hold the promises about starting against the medians."""
    ratio, help_ = startup.import_ratio(seconds), startup.help_seconds(seconds)
    return [
        Check("import minuend by import numpy", "≤ 1.3", f"{ratio:.2f}", ratio <= 1.3),
        Check("minuend --help beyond Python's start", "≤ 150 ms", f"{help_ * 1e3:.0f} ms", help_ <= 0.15),
    ]


def concurrency_checks(found: Iterable[concurrency.Throughput]) -> list[Check]:
    """Several callers together are no slower than one."""
    own = [t for t in found if t.library == "minuend"]
    if not own:
        return []
    worst = min(own, key=lambda t: t.gain)
    return [
        Check(
            f"{worst.callers} Python threads at once, throughput by one's",
            f"≥ {1 - NOISE:.2f}",
            f"{worst.gain:.2f}",
            worst.gain >= 1 - NOISE,
            f"float32, {short(worst.size)} elements",
        )
    ]


def least(promise: str, target: float, rows: Iterable[Row], value: Value) -> Check:
    """Check that no row has less; the measured value is the worst one's."""
    return _worst(promise, f"≥ {target:g}", rows, value, min, lambda found: found >= target)


def most(promise: str, target: float, rows: Iterable[Row], value: Value) -> Check:
    """Check that no row has more; otherwise like :func:`least`."""
    return _worst(promise, f"≤ {target:g}", rows, value, max, lambda found: found <= target)


def mean(promise: str, target: float, rows: Iterable[Row], value: Value) -> Check:
    """Check the rows' geometric mean."""
    found = [v for row in rows if (v := value(row)) is not None]
    average = geometric_mean(found)
    if average is None:
        return Check(promise, f"≥ {target:g}", "no cell", None)
    return Check(promise, f"≥ {target:g}", f"{average:.2f} over {len(found)} cells", average >= target)


def _worst(
    promise: str,
    target: str,
    rows: Iterable[Row],
    value: Value,
    pick: Callable[..., tuple[float, Row]],
    holds: Callable[[float], bool],
) -> Check:
    found = [(v, row) for row in rows if (v := value(row)) is not None]
    if not found:
        return Check(promise, target, "no cell", None)
    worst, row = pick(found, key=lambda pair: pair[0])
    holding = sum(holds(v) for v, _ in found)
    measured = f"{worst:.2f} at worst; {holding} of {len(found)} cells hold"
    return Check(promise, target, measured, holding == len(found), str(row.cell))
