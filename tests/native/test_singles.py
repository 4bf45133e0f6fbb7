"""Short rows of elements that lie far apart, rows that run backwards, and operands that are one row for many."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import minuend as mn

pytestmark = pytest.mark.usefixtures("isa")

DTYPES = ("uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
STRIDES = {"far": 19, "farther": 67, "backwards and far": -23, "near": 3}


def numbers(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 200, shape).astype(dtype)


def rows_of(dtype: str, rows: int, n: int, step: int, seed: int) -> np.ndarray:
    """Rows of which each element is so many behind the one before, with a gap behind each row."""
    return numbers(dtype, (rows, n * abs(step) + 3), seed)[:, : n * abs(step)][:, ::step]


def columns_of(dtype: str, rows: int, n: int, apart: int, seed: int) -> np.ndarray:
    """Rows whose elements are whole columns apart, of so many elements."""
    return numbers(dtype, (n, rows * apart + 1), seed)[:, : rows * apart : apart].T


@pytest.mark.parametrize("n", [*range(2, 20), 31, 33, 65])
@pytest.mark.parametrize("dtype", DTYPES)
def test_short_rows_of_far_elements(dtype, n):
    rows = 37
    beside = [numbers(dtype, (rows, n + 1), 2)[:, :n], numbers(dtype, (rows, 1), 3), numbers(dtype, (n,), 4)]
    beside += [np.broadcast_to(numbers(dtype, (1, 1), 5), (rows, n)), numbers(dtype, (2 * n,), 6)[::2]]
    for one, step in enumerate(STRIDES.values()):
        far = rows_of(dtype, rows, n, step, one)
        for other in (*beside, *(rows_of(dtype, rows, n, step, 9) for step in STRIDES.values())):
            assert np.array_equal(mn.subtract(far, other), np.subtract(far, other))
            assert np.array_equal(mn.subtract(other, far), np.subtract(other, far))


@pytest.mark.parametrize("rows", [253, 256, 4096 + 1], ids=["spread", "in a set of the cache", "about that"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_beside_operands_that_have_to_be_gathered(dtype, rows):
    for n, apart in itertools.product((4, 5, 8, 9, 16, 24), (1, 3)):
        across = columns_of(dtype, rows, n, apart, 1)
        for other in (rows_of(dtype, rows, n, step, 2) for step in STRIDES.values()):
            out = np.zeros((rows, n), dtype)
            assert np.array_equal(mn.subtract(across, other, out=out), np.subtract(across, other))


@pytest.mark.parametrize("dtype", DTYPES)
def test_planes_of_short_rows_in_two_orders(dtype):
    shape = (5, 12, 16, 8)
    a = numbers(dtype, (16, 12, 9, 5), 1)[:, :, :8].transpose(3, 1, 0, 2)
    b = numbers(dtype, (8, 5, 16, 12), 2).transpose(1, 3, 2, 0)
    out = np.zeros(shape, dtype)
    assert np.array_equal(mn.subtract(a, b, out=out), np.subtract(a, b))


@pytest.mark.parametrize("n", [1, 7, 15, 16, 17, 31, 64, 65, 127, 128, 130, 1025, 4200])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_that_run_backwards_also_in_place(dtype, n):
    for rows, ahead in itertools.product((1, 3), range(0, 66, 13)):
        a = numbers(dtype, (rows, n + ahead), 1)[:, ahead:]
        b = numbers(dtype, (rows, n), 2)[:, ::-1]
        for other in (a, a[:, ::-1], a[:, :1], a[:1], a[0, 0]):
            assert np.array_equal(mn.subtract(other, b), np.subtract(other, b))
            assert np.array_equal(mn.subtract(b, other), np.subtract(b, other))
        for x, y in ((a, b), (b, a)):
            want = np.subtract(x, y)
            place = np.zeros(ahead + a.size, dtype)[ahead:].reshape(a.shape)
            place[...] = a
            again = (place, b) if x is a else (b, place)
            assert np.array_equal(mn.subtract(*again, out=place), want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_that_run_backwards(dtype):
    for rows, n in itertools.product((8, 15, 16, 19, 64, 130), (8, 15, 16, 17, 200)):
        across = columns_of(dtype, rows, n, 1, 1)[::-1]
        plain = numbers(dtype, (rows, n), 2)
        out = np.zeros((rows, n), dtype)
        assert np.array_equal(mn.subtract(across, plain, out=out), np.subtract(across, plain))
        assert np.array_equal(mn.subtract(plain[:, :1], across, out=out), np.subtract(plain[:, :1], across))


@pytest.mark.parametrize("policy", ["wrap", "saturate", "error", "widen"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64"])
def test_one_row_for_many_beside_one_element_for_each_row(dtype, policy):
    column = numbers(dtype, (300, 1), 1) // 2 + 20
    small = numbers(dtype, (1, 250), 2) % 20
    for row in (small, small[:, :1], small[:, ::-1], small[:, ::2], small[:, ::3]):
        wide = np.broadcast_to(row, (300, row.shape[1] if row.shape[1] > 1 else 112))
        want = np.subtract(column.astype("int64"), wide.astype("int64"))
        assert np.array_equal(mn.subtract(column, wide, overflow=policy).astype("int64"), want)
    wide = np.broadcast_to(small[:, :1], (300, 112)).astype(dtype)
    column[7, 0] = np.iinfo(dtype).min
    column[200, 0] = np.iinfo(dtype).min
    if policy == "error" and small[0, 0] > 0:
        with pytest.raises(mn.OverflowFound, match=r"^224 of 33600 .* index \(7, 0\)"):
            mn.subtract(np.broadcast_to(column, (300, 112)), np.broadcast_to(small[:, :1], (300, 112)), overflow=policy)
