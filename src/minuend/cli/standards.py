"""The verbs for versions: ``spec`` and ``diff``."""

from __future__ import annotations

import click

from minuend.cli.languages import in_a_language, language_of
from minuend.cli.printing import show, show_json, show_lines, warn
from minuend.cli.verbs import Verb, completing
from minuend.errors import SpecError
from minuend.language import Language
from minuend.standards.dialects import dialect, dialects
from minuend.standards.version import OpVersion
from minuend.standards.version import diff as changes_between


@click.command(
    cls=Verb,
    examples=("spec", "spec onnx:14 --lang zh_TW"),
    page="docs/standards.md",
)
@click.argument("version", metavar="[DIALECT[:V]]", required=False, shell_complete=completing("dialects"))
@click.option("--html", is_flag=True, help="Open the page of the built site, and print where it lies.")
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
@in_a_language
def spec(version: str | None, html: bool, as_json: bool, lang: str | None) -> None:
    """Show what versions of subtraction allow: all of them, a dialect's, or one.

    V is an ONNX opset, OpenVINO's 1, or a DirectML feature level such as 4.1.
    """
    from minuend.cli.pages.standards import matrix_page, spec_json, spec_page

    language = language_of(lang)
    op = _resolve(version) if version is not None and ":" in version else None
    homes = tuple(dialects().values()) if version is None or op else (dialect(version),)
    if html:
        _open(op, version, language)
    elif as_json:
        show_json(spec_json([op] if op else [version for home in homes for version in home.versions]))
    else:
        show(spec_page(op, language) if op else matrix_page(homes, language))


def _open(op: OpVersion | None, version: str | None, language: Language) -> None:
    from minuend.cli.site import page
    from minuend.cli.site import show as show_page

    newest = dialect(version).versions[-1] if version is not None and op is None else op
    name = "matrix" if newest is None else f"operators/{newest.dialect}-{newest.version}"
    found = page(name, language.name)
    show_page(found)
    show_lines([str(found)])


@click.command(
    cls=Verb,
    examples=("diff onnx:6 onnx:7", "diff directml:2.1 directml:4.1 --json"),
    page="docs/standards.md",
)
@click.argument("old", metavar="DIALECT:V", shell_complete=completing("dialects"))
@click.argument("new", metavar="DIALECT:V", shell_complete=completing("dialects"))
@click.option("--json", "as_json", is_flag=True, help="Report in JSON.")
@in_a_language
def diff(old: str, new: str, as_json: bool, lang: str | None) -> None:
    """Show what changed from one version of a dialect to another."""
    from minuend.cli.pages.standards import diff_json, diff_page

    language = language_of(lang)
    was, now = _resolve(old), _resolve(new)
    if was.dialect != now.dialect:
        raise SpecError(
            "dialect", f"{old} and {new} are of two dialects; expected two versions of one (see minuend spec)"
        )
    changes = changes_between(was, now)
    if as_json:
        show_json(diff_json(was, now, changes))
    else:
        show(diff_page(was, now, changes, language))


def _resolve(text: str) -> OpVersion:
    name, colon, version = text.partition(":")
    found = dialect(name).resolve(version if colon else None)
    if colon and (why := dialect(name).beyond(version)):
        warn(f"{why}; this is {found.operator}-{found.version}, the newest of those that are")
    return found
