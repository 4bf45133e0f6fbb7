"""Dask, zarr, JAX and whatever speaks DLPack."""

from __future__ import annotations

import numpy as np
import pytest

import minuend as mn
from minuend.errors import DTypeError, OverflowFound, ShapeError

# ---- Dask -------------------------------------------------------------------------------------------------------


@pytest.fixture
def da():
    return pytest.importorskip("dask.array")


@pytest.mark.parametrize("policy", ["wrap", "saturate", "widen"])
def test_type_and_chunks_are_known_before_anything_is_computed(da, policy):
    a = np.arange(24, dtype=np.uint8).reshape(4, 6)
    b = np.full(6, 7, np.uint8)
    lazy = mn.subtract(da.from_array(a, chunks=(2, 3)), da.from_array(b, chunks=2), overflow=policy)
    want = mn.subtract(a, b, overflow=policy)
    assert (lazy.dtype, lazy.shape) == (want.dtype, want.shape)
    assert lazy.chunks == ((2, 2), (2, 1, 1, 2))
    assert np.array_equal(lazy.compute(scheduler="synchronous"), want)


def test_numbers_and_numpy_arrays_go_beside_dask(da):
    a = da.ones((3, 4), chunks=2, dtype=np.float32)
    for other in (2.0, np.float32(2), np.full(4, 2, np.float32), np.full((3, 1), 2, np.float32)):
        assert (mn.subtract(a, other).compute(scheduler="synchronous") == -1).all()
        assert (mn.subtract(other, a).compute(scheduler="synchronous") == 1).all()


def test_an_overflow_is_told_when_it_is_computed_with_its_place_in_the_whole(da):
    a = np.full((4, 6), 9, np.uint8)
    a[3, 4] = 1
    lazy = mn.subtract(da.from_array(a, chunks=(2, 3)), np.uint8(5), overflow="error")
    with pytest.raises(OverflowFound) as caught:
        lazy.compute(scheduler="synchronous")
    assert (caught.value.index, caught.value.a, caught.value.b) == ((3, 4), 1, 5)
    assert "1 of this block's 6 differences do not fit uint8" in str(caught.value)
    assert "the first is at index (3, 4)" in str(caught.value)


def test_what_is_wrong_is_told_before(da):
    a = da.ones(3, dtype=np.float32)
    with pytest.raises(DTypeError, match="a is of float32 and b of float64"):
        mn.subtract(a, da.ones(3))
    with pytest.raises(ShapeError):
        mn.subtract(a, da.ones(4, dtype=np.float32))
    with pytest.raises(ShapeError, match="out does not go with Dask arrays"):
        mn.subtract(a, a, out=np.zeros(3, np.float32))


def test_lengths_that_nobody_knows(da):
    a = da.arange(10, chunks=5)
    odd = a[a % 2 == 1]
    assert mn.subtract(odd, odd).compute(scheduler="synchronous").tolist() == [0] * 5


# ---- zarr -------------------------------------------------------------------------------------------------------


def test_zarr_arrays_are_read(tmp_path):
    zarr = pytest.importorskip("zarr")
    a = zarr.create_array(tmp_path / "a.zarr", shape=(4, 4), chunks=(2, 2), dtype="i4")
    a[...] = np.arange(16).reshape(4, 4)
    got = mn.subtract(a, a)
    assert type(got) is np.ndarray
    assert not got.any()
    with pytest.raises(ShapeError, match="out is a zarr array"):
        mn.subtract(a, a, out=a)


# ---- JAX --------------------------------------------------------------------------------------------------------


@pytest.fixture
def jnp():
    return pytest.importorskip("jax.numpy")


def test_jax_arrays_give_jax_arrays_and_keep_subnormals(jnp):
    a = jnp.asarray(np.array([5e-45, 1.5], np.float32))
    got = mn.subtract(a, jnp.asarray(np.array([1e-45, 1.0], np.float32)))
    assert type(got) is type(a)
    assert np.asarray(got).view(np.uint32)[0] != 0
    assert mn.subtract(a.astype(jnp.bfloat16), 1.0).dtype == jnp.bfloat16
    assert mn.subtract(jnp.asarray([5], jnp.uint8), 10).tolist() == [251]


def test_what_jax_traces_or_forbids_is_refused(jnp):
    import jax

    with pytest.raises(DTypeError, match="a is traced, and has no elements yet"):
        jax.jit(lambda x: mn.subtract(x, 1.0))(jnp.ones(3))
    with pytest.raises(ShapeError, match=r"a jax\.Array cannot be written to"):
        mn.subtract(np.ones(3), 1.0, out=jnp.ones(3))
    with pytest.raises(DTypeError, match=r"b is a numpy.ndarray beside a jax.Array"):
        mn.subtract(jnp.ones(3), np.ones(3, np.float32))


# ---- DLPack -----------------------------------------------------------------------------------------------------


class Exchanged:
    """An array that hands its memory on, and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Elsewhere(Exchanged):
    """One that NumPy does not reach."""

    def __dlpack__(self, **how):
        raise BufferError("it lies on another device")


def test_what_speaks_dlpack_is_read_in_place():
    a, b = Exchanged(np.array([5, 200], np.uint8)), Exchanged(np.array([10, 100], np.uint8))
    assert mn.subtract(a, b).tolist() == [251, 100]
    assert mn.subtract(a, 1).tolist() == [4, 199]
    with pytest.raises(DTypeError, match="a does not hand its memory to NumPy: it lies on another device"):
        mn.subtract(Elsewhere(np.ones(1)), 1.0)


def test_a_library_with_a_namespace_gets_an_array_of_its_own():
    xp = pytest.importorskip("array_api_strict")
    a = xp.asarray([1.5, 2.5])
    got = mn.subtract(a, a)
    assert type(got) is type(a)
    assert not np.from_dlpack(got).any()
