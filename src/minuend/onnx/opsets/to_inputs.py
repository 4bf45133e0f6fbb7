"""Steps where attributes became inputs: axes, sizes, bounds, pads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import NodeProto, TensorProto

from minuend.core.shapes import Dim
from minuend.onnx.opsets.fold import Array
from minuend.onnx.opsets.inputs import axes_in, constant, first, given, integers, put, rank_of, set_inputs
from minuend.onnx.opsets.schemas import INVALID, Refusal, attribute, drop_attribute, flag, has_attribute, set_attribute
from minuend.onnx.opsets.scope import Builder
from minuend.onnx.opsets.steps import count_from_0, spell_defaults, step

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

# ---- as they are ----------------------------------------------------------------------------------------------


def to_inputs(
    *op_types: str,
    at: tuple[int, int],
    names: Sequence[str],
    default: Any = None,
    dtype: Any = np.int64,
    empty: bool = True,
    gone: str = "",
) -> None:
    """Register a step in which attributes become the inputs behind the first, in this order, where they are stated.

    Args:
        default: what one means that is not stated. dtype: of the inputs. empty: whether a list of nothing is an input.
        gone: an attribute that says nothing and goes.
    """

    @step(*op_types, at=at)
    def move(node: NodeProto, new: Builder) -> None:
        values = [(name, attribute(node, name, default)) for name in names]
        drop_attribute(node, *names, gone)
        stated = [(name, value) for name, value in values if value is not None and (empty or value)]
        set_inputs(node, [node.input[0], *(new.constant(name, value, dtype) for name, value in stated)])


def to_attributes(*op_types: str, at: tuple[int, int], names: Mapping[str, str]) -> None:
    """Register a step in which the inputs behind the first become attributes; ``names`` has words for each too."""
    step(*op_types, at=at)(partial(move_to_attributes, names=names))


def move_to_attributes(node: NodeProto, new: Builder, names: Mapping[str, str]) -> None:
    for i, (name, words) in enumerate(names.items(), 1):
        value = integers(node, i, words, new)
        if value is not None:
            set_attribute(node, name, value)
    set_inputs(node, [node.input[0]])


to_inputs(*REDUCES, at=(13, 18), names=("axes",), empty=False)
to_inputs("ReduceSum", "Squeeze", "Unsqueeze", at=(11, 13), names=("axes",), empty=False)
to_inputs("Split", at=(11, 13), names=("split",), empty=False)
to_inputs("Slice", at=(1, 10), names=("starts", "ends", "axes"))
to_inputs("Reshape", at=(1, 5), names=("shape",), default=[], gone="consumed_inputs")
to_attributes("Split", at=(13, 11), names={"split": "the sizes of the parts"})
to_attributes("Reshape", at=(5, 1), names={"shape": "the shape"})

UNREDUCED = {
    "ReduceL1": "Abs",
    "ReduceL2": "Abs",
    "ReduceMax": "Identity",
    "ReduceMean": "Identity",
    "ReduceMin": "Identity",
    "ReduceProd": "Identity",
    "ReduceSum": "Identity",
}
"""What a reduction over no axes is. ReduceL2's function body squares first, and a large integer wraps there."""

# ---- axes -----------------------------------------------------------------------------------------------------


@step(*REDUCES, at=(18, 13))
@step("ReduceSum", "Squeeze", "Unsqueeze", at=(13, 11))
def axes_to_attribute(node: NodeProto, new: Builder) -> None:
    axes = integers(node, 1, "axes", new)
    unreduced = not axes and flag(node, "noop_with_empty_axes")
    drop_attribute(node, "noop_with_empty_axes")
    if unreduced:
        if node.op_type not in UNREDUCED:
            raise Refusal(f"{node.op_type} over no axes (noop_with_empty_axes=1) has no older form")
        drop_attribute(node, "keepdims")
        node.op_type = UNREDUCED[node.op_type]
    elif axes:
        set_attribute(node, "axes", axes)
    set_inputs(node, [node.input[0]])


step("Split", at=(2, 11))(count_from_0)
step("Split", at=(11, 2))(count_from_0)


@step("Split", at=(13, 18))
def split_count(node: NodeProto, new: Builder) -> None:
    if not given(node, 1):
        set_attribute(node, "num_outputs", len(node.output))


@step("Split", at=(18, 13))
def split_sizes(node: NodeProto, new: Builder) -> None:
    """Split-13 splits without sizes too, but only where the parts are equal."""
    count = attribute(node, "num_outputs")
    drop_attribute(node, "num_outputs")
    if count is not None and count != len(node.output):
        raise Refusal(f"Split-18 has {len(node.output)} outputs and num_outputs={count}; expected one number")
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


# ---- attributes that became inputs ----------------------------------------------------------------------------


@step("Clip", at=(1, 6))
def clip_without_consumed_inputs(node: NodeProto, new: Builder) -> None:
    """Bounds that are left out are those of the input's type before, and of float32 after."""
    drop_attribute(node, "consumed_inputs")
    element = new.scope.element(node.input[0])
    for name, word in (("min", "lowest"), ("max", "largest")):
        if has_attribute(node, name) or element == TensorProto.FLOAT:
            continue
        if element != TensorProto.FLOAT16:
            whose = "double" if element == TensorProto.DOUBLE else "a value of unknown type"
            raise Refusal(f"Clip-1 without {name} clips {whose} at its {word} number, which Clip-6 keeps as float32")
        set_attribute(node, name, float(getattr(np.finfo(np.float16), name)))


@step("Clip", at=(6, 1))
def clip_with_bounds(node: NodeProto, new: Builder) -> None:
    spell_defaults(node, 6, 1)


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


@step("Clip", at=(11, 6))
def clip_to_attributes(node: NodeProto, new: Builder) -> None:
    for i, name in enumerate(("min", "max"), 1):
        value = constant(node, i, name, new)
        if value is not None:
            set_attribute(node, name, _as_float32(value, f"Clip-6 keeps {name}", node))
        elif new.scope.element(node.input[0]) == TensorProto.DOUBLE:
            raise Refusal(f"Clip-6 without {name} clips double at float32's largest number")
    low, high = attribute(node, "min"), attribute(node, "max")
    if low is not None and high is not None and low > high:
        raise Refusal(f"Clip-6 has no min={low} above max={high}, for which onnxruntime does not load it")
    set_inputs(node, [node.input[0]])


def _as_float32(value: Array, who: str, node: NodeProto) -> float:
    """The only element of a constant as the float32 that an attribute is."""
    number = first(value, "a value of " + node.op_type)
    with np.errstate(over="ignore"):
        in_float32 = np.asarray(number).dtype.kind in "fiub" and np.float32(number)  # a string is one of Python
    if in_float32 is False or not (in_float32 == number or np.isnan(number)):
        shown = repr(number) if isinstance(number, str) else number
        raise Refusal(f"{who} as float32, which cannot hold {shown}")
    return float(in_float32)


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


@step("Pad", at=(11, 2))
def pad_to_attributes(node: NodeProto, new: Builder) -> None:
    set_attribute(node, "pads", integers(node, 1, "pads", new))
    value = constant(node, 2, "the value", new)
    if value is not None:
        set_attribute(node, "value", _as_float32(value, "Pad-2 keeps the value", node))
    set_inputs(node, [node.input[0]])


@step("Pad", at=(18, 13))
def pad_all_axes(node: NodeProto, new: Builder) -> None:
    """Pad-13 pads every axis."""
    if given(node, 3):
        rank = rank_of(node, "Pad-13", new)
        set_inputs(node, [node.input[0], _pads_of_all_axes(node, rank, new), given(node, 2)])
    set_inputs(node, list(node.input)[:3])


def _pads_of_all_axes(node: NodeProto, rank: int, new: Builder) -> str:
    """The pads of some axes, put among zeros for the others; the axes may be computed."""
    if not given(node, 3):
        return given(node, 1)
    none = new.constant("none", [0] * (2 * rank))
    if new.scope.constant(node.input[3]) is not None:
        at = axes_in(node, integers(node, 3, "axes", new) or [], rank)
        return put(node.input[1], [*at, *(axis + rank for axis in at)], none, "pads", new)
    axes = node.input[3]
    if new.scope.element(axes) != TensorProto.INT64:
        axes = new.add("Cast", [axes], "axes", to=int(TensorProto.INT64))
    begins = new.add("Mod", [axes, new.constant("rank", rank)], "begins")
    ends = new.add("Add", [begins, new.constant("rank", rank)], "ends")
    return new.add("ScatterElements", [none, new.add("Concat", [begins, ends], "at", axis=0), node.input[1]], "pads")


@step("Pad", at=(19, 18))
def pad_without_wrapping(node: NodeProto, new: Builder) -> None:
    """Pad-18 has no mode 'wrap': the elements come by their numbers, axis by axis."""
    mode = attribute(node, "mode", b"constant")
    if mode in (b"constant", b"reflect", b"edge"):
        return
    if mode != b"wrap":
        raise Refusal(f"Pad-18 has no mode={mode.decode('utf-8', 'replace')!r}")
    rank = rank_of(node, "Pad-18 without mode='wrap'", new)
    shape, x = new.scope.shape(node.input[0]) or (), node.input[0]
    moved = [
        row
        for row in zip(range(rank), *_ends(_pads_of_all_axes(node, rank, new), rank, new), strict=True)
        if row[1:] != (0, 0)
    ]
    for i, (axis, before, after) in enumerate(moved, 1):
        at = _wrapped(shape[axis], axis, before, after, x, new)
        x = new.add("Gather", [x, at], "wrapped", output=node.output[0] if i == len(moved) else "", axis=axis)
    if not moved:
        new.add("Identity", [x], output=node.output[0])


End: TypeAlias = int | str
"""How many elements are added at an end of an axis: their number, or the value that has it."""
_LISTED = 4096
"""The longest list of elements' numbers that is stored."""


def _ends(pads: str, count: int, new: Builder) -> tuple[list[End], list[End]]:
    """What a Pad adds before and after each axis."""
    found: list[End]
    value = new.scope.constant(pads)
    if value is None:
        new.losses.append(
            "Pad with mode='wrap' is a Gather now: where pads add at one end of an axis and remove at the other, it "
            "repeats what the input has, and runtimes may repeat what is left of it"
        )
        found = [new.add("Gather", [pads, new.constant("end", i)], "pads") for i in range(2 * count)]
        return found[:count], found[count:]
    found = [int(one) for one in value.reshape(-1)]
    if len(found) != 2 * count:
        raise Refusal(f"{INVALID}Pad has {len(found)} pads for {count} axes")
    return found[:count], found[count:]


def _wrapped(size: Dim, axis: int, before: End, after: End, x: str, new: Builder) -> str:
    """The numbers of the elements along an axis that is repeated at its ends, or cut there."""
    if isinstance(before, int) and isinstance(after, int):
        what = "Pad with mode='wrap' does not say what it repeats"
        if min(before, after) < 0 < max(before, after):
            raise Refusal(f"{what} where it adds and removes along axis {axis}")
        if size == 0:
            raise Refusal(f"{what} along axis {axis}, which has no elements")
        if isinstance(size, int) and size + before + after <= _LISTED:
            return new.constant("at", [i % size for i in range(-before, size + after)])
    length = new.add("Gather", [new.add("Shape", [x], "shape"), new.constant("axis", axis)], "size")
    begin = new.constant("begin", -before) if isinstance(before, int) else new.add("Neg", [before], "begin")
    end = new.add("Add", [length, new.constant("after", after) if isinstance(after, int) else after], "end")
    every = new.add("Range", [begin, end, new.constant("one", 1)], "every")
    return new.add("Mod", [every, length], "at")


@step("Slice", at=(10, 1))
def slice_to_attributes(node: NodeProto, new: Builder) -> None:
    if any(s != 1 for s in integers(node, 4, "steps", new) or ()):
        raise Refusal("Slice-1 has no steps")
    move_to_attributes(node, new, {name: name for name in ("starts", "ends", "axes")})


@step("Slice", at=(11, 10))
def slice_forwards(node: NodeProto, new: Builder) -> None:
    axes = integers(node, 3, "axes", new)
    if any(s < 1 for s in integers(node, 4, "steps", new) or ()):
        raise Refusal("Slice-10 does not say that a negative step goes backwards")
    if axes is not None and min(axes, default=0) < 0:
        rank = rank_of(node, "a negative axis", new)
        names = list(node.input)
        names[3] = new.constant("axes", axes_in(node, axes, rank))
        set_inputs(node, names)


@step("TopK", at=(1, 10))
def topk_to_input(node: NodeProto, new: Builder) -> None:
    k = attribute(node, "k")
    drop_attribute(node, "k")
    set_inputs(node, [node.input[0], new.constant("k", [k])])


@step("TopK", at=(10, 1))
def topk_to_attribute(node: NodeProto, new: Builder) -> None:
    k = integers(node, 1, "K", new)
    if not k:
        raise Refusal("the model is invalid: K of TopK is empty")
    set_attribute(node, "k", k[0])
    set_inputs(node, [node.input[0]])


@step("DFT", at=(17, 20))
def dft_to_input(node: NodeProto, new: Builder) -> None:
    axis = new.constant("axis", attribute(node, "axis", 1))
    drop_attribute(node, "axis")
    set_inputs(node, [node.input[0], given(node, 1), axis])


@step("DFT", at=(20, 17))
def dft_to_attribute(node: NodeProto, new: Builder) -> None:
    axis = integers(node, 2, "axis", new)
    set_attribute(node, "axis", axis[0] if axis else -2)
    set_inputs(node, list(node.input)[:2])
