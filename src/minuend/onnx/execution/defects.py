"""What evaluators are known to compute wrongly: an operator, when, and why; such a node is refused by name.

The rows were found by running ONNX's backend tests and random attributes through both evaluators; where they differ
beyond rounding, the standard's text decides. ``tests/onnx/execution/test_defects.py`` shows each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
from onnx.helper import tensor_dtype_to_np_dtype

from minuend.onnx.documents.tensors import Attributes, Inputs


@dataclass(frozen=True)
class Case:
    """A node where it runs: the main domain's opset, its values, its attributes, and which outputs it requests."""

    opset: int
    inputs: Inputs
    stated: Attributes
    outputs: Sequence[str]

    def given(self, index: int) -> Any:
        """An input, or ``None`` where it is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def requests(self, index: int) -> bool:
        """Whether an output is requested."""
        return index < len(self.outputs) and bool(self.outputs[index])

    def text(self, name: str, default: str = "") -> str:
        """An attribute that is a text."""
        value = self.stated.get(name, default)
        return value.decode() if isinstance(value, bytes) else str(value or default)

    def numbers(self, name: str) -> list[int]:
        """An attribute that is a list of numbers."""
        return [int(one) for one in self.stated.get(name) or ()]

    @property
    def rank(self) -> int:
        """The rank of the first input."""
        return int(np.ndim(self.inputs[0]))

    @property
    def same_padding(self) -> bool:
        """Whether the padding follows from the result's shape."""
        return self.text("auto_pad").startswith("SAME")

    @property
    def dilated(self) -> bool:
        """Whether the window has gaps."""
        return any(one > 1 for one in self.numbers("dilations"))

    @property
    def last_axis(self) -> bool:
        """Whether an axis, 1 by default, is the last one."""
        return int(self.stated.get("axis", 1)) in (-1, self.rank - 1)


@dataclass(frozen=True)
class Defect:
    """One way in which an operator goes wrong: when, and what is wrong then."""

    holds: Callable[[Case], bool]
    why: str


def _scaled(case: Case) -> bool:
    """A Resize by scales, in a mode that looks at the length of the result."""
    scales = case.given(2) if case.opset > 10 else case.given(1)
    looks = case.text("coordinate_transformation_mode") in ("align_corners", "pytorch_half_pixel", "tf_crop_and_resize")
    return looks and scales is not None and np.size(scales) > 0


def _padded_by_itself(case: Case) -> bool:
    """The padding follows from the attribute auto_pad."""
    return case.text("auto_pad", "NOTSET") != "NOTSET"


def _rotates_odd(case: Case) -> bool:
    """A RotaryEmbedding of pairs whose number of elements is odd; the standard has no meaning for the last one."""
    rotated = int(case.stated.get("rotary_embedding_dim", 0))
    heads = int(case.stated.get("num_heads", 0)) or 1 if case.rank == 3 else 1
    return (rotated or int(case.inputs[0].shape[-1]) // heads) % 2 == 1


def _casts_by_no_flag(case: Case) -> bool:
    """A Cast to another type than an 8-bit float whose ``saturate``, which says nothing there, is no flag."""
    like = case.given(1)
    to = np.dtype(like.dtype) if like is not None else tensor_dtype_to_np_dtype(int(case.stated.get("to", 1)))
    return case.stated.get("saturate", 1) not in (0, 1) and not to.name.startswith("float8")


def _far_apart(case: Case) -> bool:
    """A LogSoftmax of numbers so far below the largest that the exponential of their distance is subnormal, or 0."""
    x = np.asarray(case.inputs[0])
    if not x.size or not x.ndim:
        return False
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        apart = wide.max(axis=int(case.stated.get("axis", 1 if case.opset < 13 else -1)), keepdims=True) - wide
    limits: Any = ml_dtypes.finfo
    return bool((apart[np.isfinite(apart)] > -np.log(float(limits(x.dtype).smallest_normal))).any())


def _multiplies_no_columns(first: int, second: int) -> Callable[[Case], bool]:
    """A product of matrices, at two inputs, of which A has no columns and the result has elements."""

    def holds(case: Case) -> bool:
        a, b = np.shape(case.inputs[first]), np.shape(case.inputs[second])
        rows = a[1:] if case.stated.get("transA") else a[:-1]
        others = b[:1] if case.stated.get("transB") else (*b[:-2], *(b[-1:] if len(b) > 1 else ()))
        return 0 in a and 0 not in (*rows, *others)

    return holds


def _sums_no_elements(weights: int) -> Callable[[Case], bool]:
    """A convolution by weights of no elements whose result has some."""

    def holds(case: Case) -> bool:
        x, w = np.shape(case.inputs[0]), np.shape(case.inputs[weights])
        return 0 in w[1:] and 0 not in (x[0], *x[2:], w[0])

    return holds


def _takes_no_step(case: Case) -> bool:
    """A recurrent network over sequences of no elements."""
    return int(np.shape(case.inputs[0])[1 if case.stated.get("layout") else 0]) == 0


def _stated(*names: str) -> Callable[[Case], bool]:
    return lambda case: any(case.stated.get(name) for name in names)


def _rows(*rows: tuple[str, Callable[[Case], bool], str]) -> Mapping[str, tuple[Defect, ...]]:
    found: dict[str, tuple[Defect, ...]] = {}
    for names, holds, why in rows:
        for name in names.split():
            found[name] = (*found.get(name, ()), Defect(holds, why))
    return MappingProxyType(found)


_IGNORED = "it ignores {}"
_FOREIGN = "it lacks onnxruntime's own operators"
_UNWRITTEN = "{} its result is memory that nothing wrote"

REFERENCE = _rows(
    ("BatchNormalization", lambda x: x.opset < 14, "before opset 14 it mixes the batch's own mean and variance in"),
    ("Softmax LogSoftmax Hardmax", lambda x: x.opset < 13 and not x.last_axis,
     "before opset 13 the dims from axis on are one, and it takes axis alone"),
    ("LogSoftmax", _far_apart, "of numbers far apart it takes the logarithm of a probability that is rounded to 0"),
    ("PRelu", lambda x: 0 in x.inputs[0] and not np.isfinite(np.asarray(x.inputs[1], np.float64)).all(),
     "it multiplies 0, which is not below 0, by a slope that is no finite number"),
    ("MaxPool", lambda x: x.requests(1), "its Indices are those of one channel"),
    ("MaxPool", lambda x: len(set(x.numbers("pads"))) > 1, "it takes pads that are not all equal in another order"),
    ("MaxPool", _padded_by_itself, "its auto_pad gives another shape or other windows"),
    ("MaxPool", _stated("ceil_mode"), "its ceil_mode gives another shape"),
    ("AveragePool", lambda x: x.opset < 7 and (x.same_padding or any(x.numbers("pads"))),
     "before opset 7 padding is not counted, and it counts it"),
    ("AveragePool LpPool", lambda x: x.dilated and (bool(x.stated.get("ceil_mode")) or _padded_by_itself(x)),
     "dilations with auto_pad or ceil_mode give another shape or other windows"),
    ("ConvTranspose", _padded_by_itself, "its auto_pad leaves out how far the kernel reaches"),
    ("GlobalMaxPool", lambda x: x.rank != 4, "it takes two of the dims, which are the spatial ones of rank 4 alone"),
    ("LRN", lambda _: True, "it normalises as many channels as there are batches, over one channel too few"),
    ("LpNormalization", lambda x: x.stated.get("p", 2) == 1, "of p = 1 it sums the numbers, not their magnitudes"),
    ("ReduceSumSquare", lambda x: x.inputs[0].dtype.kind in "iu" and x.inputs[0].dtype.itemsize < 8,
     "its result is of a wider type"),
    ("RoiAlign", lambda x: x.opset < 16, "before opset 16 there is no half pixel, and it takes one off"),
    ("RNN GRU LSTM", lambda x: x.given(4) is not None, _IGNORED.format("sequence_lens")),
    ("RNN GRU LSTM", _stated("clip"), _IGNORED.format("clip")),
    ("RNN GRU LSTM", _stated("activations"), _IGNORED.format("activations")),
    ("LSTM", _stated("input_forget"), _IGNORED.format("input_forget")),
    ("Resize", _scaled, "it takes the result's length without rounding it down"),
    ("Unique", lambda x: x.stated.get("axis") is not None and not x.stated.get("sorted", 1),
     "it takes the slices along another axis"),
    ("Dropout", lambda x: x.opset < 10 and x.requests(1), "before opset 10 the mask is of the data's type"),
    ("GridSample", lambda x: x.text("mode") in ("cubic", "bicubic") and x.text("padding_mode") == "border",
     "its cubic neighbours beyond the border are other ones"),
    ("RotaryEmbedding", _rotates_odd, "it takes pairs of an even number of elements alone"),
    ("com.microsoft.RotaryEmbedding com.microsoft.QGemm com.microsoft.MatMulIntegerToFloat", lambda _: True, _FOREIGN),
    ("com.microsoft.DynamicQuantizeMatMul", lambda _: True, _FOREIGN),
)  # fmt: skip
"""Of ONNX's reference evaluator (onnx 1.23)."""

ONNXRUNTIME = _rows(
    ("MaxPool AveragePool LpPool", lambda x: x.same_padding and x.dilated,
     "auto_pad leaves out the dilations, and the result has another shape than the input's divided by the strides"),
    ("MaxUnpool", lambda x: x.given(2) is not None, "it takes the indices as those of output_shape"),
    ("Attention", lambda x: x.requests(3) and bool(x.stated.get("is_causal")),
     "its qk_matmul_output lacks the causal mask"),
    ("RotaryEmbedding com.microsoft.RotaryEmbedding", _rotates_odd,
     "the last of an odd number of elements is memory that nothing wrote"),
    ("Cast CastLike", _casts_by_no_flag,
     "of a saturate that is neither 0 nor 1 its result is memory that nothing wrote"),
    ("MatMulInteger com.microsoft.MatMulIntegerToFloat com.microsoft.DynamicQuantizeMatMul",
     _multiplies_no_columns(0, 1), _UNWRITTEN.format("of matrices without columns")),
    ("QLinearMatMul com.microsoft.QGemm", _multiplies_no_columns(0, 3),
     _UNWRITTEN.format("of matrices without columns")),
    ("ConvInteger", _sums_no_elements(1), _UNWRITTEN.format("of weights without elements")),
    ("QLinearConv", _sums_no_elements(3), _UNWRITTEN.format("of weights without elements")),
    ("LSTM", lambda x: x.requests(2) and _takes_no_step(x), _UNWRITTEN.format("of a sequence without elements")),
)  # fmt: skip
"""Of onnxruntime (1.31.1)."""


_TABLES = {"reference": REFERENCE, "onnxruntime": ONNXRUNTIME}
_TITLES = {"reference": "ONNX's reference evaluator", "onnxruntime": "onnxruntime"}
_WAYS = {
    "reference": "evaluator='reference' runs the model on ONNX's reference evaluator",
    "onnxruntime": "with the package onnxruntime evaluator='onnxruntime' computes it",
}


def why(evaluator: str, op: str, case: Case) -> str:
    """Why an evaluator is wrong for a node, or ``""``.

    >>> why("reference", "RoiAlign", Case(10, (), {}, ("y",)))
    'before opset 16 there is no half pixel, and it takes one off'
    """
    return next((defect.why for defect in _TABLES[evaluator].get(op, ()) if defect.holds(case)), "")


def refusal(evaluator: str, op: str, case: Case) -> str:
    """What is said where an evaluator is wrong for a node, with what can be done; ``""`` where it is not."""
    wrong = why(evaluator, op, case)
    other = "reference" if evaluator == "onnxruntime" else "onnxruntime"
    return wrong and f"{_TITLES[evaluator]} is wrong for this {op}: {wrong}; {way_out(other, op, case)}"


def way_out(other: str, op: str, case: Case) -> str:
    """What can be done where one evaluator cannot compute a node: to use the other, or to write the node otherwise."""
    wrong = why(other, op, case)
    return f"{_TITLES[other]} is wrong too: {wrong}; write the node otherwise" if wrong else _WAYS[other]
