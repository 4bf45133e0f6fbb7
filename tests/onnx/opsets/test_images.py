"""Uses of image operators that ONNX's own converter takes upwards: the results stay the same, bit for bit."""

from __future__ import annotations

import itertools
import math

import numpy as np
import onnx
import pytest
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from minuend.errors import ConversionRefused
from minuend.onnx.opsets import convert_proto

ort = pytest.importorskip("onnxruntime")


def parse(opset: int, body: str, given: str, out: str = "float[A,B,C,D] y") -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> g ({given}) => ({out}) {{ {body} }}')


def answer(model: ModelProto, **given: np.ndarray) -> np.ndarray:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, given)[0]


RESIZE = """s = Constant <value = int64[4] {{1, 1, {0}, {1}}}> () r = Constant <value = float[0] {{}}> ()
    y = Resize <mode = "{2}", nearest_mode = "{3}",
                coordinate_transformation_mode = "tf_half_pixel_for_nn"> (x, r, r, s)"""


SCALED = """s = Constant <value = float[4] {1.0, 1.0, 3.0, 2.0}> () r = Constant <value = float[0] {}> ()
    y = Resize <nearest_mode = "floor", coordinate_transformation_mode = "tf_half_pixel_for_nn"> (x, r, s)"""


@pytest.mark.parametrize(("nearest", "half"), [("floor", 0), ("round_prefer_floor", 1)])
def test_the_half_pixel_of_tensorflow_is_rounded_another_way(nearest, half):
    """Without a loss the results are the same, bit for bit; a border between two elements makes a loss."""
    sizes, exact = (1, 2, 3, 4, 5, 6, 7, 12, 13), 0
    for was, height, width in itertools.product(sizes, sizes, (5, 8)):
        model = parse(11, RESIZE.format(height, width, "nearest", nearest), f"float[1,1,{was},5] x")
        x = np.arange(was * 5, dtype=np.float32).reshape(1, 1, was, 5)
        made, _, losses = convert_proto(model, 13)
        if not losses:
            exact += 1
            np.testing.assert_array_equal(answer(made, x=x), answer(model, x=x))
        borders = any(was * (2 * i + 1) % (2 * height) == half * height for i in range(height))
        assert bool(losses) == (borders and (was != height or not half))
    assert exact > 80


def test_whole_scales_lose_nothing():
    made, _, losses = convert_proto(parse(11, SCALED, "float[1,1,N,M] x"), 13)
    assert losses == []
    x = np.arange(77, dtype=np.float32).reshape(1, 1, 7, 11)
    np.testing.assert_array_equal(answer(made, x=x), np.repeat(np.repeat(x, 3, 2), 2, 3))
    (loss,) = convert_proto(parse(11, SCALED.replace("3.0", "1.5"), "float[1,1,N,M] x"), 13)[2]
    assert loss == (
        "graph.node[2]: Resize has coordinate_transformation_mode='half_pixel' for 'tf_half_pixel_for_nn': where a "
        "coordinate lies between two elements, runtimes may take the other one"
    )


@pytest.mark.parametrize(("mode", "nearest", "how"), [
    ("nearest", "ceil", "mode='nearest' and nearest_mode='ceil'"), ("linear", "floor", "mode='linear'"),
])  # fmt: skip
def test_a_half_pixel_of_tensorflow_without_another_form_is_refused(mode, nearest, how):
    with pytest.raises(ConversionRefused) as caught:
        convert_proto(parse(11, RESIZE.format(4, 4, mode, nearest), "float[1,1,2,2] x"), 13)
    why = f"Resize-13 has no coordinate_transformation_mode='tf_half_pixel_for_nn', nor another form of it with {how}"
    assert caught.value.nodes == {"graph.node[2]": f"Resize: {why}"}


@pytest.mark.parametrize("dims", ["0", "N"])
def test_sizes_leave_no_scales_beside_them_which_version_11_wants_empty(dims):
    """ONNX's check of opset 13 and above takes a name for scales that are stated."""
    model = parse(11, "y = Resize(x, r, s, n)", f"float[1,1,2,2] x, float[0] r, float[{dims}] s, int64[4] n")
    made, _, losses = convert_proto(model, 18)
    assert (list(made.graph.node[0].input), losses) == (["x", "r", "", "n"], [])
    given = {"x": np.float32([[[[1, 2], [3, 4]]]]), "r": np.zeros(0, "f"), "n": np.int64([1, 1, 4, 4])}
    given["s"] = np.zeros(0, np.float32)
    np.testing.assert_array_equal(answer(made, **given), answer(model, **given))


def test_scales_leave_no_empty_sizes_beside_them():
    model = parse(11, "y = Resize(x, r, s, n)", "float[1,1,2,2] x, float[0] r, float[4] s, int64[0] n")
    made, _, _ = convert_proto(model, 18)
    assert list(made.graph.node[0].input) == ["x", "r", "s"]


@pytest.mark.parametrize("operator", ["AveragePool", "MaxPool"])
@pytest.mark.parametrize(("before", "after"), [(11, 22), (19, 22), (22, 12)])
def test_windows_in_the_padding_are_left_out_at_every_opset_where_sizes_are_unknown(operator, before, after):
    pool = f"y = {operator} <ceil_mode = 1, kernel_shape = [2], strides = [2], pads = [1, 1]> (x)"
    model = parse(before, pool, "float[1,1,N] x", "float[A,B,C] y")
    made, _, losses = convert_proto(model, after)
    (loss,) = losses
    assert loss == (
        f"graph.node[0]: {operator} with ceil_mode=1 leaves out a window that starts in the padding at the end of axis "
        "2, by its text since opset 22 and by onnxruntime and ONNX's evaluator at every opset"
    )
    for size in range(2, 12):
        x = np.arange(1, size + 1, dtype=np.float32).reshape(1, 1, size)
        np.testing.assert_array_equal(answer(made, x=x), answer(model, x=x))
        for one in (model, made):
            np.testing.assert_array_equal(ReferenceEvaluator(one).run(None, {"x": x})[0], answer(model, x=x))


CALLED = """<ir_version: 9, opset_import: ["" : {0}, "own" : 1]>
    g (float[1,1,6] x) => (float[1,1,{1}] y) {{ y = own.f <step = [2], up = 1> (x) }}
    <domain: "own", opset_import: ["" : {0}]> f <step, up> (x) => (y) {{
        y = {2} <ceil_mode: int = @up, kernel_shape = [1], strides: ints = @step> (x) }}"""


@pytest.mark.parametrize("pool", ["LpPool", "MaxPool"])
@pytest.mark.parametrize(("before", "after"), [(18, 22), (22, 18)])
@pytest.mark.parametrize("called", [False, True])
def test_a_shape_that_onnx_infers_with_a_window_in_the_padding_is_corrected(pool, before, after, called):
    """ONNX's inference gives one window more until opset 21; onnxruntime and ONNX's evaluator never do."""
    wide, node = {18: 4, 22: 3}, f"{pool} <ceil_mode = 1, kernel_shape = [1], strides = [2]> (x)"
    model = parse(before, f"y = {node}", "float[1,1,6] x", f"float[1,1,{wide[before]}] y")
    if called:
        model = onnx.parser.parse_model(CALLED.format(before, wide[before], pool))
    made, changes, losses = convert_proto(model, after)
    size = made.graph.output[0].type.tensor_type.shape.dim[2].dim_value
    assert size == wide[after]
    assert (
        f"'y' was declared (1, 1, {wide[before]}), and its node makes (1, 1, {size}); it is declared so now" in changes
    )
    assert "leaves out a window that starts in the padding" in "".join(losses)
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 6)
    np.testing.assert_array_equal(answer(made, x=x), answer(model, x=x))


def test_pad_that_wraps_is_converted_upwards():
    for opset in (11, 13, 18, 19):
        model = parse(opset, 'y = Pad <mode = "wrap"> (x, p)', "float[3] x, int64[2] p", "float[N] y")
        given = {"x": np.float32([1, 2, 3]), "p": np.int64([2, 1])}
        for to in (19, 21, 25):
            np.testing.assert_array_equal(answer(convert_proto(model, to)[0], **given), answer(model, **given))


WRAPS = [
    ((3, 3), (1, 1, 1, 0), None), ((4, 2, 3, 2), (1, 0, 0, 1, 1, 0), (0, 2, 3)), ((3,), (7, 4), None),
    ((2, 3), (0, 0, 0, 0), None),
    ((5, 2), (-1, 0, -2, 3), None), ((3, 4), (2, 1), (-1,)),
]  # fmt: skip


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("to", [18, 13, 11, 8, 5])
@pytest.mark.parametrize(("shape", "pads", "axes"), WRAPS)
def test_pad_that_wraps_gathers_before_opset_19(shape, pads, axes, to, named):
    dims = ",".join(f"d{i}" if named else str(n) for i, n in enumerate(shape))
    text = f"p = Constant <value_ints = [{','.join(map(str, pads))}]> () "
    text += "" if axes is None else f"a = Constant <value_ints = [{','.join(map(str, axes))}]> () "
    text += f'y = Pad <mode = "wrap"> (x, p{"" if axes is None else ",,a"})'
    model = parse(19, text, f"float[{dims}] x", f"float[{','.join('ABCD'[: len(shape)])}] y")
    if named and to < 11 and any(pads):
        with pytest.raises(ConversionRefused, match=r"opset 8 has no Mod|takes no tensor\(int64\)"):
            convert_proto(model, to)
        return
    made, _, losses = convert_proto(model, to)
    onnx.checker.check_model(made, full_check=True)
    assert losses == []
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.testing.assert_array_equal(answer(made, x=x), answer(model, x=x))


@pytest.mark.parametrize(("pads", "dims", "why"), [
    ("-1, 2", "3", "Pad with mode='wrap' does not say what it repeats where it adds and removes along axis 0"),
    ("1, 1", "0", "Pad with mode='wrap' does not say what it repeats along axis 0, which has no elements"),
])  # fmt: skip
def test_a_pad_that_wraps_nothing_or_what_it_removes_is_refused(pads, dims, why):
    text = f'p = Constant <value_ints = [{pads}]> () y = Pad <mode = "wrap"> (x, p)'
    with pytest.raises(ConversionRefused) as caught:
        convert_proto(parse(19, text, f"float[{dims}] x", "float[A] y"), 18)
    assert why in caught.value.nodes["graph.node[1]"]


POOL = "y = {} <ceil_mode = 1, kernel_shape = [{}], strides = [{}], pads = [{}]{}> (x)"


@pytest.mark.parametrize(("kernel", "stride", "pads"), [(1, 2, "0,0"), (1, 3, "0,0"), (2, 3, "1,1"), (2, 2, "1,1")])
@pytest.mark.parametrize("operator", ["AveragePool", "MaxPool"])
def test_a_window_without_an_element_is_left_out_at_every_opset(operator, kernel, stride, pads):
    for size in range(2, 12):
        for before, after in ((18, 20), (20, 18), (19, 22), (22, 18)):
            model = parse(
                before, POOL.format(operator, kernel, stride, pads, ""), f"float[1,1,{size}] x", "float[A,B,C] y"
            )
            x = np.arange(1, size + 1, dtype=np.float32).reshape(1, 1, size)
            made, _, losses = convert_proto(model, after)
            onnx.checker.check_model(made, full_check=True)
            np.testing.assert_array_equal(answer(made, x=x), answer(model, x=x))
            assert losses == [] or 22 in (before, after)


def test_a_window_of_padding_that_counts_is_one_until_opset_21():
    text = POOL.format("AveragePool", 2, 2, "0,2", ", count_include_pad = 1")
    with pytest.raises(ConversionRefused, match="makes 4 windows along axis 2 until opset 21 and 3 since opset 22"):
        convert_proto(parse(19, text, "float[1,1,6] x", "float[A,B,C] y"), 22)
    made, _, _ = convert_proto(parse(11, text, "float[1,1,6] x", "float[A,B,C] y"), 19)
    assert made.graph.node[0].op_type == "AveragePool"


@pytest.mark.parametrize(("before", "to", "pool"), [
    (8, 1, "MaxPool <kernel_shape = [2, 2], storage_order = 1>"),
    (12, 7, "MaxPool <kernel_shape = [2, 2], storage_order = 1>"),
    (9, 1, "AveragePool <kernel_shape = [2, 2], count_include_pad = 1>"),
    (10, 1, "AveragePool <kernel_shape = [2, 2], count_include_pad = 1, pads = [0, 0, 0, 0]>"),
    (9, 6, 'AveragePool <kernel_shape = [2, 2], count_include_pad = 1, auto_pad = "VALID">'),
    (10, 9, "MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1>"),
    (10, 9, "AveragePool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1>"),
    (18, 11, "LpPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1>"),
])  # fmt: skip
def test_what_a_pool_states_without_effect_goes(before, to, pool):
    model = parse(before, f"y = {pool} (x)", "float[1,2,6,6] x")
    made, _, losses = convert_proto(model, to)
    onnx.checker.check_model(made, full_check=True)
    assert losses == []
    x = np.random.default_rng(0).standard_normal((1, 2, 6, 6)).astype(np.float32)
    came = answer(made, x=x) if to > 6 else ReferenceEvaluator(made).run(None, {"x": x})[0]
    np.testing.assert_allclose(came, answer(model, x=x), 1e-5)


@pytest.mark.parametrize(("before", "to", "pool", "why"), [
    (8, 1, "y, i = MaxPool <kernel_shape = [2, 2]> (x)",
     "output 1 of MaxPool ('i') is another one in the other version"),
    (9, 1, "y = AveragePool <kernel_shape = [2, 2], count_include_pad = 1, pads = [1, 0, 0, 0]> (x)",
     "AveragePool-1 has no attribute 'count_include_pad'; the node states 1"),
    (10, 9, "y = MaxPool <kernel_shape = [2, 2], strides = [3, 2], ceil_mode = 1> (x)",
     "MaxPool-8 has no attribute 'ceil_mode'; the node states 1"),
])  # fmt: skip
def test_what_a_pool_states_with_effect_is_refused(before, to, pool, why):
    out = "float[A,B,C,D] y, int64[A,B,C,D] i" if "i =" in pool else "float[A,B,C,D] y"
    with pytest.raises(ConversionRefused) as caught:
        convert_proto(parse(before, pool, "float[1,2,6,6] x", out), to)
    assert caught.value.nodes["graph.node[0]"].endswith(why)


@pytest.mark.parametrize("to", [18, 13, 11])
@pytest.mark.parametrize("axes", [(0, 1), (1,)])
def test_pad_that_wraps_by_numbers_from_outside_computes_which(axes, to):
    text = f'a = Constant <value_ints = [{",".join(map(str, axes))}]> () y = Pad <mode = "wrap"> (x, p,,a)'
    model = parse(19, text, f"float[N,3] x, int64[{2 * len(axes)}] p", "float[A,B] y")
    made, _, losses = convert_proto(model, to)
    onnx.checker.check_model(made, full_check=True)
    how = "where pads add at one end of an axis and remove at the other, it repeats what the input has"
    loss = f"Pad with mode='wrap' is a Gather now: {how}, and runtimes may repeat what is left of it"
    assert losses == [f"graph.node[1]: {loss}"]
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    for one, other in itertools.product((0, 1, 5), (0, 2)):
        p = np.int64([one, other] * len(axes))
        np.testing.assert_array_equal(answer(made, x=x, p=p), answer(model, x=x, p=p))
    p = np.int64([-1, 0] * len(axes))
    np.testing.assert_array_equal(answer(made, x=x, p=p), answer(model, x=x, p=p))


@pytest.mark.parametrize("mode", ["wrap", "edge", "constant"])
@pytest.mark.parametrize("pads", ["p = Constant <value_ints = [1, 2]> ()", "p = Identity (q)"])
def test_axes_of_a_pad_may_come_from_outside(mode, pads):
    text = f'{pads} y = Pad <mode = "{mode}"> (x, p,,a)'
    given = "int64[1] a" + (", int64[2] q" if "q" in pads else "")
    model = parse(19, text, f"float[2,3] x, {given}", "float[A,B] y")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for to, axis in itertools.product((18, 13, 11), (0, 1, -1, -2)):
        made, _, _ = convert_proto(model, to)
        onnx.checker.check_model(made, full_check=True)
        values = {"x": x, "a": np.int64([axis])} | ({"q": np.int64([1, 2])} if "q" in pads else {})
        np.testing.assert_array_equal(answer(made, **values), answer(model, **values))


def test_a_pad_that_wraps_often_stores_no_list_of_its_elements():
    text = 'p = Constant <value_ints = [0, 100000]> () y = Pad <mode = "wrap"> (x, p)'
    model = parse(19, text, "float[3] x", "float[A] y")
    made, _, losses = convert_proto(model, 18)
    assert (len(made.SerializeToString()) < 2000, losses) == (True, [])
    x = np.float32([1, 2, 3])
    np.testing.assert_array_equal(answer(made, x=x), answer(model, x=x))


@pytest.mark.parametrize("mode", ["wrap", "edge"])
def test_axes_of_a_pad_may_be_int32(mode):
    text = f'y = Pad <mode = "{mode}"> (x, p,,a)'
    model = parse(19, text, "float[2,3] x, int64[2] p, int32[1] a", "float[A,B] y")
    given = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "p": np.int64([1, 2]), "a": np.int32([-1])}
    for to in (18, 13):
        made, _, _ = convert_proto(model, to)
        onnx.checker.check_model(made, full_check=True)
        np.testing.assert_array_equal(answer(made, **given), answer(model, **given))


@pytest.mark.parametrize("dims", ["2,3,4,6", "N,3,H,W", "N,C,H,W"])
@pytest.mark.parametrize("to", [13, 11, 1])
def test_space_to_depth_channel_by_channel_is_a_gather_below_opset_28(to, dims):
    """Its function body reshapes, which below opset 14 cannot state a dim of 0: an empty tensor got another shape."""
    model = parse(28, 'y = SpaceToDepth <blocksize = 2, mode = "CRD"> (x)', f"float[{dims}] x")
    if to == 1 and "C" in dims:
        with pytest.raises(ConversionRefused, match="SpaceToDepth-13 has no mode='CRD'"):
            convert_proto(model, to)
        return
    made, _, losses = convert_proto(model, to)
    shapes = (
        [(2, 3, 4, 6)] if dims[0] == "2" else [(2, 3, 4, 6), (0, 3, 4, 6), (2, 3, 0, 6), (2, 3, 4, 0), (0, 3, 0, 0)]
    )
    if "C" in dims:
        assert "allowzero=1 is gone" in " ".join(losses)
        shapes = shapes[:2]
    else:
        assert {node.op_type for node in made.graph.node} - {"Constant"} == {"SpaceToDepth", "Gather"}
    for shape in shapes:
        x = np.arange(math.prod(shape), dtype="float32").reshape(shape)
        n, c, h, w = shape
        expected = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 3, 5, 2, 4).reshape(n, 4 * c, h // 2, w // 2)
        came = answer(made, x=x) if to > 6 else ReferenceEvaluator(made).run(None, {"x": x})[0]
        np.testing.assert_array_equal(came, expected)


@pytest.mark.parametrize("opset", [28, 11])
@pytest.mark.parametrize("dims", ["2,12,4,6", "N,12,H,W", "N,C,H,W"])
def test_depth_to_space_channel_by_channel_is_a_gather_below_opset_11(dims, opset):
    model = parse(opset, 'y = DepthToSpace <blocksize = 2, mode = "CRD"> (x)', f"float[{dims}] x")
    if "C" in dims and opset == 11:
        with pytest.raises(ConversionRefused, match="DepthToSpace-1 has no mode='CRD'"):
            convert_proto(model, 10)
        return
    made, _, losses = convert_proto(model, 10)
    if "C" in dims:
        assert "allowzero=1 is gone" in " ".join(losses)
    else:
        assert {node.op_type for node in made.graph.node} - {"Constant"} == {"DepthToSpace", "Gather"}
    empty = [] if "C" in dims or dims[0] == "2" else [(0, 12, 4, 6), (2, 12, 0, 6), (2, 12, 4, 0), (0, 12, 0, 0)]
    for shape in [(2, 12, 4, 6), *empty]:
        x = np.arange(math.prod(shape), dtype="float32").reshape(shape)
        n, c, h, w = shape
        parts = x.reshape(n, c // 4, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3)
        np.testing.assert_array_equal(answer(made, x=x), parts.reshape(n, c // 4, h * 2, w * 2))
