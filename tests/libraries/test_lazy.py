"""Across modules: Dask, zarr, JAX and other libraries with DLPack."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import minuend as mn
from minuend.errors import DTypeError, OverflowFound, ScalarRangeError, ShapeError, Unsupported

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


@pytest.mark.parametrize(
    ("a", "b"), [((4, 1), (3,)), ((4, 1), (1, 3)), ((4, 1), (0,)), ((1,), (6,)), ((1, 3), (4, 3))], ids=str
)
def test_what_repeats_has_the_results_shape_before_anything_is_computed(da, a, b):
    for x, y in ((a, b), (b, a)):
        lazy = mn.subtract(da.ones(x, chunks=2), da.ones(y, chunks=2))
        want = da.ones(x, chunks=2) - da.ones(y, chunks=2)
        assert (lazy.shape, lazy.chunks) == (want.shape, want.chunks)
        assert lazy.compute(scheduler="synchronous").shape == want.shape


def test_blocks_of_unknown_lengths_do_not_broadcast_one_by_one(da):
    """Dask itself gives six elements of four minus four, where their blocks have 1 and 3, and 3 and 1."""
    a = da.arange(6, chunks=3)
    x, y = a[(a == 0) | (a > 2)], a[(a < 3) | (a == 5)]
    lazy = mn.subtract(x, y)
    with pytest.raises(ShapeError) as caught:
        lazy.compute(scheduler="synchronous")
    assert str(caught.value) in {
        "blocks of a and b have 1 and 3 elements along axis -1; expected equal ones",
        "blocks of a and b have 3 and 1 elements along axis -1; expected equal ones",
    }
    assert mn.subtract(x.compute_chunk_sizes(), y.compute_chunk_sizes()).compute(scheduler="synchronous").size == 4


def test_blocks_of_unknown_lengths_have_to_be_as_many_in_both(da):
    a = da.arange(6, chunks=3)
    for other, text in ((da.arange(6, chunks=6)[a.rechunk(6) % 2 == 0], "1 blocks of unknown length"),
                        (np.arange(3), "1 blocks of 3")):  # fmt: skip
        with pytest.raises(ShapeError) as caught:
            mn.subtract(a[a % 2 == 0], other)
        assert str(caught.value) == (
            f"the lengths along axis -1 are not known (2 blocks of unknown length, {text} in all); expected the same "
            "blocks in both, or known lengths: x.compute_chunk_sizes()"
        )


def masked(start: int, every: int, shape=(4, 6)) -> np.ma.MaskedArray:
    numbers = np.arange(start, start + int(np.prod(shape)), dtype=np.uint8).reshape(shape)
    return np.ma.array(numbers, mask=numbers % every == 0, fill_value=77)


@pytest.mark.parametrize("policy", ["wrap", "saturate", "widen"])
def test_blocks_that_are_masked_stay_masked(da, policy):
    a, b, plain = masked(9, 5), masked(0, 4), np.arange(24, dtype=np.uint8).reshape(4, 6)
    x, y, z = (da.from_array(one, chunks=(2, 3)) for one in (a, b, plain))
    row = da.from_array(b[:1], chunks=2)
    pairs = [(x, y, a, b), (x, z, a, plain), (z, x, plain, a), (x, 3, a, 3), (z, a, plain, a), (y, plain, b, plain),
             (x, row, a, b[:1]), (x.sum(), np.uint64(1), a.sum(dtype=np.uint64), np.uint64(1))]  # fmt: skip
    for one, other, m, n in pairs:
        lazy, want = mn.subtract(one, other, overflow=policy), mn.subtract(m, n, overflow=policy)
        got = lazy.compute(scheduler="synchronous")
        if np.ndim(m):
            assert isinstance(lazy._meta, np.ma.MaskedArray)
            assert isinstance(got, np.ma.MaskedArray)
            assert got.fill_value == want.fill_value
        assert lazy.dtype == want.dtype
        assert np.array_equal(np.ma.getmaskarray(got), np.ma.getmaskarray(want))
        assert np.array_equal(np.ma.filled(got, 0), np.ma.filled(want, 0))


def test_what_is_masked_in_a_block_does_not_overflow(da):
    a = np.ma.array([[0, 1], [3, 200]], np.uint8, mask=[[1, 0], [0, 0]])
    lazy = mn.subtract(da.from_array(a, chunks=1), np.uint8(1), overflow="error")
    assert lazy.compute(scheduler="synchronous").tolist() == [[None, 0], [2, 199]]
    scalar = mn.subtract(da.from_array(a[0, :1], chunks=1)[0], np.uint8(6), overflow="error")
    found = scalar.compute(scheduler="synchronous")
    assert (found.shape, found.dtype, bool(found.mask)) == ((), np.uint8, True)


def test_a_mask_that_nobody_announced_is_kept(da):
    numbers = da.arange(6, chunks=3)
    hidden = numbers.map_blocks(lambda x: np.ma.masked_where(x % 2 == 0, x), meta=np.empty(0, int))
    assert mn.subtract(hidden, 1).compute(scheduler="synchronous").tolist() == [None, 0, None, 2, None, 4]
    odd = da.ma.masked_equal(numbers, 2)[numbers != 4]  # of lengths that are not known
    assert mn.subtract(odd, odd).compute(scheduler="synchronous").tolist() == [0, 0, None, 0, 0]


def test_blocks_that_are_no_arrays_are_refused_before(da):
    sparse = pytest.importorskip("scipy.sparse")
    a = da.from_array(np.eye(4), chunks=2).map_blocks(sparse.csr_array)
    for operands in ((a, 1.0), (1.0, a)):
        with pytest.raises(DTypeError) as caught:
            mn.subtract(*operands)
        name = "ab"[operands[0] is not a]
        assert str(caught.value) == (
            f"{name} is a dask.array.Array of scipy.sparse._csr.csr_array blocks, which are no arrays that are "
            "subtracted; make NumPy arrays of them with map_blocks"
        )


def test_a_class_of_blocks_is_known_before_and_without_axes_there_is_a_number(da):
    class Readings(np.ndarray):
        pass

    a = da.from_array(np.array([[5.0, 7.0]]).view(Readings), asarray=False)
    found, own = mn.subtract(a, a), a - a
    assert type(found._meta) is type(own._meta) is Readings
    assert type(found.compute()) is type(own.compute())
    for x, y in ((a.sum(), a.sum()), (a.sum(), 1.0)):
        assert type(mn.subtract(x, y).compute()) is type((x - y).compute())


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


def test_what_zarr_has_beside_arrays_is_refused(tmp_path):
    """A group was looked up again and again, until Python's stack ended."""
    zarr = pytest.importorskip("zarr")
    group = zarr.group(tmp_path / "g.zarr")
    a = group.create_array("a", data=np.arange(3))
    for operands, name in (
        ((group, 1), "a"),
        ((a, group), "b"),
        ((np.arange(3), group), "b"),
        ((a._async_array, 1), "a"),
    ):
        with pytest.raises(
            DTypeError, match=rf"{name} is a zarr\.core\.\w+\.\w+( beside|;).*x\[\.\.\.\] reads a zarr\.Array"
        ):
            mn.subtract(*operands)
    with pytest.raises(DTypeError, match=r"out is a zarr\.core\.group\.Group beside"):
        mn.subtract(a, 1, out=group)
    assert mn.subtract(a, np.int64(1)).tolist() == mn.subtract(a, np.ones(3, np.int64)).tolist() == [-1, 0, 1]


# ---- JAX --------------------------------------------------------------------------------------------------------


@pytest.fixture
def jnp():
    """``jax.numpy`` as it is set by default: other tests of this process want 64 bits."""
    found = pytest.importorskip("jax.numpy")
    import jax

    with jax.enable_x64(False):
        yield found


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


def test_jax_does_not_halve_what_is_widened(jnp):
    """It makes int32 of int64 without an error, as it is set by default."""
    import jax

    a, b = jnp.asarray([2**31 - 1], jnp.int32), jnp.asarray([-1], jnp.int32)
    with pytest.raises(Unsupported) as caught:
        mn.subtract(a, b, overflow="widen")
    assert str(caught.value) == 'JAX has no int64 as it is set; jax.config.update("jax_enable_x64", True)'
    with jax.enable_x64(True):
        assert mn.subtract(a, b, overflow="widen").tolist() == [2**31]
        wide, less = jnp.asarray([2**40], jnp.int64), jnp.asarray([2**40 - 1], jnp.int64)
    found = mn.subtract(wide, less)
    assert (found.dtype, found.tolist()) == (np.int64, [1])
    weak = jnp.asarray(3)
    assert mn.subtract(wide, weak).tolist() == [2**40 - 3]


def test_weakly_typed_arrays_stand_for_numbers(jnp):
    weak = jnp.full(3, 2.0)
    found = mn.subtract(jnp.ones(3, jnp.bfloat16), weak)
    assert (found.dtype, found.weak_type, found.tolist()) == (jnp.bfloat16, False, [-1.0] * 3)
    assert mn.subtract(weak, weak).weak_type
    assert mn.subtract(weak, 1.0).weak_type
    assert not mn.subtract(weak, np.float32(1)).weak_type
    assert mn.subtract(jnp.asarray([5], jnp.uint8), jnp.asarray(7)).tolist() == [254]
    with pytest.raises(ScalarRangeError) as caught:
        mn.subtract(jnp.asarray([5], jnp.uint8), jnp.asarray(300))
    assert str(caught.value) == "the weakly typed 300 to 300 do not fit uint8 (0 to 255)"
    with pytest.raises(DTypeError, match="a is of uint8 and b of float32"):
        mn.subtract(jnp.asarray([5], jnp.uint8), weak)
    with pytest.raises(DTypeError, match="a is of uint2 and b of float32"):  # of which JAX knows no common type
        mn.subtract(jnp.asarray([1], jnp.uint2), weak)


def test_keys_of_jax_are_no_numbers(jnp):
    import jax

    with pytest.raises(DTypeError) as caught:
        mn.subtract(jax.random.key(1), jax.random.key(2))
    assert str(caught.value) == "a is of JAX's type key<fry>, whose elements are no numbers"


PLACED = """
import jax, numpy as np, minuend as mn
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
d = jax.devices()
mesh = Mesh(np.array(d).reshape(2, 2), ("p", "q"))
x = jax.numpy.ones((4, 4))
grid, rows = (jax.device_put(x, NamedSharding(mesh, spec)) for spec in (P("p", "q"), P("p")))
for a, b in ((grid, grid), (grid, x), (2.0, rows), (rows, x[0]), (x, x), (x, 1.0), (jax.device_put(x, d[2]), x)):
    got, want = mn.subtract(a, b), a - b
    assert (got.sharding, got.committed) == (want.sharding, want.committed), (got.sharding, want.sharding)
    assert np.array_equal(got, want)
try:
    mn.subtract(jax.device_put(x, d[1]), jax.device_put(x, d[2]))
except mn.DTypeError as error:
    print(error)
"""


def test_a_result_lies_where_jaxs_own_would(jnp):
    devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    run = subprocess.run(
        [sys.executable, "-c", PLACED], env={**os.environ, **devices}, capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.returncode) == (
        "a and b lie on different devices; nothing is moved, expected one: jax.device_put(x, device)\n",
        0,
    ), run.stderr


def test_more_dims_than_numpy_takes_are_refused(jnp):
    many = jnp.ones((1,) * 65)
    for operands in ((many, many), (many, 1.0), (1.0, many)):
        with pytest.raises(ShapeError, match=r"a jax\.Array cannot be seen as a NumPy array: .*dim"):
            mn.subtract(*operands)


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
    with pytest.raises(DTypeError, match="b does not hand its memory to NumPy: DT_INT4 is not supported by dlpack"):
        mn.subtract(1, Unusual(np.ones(1)))


class Unusual(Exchanged):
    """One whose library has errors of its own, as TensorFlow has."""

    def __dlpack__(self, **how):
        class InvalidArgumentError(Exception):
            pass

        raise InvalidArgumentError("DT_INT4 is not supported by dlpack")


class Text(Exchanged):
    """One of texts, whose library ends the process when their memory is read, as TensorFlow's does."""

    class dtype:  # noqa: N801 - as arrays name it
        name = "string"

    def __dlpack__(self, **how):
        raise AssertionError("the memory of texts was read")


def test_the_memory_of_what_is_no_number_is_not_asked_for():
    for operands, name in (
        ((Text(np.ones(1)), 1.0), "a"),
        ((Text(np.ones(1)), Text(np.ones(1))), "a"),
        ((1, Text(0)), "b"),
    ):
        with pytest.raises(DTypeError, match=f"{name}: element type 'string': subtraction is not defined for strings"):
            mn.subtract(*operands)


def test_a_library_with_a_namespace_gets_an_array_of_its_own():
    xp = pytest.importorskip("array_api_strict")
    a = xp.asarray([1.5, 2.5])
    got = mn.subtract(a, a)
    assert type(got) is type(a)
    assert not np.from_dlpack(got).any()


def test_a_result_lies_on_its_operands_device():
    """The result of arrays on another device lay on the first one."""
    xp = pytest.importorskip("array_api_strict")
    a, b = (xp.asarray([1.5, 2.5], device=xp.Device(name)) for name in ("device1", "CPU_DEVICE"))
    assert mn.subtract(a, a).device == mn.subtract(2.0, a).device == a.device
    assert mn.subtract(b, b).device == mn.subtract(np.float64(2), b).device == b.device
    with pytest.raises(DTypeError, match="nothing is moved between devices"):
        mn.subtract(a, b)
