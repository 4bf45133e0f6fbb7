"""MNN on the CPU, through its own converter. Stands alone: a worker loads this file where minuend is not installed.

The converter is called in the module that it is compiled to: the package around it installs others on import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NAME = "mnn"
PACKAGE = "MNN"
DIALECTS = ("onnx",)
ARRAYS = False
CONSTANTS = ("none", "A", "B", "both")
RULES = None

# ---- beyond the measured data ---------------------------------------------------------------------------------

_REDUCTIONS = {
    " of axes as an input": (
        "different-numbers",
        "MNN reduces over all axes where some reductions, as ReduceL1, state axes as an input",
        "onnx:17",
    ),
    " without keepdims": (
        "different-numbers",
        "MNN keeps no axes where some reductions, as ReduceL1, leave out keepdims; state it as 1",
    ),
}
_RESIZE = (
    "antialias 1",
    "exclude_outside 1",
    *(f"keep_aspect_ratio_policy not_{one}" for one in ("larger", "smaller")),
)
_UNHEEDED = {
    **{
        f"{operator} with reduction {reduction}": f"MNN does not heed reduction of {operator}"
        for operator in ("ScatterElements", "ScatterND")
        for reduction in ("add", "mul")
    },
    "ArgMax with select_last_index 1": "MNN does not heed select_last_index of ArgMax",
    "Mod with fmod 1": "MNN does not heed fmod of Mod",
    "Resize with coordinate_transformation_mode half_pixel_symmetric": (
        "MNN does not heed half_pixel_symmetric of Resize; use half_pixel"
    ),
    **{
        f"Resize with nearest_mode {mode}": "MNN does not heed nearest_mode of Resize; leave that attribute out"
        for mode in ("ceil", "round_prefer_ceil")
    },
    "Softmax over several axes by default": "MNN has another axis by default in Softmax; state the axis",
    **{
        f"{operator} with layout 1": f"MNN hands out other axes of {operator} of layout 1; use layout 0 and a Transpose"
        for operator in ("GRU", "LSTM", "RNN")
    },
    **{
        f"Resize with {setting}": f"MNN does not heed {setting.split()[0]} of Resize; leave that attribute out"
        for setting in _RESIZE
    },
    "Resize with mode cubic": "MNN interpolates otherwise where Resize is cubic; use linear",
}
STRICT = {
    **{kind: ("different-numbers", reason) for kind, reason in _UNHEEDED.items()},
    **{
        f"LogSoftmax-{one} over several axes": (
            "different-numbers",
            "MNN goes along one axis in LogSoftmax",
            "onnx:13",
        )
        for one in (1, 11)
    },
    "sparse initializer": (
        "not-implemented",
        "MNN's converter reads no sparse initializers; minuend fix stores the zeros",
    ),
    "sparse_value": ("not-implemented", "MNN's converter reads no sparse_value; minuend fix stores the zeros"),
    "scale of one element": (
        "unknown",
        "MNN takes it for a LayerNormalization, and reads beyond a scale without an element for each of the last axis",
    ),
    "Scan": ("not-implemented", "MNN's converter has no Scan"),
    "quantised value read besides": (
        "unknown",
        "MNN gives the memory of a value that it quantises to others, though something else still reads it",
    ),
    "dequantised value": (
        "unknown",
        "MNN does not load some models that dequantise more than constants, or dies of them; which was not measured",
    ),
    **{
        operator + form: row
        for operator in ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")
        for form, row in _REDUCTIONS.items()
    },
    "local function": ("not-implemented", "MNN's converter reads no local functions; minuend fix inlines them"),
}
"""What it does not read: the verdict, and why."""

_STORED = {"BatchNormalization": "scale B input_mean input_var", "GRU": "B", "Upsample": "scales"}
"""Operator → inputs that have to be stored in the model: it runs none that are computed."""
LACKED = frozenset({
    "AffineGrid", "Attention", "Bernoulli", "BitCast", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor",
    "BlackmanWindow", "CausalConvWithState", "CenterCropPad", "Col2Im", "ConvInteger", "CumProd", "DFT", "DeformConv",
    "GroupNormalization", "HammingWindow", "HannWindow", "Hardmax", "ImageDecoder", "IsInf", "IsNaN", "LinearAttention",
    "MatMulInteger", "MelWeightMatrix", "Mish", "OptionalGetElement", "OptionalHasElement", "QLinearConv",
    "QLinearMatMul", "RMSNormalization", "RotaryEmbedding", "SwiGLU", "Swish", "TensorScatter", "TfIdfVectorizer",
    "ai.onnx.ml.ArrayFeatureExtractor", "ai.onnx.ml.Binarizer", "ai.onnx.ml.TreeEnsemble",
    "LSTM with other activations", "LSTM with peepholes", "GRU with sequence_lens",
    "AveragePool with auto_pad SAME_LOWER", "MaxPool with auto_pad SAME_LOWER", "AveragePool with dilations",
    "MaxPool with dilations", "BitShift", "Pad with mode wrap", "Pow of two types",
    "Cast of integers to a type that does not hold all of them", "Cast of floats to uint8",
    *(f"{operator} of computed {name}" for operator, names in _STORED.items() for name in names.split()),
})  # fmt: skip
"""Operators, and forms of them, that it does not run, as ``tools/measure_operators.py`` and the tests found."""
DEVIATING = frozenset({
    "AveragePool whose last window begins in the padding", "MaxPool whose last window begins in the padding",
    "GRU with activations Relu", "GRU with clip", "GRU with direction reverse", "GRU with other activations",
    "LSTM with activations Relu", "LSTM with clip", "LSTM with direction reverse", "RNN with activations Relu",
    "RNN with clip", "RNN with direction reverse", "RNN with other activations", "LSTM with sequence_lens",
    "RNN with sequence_lens", "Conv with auto_pad SAME_LOWER", "ConvTranspose with auto_pad SAME_LOWER",
    "ConvTranspose with auto_pad SAME_UPPER", "GatherElements of negative indices", "GridSample with mode bicubic",
    "GridSample with mode cubic", "LRN of an even size", "Resize of axes that do not ascend",
    "Resize-10 with mode linear", "RoiAlign with mode max", "Round", "Shrink", "DynamicQuantizeLinear",
    "QuantizeLinear", "Softplus", "Pad of negative pads", "GatherND of negative indices", "TopK whose indices are read",
    "ScatterElements with reduction max", "ScatterElements with reduction min", "ScatterND with reduction max",
    "ScatterND with reduction min", "DequantizeLinear of computed x_scale", "DequantizeLinear of computed x_zero_point",
    "OneHot of computed depth", "OneHot of computed values", "Reduction of computed axes",
    "RoiAlign-10",
})  # fmt: skip
"""Forms of operators that it gives other numbers for."""

LOCAL_FUNCTIONS = False

LOADED: dict[str, tuple[int | None, int | None]] = {"3.6.1": (None, None)}
"""Release → the highest opset and IR version that it loads; ``None``: no limit was found."""

IN_PART = True
"""Of patterns, those that occur most in models were measured, and not every type."""

PROVEN: dict[str, tuple[str, ...]] = {}
"""Recipe → element types with which it was run here and is right: none was run."""

# ---- running --------------------------------------------------------------------------------------------------

KINDS = {"dtype.float": "float32", "dtype.int": "int32", "dtype.uint8": "uint8", "dtype.int8": "int8"}
"""What its tensors hold, by its own names: it makes the nearest of these of the types of a model."""


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Convert an ONNX model, load it, and return what runs it."""
    import MNN
    import numpy as np
    import onnx

    graph = onnx.load_from_string(model).graph
    stored = {tensor.name for tensor in graph.initializer}
    names = [one.name for one in graph.input if one.name not in stored]
    outputs = [one.name for one in graph.output]
    net = _converted(model, names, outputs)
    kinds = [one.dtype for one in net.get_info()["inputs"]]

    def run(inputs: list[Any]) -> list[Any]:
        arrays = {name: np.frombuffer(data, dtype).reshape(shape) for name, dtype, shape, data in inputs}
        given = []
        for name, kind in zip(names, kinds, strict=True):
            array = arrays[name].astype(KINDS[str(kind)])
            elements = array.reshape(-1).tolist() if array.dtype == np.int8 else array  # no array of int8 is taken
            given.append(MNN.expr.const(elements, list(array.shape), MNN.expr.NCHW, kind))
        found = net.forward(given)
        results = [one.read() for one in (found if isinstance(found, list | tuple) else [found])]
        if len(results) < len(outputs):  # of a model without outputs it gives what no node reads
            raise RuntimeError("it gives no array for an output")
        return [(one.dtype.name, one.shape, np.ascontiguousarray(one).tobytes()) for one in results[: len(outputs)]]

    return run


def _converted(model: bytes, inputs: list[str], outputs: list[str]) -> Any:
    """A model as MNN's module."""
    import os
    import tempfile

    import _tools
    import MNN

    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("model.onnx", "model.mnn")]
        with open(paths[0], "wb") as stream:
            stream.write(model)
        arguments = ["-f", "ONNX", "--modelFile", paths[0], "--MNNModel", paths[1], "--bizCode", "minuend"]
        _tools.mnnconvert(["mnnconvert", *arguments])
        if not os.path.exists(paths[1]):
            raise RuntimeError("MNN's converter makes no model of it")
        return MNN.nn.load_module_from_file(paths[1], inputs, outputs)
