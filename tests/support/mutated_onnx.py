"""Small models with something wrong in them: nodes, attributes, tensors, types and bytes, changed at random."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError, EncodeError
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper

_ROOT = Path(__file__).parents[2]
_HEAD = (
    '<ir_version: 8, opset_import: ["" : %d]> g (float[2,3] x, int64[2] n, bool b, float[3] y) => (float c) '
    "{ %s z = Sub(r, r) c = ReduceSum(z) }"
)
_BODIES = (
    (13, "r = Reshape(x, n)"),
    (13, "k = Constant <value = int64[1] {1}> () r = Unsqueeze(x, k)"),
    (11, "s = Concat <axis = 0> (x, x) r = Squeeze <axes = [0]> (s)"),
    (18, "k = Constant <value_ints = [0, 1, 0, 1]> () r = Pad(x, k)"),
    (10, "r = Pad <pads = [0, 1, 0, 1]> (x)"),
    (13, "l = Constant <value_float = 0.0> () h = Constant <value_float = 6.0> () r = Clip(x, l, h)"),
    (13, "r = If (b) <then_branch = t () => (float p) {p = Sub(x, y)}, else_branch = e () => (float q) {q = Neg(x)}>"),
    (18, "p, r = Split <axis = 1, num_outputs = 2> (x)"),
    (13, "k = Constant <value_ints = [2]> () r, i = TopK <axis = 0> (y, k)"),
    (13, "r = Expand(x, n)"),
    (11, "s = Shape(x) r = ConstantOfShape(s)"),
    (6, "r = Add <axis = 1, broadcast = 1> (x, y)"),
    (13, "r = Softmax <axis = 0> (x)"),
    (13, "s = Cast <to = 7> (y) t = Slice(s, n, n) r = Cast <to = 1> (t)"),
    (14, "a = Constant <value_int = 0> () d = Constant <value_int = 2> () e = Range(a, d, d) r = Gather(x, a)"),
    (12, "t = Dropout(x) r = MatMul(t, y)"),
)  # fmt: skip

OPERATORS = (
    "Sub", "Cast", "Constant", "Pad", "Reshape", "Unsqueeze", "Squeeze", "Expand", "If", "Loop", "Split", "Clip",
    "Slice", "TopK", "Resize", "Concat", "Gather", "Softmax", "BatchNormalization", "Range", "Tile", "Shape", "Dropout",
    "Add", "ReduceSum", "Identity", "Upsample", "QuantizeLinear", "ConstantOfShape", "Trilu", "Where", "Mod", "OneHot",
)  # fmt: skip
ATTRIBUTES = (
    "axis", "axes", "to", "perm", "pads", "value", "broadcast", "mode", "num_outputs", "split", "k", "kernel_shape",
    "allowzero", "start", "end", "keepdims", "scales", "then_branch", "value_ints",
)  # fmt: skip
NUMBERS = (-1, 0, 1, 2, 7, 65, -(2**63), 2**63 - 1, 10**8, 2**31, 2**40)
WORDS = ("", "a", "x", "y", "ai.onnx", "Sub", "é", "\u202e", "x" * 3000)


def _corpus() -> list[ModelProto]:
    files = [*(_ROOT / "tests" / "data" / "models").glob("*.onnx"), _ROOT / "examples" / "bgsub.onnx"]
    small = [onnx.load(path) for path in sorted(files) if path.stat().st_size < 3000]
    return [*map(onnx.parser.parse_model, TEXTS), *small]


TEXTS = tuple(_HEAD % row for row in _BODIES)
CORPUS = _corpus()


def mutated(source: random.Random) -> tuple[ModelProto, bytes]:
    """Return a model with one to three things changed, and its bytes, some of them changed too."""
    model = ModelProto()
    model.CopyFrom(source.choice(CORPUS))
    for _ in range(source.choice([1, 1, 2, 3])):
        _mutate(source, model)
    raw = bytearray(model.SerializeToString())
    if source.random() < 0.12:
        for _ in range(source.choice([1, 2, 5])):
            raw[source.randrange(len(raw))] = source.randrange(256)
        if source.random() < 0.3:
            del raw[source.randrange(1, len(raw)) :]
    return model, bytes(raw)


def harmed(source: random.Random, message: Any, data: bytes) -> bytes:
    """Return the bytes of a message with one to three things changed, into which ``data`` is read first."""
    try:
        message.ParseFromString(data)
        for _ in range(source.choice([1, 1, 2, 3])):
            _mutate(source, message)
        return bytes(message.SerializeToString())
    except (DecodeError, EncodeError, ValueError):  # it was none, or is none any more
        return data[: source.randrange(len(data) + 1)]


def some_inputs(model: ModelProto) -> dict[str, Any]:
    """Zeros of the declared types and of small shapes."""
    made = {}
    for value in model.graph.input:
        kind, dims = value.type.tensor_type.elem_type, value.type.tensor_type.shape.dim
        if 0 < kind < 14 and len(dims) < 8:
            shape = [min(max(dim.dim_value, 0), 4) or 2 for dim in dims]
            made[value.name] = np.zeros(shape, helper.tensor_dtype_to_np_dtype(kind))
    return made


def _messages(message: Any) -> Iterator[Any]:
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for one in value if field.is_repeated else [value]:
                yield from _messages(one)


def _mutate(source: random.Random, model: ModelProto) -> None:
    everything = list(_messages(model))
    kind = source.choice(["NodeProto", "NodeProto", "AttributeProto", "TensorProto", "TypeProto.Tensor", "Tensor", ""])
    pool = [one for one in everything if one.DESCRIPTOR.name == kind] or everything
    target = source.choice(pool)
    if target.DESCRIPTOR.name == "NodeProto" and source.random() < 0.8:
        _mutate_node(source, model, target)
    elif target.DESCRIPTOR.name == "AttributeProto" and source.random() < 0.8:
        _set(source, target)
    elif target.DESCRIPTOR.name == "TensorProto" and source.random() < 0.8:
        _mutate_tensor(source, target)
    elif target.DESCRIPTOR.name == "Tensor" and source.random() < 0.8:
        _mutate_type(source, target)
    else:
        _mutate_field(source, target)


def _mutate_node(source: random.Random, model: ModelProto, node: NodeProto) -> None:
    names = node.input if source.random() < 0.6 else node.output
    what = source.randrange(8)
    if what == 0 and names:
        del names[source.randrange(len(names))]
    elif what == 1 and names:
        names.append(source.choice(list(names)))
    elif what == 2 and names:
        names[source.randrange(len(names))] = ""
    elif what == 3:
        del names[:]
    elif what == 4 and node.attribute:
        del node.attribute[source.randrange(len(node.attribute))]
    elif what == 5:
        node.op_type = source.choice(OPERATORS)
    elif what == 6 and names:
        known = [name for one in model.graph.node for name in (*one.input, *one.output)]
        names[source.randrange(len(names))] = source.choice(known or [""])
    else:
        _set(source, node.attribute.add(name=source.choice(ATTRIBUTES)))


def _set(source: random.Random, attribute: AttributeProto) -> None:
    """Make an attribute one of another kind."""
    name, what = attribute.name, source.randrange(8)
    attribute.Clear()
    attribute.name = name
    if what == 0:
        attribute.type, attribute.i = AttributeProto.INT, source.choice(NUMBERS)
    elif what == 1:
        attribute.type = AttributeProto.INTS
        attribute.ints.extend(source.choice(NUMBERS[:7]) for _ in range(source.randrange(5)))
    elif what == 2:
        attribute.type, attribute.f = AttributeProto.FLOAT, source.choice([0, -1, math.nan, math.inf, 1e30])
    elif what == 3:
        attribute.type = AttributeProto.FLOATS
        attribute.floats.extend([source.choice([0, 1, math.nan])] * source.randrange(3))
    elif what == 4:
        attribute.type, attribute.s = AttributeProto.STRING, source.choice([b"", b"\xff\xfe", b"constant", b"FLOAT"])
    elif what == 5:
        attribute.type = AttributeProto.TENSOR
        attribute.t.data_type = source.choice([1, 7, 6, 9, 8, 16])
        attribute.t.dims.extend(source.choice([[], [1], [0], [1] * 70]))
        attribute.t.raw_data = bytes(source.randrange(256) for _ in range(8 * min(1, math.prod(attribute.t.dims))))
    elif what == 6:
        attribute.type, attribute.ref_attr_name = AttributeProto.INT, "q"
    else:
        attribute.type = source.randrange(15)


def _mutate_tensor(source: random.Random, tensor: TensorProto) -> None:
    what = source.randrange(4)
    if what == 0:
        tensor.data_type = source.randrange(30)
    elif what == 1:
        tensor.dims.append(source.choice(NUMBERS))
    elif what == 2:
        tensor.raw_data = source.randbytes(source.choice([0, 1, 4, 8, 16]))
    else:
        tensor.dims.extend([1] * 70)


def _mutate_type(source: random.Random, type_: Any) -> None:
    what = source.randrange(5)
    if what == 0:
        type_.elem_type = source.randrange(30)
    elif what == 1:
        type_.shape.dim.add().dim_value = source.choice(NUMBERS)
    elif what == 2 and type_.shape.dim:
        type_.shape.dim[source.randrange(len(type_.shape.dim))].dim_value = source.choice(NUMBERS)
    elif what == 3:
        type_.ClearField("shape")
    else:
        for _ in range(70):
            type_.shape.dim.add().dim_value = source.choice([1, 0, 2])


def _mutate_field(source: random.Random, message: Any) -> None:
    """Clear, copy or set any field."""
    field = source.choice(list(message.DESCRIPTOR.fields))
    if source.random() < 0.3:
        message.ClearField(field.name)
    elif field.message_type is not None and field.is_repeated:
        rows = getattr(message, field.name)
        if len(rows) and source.random() < 0.5:
            rows.append(source.choice(list(rows)))
        elif len(rows):
            del rows[source.randrange(len(rows))]
        else:
            rows.add()
    elif field.message_type is not None:
        getattr(message, field.name).SetInParent()
    else:
        value: Any = (
            source.choice(WORDS) if field.type in (field.TYPE_STRING, field.TYPE_BYTES) else source.choice(NUMBERS)
        )
        value = value.encode() if field.type == field.TYPE_BYTES else value
        try:
            if field.is_repeated:
                getattr(message, field.name).append(value)
            else:
                setattr(message, field.name, value)
        except (ValueError, TypeError):  # protobuf holds no such number there
            return
