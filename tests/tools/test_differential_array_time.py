"""The time of random layouts: what is drawn, and what is a finding; times are a fake clock's."""

from __future__ import annotations

import random

import numpy as np
import pytest
from differential import array_time

import minuend as mn
from benchmarks import layouts, measure, peers
from benchmarks.grid import Cell


@pytest.fixture(scope="module")
def drawn() -> list[array_time.Layout]:
    return [array_time.draw(random.Random(f"time {i}")) for i in range(400)]


def strides(layout: array_time.Layout) -> list[tuple[int, ...]]:
    """The strides of A and B in elements, but for dims of one element."""
    made = layout.operands()
    return [
        tuple(step // one.itemsize for step, n in zip(one.strides, one.shape, strict=True) if n > 1)
        for one in (made.a, made.b)
    ]


def test_layouts_are_of_every_kind(drawn: list[array_time.Layout]) -> None:
    steps = {dim.step for layout in drawn for dim in (*layout.a, *layout.b)}
    assert steps == {*range(1, 17), *range(-16, 0)}
    assert {dim.gap for layout in drawn for dim in (*layout.a, *layout.b)} == {0, 1, 5, 16}
    sizes = [int(np.prod(layout.shape)) for layout in drawn]
    assert min(sizes) <= 16
    assert max(sizes) <= 1 << 22
    assert all(sum(low <= size < high for size in sizes) > 20 for low, high in ((0, 64), (64, 4096), (4096, 1 << 30)))


def test_one_operand_has_strides_and_the_other_none_or_zeros(drawn: list[array_time.Layout]) -> None:
    small = [layout for layout in drawn if np.prod(layout.shape) < 4096]
    found = [strides(layout) for layout in small]
    plain = [[one.flags.c_contiguous for one in (made.a, made.b)] for made in (layout.operands() for layout in small)]
    assert any(a and not b for a, b in plain)
    assert any(b and not a for a, b in plain)
    assert any(0 in a and 0 not in b for a, b in found)
    assert any(0 in b and 0 not in a for a, b in found)
    assert any(made.a.shape != made.b.shape for made in (layout.operands() for layout in small))  # broadcast


def test_all_of_them_subtract(drawn: list[array_time.Layout]) -> None:
    for layout in drawn:
        if np.prod(layout.shape) < 4096:
            made = layout.operands()
            assert not mn.subtract(made.a, made.b, out=made.out).any()


def slow(minuend: float) -> measure.Row:
    """What is measured where a timer says so many seconds of this package, and one of NumPy."""
    return measure.Row(
        Cell("float32", 1),
        {name: measure.Timing.of([seconds]) for name, seconds in ((measure.MINUEND, minuend), ("numpy", 1.0))},
    )


@pytest.mark.parametrize(
    ("seconds", "found"),
    [
        ([1.2, 1.2, 1.2, 1.2], 1),
        ([1.2, 1.2, 1.2, 1.0], 0),
        ([1.2, 1.0], 0),
        ([1.0], 0),
        ([1.12, 1.12, 1.12, 1.12], 1),
        ([1.1], 0),
    ],
)
def test_what_is_behind_each_time_is_a_finding(
    seconds: list[float], found: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readings = iter(seconds)
    monkeypatch.setattr(layouts, "measured", lambda *_, **__: [slow(next(readings))])
    monkeypatch.setattr(array_time, "measured_apart", array_time.measured)
    assert array_time.main(["--seed", "5", "--number", "3"]) == found
    assert next(readings, None) is None
    told = capsys.readouterr().out
    assert told.splitlines()[-1] == (
        f"seed 5: 1 layouts, {int(len(seconds) > 1)} behind once, {found} behind in 3 more processes"
    )
    if found:
        ratio = f"{1 / seconds[0]:.2f}"
        assert told.startswith(f"layout 3: {ratio}, {ratio}, {ratio} of the best peer, the last:\n")


def test_a_layout_is_measured_in_a_process_of_its_own() -> None:
    layout = next(one for one in (array_time.draw(random.Random(i)) for i in range(100)) if np.prod(one.shape) < 64)
    ratio, line = array_time.measured_apart(layout)
    assert ratio > 0
    assert layout.dtype in line
    assert any(name in line for name in layouts.OTHERS if peers.installed(name))
