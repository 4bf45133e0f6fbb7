"""Sub from version to version; Add, Mul and Div, which had the same limited broadcasting, go the same way.

Up, Sub-1 to Sub-6 loses ``consumed_inputs``; Sub-6 to Sub-7 needs only ranks: ``axis`` becomes trailing dims of 1.
Down, Sub-7 to Sub-6 needs a proof that the result has A's shape and that B is a run of A's dims. The other steps
change types alone.
"""

from __future__ import annotations

from onnx import NodeProto

from minuend.core import shapes
from minuend.core.shapes import Shape, format_shape, same
from minuend.errors import ShapeError
from minuend.onnx.opsets import schemas
from minuend.onnx.opsets.schemas import Refusal
from minuend.onnx.opsets.scope import Builder
from minuend.onnx.opsets.steps import forget, step

SINCE_1 = ("Pow", "And", "Or", "Xor", "Equal", "Greater", "Less")
"""Their limited version is 1, and the next one 7."""


forget("Add", "Sub", "Mul", "Div", at=(1, 6), name="consumed_inputs")


@step("Add", "Sub", "Mul", "Div", at=(6, 7))
@step(*SINCE_1, at=(1, 7))
def limited_to_numpy(node: NodeProto, new: Builder) -> None:
    """B gets as many trailing 1s as A has dims behind it."""
    axis, broadcast = schemas.attribute(node, "axis"), schemas.attribute(node, "broadcast", 0)
    title = f"{node.op_type} of opset 6"
    if broadcast not in (0, 1):
        raise Refusal(f"{title} has broadcast={broadcast}; expected 0 or 1")
    schemas.drop_attribute(node, "axis", "broadcast")
    a, b = (new.scope.shape(name) for name in node.input[:2])
    behind = dims_behind(a, b, axis, title) if broadcast else _equal(a, b, title)
    if behind and b is not None:
        node.input[1] = new.add("Unsqueeze", [node.input[1]], "b", axes=list(range(len(b), len(b) + behind)))


def _equal(a: Shape, b: Shape, title: str) -> int:
    try:
        shapes.none(a, b)
    except ShapeError as error:
        raise Refusal(f"the model is invalid: {title} without broadcast=1, but {error.message}") from None
    return 0


def dims_behind(a: Shape, b: Shape, axis: int | None, title: str) -> int:
    """How many dims of A come after B's last one; 0 too where B has one element, which fits anywhere.

    Raises:
        Refusal: the ranks are unknown and an axis is stated, or B does not fit into A.
    """
    if a is None or b is None:
        if axis is None:
            return 0
        of = "A" if a is None else "B"
        raise Refusal(f"{title} has axis={axis}, and the rank of {of} is unknown; state the shape of {of} in the model")
    try:
        joined = shapes.onnx_legacy(a, b, axis=axis, broadcast=1)
    except ShapeError as error:
        raise Refusal(f"the model is invalid: {error.message}") from None
    return len(a) - len(b) - joined.b_start


@step("Add", "Sub", "Mul", "Div", at=(7, 6))
@step(*SINCE_1, at=(7, 1))
def numpy_to_limited(node: NodeProto, new: Builder) -> None:
    """A keeps its shape, and B, its outer 1s dropped, is a run of A's dims."""
    a, b = (new.scope.shape(name) for name in node.input[:2])
    title = f"{node.op_type} of opset 6"
    if a is None or b is None:
        raise Refusal(f"{title} gives A's shape, and the rank of {'A' if a is None else 'B'} is unknown")
    start, stop = run_of(a, b, title)
    if start == 0 and stop == len(b) == len(a):
        return
    gone = [i for i in range(len(b)) if not start <= i + len(a) - len(b) < stop]
    if gone and start < stop:
        node.input[1] = new.add("Squeeze", [node.input[1]], "b", axes=gone)
    if start < stop != len(a):
        schemas.set_attribute(node, "axis", start)
    schemas.set_attribute(node, "broadcast", 1)


def run_of(a: Shape, b: Shape, title: str) -> tuple[int, int]:
    """The dims of A, from and to, that B holds; (0, 0) for a B of one element.

    Raises:
        Refusal: the limited rule of opset 6 does not give the same result, or it is not proven that it does.
    """
    assert a is not None
    assert b is not None
    joined = f"shapes {format_shape(a)} and {format_shape(b)}"
    if len(b) > len(a):
        raise Refusal(f"{title} gives A's shape, and B has the higher rank: {joined}")
    offset = len(a) - len(b)
    unlike = [i for i, y in enumerate(b) if not same(a[offset + i], y)]
    if not unlike:
        return (offset, len(a)) if b else (0, 0)
    many = [i for i, y in enumerate(b) if y != 1]
    if not many:
        return 0, 0
    first, last = many[0], many[-1]
    for i in range(first, last + 1):
        x, y = a[offset + i], b[i]
        if same(x, y):
            continue
        if y == 1:
            raise Refusal(f"{title} does not expand a 1 between other dims of B: {joined}")
        if x == 1:
            raise Refusal(f"{title} gives A's shape, and A would grow in its axis {offset + i}: {joined}")
        raise Refusal(f"{title} gives A's shape, and axis {offset + i} is not proven to be equal in A and B: {joined}")
    return offset + first, offset + last + 1
