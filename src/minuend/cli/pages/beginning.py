"""``init``: what the first ``minuend.toml`` says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from minuend.cli.words import counted
from minuend.errors import listed
from minuend.judging.configuration import NAME
from minuend.text import shell_word

if TYPE_CHECKING:
    from minuend.judging.beginning import Beginning


def init_lines(begun: Beginning) -> Iterator[str]:
    """Show what was written, and what to do next."""
    yield f"{begun.path}: {counted(len(begun.found), 'model')} on {listed(begun.targets, 'and')}"
    if not begun.installed:
        yield "no runtime that runs models is installed here; the targets are the most usual ones"
    config = "" if os.path.normpath(begun.path) == NAME else f" --config {shell_word(begun.path)}"
    yield f"next: minuend check{config}"


def init_json(begun: Beginning) -> dict[str, Any]:
    """What was written as JSON."""
    return {
        "path": begun.path,
        "models": begun.models,
        "found": begun.found,
        "targets": begun.targets,
        "installed": begun.installed,
    }
