"""The steps between operator versions that take more than a look at types: attributes became inputs, defaults moved.

Each adapter takes a copy of a node over one step and adds what replaces it to a builder. A value that a step needs
must be constant in the model; where it is not, the step is refused with the reason. The steps of Sub and its like
are in :mod:`minuend.onnx.convert.sub`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, TensorProto

from minuend.onnx.convert import sub
from minuend.onnx.convert.fold import elements
from minuend.onnx.convert.schemas import Refusal, attribute, drop_attribute, has_attribute, set_attribute
from minuend.onnx.convert.scope import Builder
from minuend.onnx.convert.steps import ADAPTERS, count_from_0, drop_new, spell_defaults, step
from minuend.shapes import same

__all__ = ["ADAPTERS", "sub"]

REDUCES = (
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSumSquare",
)
FLOAT8 = frozenset(number for name, number in TensorProto.DataType.items() if name.startswith("FLOAT8"))


def given(node: NodeProto, index: int) -> str:
    """The name of an input, or ``""`` where it is left out."""
    return node.input[index] if index < len(node.input) else ""


def constant(node: NodeProto, index: int, what: str, new: Builder) -> np.ndarray[Any, Any] | None:
    """The value of a constant input, ``None`` where the input is left out.

    Raises:
        Refusal: the input is not constant.
    """
    name = given(node, index)
    if not name:
        return None
    value = new.scope.constant(name)
    if value is None:
        raise Refusal(f"{what} ({name!r}) must be constant for this step, and it is computed or given from outside")
    return value


def integers(node: NodeProto, index: int, what: str, new: Builder) -> list[int] | None:
    """A constant input as a list of ints, ``None`` where it is left out."""
    value = constant(node, index, what, new)
    return None if value is None else [int(x) for x in value.reshape(-1)]


def set_inputs(node: NodeProto, names: list[str]) -> None:
    """Replace a node's inputs; those left out at the end go."""
    while names and not names[-1]:
        names.pop()
    del node.input[:]
    node.input.extend(names)


def rank_of(node: NodeProto, what: str, new: Builder) -> int:
    """The rank of the first input.

    Raises:
        Refusal: it is unknown.
    """
    rank = new.scope.rank(node.input[0])
    if rank is None:
        raise Refusal(f"{what} needs the rank of {node.input[0]!r}, which is unknown")
    return rank


# ---- axes -----------------------------------------------------------------------------------------------------


@step(*REDUCES, at=(13, 18))
@step("ReduceSum", "Squeeze", "Unsqueeze", at=(11, 13))
def axes_to_input(node: NodeProto, new: Builder) -> None:
    axes = attribute(node, "axes")
    drop_attribute(node, "axes")
    if axes:
        node.input.append(new.constant("axes", axes))
    new.keep(node)


@step(*REDUCES, at=(18, 13))
@step("ReduceSum", "Squeeze", "Unsqueeze", at=(13, 11))
def axes_to_attribute(node: NodeProto, new: Builder) -> None:
    axes = integers(node, 1, "axes", new)
    unreduced = not axes and attribute(node, "noop_with_empty_axes", 0)
    drop_attribute(node, "noop_with_empty_axes")
    if unreduced:
        if node.op_type not in ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"):
            raise Refusal(f"{node.op_type} over no axes (noop_with_empty_axes=1) has no older form")
        drop_attribute(node, "keepdims")
        node.op_type = "Identity"
    elif axes:
        set_attribute(node, "axes", axes)
    set_inputs(node, [node.input[0]])
    new.keep(node)


@step("Split", at=(2, 11))
@step("Split", at=(11, 2))
def split_as_it_is(node: NodeProto, new: Builder) -> None:
    count_from_0(node, new)
    new.keep(node)


@step("Split", at=(11, 13))
def split_to_input(node: NodeProto, new: Builder) -> None:
    sizes = attribute(node, "split")
    drop_attribute(node, "split")
    if sizes:
        node.input.append(new.constant("split", sizes))
    new.keep(node)


@step("Split", at=(13, 11))
def split_to_attribute(node: NodeProto, new: Builder) -> None:
    sizes = integers(node, 1, "the sizes of the parts", new)
    if sizes is not None:
        set_attribute(node, "split", sizes)
    set_inputs(node, [node.input[0]])
    new.keep(node)


@step("Split", at=(13, 18))
def split_count(node: NodeProto, new: Builder) -> None:
    if not given(node, 1):
        set_attribute(node, "num_outputs", len(node.output))
    new.keep(node)


@step("Split", at=(18, 13))
def split_sizes(node: NodeProto, new: Builder) -> None:
    """Split-13 splits without sizes too, but only where the parts are equal."""
    count = attribute(node, "num_outputs")
    drop_attribute(node, "num_outputs")
    if count is not None and not given(node, 1):
        shape = new.scope.shape(node.input[0])
        axis = attribute(node, "axis", 0)
        size = shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None
        if not isinstance(size, int):
            raise Refusal(f"Split-13 needs the size of axis {axis} of {node.input[0]!r}, which is unknown")
        if size % count:
            part = -(-size // count)
            set_inputs(
                node, [node.input[0], new.constant("split", [max(0, min(part, size - i * part)) for i in range(count)])]
            )
    new.keep(node)


# ---- attributes that became inputs ----------------------------------------------------------------------------


@step("Clip", at=(6, 11))
def clip_to_inputs(node: NodeProto, new: Builder) -> None:
    element = new.scope.element(node.input[0])
    bounds = []
    for name in ("min", "max"):
        value = attribute(node, name)
        drop_attribute(node, name)
        if value is None and element != TensorProto.DOUBLE:
            bounds.append("")
            continue
        if value is None:  # the default is float32's largest number, whatever the type
            value = np.finfo(np.float32).min if name == "min" else np.finfo(np.float32).max
        if not element:
            raise Refusal(f"Clip-11 needs the element type of {node.input[0]!r}, which is unknown")
        bounds.append(new.constant(name, value, onnx.helper.tensor_dtype_to_np_dtype(element)))
    set_inputs(node, [node.input[0], *bounds])
    new.keep(node)


@step("Clip", at=(11, 6))
def clip_to_attributes(node: NodeProto, new: Builder) -> None:
    for i, name in enumerate(("min", "max"), 1):
        value = constant(node, i, name, new)
        if value is not None:
            number = float(value.reshape(-1)[0])
            if float(np.float32(number)) != number:
                raise Refusal(f"Clip-6 keeps {name} as float32, which cannot hold {number}")
            set_attribute(node, name, number)
        elif new.scope.element(node.input[0]) == TensorProto.DOUBLE:
            raise Refusal(f"Clip-6 without {name} clips double at float32's largest number")
    set_inputs(node, [node.input[0]])
    new.keep(node)


@step("Pad", at=(2, 11))
def pad_to_inputs(node: NodeProto, new: Builder) -> None:
    pads, value = attribute(node, "pads"), attribute(node, "value")
    drop_attribute(node, "pads", "value")
    names = [node.input[0], new.constant("pads", pads)]
    if value is not None:
        element = new.scope.element(node.input[0])
        if not element:
            raise Refusal(f"Pad-11 needs the element type of {node.input[0]!r}, which is unknown")
        names.append(new.constant("value", value, onnx.helper.tensor_dtype_to_np_dtype(element)))
    set_inputs(node, names)
    new.keep(node)


@step("Pad", at=(11, 2))
def pad_to_attributes(node: NodeProto, new: Builder) -> None:
    set_attribute(node, "pads", integers(node, 1, "pads", new))
    value = constant(node, 2, "the value", new)
    if value is not None:
        number = float(value.reshape(-1)[0])
        if float(np.float32(number)) != number:
            raise Refusal(f"Pad-2 keeps the value as float32, which cannot hold {number}")
        set_attribute(node, "value", number)
    set_inputs(node, [node.input[0]])
    new.keep(node)


@step("Pad", at=(18, 13))
def pad_all_axes(node: NodeProto, new: Builder) -> None:
    """Pad-13 pads every axis: the pads of some are put among zeros."""
    axes = integers(node, 3, "axes", new)
    if axes is not None:
        rank = rank_of(node, "Pad-13", new)
        at = [axis % rank for axis in axes] + [axis % rank + rank for axis in axes]
        pads = _put(node.input[1], at, new.constant("none", [0] * (2 * rank)), "pads", new)
        set_inputs(node, [node.input[0], pads, given(node, 2)])
    set_inputs(node, list(node.input)[:3])
    new.keep(node)


def _put(name: str, at: list[int], into: str, hint: str, new: Builder) -> str:
    """Put the elements of a tensor of rank 1 at some places of another."""
    value, base = new.scope.constant(name), new.scope.constant(into)
    if value is not None and base is not None:
        whole = base.copy()
        whole[at] = value
        return new.constant(hint, whole, whole.dtype)
    return new.add("ScatterElements", [into, new.constant("at", at), name], hint)


@step("Pad", at=(19, 18))
def pad_modes(node: NodeProto, new: Builder) -> None:
    _one_of(node, "mode", b"constant", (b"constant", b"reflect", b"edge"), 18)
    new.keep(node)


@step("Slice", at=(1, 10))
def slice_to_inputs(node: NodeProto, new: Builder) -> None:
    names = [node.input[0]]
    for name in ("starts", "ends", "axes"):
        value = attribute(node, name)
        drop_attribute(node, name)
        if value is not None:
            names.append(new.constant(name, value))
    set_inputs(node, names)
    new.keep(node)


@step("Slice", at=(10, 1))
def slice_to_attributes(node: NodeProto, new: Builder) -> None:
    if any(s != 1 for s in integers(node, 4, "steps", new) or ()):
        raise Refusal("Slice-1 has no steps")
    for i, name in enumerate(("starts", "ends", "axes"), 1):
        value = integers(node, i, name, new)
        if value is not None:
            set_attribute(node, name, value)
    set_inputs(node, [node.input[0]])
    new.keep(node)


@step("Slice", at=(11, 10))
def slice_forwards(node: NodeProto, new: Builder) -> None:
    axes = integers(node, 3, "axes", new)
    if any(s < 1 for s in integers(node, 4, "steps", new) or ()):
        raise Refusal("Slice-10 does not say that a negative step goes backwards")
    if axes is not None and min(axes, default=0) < 0:
        rank = rank_of(node, "a negative axis", new)
        names = list(node.input)
        names[3] = new.constant("axes", [axis % rank for axis in axes])
        set_inputs(node, names)
    new.keep(node)


@step("TopK", at=(1, 10))
def topk_to_input(node: NodeProto, new: Builder) -> None:
    k = attribute(node, "k")
    drop_attribute(node, "k")
    set_inputs(node, [node.input[0], new.constant("k", [k])])
    new.keep(node)


@step("TopK", at=(10, 1))
def topk_to_attribute(node: NodeProto, new: Builder) -> None:
    k = integers(node, 1, "K", new)
    assert k is not None
    set_attribute(node, "k", k[0])
    set_inputs(node, [node.input[0]])
    new.keep(node)


@step("DFT", at=(17, 20))
def dft_to_input(node: NodeProto, new: Builder) -> None:
    axis = new.constant("axis", attribute(node, "axis", 1))
    drop_attribute(node, "axis")
    set_inputs(node, [node.input[0], given(node, 1), axis])
    new.keep(node)


@step("DFT", at=(20, 17))
def dft_to_attribute(node: NodeProto, new: Builder) -> None:
    axis = integers(node, 2, "axis", new)
    set_attribute(node, "axis", -2 if axis is None else axis[0])
    set_inputs(node, list(node.input)[:2])
    new.keep(node)


HINTED = (
    "Abs",
    "Ceil",
    "Elu",
    "Exp",
    "Floor",
    "HardSigmoid",
    "InstanceNormalization",
    "LeakyRelu",
    "Log",
    "Max",
    "Mean",
    "Min",
    "Neg",
    "PRelu",
    "Reciprocal",
    "Relu",
    "Selu",
    "Sigmoid",
    "Sqrt",
    "Sum",
    "Tanh",
)
"""Operators whose version 6 lost ``consumed_inputs``, the hint of an old memory planner, and nothing else."""


@step(*HINTED, at=(1, 6))
def drop_hint(node: NodeProto, new: Builder) -> None:
    drop_attribute(node, "consumed_inputs")
    spell_defaults(node, 1, 6)
    new.keep(node)


@step("BatchNormalization", "Dropout", at=(1, 6))
def drop_hint_and_keep_is_test(node: NodeProto, new: Builder) -> None:
    drop_attribute(node, "consumed_inputs")
    new.keep(node)


@step("BatchNormalization", at=(6, 1))
def hint_is_required(node: NodeProto, new: Builder) -> None:
    set_attribute(node, "consumed_inputs", [0] * len(node.input))
    new.keep(node)


@step("Dropout", at=(6, 1))
def dropout_as_it_is(node: NodeProto, new: Builder) -> None:
    new.keep(node)


@step("Concat", at=(1, 4))
def concat_axis(node: NodeProto, new: Builder) -> None:
    set_attribute(node, "axis", attribute(node, "axis", 1))
    new.keep(node)


@step("Concat", at=(4, 1))
def concat_as_it_is(node: NodeProto, new: Builder) -> None:
    new.keep(node)


@step("Reshape", at=(1, 5))
def reshape_to_input(node: NodeProto, new: Builder) -> None:
    shape = attribute(node, "shape", [])
    drop_attribute(node, "shape", "consumed_inputs")
    set_inputs(node, [node.input[0], new.constant("shape", shape)])
    new.keep(node)


@step("Reshape", at=(5, 1))
def reshape_to_attribute(node: NodeProto, new: Builder) -> None:
    set_attribute(node, "shape", integers(node, 1, "the shape", new))
    set_inputs(node, [node.input[0]])
    new.keep(node)


@step("Cast", at=(1, 6))
def cast_by_number(node: NodeProto, new: Builder) -> None:
    set_attribute(node, "to", TensorProto.DataType.Value(attribute(node, "to").decode()))
    new.keep(node)


@step("Cast", at=(6, 1))
def cast_by_name(node: NodeProto, new: Builder) -> None:
    set_attribute(node, "to", TensorProto.DataType.Name(attribute(node, "to")))
    new.keep(node)


@step(*HINTED, at=(6, 1))
def without_hint(node: NodeProto, new: Builder) -> None:
    spell_defaults(node, 6, 1)
    new.keep(node)


# ---- training -------------------------------------------------------------------------------------------------


@step("BatchNormalization", "Dropout", at=(6, 7))
def tested_only(node: NodeProto, new: Builder) -> None:
    if not attribute(node, "is_test", 0):
        raise Refusal(f"{node.op_type}-6 without is_test=1 trains, and {node.op_type}-7 does not")
    drop_attribute(node, "is_test")
    new.keep(node)


@step("BatchNormalization", "Dropout", at=(7, 6))
def say_tested(node: NodeProto, new: Builder) -> None:
    _outputs(node, 1)
    set_attribute(node, "is_test", 1)
    new.keep(node)


@step("BatchNormalization", at=(7, 9))
@step("BatchNormalization", at=(9, 7))
def spatial(node: NodeProto, new: Builder) -> None:
    if attribute(node, "spatial", 1) != 1:
        raise Refusal("BatchNormalization-9 has no spatial=0")
    drop_attribute(node, "spatial")
    new.keep(node)


@step("BatchNormalization", at=(9, 14))
@step("BatchNormalization", at=(14, 9))
def normalize_tested(node: NodeProto, new: Builder) -> None:
    if attribute(node, "training_mode", 0):
        raise Refusal("BatchNormalization-9 has no training_mode")
    _outputs(node, 1)
    drop_attribute(node, "training_mode")
    new.keep(node)


def _outputs(node: NodeProto, most: int) -> None:
    if any(node.output[most:]):
        raise Refusal(f"output {most} of {node.op_type} ({node.output[most]!r}) is another one in the other version")
    del node.output[most:]


@step("Dropout", at=(7, 10))
@step("Dropout", at=(10, 7))
def without_mask(node: NodeProto, new: Builder) -> None:
    _outputs(node, 1)
    new.keep(node)


@step("Dropout", at=(10, 12))
def dropout_to_input(node: NodeProto, new: Builder) -> None:
    ratio = attribute(node, "ratio", 0.5)
    drop_attribute(node, "ratio")
    node.input.append(new.constant("ratio", ratio, np.float32))
    new.keep(node)


@step("Dropout", at=(12, 10))
def dropout_to_attribute(node: NodeProto, new: Builder) -> None:
    """What does not train is the identity, whatever its ratio and its seed are."""
    training = constant(node, 2, "training_mode", new)
    if training is not None and training.reshape(-1)[0]:
        raise Refusal("Dropout-10 does not train")
    drop_attribute(node, "seed")
    ratio = new.scope.constant(given(node, 1)) if given(node, 1) else None
    if ratio is not None:
        set_attribute(node, "ratio", float(ratio.reshape(-1)[0]))
    set_inputs(node, [node.input[0]])
    new.keep(node)


# ---- softmax --------------------------------------------------------------------------------------------------


@step("Softmax", "LogSoftmax", "Hardmax", at=(11, 13))
def softmax_unflattened(node: NodeProto, new: Builder) -> None:
    """Version 11 flattens to two dims at axis; where axis is the last, that is one axis anyway."""
    axis, rank = attribute(node, "axis", 1), new.scope.rank(node.input[0])
    drop_attribute(node, "axis")
    if axis == -1 or (rank is not None and axis % max(rank, 1) == rank - 1):
        set_attribute(node, "axis", -1)
        new.keep(node)
        return
    x, output = node.input[0], node.output[0]
    shape = new.add("Shape", [x], "shape")
    set_inputs(node, [new.add("Flatten", [x], "flat", axis=axis)])
    node.output[0] = new.fresh("flat_result")
    set_attribute(node, "axis", -1)
    new.keep(node)
    new.add("Reshape", [node.output[0], shape], output=output)


@step("Softmax", "LogSoftmax", "Hardmax", at=(13, 11))
def softmax_flattened(node: NodeProto, new: Builder) -> None:
    """Another axis than the last is brought there and back."""
    axis, rank = attribute(node, "axis", -1), new.scope.rank(node.input[0])
    if axis == -1 or (rank is not None and axis % max(rank, 1) == rank - 1):
        set_attribute(node, "axis", -1 if rank is None else rank - 1)
        new.keep(node)
        return
    rank = rank_of(node, f"{node.op_type}-11 with axis={axis}", new)
    order = [i for i in range(rank) if i != axis % rank] + [axis % rank]
    output = node.output[0]
    set_inputs(node, [new.add("Transpose", [node.input[0]], "turned", perm=order)])
    node.output[0] = new.fresh("turned_result")
    set_attribute(node, "axis", rank - 1)
    new.keep(node)
    new.add("Transpose", [node.output[0]], output=output, perm=[order.index(i) for i in range(rank)])


# ---- casts and quantization -----------------------------------------------------------------------------------


def _float8(node: NodeProto, new: Builder) -> bool:
    if node.op_type == "Cast":
        return attribute(node, "to") in FLOAT8
    elements = {new.scope.element(name) for name in (*node.input[1:], *node.output) if name}
    return bool(elements & FLOAT8) or elements == {0}


@step("Cast", at=(19, 13))
@step("CastLike", at=(19, 15))
def cast_plain(node: NodeProto, new: Builder) -> None:
    """``saturate`` speaks of the 8-bit floats alone."""
    drop_new(node, 19, 13 if node.op_type == "Cast" else 15, () if _float8(node, new) else ("saturate",))
    new.keep(node)


@step("QuantizeLinear", at=(19, 13))
def quantize_plain(node: NodeProto, new: Builder) -> None:
    drop_new(node, 19, 13, () if _float8(node, new) else ("saturate",))
    new.keep(node)


@step("Cast", "CastLike", at=(24, 23))
def cast_up(node: NodeProto, new: Builder) -> None:
    """``round_mode`` speaks of float8e8m0 alone, which opset 23 lacks."""
    drop_attribute(node, "round_mode")
    new.keep(node)


@step("QuantizeLinear", "DequantizeLinear", at=(13, 10))
def per_tensor(node: NodeProto, new: Builder) -> None:
    if new.scope.rank(node.input[1]) != 0:
        raise Refusal(f"{node.op_type}-10 takes one scale for the whole tensor, a scalar")
    drop_attribute(node, "axis")
    new.keep(node)


@step("QuantizeLinear", at=(21, 19))
def quantize_without_type(node: NodeProto, new: Builder) -> None:
    """The type of the result is the zero point's; where there is none it is uint8, or gets one."""
    dtype = attribute(node, "output_dtype", 0)
    drop_attribute(node, "output_dtype")
    if dtype and not given(node, 2) and dtype != TensorProto.UINT8:
        shape = new.scope.shape(node.input[1])
        if shape is None or not all(isinstance(dim, int) for dim in shape):
            raise Refusal("QuantizeLinear-19 has no output_dtype, and a zero point needs the scale's shape")
        zeros = np.zeros(tuple(int(str(dim)) for dim in shape), onnx.helper.tensor_dtype_to_np_dtype(dtype))
        set_inputs(node, [*node.input[:2], new.constant("zero_point", zeros, zeros.dtype)])
    drop_new(node, 21, 19)
    new.keep(node)


@step("DequantizeLinear", at=(23, 21))
def dequantize_without_type(node: NodeProto, new: Builder) -> None:
    if attribute(node, "output_dtype", 0) in (0, new.scope.element(node.input[1])):
        drop_attribute(node, "output_dtype")
    drop_new(node, 23, 21)
    new.keep(node)


# ---- shapes ---------------------------------------------------------------------------------------------------


@step("Reshape", at=(14, 13))
def reshape_zero(node: NodeProto, new: Builder) -> None:
    """``allowzero`` says something only where the new shape holds a 0.

    Version 13 copies the input's dim for a 0. That is the same 0 where the element is the size of that very dim. A
    new shape that the model computes may hold a 0 else only when a tensor is empty; that is a loss, and said.
    """
    if attribute(node, "allowzero", 0) and not _copies_alike(node, new):
        name = node.input[1]
        if new.scope.maker(name) is None:
            raise Refusal(f"Reshape-13 has no allowzero, and its new shape ({name!r}) may hold a 0")
        new.losses.append(
            f"Reshape's allowzero=1 is gone: where its new shape ({name!r}) holds a 0, as for empty tensors, "
            "the input's dim is taken"
        )
    drop_attribute(node, "allowzero")
    new.keep(node)


def _copies_alike(node: NodeProto, new: Builder) -> bool:
    """Whether each element of the new shape is no 0, or the size of the input's dim at its place."""
    goal = elements(node.input[1], new.scope)
    result = new.scope.shape(node.output[0])
    if goal is None and result is not None and len(result) > 0:
        goal = [None] * len(result)
    if goal is None:
        return False
    dims = new.scope.shape(node.input[0]) or ()
    for i, size in enumerate(goal):
        known = result[i] if result is not None and len(result) == len(goal) else None
        if size == 0:
            return False
        never = isinstance(size, int) or (isinstance(known, int) and known != 0)
        if not never and not (i < len(dims) and isinstance(size, str) and size == dims[i]):
            return False
    return True


@step("Shape", at=(15, 13))
def shape_part(node: NodeProto, new: Builder) -> None:
    start, end = attribute(node, "start", 0), attribute(node, "end")
    drop_attribute(node, "start", "end")
    if start == 0 and end is None:
        new.keep(node)
        return
    output = node.output[0]
    node.output[0] = new.fresh("shape")
    new.keep(node)
    ends = new.constant("end", [np.iinfo(np.int64).max if end is None else end])
    new.add("Slice", [node.output[0], new.constant("start", [start]), ends, new.constant("axis", [0])], output=output)


@step("Constant", at=(12, 11))
def constant_value(node: NodeProto, new: Builder) -> None:
    if has_attribute(node, "value") or has_attribute(node, "sparse_value"):
        new.keep(node)
        return
    for a in list(node.attribute):
        if a.name.startswith("value_"):
            value = attribute(node, a.name)
            if a.name.startswith("value_string"):
                strings = [value] if isinstance(value, bytes) else value
                dims = [] if isinstance(value, bytes) else [len(strings)]
                tensor = TensorProto(name=node.output[0], data_type=TensorProto.STRING, dims=dims, string_data=strings)
            else:
                dtype = np.int64 if a.name.startswith("value_int") else np.float32
                tensor = onnx.numpy_helper.from_array(np.array(value, dtype), node.output[0])
            drop_attribute(node, a.name)
            set_attribute(node, "value", tensor)
    new.keep(node)


@step("Sum", "Max", "Min", "Mean", at=(8, 6))
def unbroadcast(node: NodeProto, new: Builder) -> None:
    shapes = [new.scope.shape(name) for name in node.input]
    first = shapes[0] if shapes else None
    if len(node.input) > 1 and not all(
        first is not None
        and shape is not None
        and len(first) == len(shape)
        and all(same(x, y) for x, y in zip(first, shape, strict=True))
        for shape in shapes
    ):
        raise Refusal(f"{node.op_type}-6 does not broadcast, and its inputs are not proven to have one shape")
    new.keep(node)


@step("Gemm", at=(6, 7))
def gemm_broadcasts(node: NodeProto, new: Builder) -> None:
    drop_attribute(node, "broadcast")
    new.keep(node)


@step("Gemm", at=(7, 6))
def gemm_limited(node: NodeProto, new: Builder) -> None:
    if new.scope.rank(node.input[2]) != 1 and new.scope.shape(node.input[2]) != new.scope.shape(node.output[0]):
        raise Refusal("Gemm-6 takes a C of the result's shape, or of one row")
    set_attribute(node, "broadcast", 1)
    new.keep(node)


@step("Gemm", at=(11, 9))
def gemm_with_c(node: NodeProto, new: Builder) -> None:
    if not given(node, 2):
        raise Refusal("Gemm-9 needs its input C")
    new.keep(node)


@step("Gather", at=(11, 1))
@step("OneHot", at=(11, 9))
def indices_from_0(node: NodeProto, new: Builder) -> None:
    index = 0 if node.op_type == "OneHot" else 1
    if any(i < 0 for i in integers(node, index, "the indices", new) or ()):
        raise Refusal(f"{node.op_type} of opset 10 takes no negative index")
    count_from_0(node, new)
    new.keep(node)


# ---- values that an attribute may have ------------------------------------------------------------------------


def _one_of(node: NodeProto, name: str, fallback: bytes, may: tuple[bytes, ...], version: int) -> None:
    value = attribute(node, name, fallback)
    if value not in may:
        raise Refusal(f"{node.op_type}-{version} has no {name}={value.decode('utf-8', 'replace')!r}")


@step("ScatterElements", "ScatterND", at=(18, 16))
def scatter_reductions(node: NodeProto, new: Builder) -> None:
    _one_of(node, "reduction", b"none", (b"none", b"add", b"mul"), 16)
    new.keep(node)


@step("Scatter", at=(9, 11))
def scatter_renamed(node: NodeProto, new: Builder) -> None:
    node.op_type = "ScatterElements"
    new.keep(node)


@step("Mod", at=(28, 13))
def mod_of_floats(node: NodeProto, new: Builder) -> None:
    element = new.scope.element(node.input[0])
    integral = element and np.dtype(onnx.helper.tensor_dtype_to_np_dtype(element)).kind in "iu"
    if not integral and not attribute(node, "fmod", 0):
        raise Refusal("Mod-13 wants fmod=1 for floats")
    new.keep(node)


@step("RoiAlign", at=(10, 16))
def roi_align_named(node: NodeProto, new: Builder) -> None:
    set_attribute(node, "coordinate_transformation_mode", "output_half_pixel")
    new.keep(node)


@step("RoiAlign", at=(16, 10))
def roi_align_unnamed(node: NodeProto, new: Builder) -> None:
    _one_of(node, "coordinate_transformation_mode", b"half_pixel", (b"output_half_pixel",), 10)
    drop_attribute(node, "coordinate_transformation_mode")
    new.keep(node)


GRID_MODES = {b"bilinear": b"linear", b"bicubic": b"cubic"}


@step("GridSample", at=(16, 20))
def grid_modes(node: NodeProto, new: Builder) -> None:
    mode = attribute(node, "mode", b"bilinear")
    set_attribute(node, "mode", GRID_MODES.get(mode, mode))
    new.keep(node)


@step("GridSample", at=(20, 16))
def grid_modes_of_images(node: NodeProto, new: Builder) -> None:
    if rank_of(node, "GridSample-16", new) != 4:
        raise Refusal("GridSample-16 takes images alone, inputs of rank 4")
    mode = attribute(node, "mode", b"linear")
    set_attribute(node, "mode", {now: was for was, now in GRID_MODES.items()}.get(mode, mode))
    new.keep(node)


# ---- pooling --------------------------------------------------------------------------------------------------


@step("MaxPool", at=(12, 22))
@step("MaxPool", at=(22, 12))
@step("AveragePool", at=(19, 22))
@step("AveragePool", at=(22, 19))
@step("AveragePool", at=(11, 19))
def windows_in_the_padding(node: NodeProto, new: Builder) -> None:
    """Version 22 leaves out windows that would start in the padding at the end; no window may."""
    _no_window_there(node, new)
    new.keep(node)


@step("AveragePool", at=(19, 11))
def undilated(node: NodeProto, new: Builder) -> None:
    _no_window_there(node, new)
    if any(d != 1 for d in attribute(node, "dilations") or ()):
        raise Refusal("AveragePool-11 has no dilations")
    drop_attribute(node, "dilations")
    new.keep(node)


def _no_window_there(node: NodeProto, new: Builder) -> None:
    if not attribute(node, "ceil_mode", 0) or attribute(node, "auto_pad", b"NOTSET") != b"NOTSET":
        return
    kernel = attribute(node, "kernel_shape")
    n = len(kernel)
    strides, dilations = attribute(node, "strides") or [1] * n, attribute(node, "dilations") or [1] * n
    pads = attribute(node, "pads") or [0] * (2 * n)
    shape = new.scope.shape(node.input[0])
    dims = shape[2:] if shape is not None and len(shape) == n + 2 else (None,) * n
    for k, s, d, before, after, size in zip(kernel, strides, dilations, pads[:n], pads[n:], dims, strict=True):
        reach = (k - 1) * d + 1
        if s + after <= reach:
            continue
        if not isinstance(size, int) or -(-(size + before + after - reach) // s) * s >= size + before:
            raise Refusal(
                f"{node.op_type} with ceil_mode=1 is not proven to mean the same: "
                "a window may start in the padding at the end, which opset 22 leaves out"
            )


# ---- resize ---------------------------------------------------------------------------------------------------


@step("Resize", at=(10, 11))
def resize_asymmetric(node: NodeProto, new: Builder) -> None:
    """Resize-10 scales from the corner; upwards its nearest is the one below."""
    nearest = attribute(node, "mode", b"nearest") == b"nearest"
    if nearest:
        scales = constant(node, 1, "the scales", new)
        if scales is None or (scales < 1).any():
            raise Refusal("Resize-10 does not say which element is nearest where it shrinks")
        set_attribute(node, "nearest_mode", "floor")
    set_attribute(node, "coordinate_transformation_mode", "asymmetric")
    set_inputs(node, [node.input[0], new.constant("roi", [], np.float32), node.input[1]])
    new.keep(node)


@step("Resize", at=(11, 13))
def resize_coordinates(node: NodeProto, new: Builder) -> None:
    if attribute(node, "coordinate_transformation_mode", b"half_pixel") == b"tf_half_pixel_for_nn":
        raise Refusal("Resize-13 has no coordinate_transformation_mode='tf_half_pixel_for_nn'")
    new.keep(node)


@step("Resize", at=(13, 11))
def resize_with_empties(node: NodeProto, new: Builder) -> None:
    """What may be left out in version 13 must be there in 11, and empty."""
    names = [node.input[0], given(node, 1), given(node, 2), given(node, 3)]
    for i, hint in ((1, "roi"), (2, "scales")):
        names[i] = names[i] or new.constant(hint, [], np.float32)
    set_inputs(node, names)
    new.keep(node)


@step("Resize", at=(18, 13))
def resize_all_axes(node: NodeProto, new: Builder) -> None:
    """Resize-13 resizes every axis, without anti-aliasing, to sizes as they are."""
    axes = attribute(node, "axes")
    if axes:
        rank = rank_of(node, "Resize-13", new)
        at = [axis % rank for axis in axes]
        names = [node.input[0], given(node, 1), given(node, 2), given(node, 3)]
        if names[1] and new.scope.shape(names[1]) != (0,):
            raise Refusal("Resize-13 takes a region of interest over every axis alone")
        if names[2] and new.scope.shape(names[2]) != (0,):
            names[2] = _put(names[2], at, new.constant("ones", [1] * rank, np.float32), "scales", new)
        if names[3]:
            names[3] = _put(names[3], at, new.add("Shape", [node.input[0]], "shape"), "sizes", new)
        set_inputs(node, names)
    drop_attribute(node, "axes")
    if not given(node, 3):
        drop_attribute(node, "keep_aspect_ratio_policy")
    drop_new(node, 18, 13)
    new.keep(node)


@step("Resize", at=(19, 18))
def resize_modes(node: NodeProto, new: Builder) -> None:
    name = "coordinate_transformation_mode"
    if attribute(node, name, b"half_pixel") == b"half_pixel_symmetric":
        raise Refusal(f"Resize-18 has no {name}='half_pixel_symmetric'")
    new.keep(node)


@step("Upsample", at=(7, 9))
def upsample_to_input(node: NodeProto, new: Builder) -> None:
    scales = attribute(node, "scales")
    drop_attribute(node, "scales")
    set_inputs(node, [node.input[0], new.constant("scales", scales, np.float32)])
    new.keep(node)


@step("Upsample", at=(9, 10))
def upsample_to_resize(node: NodeProto, new: Builder) -> None:
    node.op_type = "Resize"
    new.keep(node)
