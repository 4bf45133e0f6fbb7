"""Between formats: every pair of formats, bit for bit, here and on the runtimes that read them."""

import itertools

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import minuend as mn
from minuend.core.elements import TYPES

FORMATS = ("onnx:14", "openvino", "directml:5.1")
ONNX_TYPES = mn.spec("onnx", 14).types
DIRECTML_TYPES = mn.spec("directml", "5.1").types

SHAPES = {
    "same": ((2, 3), (2, 3)),
    "a row": ((2, 3, 4), (4,)),
    "one element": ((2, 3), (1,)),
    "both sides": ((2, 1, 4), (3, 1)),
    "A grows": ((4,), (2, 3, 4)),
    "five dims": ((2, 1, 3, 1, 2), (2, 3, 2, 1)),
}


def values(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    row = TYPES[dtype]
    if row.is_integer:
        low, high = row.limits
        return rng.integers(low, high, shape, dtype=row.numpy, endpoint=True)
    if dtype == "float16":  # runtimes keep float32 between two subtractions: only exact chains can be compared
        return (rng.integers(-400, 400, shape) / 4).astype(row.numpy)
    return (rng.standard_normal(shape) * 100).astype(row.numpy)


def onnx_model(dtype, a_shape, b_shape, constant=None):
    """c = a - (b - a') with a constant a' of one element, so that two subtractions and a constant travel."""
    data_type = helper.np_dtype_to_tensor_dtype(TYPES[dtype].numpy)
    offset = numpy_helper.from_array(values(dtype, (1,), 7), "offset")
    nodes = [
        helper.make_node("Sub", ["b", "offset"], ["shifted"], "shift"),
        helper.make_node("Sub", ["a", "shifted"], ["c"], "difference"),
    ]
    result = np.broadcast_shapes(a_shape, b_shape)
    graph = helper.make_graph(
        nodes,
        "two",
        [helper.make_tensor_value_info(n, data_type, s) for n, s in (("a", a_shape), ("b", b_shape))],
        [helper.make_tensor_value_info("c", data_type, result)],
        [offset],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=10)


def same_bits(x, y):
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def paths():
    """Every way over at most three formats that begins and ends at ONNX."""
    yield from itertools.permutations(FORMATS[1:], 1)
    yield from itertools.permutations(FORMATS[1:], 2)


@pytest.mark.parametrize("relation", SHAPES)
@pytest.mark.parametrize("way", list(paths()), ids=" → ".join)
@pytest.mark.parametrize("dtype", DIRECTML_TYPES)
def test_a_model_gives_the_same_bits_in_every_format_and_back(dtype, way, relation):
    a_shape, b_shape = SHAPES[relation]
    model = onnx_model(dtype, a_shape, b_shape)
    inputs = {"a": values(dtype, a_shape, 1), "b": values(dtype, b_shape, 2)}
    expected = mn.run(model, inputs)["c"]
    offset = values(dtype, (1,), 7)
    assert same_bits(expected, mn.subtract(inputs["a"], mn.subtract(inputs["b"], offset)))
    for goal in (*way, "onnx:7" if dtype in mn.spec("onnx", 7).types else "onnx:14"):
        model = mn.convert(model, goal).model
        assert same_bits(mn.run(model, inputs)["c"], expected), goal
    onnx.checker.check_model(model, full_check=True)


@pytest.mark.parametrize("dtype", [t for t in ONNX_TYPES if t not in DIRECTML_TYPES])
def test_types_that_directml_lacks_go_to_openvino_and_back_and_are_refused_there(dtype):
    model = onnx_model(dtype, (2, 3), (3,))
    inputs = {"a": values(dtype, (2, 3), 1), "b": values(dtype, (3,), 2)}
    expected = mn.run(model, inputs)["c"]
    ir = mn.convert(model, "openvino").model
    assert same_bits(mn.run(ir, inputs)["c"], expected)
    assert same_bits(mn.run(mn.convert(ir, "onnx").model, inputs)["c"], expected)
    with pytest.raises(mn.ConversionRefused) as caught:
        mn.convert(model, "directml:5.1")
    assert caught.value.nodes


def legacy_model(opset, a_shape, b_shape, **attributes):
    graph = helper.make_graph(
        [helper.make_node("Sub", ["a", "b"], ["c"], "s", **attributes)],
        "legacy",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("a", a_shape), ("b", b_shape))],
        [helper.make_tensor_value_info("c", TensorProto.FLOAT, a_shape)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3)


@pytest.mark.parametrize("opset", [1, 6])
@pytest.mark.parametrize(
    ("b_shape", "attributes"),
    [
        ((2, 3, 4), {}),
        ((), {"broadcast": 1}),
        ((1, 1), {"broadcast": 1}),
        ((4,), {"broadcast": 1}),
        ((3, 4), {"broadcast": 1}),
        ((3,), {"broadcast": 1, "axis": 1}),
        ((2, 3), {"broadcast": 1, "axis": 0}),
        ((2,), {"broadcast": 1, "axis": 0}),
    ],
    ids=str,
)
@pytest.mark.parametrize("goal", ["openvino", "directml:2.1", "directml:5.1", "onnx"])
def test_the_limited_broadcasting_of_old_opsets_is_spelled_out(opset, b_shape, attributes, goal):
    model = legacy_model(opset, (2, 3, 4), b_shape, **attributes)
    a, b = values("float32", (2, 3, 4), 1), values("float32", b_shape, 2)
    aligned = b.reshape(*b_shape, *(1,) * (3 - attributes["axis"] - len(b_shape))) if "axis" in attributes else b
    expected = a - (aligned.reshape(()) if b.size == 1 else aligned)
    converted = mn.convert(model, goal).model
    got = mn.run(converted, {"a": a, "b": b})["c"]
    assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int16", "uint16"])
@pytest.mark.parametrize("relation", SHAPES)
def test_openvino_runs_the_ir_with_our_answer(dtype, relation, tmp_path):
    openvino = pytest.importorskip("openvino")
    a_shape, b_shape = SHAPES[relation]
    converted = mn.convert(onnx_model(dtype, a_shape, b_shape), "openvino")
    inputs = {"a": values(dtype, a_shape, 1), "b": values(dtype, b_shape, 2)}
    expected = mn.run(converted.model, inputs)["c"]
    converted.save(tmp_path / "m.xml")
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(tmp_path / "m.xml"), "CPU")
    assert same_bits(np.asarray(compiled(inputs)["c"]), expected)


@pytest.mark.parametrize("dtype", [t for t in ONNX_TYPES if t != "bfloat16"])
@pytest.mark.parametrize("relation", SHAPES)
def test_onnxruntime_runs_what_comes_back_from_the_other_formats(dtype, relation):
    onnxruntime = pytest.importorskip("onnxruntime")
    a_shape, b_shape = SHAPES[relation]
    inputs = {"a": values(dtype, a_shape, 1), "b": values(dtype, b_shape, 2)}
    model = onnx_model(dtype, a_shape, b_shape)
    expected = mn.run(model, inputs)["c"]
    back = mn.convert(mn.convert(model, "openvino").model, "onnx:14").model
    session = onnxruntime.InferenceSession(back.SerializeToString(), providers=["CPUExecutionProvider"])
    assert same_bits(session.run(["c"], inputs)[0], expected)


REFUSALS = {
    "another operator": (
        lambda: onnx.parser.parse_model(
            '<ir_version: 10, opset_import: ["" : 14]> g (float[2] a) => (float[2] c) { r = Relu(a) c = Sub(r, a) }'
        ),
        "openvino",
    ),
    "an empty tensor": (lambda: onnx_model("float32", (0, 3), (3,)), "directml:5.1"),
    "a type the level lacks": (lambda: onnx_model("int64", (2,), (2,)), "directml:3.0"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_a_format_cannot_say_is_refused_and_named(case):
    make, goal = REFUSALS[case]
    with pytest.raises(mn.ConversionRefused) as caught:
        mn.convert(make(), goal)
    assert caught.value.nodes
    assert all(place and reason for place, reason in caught.value.nodes.items())


def test_a_model_that_is_in_the_goal_format_already_is_no_success():
    ir = mn.convert(onnx_model("float32", (2,), (2,)), "openvino").model
    with pytest.raises(mn.SpecError) as caught:
        mn.convert(ir, "openvino")
    assert str(caught.value) == "the model is OpenVINO's already, which has one version; nothing to convert"


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ("tflite", "no dialect 'tflite'; expected directml, onnx or openvino"),
        (
            "onnx:0",
            "ONNX has no opset '0' with Sub; expected 1 or above (versions: 1, 6, 7, 13 and 14)",
        ),
        ("openvino:2", "OpenVINO has no operator version '2' with Subtract; expected 1, the only one"),
    ],
)
def test_a_goal_that_is_none_is_an_error(goal, message):
    with pytest.raises(mn.SpecError) as caught:
        mn.convert(onnx_model("float32", (2,), (2,)), goal)
    assert str(caught.value) == message


# ---- what is not changed --------------------------------------------------------------------------------------------


def unsorted(model, path, **options):
    """A file with an unknown field before those of the schema, which protobuf would write in another order."""
    onnx.save(model, path, **options)
    path.write_bytes(b"\xfa\x3e\x02ab" + path.read_bytes())
    return path.read_bytes()


@pytest.mark.parametrize(
    "convert_again", [lambda path: mn.convert(path, "onnx:14"), lambda path: mn.fix(path, "onnx:14")]
)
def test_a_model_that_is_not_changed_comes_back_byte_for_byte(tmp_path, convert_again):
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 14]>
        g (float[2] a) => (float[2] c) { c = Sub (a, b) }"""
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 2], np.float32), "b"))
    before = unsorted(model, tmp_path / "m.onnx")
    convert_again(tmp_path / "m.onnx").save(tmp_path / "same.onnx")
    assert (tmp_path / "same.onnx").read_bytes() == before
    external = {"save_as_external_data": True, "location": "weights.bin", "size_threshold": 0}
    before = unsorted(model, tmp_path / "e.onnx", **external)
    convert_again(tmp_path / "e.onnx").save(tmp_path / "same.onnx")
    assert (tmp_path / "same.onnx").read_bytes() == before
    (tmp_path / "other").mkdir()
    convert_again(tmp_path / "e.onnx").save(tmp_path / "other" / "e.onnx")
    moved = onnx.load(tmp_path / "other" / "e.onnx")
    assert moved.graph.initializer[0].raw_data == b"\0\0\x80?\0\0\0@"
