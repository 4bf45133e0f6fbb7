"""Across modules: runtimes other than onnxruntime and openvino, what is known of them and what is not measured."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx

from minuend import check, fix
from minuend.core.elements import TYPES
from minuend.operators import SUBTRACT
from minuend.operators.value_classes import classes
from minuend.runtimes import targets
from minuend.runtimes.quirks import quirks
from minuend.runtimes.registry import adapters

ONNX = (
    "iree",
    "mnn",
    "onnxruntime-node",
    "onnxruntime-openvino",
    "onnxruntime-web",
    "onnxruntime-webgpu",
    "opencv-dnn",
    "tract",
    "tvm",
)
WITH_PATTERNS = ("mnn", "onnxruntime-node", "onnxruntime-openvino", "onnxruntime-web", "opencv-dnn", "tract")
WITH_SOME = ("iree", "tvm")  # of the type that is judged below: in open dims, and not between nodes
ARRAYS = ("jax-cpu", "litert", "litert-kernels", "litert-quantised", "tensorflow-cpu")

WRAPS = (
    "iree",
    "onnxruntime-node",
    "onnxruntime-web",
    "onnxruntime-webgpu",
    "opencv-dnn",
    "tract",
    "tvm",
    "jax-cpu",
    "tensorflow-cpu",
)
FLUSHES = ("opencv-dnn", "jax-cpu", "tensorflow-cpu")
IN_32_BITS = ("onnxruntime-openvino", "opencv-dnn")


def answers(name: str, dtype: str, constants: str = "none") -> dict[str, str]:
    """The verdicts of a target on operands of one shape, by value class."""
    version = "onnx:14" if name in ONNX else "openvino:1"
    found = targets.find(name).answer(version, dtype, "same", constants)
    return {key: one.verdict for key, one in found.items()}


def model(dtype: str, dims: str = "3", between: str = "") -> str:
    types = f"{dtype}[{dims}]"
    body = f"t = {between} c = Sub(t, b)" if between else "c = Sub(a, b)"
    return f'<ir_version: 8, opset_import: ["" : 18]> g ({types} a, {types} b) => ({types} c) {{ {body} }}'


# ---- the figures of a probe by other hands -------------------------------------------------------------------------


@pytest.mark.parametrize("name", WRAPS)
def test_8_bits_wrap(name: str) -> None:
    for dtype in ("uint8", "int8"):
        assert set(answers(name, dtype).values()) == {"ok"}


def test_onnxruntimes_openvino_provider_saturates_and_folds_right() -> None:
    wraps = targets.find("onnxruntime-openvino").answer("onnx:14", "uint8", "same", "none")["wraps"]
    assert str(wraps.witness) == "5 - 10: got 0, expected 251"
    wraps = targets.find("onnxruntime-openvino").answer("onnx:14", "int8", "same", "none")["wraps"]
    assert str(wraps.witness) == "100 - -100: got 127, expected -56"
    assert set(answers("onnxruntime-openvino", "uint8", "both").values()) == {"ok"}


@pytest.mark.parametrize("name", IN_32_BITS)
def test_int64_is_computed_in_32_bits(name: str) -> None:
    found = answers(name, "int64")
    assert found["beyond int32"] == "different-numbers"
    assert found["in range"] == "ok"
    assert set(answers(name, "int64", "both").values()) == {"ok"}


@pytest.mark.parametrize("name", FLUSHES)
def test_subnormal_numbers_become_zero(name: str) -> None:
    for dtype in ("float32", "float64"):
        found = answers(name, dtype)
        assert {key for key, verdict in found.items() if verdict != "ok"} == {"negative zero", "subnormal"}


def test_webgpu_flushes_float32_and_leaves_float16_to_devices_that_have_it() -> None:
    found = answers("onnxruntime-webgpu", "float32")
    assert {key for key, verdict in found.items() if verdict != "ok"} == {"negative zero", "subnormal"}
    assert set(answers("onnxruntime-webgpu", "float32", "both").values()) == {"ok"}
    assert set(answers("onnxruntime-webgpu", "float16").values()) == {"not-implemented"}


def test_a_runtime_that_dies_does_not_implement_it() -> None:
    found = targets.find("litert").answer("openvino:1", "uint8", "same", "none")
    assert {(one.verdict, one.message) for one in found.values()} == {("not-implemented", "the process dies (SIGABRT)")}
    assert set(answers("litert", "int64").values()) == {"ok"}


def test_litert_without_its_delegate_clamps_to_finite_numbers() -> None:
    found = targets.find("litert-kernels").answer("openvino:1", "float32", "same", "none")
    assert str(found["infinite"].witness) == "0.0 - inf: got -3.4028235e+38, expected -inf"
    assert {key for key, one in found.items() if one.verdict != "ok"} == {"infinite", "overflows"}


def test_quantised_operands_saturate() -> None:
    witnesses = {
        "int8": "100 - -100: got 127, expected -56",
        "uint8": "5 - 10: got 0, expected 251",
        "int16": "0 - -32768: got 32767, expected -32768",
    }
    for dtype, told in witnesses.items():
        found = targets.find("litert-quantised").answer("openvino:1", dtype, "same", "none")
        assert (str(found["wraps"].witness), found["in range"].verdict) == (told, "ok")
    refused = targets.find("litert-quantised").answer("openvino:1", "int32", "same", "none")
    assert {one.message for one in refused.values()} == {"LiteRT quantises int8, uint8, int16 alone, not int32"}


def test_opencv_gives_float32_for_float16() -> None:
    found = targets.find("opencv-dnn").answer("onnx:14", "float16", "same", "none")
    said = {(one.verdict, one.message) for one in found.values()}
    assert said == {("different-numbers", "the result is of float32, not of float16")}


def test_mnn_computes_float32_and_int32_alone() -> None:
    for dtype in ("float32", "int32"):
        assert set(answers("mnn", dtype).values()) == {"ok"}
    for dtype, became in (("float64", "float32"), ("bfloat16", "float32"), ("int64", "int32"), ("uint16", "int32")):
        found = targets.find("mnn").answer("onnx:14", dtype, "same", "none")
        said = {(one.verdict, one.message) for one in found.values()}
        assert said == {("different-numbers", f"the result is of {became}, not of {dtype}")}
    for dtype in ("int8", "uint8"):
        found = targets.find("mnn").answer("onnx:14", dtype, "same", "none")
        assert {one.message for one in found.values()} == {"the process dies (SIGSEGV)"}


def test_bfloat16_is_taken_by_few() -> None:
    for name in ONNX:
        if name not in ("iree", "mnn"):
            assert set(answers(name, "bfloat16").values()) == {"ok" if name == "tvm" else "not-implemented"}


def test_iree_flushes_what_it_computes_as_float32_and_takes_no_float64() -> None:
    """Its own default makes float32 of float64, and the buffers that it is given are then too long."""
    for dtype in ("float32", "bfloat16"):
        found = answers("iree", dtype)
        assert {key for key, verdict in found.items() if verdict != "ok"} == {"negative zero", "subnormal"}
    assert set(answers("iree", "float16").values()) == {"ok"}
    found = targets.find("iree").answer("onnx:14", "float64", "same", "none")
    assert {one.verdict for one in found.values()} == {"not-implemented"}
    assert all("buffer view byte length" in one.message for one in found.values())


@pytest.mark.parametrize(("dtype", "verdict"), [("uint8", "unknown"), ("uint64", "unknown"), ("int8", "ok")])
def test_iree_refuses_some_two_unsigned_constants(dtype: str, verdict: str) -> None:
    """The measured ones have more than 16 elements, which differ: those it leaves for the run."""
    text = (
        f'<ir_version: 8, opset_import: ["" : 18]> g ({dtype}[3] a) => ({dtype}[3] c, {dtype}[3] a) '
        f"<{dtype}[3] x = {{5, 6, 7}}, {dtype}[3] y = {{1, 2, 3}}> {{ c = Sub(x, y) }}"
    )
    from onnx import numpy_helper, parser

    stored = parser.parse_model(text)
    for tensor in stored.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))
    finding = check(stored, "iree").findings[0]
    words = "IREE refuses to fold two unsigned constants of up to 16 elements, or of equal ones"
    assert (finding.verdict, finding.reason) == (verdict, words if verdict == "unknown" else finding.reason)


# ---- what nobody measured ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITH_PATTERNS)
def test_patterns_that_occur_in_models_are_measured_and_open_shapes_too(name: str) -> None:
    made = "Max(a, b)"
    for one in (model("int32"), model("int32", "3", made), model("int32", "N"), model("int32", "N", made)):
        (finding,) = check(one, name).findings
        assert (finding.verdict, finding.code) == ("ok", "as-contracted")


def test_opencv_takes_int64_for_int32_next_to_others_too() -> None:
    assert check(model("int64", between="Add(a, b)"), "opencv-dnn").findings[0].verdict == "different-numbers"
    assert check(model("int64", "N"), "opencv-dnn").findings[0].verdict == "different-numbers"


@pytest.mark.parametrize("order", ["t, z", "z, t"])
def test_opencv_loses_what_is_small_or_wide_less_a_constant_0_between_nodes_too(order: str) -> None:
    """Random graphs were run: it leaves no 0 out, whatever stands around the subtraction."""
    cv2 = pytest.importorskip("cv2")
    for dtype, memory, lost in (("float", np.float32, 1e-40), ("int64", np.int64, 3_000_000_000)):
        head = f'<ir_version: 8, opset_import: ["" : 18]> g ({dtype}[2,3] x) => ({dtype}[3,2] y) <{dtype} z = {{0}}>'
        text = f"{head} {{ t = Identity(x) d = Sub({order}) y = Transpose<perm = [1, 0]>(d) }}"
        (finding,) = check(text, "opencv-dnn").findings
        assert (finding.verdict, finding.severity) == (
            "different-numbers",
            "numbers" if dtype == "int64" else "subnormal",
        )
        stored = np.frombuffer(onnx.parser.parse_model(text).SerializeToString(), np.uint8)
        net = cv2.dnn.readNetFromONNX(stored)
        net.setInput(np.full((2, 3), lost, memory), "x")
        assert (np.abs(net.forward()) != memory(lost)).all()


def test_mnn_computes_a_normalisation_with_numbers_of_its_own() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[8,64] x) => (float[8,64] y)
        <float e = {0.001}> {
        m = ReduceMean<axes=[-1]>(x) d = Sub(x, m) p = Mul(d, d) v = ReduceMean<axes=[-1]>(p)
        w = Add(v, e) s = Sqrt(w) y = Div(d, s) }"""
    assert check(text, "mnn").findings[0].verdict == "different-numbers"
    assert check(text, "tract").findings[0].verdict == "ok"


@pytest.mark.parametrize("name", sorted({*ONNX} - {*WITH_PATTERNS}))
def test_a_node_by_itself_is_judged_and_what_stands_around_it_is_unknown(name: str) -> None:
    found = [
        check(one, name).findings[0] for one in (model("int32"), model("int32", between="Abs(a)"), model("int32", "N"))
    ]
    assert [(one.verdict, one.code) for one in found] == [
        ("ok", "as-contracted"),
        ("unknown", "pattern-not-measured" if name in WITH_SOME else "patterns-not-measured"),
        ("ok", "as-contracted") if name in WITH_SOME else ("unknown", "dynamic-shapes-not-measured"),
    ]


@pytest.mark.parametrize(("number", "verdict"), [("0.0", "ok"), ("-1e-300", "unknown"), ("0.5", "ok")])
def test_a_constant_that_may_be_left_out_is_unknown(number: str, verdict: str) -> None:
    """tract leaves out a float64 B of 1e-300, so that 0 - 1e-300 is 0 there."""
    text = (
        '<ir_version: 8, opset_import: ["" : 18]> g (double[3] a) => (double[3] c) '
        f"<double[3] b = {{{number}, {number}, {number}}}> {{ c = Sub(a, b) }}"
    )
    finding = check(text, "tract").findings[0]
    code = "zero-not-measured" if verdict == "unknown" else "as-contracted"
    assert (finding.verdict, finding.code) == (verdict, code)


# ---- fixing --------------------------------------------------------------------------------------------------------


def test_recipes_are_written_where_they_were_run_and_nowhere_else() -> None:
    known = quirks("onnxruntime-openvino")
    every = {rule.name for rule in classes(SUBTRACT, TYPES["uint32"])}
    assert known.left_wrong("through int32, wrapped with Mod", TYPES["uint8"], "A") == set()
    assert known.left_wrong("through int64, wrapped with Mod", TYPES["uint32"], "none") == every
    for name in ONNX:
        assert quirks(name).proven is not None


def test_uint8_is_fixed_for_onnxruntimes_openvino_provider() -> None:
    fixed = fix(model("uint8"), target="onnxruntime-openvino")
    assert "through int32, wrapped with Mod" in fixed.changes[0] or "BitwiseAnd" in fixed.changes[0]


@pytest.mark.parametrize("name", IN_32_BITS)
def test_int64_of_unknown_range_is_refused(name: str) -> None:
    (refusal,) = fix(model("int64"), target=name).refused
    assert refusal.instead == (
        "bound both operands before it (Clip, or Cast from a narrower type), so that they are proven to stay in int32, "
        "or run the model where int64 is computed in full"
    )


def test_a_recipe_that_a_runtime_was_not_asked_is_not_written() -> None:
    (refusal,) = fix(model("float"), target="opencv-dnn").refused
    advice = "take these numbers as they come (--accept negative-zero,subnormal), or run the model where the contract"
    assert refusal.instead == f"{advice} is kept"


def test_every_recipe_that_is_said_to_be_proven_is_one() -> None:
    known = {(recipe.name, dtype) for recipe in SUBTRACT.recipes for dtype in recipe.types}
    for name in adapters():
        assert {(recipe, one) for recipe, types in (quirks(name).proven or {}).items() for one in types} <= known
