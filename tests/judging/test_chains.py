"""Across modules: verdicts on a subtraction that further operators separate from what openvino joins with it."""

from __future__ import annotations

import math
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from instruction_sets import NEWER_THAN_AVX2

import minuend as mn
from minuend import check
from minuend.core.elements import TYPES
from minuend.runtimes.running import Refused, Runtime

ONNXRUNTIME, OPENVINO = "onnxruntime-cpu@1.32.0", "openvino-cpu@2026.4.1"


@pytest.fixture(scope="module")
def openvino():
    pytest.importorskip("openvino")
    with Runtime("openvino-cpu") as runtime:
        yield runtime


def numbers(runtime, proto, x, **more):
    """The bits of a result in float32."""
    given = [(name, TYPES[one.dtype.name], one.view(f"u{one.itemsize}")) for name, one in {"x": x, **more}.items()]
    output, *_ = runtime.query("onnx", proto.SerializeToString(), b"", given, "f32")
    return output.codes


def verdict(proto, target=OPENVINO):
    *_, finding = check(proto, target, hint="f32" if target == OPENVINO else "").findings
    return finding.verdict


def changes_numbers(proto):
    """Whether anything but the sign of zeros differs."""
    *_, finding = check(proto, OPENVINO, hint="f32").findings
    return any(one.severity != "sign-of-zero" for one in finding.deviations)


def isolated(text):
    """A model in which a Max of one value twice stands before the subtraction of ``m``."""
    return onnx.parser.parse_model(text.replace("m = ", "t = ").replace("y = Sub", "m = Max(t, t) y = Sub"))


ENDS_WITH_A_BIAS = {  # the operator, the dims of its weights and of its input, and of a constant along channels
    "Conv": ("Conv(x, w{bias})", "8,8,3,3", "4,8,6,6", "8,1,1"),
    "a convolution of each channel": ("Conv <group: int = 8> (x, w{bias})", "8,1,3,3", "4,8,6,6", "8,1,1"),
    "a convolution of three axes": ("Conv(x, w{bias})", "8,8,3", "4,8,6", "8,1"),
    "InstanceNormalization": ("InstanceNormalization(x, w{bias})", "8", "4,8,6,6", "8,1,1"),
    "Gemm": ("Gemm(x, w{bias})", "8,8", "4,8", "8"),
}


@pytest.mark.parametrize("bias", [", b", ""])
@pytest.mark.parametrize("between", ["m = Neg(n)", "m = Mul(n, two)", "m = Abs(n)"])
@pytest.mark.parametrize(("made", "weights", "dims", "shape"), ENDS_WITH_A_BIAS.values(), ids=ENDS_WITH_A_BIAS)
def test_negations_and_exact_products_join_the_bias_that_an_operator_ends_with(
    made, weights, dims, shape, between, bias, openvino
):
    if not bias and "InstanceNormalization" in made:
        pytest.skip("it has one")
    stored = ", ".join(str(round(math.sin(i), 4)) for i in range(math.prod(map(int, weights.split(",")))))
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[{dims}] x) => (float[] y)
        <float[{weights}] w = {{{stored}}}, float[8] b = {{0.31, -0.7, 1.9, 0.03, 1.1, -0.2, 0.77, 0.4}},
         float two = {{2}}, float[{shape}] k = {{1.7, 0.2, -0.9, 0.6, 0.11, 0.3, -1.3, 0.9}}>
        {{ n = {made.format(bias=bias)} {between} y = Sub(m, k) }}"""
    different = bool(bias) and "Abs" not in between
    proto = onnx.parser.parse_model(text)
    assert verdict(proto) == ("different-numbers" if different else "ok")
    assert verdict(proto, ONNXRUNTIME) == "ok"
    x = np.random.default_rng(0).standard_normal(tuple(map(int, dims.split(",")))).astype(np.float32)
    assert np.array_equal(*(numbers(openvino, one, x) for one in (proto, isolated(text)))) is not different


@pytest.mark.parametrize(
    ("rows", "columns", "body", "different"),
    [
        (24, 16, "n = MatMul(x, w) y = Sub(n, k)", True),
        (24, 16, "n = MatMul(x, w) y = Sub(k, n)", True),
        (20, 16, "n = Gemm(x, w) y = Sub(n, k)", True),
        (1000, 16, "n = MatMul(x, w) m = Neg(n) y = Sub(m, k)", True),
        (24, 16, "n = MatMul(x, w) y = Sub(n, z)", False),
        (24, 16, "n = MatMul(x, w) m = Relu(n) y = Sub(m, k)", False),
        (1024, 16, "n = MatMul(x, w) y = Sub(n, k)", True),
        (32, 16, "n = MatMul(x, w) y = Sub(n, k)", False),
        (8, 16, "n = MatMul(x, w) y = Sub(n, k)", False),
    ],
)
@pytest.mark.parametrize("count", ["6", "a"])
def test_a_number_goes_into_the_sums_of_a_product_whose_rows_leave_a_rest_on_openvino(
    rows, columns, body, different, count, openvino
):
    """Cases have products of eight numbers: what is left of rows that do not fill a register is summed otherwise."""
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[{count},{rows}] x) => (float[{count},{columns}] y)
        <float k = {{1.37}}, float[{columns}] z = {{{", ".join(["0.3", "-0.9"] * (columns // 2))}}}> {{ {body} }}"""
    source = np.random.default_rng(0)
    weights = onnx.numpy_helper.from_array(source.standard_normal((rows, columns)).astype(np.float32), "w")
    protos = [onnx.parser.parse_model(text), onnx.parser.parse_model(text.replace("y = Sub", "t = Sub"))]
    protos[1].graph.node[-1].input[:] = [{"m": "u", "n": "u"}.get(one, one) for one in protos[1].graph.node[-1].input]
    made = "m" if "m =" in body else "n"
    between = onnx.helper.make_node("Max", [made, made], ["u"])
    protos[1].graph.node.insert(len(protos[1].graph.node) - 1, between)
    protos[1].graph.output[0].name = "t"
    for one in protos:
        one.graph.initializer.append(weights)
    assert verdict(protos[0]) == ("different-numbers" if different else "ok")
    assert verdict(protos[0], ONNXRUNTIME) == "ok"
    x = source.standard_normal((6, rows)).astype(np.float32)
    if not different or (rows != 1024) == NEWER_THAN_AVX2:  # blocks are those of AVX2; the rest, of registers of 16
        assert np.array_equal(*(numbers(openvino, one, x) for one in protos)) is not different


@pytest.mark.parametrize(
    ("between", "operands", "different"),
    [
        ("m = Mul(d, two)", "x, k", True),
        ("m = Div(d, two)", "k, x", True),
        ("m = Abs(d)", "x, k", False),
    ],
)
def test_exact_products_behind_a_subtraction_join_a_batch_normalisation(between, operands, different, openvino):
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[4,8,6,6] x) => (float[4,8,6,6] y)
        <float[8,1,1] k = {{1.7, 0.2, -0.9, 0.6, 0.11, 0.3, -1.3, 0.9}}, float two = {{2}},
         float[8] b = {{0.31, 0.7, 1.9, 0.03, 1.1, 0.2, 0.77, 0.4}}>
        {{ d = Sub({operands}) {between} y = BatchNormalization(m, b, b, b, b) }}"""
    proto = onnx.parser.parse_model(text)
    assert verdict(proto) == ("different-numbers" if different else "ok")
    assert verdict(proto, ONNXRUNTIME) == "ok"
    apart = onnx.parser.parse_model(text.replace("d = Sub", "e = Sub").replace("m = ", "d = Max(e, e) m = "))
    x = np.random.default_rng(0).standard_normal((4, 8, 6, 6)).astype(np.float32)
    assert np.array_equal(*(numbers(openvino, one, x) for one in (proto, apart))) is not different


@pytest.mark.parametrize(("made", "different"), [("Mul(n, s)", True), ("Relu(n)", False)])
def test_a_shape_that_inference_does_not_tell_can_be_known_to_openvino(made, different, openvino):
    """ONNX's inference knows no shape behind a GroupNormalization of opset 21."""
    text = f"""<ir_version: 10, opset_import: ["" : 21]> g (float[4,8,6,6] x) => (float[4,8,6,6] y)
        <float[8] w = {{1, 1.1, 0.9, 1.3, 0.7, 1.2, 1.4, 0.8}}, float s = {{1.7}}, float k = {{0.3}}>
        {{ n = GroupNormalization <num_groups: int = 2> (x, w, w) m = {made} y = Sub(m, k) }}"""
    proto = onnx.parser.parse_model(text)
    assert verdict(proto) == ("different-numbers" if different else "ok")
    x = np.random.default_rng(0).standard_normal((4, 8, 6, 6)).astype(np.float32)
    assert np.array_equal(*(numbers(openvino, one, x) for one in (proto, isolated(text)))) is not different


@pytest.mark.parametrize(
    "body",
    [
        "m = Add(x, zero) y = Sub(m, k)",
        "m = Mul(x, f) y = Sub(m, zero)",
        "d = Sub(x, k) y = Add(d, zero)",
    ],
)
def test_a_constant_0_next_to_a_subtraction_changes_no_number(body, openvino):
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[4,8] x) => (float[4,8] y)
        <float zero = {{0}}, float f = {{1.7}}, float[8] k = {{1.7, 0.2, -0.9, 0.6, 0.11, 0.3, -1.3, 0.9}}>
        {{ {body} }}"""
    proto = onnx.parser.parse_model(text)
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    assert np.array_equal(numbers(openvino, proto, x), mn.run(proto, {"x": x})["y"].view("u4"))
    (finding,) = check(proto, OPENVINO, hint="f32").findings
    assert {one.severity for one in finding.deviations} <= {"sign-of-zero"}


@pytest.mark.parametrize(
    ("dims", "axis", "constant", "different"),
    [
        ((8, 16), 1, (1,), True),
        ((4, 8, 16), 2, (), True),
        ((2, 8, 4, 16), 3, (1, 8, 1, 1), True),
        ((2, 8, 4, 16), 3, (2, 8, 4, 1), False),
    ],
)
@pytest.mark.parametrize("element", ["bfloat16", "float32"])
def test_what_was_reduced_less_a_constant_is_cut_off_in_bfloat16_on_openvino(
    element, dims, axis, constant, different, openvino
):
    name = "float" if element == "float32" else element
    text = f"""<ir_version: 10, opset_import: ["" : 22]>
        g ({name}[{",".join(map(str, dims))}] x) => ({name}[{",".join(map(str, (*dims[:-1], 1)))}] y)
        <int64[1] axis = {{{axis}}}> {{ m = ReduceMax(x, axis) y = Sub(m, k) }}"""
    memory = TYPES[element].memory
    kept = onnx.numpy_helper.from_array(np.full(constant, 1.0859375).astype(memory), "k")
    protos = [onnx.parser.parse_model(text), isolated(text)]
    for one in protos:
        one.graph.initializer.append(kept)
    if different or element != "bfloat16":  # which is cut off in any case up to AVX2
        assert verdict(protos[0]) == ("different-numbers" if element == "bfloat16" else "ok")
    different = different and element == "bfloat16"
    x = (20 * np.random.default_rng(0).standard_normal(dims)).astype(memory)
    if NEWER_THAN_AVX2:
        assert np.array_equal(*(numbers(openvino, one, x) for one in protos)) is not different


@pytest.mark.parametrize(
    ("body", "readers", "different"),
    [
        ("m = Sub(d, minus)", "w = LogSoftmax(m)", True),
        ("r = Relu(d) m = Sub(r, minus)", "w = LogSoftmax(m)", True),
        ("e = Exp(d) m = Sub(e, minus)", "w = LogSoftmax(m)", False),
        ("m = Sub(d, minus)", "w = Exp(d)", True),  # one reader alone
    ],
)
def test_a_sum_of_a_constant_and_what_was_dequantised_is_copied_for_each_reader_on_openvino(
    body, readers, different, openvino
):
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[4,8,16] x) => (float[4,8,16] y, float[4,8,16] w)
        <float s = {{0.02}}, uint8 z = {{0}}, float minus = {{-1}}>
        {{ q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) {body} y = Sub(m, s) {readers} }}"""
    proto = onnx.parser.parse_model(text)
    assert verdict(proto) == ("different-numbers" if different else "ok")
    x = np.random.default_rng(0).standard_normal((4, 8, 16)).astype(np.float32)
    assert np.array_equal(*(numbers(openvino, one, x) for one in (proto, isolated(text)))) is not different


@pytest.mark.parametrize("order", ["k, n", "n, k"])
@pytest.mark.parametrize(
    "scale", ["float s = {0.3}, uint8 z = {9}", "float[3] s = {0.3, 0.7, 0.1}, uint8[3] z = {9, 8, 7}"]
)
def test_a_negated_product_of_open_shapes_may_be_what_was_dequantised(order, scale, openvino):
    text = f"""<ir_version: 10, opset_import: ["" : 21]> g (uint8[A,B,C] x) => (float[] y)
        <{scale}, float k = {{1.3}}>
        {{ d = DequantizeLinear <axis: int = 1> (x, s, z) n = Neg(d) y = Sub({order}) }}"""
    proto = onnx.parser.parse_model(text)
    assert verdict(proto) != "ok"
    moved = text.replace("y = Sub", "u = Max(n, n) y = Sub").replace(f"({order})", f"({order.replace('n', 'u')})")
    x = np.random.default_rng(0).integers(0, 100, (2, 3, 4)).astype(np.uint8)
    assert not np.array_equal(*(numbers(openvino, one, x) for one in (proto, onnx.parser.parse_model(moved))))


@pytest.mark.parametrize(
    ("dims", "constant", "stated"), [("N,3", "4,1", True), ("N,3", "1,3", False), ("4,3", "4,1", False)]
)
def test_tract_refuses_a_size_that_a_model_states_of_what_is_broadcast_along_an_open_dim(dims, constant, stated):
    numbers_of = ", ".join("1" for _ in range(math.prod(map(int, constant.split(",")))))
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[{dims}] x) => (float[4,3] y)
        <float[{constant}] k = {{{numbers_of}}}> {{ d = Sub(x, k) y = Relu(d) }}"""
    proto = onnx.parser.parse_model(text)
    inferred = onnx.shape_inference.infer_shapes(proto)
    assert [verdict(one, "tract@0.23.9") for one in (proto, inferred)] == ["ok", "unknown" if stated else "ok"]
    pytest.importorskip("tract")
    x = np.ones((4, 3), np.float32)
    with Runtime("tract") as runtime:
        given = [("x", TYPES["float32"], x.view("u4"))]
        answers = [runtime.query("onnx", one.SerializeToString(), b"", given, "") for one in (proto, inferred)]
    assert [isinstance(one, list) for one in answers] == [True, not stated]


@pytest.mark.parametrize(
    ("between", "different"),
    [
        ("r = Relu(d)", True),
        ("r = Clip(d, low, high)", True),
        ("r = Slice(d, first, last, axis)", True),
        ("r = MaxPool <kernel_shape: ints = [2]> (d)", True),
        ("r = Concat <axis: int = 1> (d, d)", True),
        ("r = Relu(d) t = Slice(r, first, last, axis)", True),
        ("r = Exp(d)", False),
    ],
)
@pytest.mark.parametrize("order", ["{}, k", "k, {}"])
def test_openvino_converts_what_was_dequantised_behind_operators_that_keep_numbers(between, order, different, openvino):
    made = "t" if " t = " in between else "r"
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[4,8,16] x) => (float[] y)
        <float s = {{0.02}}, uint8 z = {{0}}, float k = {{0.37}}, float low = {{0}}, float high = {{3}},
         int64[1] first = {{0}}, int64[1] last = {{8}}, int64[1] axis = {{2}}>
        {{ q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) {between} y = Sub({order.format(made)}) }}"""
    proto = onnx.parser.parse_model(text)
    assert changes_numbers(proto) is different
    apart = onnx.parser.parse_model(
        text.replace("y = Sub", f"u = Max({made}, {made}) y = Sub").replace(
            order.format(made) + ")", order.format("u") + ")"
        )
    )
    x = 2 * np.random.default_rng(0).standard_normal((4, 8, 16)).astype(np.float32)
    assert np.array_equal(*(numbers(openvino, one, x) for one in (proto, apart))) is not different


DEQUANTISED = {
    # the body, and whether the model quantises, which makes openvino convert what is dequantised elsewhere
    "two zero points": ("d = DequantizeLinear(q, s, z) e = DequantizeLinear(r, s2, z2) y = Sub(d, e)", True),
    "no zero point": ("d = DequantizeLinear(q, s) y = Sub(d, x)", False),
    "a negative": ("d = DequantizeLinear(q, s) m = Neg(d) y = Sub(m, k)", True),
    "a mean": ("d = DequantizeLinear(q, s, z) m = AveragePool<kernel_shape=[2,2]>(d) y = Sub(m, k)", True),
    "LeakyRelu": ("d = DequantizeLinear(q, s) m = LeakyRelu(d) y = Sub(m, k)", True),
    "QLinear": ("p = QLinearMatMul(q, s, z, w, sw, none, s, z) d = DequantizeLinear(p, s, z) y = Sub(d, x)", True),
    "weights": ("n = Cast<to=1>(w) y = Sub(n, c) m = Mul(y, f) o = MatMul(x, m)", True),
    "weights of a convolution": (
        "d = DequantizeLinear(q, s, z) n = Cast<to=1>(v) y = Sub(n, whole) m = Mul(y, f) o = Conv(d, m)", True
    ),
    "itself": ("a = QuantizeLinear(x, s, z) d = DequantizeLinear(a, s, z) m = Mul(d, k) y = Sub(m, m)", True),
}  # fmt: skip


@pytest.mark.parametrize(("body", "quantises"), DEQUANTISED.values(), ids=DEQUANTISED)
def test_what_is_dequantised_is_a_product_that_openvino_computes_with_a_subtraction(body, quantises):
    """All were ok; of the weights less 1.5 openvino gave 0.12 too much."""
    openvino = pytest.importorskip("openvino")
    rng = np.random.default_rng(3)
    end, numbers_ = "o" if " o = " in body else "y", "float s = {0.04}, float s2 = {0.03}, float sw = {0.01}"
    numbers_ += ", int8 z = {4}, uint8 z2 = {124}, int8 none = {0}, float k = {0.7}, float c = {1.5}, float f = {0.031}"
    inputs, more = "int8[2,8,8,8] q, uint8[2,8,8,8] r, float[2,8,8,8] x", " i = QuantizeLinear(x, s, z)" * quantises
    outputs = f"float[a,b,c,d] {end}" + ", int8[2,8,8,8] i" * quantises
    text = f"g ({inputs}) => ({outputs}) <{numbers_}, float whole = {{2}}> {{ {body}{more} }}"
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    for name, shape in {"w": (8, 8), "v": (8, 8, 3, 3)}.items():
        stored = rng.integers(-90, 90, shape).astype(np.int8)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(stored, name))
    read = {name for node in proto.graph.node for name in node.input}
    for values in (proto.graph.input, proto.graph.initializer):
        kept = [one for one in values if one.name in read]
        del values[:]
        values.extend(kept)
    shape = (2, 8, 8, 8)
    every = {"q": rng.integers(-128, 128, shape).astype(np.int8), "r": rng.integers(0, 256, shape).astype(np.uint8)}
    every["x"] = rng.normal(size=shape).astype(np.float32)
    given = {one.name: every[one.name] for one in proto.graph.input}
    core = openvino.Core()
    compiled = core.compile_model(
        core.read_model(proto.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    got, exact = compiled(given)[end], mn.run(proto, given)[end]
    assert (got.view(np.uint32) != exact.view(np.uint32)).any()
    assert verdict(proto) != "ok"


@pytest.mark.parametrize(
    ("constant", "changes"), [("{2, 2, 2, 2, 2, 2, 2, 2}", True), ("{2, 2, 2, 3, 2, 2, 2, 2}", False)]
)
def test_nan_that_is_clipped_before_it_is_quantised_becomes_the_other_end(constant, changes):
    """Graph 198 of seed 9933: behind Tanh and Slice what is quantised is computed with the constant, too."""
    openvino = pytest.importorskip("openvino")
    stored = f"float[8,1] k = {constant}, float lo = {{0}}, float hi = {{1}}, float s = {{0.5}}, uint8 z = {{128}}"
    stored += ", int64[1] zero = {0}, int64[1] two = {2}"
    body = "m = Sub(k, x) c = Clip(m, lo, hi) y = Tanh(c) p = Slice(y, zero, two, zero) q = QuantizeLinear(p, s, z)"
    text = f"g (float[4,8,16] x) => (float[4,8,16] y, uint8[2,8,16] q) <{stored}> {{ {body} }}"
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 13]> {text}')
    core = openvino.Core()
    config = {"INFERENCE_PRECISION_HINT": "f32"}
    got = core.compile_model(core.read_model(proto.SerializeToString()), "CPU", config)(
        np.full((4, 8, 16), np.nan, np.float32)
    )
    assert bool((got["y"] != 0).all()) is changes
    assert changes_numbers(proto) is changes


def with_stored(text, stored):
    """A model of a text, with those of some arrays as constants that it reads."""
    proto = onnx.parser.parse_model(text)
    names = {name for node in proto.graph.node for name in node.input}
    kept = {name: array for name, array in stored.items() if name in names}
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(one), name) for name, one in kept.items())
    return proto


def answer(runtime, proto, hint="f32"):
    """The first result of a model, of made numbers."""
    source, given = np.random.default_rng(0), []
    for value in proto.graph.input:
        drawn = 2 * source.standard_normal([dim.dim_value for dim in value.type.tensor_type.shape.dim])
        integers = value.type.tensor_type.elem_type == onnx.TensorProto.INT8
        array = (20 * drawn).astype(np.int8) if integers else drawn.astype(np.float32)
        given.append((value.name, TYPES[array.dtype.name], array.view(f"u{array.itemsize}")))
    output, *_ = runtime.query("onnx", proto.SerializeToString(), b"", given, hint)
    return output.codes.view(np.float32)


def of_chain(body, inputs, outputs="float[] y"):
    return f"""<ir_version: 10, opset_import: ["" : 21]> g ({inputs}) => ({outputs}) {{ {body} }}"""


SCALED = {
    "s": np.float32(0.03), "c": np.linspace(0.02, 0.05, 8, dtype=np.float32), "p": np.float32(0.03125),
    "z": np.int8(0), "t": np.int8(4), "two": np.float32(2), "k": np.float32(0.37),
    "slope": np.full((8, 1, 1), 0.3, np.float32), "axis": np.array([3]), "start": np.array([0]), "first": np.array([1]),
    "w": np.arange(576).reshape(8, 8, 3, 3).astype(np.int8), "m": np.arange(96).reshape(6, 16).astype(np.int8),
    "f": np.full((8, 8, 3, 3), 0.37, np.float32), "a": np.linspace(0.5, 1.5, 6, dtype=np.float32),
}  # fmt: skip


@pytest.mark.parametrize(
    ("made", "known"),
    [
        ("e = DequantizeLinear(q, s)", "different-numbers"),
        ("e = DequantizeLinear(q, s, z)", "different-numbers"),
        ("e = DequantizeLinear <axis: int = 1> (q, c)", "different-numbers"),
        ("d = DequantizeLinear(q, s) e = Neg(d)", "unknown"),
        ("e = DequantizeLinear(q, s, t)", "ok"),
        ("e = DequantizeLinear(q, p)", "ok"),
    ],
)
@pytest.mark.parametrize("order", ["e, y", "y, e"])
def test_what_is_dequantised_without_a_zero_point_is_a_product_to_openvino(made, known, order, openvino):
    body = f"{made} {{}} r = Sub({order})"
    apart = order.replace("e", "u")
    inputs, texts = "int8[2,8,6,6] q, float[2,8,6,6] y", (body.format(""), body.format("u = Max(e, e)"))
    texts = (texts[0], texts[1].replace(f"({order})", f"({apart})"))
    protos = [with_stored(of_chain(one, inputs, "float[] r"), SCALED) for one in texts]
    (finding,) = check(protos[0], OPENVINO, hint="f32").findings
    negated = made.endswith("(q, s, t)") and order == "y, e"
    assert (
        (finding.verdict, finding.severity) == ("different-numbers", "sign-of-zero")
        if negated
        else finding.verdict == known
    )
    assert verdict(protos[0], ONNXRUNTIME) == "ok"
    assert np.array_equal(*(answer(openvino, one) for one in protos)) is (known == "ok")


@pytest.mark.parametrize("zero", ["z", "w"])
@pytest.mark.parametrize("order", ["d, e", "e, d"])
def test_openvino_subtracts_a_zero_point_once_for_all_that_scale_it_which_are_products_then(order, zero, openvino):
    text = f"""<ir_version: 8, opset_import: ["" : 13]> g (int8[2,8,6,6] x) => (float[2,8,6,6] y)
        <float s = {{0.0173}}, float t = {{0.0291}}, int8 z = {{100}}, int8 w = {{100}}, int8 o = {{77}}>
        {{ d = DequantizeLinear(x, s, z) e = DequantizeLinear(x, t, {zero}) y = Sub({order}) }}"""
    for proto, shared in ((text, True), (text.replace(f"t, {zero}", "t, o"), False)):
        barriers = proto.replace("y = Sub", "u = Max(d, d) v = Max(e, e) y = Sub")
        barriers = barriers.replace(f"Sub({order})", "Sub(u, v)" if order == "d, e" else "Sub(v, u)")
        protos = [onnx.parser.parse_model(one) for one in (proto, barriers)]
        (finding,) = check(protos[0], OPENVINO, hint="f32").findings
        assert (finding.severity == "numbers") is shared
        assert np.array_equal(*(answer(openvino, one) for one in protos)) is not shared


@pytest.mark.parametrize(
    ("body", "negated"),
    [
        ("y = Sub(z, d)", True),
        ("m = Transpose(d) y = Sub(z, m)", False),
        ("y = Sub(d, z)", False),
        ("m = Relu(d) y = Sub(z, m)", False),
        ("y = Sub(z, d) o = Neg(d)", False),
    ],
)
def test_openvino_adds_what_it_dequantises_by_a_negative_scale_where_that_is_subtracted(body, negated):
    """So -0 less 0 is 0."""
    more = ", float[4,4] o" if "o =" in body else ""
    text = f"""<ir_version: 8, opset_import: ["" : 13]> g (uint8[4,4] x, float[4,4] z) => (float[4,4] y{more})
        <float s = {{0.1}}, uint8 zero = {{8}}> {{ d = DequantizeLinear(x, s, zero) {body} }}"""
    proto = onnx.parser.parse_model(text)
    (finding,) = check(proto, OPENVINO, hint="f32").findings
    assert (finding.verdict, finding.severity) == (("different-numbers", "sign-of-zero") if negated else ("ok", None))
    core = pytest.importorskip("openvino").Core()
    compiled = core.compile_model(
        core.read_model(proto.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    got = compiled({"x": np.full((4, 4), 8, np.uint8), "z": np.full((4, 4), -0.0, np.float32)})["y"]
    expected = mn.run(proto, {"x": np.full((4, 4), 8, np.uint8), "z": np.full((4, 4), -0.0, np.float32)})["y"]
    assert bool((np.signbit(got) != np.signbit(expected)).any()) is negated


def test_a_power_of_two_behind_what_is_dequantised_joins_its_scale_on_openvino(openvino):
    body = "d = DequantizeLinear(q, s) e = Mul(d, two) {} y = Sub({}, k)"
    texts = (body.format("", "e"), body.format("u = Max(e, e)", "u"))
    protos = [with_stored(of_chain(one, "int8[2,8,6,6] q"), SCALED) for one in texts]
    assert verdict(protos[0]) == "different-numbers"
    assert not np.array_equal(*(answer(openvino, one) for one in protos))


QUANTISED = "q = QuantizeLinear(x, s, {0}) d = DequantizeLinear(q, s, {0}) "
WEIGHTS = "v = DequantizeLinear(w, s) "


@pytest.mark.parametrize(
    ("body", "different"),
    [
        (QUANTISED.format("z") + "e = LeakyRelu(d)", True),
        (QUANTISED.format("z") + "e = PRelu(d, slope)", True),
        (QUANTISED.format("t") + "e = LeakyRelu(d)", False),
        (QUANTISED.format("t") + "e = Relu(d)", False),
        (QUANTISED.format("t") + "e = AveragePool <kernel_shape: ints = [2, 2]> (d)", True),
        (QUANTISED.format("t") + "e = GlobalAveragePool(d)", True),
        (QUANTISED.format("t") + "e = ReduceMean(d, axis)", True),
        (QUANTISED.format("t") + "e = ReduceSum(d, axis)", True),
        (QUANTISED.format("z") + "e = Round(d)", False),
        (QUANTISED.format("z") + "e = Abs(d)", False),
        (QUANTISED.format("z") + WEIGHTS + "o = Conv(d, v) e = Relu(o)", True),
        (QUANTISED.format("z") + WEIGHTS + "o = Conv(d, v) e = GlobalAveragePool(o)", True),
        (QUANTISED.format("z") + WEIGHTS + "o = Conv(d, v) e = Slice(o, start, first, start)", True),
        (QUANTISED.format("z") + "o = Conv(d, f) e = Relu(o)", False),
        (QUANTISED.format("z") + "v = DequantizeLinear(m, s) o = MatMul(d, v) e = Mul(o, two)", True),
    ],
)
def test_openvino_multiplies_by_scales_behind_further_operators(body, different, openvino):
    texts = (f"{body} y = Sub(e, k)", f"{body} u = Max(e, e) y = Sub(u, k)")
    protos = [with_stored(of_chain(one, "float[2,8,6,6] x"), SCALED) for one in texts]
    assert verdict(protos[0]) == ("different-numbers" if different else "ok")
    assert verdict(protos[0], ONNXRUNTIME) == "ok"
    assert np.array_equal(*(answer(openvino, one) for one in protos)) is not different


def test_nothing_is_rescaled_in_a_graph_that_does_not_quantise(openvino):
    body = "d = DequantizeLinear(q, s) e = Relu(d) {} y = Sub({}, k)"
    texts = (body.format("", "e"), body.format("u = Max(e, e)", "u"))
    protos = [with_stored(of_chain(one, "int8[2,8,6,6] q"), SCALED) for one in texts]
    assert verdict(protos[0]) == "ok"
    assert np.array_equal(*(answer(openvino, one) for one in protos))


@pytest.mark.parametrize(("quantises", "known"), [("", "ok"), ("o = QuantizeLinear(x, s, t)", "different-numbers")])
def test_a_zero_point_next_to_an_exact_scale_counts_in_a_graph_that_quantises(quantises, known):
    body = f"d = DequantizeLinear(q, p, t) y = Sub(d, x) {quantises}"
    outputs = "float[] y, int8[] o" if quantises else "float[] y"
    proto = with_stored(of_chain(body, "int8[2,8,6,6] q, float[2,8,6,6] x", outputs), SCALED)
    assert verdict(proto) == known


def test_what_two_values_were_dequantised_of_counts_in_a_graph_that_quantises(openvino):
    body = """d = DequantizeLinear(q, s, t) e = DequantizeLinear <axis: int = 1> (p, c, n) {} y = Sub({})
              o = QuantizeLinear(x, s, t)"""
    texts = (body.format("", "e, d"), body.format("u = Max(e, e) i = Max(d, d)", "u, i"))
    inputs = "int8[2,8,6,6] q, int8[2,8,6,6] p, float[2,8,6,6] x"
    stored = {**SCALED, "n": np.ones(8, np.int8)}
    del stored["p"]
    protos = [with_stored(of_chain(one, inputs, "float[] y, int8[] o"), stored) for one in texts]
    assert verdict(protos[0]) == "different-numbers"


@pytest.mark.parametrize("operator", ["QLinearMatMul", "QuantizeLinear"])
def test_what_a_quantised_operator_makes_is_rescaled(operator):
    made = "QuantizeLinear(x, s, z)" if operator == "QuantizeLinear" else "QLinearMatMul(g, s, z, m, s, z, s, z)"
    body = f"g = QuantizeLinear(x, s, z) q = {made} e = DequantizeLinear(q, s, z) y = Sub(e, e)"
    assert verdict(with_stored(of_chain(body, "float[2,8,6,6] x"), SCALED)) != "ok"


@pytest.mark.parametrize("outputs", ["float[8,6] y", "float[8,6] y, float[8,6] e"])
@pytest.mark.parametrize(("made", "copied"), [("Sigmoid(x)", False), ("DequantizeLinear(q, s, z)", True)])
def test_what_a_normalisation_ends_with_is_copied_for_each_reader_where_a_graph_quantises(outputs, made, copied):
    before = "q = QuantizeLinear(x, s, z) " if copied else ""
    body = f"{before} d = {made} e = LayerNormalization(d, a, a) y = Sub(x, e)"
    different = copied or " e" not in outputs
    found = verdict(with_stored(of_chain(body, "float[8,6] x", outputs), SCALED))
    assert found == ("different-numbers" if different else "ok")


ROWS, CHANNELS = "float[2,64] x", "float[2,8,6,6] x"


@pytest.mark.parametrize(
    ("hint", "body", "weights", "zero", "different"),
    [
        ("f32", "q = QuantizeLinear(x, s, z) {} d = DequantizeLinear(q, s, z) y = MatMul(d, v)", (64, 16), 1.5, True),
        ("f32", "q = QuantizeLinear(x, s, z) {} d = DequantizeLinear(q, s, z) y = MatMul(d, v)", (64, 16), 3, False),
        ("f32", "{} r = MatMul(x, v) q = QuantizeLinear(r, s, z) y = DequantizeLinear(q, s, z)", (64, 16), 1.5, True),
        ("f32", "{} y = MatMul(x, v)", (64, 16), 1.5, False),
        ("f32", "q = QuantizeLinear(x, s, z) {} d = DequantizeLinear(q, s, z) y = Conv(d, v)", (8, 8, 3, 3), 3, True),
        ("f32", "{} y = Conv(x, v)", (8, 8, 3, 3), 1.5, False),
        ("", "{} y = MatMul(x, v)", (64, 16), 3, True),
        ("", "{} t = Transpose(v) y = MatMul(x, t)", (16, 64), 3, True),
        ("", "{} y = Conv(x, v)", (8, 8, 3, 3), 3, False),
    ],
)
def test_a_zero_point_that_is_subtracted_from_weights(hint, body, weights, zero, different, openvino):
    """What its difference is as a constant shows what openvino makes of it."""
    stored = {
        "w": np.random.default_rng(0).integers(-127, 128, weights).astype(np.int8), "zero": np.float32(zero),
        "h": np.float32(0.013), "s": np.float32(0.03), "z": np.int8(0),
    }  # fmt: skip
    inputs = ROWS if len(weights) == 2 else CHANNELS
    proto = with_stored(
        of_chain(body.format("c = Cast <to: int = 1> (w) b = Sub(c, zero) v = Mul(b, h)"), inputs), stored
    )
    (finding,) = check(proto, OPENVINO, hint=hint).findings
    assert finding.verdict == ("different-numbers" if different else "ok")
    assert verdict(proto, ONNXRUNTIME) == "ok"
    known = {**stored, "b": stored["w"].astype(np.float32) - np.float32(zero)}
    apart = with_stored(of_chain(body.format("v = Mul(b, h)"), inputs), known)
    if hint or not different:  # a processor without instructions for bfloat16 has float32 by default
        assert np.array_equal(*(answer(openvino, one, hint) for one in (proto, apart))) is not different


SPREAD, FILTERED, MULTIPLIED = "ConvTranspose(d, g)", "Conv(d, g)", "MatMul(d, g)"
GIVEN, TAKEN = "q = QuantizeLinear(x, s, z) e = DequantizeLinear(q, s, z) ", "c = Cast <to: int = 1> (u) "
MORE = "q = QuantizeLinear(x, s, z) "


@pytest.mark.parametrize(
    ("before", "product", "zero", "different"),
    [
        (GIVEN + "d = Mul(e, k)", SPREAD, 3, True),
        (GIVEN + "d = Mul(e, slope)", SPREAD, 3, True),
        (GIVEN + "d = Mul(e, x)", SPREAD, 3, True),
        (GIVEN + "d = Mul(e, e)", SPREAD, 3, True),
        (GIVEN + WEIGHTS + "d = Conv(e, v)", SPREAD, 3, True),
        (GIVEN + WEIGHTS + "o = Conv(e, v) d = Relu(o)", SPREAD, 3, True),
        (GIVEN + "v = DequantizeLinear(n, s) d = MatMul(e, v)", SPREAD, 3, True),
        (MORE + "i = MatMulInteger(q, n) c = Cast <to: int = 1> (i) d = Mul(c, k)", SPREAD, 3, True),
        (MORE + TAKEN + "d = Mul(c, k)", SPREAD, 3, True),
        (GIVEN + "o = Softmax(e) d = Mul(o, k)", SPREAD, 3, False),
        (GIVEN + "o = Add(e, slope) d = Mul(o, k)", SPREAD, 3, False),
        (MORE + "d = Mul(x, k)", SPREAD, 3, False),
        (MORE + "d = Relu(x)", SPREAD, 3, False),
        (MORE + "o = Exp(x) d = Div(x, o)", SPREAD, 3, True),
        (MORE + "o = Exp(x) r = Mul(x, o) d = Mul(r, slope)", SPREAD, 3, False),
        (GIVEN + "d = Mul(e, k)", FILTERED, 3, True),
        (MORE + TAKEN + "d = Mul(c, k)", FILTERED, 3, True),
        (MORE + TAKEN + "o = Relu(c) d = Div(o, k)", FILTERED, 3, False),
        (MORE + TAKEN + "d = Div(c, k)", FILTERED, 3, True),
        (GIVEN + "o = Relu(e) d = Mul(o, k)", FILTERED, 3, False),
        (GIVEN + "d = Mul(e, slope)", FILTERED, 3, True),
        (GIVEN + "d = Mul(e, channels)", FILTERED, 3, False),
        (GIVEN + "d = Mul(e, e)", FILTERED, 3, False),
        (GIVEN + WEIGHTS + "d = Conv(e, v)", FILTERED, 3, False),
        (MORE + "d = Mul(x, k)", FILTERED, 3, False),
        (GIVEN + "d = Mul(e, slope)", MULTIPLIED, 0, True),
        (MORE + TAKEN + "d = Mul(c, k)", MULTIPLIED, 0, True),
        (MORE + TAKEN + "d = Mul(c, k)", MULTIPLIED, 3, False),
        (GIVEN + "d = Mul(e, e)", MULTIPLIED, 0, False),
        (GIVEN + "v = DequantizeLinear(n, s) d = MatMul(e, v)", MULTIPLIED, 0, False),
    ],
)
def test_a_zero_point_of_weights_next_to_what_is_converted_before_a_product(before, product, zero, different, openvino):
    """All were ok; behind a transposed convolution whole numbers were other ones, as int8 has no -130."""
    stored = {
        "h": np.float32(0.013), "n": np.arange(36).reshape(6, 6).astype(np.int8), "zero": np.float32(zero),
        "channels": np.linspace(0.5, 1.5, 8, dtype=np.float32).reshape(8, 1, 1),
        "kept": np.random.default_rng(0).integers(-127, 128, (6, 6) if "MatMul" in product else (8, 8, 3, 3)),
        **{name: SCALED[name] for name in ("s", "z", "k", "slope", "w")},
    }  # fmt: skip
    stored["kept"] = stored["kept"].astype(np.int8)
    text = f"{before} {{}} y = {product}"
    inputs = f"{CHANNELS}, int8[2,8,6,6] u" if TAKEN in before else CHANNELS
    outputs = "float[] y" if GIVEN in before or "MatMulInteger" in before else "float[] y, int8[] q"
    made = "f = Cast <to: int = 1> (kept) b = Sub(f, zero) g = Mul(b, h)"
    proto = with_stored(of_chain(text.format(made), inputs, outputs), stored)
    assert verdict(proto) == ("different-numbers" if different else "ok")
    assert verdict(proto, ONNXRUNTIME) == "ok"
    known = {**stored, "b": stored["kept"].astype(np.float32) - np.float32(zero)}
    apart = with_stored(of_chain(text.format("g = Mul(b, h)"), inputs, outputs), known)
    assert np.array_equal(*(answer(openvino, one) for one in (proto, apart))) is not different


CPU = Path("/proc/cpuinfo")
DOT_PRODUCTS = CPU.exists() and "vnni" in CPU.read_text(encoding="utf-8")
"""Whether the processor has the instructions that openvino quantises for."""
UNPACKED = "f = Cast <to: int = 1> (kept) p = Cast <to: int = 1> (zeros) b = Sub(f, p) g = Mul(b, h) "
TURNED = "t = Transpose <perm: ints = [1, 0]> (g) y = MatMul(x, t)"


@pytest.mark.parametrize(
    ("body", "kept", "zeros", "different"),
    [
        (TURNED, ("uint8", 32, 64), ("uint8", 32, 1), True),
        (TURNED, ("uint8", 32, 64), ("uint8",), True),
        (TURNED, ("uint4", 32, 64), ("uint4", 32, 1), True),
        (TURNED, ("uint8", 2, 17), ("uint8",), True),
        ("r = Reshape(g, to) t = Transpose(r) y = MatMul(x, t)", ("uint4", 32, 2, 32), ("uint4", 32, 2, 1), True),
        ("y = MatMul(x, g)", ("uint8", 1, 64, 32), ("uint8",), True),
        ("y = Gemm <transB: int = 1> (x, g)", ("uint8", 32, 64), ("uint8", 32, 1), True),
        (TURNED, ("int8", 32, 64), ("int8", 32, 1), False),
        (TURNED, ("int4", 32, 64), ("int4",), False),
        (TURNED, ("uint8", 32, 64), ("int8",), False),
        ("y = MatMul(g, o)", ("uint8", 32, 64), ("uint8",), False),
        ("y = MatMul(x, g)", ("uint8", 2, 64, 32), ("uint8",), False),
    ],
)
def test_openvino_quantises_what_is_multiplied_with_unsigned_weights(body, kept, zeros, different, openvino):
    """All elements had an error of a 200th or so, in the precision of float32, and it was ok."""
    source = np.random.default_rng(0)
    types = {"uint4": ml_dtypes.uint4, "int4": ml_dtypes.int4}
    made = [source.integers(1, 8, shape).astype(types.get(name, name)) for name, *shape in (kept, zeros)]
    stored = {
        "kept": made[0], "zeros": made[1], "h": np.float32(0.013), "to": np.array([32, 64]),
    }  # fmt: skip
    wide = kept[-1] if body == TURNED or "transB" in body else 64
    inputs = f"float[4,{wide}] x"
    text = UNPACKED + body if "o)" not in body else f"{UNPACKED} o = Transpose <perm: ints = [1, 0]> (x) {body}"
    proto = with_stored(of_chain(text, inputs), stored)
    assert verdict(proto) == ("different-numbers" if different else "ok")
    assert verdict(proto, ONNXRUNTIME) == "ok"
    known = {**stored, "b": made[0].astype(np.float32) - made[1].astype(np.float32)}
    apart = with_stored(of_chain(text.replace(UNPACKED, "g = Mul(b, h) "), inputs), known)
    if DOT_PRODUCTS or not different:
        assert np.array_equal(*(answer(openvino, one) for one in (proto, apart))) is not different


@pytest.mark.parametrize("scaled", ["g = Div(b, h)", "g = Identity(b)"])
@pytest.mark.parametrize("product", [SPREAD, FILTERED, MULTIPLIED])
@pytest.mark.parametrize("zero", [0, 1.5, 3])
def test_a_zero_point_of_weights_that_no_product_with_a_scale_follows(scaled, product, zero, openvino):
    """All were alarms."""
    shape = (6, 6) if "MatMul" in product else (8, 8, 3, 3)
    stored = {
        "kept": np.random.default_rng(0).integers(-127, 128, shape).astype(np.int8), "h": np.float32(0.013),
        "zero": np.float32(zero), "s": np.float32(0.03), "z": np.int8(0),
    }  # fmt: skip
    text = f"q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) {{}} y = {product}"
    made = f"f = Cast <to: int = 1> (kept) b = Sub(f, zero) {scaled}"
    proto = with_stored(of_chain(text.format(made), CHANNELS), stored)
    assert verdict(proto) == "ok"
    known = {**stored, "b": stored["kept"].astype(np.float32) - np.float32(zero)}
    apart = with_stored(of_chain(text.format(scaled), CHANNELS), known)
    assert np.array_equal(*(answer(openvino, one) for one in (proto, apart)))


@pytest.mark.parametrize(
    ("body", "different"),
    [
        ("c = Conv <group: int = 8> (x, v) y = Sub(c, z)", True),
        ("c = Conv <group: int = 8> (x, v, b) y = Sub(z, c)", True),
        ("c = Conv <group: int = 8> (x, v) y = Sub(c, x)", True),
        ("c = Conv <group: int = 8> (x, v) y = Sub(c, c)", False),
        ("c = Conv <group: int = 8> (x, v) y = Sub(c, w)", False),
        ("c = Conv <group: int = 8> (x, v) t = Clip(c) y = Sub(z, t)", False),
        ("c = Conv(x, u) y = Sub(c, z)", False),
        ("c = ConvTranspose <group: int = 8> (x, v) y = Sub(c, z)", False),
    ],
)
@pytest.mark.parametrize("release", ["2023.3.0", "2024.6.0", "2025.4.1", "2026.4.1"])
def test_earlier_releases_begin_the_sums_of_a_depthwise_convolution_with_the_other_operand(body, different, release):
    """As measured in releases up to 2025.2: half of the elements have another rounding, and it was ok."""
    stored = {
        "v": np.ones((8, 1, 1, 1), np.float32),
        "u": np.ones((8, 8, 1, 1), np.float32),
        "b": np.ones(8, np.float32),
    }
    names = ", ".join(f"float[2,8,6,6] {name}" for name in "xz")
    proto = with_stored(of_chain(body, f"{names}, float[8,1,1] w"), stored)
    (finding,) = check(proto, f"openvino-cpu@{release}", hint="f32").findings
    assert (finding.severity == "numbers") is (different and release < "2025.4")


def of_layers(layers, after=lambda one, _: one):
    """An OpenVINO model of what a function makes of a value, and its answer; the subtraction goes through ``after``."""
    runtime = pytest.importorskip("openvino")
    operators = runtime.opset13
    x = operators.parameter([2, 8, 6, 6], np.float32, name="x")
    model = runtime.Model([operators.result(layers(operators, x, after))], [x], "m")
    compiled = runtime.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    made = np.random.default_rng(0).standard_normal((2, 8, 6, 6)).astype(np.float32)
    return model, compiled(made)[0].copy()


def quantised(operators, x):
    ends = [operators.constant(np.float32(one)) for one in (-2, 1.984375)]
    return operators.fake_quantize(x, *ends, *ends, 256)


def less_zero(operators, kept, zero, after):
    """Weights less a zero point, times a scale; ``after`` can put the difference in their place."""
    made = operators.subtract(operators.convert(operators.constant(kept), "f32"), operators.constant(np.float32(zero)))
    return operators.multiply(
        after(made, kept.astype(np.float32) - np.float32(zero)), operators.constant(np.float32(0.013))
    )


def drawn(*dims, kind=np.int8):
    return np.random.default_rng(0).integers(*((0, 256) if kind == np.uint8 else (-128, 128)), dims).astype(kind)


ONES, PADS = [1, 1], [0, 0]
OF_LAYERS = {
    "a convolution of groups": lambda op, x, after: op.group_convolution(
        quantised(op, x), less_zero(op, drawn(8, 1, 1, 3, 3), 0.5, after), ONES, PADS, PADS, ONES
    ),
    "a convolution": lambda op, x, after: op.convolution(
        quantised(op, x), less_zero(op, drawn(8, 8, 3, 3), 3, after), ONES, PADS, PADS, ONES
    ),
    "a transposed convolution": lambda op, x, after: op.convolution_backprop_data(
        quantised(op, x), less_zero(op, drawn(8, 4, 3, 3, kind=np.uint8), 129, after), ONES
    ),
    "a transposed convolution of groups": lambda op, x, after: op.group_convolution_backprop_data(
        quantised(op, x), less_zero(op, drawn(2, 4, 4, 3, 3, kind=np.uint8), 129, after), ONES
    ),
    "a transposed convolution of groups, half a zero": lambda op, x, after: op.group_convolution_backprop_data(
        quantised(op, x), less_zero(op, drawn(2, 4, 4, 3, 3), 0.5, after), ONES
    ),
    "no quantisation": lambda op, x, after: op.group_convolution(
        x, less_zero(op, drawn(8, 1, 1, 3, 3), 0.5, after), ONES, PADS, PADS, ONES
    ),
}


@pytest.mark.parametrize("case", OF_LAYERS)
def test_layers_of_products_are_known_as_onnx_has_them(case):
    """Under their own names openvino's convolutions were no products with weights: all were ok."""
    constant = pytest.importorskip("openvino").opset13.constant
    model, got = of_layers(OF_LAYERS[case])
    _, wanted = of_layers(OF_LAYERS[case], lambda _, difference: constant(difference))
    different = case not in ("no quantisation", "a transposed convolution of groups")
    assert np.array_equal(got, wanted) is not different
    (finding,) = check(model, OPENVINO, hint="f32").findings
    assert finding.verdict == ("different-numbers" if different else "ok")


@pytest.mark.parametrize(
    ("made", "known"),
    [
        (lambda op, x: op.relu(x), "different-numbers"),
        (lambda op, x: op.clamp(op.multiply(x, op.constant(np.float32(2))), -1.0, 1.5), "different-numbers"),
        (lambda op, x: op.sigmoid(x), "ok"),
    ],
)
def test_what_fake_quantize_makes_is_converted_behind_operators_that_move_it(made, known):
    """As what DequantizeLinear makes: both were ok."""
    constant = np.linspace(0.3, 0.9, 8, dtype=np.float32).reshape(1, 8, 1, 1)
    model, _ = of_layers(lambda op, x, _: op.subtract(made(op, quantised(op, x)), op.constant(constant)))
    (finding,) = check(model, OPENVINO, hint="f32").findings
    assert finding.verdict == known


@pytest.mark.parametrize("maker", ["RandomNormal<shape=[2,8,8,8]>()", "DequantizeLinear()", "Cast<to=1>()"])
def test_what_has_no_operands_is_no_dequantised_value(maker):
    """A model that lacks them is not valid, and is judged all the same."""
    stored = f"float c = {{2}}, float f = {{0.03}}, float s = {{0.1}}, int8[8,8,1,1] w = {{{', '.join('5' * 64)}}}"
    body = f"r = {maker} n = Cast<to=1>(w) y = Sub(n, c) m = Mul(y, f) o = Conv(r, m) q = QuantizeLinear(x, s)"
    text = f"g (float[2,8,8,8] x) => (float[2,8,8,8] o, uint8[2,8,8,8] q) <{stored}> {{ {body} }}"
    (finding,) = check(f'<ir_version: 8, opset_import: ["" : 17]> {text}', OPENVINO, hint="f32").findings
    assert finding.verdict in ("ok", "invalid", "unknown")


@pytest.mark.parametrize(
    ("body", "different"),
    [
        ("f = Sub(k, e) y = GlobalAveragePool(f)", True),
        ("f = Sub(k, e) y = AveragePool <kernel_shape: ints = [2, 2]> (f)", True),
        ("f = Sub(slope, e) y = ReduceMean(f, axis)", True),
        ("f = Sub(k, e) g = Transpose(f) y = ReduceSum(g, axis)", True),
        ("g = Sub(e, k) f = Mul(g, two) y = GlobalAveragePool(f)", True),
        ("f = Sub(e, k) y = GlobalAveragePool(f)", False),
        ("f = Sub(k, e) g = Relu(f) y = GlobalAveragePool(g)", False),
        ("f = Sub(last, e) y = ReduceMean(f, axis)", False),
        ("f = Sub(k, e) y = Softmax(f)", False),
    ],
)
@pytest.mark.parametrize("quantises", [True, False])
def test_openvino_averages_before_it_subtracts_from_a_constant_where_a_graph_quantises(
    body, different, quantises, openvino
):
    other = "q = QuantizeLinear(x, s, z) o = DequantizeLinear(q, s, z)" if quantises else "o = Neg(x)"
    made = "g = Sub" if "g = Sub" in body else "f = Sub"
    apart = body.replace(made, "b = Sub").replace(") ", f") {made[0]} = Max(b, b) ", 1)
    inputs, outputs = "float[2,8,6,6] x", "float[] y, float[] o"
    stored = {name: SCALED[name] for name in ("s", "z", "k", "two", "slope", "axis")}
    stored["last"] = np.linspace(0.1, 1.7, 6, dtype=np.float32)
    protos = [with_stored(of_chain(f"e = Exp(x) {other} {one}", inputs, outputs), stored) for one in (body, apart)]
    assert changes_numbers(protos[0]) is (different and quantises)
    assert verdict(protos[0], ONNXRUNTIME) == "ok"
    assert np.array_equal(*(answer(openvino, one) for one in protos)) is not (different and quantises)


@pytest.mark.parametrize(
    ("bias", "order", "different"), [("c", "m, n", True), ("c", "n, m", False), ("b", "m, n", False)]
)
def test_an_instance_normalisation_with_one_scale_and_bias_is_added_in_another_order(bias, order, different, openvino):
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[1,3,8] x) => (float[1,3,8] y)
        <float[3] c = {{0.3, -0.7, 1.1}}, float[3] b = {{0.3, -0.7, 1.1}}>
        {{ n = InstanceNormalization(x, c, {bias}) m = Abs(x) y = Sub({order}) }}"""
    proto = onnx.parser.parse_model(text)
    (finding,) = check(proto, OPENVINO, hint="f32").findings
    assert (finding.severity == "numbers") is different
    moved = text.replace("m = Abs", "u = Max(n, n) m = Abs").replace(order, order.replace("n", "u"))
    x = np.random.default_rng(0).standard_normal((1, 3, 8)).astype(np.float32)
    apart = onnx.parser.parse_model(moved)
    assert np.array_equal(*(numbers(openvino, one, x) for one in (proto, apart))) is not different


@pytest.mark.parametrize(
    "body",
    [
        "v = MeanVarianceNormalization <axes: ints = [2]> (x)",
        "v = ReduceMean <axes: ints = [2]> (x)",
        "v = GlobalAveragePool(x)",
        "w = MeanVarianceNormalization <axes: ints = [2]> (x) v = Relu(w)",
        'v = Resize <mode: string = "linear"> (x, , sizes)',
    ],
)
@pytest.mark.parametrize("bias", ["c", "b"])
def test_what_is_scaled_and_shifted_by_one_constant_in_a_kernel_is_added_in_another_order(body, bias, openvino):
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[1,3,8] x, float[1,3,8] z) => (float[1,3,8] y)
        <float[1,3,1] c = {{0.3, -0.7, 1.1}}, float[1,3,1] b = {{0.3, -0.7, 1.1}}, float[3] sizes = {{1., 1., 1.}}>
        {{ {body} s = Mul(v, c) n = Add(s, {bias}) y = Sub(z, n) }}"""
    proto = onnx.parser.parse_model(text)
    (finding,) = check(proto, OPENVINO, hint="f32").findings
    assert (finding.severity == "numbers") is (bias == "c")
    apart = onnx.parser.parse_model(text.replace("y = Sub(z, n)", "u = Max(n, n) y = Sub(z, u)"))
    x, z = np.random.default_rng(3).standard_normal((2, 1, 3, 8)).astype(np.float32)
    assert np.array_equal(*(numbers(openvino, one, x, z=z) for one in (proto, apart))) is (bias != "c")


NEGATED = {
    "Conv": ("float[1,4,3,3] x, float[1,4,3,3] z", "c = Conv(x, w)", True),
    "ConvTranspose": ("float[1,4,3,3] x, float[1,4,3,3] z", "c = ConvTranspose(x, w)", True),
    "Conv and BatchNormalization": (
        "float[1,4,3,3] x, float[1,4,3,3] z", "b = Conv(x, w) c = BatchNormalization(b, s, t, t, s)", True,
    ),
    "AveragePool": ("float[1,4,3,3] x, float[1,4,3,3] z", "c = AveragePool <kernel_shape = [1, 1]> (x)", True),
    "InstanceNormalization": ("float[1,4,3] x, float[1,4,3] z", "c = InstanceNormalization(x, s, t)", True),
    "LayerNormalization": ("float[3,4] x, float[3,4] z", "c = LayerNormalization(x, s)", True),
    "MatMul": ("float[3,4] x, float[3,4] z", "c = MatMul(x, m)", True),
    "Gemm": ("float[3,4] x, float[3,4] z", "c = Gemm(x, m, t)", True),
    "Conv, of rows": ("float[1,4,3,3] x, float[3,3] z", "c = Conv(x, w)", True),
    "Conv, of a number": ("float[1,4,3,3] x, float[1] z", "c = Conv(x, w)", True),
    "ConvTranspose, of channels": ("float[1,4,3,3] x, float[4,1,1] z", "c = ConvTranspose(x, w)", True),
    "AveragePool, of rows": ("float[1,4,3,3] x, float[3,3] z", "c = AveragePool <kernel_shape = [1, 1]> (x)", True),
    "InstanceNormalization, of a row": ("float[1,4,3] x, float[3] z", "c = InstanceNormalization(x, s, t)", True),
    "LayerNormalization, of a row": ("float[3,4] x, float[4] z", "c = LayerNormalization(x, s)", True),
    "MeanVarianceNormalization": (
        "float[1,4,3,3] x, float[3] z", "c = MeanVarianceNormalization <axes = [2, 3]> (x)", True,
    ),
    "MatMul, of a row": ("float[3,4] x, float[4] z", "c = MatMul(x, m)", True),
    "Gemm, of a column": ("float[3,4] x, float[3,1] z", "c = Gemm(x, m, t)", True),
    "MaxPool": ("float[1,4,3,3] x, float[1,4,3,3] z", "c = MaxPool <kernel_shape = [1, 1]> (x)", False),
    "mean": ("float[3,4] x, float[3,4] z", "c = ReduceMean(x)", True),
    "sum, of another row": ("float[3,4] x, float[5] z", "c = ReduceSum(x, one)", True),
    "maxima of matrices": ("float[1,4,3,3] x, float[1,4,3,3] z", "c = GlobalMaxPool(x)", True),
    "Einsum": ("float[3,4] x, float[3,4] z", 'c = Einsum <equation = "ab,bc->ac"> (x, m)', True),
    "Resize": ("float[1,4,3,3] x, float[1,4,6,6] z", "c = Resize(x, , twice)", True),
    "Resize, linear": ("float[1,4,3,3] x, float[6] z", 'c = Resize <mode = "linear"> (x, , twice)', True),
    "Softmax": ("float[3,4] x, float[3,4] z", "c = Softmax(x)", False),
}  # fmt: skip


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize(("inputs", "made", "negated"), NEGATED.values(), ids=NEGATED)
def test_openvino_adds_what_it_negates_where_it_computes_it_together_with_a_difference(inputs, made, negated, constant):
    """So -0 less 0 is 0; an operator one by one between the two makes zeros, and changes nothing.

    Constants -0 are from seed 18002 of ``tools/differential.py --surface verdicts``.
    """
    shapes = [[int(dim) for dim in one.split(",")] for one in re.findall(r"\[([^]]*)\]", inputs)]
    stored = {
        "w": np.ones((4, 4, 1, 1), np.float32), "m": np.ones((4, 4), np.float32),
        "s": np.ones(4, np.float32), "t": np.full(4, -0.5, np.float32), "one": np.array([1]),
        "twice": np.array([1, 1, 2, 2], np.float32),
    }  # fmt: skip
    if constant:
        inputs, stored = inputs.partition(", float")[0], stored | {"z": np.full(shapes[1], -0.0, np.float32)}
    proto = with_stored(of_chain(f"{made} r = Relu(c) y = Sub(z, r)", inputs), stored)
    (finding,) = check(proto, OPENVINO, hint="f32").findings
    assert (finding.verdict, finding.severity) == (("different-numbers", "sign-of-zero") if negated else ("ok", None))
    shown = re.fullmatch(r"-0\.0 - (0\.0|Resize\(0\.0\)): got 0\.0, expected -0\.0", str(finding.witness))
    assert (shown is not None) is negated
    source = np.random.default_rng(0)
    x, z = source.standard_normal(shapes[0]).astype(np.float32) - np.float32(0.5), np.full(shapes[1], -0.0, np.float32)
    core = pytest.importorskip("openvino").Core()
    compiled = core.compile_model(
        core.read_model(proto.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    got = compiled({"x": x} if constant else {"x": x, "z": z})[0]
    assert bool(((got == 0) & ~np.signbit(got)).any()) is negated


BIAS_LAST = {
    # weights, groups, what makes an operand, the order, and whether openvino adds the bias after the other operand
    "a bias": ((8, 4, 1, 1), 2, "c = Conv <group = 2> (x, w, b)", "c, z", True),
    "subtracted": ((8, 4, 1, 1), 2, "c = Conv <group = 2> (x, w, b)", "z, c", True),
    "two results for each channel": ((8, 1, 1, 1), 4, "c = Conv <group = 4> (x, w, b)", "c, z", True),
    "one axis": ((8, 4, 1), 2, "c = Conv <group = 2> (x, w, b)", "c, z", True),
    "a sum": ((8, 4, 1, 1), 2, "n = Conv <group = 2> (x, w) c = Add(n, k)", "c, z", True),
    "normalised": ((8, 4, 1, 1), 2, "n = Conv <group = 2> (x, w) c = BatchNormalization(n, b, b, b, v)", "c, z", True),
    "negated": ((8, 4, 1, 1), 2, "n = Conv <group = 2> (x, w, b) c = Neg(n)", "c, z", True),
    "no bias": ((8, 4, 1, 1), 2, "c = Conv <group = 2> (x, w)", "c, z", False),
    "a bias of zeros": ((8, 4, 1, 1), 2, "c = Conv <group = 2> (x, w, o)", "c, z", False),
    "one group": ((8, 8, 1, 1), 1, "c = Conv(x, w, b)", "c, z", False),
    "many channels in a group": ((40, 20, 1, 1), 2, "c = Conv <group = 2> (x, w, b)", "c, z", False),
    "each channel by itself": ((8, 1, 1, 1), 8, "c = Conv <group = 8> (x, w, b)", "c, z", False),
    "activated": ((8, 4, 1, 1), 2, "n = Conv <group = 2> (x, w, b) c = Relu(n)", "c, z", False),
    "one value for each channel": ((8, 4, 1, 1), 2, "c = Conv <group = 2> (x, w, b)", "c, u", False),
}  # fmt: skip


@pytest.mark.parametrize(("weights", "groups", "made", "order", "last"), BIAS_LAST.values(), ids=BIAS_LAST)
def test_openvino_adds_the_bias_of_a_convolution_of_few_channels_in_groups_last(
    weights, groups, made, order, last, tmp_path
):
    """It does with instructions of AVX-512; with AVX2 all of them are computed in another way."""
    source = np.random.default_rng(0)
    results, channels, *ones = weights[0], weights[1] * groups, *weights[2:]
    bias = source.standard_normal(results).astype(np.float32)
    stored = {
        "w": source.standard_normal(weights).astype(np.float32), "b": bias, "k": bias.reshape(-1, *ones),
        "v": np.abs(bias) + np.float32(0.5), "o": np.zeros_like(bias),
    }  # fmt: skip
    sizes = (5,) * len(ones)
    dims = {"x": (1, channels, *sizes), "z": (1, results, *sizes), "u": (1, results, *ones)}
    given = ", ".join(f"float[{','.join(map(str, one))}] {name}" for name, one in dims.items())
    proto = with_stored(of_chain(f"{made} y = Sub({order})", given), stored)
    (finding,) = check(proto, OPENVINO, hint="f32").findings
    assert ((finding.verdict, finding.severity) == ("different-numbers", "numbers")) is last
    core = (openvino := pytest.importorskip("openvino")).Core()
    openvino.save_model(core.read_model(proto.SerializeToString()), tmp_path / "m.xml", compress_to_fp16=False)
    verdicts = {one.node: one.verdict for one in check(tmp_path / "m.xml", OPENVINO, hint="f32").findings}
    assert not last or verdicts["y"] != "ok"

    def run(proto, fed):
        loaded = core.read_model(proto.SerializeToString())
        compiled = core.compile_model(loaded, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        kinds = [one.get_rt_info()["primitiveType"].astype(str) for one in compiled.get_runtime_model().get_ops()]
        return compiled([fed[one.get_any_name()] for one in compiled.inputs])[0], "avx512" in " ".join(kinds)

    fed = {name: source.standard_normal(one).astype(np.float32) for name, one in dims.items()}
    got, is_wide = run(proto, fed)
    convolved, _ = run(with_stored(of_chain(f"{made} y = Identity(c)", given), stored), fed)
    first, second = ({"c": convolved, **fed}[name] for name in order.split(", "))
    assert not is_wide or np.array_equal(got, first - second) is not last


BEFORE_BATCH_NORMALISATION = {
    # what makes an operand, the order, what reads the difference, and whether openvino rounds that twice
    "Conv": ("c = Conv(x, w)", "c, z", "e = Identity(d)", True),
    "Conv, second": ("c = Conv(x, w)", "z, c", "e = Identity(d)", True),
    "a factor between": ("n = Conv(x, w) c = Mul(n, k)", "c, z", "e = Identity(d)", True),
    "BatchNormalization between": ("n = Conv(x, w) c = BatchNormalization(n, s, t, t, v)", "c, z", "e = Relu(d)", True),
    "activated after": ("c = Conv(x, w)", "c, z", "e = Sigmoid(d)", True),
    "SiLU": ("c = Conv(x, w)", "c, z", "f = Sigmoid(d) e = Mul(f, d)", True),
    "Mish": ("c = Conv(x, w)", "c, z", "f = Softplus(d) h = Tanh(f) e = Mul(d, h)", True),
    "Gelu": ("c = Conv(x, w)", "c, z", "f = Div(d, a) g = Erf(f) h = Add(g, b) i = Mul(d, h) e = Mul(i, p)", True),
    "gated with another": ("c = Conv(x, w)", "c, z", "f = Sigmoid(d) e = Mul(f, z)", False),
    "squared": ("c = Conv(x, w)", "c, z", "e = Mul(d, d)", False),
    "convolved after": ("c = Conv(x, w)", "c, z", "e = Identity(d); y = Conv(o, w)", True),
    "convolved by groups after": ("c = Conv(x, w)", "c, z", "e = Identity(d); y = Conv <group = 4> (o, q)", True),
    "activated between": ("n = Conv(x, w) c = Relu(n)", "c, z", "e = Identity(d)", False),
    "one value for each channel": ("c = Conv(x, w)", "c, u", "e = Identity(d)", False),
    "a constant between activations": ("n = Conv(x, w) c = Tanh(n)", "c, k", "e = Abs(d)", True),
    "less than a constant": ("n = Conv(x, w) c = Tanh(n)", "k, c", "e = Abs(d)", True),
    "a constant behind a product": ("n = MatMul(x, m) c = Tanh(n)", "c, k", "e = Abs(d)", False),
    "read twice": ("c = Conv(x, w)", "c, z", "e = Identity(d) f = Exp(d)", False),
    "ConvTranspose": ("c = ConvTranspose(x, w)", "c, z", "e = Identity(d)", False),
    "MatMul": ("c = MatMul(x, m)", "c, z", "e = Identity(d)", False),
}  # fmt: skip


@pytest.mark.parametrize(
    ("made", "order", "read", "twice"), BEFORE_BATCH_NORMALISATION.values(), ids=BEFORE_BATCH_NORMALISATION
)
def test_openvino_rounds_a_batch_normalisation_twice_where_a_convolution_computes_it(made, order, read, twice):
    """It computes all from the convolution on at once, and rounds a product and a sum once elsewhere."""
    source = np.random.default_rng(0)
    numbers = {name: source.standard_normal(4).astype(np.float32) for name in ("s", "t")}
    stored = {
        **numbers, "v": np.abs(numbers["s"]) + np.float32(0.5), "k": numbers["s"].reshape(4, 1, 1),
        "w": source.standard_normal((4, 4, 1, 1)).astype(np.float32), "m": numbers["s"] * np.eye(4, dtype=np.float32),
        "q": numbers["s"].reshape(4, 1, 1, 1), "a": np.float32(2**0.5), "b": np.float32(1), "p": np.float32(0.5),
    }  # fmt: skip
    given = "float[1,4,4,4] x, float[1,4,4,4] z, float[1,4,1,1] u"
    read, _, then = read.partition("; ")
    normalised = f"o = BatchNormalization(e, s, t, t, v) {then or 'y = Identity(o)'}"
    outputs = "float[] y, float[] f" if "f = Exp" in read else "float[] y"
    proto = with_stored(of_chain(f"{made} d = Sub({order}) {read} {normalised}", given, outputs), stored)
    (finding,) = check(proto, OPENVINO, hint="f32").findings
    assert ((finding.verdict, finding.severity) == ("different-numbers", "numbers")) is twice
    core = pytest.importorskip("openvino").Core()

    def run(proto, fed):
        loaded = core.read_model(proto.SerializeToString())
        compiled = core.compile_model(loaded, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        return compiled([fed[one.get_any_name()] for one in compiled.inputs])[0]

    fed = {name: source.standard_normal((1, 4, 4, 4)).astype(np.float32) for name in "xz"}
    fed["u"] = source.standard_normal((1, 4, 1, 1)).astype(np.float32)
    made_of = run(with_stored(of_chain(f"{made} y = Identity(c)", "float[1,4,4,4] x"), stored), fed)
    first, second = ({"c": made_of, **fed, **stored}[name] for name in order.split(", "))
    more = ", float[1,4,4,4] z" if "z)" in read else ""
    cut = with_stored(of_chain(f"{read} {normalised}", f"float[1,4,4,4] d{more}", outputs), stored)
    assert np.array_equal(run(proto, fed), run(cut, {"d": first - second, **fed})) is not twice


LAST_FACTORS = {
    # what makes the operand, and whether its last part is a product where the graph quantises
    "a product and a sum": ("t = Mul(x, c) n = Add(t, b)", True),
    "a product and a difference": ("t = Mul(x, c) n = Sub(b, t)", True),
    "a quotient and a sum": ("t = Div(x, c) n = Add(t, last)", True),
    "a product and two sums": ("t = Mul(x, c) s = Add(t, b) n = Add(s, b)", True),
    "a batch normalisation": ("n = BatchNormalization(x, v, v, v, v)", True),
    "a batch normalisation and a sum": ("s = BatchNormalization(x, v, v, v, v) n = Add(s, b)", True),
    "moved": ("t = Mul(x, c) s = Add(t, b) n = Transpose <perm: ints = [0, 1, 2]> (s)", True),
    "read twice": ("t = Mul(x, c) n = Add(t, b) w = Identity(n)", True),
    "a factor along another axis": ("t = Mul(x, last) n = Add(t, b)", False),
    "something in between": ("t = Mul(x, c) s = Relu(t) n = Add(s, b)", False),
    "a sum alone": ("n = Add(x, b)", False),
}


@pytest.mark.parametrize(("made", "different"), LAST_FACTORS.values(), ids=LAST_FACTORS)
@pytest.mark.parametrize("quantises", [True, False])
def test_a_factor_comes_last_in_a_graph_that_quantises_on_openvino(made, different, quantises, openvino):
    quantised = "q = QuantizeLinear(x, s2, z) p = DequantizeLinear(q, s2, z)" if quantises else "p = Exp(x)"
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[2,3,8] x) => (float[] y, float[] p, float[] w)
        <float s2 = {{0.05}}, uint8 z = {{8}}, float[3,1] c = {{0.3, -0.7, 1.1}}, float[3,1] b = {{1.3, 0.6, -0.2}},
         float[3] v = {{0.3, 0.7, 1.1}}, float[8] last = {{0.3, -0.7, 1.1, 0.2, 0.9, 1.7, -1.3, 0.6}}>
        {{ {made} e = Exp(x) y = Sub(n, e) {quantised} {"" if " w = " in made else "w = Abs(x)"} }}"""
    proto = onnx.parser.parse_model(text)
    *_, finding = check(proto, OPENVINO, hint="f32").findings
    different = different and quantises
    assert finding.severity == ("numbers" if different else None)
    apart = onnx.parser.parse_model(text.replace("y = Sub(n, e)", "u = Max(n, n) y = Sub(u, e)"))
    x = np.random.default_rng(0).standard_normal((2, 3, 8)).astype(np.float32)
    assert np.array_equal(*(numbers(openvino, one, x) for one in (proto, apart))) is not different


def quantising(body, x="float[2,8,4,16] x"):
    """A model that computes y and quantises its input beside that."""
    return onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]> g ({x}) => (float[] y, float[] p)
        <float s = {{0.05}}, uint8 z = {{8}}, float one = {{1}}, float low = {{-1}}, float high = {{2}},
         int64 first = {{0}}, int64[1] last = {{3}}, float[8,1,1] c = {{0.3, -0.7, 1.1, 0.2, 0.9, 1.7, -1.3, 0.6}},
         float[16] v = {{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}}>
        {{ {body} q = QuantizeLinear(x, s, z) p = DequantizeLinear(q, s, z) }}""")


NORMALISED_LATE = {
    "normalised": ("d = Sub(c, x) y = LayerNormalization(d, v)", True),
    "moved and normalised": ("d = Sub(one, x) t = Reshape(d, dims) y = LayerNormalization(t, v)", True),
    "clipped and averaged": ("d = Sub(s, x) t = Clip(d, low, high) y = ReduceMean <axes: ints = [3]> (t)", True),
    "less a constant": ("d = Sub(x, c) y = LayerNormalization(d, v)", False),
    "a constant along the last axis": ("d = Sub(v, x) y = LayerNormalization(d, v)", False),
}


@pytest.mark.parametrize(("body", "different"), NORMALISED_LATE.values(), ids=NORMALISED_LATE)
def test_a_constant_less_a_value_is_normalised_first_in_a_graph_that_quantises_on_openvino(body, different, openvino):
    protos = [
        quantising(one) for one in (body, body.replace("d = Sub", "e = Sub").replace(") ", ") d = Max(e, e) ", 1))
    ]
    for one in protos:
        one.graph.initializer.append(onnx.numpy_helper.from_array(np.array([2, 8, 4, 16]), "dims"))
    severities = {one.severity for one in check(protos[0], OPENVINO, hint="f32").findings[0].deviations}
    assert ("numbers" in severities) is different
    x = np.random.default_rng(0).standard_normal((2, 8, 4, 16)).astype(np.float32)
    assert np.array_equal(*(numbers(openvino, one, x) for one in protos)) is not different


@pytest.mark.parametrize("body", ["d = Sub(c, x)", "e = Sub(c, x) d = Transpose <perm: ints = [0, 1, 3, 2]> (e)"])
def test_openvino_dies_of_a_constant_less_a_value_that_elements_are_picked_of(body, openvino):
    assert verdict(quantising(f"{body} y = Gather <axis: int = 3> (d, first)")) == "not-implemented"
    assert (
        verdict(quantising(f"{body.replace('c, x', 'one, x')} y = Gather <axis: int = 3> (d, first)"))
        != "not-implemented"
    )
    x = np.ones((2, 8, 4, 16), np.uint32)
    proto = quantising(f"{body} y = Gather <axis: int = 3> (d, first)")
    answer = openvino.query("onnx", proto.SerializeToString(), b"", [("x", TYPES["float32"], x)], "f32")
    assert "dies" in answer.message


REVERSED = {
    "a constant first": ("y = Sub(one, x)", "float[2,8,4,16] x", True),
    "of open shapes": ("y = Sub(one, x)", "float[A,B,C,D] x", False),
    "a constant last": ("y = Sub(x, one)", "float[2,8,4,16] x", False),
    "less an integer": (
        "b = Cast <to: int = 2> (x) f = Cast <to: int = 1> (b) y = Sub(x, f)",
        "float[2,8,4,16] x",
        True,
    ),
    "no equal number": ("t = Clip(x, low, s) y = Sub(one, t)", "float[2,8,4,16] x", False),
}


@pytest.mark.parametrize(("body", "given", "different"), REVERSED.values(), ids=REVERSED)
def test_a_graph_that_quantises_gives_the_other_zero_on_openvino(body, given, different, openvino):
    proto = quantising(body, given)
    (finding,) = check(proto, OPENVINO, hint="f32").findings
    assert finding.severity == ("sign-of-zero" if different else None)
    assert not different or str(finding.witness) == "1.0 - 1.0: got -0.0, expected 0.0"
    codes = numbers(openvino, proto, np.ones((2, 8, 4, 16), np.float32))
    assert set(codes.ravel().tolist()) == ({0x80000000} if different else set(codes.ravel().tolist()) - {0x80000000})


MOVED_FACTORS = {
    # what makes the operand of a value, and whether a graph that quantises multiplies behind it
    "behind Relu": ("t = Mul(e, s) n = Relu(t)", True),
    "behind an average": ("t = Mul(e, neg) n = AveragePool <kernel_shape: ints = [1, 2]> (t)", True),
    "behind two": ("t = Mul(e, c) r = Relu(t) n = MaxPool <kernel_shape: ints = [1, 2]> (r)", True),
    "of a batch normalisation": ("t = BatchNormalization(e, w, w, w, w) n = GlobalAveragePool(t)", True),
    "of a sum": ("r = Mul(e, c) t = Add(r, c) n = MaxPool <kernel_shape: ints = [1, 2]> (t)", True),
    "divided": ("t = Div(e, s) n = Relu(t)", True),
    "below 0": ("t = Mul(e, neg) n = Relu(t)", False),
    "with a sum, Relu": ("r = Mul(e, c) t = Add(r, c) n = Relu(t)", False),
    "several numbers, Clip": ("t = Mul(e, c) n = Clip(t, low, high)", False),
    "a power of two": ("t = Mul(e, half) n = Relu(t)", False),
    "other numbers": ("t = Mul(e, s) n = Exp(t)", False),
}


@pytest.mark.parametrize(("made", "different"), MOVED_FACTORS.values(), ids=MOVED_FACTORS)
@pytest.mark.parametrize("quantises", [True, False])
def test_a_factor_goes_behind_what_moves_it_in_a_graph_that_quantises_on_openvino(made, different, quantises, openvino):
    other = "q = QuantizeLinear(x, s, z) p = DequantizeLinear(q, s, z)" if quantises else "p = Exp(x)"
    own = ("a = Exp(n) y = Sub(n, a)", "a = Exp(n) u = Max(n, n) y = Sub(u, a)")
    inputs, outputs = "float[2,8,6,6] x", "float[] y, float[] p"
    texts = [of_chain(f"e = Tanh(x) {made} {other} {one}", inputs, outputs) for one in own]
    stored = {"s": np.float32(0.3), "z": np.uint8(8), "neg": np.float32(-0.7), "half": np.float32(0.5)}
    stored |= {
        "c": np.linspace(0.1, 1.7, 8, dtype=np.float32)[:, None, None],
        "w": np.linspace(0.1, 1.7, 8, dtype=np.float32),
    }
    protos = [with_stored(one, stored | {"low": np.float32(-0.1), "high": np.float32(0.2)}) for one in texts]
    different = different and quantises
    assert (verdict(protos[0]) != "ok") is different
    x = np.random.default_rng(0).standard_normal((2, 8, 6, 6)).astype(np.float32)
    assert np.array_equal(*(numbers(openvino, one, x) for one in protos)) is not different


@pytest.mark.parametrize(
    "between", ["Relu(t)", "MaxPool <kernel_shape: ints = [1, 2]> (t)", "ReduceMean(t, axis)", "Exp(t)"]
)
@pytest.mark.parametrize("summed", ["d, b", "a, d", "d, k"])
def test_a_sum_with_what_was_dequantised_is_multiplied_behind_what_moves_it_on_openvino(summed, between, openvino):
    made = f"b = Tanh(x) a = Sqrt(b) q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) t = Add({summed})"
    inputs, outputs = "float[2,8,6,6] x", "float[] y"
    stored = {
        "s": np.float32(0.05),
        "z": np.uint8(120),
        "k": np.float32(-0.71),
        "c": np.float32(0.37),
        "axis": np.array([3]),
    }
    texts = [
        of_chain(f"{made} n = {between} {one}", inputs, outputs)
        for one in ("y = Sub(n, c)", "u = Max(n, n) y = Sub(u, c)")
    ]
    protos = [with_stored(one, stored) for one in texts]
    different = "Exp" not in between and not (summed == "d, k" and "Relu" in between)
    assert (verdict(protos[0]) != "ok") is different
    x = np.abs(np.random.default_rng(0).standard_normal((2, 8, 6, 6))).astype(np.float32)
    assert np.array_equal(*(numbers(openvino, one, x) for one in protos)) is not different


EIGHT_ONES, ONE_TO_EIGHT = "{1, 1, 1, 1, 1, 1, 1, 1}", "{1, 2, 3, 4, 5, 6, 7, 8}"
PARAMETERS = {  # inputs and constants of a normalisation, and what is done with what it divides
    "a scale of ones, a bias of zeros": (
        "", f"float[8] w = {EIGHT_ONES}, float[8] b = {{0, 0, 0, 0, 0, 0, 0, 0}}", "t = Mul(q, w) y = Add(t, b)"
    ),
    "a scale of ones behind an Identity": (
        "", f"float[8] w = {EIGHT_ONES}, float[8] b = {ONE_TO_EIGHT}", "i = Identity(q) t = Mul(i, w) y = Add(t, b)"
    ),
    "inputs": (", float[8] w, float[8] b", "", "t = Mul(q, w) y = Add(t, b)"),
    "a computed scale": (
        ", float[8] w", f"float[8] b = {ONE_TO_EIGHT}", "r = Exp(w) t = Mul(q, r) y = Add(t, b)"
    ),
    "one element": ("", "float[1] w = {1.5}, float[1] b = {0.3}", "t = Mul(q, w) y = Add(t, b)"),
}  # fmt: skip


def as_it_is_and_by_operators(onnxruntime, proto, fed):
    """What onnxruntime gives with its optimisations, and without."""
    found = []
    for level in ("ORT_ENABLE_ALL", "ORT_DISABLE_ALL"):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        found += onnxruntime.InferenceSession(proto.SerializeToString(), options).run(None, fed)
    return found


@pytest.mark.parametrize(("given", "stored", "end"), PARAMETERS.values(), ids=PARAMETERS)
def test_onnxruntime_makes_one_node_of_a_normalisation_whatever_its_parameters_are(given, stored, end):
    onnxruntime = pytest.importorskip("onnxruntime")
    constants = ", ".join(filter(None, [stored, "float two = {2}, float e = {0.00001}"]))
    proto = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 13]> g (float[2,5,8] x{given}) => (float[2,5,8] y) <{constants}> {{
        m = ReduceMean <axes = [-1]> (x) d = Sub(x, m) p = Pow(d, two) v = ReduceMean <axes = [-1]> (p)
        a = Add(v, e) s = Sqrt(a) q = Div(d, s) {end} }}"""
    )
    source = np.random.default_rng(0)
    fed = {
        value.name: source.standard_normal([dim.dim_value for dim in value.type.tensor_type.shape.dim], np.float32)
        for value in proto.graph.input
    }
    found = as_it_is_and_by_operators(onnxruntime, proto, fed)
    assert (found[0] != found[1]).any()
    assert verdict(proto, ONNXRUNTIME) == "different-numbers"


HEADS = " ".join(
    f"{p}m = MatMul(n, {p}w) {p}a = Add({p}m, b) {p}r = Reshape({p}a, heads) {p}t = Transpose <perm = {perm}> ({p}r)"
    for p, perm in (("q", "[0, 2, 1, 3]"), ("k", "[0, 2, 3, 1]"), ("v", "[0, 2, 1, 3]"))
)
PROJECTIONS = ", ".join(
    f"float[8,8] {name} = {{{', '.join(str(round(math.sin(i + k), 3)) for i in range(64))}}}"
    for k, name in enumerate(["qw", "kw", "vw", "w"])
)


@pytest.mark.parametrize(
    ("opset", "kind", "made", "joined"),
    [
        (12, "int64", "u = Unsqueeze <axes = [1]> (mask) v = Unsqueeze <axes = [2]> (u) c = Cast <to = 1> (v)", True),
        (11, "float", "u = Unsqueeze <axes = [1]> (mask) c = Unsqueeze <axes = [2]> (u)", True),
        (13, "int64", "u = Unsqueeze(mask, one_) v = Unsqueeze(u, two_) c = Cast <to = 1> (v)", False),
    ],
)
def test_onnxruntime_makes_an_attention_of_a_mask_below_opset_13(opset, kind, made, joined):
    onnxruntime = pytest.importorskip("onnxruntime")
    proto = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : {opset}]> g (float[B,T,8] x, {kind}[B,T] mask) => (float[B,T,8] y)
        <{PROJECTIONS}, float[8] b = {ONE_TO_EIGHT}, int64[4] heads = {{0, 0, 2, 4}}, int64[3] flat = {{0, 0, 8}},
         float two = {{2}}, float one = {{1}}, float low = {{-10000}}, int64[1] one_ = {{1}}, int64[1] two_ = {{2}}> {{
        n = LayerNormalization <axis = -1> (x, b, b) {HEADS} s = MatMul(qt, kt) h = Div(s, two) {made}
        d = Sub(one, c) l = Mul(d, low) a = Add(h, l) p = Softmax <axis = 3> (a) o = MatMul(p, vt)
        t = Transpose <perm = [0, 2, 1, 3]> (o) f = Reshape(t, flat) e = MatMul(f, w) z = Add(e, b) r = Add(z, n)
        y = LayerNormalization <axis = -1> (r, b, b) }}"""
    )
    source = np.random.default_rng(0)
    masks = source.integers(-1, 4, (2, 6)).astype(np.int64 if kind == "int64" else np.float32)
    fed = {"x": source.standard_normal((2, 6, 8), np.float32), "mask": masks}
    found = as_it_is_and_by_operators(onnxruntime, proto, fed)
    assert (np.abs(found[0] - found[1]).max() > 1) == joined
    assert verdict(proto, ONNXRUNTIME) == ("unknown" if joined else "ok")


HALVES = "s = Sigmoid(g) r, z = Split <axis = 1> (s)"
GATE_PRODUCTS = ("g = Gemm <transB = 1> (c, w, b)", "o = Gemm <transB = 1> (e, v, k)")
COLUMNS = ("m = MatMul(c, wt) g = Add(m, b)", "l = MatMul(e, vt) o = Add(l, k)")


def gates(
    less="d = Sub(minuend, z)", rest="p = Mul(d, n) q = Mul(z, h) y = Add(p, q)", halves=HALVES, products=GATE_PRODUCTS
):
    """The nodes of a GRU cell."""
    reset = "i = Mul(r, h) e = Concat <axis = 1> (x, i)"
    return f"c = Concat <axis = 1> (x, h) {products[0]} {halves} {reset} {products[1]} n = Tanh(o) {less} {rest}"


CELLS = {  # nodes, and whether openvino makes a cell of them
    "a cell": (gates(), True),
    "the other half": (gates(halves=HALVES.replace("r, z", "z, r")), True),
    "operands in the other order": (gates(rest="p = Mul(n, d) q = Mul(h, z) y = Add(q, p)"), True),
    "a negation added": (gates("t = Neg(z) d = Add(minuend, t)"), True),
    "with attention": (
        gates(
            "f = Sub(one, a) u = Mul(f, z) d = Sub(minuend, u)", "p = Mul(d, n) q = Mul(u, h) y = Add(p, q)",
            products=COLUMNS,
        ),
        True,
    ),
    "two activations": (gates(halves="s, t = Split <axis = 1> (g) r = Sigmoid(s) z = Sigmoid(t)"), False),
    "weights with a column for each number": (gates(products=COLUMNS), False),
    "halves whose sizes are stated": (gates(halves=HALVES.replace("(s)", "(s, halves)")), False),
}  # fmt: skip


def weights(*shape):
    """A stored array, whose name is left open."""
    numbers_ = ", ".join(str(round(math.sin(i), 3)) for i in range(math.prod(shape)))
    return f"float[{','.join(map(str, shape))}] {{name}} = {{{{{numbers_}}}}}"


def cell(nodes, bias=(1, 16)):
    stored = {"w": (16, 14), "wt": (14, 16), "v": (8, 14), "vt": (14, 8), "b": bias, "k": (*bias[:-1], 8)}
    texts = [weights(*shape).format(name=name) for name, shape in stored.items()]
    scalars = "float one = {1}, float minuend = {2}, int64[2] halves = {8, 8}"
    return onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 13]> g (float[2,6] x, float[2,8] h, float[2,1] a) => (float[2,8] y)
        <{", ".join(texts)}, {scalars}> {{ {nodes} }}"""
    )


@pytest.mark.parametrize(("nodes", "joined"), CELLS.values(), ids=CELLS)
def test_openvino_makes_a_cell_of_gates_and_subtracts_from_one(nodes, joined, openvino):
    proto = cell(nodes)
    source = np.random.default_rng(0)
    shapes = {"x": (2, 6), "h": (2, 8), "a": (2, 1)}
    fed = {name: source.random(shape, np.float32) for name, shape in shapes.items()}
    given = [(name, TYPES["float32"], array.view("u4")) for name, array in fed.items()]
    output, *_ = openvino.query("onnx", proto.SerializeToString(), b"", given, "f32")
    off = np.abs(output.codes.view(np.float32) - mn.run(proto, fed)["y"]).max()
    assert (off > 0.1) == joined
    found = check(proto, OPENVINO, hint="f32", operators=["subtract", "add"]).findings
    assert any(one.code == "unsupported-form" for one in found) == joined
    assert all(one.verdict == ("different-numbers" if joined else "ok") for one in found if one.operator == "subtract")


def test_openvino_fails_on_a_cell_whose_bias_has_one_axis_and_fix_keeps_the_cell_apart(openvino):
    proto = cell(CELLS["a cell"][0], bias=(16,))
    fed = {name: np.zeros((2, size), np.float32) for name, size in (("x", 6), ("h", 8), ("a", 1))}
    given = [(name, TYPES["float32"], array.view("u4")) for name, array in fed.items()]
    assert isinstance(openvino.query("onnx", proto.SerializeToString(), b"", given, "f32"), Refused)
    assert verdict(proto) == "different-numbers"
    fixed = mn.fix(proto, OPENVINO, hint="f32")
    assert not fixed.refused
    output, *_ = openvino.query("onnx", fixed.model.SerializeToString(), b"", given, "f32")
    assert np.abs(output.codes.view(np.float32) - mn.run(proto, fed)["y"]).max() < 1e-6


LAYERED = {  # nodes, and whether openvino ends its process
    "two layers": ("n = Gemm <transB = 1> (x, w, b) r = Relu(n) o = Gemm <transB = 1> (r, v, k) y = Sub(o, x)", True),
    "products and sums": (
        "m = MatMul(x, wt) n = Add(m, b) r = Relu(n) l = MatMul(r, vt) o = Add(l, k) y = Sub(o, x)", True,
    ),
    "one layer": ("o = Gemm(x, s, k) y = Sub(o, x)", False),
    "a layer without a bias": ("m = MatMul(x, wt) r = Relu(m) o = Gemm <transB = 1> (r, v, k) y = Sub(o, x)", False),
    "a constant": ("n = Gemm <transB = 1> (x, w, b) r = Relu(n) o = Gemm <transB = 1> (r, v, k) y = Sub(o, k)", False),
}  # fmt: skip


@pytest.mark.parametrize(("nodes", "dies"), LAYERED.values(), ids=LAYERED)
def test_openvino_dies_of_what_is_subtracted_from_two_layers(nodes, dies, openvino):
    stored = {"w": (16, 8), "wt": (8, 16), "v": (8, 16), "vt": (16, 8), "s": (8, 8), "b": (16,), "k": (8,)}
    texts = ", ".join(weights(*shape).format(name=name) for name, shape in stored.items())
    proto = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 13]> g (float[4,8] x) => (float[4,8] y) <{texts}> {{ {nodes} }}"""
    )
    given = [("x", TYPES["float32"], np.zeros((4, 8), "u4"))]
    found = openvino.query("onnx", proto.SerializeToString(), b"", given, "f32")
    assert (isinstance(found, Refused) and "dies" in found.message) == dies
    (finding,) = check(proto, OPENVINO, hint="f32").findings
    assert (finding.code == "unsupported-form") == dies


ATTENTION = "m = MatMul(q, k) p = Softmax<axis=2>(m) a = MatMul(p, v)"
BEHIND_ATTENTION = {  # and whether openvino ends the process while it loads the model
    "a difference": ("d = Sub(a, x) y = Add(d, d)", True),
    "behind another operator": ("r = Relu(a) d = Sub(r, x) t = Tanh(d) y = Mul(d, t)", True),
    "of two readers": ("d = Sub(a, x) t = Relu(d) y = Sub(d, t)", True),
    "from another value": ("r = Relu(x) d = Sub(r, a) y = Add(d, d)", True),
    "of a negation": ("r = Neg(x) d = Add(a, r) y = Add(d, d)", True),
    "negated": ("e = Sub(a, x) d = Neg(e) y = Add(d, d)", True),
    "read once": ("d = Sub(a, x) y = Relu(d)", False),
    "in one gate": ("d = Sub(a, x) t = Sigmoid(d) y = Mul(d, t)", False),
    "less a constant": ("d = Sub(a, c) y = Add(d, d)", False),
    "an input less attention": ("d = Sub(x, a) y = Add(d, d)", False),
    "attention with another reader": ("d = Sub(a, x) e = Add(d, d) r = Exp(a) y = Add(e, r)", True),
}


@pytest.mark.parametrize("dims", ["1,3,8", "n,3,8"])
@pytest.mark.parametrize("case", BEHIND_ATTENTION)
def test_openvino_does_not_load_a_difference_behind_attention_that_is_read_twice(case, dims, openvino):
    """It was ok, and the process ended."""
    body, dies = BEHIND_ATTENTION[case]
    stored = "float[8] c = {1, 2, 3, 4, 5, 6, 7, 8}"
    text = (
        f"(float[1,3,8] q, float[1,8,3] k, float[1,3,8] v, float[{dims}] x) => (y) <{stored}> {{ {ATTENTION} {body} }}"
    )
    proto = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> g {text}'.replace("(y)", "(float[a,b,c] y)")
    )
    shapes = {"q": (1, 3, 8), "k": (1, 8, 3), "v": (1, 3, 8), "x": (1, 3, 8)}
    given = [(name, TYPES["float32"], np.ones(shape, np.float32).view("u4")) for name, shape in shapes.items()]
    dies = dies and dims == "1,3,8"
    assert isinstance(openvino.query("onnx", proto.SerializeToString(), b"", given, "f32"), Refused) is dies
    found = check(proto, OPENVINO, hint="f32", operators=["subtract", "add"]).findings
    said = {"read twice" in one.reason for one in found if one.verdict == "unknown"}
    assert (True in said) is dies


@pytest.mark.parametrize(
    ("order", "reader", "dies"),
    [("a, s", "Add(d, d)", True), ("s, a", "Add(d, d)", True), ("s, a", "Relu(d)", False)],
    ids=["added", "added to", "read once"],
)
def test_openvino_does_not_load_attention_that_is_added_to_a_difference_and_read_twice(order, reader, dies, openvino):
    """The difference was ok, without which it loads the model."""
    body = f"{ATTENTION} s = Sub(q, v) d = Add({order}) y = {reader}"
    text = f"(float[1,3,8] q, float[1,8,3] k, float[1,3,8] v) => (y) {{ {body} }}"
    proto = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> g {text}'.replace("(y)", "(float[a,b,c] y)")
    )
    shapes = {"q": (1, 3, 8), "k": (1, 8, 3), "v": (1, 3, 8)}
    given = [(name, TYPES["float32"], np.ones(shape, np.float32).view("u4")) for name, shape in shapes.items()]
    assert isinstance(openvino.query("onnx", proto.SerializeToString(), b"", given, "f32"), Refused) is dies
    (finding,) = check(proto, OPENVINO, hint="f32", operators=["subtract"]).findings
    assert (finding.verdict == "unknown") is dies


@pytest.mark.parametrize("maker", ["MatMul(x, x)", "Gemm(x, x)", "ReduceMean<axes=[1]>(x)", "Softmax(x)"])
def test_a_negation_of_what_a_kernel_makes_is_judged(maker):
    """It raised IndexError: a negation has no second operand."""
    text = f"(float[2,2] x) => (float[a,b] y) {{ m = {maker} n = Neg(m) y = Add(n, x) }}"
    proto = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')
    (finding,) = check(proto, OPENVINO, hint="f32", operators=["negative"]).findings
    assert finding.operator == "negative"


@pytest.mark.parametrize("moved", ["Slice(d, a, b, c)", "Transpose<perm=[0,2,1]>(d)"])
@pytest.mark.parametrize(
    ("reader", "refused"), [("Relu(t)", True), ("Add(t, t)", False), ("Concat<axis=1>(t, t)", False)]
)
def test_onnxruntime_takes_moved_int8_that_one_node_reads_twice(reader, refused, moved):
    """It was not-implemented, and runs: two nodes that read it were known."""
    pytest.importorskip("onnxruntime")
    stored = "float s = {0.1}, int8 z = {4}, int64[1] a = {0}, int64[1] b = {5}, int64[1] c = {2}"
    body = f"w = Sub(x, s) q = QuantizeLinear(w, s, z) d = DequantizeLinear(q, s, z) t = {moved} y = {reader}"
    text = f"(float[1,4,6] x) => (float[i,j,k] y) <{stored}> {{ {body} }}"
    proto = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g {text}')
    given = [("x", TYPES["float32"], np.ones((1, 4, 6), np.float32).view("u4"))]
    with Runtime("onnxruntime-cpu") as runtime:
        assert isinstance(runtime.query("onnx", proto.SerializeToString(), b"", given), Refused) is refused
    assert verdict(proto, ONNXRUNTIME) == ("not-implemented" if refused else "ok")
