"""The verbs for versions: ``spec`` and ``diff``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from minuend.cli import options
from minuend.cli.printing import report, show_lines, warn
from minuend.cli.verbs import Verb, completing
from minuend.errors import SpecError
from minuend.language import Language

if TYPE_CHECKING:
    from minuend.standards.version import OpVersion


@click.command(
    cls=Verb,
    examples=("spec onnx --operator add", "spec onnx:14 --lang zh_TW"),
    page="docs/standards.md",
)
@click.argument("version", metavar="[DIALECT[:V]]", required=False, shell_complete=completing("versions"))
@options.operator
@click.option("--html", is_flag=True, help="Open the page of the built site, and print where it lies.")
@options.as_json
@options.in_a_language
def spec(version: str | None, operator: str, html: bool, as_json: bool, language: Language) -> None:
    """Show what versions of an operator allow: all of them, a dialect's, or one.

    V is an ONNX opset, OpenVINO's 1, or a DirectML feature level such as 4.1; an operator may stand before it, as in
    onnx:Add-14.
    """
    from minuend.cli.pages.standards import matrix_page, spec_json, spec_page

    one = version is not None and ":" in version
    rows = (_resolve(version, operator),) if version is not None and one else _rows(version, operator)
    if html:
        _open(None if version is None else rows[-1], operator, language)
        return
    report(
        as_json,
        lambda: spec_json(rows),
        lambda: spec_page(rows[0], language) if one else matrix_page(rows, language),
    )


def _rows(home: str | None, operator: str) -> tuple[OpVersion, ...]:
    """An operator's versions in a dialect, or in every one that has it."""
    from minuend.operators import by_name
    from minuend.standards.dialects import dialect, dialects

    if home is not None:
        return dialect(home).versions(operator)
    name = by_name(operator).name
    return tuple(row for one in dialects().values() for row in one.operators.get(name, ()))


def _open(op: OpVersion | None, operator: str, language: Language) -> None:
    from minuend.cli.site import page, slug
    from minuend.cli.site import show as show_page
    from minuend.operators import SUBTRACT

    whole = "matrix" if operator == SUBTRACT.name else "operators/index"
    found = page(whole if op is None else f"operators/{slug(op)}", language.name)
    show_page(found)
    show_lines([str(found)])


@click.command(
    cls=Verb,
    examples=("diff onnx:Add-7 onnx:Add-13", "diff directml:2.1 directml:4.1 --json"),
    page="docs/standards.md",
)
@click.argument("old", metavar="DIALECT:V", shell_complete=completing("versions"))
@click.argument("new", metavar="DIALECT:V", shell_complete=completing("versions"))
@options.as_json
@options.in_a_language
def diff(old: str, new: str, as_json: bool, language: Language) -> None:
    """Show what changed from one version of an operator to another, in one dialect."""
    from minuend.cli.pages.standards import diff_json, diff_page
    from minuend.standards.version import diff as changes_between

    was, now = _resolve(old), _resolve(new)
    if was.dialect != now.dialect:
        raise SpecError(
            "dialect", f"{old} and {new} are of two dialects; expected two versions of one (see minuend spec)"
        )
    if was.computes is not now.computes:
        names = f"{was.short_name} and {now.short_name}"
        raise SpecError("operator", f"{old} and {new} are of two operators, {names}; expected two versions of one")
    changes = changes_between(was, now)
    report(as_json, lambda: diff_json(was, now, changes), lambda: diff_page(was, now, changes, language))


def _resolve(text: str, operator: str = "") -> OpVersion:
    """Return the version that a text names, of the operator that it names or of the one that is stated besides."""
    from minuend.operators import SUBTRACT
    from minuend.standards.dialects import split_version

    operator = operator or SUBTRACT.name
    home, named, version = split_version(text)
    if named == SUBTRACT.name:  # it names none
        named = operator
    elif operator != SUBTRACT.name and home.versions(named) is not home.versions(operator):
        raise SpecError("operator", f"{text} is not a version of {operator}; leave --operator or {named} out")
    found = home.resolve(version, named)
    if version is not None and (why := home.beyond(version)):
        warn(f"{why}; this is {found.operator}-{found.version}, the newest of those that are")
    return found
