"""Uses of image operators that ONNX's own converter takes upwards: the results stay the same, bit for bit."""

from __future__ import annotations

import itertools

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


def test_the_half_pixel_of_tensorflow_is_rounded_another_way():
    """Without a loss the results are the same, bit for bit; a border between two elements makes a loss."""
    sizes, exact = (1, 2, 3, 4, 5, 6, 7, 12, 13), 0
    for was, height, width in itertools.product(sizes, sizes, (5, 8)):
        model = parse(11, RESIZE.format(height, width, "nearest", "floor"), f"float[1,1,{was},5] x")
        x = np.arange(was * 5, dtype=np.float32).reshape(1, 1, was, 5)
        made, _, losses = convert_proto(model, 13)
        if not losses:
            exact += 1
            np.testing.assert_array_equal(answer(made, x=x), answer(model, x=x))
        assert bool(losses) == any(was * (2 * i + 1) % (2 * height) == 0 for i in range(height))
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


def test_pad_that_wraps_is_converted_upwards():
    for opset in (11, 13, 18, 19):
        model = parse(opset, 'y = Pad <mode = "wrap"> (x, p)', "float[3] x, int64[2] p", "float[N] y")
        given = {"x": np.float32([1, 2, 3]), "p": np.int64([2, 1])}
        for to in (19, 21, 25):
            np.testing.assert_array_equal(answer(convert_proto(model, to)[0], **given), answer(model, **given))
