"""The verb ``schema``: what the JSON of every other verb looks like, in the files beside this one."""

from __future__ import annotations

import json
from pathlib import Path

import click

from minuend.cli.verbs import Verb
from minuend.errors import SpecError, listed, near, shown

_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Return the verbs that report in JSON."""
    found = (entry.name.removesuffix(".json") for entry in _FOLDER.iterdir() if entry.name.endswith(".json"))
    return sorted(name for name in found if name != "error")


def schema_of(verb: str) -> dict[str, object]:
    """Return the JSON Schema of what a verb prints with ``--json``, an error among it.

    Raises:
        SpecError: no such verb.

    >>> schema_of("check")["title"]
    'minuend check --json'
    """
    if verb not in names():
        message = f"no verb {shown(verb)}{near(verb, names())} reports in JSON"
        raise SpecError("schemas", f"{message}; expected {listed(names())}")
    found, error = (json.loads(_FOLDER.joinpath(f"{name}.json").read_text("utf-8")) for name in (verb, "error"))
    head = {"$schema": error.pop("$schema"), "title": f"minuend {verb} --json", "type": "object"}
    head |= {"required": ["version", "tool"], "properties": error.pop("properties")}
    return {**head, "oneOf": [*found["oneOf"], error], **{key: found[key] for key in ("$defs",) if key in found}}


@click.command(
    cls=Verb,
    examples=("schema", "schema check"),
    page="docs/gate.md",
)
@click.argument("verb", required=False)
def schema(verb: str | None) -> None:
    """Show the JSON Schema of what VERB prints with --json; without VERB, name the verbs that have one."""
    if verb is None:
        for name in names():
            click.echo(name)
    else:
        click.echo(json.dumps(schema_of(verb), indent=2))
