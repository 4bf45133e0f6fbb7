"""Shapes and strides → :class:`Plan`, the only thing that reaches the kernel.

A plan knows no dialect and no version: one size per dim of the result, and for each of A, B and the result a
stride per dim in bytes, 0 where the operand repeats. Strides are bytes rather than elements because an array
may lie at any address (a field of a record, a slice of a byte buffer); a standard's element strides come in
multiplied by the element's size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minuend import _native
from minuend.core.elements import ElementType
from minuend.core.overlap import null_step
from minuend.core.shapes import Broadcast, size, static


@dataclass(frozen=True, slots=True)
class Plan:
    """One subtraction over strided memory.

    Attributes:
        element: the operands' element type.
        sizes: the result's dims, outermost first.
        a, b, out: strides in bytes, one per dim; 0 repeats an operand.
    """

    element: ElementType
    sizes: tuple[int, ...]
    a: tuple[int, ...]
    b: tuple[int, ...]
    out: tuple[int, ...]

    def run(self, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], out: np.ndarray[Any, Any], policy: str) -> int:
        """Compute ``out = a - b`` from the first element of each array on; say what overflows.

        ``policy`` is ``"wrap"``, ``"saturate"``, ``"widen"`` (``out`` then holds the wide type), ``"error"`` (wraps;
        0 says that nothing overflows), or ``"count"``, which writes nothing and returns how many elements overflow.
        ``"widen"`` counts what does not fit int64; ``"wrap"`` and ``"saturate"`` return 0. ``out`` may be exactly A's
        or B's memory with the same strides; any other overlap is the caller's to prevent.
        """
        return _native.execute(
            self.element.kernel, policy, self.sizes, a, self.a, b, self.b, out, self.out, _table(self.element, policy)
        )

    def first_overflow(self, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], policy: str) -> tuple[int, ...]:
        """Return the index of the first element, in C order, that ``run`` found to overflow."""
        table = _table(self.element, policy)
        flat = _native.first_overflow(self.element.kernel, policy, self.sizes, a, self.a, b, self.b, table)
        return tuple(int(i) for i in np.unravel_index(flat, self.sizes))


def plan(
    element: ElementType,
    joined: Broadcast,
    a: tuple[Sequence[int], Sequence[int]],
    b: tuple[Sequence[int], Sequence[int]],
    out_strides: Sequence[int],
) -> Plan:
    """Lay two operands over the shape in which they join.

    Args:
        element: their element type. joined: what a broadcasting rule answered for their shapes, all known.
        a, b: each operand's sizes and byte strides. out_strides: the result's byte strides.
    """
    sizes = static(joined.shape or ())
    return Plan(
        element,
        sizes,
        _aligned(sizes, joined.a_start, *a),
        _aligned(sizes, joined.b_start, *b),
        tuple(out_strides),
    )


def _aligned(sizes: tuple[int, ...], start: int, own: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Strides over the result's dims: an operand repeats before and after its own dims, and along its 1s."""
    aligned = [0] * len(sizes)
    for i, (n, stride) in enumerate(zip(own, strides, strict=True)):
        aligned[start + i] = 0 if n == 1 else stride
    return tuple(aligned)


def _table(element: ElementType, policy: str) -> bytes | None:
    if element.kernel != "table":
        return None
    from minuend.core.reference import table

    return table(element, policy)


def shares_addresses(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two different elements of one strided block start at the same address; exact."""
    steps = [abs(stride) for stride in strides]
    reach = sum((n - 1) * step for n, step in zip(sizes, steps, strict=True))
    if size(sizes) <= 1:
        return False
    return size(sizes) > reach + 1 or null_step(sizes, steps) is not None  # more elements than addresses: some share
