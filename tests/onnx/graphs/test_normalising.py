"""Models that break a rule and that onnxruntime loads: read as it reads them, with a note, by every verb."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

import minuend as mn
from minuend.errors import FileFormatError
from minuend.onnx.graphs.walk import walk
from minuend.onnx.model import read

ort = pytest.importorskip("onnxruntime")

A, B = np.array([10, 20], np.float32), np.array([3, 6], np.float32)


def value(name: str, dims=(2,), kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(dims))


def made(nodes, inputs=None, outputs=None, imports=(("", 13),), **more) -> ModelProto:
    stored = more.pop("initializer", [])
    functions = more.pop("functions", [])
    graph = helper.make_graph(nodes, "g", inputs or [value("a"), value("b")], outputs or [value("c")], stored, **more)
    rows = [helper.make_opsetid(*row) for row in imports]
    return helper.make_model(graph, opset_imports=rows, ir_version=8, functions=functions)


def node(kind: str, inputs: str, outputs: str, **more) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), outputs.split(), **more)


def loop(state: str) -> list[onnx.NodeProto]:
    """Two rounds of ``state - b``, from a."""
    inputs = [value("round", (), TensorProto.INT64), value("go", (), TensorProto.BOOL), value(state)]
    body = [node("Identity", "go", "going"), node("Sub", f"{state} b", "next")]
    graph = helper.make_graph(body, "body", inputs, [value("going", (), TensorProto.BOOL), value("next")])
    return [node("Loop", "two yes a", "c", body=graph)]


STORED = [helper.make_tensor("two", TensorProto.INT64, [], [2]), helper.make_tensor("yes", TensorProto.BOOL, [], [1])]
SUB = node("Sub", "a b", "c")


def twice(numbers: list[float]) -> ModelProto:
    """A body with a constant of its own, of the name of one around it that is 1 and 2."""
    stored, other = (helper.make_tensor("n", TensorProto.FLOAT, [2], one) for one in ([1, 2], numbers))
    body = loop("state")
    body[0].attribute[0].g.node[1].input[1] = "n"
    body[0].attribute[0].g.initializer.append(other)
    return made([node("Add", "b n", "d"), *body], outputs=[value("c"), value("d")], initializer=[*STORED, stored])


IF_LATER = node(
    "If",
    "yes",
    "c",
    then_branch=helper.make_graph([node("Sub", "later b", "y")], "then", [], [value("y")]),
    else_branch=helper.make_graph([node("Neg", "a", "z")], "else", [], [value("z")]),
)
GELU = helper.make_node("Gelu", ["x"], ["c"], domain="com.microsoft")
FUNCTION = helper.make_function(
    "d", "F", ["p", "q"], ["r"], [node("Sub", "p q", "r")], [helper.make_opsetid("", 13), helper.make_opsetid("", 13)]
)
CALL = helper.make_node("F", ["a", "b"], ["c"], domain="d")
SORTED = (
    "nodes stand before those that make what they read, graph.node[{}] is the first; they are sorted, and numbered in "
    "that order here"
)
HIDES = "its input 'n' bears the name of a value around it, and is another value"

MODELS = {
    "not imported": (made([node("Sub", "a b", "x"), GELU]),
         "the model uses the domain 'com.microsoft' and does not import it; read at version 1 of it"),
    "not sorted": (made([node("Sub", "x b", "c"), node("Neg", "a", "x")]), SORTED.format(0)),
    "not sorted, read by a body": (made([node("Neg", "a", "early"), IF_LATER, node("Neg", "early", "later")],
              initializer=STORED[1:]),
         SORTED.format(1)),
    "dims of -1": (made([node("Neg", "a", "x"), node("Sub", "x b", "c")], [value("a", [-1]), value("b")],
              value_info=[value("x", [-1])]),
         "a dim of -1 is one that is not known, in the shape of 'x' and 'a'"),
    "a domain imported twice": (made([SUB], imports=(("", 13), ("", 13))),
         "the model imports the domain '' twice, at one opset"),
    "by both its names": (made([SUB], imports=(("ai.onnx", 13), ("", 13))),
         "the model imports the domain '' twice, at one opset"),
    "twice by a function": (made([CALL], imports=(("", 13), ("d", 1)), functions=[FUNCTION]),
         "function 'F' imports the domain '' twice, at one opset"),
    "a body's input that hides a computed value": (made([node("Neg", "a", "n"), *loop("n")], initializer=STORED),
         f"graph.node[1].body: {HIDES}"),
    "a body's input that hides a constant": (made(loop("n"),
              initializer=[*STORED, helper.make_tensor("n", TensorProto.FLOAT, [2], [1, 2])]),
         f"graph.node[0].body: {HIDES}"),
    "a body's constant that is one around it": (twice([1, 2]),
         "graph.node[1].body: its constant 'n' bears the name of one around it, and is the same"),
}  # fmt: skip


def answer(model: ModelProto) -> np.ndarray:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {one.name: {"a": A, "b": B}[one.name] for one in session.get_inputs()})[0]


@pytest.mark.parametrize("name", MODELS)
def test_it_is_checked_converted_and_run_as_onnxruntime_runs_it(name):
    model, note = MODELS[name]
    before = model.SerializeToString()
    expected = answer(model)
    assert read(model).notes == (note,)
    report = mn.check(model, "onnxruntime-cpu")
    assert report.notes == (note,)
    # A body whose condition is a constant is folded into its surroundings, which was not measured there.
    assert {finding.verdict for finding in report.findings} == {
        "unknown" if name == "not sorted, read by a body" else "ok"
    }
    converted = mn.convert(model, "onnx:16")
    assert converted.changes[:2] == [note, "opset 13 became 16"]
    onnx.checker.check_model(converted.model)
    np.testing.assert_array_equal(answer(converted.model), expected)
    if name != "not imported":  # what com.microsoft computes, only onnxruntime knows
        np.testing.assert_array_equal(mn.run(model, {"a": A, "b": B})["c"], expected)
    assert model.SerializeToString() == before


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_is_normalised_is_a_copy_and_types_are_known_in_it(name):
    model, _ = MODELS[name]
    found = read(model)
    assert found.proto is not model
    assert [str(one.a.dtype) for one in found.subtractions()] == ["float32"]
    assert read(found.proto).notes == ()
    assert all("-1" not in str(type_) for scope in walk(found.proto) for type_ in scope.types.values())


def test_the_same_opset_says_what_was_normalised_and_not_that_nothing_was():
    model, note = MODELS["not sorted"]
    converted = mn.convert(model, "onnx:13")
    assert converted.changes == [note]
    assert [node.op_type for node in converted.model.graph.node] == ["Neg", "Sub"]


def test_the_order_that_is_there_stays_as_far_as_it_can():
    names = [f"x{i}" for i in range(6)]
    rows = [node("Neg", "a", name) for name in names]
    model = made([*rows[:3], node("Sub", "x5 b", "c"), *rows[3:]])
    assert [row.output[0] for row in read(model).proto.graph.node] == [*names, "c"]


def test_a_constant_of_a_body_that_is_another_than_the_one_of_its_name_is_refused():
    """onnxruntime takes the one around the body, openvino the one in it."""
    with pytest.raises(FileFormatError, match="initializer 'n' is a second value of that name"):
        read(twice([1, 3]))


def test_what_a_name_means_inside_is_renamed_inside_alone():
    inner = helper.make_graph([node("Sub", "n b", "y")], "t", [], [value("y")])
    other = helper.make_graph([node("Neg", "n", "z")], "e", [], [value("z")])
    body = loop("n")
    graph = body[0].attribute[0].g
    del graph.node[1]
    graph.node.append(node("If", "go", "next", then_branch=inner, else_branch=other))
    model = made(
        [node("Neg", "a", "n"), *body, node("Neg", "n", "d")], outputs=[value("c"), value("d")], initializer=STORED
    )
    proto = read(model).proto
    then = next(a.g for a in proto.graph.node[1].attribute[0].g.node[1].attribute if a.name == "then_branch")
    assert list(then.node[0].input) == ["n_1", "b"]
    assert list(proto.graph.node[2].input) == ["n"]
    np.testing.assert_array_equal(answer(proto), answer(model))


@pytest.mark.parametrize(
    ("name", "target", "verdict", "reason"),
    [
        ("not imported", "onnx-reference", "not-implemented", "ONNX's evaluator wants every domain imported"),
        (
            "not sorted",
            "onnx-reference",
            "not-implemented",
            "ONNX's evaluator runs nodes in the order of the file, which cannot be run",
        ),
        (
            "a body's input that hides a computed value",
            "onnx-reference",
            "unknown",
            "ONNX's evaluator takes values of one name for one, around a body and in it",
        ),
        (
            "not sorted, read by a body",
            "openvino-cpu",
            "unknown",
            "openvino does not always find what a body reads and a later node makes",
        ),
        (
            "a body's input that hides a computed value",
            "openvino-cpu",
            "not-implemented",
            "openvino takes a body's input that bears the name of a value around it for that one, and refuses the loop",
        ),
    ],
)
def test_a_runtime_that_insists_on_a_rule_is_not_called_fine(name, target, verdict, reason):
    (finding,) = mn.check(MODELS[name][0], target).findings
    assert (finding.verdict, finding.reason) == (verdict, reason)


def test_fix_says_what_was_normalised_and_openvino_runs_the_result():
    openvino = pytest.importorskip("openvino")
    model, note = MODELS["a body's input that hides a computed value"]
    fixed = mn.fix(model, "openvino-cpu")
    assert fixed.changes == (note,)
    assert fixed.refused == ()
    (finding,) = mn.check(fixed.model, "openvino-cpu").findings
    assert finding.severity == "sign-of-zero"  # in the body of a Loop -0 less 0 is 0
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(fixed.model.SerializeToString(), b""), "CPU")
    np.testing.assert_array_equal(compiled({"a": A, "b": B})[0], answer(model))


@pytest.mark.parametrize("name", MODELS)
def test_openvino_loads_what_it_is_not_said_to_insist_on(name):
    openvino = pytest.importorskip("openvino")
    from minuend.runtimes.quirks import quirks

    model, _ = MODELS[name]
    kinds = {one.kind for one in read(model).violations}
    assert not model.functions or not quirks("openvino-cpu").local_functions
    if model.functions:
        return
    try:
        openvino.Core().compile_model(openvino.Core().read_model(model.SerializeToString(), b""), "CPU")
    except RuntimeError:
        assert kinds & set(quirks("openvino-cpu").strict)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (made([node("Sub", "a b", "x"), helper.make_node("F", ["x"], ["c"], domain="my")]), "which is not imported"),
        (made([node("Sub", "x b", "c"), node("Neg", "c", "x")]), "graph.node[0] reads 'x', which nothing before it"),
        (made([SUB], imports=(("", 13), ("", 12))), "imports the domain '' twice; expected one opset"),
        (made([SUB], [value("a", [-2]), value("b")]), "has the dims (-2,); expected sizes of 0 and above"),
        (
            made([IF_LATER], initializer=STORED[1:]),
            "graph.node[0].then_branch.node[0] reads 'later', which nothing before it makes",
        ),
        (
            made([CALL], imports=(("", 13), ("d", 1)), functions=[
                helper.make_function("d", "F", ["p", "q"], ["r"], [node("Sub", "s q", "r"), node("Neg", "p", "s")],
                                     [helper.make_opsetid("", 13)])]),
            "function 'F'.node[0] reads 's', which nothing before it makes",
        ),
        (
            made([CALL], imports=(("", 13), ("d", 1), ("com.microsoft", 1)), functions=[
                helper.make_function("d", "F", ["p", "q"], ["c"], [node("Sub", "p q", "x"), GELU],
                                     [helper.make_opsetid("", 13)])]),
            "function 'F'.node[1] is of the domain 'com.microsoft', which is not imported",
        ),
    ],
)  # fmt: skip
def test_what_onnxruntime_refuses_is_refused(model, message):
    with pytest.raises(FileFormatError) as caught:
        read(model)
    assert message in str(caught.value)
    if "twice" not in message and "-2" not in message:
        with pytest.raises(Exception, match="ONNXRuntimeError"):
            answer(model)
