"""Options that several verbs have, each said once; those of one concept reach a verb as one argument."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import click

from minuend.child import MEMORY, Limits
from minuend.cli.arguments import bounded_size, path, seconds
from minuend.cli.arguments import output as output_path
from minuend.cli.verbs import completing
from minuend.language import Language, chosen

if TYPE_CHECKING:
    from minuend.judging.configuration import Configs
    from minuend.models.ranges.assumed import Assumptions

Verb: TypeAlias = Callable[..., int | None]
Option: TypeAlias = Callable[[Verb], Verb]

as_json = click.option("--json", "as_json", is_flag=True, help="Report in JSON.")

junit = click.option("--junit", type=output_path, metavar="FILE", help="Write a JUnit report.")

hint = click.option("--hint", metavar="H", help="The precision hint that runtimes get: f32.")

tolerate = click.option("--tolerate", metavar="S[,S…]", multiple=True, help="Severities not counted (sign-of-zero).")

operator = click.option(
    "--operator",
    metavar="NAME",
    default="subtract",
    show_default=True,
    help="What is computed: subtract, add or negative.",
    shell_complete=completing("operators"),
)
"""The operator that a verb is about."""


def output(metavar: str, help_: str, *, required: bool = True) -> Option:
    """Return the option that names what a verb writes, as ``out``."""
    return click.option("-o", "--output", "out", type=output_path, metavar=metavar, required=required, help=help_)


def target(help_: str, *, required: bool = False) -> Option:
    """Return the option that names a target, as ``target``."""
    return click.option("--target", metavar="T", shell_complete=completing("targets"), required=required, help=help_)


def targets(metavar: str, help_: str, *, required: bool = False) -> Option:
    """Return the option that names targets, several times and with commas, as ``names``."""
    return click.option(
        "--target",
        "names",
        metavar=metavar,
        shell_complete=completing("targets"),
        multiple=True,
        required=required,
        help=help_,
    )


def inputs(help_: str) -> Option:
    """Return the option that gives a model's inputs, as ``inputs``."""
    return click.option("--input", "--inputs", "inputs", metavar="NAME=FILE", multiple=True, help=help_)


def _together(name: str, make: Callable[..., object], *options: Option) -> Option:
    """Return what adds options to a verb, which gets what is made of their values as one argument."""
    keys = tuple(inspect.signature(make).parameters)

    def add(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def called(*given: object, **named: object) -> int | None:
            own = {key: named.pop(key) for key in keys}
            return verb(*given, **named, **{name: make(**own)})

        whole: Verb = called
        for option in reversed(options):
            whole = option(whole)
        return whole

    return add


# ---- limits, languages ------------------------------------------------------------------------------------------


def limits(most: float) -> Option:
    """Return the options that bound what running a model may take, as ``limits``.

    Args:
        most: seconds, where nothing is said.
    """
    memory_of, seconds_of = (
        click.option(f"--max-{name}", name, type=kind, default=usual, show_default=True, metavar=metavar, help=help_)
        for name, kind, usual, metavar, help_ in (
            ("memory", bounded_size, MEMORY, "BYTES", "Memory that a run may take, or none."),
            ("seconds", seconds, most, "S", "Seconds that a run may take, or none."),
        )
    )
    return _together("limits", Limits, memory_of, seconds_of)


def _language(lang: str | None) -> Language:
    """Return the language that an option names, or else the environment.

    Raises:
        SpecError: no such language.
    """
    return Language(chosen(os.environ) if lang is None else lang)


def in_a_language(verb: Verb) -> Verb:
    """Give a verb ``--lang``, as ``language``; the environment says what the option does not."""
    words = "en, or zh_TW for Traditional Chinese; else what LANG of the environment says."
    return _together("language", _language, click.option("--lang", metavar="LANG", help=words))(verb)


# ---- what is known beyond a model -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Known:
    """What a command line says beyond a model.

    Attributes:
        assume: ranges of values, ``NAME=RANGE`` each. config: the file in place of ``minuend.toml``.
        no_config: whether no such file is read.
    """

    assume: tuple[str, ...]
    config: str | None
    no_config: bool

    @property
    def written(self) -> list[str]:
        """The options as a command line has them."""
        assume = [word for one in self.assume for word in ("--assume", one)]
        config = [] if self.config is None else ["--config", self.config]
        return [*assume, *config, *(["--no-config"] if self.no_config else [])]

    def assumed(self) -> Assumptions:
        """Return what is known of values.

        Raises:
            SpecError: a range that is none.
        """
        from minuend.models.ranges.assumed import parse

        return parse(self.assume)

    def configs(self, *, writes: bool = False) -> Configs:
        """Return the files that models have, or the one that is named.

        Args:
            writes: whether a baseline is written to them.
        """
        from minuend.judging.configuration import Configs

        for option, given in (("--config", self.config is not None), ("--write-baseline", writes)):
            if self.no_config and given:
                raise click.UsageError(f"{option} and --no-config exclude each other")
        return Configs(self.config, used=not self.no_config, made=writes)


def known(verb: Verb) -> Verb:
    """Add the options that say what is known beyond a model, as ``known``."""
    return _together(
        "known",
        Known,
        click.option(
            "--assume", metavar="NAME=RANGE", multiple=True, help="What an input or a value holds, as x=0..131071."
        ),
        click.option("--config", type=path, metavar="FILE", help="Read FILE in place of minuend.toml."),
        click.option("--no-config", is_flag=True, help="Read no minuend.toml."),
    )(verb)
