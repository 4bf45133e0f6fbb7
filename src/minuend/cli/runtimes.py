"""The verbs for runtimes: ``prove``, ``measure``, ``vectors`` and ``targets``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import click

from minuend.child import CASE_SECONDS, Limits
from minuend.cli import options
from minuend.cli.arguments import files, items, path
from minuend.cli.printing import report, show, warn
from minuend.cli.progress import Bar
from minuend.cli.status import FINDINGS, FINE
from minuend.cli.verbs import Verb, Verbs, completing
from minuend.errors import MinuendError, shown
from minuend.text import whole_number


class Vectors(Protocol):
    """A dialect's ``vectors.py``."""

    def write(
        self, folder: str, opsets: Sequence[int] | None, *, progress: Callable[[int, int], None] | None
    ) -> Sequence[str]:
        """Write cases to a new folder, as files for other people's runners; return their names."""


@click.command(
    cls=Verb,
    examples=("prove onnxruntime-cpu", "prove openvino-cpu --all --junit report.xml"),
    page="docs/runtimes.md",
)
@click.argument("runtime", shell_complete=completing("runtimes"))
@options.target("What to compare with: a release of it, or a file of minuend measure.")
@click.option("--all", "everything", is_flag=True, help="Run every case; by default a sample of each kind.")
@click.option("--quick", is_flag=True, help="Take the edges of 8-bit types in place of all 65,536 pairs.")
@options.operator
@options.junit
@options.limits(CASE_SECONDS)
@options.as_json
def prove(
    runtime: str,
    target: str | None,
    everything: bool,
    quick: bool,
    operator: str,
    junit: str | None,
    limits: Limits,
    as_json: bool,
) -> int:
    """Query an installed runtime with cases of each kind, and report where it deviates from the contract.

    A kind is an element type, a relation of shapes and a choice of constants, and of patterns their class. What the
    sample leaves out --all runs, in minutes or, of some runtimes, an hour.

    Deviations that were measured of the same release are known; others, and known ones that are gone, end in status 1.
    A release that was not measured is compared with the nearest that was.
    """
    from minuend.cli.pages.proving import prove_page
    from minuend.files.transaction import output_paths
    from minuend.files.transaction.writing import atomic
    from minuend.runtimes import targets as known
    from minuend.runtimes.proving import prove as prove_runtime

    if junit is not None:
        output_paths.check([junit], files(target))
    expected = None if target is None else known.find(target, exact=True)
    with Bar("proving") as bar:
        found = prove_runtime(
            runtime,
            all=everything,
            quick=quick,
            operator=operator,
            known_target=expected,
            max_memory=limits.memory,
            max_seconds=limits.seconds,
            progress=bar,
        )
    if junit is not None:
        with atomic(junit, files(target)) as stream:
            stream.write(found.to_junit().encode())
    report(as_json, found.plain, lambda: prove_page(found))
    return FINE if found.ok else FINDINGS


@click.command(
    cls=Verb,
    examples=("measure onnxruntime-cpu -o mine.json", "measure tract --python env/bin/python --alone -o tract.json"),
    page="docs/runtimes.md",
)
@click.argument("runtime", shell_complete=completing("runtimes"))
@options.output("FILE", "The file to write.")
@click.option("--python", metavar="PYTHON", help="The Python whose release is measured; by default this one.")
@click.option("--isa", default="", metavar="SET", help="Let the runtime use no newer instruction set, as avx2.")
@click.option("--alone", is_flag=True, help="Leave out patterns with adjacent operators: minutes instead of an hour.")
@options.operator
@click.option(
    "--graphs",
    type=click.Choice(["all", "missing"]),
    help="Measure patterns with adjacent operators alone, all or what FILE lacks; the rest of FILE stays.",
)
@options.limits(CASE_SECONDS)
def measure(
    runtime: str,
    out: str,
    python: str | None,
    isa: str,
    alone: bool,
    operator: str,
    graphs: str | None,
    limits: Limits,
) -> None:
    """Measure what an installed runtime does, as a target's file.

    check, fix and prove take the FILE as a target, --target FILE; minuend targets add FILE keeps it for all of them.
    The file appears when all is measured. What is measured holds for this processor, and the file names it.
    """
    from minuend.files.transaction import output_paths
    from minuend.files.transaction.writing import atomic
    from minuend.operators import by_name
    from minuend.runtimes import measuring
    from minuend.runtimes import targets as known
    from minuend.runtimes.running import Runtime

    if alone and graphs:
        raise click.UsageError("--alone leaves out what --graphs asks; expected one of them")
    output_paths.check([out], files(python))
    before = known.read(out) if graphs else None
    with limits.applied(), Runtime(runtime, python, isa) as running, Bar("measuring") as bar:
        if before is None:
            found = measuring.measure(running, alone=alone, operator=by_name(operator), progress=bar)
        else:
            found = measuring.with_graphs(running, before, graphs or measuring.ALL, progress=bar)
    with atomic(out, files(python)) as stream:
        stream.write(known.dump(found).encode())
    table = found.table
    patterns = f", and {len(table.patterns):,} with an adjacent operator" if table.has_patterns else ""
    show([f"{found.name} on {found.cpu}: {len(table.nodes):,} cases{patterns} → {out}"])


@click.command(
    cls=Verb,
    examples=("vectors -o cases", "vectors --opset 6,14 -o cases"),
    page="docs/vectors.md",
)
@click.option("--opset", "opsets", metavar="N,…", help="ONNX opsets; by default those that changed Sub.")
@options.output("DIR", "The folder to make; it must not exist.")
def vectors(opsets: str | None, out: str) -> None:
    """Write test cases for ONNX runtimes, as folders that ONNX's own test runner reads."""
    try:
        chosen = None if opsets is None else [whole_number(part) for part in opsets.split(",")]
    except ValueError:
        raise click.BadParameter(f"{shown(opsets)}; expected opsets with commas between them, as 6,14") from None
    from minuend.standards.abilities import Ability

    abilities = Ability[Vectors]("vectors")
    with Bar("writing") as bar:
        made = abilities.required(next(abilities.homes())).write(out, chosen, progress=bar)
    show([f"{len(made)} test cases written to {out}"])


@click.group(
    cls=Verbs,
    invoke_without_command=True,
    subcommand_metavar="[add FILE | remove NAME]",
    examples=(
        "targets --matrix --target openvino-cpu,onnxruntime-cpu --dtype uint8",
        "targets --diff openvino-cpu@2025.0 openvino-cpu@2026.0",
    ),
    page="docs/runtimes.md",
)
@click.option("--diff", "two", nargs=2, metavar="OLD NEW", help="Show what changed from one target to another.")
@click.option("--matrix", is_flag=True, help="Show each release's verdict on each element type.")
@click.option("--dtype", "dtypes", metavar="TYPE[,…]", multiple=True, help="With --matrix: of these element types.")
@options.targets("T[,…]", "With --matrix: of these runtimes or releases.")
@options.as_json
@click.pass_context
def targets(
    ctx: click.Context,
    two: tuple[str, str] | None,
    matrix: bool,
    dtypes: tuple[str, ...],
    names: tuple[str, ...],
    as_json: bool,
) -> None:
    """List the runtimes whose behaviour is known, release by release, compare two, or show the matrix of all.

    Measured files that were added stand before those of packages and are shown as yours. They are kept in the folder
    MINUEND_TARGETS, or minuend/targets in XDG_DATA_HOME.
    """
    if ctx.invoked_subcommand is not None:
        return
    if (dtypes or names) and not matrix:
        raise click.UsageError("--dtype and --target choose what --matrix shows; expected it beside them")
    if matrix and two is not None:
        raise click.UsageError("--matrix and --diff are two pages; expected one of them")
    if matrix:
        _matrix(items(dtypes), items(names), as_json)
    elif two is not None:
        _diff(*two, as_json)
    else:
        _list(as_json)


def _list(as_json: bool) -> None:
    from minuend.cli.pages.targets import targets_json, targets_page
    from minuend.runtimes import registry, user_files
    from minuend.runtimes import targets as known

    every, wrong = [], list(registry.warnings())
    for name in known.names():
        try:
            every.append(known.find(name, exact=True))
        except MinuendError as error:
            wrong.append(str(error))
    own = user_files.files()
    report(as_json, lambda: targets_json(every, own, wrong), lambda: targets_page(every, own))
    for sentence in wrong:
        warn(sentence)


def _diff(first: str, second: str, as_json: bool) -> None:
    from minuend.cli.pages.targets import targets_diff_json, targets_diff_page
    from minuend.runtimes import targets as known

    old, new = (known.find(name, exact=True) for name in (first, second))
    changes = known.diff(old, new)
    report(as_json, lambda: targets_diff_json(old, new, changes), lambda: targets_diff_page(old, new, changes))


def _matrix(dtypes: list[str], chosen: list[str], as_json: bool) -> None:
    from minuend.cli.pages.matrix import matrix_json, matrix_page
    from minuend.runtimes.matrix import matrix

    cells = matrix(chosen, dtypes)
    report(as_json, lambda: matrix_json(cells), lambda: matrix_page(cells))


@targets.command(
    examples=("targets add mine.json", "targets add tract.json"),
    page="docs/runtimes.md",
)
@click.argument("file", type=path)
def add(file: str) -> None:
    """Check FILE, a file of minuend measure, and keep it: its target is then known to every command."""
    from minuend.runtimes import user_files

    found = user_files.add(file)
    show([f"{found.name} is yours now: {user_files.files()[found.name]}"])


@targets.command(
    examples=("targets remove openvino-cpu@2027.0", "targets remove tract@0.22"),
    page="docs/runtimes.md",
)
@click.argument("name", shell_complete=completing("targets"))
def remove(name: str) -> None:
    """Forget a target that was added."""
    from minuend.runtimes import user_files

    show([f"removed {user_files.remove(name)}"])
