"""``infer("onnx", …)`` against ``onnx.shape_inference`` on built models, over a grid of symbolic shapes."""

from __future__ import annotations

import itertools

import onnx
import pytest
from onnx import TensorProto, TypeProto

import minuend as mn
from minuend.core.shapes import format_shape
from minuend.errors import ShapeError, SpecError
from minuend.onnx.graphs.inference import infer_types
from minuend.onnx.versions import DIALECT
from minuend.standards.node import TensorType
from minuend.standards.validation import infer

DIMS = (0, 1, 3, "N", "M", None)
SHAPES = [None, *(shape for rank in range(3) for shape in itertools.product(DIMS, repeat=rank))]
OPSETS = (1, 6, 7, 13, 14)
STRICT = (7, 13, 14)


def type_proto(shape) -> TypeProto:
    proto = TypeProto()
    proto.tensor_type.elem_type = TensorProto.FLOAT
    if shape is not None:
        proto.tensor_type.shape.SetInParent()
        for dim in shape:
            entry = proto.tensor_type.shape.dim.add()
            if isinstance(dim, str):
                entry.dim_param = dim
            elif dim is not None:
                entry.dim_value = dim
    return proto


def onnx_answers(opset: int, pairs):
    """What onnx infers of each pair: an element type and a shape, or its error; one model a pair."""
    for a, b in pairs:
        model = onnx.ModelProto(ir_version=10, opset_import=[onnx.helper.make_opsetid("", opset)])
        model.graph.name = "g"
        model.graph.node.append(onnx.helper.make_node("Sub", ["A", "B"], ["C"]))
        for name, shape in (("A", a), ("B", b)):
            model.graph.input.add(name=name).type.CopyFrom(type_proto(shape))
        model.graph.output.add(name="C")
        try:
            inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        except onnx.shape_inference.InferenceError as error:
            yield a, b, str(error)
            continue
        tensor = inferred.graph.output[0].type.tensor_type
        shape = None
        if tensor.HasField("shape"):
            shape = tuple(
                d.dim_value
                if d.HasField("dim_value")
                else None
                if d.dim_param.startswith("unk__")
                else d.dim_param or None
                for d in tensor.shape.dim
            )
        yield a, b, (DIALECT_BY_CODE[tensor.elem_type], shape)


DIALECT_BY_CODE = {TensorProto.DataType.Value(proto): name for name, (_, proto) in DIALECT.spellings.items()}


def ours(opset, a, b):
    try:
        answer = infer("onnx", opset, TensorType("float32", a), TensorType("float32", b))
    except ShapeError as error:
        return str(error)
    return answer.dtype, answer.shape


@pytest.mark.parametrize("opset", OPSETS)
def test_the_answer_is_onnx_own_on_every_pair_of_shapes(opset):
    compared = refused_by_us_alone = 0
    for a, b, theirs in onnx_answers(opset, itertools.product(SHAPES, SHAPES)):
        answer = ours(opset, a, b)
        if isinstance(answer, str) and opset not in STRICT and not isinstance(theirs, str):
            refused_by_us_alone += 1  # Sub-1 and Sub-6: ONNX looks at no shape, this package at every one
            assert cannot_be_equal(a, b), (a, b)
            continue
        assert isinstance(answer, str) is isinstance(theirs, str), (a, b, answer, theirs)
        if not isinstance(answer, str):
            assert answer == theirs, (a, b)
        compared += 1
    assert compared > 900
    assert (refused_by_us_alone > 0) is (opset not in STRICT)


def cannot_be_equal(a, b) -> bool:
    """Whether two shapes differ for every size of their unknown dims (no name is bound twice to two numbers)."""
    if a is None or b is None:
        return False
    pairs = list(zip(a, b, strict=False))
    return len(a) != len(b) or any(isinstance(x, int) and isinstance(y, int) and x != y for x, y in pairs)


ASSUMED = [
    (14, ("N", 3), (3,), ("N", 3), ()),
    (14, ("N",), (3,), (3,), ("axis 0: N of A is 1 or 3",)),
    (14, (3,), ("N",), (3,), ("axis 0: N of B is 1 or 3",)),
    (14, ("N",), (0,), (0,), ("axis 0: N of A is 1 or 0",)),
    (14, ("N",), (1,), ("N",), ()),
    (14, ("N",), ("N",), ("N",), ()),
    (14, ("N",), ("M",), (None,), ("axis 0: N of A equals M of B or N of A is 1 or M of B is 1",)),
    (14, ("N",), (None,), (None,), ("axis 0: N of A equals ? of B or N of A is 1 or ? of B is 1",)),
    (14, (None,), (5,), (5,), ("axis 0: ? of A is 1 or 5",)),
    (14, (2, "N"), (None, 4), (2, 4), ("axis 0: ? of B is 1 or 2", "axis 1: N of A is 1 or 4")),
    (14, None, (3,), None, ("the shapes of A and B broadcast",)),
    (6, ("N", 3), (2, "M"), ("N", 3), ("axis 0: N of A is 2", "axis 1: M of B is 3")),
    (6, ("N",), ("M",), ("N",), ("axis 0: N of A equals M of B",)),
    (6, None, (3,), None, ("B fits into A",)),
    (6, (3,), None, (3,), ("B fits into A",)),
    (1, ("N", 3), (2, "M"), None, ()),
]


@pytest.mark.parametrize(("opset", "a", "b", "shape", "assumptions"), ASSUMED, ids=str)
def test_what_symbolic_dims_must_be_is_told_in_sentences(opset, a, b, shape, assumptions):
    answer = infer("onnx", opset, TensorType("float32", a), TensorType("float32", b))
    assert answer.shape == shape
    assert answer.assumptions == assumptions


@pytest.mark.parametrize(
    ("attributes", "b", "assumptions"),
    [
        ({"broadcast": 1}, ("N",), ("axis 2: N of B is 4",)),
        ({"broadcast": 1, "axis": 0}, ("N", 3), ("axis 0: N of B is 2",)),
        ({"broadcast": 1, "axis": 1}, (1, 1), ()),
        ({"broadcast": 1, "axis": 9}, ("N",), ("B has one element",)),
        ({"broadcast": 1, "axis": 0}, (3, "N"), None),
        ({"broadcast": 1}, (1, "N"), ("B has one element",)),
        ({"broadcast": 0, "axis": 9}, (2, "N", 4), ("axis 1: N of B is 3",)),
    ],
    ids=str,
)
def test_sub_6_infers_the_shape_of_a_under_every_attribute(attributes, b, assumptions):
    a, b = TensorType("float32", (2, 3, 4)), TensorType("float32", b)
    if assumptions is None:
        with pytest.raises(ShapeError) as caught:
            infer("onnx", 6, a, b, **attributes)
        assert str(caught.value) == (
            "shapes (2, 3, 4) and (3, N) do not join under broadcast=1 from axis 0: axis 0 of A is 2 and axis 0 of B "
            "is 3; B must be a run of A's dims (its 1s do not expand) or have one element"
        )
        return
    answer = infer("onnx", 6, a, b, **attributes)
    assert (answer.shape, answer.assumptions) == ((2, 3, 4), assumptions)


@pytest.mark.parametrize("opset", OPSETS)
def test_provably_illegal_shapes_raise_at_every_version(opset):
    a, b = (2, "N"), (3, "N")
    with pytest.raises(ShapeError) as caught:
        infer("onnx", opset, TensorType("float32", a), TensorType("float32", b))
    told = f"shapes {format_shape(a)} and {format_shape(b)}"
    assert str(caught.value) == (
        f"{told} do not broadcast: axis 0 of the result has 2 and 3; they must be equal, or one of them 1"
        if opset in STRICT
        else f"{told} must be equal (no broadcasting): axis 0 has 2 and 3; set broadcast=1 to let B repeat"
    )


def test_attributes_are_checked_before_anything_is_inferred():
    with pytest.raises(SpecError) as caught:
        infer("onnx", 13, TensorType("float32", (2,)), TensorType("float32", (2,)), axis=0)
    assert str(caught.value) == "Sub-13 takes no attribute 'axis' (removed in version 7); it takes none"


@pytest.mark.parametrize(
    ("opset", "node"),
    [
        (21, "n = GroupNormalization <num_groups = 2> (x, w, w)"),
        (5, "n = Mul(x, k)"),
        (5, "n = Relu(x)"),
        (5, "n, m = Dropout(x)"),
    ],
)
def test_results_are_as_the_first_operand_where_onnx_has_no_rule(opset, node):
    text = f"""<ir_version: 8, opset_import: ["" : {opset}]> g (float[2,4,n] x, float[4] w, float[2,4,n] k) => (y)
        {{ {node} y = Neg(n) }}"""
    found = infer_types(onnx.parser.parse_model(text)).types["graph"]["n"]
    dims = [one.dim_value or one.dim_param for one in found.tensor_type.shape.dim]
    assert (found.tensor_type.elem_type, dims) == (onnx.TensorProto.FLOAT, [2, 4, "n"])


@pytest.mark.parametrize(
    ("node", "opset"),
    [
        ("t = com.microsoft.QuickGelu(x)", 13),
        ("t = com.microsoft.nchwc.Conv(x, w)", 13),
        ("t = com.microsoft.FusedMatMul(x, w)", 17),
        ("t, m, r, s = com.microsoft.SkipLayerNormalization(x, x, k)", 17),
        ("t = LayerNormalization(x, k)", 13),
        ("t = SimplifiedLayerNormalization(x, k)", 17),
    ],
)
def test_what_is_behind_operators_of_onnxruntime_has_their_types(node, opset):
    """ONNX's inference ends at them: check knew no type behind them, of a model that onnxruntime had optimised."""
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : {opset}, "com.microsoft" : 1, "com.microsoft.nchwc" : 1]>
        g (float[4,4] x, int64[2] s2) => (float[p,q] y, float[p,q] z) <float[4,4] w = {{{", ".join("1" * 16)}}},
        float[4] k = {{1,2,3,4}}> {{ {node} u = Relu(t) f = Flatten(u) g = Gemm(f, w) c = Cast<to = 10>(g)
        h = Cast<to = 1>(c) y = Sub(h, g) e = Exp(u) i = Gather(e, s2) z = Sub(i, i) }}"""
    )
    types = infer_types(model).types["graph"]
    assert [types[name].tensor_type.elem_type for name in "tufgchei"] == [1, 1, 1, 1, 10, 1, 1, 1]
    assert [one.dtype for one in mn.check(model, "onnxruntime-cpu@1.32.0").findings] == ["float32"] * 2
