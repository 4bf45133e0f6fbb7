"""Leaving measured releases out: what is inferred of them is compared with what was measured, class by class."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import left_out
import pytest

from minuend.models.patterns import Op, X, less
from minuend.operators import SUBTRACT
from minuend.runtimes import targets
from minuend.runtimes.answers import Answer
from minuend.runtimes.table import Table, pattern_key
from minuend.runtimes.target import Target
from minuend.runtimes.unmeasured_releases import inferred
from minuend.runtimes.witness import Witness

OK = Answer("ok")
WRONG, OTHER = (Answer("different-numbers", Witness(SUBTRACT, (1, 2), got, 255)) for got in (0, 1))
KEY = pattern_key(Op("Relu", (less(X, X),)), "float32", "static", "")


@pytest.mark.parametrize(
    ("found", "measured", "kind"),
    [
        (OK, OK, left_out.SAME),
        (WRONG, WRONG, left_out.SAME),
        (WRONG, OK, left_out.ALARM),
        (OK, WRONG, left_out.FALSE_OK),
        (WRONG, OTHER, left_out.OTHER),
        (WRONG, Answer("not-implemented"), left_out.OTHER),
        (Answer("unknown"), WRONG, "unknown"),
    ],
)
def test_an_inferred_answer_is_compared_with_the_measured_one(found: Answer, measured: Answer, kind: str) -> None:
    assert left_out.kind(found, measured) == kind


def release(number: str, **answers: Answer) -> Target:
    known = targets.find("onnxruntime-cpu@1.31.1")
    return replace(known, release=number, table=Table({**known.table.nodes, KEY: answers}))


def test_patterns_count_that_all_three_releases_have() -> None:
    fine, wrong = release("1.0"), release("1.1", nan=WRONG)
    older, newer = fine, replace(fine, release="1.2")
    made = inferred("1.1", older, newer)
    (found,) = left_out.of_patterns(wrong, older, newer, made)
    assert found == (left_out.FALSE_OK, "Relu(x - x) float32 static : nan")
    assert list(left_out.of_patterns(wrong, replace(older, table=Table(older.table.nodes)), newer, made)) == []
    kinds = Counter(kind for kind, _ in left_out.of_nodes(wrong, made))
    assert set(kinds) == {left_out.SAME}
    assert kinds.total() > 1000
