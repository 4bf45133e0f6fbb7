"""Types of layers by name: OpenVINO's beside ONNX's, and how a file may spell them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "Broadcast": "Expand", "Ceiling": "Ceil", "Clamp": "Clip", "Const": "Constant", "Convert": "Cast",
        "ConvertLike": "CastLike", "Divide": "Div", "FloorMod": "Mod", "GreaterEqual": "GreaterOrEqual",
        "LessEqual": "LessOrEqual", "LogicalAnd": "And", "LogicalNot": "Not", "LogicalOr": "Or",
        "LogicalXor": "Xor", "Maximum": "Max", "Minimum": "Min", "Multiply": "Mul", "Negative": "Neg",
        "PReLU": "PRelu", "Power": "Pow", "ReLU": "Relu", "Select": "Where", "ShapeOf": "Shape", "SoftMax": "Softmax",
        "SoftPlus": "Softplus", "SoftSign": "Softsign", "StridedSlice": "Slice", "Subtract": "Sub",
        "VariadicSplit": "Split",
    }
)  # fmt: skip
"""OpenVINO's types of layers by ONNX's name of the same operator, where the two differ."""

SAME = (
    "Abs", "Add", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Concat", "Cos", "CumSum", "Equal", "Erf",
    "Exp", "Floor", "Gather", "GatherElements", "GatherND", "Greater", "HardSigmoid",
    "Less", "Mod", "NonZero", "OneHot", "Range", "ReduceL1",
    "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReverseSequence", "Reshape",
    "Sigmoid", "Sign", "Sin", "Slice", "Split", "Sqrt", "Squeeze", "Tanh", "Tile", "TopK", "Transpose", "Unsqueeze",
)  # fmt: skip
"""Types of layers whose results ONNX's operator of the same name bounds."""

PRODUCTS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("Convolution", "GroupConvolution"), "Conv"),
        **dict.fromkeys(("ConvolutionBackpropData", "GroupConvolutionBackpropData"), "ConvTranspose"),
    }
)
"""Types of layers that ONNX's operators of those names are, without their bias."""

GROUPED = ("GroupConvolution", "GroupConvolutionBackpropData")
"""Those of them whose weights have an axis for the groups in addition, the first one."""

OTHERS = (
    "DepthToSpace", "Einsum", "Elu", "IsInf", "IsNaN", "Log", "LogSoftmax", "MatMul", "MaxPool", "Pad",
    "Round", "SpaceToDepth",
)  # fmt: skip
"""Further types that patterns and purposes name, as ONNX's operators of the same name."""

READ_AS: Mapping[str, str] = MappingProxyType(
    {
        "AvgPool": "AveragePool", "BatchNormInference": "BatchNormalization", "GRUSequence": "GRU",
        "HSwish": "HardSwish", "LSTMSequence": "LSTM", "MVN": "MeanVarianceNormalization", "RNNSequence": "RNN",
        "ScatterElementsUpdate": "ScatterElements", "ScatterNDUpdate": "ScatterND",
    }
)  # fmt: skip
"""OpenVINO's types of layers by the operator of ONNX that OpenVINO reads as such a layer, of other attributes."""
