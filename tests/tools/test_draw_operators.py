"""tools/draw_operators: what it compares and leaves out; and that it sees what differs."""

from __future__ import annotations

import sys

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

import draw_operators
from onnx import parser

from minuend.core.elements import TYPES
from minuend.runtimes.quirks import quirks
from minuend.runtimes.running import Output, Refused

HEAD = '<ir_version: 8, opset_import: ["" : 19]> '


def output(array: np.ndarray) -> Output:
    element = None if array.dtype == bool else TYPES[array.dtype.name]
    return Output(element, array.view(f"u{array.itemsize}") if element else array.view(np.uint8))


@pytest.mark.parametrize(
    ("got", "seen"),
    [
        (np.array([1, 2], np.float32), ""),
        (np.array([1, 2.0001], np.float32), ""),
        (np.array([1, 2.1], np.float32), "numbers"),
        (np.array([[1, 2]], np.float32), "shape (1, 2) for (2,)"),
        (np.array([1, 2], np.float64), "float64 for float32"),
    ],
)
def test_more_than_rounding_is_a_difference(got: np.ndarray, seen: str) -> None:
    assert draw_operators.difference([output(got)], [np.array([1, 2], np.float32)]) == seen


def test_integers_have_to_be_equal_and_may_be_narrower() -> None:
    wanted = [np.array([3, -1])]
    assert draw_operators.difference([output(np.array([3, -1], np.int32))], wanted) == ""
    assert draw_operators.difference([output(np.array([3, -2]))], wanted) == "numbers"
    assert draw_operators.difference(Refused("no  such\noperator", "build"), wanted) == "refused: no such operator"


def test_wide_integers_and_texts_are_left_out() -> None:
    values = (np.array([1 << 31]), np.array(["a"]), np.zeros(0), [np.zeros(1)])
    assert not any(map(draw_operators.is_compared, values))
    assert draw_operators.is_compared(np.array([(1 << 31) - 1]))


def test_what_an_adapter_says_is_not_drawn_again() -> None:
    model = parser.parse_model(HEAD + 'g (float[2,2] x) => (float[4,4] y) <int64[4] p = {1, 1, 1, 1}> {'
                                      ' y = Pad<mode = "wrap">(x, p) }')  # fmt: skip
    assert draw_operators.is_said(model, quirks("tract"), "0.23.9")
    assert not draw_operators.is_said(model, quirks("onnxruntime-cpu"), "1.32.0")


def test_a_case_has_results_to_compare_with() -> None:
    cases = [found for _, found in draw_operators.cases(7, 0, 0.02, ["Relu"])]
    assert cases
    for case, model, feeds, wanted in cases:
        assert case.op == model.graph.node[0].op_type == "Relu"
        assert all(map(draw_operators.is_compared, [*feeds.values(), *wanted]))


def test_a_run_prints_what_no_verdict_says(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["", "onnx-reference", "--minutes", "0.03", "--only", "Relu", "Neg"])
    monkeypatch.setattr(draw_operators, "difference", lambda *_: "numbers")
    draw_operators.main()
    said = capsys.readouterr().out
    assert said.startswith("onnx-reference ")
    assert "\nNeg: " in said
    assert "\nRelu: " in said
