"""DirectML's C structures as :mod:`ctypes` ones: the same fields in the same order, at the same offsets.

Enumerations are 32 bits wide and signed, ``BOOL`` too; COM interfaces (``IDML…``, ``ID3D12…``) are plain
pointers here. The fields' names are those of ``DirectML.h``. Structures that this package makes or reads are classes;
the others are rows.
"""

# ruff: noqa: N801 - the names are those of the C header, so that a search finds both
from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import POINTER, Structure, Union, c_char_p, c_int32, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from functools import partial
from types import new_class


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

    _fields_ = tuple((name, POINTER(DML_TENSOR_DESC)) for name in ("ATensor", "BTensor", "OutputTensor"))


class DML_OPERATOR_DESC(_Tagged):
    """An operator of some type; ``Desc`` points to that type's structure."""


_TAGGED = "INT Type; void* Desc"

_ROWS = {
    "DML_SCALAR_UNION": ("One number of any element type.",
        ("BYTE[8] Bytes; INT8 Int8; BYTE UInt8; INT16 Int16; UINT16 UInt16; INT Int32; UINT UInt32; INT64 Int64; "
         "UINT64 UInt64; FLOAT Float32; DOUBLE Float64")),
    "DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT": (
        "The query for an element type. A yes is about the device: subtraction refuses what its row does not list.",
        "INT DataType"),
    "DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT": ("The answer to it.", "INT IsSupported"),
    "DML_FEATURE_QUERY_FEATURE_LEVELS": ("The query for which of some feature levels a device has.",
        "UINT RequestedFeatureLevelCount; INT* RequestedFeatureLevels"),
    "DML_FEATURE_DATA_FEATURE_LEVELS": ("The answer to it: the highest of them.", "INT MaxSupportedFeatureLevel"),
    "DML_BUFFER_BINDING": ("A range of a buffer, in bytes.", "void* Buffer; UINT64 Offset; UINT64 SizeInBytes"),
    "DML_BUFFER_ARRAY_BINDING": ("Several ranges.", "UINT BindingCount; DML_BUFFER_BINDING* Bindings"),
    "DML_BINDING_DESC": ("A binding of some kind; ``Desc`` points to one of the two above.", _TAGGED),
    "DML_BINDING_PROPERTIES": ("What a dispatchable object needs in addition to its tensors.",
        "UINT RequiredDescriptorCount; UINT64 TemporaryResourceSize; UINT64 PersistentResourceSize"),
    "DML_BINDING_TABLE_DESC": (
        "A binding table; the two descriptor handles of Direct3D 12 are one pointer-sized and one 64-bit number.",
        "void* Dispatchable; SIZE_T CPUDescriptorHandle; UINT64 GPUDescriptorHandle; UINT SizeInDescriptors"),
    "DML_GRAPH_NODE_DESC": ("A node of some kind.", _TAGGED),
    "DML_OPERATOR_GRAPH_NODE_DESC": ("A node that is an operator.", "void* Operator; char* Name"),
    "DML_CONSTANT_DATA_GRAPH_NODE_DESC": ("A node that is constant data.",
        "void* Data; SIZE_T DataSize; char* Name"),
    "DML_GRAPH_EDGE_DESC": ("An edge of some kind.", _TAGGED),
    "DML_INPUT_GRAPH_EDGE_DESC": ("An edge from the graph's input to a node.",
        "UINT GraphInputIndex; UINT ToNodeIndex; UINT ToNodeInputIndex; char* Name"),
    "DML_OUTPUT_GRAPH_EDGE_DESC": ("An edge from a node to the graph's output.",
        "UINT FromNodeIndex; UINT FromNodeOutputIndex; UINT GraphOutputIndex; char* Name"),
    "DML_INTERMEDIATE_GRAPH_EDGE_DESC": ("An edge from node to node.",
        "UINT FromNodeIndex; UINT FromNodeOutputIndex; UINT ToNodeIndex; UINT ToNodeInputIndex; char* Name"),
    "DML_GRAPH_DESC": ("A graph: its nodes, and the edges of each kind.",
        ("UINT InputCount; UINT OutputCount; UINT NodeCount; DML_GRAPH_NODE_DESC* Nodes; "
         "UINT InputEdgeCount; DML_GRAPH_EDGE_DESC* InputEdges; UINT OutputEdgeCount; "
         "DML_GRAPH_EDGE_DESC* OutputEdges; UINT IntermediateEdgeCount; DML_GRAPH_EDGE_DESC* IntermediateEdges")),
}  # fmt: skip
"""The other structures: what each is, and its fields as C declares them."""

_TYPES: dict[str, type] = {
    "BYTE": c_uint8, "BYTE[8]": c_uint8 * 8, "INT8": ctypes.c_int8, "INT16": ctypes.c_int16, "UINT16": ctypes.c_uint16,
    "INT": c_int32, "UINT": c_uint32, "INT64": ctypes.c_int64, "UINT64": c_uint64, "FLOAT": ctypes.c_float,
    "DOUBLE": ctypes.c_double, "SIZE_T": c_size_t, "char*": c_char_p, "void*": c_void_p,
}  # fmt: skip


def _fields(declared: str) -> Iterator[tuple[str, type]]:
    for field in declared.split("; "):
        kind, name = field.split()
        yield name, _TYPES[kind] if kind in _TYPES else POINTER(_TYPES[kind.removesuffix("*")])


for _name, (_doc, _declared) in _ROWS.items():
    _contents = {"__doc__": _doc, "__module__": __name__, "_fields_": tuple(_fields(_declared))}
    _base = Union if _name.endswith("_UNION") else Structure
    globals()[_name] = _TYPES[_name] = new_class(_name, (_base,), exec_body=partial(dict.update, **_contents))

STRUCTURES: tuple[type[Structure] | type[Union], ...] = tuple(
    found for name, found in list(globals().items()) if name.startswith("DML_")
)
"""Every structure of this module."""
