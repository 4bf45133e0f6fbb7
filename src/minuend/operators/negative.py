"""Negation: ``-A``."""

from __future__ import annotations

import operator
from dataclasses import replace

from minuend.operators.operator import Operator
from minuend.operators.value_classes import INTEGERS, float_classes

# A float and its negative have the same digits: no result rounds, and none is too large.
_WORDS = {"ordinary": "ordinary numbers"}
_FLOATS = tuple(
    replace(row, words=_WORDS.get(row.name, row.words))
    for row in float_classes("negative")
    if row.name not in ("overflows", "rounds")
)

NEGATIVE = Operator(
    name="negative",
    onnx="Neg",
    symbol="-",
    compute=operator.neg,
    directions=(-1,),
    integer_classes=INTEGERS,
    float_classes=_FLOATS,
    noun="negative",
)
