"""A run as a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks import shares
from benchmarks.concurrency import Throughput
from benchmarks.grid import LAYOUTS, STEPPED, Steps, short
from benchmarks.measure import MINUEND, MORE, NEAR, ROUNDS, Row
from benchmarks.report import (
    HEADINGS,
    Report,
    Table,
    axis_value,
    check_table,
    ratio,
    share,
    shared,
    spread,
    starting,
    summary,
    time_of,
    varying,
)

HOW = """\
Each figure is the median of all readings of a library in a cell; behind it stands half the distance between the
quartiles, by the median. One procedure holds for all cells and all libraries, and is fixed before the run: {rounds}
interleaved rounds, and {more} more where the best peer's time is then within a factor of {near} of minuend's, on either
side. No reading is left out, and no cell is measured a second time.

All libraries of a cell run in one process on the same memory, in turn, in an order that is drawn anew for each round;
the garbage collector is off; before a turn the process comes to rest, because some libraries' threads spin on after a
call, and a millisecond of calls, of those below 5 ms three at least, goes before those that are timed. Before all that,
every answer is checked at several hundred elements; a library whose answer is wrong is timed, marked with †, and is
nobody's best peer.

Every library has its own best form: onnxruntime and OpenVINO have their tensors bound and their models compiled before
the clock starts; torch and numexpr subtract the bits of unsigned integers as signed ones, where they have no such type.
Overflow policies other than wrap take NumPy and torch several operations. Operands are never copied for a library: one
that cannot take a layout takes no part (–). In place B is 0, so that A keeps its values.

*limit* is the time that a small C++ stream program takes to read as many cache lines of A and B and to write as many
of the result, in the same memory and as far apart, on the caller's own thread or on several pinned ones that stand
ready, with the better of plain and non-temporal stores. A share of 100 % is as fast as the machine moves the bytes;
noise can take it above. Below 1 MiB there is none. *×* is the peer's time by minuend's: above 1 minuend is faster."""


def to_markdown(report: Report, plot: str = "") -> str:
    """Return the run as a page. ``plot`` is the picture's path, relative to the page."""
    kind = (" --quick" if report.quick else "") + (f" --rounds {report.rounds}" if report.rounds != ROUNDS else "")
    lines = ["# Benchmarks", "", f"Written by `python -m benchmarks{kind}`.", ""]
    lines += [f"**Not fit to publish: {doubt}.**\n" for doubt in report.doubts]
    lines += ["## The machine", ""]
    lines += _table([["", ""], *([heading, value] for heading, value in report.machine.items())])
    lines += ["", ", ".join(f"{name} {release}" for name, release in report.releases.items()) + "."]
    lines += [f"Not installed: {', '.join(report.absent)}."] if report.absent else []
    lines += ["", "## Summary", "", *(f"- {line}" for line in summary(report))]
    lines += [f"- {line}" for line in starting(report)]
    lines += [
        "",
        *(["![Every cell's time by minuend's, and the share of the limit](" + plot + ")", ""] if plot else []),
    ]
    lines += _table([["", "promise", "target", "measured"], *check_table(report.checks())])
    if found := shares.by_group(report.rows):
        lines += ["", "## The share of the limit", "", *_table(_share_table(found))]
    if report.throughput:
        lines += ["", "## Several callers at once", "", *_table(_throughput_table(report.throughput))]
    lines += ["", "## How it is measured", "", HOW.format(rounds=report.rounds, more=MORE * report.rounds, near=NEAR)]
    lines += [f"\nNo limit was measured: {report.limit}" if report.limit else ""]
    lines += ["Layouts:", "", *(f"- *{name}*: {words}" for name, words in LAYOUTS.items())]
    lines += [f"- *{name}*: {_words(steps)}" for name, steps in STEPPED.items()]
    for title, rows in report.groups.items():
        lines += ["", f"## {title}", "", shared(rows), "", *_table(_full_table(rows, report.peers))]
        lines += _footnotes(rows)
    if report.left_out:
        lines += ["", "## Not measured", "", *(f"- {cell}: {reason}" for cell, reason in report.left_out.items())]
    return "\n".join(lines) + "\n"


def _share_table(found: Iterable[shares.Share]) -> Table:
    lines = [
        [s.group.name, str(s.cells), f"{s.mean:.2f}", f"{s.least:.2f} ({s.where})", s.group.physical, s.group.ours]
        for s in found
    ]
    return [["group", "cells", "geometric mean", "least", "what is physical", "what is ours"], *lines]


def _words(steps: Steps) -> str:
    """Say how the elements of a stepped layout lie."""
    arrays = {"A": steps.a, "B": steps.b, "the result": steps.out}
    words = [
        f"{name}[::{down}, ::{along}]" if name != "the result" else f"the result is out[::{down}, ::{along}]"
        for name, (down, along) in arrays.items()
        if (down, along) != (1, 1)
    ]
    return " and ".join(words) + (f" of arrays that are {steps.gap} columns wider" if steps.gap else "")


def _throughput_table(found: Iterable[Throughput]) -> Table:
    lines = [
        [t.library, short(t.size), str(t.callers), f"{t.alone:,.0f}", f"{t.together:,.0f}", ratio(t.gain)]
        for t in found
    ]
    return [["library", "float32 elements", "Python threads", "calls/s of one", "calls/s of all", "×"], *lines]


def _full_table(rows: Sequence[Row], peers: Sequence[str]) -> Table:
    axes = varying(rows)
    own = [peer for peer in peers if any(peer in row.times for row in rows)]
    table = [
        [
            *(HEADINGS.get(axis, axis) for axis in axes),
            "minuend",
            *own,
            "limit",
            "× best",
            "× NumPy",
            "of limit",
        ]
    ]
    for row in rows:
        times = [_marked(row, peer) for peer in own]
        numbers = [time_of(row.limit), ratio(row.against(row.best)), ratio(row.against("numpy")), share(row)]
        table.append(
            [
                *(axis_value(row.cell, axis) for axis in axes),
                f"**{time_of(row.seconds)}**{_spread(row, MINUEND)}",
                *times,
                *numbers,
            ]
        )
    return table


def _spread(row: Row, name: str) -> str:
    return f" {spread(row.times[name])}" if name in row.times else ""


def _marked(row: Row, peer: str) -> str:
    if peer not in row.times:
        return "–"
    return time_of(row.times[peer].median) + ("†" if peer in row.wrong else "") + _spread(row, peer)


def _footnotes(rows: Sequence[Row]) -> list[str]:
    """What the peers had wrong, an example for each peer and type."""
    found: dict[tuple[str, str], str] = {}
    for row in rows:
        for peer, wrong in row.wrong.items():
            found.setdefault((peer, row.cell.dtype), wrong)
    if not found:
        return []
    return ["", "† " + "; ".join(f"{peer}, {dtype}: {wrong}" for (peer, dtype), wrong in found.items()) + "."]


def _table(table: Table) -> list[str]:
    head, *body = table
    return [_line(head), _line(["---"] * len(head)), *map(_line, body)]


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
