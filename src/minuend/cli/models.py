"""The commands that take models: ``run`` and ``convert``."""

from __future__ import annotations

import os
from typing import Any

import click

from minuend.cli.arguments import path, size
from minuend.core.limits import MAX_BYTES
from minuend.errors import escaped, readable


@click.command()
@click.argument("model", type=path, metavar="MODEL")
@click.option("--input", "inputs", metavar="NAME=FILE", multiple=True, help="An input; once for each.")
@click.option(
    "-o", "--output", "folder", type=path, metavar="DIR", required=True, help="The folder that outputs are written to."
)
@click.option("--max-bytes", type=size, default=MAX_BYTES, show_default=True, help="Largest result allowed.")
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
def run(*, model: str, inputs: tuple[str, ...], folder: str, max_bytes: int, as_json: bool) -> None:
    """Run MODEL (.onnx, OpenVINO .xml, DxDispatch .json) with every subtraction computed by its own version's rules.

    Inputs are .npy, .npz, .safetensors or .pb files. Each output becomes a .npy file in DIR (a .pb where NumPy has no
    such type), named as the output.
    """
    from minuend import plain
    from minuend.actions.running import described, run_files

    ran = run_files(model, inputs, folder, max_bytes=max_bytes)
    if as_json:
        outputs = [{"name": o.name, "dtype": o.element, "shape": list(o.shape), "path": o.path} for o in ran.outputs]
        click.echo(plain.as_json({"model": ran.model, "outputs": outputs, "printed": ran.printed}), nl=False)
        return
    for line in (*ran.printed, *map(described, ran.outputs)):
        click.echo(escaped(line))


@click.command()
@click.argument("model", type=path, metavar="MODEL")
@click.option("--to", "goal", metavar="V", required=True, help="onnx:13, onnx, openvino, directml:5.1 …")
@click.option("-o", "--output", "out", type=path, metavar="OUT", required=True, help="The file to write.")
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
def convert(*, model: str, goal: str, out: str, as_json: bool) -> int:
    """Convert MODEL to another version of its standard, or to another standard's format.

    What was changed and what was lost is listed. A model that cannot be converted whole is refused, each node with its
    reason: exit status 1, and nothing is written.
    """
    from minuend import plain
    from minuend.actions.converting import convert as convert_model
    from minuend.actions.converting import goal_of
    from minuend.errors import ConversionRefused
    from minuend.models.opening import check_goal, open_model

    dialect_name, _ = goal_of(goal)
    opened = open_model(model)
    check_goal(out, dialect_name, (model, *opened.sources()))
    try:
        converted = convert_model(opened, goal)
    except ConversionRefused as refused:
        if as_json:
            click.echo(plain.as_json({"model": model, "to": goal, "refused": refused.nodes}), nl=False)
        click.echo(f"error: {readable(str(refused))}", err=True)
        return 1
    converted.save(out)
    report: dict[str, Any] = {"model": model, "to": goal, "path": out}
    report |= {"changes": converted.changes, "losses": converted.losses}
    if as_json:
        click.echo(plain.as_json(report), nl=False)
        return 0
    click.echo(escaped(f"{model} → {out} ({goal}, {os.path.getsize(out):,} bytes)"))
    for sign, title, lines in (("~", "changed", converted.changes), ("-", "lost", converted.losses)):
        for line in lines:
            click.echo(escaped(f"{sign} {title}: {line}"))
    return 0
