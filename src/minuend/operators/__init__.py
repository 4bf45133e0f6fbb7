"""Operators: what each one computes, in a module of its own, and the exact reference of all."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from minuend.operators.add import ADD
from minuend.operators.negative import NEGATIVE
from minuend.operators.operator import Operator, ValueClass
from minuend.operators.subtract import SUBTRACT
from minuend.operators.value_classes import NO_VALUES

__all__ = ["ADD", "BY_ONNX", "NEGATIVE", "OPERATORS", "SUBTRACT", "VALUE_CLASSES"]

OPERATORS: Mapping[str, Operator] = MappingProxyType({one.name: one for one in (SUBTRACT, ADD, NEGATIVE)})
"""Every operator by its name in the array API standard."""

VALUE_CLASSES: Mapping[str, ValueClass] = MappingProxyType(
    {row.name: row for one in (*OPERATORS.values(), SUBTRACT) for row in (*one.value_classes, NO_VALUES)}
)
"""Every value class by name; of one that several operators have, subtraction's."""

BY_ONNX: Mapping[str, Operator] = MappingProxyType({one.onnx: one for one in OPERATORS.values()})
"""Every operator by ONNX's name, which patterns use."""
