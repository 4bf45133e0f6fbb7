"""How far elements are from each other: what float64 says of all that are finite."""

from __future__ import annotations

import numpy as np
import pytest

from minuend.core.elements import TYPES
from minuend.files.deltas.norms import Distance, distance, measurable
from minuend.files.formats.safetensors import WORDS

COUNT = (1 << 15) + 77
"""More elements than are looked at together."""


@pytest.mark.parametrize("name", WORDS)
def test_every_type_of_any_bits(name: str) -> None:
    element = TYPES[name]
    assert measurable(element)
    bits = np.random.default_rng(7)
    a, b = (bits.integers(0, 256, COUNT * element.itemsize, np.uint8) for _ in range(2))
    b[: b.size // 3] = a[: b.size // 3]
    with np.errstate(all="ignore"):
        x, y = (raw.view(element.memory).astype(np.float64) for raw in (a, b))
        difference = x - y
        finite = difference[np.isfinite(difference)]
        if name == "float64":  # squares of arbitrary float64 overflow, which gives infinity
            assert distance(element, a, b).squares == np.inf
        else:
            assert distance(element, a, b).squares == pytest.approx(np.sum(finite**2), rel=1e-9)
    assert distance(element, a, b).largest == np.abs(finite).max()


def test_equal_bits_are_no_distance_though_they_are_nan() -> None:
    a = np.full(10, np.nan, np.float32).view(np.uint8)
    assert distance(TYPES["float32"], a, a.copy()) == Distance()


def test_six_digits_are_reported() -> None:
    norm = Distance(squares=2.0, largest=1 / 3).norm
    assert (norm.l2, norm.max) == (1.41421, 0.333333)


def test_types_that_are_not_known_have_no_norm() -> None:
    assert not measurable(None)
