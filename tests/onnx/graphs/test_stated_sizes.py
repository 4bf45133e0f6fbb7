"""Sizes that models state, beside those that inference finds."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper, parser

from minuend.onnx.documents.document import Document
from minuend.onnx.graphs.stated_sizes import FIXED, NOT_FOUND, OTHER_NAMES, OTHER_SIZES, OUTPUT_SIZES, kinds_of_sizes

HEAD = '<ir_version: 10, opset_import: ["" : 18]> '

STATED = {
    ("2,3", "2,3", "2,3"): set(),
    ("2,3", "?,3", "?,?"): set(),
    ("2,3", "unk__0,3", "2,3"): set(),
    ("2,3", "n,3", "2,3"): {OTHER_NAMES},
    ("2,3", "2,4", "2,3"): {OTHER_SIZES},
    ("2,3", "6", "2,3"): {OTHER_SIZES},
    ("2,3", "2,3", "6"): {OUTPUT_SIZES},
    ("2,3", "2,3", "n,3"): set(),
    ("n,3", "n,3", "m,3"): set(),
    ("n,3", "m,3", "n,3"): {OTHER_NAMES},
    ("n,3", "2,3", "n,3"): {OTHER_NAMES, FIXED},
    ("n,3", "n,3", "2,3"): {FIXED},
}
"""Dims of the input, of the value in between and of the output, and the kinds."""


@pytest.mark.parametrize("dims", STATED)
def test_stated_sizes_are_held_against_those_that_inference_finds(dims: tuple[str, str, str]) -> None:
    a, b, c = dims
    text = f"g (float[{a}] a) => (float[{c}] c) <float[{b}] b> {{ b = Neg(a) c = Neg(b) }}"
    assert kinds_of_sizes(Document(parser.parse_model(HEAD + text))) == STATED[dims]


def test_value_info_without_a_shape_and_of_inputs_says_nothing() -> None:
    given = parser.parse_model(HEAD + "g (float[2] a) => (float[2] c) { b = Neg(a) c = Neg(b) }")
    given.graph.value_info.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, None))
    given.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, [3]))
    assert kinds_of_sizes(Document(given)) == set()


def test_value_info_of_a_body_counts() -> None:
    text = """g (bool t, float[2] a) => (float[2] c) { c = If(t) <
        then_branch = yes () => (float[2] e) <float[3] d> { d = Neg(a) e = Neg(d) },
        else_branch = no () => (float[2] f) { f = Identity(a) }> }"""
    assert kinds_of_sizes(Document(parser.parse_model(HEAD + text))) == {OTHER_SIZES}


EXPRESSIONS = {
    "2*n": set(), "n + n": set(), "(4*n)//2": set(), "n": {NOT_FOUND}, "2*m": {NOT_FOUND}, "floor(2*n)": {NOT_FOUND},
    "n -": {NOT_FOUND}, "n//(n - n)": {NOT_FOUND}, "Concat_dim_0": {NOT_FOUND},
}  # fmt: skip
"""What a model says of the size of two values of n elements, one behind the other, and the kinds."""


@pytest.mark.parametrize("stated", EXPRESSIONS)
def test_an_expression_agrees_where_it_does_for_sizes_of_inputs(stated: str) -> None:
    given = parser.parse_model(
        HEAD + "g (float[n] a) => (float[?] c) <float[1] b> { b = Concat <axis = 0> (a, a) c = Neg(b) }"
    )
    given.graph.value_info[0].type.tensor_type.shape.dim[0].dim_param = stated
    assert kinds_of_sizes(Document(given)) == EXPRESSIONS[stated]


def test_half_of_an_open_size_is_no_other_half() -> None:
    """Of an even size both are the same."""
    text = """g (float[1,1,n] a, float[1,1,3] w) => (float[?,?,?] c) <float[1,1,1] b> {
        b = Conv <strides = [2], pads = [1, 1]> (a, w) c = Neg(b) }"""
    for stated, kinds in (("(n + 1)//2", set()), ("n//2", {NOT_FOUND})):
        given = parser.parse_model(HEAD + text)
        given.graph.value_info[0].type.tensor_type.shape.dim[2].dim_param = stated
        assert kinds_of_sizes(Document(given)) == kinds
