"""safetensors: read and written as the package does, and hostile headers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from minuend import errors
from minuend.core.elements import TYPES
from minuend.files import Result, open_tensors, write_tensors
from minuend.files.formats import safetensors


def write(path: Path, header: Any, data: bytes = b"", length: int | None = None) -> str:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return str(path)


def entry(begin: int = 0, end: int = 8, dtype: Any = "F32", shape: Any = (2,)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize("name", sorted(name for name in safetensors.WORDS if TYPES[name].kernel != "table"))
def test_each_type_is_read_and_written_as_the_package_does(tmp_path: Path, name: str) -> None:
    row = TYPES[name]
    array = np.arange(1, 7).astype(row.memory).reshape(2, 3)
    save_file({"x": array, "empty": array[:0]}, tmp_path / "theirs.safetensors")
    found = open_tensors(str(tmp_path / "theirs.safetensors"))
    assert {n: (t.element, t.shape, t.read().tobytes()) for n, t in found.items()} == {
        "x": (row, (2, 3), array.tobytes()),
        "empty": (row, (0, 3), b""),
    }
    write_tensors(str(tmp_path / "ours.safetensors"), [Result.of("x", row, array)])
    read = load_file(tmp_path / "ours.safetensors")["x"]
    assert (read.dtype, read.tobytes()) == (array.dtype, array.tobytes())


@pytest.mark.parametrize("name", sorted(name for name in safetensors.WORDS if TYPES[name].kernel == "table"))
def test_a_narrow_type_that_numpy_lacks_is_written_and_read_back(tmp_path: Path, name: str) -> None:
    row = TYPES[name]
    codes = np.arange(256, dtype=np.uint8)
    write_tensors(str(tmp_path / "x.safetensors"), [Result.of("x", row, codes.view(row.memory))])
    tensor = open_tensors(str(tmp_path / "x.safetensors"))["x"]
    assert (tensor.element, tensor.read().view(np.uint8).tobytes()) == (row, codes.tobytes())


def test_the_bytes_are_the_packages_own(tmp_path: Path) -> None:
    tensors = {"b": np.arange(3, dtype=np.uint8), "a": np.arange(4.0), "c ü": np.arange(5, dtype=np.uint8)}
    save_file(tensors, tmp_path / "theirs.safetensors")
    results = [Result.of(n, TYPES[t.dtype.name], t) for n, t in tensors.items()]
    write_tensors(str(tmp_path / "ours.safetensors"), results)
    assert (tmp_path / "ours.safetensors").read_bytes() == (tmp_path / "theirs.safetensors").read_bytes()


def test_no_metadata_may_be_written_as_null(tmp_path):
    """The package reads it so."""
    path = tmp_path / "x.safetensors"
    text = b'{"__metadata__": null, "x": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}'
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"\5")
    with safe_open(path, "numpy") as theirs:
        assert (list(theirs.keys()), theirs.metadata()) == (["x"], None)
    found = open_tensors(str(path))
    assert (list(found), found.metadata) == (["x"], {})


@pytest.mark.parametrize(
    ("header", "data", "message"),
    [
        (b"[1]", b"", " has a header that is a JSON list; expected an object of tensors"),
        (b'{"x": {}, "x": {}}', b"", " names 'x' twice in its header; expected names that differ"),
        ({"__metadata__": {"a": 1}}, b"", " has a __metadata__ that is not all text; expected names and strings"),
        ({"x": []}, b"", " tensor 'x' states []; expected data_offsets, dtype and shape"),
        ({"x": {}}, b"", " tensor 'x' states nothing; expected data_offsets, dtype and shape"),
        ({"x": {"dtype": "F32"}}, b"", " tensor 'x' states dtype; expected data_offsets, dtype and shape"),
        ({"x": entry(dtype=3)}, b"\0" * 8, " tensor 'x' states the dtype 3; expected one such as 'F32'"),
        ({"x": entry(shape=[-2])}, b"\0" * 8,
         " tensor 'x' states the shape [-2]; expected a list of sizes of 0 and above"),
        ({"x": entry(shape=2)}, b"\0" * 8, " tensor 'x' states the shape 2; expected a list of sizes of 0 and above"),
        ({"x": entry(shape=[True])}, b"\0" * 8,
         " tensor 'x' states the shape [True]; expected a list of sizes of 0 and above"),
        ({"x": entry(8, 0)}, b"\0" * 8, " tensor 'x' states the data_offsets [8, 0]; expected [begin, end]"),
        ({"x": entry(shape=[3])}, b"\0" * 8, " tensor 'x' has 8 bytes of elements; expected 12 (F32 of shape (3,))"),
        ({"x": entry(shape=[2**40, 2**40])}, b"\0" * 8,
         f" tensor 'x' has 8 bytes of elements; expected {2**82} (F32 of shape ({2**40}, {2**40}))"),
        ({"x": entry()}, b"\0" * 7, " has 7 bytes of elements; expected 8, as its header says"),
        ({"x": entry()}, b"\0" * 9, " has 9 bytes of elements; expected 8, as its header says"),
        ({"x": entry(), "y": entry(4, 12)}, b"\0" * 12, " tensor 'y' starts at byte 4, inside 'x'; expected 8"),
        ({"x": entry(4, 12)}, b"\0" * 12, " tensor 'x' starts at byte 4, after a gap; expected 0"),
    ],
)  # fmt: skip
def test_a_hostile_header_is_a_clear_error(tmp_path: Path, header: Any, data: bytes, message: str) -> None:
    path = write(tmp_path / "x.safetensors", header, data)
    with pytest.raises(errors.FileFormatError) as caught:
        open_tensors(path)
    assert str(caught.value) == f"{path}{message}"


def test_a_header_that_is_no_json_is_a_clear_error(tmp_path: Path) -> None:
    for junk in (b"{", b"\xff\xff", b"{" * 100_000, b'{"a":' * 100_000):
        path = write(tmp_path / "x.safetensors", junk)
        with pytest.raises(errors.FileFormatError) as caught:
            open_tensors(path)
        assert str(caught.value).startswith(f"{path} has a header that is no JSON (")
        assert str(caught.value).endswith("); expected an object of tensors")


@pytest.mark.parametrize("length", [100, 2**63, 2**64 - 1])
def test_a_header_longer_than_the_file_is_refused(tmp_path: Path, length: int) -> None:
    path = write(tmp_path / "x.safetensors", {}, length=length)
    with pytest.raises(errors.FileFormatError) as caught:
        open_tensors(path)
    assert str(caught.value) == f"{path} states a header of {length} bytes; expected 2 at the most"


def test_a_header_above_100_mb_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    with path.open("wb") as out:
        out.write((100_000_001).to_bytes(8, "little"))
        out.truncate(200_000_000)
    with pytest.raises(errors.FileFormatError) as caught:
        open_tensors(str(path))
    assert str(caught.value) == f"{path} states a header of 100000001 bytes; expected 100000000 at the most"


def test_a_file_too_short_for_a_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"\0\0")
    with pytest.raises(errors.FileFormatError) as caught:
        open_tensors(str(path))
    assert str(caught.value) == f"{path} has 2 bytes; expected 8 bytes of header length, and a header"


def test_what_the_package_alone_finds_is_an_error_too(tmp_path: Path) -> None:
    path = write(tmp_path / "x.safetensors", {"x": entry(dtype="F31")}, b"\0" * 8)
    with pytest.raises(errors.FileFormatError) as caught:
        open_tensors(path)
    assert str(caught.value).startswith(f"{path} is no valid safetensors file: ")


def test_a_tensor_of_no_numbers_is_an_error_once_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_file({"x": np.ones(2, np.float32), "mask": np.ones(2, bool)}, path)
    found = open_tensors(str(path))
    assert found["x"].shape == (2,)
    with pytest.raises(errors.DTypeError) as caught:
        found["mask"]
    words = errors.listed(safetensors.WORDS.values())
    assert str(caught.value) == f"element type 'BOOL'; expected {words}, at {path} tensor 'mask'"


def test_a_type_that_takes_no_whole_byte_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    row = TYPES["int4"]
    with pytest.raises(errors.DTypeError) as caught:
        write_tensors(str(path), [Result.of("x", row, np.zeros(2, row.memory))])
    expected = errors.listed(safetensors.WORDS)
    assert str(caught.value) == f"safetensors takes no int4 from this package; expected {expected}, at {path}"


def test_the_reserved_name_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    with pytest.raises(errors.FileFormatError) as caught:
        write_tensors(str(path), [Result("__metadata__", TYPES["int8"], (0,), list)])
    assert str(caught.value) == f"{path}: '__metadata__' is no tensor name in safetensors; rename the tensor"
