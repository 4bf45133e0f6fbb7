"""A run as a picture: per group, every peer's time by minuend's, and minuend's share of the limit."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, geometric_mean
from benchmarks.report import Report

COLOURS = {
    "numpy": "#4477aa",
    "torch": "#ee6677",
    "onnxruntime": "#228833",
    "openvino": "#aa3377",
    "numexpr": "#b58900",
}
OWN = "#222222"
GRID = "#dddddd"


def draw(report: Report, folder: Path) -> list[Path]:
    """Write ``benchmarks.png`` and ``benchmarks.svg``; return their paths.

    Raises:
        ImportError: matplotlib is not installed.
    """
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    titles = list(report.groups)
    peers = [peer for peer in COLOURS if peer in report.peers]
    with matplotlib.rc_context({"font.size": 9, "svg.hashsalt": "minuend", "axes.axisbelow": True}):
        height = 1.7 + len(titles) * max(0.7, 0.17 * (len(peers) + 1))
        figure, (times, shares) = pyplot.subplots(
            1, 2, figsize=(11, height), width_ratios=[3, 1], sharey=True, layout="constrained"
        )
        for at, rows in enumerate(report.groups.values()):
            _times(times, at, rows, peers)
            _shares(shares, at, rows)
        _dress(matplotlib, times, shares, titles)
        figure.legend(
            *times.get_legend_handles_labels(),
            loc="outside lower left",
            ncols=max(1, len(peers)),
            frameon=False,
            markerscale=2,
        )
        figure.suptitle(_title(report), x=0.01, ha="left", fontsize=11)
        paths = [folder / "benchmarks.png", folder / "benchmarks.svg"]
        figure.savefig(paths[0], dpi=160)
        figure.savefig(paths[1], metadata={"Date": None})
        pyplot.close(figure)
    return paths


def _times(axes: Any, at: int, rows: Sequence[Row], peers: Sequence[str]) -> None:
    """One strip of dots per peer; the tall mark is their geometric mean."""
    step = 0.76 / max(1, len(peers))
    for i, peer in enumerate(peers):
        y = at - 0.38 + (i + 0.5) * step
        right = [v for row in rows if peer not in row.wrong and (v := row.against(peer)) is not None]
        wrong = [v for row in rows if peer in row.wrong and (v := row.against(peer)) is not None]
        colour = COLOURS[peer]
        label = peer if at == 0 else None
        axes.plot(right, [y] * len(right), "o", ms=3.2, mew=0, alpha=0.55, color=colour, label=label)
        axes.plot(wrong, [y] * len(wrong), "o", ms=3.2, mew=0.6, mfc="none", alpha=0.6, color=colour)
        average = geometric_mean(right)
        if average is not None:
            axes.plot([average] * 2, [y - step * 0.45, y + step * 0.45], color=colour, lw=2.2, solid_capstyle="butt")


def _shares(axes: Any, at: int, rows: Sequence[Row]) -> None:
    found = [100 * v for row in rows if (v := row.of_limit) is not None]
    heights = [at + 0.5 * (i / max(1, len(found) - 1) - 0.5) for i in range(len(found))]
    axes.plot(found, heights, "o", ms=3.2, mew=0, alpha=0.55, color=OWN)
    average = geometric_mean(found)
    if average is not None:
        axes.plot([average] * 2, [at - 0.34, at + 0.34], color=OWN, lw=2.2, solid_capstyle="butt")


def _dress(matplotlib: Any, times: Any, shares: Any, titles: Sequence[str]) -> None:
    times.set_xscale("log")
    low, high = times.get_xlim()
    times.set_xlim(min(low, 0.5), max(high, 2))
    times.axvspan(times.get_xlim()[0], 1, color="#f3f3f3", zorder=0)
    times.axvline(1, color=OWN, lw=1)
    times.xaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    times.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda x, _: f"{x:g}×"))
    times.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    times.set_xlabel("time by minuend's (right of 1×: minuend is faster; bars: means; rings: wrong)")
    times.set_yticks(range(len(titles)), titles)
    times.set_ylim(len(titles) - 0.5, -0.5)
    shares.set_xlim(0, max(110, shares.get_xlim()[1]))
    shares.axvline(100, color=OWN, lw=1)
    shares.xaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(decimals=0))
    shares.set_xlabel("minuend's share of the limit")
    for axes in (times, shares):
        axes.grid(axis="x", color=GRID, lw=0.6)
        axes.tick_params(axis="y", length=0)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        for at in range(1, len(titles)):
            axes.axhline(at - 0.5, color=GRID, lw=0.6)


def _title(report: Report) -> str:
    machine = report.machine
    where = machine.get("machine") or machine.get("processor", "")
    return f"minuend against other libraries: {len(report.rows)} cells, {where}, {machine.get('date', '')}"
