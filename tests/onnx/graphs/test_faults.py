"""Nodes that their own version does not allow, of operators that are not judged themselves."""

from __future__ import annotations

import onnx
import pytest

import minuend as mn
from minuend.onnx.graphs.faults import fault
from minuend.onnx.graphs.walk import walk
from minuend.onnx.model import read

# fmt: off
BROKEN = {  # nodes after a Sub of two float[2,3], and what is said of them
    "z = Relu(d, x)": "graph.node[1]: Relu-14 has 1 input; the node has 2",
    "z = Relu <alpha = 1> (d)": "graph.node[1]: Relu-14 has no attribute 'alpha'",
    "[r] z = Cast(d)": "graph.node[1] 'r': Cast-13 needs the attribute 'to'",
    "z = Softmax <axis = 1.5> (d)": "graph.node[1]: attribute 'axis' of Softmax-13 has another type",
    "z = Reluu(x)": "graph.node[1]: opset 14 has no Reluu",
    "z = BitwiseNot(x)": "graph.node[1]: opset 14 has no BitwiseNot",
    "z = Not(x)": "graph.node[1]: Not-1 takes no tensor(float) as input 0 ('X')",
    "i = Shape(x) z = Add(x, i)":
        "graph.node[2]: Add-14 wants one type for 'T'; it gets tensor(float) and tensor(int64)",
    "z = MatMul(x, y)": "graph.node[1]: MatMul: Incompatible dimensions for matrix multiplication",
    "z = Concat <axis = 5> (x, y)": "graph.node[1]: Concat: axis must be in [-rank, rank-1].",
    "z = MatMul(x, y) w = MatMul(y, x)":
        "graph.node[1] or graph.node[2]: MatMul: Incompatible dimensions for matrix multiplication",
    "z = ai.onnx.ml.Binarizer <size = 1> (d)": "graph.node[1]: Binarizer-1 has no attribute 'size'",
    "z = ai.onnx.ml.Binarizerr(d)": "graph.node[1]: opset 3 of ai.onnx.ml has no Binarizerr",
    "z = If(c) <then_branch = t () => (float[2,3] u) { u = Relu(x, x) }, else_branch = e () => (v) { v = Neg(x) }>":
        "graph.node[1].then_branch.node[0]: Relu-14 has 1 input; the node has 2",
    "z = If(c) <then_branch = t () => (float[2,2] u) { u = MatMul(x, y) }, else_branch = e () => (v) { v = Neg(x) }>":
        "graph.node[1].then_branch.node[0]: MatMul: Incompatible dimensions for matrix multiplication",
    "z = f.bad(d)": "function 'bad'.node[0]: Relu-14 has no attribute 'beta'",
    "z = f.product(x, y)": "function 'product'.node[0]: MatMul: Incompatible dimensions for matrix multiplication",
}
PASSED = (
    "z = Relu(d)",
    "z = Crop <border = [0, 0, 0, 0]> (d)",  # onnxruntime has it, of a version 1 that ONNX took back
    "z = LayerNormalization <axis = -1> (d, x)",  # as onnxruntime's optimisers write it below opset 17
    "z = SimplifiedLayerNormalization <axis = -1, epsilon = 0.00001, stash_type = 1> (d, x)",
    "z = own.Anything <k = 3> (d, d)",
    "z = com.microsoft.Gelu(d)",
    "z = f.Reluu(d)",
    "z = Own <anything = 1> (d)",
)
# fmt: on

FUNCTIONS = {
    "f.bad(": 'domain: "f", opset_import: ["" : 14]> bad (a) => (b) { b = Relu <beta = 1> (a) }',
    "f.product(": 'domain: "f", opset_import: ["" : 14]> product (a, b) => (c) { c = MatMul(a, b) }',
    "f.Reluu(": 'domain: "f", opset_import: ["" : 14]> Reluu (a) => (b) { b = Relu(a) }',
    "Own <": 'domain: "", opset_import: ["" : 14]> Own <anything> (a) => (b) { b = Relu(a) }',
}


def model_with(nodes: str) -> onnx.ModelProto:
    """A model with a Sub and other nodes, and with those functions alone that they call."""
    text = f"""<ir_version: 8, opset_import: ["" : 14, "ai.onnx.ml" : 3, "f" : 1, "own" : 1, "com.microsoft" : 1]>
    g (float[2,3] x, float[2,3] y, bool c) => (float[2,3] d, z) {{ [s] d = Sub(x, y) {nodes} }}"""
    return onnx.parser.parse_model("\n<".join([text, *(one for call, one in FUNCTIONS.items() if call in nodes)]))


@pytest.mark.parametrize("nodes", BROKEN)
def test_the_first_node_that_breaks_a_rule_of_its_version_is_named(nodes: str) -> None:
    assert fault(walk(read(model_with(nodes))), ["Sub"]) == BROKEN[nodes]


@pytest.mark.parametrize("nodes", PASSED)
def test_what_is_not_onnxs_own_or_valid_is_no_fault(nodes: str) -> None:
    assert fault(walk(read(model_with(nodes))), ["Sub"]) == ""


def test_a_newer_opset_than_the_known_ones_is_not_held_against_the_newest_known_one() -> None:
    model = model_with("z = Relu(d, x)")
    model.opset_import[0].version = onnx.defs.onnx_opset_version() + 1
    assert fault(walk(read(model)), ["Sub"]) == ""


def test_a_shape_that_is_declared_otherwise_is_no_fault_for_runtimes_warn_of_it() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 14]>
        g (float[2,3] x) => (float[3,3] z) { d = Sub(x, x) z = Transpose <perm = [1, 0]> (d) }"""
    )
    assert fault(walk(read(model)), ["Sub"]) == ""


def test_a_judged_node_s_own_types_are_no_fault_of_the_if_around_it() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 13]> g (uint8[2] x, bool c) => (uint8[2] z) { z = If(c) <
        then_branch = t () => (uint8[2] u) { u = Sub(x, x) }, else_branch = e () => (uint8[2] v) { v = Abs(x) }> }"""
    )
    assert fault(walk(read(model)), ["Sub"]) == ""


def test_what_inference_does_not_know_of_old_operators_is_no_fault() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 5]> g (float x, int64 n, bool t) => (float y, float[2] z) {
        y, z = Loop(n, t, x) <body = b (int64 i, bool go, float s) => (bool on, float u, v) {
            v = Abs(x) on = Identity(go) u = Identity(s) }> }"""
    )
    assert fault(walk(read(model)), ["Sub"]) == ""


def test_what_inference_does_not_know_behind_a_judged_node_is_no_fault() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 13]> g (uint8[2] x, int64 n, bool t) => (uint8[1,2] z, uint8[1,2] w) {
        z = Loop(n, t) <body = b (int64 i, bool go) => (bool on, v) { v = Sub(x, x) on = Identity(go) }>
        w = Identity(z) u = Identity(x) }"""
    )
    assert fault(walk(read(model)), ["Sub"]) == ""


def test_a_map_is_of_the_type_that_the_schema_states() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 13, "ai.onnx.ml" : 1]> g (map(int64, float[N]) x) => (float[1,N] z) {
        z = ai.onnx.ml.CastMap(x) }"""
    )
    assert fault(walk(read(model)), ["Sub"]) == ""


def test_integers_of_constant_1_are_read_as_exporters_wrote_them() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 6]> g (float[4] x) => (float[2,2] z) {
        s = Constant <value = int64[2] {2, 2}> () z = Reshape(x, s) }"""
    )
    assert fault(walk(read(model)), ["Sub"]) == ""


PAIRED = "(float[10] x, float[12] y) => (float[10,12] d, float[10,12] z) <int64[1] k = {1}> {"
"""What is computed of every pair of two rows: each with another size, the first with an axis more."""


@pytest.mark.parametrize(
    "text",
    [
        f"{PAIRED} u = Unsqueeze(x, k) d = Sub(u, y) z = Add(u, y) }}",
        f"{PAIRED} u = Unsqueeze(x, k) z = Mul(y, u) d = Sub(z, z) }}",
        f"{PAIRED} d = Sub(z, z) u = Unsqueeze(x, k) v = Unsqueeze(u, k) w = Squeeze(v, k) z = Add(w, y) }}",
    ],
)
def test_rows_of_two_sizes_that_are_broadcast_are_no_fault(text: str) -> None:
    """ONNX's inference follows them as if they were shapes, and forgets the axis then."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 14]> g {text}')
    assert fault(walk(read(model)), ["Sub"]) == ""
    assert mn.check(model, "onnxruntime-cpu@1.32.0").findings[0].verdict == "ok"
    assert mn.convert(model, "onnx:18").model.opset_import[0].version == 18


def test_rows_that_cannot_be_broadcast_are_a_fault_beside_those_that_can() -> None:
    text = PAIRED.replace("] z)", "] z, w)") + " u = Unsqueeze(x, k) d = Sub(u, y) z = Add(u, y) w = Mul(x, y) }"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 14]> g {text}')
    assert fault(walk(read(model)), ["Sub"]) == "graph.node[3]: Mul: Incompatible dimensions"


def test_integers_that_wrap_are_no_fault() -> None:
    text = f"(int64[1] x) => (int64[1] d, int64[1] z) <int64[1] k = {{{2**62}}}> {{ z = Add(k, k) d = Sub(x, z) }}"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 14]> g {text}')
    assert fault(walk(read(model)), ["Sub"]) == ""


@pytest.mark.parametrize("target", ["onnxruntime-cpu", "openvino-cpu", "tract"])
def test_check_calls_a_subtraction_beside_an_invalid_node_invalid_and_fix_writes_nothing(target: str) -> None:
    model = model_with("z = MatMul(x, y)")
    (finding,) = mn.check(model, target=target).findings
    why = "the model has an invalid node: graph.node[1]: MatMul: Incompatible dimensions for matrix multiplication"
    assert (finding.verdict, finding.code, finding.reason) == ("invalid", "rule-broken", why)
    fixed = mn.fix(model, target=target)
    assert [one.reason for one in fixed.refused] == [why]
    assert fixed.model == model


def test_onnxruntime_loads_none_of_these() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    for nodes in BROKEN:
        with pytest.raises(Exception, match=r"(?i)fail|invalid|error"):
            onnxruntime.InferenceSession(model_with(nodes).SerializeToString())
