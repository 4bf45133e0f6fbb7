"""What ranges promise of a deviation, on graphs that are run; and that a promise that is broken is seen."""

from __future__ import annotations

import dataclasses

import pytest
import range_cases
from range_cases import Seen

from minuend.judging import cancellation, pattern_verdicts
from minuend.runtimes.running import Runtime
from minuend.runtimes.severity import Deviation


def worse(runtime, hint, numbers, seed=5):
    found = (range_cases.judged(range_cases.draw(seed, number), runtime, hint) for number in numbers)
    return [text for one in found if one is not None for text in one[1]]


@pytest.mark.parametrize(("name", "hint"), [("onnxruntime-cpu", ""), ("openvino-cpu", "f32"), ("openvino-cpu", "")])
def test_nothing_is_worse_than_ranges_promise(name, hint):
    pytest.importorskip(name.removesuffix("-cpu"))
    with Runtime(name) as runtime:
        assert worse(runtime, hint, range(60)) == []


def test_a_promise_that_is_broken_is_seen(monkeypatch):
    pytest.importorskip("openvino")
    with Runtime("openvino-cpu") as runtime:
        monkeypatch.setattr(cancellation, "_bound", lambda *_: 1)
        assert worse(runtime, "f32", range(60))
        monkeypatch.undo()
        monkeypatch.setattr(pattern_verdicts, "_scales_and_shifts", lambda _: False)
        assert worse(runtime, "f32", [262, 464], seed=1)


def test_what_a_deviation_covers():
    seen = Seen("numbers", 9, 1.0, 2.0)
    assert [seen.within(Deviation("numbers", ulps)) for ulps in (0, 8, 16)] == [True, False, True]
    assert not seen.within(Deviation("edge"))
    assert dataclasses.replace(seen, severity="sign-of-zero").within(Deviation("rounding", 1))


def test_a_graph_of_a_seed_is_always_the_same():
    for number in range(40):
        drawn = range_cases.draw(3, number)
        assert drawn.model == range_cases.draw(3, number).model
