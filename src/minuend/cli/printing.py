"""What is printed: pages, JSON and lines on standard output, messages on standard error."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from minuend.errors import escaped, readable

if TYPE_CHECKING:
    from minuend.cli.pages.layout import Page


def show(shown: Page | str) -> None:
    """Print a page as wide as the terminal, 80 columns into a pipe; JSON as it is."""
    if isinstance(shown, str):
        click.echo(shown, nl=False)
        return
    from minuend.cli.pages.layout import WIDTH, text

    width = max(WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else WIDTH
    click.echo(text(shown, width), nl=False)


def show_lines(lines: Iterable[str]) -> None:
    """Print lines, however long they are."""
    for line in lines:
        click.echo(escaped(line))


def complain(message: str) -> None:
    """Print the message of an error."""
    click.echo(f"error: {readable(message)}", err=True)


def warn(message: str) -> None:
    """Print a message that ends nothing."""
    click.echo(f"warning: {readable(message)}", err=True)
