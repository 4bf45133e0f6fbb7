"""``.npy``: what is read, what is refused, what is written."""

from __future__ import annotations

import io
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from minuend import errors
from minuend.core.elements import TYPES
from minuend.files import Result, open_tensors, write_tensors

ARRAYS = [
    np.arange(12, dtype=np.uint16).reshape(3, 4),
    np.asfortranarray(np.arange(12, dtype=np.int32).reshape(3, 4)),
    np.arange(5, dtype=">i8"),
    np.array(3.5, np.float16),
    np.empty((0, 3), np.float32),
    np.array([-0.0, np.nan, np.inf]),
]


def bytes_of(array: np.ndarray, version: tuple[int, int] | None = None) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=version)
    return stream.getvalue()


def result(name: str, array: np.ndarray) -> Result:
    return Result.of(name, TYPES[array.dtype.name], array)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype.str}{a.shape}")
def test_an_array_that_numpy_saved_is_read_bit_for_bit(
    tmp_path: Path, array: np.ndarray, version: tuple[int, int]
) -> None:
    (tmp_path / "x.npy").write_bytes(bytes_of(array, version))
    (tensor,) = open_tensors(str(tmp_path / "x.npy")).values()
    read = tensor.read()
    assert (tensor.name, tensor.element.name, tensor.shape) == ("", array.dtype.newbyteorder("=").name, array.shape)
    assert read.dtype == array.dtype
    assert read.tobytes() == array.tobytes()


def test_elements_are_read_only_and_in_memory_of_their_own(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(10))
    (tensor,) = open_tensors(str(tmp_path / "x.npy")).values()
    base = tensor.read()
    assert not base.flags.writeable
    while isinstance(base, np.ndarray):
        assert not isinstance(base, np.memmap)
        base = base.base


@pytest.mark.parametrize("array", [a for a in ARRAYS if a.dtype.isnative], ids=lambda a: f"{a.dtype.str}{a.shape}")
def test_what_is_written_is_what_numpy_writes(tmp_path: Path, array: np.ndarray) -> None:
    write_tensors(str(tmp_path / "x.npy"), [result("", array)])
    assert (tmp_path / "x.npy").read_bytes() == bytes_of(np.asarray(array, order="C"))


GOOD = bytes_of(np.arange(4, dtype=np.int16))
DAMAGED = "has a damaged .npy header; expected version 1.0 to 3.0 and a dict of descr, fortran_order and shape"

FAR = "has 65 dims; NumPy's arrays have 64 at most"
EMPTY = (
    f"has the shape {{}}: it is empty, but its sizes other than 0 are of more than {2**63 - 1} bytes, and NumPy has no "
    "such array"
)


def with_header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not start as a .npy does: b''; expected b'\\x93NUMPY'"),
        (b"PK\x03\x04zip", "does not start as a .npy does: b'PK\\x03\\x04zi'; expected b'\\x93NUMPY'"),
        (GOOD[:7], DAMAGED),
        (GOOD[:40], DAMAGED),
        (GOOD[:6] + b"\x09\x00" + GOOD[8:], DAMAGED),
        (with_header("{'descr': '<i2'}"), DAMAGED),
        (with_header("(" * 5000), DAMAGED),
        (with_header("{'descr': '<i2', 'fortran_order': False, 'shape': (-1,), }"),
         "states the shape (-1,); expected sizes of 0 and above"),
        (with_header(f"{{'descr': '<i2', 'fortran_order': False, 'shape': {(1,) * 65}, }}") + b"12",
         "has 65 dims; NumPy's arrays have 64 at most"),
        (with_header(f"{{'descr': '<i2', 'fortran_order': False, 'shape': (0, {1 << 63}), }}"),
         "has a size of 64 bits on axis 1; expected 63 at most"),
        (with_header(f"{{'descr': '<i2', 'fortran_order': False, 'shape': ({10**4000}, {10**4000}), }}"),
         "has a size of 13288 bits on axis 0; expected 63 at most"),
        (with_header(f"{{'descr': '<i2', 'fortran_order': True, 'shape': ({1 << 40}, 0, {1 << 40}), }}"),
         EMPTY.format(f"({1 << 40}, 0, {1 << 40})")),
        (with_header("{'descr': '<i2', 'fortran_order': False, 'shape': (True,), }"),
         "states the shape (True,); expected sizes of 0 and above"),
        (GOOD[:-1], "has 7 bytes of elements; expected 8 (int16 of shape (4,))"),
        (GOOD + b"\0", "has 9 bytes of elements; expected 8 (int16 of shape (4,))"),
        (with_header(f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({2**62}, 4), }}"),
         f"has 0 bytes of elements; expected {2**67} (int64 of shape ({2**62}, 4))"),
        (bytes_of(np.array([1, 2], ml_dtypes.bfloat16)),
         ("holds raw elements of 2 bytes without a type (NumPy saves bfloat16 and the narrow types so); "
          "expected a numeric type, write such tensors as .safetensors or .pb")),
        (bytes_of(np.array([None])), "holds Python objects, which are pickles and can run code; expected numbers"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_distinguished_from_a_sound_one(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    with pytest.raises(errors.FileFormatError) as caught:
        open_tensors(str(path))
    assert str(caught.value) == f"{path} {message}"


def test_shapes_at_the_limits_are_read_and_written_again(tmp_path: Path) -> None:
    for shape in ((1,) * 64, (0,) * 64, (0, (1 << 62) - 1)):
        array = np.ones(shape, np.int16)
        source, out = tmp_path / "x.npy", str(tmp_path / "o.npy")
        source.write_bytes(bytes_of(array))
        (tensor,) = open_tensors(str(source)).values()
        write_tensors(out, [Result.of("", tensor.element, tensor.read())])
        assert np.load(out).shape == shape


def test_a_result_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    for suffix in (".npy", ".npz", ".pb", ".safetensors"):
        path = tmp_path / f"o{suffix}"
        for shape, message in (((0, 1 << 40, 1 << 40), EMPTY.format(f"(0, {1 << 40}, {1 << 40})")), ((1,) * 65, FAR)):
            with pytest.raises(errors.FileFormatError) as caught:
                write_tensors(str(path), [Result("x", TYPES["int16"], shape, list)])
            assert str(caught.value) == f"the tensor 'x', which goes to {path}, {message}"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dtype", ["bool", "complex64", "S3", "M8[s]"])
def test_a_type_that_cannot_be_subtracted_is_named(tmp_path: Path, dtype: str) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(2, dtype))
    with pytest.raises(errors.DTypeError) as caught:
        open_tensors(str(path))
    from minuend.core.elements import refusal

    expected = errors.listed(TYPES)
    assert str(caught.value) == f"{refusal(np.dtype(dtype).name)}; expected {expected}, at {path}"


@pytest.mark.parametrize("name", ["bfloat16", *(name for name, row in TYPES.items() if row.kernel == "table")])
def test_a_type_that_npy_has_no_word_for_is_not_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.npy"
    row = TYPES[name]
    with pytest.raises(errors.DTypeError) as caught:
        write_tensors(str(path), [Result.of("x", row, np.zeros(2, row.memory))])
    assert str(caught.value) == f"NumPy's files have no word for {name}; write .safetensors or .pb, at {path}"
    assert not list(tmp_path.iterdir())
