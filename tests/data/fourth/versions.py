"""MINUS: two editions, each stated as what changed."""

from minuend.core import shapes
from minuend.operators import SUBTRACT
from minuend.standards.dialects import Dialect
from minuend.standards.version import Attr, OpVersion, Param, Rows

FIRST = OpVersion(
    dialect="fourth",
    operator="MINUS",
    computes=SUBTRACT,
    version=1,
    types=("float32",),
    attributes=Rows([Attr("axis", "int", -1)]),
    inputs=Rows([Param("x", "T", "left"), Param("y", "T", "right")]),
    outputs=Rows([Param("z", "T", "difference")]),
    broadcasting="numpy",
    inference="broadcast shape",
    ranks=(1, 2),
)
SPELLINGS = {"float32": ("REAL",), "int8": ("TINY",)}
DIALECT = Dialect(
    name="fourth",
    title="Fourth",
    rows=(FIRST, FIRST.evolve(2, add_types=("int8",), remove_attributes=("axis",))),
    number=int,
    counted="edition",
    broadcast=lambda op, a, b, attributes: shapes.numpy(a, b),
    spellings=SPELLINGS,
    refused={"FUZZY": "it has no differences"},
)
