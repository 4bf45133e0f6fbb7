"""The patterns around a subtraction, found from the nodes of its scope."""

from __future__ import annotations

import numpy as np
import pytest

from minuend.models.exact import is_exact
from minuend.models.flow import Flow
from minuend.models.fusions import NORMALISATIONS
from minuend.models.matching import matches
from minuend.models.matching.match import SHARED, THROUGH, WITHIN
from minuend.models.patterns import LAST


def around(steps, *, at, constants=(), **known):
    """Patterns, as they are printed, with their forms, of the subtraction at an index."""
    found = matches(Flow(steps, constants, **known), at)
    return {(str(one.pattern), one.form) for one in found if not one.later and not one.far}


def test_constants_are_scalars_or_arrays_beside_arithmetic_and_k_beside_others():
    steps = [("Mul", ("x", "c"), ("m",)), ("Sub", ("m", "v"), ("d",)), ("Relu", ("d",), ("r",))]
    found = around(steps, at=1, constants={"c", "v"}, sizes={"c": 1, "v": 8})
    assert found == {("x - array", WITHIN), ("Mul(x, scalar) - array", ""), ("Relu(x - k)", "")}


def test_an_array_of_equal_numbers_can_be_either():
    steps = [("Sub", ("x", "v"), ("d",))]
    found = around(steps, at=0, constants={"v"}, sizes={"v": 8}, elements=lambda name: np.ones(8, np.float32))
    assert found == {("x - scalar", ""), ("x - array", "")}


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0.5, "2^k"), (1, "2^k"), (256, "2^k"), (3, "scalar"), (-2, "scalar"), (512, "scalar"), (0, "scalar")],
)
def test_a_factor_that_is_a_power_of_two_is_told_from_others(number, shown):
    steps = [("Mul", ("x", "c"), ("m",)), ("Sub", ("m", "c"), ("d",)), ("Div", ("d", "c"), ("y",))]
    found = around(steps, at=1, constants={"c"}, sizes={"c": 1}, elements=lambda name: np.float32([number]))
    found = {text for text, _ in found if text != "Div(Mul(x, k) - k, k)"}
    assert found == {"x - scalar", f"Mul(x, {shown}) - scalar", f"Div(x - scalar, {shown})"}


def test_a_factor_0_is_told_from_others_where_that_was_measured():
    def shown(number, dtype):
        steps = [("Mul", ("x", "c"), ("m",)), ("Sub", ("y", "m"), ("d",))]
        known = {"constants": {"c"}, "sizes": {"c": 1}, "elements": lambda name: np.float32([number])}
        return around(steps, at=1, dtypes=dict.fromkeys(("c", "m", "d"), dtype), **known)

    assert ("x - Mul(x, 0)", "") in shown(0.0, "float32")
    assert ("x - Mul(x, scalar)", "") in shown(-0.0, "float32")
    assert ("x - Mul(x, scalar)", "") in shown(0.0, "float64")


def test_a_power_of_two_is_any_number_in_types_that_runtimes_hold_in_more_bits():
    steps = [("Sub", ("x", "y"), ("d",)), ("Mul", ("d", "c"), ("y2",))]
    known = {"constants": {"c"}, "sizes": {"c": 1}, "elements": lambda name: np.float16([2])}
    assert ("Mul(x - x, scalar)", "") in around(steps, at=0, dtypes={"c": "float16", "d": "float16"}, **known)


def test_float16_is_followed_through_what_keeps_more_bits_than_it_has():
    steps = [("Sub", ("x", "y"), ("d",)), ("Floor", ("d",), ("f",)), ("Sub", ("x", "f"), ("e",))]
    dtypes = dict.fromkeys(("x", "y", "d", "f", "e"), "float16")
    assert "x - Sub(x, x)" in {text for text, _ in around(steps, at=2, dtypes=dtypes)}


def test_a_subtraction_between_nodes_is_told_from_one_at_an_input_or_an_output():
    steps = [("Abs", ("x",), ("t",)), ("Sub", ("t", "c"), ("d",)), ("Neg", ("d",), ("n",))]
    known = {"constants": {"c"}, "sizes": {"c": 1}}
    assert ("x - scalar", WITHIN) in around(steps, at=1, **known)
    assert ("x - scalar", "") in around(steps, at=1, outputs={"d"}, **known)
    assert ("x - scalar", "") in around(steps[1:], at=0, **known)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("operator", ["Cast", "DequantizeLinear", "QuantizeLinear", "Mul", "Where", "Concat", "Clip"])
def test_an_operator_without_an_input_has_a_pattern_all_the_same(operator, dtype):
    """A node of a model that is not valid."""
    steps = [(operator, (), ("t",)), ("Sub", ("t", "y"), ("d",)), (operator, (), ()), ("Mul", ("d", "c"), ())]
    known = {"constants": {"c"}, "dtypes": dict.fromkeys("tydc", dtype), "outputs": {"d"}}
    assert any(operator in text for text, _ in around(steps, at=1, **known))
    assert not is_exact(Flow(steps, (), dict.fromkeys("tyd", dtype)), "t")


def test_both_sides_of_a_subtraction_are_told_apart():
    steps = [("Exp", ("x",), ("e",)), ("Sub", ("c", "e"), ("d",)), ("Sub", ("y", "d"), ("f",))]
    found = around(steps, at=1, constants={"c"}, sizes={"c": 1})
    assert found == {("scalar - x", WITHIN), ("k - Exp(x)", ""), ("Sub(x, scalar - x)", "")}


def way(*steps, at=0, outputs=("y",), within=()):
    flow = Flow(steps, ("k",), outputs=outputs, within=within)
    return {one.operator: one.past for one in matches(flow, at) if one.far}


def test_a_way_out_of_the_graph_past_other_operators_is_said():
    made, mul = ("Neg", ("x",), ("n",)), ("MatMul", ("n", "k"), ("m",))
    steps = made, ("Sub", ("n", "z"), ("d",)), mul, ("Exp", ("d",), ("y",))
    assert way(*steps, at=1, outputs=("y", "m"))["MatMul"] == frozenset({"Exp"})
    assert way(*steps, at=1, outputs=("d", "m"))["MatMul"] == frozenset()
    assert way(*steps, at=1, outputs=("y", "m"), within=("Loop",))["MatMul"] is None
    assert way(*steps[:3], ("Unknown", ("d",), ("y",)), at=1, outputs=("y", "m"))["MatMul"] is None
    reached = way(made, ("Sub", ("n", "z"), ("d",)), ("MatMul", ("d", "k"), ("m",)), at=1, outputs=("d", "m"))
    assert reached["MatMul"] is None


def test_there_is_no_way_past_what_can_be_carried_out_together_with_a_subtraction():
    mul, sub_ = ("MatMul", ("x", "k"), ("m",)), ("Sub", ("c", "z"), ("y",))
    assert way(mul, ("Clip", ("m",), ("c",)), sub_, at=2)["MatMul"] is None
    assert way(mul, ("Softmax", ("m",), ("c",)), sub_, at=2)["MatMul"] == frozenset()
    twice = way(mul, ("Clip", ("m",), ("c",)), sub_, ("Exp", ("c",), ("e",)), at=2, outputs=("y", "e"))
    assert twice["MatMul"] == frozenset()
    joined = way(mul, ("Sub", ("x", "z"), ("d",)), ("Add", ("m", "d"), ("y",)), at=1)
    assert joined["MatMul"] is None


def test_stored_integers_that_are_dequantised_are_no_constants():
    """A random graph was run: openvino carries the conversion out together with the subtraction."""
    steps = [("DequantizeLinear", ("q", "s"), ("t",)), ("Sub", ("t", "c"), ("d",))]
    assert ("DequantizeLinear(x) - k", "") in around(steps, at=1, constants={"q", "s", "c"})


def test_what_only_moves_a_value_is_seen_and_seen_through():
    steps = [("Add", ("x", "c"), ("t",)), ("Reshape", ("t", "dims"), ("u",)), ("Sub", ("u", "c"), ("d",))]
    known = {"constants": {"c", "dims"}, "sizes": {"c": 1, "dims": 1}}
    found = around(steps, at=2, shapes={"t": (8, 2), "u": (16,)}, **known)
    assert ("Reshape(x) - k", "") in found
    assert ("Add(x, scalar) - scalar", THROUGH) in found
    for shapes in ({"t": (8, 2), "u": (8, 2)}, {}):  # it may be removed
        assert ("Add(x, scalar) - scalar", "") in around(steps, at=2, shapes=shapes, **known)


def test_an_identity_and_an_expand_are_seen_through_as_if_they_were_not_there():
    for operator in ("Identity", "Expand"):
        steps = [("Add", ("x", "c"), ("t",)), (operator, ("t",), ("u",)), ("Sub", ("u", "c"), ("d",))]
        found = around(steps, at=2, constants={"c"}, sizes={"c": 1}, shapes={"t": (8,), "u": (2, 8)})
        assert ("Add(x, scalar) - scalar", "") in found


SHAPES = {name: (i,) for i, name in enumerate("stdn")}


def test_float16_is_followed_through_what_keeps_its_bits():
    steps = [("Sin", ("x",), ("s",)), ("Slice", ("s", "i"), ("t",)), ("Sub", ("t", "y"), ("d",))]
    steps += [("Neg", ("d",), ("n",)), ("MatMul", ("n", "w"), ("m",))]
    wide, narrow = (
        around(steps, at=2, constants={"i"}, sizes={"i": 1}, dtypes=dict.fromkeys(("t", "d"), dtype), shapes=SHAPES)
        for dtype in ("float32", "float16")
    )
    assert ("Sin(x) - x", THROUGH) in narrow - wide
    assert ("MatMul(x - x, x)", THROUGH) in narrow - wide


def test_a_value_that_others_read_too_is_said_to_be():
    steps = [("Mul", ("x", "y"), ("m",)), ("Sub", ("m", "z"), ("d",)), ("Abs", ("m",), ("a",))]
    assert ("Mul(x, x) - x", SHARED) in around(steps, at=1)
    assert ("Mul(x, x) - x", SHARED) in around(steps[:2], at=1, outputs={"m"})
    assert ("Mul(x, x) - x", "") in around(steps[:2], at=1)


def test_a_conversion_is_named_with_its_types():
    steps = [("Cast", ("q",), ("x",)), ("Sub", ("x", "z"), ("d",)), ("Cast", ("d",), ("h",))]
    found = around(steps, at=1, dtypes={"q": "uint8", "x": "float32", "d": "float32", "h": "float16"})
    assert {text for text, _ in found} == {
        "x - x",
        "Cast from uint8 to float32(x) - x",
        "Cast from float32 to float16(x - x)",
    }


def test_a_difference_that_is_no_operand_but_a_parameter_is_told_by_its_place():
    steps = [("Sub", ("n", "m"), ("d",)), ("Reshape", ("x", "d"), ("y",))]
    assert ("Reshape(input 1: x - x)", "") in around(steps, at=0)


def test_what_no_input_reaches_is_a_constant_too():
    steps = [("Mul", ("c", "c"), ("k",)), ("Sub", ("x", "k"), ("d",))]
    assert around(steps, at=1, constants={"c"}, sizes={"k": 1}) == {("x - scalar", "")}


def normalisation(*, square=("Pow", ("d", "two")), of="d", tail=()):
    return [
        ("ReduceMean", ("x",), ("b",)),
        ("Sub", ("x", "b"), ("d",)),
        ("Sub", ("x", "b"), ("d2",)),
        ("Identity", ("d",), ("i",)),
        (square[0], square[1], ("p",)),
        ("ReduceMean", ("p",), ("v",)),
        ("Add", ("v", "eps"), ("w",)),
        ("Sqrt", ("w",), ("s",)),
        ("Div", (of, "s"), ("q",)),
        *tail,
    ]


NORMALISED = {"constants": {"two", "eps", "g", "h"}, "sizes": {"two": 1, "eps": 1, "g": 16, "h": 16},
              "shapes": {"x": (4, 16), "b": (4, 1)}}  # fmt: skip


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("of", ["d", "d2", "i"])
def test_a_layer_normalisation_is_told_with_and_without_its_scale(scaled, of):
    tail = [("Mul", ("q", "g"), ("m",)), ("Add", ("m", "h"), ("y",))] if scaled else []
    ways = {"Pow": ("Pow", ("d", "two")), "Mul": ("Mul", ("d", "d"))}
    for name, square in ways.items():
        steps = normalisation(square=square, of=of, tail=tail)
        text = f"(x - ReduceMean(x)) / Sqrt(ReduceMean({name})){' * array + array' if scaled else ''}"
        for at in (1, 2) if of == "d2" else (1,):
            found = {one for one, _ in around(steps, at=at, **NORMALISED) if one.startswith("(x - ReduceMean")}
            assert found == {text}


def test_a_layer_normalisation_over_axes_that_are_not_known_is_any_and_one_written_otherwise_too():
    steps = normalisation()
    known = {**NORMALISED, "shapes": {}}
    found = {one for one, _ in around(steps, at=1, **known) if one.startswith("(x - ReduceMean")}
    plain = "(x - ReduceMean(x)) / Sqrt(ReduceMean(Pow))"
    assert found == {plain, f"{plain} over other axes than the last"}
    without = [step for step in steps if step[0] != "Div"]
    found = {one for one, _ in around(without, at=1, **NORMALISED) if one.startswith("(x - ReduceMean")}
    assert found == {str(one) for one in NORMALISATIONS if one.axes == LAST}


@pytest.mark.parametrize("missing", ["ReduceMean", "Sqrt"])
def test_a_mean_that_is_subtracted_with_no_mean_of_squares_or_no_root_is_no_normalisation(missing):
    steps = normalisation(square=("Mul", ("d", "d")))
    at = next(i for i, step in enumerate(steps) if step[0] == missing and step[2] != ("b",))
    steps[at] = ("ReduceSum", *steps[at][1:])
    assert not [one for one, _ in around(steps, at=1, **NORMALISED) if "/" in one]


@pytest.mark.parametrize("added", ["ReduceSum", "ReduceMean"])
def test_a_softmax_sums(added):
    steps = [("ReduceMax", ("x",), ("m",)), ("Sub", ("x", "m"), ("d",)), ("Exp", ("d",), ("e",)),
             (added, ("e",), ("s",)), ("Div", ("e", "s"), ("y",))]  # fmt: skip
    found = [one for one, _ in around(steps, at=1) if one.startswith("Exp(x - ReduceMax(x)) /")]
    assert len(found) == (added == "ReduceSum")


def test_operators_behind_others_and_bodies_around_are_told():
    steps = [("Sub", ("x", "y"), ("d",)), ("Abs", ("d",), ("a",)), ("MatMul", ("a", "w"), ("m",))]
    found = [
        str(one.pattern)
        for one in matches(Flow(steps, (), within=("If",)), 0)
        if one.later or "inside" in str(one.pattern)
    ]
    assert found == ["Abs(… x - x)", "MatMul(… x - x)", "x - x inside If"]


@pytest.mark.parametrize(
    ("at", "expression"),
    [(2, "Mul(Sub(k, x), k) - k"), (0, "Sub(Mul(k - x, k), k)")],
)
def test_three_linear_operators_in_a_row_with_constants_are_one_expression(at, expression):
    steps = [("Sub", ("one", "x"), ("d",)), ("Mul", ("d", "low"), ("p",)), ("Sub", ("p", "c"), ("y",))]
    assert (expression, "") in around(steps, at=at, constants={"one", "low", "c"})
    assert (expression, "") not in around(steps, at=at, constants={"one", "c"})


def test_a_subtraction_between_two_linear_operators_is_such_a_row_too():
    steps = [("Add", ("x", "c"), ("a",)), ("Sub", ("a", "c"), ("d",)), ("Div", ("c", "d"), ("y",))]
    assert ("Div(k, Add(x, k) - k)", "") in around(steps, at=1, constants={"c"})
