"""What fix writes, check calls ok on the same target: the short form of tools/differential/fixing.py."""

from __future__ import annotations

import itertools

import onnx
import pytest
from differential.fixing import AROUND, CONSTANTS, DTYPES, IR, SHAPES, Case, model, outcome, touched

import minuend as mn
from minuend.runtimes.running import Runtime

TARGETS = (
    "onnxruntime-cpu", "onnxruntime-cpu@1.24.4", "openvino-cpu", "openvino-cpu@2024.6.0", "onnx-reference", "tract",
    "opencv-dnn", "onnx:13",
)  # fmt: skip


def outcomes(target, dialect, around, runtimes=None):
    """Every type and policy; constants and relations of shapes in turn."""
    others = itertools.cycle(itertools.product(CONSTANTS, SHAPES))
    found = {}
    for dtype, overflow in itertools.product(DTYPES, ("wrap", "saturate")):
        case = Case(dialect, dtype, *next(others), around, overflow, target)
        found[str(case)] = outcome(case, runtimes or {})
    return found


def failed(found):
    return {case: one.why for case, one in found.items() if one.kind == "failed"}


@pytest.mark.parametrize("target", TARGETS)
def test_what_fix_writes_check_calls_ok(target):
    assert failed(outcomes(target, 18, "alone")) == {}
    assert failed(outcomes(target, 14, "alone")) == {}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("target", ["onnxruntime-cpu", "openvino-cpu"])
def test_what_fix_writes_is_ok_in_a_graph_and_touches_no_other_node(target, around):
    found = outcomes(target, 21, around)
    assert failed(found) == {}
    assert "ok" in {one.kind for one in found.values()}


def test_what_fix_writes_into_layers_is_ok():
    found = outcomes("openvino-cpu", IR, "alone")
    assert failed(found) == {}
    assert "ok" in {one.kind for one in found.values()}


@pytest.mark.parametrize("target", ["onnxruntime-cpu", "openvino-cpu"])
def test_what_fix_writes_is_right_on_the_installed_runtime(target):
    pytest.importorskip(target.partition("-")[0])
    with Runtime(target) as runtime:
        assert failed(outcomes(target, 18, "alone", {target: runtime})) == {}


def test_a_failure_would_be_seen():
    case = Case(18, "uint8", "none", "same", "with casts", "wrap", "openvino-cpu")
    made = model(case)
    fixed = mn.fix(made, case.target, run=False)
    assert touched(made, fixed) == ""
    next(node for node in fixed.model.graph.node if node.op_type == "Relu").name = "another"
    assert touched(made, fixed).startswith("another node was touched")
    assert touched(made, mn.fix(model(Case(18, "int32", "none", "same", "alone", "wrap", "onnxruntime-cpu")),
                                "onnxruntime-cpu", run=False)) == (
        "nothing is reported and the model is another one")  # fmt: skip
    assert isinstance(made, onnx.ModelProto)
