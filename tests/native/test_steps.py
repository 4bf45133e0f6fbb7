"""native/kernel/gather.h: operands of every small step, forwards and backwards, in one dim and in two."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import minuend as mn

pytestmark = pytest.mark.usefixtures("isa")

DTYPES = ("uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
STEPS = [sign * step for step in range(2, 18) for sign in (1, -1)]
COUNTS = (1, 2, 3, 15, 16, 17, 31, 32, 33, 34, 63, 65, 100, 129, 1000)


def stepped(dtype: str, rows: int, n: int, step: int, seed: int) -> np.ndarray:
    """Rows of every step-th element, of an array that ends with the last one (backwards: begins with it)."""
    width = (n - 1) * abs(step) + 1
    values = np.random.default_rng(seed).integers(0, 200, (rows, width)).astype(dtype)
    return values[:, ::step]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_step_at_every_count(dtype, step):
    for n in COUNTS:
        a, b = stepped(dtype, 2, n, step, 1), stepped(dtype, 2, n, step, 2)
        plain = stepped(dtype, 2, n, 1, 3)
        for x, y in ((a, b), (a, plain), (plain, b), (a, plain[:, :1]), (plain[:1], b), (a, b[:, ::-1])):
            assert np.array_equal(mn.subtract(x, y), np.subtract(x, y)), n


@pytest.mark.parametrize("step", STEPS)
def test_steps_under_every_policy_report_what_overflows_and_nothing_in_between(step):
    for dtype, n in itertools.product(("int8", "uint16", "int32", "int64"), (33, 400)):
        a, b = (np.full((3, n * abs(step)), fill, dtype)[:, ::step] for fill in (100, 1))
        for gap in range(1, abs(step)):  # what lies in between would overflow
            low = a.base.reshape(3, -1)
            low[:, gap :: abs(step)] = np.iinfo(dtype).min
        if step < 0:
            a.base[...] = np.roll(a.base, -1, axis=1)
        assert (a == 100).all()
        for policy in ("wrap", "saturate", "widen", "error"):
            assert (mn.subtract(a, b, overflow=policy) == 99).all()
        a[1, n // 2] = np.iinfo(dtype).min
        with pytest.raises(mn.OverflowFound, match=rf"^1 of {3 * n} .* index \(1, {n // 2}\)"):
            mn.subtract(a, b, overflow="error")


@pytest.mark.parametrize("dtype", DTYPES)
def test_steps_in_two_dims_and_of_the_result(dtype):
    values = [np.random.default_rng(seed).integers(0, 200, (90, 700)).astype(dtype) for seed in range(3)]
    for down, along in itertools.product((1, 2, 5, -3), (2, 3, 5, 7, 8, 16, -4, -7)):
        a, b, out = (each[::down, ::along] for each in values)
        want, beside = np.subtract(a, b), values[2].copy()
        beside[::down, ::along] = want
        mn.subtract(a, b, out=out)
        assert np.array_equal(values[2], beside)
        assert np.array_equal(mn.subtract(a[:, 1:], b[:, :-1]), np.subtract(a[:, 1:], b[:, :-1]))
        mn.subtract(a, b, out=a)
        assert np.array_equal(a, want)
