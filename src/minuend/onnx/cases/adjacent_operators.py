"""ONNX's operators next to a judged one: how each is written into a model that runtimes are measured with.

A row is an operator; what a pattern shows of it is ``given``, in the terms of :mod:`minuend.models.patterns`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import numpy_helper

from minuend.models.matching.operator_groups import BITWISE, COMPARISONS
from minuend.models.patterns import Const, Term, X
from minuend.onnx.documents.tensors import Array


def int64(values: npt.ArrayLike) -> Array:
    """Return sizes or positions as ONNX has them."""
    return np.asarray(values, np.int64)


def float32(*values: float) -> Array:
    """Return parameters of an operator."""
    return np.asarray(values, np.float32)


IMAGE, MATRIX, SQUARE, SERIES = (1, 8, 16, 16), (32, 64), (2, 4, 16, 16), (16, 4, 32)
"""Shapes: batch, channels, rows and columns; rows and columns; stacks of squares; steps, batch and features."""


@dataclass(frozen=True, slots=True)
class Given:
    """Sizes that an operator is given by an input of the graph."""

    elements: Array


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator.

    Attributes:
        name: ONNX's.
        given: its operands, for each way; of a reader each hole is the judged operator's result in turn.
        shape: of the first input. others: shapes of further values and array constants, by their place; as the first
            where none is given.
        constants: inputs behind those that ``given`` shows: a shape and a type, the elements themselves, or
            :class:`Given`.
        attributes: the node's. opset: the lowest that has it so.
        values: ``"any"``, ``"finite"`` where one NaN would be everywhere, or ``"positive"``.
        mixes: whether an element of the result depends on several of the input.
        types: element types other than float32 that it is queried with. source: of its inputs, where that is another.
        places: ``"maker"`` and ``"reader"``.
        index: of sizes and positions that it reads: its input, what is there, and the inputs before it. Of a reader the
            difference is that input. floats: whether it is queried with float32.
    """

    name: str
    given: tuple[tuple[Term, ...], ...] = ((X,),)
    shape: tuple[int, ...] = IMAGE
    others: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    constants: tuple[Any, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    opset: int = 13
    values: str = "any"
    mixes: bool = False
    types: tuple[str, ...] = ("float16",)
    source: str = ""
    places: tuple[str, ...] = ("maker", "reader")
    index: tuple[int, list[int], tuple[Array, ...]] | None = None
    floats: bool = True


SCALAR, ARRAY = Const.SCALAR, Const.ARRAY
_TWO = ((X, X), (X, SCALAR), (X, ARRAY), (SCALAR, X), (ARRAY, X))
_WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_EVERY = ("float16", "bfloat16", "float64", *_WHOLE)


def _arithmetic() -> list[Operator]:
    wide = ("int32", "int64", "uint32", "uint64")
    return [
        *(Operator(name, _TWO, types=_EVERY) for name in ("Add", "Sub", "Mul")),
        Operator("Div", _TWO, types=("float16", "bfloat16", "float64")),
        *(Operator(name, _TWO, types=("float16", "float64", "uint8", "int8", *wide)) for name in ("Max", "Min")),
        Operator("Div", ((X, SCALAR), (X, ARRAY)), types=_WHOLE, floats=False),
        Operator("Mod", ((X, SCALAR),), types=_WHOLE, floats=False),
        *(Operator(name, _TWO[:2], opset=18, types=_WHOLE, floats=False) for name in BITWISE),
        Operator("BitwiseNot", opset=18, types=_WHOLE, floats=False),
        Operator("Pow", _TWO[:2]),
        Operator("Mod", _TWO[:3], attributes={"fmod": 1}, types=()),
        Operator("PRelu", ((X, SCALAR), (X, ARRAY))),
        Operator("Neg", types=("float16", "float64", "int8", "int32", "int64")),
        Operator("Abs", types=("float16", "int8", "int32", "int64")),
    ]


_ELEMENTWISE = (
    "Exp", "Log", "Sqrt", "Reciprocal", "Sign", "Floor", "Ceil", "Round", "Relu", "LeakyRelu", "Elu", "Selu", "Celu",
    "Sigmoid", "HardSigmoid", "Tanh", "Erf", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh",
    "Acosh", "Atanh", "Softplus", "Softsign", "ThresholdedRelu", "Identity", "Dropout",
)  # fmt: skip
_LATER = {"HardSwish": 14, "Mish": 18, "Gelu": 20, "Swish": 24}
_OF_DOUBLE = ("Exp", "Log", "Sqrt", "Reciprocal", "Relu", "Sigmoid", "Tanh", "Floor", "Ceil", "Round", "Sin", "Cos")
_REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")


def _moving() -> list[Operator]:
    every: dict[str, Any] = {"types": ("float16", "float64", "int8", "int32", "int64", *_UNSIGNED)}
    return [
        Operator("Reshape", constants=(int64([-1]),), **every),
        Operator("Flatten", **every),
        Operator("Unsqueeze", constants=(int64([0]),), **every),
        Operator("Squeeze", constants=(int64([0]),), **every),
        Operator("Transpose", attributes={"perm": [0, 2, 3, 1]}, **every),
        Operator("Expand", constants=(int64([2, 8, 16, 16]),), **every),
        Operator("Tile", constants=(int64([2, 1, 1, 1]),), **every),
        Operator("Slice", constants=(int64([1]), int64([15]), int64([3])), **every),
        Operator("Gather", constants=(int64([3, 0, 5, 7]),), attributes={"axis": 1}, **every),
        Operator("GatherElements", constants=(int64(np.full(IMAGE, 3)),), attributes={"axis": 3}, **every),
        Operator("GatherND", constants=(int64([[0, 1], [0, 3]]),), **every),
        Operator("Concat", constants=((IMAGE, "x"),), attributes={"axis": 1}, **every),
        Operator("Split", attributes={"axis": 1, "outputs": 2}, **every),
        Operator("Pad", constants=(int64([0, 0, 1, 1, 0, 0, 1, 1]),), **every),
        Operator("DepthToSpace", attributes={"blocksize": 2}),
        Operator("SpaceToDepth", attributes={"blocksize": 2}),
        Operator("Resize", constants=("", float32(1, 1, 2, 2)), attributes={"mode": "nearest"}),
        Operator("Trilu", opset=14),
        Operator("Where", tuple((X, *two) for two in _TWO), **every),
        Operator(
            "ScatterElements",
            constants=(int64(np.full(IMAGE, 3)), np.ones(IMAGE, np.float32)),
            attributes={"axis": 3},
            types=(),
        ),
        Operator("ScatterND", constants=(int64([[0, 1]]), np.ones((1, 16, 16), np.float32)), types=()),
    ]


def _networks() -> list[Operator]:
    mixing: dict[str, Any] = {"values": "finite", "mixes": True}
    rows = [
        Operator("MatMul", ((X, X), (X, ARRAY), (ARRAY, X)), SQUARE, types=("float16", "float64", "int32", "int64"),
                 **mixing),
        Operator("Gemm", ((X, X), (X, ARRAY), (X, ARRAY, ARRAY)), MATRIX, {1: (64, 64), 2: (64,)},
                 **mixing),
        Operator("Conv", constants=(((8, 8, 3, 3), "x"), ((8,), "x")), attributes={"pads": [1, 1, 1, 1]}, **mixing),
        Operator("ConvTranspose", constants=(((8, 8, 3, 3), "x"),), **mixing),
        Operator("MaxPool", attributes={"kernel_shape": [2, 2]}, mixes=True),
        Operator("AveragePool", attributes={"kernel_shape": [2, 2]}, **mixing),
        Operator("GlobalAveragePool", **mixing),
        Operator("GlobalMaxPool", **mixing),
        Operator("BatchNormalization", constants=tuple(float32(*[one] * 8) for one in (1.1, 0.3, 0.7, 1.3)), **mixing),
        Operator("InstanceNormalization", constants=(float32(*[1.1] * 8), float32(*[0.3] * 8)), **mixing),
        Operator("LayerNormalization", constants=(float32(*[1.1] * 16),), opset=17, **mixing),
        Operator("MeanVarianceNormalization", places=("reader",), **mixing),
        Operator("LRN", attributes={"size": 3}, types=(), **mixing),
        Operator("LpNormalization", types=(), **mixing),
        Operator("Softmax", **mixing),
        Operator("LogSoftmax", **mixing),
        Operator("CumSum", constants=(int64(2),), types=("float16", "int32", "int64"), **mixing),
        Operator("ArgMax", places=("reader",), types=("int32",), **mixing),
        Operator("ArgMin", places=("reader",), types=("int32",), **mixing),
        Operator("TopK", constants=(int64([3]),), attributes={"outputs": 2}, **mixing),
        Operator("Einsum", ((X,),), SQUARE, attributes={"equation": "abij->abji"}, **mixing),
        Operator("Einsum", ((X,),), SQUARE, constants=((SQUARE, "x"),),
                 attributes={"equation": "abij,abjk->abik"}, **mixing),
        Operator("RNN", shape=SERIES, constants=(((1, 16, 32), "x"), ((1, 16, 16), "x")),
                 attributes={"hidden_size": 16}, types=(), **mixing),
        Operator("LpPool", attributes={"kernel_shape": [2, 2]}, types=(), **mixing),
        Operator("Hardmax", types=(), **mixing),
        Operator("GroupNormalization", constants=(float32(*[1.1] * 8), float32(*[0.3] * 8)),
                 attributes={"num_groups": 2}, opset=21, types=(), **mixing),
        Operator("RMSNormalization", constants=(float32(*[1.1] * 16),), opset=23, **mixing),
        Operator("GridSample", constants=(((1, 16, 16, 2), "x"),), opset=16, types=(), **mixing),
        Operator("Attention", shape=SQUARE, constants=((SQUARE, "x"), (SQUARE, "x")), opset=23, types=(), **mixing),
        Operator("RotaryEmbedding", shape=SQUARE, constants=(((2, 16, 8), "x"), ((2, 16, 8), "x")), opset=23, types=(),
                 **mixing),
        Operator("LSTM", shape=SERIES, constants=(((1, 64, 32), "x"), ((1, 64, 16), "x")),
                 attributes={"hidden_size": 16}, types=(), **mixing),
        Operator("GRU", shape=SERIES, constants=(((1, 48, 32), "x"), ((1, 48, 16), "x")),
                 attributes={"hidden_size": 16}, types=(), **mixing),
    ]  # fmt: skip
    for part in _REDUCTIONS:
        types = ("float16", "int32", "int64") if part in ("Sum", "Max", "Min", "Prod") else ("float16",)
        axes: dict[str, Any] = {"constants": (int64([-1]),)} if part == "Sum" else {"attributes": {"axes": [-1]}}
        values = "positive" if part == "LogSum" else "finite"
        rows.append(Operator(f"Reduce{part}", types=types, values=values, mixes=True, **axes))
    return rows


def _quantised() -> list[Operator]:
    """Operators of integers that stand for real numbers."""
    uint8 = np.uint8
    of_scale: tuple[Any, ...] = (float32(0.1)[0], uint8(128))
    weights = np.arange(4096, dtype=np.uint8).reshape(-1, 16)
    mixing: dict[str, Any] = {"mixes": True, "floats": False}
    matrix, image = weights[:16], weights[:36].reshape(8, 8, 3, 3)
    linear = {"QLinearMatMul": (matrix, SQUARE), "QLinearConv": (image, IMAGE)}
    return [
        *(
            Operator("DequantizeLinear", constants=(of_scale[0], np.dtype(name).type(3)), source=name,
                     places=("maker",), types=())
            for name in ("uint8", "int8")
        ),
        Operator("DynamicQuantizeLinear", attributes={"outputs": 3}, places=("reader",), types=(), values="finite",
                 mixes=True),
        Operator("MatMulInteger", shape=SQUARE, constants=(matrix,), source="uint8", places=("maker",),
                 types=("int32",), **mixing),
        Operator("MatMulInteger", shape=SQUARE, constants=(matrix,), places=("reader",), types=("uint8", "int8"),
                 **mixing),
        Operator("ConvInteger", constants=(image,), source="uint8", places=("maker",), types=("int32",), **mixing),
        Operator("ConvInteger", constants=(image,), places=("reader",), types=("uint8",), **mixing),
        *(
            Operator(name, shape=shape, constants=(*of_scale, known, *of_scale, *of_scale), types=("uint8",), **mixing)
            for name, (known, shape) in linear.items()
        ),
        Operator("com.microsoft.DynamicQuantizeMatMul", shape=SQUARE, constants=(matrix, *of_scale), types=(),
                 values="finite", mixes=True),
    ]  # fmt: skip


def _contributed() -> list[Operator]:
    """onnxruntime's own operators, as exporters and its optimisers write them."""
    mixing: dict[str, Any] = {"shape": (2, 8, 64), "types": (), "values": "finite", "mixes": True}
    tokens, last = ((2, 8, 64), "x"), ((64,), "x")
    rows: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
        "SimplifiedLayerNormalization": ((last,), {"axis": -1}),
        "com.microsoft.SkipLayerNormalization": ((tokens, last, last), {}),
        "com.microsoft.SkipSimplifiedLayerNormalization": ((tokens, last), {}),
        "com.microsoft.FusedMatMul": ((((64, 64), "x"),), {"alpha": 0.3}),
        "com.microsoft.Attention": ((((64, 192), "x"), ((192,), "x")), {"num_heads": 4}),
        "com.microsoft.MultiHeadAttention": ((tokens, tokens), {"num_heads": 4}),
        "com.microsoft.RotaryEmbedding": ((int64([[*range(8)]] * 2), ((8, 8), "x"), ((8, 8), "x")), {"num_heads": 4}),
        "com.microsoft.MatMulNBits": (
            (np.arange(64 * 2 * 16, dtype=np.uint8).reshape(64, 2, 16), ((128,), "x")),
            {"K": 64, "N": 64, "bits": 4, "block_size": 32},
        ),
    }
    return [
        *(Operator(name, constants=known, attributes=given, **mixing) for name, (known, given) in rows.items()),
        Operator("com.microsoft.BiasGelu", shape=(2, 8, 64), constants=(last,), types=()),
        Operator("com.microsoft.FusedConv", constants=(((8, 8, 3, 3), "x"), ((8,), "x")), types=(), values="finite",
                 attributes={"pads": [1, 1, 1, 1], "activation": "Relu"}, mixes=True),
        Operator("com.microsoft.FusedGemm", shape=(64, 64), constants=(((64, 64), "x"), last), types=(),
                 values="finite", attributes={"activation": "Relu"}, mixes=True),
    ]  # fmt: skip


def _sizes() -> list[Operator]:
    """Makers of sizes and positions, and what is made by them."""
    own: dict[str, Any] = {"places": ("maker",), "floats": False}
    wanted = [2, 8, 4, 4]

    def filled(value: Array) -> Operator:
        attributes = {"value": numpy_helper.from_array(value)}
        return Operator("ConstantOfShape", shape=(4,), source="int64", attributes=attributes, index=(0, wanted, ()),
                        values="index", mixes=True, types=(value.dtype.name,), **own)  # fmt: skip

    return [
        Operator("Shape", source="float32", types=("int64",), mixes=True, **own),
        Operator("Size", source="float32", types=("int64",), mixes=True, **own),
        Operator("ArgMax", source="float32", types=("int64",), values="finite", mixes=True, **own),
        Operator("ArgMin", source="float32", types=("int64",), values="finite", mixes=True, **own),
        filled(float32(1)),
        filled(int64([1])),
        Operator("Expand", ((SCALAR,),), constants=(Given(int64(wanted)),), types=("float32", "int64"), **own),
        Operator("Range", ((SCALAR,),), constants=(Given(int64(19)), int64(1)), types=("int64",), **own),
        Operator("Range", ((SCALAR,),), constants=(Given(np.asarray(19, np.int32)), np.asarray(1, np.int32)),
                 types=("int32",), **own),
        Operator("OneHot", shape=(8, 16), source="int64", constants=(int64(5), float32(0, 1)), places=("maker",),
                 types=()),
    ]  # fmt: skip


def _indices() -> list[Operator]:
    """Readers of int64 that say where or how much: what is there, and the inputs before and behind it."""
    image, one = np.ones(IMAGE, np.float32), int64([1])
    rows: list[tuple[str, list[int], tuple[Array, ...], tuple[Array, ...]]] = [
        ("Gather", [3, 0, 5, 7], (image,), ()),
        ("Reshape", [16, 8, 16], (image,), ()),
        ("Expand", [2, 8, 16, 16], (image,), ()),
        ("Tile", [2, 1, 1, 3], (image,), ()),
        ("Slice", [1], (image,), (int64([9]), one, one)),
        ("Pad", [0, 0, 1, 1, 0, 0, 1, 1], (image,), ()),
        ("TopK", [3], (image,), ()),
        ("ConstantOfShape", [3, 5], (), ()),
        ("Unsqueeze", [0], (image,), ()),
        ("Slice", [9], (image, one), (one, one)),
    ]
    return [
        Operator(name, shape=(len(wanted),), constants=after, attributes={"outputs": 2} if name == "TopK" else {},
                 types=("int64",), places=("reader",), index=(len(before), wanted, before), values="index", mixes=True)
        for name, wanted, before, after in rows
    ]  # fmt: skip


def _rest() -> list[Operator]:
    rows = [Operator(name) for name in _ELEMENTWISE]
    rows += [Operator(name, types=("int32", "int64", "int8", "uint8"), floats=False) for name in ("Identity", "Sign")]
    rows += [Operator(name, types=("float64",), floats=False) for name in _OF_DOUBLE]
    rows += [Operator(name, opset=opset) for name, opset in _LATER.items()]
    rows += [Operator(f"com.microsoft.{name}", types=()) for name in ("Gelu", "FastGelu", "QuickGelu")]
    rows += [Operator(name, places=("reader",), types=()) for name in ("IsNaN", "IsInf")]
    rows += [Operator(name, _TWO[:3], places=("reader",), types=("float16", "int32", "int64")) for name in COMPARISONS]
    return [
        *rows,
        Operator("Clip", constants=(float32(-2.3)[0], float32(3.1)[0]), types=()),
        *(
            Operator("Clip", constants=(np.dtype(name).type(1), np.dtype(name).type(9)), types=(name,), floats=False)
            for name in ("int32", "int64", "uint8")
        ),
        Operator("Sum", ((X,),)),  # an Identity to a graph: it stays, for the list of cases grows at its end alone
        Operator("Mean", ((X,),), types=()),
        Operator("Shrink", attributes={"bias": 0.3, "lambd": 0.7}, types=()),
        Operator("QuantizeLinear", constants=(float32(0.1)[0], np.uint8(128)), places=("reader",), types=()),
        Operator("Shape", places=("reader",), types=("int64",)),
        Operator("NonZero", places=("reader",), types=("int64",)),
    ]


OPERATORS = (*_arithmetic(), *_moving(), *_networks(), *_rest(), *_indices(), *_sizes(), *_quantised(), *_contributed())
"""Every operator that is measured next to a judged one."""

CONVERTED = ("bool", *_WHOLE, "float16", "float32", "float64", "bfloat16")
"""Types of which conversions from and to the subtraction's own are measured."""

NARROW_CONVERTED, NARROW_OPSET = {"int32": ("int4", "uint4")}, 21
"""Those of fewer than 8 bits, for the types in which recipes subtract them; the lowest opset that has them."""
