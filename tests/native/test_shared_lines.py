"""Rows, planes and columns whose elements share cache lines or pages with others, and results past the caches."""

from __future__ import annotations

import numpy as np
import pytest

import minuend as mn

pytestmark = pytest.mark.usefixtures("isa")

DTYPES = ("uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
LARGE = 36 << 20  # bytes: more than a last cache of 64 MiB holds of two operands and a result


def numbers(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 200, shape, np.uint8).astype(dtype)


def off_lines(dtype: str, shape: tuple[int, ...], elements: int) -> np.ndarray:
    """An array that begins so many elements behind a cache line."""
    n, item = int(np.prod(shape)), np.dtype(dtype).itemsize
    room = np.zeros(n + 128 // item, dtype)
    first = -room.ctypes.data % 64 // item + elements
    return room[first : first + n].reshape(shape)


@pytest.mark.parametrize("bytes_", [72, 96, 256, 264, 520, 1024, 2040, 2048, 2600])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "int64"])
def test_short_rows_of_a_result_that_is_stored_past_the_caches(dtype, bytes_):
    n = bytes_ // np.dtype(dtype).itemsize
    rows = LARGE // 3 * 2 // bytes_ + 1
    a, row = numbers(dtype, (rows, n + 3), 1)[:, :n], numbers(dtype, (1, n), 2)
    for elements in (0, 1, 5):
        out = off_lines(dtype, (rows, n), elements)
        assert np.array_equal(mn.subtract(a, row, out=out), np.subtract(a, row))
        assert np.array_equal(mn.subtract(row[0, 0], a, out=out), np.subtract(row[0, 0], a))


@pytest.mark.parametrize("policy", ["saturate", "error", "widen"])
def test_short_rows_past_the_caches_have_each_policy(policy):
    n = 40
    rows = LARGE // 4 // n
    a, row = numbers("int32", (rows, n + 3), 1)[:, :n], numbers("int32", (1, n), 2)
    out = off_lines("int64" if policy == "widen" else "int32", (rows, n), 1)
    want = np.subtract(a.astype("int64"), row)
    assert np.array_equal(mn.subtract(a, row, out=out, overflow=policy), want)
    a[rows - 5, 7] = np.iinfo("int32").min
    row[0, 7] = 9
    if policy == "error":
        with pytest.raises(mn.OverflowFound, match=rf"^1 of {rows * n} .* index \({rows - 5}, 7\)"):
            mn.subtract(a, row, out=out, overflow=policy)
    else:
        mn.subtract(a, row, out=out, overflow=policy)
        exact = np.iinfo("int32").min - 9
        assert out[rows - 5, 7] == (exact if policy == "widen" else np.iinfo("int32").min)


@pytest.mark.parametrize("dtype", DTYPES)
def test_low_transposes_beside_what_is_read_as_it_lies(dtype):
    for rows in (8, 9, 11, 12, 15, 16):
        for columns in (7, 8, 17, 63, 64, 65):
            across = numbers(dtype, (columns, 5, rows), 1).transpose(2, 1, 0)
            plain, out = numbers(dtype, (rows, 5, columns), 2), np.zeros((rows, 5, columns), dtype)
            for other in (plain, plain[:, :, :1], plain[..., ::-1], plain[:1]):
                assert np.array_equal(mn.subtract(across, other, out=out), np.subtract(across, other))
                assert np.array_equal(mn.subtract(other, across, out=out), np.subtract(other, across))


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_whose_elements_lie_on_pages_that_other_rows_share(dtype):
    item = np.dtype(dtype).itemsize
    for rows, n, far, near in ((8, 1300, 5824, 728), (3, 513, 2048, 2048), (5, 700, -4096, 64)):
        memory = numbers(dtype, (n * abs(far) // item + rows * near // item,), 1)
        first = memory[(n - 1) * -far // item :] if far < 0 else memory
        a = np.lib.stride_tricks.as_strided(first, (rows, n), (near, far), writeable=False)
        out = np.zeros((rows, n), dtype)
        for other in (numbers(dtype, (rows, 1), 2), numbers(dtype, (n,), 3), numbers(dtype, (rows, n), 4), a):
            assert np.array_equal(mn.subtract(a, other, out=out), np.subtract(a, other))
            assert np.array_equal(mn.subtract(other, a, out=out), np.subtract(other, a))


@pytest.mark.parametrize("dtype", DTYPES)
def test_planes_that_share_cache_lines(dtype):
    item = np.dtype(dtype).itemsize
    for planes, rows, columns in ((16, 117, 3), (9, 20, 5), (8, 64, 8), (33, 128, 4)):
        memory = numbers(dtype, (columns, rows, max(64 // item, planes) * 2), 1)
        for step in (1, 2):
            a = memory[:, :, : planes * step : step].transpose(2, 1, 0)
            out = np.zeros(a.shape, dtype)
            for other in (numbers(dtype, (1, rows, 1), 2), numbers(dtype, (planes, 1, columns), 3)):
                assert np.array_equal(mn.subtract(a, other, out=out), np.subtract(a, other))
                assert np.array_equal(mn.subtract(other, a, out=out), np.subtract(other, a))


@pytest.mark.parametrize("n", [2, 3, 7, 26, 64, 130, 1025, 9000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_one_element_of_each_operand_for_a_row(dtype, n):
    for rows in (2, 3, 8, 600):
        column = numbers(dtype, (rows, 3), 1)
        for a in (column[:, :1], np.ascontiguousarray(column[:, :1]), column[::-1, 1:2], column[:1, :1]):
            for b in (column[:, 2:], column[1:2, 2:]):
                x, y = (np.broadcast_to(one, (2, rows, n)) for one in (a, b))
                out = np.zeros((2, rows, n + 1), dtype)
                for place in (np.zeros((2, rows, n), dtype), out[:, :, 1:]):
                    assert np.array_equal(mn.subtract(x, y, out=place), np.subtract(x, y))


@pytest.mark.parametrize("policy", ["saturate", "error", "widen"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64"])
def test_one_element_of_each_operand_for_a_row_with_each_policy(dtype, policy):
    a, b = numbers(dtype, (700, 1), 1) // 4 + 60, numbers(dtype, (700, 1), 2) // 4
    x, y = np.broadcast_to(a, (700, 33)), np.broadcast_to(b, (700, 33))
    want = np.subtract(x.astype("int64"), y.astype("int64"))
    assert np.array_equal(mn.subtract(x, y, overflow=policy).astype("int64"), want)
    a[300], b[300] = np.iinfo(dtype).min, 3
    if policy == "error" or (policy == "widen" and dtype == "int64"):
        with pytest.raises(mn.OverflowFound, match=r"^33 of 23100 .* index \(300, 0\)"):
            mn.subtract(x, y, overflow=policy)
    elif policy == "saturate":
        assert (mn.subtract(x, y, overflow=policy)[300] == np.iinfo(dtype).min).all()


def test_one_element_of_each_operand_for_a_row_past_the_caches():
    for n in (5, 100, 3000):
        a, b = numbers("float32", (LARGE // 4 // n, 1), 1), numbers("float32", (1, 1), 2)
        x, y = np.broadcast_to(a, (len(a), n)), np.broadcast_to(b, (len(a), n))
        out = off_lines("float32", (len(a), n), 3)
        assert np.array_equal(mn.subtract(x, y, out=out), np.subtract(x, y))


@pytest.mark.parametrize("distance", [512, 1024, 2048, 4096, 4160])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_few_elements_of_rows_that_share_sets_of_the_cache(dtype, distance):
    item = np.dtype(dtype).itemsize
    memory = numbers(dtype, (300, distance // item), 1)
    for n in (2, 3, 4, 5, 8, 13, 16):
        for step in (2, 3, -2, 128 // item):
            a = memory[:, : n * abs(step)][:, ::step][:, :n]
            for other in (numbers(dtype, a.shape, 2), numbers(dtype, (300, 1), 3)):
                assert np.array_equal(mn.subtract(a, other), np.subtract(a, other))
                assert np.array_equal(mn.subtract(other, a), np.subtract(other, a))


@pytest.mark.parametrize("dtype", DTYPES)
def test_planes_of_rows_that_are_copied(dtype):
    for planes, rows, columns in ((40, 20, 14), (9, 5, 60), (100, 3, 170)):
        a, b = numbers(dtype, (planes, rows, columns + 1), 1)[:, :, :-1], numbers(dtype, (rows, planes, columns), 2)
        out = np.zeros(a.shape, dtype)
        for other in (b.transpose(1, 0, 2), b[:, 0]):
            assert np.array_equal(mn.subtract(a, other, out=out), np.subtract(a, other))


def test_columns_with_large_steps():
    for rows, columns, step in ((276, 78, 9), (1023, 255, 16), (40, 300, 12)):
        memory = numbers("uint16", (columns, rows * step), 1)
        plain, out = numbers("uint16", (rows, columns), 2), np.zeros((rows, columns), "uint16")
        for across in (memory[:, ::step].T, memory[::-1, ::-step].T):
            assert np.array_equal(mn.subtract(across, plain, out=out), np.subtract(across, plain))
            assert np.array_equal(mn.subtract(plain[:, :1], across, out=out), np.subtract(plain[:, :1], across))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int32", "float64"])
def test_transposes_beside_far_elements_past_the_caches(dtype):
    item = np.dtype(dtype).itemsize
    step = 48 // item
    rows, columns = 83, LARGE // 48 // 83 + 1
    far = numbers(dtype, (rows, columns * step), 1)
    across, out = numbers(dtype, (columns, rows), 2).T, np.zeros((rows, columns), dtype)
    for a in (far[:, ::step], far.reshape(-1)[::-step].reshape(rows, columns)):
        assert np.array_equal(mn.subtract(a, across, out=out), np.subtract(a, across))
        assert np.array_equal(mn.subtract(across, a, out=out), np.subtract(across, a))
