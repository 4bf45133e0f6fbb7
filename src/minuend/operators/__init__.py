"""Operators: what each one computes, in a module of its own, and the exact reference of all."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from minuend.errors import SpecError, listed, near, shown
from minuend.operators.add import ADD
from minuend.operators.negative import NEGATIVE
from minuend.operators.operator import Operator, ValueClass
from minuend.operators.subtract import SUBTRACT
from minuend.operators.value_classes import NO_VALUES

__all__ = ["ADD", "BY_ONNX", "NEGATIVE", "OPERATORS", "SUBTRACT", "VALUE_CLASSES", "by_name"]

OPERATORS: Mapping[str, Operator] = MappingProxyType({one.name: one for one in (SUBTRACT, ADD, NEGATIVE)})
"""Every operator by its name in the array API standard."""

VALUE_CLASSES: Mapping[str, ValueClass] = MappingProxyType(
    {row.name: row for one in (*OPERATORS.values(), SUBTRACT) for row in (*one.value_classes, NO_VALUES)}
)
"""Every value class by name; of one that several operators have, subtraction's."""


def by_name(name: object) -> Operator:
    """Return an operator by its name in the array API standard, or by ONNX's.

    Raises:
        SpecError: no such operator.

    >>> by_name("add") is by_name("Add") is ADD
    True
    """
    known = {**OPERATORS, **BY_ONNX}
    if not isinstance(name, str) or name not in known:
        meant = near(name, known) if isinstance(name, str) else ""
        raise SpecError("operator", f"no operator {shown(name)}{meant}; expected {listed(OPERATORS)}")
    return known[name]


BY_ONNX: Mapping[str, Operator] = MappingProxyType({one.onnx: one for one in OPERATORS.values()})
"""Every operator by ONNX's name, which patterns use."""
