"""Shapes and strides → :class:`Plan`, the only thing that reaches the kernel.

Every broadcasting rule ends here: as one size per dim of the result, and for each operand a stride per dim in bytes, 0
where it repeats. A plan knows no dialect and no version. What overlaps what, in which order memory is gone through and
where a new result's elements lie is the native side's to see. Strides are bytes rather than elements because an array
may lie at any address (a field of a record, a slice of a byte buffer); a standard's element strides come in
multiplied by the element's size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from minuend import _native
from minuend.arrays.overlap import null_step
from minuend.core.elements import ElementType
from minuend.core.shapes import Broadcast, size, static

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Strides: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Two operands laid over the shape of their difference.

    Attributes:
        element: the operands' element type.
        sizes: the result's dims, outermost first.
        a, b: strides in bytes, one per dim; 0 repeats an operand.
    """

    element: ElementType
    sizes: tuple[int, ...]
    a: Strides
    b: Strides

    def result(self, element: ElementType) -> Array:
        """Return a new array for the difference, packed in the order in which the operands lie."""
        return _native.result(element.memory, self.sizes, self.a, self.b)

    def run(self, a: Array, b: Array, out: Array, out_strides: Strides, policy: str) -> int:
        """Compute ``out = a - b`` from the first element of each array on; say what overflows.

        The answer is as if the operands had been copied first, wherever ``out`` lies; no two elements of ``out`` may
        share an address. ``policy`` is ``"wrap"``, ``"saturate"``, ``"widen"`` (``out`` then holds the wide type) or
        ``"error"``, which wraps. Returns 0 where all went well. Where ``"error"`` finds an overflow, or ``"widen"``
        differences that int64 cannot hold, the operands keep their values, and ``out`` holds nothing to rely on.
        """
        table = _table(self.element, policy)
        return _native.execute(self.element.kernel, policy, self.sizes, a, self.a, b, self.b, table, out, out_strides)

    def count(self, a: Array, b: Array) -> int:
        """Return how many elements overflow."""
        nowhere = (0,) * len(self.sizes)  # nothing is written
        return self.run(a, b, a, nowhere, "count")

    def first_overflow(self, a: Array, b: Array, policy: str) -> tuple[int, ...]:
        """Return the index of the first element, in C order, that ``run`` found to overflow."""
        table = _table(self.element, policy)
        flat = _native.first_overflow(self.element.kernel, policy, self.sizes, a, self.a, b, self.b, table)
        return tuple(int(i) for i in np.unravel_index(flat, self.sizes))

    def operands_at(self, a: Array, b: Array, index: tuple[int, ...]) -> tuple[int, int]:
        """Return both integer operands of an element of the result."""
        views = (np.lib.stride_tricks.as_strided(v, self.sizes, s) for v, s in ((a, self.a), (b, self.b)))
        x, y = (int(view[index]) for view in views)
        return x, y


def plan(
    element: ElementType,
    joined: Broadcast,
    a: tuple[Sequence[int], Sequence[int]],
    b: tuple[Sequence[int], Sequence[int]],
) -> Plan:
    """Lay two operands over the shape in which they join.

    Args:
        element: their element type. joined: what a broadcasting rule answered for their shapes, all known.
        a, b: each operand's sizes and byte strides.
    """
    sizes = static(joined.shape or ())
    return Plan(element, sizes, _aligned(sizes, joined.a_start, *a), _aligned(sizes, joined.b_start, *b))


def _aligned(sizes: tuple[int, ...], start: int, own: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Strides over the result's dims: an operand repeats before and after its own dims, and along its 1s."""
    aligned = [0] * len(sizes)
    for i, (n, stride) in enumerate(zip(own, strides, strict=True)):
        aligned[start + i] = 0 if n == 1 else stride
    return tuple(aligned)


def _table(element: ElementType, policy: str) -> bytes | None:
    if element.kernel != "table":
        return None
    from minuend.operators import SUBTRACT
    from minuend.operators.reference import table

    return table(SUBTRACT, element, policy)


def shares_addresses(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two different elements of one strided block start at the same address; exact."""
    steps = [abs(stride) for stride in strides]
    reach = sum((n - 1) * step for n, step in zip(sizes, steps, strict=True))
    if size(sizes) <= 1:
        return False
    return size(sizes) > reach + 1 or null_step(sizes, steps) is not None  # more elements than addresses: some share
