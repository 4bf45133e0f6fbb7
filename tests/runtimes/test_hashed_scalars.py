"""Scalars that openvino takes for each other, since their kernels have one hash."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from minuend.runtimes.hashed_scalars import meeting

MET = [
    (18, -71), (26, -103), (33, -130), (41, -162), (95, -24), (127, -8), (146, -37), (178, -45), (2, -130), (3, -194),
    (256, -65), (268, -17), (8, -121), (24, -89), (35, -142), (43, -174), (9, -142), (12, -190), (4, -65), (7, -113),
    (276, -17),
]  # fmt: skip
"""Some of those that were seen to meet in openvino 2026.4.1; of ``x - k`` the constant is -k."""

USUAL = [
    0.5,
    1,
    2,
    1e-5,
    1e-6,
    1e-12,
    255,
    127.5,
    0.1,
    0.2,
    0.3,
    3,
    4,
    6,
    8,
    10,
    1e4,
    0.485,
    0.229,
    0.456,
    0.224,
    1 / 3,
]


@pytest.mark.parametrize("pair", MET)
def test_what_was_seen_to_meet_can_meet(pair):
    assert meeting(pair) == {*pair} or meeting([-one for one in pair]) == {-one for one in pair}


def test_the_constants_of_models_do_not():
    assert meeting(USUAL) == meeting([-one for one in USUAL]) == frozenset()


def test_few_whole_numbers_do():
    """300 of the 124,750 pairs from -200 to 299: those whose next byte can undo the difference of one."""
    numbers = [*range(-75, -60), *range(10, 25)]
    pairs = [pair for pair in itertools.combinations(numbers, 2) if meeting(pair)]
    assert 0 < len(pairs) < 30
    assert meeting(numbers) == frozenset(itertools.chain.from_iterable(pairs))


def test_bytes_are_those_of_the_type_in_the_kernel():
    halves = [2.0, 2.0 + 2**-9, -6.0, 18.0, -71.0]
    assert meeting(halves) == {18.0, -71.0}
    assert {*meeting(halves, "<f2")} != {*meeting(halves)}


def test_any_number_can_be_given():
    numbers = [math.nan, math.inf, -math.inf, 0.0, 1e300, np.float32(1e-45)]
    assert {math.inf, 1e300} == meeting(numbers)  # the same in float32
    assert meeting([]) == meeting([1.5]) == frozenset()
