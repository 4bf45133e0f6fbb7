"""Across native/: layouts, broadcasting and aliasing. The result depends on elements, never on their addresses."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import oracle
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from minuend.arrays.functions import compute, subtract
from minuend.core import shapes
from minuend.core.elements import TYPES, ElementType
from minuend.errors import OverflowFound, ShapeError
from minuend.operators import SUBTRACT, reference
from minuend.operators import codes as of_codes

Shape = tuple[int, ...]

ELEMENTS = st.sampled_from(oracle.ARRAY_TYPES)
SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)
property_test = settings(deadline=None, max_examples=250, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def laid_out(draw: st.DrawFn, element: ElementType, shape: Shape, *, writeable: bool = False) -> oracle.Array:
    """An array of random bits with any strides, address and byte order.

    Each dim, in any order of nesting, steps forward, backward or over gaps; one that is only read may repeat.
    """
    steps = [1, -1, 2, -2] if writeable else [1, -1, 2, -2, 0]
    strides = [0] * len(shape)
    reach, item = 0, element.itemsize
    unit = draw(st.sampled_from([item, item, item + 1, 3 * item]))  # also no multiple of the item, as in records
    first = 0
    for axis in draw(st.permutations(range(len(shape)))):
        step = draw(st.sampled_from(steps))
        strides[axis] = step * max(unit, reach)
        extent = abs(strides[axis]) * max(shape[axis] - 1, 0)
        first += extent if step < 0 else 0
        reach += extent + (item if extent else 0)
    start = draw(st.integers(0, 9))
    size = start + item + sum(abs(s) * max(n - 1, 0) for s, n in zip(strides, shape, strict=True))
    seed = draw(st.integers(0, 2**32 - 1))
    room = np.random.default_rng(seed).integers(0, 256, size, np.uint8)
    dtype = element.memory
    if dtype.isbuiltin == 1 and item > 1 and draw(st.booleans()):
        dtype = dtype.newbyteorder(">")
    view = np.ndarray(shape, dtype, room.data, start + first, tuple(strides))
    view.flags.writeable = writeable or draw(st.booleans())
    return view


def reference_answer(element: ElementType, a: oracle.Array, b: oracle.Array, policy: str, **how: Any) -> Any:
    """The oracle's array, or its error."""
    try:
        return oracle.subtract_arrays(element, a, b, policy, **how)
    except (OverflowFound, ShapeError) as error:
        return error


def assert_as_expected(element: ElementType, policy: str, want: Any, call: Any) -> None:
    if isinstance(want, ShapeError):
        with pytest.raises(ShapeError):
            call()
    elif isinstance(want, OverflowFound):
        with pytest.raises(OverflowFound) as caught:
            call()
        got = caught.value
        assert (got.count, got.index, got.a, got.b) == (want.count, want.index, want.a, want.b)
    else:
        got = call()
        assert got.dtype.isnative
        oracle.assert_same(oracle.result_type(element, policy), got, want)


@st.composite
def joinable(draw: st.DrawFn) -> tuple[Shape, Shape]:
    """Two shapes of which most join: each takes a suffix of one shape and turns some dims to 1."""
    shape = draw(SHAPES)
    pair = []
    for _ in range(2):
        own = shape[draw(st.integers(0, len(shape))) :]
        pair.append(tuple(draw(st.sampled_from([n, n, n, 1])) for n in own))
    if draw(st.integers(0, 9)) == 0:
        pair[1] = draw(SHAPES)
    return pair[0], pair[1]


@property_test
@given(st.data(), ELEMENTS, joinable(), st.sampled_from(reference.POLICIES))
def test_any_layout_of_any_joining_shapes_gives_the_reference_answer(data, element, pair, policy):
    a, b = (data.draw(laid_out(element, shape)) for shape in pair)
    before = a.tobytes(), b.tobytes()
    want = reference_answer(element, a, b, policy)
    assert_as_expected(element, policy, want, lambda: subtract(a, b, overflow=policy))
    assert (a.tobytes(), b.tobytes()) == before


@property_test
@given(st.data(), ELEMENTS, joinable(), st.sampled_from(["wrap", "saturate", "widen"]))
def test_an_out_of_any_layout_is_filled_and_nothing_beside_it(data, element, pair, policy):
    a, b = (data.draw(laid_out(element, shape)) for shape in pair)
    want = reference_answer(element, a, b, policy)
    assume(isinstance(want, np.ndarray))
    out = data.draw(laid_out(oracle.result_type(element, policy), want.shape, writeable=True))
    room = np.frombuffer(out.base, np.uint8)
    after = room.copy()
    np.ndarray(out.shape, out.dtype, after.data, _offset(out, room), out.strides)[...] = want
    assert subtract(a, b, out=out, overflow=policy) is out
    oracle.assert_same(oracle.result_type(element, policy), out.astype(want.dtype), want)
    if element.is_integer:  # a NaN's payload is free, so floats are compared above, and their gaps here
        assert np.array_equal(room, after)
    else:
        gaps = np.ones(room.size, bool)
        _bytes_of(out, gaps, _offset(out, room))[...] = False
        assert np.array_equal(room[gaps], after[gaps])


def _offset(view: oracle.Array, room: oracle.Array) -> int:
    return int(view.__array_interface__["data"][0] - room.__array_interface__["data"][0])


def _bytes_of(view: oracle.Array, room: oracle.Array, offset: int) -> oracle.Array:
    """The bytes of a view's elements, at the same places of another buffer."""
    return np.ndarray((*view.shape, view.itemsize), room.dtype, room.data, offset, (*view.strides, 1))


# ---- aliasing -------------------------------------------------------------------------------------------------


@st.composite
def overlapping(draw: st.DrawFn, element: ElementType, *, exact: bool) -> tuple[oracle.Array, list[oracle.Array]]:
    """A buffer, and three views of it of one shape: a, b and out, the last without an element met twice."""
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=2).map(tuple))
    room = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).integers(0, 256, 1024, np.uint8)
    views: list[oracle.Array] = []
    for _ in range(3):
        if exact and views and draw(st.booleans()):
            views.append(draw(st.sampled_from(views)))
            continue
        item = element.itemsize
        unit = draw(st.sampled_from([item, item, item, item + 1]))
        strides = tuple(draw(st.sampled_from([-5, -2, -1, 1, 2, 5, 6])) * unit for _ in shape)
        back = sum(-s * (n - 1) for s, n in zip(strides, shape, strict=True) if s < 0)
        start = draw(st.integers(0, 4 * item))
        views.append(np.ndarray(shape, element.memory, room.data, start + back, strides))
    assume(not _meets_itself(views[2]))
    return room, views


def _meets_itself(view: oracle.Array) -> bool:
    """Whether two elements share a byte, found by listing every byte."""
    starts = [
        sum(i * s for i, s in zip(at, view.strides, strict=True)) for at in itertools.product(*map(range, view.shape))
    ]
    taken = [start + byte for start in starts for byte in range(view.itemsize)]
    return len(set(taken)) < len(taken)


@property_test
@given(st.data(), ELEMENTS, st.sampled_from(["wrap", "saturate", "error"]), st.booleans())
def test_an_out_that_overlaps_an_operand_gives_the_answer_of_operands_copied_first(data, element, policy, exact):
    room, (a, b, out) = data.draw(overlapping(element, exact=exact))
    before = room.copy()
    want = reference_answer(element, a, b, policy)
    if isinstance(want, OverflowFound):
        operands = a.copy(), b.copy()
        assert_as_expected(element, policy, want, lambda: subtract(a, b, out=out, overflow=policy))
        for operand, kept in zip((a, b), operands, strict=True):
            assert operand.tobytes() == kept.tobytes()
        return
    assert subtract(a, b, out=out, overflow=policy) is out
    oracle.assert_same(element, out.copy(), want)
    outside = np.ones(room.size, bool)
    _bytes_of(out, outside, _offset(out, room))[...] = False
    assert np.array_equal(room[outside], before[outside])


@pytest.mark.parametrize("shift", [-3, -1, 0, 1, 3])
@pytest.mark.parametrize("size", [5, 300, 200_000])
def test_views_that_overlap_in_either_direction_are_read_before_they_are_written(size, shift):
    whole = np.random.default_rng(12).integers(0, 2**16, size + 6, np.uint16)
    other = np.random.default_rng(13).integers(0, 2**16, size, np.uint16)
    for a_first in (True, False):
        room = whole.copy()
        moved, out = room[3 : 3 + size], room[3 + shift : 3 + shift + size]
        want = moved - other if a_first else other - moved
        subtract(*((moved, other) if a_first else (other, moved)), out=out)
        np.testing.assert_array_equal(out, want)


def test_out_that_is_both_operands_is_all_zero():
    a = np.random.default_rng(14).integers(0, 256, (40, 50), np.uint8)
    assert subtract(a, a, out=a) is a
    assert not a.any()


def test_out_that_is_an_operand_reversed_or_transposed_is_as_if_copied():
    a = np.arange(16, dtype=np.int32).reshape(4, 4)
    for turn in (lambda x: x[::-1], lambda x: x.T, lambda x: x[:, ::-1], lambda x: x[::-1, ::-1].T):
        room = a.copy()
        want = a - 3 * turn(a)
        subtract(room, 3 * turn(a), out=room)
        np.testing.assert_array_equal(room, want)
        room = a.copy()
        want = turn(a) - a
        subtract(turn(room), room, out=room)
        np.testing.assert_array_equal(room, want)


def test_out_that_is_a_row_which_repeats_as_an_operand_is_as_if_copied():
    room = np.arange(12, dtype=np.int16).reshape(3, 4)
    want = room - room[1]
    subtract(room, room[1], out=room)
    np.testing.assert_array_equal(room, want)


@pytest.mark.parametrize(("strides", "shape"), [((1,), (4,)), ((0,), (4,)), ((4, 3), (2, 3)), ((-3, 8), (4, 2))])
def test_an_out_whose_elements_share_a_byte_is_refused(strides, shape):
    room = np.zeros(64, np.uint8)
    out = np.ndarray(shape, np.int16, room.data, 32, strides)
    with pytest.raises(ShapeError) as caught:
        subtract(np.ones(shape, np.int16), np.zeros(shape, np.int16), out=out)
    assert str(caught.value) == f"two elements of out share an address (strides {strides}); pass a plain array"
    assert not room.any()


@pytest.mark.parametrize("policy", reference.POLICIES)
@pytest.mark.parametrize("channels", list(itertools.permutations(range(3))))
def test_channels_and_fields_beside_each_other_are_read_and_written_where_they_lie(channels, policy):
    pixels = np.random.default_rng(18).integers(60, 120, (50, 40, 3), np.int16)
    a, b, out = (pixels[..., i] for i in channels)
    kept, want = pixels.copy(), a - b
    if policy == "widen":
        out = out.copy().astype(np.int32)
    assert subtract(a, b, out=out, overflow=policy) is out
    np.testing.assert_array_equal(out, want)
    others = [i for i in range(3) if policy == "widen" or i != channels[2]]
    np.testing.assert_array_equal(pixels[..., others], kept[..., others])


@pytest.mark.parametrize("which", ["a", "b"])
@pytest.mark.parametrize("name", ["int32", "uint4"])
@pytest.mark.parametrize(
    "turn", [lambda x: x.T, lambda x: x[::2, ::-1], lambda x: x.T[1:, ::3]], ids=["T", "steps", "T3"]
)
def test_an_overflow_leaves_operands_of_any_strides_that_are_out_as_they_were(turn, name, which):
    element = TYPES[name]
    a, b = (turn(oracle.array(element, [3, 2, 1, 3] * 300).reshape(30, 40)) for _ in range(2))
    low, one = (oracle.array(element, [of_codes.encode(element, v)])[0] for v in (element.limits[0], 1))
    a[-1, -1], b[-1, -1] = low, one
    kept = a.tobytes(), b.tobytes()
    with pytest.raises(OverflowFound) as caught:
        subtract(a, b, out=a if which == "a" else b, overflow="error")
    assert (a.tobytes(), b.tobytes()) == kept
    assert (caught.value.a, caught.value.b) == (element.limits[0], 1)


def test_widen_into_memory_that_the_operands_lie_in_is_as_if_they_were_copied():
    room = np.arange(64, dtype=np.uint8)
    a, b, out = room[:16], room[20:36], room[8:40].view(np.int16)
    want = a.astype(np.int16) - b
    assert subtract(a, b, out=out, overflow="widen") is out
    np.testing.assert_array_equal(out, want)


# ---- the rules in which B starts at an axis of A --------------------------------------------------------------


@property_test
@given(st.data(), ELEMENTS, SHAPES)
def test_b_from_an_axis_on_gives_the_reference_answer_under_pdpd_and_under_the_legacy_rule(data, element, a_shape):
    start = data.draw(st.integers(0, len(a_shape)))
    stop = data.draw(st.integers(start, len(a_shape)))
    run = a_shape[start:stop]
    legacy = data.draw(st.booleans())
    b_shape = run if legacy else tuple(data.draw(st.sampled_from([n, 1 if n else n])) for n in run)
    a, b = (data.draw(laid_out(element, shape)).astype(element.memory) for shape in (a_shape, b_shape))
    if legacy:
        assume(start <= len(a_shape) - len(b_shape))
        joined = shapes.onnx_legacy(a_shape, b_shape, axis=start, broadcast=1)
    else:
        joined = shapes.pdpd(a_shape, b_shape, axis=start)
    want = oracle.subtract_arrays(element, a, b, b_start=start)
    oracle.assert_same(element, compute(SUBTRACT, element, joined, a, b, None), want)


# ---- the corners, by name -------------------------------------------------------------------------------------


@pytest.mark.parametrize("element", oracle.ARRAY_TYPES, ids=str)
def test_zero_dimensions_give_an_array_of_none(element):
    a, b = (oracle.array(element, [code])[0:1].reshape(()) for code in (1, 0))
    got = subtract(a, b)
    assert (got.shape, got.dtype) == ((), element.memory)
    oracle.assert_same(element, got, oracle.subtract_arrays(element, a, b))


@pytest.mark.parametrize(
    ("a_shape", "b_shape", "shape"),
    [((0,), (0,), (0,)), ((0,), (1,), (0,)), ((), (0,), (0,)), ((3, 0), (1,), (3, 0)), ((2, 0, 4), (4,), (2, 0, 4))],
)
@pytest.mark.parametrize("policy", reference.POLICIES)
def test_empty_arrays_give_an_empty_array(a_shape, b_shape, shape, policy):
    for element in oracle.ARRAY_TYPES:
        a, b = (np.zeros(s, element.memory) for s in (a_shape, b_shape))
        got = subtract(a, b, overflow=policy)
        assert (got.shape, got.dtype) == (shape, oracle.result_type(element, policy).memory)


def test_64_dimensions_are_taken():
    a = np.arange(8, dtype=np.int32).reshape((2,) + (1,) * 30 + (2,) + (1,) * 31 + (2,))
    b = a.transpose(tuple(reversed(range(64))))
    np.testing.assert_array_equal(subtract(a, b), a - b)


def test_operands_that_must_not_be_written_are_read():
    a = np.frombuffer(bytes(range(200)), np.uint8)
    b = np.broadcast_to(np.uint8(3), 200)
    np.testing.assert_array_equal(subtract(a, b), a - np.uint8(3))


@pytest.mark.parametrize("name", ["int16", "uint32", "float16", "float32", "float64", "uint64"])
def test_big_endian_operands_give_a_native_result_and_fill_a_big_endian_out(name):
    element = TYPES[name]
    a, b = oracle.random_pairs(element, 300, seed=15)
    want = oracle.answers(element, a, b)
    big = element.memory.newbyteorder(">")
    for x, y in ((a.astype(big), b), (a, b.astype(big)), (a.astype(big), b.astype(big))):
        got = subtract(x, y)
        assert got.dtype.isnative
        oracle.assert_same(element, got, want)
    out = np.zeros(300, big)
    assert subtract(a, b, out=out) is out
    oracle.assert_same(element, out.astype(element.memory), want)
    x = a.astype(big)
    assert subtract(x, b, out=x) is x
    oracle.assert_same(element, x.astype(element.memory), want)


def test_a_field_of_a_record_is_an_operand_and_an_out():
    records = np.zeros(50, np.dtype([("flag", "u1"), ("x", "<f4"), ("y", "<f4")], align=False))
    records["flag"], records["x"], records["y"] = 7, np.arange(50), np.arange(50)[::-1]
    subtract(records["x"], records["y"], out=records["x"])
    np.testing.assert_array_equal(records["x"], np.arange(50) * 2.0 - 49)
    np.testing.assert_array_equal(records["y"], np.arange(50)[::-1])
    assert set(records["flag"].tolist()) == {7}


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_every_order_of_dims_of_operands_and_out(order):
    shape = (3, 4, 5)
    back = np.argsort(order)
    a, b = np.random.default_rng(16).integers(0, 2**32, (2, *shape), np.uint32)
    turned = np.ascontiguousarray(a.transpose(order)).transpose(back)
    out = np.zeros([shape[i] for i in order], np.uint32).transpose(back)
    assert turned.shape == out.shape == shape
    for x, y in ((turned, b), (b, turned), (turned, b[0]), (turned, b[:, :1])):
        np.testing.assert_array_equal(subtract(x, y, out=out), x - y)
        got = subtract(x, y)
        np.testing.assert_array_equal(got, x - y)
        assert got.strides == (x - y).strides


def lay(shape, order, step, cut):
    """Random bytes of a shape whose dims lie in such an order, with steps and gaps."""
    whole = np.random.default_rng(17).integers(0, 256, [shape[i] * abs(step) + cut for i in order], np.uint8)
    return whole.transpose(np.argsort(order))[tuple(slice(0, n * abs(step)) for n in shape)][
        (slice(None, None, step),) * 3
    ]


ORDERS = list(itertools.permutations(range(3)))


@pytest.mark.parametrize("policy", ["wrap", "saturate", "widen"])
@pytest.mark.parametrize("middle", [(5,), (3, 5), (2, 2, 4)])
@pytest.mark.parametrize("second", [True, False])
def test_dims_that_share_cache_lines_between_a_transposed_and_the_innermost_one(second, middle, policy):
    """Beyond L2 rows are tiled in blocks, and what is left of them behind: here the result has over 4 MiB."""
    rows, columns = (4 << 20) // (math.prod(middle) * 71) + 13, 71
    source = np.random.default_rng(rows)
    transposed = np.moveaxis(source.integers(0, 256, (columns, rows, *middle), np.uint8), 0, -1)
    plain = source.integers(0, 256, (rows, *(1 for _ in middle), columns), np.uint8)
    operands = (plain, transposed) if second else (transposed, plain)
    wide = np.subtract(*operands, dtype=np.int16)
    narrow = wide.clip(0, 255).astype(np.uint8) if policy == "saturate" else wide.astype(np.uint8)
    expected = wide if policy == "widen" else narrow
    got = subtract(*operands, out=np.zeros(expected.shape, expected.dtype), overflow=policy)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("policy", ["wrap", "saturate", "widen"])
@pytest.mark.parametrize("gap", [0, 5])
@pytest.mark.parametrize(("middle", "columns"), [(16, 8), (16, 12), (25, 12), (6, 49), (30, 16)])
def test_short_rows_that_share_cache_lines_beside_a_transposed_operand(middle, columns, gap, policy):
    """The same of short rows, whose blocks of a result of over 8 MiB begin on cache lines or not."""
    rows = (8 << 20) // (middle * columns) + 13
    source = np.random.default_rng(rows)
    transposed = source.integers(0, 256, (columns, middle, rows), np.uint8).transpose()
    plain = source.integers(0, 256, (rows, middle, columns + gap), np.uint8)[..., :columns]
    wide = np.subtract(transposed, plain, dtype=np.int16)
    narrow = wide.clip(0, 255).astype(np.uint8) if policy == "saturate" else wide.astype(np.uint8)
    expected = wide if policy == "widen" else narrow
    got = subtract(transposed, plain, out=np.zeros(expected.shape, expected.dtype), overflow=policy)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("columns", [12, 20])
@pytest.mark.parametrize("middle", [24, 27, 33, 48, 70, 110])
def test_few_rows_of_large_elements_that_l2_holds_are_a_block(middle, columns):
    """Of 8 bytes a block may be as low as 32 rows: lower than a tile, of which it need not be a multiple."""
    rows = (2 << 20) // (middle * columns * 8) * 4 + 13
    source = np.random.default_rng(rows)
    transposed = source.integers(-9, 9, (columns, middle, rows)).transpose()
    plain = source.integers(-9, 9, (rows, middle, 1))
    expected = np.subtract(plain, transposed)
    got = subtract(plain, transposed, out=np.zeros(expected.shape, np.int64))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["uint8", "int16", "float32", "float64"])
@pytest.mark.parametrize("steps", [(4, 4), (8, 3), (-16, 16), (1, 16), (24, -48), (1, 100)], ids=str)
def test_strided_operands_beyond_the_caches(name, steps):
    """Elements that AVX2 reads one at a time: near ones of both operands, and steps of about a cache line."""
    dtype = np.dtype(name)
    distances = [step if step == 1 else max(2, abs(step) // dtype.itemsize) * (step // abs(step)) for step in steps]
    count = (40 << 20) // (dtype.itemsize * sum(map(abs, distances))) + 5
    source = np.random.default_rng(count)
    a, b = (
        source.integers(0, 100, count * abs(step) + 1, np.uint8).astype(dtype)[1:][::step][:count] for step in distances
    )
    got = subtract(a, b, out=np.zeros(count + 3, dtype)[3:])
    np.testing.assert_array_equal(got, np.subtract(a, b))


@pytest.mark.parametrize("name", ["uint8", "float64"])
@pytest.mark.parametrize(("groups", "rows", "copies"), [(9452, 3, 16), (7, 63, 5), (900_000, 2, 9), (5000, 40, 90)])
@pytest.mark.parametrize("scalar", [True, False])
def test_few_short_rows_of_equal_elements_are_repeated_together(scalar, groups, rows, copies, name):
    """Those of several groups at a time, of results that the caches hold or not."""
    source = np.random.default_rng(rows)
    a = source.integers(0, 100, (rows, groups, 1)).astype(name).transpose(1, 0, 2)
    b = source.integers(0, 100, (1 if scalar else groups, 1, 1)).astype(name)
    expected = np.broadcast_to(np.subtract(a, b), (groups, rows, copies))
    got = subtract(np.broadcast_to(a, expected.shape), b, out=np.zeros(expected.shape, expected.dtype))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("middle", [1, 6, 300])
@pytest.mark.parametrize("columns", [15, 157, 300])
@pytest.mark.parametrize("step", [1, -5])
def test_short_rows_with_gaps_beyond_the_caches(step, columns, middle):
    """Their results go through a buffer, unless too few follow one another."""
    outer = (36 << 20) // (middle * columns * 8) + 3
    source = np.random.default_rng(columns)
    wide = source.integers(0, 100, (outer, middle + 1, columns * abs(step) + 9), np.uint8).astype(np.float64)
    a = wide[:, :middle, 4 : 4 + columns * abs(step)][..., ::step]
    expected = np.subtract(1.5, a)
    got = subtract(np.float64(1.5), a, out=np.zeros(expected.size + 2)[2:].reshape(expected.shape))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("ones", [(), (0,), (1,), (2,), (0, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("step", [1, 2, -1])
@pytest.mark.parametrize("cut", [0, 3])
def test_a_new_result_lies_as_numpys_does(ones, step, cut):
    shape = (3, 4, 5)
    for order, other in itertools.product(ORDERS, ORDERS):
        a = lay(shape, order, step, cut)
        b = lay(tuple(1 if i in ones else n for i, n in enumerate(shape)), other, 1, 0)
        for x, y in ((a, b), (b, a), (a, b[0]), (a[:, :1], b), (a, np.uint8(3)), (a, 3), (a, a)):
            want = x - y
            got = subtract(x, y)
            np.testing.assert_array_equal(got, want)
            assert list(map(abs, got.strides)) == list(map(abs, want.strides)), (order, other)
            np.testing.assert_array_equal(subtract(x, y, out=np.empty_like(want)), want)


def test_strides_beyond_32_bits_are_followed():
    step = 1 << 30  # elements lie 1 GiB apart; the memory between them is never touched
    far = np.zeros(2 * step // 8 + 1, np.int64)[:: step // 8]
    far[...] = [10, 20, 40]
    np.testing.assert_array_equal(subtract(far, far[::-1]), [-30, 0, 30])
