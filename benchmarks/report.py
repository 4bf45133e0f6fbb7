"""What was measured: the run as an object, as JSON, and the words and figures that every rendering shows."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks import checks, shares, startup
from benchmarks.checks import Check
from benchmarks.concurrency import Throughput
from benchmarks.grid import Cell, short
from benchmarks.measure import MINUEND, ROUNDS, Row, Timing, geometric_mean

AXES = ("dtype", "size", "shape", "layout", "memory", "threads", "policy", "function")
HEADINGS = {"dtype": "type", "memory": "result", "threads": "thr"}
DEFAULTS = {"shape": "same", "layout": "contiguous", "policy": "wrap", "function": "subtract"}

VERSION = 3  # of the JSON

Table = list[list[str]]


@dataclass(slots=True)
class Report:
    """One run.

    Attributes:
        machine, releases: by heading. groups: title → rows. limit: why there is no limit, or nothing.
        left_out: cells that were not measured, with the reason. absent: peers that are not installed.
        doubts: why the run may not be trusted: others used the CPUs, or no commit holds what was measured.
        rounds: of the procedure that :mod:`benchmarks.measure` describes.
    """

    machine: dict[str, str]
    releases: dict[str, str]
    groups: dict[str, list[Row]]
    limit: str = ""
    left_out: dict[str, str] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    starts: dict[str, float] = field(default_factory=dict)
    throughput: list[Throughput] = field(default_factory=list)
    quick: bool = False
    doubts: list[str] = field(default_factory=list)
    rounds: int = ROUNDS

    @property
    def rows(self) -> list[Row]:
        return list(itertools.chain.from_iterable(self.groups.values()))

    @property
    def peers(self) -> list[str]:
        """The libraries that took part in any cell, minuend not among them."""
        return [name for name in self.releases if any(name in row.times for row in self.rows) and name != MINUEND]

    def checks(self) -> list[Check]:
        found = checks.cell_checks(self.rows)
        if self.starts:
            found += checks.startup_checks(self.starts)
        return found + checks.concurrency_checks(self.throughput)

    def to_json(self) -> str:
        data = {
            "version": VERSION,
            "tool": "minuend benchmarks",
            "quick": self.quick,
            "machine": self.machine,
            "releases": self.releases,
            "absent": self.absent,
            "limit": self.limit,
            "left_out": self.left_out,
            "groups": {title: [row.to_json() for row in rows] for title, rows in self.groups.items()},
            "starts": self.starts,
            "throughput": [asdict(found) for found in self.throughput],
            "doubts": self.doubts,
            "rounds": self.rounds,
            "checks": [asdict(check) for check in self.checks()],
        }
        return json.dumps(data, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Report:
        data: dict[str, Any] = json.loads(text)
        if data.get("tool") != "minuend benchmarks" or data.get("version") != VERSION:
            raise ValueError(
                f"this is no result of these benchmarks (version {VERSION}); expected a file that -o wrote"
            )
        groups = {title: [Row.from_json(row) for row in rows] for title, rows in data["groups"].items()}
        throughput = [Throughput(**found) for found in data["throughput"]]
        return cls(
            data["machine"], data["releases"], groups, data["limit"], data["left_out"], data["absent"],
            data["starts"], throughput, data["quick"], data["doubts"], data["rounds"],
        )  # fmt: skip


# ---- figures --------------------------------------------------------------------------------------------------


def time_of(seconds: float | None) -> str:
    """Show seconds in three digits: 72.1 ns, 6.90 ms."""
    if seconds is None:
        return "–"
    for unit, factor in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3)):
        if seconds * factor < 999.5:
            return f"{_digits(seconds * factor)} {unit}"
    return f"{_digits(seconds)} s"


def spread(timing: Timing) -> str:
    """Show the distance between a timing's quartiles, by its median."""
    return f"±{timing.spread / 2:.0%}"


def ratio(value: float | None) -> str:
    return "–" if value is None else _digits(value)


def _digits(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def share(row: Row) -> str:
    """Show a row's share of the limit."""
    return "–" if row.of_limit is None else f"{row.of_limit:.0%}"


def axis_value(cell: Cell, axis: str) -> str:
    return short(cell.size) if axis == "size" else str(getattr(cell, axis))


def varying(rows: Sequence[Row]) -> list[str]:
    found = [axis for axis in AXES if len({axis_value(row.cell, axis) for row in rows}) > 1]
    return found or ["dtype"]


def shared(rows: Sequence[Row]) -> str:
    """What all rows of a group share, as words; the plainest values go without saying."""
    constant = [axis for axis in AXES if axis not in varying(rows)]
    cell = rows[0].cell
    words = [axis_value(cell, axis) for axis in constant if axis_value(cell, axis) != DEFAULTS.get(axis)]
    names = {"all": "all threads", "1": "one thread", "out": "out=", "fresh": "new results", "in-place": "in place"}
    return ", ".join(names.get(word, word) for word in words)


def summary(report: Report) -> list[str]:
    """Return the run in a few sentences."""
    rows = report.rows
    found = [(value, row) for row in rows if (value := row.against(row.best)) is not None]
    if not found:
        return [f"{len(rows)} cells; no peer took part."]
    ahead = sum(value >= 1 for value, _ in found)
    level = sum(1 - checks.NOISE <= value < 1 for value, _ in found)
    worst, row = min(found, key=lambda pair: pair[0])
    lines = [
        (
            f"{len(rows)} cells. Against the best peer of each: ahead in {ahead} of {len(found)} "
            f"({ahead / len(found):.1%}), level within {checks.NOISE:.0%} in {level}, "
            f"behind in {len(found) - ahead - level}."
        ),
        f"Worst cell: {row.cell}: {row.best} takes {worst:.2f} of minuend's time.",
        "Geometric mean, peer's time by minuend's: " + "; ".join(_means(rows)) + ".",
    ]
    reached = [part for row in rows if (part := row.of_limit) is not None]
    if reached:
        lines.append(f"Share of the limit, geometric mean over {len(reached)} cells: {geometric_mean(reached):.2f}.")
    if groups := [f"{own.group.name} {own.mean:.2f} ({own.cells} cells)" for own in shares.by_group(rows)]:
        lines.append(f"Share of the limit by group: {', '.join(groups)}.")
    return lines


def _means(rows: Sequence[Row]) -> list[str]:
    found = []
    for name, part in (("all cells", rows), ("wrap alone", [row for row in rows if row.cell.policy == "wrap"])):
        best = geometric_mean(value for row in part if (value := row.against(row.best)) is not None)
        numpy = geometric_mean(value for row in part if (value := row.against("numpy")) is not None)
        found.append(f"{name} {ratio(best)} against the best peer, {ratio(numpy)} against NumPy")
    return found


def by_group(groups: Mapping[str, Sequence[Cell]], rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Put rows back under their groups' titles."""
    found = {row.cell: row for row in rows}
    parts = {title: [found[cell] for cell in cells if cell in found] for title, cells in groups.items()}
    return {title: part for title, part in parts.items() if part}


def starting(report: Report) -> list[str]:
    if not report.starts:
        return []
    shown = ", ".join(f"{name} {time_of(seconds)}" for name, seconds in report.starts.items())
    return [f"Starting, interpreter included: {shown}. Imports alone: {startup.import_ratio(report.starts):.2f}."]


def check_table(found: Iterable[Check]) -> Table:
    """One line for each promise that a cell tells about."""
    told = (check for check in found if check.passed is not None)
    return [
        ["pass" if c.passed else "MISS", c.promise, c.target, c.measured + (f" ({c.where})" if c.where else "")]
        for c in told
    ]
