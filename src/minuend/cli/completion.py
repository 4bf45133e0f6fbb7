"""The verb ``completion``: what makes a shell complete verbs, options and the names of targets."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from minuend.cli.verbs import Verb

VARIABLE = "_MINUEND_COMPLETE"
"""The environment variable by which a shell asks how a command goes on."""

SHELLS = ("bash", "zsh", "fish")

_WHOLE_WORDS = """COMP_WORDBREAKS=${COMP_WORDBREAKS//[@:]/}
"""
"""To bash, @ and : end a word, and openvino-cpu@2026.4 would be three."""


@click.command(
    cls=Verb,
    examples=("completion bash", "completion fish | source"),
    page="docs/install.md",
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what makes SHELL complete verbs, options and targets.

    One line switches it on, in ~/.bashrc or ~/.zshrc: eval "$(minuend completion bash)"; in fish's config.fish:
    minuend completion fish | source
    """
    kind = get_completion_class(shell)
    assert kind is not None
    assert ctx.parent is not None
    click.echo(_WHOLE_WORDS if shell == "bash" else "", nl=False)
    click.echo(kind(ctx.parent.command, {}, "minuend", VARIABLE).source())
