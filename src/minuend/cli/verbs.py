"""The group of verbs, whose help says each one's first sentence whole, and what a shell completes besides options."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click
from click.shell_completion import CompletionItem

_WHOLE = 10_000
"""Characters: longer than any sentence."""


class Verbs(click.Group):
    """A group that does not cut the sentences of its commands."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a row for each command."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, one.get_short_help_str(_WHOLE)) for name, one in commands if one is not None and not one.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _runtimes() -> Sequence[str]:
    from minuend.runtimes.adapting import adapters

    return list(adapters())


def _targets() -> Sequence[str]:
    from minuend.runtimes import targets

    return [*_runtimes(), *targets.names()]


def _dialects() -> Sequence[str]:
    from minuend.standards.dialects import dialects

    return list(dialects())


_NAMES: dict[str, Callable[[], Sequence[str]]] = {"targets": _targets, "runtimes": _runtimes, "dialects": _dialects}

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completing(kind: str) -> Complete:
    """Return what completes names: of ``"targets"``, several with commas between them, ``"runtimes"``, ``"dialects"``.

    >>> [item.value for item in completing("targets")(None, None, "ort,openvino-cpu@2023.0")]
    ['ort,openvino-cpu@2023.0.0']
    """

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, begun = incomplete.rpartition(",")
        return [CompletionItem(f"{before}{comma}{name}") for name in _NAMES[kind]() if name.startswith(begun)]

    return complete
