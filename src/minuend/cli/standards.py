"""The verbs for versions: ``spec`` and ``diff``."""

from __future__ import annotations

import click

from minuend.cli.printing import show, show_json
from minuend.cli.verbs import completing
from minuend.errors import SpecError
from minuend.standards.dialects import dialect, dialects
from minuend.standards.version import OpVersion
from minuend.standards.version import diff as changes_between


@click.command()
@click.argument("version", metavar="[DIALECT[:V]]", required=False, shell_complete=completing("dialects"))
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
def spec(version: str | None, as_json: bool) -> None:
    """Show what versions of subtraction allow: all of them, a dialect's, or one.

    V is an ONNX opset, OpenVINO's 1, or a DirectML feature level such as 4.1.
    """
    from minuend.cli.pages.standards import matrix_page, spec_json, spec_page

    if version is not None and ":" in version:
        op = _resolve(version)
        if as_json:
            show_json(spec_json([op]))
        else:
            show(spec_page(op))
        return
    homes = tuple(dialects().values()) if version is None else (dialect(version),)
    if as_json:
        show_json(spec_json(version for home in homes for version in home.versions))
    else:
        show(matrix_page(homes))


@click.command()
@click.argument("old", metavar="DIALECT:V", shell_complete=completing("dialects"))
@click.argument("new", metavar="DIALECT:V", shell_complete=completing("dialects"))
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
def diff(old: str, new: str, as_json: bool) -> None:
    """Show what changed from one version of a dialect to another."""
    from minuend.cli.pages.standards import diff_json, diff_page

    was, now = _resolve(old), _resolve(new)
    if was.dialect != now.dialect:
        raise SpecError(
            "dialect", f"{old} and {new} are of two dialects; expected two versions of one (see minuend spec)"
        )
    changes = changes_between(was, now)
    if as_json:
        show_json(diff_json(was, now, changes))
    else:
        show(diff_page(was, now, changes))


def _resolve(text: str) -> OpVersion:
    name, colon, version = text.partition(":")
    return dialect(name).resolve(version if colon else None)
