"""Cases: every pair in exactly one class, every relation laid out as its name says, ids that read as sentences."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from minuend import TensorType, spec
from minuend.core.elements import TYPES
from minuend.operators import SUBTRACT, VALUE_CLASSES, reference
from minuend.operators import codes as of_codes
from minuend.operators.operator import Computed
from minuend.operators.value_classes import classes as value_classes
from minuend.runtimes import cases, values
from minuend.runtimes.cases import CONSTANTS, RELATIONS, Case, relation_of, relations
from minuend.standards.node import Node

WIDE = [name for name, row in TYPES.items() if row.bits > 8]
NARROW = [name for name, row in TYPES.items() if row.bits <= 8]


def case(
    dialect: str, version: object, dtype: str, relation: str, constants: str = "none", *, full: bool = True
) -> Case:
    return Case(spec(dialect, version), TYPES[dtype], relation, constants, full)


# ---- value classes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "a", "b", "name"),
    [
        ("uint8", 5, 10, "wraps"),
        ("uint8", 10, 5, "in range"),
        ("int8", 0xFF, 0x80, "lowest subtrahend"),
        ("int8", 0, 0x80, "wraps"),
        ("int64", 2**40, 1, "beyond int32"),
        ("int64", 5, 10, "in range"),
        ("int64", 2**31 - 1, 2**64 - 1, "beyond int32"),
        ("int64", 2**63 - 1, 2**64 - 1, "wraps"),
        ("uint32", 2**31, 0, "beyond int32"),
        ("uint32", 3, 5, "wraps"),
        ("float32", 0x7FC00000, 0, "nan"),
        ("float32", 0x7F800000, 0x7F800000, "nan"),
        ("float32", 0x7F800000, 0, "infinite"),
        ("float32", 0x80000000, 0, "negative zero"),
        ("float32", 1, 0, "subnormal"),
        ("float32", 0x7F7FFFFF, 0xFF7FFFFF, "overflows"),
        ("float32", 0x3F800000, 0x00800000, "rounds"),
        ("float32", 0x3F800000, 0x3F000000, "ordinary"),
        ("float64", 0x3FF0000000000001, 0, "beyond float32"),
        ("float64", 0x3FF0000000000000, 0, "ordinary"),
        ("float8_e4m3fn", 0x7E, 0xFE, "overflows"),
        ("float8_e8m0fnu", 0x7F, 0x7F, "nan"),
        ("nf4", 15, 0, "overflows"),
    ],
)
def test_a_pair_has_the_class_that_its_values_say(dtype: str, a: int, b: int, name: str) -> None:
    element = TYPES[dtype]
    x, y, c = (of_codes.decode(element, code) for code in (a, b, reference.apply(SUBTRACT, element, (a, b))))
    pair = Computed(SUBTRACT, element, (x, y), c, SUBTRACT.exact(x, y))
    assert next(row.name for row in value_classes(SUBTRACT, element) if row.holds(pair)) == name


@pytest.mark.parametrize("dtype", TYPES)
def test_every_class_of_a_type_occurs_among_its_operands(dtype: str) -> None:
    operands = values.of(SUBTRACT, TYPES[dtype], full=dtype in WIDE or TYPES[dtype].bits < 8)
    assert set(np.unique(operands.classes)) == set(range(len(value_classes(SUBTRACT, TYPES[dtype]))))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint4", "int4"])
def test_narrow_integers_are_taken_whole_and_answers_are_exact(dtype: str) -> None:
    element, operands = TYPES[dtype], values.of(SUBTRACT, TYPES[dtype])
    low, high = element.limits
    numbers = operands.codes.astype(int)
    numbers[numbers > high] -= 1 << element.bits
    assert sorted(numbers) == list(range(low, high + 1))
    exact = np.subtract.outer(numbers, numbers)
    assert (operands.expected == exact % (1 << element.bits)).all()
    wraps = [row.name for row in value_classes(SUBTRACT, element)].index("wraps")
    assert ((operands.classes == wraps) == ((exact < low) | (exact > high))).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_expected_answers_of_wide_floats_are_the_processors(dtype: str) -> None:
    operands = values.of(SUBTRACT, TYPES[dtype])
    codes = np.concatenate([np.repeat(operands.codes, len(operands.codes)), operands.more[0]])
    others = np.concatenate([np.tile(operands.codes, len(operands.codes)), operands.more[1]])
    expected = np.concatenate([operands.expected.reshape(-1), operands.more_expected])
    with np.errstate(all="ignore"):
        answers = codes.view(dtype) - others.view(dtype)
    same = (answers.view(expected.dtype) == expected) | (np.isnan(answers) & np.isnan(expected.view(dtype)))
    assert same.all()


@pytest.mark.parametrize("dtype", ["int16", "int64", "uint64", "float16", "float64"])
def test_operands_hold_what_goes_wrong(dtype: str) -> None:
    element, operands = TYPES[dtype], values.of(SUBTRACT, TYPES[dtype])
    shown = {values.number(element, int(code)) for code in operands.codes}
    if element.is_integer:
        assert {*element.limits, 0, 1, 5, 10} <= shown
    else:
        assert {0.0, math.inf, -math.inf, 1.0, 5.0, 10.0} <= shown
        ties = [i for i, row in enumerate(value_classes(SUBTRACT, element)) if row.name in ("rounds", "beyond float32")]
        assert np.isin(operands.classes, ties).any()


def test_a_shown_number_reads_back_as_its_code() -> None:
    for dtype in ("float16", "bfloat16", "float32", "float64", "float8_e5m2"):
        element = TYPES[dtype]
        from minuend.operators import codes as of_codes

        for code in values.of(SUBTRACT, element, full=False).codes:
            value = values.number(element, int(code))
            if math.isfinite(value) and value:
                assert of_codes.encode(element, Fraction(value)) == code


@pytest.mark.parametrize("dtype", list(TYPES))
def test_every_types_edges_are_codes_of_the_type(dtype: str) -> None:
    element = TYPES[dtype]
    codes = values.of(SUBTRACT, element, full=False).codes.tolist()
    assert len(codes) == len(set(codes)) > 1
    assert all(0 <= code < 1 << element.bits for code in codes)
    if dtype == "float8_e8m0fnu":
        assert {0, 0x7F, 0xFE, 0xFF} <= set(codes)  # the least, 1, the largest, NaN


# ---- relations ------------------------------------------------------------------------------------------------


def test_versions_know_the_relations_that_their_rule_has() -> None:
    assert relations(spec("onnx", 1)) == relations(spec("onnx", 6))
    assert "two-sided" not in relations(spec("onnx", 6))
    assert relations(spec("onnx", 14)) == ("same", "scalar", "one-sided", "two-sided", "zero-size", "rank 0")
    assert {"pdpd", "pdpd alone"} <= set(relations(spec("openvino", 1)))
    assert relations(spec("directml", "5.1")) == ()


@pytest.mark.parametrize(("dialect", "version"), [("onnx", 1), ("onnx", 6), ("onnx", 7), ("onnx", 14), ("openvino", 1)])
def test_every_operation_has_the_relation_that_its_case_names(dialect: str, version: int) -> None:
    op = spec(dialect, version)
    for relation in relations(op):
        one = case(dialect, version, "float32", relation)
        for operation in one.operations:
            a, b = (TensorType("float32", codes.shape) for codes in (operation.a, operation.b))
            node = Node(op=op, operands=(a, b), attributes=one.attributes)
            assert relation_of(node) == relation


def test_answers_stand_where_the_broadcasting_rule_puts_them() -> None:
    from minuend import onnx, openvino

    for relation in relations(spec("onnx", 6)):
        one = case("onnx", 6, "uint32", relation)
        for operation in one.operations:
            got = onnx.sub(operation.a, operation.b, opset=6, **one.attributes)
            assert (got == operation.expected).all()
            assert got.shape == operation.expected.shape
    for relation in relations(spec("openvino", 1)):
        one = case("openvino", 1, "uint16", relation)
        for operation in one.operations:
            got = openvino.subtract(operation.a, operation.b, **one.attributes)
            assert (got == operation.expected).all()


def test_same_shapes_hold_all_pairs_of_8_bit_types() -> None:
    (operation,) = case("onnx", 14, "uint8", "same").operations
    assert operation.a.shape == (65536,)
    assert len(set(zip(operation.a.tolist(), operation.b.tolist(), strict=True))) == 65536


def test_broadcast_shapes_hold_all_pairs_of_8_bit_types() -> None:
    for relation in ("one-sided", "two-sided"):
        for operation in case("onnx", 14, "int8", relation).operations:
            assert operation.expected.shape == (256, 256)


def test_the_edges_are_fewer() -> None:
    (operation,) = case("onnx", 14, "uint8", "same", full=False).operations
    assert operation.a.size < 10_000


# ---- names ----------------------------------------------------------------------------------------------------


def test_a_case_reads_as_a_sentence() -> None:
    one = case("onnx", 14, "uint8", "one-sided", "B")
    assert one.id == "Sub-14 of uint8, one-sided, B constant"
    assert one.id_of("wraps") == "Sub-14 of uint8, one-sided, B constant: values that wrap"
    assert one.opversion == "onnx:14"


def test_ids_are_unique() -> None:
    ids = [one.id for name in ("onnx", "openvino") for one in cases.cases(name)]
    assert len(ids) == len(set(ids)) == 928 + 21 * 8 * 4


def test_every_class_relation_and_constant_has_words() -> None:
    assert all(row.words for row in (*VALUE_CLASSES.values(), *RELATIONS.values()))
    assert list(CONSTANTS) == ["none", "A", "B", "both"]


# ---- nodes of models ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "relation"),
    [
        ((2, 3), (2, 3), "same"),
        ((), (), "rank 0"),
        ((2, 3), (), "scalar"),
        ((1,), (4, 3), "scalar"),
        ((2, 3), (3,), "one-sided"),
        ((2, 3), (1, 3), "one-sided"),
        ((2, 1), (1, 3), "two-sided"),
        ((0, 3), (3,), "zero-size"),
        (("N", 3), ("N", 3), "same"),
        (("N", 3), (3,), "one-sided"),
        (("N",), ("M",), None),
        (None, (3,), None),
    ],
)
def test_a_nodes_shapes_tell_its_relation(a: object, b: object, relation: str | None) -> None:
    node = Node(op=spec("onnx", 14), operands=(TensorType("uint8", a), TensorType("uint8", b)))
    assert relation_of(node) == relation


def test_an_axis_tells_whether_numpys_rule_would_misread_or_refuse() -> None:
    legacy, pdpd = {"axis": 0, "broadcast": 1}, {"axis": 0, "auto_broadcast": "pdpd"}
    for op, attributes, name in ((spec("onnx", 6), legacy, "legacy axis"), (spec("openvino", 1), pdpd, "pdpd")):
        square, other = TensorType("float32", (3, 3)), TensorType("float32", (3, 4))
        b = TensorType("float32", (3,))
        assert relation_of(Node(op=op, operands=(square, b), attributes=attributes)) == name
        assert relation_of(Node(op=op, operands=(other, b), attributes=attributes)) == f"{name} alone"
