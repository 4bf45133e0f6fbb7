"""A model's nodes in order and the values between them, and how far rounding may take each.

A dialect whose models can be compared value by value has a ``tracing.py`` with the functions of :class:`Tracing`.
Operators have ONNX's names, as in :mod:`minuend.models.patterns`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import ml_dtypes
import numpy as np

from minuend.core.elements import of_numpy
from minuend.files.streaming import reading
from minuend.models.opening import M_contra, Model
from minuend.standards.abilities import Ability

Array = reading.Array

MOVES = ("Identity", "Constant", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Expand", "Concat", "Split",
         "Slice", "Gather", "GatherElements", "GatherND", "Scatter", "ScatterElements", "ScatterND", "Tile", "Pad",
         "Where", "DepthToSpace", "SpaceToDepth", "Trilu", "Compress", "ConstantOfShape", "ReverseSequence", "Dropout",
         "OneHot", "EyeLike", "TopK", "Unique", "ArgMax", "ArgMin", "NonZero", "Shape", "Size",
         "Result", "Parameter")  # fmt: skip
"""Operators that hand numbers on."""

ROUNDS_ONCE = ("Add", "Sub", "Mul", "Div", "Sqrt", "Reciprocal", "Cast", "CastLike", "PRelu", "LeakyRelu")
"""Operators whose results are the exact ones, rounded once."""

EXACT = frozenset(
    (*MOVES, *ROUNDS_ONCE, "Neg", "Abs", "Sign", "Max", "Min", "Relu", "Clip", "Floor", "Ceil", "Round", "Mod",
     "MaxPool", "ReduceMax", "ReduceMin", "GlobalMaxPool", "ThresholdedRelu", "IsNaN", "IsInf", "Equal", "Less",
     "LessOrEqual", "Greater", "GreaterOrEqual", "Not", "And", "Or", "Xor")
)  # fmt: skip
"""Operators that have one right answer, to the bit; others are bounded. With integers alone every operator has one."""

FEW = 4
"""Roundings that an operator may take which computes element by element and is not exact, such as Exp."""


@dataclass(frozen=True)
class Step:
    """One node of the main graph.

    Attributes:
        where: its place, as findings have it. operator: what it computes.
        inputs, outputs: what names the values that it reads and gives: names in ONNX, references in IR.
    """

    where: str
    operator: str
    inputs: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]


@dataclass(frozen=True)
class Trace:
    """A model as it runs by the contract, on some inputs.

    Attributes:
        steps: its nodes, in order. outputs: what names each output's value.
        values: the numbers of every value. wide: those of floats in float64, as far as they could be computed in it;
            empty where every operator is exact.
    """

    steps: Sequence[Step]
    outputs: Mapping[str, Hashable]
    values: Mapping[Any, Array]
    wide: Mapping[Any, Array]


class Tracing(Protocol[M_contra]):
    """A dialect's ``tracing.py``."""

    def trace(self, model: M_contra, inputs: Mapping[str, Array], *, wide: bool = True) -> Trace:
        """Run a model by the contract, and in float64 where that is wanted.

        Raises:
            SpecError: inputs that do not fit. MinuendError: a model that this package cannot run.
        """


TRACING = Ability[Tracing[Model]]("tracing", "models of {} are run by no runtime here")


def is_float(value: object) -> bool:
    """Whether a value is an array of floats, bfloat16 and narrower ones among them.

    >>> [is_float(np.zeros(1, one)) for one in (np.float32, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, np.uint8)]
    [True, True, False, False]
    """
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fV":
        return False
    row = of_numpy(value.dtype)
    return row is None or not row.is_integer


def epsilon(dtype: np.dtype[Any]) -> float:
    """One rounding of a type of floats, relative to what is rounded.

    >>> epsilon(np.dtype(np.float32)) == 2.0**-24
    True
    """
    info: Any = ml_dtypes.finfo
    return float(info(dtype).eps) / 2


def exact(step: Step, values: Mapping[Any, Any]) -> bool:
    """Whether a node has one right answer.

    >>> add, exp = Step("", "Add", ("x", "x"), ("y",)), Step("", "Exp", ("x",), ("y",))
    >>> floats, integers = dict.fromkeys("xy", np.float32([1])), dict.fromkeys("xy", np.int32([1]))
    >>> exact(add, floats), exact(exp, floats), exact(exp, integers)
    (True, False, True)
    """
    return step.operator in EXACT or not any(is_float(values.get(key)) for key in (*step.inputs, *step.outputs))


def terms(step: Step, values: Mapping[Any, Any]) -> int:
    """How many roundings an element of a node's result may take at most.

    >>> values = {"a": np.zeros((2, 9)), "b": np.zeros((9, 4)), "y": np.zeros((2, 4))}
    >>> terms(Step("", "MatMul", ("a", "b"), ("y",)), values), terms(Step("", "Exp", ("a",), ("b",)), values)
    (9, 4)
    """
    given = [values[key] for key in step.inputs if isinstance(values.get(key), np.ndarray)]
    made = [values[key] for key in step.outputs if isinstance(values.get(key), np.ndarray)]
    if not given or not made:
        return FEW
    if step.operator.endswith(("MatMul", "Gemm")):
        return max([FEW, *map(int, given[0].shape)])
    if "Conv" in step.operator:
        place = 3 if step.operator.endswith("QLinearConv") else 1  # of the weights
        weights = values.get(step.inputs[place]) if len(step.inputs) > place else None
        return max([FEW, math.prod(map(int, np.shape(weights)[1:]))]) if weights is not None else FEW
    if step.operator in _ALONG:
        return max([FEW, *map(int, given[0].shape)])
    return max([FEW, *(int(one.size) // max(1, int(made[0].size)) for one in given)])


_ALONG = ("Softmax", "LogSoftmax", "LayerNormalization", "InstanceNormalization", "GroupNormalization", "CumSum",
          "LpNormalization", "RMSNormalization", "LSTM", "GRU", "RNN", "Einsum", "Attention")  # fmt: skip
"""Operators that sum along a dim and give as many elements as they are given."""
