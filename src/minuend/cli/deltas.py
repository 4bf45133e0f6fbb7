"""The verbs for deltas of checkpoints: ``delta make``, ``apply``, ``verify`` and ``info``."""

from __future__ import annotations

import click

from minuend.cli import options
from minuend.cli.arguments import path
from minuend.cli.printing import report
from minuend.cli.progress import Bar
from minuend.cli.status import FINDINGS, FINE
from minuend.cli.verbs import Verbs


@click.group(
    cls=Verbs,
    examples=(
        "delta make base.safetensors tuned.safetensors -o d.safetensors",
        "delta apply base.safetensors d.safetensors -o tuned.safetensors",
    ),
    page="docs/deltas.md",
)
def delta() -> None:
    """Store a checkpoint as what changed since another one, and give it back byte by byte.

    Checkpoints: a .safetensors file, or the folder or index of a sharded one.
    """


@delta.command(
    examples=(
        "delta make base.safetensors tuned.safetensors -o d.safetensors",
        "delta make base/ tuned/ --level 9 -o d.safetensors",
    ),
    page="docs/deltas.md",
)
@click.argument("base", type=path)
@click.argument("tuned", type=path)
@options.output("D", "The delta to write.")
@click.option("--level", type=click.IntRange(1, 22), help="zstd's level (default: 3).")
@options.as_json
def make(*, base: str, tuned: str, out: str, level: int | None, as_json: bool) -> None:
    """Write what gives TUNED from BASE: a safetensors file of compressed differences of bit patterns."""
    from minuend.cli.pages.deltas import make_page
    from minuend.files.deltas import make_delta
    from minuend.files.deltas.byte_planes import LEVEL
    from minuend.files.streaming.pipeline import sole
    from minuend.plain import plain

    with sole(), Bar("packing", nbytes=True) as bar:
        done = make_delta(base, tuned, out, level=level or LEVEL, progress=bar)
    report(as_json, lambda: plain(done), lambda: make_page(done))


@delta.command(
    examples=(
        "delta apply base.safetensors d.safetensors -o tuned.safetensors",
        "delta apply base/ d.safetensors -o tuned --json",
    ),
    page="docs/deltas.md",
)
@click.argument("base", type=path)
@click.argument("delta", type=path, metavar="D")
@options.output("TUNED", "The file or folder to write.")
@options.as_json
def apply(*, base: str, delta: str, out: str, as_json: bool) -> None:
    """Write TUNED from BASE and D, byte by byte; another base is refused, and nothing written."""
    from minuend.cli.pages.deltas import apply_page
    from minuend.files.deltas import apply_delta
    from minuend.files.streaming.pipeline import sole
    from minuend.plain import plain

    with sole(), Bar("unpacking", nbytes=True) as bar:
        done = apply_delta(base, delta, out, progress=bar)
    report(as_json, lambda: plain(done), lambda: apply_page(done))


@delta.command(
    examples=(
        "delta verify base.safetensors d.safetensors",
        "delta verify base.safetensors d.safetensors tuned.safetensors",
    ),
    page="docs/deltas.md",
)
@click.argument("base", type=path)
@click.argument("delta", type=path, metavar="D")
@click.argument("tuned", type=path, required=False)
@options.as_json
def verify(*, base: str, delta: str, tuned: str | None, as_json: bool) -> int:
    """Check every hash of BASE, of what comes of it and D, and of TUNED; nothing is written.

    Exit status: 0 all is as D says, 1 something is not.
    """
    from minuend.cli.pages.deltas import verify_page
    from minuend.files.deltas import verify_delta
    from minuend.files.streaming.pipeline import sole
    from minuend.plain import plain

    with sole(), Bar("verifying", nbytes=True) as bar:
        done = verify_delta(base, delta, tuned, progress=bar)
    report(as_json, lambda: plain(done), lambda: verify_page(done))
    return FINDINGS if done.findings else FINE


@delta.command(
    examples=("delta info d.safetensors", "delta info d.safetensors --json"),
    page="docs/deltas.md",
)
@click.argument("delta", type=path, metavar="D")
@options.as_json
def info(*, delta: str, as_json: bool) -> None:
    """Tell what is in D: of each tensor the share that changed, how far, and what it takes."""
    from minuend.cli.pages.deltas import info_page
    from minuend.files.deltas import delta_info
    from minuend.plain import plain

    found = delta_info(delta)
    report(as_json, lambda: plain(found), lambda: info_page(found))
