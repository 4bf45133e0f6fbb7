"""Steps of operators on images: sampling, pooling, resizing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from onnx import NodeProto

from minuend.onnx.opsets.fold import Array
from minuend.onnx.opsets.inputs import axes_in, constant, given, outputs, put, rank_of, set_inputs
from minuend.onnx.opsets.schemas import Refusal, attribute, drop_attribute, set_attribute
from minuend.onnx.opsets.scope import Builder
from minuend.onnx.opsets.steps import drop_new, limit, step
from minuend.onnx.opsets.to_inputs import to_inputs
from minuend.onnx.opsets.windows import Windows

COORDINATES = "coordinate_transformation_mode"


@step("RoiAlign", at=(10, 16))
def roi_align_named(node: NodeProto, new: Builder) -> None:
    set_attribute(node, COORDINATES, "output_half_pixel")


limit("RoiAlign", at=(16, 10), name=COORDINATES, fallback=b"half_pixel", may=[b"output_half_pixel"])

GRID_MODES = {b"bilinear": b"linear", b"bicubic": b"cubic"}


@step("GridSample", at=(16, 20))
def grid_modes(node: NodeProto, new: Builder) -> None:
    mode = attribute(node, "mode", b"bilinear")
    set_attribute(node, "mode", GRID_MODES.get(mode, mode))


@step("GridSample", at=(20, 16))
def grid_modes_of_images(node: NodeProto, new: Builder) -> None:
    if rank_of(node, "GridSample-16", new) != 4:
        raise Refusal("GridSample-16 takes images alone, inputs of rank 4")
    mode = attribute(node, "mode", b"linear")
    set_attribute(node, "mode", {now: was for was, now in GRID_MODES.items()}.get(mode, mode))


# ---- pooling --------------------------------------------------------------------------------------------------


@step("MaxPool", at=(12, 22))
@step("MaxPool", at=(22, 12))
@step("AveragePool", at=(19, 22))
@step("AveragePool", at=(22, 19))
@step("LpPool", at=(18, 22))
@step("LpPool", at=(22, 18))
def no_window_in_the_padding(node: NodeProto, new: Builder) -> None:
    """Version 22 leaves out windows that would start in the padding at the end.

    Where padding counts in an average, such a window has a value until opset 21, and no known size may make one.
    Elsewhere it has no elements, and no value; and where a size is not known, runtimes decide. onnxruntime and ONNX's
    evaluator leave such a window out at every opset, so the results stay the same; that is a loss, and said. ONNX's
    inference counts it until opset 21, for LpPool too, whose text is the same.
    """
    for w in _starting_in_the_padding(node, new):
        counts = w.size is not None and w.last < w.before + w.size + w.after
        if counts and attribute(node, "count_include_pad", 0):
            raise Refusal(
                f"{node.op_type} with ceil_mode=1 makes {w.rounded_up} windows along axis {w.axis} until opset 21 and "
                f"{w.rounded_up - 1} since opset 22, which leaves out a window that starts in the padding at the end"
            )
        by = "ONNX's inference" if node.op_type == "LpPool" else "its text"
        new.losses.append(
            f"{node.op_type} with ceil_mode=1 leaves out a window that starts in the padding at the end of axis "
            f"{w.axis}, by {by} since opset 22 and by onnxruntime and ONNX's evaluator at every opset"
        )


def _starting_in_the_padding(node: NodeProto, new: Builder) -> Iterator[Windows]:
    """The axes along which a pool's last window starts in the padding at the end, or may."""
    if not attribute(node, "ceil_mode", 0) or attribute(node, "auto_pad", b"NOTSET") != b"NOTSET":
        return
    for w in _windows(node, new):
        if w.may_start_in_padding:
            yield w


def _windows(node: NodeProto, new: Builder) -> list[Windows]:
    """The windows of a pool that states its padding, axis by axis."""
    kernel = attribute(node, "kernel_shape")
    n = len(kernel)
    strides, dilations = attribute(node, "strides") or [1] * n, attribute(node, "dilations") or [1] * n
    pads = attribute(node, "pads") or [0] * (2 * n)
    if not len(strides) == len(dilations) == n or len(pads) != 2 * n:
        raise Refusal(f"the model is invalid: strides, dilations or pads of {node.op_type} are not for {n} axes")
    if least := [s for s in strides if s < 1]:
        raise Refusal(f"the model is invalid: {node.op_type} has the stride {least[0]}")
    shape = new.scope.shape(node.input[0])
    dims = shape[2:] if shape is not None and len(shape) == n + 2 else (None,) * n
    sizes = [dim if isinstance(dim, int) else None for dim in dims]
    return [
        Windows(i + 2, strides[i], (kernel[i] - 1) * dilations[i] + 1, pads[i], pads[n + i], sizes[i]) for i in range(n)
    ]


def _without_effect(node: NodeProto, new: Builder) -> tuple[str, ...]:
    """What a pool states that changes nothing: padding counts where there is none, sizes that divide are rounded."""
    auto = attribute(node, "auto_pad", b"NOTSET")
    found = ["storage_order"]  # it numbers the elements of the second output
    if auto == b"VALID" or (auto == b"NOTSET" and not any(attribute(node, "pads") or ())):
        found.append("count_include_pad")
    if auto == b"NOTSET" and attribute(node, "ceil_mode", 0) and all(w.even for w in _windows(node, new)):
        found.append("ceil_mode")
    return tuple(found)


@step("MaxPool", at=(8, 1))
def one_output(node: NodeProto, new: Builder) -> None:
    outputs(node, 1, new)
    drop_new(node, 8, 1, _without_effect(node, new))


def plainer_pool(op_type: str, before: int, after: int) -> None:
    """Register a step to a version of a pool that says less."""

    @step(op_type, at=(before, after))
    def drop(node: NodeProto, new: Builder) -> None:
        drop_new(node, before, after, _without_effect(node, new))


plainer_pool("MaxPool", 10, 8)
plainer_pool("AveragePool", 10, 7)
plainer_pool("AveragePool", 7, 1)
plainer_pool("LpPool", 18, 11)


@step("AveragePool", at=(11, 19))
def as_it_is(node: NodeProto, new: Builder) -> None:
    """Neither version leaves out a window that starts in the padding."""


@step("AveragePool", at=(19, 11))
def undilated(node: NodeProto, new: Builder) -> None:
    if any(d != 1 for d in attribute(node, "dilations") or ()):
        raise Refusal("AveragePool-11 has no dilations")
    drop_attribute(node, "dilations")


# ---- resize ---------------------------------------------------------------------------------------------------


limit("Resize", at=(19, 18), name=COORDINATES, fallback=b"half_pixel", lacks=b"half_pixel_symmetric")
to_inputs("Upsample", at=(7, 9), names=("scales",), dtype=np.float32)


TENSORFLOW = {b"floor": b"round_prefer_ceil", b"round_prefer_floor": b"ceil"}
"""What nearest_mode of TensorFlow's half pixel is with the half pixel, which lies 0.5 below it."""


@step("Resize", at=(11, 13))
def resize_by_half_pixels(node: NodeProto, new: Builder) -> None:
    """Version 13 lacks TensorFlow's half pixel, which lies 0.5 above the half pixel: floor(x + 0.5) is x rounded.

    onnxruntime computes the two in float32 in different ways, so a coordinate that lies on the border of two elements
    may fall to either of them. That is a loss, and said, where such coordinates are not excluded.
    """
    _sizes_or_scales(node, new)
    if attribute(node, COORDINATES, b"half_pixel") != b"tf_half_pixel_for_nn":
        return
    mode, nearest = attribute(node, "mode", b"nearest"), attribute(node, "nearest_mode", b"round_prefer_floor")
    if mode != b"nearest" or nearest not in TENSORFLOW:
        how = f"mode={mode.decode('utf-8', 'replace')!r}"
        how += f" and nearest_mode={nearest.decode('utf-8', 'replace')!r}" if mode == b"nearest" else ""
        raise Refusal(f"Resize-13 has no {COORDINATES}='tf_half_pixel_for_nn', nor another form of it with {how}")
    set_attribute(node, COORDINATES, b"half_pixel")
    set_attribute(node, "nearest_mode", TENSORFLOW[nearest])
    if not _clear_of_borders(node, new, whole=nearest == b"floor"):
        new.losses.append(
            f"Resize has {COORDINATES}='half_pixel' for 'tf_half_pixel_for_nn': where a coordinate lies between two "
            "elements, runtimes may take the other one"
        )


def _sizes_or_scales(node: NodeProto, new: Builder) -> None:
    """Leave out the scales of version 11, which are empty where there are sizes, and sizes that are empty.

    ONNX's check of later versions takes both for stated, unless it sees that one is empty.
    """
    names = [*node.input, "", "", ""][:4]
    if not names[2] or not names[3]:
        return
    empty = [name for name in names[2:] if new.scope.shape(name) == (0,)]
    gone = empty[0] if len(empty) == 1 else names[2]
    if new.scope.source(gone) is None:
        set_inputs(node, ["" if name == gone else name for name in names])


def _clear_of_borders(node: NodeProto, new: Builder, *, whole: bool) -> bool:
    """Whether no (i + 0.5) * input / output is a whole number, or none lies half way between two.

    Reduced, input / output is not even over odd in the first case, nor odd over odd in the second. An axis that keeps
    its size has coordinates that float32 holds.
    """
    if not given(node, 3):
        scales = new.scope.constant(given(node, 2))
        if scales is None or not (scales >= 1).all():
            return False
        return bool(((scales == 1) | (scales % (1 if whole else 2) == 0)).all())
    sizes, dims = new.scope.constant(given(node, 3)), new.scope.shape(node.input[0])
    if sizes is None or dims is None or sizes.size != len(dims):
        return False
    for dim, size in zip(dims, map(int, sizes.reshape(-1)), strict=True):
        if not isinstance(dim, int) or dim < 1 or size < 1:
            return False
        over, under = (n // math.gcd(dim, size) % 2 for n in (dim, size))
        if dim != size and (over, under) == ((0, 1) if whole else (1, 1)):
            return False
    return True


@step("Resize", at=(10, 11))
def resize_asymmetric(node: NodeProto, new: Builder) -> None:
    """Resize-10 scales from the corner; upwards its nearest is the one below."""
    nearest = attribute(node, "mode", b"nearest") == b"nearest"
    if nearest:
        if given(node, 1) not in new.scope.enlarging:
            scales = constant(node, 1, "the scales", new)
            if scales is None or (scales < 1).any():
                raise Refusal("Resize-10 does not say which element is nearest where it shrinks")
        set_attribute(node, "nearest_mode", "floor")
    set_attribute(node, COORDINATES, "asymmetric")
    set_inputs(node, [node.input[0], new.constant("roi", [], np.float32), node.input[1]])


@step("Resize", at=(13, 11))
def resize_with_empties(node: NodeProto, new: Builder) -> None:
    """What may be left out in version 13 must be there in 11, and empty."""
    names = [node.input[0], given(node, 1), given(node, 2), given(node, 3)]
    for i, hint in ((1, "roi"), (2, "scales")):
        names[i] = names[i] or new.constant(hint, [], np.float32)
    set_inputs(node, names)


@step("Resize", at=(18, 13))
def resize_all_axes(node: NodeProto, new: Builder) -> None:
    """Resize-13 resizes every axis, without anti-aliasing, to sizes as they are."""
    axes = attribute(node, "axes")
    if axes:
        rank = rank_of(node, "Resize-13", new)
        at = axes_in(node, list(axes), rank)
        names = [node.input[0], given(node, 1), given(node, 2), given(node, 3)]
        if names[1] and new.scope.shape(names[1]) != (0,):
            raise Refusal("Resize-13 takes a region of interest over every axis alone")
        if names[2] and new.scope.shape(names[2]) != (0,):
            names[2] = put(names[2], at, new.constant("ones", [1] * rank, np.float32), "scales", new)
        if names[3]:
            names[3] = put(names[3], at, new.add("Shape", [node.input[0]], "shape"), "sizes", new)
        set_inputs(node, names)
    drop_attribute(node, "axes")
    if not given(node, 3):
        drop_attribute(node, "keep_aspect_ratio_policy")
    drop_new(node, 18, 13)


@step("Upsample", at=(1, 7))
def upsample_by_a_list(node: NodeProto, new: Builder) -> None:
    if new.scope.rank(node.input[0]) not in (None, 4):
        raise Refusal("Upsample-1 scales height and width of four dims alone")
    _rename_mode(node, {b"nearest": b"nearest", b"bilinear": b"linear"}, 1)
    scales = [1.0, 1.0, attribute(node, "height_scale"), attribute(node, "width_scale")]
    drop_attribute(node, "height_scale", "width_scale")
    set_attribute(node, "scales", scales)


@step("Upsample", at=(7, 1))
def upsample_by_height_and_width(node: NodeProto, new: Builder) -> None:
    scales = list(attribute(node, "scales"))
    if len(scales) != 4 or scales[:2] != [1, 1]:
        raise Refusal("Upsample-1 scales height and width of four dims alone")
    _rename_mode(node, {b"nearest": b"nearest", b"linear": b"bilinear"}, 7)
    drop_attribute(node, "scales")
    set_attribute(node, "height_scale", scales[2])
    set_attribute(node, "width_scale", scales[3])


def _rename_mode(node: NodeProto, names: Mapping[bytes, bytes], version: int) -> None:
    mode = attribute(node, "mode")
    if mode is None:
        return
    if mode not in names:
        raise Refusal(f"Upsample-{version} has no mode={mode.decode('utf-8', 'replace')!r}")
    set_attribute(node, "mode", names[mode])


@step("Upsample", at=(9, 7))
def upsample_to_attribute(node: NodeProto, new: Builder) -> None:
    scales = constant(node, 1, "the scales", new)
    assert scales is not None  # which version 9 needs
    set_attribute(node, "scales", [float(one) for one in scales.reshape(-1)])
    set_inputs(node, [node.input[0]])


@step("Upsample", at=(9, 10))
def upsample_to_resize(node: NodeProto, new: Builder) -> None:
    """Upsample takes no scales below 1, computed ones neither."""
    new.scope.enlarging.add(given(node, 1))
    node.op_type = "Resize"


@step("SpaceToDepth", at=(28, 13))
def depth_by_blocks(node: NodeProto, new: Builder) -> None:
    """Version 13 puts the places in a block before the channels; CRD takes them from there, channel by channel."""
    order = _order(node, 13, 1, new)
    if order is None:
        return
    found, output = new.keep(node, "by_blocks")
    new.add("Gather", [found, new.constant("order", order.T.reshape(-1))], output=output, axis=1)


@step("DepthToSpace", at=(11, 1))
def space_by_blocks(node: NodeProto, new: Builder) -> None:
    """Version 1 takes the places in a block before the channels, where CRD has them channel by channel."""
    order = _order(node, 1, attribute(node, "blocksize") ** 2, new)
    if order is not None:
        places = order.reshape(order.shape[::-1]).T.reshape(-1)
        set_inputs(node, [new.add("Gather", [node.input[0], new.constant("order", places)], "by_blocks", axis=1)])


def _order(node: NodeProto, version: int, share: int, new: Builder) -> Array | None:
    """The numbers of channels, a row for each place in a block; ``None`` for mode DCR, which is the older version's.

    Args:
        share: the number of channels of the input for one of them.
    """
    mode, block = attribute(node, "mode", b"DCR"), attribute(node, "blocksize")
    drop_attribute(node, "mode")
    if mode == b"DCR":
        return None
    dims = new.scope.shape(node.input[0])
    channels = dims[1] if dims is not None and len(dims) == 4 else None
    if mode != b"CRD" or not isinstance(channels, int) or block < 1 or channels % share:
        raise Refusal(f"{node.op_type}-{version} has no mode={mode.decode('utf-8', 'replace')!r}")
    return np.arange(channels // share * block * block).reshape(block * block, -1)
