"""Across modules: OpenVINO models to the graph between formats and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ir_files import EDGE_R, TEXT, WEIGHTS, changed

from minuend.core import shapes
from minuend.errors import ConversionRefused, SpecError
from minuend.judging.checking import check
from minuend.models.graph import Graph, Step, Value
from minuend.openvino import Tensor
from minuend.openvino.ir.builder import Builder
from minuend.openvino.ir.notation import NUMERIC
from minuend.openvino.ir.sections import Type
from minuend.openvino.lifting import ADVICE, to_graph
from minuend.openvino.lowering import from_graph
from minuend.openvino.model import Model, read
from minuend.standards.node import TensorType

F32 = np.float32


def values(name: str, shape: tuple[int, ...], seed: int) -> Any:
    element, rng = NUMERIC[name], np.random.default_rng(seed)
    codes = rng.integers(0, 1 << min(element.bits, 63), shape, np.uint64).astype(f"u{element.itemsize}")
    if element.numpy is None:
        return Tensor(element, codes)
    return np.where(codes == 0, codes, codes).view(element.memory)


def same(x: Any, y: Any) -> bool:
    x, y = (value.codes if isinstance(value, Tensor) else value for value in (x, y))
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def round_trip(model: Model) -> Model:
    return from_graph(to_graph(model))[0]


# ---- there and back -------------------------------------------------------------------------------------------

RULES = [
    ("none", (2, 3), (2, 3), -1),
    ("numpy", (8, 1, 6, 1), (7, 1, 5), -1),
    ("numpy", (3,), (2, 3), -1),
    ("numpy", (), (2,), -1),
    ("pdpd", (2, 3, 4, 5), (3, 4), 1),
    ("pdpd", (3, 3), (3,), 0),
    ("pdpd", (2, 3, 4), (4,), -1),
    ("pdpd", (2, 3), (), 1),
    ("pdpd", (1, 3), (0,), 0),
]


@pytest.mark.parametrize("case", RULES, ids=str)
@pytest.mark.parametrize("name", list(NUMERIC))
def test_a_subtraction_answers_the_same_after_the_trip(name: str, case: Any) -> None:
    rule, a, b, axis = case
    builder = Builder("one")
    x, y = builder.parameter("a", name, a), builder.constant("b", values(name, b, 1))
    builder.result(builder.subtract("y", x, y, auto_broadcast=rule, axis=axis if rule == "pdpd" else None))
    again = round_trip(builder.model)
    assert (list(again.inputs), list(again.outputs)) == (["a"], ["y"])
    inputs = {"a": values(name, a, 2)}
    assert same(again.run(inputs)["y"], builder.model.run(inputs)["y"])
    assert {node.attributes["auto_broadcast"] for node in again.subtractions()} == {"numpy"}


def test_pdpd_becomes_an_unsqueeze_and_is_said() -> None:
    builder = Builder("one")
    x, y = builder.parameter("a", "f32", (2, 3, 4, 5)), builder.parameter("b", "f32", (3, 4))
    builder.result(builder.subtract("y", x, y, auto_broadcast="pdpd", axis=1))
    model, changes, losses = from_graph(to_graph(builder.model), 1)
    assert changes == ["y: B gets dims of 1 at axes [2] by Unsqueeze, then numpy's rule holds"]
    assert losses == []
    types = ["Parameter", "Parameter", "Const", "Unsqueeze", "Subtract", "Result"]
    assert [layer.type for layer in model.layers] == types


def chain() -> Model:
    builder = Builder("chain")
    x = builder.parameter("x", "i32", (None, 3))
    step = builder.subtract("s", x, builder.constant("k", np.int32([1, 2, 3])))
    step = builder.reshape("r", step, [0, -1], special_zero=True)
    step = builder.unsqueeze("u", step, [-1, 0])
    step = builder.squeeze("q", step, [0])
    step = builder.squeeze("q2", step, [-1])
    step = builder.broadcast("b", step, [4, 2, 3])
    builder.result(builder.convert("c", step, "i8"))
    builder.result(step)
    return builder.model


def test_every_kind_of_step_comes_through() -> None:
    graph = to_graph(chain())
    kinds = ["subtract", "reshape", "unsqueeze", "squeeze", "squeeze", "expand", "cast"]
    assert [step.kind for step in graph.steps] == kinds
    assert [step.where for step in graph.steps][:2] == ["layer 2 's'", "layer 4 'r'"]
    assert (graph.steps[1].shape, graph.steps[2].axes, graph.steps[4].axes) == ((-1, 3), (0, 3), (2,))
    assert (graph.inputs, graph.outputs, graph.losses) == (["x"], ["c", "b"], [])
    assert [value.name for value in graph.constants()] == ["k"]
    model = from_graph(graph)[0]
    x = np.arange(6, dtype=np.int32).reshape(2, 3) * 100
    before, after = chain().run({"x": x}), model.run({"x": x})
    assert list(before) == list(after) == ["c", "b"]
    assert all(same(before[name], after[name]) for name in before)


def test_intervals_survive() -> None:
    builder = Builder("m")
    x = builder.parameter("x", "f16", ((1, 4), None, 3))
    builder.result(builder.subtract("y", x, x))
    assert round_trip(builder.model).inputs == {"x": Type("f16", ((1, 4), None, 3))}


# ---- names ----------------------------------------------------------------------------------------------------


def test_values_bear_the_tensor_names_and_outputs_their_own() -> None:
    graph = to_graph(read(TEXT, WEIGHTS))
    assert (graph.name, graph.inputs, graph.outputs, list(graph.values)) == ("m", ["a"], ["y"], ["a", "b", "y"])
    assert graph.losses == ["layer 2 'sub' has further tensor names that are not carried over: y2"]


def test_an_output_of_another_name_is_an_identity() -> None:
    second = '<layer id="4" name="r2" type="Result" version="opset1"><input><port id="0"/></input></layer></layers>'
    text = TEXT.replace("</layers>", second).replace(EDGE_R, EDGE_R + EDGE_R.replace('to-layer="3"', 'to-layer="4"'))
    graph = to_graph(read(text, WEIGHTS))
    assert graph.outputs == ["y", "r2"]
    assert graph.steps[-1] == Step(kind="identity", inputs=("y",), output="r2")
    model, changes, _ = from_graph(graph)
    assert changes == ["r2: the identity changes nothing; it is a Convert to f32, so that 'y' keeps its name"]
    assert list(model.run({"a": np.zeros((2, 3), F32)})) == ["y", "r2"]


def test_a_parameter_that_is_a_result_passes_through() -> None:
    builder = Builder("m")
    builder.result(builder.parameter("x", "f32", (2,)), output_names=["out"])
    graph = to_graph(builder.model)
    assert (graph.inputs, graph.outputs) == (["x"], ["out"])
    model = from_graph(graph)[0]
    assert model.run({"x": F32([1, 2])})["out"].tolist() == [1, 2]


def test_an_input_that_is_an_output_has_its_name_in_both() -> None:
    builder = Builder("m")
    builder.result(builder.parameter("x", "f32", (2,)))
    graph = to_graph(builder.model)
    assert (graph.inputs, graph.outputs, graph.steps) == (["x"], ["x"], [])
    assert to_graph(from_graph(graph)[0]).outputs == ["x"]


def test_of_an_inputs_names_its_layers_is_carried_over() -> None:
    """OpenVINO sorts a tensor's names; that of an ONNX model's input is the layer's."""
    builder = Builder("m")
    x = builder.parameter("x", "f32", (2,), names=["r", "x"])
    y = builder.parameter("y", "f32", (2,), names=["b", "a"])
    builder.result(builder.subtract("c", x, y))
    graph = to_graph(builder.model)
    assert (graph.inputs, graph.outputs) == (["x", "b"], ["c"])
    assert graph.losses == [
        "layer 0 'x' has further tensor names that are not carried over: r",
        "layer 1 'y' has further tensor names that are not carried over: a",
    ]


SUBTRACTION = Step(kind="subtract", inputs=("x", "x"), output="c", joined=shapes.numpy((2,), (2,)))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8", "int4", "int64", "float64"])
@pytest.mark.parametrize(
    ("outputs", "named"),
    [(["a"], {"a": "x"}), (["a", "b"], {"a": "x", "b": "a"}), (["b", "x"], {"b": "x"}),
     (["c", "d"], {"d": "c"}), (["d", "c"], {"d": "c"}), (["d", "e"], {"d": "c", "e": "d"}),
     (["t", "c"], {"t": "x"}), (["c"], {"t": "x"})],
)  # fmt: skip
def test_inputs_and_outputs_have_their_names_once_openvino_has_compiled_the_model(
    dtype: str, outputs: list[str], named: dict[str, str], tmp_path: Path
) -> None:
    ov = pytest.importorskip("openvino")
    graph = Graph("g", ["x"], outputs)
    for name in ("x", "c", *named):
        graph.add(Value(name, TensorType(dtype, (2,))))
    graph.steps = [SUBTRACTION, *(Step(kind="identity", inputs=(of,), output=name) for name, of in named.items())]
    model, _, losses = from_graph(graph)
    model.save(tmp_path / "m.xml")
    compiled = ov.Core().compile_model(tmp_path / "m.xml", "CPU")
    inputs, results = ([sorted(port.names) for port in ports] for ports in (compiled.inputs, compiled.outputs))
    narrowed = dtype in ("int64", "float64") and any(of == "x" and name in outputs for name, of in named.items())
    assert bool(losses) == narrowed
    if narrowed:  # OpenVINO's CPU would compute a copy in a narrower type
        assert losses[0].endswith("once OpenVINO has compiled the model, 'x' may have no name but " + repr(outputs[0]))
    else:
        assert ("x" in inputs[0], results) == (True, [[name] for name in outputs])


def test_two_tensors_of_one_name_are_kept_apart() -> None:
    builder = Builder("m")
    x = builder.parameter("x", "f32", (2,))
    y = builder.subtract("x", x, x, names=["x"])
    builder.result(builder.subtract("z", y, x))
    graph = to_graph(builder.model)
    assert [step.inputs for step in graph.steps] == [("x", "x"), ("x_1", "x")]


# ---- refusals and losses --------------------------------------------------------------------------------------


def test_every_layer_in_the_way_is_named() -> None:
    builder = Builder("m")
    x, shape = builder.parameter("x", "f32", (2, None, None)), builder.parameter("n", "i64", (2,))
    flag = builder.parameter("flag", "boolean", (2,))
    softmax = type(x)(builder.layer("SoftMax", "soft", [x], outputs=[Type("f32", (2, None, None))]), 0)
    builder.result(softmax)
    builder.result(type(x)(builder.layer("Reshape", "free", [x, shape], {"special_zero": "false"}), 0))
    builder.result(builder.reshape("two", x, [0, 0, 0], special_zero=True))
    builder.result(builder.clamp("c", x, 0, 1))
    builder.result(flag)
    with pytest.raises(ConversionRefused) as found:
        to_graph(builder.model)
    assert found.value.nodes == {
        "layer 2 'flag'": (
            "element type 'boolean': Subtract takes numbers only; use LogicalXor or convert to u8 first"
        ),
        "layer 3 'soft'": "other formats are not given a SoftMax by this package",
        "layer 5 'free'": "its second input comes from layer 1 'n' (Parameter); expected a constant",
        "layer 8 'two'": "its result (2, ?, ?) has dims that are not known before it runs",
        "layer 10 'c'": "Clamp is not one of the operators that every format has",
    }
    assert str(found.value).startswith(
        "cannot convert to a graph of other formats: 5 nodes in the way\n  layer 2 'flag': "
    )
    assert str(found.value).endswith(ADVICE)


def test_what_a_graph_does_not_hold_is_listed() -> None:
    dead = '<layer id="9" name="dead" type="SoftMax" version="opset8"><data axis="1"/></layer></layers>'
    extra = '</edges><rt_info><framework value="x"/></rt_info></net>'
    text = changed("</edges></net>", extra, text=TEXT.replace("</layers>", dead)).decode()
    text = text.replace('<layer id="2"', '<layer id="2" kept="1"').replace(",y2", "")
    assert to_graph(read(text, WEIGHTS)).losses == [
        "<rt_info> of the net is not carried over",
        "layer 9 'dead' (SoftMax) leads to no result and is left out",
        "layer 2 'sub' states what is not carried over: kept",
    ]


def graph_of(a: TensorType, b: TensorType, joined: Any, **step: Any) -> Graph:
    graph = Graph("g", ["a", "b"], ["c"])
    graph.add(Value("a", a))
    graph.add(Value("b", b))
    graph.add(Value("c", TensorType(a.dtype, joined.shape)))
    graph.steps.append(Step(kind="subtract", inputs=("a", "b"), output="c", joined=joined, **step))
    return graph


def test_names_of_dims_are_lost_and_said() -> None:
    a, b = TensorType("float32", ("N", "M", "N")), TensorType("float32", (3,))
    model, changes, losses = from_graph(graph_of(a, b, shapes.numpy(a.shape, b.shape)))
    assert losses == ["input 'a': the names of its dims (N, M)"]
    assert changes == []
    assert model.inputs["a"] == Type("f32", (None, None, None))


def test_legacy_broadcast_becomes_numpys_and_what_is_not_checked_any_more_is_said() -> None:
    a, b = TensorType("float32", (2, "N", 4)), TensorType("float32", (3,))
    joined = shapes.onnx_legacy(a.shape, b.shape, axis=1, broadcast=1)
    model, changes, losses = from_graph(graph_of(a, b, joined, name="sub", where="graph.node[0] 'sub'"))
    assert changes == ["sub: B gets dims of 1 at axes [1] by Unsqueeze, then numpy's rule holds"]
    assert losses == [
        "input 'a': the names of its dims (N)",
        "graph.node[0] 'sub': that axis 1: N of A is 3 is not checked",
    ]
    x, y = np.arange(24, dtype=F32).reshape(2, 3, 4), F32([1, 2, 3])
    assert same(model.run({"a": x, "b": y})["c"], x - y[:, None])


def test_types_that_openvino_has_not_are_refused() -> None:
    a = TensorType("int2", (2,))
    with pytest.raises(ConversionRefused) as found:
        from_graph(graph_of(a, a, shapes.numpy(a.shape, a.shape)))
    assert found.value.nodes == dict.fromkeys(
        ("value 'a'", "value 'b'", "value 'c'"), "OpenVINO has no element type int2"
    )


def test_a_squeeze_of_nothing_stays_nothing() -> None:
    graph = Graph("g", ["x"], ["y"])
    graph.add(Value("x", TensorType("float32", (1, 2))))
    graph.add(Value("y", TensorType("float32", (1, 2))))
    graph.steps.append(Step(kind="squeeze", inputs=("x",), output="y"))
    model, changes, _ = from_graph(graph)
    assert changes == ["y: the squeeze changes nothing; it is a Convert to f32, so that 'x' keeps its name"]
    assert model.run({"x": F32([[1, 2]])})["y"].tolist() == [[1, 2]]


def test_there_is_one_version_to_convert_to() -> None:
    graph = to_graph(read(TEXT, WEIGHTS))
    assert from_graph(graph, "1")[0].version == 11
    with pytest.raises(SpecError) as found:
        from_graph(graph, 2)
    assert str(found.value) == "OpenVINO has no operator version 2 with Subtract; expected 1, the only one"


def test_a_step_that_openvino_refuses_is_named() -> None:
    graph = Graph("g", ["x"], ["y"])
    graph.add(Value("x", TensorType("float32", (2, 3))))
    graph.add(Value("y", TensorType("float32", (4,))))
    graph.steps.append(Step(kind="reshape", inputs=("x",), output="y", shape=(4,), where="graph.node[0]"))
    with pytest.raises(ConversionRefused) as found:
        from_graph(graph)
    assert found.value.nodes == {"graph.node[0]": "Reshape to [4]: (2, 3) has 6 elements, which do not fill it"}


def test_what_is_made_runs_on_openvino() -> None:
    ov = pytest.importorskip("openvino")
    builder = Builder("m")
    x, y = builder.parameter("a", "f32", (2, 3, 4, 5)), builder.parameter("b", "f32", (3, 4))
    builder.result(builder.subtract("y", x, y, auto_broadcast="pdpd", axis=1))
    model = round_trip(builder.model)
    core = ov.Core()
    a, b = (np.random.default_rng(9).standard_normal(s, F32) for s in ((2, 3, 4, 5), (3, 4)))
    compiled = core.compile_model(core.read_model(*model.to_bytes()), "CPU")
    assert same(compiled({"a": a, "b": b})["y"], builder.model.run({"a": a, "b": b})["y"])


IF_OF_TWO = "then_branch = t () => (float[4] r) { r = Sub(a, b) }, else_branch = e () => (float[4] s) { s = Add(a, b) }"
LOOP_BODY = "body = t (int64 i, bool c, float[4] s) => (bool d, float[4] r) { r = Sub(s, b) d = Identity(c) }"
PRELU = "(float[2, 3] x) => (float[2, 3] y) <float[1] s = {0.25}, float[3] k = {1, 2, 3}>"
OF_16_BITS = "(float[4] x, float[4] a, float[4] b) => (float[4] y, float[4] d) <float s = {0.01}, uint16 z = {30000}>"
QUANTISED = "q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z)"
SHIFTED = "(float[3] x) => (float[3] y) <float[3] k = {-1, 1, 2}, float o = {0.5}, float t = {2}>"
LOOP = "(float[4] a, float[4] b) => (float[4] y) <int64 n = {3}, bool k = {1}>"
ALIKE = {
    f"(bool c, float[4] a, float[4] b) => (float[4] y) {{ y = If (c) <{IF_OF_TWO}> }}": "different-numbers",
    f"{LOOP} {{ y = Loop (n, k, a) <{LOOP_BODY}> }}": "different-numbers",
    f"{PRELU} {{ p = PRelu(x, s) y = Sub(p, k) }}": "ok",
    f"{SHIFTED} {{ m = Add(k, o) n = Div(m, t) y = Sub(x, n) }}": "ok",
    f"{OF_16_BITS} {{ {QUANTISED} d = Sub(a, b) }}": "not-implemented",
}


@pytest.mark.parametrize("declared", ALIKE)
def test_a_graph_has_one_verdict_as_onnx_and_as_ir(declared: str, tmp_path: Path) -> None:
    ov, onnx = pytest.importorskip("openvino"), pytest.importorskip("onnx")
    text = f'<ir_version: 10, opset_import: ["" : 21]> g {declared}'
    loaded = ov.Core().read_model(onnx.parser.parse_model(text).SerializeToString())
    ov.save_model(loaded, tmp_path / "m.xml", compress_to_fp16=False)
    for model in (text, tmp_path / "m.xml"):
        verdicts = {one.verdict for one in check(model, "openvino-cpu@2026.4.1", hint="f32").findings}
        assert verdicts == {ALIKE[declared]}, model


@pytest.mark.parametrize("declared", list(ALIKE)[:2])
def test_openvino_takes_shapes_in_bodies_for_open(declared: str) -> None:
    ov, onnx = pytest.importorskip("openvino"), pytest.importorskip("onnx")
    proto = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g {declared}')
    compiled = ov.Core().compile_model(ov.Core().read_model(proto.SerializeToString()), "CPU")
    fed = {"a": np.float32([-0.0] * 4), "b": np.zeros(4, np.float32), "c": np.array(True)}
    (got,) = compiled({port.get_any_name(): fed[port.get_any_name()] for port in compiled.inputs}).values()
    assert not np.signbit(got).any()
