"""What arguments of the command line are, where a text alone would let pass what is none."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable

import click

from minuend.errors import shown
from minuend.text import whole_number


def path(text: str) -> str:
    """Return a path, which may or may not exist; bytes that are not UTF-8 are part of it as they are."""
    if not text:
        raise click.BadParameter("the path is empty")
    if "\0" in text:
        raise click.BadParameter(f"{shown(text)} holds a NUL character, which no path can")
    return text


def output(text: str) -> str:
    """Return the path of what is written; ``-`` is none, since other programs mean standard output by it."""
    if text == "-":
        raise click.BadParameter(
            "'-' is no file, and nothing is written to standard output under that name; expected a path (./- is a file "
            "of it)"
        )
    return path(text)


def size(text: str | int) -> int:
    """Return a number of bytes."""
    try:
        return text if isinstance(text, int) else whole_number(text, lowest=0)
    except ValueError:
        raise click.BadParameter(f"{shown(text)} is no number of bytes; expected a whole number from 0 on") from None


def bounded_size(text: str | int | None) -> int | None:
    """Return a number of bytes, ``None`` for ``none``: no limit."""
    return None if text is None or text == "none" else size(text)


def seconds(text: str | float | None) -> float | None:
    """Return a number of seconds, ``None`` for ``none``: no limit."""
    if text is None or text == "none":
        return None
    try:
        found = -1.0 if "_" in str(text) else float(text)
    except ValueError:
        found = -1.0
    if not 0 < found < math.inf:
        raise click.BadParameter(f"{shown(text)} is no number of seconds; expected one above 0, or none")
    return found


def number(text: str) -> int | float:
    """Return a number: a whole one as such, NaN and the infinities too."""
    from minuend.files.formats.missing import exact

    try:
        return exact(text)
    except ValueError:
        raise click.BadParameter(f"{shown(text)} is no number; expected one such as 0, -9999, 1e20 or nan") from None


def items(given: Iterable[str]) -> list[str]:
    """Return what an option names that may be given several times, and several each time, with commas between them."""
    return [name for text in given for name in text.split(",") if name]


def files(*given: str | None) -> list[str]:
    """Return those of what options name that are files, which no output replaces."""
    return [name for name in given if name is not None and os.path.isfile(name)]
