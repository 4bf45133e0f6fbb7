"""How bad a pattern can be where the ranges of its operands bound cancellation."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from minuend import check
from minuend.judging.cancellation import _of_pair
from minuend.models.ranges.interval import Range

OPENVINO, ONNXRUNTIME = "openvino-cpu@2026.4.1", "onnxruntime-cpu@1.32.0"
HEAD = '<ir_version: 8, opset_import: ["" : 17]> g '
VECTORS = "<float[4] s = {0.3, 0.7, 1.1, 1.7}, float[4] m = {-0.5, -0.2, -3, -1}, float c = {1}, float k = {-10000}>"


def found(body, given="float[6,4] x, float[6,4] w", target=OPENVINO, **options):
    text = f"{HEAD}({given}) => (float[6,4] y) {VECTORS} {{ {body} }}"
    (finding,) = check(text, target, hint="f32" if target == OPENVINO else "", tolerate=(), **options).findings
    return finding


PRODUCT = "t = Mul(x, w) y = Sub(t, z)"
THREE = "float[6,4] x, float[6,4] w, float[6,4] z"


@pytest.mark.parametrize(
    ("assume", "severity", "ulps"),
    [
        ({}, "numbers", 0),  # what is not known can cancel
        ({"x": "0.5..2", "w": "0.5..1", "z": "-3..-1"}, "rounding", 4),  # magnitudes add up
        ({"x": "0.5..2", "w": "0.5..1", "z": "3..4"}, "numbers", 8),  # 2 of 2 less 3 makes 1 of 2
        ({"x": "0.5..2", "w": "0.5..1", "z": "1..4"}, "numbers", 0),
        ({"x": "0.5..2", "w": "0.5..1", "z": "2.0001..4"}, "numbers", 1 << 16),
        ({"x": "0.5..2", "w": "0.5..1", "z": "100..200"}, "rounding", 2),
    ],
)
def test_severity_is_what_the_ranges_of_operands_allow(assume, severity, ulps):
    finding = found(PRODUCT, THREE, assume=assume)
    assert finding.severity == severity
    assert {one.ulps for one in finding.deviations if one.severity in ("rounding", "numbers")} == {ulps}
    assert finding.witness is None or severity == "numbers"  # the one that was measured shows cancellation


def test_a_bound_can_be_tolerated_and_what_has_none_cannot():
    near = {"x": "0.5..2", "w": "0.5..1", "z": "3..4"}
    text = f"{HEAD}({THREE}) => (float[6,4] y) {{ {PRODUCT} }}"
    for ulps, given, fine in ((8, near, True), (7, near, False), (1 << 40, {}, False)):
        report = check(text, OPENVINO, hint="f32", assume=given, tolerate=("sign-of-zero", f"rounding={ulps}"))
        assert (report.findings[0].tolerated is not None) == fine


def test_a_factor_of_a_difference_enlarges_what_a_sample_shows():
    """(x - m) * s is x * s - m * s to openvino; that of numbers near m is any number of ulps off."""
    finding = found("t = Sub(x, m) y = Mul(t, s)", "float[6,4] x")
    assert [(one.severity, one.ulps) for one in finding.deviations] == [("numbers", 0)] * len(finding.deviations)
    finding = found("t = Sub(x, m) y = Mul(t, s)", "float[6,4] x", assume={"x": "0..1"})
    assert (finding.severity, {one.ulps for one in finding.deviations}) == ("rounding", {4})


def test_whole_numbers_are_as_far_from_a_mean_as_the_next_whole_number():
    pixels = "c0 = Cast<to=1>(x) t = Sub(c0, f) y = Mul(t, s)"
    text = f"{HEAD}(uint8[6,4] x) => (float[6,4] y) {VECTORS.replace('>', ', float f = {103.53}>')} {{ {pixels} }}"
    (finding,) = check(text, OPENVINO, hint="f32").findings
    assert (finding.severity, {one.ulps for one in finding.deviations}) == ("numbers", {512})
    (finding,) = check(text.replace("103.53", "103"), OPENVINO, hint="f32").findings
    assert (finding.severity, {one.ulps for one in finding.deviations}) == ("numbers", {0})


def test_a_mask_of_zeros_and_ones_has_other_signs_of_zero_alone():
    mask = "b = Cast<to=1>(x) t = Sub(c, b) y = Mul(t, k)"
    for kind, assume in (("bool", {}), ("int64", {"x": "0..1"})):
        finding = found(mask, f"{kind}[6,4] x", assume=assume)
        assert (finding.verdict, finding.severity) == ("different-numbers", "sign-of-zero")
        assert str(finding.witness) == "Mul(1.0 - 1.0, -1.7): got 0.0, expected -0.0"
    assert found(mask, "int64[6,4] x").severity == "numbers"
    assert found(mask, "int64[6,4] x", assume={"x": "0..2"}).severity == "numbers"


@pytest.mark.parametrize(
    ("factor", "severity"),
    [("-3.4028234663852886e38", "sign-of-zero"), ("-1e-40", "sign-of-zero"), ("-inf", "numbers"), ("nan", "numbers")],
)
def test_a_factor_without_end_makes_no_number_of_zero(factor, severity):
    """(1 - b) * c is c - b * c to openvino, which is no number where c is infinite."""
    text = (
        f"{HEAD}(bool[6,4] x) => (float[6,4] y) <float c = {{1}}> {{ b = Cast<to=1>(x) t = Sub(c, b) y = Mul(t, k) }}"
    )
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.float32(factor), "k"))
    (finding,) = check(model, OPENVINO, hint="f32", tolerate=()).findings
    assert (finding.verdict, finding.severity) == ("different-numbers", severity)


@pytest.mark.parametrize(
    ("factor", "severity"), [("0.3", "rounding"), ("1e38", "numbers"), ("1e-36", "numbers"), ("inf", "numbers")]
)
def test_terms_that_leave_the_type_are_not_bounded(factor, severity):
    """5..6 less 1..2 times 1e38 is a number, and 5 times 1e38 is none."""
    model = onnx.parser.parse_model(
        f"{HEAD}(float[6,4] x, float[6,4] w) => (float[6,4] y) {{ t = Sub(x, w) y = Mul(t, k) }}"
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.full(4, factor, np.float32), "k"))
    assume = {"x": "5..6", "w": "1..2"}
    (finding,) = check(model, OPENVINO, hint="f32", assume=assume, tolerate=()).findings
    assert finding.verdict == "ok" or finding.severity == severity


def test_products_of_whole_numbers_are_exact():
    body = "a = Cast<to=1>(x) b = Cast<to=1>(w) t = Mul(a, b) y = Sub(t, a)"
    assert found(body, "uint8[6,4] x, uint8[6,4] w").severity == "sign-of-zero"
    assert found(body, "int32[6,4] x, int32[6,4] w").severity == "numbers"


@pytest.mark.parametrize(
    ("a", "b", "most"),
    [
        ((4.0, 9.0), (1.0, 2.0), 3.0),
        ((-9.0, -4.0), (-2.0, -1.0), 3.0),
        ((1.0, 2.0), (4.0, 9.0), 3.0),
        ((0.0, 9.0), (-2.0, -0.0), 1.0),
        ((0.0, 9.0), (0.0, 0.0), 1.0),
        ((-np.inf, np.inf), (0.0, 0.0), 1.0),
        ((0.0, 1.0), (1.0, 1.0), None),
        ((-1.0, 1.0), (-3.0, -2.0), 3.0),
        ((5.0, np.inf), (1.0, 3.0), 4.0),
    ],
)  # fmt: skip
def test_how_much_larger_operands_are_than_their_difference(a, b, most):
    found = _of_pair(*(Range("float32", *one, integral=False) for one in (a, b)), (1, 1))
    assert found == most
    if found is not None and np.isfinite([*a, *b]).all():  # no pair cancels more
        x, y = (one.ravel() for one in np.meshgrid(np.linspace(*a, 97), np.linspace(*b, 97)))
        own = (x != 0) | (y != 0)
        assert (np.abs(x) + np.abs(y))[own].max(initial=0) >= 0
        assert ((np.abs(x) + np.abs(y))[own] / np.abs(x - y)[own]).max() <= found * (1 + 1e-12)


# ---- vectors where shapes are open ------------------------------------------------------------------------------

SCALED = "<float[4] s = {0.3, 0.7, 1.1, 1.7}, float[4] m = {0.5, 0.2, 3, 1}>"


@pytest.mark.parametrize("operator", ["Mul", "Div"])
@pytest.mark.parametrize("dims", ["n,4", "n,c"])
def test_a_product_less_a_vector_is_fused_where_shapes_are_open_too(operator, dims):
    text = f"{HEAD}(float[{dims}] x) => (float[n,4] y) {SCALED} {{ t = {operator}(x, s) y = Sub(t, m) }}"
    for hint in ("", "f32"):
        (finding,) = check(text, OPENVINO, hint=hint).findings
        assert (finding.verdict, finding.severity) == ("different-numbers", "numbers")
    assert check(text, ONNXRUNTIME).ok
    pytest.importorskip("openvino")
    fed = {"x": np.random.default_rng(0).uniform(1, 3, (64, 4)).astype(np.float32)}
    report = check(text, "openvino-cpu@installed", hint="f32", run=True, inputs=fed)
    assert report.trials[0].outputs[0].unequal > 0


@pytest.mark.parametrize("dims", ["n,4", "64,4"])
@pytest.mark.parametrize(
    "body",
    [
        "t = Mul(x, s) u = Mul(t, k) y = Sub(u, m)",
        "t = Mul(x, s) u = Div(t, k) y = Sub(u, m)",
        "t = Mul(s, x) u = Mul(t, k) y = Sub(u, m)",
        "t = Mul(x, s) u = Neg(t) y = Sub(u, m)",
    ],
)
def test_a_product_of_several_constants_is_fused_as_one(body, dims):
    text = f"{HEAD}(float[{dims}] x) => (float[n,4] y) {SCALED.replace('>', ', float k = {0.37}>')} {{ {body} }}"
    assert [one.verdict for one in check(text, OPENVINO, hint="f32")] == ["different-numbers"]
    assert check(text, ONNXRUNTIME).ok
    pytest.importorskip("openvino")
    fed = {"x": np.random.default_rng(0).uniform(1, 3, (64, 4)).astype(np.float32)}
    report = check(text, "openvino-cpu@installed", hint="f32", run=True, inputs=fed)
    assert report.trials[0].outputs[0].unequal > 0


def test_a_negated_input_is_not():
    text = f"{HEAD}(float[64,4] x) => (float[64,4] y) {SCALED} {{ t = Neg(x) y = Sub(t, m) }}"
    assert [one.verdict for one in check(text, OPENVINO, hint="f32")] == ["ok"]


@pytest.mark.parametrize("body", ["t = Mul(s, x) y = Sub(t, m)", "t = Mul(x, s) y = Sub(m, t)"])
def test_another_order_is_not(body):
    text = f"{HEAD}(float[n,4] x) => (float[n,4] y) {SCALED} {{ {body} }}"
    assert [one.verdict for one in check(text, OPENVINO, hint="f32")] == ["ok"]
