"""``targets --matrix``: each release's worst verdict on each element type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from minuend.cli.pages.layout import WIDTH, Page, Table
from minuend.core.elements import TYPES
from minuend.plain import grouped

if TYPE_CHECKING:
    from minuend.runtimes.matrix import Cell

SIGNS = {"ok": "ok", "different-numbers": "≠", "not-implemented": "no", "unknown": "?"}
"""What stands in a cell for a verdict."""

MEANING = (
    "ok: every result is as expected; ≠: some results differ; no: it does not run; ?: some were not measured, and are "
    "not documented; blank: the runtime reads no such type. Each cell is the worst over all values of two inputs of "
    "one shape, in the newest version of the operator that has the type. DirectML has not been measured: its documents "
    "are shown."
)


def matrix_page(cells: Sequence[Cell]) -> Page:
    """Show a table for each runtime: types down, releases across, as many side by side as 80 columns hold."""
    page: list[str | Table] = [MEANING]
    for runtime, found in grouped((cell.target.runtime, cell) for cell in cells).items():
        page.append(f"{runtime}:")
        page += _tables(found)
    return page


def _tables(cells: Sequence[Cell]) -> Iterator[Table]:
    shown = {(cell.target.release, cell.dtype): SIGNS[cell.verdict] for cell in cells}
    types = [dtype for dtype in TYPES if any(cell.dtype == dtype for cell in cells)]
    releases = list(dict.fromkeys(cell.target.release for cell in cells))
    columns = max(1, (WIDTH - max(map(len, types)) - 1) // (max(map(len, releases)) + 2))
    for start in range(0, len(releases), columns):
        some = releases[start : start + columns]
        rows = tuple((dtype, *(shown.get((release, dtype), "") for release in some)) for dtype in types)
        yield Table(("", *some), rows)


def matrix_json(cells: Sequence[Cell]) -> dict[str, Any]:
    """The cells as JSON."""
    return {"meaning": MEANING, "cells": [cell.to_json() for cell in cells]}
