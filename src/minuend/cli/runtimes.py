"""The verbs for runtimes: ``prove``, ``vectors`` and ``targets``."""

from __future__ import annotations

import click

from minuend.cli.arguments import path
from minuend.cli.printing import show, show_json
from minuend.cli.progress import Bar
from minuend.cli.status import FINDINGS, FINE
from minuend.errors import shown
from minuend.text import whole_number


@click.command()
@click.argument("runtime")
@click.option("--quick", is_flag=True, help="Take the edges of 8-bit types in place of all 65,536 pairs.")
@click.option("--junit", type=path, metavar="FILE", help="Write a JUnit report.")
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
def prove(runtime: str, quick: bool, junit: str | None, as_json: bool) -> int:
    """Ask an installed runtime every case, and report where it deviates from the contract.

    Deviations that were measured of the same release are known; others, and known ones that are gone, end in status 1.
    """
    from minuend.cli.pages.proving import prove_page
    from minuend.runtimes.proving import prove as prove_runtime
    from minuend.storage import goals
    from minuend.storage.writing import atomic

    if junit is not None:
        goals.check([junit])
    with Bar("asking") as bar:
        report = prove_runtime(runtime, quick=quick, progress=bar)
    if junit is not None:
        with atomic(junit) as stream:
            stream.write(report.to_junit().encode())
    if as_json:
        show_json(report.plain())
    else:
        show(prove_page(report))
    return FINE if report.ok else FINDINGS


@click.command()
@click.option("--opset", "opsets", metavar="N,…", help="ONNX opsets; by default those that changed Sub.")
@click.option(
    "-o", "--output", "out", type=path, metavar="DIR", required=True, help="The folder to make; it must not exist."
)
def vectors(opsets: str | None, out: str) -> None:
    """Write test cases for ONNX runtimes, as folders that ONNX's own test runner reads."""
    from minuend.standards.abilities import ability, able

    try:
        chosen = None if opsets is None else [whole_number(part) for part in opsets.split(",")]
    except ValueError:
        raise click.BadParameter(f"{shown(opsets)}; expected opsets with commas between them, as 6,14") from None
    with Bar("writing") as bar:
        made = ability(next(able("vectors")), "vectors").write(out, chosen, progress=bar)
    show([f"{len(made)} test cases written to {out}"])


@click.command()
@click.option("--diff", "two", nargs=2, metavar="OLD NEW", help="Show what changed from one target to another.")
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
def targets(two: tuple[str, str] | None, as_json: bool) -> None:
    """List the runtimes whose behaviour is known, release by release, or compare two of them."""
    from minuend.cli.pages.targets import targets_diff_json, targets_diff_page, targets_json, targets_page
    from minuend.runtimes import targets as known

    if two is None:
        every = [known.find(name) for name in known.names()]
        if as_json:
            show_json(targets_json(every))
        else:
            show(targets_page(every))
        return
    old, new = map(known.find, two)
    changes = known.diff(old, new)
    if as_json:
        show_json(targets_diff_json(old, new, changes))
    else:
        show(targets_diff_page(old, new, changes))
