"""Every recipe, computed with NumPy: no runtime is needed to see that its steps give the operator's result."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from minuend.core.elements import TYPES
from minuend.operators import SUBTRACT
from minuend.operators.shared_recipes import ISOLATED, NARROWED, WIDENED

OPERATORS = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Neg": np.negative, "Mod": np.mod,
    "Floor": np.floor, "Max": np.maximum, "Min": np.minimum, "BitwiseAnd": np.bitwise_and, "Where": np.where,
    "Less": np.less, "Greater": np.greater, "Equal": np.equal, "And": np.logical_and, "Xor": np.logical_xor,
}  # fmt: skip


class Other(NamedTuple):
    """An operator that shared recipes can replace."""

    onnx: str
    arity: int
    compute: Callable[..., int]
    recipes = (*WIDENED, NARROWED, ISOLATED)


REPLACED = (SUBTRACT, Other("Add", 2, operator.add), Other("Neg", 1, operator.neg))


def numpy_type(dtype):
    return np.dtype(bool) if dtype == "bool" else TYPES[dtype].numpy


class Arrays:
    """Computes the steps; a value is an array."""

    def __init__(self):
        self.nameless, self.main = [], []

    def constant(self, number, dtype, name):
        assert name
        return np.array(number, numpy_type(dtype))

    def cast(self, value, dtype, name):
        if TYPES[dtype].is_integer:  # what does not fit is converted to other numbers on each runtime
            low, high = TYPES[dtype].limits
            assert low <= value.min()
            assert value.max() <= high
        return self.made(value.astype(numpy_type(dtype)), dtype, name)

    def clip(self, value, low, high, dtype, name):
        return self.made(np.clip(value, value.dtype.type(low), value.dtype.type(high)), dtype, name)

    def apply(self, op, values, dtype, name, *, main):
        self.main += [op] * main
        return self.made(OPERATORS[op](*values), dtype, name)

    def made(self, value, dtype, name):
        assert value.dtype == numpy_type(dtype)
        self.nameless += [value] * (not name)
        return value


@functools.cache
def operands(replaced, element, within_int32):
    """All tuples of values of a type of 8 bits; those of edges and random bits of a wider one.

    Those that are proven to stay in int32 do not leave their own type either.
    """
    bits, half = element.bits, 1 << (element.bits - 1)
    if within_int32:
        values = np.array([0, 1, 5, (1 << 30) - 1, *([-1, -(1 << 30)] if element.kind == "signed" else [])])
    elif bits == 8:
        values = np.arange(256)
    else:
        edges = [(base + step) % (1 << bits) for base in (0, half) for step in (-2, -1, 0, 1)]
        values = np.array([*edges, *np.random.default_rng(1).integers(0, half, 99).tolist()], np.uint64)
    stored = values.astype(f"u{element.itemsize}").view(element.numpy)
    tuples = itertools.product(stored, repeat=replaced.arity)
    if within_int32:
        tuples = [one for one in tuples if replaced.compute(*map(int, one)) >= element.limits[0]]
    return [np.array(side) for side in zip(*tuples, strict=True)]


def expected(replaced, element, values, overflow):
    """The contract's result: of Python's integers, or of NumPy's floats of the type, which are rounded once."""
    if not element.is_integer:
        return OPERATORS[replaced.onnx](*values)
    low, high = element.limits
    exact = replaced.compute(*(side.astype(object) for side in values))
    if overflow == "saturate":
        return np.clip(exact, low, high).astype(element.numpy)
    return ((exact - low) % (1 << element.bits) + low).astype(element.numpy)


CASES = [
    pytest.param(replaced, recipe, dtype, id=f"{replaced.onnx} of {dtype} {recipe.name}")
    for replaced in REPLACED
    for recipe in replaced.recipes
    for dtype in recipe.types
    if TYPES[dtype].bits >= 8
]


@pytest.mark.parametrize(("replaced", "recipe", "dtype"), CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NaNs and infinities are among the operands
def test_a_recipe_computes_its_operator_once_and_gives_the_expected_result(replaced, recipe, dtype):
    element = TYPES[dtype]
    values = operands(replaced, element, recipe.proof)
    arrays = Arrays()
    result = recipe.write(replaced, element, values, arrays)
    assert [one is result for one in arrays.nameless] == [True]
    assert arrays.main == [replaced.onnx]
    want = expected(replaced, element, values, recipe.overflow or "wrap")
    same = result.view(f"u{result.itemsize}") == want.view(f"u{want.itemsize}")
    assert (same if element.is_integer else same | (np.isnan(result) & np.isnan(want))).all()


def test_a_trace_has_operators_with_the_types_that_they_compute_in():
    recipe = next(one for one in SUBTRACT.recipes if one.name == "saturated with Where")
    steps = recipe.traced(SUBTRACT, TYPES["int64"]).steps
    assert [(step.op, step.dtype) for step in steps[:5]] == [
        ("Sub", "int64"),
        *[("Less", "int64")] * 3,
        ("Xor", "bool"),
    ]
