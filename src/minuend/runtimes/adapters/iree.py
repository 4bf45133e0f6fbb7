"""IREE on the CPU, through its ONNX importer. Stands alone: a worker loads this file where minuend is not installed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

NAME = "iree"
PACKAGE = "iree-base-compiler"
MODULE = "iree"
DIALECTS = ("onnx",)
ARRAYS = False
CONSTANTS = ("none", "A", "B", "both")
RULES = None

# ---- beyond the measured data ---------------------------------------------------------------------------------

_RAW = "store it as raw_data, as minuend fix does"
_TYPED = {
    way: ("not-implemented", f"IREE's importer reads {dtype} from raw_data alone; {_RAW}")
    for dtype in ("float16", "bfloat16", "uint16")
    for way in (f"{dtype} in int32_data", f"no {dtype}")
}
_FOLDED = "IREE refuses to fold two unsigned constants of up to 16 elements, or of equal ones"
_RESIZE = (
    "antialias 1",
    "exclude_outside 1",
    *(f"keep_aspect_ratio_policy not_{one}" for one in ("larger", "smaller")),
)
STRICT = {
    **{f"Resize with {one}": ("not-implemented", f"IREE compiles no Resize with {one.split()[0]}") for one in _RESIZE},
    **{
        f"Hardmax-{version} over several axes": (
            "different-numbers",
            "IREE goes along one axis in Hardmax",
            "onnx:13",
        )
        for version in (1, 11)
    },
    "sparse initializer": ("not-implemented", "IREE reads no sparse initializers; minuend fix stores the zeros"),
    "sparse_value": ("not-implemented", "IREE reads no sparse_value; minuend fix stores the zeros"),
    "domain named in a node": (
        "not-implemented",
        "IREE does not know the domain ai.onnx by its name; leave it out of nodes",
    ),
    "input without shape": ("not-implemented", "IREE takes an input without a shape for a scalar"),
    "value_info of other sizes": (
        "not-implemented",
        "IREE refuses value_info of other sizes than those it finds; minuend fix leaves it out",
    ),
    "output of other sizes": ("not-implemented", "IREE refuses outputs of other sizes than those it finds"),
    "open size stated as a number": (
        "unknown",
        "IREE refuses an open dim of another size than one that the model states behind it; state the input's size",
    ),
    "local function": ("not-implemented", "IREE reads no local functions; minuend fix inlines them"),
    **_TYPED,
    "value_floats": ("not-implemented", f"IREE does not compile value_floats; {_RAW}"),
    **{f"two constants of {dtype}": ("unknown", _FOLDED) for dtype in ("uint8", "uint16", "uint32", "uint64")},
}
"""Ways to store constants that it does not read, and constants that it does not fold: the verdict, and why."""

OPEN_DIMS = (
    "IREE takes two dynamic sizes for equal: where one of them is 1 and the other is not, it reads past the end; "
    "give equal sizes one name"
)

_STORED = {"CumSum": "axis", "STFT": "frame_length", "Slice": "axes", "Split": "split"}
"""Operator → inputs that have to be stored in the model: it runs none that are computed."""
LACKED = frozenset({
    "AffineGrid", "Attention", "BitCast", "CausalConvWithState", "Col2Im", "CumProd", "DFT", "DeformConv",
    "ImageDecoder", "LinearAttention", "MaxUnpool", "RMSNormalization", "RoiAlign", "RotaryEmbedding", "SwiGLU",
    "Swish", "TensorScatter", "ai.onnx.ml.ArrayFeatureExtractor", "ai.onnx.ml.Binarizer", "ai.onnx.ml.TreeEnsemble",
    "GRU with direction reverse", "LSTM with direction reverse", "RNN with direction reverse", "GRU with clip",
    "LSTM with clip", "ConvTranspose with auto_pad SAME_LOWER", "ConvTranspose with auto_pad SAME_UPPER",
    "GridSample with mode bicubic", "GridSample with mode cubic", "Resize of axes that do not ascend",
    "Resize-10 with mode linear", "Resize-10 with mode nearest", "Pad with mode wrap", "Pad of negative pads",
    "QuantizeLinear to 16 bits", "Pow of integers", "ScatterElements with reduction max",
    "ScatterElements with reduction min",
    *(f"{operator} of computed {name}" for operator, names in _STORED.items() for name in names.split()),
})  # fmt: skip
"""Operators, and forms of them, that it does not run, as ``tools/measure_operators.py`` and the tests found."""
DEVIATING = frozenset({
    "AveragePool whose last window begins in the padding", "MaxPool whose last window begins in the padding",
    "AveragePool that counts what lies behind the padding", "GRU with other activations",
    "GRU with sequence_lens", "LSTM with other activations", "LSTM with sequence_lens",
    "RNN with other activations", "RNN with sequence_lens", "LRN of an even size",
    "LSTM with peepholes", "RNN with clip", "Upsample-9 with mode linear",
    "Pow to powers that are not one stored number", "Cast of floats to uint8",
})  # fmt: skip
"""Forms of operators that it gives other numbers for."""

LOCAL_FUNCTIONS = False

LOADED: dict[str, tuple[int | None, int | None]] = {"3.13.0": (None, None)}
"""Release → the highest opset and IR version that it loads; ``None``: no limit was found."""

IN_PART = True
"""Of patterns, those that occur most in models were measured, and not every type."""

PROVEN: dict[str, tuple[str, ...]] = {}
"""Recipe → element types with which it was run here and is right."""

# ---- running --------------------------------------------------------------------------------------------------


def prepare(head: dict[str, Any], model: bytes, weights: bytes) -> Callable[[list[Any]], list[Any]]:
    """Compile an ONNX model for this processor and return what runs it."""
    return _compiled(model)


@functools.lru_cache(maxsize=8)
def _compiled(model: bytes) -> Callable[[list[Any]], list[Any]]:
    """A model compiled; the last ones are there for further inputs, since each takes a second or more."""
    import ml_dtypes
    import numpy as np
    import onnx
    from iree import runtime
    from iree.compiler import tools

    read = onnx.shape_inference.infer_shapes(onnx.load_from_string(model))
    read.graph.name = "main_graph"
    stored = {tensor.name for tensor in read.graph.initializer}  # no parameters, where they are inputs as well
    names = [one.name for one in read.graph.input if one.name not in stored]
    types = [onnx.helper.tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type) for one in read.graph.output]
    options = ["--iree-llvmcpu-target-cpu=host"]
    binary = tools.compile_str(_imported(read), target_backends=["llvm-cpu"], input_type="onnx", extra_args=options)
    context = runtime.SystemContext(config=runtime.Config("local-sync"))
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, binary))
    function = context.modules["module"]["main_graph"]

    def run(inputs: list[Any]) -> list[Any]:
        given = {
            name: np.frombuffer(data, getattr(ml_dtypes, dtype, dtype)).reshape(shape)
            for name, dtype, shape, data in inputs
        }
        found = function(*(given[name] for name in names))
        results = found if isinstance(found, tuple | list) else (found,) if types else ()
        arrays = [one.to_host() for one in results]
        # Its integers have no sign, so that they come back as signed ones, whatever the model says.
        return [_row(array, expected) for array, expected in zip(arrays, types, strict=True)]

    return run


def _row(array: Any, expected: Any) -> tuple[str, Any, bytes]:
    same = array.dtype.kind in "iu" and expected.kind in "iu" and array.dtype.itemsize == expected.itemsize
    return (expected.name if same else array.dtype.name), array.shape, array.tobytes()


def _imported(model: Any) -> str:
    """A model as the importer's text."""
    from iree.compiler import ir
    from iree.compiler.extras import onnx_importer

    with ir.Context() as context:
        info = onnx_importer.ModelInfo(model)
        module = info.create_module(context=context).operation
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
        return str(module.get_asm())
