"""The operands of a pattern's witness in a run: fed where inputs reach them, and a contradiction where they met."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from minuend.judging import run_check
from minuend.judging.checking import check
from minuend.judging.options import Judging, Runs, find_targets
from minuend.judging.pattern_operands import met, places, with_witness
from minuend.language import Language
from minuend.models.occurrences import occurrences
from minuend.models.opening import open_model
from minuend.models.patterns import Const, Op, Pattern, Softmax, X, less
from minuend.models.ranges.assumed import NONE
from minuend.models.tracing import TRACING, Array, Trace
from minuend.operators import SUBTRACT
from minuend.runtimes.explaining import explained
from minuend.runtimes.reasons import RunContradicts
from minuend.runtimes.witness import Witness

HEAD = '<ir_version: 8, opset_import: ["" : 17]> g '
SCALED = HEAD + "(float[N,2] x) => (float[N,2] y) <float c = {1.7}> { d = Sub(c, x) y = Mul(d, c) }"
WHERE = "graph.node[0]"
PATTERN = Op("Mul", (less(Const.SCALAR, X), Const.SCALAR))
SHOWN = Witness(SUBTRACT, (1.7, 1.7861729, 1.7), -0.14649391, -0.14649379, PATTERN)
OPENVINO, ONNXRUNTIME = "openvino-cpu@2026.4.1", "onnxruntime-cpu@1.32.0"


def traced(source: str, **inputs: Array) -> Trace:
    model = open_model(source)
    return TRACING.required(model.dialect).trace(model, inputs)


def test_a_pattern_is_found_with_what_its_holes_and_constants_are() -> None:
    trace = traced(SCALED, x=np.zeros((1, 2), np.float32))
    (one,) = places(PATTERN, WHERE, trace)
    assert (one.terms, one.result) == (("c", "x", "c"), "y")


@pytest.mark.parametrize(
    ("pattern", "where"),
    [
        (PATTERN, "graph.node[1]"),
        (Op("Div", (less(Const.SCALAR, X), Const.SCALAR)), WHERE),
        (Op("Mul", (less(Op("Exp", (X,)), X), Const.SCALAR)), WHERE),
        (Op("MatMul", (less(Const.SCALAR, X), Const.SCALAR)), WHERE),
        (Softmax(), WHERE),
    ],
)
def test_another_pattern_is_not_found(pattern: Pattern, where: str) -> None:
    assert list(places(pattern, where, traced(SCALED, x=np.zeros((1, 2), np.float32)))) == []


def test_conversions_have_their_types_and_operators_their_order() -> None:
    source = HEAD + "(int8[2] a, float[2] b) => (float[2] y) { f = Cast<to=1>(a) y = Sub(f, b) }"
    trace = traced(source, a=np.ones(2, np.int8), b=np.ones(2, np.float32))
    for types, expected in ((("int8", "float32"), [("a", "b")]), (("int16", "float32"), [])):
        pattern = less(Op("Cast", (X,), types=types), X)
        assert [one.terms for one in places(pattern, "graph.node[1]", trace)] == expected
    assert list(places(less(X, Op("Cast", (X,), types=("int8", "float32"))), "graph.node[1]", trace)) == []


def test_operands_meet_at_one_element_alone() -> None:
    for row, expected in (([0, 1.7861729], True), ([0, -1.7861729], False)):
        trace = traced(SCALED, x=np.array([row], np.float32))
        (one,) = places(PATTERN, WHERE, trace)
        assert met(one, trace, SHOWN) == expected
    assert not met(one, trace, replace(SHOWN, operands=(1.7, 1.0)))
    source = SCALED.replace("1.7}", "1.5}")
    trace = traced(source, x=np.full((1, 2), 1.7861729, np.float32))
    (one,) = places(PATTERN, WHERE, trace)
    assert not met(one, trace, SHOWN)  # another constant


def test_inputs_are_made_of_the_operands_as_far_as_they_are_read() -> None:
    inputs = {"x": np.zeros((3, 2), np.float32)}
    trace = traced(SCALED, **inputs)
    (one,) = places(PATTERN, WHERE, trace)
    made = with_witness(one, trace, SHOWN, inputs, NONE)
    assert made is not None
    assert (made["x"] == np.float32(1.7861729)).all()
    fixed = traced(SCALED.replace("(c, x)", "(c, c)").replace("Mul(d, c)", "Mul(d, c) z = Neg(x)"), **inputs)
    (one,) = places(Op("Mul", (less(Const.SCALAR, Const.SCALAR), Const.SCALAR)), WHERE, fixed)
    assert with_witness(one, fixed, SHOWN, inputs, NONE) is None


def test_a_run_has_the_operands_of_a_pattern() -> None:
    pytest.importorskip("openvino")
    report = check(SCALED, OPENVINO, run=True)
    (finding,), (trial,) = report.findings, report.trials
    assert finding.witness is not None
    assert finding.witness.pattern == PATTERN
    assert run_check.KNOWN in trial.inputs
    assert not any(isinstance(one, RunContradicts) for one in finding.reasons)


@pytest.mark.parametrize(
    ("source", "contradicts"),
    [
        (SCALED, True),
        (SCALED.replace("1.7}", "1.5}"), False),  # the constant of the witness is another
        (SCALED.replace("y = Mul(d, c)", "e = Mul(d, c) y = Exp(e)"), False),  # its result cannot be looked at
    ],
)
def test_a_contradiction_is_named_where_the_operands_of_a_pattern_met(source: str, contradicts: bool) -> None:
    """On onnxruntime, by what openvino was measured to do."""
    report, model = check(source, OPENVINO), open_model(source)
    findings = tuple(replace(one, target=ONNXRUNTIME) for one in report.findings)
    judging = Judging(targets=find_targets(ONNXRUNTIME), runs=Runs())
    report = run_check.with_runs(replace(report, findings=findings), model, list(occurrences(model)), judging)
    (finding,) = report.findings
    assert (finding.verdict, finding.witness is not None) == ("different-numbers", True)
    assert any(isinstance(one, RunContradicts) for one in finding.reasons) == contradicts
    for language in map(Language, ("en", "zh_TW")):
        said = explained([finding], language)
        elements = 0 if finding.seen is None else getattr(finding.seen, "elements", 0)
        text = "a run contradicts this: all {elements} elements were as expected with these operands"
        assert said.why.endswith(language.tr(text, elements=elements)) == contradicts
        command = "minuend measure onnxruntime-cpu -o onnxruntime-cpu.json"
        assert (said.todo[-1] == language.tr("to settle it: {command}", command=command)) == contradicts
