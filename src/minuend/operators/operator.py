"""What an operator is: a value that says all that is particular to one."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

from minuend.core.elements import ElementType
from minuend.operators.recipe import Recipe

Value: TypeAlias = int | Fraction | float
"""An element's value: an ``int``, an exact ``Fraction``, or the ``float`` -0.0, inf, -inf or nan."""

Exact: TypeAlias = int | Fraction | None
"""An exact result; ``None`` where an operand is no number."""


class Extent(Protocol):
    """What is known of an operand's values: all lie from ``lo`` to ``hi``, or are NaN."""

    @property
    def lo(self) -> int | float: ...
    @property
    def hi(self) -> int | float: ...
    @property
    def nan(self) -> bool: ...
    @property
    def negative_zero(self) -> bool: ...
    @property
    def integral(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Computed:
    """An operator on operands, with the contract's result.

    Attributes:
        operator, element, operands: what is computed. result: the element's value after rounding or wrapping.
        exact: the value before that.
    """

    operator: Operator
    element: ElementType
    operands: tuple[Value, ...]
    result: Value
    exact: Exact


@dataclass(frozen=True, slots=True)
class OperandExtents:
    """What is known of an operator's operands."""

    operator: Operator
    element: ElementType
    extents: tuple[Extent, ...]

    @property
    def ends(self) -> tuple[float, ...]:
        """The lowest and highest value of every operand."""
        return tuple(end for one in self.extents for end in (one.lo, one.hi))

    @property
    def results(self) -> tuple[float | Fraction, float | Fraction]:
        """The lowest and the highest exact result; an infinity where there is none."""
        return self.operator.result_range([(one.lo, one.hi) for one in self.extents])

    @property
    def whole(self) -> bool:
        """Whether all operands are whole numbers."""
        return all(one.integral for one in self.extents)


@dataclass(frozen=True, slots=True)
class ValueClass:
    """One class of operations: runtimes are seldom wrong everywhere, and the class says where.

    Attributes:
        name: its name. words: how a sentence calls its members.
        holds: its rule, which counts only where none of the rules before it holds.
        may_occur: whether operands within their extents can make it occur; it may be out of reach all the same.
        occurs: the element types that have members.
    """

    name: str
    words: str
    holds: Callable[[Computed], bool]
    may_occur: Callable[[OperandExtents], bool] = lambda operands: True
    occurs: Callable[[ElementType], bool] = lambda element: True


@dataclass(frozen=True, slots=True)
class Identity:
    """A constant operand with which the exact result is the other operand, or the other's negative.

    A runtime may leave such a node out. Only the sign of a zero tells: ``-0 - 0`` is -0, and ``-0 - (-0)`` is 0.

    Attributes:
        place: which operand. constant: what it is. negative: whether the result is the negative.
    """

    place: int
    constant: int
    negative: bool = False


@dataclass(frozen=True, eq=False)
class Operator:
    """An element-wise operator.

    Attributes:
        name: in the array API standard. onnx: ONNX's name of it, which patterns use.
        symbol: how it is written: between two operands, or before one.
        compute: the operator on Python's numbers: exact on ``int`` and ``Fraction``, IEEE 754 on ``float``.
        directions: for each operand 1 or -1: whether the result grows or falls with it.
        integer_classes, float_classes: the classes of operations on either kind of types, in the order in which they
            count.
        noun: what sentences call its result.
        identities: constants with which a runtime may leave it out.
        recipes: how to write it with other operators, the best first.
        kernel: the kernel's name of it; ``None`` where the kernel does not compute it.
    """

    name: str
    onnx: str
    symbol: str
    compute: Callable[..., Any]
    directions: tuple[int, ...]
    integer_classes: tuple[ValueClass, ...]
    float_classes: tuple[ValueClass, ...]
    noun: str
    identities: tuple[Identity, ...] = ()
    recipes: tuple[Recipe, ...] = ()
    kernel: str | None = None

    def __reduce__(self) -> tuple[Callable[[str], Operator], tuple[str]]:
        """An operator goes from one process to another by its name: its rules are functions."""
        return _named, (self.name,)

    @property
    def value_classes(self) -> tuple[ValueClass, ...]:
        """The classes of operations on any type."""
        return (*self.integer_classes, *self.float_classes)

    @property
    def arity(self) -> int:
        """How many operands it takes."""
        return len(self.directions)

    def exact(self, *operands: Value) -> Exact:
        """Return the exact result; ``None`` where an operand is no number.

        >>> from minuend.operators import OPERATORS
        >>> subtract = OPERATORS["subtract"]
        >>> subtract.exact(5, 10), subtract.exact(Fraction(1, 2), -0.0), subtract.exact(math.inf, 1.0)
        (-5, Fraction(1, 2), None)
        """
        if not any(isinstance(one, float) for one in operands):
            return self.compute(*operands)  # type: ignore[no-any-return]
        return self.compute(*(Fraction(one) for one in operands)) if all(map(math.isfinite, operands)) else None

    def result_range(self, ends: Sequence[tuple[Value, Value]]) -> tuple[float | Fraction, float | Fraction]:
        """Return the lowest and the highest exact result of operands from one end to another; infinities where there
        is none.

        >>> from minuend.operators import OPERATORS
        >>> OPERATORS["subtract"].result_range([(0, 255), (10, 20)])
        (-20, 245)
        """
        rising = list(zip(self.directions, ends, strict=True))
        low = self.exact(*(one[0] if way > 0 else one[1] for way, one in rising))
        high = self.exact(*(one[1] if way > 0 else one[0] for way, one in rising))
        return -math.inf if low is None else low, math.inf if high is None else high

    def written(self, *operands: object) -> str:
        """Write the operator with its operands.

        >>> from minuend.operators import OPERATORS
        >>> OPERATORS["subtract"].written(5, 10)
        '5 - 10'
        >>> OPERATORS["negative"].written(-128)
        '-(-128)'
        """
        if self.arity > 1:
            return f" {self.symbol} ".join(map(str, operands))
        shown = str(operands[0])
        return f"{self.symbol}({shown})" if shown.startswith(self.symbol) else f"{self.symbol}{shown}"

    def equation(self, *operands: int) -> str:
        """Write the operator with its exact result.

        >>> from minuend.operators import OPERATORS
        >>> OPERATORS["subtract"].equation(5, 10)
        '5 - 10 = -5'
        """
        return f"{self.written(*operands)} = {self.exact(*operands)}"


def _named(name: str) -> Operator:
    """Return an operator of the table that the package of this module makes of all."""
    found: Operator = importlib.import_module("minuend.operators").by_name(name)
    return found


def fits(element: ElementType, exact: Exact) -> bool:
    """Return whether an integer type holds an exact result.

    >>> from minuend.core.elements import TYPES
    >>> fits(TYPES["uint8"], -5), fits(TYPES["int16"], -5)
    (False, True)
    """
    low, high = element.limits
    return exact is None or low <= exact <= high
