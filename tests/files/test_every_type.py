"""Across modules: tensors of types without subtraction are refused, or read where every type is requested."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from minuend.errors import DTypeError, FileFormatError
from minuend.files import open_tensors

BOOLS, COMPLEX, TEXT = np.array([[True], [False]]), np.array([1 + 2j], np.complex64), np.array(["a", "bc"])


def write(path: Path, array: Any) -> str:
    if path.suffix == ".npy":
        np.save(path, array)
    elif path.suffix == ".npz":
        np.savez_compressed(path, x=array)
    elif path.suffix == ".pb":
        onnx.save_tensor(numpy_helper.from_array(array.astype(object) if array.dtype.kind == "U" else array), path)
    else:
        from safetensors.numpy import save_file

        save_file({"x": array}, path)
    return str(path)


@pytest.mark.parametrize(
    ("suffix", "array"),
    [*itertools.product([".npy", ".npz", ".pb"], [BOOLS, COMPLEX, TEXT]), (".safetensors", BOOLS)],
    ids=lambda value: value if isinstance(value, str) else str(value.dtype),
)
def test_they_are_read_where_every_type_is_asked_for(tmp_path: Path, suffix: str, array: Any) -> None:
    path = write(tmp_path / f"x{suffix}", array)
    with pytest.raises(DTypeError):
        list(open_tensors(path).values())
    (tensor,) = open_tensors(path, every_type=True).values()
    assert tensor.read().tolist() == array.tolist()
    assert tensor.shape == array.shape
    assert array.dtype.kind == "U" or tensor.read().dtype == array.dtype


@pytest.mark.parametrize("every_type", [False, True])
def test_objects_are_never_read(tmp_path: Path, every_type: bool) -> None:
    np.save(tmp_path / "x.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(FileFormatError) as caught:
        open_tensors(str(tmp_path / "x.npy"), every_type=every_type)
    assert str(caught.value) == (
        f"{tmp_path}/x.npy holds Python objects, which are pickles and can run code; expected numbers"
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".pb", ".safetensors"])
def test_a_pipe_is_not_opened(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    os.mkfifo(path)
    with pytest.raises(FileFormatError) as caught:
        open_tensors(str(path), every_type=True)
    assert str(caught.value) == f"{path} is a pipe; expected a regular file, copy its content to one"


def test_a_length_that_its_header_does_not_say_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "x.npy", BOOLS)
    Path(path).write_bytes(Path(path).read_bytes() + b"\0")
    with pytest.raises(FileFormatError) as caught:
        open_tensors(path, every_type=True)
    assert str(caught.value) == f"{path} has 3 bytes of elements; expected 2 (bool of shape (2, 1))"


def test_a_member_that_unpacks_to_more_than_deflate_can_hold_is_not_unpacked(tmp_path: Path) -> None:
    path = write(tmp_path / "x.npz", BOOLS)
    raw = bytearray(Path(path).read_bytes())
    at = raw.index(b"PK\x01\x02") + 24  # the size, in the directory
    raw[at : at + 4] = (1 << 30).to_bytes(4, "little")
    Path(path).write_bytes(raw)
    with pytest.raises(FileFormatError, match=r"claims 1073741824 bytes out of \d+ packed ones"):
        list(open_tensors(path, every_type=True).values())


def test_strings_that_are_no_text_are_refused(tmp_path: Path) -> None:
    proto = onnx.TensorProto(data_type=onnx.TensorProto.STRING, dims=(1,), string_data=[b"\xff"])
    onnx.save_tensor(proto, tmp_path / "x.pb")
    with pytest.raises(FileFormatError) as caught:
        open_tensors(str(tmp_path / "x.pb"), every_type=True)
    assert str(caught.value) == f"{tmp_path}/x.pb has string_data that is no UTF-8; expected text"
