"""What elements are in a few numbers, beside the obvious way to find them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from minuend.core.elements import TYPES, ElementType
from minuend.files.streaming.summary import Summary, summed
from minuend.operators.codes import decode


def codes(element: ElementType, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Random bits as elements, NaN of every kind among them."""
    raw = np.random.default_rng(seed).integers(0, 256, (*shape, element.itemsize), dtype=np.uint8)
    if element.bits < 8:
        raw &= (1 << element.bits) - 1
    return raw.view(element.memory).reshape(shape)


def obvious(element: ElementType, array: np.ndarray) -> tuple[float | None, float | None, int]:
    found = [decode(element, int(code)) for code in np.atleast_1d(array).view(f"u{element.itemsize}").ravel()]
    numbers = [value for value in found if not math.isnan(value)]
    return (min(numbers), max(numbers), len(found) - len(numbers)) if numbers else (None, None, len(found))


@pytest.mark.parametrize("element", TYPES.values(), ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (7, 5), (40, 30)], ids=str)
def test_every_type_is_summed_up_as_the_obvious_way_does(element, shape):
    for seed in range(20):
        array = codes(element, shape, seed)
        got = summed(element, array)
        assert (got.low, got.high, got.nans) == obvious(element, array)
        assert (got.elements, got.overflowed, got.nodata) == (array.size, 0, 0)


@pytest.mark.parametrize("element", [row for row in TYPES.values() if row.kind != "unsigned"], ids=str)
@pytest.mark.parametrize("negative", [False, True])
def test_of_one_sign_alone(element, negative):
    array = codes(element, (200,), 5)
    values = [decode(element, int(code)) for code in array.view(f"u{element.itemsize}")]
    few = array[[(value < 0) == negative for value in values]]
    if few.size:
        got = summed(element, few)
        assert (got.low, got.high, got.nans) == obvious(element, few)


@pytest.mark.parametrize("element", [row for row in TYPES.values() if row.format is not None], ids=str)
def test_arrays_of_nan_alone_have_no_lowest(element):
    every = np.arange(1 << min(element.bits, 16), dtype=f"u{min(element.itemsize, 2)}")
    if element.bits > 16:
        array = np.full(5, np.nan, element.memory)
    else:
        array = np.array([code for code in every if math.isnan(decode(element, int(code)))], every.dtype)
        array = array.view(element.memory)
    if array.size:
        assert summed(element, array) == Summary(array.size, nans=array.size)


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "uint16", "int4", "float8_e4m3fn"])
def test_any_strides_are_gone_through(name):
    element = TYPES[name]
    array = codes(element, (12, 10), 3)
    for view in (array.T, array[::-2, 1::3], np.broadcast_to(array[0, :1], (4, 5))):
        got = summed(element, view)
        assert (got.low, got.high, got.nans) == obvious(element, np.ascontiguousarray(view))


def test_an_empty_array_is_nothing():
    assert summed(TYPES["float32"], np.zeros((0, 4), np.float32)) == Summary()


@pytest.mark.parametrize(
    ("dtype", "values", "nodata", "want"),
    [
        ("int16", [5, -9999, 7], -9999, Summary(3, low=5, high=7, nodata=1)),
        ("int16", [-9999, -9999], -9999, Summary(2, nodata=2)),
        ("int16", [1, 2], -9999, Summary(2, low=1, high=2)),
        ("uint8", [1, 2], -9999, Summary(2, low=1, high=2)),  # stated, and not of the type
        ("uint8", [1, 2], 1.5, Summary(2, low=1, high=2)),
        ("float32", [1, np.nan, 9], math.nan, Summary(3, low=1.0, high=9.0, nodata=1)),
        ("float32", [1, np.nan, 9], 9, Summary(3, low=1.0, high=1.0, nans=1, nodata=1)),
        ("float16", [1, np.nan, 9], 9.0, Summary(3, low=1.0, high=1.0, nans=1, nodata=1)),
        ("bfloat16", [1, np.nan, 9], 9.0, Summary(3, low=1.0, high=1.0, nans=1, nodata=1)),
    ],
)
def test_nodata_is_neither_a_number_nor_nan(dtype, values, nodata, want):
    element = TYPES[dtype]
    assert summed(element, np.array(values, element.memory), nodata) == want


def test_blocks_add_up_to_the_whole():
    array = codes(TYPES["float32"], (1000,), 1)
    found = Summary()
    for block in np.array_split(array, 7):
        found.add(summed(TYPES["float32"], block))
    assert found == summed(TYPES["float32"], array)


def test_zero_has_no_sign():
    assert str(summed(TYPES["float16"], np.array([-0.0], np.float16)).low) == "0.0"
    assert str(summed(TYPES["float64"], np.array([-0.0])).high) == "0.0"
