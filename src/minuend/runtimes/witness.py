"""``Witness``: operands that show a deviation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from minuend.models.patterns import Pattern, with_numbers
from minuend.operators.operator import Operator
from minuend.plain import LEFT_OUT


@dataclass(frozen=True, slots=True)
class Witness:
    """Operands that show a deviation: what the runtime got, and what the contract expects.

    Attributes:
        operator: what is computed. operands: a number for each of its operands, or for each input of the pattern.
        pattern: what is computed in place of the operator by itself.
    """

    operator: Operator = field(repr=False, metadata=LEFT_OUT)
    operands: tuple[float, ...]
    got: float
    expected: float
    pattern: Pattern | None = field(default=None, repr=False, compare=False, metadata=LEFT_OUT)

    @property
    def a(self) -> float:
        """The first operand."""
        return self.operands[0]

    @property
    def b(self) -> float:
        """The second operand."""
        return self.operands[1]

    def __str__(self) -> str:
        return f"{self.written}: got {self.got}, expected {self.expected}"

    @property
    def written(self) -> str:
        """The operator or the pattern with its operands: ``"5 - 10"``."""
        return (
            self.operator.written(*self.operands) if self.pattern is None else with_numbers(self.pattern, self.operands)
        )

    @property
    def gives(self) -> str:
        """What the runtime gave, for a sentence: ``"5 - 10 gives 0"``."""
        return f"{self.written} gives {self.got}"

    def to_json(self) -> dict[str, Any]:
        """Return the witness as plain data; two operands of an operator are ``a`` and ``b`` as well."""
        pair = self.pattern is None and len(self.operands) == len("ab")
        names = dict(zip("ab", self.operands, strict=True)) if pair else {}
        return {"operands": self.operands, **names, "got": self.got, "expected": self.expected}
