"""Dims, shapes, and the four rules by which two shapes join into one.

Shapes may be symbolic. A dim is an ``int``, a name (``"N"``), ``None`` (unknown) or an interval ``(lo, hi)``
with ``hi`` ``None`` for no upper end; a shape is a tuple of dims, or ``None`` where not even the rank is known.
On dims that are all ``int`` each rule is exact; on others it answers as its standard does and records every
assumption that the answer rests on.

A rule returns a :class:`Broadcast`: the result's shape and where the first dims of A and B sit in it. Dims of
size 1 repeat where the result is larger; that is all that a plan needs to know.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from minuend.errors import ShapeError, shown
from minuend.text import INT64

ONE_OPERAND = "one operand"
"""Stands for a rule of broadcasting where there is nothing to join: the result has the operand's shape."""

MAX_RANK = 64
"""The most dims that NumPy's arrays have; models may state more."""

Dim: TypeAlias = int | str | tuple[int, int | None] | None
Shape: TypeAlias = tuple[Dim, ...] | None


@dataclass(frozen=True, slots=True)
class Broadcast:
    """How two shapes join.

    Attributes:
        shape: the result's shape.
        a_start, b_start: the axis of the result at which A's and B's first dim sits.
        assumptions: what had to be taken for granted about symbolic dims, a sentence each.
    """

    shape: Shape
    a_start: int = 0
    b_start: int = 0
    assumptions: tuple[str, ...] = ()


Merge: TypeAlias = Callable[[Dim, Dim], Dim]
"""Joins two symbolic dims as a standard's inference does; raises ``ValueError`` where no size fits both."""


# ---- dims -----------------------------------------------------------------------------------------------------


def check_dim(dim: object) -> Dim:
    """Return a dim if it is one; intervals of one size become that size.

    Raises:
        ShapeError: a negative size, an empty interval, or something that is no dim.
    """
    if isinstance(dim, int) and not isinstance(dim, bool):
        if dim < 0:
            raise ShapeError("dim", f"a size cannot be {shown(dim)}; use None for an unknown dim")
        if dim > INT64[1]:
            raise ShapeError("dim", f"a size cannot be {shown(dim)}; every standard holds sizes in 64 bits")
        return dim
    if dim is None or (isinstance(dim, str) and dim):
        return dim
    if isinstance(dim, tuple) and len(dim) == 2:
        lo, hi = dim
        if type(lo) is int and 0 <= lo <= INT64[1] and (hi is None or (type(hi) is int and lo <= hi <= INT64[1])):
            return lo if lo == hi else (None if (lo, hi) == (0, None) else (lo, hi))
    if hasattr(dim, "__index__") and not isinstance(dim, bool):
        with contextlib.suppress(TypeError):  # an array has it too, and may be of several elements
            return check_dim(operator.index(dim))
    raise ShapeError(
        "dim", f"{shown(dim)} is no dim; expected a size, a name, None or an interval (lo, hi) with 0 <= lo <= hi"
    )


def bounds(dim: Dim) -> tuple[int, int | None]:
    """Return the lowest and highest size that a dim can have; ``None`` for no upper end."""
    if isinstance(dim, int):
        return dim, dim
    return dim if isinstance(dim, tuple) else (0, None)


def from_bounds(lo: int, hi: int | None) -> Dim:
    """Return the dim of an interval: an ``int`` where it holds one size, ``None`` where it holds all."""
    return check_dim((lo, None if hi is not None and hi > INT64[1] else hi))


def may_be(dim: Dim, size: int) -> bool:
    """Whether a dim can have this size."""
    lo, hi = bounds(dim)
    return lo <= size and (hi is None or size <= hi)


def may_be_equal(x: Dim, y: Dim) -> bool:
    """Whether some size fits both dims."""
    (x_lo, x_hi), (y_lo, y_hi) = bounds(x), bounds(y)
    return (y_hi is None or x_lo <= y_hi) and (x_hi is None or y_lo <= x_hi)


def same(x: Dim, y: Dim) -> bool:
    """Whether two dims are certainly the same size: equal numbers, or one name."""
    return x == y and isinstance(x, int | str)


def format_dim(dim: Dim) -> str:
    """Write a dim: ``3``, ``N``, ``?``, ``2..5``, ``2..``."""
    if isinstance(dim, tuple):
        lo, hi = dim
        return f"{lo}..{'' if hi is None else hi}"
    return "?" if dim is None else str(dim)


def format_shape(shape: Shape) -> str:
    """Write a shape as Python writes a tuple: ``(2, N, ?)``, ``(3,)``, ``()``; ``(...)`` for an unknown rank."""
    if shape is None:
        return "(...)"
    inner = ", ".join(format_dim(dim) for dim in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def static(shape: Sequence[Dim]) -> tuple[int, ...]:
    """Return a shape whose dims are all numbers; the caller knows that they are."""
    assert all(isinstance(dim, int) for dim in shape), shape
    return tuple(dim for dim in shape if isinstance(dim, int))


def size(shape: Sequence[int]) -> int:
    """Return the number of elements, in exact integers."""
    return math.prod(shape)


# ---- joining two dims -----------------------------------------------------------------------------------------


def merge_onnx(x: Dim, y: Dim) -> Dim:
    """ONNX's inference: a number other than 1 wins, a lone symbol is kept, two different symbols are unknown."""
    for one, other in ((x, y), (y, x)):
        if isinstance(one, int) and one != 1:
            return one
        if one == 1:
            return other
    return x if same(x, y) else None


def merge_openvino(x: Dim, y: Dim) -> Dim:
    """OpenVINO's ``Dimension::broadcast_merge``: intervals, of which the one that can be 1 gives way."""
    if x == 1 or y == 1 or same(x, y):
        return y if x == 1 else x
    x_one, y_one = may_be(x, 1), may_be(y, 1)
    (x_lo, x_hi), (y_lo, y_hi) = bounds(x), bounds(y)
    if x_one and y_one:
        return from_bounds(min(x_lo, y_lo), None if x_hi is None or y_hi is None else max(x_hi, y_hi))
    if x_one or y_one:
        return y if x_one else x
    return _intersect(x, y)


def _intersect(x: Dim, y: Dim) -> Dim:
    if same(x, y):
        return x
    (x_lo, x_hi), (y_lo, y_hi) = bounds(x), bounds(y)
    highs = [hi for hi in (x_hi, y_hi) if hi is not None]
    lo, hi = max(x_lo, y_lo), min(highs) if highs else None
    if hi is not None and lo > hi:
        raise ValueError("no size fits both")
    if (lo, hi) == (0, None):
        return x if isinstance(x, str) else y
    return from_bounds(lo, hi)


def _equal_or_one(x: Dim, y: Dim, axis: int) -> tuple[str, ...]:
    """The sentence that numpy's rule needs for two dims; none where every size they can have is allowed."""
    if x == 1 or y == 1 or same(x, y):
        return ()
    where, a, b = f"axis {axis}", format_dim(x), format_dim(y)
    for one, number in ((x, y), (y, x)):
        if isinstance(number, int):
            fits = " or ".join(str(n) for n in (1, number) if may_be(one, n))
            return (f"{where}: {format_dim(one)} of {'A' if one is x else 'B'} is {fits}",)
    ones = [f"{name} is 1" for name, dim in ((f"{a} of A", x), (f"{b} of B", y)) if may_be(dim, 1)]
    choices = ([f"{a} of A equals {b} of B"] if may_be_equal(x, y) else []) + ones
    return (f"{where}: {' or '.join(choices)}",)


def _equal(x: Dim, y: Dim, axis: int) -> tuple[str, ...]:
    if same(x, y):
        return ()
    for one, number, owner in ((x, y, "A"), (y, x, "B")):
        if isinstance(number, int):
            return (f"axis {axis}: {format_dim(one)} of {owner} is {number}",)
    return (f"axis {axis}: {format_dim(x)} of A equals {format_dim(y)} of B",)


def _can_join(x: Dim, y: Dim) -> bool:
    """Whether some pair of sizes is equal or holds a 1."""
    return may_be(x, 1) or may_be(y, 1) or may_be_equal(x, y)


def _shapes(a: Shape, b: Shape) -> str:
    return f"shapes {format_shape(a)} and {format_shape(b)}"


def _unjoined(a: Shape, b: Shape, why: str) -> ShapeError:
    return ShapeError("broadcasting", f"{_shapes(a, b)} {why}")


def _unfit(a: tuple[Dim, ...], b: tuple[Dim, ...], rule: str, start: int, axis: int, wanted: str) -> ShapeError:
    """The error of a B whose dim does not fit the one of A that it lies at."""
    dims = f"axis {start + axis} of A is {format_dim(a[start + axis])} and axis {axis} of B is {format_dim(b[axis])}"
    return _unjoined(a, b, f"do not join under {rule} from axis {start}: {dims}; {wanted}")


# ---- the four rules -------------------------------------------------------------------------------------------


def none(a: Shape, b: Shape) -> Broadcast:
    """The rule ``none``: the shapes are equal, at run time too.

    Raises:
        ShapeError: they cannot be.

    >>> none((2, 3), (2, 3)).shape
    (2, 3)
    """
    if a is None or b is None:
        return Broadcast(b if a is None else a, assumptions=("A and B have the same shape",))
    if len(a) != len(b):
        raise _unjoined(a, b, f"must be equal (no broadcasting): the ranks are {len(a)} and {len(b)}")
    dims: list[Dim] = []
    assumed: list[str] = []
    for axis, (x, y) in enumerate(zip(a, b, strict=True)):
        if not may_be_equal(x, y):
            has = f"axis {axis} has {format_dim(x)} and {format_dim(y)}"
            raise _unjoined(a, b, f"must be equal (no broadcasting): {has}")
        dims.append(_intersect(x, y))
        assumed += _equal(x, y, axis)
    return Broadcast(tuple(dims), assumptions=tuple(assumed))


def numpy(a: Shape, b: Shape, *, merge: Merge = merge_onnx) -> Broadcast:
    """The rule ``numpy``: aligned at the right, each pair of dims is equal or holds a 1, either side may grow.

    Args:
        a, b: the shapes. merge: how the standard joins two symbolic dims.

    Raises:
        ShapeError: some pair of dims can neither be equal nor hold a 1.

    >>> numpy((5, 1), (3,)).shape
    (5, 3)
    >>> numpy(("N",), (3,)).assumptions
    ('axis 0: N of A is 1 or 3',)
    """
    if a is None or b is None:
        return Broadcast(None, assumptions=("the shapes of A and B broadcast",))
    rank = max(len(a), len(b))
    a_start, b_start = rank - len(a), rank - len(b)
    dims: list[Dim] = []
    assumed: list[str] = []
    for axis in range(rank):
        x = a[axis - a_start] if axis >= a_start else 1
        y = b[axis - b_start] if axis >= b_start else 1
        if not _can_join(x, y):
            has = f"axis {axis} of the result has {format_dim(x)} and {format_dim(y)}"
            raise _unjoined(a, b, f"do not broadcast: {has}; they must be equal, or one of them 1")
        dims.append(merge(x, y))
        assumed += _equal_or_one(x, y, axis)
    return Broadcast(tuple(dims), a_start, b_start, tuple(assumed))


def onnx_legacy(a: Shape, b: Shape, *, axis: int | None = None, broadcast: int = 0) -> Broadcast:
    """The rule of Sub-1 and Sub-6: B into A, whose shape the result always has.

    With ``broadcast=0`` the shapes are equal and ``axis`` has no say. With ``broadcast=1`` either B has one
    element and no higher rank than A (``axis`` has no say), or B's shape is a run of A's that starts at ``axis``;
    without an axis it is A's suffix. A 1 in B does not expand. No tool of ONNX implements this rule.

    Args:
        a, b: the shapes. axis: where B starts in A, from 0 to rank(A) - rank(B); -1 only for a B of rank 1, where
            all readings in use agree. broadcast: 0 or 1.

    Raises:
        ShapeError: B does not fit, or the axis is out of range.

    >>> onnx_legacy((2, 3, 4, 5), (3, 4), axis=1, broadcast=1).b_start
    1
    """
    if a is None or b is None:
        return Broadcast(a, assumptions=("B fits into A",))
    if not broadcast:
        try:
            equal = none(a, b)
        except ShapeError as error:
            raise ShapeError("broadcasting", f"{error.message}; set broadcast=1 to let B repeat") from None
        return Broadcast(a, assumptions=equal.assumptions)
    if len(b) > len(a):
        above = f"B has rank {len(b)}, above A's rank {len(a)}"
        raise _unjoined(a, b, f"do not join under broadcast=1: {above}, and A never grows")
    if all(dim == 1 for dim in b):
        return Broadcast(a, 0, len(a) - len(b))
    try:
        return _run(a, b, axis)
    except ShapeError:
        if not all(may_be(dim, 1) for dim in b):
            raise
    return Broadcast(a, 0, len(a) - len(b), ("B has one element",))


def _run(a: tuple[Dim, ...], b: tuple[Dim, ...], axis: int | None) -> Broadcast:
    """B's shape as a contiguous run of A's, from ``axis`` on."""
    last = len(a) - len(b)
    if axis is None or (axis == -1 and len(b) == 1):
        start = last
    elif 0 <= axis <= last:
        start = axis
    else:
        hint = f"; a negative axis means different things to different tools, write {last} for the suffix"
        raise ShapeError(
            "axis", f"axis {axis} is out of range for {_shapes(a, b)}: expected 0 to {last}{hint if axis < 0 else ''}"
        )
    assumed: list[str] = []
    for i, y in enumerate(b):
        x = a[start + i]
        if not may_be_equal(x, y):
            rule = "B must be a run of A's dims (its 1s do not expand) or have one element"
            raise _unfit(a, b, "broadcast=1", start, i, rule)
        assumed += _equal(x, y, start + i)
    return Broadcast(a, 0, start, tuple(assumed))


def pdpd(a: Shape, b: Shape, *, axis: int = -1) -> Broadcast:
    """PaddlePaddle's rule in OpenVINO: B into A from ``axis`` on, 1s of B expand.

    A grows in one case only: its 1 against a 0 of B gives 0.

    Args:
        a, b: the shapes. axis: where B starts in A; -1 is rank(A) - rank(B), by B's rank as it stands.

    Raises:
        ShapeError: B does not fit, or the axis is out of range.

    >>> pdpd((2, 3, 4, 5), (3, 1), axis=1).shape
    (2, 3, 4, 5)
    """
    if axis < -1:
        raise ShapeError("axis", f"axis {axis} is out of range: expected -1 (B is A's suffix) or above")
    if a is None or b is None:
        return Broadcast(None, assumptions=("B fits into A",))
    if len(b) > len(a):
        above = f"B has rank {len(b)}, above A's rank {len(a)}"
        raise _unjoined(a, b, f"do not join under pdpd: {above}, and only B is broadcast")
    last = len(a) - len(b)
    start = last if axis == -1 else axis
    if start > last:
        raise ShapeError("axis", f"axis {axis} is out of range for {_shapes(a, b)} under pdpd: expected -1 to {last}")
    dims = list(a)
    assumed: list[str] = []
    for i, y in enumerate(b):
        x = a[start + i]
        too_large = isinstance(x, int) and isinstance(y, int) and y > x
        if too_large or not _can_join(x, y):
            raise _unfit(a, b, "pdpd", start, i, "B's dim must be A's, or a 1 that is not above it")
        dims[start + i] = merge_openvino(x, y)
        assumed += _fits_into(x, y, start + i)
    return Broadcast(tuple(dims), 0, start, tuple(assumed))


def _fits_into(x: Dim, y: Dim, axis: int) -> tuple[str, ...]:
    """The sentence that pdpd needs for a dim of A and one of B; none where every size they can have is allowed."""
    if (isinstance(x, int) and isinstance(y, int)) or same(x, y) or (y == 1 and not may_be(x, 0)):
        return ()
    where, a, b = f"axis {axis}", format_dim(x), format_dim(y)
    if y == 1:
        return (f"{where}: {a} of A is not 0",)
    if isinstance(x, int):
        sizes = [str(n) for n in {0: (0,), 1: (0, 1)}.get(x, (1, x)) if may_be(y, n)]
        choices = [f"{b} of B is {' or '.join(sizes)}"] if sizes else []
    elif isinstance(y, int):
        sizes = [str(n) for n in ((0, 1) if y == 0 else (y,)) if may_be(x, n)]
        choices = [f"{a} of A is {' or '.join(sizes)}"] if sizes else []
    else:
        choices = [f"{a} of A equals {b} of B"] if may_be_equal(x, y) else []
        rest = f" and {a} of A is not 0" if may_be(x, 0) else ""
        choices += [f"{b} of B is 1{rest}"] if may_be(y, 1) else []
    if not choices:  # that inference asks only whether either dim could be a 1
        return (f"{where}: {b} of B never fits {a} of A, but OpenVINO's inference lets it pass",)
    return (f"{where}: {' or '.join(choices)}",)
