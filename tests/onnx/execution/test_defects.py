"""Every row of what evaluators are known to compute wrongly: they differ there, and the wrong one refuses."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

pytest.importorskip("onnxruntime")

from minuend.errors import Unsupported
from minuend.onnx.execution import defects
from minuend.onnx.execution.interpreter import Interpreter
from minuend.onnx.execution.kernels import Kernel, RunError
from minuend.onnx.model import read

RANDOM = np.random.default_rng(7)


def f(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


ALIGNED = {"coordinate_transformation_mode": "align_corners", "mode": "linear"}
RNN = {"hidden_size": 2}
LSTM = [f(3, 2, 4), f(1, 8, 4), f(1, 8, 2)]
LENGTHS = [None, np.int32([3, 1])]

WRONG: list[tuple[str, int, list[Any], dict[str, Any], int]] = [
    ("BatchNormalization", 13, [f(2, 3, 4), f(3), f(3), f(3), np.abs(f(3))], {}, 1),
    ("Softmax", 12, [f(2, 3, 4)], {}, 1),
    ("LogSoftmax", 11, [f(2, 3, 4)], {"axis": 0}, 1),
    ("LogSoftmax", 13, [np.float32([[0, 200, 1], [1, 2, 3]])], {}, 1),
    ("PRelu", 16, [np.float32([[0, 2, 3]]), np.float32([np.inf, np.nan, 1])], {}, 1),
    ("Hardmax", 12, [f(2, 3, 4)], {}, 1),
    ("MaxPool", 12, [f(1, 2, 8, 8)], {"kernel_shape": [2, 3]}, 2),
    ("MaxPool", 12, [f(1, 2, 7, 6)], {"kernel_shape": [3, 3], "pads": [1, 1, 0, 1]}, 1),
    ("MaxPool", 12, [f(1, 2, 7, 7)], {"kernel_shape": [2, 1], "strides": [2, 2], "auto_pad": "SAME_LOWER"}, 1),
    ("MaxPool", 12, [f(1, 2, 8, 8)], {"kernel_shape": [2, 3], "strides": [3, 2], "ceil_mode": 1, "auto_pad": "VALID"},
     1),
    ("AveragePool", 1, [f(1, 2, 6)], {"kernel_shape": [2], "pads": [1, 0]}, 1),
    ("AveragePool", 19, [f(1, 2, 8)], {"kernel_shape": [3], "dilations": [2], "strides": [2], "auto_pad": "VALID"}, 1),
    ("LpPool", 18, [f(1, 2, 8)], {"kernel_shape": [2], "dilations": [2], "strides": [2], "ceil_mode": 1}, 1),
    ("ConvTranspose", 22, [f(2, 2, 7), f(2, 1, 2), f(1)], {"auto_pad": "SAME_UPPER", "strides": [3]}, 1),
    ("GlobalMaxPool", 1, [f(2, 3, 4)], {}, 1),
    ("LRN", 13, [f(2, 6, 3, 3)], {"size": 3, "alpha": 0.1}, 1),
    ("LpNormalization", 1, [f(3, 4)], {"p": 1}, 1),
    ("ReduceSumSquare", 13, [np.int32([[1, 2], [3, 4]])], {}, 1),
    ("RoiAlign", 10, [f(1, 1, 8, 8), np.float32([[1, 1, 5, 6]]), np.int64([0])], {"output_height": 2}, 1),
    ("RNN", 14, [f(3, 2, 4), f(1, 2, 4), f(1, 2, 2), *LENGTHS], RNN, 1),
    ("GRU", 14, [f(3, 2, 4), f(1, 6, 4), f(1, 6, 2), *LENGTHS], RNN, 1),
    ("LSTM", 14, [*LSTM, *LENGTHS], RNN, 1),
    ("LSTM", 14, LSTM, {**RNN, "clip": 0.1}, 1),
    ("LSTM", 14, LSTM, {**RNN, "activations": ["Sigmoid", "Relu", "Tanh"]}, 1),
    ("LSTM", 14, LSTM, {**RNN, "input_forget": 1}, 1),
    ("Resize", 13, [f(1, 1, 4), None, np.float32([1, 1, 0.8])], ALIGNED, 1),
    ("Unique", 11, [np.float32([[1, 0, 1], [2, 0, 2], [0, 0, 0], [1, 1, 1]])], {"axis": 1, "sorted": 0}, 1),
    ("Dropout", 7, [f(3, 4)], {}, 2),
    ("GridSample", 20, [f(1, 2, 5, 6), RANDOM.uniform(-1.3, 1.3, (1, 3, 4, 2)).astype(np.float32)],
     {"mode": "cubic", "padding_mode": "border", "align_corners": 1}, 1),
]  # fmt: skip
"""Operator, opset, inputs, attributes, number of outputs: the reference evaluator is wrong."""


def model(op: str, opset: int, inputs: list[Any], stated: dict[str, Any], outputs: int) -> onnx.ModelProto:
    names = ["" if value is None else f"i{k}" for k, value in enumerate(inputs)]
    node = helper.make_node(op, names, [f"o{k}" for k in range(outputs)], "here", **stated)
    graph = helper.make_graph([node], "g", [], [onnx.ValueInfoProto(name=name) for name in node.output])
    for name, value in zip(names, inputs, strict=True):
        if name:
            kind = helper.np_dtype_to_tensor_dtype(value.dtype)
            graph.input.append(helper.make_tensor_value_info(name, kind, None))
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])


def feeds(inputs: list[Any]) -> dict[str, Any]:
    return {f"i{k}": value for k, value in enumerate(inputs) if value is not None}


def same(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b, 1e-3, 1e-5)


@pytest.mark.parametrize("case", WRONG, ids=lambda case: f"{case[0]}-{case[1]}")
def test_the_reference_evaluator_differs_and_refuses(case):
    op, opset, inputs, stated, outputs = case
    proto = model(*case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = list(Interpreter(proto, None, evaluator="reference", refuses=False).run(feeds(inputs)).values())
    ours = read(proto).run(feeds(inputs))
    assert not all(map(same, ours.values(), theirs))
    why = defects.why("reference", op, defects.Case(opset, inputs, stated, [f"o{k}" for k in range(outputs)]))
    with pytest.raises(Unsupported) as caught:
        read(proto).run(feeds(inputs), evaluator="reference")
    assert why
    assert str(caught.value) == (
        f"ONNX's reference evaluator is wrong for this {op}: {why}; with the package onnxruntime "
        "evaluator='onnxruntime' computes it, at graph.node[0] 'here'"
    )


LOOP = """<ir_version: 8, opset_import: ["" : 14]> g (int64 n, bool go) => (float[K,2] y) {
  [here] y = Loop (n, go) <body = b (int64 i, bool on) => (bool still, float[%s] row) {
    still = Identity (on)
    row = Constant <value = float[%s] {1, 2}> ()
  }>
}"""


@pytest.mark.parametrize("evaluator", ["onnxruntime", "reference"])
def test_a_loop_gives_its_rows_along_a_new_dim(evaluator):
    asked = {"n": np.int64(3), "go": np.array(True)}
    found = read((LOOP % ("1,2", "1,2")).replace("[K,2]", "[K,1,2]")).run(asked, evaluator=evaluator)
    assert found["y"].shape == (3, 1, 2)
    assert read(LOOP % ("2", "2")).run({**asked, "n": np.int64(0)}, evaluator=evaluator)["y"].shape == (0, 2)


OWN = ("RotaryEmbedding", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QGemm")
"""Operators of onnxruntime's own that have a row."""


def test_every_row_of_the_reference_evaluator_is_shown():
    shown = set()
    for op, opset, inputs, stated, outputs in WRONG:
        case = defects.Case(opset, inputs, stated, ["a", "b"][:outputs])
        shown |= {(op, row.why) for row in defects.REFERENCE[op] if row.holds(case)}
    rows = {(op, row.why) for op, found in defects.REFERENCE.items() for row in found}
    shared = {("RNN", "it ignores clip"), ("RNN", "it ignores activations"), ("GRU", "it ignores clip")}
    assert rows - shown == shared | {
        ("GRU", "it ignores activations"),
        ("RotaryEmbedding", "it takes pairs of an even number of elements alone"),
        *((f"com.microsoft.{op}", "it lacks onnxruntime's own operators") for op in OWN),
    }


BROKEN: list[tuple[str, int, list[Any], dict[str, Any], int, tuple[int, ...]]] = [
    ("MaxPool", 12, [f(1, 2, 7)], {"kernel_shape": [3], "dilations": [2], "auto_pad": "SAME_UPPER"}, 1, (1, 2, 7)),
    ("AveragePool", 19, [f(1, 2, 6)], {"kernel_shape": [3], "dilations": [2], "auto_pad": "SAME_UPPER"}, 1, (1, 2, 6)),
    ("LpPool", 18, [f(1, 2, 6)], {"kernel_shape": [3], "dilations": [2], "auto_pad": "SAME_LOWER"}, 1, (1, 2, 6)),
]


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case[0])
def test_onnxruntime_gives_another_shape_than_the_standard_says_and_is_not_asked(case):
    op, opset, inputs, stated, outputs, shape = case
    proto = model(op, opset, inputs, stated, outputs)
    (got,) = Kernel(proto.graph.node[0], {"": opset}, "here").run(inputs, proto.graph.node[0].attribute)
    assert got.shape != shape
    with pytest.raises(Unsupported) as caught:
        read(proto).run(feeds(inputs))
    too = defects.why("reference", op, defects.Case(opset, inputs, stated, ["y"]))
    assert str(caught.value) == (
        f"onnxruntime is wrong for this {op}: auto_pad leaves out the dilations, and the result has another shape than "
        f"the input's divided by the strides; ONNX's reference evaluator is wrong too: {too}; write the node "
        "otherwise, at graph.node[0] 'here'"
    )
    with pytest.raises(Unsupported, match="onnxruntime is wrong too: auto_pad leaves out the dilations"):
        read(proto).run(feeds(inputs), evaluator="reference")


@pytest.mark.parametrize(
    ("shape", "stated"),
    [((1, 1, 1, 8), {"rotary_embedding_dim": 5}), ((1, 1, 1, 5), {"interleaved": 1}), ((1, 1, 5), {"num_heads": 1})],
)
def test_onnxruntime_rotates_pairs_and_writes_no_element_without_a_partner(shape, stated):
    half = f(1, 1, 2)
    inputs = [f(*shape), half, half]
    proto = model("RotaryEmbedding", 23, inputs, stated, 1)
    with pytest.raises(Unsupported) as caught:
        read(proto).run(feeds(inputs))
    assert str(caught.value) == (
        "onnxruntime is wrong for this RotaryEmbedding: the last of an odd number of elements is memory that nothing "
        "wrote; ONNX's reference evaluator is wrong too: it takes pairs of an even number of elements alone; write the "
        "node otherwise, at graph.node[0] 'here'"
    )
    with pytest.raises(RunError, match=r"array split|could not be broadcast"):
        Interpreter(proto, None, evaluator="reference", refuses=False).run(feeds(inputs))


@pytest.mark.parametrize("element", [np.float32, np.float16])
@pytest.mark.parametrize("saturate", [-1, 2])
def test_onnxruntime_writes_nothing_for_a_cast_by_a_flag_that_is_none(element, saturate):
    """Its kernel takes the flag for that of 8-bit floats, and the other types then have no branch."""
    x = np.float32([1, 2, 3, 4]).astype(element)
    proto = model("Cast", 21, [x], {"to": onnx.TensorProto.INT32, "saturate": saturate}, 1)
    (got,) = Kernel(proto.graph.node[0], {"": 21}, "here").run([x], proto.graph.node[0].attribute)
    assert got.tolist() != [1, 2, 3, 4]
    like = model("CastLike", 21, [x, np.int32([0])], {"saturate": saturate}, 1)
    for one, given in ((proto, [x]), (like, [x, np.int32([0])])):
        with pytest.raises(Unsupported) as caught:
            read(one).run(feeds(given))
        assert str(caught.value) == (
            f"onnxruntime is wrong for this {one.graph.node[0].op_type}: of a saturate that is neither 0 nor 1 its "
            "result is memory that nothing wrote; evaluator='reference' runs the model on ONNX's reference evaluator, "
            "at graph.node[0] 'here'"
        )
    assert read(proto).run(feeds([x]), evaluator="reference")["o0"].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("saturate", [0, -1, 2])
def test_a_cast_to_an_8_bit_float_reads_its_flag(saturate):
    proto = model("Cast", 21, [f(4)], {"to": onnx.TensorProto.FLOAT8E4M3FN, "saturate": saturate}, 1)
    assert read(proto).run(feeds([np.float32([1, 2, 3, 4])]))["o0"].astype(np.float32).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("x", [[0, 80, 1], [-np.inf, 0, 1], [np.inf, 0, 1], [np.nan, 0, 1]])
def test_a_logarithm_of_softmax_is_computed_where_no_probability_is_lost(x):
    proto = model("LogSoftmax", 13, [np.float32([x])], {}, 1)
    theirs = read(proto).run(feeds([np.float32([x])]), evaluator="reference")["o0"]
    np.testing.assert_allclose(read(proto).run(feeds([np.float32([x])]))["o0"], theirs, 1e-3, 1e-5)


def test_pairs_of_an_even_number_are_rotated():
    x, cos, sin = f(1, 2, 1, 7), f(1, 1, 2), f(1, 1, 2)
    for given, stated in (([x, cos, sin], {"rotary_embedding_dim": 4}), ([x.reshape(1, 1, 14)[..., :8], cos, sin],
                                                                         {"num_heads": 2})):  # fmt: skip
        proto = model("RotaryEmbedding", 23, given, stated, 1)
        (theirs,) = Interpreter(proto, None, evaluator="reference", refuses=False).run(feeds(given)).values()
        assert same(read(proto).run(feeds(given))["o0"], theirs)


@pytest.mark.parametrize(
    ("shape", "stated"),
    [((1, 1, 1, 5), {}), ((1, 1, 1, 8), {"rotary_embedding_dim": 5, "num_heads": 1}), ((1, 1, 10), {"num_heads": 2})],
)
def test_onnxruntimes_own_rotation_leaves_the_last_element_too(shape, stated):
    inputs = [f(*shape), np.int64([0]), f(1, 2), f(1, 2)]
    proto = model("RotaryEmbedding", 23, inputs, stated, 1)
    proto.graph.node[0].domain = "com.microsoft"
    proto.opset_import.add(domain="com.microsoft", version=1)
    with pytest.raises(Unsupported) as caught:
        read(proto).run(feeds(inputs))
    assert str(caught.value) == (
        "onnxruntime is wrong for this com.microsoft.RotaryEmbedding: the last of an odd number of elements is memory "
        "that nothing wrote; ONNX's reference evaluator is wrong too: it lacks onnxruntime's own operators; write the "
        "node otherwise, at graph.node[0] 'here'"
    )
    even = [f(1, 2, 1, 4), np.int64([0]), f(1, 2), f(1, 2)]
    proto.graph.node[0].ClearField("attribute")
    assert read(proto).run(feeds(even))["o0"].shape == (1, 2, 1, 4)
