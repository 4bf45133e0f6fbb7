"""fix: models whose subtractions a target gets wrong, and the same models right."""

import json

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx
from measured_targets import nodes_alone
from onnx import numpy_helper

import minuend as mn
from minuend import cli
from minuend.core.elements import TYPES
from minuend.errors import SpecError, Unsupported
from minuend.onnx.model import read
from minuend.openvino.execution.layers import elements
from minuend.openvino.ir.builder import Builder
from minuend.openvino.model import read as read_ir
from minuend.rewriting.fixing import fix, value_classes
from minuend.runtimes import targets
from minuend.runtimes.running import Refused, Runtime

OPENVINO = "openvino-cpu@2026.4.1"
ONNXRUNTIME = "onnxruntime-cpu@1.32.0"
EXAMPLE = "examples/bgsub.onnx"
SHAPE = (1080, 1920, 3)


def text(signature, body, opset=18, more=""):
    return f'<ir_version: 8, opset_import: ["" : {opset}]> g {signature} {{ {body} }} {more}'


def kinds(fixed):
    return [node.op_type for node in fixed.model.graph.node]


def checked(fixed):
    """ONNX's checker and strict inference accept the model."""
    onnx.checker.check_model(fixed.model, full_check=True)
    onnx.shape_inference.infer_shapes(fixed.model, check_type=True, strict_mode=True)
    return fixed


def tallied(fixed):
    """How many elements were compared, and how many differ; the same of the subtractions and of the outputs."""
    inside, outside = fixed.comparison.subtractions, fixed.comparison.outputs
    assert (inside.elements, inside.different) == (outside.elements, outside.different)
    return inside.elements, inside.different


@pytest.fixture(scope="module")
def query():
    """Runs a model on an installed runtime."""
    running = {}

    def run(name, form, model, weights, inputs):
        if name not in running:
            pytest.importorskip(name.partition("-")[0])
            running[name] = Runtime(name)
        head = {"form": form, "inputs": [[key, array.dtype.name, list(array.shape)] for key, array in inputs.items()]}
        answer = running[name]._query(head, [model, weights, *(array.tobytes() for array in inputs.values())])
        assert not isinstance(answer, Refused), answer
        return [
            np.frombuffer(data, np.dtype(_NUMPY.get(dtype, dtype))).reshape(shape) for (dtype, shape), data in answer
        ]

    yield run
    for runtime in running.values():
        runtime.close()


_NUMPY = {"u8": "uint8", "i8": "int8", "i64": "int64", "f32": "float32", "i32": "int32"}


# ---- the background subtraction -------------------------------------------------------------------------------


@pytest.mark.parametrize("overflow", ["wrap", "saturate"])
@pytest.mark.parametrize("constant", [False, True])
def test_after_fix_two_runtimes_give_identical_bytes_over_all_pairs(overflow, constant, query):
    a, b = (side.ravel() for side in np.meshgrid(np.arange(256), np.arange(256)))
    frame, background = (np.resize(side, SHAPE).astype(np.uint8) for side in (a, b))
    assert len(np.unique(frame.ravel().astype(int) * 256 + background.ravel())) == 65536
    model = onnx.load(EXAMPLE)
    inputs = {"frame": frame, "background": background}
    if constant:
        model.graph.initializer.append(numpy_helper.from_array(inputs.pop("background"), "background"))
        del model.graph.input[1]
    fixed = checked(fix(model, OPENVINO, overflow=overflow, run=False))
    assert fixed.refused == ()
    assert (fixed.model.graph.input, fixed.model.graph.output) == (model.graph.input, model.graph.output)
    raw = fixed.model.SerializeToString()
    answers = [query(name, "onnx", raw, b"", inputs)[0] for name in ("onnxruntime-cpu", "openvino-cpu")]
    exact = frame.astype(np.int16) - background
    want = (exact % 256 if overflow == "wrap" else np.clip(exact, 0, 255)).astype(np.uint8)
    assert answers[0].tobytes() == answers[1].tobytes() == want.tobytes()


def test_fix_runs_the_fixed_model_and_reports_the_comparison():
    pytest.importorskip("openvino")
    fixed = fix(EXAMPLE, "openvino-cpu")
    assert fixed.changes == (
        (
            "graph.node[0] 'subtract_background': Sub-14 of uint8 became Cast, Cast, Sub, Mod, Cast (through int32, "
            f"wrapped with Mod), because {fixed.target} has other numbers for values that wrap: 5 - 10 gives 0, "
            "expected 251"
        ),
    )
    assert fixed.comparison.skipped == ""
    assert tallied(fixed) == (6220800, 0)


def test_a_large_model_is_fixed_and_not_run(monkeypatch):
    pytest.importorskip("openvino")
    monkeypatch.setattr("minuend.runtimes.model_runs._MOST_BYTES", 999)
    body = "k = Constant <value = uint8[4] {1, 2, 3, 4}> () c = Sub(a, k)"
    assert fix(text("(uint8[4] a) => (uint8[4] c)", body), OPENVINO).comparison.skipped == ""
    monkeypatch.setattr("minuend.runtimes.model_runs._MOST_BYTES", 3)
    skipped = fix(text("(uint8[4] a) => (uint8[4] c)", body), OPENVINO).comparison
    assert str(skipped).endswith(": its constants take 8 bytes, more than 3")
    monkeypatch.setattr("minuend.runtimes.model_runs._MOST_BYTES", 9)
    skipped = fix(EXAMPLE, OPENVINO).comparison
    assert str(skipped).endswith(": its inputs take more than 9 bytes")


def test_a_model_whose_other_operators_round_is_judged_by_its_subtractions():
    pytest.importorskip("openvino")
    pytest.importorskip("onnxruntime")
    body = "c = Sub(a, b) x = Cast <to = 1> (c) y = Sin(x)"
    fixed = checked(fix(text("(uint8[900] a, uint8[N] b) => (float[M] y)", body), OPENVINO))
    assert (fixed.comparison.subtractions.different, fixed.comparison.failed) == (0, False)
    assert fixed.comparison.subtractions.elements == fixed.comparison.outputs.elements > 0


def test_a_loops_body_is_fixed():
    pytest.importorskip("onnxruntime")
    body = """
        n = Constant <value = int64 {3}> ()
        go = Constant <value = bool {1}> ()
        last = Loop(n, go, a) <body = step (int64 i, bool on, int8[9] x) => (bool more, int8[9] y) {
            more = Identity(on) y = Sub(x, b) }>"""
    fixed = checked(fix(text("(int8[9] a, int8[9] b) => (int8[9] last)", body), ONNXRUNTIME, overflow="saturate"))
    assert [change.partition(": ")[0] for change in fixed.changes] == ["graph.node[2].body.node[1]"]
    a, b = np.int8([100, -100, 0, 127, -128, 1, 2, 3, 50]), np.int8([-20, 20, 0, 1, 1, 1, 1, 1, -50])
    exact = a.astype(int)
    for _ in range(3):
        exact = np.clip(exact - b, -128, 127)
    assert read(fixed.model).run({"a": a, "b": b})["last"].tolist() == exact.tolist()


def test_what_a_target_keeps_is_not_touched():
    fixed = fix(EXAMPLE, ONNXRUNTIME)
    assert (fixed.changes, fixed.notes) == (
        (),
        (f"nothing to fix for {ONNXRUNTIME}: its subtraction is right as it is",),
    )
    assert (fixed.model, fixed.untouched, fixed.touched, fixed.comparison) == (onnx.load(EXAMPLE), 1, (), None)


# ---- types and opsets -------------------------------------------------------------------------------------------


def test_a_bfloat16_sub_that_onnxruntime_refuses_runs_after_fix_bit_exact():
    pytest.importorskip("onnxruntime")
    fixed = checked(
        fix(text("(bfloat16[9000] a, bfloat16[9000] b) => (bfloat16[9000] c)", "c = Sub(a, b)"), ONNXRUNTIME)
    )
    assert kinds(fixed) == ["Cast", "Cast", "Sub", "Cast"]
    assert (fixed.refused, fixed.comparison.skipped) == ((), "")
    assert tallied(fixed) == (27000, 0)


@pytest.mark.parametrize("axis", [0, 1])
def test_an_opset_6_model_that_onnxruntime_refuses_runs_after_fix(axis, query):
    model = text(
        "(float[3,3,4] a, float[3] b) => (float[3,3,4] c)",
        f"c = Sub <axis: int = {axis}, broadcast: int = 1> (a, b)",
        6,
    )
    fixed = checked(fix(model, ONNXRUNTIME, run=False))
    assert fixed.model.opset_import[0].version == 7
    assert fixed.refused == ()
    a, b = np.arange(36, dtype=np.float32).reshape(3, 3, 4), np.float32([1, 20, 300])
    (got,) = query("onnxruntime-cpu", "onnx", fixed.model.SerializeToString(), b"", {"a": a, "b": b})
    assert np.array_equal(got, a - b.reshape((3, 1, 1) if axis == 0 else (3, 1)))


def test_an_opset_can_be_the_target_and_what_it_lacks_goes_through_types_that_it_has():
    signature = "(uint8[300] a, uint8[300] b, float[3] x) => (uint8[300] c, float[3] y)"
    fixed = checked(fix(text(signature, "c = Sub(a, b) y = Sub(x, x)", 14), "onnx:13"))
    assert kinds(fixed) == ["Cast", "Cast", "Sub", "Constant", "Mod", "Cast", "Sub"]
    assert fixed.model.opset_import[0].version == 13
    assert (fixed.comparison.runtime, fixed.comparison.outputs.different) == ("this package", 0)
    assert fixed.untouched == 1


@pytest.mark.parametrize("opset", [6, 7, 9, 12, 13])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_small_integers_reach_every_opset_from_6_on(opset, dtype):
    fixed = checked(
        fix(text(f"({dtype}[5000] a, {dtype}[5000] b) => ({dtype}[5000] c)", "c = Sub(a, b)", 14), f"onnx:{opset}")
    )
    assert fixed.refused == ()
    assert (fixed.comparison.outputs.elements > 0, fixed.comparison.outputs.different) == (True, 0)


@pytest.mark.parametrize("opset", [6, 7, 11])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_a_model_that_goes_to_a_later_opset_saturates_with_the_operators_of_that_one(opset, dtype):
    """It was refused because 18 "has not the operators": those of its own opset were looked for."""
    signature = f"({dtype}[500] a, {dtype}[500] b) => ({dtype}[500] c)"
    fixed = checked(fix(text(signature, "c = Sub(a, b)", opset), "onnx:18", overflow="saturate"))
    assert (fixed.refused, fixed.untouched, fixed.model.opset_import[0].version) == ((), 0, 18)
    assert [change.partition(":")[0] for change in fixed.changes][-1] == "graph.node[0]"
    assert (fixed.comparison.outputs.elements > 0, fixed.comparison.outputs.different) == (True, 0)


@pytest.mark.parametrize(("dtype", "opset", "least"), [("int32", 7, 12), ("int64", 7, 9), ("uint64", 11, 12)])
def test_a_model_whose_opset_cannot_saturate_is_to_be_converted(dtype, opset, least):
    """The advice was another runtime, which would not have helped."""
    model = text(f"({dtype}[3] a, {dtype}[3] b) => ({dtype}[3] c)", "c = Sub(a, b)", opset)
    (refusal,) = fix(model, ONNXRUNTIME, overflow="saturate", run=False).refused
    assert str(refusal) == (
        "graph.node[0]: it may overflow, and saturation is asked for; convert it first: minuend convert --to "
        f"onnx:{least}"
    )
    converted = mn.convert(model, f"onnx:{least}").model
    assert fix(converted, ONNXRUNTIME, overflow="saturate", run=False).refused == ()
    (beyond,) = fix(model.replace(dtype, "uint64"), OPENVINO, overflow="saturate", run=False).refused
    assert "convert" not in beyond.instead  # it computes uint64 in 32 bits at any opset


def test_what_no_opset_below_can_say_is_refused_and_the_model_stays_as_it_was():
    model = onnx.parser.parse_model(text("(uint64[3] a, uint64[3] b) => (uint64[3] c)", "c = Sub(a, b)", 14))
    fixed = fix(model, "onnx:5")
    assert [str(one) for one in fixed.refused] == [
        "graph.node[0]: Sub-1 takes no uint64, and opset 5 has not the operators to compute it; take opset 6 or above"
    ]
    assert fixed.model == model
    assert (fixed.changes, fixed.notes) == ((), ())


def test_a_subtraction_that_became_another_version_is_not_reported_as_left(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    limited = "c = Sub(a, b) e = Sub <broadcast: int = 1> (c, d)"
    signature = "(float[2,3] a, float[2,3] b, float[3] d) => (float[2,3] e)"
    tmp_path.joinpath("m.onnxtxt").write_text(text(signature, limited, 1))
    assert cli.main(["fix", "m.onnxtxt", "--target", ONNXRUNTIME, "-o", "f.onnx"]) == 0
    first, second, *_, third, _ = capsys.readouterr().out.splitlines()
    assert (first, second) == ("~ opset 1 became 7", "~ graph.node[1]: Sub-1 became Sub-7 (without broadcast)")
    assert third == "1 subtraction left as it is"
    both = limited.replace("Sub(", "Sub <consumed_inputs: ints = [0, 0]> (")
    assert fix(text(signature, both, 1), ONNXRUNTIME, run=False).untouched == 0
    assert fix(text(signature, both, 1), "onnx:13", run=False).untouched == 0
    assert fix(text(signature, limited, 1), "onnx:13", run=False).untouched == 1


# ---- 64 bits ----------------------------------------------------------------------------------------------------


def test_an_int64_mask_subtraction_with_a_provable_range_is_narrowed(query):
    body = "one = Constant <value = int64 {1}> () k = Cast <to = 7> (m) c = Sub(one, k)"
    fixed = checked(fix(text("(bool[5] m) => (int64[5] c)", body), OPENVINO, run=False))
    assert kinds(fixed) == ["Constant", "Cast", "Cast", "Cast", "Sub", "Cast"]
    assert fixed.changes == (
        (
            "graph.node[2]: Sub-14 of int64 became Cast, Cast, Sub, Cast (narrowed to int32, within proven ranges), "
            "because A is 1 (constant) and B is 0..1 (bool input)"
        ),
    )
    m = np.array([True, False, True, True, False])
    (got,) = query("openvino-cpu", "onnx", fixed.model.SerializeToString(), b"", {"m": m})
    assert np.array_equal(got, 1 - m.astype(np.int64))


def test_an_int64_subtraction_without_a_provable_range_is_refused():
    model = onnx.parser.parse_model(
        text("(int64[5] m) => (int64[5] c)", "one = Constant <value = int64 {1}> () c = Sub(one, m)")
    )
    fixed = fix(model, OPENVINO)
    (refusal,) = fixed.refused
    assert refusal.location == "graph.node[1]"
    assert refusal.dtype == "int64"
    assert refusal.reason.endswith("A is 1 (constant) and B is -9223372036854775808..9223372036854775807 (input)")
    assert refusal.instead == (
        "bound both operands before it (Clip, or Cast from a narrower type), so that they are proven to stay in int32, "
        "or run the model where int64 is computed in full"
    )
    assert (fixed.model, fixed.changes) == (model, ())
    assert fixed.notes == ()


def test_float64_is_refused_where_it_is_computed_in_float32():
    (refusal,) = fix(text("(double[5] a, double[5] b) => (double[5] c)", "c = Sub(a, b)"), OPENVINO).refused
    assert refusal.reason.startswith(
        f"{OPENVINO} has other numbers for values beyond float32: 0.0 - 0.1 gives -0.10000000149011612"
    )
    assert refusal.instead == "run the model where float64 is computed in full"


def test_two_constants_are_folded_into_one_that_the_target_keeps():
    ends = "x = Constant <value = int64[2] {5000000000, 3}> () y = Constant <value = int64[2] {4999999999, 1}> ()"
    body = f"{ends} c = Sub(x, y)"
    fixed = checked(fix(text("(float[1] a) => (int64[2] c)", body), OPENVINO, run=False))
    assert kinds(fixed) == ["Constant", "Constant", "Constant"]
    assert numpy_helper.to_array(fixed.model.graph.node[2].attribute[0].t).tolist() == [1, 2]


def test_two_constants_whose_difference_the_target_clamps_are_refused():
    body = "x = Constant <value = int64[1] {5000000000}> () y = Constant <value = int64[1] {4}> () c = Sub(x, y)"
    (refusal,) = fix(text("(float[1] a) => (int64[1] c)", body), OPENVINO, run=False).refused
    assert refusal.reason.endswith("; the result is a constant of int64 beyond int32, which openvino-cpu clamps")
    assert refusal.instead == "run the model where int64 is computed in full"


@pytest.mark.parametrize(("dtype", "new"), [("int64", 9), ("uint64", 2), ("int32", 7), ("uint32", 2)])
def test_wide_integers_saturate_without_a_wider_type(dtype, new):
    pytest.importorskip("onnxruntime")
    signature = f"({dtype}[9000] a, {dtype}[9000] b) => ({dtype}[9000] c)"
    fixed = checked(fix(text(signature, "c = Sub(a, b)"), ONNXRUNTIME, overflow="saturate"))
    assert sum(node.op_type != "Constant" for node in fixed.model.graph.node) == new
    assert tallied(fixed) == (27000, 0)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    ends = np.array([low, low + 1, high // 2, high - 1, high, 0, 1], dtype)
    a, b = (np.resize(side.ravel(), 9000) for side in np.meshgrid(ends, ends))
    exact = [min(max(int(x) - int(y), low), high) for x, y in zip(a, b, strict=True)]
    assert read(fixed.model).run({"a": a, "b": b})["c"].tolist() == exact


# ---- floats -----------------------------------------------------------------------------------------------------


def test_float_deviations_are_refused_in_one_line_and_can_be_accepted():
    body = "c = Sub(a, b) d = Sub(b, a) e = Sub(c, d)"
    model = text("(bfloat16[5] a, bfloat16[5] b) => (bfloat16[5] e)", body)
    (refusal,) = fix(model, OPENVINO, run=False).refused
    assert refusal.others == ("graph.node[1]", "graph.node[2]")
    assert refusal.instead == (
        "take these numbers as they come (--accept negative-zero,subnormal,rounds), or run the model where the "
        "contract is kept"
    )
    for accept in (["negative-zero", "subnormal", "rounds"], ["floats"]):
        fixed = fix(model, OPENVINO, accept=accept, run=False)
        assert (fixed.refused, fixed.untouched) == ((), 3)


def test_value_classes_are_named_with_or_without_a_space():
    assert value_classes(["negative zero", "beyond_float32"]) == {"negative zero", "beyond float32"}
    with pytest.raises(SpecError) as caught:
        value_classes(["zero"])
    assert str(caught.value).startswith("no value class 'zero' can be accepted; expected lowest-subtrahend, wraps, ")


# ---- the rest of the model --------------------------------------------------------------------------------------

NESTED = """
    d = Sub(a, b)
    e = If(t) <then_branch = yes () => (uint8[N] y) { y = Sub(a, d) },
               else_branch = no () => (uint8[N] z) { z = Sub(d, a) }>
    k = Relu(f)"""


def test_other_nodes_stay_as_they_are_and_bodies_are_fixed():
    signature = "(uint8[N] a, uint8[N] b, bool t, float[N] f) => (uint8[N] e, float[N] k)"
    model = onnx.parser.parse_model(text(signature, NESTED))
    model.graph.node[2].doc_string = "kept"
    model.graph.node[0].name = "first"
    before = model.SerializeToString(deterministic=True)
    fixed = checked(fix(model, OPENVINO, run=False))
    assert model.SerializeToString(deterministic=True) == before
    assert [change.partition(":")[0] for change in fixed.changes] == [
        "graph.node[0] 'first'",
        "graph.node[1].then_branch.node[0]",
        "graph.node[1].else_branch.node[0]",
    ]
    now = fixed.model.graph.node
    assert now[-1].SerializeToString() == model.graph.node[2].SerializeToString()
    assert [node.name for node in now if node.op_type == "Sub"] == ["first"]
    bodies = [attribute.g for attribute in now[-2].attribute]
    assert [[node.op_type for node in body.node][-1] for body in bodies] == ["Cast", "Cast"]
    names = [
        name
        for graph in (fixed.model.graph, *bodies)
        for node in graph.node
        for name in (node.name, *node.output)
        if name
    ]
    assert len(names) == len(set(names))
    again = fix(fixed.model, OPENVINO, run=False)
    assert (again.touched, again.refused) == ((), ())


FUNCTION = '<domain: "l", opset_import: ["" : 18]> f (x, y) => (z) { z = Sub(x, y) }'


def functions(other="uint8"):
    return onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 18, "l" : 1]>
        g (uint8[9] a, uint8[9] b, {other}[9] p) => (uint8[9] c, {other}[9] d) {{
            c = l.f(a, b) d = l.f(p, p) }} {FUNCTION}"""
    )


def test_a_functions_body_is_fixed_once_for_all_calls():
    fixed = checked(fix(functions(), ONNXRUNTIME, overflow="saturate", run=False))
    assert kinds(fixed) == ["f", "f"]
    assert [node.op_type for node in fixed.model.functions[0].node if node.op_type != "Constant"] == [
        "Cast", "Cast", "Sub", "Clip", "Cast",
    ]  # fmt: skip


def test_a_function_that_is_called_with_several_types_is_put_in_place_of_its_calls():
    fixed = checked(fix(functions("bfloat16"), ONNXRUNTIME, overflow="saturate", run=False))
    assert (
        fixed.changes[0] == "the calls of f became the nodes of the functions, because their calls are of several types"
    )
    assert len(fixed.changes) == 3
    assert not fixed.model.functions


def test_functions_stay_where_nothing_is_wrong_for_any_of_their_types():
    model = functions("float")
    fixed = fix(model, ONNXRUNTIME, run=False)
    assert fixed.model == model
    assert (fixed.changes, fixed.untouched) == ((), 2)
    assert fixed.notes == (f"nothing to fix for {ONNXRUNTIME}: its 2 subtractions are right as they are",)


def test_openvino_gets_no_local_functions():
    pytest.importorskip("openvino")
    fixed = checked(fix(functions(), OPENVINO))
    assert (
        fixed.changes[0]
        == f"the calls of f became the nodes of the functions, because {OPENVINO} has no local functions"
    )
    assert (fixed.comparison.skipped, fixed.comparison.outputs.different) == ("", 0)


def test_external_data_goes_along(tmp_path):
    model = onnx.load(EXAMPLE)
    background = np.zeros(SHAPE, np.uint8)
    model.graph.initializer.append(numpy_helper.from_array(background, "background"))
    del model.graph.input[1]
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    onnx.save(model, tmp_path / "in" / "m.onnx", save_as_external_data=True, location="m.data")
    fixed = fix(tmp_path / "in" / "m.onnx", OPENVINO, run=False)
    fixed.save(tmp_path / "out" / "m.onnx")
    assert (tmp_path / "out" / "m.onnx").stat().st_size < 2000
    frame = np.full(SHAPE, 3, np.uint8)
    assert np.array_equal(read(tmp_path / "out" / "m.onnx").run({"frame": frame})["difference"], frame)


# ---- OpenVINO IR ------------------------------------------------------------------------------------------------


def ir(element, a, b, auto_broadcast="numpy", axis=None, constant=None):
    builder = Builder("m")
    left = builder.parameter("a", element, a)
    right = builder.parameter("b", element, b) if constant is None else builder.constant("b", constant)
    builder.result(builder.subtract("c", left, right, auto_broadcast=auto_broadcast, axis=axis))
    return builder.model


@pytest.mark.parametrize(("element", "a", "b", "codes"), [("i4", -8, 1, [8, 8]), ("u4", 3, 5, [0, 0])])
def test_two_constants_of_a_narrow_type_become_the_one_that_saturates(element, a, b, codes):
    builder, memory = Builder("m"), TYPES[{"i4": "int4", "u4": "uint4"}[element]].memory
    refs = [builder.constant(name, np.full(2, value, memory)) for name, value in (("a", a), ("b", b))]
    builder.result(builder.subtract("c", *refs))
    fixed = fix(builder.model, OPENVINO, overflow="saturate", run=False)
    (layer,) = (layer for layer in fixed.model.layers if layer.name == "c")
    assert (layer.type, fixed.refused) == ("Const", ())
    assert fixed.changes[0].startswith(f"layer 2 'c': Subtract-1 of {memory.name} became a Const, because it may")
    assert elements(layer).view(np.uint8).tolist() == codes


@pytest.mark.parametrize("overflow", ["wrap", "saturate"])
@pytest.mark.parametrize("element", ["u8", "i8", "u4"])
def test_small_integers_of_an_ir_are_fixed(element, overflow, tmp_path):
    pytest.importorskip("openvino")
    model = ir(element, (3, 3000), (3000,))
    fixed = fix(model, OPENVINO, overflow=overflow)
    assert fixed.refused == ()
    assert (fixed.comparison.skipped, tallied(fixed)) == ("", (27000, 0))
    assert (fixed.model.inputs, fixed.model.outputs) == (model.inputs, model.outputs)
    assert [layer.type for layer in model.layers] == ["Parameter", "Parameter", "Subtract", "Result"]
    fixed.save(tmp_path / "m.xml")
    back = read_ir(tmp_path / "m.xml")
    assert [layer.type for layer in back.layers] == [layer.type for layer in fixed.model.layers]
    ids = [layer.id for layer in back.layers]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("element", ["f32", "i32"])
def test_pdpd_is_spelt_out(element, query):
    model = ir(element, (3, 3, 4), (3,), "pdpd", 1)
    fixed = fix(model, OPENVINO, run=False)
    (layer,) = (layer for layer in fixed.model.layers if layer.type == "Subtract")
    assert layer.data == {"auto_broadcast": "numpy"}
    assert [layer.type for layer in fixed.model.layers] == [
        "Parameter",
        "Parameter",
        "Const",
        "Unsqueeze",
        "Subtract",
        "Result",
    ]
    a = np.arange(36, dtype=_NUMPY[element]).reshape(3, 3, 4)
    b = np.array([1, 20, 300], a.dtype)
    (got,) = query("openvino-cpu", "ir", *fixed.model.to_bytes(), {"a": a, "b": b})
    assert np.array_equal(got, a - b[:, None])


def test_a_layer_keeps_its_name_and_its_tensors_names():
    builder = Builder("m")
    a = builder.parameter("a", "u8", (4,))
    c = builder.subtract("c", a, builder.constant("k", np.uint8([1, 2, 3, 4])), names=("c", "result"))
    builder.result(c, "r")
    fixed = fix(builder.model, OPENVINO, run=False)
    (last,) = (layer for layer in fixed.model.layers if layer.name == "c")
    assert (last.type, last.outputs[0].names) == ("Convert", ("c", "result"))
    assert fixed.model.run({"a": np.uint8([0, 5, 3, 255])})["c"].tolist() == [255, 3, 0, 251]


def test_an_ir_of_int64_is_refused():
    fixed = fix(ir("i64", (3,), (3,)), OPENVINO, run=False)
    assert [one.location for one in fixed.refused] == ["layer 2 'c'"]
    assert fixed.touched == ()


# ---- wrong use --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("openvino-cpu", {"overflow": "widen"}, "overflow is 'widen'; expected 'wrap' or 'saturate'"),
        ("openvino:1", {}, "'openvino:1' is no target of fix; expected a runtime, or onnx: and an opset"),
        (
            "torch-cpu",
            {},
            (
                "torch-cpu reads no model files, so it has no verdict on any: export the model, torch.onnx.export(…, "
                "dynamo=True) or openvino.convert_model(…), and check that on what is to run it, onnxruntime-cpu or "
                "openvino-cpu; what it does with arrays show minuend targets --matrix and minuend prove torch-cpu"
            ),
        ),
        ("directml@5.1", {}, "directml runs no models; fix an ONNX model for onnxruntime-directml and convert it"),
    ],
)
def test_a_wrong_use_is_reported(target, options, message):
    with pytest.raises(SpecError) as caught:
        fix(EXAMPLE, target, **options)
    assert str(caught.value) == message


def test_an_opset_is_no_target_of_an_ir():
    with pytest.raises(SpecError) as caught:
        fix(ir("u8", (3,), (3,)), "onnx:13")
    assert str(caught.value) == (
        "onnx:13 is an opset, and the model is OpenVINO IR, and minuend convert --to onnx:13 refuses this one: "
        "layer 2 'c': Sub-13 takes no element type tensor(uint8) (it came with opset 14); expected tensor(float16), "
        "tensor(bfloat16), tensor(float), tensor(double), tensor(int32), tensor(int64), tensor(uint32) or "
        "tensor(uint64)"
    )
    with pytest.raises(SpecError) as caught:
        fix(ir("f32", (3,), (3,)), "onnx:13")
    assert str(caught.value) == (
        "onnx:13 is an opset, and the model is OpenVINO IR; convert it instead: minuend convert --to onnx:13"
    )


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("row_means", "; convert the model first: minuend convert --to onnx"),
        (
            "padded_image",
            (
                ", and minuend convert --to onnx refuses this one: commands[0] 'subtract': the strides of ATensor, "
                "(8, 1), leave gaps or another order than row-major"
            ),
        ),
    ],
)
def test_a_dxdispatch_model_is_not_rewritten(name, instead):
    with pytest.raises(Unsupported) as caught:
        fix(f"examples/directml/{name}.json", "openvino-cpu")
    assert str(caught.value) == f"fix rewrites ONNX models and OpenVINO IR{instead}"


def test_fix_is_public():
    assert mn.fix is fix


# ---- the command line -------------------------------------------------------------------------------------------


def run(capfd, *argv):
    status = cli.main(argv)
    captured = capfd.readouterr()
    return status, captured.out, captured.err


def test_the_command_writes_the_fixed_model_and_reports_it(tmp_path, capfd):
    pytest.importorskip("openvino")
    out = str(tmp_path / "out.onnx")
    status, told, _ = run(
        capfd, "fix", EXAMPLE, "--target", "openvino-cpu@2026.4.1", "-o", out, "--overflow", "saturate"
    )
    assert status == 0
    import openvino

    release = openvino.__version__.partition("-")[0]
    lines, at, last = told.partition(EXAMPLE)
    assert " ".join((at + last).split()) == f"{EXAMPLE} → {out} for {OPENVINO}"  # folded by the length of the path
    assert lines.splitlines() == [
        "rewritten: graph.node[0] 'subtract_background'",
        "  as:  Sub-14 of uint8 became Cast, Cast, Sub, Clip, Cast (through int32,",
        "       saturated with Clip)",
        "  why: it may overflow, and saturation is asked for",
        f"run on openvino-cpu@{release}: of the rewritten subtractions all 6220800 elements",
        "are as expected; of the outputs all 6220800 elements are as expected",
        f"the fixed model on openvino-cpu@{release}, on ordinary numbers and on edges and",
        "random bits: 1 output as expected: 12441600 elements, bit-identical",
    ]
    assert [node.op_type for node in onnx.load(out).graph.node][-1] == "Cast"


@pytest.fixture
def partly(tmp_path):
    """A model of which one subtraction can be fixed and one cannot."""
    model = onnx.parser.parse_model(
        text("(uint8[5] a, int64[5] b) => (uint8[5] c, int64[5] d)", "c = Sub(a, a) d = Sub(b, b)")
    )
    path = tmp_path / "partly.onnx"
    onnx.save(model, path)
    return path


def test_refusals_end_with_1_and_nothing_is_written_unless_a_part_is_asked_for(partly, capfd):
    out = partly.with_name("out.onnx")
    status, told, _ = run(capfd, "fix", str(partly), "--target", OPENVINO, "-o", str(out))
    assert status == 1
    assert not out.exists()
    assert told.splitlines()[-1] == f"nothing written for {OPENVINO}; --partial writes what could be fixed"
    status, told, _ = run(capfd, "fix", str(partly), "--target", OPENVINO, "-o", str(out), "--partial", "--json")
    assert status == 1
    report = json.loads(told)
    assert report["path"] == str(out)
    assert [one["location"] for one in report["refused"]] == ["graph.node[1]"]
    assert [node.op_type for node in onnx.load(out).graph.node][-2:] == ["Cast", "Sub"]


def test_a_part_of_nothing_is_not_written(tmp_path, capfd):
    path, out = tmp_path / "m.onnx", tmp_path / "out.onnx"
    onnx.save(onnx.parser.parse_model(text("(int64[5] b) => (int64[5] d)", "d = Sub(b, b)")), path)
    status, told, _ = run(capfd, "fix", str(path), "--target", OPENVINO, "-o", str(out), "--partial")
    assert status == 1
    assert not out.exists()
    assert told.splitlines()[-1] == f"nothing written for {OPENVINO}"


def test_an_input_is_never_overwritten(partly, capfd):
    before = partly.read_bytes()
    status, _, said = run(capfd, "fix", str(partly), "--target", OPENVINO, "-o", str(partly), "--partial")
    assert (status, partly.read_bytes()) == (2, before)
    assert said == f"error: the output {partly} is also an input; nothing is overwritten, name another output\n"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("no.onnx", "--target", "openvino-cpu"), "there is no file no.onnx"),
        ((EXAMPLE, "--target", "cuda"), None),
        ((EXAMPLE, "--target", "openvino-cpu", "--accept", "zero"), None),
    ],
)
def test_bad_use_ends_with_2(argv, message, tmp_path, capfd):
    status, _, said = run(capfd, "fix", *argv, "-o", str(tmp_path / "o.onnx"))
    assert status == 2
    assert message is None or said == f"error: {message}\n"
    assert not (tmp_path / "o.onnx").exists()


def test_classes_are_accepted_on_the_command_line(tmp_path, capfd):
    path, out = tmp_path / "m.onnx", tmp_path / "out.onnx"
    onnx.save(onnx.parser.parse_model(text("(bfloat16[5] b) => (bfloat16[5] d)", "d = Sub(b, b)")), path)
    status, told, _ = run(
        capfd, "fix", str(path), "--target", OPENVINO, "-o", str(out), "--accept", "negative-zero,subnormal,rounds"
    )
    assert (status, told.splitlines()[0]) == (0, f"~ nothing to fix for {OPENVINO}: its subtraction is right as it is")
    assert [node.op_type for node in onnx.load(out).graph.node] == ["Sub"]


# ---- other releases ---------------------------------------------------------------------------------------------


def test_an_old_release_gets_types_that_it_lacks_through_types_that_it_has():
    signature = "(uint8[3] a, uint32[3] b) => (uint8[3] c, uint32[3] d)"
    fixed = checked(fix(text(signature, "c = Sub(a, a) d = Sub(b, b)", 14), "onnxruntime-cpu@1.16.3", run=False))
    assert [change.partition(", because ")[0] for change in fixed.changes] == [
        "graph.node[0]: Sub-14 of uint8 became Cast, Cast, Sub, Mod, Cast (through int32, wrapped with Mod)",
        "graph.node[1]: Sub-14 of uint32 became Cast, Cast, Sub, Mod, Cast (through int64, wrapped with Mod)",
    ]


def test_what_was_not_measured_on_a_release_is_not_written():
    target = nodes_alone(targets.find(OPENVINO))
    (refusal,) = fix(text("(uint8[3] a, uint8[3] b) => (uint8[3] c)", "c = Sub(a, b)"), target, run=False).refused
    assert str(refusal) == (
        f"graph.node[0]: {OPENVINO} has other numbers for values that wrap: 5 - 10 gives 0, expected 251; 'through "
        "int32, wrapped with BitwiseAnd', 'through int32, wrapped with Mod' and 'through float32, wrapped with Floor' "
        f"would not be known to be right: patterns have not been measured; measure the release that is installed "
        "(minuend measure openvino-cpu -o FILE) and fix for FILE"
    )


def test_a_model_that_a_release_does_not_load_is_refused():
    model = text("(int32[3] a, int32[3] b) => (int32[3] c)", "c = Sub(a, b)", 23)
    (refusal,) = fix(model, "onnxruntime-cpu@1.17.3", overflow="saturate", run=False).refused
    assert refusal.reason == (
        "it is of opset 23, and onnxruntime-cpu@1.17.3 loads none above 20; convert it first: minuend convert --to "
        "onnx:20"
    )


def test_a_model_with_nothing_to_fix_comes_back_byte_for_byte(tmp_path):
    plain = onnx.parser.parse_model(text("(int32[3] a) => (int32[3] c)", "c = Sub(a, a)")).SerializeToString()
    there, back = tmp_path / "there.onnx", tmp_path / "back.onnx"
    there.write_bytes(plain[2:] + plain[:2])  # its fields are in another order than protobuf writes
    fix(there, ONNXRUNTIME, run=False).save(back)
    assert back.read_bytes() == there.read_bytes() != plain
    ir("f32", (4,), (4,)).save(tmp_path / "there.xml")
    (tmp_path / "there.xml").write_bytes((tmp_path / "there.xml").read_bytes().replace(b"<layers>", b"<layers >"))
    fix(tmp_path / "there.xml", OPENVINO, run=False).save(tmp_path / "back.xml")
    for suffix in (".xml", ".bin"):
        assert (tmp_path / f"back{suffix}").read_bytes() == (tmp_path / f"there{suffix}").read_bytes()


def test_what_is_changed_by_hand_after_a_fix_is_saved(tmp_path):
    onnx.save(onnx.parser.parse_model(text("(int32[3] a) => (int32[3] c)", "c = Sub(a, a)")), tmp_path / "m.onnx")
    fixed = fix(tmp_path / "m.onnx", ONNXRUNTIME, run=False)
    fixed.model.graph.node[0].name = "mine"
    fixed.save(tmp_path / "n.onnx")
    assert onnx.load(tmp_path / "n.onnx").graph.node[0].name == "mine"


def test_a_runtime_that_documents_alone_describe_gets_what_they_say_is_sure():
    fixed = checked(fix(text("(int16[3] a) => (int16[3] c)", "c = Sub(a, a)"), "onnxruntime-directml", run=False))
    assert kinds(fixed)[:3] == ["Cast", "Cast", "Sub"]


def test_a_type_that_a_runtime_cannot_hold_is_refused():
    (refusal,) = fix(ir("u2", (4,), (4,)), OPENVINO, run=False).refused
    assert refusal.instead == f"run the model on another runtime than {OPENVINO}"


@pytest.mark.parametrize("number", [-816782930, 816782930, 1, 0])
@pytest.mark.parametrize("dims", ["2,3", "n,3"])
def test_a_constant_less_int32_is_saturated_where_max_and_min_of_constants_are_joined(number: int, dims: str) -> None:
    """openvino rounds the bounds of what it makes of Max and Min of one number to float32."""
    signature = f"(int32[{dims}] a) => (int32[{dims}] c) <int32 b = {{{number}}}>"
    fixed = fix(text(signature, "c = Sub(b, a)"), OPENVINO, overflow="saturate", run=False)
    assert not fixed.refused
    assert "(saturated with Max twice)" in fixed.changes[0]
    pytest.importorskip("openvino")
    low, high = -(1 << 31), (1 << 31) - 1
    a = np.array([[low, high, 0], [1911588177, -1356436843, low + 46]], np.int32)
    with Runtime("openvino-cpu") as runtime:
        feeds = [("a", TYPES["int32"], a.view(np.uint32))]
        (found,) = runtime.query("onnx", fixed.model.SerializeToString(), b"", feeds)
    assert found.codes.view(np.int32).ravel().tolist() == [
        min(max(number - one, low), high) for one in a.ravel().tolist()
    ]
