"""runtimes/adapters: attributes that a runtime does not heed, held against every one that is installed."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from onnx import ModelProto, parser
from onnx.reference import ReferenceEvaluator

import minuend as mn
from minuend.core.elements import TYPES
from minuend.models import operator_forms as forms
from minuend.models.operator_forms import FLATTENING, FORMS, PEEPHOLES, POOLS
from minuend.onnx.graphs.declared import operators
from minuend.onnx.graphs.operator_forms import forms_of
from minuend.onnx.graphs.walk import walk
from minuend.runtimes import registry
from minuend.runtimes.quirks import Quirks, quirks
from minuend.runtimes.running import Refused, Runtime

INSTALLED = [
    name for name, adapter in registry.adapters().items()
    if "onnx" in adapter.DIALECTS and not adapter.ARRAYS and registry.release(adapter) is not None
]  # fmt: skip
RESIZED = "g (float[1,1,4,4] x) => (float[1,1,{0},{0}] y) <float[4] s = {{1, 1, {1}, {1}}}>"
KEPT = "g (float[1,1,2,4] x) => (float[1,1,h,w] y) <int64[2] s = {7, 8}>"
BATCHES = "g (float[3,2,4] x, float[1,{0},4] w, float[1,{0},5] r) => (float[3,2,1,5] y)"
POOLED = "g (float[1,1,{},1] x) => (float[1,1,h,1] y) {{ y = {}<kernel_shape = [{}, 1], {}>(x) }}"
SAME = 'g (float[1,1,6,6] x{}) => (float[1,1,{},{}] y) {{ y = {}<kernel_shape = [2, 2], auto_pad = "{}"{}>(x{}) }}'
LAYER = "g (float[2,3,4] x, float[1,{0},4] w, float[1,{0},5] r{1}) => (float[2,1,3,5] y) {{ y = {2}<{3}>(x, w, r{4}) }}"
LAYERS = {"GRU": 15, "LSTM": 20, "RNN": 5}
ACTIVATIONS = {
    "GRU": '"HardSigmoid", "Softsign"', "LSTM": '"HardSigmoid", "Softsign", "Softsign"', "RNN": '"Softsign"',
}  # fmt: skip
RELU = {"GRU": '"Sigmoid", "Relu"', "LSTM": '"Sigmoid", "Relu", "Tanh"', "RNN": '"Relu"'}
REDUCED = ("add", "max", "min", "mul")
QUANTISED = "g (float[88] x) => ({0}[88] y) <float s = {{{1}}}, {0} z = {{{2}}}> {{ y = QuantizeLinear(x, s, z) }}"
SUPPRESSED = """g (float[1,6,4] boxes, float[1,1,6] scores{}) => (int64[n,3] y) <int64[1] most = {{3}}> {{
    y = NonMaxSuppression(boxes, scores, most{}) }}"""
Stored = tuple[str, str, np.ndarray]
COMPUTED: dict[str, tuple[str, str, list[Stored], str]] = {
    "AffineGrid": ("float[1,2,3] x", "float[1,2,3,2] y", [("size", "int64[4]", np.array([1, 1, 2, 3]))], "x, size"),
    "BatchNormalization": (
        "float[2,3,4] x",
        "float[2,3,4] y",
        [(name, "float[3]", np.array([1, 2, 0.5], np.float32)) for name in ("scale", "B", "input_mean", "input_var")],
        "x, scale, B, input_mean, input_var",
    ),
    "CumSum": ("float[2,3] x", "float[2,3] y", [("axis", "int64", np.array(1))], "x, axis"),
    "DFT": ("float[2,8,5,1] x", "float[2,8,5,2] y", [("axis", "int64", np.array(1))], "x, , axis"),
    "DequantizeLinear": (
        "uint8[4] codes",
        "float[4] y",
        [("x_scale", "float", np.array(0.5, np.float32)), ("x_zero_point", "uint8", np.array(3, np.uint8))],
        "codes, x_scale, x_zero_point",
    ),
    "Expand": ("float[3,1] x", "float[3,4] y", [("shape", "int64[2]", np.array([3, 4]))], "x, shape"),
    "GRU": (
        "float[2,3,4] x, float[1,15,4] w, float[1,15,5] r",
        "float[2,1,3,5] y",
        [("B", "float[1,30]", np.linspace(-1, 1, 30, dtype=np.float32)[None])],
        "x, w, r, B",
    ),
    "NonMaxSuppression": (
        "float[1,6,4] boxes, float[1,1,6] scores, float[1] iou",
        "int64[n,3] y",
        [("max_output_boxes_per_class", "int64[1]", np.array([3]))],
        "boxes, scores, max_output_boxes_per_class, iou",
    ),
    "OneHot": (
        "int64[3] t",
        "float[3,4] y",
        [("depth", "int64", np.array(4)), ("values", "float[2]", np.array([0, 1], np.float32))],
        "t, depth, values",
    ),
    "Pad": (
        "float[3,4] x",
        "float[5,7] y",
        [("pads", "int64[4]", np.array([1, 1, 1, 2])), ("constant_value", "float", np.array(2, np.float32))],
        "x, pads, constant_value",
    ),
    "QuantizeLinear": (
        "float[88] x",
        "uint8[88] y",
        [("y_scale", "float", np.array(0.3, np.float32)), ("y_zero_point", "uint8", np.array(3, np.uint8))],
        "x, y_scale, y_zero_point",
    ),
    "ReduceL1": ("float[2,3] x", "float[2,1] y", [("axes", "int64[1]", np.array([1]))], "x, axes"),
    "Reshape": ("float[3,4] x", "float[2,6] y", [("shape", "int64[2]", np.array([2, 6]))], "x, shape"),
    "Resize": (
        "float[1,1,2,4] x",
        "float[1,1,4,8] y",
        [("scales", "float[4]", np.array([1, 1, 2, 2], np.float32)), ("sizes", "int64[4]", np.array([1, 1, 4, 8]))],
        "",
    ),
    "STFT": (
        "float[1,16,1] x",
        "float[1,3,5,2] y",
        [
            ("frame_step", "int64", np.array(4)),
            ("window", "float[8]", np.ones(8, np.float32)),
            ("frame_length", "int64", np.array(8)),
        ],
        "x, frame_step, window, frame_length",
    ),
    "Slice": (
        "float[3,4] x",
        "float[3,2] y",
        [
            ("starts", "int64[1]", np.array([1])),
            ("ends", "int64[1]", np.array([4])),
            ("axes", "int64[1]", np.array([1])),
            ("steps", "int64[1]", np.array([2])),
        ],
        "x, starts, ends, axes, steps",
    ),
    "Split": ("float[4,3] x", "float[1,3] y", [("split", "int64[2]", np.array([1, 3]))], "x, split"),
    "Squeeze": ("float[1,3,1] x", "float[3,1] y", [("axes", "int64[1]", np.array([0]))], "x, axes"),
    "Tile": ("float[2,3] x", "float[4,3] y", [("repeats", "int64[2]", np.array([2, 1]))], "x, repeats"),
    "TopK": ("float[3,4] x", "float[3,2] y", [("K", "int64[1]", np.array([2]))], "x, K"),
    "Unsqueeze": ("float[3,4] x", "float[3,1,4] y", [("axes", "int64[1]", np.array([1]))], "x, axes"),
    "Upsample": (
        "float[1,1,4,4] x",
        "float[1,1,6,6] y",
        [("scales", "float[4]", np.array([1, 1, 1.5, 1.5], np.float32))],
        "x, scales",
    ),
}
"""Operator → its first inputs, the result, those that may be stored or computed, and how they are passed."""

ATTRIBUTES = {"GRU": "<hidden_size = 5>", "Resize": '<mode = "nearest">', "Upsample": '<mode = "nearest">'}
RESIZED_BY = {"scales": "x, , scales", "sizes": "x, , , sizes"}
RESULTS = {"Split": "y, rest", "TopK": "y, places"}


def of_computed(operator: str, computed: str) -> str:
    """A model that is given one input of an operator; the others are stored."""
    given, result, others, passed = COMPUTED[operator]
    passed = passed or RESIZED_BY[computed]
    stored = [
        f"{dtype} {name} = {{{', '.join(map(str, array.ravel()))}}}"
        for name, dtype, array in others if name != computed and name in passed
    ]  # fmt: skip
    given += "".join(f", {dtype} {name}" for name, dtype, _ in others if name == computed)
    initializers = f"<{', '.join(stored)}>" if stored else ""
    node = f"{RESULTS.get(operator, 'y')} = {operator}{ATTRIBUTES.get(operator, '')}({passed})"
    return f"g ({given}) => ({result}) {initializers} {{ {node} }}"


MODELS = {
    **{forms.computed(operator, name): of_computed(operator, name)
       for operator, inputs in forms.STORED.items() if operator in COMPUTED for name in inputs.values()},
    "BitShift": 'g (uint8[4] bits, uint8[4] by) => (uint8[4] y) { y = BitShift<direction = "LEFT">(bits, by) }',
    "DynamicQuantizeLinear": "g (float[88] x) => (uint8[88] y) { y, s, z = DynamicQuantizeLinear(x) }",
    "QuantizeLinear": "g (float[88] x) => (uint8[88] y) <float s = {0.25}> { y = QuantizeLinear(x, s) }",
    forms.ODD: QUANTISED.format("uint8", 1, 3),
    forms.TO_16_BITS: QUANTISED.format("uint16", 1, 0),
    "Softplus": "g (float[6] x) => (float[6] y) { y = Softplus(x) }",
    "Gelu with approximate tanh": 'g (float[4] x) => (float[4] y) { y = Gelu<approximate = "tanh">(x) }',
    **{f"IsInf with detect_{sign} 0": f"""g (float[4] x) => (float[4] y) {{
        found = IsInf<detect_{sign} = 0>(x) y = Cast<to = 1>(found) }}""" for sign in ("negative", "positive")},
    "Pad with mode wrap": """g (float[4,4] x) => (float[6,7] y) <int64[4] pads = {1, 1, 1, 2}> {
        y = Pad<mode = "wrap">(x, pads) }""",
    forms.NEGATIVE_PADS: """g (float[4,4] x) => (float[5,4] y) <int64[4] pads = {2, -1, -1, 1}> {
        y = Pad<mode = "edge">(x, pads) }""",
    forms.NEGATIVE_ND: """g (float[2,3,2] x) => (float[2] y) <int64[2,3] places = {1, 2, 0, 0, -1, 1}> {
        y = GatherND(x, places) }""",
    forms.OTHER_SHAPE: """g (float[3,4] x, int64[2,2] e) => (float[2,2] y) {
        y = GatherElements<axis = 1>(x, e) }""",
    forms.BROADCAST: "g (float[4,4,4] x, float[1,4,1] k) => (float[4,4,4] y) { y = LayerNormalization(x, k) }",
    forms.NO_THRESHOLD: SUPPRESSED.format("", ""),
    forms.SAMPLED: """g (float[1,1,10,10] x, float[3,4] rois, int64[3] batch) => (float[3,1,5,5] y) {
        y = RoiAlign<output_height = 5, output_width = 5>(x, rois, batch) }""",
    forms.OLD_ALIGNED: """g (float[1,1,10,10] x, float[3,4] rois, int64[3] batch) => (float[3,1,5,5] y) {
        y = RoiAlign<output_height = 5, output_width = 5, sampling_ratio = 2>(x, rois, batch) }""",
    forms.TIED: "g (float[3,40] levels) => (int64[3,12] y) <int64[1] K = {12}> { v, y = TopK(levels, K) }",
    forms.DEFAULT_AXIS: "g (float[2,8,5,1] x) => (float[2,8,5,2] y) { y = DFT(x) }",
    forms.TILED: "g (float[2,3,4,2] x, int64[4] repeats) => (float[2,6,8,4] y) { y = Tile(x, repeats) }",
    forms.ALPHA: "g (float[3,4] x) => (float[3,4] y) { y = Celu<alpha = 2.0>(x) }",
    forms.POWERS: "g (float[6] x) => (float[6] y) <float[6] to = {2, 3, 3, 2, 1, 0}> { y = Pow(x, to) }",
    forms.OTHER_POWERS: "g (float[6] x) => (float[6] y) <int32 to = {3}> { y = Pow(x, to) }",
    forms.WHOLE_POWERS: "g (int32[4] whole) => (int32[4] y) <int32 to = {3}> { y = Pow(whole, to) }",
    forms.TO_NARROW: "g (int32[4] whole) => (uint8[4] y) { y = Cast<to = 2>(whole) }",
    forms.TO_BYTES: "g (float[6] x) => (uint8[6] y) { y = Cast<to = 2>(x) }",
    "Resize with antialias 1": RESIZED.format(2, 0.5) + ' { y = Resize<mode = "linear", antialias = 1>(x, , s) }',
    "Resize with exclude_outside 1": RESIZED.format(8, 2)
                                     + ' { y = Resize<exclude_outside = 1, mode = "cubic">(x, , s) }',
    "Resize with mode cubic": RESIZED.format(8, 2) + ' { y = Resize<mode = "cubic">(x, , s) }',
    **{f"Resize with keep_aspect_ratio_policy {policy}": f'''{KEPT} {{
        y = Resize<mode = "nearest", axes = [2, 3], keep_aspect_ratio_policy = "{policy}">(x, , , s) }}'''
       for policy in ("not_larger", "not_smaller")},
    **{f"{operator} with layout 1": BATCHES.format(size)
                                    + f"{{ y = {operator}<hidden_size = 5, layout = 1>(x, w, r) }}"
       for operator, size in LAYERS.items()},
    PEEPHOLES: """g (float[2,3,4] x, float[1,20,4] w, float[1,20,5] r, float[1,40] k, float[1,3,5] h, float[1,3,5] c,
        float[1,15] p) => (float[2,1,3,5] y) { y = LSTM<hidden_size = 5>(x, w, r, k, , h, c, p) }""",
    "RoiAlign with mode max": """g (float[1,1,6,6] x, float[1,4] b, int64[1] i) => (float[1,1,2,2] y) {
        y = RoiAlign<mode = "max", output_height = 2, output_width = 2, sampling_ratio = 2>(x, b, i) }""",
    "DFT with onesided 1": "g (float[1,10,10,1] x) => (float[1,6,10,2] y) { y = DFT<axis = 1, onesided = 1>(x) }",
    "ArgMax with select_last_index 1": """g (float[2,3] x) => (int64[2,1] y) {
        y = ArgMax<axis = 1, select_last_index = 1>(x) }""",
    **{f"{operator} with direction reverse": LAYER.format(
           size, "", operator, 'hidden_size = 5, direction = "reverse"', "") for operator, size in LAYERS.items()},
    **{f"{operator} with clip": LAYER.format(size, "", operator, "hidden_size = 5, clip = 0.2", "")
       for operator, size in LAYERS.items()},
    **{f"{operator} with {kind}": LAYER.format(
           size, "", operator, f"hidden_size = 5, activations = [{names[operator]}]", "")
       for operator, size in LAYERS.items()
       for kind, names in (("other activations", ACTIVATIONS), ("activations Relu", RELU))},
    **{f"{operator} with sequence_lens": LAYER.format(size, ", int32[3] n", operator, "hidden_size = 5", ", , n")
       for operator, size in LAYERS.items()},
    forms.EVERY_STEP: LAYER.format(15, "", "GRU", "hidden_size = 5", ""),
    "Mod with fmod 1": "g (float[3,4] x, float[3,4] k) => (float[3,4] y) { y = Mod<fmod = 1>(x, k) }",
    "Resize with coordinate_transformation_mode half_pixel_symmetric": RESIZED.format(8, 2)
        + ' { y = Resize<mode = "linear", coordinate_transformation_mode = "half_pixel_symmetric">(x, , s) }',
    **{f"Resize with nearest_mode {mode}": RESIZED.format(6, 1.5)
                                           + f' {{ y = Resize<mode = "nearest", nearest_mode = "{mode}">(x, , s) }}'
       for mode in ("ceil", "round_prefer_ceil")},
    **{f"ScatterElements with reduction {name}": f"""g (float[3,4] x, int64[2,2] e, float[2,2] u) => (float[3,4] y) {{
        y = ScatterElements<axis = 1, reduction = "{name}">(x, e, u) }}""" for name in REDUCED},
    **{f"ScatterND with reduction {name}": f"""g (float[3,4] x, int64[2,1] m, float[2,4] u) => (float[3,4] y) {{
        y = ScatterND<reduction = "{name}">(x, m, u) }}""" for name in REDUCED},
    **{f"{operator} with auto_pad SAME_LOWER": SAME.format(*row) for operator, row in {
           "AveragePool": ("", 6, 6, "AveragePool", "SAME_LOWER", "", ""),
           "MaxPool": ("", 6, 6, "MaxPool", "SAME_LOWER", "", ""),
           "Conv": (", float[1,1,2,2] w", 6, 6, "Conv", "SAME_LOWER", "", ", w")}.items()},
    **{f"ConvTranspose with auto_pad {pad}": SAME.format(
           ", float[1,1,2,2] w", 18, 18, "ConvTranspose", pad, ", strides = [3, 3]", ", w")
       for pad in ("SAME_LOWER", "SAME_UPPER")},
    forms.WINDOW: """g (float[1,2,6,4] x, float[1,2,6,4] w, float[1,2,6,4] r) => (float[1,2,6,4] y) {
        y = Attention<left_window_size = 1, right_window_size = 1>(x, w, r) }""",
    forms.OUTPUT_SHAPE: """g (float[1,2,3,3] x, float[2,2,3,3] w) => (float[1,2,8,8] y) {
        y = ConvTranspose<strides = [2, 2], output_shape = [8, 8]>(x, w) }""",
    **{f"GridSample with mode {mode}": f"""g (float[1,1,4,4] x, float[1,3,3,2] grid) => (float[1,1,3,3] y) {{
        y = GridSample<mode = "{mode}">(x, grid) }}""" for mode in ("cubic", "bicubic")},
    "Round": "g (float[6] x) => (float[6] y) { y = Round(x) }",
    "Shrink": "g (float[3,4] x) => (float[3,4] y) { y = Shrink<lambd = 0.5, bias = 0.25>(x) }",
    forms.EVEN: """g (float[1,8,2,3] x) => (float[1,8,2,3] y) {
        y = LRN<size = 4, alpha = 0.5, beta = 0.7, bias = 2.0>(x) }""",
    forms.NEGATIVE: """g (float[3,4] x) => (float[3,2] y) <int64[3,2] e = {-1, 1, 0, -2, 2, 2}> {
        y = GatherElements<axis = 1>(x, e) }""",
    forms.OTHER_AXIS: """g (int64[3] t) => (float[4,3] y) <int64 d = {4}, float[2] v = {0, 1}> {
        y = OneHot<axis = 0>(t, d, v) }""",
    **{forms.in_padding(operator): POOLED.format(
           6, operator, 3, "strides = [4, 1], pads = [1, 0, 2, 0], ceil_mode = 1") for operator in POOLS},
    **{forms.with_dilations(operator): POOLED.format(9, operator, 3, "dilations = [2, 1]") for operator in POOLS},
    forms.COUNTED: POOLED.format(5, "AveragePool", 3, "strides = [2, 1], pads = [1, 0, 1, 0], ceil_mode = 1, "
                                                         "count_include_pad = 1").replace("[1,1,5,1]", "[1,1,4,1]"),
    forms.DESCENDING: """g (float[1,1,2,4] x) => (float[1,1,4,6] y) <float[2] s = {1.5, 2}> {
        y = Resize<mode = "nearest", axes = [3, 2]>(x, , s) }""",
    forms.ROUNDED_LINEAR: RESIZED.format(2, 0.6) + ' { y = Resize<mode = "linear">(x, , s) }',
    forms.ROUNDED_CORNERS: RESIZED.format(2, 0.6)
        + ' { y = Resize<mode = "linear", coordinate_transformation_mode = "align_corners">(x, , s) }',
    **{forms.scaled(operator, mode): RESIZED.format(6, 1.5)
           + f' {{ y = {operator.partition("-")[0]}<mode = "{mode}">(x, s) }}'
       for operator in forms.SCALED for mode in ("linear", "nearest")},
}  # fmt: skip
OPSETS = {
    "AffineGrid": 20, "Attention": 25, "DFT along": 20, "DFT of": 20, "DFT": 17, "Gelu": 20,
    "GridSample with mode bicubic": 17, "GridSample with mode cubic": 20, "QuantizeLinear to 16": 21, "Resize-10": 10,
    "RoiAlign-10": 10,
    "Upsample of": 9, "Upsample-9": 9,
}  # fmt: skip
"""Of models that are not of opset 19."""

GIVEN = {
    "b": np.array([[0, 0, 4, 5]], np.float32), "i": np.array([0]), "e": np.array([[1, 1], [0, 3]]),
    "m": np.array([[1], [1]]), "n": np.array([2, 1, 2], np.int32), "t": np.array([1, 3, 0]),
    "bits": np.array([3, 200, 255, 7], np.uint8), "by": np.array([7, 1, 2, 0], np.uint8),
    "codes": np.array([0, 3, 200, 255], np.uint8), "whole": np.array([-2, 3, 400, 0], np.int32),
    "levels": np.random.default_rng(3).integers(0, 4, (3, 40)).astype(np.float32), "repeats": np.array([1, 2, 2, 2]),
    "boxes": np.array([[[0, at, 1, at + 1] for at in (0, 0.1, -0.1, 10, 10.1, 100)]], np.float32),
    "scores": np.array([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3]]], np.float32), "batch": np.array([0, 0, 0]),
    "iou": np.array([0.5], np.float32), "least": np.array([0], np.float32),
    "rois": np.array([[0, 0, 9, 9], [0, 5, 4, 9], [5, 5, 9, 9]], np.float32),
    "grid": np.tanh(np.arange(18, dtype=np.float32).reshape(1, 3, 3, 2) - 9),
}  # fmt: skip
HALVES = np.concatenate([np.arange(-80, 1), [34.5, 142.5, 801, 801.0002, 100001, 100003, 100005]]).astype("f4") / 2
X_OF = {
    "QuantizeLinear": HALVES, "DynamicQuantizeLinear": np.linspace(-10, 10, 88, dtype="f4"),
    "Softplus": np.array([-9, -1, 0, 2, 90, 100], "f4"), "Gelu": np.array([-3, -1, 1, 3], "f4"),
    "IsInf": np.array([-np.inf, 0, 1, np.inf], "f4"), "Pow": np.array([-2, -3, 2, 5, 7, 1], "f4"),
    "Cast": np.array([0, 1.5, 127, 128, 200.7, 254], "f4"),
    "ArgMax": np.array([[1, 2, 2], [3, 1, 3]], np.float32), "Round": np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5], "f4"),
}  # fmt: skip


def model(kind: str) -> ModelProto:
    opset = next((OPSETS[one] for one in OPSETS if kind.startswith(one)), 19)
    return parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]> {MODELS[kind]}')


@functools.cache
def feeds(kind: str) -> dict[str, np.ndarray]:
    source = np.random.default_rng(1)
    shapes = {one.name: [dim.dim_value for dim in one.type.tensor_type.shape.dim] for one in model(kind).graph.input}
    operator = kind.partition(" ")[0]
    given = GIVEN | ({"x": X_OF[operator]} if operator in X_OF else {})
    if " of computed " in kind:
        given |= {name: array for name, _, array in COMPUTED[operator.replace("Reduction", "ReduceL1")][2]}
    return {
        name: given[name] if name in given else source.standard_normal(shape, np.float32)
        for name, shape in shapes.items()
    }


@functools.cache
def expected(kind: str) -> np.ndarray:
    """What onnxruntime gives, which computes what ONNX's evaluator leaves out; that one, where onnxruntime refuses."""
    fed = [(name, TYPES[one.dtype.name], one.view(f"u{one.itemsize}")) for name, one in feeds(kind).items()]
    with Runtime("onnxruntime-cpu") as runtime:
        found = runtime.query("onnx", model(kind).SerializeToString(), b"", fed)
    if isinstance(found, Refused):
        (array,) = ReferenceEvaluator(model(kind)).run(None, feeds(kind))
        return array
    assert found[0].element is not None
    return found[0].codes.view(found[0].element.memory)


def outcome(runtime: Runtime, kind: str) -> str:
    """The verdict on what a runtime makes of a model."""
    fed = [(name, TYPES[one.dtype.name], one.view(f"u{one.itemsize}")) for name, one in feeds(kind).items()]
    found = runtime.query("onnx", model(kind).SerializeToString(), b"", fed)
    if isinstance(found, Refused):
        return "not-implemented"
    wanted, codes, element = expected(kind), found[0].codes, found[0].element
    numbers = codes if element is None else np.ascontiguousarray(codes).view(element.memory)
    integers = numbers.dtype.kind in "iu" and wanted.dtype.kind in "iu"  # some runtimes have no int64
    alike = numbers.shape == wanted.shape and (integers or numbers.dtype == wanted.dtype)
    same = alike and np.allclose(numbers, wanted, 1e-3, 1e-4)
    return "ok" if same else "different-numbers"


def test_every_kind_has_a_model() -> None:
    assert MODELS.keys() == FORMS - {kind for kind in FORMS if "several axes" in kind}
    for kind in MODELS:
        allowed = {
            kind,
            "Resize with mode cubic",
            forms.ROUNDED_LINEAR,
            forms.EVERY_STEP,
            "QuantizeLinear",
            "NonMaxSuppression",
        }
        if "computed" in kind or kind == forms.TILED:  # what is computed is not known
            allowed |= {one for one in FORMS if one.startswith(kind.partition(" ")[0])}
        assert kind in forms_of(walk(model(kind))) <= allowed


def test_a_resize_that_makes_nothing_smaller_is_not_smoothed() -> None:
    text = RESIZED.format(8, 2) + ' { y = Resize<mode = "linear", antialias = 1>(x, , s) }'
    given = parser.parse_model(f'<ir_version: 9, opset_import: ["" : 19]> {text}')
    assert not forms_of(walk(given))


def _said(kind: str, known: Quirks, release: str) -> str:
    own = forms_of(walk(model(kind))) | operators(model(kind))
    if rows := [row for one, row in known.strict_of(release).items() if one in own]:
        return rows[0][0]
    if known.lacks(own, release):
        return "not-implemented"
    return "different-numbers" if known.differs(own, release) else "ok"


@pytest.mark.parametrize("name", INSTALLED)
def test_a_runtime_heeds_a_setting_or_is_said_not_to(name: str) -> None:
    with Runtime(name) as runtime:
        found = {kind: outcome(runtime, kind) for kind in MODELS}
    said = {kind: _said(kind, quirks(name), runtime.release) for kind in MODELS}
    for kind in MODELS:
        if name == "mnn" and kind.startswith("QuantizeLinear"):  # its process dies, or gives other numbers
            assert found.pop(kind) != "ok"
            assert said.pop(kind) != "ok"
    assert said == found


@pytest.mark.parametrize("target", ["openvino-cpu", "openvino-cpu@2023.1.0", "mnn", "opencv-dnn"])
def test_a_difference_behind_a_setting_that_is_not_heeded_has_different_numbers(target: str) -> None:
    given = parser.parse_model(
        """<ir_version: 9, opset_import: ["" : 19]>
        g (float[3,2,4] x, float[1,15,4] w, float[1,15,5] r, float[3,2,1,5] k) => (float[3,2,1,5] y) {
            z = GRU<hidden_size = 5, layout = 1>(x, w, r) y = Sub(z, k) }"""
    )
    (finding,) = mn.check(given, target).findings
    assert (finding.verdict, finding.severity) == ("different-numbers", "numbers")
    assert "layout 1" in finding.reason


def test_a_setting_that_is_not_heeded_is_refused_by_fix_with_what_helps() -> None:
    given = parser.parse_model(
        """<ir_version: 9, opset_import: ["" : 19]>
        g (float[1,3,8,8] x, float[1,3,4,4] m) => (float[1,3,4,4] y) <float[4] s = {1, 1, 0.5, 0.5}> {
            r = Resize<mode = "linear", antialias = 1>(x, , s) y = Sub(r, m) }"""
    )
    (refused,) = mn.fix(given, "openvino-cpu", run=False).refused
    assert refused.instead == "leave that attribute out"


# ---- axes -----------------------------------------------------------------------------------------------------------

AXES = [((2, 3, 4), 1), ((2, 3, 4), None), ((2, 3, 4), 2), ((2, 3), None), ((2, 3, 1), 1), ((2, 3, 4, 5), 2)]


def along(operator: str, opset: int, shape: tuple[int, ...], axis: int | None) -> ModelProto:
    dims, stated = ",".join(map(str, shape)), "" if axis is None else f"<axis = {axis}>"
    return parser.parse_model(
        f"""<ir_version: 7, opset_import: ["" : {opset}]>
        g (float[{dims}] x, float[{dims}] k) => (float[{dims}] y) {{ d = Sub(x, k) y = {operator}{stated}(d) }}"""
    )


def exactly(operator: str, array: np.ndarray, axis: int | None) -> np.ndarray:
    """What ONNX's versions below opset 13 give: the axes from one on are one row."""
    rows = array.reshape(int(np.prod(array.shape[: 1 if axis is None else axis])), -1).astype(np.float64)
    found = np.exp(rows) / np.exp(rows).sum(1, keepdims=True)
    if operator == "Hardmax":
        found = (np.arange(rows.shape[1]) == rows.argmax(1)[:, None]).astype(np.float64)
    return (np.log(found) if operator == "LogSoftmax" else found).reshape(array.shape)


@pytest.mark.parametrize("name", INSTALLED)
def test_a_runtime_goes_over_several_axes_or_is_said_not_to(name: str) -> None:
    """openvino goes along one in Softmax of opset 11 and 12, and the verdicts were ok."""
    source = np.random.default_rng(2)
    with Runtime(name) as runtime:
        strict = quirks(name).strict_of(runtime.release)
        for operator, opset, (shape, axis) in itertools.product(FLATTENING, (7, 11, 12), AXES):
            given, array = along(operator, opset, shape, axis), source.standard_normal(shape, np.float32)
            own = forms_of(walk(given))
            fed = [("x", TYPES["float32"], array.view("u4")), ("k", TYPES["float32"], np.zeros(shape, "u4"))]
            found = runtime.query("onnx", given.SerializeToString(), b"", fed)
            if isinstance(found, Refused):
                continue  # an operator that a runtime lacks
            numbers = found[0].codes.astype("u4").view(np.float32)
            same = np.allclose(numbers, exactly(operator, array, axis), 1e-3, 1e-5)
            assert same == own.isdisjoint(strict), (operator, opset, shape, axis)


def test_converted_to_opset_13_a_softmax_over_several_axes_is_no_more() -> None:
    given = along("Softmax", 12, (2, 3, 4), 1)
    (finding,) = mn.check(given, "openvino-cpu").findings
    assert (finding.verdict, finding.severity) == ("different-numbers", "numbers")
    (refused,) = mn.fix(given, "openvino-cpu", run=False).refused
    assert refused.instead == "minuend convert MODEL --to onnx:13 -o OUT"
    assert "axis" not in mn.check(mn.convert(given, "onnx:13").model, "openvino-cpu").findings[0].reason
