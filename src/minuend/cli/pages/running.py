"""``run``: what a model printed, and the outputs that were written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minuend.models.running import described

if TYPE_CHECKING:
    from minuend.models.running import Ran


def run_lines(ran: Ran) -> list[str]:
    """Show what the model printed itself, then its outputs, a line each."""
    return [*ran.printed, *map(described, ran.outputs)]


def run_json(ran: Ran) -> dict[str, Any]:
    """What was run as JSON."""
    outputs = [{"name": o.name, "dtype": o.element, "shape": o.shape, "path": o.path} for o in ran.outputs]
    return {"model": ran.model, "outputs": outputs, "printed": ran.printed}
