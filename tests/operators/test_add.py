"""Addition against NumPy and ml_dtypes, which share nothing with the reference."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import oracle
import pytest

from minuend.core.elements import TYPES
from minuend.operators import ADD, reference
from minuend.operators import codes as of_codes
from minuend.operators.value_classes import classes, reachable
from minuend.runtimes import values

SMALL_FLOATS = [row for row in TYPES.values() if row.bits <= 8 and row.format is not None and row.format.signed]
WIDE = [row for row in TYPES.values() if row.bits > 8]


def sums(element, a, b):
    """The sums of NumPy or ml_dtypes."""
    x, y = oracle.array(element, a), oracle.array(element, b)
    with np.errstate(all="ignore"):
        return np.add(x, y).astype(x.dtype)


@pytest.mark.parametrize("element", [TYPES["uint8"], TYPES["int8"]], ids=str)
def test_every_sum_of_two_bytes_wraps_as_in_numpy(element):
    pairs = list(itertools.product(range(256), repeat=2))
    theirs = sums(element, *zip(*pairs, strict=True)).view(np.uint8).tolist()
    assert [reference.apply(ADD, element, pair) for pair in pairs] == theirs


@pytest.mark.parametrize("element", SMALL_FLOATS, ids=str)
def test_every_sum_of_two_narrow_floats_rounds_once(element):
    pairs = list(itertools.product(range(1 << element.bits), repeat=2))
    theirs = sums(element, *zip(*pairs, strict=True)).astype(np.float64)
    ours = [float(of_codes.decode(element, reference.apply(ADD, element, pair))) for pair in pairs]
    assert oracle.same_floats(np.array(ours), theirs)


@pytest.mark.parametrize("element", [row for row in WIDE if row.name != "bfloat16"], ids=str)
def test_sums_of_edges_are_numpys(element):
    found = values.of(ADD, element)
    with np.errstate(all="ignore"):
        x = found.codes.view(element.memory)
        theirs = x[:, None] + x[None, :]
    unlike = values.differ(element, found.expected, theirs.view(found.expected.dtype))
    assert not unlike.any()


@pytest.mark.parametrize("name", ["uint8", "int8", "int64", "float32", "float16"])
def test_each_pair_is_of_the_class_that_its_exact_sum_says(name):
    element = TYPES[name]
    found = values.of(ADD, element, full=False)
    names = [row.name for row in classes(ADD, element)]
    for i, j in np.ndindex(found.classes.shape):
        a, b = (of_codes.decode(element, int(found.codes[k])) for k in (i, j))
        kind = names[found.classes[i, j]]
        if element.is_integer:
            low, high = element.limits
            assert (kind == "wraps") == (not low <= a + b <= high)
        elif all(math.isfinite(float(one)) for one in (a, b)):
            exact = Fraction(a) + Fraction(b)
            result = of_codes.decode(element, int(found.expected[i, j]))
            if kind == "rounds":
                assert Fraction(result) != exact
            if kind == "ordinary":
                assert Fraction(result) == exact


def test_words_are_those_of_sums():
    assert [row.words for row in ADD.float_classes][-2:] == ["sums that round", "exact sums"]
    assert (ADD.written(5, 10), ADD.equation(5, 10)) == ("5 + 10", "5 + 10 = 15")
    assert reference.overflows(ADD, TYPES["uint8"], (200, 100))
    assert "lowest subtrahend" not in {row.name for row in ADD.value_classes}


def test_ranges_say_what_can_occur():
    from minuend.models.ranges.interval import Range

    low, high = Range("uint8", 0, 100), Range("uint8", 0, 155)
    assert reachable(ADD, TYPES["uint8"], low, high) == ("in range",)
    assert "wraps" in reachable(ADD, TYPES["uint8"], low, Range("uint8", 0, 156))
    assert ADD.result_range([(0, 100), (-5, 155)]) == (-5, 255)
