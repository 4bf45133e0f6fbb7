"""Whether a graph reads the sign of a zero."""

import numpy as np
import pytest

from minuend.models.flow import Flow
from minuend.models.zero_signs import loses_zero_sign

STORED = {"two": [2.0], "half": [0.5], "mixed": [1.0, 0.0], "tiny": [1e-40], "pairs": [2.0, 4.0]}
READERS = {
    ("Exp", ("d",)): True,
    ("Mul", ("d", "d")): True,
    ("Mul", ("d", "y")): False,
    ("Mul", ("d", "two")): False,
    ("Div", ("y", "d")): False,
    ("Pow", ("d", "two")): True,
    ("Pow", ("d", "pairs")): True,
    ("Pow", ("d", "half")): False,
    ("Pow", ("two", "d")): False,
    ("Add", ("d", "half")): True,
    ("Add", ("d", "mixed")): False,
    ("Add", ("d", "tiny")): False,
    ("Sub", ("half", "d")): True,
    ("Add", ("d", "y")): False,
    ("Less", ("d", "y")): True,
    ("Relu", ("d",)): False,
    ("Where", ("y", "d", "x")): False,
    ("If", ("d",)): False,
}


def flow_of(*steps, outputs=("z",), dtypes=None):
    stored = {name: np.array(numbers, np.float32) for name, numbers in STORED.items()}
    return Flow(
        [("Sub", ("x", "y"), ("d",)), *steps],
        frozenset(stored),
        outputs=outputs,
        dtypes=dtypes or {},
        sizes={name: one.size for name, one in stored.items()},
        elements=stored.get,
    )


@pytest.mark.parametrize("reader", READERS)
def test_an_operator_makes_the_same_of_both_zeros_or_not(reader):
    operator, inputs = reader
    assert loses_zero_sign(flow_of((operator, inputs, ("z",))), 0) is READERS[reader]


def test_every_reader_counts():
    both = [("Exp", ("d",), ("z",)), ("Tanh", ("d",), ("t",))]
    assert loses_zero_sign(flow_of(both[0]), 0)
    assert not loses_zero_sign(flow_of(*both, outputs=("z", "t")), 0)


def test_what_leaves_the_scope_is_read():
    assert not loses_zero_sign(flow_of(("Exp", ("d",), ("z",)), outputs=("z", "d")), 0)
    assert not loses_zero_sign(flow_of(outputs=("z",)), 0)


def test_operators_that_move_zeros_are_looked_through():
    moved = [("Transpose", ("d",), ("t",)), ("Concat", ("t", "y"), ("c",))]
    assert loses_zero_sign(flow_of(*moved, ("Abs", ("c",), ("z",))), 0)
    assert not loses_zero_sign(flow_of(*moved, ("Tanh", ("c",), ("z",))), 0)
    assert not loses_zero_sign(flow_of(*moved, outputs=("c",)), 0)


@pytest.mark.parametrize(("dtype", "lost"), [("int32", True), ("bool", True), ("float16", False), ("string", False)])
def test_a_conversion_to_integers_loses_it(dtype, lost):
    assert loses_zero_sign(flow_of(("Cast", ("d",), ("z",)), dtypes={"z": dtype}), 0) is lost


def test_what_is_added_to_a_sum_again_may_leave_the_zero_as_it_is() -> None:
    """openvino makes ``d`` of ``(d + 2) - 2``."""
    sums = (("Add", ("d", "two"), ("s",)), ("Sub", ("s", "two"), ("z",)))
    assert not loses_zero_sign(flow_of(*sums), 0)
    assert loses_zero_sign(flow_of(sums[0], ("Exp", ("s",), ("z",))), 0)
