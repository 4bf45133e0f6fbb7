"""The sample of a proof: every kind is in it, it is the same every time, and a defect of a kind is found."""

from __future__ import annotations

import itertools

import pytest

from minuend.models.patterns import X, operators
from minuend.runtimes import pattern_cases
from minuend.runtimes.cases import Case, cases
from minuend.runtimes.sampling import sample, sample_graphs

pytest.importorskip("onnx")

ONNX = list(cases("onnx", full=False))
BOTH = [*cases("openvino", full=False), *ONNX]


def kinds(some: list[Case]) -> set[tuple[object, ...]]:
    return {(case.element, case.relation, case.constants) for case in some}


@pytest.mark.parametrize("every", [ONNX, BOTH], ids=["onnx", "openvino and onnx"])
def test_every_type_relation_and_choice_of_constants_is_asked_and_every_version_of_a_type(every: list[Case]) -> None:
    chosen = sample(every)
    assert kinds(chosen) == kinds(every)
    assert {(case.opversion, case.element) for case in chosen} == {(case.opversion, case.element) for case in every}
    assert [case.id for case in chosen] == [case.id for case in every if case in chosen]
    assert len(chosen) < len(every) / 2
    assert sample(every) == chosen


def test_a_kind_is_asked_in_the_newest_version_of_the_first_dialect() -> None:
    chosen = [case for case in sample(BOTH) if (case.relation, case.constants) == ("same", "none")]
    of = {name: [case.opversion for case in chosen if case.element.name == name] for name in ("uint8", "bfloat16")}
    assert all(versions[0] == "openvino:1" for versions in of.values())
    (alone,) = (
        case
        for case in sample(ONNX)
        if (case.element.name, case.relation, case.constants) == ("uint8", "two-sided", "A")
    )
    assert alone.opversion == "onnx:14"


@pytest.mark.parametrize("hint", ["", "f32"])
def test_every_pattern_class_of_a_type_is_asked_and_every_operator(hint: str) -> None:
    rows = list(pattern_cases.queried(hint))
    chosen = sample_graphs(rows)
    assert len(chosen) < len(rows) / 40
    assert {(key[1], key[3], case.how[0]) for key, case in chosen} >= {
        (key[1], key[3], case.how[0]) for key, case in rows if case.how[0] not in ("twice", "zero")
    }
    assert {(key[1], case.how[0]) for key, case in chosen} == {(key[1], case.how[0]) for key, case in rows}
    single = {operators(key[0]) for key, case in rows if case.how[0] not in ("fused", "chain")}
    assert {operators(key[0]) for key, _ in chosen} >= single
    assert {key[2] for key, _ in chosen} == {key[2] for key, _ in rows}
    assert sample_graphs(rows) == chosen


def test_graphs_of_one_key_are_one_answer_and_come_together() -> None:
    rows = list(pattern_cases.queried("f32"))
    chosen = sample_graphs(rows)
    keys = {key for key, _ in chosen}
    assert len(chosen) == sum(key in keys for key, _ in rows) > len(keys)


def test_operands_that_are_constants_are_kinds_of_their_own() -> None:
    some = sample_graphs(pattern_cases.queried(""))
    chosen = {(key.dtype, case.how[:3]) for key, case in some if case.how[0] == "bare"}
    for dtype, (a, b) in itertools.product(("float32", "uint8"), ((X, X), (None, X), (X, None))):
        assert any(name == dtype and (how[1] == X, how[2] == X) == (a == X, b == X) for name, how in chosen), (
            dtype,
            a,
            b,
        )
