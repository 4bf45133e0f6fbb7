"""Across modules: kernel and oracle agree on all pairs of small types, and on edges and random pairs of wide floats."""

from __future__ import annotations

import functools

import numpy as np
import oracle
import pytest

from minuend import _native
from minuend.arrays.functions import count_overflows, subtract
from minuend.core.elements import TYPES, ElementType
from minuend.errors import DTypeError, OverflowFound, ScalarRangeError
from minuend.operators import SUBTRACT, reference
from minuend.operators import codes as of_codes

RANDOM_FLOATS = 250_000
RANDOM_INTEGERS = 100_000


def by_name(row: object) -> str:
    return str(row)


@functools.cache
def expected(element: ElementType, policy: str, kind: str) -> tuple[oracle.Array, oracle.Array, oracle.Array]:
    """Operands and the oracle's differences, computed once for all instruction sets."""
    if kind == "all":
        a, b = oracle.all_pairs(element)
    elif kind == "lattice":
        a, b = oracle.cross(element, oracle.lattice(element))
    else:
        a, b = oracle.random_pairs(element, RANDOM_INTEGERS if element.is_integer else RANDOM_FLOATS, seed=9)
    if policy == "widen" and element.bits == 64:  # what does not fit is an error; see below
        fits = oracle.answerable(element, a, b, policy)
        a, b = a[fits], b[fits]
    return a, b, oracle.answers(element, a, b, policy)


def _codes(element: ElementType, *arrays: oracle.Array) -> list[list[int]]:
    return [array.view(f"u{element.itemsize}").tolist() for array in arrays]


def check(element: ElementType, policy: str, kind: str) -> None:
    a, b, want = expected(element, policy, kind)
    with np.errstate(all="raise"):  # the kernel raises no floating-point warnings of NumPy's
        got = subtract(a, b, overflow=policy)
    oracle.assert_same(oracle.result_type(element, policy), got, want, a, b)
    oracle.assert_quiet(element, got)


def cases(rows: list[ElementType]) -> list[tuple[ElementType, str]]:
    return [(row, policy) for row in rows for policy in (reference.POLICIES[:3] if row.is_integer else ("wrap",))]


@pytest.mark.parametrize(("element", "policy"), cases(oracle.NARROW), ids=by_name)
def test_every_pair_of_a_narrow_type_is_exact(element, policy, isa):
    check(element, policy, "all")


@pytest.mark.parametrize(("element", "policy"), cases([*oracle.WIDE_FLOATS, *oracle.WIDE_INTEGERS]), ids=by_name)
def test_every_pair_of_edges_of_a_wide_type_is_exact(element, policy, isa):
    check(element, policy, "lattice")


@pytest.mark.parametrize(("element", "policy"), cases(oracle.WIDE_INTEGERS), ids=by_name)
def test_a_hundred_thousand_random_pairs_of_a_wide_integer_are_exact(element, policy, isa):
    check(element, policy, "random")


@pytest.mark.parametrize("element", oracle.WIDE_FLOATS, ids=by_name)
def test_random_pairs_of_a_wide_float_are_exact(element):
    a, b, want = expected(element, "wrap", "random")
    assert len(a) == RANDOM_FLOATS
    before = _native.get_instruction_set()
    try:
        for name in _native.instruction_sets():
            _native.set_instruction_set(name)
            got = subtract(a, b)
            oracle.assert_same(element, got, want, a, b)
            oracle.assert_quiet(element, got)
    finally:
        _native.set_instruction_set(before)


@pytest.mark.parametrize("element", oracle.WIDE_FLOATS, ids=by_name)
def test_the_random_pairs_hit_what_uniform_bits_would_miss(element):
    a, b, want = expected(element, "wrap", "random")
    f = element.format
    magnitude = oracle.codes(element, want) & ((1 << (element.bits - 1)) - 1)
    smallest_normal, infinity = 1 << f.mantissa, ((1 << f.exponent) - 1) << f.mantissa
    assert np.count_nonzero((magnitude > 0) & (magnitude < smallest_normal)) > 1_000
    assert np.count_nonzero(magnitude == infinity) > 100
    assert np.count_nonzero(magnitude > infinity) > 100
    pairs = zip(*_codes(element, a[:20_000], b[:20_000]), strict=True)
    assert sum(_is_tie(element, x, y) for x, y in pairs) > 100


def _is_tie(element: ElementType, a: int, b: int) -> bool:
    """Whether the exact difference lies midway between two values: its odd part has one bit more than the type."""
    x, y = of_codes.decode(element, a), of_codes.decode(element, b)
    if isinstance(x, float) or isinstance(y, float) or x == y:
        return False
    n = abs((x - y).numerator)
    return (n // (n & -n)).bit_length() == element.format.mantissa + 2


@pytest.mark.parametrize("policy", reference.POLICIES)
@pytest.mark.parametrize("element", oracle.WIDE_FLOATS, ids=by_name)
def test_floats_ignore_the_overflow_policy(element, policy):
    a, b, want = expected(element, "wrap", "lattice")
    oracle.assert_same(element, subtract(a, b, overflow=policy), want, a, b)


# ---- overflow as an error -------------------------------------------------------------------------------------

INTEGERS = [row for row in oracle.ARRAY_TYPES if row.is_integer]


def operands(element: ElementType) -> tuple[oracle.Array, oracle.Array, list[bool]]:
    """A plane of pairs, fitting ones first, and which of them overflow."""
    a, b = oracle.cross(element, range(1 << element.bits) if element.bits <= 8 else oracle.lattice(element)[::2])
    outside = [reference.overflows(SUBTRACT, element, (x, y)) for x, y in zip(*_codes(element, a, b), strict=True)]
    order = np.argsort(outside, kind="stable")
    order = np.concatenate([order[: len(order) // 7], np.random.default_rng(10).permutation(order[len(order) // 7 :])])
    return a[order], b[order], [outside[i] for i in order]


@pytest.mark.parametrize("element", INTEGERS, ids=by_name)
def test_overflow_error_tells_the_count_the_first_index_and_its_operands(element, isa):
    a, b, outside = operands(element)
    kept = a.tobytes(), b.tobytes()
    first, count = outside.index(True), sum(outside)
    x, y = (int(of_codes.decode(element, codes[first])) for codes in _codes(element, a, b))
    low, high = element.limits
    with pytest.raises(OverflowFound) as caught:
        subtract(a, b, overflow="error")
    error = caught.value
    assert (error.count, error.index, error.a, error.b) == (count, (first,), x, y)
    assert str(error) == (
        f"{count} of {len(a)} differences do not fit {element} ({low} to {high}); the first is at index ({first},): "
        f"{x} - {y} = {x - y}; overflow='wrap', 'saturate' or 'widen' gives an answer"
    )
    assert (a.tobytes(), b.tobytes()) == kept
    assert count_overflows(a, b) == count


@pytest.mark.parametrize("element", INTEGERS, ids=by_name)
def test_overflow_error_gives_the_difference_where_all_of_them_fit(element, isa):
    a, b, outside = operands(element)
    fits = ~np.array(outside)
    a, b = a[fits], b[fits]
    oracle.assert_same(element, subtract(a, b, overflow="error"), oracle.answers(element, a, b), a, b)
    assert count_overflows(a, b) == 0


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("element", INTEGERS, ids=by_name)
def test_overflow_error_leaves_an_operand_that_is_also_out_as_it_was(element, which):
    pair = operands(element)[:2]
    kept = pair[0].tobytes(), pair[1].tobytes()
    with pytest.raises(OverflowFound):
        subtract(*pair, out=pair[which], overflow="error")
    assert (pair[0].tobytes(), pair[1].tobytes()) == kept


@pytest.mark.parametrize("element", [TYPES["int64"], TYPES["uint64"]], ids=by_name)
def test_widening_64_bits_is_an_error_where_int64_does_not_hold_the_difference(element, isa):
    a, b, _ = operands(element)
    outside = (~oracle.answerable(element, a, b, "widen")).tolist()
    kept = a.tobytes(), b.tobytes()
    first, count = outside.index(True), sum(outside)
    with pytest.raises(OverflowFound) as caught:
        subtract(a, b, overflow="widen")
    error = caught.value
    x, y = int(a[first]), int(b[first])
    assert (error.count, error.index, error.a, error.b) == (count, (first,), x, y)
    assert str(error) == (
        f"{count} of {len(a)} differences do not fit int64 (-9223372036854775808 to 9223372036854775807); "
        f"the first is at index ({first},): {x} - {y} = {x - y}"
    )
    assert (a.tobytes(), b.tobytes()) == kept


def test_widening_64_bits_in_place_leaves_the_operand_as_it_was():
    a, b = np.array([1, -(2**63)], np.int64), np.array([2, 1], np.int64)
    with pytest.raises(OverflowFound):
        subtract(a, b, out=a, overflow="widen")
    assert a.tolist() == [1, -(2**63)]


@pytest.mark.parametrize("shapes", [((7,), (7,)), ((7,), ()), ((600, 700), (600, 700)), ((600, 700), (700,))], ids=str)
@pytest.mark.parametrize("over", ["a", "b"])
@pytest.mark.parametrize("element", [row for row in oracle.ARRAY_TYPES if row.is_integer], ids=str)
def test_an_overflow_found_while_an_operand_is_written_over_leaves_both_as_they_were(element, over, shapes):
    rng = np.random.default_rng(3)
    low, high = element.limits
    operands = [
        np.asarray(rng.integers(low // 2, high // 2 + 1, shape, np.int64 if low else np.uint64)).astype(element.memory)
        for shape in shapes
    ]
    a, b = operands if over == "a" else operands[::-1]
    a.flat[-1], b.flat[-1] = low, 1  # the last elements meet
    kept = a.tobytes(), b.tobytes()
    with pytest.raises(OverflowFound) as caught:
        subtract(a, b, out=operands[0], overflow="error")
    assert (a.tobytes(), b.tobytes()) == kept
    assert caught.value.count == count_overflows(a, b) > 0


def test_the_first_overflow_is_the_first_in_c_order_whatever_the_strides():
    a = np.asfortranarray(np.zeros((3, 4, 5), np.uint8))[:, ::-1]
    b = np.zeros((4, 1), np.uint8)
    a[2, 0, 1] = a[1, 3, 2] = 7
    b[3] = 5  # overflows everywhere in row 3 but at [1, 3, 2]
    with pytest.raises(OverflowFound) as caught:
        subtract(a, b, overflow="error")
    assert (caught.value.count, caught.value.index) == (14, (0, 3, 0))


@pytest.mark.parametrize("element", INTEGERS, ids=by_name)
def test_more_overflows_than_a_small_counter_holds_are_counted(element, isa):
    # Lane counters of 8 bits are summed every 255 rounds; 70,000 elements overflow a 16-bit sum of them as well.
    low = of_codes.encode(element, element.limits[0])
    a, b = oracle.array(element, [low] * 70_001), oracle.array(element, [1] * 70_001)
    assert count_overflows(a, b) == 70_001
    a[::7] = oracle.array(element, [1])[0]
    assert count_overflows(a, b) == 60_000


# ---- Python numbers -------------------------------------------------------------------------------------------

NUMBERS = [
    0.0,
    -0.0,
    1,
    1.5,
    -3,
    0.1,
    1 + 2**-8 + 2**-40,
    1e39,
    -(10**400),
    float("inf"),
    float("nan"),
    5e-324,
    2**53 + 1,
]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{number:.3}" if isinstance(number, float) else "int")
@pytest.mark.parametrize("element", [row for row in oracle.ARRAY_TYPES if not row.is_integer], ids=by_name)
def test_a_python_number_takes_the_type_of_a_float_array_rounded_once(element, number):
    a, _ = oracle.random_pairs(element, 200, seed=21)
    if element.name == "float4_e2m1fn" and str(number) == "nan":
        with pytest.raises(DTypeError) as caught:
            subtract(a, number)
        assert str(caught.value) == "float4_e2m1fn has no NaN, so it cannot hold nan"
        return
    same = oracle.array(element, [of_codes.encode(element, number)] * 200)
    oracle.assert_same(element, subtract(a, number), oracle.answers(element, a, same), a, same)
    oracle.assert_same(element, subtract(number, a), oracle.answers(element, same, a), same, a)


@pytest.mark.parametrize("element", INTEGERS, ids=by_name)
def test_a_python_int_takes_the_type_of_an_integer_array_if_it_fits(element):
    low, high = element.limits
    a, _ = oracle.random_pairs(element, 200, seed=22)
    for number in (low, 0, 1, high):
        same = oracle.array(element, [of_codes.encode(element, number)] * 200)
        oracle.assert_same(element, subtract(a, number), oracle.answers(element, a, same), a, same)
        oracle.assert_same(element, subtract(number, a), oracle.answers(element, same, a), same, a)
    for number in (low - 1, high + 1, 10**400):
        with pytest.raises(ScalarRangeError) as caught:
            subtract(a, number)
        assert str(caught.value) == f"the Python int {number} does not fit {element} ({low} to {high})"
    with pytest.raises(DTypeError) as caught_type:
        subtract(1.0, a)
    assert str(caught_type.value) == (
        f"the Python float 1.0 has no place in {element}; nothing is promoted, pass an int"
    )


def test_a_policy_that_does_not_exist_is_an_error():
    with pytest.raises(ValueError, match="overflow is") as caught:
        subtract(np.zeros(1, np.int8), np.zeros(1, np.int8), overflow="clip")
    assert str(caught.value) == "overflow is 'clip'; expected 'wrap', 'saturate', 'widen' or 'error'"
