"""Across modules: attributes missing, of another kind, empty, huge or negative give a result or an error of ours."""

from __future__ import annotations

import time
from collections.abc import Iterator

import onnx
import pytest
from onnx import AttributeProto, ModelProto, SparseTensorProto, TensorProto, TypeProto, helper

import minuend as mn
from minuend.models.occurrences import occurrences
from minuend.onnx.model import read

HEAD = '<ir_version: 8, opset_import: ["" : %d]> g (%s) => (float c) { %s z = Sub(r, r) c = ReduceSum(z) }'
IMAGE, MATRIX = "float[1,2,4,4] x, float[3,2,1,1] w", "float[2,3] x, int64[2] n, bool b"
NODES = {
    "ArgMax": (13, MATRIX, "i = ArgMax <axis = 0, keepdims = 1, select_last_index = 0> (x) r = Cast <to = 1> (i)"),
    "AveragePool": (19, IMAGE, "r = AveragePool <kernel_shape = [2,2], pads = [0,0,1,1], strides = [1,1]> (x)"),
    "BatchNormalization": (9, "float[2,3] x, float[3] s", "r = BatchNormalization <epsilon = 0.1> (x, s, s, s, s)"),
    "Cast": (19, MATRIX, "i = Cast <to = 7> (x) r = Cast <to = 1, saturate = 1> (i)"),
    "Clip": (6, MATRIX, "r = Clip <min = 0.0, max = 6.0> (x)"),
    "Concat": (13, MATRIX, "r = Concat <axis = 0> (x, x)"),
    "Constant": (13, "", "r = Constant <value = float[2] {1.0, 2.0}> ()"),
    "ConstantOfShape": (13, MATRIX, "r = ConstantOfShape <value = float[1] {1.0}> (n)"),
    "Conv": (11, IMAGE, "r = Conv <kernel_shape = [1,1], group = 1, pads = [0,0,0,0], dilations = [1,1]> (x, w)"),
    "Cast of an old opset": (5, "float[2] x", 'r = Cast <to = "FLOAT"> (x)'),
    "CumSum": (14, MATRIX, "a = Constant <value_int = 0> () r = CumSum <exclusive = 1, reverse = 1> (x, a)"),
    "DepthToSpace": (11, "float[1,4,2,2] x", 'r = DepthToSpace <blocksize = 2, mode = "CRD"> (x)'),
    "Dropout": (10, MATRIX, "r = Dropout <ratio = 0.5> (x)"),
    "Einsum": (12, MATRIX, 'r = Einsum <equation = "ij,ij->ij"> (x, x)'),
    "Flatten": (13, IMAGE, "r = Flatten <axis = 2> (x)"),
    "Gather": (13, MATRIX, "i = Constant <value_int = 1> () r = Gather <axis = 1> (x, i)"),
    "Gemm": (11, "float[2,3] x", "r = Gemm <alpha = 1.0, beta = 1.0, transA = 0, transB = 1> (x, x)"),
    "If": (13, MATRIX, """r = If (b) <then_branch = t () => (float[2,3] p) { p = Sub(x, x) },
        else_branch = e () => (float[2,3] q) { q = Neg(x) }>"""),
    "LeakyRelu": (6, MATRIX, "r = LeakyRelu <alpha = 0.1> (x)"),
    "MaxPool": (12, IMAGE, 'r = MaxPool <kernel_shape = [2,2], ceil_mode = 1, auto_pad = "SAME_UPPER"> (x)'),
    "Mod": (13, MATRIX, "r = Mod <fmod = 1> (x, x)"),
    "OneHot": (11, MATRIX, """d = Constant <value_int = 3> () v = Constant <value_floats = [0.0, 1.0]> ()
        r = OneHot <axis = -1> (n, d, v)"""),
    "Pad": (10, MATRIX, 'r = Pad <mode = "constant", pads = [0, 1, 0, 1], value = 1.0> (x)'),
    "QuantizeLinear": (21, MATRIX, """s = Constant <value_float = 0.5> ()
        q = QuantizeLinear <axis = 1, saturate = 1, output_dtype = 3, block_size = 0> (x, s) r = Cast <to = 1> (q)"""),
    "ReduceSum": (11, MATRIX, "r = ReduceSum <axes = [0], keepdims = 1> (x)"),
    "Resize": (11, IMAGE, """e = Constant <value = float[0] {}> ()
        s = Constant <value = float[4] {1.0, 1.0, 2.0, 2.0}> ()
        r = Resize <mode = "nearest", nearest_mode = "floor", cubic_coeff_a = -0.75> (x, e, s)"""),
    "Reshape": (14, MATRIX, "r = Reshape <allowzero = 1> (x, n)"),
    "Scan": (11, MATRIX, """r = Scan <num_scan_inputs = 1, scan_input_axes = [0],
        body = t (float[3] i) => (float[3] o) { o = Sub(i, i) }> (x)"""),
    "Shape": (15, MATRIX, "i = Shape <start = 0, end = 2> (x) r = Cast <to = 1> (i)"),
    "Slice": (9, MATRIX, "r = Slice <axes = [0], starts = [0], ends = [1]> (x)"),
    "Softmax": (11, MATRIX, "r = Softmax <axis = 1> (x)"),
    "Split": (11, MATRIX, "r, s = Split <axis = 0, split = [1, 1]> (x)"),
    "Squeeze": (11, "float[1,3] x", "r = Squeeze <axes = [0]> (x)"),
    "Sub": (6, "float[2,3] x, float[3] y", "r = Sub <axis = 1, broadcast = 1> (x, y)"),
    "TopK": (10, MATRIX, "k = Constant <value = int64[1] {1}> () r, i = TopK <axis = 1> (x, k)"),
    "Transpose": (13, MATRIX, "r = Transpose <perm = [1, 0]> (x)"),
    "Unsqueeze": (11, MATRIX, "r = Unsqueeze <axes = [0]> (x)"),
    "Upsample": (7, IMAGE, 'r = Upsample <mode = "nearest", scales = [1.0, 1.0, 2.0, 2.0]> (x)'),
}  # fmt: skip


def _values() -> list[AttributeProto]:
    kinds = AttributeProto
    return [
        *(kinds(type=kinds.INT, i=i) for i in (-1, 0, 7, 10**8, -(2**63), 2**63 - 1)),
        *(
            kinds(type=kinds.INTS, ints=ints)
            for ints in ([], [-1], [0] * 4, [10**8] * 3, [2**63 - 1, -(2**63)], [1] * 70)
        ),
        *(kinds(type=kinds.FLOAT, f=f) for f in (-1e38, float("nan"), float("inf"))),
        *(kinds(type=kinds.FLOATS, floats=floats) for floats in ([], [float("inf"), -1.0])),
        *(kinds(type=kinds.STRING, s=s) for s in (b"", b"x", b"\xff\xfe", b"i.j", b"...ij...,jk")),
        kinds(type=kinds.STRINGS, strings=[b"\xff"]),
        kinds(type=kinds.TENSOR, t=TensorProto(data_type=TensorProto.FLOAT, dims=[0])),
        kinds(type=kinds.TENSOR, t=helper.make_tensor("", TensorProto.INT64, [2], [-1, 2**62])),
        kinds(type=kinds.TENSOR, t=helper.make_tensor("", TensorProto.STRING, [1], [b"x"])),
        kinds(type=kinds.TENSOR, t=TensorProto(data_type=TensorProto.FLOAT, dims=[1])),
        kinds(type=kinds.SPARSE_TENSOR, sparse_tensor=SparseTensorProto()),
        kinds(type=kinds.GRAPH, g=onnx.GraphProto(name="g")),
        kinds(type=kinds.GRAPHS),
        kinds(type=kinds.TYPE_PROTO, tp=TypeProto()),
        kinds(type=kinds.INT, ref_attr_name="nobody"),
    ]


VALUES = _values()


def changed(kind: str) -> Iterator[tuple[str, ModelProto]]:
    """Each attribute of the one operator removed, and with every value of its own kind, and with one of each other."""
    opset, given, body = NODES[kind]
    model = onnx.parser.parse_model(HEAD % (opset, given, body))
    operator = kind.partition(" ")[0]
    index = next(i for i, node in enumerate(model.graph.node) if node.op_type == operator)
    kinds: dict[str, int] = {a.name: a.type for a in model.graph.node[index].attribute}
    if kind == "Constant":
        kinds |= {"value_int": AttributeProto.INT, "value_floats": AttributeProto.FLOATS}
    for name, own in kinds.items():
        others = {value.type: value for value in VALUES if value.type != own}
        for value in (None, *(value for value in VALUES if value.type == own), *others.values()):
            copy = ModelProto()
            copy.CopyFrom(model)
            node = copy.graph.node[index]
            kept = [a for a in node.attribute if a.name != name]
            del node.attribute[:]
            node.attribute.extend(kept)
            if value is not None:
                node.attribute.add().CopyFrom(value)
                node.attribute[-1].name = name
            yield f"{kind} {name} = {value}", copy


def refused(what: str, work) -> None:
    try:
        work()
    except mn.MinuendError as error:
        str(error).encode()
    except Exception as error:
        raise AssertionError(f"{type(error).__name__} for {what}") from error


@pytest.mark.parametrize("kind", NODES)
def test_no_attribute_makes_a_traceback_or_takes_for_ever(kind):
    for what, model in changed(kind):
        start = time.process_time()
        raw = model.SerializeToString()
        refused(what, lambda raw=raw: list(occurrences(read(raw))))
        refused(what, lambda raw=raw: mn.check(raw, "openvino-cpu@2026.4.1"))
        for goal in ("onnx:21", "onnx:9", "onnx:5", "openvino"):
            refused(f"{what} to {goal}", lambda raw=raw, goal=goal: mn.convert(raw, goal))
        assert time.process_time() - start < 10


@pytest.mark.parametrize(
    "constant",
    ["", "<value_int = 1, value_float = 1.0>", '<value_string = "x">', "<value_ints = [-9223372036854775808]>",
     "<value = float[0] {}>", "<value = string[1] {\"x\"}>", "<value = int64[2] {-1, 4611686018427387904}>"],
)  # fmt: skip
@pytest.mark.parametrize(
    "body",
    ["r = Pad(x, k)", "r = Pad(x, n, k)", "r = Pad(x, n, , k)", "r = Clip(x, k, k)", "r = Reshape(x, k)",
     "r = Unsqueeze(x, k)", "r = Squeeze(x, k)", "r = Slice(x, k, k, k, k)", "r = Gather(x, k)", "r = Expand(x, k)",
     "r = Tile(x, k)", "r, s = Split(x, k)", "r, i = TopK(x, k)", "r = ReduceSum(x, k)", "r = Resize(x, k, k)",
     "r = Add(x, k)", "r = Where(k, x, x)", "r = CumSum(x, k)", "r = OneHot(n, k, k)", "r = Range(k, k, k)",
     "r = ConstantOfShape(k)", "r = Sub(k, k)"],
)  # fmt: skip
def test_no_constant_makes_a_traceback(body, constant):
    text = HEAD % (18, MATRIX, f"k = Constant {constant} () {body}")
    refused(text, lambda: mn.check(text, "onnxruntime-cpu@1.31.1"))
    for goal in ("onnx:21", "onnx:11", "onnx:9", "openvino"):
        refused(f"{text} to {goal}", lambda goal=goal: mn.convert(text, goal))
