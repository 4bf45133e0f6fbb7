"""Addition: ``A + B``."""

from __future__ import annotations

import operator

from minuend.operators.operator import Identity, Operator
from minuend.operators.value_classes import INTEGERS, float_classes

ADD = Operator(
    name="add",
    onnx="Add",
    symbol="+",
    compute=operator.add,
    directions=(1, 1),
    integer_classes=INTEGERS,
    float_classes=float_classes("sum"),
    noun="sum",
    identities=(Identity(0, 0), Identity(1, 0)),
)
