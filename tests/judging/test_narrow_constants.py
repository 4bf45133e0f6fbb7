"""Across modules: float16 constants that nodes make; runtimes fold them in float32, without a rounding."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

import minuend as mn
from minuend import check
from minuend.models.patterns import Op, X, less
from minuend.runtimes.reasons import ConstantsNotRounded, Folded
from minuend.runtimes.running import Runtime

ONNXRUNTIME, OPENVINO = "onnxruntime-cpu@1.31.1", "openvino-cpu@2026.4.1"
SOURCE = np.random.default_rng(29)
W = SOURCE.standard_normal((24, 24)).astype(np.float16)
P = (np.abs(SOURCE.standard_normal((24, 24))) + 0.1).astype(np.float16)
STORED = {
    "w": W,
    "p": P,
    "k": np.float16(0.3),
    "two": np.float16(2),
    "half": np.float16(0.5),
    "w32": SOURCE.standard_normal((24, 24)).astype(np.float32),
    "few": SOURCE.integers(-2000, 2000, (24, 24)).astype(np.int32),
    "many": (SOURCE.integers(1024, 30000, (24, 24)) * 2 + 1).astype(np.int32),
    "shape": np.array([24, 24], np.int64),
}
DIFFERENT, OK, UNKNOWN = "different-numbers", "ok", "unknown"


def model(*nodes, reads_x=False):
    """A graph of ``"c = Sub(w, p)"`` …; its last value is the output."""
    made = []
    for text in nodes:
        name, _, call = text.partition(" = ")
        operator, _, given = call.rstrip(")").partition("(")
        attributes = {"Cast": {"to": 10}, "ReduceMean": {"axes": [1]}, "Concat": {"axis": 0}}.get(operator, {})
        made.append(helper.make_node(operator, given.split(", "), [name], **attributes))
    names = {name for node in made for name in node.input}
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [24, 24])] if reads_x else []
    outputs = [helper.make_tensor_value_info(made[-1].output[0], TensorProto.FLOAT16, [24, 24])]
    stored = [numpy_helper.from_array(np.asarray(array), name) for name, array in STORED.items() if name in names]
    graph = helper.make_graph(made, "g", inputs, outputs, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


MADE = {
    "its mean": "m = ReduceMean(w)",
    "Mul": "m = Mul(w, k)",
    "Div": "m = Div(w, k)",
    "Add": "m = Add(w, k)",
    "Sub": "m = Sub(w, k)",
    "Sqrt": "m = Sqrt(p)",
    "Exp": "m = Exp(w)",
    "Softmax": "m = Softmax(w)",
    "MatMul": "m = MatMul(w, w)",
}


def judged(proto, target):
    return check(proto, target).findings[-1]


@pytest.mark.parametrize("node", MADE.values(), ids=list(MADE))
@pytest.mark.parametrize("sub", ["c = Sub(m, p)", "c = Sub(p, m)"])
def test_constants_that_are_rounded_before_a_subtraction_are_not_on_either_runtime(node, sub):
    for target in (ONNXRUNTIME, OPENVINO):
        assert judged(model(node, sub), target).verdict == DIFFERENT


def test_the_reason_names_the_node_before_and_the_rounding_that_is_left_out():
    finding = judged(model("m = Mul(w, k)", "c = Sub(w, m)"), OPENVINO)
    pattern = Folded(less(X, Op("Mul", (X, X))))
    assert finding.reasons == (ConstantsNotRounded(pattern, "float16"),)
    assert (finding.pattern, finding.graph) == (pattern, "x - Mul(x, x) of constants")


@pytest.mark.parametrize(
    ("nodes", "onnxruntime", "openvino"),
    [
        (["m = Mul(w, k)", "c = Sub(x, m)"], DIFFERENT, OK),  # openvino rounds what it folds
        (["d = Sub(w, p)", "c = Mul(d, x)"], DIFFERENT, OK),
        (["d = Sub(w, p)", "c = Mul(d, k)"], DIFFERENT, DIFFERENT),
        (["d = Sub(w, p)", "e = Exp(d)", "c = Add(e, x)"], DIFFERENT, DIFFERENT),
        (["m = Mul(w, k)", "t = Transpose(m)", "c = Sub(t, p)"], DIFFERENT, DIFFERENT),
        (["m = Mul(w, k)", "t = Relu(m)", "c = Sub(t, p)"], DIFFERENT, DIFFERENT),
        (["m = Mul(w, k)", "t = Concat(m)", "c = Sub(t, p)"], DIFFERENT, DIFFERENT),  # of one value
        (["m = Mul(w, k)", "t = Reshape(m, shape)", "c = Sub(t, p)"], UNKNOWN, UNKNOWN),
        (["m = Sigmoid(w)", "t = Where(on, m, p)", "c = Sub(t, p)"], UNKNOWN, UNKNOWN),
        (["c = Sub(w, p)"], OK, OK),
        (["d = Sub(w, p)", "c = Relu(d)"], OK, OK),
        (["m = Neg(w)", "c = Sub(m, p)"], OK, OK),
        (["m = Mul(w, two)", "c = Sub(p, m)"], OK, OK),  # nothing rounds
        (["m = Add(two, two)", "c = Sub(p, m)"], OK, OK),
        (["m = Cast(w32)", "c = Sub(p, m)"], OK, OK),  # rounded by the conversion
        (["m = Cast(few)", "c = Sub(p, m)"], OK, OK),
        (["m = Cast(many)", "t = Mul(m, two)", "c = Sub(p, t)"], DIFFERENT, DIFFERENT),
    ],
    ids=lambda one: one if isinstance(one, str) else "; ".join(one),
)
def test_what_rounds_between_constants_and_what_does_not(nodes, onnxruntime, openvino):
    proto = model(*nodes, reads_x=any("x" in node.partition("(")[2] for node in nodes))
    if "on" in " ".join(nodes).replace("(", " ").replace(",", " ").split():
        proto.graph.initializer.append(numpy_helper.from_array(np.array(True), "on"))
    place = next(i for i, node in enumerate(proto.graph.node) if node.op_type == "Sub")
    for target, verdict in ((ONNXRUNTIME, onnxruntime), (OPENVINO, openvino)):
        finding = next(one for one in check(proto, target).findings if one.location == f"graph.node[{place}]")
        assert finding.verdict == verdict, finding.reason


@pytest.mark.parametrize(("runtime", "package"), [("onnxruntime-cpu", "onnxruntime"), ("openvino-cpu", "openvino")])
def test_the_runtimes_do_so(runtime, package):
    """The measurement behind the rule: the difference of what the runtime makes of the constant, beside its own."""
    pytest.importorskip(package)
    from truth import Trial

    with Runtime(runtime) as one:
        for node in ("m = Mul(w, k)", "m = Softmax(w)"):
            proto = model(node, "c = Sub(p, m)")
            finding = judged(proto, f"{runtime}@{one.release}")
            assert Trial(one, proto, [{}]).truth(finding).kind == "different"
        proto = model("m = Mul(w, two)", "c = Sub(p, m)")
        assert Trial(one, proto, [{}]).truth(judged(proto, f"{runtime}@{one.release}")).kind == "fine"


def test_float32_constants_are_folded_as_they_are():
    proto = model("m = Mul(w, k)", "c = Sub(p, m)")
    for tensor in proto.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name))
    proto.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    findings = check(proto, [ONNXRUNTIME, OPENVINO]).findings
    assert [finding.graph for finding in findings] == ["", ""]
    assert findings[0].verdict == OK


def test_a_release_whose_graphs_were_not_measured_is_unknown():
    proto = model("m = Mul(w, k)", "c = Sub(p, m)")
    assert judged(proto, "openvino-cpu@2025.4.1").verdict == UNKNOWN
    assert judged(model("c = Sub(p, w)"), "openvino-cpu@2025.4.1").verdict == OK


BRANCH = """<ir_version: 8, opset_import: ["" : 17]> g ({given}) => (float16[4] c)
<float16[4] w = {{11878, 13107, 15000, 9000}}, float16 k = {{13517}}, bool yes = {{1}}> {{
    m = Mul({value}, k)
    c = If ({condition}) <
        then_branch = t () => (float16[4] d) {{ d = Sub(w, m) }},
        else_branch = e () => (float16[4] f) {{ f = Identity(w) }}
    >
}}"""


@pytest.mark.parametrize(
    ("given", "value", "condition", "verdict"),
    [
        ("", "w", "yes", UNKNOWN),  # onnxruntime writes the branch that is taken into the graph, and differs
        ("float16[4] x", "x", "yes", UNKNOWN),
        ("bool on", "w", "on", OK),
    ],
)
def test_a_branch_that_is_always_taken_hides_what_stands_around_it(given, value, condition, verdict):
    text = BRANCH.format(given=given, value=value, condition=condition)
    assert judged(text, ONNXRUNTIME).verdict == verdict


def test_layers_of_openvino_are_judged_alike(tmp_path):
    openvino = pytest.importorskip("openvino")
    from openvino import opset13 as layers

    for name, verdict in (("made", DIFFERENT), ("beside x", OK), ("stored", OK)):
        x = layers.parameter([24, 24], np.float16, name="x")
        made = layers.multiply(layers.constant(W), layers.constant(STORED["k"]))
        a, b = {
            "made": (layers.constant(P), made),
            "beside x": (x, made),
            "stored": (layers.constant(P), layers.constant(W)),
        }[name]
        path = tmp_path / f"{name}.xml"
        openvino.save_model(openvino.Model([layers.subtract(a, b)], [x]), path, compress_to_fp16=False)
        assert mn.check(path, OPENVINO).findings[0].verdict == verdict


@pytest.mark.parametrize(("kind", "verdict"), [("int64", UNKNOWN), ("int32", UNKNOWN), ("uint8", OK)])
def test_integers_that_float16_lacks_are_not_known_to_be_rounded(kind, verdict):
    """2049 in float16 is 2048; seed 9412 of judge_graphs.py found onnxruntime to subtract from 2049."""
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g ({kind}[4] x) => (float16[4] c) <float16 k = {{15360}}> {{
        t = Cast <to = 10> (x) c = Sub(t, k)
    }}"""
    assert judged(text, ONNXRUNTIME).verdict == verdict


DOUBLES = [  # A, B, what is said, and whether openvino, which computes float64 in float32, is right
    (254.0, 2.485, "different-numbers", False),
    (1e6, 0.1, "different-numbers", False),
    (254.0, 2.5, "ok", True),
    (0.1, 0.1, "unknown", True),
    (-0.0, 2.485, "different-numbers", False),
]


@pytest.mark.parametrize("shape", [(), (2, 3)])
@pytest.mark.parametrize(("a", "b", "verdict", "right"), DOUBLES)
def test_doubles_differ_by_their_digits_and_not_by_their_size(a, b, verdict, right, shape):
    kept = [numpy_helper.from_array(np.full(shape, value), name) for name, value in (("a", a), ("b", b))]
    result = helper.make_tensor_value_info("c", TensorProto.DOUBLE, shape)
    graph = helper.make_graph([helper.make_node("Sub", ["a", "b"], ["c"])], "g", [], [result], kept)
    proto = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    (finding,) = check(proto, "openvino-cpu@2026.4.1").findings
    assert finding.verdict == verdict
    pytest.importorskip("openvino")
    with Runtime("openvino-cpu") as runtime:
        answer = runtime.query("onnx", proto.SerializeToString(), b"", [], "")
    assert (answer[0].codes.view(np.float64).reshape(-1)[0] == a - b) == right


@pytest.mark.parametrize(("range_", "verdict"), [((100, 200), "different-numbers"), ((5e5, 6e5), "different-numbers")])
def test_doubles_in_a_range_differ_by_their_digits_too(range_, verdict):
    text = '<ir_version: 8, opset_import: ["" : 17]> g (double x) => (double c) <double k = {2.485}> { c = Sub(x, k) }'
    (finding,) = check(onnx.parser.parse_model(text), "openvino-cpu@2026.4.1", assume={"x": range_}).findings
    assert finding.verdict == verdict


SHOWN = {
    "m = Sqrt(p)|c = Sub(m, w)": "pw",
    "m = Sqrt(p)|c = Sub(w, m)": "wp",
    "m = Exp(w)|c = Sub(m, p)": "wp",
    "m = Mul(w, k)|c = Sub(m, p)": "wkp",
    "m = Sub(w, k)|c = Sub(p, m)": "pwk",
    "m = Add(w, k)|c = Sub(p, m)": "pwk",
    "m = Sub(w, p)|c = Exp(m)": "wp",
    "m = Sub(w, p)|c = Mul(m, k)": "wpk",
}
"""Nodes, and the constants in the order in which a witness has them."""


@pytest.mark.parametrize("target", [ONNXRUNTIME.partition("@")[0], OPENVINO.partition("@")[0]])
@pytest.mark.parametrize("nodes", SHOWN)
def test_runtimes_give_what_a_witness_of_constants_shows(nodes, target):
    pytest.importorskip("onnxruntime" if target.startswith("onnx") else "openvino")
    with Runtime(target) as runtime:
        proto = model(*nodes.split("|"))
        (finding,) = [one for one in check(proto, f"{target}@{runtime.release}").findings if one.witness is not None][
            -1:
        ]
        names = dict(zip(SHOWN[nodes], finding.witness.operands, strict=True))
        for one in proto.graph.initializer:
            shape = tuple(one.dims)
            one.CopyFrom(numpy_helper.from_array(np.full(shape, names[one.name], np.float16), one.name))
        (answer,) = runtime.query("onnx", proto.SerializeToString(), b"", [])
    got = answer.codes.view(np.float16)
    assert set(got.ravel()) == {np.float16(finding.witness.got)}
    assert finding.witness.got != finding.witness.expected


def test_a_division_by_a_constant_has_no_witness_of_values():
    """Of values it is a product with the reciprocal, which is rounded otherwise."""
    finding = check(model("d = Sub(w, p)", "c = Div(d, k)"), OPENVINO).findings[-1]
    assert finding.verdict == DIFFERENT
    assert finding.witness is None or "Div(" not in str(finding.witness)
