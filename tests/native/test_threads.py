"""Several threads give the answers of one: the kernel's own, the caller's, and those of a child process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import oracle
import pytest

from minuend import _native
from minuend.arrays.functions import count_overflows, subtract
from minuend.core.elements import TYPES
from minuend.errors import OverflowFound
from minuend.operators import codes as of_codes

PATIENCE = int(
    os.environ.get("MINUEND_TEST_PATIENCE", "1")
)  # how many times longer a child may take, as under a sanitizer
LONG = 700_003  # elements: work for several threads in every type, in no whole number of lines or parts


@pytest.fixture(params=[1, 2, 3, 16])
def threads(request):
    """Each number of threads in turn."""
    before = _native.get_num_threads()
    _native.set_num_threads(request.param)
    yield request.param
    _native.set_num_threads(before)


@pytest.fixture
def some_threads():
    before = _native.get_num_threads()
    yield _native.set_num_threads
    _native.set_num_threads(before)


def run_python(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **environment},
        capture_output=True,
        text=True,
        timeout=60 * PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("element", oracle.ARRAY_TYPES, ids=str)
def test_any_number_of_threads_gives_the_answer(element, threads):
    a, b = oracle.random_pairs(element, 997, seed=17)
    for policy in oracle.policies(element):
        want = np.resize(oracle.answers(element, a, b, policy), LONG)
        got = subtract(np.resize(a, LONG), np.resize(b, LONG), overflow=policy)
        assert np.array_equal(
            oracle.codes(oracle.result_type(element, policy), got),
            oracle.codes(oracle.result_type(element, policy), want),
        )


@pytest.mark.parametrize("element", [row for row in oracle.ARRAY_TYPES if row.is_integer], ids=str)
def test_any_number_of_threads_counts_every_overflow_and_finds_the_first(element, threads):
    a, b = (oracle.array(element, [0] * LONG) for _ in range(2))
    low, high = (oracle.array(element, [of_codes.encode(element, v)])[0] for v in element.limits)
    at = [LONG - 1, LONG - 2, LONG // 2, LONG // 2 + 1, 612_345]
    for i in at:
        a[i], b[i] = low, high
    assert count_overflows(a, b) == len(at)
    with pytest.raises(OverflowFound) as caught:
        subtract(a, b, overflow="error")
    assert (caught.value.count, caught.value.index) == (len(at), (min(at),))


@pytest.mark.parametrize("turn", ["plain", "transposed", "broadcast", "reversed"])
def test_any_number_of_threads_walks_any_layout(turn, threads):
    rng = np.random.default_rng(18)
    a, b = rng.integers(0, 2**16, (2, 813, 907), np.uint16)
    out = np.empty((813, 907), np.uint16)
    if turn == "transposed":
        a = np.ascontiguousarray(a.T).T
    if turn == "broadcast":
        b = b[:, :1]
    if turn == "reversed":
        a, out = a[::-1, ::-1], out[::-1]
    subtract(a, b, out=out)
    np.testing.assert_array_equal(out, a - b)
    subtract(a, b, out=a if turn != "broadcast" else out)
    np.testing.assert_array_equal(a if turn != "broadcast" else out, out)


def test_several_python_threads_at_once_get_their_own_answers(some_threads):
    some_threads(3)
    rng = np.random.default_rng(19)
    jobs = [rng.integers(0, 2**32, (2, 150_000 + 1_001 * i), np.uint32) for i in range(8)]
    wants = [a - b for a, b in jobs]
    barrier = threading.Barrier(8)

    def work(i: int) -> bool:
        barrier.wait()
        return all(np.array_equal(subtract(*jobs[i]), wants[i]) for _ in range(25))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_python_threads_run_while_a_long_subtraction_does(some_threads):
    some_threads(1)
    a = np.zeros(10_000_000, np.uint8)
    gate, ran = threading.Event(), []
    other = threading.Thread(target=lambda: (gate.wait(), ran.append(True)))
    other.start()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # the interpreter takes its lock from no thread; only the kernel gives it away
    try:
        gate.set()
        for _ in range(200):
            subtract(a, a, out=a)
            if ran:
                break
        seen = list(ran)
    finally:
        sys.setswitchinterval(before)
        other.join()
    assert seen == [True]


def test_changing_the_number_of_threads_and_the_instruction_set_meanwhile_changes_no_answer(some_threads):
    rng = np.random.default_rng(20)
    a, b = rng.standard_normal((2, 300_000)).astype(np.float32)
    want = a - b
    isa = _native.get_instruction_set()
    stop = threading.Event()

    def meddle() -> None:
        i = 0
        while not stop.wait(1e-4):
            i += 1
            _native.set_num_threads(1 + i % 5)
            _native.set_instruction_set(_native.instruction_sets()[i % len(_native.instruction_sets())])

    other = threading.Thread(target=meddle)
    other.start()
    try:
        for _ in range(100):
            np.testing.assert_array_equal(subtract(a, b), want)
    finally:
        stop.set()
        other.join()
        _native.set_instruction_set(isa)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_subtracts_after_its_parent_used_threads():
    result = run_python(
        """
        import os, signal, sys, threading, warnings
        import numpy as np
        from minuend import _native
        from minuend.arrays.functions import subtract

        warnings.simplefilter("ignore")  # Python warns of any fork beside threads, which is what is tried here
        _native.set_num_threads(3)
        a = np.arange(2_000_000, dtype=np.uint32)
        b = a[::-1].copy()
        want = a - b
        busy = threading.Thread(target=lambda: [subtract(a, b) for _ in range(200)])
        assert np.array_equal(subtract(a, b), want)
        busy.start()
        for _ in range(5):
            child = os.fork()
            if child == 0:
                signal.alarm(30)  # it ends, even where nobody waits for it any more
                ok = all(np.array_equal(subtract(a, b), want) for _ in range(5))
                os._exit(0 if ok else 3)
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 0, status
        busy.join()
        assert np.array_equal(subtract(a, b), want)
        print("same")
        """
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "same\n", "")


# ThreadSanitizer follows no child that starts threads; it runs the first.
@pytest.mark.parametrize("threads", ["1", "3"], ids=["a child alone", "a child with threads"])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_children_forked_while_others_compute_clear_the_cache_and_change_threads_do_as_their_parent(threads):
    result = run_python(
        """
        import itertools, os, signal, threading, warnings
        import numpy as np
        import minuend as mn
        from minuend import _native

        warnings.simplefilter("ignore")  # Python warns of any fork beside threads, which is what is tried here
        mn.set_num_threads(3)
        a = np.arange(300_000, dtype=np.uint32)
        b = a[::-1].copy()
        want = a - b
        assert np.array_equal(mn.subtract(a, b), want)  # Python's own import locks are not tried here
        stop = threading.Event()

        def compute():
            while not stop.is_set():
                mn.subtract(a, b)

        def clear():
            for i in itertools.count():
                if stop.is_set():
                    break
                mn.clear_cache()
                mn.set_cache_limit(1 << 24)
                mn.set_num_threads(1 + i % 4)

        others = [threading.Thread(target=work) for work in (compute, compute, clear)]
        for other in others:
            other.start()
        statuses = []
        for _ in range(15):
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # what hangs is ended, and seen in the status
                mn.set_num_threads(int(os.environ["THREADS"]))
                ok = all(np.array_equal(mn.subtract(a, b), want) for _ in range(3))
                mn.set_cache_limit(_native.cache_limit() // 2)
                mn.clear_cache()
                ok = ok and _native.cached_bytes() == 0
                grandchild = os.fork()
                if grandchild == 0:
                    os._exit(0 if np.array_equal(mn.subtract(a, b), want) else 3)
                ok = ok and os.waitpid(grandchild, 0)[1] == 0
                os._exit(0 if ok else 3)
            statuses.append(os.waitpid(child, 0)[1])
        stop.set()
        for other in others:
            other.join()
        print(set(statuses), np.array_equal(mn.subtract(a, b), want))
        """,
        THREADS=threads,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "{0} True\n", "")


def test_a_process_ends_while_its_threads_wait():
    result = run_python(
        """
        import numpy as np
        from minuend import _native
        from minuend.arrays.functions import subtract
        _native.set_num_threads(4)
        a = np.ones(3_000_000, np.float32)
        print(subtract(a, a).any())
        """
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "False\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="affinity and /proc as Linux has them")
@pytest.mark.skipif(len(getattr(os, "sched_getaffinity", lambda _: [0])(0)) < 2, reason="one CPU")
def test_helping_threads_are_kept_off_the_cpu_of_their_caller():
    # Linux would wake them there, and both would take turns while another CPU is idle.
    script = """
        import os, numpy as np, minuend as mn
        mn.set_num_threads(2)
        a = np.ones(1 << 20, np.float32)
        for _ in range(20):
            mn.subtract(a, a)
        usable = os.sched_getaffinity(0)
        sets = [os.sched_getaffinity(int(task)) for task in os.listdir("/proc/self/task")]
        print(sum(own < usable and len(own) == len(usable) - 1 for own in sets))
    """
    done = run_python(script)
    assert (done.stdout, done.stderr) == ("1\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_process_that_imported_the_module_twice_can_still_fork():
    script = """
        import os, sys
        import minuend._native
        del sys.modules["minuend._native"]
        import minuend._native
        child = os.fork()
        if child == 0:
            os._exit(0)
        print(os.waitpid(child, 0)[1])
    """
    done = run_python(script)
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.parametrize("number", ["1", "2", "7"])
def test_the_environment_sets_the_number_of_threads(number):
    script = """
        import numpy as np
        from minuend import _native
        from minuend.arrays.functions import subtract
        a = np.arange(1_000_000, dtype=np.int64)
        print(_native.get_num_threads(), int(subtract(a, a[::-1]).sum()))
        """
    result = run_python(script, MINUEND_NUM_THREADS=number)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{number} 0\n", "")


@pytest.mark.parametrize("number", ["abc", "0", "-3", "4097", "2 threads"])
def test_a_wish_for_threads_that_makes_no_sense_stops_the_import(number):
    result = run_python("import minuend._native", MINUEND_NUM_THREADS=number)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == (
        f"ImportError: MINUEND_NUM_THREADS is '{number}'; expected a number from 1 to 4096"
    )


def test_without_a_wish_there_are_as_many_threads_as_cpus_to_run_on():
    script = """
        from minuend import _native
        import os
        own, quota = len(os.sched_getaffinity(0)), _native.container()[0]
        print(_native.get_num_threads() == min(own, quota or own))
    """
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("this system does not say on which CPUs a process may run")
    environment = {"MINUEND_NUM_THREADS": ""}
    assert run_python(script, **environment).stdout == "True\n"


@pytest.mark.parametrize("isa", _native.instruction_sets())
def test_the_environment_sets_the_instruction_set(isa):
    result = run_python("from minuend import _native; print(_native.get_instruction_set())", MINUEND_ISA=isa)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{isa}\n", "")


def test_an_instruction_set_in_the_environment_that_the_cpu_does_not_run_stops_the_import():
    result = run_python("import minuend._native", MINUEND_ISA="avx9000")
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == (
        "ImportError: MINUEND_ISA is 'avx9000', an instruction set that this CPU does not run; "
        f"the best is '{_native.instruction_sets()[-1]}'"
    )


@pytest.mark.parametrize("number", [0, -1, 4097])
def test_a_number_of_threads_that_makes_no_sense_is_an_error(number):
    before = _native.get_num_threads()
    with pytest.raises(ValueError, match="threads") as caught:
        _native.set_num_threads(number)
    assert str(caught.value) == f"the number of threads is {number}; expected 1 to 4096"
    assert _native.get_num_threads() == before


def test_types_are_told_from_each_other_by_the_threads_too(some_threads):
    some_threads(2)
    a = np.full(LONG, 3, np.uint8)
    wide = subtract(a, np.uint8(5), overflow="widen")
    assert (wide.dtype, set(wide.tolist())) == (TYPES["int16"].memory, {-2})
