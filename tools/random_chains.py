"""Random chains of one or two operators of two to five axes around a subtraction; chain N of a seed is always the same.

Runtimes have kernels by the number of axes and by the element type, and what they fuse differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, helper
from random_graphs import INTEGER_UNARY, UNARY, Drawn, Value
from truth import Array, data_number

from minuend.core.elements import TYPES

RANKS: tuple[tuple[int, ...], ...] = ((8, 16), (4, 8, 16), (2, 8, 4, 16), (2, 3, 4, 5, 6))
"""Shapes of the first input. Releases are measured with four axes alone."""
DTYPES = ("float32",) * 9 + ("float16",) * 4 + ("bfloat16",) * 2 + ("float64", "int8", "uint8", "int32", "int64")
OF_INTEGERS = frozenset((
    *INTEGER_UNARY, "Add", "Concat", "Div", "Gather", "MatMul", "Max", "Min", "Mul", "Pad", "ReduceMax", "ReduceMin",
    "ReduceProd", "ReduceSum", "ReduceSumSquare", "Slice", "Sub", "Transpose",
))  # fmt: skip
"""Operators that take integers."""
OPEN = ("none", "none", "none", "first", "all")
"""Which dims of inputs are open."""

Row = tuple[str, Mapping[str, Any], Sequence[Array]]


def of_any_rank(seed: int, number: int) -> Drawn:
    """Return a chain of one or two operators and a subtraction of a value, of a constant along any axis or of a number.

    Where there is one operator, one more reader or node follows at times.
    """
    source = np.random.default_rng([seed, number])
    while True:
        chain = _Chain(source)
        try:
            return chain.drawn()
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, ValueError):
            continue


class _Chain:
    """Nodes each of which reads what the one before makes, and what is known of the last one's result.

    Args:
        source: where choices come from.
    """

    def __init__(self, source: np.random.Generator) -> None:
        self.source = source
        self.dtype = DTYPES[int(source.integers(len(DTYPES)))]
        self.shape = RANKS[int(source.integers(len(RANKS)))]
        self.name = "x"
        self.inputs = [Value("x", self.dtype, self.shape)]
        self.nodes: list[NodeProto] = []
        self.stored: list[onnx.TensorProto] = []

    def drawn(self) -> Drawn:
        """Draw the chain as a graph.

        Raises:
            ValidationError, InferenceError, ValueError: an operator does not take what stands before it.
        """
        count = 1 if self.source.random() < 0.6 else 2
        place = int(self.source.integers(count + 1))
        for i in range(count + 1):
            self._less() if i == place else self._operator()
        names = [node.output[0] for node in self.nodes]
        ends = names[-1:]
        if count == 1 and self.source.random() < 0.3:
            simple = INTEGER_UNARY if self._is_integer else UNARY
            self._add(simple[int(self.source.integers(len(simple)))], {}, ())
            ends = [self.name, *(names[:1] if self.source.random() < 0.4 else [])]
        open_ = OPEN[int(self.source.integers(len(OPEN)))]
        inputs = [helper.make_tensor_value_info(one.name, self._kind, dims_of(one, open_)) for one in self.inputs]
        model = self._model(self.nodes, inputs, ends)
        model = onnx.shape_inference.infer_shapes(model, data_prop=True, strict_mode=True)
        onnx.checker.check_model(model, full_check=True)
        return Drawn(model, self.inputs, pure=False, known=[], values=[])

    @property
    def _is_integer(self) -> bool:
        return TYPES[self.dtype].is_integer

    @property
    def _kind(self) -> int:
        return data_number(self.dtype)

    def _model(self, nodes: Sequence[NodeProto], inputs: Sequence[Any], ends: Sequence[str]) -> ModelProto:
        results = [helper.make_tensor_value_info(name, self._kind, None) for name in ends]
        graph = helper.make_graph(nodes, "drawn", inputs, results, self.stored)
        return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 22)])

    def _operator(self) -> None:
        rows = list(_rows(self.shape, self.source)) if len(self.shape) > 1 else [(name, {}, ()) for name in UNARY]
        rows = [row for row in rows if row[0] in OF_INTEGERS] if self._is_integer else rows
        self._add(*rows[int(self.source.integers(len(rows)))])

    def _less(self) -> None:
        """Subtract a value, a whole constant, one along an axis, or a number; or subtract from it."""
        along = int(self.source.integers(len(self.shape) + 3)) - 2
        dims = self.shape if along < 0 else tuple(size if i == along else 1 for i, size in enumerate(self.shape))
        if along == -2:
            self.inputs.append(Value("y", self.dtype, dims))
            other = "y"
        else:
            other = self._store(self.source.uniform(-2, 2, dims))
        pair = [self.name, other]
        self._append(helper.make_node("Sub", pair if self.source.random() < 0.6 else pair[::-1], ["d"]))

    def _add(self, operator: str, attributes: Mapping[str, Any], stored: Sequence[Array]) -> None:
        names = [self._store(one) for one in stored]
        self._append(helper.make_node(operator, [self.name, *names], [f"m{len(self.nodes)}"], **attributes))

    def _store(self, array: Array) -> str:
        """Store a constant, in the chain's element type if it is real; whole numbers from 1 on for integers."""
        name = f"k{len(self.stored)}"
        if self._is_integer and array.dtype.kind == "f" and (array != 0).any():
            array = np.maximum(np.floor(4 * np.abs(array)), 1.0)
        kept = array.astype(TYPES[self.dtype].memory) if array.dtype.kind == "f" else array
        self.stored.append(onnx.numpy_helper.from_array(np.asarray(kept), name))
        return name

    def _append(self, node: NodeProto) -> None:
        given = [helper.make_tensor_value_info(self.name, self._kind, self.shape)]
        others = [one for one in self.inputs if one.name in node.input and one.name != self.name]
        given += [helper.make_tensor_value_info(one.name, self._kind, one.shape) for one in others]
        model = self._model([node], given, [node.output[0]])
        known = onnx.shape_inference.infer_shapes(model, data_prop=True, strict_mode=True)
        self.shape = tuple(dim.dim_value for dim in known.graph.output[0].type.tensor_type.shape.dim)
        self.nodes.append(node)
        self.name = node.output[0]


def dims_of(value: Value, open_: str) -> list[int | str]:
    """The dims of an input in the model."""
    count = {"none": 0, "first": 1, "all": len(value.shape)}[open_]
    return [f"{value.name}_{i}" if i < count and size > 1 else size for i, size in enumerate(value.shape)]


def _of_no_effect(shape: tuple[int, ...]) -> Iterator[Row]:
    """Operators that leave a value as it is, or pick some of its elements."""
    last, one = len(shape) - 1, np.ones(shape[1:2])
    start, end, axis = (np.array([number]) for number in (0, (1 << 63) - 1, last))
    yield "Slice", {}, (start, end, axis)
    yield "Pad", {}, (np.zeros(2 * len(shape), np.int64),)
    yield from ((name, {}, ()) for name in ("Max", "Mean", "Sum"))
    yield "Concat", {"axis": last}, ()
    yield "ReduceSum", {"noop_with_empty_axes": 1}, ()
    yield from (("Gather", {"axis": last}, (indices,)) for indices in (np.arange(shape[-1]), start, start[0]))
    yield from ((name, {}, (one[0],)) for name in ("Mul", "Div"))
    yield from ((name, {}, (one[0] - 1,)) for name in ("Add", "Sub"))


def _rows(shape: tuple[int, ...], source: np.random.Generator) -> Iterator[Row]:
    """Operators that take a shape, with their attributes and constants."""
    count, channels, last, space = len(shape), shape[1], shape[-1], len(shape) - 2

    def real(*dims: int) -> Array:
        return source.uniform(-1.5, 1.5, dims)

    axis = int(source.integers(count))
    group = channels if source.random() < 0.4 else 1
    padded = {"pads": [1, 1] * space} if source.random() < 0.5 else {}
    bias = (real(4 if group == 1 else channels),) if source.random() < 0.5 else ()
    kernel = (1 if source.random() < 0.2 else 3,) * space
    yield from ((name, {}, ()) for name in UNARY)
    yield from ((name, {"axis": axis}, ()) for name in ("Softmax", "LogSoftmax"))
    yield from (
        (f"Reduce{part}", {"keepdims": int(source.integers(2))}, (np.array([axis]),))
        for part in ("Mean", "Max", "Min", "Sum", "L2", "SumSquare", "Prod", "LogSumExp")
    )
    yield from _of_no_effect(shape)
    yield "Transpose", {"perm": source.permutation(count).tolist()}, ()
    yield from ((name, {}, (real(*(channels if i == 1 else 1 for i in range(1, count))),)) for name in ("Mul", "Div"))
    yield "PRelu", {}, (real(channels, *(1,) * space),)
    yield "MatMul", {}, (real(last, 8),)
    yield "BatchNormalization", {}, (*(real(channels) for _ in range(3)), np.abs(real(channels)))
    yield "LayerNormalization", {}, (real(last), *((real(last),) if bias else ()))
    if not space:
        yield "Gemm", {}, (real(last, 8), real(8))
        return
    yield "InstanceNormalization", {}, (real(channels), real(channels))
    for name in ("AveragePool", "MaxPool", "LpPool"):
        yield name, {"kernel_shape": [2] * space}, ()
    yield from ((name, {}, ()) for name in ("GlobalAveragePool", "GlobalMaxPool"))
    for _ in range(3):
        yield (
            "Conv",
            {"group": group, **padded},
            (real(4 if group == 1 else channels, channels // group, *kernel), *bias),
        )
    yield "ConvTranspose", {}, (real(channels, 4, *(3,) * space), *((real(4),) if bias else ()))
