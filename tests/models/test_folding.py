"""The elements of constants that nodes make."""

from __future__ import annotations

import numpy as np
import pytest

from minuend.models.flow import Flow
from minuend.models.folding import computed

STORED = {
    "w": np.float32([[0.3, -1.7, 5.5], [1.0, 2.0, 3.0]]),
    "row": np.float32([0.1, 0.2, 0.3]),
    "tiny": np.float32([[1e-38, 1e-38, 1e-38]]),
    "zeros": np.float32([[0.0, -0.0, 0.0]]),
    "half": np.float16([[0.5, 0.1, 3.0]]),
    "signalling": np.array([[0x7D00, 0x3C00, 0]], np.uint16).view(np.float16),  # the first a NaN that signals
    "whole": np.int32([[1, 2, 3]]),
    "shape": np.int64([3, 2]),
}


def made(operator, *inputs, dtype="float32", shape=(2, 3)):
    types = {name: array.dtype.name for name, array in STORED.items()} | {"r": dtype}
    shapes = {name: array.shape for name, array in STORED.items()} | {"r": shape}
    flow = Flow([(operator, inputs, ("r",))], STORED, types, shapes=shapes, elements=lambda name: STORED[name].ravel())
    return computed(flow, "r")


@pytest.mark.parametrize(
    ("operator", "inputs", "wanted"),
    [
        ("Identity", ["w"], STORED["w"]),
        ("Neg", ["w"], -STORED["w"]),
        ("Abs", ["w"], np.abs(STORED["w"])),
        ("Add", ["w", "row"], STORED["w"] + STORED["row"]),
        ("Sub", ["row", "w"], STORED["row"] - STORED["w"]),
        ("Mul", ["w", "row"], STORED["w"] * STORED["row"]),
        ("Div", ["w", "row"], STORED["w"] / STORED["row"]),
        ("Sqrt", ["row"], np.sqrt(STORED["row"])),
    ],
)
def test_float32_is_rounded_once_by_each_node(operator, inputs, wanted):
    found = made(operator, *inputs, shape=wanted.shape)
    assert found.dtype == np.float32
    assert found.tobytes() == wanted.tobytes()


def test_moved_elements_are_those_that_were_stored_in_their_order():
    assert made("Reshape", "w", "shape", shape=(3, 2)).tolist() == STORED["w"].reshape(3, 2).tolist()


@pytest.mark.parametrize(
    ("operator", "inputs", "dtype"),
    [
        ("Exp", ["w"], "float32"),  # runtimes round it in their own way
        ("Transpose", ["w"], "float32"),  # its order is an attribute
        ("Mul", ["tiny", "row"], "float32"),  # subnormal
        ("Sqrt", ["w"], "float32"),  # NaN
        ("Sub", ["zeros", "row"], "float32"),  # one is -0
        ("Add", ["whole", "whole"], "int32"),  # what wraps is a runtime's own
        ("Mul", ["half", "half"], "float16"),  # not a number of float16
        ("Add", ["w", "half"], "float32"),
        ("Add", ["w", "x"], "float32"),
        ("Add", ["signalling", "signalling"], "float16"),
        ("Neg", ["w", "w"], "float32"),  # more inputs, or fewer, than the operator has
        ("Neg", ["w", "w", "w"], "float32"),
        ("Sub", ["w"], "float32"),
        ("Mul", ["w", "w", "w"], "float32"),
        ("Identity", [], "float32"),
    ],
)
def test_what_is_not_known_to_the_bit_is_not_computed(operator, inputs, dtype):
    assert made(operator, *inputs, dtype=dtype) is None


def test_a_shape_with_an_open_dim_is_not_filled():
    assert made("Neg", "w", shape=("N", 3)) is None
