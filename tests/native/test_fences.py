"""Across native/: nothing outside the operands is touched. Each lies beside a page without access."""

import ctypes
import itertools
import mmap
import sys

import numpy as np
import pytest

import minuend as mn
from minuend.core.elements import TYPES

PAGE = mmap.PAGESIZE
WITH_DTYPE = [row for row in TYPES.values() if row.numpy is not None]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pages are fenced by mprotect, as Linux has it")


class Fenced:
    """One page of bytes, or a few, between two pages that fault."""

    def __init__(self, pages=1):
        self.map = mmap.mmap(-1, (pages + 2) * PAGE)
        whole = np.frombuffer(self.map, np.uint8)
        libc = ctypes.CDLL(None, use_errno=True)
        for page in (0, pages + 1):
            address = ctypes.c_void_p(whole.ctypes.data + page * PAGE)
            assert libc.mprotect(address, ctypes.c_size_t(PAGE), mmap.PROT_READ * 0) == 0
        self.bytes = whole[PAGE:-PAGE]

    def array(self, dtype, n, *, at_end):
        """n elements of a dtype that begin at the first fence's end, or end at the second one's begin."""
        size = n * dtype.itemsize
        part = self.bytes[len(self.bytes) - size :] if at_end else self.bytes[:size]
        return part.view(dtype)

    def view(self, dtype, shape, strides, *, at_end):
        """Elements with these strides, in bytes, of which the outermost byte touches a fence."""
        reaches = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
        below, above = -sum(min(r, 0) for r in reaches), sum(max(r, 0) for r in reaches) + dtype.itemsize
        return np.ndarray(shape, dtype, self.bytes, len(self.bytes) - above if at_end else below, strides)


@pytest.fixture(scope="module")
def pages():
    return Fenced(), Fenced(), Fenced()


@pytest.mark.parametrize("at_end", [False, True], ids=["from a fence on", "up to a fence"])
@pytest.mark.parametrize("row", WITH_DTYPE, ids=str)
def test_every_count_up_to_two_registers_stays_between_its_fences(row, at_end, isa, pages):
    rng = np.random.default_rng(0)
    policies = ("wrap", "saturate", "error") if row.is_integer else ("wrap",)
    for n in range(131):
        a, b, out = (page.array(row.numpy, n, at_end=at_end) for page in pages)
        codes = rng.integers(0, 1 << min(row.bits, 8), (2, n * row.itemsize), dtype=np.uint8)
        if row.kind == "float" and row.kernel != "table":
            codes &= 0x3F  # no NaN, whose payload is unspecified
        a.view(np.uint8)[:], b.view(np.uint8)[:] = codes
        expected = mn.subtract(a.copy(), b.copy())
        for policy in policies:
            try:
                mn.subtract(a, b, out, overflow=policy)
            except OverflowError:
                continue
            if policy == "wrap":
                assert out.tobytes() == expected.tobytes()
        if n:
            mn.subtract(a, b[:1], out)
            mn.subtract(a[-1:], b, out)
            mn.subtract(a[::-1], b, out)
            mn.subtract(a[::2], b[::2], out[::2])


@pytest.mark.parametrize("row", WITH_DTYPE, ids=str)
def test_every_second_element_up_to_a_fence_is_what_a_copy_gives(row, isa, pages):
    rng = np.random.default_rng(0)
    policies = ("wrap", "saturate", "widen", "error") if row.is_integer and row.bits >= 2 else ("wrap",)
    for n in [*range(1, 70), 127, 128, 129, 255, 256]:
        a, b = (page.array(row.numpy, 2 * n, at_end=True) for page in pages[:2])
        codes = rng.integers(0, 1 << min(row.bits, 8), (2, 2 * n * row.itemsize), dtype=np.uint8)
        if row.kind == "float" and row.kernel != "table":
            codes &= 0x3F  # no NaN, whose payload is unspecified
        a.view(np.uint8)[:], b.view(np.uint8)[:] = codes
        x, y = a[1::2], b[1::2]
        for policy, (p, q) in itertools.product(
            policies, ((x, y), (x, y.copy()), (x.copy(), y), (x, y[-1]), (x[-1], y))
        ):
            assert outcome(p, q, policy) == outcome(p.copy(), q.copy(), policy)


def outcome(a, b, policy):
    """The result's bytes, or the error's text."""
    try:
        return mn.subtract(a, b, overflow=policy).tobytes()
    except OverflowError as error:
        return str(error)


@pytest.mark.parametrize("row", [row for row in WITH_DTYPE if row.is_integer and row.bits >= 2], ids=str)
def test_widened_results_stay_between_their_fences(row, isa, pages):
    for n in range(1, 131):
        a, b = (page.array(row.numpy, n, at_end=True) for page in pages[:2])
        a.view(np.uint8)[:] = 1
        b.view(np.uint8)[:] = 0
        out = pages[2].array(row.widened.memory, n, at_end=True)
        mn.subtract(a, b, out, overflow="widen")
        assert out.astype(np.int64).tolist() == [int(x) for x in a]


@pytest.mark.parametrize("row", [TYPES["uint8"], TYPES["int16"], TYPES["float32"], TYPES["float64"]], ids=str)
def test_transposed_operands_stay_between_their_fences(row, isa, pages):
    square = ((8, 8), (9, 17), (16, 16), (13, 31), (31, 13))
    for shape in (*square, *((few, 30) for few in range(2, 17)), *((30, few) for few in range(2, 17))):
        n = shape[0] * shape[1]
        for at_end in (False, True):
            a, b, out = (page.array(row.numpy, n, at_end=at_end) for page in pages)
            a[:] = np.arange(n) % 100
            b[:] = np.arange(n) % 50
            x, y = a.reshape(shape), b.reshape(shape[::-1]).T
            mn.subtract(x, y, out.reshape(shape))
            assert (out.reshape(shape) == x - y).all()


@pytest.fixture(scope="module")
def rooms():
    return Fenced(64), Fenced(64), Fenced(64)


def random_strides(rng, shape, itemsize, *, repeats):
    """Strides in any order of the dims, with steps, gaps and signs; some of 0 where elements may repeat."""
    strides, step = [0] * len(shape), itemsize
    for dim in rng.permutation(len(shape)):
        if repeats and rng.random() < 0.2:
            continue
        step *= int(rng.choice([1, 1, 1, 1, 2, 3, 4]))
        strides[dim] = step * int(rng.choice([1, 1, -1]))
        step = step * shape[dim] + itemsize * int(rng.choice([0, 0, 1, 5]))
    return strides


@pytest.mark.parametrize("seed", range(6))
def test_random_layouts_stay_between_their_fences(seed, isa, rooms):
    rng = np.random.default_rng(seed)
    for _ in range(150):
        row = WITH_DTYPE[rng.integers(len(WITH_DTYPE))]
        overflow = rng.choice(["wrap", "saturate"] if row.is_integer else ["wrap"])
        shape = tuple(int(n) for n in rng.integers(1, rng.choice([4, 20, 40]), rng.integers(1, 4)))
        views = []
        for i, room in enumerate(rooms):
            strides = random_strides(rng, shape, row.itemsize, repeats=i < 2)
            if sum((n - 1) * abs(stride) for n, stride in zip(shape, strides, strict=True)) >= 60 * PAGE:
                break
            views.append(room.view(row.numpy, shape, strides, at_end=rng.random() < 0.5))
        if len(views) < 3:
            continue
        a, b, out = views
        for x in (a, b):
            codes = rng.integers(0, 1 << min(row.bits, 8), (*shape, row.itemsize), dtype=np.uint8)
            if row.kind == "float" and row.kernel != "table":
                codes &= 0x3F  # no NaN, whose payload is unspecified
            x[...] = codes.view(row.numpy)[..., 0]
        want = mn.subtract(a.copy(), b.copy(), overflow=overflow)
        assert mn.subtract(a, b, overflow=overflow).tobytes() == want.tobytes()
        mn.subtract(a, b, out, overflow=overflow)
        assert out.tobytes() == want.tobytes()
