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
from minuend.models.unheeded import FLATTENING, KINDS, PEEPHOLES
from minuend.onnx.documents.document import Document
from minuend.onnx.graphs.settings import flattenings, settings
from minuend.runtimes import registry
from minuend.runtimes.quirks import quirks
from minuend.runtimes.running import Refused, Runtime

INSTALLED = [
    name for name, adapter in registry.adapters().items()
    if "onnx" in adapter.DIALECTS and not adapter.ARRAYS and registry.release(adapter) is not None
]  # fmt: skip
RESIZED = "g (float[1,1,4,4] x) => (float[1,1,{0},{0}] y) <float[4] s = {{1, 1, {1}, {1}}}>"
KEPT = "g (float[1,1,2,4] x) => (float[1,1,h,w] y) <int64[2] s = {7, 8}>"
SEQUENCES = "g (float[2,3,4] x, float[1,{0},4] w, float[1,{0},5] r) => (float[2,1,3,5] y)"
BATCHES = "g (float[3,2,4] x, float[1,{0},4] w, float[1,{0},5] r) => (float[3,2,1,5] y)"
MODELS = {
    "Resize with antialias 1": RESIZED.format(2, 0.6) + ' { y = Resize<mode = "linear", antialias = 1>(x, , s) }',
    "Resize with exclude_outside 1": RESIZED.format(8, 2)
                                     + ' { y = Resize<exclude_outside = 1, mode = "cubic">(x, , s) }',
    "Resize with mode cubic": RESIZED.format(8, 2) + ' { y = Resize<mode = "cubic">(x, , s) }',
    **{f"Resize with keep_aspect_ratio_policy {policy}": f'''{KEPT} {{
        y = Resize<mode = "nearest", axes = [2, 3], keep_aspect_ratio_policy = "{policy}">(x, , , s) }}'''
       for policy in ("not_larger", "not_smaller")},
    **{f"{operator} with layout 1": BATCHES.format(size * 5)
                                    + f"{{ y = {operator}<hidden_size = 5, layout = 1>(x, w, r) }}"
       for operator, size in (("GRU", 3), ("LSTM", 4), ("RNN", 1))},
    PEEPHOLES: """g (float[2,3,4] x, float[1,20,4] w, float[1,20,5] r, float[1,40] k, float[1,3,5] h, float[1,3,5] c,
        float[1,15] p) => (float[2,1,3,5] y) { y = LSTM<hidden_size = 5>(x, w, r, k, , h, c, p) }""",
    "RoiAlign with mode max": """g (float[1,1,6,6] x, float[1,4] b, int64[1] i) => (float[1,1,2,2] y) {
        y = RoiAlign<mode = "max", output_height = 2, output_width = 2, sampling_ratio = 2>(x, b, i) }""",
    "DFT with onesided 1": "g (float[1,10,10,1] x) => (float[1,6,10,2] y) { y = DFT<axis = 1, onesided = 1>(x) }",
    "ArgMax with select_last_index 1": """g (float[2,3] x) => (int64[2,1] y) {
        y = ArgMax<axis = 1, select_last_index = 1>(x) }""",
    **{f"{operator} with direction reverse": SEQUENCES.format(size * 5)
                                             + f'{{ y = {operator}<hidden_size = 5, direction = "reverse">(x, w, r) }}'
       for operator, size in (("GRU", 3), ("LSTM", 4), ("RNN", 1))},
    "Mod with fmod 1": "g (float[3,4] x, float[3,4] k) => (float[3,4] y) { y = Mod<fmod = 1>(x, k) }",
    "Resize with coordinate_transformation_mode half_pixel_symmetric": RESIZED.format(8, 2)
        + ' { y = Resize<mode = "linear", coordinate_transformation_mode = "half_pixel_symmetric">(x, , s) }',
    **{f"Resize with nearest_mode {mode}": RESIZED.format(6, 1.5)
                                           + f' {{ y = Resize<mode = "nearest", nearest_mode = "{mode}">(x, , s) }}'
       for mode in ("ceil", "round_prefer_ceil")},
    **{f"ScatterElements with reduction {name}": f"""g (float[3,4] x, int64[2,2] e, float[2,2] u) => (float[3,4] y) {{
        y = ScatterElements<axis = 1, reduction = "{name}">(x, e, u) }}""" for name in ("add", "mul")},
    **{f"ScatterND with reduction {name}": f"""g (float[3,4] x, int64[2,1] n, float[2,4] u) => (float[3,4] y) {{
        y = ScatterND<reduction = "{name}">(x, n, u) }}""" for name in ("add", "mul")},
}  # fmt: skip
GIVEN = {
    "b": np.array([[0, 0, 4, 5]], np.float32), "i": np.array([0]), "e": np.array([[1, 1], [0, 3]]),
    "n": np.array([[1], [1]]),
}  # fmt: skip


def model(kind: str) -> ModelProto:
    return parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : {17 if kind.startswith("DFT") else 19}]> {MODELS[kind]}'
    )


@functools.cache
def feeds(kind: str) -> dict[str, np.ndarray]:
    source = np.random.default_rng(1)
    if kind.startswith("ArgMax"):
        return {"x": np.array([[1, 2, 2], [3, 1, 3]], np.float32)}
    shapes = {one.name: [dim.dim_value for dim in one.type.tensor_type.shape.dim] for one in model(kind).graph.input}
    return {name: GIVEN.get(name, source.standard_normal(shape, np.float32)) for name, shape in shapes.items()}


def outcome(runtime: Runtime, kind: str) -> str:
    """The verdict on what a runtime makes of a model."""
    fed = [(name, TYPES[one.dtype.name], one.view(f"u{one.itemsize}")) for name, one in feeds(kind).items()]
    found = runtime.query("onnx", model(kind).SerializeToString(), b"", fed)
    if isinstance(found, Refused):
        return "not-implemented"
    (expected,) = ReferenceEvaluator(model(kind)).run(None, feeds(kind))
    codes = found[0].codes
    numbers = codes.astype("u4").view(np.float32) if expected.dtype == np.float32 else codes.astype(np.int64)
    same = numbers.shape == expected.shape and np.allclose(numbers, expected, 1e-3, 1e-4)
    return "ok" if same else "different-numbers"


def test_every_kind_has_a_model() -> None:
    assert MODELS.keys() == KINDS - {kind for kind in KINDS if "several axes" in kind}
    for kind in MODELS:
        assert kind in settings(model(kind)) <= {kind, "Resize with mode cubic"}


def test_a_resize_that_makes_nothing_smaller_is_not_smoothed() -> None:
    text = RESIZED.format(8, 2) + ' { y = Resize<mode = "linear", antialias = 1>(x, , s) }'
    assert not settings(parser.parse_model(f'<ir_version: 9, opset_import: ["" : 19]> {text}'))


@pytest.mark.parametrize("name", INSTALLED)
def test_a_runtime_heeds_a_setting_or_is_said_not_to(name: str) -> None:
    with Runtime(name) as runtime:
        strict = quirks(name).strict_of(runtime.release)
        found = {kind: outcome(runtime, kind) for kind in MODELS}
    said = {kind: next((strict[one][0] for one in settings(model(kind)) if one in strict), "ok") for kind in MODELS}
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
            own = flattenings(Document(given))
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
    assert refused.instead == "convert the model to opset 13"
    assert "axis" not in mn.check(mn.convert(given, "onnx:13").model, "openvino-cpu").findings[0].reason
