"""What is printed: pages, JSON and lines on standard output, messages on standard error."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from minuend.cli.about import tool
from minuend.errors import escaped, readable
from minuend.plain import as_json

if TYPE_CHECKING:
    from minuend.cli.pages.layout import Page


def show_json(data: Mapping[str, Any]) -> None:
    """Print what a verb reports as JSON: under ``version``, the format's, and ``tool``, which every one of them has."""
    click.echo(as_json({"version": 1, "tool": tool(), **data}), nl=False)


def show(shown: Page) -> None:
    """Print a page as wide as the terminal, in colours where it has them; 80 plain columns into a pipe."""
    from minuend.cli.pages.layout import NARROWEST, WIDTH, text

    terminal = sys.stdout.isatty()
    width = max(NARROWEST, shutil.get_terminal_size().columns) if terminal else WIDTH
    click.echo(text(shown, width, colour=terminal and _coloured()), nl=False, color=terminal)


def _coloured() -> bool:
    """Whether a terminal shows colours, and nobody has asked for none (no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in ("", "dumb")


def show_lines(lines: Iterable[str]) -> None:
    """Print lines, however long they are."""
    for line in lines:
        click.echo(escaped(line))


def complain(message: str) -> None:
    """Print the message of an error."""
    click.echo(f"{_word('error:', 'red')} {readable(message)}", err=True)


def warn(message: str) -> None:
    """Print a message that ends nothing."""
    click.echo(f"{_word('warning:', 'yellow')} {readable(message)}", err=True)


def _word(word: str, colour: str) -> str:
    return click.style(word, fg=colour) if sys.stderr.isatty() and _coloured() else word
