"""Patterns as values: equality, printing, and JSON and back."""

from __future__ import annotations

import json

import pytest

from minuend.models.fusions import NORMALISATIONS
from minuend.models.patterns import (
    ONE_AXIS,
    RESULT,
    Const,
    Distant,
    How,
    Normalisation,
    Op,
    Pattern,
    Softmax,
    X,
    less,
    of_side,
    pattern_of,
    plain,
    replaced,
)
from minuend.runtimes.case_list import measured

MUL = Op("Mul", (X, Const.SCALAR))

PRINTED = {
    less(MUL, Const.ARRAY): "Mul(x, scalar) - array",
    of_side("B", Op("Cast", (X,), types=("int8", "float32")), Const.ANY): "k - Cast from int8 to float32(x)",
    Op("Gemm", (RESULT, Const.ARRAY, None)).with_result(less(X, X)): "Gemm(x - x, array, )",
    Op("Gather", (less(X, Const.ANY),), place=1): "Gather(input 1: x - k)",
    Distant("MatMul", How.BEHIND, less(X, X)): "MatMul(… x - x)",
    Distant("Conv", How.CONNECTED, less(X, X)): "x - x in a graph with Conv",
    Distant("If", How.AROUND, less(X, X)): "x - x inside If",
    Normalisation("Pow", "Sqrt", "Div", ONE_AXIS): "(x - ReduceMean(x)) / Sqrt(ReduceMean(Pow)) of one axis",
    Normalisation("Mul", "Pow", "Reciprocal", "", (Const.ARRAY, Const.ARRAYS)):
        "(x - ReduceMean(x)) * Reciprocal(Pow(ReduceMean(Mul))) * array + array of several axes",
    Softmax(): "Exp(x - ReduceMax(x)) / its sum",
}  # fmt: skip


@pytest.mark.parametrize(("pattern", "text"), PRINTED.items())
def test_a_pattern_is_printed_for_people(pattern: Pattern, text: str) -> None:
    assert str(pattern) == text


def test_equal_trees_are_one_value_and_what_is_judged_counts() -> None:
    again = less(Op("Mul", (X, Const.SCALAR)), Const.ARRAY)
    assert (again, hash(again)) == (less(MUL, Const.ARRAY), hash(less(MUL, Const.ARRAY)))
    assert less(X, X) != Op("Sub", (X, X))
    assert replaced(Distant("If", How.AROUND, less(X, X)), {Const.ZERO: Const.ANY}) == Distant(
        "If", How.AROUND, less(X, X)
    )


def test_every_pattern_comes_back_from_json_and_is_printed_like_no_other() -> None:
    every = {*PRINTED, *NORMALISATIONS, *(key.pattern for key in measured())}
    assert {pattern_of(json.loads(json.dumps(plain(one)))) for one in every} == every
    assert len({str(one) for one in every}) == len(every)


@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        ["Sub"],
        {"judged": []},
        {"judged": [3, "x", "x"]},
        {"judged": ["Sub", "z", "x"]},
        {"call": ["Gather", "x"], "place": "1"},
        {"how": "near", "operator": "If", "of": {"judged": ["Sub", "x", "x"]}},
    ],
)
def test_what_describes_no_pattern_is_an_error(data: object) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        pattern_of(data)
