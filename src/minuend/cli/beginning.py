"""The verb that makes a gate: ``init``."""

from __future__ import annotations

import click

from minuend.cli import options
from minuend.cli.printing import report_lines
from minuend.cli.verbs import Verb


@click.command(
    cls=Verb,
    examples=("init", "init -o exports/minuend.toml"),
    page="docs/gate.md",
)
@options.output("FILE", "The file to write, by default minuend.toml here.", required=False)
@options.as_json
def init(*, out: str | None, as_json: bool) -> None:
    """Write a minuend.toml for the models below this folder and the runtimes that are installed here.

    The file says what minuend check looks at, on which runtimes, and what counts, with a comment for each key. A file
    that exists is never replaced.
    """
    from minuend.cli.pages.beginning import init_json, init_lines
    from minuend.files.transaction.writing import together
    from minuend.judging.beginning import begin
    from minuend.judging.configuration import NAME

    begun = begin(out or NAME)
    with together([begun.path], begun.found) as (stream,):
        stream.write(begun.text.encode())
    report_lines(as_json, lambda: init_json(begun), lambda: init_lines(begun))
