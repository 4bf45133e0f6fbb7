"""TensorProto in ``.pb``: every storage form, and every rule that the onnx package lets slip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from minuend import errors
from minuend.core.elements import TYPES
from minuend.files import Result, open_tensors, write_tensors
from minuend.files.streaming import regions
from minuend.onnx import tensor_files

WORDS = errors.listed(tensor_files.WORDS.values())


def save(path: Path, proto: Any) -> str:
    path.write_bytes(proto if isinstance(proto, bytes) else proto.SerializeToString())
    return str(path)


def array_of(name: str) -> np.ndarray:
    return np.arange(1, 7).astype(TYPES[name].memory).reshape(2, 3)


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("name", sorted(tensor_files.WORDS))
def test_each_type_is_read_from_both_forms(tmp_path: Path, name: str, raw: bool) -> None:
    array = array_of(name)
    number = TensorProto.DataType.Value(tensor_files.WORDS[name])
    if raw:
        proto = onnx.TensorProto(name="t", data_type=number, dims=(2, 3), raw_data=array.tobytes())
    else:
        row = TYPES[name]
        values = array if row.is_integer or row.bits > 16 else array.view(f"u{row.itemsize}")
        field = {"float32": "float_data", "float64": "double_data", "int64": "int64_data"}.get(name, "int32_data")
        field = "uint64_data" if name in ("uint32", "uint64") else field
        proto = onnx.TensorProto(name="t", data_type=number, dims=(2, 3), **{field: values.reshape(-1).tolist()})
    (tensor,) = open_tensors(save(tmp_path / "x.pb", proto)).values()
    assert (tensor.name, tensor.element.name, tensor.shape) == ("t", name, (2, 3))
    assert tensor.read().tobytes() == numpy_helper.to_array(proto).tobytes() == array.tobytes()


@pytest.mark.parametrize("name", sorted(tensor_files.WORDS))
@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (), (200, 7)])
def test_what_is_written_onnx_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, shape: tuple[int, ...]
) -> None:
    row = TYPES[name]
    array = np.ones(shape, row.memory)
    monkeypatch.setattr(regions, "BLOCK_BYTES", 1 if array.size < 9 else 100)
    write_tensors(str(tmp_path / "x.pb"), [Result.of("ü", row, array)])
    proto = onnx.load_tensor(str(tmp_path / "x.pb"))
    onnx.checker.check_tensor(proto)
    read = numpy_helper.to_array(proto)
    assert (proto.name, read.dtype, read.shape, read.tobytes()) == ("ü", array.dtype, shape, array.tobytes())


def proto(data_type: int = TensorProto.FLOAT, dims: tuple[int, ...] = (2,), **fields: Any) -> onnx.TensorProto:
    return onnx.TensorProto(data_type=data_type, dims=dims, **fields)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xff", " is no protobuf message, or a truncated one; expected a TensorProto"),
        (proto(raw_data=b"\0" * 8).SerializeToString()[:-3],
         " is no protobuf message, or a truncated one; expected a TensorProto"),
        (b"", f" states no data_type; expected a TensorProto of {WORDS}"),
        (proto(99, raw_data=b"\0" * 8), f" states the data_type 99; expected a TensorProto of {WORDS}"),
        (proto(dims=(-1,), raw_data=b"\0" * 8), " states the dims (-1,); expected sizes of 0 and above"),
        (proto(raw_data=b"\0" * 7), " has 7 bytes of raw_data; expected 8 (FLOAT of dims (2,))"),
        (proto(raw_data=b"\0" * 9), " has 9 bytes of raw_data; expected 8 (FLOAT of dims (2,))"),
        (proto(dims=(2**32, 2**32), raw_data=b""),
         f" has 0 bytes of raw_data; expected {2**66} (FLOAT of dims ({2**32}, {2**32}))"),
        (proto(), " has 0 elements in float_data; expected 2 (FLOAT of dims (2,))"),
        (proto(float_data=[1, 2, 3]), " has 3 elements in float_data; expected 2 (FLOAT of dims (2,))"),
        (proto(float_data=[1, 2], raw_data=b"\0" * 8), " has both raw_data and float_data; expected one of them"),
        (proto(double_data=[1, 2]), " has double_data for FLOAT; expected float_data or raw_data"),
        (proto(TensorProto.UINT32, int32_data=[1, 2]), " has int32_data for UINT32; expected uint64_data or raw_data"),
        (proto(TensorProto.UINT8, int32_data=[1, 300]), " has 300 at int32_data[1]; expected 0 to 255 (UINT8)"),
        (proto(TensorProto.INT8, int32_data=[-129, 1]), " has -129 at int32_data[0]; expected -128 to 127 (INT8)"),
        (proto(TensorProto.UINT32, uint64_data=[1, 2**32]),
         f" has {2**32} at uint64_data[1]; expected 0 to {2**32 - 1} (UINT32)"),
        (proto(TensorProto.FLOAT16, int32_data=[0x3C00, 0x13C00]),
         " has 80896 at int32_data[1]; expected 0 to 65535 (FLOAT16, as a bit pattern)"),
    ],
)  # fmt: skip
def test_a_malformed_message_is_a_clear_error(tmp_path: Path, content: Any, message: str) -> None:
    path = save(tmp_path / "x.pb", content)
    with pytest.raises(errors.FileFormatError) as caught:
        open_tensors(path)
    assert str(caught.value) == f"{path}{message}"


def test_a_type_that_cannot_be_subtracted_is_named(tmp_path: Path) -> None:
    path = save(tmp_path / "x.pb", proto(TensorProto.BOOL, int32_data=[0, 1]))
    with pytest.raises(errors.DTypeError) as caught:
        open_tensors(path)
    assert str(caught.value) == f"element type 'BOOL'; expected {WORDS}, at {path}"


def test_external_data_and_segments_are_refused(tmp_path: Path) -> None:
    external = proto(data_location=TensorProto.EXTERNAL)
    external.external_data.add(key="location", value="/etc/passwd")
    segment = proto(raw_data=b"\0" * 8)
    segment.segment.begin = 0
    path = tmp_path / "x.pb"
    for content, message in (
        (external, f"{path} keeps its elements in another file (external data); expected them inside the .pb"),
        (segment, f"{path} is one segment of a tensor; expected a whole one"),
    ):
        with pytest.raises(errors.Unsupported) as caught:
            open_tensors(save(path, content))
        assert str(caught.value) == message


def test_a_model_is_no_tensor(tmp_path: Path) -> None:
    value = onnx.helper.make_tensor_value_info("x", TensorProto.FLOAT, (2,))
    node = onnx.helper.make_node("Sub", ["x", "x"], ["y"])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [value], [value]))
    with pytest.raises(errors.FileFormatError):
        open_tensors(save(tmp_path / "x.pb", model))


def test_a_tensor_above_what_a_message_holds_is_not_begun(tmp_path: Path) -> None:
    path = tmp_path / "x.pb"
    with pytest.raises(errors.FileFormatError) as caught:
        write_tensors(str(path), [Result("x", TYPES["int8"], (2**31,), list)])
    assert str(caught.value) == (
        f"{path}: 2147483648 bytes of elements are more than a protobuf message holds (2147483647); "
        "write .safetensors or .npy"
    )


def test_a_packed_type_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "x.pb"
    with pytest.raises(errors.DTypeError) as caught:
        write_tensors(str(path), [Result("x", TYPES["int4"], (0,), list)])
    expected = errors.listed(tensor_files.WORDS)
    assert str(caught.value) == f"a .pb takes no int4 from this package; expected {expected}, at {path}"
