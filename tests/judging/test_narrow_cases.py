"""Across modules: cases narrower than a measured row, which openvino was measured to compute correctly."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from minuend import check

OPENVINO, OLDER = "openvino-cpu@2026.4.1", "openvino-cpu@2026.2.1"
NUMBERS = [0.0, -0.0, 1e-45, -1e-40, 1.0, -1.0, 0.3, 7.0, 1e30, -3.4e38, np.inf, -np.inf, np.nan, 5.0, -5.0, 2.0**-126]
X = np.stack([np.roll(np.float32(NUMBERS), i) for i in range(16)])


def model(body, constant=None, dims=(16, 16)):
    """``"c = Sub(x, k)"`` …; the last value is the output."""
    nodes = []
    for text in body.split("; "):
        name, _, call = text.partition(" = ")
        operator, _, given = call.rstrip(")").partition("(")
        nodes.append(
            helper.make_node(operator, given.split(", "), [name], **({"axis": 0} if operator == "Concat" else {}))
        )
    read = {name for node in nodes for name in node.input}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name in "xy" if name in read]
    outputs = [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)]
    stored = [] if constant is None else [numpy_helper.from_array(np.asarray(constant, np.float32), "k")]
    graph = helper.make_graph(nodes, "g", inputs, outputs, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


MINUS = -0.0
OPEN = ("rows", "columns")
ZERO_ONE, MINUS_ONE = [[0.0, 1.0] * 8], [[MINUS, 1.0] * 8]
ONE_TWO = [[1.0, 2.5] * 8]
TINY, HUGE = [[0.0, 1e-45] * 8], [[0.0, 3.4e38] * 8]
CASES = [
    ("c = Sub(x, k)", MINUS, (16, 16), "ok"),  # what joins an input to an output is not removed
    ("c = Sub(x, k)", [[MINUS] * 16], (16, 16), "ok"),
    ("c = Sub(x, k)", MINUS, OPEN, "different-numbers"),
    ("t = Concat(x, x); c = Sub(t, k)", MINUS, (16, 16), "different-numbers"),
    ("t = Sub(x, k); c = Concat(t, t)", MINUS, (16, 16), "different-numbers"),
    ("c = Sub(k, x)", 0.0, (16, 16), "different-numbers"),
    ("c = Sub(x, k)", ZERO_ONE, (16, 16), "ok"),
    ("c = Sub(k, x)", ZERO_ONE, (16, 16), "ok"),
    ("c = Sub(x, k)", ZERO_ONE, OPEN, "ok"),
    ("c = Sub(k, x)", ZERO_ONE, OPEN, "ok"),
    ("t = Concat(x, x); c = Sub(t, k)", ZERO_ONE, (16, 16), "ok"),
    ("c = Sub(k, x)", MINUS_ONE, OPEN, "different-numbers"),
    ("c = Sub(x, k)", TINY, (16, 16), "different-numbers"),
    ("c = Sub(x, k)", HUGE, (16, 16), "different-numbers"),
    ("m = Identity(k); c = Sub(x, m)", ZERO_ONE, (16, 16), "ok"),  # a constant that nodes make is one, too
    ("m = Neg(k); c = Sub(x, m)", ONE_TWO, OPEN, "ok"),
    ("m = Mul(k, k); c = Sub(x, m)", ONE_TWO, (16, 16), "ok"),
    ("m = Neg(k); c = Sub(x, m)", ZERO_ONE, OPEN, "different-numbers"),  # which holds -0
    ("m = Exp(k); c = Sub(x, m)", ONE_TWO, (16, 16), "ok"),  # not known to the bit, and not near 0
    ("m = Sin(k); c = Sub(x, m)", ONE_TWO, (16, 16), "different-numbers"),  # not known to the bit
    ("m = Mul(k, k); d = Sub(k, m); c = Sub(x, d)", ONE_TWO, (16, 16), "ok"),
    ("p = Mul(x, y); c = Sub(p, p)", None, (16, 16), "ok"),
    ("p = Mul(x, y); q = Mul(x, y); c = Sub(p, q)", None, (16, 16), "ok"),
    ("p = Mul(x, y); q = Mul(y, y); c = Sub(p, q)", None, (16, 16), "different-numbers"),
]


@pytest.mark.parametrize(("body", "constant", "dims", "verdict"), CASES)
def test_a_narrow_case_is_judged_by_itself(body, constant, dims, verdict):
    proto = model(body, constant, dims)
    assert {finding.verdict for finding in check(proto, OPENVINO, hint="f32").findings} == {verdict}


@pytest.mark.parametrize(
    ("body", "constant"),
    [("c = Sub(x, k)", MINUS), ("c = Sub(x, k)", ZERO_ONE), ("p = Mul(x, y); c = Sub(p, p)", None)],
)
def test_a_release_of_which_it_was_not_measured_keeps_its_row(body, constant):
    (finding,) = check(model(body, constant), OLDER, hint="f32").findings
    assert finding.verdict == "different-numbers"


@pytest.mark.parametrize(("body", "constant", "dims", "verdict"), [case for case in CASES if case[3] == "ok"])
def test_openvino_does_so(body, constant, dims, verdict):
    openvino = pytest.importorskip("openvino")
    core = openvino.Core()
    core.set_property("CPU", {"INFERENCE_NUM_THREADS": "1"})
    proto = model(body, constant, dims)
    fed = {"x": X, "y": X.T.copy()}
    compiled = core.compile_model(core.read_model(proto.SerializeToString()), "CPU")
    got = np.array(compiled({one.any_name: fed[one.any_name] for one in compiled.inputs})[0])
    known = {**fed, "k": np.float32(0 if constant is None else constant)}
    with np.errstate(all="ignore"):
        for node in proto.graph.node:
            ways = {"Sub": np.subtract, "Mul": np.multiply, "Concat": lambda *both: np.concatenate(both)}
            ways |= {
                "Identity": np.positive,
                "Neg": np.negative,
                "Exp": lambda one: np.exp(np.float64(one)).astype("f4"),
            }
            known[node.output[0]] = ways[node.op_type](*(known[name] for name in node.input))
    wanted = known[proto.graph.output[0].name]
    fine = (got.view(np.uint32) == wanted.view(np.uint32)) | (np.isnan(got) & np.isnan(wanted))
    assert fine.all()
