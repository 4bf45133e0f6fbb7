"""Negation against NumPy and ml_dtypes, which share nothing with the reference."""

from __future__ import annotations

import numpy as np
import oracle
import pytest

from minuend.core.elements import TYPES
from minuend.operators import NEGATIVE, by_name, reference
from minuend.operators import codes as of_codes
from minuend.operators.value_classes import classes, reachable
from minuend.runtimes import values
from minuend.runtimes.cases import cases, count

SIGNED = [row for row in TYPES.values() if row.kind == "signed" or (row.format is not None and row.format.signed)]
SMALL = [row for row in SIGNED if row.bits <= 16]


@pytest.mark.parametrize("element", SMALL, ids=str)
def test_every_negative_is_numpys(element):
    codes = range(1 << element.bits)
    with np.errstate(all="ignore"):
        given = oracle.array(element, codes)
        theirs = np.negative(given).astype(given.dtype).astype(np.float64)  # of 2 and 4 bits it gives int8
    ours = [float(of_codes.decode(element, reference.apply(NEGATIVE, element, (code,)))) for code in codes]
    assert oracle.same_floats(np.array(ours), theirs)


@pytest.mark.parametrize("name", ["int32", "int64", "float32", "float64"])
def test_negatives_of_edges_are_numpys(name):
    element = TYPES[name]
    found = values.of(NEGATIVE, element)
    every = np.concatenate([found.codes, *found.more])
    expected = np.concatenate([found.expected, found.more_expected])
    with np.errstate(all="ignore"):
        theirs = np.negative(every.view(element.memory)).view(expected.dtype)
    assert not values.differ(element, expected, theirs).any()


def test_the_lowest_integer_alone_wraps():
    element = TYPES["int8"]
    found = values.of(NEGATIVE, element)
    names = [row.name for row in classes(NEGATIVE, element)]
    assert names == ["wraps", "in range"]
    assert found.codes[found.classes == 0].tolist() == [0x80]
    assert reference.apply(NEGATIVE, element, (0x80,)) == 0x80
    assert reference.apply(NEGATIVE, element, (0x80,), "saturate") == 0x7F


def test_no_negative_rounds_or_is_too_large():
    assert {row.name for row in NEGATIVE.float_classes}.isdisjoint({"rounds", "overflows"})
    assert (NEGATIVE.written(5), NEGATIVE.equation(5), NEGATIVE.arity) == ("-5", "-5 = -5", 1)
    assert NEGATIVE.result_range([(-3, 7)]) == (-7, 3)
    assert by_name("Neg") is NEGATIVE


def test_ranges_say_what_can_occur():
    from minuend.models.ranges.interval import Range

    assert reachable(NEGATIVE, TYPES["int8"], Range("int8", -127, 127)) == ("in range",)
    assert reachable(NEGATIVE, TYPES["int8"], Range("int8", -128, 0)) == ("wraps", "in range")


def test_a_case_has_one_operand():
    every = [case for case in cases("onnx", operator="negative") if case.element.name == "int8"]
    assert {case.constants for case in every} == {"none", "A"}
    assert {case.relation for case in every} == {"same", "zero-size", "rank 0"}
    assert all(len(one.operands) == 1 for case in every for one in case.operations)
    assert next(case.id for case in every) == "Neg-6 of int8, same shapes, no constants"
    assert count(every[0]) == 256
