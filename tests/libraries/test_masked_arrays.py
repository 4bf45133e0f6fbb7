"""Masked arrays: masked where either is, and nothing is computed of what is masked."""

from __future__ import annotations

import numpy as np
import pytest

import minuend as mn
from minuend.errors import DTypeError, OverflowFound

A = np.ma.array([[5, 1, 9], [4, 4, 4]], np.uint8, mask=[[0, 1, 0], [0, 0, 0]], fill_value=77)
B = np.ma.array([1, 2, 3], np.uint8, mask=[0, 0, 1])
PLAIN = np.array([6, 2, 1], np.uint8)


@pytest.mark.parametrize("operands", [(A, B), (B, A), (A, PLAIN), (PLAIN, A), (A, 1), (np.uint8(9), A), (A.T, A.T)])
def test_the_mask_is_that_of_both_as_numpy_has_it(operands):
    got, want = mn.subtract(*operands), np.ma.subtract(*operands)
    assert isinstance(got, np.ma.MaskedArray)
    assert np.array_equal(np.ma.getmaskarray(got), np.ma.getmaskarray(want))
    assert np.array_equal(got.filled(0), want.filled(0))
    assert got.dtype == np.uint8


def test_without_a_mask_there_is_none():
    assert mn.subtract(np.ma.array([1.0]), 1.0).mask is np.ma.nomask


def test_what_is_masked_does_not_overflow():
    assert mn.subtract(A, B, overflow="error").tolist() == [[4, None, None], [3, 2, None]]
    with pytest.raises(OverflowFound) as caught:
        mn.subtract(A, np.uint8(5), overflow="error")
    assert (caught.value.index, caught.value.count) == ((1, 0), 3)


def test_out_takes_elements_and_mask():
    out = np.ma.zeros((2, 3), np.uint8)
    assert mn.subtract(A, B, out=out) is out
    assert out.tolist() == np.ma.subtract(A, B).tolist()
    with pytest.raises(DTypeError) as caught:
        mn.subtract(A, B, out=np.zeros((2, 3), np.uint8))
    assert str(caught.value) == "out is no masked array, so the mask would be lost; expected a numpy.ma.MaskedArray"
    with pytest.raises(DTypeError) as caught:
        mn.subtract(np.ma.masked, B)
    assert str(caught.value) == "a is numpy.ma.masked, which has no element type; expected a masked array"
