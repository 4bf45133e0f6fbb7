"""Across native/: every path of the kernel (rows, joined rows, squares, pieces; near, far, non-temporal), on each isa.

Unsigned integers tell any element that is read or written in the wrong place, and NumPy subtracts them exactly.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import sys

import numpy as np
import pytest

import minuend as mn

DTYPES = ("uint8", "uint16", "uint32", "uint64")
FENCE = 0xA5
MARGIN = 256  # bytes

pytestmark = pytest.mark.usefixtures("isa")


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"])
def threads(request):
    before = mn.get_num_threads()
    mn.set_num_threads(request.param)
    yield request.param
    mn.set_num_threads(before)


def placed(shape, dtype, offset, seed):
    """Random elements that begin ``offset`` bytes behind a cache line."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    room = np.random.default_rng(seed).integers(0, 256, size + 128, np.uint8)
    start = -room.ctypes.data % 64 + offset
    return room[start : start + size].view(dtype).reshape(shape)


def check(a, b, offset=0):
    """Subtract into a fenced array at such an address, and into a new one."""
    shape, dtype = np.broadcast_shapes(a.shape, b.shape), a.dtype
    want = np.subtract(a, b)
    room = np.full(want.nbytes + 2 * MARGIN, FENCE, np.uint8)
    start = -room.ctypes.data % 64 + 64 + offset
    out = room[start : start + want.nbytes].view(dtype).reshape(shape)
    mn.subtract(a, b, out=out)
    assert np.array_equal(out, want)
    assert (room[:start] == FENCE).all()
    assert (room[start + want.nbytes :] == FENCE).all()
    assert np.array_equal(mn.subtract(a, b), want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [*range(1, 10), 15, 16, 17, 24, 100, 255, 257, 700])
def test_rows_of_any_width_beside_rows_columns_and_scalars(dtype, width, threads):
    n = 40_000 // width
    a = placed((n, width), dtype, 0, 1)
    sliced = placed((n, width + 3), dtype, 0, 2)[:, 1:-2]
    strided = placed((n, 2 * width), dtype, 0, 3)[:, ::2]
    pixels = placed((n, 3 * width), dtype, 0, 9)[:, ::3]
    others = [placed((width,), dtype, 16, 4), placed((n, 1), dtype, 8, 5), placed((1, 1), dtype, 0, 6)]
    others += [placed((2 * n, 1), dtype, 0, 7)[::2], placed((3 * width,), dtype, 0, 8)[::-3]]
    for x, y in itertools.product((a, sliced, strided, pixels, a[:, ::-1], a[::-1]), others):
        check(x, y)
        check(y, x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", range(2, 18))
def test_a_column_repeated_along_few_rows(dtype, width):
    for rows, step in itertools.product((2, 3, 7, 16, 63, 64, 65, 130), (1, 2, 3, -2, 5)):
        column = placed((abs(step) * rows, 1), dtype, 0, 1)[::step]
        check(placed((rows, width), dtype, 0, 2), column, 8)
        check(column, placed((2, rows, width), dtype, 0, 3))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [3, 700], ids=["in the first cache", "beyond it"])
def test_rows_of_every_length_cut_out_of_wider_arrays(dtype, rows):
    """Also where the result is A or B; what lies between the rows stays as it was, and is not looked at."""
    long = 600 // np.dtype(dtype).itemsize  # more than the registers that count as a short row
    for width in (*range(1, 70), long - 1, long, long + 1):
        wide_a, wide_b = (placed((rows, width + 5), dtype, 0, seed) for seed in (1, 2))
        a, b = wide_a[:, 2:-3], wide_b[:, 1:-4]
        want = np.subtract(a, b)
        assert np.array_equal(mn.subtract(a, b), want)
        assert np.array_equal(mn.subtract(a, b[:, :1]), np.subtract(a, b[:, :1]))
        assert np.array_equal(mn.subtract(a[:1], b), np.subtract(a[:1], b))
        for wide, out in ((wide_a.copy(), slice(2, -3)), (wide_b.copy(), slice(1, -4))):
            before = wide.copy()
            operands = (wide[:, out], b) if out.start == 2 else (a, wide[:, out])
            mn.subtract(*operands, out=wide[:, out])
            before[:, out] = want
            assert np.array_equal(wide, before)


@pytest.mark.parametrize("kind", ["i", "u"])
@pytest.mark.parametrize("width", [8, 9, 31, 33, 63, 64, 65, 127, 129])
def test_overflow_anywhere_in_a_short_row_is_reported(kind, width):
    for size in (1, 2, 4, 8):
        a = np.zeros((9, width + 3), f"{kind}{size}")[:, :width]
        lowest = np.iinfo(a.dtype).min
        b = np.array([1], a.dtype)
        assert not mn.subtract(a, b - b, overflow="error").any()
        for place in {0, 7, width // 2, width - 2, width - 1}:
            view = np.ones((9, width + 3), a.dtype)[:, :width]
            view[5, place] = lowest
            with pytest.raises(mn.OverflowFound, match=rf"^1 of {9 * width} .* index \(5, {place}\)"):
                mn.subtract(view, b, overflow="error")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", [0, 16, 1])
@pytest.mark.parametrize("shape", [(8, 8), (65, 64), (130, 517), (300, 1030)])
def test_transposed_operands_at_any_address(dtype, offset, shape, threads):
    m, n = shape
    a, turned = placed((m, n), dtype, offset, 1), placed((n, m), dtype, offset, 2).T
    check(a, turned, offset)
    check(turned, a, 16)
    check(turned, placed((n,), dtype, 0, 3), offset)
    check(placed((m, 1), dtype, 0, 4), turned, offset)
    check(a[:, ::-1], turned, offset)
    for step in (2, 3, -2, -5):  # at the first and the last element of its memory
        check(placed((m, abs(step) * n), dtype, 0, 5)[:, ::step], turned)
        check(turned, placed((m, abs(step) * (n - 1) + 1), dtype, 0, 8)[:, ::step])
    check(placed((3, m, n), dtype, offset, 6), placed((3, n, m), dtype, 8, 7).transpose(0, 2, 1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", [-1, 2, -2, 3, 4, 7])
@pytest.mark.parametrize("shape", [(8, 8), (9, 70), (130, 517), (300, 1030), (1100, 30)])
def test_transposes_that_run_backwards_or_in_steps(dtype, step, shape, threads):
    m, n = shape
    a, whole = placed((m, n), dtype, 0, 1), placed((n, m * abs(step)), dtype, 8, 2)
    turned = whole[:, ::step].T
    check(a, turned, 8)
    check(turned[:, ::-1], a, 1)
    check(turned, placed((n,), dtype, 0, 3))
    check(placed((m, 1), dtype, 0, 4), turned)
    check(turned, placed((n, m), dtype, 0, 5).T)
    check(np.rot90(placed((n, m, 3), dtype, 0, 6)), placed((m, n, 3), dtype, 0, 7))
    want = a - turned
    assert mn.subtract(a, turned, out=a) is a
    assert np.array_equal(a, want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("few", [*range(2, 20), 33, 65])
def test_transposes_of_few_rows_or_few_columns(dtype, few, threads):
    for many in (few + 1, 100, 2200):
        for shape in ((few, many), (many, few)):
            a, turned = placed(shape, dtype, 8, 1), placed(shape[::-1], dtype, 8, 2).T
            check(a, turned)
            check(turned, placed(shape[::-1], dtype, 0, 3).T, 8)
            check(turned, placed((1, 1), dtype, 0, 4))
            check(turned, placed(shape[1:], dtype, 0, 5), 8)
            check(turned, placed((shape[0], 1), dtype, 0, 6))
            wide = placed((shape[1], shape[0] + 3), dtype, 0, 7)
            check(a, wide[:, 1:-2].T)
            check(a, wide[:, 1:-2].T[:, ::-1])
            want = a - turned
            assert mn.subtract(a, turned, out=a) is a
            assert np.array_equal(a, want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", range(2, 8))
def test_few_columns_cut_out_of_a_matrix_and_turned(dtype, rows, threads):
    sizes = [*itertools.product((rows + 1, 8, 10, 31, 100), (64, 100, 6001)), (4100, 64)]
    for wide, many in sizes:
        matrix = placed((many, wide), dtype, 0, 1)
        for turned in (matrix[:, :rows].T, matrix[:, wide - rows :].T):
            check(turned, placed((rows, many), dtype, 0, 2))
            check(turned[:, ::-1], placed((rows, many), dtype, 0, 2), 1)
            check(turned, placed((many, rows + 2), dtype, 8, 3)[:, 2:].T, 8)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(14, 24, 16), (3, 70, 16), (9, 8, 65), (16, 59, 5), (8, 33, 8)])
def test_operands_that_are_turned_in_different_dims(dtype, shape, threads):
    ways = list(itertools.permutations(range(3)))
    views = [placed([shape[d] for d in way], dtype, 8, i).transpose(np.argsort(way)) for i, way in enumerate(ways)]
    for a, b in itertools.product(views, views):
        check(a, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [(0, 1), (3, 0), (5, 16)])
def test_columns_of_one_matrix(dtype, columns, threads):
    first, second = columns
    for width, n in itertools.product((17, 40, 300), (1, 7, 16, 129, 1000, 40_000)):
        matrix = placed((n * 300 // width if n > 1000 else n, width), dtype, 0, width)
        a, b = matrix[:, first], matrix[:, second]
        check(a, b)
        check(a[::-1], b, 8)
        check(a, b.copy(), 1)
        check(a.copy(), b[:1])
        check(a, np.repeat(b, 2)[::2])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("plane", [(2, 2), (2, 3), (3, 3), (4, 3), (7, 6), (2, 31), (8, 8), (5, 13)])
def test_many_small_planes(dtype, plane, threads):
    r, n = plane
    for planes in (15, 16, 33, 3000):
        turned = placed((planes, n, r), dtype, 0, 2).transpose(0, 2, 1)
        cut = placed((planes, r + 1, n + 3), dtype, 8, 3)[:, 1:, 1:-2]
        shapes = ((planes, r, n), (n,), (r, 1), (r, n), (planes, 1, 1), (planes, 1, n), (planes, r, 1), (1, 1, 1))
        others = [placed(shape, dtype, 0, i) for i, shape in enumerate(shapes)]
        others += [placed((2 * planes, r, 3 * n), dtype, 0, 4)[::2, :, ::3], placed((n, r, planes), dtype, 0, 5).T]
        for other in others:
            check(turned, other)
            check(other, cut, 8)
        a = others[0]
        want = a - turned
        assert np.array_equal(mn.subtract(a, turned, overflow="saturate"), np.where(a < turned, 0, want))
        before = a.copy()
        with pytest.raises(mn.OverflowFound):
            mn.subtract(a, turned, overflow="error", out=a)
        assert np.array_equal(a, before)
        assert mn.subtract(a, turned, out=a) is a
        assert np.array_equal(a, want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("plane", [(3, 2, 8), (2, 3, 2), (2, 2, 2, 2, 2), (5, 5, 5), (1, 4, 2)])
def test_planes_of_several_dims(dtype, plane, threads):
    for outer in ((7,), (8,), (90,), (5, 8), (40, 3)):
        shape = (*outer, *plane)
        axes = range(len(shape))
        a = placed(shape, dtype, 8, 1)
        twice = placed([2 * n for n in shape], dtype, 0, 2)[tuple(slice(None, None, 2) for _ in axes)]
        swapped = placed((*outer, *plane[::-1]), dtype, 0, 3).transpose(
            *range(len(outer)), *reversed(axes[len(outer) :])
        )
        others = [
            twice,
            swapped,
            placed(shape[::-1], dtype, 0, 4).T,
            placed(plane, dtype, 0, 5),
            a[..., :1],
            a[:1, ..., ::-1],
        ]
        for x, y in itertools.combinations([a, *others], 2):
            if np.broadcast_shapes(x.shape, y.shape) == shape:
                check(x, y)
                check(y, x, 8)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", [0, 16, 1])
def test_what_is_larger_than_the_caches(dtype, offset, threads):
    item = np.dtype(dtype).itemsize
    m, n = 900, (10 << 20) // 900 // item
    a, b = placed((m, n), dtype, offset, 1), placed((m, n), dtype, offset, 2)
    check(a, b, offset)
    check(a[::-1, ::-1], b, offset)
    check(a, placed((n,), dtype, offset, 3), offset)
    check(placed((m, 1), dtype, 0, 4), a, offset)
    check(a[:, ::2], b[:, 1::2][:, : (n + 1) // 2] if n % 2 == 0 else b[:, ::2], offset)
    for pitch in (n, n - n % 64, n - n % 64 + 1):  # rows of the result that begin on cache lines, and anywhere in them
        shape, turned = (m, pitch), placed((pitch, 3 * m), dtype, offset, 5)
        check(placed(shape, dtype, 0, 7), turned[:, :m].T, offset)
        check(turned[:, ::-3].T, placed((m, 1), dtype, 0, 8), offset)
        check(turned[:, m : 2 * m].T, turned[:, :m].T, offset)
    check(a.reshape(-1, 4), placed((m * n // 4, 1), dtype, 0, 6), offset)
    for over, (x, y) in itertools.product((0, 1), ((a.copy(), b.copy()), (a.copy(), b[:1].copy()))):
        if over == 0 or x.shape == y.shape:
            want = np.subtract(x, y)
            assert np.array_equal(mn.subtract(x, y, out=(x, y)[over]), want)


CROSSING = {
    "a line": lambda x: (x.reshape(-1)[3:], x.reshape(-1)[:-3]),
    "a line backwards": lambda x: (x.reshape(-1)[::-1], x.reshape(-1)),
    "rows": lambda x: (x[1:, 5:], x[:-1, 5:]),
    "few columns": lambda x: (x[1:, 5:8], x[:-1, 5:8]),
    "every second element": lambda x: (x[:, 2::2], x[:, :-2:2]),
    "rows backwards": lambda x: (x[::-1, 1::3], x[:, 1::3]),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [7, 600, 6000], ids=["in the first cache", "in a cache", "beyond the caches"])
@pytest.mark.parametrize("lie", CROSSING.values(), ids=CROSSING)
def test_a_result_that_crosses_an_operand_is_copied_to_its_place_alone(dtype, rows, lie, threads):
    x = placed((rows, 2600 // np.dtype(dtype).itemsize), dtype, 8, 1)
    after = x.copy()
    (out, a), (want, _) = lie(x), lie(after)
    b = placed(out.shape, dtype, 0, 2)
    want[...] = np.subtract(a, b)
    mn.subtract(a, b, out=out)
    assert np.array_equal(x, after)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", [0, 1])
def test_what_is_larger_than_all_caches_but_a_few(dtype, offset, threads):
    m, n = 6000, 140_000_000 // 6000 // np.dtype(dtype).itemsize
    a, b = placed((m, 1), dtype, 0, 1), placed((1, n), dtype, 0, 2)
    room = np.full(m * n * a.itemsize + 2 * MARGIN, FENCE, np.uint8)
    start = -room.ctypes.data % 64 + 64 + offset
    out = room[start : start + m * n * a.itemsize].view(dtype).reshape(m, n)
    mn.subtract(a, b, out=out)
    assert all(np.array_equal(out[i], a[i] - b[0]) for i in range(m))
    assert (room[:start] == FENCE).all()
    assert (room[start + out.nbytes :] == FENCE).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("few", [9, 21, 64, 129])
def test_few_long_rows_or_columns_beyond_the_caches(dtype, few, threads):
    many = (6 << 20) // few // np.dtype(dtype).itemsize // 64 * 64 + 1
    for shape in ((few, many), (many, few)):
        a, turned = placed(shape, dtype, 8, 1), placed(shape[::-1], dtype, 0, 2).T
        check(a, turned)
        check(turned, placed((1, 1), dtype, 0, 3), 16)


@pytest.mark.skipif(sys.platform != "linux", reason="pages are fenced by mprotect, as Linux has it")
@pytest.mark.parametrize("offset", [0, 1, 4, 24])
@pytest.mark.parametrize("step", [3, 4, 12, 17])
@pytest.mark.parametrize("dtype", ["uint8", "uint32", "float32", "float64"])
def test_steps_whose_lines_are_more_than_the_caches_hold(dtype, step, offset):
    """Beside strided operands a result is streamed long before it is large itself."""
    itemsize = np.dtype(dtype).itemsize
    n = (15 << 20) // min(64, step * itemsize) // 3
    small = np.random.default_rng(1).integers(0, 100, 3 * n * step + 5, np.uint8).astype(dtype)
    a, b = (small[i : i + 3 * n * step].reshape(3, n * step)[:, ::step] for i in (0, 5))
    check(a, b, offset)
    check(a[0], b[1, ::-1], offset)


@pytest.mark.parametrize("dtype", [*DTYPES, "float32", "float64"])
def test_what_the_caches_hold_beyond_l2(dtype, threads):
    """Rows that one thread finds in the last cache have loops of their own on some CPUs."""
    n = (3 << 20) // np.dtype(dtype).itemsize // 301
    a, b = (np.random.default_rng(seed).integers(0, 100, (n, 301), np.uint8).astype(dtype) for seed in (1, 2))
    for y in (b, b[:1], b[:, :1], b[0, 0], b[:, ::-1]):
        check(a, y, offset=np.dtype(dtype).itemsize)
    check(a[:, :299], b[:, 2:], offset=1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_steps_are_read_up_to_a_fence_and_not_beyond(dtype):
    pages = 24
    memory = mmap.mmap(-1, (pages + 1) * mmap.PAGESIZE)
    whole = np.frombuffer(memory, np.uint8)
    whole[:] = np.random.default_rng(0).integers(0, 256, whole.size)
    fence = ctypes.c_void_p(whole.ctypes.data + pages * mmap.PAGESIZE)
    assert ctypes.CDLL(None).mprotect(fence, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    a = whole[: pages * mmap.PAGESIZE].view(dtype)
    for step in (1, 2, 3, 4, 5, -1, -2, -3, -4):
        for n in (1, 31, 64, 65, 511, 512, 513, 1024, 1025, 2000):
            view = a[::step][:n] if step < 0 else a[len(a) - 1 - (n - 1) * step :: step]
            assert np.array_equal(mn.subtract(view, view[:1]), np.subtract(view, view[:1]))
            b = np.arange(n).astype(dtype)
            assert np.array_equal(mn.subtract(b, view), np.subtract(b, view))
    for few, gap, many in itertools.product(range(2, 17), (0, 1, 13, 50), (64, 100)):
        wide = few + gap  # the last column that is read ends at the fence
        matrix = np.lib.stride_tricks.as_strided(
            a[len(a) - (many - 1) * wide - few :], (few, many), (a.itemsize, wide * a.itemsize)
        )
        b = np.arange(few * many).astype(dtype).reshape(few, many)
        for view in (matrix, matrix[:, ::-1], matrix[:, 1:]):
            assert np.array_equal(mn.subtract(b[:, : view.shape[1]], view), b[:, : view.shape[1]] - view)
