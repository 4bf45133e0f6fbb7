"""The verb that is a gate: ``check``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from minuend import __version__
from minuend.cli.arguments import items, path
from minuend.cli.printing import show, show_json
from minuend.cli.progress import Bar
from minuend.cli.status import BAD_USE, FINDINGS, FINE
from minuend.cli.verbs import completing

if TYPE_CHECKING:
    from minuend.actions.config import Configs


def assumptions(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what is known beyond a model."""
    for option in (
        click.option("--no-config", is_flag=True, help="Read no minuend.toml."),
        click.option("--config", type=path, metavar="FILE", help="Read FILE in place of the models' own minuend.toml."),
        click.option(
            "--assume",
            metavar="NAME=RANGE",
            multiple=True,
            help="What an input or a value holds, as positions=0..131071; open ends as 0.. or ..9; once for each.",
        ),
    ):
        verb = option(verb)
    return verb


def configs_of(config: str | None, no_config: bool, *, writes: bool = False) -> Configs:
    """Return the files that models have, or the one that is named."""
    from minuend.actions.config import Configs

    for option, given in (("--config", config is not None), ("--write-baseline", writes)):
        if no_config and given:
            raise click.UsageError(f"{option} and --no-config exclude each other")
    return Configs(config, used=not no_config, made=writes)


class _WithRuns(click.Command):
    """A command whose ``--run`` takes a value after ``=`` alone, and never the next argument."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, ``--run=all`` as the flag that it stands for."""
        end = args.index("--") if "--" in args else len(args)
        return super().parse_args(ctx, ["--run-all" if one == "--run=all" else one for one in args[:end]] + args[end:])


@click.command(cls=_WithRuns)
@click.argument("models", type=path, metavar="MODEL…", nargs=-1, required=True)
@click.option(
    "--target",
    "targets",
    metavar="T[,T…]",
    shell_complete=completing("targets"),
    multiple=True,
    required=True,
    help="Runtimes, as openvino-cpu@2026.4, ort or ov@installed; or files of minuend measure.",
)
@click.option("--exact", is_flag=True, help="Refuse releases that nobody measured.")
@click.option("--strict", is_flag=True, help="Call unknown what a target's documents are silent about.")
@click.option("--hint", default="", metavar="H", help="The precision that runtimes are told: f32.")
@click.option(
    "--fail-on", metavar="V[,V…]", multiple=True, help="The verdicts that end in status 1; all but ok by default."
)
@assumptions
@click.option("--write-baseline", is_flag=True, help="Accept today's findings: write them to minuend.toml.")
@click.option(
    "--run",
    "runs",
    flag_value="unknown",
    help="Run each MODEL, as it is, on the installed runtimes, and compare; what is unknown is asked for by itself, "
    "with --run=all each subtraction.",
)
@click.option("--run-all", "runs", flag_value="all", hidden=True)
@click.option(
    "--input", "--inputs", "inputs", metavar="NAME=FILE", multiple=True, help="An input for --run; once for each."
)
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
@click.option("--junit", type=path, metavar="FILE", help="Write the findings as JUnit XML too, for test reports.")
@click.option("--sarif", type=path, metavar="FILE", help="Write the findings as SARIF 2.1.0 too, for code scanning.")
def check(
    *,
    models: tuple[str, ...],
    targets: tuple[str, ...],
    exact: bool,
    strict: bool,
    hint: str,
    fail_on: tuple[str, ...],
    assume: tuple[str, ...],
    config: str | None,
    no_config: bool,
    write_baseline: bool,
    runs: str | None,
    inputs: tuple[str, ...],
    as_json: bool,
    junit: str | None,
    sarif: str | None,
) -> int:
    """Judge every subtraction of models (.onnx, OpenVINO .xml, DxDispatch .json) on runtimes.

    MODEL is a file, a folder, which is searched with those in it, or a glob; quoted, a glob such as "exports/**/*.onnx"
    is expanded by this program. A model among several that cannot be read is an error of its own, with status 2; the
    others are checked all the same.

    A target without a release is its newest that was measured, @installed the release that is installed here; minuend
    targets lists all. A release that nobody measured is answered by those around it, which is said. Whatever is not ok
    on a target ends with status 1: different-numbers, not-implemented, invalid and unknown. With --fail-on only the
    verdicts that it names do, and the others are shown.

    What a model does not say, --assume does: the range of an input's or another value's elements, none of which is then
    NaN. The same stands in the file minuend.toml beside a model or above it, up to the folder with .git or the working
    directory: under [assume] for all models, under [[model]] for those that a glob names. An [[accept]] there, by
    model, node, target and verdict, and with a reason, accepts findings: they are shown, and do not count.
    --write-baseline writes an [[accept]] for every finding of today that counts, and leaves the rest of the file as it
    is.

    With --run the models are run as they are, and every output compared with the contract's own evaluation, on the
    given inputs or on made ones; where one differs, which counts as different-numbers, the first place where numbers
    leave is named, and the first subtraction with its operands. Inputs are for one model. Subtractions of which nothing
    is known are asked for by themselves, with --run=all each one, on operands from its ranges.

    docs/gate.md tells how to keep this in CI.
    """
    from minuend.actions.checking import check_hint, find_targets
    from minuend.actions.gate import check_models, verdicts_of, with_baseline
    from minuend.actions.running import read_inputs
    from minuend.cli.pages.checking import gate_page
    from minuend.models.ranges.assumed import parse
    from minuend.models.searching import search
    from minuend.runtimes.report import FINDINGS as EVERY
    from minuend.storage import goals
    from minuend.storage.writing import together

    chosen = find_targets(items(targets), exact=exact, strict=strict)
    check_hint(hint, chosen)
    counted = verdicts_of(items(fail_on)) if fail_on else EVERY
    assumed = parse(assume)
    configs = configs_of(config, no_config, writes=write_baseline)
    if inputs and not runs:
        raise click.UsageError("--input is for --run; expected --run beside it")
    paths = search(models)
    arrays, files = read_inputs(inputs)
    files = [*files, *(one for one in items(targets) if os.path.isfile(one))]
    goals.check([out for out in (junit, sarif) if out is not None], [*paths, *files])
    with Bar("checking") as bar:
        gate = check_models(
            paths,
            chosen,
            configs=configs,
            assume=assumed,
            fail_on=counted,
            hint=hint,
            run="all" if runs == "all" else runs is not None,
            inputs=arrays or None,
            progress=bar,
        )
    gate, texts = with_baseline(gate, configs) if write_baseline else (gate, {})
    written = [*texts.items()]
    written += [] if junit is None else [(junit, gate.to_junit())]
    written += [] if sarif is None else [(sarif, gate.to_sarif(__version__))]
    if written:
        sources = [one for one in (*gate.sources, *files) if one not in texts]
        with together([path for path, _ in written], sources) as streams:
            for (_, text), stream in zip(written, streams, strict=True):
                stream.write(text.encode(errors="backslashreplace"))
    if as_json:
        show_json(gate.to_json())
    else:
        show(gate_page(gate))
    return BAD_USE if gate.unread else FINE if gate.ok else FINDINGS
