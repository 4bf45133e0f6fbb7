"""What is a number of its type however many bits it is computed in."""

from __future__ import annotations

import numpy as np
import pytest

from minuend.models.exact import is_exact, moves
from minuend.models.flow import Flow

STORED = {"zero": [0.0, -0.0], "one": [1.0, -1.0], "third": [0.33325195]}
DTYPES = {"flag": "bool", "byte": "uint8", "int": "int32", **dict.fromkeys(("x", "y", *STORED), "float16")}


def flow(*steps, within=()):
    made = {name: "float16" for _, _, names in steps for name in names}
    return Flow(
        steps,
        STORED,
        {**DTYPES, **made},
        elements=lambda name: np.array(STORED[name], np.float16) if name in STORED else None,
        within=within,
    )


@pytest.mark.parametrize(
    ("operator", "inputs", "exact"),
    [
        ("Neg", ("x",), True),
        ("Reshape", ("x", "shape"), True),
        ("Where", ("flag", "x", "y"), True),
        ("Max", ("x", "y", "third"), True),
        ("Clip", ("x", "zero", "one"), True),
        ("Clip", ("x",), False),  # it may have had its bounds as attributes, as float32
        ("Cast", ("flag",), True),
        ("Cast", ("byte",), True),
        ("Cast", ("int",), False),
        ("Cast", ("x",), True),
        ("Sub", ("x", "zero"), True),
        ("Sub", ("zero", "x"), True),
        ("Sub", ("x", "third"), False),
        ("Sub", ("x", "y"), False),
        ("Sub", ("x", "x"), True),  # 0, or no number
        ("Add", ("zero", "x"), True),
        ("Mul", ("x", "one"), True),
        ("Mul", ("one", "x"), True),
        ("Mul", ("x", "zero"), False),
        ("Div", ("x", "one"), True),
        ("Div", ("one", "x"), False),
        ("Exp", ("x",), False),
    ],
)
def test_what_only_moves_picks_or_negates_is_exact(operator, inputs, exact):
    assert is_exact(flow((operator, inputs, ("r",))), "r") is exact
    assert is_exact(flow((operator, inputs, ("r",)), ("Neg", ("r",), ("n",)), ("Slice", ("n", "at"), ("s",))), "s") is (
        exact
    )


def test_what_comes_into_a_body_may_be_held_in_more_bits():
    step = ("Neg", ("x",), ("n",))
    assert is_exact(flow(step), "n")
    assert not is_exact(flow(step, within=("Loop",)), "n")
    assert is_exact(flow(("Neg", ("third",), ("n",)), within=("Loop",)), "n")


def test_a_subtraction_with_a_constant_0_rounds_no_more_than_it_is_given():
    steps = [("Sub", given, (f"d{i}",)) for i, given in enumerate((("x", "zero"), ("zero", "x"), ("x", "one")))]
    assert [moves(flow(*steps), i) for i in range(3)] == [True, True, False]


@pytest.mark.parametrize(
    "stored", [np.array(["a"], object), np.array([], np.float16), np.array([0x7D00], "u2").view("f2")]
)
def test_text_nothing_and_a_signalling_nan_are_no_0(stored):
    one = Flow([("Sub", ("x", "c"), ("d",))], ("c",), elements={"c": stored}.get)
    assert not moves(one, 0)


NUMBERS = {
    "w": np.array([0.3, -1.7, 5.5], np.float16),
    "two": np.array(2, np.float16),
    "tenth": np.array(0.1, np.float16),
    "large": np.array(65504, np.float16),
    "odd": np.array([2049, 3], np.int32),
    "even": np.array([2050, 3], np.int32),
    "wide": np.array([0.3], np.float32),
    "halves": np.array([0.5], np.float32),
}


@pytest.mark.parametrize(
    ("operator", "inputs", "exact"),
    [
        ("Mul", ("w", "two"), True),
        ("Mul", ("w", "tenth"), False),
        ("Mul", ("large", "two"), False),  # float32 has no infinity there
        ("Add", ("two", "two"), True),
        ("Add", ("large", "tenth"), False),
        ("Sub", ("two", "tenth"), False),
        ("Div", ("w", "two"), False),  # runtimes may multiply by the reciprocal
        ("Sqrt", ("two",), False),
        ("Cast", ("odd",), False),
        ("Cast", ("even",), True),
        ("Cast", ("wide",), False),
        ("Cast", ("halves",), True),
        ("ConstantOfShape", ("even",), True),
    ],
)
def test_constants_are_computed_to_see_whether_they_are_rounded(operator, inputs, exact):
    types = {name: array.dtype.name for name, array in NUMBERS.items()} | {"r": "float16"}
    shapes = {name: array.shape for name, array in NUMBERS.items()}
    shapes["r"] = np.broadcast_shapes(*(shapes[name] for name in inputs))
    step = (operator, inputs, ("r",))
    seen = Flow([step], NUMBERS, types, shapes=shapes, elements=lambda name: NUMBERS[name].reshape(-1))
    assert is_exact(seen, "r") == exact


@pytest.mark.parametrize(
    ("a", "exact"), [((6, 16), False), ((16, 6), True), ((6, 6), False), ((1, 6), True), ((2,), False)]
)
def test_constants_that_rules_of_broadcasting_join_in_two_ways_are_not_computed(a, exact):
    """OpenVINO's pdpd and ONNX's axis let B begin at any axis of A; the first shape was an error."""
    arrays = {"a": np.ones(a, np.float16), "b": np.ones(6, np.float16)}
    seen = Flow(
        [("Sub", ("a", "b"), ("r",))],
        arrays,
        dict.fromkeys("abr", "float16"),
        shapes={"a": a, "b": (6,), "r": a},
        elements=lambda name: arrays[name].reshape(-1),
    )
    assert is_exact(seen, "r") == exact
