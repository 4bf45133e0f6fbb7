"""Across modules: onnxruntime, one node at a time, or ONNX's reference evaluator computes the other operators."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import onnx
import pytest
from model_corpus import INDEX, inputs, load
from onnx import TensorProto, helper

pytest.importorskip("onnxruntime")

import minuend as mn
from minuend.errors import FileFormatError, ShapeError, SpecError, Unsupported
from minuend.onnx.execution import kernels
from minuend.onnx.execution.interpreter import EVALUATORS
from minuend.onnx.execution.kernels import RunError
from minuend.onnx.execution.running import traced
from minuend.onnx.model import read
from minuend.onnx.processes import computing_process

HEAD = '<ir_version: 10, opset_import: ["" : 14]>'


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_values_are_all_that_the_main_graph_computes(evaluator):
    model = read(
        HEAD
        + """g (float[2] a, bool p) => (float[2] d) {
        b = Sub(a, a)
        c = If (p) <then_branch = t () => (float[2] x) { y = Neg(b) x = Exp(y) }, else_branch = e () => (float[2] z)
          { z = Neg(a) }>
        d = Add(c, a)
    }"""
    )
    found, _ = traced(model, {"a": np.float32([1, 2]), "p": np.array(True)}, wide=False, evaluator=evaluator)
    assert {name: array.tolist() for name, array in found.items()} == {"b": [0, 0], "c": [1, 1], "d": [2, 3]}


def test_a_kernel_that_crashes_takes_nobody_with_it(monkeypatch):
    # Up to 1.31.1 Attention without heads divides by zero; 1.32.0 refuses it, so a kernel is broken here.
    crash = (
        "import os, signal, onnxruntime as o; o.InferenceSession.run = lambda *_: os.kill(os.getpid(), signal.SIGFPE)"
    )
    model = read(HEAD + "g (float[2] a) => (float[2] c) { [heads] c = Neg(a) }")
    computing_process.PROCESSES.stop()
    monkeypatch.setattr(
        computing_process, "_START", computing_process._START.replace("c.serve()", f"{crash}; c.serve()")
    )
    with pytest.raises(RunError) as caught:
        model.run({"a": np.float32([1, 2])})
    monkeypatch.undo()
    assert str(caught.value) == "onnxruntime crashed: its process ended by signal 8, at graph.node[0] 'heads'"
    assert read(HEAD + "g (float[2] a) => (float[2] c) { c = Neg(a) }").run({"a": np.float32([1, 2])})["c"][0] == -1


def test_threads_run_models_at_once_and_an_error_ends_no_process():
    model = read(HEAD + "g (float[N] a, float[M] b) => (float[K] c) { d = Exp(a) c = Sub(d, b) }")
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda n: model.run({"a": np.zeros(n, np.float32), "b": np.zeros(1, np.float32)}), range(9))
        )
    assert [len(one["c"]) for one in found] == list(range(9))
    (kept,) = computing_process.PROCESSES.idle
    with pytest.raises(ShapeError) as caught:
        model.run({"a": np.zeros(2, np.float32), "b": np.zeros(3, np.float32)})
    assert caught.value.where == "graph.node[1]"
    assert computing_process.PROCESSES.idle == [kept]


def test_what_onnxruntime_lacks_is_told_by_name_with_the_way_out():
    text = HEAD + "g (float[2] a, uint32[2] b) => (float[2] c) { [power] c = Pow(a, b) }"
    feeds = {"a": np.float32([2, 3]), "b": np.uint32([2, 3])}
    with pytest.raises(RunError) as caught:
        read(text).run(feeds)
    assert str(caught.value) == (
        "onnxruntime 1.32.0 has no Pow of opset 14 for float32, uint32; evaluator='reference' runs the model on ONNX's "
        "reference evaluator, at graph.node[0] 'power'"
    )
    assert read(text).run(feeds, evaluator="reference")["c"].tolist() == [4, 27]


@pytest.mark.parametrize("op", ["Add", "Mul", "Max", "Min"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_small_integers_that_onnxruntime_lacks_are_exact(op, dtype):
    kind = np.dtype(dtype).name
    text = HEAD + f"g ({kind}[256,1] a, {kind}[256] b) => ({kind}[256,256] c) {{ c = {op}(a, b) }}"
    info = np.iinfo(dtype)
    a = np.arange(info.min, info.max + 1)
    exact = {"Add": np.add, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum}[op].outer(a, a)
    found = read(text).run({"a": a[:, None].astype(dtype), "b": a.astype(dtype)})["c"]
    assert found.dtype == dtype
    assert np.array_equal(found, (exact - info.min) % 256 + info.min)


@pytest.mark.parametrize("op", ["Add", "Mul", "Div"])
def test_bfloat16_that_onnxruntime_lacks_is_rounded_once(op):
    random = np.random.default_rng(3)
    a, b = random.integers(0, 1 << 16, (2, 20000)).astype(np.uint16).view(ml_dtypes.bfloat16)
    text = HEAD + f"g (bfloat16[N] a, bfloat16[N] b) => (bfloat16[N] c) {{ c = {op}(a, b) }}"
    found = read(text).run({"a": a, "b": b})["c"]
    with np.errstate(all="ignore"):
        wide = {"Add": np.add, "Mul": np.multiply, "Div": np.divide}[op](a.astype(np.float64), b.astype(np.float64))
        finite = np.isfinite(wide) & (np.abs(wide) > 1e-30)
        near = wide.astype(ml_dtypes.bfloat16)
    assert (found[finite] == near[finite]).mean() > 0.999
    assert found.dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("evaluator", [None, "reference"])
@pytest.mark.parametrize(("kind", "opset"), [("bfloat16", 13), ("uint16", 14), ("float16", 6), ("uint8", 14)])
def test_a_sub_is_exact_in_bodies_and_functions_of_any_type_and_opset(evaluator, kind, opset):
    text = f"""<ir_version: 10, opset_import: ["" : {opset}, "my" : 1]>
    g ({kind}[4] a, {kind}[4] b, bool p) => ({kind}[4] c, {kind}[4] d) {{
      c = If (p) <then_branch = t () => ({kind}[4] x) {{ x = Sub(a, b) }},
                  else_branch = e () => ({kind}[4] y) {{ y = Identity(a) }}>
      d = my.Twice(a, b)
    }}
    <domain: "my", opset_import: ["" : {opset}]> Twice (x, y) => (z) {{ w = Sub(x, y) z = Sub(w, y) }}"""
    dtype = np.dtype(getattr(ml_dtypes, kind, kind))
    a, b = np.array([1, 3, 200, 0], dtype), np.array([3, 3, 1, 2], dtype)
    found = read(text).run({"a": a, "b": b, "p": np.array(True)}, evaluator=evaluator)
    once = mn.subtract(a, b)
    assert found["c"].dtype == dtype
    assert found["c"].tolist() == once.tolist()
    assert found["d"].tolist() == mn.subtract(once, b).tolist()


@pytest.mark.parametrize("kind", ["float8_e4m3fn", "float8_e5m2", "int4", "uint4", "bfloat16"])
def test_types_that_numpy_lacks_go_through_onnxruntime_and_back(kind):
    word = {"float8_e4m3fn": "float8e4m3fn", "float8_e5m2": "float8e5m2"}.get(kind, kind)
    dtype = np.dtype(getattr(ml_dtypes, kind))
    text = (
        HEAD.replace("14", "21")
        + f"""g ({word}[2,3] a) => (float[2,3] w, {word}[2,3] c) {{
        w = Cast <to = 1> (a)
        c = CastLike (w, a)
    }}"""
    )
    a = np.array([[0, 1, 2], [3, 4, 6]], dtype)
    found = read(text).run({"a": a})
    assert found["w"].tolist() == [[0, 1, 2], [3, 4, 6]]
    assert found["c"].dtype == dtype
    assert found["c"].tobytes() == a.tobytes()


@pytest.mark.parametrize(("kind", "number"), [("float8_e4m3fn", 17), ("bfloat16", 16), ("float16", 10)])
def test_strings_become_types_that_numpy_lacks(kind, number):
    word = {"float8_e4m3fn": "float8e4m3fn"}.get(kind, kind)
    text = (
        HEAD.replace("14", "21")
        + f"""g (string[N] a, {word} one) => ({word}[N] c, string[N] same, {word}[N] like) {{
        c = Cast <to = {number}> (a)
        same = Identity (a)
        like = CastLike (a, one)
    }}"""
    )
    dtype = np.dtype(getattr(ml_dtypes, kind, kind))
    model = read(text)
    for words in (["1.5", "-2"], ["3"], ["1.5", "-2", "0.25"]):
        found = model.run({"a": np.array(words), "one": np.ones((), dtype)})
        assert found["c"].dtype == found["like"].dtype == dtype
        assert found["c"].tolist() == found["like"].tolist() == [float(word) for word in words]
        assert found["same"].tolist() == words


def test_an_array_of_4_bits_has_its_own_shape_in_every_turn_of_a_loop():
    text = (
        HEAD.replace("14", "21")
        + """g (int4[2] flat, int64 n, bool go) => (int8[A,B] last)
          <int64[1] axis = {0}, int64[1] one = {1}, int64[1] rest = {-1}> {
        column = Unsqueeze (flat, axis)
        first = Cast <to = 3> (column)
        last = Loop (n, go, first) <body = step (int64 i, bool on, int8[A,B] s) => (bool still, int8[C,D] next) {
            still = Identity (on)
            j = Add (i, one)
            row = Reshape (j, one)
            shape = Concat <axis = 0> (row, rest)
            turned = Reshape (flat, shape)
            next = Cast <to = 3> (turned)
        }>
    }"""
    )
    flat = np.array([3, -4], ml_dtypes.int4)
    for turns in (1, 2):
        found = read(text).run({"flat": flat, "n": np.int64(turns), "go": np.array(True)})["last"]
        assert found.tolist() == flat.reshape(turns, -1).tolist()


def test_a_node_of_an_opset_that_onnxruntime_lacks_is_converted():
    rois = (
        HEAD.replace("14", "22")
        + """g (float[1,1,4,4] x, float[1,4] r, int64[1] b) => (float[1,1,1,1] y) {
        y = RoiAlign (x, r, b) }"""
    )
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    found = read(rois).run({"x": x, "r": np.float32([[0.5, 0.5, 3.5, 3.5]]), "b": np.int64([0])})
    assert found["y"].item() == pytest.approx(7.5)
    legacy = (
        '<ir_version: 3, opset_import: ["" : 6]>'
        """g (float[2,3] a, float[2] b) => (float[2,3] c) {
        s = Mul <axis = 0, broadcast = 1> (a, b)
        c = Sub <axis = 0, broadcast = 1> (s, b)
    }"""
    )
    found = read(legacy).run({"a": np.ones((2, 3), np.float32), "b": np.float32([3, 5])})
    assert found["c"].tolist() == [[0, 0, 0]] * 2


def test_a_sparse_initializer_is_taken():
    proto = onnx.parser.parse_model(HEAD + "g (float[2] a) => (float[2] c) { c = Sub(a, w) }")
    values = helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])
    at = helper.make_tensor("", TensorProto.INT64, [1], [1])
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, at, [2]))
    assert read(proto).run({"a": np.float32([1, 2])})["c"].tolist() == [1, 1]


def test_an_evaluator_is_named_as_it_is_known():
    model = read(HEAD + "g (float[2] a) => (float[2] c) { c = Sub(a, a) }")
    with pytest.raises(SpecError) as caught:
        model.run({"a": np.float32([1, 2])}, evaluator="onnxrutime")
    assert str(caught.value) == (
        "no evaluator 'onnxrutime' (did you mean 'onnxruntime'?); expected 'onnxruntime' or 'reference'"
    )


def test_without_onnxruntime_the_reference_evaluator_runs_and_onnxruntime_is_refused(monkeypatch):
    monkeypatch.setattr(kernels, "release", lambda: None)
    model = read(HEAD + "g (float[2] a) => (float[2] c) { b = Exp(a) c = Sub(b, b) }")
    assert model.run({"a": np.float32([1, 2])})["c"].tolist() == [0, 0]
    with pytest.raises(Unsupported) as caught:
        model.run({"a": np.float32([1, 2])}, evaluator="onnxruntime")
    assert str(caught.value) == (
        "evaluator='onnxruntime' needs the package onnxruntime, which is not installed: pip install onnxruntime"
    )


@pytest.mark.parametrize("file", sorted(INDEX)[::4])
def test_both_evaluators_agree_on_exported_models(file):
    feeds = inputs(file)
    ours, _ = traced(read(load(file)), feeds, wide=False)
    try:
        theirs, _ = traced(read(load(file)), feeds, wide=False, evaluator="reference")
    except (Unsupported, RunError):  # it names what it is wrong for, or fails: then there is nothing to compare
        return
    assert list(ours) == list(theirs)
    for name, want in theirs.items():
        got = ours[name]
        assert (got.shape, got.dtype) == (want.shape, want.dtype), name
        if got.dtype.kind == "f":
            scale = np.abs(want[np.isfinite(want)].astype(np.float64)).max(initial=1)
            assert np.allclose(got, want, 0, scale * (2e-2 if got.dtype == np.float16 else 1e-3), equal_nan=True), name


def test_run_says_nothing_on_any_stream(capfd):
    read(HEAD + "g (float[2] a, float[0] e) => (float[2] c) { b = Exp(a) c = Sub(b, b) }").run(
        {"a": np.float32([1, 2]), "e": np.zeros(0, np.float32)}
    )
    assert capfd.readouterr() == ("", "")


def test_a_newer_opset_is_computed_where_its_operator_is_an_old_one_and_told_where_it_is_not():
    text = (
        HEAD.replace("14", "28")
        + 'g ({0}[3] a) => ({0}[3] c) {{ s = BitShift <direction = "LEFT"> (a, a) c = Neg(s) }}'
    )
    assert read(text.format("int16")).run({"a": np.int16([0, 1, 2])})["c"].tolist() == [0, -2, -8]
    text = HEAD.replace("14", "28") + "g (float[2] a) => (float[2] c) { [gate] c = SwiGLU (a, a) }"
    with pytest.raises(RunError) as caught:
        read(text).run({"a": np.float32([1, 2])})
    assert str(caught.value) == (
        "onnxruntime 1.32.0 has no SwiGLU of opset 28 for float32; evaluator='reference' runs the model on ONNX's "
        "reference evaluator, at graph.node[0] 'gate'"
    )


def test_external_data_is_read_from_the_models_own_folder_alone(tmp_path, monkeypatch):
    proto = onnx.parser.parse_model(HEAD + "g (float[2] a) => (float[2] c) { b = Exp(w) c = Sub(b, a) }")
    tensor = onnx.numpy_helper.from_array(np.zeros(2, np.float32), "w")
    proto.graph.initializer.append(tensor)
    onnx.external_data_helper.set_external_data(proto.graph.initializer[0], "data/w.bin")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "w.bin").write_bytes(tensor.raw_data)
    proto.graph.initializer[0].ClearField("raw_data")
    monkeypatch.chdir(tmp_path)
    assert read(proto, base_dir=".").run({"a": np.float32([0, 3])})["c"].tolist() == [1, -2]
    proto.graph.initializer[0].external_data[0].value = "../w.bin"
    with pytest.raises(FileFormatError) as caught:
        read(proto, base_dir="data").run({"a": np.float32([0, 3])})
    assert str(caught.value) == (
        "the ModelProto: graph, initializer 'w' has its data at '../w.bin': it leads upwards; expected a path relative "
        "to the model's folder, beneath it"
    )


@pytest.mark.parametrize(
    ("at", "made"),
    [(-3, [9, 1, 2, 3]), (-1, [1, 2, 9, 3]), (0, [9, 1, 2, 3]), (3, [1, 2, 3, 9]), (-4, None), (4, None)],
)
def test_a_value_is_inserted_within_a_sequence_or_right_behind_it(at, made):
    model = (
        HEAD
        + """g (float a, int64 at) => (float[n] y) {
        one = Constant<value_float = 1.0>() two = Constant<value_float = 2.0>() three = Constant<value_float = 3.0>()
        d = Sub(a, one) s = SequenceConstruct(one, two, three) t = SequenceInsert(s, d, at)
        y = ConcatFromSequence<axis = 0, new_axis = 1>(t)
    }"""
    )
    given = {"a": np.float32(10), "at": np.int64(at)}
    if made is not None:
        assert mn.run(model, given)["y"].tolist() == made
        return
    with pytest.raises(SpecError, match=f"the position {at} is not in a sequence of 3"):
        mn.run(model, given)


@pytest.mark.skipif(onnx.defs.onnx_opset_version() < 27, reason="needs opset 27")
def test_a_function_body_that_needs_shapes_gets_them():
    """onnxruntime has no kernel of these, and makes their bodies of the shapes that it knows."""
    x, w = np.ones((1, 2, 4), np.float32), np.ones((2, 1, 1), np.float32)
    model = onnx.parser.parse_model("""<ir_version: 13, opset_import: ["" : 27]>
        g (float[1,2,4] x, float[2,1,1] w) => (float[1,2,4] y) { y, s = CausalConvWithState(x, w) }""")
    assert mn.run(model, {"x": x, "w": w})["y"].tolist() == x.tolist()
