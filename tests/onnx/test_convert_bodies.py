"""Nodes that become ONNX's function body: where the body says otherwise than the operator's text, or than runtimes."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from minuend.errors import ConversionRefused
from minuend.onnx.opsets import convert_proto

SEED = np.random.default_rng(3)


def parse(opset: int, body: str) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]> g {body}')


def on_onnxruntime(model: ModelProto, given: dict[str, np.ndarray]) -> list[np.ndarray]:
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return runtime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"]).run(None, given)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(("axis", "scale", "bias"), [
    (-1, (4, 5), (4, 5)), (3, (5,), (4, 1)), (-1, (5, 1), None), (2, (5,), (3, 1, 1)), (-2, (1, 5), (2, 3, 5, 5)),
    (3, (1,), None),
])  # fmt: skip
def test_scale_and_bias_of_a_layer_normalization_broadcast_to_the_whole_input(axis, scale, bias, named):
    """ONNX's body lays them out as rows, which fails, or adds [5,1] along the other axis of [5,5]."""
    shape = (2, 3, 5, 5) if 4 not in (*scale, *(bias or ())) else (2, 3, 4, 5)
    given = {"x": SEED.standard_normal(shape).astype("f4"), "s": SEED.standard_normal(scale).astype("f4")}
    if bias is not None:
        given["b"] = SEED.standard_normal(bias).astype("f4")
    dims = {
        name: ",".join(f"{name}{i}" if named else str(n) for i, n in enumerate(a.shape)) for name, a in given.items()
    }
    signature = ", ".join(f"float[{dims[name]}] {name}" for name in given)
    body = f"y = LayerNormalization <axis = {axis}> ({', '.join(given)})"
    for before, after in ((17, 13), (17, 9), (21, 11)):
        model = parse(before, f"({signature}) => (float[{dims['x']}] y) {{ {body} }}")
        made, _, losses = convert_proto(model, after)
        onnx.checker.check_model(made, full_check=True)
        (expected,), (came,) = (on_onnxruntime(one, given) for one in (model, made))
        np.testing.assert_allclose(came, expected, 1e-4, 1e-4)
        assert len(losses) == 1


@pytest.mark.parametrize(("opset", "to", "node", "given", "flag"), [
    (23, 18, "y = RotaryEmbedding <interleaved = -1> (x, c, c)", "float[1,2,3,4] x, float[1,3,2] c",
     "RotaryEmbedding has interleaved=-1"),
    (18, 13, "y = ReduceSum <noop_with_empty_axes = 2> (x)", "float[2,3] x", ""),
    (13, 11, "y = ReduceSum <noop_with_empty_axes = 2> (x)", "float[2,3] x", "ReduceSum has noop_with_empty_axes=2"),
    (18, 13, "y = ReduceMax <noop_with_empty_axes = -1> (x)", "float[2,3] x", "ReduceMax has noop_with_empty_axes=-1"),
    (14, 13, "y = Trilu <upper = 2> (x)", "float[2,3] x", "Trilu has upper=2"),
    (6, 7, "y = Dropout <is_test = 2> (x)", "float[2,3] x", "Dropout has is_test=2"),
])  # fmt: skip
def test_a_flag_that_is_neither_0_nor_1_is_not_read_for_either(opset, to, node, given, flag):
    """Runtimes compare with 1, ONNX's bodies and evaluator with 0."""
    model = parse(
        opset, f"({given}) => (float[A,B] y) {{ {node} }}".replace("[A,B]", "[A,B,C,D]" if opset == 23 else "[A,B]")
    )
    if not flag:
        convert_proto(model, to)  # the same version, so that nobody reads it
        return
    with pytest.raises(ConversionRefused) as caught:
        convert_proto(model, to)
    (why,) = caught.value.nodes.values()
    assert f"{flag}; expected 0 or 1, since runtimes and ONNX's text take others differently" in why


@pytest.mark.parametrize(("first", "second"), [(-1, -1), (1, -1), (0, 1)])
def test_a_flag_that_callers_of_a_function_give_is_checked(first, second):
    model = onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["" : 17, "own" : 1]>
        g (int64 x) => (float[n] y, float[n] z) {{ y = own.f <p = {first}> (x) z = own.f <p = {second}> (x) }}
        <domain: "own", opset_import: ["" : 17]> f <p> (x) => (y) {{ y = HannWindow <periodic: int = @p> (x) }}
    """)
    if first == 0:
        made, _, _ = convert_proto(model, 14)
        for x, y in zip(*(on_onnxruntime(one, {"x": np.array(10)}) for one in (model, made)), strict=True):
            np.testing.assert_allclose(x, y, 1e-6, 1e-6)
        return
    with pytest.raises(ConversionRefused) as caught:
        convert_proto(model, 14)
    (why,) = caught.value.nodes.values()
    assert "HannWindow has periodic=-1; expected 0 or 1, since runtimes and ONNX's text take others differently" in why


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
@pytest.mark.parametrize("causal", [0, 1])
def test_what_a_mask_excludes_is_minus_infinity_in_attentions_fourth_output(causal, mode):
    """ONNX's body and evaluator have it so; onnxruntime's Attention gives the lowest number, so there is a loss."""
    masked = causal == 1 and mode == 2
    text = "(float[1,1,2,4] q) => (float[1,1,2,4] y, float[a,b,c,d] m) "
    node = f"{{ y, k, v, m = Attention <is_causal = {causal}, qk_matmul_output_mode = {mode}> (q, q, q) }}"
    model = parse(23, text + node)
    made, _, losses = convert_proto(model, 18)
    q = SEED.standard_normal((1, 1, 2, 4)).astype("f4")
    expected, came = (ReferenceEvaluator(one).run(None, {"q": q})[1] for one in (model, made))
    np.testing.assert_allclose(came, expected, 1e-5)
    assert np.isneginf(came).any() == masked
    said = (
        "graph.node[0]: the fourth output of Attention is -inf where a mask excludes, as ONNX has it; onnxruntime's "
        "Attention gives the lowest number of the type there"
    )
    assert (said in losses) == masked


@pytest.mark.parametrize("element", ["int32", "int64", "float"])
def test_squares_that_do_not_fit_wrap_and_a_loss_says_so(element):
    """ONNX's evaluator and body wrap; onnxruntime squares in float64 where it sums one element, and clamps."""
    model = parse(18, f"({element}[N] x) => ({element}[M] y) {{ y = ReduceSumSquare <noop_with_empty_axes = 1> (x) }}")
    made, _, losses = convert_proto(model, 13)
    said = "graph.node[0]: squares of integers that do not fit the type wrap; onnxruntime's ReduceSumSquare clamps them"
    assert (said in losses) == (element != "float")
    values = {"int32": [-46340, 46341], "int64": [94906267, 3037000500], "float": [3, 4]}[element]
    x = np.array(values, {"float": np.float32}.get(element, element))
    expected, came = (ReferenceEvaluator(one).run(None, {"x": x})[0] for one in (model, made))
    np.testing.assert_array_equal(came, expected)
    np.testing.assert_array_equal(on_onnxruntime(made, {"x": x})[0], expected)


IN_A_FUNCTION = """
    <ir_version: 9, opset_import: ["" : 18, "local" : 1]>
    g ({0}[2] x) => ({0}[1] y) {{ y = local.f <n = 0> (x) }}
    <domain: "local", opset_import: ["" : 18]>
    f <n> (x) => (y) {{ y = {1} <noop_with_empty_axes: int = @n> (x) }}"""
"""A reduction whose flag is a function's attribute: it becomes ONNX's body."""


@pytest.mark.parametrize("element", ["int32", "int64"])
def test_integers_are_squared_as_double_for_their_norm(element):
    """In int32 the square of 50000 wraps, and its root was no number."""
    model = onnx.parser.parse_model(IN_A_FUNCTION.format(element, "ReduceL2"))
    made, _, losses = convert_proto(model, 14)
    what = "norms of integers that do not fit the type are undefined; onnxruntime's ReduceL2 clamps them"
    assert losses[0] == f"function 'f'.node[0]: {what}"
    for values in ([30000, 40000], [-46341, 0], [3, 4], [1 << 30, -1 << 30]):
        given = {"x": np.array(values, element)}
        ((came,), (expected,)) = (on_onnxruntime(one, given) for one in (made, model))
        np.testing.assert_array_equal(came, expected)
    assert came.dtype == element
    assert came.tolist() == [1518500249]


@pytest.mark.parametrize(("op", "element", "values", "expected"), [
    ("ReduceL2", "float16", [300, 400], 500), ("ReduceLogSum", "float16", [60000, 60000], 11.695),
    ("ReduceL2", "float", [300, 400], 500),
])  # fmt: skip
def test_a_sum_that_does_not_fit_the_type_has_a_root_and_a_logarithm(op, element, values, expected):
    model = onnx.parser.parse_model(IN_A_FUNCTION.format(element, op))
    made = convert_proto(model, 13)[0]
    onnx.checker.check_model(made, full_check=True)
    given = {"x": np.array(values, {"float": "float32"}.get(element, element))}
    ((came,), (was,)) = (on_onnxruntime(one, given) for one in (made, model))
    np.testing.assert_array_equal(came, was)
    assert came[0] == pytest.approx(expected, 1e-3)


@pytest.mark.parametrize("to", [17, 15, 14])
def test_a_type_is_known_behind_a_flag_that_is_a_functions_attribute(to):
    """ONNX's inference is not asked for such a node; its version says that its result is of its input's type."""
    model = onnx.parser.parse_model(IN_A_FUNCTION.format("float", "ReduceLogSumExp"))
    made, _, losses = convert_proto(model, to)
    assert losses[0] == (
        "function 'f'.node[0]: exponentials of numbers beyond 709 are infinite, and so is their sum; a kernel may "
        "avoid that"
    )
    given = {"x": np.float32([1.5, -2])}
    ((came,), (expected,)) = (on_onnxruntime(one, given) for one in (made, model))
    np.testing.assert_allclose(came, expected, 1e-6)


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", ["", ", axes"])
@pytest.mark.parametrize("element", ["int32", "int64", "uint32", "uint64"])
def test_the_logarithm_of_a_sum_of_exponentials_of_large_integers_fits_their_type(element, axes, keepdims):
    """Opset 28 takes no integers; ONNX's body gave the lowest integer where exp() is infinite in double."""
    node = f"y = ReduceLogSumExp <keepdims = {keepdims}> (x{axes})"
    model = parse(18, f"({element}[2,N] x) => ({element}[{'A,B' if keepdims else 'A' if axes else ''}] y) {{ {node} }}")
    model.graph.output[0].type.tensor_type.shape.SetInParent()  # which a scalar has too
    if axes:
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1]), "axes"))
    made, _, losses = convert_proto(model, 28)
    onnx.checker.check_model(made, full_check=True)
    overflow, rounding = (one.removeprefix("graph.node[0]: ") for one in losses)
    assert overflow == (
        "integers beyond 709 have a logarithm here; ONNX's body, onnxruntime's uint32 and uint64, overflows"
    )
    assert rounding == "ReduceLogSumExp-18 is 9 nodes now, which may round differently"
    rows = [[[2**30], [3]], [[709, 710], [800, 801]], [[0, 1], [1, 2]]]
    rows += [] if element.startswith("u") else [[[-(2**30), -5], [-1000, -1000]]]
    for values in rows:
        (came,) = on_onnxruntime(made, {"x": np.array(values, element)})
        assert came.dtype == element
        summed = values if axes else [[*values[0], *values[1]]]
        assert came.reshape(-1).tolist() == [int(log_sum_exp(row)) for row in summed]


def log_sum_exp(row: list[int]) -> float:
    """By the largest exponent, which no exponential exceeds."""
    return max(row) + math.log(math.fsum(math.exp(x - max(row)) for x in row))


def test_softplus_of_a_large_number_is_that_number():
    """Softplus-1 takes no bfloat16, and ONNX's body gave infinity beyond 88."""
    made = convert_proto(parse(22, "(bfloat16[6] x) => (bfloat16[6] y) { y = Softplus (x) }"), 20)[0]
    onnx.checker.check_model(made, full_check=True)
    x = np.array([100, -100, 0, 3, -3, 1e38], ml_dtypes.bfloat16)
    (came,) = ReferenceEvaluator(made).run(None, {"x": x})
    np.testing.assert_allclose(came.astype(float), np.logaddexp(x.astype(float), 0), 1e-2, 4e-3)


def normalized(x: np.ndarray, axes: tuple[int, ...], added: float) -> np.ndarray:
    """In float64, by the squares of deviations."""
    far = x.astype(np.float64) - x.astype(np.float64).mean(axes, keepdims=True)
    return far / np.sqrt((far**2).mean(axes, keepdims=True) + added)


@pytest.mark.parametrize(("opset", "node", "to", "shape", "axes"), [
    (17, "LayerNormalization (x, s)", 13, (2, 6, 8), (2,)), (21, "LayerNormalization (x, s)", 16, (2, 6, 8), (2,)),
    (21, "LayerNormalization <axis = 1> (x, s)", 9, (2, 6, 8), (1, 2)),
    (18, "GroupNormalization <num_groups = 2> (x, t, t)", 17, (2, 2, 3, 8), (2, 3)),
    (21, "GroupNormalization <num_groups = 2> (x, u, u)", 13, (2, 2, 3, 8), (2, 3)),
    (13, "MeanVarianceNormalization <axes = [2]> (x)", 8, (2, 6, 8), (2,)),
    (9, "MeanVarianceNormalization <axes = [0, 2]> (x)", 7, (2, 6, 8), (0, 2)),
])  # fmt: skip
@pytest.mark.parametrize("mean", [0, 1000, -30000])
def test_the_variance_of_numbers_far_from_zero_is_kept(opset, node, to, shape, axes, mean):
    """ONNX's bodies subtract the square of the mean from the mean of the squares: of [1000..1003] nothing is left."""
    model = parse(opset, f"(float[2,6,8] x, float[8] s, float[2] t, float[6] u) => (float[2,6,8] y) {{ y = {node} }}")
    made, _, losses = convert_proto(model, to)
    onnx.checker.check_model(made, full_check=True)
    assert [loss.endswith("nodes now, which may round differently") for loss in losses] == [True]
    x = (SEED.standard_normal((2, 6, 8)) * 3 + mean).astype("f4")
    ones, biased = (np.full(n, 1, "f4") for n in (8, 2)), "Group" in node
    (came,) = on_onnxruntime(made, {"x": x, **dict(zip("st", ones, strict=True)), "u": np.full(6, 1, "f4")})
    expected = normalized(x.reshape(shape), axes, 1e-5).reshape(x.shape) + biased
    np.testing.assert_allclose(came, expected, 1e-4, 3e-7 * max(abs(mean), 100))


@pytest.mark.parametrize(("opset", "node", "to"), [
    (17, "LayerNormalization (x, s)", 13), (13, "MeanVarianceNormalization <axes = [1]> (x)", 8),
])  # fmt: skip
def test_equal_numbers_have_no_variance_below_0(opset, node, to):
    """The mean of squares can round below the square of the mean, and the root was NaN."""
    model = parse(opset, f"(float[40,7] x, float[7] s) => (float[40,7] y) {{ y = {node} }}")
    x = np.repeat(SEED.standard_normal((40, 1)) * 1000, 7, 1).astype("f4")
    (came,) = on_onnxruntime(convert_proto(model, to)[0], {"x": x, "s": np.ones(7, "f4")})
    assert np.isfinite(came).all()


@pytest.mark.parametrize(("dim", "shape", "why"), [
    (5, "1,2,3,8", "RotaryEmbedding has rotary_embedding_dim=5"),
    (0, "1,2,3,5", "RotaryEmbedding rotates heads of 5 elements"),
    (4, "1,2,3,5", ""),
])  # fmt: skip
@pytest.mark.parametrize("interleaved", [0, 1])
def test_an_odd_number_of_elements_is_not_rotated_in_pairs(dim, shape, why, interleaved):
    attributes = f"rotary_embedding_dim = {dim}, interleaved = {interleaved}, num_heads = 2"
    text = (
        f"(float[{shape}] x, float[1,3,2] c) => (float[A,B,C,D] y) {{ y = RotaryEmbedding <{attributes}> (x, c, c) }}"
    )
    if not why:
        convert_proto(parse(23, text), 18)
        return
    with pytest.raises(ConversionRefused) as caught:
        convert_proto(parse(23, text), 18)
    (said,) = caught.value.nodes.values()
    assert f"{why}; expected an even number, for pairs" in said


@pytest.mark.parametrize("far", [0, 100])
@pytest.mark.parametrize("element", ["float", "double", "float16"])
@pytest.mark.parametrize(("opset", "node"), [
    (17, "LayerNormalization <axis = -2> (x, s, b)"), (21, "GroupNormalization <num_groups = 1> (x, s, b)"),
    (23, "RMSNormalization <axis = -2> (x, s)"),
])  # fmt: skip
def test_what_is_normalized_is_rounded_as_the_stash_type_says(opset, node, element, far):
    """The type of computation is float32 by default, for double too, where onnxruntime's kernels compute in double."""
    dtype = {"float": np.float32, "double": np.float64, "float16": np.float16}[element]
    x, s, b = ((SEED.standard_normal((2, 4, 3)) + far * (i == 0)).astype(dtype) for i in range(3))
    if node.startswith("Group"):
        s, b = s[0, :, 0], b[0, :, 0]
    dims = ("2,4,3", "4" if s.ndim == 1 else "2,4,3")
    text = f"({element}[{dims[0]}] x, {element}[{dims[1]}] s, {element}[{dims[1]}] b) => ({element}[2,4,3] y)"
    made, _, losses = convert_proto(parse(opset, f"{text} {{ y = {node} }}"), 15)
    wide, scale, bias = (one.astype(np.longdouble) for one in (x, s, b))
    if s.ndim == 1:
        scale, bias = scale[:, None], bias[:, None]
    mean = 0 if node.startswith("RMS") else wide.mean((1, 2), keepdims=True)
    root = np.sqrt(((wide - mean) ** 2).mean((1, 2), keepdims=True) + np.longdouble(np.float32(1e-5)))
    expected = (wide - mean) / root * scale + (0 if node.startswith("RMS") else bias)
    rounding = max(np.finfo(np.float32).eps, np.finfo(dtype).eps)
    bound = 8 * rounding * (np.abs(wide).max() / root * np.abs(scale) + np.abs(expected) + 1)
    for came in (
        ReferenceEvaluator(made).run(None, {"x": x, "s": s, "b": b}),
        on_onnxruntime(made, {"x": x, "s": s, "b": b}),
    ):
        assert (np.abs(came[0].astype(np.longdouble) - expected) <= bound).all()
    op = node.partition(" ")[0]
    said = (
        f"graph.node[0]: {op} of double normalizes in float32, as its stash_type=1 says; a kernel may do it in double"
    )
    assert (said in losses) == (element == "double")


@pytest.mark.parametrize("stash", [0, 10, 11])
def test_a_stash_type_that_the_mean_cannot_have_is_refused(stash):
    """ONNX makes no function body for it."""
    node = f"y = LayerNormalization <stash_type = {stash}> (x, s)"
    with pytest.raises(ConversionRefused) as caught:
        convert_proto(parse(17, f"(float[2,3] x, float[3] s) => (float[2,3] y) {{ {node} }}"), 15)
    why = f"LayerNormalization has stash_type={stash}; expected 1 (float32) or 16 (bfloat16)"
    assert caught.value.nodes == {"graph.node[0]": f"LayerNormalization: {why}"}


@pytest.mark.parametrize("axis", [0, 1, -1, -3])
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("to", [15, 13, 9])
def test_a_layer_normalization_of_an_empty_batch_keeps_its_shape(to, named, axis):
    """ONNX's body reshapes, and a 0 in a shape copies the input's dim."""
    for shape in [(0, 3, 4), (2, 0, 4), (2, 3, 4)]:
        if named and axis in (0, -3) and 0 in shape:
            continue  # nothing is there of which there could be a mean
        dims = "A,B,C" if named else ",".join(map(str, shape))
        inner = shape[axis:] if axis >= 0 or axis == -1 else shape
        sizes = ",".join(map(str, inner))
        text = f"(float[{dims}] x, float[{sizes}] s) => (float[A,B,C] y, float[D,E,F] m)"
        model = parse(17, f"{text} {{ y, m = LayerNormalization <axis = {axis}> (x, s) }}")
        made, _, _ = convert_proto(model, to)
        given = {"x": SEED.standard_normal(shape).astype("f4"), "s": SEED.standard_normal(inner).astype("f4")}
        if 0 not in inner:
            for expected, came in zip(*(on_onnxruntime(one, given) for one in (model, made)), strict=True):
                np.testing.assert_allclose(came, expected, 1e-4, 1e-5)
                assert came.shape == expected.shape
        assert "Reshape" not in {node.op_type for node in made.graph.node}


def test_the_epsilon_of_a_layer_normalization_may_be_its_functions():
    text = """
        <ir_version: 9, opset_import: ["" : 17, "local" : 1]>
        g (float[2,3] x, float[3] s) => (float[2,3] y) { y = local.f <e = 0.5> (x, s) }
        <domain: "local", opset_import: ["" : 17]>
        f <e> (x, s) => (y) { y = LayerNormalization <epsilon: float = @e> (x, s) }"""
    model = onnx.parser.parse_model(text)
    made, _, _ = convert_proto(model, 13)
    given = {"x": SEED.standard_normal((2, 3)).astype("f4"), "s": np.ones(3, "f4")}
    expected, came = (on_onnxruntime(one, given)[0] for one in (model, made))
    np.testing.assert_allclose(came, expected, 1e-5, 1e-6)
    assert not np.allclose(came, on_onnxruntime(parse(17, "(float[2,3] x, float[3] s) => (float[2,3] y) {"
                                                      "y = LayerNormalization(x, s) }"), given)[0], 1e-3)  # fmt: skip


@pytest.mark.parametrize(("axis", "to", "good"), [(1, 18, False), (1, 15, False), (-1, 15, True)])
def test_the_axes_of_a_layer_normalization_follow_from_the_rank(axis, to, good):
    """Counted from the front they are computed for an unknown rank, and below opset 18 they have to be constant."""
    text = f"(float x, float[3] s) => (float y) {{ y = LayerNormalization <axis = {axis}> (x, s) }}"
    model = parse(17, text)
    for value in (*model.graph.input[:1], *model.graph.output):
        value.type.tensor_type.ClearField("shape")
    if to == 18:
        assert [node.op_type for node in convert_proto(model, to)[0].graph.node] == ["LayerNormalization"]
    elif good:
        convert_proto(model, to)
    else:
        with pytest.raises(ConversionRefused, match="must be constant"):
            convert_proto(model, to)


@pytest.mark.parametrize("to", [22, 18])
@pytest.mark.parametrize(("batch", "length"), [("B", "T"), (0, 3), (2, 0), (2, 3)])
def test_an_empty_batch_is_split_into_heads(batch, length, to):
    """ONNX's bodies state -1 for the size of a head, which a Reshape of an empty batch does not know."""
    text = f"(float[{batch},{length},8] x, float[{batch},{length},2] c) => (float[A,B,C] y)"
    rotated = parse(23, f"{text} {{ y = RotaryEmbedding <num_heads = 2> (x, c, c) }}")
    text = f"(float[{batch},{length},8] x) => (float[A,B,C] y, float[A,D,E,F] z)"
    node = 'y, z = LinearAttention <q_num_heads = 2, kv_num_heads = 2, update_rule = "linear"> (x, x, x)'
    summed = onnx.parser.parse_model(f'<ir_version: 13, opset_import: ["" : 27]> g {text} {{ {node} }}')
    for model in (rotated, summed):
        made, _, losses = convert_proto(model, to)
        assert len(losses) == 1
        for shape in [(0, 3), (2, 0), (2, 3)] if batch == "B" else [(batch, length)]:
            if model is summed and 0 in shape[1:]:
                continue  # ONNX's evaluator has no Scan over nothing
            given = {"x": SEED.standard_normal((*shape, 8)).astype("f4"), "c": SEED.random((*shape, 2)).astype("f4")}
            given = {value.name: given[value.name] for value in model.graph.input}
            runs = [lambda one, feeds=given: ReferenceEvaluator(one).run(None, feeds)]
            runs += [lambda one, feeds=given: on_onnxruntime(one, feeds)] * (model is rotated)
            for run in runs:
                for expected, came in zip(run(model), run(made), strict=True):
                    assert came.shape == expected.shape
                    np.testing.assert_allclose(came, expected, 1e-4, 1e-5)


@pytest.mark.parametrize("rule", ["delta", "gated_delta"])
@pytest.mark.parametrize("length", [0, 3])
def test_the_gates_of_an_empty_batch_are_split_too(rule, length):
    """The last size of one gate is stated as -1 before a 1, of which a Reshape over no steps makes nothing."""
    gates = {"delta": ', "", "", b', "gated_delta": ', "", d, b'}[rule]
    sized = (
        f"(float[2,{length},8] x, float[2,{length},8] d, float[2,{length},2] b) => (float[A,B,C] y, float[A,D,E,F] z)"
    )
    node = f'y, z = LinearAttention <q_num_heads = 2, kv_num_heads = 2, update_rule = "{rule}"> (x, x, x{gates})'
    model = onnx.parser.parse_model(f'<ir_version: 13, opset_import: ["" : 27]> g {sized} {{ {node} }}')
    made, _, _ = convert_proto(model, 18)
    onnx.checker.check_model(made, full_check=True)
    if not length:
        return  # onnxruntime has no Scan over nothing
    zeros = {value.name: np.zeros([d.dim_value for d in value.type.tensor_type.shape.dim], "f4")
             for value in made.graph.input}  # fmt: skip
    assert [one.shape for one in on_onnxruntime(made, zeros)] == [(2, length, 8), (2, 2, 4, 4)]


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize("dims", ["2,3,8", "B,T,8"])
@pytest.mark.parametrize("to", [15, 13, 11])
def test_the_scan_of_a_linear_attention_runs_in_an_old_opset(to, dims, rule):
    """onnxruntime runs no Scan of whose results the rank is unknown, and infers none below opset 14."""
    gates = {"linear": "", "gated": ', "", d', "delta": ', "", "", b', "gated_delta": ', "", d, b'}[rule]
    sized = f"(float[{dims}] x, float[{dims}] d, float[{dims[:-1]}2] b) => (float[A,B,C] y, float[A,D,E,F] z)"
    node = f'y, z = LinearAttention <q_num_heads = 2, kv_num_heads = 2, update_rule = "{rule}"> (x, x, x{gates})'
    model = onnx.parser.parse_model(f'<ir_version: 13, opset_import: ["" : 27]> g {sized} {{ {node} }}')
    made, _, _ = convert_proto(model, to)
    onnx.checker.check_model(made, full_check=True)
    given = {"x": (2, 3, 8), "d": (2, 3, 8), "b": (2, 3, 2)}
    given = {name: -SEED.random(shape).astype("f4") if name == "d" else SEED.random(shape).astype("f4")
             for name, shape in given.items()}  # fmt: skip
    for expected, came in zip(ReferenceEvaluator(model).run(None, given), on_onnxruntime(made, given), strict=True):
        np.testing.assert_allclose(came, expected, 1e-4, 1e-5)
