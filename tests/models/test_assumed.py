"""What is assumed of values: how it is written, and what it does to ranges."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from minuend.core.elements import TYPES
from minuend.errors import SpecError
from minuend.models.ranges.assumed import Assumed, assumptions, parse
from minuend.models.ranges.interval import Range, full

EXPECTED = "expected lo..hi, an open end as 0.. or ..9, or one number"


@pytest.mark.parametrize(
    ("given", "lo", "hi", "told"),
    [
        ("0..131071", 0, 131071, "0..131071"),
        ("0..", 0, None, "0.."),
        ("..9", None, 9, "..9"),
        (" -3 ", -3, -3, "-3"),
        ("-1.5..1e3", Fraction(-3, 2), 1000, "-1.5..1000"),
        ("9007199254740993", 2**53 + 1, 2**53 + 1, "9007199254740993"),
        ((0, 131071), 0, 131071, "0..131071"),
        ([None, 7], None, 7, "..7"),
        ((0, math.inf), 0, None, "0.."),
        (5, 5, 5, "5"),
    ],
)
def test_a_range_is_written_in_many_ways(given, lo, hi, told):
    one = assumptions({"x": given})["x"]
    assert (one.lo, one.hi, str(one)) == (lo, hi, told)
    assert assumptions({"x": one}) == {"x": one}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("", SpecError, f"'x' cannot be assumed to be ''; {EXPECTED}"),
        ("..", SpecError, f"'x' is assumed to be '..', which says nothing; {EXPECTED}"),
        (
            "0..1e401",
            SpecError,
            "'x' is assumed to be '0..1e401', beyond what floats hold; leave that end open, as 0..",
        ),
        (
            10**401,
            SpecError,
            f"'x' is assumed to be {'1' + '0' * 59}…, beyond what floats hold; leave that end open, as 0..",
        ),
        ("3...5", SpecError, f"'x' cannot be assumed to be '3...5'; {EXPECTED}"),
        ("1_0..9", SpecError, f"'x' cannot be assumed to be '1_0..9'; {EXPECTED}"),
        ("nan..1", SpecError, f"'x' cannot be assumed to be 'nan..1'; {EXPECTED}"),
        ("9..0", SpecError, f"'x' is assumed to be '9..0', which is empty; {EXPECTED}"),
        ((None, None), SpecError, f"'x' is assumed to be (None, None), which says nothing; {EXPECTED}"),
        ((math.nan, 1), SpecError, "'x' cannot be assumed to be (nan, 1); NaN bounds nothing"),
        (True, TypeError, f"'x' cannot be assumed to be True; {EXPECTED} or a pair of numbers"),
        ({}, TypeError, f"'x' cannot be assumed to be {{}}; {EXPECTED} or a pair of numbers"),
    ],
    ids=repr,
)
def test_what_is_no_range_is_told(given, error, message):
    with pytest.raises(error) as told:
        assumptions({"x": given})
    assert str(told.value) == message


def test_names_may_hold_equals_signs_and_colons():
    assert list(parse(["a=b:0=0..9"])) == ["a=b:0"]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["0..9"], "--assume '0..9' says nothing of a value; expected NAME=RANGE, as x=0..9"),
        (["=0..9"], "--assume '=0..9' says nothing of a value; expected NAME=RANGE, as x=0..9"),
        (["x=0..9", "x=1"], "--assume tells of 'x' twice; tell it once"),
    ],
)
def test_what_the_command_line_says_of_no_value_is_told(texts, message):
    with pytest.raises(SpecError) as told:
        parse(texts)
    assert str(told.value) == message


def test_a_derived_range_that_says_more_stays_and_assumes_nothing():
    clipped = Range("int64", 2, 5, why="Clip")
    assert assumptions({"x": "0..9"})["x"].meet(clipped) is clipped


def test_ranges_meet_and_say_what_was_assumed():
    met = assumptions({"x": "0.5..9.5"})["x"].meet(full("int32", "input"))
    assert (met.lo, met.hi, met.why, met.assumptions) == (1, 9, "input", {"x is 0.5..9.5 (assumed)"})


def test_floats_lose_nan_and_keep_negative_zero_only_beside_zero():
    met = assumptions({"x": "0.."})["x"].meet(full("float32", "input"))
    assert (met.lo, met.hi, met.nan, met.negative_zero) == (0, math.inf, False, True)
    assert not assumptions({"x": "0.1.."})["x"].meet(full("float32")).negative_zero


def test_ends_that_a_type_rounds_are_within():
    met = assumptions({"x": "0.1..0.3"})["x"].meet(full("float16"))
    assert met.lo <= float(np.float16(0.1)) <= float(np.float16(0.3)) <= met.hi


def test_ranges_that_do_not_meet_are_told():
    with pytest.raises(SpecError) as told:
        assumptions({"x": "300..400"})["x"].meet(full("uint8", "input"))
    assert str(told.value) == "'x' is 0..255 (input), and 300..400 is assumed; no number is in both"


@pytest.mark.parametrize("dtype", [name for name, row in TYPES.items() if row.is_integer or row.bits >= 16])
def test_made_numbers_are_moved_into_the_range(dtype):
    row = TYPES[dtype]
    numbers = np.random.default_rng(0).integers(0, 1 << min(row.bits, 8), 512, dtype=np.uint8)
    made = np.frombuffer(numbers.tobytes(), row.memory)
    kept = Assumed("x", Fraction(-2), Fraction(1)).fit(made)
    assert kept.dtype == made.dtype
    assert kept.min() >= -2
    assert kept.max() <= 1
