"""``Model.run``: inputs that fit, sizes that are allowed, and the right numbers wherever a Sub stands."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from minuend.errors import MinuendError, ResultTooLarge, ShapeError, SpecError, Unsupported
from minuend.onnx.execution.kernels import RunError
from minuend.onnx.model import read

HEAD = '<ir_version: 10, opset_import: ["" : 14, "my" : 1]>'


def run(text: str, inputs=None, **options):
    return read(text).run(inputs or {}, **options)


def told(text: str, kind: type[Exception] = SpecError, inputs=None, **options) -> str:
    with pytest.raises(kind) as caught:
        run(text, inputs, **options)
    assert type(caught.value) is kind
    return str(caught.value)


# ---- limited broadcasting, everywhere -------------------------------------------------------------------------

EVERYWHERE = """
<ir_version: 10, opset_import: ["" : 6, "my" : 1]>
g (float[2,3] a, float[2] b, bool p, int64 n, bool go, float[1,2,3] rows)
  => (float[2,3] here, float[2,3] branch, float[2,3] looped, float[2,3] scanned, float[2,3] called)
{
  here = Sub <axis = 0, broadcast = 1> (a, b)
  branch = If (p) <
    then_branch = yes () => (float[2,3] y) { y = Sub <axis = 0, broadcast = 1> (here, b) },
    else_branch = no () => (float[2,3] z) { z = Identity(a) }>
  looped = Loop (n, go, a) <body = step (int64 i, bool on, float[2,3] s) => (bool still, float[2,3] next) {
    still = Identity(on)
    next = Sub <axis = 0, broadcast = 1> (s, b)
  }>
  scanned = Identity(a)
  called = my.Twice <from = 0> (a, b)
}
<domain: "my", opset_import: ["" : 1, "my" : 1]>
Twice <from> (x, y) => (z) {
  once = my.Once <axis: int = @from> (x, y)
  z = my.Once <axis: int = @from> (once, y)
}
<domain: "my", opset_import: ["" : 1]>
Once <axis> (x, y) => (z) { z = Sub <axis: int = @axis, broadcast = 1, consumed_inputs = [0, 0]> (x, y) }
"""


def test_a_limited_sub_is_right_in_the_graph_a_branch_a_loop_and_functions_in_functions():
    a, b = np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([10, 20])
    feeds = {"a": a, "b": b, "p": np.array(True), "n": np.int64(3), "go": np.array(True), "rows": a[None]}
    found = run(EVERYWHERE, feeds)
    assert list(found) == ["here", "branch", "looped", "scanned", "called"]
    assert found["here"].tolist() == [[-9, -8, -7], [-16, -15, -14]]
    assert found["branch"].tolist() == [[-19, -18, -17], [-36, -35, -34]]
    assert found["looped"].tolist() == [[-29, -28, -27], [-56, -55, -54]]
    assert found["called"].tolist() == [[-19, -18, -17], [-36, -35, -34]]


def test_a_sub_in_a_scan_body_is_right():
    text = """<ir_version: 10, opset_import: ["" : 13]> g (float[2] s, float[3,2] xs)
      => (float[2] last, float[3,2] ys) {
      last, ys = Scan <num_scan_inputs = 1, body = one (float[2] t, float[2] x) => (float[2] u, float[2] v) {
        u = Sub(t, x)
        v = Identity(u)
      }> (s, xs)
    }"""
    found = run(text, {"s": np.float32([1, 1]), "xs": np.float32([[1, 2], [3, 4], [5, 6]])})
    assert found["ys"].tolist() == [[0, -1], [-3, -5], [-8, -11]]
    assert found["last"].tolist() == [-8, -11]


def test_a_state_without_axes_goes_through_a_scan_of_batches():
    text = """<ir_version: 4, opset_import: ["" : 8]> g (float[B] s, float[B,3] xs) => (float[B] last, float[B,3] ys) {
      last, ys = Scan <num_scan_inputs = 1, body = one (float t, float x) => (float u, float v) {
        u = Add(t, x)
        v = Neg(u)
      }> (, s, xs)
    }"""
    found = run(text, {"s": np.float32([1, 2]), "xs": np.float32([[1, 2, 3], [4, 5, 6]])})
    assert found["last"].tolist() == [7, 17]
    assert found["ys"].tolist() == [[-2, -4, -7], [-6, -11, -17]]


@pytest.mark.parametrize(
    ("node", "key", "given", "expected"),
    [
        ('CastMap <cast_to = "TO_FLOAT"> (m)', TensorProto.INT64, {3: 0.5, 1: 2.0}, [[2, 0.5]]),
        ("DictVectorizer <int64_vocabulary = [1, 9, 3]> (m)", TensorProto.INT64, {3: 0.5, 1: 2.0}, [[2, 0, 0.5]]),
        ('DictVectorizer <string_vocabulary = ["b", "a"]> (m)', TensorProto.STRING, {"a": 0.5}, [[0, 0.5]]),
    ],
)  # fmt: skip
def test_floats_of_a_map_are_of_its_declared_type(node, key, given, expected):
    proto = of_a_map(node, key, TensorProto.FLOAT)
    found = read(proto).run({"m": given})["y"]
    assert (found.dtype, found.tolist()) == (np.float32, expected)


def test_a_map_of_float64_is_refused_and_not_computed_in_float32():
    proto = of_a_map("DictVectorizer <int64_vocabulary = [1, 3]> (m)", TensorProto.INT64, TensorProto.DOUBLE)
    with pytest.raises(RunError, match=r"Actual: .*tensor\(float\).* expected: .*tensor\(double\).*graph.node\[0\]"):
        read(proto).run({"m": {3: 0.1, 1: 2}})


def of_a_map(node: str, key: int, value: int) -> onnx.ModelProto:
    text = f"""<ir_version: 8, opset_import: ["" : 14, "ai.onnx.ml" : 1]> g (float m) => (float[1,N] y) {{
      y = ai.onnx.ml.{node} }}"""
    proto = onnx.parser.parse_model(text)
    proto.graph.input[0].type.CopyFrom(helper.make_map_type_proto(key, helper.make_tensor_type_proto(value, [])))
    proto.graph.output[0].type.tensor_type.elem_type = value
    return proto


@pytest.mark.parametrize(
    ("domain", "op", "attributes"),
    [("ai.onnx.preview.training", "Adam", ""), ("ai.onnx.preview.training", "Momentum",
     '<mode = "standard", alpha = 1.0, beta = 1.0, norm_coefficient = 0.0>'),
     ("ai.onnx.preview", "FlexAttention", ""), ("com.microsoft", "BiasSplitGelu", ""), ("own", "Special", "")],
)  # fmt: skip
def test_operators_of_other_domains_that_onnxruntime_lacks_are_refused_by_name(domain, op, attributes):
    inputs = "r, t, x, x, x, x" if op == "Adam" else "r, t, x, x, x" if op == "Momentum" else "q, q, q"
    inputs = inputs if op != "BiasSplitGelu" else "q, b"
    text = f"""<ir_version: 10, opset_import: ["" : 21, "{domain}" : 1]>
      g (float r, int64 t, float[2] x, float[1,1,2,2] q, float[2] b) => (float[2] y) {{
      y = {domain}.{op} {attributes} ({inputs}) }}"""
    given = {"r": np.float32(1), "t": np.int64(0), "x": np.float32([1, 2]), "q": np.ones((1, 1, 2, 2), np.float32)}
    with pytest.raises(RunError, match=rf"{op}.*, at graph\.node\[0\]"):
        run(text, {**given, "b": np.float32([1, 2])})


def test_a_sequence_of_maps_passes_from_node_to_node():
    text = """<ir_version: 8, opset_import: ["" : 14, "ai.onnx.ml" : 1]> g (float[2,2] x) => (float y) {
      s = Neg(x)
      y = ai.onnx.ml.ZipMap <classlabels_strings = ["a", "b"]> (s)
    }"""
    proto = onnx.parser.parse_model(text)
    proto.graph.output[0].ClearField("type")
    assert read(proto).run({"x": np.float32([[1, 2], [3, 4]])})["y"] == [{"a": -1, "b": -2}, {"a": -3, "b": -4}]


def test_an_output_that_an_iteration_leaves_out_is_an_error_that_says_so():
    # No mode of the standard: statistics are outputs of the mode 1 alone.
    text = """<ir_version: 10, opset_import: ["" : 15]> g (float[2,1,2] xs, float[2] k)
      => (float[2,1,2] ys, float[2,2] ms) {
      ys, ms = Scan <num_scan_inputs = 1, body = one (float[1,2] x) => (float[1,2] y, float[2] m) {
        y, m, v = BatchNormalization <training_mode = -1> (x, k, k, k, k)
      }> (xs)
    }"""
    with pytest.raises(SpecError, match="an iteration of Scan gives no value for an output of its body"):
        run(text, {"xs": np.ones((2, 1, 2), np.float32), "k": np.ones(2, np.float32)})


def test_strings_run_beside_constants_of_external_data(tmp_path):
    text = '<ir_version: 10, opset_import: ["" : 18]> g (string[1] s) => (float[1] y) { y = CastLike(s, w) }'
    proto = onnx.parser.parse_model(text)
    proto.graph.initializer.append(TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1]))
    proto.graph.initializer[0].data_location = TensorProto.EXTERNAL
    proto.graph.initializer[0].external_data.add(key="location", value="w.bin")
    (tmp_path / "w.bin").write_bytes(np.float32([1]).tobytes())
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    found = read(str(tmp_path / "m.onnx")).run({"s": np.array(["-7"], object)})
    assert found["y"].tolist() == [-7]


@pytest.mark.parametrize(
    ("dtype", "word", "opset"),
    [("uint8", "uint8", 14), ("bfloat16", "bfloat16", 13), ("float16", "float16", 1), ("int64", "int64", 6)],
)
def test_element_types_pass_through(dtype, word, opset):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    text = (
        f'<ir_version: 10, opset_import: ["" : {opset}]> g ({word}[2] a, {word}[2] b) => ({word}[2] c) {{c=Sub(a,b)}}'
    )
    found = run(text, {"a": np.array([5, 3], dtype), "b": np.array([2, 2], dtype)})["c"]
    assert found.dtype == dtype
    assert found.astype(int).tolist() == [3, 1]


# ---- inputs ---------------------------------------------------------------------------------------------------

INPUTS = HEAD + "g (float[N,3] a, float[N] b) => (float[N,3] c) { c = Identity(a) d = Identity(b) }"


def test_inputs_are_named_typed_and_shaped_as_declared():
    a, b = np.zeros((2, 3), np.float32), np.zeros(2, np.float32)
    assert run(INPUTS, {"a": a, "b": b})["c"].shape == (2, 3)
    assert told(INPUTS, inputs={"a": a, "x": b}) == "there is no input 'x'; expected 'a', 'b', at graph"
    assert told(INPUTS, inputs={"a": a}) == "the input 'b' is missing; expected 'a', 'b', at graph"
    assert told(INPUTS, inputs={"a": a.astype(float), "b": b}) == (
        "an array of float64 came; expected float32 (FLOAT), at input 'a'"
    )
    assert told(INPUTS, inputs={"a": a[0], "b": b}) == "an array of shape (3,) came; expected (N, 3), at input 'a'"
    assert told(INPUTS, inputs={"a": a.T, "b": b}) == "an array of shape (3, 2) came; expected (N, 3), at input 'a'"
    assert told(INPUTS, inputs={"a": a, "b": b[:1]}) == (
        "axis 0 has 1, and N is 2 by axis 0 of 'a'; expected one size, at input 'b'"
    )


def test_foreign_byte_order_and_scalars_are_taken():
    text = HEAD + "g (int32[2] a, int32 b) => (int32[2] c) { c = Sub(a, b) }"
    found = run(text, {"a": np.array([1, 2], ">i4"), "b": np.int32(3)})["c"]
    assert found.dtype == np.int32
    assert found.tolist() == [-2, -1]


def test_an_input_with_an_initializer_may_be_left_out():
    proto = onnx.parser.parse_model(HEAD + "g (float[2] a, float[2] b) => (float[2] c) { c = Sub(a, b) }")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.float32([1, 2]), "b"))
    found = read(proto)
    assert found.run({"a": np.float32([5, 5])})["c"].tolist() == [4, 3]
    assert found.run({"a": np.float32([5, 5]), "b": np.float32([2, 2])})["c"].tolist() == [3, 3]


def test_sequences_and_optionals_pass_as_they_are():
    text = HEAD + "g (seq(float[2]) xs) => (float[4] c) { c = ConcatFromSequence <axis = 0> (xs) }"
    found = run(text, {"xs": [np.float32([1, 2]), np.float32([3, 4])]})
    assert found["c"].tolist() == [1, 2, 3, 4]


# ---- sizes ----------------------------------------------------------------------------------------------------

BOMB = HEAD + "g (float[N,1] a, float[1,M] b) => (float[N,M] c) { [big] c = Sub(a, b) }"


def test_a_result_beyond_the_limit_is_refused_before_anything_runs():
    feeds = {"a": np.zeros((10**6, 1), np.float32), "b": np.zeros((1, 10**6), np.float32)}
    assert told(BOMB, ResultTooLarge, feeds) == (
        "'c', float [1000000, 1000000], takes 4000000000000 bytes, more than the limit of 4294967296; allow it with "
        "max_bytes=4000000000000 or, without a limit, max_bytes=None, at graph.node[0] 'big'"
    )
    small = {"a": np.zeros((10, 1), np.float32), "b": np.zeros((1, 10), np.float32)}
    assert run(BOMB, small, max_bytes=400)["c"].shape == (10, 10)
    assert run(BOMB, small, max_bytes=None)["c"].shape == (10, 10)
    with pytest.raises(ResultTooLarge) as caught:
        run(BOMB, small, max_bytes=399)
    assert (caught.value.nbytes, caught.value.limit, caught.value.where) == (400, 399, "graph.node[0] 'big'")
    assert isinstance(caught.value, MinuendError)


def test_other_operators_are_held_to_the_limit_where_inference_sees_their_result():
    text = HEAD + "g (float[1] a) => (float[N] c) { n = Constant <value = int64[1] {9000000000}> () c = Expand(a, n) }"
    assert told(text, ResultTooLarge, {"a": np.float32([1])}).startswith(
        "'c', float [9000000000], takes 36000000000 bytes, more than the limit of 4294967296; "
    )


def test_what_inference_does_not_see_is_held_to_the_limit_when_the_sub_runs():
    text = (
        HEAD
        + """g (float[N] a, int64[2] s, int64[2] t) => (float[P,Q] c)
      { x = Reshape(a, s) y = Reshape(a, t) c = Sub(x, y) }"""
    )
    feeds = {"a": np.zeros(100000, np.float32), "s": np.int64([-1, 1]), "t": np.int64([1, -1])}
    assert told(text, ResultTooLarge, feeds) == (
        "'c', float32 [100000, 100000], takes 40000000000 bytes, more than the limit of 4294967296; allow it with "
        "max_bytes=40000000000 or, without a limit, max_bytes=None, at graph.node[2]"
    )


# ---- what fails -----------------------------------------------------------------------------------------------


def test_a_sub_that_breaks_a_rule_tells_its_place():
    text = HEAD + "g (float[2] a, float[3] b) => (float[N] c) { [bad] c = Sub(a, b) }"
    assert told(text, ShapeError, {"a": np.float32([1, 2]), "b": np.float32([1, 2, 3])}) == (
        "shapes (2,) and (3,) do not broadcast: axis 0 of the result has 2 and 3; they must be equal, or one of them "
        "1, at graph.node[0] 'bad'"
    )


def test_an_operator_that_the_evaluator_lacks_or_that_fails_is_told():
    text = HEAD + "g (float[2] a) => (float[2] c) { c = my.Thing(a) }"
    assert told(text, RunError, {"a": np.float32([1, 2])}, evaluator="reference") == (
        "ONNX's reference evaluator failed: NotImplementedError: Node type 'Thing' from domain 'my' is unknown, "
        "known functions: []."
    )
    text = HEAD + "g (float[2] a, int64[1] s) => (float[N] c) { c = Reshape(a, s) }"
    message = told(text, RunError, {"a": np.float32([1, 2]), "s": np.int64([3])}, evaluator="reference")
    assert message.startswith("ONNX's reference evaluator failed: ")
    assert "cannot reshape array of size 2 into shape (3,)" in message


def test_another_operator_with_a_limited_axis_is_refused_and_not_computed_wrongly():
    text = """<ir_version: 3, opset_import: ["" : 6]> g (float[2,3] a, float[2] b) => (float[2,3] c) {
      c = Add <axis = 0, broadcast = 1> (a, b) }"""
    feeds = {"a": np.zeros((2, 3), np.float32), "b": np.float32([1, 2])}
    assert told(text, Unsupported, feeds, evaluator="reference") == (
        "ONNX's evaluator ignores the axis of Add in opset 6, and would align B at the right; convert the model to "
        "opset 7 or above first, at graph.node[0]"
    )
    suffix = text.replace("axis = 0, ", "").replace("float[2] b", "float[3] b")
    for evaluator in ("reference", "onnxruntime"):
        found = run(suffix, {**feeds, "b": np.float32([1, 2, 3])}, evaluator=evaluator)
        assert found["c"].tolist() == [[1, 2, 3]] * 2
    assert run(text, feeds)["c"].tolist() == [[1, 1, 1], [2, 2, 2]]


@pytest.mark.parametrize("evaluator", ["onnxruntime", "reference"])
def test_sparse_constants_are_taken(evaluator):
    """ONNX's evaluator takes none, so that it is given them with their zeros."""
    proto = onnx.parser.parse_model(HEAD + "g (float[2] a) => (float[2] c) { b = Sub(a, w) c = Sub(b, k) }")
    values = helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])
    sparse = helper.make_sparse_tensor(values, helper.make_tensor("", TensorProto.INT64, [1], [0]), [2])
    proto.graph.sparse_initializer.append(sparse)
    proto.graph.node.insert(0, helper.make_node("Constant", [], ["k"], sparse_value=sparse))
    assert read(proto).run({"a": np.float32([1, 2])}, evaluator=evaluator)["c"].tolist() == [-1, 2]


def test_running_changes_nothing_in_the_model():
    found = read(EVERYWHERE)
    before = found.proto.SerializeToString()
    a, b = np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([10, 20])
    found.run({"a": a, "b": b, "p": np.array(False), "n": np.int64(1), "go": np.array(True), "rows": a[None]})
    list(found.subtractions())
    assert found.proto.SerializeToString() == before
