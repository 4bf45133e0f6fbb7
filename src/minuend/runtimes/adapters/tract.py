"""tract. Stands alone: a worker loads this file where minuend is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NAME = "tract"
PACKAGE = "tract"
DIALECTS = ("onnx",)
ARRAYS = False
CONSTANTS = ("none", "A", "B", "both")
RULES = None

# ---- beyond the measured data ---------------------------------------------------------------------------------

_TYPED = "tract reads no uint64_data; store it as raw_data, as minuend fix does"
_SIZES = "tract refuses value_info whose sizes or names of dims it does not find itself; minuend fix leaves it out"
STRICT = {
    **{
        f"{operator} with direction reverse": (
            "different-numbers",
            f"tract gives other numbers for {operator} of direction reverse; reverse its input",
        )
        for operator in ("GRU", "LSTM", "RNN")
    },
    "sparse initializer": ("not-implemented", "tract reads no sparse initializers; minuend fix stores the zeros"),
    "sparse_value": ("not-implemented", "tract reads no sparse_value; minuend fix stores the zeros"),
    "deprecated operator": (
        "unknown",
        "tract refuses some operators that their opset deprecates, such as Upsample from opset 10 on",
    ),
    "nodes of one name": ("not-implemented", "tract takes no two nodes of one name; rename one"),
    "input dim without name": ("not-implemented", "tract needs a name or a size of every dim of an input"),
    "input without shape": ("not-implemented", "tract needs the shape of every input"),
    "output that is an input": ("not-implemented", "tract gives no input back as an output"),
    "Loop": ("not-implemented", "tract has no Loop"),
    "local function": ("not-implemented", "tract reads no local functions; minuend fix inlines them"),
    **{f"{dtype} in uint64_data": ("not-implemented", _TYPED) for dtype in ("uint32", "uint64")},
    "Reshape to known sizes, of open ones": (
        "unknown",
        "tract refuses a Reshape to known sizes of what has open dims; state the sizes of the inputs, or one as -1",
    ),
    **{
        f"square of {dtype}": ("not-implemented", "tract leaves - 0 out, and has no square of it for x * (x - 0)")
        for dtype in ("int16", "uint16", "uint32", "int64", "uint64")
    },
    **{
        f"square of {dtype}": ("different-numbers", "tract leaves - 0 out of x * (x - 0), and its squares saturate")
        for dtype in ("int8", "uint8", "int32")
    },
    "value_info of other sizes": ("not-implemented", _SIZES),
    "value_info of other names": ("not-implemented", _SIZES),
    "value_info that inference does not find": ("unknown", _SIZES),
    "sizes joined when it runs": (
        "unknown",
        "tract refuses some stated sizes, cuts and reshapes of what is broadcast along open or differently named dims",
    ),
    "behind Einsum": ("unknown", "tract can compute Einsum together with what is behind it, and round otherwise then"),
    "signs of zero mixed up": ("unknown", "tract takes constants that differ in the sign of 0 alone for one"),
}
"""Rules that models break, ways to store constants that it does not read, and graphs that it does not take: the
verdict, and why. A cut behind a broadcast is made of the operands, and refused where one has size 1 there; Reshape,
Flatten, Gemm and others are refused because the size is an expression. Of constants of one shape, leading axes of size
1 aside, the first is kept; so of those that it folds, with NaN, and of the 0 in Relu, Elu, Selu, Celu, HardSigmoid,
ThresholdedRelu, Shrink, PRelu, LpNormalization, Conv and ConstantOfShape. Squares of int8, uint8 and int32 saturate:
x * (x - 0) of uint8 is 255 where x is."""

BFLOAT16_OUT = False

TAKES_FOR_ZERO = ("float64",)
"""It leaves a constant B of 1e-46 out, which is 0 in float32."""

_STORED = {
    "BatchNormalization": "scale B input_mean input_var", "CumSum": "axis", "DFT": "axis",
    "DequantizeLinear": "x_scale x_zero_point", "Expand": "shape", "OneHot": "depth values",
    "Pad": "pads constant_value", "QuantizeLinear": "y_scale y_zero_point", "Reduction": "axes", "Reshape": "shape",
    "Resize": "scales sizes", "STFT": "frame_step window", "Slice": "axes steps", "Split": "split", "Squeeze": "axes",
    "Tile": "repeats", "Unsqueeze": "axes",
}  # fmt: skip
"""Operator → inputs that have to be stored in the model: it runs none that are computed."""
LACKED = frozenset({
    "AffineGrid", "Bernoulli", "BitCast", "CausalConvWithState", "CenterCropPad", "Col2Im", "CumProd", "DeformConv",
    "Det", "ImageDecoder", "LinearAttention", "LpPool", "MaxUnpool", "NegativeLogLikelihoodLoss", "OptionalGetElement",
    "OptionalHasElement", "ReverseSequence", "RoiAlign", "SoftmaxCrossEntropyLoss", "SwiGLU", "TensorScatter",
    "TfIdfVectorizer", "Unique", "Upsample", "ai.onnx.ml.Binarizer", "ai.onnx.ml.TreeEnsemble",
    "GRU with sequence_lens", "LSTM with sequence_lens", "RNN with sequence_lens",
    "ConvTranspose with auto_pad SAME_LOWER", "ConvTranspose with auto_pad SAME_UPPER", "QuantizeLinear to 16 bits",
    "Pad with mode wrap", "Pad of negative pads", "GatherND of negative indices",
    *(f"{operator} of computed {name}" for operator, names in _STORED.items() for name in names.split()),
})  # fmt: skip
"""Operators, and forms of them, that it does not run, as ``tools/measure_operators.py`` and the tests found."""
DEVIATING = frozenset({
    "GRU with activations Relu", "GRU with clip", "GRU with other activations", "LSTM with activations Relu",
    "LSTM with clip", "LSTM with other activations", "RNN with activations Relu", "RNN with clip",
    "RNN with other activations", "LRN of an even size", "Resize to rounded sizes with align_corners",
    "Resize-10 with mode nearest", "Attention with a window", "Slice of computed starts", "Slice of computed ends",
    "Softplus", "DFT along the default axis",
    "Celu with another alpha than 1",
})  # fmt: skip
"""Forms of operators that it gives other numbers for."""

LOCAL_FUNCTIONS = False

LOADED: dict[str, tuple[int | None, int | None]] = {"0.23.9": (None, None)}
"""Release → the highest opset and IR version that it loads; ``None``: no limit was found."""

IN_PART = True
"""Of patterns, those that occur most in models were measured, and not every type."""

PROVEN: dict[str, tuple[str, ...]] = {
    "through float32": ("float16",),
    "through int32, wrapped with BitwiseAnd": ("int16", "int8", "uint16", "uint8"),
    "through int32, wrapped with Mod": ("int16", "int8", "uint16", "uint8"),
    "through float32, wrapped with Floor": ("int16", "int8", "uint16", "uint8"),
    "through int32, saturated with Clip": ("int16", "int8", "uint16", "uint8"),
    "through float32, saturated with Clip": ("int16", "int8", "uint16", "uint8"),
    "saturated with Max": ("uint32", "uint64"),
    "saturated with Max and Min": ("int32",),
    "saturated with Where": ("int64",),
    "narrowed to int32, within proven ranges": ("int32", "uint32", "uint64"),
    "kept apart with Max": ("float16", "float32"),
}
"""Recipe → element types with which it was run here and is right, whichever operands are constants."""

# ---- running --------------------------------------------------------------------------------------------------


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Read an ONNX model, optimise it, and return what runs it."""
    import os
    import tempfile

    import numpy as np
    import tract

    def build() -> tuple[Any, list[str]]:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            with open(path, "wb") as stream:
                stream.write(model)
            read = tract.onnx().load(path)
        names = [read.input_name(i) for i in range(read.input_count())]
        return read.into_model().into_runnable(), names

    runnable, names = _reported(tract.TractError, build)

    def run(inputs: list[Any]) -> list[Any]:
        given = {name: np.frombuffer(data, dtype).reshape(shape).copy() for name, dtype, shape, data in inputs}
        arrays = [given[name] for name in names]
        found = _reported(tract.TractError, lambda: [np.asarray(value.to_numpy()) for value in runnable.run(arrays)])
        return [(array.dtype.name, array.shape, array.tobytes()) for array in found]

    return run


def _reported(kind: type[Exception], call: Callable[[], Any]) -> Any:
    """Call tract; of what it says in an error, keep the innermost cause."""
    try:
        return call()
    except kind as error:
        lines = str(error).partition("Stack backtrace")[0].strip().splitlines()
        raise RuntimeError(lines[-1].strip() if lines else "tract refuses it") from None
