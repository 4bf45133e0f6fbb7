"""Across modules: ONNX models to the graph between formats and back, at every opset with another form."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from minuend.core.shapes import Broadcast, numpy, onnx_legacy, pdpd
from minuend.errors import ConversionRefused, SpecError
from minuend.models.graph import Graph, Step, Value
from minuend.onnx.lifting import to_graph
from minuend.onnx.lowering import from_graph
from minuend.onnx.model import read
from minuend.standards.node import TensorType

NEWEST = onnx.defs.onnx_opset_version()
FLOAT, INT = "tensor(float)", "tensor(int64)"
ORT_NEWEST = 26  # of onnxruntime 1.31


def graph_of(body: str, opset: int = 13, head: str = "float[2,3] a, float[2,3] b", out: str = "float[2,3] c") -> Graph:
    return to_graph(read(text(body, opset, head, out)))


def text(body: str, opset: int = 13, head: str = "float[2,3] a, float[2,3] b", out: str = "float[2,3] c") -> str:
    return f'<ir_version: 10, opset_import: ["" : {opset}]> g ({head}) => ({out}) {{ {body} }}'


def refused(body: str, *args, **options) -> dict[str, str]:
    with pytest.raises(ConversionRefused) as caught:
        graph_of(body, *args, **options)
    return caught.value.nodes


# ---- to a graph -----------------------------------------------------------------------------------------------


def test_a_subtraction_becomes_a_step_with_its_joined_shapes():
    graph = graph_of("[s] c = Sub <axis = 0, broadcast = 1> (a, b)", 6, "float[2,3] a, float[2] b")
    assert graph.name == "g"
    assert (graph.inputs, graph.outputs) == (["a", "b"], ["c"])
    assert graph.values["c"] == Value("c", TensorType("float32", (2, 3)))
    assert graph.steps == [
        Step(
            kind="subtract",
            inputs=("a", "b"),
            output="c",
            name="s",
            where="graph.node[0] 's'",
            joined=Broadcast((2, 3), 0, 0),
        )
    ]
    assert graph.losses == []


def test_symbolic_dims_and_narrow_types_pass():
    graph = graph_of("x = Cast <to = 1> (i) c = Sub(a, x)", 21, "float[N,3] a, int4[3] i", "float[N,3] c")
    assert graph.values["i"].type == TensorType("int4", (3,))
    assert graph.values["x"].type == TensorType("float32", (3,))
    assert graph.values["c"].type == TensorType("float32", ("N", 3))


@pytest.mark.parametrize(
    ("opset", "node"),
    [
        (1, "r = Reshape <shape = [0, -1]> (a)"),
        (5, "s = Constant <value = int64[2] {0, -1}> () r = Reshape(a, s)"),
        (13, "s = Constant <value_ints = [0, -1]> () t = Identity(a) r = Reshape(t, s)"),
        (14, "s = Constant <value_ints = [2, 3]> () r = Reshape <allowzero = 1> (a, s)"),
    ],
)
def test_reshape_at_every_opset(opset, node):
    graph = graph_of(f"{node} c = Sub(r, b)", opset, "float[2,3,1] a, float[2,3] b")
    (step,) = [step for step in graph.steps if step.kind == "reshape"]
    assert (step.shape, graph.values["r"].type.shape) == ((2, 3), (2, 3))
    assert "s" not in graph.values


def test_reshape_of_symbolic_dims_keeps_its_minus_one():
    graph = graph_of(
        "s = Constant <value_ints = [-1, 3]> () r = Reshape(a, s) c = Sub(r, r)", 13, "float[N,1,3] a", "float[M,3] c"
    )
    assert graph.steps[0].shape == (-1, 3)
    assert graph.values["r"].type.shape == (None, 3)


def test_reshape_to_an_empty_tensor_needs_allowzero_or_copies():
    make = "s = Constant <value_ints = [0, 5]> () r = Reshape {} (a, s) c = Sub(r, r)"
    for allow in ("<allowzero = 1>", ""):
        graph = graph_of(make.format(allow), 14, "float[0,3] a", "float[0,5] c")
        assert graph.steps[0].shape == (0, 5)


@pytest.mark.parametrize(
    ("opset", "node", "kind", "axes"),
    [
        (1, "r = Unsqueeze <axes = [2, 0]> (v)", "unsqueeze", (0, 2)),
        (11, "r = Unsqueeze <axes = [-1]> (v)", "unsqueeze", (1,)),
        (13, "k = Constant <value_ints = [-1, 0]> () r = Unsqueeze(v, k)", "unsqueeze", (0, 2)),
        (1, "r = Squeeze <axes = [0]> (w)", "squeeze", (0,)),
        (1, "r = Squeeze(w)", "squeeze", (0, 2)),
        (13, "k = Constant <value_ints = [-1]> () r = Squeeze(w, k)", "squeeze", (2,)),
        (13, "r = Squeeze(w)", "squeeze", (0, 2)),
    ],
)
def test_unsqueeze_and_squeeze_at_every_opset(opset, node, kind, axes):
    graph = graph_of(f"{node} c = Sub(r, r)", opset, "float[3] v, float[1,3,1] w", "c")
    (step,) = [step for step in graph.steps if step.kind == kind]
    assert step.axes == axes
    ndim = {"unsqueeze": 1 + len(axes), "squeeze": 3 - len(axes)}[kind]
    assert len(graph.values["r"].type.shape) == ndim


def test_casts_expands_constants_and_initializers():
    proto = onnx.parser.parse_model(
        text(
            "e = Expand(b, s) x = Cast <to = 10> (e) k = Constant <value_float = 2.5> () c = Sub(a, k) d = Identity(x)",
            out="float[2,3] c, float16[2,3] d",
            head="float[2,3] a, float[1,3] b",
        )
    )
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.int64([2, 1]), "s"))
    graph = to_graph(read(proto))
    assert [step.kind for step in graph.steps] == ["expand", "cast", "subtract", "identity"]
    assert graph.steps[0].shape == (2, 1)
    assert graph.values["e"].type.shape == (2, 3)
    assert graph.values["x"].type == TensorType("float16", (2, 3))
    assert graph.values["k"].constant == np.float32(2.5)
    assert set(graph.values) == {"a", "b", "e", "x", "k", "c", "d"}


def test_a_cast_until_opset_5_names_its_type():
    graph = graph_of('x = Cast <to = "DOUBLE"> (a) c = Sub(x, x)', 5, out="double[2,3] c")
    assert graph.values["x"].type.dtype == "float64"


def test_what_a_graph_cannot_say_is_listed_node_by_node():
    body = """x = Relu(a) [second] y = Abs(x) z = Sub(x, y) s = Shape(a) r = Reshape(b, s)
      t = Cast <to = 9> (b) u = Cast <to = 17, saturate = 0> (b) c = Sub(a, b)"""
    kinds = "is not one of Sub, Cast, Identity, Constant, Reshape, Unsqueeze, Squeeze or Expand"
    assert refused(body, 19) == {
        "graph.node[0]": f"Relu {kinds}",
        "graph.node[1] 'second'": f"Abs {kinds}",
        "graph.node[3]": f"Shape {kinds}",
        "graph.node[5]": "it casts to BOOL, which subtraction does not know",
        "graph.node[6]": "saturate=0 is not what other formats do",
    }
    with pytest.raises(ConversionRefused) as caught:
        graph_of("c = Relu(a)")
    assert str(caught.value) == (
        "cannot convert to a graph of subtractions: 1 node in the way\n"
        "  graph.node[0]: Relu is not one of Sub, Cast, Identity, Constant, Reshape, Unsqueeze, Squeeze or Expand\n"
        "Convert the rest with the format's own tool, then repair the subtractions with minuend fix. Local functions "
        "can be inlined with onnx.inliner.inline_local_functions."
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("c = Sub <axis = 0> (a, b)", "the model is invalid: Sub-13 has no attribute 'axis' (Sub-1 and Sub-6 have it)"),
        ("r = Reshape(a, i) c = Sub(r, r)", "its shape 'i' is not constant"),
        ("k = Constant <value_ints = [4]> () r = Reshape(a, k) c = Sub(r, r)",
         "it reshapes (2, 3) to (4,), which has another number of elements"),
        ("k = Constant <value_ints = [-1, -1]> () r = Reshape(a, k) c = Sub(r, r)",
         "it reshapes to (-1, -1); expected sizes, at most one of them -1"),
        ("k = Constant <value_ints = [5]> () r = Unsqueeze(a, k) c = Sub(r, r)",
         "its axes (5,) are not different axes of 3 dims"),
        ("k = Constant <value_ints = [0]> () r = Squeeze(a, k) c = Sub(r, r)",
         "it squeezes axis 0 of (2, 3), which is no 1"),
        ("k = Constant <value_ints = [-2]> () r = Expand(a, k) c = Sub(r, r)",
         "it expands to (-2,); expected sizes of 0 and above"),
        ('k = Constant <value_string = "x"> () c = Sub(a, b)',
         "Constant with value_string is not a dense tensor of numbers"),
        ("c = Sub(a, i)",
         f"Sub-13 takes two operands of one element type; A is {FLOAT} and B is {INT}; convert one of them first"),
    ],
)  # fmt: skip
def test_each_refusal_says_why(body, reason):
    assert list(refused(body, head="float[2,3] a, float[2,3] b, int64[2] i", out="c").values()) == [reason]


def test_bool_inputs_and_sparse_initializers_are_refused():
    assert refused("x = Identity(p) c = Sub(a, b)", head="float[2,3] a, float[2,3] b, bool p") == {
        "graph, input 'p'": "'p' is no tensor of an element type that subtraction knows, or its type is not known"
    }
    proto = onnx.parser.parse_model(text("c = Sub(a, b)"))
    values = helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])
    indices = helper.make_tensor("", TensorProto.INT64, [1], [0])
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2]))
    with pytest.raises(ConversionRefused) as caught:
        to_graph(read(proto))
    assert caught.value.nodes == {"graph, initializer 'w'": "it is sparse"}


def test_what_is_lost_is_said():
    proto = onnx.parser.parse_model(text("c = Sub(a, b)"))
    proto.doc_string = "about"
    proto.graph.node[0].doc_string = "why"
    proto.metadata_props.add(key="author", value="me")
    proto.producer_name = "tool"
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros((2, 3), np.float32), "b"))
    graph = to_graph(read(proto))
    assert graph.losses == [
        "input 'b' has a default value that could be replaced; it is constant now",
        "documentation: 2 doc_strings",
        "metadata: author",
        "producer_name: tool",
    ]
    assert graph.inputs == ["a"]


# ---- from a graph ---------------------------------------------------------------------------------------------


def subtraction(a, b, joined: Broadcast, dtype: str = "float32") -> Graph:
    graph = Graph("g", ["a", "b"], ["c"])
    for name, shape in (("a", a), ("b", b), ("c", joined.shape)):
        graph.add(Value(name, TensorType(dtype, shape)))
    graph.steps.append(Step(kind="subtract", inputs=("a", "b"), output="c", where="layer 3", joined=joined))
    return graph


LEGACY = [
    ((2, 3, 4, 5), (), None),
    ((2, 3, 4, 5), (1, 1), None),
    ((2, 3, 4, 5), (5,), None),
    ((2, 3, 4, 5), (4, 5), None),
    ((2, 3, 4, 5), (3, 4), 1),
    ((2, 3, 4, 5), (2,), 0),
    ((3, 3, 3), (3,), 1),
    ((3, 3, 3), (3,), 0),
    ((2, 3), (2, 3), 0),
    ((2, 1, 3), (2, 1), 0),
]


def filled(shape, start: int):
    return (np.arange(int(np.prod(shape)), dtype=np.float32) * 2 + start).reshape(shape)


def placed(b: np.ndarray, rank: int, start: int) -> np.ndarray:
    """B with 1s before and after, so that NumPy's rule puts it at ``start``."""
    return b.reshape((1,) * start + b.shape + (1,) * (rank - start - b.ndim))


@pytest.mark.parametrize("opset", [1, 6, 7, 9, 12, 13, 14, NEWEST])
@pytest.mark.parametrize(("a", "b", "axis"), LEGACY)
def test_a_limited_sub_keeps_its_numbers_at_every_opset(a, b, axis, opset):
    joined = onnx_legacy(a, b, axis=axis, broadcast=1)
    model, _changes, losses = from_graph(subtraction(a, b, joined), opset)
    x, y = filled(a, 7), filled(b, 1)
    want = x - (y.reshape(()) if y.size == 1 else placed(y, x.ndim, joined.b_start))
    assert np.array_equal(model.run({"a": x, "b": y})["c"], want)
    assert losses == []
    if 7 <= opset <= ORT_NEWEST:
        session = onnxruntime.InferenceSession(model.proto.SerializeToString(), providers=["CPUExecutionProvider"])
        assert np.array_equal(session.run(None, {"a": x, "b": y})[0], want)
    back = to_graph(read(model.proto))
    assert np.array_equal(from_graph(back, 6)[0].run({"a": x, "b": y})["c"], want)


@pytest.mark.parametrize("opset", [7, 13])
def test_a_pdpd_subtraction_is_aligned_by_unsqueeze(opset):
    joined = pdpd((2, 3, 4, 5), (3, 1), axis=1)
    model, changes, _ = from_graph(subtraction((2, 3, 4, 5), (3, 1), joined), opset)
    assert changes == ["layer 3: B gets 1 trailing dim of size 1 by Unsqueeze, since it sits at axis 1 of the result"]
    x, y = filled((2, 3, 4, 5), 3), filled((3, 1), 1)
    assert np.array_equal(model.run({"a": x, "b": y})["c"], x - y.reshape(3, 1, 1))
    form = [a.name for a in model.proto.graph.node[0].attribute], len(model.proto.graph.node[0].input)
    assert form == ((["axes"], 1) if opset < 13 else ([], 2))


def test_before_opset_7_the_outer_ones_of_b_are_taken_off():
    joined = numpy((2, 3, 4, 5), (1, 3, 1, 1))
    model, changes, _ = from_graph(subtraction((2, 3, 4, 5), (1, 3, 1, 1), joined), 6)
    assert changes == [
        "layer 3: the outer 1s of B (1, 3, 1, 1) are taken off by Squeeze",
        "layer 3: axis=1 and broadcast=1 where B repeats",
    ]
    x, y = filled((2, 3, 4, 5), 3), filled((1, 3, 1, 1), 1)
    assert np.array_equal(model.run({"a": x, "b": y})["c"], x - y)


def why(graph: Graph, opset: int) -> dict[str, str]:
    with pytest.raises(ConversionRefused) as caught:
        from_graph(graph, opset)
    assert str(caught.value).startswith(f"cannot convert to ONNX opset {opset}: ")
    return caught.value.nodes


def test_before_opset_7_what_the_limited_rule_cannot_say_is_refused():
    assert why(subtraction((1, 3), (2, 3), numpy((1, 3), (2, 3))), 6) == {
        "layer 3": "Sub-6 gives A's shape, and here A is (1, 3) and the result (2, 3)"
    }
    assert why(subtraction((2, 3, 4), (2, 1, 4), numpy((2, 3, 4), (2, 1, 4))), 1) == {
        "layer 3": "Sub-1 gives A's shape and wants B to be a run of its dims; B (2, 1, 4) is not one of A (2, 3, 4)"
    }
    assert why(subtraction(("N", 3), ("M", 3), numpy(("N", 3), ("M", 3))), 6) == {
        "layer 3": "Sub-6 gives A's shape, and here A is (N, 3) and the result (?, 3)"
    }
    model, _, _ = from_graph(subtraction(("N", 3), ("N", 3), numpy(("N", 3), ("N", 3))), 6)
    assert [len(node.attribute) for node in model.proto.graph.node] == [0]


TAKES_1 = "tensor(float16), tensor(float) or tensor(double)"
TAKES_13 = (
    "tensor(float16), tensor(bfloat16), tensor(float), tensor(double), tensor(int32), tensor(int64), tensor(uint32) or "
    "tensor(uint64)"
)


@pytest.mark.parametrize(
    ("dtype", "opset", "title", "came", "takes"),
    [("uint8", 13, "Sub-13", 14, TAKES_13), ("int64", 5, "Sub-1", 6, TAKES_1)],
)
def test_an_element_type_that_the_version_does_not_take_is_refused(dtype, opset, title, came, takes):
    reason = f"{title} takes no element type tensor({dtype}) (it came with opset {came}); expected {takes}"
    assert why(subtraction((2,), (2,), numpy((2,), (2,)), dtype), opset) == {"layer 3": reason}


def test_types_that_onnx_does_not_have_and_unknown_ranks_are_refused():
    graph = subtraction((2,), (2,), numpy((2,), (2,)), "nf4")
    assert why(graph, 14) == {f"value {name!r}": "ONNX has no element type nf4" for name in "abc"}
    graph = subtraction(None, (2,), numpy(None, (2,)))
    assert why(graph, 14) == {
        "input 'a'": "its rank is not known; ONNX's inputs and outputs have one",
        "output 'c'": "its rank is not known; ONNX's inputs and outputs have one",
    }


def test_an_interval_is_lost_and_said():
    model, _, losses = from_graph(subtraction(((1, 4), 3), (3,), numpy(((1, 4), 3), (3,))), 14)
    assert losses == [
        "'a': axis 0 is 1 to 4; ONNX has no limits on unknown dims",
        "'c': axis 0 is 1 to 4; ONNX has no limits on unknown dims",
    ]
    assert model.run({"a": np.ones((2, 3), np.float32), "b": np.float32([1, 2, 3])})["c"].tolist() == [[0, -1, -2]] * 2


def chain(*steps: tuple) -> Graph:
    """A graph of one input and steps of one input each."""
    graph = Graph("g", ["x0"])
    graph.add(Value("x0", TensorType("float32", (2, 3))))
    for i, (kind, dtype, shape, what) in enumerate(steps):
        graph.add(Value(f"x{i + 1}", TensorType(dtype, shape)))
        graph.steps.append(Step(kind=kind, inputs=(f"x{i}",), output=f"x{i + 1}", **what))
    graph.outputs = [f"x{len(steps)}"]
    return graph


CHAIN = (
    ("reshape", "float32", (3, 2), {"shape": (3, 2)}),
    ("unsqueeze", "float32", (1, 3, 2, 1), {"axes": (0, 3)}),
    ("squeeze", "float32", (3, 2, 1), {"axes": (0,)}),
    ("identity", "float32", (3, 2, 1), {}),
    ("squeeze", "float32", (3, 2, 1), {"axes": ()}),
    ("cast", "float64", (3, 2, 1), {}),
)


@pytest.mark.parametrize("opset", [1, 4, 5, 6, 8, 11, 12, 13, 14, 21, NEWEST])
def test_the_other_operators_have_their_form_at_every_opset_and_come_back(opset):
    model, _, _ = from_graph(chain(*CHAIN), opset)
    x = np.float32([[1, 2, 3], [4, 5, 6]])
    want = x.reshape(3, 2, 1).astype(float)
    if opset >= 6:  # ONNX's evaluator has neither Reshape-1 nor Cast-1
        found = model.run({"x0": x})["x6"]
        assert found.dtype == np.float64
        assert np.array_equal(found, want)
    back = to_graph(model)
    kinds = [step.kind for step in back.steps]
    assert kinds == ["reshape", "unsqueeze", "squeeze", "identity", "identity", "cast"]
    again, _, _ = from_graph(back, opset)
    assert again.proto.graph.node == model.proto.graph.node


def test_expand_is_there_from_opset_8_on():
    graph = chain(("expand", "float32", (4, 2, 3), {"shape": (4, 1, 1)}))
    assert why(graph, 7) == {"step 0 'x1'": "ONNX has Expand from opset 8 on"}
    model, _, _ = from_graph(graph, 8)
    assert model.run({"x0": np.ones((2, 3), np.float32)})["x1"].shape == (4, 2, 3)
    assert to_graph(model).steps[0].shape == (4, 1, 1)


def test_an_empty_dim_is_made_from_opset_14_on():
    graph = chain(("reshape", "float32", (0, 5), {"shape": (0, 5)}))
    graph.values["x0"] = Value("x0", TensorType("float32", (3, 0)))
    assert why(graph, 13) == {"step 0 'x1'": "Reshape to (0, 5): before opset 14 it makes no empty dim at axis 0"}
    model, _, _ = from_graph(graph, 14)
    assert model.proto.graph.node[0].attribute[0].name == "allowzero"
    assert model.run({"x0": np.ones((3, 0), np.float32)})["x1"].shape == (0, 5)


def test_types_of_other_operators_are_held_to_their_schemas():
    graph = chain(("cast", "int4", (2, 3), {}))
    assert why(graph, 19) == {"step 0 'x1'": "Cast-19 takes no tensor(int4)"}
    from_graph(graph, 21)
    graph = chain(("cast", "int32", (2, 3), {}), ("reshape", "int32", (6,), {"shape": (6,)}))
    assert why(graph, 4) == {"step 1 'x2'": "Reshape-1 takes no tensor(int32)"}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8", "int64", "float16"])
def test_constants_become_initializers_bit_for_bit(dtype):
    numpy_type = np.dtype(getattr(ml_dtypes, dtype, dtype))
    constant = np.array([1, 2, 3], numpy_type)
    graph = subtraction((2, 3), (3,), numpy((2, 3), (3,)), dtype)
    graph.inputs.remove("b")
    graph.values["b"] = Value("b", TensorType(dtype, (3,)), constant)
    model, _, _ = from_graph(graph, 14)
    assert model.run({"a": np.array([[5, 5, 5], [6, 6, 6]], numpy_type)})["c"].astype(int).tolist() == [
        [4, 3, 2],
        [5, 4, 3],
    ]
    assert np.array_equal(to_graph(model).values["b"].constant, constant)


def test_an_opset_that_does_not_exist_is_refused():
    graph = subtraction((2,), (2,), numpy((2,), (2,)))
    for bad in (0, NEWEST + 1, "x"):
        with pytest.raises(SpecError) as caught:
            from_graph(graph, bad)
        assert str(caught.value) == (f"ONNX has no opset {bad!r}; expected 1 to {NEWEST} (as onnx {onnx.__version__})")
    assert from_graph(graph)[0].proto.opset_import[0].version == NEWEST


def test_names_of_helpers_collide_with_nothing():
    joined = onnx_legacy((2, 3), (2,), axis=0, broadcast=1)
    graph = subtraction((2, 3), (2,), joined)
    for name in ("b_aligned", "b_aligned_1", "b_aligned_2_axes"):
        graph.add(Value(name, TensorType("float32", (1,)), np.float32([1])))
    model, _, _ = from_graph(graph, 13)
    names = [tensor.name for tensor in model.proto.graph.initializer]
    names += itertools.chain.from_iterable(node.output for node in model.proto.graph.node)
    assert len(set(names)) == len(names) == 6


def test_a_scalar_is_a_reshape_to_no_dims_before_opset_5():
    graph = Graph("g", inputs=["x"], outputs=["y"])
    graph.add(Value("x", TensorType("float32", (1,))))
    graph.add(Value("y", TensorType("float32", ())))
    graph.steps.append(Step(kind="reshape", inputs=("x",), output="y", shape=()))
    node = from_graph(graph, "1")[0].proto.graph.node[0]
    assert [(a.name, a.type, list(a.ints)) for a in node.attribute] == [("shape", onnx.AttributeProto.INTS, [])]
