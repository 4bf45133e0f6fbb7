"""What docs/cluster.md says of cost is what was measured, and cost is linear."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.scaling import ENGINES, Point, line, table

DOCS = Path(__file__).parents[2] / "docs"
POINTS = [Point(**one) for one in json.loads((DOCS / "scaling.json").read_text("utf-8"))["points"]]


def test_the_page_shows_what_was_measured() -> None:
    assert table(POINTS) in (DOCS / "cluster.md").read_text("utf-8")


@pytest.mark.parametrize("engine", ENGINES)
def test_cost_is_linear_over_three_decades(engine: str) -> None:
    start, each = line(POINTS, engine)
    assert POINTS[-1].cells >= 1000 * POINTS[0].cells
    for point in POINTS:
        assert 1 / 2 < getattr(point, engine) / (start + each * point.cells) < 2


def test_what_a_worker_holds_does_not_grow() -> None:
    assert POINTS[-1].worker < 1.2 * POINTS[0].worker
