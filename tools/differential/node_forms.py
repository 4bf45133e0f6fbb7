"""How inputs and attributes of an operator belong together: a form draws them, by the version's schema."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from onnx import AttributeProto, TensorProto

from differential.node_drafts import NUMBERS, Draft, form, listed

# ---- element-wise ---------------------------------------------------------------------------------------------------


@form(
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity "
    "IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign "
    "Sqrt Swish Tan Tanh ThresholdedRelu BitwiseNot Size NonZero"
)
def unary(d: Draft) -> None:
    unit = ("Acos", "Asin", "Atanh")
    fill = "positive" if d.schema.name in ("Log", "Sqrt", "Acosh", "Reciprocal") else "any"
    d.give(d.dims(size=0 if d.chance(0.1) else 1), "unit" if d.schema.name in unit else fill)
    for name in d.schema.attributes:
        values: list[Any] = [0.5, 1.0, 0.01, 2.0, 1.6732632]
        known: dict[str, list[Any]] = {
            "approximate": ["none", "tanh"],
            "detect_negative": [0, 1],
            "detect_positive": [0, 1],
        }
        if name != "consumed_inputs":
            d.state(name, d.pick(known.get(name, values)))
        else:
            d.state(name, (0,), 0.3)


@form(
    "Add Sub Mul Div Pow And Or Xor Equal Greater GreaterOrEqual Less LessOrEqual Mod PRelu BitwiseAnd BitwiseOr "
    "BitwiseXor BitShift StringConcat"
)
def binary(d: Draft) -> None:
    whole = d.dims(1 if d.has("axis") else 0)
    a, b = whole, whole
    divides = d.schema.name in ("Div", "Mod", "Pow", "BitShift")
    if d.has("broadcast"):
        if d.chance(0.7):
            start = d.source.randrange(len(whole))
            stop = d.source.randint(start + 1, len(whole))
            b = whole[start:stop] if d.chance(0.8) else (1,)
            d.attributes.append(("broadcast", 1))
            if b and stop != len(whole) and len(b) == stop - start:
                d.attributes.append(("axis", start))
    elif d.schema.since_version >= 7:
        a, b = (tuple(1 if d.chance(0.25) else n for n in whole) for _ in "ab")
        short = d.source.randint(0, len(whole))
        one_way = d.schema.name == "PRelu"
        a, b = (whole, b[short:]) if one_way else (a[short:], b) if d.chance(0.5) else (a, b[short:])
    d.give(a, "positive" if d.schema.name == "Pow" else "any")
    d.give(b, "positive" if divides else "any")
    if d.state("consumed_inputs", (0, 0), 0.3):
        pass
    floats = d.inputs[0][0] in ("float", "double", "float16", "bfloat16")
    if d.has("fmod") and (floats or d.chance(0.4)):
        d.attributes.append(("fmod", 1))
    d.state("direction", d.pick(["LEFT", "RIGHT"]))


@form("Sum Max Min Mean")
def variadic(d: Draft) -> None:
    whole = d.dims()
    for _ in range(d.source.randint(1, 4)):
        free = d.schema.since_version >= 8
        d.give(
            tuple(1 if free and d.chance(0.2) else n for n in whole)[d.source.randint(0, len(whole)) if free else 0 :]
        )
    d.state("consumed_inputs", tuple([0] * len(d.inputs)), 0.3)


@form("Where")
def where(d: Draft) -> None:
    whole = d.dims()
    for i in range(3):
        d.give(
            tuple(1 if d.chance(0.2) else n for n in whole)[d.source.randint(0, len(whole)) :],
            "bool" if i == 0 else "any",
        )


@form("Clip")
def clip(d: Draft) -> None:
    d.give(d.dims())
    low, high = (d.pick([-1.5, 0.0, -3.0, 1.0]), d.pick([2.0, 6.0, 1.5]))
    if d.has("min"):
        d.state("min", low, 0.6)
        d.state("max", high, 0.6)
        d.state("consumed_inputs", (0,), 0.3)
        return
    whole = d.inputs[0][0] not in ("float", "double", "float16", "bfloat16")
    for value in (low, high):
        if d.chance(0.6):
            d.give((), listed([abs(int(value))] if whole else [value]))
        else:
            d.skip()


@form("Cast CastLike")
def casts(d: Draft) -> None:
    if d.has("consumed_inputs"):
        return
    source = d.type()
    d.give(d.dims(), "digits" if source == "string" else "any")
    allowed = next(c.allowed_type_strs for c in d.schema.type_constraints if c.type_param_str == "T2")
    to = d.pick(sorted(allowed))[7:-1]
    if source == "string" and NUMBERS[to] not in (1, 6, 7, 11):
        to = "float"
    if d.schema.name == "CastLike":
        d.bound["T2"] = to
        d.give(d.dims(0, 1))
    else:
        d.attributes.append(
            ("to", TensorProto.DataType.Name(NUMBERS[to]) if d.schema.since_version < 6 else NUMBERS[to])
        )
    d.state("saturate", d.pick([0, 1]), 0.4)
    d.state("round_mode", d.pick(["up", "down", "nearest"]), 0.3)


# ---- axes and reductions -----------------------------------------------------------------------------------------


@form(
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"
)
def reduces(d: Draft) -> None:
    shape = d.dims(size=0 if d.chance(0.05) else 1)
    d.give(shape, "positive" if "Log" in d.schema.name else "any")
    axes = d.axes(len(shape), 0 if d.schema.since_version >= 13 else 1) if d.chance(0.7) else None
    d.either("axes", axes or None)
    d.state("keepdims", d.pick([0, 1]))
    d.state("noop_with_empty_axes", d.pick([0, 1]), 0.4)


@form("ArgMax ArgMin")
def arg(d: Draft) -> None:
    shape = d.dims(1)
    d.give(shape)
    d.state("axis", d.axis(len(shape)))
    d.state("keepdims", d.pick([0, 1]))
    d.state("select_last_index", d.pick([0, 1]))


@form("Softmax LogSoftmax Hardmax LpNormalization Flatten Shape MeanVarianceNormalization")
def by_axis(d: Draft) -> None:
    shape = d.dims(2 if d.schema.since_version < 13 else 1)
    if d.schema.name == "MeanVarianceNormalization":
        d.give((2, 3, 2, 2), "any", "float")
        d.state("axes", d.pick([(0, 2, 3), (1,), (0, 1, 2, 3)]))
        return
    d.give(shape)
    d.state("axis", d.axis(len(shape)) if d.schema.name != "Flatten" or d.chance(0.8) else len(shape))
    d.state("p", d.pick([1, 2]))
    d.state("start", d.pick([0, 1, -1, -2]), 0.4)
    d.state("end", d.pick([1, 2, -1]), 0.4)


@form("CumSum CumProd")
def cumulative(d: Draft) -> None:
    shape = d.dims(1)
    d.give(shape)
    d.give((), listed([d.axis(len(shape))]), d.pick(["int32", "int64"]))
    d.state("exclusive", d.pick([0, 1]))
    d.state("reverse", d.pick([0, 1]))


@form("TopK")
def top_k(d: Draft) -> None:
    shape = d.dims(1)
    axis = d.axis(len(shape))
    d.give(shape)
    d.either("k", [d.source.randint(1, shape[axis])], scalar=d.has("k"))
    d.attributes.append(("axis", axis))
    d.state("largest", d.pick([0, 1]))
    d.state("sorted", 1, 0.4)
    d.outputs = 2


# ---- shapes -----------------------------------------------------------------------------------------------------


@form("Reshape")
def reshape(d: Draft) -> None:
    shape = d.dims(1)
    d.give(shape)
    target_shape = list(shape)
    d.source.shuffle(target_shape)
    if d.chance(0.3):
        target_shape.insert(d.source.randint(0, len(target_shape)), 1)
    if d.chance(0.4):
        target_shape[d.source.randrange(len(target_shape))] = -1
    if d.chance(0.3) and target_shape[0] == shape[0]:
        target_shape[0] = 0
    d.either("shape", target_shape)
    if 0 not in target_shape or d.chance(0.1):
        d.state("allowzero", d.pick([0, 1]), 0.4)


@form("Transpose")
def transpose(d: Draft) -> None:
    shape = d.dims(1)
    d.give(shape)
    d.state("perm", tuple(d.source.sample(range(len(shape)), len(shape))))


@form("Squeeze Unsqueeze")
def squeeze(d: Draft) -> None:
    shape = d.dims(1)
    if d.schema.name == "Squeeze":
        at = sorted(d.source.sample(range(len(shape)), d.source.randint(1, len(shape))))
        shape = tuple(1 if i in at else n for i, n in enumerate(shape))
        rank = len(shape)
    else:
        count = d.source.randint(1, 3)
        rank = len(shape) + count
        at = sorted(d.source.sample(range(rank), count))
    d.give(shape)
    if d.schema.name == "Unsqueeze" or d.chance(0.8):
        negative = d.schema.since_version >= 11
        d.either("axes", [i - rank if negative and d.chance(0.4) else i for i in at])


@form("Expand Tile")
def repeats(d: Draft) -> None:
    shape = d.dims(1)
    d.give(shape)
    if d.schema.name == "Tile" and d.schema.since_version < 6:
        dtype = d.type()
        d.give((), "=2", dtype)
        d.give((), f"={d.source.randrange(len(shape))}", dtype)
    elif d.schema.name == "Tile":
        d.give((len(shape),), listed([d.source.randint(1, 3) for _ in shape]), "int64")
    else:
        target_shape = [n if d.chance(0.6) else 1 for n in shape]
        target_shape = [d.source.randint(2, 3) for _ in range(d.source.randint(0, 1))] + target_shape
        d.give((len(target_shape),), listed(target_shape), "int64")


@form("Concat")
def concat(d: Draft) -> None:
    shape = d.dims(2)
    axis = d.axis(len(shape)) if d.schema.since_version >= 4 or d.chance(0.5) else 1
    for _ in range(d.source.randint(1, 3)):
        own = list(shape)
        own[axis] = d.source.randint(1, 3)
        d.give(own)
    d.state("axis", axis, 1.0 if axis != 1 else 0.5)


@form("Slice")
def slices(d: Draft) -> None:
    shape = d.dims(1)
    d.give(shape)
    axes = d.axes(len(shape), 1)
    steps = [d.pick([1, 1, 2, -1, -2]) if d.schema.since_version >= 11 else d.pick([1, 1, 2]) for _ in axes]
    starts, ends = [], []
    for axis, step in zip(axes, steps, strict=True):
        size = shape[axis]
        low, high = d.source.randint(0, size), d.source.randint(0, size)
        if step < 0:
            starts.append(d.pick([size - 1, high, -1, 100]))
            ends.append(d.pick([-size - 1, low - size - 1, -(2**31)]))
        else:
            starts.append(d.pick([low, 0, -size]))
            ends.append(d.pick([high, size, 2**31, 2**63 - 1, -1]))
    kind = d.pick(["int32", "int64"]) if not d.has("starts") else "int64"
    if kind == "int32":
        ends = [min(end, 2**31 - 1) for end in ends]
    plain = axes == tuple(range(len(axes)))
    d.either("starts", starts, dtype=kind)
    d.either("ends", ends, dtype=kind)
    d.either("axes", None if plain and d.chance(0.6) else axes, dtype=kind)
    if not d.has("starts") and (any(step != 1 for step in steps) or d.chance(0.3)):
        d.give((len(steps),), listed(steps), kind)


@form("Split")
def split(d: Draft) -> None:
    shape = d.dims(1)
    axis = d.axis(len(shape))
    parts = d.source.randint(1, 3)
    sizes = [d.source.randint(0 if d.chance(0.1) else 1, 3) for _ in range(parts)]
    even = d.chance(0.5)
    sizes = [sizes[0] or 1] * parts if even else sizes
    total = sum(sizes)
    d.give((*shape[: axis % len(shape)], total, *shape[axis % len(shape) + 1 :]))
    d.state("axis", axis, 1.0 if axis != 0 else 0.5)
    if d.has("num_outputs") and (even or d.chance(0.2)):
        d.attributes.append(("num_outputs", parts))
    elif not even or d.chance(0.5):
        d.either("split", sizes)
    d.outputs = parts


@form("Pad")
def pad(d: Draft) -> None:
    shape = d.dims(1, 4, 2)
    d.give(shape)
    rank = len(shape)
    axes = d.axes(rank, 1) if d.schema.since_version >= 18 and d.chance(0.5) else None
    count = rank if axes is None else len(axes)
    mode = d.pick(["constant", "constant", "reflect", "edge", "wrap"])
    if mode == "wrap" and d.schema.since_version < 19:
        mode = "edge"
    amounts = [d.pick([0, 1, 1, 2, -1]) if mode == "constant" else d.pick([0, 1]) for _ in range(2 * count)]
    if d.has("paddings"):
        d.attributes.append(("paddings", tuple(amounts)))
    else:
        d.either("pads", amounts)
    if d.has("value"):
        d.state("value", d.pick([0.0, 1.5]), 0.5)
    elif d.chance(0.5) and mode == "constant":
        d.give((), "any")
    else:
        d.skip()
    if axes is not None:
        d.give((len(axes),), listed(axes), "int64")
    d.state("mode", mode, 1.0 if mode != "constant" else 0.3)


@form("Gather GatherElements")
def gather(d: Draft) -> None:
    shape = d.dims(1)
    axis = d.axis(len(shape))
    d.give(shape)
    at = d.dims(0, 2) if d.schema.name == "Gather" else tuple(d.source.randint(1, n) for n in shape)
    negative = d.schema.since_version >= 11 and d.chance(0.5)
    d.give(at, f"<{shape[axis]}" if negative else f"0<{shape[axis]}")
    d.state("axis", axis, 1.0 if axis != 0 else 0.4)


@form("GatherND ScatterND")
def gather_nd(d: Draft) -> None:
    shape = d.dims(1)
    batch = d.source.randint(0, len(shape) - 1) if d.has("batch_dims") and d.chance(0.4) else 0
    depth = d.source.randint(1, len(shape) - batch)
    outer = d.dims(1, 2)
    d.give(shape)
    least = min(shape[batch : batch + depth])
    d.give((*shape[:batch], *outer, depth), f"0<{least}")
    if d.schema.name == "ScatterND":
        d.give((*outer, *shape[depth:]))
        d.state(
            "reduction",
            d.pick(["none", "add", "mul", "max", "min"])
            if d.schema.since_version >= 18
            else d.pick(["none", "add", "mul"]),
        )
    elif batch:
        d.attributes.append(("batch_dims", batch))


@form("Scatter ScatterElements")
def scatter(d: Draft) -> None:
    shape = d.dims(1)
    axis = d.axis(len(shape))
    d.give(shape)
    at = tuple(1 if i == axis % len(shape) else d.source.randint(1, n) for i, n in enumerate(shape))
    d.give(at, f"0<{shape[axis]}")
    d.give(at)
    d.state("axis", axis, 1.0 if axis != 0 else 0.4)
    d.state(
        "reduction",
        d.pick(["none", "add", "mul", "max", "min"])
        if d.schema.since_version >= 18
        else d.pick(["none", "add", "mul"]),
    )


@form("DepthToSpace SpaceToDepth")
def blocks(d: Draft) -> None:
    deep = d.schema.name == "DepthToSpace"
    d.give((d.source.randint(1, 2), 4 if deep else 2, 2, 4))
    d.attributes.append(("blocksize", 2))
    d.state("mode", d.pick(["DCR", "CRD"]))


@form("Trilu EyeLike")
def matrices(d: Draft) -> None:
    batch = d.dims(0, 2) if d.schema.name == "Trilu" else ()
    d.give((*batch, d.source.randint(1, 4), d.source.randint(1, 4)))
    if d.schema.name == "Trilu":
        if d.chance(0.6):
            d.give((), listed([d.source.randint(-3, 3)]), "int64")
        d.state("upper", d.pick([0, 1]))
    else:
        d.state("k", d.source.randint(-2, 2))
        d.state("dtype", d.pick([1, 6, 7, 9, 10, 11]), 0.5)


@form("OneHot")
def one_hot(d: Draft) -> None:
    shape = d.dims(1, 2)
    d.give(shape, "<3" if d.schema.since_version >= 11 else "0<3")
    d.give(d.pick([(), (1,)]), "=3")
    d.give((2,), "any")
    d.state("axis", d.pick([-1, 0, 1]))


@form("Compress")
def compress(d: Draft) -> None:
    shape = d.dims(1)
    axis = d.axis(len(shape))
    flat = d.chance(0.3)
    size = math.prod(shape) if flat else shape[axis]
    d.give(shape)
    d.give((d.source.randint(1, size),), "bool")
    if not flat:
        d.attributes.append(("axis", axis))


@form("Range")
def ranges(d: Draft) -> None:
    dtype = d.type()
    for value in d.pick([(0, 5, 1), (5, 0, -2), (1, 9, 3), (2, 2, 1)]):
        d.give((), listed([value]), dtype)


@form("ConstantOfShape")
def constant_of_shape(d: Draft) -> None:
    shape = d.dims(0, 3, 0 if d.chance(0.2) else 1)
    d.give((len(shape),), listed(shape))
    dtype = d.pick(["float", "int64", "int32", "uint8", "bool", "double", "float16"])
    d.state("value", ("tensor", dtype, (1,), (1,)))


@form("Constant")
def constants(d: Draft) -> None:
    dtypes = ["float", "double", "float16"]
    if d.schema.since_version >= 9:
        dtypes = ["float", "int64", "uint8", "bool", *(["int4", "bfloat16"] if d.schema.since_version >= 21 else [])]
    kinds: list[tuple[str, Any]] = [
        ("value", ("tensor", d.pick(dtypes), (2,), (1, 0))),
        ("value_float", 1.5), ("value_floats", (1.5, 2.0)), ("value_int", 3), ("value_ints", (3, 4)),
        ("value_string", "a"), ("value_strings", ("a", "b")),
    ]  # fmt: skip
    d.attributes.append(d.pick([row for row in kinds if d.has(row[0])]))


@form("ReverseSequence")
def reverse_sequence(d: Draft) -> None:
    d.give((3, 3, *d.dims(0, 2)))
    d.give((3,), listed([d.source.randint(1, 3) for _ in range(3)]), "int64")
    swap = d.chance(0.5)
    d.state("batch_axis", int(swap), 1)
    d.state("time_axis", int(not swap), 1)


@form("Unique")
def unique(d: Draft) -> None:
    shape = d.dims(1)
    d.give(shape, "few")
    if d.chance(0.5):
        d.attributes.append(("axis", d.axis(len(shape))))
    d.state("sorted", d.pick([0, 1]))
    d.outputs = d.source.randint(1, 4)


@form("Upsample")
def upsample(d: Draft) -> None:
    d.give((1, 2, d.source.randint(1, 3), 2))
    if d.has("height_scale"):
        d.attributes += [("height_scale", 2.0), ("width_scale", d.pick([2.0, 3.0]))]
    elif d.has("scales"):
        d.attributes.append(("scales", (1.0, 1.0, 2.0, d.pick([2.0, 3.0]))))
    else:
        d.give((4,), listed([1.0, 1.0, 2.0, d.pick([2.0, 3.0])]), "float")
    d.state("mode", d.pick(["nearest", "bilinear" if d.schema.since_version < 7 else "linear"]))


@form("Resize")
def resize(d: Draft) -> None:
    shape = (1, 2, d.source.randint(2, 4), d.source.randint(2, 4))
    d.give(shape)
    since = d.schema.since_version
    scales = [1.0, 1.0, d.pick([2.0, 0.5, 1.5]), d.pick([2.0, 3.0, 0.6])]
    if since == 10:
        d.give((4,), listed(scales), "float")
        d.state("mode", d.pick(["nearest", "linear"]))
        return
    way = d.pick(
        [
            "half_pixel",
            "pytorch_half_pixel",
            "align_corners",
            "asymmetric",
            "tf_crop_and_resize",
            "half_pixel_symmetric",
            "tf_half_pixel_for_nn",
        ]
    )
    stated = d.state("coordinate_transformation_mode", way)
    roi = stated and way == "tf_crop_and_resize"
    axes = (2, 3) if since >= 18 and d.chance(0.4) else None
    count = 2 if axes else 4
    if roi:
        d.give((2 * count,), listed([0.0] * (count - 2) + [0.1, 0.2] + [1.0] * (count - 2) + [0.8, 0.9]))
    elif since == 11:
        d.give((0,), "=", d.pick(["float"]))
    else:
        d.skip()
    by_size = d.chance(0.4)
    if not by_size:
        d.give((count,), listed(scales[-count:]), "float")
    else:
        if since == 11:
            d.give((0,), "=", "float")
        else:
            d.skip()
        d.give((count,), listed([*shape[:2], d.source.randint(1, 6), d.source.randint(1, 6)][-count:]), "int64")
    if axes:
        d.attributes.append(("axes", axes))
    if by_size:
        d.state("keep_aspect_ratio_policy", d.pick(["stretch", "not_larger", "not_smaller"]), 0.4)
    mode = d.pick(["nearest", "linear", "cubic"])
    d.state("mode", mode)
    d.state("nearest_mode", d.pick(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]), 0.5)
    d.state("antialias", d.pick([0, 1]) if mode != "nearest" else 0, 0.3)
    d.state("exclude_outside", d.pick([0, 1]) if mode == "cubic" else 0, 0.3)
    d.state("cubic_coeff_a", d.pick([-0.75, -0.5]), 0.3)
    d.state("extrapolation_value", d.pick([0.0, 1.5]), 0.3)


# ---- networks ------------------------------------------------------------------------------------------------------


def windows(d: Draft, rank: int, sizes: Sequence[int]) -> None:
    """The attributes of a window: strides, pads or auto_pad, dilations."""
    d.state("strides", tuple(d.pick([1, 1, 2]) for _ in range(rank)), 0.5)
    if d.chance(0.3):
        d.state("auto_pad", d.pick(["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"]), 1)
    elif d.chance(0.6):
        d.state("pads", tuple(d.source.randint(0, sizes[i % rank] - 1) for i in range(2 * rank)), 1)
    d.state("dilations", tuple(d.pick([1, 1, 2]) for _ in range(rank)), 0.3)


@form("MaxPool AveragePool LpPool")
def pools(d: Draft) -> None:
    rank = d.pick([1, 2, 2, 3])
    d.give((d.source.randint(1, 2), 2, *(d.source.randint(4, 6) for _ in range(rank))))
    sizes = tuple(d.source.randint(1, 3) for _ in range(rank))
    d.state("kernel_shape", sizes, 1)
    windows(d, rank, sizes)
    d.state("ceil_mode", d.pick([0, 1]), 0.4)
    d.state("count_include_pad", d.pick([0, 1]), 0.5)
    d.state("storage_order", d.pick([0, 1]), 0.2)
    if d.has("p"):
        kind = int(cast(Any, d.schema.attributes["p"].type).value)
        d.state("p", d.pick([1, 2, 3]) if kind == AttributeProto.INT else 2.0, 0.7)
    d.outputs = d.pick([1, 1, 2]) if d.schema.max_output > 1 else 1


@form("MaxRoiPool")
def pools_of_regions(d: Draft) -> None:
    d.give((1, 2, 5, 6))
    d.give((2, 5), listed([0.0, 0.0, 0.0, 3.0, 3.0, 0.0, 1.0, 1.0, 4.0, 4.0]))
    d.attributes.append(("pooled_shape", (d.source.randint(1, 2), d.source.randint(1, 2))))
    d.state("spatial_scale", d.pick([1.0, 0.5]), 0.4)


@form("LayerNormalization RMSNormalization")
def over_last_axes(d: Draft) -> None:
    """A scale and a bias broadcast to the input, over the normalized axes or over others."""
    shape = d.dims(1)
    axis = d.axis(len(shape))
    d.give(shape)
    for _ in range(d.pick([1, 2]) if d.schema.max_input > 2 else 1):
        begin = axis % len(shape) if d.chance(0.5) else d.source.randrange(len(shape))
        d.give([1 if d.chance(0.2) else n for n in shape[begin:]])
    d.state("axis", axis)
    d.state("epsilon", 0.01, 0.4)
    d.state("stash_type", 1, 0.3)
    d.outputs = d.source.randint(1, d.schema.max_output) if d.chance(0.3) else 1


@form("GlobalAveragePool GlobalMaxPool GlobalLpPool InstanceNormalization BatchNormalization LRN Dropout")
def channels(d: Draft) -> None:
    name, since = d.schema.name, d.schema.since_version
    d.give((d.source.randint(1, 2), 3, *d.dims(1, 2)))
    if name == "InstanceNormalization":
        d.give((3,))
        d.give((3,))
    elif name == "BatchNormalization":
        for fill in ("any", "any", "any", "positive"):
            d.give((3,), fill)
        d.state("is_test", 1, 0.9)
        d.state("spatial", d.pick([1, 1, 0]), 0.3)
        d.state("momentum", d.pick([0.9, 0.5]), 0.3)
        if d.has("consumed_inputs"):
            d.attributes.append(("consumed_inputs", (0, 0, 0, 1, 1)))
        if d.has("training_mode") and d.chance(0.2):
            d.attributes.append(("training_mode", 1))
            d.outputs = 3
    elif name == "Dropout":
        d.state("is_test", 1, 0.8)
        if d.has("ratio"):
            d.state("ratio", d.pick([0.5, 0.3]), 0.5)
        elif d.chance(0.5):
            d.give((), "=0.3")
            if d.chance(0.4):
                d.give((), "=0", "bool")
        d.state("seed", 3, 0.2)
        d.outputs = d.pick([1, 1, 2])
    elif name == "LRN":
        d.state("size", d.pick([1, 3, 5]), 1)
        d.state("alpha", 0.001, 0.5)
        d.state("beta", 0.5, 0.5)
        d.state("bias", 2.0, 0.5)
    if name == "GlobalLpPool" and d.has("p"):
        d.state("p", 2 if since > 1 else 2.0, 0.7)
    d.state("epsilon", d.pick([1e-5, 1e-3]), 0.5)


@form("Conv ConvTranspose ConvInteger")
def convolutions(d: Draft) -> None:
    rank = d.pick([1, 2, 2, 3])
    group = d.pick([1, 1, 2])
    kernel = tuple(d.source.randint(1, 3) for _ in range(rank))
    d.give((1, 2 * group, *(d.source.randint(4, 5) for _ in range(rank))))
    first = 2 * group
    d.give((first, 2, *kernel))
    if d.schema.name == "ConvInteger":
        if d.chance(0.4):
            d.give((), "=3")
    elif d.chance(0.5):
        d.give((first if d.schema.name == "Conv" else 2 * group,))
    d.state("group", group, 1)
    d.state("kernel_shape", kernel, 0.5)
    windows(d, rank, kernel)
    if d.has("output_padding"):
        d.state("output_padding", tuple([0] * rank), 0.3)


@form("Gemm MatMul")
def products(d: Draft) -> None:
    m, k, n = (d.source.randint(1, 4) for _ in "mkn")
    if d.schema.name == "MatMul":
        batch = d.dims(0, 2)
        d.give((*batch, m, k))
        d.give((*(batch if d.chance(0.6) else ()), k, n) if d.chance(0.8) else (k,))
        return
    across = d.chance(0.4), d.chance(0.4)
    d.give((k, m) if across[0] else (m, k))
    d.give((n, k) if across[1] else (k, n))
    for name, turned in zip(("transA", "transB"), across, strict=True):
        if turned:
            d.attributes.append((name, 1))
    d.state("alpha", d.pick([1.0, 0.5]), 0.4)
    d.state("beta", d.pick([1.0, 2.0]), 0.4)
    if d.has("broadcast"):
        wide = d.chance(0.5)
        d.give((m, n) if not wide else (n,))
        d.attributes.append(("broadcast", int(wide)))
    elif d.schema.since_version < 11 or d.chance(0.6):
        d.give(d.pick([(m, n), (n,), (1, n), (m, 1), (1,), ()]))


@form("QuantizeLinear DequantizeLinear")
def quantize(d: Draft) -> None:
    since, forward = d.schema.since_version, d.schema.name == "QuantizeLinear"
    shape = d.dims(1)
    d.give(shape)
    axis = d.axis(len(shape))
    per_axis = since >= 13 and d.chance(0.4)
    own = (shape[axis],) if per_axis else ()
    d.give(own, "positive")
    if d.chance(0.7):
        d.give(own, "few" if d.inputs[0][0] != "int32" else "zeros")
    elif since >= 21 and forward:
        d.state("output_dtype", d.pick([2, 3, 4, 5, 17, 19, 21, 22]), 0.7)
    if per_axis or d.chance(0.2):
        d.state("axis", axis, 1)
    d.state("saturate", d.pick([0, 1]), 0.2)


# ---- sequences, strings and the random ----------------------------------------------------------------------------


@form("RandomNormal RandomUniform")
def randoms(d: Draft) -> None:
    d.attributes.append(("shape", d.dims(1, 2)))
    d.state("dtype", d.pick([1, 10, 11]), 0.5)
    d.state("seed", 1.0, 0.5)


@form("RandomNormalLike RandomUniformLike Bernoulli Multinomial")
def random_like(d: Draft) -> None:
    d.give((2, 3), "chance")
    d.state(
        "dtype",
        d.pick([6, 7] if d.schema.name == "Multinomial" else [1, 10, 11]),
        1 if d.schema.name != "Bernoulli" else 0.3,
    )
    d.state("seed", 1.0, 0.5)


@form("SequenceConstruct")
def sequence_construct(d: Draft) -> None:
    for _ in range(d.source.randint(1, 3)):
        d.give((2, 2))
