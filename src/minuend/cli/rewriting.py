"""The command ``fix``."""

from __future__ import annotations

from typing import Any

import click

from minuend.cli.arguments import path
from minuend.core.policies import CONTRACTS
from minuend.errors import escaped, readable


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
    *, model: str, target: str, out: str, overflow: Any, partial: bool, accept: tuple[str, ...], as_json: bool
) -> int:
    """Rewrite the subtractions of MODEL (.onnx, OpenVINO .xml) that a target gets wrong, and nothing else.

    With an opset as the target the model is converted, and subtractions of types that the opset lacks are computed in
    types that it has. Where the runtime is installed, the fixed model is run on it and compared. What cannot be fixed
    is listed with the reason: exit status 1, and nothing is written without --partial.
    """
    from minuend import plain
    from minuend.actions.fixing import fix as fix_model
    from minuend.cli import pages
    from minuend.errors import ConversionRefused
    from minuend.models.opening import check_goal, dialect_of, open_model

    opened = open_model(model)
    check_goal(out, dialect_of(opened), (model, *opened.sources()))
    accepted = [name for given in accept for name in given.split(",") if name]
    try:
        fixed = fix_model(opened, target, overflow=overflow, accept=accepted)
    except ConversionRefused as refused:
        if as_json:
            click.echo(
                plain.as_json({"version": 1, "model": model, "target": target, "refused": refused.nodes}), nl=False
            )
        click.echo(f"error: {readable(str(refused))}", err=True)
        return 1
    failed = bool(fixed.refused) or (fixed.comparison is not None and fixed.comparison.failed)
    written = out if not failed or (partial and fixed.touched) else ""
    if written:
        fixed.save(written)
    if as_json:
        click.echo(pages.fix_json(fixed, model, written), nl=False)
    else:
        for line in pages.fix_lines(fixed, model, written):
            click.echo(escaped(line))
    return 1 if failed else 0
