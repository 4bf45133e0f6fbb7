"""What fix writes, check calls ok on the same target: the short form of tools/differential/fixing.py."""

from __future__ import annotations

import itertools
import random

import onnx
import pytest
from differential import breaks
from differential.cure_models import AROUND, CONSTANTS, DTYPES, IR, SHAPES, Case, draw, may_overflow, model
from differential.cure_promises import PROMISES, REFUSED, promise
from differential.fixing import OTHERS, outcome, touched

import minuend as mn
from minuend.operators import SUBTRACT
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


# ---- recipes ----------------------------------------------------------------------------------------------------

SEEDS = 300


@pytest.fixture(scope="module")
def drawn():
    """What came of cases of successive seeds, without runtimes."""
    cases = [draw(random.Random(f"recipes {i}")) for i in range(SEEDS)]
    return [(case, outcome(case, {})) for case in cases]


def test_every_recipe_is_drawn_within_a_few_hundred_seeds(drawn):
    found = {cure for _, one in drawn for cure in one.cures}
    assert found == {recipe.name for recipe in SUBTRACT.recipes} | set(OTHERS.values())
    assert [(str(case), one.why) for case, one in drawn if one.kind == "failed"] == []


def test_what_fix_has_to_do_is_drawn():
    """Of each row of the table, and of a third of all cases."""
    cases = [draw(random.Random(f"rows {i}")) for i in range(5000)]
    assert [row.why for row in PROMISES if not any(row.fits(case) for case in cases)] == []
    assert 3 * sum(bool(promise(case)[0]) for case in cases) > len(cases)


@pytest.mark.parametrize(
    ("fields", "may"),
    [
        ({}, True),
        ({"constants": "both", "around": "from uint8"}, False),
        ({"dtype": "uint64", "around": "from uint8"}, True),
        ({"around": "from uint8"}, False),
        ({"dtype": "float32"}, False),
    ],
)
def test_whether_operands_may_overflow(fields, may):
    assert may_overflow(Case(**{"dtype": "int64", **fields})) == may


def test_a_type_that_an_opset_lacks_is_to_be_refused():
    assert promise(Case(13, "int8")) == (REFUSED, "Sub of opset 13 takes no int8")
    assert promise(Case(14, "int8")) != promise(Case(13, "int8"))


ALONE_WITH = {
    "through float32": Case(dtype="bfloat16"),
    "through float32, wrapped with Floor": Case(dtype="uint8", target="onnx:9"),
    "through float32, saturated with Clip": Case(dtype="uint8", overflow="saturate", target="onnx:9"),
    "saturated with Max": Case(dtype="uint32", overflow="saturate"),
    "saturated with Max twice": Case(18, "int32", "A", "scalar", overflow="saturate", target="openvino-cpu"),
    "saturated with Where": Case(dtype="int64", overflow="saturate"),
    "narrowed to int32, within proven ranges": Case(dtype="int64", around="from uint8", target="openvino-cpu"),
    "kept apart with Max": Case(18, "float32", "B", "scalar", "behind Add", target="openvino-cpu"),
}
"""A case of each recipe where no other serves: what wraps with BitwiseAnd wraps with Mod as well, and what saturates
with Max and Min with Max twice."""


@pytest.mark.parametrize("recipe", ALONE_WITH)
def test_a_recipe_that_is_never_written_is_reported_where_no_other_serves(recipe):
    case = ALONE_WITH[recipe]
    assert outcome(case, {}).cures == (recipe,)
    with breaks.without(recipe)():
        found = outcome(case, {})
    assert (found.kind, "has to be rewritten" in found.why) == ("failed", True)
