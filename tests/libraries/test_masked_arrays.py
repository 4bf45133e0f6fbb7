"""Masked arrays: masked where either is, and nothing is computed of what is masked."""

from __future__ import annotations

import numpy as np
import pytest

import minuend as mn
from minuend.core.elements import TYPES
from minuend.errors import DTypeError, OverflowFound, ShapeError

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


@pytest.mark.parametrize("name", ["bfloat16", "int4", "float8_e4m3fn", "uint2"])
def test_types_that_numpy_has_no_fill_value_of_are_masked_too(name):
    values = np.array([1, 0, 1]).astype(TYPES[name].numpy)
    a = np.ma.array(values, mask=[0, 1, 0])
    assert a.fill_value.dtype.kind == "S"  # which no element of theirs can be
    for policy in ("wrap", "widen"):
        found = mn.subtract(a, a, overflow=policy)
        assert found.mask.tolist() == [False, True, False]
        assert not np.asarray(found.data, float)[[0, 2]].any()


def test_a_fill_value_goes_on_where_the_wide_type_holds_it():
    for dtype, fill, want in (("uint2", 3, 3), ("uint64", 7, 7), ("uint64", 2**64 - 1, 999999)):
        values = np.array([1, 0]).astype(TYPES[dtype].numpy)
        a = np.ma.array(values, mask=[0, 1], fill_value=np.array(fill, values.dtype))
        assert int(mn.subtract(a, a, overflow="widen").fill_value) == want
    unstated = np.ma.array(np.uint8([1, 2]), mask=[0, 1])
    assert mn.subtract(unstated, unstated)._fill_value is None


def test_masked_shapes_that_do_not_join_are_this_packages_error():
    with pytest.raises(ShapeError, match=r"shapes \(2, 3\) and \(4,\) do not broadcast"):
        mn.subtract(A, np.ma.array(np.zeros(4, np.uint8), mask=[0, 0, 0, 1]))


def test_masked_records_are_refused_as_records():
    records = np.ma.array([(1, 2.0)], dtype=[("x", "i4"), ("y", "f4")])
    with pytest.raises(DTypeError, match="a: element type 'void64'"):
        mn.subtract(records, np.ones(1, np.float32))


def test_what_is_masked_keeps_the_class_below_the_mask():
    class Plain(np.ndarray):
        pass

    a = np.ma.array(np.ones(3).view(Plain), mask=[0, 1, 0])
    assert type((a - 1.0).data) is Plain
    assert type(mn.subtract(a, 1.0).data) is Plain
