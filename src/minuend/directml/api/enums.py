"""DirectML's enumerations and constants, with the values of ``DirectML.h``.

An enumeration has the C name; a member has the C name without the part that all members share, which
:func:`c_name` puts back: ``DML_TENSOR_DATA_TYPE.FLOAT32`` is ``DML_TENSOR_DATA_TYPE_FLOAT32``.
"""

# ruff: noqa: N801 - the names are those of the C header, so that a search finds both
from __future__ import annotations

from enum import IntEnum, IntFlag

DML_TARGET_VERSION = 0x6400
DML_TENSOR_DIMENSION_COUNT_MAX = 5
DML_TENSOR_DIMENSION_COUNT_MAX1 = 8
DML_TEMPORARY_BUFFER_ALIGNMENT = 256
DML_PERSISTENT_BUFFER_ALIGNMENT = 256
DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT = 16


class DML_TENSOR_DATA_TYPE(IntEnum):
    """Element types of a tensor; those of 4 bits came with feature level 6.3."""

    UNKNOWN = 0
    FLOAT32 = 1
    FLOAT16 = 2
    UINT32 = 3
    UINT16 = 4
    UINT8 = 5
    INT32 = 6
    INT16 = 7
    INT8 = 8
    FLOAT64 = 9
    UINT64 = 10
    INT64 = 11
    UINT4 = 12
    INT4 = 13


DML_TENSOR_TYPE = IntEnum("DML_TENSOR_TYPE", "INVALID BUFFER", start=0)
"""What a ``DML_TENSOR_DESC`` points to."""


class DML_TENSOR_FLAGS(IntFlag):
    """Flags of a buffer tensor; ``OWNED_BY_DML`` is for inputs alone."""

    NONE = 0
    OWNED_BY_DML = 1


class DML_FEATURE_LEVEL(IntEnum):
    """All feature levels there are: the major number in the highest hexadecimal digit, the minor one in the next."""

    LEVEL_1_0 = 0x1000
    LEVEL_2_0 = 0x2000
    LEVEL_2_1 = 0x2100
    LEVEL_3_0 = 0x3000
    LEVEL_3_1 = 0x3100
    LEVEL_4_0 = 0x4000
    LEVEL_4_1 = 0x4100
    LEVEL_5_0 = 0x5000
    LEVEL_5_1 = 0x5100
    LEVEL_5_2 = 0x5200
    LEVEL_6_0 = 0x6000
    LEVEL_6_1 = 0x6100
    LEVEL_6_2 = 0x6200
    LEVEL_6_3 = 0x6300
    LEVEL_6_4 = 0x6400


DML_FEATURE = IntEnum("DML_FEATURE", "TENSOR_DATA_TYPE_SUPPORT FEATURE_LEVELS", start=0)
"""Queries to a device."""


class DML_OPERATOR_TYPE(IntEnum):
    """The one operator of this package, out of some 178."""

    INVALID = 0
    ELEMENT_WISE_SUBTRACT = 30


DML_BINDING_TYPE = IntEnum("DML_BINDING_TYPE", "NONE BUFFER BUFFER_ARRAY", start=0)
"""What a ``DML_BINDING_DESC`` points to; ``NONE`` is for optional tensors, of which subtraction has none."""


class DML_EXECUTION_FLAGS(IntFlag):
    """How a compiled operator may run."""

    NONE = 0
    ALLOW_HALF_PRECISION_COMPUTATION = 1
    DISABLE_META_COMMANDS = 2
    DESCRIPTORS_VOLATILE = 4


DML_GRAPH_NODE_TYPE = IntEnum("DML_GRAPH_NODE_TYPE", "INVALID OPERATOR CONSTANT", start=0)
"""What a ``DML_GRAPH_NODE_DESC`` points to; constants came with feature level 6.2."""

DML_GRAPH_EDGE_TYPE = IntEnum("DML_GRAPH_EDGE_TYPE", "INVALID INPUT OUTPUT INTERMEDIATE", start=0)
"""What a ``DML_GRAPH_EDGE_DESC`` points to."""

PREFIXES: dict[type[IntEnum] | type[IntFlag], str] = {
    DML_TENSOR_DATA_TYPE: "DML_TENSOR_DATA_TYPE_",
    DML_TENSOR_TYPE: "DML_TENSOR_TYPE_",
    DML_TENSOR_FLAGS: "DML_TENSOR_FLAG_",
    DML_FEATURE_LEVEL: "DML_FEATURE_",
    DML_FEATURE: "DML_FEATURE_",
    DML_OPERATOR_TYPE: "DML_OPERATOR_",
    DML_BINDING_TYPE: "DML_BINDING_TYPE_",
    DML_EXECUTION_FLAGS: "DML_EXECUTION_FLAG_",
    DML_GRAPH_NODE_TYPE: "DML_GRAPH_NODE_TYPE_",
    DML_GRAPH_EDGE_TYPE: "DML_GRAPH_EDGE_TYPE_",
}
"""Every enumeration, with what its members' C names begin with."""


def c_name(member: IntEnum | IntFlag) -> str:
    """Return a member's name in C.

    >>> c_name(DML_FEATURE_LEVEL.LEVEL_4_1), c_name(DML_TENSOR_FLAGS.OWNED_BY_DML)
    ('DML_FEATURE_LEVEL_4_1', 'DML_TENSOR_FLAG_OWNED_BY_DML')
    """
    return f"{PREFIXES[type(member)]}{member.name}"
