"""Sub in whole models, from every version to every other, and the defects of ONNX's own converter."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import pytest
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator
from onnx.version_converter import convert_version

from minuend.errors import ConversionRefused
from minuend.onnx.execution.interpreter import Interpreter
from minuend.onnx.opsets import convert_proto
from minuend.onnx.opsets.schemas import newest

OPSETS = (1, 5, 6, 7, 12, 13, 14, newest())
PAIRS = list(itertools.product(OPSETS, OPSETS))


def parse(opset: int, body: str, ir_version: int = 8) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: {ir_version}, opset_import: ["" : {opset}]> g {body}')


def limited(opset: int, a: str, b: str, attributes: str = "", dtype: str = "float") -> ModelProto:
    stated = f"<{attributes}>" if attributes else ""
    b = f"[{b}]" if b else ""
    return parse(opset, f"({dtype}[{a}] a, {dtype}{b} b) => ({dtype}[{a}] c) {{ c = Sub{stated}(a, b) }}")


def opset_of(model: ModelProto) -> int:
    return next(row.version for row in model.opset_import if row.domain == "")


def compute(model: ModelProto, **inputs: np.ndarray) -> np.ndarray:
    """The result by this package's evaluator, and from Sub-7 on by ONNX's and onnxruntime's too."""
    (c,) = Interpreter(model, None, evaluator="reference").run(inputs).values()
    if opset_of(model) >= 7:
        assert ReferenceEvaluator(model).run(None, inputs)[0].tobytes() == c.tobytes()
        other = onnxruntime(model, inputs)
        assert other is None or other.tobytes() == c.tobytes()
    return c


def onnxruntime(model: ModelProto, inputs: dict[str, np.ndarray]) -> np.ndarray | None:
    runtime = pytest.importorskip("onnxruntime")
    known = ModelProto()
    known.CopyFrom(model)
    known.ir_version = min(known.ir_version, 11)
    if opset_of(model) > 26:
        return None
    try:
        session = runtime.InferenceSession(known.SerializeToString(), providers=["CPUExecutionProvider"])
    except runtime.capi.onnxruntime_pybind11_state.NotImplemented:
        return None
    return session.run(None, inputs)[0]


def random(shape: tuple[int, ...], dtype: object, seed: int) -> np.ndarray:
    bits = np.random.default_rng(seed).integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8)
    values = bits.view(dtype).reshape(shape)
    return np.asarray(np.nan_to_num(values) if values.dtype.kind == "f" else values)


def ops(model: ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def reasons(model: ModelProto, opset: int) -> dict[str, str]:
    with pytest.raises(ConversionRefused) as caught:
        convert_proto(model, opset)
    return caught.value.nodes


@pytest.mark.parametrize(("before", "after"), PAIRS)
@pytest.mark.parametrize("dtype", ["float16", "float", "double"])
def test_a_float_sub_round_trips_between_every_two_versions_bit_for_bit(before, after, dtype):
    model = limited(before, "2,3,4", "2,3,4", dtype=dtype)
    element = {"float": "float32", "double": "float64"}.get(dtype, dtype)
    a, b = random((2, 3, 4), element, 1), random((2, 3, 4), element, 2)
    there, _, losses = convert_proto(model, after)
    back, _, _ = convert_proto(there, before)
    assert losses == []
    assert compute(model, a=a, b=b).tobytes() == compute(there, a=a, b=b).tobytes()
    assert list(back.graph.node) == list(model.graph.node)


@pytest.mark.parametrize(("before", "after"), [(x, y) for x, y in PAIRS if min(x, y) >= 6])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_an_integer_sub_round_trips_between_every_two_versions_from_6_on(before, after, dtype):
    model = limited(before, "5", "5", dtype=dtype)
    a, b = random((5,), dtype, 1), random((5,), dtype, 2)
    there, _, _ = convert_proto(model, after)
    assert compute(model, a=a, b=b).tobytes() == compute(there, a=a, b=b).tobytes()
    assert list(convert_proto(there, before)[0].graph.node) == list(model.graph.node)


LIMITED = [
    ((2, 3, 4, 5), (), ""),
    ((2, 3, 4, 5), (1,), ""),
    ((2, 3, 4, 5), (1, 1), "axis: int = 0, "),
    ((2, 3, 4, 5), (5,), ""),
    ((2, 3, 4, 5), (4, 5), ""),
    ((2, 3, 4, 5), (3, 4), "axis: int = 1, "),
    ((2, 3, 4, 5), (2,), "axis: int = 0, "),
    ((2, 3, 4, 5), (2, 3, 4, 5), ""),
    ((3, 3, 3), (3,), "axis: int = 0, "),
    ((3, 3, 3), (3,), "axis: int = 1, "),
    ((3, 3, 3), (3,), "axis: int = 2, "),
    ((3, 3, 3), (3,), "axis: int = -1, "),
    ((2, 1, 4), (1, 4), ""),
    ((2, 1, 4), (2, 1), "axis: int = 0, "),
]


def dims(shape: tuple[int, ...]) -> str:
    return ",".join(map(str, shape))


@pytest.mark.parametrize(("a_shape", "b_shape", "axis"), LIMITED)
@pytest.mark.parametrize("before", [1, 6])
@pytest.mark.parametrize("after", [7, 12, 13, 14, newest()])
def test_limited_broadcasting_goes_up_and_comes_back(a_shape, b_shape, axis, before, after):
    model = limited(before, dims(a_shape), dims(b_shape), f"{axis}broadcast: int = 1")
    a, b = random(a_shape, "float32", 3), random(b_shape, "float32", 4)
    up, _, _ = convert_proto(model, after)
    down, _, _ = convert_proto(up, before)
    expected = compute(model, a=a, b=b)
    assert compute(up, a=a, b=b).tobytes() == expected.tobytes()
    assert compute(down, a=a, b=b).tobytes() == expected.tobytes()


@pytest.mark.parametrize("op", ["Add", "Mul", "Div"])
def test_the_siblings_of_sub_go_the_same_way(op):
    model = parse(
        6, f"(float[3,3,3] a, float[3] b) => (float[3,3,3] c) {{ c = {op}<axis: int=1, broadcast: int=1>(a, b) }}"
    )
    up, changes, _ = convert_proto(model, 7)
    assert changes[1] == f"graph.node[0]: {op}-6 became Unsqueeze-1, {op}-7 (without axis, without broadcast)"
    a, b = np.arange(27, dtype="float32").reshape(3, 3, 3), np.float32([0.3, 7, -2])
    expected = {"Add": np.add, "Mul": np.multiply, "Div": np.divide}[op](a, b[:, None])
    assert ReferenceEvaluator(up).run(None, {"a": a, "b": b})[0].tobytes() == expected.tobytes()


# ---- the defects of ONNX's converter (onnx 1.23): each shown, and right here --------------------------------------


def test_a_and_b_of_rank_1_at_axis_1_is_not_axis_0():
    model = limited(6, "3,3,3", "3", "axis: int = 1, broadcast: int = 1")
    a, b = random((3, 3, 3), "float32", 7), random((3,), "float32", 8)
    right = a - b[:, None]
    theirs = ReferenceEvaluator(convert_version(model, 7)).run(None, {"a": a, "b": b})[0]
    assert theirs.tobytes() == (a - b[:, None, None]).tobytes()  # defect a: computes axis 0, and says nothing
    assert compute(convert_proto(model, 7)[0], a=a, b=b).tobytes() == right.tobytes()


def test_the_standards_own_example_with_axis_1_converts():
    model = limited(6, "2,3,4,5", "3,4", "axis: int = 1, broadcast: int = 1")
    with pytest.raises(RuntimeError):
        convert_version(model, 7)  # defect a again
    a, b = random((2, 3, 4, 5), "float32", 7), random((3, 4), "float32", 8)
    assert compute(convert_proto(model, 7)[0], a=a, b=b).tobytes() == (a - b[:, :, None]).tobytes()


def test_broadcast_0_ignores_the_axis_and_refuses_unequal_shapes():
    ignored = limited(6, "3,4", "3,4", "axis: int = 1, broadcast: int = 0")
    assert ops(convert_version(ignored, 7)) == ["Unsqueeze", "Sub"]  # defect b: attributes by presence
    assert ops(convert_proto(ignored, 7)[0]) == ["Sub"]
    unequal = limited(6, "3,4", "4", "broadcast: int = 0")
    assert ops(convert_version(unequal, 7)) == ["Sub"]  # defect b: an invalid model made legal
    assert reasons(unequal, 7) == {
        "graph.node[0]": "Sub: the model is invalid: Sub of opset 6 without broadcast=1, but shapes (3, 4) and (4,) "
        "must be equal (no broadcasting): the ranks are 2 and 1"
    }


def test_symbolic_dims_convert_by_their_ranks():
    model = limited(6, "N,C,H", "C", "axis: int = 1, broadcast: int = 1")
    with pytest.raises(RuntimeError, match="Dimension is a param instead of an int"):
        convert_version(model, 7)  # defect c
    up, _, _ = convert_proto(model, 13)
    a, b = random((2, 3, 4), "float32", 1), random((3,), "float32", 2)
    assert compute(up, a=a, b=b).tobytes() == (a - b[:, None]).tobytes()
    down, _, _ = convert_proto(up, 6)
    assert compute(down, a=a, b=b).tobytes() == (a - b[:, None]).tobytes()
    assert list(down.graph.input) == list(model.graph.input)


def test_bodies_see_the_shapes_of_the_graph_around_them():
    model = parse(
        6,
        """(float[3,3,3] a, float[3] b, bool yes) => (float[3,3,3] c) {
            c = If (yes) <
                then_branch = t () => (float[3,3,3] x) { x = Sub<axis: int = 1, broadcast: int = 1>(a, b) },
                else_branch = e () => (float[3,3,3] y) { y = Sub<axis: int = 0, broadcast: int = 1>(a, b) }
            >
        }""",
    )
    with pytest.raises(RuntimeError, match="Shape of input 0 is not available"):
        convert_version(model, 7)  # defect d
    up, changes, _ = convert_proto(model, 14)
    assert changes[1].startswith("graph.node[0].then_branch.node[0]: Sub-6 became Constant-13, Unsqueeze-13, Sub-14")
    a, b = random((3, 3, 3), "float32", 1), random((3,), "float32", 2)
    for yes, expected in ((True, a - b[:, None]), (False, a - b[:, None, None])):
        assert compute(up, a=a, b=b, yes=np.array(yes)).tobytes() == expected.tobytes()


def test_down_to_6_b_never_expands_a_1_and_a_never_grows():
    invalid = limited(7, "2,3,4,5", "2,1,1,5")
    theirs = convert_version(invalid, 6)
    assert [a.name for a in theirs.graph.node[0].attribute] == ["broadcast"]  # defect e: what Sub-6 forbids
    assert reasons(invalid, 6) == {
        "graph.node[0]": "Sub: Sub of opset 6 does not expand a 1 between other dims of B: "
        "shapes (2, 3, 4, 5) and (2, 1, 1, 5)"
    }
    grows = parse(7, "(float[2,1] a, float[2,5] b) => (float[2,5] c) { c = Sub(a, b) }")
    assert reasons(grows, 6) == {
        "graph.node[0]": "Sub: Sub of opset 6 gives A's shape, and A would grow in its axis 1: shapes (2, 1) and (2, 5)"
    }
    higher = parse(7, "(float[5] a, float[2,5] b) => (float[2,5] c) { c = Sub(a, b) }")
    assert reasons(higher, 6) == {
        "graph.node[0]": "Sub: Sub of opset 6 gives A's shape, and B has the higher rank: shapes (5,) and (2, 5)"
    }
    unproven = parse(7, "(float[N] a, float[M] b) => (float[K] c) { c = Sub(a, b) }")
    assert reasons(unproven, 6) == {
        "graph.node[0]": "Sub: Sub of opset 6 gives A's shape, and axis 0 is not proven to be equal in A and B: "
        "shapes (N,) and (M,)"
    }


def test_down_to_6_outer_1s_of_b_are_squeezed_away():
    model = limited(12, "2,3,4", "3,1")
    down, changes, _ = convert_proto(model, 6)
    assert changes == [
        "opset 12 became 6",
        "graph.node[0]: Sub-7 became Squeeze-1, Sub-6 (with axis, with broadcast)",
    ]
    a, b = random((2, 3, 4), "float32", 1), random((3, 1), "float32", 2)
    assert compute(down, a=a, b=b).tobytes() == (a - b).tobytes()


def test_local_functions_stay_and_are_converted():
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 13, "own" : 1], producer_name: "me", metadata_props: ["k": "v"]>
        g (float[3] a, float[3] b) => (float[3] c) { c = own.minus(a, b) }
        <domain: "own", opset_import: ["" : 13]> minus (x, y) => (z) { z = Sub(x, y) }
    """)
    model.functions[0].doc_string = "kept"
    assert len(convert_version(model, 14).functions) == 0  # defect f: the function is gone, its callers are not
    up, changes, _ = convert_proto(model, 14)
    assert changes == ["opset 13 became 14"]
    assert [f.name for f in up.functions] == ["minus"]
    assert up.functions[0].doc_string == "kept"
    assert up.functions[0].opset_import[0].version == 14
    assert (up.producer_name, up.metadata_props[0].value) == ("me", "v")
    assert convert_proto(up, 13)[0] == model


def test_functions_learn_their_shapes_from_their_callers():
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 6, "own" : 1]>
        g (float[3,3,3] a, float[3] b) => (float[3,3,3] c) { c = own.outer(a, b) }
        <domain: "own", opset_import: ["" : 6]> inner (x, y) => (z) { z = Sub<axis: int = 1, broadcast: int = 1>(x, y) }
        <domain: "own", opset_import: ["" : 6, "own": 1]> outer (x, y) => (z) { z = own.inner(x, y) }
    """)
    up, changes, _ = convert_proto(model, 13)
    assert changes[1].startswith("function 'inner'.node[0]: Sub-6 became Constant-13, Unsqueeze-13, Sub-13")
    a, b = random((3, 3, 3), "float32", 1), random((3,), "float32", 2)
    assert compute(up, a=a, b=b).tobytes() == (a - b[:, None]).tobytes()
    model.graph.node[0].CopyFrom(onnx.helper.make_node("Identity", ["a"], ["c"]))
    assert reasons(model, 13) == {
        "function 'inner'.node[0]": "Sub: Sub of opset 6 has axis=1, and the rank of A is unknown; "
        "state the shape of A in the model"
    }


# ---- types -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "before", "after", "version"),
    [("uint8", 14, 13, 13), ("int16", 14, 12, 7), ("bfloat16", 13, 12, 7), ("int32", 6, 5, 1), ("uint64", 14, 1, 1)],
)
def test_a_type_that_the_older_version_lacks_is_refused_with_what_helps(dtype, before, after, version):
    assert reasons(limited(before, "3", "3", dtype=dtype), after) == {
        "graph.node[0]": f"Sub: Sub-{version} takes no tensor({dtype}) as input 0 ('A'); "
        f"`minuend fix --target onnx:{after}` puts such a Sub between casts"
    }


def test_a_refusal_lists_every_node_and_changes_nothing():
    model = parse(14, "(uint8[3] a, uint8[3] b) => (uint8[3] d) { c = Sub(a, b)\n d = Sub(c, b) }")
    model.graph.node[1].name = "second"
    before = model.SerializeToString()
    hint = (
        "Sub: Sub-13 takes no tensor(uint8) as input 0 ('A'); "
        "`minuend fix --target onnx:13` puts such a Sub between casts"
    )
    with pytest.raises(ConversionRefused) as caught:
        convert_proto(model, 13)
    assert str(caught.value) == (
        f"cannot convert to onnx:13: 2 nodes in the way\n  graph.node[0]: {hint}\n  graph.node[1] 'second': {hint}"
    )
    assert model.SerializeToString() == before


def test_a_negative_axis_means_the_suffix_for_rank_1_alone():
    model = limited(6, "2,3,4", "3,4", "axis: int = -2, broadcast: int = 1")
    assert reasons(model, 7) == {
        "graph.node[0]": "Sub: the model is invalid: axis -2 is out of range for shapes (2, 3, 4) and (3, 4): expected "
        "0 to 1; a negative axis means different things to different tools, write 1 for the suffix"
    }


def test_an_axis_needs_ranks_and_a_suffix_does_not():
    body = "(float[M,N] a, float[K] s, int64[R] shape) => (float[P,Q] c) { b = Reshape(s, shape) c = Sub<ATTR>(a, b) }"
    suffix = parse(6, body.replace("ATTR", "broadcast: int = 1"))
    assert ops(convert_proto(suffix, 7)[0]) == ["Reshape", "Sub"]
    axis = parse(6, body.replace("ATTR", "axis: int = 0, broadcast: int = 1"))
    assert reasons(axis, 7) == {
        "graph.node[1]": "Sub: Sub of opset 6 has axis=0, and the rank of B is unknown; "
        "state the shape of B in the model"
    }


def test_a_function_called_with_two_ranks_has_none():
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 6, "own" : 1]>
        g (float[3,3,3] a, float[3,3] b, float[3] s) => (float[3,3,3] c, float[3,3] d) {
            c = own.minus(a, s)
            d = own.minus(b, s)
        }
        <domain: "own", opset_import: ["" : 6]> minus (x, y) => (z) { z = Sub<axis: int = 0, broadcast: int = 1>(x, y) }
    """)
    assert reasons(model, 13) == {
        "function 'minus'.node[0]": "Sub: Sub of opset 6 has axis=0, and the rank of A is unknown; "
        "state the shape of A in the model"
    }


def test_a_named_dim_that_inference_gives_a_slice_of_opset_10_is_no_proof():
    model = parse(
        10,
        """(float[N] x) => (float[M] y) <int64[1] zero = {0}, int64[1] one = {1}> {
            first = Slice(x, zero, one)
            y = Sub(x, first)
        }""",
    )
    assert onnx.shape_inference.infer_shapes(model).graph.value_info[0].type == model.graph.input[0].type  # wrong
    assert reasons(model, 6) == {
        "graph.node[1]": "Sub: Sub of opset 6 gives A's shape, and axis 0 is not proven to be equal in A and B: "
        "shapes (N,) and (unk__0,)"
    }
