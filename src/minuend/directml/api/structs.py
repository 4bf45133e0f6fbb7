"""DirectML's C structures as :mod:`ctypes` ones: the same fields in the same order, at the same offsets.

Enumerations are 32 bits wide and signed, ``BOOL`` too; COM interfaces (``IDML…``, ``ID3D12…``) are plain
pointers here. The fields' names are those of ``DirectML.h``.
"""

# ruff: noqa: N801 - the names are those of the C header, so that a search finds both
from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, Union, c_char_p, c_int32, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p

# ---- tensors and operators ------------------------------------------------------------------------------------


class DML_BUFFER_TENSOR_DESC(Structure):
    """A tensor in a buffer. ``Strides`` is null for packed row-major order; the total is in bytes."""

    _fields_ = (
        ("DataType", c_int32),
        ("Flags", c_int32),
        ("DimensionCount", c_uint32),
        ("Sizes", POINTER(c_uint32)),
        ("Strides", POINTER(c_uint32)),
        ("TotalTensorSizeInBytes", c_uint64),
        ("GuaranteedBaseOffsetAlignment", c_uint32),
    )


class _Tagged(Structure):
    """Something of some kind: ``Desc`` points to that kind's structure."""

    _fields_ = (("Type", c_int32), ("Desc", c_void_p))


class DML_TENSOR_DESC(_Tagged):
    """A tensor of some kind; ``Desc`` points to a :class:`DML_BUFFER_TENSOR_DESC`.

    ``keepalive`` is not part of the C structure: it holds what the pointers of a description made here point to.
    """

    keepalive: tuple[object, ...]


class DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC(Structure):
    """The operator: ``OutputTensor = ATensor - BTensor``. It takes no fused activation and no scale."""

    _fields_ = (
        ("ATensor", POINTER(DML_TENSOR_DESC)),
        ("BTensor", POINTER(DML_TENSOR_DESC)),
        ("OutputTensor", POINTER(DML_TENSOR_DESC)),
    )


class DML_OPERATOR_DESC(_Tagged):
    """An operator of some type; ``Desc`` points to that type's structure."""


class DML_SCALAR_UNION(Union):
    """One number of any element type."""

    _fields_ = (
        ("Bytes", c_uint8 * 8),
        ("Int8", ctypes.c_int8),
        ("UInt8", c_uint8),
        ("Int16", ctypes.c_int16),
        ("UInt16", ctypes.c_uint16),
        ("Int32", c_int32),
        ("UInt32", c_uint32),
        ("Int64", ctypes.c_int64),
        ("UInt64", c_uint64),
        ("Float32", ctypes.c_float),
        ("Float64", ctypes.c_double),
    )


# ---- queries to a device ------------------------------------------------------------------------------------


class DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT(Structure):
    """The query for an element type. A yes is about the device: subtraction refuses what its row does not list."""

    _fields_ = (("DataType", c_int32),)


class DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT(Structure):
    """The answer to it."""

    _fields_ = (("IsSupported", c_int32),)


class DML_FEATURE_QUERY_FEATURE_LEVELS(Structure):
    """The query for which of some feature levels a device has."""

    _fields_ = (("RequestedFeatureLevelCount", c_uint32), ("RequestedFeatureLevels", POINTER(c_int32)))


class DML_FEATURE_DATA_FEATURE_LEVELS(Structure):
    """The answer to it: the highest of them."""

    _fields_ = (("MaxSupportedFeatureLevel", c_int32),)


# ---- bindings -------------------------------------------------------------------------------------------------


class DML_BUFFER_BINDING(Structure):
    """A range of a buffer, in bytes."""

    _fields_ = (("Buffer", c_void_p), ("Offset", c_uint64), ("SizeInBytes", c_uint64))


class DML_BUFFER_ARRAY_BINDING(Structure):
    """Several ranges."""

    _fields_ = (("BindingCount", c_uint32), ("Bindings", POINTER(DML_BUFFER_BINDING)))


class DML_BINDING_DESC(_Tagged):
    """A binding of some kind; ``Desc`` points to one of the two above."""


class DML_BINDING_PROPERTIES(Structure):
    """What a dispatchable object needs in addition to its tensors."""

    _fields_ = (
        ("RequiredDescriptorCount", c_uint32),
        ("TemporaryResourceSize", c_uint64),
        ("PersistentResourceSize", c_uint64),
    )


class DML_BINDING_TABLE_DESC(Structure):
    """A binding table; the two descriptor handles of Direct3D 12 are one pointer-sized and one 64-bit number."""

    _fields_ = (
        ("Dispatchable", c_void_p),
        ("CPUDescriptorHandle", c_size_t),
        ("GPUDescriptorHandle", c_uint64),
        ("SizeInDescriptors", c_uint32),
    )


# ---- graphs ---------------------------------------------------------------------------------------------------


class DML_GRAPH_NODE_DESC(_Tagged):
    """A node of some kind."""


class DML_OPERATOR_GRAPH_NODE_DESC(Structure):
    """A node that is an operator."""

    _fields_ = (("Operator", c_void_p), ("Name", c_char_p))


class DML_CONSTANT_DATA_GRAPH_NODE_DESC(Structure):
    """A node that is constant data."""

    _fields_ = (("Data", c_void_p), ("DataSize", c_size_t), ("Name", c_char_p))


class DML_GRAPH_EDGE_DESC(_Tagged):
    """An edge of some kind."""


class DML_INPUT_GRAPH_EDGE_DESC(Structure):
    """An edge from the graph's input to a node."""

    _fields_ = (
        ("GraphInputIndex", c_uint32),
        ("ToNodeIndex", c_uint32),
        ("ToNodeInputIndex", c_uint32),
        ("Name", c_char_p),
    )


class DML_OUTPUT_GRAPH_EDGE_DESC(Structure):
    """An edge from a node to the graph's output."""

    _fields_ = (
        ("FromNodeIndex", c_uint32),
        ("FromNodeOutputIndex", c_uint32),
        ("GraphOutputIndex", c_uint32),
        ("Name", c_char_p),
    )


class DML_INTERMEDIATE_GRAPH_EDGE_DESC(Structure):
    """An edge from node to node."""

    _fields_ = (
        ("FromNodeIndex", c_uint32),
        ("FromNodeOutputIndex", c_uint32),
        ("ToNodeIndex", c_uint32),
        ("ToNodeInputIndex", c_uint32),
        ("Name", c_char_p),
    )


class DML_GRAPH_DESC(Structure):
    """A graph: its nodes, and the edges of each kind."""

    _fields_ = (
        ("InputCount", c_uint32),
        ("OutputCount", c_uint32),
        ("NodeCount", c_uint32),
        ("Nodes", POINTER(DML_GRAPH_NODE_DESC)),
        ("InputEdgeCount", c_uint32),
        ("InputEdges", POINTER(DML_GRAPH_EDGE_DESC)),
        ("OutputEdgeCount", c_uint32),
        ("OutputEdges", POINTER(DML_GRAPH_EDGE_DESC)),
        ("IntermediateEdgeCount", c_uint32),
        ("IntermediateEdges", POINTER(DML_GRAPH_EDGE_DESC)),
    )


STRUCTURES: tuple[type[Structure] | type[Union], ...] = tuple(
    found for name, found in list(globals().items()) if name.startswith("DML_")
)
"""Every structure of this module."""
