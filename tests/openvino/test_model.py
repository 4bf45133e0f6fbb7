"""Models in memory: what is read of them, and what they compute."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ir_files import EDGE_A, EDGE_B, EDGE_R, TEXT, WEIGHTS, changed

from minuend.core.elements import TYPES
from minuend.errors import DTypeError, ResultTooLarge, ShapeError, SpecError, Unsupported
from minuend.judging.checking import check
from minuend.models.converting import convert
from minuend.openvino import Tensor
from minuend.openvino.execution.layers import KINDS
from minuend.openvino.ir.builder import Builder
from minuend.openvino.ir.notation import NUMERIC
from minuend.openvino.ir.sections import Type
from minuend.openvino.model import Model, read
from minuend.standards.node import TensorType

EXAMPLES = Path(__file__).parents[2] / "examples" / "openvino"
F32 = np.float32


# ---- the two examples of the operator's page ------------------------------------------------------------------


def test_example_1_has_equal_shapes_and_no_broadcasting() -> None:
    model = read(EXAMPLES / "spectrum.xml")
    (node,) = model.subtractions()
    assert (node.a.shape, node.b.shape, node.attributes) == ((256, 56), (256, 56), {"auto_broadcast": "none"})
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((256, 56), F32) for _ in "ab")
    result = model.run({"spectrum": a, "floor": b})
    assert list(result) == ["cleaned"]
    assert np.array_equal(result["cleaned"], a - b)


def test_example_2_broadcasts_both_sides() -> None:
    model = read(EXAMPLES / "thermometers.xml")
    (node,) = model.subtractions()
    assert (node.a.shape, node.b.shape, node.attributes) == ((8, 1, 6, 1), (7, 1, 5), {"auto_broadcast": "numpy"})
    readings = np.arange(2000, 2048, dtype=np.int16).reshape(8, 1, 6, 1)
    deviation = model.run({"readings": readings})["deviation"]
    assert (deviation.shape, deviation.dtype) == ((8, 7, 6, 5), np.int16)
    for i, j, k, m in np.ndindex(8, 7, 6, 5):
        assert deviation[i, j, k, m] == (2000 + 6 * i + k) - 100 * (5 * j + m - 10)


def test_the_examples_are_what_their_script_makes(tmp_path: Path) -> None:
    script = EXAMPLES.parent / "make_openvino_examples.py"
    space: dict[str, Any] = {"__name__": "script"}
    exec(compile(script.read_text(), script, "exec"), space)
    space["main"](tmp_path)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_bytes() for path in EXAMPLES.iterdir()}


# ---- what is read ---------------------------------------------------------------------------------------------


def test_the_minimal_model_runs() -> None:
    model = read(TEXT.encode(), WEIGHTS)
    result = model.run({"a": F32([[1, 1, 1], [5, 5, 5]])})
    assert result["y"].tolist() == [[0, -1, -2], [4, 3, 2]]
    assert repr(model) == "<minuend.openvino.Model 'm': (a: f32 (2, 3)) -> (y: f32 (2, 3)), 4 layers>"
    assert model.notes == []


def test_text_and_files_and_bytes_are_one_model(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(TEXT)
    (tmp_path / "m.bin").write_bytes(WEIGHTS)
    a = F32([[1, 2, 3], [4, 5, 6]])
    models = [
        read(tmp_path / "m.xml"),
        read(os.fspath(tmp_path / "m.xml")),
        read(TEXT, WEIGHTS),
        read(bytearray(TEXT.encode()), memoryview(WEIGHTS)),
    ]
    assert [model.run({"a": a})["y"].tolist() for model in models] == [[[0, 0, 0], [3, 3, 3]]] * 4


def test_weights_are_mapped_and_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(TEXT)
    with open(tmp_path / "m.bin", "wb") as stream:
        stream.write(WEIGHTS)
        stream.truncate(1 << 40)  # a terabyte of nothing
    assert read(tmp_path / "m.xml").run({"a": np.zeros((2, 3), F32)})["y"][0].tolist() == [-1, -2, -3]


def test_inputs_come_in_the_order_of_ports_not_of_edges() -> None:
    swapped = TEXT.replace(f"{EDGE_A}\n{EDGE_B}", f"{EDGE_B}\n{EDGE_A}")
    assert swapped != TEXT
    assert read(swapped, WEIGHTS).run({"a": np.zeros((2, 3), F32)})["y"][0].tolist() == [-1, -2, -3]
    ports = '<port id="0"><dim>2</dim><dim>3</dim></port><port id="1"><dim>3</dim></port>'
    other = changed(ports, '<port id="1"/><port id="0"/>')
    assert read(other, WEIGHTS).run({"a": np.zeros((2, 3), F32)})["y"][0].tolist() == [1, 2, 3]


def test_ports_have_any_numbers() -> None:
    text = TEXT.replace('<port id="0"><dim>2</dim><dim>3</dim></port><port id="1">', '<port id="7"/><port id="9">')
    text = text.replace('to-layer="2" to-port="0"', 'to-layer="2" to-port="7"')
    text = text.replace('to-layer="2" to-port="1"', 'to-layer="2" to-port="9"')
    text = text.replace('<port id="2" precision', '<port id="4" precision').replace('from-port="2"', 'from-port="4"')
    assert read(text, WEIGHTS).run({"a": np.zeros((2, 3), F32)})["y"][0].tolist() == [-1, -2, -3]


def test_shapes_and_types_are_inferred_and_not_believed() -> None:
    text = TEXT.replace('precision="FP32" names="y,y2"><dim>2</dim>', 'precision="I8" names="y,y2"><dim>77</dim>')
    assert read(text, WEIGHTS).outputs == {"y": Type("f32", (2, 3))}


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("2,3", (2, 3)),
        ("[2,3]", (2, 3)),
        (" 2 , 3 ", (2, 3)),
        ("-1,3", (None, 3)),
        ("?,3", (None, 3)),
        ("1..4,3", ((1, 4), 3)),
        ("..4,3", ((0, 4), 3)),
        ("2..,3", ((2, None), 3)),
        ("..,3", (None, 3)),
        ("...", None),
        ("", ()),
        ("3", (3,)),
    ],
)
def test_every_notation_of_a_shape_is_read(text: str, shape: Any) -> None:
    model = read(changed('shape="2,3"', f'shape="{text}"'), WEIGHTS)
    assert model.inputs == {"a": Type("f32", shape)}
    again = read(*model.to_bytes())
    assert (again.inputs, again.outputs) == (model.inputs, model.outputs)


def test_a_parameter_without_a_shape_is_a_scalar_and_without_a_type_takes_any() -> None:
    model = read(changed('shape="2,3" element_type="f32"/><output>', "/><output>"), WEIGHTS)
    assert model.inputs == {"a": Type("dynamic", ())}
    assert model.outputs == {"y": Type("f32", (3,))}
    assert model.run({"a": F32(1)})["y"].tolist() == [0, -1, -2]
    with pytest.raises(DTypeError) as found:
        model.run({"a": np.int8(1)})
    assert str(found.value) == (
        "Subtract-1 takes two operands of one element type; A is i8 and B is f32; convert one of them first, "
        "at layer 2 'sub'"
    )


def test_intervals_are_inferred_and_checked() -> None:
    model = read(changed('shape="2,3"', 'shape="1..4,3"'), WEIGHTS)
    assert model.outputs == {"y": Type("f32", ((1, 4), 3))}
    assert model.run({"a": np.zeros((4, 3), F32)})["y"].shape == (4, 3)
    with pytest.raises(SpecError) as found:
        model.run({"a": np.zeros((5, 3), F32)})
    assert str(found.value) == "input 'a' has shape (5, 3); expected (1..4, 3)"


@pytest.mark.parametrize("word", ["explicit", "NONE", "None"])
def test_auto_broadcast_minds_no_case_and_explicit_is_none(word: str) -> None:
    text = TEXT.replace('shape="2,3"', 'shape="3"').replace('"numpy"', f'"{word}"')
    (node,) = read(text, WEIGHTS).subtractions()
    assert node.attributes == {"auto_broadcast": "none"}


@pytest.mark.parametrize("data", ["", "<data/>", '<data other="1"/>'])
def test_numpy_is_the_rule_of_a_layer_that_states_none(data: str) -> None:
    model = read(changed('<data auto_broadcast="numpy"/>', data), WEIGHTS)
    assert [node.attributes for node in model.subtractions()] == [{}]
    assert model.outputs == {"y": Type("f32", (2, 3))}


@pytest.mark.parametrize("opset", [f"opset{n}" for n in range(1, 17)])
def test_subtract_is_in_every_opset_up_to_16(opset: str) -> None:
    assert (
        read(changed('"Subtract" version="opset1"', f'"Subtract" version="{opset}"'), WEIGHTS).layers[2].opset == opset
    )


def test_types_of_layers_mind_no_case() -> None:
    text = TEXT.replace('type="Subtract"', 'type="SUBTRACT"').replace('type="Parameter"', 'type="parameter"')
    assert [layer.type for layer in read(text, WEIGHTS).layers] == ["Parameter", "Const", "Subtract", "Result"]


def test_pdpd_without_an_axis_starts_at_0_and_is_noted() -> None:
    text = TEXT.replace('shape="3"', 'shape="2"').replace('size="12"', 'size="8"').replace('"numpy"', '"pdpd"')
    model = read(text, WEIGHTS)
    (node,) = model.subtractions()
    assert node.attributes == {"auto_broadcast": "pdpd", "axis": 0}
    assert model.run({"a": np.zeros((2, 3), F32)})["y"].tolist() == [[-1, -1, -1], [-2, -2, -2]]
    assert model.notes == [
        (
            "layer 2 'sub' (Subtract) broadcasts by pdpd and states no auto_broadcast.auto_broadcast_axis; "
            "the runtime reads that as 0, the standard's text says -1; this package reads 0 and writes it"
        )
    ]
    again = read(*model.to_bytes())
    assert again.notes == []
    assert again.layers[2].data == {"auto_broadcast": "pdpd", "auto_broadcast.auto_broadcast_axis": "0"}


@pytest.mark.parametrize("name", ["axis", "auto_broadcast_axis"])
def test_an_axis_by_another_name_is_not_read_and_noted(name: str) -> None:
    text = TEXT.replace('shape="2,3"', 'shape="3,3"').replace('"numpy"', f'"pdpd" {name}="1"')
    model = read(text, WEIGHTS)
    (node,) = model.subtractions()
    assert node.attributes == {"auto_broadcast": "pdpd", "axis": 0}
    assert model.notes[1] == (
        f"layer 2 'sub' (Subtract) states {name!r}, which the runtime does not read; "
        "the axis is written auto_broadcast.auto_broadcast_axis"
    )


def test_the_stated_axis_of_pdpd_is_read() -> None:
    text = TEXT.replace('shape="2,3"', 'shape="3,3"')
    text = text.replace('"numpy"', '"pdpd" auto_broadcast.auto_broadcast_axis="-1"')
    model = read(text, WEIGHTS)
    assert model.run({"a": np.zeros((3, 3), F32)})["y"].tolist() == [[-1, -2, -3]] * 3
    assert model.notes == []


def test_layers_that_no_result_needs_are_noted_kept_and_not_run() -> None:
    dead = '<layer id="9" name="dead" type="SoftMax" version="opset8"><data axis="1"/>'
    model = read(changed("</layers>", f"{dead}</layer></layers>"), WEIGHTS)
    assert model.notes == ["layer 9 'dead' (SoftMax) leads to no result; the runtime drops it"]
    assert list(model.run({"a": np.zeros((2, 3), F32)})) == ["y"]
    assert read(*model.to_bytes()).layers[4].name == "dead"


@pytest.mark.parametrize("text", ['<net version="10"/>', '<NET version="11"><layers/><edges/></NET>'])
def test_a_model_without_layers_has_no_results(text: str) -> None:
    assert read(text).run({}) == {}


# ---- names ----------------------------------------------------------------------------------------------------


def test_inputs_go_by_tensor_names_and_by_the_layers_name() -> None:
    model = read(changed('names="a"', r'names="x,p\,q"'), WEIGHTS)
    a = np.zeros((2, 3), F32)
    assert [model.run({name: a})["y"].shape for name in ("x", "p,q", "a")] == [(2, 3)] * 3
    for inputs, message in (
        ({"z": a}, "there is no input 'z'; expected 'x'"),
        ({"x": a, "a": a}, "'a' is given twice; it is one input with 'x', 'p,q', 'a'"),
        ({}, "no array is given for 'x'; every input takes one"),
    ):
        with pytest.raises(SpecError) as found:
            model.run(inputs)
        assert str(found.value) == message


def two_inputs(names: tuple[str, str], tensors: tuple[str, str], version: int = 11) -> Model:
    """The first input of 2 elements less the second."""
    builder = Builder(version=version)
    a, b = (
        builder.parameter(name, "i32", (2,), names=tuple(filter(None, stated.split(","))))
        for name, stated in zip(names, tensors, strict=True)
    )
    builder.result(builder.subtract("y", a, b))
    return builder.model


NAMED = [
    (("a", "b"), ("a", "a"), ("a", "a_1")),
    (("a", "b"), ("b", "a"), ("b", "a")),
    (("a", "a"), ("", ""), ("a", "a_1")),
    (("a", "b"), ("", "a"), ("a_1", "a")),
    (("a", "b"), ("", ""), ("a", "b")),
    (("a", "b"), ("a,x,z", "z,x,q"), ("a", "z_1")),
    (("a", "a"), ("x", "x"), ("x", "x_1")),
    (("a", "b"), ("a,b", "b"), ("a", "b_1")),
]
"""Names of two layers, their tensors' names, and what the inputs go by."""


@pytest.mark.parametrize(("layers", "tensors", "expected"), NAMED)
def test_each_input_has_a_name_of_its_own(
    layers: tuple[str, str], tensors: tuple[str, str], expected: tuple[str, str]
) -> None:
    model = two_inputs(layers, tensors)
    assert list(model.inputs) == list(expected)
    values = [np.int32([5, 6]), np.int32([1, 3])]
    assert model.run(dict(zip(expected, values, strict=True)))["y"].tolist() == [4, 3]
    converted = convert(model, "onnx:14").model
    assert [one.name for one in converted.graph.input] == list(expected)


@pytest.mark.parametrize(("layers", "tensors"), [row[:2] for row in NAMED])
def test_inputs_are_found_by_the_runtime_whatever_their_names_are(
    layers: tuple[str, str], tensors: tuple[str, str]
) -> None:
    pytest.importorskip("openvino")
    model = two_inputs(layers, tensors)
    before = model.to_bytes()
    (trial,) = check(model, "openvino-cpu@2026.4.1", run=True).trials
    assert [(one.elements, one.different) for one in trial.outputs] == [(4, 0)]
    assert model.to_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ('names="y,y2"', 'names="y,y2"', "y"),
        ('names="y,y2"', "", "sub"),
        ('name="r" type="Result" version="opset1"', 'name="r" type="Result" version="opset1" output_names="o,p"', "o"),
    ],
    ids=["tensor", "layer", "output_names"],
)
def test_results_go_by_their_own_names_then_by_the_tensors_then_by_the_layers(old: str, new: str, name: str) -> None:
    assert list(read(changed(old, new), WEIGHTS).outputs) == [name]


def test_version_10_knows_no_output_names() -> None:
    text = TEXT.replace('version="11"', 'version="10"').replace('name="r"', 'name="r" output_names="o"')
    model = read(text, WEIGHTS)
    assert list(model.outputs) == ["y"]
    assert read(*model.to_bytes()).version == 10


def test_results_of_one_tensor_are_kept_apart() -> None:
    second = '<layer id="4" name="r2" type="Result" version="opset1"><input><port id="0"/></input></layer></layers>'
    text = TEXT.replace("</layers>", second).replace(EDGE_R, EDGE_R + EDGE_R.replace('to-layer="3"', 'to-layer="4"'))
    result = read(text, WEIGHTS).run({"a": np.zeros((2, 3), F32)})
    assert list(result) == ["y", "r2"]
    assert np.array_equal(result["y"], result["r2"])


# ---- other layers ---------------------------------------------------------------------------------------------


def test_layers_that_do_not_run_are_listed_once_in_order() -> None:
    builder = Builder()
    x = builder.parameter("x", "f32", (2,))
    for i, kind in enumerate(("SoftMax", "MatMul", "SoftMax", "Convolution")):
        layer = builder.layer(kind, f"l{i}", [x], outputs=[Type("f32", (2,))])
        x = type(x)(layer, 0)
    builder.result(x)
    with pytest.raises(Unsupported) as found:
        builder.model.run({"x": np.zeros(2, F32)})
    runs = "Parameter, Const, Result, Subtract, Convert, Reshape, Unsqueeze, Squeeze, Broadcast, Clamp, Mod, FloorMod"
    assert str(found.value) == (
        "this package does not run layers of type Convolution, MatMul and SoftMax; "
        f"it runs {runs} and BitwiseAnd; run the model with openvino, or take the subtraction out of it"
    )
    assert list(KINDS) == [*runs.split(", "), "BitwiseAnd"]


def test_modes_that_this_package_lacks_are_listed_with_their_layer() -> None:
    builder = Builder()
    x = builder.parameter("x", "f32", (2,))
    target = builder.constant("t", np.int64([2, 2]))
    builder.result(type(x)(builder.layer("Broadcast", "b", [x, target], {"mode": "explicit"}), 0))
    squeezed = builder.layer("Squeeze", "s", [x], {"allow_axis_skip": "true"}, opset="opset15")
    builder.result(type(x)(squeezed, 0))
    with pytest.raises(Unsupported) as found:
        builder.model.run({"x": np.zeros(2, F32)})
    assert str(found.value).startswith(
        "this package does not run layers of type Broadcast of mode 'explicit' and Squeeze with allow_axis_skip; it"
    )


def test_subtractions_behind_unknown_layers_have_the_types_that_the_file_states() -> None:
    builder = Builder()
    x = builder.parameter("x", "f32", (2, 3))
    hidden = type(x)(builder.layer("MatMul", "mm", [x, x], outputs=[Type("f16", (None, 3))]), 0)
    b = builder.constant("b", np.float16([1, 2, 3]))
    builder.result(builder.subtract("s", hidden, b))
    (node,) = read(*builder.model.to_bytes()).subtractions()
    assert (node.a, node.b) == (TensorType("float16", (None, 3)), TensorType("float16", (3,)))
    assert (node.name, node.where) == ("s", "layer 3 's'")


def test_subtractions_in_bodies_are_found_and_checked() -> None:
    body = TEXT[TEXT.index("<layers>") : TEXT.index("</net>")]
    loop = f'<layer id="4" name="loop" type="Loop" version="opset5"><body>{body}</body></layer>'
    sink = '<layer id="5" name="v" type="Assign" version="opset6"><input><port id="0"/></input></layer></layers>'
    port = '<output><port id="0" precision="FP32"/></output>'
    text = f"""<net version="11"><layers>{loop.replace("<body>", f"{port}<body>")}{sink}<edges>
    <edge from-layer="4" from-port="0" to-layer="5" to-port="0"/></edges></net>"""
    model = read(text, WEIGHTS)
    (node,) = model.subtractions()
    assert (node.where, node.a.shape) == ("layer 4 'loop', body, layer 2 'sub'", (2, 3))
    assert [n.where for n in read(*model.to_bytes()).subtractions()] == [node.where]
    with pytest.raises(ShapeError) as found:
        read(text.replace('shape="2,3"', 'shape="2,4"'), WEIGHTS)
    assert str(found.value).endswith("or one of them 1, at layer 4 'loop'.body.layer 2 'sub' of the IR")


def chain() -> Model:
    """Every layer that runs once, on integers."""
    builder = Builder("chain")
    x, y = builder.parameter("x", "i32", (2, None)), builder.parameter("y", "i32", (None,))
    step = builder.subtract("s", x, y)
    step = builder.reshape("r", step, [0, -1], special_zero=True)
    step = builder.unsqueeze("u", step, [0, -1])
    step = builder.squeeze("q", step, [3])
    step = builder.broadcast("b", step, [2, 2, 3])
    step = builder.clamp("c", step, -100.5, 100.5)
    step = builder.elementwise("Mod", "m", [step, builder.constant("seven", np.int32(7))])
    step = builder.elementwise("FloorMod", "f", [step, builder.constant("five", np.int32([5]))])
    step = builder.elementwise("BitwiseAnd", "a", [step, builder.constant("mask", np.int32(6))])
    step = builder.convert("v", step, "u8")
    builder.result(step)
    return builder.model


def test_every_layer_that_runs_computes_what_python_does() -> None:
    x, y = np.int32([[1, -50, 900], [-900, 7, 33]]), np.int32([5, -3, 40])
    result = read(*chain().to_bytes()).run({"x": x, "y": y})["v"]
    assert (result.shape, result.dtype) == ((2, 2, 3), np.uint8)
    for i, j, k in np.ndindex(2, 2, 3):
        value = max(-100, min(100, int(x[j, k]) - int(y[k])))
        value = abs(value) % 7 * (1 if value > 0 else -1)
        assert result[i, j, k] == (value % 5) & 6


def test_a_reshape_by_an_input_is_inferred_as_far_as_it_can_be() -> None:
    builder = Builder()
    x, shape = builder.parameter("x", "f32", (2, 3)), builder.parameter("to", "i64", (2,))
    made = builder.layer("Reshape", "r", [x, shape], {"special_zero": "false"})
    builder.result(type(x)(made, 0))
    assert builder.model.outputs == {"r": Type("f32", (None, None))}
    assert builder.model.run({"x": np.zeros((2, 3), F32), "to": np.int64([3, -1])})["r"].shape == (3, 2)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda b, x: b.reshape("r", x, [4, -1]), "Reshape to [4, -1]: (2, 3) has 6 elements, which do not fill it"),
        (lambda b, x: b.reshape("r", x, [-1, -1]),
         "Reshape to [-1, -1]: expected sizes, and -1 at most once for what is left"),
        (lambda b, x: b.reshape("r", x, [2, 3, 0], special_zero=True),
         "Reshape to [2, 3, 0]: the 0 at 2 copies a dim that (2, 3) has not"),
        (lambda b, x: b.unsqueeze("r", x, [3]), "axis 3 of Unsqueeze is out of range: expected -3 to 2"),
        (lambda b, x: b.unsqueeze("r", x, [0, -4]), "axes [0, -4] of Unsqueeze repeat"),
        (lambda b, x: b.squeeze("r", x, [2]), "axis 2 of Squeeze is out of range: expected -2 to 1"),
        (lambda b, x: b.broadcast("r", x, [2, 4]),
         "Broadcast of (2, 3) to [2, 4]: aligned at the right, each dim must be 1 or the target's"),
        (lambda b, x: b.broadcast("r", x, [-1, 3]), "Broadcast to [-1, 3]: a size cannot be negative"),
        (lambda b, x: b.clamp("r", x, 2, 1), "attribute 'min' is 2.0 and 'max' is 1.0; expected min <= max"),
        (lambda b, x: b.elementwise("BitwiseAnd", "r", [x, x]),
         "BitwiseAnd takes no element type 'f32'; expected an integer or boolean"),
        (lambda b, x: b.elementwise("Mod", "r", [x, b.constant("k", np.int8(1))]),
         "Mod takes two operands of one element type; they are f32 and i8; convert one of them first"),
    ],
)  # fmt: skip
def test_layers_that_their_inputs_do_not_fit_are_refused(build: Any, message: str) -> None:
    builder = Builder()
    with pytest.raises(SpecError) as found:
        build(builder, builder.parameter("x", "f32", (2, 3)))
    place = found.value.where
    assert str(found.value) == f"{message}, at {place}"
    assert place.endswith(" 'r'")


def test_a_dim_that_cannot_be_squeezed_is_kept_where_it_is_known_and_refused_where_it_turns_out() -> None:
    known, unknown = Builder(), Builder()
    x, y = known.parameter("x", "f32", (2, 1)), unknown.parameter("x", "f32", (None, 1))
    known.result(known.squeeze("q", x, [0, 1]))
    unknown.result(unknown.squeeze("q", y, [0, 1]))
    assert known.model.run({"x": np.zeros((2, 1), F32)})["q"].shape == (2,)
    assert unknown.model.run({"x": np.zeros((1, 1), F32)})["q"].shape == ()
    with pytest.raises(SpecError) as found:
        unknown.model.run({"x": np.zeros((2, 1), F32)})
    assert str(found.value) == (
        "Squeeze gives shape (2,), and the model's shapes promise (); pass inputs that fit, at layer 2 'q'"
    )


def test_integers_are_not_divided_by_0() -> None:
    builder = Builder()
    x = builder.parameter("x", "i8", ())
    builder.result(builder.elementwise("FloorMod", "f", [x, builder.constant("k", np.int8(0))]))
    with pytest.raises(SpecError) as found:
        builder.model.run({"x": np.int8(1)})
    assert str(found.value) == "FloorMod divides by 0, which integers cannot, at layer 2 'f'"


@pytest.mark.parametrize(
    ("dtype", "low", "high", "values", "expected"),
    [
        ("int8", -2.5, 3.5, [-7, -2, 3, 7], [-2, -2, 3, 3]),
        ("uint8", -5, 300, [0, 255], [0, 255]),
        ("int64", -9.3e18, 9.3e18, [-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1]),
        ("float32", -1, 1, [np.nan, np.inf, -0.0, -3], [np.nan, 1, -0.0, -1]),
        ("bfloat16", -1, 1, [5, 0.5, -np.inf], [1, 0.5, -1]),
    ],
)
def test_clamp_rounds_integer_bounds_inwards_and_keeps_nan(
    dtype: str, low: float, high: float, values: list[float], expected: list[float]
) -> None:
    element = TYPES[dtype]
    builder = Builder()
    x = builder.parameter("x", next(name for name, row in NUMERIC.items() if row is element), (len(values),))
    builder.result(builder.clamp("c", x, low, high))
    result = builder.model.run({"x": np.array(values, element.memory)})["c"]
    want = np.array(expected, element.memory)
    assert result.dtype == element.memory
    assert result.tobytes() == want.tobytes()


# ---- values ---------------------------------------------------------------------------------------------------


def test_arrays_of_another_type_or_shape_are_refused() -> None:
    model = read(TEXT, WEIGHTS)
    for value, message in (
        (np.zeros((2, 3)), "input 'a' is of f64; expected f32, and nothing is converted"),
        (np.zeros((3, 2), F32), "input 'a' has shape (3, 2); expected (2, 3)"),
        (np.zeros((2, 3), "c8"), "input 'a' is of complex64, which OpenVINO has not"),
        ([[1.0]], "input 'a' is a list; expected a NumPy array of f32"),
    ):
        with pytest.raises(SpecError) as found:
            model.run({"a": value})
        assert str(found.value) == message


def test_arrays_of_other_byte_order_and_layout_are_taken() -> None:
    model = read(TEXT, WEIGHTS)
    a = np.arange(6, dtype=F32).reshape(2, 3)
    expected = model.run({"a": a})["y"]
    for other in (a.astype(">f4"), np.asfortranarray(a), np.repeat(a, 2, axis=1)[:, ::2]):
        assert np.array_equal(model.run({"a": other})["y"], expected)


def test_nf4_comes_and_goes_as_a_tensor() -> None:
    builder = Builder()
    x = builder.parameter("x", "nf4", (3,))
    builder.result(builder.subtract("s", x, builder.constant("k", Tensor("nf4", np.uint8([0, 7, 15])))))
    model = read(*builder.model.to_bytes())
    result = model.run({"x": Tensor("nf4", np.uint8([7, 7, 7]))})["s"]
    assert isinstance(result, Tensor)
    assert result.codes.tolist() == [15, 7, 0]


def test_a_result_never_shares_memory_with_inputs_or_constants() -> None:
    builder = Builder()
    x, k = builder.parameter("x", "f32", (2,)), builder.constant("k", F32([1, 2]))
    for ref in (x, k, builder.broadcast("b", x, [3, 2]), builder.reshape("r", x, [2, 1])):
        builder.result(ref)
    a = F32([5, 6])
    result = builder.model.run({"x": a})
    assert list(result) == ["x", "k", "b", "r"]
    for array in result.values():
        assert array.flags.writeable
        array[...] = 0
    assert a.tolist() == [5, 6]
    assert builder.model.run({"x": a})["k"].tolist() == [1, 2]


def test_a_result_above_the_limit_is_refused_before_anything_is_made() -> None:
    builder = Builder()
    x, y = builder.parameter("x", "f32", (None, 1)), builder.parameter("y", "f32", (1, None))
    builder.result(builder.subtract("s", x, y))
    a = np.zeros((10**6, 1), F32)
    with pytest.raises(ResultTooLarge) as found:
        builder.model.run({"x": a, "y": a.T})
    assert str(found.value) == (
        "a tensor of f32 (1000000, 1000000) takes 4,000,000,000,000 bytes, above max_bytes 4,294,967,296; "
        "pass a larger max_bytes, or None for no limit, at layer 2 's'"
    )
    small = {"x": a[:3], "y": a.T[:, :3]}
    with pytest.raises(ResultTooLarge):
        builder.model.run(small, max_bytes=35)
    assert builder.model.run(small, max_bytes=36)["s"].shape == (3, 3)
    assert builder.model.run(small, max_bytes=None)["s"].shape == (3, 3)


def test_none_is_kept_to_at_run_time() -> None:
    builder = Builder()
    x, y = (builder.parameter(name, "f32", (None,)) for name in "xy")
    builder.result(builder.subtract("s", x, y, auto_broadcast="none"))
    with pytest.raises(ShapeError) as found:
        builder.model.run({"x": np.zeros(3, F32), "y": np.zeros(1, F32)})
    assert str(found.value) == (
        "shapes (3,) and (1,) must be equal (no broadcasting): axis 0 has 3 and 1, at layer 2 's'"
    )


def test_boolean_passes_through_and_converts() -> None:
    builder = Builder()
    x = builder.parameter("x", "boolean", (3,))
    k = builder.constant("k", np.array([True, False, True]))
    builder.result(builder.convert("c", builder.elementwise("BitwiseAnd", "a", [x, k]), "f32"))
    model = read(*builder.model.to_bytes())
    assert model.run({"x": np.array([True, True, False])})["c"].tolist() == [1, 0, 0]


def test_types_that_are_only_stored_are_read_and_not_run() -> None:
    text = TEXT.replace('data element_type="f32" shape="3"', 'data element_type="u3" shape="8"')
    text = text.replace('type="Subtract"', 'type="Concat"')
    model = read(text, WEIGHTS)
    assert model.layers[1].outputs[0].type == Type("u3", (8,))
    builder = Builder()
    x = builder.parameter("x", "f32", ())
    builder.result(builder.convert("c", x, "u6"))
    with pytest.raises(Unsupported) as found:
        builder.model.run({"x": F32(1)})
    assert str(found.value) == "layer 1 'c': this package does not convert from f32 to u6"


def test_a_tensor_of_more_than_64_dims_is_refused() -> None:
    model = read(changed('data element_type="f32" shape="3"', f'data element_type="f32" shape="{"1," * 69}1"'), WEIGHTS)
    assert len(model.outputs["y"].shape or ()) == 70
    with pytest.raises(Unsupported) as found:
        model.run({"a": np.zeros((2, 3), F32)})
    assert str(found.value) == "layer 1 'b': a tensor of rank 70 is beyond NumPy's limit of 64"


def test_an_empty_tensor_that_numpy_cannot_hold_is_refused() -> None:
    text = """<net name="m" version="11"><layers>
      <layer id="0" name="b" type="Const" version="opset1"><data element_type="f32" shape="9223372036854775807,0"
        offset="0" size="0"/><output><port id="0" precision="FP32"/></output></layer>
      <layer id="1" name="s" type="Subtract" version="opset1"><input><port id="0"/><port id="1"/></input>
        <output><port id="2" precision="FP32"/></output></layer>
      <layer id="2" name="r" type="Result" version="opset1"><input><port id="0"/></input></layer></layers><edges>
      <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/><edge from-layer="0" from-port="0" to-layer="1"
        to-port="1"/><edge from-layer="1" from-port="2" to-layer="2" to-port="0"/></edges></net>"""
    with pytest.raises(Unsupported) as found:
        read(text, b"").run({})
    assert str(found.value) == (
        "layer 0 'b': a tensor of shape (9223372036854775807, 0) is empty, and beyond NumPy's limit all the same"
    )
