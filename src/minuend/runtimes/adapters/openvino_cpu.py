"""OpenVINO's CPU plugin. Stands alone: a worker loads this file where minuend is not installed."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

NAME = "openvino-cpu"
PACKAGE = "openvino"
ALIASES = ("openvino", "ov")
DIALECTS = ("openvino", "onnx")
ARRAYS = False
CONSTANTS = ("none", "A", "B", "both")
RULES = None
HINTS = {"f32": {"INFERENCE_PRECISION_HINT": "f32"}}
"""What a caller can tell it about precision; without, it is bfloat16 on processors that have instructions for it."""

SWITCHES = {
    "INFERENCE_PRECISION_HINT=f32": {"INFERENCE_PRECISION_HINT": "f32"},
    "EXECUTION_MODE_HINT=ACCURACY": {"EXECUTION_MODE_HINT": "ACCURACY"},
}
"""What else a caller can set, each by the words for it; where numbers differ, they are tried."""

ISA = {
    "avx2": {"ONEDNN_MAX_CPU_ISA": "AVX2", "OV_CPU_MAX_ISA": "AVX2"},
    "avx512f": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "OV_CPU_MAX_ISA": "AVX512_CORE"},
    "avx512_bf16": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16", "OV_CPU_MAX_ISA": "AVX512_CORE_BF16"},
}
"""The newest instruction set that it may use → what says so, to oneDNN's kernels and to its own. Releases that do not
know the second variable limit the first kind alone."""

BY_ISA = (
    (
        ("bfloat16",),
        ("none", "A", "B"),
        "rounds bfloat16 where the processor has avx512f; with avx2 alone it cuts off: 0.1 - 0.5 gives -0.398",
    ),
    (
        ("float32",),
        ("A", "B", "both"),
        "clamps float32 constants beyond bfloat16's largest only where the processor has avx512_bf16 or amx_tile",
    ),
)
"""What hangs on the processor: element types, constants, and what it does; seen of 2026.4.1 with limits as above."""

OLDER_DIFFER = ("bfloat16",)
"""Types with wrong numbers on processors up to avx2 that newer ones do not have."""

# ---- beyond the measured data ---------------------------------------------------------------------------------

TAKES_ANYWAY = {"onnx_legacy": "openvino's ONNX reader takes it all the same and joins the shapes by NumPy's rule"}
_RAW = "store it as raw_data, as minuend fix does"
_OVER_ALL = "this release of openvino reduces over all axes where some reductions, as ReduceL1, state axes as an "
_ATTRIBUTE_SINCE = {"ReduceL1": (2025, 1), "ReduceLogSum": (2026, 3), "ReduceLogSumExp": (2026, 3)}
"""Reductions over all axes, whatever the attribute says, and the first release of them: ReduceL1 was right in 2025.0.0
and wrong in 2025.2.0, the two of logarithms right in 2026.2.1 and wrong in 2026.4.1."""
_INPUT_BEFORE = {
    "ReduceL1": (2024, 6), "ReduceL2": (2024, 3), "ReduceLogSum": (2024, 3), "ReduceLogSumExp": (2024, 6),
    "ReduceMax": (2024, 3), "ReduceMean": (2024, 3), "ReduceMin": (2024, 3), "ReduceProd": (2024, 6),
    "ReduceSumSquare": (2024, 3),
}  # fmt: skip
"""The same, whatever the input says, and the first release that is right: all were wrong from 2023.0.0 to 2024.0.0,
three in 2024.3.0 too, and none in 2024.6.0."""
_BATCHWISE = "openvino hands out other axes of {} of layout 1; use layout 0 and a Transpose"
_UNHEEDED = {
    "DFT with onesided 1": "openvino keeps an axis more of a DFT that is onesided; cut the whole one",
    **{f"{operator} with layout 1": _BATCHWISE.format(operator) for operator in ("GRU", "LSTM", "RNN")},
    **{
        f"Resize with {setting}": f"openvino does not heed {setting.split()[0]} of Resize; leave that attribute out"
        for setting in (
            "antialias 1",
            "exclude_outside 1",
            "keep_aspect_ratio_policy not_larger",
            "keep_aspect_ratio_policy not_smaller",
        )
    },
}
"""Attributes that it does not heed: so from 2023.0.0 to 2026.4.1. Below 2025.4 it refuses a policy, and 2023.0 layout
1."""
STRICT = {
    **{
        f"ScatterND with reduction {reduction}": (
            "not-implemented",
            "before 2026.4, openvino has no ScatterND with a reduction; update it",
        )
        for reduction in ("add", "mul")
    },
    "Resize with coordinate_transformation_mode half_pixel_symmetric": (
        "not-implemented",
        "openvino has no half_pixel_symmetric of Resize; use half_pixel",
    ),
    **{kind: ("different-numbers", reason) for kind, reason in _UNHEEDED.items()},
    "Softmax-11 over several axes": (
        "different-numbers",
        "openvino goes along one axis in Softmax-11",
        "onnx:13",
    ),
    **{
        f"{operator} of axes as an attribute": (
            "different-numbers",
            f"{_OVER_ALL}attribute",
            "onnx:18",
        )
        for operator in _ATTRIBUTE_SINCE
    },
    **{
        f"{operator} of axes as an input": ("different-numbers", f"{_OVER_ALL}input", "onnx:17")
        for operator in _INPUT_BEFORE
    },
    "sparse initializer": ("not-implemented", "openvino reads no sparse initializers; minuend fix stores the zeros"),
    "domain named in a node": (
        "not-implemented",
        "openvino does not know the domain ai.onnx by its name; leave it out of nodes",
    ),
    "difference behind two layers": (
        "unknown",
        "openvino 2026.4 ends the process while it loads such a difference in float32",
    ),
    "sum behind attention": (
        "unknown",
        "openvino 2026.4 ends the process while it loads such a sum or difference that is read twice",
    ),
    "gated cell": (
        "different-numbers",
        "openvino makes one GRU cell of it that rounds otherwise and subtracts from 1 whatever stands there, or fails",
    ),
    "input without shape": (
        "not-implemented",
        "openvino's CPU plugin needs the rank of every input; reshape the model, or give the input a shape",
    ),
    "input without type": (
        "not-implemented",
        "openvino's CPU plugin needs the element type of every input; give each Parameter its element_type",
    ),
    "captured": ("unknown", "openvino does not always find what a body reads and a later node makes"),
    "shadowed": (
        "not-implemented",
        "openvino takes a body's input that bears the name of a value around it for that one, and refuses the loop",
    ),
    "operand of bfloat16 in int32_data": (
        "different-numbers",
        f"openvino takes the bits of bfloat16 in int32_data for whole numbers, so that 1 is 16256; {_RAW}",
    ),
    "uint32 in uint64_data": ("unknown", f"some releases of openvino read uint32 in uint64_data wrong; {_RAW}"),
    "sums of float64 constants": (
        "not-implemented",
        "openvino never ends loading a sum of float64 constants that is added to another, or less another; store it",
    ),
    "input in 16 bits": (
        "not-implemented",
        "from 2026.1 on, openvino refuses an output that is an input, quantised to 16 bits: FQ stripping failed",
    ),
    "no uint32": ("unknown", f"some releases of openvino refuse uint32 without elements; {_RAW}"),
}
"""Rules that models break, and ways to store constants that it does not read: the verdict, and why. uint32 in
uint64_data: 2024.3.0 reads it, 2025.4.1 and 2026.4.1 take 1, 2 for 1, 0, and 2025.4.1 refuses it in a Constant. Sums of
float64: 2024.6.0 refuses the model (AddAddFusion: cannot constant fold), 2025.4.1 and 2026.4.1 load it for ever."""
_STORED = {"STFT": "frame_step frame_length", "Slice": "axes", "Unsqueeze": "axes"}
"""Operator → inputs that have to be stored in the model: it runs none that are computed."""
LACKED = frozenset({
    "Bernoulli", "BitCast", "CausalConvWithState", "CumProd", "DeformConv", "Det", "GRU", "ImageDecoder", "LSTM",
    "LinearAttention", "MaxUnpool", "MelWeightMatrix", "OptionalGetElement", "OptionalHasElement", "RNN", "SwiGLU",
    "TensorScatter", "TfIdfVectorizer", "ai.onnx.ml.ArrayFeatureExtractor", "ai.onnx.ml.Binarizer",
    "ai.onnx.ml.TreeEnsemble", "GRU with other activations", "LSTM with other activations",
    "RNN with other activations", "GridSample with mode cubic", "Resize of axes that do not ascend",
    "Pad with mode wrap",
    *(f"{operator} of computed {name}" for operator, names in _STORED.items() for name in names.split()),
    "GatherElements of indices of another shape",
    "AffineGrid of computed size", "STFT of computed window", "ScatterND with reduction max",
    "ScatterND with reduction min",
})  # fmt: skip
"""Operators, and forms of them, that it does not run, as ``tools/measure_operators.py`` and the tests found."""
DEVIATING = frozenset({
    "AveragePool whose last window begins in the padding", "MaxPool whose last window begins in the padding",
    "AveragePool that counts what lies behind the padding", "AveragePool with dilations",
    "GatherElements of negative indices", "LRN of an even size", "LSTM with peepholes", "RoiAlign with mode max",
    "Attention with a window", "Pad of computed constant_value", "QuantizeLinear of computed y_zero_point", "BitShift",
    "DynamicQuantizeLinear", "QuantizeLinear with an odd zero point",
    "QuantizeLinear to 16 bits", "TopK whose indices are read", "DFT along the default axis",
    "Tile of four axes or more by repeats that are not stored",
    "Reduction of computed axes", "GatherND of negative indices",
    "Cast of integers to a type that does not hold all of them",
    "LayerNormalization with a scale or bias that is broadcast", "NonMaxSuppression without iou_threshold",
    "RoiAlign without sampling_ratio",
})  # fmt: skip
"""Forms of operators that it gives other numbers for; below 2025.0 it refuses peepholes."""
CONTRIB = ("org.openvinotoolkit.", *(f"com.microsoft.{name}" for name in (
    "Attention", "BiasAdd", "BiasGelu", "DequantizeLinear", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul",
    "EmbedLayerNormalization", "FastGelu", "FusedConv", "FusedGemm", "FusedMatMul", "GatherBlockQuantized", "GatherND",
    "Gelu", "GroupNorm", "GroupQueryAttention", "MatMulIntegerToFloat", "MatMulNBits", "MultiHeadAttention", "Pad",
    "QLinearAdd", "QLinearAveragePool", "QLinearConcat", "QLinearLeakyRelu", "QLinearMul", "QLinearReduceMean",
    "QLinearSigmoid", "QLinearSoftmax", "QLinearWhere", "QuantizeLinear", "QuickGelu", "Range", "RotaryEmbedding",
    "SkipLayerNormalization", "SkipSimplifiedLayerNormalization", "Trilu",
)))  # fmt: skip
"""Operators of others than ONNX that it has a conversion for, in 2026.4.1; older releases were not queried."""
STRICT_SINCE = {
    **dict.fromkeys(("input in 16 bits", "QuantizeLinear to 16 bits"), (2026, 1)),
    **{f"{operator} of axes as an attribute": release for operator, release in _ATTRIBUTE_SINCE.items()},
}
"""The release from which on it does not take that. It takes quantisations to 16 bits away, and nothing is left then."""
STRICT_BEFORE = {
    **{f"{operator} of axes as an input": release for operator, release in _INPUT_BEFORE.items()},
    **{f"ScatterND with reduction {reduction}": (2026, 4) for reduction in ("add", "max", "min", "mul")},
    "AffineGrid of computed size": (2025, 4),
    "STFT of computed window": (2026, 0),
    "Reduction of computed axes": (2024, 6),
    "GatherND of negative indices": (2025, 4),
    "Cast of integers to a type that does not hold all of them": (2025, 4),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), (2023, 1)),
    "AveragePool whose last window begins in the padding": (2026, 4),
    "AveragePool with dilations": (2025, 4),
    "GatherElements of negative indices": (2025, 4),
    "GridSample with mode cubic": (2026, 4),
    "Resize of axes that do not ascend": (2025, 4),
}
"""The release from which on it takes that."""

LOCAL_FUNCTIONS = False
SHARES = ("float16", "bfloat16", "float32", "float64")
"""A kernel is found by a hash of what it computes (:mod:`minuend.runtimes.hashed_scalars`): ``x - (-18)`` and
``x - 71`` of 513 float32 elements in a model are both computed with -18, and ``x - (-18)`` behind ``y + (-71)`` with
-71. Of 1,000 scalars of one shape 15 to 40 meet another; of integers and open shapes none did, nor in an If and around
it. float16 and float64 are hashed as float32: 38 of 38 pairs that met."""
NARROW_CONSTANTS = "rounded last"
"""It folds float16 in float32 and rounds what comes of it once: ``Sub(Mul(w, k), p)`` differs in 28 to 420 of 576
elements, ``Sub(x, Mul(w, k))`` in none in 2026.0.0, 2026.2.1 and 2026.4.1."""
SPLITS = True
"""LayerNormalization becomes MVN, a product and a sum: next to a subtraction of three axes 80 to 240 of 512 elements
differ by a rounding. A bias is joined with a constant that is added or subtracted, of any number of axes; with another
value it is not. Of four axes the scale is a part of MVN, and nothing differs. The bias of ConvTranspose is such a sum
as well."""
RESCALES = True
"""QuantizeLinear and DequantizeLinear become FakeQuantize, a product and a sum: 398 of 512 elements of ``y - x`` differ
by a rounding where ``y`` is made so of x, none where DequantizeLinear is given its integers and a zero point; without
one it is a product, and 140 to 170 of 512 do. A model that has them and
``1 - Cast(bool)`` besides can be refused (unsupported src_prc: boolean). A constant that is added or subtracted before
is added there: of 262,141 numbers, half of them between two levels, ``QuantizeLinear(x - k)`` differs in 800 to 60,000,
``k - x`` too where shapes are known and nothing else reads it, and with an array of k and open shapes nearly all do. So
in 2024.6.0, 2025.4.1 and 2026.4.1, with k of one element or along the first or second axis, and with Identity, Neg or
Concat between; not with Relu, Abs, Max, Reshape or Transpose. With Clip between NaN alone becomes the other end."""
ONE_FLOAT = True
"""``Cast(Cast(x * 0.0173, float16), float32) - y`` with the hint f32 is one node, a product and a sum that are rounded
once, as without the two conversions. So it is with float64, and in 2023.3.0, 2025.4.1 and 2026.0.0 to 2026.4.1.
Conversions to bfloat16 stay."""
CROSSES = True
"""``MatMul(x, w) - k`` with open dims, k of 8 channels, which is the second axis of four or five: where the last axis
has 8 elements, too, k is taken for a number of each of those; where it has not, the model is refused (data size: 8 OC:
16). So in 17 of 33 random graphs; in the others another sum lies between, or both factors are computed. None of 227
with k along another axis, or with two or three axes, differs. Of three axes it applies
a constant along the second one along the first, behind what reduces the first or the last: 28 of 32 elements of
``ReduceMax(x) - k`` are wrong, from 2023.3.0 on. A depthwise convolution of three axes takes a difference into its
sums. ``y - ReduceMax(x)`` of one shape gives +0 for -0 less +0, as all that reduce do but logarithms of sums."""
_SEEN = ("2026.4.1",)
RIGHT = dict.fromkeys(("minus 0 kept", "constants kept", "less itself", "less known"), _SEEN)
"""It removes ``x - 0``, and then the wrong one of -0, but never what stands between an input and an output. Constants
lose the sign of 0 where it clamps or flushes one of their elements. ``a*b - a*b`` is 0. So with AMX, with AVX-512 and
with AVX2 alone, static and dynamic shapes, 120 random arrays and every edge of float32. Where B's shape is open,
``-0 - 0`` is 0; where A's alone is, it is -0: so in each of 110 pairs of shapes of one to four dims, open or known."""
OPENS_BODIES = True
"""``-0 - 0`` is 0 in a branch of If and in Loop, whatever shapes are known, and -0 in TensorIterator."""
OPERATORS_FROM = {"BitwiseAnd": (2024, 4)}
APART_FROM = (2025, 4)
"""2025.2 and before began the sums with the other operand of a subtraction."""

LOADED = {
    "2023.0.0": (None, None),
    "2023.1.0": (None, None),
    "2023.2.0": (None, None),
    "2023.3.0": (None, None),
    "2024.0.0": (None, None),
    "2024.3.0": (None, None),
    "2024.6.0": (None, None),
    "2025.0.0": (None, None),
    "2025.2.0": (None, None),
    "2025.4.1": (None, None),
    "2026.0.0": (None, None),
    "2026.2.1": (None, None),
    "2026.4.1": (None, None),
}
"""Release → the highest opset and the highest IR version of ONNX that it loads; ``None``: no limit was found."""

_ANY = ("none", "A", "B", "both")
LIMITS = (
    (
        ("through int64, wrapped with BitwiseAnd", "through int64, wrapped with Mod"),
        ("int32", "uint32"),
        _ANY,
        (),
        "int64 is computed in int32, and the constants of the recipe are above it",
    ),
    (
        ("through float32",),
        ("bfloat16",),
        ("none", "A", "B"),
        ("subnormal", "negative zero", "rounds"),
        "subnormal bfloat16 becomes zero when it is converted, and up to avx2 what is converted to it is cut off",
    ),
    (
        ("through float32",),
        ("bfloat16",),
        ("both",),
        ("subnormal", "rounds"),
        "folded constants are not rounded to nearest even",
    ),
    (
        ("through float32",),
        ("float16",),
        _ANY,
        (),
        "releases that have float16 wrong have it wrong when it is converted",
    ),
    (("saturated with Max",), ("uint32", "uint64"), _ANY, ("beyond int32",), "unsigned numbers are compared as int32"),
    (
        ("saturated with Max",),
        ("uint32", "uint64"),
        ("none", "A"),
        ("wraps",),
        "unsigned numbers are compared as int32",
    ),
    (
        ("saturated with Max and Min",),
        ("int32",),
        ("A",),
        ("wraps",),
        "Max and Min of one number become Clamp, whose bounds are rounded to float32",
    ),
    (
        ("saturated with Where",),
        ("int64",),
        _ANY,
        (),
        "int64 is computed in int32, and in float32 where the shape is known when it runs",
    ),
    (("kept apart with Max",), ("float32", "float16"), ("none", "A"), ("negative zero",), "lost where shapes are open"),
    (
        ("kept apart with Max",),
        ("float32",),
        ("A", "B", "both"),
        ("negative zero", "subnormal", "ordinary", "rounds", "overflows"),
        "constants lose subnormal numbers and what is beyond bfloat16's largest",
    ),
)
"""Recipes that are not right here: their names, element types, constants, value classes (none: all), and why."""

_WHILE_IT_LOADS = frozenset((
    "Abs", "Acos", "Acosh", "Add", "And", "ArgMax", "ArgMin", "Asin", "Asinh", "Atan", "Atanh",
    "BatchNormalization", "BitShift", "Clip", "Compress", "Cos", "Cosh", "Div", "Einsum", "Equal", "Erf", "Exp",
    "Floor", "Gemm", "GlobalAveragePool", "GlobalMaxPool", "Hardmax", "LayerNormalization", "Log", "LogSoftmax",
    "MatMul", "Max", "MaxPool", "Mean", "Min", "Mul", "Neg", "NonZero", "Not", "OneHot", "Or", "Pow", "Reciprocal",
    "ReduceL1", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare", "Relu", "Round", "ScatterElements", "ScatterND", "ScatterUpdate", "Sigmoid",
    "Sign", "Sin", "Sinh", "Sqrt", "Sub", "Sum", "Tan", "Tanh", "TopK",
))  # fmt: skip
"""Operators of constants that it computes while it loads a model, but for some of 8 bits."""
_OF_8_BITS = frozenset((
    "Add", "Compress", "Floor", "GlobalMaxPool", "MaxPool", "Mod", "OneHot", "ReduceMax", "ReduceMin", "ScatterUpdate",
    "Sub", "Sum",
))  # fmt: skip
"""Those of 8 bits."""


def folds(operator: str, dtype: str) -> bool:
    """Whether it computes an operator of constants while it loads a model.

    Numbers of 8 bits saturate where it does not: ``Max(w, v) - k`` of uint8 gives 0 for 5 - 10.
    """
    if dtype in ("int8", "uint8"):
        return operator in _OF_8_BITS
    return operator in _WHILE_IT_LOADS or (operator == "Mod" and "int" in dtype)


_LARGEST_BFLOAT16 = float(2**127 * (2 - 2**-7))


def loses(name: str, kind: str, bits: int, array: Any) -> str:
    """Say why a constant does not stay as the model has it; empty where it is."""
    import numpy as np

    if kind != "float":
        beyond = int(array.min()) < -(2**31) or int(array.max()) >= 2**31
        return f"the result is a constant of {name} beyond int32, which {NAME} clamps" if beyond else ""
    if bits > 32:
        return f"{NAME} computes with constants of {name} in float32"
    if bits < 16:
        return ""
    exact = array.astype(np.float64)
    small = np.abs(exact[exact != 0])
    if name != "float16" and small.size and small.min() < 2.0**-126:
        return f"the result holds subnormal numbers of {name}, and {NAME} takes them for 0 in constants"
    if name == "float32" and (np.abs(exact[np.isfinite(exact)]) > _LARGEST_BFLOAT16).any():
        return f"the result holds numbers beyond bfloat16's largest, which {NAME} clamps in constants"
    return ""


# ---- running --------------------------------------------------------------------------------------------------

_STATE: dict[str, Any] = {}


def _core() -> tuple[Any, Any]:
    """One core for all models; threads are of no use to small ones and cost time to start."""
    if not _STATE:
        # openvino's tools, which it imports, send statistics of use to a server where a package for that is installed.
        # They do without it where there is none, and this process gets none.
        sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
        import openvino

        if not hasattr(openvino, "Core"):  # releases before 2023.3
            import openvino.runtime as openvino
        core = openvino.Core()
        core.set_property("CPU", {"INFERENCE_NUM_THREADS": "1", "NUM_STREAMS": "1"})
        _STATE.update(core=core, openvino=openvino)
    return _STATE["core"], _STATE["openvino"]


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Compile an IR or ONNX model and return what runs it."""
    _, ov = _core()
    compiled = _compiled(head["form"], head.get("hint", ""), head.get("switch", ""), model, weights)

    def run(inputs: list[Any]) -> list[Any]:
        request = compiled.create_infer_request()
        known = {name for port in compiled.inputs for name in port.get_names()}
        read = [one for one in inputs if one[0] in known]  # some releases leave out inputs that nothing reads
        for name, _, shape, data in read if len(read) == len(compiled.inputs) else inputs:
            tensor = ov.Tensor(compiled.input(name).get_element_type(), ov.Shape(list(shape)))
            _fill(tensor, data)
            request.set_tensor(name, tensor)
        request.infer()
        outputs = [request.get_output_tensor(i) for i in range(len(compiled.outputs))]
        return [(o.get_element_type().get_type_name(), tuple(o.get_shape()), _bytes(o)) for o in outputs]

    return run


@functools.lru_cache(maxsize=4)
def _compiled(form: str, hint: str, switch: str, model: bytes, weights: bytes) -> Any:
    """Compile a model. That takes 20 ms, and graphs of narrow types are run with other inputs directly afterwards."""
    core, _ = _core()
    return core.compile_model(
        _read(core, form, model, weights), "CPU", {**HINTS.get(hint, {}), **SWITCHES.get(switch, {})}
    )


def _read(core: Any, form: str, model: bytes, weights: bytes) -> Any:
    """Read a model from a file, the one way that every release has."""
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx" if form == "onnx" else "model.xml")
        for name, data in ((path, model), (os.path.join(folder, "model.bin"), weights)):
            if data:
                with open(name, "wb") as stream:
                    stream.write(data)
        read = core.read_model(path)
        # Weights are mapped into memory: what reads them later must not find them gone.
        return read.clone()


def _memory(tensor: Any) -> Any:
    """A tensor's bytes, which NumPy may see under a dtype of its own choice (bfloat16 as float16)."""
    import numpy as np

    return tensor.data.reshape(-1).view(np.uint8)


def _fill(tensor: Any, data: bytes) -> None:
    import numpy as np

    if data:
        _memory(tensor)[:] = np.frombuffer(data, np.uint8)


def _bytes(tensor: Any) -> bytes:
    return bytes(_memory(tensor)) if tensor.get_byte_size() else b""
