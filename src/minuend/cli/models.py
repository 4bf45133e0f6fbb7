"""The verbs for models: ``run``, ``convert`` and ``fix``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

import click

from minuend.child import SECONDS, Limits
from minuend.cli import options
from minuend.cli.arguments import files, items, path, size
from minuend.cli.options import Known
from minuend.cli.printing import complain, note, report, report_lines, show, show_json
from minuend.cli.status import FINDINGS, FINE
from minuend.cli.verbs import Verb
from minuend.core.limits import MAX_BYTES
from minuend.core.policies import CONTRACTS, Contract
from minuend.errors import ConversionRefused, FileFormatError


@click.command(
    cls=Verb,
    examples=("run model.onnx --input x=x.npy -o out", "run model.json -o out"),
    page="docs/models.md",
)
@click.argument("model", type=path, metavar="MODEL")
@options.inputs("An input; once for each.")
@options.output("DIR", "The folder that outputs are written to.")
@click.option("--max-bytes", type=size, default=MAX_BYTES, show_default=True, help="Largest result allowed.")
@click.option(
    "--evaluator",
    metavar="NAME",
    help="What computes ONNX's other operators: onnxruntime, where installed, or reference.",
)
@options.limits(SECONDS)
@options.as_json
def run(
    *,
    model: str,
    inputs: tuple[str, ...],
    out: str,
    max_bytes: int,
    evaluator: str | None,
    limits: Limits,
    as_json: bool,
) -> None:
    """Run MODEL (.onnx, OpenVINO .xml, DxDispatch .json) with every subtraction computed by its own version's rules.

    Inputs are .npy, .npz, .safetensors or .pb files. Each output becomes a .npy file in DIR (a .pb where NumPy has no
    such type), named as the output.
    """
    from minuend.cli.pages.running import run_json, run_lines
    from minuend.models.running import run_files

    ran = run_files(model, inputs, out, max_bytes=max_bytes, evaluator=evaluator, limits=limits)
    for line in ran.notes:
        note(line)
    report_lines(as_json, lambda: run_json(ran), lambda: run_lines(ran))


@click.command(
    cls=Verb,
    examples=("convert model.onnx --to onnx:13 -o older.onnx", "convert model.onnx --to openvino -o model.xml"),
    page="docs/conversion.md",
)
@click.argument("model", type=path, metavar="MODEL")
@click.option("--to", "version", metavar="V", required=True, help="onnx:13, onnx, openvino, directml:5.1 …")
@options.target("With --to onnx: the runtime that has to load it; by default the installed.")
@options.output("OUT", "The file to write.")
@options.as_json
def convert(*, model: str, version: str, target: str | None, out: str, as_json: bool) -> int:
    """Convert MODEL to another version of its standard, or to another standard's format.

    What was changed and what was lost is listed. A model that cannot be converted whole is refused, each node with its
    reason: exit status 1, and nothing is written.
    """
    from minuend.cli.pages.converting import convert_json, convert_lines
    from minuend.models.converting import convert as convert_model
    from minuend.models.converting import version_of
    from minuend.models.opening import check_output_path, open_model

    home, _ = version_of(version)
    opened = open_model(model)
    check_output_path(out, home, (model, *opened.sources(), *files(target)))
    try:
        converted = convert_model(opened, version, target=target)
    except ConversionRefused as refused:
        return _refuse(refused, {"model": model, "to": version} if as_json else None)
    converted.save(out)
    report_lines(
        as_json,
        lambda: convert_json(converted, model, version, out),
        lambda: convert_lines(converted, model, version, out, os.path.getsize(out)),
    )
    return FINE


@click.command(
    cls=Verb,
    examples=(
        "fix model.onnx --target openvino-cpu -o fixed.onnx",
        "fix model.onnx --target onnx:13 --overflow saturate -o fixed.onnx",
    ),
    page="docs/models.md",
)
@click.argument("model", type=path, metavar="MODEL")
@options.target("A runtime, as openvino-cpu@2026.4, or an opset, onnx:13.", required=True)
@click.option("--exact", is_flag=True, help="Refuse a release that was not measured.")
@options.output("OUT", "The file to write.")
@click.option("--overflow", type=click.Choice(CONTRACTS), default="wrap", show_default=True, help="For integers.")
@click.option("--partial", is_flag=True, help="Write what could be fixed although something was refused.")
@click.option(
    "--accept", metavar="CLASS[,…]", multiple=True, help="Take other numbers of these values: negative-zero, floats …"
)
@options.hint
@options.tolerate
@options.known
@click.option("--no-run", is_flag=True, help="Do not run the fixed model, where the runtime is installed.")
@options.limits(SECONDS)
@options.as_json
def fix(
    *,
    model: str,
    target: str,
    exact: bool,
    out: str,
    overflow: Contract,
    partial: bool,
    accept: tuple[str, ...],
    hint: str | None,
    tolerate: tuple[str, ...],
    known: Known,
    no_run: bool,
    limits: Limits,
    as_json: bool,
) -> int:
    """Rewrite the subtractions of MODEL (.onnx, OpenVINO .xml) that a target gets wrong, and nothing else.

    With an opset as the target the model is converted, and subtractions of types that the opset lacks are computed in
    types that it has. Where the runtime is installed, the fixed model is run on it and compared. What cannot be fixed
    is listed with the reason: exit status 1, and nothing is written without --partial. Where results of the fixed model
    still differ, the exit status is 1 as well, and what differs is said before it is written.

    With --assume, and the same in minuend.toml, subtractions are judged as check judges them; what was assumed is said.
    """
    from minuend.cli.pages.fixing import Command, fix_json, fix_page, written_line
    from minuend.judging.gate import assumed_of_one, usual_hint, usual_tolerances
    from minuend.models.opening import check_output_path, open_model
    from minuend.rewriting.fixing import check_target
    from minuend.rewriting.fixing import fix as fix_model

    opened = open_model(model)
    configs = known.configs()
    assumed, notes, read = assumed_of_one(model, opened, known.assumed(), configs)
    try:
        check_output_path(out, opened.dialect, (model, *opened.sources(), *read, *files(target)))
    except FileFormatError:
        check_target(opened, target, exact=exact)  # a suffix of another format is no mistake of its own there
        raise
    try:
        fixed = fix_model(
            opened,
            target,
            overflow=overflow,
            accept=items(accept),
            exact=exact,
            assume=assumed,
            hint=usual_hint(configs, target) if hint is None else hint,
            tolerate=tolerate or usual_tolerances(configs, model),
            run=not no_run,
            max_memory=limits.memory,
            max_seconds=limits.seconds,
        )
    except ConversionRefused as refused:
        return _refuse(refused, {"model": model, "target": target} if as_json else None)
    fixed = replace(fixed, notes=(*fixed.notes, *notes))
    written = out if not fixed.failed or (partial and fixed.touched) else ""
    if not as_json:
        values = {"--overflow": [overflow] if overflow != "wrap" else [], "--accept": accept, "--tolerate": tolerate}
        given = [word for name, some in values.items() for one in some for word in (name, one)]
        given += [*(["--partial"] if partial else []), *(["--no-run"] if no_run else [])]
        show(fix_page(fixed, Command(model, out, [*known.written, *given])))
    if written:
        fixed.save(written)
    report(as_json, lambda: fix_json(fixed, model, written), lambda: [written_line(fixed, model, written)])
    return FINDINGS if fixed.failed or fixed.differs else FINE


def _refuse(refused: ConversionRefused, command: Mapping[str, object] | None) -> int:
    """Say that a model stays as it is, each node with its reason; in JSON too, with what the ``command`` said."""
    from minuend.cli.pages.converting import refused_json

    if command is not None:
        show_json(refused_json(refused, command))
    complain(str(refused))
    return FINDINGS
