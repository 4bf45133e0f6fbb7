"""A run as text for the terminal, at most 100 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from benchmarks.grid import short
from benchmarks.measure import Row
from benchmarks.report import (
    HEADINGS,
    Report,
    Table,
    axis_value,
    check_table,
    ratio,
    share,
    shared,
    starting,
    summary,
    time_of,
    varying,
)

WIDTH = 100


def to_text(report: Report) -> str:
    """Return the run as text of at most 100 columns."""
    lines = [f"{'NOT FIT TO PUBLISH':14}: {doubt}" for doubt in report.doubts]
    lines += [f"{heading:14} {value}" for heading, value in report.machine.items()]
    lines.append(f"{'releases':14} " + ", ".join(f"{name} {release}" for name, release in report.releases.items()))
    lines += [f"{'absent':14} {name}" for name in report.absent]
    lines += [f"{'no limit':14} {report.limit}"] if report.limit else []
    for title, rows in report.groups.items():
        lines += ["", f"{title} – {shared(rows)}", *_aligned(_short_table(rows), len(varying(rows)))]
    lines += ["", *starting(report), *_throughput(report), "", *_aligned(check_table(report.checks()), 4)]
    lines += ["", *summary(report)]
    lines += [f"not measured: {cell}: {reason}" for cell, reason in report.left_out.items()]
    return "\n".join(_wrapped(lines))


def _short_table(rows: Sequence[Row]) -> Table:
    axes = varying(rows)
    table = [[*(HEADINGS.get(axis, axis) for axis in axes), "minuend", "best peer", "×", "NumPy ×", "limit"]]
    for row in rows:
        best = row.best
        peer = "–" if best is None else f"{best} {time_of(row.times[best].median)}"
        cells = [axis_value(row.cell, axis) for axis in axes]
        numbers = [ratio(row.against(best)), ratio(row.against("numpy")), share(row)]
        table.append([*cells, time_of(row.seconds), peer, *numbers])
    return table


def _aligned(table: Table, words: int) -> list[str]:
    """Columns side by side: the first ``words`` to the left, the others, which are figures, to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if i < words else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    ]


def _wrapped(lines: Iterable[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        found += [line] if len(line) <= WIDTH else textwrap.wrap(line, WIDTH, subsequent_indent=" " * 6)
    return found


def _throughput(report: Report) -> list[str]:
    return [
        f"{t.library}, {t.callers} Python threads, float32 {short(t.size)}: "
        f"{t.gain:.2f} of one thread's calls per second ({t.alone:,.0f})"
        for t in report.throughput
    ]
