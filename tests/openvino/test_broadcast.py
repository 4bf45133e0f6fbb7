"""Across modules: every row of OpenVINO's broadcasting tables, by inference and, for known shapes, by arrays."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from minuend.core.shapes import Dim, Shape
from minuend.errors import DTypeError, ShapeError, SpecError
from minuend.openvino import subtract
from minuend.standards.node import TensorType
from minuend.standards.validation import infer

REJECTED = "rejected"

# A, B, the result. Dims as OpenVINO writes them: ? is unknown, 2..5 an interval, [...] an unknown rank.
NONE = [
    ("[]", "[]", "[]"),
    ("[256,56]", "[256,56]", "[256,56]"),
    ("[1]", "[]", REJECTED),
    ("[2,3]", "[2,1]", REJECTED),
    ("[2,3]", "[3]", REJECTED),
    ("[3,4,6,5]", "[3,4,6,5]", "[3,4,6,5]"),
    ("[3,4,6,5]", "[3,1,6,1]", REJECTED),
    ("[0,3]", "[0,3]", "[0,3]"),
    ("[0]", "[1]", REJECTED),
    ("[?,3]", "[2,?]", "[2,3]"),
    ("[1..4]", "[3..9]", "[3..4]"),
    ("[1..2]", "[3..9]", REJECTED),
    ("[?]", "[1]", "[1]"),
    ("[...]", "[2,3]", "[2,3]"),
    ("[2,3]", "[...]", "[2,3]"),
    ("[...]", "[...]", "[...]"),
    ("[1..3,2..7,6..,..6,?,8]", "[1..3,2..7,6..,..6,?,8]", "[1..3,2..7,6..,..6,?,8]"),
    ("[?,4,1,6,1..6,2..6]", "[?,1,5,6,5..8,5..8]", REJECTED),
]

NUMPY = [
    # the page on broadcasting
    ("[]", "[]", "[]"),
    ("[2,3]", "[1]", "[2,3]"),
    ("[3]", "[2,3]", "[2,3]"),
    ("[2,3,5]", "[]", "[2,3,5]"),
    ("[2,1,5]", "[1,4,5]", "[2,4,5]"),
    ("[6,5]", "[2,1,5]", "[2,6,5]"),
    ("[2,1,5]", "[4,1]", "[2,4,5]"),
    ("[3,2,1,4]", "[5,4]", "[3,2,5,4]"),
    ("[1,5,3]", "[5,2,1,3]", "[5,2,5,3]"),
    ("[3]", "[2]", REJECTED),
    ("[3,1,5]", "[4,4,5]", REJECTED),
    # zero dims
    ("[0]", "[1]", "[0]"),
    ("[1]", "[0]", "[0]"),
    ("[0]", "[0]", "[0]"),
    ("[0]", "[3]", REJECTED),
    ("[0]", "[]", "[0]"),
    ("[2,0]", "[1,1]", "[2,0]"),
    ("[2,0,3]", "[0,1]", "[2,0,3]"),
    ("[1,0]", "[5,1]", "[5,0]"),
    # dims that are not known
    ("[?]", "[1]", "[?]"),
    ("[?]", "[5]", "[5]"),
    ("[?]", "[0]", "[0]"),
    ("[2..]", "[5]", "[5]"),
    ("[6..]", "[5]", REJECTED),
    ("[..4]", "[5]", "[5]"),
    ("[1..4]", "[3..9]", "[3..9]"),
    ("[2..4]", "[3..9]", "[3..4]"),
    ("[2..4]", "[5..9]", REJECTED),
    ("[2..4]", "[1..9]", "[2..4]"),
    ("[..4]", "[..9]", "[..9]"),
    ("[..4]", "[2..9]", "[2..9]"),
    ("[1..4]", "[1]", "[1..4]"),
    ("[..1]", "[5]", "[5]"),
    ("[..1]", "[1]", "[..1]"),
    ("[...]", "[2,3]", "[...]"),
    ("[2,3]", "[...]", "[...]"),
    ("[...]", "[...]", "[...]"),
    # the standard's own tests of type propagation and of partial shapes
    ("[?,4,1,6,1..6,2..6]", "[?,1,5,6,5..8,5..8]", "[?,4,5,6,5..8,5..6]"),
    ("[2,3,4,5]", "[1]", "[2,3,4,5]"),
    ("[2,3,4,5]", "[5]", "[2,3,4,5]"),
    ("[4,5]", "[2,3,4,5]", "[2,3,4,5]"),
    ("[1,4,5]", "[2,3,1,1]", "[2,3,4,5]"),
    ("[8,1,6,1]", "[7,1,5]", "[8,7,6,5]"),
    ("[3]", "[4]", REJECTED),
    ("[3,5,6]", "[4,10,12]", REJECTED),
    ("[389,112,12]", "[389,112,19]", REJECTED),
    ("[1..3,1..3,1..3,4..8,?,1,?,1,3]", "[1..3,2..7,?,1,1..3,4..8,?,1,3]", "[1..3,2..7,?,4..8,?,4..8,?,1,3]"),
    ("[2..4,8..16,8..16,8..16]", "[2..4,4..12,10..12,16..24]", "[2..4,8..12,10..12,16]"),
    ("[2,?,3,4]", "[3]", REJECTED),
    ("[2,?,3,4]", "[4,4]", REJECTED),
    ("[2,?,3,4]", "[2,5,3,3,4]", REJECTED),
    ("[5,?,3,4]", "[3,4]", "[5,?,3,4]"),
    ("[?]", "[3,4]", "[3,4]"),
    ("[2,4,1,5]", "[2,1,3,5]", "[2,4,3,5]"),
    ("[3,1,1,5]", "[3,1,6,1]", "[3,1,6,5]"),
    ("[3,4,1,5]", "[4,6,1]", "[3,4,6,5]"),
    ("[4,6,1]", "[3,4,1,5]", "[3,4,6,5]"),
    ("[3,4,6,5]", "[2,4,6,5]", REJECTED),
]

# A, B, axis, the result.
PDPD = [
    # the page on broadcasting
    ("[2,3,4,5]", "[3,4]", 1, "[2,3,4,5]"),
    ("[2,3,4,5]", "[3,1]", 1, "[2,3,4,5]"),
    ("[2,3,4,5]", "[4,5]", -1, "[2,3,4,5]"),
    ("[2,3,4,5]", "[4,5]", 2, "[2,3,4,5]"),
    ("[2,3,4,5]", "[1,3]", 0, "[2,3,4,5]"),
    ("[2,3,4,5]", "[]", -1, "[2,3,4,5]"),
    ("[2,3,4,5]", "[5]", -1, "[2,3,4,5]"),
    ("[2,3,4,5]", "[5]", 3, "[2,3,4,5]"),
    ("[8,1,6,1]", "[7,1,5]", 1, REJECTED),
    # where the axis may stand, by B's rank as it is
    ("[2,3]", "[2,1]", 0, "[2,3]"),
    ("[2,3]", "[2,3]", -1, "[2,3]"),
    ("[2,3]", "[2,3]", 0, "[2,3]"),
    ("[2,3]", "[2,3]", 1, REJECTED),
    ("[2,3]", "[3]", -2, REJECTED),
    ("[2,3]", "[3]", -3, REJECTED),
    ("[1,3]", "[2,3]", -1, REJECTED),
    ("[2,3]", "[2]", -1, REJECTED),
    ("[2,3]", "[2]", 0, "[2,3]"),
    ("[2,3]", "[2,3,1]", -1, REJECTED),
    ("[2,3]", "[2,3,1]", 0, REJECTED),
    ("[2,3]", "[2,1,1]", 0, REJECTED),
    ("[2,3,4]", "[3,1]", 1, "[2,3,4]"),
    ("[2,3,4]", "[3,1,1]", 0, REJECTED),
    ("[2,3,4]", "[2,1,1]", 0, "[2,3,4]"),
    ("[2,3,4]", "[2,1,1]", -1, "[2,3,4]"),
    ("[2,3,4]", "[1,4]", 1, "[2,3,4]"),
    ("[2,3,4,5]", "[3,1,5]", 1, "[2,3,4,5]"),
    ("[2,3,4,5]", "[1,1,1]", 1, "[2,3,4,5]"),
    ("[2,3]", "[]", 0, "[2,3]"),
    ("[2,3]", "[]", 1, "[2,3]"),
    ("[2,3]", "[]", 2, "[2,3]"),
    ("[2,3]", "[]", 3, REJECTED),
    ("[2,3,4]", "[1]", 3, REJECTED),
    ("[2,3,4]", "[1]", 2, "[2,3,4]"),
    ("[]", "[]", -1, "[]"),
    ("[]", "[]", 0, "[]"),
    ("[]", "[1]", -1, REJECTED),
    ("[]", "[1]", 0, REJECTED),
    # zero dims: the one case where A's shape changes is a 1 of A against a 0 of B
    ("[0,3]", "[3]", -1, "[0,3]"),
    ("[0,3]", "[0]", 0, "[0,3]"),
    ("[2,3]", "[0]", 0, REJECTED),
    ("[2,1]", "[2,0]", -1, "[2,0]"),
    ("[1,3]", "[0,3]", -1, "[0,3]"),
    ("[0,3]", "[1]", 0, REJECTED),
    # dims that are not known
    ("[...]", "[3]", 0, "[...]"),
    ("[2,3]", "[...]", -1, "[...]"),
    ("[...]", "[...]", -1, "[...]"),
    ("[?,3]", "[7]", 0, "[7,3]"),
    ("[3,3]", "[?]", 0, "[3,3]"),
    ("[3,3]", "[?]", -1, "[3,3]"),
    ("[3,3]", "[2..5]", 0, "[3,3]"),
    ("[3,3]", "[4..5]", 0, REJECTED),
    ("[1,3]", "[2..5]", 0, "[2..5,3]"),
    ("[1,3]", "[?]", 0, "[?,3]"),
    # the standard's own tests of type propagation
    ("[2,3,4,5]", "[3,1,5]", 1, "[2,3,4,5]"),
    ("[8,1,6,5]", "[8,1,6,5]", -1, "[8,1,6,5]"),
    ("[8,7,6,5]", "[8,1,6,5]", -1, "[8,7,6,5]"),
    ("[8,7,6,5]", "[7,1,5]", -1, "[8,7,6,5]"),
    ("[2,3,4,1]", "[2,3,4,5]", -1, REJECTED),
    ("[2,3,4,5]", "[4,5]", -2, REJECTED),
    ("[1..3,1..3,1..3,4..8,?,1,?,1,3]", "[1..3,2..7,?,1,1..3,4..8,?,1,3]", 0, "[1..3,2..7,?,4..8,?,4..8,?,1,3]"),
    ("[1..3,2..7,6..,..6,?,8]", "[1..3,2..7,6..,..6,?,8]", 0, "[1..3,2..7,6..,..6,?,8]"),
]

ROWS = [
    *[("none", a, b, -1, result) for a, b, result in NONE],
    *[("numpy", a, b, -1, result) for a, b, result in NUMPY],
    *[("pdpd", a, b, axis, result) for a, b, axis, result in PDPD],
]


def read_dim(text: str) -> Dim:
    if text == "?":
        return None
    low, dots, high = text.partition("..")
    return (int(low or 0), int(high) if high else None) if dots else int(text)


def read_shape(text: str) -> Shape:
    if text == "[...]":
        return None
    inner = text.removeprefix("[").removesuffix("]")
    return tuple(read_dim(dim) for dim in inner.split(",")) if inner else ()


def is_static(text: str) -> bool:
    return not any(sign in text for sign in ("?", ".."))


def as_type(text: str, dtype: str = "f32") -> TensorType:
    return TensorType(dtype, read_shape(text))


@pytest.mark.parametrize(("rule", "a", "b", "axis", "result"), ROWS)
def test_inference_answers_as_the_table_says(rule: str, a: str, b: str, axis: int, result: str) -> None:
    if result == REJECTED:
        with pytest.raises(ShapeError):
            infer("openvino", 1, as_type(a), as_type(b), auto_broadcast=rule, axis=axis)
        return
    answer = infer("openvino", 1, as_type(a), as_type(b), auto_broadcast=rule, axis=axis)
    assert (answer.dtype, answer.shape) == ("float32", as_type(result).shape)
    if is_static(a) and is_static(b):
        assert answer.assumptions == ()


# ---- arrays ---------------------------------------------------------------------------------------------------


def oracle(rule: str, a: Any, b: Any, axis: int, shape: tuple[int, ...]) -> list[int]:
    """The difference in C order by plain index arithmetic."""
    if rule == "pdpd":
        starts = (0, a.ndim - b.ndim if axis == -1 else axis)
    else:
        starts = (len(shape) - a.ndim, len(shape) - b.ndim)
    answers = []
    for index in itertools.product(*map(range, shape)):
        x, y = (
            int(operand[tuple(index[start + i] if n > 1 else 0 for i, n in enumerate(operand.shape))])
            for operand, start in zip((a, b), starts, strict=True)
        )
        answers.append(x - y)
    return answers


@pytest.mark.parametrize(
    ("rule", "a", "b", "axis", "result"), [row for row in ROWS if is_static(row[1]) and is_static(row[2])]
)
def test_arrays_answer_as_the_table_says(rule: str, a: str, b: str, axis: int, result: str) -> None:
    x_shape, y_shape = as_type(a).shape, as_type(b).shape
    assert x_shape is not None
    assert y_shape is not None
    if np.prod(x_shape) > 20_000:
        x_shape, y_shape = (x_shape[0] // 100, *x_shape[1:]), (y_shape[0] // 100, *y_shape[1:])
    x = np.arange(1, np.prod(x_shape) + 1, dtype=np.int64).reshape(x_shape)  # type: ignore[arg-type]
    y = (np.arange(np.prod(y_shape), dtype=np.int64) * 100_003 + 7).reshape(y_shape)  # type: ignore[arg-type]
    if result == REJECTED:
        with pytest.raises(ShapeError):
            subtract(x, y, auto_broadcast=rule, axis=axis)
        return
    answer = subtract(x, y, auto_broadcast=rule, axis=axis)
    assert (answer.dtype, answer.shape) == (np.int64, as_type(result).shape)
    assert answer.ravel().tolist() == oracle(rule, x, y, axis, answer.shape)


# ---- attributes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["numpy", "NUMPY", "Numpy", None])
def test_case_does_not_matter_and_numpy_is_the_default(rule: str | None) -> None:
    attributes = {} if rule is None else {"auto_broadcast": rule}
    assert infer("openvino", 1, as_type("[2,1]"), as_type("[3]"), **attributes).shape == (2, 3)
    assert subtract(np.ones((2, 1)), np.ones(3), **attributes).shape == (2, 3)


def test_the_default_axis_of_pdpd_is_the_suffix() -> None:
    assert infer("openvino", 1, as_type("[2,3]"), as_type("[3]"), auto_broadcast="PDPD").shape == (2, 3)
    a, b = np.arange(9, dtype=np.int32).reshape(3, 3), np.array([0, 10, 20], np.int32)
    assert subtract(a, b, auto_broadcast="pdpd").tolist() == [[0, -9, -18], [3, -6, -15], [6, -3, -12]]
    assert subtract(a, b, auto_broadcast="pdpd", axis=0).tolist() == [[0, 1, 2], [-7, -6, -5], [-14, -13, -12]]


@pytest.mark.parametrize("rule", ["none", "numpy"])
@pytest.mark.parametrize("axis", [-7, -1, 0, 99])
def test_only_pdpd_reads_the_axis(rule: str, axis: int) -> None:
    a = np.array([5, 3], np.uint8)
    assert subtract(a, a, auto_broadcast=rule, axis=axis).tolist() == [0, 0]


def test_none_holds_at_run_time_too() -> None:
    assert infer("openvino", 1, as_type("[?]"), as_type("[?]"), auto_broadcast="none").shape == (None,)
    with pytest.raises(ShapeError):
        subtract(np.ones(3), np.ones(1), auto_broadcast="none")


# ---- messages -------------------------------------------------------------------------------------------------

MESSAGES = [
    (("none", "[2,3]", "[2,1]", -1), "shapes (2, 3) and (2, 1) must be equal (no broadcasting): axis 1 has 3 and 1"),
    (("none", "[1]", "[]", -1), "shapes (1,) and () must be equal (no broadcasting): the ranks are 1 and 0"),
    (("none", "[1..2]", "[3..9]", -1),
     "shapes (1..2,) and (3..9,) must be equal (no broadcasting): axis 0 has 1..2 and 3..9"),
    (("numpy", "[3,1,5]", "[4,4,5]", -1),
     ("shapes (3, 1, 5) and (4, 4, 5) do not broadcast: axis 0 of the result has 3 and 4; "
      "they must be equal, or one of them 1")),
    (("numpy", "[6..]", "[5]", -1),
     ("shapes (6..,) and (5,) do not broadcast: axis 0 of the result has 6.. and 5; "
      "they must be equal, or one of them 1")),
    (("pdpd", "[2,3]", "[2,3,1]", 0),
     "shapes (2, 3) and (2, 3, 1) do not join under pdpd: B has rank 3, above A's rank 2, and only B is broadcast"),
    (("pdpd", "[2,3]", "[2]", -1),
     ("shapes (2, 3) and (2,) do not join under pdpd from axis 1: axis 1 of A is 3 and axis 0 of B is 2; "
      "B's dim must be A's, or a 1 that is not above it")),
    (("pdpd", "[0,3]", "[1]", 0),
     ("shapes (0, 3) and (1,) do not join under pdpd from axis 0: axis 0 of A is 0 and axis 0 of B is 1; "
      "B's dim must be A's, or a 1 that is not above it")),
    (("pdpd", "[2,3]", "[]", 3), "axis 3 is out of range for shapes (2, 3) and () under pdpd: expected -1 to 2"),
    (("pdpd", "[2,3]", "[3]", -2), "axis -2 is out of range: expected -1 (B is A's suffix) or above"),
    (("pdpd", "[...]", "[3]", -2), "axis -2 is out of range: expected -1 (B is A's suffix) or above"),
    (("linear", "[3]", "[3]", -1),
     "attribute 'auto_broadcast' of Subtract-1 is 'linear'; expected none, numpy or pdpd"),
    (("explicit", "[3]", "[3]", -1),
     "attribute 'auto_broadcast' of Subtract-1 is 'explicit'; expected none, numpy or pdpd"),
    (("", "[3]", "[3]", -1), "attribute 'auto_broadcast' of Subtract-1 is ''; expected none, numpy or pdpd"),
    ((None, "[3]", "[3]", -1), "attribute 'auto_broadcast' of Subtract-1 is None; expected type string"),
    (("numpy", "[3]", "[3]", 1.0), "attribute 'axis' of Subtract-1 is 1.0; expected type int"),
    (("pdpd", "[3]", "[3]", True), "attribute 'axis' of Subtract-1 is True; expected type int"),
    (("none", "[3]", "[3]", None), "attribute 'axis' of Subtract-1 is None; expected type int"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), MESSAGES)
def test_messages_say_what_came_and_what_was_expected(call: tuple[Any, ...], message: str) -> None:
    rule, a, b, axis = call
    with pytest.raises(SpecError) as error:
        infer("openvino", 1, as_type(a), as_type(b), auto_broadcast=rule, axis=axis)
    assert str(error.value) == message
    if is_static(a) and is_static(b):
        x, y = np.zeros(read_shape(a)), np.zeros(read_shape(b))  # type: ignore[arg-type]
        with pytest.raises(SpecError) as error:
            subtract(x, y, auto_broadcast=rule, axis=axis)
        assert str(error.value) == message


def test_an_attribute_that_subtract_has_not_is_an_error() -> None:
    with pytest.raises(SpecError) as error:
        infer("openvino", 1, as_type("[3]"), as_type("[3]"), broadcast=1)
    assert str(error.value) == "Subtract-1 takes no attribute 'broadcast'; it takes auto_broadcast and axis"


def test_both_operands_have_one_element_type() -> None:
    with pytest.raises(DTypeError) as error:
        infer("openvino", 1, as_type("[3]"), as_type("[3]", "i32"))
    assert str(error.value) == (
        "Subtract-1 takes two operands of one element type; A is f32 and B is i32; convert one of them first"
    )


# ---- assumptions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "a", "b", "assumptions"),
    [
        ("none", "[?,3]", "[2,?]", ("axis 0: ? of A is 2", "axis 1: ? of B is 3")),
        ("none", "[1..4]", "[3..9]", ("axis 0: 1..4 of A equals 3..9 of B",)),
        ("none", "[...]", "[2,3]", ("A and B have the same shape",)),
        ("numpy", "[?]", "[5]", ("axis 0: ? of A is 1 or 5",)),
        ("numpy", "[2..4]", "[1..9]", ("axis 0: 2..4 of A equals 1..9 of B or 1..9 of B is 1",)),
        ("numpy", "[...]", "[2]", ("the shapes of A and B broadcast",)),
        ("pdpd", "[...]", "[2]", ("B fits into A",)),
        ("pdpd", "[?,3]", "[7]", ("axis 0: ? of A is 7",)),
        ("pdpd", "[?,3]", "[1]", ("axis 0: ? of A is not 0",)),
        ("pdpd", "[1..,3]", "[1]", ()),
        ("pdpd", "[?,3]", "[0]", ("axis 0: ? of A is 0 or 1",)),
        ("pdpd", "[3,3]", "[?]", ("axis 0: ? of B is 1 or 3",)),
        ("pdpd", "[3,3]", "[2..5]", ("axis 0: 2..5 of B is 3",)),
        ("pdpd", "[1,3]", "[?]", ("axis 0: ? of B is 0 or 1",)),
        ("pdpd", "[0,3]", "[?]", ("axis 0: ? of B is 0",)),
        ("pdpd", "[1,3]", "[2..5]", ("axis 0: 2..5 of B never fits 1 of A, but OpenVINO's inference lets it pass",)),
        ("pdpd", "[1..4,3]", "[6]", ("axis 0: 6 of B never fits 1..4 of A, but OpenVINO's inference lets it pass",)),
        ("pdpd", "[?,3]", "[2..5]", ("axis 0: ? of A equals 2..5 of B",)),
        ("pdpd", "[?,3]", "[?]", ("axis 0: ? of A equals ? of B or ? of B is 1 and ? of A is not 0",)),
    ],
)
def test_what_was_assumed_is_said(rule: str, a: str, b: str, assumptions: tuple[str, ...]) -> None:
    answer = infer("openvino", 1, as_type(a), as_type(b), auto_broadcast=rule, axis=0)
    assert answer.assumptions == assumptions


def test_names_are_kept_where_the_result_is_theirs() -> None:
    a, b = TensorType("f32", ("N", "M", 1)), TensorType("f32", ("N", 1, "K"))
    assert infer("openvino", 1, a, b).shape == ("N", "M", "K")
    assert infer("openvino", 1, a, b).assumptions == ()
    assert infer("openvino", 1, TensorType("f32", ("N",)), TensorType("f32", ("M",))).shape == (None,)
    assert infer("openvino", 1, TensorType("f32", ("N",)), b, auto_broadcast="numpy").assumptions == (
        "axis 2: N of A equals K of B or N of A is 1 or K of B is 1",
    )


# ---- a peer: the installed openvino ---------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS)
def test_the_installed_openvino_infers_the_same(peer_model: Any, row: tuple[Any, ...]) -> None:
    *call, result = row
    if result == REJECTED:
        with pytest.raises(RuntimeError, match="Argument shapes are inconsistent"):
            peer_model(*call)
        return
    assert peer_model(*call).output(0).get_partial_shape().to_string() == result
