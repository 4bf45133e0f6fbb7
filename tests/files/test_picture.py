"""Pixels of a difference, put together from any blocks: the extremes of each cell, and where it overflows."""

from __future__ import annotations

import numpy as np
import pytest

from minuend.arrays.functions import subtract
from minuend.core.elements import TYPES, of_numpy
from minuend.core.shapes import numpy as join
from minuend.errors import ShapeError
from minuend.files import picture
from minuend.files.picture import Axes, Picture
from minuend.files.streaming.regions import boxes, contiguous, whole


@pytest.fixture(autouse=True)
def few_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "MOST_PIXELS", 8)


def drawn(a, b, overflow="wrap", cut=lambda shape: [whole(shape)], nodata=None):
    difference = subtract(a, b, overflow=overflow)
    element = of_numpy(difference.dtype)
    found = Picture(element, difference.shape, join(difference.shape, difference.shape), overflow, nodata)
    wide_a, wide_b = (np.broadcast_to(x, difference.shape) for x in (a, b))
    for region in cut(difference.shape):
        found.add(region, wide_a[region], wide_b[region], difference[region])
    return found


def cells(array, step, best):
    """The obvious way: cell by cell."""
    rows, columns = array.shape
    return np.array(
        [[best(array[i : i + step, j : j + step]) for j in range(0, columns, step)] for i in range(0, rows, step)]
    )


CUTS = {
    "whole": lambda shape: [whole(shape)],
    "rows": lambda shape: contiguous(shape, 1, 2 * shape[-1]),
    "parts of rows": lambda shape: contiguous(shape, 1, 5),
    "boxes, backwards": lambda shape: reversed(list(boxes(shape, [7] * len(shape)))),
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "float16", "bfloat16", "int4", "float8_e4m3fn"])
def test_any_blocks_give_the_extremes_of_each_cell(cut, dtype):
    values = np.random.default_rng(1).integers(0, 8, (21, 30)).astype(TYPES[dtype].memory)
    found = drawn(values, np.zeros((), values.dtype), cut=cut)
    assert found.cell == (4, 4)
    numbers = values.astype(float)
    assert found.low.tolist() == [cells(numbers, 4, np.min).tolist()]
    assert found.high.tolist() == [cells(numbers, 4, np.max).tolist()]
    assert not found.overflowed.any()


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("overflow", ["wrap", "saturate"])
def test_what_overflows_is_marked_and_no_number(cut, overflow):
    a = np.random.default_rng(2).integers(0, 200, (21, 30)).astype(np.uint8)
    b = np.random.default_rng(3).integers(0, 20, (1, 30)).astype(np.uint8)
    exact = a.astype(float) - b
    found = drawn(a, b, overflow, cut)
    assert found.overflowed.tolist() == [cells(exact < 0, 4, np.any).tolist()]
    assert found.low.tolist() == [cells(np.where(exact < 0, np.inf, exact), 4, np.min).tolist()]


def test_what_is_widened_overflows_nowhere():
    a, b = np.array([[1, 2]], np.uint8), np.array([[5, 0]], np.uint8)
    found = drawn(a, b, "widen")
    assert (found.low.tolist(), found.overflowed.any()) == ([[[-4, 2]]], False)


def test_nodata_and_nan_are_no_numbers_and_do_not_overflow():
    a = np.array([[7, 9, 9, 1]], np.uint8)
    found = drawn(a, np.array([[8, 0, 0, 0]], np.uint8), nodata=9)
    assert np.isnan(found.low).tolist() == [[[True, True, True, False]]]
    assert found.overflowed.tolist() == [[[True, False, False, False]]]
    a = np.array([[1, np.nan, 4]], np.float32)
    assert np.array_equal(drawn(a, np.float32([0])).values(), [[[1, np.nan, 4]]], equal_nan=True)
    zero = np.zeros((1, 3), np.uint8)
    assert not drawn(zero, np.uint8([1]), nodata=255).overflowed.any()


def test_a_pixel_is_the_difference_farthest_from_0_and_nothing_is_averaged():
    a = np.zeros((100, 100), np.float32)
    a[50, 50], a[51, 51], a[7, 7] = -3, 2, 0.25
    found = drawn(a, np.zeros((), np.float32)).values()[0]
    assert sorted(found[found != 0]) == [-3, 0.25]


@pytest.mark.parametrize(
    ("shape", "axes", "pixels", "cell"),
    [
        ((30,), Axes(None, None, 0), (1, 1, 8), (1, 4)),
        ((5, 4), Axes(None, 0, 1), (1, 5, 4), (1, 1)),
        ((1, 5, 4), Axes(None, 1, 2), (1, 5, 4), (1, 1)),
        ((5, 4, 3), Axes(2, 0, 1), (3, 5, 4), (1, 1)),
        ((3, 5, 6), Axes(0, 1, 2), (3, 5, 6), (1, 1)),
        ((2, 1, 5, 6), Axes(0, 2, 3), (2, 5, 6), (1, 1)),
        ((2, 3, 4), Axes(2, 0, 1), (4, 2, 3), (1, 1)),  # channels are last where both could be
        ((90, 3), Axes(None, 0, 1), (1, 8, 3), (12, 1)),  # out of proportion: cells are no squares
        ((16, 9), Axes(None, 0, 1), (1, 8, 5), (2, 2)),
    ],
)
def test_lines_images_and_channels(shape, axes, pixels, cell):
    values = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    found = drawn(values, np.float64([0]), cut=lambda shape: contiguous(shape, 8, 40))
    assert (found.axes, found.low.shape, found.cell) == (axes, pixels, cell)
    assert (found.low.min(), found.high.max()) == (0, values.size - 1)
    assert not np.isnan(found.low).any()


def test_channels_are_where_they_belong():
    values = np.stack([np.full((6, 5), value, np.int16) for value in (1, -2, 3)])
    assert drawn(values, np.int16([0])).values()[:, 0, 0].tolist() == [1, -2, 3]
    assert drawn(np.moveaxis(values, 0, 2), np.int16([0])).values()[:, 2, 3].tolist() == [1, -2, 3]


@pytest.mark.parametrize("shape", [(), (1, 1), (5, 6, 7), (2, 2, 2, 2), (0, 4)], ids=str)
def test_what_is_not_drawn_is_refused(shape):
    with pytest.raises(ShapeError) as caught:
        Axes.of(shape)
    assert str(caught.value) == (
        f"a difference of shape {shape} is not drawn; expected a line, an image, or an image of up to 4 channels, "
        "which come first or last"
    )
