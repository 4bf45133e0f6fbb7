"""Verbs and groups of them: their help, the options that all have, and what a shell completes besides options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from minuend.cli.printing import COLOURS, SETTINGS

_WHOLE = 10_000
"""Characters: longer than any sentence."""


class Verb(click.Command):
    """A verb: what every verb takes, and help that opens with examples and ends with its page.

    Args:
        examples: command lines, without the program's name. page: the page, as ``docs/gate.md``.
    """

    def __init__(self, *args: Any, examples: Sequence[str] = (), page: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self.params += common_options()
        self.examples, self.page = tuple(examples), page

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples above the text, and the page below it."""
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':{formatter.current_indent}}minuend {example}\n")
        super().format_help_text(ctx, formatter)
        if self.page:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(f"More: {self.page}.")


class Verbs(Verb, click.Group):
    """A group whose verbs stand in sections, each with its whole sentence.

    Args:
        sections: titles, and the names of the verbs of each; those of none come last. Others are a verb's.
    """

    command_class = Verb

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[str]] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.sections = dict(sections or {})

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a row for each command."""
        left = {
            name: one for name in self.list_commands(ctx) if (one := self.get_command(ctx, name)) and not one.hidden
        }
        for title, names in self.sections.items():
            self._rows(formatter, title, {name: left.pop(name) for name in names})
        if left:
            self._rows(formatter, "Commands", left)

    def _rows(self, formatter: click.HelpFormatter, title: str, verbs: Mapping[str, click.Command]) -> None:
        with formatter.section(title):
            formatter.write_dl([(name, one.get_short_help_str(_WHOLE)) for name, one in verbs.items()])


def common_options() -> list[click.Parameter]:
    """Return the options that every verb has, which say how it prints."""

    def keep(ctx: click.Context, option: click.Parameter, value: Any) -> None:
        if value and not ctx.resilient_parsing:
            SETTINGS[str(option.name)] = value

    quiet = click.Option(
        ["-q", "--quiet"], is_flag=True, expose_value=False, callback=keep, help="Print errors and --json alone."
    )
    colour = click.Option(
        ["--color"], type=click.Choice(COLOURS), expose_value=False, callback=keep, help="Colours (default: auto)."
    )
    return [quiet, colour]


def _runtimes() -> Sequence[str]:
    from minuend.runtimes.registry import adapters

    return list(adapters())


def _targets() -> Sequence[str]:
    from minuend.runtimes import targets

    return [*_runtimes(), *targets.names()]


def _dialects() -> Sequence[str]:
    from minuend.standards.dialects import dialects

    return list(dialects())


def _versions() -> Sequence[str]:
    from minuend.standards.dialects import dialects

    return [*dialects(), *(row.key for home in dialects().values() for row in home.rows)]


def _operators() -> Sequence[str]:
    from minuend.operators import OPERATORS

    return list(OPERATORS)


_NAMES: dict[str, Callable[[], Sequence[str]]] = {
    "targets": _targets, "runtimes": _runtimes, "dialects": _dialects, "versions": _versions, "operators": _operators,
}  # fmt: skip

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completing(kind: str) -> Complete:
    """Return what completes names: of ``"targets"``, ``"runtimes"``, ``"dialects"``, ``"versions"``, ``"operators"``.

    Several may stand with commas between them. Versions are offered once their dialect's name has its colon.

    >>> [item.value for item in completing("targets")(None, None, "ort,openvino-cpu@2023.0")]
    ['ort,openvino-cpu@2023.0.0']
    >>> [[item.value for item in completing("versions")(None, None, one)] for one in ("op", "openvino:")]
    [['openvino'], ['openvino:1', 'openvino:Add-1', 'openvino:Negative-1']]
    """

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, begun = incomplete.rpartition(",")
        found = [name for name in _NAMES[kind]() if name.startswith(begun) and (":" in begun or ":" not in name)]
        return [CompletionItem(f"{before}{comma}{name}") for name in found]

    return complete
