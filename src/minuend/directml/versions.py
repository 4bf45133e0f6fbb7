"""DirectML ``ELEMENT_WISE_SUBTRACT``: the feature levels that changed it, each stated as what changed.

Source: the page of ``DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC``. A level between two rows keeps the lower one,
and the levels above 5.1 changed nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minuend.core import shapes
from minuend.core.shapes import Broadcast, Shape, format_dim
from minuend.directml.api.enums import DML_FEATURE_LEVEL, DML_TENSOR_DATA_TYPE, c_name
from minuend.errors import ShapeError, SpecError, listed, shown
from minuend.operators import SUBTRACT
from minuend.standards.dialects import Dialect
from minuend.standards.version import OpVersion, Param, Rows

MAX_ELEMENTS = 2**32 - 1
"""The most elements that a tensor has, and the largest size and stride: they are 32-bit in C."""

LEVELS: dict[str, int] = {level.name.removeprefix("LEVEL_").replace("_", "."): level for level in DML_FEATURE_LEVEL}
"""Every feature level as users write it, with its value."""

SUBTRACT_1_0 = OpVersion(
    dialect="directml",
    operator="ELEMENT_WISE_SUBTRACT",
    computes=SUBTRACT,
    version="1.0",
    types=("float16", "float32"),
    inputs=Rows(
        [
            Param("ATensor", "const DML_TENSOR_DESC*", "what is subtracted from (the left-hand side)"),
            Param("BTensor", "const DML_TENSOR_DESC*", "what is subtracted (the right-hand side)"),
        ]
    ),
    outputs=Rows([Param("OutputTensor", "const DML_TENSOR_DESC*", "where the differences are written")]),
    broadcasting="none",
    inference="broadcast shape",
    ranks=(4, 4),
    notes=(
        "ATensor, BTensor and OutputTensor have the same DataType, DimensionCount and Sizes.",
        "A size of 1 does not broadcast; a stride of 0 repeats an input along a dim.",
        "OutputTensor may alias one of the inputs (in-place execution).",
    ),
    facts={
        "name": "DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC",
        "operator type": "DML_OPERATOR_ELEMENT_WISE_SUBTRACT",
        "function": "f(a, b) = a - b",
        "introduced in": "DML_FEATURE_LEVEL_1_0",
        "in-place execution": True,
        "may alias": ("OutputTensor with ATensor", "OutputTensor with BTensor"),
        "same in all tensors": ("DataType", "DimensionCount", "Sizes"),
        "header": "directml.h",
    },
)

SUBTRACT_2_1 = SUBTRACT_1_0.evolve("2.1", add_types=("int32", "uint32"))

SUBTRACT_3_0 = SUBTRACT_2_1.evolve("3.0", ranks=(1, 8))

SUBTRACT_4_1 = SUBTRACT_3_0.evolve("4.1", add_types=("int64", "uint64"))

SUBTRACT_5_1 = SUBTRACT_4_1.evolve("5.1", add_types=("int8", "int16", "uint8", "uint16"))


def broadcast(op: OpVersion, a: Shape, b: Shape, attributes: Mapping[str, Any]) -> Broadcast:
    """Join two shapes by DirectML's rule: known sizes from 1 to 2**32 - 1, equal in both, not too many elements."""
    for param, shape in zip(op.inputs, (a, b), strict=True):
        if shape is None:
            raise ShapeError("sizes", f"the sizes of {param.name} are unknown; DirectML fixes them beforehand")
        for i, size in enumerate(shape):
            name = f"Sizes[{i}] of {param.name}"
            if not isinstance(size, int):
                hint = "DirectML fixes sizes beforehand, give a number"
                raise ShapeError("sizes", f"{name} is {format_dim(size)}; {hint}")
            check_size(size, name)
        check_count(shapes.static(shape), param.name)
    return shapes.none(a, b)


def check_size(size: int, name: str) -> None:
    """Check one size: no dim is empty, and 32 bits hold it."""
    if size == 0:
        raise ShapeError("sizes", f"{name} is 0; DirectML has no empty tensors, leave the operator out")
    if not 0 < size <= MAX_ELEMENTS:
        raise ShapeError("sizes", f"{name} is {size}; expected 1 to {MAX_ELEMENTS}")


def check_count(sizes: tuple[int, ...], name: str) -> None:
    """Check that a tensor has no more elements than DirectML counts, in exact integers."""
    count = shapes.size(sizes)
    if count > MAX_ELEMENTS:
        raise ShapeError("sizes", f"{name} has {count} elements; expected at most {MAX_ELEMENTS}")


def number(level: object) -> int:
    """Read a feature level: ``"4.1"``, ``"4_1"``, ``"DML_FEATURE_LEVEL_4_1"``, ``4.1`` or ``0x4100``.

    Raises:
        SpecError: no such level.

    >>> number("4.1") == number(0x4100) == DML_FEATURE_LEVEL.LEVEL_4_1
    True
    """
    if isinstance(level, int) and not isinstance(level, bool) and level in LEVELS.values():
        return int(level)
    if isinstance(level, float | str):
        text = str(level).removeprefix("DML_FEATURE_LEVEL_").replace("_", ".")
        if text in LEVELS:
            return int(LEVELS[text])
    raise SpecError("version", f"DirectML has no feature level {shown(level)}; expected {listed(LEVELS)}")


SPELLINGS = {
    member.name.lower(): (member.name, c_name(member))
    for member in DML_TENSOR_DATA_TYPE
    if member is not DML_TENSOR_DATA_TYPE.UNKNOWN
}
"""Element types in short and in full; subtraction takes those that a level's row lists."""

DIALECT = Dialect(
    name="directml",
    title="DirectML",
    rows=(SUBTRACT_1_0, SUBTRACT_2_1, SUBTRACT_3_0, SUBTRACT_4_1, SUBTRACT_5_1),
    number=number,
    counted="feature level",
    broadcast=broadcast,
    spellings=SPELLINGS,
    refused=dict.fromkeys(
        ("UNKNOWN", c_name(DML_TENSOR_DATA_TYPE.UNKNOWN)),
        "it stands for no type; a tensor has to say what its elements are",
    ),
)
