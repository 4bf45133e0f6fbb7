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
from minuend.errors import Unsupported
from minuend.operators.operator import Operator

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Strides: TypeAlias = tuple[int, ...]
_Call: TypeAlias = tuple[str, str, str, tuple[int, ...], Array, Strides, Array, Strides, bytes | None]


@dataclass(frozen=True, slots=True)
class Plan:
    """Two operands laid over the shape of an operator's result.

    Attributes:
        operator: what is computed. element: the operands' element type.
        sizes: the result's dims, outermost first.
        a, b: strides in bytes, one per dim; 0 repeats an operand.
    """

    operator: Operator
    element: ElementType
    sizes: tuple[int, ...]
    a: Strides
    b: Strides

    def result(self, element: ElementType) -> Array:
        """Return a new array for the result, packed in the order in which the operands lie."""
        return _native.result(element.memory, self.sizes, self.a, self.b)

    def run(self, a: Array, b: Array, out: Array, out_strides: Strides, policy: str) -> int:
        """Compute the operator from the first element of each array on, into ``out``; return what overflows.

        The answer is as if the operands had been copied first, wherever ``out`` lies; no two elements of ``out`` may
        share an address. ``policy`` is ``"wrap"``, ``"saturate"``, ``"widen"`` (``out`` then holds the wide type) or
        ``"error"``, which wraps. Returns 0 where all went well. Where ``"error"`` finds an overflow, or ``"widen"``
        results that int64 cannot hold, the operands keep their values, and ``out`` holds nothing to rely on.
        """
        return _native.execute(*self._call(a, b, policy), out, out_strides)

    def count(self, a: Array, b: Array) -> int:
        """Return how many elements overflow."""
        nowhere = (0,) * len(self.sizes)  # nothing is written
        return self.run(a, b, a, nowhere, "count")

    def first_overflow(self, a: Array, b: Array, policy: str) -> tuple[int, ...]:
        """Return the index of the first element, in C order, that ``run`` found to overflow."""
        flat = _native.first_overflow(*self._call(a, b, policy))
        return tuple(int(i) for i in np.unravel_index(flat, self.sizes))

    def _call(self, a: Array, b: Array, policy: str) -> _Call:
        """Return the first arguments of the kernel's functions."""
        kernel, element = kernel_of(self.operator), self.element
        table = _table(self.operator, element, policy) if element.kernel == "table" else None
        return kernel, element.kernel, policy, self.sizes, a, self.a, b, self.b, table

    def operands_at(self, a: Array, b: Array, index: tuple[int, ...]) -> tuple[int, int]:
        """Return both integer operands of an element of the result."""
        views = (np.lib.stride_tricks.as_strided(v, self.sizes, s) for v, s in ((a, self.a), (b, self.b)))
        x, y = (int(view[index]) for view in views)
        return x, y


def kernel_of(operator: Operator) -> str:
    """Return the kernel's name of an operator.

    Raises:
        Unsupported: the kernel does not compute it.

    >>> from minuend.operators import OPERATORS
    >>> kernel_of(OPERATORS["add"])
    Traceback (most recent call last):
    minuend.errors.Unsupported: the kernel does not compute the operator add
    """
    if operator.kernel is None:
        raise Unsupported(f"the kernel does not compute the operator {operator.name}")
    return operator.kernel


def plan(
    operator: Operator,
    element: ElementType,
    joined: Broadcast,
    a: tuple[Sequence[int], Sequence[int]],
    b: tuple[Sequence[int], Sequence[int]],
) -> Plan:
    """Lay two operands over the shape in which they join.

    Args:
        operator: what is computed. element: the operands' element type.
        joined: what a broadcasting rule answered for their shapes, all known.
        a, b: each operand's sizes and byte strides.
    """
    sizes = static(joined.shape or ())
    return Plan(operator, element, sizes, _aligned(sizes, joined.a_start, *a), _aligned(sizes, joined.b_start, *b))


def _aligned(sizes: tuple[int, ...], start: int, own: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Strides over the result's dims: an operand repeats before and after its own dims, and along its 1s."""
    aligned = [0] * len(sizes)
    for i, (n, stride) in enumerate(zip(own, strides, strict=True)):
        aligned[start + i] = 0 if n == 1 else stride
    return tuple(aligned)


def _table(operator: Operator, element: ElementType, policy: str) -> bytes:
    from minuend.operators.reference import table

    return table(operator, element, policy)


def shares_addresses(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two different elements of one strided block start at the same address; exact."""
    steps = [abs(stride) for stride in strides]
    reach = sum((n - 1) * step for n, step in zip(sizes, steps, strict=True))
    if size(sizes) <= 1:
        return False
    return size(sizes) > reach + 1 or null_step(sizes, steps) is not None  # more elements than addresses: some share
