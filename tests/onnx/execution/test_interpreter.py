"""Every Sub of a model, wherever it stands, at the opset of the graph or function that holds it."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest

from minuend.errors import DTypeError, SpecError
from minuend.onnx import operator
from minuend.onnx.execution.interpreter import Interpreter

A, B = np.uint8([3, 200]), np.uint8([4, 100])


@pytest.fixture
def versions(monkeypatch):
    """The versions that Sub nodes were computed at, in order."""
    seen = []
    run = operator.run

    def seeing(op, *args, **kwargs):
        seen.append(op.version)
        return run(op, *args, **kwargs)

    monkeypatch.setattr(operator, "run", seeing)
    return seen


def run(model: str | onnx.ModelProto, **feeds):
    proto = onnx.parser.parse_model(model) if isinstance(model, str) else model
    return list(Interpreter(proto, None, evaluator="reference").run(feeds).values())


def test_a_sub_in_an_if_a_loop_and_a_scan_is_computed_here(versions):
    text = """
    <ir_version: 10, opset_import: ["" : 13]>
    agraph (float[2] a, float[2] b, bool c) => (float[2] z, float[2] sum, float[2] last, float[2,2] rows) {
      z = If (c) <
        then_branch = yes () => (float[2] y) { y = Sub(a, b) },
        else_branch = no () => (float[2] n) { n = Sub(b, a) }
      >
      trips = Constant <value = int64 {3}> ()
      go = Constant <value = bool {1}> ()
      sum = Loop (trips, go, a) <body = step (int64 i, bool on, float[2] s) => (bool still, float[2] next) {
        still = Identity(on)
        next = Sub(s, b)
      }>
      two = Constant <value = int64[2] {2, 1}> ()
      pair = Expand(b, two)
      twice = Concat <axis = 0> (pair_row, pair_row)
      last, rows = Scan <num_scan_inputs = 1, body = one (float[2] s, float[2] x) => (float[2] t, float[2] u) {
        t = Sub(s, x)
        u = Identity(t)
      }> (a, twice)
    }"""
    text = text.replace(
        "pair = Expand(b, two)", "zero = Constant <value = int64[1] {0}> ()\n pair_row = Unsqueeze(b, zero)"
    )
    a, b = np.float32([10, 20]), np.float32([1, 2])
    z, looped, last, rows = run(text, a=a, b=b, c=np.array(False))
    assert z.tolist() == [-9, -18]
    assert looped.tolist() == [7, 14]
    assert last.tolist() == [8, 16]
    assert rows.tolist() == [[9, 18], [8, 16]]
    assert versions == [13] * 6


CENTER = """
    <ir_version: 10, opset_import: ["" : 14, "my" : 1]>
    agraph (float[2,3] a, float[2] b) => (float[2,3] c, float[2,3] d) {
      c = my.Outer(a, b)
      one = Constant <value = float {1.0}> ()
      d = Sub(c, one)
    }
    <domain: "my", opset_import: ["" : 6, "my" : 1]>
    Outer (x, y) => (z) { z = my.Inner <axis = 0> (x, y) }
    <domain: "my", opset_import: ["" : 6]>
    Inner <axis> (x, y) => (z) { z = Sub <axis: int = @axis, broadcast = 1> (x, y) }
"""


def test_a_function_s_sub_follows_the_function_s_own_opset_and_its_caller_s_attributes(versions):
    a, b = np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([1, 4])
    c, d = run(CENTER, a=a, b=b)
    assert c.tolist() == [[0, 1, 2], [0, 1, 2]]
    assert d.tolist() == [[-1, 0, 1], [-1, 0, 1]]
    assert versions == [6, 14]


def test_functions_may_stand_in_any_order_and_the_model_is_not_changed():
    model = onnx.parser.parse_model(CENTER)
    assert [f.name for f in model.functions] == ["Outer", "Inner"]
    a, b = np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([1, 4])
    before = model.SerializeToString()
    assert run(model, a=a, b=b)[0].tolist() == [[0, 1, 2], [0, 1, 2]]
    assert model.SerializeToString() == before
    model.functions.insert(0, model.functions.pop(1))
    assert run(model, a=a, b=b)[0].tolist() == [[0, 1, 2], [0, 1, 2]]


def test_a_function_s_attribute_has_its_default_where_the_caller_states_none():
    text = CENTER.replace("Inner <axis>", "Inner <axis: int = 0>").replace("Inner <axis = 0>", "Inner")
    a, b = np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([1, 4])
    assert run(text, a=a, b=b)[0].tolist() == [[0, 1, 2], [0, 1, 2]]


@pytest.mark.parametrize(("opset", "version"), [(1, 1), (5, 1), (6, 6), (7, 7), (12, 7), (13, 13), (14, 14), (28, 14)])
def test_the_graph_s_opset_decides(versions, opset, version):
    run(
        f'<ir_version: 10, opset_import: ["" : {opset}]> g (float[2] a, float[2] b) => (float[2] c) {{ c = Sub(a,b) }}',
        a=np.float32([1, 2]),
        b=np.float32([1, 2]),
    )
    assert versions == [version]


def test_the_main_domain_may_be_written_ai_onnx(versions):
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 13]> g (float[2] a, float[2] b) => (float[2] d) '
        "{ c = Sub(a, b) d = Abs(c) }"
    )
    model.opset_import[0].domain = "ai.onnx"
    feeds = {"a": np.float32([1, 2]), "b": np.float32([2, 1])}
    assert run(model, **feeds)[0].tolist() == [1, 1]
    model.graph.node[0].domain = model.graph.node[1].domain = "ai.onnx"
    assert run(model, **feeds)[0].tolist() == [1, 1]
    model.opset_import[0].domain = ""
    assert run(model, **feeds)[0].tolist() == [1, 1]
    assert versions == [13] * 3


def test_a_model_of_ir_2_without_opset_is_opset_1(versions):
    node = onnx.helper.make_node("Sub", ["a", "b"], ["c"], axis=0, broadcast=1, consumed_inputs=[0, 0])
    values = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in (("a", (2, 3)), ("b", (2,)))]
    out = onnx.helper.make_tensor_value_info("c", onnx.TensorProto.FLOAT, (2, 3))
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", values, [out]), ir_version=2)
    del model.opset_import[:]
    feeds = {"a": np.zeros((2, 3), np.float32), "b": np.float32([1, 2])}
    assert run(model, **feeds)[0].tolist() == [[-1] * 3, [-2] * 3]
    assert versions == [1]


def test_bfloat16_stays_bfloat16_and_infinities_warn_of_nothing():
    text = '<ir_version: 10, opset_import: ["" : 13]> g (bfloat16[3] a, bfloat16[3] b) => (bfloat16[3] c) {c=Sub(a,b)}'
    a = np.array([np.inf, 3, 1], ml_dtypes.bfloat16)
    (c,) = run(text, a=a, b=np.array([np.inf, 1, 1], ml_dtypes.bfloat16))
    assert c.dtype == ml_dtypes.bfloat16
    assert np.isnan(c[0])
    assert c[1:].astype(float).tolist() == [2, 0]


def error(text: str, kind: type[Exception] = SpecError, **feeds) -> str:
    with pytest.raises(kind) as caught:
        run(text, **(feeds or {"a": A, "b": B}))
    assert type(caught.value) is kind
    return str(caught.value)


def graph(opset: int, body: str) -> str:
    head = f'<ir_version: 10, opset_import: ["" : {opset}, "my" : 1]>'
    return f"{head} g (uint8[2] a, uint8[2] b) => (uint8[2] c) {{ {body} }}"


def test_an_error_tells_the_node_s_place_in_the_graph():
    bad = "Sub-13 takes no element type tensor(uint8) (it came with opset 14); expected tensor(float16), "
    bad += "tensor(bfloat16), tensor(float), tensor(double), tensor(int32), tensor(int64), tensor(uint32) or "
    bad += "tensor(uint64), at graph.node[1] 'sub_mean'"
    assert error(graph(13, "x = Identity(a) [sub_mean] c = Sub(x, b)"), DTypeError) == bad


def test_an_error_tells_the_place_in_a_branch_and_in_a_function():
    branch = """go = Constant <value = bool {1}> ()
      c = If (go) <then_branch = t () => (uint8[2] y) { x = Identity(a) y = Sub <axis = 1> (x, b) },
                   else_branch = e () => (uint8[2] n) { n = Identity(a) }>"""
    assert error(graph(14, branch)) == (
        "Sub-14 takes no attribute 'axis' (removed in version 7); it takes none, at graph.node[1].then_branch.node[1]"
    )
    function = graph(14, "c = my.F(a, b)") + '<domain: "my", opset_import: ["" : 7]> F (x, y) => (z) { z = Sub(x, y) }'
    assert error(function, DTypeError).endswith("or tensor(uint64), at function 'F'.node[0]")
    mixed = {"a": np.float32([1, 2]), "b": np.float64([1, 2])}
    assert error(graph(14, "c = Sub(a, b)"), DTypeError, **mixed) == (
        "a is of float32 and b of float64; nothing is promoted, convert one of them, at graph.node[0]"
    )


def test_a_sub_with_three_inputs_is_refused():
    assert error(graph(14, "c = Sub(a, b, b)")) == "Sub-14 takes 2 inputs; the node has 3, at graph.node[0]"
