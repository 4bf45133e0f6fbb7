"""Steps where a default moved, a hint went, or a version says less: training, softmax, casts, shapes."""

from __future__ import annotations

import math

import numpy as np
import onnx
from onnx import NodeProto, TensorProto

from minuend.core.shapes import Shape, none, same, static
from minuend.errors import ShapeError
from minuend.onnx.opsets.fold import elements
from minuend.onnx.opsets.inputs import (
    axes_in,
    constant,
    first,
    given,
    numpy_type,
    outputs,
    rank_of,
    set_inputs,
)
from minuend.onnx.opsets.schemas import (
    INVALID,
    Refusal,
    attribute,
    default,
    drop_attribute,
    flag,
    has_attribute,
    schema,
    set_attribute,
)
from minuend.onnx.opsets.scope import Builder
from minuend.onnx.opsets.steps import count_from_0, drop_new, forget, limit, spell_defaults, step

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


forget("BatchNormalization", "Dropout", at=(1, 6), name="consumed_inputs")


@step("BatchNormalization", at=(6, 1))
def hint_is_required(node: NodeProto, new: Builder) -> None:
    set_attribute(node, "consumed_inputs", [0] * len(node.input))


@step("MeanVarianceNormalization", at=(9, 13))
def axes_written_out(node: NodeProto, new: Builder) -> None:
    """The default is the same; ONNX's inference of the function body refuses a node that leaves it out."""
    row = schema("MeanVarianceNormalization", 13).attributes["axes"]
    set_attribute(node, "axes", attribute(node, "axes", default(row)))


@step("Concat", at=(1, 4))
def concat_axis(node: NodeProto, new: Builder) -> None:
    set_attribute(node, "axis", attribute(node, "axis", 1))


@step("Concat", at=(4, 1))
@step("Dropout", at=(6, 1))
@step("Add", "Sub", "Mul", "Div", at=(6, 1))
def as_it_is(node: NodeProto, new: Builder) -> None:
    """Types alone, which are checked where the way ends."""


@step("Cast", at=(1, 6))
def cast_by_number(node: NodeProto, new: Builder) -> None:
    name = attribute(node, "to").decode("utf-8", "replace")
    if name not in dict(TensorProto.DataType.items()):
        raise Refusal(f"the model is invalid: Cast-1 names the element type {name!r}, which is none")
    set_attribute(node, "to", TensorProto.DataType.Value(name))


@step("Cast", at=(6, 1))
def cast_by_name(node: NodeProto, new: Builder) -> None:
    number = attribute(node, "to")
    numpy_type(number, node)
    set_attribute(node, "to", TensorProto.DataType.Name(number))


@step(*HINTED, at=(6, 1))
def without_hint(node: NodeProto, new: Builder) -> None:
    spell_defaults(node, 6, 1)


# ---- training -------------------------------------------------------------------------------------------------


@step("BatchNormalization", "Dropout", at=(6, 7))
def tested_only(node: NodeProto, new: Builder) -> None:
    if not flag(node, "is_test"):
        raise Refusal(f"{node.op_type}-6 without is_test=1 trains, and {node.op_type}-7 does not")
    drop_attribute(node, "is_test")


@step("BatchNormalization", "Dropout", at=(7, 6))
def say_tested(node: NodeProto, new: Builder) -> None:
    outputs(node, 1, new)
    set_attribute(node, "is_test", 1)


@step("BatchNormalization", at=(7, 9))
@step("BatchNormalization", at=(9, 7))
def spatial(node: NodeProto, new: Builder) -> None:
    if attribute(node, "spatial", 1) != 1:
        raise Refusal("BatchNormalization-9 has no spatial=0")
    drop_attribute(node, "spatial")


@step("BatchNormalization", at=(9, 14))
@step("BatchNormalization", at=(14, 9))
def normalize_tested(node: NodeProto, new: Builder) -> None:
    if attribute(node, "training_mode", 0):
        raise Refusal("BatchNormalization-9 has no training_mode")
    outputs(node, 1, new)
    drop_attribute(node, "training_mode")


@step("Dropout", at=(7, 10))
@step("Dropout", at=(10, 7))
def without_mask(node: NodeProto, new: Builder) -> None:
    outputs(node, 1, new)


@step("Dropout", at=(10, 12))
def dropout_to_input(node: NodeProto, new: Builder) -> None:
    outputs(node, 1, new)
    ratio = attribute(node, "ratio", 0.5)
    drop_attribute(node, "ratio")
    if 0 <= ratio < 1:  # version 12 takes no other, and what does not train is the identity
        set_inputs(node, [node.input[0], new.constant("ratio", ratio, np.float32)])


@step("Dropout", at=(12, 10))
def dropout_to_attribute(node: NodeProto, new: Builder) -> None:
    """What does not train is the identity, whatever its ratio and its seed are.

    Its mask is all ones in version 12; version 10 does not say what it is, and onnxruntime gives zeros.
    """
    outputs(node, 1, new)
    training = constant(node, 2, "training_mode", new)
    if training is not None and first(training, "training_mode of Dropout"):
        raise Refusal("Dropout-10 does not train")
    drop_attribute(node, "seed")
    ratio = new.scope.constant(given(node, 1)) if given(node, 1) else None
    if ratio is not None:
        set_attribute(node, "ratio", float(first(ratio, "the ratio of Dropout")))
    set_inputs(node, [node.input[0]])


# ---- softmax --------------------------------------------------------------------------------------------------


@step("Softmax", "LogSoftmax", "Hardmax", at=(11, 13))
def softmax_unflattened(node: NodeProto, new: Builder) -> None:
    """Version 11 flattens to two dims at axis; where axis is the last, that is one axis anyway."""
    axis, rank = attribute(node, "axis", 1), new.scope.rank(node.input[0])
    set_attribute(node, "axis", -1)
    if axis == -1 or (rank is not None and axis % max(rank, 1) == rank - 1):
        return
    shape, merged = _merged(node, axis, new)
    set_inputs(node, [new.add("Reshape", [node.input[0], merged], "merged")])
    result, output = new.keep(node, "merged_result")
    new.add("Reshape", [result, shape], output=output)


def _merged(node: NodeProto, axis: int, new: Builder) -> tuple[str, str]:
    """The shape of an input, and the same one with the dims from an axis on in its last, and 1 in place of the others.

    A dim of 0 stays 0, since Reshape-13 copies the input's dim for a 0: of an empty tensor both shapes are right.
    """
    x, dims = node.input[0], new.scope.shape(node.input[0])
    if dims is not None and all(isinstance(dim, int) for dim in dims):
        sizes = static(dims)
        (at,) = axes_in(node, [axis], len(sizes))
        merged = [*sizes[:at], *(min(n, 1) for n in sizes[at:-1]), math.prod(sizes[at:])]
        return new.constant("shape", sizes), new.constant("merged", merged)
    shape = new.add("Shape", [x], "shape")
    begin, start, last, end = (new.constant("at", [n]) for n in (0, axis, -1, np.iinfo(np.int64).max))
    slices = ((begin, start), (start, last), (start, end))
    before, between, every = (new.add("Slice", [shape, *ends], "dims") for ends in slices)
    ones = new.add("Min", [between, new.constant("one", [1])], "ones")
    product = new.add("ReduceProd", [every], "product", axes=[0], keepdims=1)
    return shape, new.add("Concat", [before, ones, product], "merged", axis=0)


@step("Softmax", "LogSoftmax", "Hardmax", at=(13, 11))
def softmax_flattened(node: NodeProto, new: Builder) -> None:
    """Another axis than the last is brought there and back."""
    axis, rank = attribute(node, "axis", -1), new.scope.rank(node.input[0])
    if axis == -1 or (rank is not None and axis % max(rank, 1) == rank - 1):
        set_attribute(node, "axis", -1 if rank is None else rank - 1)
        return
    rank = rank_of(node, f"{node.op_type}-11 with axis={axis}", new)
    (at,) = axes_in(node, [axis], rank)
    order = [i for i in range(rank) if i != at] + [at]
    set_inputs(node, [new.add("Transpose", [node.input[0]], "turned", perm=order)])
    set_attribute(node, "axis", rank - 1)
    turned, output = new.keep(node, "turned_result")
    new.add("Transpose", [turned], output=output, perm=[order.index(i) for i in range(rank)])


FLOAT8 = frozenset(number for name, number in TensorProto.DataType.items() if name.startswith("FLOAT8"))

# ---- casts and quantization -----------------------------------------------------------------------------------


def _float8(node: NodeProto, new: Builder) -> bool:
    if node.op_type == "Cast":
        return attribute(node, "to") in FLOAT8
    elements = {new.scope.element(name) for name in (*node.input[1:], *node.output) if name}
    return bool(elements & FLOAT8) or elements == {0}


@step("Cast", "QuantizeLinear", at=(19, 13))
@step("CastLike", at=(19, 15))
def without_saturate(node: NodeProto, new: Builder) -> None:
    """``saturate`` speaks of the 8-bit floats alone."""
    drop_new(node, 19, 15 if node.op_type == "CastLike" else 13, () if _float8(node, new) else ("saturate",))


forget("Cast", "CastLike", at=(24, 23), name="round_mode")  # it speaks of float8e8m0 alone, which opset 23 lacks


@step("QuantizeLinear", "DequantizeLinear", at=(13, 10))
def per_tensor(node: NodeProto, new: Builder) -> None:
    if new.scope.rank(node.input[1]) != 0:
        raise Refusal(f"{node.op_type}-10 takes one scale for the whole tensor, a scalar")
    drop_attribute(node, "axis")


@step("QuantizeLinear", at=(21, 19))
def quantize_without_type(node: NodeProto, new: Builder) -> None:
    """The type of the result is the zero point's; where there is none it is uint8, or gets one."""
    dtype = attribute(node, "output_dtype", 0)
    drop_attribute(node, "output_dtype")
    if dtype and not given(node, 2) and dtype != TensorProto.UINT8:
        shape = new.scope.shape(node.input[1])
        if shape is None or not all(isinstance(dim, int) for dim in shape):
            raise Refusal("QuantizeLinear-19 has no output_dtype, and a zero point needs the scale's shape")
        zeros = np.zeros(tuple(int(str(dim)) for dim in shape), numpy_type(dtype, node))
        set_inputs(node, [*node.input[:2], new.constant("zero_point", zeros, zeros.dtype)])
    drop_new(node, 21, 19)


@step("DequantizeLinear", at=(23, 21))
def dequantize_without_type(node: NodeProto, new: Builder) -> None:
    if attribute(node, "output_dtype", 0) in (0, new.scope.element(node.input[1])):
        drop_attribute(node, "output_dtype")
    drop_new(node, 23, 21)


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


def _copies_alike(node: NodeProto, new: Builder) -> bool:
    """Whether each element of the new shape is no 0, or the size of the input's dim at its place."""
    wanted = elements(node.input[1], new.scope)
    result = new.scope.shape(node.output[0])
    if wanted is None and result is not None and len(result) > 0:
        wanted = [None] * len(result)
    if wanted is None:
        return False
    dims = new.scope.shape(node.input[0]) or ()
    for i, size in enumerate(wanted):
        known = result[i] if result is not None and len(result) == len(wanted) else None
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
        return
    whole, output = new.keep(node, "shape")
    ends = new.constant("end", [np.iinfo(np.int64).max if end is None else end])
    new.add("Slice", [whole, new.constant("start", [start]), ends, new.constant("axis", [0])], output=output)


@step("Constant", at=(12, 11))
def constant_value(node: NodeProto, new: Builder) -> None:
    if has_attribute(node, "value") or has_attribute(node, "sparse_value"):
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


@step("Sum", "Max", "Min", "Mean", at=(6, 8))
def broadcast_now(node: NodeProto, new: Builder) -> None:
    """Shapes that differ break version 6, and would come alive in version 8."""
    for name in node.input[1:]:
        _alike(f"{node.op_type}-6", new.scope.shape(node.input[0]), new.scope.shape(name))


def _alike(title: str, a: Shape, b: Shape) -> None:
    try:
        none(a, b)
    except ShapeError as error:
        raise Refusal(f"{INVALID}{title}: {error.message}") from None


@step("Gemm", at=(6, 7))
def gemm_unlimited(node: NodeProto, new: Builder) -> None:
    if not attribute(node, "broadcast", 0):
        _alike("Gemm-6 without broadcast=1", new.scope.shape(node.output[0]), new.scope.shape(node.input[2]))
    drop_attribute(node, "broadcast")


@step("Gemm", at=(7, 6))
def gemm_limited(node: NodeProto, new: Builder) -> None:
    if new.scope.rank(node.input[2]) != 1 and new.scope.shape(node.input[2]) != new.scope.shape(node.output[0]):
        raise Refusal("Gemm-6 takes a C of the result's shape, or of one row")
    set_attribute(node, "broadcast", 1)


@step("Gemm", at=(11, 9))
def gemm_with_c(node: NodeProto, new: Builder) -> None:
    """A C of -0, which changes no sum; beta may not change its sign."""
    if not given(node, 2):
        element = new.scope.element(node.input[0])
        if not element:
            raise Refusal("Gemm-9 needs its input C, and of what type one has to be is unknown")
        zero = new.constant("c", [-0.0], numpy_type(element, node))
        set_inputs(node, [*node.input[:2], zero])
        drop_attribute(node, "beta")


@step("Gather", at=(11, 1))
@step("OneHot", at=(11, 9))
def indices_from_0(node: NodeProto, new: Builder) -> None:
    index = 0 if node.op_type == "OneHot" else 1  # whose indices may be floats
    indices = constant(node, index, "the indices", new)
    if indices is not None and (indices < 0).any():
        raise Refusal(f"{node.op_type} of opset 10 takes no negative index")
    count_from_0(node, new)


# ---- values that an attribute may have ------------------------------------------------------------------------


limit("ScatterElements", "ScatterND", at=(18, 16), name="reduction", fallback=b"none", may=[b"none", b"add", b"mul"])


@step("Scatter", at=(9, 11))
def scatter_renamed(node: NodeProto, new: Builder) -> None:
    node.op_type = "ScatterElements"


@step("Mod", at=(28, 13))
def mod_of_floats(node: NodeProto, new: Builder) -> None:
    element = new.scope.element(node.input[0])
    integral = element and np.dtype(onnx.helper.tensor_dtype_to_np_dtype(element)).kind in "iu"
    if not integral and not attribute(node, "fmod", 0):
        raise Refusal("Mod-13 wants fmod=1 for floats")
