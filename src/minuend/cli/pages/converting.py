"""``convert``: what became of a model and what was lost, or why it stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minuend.errors import ConversionRefused
    from minuend.models.converting import Converted


def convert_lines(converted: Converted, source: str, target: str, written: str, nbytes: int) -> list[str]:
    """Show what was changed and what was lost, a line each; ``written`` is the file, of ``nbytes``."""
    return [
        f"{source} → {written} ({target}, {nbytes:,} bytes)",
        *(f"~ changed: {change}" for change in converted.changes),
        *(f"- lost: {loss}" for loss in converted.losses),
    ]


def convert_json(converted: Converted, source: str, target: str, written: str) -> dict[str, Any]:
    """What was converted as JSON."""
    done = {"changes": converted.changes, "losses": converted.losses}
    return {"model": source, "to": target, "path": written, **done}


def refused_json(refused: ConversionRefused, request: Mapping[str, Any]) -> dict[str, Any]:
    """Why nothing was converted as JSON: the request, and each node's reason."""
    return {**request, "refused": refused.nodes}
