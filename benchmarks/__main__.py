"""``python -m benchmarks``: measure, then show."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import click

import minuend
from benchmarks import concurrency, limit, machine, measure, page, peers, plot, report, startup, text
from benchmarks.grid import FULL, QUICK, Cell, grid, matching
from benchmarks.operands import needed

QUICK_ROUNDS = 3


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--quick", is_flag=True, help="A smaller grid: about two minutes on two cores.")
@click.option("--filter", "conditions", multiple=True, metavar="AXIS=VALUE[,VALUE]",
              help="Only such cells. Axes: dtype size shape layout memory threads policy function.")  # fmt: skip
@click.option("--slice", "slices", multiple=True, metavar="NAME", help="Only this slice of the grid; may be repeated.")
@click.option("--peer", "chosen", multiple=True, type=click.Choice(list(peers.PEERS)), help="Only these peers.")
@click.option(
    "--rounds", type=click.IntRange(1), help=f"Rounds for each cell: {measure.ROUNDS}, or {QUICK_ROUNDS} with --quick."
)
@click.option("--list", "only_list", is_flag=True, help="Print the cells and measure nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path),
              help="Write benchmarks.md, .json, .png and .svg into this folder.")  # fmt: skip
@click.option("--from", "source", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Measure nothing; show a benchmarks.json again.")  # fmt: skip
@click.option("--machine", "name", default="", help="The machine's name, for the report.")
@click.option("--check", is_flag=True, help="End with status 1 where a promise is missed.")
def main(
    quick: bool,
    conditions: tuple[str, ...],
    slices: tuple[str, ...],
    chosen: tuple[str, ...],
    rounds: int | None,
    only_list: bool,
    as_json: bool,
    output: Path | None,
    source: Path | None,
    name: str,
    check: bool,
) -> None:
    """Time minuend.subtract beside NumPy, torch, onnxruntime, openvino, numexpr and the machine's own limit."""
    if output is not None and importlib.util.find_spec("matplotlib") is None:
        raise click.UsageError("-o draws a picture, and matplotlib is not installed; pip install '.[bench]'")
    if output is not None and source is None and (doubts := _doubts(_quiet_now())):
        raise click.UsageError(f"-o writes the page of a run that can be trusted; {'; '.join(doubts)}")
    if source is not None:
        try:
            found = report.Report.from_json(source.read_text("utf-8"))
        except ValueError as error:
            raise click.UsageError(f"{source}: {error}") from None
    else:
        groups = _cells(quick, conditions, slices)
        if only_list:
            click.echo(
                "\n".join(f"{title}\n" + "\n".join(f"  {cell}" for cell in own) for title, own in groups.items())
            )
            return
        whole, default = not (conditions or slices), QUICK_ROUNDS if quick else measure.ROUNDS
        found = _measured(groups, list(chosen or peers.PEERS), rounds or default, quick, whole, name)
    if output is not None and not found.doubts:
        _write(found, output)
    click.echo(found.to_json() if as_json else text.to_text(found))
    if output is not None and found.doubts:
        raise click.ClickException(f"nothing written to {output}: {'; '.join(found.doubts)}")
    if check and any(line.passed is False for line in found.checks()):
        sys.exit(1)


def _cells(quick: bool, conditions: Iterable[str], slices: tuple[str, ...]) -> dict[str, list[Cell]]:
    """Return the cells asked for by their group's title."""
    parts = QUICK if quick else FULL
    if unknown := sorted(set(slices) - {part.name for part in parts}):
        raise click.UsageError(f"no slice {unknown[0]!r}; there are {', '.join(part.name for part in parts)}")
    try:
        keep = matching(conditions)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    found = grid((part for part in parts if not slices or part.name in slices), keep)
    if not found:
        raise click.UsageError("no cell of the grid has all these values; --list shows them")
    return {part.title: cells for part, cells in found.items()}


def _measured(
    groups: dict[str, list[Cell]], names: list[str], rounds: int, quick: bool, whole: bool, machine_name: str
) -> report.Report:
    present = [name for name in names if peers.installed(name)]
    threads = machine.cpus()
    room = machine.free_memory() // 2
    cells = [cell for own in groups.values() for cell in own]
    left_out = {str(cell): "too little free memory" for cell in cells if needed(cell) > room}
    taking_part = [peers.PEERS[name] for name in present]
    measured = [cell for cell in cells if str(cell) not in left_out]
    others = machine.Others()
    rows = measure.run(measured, taking_part, threads, rounds, _progress)
    used = others.share()
    minuend.set_num_threads(threads)
    facts = machine.describe(machine_name)
    if used is not None:
        facts["others"] = f"used {used:.1%} of the CPUs during the run"
    return report.Report(
        facts,
        peers.versions(present),
        report.by_group(groups, rows),
        limit.available(),
        left_out,
        [name for name in names if name not in present],
        startup.measure(5 if quick else 15) if whole else {},
        concurrency.measure(max(2, threads), 0.05 if quick else 0.3, 3 if quick else 9) if whole else [],
        quick,
        _doubts(used),
        rounds,
    )


def _quiet_now() -> float | None:
    """Return the share of the CPUs that others use in the next second."""
    others = machine.Others()
    time.sleep(1)
    return others.share()


def _doubts(used: float | None) -> list[str]:
    """Return why a run may not be trusted, given the share of the CPUs that others use."""
    found = []
    if used is not None and used > machine.BUSY:
        found.append(f"others use {used:.0%} of the CPUs, more than {machine.BUSY:.0%}; end them and measure again")
    if machine.changed_tree():
        found.append("no commit holds the tree that is measured; commit the changes or measure a clean clone")
    return found


def _progress(done: int, count: int, cell: Cell) -> None:
    if sys.stderr.isatty():
        last = "" if done + 1 < count else "\r\033[K"
        print(f"\r\033[K{done + 1}/{count} {cell}", end=last, file=sys.stderr, flush=True)


def _write(found: report.Report, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (
        ("benchmarks.json", found.to_json() + "\n"),
        ("benchmarks.md", page.to_markdown(found, "benchmarks.svg")),
    ):
        beside = folder / f".{name}.{os.getpid()}"
        beside.write_text(content, "utf-8")
        beside.replace(folder / name)
    plot.draw(found, folder)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
