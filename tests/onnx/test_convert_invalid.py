"""Across modules: a node that its own version does not allow is refused before anything is rewritten."""

from __future__ import annotations

import onnx
import pytest
from differential import driver, invalid_models
from onnx import ModelProto, helper

import minuend as mn
from minuend.errors import ConversionRefused
from minuend.onnx.opsets import convert_proto


def parse(opset: int, body: str, given: str, out: str = "float[M,N] y") -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> g ({given}) => ({out}) {{ {body} }}')


def reasons(model: ModelProto, to: int) -> dict[str, str]:
    with pytest.raises(ConversionRefused) as caught:
        convert_proto(model, to)
    return caught.value.nodes


(SURFACE,) = invalid_models.SURFACES
STRAY = parse(14, "y = Sub <axis = 0, broadcast = 1> (a, b)", "float[2,2] a, float[2] b")


@pytest.mark.parametrize("to", ["onnx:6", "onnx:13", "onnx:14", "onnx:21", "openvino", "directml"])
def test_attributes_of_an_older_sub_do_not_come_alive(to):
    with pytest.raises(ConversionRefused) as caught:
        mn.convert(STRAY, to)
    whose = "Sub: " if to.startswith("onnx") else ""
    why = "the model is invalid: Sub-14 has no attribute 'axis' (Sub-1 and Sub-6 have it)"
    assert caught.value.nodes == {"graph.node[0]": whose + why}


def test_the_refusal_says_what_to_do():
    with pytest.raises(ConversionRefused) as caught:
        convert_proto(STRAY, 6)
    assert str(caught.value) == (
        "cannot convert to onnx:6: 1 node in the way\n"
        "  graph.node[0]: Sub: the model is invalid: Sub-14 has no attribute 'axis' (Sub-1 and Sub-6 have it)\n"
        "What its own version does not allow has no meaning that could be converted: correct the node, or import the "
        "opset that it was written for."
    )


UNEQUAL = "shapes (2, 2) and (2,) must be equal (no broadcasting): the ranks are 2 and 1"
RULES = [
    (14, "float[2,2] x", "Clip <min = 0.0> (x)", "Clip-13 has no attribute 'min' (Clip-1 and Clip-6 have it)"),
    (14, "float[1,2] x", "Squeeze <axes = [0]> (x)",
     "Squeeze-13 has no attribute 'axes' (Squeeze-1 and Squeeze-11 have it)"),
    (14, "float[2,2] x", "Relu <nonsense = 1> (x)", "Relu-14 has no attribute 'nonsense'"),
    (14, "float[2,2] x", 'Softmax <axis = "1"> (x)', "attribute 'axis' of Softmax-13 has another type"),
    (14, "float[2,2] x", "Cast(x)", "Cast-13 needs the attribute 'to'"),
    (14, "float[2,2] x", "Sub(x)", "Sub-14 has 2 inputs; the node has 1"),
    (14, "float[2,2] x", "Sum(x, , x)", "Sum-13 needs a name for its input 1"),
    (7, "uint8[2,2] x", "Add(x, x)", "Add-7 takes no tensor(uint8) as input 0 ('A')"),
    (14, "float[2,2] x, double[2,2] z", "Sub(x, z)",
     "Sub-14 wants one type for 'T'; it gets tensor(float) and tensor(double)"),
    (11, "float[1,1,2,2] x, float[4] s", "Resize(x, , s)",
     "Resize-11 needs a name for its input 1 (it may be left out since Resize-13)"),
    (6, "float[2,2] x, float[2] z", "Sum(x, z)", f"Sum-6: {UNEQUAL}"),
    (6, "float[2,2] x, float[2] z", "Gemm(x, x, z)", f"Gemm-6 without broadcast=1: {UNEQUAL}"),
]  # fmt: skip
"""A node that breaks a rule of its version, and what is said of it."""


@pytest.mark.parametrize(("opset", "given", "node", "why"), RULES)
def test_each_rule_is_refused_by_name(opset, given, node, why):
    model = parse(opset, f"y = {node}", given)
    expected = f"{model.graph.node[0].op_type}: the model is invalid: {why}"
    for to in (8, 13, 21):
        assert reasons(model, to) == {"graph.node[0]": expected}


def test_bodies_and_functions_are_validated_where_they_stand():
    stray = "r = Clip <max = 1.0> (x)"
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 14, "own" : 1]>
        g (bool b, float[2] x) => (float[2] y) {{
            p = If (b) <then_branch = t () => (float[2] r) {{ {stray} }},
                        else_branch = e () => (float[2] s) {{ s = Neg(x) }}>
            y = own.F(p)
        }}
        <domain: "own", opset_import: ["" : 14]> F (x) => (r) {{ {stray} }}""")
    why = "Clip: the model is invalid: Clip-13 has no attribute 'max' (Clip-1 and Clip-6 have it)"
    assert reasons(model, 6)["graph.node[0].then_branch.node[0]"] == why
    assert reasons(model, 6)["function 'F'.node[0]"] == why


def test_types_are_judged_on_the_way_to_other_formats():
    model = parse(6, "t = Cast <to = 16> (x) y = Cast <to = 1> (t)", "float[2] x", "float[2] y")
    with pytest.raises(ConversionRefused) as caught:
        mn.convert(model, "openvino")
    why = "the model is invalid: Cast-6 takes no tensor(bfloat16) as output 0 ('output')"
    assert caught.value.nodes["graph.node[0]"] == why


@pytest.mark.parametrize(
    ("opset", "body"),
    [(17, "y = LayerNormalization <own = 1> (x, s)"), (14, "y = Neg <__mark = 1> (x)")],
)
def test_attributes_that_the_checker_lets_pass_pass(opset, body):
    """LayerNormalization's schema takes any attribute, and names that begin with two underscores are nobody's."""
    model = parse(opset, body, "float[2,2] x, float[2] s")
    onnx.checker.check_model(model, full_check=True)
    assert convert_proto(model, 21)[0].opset_import[0].version == 21


def test_what_the_checker_refuses_is_refused_and_nothing_else_is_called_invalid():
    """A sample; the surface ``convert-invalid`` of ``tools/differential.py`` goes over all."""
    run = driver.explore(SURFACE, seed=7, seconds=600, most=1000)
    assert run.differences == {}
    assert run.counts["checker refuses, convert refuses"] > 500
    assert run.counts["checker accepts, convert converts"] > 20


def test_a_break_that_is_let_through_is_found(monkeypatch):
    """The comparison can fail: without the check of the source version it does."""
    monkeypatch.setattr("minuend.onnx.opsets.schemas.invalid", lambda *_: "")
    case = invalid_models.Case(what="the attribute 'axes' of another version")
    what, why = driver.trial(SURFACE, case)
    assert (what, why.partition(",")[0]) == ("different", "converted")


@pytest.mark.parametrize("to", ["openvino", "onnx:7", "onnx:13"])
def test_a_type_that_a_cast_states_by_its_name_is_one_of_its_version(to: str) -> None:
    """Below opset 6 the attribute ``to`` is text, which ONNX's inference does not read."""
    nodes = [helper.make_node("Cast", ["a"], ["b"], to="BFLOAT16"), helper.make_node("Cast", ["b"], ["c"], to="DOUBLE")]
    a, c = (helper.make_tensor_value_info(name, kind, [2]) for name, kind in (("a", 1), ("c", 11)))
    model = helper.make_model(
        helper.make_graph(nodes, "g", [a], [c]), opset_imports=[helper.make_opsetid("", 1)], ir_version=3
    )
    with pytest.raises(ConversionRefused) as caught:
        mn.convert(model, to)
    assert "the model is invalid: Cast-1 takes no tensor(bfloat16) as output 0 ('output')" in str(caught.value)
