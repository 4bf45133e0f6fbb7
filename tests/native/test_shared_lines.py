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
