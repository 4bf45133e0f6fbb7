"""What is printed: pages, JSON and lines on standard output, messages on standard error."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TextIO

import click

from minuend.cli.about import tool
from minuend.errors import escaped, listed, readable
from minuend.plain import as_json
from minuend.written import is_output_on_standard_output, take_replaced

if TYPE_CHECKING:
    from minuend.cli.pages.layout import Page


COLOURS = ("auto", "always", "never")
"""When verdicts and errors have colours: in a terminal, always, never."""

SETTINGS: dict[str, object] = {}
"""How the command line wants things printed: ``quiet`` and ``color``, where it says so."""


def show_json(data: Mapping[str, object]) -> None:
    """Print what a verb reports as JSON: under ``version``, the format's, and ``tool``, which every one of them has;
    under ``replaced`` the outputs that existed.
    """
    found = take_replaced()
    replaced = {"replaced": found} if found else {}
    click.echo(as_json({"version": 1, "tool": tool(), **data, **replaced}), _page_stream(), nl=False)


def show(shown: Page) -> None:
    """Print a page as wide as the terminal, or as COLUMNS says; 80 columns into a pipe."""
    from minuend.cli.pages.layout import NARROWEST, WIDTH, text

    shown = [*shown, *_replaced()]
    if SETTINGS.get("quiet"):
        return
    stream = _page_stream()
    wide = stream.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    width = max(NARROWEST, shutil.get_terminal_size().columns) if wide else WIDTH
    colour = _coloured(stream)
    click.echo(text(shown, width, colour=colour), stream, nl=False, color=colour)


def _page_stream() -> TextIO:
    """Standard output, but where the output itself went there: standard error."""
    return sys.stderr if is_output_on_standard_output() else sys.stdout


def _coloured(stream: TextIO) -> bool:
    """Whether a stream gets colours: by --color, else NO_COLOR (no-color.org), FORCE_COLOR, or what it is."""
    stated = SETTINGS.get("color", "auto")
    if stated != "auto" or os.environ.get("NO_COLOR"):
        return bool(stated == "always")
    if os.environ.get("FORCE_COLOR", "0") != "0":
        return True
    return stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def report(as_json: bool, data: Callable[[], Mapping[str, object]], shown: Callable[[], Page]) -> None:
    """Print what a verb found: its data as JSON, or its page."""
    if as_json:
        show_json(data())
    else:
        show(shown())


def report_lines(as_json: bool, data: Callable[[], Mapping[str, object]], lines: Callable[[], Iterable[str]]) -> None:
    """Print what a verb did: its data as JSON, or its lines, however long they are."""
    if as_json:
        show_json(data())
    else:
        show_lines(lines())


def show_lines(lines: Iterable[str]) -> None:
    """Print lines, however long they are."""
    for line in (*lines, *_replaced()):
        if not SETTINGS.get("quiet"):
            click.echo(escaped(line), _page_stream())


def _replaced() -> list[str]:
    """Say which outputs existed."""
    found = take_replaced()
    return [f"{listed(found, 'and')} existed and {'was' if len(found) == 1 else 'were'} replaced"] if found else []


def complain(message: str) -> None:
    """Print the message of an error."""
    click.echo(f"{_word('error:', 'red')} {readable(message)}", err=True, color=_coloured(sys.stderr))


def warn(message: str) -> None:
    """Print a message that ends nothing."""
    if not SETTINGS.get("quiet"):
        click.echo(f"{_word('warning:', 'yellow')} {readable(message)}", err=True, color=_coloured(sys.stderr))


def note(message: str) -> None:
    """Print what a reader may want to know besides."""
    if not SETTINGS.get("quiet"):
        click.echo(f"{_word('note:', 'cyan')} {readable(message)}", err=True, color=_coloured(sys.stderr))


def _word(word: str, colour: str) -> str:
    return click.style(word, fg=colour) if _coloured(sys.stderr) else word
