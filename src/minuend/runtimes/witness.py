"""``Witness``: operands that show a deviation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from minuend.operators.operator import Operator
from minuend.plain import LEFT_OUT


@dataclass(frozen=True, slots=True)
class Witness:
    """Operands that show a deviation: what the runtime got, and what the contract expects.

    Attributes:
        operator: what is computed. operands: a number for each of its operands.
    """

    operator: Operator = field(repr=False, metadata=LEFT_OUT)
    operands: tuple[float, ...]
    got: float
    expected: float

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
        """The operator with its operands: ``"5 - 10"``."""
        return self.operator.written(*self.operands)

    @property
    def gives(self) -> str:
        """What the runtime gave, for a sentence: ``"5 - 10 gives 0"``."""
        return f"{self.written} gives {self.got}"

    def to_json(self) -> dict[str, Any]:
        """Return the witness as plain data; two operands are ``a`` and ``b`` as well."""
        names = dict(zip("ab", self.operands, strict=True)) if len(self.operands) == len("ab") else {}
        return {"operands": self.operands, **names, "got": self.got, "expected": self.expected}
