"""Groups of operators and element types that patterns and runtimes treat alike."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from minuend.models.flow import DOUBLED, KEEPING, NEUTRAL, SHAPES

ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mod", "PRelu")
"""Operators of two operands, both of which a pattern shows."""


LINEAR = ("Add", "Sub", "Mul", "Div", "Neg")
"""Operators that runtimes fuse with a subtraction even where others that only move values stand between."""


CHAINED = ("Add", "Sub", "Mul", "Div")
"""Those of two operands; three in a row with constants are a pattern of their own."""


COMPARISONS = ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual")


BITWISE = ("BitwiseAnd", "BitwiseOr", "BitwiseXor")


DATA: Mapping[str, int] = MappingProxyType(
    {**dict.fromkeys((*ARITHMETIC, *COMPARISONS, *BITWISE, "MatMul"), 2), "Gemm": 3, "Where": 3}
)
"""How many inputs a pattern shows, where that is not one. Graph cases show as many; tests insist on it."""


ANYWHERE = ("Concat", "Sum", "Mean", "Einsum")
"""Operators all of whose inputs are alike: a pattern shows one."""


FACTORS = ("Mul", "Div")
"""Operators next to which a pattern shows a power of two as such, between the ends of those that are measured; not of
types that runtimes hold in more bits, which it hands on."""


WITH_ZERO = ("float32", "int8", "uint8", "int32", "int64")
"""Types next to whose subtraction a factor 0 is shown as such."""


NARROW = ("float16", "bfloat16")
"""Types that runtimes compute in float32."""


PLAIN = frozenset((
    *LINEAR, *SHAPES, "Abs", "Clip", "Concat", "DepthToSpace", "Dropout", "Elu", "Erf", "Exp", "Gather", "HardSigmoid",
    "HardSwish", "LeakyRelu", "Log", "LogSoftmax", "Max", "Min", "Pad", "Pow", "Reciprocal", "ReduceL1", "ReduceL2",
    "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Relu", "Sigmoid", "Slice",
    "Softmax", "Softplus", "SpaceToDepth", "Split", "Sqrt", "Sum", "Tanh",
))  # fmt: skip
"""Operators on a way out of a graph on which a runtime that computes some operators in less precision was measured to
keep the precision of what it computes."""


LAST_PARTS = {
    "LayerNormalization": True,
    **dict.fromkeys(("Conv", "ConvTranspose", "Gemm", "InstanceNormalization"), False),
}
"""Operators whose third input is a bias that is added last, and whether the second one is a factor before that."""


IN_PARTS = ("LayerNormalization", "ConvTranspose")
"""Those of them that some runtimes compute in parts wherever they stand; others are measured as a whole."""


ALL_PRODUCTS = "BatchNormalization"
"""An operator that is a product and a sum, so that it is measured as a whole."""


SCALING = ("Neg", *FACTORS)
"""Operators that runtimes join with a product or a sum before them."""


ONE_BY_ONE = frozenset((
    *SHAPES, *LINEAR, "Abs", "BatchNormalization", "Cast", "Clip", "Elu", "Exp", "Gelu", "HardSwish", "LeakyRelu",
    "Mish", "PRelu", "Relu", "Round", "Sigmoid", "Sqrt", "Sum", "Tanh",
))  # fmt: skip
"""Operators that runtimes fuse into what makes their operand, and with what reads their result."""


BOTH_WAYS = "FakeQuantize"
"""OpenVINO's operator that quantises and converts back; its conversion back can be written as Cast, Sub and Mul."""


RESCALED_BEHIND = (
    *SHAPES, NEUTRAL, DOUBLED, "Neg", "Slice", "Split", "Concat", "Gather", "Pad", "Clip", "DepthToSpace", "Resize",
    "Upsample", "MaxPool", "GlobalMaxPool", "AveragePool", "GlobalAveragePool", "ReduceMax", "ReduceMin", "ReduceMean",
    "ReduceSum", "ReduceLogSumExp",
)  # fmt: skip
"""Operators behind which runtimes that compute with quantised numbers multiply by a scale."""


RESCALED_BEHIND_ALONE = ("Relu", "LeakyRelu", "PRelu")
"""The same, where there is no zero point."""


MOVING_SCALES = (*RESCALED_BEHIND, *RESCALED_BEHIND_ALONE)


OF_MATRICES = ("MatMul", "Gemm")


OF_WEIGHTS = ("Conv", "ConvTranspose", *OF_MATRICES)
"""Operators that runtimes compute of integers, and multiply the result."""


BYTES = ("int8", "uint8")


FEW_BITS = (*BYTES, "int4", "uint4")


INTEGERS = (*FEW_BITS, "int16", "uint16", "int32")


MOVED_BEFORE = (*KEEPING, *MOVING_SCALES)


QUANTISING = ("QuantizeLinear", BOTH_WAYS)
