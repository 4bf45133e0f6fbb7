"""Memory of large results: recycled, bounded, returned, and never shared between two living arrays."""

import gc
import pickle
import subprocess
import sys
import textwrap
import tracemalloc

import numpy as np
import pytest

import minuend as mn
from minuend import _native

MIB = 1 << 20


@pytest.fixture(autouse=True)
def clean_cache():
    before = _native.cache_limit()
    mn.clear_cache()
    yield
    mn.set_cache_limit(before)
    mn.clear_cache()


def ones(nbytes):
    return np.ones(nbytes, np.uint8)


def test_a_freed_large_result_is_kept_for_the_next_one_of_its_size():
    a = ones(4 * MIB)
    first = mn.subtract(a, a)
    address = first.ctypes.data
    del first
    assert 4 * MIB <= _native.cached_bytes() <= 5 * MIB
    second = mn.subtract(a, a)
    assert second.ctypes.data == address
    assert _native.cached_bytes() == 0


def test_two_living_results_never_share_memory():
    a = ones(MIB)
    results = [mn.subtract(a, np.uint8(i)) for i in range(8)]
    for i, result in enumerate(results):
        assert (result == np.uint8(1 - i & 0xFF)).all()
    assert len({result.ctypes.data for result in results}) == 8


def test_small_results_are_numpys_own():
    a = ones(1000)
    del a
    x = mn.subtract(ones(1000), ones(1000))
    del x
    assert _native.cached_bytes() == 0


@pytest.mark.parametrize("nbytes", [8 << 10, 10_000, 100_000, 255 << 10, 256 << 10, 5 * MIB])
def test_results_start_on_a_cache_line_first_and_again(nbytes):
    a = ones(nbytes)
    for _ in range(3):
        result = mn.subtract(a, a)
        assert result.ctypes.data % 64 == 0
        assert not result.any()
        del result


def test_of_small_results_only_so_many_are_kept():
    a = ones(8 << 10)
    results = [mn.subtract(a, a) for _ in range(200)]
    one = 12 << 10  # with its header, in pages
    while results:
        results.pop()
        assert _native.cached_bytes() <= 64 * one
    assert _native.cached_bytes() == 64 * one


def test_the_limit_holds_over_small_and_large_results():
    mn.set_cache_limit(MIB)
    results = [mn.subtract(ones(n), ones(n)) for n in (100_000, 700_000, 100_000, 400_000, 200_000, 700_000)]
    while results:
        results.pop()
        assert 0 < _native.cached_bytes() <= MIB


def test_the_cache_never_holds_more_than_its_limit():
    mn.set_cache_limit(8 * MIB)
    a = ones(3 * MIB)
    results = [mn.subtract(a, a) for _ in range(6)]
    while results:
        results.pop()
        assert _native.cached_bytes() <= 8 * MIB
    assert _native.cached_bytes() > 3 * MIB
    mn.set_cache_limit(4 * MIB)
    assert _native.cached_bytes() <= 4 * MIB


def test_a_result_above_the_limit_is_not_kept():
    mn.set_cache_limit(MIB)
    mn.subtract(ones(4 * MIB), ones(4 * MIB))
    assert _native.cached_bytes() == 0


def test_limit_zero_switches_the_cache_off():
    mn.set_cache_limit(0)
    result = mn.subtract(ones(4 * MIB), ones(4 * MIB))
    del result
    assert _native.cached_bytes() == 0


def test_clear_cache_returns_all_and_says_how_much():
    mn.subtract(ones(4 * MIB), ones(4 * MIB))
    held = _native.cached_bytes()
    assert held > 0
    assert mn.clear_cache() == held
    assert _native.cached_bytes() == 0
    assert mn.clear_cache() == 0


def test_a_result_outlives_clear_cache():
    result = mn.subtract(ones(4 * MIB), np.uint8(0))
    mn.clear_cache()
    assert (result == 1).all()


def test_tracemalloc_sees_results_come_grow_and_go():
    operand = ones(MIB)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = mn.subtract(operand, np.uint8(0))
        held = [tracemalloc.get_traced_memory()[0] - before]
        result.resize((2 * MIB,), refcheck=False)
        held.append(tracemalloc.get_traced_memory()[0] - before)
        del result
        held.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    assert [round(size / MIB, 2) for size in held] == [1, 2, 0]


def test_results_are_ordinary_arrays_that_own_their_data():
    result = mn.subtract(ones(MIB), np.uint8(0))
    assert result.flags.owndata
    assert result.base is None
    assert result.ctypes.data % 64 == 0
    assert pickle.loads(pickle.dumps(result)).tobytes() == result.tobytes()
    result.resize((2 * MIB,), refcheck=False)
    assert (result[:MIB] == 1).all()
    assert (result[MIB:] == 0).all()
    result.resize((10,), refcheck=False)
    assert result.tolist() == [1] * 10


def test_numpys_memory_handler_is_left_as_it_was():
    before = np._core.multiarray.get_handler_name()
    result = mn.subtract(ones(MIB), ones(MIB))
    assert np._core.multiarray.get_handler_name(result) == "minuend"
    assert np._core.multiarray.get_handler_name() == before
    del result
    gc.collect()


def test_a_negative_limit_is_refused():
    with pytest.raises(ValueError, match="limit") as caught:
        mn.set_cache_limit(-1)
    assert str(caught.value) == "the cache's limit is -1 bytes; expected 0 or more"


def test_a_result_that_no_memory_holds_is_a_memory_error():
    a = np.lib.stride_tricks.as_strided(np.zeros(1, np.float64), (1 << 40, 1 << 10), (0, 0))
    with pytest.raises(MemoryError):
        mn.subtract(a, a)


@pytest.mark.skipif(sys.platform != "linux", reason="a bound on the address space as Linux keeps it")
def test_with_little_memory_blocks_of_other_sizes_are_given_back_before_a_result_is_refused():
    script = """
        import numpy as np, minuend as mn, resource
        small = np.zeros(1, np.uint8)
        mn.set_cache_limit(1 << 30)
        results = [mn.subtract(np.broadcast_to(small, (16 << 20,)), small) for _ in range(6)]
        del results
        pages = int(open("/proc/self/statm").read().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (8 << 20),) * 2)
        print(mn.subtract(np.broadcast_to(small, (64 << 20,)), small).any())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="a bound on the address space as Linux keeps it")
def test_results_are_freed_and_calls_answered_where_malloc_gives_nothing_more():
    # The C library is emptied down to the smallest blocks, then results are given back: more of them than ever before.
    script = """
        import ctypes, os, resource
        import numpy as np
        import minuend as mn
        mn.set_num_threads(4)
        small, large = np.ones(20_000, np.uint8), np.ones(1 << 20, np.uint8)
        results = [mn.subtract(x, x) for x in [small, large] * 40]
        malloc = ctypes.CDLL(None).malloc
        malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        pages = int(open("/proc/self/statm").read().split()[0]) + 100
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize(),) * 2)
        for size in (1 << 20, 1 << 16, 1 << 12, 1 << 8, 1 << 4):
            while malloc(size):
                pass
        while results:
            results.pop()
        mn.subtract(large, large, out=large)  # threads cannot be started
        mn.clear_cache()
        os.write(1, b"alive" + bytes(str(large.any()), "ascii"))
        os._exit(0)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"aliveFalse", b"")
