"""The option ``--lang`` of verbs whose pages exist in several languages."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

import click

from minuend.language import Language, chosen

Command = TypeVar("Command", bound=Callable[..., object])


def in_a_language(command: Command) -> Command:
    """Give a verb ``--lang``; the environment says what the option does not."""
    return click.option(
        "--lang", metavar="LANG", help="en, or zh_TW for Traditional Chinese; else what LANG of the environment says."
    )(command)


def language_of(stated: str | None) -> Language:
    """Return the language that an option names, or else the environment.

    Raises:
        SpecError: no such language.
    """
    return Language(chosen(os.environ) if stated is None else stated)
