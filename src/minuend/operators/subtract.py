"""Subtraction: ``A - B``."""

from __future__ import annotations

import operator

from minuend.operators.operator import Identity, Operator, ValueClass, fits
from minuend.operators.subtract_recipes import RECIPES
from minuend.operators.value_classes import INTEGERS, float_classes

_LOWEST_SUBTRAHEND = ValueClass(
    "lowest subtrahend",  # runtimes that add -B instead wrap there twice
    "the type's lowest value subtracted",
    holds=lambda o: o.operands[1] == o.element.limits[0] and fits(o.element, o.exact),
    may_occur=lambda o: o.extents[1].lo == o.element.limits[0] and o.extents[0].lo < 0,
    occurs=lambda element: element.kind == "signed",
)

SUBTRACT = Operator(
    name="subtract",
    onnx="Sub",
    symbol="-",
    compute=operator.sub,
    directions=(1, -1),
    integer_classes=(_LOWEST_SUBTRAHEND, *INTEGERS),
    float_classes=float_classes("difference"),
    noun="difference",
    identities=(Identity(0, 0, negative=True), Identity(1, 0)),
    recipes=RECIPES,
    kernel="subtract",
)
