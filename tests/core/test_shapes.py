"""The four broadcasting rules: their answers on known dims, and symbolic answers against every substitution."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minuend.core import shapes
from minuend.core.shapes import Broadcast
from minuend.errors import ShapeError

SIZES = range(4)
"""What an unknown dim is tried with; the largest interval below ends here too."""


def openvino(a, b):
    return shapes.numpy(a, b, merge=shapes.merge_openvino)


# ---- the rules on known dims, each by its definition ----------------------------------------------------------


def none_by_definition(a, b):
    return a if a == b else None


def numpy_by_definition(a, b):
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


def legacy_by_definition(a, b, axis=None):
    if len(b) > len(a):
        return None
    if all(n == 1 for n in b):
        return a
    last = len(a) - len(b)
    start = last if axis is None or (axis == -1 and len(b) == 1) else axis
    return a if 0 <= start <= last and a[start : start + len(b)] == b else None


def pdpd_by_definition(a, b, axis=-1):
    last = len(a) - len(b)
    start = last if axis == -1 else axis
    if not (last >= 0 and 0 <= start <= last):
        return None
    c = list(a)
    for i, n in enumerate(b, start):
        if n > a[i] or (n != a[i] and n != 1 and (n, a[i]) != (0, 1)):
            return None
        c[i] = n if a[i] == 1 else a[i]
    return tuple(c)


RULES = {
    "none": (shapes.none, none_by_definition),
    "numpy": (shapes.numpy, numpy_by_definition),
    "numpy of OpenVINO": (openvino, numpy_by_definition),
    "onnx_legacy": (shapes.onnx_legacy, none_by_definition),
    "onnx_legacy broadcast=1": (lambda a, b: shapes.onnx_legacy(a, b, broadcast=1), legacy_by_definition),
    "onnx_legacy axis=0": (
        lambda a, b: shapes.onnx_legacy(a, b, axis=0, broadcast=1),
        lambda a, b: legacy_by_definition(a, b, 0),
    ),
    "onnx_legacy axis=-1": (
        lambda a, b: shapes.onnx_legacy(a, b, axis=-1, broadcast=1),
        lambda a, b: legacy_by_definition(a, b, -1),
    ),
    "pdpd": (shapes.pdpd, pdpd_by_definition),
    "pdpd axis=0": (lambda a, b: shapes.pdpd(a, b, axis=0), lambda a, b: pdpd_by_definition(a, b, 0)),
    "pdpd axis=1": (lambda a, b: shapes.pdpd(a, b, axis=1), lambda a, b: pdpd_by_definition(a, b, 1)),
}
each_rule = pytest.mark.parametrize("name", RULES)


def joined(rule, a, b) -> Broadcast | None:
    try:
        return rule(a, b)
    except ShapeError:
        return None


@each_rule
def test_known_shapes_join_by_the_rule_s_definition(name):
    rule, definition = RULES[name]
    small = [shape for rank in range(4) for shape in itertools.product((0, 1, 2, 3), repeat=rank)]
    legal = 0
    for a, b in itertools.product(small, [s for s in small if len(s) < 3]):
        answer = joined(rule, a, b)
        expected = definition(a, b)
        assert (None if answer is None else answer.shape) == expected, (a, b)
        if answer is not None:
            assert answer.assumptions == ()
            aligned(a, answer.a_start, answer.shape)
            aligned(b, answer.b_start, answer.shape)
            legal += 1
    assert legal >= 21  # equal shapes alone


def aligned(own, start, result):
    """Each dim of an operand sits at a dim of the result that it equals or repeats along."""
    assert 0 <= start <= len(result) - len(own)
    for i, n in enumerate(own):
        assert n in (1, result[start + i])


# ---- symbolic dims: whatever they turn out to be, answer and assumptions hold ---------------------------------

DIMS = (0, 1, 3, "N", "M", None, (2, 3), (1, 2), (0, 1), (1, None), (2, None))
SHAPES = [shape for rank in range(2) for shape in itertools.product(DIMS, repeat=rank)]
SHAPES += [("N", 3), (3, "N"), ("N", "N"), ("N", "M"), (1, None), ((2, 3), 1), (None, 0), (1, 1), (1, (2, 3))]


def sizes_of(dim):
    lo, hi = shapes.bounds(dim)
    return [n for n in SIZES if lo <= n and (hi is None or n <= hi)]


def substitutions(a, b):
    """Every choice of sizes for the unknown dims; a name is one size wherever it stands."""
    slots = [*((("A", i), dim) for i, dim in enumerate(a)), *((("B", i), dim) for i, dim in enumerate(b))]
    free = {dim if isinstance(dim, str) else slot: dim for slot, dim in slots}
    for choice in itertools.product(*(sizes_of(dim) for dim in free.values())):
        value = dict(zip(free, choice, strict=True))
        taken = [value[dim if isinstance(dim, str) else slot] for slot, dim in slots]
        names = {key: size for key, size in value.items() if isinstance(key, str)}
        yield tuple(taken[: len(a)]), tuple(taken[len(a) :]), names


def holds(sentence: str, a, b, answer: Broadcast) -> bool:
    """Whether an assumption is true of known shapes: a reader of the sentences, written from their grammar."""
    if sentence == "B has one element":
        return all(n == 1 for n in b)
    if sentence == "A and B have the same shape":
        return a == b
    axis, claims = re.fullmatch(r"axis (\d+): (.*)", sentence).groups()
    own = {"A": (a, answer.a_start), "B": (b, answer.b_start)}

    def size(operand: str) -> int:
        dims, start = own[operand]
        return dims[int(axis) - start]

    if "never fits" in claims:
        return False

    def true(claim: str) -> bool:
        if match := re.fullmatch(r"\S+ of (A|B) is not 0", claim):
            return size(match[1]) != 0
        if match := re.fullmatch(r"\S+ of (A|B) is ([\d or]+)", claim):
            return size(match[1]) in map(int, match[2].split(" or "))
        assert re.fullmatch(r"\S+ of A equals \S+ of B", claim), f"no reading for {claim!r}"
        return size("A") == size("B")

    return any(all(map(true, choice.split(" and "))) for choice in re.split(r" or (?=\S+ of )", claims))


def consistent(dim, size, names) -> bool:
    """Whether a dim of a symbolic answer can be this size."""
    if isinstance(dim, str):
        return names[dim] == size
    return shapes.may_be(dim, size)


@each_rule
def test_a_symbolic_answer_holds_for_every_size_that_meets_its_assumptions(name):
    rule, definition = RULES[name]
    met = 0
    for a, b in itertools.product(SHAPES, SHAPES):
        answer = joined(rule, a, b)
        for known_a, known_b, names in substitutions(a, b):
            expected = definition(known_a, known_b)
            if answer is None:
                assert expected is None, f"{a} and {b} were refused, but {known_a} and {known_b} join"
            elif all(holds(sentence, known_a, known_b, answer) for sentence in answer.assumptions):
                assert expected is not None, f"{a} and {b} with {known_a} and {known_b}: {answer.assumptions}"
                assert len(expected) == len(answer.shape)
                for dim, size in zip(answer.shape, expected, strict=True):
                    assert consistent(dim, size, names), (
                        f"{a} and {b} gave {answer}, but {known_a} {known_b} {expected}"
                    )
                met += 1
    assert met > 250


@pytest.mark.parametrize("name", ["none", "numpy", "numpy of OpenVINO", "onnx_legacy"])
def test_an_assumption_asks_no_more_than_the_rule_does(name):
    rule, definition = RULES[name]
    for a, b in itertools.product(SHAPES, SHAPES):
        answer = joined(rule, a, b)
        for known_a, known_b, _ in substitutions(a, b):
            if answer is not None and definition(known_a, known_b) is not None:
                assert all(holds(sentence, known_a, known_b, answer) for sentence in answer.assumptions), (a, b, answer)


@each_rule
def test_an_unknown_rank_gives_an_answer_with_an_assumption(name):
    rule, _ = RULES[name]
    for a, b in ((None, (2, 3)), ((2, 3), None), (None, None)):
        answer = rule(a, b)
        assert len(answer.assumptions) == 1
        if name.startswith("onnx_legacy"):
            assert answer.shape == a
        elif name == "none":
            assert answer.shape == (a or b)
        else:
            assert answer.shape is None


@given(st.lists(st.integers(0, 5), max_size=6), st.lists(st.integers(0, 5), max_size=6))
def test_numpy_joins_as_numpy_does(a, b):
    answer = joined(shapes.numpy, tuple(a), tuple(b))
    assert (None if answer is None else answer.shape) == numpy_by_definition(tuple(a), tuple(b))


def test_ranks_and_sizes_have_no_limit():
    deep = (1,) * 200
    assert shapes.numpy(deep, (2**70,)).shape == (*deep[1:], 2**70)
    assert shapes.size((2**62, 2**62)) == 2**124


# ---- dims -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dim", "answer"),
    [
        (0, 0),
        (3, 3),
        ("N", "N"),
        (None, None),
        ((2, 2), 2),
        ((0, None), None),
        ((2, None), (2, None)),
        ((0, 5), (0, 5)),
        (np.int64(4), 4),
    ],
)
def test_a_dim_is_brought_to_its_one_form(dim, answer):
    assert shapes.check_dim(dim) == answer
    assert type(shapes.check_dim(dim)) is type(answer)


@pytest.mark.parametrize("dim", ["", True, 1.0, (3, 2), (-1, 2), (1, 2, 3), ("a", 2), [1, 2], (True, 2)], ids=repr)
def test_what_is_no_dim_is_refused(dim):
    with pytest.raises(ShapeError) as caught:
        shapes.check_dim(dim)
    assert str(caught.value) == (
        f"{dim!r} is no dim; expected a size, a name, None or an interval (lo, hi) with 0 <= lo <= hi"
    )


@pytest.mark.parametrize("dim", [-1, np.int32(-1)])
def test_a_negative_size_is_refused(dim):
    with pytest.raises(ShapeError) as caught:
        shapes.check_dim(dim)
    assert str(caught.value) == "a size cannot be -1; use None for an unknown dim"


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((), "()"),
        ((3,), "(3,)"),
        ((2, "N", None, (1, 4), (2, None)), "(2, N, ?, 1..4, 2..)"),
        (None, "(...)"),
    ],
)
def test_a_shape_is_written_as_python_writes_a_tuple(shape, text):
    assert shapes.format_shape(shape) == text


# ---- how the two standards join symbols -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "y", "onnx", "openvino"),
    [
        ("N", 1, "N", "N"),
        ("N", 3, 3, 3),
        ("N", 0, 0, 0),
        ("N", "N", "N", "N"),
        ("N", "M", None, None),
        ("N", None, None, None),
        (None, None, None, None),
        (None, 5, 5, 5),
        ((6, None), (5, None), None, (6, None)),
        ((1, 4), (3, 9), None, (3, 9)),
        ((2, 4), (3, 9), None, (3, 4)),
        ((2, 4), (1, 9), None, (2, 4)),
        ((0, 4), (0, 9), None, (0, 9)),
        ((0, 4), (2, 9), None, (2, 9)),
        ((1, 4), 1, (1, 4), (1, 4)),
        ((0, 1), 5, 5, 5),
    ],
)
def test_two_dims_merge_as_each_standard_s_inference_does(x, y, onnx, openvino):
    for one, other in ((x, y), (y, x)):
        assert shapes.merge_onnx(one, other) == onnx
        assert shapes.merge_openvino(one, other) == openvino


# ---- messages -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shapes.none((2, 3), (2,)),
         "shapes (2, 3) and (2,) must be equal (no broadcasting): the ranks are 2 and 1"),
        (lambda: shapes.none(("N", 3), ("N", 1)),
         "shapes (N, 3) and (N, 1) must be equal (no broadcasting): axis 1 has 3 and 1"),
        (lambda: shapes.numpy((4, (2, 3)), (5,)),
         ("shapes (4, 2..3) and (5,) do not broadcast: axis 1 of the result has 2..3 and 5; "
          "they must be equal, or one of them 1")),
        (lambda: shapes.onnx_legacy((2,), (1,)),
         "shapes (2,) and (1,) must be equal (no broadcasting): axis 0 has 2 and 1; set broadcast=1 to let B repeat"),
        (lambda: shapes.onnx_legacy((1, 3), (0, 3), broadcast=1),
         ("shapes (1, 3) and (0, 3) do not join under broadcast=1 from axis 0: axis 0 of A is 1 and axis 0 of B "
          "is 0; B must be a run of A's dims (its 1s do not expand) or have one element")),
        (lambda: shapes.pdpd((2, 3), (3,), axis=-2), "axis -2 is out of range: expected -1 (B is A's suffix) or above"),
        (lambda: shapes.pdpd((2, 3), (3,), axis=2),
         "axis 2 is out of range for shapes (2, 3) and (3,) under pdpd: expected -1 to 1"),
        (lambda: shapes.pdpd((3,), (2, 3)),
         "shapes (3,) and (2, 3) do not join under pdpd: B has rank 2, above A's rank 1, and only B is broadcast"),
    ],
)  # fmt: skip
def test_an_error_names_shapes_axis_and_what_was_expected(call, message):
    with pytest.raises(ShapeError) as caught:
        call()
    assert str(caught.value) == message
