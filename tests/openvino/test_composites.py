"""What an IR is called is not what it computes: models of ONNX have the verdicts that they have as IRs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from minuend import check
from minuend.models.flow import Flow
from minuend.openvino.composites import as_operators

OPENVINO = "openvino-cpu@2026.4.1"

QUANTISED = "q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)"
CELL = """c = Concat <axis: int = 1> (x, h) g = Gemm <transB: int = 1> (c, v, b) f = Sigmoid(g)
    r, u = Split <axis: int = 1> (f) i = Mul(r, h) e = Concat <axis: int = 1> (x, i)
    o = Gemm <transB: int = 1> (e, w, k) n = Tanh(o) y = Sub(two, u) p = Mul(y, n) t = Mul(u, h) out = Add(p, t)"""
NORMALISED = """m = ReduceMean <axes = [-1]> (x) y = Sub(x, m) p = Mul(y, y) v = ReduceMean <axes = [-1]> (p)
    a = Add(v, e) q = Pow(a, k) r = Reciprocal(q) out = Mul(y, r)"""
WRITTEN = {  # the shape of x, constants, the nodes of which y is the difference, and its verdict
    "a gated cell of Gemm": ("2,6", "float two = {2}, " + ", ".join(
        f"float[{dims}] {name} = {{{', '.join(['0.25'] * size)}}}"
        for name, dims, size in (("v", "16,14", 224), ("b", "1,16", 16), ("w", "8,14", 112), ("k", "1,8", 8))
    ), CELL, "different-numbers"),
    "quantised, ReLU and a sum": ("2,8", "", f"{QUANTISED} t = Tanh(x) a = Add(d, t) n = Relu(a) y = Sub(n, s)",
                                  "different-numbers"),
    "quantised and Clip": ("2,8", "float lo = {-1}, float hi = {2}, float k = {0.37}",
                           f"{QUANTISED} c = Clip(d, lo, hi) y = Sub(c, k)", "different-numbers"),
    "AveragePool": ("1,4,6,6", "", "a = AveragePool <kernel_shape = [1, 1]> (x) b = Ceil(x) y = Sub(b, a)",
                    "different-numbers"),
    "BatchNormalization": ("1,4,3,3", "float[4] k = {1, 0.5, 2, 3}",
                           "n = BatchNormalization(x, k, k, k, k) m = Abs(x) y = Sub(n, m)", "ok"),
    "LayerNormalization of four axes": ("2,4,3,8", "float[8] k = {1, 0.5, 2, 3, 0.1, 0.7, 1.1, 0.3}",
                                        "n = LayerNormalization(x, k) m = Abs(x) y = Sub(n, m)", "ok"),
    "Gemm without a bias": ("4,2", "float[2,2] v = {1, 0.5, 2, 3}, float[2] k = {0.37, 0.7}",
                            "n = Gemm(x, v) m = Neg(n) y = Sub(m, k)", "ok"),
    "InstanceNormalization": ("1,3,8", "float[3] k = {0.3, 0.7, 1.1}",
                              "n = InstanceNormalization(x, k, k) m = Abs(x) y = Sub(n, m)", "ok"),
    "HardSigmoid": ("n,8", "", "b = HardSigmoid(x) y = Sub(b, h)", "ok"),
    "a normalisation with Reciprocal": ("1,2,3,8", "float e = {0.001}, float k = {0.5}", NORMALISED,
                                        "different-numbers"),
    "MeanVarianceNormalization": ("1,4,3,3", "", "n = MeanVarianceNormalization(x) b = Ceil(x) y = Sub(b, n)",
                                  "different-numbers"),
}  # fmt: skip


def model(dims, constants, nodes):
    given = f"float[{dims}] x, float[{dims.split(',')[0]},8] h"
    stored = ", ".join(filter(None, (constants, "float s = {0.05}, uint8 z = {7}")))
    ends = "" if "out = " in nodes else "out = Identity(y)"
    text = f"g ({given}) => (float[] out) <{stored}> {{ {nodes} {ends} }}"
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')


@pytest.mark.parametrize(("dims", "constants", "nodes", "expected"), WRITTEN.values(), ids=WRITTEN)
def test_a_model_has_the_same_verdict_as_an_ir(dims, constants, nodes, expected, tmp_path):
    openvino = pytest.importorskip("openvino")
    proto = model(dims, constants, nodes)
    (found,) = check(proto, OPENVINO, hint="f32").findings
    read = openvino.Core().read_model(proto.SerializeToString())
    openvino.save_model(read, tmp_path / "m.xml", compress_to_fp16=False)
    as_ir = {one.node: one.verdict for one in check(tmp_path / "m.xml", OPENVINO, hint="f32").findings}
    assert (found.verdict, as_ir["y"]) == (expected, expected)


def test_a_size_that_is_not_known_is_open_in_an_ir_as_well(tmp_path):
    openvino = pytest.importorskip("openvino")
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[1,3,8] q, float[1,8,3] k, float[n,3,8] x) => (float[] y)
        { m = MatMul(q, k) p = Softmax(m) a = MatMul(p, q) d = Sub(a, x) e = Add(d, d) r = Exp(a) y = Add(e, r) }"""
    read = openvino.Core().read_model(onnx.parser.parse_model(text).SerializeToString())
    openvino.save_model(read, tmp_path / "m.xml", compress_to_fp16=False)
    (found,) = check(tmp_path / "m.xml", OPENVINO, hint="f32").findings
    assert (found.verdict, found.severity) == ("different-numbers", "sign-of-zero")  # loads, unlike one of known sizes


def test_one_hot_holds_its_two_values(tmp_path):
    openvino = pytest.importorskip("openvino")
    proto = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]> g (int64[2,3] c) => (int64[2,3,5] y)
        <int64 n = {5}, int64[2] k = {0, 1}, int64 one = {1}> { b = OneHot(c, n, k) y = Sub(one, b) }""")
    read = openvino.Core().read_model(proto.SerializeToString())
    openvino.save_model(read, tmp_path / "m.xml", compress_to_fp16=False)
    found = [check(one, OPENVINO).findings[0].verdict for one in (proto, tmp_path / "m.xml")]
    assert found == ["unknown", "unknown"]  # not different numbers, which 0 and 1 cannot show


def flow(steps, constants, **dtypes):
    numbers = {"one": np.ones(1, np.float32), "lo": np.zeros(1, np.float32), "hi": np.full(1, 6, np.float32)}
    return Flow(
        steps,
        constants,
        dtypes,
        ("y",),
        shapes=dict.fromkeys(numbers, ()),
        sizes=dict.fromkeys(numbers, 1),
        elements=numbers.get,
    )


def test_quantisation_is_read_where_its_parts_are_read_once():
    steps = [("FakeQuantize", ("x", "l"), ("f",)), ("Cast", ("f",), ("q",))]
    assert as_operators(flow(steps, "l", q="uint8")).steps[1] == ("QuantizeLinear", ("x", "l"), ("q",))
    again = [*steps, ("Relu", ("f",), ("r",))]
    assert as_operators(flow(again, "l", q="uint8")).steps == again
    assert as_operators(flow(steps, "l", q="float16")).steps == steps


@pytest.mark.parametrize("order", [1, -1])
def test_extremes_of_two_numbers_are_a_clip(order):
    steps = [("Max", ("lo", "x")[::order], ("m",)), ("Min", ("hi", "m")[::order], ("y",))]
    assert as_operators(flow(steps, ("lo", "hi"))).steps == [("", (), ()), ("Clip", ("x", "lo", "hi"), ("y",))]
    steps = [("Min", ("hi", "x")[::order], ("m",)), ("Max", ("lo", "m")[::order], ("y",))]
    assert as_operators(flow(steps, ("lo", "hi"))).steps == [("", (), ()), ("Clip", ("x", "lo", "hi"), ("y",))]
    assert as_operators(flow(steps, ("lo",))).steps == steps


def test_two_clips_in_a_row_stay_two():
    first = [("Max", ("lo", "x"), ("a",)), ("Min", ("hi", "a"), ("b",))]
    steps = [*first, ("Max", ("lo", "b"), ("c",)), ("Min", ("hi", "c"), ("y",))]
    found = [step for step in as_operators(flow(steps, ("lo", "hi"))).steps if step[0]]
    assert found == [("Clip", ("x", "lo", "hi"), ("b",)), ("Clip", ("b", "lo", "hi"), ("y",))]


def test_a_product_with_one_hands_on():
    steps = [("Mul", ("x", "one"), ("y",))]
    assert as_operators(flow(steps, ("one",))).steps == [("Identity", ("x",), ("y",))]
    assert as_operators(flow(steps, ())).steps == steps


@pytest.mark.parametrize(
    ("dtype", "stored", "known"), [("uint8", True, True), ("uint8", False, False), ("int64", True, False)]
)
def test_integers_that_are_scaled_are_codes_where_they_are_stored(dtype, stored, known):
    steps = [("Cast", ("q",), ("f",)), ("Mul", ("f", "s"), ("y",))]
    found = as_operators(flow(steps, ("q", "s") if stored else ("s",), q=dtype, f="float32")).steps
    assert (found[1][0] == "DequantizeLinear") is known
