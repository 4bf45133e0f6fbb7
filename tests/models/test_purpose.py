"""What a subtraction is there for, told from its neighbours."""

from __future__ import annotations

import pytest

from minuend.models.flow import Flow
from minuend.models.purpose import purpose_of
from minuend.onnx.model import read
from minuend.onnx.occurrences import occurrences


def purposes(body: str, inputs: str = "float[2,3,4] x", opset: int = 17) -> list[str]:
    model = read(f'<ir_version: 8, opset_import: ["" : {opset}]> g ({inputs}) => (float y) {{ {body} }}')
    return [occurrence.purpose for occurrence in occurrences(model)]


CASES = {
    "x less its mean": ("m = ReduceMean <axes = [-1]> (x)\ny = Sub (x, m)", "mean subtraction"),
    "x less its sum over its count": (
        "s = ReduceSum (x)\nk = Constant <value_float = 3.0> ()\nm = Div (s, k)\ny = Sub (x, m)",
        "mean subtraction",
    ),
    "an image less a constant, over a constant": (
        ("k = Constant <value = float {0.5}> ()\nd = Constant <value = float {0.25}> ()\n"
        "c = Sub (x, k)\ny = Div (c, d)"),
        "mean subtraction",
    ),
    "a constant called mean": ("mean = Constant <value = float {0.5}> ()\ny = Sub (x, mean)", "mean subtraction"),
    "x less its largest": ("m = ReduceMax (x)\nd = Sub (x, m)\ny = Exp (d)", "softmax shift"),
    "one less a comparison, scaled": (
        ("z = Constant <value = float {0.0}> ()\nb = Greater (x, z)\nf = Cast <to = 1> (b)\n"
        "o = Constant <value = float {1.0}> ()\nk = Constant <value = float {-10000.0}> ()\n"
        "i = Sub (o, f)\ny = Mul (i, k)"),
        "attention mask",
    ),
    "one less a complement of a gate": (
        "g = Sigmoid (x)\no = Constant <value = float {1.0}> ()\ni = Sub (o, g)\ny = Mul (i, x)",
        "plain",
    ),
    "two inputs": ("y = Sub (x, x)", "plain"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_subtraction_is_known_by_its_neighbours(name: str) -> None:
    body, expected = CASES[name]
    assert purposes(body) == [expected]


def test_an_input_called_mask_makes_a_mask():
    body = "o = Constant <value = int64 {1}> ()\ni = Sub (o, attention_mask)\ny = Cast <to = 1> (i)"
    assert purposes(body, "int64[1,8] attention_mask") == ["attention mask"]


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_zero_point_is_subtracted_before_or_after_the_cast(order: str) -> None:
    scale = "s = Constant <value = float {0.1}> ()\n"
    if order == "before":
        body = "z = Constant <value = uint8 {128}> ()\nd = Sub (q, z)\nf = Cast <to = 1> (d)\ny = Mul (f, s)"
    else:
        body = "z = Constant <value = float {128.0}> ()\nf = Cast <to = 1> (q)\nd = Sub (f, z)\ny = Mul (d, s)"
    assert purposes(scale + body, "uint8[4] q") == ["dequantisation zero point"]


def test_sizes_and_positions_are_shape_arithmetic():
    body = "s = Shape (x)\nk = Constant <value_int = 1> ()\ni = Gather (s, k)\nd = Sub (i, k)\ny = Cast <to = 1> (d)"
    assert purposes(body) == ["shape arithmetic"]


def test_a_value_without_a_maker_is_no_trouble():
    assert purpose_of(Flow([("Sub", ("a", "b"), ("c",))], ()), 0) == "plain"
    assert purpose_of(Flow([("Sub", ("c", "c"), ("c",))], ()), 0) == "plain"
