"""The verb that is a gate: ``check``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from minuend import __version__
from minuend.child import SECONDS, Limits
from minuend.cli import options
from minuend.cli.arguments import files as named_files
from minuend.cli.arguments import items, output, path
from minuend.cli.options import Known
from minuend.cli.printing import note, report
from minuend.cli.progress import Bar
from minuend.cli.status import BAD_USE, DEFECT, FINDINGS, FINE
from minuend.cli.verbs import Verb
from minuend.language import Language
from minuend.text import shell_words
from minuend.written import note_extended

if TYPE_CHECKING:
    from minuend.judging.options import Judging
    from minuend.models.occurrences import Array
    from minuend.models.opening import Model
    from minuend.runtimes.report import Report


class _WithRuns(Verb):
    """A command whose ``--run`` takes a value after ``=`` alone, and never the next argument."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, ``--run=all`` as the flag that it stands for."""
        end = args.index("--") if "--" in args else len(args)
        return super().parse_args(ctx, ["--run-all" if one == "--run=all" else one for one in args[:end]] + args[end:])


@click.command(
    cls=_WithRuns,
    examples=(
        "check model.onnx --target onnxruntime-cpu,openvino-cpu",
        "check exports/ --target ov@installed --run --sarif found.sarif",
    ),
    page="docs/models.md",
)
@click.argument("models", type=path, metavar="MODEL…", nargs=-1)
@options.targets("T[,T…]", "Runtimes, as ov@2026.4, or measured files.")
@click.option("--exact", is_flag=True, help="Refuse releases that were not measured.")
@click.option("--strict", is_flag=True, help="What documents do not say is unknown.")
@click.option("--cpu", metavar="SET", help="Its newest instruction set, as avx2.")
@options.hint
@click.option("--fail-on", metavar="V[,V…]", multiple=True, help="Verdicts that end in status 1.")
@options.tolerate
@options.operator
@options.known
@click.option("--write-baseline", is_flag=True, help="Accept the findings of today.")
@click.option(
    "--run",
    "runs",
    flag_value="unknown",
    help="Run each MODEL on the installed runtimes, and compare every output; --run=all asks each subtraction.",
)
@click.option("--run-all", "runs", flag_value="all", hidden=True)
@options.inputs("An input for --run; once for each.")
@options.limits(SECONDS)
@click.option("-v", "--verbose", is_flag=True, help="Show every node, and all that is known of it.")
@options.as_json
@click.option("--junit", type=output, metavar="FILE", help="Write JUnit XML too.")
@click.option("--sarif", type=output, metavar="FILE", help="Write SARIF 2.1.0 too.")
@options.in_a_language
def check(
    *,
    models: tuple[str, ...],
    names: tuple[str, ...],
    exact: bool,
    strict: bool,
    cpu: str | None,
    hint: str | None,
    fail_on: tuple[str, ...],
    tolerate: tuple[str, ...],
    operator: str,
    known: Known,
    write_baseline: bool,
    runs: str | None,
    inputs: tuple[str, ...],
    limits: Limits,
    verbose: bool,
    as_json: bool,
    junit: str | None,
    sarif: str | None,
    language: Language,
) -> int:
    """Judge every subtraction, or another operator, of models (.onnx, OpenVINO .xml, DxDispatch .json) on runtimes.

    MODEL is a file, a folder or a glob. A target without a release is the newest that was measured, @installed the one
    that is installed here. What is left out is what minuend.toml in this folder says. Whatever is not ok on a target
    ends with status 1.
    """
    from minuend.cli.pages.checking import gate_page
    from minuend.cli.requested import Requested
    from minuend.judging.gate import baseline_files, check_models, with_baseline
    from minuend.judging.options import Judging, Runs, installed_otherwise, verdicts_of
    from minuend.models.searching import search
    from minuend.operators import by_name
    from minuend.runtimes.report import FINDINGS as EVERY
    from minuend.runtimes.tolerance import Tolerance, Tolerances

    configs = known.configs(writes=write_baseline)
    requested = Requested.of(configs.whole(), models, items(names) if names else None, hint, cpu)
    usual = requested.verdicts or EVERY
    targets = requested.find_targets(exact=exact, strict=strict)
    judging = Judging(
        targets=targets,
        operators=(by_name(operator),),
        hint=requested.hint_of(targets),
        assumed=known.assumed(),
        limits=limits,
        fail_on=verdicts_of(items(fail_on)) if fail_on else usual,
        tolerate=Tolerances(Tolerance.of(tolerate)) if tolerate else None,
    )
    for line in installed_otherwise(targets):
        note(line)
    if inputs and not runs:
        raise click.UsageError("--input is for --run; expected --run beside it")
    lost: list[OSError] = []
    paths = search(requested.models, _not_fetched, lost.append)
    arrays, files, said = _read_inputs(inputs)
    for line in said:
        note(line)
    files = [*files, *named_files(*requested.targets, requested.path)]
    baselines = sorted({configs.path_for(path) for path in paths}) if write_baseline else []
    if outputs := [*baselines, *(out for out in (junit, sarif) if out is not None)]:
        from minuend.files.transaction import output_paths  # slow, as are those below

        output_paths.check(outputs, [*paths, *(one for one in files if one not in baselines)])
    if runs:
        judging = replace(judging, runs=Runs(every=runs == "all", inputs=arrays or None))
    with Bar("checking") as bar:
        gate = check_models(paths, judging, configs, bar, _advised, lost)
    with contextlib.ExitStack() as stack:
        texts: dict[str, str] = {}
        if write_baseline:
            from minuend.files.transaction.file_lock import exclusive

            for one in sorted(baseline_files(gate, configs)):
                stack.enter_context(exclusive(one))
            gate, texts = with_baseline(gate, configs.read_again())
        gate = gate.with_options(shell_words([*known.written, *_given(hint, tolerate, operator)]))
        written = [*texts.items()]
        written += [] if junit is None else [(junit, gate.to_junit())]
        written += [] if sarif is None else [(sarif, gate.to_sarif(__version__))]
        if written:
            from minuend.files.transaction.writing import together

            sources = [one for one in (*gate.sources, *files) if one not in texts]
            with together([path for path, _ in written], sources) as streams:
                for (_, text), stream in zip(written, streams, strict=True):
                    stream.write(text.encode(errors="backslashreplace"))
        note_extended(texts)
    report(as_json, gate.to_json, lambda: gate_page(gate, language, whole=verbose))
    from minuend.cli.annotations import annotate

    annotate(gate)
    if gate.unread:
        return DEFECT if any(one.defect for one in gate.unread) else BAD_USE
    return FINE if gate.ok else FINDINGS


def _not_fetched(path: str) -> None:
    note(f"{path} is a pointer of Git LFS and not judged; where it is a model, git lfs pull fetches it")


def _given(hint: str | None, tolerate: Sequence[str], operator: str) -> Iterator[str]:
    """The options of a command line that those of its report have as well."""
    from minuend.operators import SUBTRACT

    yield from ("--hint", hint) if hint else ()
    yield from (word for one in tolerate for word in ("--tolerate", one))
    yield from ("--operator", operator) if operator != SUBTRACT.name else ()


def _read_inputs(inputs: Sequence[str]) -> tuple[dict[str, Array], list[str], tuple[str, ...]]:
    if not inputs:
        return {}, [], ()
    from minuend.models.running import read_inputs  # slow

    return read_inputs(inputs)


def _advised(report: Report, model: Model, judging: Judging) -> Report:
    """See :func:`minuend.rewriting.advising.advised`, which has nothing to say where nothing was found."""
    if all(one.verdict == "ok" or one.tolerated is not None for one in report.findings):
        return report
    from minuend.rewriting.advising import advised  # slow

    return advised(report, model, judging)
