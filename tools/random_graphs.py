"""Random graphs around subtractions, of the parts that models in corpora have; graph N of a seed is always the same."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, helper
from truth import EDGES, FEW, ORDINARY, Array, Feeds, data_number, numbers

from minuend.core.elements import TYPES
from minuend.runtimes.pattern_cases import GraphCase, graph_probing, queried


@dataclass(frozen=True)
class Value:
    """A value of a graph that grows: its name, element type and shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]


SHAPES: tuple[tuple[int, ...], ...] = ((64,), (8, 16), (4, 8, 16), (1, 4, 8, 8), (2, 4, 8, 8), (1, 8), (1,), (3, 7))
TYPES_DRAWN = ("float32",) * 13 + ("float16",) * 3 + ("int64",) * 3 + ("int32", "int32", "int8", "uint8", "float64")
FEW_NUMBERS = (
    0.0, -0.0, 1.0, 0.3, 1.7, -2.5, 0.001, 2.0, 255.0, 1e-40, 12582912.0, 1e30, -1.0, 0.5, 0.125, 256.0, -10000.0,
)  # fmt: skip
UNARY = (
    "Neg", "Abs", "Relu", "Exp", "Sqrt", "Log", "Sigmoid", "Tanh", "Floor", "Ceil", "Round", "Reciprocal", "Erf",
    "Identity", "LeakyRelu", "HardSigmoid", "Softplus", "Elu", "Sin", "Cos", "Sign",
)  # fmt: skip
INTEGER_UNARY = ("Abs", "Identity", "Neg", "Relu", "Sign")


class Draft:
    """A graph while it is written.

    Args:
        source: where choices come from.
    """

    def __init__(self, source: np.random.Generator) -> None:
        self.source = source
        self.opset = int(source.choice([13, 14, 17, 18, 18, 20, 21]))
        self.dtype = str(source.choice(TYPES_DRAWN))
        if self.dtype in ("int8", "uint8"):  # which Sub has from 14 on
            self.opset = max(self.opset, 14)
        self.shape = SHAPES[source.integers(len(SHAPES))]
        self.nodes: list[NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.inputs: list[Value] = []
        self.pool: list[Value] = []
        self.known: list[float] = []
        self.stored: list[Value] = []
        self.pure = True
        self._count = 0

    # ---- choices ----

    def chance(self, share: float) -> bool:
        return bool(self.source.random() < share)

    def pick(self, options: Sequence[Any]) -> Any:
        return options[int(self.source.integers(len(options)))]

    def any(self, dtype: str = "", shape: tuple[int, ...] | None = None) -> Value:
        """A value of the graph, a late one rather than an early one; a new input where none fits."""
        found = [v for v in self.pool if v.dtype == (dtype or self.dtype) and (shape is None or v.shape == shape)]
        if not found:
            return self.input(dtype or self.dtype, self.shape if shape is None else shape)
        return found[max(self.source.integers(len(found)), self.source.integers(len(found)))]

    def input(self, dtype: str, shape: tuple[int, ...]) -> Value:
        made = Value(f"x{len(self.inputs)}", dtype, shape)
        self.inputs.append(made)
        self.pool.append(made)
        return made

    def name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def few(self, dtype: str) -> float:
        """One of a few numbers that the type has."""
        fitting = [n for n in FEW_NUMBERS if dtype != "float16" or abs(n) < 65504]
        return float(self.pick(fitting))

    # ---- constants ----

    def constant(self, dtype: str, shape: tuple[int, ...]) -> Value:
        """A constant that is broadcast into a shape; now and then one that is there already."""
        fitting = [v for v in self.stored if v.dtype == dtype and len(v.shape) <= len(shape) and _fits(v.shape, shape)]
        if fitting and self.chance(0.35):
            return fitting[self.source.integers(len(fitting))]
        options = [(), (), (1,) * len(shape), shape[-1:], shape]
        if len(shape) > 2:
            options += [(shape[1],) + (1,) * (len(shape) - 2), (1, shape[1]) + (1,) * (len(shape) - 2)]
        own = options[self.source.integers(len(options))]
        count = math.prod(own)
        if TYPES[dtype].is_integer:
            array = self.source.integers(0, 8, count)
        elif self.chance(0.35):  # all of them equal
            array = np.full(count, self.few(dtype))
        elif self.chance(0.3):
            array = np.array([self.few(dtype) for _ in range(count)])
        else:
            array = np.round(self.source.standard_normal(count) * 2, 3)
        with np.errstate(over="ignore"):
            return self.store(array.astype(TYPES[dtype].memory).reshape(own))

    def store(self, array: Array, fold: bool = True, keep: bool = False) -> Value:
        """A stored value, as an initializer or as a Constant, or now and then as what a node makes of one.

        Args:
            array: its elements. fold: whether a node may make something of it. keep: whether its sign stays then.
        """
        name = self.name()
        if array.dtype.kind == "f" or array.dtype.name == self.dtype:
            self.known += [float(one) for one in np.unique(array.reshape(-1)[:4])]
        tensor = onnx.numpy_helper.from_array(array, name)
        if self.chance(0.3):
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.initializers.append(tensor)
        dtype = "bool" if array.dtype == np.bool_ else array.dtype.name
        made = Value(name, dtype, array.shape)
        if dtype == self.dtype:
            self.stored.append(made)
        if dtype == self.dtype and fold and self.chance(0.08):  # a value that is folded
            kinds = ("Identity", "Abs") if keep else ("Neg", "Identity", "Abs")
            return self.node(self.pick(kinds) if dtype != "uint8" else "Identity", [made], pool=False)
        return made

    # ---- nodes ----

    def node(
        self,
        operator: str,
        inputs: Sequence[Value],
        shape: tuple[int, ...] | None = None,
        dtype: str = "",
        pool: bool = True,
        **attributes: Any,
    ) -> Value:
        """Add a node; its result has the shape and type of its first input where nothing else is said."""
        name = self.name()
        self.nodes.append(helper.make_node(operator, [v.name for v in inputs], [name], **attributes))
        made = Value(name, dtype or inputs[0].dtype, inputs[0].shape if shape is None else shape)
        if pool:
            self.pool.append(made)
        return made

    def operand(self, beside: Value) -> Value:
        """What goes with a value: another, or a constant."""
        if self.chance(0.5):
            return self.constant(beside.dtype, beside.shape)
        fitting = [
            v
            for v in self.pool
            if v.dtype == beside.dtype and _fits(v.shape, beside.shape) and (v is not beside or self.chance(0.05))
        ]
        if fitting and self.chance(0.8):
            return fitting[max(self.source.integers(len(fitting)), self.source.integers(len(fitting)))]
        shapes = [beside.shape, beside.shape, (1,) * len(beside.shape), beside.shape[-1:]]
        return self.input(beside.dtype, self.pick(shapes))

    def operand_of(self, beside: Value, shape: tuple[int, ...]) -> Value:
        """Another value of a shape, or a constant of it."""
        if self.chance(0.5):
            return self.any(beside.dtype, shape)
        return self.store(np.round(self.source.standard_normal(shape) * 2, 3).astype(TYPES[beside.dtype].memory))

    def two(self, operator: str, first: Value | None = None) -> Value:
        """An operator of two operands, in either order."""
        x = first or self.any()
        y = self.operand(x)
        pair = [y, x] if self.chance(0.4) else [x, y]
        return self.node(operator, pair, np.broadcast_shapes(x.shape, y.shape))

    def subtract(self) -> Value:
        return self.two("Sub")

    def step(self) -> None:
        """Add one node, or a few that belong together."""
        rules = INTEGER_RULES if TYPES[self.dtype].is_integer else FLOAT_RULES
        weights = np.array([weight for weight, _ in rules], float)
        rules[self.source.choice(len(rules), p=weights / weights.sum())][1](self)


def _fits(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, into) == into
    except ValueError:
        return False


Rule = Callable[[Draft], Any]


def _arithmetic(d: Draft) -> None:
    d.two(d.pick(("Add", "Add", "Mul", "Mul", "Div") if not TYPES[d.dtype].is_integer else ("Add", "Mul")))


def _extremes(d: Draft) -> None:
    d.two(d.pick(("Max", "Min")))


def _unary(d: Draft) -> None:
    names = INTEGER_UNARY if TYPES[d.dtype].is_integer else UNARY
    unlike = ("Neg", "Relu") if d.dtype == "uint8" else ("Relu",) if d.opset < 14 else ()
    operator = d.pick([n for n in names if names is UNARY or n not in unlike])
    d.node(operator, [d.any()])


def _clip(d: Draft) -> None:
    x = d.any()
    scalar = [
        d.store(np.array(n, TYPES[d.dtype].memory)) for n in sorted(d.source.choice([0, 1, 3, 6], 2, replace=False))
    ]
    d.node("Clip", [x, *scalar])


def _pow(d: Draft) -> None:
    d.node("Pow", [d.any(), d.store(np.array(d.pick((2.0, 0.5, 3.0)), TYPES[d.dtype].memory))])


def _int64(d: Draft, values: Sequence[int]) -> Value:
    return d.store(np.array(values, np.int64), fold=False)


def _reshape(d: Draft) -> None:
    x = d.any()
    count = math.prod(x.shape)
    shape = d.pick([(count,), (1, *x.shape), (*x.shape, 1), (count, 1), x.shape])
    how = d.source.integers(3)
    if how == 0 and shape == (1, *x.shape):
        d.node("Unsqueeze", [x, _int64(d, [0])], shape)
    elif how == 1 and x.shape[:1] == (1,) and len(x.shape) > 1:
        d.node("Squeeze", [x, _int64(d, [0])], x.shape[1:])
    else:
        d.node("Reshape", [x, _int64(d, shape)], shape)


def _transpose(d: Draft) -> None:
    x = d.any()
    order = [int(i) for i in d.source.permutation(len(x.shape))]
    if order:
        d.node("Transpose", [x], tuple(x.shape[i] for i in order), perm=order)


def _expand(d: Draft) -> None:
    x = d.any()
    if math.prod(x.shape) < 2048:
        d.node("Expand", [x, _int64(d, [2, *x.shape])], (2, *x.shape))


def _concat(d: Draft) -> None:
    x = d.any()
    y = d.operand(x)
    if y.shape == x.shape and x.shape:
        axis = int(d.source.integers(len(x.shape)))
        shape = tuple(2 * n if i == axis else n for i, n in enumerate(x.shape))
        d.node("Concat", [x, y], shape, axis=axis)


def _slice(d: Draft) -> None:
    x = d.any()
    if x.shape and x.shape[-1] > 2:
        last = x.shape[-1] // 2
        d.node("Slice", [x, _int64(d, [0]), _int64(d, [last]), _int64(d, [-1])], (*x.shape[:-1], last))


def _split(d: Draft) -> None:
    x = d.any()
    if x.shape and x.shape[-1] % 2 == 0:
        names = [d.name(), d.name()]
        more: dict[str, Any] = {"num_outputs": 2} if d.opset >= 18 else {}
        d.nodes.append(helper.make_node("Split", [x.name], names, axis=-1, **more))
        d.pool += [Value(name, x.dtype, (*x.shape[:-1], x.shape[-1] // 2)) for name in names]


def _where(d: Draft) -> None:
    x = d.any()
    condition = d.any("bool", x.shape) if d.chance(0.5) else d.node("Greater", [x, d.operand(x)], None, "bool")
    other = d.operand(x)
    if condition.shape == x.shape:
        d.node("Where", [condition, *([x, other] if d.chance(0.5) else [other, x])], x.shape, x.dtype)


def _cast(d: Draft) -> None:
    x = d.any()
    kinds = [k for k in ("float32", "float16", "int32", "int64", "float64", "uint8", "int8") if k != x.dtype]
    between = d.node("Cast", [x], None, (to := d.pick(kinds)), to=data_number(to))
    if d.chance(0.7):
        d.node("Cast", [between], None, x.dtype, to=data_number(x.dtype))


def _round_trip(d: Draft) -> None:
    """What is converted to another float and back, between a subtraction and other arithmetic."""
    if d.dtype != "float32":
        return
    before = d.chance(0.6)
    x = d.two(d.pick(("Mul", "Mul", "Add", "Div", "Sub")) if before else "Sub")
    to = d.pick(("float16", "float64"))
    x = d.node("Cast", [x], None, to, to=data_number(to))
    if d.chance(0.3):
        x = d.node(d.pick(("Relu", "Neg", "Abs")), [x])
    x = d.node("Cast", [x], None, "float32", to=data_number("float32"))
    d.two("Sub" if before else d.pick(("Mul", "Add", "Sub", "Div")), x)


def _from_integers(d: Draft) -> None:
    kind = d.pick(("uint8", "int32", "int64", "bool", "int8"))
    x = d.any(kind, d.shape)
    d.node("Cast", [x], None, d.dtype, to=data_number(d.dtype))


def _matmul(d: Draft) -> None:
    x = d.any()
    if len(x.shape) < 2:
        return
    d.pure = False
    if d.chance(0.5):
        weights = np.round(d.source.standard_normal((x.shape[-1], 8)), 2).astype(TYPES[d.dtype].memory)
        d.node("MatMul", [x, d.store(weights)], (*x.shape[:-1], 8))
    else:
        order = [*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2]
        turned = d.node("Transpose", [x], tuple(x.shape[i] for i in order), perm=order)
        d.node("MatMul", [x, turned], (*x.shape[:-1], x.shape[-2]))


def _gemm(d: Draft) -> None:
    x = d.any()
    if len(x.shape) != 2:
        return
    d.pure = False
    weights = np.round(d.source.standard_normal((x.shape[-1], 8)), 2).astype(TYPES[d.dtype].memory)
    bias = np.round(d.source.standard_normal(8), 2).astype(TYPES[d.dtype].memory)
    d.node("Gemm", [x, d.store(weights), d.store(bias)], (x.shape[0], 8))


def _conv(d: Draft) -> None:
    x = d.any()
    if len(x.shape) != 4 or x.shape[1] != 4:
        return
    d.pure = False
    size = int(d.pick((1, 3)))
    weights = np.round(d.source.standard_normal((4, 4, size, size)), 2).astype(TYPES[d.dtype].memory)
    more = [d.store(np.round(d.source.standard_normal(4), 2).astype(TYPES[d.dtype].memory))] if d.chance(0.5) else []
    d.node("Conv", [x, d.store(weights), *more], x.shape, pads=[size // 2] * 4, kernel_shape=[size, size])


def _pool(d: Draft) -> None:
    x = d.any()
    if len(x.shape) == 4 and min(x.shape[2:]) > 1:
        d.pure = False
        shape = (*x.shape[:2], x.shape[2] - 1, x.shape[3] - 1)
        d.node(d.pick(("MaxPool", "AveragePool")), [x], shape, kernel_shape=[2, 2])


def _normal(d: Draft) -> None:
    x = d.any()
    if len(x.shape) >= 3:
        d.pure = False
        parts = [d.store(d.source.uniform(0.5, 1.5, x.shape[1]).astype(TYPES[d.dtype].memory)) for _ in range(4)]
        d.node(*(("BatchNormalization", [x, *parts]) if d.chance(0.6) else ("InstanceNormalization", [x, *parts[:2]])))


def _reduce(d: Draft) -> None:
    x = d.any()
    if x.shape and x.shape[-1] > 1:
        _reduced(d, d.pick(("ReduceMean", "ReduceMax", "ReduceSum", "ReduceMin")), x)


def _reduced(d: Draft, operator: str, x: Value) -> Value:
    d.pure = False
    shape = (*x.shape[:-1], 1)
    if d.opset >= 18 or operator == "ReduceSum":
        return d.node(operator, [x, _int64(d, [-1])], shape)
    return d.node(operator, [x], shape, axes=[-1])


def _softmax(d: Draft) -> None:
    x = d.any()
    if x.shape:
        d.pure = False
        d.node(d.pick(("Softmax", "LogSoftmax")), [x], axis=-1)


def _branch(d: Draft) -> None:
    """A subtraction in a body of If."""
    x = d.any()
    y = d.operand(x)
    shape = np.broadcast_shapes(x.shape, y.shape)
    if shape != x.shape:
        return
    condition = d.any("bool", ())
    inner, other, kept = d.name(), d.name(), d.name()
    difference = helper.make_node("Sub", [x.name, y.name], [inner])
    reader = helper.make_node(d.pick(("Abs", "Identity")), [inner], [kept])
    copy = helper.make_node("Identity", [x.name], [other])
    results = [helper.make_tensor_value_info(name, data_number(x.dtype), None) for name in (kept, other)]
    then = helper.make_graph([difference, reader], "then", [], results[:1])
    otherwise = helper.make_graph([copy], "else", [], results[1:])
    d.node("If", [condition], shape, x.dtype, then_branch=then, else_branch=otherwise)


# ---- what belongs together in models ----


def _rounding(d: Draft) -> None:
    x = d.any()
    c = d.store(np.array(12582912.0 if d.dtype == "float32" else 1536.0, TYPES[d.dtype].memory))
    d.node("Sub", [d.node("Add", [x, c]), c])


def _layer_norm(d: Draft) -> None:
    x = d.any()
    if x.shape and x.shape[-1] > 1:
        centred = d.node("Sub", [x, _reduced(d, "ReduceMean", x)])
        square = (
            d.node("Mul", [centred, centred])
            if d.chance(0.5)
            else d.node("Pow", [centred, d.store(np.array(2, TYPES[d.dtype].memory))])
        )
        spread = d.node("Add", [_reduced(d, "ReduceMean", square), d.store(np.array(1e-3, TYPES[d.dtype].memory))])
        scaled = d.node("Div", [centred, d.node("Sqrt", [spread])])
        d.node(
            "Add",
            [d.node("Mul", [scaled, d.constant(d.dtype, x.shape)], x.shape), d.constant(d.dtype, x.shape)],
            x.shape,
        )


def _softmax_parts(d: Draft) -> None:
    x = d.any()
    if x.shape and x.shape[-1] > 1:
        e = d.node("Exp", [d.node("Sub", [x, _reduced(d, "ReduceMax", x)])])
        d.node("Div", [e, _reduced(d, "ReduceSum", e)])


def _rotary(d: Draft) -> None:
    x, y = d.any(), d.any()
    if x.shape == y.shape:
        c, s = d.input(d.dtype, x.shape), d.input(d.dtype, x.shape)
        d.node("Sub", [d.node("Mul", [x, c]), d.node("Mul", [y, s])])
        if d.chance(0.7):
            d.node("Add", [d.node("Mul", [x, s]), d.node("Mul", [y, c])])


def _mask(d: Draft) -> None:
    m = d.any(d.pick(("bool", "int64", "float32")), d.shape)
    x = m if m.dtype == d.dtype else d.node("Cast", [m], None, d.dtype, to=data_number(d.dtype))
    one, low = (d.store(np.array(n, TYPES[d.dtype].memory)) for n in (1.0, -10000.0))
    d.node("Mul", [d.node("Sub", [one, x], x.shape), low])


def _normalise(d: Draft) -> None:
    """Pixels to numbers, and back."""
    x = d.any("uint8", d.shape)
    t = d.node("Cast", [x], None, d.dtype, to=data_number(d.dtype))
    scaled = d.node(d.pick(("Mul", "Div")), [t, d.constant(d.dtype, t.shape)])
    if _fits(scaled.shape, t.shape):
        centred = d.node("Sub", [t, d.constant(d.dtype, t.shape)], t.shape)
        d.node(d.pick(("Mul", "Div")), [centred, d.constant(d.dtype, t.shape)], t.shape)


def _folded(d: Draft) -> None:
    """A value that is made of constants alone, and what is subtracted from it, or it from that."""
    x = d.store(np.round(d.source.standard_normal(d.shape) * 2, 3).astype(TYPES[d.dtype].memory), fold=False)
    for _ in range(int(d.source.integers(1, 3))):
        operator = d.pick(("Mul", "Add", "Sub", "Div", "Exp", "Sqrt", "ReduceMean", "Softmax", "Transpose"))
        if operator in ("Mul", "Add", "Sub", "Div"):
            x = d.node(operator, [x, d.store(np.array(d.pick((0.3, 1.7, 2.0, 3.0)), TYPES[d.dtype].memory))])
        elif operator == "ReduceMean" and x.shape[-1] > 1:
            centre = _reduced(d, operator, x)
            x = d.node("Sub", [x, centre])
        elif operator == "Sqrt":
            x = d.node(operator, [d.node("Abs", [x])])
        elif operator == "Softmax":
            d.pure = False
            x = d.node(operator, [x], axis=-1)
        elif operator == "Transpose":
            order = [*range(len(x.shape))][::-1]
            x = d.node(operator, [d.node(operator, [x], x.shape[::-1], perm=order)], x.shape, perm=order)
        elif operator == "Exp":
            x = d.node(operator, [x])
    other = d.any(d.dtype, x.shape) if d.chance(0.3) else d.constant(d.dtype, x.shape)
    d.node("Sub", [x, other] if d.chance(0.5) else [other, x], x.shape)


def _sizes(d: Draft) -> None:
    """Arithmetic with the sizes of a value, by constants or by sizes that are given."""
    x = d.any()
    if not x.shape:
        return
    sizes = d.node("Shape", [x], (len(x.shape),), "int64")
    if d.chance(0.7):
        sizes = d.node("Gather", [sizes, d.store(np.array(0, np.int64), fold=False)], (), "int64", axis=0)
    for _ in range(int(d.source.integers(1, 3))):
        number = d.pick((0, 1, 1, 2, -1, 3))
        other = d.any("int64", sizes.shape) if d.chance(0.3) else d.store(np.array(number, np.int64), fold=False)
        operator = d.pick(("Sub", "Sub", "Add", "Mul", "Div") if number else ("Sub", "Add"))
        if operator == "Div":
            sizes = d.node(operator, [sizes, d.store(np.array(2, np.int64), fold=False)], sizes.shape)
        else:
            sizes = d.node(operator, [sizes, other] if d.chance(0.7) else [other, sizes], sizes.shape, "int64")
    if d.chance(0.3):
        d.node("Cast", [sizes], None, d.dtype, to=data_number(d.dtype))


def _quantised(d: Draft) -> None:
    """Numbers that are quantised and back, before a subtraction or behind it."""
    if d.dtype != "float32":
        return
    scale = d.store(np.array(d.pick((0.1, 0.5, 0.02)), np.float32), keep=True)  # a negative one is refused
    zero = d.store(np.array(d.pick((0, 7, 113, 128)), np.uint8), fold=False)
    q = d.any("uint8", d.shape)
    if d.chance(0.5):
        x = d.subtract() if d.chance(0.5) else d.any()
        q = d.node("QuantizeLinear", [x, scale, zero], None, "uint8")
    if d.chance(0.8):
        x = d.node("DequantizeLinear", [q, scale, zero], None, "float32")
        if d.chance(0.6):
            d.two("Sub", x)


def _compare(d: Draft) -> None:
    x = d.subtract() if d.chance(0.5) else d.any()
    found = d.node(d.pick(("Greater", "Less", "Equal")), [x, d.operand(x)], None, "bool")
    if d.chance(0.4):
        d.node("Cast", [found], None, d.dtype, to=data_number(d.dtype))


def _sum_up(d: Draft) -> None:
    x = d.any()
    if x.shape and x.dtype not in ("int8", "uint8", *(("float16",) if d.opset < 14 else ())):
        d.pure = False
        d.node("CumSum", [x, d.store(np.array(len(x.shape) - 1, np.int64), fold=False)])


def _layer_normal(d: Draft) -> None:
    x = d.any()
    if d.opset >= 17 and x.shape and x.shape[-1] > 1:
        d.pure = False
        scale = d.store(d.source.uniform(0.5, 1.5, x.shape[-1]).astype(TYPES[d.dtype].memory))
        d.node("LayerNormalization", [x, scale])


def _einsum(d: Draft) -> None:
    x = d.any()
    if len(x.shape) == 2:
        d.pure = False
        d.node("Einsum", [x, d.operand_of(x, x.shape)], (x.shape[0], x.shape[0]), equation="ij,kj->ik")


def _resize(d: Draft) -> None:
    x = d.any()
    if len(x.shape) == 4 and math.prod(x.shape) < 2048:
        d.pure = False
        scales = d.store(np.array([1, 1, 2, 2], np.float32), fold=False)
        shape = (*x.shape[:2], 2 * x.shape[2], 2 * x.shape[3])
        inputs = [x.name, "", scales.name]
        name = d.name()
        d.nodes.append(helper.make_node("Resize", inputs, [name], mode=d.pick(("nearest", "linear"))))
        d.pool.append(Value(name, x.dtype, shape))


def _readers(d: Draft) -> None:
    """A value that several nodes read, a subtraction among them."""
    x = d.any()
    d.two("Sub", x)
    for _ in range(int(d.source.integers(1, 3))):
        d.two(d.pick(("Add", "Mul", "Sub")), x)


FLOAT_RULES: tuple[tuple[float, Rule], ...] = (
    (7, _arithmetic), (1.5, _extremes), (6, _unary), (1.5, _clip), (1, _pow), (1.5, _reshape), (1, _transpose),
    (0.5, _expand), (1, _concat), (1, _slice), (0.5, _split), (1, _where), (1, _cast), (1, _from_integers),
    (1, _matmul), (0.5, _gemm), (1, _conv), (0.5, _pool), (0.5, _normal), (1, _reduce), (0.5, _softmax), (0.5, _branch),
    (0.4, _rounding), (0.4, _layer_norm), (0.4, _softmax_parts), (0.4, _rotary), (0.4, _mask), (0.4, _normalise),
    (0.8, _folded), (0.8, _sizes), (0.6, _quantised), (0.6, _compare), (0.2, _sum_up), (0.3, _layer_normal),
    (0.2, _einsum), (0.2, _resize), (0.6, _readers), (0.6, _round_trip),
)  # fmt: skip
INTEGER_RULES: tuple[tuple[float, Rule], ...] = (
    (7, _arithmetic), (1.5, _extremes), (3, _unary), (1.5, _reshape), (1, _transpose), (0.5, _expand), (1, _concat),
    (1, _slice), (1, _where), (2, _cast), (0.5, _branch), (1, _sizes), (0.7, _compare), (0.3, _sum_up), (1, _readers),
)  # fmt: skip


@dataclass
class Drawn:
    """A random graph.

    Attributes:
        model, inputs: the graph as a model. pure: whether each element depends on one of each input alone.
        known: numbers of its constants. values: what its nodes make. fixed: inputs that always have these elements.
    """

    model: ModelProto
    inputs: list[Value]
    pure: bool
    known: list[float]
    values: list[Value]
    fixed: Feeds = field(default_factory=dict)

    def sets(self, source: np.random.Generator, more: Sequence[str] = ()) -> list[Feeds]:
        """Arrays for its inputs."""
        kinds = [EDGES, FEW] if self.pure else [ORDINARY, FEW]
        return [
            {
                v.name: self.fixed[v.name]
                if v.name in self.fixed
                else numbers(v.dtype, v.shape, kind, source, self.known)
                for v in self.inputs
            }
            for kind in (*kinds, *more)
        ]


def draw(seed: int, number: int, operator: str = "Sub") -> Drawn:
    """Return graph ``number`` of a seed; one with one to three subtractions at least, or with another operator there.

    Args:
        seed, number: they decide. operator: ``"Add"`` or ``"Neg"`` takes the place of some subtractions, or is beside
            them.
    """
    if operator == "Sub":
        return _drawn(seed, number)
    for further in range(number * 16, number * 16 + 16):
        drawn = _drawn(seed, further)
        changed = with_operator(drawn, operator, np.random.default_rng([seed, further, 2]))
        if any(node.op_type == operator for node in changed.graph.node):
            return replace(drawn, model=changed)
    raise AssertionError(f"no graph of seed {seed} near {number * 16} has an operand that {operator} takes")


def extended(seed: int, number: int) -> Drawn:
    """Return a graph that releases are measured with and one more node on one side or both, or two in a row.

    What is measured has two nodes, and what a runtime makes of them can show behind a third alone.
    """
    source = np.random.default_rng([seed, number])
    cases = _cases()[source.choice(["float16", "float16", "float32"])]
    while True:
        case = cases[int(source.integers(len(cases)))]
        built = graph_probing().build(case)
        model = onnx.load_from_string(built.whole.data)
        try:
            _extend(model, case.dtype, source)
            onnx.checker.check_model(model, full_check=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, ValueError):
            continue
        feeds = built.feeds.items()
        inputs = [Value(name, feed.dtype, feed.shape) for name, feed in feeds]
        fixed = {name: feed.elements for name, feed in feeds if feed.values == "fixed"}
        return Drawn(model, inputs, not case.mixes, [1.7], [], fixed)


def of_open_inputs(drawn: Drawn) -> Drawn:
    """Return the graph with inputs of open shapes, each of which a Reshape gives the shape that it had."""
    model = ModelProto()
    model.CopyFrom(drawn.model)
    graph, names = model.graph, {value.name: f"open_{value.name}" for value in drawn.inputs if value.shape}
    reshapes = []
    for value in graph.input:
        if value.name in names:
            dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            shape = f"shape_of_{value.name}"
            graph.initializer.append(onnx.numpy_helper.from_array(np.array(dims, np.int64), shape))
            reshapes.append(helper.make_node("Reshape", [names[value.name], shape], [value.name]))
            for i, dim in enumerate(value.type.tensor_type.shape.dim):
                dim.dim_param = f"{value.name}_{i}"
            value.name = names[value.name]
    nodes = [*reshapes, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    return replace(
        drawn,
        model=model,
        inputs=[replace(value, name=names.get(value.name, value.name)) for value in drawn.inputs],
        fixed={names.get(name, name): elements for name, elements in drawn.fixed.items()},
    )


def that_quantises(drawn: Drawn, source: np.random.Generator) -> Drawn:
    """Return the graph with quantisations: of some of its values of float32, or else of one that is put beside it.

    One of an opset below 10 stays as it is.
    """
    model = ModelProto()
    model.CopyFrom(drawn.model)
    if model.opset_import[0].version < 10:  # which has none
        return drawn
    graph, inputs = model.graph, list(drawn.inputs)
    made = {name for node in graph.node for name in node.output}
    given = [one for one in inputs if one.dtype == "float32" and source.random() < 0.25]
    within = [one for one in drawn.values if one.dtype == "float32" and one.name in made and source.random() < 0.1]
    if not (taken := [*given, *within]):
        taken = [Value("quantised", "float32", (2, 3))]
        inputs += taken
        graph.input.append(helper.make_tensor_value_info("quantised", data_number("float32"), [2, 3]))
        graph.output.append(helper.make_tensor_value_info("quantised_float", data_number("float32"), [2, 3]))
    before = {one.name: _there_and_back(one, model, source) for one in taken}
    nodes = [node for one in taken if one.name not in made for node in before[one.name]]
    for node in graph.node:
        node.input[:] = [f"{one}_float" if one in before else one for one in node.input]
        nodes += [node, *(more for name in node.output for more in before.get(name, ()))]
    copied = [NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copied)
    return replace(drawn, model=model, inputs=inputs)


_CODES = ("uint8", "uint8", "int8", "int8", "uint16", "int16")
_SINCE_21 = {"uint16", "int16"}


def _there_and_back(value: Value, model: ModelProto, source: np.random.Generator) -> list[NodeProto]:
    """The nodes that quantise a value and convert it back: of one scale, or of one for each channel."""
    (opset,) = (one.version for one in model.opset_import if not one.domain)
    dtype = str(source.choice([one for one in _CODES if opset >= 21 or one not in _SINCE_21]))
    per_axis = opset >= 13 and len(value.shape) > 1 and source.random() < 0.25
    length = (value.shape[1],) if per_axis else ()
    scale = np.full(length, source.choice([0.05, 0.0173, 0.5]), np.float32) * (1 + np.arange(*length or (1,)) / 8)
    zero = np.full(length, source.choice([0, 7, 113, 0 if dtype.startswith("int") else 128]), dtype)
    if per_axis and source.random() < 0.3:  # one of each channel
        zero += np.arange(*length, dtype=dtype)
    stored = {"scale": scale.astype(np.float32).reshape(length), "zero": zero}
    if dtype == "uint8" and not zero.any() and source.random() < 0.5:
        del stored["zero"]
    names = [f"{value.name}_{one}" for one in stored]
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(one, name) for one, name in zip(stored.values(), names, strict=True)
    )
    ends = ([value.name, f"{value.name}_codes"], [f"{value.name}_codes", f"{value.name}_float"])
    axis: dict[str, Any] = {"axis": 1} if per_axis else {}
    return [
        helper.make_node(operator, [given, *names], [made], **axis)
        for operator, (given, made) in zip(("QuantizeLinear", "DequantizeLinear"), ends, strict=True)
    ]


@functools.cache
def _cases() -> Mapping[str, Sequence[GraphCase]]:
    """What releases are measured with in types that have a precision of their own, by type."""
    found: dict[str, list[GraphCase]] = {"float16": [], "float32": []}
    for _, case in queried(""):
        if not case.form and case.dtype in found:
            found[case.dtype].append(case)
    return found


def _extend(model: ModelProto, dtype: str, source: np.random.Generator) -> None:
    """Put nodes before the inputs of a graph, or behind its output."""
    graph = model.graph
    kind = data_number(dtype)
    before = [value for value in graph.input if value.type.tensor_type.elem_type == kind and source.random() < 0.4]
    nodes = []
    for value in before:
        name = f"more_{value.name}"
        for node in graph.node:
            node.input[:] = [name if one == value.name else one for one in node.input]
        nodes += _more(graph, dtype, value.name, name, source)
    graph_nodes = [*nodes, *graph.node]
    (result,) = graph.output
    made = onnx.shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.elem_type
    if made == kind and (not before or source.random() < 0.6):
        graph_nodes += _more(graph, dtype, result.name, "more_result", source)
        result.name = "more_result"
    copied = [NodeProto.FromString(one.SerializeToString()) for one in graph_nodes]
    del graph.node[:]
    graph.node.extend(copied)
    result.type.CopyFrom(onnx.shape_inference.infer_shapes(model).graph.output[0].type)


def _more(graph: onnx.GraphProto, dtype: str, name: str, made: str, source: np.random.Generator) -> list[NodeProto]:
    """One or two nodes that make a value of another one, element by element."""
    through = f"{made}_between" if source.random() < 0.3 else made
    number = onnx.numpy_helper.from_array(
        np.array(source.choice([1.7, 3.0, 0.3]), TYPES[dtype].memory), f"{made}_number"
    )
    graph.initializer.append(number)
    operator = source.choice(["Add", "Mul", "Sub", "Div", "Relu", "Abs", "Neg", "Sum"])
    alone = operator in ("Relu", "Abs", "Neg")
    nodes = [helper.make_node(operator, [name] if alone else [name, number.name], [through])]
    if through != made:
        nodes.append(helper.make_node(source.choice(["Identity", "Neg", "Abs", "Sqrt"]), [through], [made]))
    return nodes


def with_operator(drawn: Drawn, operator: str, source: np.random.Generator) -> ModelProto:
    """A model with sums in the place of some subtractions, or with negations next to them."""
    model = ModelProto()
    model.CopyFrom(drawn.model)
    signed = {v.name for v in (*drawn.values, *drawn.inputs) if not v.dtype.startswith(("bool", "uint"))}
    nodes = []
    for node in drawn.model.graph.node:
        own = NodeProto()
        own.CopyFrom(node)
        nodes.append(own)
        if node.op_type != "Sub" or source.random() < 0.3:
            continue
        if operator == "Add":
            own.op_type = operator
            continue
        place = int(source.integers(3))
        name = node.input[place] if place < 2 else node.output[0]
        if name in signed and place < 2:
            own.input[place] = f"negative_{len(nodes)}"
            nodes.insert(-1, helper.make_node(operator, [name], [own.input[place]]))
        elif name in signed:
            own.output[0] = f"negated_{len(nodes)}"
            nodes.append(helper.make_node(operator, [own.output[0]], [name]))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def _drawn(seed: int, number: int) -> Drawn:
    source = np.random.default_rng([seed, number])
    while True:
        draft = Draft(source)
        length = int(source.integers(1, 9))
        subtractions = sorted(int(i) for i in source.integers(0, length, source.integers(1, 4)))
        for i in range(length):
            if i in subtractions:
                draft.subtract()
            else:
                draft.step()
        model = _model(draft)
        if any(True for _ in _subtractions(model)):
            return Drawn(model, draft.inputs, draft.pure, draft.known, draft.pool)


def _subtractions(model: ModelProto) -> Iterator[NodeProto]:
    for node in model.graph.node:
        if node.op_type in ("Sub", "If"):
            yield node


def _model(draft: Draft) -> ModelProto:
    """The graph as a model: what nobody reads is an output, and now and then what somebody reads."""
    read = {name for node in draft.nodes for name in node.input}
    read |= {name for node in draft.nodes for a in node.attribute for inner in a.g.node for name in inner.input}
    kinds = {v.name: v for v in draft.pool}
    made = [name for node in draft.nodes if node.op_type != "Constant" for name in node.output]
    outputs = [name for name in made if name in kinds and (name not in read or draft.chance(0.04))]
    how = draft.pick(("static", "static", "open", "open", "first"))

    def dims(value: Value) -> list[int | str]:
        if how == "static" or not value.shape:
            return list(value.shape)
        if how == "first":
            return [f"{value.name}_first", *value.shape[1:]]
        return [f"{value.name}_{i}" for i in range(len(value.shape))]

    inputs = [helper.make_tensor_value_info(v.name, data_number(v.dtype), dims(v)) for v in draft.inputs]
    results = [
        helper.make_tensor_value_info(name, data_number(kinds[name].dtype), dims(kinds[name])) for name in outputs
    ]
    graph = helper.make_graph(draft.nodes, "drawn", inputs, results, draft.initializers)
    ir_version = 10 if draft.opset > 18 else 8
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", draft.opset)], ir_version=ir_version)
