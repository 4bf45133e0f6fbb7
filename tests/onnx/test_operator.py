"""``minuend.onnx.sub``: the examples of ONNX's pages, the versions' types, and the limited broadcast of Sub-1 and 6."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minuend.core import elements
from minuend.errors import DTypeError, MinuendError, ScalarRangeError, ShapeError, SpecError
from minuend.onnx import sub
from minuend.onnx.versions import DIALECT

ROWS = DIALECT.versions()


# ---- the examples of the pages --------------------------------------------------------------------------------


def test_the_page_s_first_example_has_the_page_s_numbers():
    z = sub(np.array([1, 2, 3]).astype(np.float32), np.array([3, 2, 1]).astype(np.float32))
    assert z.dtype == np.float32
    assert z.tolist() == [-2.0, 0.0, 2.0]


def one_by_one(x, y):
    """x - y over every element of x, y aligned at the right: plain loops, each element in its own type."""
    z = np.empty(x.shape, x.dtype)
    for index in np.ndindex(x.shape):
        z[index] = x[index] - y[index[x.ndim - y.ndim :]]
    return z


def test_the_page_s_random_example_of_equal_shapes():
    rng = np.random.RandomState(0)
    x, y = rng.randn(3, 4, 5).astype(np.float32), rng.randn(3, 4, 5).astype(np.float32)
    z = sub(x, y)
    assert (z.shape, z.dtype) == ((3, 4, 5), np.float32)
    assert np.array_equal(z, one_by_one(x, y))


def test_the_page_s_uint8_example():
    rng = np.random.RandomState(0)
    x = rng.randint(12, 24, size=(3, 4, 5), dtype=np.uint8)
    y = rng.randint(12, size=(3, 4, 5), dtype=np.uint8)
    z = sub(x, y)
    assert (z.shape, z.dtype) == ((3, 4, 5), np.uint8)
    assert z.ravel().tolist() == [int(p) - int(q) for p, q in zip(x.ravel(), y.ravel(), strict=True)]


def test_the_page_s_broadcast_example():
    rng = np.random.RandomState(0)
    x, y = rng.randn(3, 4, 5).astype(np.float32), rng.randn(5).astype(np.float32)
    z = sub(x, y)
    assert z.shape == (3, 4, 5)
    assert np.array_equal(z, one_by_one(x, y))


LEGACY_EXAMPLES = [
    ((), None, lambda i, j, k, m: ()),
    ((1, 1), None, lambda i, j, k, m: (0, 0)),
    ((5,), None, lambda i, j, k, m: (m,)),
    ((4, 5), None, lambda i, j, k, m: (k, m)),
    ((3, 4), 1, lambda i, j, k, m: (j, k)),
    ((2,), 0, lambda i, j, k, m: (i,)),
]


@pytest.mark.parametrize("opset", [1, 6])
@pytest.mark.parametrize(("shape", "axis", "of"), LEGACY_EXAMPLES, ids=lambda p: str(p) if not callable(p) else "")
def test_the_six_shapes_that_the_pages_of_sub_1_and_6_list(opset, shape, axis, of):
    a = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
    b = 1000 + np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    c = sub(a, b, opset=opset, axis=axis, broadcast=1)
    assert c.shape == a.shape
    for index in np.ndindex(a.shape):
        assert c[index] == a[index] - b[of(*index)]


# ---- versions and element types -------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=str)
@pytest.mark.parametrize("name", [name for name, element in elements.TYPES.items() if element.numpy is not None])
def test_a_version_takes_the_types_of_its_row_and_refuses_the_others(row, name):
    element = elements.TYPES[name]
    a, b = np.array([3, 2, 1]).astype(element.numpy), np.array([1, 1, 1]).astype(element.numpy)
    if name in row.types:
        c = sub(a, b, opset=row.version)
        assert c.dtype == element.numpy
        assert c.astype(float).tolist() == [2, 1, 0]
        return
    with pytest.raises(DTypeError) as caught:
        sub(a, b, opset=row.version)
    came = [v.version for v in ROWS if name in v.types]
    hint = f" (it came with opset {came[0]})" if came else ""
    spelled = [DIALECT.spell(t) for t in row.types]
    assert str(caught.value) == (
        f"Sub-{row.version} takes no element type {DIALECT.spell(name)}{hint}; "
        f"expected {', '.join(spelled[:-1])} or {spelled[-1]}"
    )


@pytest.mark.parametrize(
    ("opset", "version"),
    [(1, 1), (2, 1), (5, 1), (6, 6), (7, 7), (10, 7), (12, 7), (13, 13), (14, 14), (28, 14), (9999, 14), (None, 14)],
)
def test_the_version_in_force_is_the_newest_not_above_the_opset(opset, version):
    four_bits = np.array(1, elements.TYPES["int4"].numpy)
    with pytest.raises(DTypeError) as caught:
        sub(four_bits, four_bits, opset=opset)
    assert str(caught.value).startswith(f"Sub-{version} takes no element type tensor(int4); expected tensor(float16), ")


def test_integers_wrap_and_floats_are_ieee():
    assert sub(np.int8([-128, 127]), np.int8([1, -1])).tolist() == [127, -128]
    assert sub(np.uint64([0]), np.uint64([1])).tolist() == [2**64 - 1]
    inf = np.float32([np.inf, -0.0])
    assert np.isnan(sub(inf, inf)[0])
    assert str(sub(inf, np.float32([0, 0]))[1]) == "-0.0"


def test_a_python_number_takes_the_array_s_type_and_must_fit():
    assert sub(np.uint8([3]), 4).tolist() == [255]
    assert sub(1.5, np.float32([1])).dtype == np.float32
    with pytest.raises(ScalarRangeError) as caught:
        sub(np.uint8([3]), 256)
    assert str(caught.value) == "the Python int 256 does not fit uint8 (0 to 255)"


def test_out_is_written_and_returned_and_may_be_an_operand():
    a = np.float32([[1, 2], [3, 4]])
    c = sub(a, np.float32([1, 1]), out=a)
    assert c is a
    assert a.tolist() == [[0, 1], [2, 3]]
    out = np.empty((2, 2), np.float32)
    assert sub(a, np.float32([0, 1]), opset=6, axis=0, broadcast=1, out=out) is out
    assert out.tolist() == [[0, 1], [1, 2]]


# ---- errors, in full ------------------------------------------------------------------------------------------

F = np.zeros((2, 3), np.float32)
V = np.zeros(3, np.float32)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: sub(F, F, opset=7, axis=1), SpecError,
         "Sub-7 takes no attribute 'axis' (removed in version 7); it takes none"),
        (lambda: sub(F, F, broadcast=1), SpecError,
         "Sub-14 takes no attribute 'broadcast' (removed in version 7); it takes none"),
        (lambda: sub(F, F, opset=6, consumed_inputs=[0, 0]), SpecError,
         "Sub-6 takes no attribute 'consumed_inputs' (removed in version 6); it takes axis and broadcast"),
        (lambda: sub(F, V, opset=6, broadcast=2), SpecError, "attribute 'broadcast' of Sub-6 is 2; expected 0 or 1"),
        (lambda: sub(F, V, opset=6, broadcast=True), SpecError,
         "attribute 'broadcast' of Sub-6 is True; expected type INT"),
        (lambda: sub(F, V, opset=6, broadcast=0.0), SpecError,
         "attribute 'broadcast' of Sub-6 is 0.0; expected type INT"),
        (lambda: sub(F, V, opset=6, broadcast=1, axis=1.0), SpecError,
         "attribute 'axis' of Sub-6 is 1.0; expected type INT"),
        (lambda: sub(F, F, opset=1, consumed_inputs=3), SpecError,
         "attribute 'consumed_inputs' of Sub-1 is 3; expected type INTS"),
        (lambda: sub(F, F, opset=0), SpecError,
         "ONNX has no opset 0 with Sub; expected 1 or above (versions: 1, 6, 7, 13 and 14)"),
        (lambda: sub(F, F.astype(np.float64)), DTypeError,
         "a is of float32 and b of float64; nothing is promoted, convert one of them"),
        (lambda: sub(F, V, opset=6), ShapeError,
         ("shapes (2, 3) and (3,) must be equal (no broadcasting): the ranks are 2 and 1; "
          "set broadcast=1 to let B repeat")),
        (lambda: sub(F, F[:1], opset=6), ShapeError,
         ("shapes (2, 3) and (1, 3) must be equal (no broadcasting): axis 0 has 2 and 1; "
          "set broadcast=1 to let B repeat")),
        (lambda: sub(V, F, opset=6, broadcast=1), ShapeError,
         "shapes (3,) and (2, 3) do not join under broadcast=1: B has rank 2, above A's rank 1, and A never grows"),
        (lambda: sub(V, F[:1, :1], opset=6, broadcast=1), ShapeError,
         "shapes (3,) and (1, 1) do not join under broadcast=1: B has rank 2, above A's rank 1, and A never grows"),
        (lambda: sub(F, F[:, :1], opset=6, broadcast=1), ShapeError,
         ("shapes (2, 3) and (2, 1) do not join under broadcast=1 from axis 0: axis 1 of A is 3 and axis 1 of B "
          "is 1; B must be a run of A's dims (its 1s do not expand) or have one element")),
        (lambda: sub(F, V, opset=6, broadcast=1, axis=0), ShapeError,
         ("shapes (2, 3) and (3,) do not join under broadcast=1 from axis 0: axis 0 of A is 2 and axis 0 of B is "
          "3; B must be a run of A's dims (its 1s do not expand) or have one element")),
        (lambda: sub(F, V, opset=6, broadcast=1, axis=2), ShapeError,
         "axis 2 is out of range for shapes (2, 3) and (3,): expected 0 to 1"),
        (lambda: sub(F, V, opset=6, broadcast=1, axis=-2), ShapeError,
         ("axis -2 is out of range for shapes (2, 3) and (3,): expected 0 to 1; a negative axis means different "
          "things to different tools, write 1 for the suffix")),
        (lambda: sub(F, F, opset=6, broadcast=1, axis=-1), ShapeError,
         ("axis -1 is out of range for shapes (2, 3) and (2, 3): expected 0 to 0; a negative axis means "
          "different things to different tools, write 0 for the suffix")),
        (lambda: sub(F, F[:, :2]), ShapeError,
         ("shapes (2, 3) and (2, 2) do not broadcast: axis 1 of the result has 3 and 2; "
          "they must be equal, or one of them 1")),
        (lambda: sub(np.zeros(0, np.float32), V), ShapeError,
         ("shapes (0,) and (3,) do not broadcast: axis 0 of the result has 0 and 3; "
          "they must be equal, or one of them 1")),
        (lambda: sub(V, F, opset=7, out=np.empty(3, np.float32)), ShapeError,
         "out has shape (3,); the result has shape (2, 3)"),
    ],
    ids=lambda p: p if isinstance(p, str) else "",
)  # fmt: skip
def test_an_error_says_rule_value_and_what_was_expected(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert str(caught.value) == message


# ---- Sub-1's and Sub-6's other attributes ---------------------------------------------------------------------


@pytest.mark.parametrize("flags", [[], [0], [0, 0], [1, 0], (7, 7, 7)])
def test_consumed_inputs_is_taken_by_sub_1_and_changes_nothing(flags):
    a, b = np.float32([1, 2]), np.float32([2, 1])
    assert sub(a, b, opset=1, consumed_inputs=flags).tolist() == [-1, 1]
    assert (a.tolist(), b.tolist()) == ([1, 2], [2, 1])


@pytest.mark.parametrize("axis", [-99, -1, 0, 1, 99])
def test_axis_has_no_say_without_broadcast_or_with_one_element(axis):
    assert sub(F, F, opset=6, axis=axis).shape == (2, 3)
    assert sub(F, np.float32([[1]]), opset=6, axis=axis, broadcast=1).tolist() == [[-1] * 3] * 2
    assert sub(F, np.float32(1), opset=1, axis=axis, broadcast=1).tolist() == [[-1] * 3] * 2


def test_axis_minus_1_is_the_suffix_for_a_b_of_rank_1():
    assert sub(F, np.float32([1, 2, 3]), opset=6, axis=-1, broadcast=1).tolist() == [[-1, -2, -3]] * 2


# ---- the limited broadcast against index arithmetic -----------------------------------------------------------


def legacy(a, b, axis, broadcast):
    """Sub-6 by the text of its page, on nested indices; ``None`` where it allows no result."""
    if not broadcast:
        start = 0 if a.shape == b.shape else None
    elif b.size == 1 and b.ndim <= a.ndim:
        start = "scalar"
    elif b.ndim > a.ndim:
        start = None
    else:
        start = a.ndim - b.ndim if axis is None or (axis == -1 and b.ndim == 1) else axis
        runs = [k for k in range(a.ndim - b.ndim + 1) if a.shape[k : k + b.ndim] == b.shape]
        start = start if start in runs else None
    if start is None:
        return None
    c = np.empty(a.shape, a.dtype)
    for index in np.ndindex(a.shape):
        own = (0,) * b.ndim if start == "scalar" else index[start : start + b.ndim]
        c[index] = a[index] - b[own]
    return c


def check_legacy(a_shape, b_shape, axis, broadcast, opset):
    a = np.arange(math.prod(a_shape), dtype=np.float32).reshape(a_shape)
    b = 100 * (1 + np.arange(math.prod(b_shape), dtype=np.float32).reshape(b_shape))
    expected = legacy(a, b, axis, broadcast)
    try:
        result = sub(a, b, opset=opset, axis=axis, broadcast=broadcast)
    except MinuendError:
        result = None
    if expected is None:
        assert result is None, (a_shape, b_shape, axis, broadcast)
    else:
        assert result is not None, (a_shape, b_shape, axis, broadcast)
        assert result.shape == expected.shape
        assert np.array_equal(result, expected)
    return result is not None


def test_every_small_pair_of_shapes_obeys_the_limited_rule():
    shapes = [shape for rank in range(4) for shape in itertools.product((0, 1, 2, 3), repeat=rank)]
    allowed = sum(
        check_legacy(a, b, axis, 1, 6)
        for a, b in itertools.product(shapes, [s for s in shapes if len(s) < 3])
        for axis in (None, -1, 0, 1)
    )
    assert allowed > 1000
    assert sum(check_legacy(a, b, None, 0, 1) for a in shapes for b in shapes) == len(shapes)


@given(st.data())
def test_larger_shapes_obey_the_limited_rule(data):
    a = data.draw(st.lists(st.integers(0, 4), max_size=5))
    start = data.draw(st.integers(0, len(a)))
    run = a[start : data.draw(st.integers(start, len(a)))]
    b = data.draw(st.one_of(st.just(run), st.lists(st.integers(0, 4), max_size=5)))
    axis = data.draw(st.one_of(st.none(), st.just(start), st.integers(-3, 6)))
    check_legacy(tuple(a), tuple(b), axis, data.draw(st.integers(0, 1)), data.draw(st.sampled_from([1, 6])))


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        ((), (), ()),
        ((0,), (1,), (0,)),
        ((1,), (0,), (0,)),
        ((0,), (), (0,)),
        ((2, 0), (1, 1), (2, 0)),
        ((2, 0, 3), (0, 1), (2, 0, 3)),
        ((1, 0), (5, 1), (5, 0)),
        ((), (2, 3), (2, 3)),
    ],
)
def test_numpy_broadcasting_of_empty_and_scalar_shapes(a, b, c):
    assert sub(np.ones(a, np.int16), np.ones(b, np.int16)).shape == c
