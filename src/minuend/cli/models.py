"""The verbs for models: ``check``, ``run``, ``convert`` and ``fix``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import click

from minuend import __version__
from minuend.cli.about import tool
from minuend.cli.arguments import path, size
from minuend.cli.printing import complain, show, show_lines
from minuend.cli.status import FINDINGS, FINE
from minuend.core.limits import MAX_BYTES
from minuend.core.policies import CONTRACTS, Contract
from minuend.errors import ConversionRefused


class _WithRuns(click.Command):
    """A command whose ``--run`` takes a value after ``=`` alone, and never the next argument."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, ``--run=all`` as the flag that it stands for."""
        end = args.index("--") if "--" in args else len(args)
        return super().parse_args(ctx, ["--run-all" if one == "--run=all" else one for one in args[:end]] + args[end:])


@click.command(cls=_WithRuns)
@click.argument("model", type=path, metavar="MODEL")
@click.option(
    "--target", "targets", metavar="T[,T…]", multiple=True, required=True, help="Runtimes, as openvino-cpu@2026.4."
)
@click.option("--hint", default="", metavar="H", help="The precision that runtimes are told: f32.")
@click.option(
    "--run",
    "runs",
    flag_value="unknown",
    help="Run MODEL, as it is, on the installed runtimes, and compare; ask for unknown subtractions alone, too; "
    "--run=all: for each.",
)
@click.option("--run-all", "runs", flag_value="all", hidden=True)
@click.option("--input", "inputs", metavar="NAME=FILE", multiple=True, help="An input for --run; once for each.")
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
@click.option("--sarif", type=path, metavar="FILE", help="Write the findings as SARIF 2.1.0 too, for code scanning.")
def check(
    *,
    model: str,
    targets: tuple[str, ...],
    hint: str,
    runs: str | None,
    inputs: tuple[str, ...],
    as_json: bool,
    sarif: str | None,
) -> int:
    """Judge every subtraction of MODEL (.onnx, OpenVINO .xml, DxDispatch .json) on runtimes.

    A target without a release is its newest that was measured; minuend targets lists all. Whatever is not ok on a
    target ends with status 1: other numbers, not implemented, invalid, and unknown.

    With --run the model is run as it is, and every output compared with the contract's own evaluation, on the given
    inputs or on made ones; where one differs, the first place where numbers leave is named.
    """
    from minuend.actions.checking import check as judge
    from minuend.actions.checking import check_hint, find_targets
    from minuend.actions.running import read_inputs
    from minuend.cli.pages.checking import check_page
    from minuend.models.opening import open_model
    from minuend.storage import goals
    from minuend.storage.writing import atomic

    chosen = find_targets(_items(targets))
    check_hint(hint, chosen)
    opened = open_model(model)
    arrays, files = read_inputs(inputs)
    if files and not runs:
        raise click.UsageError("--input is for --run; expected --run beside it")
    sources = [model, *opened.sources(), *files]
    if sarif is not None:
        goals.check([sarif], sources)
    report = replace(
        judge(opened, chosen, hint=hint, run="all" if runs == "all" else runs is not None, inputs=arrays or None),
        title=model,
    )
    if sarif is not None:
        with atomic(sarif, sources) as stream:
            stream.write(report.to_sarif(__version__, model).encode())
    show(report.to_json(tool()) if as_json else check_page(report))
    return FINE if report.ok else FINDINGS


@click.command()
@click.argument("model", type=path, metavar="MODEL")
@click.option("--input", "inputs", metavar="NAME=FILE", multiple=True, help="An input; once for each.")
@click.option(
    "-o", "--output", "folder", type=path, metavar="DIR", required=True, help="The folder that outputs are written to."
)
@click.option("--max-bytes", type=size, default=MAX_BYTES, show_default=True, help="Largest result allowed.")
@click.option(
    "--evaluator",
    metavar="NAME",
    help="What computes ONNX's other operators: onnxruntime, where installed, or reference.",
)
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
def run(
    *, model: str, inputs: tuple[str, ...], folder: str, max_bytes: int, evaluator: str | None, as_json: bool
) -> None:
    """Run MODEL (.onnx, OpenVINO .xml, DxDispatch .json) with every subtraction computed by its own version's rules.

    Inputs are .npy, .npz, .safetensors or .pb files. Each output becomes a .npy file in DIR (a .pb where NumPy has no
    such type), named as the output.
    """
    from minuend.actions.running import run_files
    from minuend.cli.pages.running import run_json, run_lines

    ran = run_files(model, inputs, folder, max_bytes=max_bytes, evaluator=evaluator)
    if as_json:
        show(run_json(ran))
    else:
        show_lines(run_lines(ran))


@click.command()
@click.argument("model", type=path, metavar="MODEL")
@click.option("--to", "goal", metavar="V", required=True, help="onnx:13, onnx, openvino, directml:5.1 …")
@click.option(
    "--target", metavar="T", help="With --to onnx: the runtime that has to load it; by default the installed."
)
@click.option("-o", "--output", "out", type=path, metavar="OUT", required=True, help="The file to write.")
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
def convert(*, model: str, goal: str, target: str | None, out: str, as_json: bool) -> int:
    """Convert MODEL to another version of its standard, or to another standard's format.

    What was changed and what was lost is listed. A model that cannot be converted whole is refused, each node with its
    reason: exit status 1, and nothing is written.
    """
    from minuend.actions.converting import convert as convert_model
    from minuend.actions.converting import goal_of
    from minuend.cli.pages.converting import convert_json, convert_lines
    from minuend.models.opening import check_goal, open_model

    dialect_name, _ = goal_of(goal)
    opened = open_model(model)
    check_goal(out, dialect_name, (model, *opened.sources()))
    try:
        converted = convert_model(opened, goal, target=target)
    except ConversionRefused as refused:
        return _refuse(refused, {"model": model, "to": goal} if as_json else None)
    converted.save(out)
    if as_json:
        show(convert_json(converted, model, goal, out))
    else:
        show_lines(convert_lines(converted, model, goal, out, os.path.getsize(out)))
    return FINE


@click.command()
@click.argument("model", type=path, metavar="MODEL")
@click.option("--target", metavar="T", required=True, help="A runtime, as openvino-cpu@2026.4, or an opset, onnx:13.")
@click.option("-o", "--output", "out", type=path, metavar="OUT", required=True, help="The file to write.")
@click.option("--overflow", type=click.Choice(CONTRACTS), default="wrap", show_default=True, help="For integers.")
@click.option("--partial", is_flag=True, help="Write what could be fixed although something was refused.")
@click.option(
    "--accept", metavar="CLASS[,…]", multiple=True, help="Take other numbers of these values: negative-zero, floats …"
)
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
def fix(
    *, model: str, target: str, out: str, overflow: Contract, partial: bool, accept: tuple[str, ...], as_json: bool
) -> int:
    """Rewrite the subtractions of MODEL (.onnx, OpenVINO .xml) that a target gets wrong, and nothing else.

    With an opset as the target the model is converted, and subtractions of types that the opset lacks are computed in
    types that it has. Where the runtime is installed, the fixed model is run on it and compared. What cannot be fixed
    is listed with the reason: exit status 1, and nothing is written without --partial.
    """
    from minuend.actions.fixing import fix as fix_model
    from minuend.cli.pages.fixing import fix_json, fix_lines
    from minuend.models.opening import check_goal, dialect_of, open_model

    opened = open_model(model)
    check_goal(out, dialect_of(opened), (model, *opened.sources()))
    try:
        fixed = fix_model(opened, target, overflow=overflow, accept=_items(accept))
    except ConversionRefused as refused:
        return _refuse(refused, {"version": 1, "model": model, "target": target} if as_json else None)
    written = out if not fixed.failed or (partial and fixed.touched) else ""
    if written:
        fixed.save(written)
    if as_json:
        show(fix_json(fixed, model, written))
    else:
        show_lines(fix_lines(fixed, model, written))
    return FINDINGS if fixed.failed else FINE


def _items(given: Iterable[str]) -> list[str]:
    """What an option names that may be given several times, and several each time, with commas between them."""
    return [name for text in given for name in text.split(",") if name]


def _refuse(refused: ConversionRefused, asked: Mapping[str, Any] | None) -> int:
    """Say that a model stays as it is, each node with its reason; in JSON too, with what was ``asked``."""
    from minuend.cli.pages.converting import refused_json

    if asked is not None:
        show(refused_json(refused, asked))
    complain(str(refused))
    return FINDINGS
