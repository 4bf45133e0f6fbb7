"""Random networks of layers around a subtraction; network N of a seed is always the same.

Convolutions, products, normalisations, attention, recurrent cells and quantisations are written as exporters write
them, in opsets from 7 on. What runtimes fuse in these is not seen where single operators are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from random_chains import OPEN, dims_of
from random_graphs import Drawn, Value
from truth import Array, Feeds, data_number

from minuend.core.elements import TYPES

IMAGES: tuple[tuple[int, ...], ...] = (
    (1, 4, 6, 6),
    (2, 4, 4, 6),
    (1, 8, 4, 4),
    (1, 3, 6, 6),
    (1, 4, 8),
    (1, 4, 4, 4, 4),
)
TOKENS: tuple[tuple[int, ...], ...] = ((2, 8), (4, 4), (1, 3, 8), (2, 3, 4), (2, 3, 8), (1, 2, 3, 8))
LARGE_IMAGES: tuple[tuple[int, ...], ...] = (
    (1, 64, 14, 14),
    (2, 128, 7, 7),
    (1, 32, 28, 28),
    (1, 3, 32, 32),
    (1, 256, 4, 4),
    (1, 64, 100),
    (1, 16, 8, 8, 8),
)
LARGE_TOKENS: tuple[tuple[int, ...], ...] = (
    (2, 768), (16, 1024), (1, 16, 512), (2, 32, 256), (1, 4, 1024), (1, 4, 16, 64)
)  # fmt: skip
"""Sizes that models have: runtimes cut rows and channels into blocks, and small ones are never cut."""
DTYPES = ("float32",) * 17 + ("float16",) * 2 + ("bfloat16",)
OPSETS = (7, 9, 10, 11, 12, 13, 13, 14, 16, 17, 18, 19, 20, 21, 21, 21, 22, 23)
ACTIVATIONS = ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "HardSigmoid", "Softplus", "Gelu", "Mish", "HardSwish")
_FAULTS = (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, ValueError, TypeError, IndexError)

_OF_NO_SIZES = {"GroupNormalization": 0, "Loop": 2}
"""Operators of which no sizes are inferred: the input whose sizes the result has."""


def of_layers(seed: int, number: int, *, large: bool = False) -> Drawn:
    """Return a network of up to seven layers with one or more subtractions, first, last or between them.

    ``large``: of sizes that models have.
    """
    source = np.random.default_rng([seed, number])
    while True:
        try:
            return Network(source, large=large).drawn()
        except _FAULTS:
            continue


class Network:
    """Layers while they are written.

    Args:
        source: where choices come from. large: whether sizes are those of models.
    """

    def __init__(self, source: np.random.Generator, *, large: bool = False) -> None:
        self.source = source
        self.images, self.tokens = (LARGE_IMAGES, LARGE_TOKENS) if large else (IMAGES, TOKENS)
        self.opset, self.dtype = self.pick(OPSETS), self.pick(DTYPES)
        if self.dtype == "bfloat16":
            self.opset = max(self.opset, 13)
        self.is_image = self.chance(0.55)
        self.values: dict[str, Value] = {}
        self.inputs: list[Value] = []
        self.fixed: dict[str, Array] = {}
        self.nodes: list[NodeProto] = []
        self.stored: list[TensorProto] = []

    # ---- choices ----

    def chance(self, share: float) -> bool:
        return bool(self.source.random() < share)

    def pick(self, options: Sequence[Any]) -> Any:
        return options[int(self.source.integers(len(options)))]

    # ---- values ----

    def input(self, shape: tuple[int, ...], dtype: str = "", fixed: Array | None = None) -> str:
        made = Value(f"x{len(self.inputs)}", dtype or self.dtype, shape)
        self.inputs.append(made)
        self.values[made.name] = made
        if fixed is not None:
            self.fixed[made.name] = fixed
        return made.name

    def store(self, array: Any, dtype: str = "") -> str:
        """Store a constant, of the network's own type where no other is named."""
        kept = np.asarray(np.asarray(array).astype(TYPES[dtype or self.dtype].memory))
        name = f"k{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(kept, name))
        self.values[name] = Value(name, dtype or self.dtype, kept.shape)
        return name

    def real(self, *dims: int, low: float = -1.0) -> str:
        return self.store(np.round(self.source.uniform(low, 1.2, dims), 3))

    def sizes(self, *numbers: int) -> str:
        return self.store(np.array(numbers), "int64")

    def shape(self, name: str) -> tuple[int, ...]:
        return self.values[name].shape

    # ---- nodes ----

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node, and return its first result.

        Raises:
            ValidationError, InferenceError, ValueError: the operator does not take these inputs in this opset.
        """
        return self.several(operator, 1, *inputs, **attributes)[0]

    def several(self, operator: str, count: int, *inputs: str, **attributes: Any) -> list[str]:
        """Add a node of several results."""
        names = [f"v{len(self.nodes)}_{i}" if i else f"v{len(self.nodes)}" for i in range(count)]
        node = helper.make_node(operator, list(inputs), names, **attributes)
        values = [self.values[name] for name in dict.fromkeys(inputs) if name]
        outer = {name: self.values[name] for name in _captured(node)}
        given = [_declared(one, one.shape) for one in {**{one.name: one for one in values}, **outer}.values()]
        made = self._model([node], given, [onnx.ValueInfoProto(name=name) for name in names])
        kept = [value for value in made.graph.input if value.name not in {one.name for one in made.graph.initializer}]
        del made.graph.input[:]
        made.graph.input.extend(kept)
        known = onnx.shape_inference.infer_shapes(made, check_type=True, data_prop=True, strict_mode=True)
        for value in known.graph.output:
            tensor = value.type.tensor_type
            if operator in _OF_NO_SIZES:
                tensor = _declared(like := self.values[inputs[_OF_NO_SIZES[operator]]], like.shape).type.tensor_type
            if not tensor.HasField("shape") or any(dim.dim_value < 1 for dim in tensor.shape.dim):
                raise ValueError(f"{operator}: no sizes of {value.name}")
            dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type).name
            self.values[value.name] = Value(value.name, dtype, tuple(dim.dim_value for dim in tensor.shape.dim))
        self.nodes.append(node)
        return names

    def over(self, operator: str, x: str, *axes: int, **attributes: Any) -> str:
        """Add a node with axes, which are an attribute or an input by the opset."""
        since = 13 if operator in ("ReduceSum", "Squeeze", "Unsqueeze") else 18
        if self.opset >= since:
            return self.node(operator, x, self.sizes(*axes), **attributes)
        return self.node(operator, x, axes=list(axes), **attributes)

    def cast(self, x: str, dtype: str) -> str:
        return x if self.values[x].dtype == dtype else self.node("Cast", x, to=data_number(dtype))

    def _model(self, nodes: Sequence[NodeProto], inputs: Sequence[Any], outputs: Sequence[Any]) -> ModelProto:
        read = {name for node in nodes for name in (*node.input, *_captured(node))}
        stored = [one for one in self.stored if one.name in read]
        graph = helper.make_graph(nodes, "layers", inputs, outputs, stored)
        ir_version = 8 if self.opset < 19 else 10
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=ir_version)

    # ---- the whole ----

    def layer(self, x: str) -> str:
        """Add a layer that takes a value."""
        rules = ANYWHERE + (IMAGE_LAYERS if len(self.shape(x)) > 2 and self.is_image else TOKEN_LAYERS)
        weights = np.array([weight for weight, _ in rules], float)
        for _ in range(20):
            rule = rules[int(self.source.choice(len(rules), p=weights / weights.sum()))][1]
            nodes, stored, inputs = len(self.nodes), len(self.stored), len(self.inputs)
            try:
                made = rule(self, x)
                if self.values[made].dtype == self.dtype and self.shape(made):
                    return made
            except _FAULTS:
                pass
            del self.nodes[nodes:], self.stored[stored:], self.inputs[inputs:]
        raise ValueError("no layer takes it")

    def layers(self, x: str, most: int) -> str:
        for _ in range(int(self.source.integers(most + 1))):
            x = self.layer(x)
        return x

    def other(self, x: str) -> str:
        """What goes with a value in a subtraction: a constant, an input, what layers make of either."""
        shape = self.shape(x)
        channels = (shape[1], *(1,) * (len(shape) - 2)) if self.is_image and len(shape) > 2 else shape[-1:]
        fitting = [one.name for one in self.values.values() if one.shape == shape and one.dtype == self.dtype]
        made = [name for name in fitting if any(name in node.output for node in self.nodes)]
        how = int(self.source.integers(7))
        if how == 0:
            return self.real(*self.pick((channels, channels, shape, (), (1,))))
        if how == 1:
            return self.store(np.array(self.pick((0.0, 1.0, 0.5))))
        if how == 2 and made:
            return str(self.pick(made))
        if how == 3:
            return self.layers(x, 2)
        if how == 4:
            return self.layers(self.input(self.pick((channels, shape[-1:], (1,)))), 1)
        if how == 5:
            return str(self.pick([name for name in fitting if name not in {one.name for one in self.stored}]))
        return self.layers(self.input(shape), 2)

    def less(self, x: str) -> str:
        """Subtract from a value, or subtract it."""
        y = self.other(x)
        pair = [x, y] if self.chance(0.6) else [y, x]
        return _in_body(self, *pair) if self.chance(0.06) else self.node("Sub", *pair)

    def drawn(self) -> Drawn:
        """Draw the network as a graph.

        Raises:
            ValidationError, InferenceError, ValueError: an operator does not take what stands before it.
        """
        x = _beginning(self)
        ends = [self.less(self.layers(x, 3))]
        inner = [*ends, *(node.output[0] for node in self.nodes)]
        ends = [self.layers(ends[0], 3)]
        if self.chance(0.12):
            ends = [self.less(ends[0])]
        if self.chance(0.1):
            ends = [_picked(self, ends[0])]
        if self.chance(0.2):
            ends = list(dict.fromkeys([*ends, str(self.pick(inner))]))
        open_ = self.pick(OPEN)
        used = {name for node in self.nodes for name in (*node.input, *_captured(node))}
        inputs = [one for one in self.inputs if one.name in used]
        declared = [_declared(one, dims_of(one, open_ if one.name not in self.fixed else "none")) for one in inputs]
        results = [helper.make_tensor_value_info(name, data_number(self.values[name].dtype), None) for name in ends]
        model = self._model(_needed(self.nodes, ends), declared, results)
        model = onnx.shape_inference.infer_shapes(model, data_prop=True, strict_mode=True)
        onnx.checker.check_model(model, full_check=True)
        if self.chance(0.5):  # what lies between is not declared
            del model.graph.value_info[:]
        read = {name for node in model.graph.node for name in (*node.input, *_captured(node))}
        kept = [value for value in model.graph.input if value.name in read]
        if not any("Sub" in (node.op_type, *_inner(node)) for node in model.graph.node):
            raise ValueError("no subtraction is needed")
        del model.graph.input[:]
        model.graph.input.extend(kept)
        made = [one for one in self.values.values() if one.name not in {tensor.name for tensor in self.stored}]
        fixed: Feeds = self.fixed
        return Drawn(model, [one for one in inputs if one.name in read], False, [0.5, 1.0], made, fixed)


def _declared(value: Value, dims: Sequence[int | str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(value.name, data_number(value.dtype), list(dims))


def _captured(node: NodeProto) -> set[str]:
    """What the bodies of a node read from around it, or make and read."""
    bodies = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    own = {name for body in bodies for one in body.node for name in one.output}
    own |= {value.name for body in bodies for value in body.input}
    return {name for body in bodies for one in body.node for name in one.input if name} - own


def _inner(node: NodeProto) -> list[str]:
    return [one.op_type for attribute in node.attribute for one in attribute.g.node]


def _needed(nodes: Sequence[NodeProto], ends: Sequence[str]) -> list[NodeProto]:
    """The nodes of which some values are made, in order."""
    wanted, kept = set(ends), []
    for node in reversed(nodes):
        if not wanted.isdisjoint(node.output):
            kept.append(node)
            wanted |= {*node.input, *_captured(node)}
    return kept[::-1]


# ---- where a network begins and ends, and subtractions in bodies -----------------------------------------------------


def _beginning(n: Network) -> str:
    """An input, or pixels that are converted, normalised or transposed."""
    shape = n.pick(n.images if n.is_image else n.tokens)
    if not n.is_image or n.chance(0.7):
        return n.input(shape)
    is_last = n.chance(0.4)  # the channels
    x = n.input((shape[0], *shape[2:], shape[1]) if is_last else shape, n.pick(("uint8", n.dtype)))
    x = n.cast(x, n.dtype)
    along = (shape[1],) if is_last else (1, shape[1], *(1,) * (len(shape) - 2))
    x = n.node("Mul", x, n.store(1 / 255)) if n.chance(0.3) else x
    x = n.node("Sub", x, n.real(*n.pick((along, along[not is_last :], ())))) if n.chance(0.8) else x
    x = n.node(n.pick(("Mul", "Div")), x, n.real(*along, low=0.3)) if n.chance(0.7) else x
    return n.node("Transpose", x, perm=[0, len(shape) - 1, *range(1, len(shape) - 1)]) if is_last else x


def _picked(n: Network, x: str) -> str:
    """What picks the greatest elements."""
    how = n.pick(("ArgMax", "TopK", "ReduceMax"))
    if how == "TopK":
        return n.several("TopK", 2, x, n.sizes(2), axis=-1)[int(n.source.integers(2))]
    return n.node("ArgMax", x, axis=len(n.shape(x)) - 1) if how == "ArgMax" else n.over(how, x, -1)


def _in_body(n: Network, x: str, y: str) -> str:
    """A subtraction in a branch of If, or in a Loop."""
    result, kind = f"inner{len(n.nodes)}", data_number(n.dtype)
    shape = list(np.broadcast_shapes(n.shape(x), n.shape(y)))
    made = [helper.make_tensor_value_info(f"{result}_out", kind, shape)]
    nodes = [helper.make_node("Sub", [x, y], [result]), helper.make_node("Relu", [result], [f"{result}_out"])]
    if tuple(shape) != n.shape(x):
        raise ValueError("it is another shape")
    if n.chance(0.5):
        other = helper.make_tensor_value_info(f"{result}_else", kind, shape)
        copy = [helper.make_node("Identity", [x], [other.name])]
        condition = n.input((), "bool", np.array(True))
        branches = helper.make_graph(nodes, "then", [], made), helper.make_graph(copy, "else", [], [other])
        return n.node("If", condition, then_branch=branches[0], else_branch=branches[1])
    step, going, state, on = (f"{result}_{part}" for part in ("step", "going", "state", "on"))
    nodes[0].input[:] = [state if name == x else name for name in (x, y)]
    nodes.append(helper.make_node("Identity", [going], [on]))
    given = [
        helper.make_tensor_value_info(step, TensorProto.INT64, []),
        helper.make_tensor_value_info(going, TensorProto.BOOL, []),
        helper.make_tensor_value_info(state, kind, shape),
    ]
    ends = [helper.make_tensor_value_info(on, TensorProto.BOOL, []), *made]
    return n.node("Loop", n.store(np.array(2), "int64"), "", x, body=helper.make_graph(nodes, "body", given, ends))


# ---- layers ----------------------------------------------------------------------------------------------------------

Layer = Callable[[Network, str], str]


def _activation(n: Network, x: str) -> str:
    return n.node(n.pick(ACTIVATIONS), x)


def _gated(n: Network, x: str) -> str:
    """SiLU, GELU and the like, as exporters write them out."""
    how = n.pick(("silu", "silu", "gelu", "hard", "tanh", "relu6"))
    if how == "silu":
        return n.node("Mul", x, n.node("Sigmoid", x))
    if how == "hard":
        return n.node("Mul", x, n.node("HardSigmoid", x, alpha=1 / 6, beta=0.5))
    if how == "relu6":
        return n.node("Clip", x, n.store(0), n.store(6)) if n.opset > 10 else n.node("Clip", x, min=0.0, max=6.0)
    if how == "tanh":
        inner = n.node("Add", x, n.node("Mul", n.node("Pow", x, n.store(3)), n.store(0.044715)))
        root = n.node("Tanh", n.node("Mul", inner, n.store(0.7978846)))
    else:
        root = n.node("Erf", n.node("Div", x, n.store(2**0.5)))
    return n.node("Mul", n.node("Mul", x, n.node("Add", root, n.store(1))), n.store(0.5))


def _channels(n: Network, x: str) -> tuple[int, ...]:
    """The dims of one number for each channel."""
    shape = n.shape(x)
    return (shape[1], *(1,) * (len(shape) - 2)) if n.is_image and len(shape) > 2 else shape[-1:]


def _scaled(n: Network, x: str) -> str:
    """A scale or a bias, or both, for each channel or for all."""
    for operator in n.pick((("Mul",), ("Add",), ("Mul", "Add"), ("Add", "Mul"), ("Div",))):
        other = n.real(*n.pick((_channels(n, x), _channels(n, x), ())), low=0.3 if operator == "Div" else -1)
        x = n.node(operator, *([x, other] if n.chance(0.7) or operator == "Div" else [other, x]))
    return x


def _residual(n: Network, x: str) -> str:
    made = n.layers(x, 2)
    if n.shape(made) != n.shape(x):
        raise ValueError("it is another shape")
    return n.node(n.pick(("Add", "Add", "Mul")), *([x, made] if n.chance(0.5) else [made, x]))


def _less_itself(n: Network, x: str) -> str:
    """x − f(x), or f(x) − x."""
    made = n.layers(x, 2)
    return n.node("Sub", *([x, made] if n.chance(0.5) else [made, x]))


def _moved(n: Network, x: str) -> str:
    """Split and joined, cut, padded, reshaped, gathered or transposed."""
    shape, last = n.shape(x), len(n.shape(x)) - 1
    how = n.pick(("split", "join", "pad", "reshape", "transpose", "gather", "slice"))
    if how == "split":
        parts = n.several("Split", 2, x, axis=1, **({"num_outputs": 2} if n.opset > 17 else {}))
        return n.node("Concat", *parts[:: n.pick((1, -1))], axis=1)
    if how == "join":
        return n.node("Concat", x, n.layers(x, 1), axis=n.pick((1, last)))
    if how == "pad":
        pads = [0] * (len(shape) * 2 - 1) + [1]
        return n.node("Pad", x, n.sizes(*pads)) if n.opset > 10 else n.node("Pad", x, pads=pads)
    if how == "reshape":
        return n.node("Reshape", n.node("Reshape", x, n.sizes(shape[0], -1)), n.sizes(*shape))
    if how == "transpose":
        order = [0, *range(2, len(shape)), 1]
        return n.node("Transpose", n.layer(n.node("Transpose", x, perm=order)), perm=np.argsort(order).tolist())
    if how == "gather":
        return n.node("Gather", x, n.sizes(*range(shape[last])[::-1]), axis=last)
    start, end, axis = n.sizes(0), n.sizes(max(1, shape[last] - 1)), n.sizes(last)
    return n.node("Slice", x, start, end, axis)


def _quantised(n: Network, x: str) -> str:
    """Quantised and converted back, with one scale or one for each channel."""
    if n.dtype != "float32" and n.opset < 19:
        raise ValueError("it is of float32")
    shape, dtype = n.shape(x), n.pick(("uint8", "int8"))
    count = (shape[1],) if n.chance(0.25) and n.opset > 12 else ()
    scale = n.store(np.full(count, n.pick((0.02, 0.1))) * (1 + np.arange(*count or (1,)).reshape(count) / 8))
    zero = n.store(np.full(count, n.pick((0, 3, 113, 128 if dtype == "uint8" else 0))), dtype)
    more: dict[str, Any] = {"axis": 1} if count else {}
    return n.node("DequantizeLinear", n.node("QuantizeLinear", x, scale, zero, **more), scale, zero, **more)


def _weights(n: Network, *dims: int) -> str:
    """Weights, which may be dequantised from int8 by a scale for each of their rows."""
    if n.opset < 13 or n.dtype != "float32" or n.chance(0.85):
        return n.real(*dims)
    codes = n.store(n.source.integers(-90, 90, dims), "int8")
    zero = n.store(np.zeros(dims[0]), "int8")
    return n.node("DequantizeLinear", codes, n.store(n.source.uniform(0.005, 0.02, dims[0])), zero, axis=0)


def _chosen(n: Network, x: str) -> str:
    """Where, or ScatterND."""
    if n.chance(0.5):
        zero = n.store(np.array(0.0))
        return n.node("Where", n.node("Greater", x, zero), x, n.layers(x, 1) if n.chance(0.5) else zero)
    return n.node("ScatterND", x, n.store([[0]], "int64"), n.real(1, *n.shape(x)[1:]))


def _sizes(n: Network, x: str) -> str:
    """A reshape by sizes that are subtracted from others."""
    shape = n.shape(x)
    whole = n.node("Shape", x)
    first = n.node("Gather", whole, n.sizes(0), axis=0)
    one = n.node("Sub", n.node("Add", first, n.sizes(1)), n.sizes(1))
    return n.node("Reshape", x, n.node("Concat", one, n.sizes(*shape[1:]), axis=0))


def _through_half(n: Network, x: str) -> str:
    return n.cast(n.cast(x, "float16" if n.dtype == "float32" else "float32"), n.dtype)


def _reduced(n: Network, x: str) -> str:
    """A mean and the like, which is subtracted or by which is divided."""
    made = n.over(n.pick(("ReduceMean", "ReduceMax", "ReduceSum")), x, -1)
    return n.node(n.pick(("Sub", "Sub", "Add", "Mul")), x, made)


# ---- of images ----


def _conv(n: Network, x: str) -> str:
    channels, space = n.shape(x)[1], len(n.shape(x)) - 2
    size = n.pick((1, 3, 3))
    group = n.pick((1, 1, 1, channels, 2))
    stride = 2 if n.chance(0.12) else 1
    spread = 2 if size == 3 and n.chance(0.12) else 1
    out = n.pick((channels, channels, 4)) if group == 1 else channels
    if channels % group:
        raise ValueError("it cannot be grouped")
    weights = _weights(n, out, channels // group, *(size,) * space)
    bias = [n.real(out)] if n.chance(0.6) else []
    pads = [spread * (size // 2)] * space * 2
    more: dict[str, Any] = {"pads": pads} if n.chance(0.8) else {}
    more |= {"group": group, "strides": [stride] * space, "dilations": [spread] * space}
    return n.node("Conv", x, weights, *bias, kernel_shape=[size] * space, **more)


def _conv_transpose(n: Network, x: str) -> str:
    channels, space = n.shape(x)[1], len(n.shape(x)) - 2
    bias = [n.real(4)] if n.chance(0.6) else []
    stride = n.pick((1, 2))
    return n.node(
        "ConvTranspose", x, n.real(channels, 4, *(3,) * space), *bias, pads=[1] * 2 * space, strides=[stride] * space
    )


def _normal(n: Network, x: str) -> str:
    channels = n.shape(x)[1]
    kind = n.pick(("batch", "batch", "instance", "group", "written"))
    if kind == "batch":
        parts = [n.real(channels) for _ in range(3)]
        return n.node("BatchNormalization", x, *parts, n.real(channels, low=0.4))
    if kind == "instance":
        return n.node("InstanceNormalization", x, n.real(channels), n.real(channels))
    if kind == "group":
        count = channels if n.opset > 20 else 2
        return n.node("GroupNormalization", x, n.real(count), n.real(count), num_groups=2)
    flat = n.node("Reshape", x, n.sizes(0, 2, -1))
    back = n.node("InstanceNormalization", flat, n.store(np.ones(2)), n.store(np.zeros(2)))
    scaled = n.node("Mul", n.node("Reshape", back, n.sizes(*n.shape(x))), n.real(*_channels(n, x)))
    return n.node("Add", scaled, n.real(*_channels(n, x)))


def _pooled(n: Network, x: str) -> str:
    space = len(n.shape(x)) - 2
    if n.chance(0.2):
        return n.node(n.pick(("GlobalAveragePool", "GlobalMaxPool")), x)
    return n.node(n.pick(("MaxPool", "AveragePool")), x, kernel_shape=[3] * space, pads=[1] * 2 * space)


def _excited(n: Network, x: str) -> str:
    """Squeeze and excitation."""
    channels, space = n.shape(x)[1], len(n.shape(x)) - 2
    made = n.node("GlobalAveragePool", x)
    for activation in ("Relu", "Sigmoid"):
        weights, bias = n.real(channels, channels, *(1,) * space), n.real(channels)
        made = n.node(activation, n.node("Conv", made, weights, bias))
    return n.node("Mul", x, made)


def _resized(n: Network, x: str) -> str:
    space = len(n.shape(x)) - 2
    scales = n.store([1.0, 1.0, *(2.0,) * space], "float32")
    mode = n.pick(("nearest", "linear"))
    inputs = (x, "", scales) if n.opset > 12 else (x, n.store(np.zeros(0), "float32"), scales)
    return n.node("Upsample" if n.opset < 10 else "Resize", *(inputs if n.opset > 10 else (x, scales)), mode=mode)


def _prelu(n: Network, x: str) -> str:
    return n.node("PRelu", x, n.real(*_channels(n, x)))


def _joined(n: Network, x: str) -> str:
    """Joined with another branch, and mixed."""
    made = n.node("Concat", x, n.layers(x, 1), axis=1)
    space = len(n.shape(x)) - 2
    return n.node("Conv", made, n.real(n.shape(x)[1], n.shape(made)[1], *(1,) * space), n.real(n.shape(x)[1]))


def _flat(n: Network, x: str) -> str:
    """The end of a classifier."""
    flat = n.node("Flatten", n.node("GlobalAveragePool", x) if n.chance(0.6) else x)
    return n.node("Gemm", flat, n.real(n.shape(flat)[1], 4), n.real(4))


def _linear_conv(n: Network, x: str) -> str:
    """QLinearConv, between a quantisation and its opposite."""
    channels, space = n.shape(x)[1], len(n.shape(x)) - 2
    scale, zero = n.store(0.05, "float32"), n.store(n.pick((0, 113, 128)), "uint8")
    codes = n.node("QuantizeLinear", n.cast(x, "float32"), scale, zero)
    weights = n.store(n.source.integers(-90, 90, (channels, channels, *(3,) * space)), "int8")
    parts = codes, scale, zero, weights, n.store(0.01, "float32"), n.store(0, "int8"), scale, zero
    made = n.node("QLinearConv", *parts, pads=[1] * 2 * space)
    return n.cast(n.node("DequantizeLinear", made, scale, zero), n.dtype)


# ---- of tokens ----


def _linear(n: Network, x: str) -> str:
    last = n.shape(x)[-1]
    out = n.pick((last, last, 4))
    how = n.pick(("matmul", "matmul", "bias", "bias", "gemm", "einsum", "left"))
    if how == "gemm":
        if len(n.shape(x)) != 2:
            raise ValueError("it is no matrix")
        bias = n.real(*n.pick(((out,), (1, out))))
        if n.chance(0.5):
            return n.node("Gemm", x, _weights(n, out, last), bias, transB=1)
        return n.node("Gemm", x, n.real(last, out), bias, alpha=n.pick((1.0, 1.0, 0.5)))
    if how == "einsum":
        letters = "abcd"[: len(n.shape(x)) - 1]
        return n.node("Einsum", x, n.real(last, out), equation=f"{letters}i,io->{letters}o")
    if how == "left":
        return n.node("MatMul", n.real(4, n.shape(x)[-2]), x)
    made = n.node("MatMul", x, _weights(n, last, out))
    bias = n.real(out)
    return n.node("Add", *([made, bias] if n.chance(0.6) else [bias, made])) if how == "bias" else made


def _layer_norm(n: Network, x: str) -> str:
    """LayerNormalization or RMSNormalization, as an operator or written out."""
    last = n.shape(x)[-1]
    how = n.pick(("operator", "operator", "rms operator", "written", "written", "rms", "rms"))
    if how == "operator":
        return n.node("LayerNormalization", x, n.real(last), *([n.real(last)] if n.chance(0.7) else []))
    if how == "rms operator":
        return n.node("RMSNormalization", x, n.real(last))
    centred = n.node("Sub", x, n.over("ReduceMean", x, -1)) if how == "written" else x
    square = n.node("Mul", centred, centred) if n.chance(0.4) else n.node("Pow", centred, n.store(np.array(2.0)))
    spread = n.node("Add", n.over("ReduceMean", square, -1), n.store(np.array(1e-3)))
    root = n.node("Sqrt", spread) if n.chance(0.7) else n.node("Pow", spread, n.store(np.array(0.5)))
    x = n.node("Div", centred, root) if n.chance(0.6) else n.node("Mul", centred, n.node("Reciprocal", root))
    x = n.node("Mul", x, n.real(last)) if n.chance(0.8) else x
    return n.node("Add", x, n.real(last)) if how == "written" and n.chance(0.8) else x


def _softmax(n: Network, x: str) -> str:
    return n.node(n.pick(("Softmax", "Softmax", "LogSoftmax")), x, axis=len(n.shape(x)) - 1)


def _mask(n: Network, rows: int, count: int) -> str:
    """``(1 − mask) * -10000``, of a mask of the tokens or of pairs of them."""
    dtype = n.pick(("int64", "int64", n.dtype, "bool"))
    ones = np.ones((rows, count), dtype if dtype in ("int64", "bool") else TYPES[dtype].memory)
    ones[:, -1] = 0
    mask = n.input((rows, count), dtype, ones)
    mask = n.over("Unsqueeze", mask, 1)
    kept = n.node("Sub", n.store(np.array(1.0)), n.cast(mask, n.dtype))
    return n.node("Mul", kept, n.store(np.array(n.pick((-10000.0, -1e4, -1e9 if n.dtype != "float16" else -65504.0)))))


def _attention(n: Network, x: str) -> str:
    """Attention of one head, with a mask or without."""
    shape = n.shape(x)
    if len(shape) != 3:
        raise ValueError("it is no sequence")
    size = shape[-1]
    if n.opset > 22 and n.chance(0.4):
        return n.node("Attention", x, x, x, q_num_heads=2, kv_num_heads=2)
    q, k, v = (n.node("MatMul", x, n.real(size, size)) for _ in range(3))
    if n.chance(0.5):
        q, k, v = (n.node("Add", one, n.real(size)) for one in (q, k, v))
    scores = n.node("MatMul", q, n.node("Transpose", k, perm=[0, 2, 1]))
    scores = n.node(n.pick(("Div", "Mul")), scores, n.store(np.array(size**0.5)))
    if n.chance(0.7):
        scores = n.node("Add", scores, _mask(n, shape[0], shape[1]))
    return n.node("MatMul", n.node("Softmax", scores, axis=2), v)


def _rotary(n: Network, x: str) -> str:
    """Rotary positions, as an operator or written out."""
    shape = n.shape(x)
    half = shape[-1] // 2
    if n.opset > 22 and len(shape) == 4 and n.chance(0.5):
        return n.node("RotaryEmbedding", x, n.real(shape[0], shape[2], half), n.real(shape[0], shape[2], half))
    cosine, sine = n.real(shape[-2], half), n.real(shape[-2], half)
    axis = len(shape) - 1
    first, second = n.several("Split", 2, x, axis=axis, **({"num_outputs": 2} if n.opset > 17 else {}))
    one = n.node("Sub", n.node("Mul", first, cosine), n.node("Mul", second, sine))
    other = n.node("Add", n.node("Mul", first, sine), n.node("Mul", second, cosine))
    return n.node("Concat", one, other, axis=axis)


def _recurrent(n: Network, x: str) -> str:
    """A GRU, an LSTM or an RNN."""
    shape = n.shape(x)
    if len(shape) != 3:
        raise ValueError("it is no sequence")
    operator, gates = n.pick((("GRU", 3), ("LSTM", 4), ("RNN", 1)))
    hidden = n.pick((4, shape[-1]))
    weights = n.real(1, gates * hidden, shape[-1]), n.real(1, gates * hidden, hidden)
    bias = (n.real(1, 2 * gates * hidden),) if n.chance(0.7) else ()
    more: dict[str, Any] = {"linear_before_reset": n.pick((0, 1))} if operator == "GRU" else {}
    return n.over("Squeeze", n.node(operator, x, *weights, *bias, hidden_size=hidden, **more), 1)


def _cell(n: Network, x: str) -> str:
    """A GRU or an LSTM cell, written out."""
    size = n.shape(x)[-1]
    state = n.input(n.shape(x))

    def gate(activation: str, one: str, other: str) -> str:
        both = n.node("Add", n.node("MatMul", one, n.real(size, size)), n.node("MatMul", other, n.real(size, size)))
        return n.node(activation, n.node("Add", both, n.real(size)) if n.chance(0.8) else both)

    update = gate("Sigmoid", x, state)
    if n.chance(0.3):
        return n.node("Mul", gate("Sigmoid", x, state), n.node("Tanh", n.node("Mul", update, gate("Tanh", x, state))))
    new = gate("Tanh", x, n.node("Mul", gate("Sigmoid", x, state), state))
    rest = n.node("Sub", n.store(np.array(1.0)), update)
    pairs = ((update, state), (rest, new)) if n.chance(0.5) else ((rest, state), (update, new))
    return n.node("Add", *(n.node("Mul", *pair) for pair in pairs))


def _integers(n: Network, x: str) -> str:
    """A product of quantised numbers, scaled back."""
    last = n.shape(x)[-1]
    codes, scale, zero = n.several("DynamicQuantizeLinear", 3, n.cast(x, "float32"))
    weights = n.store(n.source.integers(-90, 90, (last, last)), n.pick(("int8", "uint8")))
    product = n.cast(n.node("MatMulInteger", codes, weights, zero), "float32")
    return n.cast(n.node("Mul", product, n.node("Mul", scale, n.store(0.01, "float32"))), n.dtype)


def _embedded(n: Network, x: str) -> str:
    """Rows of a table that are added."""
    shape = n.shape(x)
    ids = n.input(shape[:-1], "int64", n.source.integers(0, 5, shape[:-1]))
    return n.node("Add", x, n.node("Gather", n.real(5, shape[-1]), ids))


def _turned(n: Network, x: str) -> str:
    """A layer of the transposed value."""
    order = [*range(len(n.shape(x)) - 2), len(n.shape(x)) - 1, len(n.shape(x)) - 2]
    return n.node("Transpose", n.layer(n.node("Transpose", x, perm=order)), perm=order)


ANYWHERE: list[tuple[float, Layer]] = [
    (2.5, _activation), (2, _gated), (2.5, _scaled), (1.5, _residual), (0.7, _less_itself), (1, _moved),
    (0.8, _quantised), (0.4, _chosen), (0.25, _sizes), (0.25, _through_half), (0.4, _reduced),
]  # fmt: skip
IMAGE_LAYERS: list[tuple[float, Layer]] = [
    (6, _conv), (1, _conv_transpose), (2.5, _normal), (1, _pooled), (0.5, _excited), (0.7, _resized), (0.6, _prelu),
    (0.7, _joined), (0.4, _flat), (0.3, _linear_conv),
]  # fmt: skip
TOKEN_LAYERS: list[tuple[float, Layer]] = [
    (5, _linear), (2, _layer_norm), (1, _softmax), (1.5, _attention), (0.7, _rotary), (0.5, _recurrent), (0.7, _cell),
    (0.4, _integers), (0.3, _embedded), (0.6, _turned),
]  # fmt: skip
"""Weights of layers, and what writes each."""
