"""Across native/: short counts, odd addresses and fences around the result, for each instruction set."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import platform

import numpy as np
import oracle
import pytest

from minuend import _native
from minuend.arrays.functions import compute, count_overflows, subtract
from minuend.core import shapes
from minuend.core.elements import TYPES, ElementType
from minuend.errors import Unsupported
from minuend.operators import OPERATORS
from minuend.operators import codes as of_codes

VECTOR = 64  # bytes of the widest register
FENCE = 0xA5
# One type a kernel: what reads a table reads every one in the same way.
KERNELS = [row for row in oracle.ARRAY_TYPES if row.kernel != "table" or row.name == "uint4"]
FORMS = ("array - array", "array - scalar", "scalar - array", "out is a", "out is b")


def by_name(row: object) -> str:
    return str(row)


def longest(element: ElementType) -> int:
    return 2 * VECTOR // element.itemsize + 2


@functools.cache
def expected(element: ElementType, policy: str, form: str) -> tuple[oracle.Array, oracle.Array, oracle.Array]:
    """Operands of every length up to the longest are the first elements of these; so are their differences."""
    n = longest(element)
    a, b = oracle.random_pairs(element, n, seed=11)
    if form == "array - scalar":
        b = np.repeat(b[:1], n)
    if form == "scalar - array":
        a = np.repeat(a[:1], n)
    good = oracle.answerable(element, a, b, policy)
    a, b = np.resize(a[good], n), np.resize(b[good], n)
    return a, b, oracle.answers(element, a, b, policy)


def placed(values: oracle.Array, offset: int) -> oracle.Array:
    """The values at an address that lies ``offset`` bytes behind a multiple of the vector's size."""
    room = np.zeros(values.nbytes + 2 * VECTOR, np.uint8)
    start = -room.ctypes.data % VECTOR + offset
    view = room[start : start + values.nbytes].view(values.dtype)
    view[...] = values
    return view


def fenced(dtype: np.dtype, n: int, offset: int) -> tuple[oracle.Array, oracle.Array, slice]:
    """An array between sentinel bytes, at such an address; and its bytes' place in the whole."""
    size = n * dtype.itemsize
    room = np.full(size + 4 * VECTOR, FENCE, np.uint8)
    start = VECTOR + -room.ctypes.data % VECTOR + offset
    inside = slice(start, start + size)
    return room, room[inside].view(dtype), inside


def check(element: ElementType, policy: str, form: str, n: int, offsets: tuple[int, int, int]) -> None:
    a, b, want = (run[:n] for run in expected(element, policy, form))
    room, out, inside = fenced(oracle.result_type(element, policy).memory, n, offsets[2])
    x, y = placed(a, offsets[0]), placed(b, offsets[1])
    if form == "array - scalar":
        y = y[:1]
    elif form == "scalar - array":
        x = x[:1]
    elif form == "out is a":
        out[...], x = a, out
    elif form == "out is b":
        out[...], y = b, out
    assert subtract(x, y, out=out, overflow=policy) is out
    oracle.assert_same(oracle.result_type(element, policy), out.copy(), want)
    assert np.all(room[: inside.start] == FENCE)
    assert np.all(room[inside.stop :] == FENCE)


def misalignments(element: ElementType, policy: str) -> list[tuple[int, int, int]]:
    """Byte offsets of a, b and out: none, one element, and ones that are no multiples of an element's size."""
    item, result = element.itemsize, oracle.result_type(element, policy).itemsize
    found = [(1, 3, 5), (0, 0, 0), (item, 0, result), (VECTOR - 1, 2, 1)]
    return found if element in KERNELS else found[:1]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("element", oracle.ARRAY_TYPES, ids=by_name)
def test_every_count_to_two_vectors_at_every_misalignment_stays_between_its_fences(element, form, isa):
    for policy in (*oracle.policies(element), "error"):
        if form.startswith("out") and policy == "widen":
            continue  # the result has another size than the operand
        for offsets in misalignments(element, policy):
            start = 1 if "scalar" in form else 0  # a scalar is the first element
            for n in range(start, longest(element) + 1):
                check(element, policy, form, n, offsets)


@pytest.mark.parametrize("element", [TYPES["int64"], TYPES["uint64"]], ids=by_name)
def test_widening_64_bits_at_every_count(element, isa):
    for form in FORMS[:3]:
        for n in range(1, longest(element) + 1):
            check(element, "widen", form, n, (1, 3, 5))


@pytest.mark.parametrize("repeated", ["a", "b", "neither"])
@pytest.mark.parametrize("element", [row for row in oracle.ARRAY_TYPES if row.is_integer], ids=by_name)
def test_lanes_behind_the_last_element_never_count_as_overflow(element, repeated, isa):
    low, high = element.limits
    for x, y in ((low, 1), (0, high), (high, low)):
        a, b = (oracle.array(element, [of_codes.encode(element, v)] * longest(element)) for v in (x, y))
        over = not low <= x - y <= high
        for n in range(1, longest(element) + 1):
            one, other = a[: 1 if repeated == "a" else n], b[: 1 if repeated == "b" else n]
            assert count_overflows(one, other) == over * n


@pytest.mark.parametrize("offset", [0, 1, 8, 60])
@pytest.mark.parametrize("element", KERNELS, ids=by_name)
def test_a_result_larger_than_the_caches_is_exact_between_its_fences(element, offset):
    # From 8 MiB on, results are written past the caches, which wants aligned addresses.
    a, b, want = expected(element, "wrap", "array - array")
    n = (8 << 20) // element.itemsize + 37
    x, y, goal = (np.resize(run, n) for run in (a, b, want))
    room, out, inside = fenced(element.memory, n, offset)
    subtract(x, y, out=out)
    if element.is_integer:
        assert np.array_equal(out.view(np.uint8), goal.view(np.uint8))
    else:
        oracle.assert_same(element, out, goal)
    assert np.all(room[: inside.start] == FENCE)
    assert np.all(room[inside.stop :] == FENCE)


@pytest.mark.parametrize("strides", [(2, 1, 1), (1, 3, 1), (1, 1, 2), (-1, 2, -3), (2, 2, 2), (0, 1, 2), (1, 0, -1)])
@pytest.mark.parametrize("name", ["int8", "bfloat16", "float32", "uint64", "float8_e5m2"])
def test_lines_with_steps_longer_than_the_gathering_buffer_are_exact(name, strides, isa):
    element = TYPES[name]
    n = 2_500  # the buffer holds 1,024 elements
    a, b, _ = expected(element, "wrap", "array - array")
    x, y = (_stepped(np.resize(run, 3 * n), n, step) for run, step in zip((a, b), strides, strict=False))
    room, whole, inside = fenced(element.memory, 3 * n, 3)
    out = _stepped(whole, n, strides[2])
    subtract(x, y, out=out)
    oracle.assert_same(element, out.copy(), oracle.answers(element, x.copy(), y.copy()))
    untouched = np.ones(3 * n, bool)
    _stepped(untouched, n, strides[2])[...] = False
    assert np.all(whole.view(np.uint8).reshape(3 * n, -1)[untouched] == FENCE)
    assert np.all(room[: inside.start] == FENCE)
    assert np.all(room[inside.stop :] == FENCE)


def _stepped(run: oracle.Array, n: int, step: int) -> oracle.Array:
    return np.broadcast_to(run[:1], n) if step == 0 else run[:: abs(step)][:n][:: 1 if step > 0 else -1]


@pytest.mark.skipif(platform.machine() != "x86_64" or platform.system() != "Linux", reason="mode bits as x86 Linux has")
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_the_callers_rounding_mode_has_no_say_and_is_left_as_it_was(name, isa):
    element = TYPES[name]
    a, b, want = expected(element, "wrap", "array - array")
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    upward = 0x800
    assert libm.fesetround(upward) == 0
    try:
        got = subtract(a, b)
        assert libm.fegetround() == upward
    finally:
        libm.fesetround(0)
    oracle.assert_same(element, got, want, a, b)


def test_an_instruction_set_that_the_cpu_does_not_run_is_an_error_that_names_it():
    with pytest.raises(ValueError, match="instruction set") as caught:
        _native.set_instruction_set("avx9000")
    assert str(caught.value) == "this CPU does not run the instruction set 'avx9000'"


def test_the_best_instruction_set_is_the_last_and_every_cpu_runs_the_baseline():
    assert _native.instruction_sets()[0] == "baseline"
    assert _native.get_instruction_set() == _native.instruction_sets()[-1]


def test_a_build_says_which_instruction_sets_it_has_in_the_order_in_which_cpus_run_them():
    built, runs = _native.built_instruction_sets(), _native.instruction_sets()
    assert [name for name in built if name in runs] == list(runs)
    assert built[0] == "baseline"


# ---- the two tables of element types ----------------------------------------------------------------------------


@pytest.mark.parametrize("row", [row for row in TYPES.values() if row.numpy is not None], ids=by_name)
def test_the_kernels_table_of_element_types_says_what_pythons_does(row):
    _native.learn(row.numpy, row.kernel, row.kind, row.widened.memory)


@pytest.mark.parametrize(
    ("dtype", "kernel", "kind", "widened"),
    [
        ("int16", "i32", "signed", "int64"),
        ("int32", "i32", "unsigned", "int64"),
        ("int32", "i32", "signed", "int32"),
        ("float64", "f32", "float", "float32"),
        ("int16", "table", "signed", "int16"),
    ],
)
def test_a_row_that_differs_from_the_kernels_is_refused(dtype, kernel, kind, widened):
    with pytest.raises(ValueError, match="kernel's") as caught:
        _native.learn(np.dtype(dtype), kernel, kind, np.dtype(widened))
    assert str(caught.value) == f"the kernel's '{kernel}' is not {dtype}: another size, kind or widened type"


# ---- operators ----------------------------------------------------------------------------------------------------


def test_the_kernel_is_given_an_operator_by_name_and_refuses_one_that_it_does_not_compute():
    a = np.uint8([3])
    views = ("u8", "wrap", (1,), a, (1,), a, (1,), None)
    with pytest.raises(ValueError, match="the kernel has no operator 'add'"):
        _native.with_fast_path("add", subtract)
    with pytest.raises(ValueError, match="the kernel has no operator 'add'"):
        _native.execute("add", *views, np.empty_like(a), (1,))
    with pytest.raises(ValueError, match="the kernel has no operator 'add'"):
        _native.first_overflow("add", *views)


WITHOUT_KERNEL = [one for one in OPERATORS.values() if one.kernel is None]


@pytest.mark.parametrize("operator", WITHOUT_KERNEL, ids=lambda one: one.name)
def test_an_operator_without_a_kernel_is_an_error_where_it_would_be_computed(operator):
    a = np.uint8([3])
    with pytest.raises(Unsupported) as caught:
        compute(operator, TYPES["uint8"], shapes.numpy(a.shape, a.shape), a, a, None)
    assert str(caught.value) == f"the kernel does not compute the operator {operator.name}"
