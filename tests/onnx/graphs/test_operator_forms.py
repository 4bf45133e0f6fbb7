"""onnx/graphs/operator_forms: which windows lie in the padding, by counting them one at a time."""

from __future__ import annotations

import itertools

import pytest
from onnx import ModelProto, parser

import minuend as mn
from minuend.models import operator_forms as forms
from minuend.onnx.graphs.operator_forms import forms_of
from minuend.onnx.graphs.walk import walk


def parsed(text: str, opset: int = 19) -> ModelProto:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')


def pool(size: int | str, kernel: int, stride: int, gap: int, before: int, after: int) -> ModelProto:
    return parsed(
        f"""g (float[1,1,{size},1] x) => (y) {{
        y = AveragePool<kernel_shape = [{kernel}, 1], strides = [{stride}, 1], dilations = [{gap}, 1],
            pads = [{before}, 0, {after}, 0], ceil_mode = 1, count_include_pad = 1>(x) }}"""
    )


def counted(size: int, kernel: int, stride: int, gap: int, before: int, after: int) -> set[str]:
    """The kinds of a pooling, of its windows: those that whole steps reach, and one more where they leave a rest."""
    window = (kernel - 1) * gap + 1
    starts = [at for at in range(size + before + after) if at % stride == 0 and at + window <= size + before + after]
    if not starts or starts[-1] + window < size + before + after:
        starts.append(len(starts) * stride)
    inside = [at for at in starts if at < size + before]
    return {
        *((forms.in_padding("AveragePool"),) if len(inside) < len(starts) else ()),
        *((forms.COUNTED,) if inside[-1] + window > size + before + after else ()),
    }


def test_windows_in_and_behind_the_padding_are_found_as_by_counting() -> None:
    tried = 0
    for size, kernel, stride, gap in itertools.product(range(2, 8), (1, 2, 3), (1, 2, 3, 4), (1, 2)):
        for before, after in itertools.product(range(kernel), range(kernel)):
            if (kernel - 1) * gap + 1 > size + before + after:
                continue
            given = (size, kernel, stride, gap, before, after)
            found = forms_of(walk(pool(*given))) - {forms.with_dilations("AveragePool")}
            assert found == counted(*given), given
            tried += 1
    assert tried > 600


def test_what_a_size_may_do_is_found_where_it_is_open() -> None:
    """A kind is found of an open size exactly where some size is of it."""
    for kernel, stride, gap in itertools.product((1, 2, 3), (1, 2, 3, 4), (1, 2)):
        for before, after in itertools.product(range(kernel), range(kernel)):
            sizes = [n for n in range(1, 30) if n + before + after >= (kernel - 1) * gap + 1]
            some = set().union(*(counted(n, kernel, stride, gap, before, after) for n in sizes))
            found = forms_of(walk(pool("N", kernel, stride, gap, before, after)))
            assert some <= found, (kernel, stride, gap, before, after)
            assert forms.in_padding("AveragePool") not in found - some


@pytest.mark.parametrize(
    ('pads', 'kernel', 'stride', 'size', 'uneven'),
    [("SAME_LOWER", 3, 1, 6, False), ("SAME_LOWER", 2, 1, 6, True), ("SAME_LOWER", 3, 2, 6, True),
     ("SAME_LOWER", 3, 2, 7, False), ("SAME_LOWER", 3, 2, "N", True), ("SAME_LOWER", 3, 1, "N", False),
     ("SAME_UPPER", 2, 1, 6, False), ("VALID", 2, 1, 6, False)],
)  # fmt: skip
def test_padding_of_which_side_matters_where_it_is_odd(
    pads: str, kernel: int, stride: int, size: int | str, uneven: bool
) -> None:
    found = forms_of(
        walk(
            parsed(
                f"""g (float[1,1,{size},1] x, float[1,1,{kernel},1] w) => (y) {{
                y = Conv<kernel_shape = [{kernel}, 1], strides = [{stride}, 1], auto_pad = "{pads}">(x, w) }}"""
            )
        )
    )
    assert bool(found) == uneven


@pytest.mark.parametrize(
    ('scales', 'dims', 'rounded'), [((1, 1, 2, 2), "5,7", False), ((1, 1, 1.5, 1.5), "4,6", False),
                              ((1, 1, 1.5, 1.5), "5,6", True), ((1, 1, 0.5, 1), "N,6", True)],
)  # fmt: skip
def test_sizes_are_rounded_where_scales_make_no_whole_numbers(
    scales: tuple[float, ...], dims: str, rounded: bool
) -> None:
    given = parsed(
        f"g (float[1,1,{dims}] x) => (y) <float[4] s = {{{','.join(map(str, scales))}}}> "
        '{ y = Resize<mode = "linear">(x, , s) }'
    )
    assert (forms.ROUNDED_LINEAR in forms_of(walk(given))) == rounded


def test_activations_that_a_layer_has_anyway_are_no_kind() -> None:
    text = """g (float[2,3,4] x, float[1,15,4] w, float[1,15,5] r) => (y) {{
        d, y = GRU<hidden_size = 5, activations = [{}]>(x, w, r) }}"""
    found = [forms_of(walk(parsed(text.format(one)))) for one in ('"Sigmoid", "Tanh"', '"Sigmoid", "Relu"', '"Elu"')]
    assert found == [set(), {"GRU with activations Relu"}, {"GRU with other activations"}]


def test_an_operator_that_a_runtime_lacks_is_not_implemented_wherever_it_stands() -> None:
    """The verdict was ok, as the layer is not adjacent to the subtraction; TVM does not load the model."""
    given = parsed(
        """g (float[2,3,4] x, float[1,15,4] w, float[1,15,5] r, float[1,3,5] k) => (float[1,3,5] y) {
        d, h = GRU<hidden_size = 5>(x, w, r) s = Sigmoid(h) a = Abs(s) y = Sub(a, k) }"""
    )
    (finding,) = mn.check(given, "tvm").findings
    assert finding.verdict == "not-implemented"
    assert finding.reason.startswith("tvm does not run GRU, which the model has")
    (refused,) = mn.fix(given, "tvm", run=False).refused
    assert refused.instead == "run the model on another runtime than tvm@0.27.0.post1"
    assert mn.check(given, "onnxruntime-cpu").findings[0].verdict == "ok"


def test_an_unknown_that_another_opset_settles_is_no_reason_for_fix_to_refuse() -> None:
    given = parsed(
        """g (int32[2,3] a, int32[2,3] b) => (float[2,3] e) <float s = {0.5}, uint8 z = {7}> {
        c = Sub(a, b) d = Cast<to = 2>(c) e = DequantizeLinear(d, s, z) }""",
        opset=13,
    )
    (finding,) = mn.check(given, "onnx-reference").findings
    assert finding.verdict == "unknown"
    assert finding.actions[0].command == "minuend convert MODEL --to onnx:19 -o OUT"
    assert not mn.fix(given, "onnx-reference", run=False).refused


def test_a_form_that_a_runtime_computes_otherwise_is_refused_by_fix_with_what_helps() -> None:
    given = parsed(
        """g (float[1,1,6,1] x, float[1,1,2,1] k) => (float[1,1,2,1] y) {
        p = MaxPool<kernel_shape = [3, 1], strides = [4, 1], pads = [1, 0, 2, 0], ceil_mode = 1>(x)
        a = Abs(p) s = Sigmoid(a) y = Sub(s, k) }""",
        opset=22,
    )
    (finding,) = mn.check(given, "openvino-cpu").findings
    assert (finding.verdict, finding.severity) == ("different-numbers", "numbers")
    (refused,) = mn.fix(given, "openvino-cpu", run=False).refused
    assert refused.instead == "write it with other operators, or choose another runtime"


@pytest.mark.parametrize(
    ("operator", "target", "verdict"),
    [
        ("my.Gelu", "onnxruntime-cpu", "unknown"),
        ("my.Gelu", "tract", "unknown"),
        ("com.microsoft.Gelu", "onnxruntime-cpu", "ok"),
        ("com.microsoft.Gelu", "openvino-cpu", "ok"),
        ("com.microsoft.NGramRepeatBlock", "openvino-cpu", "unknown"),
        ("com.microsoft.Gelu", "mnn", "unknown"),
    ],
)
def test_whether_a_runtime_has_an_operator_of_others_is_unknown(operator: str, target: str, verdict: str) -> None:
    """Every one of these was ok, and no runtime loads my.Gelu."""
    given = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17, "{operator.rpartition(".")[0]}" : 1]>
        g (float[2,3] x, float[2,3] k) => (float[2,3] y) {{
            p = {operator}(x) a = Abs(p) s = Sigmoid(a) q = Neg(s) y = Sub(q, k) }}"""
    )
    (finding,) = mn.check(given, target).findings
    assert finding.verdict == verdict
    if verdict == "unknown":
        assert operator in finding.reason


def test_a_function_of_the_model_is_no_operator_of_others() -> None:
    given = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
        g (float[2,3] x, float[2,3] k) => (float[2,3] y) { p = my.Twice(x) a = Abs(p) y = Sub(a, k) }
        <domain: "my", opset_import: ["" : 17]> Twice (a) => (b) { b = Add(a, a) }"""
    )
    assert mn.check(given, "onnxruntime-cpu").findings[0].verdict == "ok"


COMPUTED = {
    "given": ("g (float[4] x, int64[1] s) => (y) { y = Reshape(x, s) }", True),
    "stored": ("g (float[4] x) => (y) <int64[1] s = {4}> { y = Reshape(x, s) }", False),
    "stored, and an input": ("g (float[4] x, int64[1] s) => (y) <int64[1] s = {4}> { y = Reshape(x, s) }", False),
    "of numbers": ("g (float[1] x) => (y) { s = Cast<to = 7>(x) y = Reshape(x, s) }", True),
    "of sizes": ("g (float[N] x) => (y) { s = Shape(x) y = Reshape(x, s) }", False),
    "of sizes and numbers": (
        "g (float[4] x, int64[1] k) => (y) { n = Shape(x) s = Mul(n, k) y = Reshape(x, s) }",
        True,
    ),
    "of a constant": ("g (float[4] x) => (y) { c = Constant<value_ints = [4]>() s = Abs(c) y = Reshape(x, s) }", False),
    "in a body": (
        """g (float[4] x, bool b, int64[1] k) => (y) { s = Neg(k) y = If (b) <
            then_branch = t () => (a) { a = Reshape(x, s) }, else_branch = e () => (a) { a = Relu(x) }> }""",
        True,
    ),
    "a turn's number": (
        """g (float[1] x, int64 n, bool b) => (y) { y = Loop (n, b, x) <
            body = t (int64 i, bool go, float[1] a) => (bool on, float[] z) {
                on = Identity(go) z = Reshape(a, i) }> }""",
        True,
    ),
}


@pytest.mark.parametrize(("text", "found"), COMPUTED.values(), ids=COMPUTED)
def test_what_depends_on_given_elements_is_computed(text: str, found: bool) -> None:
    assert (forms.computed("Reshape", "shape") in forms_of(walk(parsed(text)))) is found


def test_nothing_is_said_of_a_functions_inputs() -> None:
    head = '<ir_version: 9, opset_import: ["" : 19, "d" : 1]> g (float[4] x) => (y)'
    text = (
        head
        + """ <int64[1] s = {4}> { y = d.f(x, s) }
        <domain: "d", opset_import: ["" : 19]> f (x, s) => (y) { y = Reshape(x, s) }"""
    )
    assert not forms_of(walk(parser.parse_model(text)))


@pytest.mark.parametrize(("zero", "found"), [(3, True), (4, False), (0, False), (255, True)])
def test_an_odd_zero_point_moves_each_tie_on_openvino(zero: int, found: bool) -> None:
    text = f"""g (float[4] a, float[4] b) => (uint8[4] y) <float s = {{1}}, uint8 z = {{{zero}}}> {{
        d = Sub(a, b) y = QuantizeLinear(d, s, z) }}"""
    (finding,) = mn.check(parsed(text), "openvino-cpu", hint="f32").findings
    assert (finding.verdict == "different-numbers") is found


def test_what_a_runtime_wants_stored_is_refused_where_it_is_computed() -> None:
    text = "g (float[4] a, float[4] b, int64[1] s) => (float[N] y) { d = Sub(a, b) y = Reshape(d, s) }"
    (finding,) = mn.check(parsed(text), "tract").findings
    assert (finding.verdict, "Reshape of computed shape" in finding.reason) == ("not-implemented", True)
    (finding,) = mn.check(parsed(text), "onnxruntime-cpu").findings
    assert finding.verdict == "ok"
